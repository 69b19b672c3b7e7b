#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the table of PCI ids with pci.ids, which has the names of chips. Each id must have the compute capability of its chip
according to NVIDIA, and no CUDA GPU may be missing. PCI_IDS=FILE, else the system's (Debian: pci.ids): make check-tables."""
import os
import re
import sys

IDS = os.environ.get("PCI_IDS", "/usr/share/misc/pci.ids")
TABLE = os.path.join(os.environ.get("TOP_SRCDIR", "."), "probe/compat/gpu_pci.tsv")
# chip -> capability x 10 (CUDA programming guide, "compute capabilities"; developer.nvidia.com/cuda-gpus)
CHIPS = [("GB10[02]", 100), ("GB110|GB10[3]", 103), ("GB20[2-7]", 120), ("GB20B", 121), ("GH100", 90), ("AD10", 89), ("GA100", 80),
         ("GA10[2-7]", 86), ("TU1", 75), ("GV100", 70), ("GP100", 60), ("GP10[2-8]", 61), ("GM2", 52), ("GM10", 50), ("GK210", 37),
         ("GK110|GK180|GK208", 35), ("GK1", 30)]
OTHER = re.compile("Audio|USB|UCSI|Serial|Bridge|Type-C|Controller|NVSwitch|ConnectX|BlueField")
PROTOTYPES = {0x1725, 0x172e, 0x172f, 0x2200}       # chips without a product's name


def cards():
    found, ours = {}, False
    with open(IDS, encoding="utf-8", errors="replace") as f:
        for line in f:
            if re.match("[0-9a-f]{4} ", line):
                ours = line.startswith("10de")
            elif ours and re.match("\t[0-9a-f]{4} ", line):
                number, name = line.strip().split(None, 1)
                found[int(number, 16)] = name
    return found


def main():
    if not os.path.exists(IDS):
        print(f"ok 1 - PCI ids # SKIP {IDS} is not installed\n1..1")
        return 0
    rows = []
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                ids, values = line.rstrip().split("\t")
                first, last = (int(x, 16) for x in ids.split("-"))
                rows.append((first, last, int(values.split(",")[0])))
    wrong, missing, seen = [], [], 0
    for number, name in sorted(cards().items()):
        want = next((a for pattern, a in CHIPS if re.match(pattern, name)), None)
        if not want or OTHER.search(name) or number in PROTOTYPES:
            continue
        seen += 1
        got = next((a for first, last, a in rows if first <= number <= last), None)
        if got is None:
            missing.append(f"{number:04x} {name}: {want}")
        elif got != want:
            wrong.append(f"{number:04x} {name}: the table has {got}, the chip is {want}")
    for number, (what, offences) in enumerate(((f"{seen} GPUs have the compute capability of their chip", wrong),
                                               ("no GPU is missing", missing)), 1):
        print(f"{'not ok' if offences else 'ok'} {number} - {what}")
        for line in offences:
            print(f"#   {line}")
    print("1..2")
    return bool(wrong or missing)


sys.exit(main())
