#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpuprobe loads with the system's loader: the programs of /usr/bin, generated trees of libraries that use every rule, and
the libraries of `import torch` if Debian's python3-torch is installed."""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

PROGRAMS = int(os.environ.get("PROGRAMS", "40"))
TREES = int(os.environ.get("TREES", "30"))
SEED = int(os.environ.get("SEED", "1"))


def ours(target, env=None):
    options = [f"--{o}={(env or {}).get(v, '')}" for o, v in (("library-path", "LD_LIBRARY_PATH"), ("preload", "LD_PRELOAD"))]
    done = subprocess.run([os.path.join(tap.BUILD, "gpuprobe"), "loads", "--all", "--json", *options, target],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode > 2:
        raise ValueError(f"{target}: {done.stderr.strip()}")
    return json.loads(done.stdout)["runs"]


def by_name(run):
    """Returns {requested name: path}; None for names that are not found."""
    return {o["name"]: (None if o["broken"] else o["path"]) for o in run["objects"][1:] if not o["opened"]}


def loader(program, env=None):
    """Returns the loader's own answer, or None if it refuses the program."""
    done = subprocess.run([program], env={**(env or os.environ), "LD_TRACE_LOADED_OBJECTS": "1"}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        m = re.match(r"\s+(\S+) => (not found|/\S+)", line)
        if m:
            found[m[1]] = None if m[2] == "not found" else m[2]
    return None if done.returncode else found


def differences(got, true):
    return [f"{n}: {got.get(n, 'not named')}, the loader takes {true[n]}" for n in true if got.get(n, "-") != true[n]]


def is_program(path):
    """A directory of programs may also hold links to directories (x11-common's X11), dangling links, pipes and others' files."""
    if not os.path.isfile(path) or os.stat(path).st_mode & 0o6000 or not os.access(path, os.R_OK | os.X_OK):
        return False
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def entries_that_are_no_programs():
    with tempfile.TemporaryDirectory() as top:
        at = {n: os.path.join(top, n) for n in ("X11", "dangling", "pipe", "empty", "script", "dir")}
        os.symlink(".", at["X11"])
        os.symlink("nowhere", at["dangling"])
        os.mkfifo(at["pipe"], 0o755)
        os.mkdir(at["dir"])
        for name, text in (("empty", b""), ("script", b"#!/bin/sh\n")):
            with open(at[name], "wb") as f:
                f.write(text)
            os.chmod(at[name], 0o755)
        tap.rule("entries that are no programs are skipped", [n for n, path in at.items() if is_program(path)])


def system_programs():
    names = sorted(glob.glob("/usr/bin/*") + glob.glob("/usr/sbin/*"))
    random.Random(SEED).shuffle(names)
    bad, seen = [], 0
    for path in names:
        if os.path.basename(path).startswith("python") or not is_program(path):
            continue
        true = loader(path)
        if not true:
            continue    # a static program
        seen += 1
        bad += [f"{path}: {d}" for d in differences(by_name(ours(path)[0]), true)]
        if seen == PROGRAMS:
            break
    tap.rule(f"gpuprobe and the loader agree about {seen} programs of this system", bad if seen else ["no program was found"])


class Tree:
    """Builds libraries l0.so … in directories d0 …, each copy with its own dependencies and paths, and a program."""

    def __init__(self, rng, top):
        self.rng, self.top = rng, top
        self.dirs = [os.path.join(top, f"d{i}") for i in range(4)]
        self.names = [f"l{i}.so" for i in range(5)]
        for i, name in reversed(list(enumerate(self.names))):
            for d in rng.sample(self.dirs, rng.randint(1, 3)):
                if rng.random() < 0.15:
                    d = os.path.join(d, "glibc-hwcaps", rng.choice(["x86-64-v2", "x86-64-v3", "x86-64-v4"]))
                os.makedirs(d, exist_ok=True)
                self.make(os.path.join(d, name), rng.sample(self.names[i + 1:], rng.randint(0, len(self.names) - i - 1)),
                          rng.choice([None, name, name, "other-" + name]))
                if rng.random() < 0.04:
                    with open(os.path.join(d, name), "w", encoding="ascii") as f:
                        f.write("no library\n")
        self.program = os.path.join(top, "program")
        self.make(self.program, rng.sample(self.names, rng.randint(1, 3)), None)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
        if rng.random() < 0.6:
            self.env["LD_LIBRARY_PATH"] = ":".join(rng.sample(self.dirs, rng.randint(1, 2)))
        if rng.random() < 0.2:
            self.env["LD_PRELOAD"] = os.path.join(rng.choice(self.dirs), rng.choice(self.names))

    def paths(self):
        kind = self.rng.choice(["", "--enable-new-dtags", "--disable-new-dtags"])
        if not kind:
            return []
        dirs = self.rng.sample(self.dirs + ["$ORIGIN/../d1", "${ORIGIN}", "$ORIGIN/d2", "/nonexistent/$LIB"], 2)
        return ["-Wl," + kind, "-Wl,-rpath," + ":".join(dirs)]

    def make(self, path, needs, soname):
        dummy = os.path.join(self.top, "dummy")
        os.makedirs(dummy, exist_ok=True)
        for n in needs:     # Linked by name only. The test is about the search at run time.
            stub = os.path.join(dummy, n)
            if not os.path.exists(stub):
                subprocess.run(["cc", "-shared", "-nostdlib", "-o", stub, "-Wl,-soname," + n, "-x", "c", "/dev/null"], check=True)
        kind = ["-shared", "-nostdlib"] if path != self.program_path() else ["-nostdlib", "-Wl,-e0"]
        cmd = ["cc", *kind, "-o", path, "-x", "c", "/dev/null", *self.paths(), "-Wl,--no-as-needed"]
        cmd += ["-Wl,-soname," + soname] if soname else []
        cmd += ["-Wl,-z,nodefaultlib"] if self.rng.random() < 0.1 else []
        cmd += ["-Wl,--unresolved-symbols=ignore-all", "-x", "none", *(os.path.join(dummy, n) for n in needs)]
        subprocess.run(cmd, check=True, stderr=subprocess.DEVNULL)

    def program_path(self):
        return os.path.join(self.top, "program")


def made_trees():
    bad, refused = [], 0
    for seed in range(SEED, SEED + TREES):
        with tempfile.TemporaryDirectory() as top:
            tree = Tree(random.Random(seed), top)
            true, run = loader(tree.program, tree.env), ours(tree.program, tree.env)[0]
            if true is None:    # A broken file precedes the library: gpuprobe must report it too.
                refused += 1
                if not any(o["broken"] for o in run["objects"]):
                    bad.append(f"seed {seed}: the loader refuses it, we do not")
                continue
            true = {n: p for n, p in true.items() if not n.startswith("/")}
            bad += [f"seed {seed}: {d}" for d in differences(by_name(run), true)]
    tap.rule(f"gpuprobe and the loader agree about {TREES} generated trees of libraries ({refused} refused by both)", bad)


def import_torch():
    name = "gpuprobe and the loader agree about import torch"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON"))}
    done = subprocess.run(["/usr/bin/python3", "-c", "import torch"], env={**env, "LD_DEBUG": "files"},
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        tap.skip(name, "no python3-torch here")
        return
    true = set(re.findall(r"calling init: (/\S+)", done.stderr))
    runs = [r for r in ours("/usr/bin/python3", env) if r["what"] == "import torch"]
    got = {o["path"] for o in runs[0]["objects"][1:] if not o["opened"] or o["path"]} if runs else set()
    tap.rule(f"{name} ({len(got)} objects)", [f"the loader does not take {p}" for p in sorted(got - true) if "/ld-linux" not in p] if got else ["no import"])


if sys.platform != "linux" or subprocess.run(["cc", "--version"], stdout=subprocess.DEVNULL, check=False).returncode:
    tap.skip("made-up trees", "no compiler here")
else:
    made_trees()
entries_that_are_no_programs()
system_programs()
import_torch()
tap.plan()
