#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests checkpoints: read by a short reader and by the safetensors package, if installed; written by the package and read by
gpubench; the writer killed during a write; hostile headers refused in one sentence.

Runs gpubench from TOP_BUILDDIR. The package's part is skipped if it is missing."""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

TOOL = os.path.join(os.environ.get("TOP_BUILDDIR") or os.getcwd(), "gpubench")
ARGS = ["train", "gpt", "--batch", "2", "--seq", "16", "--threads", "1", "--warmup", "0", "--quiet", "--json"]


def train(*more, steps=3):
    return subprocess.run([TOOL, *ARGS, "--steps", str(steps), *more], capture_output=True, text=True, timeout=300)


def taken(done):
    """Returns whether the run loaded the file. One more step may not lower the held-out loss, which gives status 6."""
    return done.returncode in (0, 6) and not done.stderr


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + n])
    meta = header.pop("__metadata__", {})
    return {k: (v["dtype"], v["shape"], raw[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in header.items()}, meta


def write(path, tensors, edit=None, tail=b"", size=None):
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    if edit:
        edit(header)
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text) if size is None else size) + text + data + tail)


def resume():
    whole = json.loads(train(steps=6).stdout)["loss"]
    train("--save", "half.safetensors")
    rest = json.loads(train("--resume", "half.safetensors").stdout)["loss"]
    tap.check("a resumed run is bit-identical", whole == rest, f"{whole} {rest}")
    two = json.loads(train("--resume", "half.safetensors", "--ranks", "2", "--save", "two.safetensors").stdout)
    tap.check("ranks resume from the same file", two["ranks"] == 2 and read("two.safetensors")[1]["step"] == "6")


def other_way():
    tensors, meta = read("half.safetensors")
    tap.check("the checkpoint has its number of steps", meta["step"] == "3" and meta["ticket"] == "3", str(meta))
    weights = {k: v for k, v in reversed(tensors.items()) if not k.startswith("optimizer.")}
    write("weights.safetensors", weights)
    done = train("--resume", "weights.safetensors", "--save", "again.safetensors", "--lr", "1e-30", steps=1)
    kept = {k: v for k, v in read("again.safetensors")[0].items() if not k.startswith("optimizer.")}
    tap.check("a file with only weights, in another order, is accepted", kept == weights, done.stderr)
    return weights


def package(weights):
    try:
        import numpy
        from safetensors import numpy as st
    except ImportError:
        tap.skip("the safetensors package reads what we write", "no safetensors package")
        tap.skip("we read what the safetensors package writes", "no safetensors package")
        return
    theirs = st.load_file("half.safetensors")
    tap.check("the safetensors package reads what we write", all(theirs[k].tobytes() == v[2] for k, v in weights.items()))
    st.save_file({k: numpy.frombuffer(v[2], "f4").reshape(v[1]) for k, v in weights.items()}, "theirs.safetensors")
    done = train("--resume", "theirs.safetensors", steps=1)
    tap.check("we read what the safetensors package writes", taken(done), done.stderr)


def edits(weights):
    first = next(iter(weights))

    def put(**what):
        return lambda h: h[first].update(what)
    yield "an overlap", put(data_offsets=[4, len(weights[first][2]) + 4]), "overlap|gap"
    yield "a huge shape", put(shape=[1 << 62, 1 << 62]), "shape"
    yield "a negative shape", put(shape=[-1]), "shape"
    yield "a wrong size", put(shape=[1]), "do not match"
    yield "offsets backwards", put(data_offsets=[8, 0]), "not a range"
    yield "an unknown dtype", put(dtype="F31"), "dtype is unknown"
    yield "a wrong dtype", put(dtype="I32"), " in the program"
    yield "an extra key", put(more=1), "data_offsets only"
    yield "a missing tensor", lambda h: h.update({"other": h.pop(first)}), "it has no tensor"
    yield "metadata of numbers", lambda h: h.update(__metadata__={"a": 1}), "not a string"


def hostile(weights):
    import re
    for name, edit, want in edits(weights):
        write("bad.safetensors", weights, edit)
        done = train("--resume", "bad.safetensors", steps=1)
        tap.check(f"{name} is refused", done.returncode == 64 and done.stderr.count("\n") == 1 and re.search(want, done.stderr),
              done.stderr)
    for name, more in (("a tail", {"tail": b"xx"}), ("a header longer than the file", {"size": 1 << 60})):
        write("bad.safetensors", weights, **more)
        done = train("--resume", "bad.safetensors", steps=1)
        tap.check(f"{name} is refused", done.returncode == 64 and done.stderr.count("\n") == 1, done.stderr)


def killed():
    """A writer that saves all the time is killed at ten moments. The file must be valid each time."""
    bad = []
    for i in range(10):
        p = subprocess.Popen([TOOL, *ARGS, "--steps", "100000", "--save", "live.safetensors", "--save-every", "1"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists("live.safetensors"):
            time.sleep(0.01)
        time.sleep(0.05 + 0.013 * i)
        p.send_signal(signal.SIGKILL)
        p.wait()
        try:
            if not int(read("live.safetensors")[1]["step"]):
                bad.append(f"round {i}: no step")
        except (ValueError, KeyError, struct.error) as why:
            bad.append(f"round {i}: {why}")
    done = train("--resume", "live.safetensors", steps=1)
    tap.check("kill -9 during a write leaves a valid file", not bad and taken(done), str(bad) + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        resume()
        weights = other_way()
        package(weights)
        hostile(weights)
        killed()
        os.chdir("/")
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
