# SPDX-License-Identifier: Apache-2.0
"""Disk schedulers and udev rules on a real kernel with the real systemd-udevd. Part "devices" of check.py.

The kernel resets a queue's length with its scheduler; revert restores both. The plan must predict what udevd does to a disk, for
RULES generated sets of rules at an event and for an administrator's rules at a reboot."""

import json
import os
import random

from vm import Vm

NVME, ROOT = "nvme0n1", "vda"
QUEUE = f"/sys/block/{NVME}/queue"
PROFILE = "/srv/disk.conf"
SETS = int(os.environ.get("RULES") or 24)
SEED = int(os.environ.get("SEED") or 1)

# ---- a scheduler resets the queue's length -----------------------------------------------------------------------------


def queue(vm):
    """Returns the kernel's (scheduler, nr_requests)."""
    return tuple(vm.ok(f"sed 's/.*\\[\\(.*\\)\\].*/\\1/' {QUEUE}/scheduler; cat {QUEUE}/nr_requests").split())


def put_queue(vm, scheduler, length):
    vm.ok(f"echo {scheduler} >{QUEUE}/scheduler && echo {length} >{QUEUE}/nr_requests")


def want(vm, scheduler):
    vm.ok(f"printf '[profile]\\nsummary = one disk\\n[knobs]\\nblock.scheduler = {scheduler}\\n' >{PROFILE}")
    return f"gputune apply -q --profile {PROFILE} --only block.scheduler"


def side_comes_back(tap, vm, mine, other):
    put_queue(vm, *mine)
    vm.ok(want(vm, other))
    changed = queue(vm)
    tap.ok(
        f"{other} instead of {mine[0]}: the kernel resets the queue's length",
        changed[0] == other and changed[1] != mine[1],
        changed,
    )
    done = vm.sh("gputune verify; gputune revert")
    tap.ok(
        f"reverting to {mine[0]} restores its {mine[1]} requests",
        done.status == 0 and queue(vm) == mine,
        (queue(vm), done.out),
    )


def side_is_kept(tap, vm, mine):
    put_queue(vm, *mine)
    vm.ok(want(vm, "mq-deadline") + f" && echo 99 >{QUEUE}/nr_requests")
    done = vm.sh("gputune revert")
    tap.ok(
        "revert does not touch a length that another program has set since",
        queue(vm) == (mine[0], "99"),
        (done.status, queue(vm), done.out),
    )


def side_after_kill(tap, vm, mine):
    """kill -9 at random moments of apply and revert, then recover, then a revert of completed changes."""
    rng, seen, bad = random.Random(SEED), {}, []
    apply = want(vm, "mq-deadline")
    took = vm.ok(f"t=$(date +%s%N); {apply}; echo $((($(date +%s%N) - t) / 1000000)); gputune revert >/dev/null")
    whole = float(took.split()[-1]) / 1000
    for n in range(16):
        put_queue(vm, *mine)
        after = f"timeout -s KILL {rng.random() * whole:.3f}"
        done = vm.sh(f"{after} {apply}" if n % 2 == 0 else f"{apply}; {after} gputune revert")
        mended = vm.sh("gputune recover")
        held, now = vm.json("gputune status --json")["values"], queue(vm)
        if held:
            vm.sh("gputune revert")
        if queue(vm) != mine or mended.status or (now != mine and not held):
            bad.append((n, done.status, now, queue(vm), mended.out))
        how = ("killed" if done.status in (137, 128 + 9) else "to its end") + (", held" if held else ", as before")
        seen[how] = seen.get(how, 0) + 1
    tap.ok(f"kill -9, recover, revert: scheduler and length are those from before ({seen})", not bad, bad)


# ---- udev rules --------------------------------------------------------------------------------------------------------

# The plan predicts the next boot, when files in /run no longer exist.
DIRS = ("/etc/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d")
NAMES = ("61-site.rules", "61-vendor.rules", "89-a.rules", "91-late.rules", "99-z.rules")
MATCHES = """
SUBSYSTEM=="block" KERNEL=="nvme[0-9]*n[0-9]*" KERNEL=="vd?|sd?" KERNEL!="vda" ACTION=="add|change" ACTION!="remove"
ENV{DEVTYPE}=="disk" ENV{DEVTYPE}!="partition" ATTR{removable}=="0" ATTR{queue/rotational}=="0" ATTR{ro}=="[01]" DRIVER==""
ATTR{queue/hw_sector_size}=="512" SUBSYSTEMS=="nvme" SUBSYSTEMS=="virtio|scsi" DRIVERS=="nvme" KERNELS=="nvme0" ATTRS{serial}=="vm*"
TEST=="queue/rotational" TEST!="nowhere" ENV{SITE}=="fast" ENV{SITE}!="slow" ATTR{nowhere}!="1" PROGRAM=="/bin/true"
IMPORT{cmdline}=="quiet" ENV{ID_PATH}=="?*" DEVPATH=="*/nvme*" ENV{MAJOR}=="259"
""".split()
READ_AHEAD = ("64", "256", "512", "1024", "2048")
SCHEDULERS = ("none", "mq-deadline")


def rule(rng, labels):
    kind = rng.random()
    matches = rng.sample(MATCHES, rng.choice((0, 1, 1, 2, 3)))
    if kind < 0.1:
        return ", ".join(matches + [f'GOTO="{rng.choice(labels)}"'])
    if kind < 0.2:
        return f'LABEL="{rng.choice(labels)}"'
    if kind < 0.3:
        return ", ".join(matches + [f'ENV{{SITE}}="{rng.choice(("fast", "slow", ""))}"'])
    if kind < 0.35:
        return f'SUBSYSTEM=="bdi", ATTR{{read_ahead_kb}}="{rng.choice(READ_AHEAD)}"'
    if kind < 0.4:
        return 'SUBSYSTEM=="block", RUN+="/bin/sh -c \'echo 768 >/sys/block/%k/queue/read_ahead_kb\'"'
    if kind < 0.45:  # Not udev's syntax: the whole line is ignored.
        return rng.choice(('KERNEL="vda", ATTR{queue/read_ahead_kb}="3"', 'FOO=="1", ATTR{queue/read_ahead_kb}="5"'))
    leaf, values = rng.choice((("read_ahead_kb", READ_AHEAD), ("read_ahead_kb", READ_AHEAD), ("scheduler", SCHEDULERS)))
    assignment = f'ATTR{{queue/{leaf}}}{rng.choice(("=", "=", ":="))}"{rng.choice(values)}"'
    return ", ".join(['SUBSYSTEM=="block"', *matches, assignment])


def generated(rng):
    """{path: text, None for a link to /dev/null}"""
    files = {}
    for _ in range(rng.randint(1, 4)):
        labels = rng.sample(("a", "b", "end"), 2)
        lines = [rule(rng, labels) for _ in range(rng.randint(1, 5))] + [f'LABEL="{x}"' for x in labels]
        files[f"{rng.choice(DIRS)}/{rng.choice(NAMES)}"] = None if rng.random() < 0.1 else "\n".join(lines) + "\n"
    return files


def write(files):
    """Returns a script that makes these files."""
    out = []
    for path, text in files.items():
        out.append(f"mkdir -p {os.path.dirname(path)}; rm -f {path}")
        out.append(f"ln -s /dev/null {path}" if text is None else f"cat >{path} <<'EOF'\n{text}EOF")
    return "\n".join(out) + "\n"


LEAVES = [f"/sys/block/{disk}/queue/{leaf}" for disk in (NVME, ROOT) for leaf in ("scheduler", "read_ahead_kb")]


def values(vm):
    out = vm.ok("for f in " + " ".join(LEAVES) + "; do sed 's/.*\\[\\(.*\\)\\].*/\\1/' $f; done").split()
    return dict(zip(LEAVES, out))


def foretold(vm):
    """Returns {path: the plan's prediction for the next boot}."""
    items = vm.json("gputune plan --optional --json")["items"]
    return {i["path"]: i["at_boot"] or {} for i in items if i["path"] in LEAVES}


def judge(said, default, is_now):
    """Returns the wrong predictions and the number of definite ones."""
    bad, sure = [], 0
    for path, now in is_now.items():
        told = said.get(path) or {}
        if told.get("may"):
            continue
        sure += 1
        if now != (told.get("value") or default[path]):
            bad.append(f"{path}: predicted {json.dumps(told)}, is {now}, without rules {default[path]}")
    return bad, sure


def rules_at_an_event(tap, vm):
    default, rng = values(vm), random.Random(SEED)
    reset = "\n".join(f"echo {v} >{p}" for p, v in default.items()) + "\n"
    forget = "udevadm control --reload\n"
    bad, sure, moved = [], 0, 0
    for n in range(SETS):
        files = generated(rng)
        vm.ok(reset + write(files) + forget)
        said = foretold(vm)
        vm.ok("udevadm trigger --action=add --subsystem-match=block --subsystem-match=bdi; udevadm settle")
        is_now = values(vm)
        wrong, certain = judge(said, default, is_now)
        sure, moved = sure + certain, moved + sum(is_now[p] != default[p] for p in LEAVES)
        bad += [f"set {n}: {w}" for w in wrong] + [f"{p}:\n{t}" for p, t in files.items() if wrong]
        vm.ok("rm -f " + " ".join(files))
    vm.ok(forget + reset)
    all_ = SETS * len(LEAVES)
    tap.ok(
        f"udevd does what the plan predicts for {SETS} sets of rules ({sure} of {all_} predictions definite, {moved} values set)",
        not bad and sure > all_ // 4 and moved > SETS // 2,
        "\n".join(bad) or (sure, moved),
    )


ADMIN = {
    "/etc/udev/rules.d/60-site-disks.rules": 'ACTION!="add|change", GOTO="end"\nSUBSYSTEM!="block", GOTO="end"\n'
    'KERNEL=="nvme[0-9]*n[0-9]*", ATTR{queue/rotational}=="0", ATTR{queue/scheduler}="mq-deadline"\n'
    'KERNEL=="nvme[0-9]*n[0-9]*", ATTR{removable}!="1", ATTR{queue/read_ahead_kb}="512"\nLABEL="end"\n',
    # overridden by the file in /etc
    "/usr/lib/udev/rules.d/60-site-disks.rules": 'SUBSYSTEM=="block", ATTR{queue/read_ahead_kb}="16"\n',
    "/usr/lib/udev/rules.d/97-vendor.rules": 'SUBSYSTEM=="block", ATTR{queue/read_ahead_kb}="32"\n',
    "/etc/udev/rules.d/97-vendor.rules": None,  # masked
    "/usr/lib/udev/rules.d/98-typo.rules": 'SUBSYSTEM=="block", KERNEL="vda", ATTR{queue/read_ahead_kb}="8"\n',  # ignored
}
LATE = {
    "/etc/udev/rules.d/95-late.rules": f'SUBSYSTEM=="block", KERNEL=="{NVME}", ACTION=="add|change", '
    'ATTR{queue/read_ahead_kb}="1024"\n'
}


def rules_at_a_reboot(tap, vm):
    default = values(vm)
    vm.ok(write(ADMIN))
    said = foretold(vm)
    vm.reboot()
    bad, sure = judge(said, default, values(vm))
    chosen = {p: a.get("value") for p, a in said.items() if a.get("value")}
    tap.ok(
        "after a reboot with an administrator's rules the disks are as predicted",
        not bad
        and sure == len(LEAVES)
        and chosen == {f"{QUEUE}/scheduler": "mq-deadline", f"{QUEUE}/read_ahead_kb": "512"},
        (bad, said),
    )
    done = vm.sh("gputune apply --persist --only block. --optional && gputune verify")
    tap.ok("gputune's rules follow the administrator's and are predicted to win", done.status == 0, done.out)
    applied = values(vm)
    vm.reboot()
    done = vm.sh("gputune verify")
    tap.ok("gputune's rules win after the reboot", done.status == 0 and values(vm) == applied, (done.out, applied, values(vm)))
    vm.ok(write(LATE))
    done = vm.sh("gputune verify")
    tap.ok(
        "verify names a later rule of the administrator that will win",
        done.status == 4 and "95-late.rules:1" in done.out and "1024" in done.out,
        done.out,
    )
    vm.reboot()
    now = values(vm)
    tap.ok(
        "the administrator's later rule wins after the reboot",
        now == {**applied, f"{QUEUE}/read_ahead_kb": "1024"},
        (applied, now),
    )
    vm.ok("rm -f " + " ".join([*ADMIN, *LATE]))
    vm.sh("gputune revert")
    vm.reboot()
    tap.ok("without any of the rules the disks have the kernel's defaults", values(vm) == default, (default, values(vm)))


def part_devices(tap, image, disk, picture, append):
    with Vm(image, disk, append=append, slim=True) as vm:
        before = picture(vm)
        own = queue(vm)
        side_comes_back(tap, vm, ("none", "500"), "mq-deadline")
        side_comes_back(tap, vm, ("mq-deadline", "77"), "none")
        side_is_kept(tap, vm, ("none", "500"))
        side_after_kill(tap, vm, ("none", "500"))
        put_queue(vm, *own)
        rules_at_an_event(tap, vm)
        rules_at_a_reboot(tap, vm)
        tap.same("at the end the host is as at the start", before, picture(vm))
