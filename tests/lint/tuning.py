#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is known to be turned on training hosts is a knob here, or has a reason why not; and what others learnt is a test."""
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

page = read("man/gputune-knobs.7")
said = set(re.findall(r"^\.It Em (.+)$", page, re.M))
true = {s["name"] for s in settings if not s["knob"]}
aliases = " ".join(page.split("Known by another name here", 1)[-1].split())
tap.rule("gputune-knobs.7 tells of each of them",
         [f"missing: {n}" for n in sorted(true - said)] + [f"not known: {n}" for n in sorted(said - true)] +
         [f"missing: {s['name']}" for s in settings if s["knob"] and s["name"] not in aliases])

# What needs hands or a reboot comes with the lines to type.
words = ("/etc/", "sysctl -w", "systemctl", "apt install", "ethtool -", "setpci", "mount -o", "ip link", "echo ", "docker run", "firmware",
         "apt-get", "numactl", "gputune explain")
sources = "".join(read(f"tune/knob/{n}") for n in sorted(os.listdir(os.path.join(tap.TOP, "tune/knob"))) if n.endswith(".c"))
bad = []
for call in re.findall(r"TN_ADVICE,(.*?)\);\n", sources, re.S):
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call))
    if not any(w in text for w in words) and not re.search("GRUB_HOW|NCCL_CONF", call):
        bad.append(text[:100])
tap.rule("each piece of advice says what to type", bad or ([] if sources.count("TN_ADVICE") > 20 else ["no advice found"]))

bad, n = [], 0
for i, line in enumerate(read("tests/lessons.tsv").splitlines(), 1):
    if line.startswith("#"):
        continue
    parts = line.split("\t")
    n += 1
    if len(parts) != 4 or not all(parts):
        bad.append(f"tests/lessons.tsv:{i}: not four columns")
    elif not os.path.exists(os.path.join(tap.TOP, parts[2])):
        bad.append(f"tests/lessons.tsv:{i}: there is no {parts[2]}")
    elif parts[3] not in read(parts[2]):
        bad.append(f"tests/lessons.tsv:{i}: {parts[2]} does not hold '{parts[3]}'")
tap.rule("each lesson is a test", bad or ([] if n > 20 else ["no lessons"]))
tap.plan()
