#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares workloads with the usual programs for the same measurements: STREAM, fio, sysbench and cyclictest. Rounds are
interleaved within the same minute, and the ratio of medians must be within stated bounds. Missing programs are skipped.

Usage: bench_workloads.py GPUBENCH [--rounds N] [--results DIR]    STREAM_C=stream.c names STREAM's source; it is compiled with
cc -O3 -fopenmp. Debian: fio, sysbench, rt-tests. Needs a quiet host. Prints TAP and writes DIR/peers.json, with every round, and
DIR/peers.md, made from it.
"""
import argparse
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

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
    """Peers. Each returns its value in gpubench's unit; doc is gpubench's launch of the same round."""

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
        """All CPUs read, each its own block, which is larger than the caches."""
        text = output("sysbench", "memory", "--memory-block-size=256M", "--memory-oper=read", "--memory-scope=local",
                      "--memory-total-size=16G", f"--threads={len(os.sched_getaffinity(0))}", "run")
        return float(re.search(r"\(([0-9.]+) MiB/sec\)", text)[1]) * MIB / 1e9

    @staticmethod
    def cyclictest(doc):
        """The median of the histogram with bins of 1 us: the same sleeps by the same clock, in an ordinary task."""
        every = doc["params"]["sleep_ns"] // 1000
        text = output("cyclictest", "-q", "-l", "2000", "-i", str(every), "--default-system", "--policy=other", "-h", "20000")
        seen = [(int(us), int(n)) for us, n in re.findall(r"^(\d{6}) (\d{6})$", text, re.M)]
        left = sum(n for _, n in seen) / 2
        for us, n in seen:
            left -= n
            if left <= 0:
                return (us + .5) * 1000
        raise RuntimeError("cyclictest: more than half of the sleeps ended 20 ms late")


# gpubench's metric, peer program, minimum and maximum ratio gpubench / peer, and the reason for the difference
TABLE = [
    ("mem.bw", "mem.bw", "stream", "cc", .9, 1.7,
     "STREAM's stores may read the line first: 4 words moved, 3 counted (up to 1.33). Its static arrays have small pages, those of "
     "gpubench huge pages (up to 1.25)"),
    ("mem.matrix", "mem.matrix.cpu0-mem0", "sysbench", "sysbench", .7, 4,
     "sysbench adds word by word, which may be its limit"),
    ("file.read", "file.read.direct", "fio", "fio", .6, 1.6, "one request at a time on the same disk"),
    ("sync.wake", "sync.wake.timer", "cyclictest", "cyclictest", .7, 1.4,
     "the same sleeps; cyclictest counts in microseconds and wakes a separate thread"),
]


def compare(gpubench, peers, rounds, row):
    """Returns the result of one row: the reason for skipping, or every round and the median of the ratios."""
    workload, metric, name, program, low, high, why = row
    found = {"metric": metric, "peer": name, "low": low, "high": high, "why": why}
    if name == "stream" and not os.environ.get("STREAM_C"):
        return {**found, "skipped": "STREAM_C names no source"}
    if not shutil.which(program):
        return {**found, "skipped": f"{program} is not installed"}
    mine, theirs = [], []
    try:
        for _ in range(rounds):
            value, doc = ours(gpubench, workload, metric)
            mine.append(value)
            theirs.append(getattr(peers, name)(doc))
    except LookupError as nothing:
        return {**found, "skipped": str(nothing)}
    except (RuntimeError, TypeError, ValueError, KeyError) as why:  # The other rows are still useful.
        return {**found, "failed": f"{why}", "within": False}
    unit = next(m["unit"] for m in doc["metrics"] if m["id"] == metric)
    ratios = [a / b for a, b in zip(mine, theirs)]
    ratio = statistics.median(ratios)
    return {**found, "unit": unit, "ours": mine, "theirs": theirs, "ratio": ratio, "ratios": [min(ratios), max(ratios)],
            "within": low <= ratio <= high}


def tap(f):
    if "skipped" in f:
        return f"ok - {f['metric']} compared with {f['peer']} # SKIP {f['skipped']}"
    if "failed" in f:
        return f"not ok - {f['metric']} compared with {f['peer']}: {f['failed']}"
    said = (f"{f['metric']} {statistics.median(f['ours']):.4g} {f['unit']}, {f['peer']} {statistics.median(f['theirs']):.4g}: "
            f"ratio {f['ratio']:.2f} in [{f['low']}, {f['high']}]")
    return f"{'ok' if f['within'] else 'not ok'} - {said} ({f['why']})"


def markdown(doc):
    out = ["<!-- made by `make bench-peers`; peers.json has every round -->", "# Workloads, compared with common programs", "",
           f"{doc['host']}, load {doc['load'][0]:.1f} to {doc['load'][1]:.1f}, {doc['date']}; {doc['rounds']} interleaved rounds, "
           f"{doc['minutes']:.1f} min. Ratio: gpubench to peer, median and range of the rounds.", "",
           "| metric | peer | gpubench | peer's value | ratio | range | bounds | within | reason for a difference |",
           "|---|---|--:|--:|--:|---|---|---|---|"]
    for f in doc["found"]:
        if "ratio" not in f:
            why = f"skipped: {f['skipped']}" if "skipped" in f else f"**failed**: {f['failed']}"
            out.append(f"| {f['metric']} | {f['peer']} | | | | | [{f['low']}, {f['high']}] | {why} | {f['why']} |")
            continue
        out.append(f"| {f['metric']} | {f['peer']} | {statistics.median(f['ours']):.4g} {f['unit']} | "
                   f"{statistics.median(f['theirs']):.4g} {f['unit']} | {f['ratio']:.2f} | {f['ratios'][0]:.2f} to {f['ratios'][1]:.2f} | "
                   f"[{f['low']}, {f['high']}] | {'yes' if f['within'] else '**no**'} | {f['why']} |")
    return "\n".join(out + [""])


def write(doc, folder):
    """Writes the results after each row, so that a later failure loses nothing."""
    for name, text in (("json", json.dumps(doc, indent=1) + "\n"), ("md", markdown(doc))):
        with open(os.path.join(folder, f"peers.{name}"), "w", encoding="utf-8") as f:
            f.write(text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--results")
    a = p.parse_args()
    start, load = time.monotonic(), os.getloadavg()[0]
    found = []

    def so_far():
        return {"date": datetime.date.today().isoformat(), "host": f"{os.cpu_count()} CPUs, {platform.release()}", "rounds": a.rounds,
                "load": [load, os.getloadavg()[0]], "minutes": (time.monotonic() - start) / 60, "found": found}

    print(f"1..{len(TABLE)}")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        peers = Peers(scratch)
        for row in TABLE:
            found.append(compare(os.path.abspath(a.gpubench), peers, a.rounds, row))
            print(tap(found[-1]), flush=True)
            if a.results:
                write(so_far(), a.results)
    return 1 if any(not f.get("within", True) for f in found) else 0


if __name__ == "__main__":
    sys.exit(main())
