#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpuprobe loads with the system's loader (LD_DEBUG, ld.so --list) on several versions of NVIDIA's libraries. One version
hides another by LD_LIBRARY_PATH, RPATH or RUNPATH, or there is a conda-like libstdc++. VENV=DIRECTORY adds `import torch` there,
without and with each of these. WHEELS=DIRECTORY has the wheels, else pip downloads them. Not in `make check`: make check-loads."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

TOOL = os.path.abspath(os.path.join(tap.BUILD, "gpuprobe"))
LD = "/lib64/ld-linux-x86-64.so.2"
WANTED = ["nvidia-cuda-runtime-cu11==11.8.89", "nvidia-cuda-runtime-cu12==12.1.105", "nvidia-cuda-runtime-cu12==12.9.79",
          "nvidia-nvjitlink-cu12==12.9.86", "nvidia-cusparse-cu12==12.5.10.65", "nvidia-nccl-cu12==2.21.5",
          "nvidia-nccl-cu12", "nvidia-cudnn-cu12==9.1.0.70", "nvidia-cudnn-cu12==9.8.0.87"]
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON"))}


def ours(target, library_path=""):
    done = subprocess.run([TOOL, "loads", "--all", "--json", f"--library-path={library_path}", target], env=CLEAN,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode > 2:
        raise ValueError(f"{target}: {done.stderr.strip()}")
    return json.loads(done.stdout)["runs"]


def needed(run):
    return {o["name"]: None if o["broken"] else o["path"] for o in run["objects"][1:] if not o["opened"]}


def listed(path, library_path=""):
    done = subprocess.run([LD, "--list", path], env={**CLEAN, "LD_LIBRARY_PATH": library_path}, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return {m[1]: None if m[2] == "not found" else m[2] for m in re.finditer(r"^\s+(\S+) => (not found|/\S+)", done.stdout, re.M)}


def differences(got, true):
    return [f"{n}: {got.get(n, 'not named')}, the loader takes {true[n]}" for n in true
            if not n.startswith("/") and got.get(n, "-") != true[n]]


def unpack(scratch):
    """Unpacks each wheel into a separate directory. Returns {"nvidia_nccl_cu12-2.32.3": [libraries]}."""
    place = os.environ.get("WHEELS") or os.path.join(scratch, "wheels")
    for w in [] if os.environ.get("WHEELS") else WANTED:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", place, w], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = {}
    for path in sorted(glob.glob(os.path.join(place, "nvidia_*.whl"))):
        name = "-".join(os.path.basename(path).split("-")[:2])
        with zipfile.ZipFile(path) as z:
            z.extractall(os.path.join(scratch, name))
        libs = glob.glob(os.path.join(scratch, name, "nvidia/**/*.so*"), recursive=True)
        found[name] = sorted(p for p in libs if os.path.isfile(p))
    return found


def each_library(found):
    dirs = {name: ":".join(sorted({os.path.dirname(p) for p in libs})) for name, libs in found.items()}
    every = ":".join(d for d in dirs.values() if d)
    for name, libs in found.items():
        bad = []
        for p in libs:
            for path in ("", every, ":".join(reversed(every.split(":")))):
                bad += [f"{os.path.basename(p)}: {d}" for d in differences(needed(ours(p, path)[0]), listed(p, path))]
        tap.rule(f"{len(libs)} libraries of {name}: plainly, and with every other version in LD_LIBRARY_PATH", bad)


def program(scratch, library, flags):
    path = os.path.join(scratch, "program")
    subprocess.run(["cc", "-o", path, "-x", "c", "-", *flags, "-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-all", "-x", "none",
                    library], input="int main(void) { return 0; }", text=True, check=True, stderr=subprocess.DEVNULL)
    return path


def in_the_way(scratch, found):
    """Two versions of libcudart.so.12: a program is linked with one, and the other precedes it in the search."""
    two = [p for libs in found.values() for p in libs if os.path.basename(p) == "libcudart.so.12"]
    if len(two) < 2:
        tap.skip("two versions of libcudart.so.12", "one is there")
        return
    a, b = two[0], two[-1]
    for kind in ("--enable-new-dtags", "--disable-new-dtags"):
        path = program(scratch, a, [f"-Wl,{kind}", f"-Wl,-rpath,{os.path.dirname(a)}"])
        bad = []
        for library_path in ("", os.path.dirname(b), f"/nonexistent:{os.path.dirname(b)}", os.path.dirname(a)):
            run, true = ours(path, library_path)[0], listed(path, library_path)
            bad += differences(needed(run), true)
            taken = next(o for o in run["objects"] if o["name"] == "libcudart.so.12")
            if library_path.endswith(os.path.dirname(b)) and not any(h["path"] == (a if taken["path"] == b else b) for h in taken["hides"]) \
                    and taken["rule"] != "RPATH":
                bad.append(f"with {library_path} the hidden copy is not pointed out")
        tap.rule(f"libcudart 12 of two versions, the program linked with {kind}", bad)


def imported(python, library_path):
    done = subprocess.run([python, "-c", "import torch"], env={**CLEAN, "LD_LIBRARY_PATH": library_path, "LD_DEBUG": "files"},
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, {os.path.realpath(p) for p in re.findall(r"calling init: (/\S+)", done.stderr)}


def environment(scratch, found):
    """The libraries of import torch. The loader's list may lack libraries that torch opens lazily (CUDA's without a GPU)."""
    venv = os.environ["VENV"]
    conda = os.path.join(scratch, "conda/lib")
    os.makedirs(conda)
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        shutil.copy(os.path.realpath(os.path.join("/usr/lib/x86_64-linux-gnu" if name != "libgcc_s.so.1" else "/lib/x86_64-linux-gnu", name)),
                    os.path.join(conda, name))
    ways = {"plainly": "", "with a conda-like libstdc++ in the way": conda}
    for name, libs in found.items():
        if "nccl" in name:
            ways[f"with {name} in the way"] = os.path.dirname(next(p for p in libs if "libnccl.so.2" in p))
    for how, library_path in ways.items():
        code, true = imported(os.path.join(venv, "bin/python3"), library_path)
        run = next(r for r in ours(venv, library_path) if r["what"] == "import torch")
        # torch opens some of them earlier by a path. The files are the same.
        got = {os.path.realpath(o["path"]) for o in run["objects"][1:] if o["path"] and not o["opened"]}
        bad = [f"the loader does not take {p}" for p in sorted(got - true) if "/ld-linux" not in p and not code]
        for base in ("libnccl.so.2", "libstdc++.so.6", "libcudart.so.13", "libcudnn.so.9", "libgomp.so.1"):
            theirs = {p for p in true if os.path.basename(p) == base}
            mine = {p for p in got if os.path.basename(p) == base}
            if theirs and mine and theirs != mine:
                bad.append(f"{base}: {mine}, the loader takes {theirs}")
        tap.rule(f"import torch {how}: {len(got)} objects{' (Python says no)' if code else ''}", bad)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        found = unpack(scratch)
        if not found:
            tap.skip("NVIDIA's libraries", "pip cannot download any")
        each_library(found)
        if shutil.which("cc"):
            in_the_way(scratch, found)
        if os.environ.get("VENV"):
            environment(scratch, found)
    tap.plan()


main()
