#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of gpubench itself: its statistics, its page, and the harness around a measured step.

Usage: bench_harness.py GPUBENCH [--rounds N] [--sessions] [--results DIR]
A real session of the workload `sim` is extended to the wanted number of launches. Its launches are repeated in random order, each
with its samples times a normal random number, so that all launches differ. The measured promises:
  report   CPU time of `gpubench report` of 10,000 launches of 32 samples, and of 60 launches of 4,000: under 1 s
  page     size of the HTML page of 1,000 launches: under 2 MB, and the time it takes
  step     cost of an empty step of a built-in workload, by `null`: at most 0.1 % of a step of 100 ms
  command  gpubench's CPU time per step of 100 ms of a command (it parses the output and monitors the host): the time of 6
           launches of 60 steps less the time of 6 launches of 10 steps, less the command's own time
With --sessions, as root and on a quiet host, with settings changed and restored:
  run      a default `gpubench run` within 5 minutes
  prove    a default `gpubench prove` of the auto profile within the pairs and minutes of its own plan
Results go to DIR/harness.json (everything) and DIR/harness.md (made from it). Without --sessions, an earlier call's results of
sessions stay. Exits with 1 if a promise is broken.
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
LAUNCHES = 6
# A step of 100 ms that takes no CPU. At the end, the process writes its own CPU time, with the start.
COMMAND = """
import time
for i in range(%d):
    start = time.perf_counter()
    time.sleep(%f)
    print("step %%.9f" %% (time.perf_counter() - start), flush=True)
print(time.process_time(), file=open("cpu", "a"))
"""


def gpubench(a, *args, folder=None, codes=(0, 1)):
    """Returns the wall and CPU seconds of one call."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([a.gpubench, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                          cwd=folder)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in codes:
        sys.exit(f"gpubench {' '.join(args)} ended with {done.returncode}: {done.stderr.strip()}")
    return {"wall_s": wall, "cpu_s": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime}


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def drawn_out(doc, launches, path, samples=None):
    """Returns a session with these numbers of launches and samples per launch, and one A/A pair for every four pairs."""
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
                of = [toss.choice(series["samples"]) for _ in range(samples)] if samples else series["samples"]
                series["samples"] = [round(s * factor, 12) for s in of]
            out.append(x)
    doc["launches"] = out
    doc["run"].update(looks=[{"pairs": kinds.count("ab"), "alpha": 0.05}], duration_s=float(len(out)))
    with open(path, "w", encoding="utf-8") as f:
        json.dump(doc, f)


def beside_a_command(a, folder):
    """Returns gpubench's CPU seconds per step of a command, from the difference of long and short launches."""
    own = {}
    for steps in (10, 60):
        with open(os.path.join(folder, "step.py"), "w", encoding="ascii") as f:
            f.write(COMMAND % (steps, STEP_S))
        open(os.path.join(folder, "cpu"), "w", encoding="ascii").close()
        took = gpubench(a, "run", "--quiet", "--pairs", str(LAUNCHES), "--workload", "cmd", "--metric", "regex:step ([0-9.]+)",
                        "--unit", "s", "--", sys.executable, "-I", "-S", "step.py", folder=folder)
        with open(os.path.join(folder, "cpu"), encoding="ascii") as f:
            own[steps] = took["cpu_s"] - sum(float(line) for line in f)
    return (own[60] - own[10]) / (LAUNCHES * 50)


def sessions(a, folder):
    """Measures a default run and a default prove."""
    out, receipt = (os.path.join(folder, n) for n in ("session.json", "receipt.json"))
    run = gpubench(a, "run", "--quiet", "-o", out, codes=(0,))
    doc = load(out)
    run.update(workloads=len(doc["run"]["workloads"]), launches=len(doc["launches"]))
    prove = gpubench(a, "prove", "--yes", "--quiet", "-o", out, "--receipt", receipt, codes=(0, 64))
    if os.path.exists(receipt):
        doc = load(receipt)
        prove.update(plan=doc["plan"], changes=len(doc["knobs"]), kept=sum(k["kept"] for k in doc["knobs"]))
    return {"run": run, "prove": prove}


def measure(a, folder):
    small, big, page = (os.path.join(folder, n) for n in ("small.json", "big.json", "page.html"))
    gpubench(a, "run", "--workload", "sim", "--env", "GPUBENCH_SIM=effect=.03", "--quick", "--seed", "7", "--quiet", "-o", small)
    drawn_out(load(small), 10000, big)
    result = {"launches_of_report": 10000, "result_bytes": os.path.getsize(big),
              "report": [gpubench(a, "report", big) for _ in range(a.rounds)]}
    drawn_out(load(small), 60, big, samples=4000)
    result["long"] = [gpubench(a, "report", big) for _ in range(a.rounds)]
    drawn_out(load(small), 1000, big)
    result.update(launches_of_page=1000, page=[gpubench(a, "report", big, "--html", page) for _ in range(a.rounds)],
                  page_bytes=os.path.getsize(page))
    gpubench(a, "run", "--workload", "null", "--quiet", "-o", small)
    result["empty_step_ns"] = [statistics.median(s["samples"][s["warmup"]:]) for x in load(small)["launches"]
                               for s in x["metrics"].values()]
    result["command_step_s"] = [beside_a_command(a, folder) for _ in range(3)]
    if a.sessions:
        result["sessions"] = sessions(a, folder)
    return result


def judged(r):
    """Rows of promise, measured, kept."""
    report, page = (statistics.median(x["cpu_s"] for x in r[k]) for k in ("report", "page"))
    step = statistics.median(r["empty_step_ns"])
    share = step / 1e9 / STEP_S * 100
    rows = [(f"report of {r['launches_of_report']:,} launches of 32 samples ({r['result_bytes'] / 1e6:.1f} MB)", "under 1 s of CPU",
             f"{report:.2f} s", report < 1),
            (f"page of {r['launches_of_page']:,} launches", "under 2 MB", f"{r['page_bytes'] / 1e6:.2f} MB, {page:.2f} s of CPU",
             r["page_bytes"] < 2e6),
            ("an empty step of a bundled workload, as a share of 100 ms", "at most 0.1 %", f"{step:.0f} ns, {share:.6f} %",
             share <= 0.1)]
    if "long" in r:
        long = statistics.median(x["cpu_s"] for x in r["long"])
        rows.insert(1, ("report of 60 launches of 4,000 samples", "under 1 s of CPU", f"{long:.2f} s", long < 1))
    if "command_step_s" in r:
        beside = statistics.median(r["command_step_s"])
        rows.append(("CPU time of gpubench during a command, as a share of a 100 ms step", "at most 0.1 %",
                     f"{beside * 1e6:.0f} us, {beside / STEP_S * 100:.4f} %", beside / STEP_S <= 0.001))
    return rows + judged_sessions(r.get("sessions"))


def judged_sessions(s):
    if not s:
        return []
    run, prove = s["run"], s["prove"]
    rows = [(f"a default run ({run['workloads']} workloads, {run['launches']} launches)", "within 5 minutes",
             f"{run['wall_s'] / 60:.1f} min", run["wall_s"] <= 300)]
    if "plan" in prove:
        plan = prove["plan"]
        rows.append((f"a default prove of the auto profile ({prove['changes']} changes)",
                     f"within its plan: {plan['pairs']} pairs, {plan['minutes']:.1f} min",
                     f"{plan['pairs_taken']} pairs, {plan['minutes_taken']:.1f} min, with mechanisms {prove['wall_s'] / 60:.1f}",
                     plan["pairs_taken"] <= plan["pairs"] and plan["minutes_taken"] <= plan["minutes"] * 1.1))
    else:
        rows.append(("a default prove of the auto profile", "within its plan", "this host has all values of the profile", True))
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--sessions", action="store_true", help="also a default run and a default prove, as root")
    p.add_argument("--results")
    a = p.parse_args()
    a.gpubench = os.path.abspath(a.gpubench)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(a, folder)
    before = os.path.join(a.results, "harness.json") if a.results else ""
    if not a.sessions and os.path.exists(before) and "sessions" in load(before):
        result["sessions"] = load(before)["sessions"]
    result["made"] = datetime.date.today().isoformat()
    result["kernel"] = platform.release()
    rows = judged(result)
    lines = ["# Overhead of gpubench", "",
             f"Made by `make bench-harness` from harness.json, {result['made']}: medians of {a.rounds} calls.", "",
             "| quantity | target | measured | met |", "|---|---|---|---|"]
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
