#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gpubench itself costs: its statistics, its page, and the harness around a measured step.

Usage: bench_harness.py GPUBENCH [--rounds N] [--results DIR]
A real session of the workload `sim` is drawn out to as many launches as wanted: its launches are repeated in tossed order, each
with its samples times a normal number, so that every launch has its own. Three promises are measured:
  report   CPU time of `gpubench report` of 10,000 launches: under 1 s
  page     size of the HTML page of 1,000 launches: under 2 MB, and the time it takes
  step     what an empty step costs, by the workload `null`: at most 0.1 % of a step of 100 ms
Results go to DIR/harness.json (everything) and DIR/harness.md (made from it). Ends with 1 when a promise is broken.
"""
import argparse
import datetime
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

STEP_S = 0.1


def gpubench(a, *args):
    """Wall and CPU seconds of one call."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([a.gpubench, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"gpubench {' '.join(args)} ended with {done.returncode}: {done.stderr.strip()}")
    return {"wall_s": wall, "cpu_s": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime}


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def drawn_out(doc, launches, path):
    """One A/A pair for four pairs, as one session of that many launches."""
    toss = random.Random(5)
    model = {(x["kind"], x["arm"]): x for x in doc["launches"]}
    aa = launches // 10
    kinds = ["aa"] * aa + ["ab"] * (launches // 2 - aa)
    toss.shuffle(kinds)
    out = []
    for block, kind in enumerate(kinds):
        for arm in toss.sample("AB", 2):
            x = json.loads(json.dumps(model[kind, arm]))
            x.update(seq=len(out), block=block, t_s=float(len(out)))
            factor = toss.gauss(1, 0.01)
            for series in x["metrics"].values():
                series["samples"] = [round(s * factor, 12) for s in series["samples"]]
            out.append(x)
    doc["launches"] = out
    doc["run"].update(looks=[{"pairs": kinds.count("ab"), "alpha": 0.05}], duration_s=float(len(out)))
    with open(path, "w", encoding="utf-8") as f:
        json.dump(doc, f)


def measure(a, folder):
    small, big, page = (os.path.join(folder, n) for n in ("small.json", "big.json", "page.html"))
    gpubench(a, "run", "--workload", "sim", "--env", "GPUBENCH_SIM=effect=.03", "--quick", "--seed", "7", "--quiet", "-o", small)
    drawn_out(load(small), 10000, big)
    result = {"launches_of_report": 10000, "result_bytes": os.path.getsize(big),
              "report": [gpubench(a, "report", big) for _ in range(a.rounds)]}
    drawn_out(load(small), 1000, big)
    result.update(launches_of_page=1000, page=[gpubench(a, "report", big, "--html", page) for _ in range(a.rounds)],
                  page_bytes=os.path.getsize(page))
    gpubench(a, "run", "--workload", "null", "--quiet", "-o", small)
    result["empty_step_ns"] = [statistics.median(s["samples"][s["warmup"]:]) for x in load(small)["launches"]
                               for s in x["metrics"].values()]
    return result


def judged(r):
    """Rows of promise, measured, kept."""
    report, page = (statistics.median(x["cpu_s"] for x in r[k]) for k in ("report", "page"))
    step = statistics.median(r["empty_step_ns"])
    share = step / 1e9 / STEP_S * 100
    return [(f"report of {r['launches_of_report']:,} launches ({r['result_bytes'] / 1e6:.1f} MB)", "under 1 s of CPU",
             f"{report:.2f} s", report < 1),
            (f"page of {r['launches_of_page']:,} launches", "under 2 MB", f"{r['page_bytes'] / 1e6:.2f} MB, {page:.2f} s of CPU",
             r["page_bytes"] < 2e6),
            ("harness around a step of 100 ms", "at most 0.1 %", f"{step:.0f} ns, {share:.6f} %", share <= 0.1)]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--results")
    a = p.parse_args()
    a.gpubench = os.path.abspath(a.gpubench)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(a, folder)
    result["made"] = datetime.date.today().isoformat()
    result["kernel"] = platform.release()
    rows = judged(result)
    lines = ["# What gpubench itself costs", "",
             f"Made by `make bench-harness` from harness.json, {result['made']}: medians of {a.rounds} calls.", "",
             "| what | promised | measured | kept |", "|---|---|---|---|"]
    lines += [f"| {what} | {promise} | {got} | {'yes' if ok else '**no**'} |" for what, promise, got, ok in rows]
    if a.results:
        os.makedirs(a.results, exist_ok=True)
        with open(os.path.join(a.results, "harness.json"), "w", encoding="utf-8") as f:
            json.dump(result, f)
            f.write("\n")
        with open(os.path.join(a.results, "harness.md"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0 if all(ok for *_, ok in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
