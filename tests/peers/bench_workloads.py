#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads beside the programs that people measure the same things with: STREAM, fio, sysbench and cyclictest, in interleaved
rounds of the same minute, the ratio of medians within stated bounds. What is not installed is skipped and said.

Usage: bench_workloads.py GPUBENCH [ROUNDS]    STREAM_C=stream.c names STREAM's source; it is compiled with cc -O3 -fopenmp.
Debian: fio, sysbench, rt-tests. Wants a quiet host.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

MIB = 1 << 20


def output(*argv, **env):
    done = subprocess.run(argv, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: status {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def ours(gpubench, workload, metric):
    doc = json.loads(output(gpubench, "launch", workload, "--json"))
    m = next((m for m in doc["metrics"] if m["id"] == metric), None)
    if m is None:
        raise LookupError(f"{workload} has no {metric} here")
    return statistics.median(m["samples"][m["warmup"]:]), doc


class Peers:
    """Each returns its value in our unit; doc is our launch of the same round."""

    def __init__(self, scratch):
        self.scratch, self.stream_binary = scratch, None

    def stream(self, doc):
        if not self.stream_binary:
            self.stream_binary = os.path.join(self.scratch, "stream")
            size = doc["params"]["array_bytes"] // 8
            output("cc", "-O3", "-fopenmp", "-mcmodel=medium", f"-DSTREAM_ARRAY_SIZE={size}", os.environ["STREAM_C"], "-o",
                   self.stream_binary, "-lm")
        return float(re.search(r"^Triad:\s+([0-9.]+)", output(self.stream_binary), re.M)[1]) / 1000

    def fio(self, _doc):
        path = os.path.join(self.scratch, "fio.data")
        text = output("fio", "--name=read", f"--filename={path}", "--rw=read", "--bs=1M", "--size=256M", "--direct=1",
                      "--ioengine=psync", "--output-format=json")
        return json.loads(text[text.index("{"):])["jobs"][0]["read"]["bw_bytes"] / 1e9

    @staticmethod
    def sysbench(doc):
        """Reads by all CPUs, each of its own block, which is larger than the caches."""
        text = output("sysbench", "memory", "--memory-block-size=256M", "--memory-oper=read", "--memory-scope=local",
                      "--memory-total-size=16G", f"--threads={len(os.sched_getaffinity(0))}", "run")
        return float(re.search(r"\(([0-9.]+) MiB/sec\)", text)[1]) * MIB / 1e9

    @staticmethod
    def cyclictest(_doc):
        text = output("cyclictest", "-q", "-l", "2000", "-i", "500", "--default-system")
        return float(re.search(r"Avg:\s*([0-9]+)", text)[1]) * 1000


# ours, peer's program, ratio ours / peer at least and at most, and why it may differ so much
TABLE = [
    ("mem.bw", "mem.bw", "stream", "cc", .9, 1.7,
     "STREAM's stores may read the line first: the same traffic moves up to a third more than it counts"),
    ("mem.matrix", "mem.matrix.cpu0-mem0", "sysbench", "sysbench", .7, 4,
     "sysbench adds up word by word, which may be what limits it"),
    ("file.read", "file.read.direct", "fio", "fio", .6, 1.6, "one request at a time on the same disk"),
    ("sync.wake", "sync.wake", "cyclictest", "cyclictest", .02, 5,
     "a timer wakes cyclictest from idle, a thread wakes ours: the same order at most"),
]


def agree(gpubench, peers, rounds, row):
    workload, metric, name, program, low, high, why = row
    if name == "stream" and not os.environ.get("STREAM_C"):
        return f"ok - {metric} beside {name} # SKIP STREAM_C names no source"
    if not shutil.which(program):
        return f"ok - {metric} beside {name} # SKIP {program} is not installed"
    mine, theirs = [], []
    try:
        for _ in range(rounds):
            value, doc = ours(gpubench, workload, metric)
            mine.append(value)
            theirs.append(getattr(peers, name)(doc))
    except LookupError as nothing:
        return f"ok - {metric} beside {name} # SKIP {nothing}"
    ratio = statistics.median(a / b for a, b in zip(mine, theirs))
    said = f"{metric} {statistics.median(mine):.4g}, {name} {statistics.median(theirs):.4g}: ratio {ratio:.2f} in [{low}, {high}]"
    return f"{'ok' if low <= ratio <= high else 'not ok'} - {said} ({why})"


def main():
    gpubench, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    failed = 0
    print(f"1..{len(TABLE)}")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        peers = Peers(scratch)
        for row in TABLE:
            line = agree(gpubench, peers, rounds, row)
            failed += line.startswith("not")
            print(line, flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
