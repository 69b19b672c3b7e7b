#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is known to be turned on training hosts is a knob here, or has a reason why not; and what others learnt is a test."""
import glob
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

# ---- lessons: each names a test that is there and that runs ----

def make_variables():
    """The variables of Makefile.am and the rooms' parts of it."""
    found = {}
    for path in ["Makefile.am", *sorted(glob.glob("*/Makemodule.am", root_dir=tap.TOP))]:
        for name, value in re.findall(r"^(\w+) *\+?= *(.*)$", read(path).replace("\\\n", " "), re.M):
            found[name] = found.get(name, "") + " " + value
    return found


def words_of(name, depth=0):
    said = re.sub(r"\$\((\w+)\)", lambda m: " ".join(words_of(m[1], depth + 1)) if depth < 8 else "", MAKE.get(name, ""))
    return said.split()


def tests_behind(text, words):
    """The START_TESTs in which the words are, or the table that they are in."""
    blocks = [(m[1], m.start(), text.find("\nEND_TEST", m.start())) for m in re.finditer(r"^START_TEST\((\w+)\)", text, re.M)]
    if any(name == words for name, _, _ in blocks):
        return [words]
    found = []
    for at in (m.start() for m in re.finditer(re.escape(words), text)):
        inside = [name for name, start, end in blocks if start < at < end]
        tables = re.findall(r"(\w+)\[\](?:\[\w*\])? = \{", text[:at])
        found += inside or [name for name, start, end in blocks if tables and re.search(rf"\b{tables[-1]}\b", text[start:end])]
    return found


def idle_unit(path, words):
    """Why no unit test that runs holds the words; None: one does."""
    text = read(path)
    names = tests_behind(text, words)
    programs = [t for t in RUNNING if path in words_of(re.sub(r"\W", "_", t) + "_SOURCES")]
    if not names:
        return "no START_TEST has them"
    if not any(len(re.findall(rf"\b{n}\b", text)) > 1 for n in names):
        return f"{names[0]} is in no case"
    if not programs:
        return "it is in no program that runs"
    others = "".join(read(s) for s in words_of(re.sub(r"\W", "_", programs[0]) + "_SOURCES") if s.endswith(".c") and s != path)
    cases = re.findall(r"^TCase \*(\w+)\(void\)", text, re.M)
    return None if not cases or any(f"{c}()" in others for c in cases) else "its cases are in no suite"


def idle_transcript(path, words):
    """A promise in prose needs a command after it."""
    paragraphs = re.split(r"\n(?=\S)", read(path))
    return None if any(words in p and "\n  $ " in "\n" + p for p in paragraphs) else "no command belongs to them"


def idle_script(path, words):
    return None if re.search(r"[\"'].*" + re.escape(words), read(path)) else "they are in no string"


def idle(path, words):
    """Why the words in this file are no test that runs; None: they are."""
    if not os.path.exists(os.path.join(tap.TOP, path)):
        return "there is no such file"
    if words not in read(path):
        return f"it does not hold '{words}'"
    if path.endswith(".c"):
        return idle_unit(path, words)
    if path not in RUNNING:
        return "it is not in the list of tests"
    return (idle_transcript if path.endswith(".t") else idle_script)(path, words)


MAKE = make_variables()
RUNNING = words_of("TESTS")
bad, n = [], 0
for i, line in enumerate(read("tests/lessons.tsv").splitlines(), 1):
    if line.startswith("#"):
        continue
    parts = line.split("\t")
    n += 1
    why = "not four columns" if len(parts) != 4 or not all(parts) else idle(*parts[2:])
    bad += [f"tests/lessons.tsv:{i}: {parts[-2]}: {why}"] if why else []
tap.rule("each lesson is a test that runs", bad or ([] if n > 20 else ["no lessons"]))
tap.plan()
