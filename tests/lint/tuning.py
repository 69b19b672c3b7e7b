#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the list of settings that other tools change, the subjects that both programs have, and the list of lessons."""
import os
import re

import tap


def read(path):
    with open(os.path.join(tap.TOP, path), encoding="utf-8") as f:
        return f.read()


doc, bad = tap.document("gputune", "list")
knobs = {k["id"]: k for k in doc["knobs"]} if doc else {}
settings = doc["settings"] if doc else []
bad += [f"{s['name']}: needs a knob or a reason, and not both" for s in settings if bool(s["knob"]) == bool(s["why_not"])]
bad += [f"{s['name']}: there is no knob {s['knob']}" for s in settings if s["knob"] and s["knob"] not in knobs]
names = [s["name"] for s in settings]
bad += [f"{n}: twice" for n in sorted(set(names)) if names.count(n) > 1]
bad += [f"{n}: is a knob itself" for n in names if n in knobs]
tap.rule("each setting that other tools change is a knob or has a reason why not", bad or ([] if settings else ["no settings"]))

bad = []
for s in settings:
    done = tap.run("gputune", "explain", s["name"])
    said = " ".join(done.stdout.split())
    if done.returncode or s["name"] not in said or (s["why_not"] or s["knob"]) not in said:
        bad.append(f"gputune explain {s['name']}: status {done.returncode} {done.stderr.strip()}")
tap.rule("gputune explain explains each of these settings", bad)

# ---- subjects: gpuprobe judges, gputune writes ----

# Knobs with the name of a check that does not judge them: why the two do not contradict each other.
SAME_NAME = {
    "cpu.governor": "the remedy of host.governor is the plan of this knob",
    "kernel.numa_balancing": "host.numa-balancing reports the state and never warns",
    "omp.runtime": "container.runtime is about docker",
    "run.blas": "a launch setting for hosts on which host.blas warns",
    "run.blas_kernels": "a launch setting for hosts on which host.blas-kernels warns",
}


def subject(name):
    """Returns the subject of a knob or check, which is the last part of its id."""
    return name.rsplit(".", 1)[-1].replace("-", "_")


doc, bad = tap.document("gpuprobe", "list")
checks = {c["id"] for c in doc["checks"]} if doc else set()
judged = [k["check"] for k in knobs.values() if k.get("check")]
bad += [f"{k['id']}: gpuprobe has no check {k['check']}" for k in knobs.values() if k.get("check") and k["check"] not in checks]
bad += [f"{c}: two knobs" for c in sorted(set(judged)) if judged.count(c) > 1]
bad += [f"{k['id']}: class {k['tag']}, and has a check" for k in knobs.values() if k.get("check") and k["tag"] != "C"]
bad += [f"{k['id']}: advice without a check of gpuprobe" for k in knobs.values()
        if k["tag"] == "C" and not k.get("check")]
bad += [f"{k['id']}: judged by {c} too" for k in knobs.values() for c in sorted(checks)
        if subject(k["id"]) == subject(c) and k.get("check") != c and k["id"] not in SAME_NAME]
tap.rule("no subject is judged by both gpuprobe and gputune", bad or ([] if len(judged) > 28 else ["no checks"]))

expected = "".join(read(f"tests/unit/{n}") for n in ("probe_advice.c", "probe_failures.c", "tune_devices.c", "tune_interrupts.c", "tune_pcie.c"))
tap.rule("each piece of advice has an expectation with its commands",
         [k["id"] for k in knobs.values() if k.get("check") and f'"{k["check"]}"' not in expected and f'"{k["id"]}"' not in expected])

# ---- lessons: each names a test ----

def missing(path, words):
    """Returns the reason why the file has no such test, or None."""
    if not os.path.exists(os.path.join(tap.TOP, path)):
        return "no such file"
    return None if words in read(path) else f"the file does not contain '{words}'"


bad, n = [], 0
for i, line in enumerate(read("tests/lessons.tsv").splitlines(), 1):
    if line.startswith("#"):
        continue
    parts = line.split("\t")
    n += 1
    why = "not four columns" if len(parts) != 4 or not all(parts) else missing(*parts[2:])
    bad += [f"tests/lessons.tsv:{i}: {parts[-2]}: {why}"] if why else []
tap.rule("each lesson names a test", bad or ([] if n > 20 else ["no lessons"]))
tap.plan()
