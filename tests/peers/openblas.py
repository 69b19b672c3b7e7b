#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gputune and gpuprobe with the answer of Debian's OpenBLAS when a program loads it. Prints TAP."""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

BUILD = os.environ.get("TOP_BUILDDIR") or os.getcwd()
ASK = "import ctypes as c; f = c.CDLL('libopenblas.so.0').openblas_get_corename; f.restype = c.c_char_p; print(f().decode())"
# Those without AVX2, as OpenBLAS names them.
OLD = {"prescott", "core2", "penryn", "dunnington", "nehalem", "atom", "barcelona", "bobcat", "opteron", "opteron_sse3", "athlon",
       "nano", "banias", "sandybridge", "bulldozer", "piledriver", "steamroller"}


def flags():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((set(line.split()) for line in f if line.startswith("flags")), set())


def run(command, env):
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


def judge(where, env):
    """Tests one flavour, found by LD_LIBRARY_PATH."""
    name = os.path.basename(where)
    plain = run([sys.executable, "-c", ASK], env).stdout.strip()
    doc = json.loads(run([os.path.join(BUILD, "gpuprobe"), "--json"], env).stdout)
    said = {b["path"]: b for b in doc["host"]["openblas"]}
    mine = said.get(os.path.realpath(os.path.join(where, "libopenblas.so.0")), {})
    tap.check(f"{name}: gpuprobe reports its kernels", mine.get("core") == plain, f"{plain} beside {said}")
    old = plain.lower() in OLD and {"avx2", "fma"} <= flags()
    tap.check(f"{name}: old kernels are a finding", (mine.get("takes") is not None) == old, said)
    launch = [os.path.join(BUILD, "gputune"), "run", "--only", "run.blas_kernels", "--", sys.executable, "-c", ASK]
    for time in ("first", "second"):
        done = run(launch, env)
        told = done.stdout.strip()
        tap.check(f"{name}: the {time} program started by gputune run computes with {'better' if old else 'the same'} kernels",
              done.returncode == 0 and (told.lower() not in OLD if old else told == plain), f"{plain}, {told}: {done.stderr}")
    plan = json.loads(run([*launch[:2], "--print", "--json", *launch[2:]], env).stdout)
    var = next((v for v in plan["environment"] if v["name"] == "OPENBLAS_CORETYPE"), {})
    tap.check(f"{name}: --print shows the same kernels", var.get("value") == (told if old else None), var)


def main():
    there = sorted(d for d in glob.glob("/usr/lib/*/openblas-*") if os.path.exists(os.path.join(d, "libopenblas.so.0")))
    if os.uname().machine != "x86_64" or not there:
        print("1..0 # SKIP no OpenBLAS of Debian's for x86-64 is installed")
        return 0
    drop = ("OPENBLAS_CORETYPE", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH")
    with tempfile.TemporaryDirectory() as home:
        env = {k: v for k, v in os.environ.items() if k not in drop}
        for where in there:
            judge(where, {**env, "HOME": home, "XDG_CACHE_HOME": home, "LD_LIBRARY_PATH": where})
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
