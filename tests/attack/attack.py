# SPDX-License-Identifier: Apache-2.0
"""Common code of the attack suites: the built programs, a test tree and the results as TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.environ.get("TOP_SRCDIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("TOP_BUILDDIR") or os.getcwd())
FIXTURES = os.environ.get("FIXTURES") or os.path.join(BUILD, "tests", "fixtures")
GPUTUNE, GPUPROBE, GPUBENCH = (os.path.join(BUILD, name) for name in ("gputune", "gpuprobe", "gpubench"))
STATE = "var/lib/gputune"
TIMEOUT = 60  # seconds; a longer command counts as a hang
HANG = "hang"


def number(name, default):
    return int(os.environ.get(name) or default)


def scratch(dirs=("/dev/shm",)):
    """Makes a directory in the first writable one of these, else in the build directory. fsync is fast on a tmpfs."""
    dirs = [d for d in dirs if os.path.isdir(d) and os.access(d, os.W_OK)]
    return tempfile.TemporaryDirectory(prefix="attack-", dir=(dirs or [BUILD])[0])


def unpack(root, host="cpu-server"):
    subprocess.run([os.path.join(BUILD, "tests/cli/unpack"), os.path.join(FIXTURES, host + ".host"), root], check=True)


def run(*argv, **more):
    """Returns the exit status (negative: a signal, HANG: killed after TIMEOUT) and the output."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
            **more,
        )
    except subprocess.TimeoutExpired:
        return HANG, ""
    return done.returncode, done.stdout.decode(errors="replace")


def gputune(root, *args):
    return run(GPUTUNE, "--root", root, "-q", *args)


def picture(root):
    """Returns all files with their contents, without the state directory. A kernel file may end with empty lines, because a regular
    file cannot be written and shortened in one step."""
    out = {}
    for where, _, names in os.walk(root):
        for name in names:
            path = os.path.join(where, name)
            inside = os.path.relpath(path, root)
            if os.path.islink(path):
                out[inside] = os.readlink(path).encode()
            elif not inside.startswith(STATE):
                with open(path, "rb") as f:
                    out[inside] = f.read().rstrip(b"\n") if inside.startswith(("proc/", "sys/")) else f.read()
    return out


def put_back(root, want):
    """Restores the tree's files from a picture, with nothing applied."""
    now = picture(root)
    for path in set(now) - set(want):
        os.unlink(os.path.join(root, path))
    for path in (p for p in want if now.get(p) != want[p]):
        with open(os.path.join(root, path), "wb") as f:
            f.write(want[path] + (b"\n" if path.startswith(("proc/", "sys/")) else b""))
    shutil.rmtree(os.path.join(root, STATE), ignore_errors=True)


def first_difference(a, b):
    """Returns both contents from the first byte that differs."""
    at = next((i for i, (x, y) in enumerate(zip(a or b"", b or b"")) if x != y), 0)
    return a and a[at:][:60], b and b[at:][:60]


def difference(now, want):
    paths = sorted(p for p in now.keys() | want.keys() if now.get(p) != want.get(p))
    return "; ".join("{} is {!r}, expected {!r}".format(p, *first_difference(now.get(p), want.get(p))) for p in paths[:3])


class Tap:
    """Prints TAP. Each case is a name and the list of its failures."""

    def __init__(self):
        self.n, self.failed = 0, False

    def case(self, name, bad):
        self.n += 1
        self.failed |= bool(bad)
        print(f"{'not ok' if bad else 'ok'} {self.n} - {name}", flush=True)
        for line in bad[:10]:
            print("# " + line.replace("\n", "\n# ")[:2000], flush=True)

    def skip(self, name, reason):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {reason}", flush=True)

    def end(self):
        print(f"1..{self.n}")
        sys.exit(self.failed)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)
