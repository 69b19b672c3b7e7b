#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the list of settings that other tools change, the advice and the list of lessons."""
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
tap.rule("each setting that others turn is a knob or has a reason why not", bad or ([] if settings else ["no settings"]))

bad = []
for s in settings:
    done = tap.run("gputune", "explain", s["name"])
    said = " ".join(done.stdout.split())
    if done.returncode or s["name"] not in said or (s["why_not"] or s["knob"]) not in said:
        bad.append(f"gputune explain {s['name']}: status {done.returncode} {done.stderr.strip()}")
tap.rule("gputune explain answers to each of them", bad)

# What needs hands or a reboot comes with the lines to type.
words = ("/etc/", "sysctl -w", "systemctl", "apt install", "ethtool -", "setpci", "mount -o", "ip link", "echo ", "docker run", "firmware",
         "apt-get", "numactl", "gputune explain")
files = set(os.listdir(os.path.join(tap.TOP, "tune/knob"))) - {"list.c"}  # which has the words, and no knob
sources = "".join(read(f"tune/knob/{n}") for n in sorted(files) if n.endswith(".c"))
bad = []
for call in re.findall(r"TN_ADVICE,(.*?)\);\n", sources, re.S):
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call))
    if not any(w in text for w in words) and not re.search("grub_how|NCCL_CONF", call):
        bad.append(text[:100])
enough = sources.count("TN_ADVICE") + sources.count("tn_advise(") > 20
tap.rule("each piece of advice says what to type", bad or ([] if enough else ["no advice found"]))

# ---- lessons: each names a test ----

def missing(path, words):
    """The reason why the file has no such test, or None."""
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
