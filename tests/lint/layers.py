#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layers: the allowed includes between directories, no cycle between directories, headers or modules, no declaration
of a symbol that a .c file of another directory defines, at most 40 .c files in a directory. A row of MAY lists the direct edges;
"may include" is transitive."""
import collections
import os
import re

import tap

# Upper layers include lower ones only. config.h and generated files are not edges.
MAY = {
    "lib": "",
    "probe/loader": "lib",
    "probe/compat": "lib",
    "probe/wheel": "probe/loader",
    "probe/scrub": "probe/loader",
    "probe/holder": "lib",
    "probe/nvml": "probe/holder",
    "probe/host": "probe/nvml probe/holder probe/loader probe/compat probe/scrub sysctl",
    "probe/topo": "probe/host",
    "probe/check": "probe/host probe/compat probe/wheel probe/topo",
    "probe/advice": "probe/check",
    "probe/baseline": "lib",
    "probe/watch": "probe/host",
    "probe/report": "probe/check probe/baseline",
    "probe/cmd": "probe/advice probe/baseline probe/watch probe/report",
    "sysctl": "lib",
    "tune/model": "probe/check sysctl",
    "tune/knob": "tune/model",
    "tune/boot": "tune/knob",
    "tune/lint": "tune/boot",
    "tune/preload": "",
    "tune/launch": "tune/model tune/preload",
    "tune/profiles": "tune/knob tune/launch",
    "tune/run": "tune/profiles",
    "tune/plan": "tune/boot tune/profiles bench/stats",
    "tune/txn": "tune/plan",
    "tune/provision": "tune/txn probe/advice",
    "tune/cmd": "tune/txn tune/run tune/lint tune/provision",
    "runtime": "lib",
    "runtime/transport": "lib",
    "runtime/math": "runtime",
    "runtime/memory": "runtime",
    "runtime/model": "runtime",
    "runtime/cases": "runtime",
    "runtime/graph": "runtime runtime/math",
    "runtime/pass": "runtime/graph runtime/transport",
    "runtime/ddp": "runtime/pass",
    "runtime/data": "runtime/math runtime/memory",
    "runtime/backend": "runtime/ddp",
    "runtime/cpu": "runtime/backend runtime/memory probe/host",
    "runtime/cuda/kernel": "runtime/math",
    "runtime/cuda": "runtime/cuda/kernel runtime/backend runtime/cases probe/loader",
    "runtime/exec": "runtime/backend",
    "runtime/ckpt": "runtime/backend",
    "runtime/devices": "runtime/cpu runtime/cuda",
    "runtime/example": "runtime",
    "bench": "",
    "bench/stats": "lib",
    "bench/result": "bench bench/stats probe/host",
    "bench/report": "bench/result",
    "bench/train": "bench runtime runtime/data runtime/cuda runtime/transport bench/stats",
    "bench/workload": "bench/stats bench/train probe/host",
    "bench/session": "bench/result bench/workload tune/txn tune/run probe/watch",
    "bench/ladder": "bench/session",
    "bench/prove": "bench/session",
    "bench/fleet": "bench/result bench/workload",
    "bench/cmd": "bench/fleet bench/ladder bench/prove bench/report",
}
# One file per entry of a registry: the number of files is the number of entries.
REGISTRIES = ("probe/check", "tune/knob", "bench/workload", "runtime/graph", "runtime/pass", "runtime/cpu", "runtime/cuda")
MOST_FILES = 40
# A header whose struct has the structs of other modules as members. The .c files of these modules include it to fill their
# member. Its includes are edges between headers, not between modules.
COMPOSED = ("probe/host/host.h",)
# The header for programs that link the library. The functions that it declares are defined in all directories of runtime.
PUBLIC = ("runtime/runtime.h",)
# Objects that the program defines, by linking one of several files of an upper layer.
LINKED = ("rt_backend_list",)


def sources():
    for top in ("lib", "probe", "sysctl", "tune", "runtime", "bench"):
        for folder, _, names in os.walk(os.path.join(tap.TOP, top)):
            for name in sorted(names):
                if re.search(r"\.(c|h|cu|cuh)$", name):
                    yield os.path.relpath(os.path.join(folder, name), tap.TOP)


NAME = r"\b((?:gt|pr|sc|tn|rt|bn)_\w+)"


def declared(text):
    """Functions and objects that a header declares, one statement at a time."""
    text = re.sub(r"/\*.*?\*/|^\s*#.*?(?<!\\)$", " ", text, flags=re.S | re.M)
    while "{" in text and (flat := re.sub(r"\{[^{}]*\}", ";", text)) != text:
        text = flat
    for statement in text.split(";"):
        statement = " ".join(statement.split())
        if statement.startswith("extern "):
            yield from re.findall(NAME + r"(?=\s*(?:\[|,|$))", statement)
        elif not statement.startswith(("static ", "typedef ", "struct ", "enum ", "union ")) or "(" in statement:
            yield from re.findall(r"^[^(=]*?" + NAME + r"\(", statement)


def defined(text):
    """Functions and objects with external linkage that a .c file defines: each begins in the first column."""
    yield from re.findall(r"^(?!static|typedef|extern)[a-z][^(=;\n]*?" + NAME + r"\((?!.*;$)", text, re.M)
    yield from re.findall(r"^(?!static|typedef|extern)[a-z][^(=;\n]*?" + NAME + r"(?:\[\w*\])* = ", text, re.M)


def closure():
    """All directories that each row allows, transitively."""
    allowed = {}

    def of(d):
        if d not in allowed:
            allowed[d] = {d}
            for direct in MAY.get(d, "").split():
                allowed[d] |= of(direct)
        return allowed[d]

    for d in MAY:
        of(d)
    return allowed


def cycles(graph):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(graph.get(v, ())):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            part = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(part) > 1:
                found.append(" ".join(sorted(part)))

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return found


def main():
    files = list(sources())
    known, allowed = set(files), closure()
    edges, folders, bad = collections.defaultdict(set), collections.defaultdict(set), []
    homes, headers = {}, []
    for path in files:
        with open(os.path.join(tap.TOP, path), encoding="utf-8", errors="replace") as f:
            text = f.read()
        included = [i for i in re.findall(r'^#\s*include "([^"]+)"', text, re.M) if i in known]
        if path.endswith(".c"):
            homes.update(dict.fromkeys(defined(text), path))
        elif path.endswith(".h") and path not in PUBLIC:
            headers += [(path, name) for name in declared(text) if name not in LINKED]
        here = os.path.dirname(path)
        for inc in included:
            there = os.path.dirname(inc)
            edges[path].add(inc)
            if there != here:
                folders[here].add(there)
            if here in MAY and there not in allowed[here]:
                bad.append(f"{path} includes {inc}")
    checked = {os.path.dirname(p) for p in files}
    tap.rule("each directory includes only what its row allows", bad)
    tap.rule("each directory has a row", [d for d in sorted(checked) if d not in MAY] +
             [f"{d}: no such directory" for d in MAY if not os.path.isdir(os.path.join(tap.TOP, d))])
    tap.rule("no cycle between directories", cycles({d: folders[d] & set(checked) for d in checked}))
    tap.rule("no cycle between headers", cycles({p: {i for i in edges[p] if i.endswith((".h", ".cuh"))} for p in files}))
    modules = collections.defaultdict(set)
    for path, included in edges.items():
        for inc in included if path not in COMPOSED else ():
            modules[os.path.splitext(path)[0]].add(os.path.splitext(inc)[0])
    modules = {m: {i for i in to if i != m} for m, to in modules.items()}
    tap.rule("no cycle between modules (NAME.c and NAME.h) of a directory that has a row",
             cycles({m: to for m, to in modules.items() if os.path.dirname(m) in MAY}))
    tap.rule("each header declares only what its own directory defines",
             [f"{h} declares {name}, which {homes[name]} defines" for h, name in headers
              if os.path.dirname(homes.get(name, h)) != os.path.dirname(h)])
    count = collections.Counter(os.path.dirname(p) for p in files if p.endswith(".c"))
    tap.rule(f"at most {MOST_FILES} .c files in a directory", [f"{d}: {count[d]}" for d in sorted(checked)
                                                              if count[d] > MOST_FILES and d not in REGISTRIES])
    tap.plan()


main()
