#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks gpuprobe explain with the messages in tests/messages. It must name the right fault or report that several are possible,
must not explain an unrelated line, and must use the row that the file names. A message without an answer is not an error; the
number of these is printed."""
import concurrent.futures
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

# Faults of the catalogue that agree with the fault of a thread because the catalogue names a part of it.
SAME = {("hardware", "link"), ("several", "gpu"), ("several", "link"), ("several", "unused")}
# Beginnings of messages for which the thread and the catalogue may name different faults, and the reason.
OPEN = {
    "/usr/bin/ld: cannot find -lcuda": "the driver's library is missing where a program is linked",
    "gpu_burn-drv.cpp 239": "an old driver and a new toolkit are the same fault, seen from two sides",
    "RuntimeError: Address already in use": "an old job of the same user, or another program",
    "RuntimeError: FlashAttention only supports": "the program asks for a package that does not suit the card",
    "modprobe: ERROR: could not insert": "Secure Boot is the system's, the signature is the driver's",
    "[ 3223.539141] nfs: server": "the network or the file server",
    "kernel: NVRM: Xid (PCI:0000:dc:00): 45": "the line names another Xid as the cause",
    "[14328.198504] NVRM: Xid (PCI:0000:0a:00): 31": "the catalogue says program, as NVIDIA does",
    "[Fri Jan 29 23:42:34 2021] NVRM: GPU at": "the same number; the thread names the GPU, since others run the program",
}


def explain(message):
    """Returns the fault and the catalogue's row of the first answer."""
    done = tap.run("gpuprobe", "explain", "--json", "--", message.replace("\\n", "\n"))
    doc = json.loads(done.stdout)
    for entry in doc.get("messages", []) + doc.get("numbers", []):
        return entry.get("fault", "none"), entry.get("id", "-")
    return "check" if any(c["match"] == "message" for c in doc["checks"]) else "none", "-"


def main():
    rows = []
    with open(os.path.join(tap.TOP, "tests/messages/collected.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        given = list(pool.map(lambda row: explain(row[0]), rows))
    wrong, invented, other, silent = [], [], [], 0
    for (message, fault, subject, _, *rule), (answer, row) in zip(rows, given):
        if rule and row != rule[0]:
            other.append(f"{row} instead of {rule[0]}: {message[:100]}")
        silent += answer == "none" and fault != "none"
        if fault == "none" and answer != "none":
            invented.append(f"{answer}: {message[:100]}")
        elif answer not in (fault, "none", "several", "check") and (fault, answer) not in SAME and \
                not any(message.strip().startswith(start) for start in OPEN):
            wrong.append(f"{answer} instead of {fault} ({subject}): {message[:100]}")
    tap.rule("an unrelated line has no answer", invented)
    tap.rule("each answer names the right fault or reports that several are possible", wrong)
    tap.rule("the row that explains the message comes first", other)
    print(f"# {len(rows)} lines, {silent} messages without an answer")
    tap.check("at least four of five messages have an answer", silent * 5 <= len(rows))
    tap.plan()


main()
