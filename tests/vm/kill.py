#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests kill -9 in apply, revert and recover, in a plain directory root, with the built gputune.

The kills come first at random moments, then at every step of an apply that compacts the journal because another program has reset
a value. Then a value is reset between RIVAL=N calls of apply (default 40, `make check-kill`: 2000). The journal must stay small.

gputune runs alone and on top of other applies, which set some of the same knobs to other values. After each kill, the
next call must detect an interrupted change, and `recover` must complete it. The tree must then be exactly as before or
exactly as planned. KILLS=N is the number of random kills (default 40, `make check-kill`: 500), SEED=N their random
seed.
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
sys.path.insert(0, os.path.join(TOP, "tests", "attack"))
from attack import FIXTURES, STATE, picture, put_back

BUILD = os.environ.get("TOP_BUILDDIR") or os.getcwd()
KILLS, SEED = int(os.environ.get("KILLS") or 40), int(os.environ.get("SEED") or 1)
RIVAL = int(os.environ.get("RIVAL") or 40)
SWAPPINESS = "proc/sys/vm/swappiness"
TOOL, UNPACK = os.path.join(BUILD, "gputune"), os.path.join(BUILD, "tests/cli/unpack")
APPLY = ["apply", "--persist", "--optional"]
# Earlier applies. The preference of the first is refused under the governor of the apply on top.
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


def killed(root, rng, longest, *args):
    """Starts gputune and kills it after a random time. Returns True if the kill ended it."""
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


def flip(root, value):
    with open(os.path.join(root, SWAPPINESS), "w", encoding="utf-8") as f:
        f.write(f"{value}\n")


def killed_at(root, n, *args):
    """Returns the exit status, and whether the kill came during the rewrite of the journal."""
    done = subprocess.run(
        [TOOL, "--root", root, "-q", *args],
        env={**os.environ, "GT_FAULT": f"{n}:KILL"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, os.path.exists(os.path.join(root, STATE, ".journal.gputune-new"))


def compaction(root, bad):
    """Kills at each step of the fourth apply. Returns the number of kills, and of those during the rewrite of the journal."""
    dead = inside = n = 0
    only = ["apply", "--persist", "--only", "vm.swappiness"]
    while True:
        n += 1
        for value in (71, 72, 73):
            took(root, *only)
            flip(root, value)
        found = picture(root)
        status, writing = killed_at(root, n, *only)
        if status != -signal.SIGKILL:
            break
        dead += 1
        inside += writing
        # Values of two other programs were replaced. revert does not restore the older one, which is drift.
        recovered, shown, now = call(root, "recover"), call(root, "status"), picture(root)
        held = now != found
        back = call(root, "revert")
        after = picture(root)
        if recovered.returncode or shown.returncode or back.returncode not in (0, 4):
            bad.append(f"step {n}: recover {recovered.returncode}, status {shown.returncode}, revert {back.returncode}")
        if after[SWAPPINESS] != b"73" or (held and now[SWAPPINESS] == b"73") or "etc/sysctl.d/90-gputune.conf" in after:
            bad.append(f"step {n}: swappiness {now[SWAPPINESS]!r}, after revert {after[SWAPPINESS]!r}")
        flip(root, 60)
    call(root, "revert")
    flip(root, 60)
    return dead, inside


def rival(root, bad):
    """Lets another program reset a value between the calls. Returns the largest size of the journal in bytes."""
    largest = 0
    for n in range(RIVAL):
        flip(root, 61 + n % 100)
        took(root, "apply", "--only", "vm.swappiness")
        largest = max(largest, os.path.getsize(os.path.join(root, STATE, "journal")))
    done = call(root, "revert")
    with open(os.path.join(root, SWAPPINESS), encoding="utf-8") as f:
        last = int(f.read())
    if largest > 2000 or done.returncode != 4 or last != 61 + (RIVAL - 1) % 100:
        bad.append(f"{largest} bytes of journal after {RIVAL} calls; revert {done.returncode}, value {last}")
    flip(root, 60)
    return largest


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
        """Applies none, one or both of the earlier applies, persistent or not."""
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
        """Recovers, even if recover is killed. Then the tree is in one of the two states, and nothing is left to recover."""
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
        steps, small = [], []
        put_back(root, walk.first)
        died, inside = compaction(root, steps)
        put_back(root, walk.first)
        largest = rival(root, small)
    ok = not walk.bad and dead >= KILLS
    print(
        f"1..3\n{'ok' if ok else 'not ok'} 1 - {dead} times kill -9 in apply, revert and recover: as before or as planned each time"
    )
    good = not steps and inside >= 3
    print(f"{'ok' if good else 'not ok'} 2 - {died} kills at each step of an apply, {inside} of them in the compaction")
    print(f"{'not ok' if small else 'ok'} 3 - {RIVAL} calls of apply with a rival program: the journal has at most {largest} bytes")
    ok = ok and good and not small
    for line in walk.bad + steps + small:
        print("# " + line.replace("\n", "\n# ")[:2000])
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
