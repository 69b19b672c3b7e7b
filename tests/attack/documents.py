#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Applies randomly changed receipts and plans to a tree.

A change is one of bytes (flip, cut, insert, repeat) or of the structure (delete a key, exchange two values, repeat an element,
insert an extreme number or another type). gputune refuses the document with 3 or 64, or applies it with 0. It never writes a value
outside the tunable's range, never one against the tunable's direction, and never crashes. MUTATIONS=N (default 4) of each
document, SEED=N.
"""

import copy
import fnmatch
import json
import os
import random
import re
import time

from attack import GPUTUNE, STATE, TOP, Tap, difference, gputune, number, picture, put_back, run, scratch, unpack

MUTATIONS, SEED = number("MUTATIONS", 4), number("SEED", 1)
RECEIPTS = ["knobs", "design", "device", "choice"]
NUMBERS = [0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, 1e308, -1e-308, 0.5]
TEXTS = ["", "0", "-1", "1", "18446744073709551615", "65531", "x" * 5000, "../../etc/passwd", "\n1", "100 200 300"]
EXTREME = NUMBERS + TEXTS + [True, False, None, [], {}]
DECIDING = ("to", "from", "wanted", "current", "knob", "instance", "path", "status", "operation", "kept")


# ---- permitted writes ----


class Rules:
    """Returns the range and direction of each tunable as `gputune list` documents them."""

    def __init__(self, root):
        with open(os.path.join(root, "proc/meminfo"), encoding="utf-8") as f:
            self.memory = 1024 * int(re.search(r"MemTotal: *(\d+)", f.read())[1])
        self.knobs = [k for k in json.loads(gputune(root, "list", "--json")[1])["knobs"] if k["path"]]

    def of(self, path):
        for k in self.knobs:
            if fnmatch.fnmatch("/" + path, re.sub(r"%s|DEVICE|\*", "*", k["path"])):
                return k
        return None

    def limits(self, knob):
        """Returns (minimum, maximum) of each number: "A to B", "A to 1/N of memory in bytes" or both."""
        out = []
        for text in (knob["range"] or "").split(", ") if knob["range"] else []:
            least, most = text.split(" to ", 1)
            share = re.search(r"1/(\d+) of memory", most)
            most = [int(most.split()[0])] if most.split()[0].isdigit() else []
            out.append((int(least), min(most + ([self.memory // int(share[1])] if share else []))))
        return out

    def zeroed(self, path, now, changed):
        """The kernel sets the counterpart of a written value to 0."""
        return now == "0" and any(k["counterpart"] == "/" + path and k["path"][1:] in changed for k in self.knobs)

    def broken(self, path, old, now, changed):
        k = self.of(path)
        if self.zeroed(path, now, changed):
            return None
        if not k:
            return f"{path}: {old} -> {now}, which belongs to no tunable"
        limits = self.limits(k)
        pairs = list(zip(old.split(), now.split()))
        numbers = [(int(a), int(b)) for a, b in pairs if re.fullmatch(r"-?\d+,-?\d+", f"{a},{b}")]
        for n, (a, b) in enumerate(numbers):
            if limits and not limits[n][0] <= b <= limits[n][1]:
                return f"{path}: {old} -> {now}, outside of {k['range']}"
            if (k["operation"] == "raise" and b < a) or (k["operation"] == "lower" and b > a):
                return f"{path}: {old} -> {now}, although it may only {k['operation']}"
        return None


# ---- changes ----


def places(doc, out):
    """Returns every (container, key) of the document."""
    for key, value in doc.items() if isinstance(doc, dict) else enumerate(doc):
        out.append((doc, key))
        if isinstance(value, (dict, list)):
            places(value, out)
    return out


def change_structure(rng, doc):
    doc = copy.deepcopy(doc)
    for _ in range(1 + rng.randrange(3)):
        at = places(doc, [])
        if not at:
            break
        (where, key), (other, its) = rng.choice(at), rng.choice(at)
        what = rng.randrange(6)
        if what == 0:
            del where[key]
        elif what == 1:
            where[key], other[its] = copy.deepcopy(other[its]), copy.deepcopy(where[key])
        elif what == 2 and isinstance(where, list):
            where.insert(key, copy.deepcopy(where[key]))
        elif what == 3 and isinstance(where, dict):
            where[rng.choice(["", "knob", "kept", "wanted", "to", "x" * 300])] = copy.deepcopy(other[its])
        else:
            where[key] = copy.deepcopy(rng.choice(EXTREME))
    return json.dumps(doc).encode()


def change_values(rng, doc):
    """Returns only the places that determine the written value. More changes of these pass the first checks."""
    doc = copy.deepcopy(doc)
    at = [(w, k) for w, k in places(doc, []) if k in DECIDING]
    for _ in range(1 + rng.randrange(2)):
        where, key = rng.choice(at)
        old = where[key]
        if isinstance(old, str) and old.isdigit():
            near = [int(old) * 2, int(old) // 2, int(old) + 1]
            where[key] = str(rng.choice(near + [0, 1, 65530, 2**31 - 1, 2**31, 2**63, 2**64 - 1, -1]))
        else:
            where[key] = rng.choice([w[k] for w, k in at if k == key] + EXTREME)
    return json.dumps(doc).encode()


def change_bytes(rng, text):
    b = bytearray(text)
    for _ in range(1 + rng.randrange(4)):
        at, what = rng.randrange(len(b)), rng.randrange(5)
        if what == 0:
            b[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            b[at] = rng.choice(b'0123456789-.eE{}[]",:\\ \0\xff')
        elif what == 2:
            b[at:at] = bytes(rng.choice(b"09-{[\",") for _ in range(1 + rng.randrange(4)))
        elif what == 3:
            del b[at : at + 1 + rng.randrange(8)]
        else:
            b[at:at] = b[at : at + rng.randrange(60)]
    return bytes(b[: rng.randrange(len(b)) or 1] if rng.random() < 0.05 else b)


def changed(rng, doc):
    how = rng.randrange(3)
    if how == 0:
        return change_bytes(rng, json.dumps(doc).encode())
    return (change_structure if how == 1 else change_values)(rng, doc)


# ---- the documents ----


def plan(root):
    status, text = gputune(root, "plan", "--json", "--optional")
    assert status == 0, text
    return json.loads(text)


def receipt(name, root, host):
    """Returns a receipt of the fuzz corpus, changed so that it is of the tree's host."""
    with open(os.path.join(TOP, "tests/fuzz/corpus/receipt", name + ".json"), encoding="utf-8") as f:
        doc = json.load(f)
    doc.update(host=host["host"], kernel=host["kernel"], nvidia_driver=None, created_unix=int(time.time()))
    for k in doc["knobs"]:
        if k["kind"] == "knob":
            k["instance"] = k["instance"] and "nvme0n1"
            k["from"] = next(i["current"] for i in host["items"] if i["knob"] == k["knob"] and i["instance"] == k["instance"])
    return doc


def attack(root, path, doc, command):
    """Returns the failures and the numbers of documents applied, refused as input and refused for this host."""
    rng, before, rules, bad = random.Random(SEED), picture(root), Rules(root), []
    count = {0: 0, 3: 0, 64: 0}
    for n in range(MUTATIONS + 1):
        with open(path, "wb") as f:  # The first is the valid document, which must be applied.
            f.write(changed(rng, doc) if n else json.dumps(doc).encode())
        status, text = run(GPUTUNE, "--root", root, "-q", "apply", *command, path)
        now = picture(root)
        paths = [p for p in sorted(before.keys() | now.keys()) if now.get(p) != before.get(p)]
        what = [(p, before.get(p, b"").decode(), now.get(p, b"").decode()) for p in paths]
        count[status] = count.get(status, 0) + 1
        wrong = [rules.broken(p, a, b, {w[0] for w in what}) for p, a, b in what]
        if status not in (0, 3, 64) or (status and what) or (not n and (status or not what)) or any(wrong):
            keep = f"{path}.{n}.bad"
            os.replace(path, keep)
            bad.append(f"change {n}: exit {status}: {'; '.join(w for w in wrong if w) or difference(now, before)}\n{text[-500:]}")
        if what or os.path.exists(os.path.join(root, STATE, "journal")):
            back, text = gputune(root, "revert")
            if back or picture(root) != before:
                bad.append(f"change {n}: revert {back}: {difference(picture(root), before)}\n{text}")
                put_back(root, before)
        if len(bad) >= 10:
            break
    return bad, count


def main():
    tap = Tap()
    with scratch() as where:
        root, path = os.path.join(where, "root"), os.path.join(where, "x.json")
        unpack(root)
        with open(os.path.join(root, "sys/kernel/mm/transparent_hugepage/enabled"), "w", encoding="utf-8") as f:
            f.write("always [madvise] never\n")
        host = plan(root)
        receipts = [(f"receipt '{n}'", receipt(n, root, host), ["--only-proven"]) for n in RECEIPTS]
        for name, doc, command in [("plan", host, [])] + receipts:
            bad, count = attack(root, path, doc, command)
            result = f"{count[0]} applied, {count[3]} and {count[64]} refused with 3 and 64"
            tap.case(f"{sum(count.values())} changes of a {name}: {result}", bad)
    tap.end()


if __name__ == "__main__":
    main()
