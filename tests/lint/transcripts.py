#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks tests/cli/run with transcripts that pass, fail, skip and end early."""
import os
import subprocess
import tempfile

import tap

RUN = os.path.join(tap.TOP, "tests", "cli", "run")
HOLDS = "  $ echo a; (exit 3)\n  a\n  [3]\n"
CASES = (
    ("an unchanged output passes", HOLDS, 0, ["ok 1"]),
    ("a changed output fails", HOLDS + "  $ echo b\n  a\n", 1, ["ok 1", "not ok 2"]),
    ("a changed exit status fails", "  $ (exit 3)\n  [4]\n", 1, ["not ok 1"]),
    ("a command with a missing requirement skips itself and the rest", HOLDS + "  $ echo no card; (exit 80)\n  $ false\n", 0,
     ["ok 1", "ok 2 # SKIP no card"]),
    ("it also skips when it ends the shell", HOLDS + "  $ false || { echo no card; exit 80; }\n  $ false\n", 0,
     ["ok 1", "ok 2 # SKIP no card"]),
    ("the first command can skip the whole file", "  $ echo no card; exit 80\n  $ false\n", 0, ["ok 1 # SKIP no card"]),
    ("a failure before the skip counts", "  $ echo b\n  $ exit 80\n", 1, ["not ok 1", "ok 2 # SKIP"]),
    ("a shell that ends early fails the remaining commands", HOLDS + "  $ echo gone; exit 7\n  $ echo c\n  c\n", 1,
     ["ok 1", "not ok 2", "not ok 3"]),
    ("a shell that ends early with status 0 fails them too", HOLDS + "  $ exit 0\n  $ true\n", 1, ["ok 1", "not ok 2", "not ok 3"]),
    ("a file without a command fails", "prose\n", 1, ["not ok 1"]),
)


def short(line):
    """Returns `ok 2 - name: title # SKIP why` without the name and title."""
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
