#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""journal.py FILE CODE: runs CODE on each record r of a journal of gputune and updates the checksums."""
import json
import sys


def crc32c(data):
    c = 0xffffffff
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff


name, code = sys.argv[1:]
with open(name) as f:
    records = [json.loads(line[9:]) for line in f]
with open(name, "w") as f:
    for r in records:
        exec(code)
        text = json.dumps(r)
        f.write(f"{crc32c(text.encode()):08x} {text}\n")
