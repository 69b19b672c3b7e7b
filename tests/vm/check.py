#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check.py [PART…]: what gputune promises, on a real Debian under systemd. `make check-vm` runs all parts.

TAP on stdout; the last line counts. CUTS=N power cuts (default 36), SEED=N chooses others; CUT_IN="revert recover" leaves out
those in apply.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
import devices  # noqa: E402
import jobs  # noqa: E402
import powercut  # noqa: E402
import sessions  # noqa: E402
import vm as machine  # noqa: E402
from vm import Image, Vm, install, installed  # noqa: E402

CUTS = int(os.environ.get("CUTS") or 36)
SEED = int(os.environ.get("SEED") or 1)
CUT_IN = (os.environ.get("CUT_IN") or "apply revert recover").split()
# The whole of it that we may touch: kernel values, and what /etc and our state directory hold.
KERNEL = (
    "sysctl -a 2>/dev/null | grep -E '^(vm|net\\.core|kernel\\.(numa|sched|perf|nmi|watchdog|pid))' | "
    "grep -vE 'netdev_rss_key|_reserve_kbytes|stat_refresh';"
    "grep -H . /sys/kernel/mm/transparent_hugepage/* /sys/block/*/queue/scheduler /sys/block/*/queue/read_ahead_kb "
    "/sys/block/*/queue/nr_requests /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor 2>/dev/null;"
)
FILES = (
    "find /etc -xdev -type f ! -name '*.cache' ! -name adjtime ! -name machine-id ! -path '/etc/systemd/*' -print0 | "
    "sort -z | xargs -0 sha256sum; find /etc/systemd -type l | sort"
)


class Tap:
    def __init__(self):
        self.count = self.passed = self.failed = self.skipped = 0

    def say(self, text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def ok(self, name, true, detail=""):
        self.count += 1
        self.passed += bool(true)
        self.failed += not true
        print(f"{'ok' if true else 'not ok'} {self.count} - {name}", flush=True)
        if not true:
            self.say(str(detail)[-3000:])
        if os.environ.get("TIMES"):
            self.say(f"{time.monotonic() - START:.0f} s")
        return bool(true)

    def same(self, name, a, b):
        left, right = a.splitlines(), b.splitlines()
        return self.ok(
            name,
            a == b,
            "\n".join(
                [f"- {x}" for x in left if x not in right][:20] + [f"+ {x}" for x in right if x not in left][:20]
            ),
        )

    def skip(self, name, why):
        self.count += 1
        self.skipped += 1
        print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.count}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


START = time.monotonic()
tap = Tap()


def kernel(vm):
    return vm.ok(KERNEL + "true")


def files(vm):
    return vm.ok(FILES + "; true")


def picture(vm):
    return kernel(vm) + "----\n" + files(vm)


# ---- package -----------------------------------------------------------------------------------------------------------

TREE = (
    "find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /mnt -o -path /var/log -o "
    "-path /var/cache -o -path /var/tmp -o -path /root -o -path /var/lib/systemd/timers \\) -prune -o \\( -type f -o -type l \\) "
    "-print | grep -vE '^/var/lib/dpkg/|^/etc/ld.so.cache|^/var/lib/systemd/random-seed' | sort"
)


def newer(deb, where):
    """The same package, one version on."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["dpkg-deb", "-R", deb, scratch + "/x"], check=True)
        control = scratch + "/x/DEBIAN/control"
        with open(control, encoding="utf-8") as f:
            text = re.sub(r"^(Version: .*)$", r"\1+next", f.read(), flags=re.M)
        with open(control, "w", encoding="utf-8") as f:
            f.write(text)
        out = os.path.join(where, os.path.basename(deb).replace("_", "+next_", 1))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-b", scratch + "/x", out], check=True, stdout=subprocess.DEVNULL
        )
    return out


def package_is_sound(image):
    changes = [n for n in os.listdir(image.path("packages")) if n.endswith(".changes")]
    if not shutil.which("lintian"):
        tap.skip("lintian finds nothing wrong with the packages", "no lintian here")
        return
    done = subprocess.run(
        ["lintian", "--allow-root", "-L", ">=warning", image.path("packages/" + changes[0])],
        capture_output=True,
        text=True,
        check=False,
    )
    tap.ok(
        "lintian finds nothing wrong with the packages",
        not done.stdout and not done.returncode,
        done.stdout + done.stderr,
    )


# of systemd-analyze security; docs/security.md has the table
MOST_EXPOSED = {"gputune": 2.1, "gputune-recover": 2.2, "gputune-verify": 1.6, "gputune-devices": 2.6, "gputune@job": 2.3}


def package_install(vm, debs, before):
    install(vm, debs)
    tap.same("installing changes no setting", before, kernel(vm))
    state = vm.sh(
        "for u in gputune.service gputune-verify.timer gputune-recover.service; do echo $u "
        "$(systemctl is-enabled $u) $(systemctl is-active $u); done"
    ).out
    tap.ok(
        "only what puts right an interrupted change is enabled",
        state
        == "gputune.service disabled inactive\ngputune-verify.timer disabled inactive\ngputune-recover.service enabled inactive\n",
        state,
    )
    out = vm.sh(
        "systemd-analyze verify --man=no gputune.service gputune-verify.service gputune-verify.timer gputune-recover.service "
        "gputune-devices.service gputune@job.service"
    )
    tap.ok("systemd finds nothing wrong with the units", out.status == 0 and not out.out.strip(), out.out)
    for unit, most in MOST_EXPOSED.items():
        out = vm.sh(f"systemd-analyze security --no-pager {unit}.service | tail -1").out
        score = re.search(r"([0-9.]+) \w+", out)
        tap.ok(f"{unit}.service is exposed by at most {most}", score and float(score.group(1)) <= most, out)


def package_service(vm, before):
    done = vm.sh("systemctl enable --now gputune && gputune status && gputune verify")
    applied = kernel(vm)
    tap.ok(
        "gputune.service applies now",
        done.status == 0 and applied != before,
        done.out + vm.sh("journalctl -u gputune").out,
    )
    tap.ok("and its verification is due from now on", vm.sh("systemctl is-active gputune-verify.timer").out.strip() == "active")
    held = vm.json("gputune status --json")["transactions"]
    vm.reboot()
    again = vm.json("gputune status --json")["transactions"]
    tap.same("and at the next boot the same values", applied, kernel(vm))
    tap.ok("by a transaction of that boot", len(again) == 1 and again[0]["since"] != held[0]["since"], (held, again))
    order = vm.ok(
        "systemctl show -P ActiveEnterTimestampMonotonic systemd-sysctl systemd-udev-trigger; "
        "systemctl show -P ExecMainStartTimestampMonotonic gputune"
    ).split()
    tap.ok("after sysctl.d and udev", order[:2] and int(order[-1]) > max(map(int, order[:-1])), order)
    done = vm.sh("systemctl is-active gputune-verify.timer && systemctl start gputune-verify")
    tap.ok("verification is scheduled and content", done.status == 0, done.out)
    vm.ok("sysctl -qw vm.max_map_count=70000")
    done = vm.sh(
        "systemctl start gputune-verify; systemctl show -P ExecMainStatus gputune-verify; journalctl -b -u gputune-verify -o cat"
    )
    tap.ok(
        "drift fails its service, with the knob named in the journal",
        re.search(r"^4$", done.out, re.M) and "vm.max_map_count" in done.out,
        done.out,
    )
    done = vm.sh("journalctl -b -p warning -t gputune -o cat")
    tap.ok("and that as a warning", "vm.max_map_count is 70000, not " in done.out, done.out)
    vm.ok(
        'sysctl -qw vm.max_map_count=$(gputune status --json | python3 -c \'import json, sys; print([v["new"] for v in '
        'json.load(sys.stdin)["values"] if v["knob"] == "vm.max_map_count"][0])\')'
    )
    vm.ok("gputune apply -q --optional --persist --only vm.")
    held = picture(vm)
    vm.ok("systemctl restart gputune && systemctl stop gputune")
    tap.same("restarting and stopping it take nothing back, nor what was applied by hand", held, picture(vm))
    vm.ok("gputune revert")
    tap.same("gputune revert puts everything back", before, kernel(vm))
    vm.ok("systemctl disable gputune; systemctl reset-failed; systemctl is-enabled gputune-verify.timer || true")


def part_package(image):
    """install, units, upgrade, remove, purge"""
    debs = image.packages()
    package_is_sound(image)
    extra = tempfile.mkdtemp(prefix="gputune-next-")
    next_debs = [newer(d, extra) for d in debs]
    with Vm(image, shares={"packages": image.path("packages"), "next": extra}, append=LIGHT, slim=True) as vm:
        vm.share()
        vm.ok("ldconfig")
        tree, before = vm.ok(TREE), kernel(vm)
        package_install(vm, debs, before)
        package_service(vm, before)
        vm.share()
        vm.ok("mkdir -p /etc/gputune/jobs && echo COMMAND=/bin/true >/etc/gputune/jobs/probe.conf")
        vm.ok("gputune apply --persist --optional")
        applied, held = picture(vm), vm.ok("cat /var/lib/gputune/journal")
        vm.ok("dpkg -i " + " ".join(f"/mnt/next/{os.path.basename(d)}" for d in next_debs))
        tap.same("an upgrade leaves what is applied", applied, picture(vm))
        tap.ok(
            "and the journal as it is",
            held == vm.ok("cat /var/lib/gputune/journal") and vm.sh("gputune verify").status == 0,
        )
        vm.ok("dpkg --remove gpubench gputune gpuprobe")
        tap.same("removing puts everything back", before, kernel(vm))
        # as where going back had failed, with what a write that was cut short leaves beside it
        vm.ok("cd /etc/sysctl.d && echo vm.swappiness=11 >90-gputune.conf && cp 90-gputune.conf .90-gputune.conf.gputune-new")
        vm.ok("dpkg --purge gpubench gputune gpuprobe; ldconfig; systemctl daemon-reload")
        tap.same("purging leaves nothing", tree, vm.ok(TREE))
        vm.reboot()
        tap.same("nor does the next boot know of it", before, kernel(vm))
        failed = vm.ok("systemctl --failed --no-legend --plain")
        tap.ok("no unit has failed", not failed.strip(), failed)
    shutil.rmtree(extra)


# ---- reboot ------------------------------------------------------------------------------------------------------------

ADMIN = {
    "/etc/sysctl.conf": "vm.dirty_ratio = 33\n",
    "/etc/sysctl.d/50-site.conf": "vm.max_map_count = 99999\n-vm.swappiness\n",
    "/usr/lib/sysctl.d/95-vendor.conf": "vm.dirty_background_ratio = 7\nnet.core.r?em_max = 300000\n",
    "/etc/sysctl.d/96-masked.conf": None,
    "/etc/sysctl.d/97-other-form.conf": "vm.dirty_background_bytes = 500000000\n",
    "/usr/lib/sysctl.d/96-masked.conf": "vm.overcommit_memory = 1\n",
}


def write_admin(vm):
    vm.ok("[ ! -e /etc/sysctl.conf ] || mv /etc/sysctl.conf /var/tmp/sysctl.conf")
    for path, text in ADMIN.items():
        vm.ok(
            f"mkdir -p {os.path.dirname(path)}; "
            + (f"ln -sf /dev/null {path}" if text is None else f"printf '%s' '{text}' >{path}")
        )
    vm.ok("[ -e /etc/sysctl.d/99-sysctl.conf ] || ln -s ../sysctl.conf /etc/sysctl.d/99-sysctl.conf")


def now(vm, items):
    """What the kernel says of each knob of a plan: {label: value}."""
    out = {}
    for item in items:
        text = vm.sh(f"cat {item['path']}").out.strip()
        chosen = re.search(r"\[(.*?)\]", text)
        out[item["path"]] = " ".join((chosen.group(1) if chosen else text).split())
    return out


def part_reboot(image):
    """apply, verify, reboot, verify; every prediction against what really is after the reboot"""
    with Vm(image, installed(image), append=LIGHT, slim=True) as vm:
        before = picture(vm)
        write_admin(vm)
        vm.ok("systemctl restart systemd-sysctl")
        items = [i for i in vm.json("gputune plan --optional --json")["items"] if i["at_boot"] and i["current"] is not None]
        vm.ok("gputune apply --optional")
        vm.reboot()
        have = now(vm, items)
        # what no file sets and none may set is the kernel's own again, as it was before
        wrong = [
            f"{i['path']}: predicted {i['at_boot']}, was {i['current']}, is {have[i['path']]}"
            for i in items
            if have[i["path"]] != (i["at_boot"]["value"] or (have[i["path"]] if i["at_boot"]["may"] else i["current"]))
        ]
        tap.ok(
            f"the values after a reboot are those that the plan predicted ({len(items)} knobs)",
            items and not wrong,
            wrong,
        )
        tap.ok(
            "nothing of it is held after the reboot",
            vm.sh("gputune verify").status == 0 and not vm.json("gputune status --json")["transactions"],
            vm.sh("gputune status").out,
        )
        vm.ok("gputune apply --optional --persist --profile huge-pages")
        done = vm.sh("gputune verify")
        tap.ok(
            "where an admin's later file wins, verify says so, with file and line, before the reboot",
            done.status == 4 and "sysctl.conf:1" in done.out,
            done.out,
        )
        report = vm.json("gputune verify --json")["values"]
        vm.reboot()
        wrong = []
        for v in report:
            if not v.get("knob"):
                continue
            is_now = now(vm, [v])[v["path"]]
            said = (v.get("at_boot") or {}).get("value") if v.get("at_boot") else v["new"]
            if said is not None and said != is_now:
                wrong.append(f"{v['path']}: predicted {said}, is {is_now}")
        tap.ok(f"and it is so after the reboot ({len(report)} values)", report and not wrong, wrong)
        for path in ADMIN:
            vm.ok(f"rm -f {path}")
        vm.ok("[ ! -e /var/tmp/sysctl.conf ] || mv /var/tmp/sysctl.conf /etc/sysctl.conf")
        vm.reboot()
        done = vm.sh("gputune verify")
        tap.ok("without the admin's files everything persisted is so after a reboot", done.status == 0, done.out)
        done = vm.sh("gputune revert")
        tap.ok(
            "reverting in a later boot says that values stay until the next one",
            done.status == 5,
            (done.status, done.out),
        )
        tap.ok("verify says it too", vm.sh("gputune verify").status == 5)
        vm.reboot()
        tap.same("after that everything is as before", before, picture(vm))


# ---- rivals ------------------------------------------------------------------------------------------------------------

# One rival writes all the time, another waits for our value and writes at once, into the moment before it is read back.
RACES = (
    """i=0; while [ ! -e /tmp/stop ]; do i=$((i + 1)); echo $((70000 + i % 100)) >/proc/sys/vm/max_map_count; done""",
    """while [ ! -e /tmp/stop ]; do read v </proc/sys/vm/max_map_count; [ $v = 65530 ] || echo 77777 >/proc/sys/vm/max_map_count; done""",
)


def part_rivals(image):
    """someone else changes a knob before, during and after; tuned and irqbalance beside us"""
    with Vm(image, installed(image), append=LIGHT, slim=True) as vm:
        before = picture(vm)
        vm.ok("gputune plan -o /tmp/plan.json && sysctl -qw vm.dirty_ratio=17")
        done = vm.sh("gputune apply /tmp/plan.json")
        tap.ok(
            "a saved plan is refused when a knob has moved, and the knob is named",
            done.status == 3 and "vm.dirty_ratio" in done.out,
            done.out,
        )
        vm.ok("sysctl -qw vm.dirty_ratio=20")
        tap.same("nothing was changed", before, picture(vm))
        vm.ok("gputune apply --persist && sysctl -qw vm.max_map_count=77777")
        done = vm.sh("gputune verify")
        tap.ok("a rival's change afterwards is drift", done.status == 4 and "77777" in done.out, done.out)
        done = vm.sh("gputune revert")
        tap.ok(
            "and is left alone when we go back",
            done.status == 4 and vm.ok("sysctl -n vm.max_map_count").strip() == "77777",
            done.out,
        )
        vm.ok("sysctl -qw vm.max_map_count=65530")
        tap.same("all else is as before", before, picture(vm))
        race(vm, before)
        beside(vm, before)


def race(vm, before):
    """We win or lose each time, and are whole each time."""
    statuses, bad = [], []
    for n in range(16):
        rival = vm.begin(RACES[n % 4 > 0])
        status = vm.sh("gputune apply --only vm.").status
        vm.ok("touch /tmp/stop")
        vm.end(rival)
        statuses.append(status)
        if status not in (0, 1, 3):
            bad.append(f"apply ended with {status}")
        undone = vm.sh("gputune revert")
        if undone.status not in (0, 4):
            bad.append(undone.out)
        vm.ok("rm /tmp/stop; sysctl -qw vm.max_map_count=65530")
        if picture(vm) != before:
            bad.append("not as before")
    tap.ok(f"a rival in the middle of apply: rolled back, refused or applied, never half ({statuses})", not bad, bad)


SPEED = "/sys/class/net/eth0/speed"


def beside_irqbalance(vm):
    """No card of QEMU's has both 25 Gbit/s and interrupts that can be moved: one is made to say so."""
    vm.ok(f"modprobe e1000e && ip link set eth0 up && echo 100000 >/tmp/speed && mount --bind /tmp/speed {SPEED}")
    # the kernel begins with its node by itself
    vm.ok("for i in /sys/class/net/eth0/device/msi_irqs/*; do echo 0-1 >/proc/irq/${i##*/}/smp_affinity_list; done")
    near = vm.ok("cat /sys/devices/system/node/node1/cpulist").strip()
    paths = [v["path"] for v in vm.json("gputune apply --only irq.affinity --json")["values"]]
    where = [vm.ok(f"cat {p}").strip() for p in paths]
    tap.ok("a fast port's interrupts go to its node, and stay", paths and {*where} == {near}, (paths, where, near))
    tap.ok("with nobody beside us that is no drift", vm.sh("gputune verify").status == 0)
    vm.ok(f"systemctl start irqbalance && sleep 12 && systemctl is-active irqbalance && echo 0 >{paths[0]}")  # as it does under load
    done = vm.sh("gputune verify --json")
    named = "irqbalance (running) sets it too" in done.out
    tap.ok("one that has been moved beside irqbalance is drift, and irqbalance is named", done.status == 4 and named, done.out)
    tap.ok("it is left where it was put", vm.sh("gputune revert").status == 4 and vm.ok(f"cat {paths[0]}").strip() == "0")
    items = vm.json("gputune plan --optional --only irq.affinity --json")["items"]
    left = [i for i in items if i["status"] == "skipped" and "irqbalance (running)" in i["reason"]]
    tap.ok("a plan leaves interrupts to irqbalance while it runs", len(left) == len(items) > 0, items)
    done = vm.sh("gputune apply && sleep 12 && gputune verify && gputune revert")
    tap.ok("and all else holds beside it", done.status == 0, done.out)
    vm.ok(f"systemctl stop irqbalance && umount {SPEED} && rm /tmp/speed && ip link set eth0 down && modprobe -r e1000e")


def beside(vm, before):
    beside_irqbalance(vm)
    vm.ok("systemctl start tuned && tuned-adm profile throughput-performance")
    theirs = kernel(vm)
    plan = vm.json("gputune plan --json")
    named = [i["knob"] for i in plan["items"] if "tuned" in json.dumps([i.get("conflict"), i.get("reason")])]
    tap.ok("a plan names the knobs that tuned holds", named, plan["items"][:2])
    vm.ok("gputune apply")
    tap.ok("what is applied beside tuned holds", vm.sh("gputune verify").status == 0, vm.sh("gputune verify").out)
    vm.sh("gputune revert")
    tap.same("and tuned's values are back after a revert", theirs, kernel(vm))
    vm.ok("tuned-adm off; systemctl stop tuned; rm -rf /etc/tuned/active_profile /etc/tuned/profile_mode")
    vm.reboot()
    tap.same("both gone, everything is as before", kernel_of(before), kernel(vm))


def kernel_of(text):
    return text.split("----\n")[0]


# ---- power -------------------------------------------------------------------------------------------------------------

APPLY = "gputune apply --persist --optional --profile huge-pages"


# Units and drivers that have no part in it; booting is most of the time.
LEAN = (
    "systemd.unit=basic.target systemd.wants=qemu-guest-agent.service "
    + " ".join(
        f"systemd.mask={u}"
        for u in (
            "modprobe@drm.service modprobe@fuse.service modprobe@loop.service modprobe@dm_mod.service modprobe@configfs.service "
            "modprobe@efi_pstore.service sys-kernel-debug.mount sys-kernel-tracing.mount systemd-binfmt.service "
            "systemd-modules-load.service"
        ).split()
    )
    + " modprobe.blacklist=drm,psmouse,i2c_i801,lpc_ich,iTCO_wdt,button,loop,dm_mod,fuse,configfs,efi_pstore,e1000e,virtio_net,"
    "aesni_intel,ghash_clmulni_intel,crct10dif_pclmul,crc32_pclmul,evdev,serio_raw,pcspkr,ahci,sg,sr_mod,kvm,kvm_amd,kvm_intel,"
    "powernow_k8,acpi_cpufreq,rapl,edac_mce_amd,ccp,qemu_fw_cfg,sha512_ssse3,cryptd"
)
NO_RECOVER = LEAN + " systemd.mask=gputune-recover.service"
LIGHT = LEAN.replace("systemd.unit=basic.target", "systemd.unit=multi-user.target")


def steadily(run):
    """run(), begun afresh where QEMU itself crashed (its log of writes does that, rarely)."""
    for left in (2, 1, 0):
        try:
            return run()
        except machine.Crash as why:
            if not left:
                raise
            tap.say(f"{why}; begun afresh")
    return None


def logged(image, disk, script, append=LEAN):
    """Run a script in a machine whose disk's writes are kept: log, first and last entry of it, status and output."""
    log = image.path("writes.log")

    def run():
        with Vm(image, disk, log=log, append=append, slim=True) as vm:
            vm.ok("sync; sleep 1; sync")
            first = len(powercut.entries(log))
            done = vm.sh(script)
            return first, len(powercut.entries(log)), done

    first, last, done = steadily(run)
    writes = powercut.entries(log)
    os.unlink(log)
    return writes, first, last, done


def look(image, disk):
    """Boot it: the picture, and what gputune said on the way. What stays until the next boot is over after that."""

    def run():
        with Vm(image, disk, append=LEAN, slim=True) as vm:
            said = vm.sh("journalctl -b -u gputune-recover -o cat; gputune verify; echo $?").out
            status = vm.sh("gputune status --json")
            if status.status == 5:
                said += "then the next boot\n"
                vm.reboot()
                status = vm.sh("gputune status --json")
            result = json.loads(status.out)["result"] if status.status in (0, 5) else status.out
            return f"{picture(vm)}----\ngputune: {result}\n", said

    return steadily(run)


class Cuts:
    """Cut the power in the middle of something, boot, and compare with the two pictures that are right."""

    def __init__(self, image, disk, pictures):
        self.image, self.disk, self.pictures = image, disk, pictures
        self.rng = random.Random(SEED)

    def run(self, what, base, log, first, last, allowed):
        n = CUTS // len(CUT_IN) + (what == CUT_IN[-1]) * (CUTS % len(CUT_IN)) if what in CUT_IN else 0
        places = sorted(self.rng.sample(range(first + 1, last + 1), min(n, last - first)))
        while len(places) < n:
            places.append(self.rng.randint(first + 1, last))
        seen = {}
        for at in places:
            with powercut.patched(self.disk, base + powercut.cut(log, at, self.rng)):
                text, said = look(self.image, self.disk)
            now = next((k for k in allowed if self.pictures[k] == text), "neither before nor planned")
            now += ", after one more boot" if "then the next boot" in said else ""
            seen[now] = seen.get(now, 0) + 1
            if not tap.ok(
                f"power cut in {what} after write {at - first} of {last - first}: {now}",
                not now.startswith("neither"),
                said,
            ):
                for name in allowed:
                    tap.same(f"against {name}", self.pictures[name], text)
        tap.say(f"{what}: {seen}")


def part_power(image):
    """the power goes at random moments of apply, revert and recover"""
    clean = installed(image)
    disk = image.path("power.raw")
    shutil.rmtree(disk, ignore_errors=True)
    machine.call("cp", "--sparse=always", clean, disk)
    pictures = {"as before": look(image, disk)[0]}
    log, first, last, done = logged(image, disk, APPLY)
    tap.ok("apply writes to the disk", done.status == 0 and last - first > 10, done.out)
    applied = powercut.whole(log[:last])
    with powercut.patched(disk, applied):
        pictures["as planned"] = look(image, disk)[0]
    tap.ok(
        "what was applied is there when the power goes right after it", pictures["as planned"] != pictures["as before"]
    )
    cuts = Cuts(image, disk, pictures)
    cuts.run("apply", [], log, first, last, ["as before", "as planned"])
    interrupted = powercut.whole(
        log[: next(i for i in range(first, last) if log[i] and b'"rec":"commit"' in (log[i].data or b""))]
    )
    with powercut.patched(disk, applied):
        undo, first, last, done = logged(image, disk, "gputune revert")
        tap.ok("revert writes to the disk", done.status == 5 and last - first > 10, (done.status, done.out))
    cuts.run("revert", applied, undo, first, last, ["as planned", "as before"])
    with powercut.patched(disk, interrupted):
        # not by the unit, so that the writes of recover itself are known
        mend, first, last, done = logged(image, disk, "gputune status; echo $?; gputune recover", append=NO_RECOVER)
        tap.ok(
            "an apply without its end is found interrupted, and recover writes to the disk",
            "\n6\n" in done.out and done.status in (0, 5) and last - first > 5,
            (done.status, done.out),
        )
    cuts.run("recover", interrupted, mend, first, last, ["as before"])
    os.unlink(disk)


# ---- topology ----------------------------------------------------------------------------------------------------------


def part_topology(image):
    """gpuprobe and the launcher against a real kernel with two nodes"""
    with Vm(image, installed(image)) as vm:
        topo = vm.json("gpuprobe topo --json")
        nodes = {n["id"]: n for n in topo["nodes"]}
        truth = {int(n): vm.ok(f"cat /sys/devices/system/node/node{n}/cpulist").strip() for n in (0, 1)}
        tap.ok(
            "the nodes and their CPUs are the kernel's",
            {k: v["cpus"] for k, v in nodes.items()} == truth,
            topo["nodes"],
        )
        where = {d["pci"]: d.get("numa_node") for d in topo["devices"]}
        true = dict(
            line.split()
            for line in vm.ok(
                "for d in /sys/bus/pci/devices/*; do echo ${d##*/} $(cat $d/numa_node); done"
            ).splitlines()
        )
        wrong = [f"{a}: {n}, the kernel says {true.get(a)}" for a, n in where.items() if str(n) != true.get(a)]
        tap.ok(
            "disks and ports lie at the node that the kernel says: node 1",
            where and not wrong and set(where.values()) == {1},
            (wrong, where),
        )
        for node, cpus in truth.items():
            done = vm.sh(
                f"taskset -c {cpus} gputune run -- python3 -c 'import os; print(sorted(os.sched_getaffinity(0)))'; "
                f"taskset -c {cpus} gputune run -- numactl --show"
            )
            tap.ok(
                f"a program that may use node {node} only is given its memory first",
                f"preferred node: {node}" in done.out
                or f"preferred: {node}" in done.out
                or re.search(rf"policy: preferred[\s\S]*{node}", done.out),
                done.out,
            )
        said, known = vm.json("gpuprobe --json")["host"]["virtual"], vm.sh("systemd-detect-virt").out.strip()
        tap.ok("the hypervisor is the one that systemd knows", said.split()[0] == known, (said, known))
        placement(vm)
        matrix(vm)
        ranks(vm)
        launched(vm)


def placement(vm):
    """A training process that may use one node has its pages there; one that may use both has them on both."""
    train = "gpubench train mlp --batch 32 --steps 3 --warmup 1 --json 2>/dev/null"
    for node, cpus in ((0, "0-1"), (1, "2-3")):
        doc = vm.json(f"taskset -c {cpus} {train}")
        tap.ok(
            f"the tensors of a rank on node {node} lie there",
            doc["placement"] == f"node {node}"
            and list(doc["pages_on_node"]) == [str(node)]
            and sum(doc["pages_on_node"].values()) > 500,
            doc["pages_on_node"],
        )
    doc = vm.json(f"systemd-run -q --wait --pipe -p AllowedCPUs=2-3 -p AllowedMemoryNodes=0 {train}")
    tap.ok(
        "where the CPUs of node 1 may have memory of node 0 only, the report says node 0: it is asked, not assumed",
        list(doc["pages_on_node"]) == ["0"] and list(doc["threads_on_node"]) == ["1"],
        (doc["placement"], doc["pages_on_node"], doc["threads_on_node"]),
    )
    doc = vm.json(train)
    pages = doc["pages_on_node"]
    tap.ok(
        "those of a rank on both nodes are shared out",
        set(pages) == {"0", "1"} and min(pages.values()) * 3 > max(pages.values()),
        (doc["placement"], pages),
    )


def matrix(vm):
    """The matrix by node pair: each way once, and only those that a cpuset allows. (That memory elsewhere gives no number is
    a unit test: tests/unit/bench_node.c.)"""
    pairs = [f".cpu{c}-mem{m}" for c in (0, 1) for m in (0, 1)]
    for workload in ("mem.matrix", "mem.latency"):
        doc = vm.json(f"gpubench launch {workload} --json")
        ids = [m["id"].removeprefix(workload) for m in doc["metrics"]]
        tap.ok(
            f"{workload} measures each pair of nodes, and its result is right",
            [i for i in ids if i in pairs] == pairs
            and not doc["verify"].get("wrong")
            and all(min(m["samples"]) > 0 for m in doc["metrics"]),
            (ids, doc.get("verify"), doc.get("failure")),
        )
    doc = vm.json(
        "systemd-run -q --wait --pipe -p AllowedCPUs=2-3 -p AllowedMemoryNodes=0 gpubench launch mem.matrix --json"
    )
    ids = [m["id"] for m in doc["metrics"]]
    tap.ok("a cpuset leaves the one way that it allows", ids == ["mem.matrix.cpu1-mem0"], ids)


def ranks(vm):
    """Each rank's threads and pages are on its node, and in a cpuset on the node that the set has."""
    train = "gpubench train mlp --batch 32 --steps 3 --warmup 1 --ranks 2 --json 2>/dev/null"
    doc = vm.json(train)
    tap.ok(
        "two ranks: one per node, its pages and threads there",
        doc["ddp"]["nodes"] == 2
        and doc["ddp"]["home_node"] == [0, 1]
        and min(doc["ddp"]["pages_at_home"]) > 0.99
        and list(doc["threads_on_node"]) == ["0"],
        (doc["ddp"], doc["threads_on_node"]),
    )
    for how in (
        "taskset -c 2-3 ",
        "systemd-run -q --wait --pipe -p AllowedCPUs=2-3 -p AllowedMemoryNodes=1 ",
    ):
        doc = vm.json(f"{how}{train}")
        tap.ok(
            f"ranks that may use node 1 only ({how.split()[0]}): all of both is there",
            doc["ddp"]["home_node"] == [1, 1]
            and doc["ddp"]["pages_at_home"] == [1, 1]
            and list(doc["threads_on_node"]) == ["1"]
            and all(list(on) == ["1"] for on in doc["pages_by_kind"].values() if on),
            (doc["ddp"], doc["threads_on_node"], doc["pages_by_kind"]),
        )


# What a rank is, from the inside: the CPUs that it may use, and the node of each page of 64 MiB that it has touched.
RANK = """
import mmap, os
block = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
block.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, len(block), 4096):
    block[at] = 1
pages = {}
for line in open("/proc/self/numa_maps"):
    said = dict(w.split("=") for w in line.split() if "=" in w)
    if int(said.get("anon", 0)) >= 16384:  # it may have grown together with its neighbours
        pages = {k[1:]: int(v) for k, v in said.items() if k[0] == "N"}
print("rank", os.environ["LOCAL_RANK"], sorted(os.sched_getaffinity(0)), pages, flush=True)
"""


def launched(vm):
    """gputune run --ranks: each rank's CPUs and pages lie at one node, and no two ranks share a CPU."""
    vm.ok(f"cat >/tmp/rank.py <<'EOF'\n{RANK}\nEOF")
    node = {0: [0, 1], 1: [2, 3]}
    for prefix, count, where in (
        ("", 2, {0: ([0, 1], 0), 1: ([2, 3], 1)}),
        ("", 4, {k: ([k], k // 2) for k in range(4)}),
        ("taskset -c 2,3 ", 2, {0: ([2], 1), 1: ([3], 1)}),
        ("systemd-run -q --pipe --wait -p AllowedCPUs=2-3 ", 2, {0: ([2], 1), 1: ([3], 1)}),
    ):
        done = vm.sh(f"{prefix}/usr/sbin/gputune run --ranks {count} -- python3 /tmp/rank.py")
        seen = {}
        for rank, cpus, pages in re.findall(r"^rank (\d+) (\[.*?\]) (\{.*?\})$", done.out, re.M):
            seen[int(rank)] = (json.loads(cpus), json.loads(pages.replace("'", '"')))
        right = set(seen) == set(where) and all(
            seen[r][0] == cpus
            and set(cpus) <= set(node[n])
            and seen[r][1].get(str(n), 0) > 0.99 * sum(seen[r][1].values()) > 0
            for r, (cpus, n) in where.items()
        )
        tap.ok(
            f"{count} ranks{prefix and ', on node 1 only (' + prefix.split()[0] + '),'} have CPUs of their own and their pages "
            "beside them",
            right,
            (seen, done.out),
        )


def part_devices(image):
    """a disk's queue comes back with its scheduler; what rules of udev are foretold to do is what udevd does"""
    devices.part_devices(tap, image, installed(image), picture, LIGHT)


# ---- sessions of gpubench ----------------------------------------------------------------------------------------------


def part_sessions(image):
    """gpubench ab and prove, killed and cut off in the tuned arm"""
    sessions.part_sessions(tap, image, installed(image), picture, LIGHT)


def part_jobs(image):
    """gputune@NAME: a job's user and rights, and a job that tries to have its library loaded by root"""
    jobs.part_jobs(tap, image, installed(image), LIGHT)


def part_boots(image):
    """gpubench ab --reboot: each arm a boot; one that does not come back, a pulled plug, the end of a session, the packages gone"""
    sessions.part_boots(tap, image, installed(image), picture, f"panic=1 {LIGHT}")


def part_proved(image):
    """gpubench prove --reboot: an argument of the kernel that helps, from the first boot to the receipt"""
    sessions.part_proved(tap, image, installed(image), picture, f"panic=1 {LIGHT}")


PARTS = {
    "package": part_package,
    "reboot": part_reboot,
    "rivals": part_rivals,
    "devices": part_devices,
    "jobs": part_jobs,
    "sessions": part_sessions,
    "boots": part_boots,
    "proved": part_proved,
    "topology": part_topology,
    "power": part_power,
}


def main():
    names = sys.argv[1:] or list(PARTS)
    unknown = [n for n in names if n not in PARTS]
    if unknown:
        print(f"check.py: there is no part '{unknown[0]}'; parts: {' '.join(PARTS)}", file=sys.stderr)
        return 64
    why = machine.missing()
    if why:
        tap.skip("gputune on a real machine", why)
        print(f"1..1\n0 passed, 0 failed, 1 skipped ({why})")
        return 77
    image = Image(os.environ.get("VM_DIR", "vm"), tap.say)
    for name in names:
        tap.say(f"{name}: {PARTS[name].__doc__}")
        try:
            PARTS[name](image)
        except machine.Failure as why:
            tap.ok(f"{name}: the machine does what it is told", False, why)
        except (OSError, KeyError, ValueError, TypeError):
            tap.ok(f"{name} runs to its end", False, traceback.format_exc())
    return tap.end()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that mounts and machines end in order
    sys.exit(main())
