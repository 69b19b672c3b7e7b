#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares all splits of 1, 2 and 4 ranks of `gpubench train` with one rank, and with PyTorch's tensor parallel modules, pipelines
and FSDP on the same weights and batches. A gradient of the first step may differ by 1e-6 of its largest element from that of one
rank, and by 1e-5 from that of PyTorch; a loss by 1e-4. Also runs splits that must end with one sentence: sizes that do not divide,
files of another model, ranks that are killed or stopped, ranks with different options.

Usage: check_parallel.py [GPUBENCH]    (default: $TOP_BUILDDIR/gpubench)
Prints TAP. The comparison with PyTorch is skipped where torch is too old or missing.
"""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP no numpy")
    sys.exit(77)

TOOL = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ.get("TOP_BUILDDIR", "."), "gpubench"))
BATCH, SEQ, VOCAB, WIDTH, HEADS, KV_HEADS, FFN, LAYERS = 8, 16, 101, 32, 4, 2, 64, 3
MICROBATCHES, UPDATES, LR = 2, 50, 0.05
TORCH_UPDATES = 5
SIZES = f"--seq {SEQ} --layers {LAYERS} --width {WIDTH} --heads {HEADS} --vocab {VOCAB}".split()
MODELS = {"gpt2": SIZES, "llama": [*SIZES, "--kv-heads", str(KV_HEADS), "--ffn", str(FFN)],
          "bert": SIZES, "vit": "--layers 2 --width 32 --heads 4 --size 32".split(), "mlp": []}
LIMIT_S = 300
points, failed = 0, 0


def point(good, name, why=""):
    global points, failed
    points += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {points} - {name}{'' if good or not why else ': ' + str(why)}", flush=True)


def command(model, *more):
    return [TOOL, "train", model, *MODELS[model], "--threads", "1", "--warmup", "0", "--quiet", "--json", *map(str, more)]


def train(model, *more):
    """The document of a run; fails with its message."""
    run = subprocess.run(command(model, "--microbatches", MICROBATCHES, *more), capture_output=True, text=True, timeout=LIMIT_S)
    if run.returncode:
        raise RuntimeError(f"status {run.returncode}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def tensors(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        head, data = json.loads(f.read(size)), f.read()
    return {name: np.frombuffer(data[t["data_offsets"][0]:t["data_offsets"][1]], np.float32).reshape(t["shape"])
            for name, t in head.items() if name != "__metadata__"}


def distance(got, want):
    """The largest difference of a tensor relative to its largest element, and the name of the tensor."""
    if set(got) != set(want):
        return float("inf"), str(set(got) ^ set(want))
    return max((float(np.abs(got[name] - x).max()) / max(float(np.abs(x).max()), 1e-30), name) for name, x in want.items())


def options(dp, tp, pp, shard=None, sp=False):
    more = ["--batch", BATCH // dp, "--ranks", dp * tp * pp, "--tp", tp, "--pp", pp]
    return more + (["--shard", shard] if shard else []) + (["--sp"] if sp else [])


def splits():
    """All splits of 1, 2 and 4 ranks, their stages of sharding, with and without sequence parallelism."""
    for ranks in (1, 2, 4):
        for tp in (1, 2, 4):
            for pp in (1, 2, 4):
                if ranks % (tp * pp):
                    continue
                dp = ranks // (tp * pp)
                for shard in [None] if dp == 1 else [None, 1, 2, 3]:
                    yield dp, tp, pp, shard, False
                    if tp > 1:
                        yield dp, tp, pp, shard, True


def possible(model, tp, pp):
    return not (model == "llama" and tp > KV_HEADS) and not (model == "mlp" and pp > 3)


# ---- one rank ----

def first_step(model, path, *more):
    """The gradients of the first step: the momentum of SGD after one update."""
    train(model, *more, "--steps", 1, "--optimizer", "sgd", "--save", path)
    return {name: x for name, x in tensors(path).items() if name.startswith("optimizer.")}


def compare_splits(model, all_splits):
    want = first_step(model, "one.st", "--batch", BATCH)
    loss = train(model, "--batch", BATCH, "--steps", UPDATES)["loss"]
    last = "one.st"
    for dp, tp, pp, shard, sp in all_splits:
        name = f"{model}: dp {dp} x tp {tp} x pp {pp}" + (f", --shard {shard}" if shard else "") + (", --sp" if sp else "")
        if not possible(model, tp, pp):
            continue
        try:
            off, tensor = distance(first_step(model, "split.st", *options(dp, tp, pp, shard, sp)), want)
            point(off <= 1e-6, f"{name}: gradients of the first step", f"{tensor} differs by {off:.2g}")
            off = abs(train(model, *options(dp, tp, pp, shard, sp), "--steps", UPDATES)["loss"] - loss)
            point(off < 1e-4, f"{name}: loss after {UPDATES} updates", f"differs by {off:.2g}")
            # at a learning rate of 0 the parameters stay as they were loaded
            train(model, *options(dp, tp, pp, shard, sp), "--steps", 1, "--lr", 0, "--optimizer", "sgd", "--resume", last,
                  "--save", "next.st")
            same = {k: v for k, v in tensors("next.st").items() if not k.startswith("optimizer.")}
            off, tensor = distance(same, {k: v for k, v in tensors("one.st").items() if k in same})
            point(off == 0, f"{name}: parameters of a checkpoint of the previous split", f"{tensor} differs by {off:.2g}")
            os.replace("next.st", "last.st")
            last = "last.st"
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            point(False, name, e)


def compare_with_one_rank():
    for model in ("gpt2", "llama"):
        compare_splits(model, list(splits()))
    for model in ("bert", "vit", "mlp"):
        compare_splits(model, [(1, 2, 2, None, False), (1, 2, 2, None, True), (2, 2, 1, 3, True), (2, 1, 2, 1, False)])
    run = subprocess.run([TOOL, "train", "bert", *SIZES, "--layers", "1", "--batch", "2", "--steps", "1", "--warmup", "0", "--threads",
                          "1", "--quiet", "--tp", "2", "--pp", "9"], capture_output=True, text=True)
    point(run.returncode == 0, "bert of one layer: as many stages with --tp 2 as without", run.stderr)


# ---- PyTorch ----

def random_u64(seed, stream, count):
    """Philox 4x32-10 as in runtime/math/random.c."""
    index = np.arange(count, dtype=np.uint64)
    low, bits = np.uint64(0xffffffff), np.uint64(32)
    c = [index & low, index >> bits, np.full(count, stream & 0xffffffff, np.uint64), np.full(count, stream >> 32, np.uint64)]
    k = [np.uint64(seed & 0xffffffff), np.uint64(seed >> 32)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> bits) ^ c[1] ^ k[0], b & low, (a >> bits) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c[1] << bits | c[0]


def batch(rows, seq, vocab):
    """The random batch of seed 1, which is the same in each step."""
    return [(random_u64(1, 100 + k, rows * seq) % np.uint64(vocab)).astype(np.int64).reshape(rows, seq) for k in (0, 1)]


def merged(grads):
    """PyTorch's gradients under the names of the checkpoint, where q, k, v and gate, up are one tensor."""
    found, parts = {}, {"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj", "gate_proj": "gate_up_proj",
                        "up_proj": "gate_up_proj"}
    for name, x in grads.items():
        *module, layer, weight = name.split(".")
        name = "optimizer.momentum " + ".".join([*module, parts.get(layer, layer), weight])
        found[name] = np.concatenate([found[name], x]) if name in found else x
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torch_run(way, ranks, microbatches, lr, updates, threads=1):
    """Runs torch_parallel.py as `ranks` processes in a directory with weights/ and batch.npz. Returns what the first one writes."""
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(ranks), OMP_NUM_THREADS=str(threads))
    part = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_parallel.py")
    started = [subprocess.Popen([sys.executable, part, way, "weights", "batch.npz", f"torch-{way}.npz", str(microbatches), str(lr),
                                 str(updates)], env=dict(env, RANK=str(rank), LOCAL_RANK=str(rank)))
               for rank in range(ranks)]
    try:
        status = [p.wait(LIMIT_S) for p in started]
    finally:
        for p in started:
            p.kill()
    if any(status):
        raise RuntimeError(f"PyTorch ended with {status}")
    return dict(np.load(f"torch-{way}.npz"))


def compare_with_torch():
    try:
        import torch
        from torch.distributed.fsdp import fully_shard  # noqa: F401
        from torch.distributed.pipelining import Schedule1F1B  # noqa: F401
    except ImportError as missing:
        print(f"# no comparison with PyTorch: {missing}")
        return
    print(f"# torch {torch.__version__}")
    train("llama", "--batch", BATCH, "--steps", 1, "--lr", 0, "--save-weights", "weights")
    np.savez("batch.npz", *batch(BATCH, SEQ, VOCAB))
    for way, split in (("one", (1, 1, 1)), ("tensor", (1, 2, 1)), ("1f1b", (1, 1, 2)), ("gpipe", (1, 1, 2)), ("fsdp", (2, 1, 1, 3)),
                       ("ddp", (2, 1, 1))):
        try:
            found = torch_run(way, split[0] * split[1] * split[2], MICROBATCHES, LR, TORCH_UPDATES)
            losses, want = found["losses"], merged({k: v for k, v in found.items() if k not in ("losses", "ends")})
            more = [*options(*split), *(["--schedule", way] if way in ("1f1b", "gpipe") else [])]
            off, tensor = distance(first_step("llama", "torch.st", *more), want)
            point(off <= 1e-5, f"llama, PyTorch {way}: gradients of the first step", f"{tensor} differs by {off:.2g}")
            off = abs(train("llama", *more, "--optimizer", "sgd", "--lr", LR, "--steps", TORCH_UPDATES)["loss"] - losses[-1])
            point(off < 1e-4, f"llama, PyTorch {way}: loss of update {TORCH_UPDATES}", f"differs by {off:.2g}")
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            point(False, f"llama, PyTorch {way}", e)


# ---- bad input ----

def refused(name, status, sentence, model, *more):
    start = time.monotonic()
    run = subprocess.run(command(model, *more), capture_output=True, text=True, timeout=LIMIT_S)
    message = run.stderr.strip()
    good = run.returncode == status and sentence in message and "\n" not in message
    point(good, name, f"status {run.returncode} after {time.monotonic() - start:.0f} s: {message}")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def alive(pids):
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                if f.read().rsplit(")", 1)[1].split()[0] not in "ZX":
                    found.append(pid)
        except OSError:
            pass
    return found


def lose_a_rank(name, sig, limit_s, sentences, *more):
    """Starts 4 ranks that save after each update, and sends a signal to the last one after the first save."""
    shutil.rmtree("lost", ignore_errors=True)
    os.mkdir("lost")
    with open("lost.txt", "w+", encoding="utf-8") as said:
        run = subprocess.Popen(command("gpt2", "--batch", 4, "--microbatches", 2, "--steps", 100000, "--save", "lost/x.st",
                                       "--save-every", 1, *more), stdout=subprocess.DEVNULL, stderr=said)
        ranks, until = [], time.monotonic() + LIMIT_S
        while (len(ranks) < 4 or not os.path.exists("lost/x.st")) and time.monotonic() < until and run.poll() is None:
            time.sleep(0.1)
            ranks = children(run.pid)
        start = time.monotonic()
        os.kill(ranks[-1], sig)
        try:
            status = run.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            run.kill()
            status = None
        seconds = time.monotonic() - start
        said.seek(0)
        message = said.read().strip()
    left = alive(ranks)
    point(status == 70 and any(s in message for s in sentences), f"{name}: one sentence", f"status {status}: {message}")
    point(seconds < limit_s and not left, f"{name}: every rank ends within {limit_s} s", f"{seconds:.1f} s, processes {left}")
    point(os.listdir("lost") == ["x.st"], f"{name}: no other file next to the checkpoint", os.listdir("lost"))
    try:
        train("gpt2", "--batch", 4, "--steps", 1, "--resume", "lost/x.st")
        point(True, f"{name}: the last checkpoint is complete")
    except RuntimeError as e:
        point(False, f"{name}: the last checkpoint is complete", e)


def check_bad_input():
    for tp, pp in ((2, 2), (1, 2), (2, 1)):
        split = ("--tp", tp, "--pp", pp, "--ranks", 4)
        if tp * pp == 4:
            refused("heads that do not divide", 64, "--heads 4 cannot be divided among --tp 3 ranks", "gpt2", "--tp", 3, "--pp", pp)
            refused("more stages than places", 64, "--pp 60: gpt2 can be cut into at most ", "gpt2", "--tp", 1, "--pp", 60)
        train("gpt2", "--batch", BATCH, "--steps", 1, "--save", "one.st")
        refused(f"tp {tp} x pp {pp}: a checkpoint of another width", 64, "one.st: tensor wte is F32 (", "gpt2",
                "--batch", BATCH, "--width", 64, "--resume", "one.st", *split)
        refused(f"tp {tp} x pp {pp}: a checkpoint of another model", 64, "one.st: it has no tensor model.embed_tokens.weight", "llama",
                "--batch", BATCH, "--resume", "one.st", *split)
        lose_a_rank(f"tp {tp} x pp {pp}: a rank is killed", signal.SIGKILL, 20, ["killed by signal 9"], *split)
        lose_a_rank(f"tp {tp} x pp {pp}: a rank is stopped", signal.SIGSTOP, 40, ["has not arrived for 5 s"], "--rank-timeout", 5, *split)
    if shutil.which("mpirun"):
        different = [["--tp", "2", "--pp", "2"], ["--tp", "2", "--pp", "1"]]
        run = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
        for i, more in enumerate(different):
            run += ([":"] if i else []) + ["-n", "2", *command("gpt2", "--batch", 4, "--microbatches", 2, "--steps", 5, *more)]
        done = subprocess.run(run, capture_output=True, text=True, timeout=LIMIT_S)
        point(done.returncode != 0 and "rank 0 has --pp 2 and rank 2 has --pp 1: all ranks need the same options" in done.stderr,
              "ranks of mpirun with different splits", done.stderr)


def main():
    parts = sys.argv[2:] or ["one", "torch", "bad"]
    with tempfile.TemporaryDirectory(prefix="gputune-parallel") as folder:
        os.chdir(folder)
        if "one" in parts:
            compare_with_one_rank()
        if "torch" in parts:
            compare_with_torch()
        if "bad" in parts:
            check_bad_input()
        os.chdir("/")
    print(f"1..{points}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
