#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""registry.py TEMPLATE < DOCUMENT > PAGE: fills a manual page from the document of `gputune list --json` or `gpuprobe list --json`."""
import json
import re
import sys


# Titles that begin with one of these keep the lower case.
PROGRAMS = ("docker", "glibc", "isolcpus", "lib", "nv")


def mdoc(text):
    """Starts a line for each sentence, as mdoc requires."""
    lines = re.sub(r"([.!?][)\"']*) +", r"\1\n", text.replace("\\", "\\e")).split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def sentence(text):
    text = text if text.startswith(PROGRAMS) else text[:1].upper() + text[1:]
    return mdoc(text if text.endswith((".", "!", "?")) else text + ".")


POLICIES = {"A": "default", "B": "opt-in", "C": "report only", "R": "gputune run"}


def knob(k):
    lines = [f".It Sy {k['id']} Pq {POLICIES[k['tag']]}", sentence(k["summary"]), mdoc(k["why"])]
    lines += [mdoc("Hazard: " + k["hazard"])] if k["hazard"] and k["tag"] != "C" else []
    return lines + [f"Takes effect: {k['takes_effect']}."] + ([f"Range: {k['range']}."] if k["range"] else [])


def check(c):
    return [f".It Sy {c['id']}", sentence(c["title"]), mdoc(c["story"])]


def settings(doc):
    lines = []
    for s in doc["settings"]:
        if s["why_not"]:
            lines += [f".It Em {s['name']}", mdoc(s["why_not"])]
    aliases = {}
    for s in doc["settings"]:
        if s["knob"]:
            aliases.setdefault(s["knob"], []).append(s["name"])
    lines += [".El", ".Pp", "These names belong to a knob:", ".Bl -tag -width Ds"]
    return lines + [f".It Em {', '.join(names)}\n{knob_id}" for knob_id, names in aliases.items()]


def main():
    doc = json.load(sys.stdin)
    entries = [line for k in doc.get("knobs", []) for line in knob(k)] + [line for c in doc.get("checks", []) for line in check(c)]
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line == "@ENTRIES@":
                print("\n".join(entries))
            elif line == "@SETTINGS@":
                print("\n".join(settings(doc)))
            else:
                print(line)


main()
