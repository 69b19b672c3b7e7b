#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Injects kills and errors at each system call that changes or syncs a file, in apply, revert and recover.

strace injects SIGKILL, EIO, ENOSPC or EINTR into the N-th call of one kind, for N = 1, 2, 3 ... until the command ends without
an injection. After each, recover completes the interrupted change. Each file must be as before or as planned, and no temporary
file may be left. CODES="KILL EIO+" selects the injections (default: KILL). With a "+", the later calls of that kind fail too.
STEP=N (default 40) takes every N-th call, OPEN_STEP=N (default 0: none) every N-th call that opens a file.
"""

import os
import shutil
import tempfile

from attack import GPUTUNE, HANG, STATE, Tap, difference, gputune, number, picture, run, scratch, skip_all, unpack

OPENS = ["openat", "openat2"]
CALLS = "write pwrite64 rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat".split()
CALLS += "fsync fdatasync ftruncate fchmod fchown flock".split()
CODES = (os.environ.get("CODES") or "KILL").split()
STEP, OPEN_STEP = number("STEP", 40), number("OPEN_STEP", 0)
DOCUMENTED = (0, 1, 3, 4, 5, 6, 64, 70)
NOT_LOADED = "error while loading shared libraries"  # The dynamic loader's message. It exits with 127 before main().
KEPT = {"lock", "history", "journal"}


def inject(root, call, code, n, *args):
    """Returns the exit status, the output, and whether the N-th call was made."""
    how = f"signal={code}" if code == "KILL" else "error=" + code.rstrip("+")
    when = f"{n}+" if code.endswith("+") else n
    with tempfile.NamedTemporaryFile() as log:
        strace = ["strace", "-qq", "-o", log.name, "-e", f"trace={call}", "-e", f"inject={call}:{how}:when={when}"]
        status, text = run(*strace, GPUTUNE, "--root", root, "-q", *args)
        trace = log.read()
    return status, text, b"INJECTED" in trace or b"SIGKILL" in trace


def left(root):
    """Returns temporary files and unused files of the state directory."""
    out = [n for n in os.listdir(os.path.join(root, STATE)) if n not in KEPT] if os.path.isdir(os.path.join(root, STATE)) else []
    for where, _, names in os.walk(root):
        out += [os.path.relpath(os.path.join(where, n), root) for n in names if n.endswith((".gputune-new", ".saving"))]
    return sorted(set(out))


class Suite:
    def __init__(self, where):
        self.root, self.spare, self.bad = os.path.join(where, "root"), os.path.join(where, "spare"), []
        unpack(self.root)
        self.before, plan = picture(self.root), os.path.join(where, "plan.json")
        self.must(["plan", "--optional", "-o", plan])
        self.apply = ["apply", "--persist", plan]
        self.must(self.apply)
        self.planned = picture(self.root)
        self.applied = self.snapshot("applied")
        self.must(["revert"])
        assert picture(self.root) == self.before and self.planned != self.before
        self.clean = self.snapshot("clean")
        # during its writes
        status, _, _ = inject(self.root, "pwrite64", "KILL", 17, *self.apply)
        assert status not in (0, HANG)
        self.interrupted = self.snapshot("interrupted")

    def must(self, args):
        status, text = gputune(self.root, *args)
        assert status == 0, text

    def snapshot(self, name):
        to = f"{self.spare}-{name}"
        shutil.copytree(self.root, to, symlinks=True)
        return to

    def reset(self, snapshot):
        shutil.rmtree(self.root)
        shutil.copytree(snapshot, self.root, symlinks=True)

    def judge(self, what, args, status, code, text):
        bad = self.bad
        if status == HANG or (code != "KILL" and status not in DOCUMENTED and NOT_LOADED not in text):
            bad.append(f"{what}: exit {status}: {text}")
        now = picture(self.root)
        if status == 0 and now != (self.planned if args[0] == "apply" else self.before):
            bad.append(f"{what}: exit 0; {difference(now, self.planned if args[0] == 'apply' else self.before)}")
        if args[0] == "apply" and status in (1, 3) and now != self.before:
            bad.append(f"{what}: exit {status}; {difference(now, self.before)}")
        recovered, text = gputune(self.root, "recover")
        after, shown = picture(self.root), gputune(self.root, "status")[0]
        if recovered or shown or after not in (self.before, self.planned):
            want = min(self.before, self.planned, key=lambda p: sum(after.get(k) != p.get(k) for k in after.keys() | p.keys()))
            bad.append(f"{what}: recover {recovered}, status {shown}; {difference(after, want)}\n{text}")
        if args[0] != "apply" and status == 0 and after != self.before:
            bad.append(f"{what}: not as before")
        back, text = gputune(self.root, "revert")
        if back or picture(self.root) != self.before or left(self.root):
            bad.append(f"{what}: revert {back}; {difference(picture(self.root), self.before)}; left {left(self.root)}\n{text}")

    def command(self, snapshot, args, code):
        n_injected = 0
        for call in CALLS + (OPENS if OPEN_STEP else []):
            n = 1
            while len(self.bad) < 10:
                self.reset(snapshot)
                status, text, injected = inject(self.root, call, code, n, *args)
                if not injected:
                    break
                n_injected += 1
                self.judge(f"{code} at {call} {n} of {args[0]}", args, status, code, text)
                n += OPEN_STEP if call in OPENS else STEP
        return n_injected


def main():
    if not shutil.which("strace") or run("strace", "-qq", "-o", "/dev/null", "true")[0]:
        skip_all("needs strace and permission to trace")
    tap = Tap()
    with scratch() as where:
        suite = Suite(where)
        for name, snapshot, args in (
            ("apply", suite.clean, suite.apply),
            ("revert", suite.applied, ["revert"]),
            ("recover", suite.interrupted, ["recover"]),
        ):
            for code in CODES:
                suite.bad = []
                n = suite.command(snapshot, args, code)
                what = f"{code} at {n} system calls of {name}: as before or as planned, nothing left"
                tap.case(what, suite.bad if n else ["no injection"])
    tap.end()


if __name__ == "__main__":
    main()
