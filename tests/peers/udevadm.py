#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the reader of udev rules with the real systemd-udevd on generated sets of rules.

Each set is written to the real directories inside a private mount namespace, over a generated /sys. There `udevadm test` runs
for one event of one device. It logs each assignment that it carries out; 252 also writes it, into the files of that /sys.
udev_predict must predict every one of them, in that order. Each assignment that it predicts for certain must be carried out. The
answer of tn_udev_ask for a file must be the last value written to it. Needs root and udevadm, else it is skipped.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

REAL = shutil.which("udevadm") or "/usr/bin/udevadm"
PREDICT = os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests/peers/udev_predict")
SETS = int(os.environ.get("SETS", "200"))
SEED = int(os.environ.get("SEED", "1"))
ALL = os.environ.get("ALL")  # Each set is tested for every device.
DIRS = ["/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d"]
NAMES = ["10-a.rules", "60-sched.rules", "60-Sched.rules", "5-c.rules", "90-gputune.rules", "99-z.rules", "zz.rules",
         "no-suffix", "x.rules.bak", ".hidden.rules"]

CMDLINE = "BOOT_IMAGE=/vmlinuz quiet my-word=5 other"
PCI = "/sys/devices/pci0000:00/0000:00:04.0"
ATA = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
DEVICES = {
    PCI + "/nvme/nvme0/nvme0n1": ("block", None, {"DEVNAME": "nvme0n1", "DEVTYPE": "disk", "MAJOR": "259", "MINOR": "0"}, {
        "queue/rotational": "0", "queue/scheduler": "[none] mq-deadline", "queue/read_ahead_kb": "128",
        "queue/nr_requests": "1023", "size": "3750748848", "ro": "0", "w1": "x", "with blank": "a b  "}),
    PCI + "/nvme/nvme0": ("nvme", "nvme", {"MAJOR": "240", "MINOR": "0", "DEVNAME": "nvme0"}, {"model": "Made-up disk   ", "serial": "7"}),
    PCI: ("pci", "nvme", {"DRIVER": "nvme", "PCI_ID": "144D:A808"}, {"vendor": "0x144d", "class": "0x010802", "power/control": "on"}),
    ATA + "/block/sda": ("block", None, {"DEVNAME": "sda", "DEVTYPE": "disk", "MAJOR": "8", "MINOR": "0"}, {
        "queue/rotational": "1", "queue/scheduler": "none [mq-deadline]", "queue/read_ahead_kb": "128",
        "queue/nr_requests": "64", "size": "500118192", "ro": "0", "w1": "x"}),
    ATA: ("scsi", "sd", {"DEVTYPE": "scsi_device", "DRIVER": "sd"}, {"vendor": "ATA     ", "model": "Spinner", "timeout": "30"}),
    "/sys/devices/pci0000:00/0000:00:1f.2": ("pci", "ahci", {"DRIVER": "ahci"}, {"vendor": "0x8086"}),
    "/sys/devices/system/cpu/cpu0": ("cpu", "processor", {"DRIVER": "processor"}, {
        "cpufreq/scaling_governor": "powersave", "power/pm_qos_resume_latency_us": "0", "w1": "x"}),
}
EVENTS = [d for d, v in DEVICES.items() if v[0] in ("block", "cpu")]
WRITTEN = ["queue/scheduler", "queue/read_ahead_kb", "queue/nr_requests", "w1", "cpufreq/scaling_governor", "../w2"]
VALUES = ["none", "mq-deadline", "256", "4096", "%k", "$kernel-%n", "$attr{size}", "%s{ro}", "a%%b", "$$x", "$env{DEVTYPE}", "%E{my_word}",
          "%E{MINE}", "%p", "$devnode", "%M:%m", "$sys", "performance"]


def evaluated(rng):
    """A condition that the reader evaluates."""
    kind, values = rng.choice([
        ("ACTION", ["add", "change", "add|change", "remove", "*"]), ("KERNEL", ["sd*", "nvme*", "nvme[0-9]n1|sda", "sd?", "?*"]),
        ("SUBSYSTEM", ["block", "cpu", "block|net", "b*", "bus"]), ("ATTR{queue/rotational}", ["0", "1", "[01]"]),
        ("ATTR{size}", ["3750748848", "5*", "?*"]), ("ATTR{not/there}", ["1", "*"]), ("ATTR{with blank}", ["a b", "a b ", "a*"])])
    return f'{kind}{rng.choice(["==", "==", "!="])}"{rng.choice(values)}"'


def match(rng):
    op = rng.choice(["==", "==", "==", "!="])
    q = rng.choice(['"%s"', '"%s"', '"%s"', 'e"%s"'])
    kind, values = rng.choice([
        ("ACTION", ["add", "change", "add|change", "remove", "*"]), ("KERNEL", ["sd*", "nvme*", "nvme[0-9]n1|sda", "sd?", "cpu0", "?*", ""]),
        ("SUBSYSTEM", ["block", "cpu", "block|net", "b*", "bus"]), ("DRIVER", ["", "processor", "?*"]),
        ("DEVPATH", ["*/nvme*", "/devices/system/*", "*/block/sda"]), ("ATTR{queue/rotational}", ["0", "1", "[01]", ""]),
        ("ATTR{size}", ["3750748848", "5*", "?*"]), ("ATTR{not/there}", ["1", "", "*"]), ("ATTR{with blank}", ["a b", "a b ", "a*"]),
        ("ATTR{queue/nr_requests}", ["64", "1023"]), ("ATTRS{vendor}", ["ATA", "0x144d", "ATA     ", "0x*"]),
        ("ATTRS{model}", ["Made-up*", "Spinner"]), ("KERNELS", ["0000:00:04.0", "nvme0", "sda", "0:0:0:0"]),
        ("SUBSYSTEMS", ["pci", "scsi", "nvme|scsi", "usb"]), ("DRIVERS", ["nvme", "sd", "ahci", "processor"]),
        ("ENV{DEVTYPE}", ["disk", "partition", "disk|partition", ""]), ("ENV{MINE}", ["", "1", "a b", "?*", "yes|1"]),
        ("ENV{OTHER}", ["1", ""]), ("ENV{ID_PATH}", ["", "?*"]), ("ENV{MAJOR}", ["8", "259"]), ("ENV{DEVNAME}", ["/dev/sda", "sda"]),
        ("TEST", ["queue/rotational", "queue/none", "%S%p/ro", "device/model", "/etc/passwd", "/etc/nothing"]),
        ("NAME", ["", "x"]), ("TAG", ["x"]), ("SYMLINK", ["disk/*"]), ("RESULT", ["", "x"]), ("CONST{arch}", ["x86-64", "arm64"])])
    return f"{kind}{op}{q % rng.choice(values)}"


def assignment(rng):
    kind = rng.random()
    if kind < 0.5:
        return f'ATTR{{{rng.choice(WRITTEN)}}}{rng.choice(["=", "=", "=", ":=", "+="])}"{rng.choice(VALUES)}"'
    if kind < 0.7:
        return f'ENV{{{rng.choice(["MINE", "OTHER", ".dot"])}}}{rng.choice(["=", "=", "+="])}"{rng.choice(["1", "yes", "", "%k", "$env{OTHER}"])}"'
    if kind < 0.8:
        return f'RUN{rng.choice(["+=", "="])}"/bin/echo {rng.choice(VALUES)}"'
    if kind < 0.88:
        return f'SYMLINK+="by-x/{rng.choice(["a", "%k"])}"'
    return rng.choice(['IMPORT{cmdline}="quiet"', 'IMPORT{cmdline}="no.such-word"', 'IMPORT{cmdline}="my_word"', 'IMPORT{program}="/bin/false"', 'PROGRAM="/bin/true"',
                       'IMPORT{builtin}="path_id"', 'IMPORT{db}="MINE"', 'IMPORT{parent}="DRI*"', 'TAG+="x"', 'MODE="0660"'])


def plain(rng, labels):
    """Returns a line that the reader evaluates completely."""
    conditions = [evaluated(rng) for _ in range(rng.choice([0, 1, 1, 2]))]
    kind = rng.random()
    if kind < 0.15:
        return ", ".join([*conditions, f'GOTO="{rng.choice(labels)}"'])
    if kind < 0.25:
        return f'LABEL="{rng.choice(labels)}"'
    return ", ".join([*conditions, f'ATTR{{{rng.choice(WRITTEN)}}}="{rng.choice(["none", "256", "4096"])}"'])


def line(rng, labels, uncommon):
    if rng.random() >= uncommon:
        return plain(rng, labels)
    kind = rng.random()
    if kind < 0.06:
        return rng.choice(["", "# a comment", "  ", "\t# another", "nonsense", 'KERNEL="sda"', 'ATTR{}="1"', 'ATTR{w1}-="2"',
                           'ATTR{w1}="open', "ATTR{w1}='single'", 'FOO=="1", ATTR{w1}="no"', 'ENV{DEVNAME}="x", ATTR{w1}="no"',
                           'KERNEL{x}=="sda", ATTR{w1}="no"', 'IMPORT{moon}="x", ATTR{w1}="no"', 'OPTIONS+="no-such", ATTR{w1}="opt"'])
    if kind < 0.2:
        return ", ".join([match(rng) for _ in range(rng.randint(0, 2))] + [f'GOTO="{rng.choice(labels)}"'])
    if kind < 0.28:
        return f'LABEL="{rng.choice(labels)}"' + rng.choice(["", "", ", " + assignment(rng)])
    parts = [match(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))] + [assignment(rng) for _ in range(rng.choice([1, 1, 2]))]
    if rng.random() < 0.1:
        rng.shuffle(parts)
    return rng.choice([", ", ", ", ",", " "]).join(parts)


def broken(rng, text):
    """Returns the text with line continuations at some commas."""
    at = [i for i, c in enumerate(text) if c == ","]
    if not at:
        return text
    i = rng.choice(at) + 1
    return text[:i] + " \\\n" + rng.choice(["", "  ", "# between\n", "\t"]) + text[i:]


def generate(rng, root):
    files = {}
    for _ in range(rng.randint(1, 5)):
        path = f"{rng.choice(DIRS)}/{rng.choice(NAMES)}"
        labels = rng.sample(["end", "a", "b"], 2)
        uncommon = rng.choice([0, 0.1, 0.3, 1])
        lines = [line(rng, labels, uncommon) for _ in range(rng.randint(1, 9))]
        lines = [broken(rng, text) if rng.random() < 0.08 else text for text in lines]
        files[path] = None if rng.random() < 0.08 else "\n".join(lines) + rng.choice(["\n", "\n", "", " \\"])
    for d in DIRS:
        shutil.rmtree(root + d, ignore_errors=True)
        os.makedirs(root + d)
    for path, text in files.items():
        if text is None:
            os.symlink("/dev/null", root + path)
        else:
            with open(root + path, "w") as f:
                f.write(text)
    return files


def write_attributes(root):
    for device, (_, _, _, attributes) in DEVICES.items():
        for name, value in {**attributes, "../w2": "x"}.items():
            path = f"{root}{device}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(value + "\n")


def make_sys(root):
    for device, (subsystem, driver, uevent, _) in DEVICES.items():
        at = root + device
        up = os.path.relpath("/sys", device)
        os.makedirs(at, exist_ok=True)
        with open(at + "/uevent", "w") as f:
            f.writelines(f"{k}={v}\n" for k, v in uevent.items())
        place = {"block": "class/block", "nvme": "class/nvme", "pci": "bus/pci", "scsi": "bus/scsi", "cpu": "bus/cpu"}[subsystem]
        os.makedirs(f"{root}/sys/{place}", exist_ok=True)
        os.symlink(f"{up}/{place}", at + "/subsystem")
        if driver:
            os.makedirs(f"{root}/sys/bus/x/drivers/{driver}", exist_ok=True)
            os.symlink(f"{up}/bus/x/drivers/{driver}", at + "/driver")
        if subsystem == "block":
            os.makedirs(root + "/sys/block", exist_ok=True)
            os.symlink(os.path.relpath(device, "/sys/block"), f"{root}/sys/block/{os.path.basename(device)}")
    write_attributes(root)
    os.makedirs(root + "/proc", exist_ok=True)
    with open(root + "/proc/cmdline", "w") as f:
        f.write(CMDLINE + "\n")


def real(action, device):
    """Assignments of attributes in the order in which they are carried out: (file, path, value)."""
    env = dict(os.environ, SYSTEMD_DEVICE_VERIFY_SYSFS="0", SYSTEMD_PROC_CMDLINE=CMDLINE, SYSTEMD_LOG_LEVEL="debug", SYSTEMD_LOG_COLOR="0")
    out = subprocess.run([REAL, "test", "--action=" + action, device], capture_output=True, text=True, env=env)
    text = out.stdout + out.stderr
    found = re.findall(r"(/\S+\.rules):\d+ ATTR '(.*)' writing '(.*)'$", text, re.M)                          # 252
    found += re.findall(r"(/\S+\.rules):\d+ .*[wW]riting ATTR\{'?(.*?)'?\}=\"(.*)\"\.$", text, re.M)            # 257
    if out.returncode or "DEVPATH=" not in text:
        raise RuntimeError("udevadm test failed:\n" + text[-2000:])
    return found


def predicted(root, action, device):
    out = subprocess.run([PREDICT, root, action, device, f"{device}/queue/read_ahead_kb"], check=True, capture_output=True,
                         text=True).stdout
    rows = [row.split("\t") for row in out.splitlines()]
    return [r for r in rows if r[0] != "ask" and r[2] == "ATTR"], [r for r in rows if r[0] == "ask"]


def compare(foreseen, done):
    """The first difference, '' if there is none. done must be a part of foreseen, in its order, with all certain ones."""
    reached = {0}  # numbers of done assignments that the predictions so far may cover
    for how, where, _, path, value in foreseen:
        before, reached = reached, set(reached) if how != "sure" else set()
        reached |= {i + 1 for i in before if i < len(done) and done[i][0] == where.rsplit(":", 1)[0] and
                    done[i][1] == path and value in ("-", done[i][2])}
        if not reached:
            i = max(before)
            return f"{where} sets {path} to {value} for certain; done instead: {done[i] if i < len(done) else 'nothing'}"
    return "" if len(done) in reached else f"not predicted: {done[max(reached)]}"


def compare_ask(ask, device, done):
    path = f"{device}/queue/read_ahead_kb"
    last = [value for _, p, value in done if p == path]
    _, _, value, _, may = ask[0]
    if may != "-" or (last[-1:] or ["-"]) == [value]:
        return ""
    return f"{path}: asked, {value}; done, {last}"


def inside():
    root = tempfile.mkdtemp(prefix="udev-")
    make_sys(root)
    for d in ("/run/udev", "/dev/block", "/dev/by-x"):
        os.makedirs(d, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", d], check=True)
    for d in DIRS:
        os.makedirs(d, exist_ok=True)
        os.makedirs(root + d, exist_ok=True)
    subprocess.run(["mount", "--bind", root + "/sys", "/sys"], check=True)
    print(f"1..{SETS + 1}")
    sure = all_ = 0
    for n in range(SETS):
        rng = random.Random(SEED * 100003 + n)
        files = generate(rng, root)
        for d in DIRS:
            subprocess.run(["mount", "--bind", root + d, d], check=True)
        bad = []
        for device in EVENTS if ALL else rng.sample(EVENTS, 1):
            action = rng.choice(["add", "add", "change"])
            write_attributes(root)
            foreseen, ask = predicted(root, action, device)
            done = real(action, device)
            sure += sum(f[0] == "sure" for f in foreseen)
            all_ += len(foreseen)
            bad += [f"{action} {os.path.basename(device)}: {w}" for w in (compare(foreseen, done),) if w]
            if action == "add" and "cpu" not in device:
                bad += [w for w in (compare_ask(ask, device, done),) if w]
        for d in DIRS:
            subprocess.run(["umount", d], check=True)
        print(f"{'not ok' if bad else 'ok'} {n + 1} set {n} of {len(files)} files")
        for text in bad + ([f"{p}: {t}" for p, t in sorted(files.items())] if bad else []):
            print("\n".join("# " + row for row in text.split("\n")))
        sys.stdout.flush()
    enough = sure >= 0.25 * all_ and sure > SETS // 2  # a reader without certain answers would make no mistake
    print(f"{'ok' if enough else 'not ok'} {SETS + 1} {sure} of {all_} assignments were predicted for certain")
    subprocess.run(["umount", "/sys"], check=True)
    shutil.rmtree(root)


def main():
    if "--inside" in sys.argv:
        return inside()
    probe = ["unshare", "--mount", "true"]
    if os.geteuid() or not os.path.exists(REAL) or subprocess.run(probe, capture_output=True).returncode:
        print("1..0 # SKIP needs root, namespaces and udevadm")
        return 0
    made = [d for d in ["/run/udev", "/dev/block", "/dev/by-x", *DIRS] if not os.path.isdir(d)]  # something to mount on
    for d in made:
        os.makedirs(d, exist_ok=True)
    try:
        return subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, __file__, "--inside"]).returncode
    finally:
        for d in reversed(made):
            try:
                os.removedirs(d) if d.startswith("/usr/local") else os.rmdir(d)
            except OSError:
                pass


if __name__ == "__main__":
    sys.exit(main())
