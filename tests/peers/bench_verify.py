#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time of plan and verify, compared with `tuned-adm verify`, and the cost of a launch, in interleaved rounds.

Usage: bench_verify.py GPUTUNE UNPACK HOST [--rounds N] [--launches N] [--results DIR]
HOST is a captured host. UNPACK makes a tree of it, on which plan and verify (with everything applied) are timed. tuned must be
running with a profile (tuned-adm profile throughput-performance). Otherwise it is omitted, and the result notes this.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True
import bench_effect  # noqa: E402


def timed(command, ok):
    t0 = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    took = time.perf_counter() - t0
    if done.returncode not in ok:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout.strip()[-300:]}")
    return took


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gputune")
    p.add_argument("unpack")
    p.add_argument("host")
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--launches", type=int, default=1000)
    p.add_argument("--results", default="bench/results")
    a = p.parse_args()
    tuned = shutil.which("tuned-adm") and not subprocess.run(["tuned-adm", "active"], stdout=subprocess.DEVNULL,
                                                              stderr=subprocess.DEVNULL).returncode
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.join(scratch, "root")
        subprocess.run([a.unpack, a.host, root], check=True)
        subprocess.run([a.gputune, "apply", "-q", "--root", root, "--optional"], check=True, stdout=subprocess.DEVNULL)
        commands = {"gputune plan, this host": ([a.gputune, "plan", "-q"], (0,)),
                    "gputune plan, captured host": ([a.gputune, "plan", "-q", "--root", root], (0,)),
                    "gputune verify, this host": ([a.gputune, "verify", "-q"], (0, 4, 5, 6)),
                    "gputune verify, captured host, all applied": ([a.gputune, "verify", "-q", "--root", root], (0, 4))}
        if tuned:
            commands["tuned-adm verify, this host"] = (["tuned-adm", "verify"], (0, 1))
        times = {k: [] for k in commands}
        for _ in range(a.rounds):
            for name, (command, ok) in commands.items():
                times[name].append(timed(command, ok))
    a.gputune = os.path.abspath(a.gputune)
    launched = bench_effect.launches(types.SimpleNamespace(gputune=a.gputune), a.launches)
    os.makedirs(a.results, exist_ok=True)
    with open(os.path.join(a.results, "verify.json"), "w", encoding="utf-8") as f:
        json.dump({"host": os.path.basename(a.host), "seconds": times, "launch_s": launched}, f)
        f.write("\n")
    why = [] if tuned else ["tuned was not running and is left out.", ""]
    lines = ["# Time of plan and verify", "",
             "Made by `make bench-verify` from verify.json: interleaved rounds of fresh processes.", "",
             f"The captured host is {os.path.basename(a.host)}.", "", *why,
             "| command | median ms | fastest ms | rounds |", "|---|---|---|---|"]
    for name, v in times.items():
        lines.append(f"| {name} | {statistics.median(v) * 1e3:.1f} | {min(v) * 1e3:.1f} | {len(v)} |")
    base = statistics.median(launched["true"])
    lines += ["", f"{a.launches} launches, interleaved: medians minus that of a plain call of `true`.", "",
              "| launcher | extra ms |", "|---|---|"]
    lines += [f"| {k} | {(statistics.median(v) - base) * 1e3:.2f} |" for k, v in launched.items() if k != "true"]
    with open(os.path.join(a.results, "verify.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
