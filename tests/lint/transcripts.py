#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/run itself: a transcript that holds, one that does not, one that skips, one that ends early."""
import os
import subprocess
import tempfile

import tap

RUN = os.path.join(tap.TOP, "tests", "cli", "run")
HOLDS = "  $ echo a; (exit 3)\n  a\n  [3]\n"
CASES = (
    ("what is as it was written holds", HOLDS, 0, ["ok 1"]),
    ("another output does not", HOLDS + "  $ echo b\n  a\n", 1, ["ok 1", "not ok 2"]),
    ("nor another status", "  $ (exit 3)\n  [4]\n", 1, ["not ok 1"]),
    ("a command that lacks something skips itself and the rest", HOLDS + "  $ echo no card; (exit 80)\n  $ false\n", 0,
     ["ok 1", "ok 2 # SKIP no card"]),
    ("also where it ends the shell", HOLDS + "  $ false || { echo no card; exit 80; }\n  $ false\n", 0,
     ["ok 1", "ok 2 # SKIP no card"]),
    ("as the first command too", "  $ echo no card; exit 80\n  $ false\n", 0, ["ok 1 # SKIP no card"]),
    ("what failed before it counts", "  $ echo b\n  $ exit 80\n", 1, ["not ok 1", "ok 2 # SKIP"]),
    ("a shell that ended early fails what it did not reach", HOLDS + "  $ echo gone; exit 7\n  $ echo c\n  c\n", 1,
     ["ok 1", "not ok 2", "not ok 3"]),
    ("and so does one that ended in order", HOLDS + "  $ exit 0\n  $ true\n", 1, ["ok 1", "not ok 2", "not ok 3"]),
    ("a file without a command fails", "prose\n", 1, ["not ok 1"]),
)


def short(line):
    """`ok 2 - name: title # SKIP why` without what the title repeats."""
    head, _, rest = line.partition(" - ")
    return (head + " #" + rest.partition(" #")[2] if " # SKIP" in rest else head).rstrip()


def broken(text, status, expected):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "t.t")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        env = {k: v for k, v in os.environ.items() if k != "BLESS"}
        done = subprocess.run([RUN, path], stdout=subprocess.PIPE, text=True, timeout=60, check=False, env=env)
    lines = [short(l) for l in done.stdout.splitlines() if l.startswith(("ok ", "not ok "))]
    return [] if (done.returncode, lines) == (status, expected) else [f"{done.returncode} {lines}", done.stdout]


for name, text, status, expected in CASES:
    tap.rule(f"transcripts: {name}", broken(text, status, expected))
tap.plan()
