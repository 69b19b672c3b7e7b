#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs commands as root in directories that another user changes at the same time.

A process of that user replaces the file or directory that root names by links, FIFOs, files and directories, as fast as possible.
Nothing outside the user's directory may change, and no command may hang. No temporary file may be left, and no value of
the user's documents may be written. RUNS=N (default 1) of each command, SEED=N. Needs root.
"""

import ctypes
import json
import mmap
import os
import random
import shutil
import signal
import stat
import struct

from attack import BUILD, GPUBENCH, GPUPROBE, GPUTUNE, HANG, STATE, Tap, number, run, scratch, skip_all, unpack
from documents import plan, receipt

RUNS, SEED, USER = number("RUNS", 1), number("SEED", 1), 65534
LIBC, RENAME_EXCHANGE, AT_FDCWD = ctypes.CDLL(None, use_errno=True), 2, -100


def supported(where):
    for name in "ab":
        os.mkdir(os.path.join(where, name))
    a, b = (os.path.join(where, name).encode() for name in "ab")
    done = LIBC.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0
    os.rmdir(a)
    os.rmdir(b)
    return done


class Rival:
    """Exchanges `name` in a directory with each of the others in turn, as USER. Counts the exchanges."""

    def __init__(self, where, name):
        self.count = mmap.mmap(-1, 8)
        self.pid = os.fork()
        if self.pid:
            return
        try:
            os.chdir(where)
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            self.exchange(name)
        finally:
            os._exit(1)

    def exchange(self, name):
        rng, n, name = random.Random(SEED), 0, name.encode()
        while True:
            others = [x for x in os.listdir(b".") if x.startswith(b"other")]
            for _ in range(200):
                n += LIBC.renameat2(AT_FDCWD, name, AT_FDCWD, rng.choice(others), RENAME_EXCHANGE) == 0
            self.count[:] = struct.pack("q", n)
            if not os.path.lexists(name):
                os.symlink("../trap/known", name)

    def exchanges(self):
        return struct.unpack("q", self.count[:])[0]

    def wait(self):
        """Waits until the process has begun or ended."""
        while not self.exchanges() and os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            os.sched_yield()

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return self.exchanges()


def content(where):
    """Returns the contents of a directory with kinds, owners, modes and times of change."""
    out = {}
    for at, dirs, names in os.walk(where):
        for name in dirs + names + ["."]:
            path = os.path.join(at, name)
            st = os.lstat(path)
            text = b""
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    text = f.read()
            out[os.path.relpath(path, where)] = (st.st_mode, st.st_uid, st.st_ino, st.st_ctime_ns, text)
    return out


def write(path, text, user=0):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chown(path, user, user)


class Case:
    """theirs/ belongs to USER; trap/ and each other directory to root."""

    def __init__(self, where):
        self.where, self.theirs, self.trap = where, os.path.join(where, "theirs"), os.path.join(where, "trap")
        shutil.rmtree(self.theirs, ignore_errors=True)
        shutil.rmtree(self.trap, ignore_errors=True)
        os.mkdir(self.theirs, 0o755)
        os.chown(self.theirs, USER, USER)
        os.makedirs(os.path.join(self.trap, "gputune"), 0o700)
        for name in ("known", "out", "gputune/openblas", "90-gputune.conf", "swappiness"):
            write(os.path.join(self.trap, name), "60\n")

    def link(self, name, target):
        os.symlink(target, os.path.join(self.theirs, name))

    def files(self, name):
        """The last component is exchanged."""
        write(os.path.join(self.theirs, name), "theirs\n", USER)
        write(os.path.join(self.theirs, "other-file"), "theirs\n", USER)
        self.link("other-link", "../trap/known")
        self.link("other-absolute", os.path.join(self.trap, "known"))
        self.link("other-missing", "../trap/new")
        os.mkfifo(os.path.join(self.theirs, "other-fifo"), 0o666)
        os.mkdir(os.path.join(self.theirs, "other-dir"))

    def directories(self, name):
        """A directory in the path is exchanged."""
        for each in (name, "other-dir"):
            os.mkdir(os.path.join(self.theirs, each))
        self.link("other-link", "../trap")
        self.link("other-absolute", self.trap)
        os.mkfifo(os.path.join(self.theirs, "other-fifo"), 0o666)
        for each in os.listdir(self.theirs):
            os.chown(os.path.join(self.theirs, each), USER, USER, follow_symlinks=False)

    def attack(self, name, command, at=None, wrong=lambda: None):
        """Runs the command RUNS times while the rival works. Returns the failures, exchanges and exit statuses."""
        before, bad, statuses = content(self.trap), [], {}
        rival = Rival(at or self.theirs, name)
        try:
            rival.wait()
            for n in range(RUNS):
                status, text = command()
                statuses[status] = statuses.get(status, 0) + 1
                now, why = content(self.trap), wrong()
                if status == HANG or (isinstance(status, int) and status < 0):
                    bad.append(f"run {n}: {status}: {text[-300:]}")
                if now != before:
                    what = sorted(p for p in now.keys() | before.keys() if now.get(p) != before.get(p))
                    bad.append(f"run {n}, exit {status}: changed in the trap: {what}: {text[-300:]}")
                    before = now
                if why:
                    bad.append(f"run {n}, exit {status}: {why}")
        finally:
            count = rival.end()
        left = [f for _, _, names in os.walk(self.where) for f in names if f.endswith((".saving", ".gputune-new"))]
        if left:
            bad.append(f"left: {left}")
        return bad if count else ["no exchange"], count, statuses


class Suite:
    def __init__(self, where):
        self.where, self.tap = where, Tap()
        self.root, self.result = os.path.join(where, "root"), os.path.join(where, "result.json")
        unpack(self.root)
        status, text = run(GPUBENCH, "run", "--workload", "null", "--quick", "-q", "-o", self.result)
        assert status == 0, text

    def case(self, what, layout, name, command, **more):
        c = Case(self.where)
        layout(c, name)
        bad, count, statuses = c.attack(name, lambda: command(c.theirs), **more)
        shown = ", ".join(f"{n} x {status}" for status, n in sorted(statuses.items(), key=str))
        print(f"# {what}: {count} exchanges during {RUNS} runs; exit status {shown}")
        self.tap.case(f"{what}: nothing changes outside the other user's directory", bad)

    def outputs(self):
        env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        write_to = {
            "plan -o": lambda out: run(GPUTUNE, "--root", self.root, "plan", "-o", out),
            "capture": lambda out: run(GPUPROBE, "--root", self.root, "capture", out),
            "report -o": lambda out: run(GPUBENCH, "report", self.result, "-o", out),
            "report --html": lambda out: run(GPUBENCH, "report", self.result, "--html", out),
        }
        for what, command in write_to.items():
            self.case(what + " FILE", Case.files, "out", lambda d, c=command: c(os.path.join(d, "out")))
            self.case(what + " DIR/FILE", Case.directories, "dir", lambda d, c=command: c(os.path.join(d, "dir/out")))

        def cache(home):
            return run(
                GPUTUNE, "run", "-q", "--only", "run.blas_kernels", "--", "true",
                env={**env, "LD_LIBRARY_PATH": os.path.join(BUILD, "tests/standin/blas"), "XDG_CACHE_HOME": home},
            )  # fmt: skip

        roots = os.path.join(self.where, "roots")
        os.mkdir(roots)
        cache(roots)
        if not os.path.exists(os.path.join(roots, "gputune/openblas")):
            self.tap.skip("cache directory", "nothing is cached on this host")
            return
        self.case("cache directory", Case.directories, "dir", lambda d: cache(os.path.join(d, "dir")))
        self.case("cache directory's parent", Case.directories, "gputune", cache)

    def documents(self):
        """Root's document is exchanged with the user's, in a private network namespace and with a separate state directory."""
        here = (
            "mount -t tmpfs none /var/lib && mount -t tmpfs none /etc/sysctl.d || exit 99; "
            '"$@"; status=$?; cat /proc/sys/net/ipv4/conf/all/arp_announce; exit $status'
        )
        made = os.path.join(self.where, "plan.json")
        inside = lambda *args: run("unshare", "-m", "-n", "sh", "-c", here, "sh", *args)
        status, text = inside(GPUTUNE, "plan", "-q", "--optional", "--only", "net.ipv4.arp_announce", "-o", made)
        if status:
            self.tap.skip("plan in the other user's directory", f"no namespace: {text[-100:]!r}")
            return
        with open(made, encoding="utf-8") as f:
            doc = json.load(f)
        ours = [i["wanted"] for i in doc["items"] if i["knob"] == "net.ipv4.arp_announce"][0]
        for i in doc["items"]:
            i["wanted"] = "1" if ours == "2" else "2"
        seen = []

        def layout(c, name):
            c.files(name)
            for each in (name, "other-file"):
                write(os.path.join(c.theirs, each), json.dumps(doc), USER)
            for n in range(3):
                shutil.copy(made, os.path.join(c.theirs, f"other-ours{n}"))

        def apply(d):
            status, text = inside(GPUTUNE, "apply", "-q", os.path.join(d, "out"))
            seen.append(text.split()[-1] if text.split() else "")
            return status, text

        wrong = lambda: f"the user's value {seen[-1]} was written" if seen[-1] == doc["items"][0]["wanted"] else None
        self.case("apply PLAN", layout, "out", apply, wrong=wrong)

        # Each is of a different host. The refusal names the host and so identifies the receipt that was read.
        theirs = receipt("knobs", self.root, plan(self.root))

        def receipts(c, name):
            c.files(name)
            for each, user in (("out", USER), ("other-file", USER), ("other-ours", 0), ("other-ours2", 0)):
                host = "theirs" if user else "ours"
                write(os.path.join(c.theirs, each), json.dumps({**theirs, "host": host}), user)

        def prove(d):
            status, text = inside(GPUTUNE, "apply", "-q", "--only-proven", os.path.join(d, "out"))
            seen.append(text)
            return status, text

        wrong = lambda: f"the user's receipt was read: {seen[-1]}" if "host (theirs" in seen[-1] else None
        self.case("apply --only-proven RECEIPT", receipts, "out", prove, wrong=wrong)

    def reading(self):
        """Files read from the tree are exchanged with FIFOs and an endless device."""
        for inside, name in (("proc", "cpuinfo"), ("sys/devices/system", "cpu"), ("etc", "os-release")):
            at = os.path.join(self.root, inside)

            def layout(c, _, at=at):
                os.symlink("/dev/zero", os.path.join(at, "other-zero"))
                os.symlink(c.trap, os.path.join(at, "other-link"))
                os.mkfifo(os.path.join(at, "other-fifo"))
                os.chown(at, USER, USER)

            self.case(f"gpuprobe in a tree, {inside}/{name}", layout, name, lambda _: run(GPUPROBE, "--root", self.root, "-q"), at=at)
            shutil.rmtree(self.root)
            unpack(self.root)

    def tree(self):
        """Directories of the tree belong to the user."""
        for inside, name in (("etc/sysctl.d", "90-gputune.conf"), ("etc", "sysctl.d"), ("proc/sys", "vm"), (STATE, "journal")):
            at = os.path.join(self.root, inside)
            os.makedirs(at, exist_ok=True)
            is_dir = os.path.isdir(os.path.join(at, name))

            def layout(c, _, at=at, name=name, is_dir=is_dir):
                os.symlink(c.trap if is_dir else os.path.join(c.trap, name), os.path.join(at, "other-link"))
                os.symlink("/" + os.path.relpath(c.trap, "/"), os.path.join(at, "other-root"))
                os.mkfifo(os.path.join(at, "other-fifo"))
                if not os.path.lexists(os.path.join(at, name)):
                    write(os.path.join(at, name), "")
                os.chown(at, USER, USER)

            def both(_):
                run(GPUTUNE, "--root", self.root, "-q", "apply", "--persist", "--optional")
                run(GPUTUNE, "--root", self.root, "-q", "recover")
                return run(GPUTUNE, "--root", self.root, "-q", "revert")

            self.case(f"apply and revert in a tree, {inside}/{name}", layout, name, both, at=at)
            shutil.rmtree(self.root)
            unpack(self.root)


def main():
    if os.geteuid() != 0:
        skip_all("needs root to become another user")
    with scratch(()) as where:
        os.chmod(where, 0o755)
        if not supported(where):
            skip_all("this file system cannot exchange two names")
        suite = Suite(where)
        suite.outputs()
        suite.documents()
        suite.reading()
        suite.tree()
        suite.tap.end()


if __name__ == "__main__":
    main()
