#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs revert with the immutable attribute (chattr +i) on each file and directory that it must change.

revert must restore everything else, exit with 6 and name the remaining files. After chattr -i, recover must restore the rest.
"""

import os
import shutil

from attack import STATE, Tap, difference, gputune, picture, run, scratch, skip_all, unpack

KEPT = ["etc/sysctl.d/90-gputune.conf", "etc/tmpfiles.d/90-gputune.conf", "etc/udev/rules.d/90-gputune.rules"]
FILES = KEPT + ["proc/sys/vm/swappiness"]
DIRS = [os.path.dirname(f) for f in KEPT]


def immutable(root, path, before, planned):
    full, bad = os.path.join(root, path), []
    status, text = gputune(root, "apply", "--persist", "--optional")
    assert status == 0, text
    assert run("chattr", "+i", full)[0] == 0
    status, text = gputune(root, "revert")
    now = picture(root)
    # An immutable directory keeps its file.
    kept = path if path in planned else next(f for f in FILES if os.path.dirname(f) == path)
    if status != 6 or kept not in text:
        bad.append(f"revert {status}: {text[-600:]}")
    want = {**before, kept: planned[kept]}
    if now != want:
        bad.append(f"after revert: {difference(now, want)}")
    again = gputune(root, "recover")[0]
    assert run("chattr", "-i", full)[0] == 0
    status, text = gputune(root, "recover")
    if again != 6 or status or picture(root) != before or os.path.exists(os.path.join(root, STATE, "journal")):
        bad.append(f"recover {again}, after chattr -i {status}: {difference(picture(root), before)}\n{text[-600:]}")
    return bad


def can(where):
    path = os.path.join(where, "try")
    with open(path, "w", encoding="utf-8"):
        pass
    ok = run("chattr", "+i", path)[0] == 0 and run("chattr", "-i", path)[0] == 0
    os.unlink(path)
    return ok


def main():
    if not shutil.which("chattr") or os.geteuid() != 0:
        skip_all("needs root and chattr")
    tap = Tap()
    with scratch(()) as where:
        if not can(where):
            skip_all("this file system has no immutable attribute")
        root = os.path.join(where, "root")
        unpack(root)
        before = picture(root)
        assert gputune(root, "apply", "--persist", "--optional")[0] == 0
        planned = picture(root)
        assert gputune(root, "revert")[0] == 0
        try:
            for path in FILES + DIRS:
                bad = immutable(root, path, before, planned)
                tap.case(f"revert with chattr +i {path}: everything else is restored, recover restores the rest", bad)
        finally:
            run("chattr", "-R", "-i", root)
    tap.end()


if __name__ == "__main__":
    main()
