#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the ladders that read real data: bench/results/compress.md, vit.md, data.md and user-op.md, with their JSON documents.

Usage: bench_ladders.py GPUBENCH [--parts compress,vit,data,user-op] [--rounds N] [--digits FILE] [--results DIR]
compress: a GPT on the licence texts of the host, and a ResNet-20 on handwritten digits (python3-sklearn, or --digits FILE). vit:
the same digits. data: JPEG photographs in tar shards (bench_loader.py). Parts without their data are skipped. Exit status 77: all
parts were skipped. On a quiet host a part takes one to five minutes.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_loader  # noqa: E402
from check_int8 import DIGITS, write_digits  # noqa: E402

PARTS = {  # name: ladders, data
    "compress": (["compress", "compress-images"], "digits"),
    "vit": (["vit"], "digits"),
    "data": (["data"], "jpeg"),
    "user-op": (["gelu", "softmax"], None),
}


def make(a, data, where):
    """Makes the directory `data` in the directory `where`. Returns whether its source is there."""
    path = f"{where}/{data}"
    if os.path.exists(path):
        return True
    if data == "digits":
        if not os.path.exists(a.digits):
            return False
        write_digits(a.digits, path)
        return True
    try:
        if not bench_loader.photographs():
            return False
        bench_loader.make(where)
    except ImportError:
        return False
    return True


def measure(a, part, where):
    """Returns whether the part was measured."""
    ladders, data = PARTS[part]
    if data and not make(a, data, where):
        print(f"{part}: skipped, because there is no source of {data}", file=sys.stderr)
        return False
    out = f"{a.results}/{part}"
    # The results contain the path of the data: a relative one.
    subprocess.run([a.gpubench, "ladder", *ladders, *(["--data", data] if data else []), "--rounds", str(a.rounds), "-o", f"{out}.json",
                    "--markdown", f"{out}.md"], check=True, cwd=where)
    return True


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--digits", default=DIGITS)
    p.add_argument("--results", default="bench/results")
    a = p.parse_args()
    a.gpubench, a.results = os.path.abspath(a.gpubench), os.path.abspath(a.results)
    parts = a.parts.split(",")
    for part in parts:
        if part not in PARTS:
            p.error(f"no part {part}: the parts are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as where:
        return 0 if sum(measure(a, part, where) for part in parts) else 77


if __name__ == "__main__":
    sys.exit(main())
