# SPDX-License-Identifier: Apache-2.0
"""TAP for tests in Python. check() prints a test point with the reason of a failure; rule() fails if it gets offending lines."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
TOP = os.environ.get("TOP_SRCDIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TOP_BUILDDIR") or os.getcwd()
FIXTURES = os.environ.get("FIXTURES") or os.path.join(BUILD, "tests", "fixtures")
TOOLS = ("gpuprobe", "gputune", "gpubench")
count, failed = 0, 0


def rule(name, offences):
    global count, failed
    count += 1
    print(f"not ok {count} - {name}" if offences else f"ok {count} - {name}", flush=True)
    for line in offences[:40]:
        print(f"#   {line}")
    failed += bool(offences)


def check(name, ok, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok:
        print("# " + str(why).strip().replace("\n", "\n# ")[-800:])


def skip(name, reason):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {reason}")


def plan():
    print(f"1..{count}")
    sys.exit(1 if failed or not count else 0)


def run(tool, *args, env=None):
    """Runs a built tool without a terminal and returns the finished process with its output as text."""
    return subprocess.run([os.path.join(BUILD, tool), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **(env or {})})


def document(tool, *args):
    """Returns the JSON document that a tool prints, or None and the error."""
    done = run(tool, *args, "--json")
    try:
        return json.loads(done.stdout), []
    except ValueError as why:
        return None, [f"{tool} {' '.join(args)} --json: {why}; {done.stderr.strip()}"]
