#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests whether gpubench finds known effects: planted effects on this host, placebos, and sixteen changes in one session.

Usage: bench_planted.py GPUBENCH [--sessions N] [--parts a,b] [--minutes N] [--afresh] [--results DIR]
The workload is real work: each step hashes 64 KiB a hundred times, and PLANT=N makes it N times more, so a step does exactly
N per cent more work. Other variables do nothing. Three parts:
  effects   N sessions of `gpubench ab` for 1, 2 and 5 per cent each: the number that found the effect, the number of intervals
            with the true effect, and the number required by the power that each session stated after its pilot (80 % at its MDE)
  placebos  one session of `gpubench prove` with twenty changes without effect: at most one may appear to have an effect
  sixteen   one session of `gpubench prove` with sixteen changes, three of which have an effect, compared with the plan
Results go to DIR/planted.json (everything) and DIR/planted.md (made from it) after each session. An interrupted call is
continued on the same host with the same program, unless --afresh. With --minutes, no session begins after that time, and the exit
status is 2. Exits with 1 if a promise is broken.
"""
import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

STEP = """
import hashlib, os, time
piece = bytes(65536)
work = 100 + int(os.environ.get("PLANT", "0")) + int(os.environ.get("MORE", "0")) - int(os.environ.get("LESS", "0"))
for _ in range(%d):
    start = time.perf_counter()
    digest = hashlib.sha256()
    for _ in range(work):
        digest.update(piece)
    digest.digest()
    print("step %%.9f" %% (time.perf_counter() - start))
"""
STEPS = 25
COMMON = ["--metric", "regex:step ([0-9.]+)", "--unit", "s", "--margin", "0.5"]


def gpubench(a, *args):
    """Runs one session. Returns its document, stderr, exit status and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        step = os.path.join(folder, "step.py")
        with open(step, "w", encoding="ascii") as f:
            f.write(STEP % STEPS)
        start = time.monotonic()
        done = subprocess.run([a.gpubench, *args, *COMMON, "-o", out, "--", sys.executable, "-I", "-S", step],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        took = time.monotonic() - start
        with open(out, encoding="utf-8") as f:
            return json.load(f), done.stderr, done.returncode, took


def primary(doc):
    return next(c for c in doc["comparisons"] if c["metric"] == "cmd")


class Enough(Exception):
    """The allowed time is over."""


def may_begin(a):
    if a.minutes and time.monotonic() - START > 60 * a.minutes:
        raise Enough


def effects(a, rows, save):
    """rows: sessions of an earlier call, possibly none. One session at a time is appended."""
    for pct in (1, 2, 5):
        row = next((r for r in rows if r["planted_pct"] == pct), None)
        if not row:
            row = {"planted_pct": pct, "sessions": []}
            rows.append(row)
        sessions = row["sessions"]
        for n in range(len(sessions), a.sessions):
            may_begin(a)
            doc, _, code, took = gpubench(a, "ab", "--env", f"PLANT={pct}", "--seed", str(100 * pct + n))
            c = primary(doc)
            plan = [p["mde_pct"] for p in doc["run"].get("plan", []) if p["metric"] == "cmd"]
            sessions.append({"verdict": doc["verdict"], "exit": code, "change_pct": c["change_pct"], "p": c["p"], "n": c["n"],
                             "ci": [c["ci_low_pct"], c["ci_high_pct"]], "mde_pct": plan[0] if plan else None, "seconds": took})
            say(f"{pct} %, session {n + 1} of {a.sessions}: {doc['verdict']} {c['change_pct']}, {took:.0f} s")
            judge(row, pct)
            save()
    return rows


def judge(row, pct):
    sessions = row["sessions"]
    real = [s for s in sessions if s["verdict"] != "invalid"]
    entitled = [s for s in real if s["mde_pct"] is not None and s["mde_pct"] <= pct]
    found = sorted(s["change_pct"] for s in real if s["change_pct"] is not None)
    row.update({
        "valid": len(real),
        "found": sum(s["verdict"] == "worse" for s in real),
        "wrong_way": sum(s["verdict"] == "better" for s in real),
        "entitled": len(entitled), "entitled_found": sum(s["verdict"] == "worse" for s in entitled),
        "covered": sum(s["ci"][0] is not None and s["ci"][0] <= pct <= s["ci"][1] for s in real),
        "median_pct": found[len(found) // 2] if found else None,
    })


def least(n, p):
    """Returns the minimum number of n successes at probability p with 99.9 % confidence. Fewer is a broken promise, not chance."""
    total, k = 0.0, -1
    while total < 0.001:
        k += 1
        c = 1.0
        for i in range(k):
            c = c * (n - i) / (i + 1)
        total += c * p**k * (1 - p) ** (n - k)
    return k


def session(a, seed, *args):
    doc, talk, code, took = gpubench(a, "prove", "--seed", str(seed), *args)
    done = sum(len({l["block"] for l in p["launches"]}) for p in doc["phases"] if p["phase"]["name"] != "mechanism")
    planned = re.search(r"at most (\d+) pairs of", talk)
    minutes = re.search(r"what follows takes at most \d+ pairs, about ([0-9.]+) min", talk)
    receipt = doc["receipt"]
    plan = receipt["plan"]
    mde = [s["mde_pct"] for s in plan["steps"] if s["name"] in ("each change", "all changes at once")]
    return {
        "planned_minutes": plan["minutes"], "mde_pct": mde[0] if mde else None,
        "exit": code, "seconds": took, "pairs": done, "planned_pairs": int(planned.group(1)) if planned else None,
        "minutes_planned_after_total": float(minutes.group(1)) if minutes else None, "confirmed": receipt["confirmed"],
        "confirm": receipt.get("confirm"),
        "changes": [{k: c[k] for k in ("id", "verdict", "kept", "effect", "p_adjusted")} for c in receipt["knobs"]],
    }


def placebos(a):
    args = [x for i in range(20) for x in ("--env", f"PLACEBO{i}=1")]
    return session(a, 11, *args)


def sixteen(a):
    args = [x for i in range(12) for x in ("--env", f"PLACEBO{i}=1")]
    return session(a, 12, "--env", "LESS=5", "--env", "MORE=5", "--env", "PLANT=2", "--env", "NOTHING=1", *args)


def say(text):
    print(f"bench_planted: {text}", file=sys.stderr, flush=True)


def broken(doc):
    bad = []
    for r in doc.get("effects", []):
        n, pct = r.get("valid", 0), r["planted_pct"]
        if not n:
            continue
        if r["entitled_found"] < least(r["entitled"], .8):
            bad.append(f"{pct} %: {r['entitled_found']} of {r['entitled']} sessions with enough power found the effect")
        if r["covered"] < least(n, .93):
            bad.append(f"{pct} %: {r['covered']} of {n} intervals contain the planted value")
        if r["wrong_way"]:
            bad.append(f"{pct} %: {r['wrong_way']} sessions have the verdict better")
    p = doc.get("placebos")
    if p and p["exit"] == 0 and sum(c["verdict"] in ("better", "worse") for c in p["changes"]) > 1:
        bad.append("more than one of twenty placebos has a verdict")
    s = doc.get("sixteen")
    if s and s["exit"] == 0:
        if {c["id"] for c in s["changes"] if c["kept"]} != {"env.LESS"}:
            bad.append("the kept changes of the sixteen are not exactly the one that helps")
        if s["planned_pairs"] is None or s["pairs"] > s["planned_pairs"]:
            bad.append(f"sixteen took {s['pairs']} pairs, {s['planned_pairs']} were planned")
    bad += [f"{name}: the session was not valid" for name in ("placebos", "sixteen") if doc.get(name, {}).get("exit", 0) != 0]
    return bad


def markdown(doc):
    out = ["<!-- made by `make bench-planted`; planted.json has every session -->", "# Planted effects", "",
           f"{doc['host']}, load {doc['load'][0]:.1f} to {doc['load'][1]:.1f}, {doc['date']}. Each step does exactly the planted percentage of "
           "additional work.", ""]
    if "effects" in doc:
        out += ["| planted | sessions | invalid | verdict worse | MDE at most planted | found of these | intervals with the planted value |"
                " median estimate |", "|--:|--:|--:|--:|--:|--:|--:|--:|"]
        out += [f"| {r['planted_pct']} % | {len(r['sessions'])} | {len(r['sessions']) - r['valid']} | {r['found']} | {r['entitled']} | {r['entitled_found']} | {r['covered']} | "
                f"{r['median_pct']:+.2f} % |" for r in doc["effects"] if r.get("median_pct") is not None]
        out += ["", "A session whose A/A pairs differ is invalid and has no verdict. "
                "Only the columns sessions and invalid count such a session.",
                ""]
    for name, title in (("placebos", "Twenty placebos in one session"), ("sixteen", "Sixteen changes, three of them with an effect")):
        if name in doc:
            s = doc[name]
            planned = f"{s['planned_minutes']:.1f}" if s["planned_minutes"] is not None else "unknown"
            out += [f"## {title}", "", f"{s['pairs']} pairs of at most {s['planned_pairs']}, {s['seconds'] / 60:.1f} min of about "
                    f"{planned} planned after the pilot. Minimum detectable effect of each change: {s['mde_pct'] or float('nan'):.2f} %.", "",
                    "| change | effect | 95 % | verdict | kept |", "|---|--:|---|---|---|"]
            for c in s["changes"]:
                e = c["effect"] or {}
                low, mid, high = (e.get(k) if e.get(k) is not None else float("nan")
                                  for k in ("ci_low_pct", "change_pct", "ci_high_pct"))
                out.append(f"| {c['id']} | {mid:+.2f} % | [{low:+.2f}, {high:+.2f}] | {c['verdict']} | {'yes' if c['kept'] else 'no'} |")
            out.append("")
    out += [f"Missed targets: {'; '.join(doc['broken']) or 'none'}.", ""]
    if not doc["whole"]:
        out += ["The measurement is incomplete.", ""]
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("--sessions", type=int, default=10, help="per effect")
    p.add_argument("--parts", default="effects,placebos,sixteen")
    p.add_argument("--minutes", type=float, help="begin no session after this long")
    p.add_argument("--afresh", action="store_true", help="also where an earlier call was cut short")
    p.add_argument("--results", default=".")
    a = p.parse_args()
    a.gpubench = os.path.abspath(a.gpubench)
    path = os.path.join(a.results, "planted.json")
    version = subprocess.run([a.gpubench, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[0]
    doc = {"date": datetime.date.today().isoformat(), "host": f"{os.cpu_count()} CPUs, {platform.release()}", "gpubench": version,
           "load": [os.getloadavg()[0]], "steps": STEPS, "whole": False}
    doc = begun(path, doc) if not a.afresh else doc

    def save():
        doc["load"][1:] = [os.getloadavg()[0]]
        doc["broken"] = broken(doc)
        os.makedirs(a.results, exist_ok=True)
        for name, text in ((path, json.dumps(doc, indent=1) + "\n"), (path[:-4] + "md", markdown(doc))):
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)

    try:
        for part in a.parts.split(","):
            say(part)
            if part == "effects":
                effects(a, doc.setdefault(part, []), save)
            elif part not in doc:
                may_begin(a)
                doc[part] = {"placebos": placebos, "sixteen": sixteen}[part](a)
            save()
    except Enough:
        say(f"{a.minutes:g} min are over; what was measured is in {path}, and the same command goes on")
        return 2
    doc["whole"] = True
    save()
    print(markdown(doc))
    return 1 if doc["broken"] else 0


def begun(path, doc):
    """Returns the document of an interrupted call on this host with this program, otherwise doc."""
    try:
        with open(path, encoding="utf-8") as f:
            old = json.load(f)
    except (OSError, ValueError):
        return doc
    if old.get("whole", True) or any(old.get(k) != doc[k] for k in ("host", "gpubench", "steps")):
        return doc
    say(f"goes on with {path}")
    return old


START = time.monotonic()
if __name__ == "__main__":
    sys.exit(main())
