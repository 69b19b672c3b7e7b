# SPDX-License-Identifier: Apache-2.0
"""Sessions of gpubench with kills and power cuts. Part "sessions" of check.py: after a kill or power cut in the tuned arm the host
is as before, and the session can be resumed. Part "boots": arms that are boots (--reboot), with a failed boot, a power cut, a
deleted document, an abandoned session and a removed program. Part "proved": a receipt from arms that are boots."""

import time

from vm import Failure, Vm

# ---- killed in the tuned arm -------------------------------------------------------------------------------------------

KNOB = "/proc/sys/vm/max_map_count"
TUNED = "70001"
STEP = "sleep 3"
COMMANDS = {
    "ab": "gpubench ab --quiet --seed 4 --pairs 2 --knob vm.max_map_count=70001",
    "prove": "gpubench prove --quiet --seed 4 --pairs 9 --knob vm.max_map_count=70001",
}


def await_(vm, script, seconds, number=None):
    """Waits until a script in the machine succeeds. number: another script, which must not end before."""
    end = time.monotonic() + seconds
    while vm.sh(script).status:
        if number and vm.ask("guest-exec-status", pid=number)["exited"]:
            raise Failure(f"the session ended too early: {vm.sh('cat /srv/*.log').out}")
        if time.monotonic() > end:
            raise Failure(f"not within {seconds} s: {script}; {vm.sh('cat /srv/*.log; ps axf').out}")
        time.sleep(0.2)


def into_the_tuned_arm(vm, name):
    """Starts a session in the machine and waits until the knob is changed. Returns the script's number."""
    number = vm.begin(f"cd /srv; rm -f {name}.json; {COMMANDS[name]} -o {name}.json -- {STEP} >{name}.log 2>&1")
    await_(vm, f"grep -qx {TUNED} {KNOB}", 900, number)
    return number


def launches_of(vm, name):
    """Returns the number of launches in the document."""
    return int(vm.ok(f"grep -c '\"t_s\"' /srv/{name}.json || true"))


def killed(tap, vm, name, before, picture):
    number = into_the_tuned_arm(vm, name)
    vm.ok("kill -9 $(pgrep -xo gpubench)")
    vm.end(number)
    await_(vm, f"! grep -qx {TUNED} {KNOB}", 60)
    tap.same(f"gpubench {name} killed with -9 in the tuned arm: the host is as before", before, picture(vm))
    status = vm.sh("gputune status")
    tap.ok("gputune status reports nothing after the kill", status.status == 0, status.out)
    await_(vm, "! pgrep gpubench", 60)


def resumes(tap, vm, what, have):
    done = vm.sh("cd /srv; gpubench resume --quiet ab.json", timeout=600)
    doc = vm.json("cat /srv/ab.json")
    kinds = [(l["block"], l["arm"]) for l in doc["launches"] if l["workload"] == "cmd"]
    tap.ok(
        f"{what}: resume keeps complete launches and repeats interrupted ones",
        done.status in (0, 1) and not doc["run"]["interrupted"] and len(kinds) == len(set(kinds)) and len(kinds) >= have,
        (done.status, done.out, kinds),
    )


def part_sessions(tap, image, disk, picture, append):
    with Vm(image, disk, append=append, slim=True) as vm:
        before = picture(vm)
        killed(tap, vm, "prove", before, picture)
        killed(tap, vm, "ab", before, picture)
        resumes(tap, vm, "killed", launches_of(vm, "ab") // 2)
        tap.same("after the resumed session the host is as before", before, picture(vm))
        into_the_tuned_arm(vm, "ab")
        vm.cut()
        vm.start()
        tap.same("after a power cut in the tuned arm the host is as before", before, picture(vm))
        status = vm.json("gputune status --json")
        tap.ok(
            "gputune status reports no held knob and nothing to recover",
            status["result"] == "nothing applied" and not status["values"] and not status["transactions"],
            status,
        )
        resumes(tap, vm, "cut off", 0)
        tap.same("after the session resumed from the power cut the host is as before", before, picture(vm))


# ---- arms that are boots -----------------------------------------------------------------------------------------------

FILE = "/srv/boots.json"
STATE = "/var/lib/gputune/boots.json"
UNIT = "gpubench-boots.service"
AB = f"gpubench ab --reboot --pairs 1 --workload sim --quiet --seed 3 -o {FILE} --settle"
GONE = f"test ! -e /etc/systemd/system/{UNIT} -a ! -e /etc/systemd/system/multi-user.target.wants/{UNIT} -a ! -e {STATE}"
OVER = f"{GONE} && ! grep -q gpubench.arm /proc/cmdline"
REACHED = f"grep -q '\"reached\"' {STATE} && grep -q gpubench.arm /proc/cmdline"
ARM_S = 1800  # On a busy host with emulation. A quiet host takes one of them.


def patiently(vm, script, timeout=60):
    """Works as vm.sh in a machine that may reboot at any time."""
    try:
        return vm.sh(script, timeout)
    except (OSError, Failure, ValueError, KeyError):
        try:
            vm._connect()
        except (OSError, Failure):
            pass
        return None


def until(vm, script, seconds):
    """Waits until a script succeeds. Returns the kernel command lines that occurred meanwhile, in order."""
    end, lines = time.monotonic() + seconds, []
    while time.monotonic() < end:
        done = patiently(vm, f"cat /proc/cmdline; {script}")
        if done and done.out:
            line = done.out.splitlines()[0]
            if not lines or lines[-1] != line:
                lines.append(line)
            if done.status == 0:
                return lines
        time.sleep(1)
    said = patiently(vm, f"cat /srv/start.log {STATE}; journalctl -b -u {UNIT} -o cat; systemctl list-jobs")
    raise Failure(f"not within {seconds} s: {script}; {said and said.out}; console: {vm.console()}")


def start(vm, command):
    """Starts a session in the machine, which then reboots into the first arm and may already have left it."""
    done = patiently(vm, f"cd /srv; rm -f {FILE}; {command} 2>&1 | tee start.log", ARM_S)
    if done and "boots into the next arm" not in done.out:
        raise Failure(f"the session did not begin: {done.out}")
    until(vm, f"{{ {REACHED}; }} || {{ {OVER}; }}", ARM_S)


def over(vm, seconds):
    """Waits for the end of the session and of the boot after it. Returns the kernel command lines."""
    lines = until(vm, OVER, seconds)
    vm._settle()
    return lines


def launches(vm):
    doc = vm.json(f"cat {FILE}")
    return doc, [l for l in doc["launches"] if l["workload"] == "sim"]


def told(doc, all_):
    """Returns the results of the arms and of the session as text."""
    arms = [(l["block"], l["kind"], l["arm"], l["failure"], l["env"]["boot_id"][:8]) for l in all_]
    return f"{arms} {doc['run']} {doc.get('verdict')}: {doc.get('verdict_reason')}"


def each_its_own_boot(tap, vm, before, picture):
    """A pair of A/A and one of A/B: four boots. A power cut in the first one makes it five."""
    start(vm, f"{AB} 15 --boot-arg transparent_hugepage=never")
    vm.cut()
    vm.start()
    tap.ok("after a power cut the host has its own command line", "gpubench" not in vm.ok("cat /proc/cmdline"))
    lines = until(vm, f"grep -q '\"tries\": *2' {STATE} && {REACHED}", ARM_S)
    tap.ok("the same arm is booted again", lines[-1].count("gpubench.arm") == 1, lines)
    done = vm.sh("gpubench ab --reboot --boot-arg a=b -o /srv/other.json -- true")
    tap.ok("no second session can start", done.status == 5 and FILE in done.out, done.out)
    lines = over(vm, 4 * ARM_S)
    doc, all_ = launches(vm)
    ids = [l["env"]["boot_id"] for l in all_]
    tap.ok("each arm was a separate boot", len(all_) == 4 and len(set(ids)) == 4, told(doc, all_))
    tap.ok(
        "two pairs, the first with identical arms",
        sorted((l["block"], l["kind"], l["arm"]) for l in all_)
        == [(0, "aa", "A"), (0, "aa", "B"), (1, "ab", "A"), (1, "ab", "B")],
        told(doc, all_),
    )
    a, b = (doc["settings"].get(arm, {}) for arm in "ab")
    tap.ok(
        "only the changed arm was booted with the argument, and the kernel used it",
        b.get("boot.transparent_hugepage") == "never"
        and b.get("thp.enabled") == "never"
        and "boot.transparent_hugepage" not in a
        and a.get("thp.enabled") not in (None, "never"),
        f"{doc['settings']}"[:600],
    )
    tap.ok(
        "the session completed, and its verdict is inconclusive with so few pairs",
        doc["run"]["interrupted"] is False and doc["verdict"] == "inconclusive",
        told(doc, all_),
    )
    tap.ok("at the end the host runs on its own command line", "gpubench" not in lines[-1], lines)
    tap.same("and is as it began, with no unit and no record left", before, picture(vm))


def never_comes_back(tap, vm, before, picture):
    """The changed arm cannot boot. Its panic reboots the machine with its own command line."""
    start(vm, f"{AB} 0 --boot-arg rdinit=/nowhere")
    over(vm, 5 * ARM_S)
    doc, all_ = launches(vm)
    why = str(doc["run"].get("invalid"))
    tap.ok("a failed boot ends the session", "failed" in why, why)
    tap.ok(
        "the arm with the failed boot has no launch",
        all_ and all(l["arm"] == "A" or l["kind"] == "aa" for l in all_),
        told(doc, all_),
    )
    tap.same("the next boot is as before, and nothing is left", before, picture(vm))


def deleted(tap, vm, before, picture):
    """The document is deleted during an arm, so the session cannot continue. The running process writes it again when it ends."""
    start(vm, f"{AB} 3000 --boot-arg x.y=1")
    vm.begin(f"systemctl stop {UNIT}; rm {FILE}; systemctl start {UNIT}")
    over(vm, ARM_S)
    tap.same("a session with a deleted document ends and leaves nothing", before, picture(vm))


def given_up(tap, vm, before, picture):
    start(vm, f"{AB} 3000 --boot-arg x.y=1")
    vm.begin(f"gpubench resume --abandon {FILE}")
    over(vm, ARM_S)
    tap.same("--abandon leaves nothing, and the host has its own command line", before, picture(vm))


def removed(tap, vm, before, picture):
    """The packages are removed while a changed arm runs, with a held knob and a pending boot. The last test of a disk."""
    long = "sh -c 'if grep -q x.y=1 /proc/cmdline; then sleep 3000; else sleep 1; fi'"
    knob = f"--knob vm.max_map_count={TUNED} --boot-arg x.y=1"
    start(vm, f"gpubench ab --reboot --pairs 1 --quiet --seed 3 --settle 0 -o {FILE} {knob} -- {long}")
    until(vm, f"grep -qx {TUNED} {KNOB} && {REACHED} && pgrep -x sleep", 4 * ARM_S)
    boot = vm.boot_id()
    done = vm.sh("dpkg --purge gpubench gputune gpuprobe")
    tap.ok(
        "removing the packages in a changed arm ends the session and prints what this boot still has",
        done.status == 0 and "the next boot has the host's own" in done.out and vm.sh(GONE).status == 0,
        done.out,
    )
    kernel = before.split("----")[0]
    tap.same("the arm's changes are reverted", kernel, picture(vm).split("----")[0])
    left = vm.sh("ls -d /var/lib/gputune /etc/systemd/system/*/gpu* /etc/systemd/system/gpu* 2>/dev/null; pgrep -a gpubench").out
    tap.ok("no file and no process is left, and no reboot was forced", not left and vm.boot_id() == boot, left)
    kept = len(vm.json(f"cat {FILE}")["launches"])
    tap.ok("the measured data are kept", kept >= 4, kept)
    vm.reboot()
    line, failed = vm.ok("cat /proc/cmdline"), vm.ok("systemctl --failed --no-legend --plain")
    tap.ok("the next boot has the host's own command line, and no unit fails", "x.y" not in line + failed and not failed, failed)
    tap.same("the next boot has the host's own values", kernel, picture(vm).split("----")[0])


def part_boots(tap, image, disk, picture, append):
    with Vm(image, disk, append=append, slim=True) as vm:
        before = picture(vm)
        for test in (each_its_own_boot, never_comes_back, deleted, given_up, removed):
            test(tap, vm, before, picture)


# ---- a receipt from boots ----------------------------------------------------------------------------------------------

RECEIPT = "/srv/receipt.json"
PROVE = (
    f"gpubench prove --reboot --workload proc.spawn --quiet --seed 5 --settle 0 --boot-arg slub_debug=- "
    f"-o {FILE} --receipt {RECEIPT}"
)


def part_proved(tap, image, disk, picture, append):
    """The host's command line has slub_debug. A kernel argument switches it off, which halves the time of a fork, under emulation
    too. Nine pairs with A/A, six to confirm and a power cut in between make thirty-one boots, each resumed by systemd."""
    with Vm(image, disk, append=f"slub_debug=FZPU {append}", slim=True) as vm:
        before = picture(vm)
        start(vm, PROVE)
        until(vm, f"grep -q '\"name\": \"confirm\"' {FILE} && {REACHED} || test -e {RECEIPT}", 40 * ARM_S)
        vm.cut()
        vm.start()
        lines = over(vm, 40 * ARM_S)
        doc, receipt = vm.json(f"cat {FILE}"), vm.json(f"cat {RECEIPT}")
        all_ = [(p["phase"]["name"], l) for p in doc["phases"] for l in p["launches"]]
        ids = [l["env"]["boot_id"] for _, l in all_]
        tap.ok(
            "two phases of nine and six pairs, each arm a separate boot",
            [n for n, _ in all_] == ["total"] * 18 + ["confirm"] * 12 and len(set(ids)) == 30 and not doc["interrupted"],
            ([n for n, _ in all_], len(set(ids)), doc["interrupted"]),
        )
        took = {p["settings"][arm].get("boot.slub_debug") for p in doc["phases"] for arm in "ab"}
        tap.ok("only the changed arm was booted with the argument", took == {"FZPU", "-"}, took)
        knob = receipt["knobs"][0]
        tap.ok(
            "the argument that helps is proved and confirmed on fresh boots",
            receipt["confirmed"] is True
            and (knob["id"], knob["from"], knob["to"], knob["kept"], knob["method"], knob["effect"]["n"])
            == ("boot.slub_debug", "FZPU", "-", True, "total effect", 6)
            and knob["effect"]["change_pct"] < -20
            and knob["effect"]["ci_high_pct"] < 0,  # six pairs: a wide interval on every host
            (receipt["confirmed"], knob),
        )
        said = vm.ok(f"gpubench report {RECEIPT}")
        tap.ok("the report of the receipt says PROVED", "PROVED: 1 of 1" in " ".join(said.split()), said)
        tap.ok("at the end the host runs on its own command line", "gpubench" not in lines[-1], lines[-2:])
        tap.same("and is as it began, with no unit and no record left", before, picture(vm))
