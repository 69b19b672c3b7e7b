#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments of apply, revert and recover, in a plain directory root, with the built gputune.

Alone and on top of other applies, which set some of the same knobs to other values. After each the next call knows whether
something was interrupted, `recover` ends it, and the tree is exactly as before or exactly as planned. KILLS=N (default 40;
`make check-kill` takes 500), SEED=N for others.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.environ.get("TOP_SRCDIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TOP_BUILDDIR") or os.getcwd()
KILLS, SEED = int(os.environ.get("KILLS") or 40), int(os.environ.get("SEED") or 1)
FIXTURES = os.environ.get("FIXTURES") or os.path.join(BUILD, "tests", "fixtures")
TOOL, UNPACK = os.path.join(BUILD, "gputune"), os.path.join(BUILD, "tests/cli/unpack")
APPLY = ["apply", "--persist", "--optional"]
STATE = "var/lib/gputune"
# What may lie beneath. The preference of the first is refused under the governor of what is applied on top.
BELOW = {
    "one": "[knobs]\nvm.swappiness = 30\nvm.dirty_ratio = 15\ncpu.epp = balance_power\n",
    "two": "[knobs]\nvm.swappiness = 20\nvm.dirty_ratio = 12\ncpu.epp = power\nblock.read_ahead = 256\n",
}
KNOBS = ["vm.swappiness", "vm.dirty_ratio", "cpu.epp", "block.read_ahead"]


def call(root, *args):
    return subprocess.run(
        [TOOL, "--root", root, "-q", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def picture(root):
    """Every file with its content, but for the lock and the directory that holds it. Empty lines at the end of what stands
    for the kernel's files may be there: a directory cannot shorten a file in the same go as it writes it."""
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
    now = picture(root)
    for path in set(now) - set(want):
        os.unlink(os.path.join(root, path))
    for path in (p for p in want if now.get(p) != want[p]):
        with open(os.path.join(root, path), "wb") as f:
            f.write(want[path] + (b"\n" if path.startswith(("proc/", "sys/")) else b""))
    shutil.rmtree(os.path.join(root, STATE), ignore_errors=True)


def killed(root, rng, longest, *args):
    """Start it, kill it after a random time; True if it died of that."""
    child = subprocess.Popen(
        [TOOL, "--root", root, "-q", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.perf_counter() + rng.random() * longest
    while time.perf_counter() < until:
        pass
    child.send_signal(signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def took(root, *args):
    start = time.perf_counter()
    done = call(root, *args)
    assert done.returncode == 0, done.stdout
    return time.perf_counter() - start


class Walk:
    def __init__(self, root):
        self.root, self.rng, self.bad = root, random.Random(SEED), []
        os.makedirs(os.path.join(root, "etc/gputune/profiles"))
        for name, text in BELOW.items():
            with open(os.path.join(root, f"etc/gputune/profiles/{name}.conf"), "w", encoding="utf-8") as f:
                f.write(text)
        self.first = self.before = picture(root)
        self.t_apply = took(root, *APPLY)
        self.planned = picture(root)
        self.t_revert = took(root, "revert")
        assert picture(root) == self.before and self.planned != self.before

    def lay(self):
        """Nothing, one or both of the others beneath, kept for the next boot or not."""
        for name in list(BELOW)[: self.rng.randrange(3)]:
            only = [word for knob in KNOBS for word in ("--only", knob)]
            took(self.root, "apply", "--profile", name, *only, *["--persist"][: self.rng.randrange(2)])
        self.before = picture(self.root)
        with tempfile.TemporaryDirectory() as scratch:
            twin = os.path.join(scratch, "twin")
            shutil.copytree(self.root, twin, symlinks=True)
            took(twin, *APPLY)
            self.planned = picture(twin)

    def right(self, what):
        """Recover, however often it is killed on the way; then one of the two pictures, and nothing left to recover."""
        for _ in range(self.rng.randrange(3)):
            killed(self.root, self.rng, self.t_revert, "recover")
        done, status = call(self.root, "recover"), call(self.root, "status")
        now = picture(self.root)
        held = now == self.planned and self.planned != self.before
        if done.returncode or status.returncode or (not held and now != self.before):
            differ = sorted(k for k in now.keys() | self.before.keys() if now.get(k) != self.before.get(k))
            self.bad.append(
                f"{what}: recover {done.returncode}, status {status.returncode}; "
                + "; ".join(f"{k} is {now.get(k)!r}, was {self.before.get(k)!r}" for k in differ[:3])
                + "\n"
                + "\n".join(x for x in done.stdout.split("\n") if "as before" not in x)
            )
            put_back(self.root, self.first)
            return False
        return held

    def step(self, n):
        self.lay()
        dead = killed(self.root, self.rng, self.t_apply * 1.1, *APPLY)
        held = self.right(f"kill {n} in apply")
        self.before = self.first
        if held and self.rng.random() < 0.7:
            dead += killed(self.root, self.rng, self.t_revert * 1.1, "revert")
            self.right(f"kill {n} in revert")
        if call(self.root, "revert").returncode or picture(self.root) != self.first:
            self.bad.append(f"{n}: no way back")
            put_back(self.root, self.first)
        return dead


def main():
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.join(scratch, "root")
        subprocess.run([UNPACK, os.path.join(FIXTURES, "cpu-server.host"), root], check=True)
        walk, dead, n = Walk(root), 0, 0
        while dead < KILLS and n < 20 * KILLS and len(walk.bad) < 10:
            n += 1
            dead += walk.step(n)
    ok = not walk.bad and dead >= KILLS
    print(
        f"1..1\n{'ok' if ok else 'not ok'} 1 - {dead} times kill -9 in apply, revert and recover: as before or as planned each time"
    )
    for line in walk.bad:
        print("# " + line.replace("\n", "\n# ")[:2000])
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
