#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check.py [PART…]: tests the promises of gputune on a real Debian under systemd. `make check-vm` runs all parts.

Prints TAP. CUTS=N sets the number of power cuts (default 36), SEED=N their random seed. CUT_IN="revert recover" omits the power
cuts in apply.
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
# All state that gputune may change: kernel values, /etc and the state directory.
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
    """Returns the same package with a higher version."""
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


# Limits for systemd-analyze security. docs/security.md has the table.
MOST_EXPOSED = {"gputune": 2.1, "gputune-recover": 2.2, "gputune-verify": 1.6, "gputune-devices": 2.6, "gputune@job": 2.3}


def package_install(vm, debs, before):
    install(vm, debs)
    tap.same("installing changes no setting", before, kernel(vm))
    state = vm.sh(
        "for u in gputune.service gputune-verify.timer gputune-recover.service; do echo $u "
        "$(systemctl is-enabled $u) $(systemctl is-active $u); done"
    ).out
    tap.ok(
        "only the recovery of interrupted changes is enabled",
        state
        == "gputune.service disabled inactive\ngputune-verify.timer disabled inactive\ngputune-recover.service enabled inactive\n",
        state,
    )
    out = vm.sh(
        "systemd-analyze verify --man=no gputune.service gputune-verify.service gputune-verify.timer gputune-recover.service "
        "gputune-devices.service gputune@job.service"
    )
    tap.ok("systemd-analyze verify finds no error in the units", out.status == 0 and not out.out.strip(), out.out)
    for unit, most in MOST_EXPOSED.items():
        out = vm.sh(f"systemd-analyze security --no-pager {unit}.service | tail -1").out
        score = re.search(r"([0-9.]+) \w+", out)
        tap.ok(f"{unit}.service has an exposure level of at most {most}", score and float(score.group(1)) <= most, out)


def package_service(vm, before):
    done = vm.sh("systemctl enable --now gputune && gputune status && gputune verify")
    applied = kernel(vm)
    tap.ok(
        "gputune.service applies now",
        done.status == 0 and applied != before,
        done.out + vm.sh("journalctl -u gputune").out,
    )
    tap.ok(
        "enabling gputune.service schedules its verification",
        vm.sh("systemctl is-active gputune-verify.timer").out.strip() == "active",
    )
    held = vm.json("gputune status --json")["transactions"]
    vm.reboot()
    again = vm.json("gputune status --json")["transactions"]
    tap.same("the next boot has the same values", applied, kernel(vm))
    tap.ok("a transaction of that boot has set them", len(again) == 1 and again[0]["since"] != held[0]["since"], (held, again))
    order = vm.ok(
        "systemctl show -P ActiveEnterTimestampMonotonic systemd-sysctl systemd-udev-trigger; "
        "systemctl show -P ExecMainStartTimestampMonotonic gputune"
    ).split()
    tap.ok("gputune.service starts after sysctl.d and udev", order[:2] and int(order[-1]) > max(map(int, order[:-1])), order)
    done = vm.sh("systemctl is-active gputune-verify.timer && systemctl start gputune-verify")
    tap.ok("verification is scheduled and passes", done.status == 0, done.out)
    vm.ok("sysctl -qw vm.max_map_count=70000")
    done = vm.sh(
        "systemctl start gputune-verify; systemctl show -P ExecMainStatus gputune-verify; journalctl -b -u gputune-verify -o cat"
    )
    tap.ok(
        "drift fails the verify service, and the journal names the knob",
        re.search(r"^4$", done.out, re.M) and "vm.max_map_count" in done.out,
        done.out,
    )
    done = vm.sh("journalctl -b -p warning -t gputune -o cat")
    tap.ok("the journal entry is a warning", "vm.max_map_count is 70000, not " in done.out, done.out)
    vm.ok(
        'sysctl -qw vm.max_map_count=$(gputune status --json | python3 -c \'import json, sys; print([v["new"] for v in '
        'json.load(sys.stdin)["values"] if v["knob"] == "vm.max_map_count"][0])\')'
    )
    vm.ok("gputune apply -q --optional --persist --only vm.")
    held = picture(vm)
    vm.ok("systemctl restart gputune && systemctl stop gputune")
    tap.same("restarting and stopping the service revert nothing, not even manually applied knobs", held, picture(vm))
    vm.ok("gputune revert")
    tap.same("gputune revert restores everything", before, kernel(vm))
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
        tap.same("an upgrade keeps the applied values", applied, picture(vm))
        tap.ok(
            "an upgrade keeps the journal",
            held == vm.ok("cat /var/lib/gputune/journal") and vm.sh("gputune verify").status == 0,
        )
        vm.ok("dpkg --remove gpubench gputune gpuprobe")
        tap.same("removing the packages restores everything", before, kernel(vm))
        # The state after a failed revert, with the temporary file of an interrupted write.
        vm.ok("cd /etc/sysctl.d && echo vm.swappiness=11 >90-gputune.conf && cp 90-gputune.conf .90-gputune.conf.gputune-new")
        vm.ok("dpkg --purge gpubench gputune gpuprobe libgputune-runtime0; ldconfig; systemctl daemon-reload")
        tap.same("purging leaves nothing", tree, vm.ok(TREE))
        vm.reboot()
        tap.same("the boot after a purge has the values from before", before, kernel(vm))
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
    """Returns the kernel's value of each knob of a plan: {label: value}."""
    out = {}
    for item in items:
        text = vm.sh(f"cat {item['path']}").out.strip()
        chosen = re.search(r"\[(.*?)\]", text)
        out[item["path"]] = " ".join((chosen.group(1) if chosen else text).split())
    return out


def part_reboot(image):
    """apply, verify, reboot, verify; compares every prediction with the value after the reboot"""
    with Vm(image, installed(image), append=LIGHT, slim=True) as vm:
        before = picture(vm)
        write_admin(vm)
        vm.ok("systemctl restart systemd-sysctl")
        items = [i for i in vm.json("gputune plan --optional --json")["items"] if i["at_boot"] and i["current"] is not None]
        vm.ok("gputune apply --optional")
        vm.reboot()
        have = now(vm, items)
        # A value that no file sets or may set is the kernel's default again, as before.
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
            "gputune holds no knob after the reboot",
            vm.sh("gputune verify").status == 0 and not vm.json("gputune status --json")["transactions"],
            vm.sh("gputune status").out,
        )
        vm.ok("gputune apply --optional --persist --profile huge-pages")
        done = vm.sh("gputune verify")
        tap.ok(
            "verify reports a later file of the administrator that overrides a value, with file and line",
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
        tap.ok(f"the reported files override the values after the reboot ({len(report)} values)", report and not wrong, wrong)
        for path in ADMIN:
            vm.ok(f"rm -f {path}")
        vm.ok("[ ! -e /var/tmp/sysctl.conf ] || mv /var/tmp/sysctl.conf /etc/sysctl.conf")
        vm.reboot()
        done = vm.sh("gputune verify")
        tap.ok("without the administrator's files all persisted values are set after a reboot", done.status == 0, done.out)
        done = vm.sh("gputune revert")
        tap.ok(
            "revert in a later boot reports that values stay until the next boot",
            done.status == 5,
            (done.status, done.out),
        )
        tap.ok("verify reports it too", vm.sh("gputune verify").status == 5)
        vm.reboot()
        tap.same("after the next boot everything is as before", before, picture(vm))


# ---- rivals ------------------------------------------------------------------------------------------------------------

# One rival writes all the time. Another waits for gputune's value and overwrites it at once, before gputune reads it back.
RACES = (
    """i=0; while [ ! -e /tmp/stop ]; do i=$((i + 1)); echo $((70000 + i % 100)) >/proc/sys/vm/max_map_count; done""",
    """while [ ! -e /tmp/stop ]; do read v </proc/sys/vm/max_map_count; [ $v = 65530 ] || echo 77777 >/proc/sys/vm/max_map_count; done""",
)


def part_rivals(image):
    """another program changes a knob before, during and after apply; tuned and irqbalance run at the same time"""
    with Vm(image, installed(image), append=LIGHT, slim=True) as vm:
        before = picture(vm)
        vm.ok("gputune plan -o /tmp/plan.json && sysctl -qw vm.dirty_ratio=17")
        done = vm.sh("gputune apply /tmp/plan.json")
        tap.ok(
            "apply refuses a saved plan if a knob has changed since, and names the knob",
            done.status == 3 and "vm.dirty_ratio" in done.out,
            done.out,
        )
        vm.ok("sysctl -qw vm.dirty_ratio=20")
        tap.same("nothing was changed", before, picture(vm))
        vm.ok("gputune apply --persist && sysctl -qw vm.max_map_count=77777")
        done = vm.sh("gputune verify")
        tap.ok("a rival's later change is drift", done.status == 4 and "77777" in done.out, done.out)
        done = vm.sh("gputune revert")
        tap.ok(
            "revert does not touch the rival's value",
            done.status == 4 and vm.ok("sysctl -n vm.max_map_count").strip() == "77777",
            done.out,
        )
        vm.ok("sysctl -qw vm.max_map_count=65530")
        tap.same("all other values are as before", before, picture(vm))
        race(vm, before)
        beside(vm, before)


def race(vm, before):
    """gputune or the rival wins, and apply is never half done."""
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
    """No network card of QEMU has both 25 Gbit/s and movable interrupts. A bind mount fakes the speed of one."""
    vm.ok(f"modprobe e1000e && ip link set eth0 up && echo 100000 >/tmp/speed && mount --bind /tmp/speed {SPEED}")
    # The kernel itself starts with the port's node.
    vm.ok("for i in /sys/class/net/eth0/device/msi_irqs/*; do echo 0-1 >/proc/irq/${i##*/}/smp_affinity_list; done")
    near = vm.ok("cat /sys/devices/system/node/node1/cpulist").strip()
    paths = [v["path"] for v in vm.json("gputune apply --only irq.affinity --json")["values"]]
    where = [vm.ok(f"cat {p}").strip() for p in paths]
    tap.ok("the interrupts of a fast port move to its node", paths and {*where} == {near}, (paths, where, near))
    tap.ok("without irqbalance there is no drift", vm.sh("gputune verify").status == 0)
    # irqbalance does the same under load.
    vm.ok(f"systemctl start irqbalance && sleep 12 && systemctl is-active irqbalance && echo 0 >{paths[0]}")
    done = vm.sh("gputune verify --json")
    named = "irqbalance (running) sets it too" in done.out
    tap.ok(
        "an interrupt that moved while irqbalance runs is drift, and verify names irqbalance",
        done.status == 4 and named,
        done.out,
    )
    tap.ok(
        "revert does not touch the moved interrupt",
        vm.sh("gputune revert").status == 4 and vm.ok(f"cat {paths[0]}").strip() == "0",
    )
    items = vm.json("gputune plan --optional --only irq.affinity --json")["items"]
    left = [i for i in items if i["status"] == "skipped" and "irqbalance (running)" in i["reason"]]
    tap.ok("a plan omits interrupts while irqbalance runs", len(left) == len(items) > 0, items)
    done = vm.sh("gputune apply && sleep 12 && gputune verify && gputune revert")
    tap.ok("all other knobs stay set while irqbalance runs", done.status == 0, done.out)
    vm.ok(f"systemctl stop irqbalance && umount {SPEED} && rm /tmp/speed && ip link set eth0 down && modprobe -r e1000e")


def beside(vm, before):
    beside_irqbalance(vm)
    vm.ok("systemctl start tuned && tuned-adm profile throughput-performance")
    theirs = kernel(vm)
    plan = vm.json("gputune plan --json")
    named = [i["knob"] for i in plan["items"] if "tuned" in json.dumps([i.get("conflict"), i.get("reason")])]
    tap.ok("a plan names the knobs that tuned sets", named, plan["items"][:2])
    vm.ok("gputune apply")
    tap.ok("applied values stay set while tuned runs", vm.sh("gputune verify").status == 0, vm.sh("gputune verify").out)
    vm.sh("gputune revert")
    tap.same("revert restores the values of tuned", theirs, kernel(vm))
    vm.ok("tuned-adm off; systemctl stop tuned; rm -rf /etc/tuned/active_profile /etc/tuned/profile_mode")
    vm.reboot()
    tap.same("without tuned and gputune everything is as before", kernel_of(before), kernel(vm))


def kernel_of(text):
    return text.split("----\n")[0]


# ---- power -------------------------------------------------------------------------------------------------------------

APPLY = "gputune apply --persist --optional --profile huge-pages"


# Units and drivers that the tests do not need. Booting takes most of the time.
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
    """Calls run(), and again if QEMU itself crashed, which its log of writes rarely causes."""
    for left in (2, 1, 0):
        try:
            return run()
        except machine.Crash as why:
            if not left:
                raise
            tap.say(f"{why}; begun afresh")
    return None


def logged(image, disk, script, append=LEAN):
    """Runs a script in a machine whose disk writes are logged. Returns the log, its first and last entry, status and output."""
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
    """Boots the image. Returns the state and gputune's messages. Boots again if values stay until the next boot."""

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
    """Cuts the power during a command, boots, and compares the state with the two correct ones."""

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
    """power cuts at random moments of apply, revert and recover"""
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
        "applied values survive a power cut right after apply", pictures["as planned"] != pictures["as before"]
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
        # Not by the unit, so that the writes of recover itself are known.
        mend, first, last, done = logged(image, disk, "gputune status; echo $?; gputune recover", append=NO_RECOVER)
        tap.ok(
            "status reports an unfinished apply as interrupted, and recover writes to the disk",
            "\n6\n" in done.out and done.status in (0, 5) and last - first > 5,
            (done.status, done.out),
        )
    cuts.run("recover", interrupted, mend, first, last, ["as before"])
    os.unlink(disk)


# ---- topology ----------------------------------------------------------------------------------------------------------


def part_topology(image):
    """gpuprobe and the launcher on a real kernel with two nodes"""
    with Vm(image, installed(image)) as vm:
        topo = vm.json("gpuprobe topo --json")
        nodes = {n["id"]: n for n in topo["nodes"]}
        truth = {int(n): vm.ok(f"cat /sys/devices/system/node/node{n}/cpulist").strip() for n in (0, 1)}
        tap.ok(
            "gpuprobe reports the kernel's nodes and their CPUs",
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
        wrong = [f"{a}: {n}, the kernel has {true.get(a)}" for a, n in where.items() if str(n) != true.get(a)]
        tap.ok(
            "gpuprobe reports the kernel's node of disks and ports: node 1",
            where and not wrong and set(where.values()) == {1},
            (wrong, where),
        )
        for node, cpus in truth.items():
            done = vm.sh(
                f"taskset -c {cpus} gputune run -- python3 -c 'import os; print(sorted(os.sched_getaffinity(0)))'; "
                f"taskset -c {cpus} gputune run -- numactl --show"
            )
            tap.ok(
                f"a program that may use only node {node} prefers this node's memory",
                f"preferred node: {node}" in done.out
                or f"preferred: {node}" in done.out
                or re.search(rf"policy: preferred[\s\S]*{node}", done.out),
                done.out,
            )
        said, known = vm.json("gpuprobe --json")["host"]["virtual"], vm.sh("systemd-detect-virt").out.strip()
        tap.ok("gpuprobe and systemd report the same hypervisor", said.split()[0] == known, (said, known))
        placement(vm)
        matrix(vm)
        ranks(vm)
        launched(vm)


def placement(vm):
    """A training process limited to one node has its pages on this node. A process that may use both has them on both."""
    train = "gpubench train mlp --batch 32 --steps 3 --warmup 1 --json 2>/dev/null"
    for node, cpus in ((0, "0-1"), (1, "2-3")):
        doc = vm.json(f"taskset -c {cpus} {train}")
        tap.ok(
            f"the tensors of a rank on node {node} are on this node",
            doc["placement"] == f"node {node}"
            and list(doc["pages_on_node"]) == [str(node)]
            and sum(doc["pages_on_node"].values()) > 500,
            doc["pages_on_node"],
        )
    doc = vm.json(f"systemd-run -q --wait --pipe -p AllowedCPUs=2-3 -p AllowedMemoryNodes=0 {train}")
    tap.ok(
        "the report names the node of the pages, not of the CPUs (CPUs of node 1, memory of node 0)",
        list(doc["pages_on_node"]) == ["0"] and list(doc["threads_on_node"]) == ["1"],
        (doc["placement"], doc["pages_on_node"], doc["threads_on_node"]),
    )
    doc = vm.json(train)
    pages = doc["pages_on_node"]
    tap.ok(
        "the tensors of a rank on both nodes are on both nodes",
        set(pages) == {"0", "1"} and min(pages.values()) * 3 > max(pages.values()),
        (doc["placement"], pages),
    )


def matrix(vm):
    """The matrix by node pair: each direction once, and only pairs that a cpuset allows. (tests/unit/bench_node.c tests that memory
    on another node gives no number.)"""
    pairs = [f".cpu{c}-mem{m}" for c in (0, 1) for m in (0, 1)]
    for workload in ("mem.matrix", "mem.latency"):
        doc = vm.json(f"gpubench launch {workload} --json")
        ids = [m["id"].removeprefix(workload) for m in doc["metrics"]]
        tap.ok(
            f"{workload} measures each pair of nodes, and its result is valid",
            [i for i in ids if i in pairs] == pairs
            and not doc["verify"].get("wrong")
            and all(min(m["samples"]) > 0 for m in doc["metrics"]),
            (ids, doc.get("verify"), doc.get("failure")),
        )
    doc = vm.json(
        "systemd-run -q --wait --pipe -p AllowedCPUs=2-3 -p AllowedMemoryNodes=0 gpubench launch mem.matrix --json"
    )
    ids = [m["id"] for m in doc["metrics"]]
    tap.ok("with a cpuset only the allowed pair is measured", ids == ["mem.matrix.cpu1-mem0"], ids)


def ranks(vm):
    """Each rank's threads and pages are on its node, or on the node of a cpuset."""
    train = "gpubench train mlp --batch 32 --steps 3 --warmup 1 --ranks 2 --json 2>/dev/null"
    doc = vm.json(train)
    tap.ok(
        "two ranks: one per node, with its pages and threads",
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
            f"two ranks limited to node 1 ({how.split()[0]}): all pages and threads are on node 1",
            doc["ddp"]["home_node"] == [1, 1]
            and doc["ddp"]["pages_at_home"] == [1, 1]
            and list(doc["threads_on_node"]) == ["1"]
            and all(list(on) == ["1"] for on in doc["pages_by_kind"].values() if on),
            (doc["ddp"], doc["threads_on_node"], doc["pages_by_kind"]),
        )


# Prints a rank's allowed CPUs and the nodes of the pages of 64 MiB that it has touched.
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
    """gputune run --ranks: each rank's CPUs and pages are on one node, and no two ranks share a CPU."""
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
            f"{count} ranks{prefix and ', on node 1 only (' + prefix.split()[0] + '),'} have disjoint CPUs, and their pages "
            "on the same node",
            right,
            (seen, done.out),
        )


def part_devices(image):
    """revert restores a disk's queue length with its scheduler; udevd does what the plan predicts of udev rules"""
    devices.part_devices(tap, image, installed(image), picture, LIGHT)


# ---- sessions of gpubench ----------------------------------------------------------------------------------------------


def part_sessions(image):
    """gpubench ab and prove, killed or without power in the tuned arm"""
    sessions.part_sessions(tap, image, installed(image), picture, LIGHT)


def part_jobs(image):
    """gputune@NAME: a job's user and rights, and a job that tries to make root load its library"""
    jobs.part_jobs(tap, image, installed(image), LIGHT)


def part_boots(image):
    """gpubench ab --reboot: each arm is a boot; failed boot, power cut, end of a session, removed packages"""
    sessions.part_boots(tap, image, installed(image), picture, f"panic=1 {LIGHT}")


def part_proved(image):
    """gpubench prove --reboot: a kernel argument that helps, from the first boot to the receipt"""
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
        print(f"check.py: unknown part '{unknown[0]}'; parts: {' '.join(PARTS)}", file=sys.stderr)
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
            tap.ok(f"{name}: all commands in the machine succeed", False, why)
        except (OSError, KeyError, ValueError, TypeError):
            tap.ok(f"{name} completes", False, traceback.format_exc())
    return tap.end()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # Mounts and machines end in order.
    sys.exit(main())
