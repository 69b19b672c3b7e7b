# SPDX-License-Identifier: Apache-2.0
"""A virtual Debian machine: an image made with debootstrap, two NUMA nodes under QEMU, commands through the guest agent.

    image = Image(directory)
    with Vm(image, installed(image)) as vm:
        vm.sh("gputune plan").out

Node 0 has CPUs 0 and 1, node 1 has CPUs 2 and 3 and, behind a separate PCI bridge, an NVMe disk and two network ports.
A machine writes to an overlay that is deleted with it. README.md describes how the image is cached.
"""

import base64
import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SUITE = os.environ.get("VM_SUITE", "bookworm")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import mirror  # noqa: E402
# Kernel and init, the agent, other tuning programs, and the tools of the tests.
PACKAGES = (
    "systemd systemd-sysv udev dbus kmod linux-image-amd64 initramfs-tools qemu-guest-agent procps iproute2 "
    "numactl irqbalance tuned python3 ca-certificates"
).split()
NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "debootstrap": "debootstrap",
    "mke2fs": "e2fsprogs",
    "dpkg-deb": "dpkg",
}
BOOT_S = int(os.environ.get("VM_BOOT_SECONDS", "600"))


class Failure(Exception):
    """An error of the machine or of making it, as one sentence."""


def missing():
    """Returns one sentence about missing requirements, or None."""
    names = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if names:
        return "missing: apt-get install --no-install-recommends " + " ".join(names)
    return None if os.geteuid() == 0 else "only root may make the image (debootstrap)"


def call(*args, log=None, **kw):
    with open(log or os.devnull, "ab") as out:
        done = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False, **kw)
    if done.returncode:
        raise Failure(f"'{' '.join(args)[:200]}' failed with {done.returncode}" + (f"; see {log}" if log else ""))


@contextlib.contextmanager
def mounted(*mounts):
    """mounts: arguments of mount(8); the last one is the mount point."""
    done = []
    try:
        for each in mounts:
            os.makedirs(each[-1], exist_ok=True)
            call("mount", *each)
            done.append(each[-1])
        yield
    finally:
        for where in reversed(done):
            subprocess.run(["umount", "-l", where], check=False)


@contextlib.contextmanager
def rooted(root, archives):
    """A root directory in which packages can be installed and no service starts."""
    os.makedirs(f"{archives}/partial", exist_ok=True)
    policy = f"{root}/usr/sbin/policy-rc.d"
    with mounted(
        ["-t", "proc", "proc", f"{root}/proc"],
        ["-t", "sysfs", "-o", "ro", "sys", f"{root}/sys"],
        ["--bind", archives, f"{root}/var/cache/apt/archives"],
    ):
        with open(policy, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 101\n")
        os.chmod(policy, 0o755)
        shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
        try:
            yield lambda log, *args: call(
                "chroot",
                root,
                *args,
                log=log,
                env={
                    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                    "HOME": "/root",
                    "LC_ALL": "C.UTF-8",
                    "DEBIAN_FRONTEND": "noninteractive",
                    "DEB_BUILD_OPTIONS": f"nocheck parallel={os.cpu_count()}",
                },
            )
        finally:
            os.unlink(policy)


APT = ("apt-get", "-q", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "-o", "APT::Sandbox::User=root")
FILES = {
    "/etc/fstab": "/dev/vda / ext4 errors=remount-ro 0 1\n",
    "/etc/hostname": "gputune-vm\n",
    "/etc/machine-id": "",
    "/etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\n",
    "/etc/initramfs-tools/conf.d/vm": "MODULES=list\nRESUME=none\n",
    # Files of the host: src is the source tree, build the build tree, both read-only.
    "/etc/modules-load.d/vm.conf": "9pnet_virtio\n",
    # A device that appears late on a busy host is no failure.
    "/etc/systemd/system.conf.d/vm.conf": "[Manager]\nDefaultDeviceTimeoutSec=900\n",
}
OFF = (
    "tuned irqbalance apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer man-db.timer dpkg-db-backup.timer "
    "getty@tty1.service serial-getty@ttyS0.service systemd-timesyncd.service e2scrub_reap.service"
).split()


def sources():
    """Returns the sources of the packages and their checksum."""
    names = subprocess.run(
        ["git", "-c", f"safe.directory={TOP}", "-C", TOP, "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split("\0")
    names = [n for n in names if n and not n.startswith("tests/") or n.startswith(("tests/Makemodule.am", "tests/fixtures/"))]
    if not names:  # an unpacked tarball
        names = [os.path.relpath(os.path.join(d, f), TOP) for d, _, fs in os.walk(TOP) for f in fs]
    total = hashlib.sha256()
    for name in sorted(names):
        if os.path.isfile(os.path.join(TOP, name)):
            with open(os.path.join(TOP, name), "rb") as f:
                total.update(name.encode() + b"\0" + f.read())
    return [n for n in names if os.path.lexists(os.path.join(TOP, n))], total.hexdigest()


class Image:
    """The base of all machines, cached in a directory: root/ (debootstrap), disk.raw, kernel, initrd, packages/."""

    def __init__(self, where, say=print):
        self.dir, self.say = where, say
        self.log = os.path.join(where, "log")
        os.makedirs(where, exist_ok=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def _once(self, name, make):
        """Makes a file or directory under another name and renames it when it is complete."""
        path = self.path(name)
        if not os.path.exists(path):
            part = path + ".part"
            if os.path.isdir(part):
                shutil.rmtree(part)
            make(part)
            os.rename(part, path)
        return path

    def _root(self, part):
        self.say(f"making a Debian {SUITE} root: a few minutes, once (log: {self.log})")
        call("debootstrap", "--variant=minbase", SUITE, part, os.environ.get("VM_MIRROR") or mirror.archive(), log=self.log)
        with rooted(part, self.path("archives")) as run:
            for name, text in FILES.items():
                os.makedirs(os.path.dirname(part + name), exist_ok=True)
                with open(part + name, "w", encoding="utf-8") as f:
                    f.write(text)
            run(self.log, *APT, "install", *PACKAGES)
            run(self.log, "systemctl", "disable", *OFF[:2])
            run(self.log, "systemctl", "mask", *OFF[2:])
            run(self.log, "systemctl", "enable", "qemu-guest-agent.service")
        # QEMU loads kernel and initrd, so they are not in the file system.
        shutil.copy(f"{part}/vmlinuz", self.path("kernel"))
        shutil.copy(f"{part}/initrd.img", self.path("initrd"))

    def root(self):
        return self._once("root", self._root)

    def disk(self):
        """Makes the root file system with the dependencies of gputune's packages, but without these packages."""
        depends = ", ".join(
            subprocess.run(
                ["dpkg-deb", "-f", deb, "Depends"], stdout=subprocess.PIPE, text=True, check=True
            ).stdout.strip()
            for deb in self.packages()
        )
        if not self.fresh("disk.raw", depends):
            with rooted(self.root(), self.path("archives")) as run:
                run(self.log, *APT, "satisfy", depends)
            call(
                "mke2fs",
                "-q",
                "-F",
                "-t",
                "ext4",
                "-E",
                "lazy_itable_init=0,root_owner=0:0",
                "-d",
                self.root(),
                self.path("disk.raw"),
                "3G",
                log=self.log,
            )
            self.made("disk.raw", depends)
        return self.path("disk.raw")

    def fresh(self, name, of):
        """Returns whether the file exists and was made from these sources."""
        try:
            with open(self.path(name + ".of"), encoding="utf-8") as f:
                return os.path.exists(self.path(name)) and f.read() == of
        except FileNotFoundError:
            return False

    def made(self, name, of):
        with open(self.path(name + ".of"), "w", encoding="utf-8") as f:
            f.write(of)

    def packages(self):
        """Builds gputune's packages from the tree in a copy of the root. Returns the paths of those without development files."""
        names, total = sources()
        where = self.path("packages")
        if not self.fresh("packages", total):
            self._build(names, where)
            self.made("packages", total)
        names = [n for n in sorted(os.listdir(where)) if n.endswith(".deb")]
        return [os.path.join(where, n) for n in names if "-dbgsym_" not in n and "-dev_" not in n]

    def _build(self, names, where):
        self.say("building the packages in it")
        upper, work, at = self.path("build/upper"), self.path("build/work"), self.path("build/root")
        for each in (upper, work, at):
            os.makedirs(each, exist_ok=True)
        with mounted(["-t", "overlay", "overlay", "-o", f"lowerdir={self.root()},upperdir={upper},workdir={work}", at]):
            with rooted(at, self.path("archives")) as run:
                shutil.rmtree(f"{at}/src", ignore_errors=True)
                os.makedirs(f"{at}/src/gputune")
                tar = subprocess.run(
                    ["tar", "c", "-C", TOP, "--null", "-T", "-"],
                    input="\0".join(names).encode(),
                    stdout=subprocess.PIPE,
                    check=True,
                ).stdout
                subprocess.run(["tar", "x", "-C", f"{at}/src/gputune"], input=tar, check=True)
                run(self.log, *APT, "install", "build-essential", "fakeroot")
                run(self.log, *APT, "build-dep", "/src/gputune")
                run(self.log, "sh", "-c", "cd /src/gputune && dpkg-buildpackage -us -uc -b")
                shutil.rmtree(where, ignore_errors=True)
                os.makedirs(where)
                for name in os.listdir(f"{at}/src"):
                    if name.endswith((".deb", ".changes", ".buildinfo")):
                        shutil.copy(f"{at}/src/{name}", where)


def die_with_us():
    """Runs in the child before exec. The machine ends with the test in every case (prctl PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Crash(Failure):
    """QEMU itself crashed, so the result of the program in it is unknown."""


class Done:
    def __init__(self, status, out):
        self.status, self.out = status, out


def works(image, accel):
    """Returns whether a kernel starts with this accelerator. /dev/kvm may exist and hang."""
    image.root()
    mark = image.path(f"accel-{accel}")
    if not os.path.exists(mark):
        try:
            out = subprocess.run(
                [
                    "qemu-system-x86_64",
                    "-accel",
                    accel,
                    "-m",
                    "512",
                    "-display",
                    "none",
                    "-no-reboot",
                    "-serial",
                    "stdio",
                    "-kernel",
                    image.path("kernel"),
                    "-append",
                    "console=ttyS0 panic=-1",
                ],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=15,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired as late:
            out = late.stdout or b""
        with open(mark, "w", encoding="utf-8") as f:
            f.write("yes" if b"Linux version" in out else "no")
    with open(mark, encoding="utf-8") as f:
        return f.read() == "yes"


# Two nodes. Devices behind the bridge "far" are on node 1.
HARDWARE = """qemu-system-x86_64 -machine q35 -nodefaults -display none -m 2G -smp 4,sockets=2,cores=2
    -object memory-backend-ram,id=m0,size=1G -numa node,nodeid=0,cpus=0-1,memdev=m0
    -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=1,cpus=2-3,memdev=m1 -numa dist,src=0,dst=1,val=21
    -device pxb-pcie,id=far,bus_nr=128,numa_node=1,bus=pcie.0
    -device pcie-root-port,id=far1,bus=far,chassis=1,slot=1
    -device pcie-root-port,id=far2,bus=far,chassis=2,slot=2
    -device pcie-root-port,id=far3,bus=far,chassis=3,slot=3
    -netdev user,id=net1,restrict=on -device e1000e,bus=far2,netdev=net1
    -netdev user,id=net2,restrict=on -device virtio-net-pci,bus=far3,netdev=net2
    -device virtio-rng-pci,bus=pcie.0 -device virtio-serial-pci,bus=pcie.0"""
SLIM = HARDWARE
for _four, _two in (("4,sockets=2,cores=2", "2,sockets=2,cores=1"), ("cpus=0-1", "cpus=0"), ("cpus=2-3", "cpus=1")):
    SLIM = SLIM.replace(_four, _two)
COMMAND_LINE = "root=/dev/vda ro console=ttyS0 quiet mitigations=off no_timer_check nowatchdog net.ifnames=0"
COMMAND_LINE += " systemd.default_timeout_start_sec=900"  # as in FILES, for units


class Vm:
    """A running machine. log: a file that gets every write and flush of its disk (read by powercut.py). slim: one CPU per
    node, which boots faster where QEMU emulates."""

    def __init__(self, image, disk=None, log=None, shares=None, append="", slim=False):
        self.image = image
        self.disk = disk or image.disk()
        self.dir = tempfile.mkdtemp(prefix="gputune-vm-")
        self.over = os.path.join(self.dir, "over.qcow2")
        call("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", os.path.abspath(self.disk), self.over)
        self.args = self._args(log, shares or {"src": TOP, "packages": image.path("packages")}, append, SLIM if slim else HARDWARE)
        self.process = self.agent = None

    def _args(self, log, shares, append, hardware):
        accel = "kvm" if works(self.image, "kvm") else "tcg,thread=multi"
        with open(f"{self.dir}/nvme.raw", "wb") as f:
            f.truncate(64 << 20)
        args = hardware.split()
        args += ["-accel", accel, "-cpu", "host" if accel == "kvm" else "max"]
        args += ["-drive", f"if=none,id=nvm,format=raw,file={self.dir}/nvme.raw"]
        args += ["-device", "nvme,bus=far1,drive=nvm,serial=vm"]
        args += ["-blockdev", f"driver=qcow2,node-name=over,discard=unmap,file.driver=file,file.filename={self.over}"]
        if log:
            with open(log, "wb"):
                pass
            args += ["-blockdev", f"driver=blklogwrites,node-name=log,file=over,log.driver=file,log.filename={log}"]
        args += ["-device", f"virtio-blk-pci,bus=pcie.0,drive={'log' if log else 'over'}"]
        args += ["-kernel", self.image.path("kernel"), "-initrd", self.image.path("initrd")]
        args += ["-append", f"{COMMAND_LINE} {append}", "-serial", f"file:{self.dir}/console"]
        args += ["-chardev", f"socket,id=agent,path={self.dir}/agent,server=on,wait=off"]
        args += ["-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"]
        self.shares = [tag for tag, path in shares.items() if os.path.isdir(path)]
        for tag in self.shares:
            args += ["-fsdev", f"local,id={tag},path={shares[tag]},security_model=none,readonly=on"]
            args += ["-device", f"virtio-9p-pci,bus=pcie.0,fsdev={tag},mount_tag={tag}"]
        return args

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *why):
        self.cut()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- power ----

    def start(self):
        with open(f"{self.dir}/qemu.err", "wb") as err:
            self.process = subprocess.Popen(
                self.args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, preexec_fn=die_with_us
            )
        self._connect()
        self._settle()

    def _settle(self):
        """Waits for all devices and units. The agent answers earlier."""
        self.sh("systemctl is-system-running --wait; udevadm settle")

    def cut(self):
        """Cuts the power."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
        if self.agent:
            self.agent.close()
            self.agent = None

    def off(self):
        """Shuts down."""
        self._send("guest-shutdown")
        try:
            self.process.wait(BOOT_S)
        except subprocess.TimeoutExpired as late:
            raise Failure("the machine does not shut down: " + self.console()) from late
        self.cut()

    def reboot(self):
        was = self.boot_id()
        self._send("guest-shutdown", mode="reboot")
        deadline = time.monotonic() + BOOT_S
        while time.monotonic() < deadline:
            try:
                self._connect()
                if self.boot_id() != was:
                    self._settle()
                    return
            except (OSError, Failure):
                pass
            time.sleep(0.5)
        raise Failure("the machine does not restart: " + self.console())

    def console(self):
        with open(f"{self.dir}/console", "rb") as f:
            return f.read()[-2000:].decode(errors="replace")

    # ---- agent ----

    def _connect(self):
        """Waits until the machine has booted and its agent answers."""
        deadline, last = time.monotonic() + BOOT_S, None
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                with open(f"{self.dir}/qemu.err", encoding="utf-8", errors="replace") as f:
                    raise Crash(f"QEMU ended with {self.process.returncode}: {f.read()[:500]}")
            try:
                if self.agent:
                    self.agent.close()
                self.agent = socket.socket(socket.AF_UNIX)
                self.agent.settimeout(2)
                self.agent.connect(f"{self.dir}/agent")
                number = int(time.monotonic() * 1000)
                self.agent.sendall(
                    b"\xff"
                    + json.dumps({"execute": "guest-sync-delimited", "arguments": {"id": number}}).encode()
                    + b"\n"
                )
                while self._line(b"\xff") is not None:
                    break
                if json.loads(self._line(b"\n"))["return"] == number:
                    self.agent.settimeout(60)
                    return
            except (OSError, ValueError, KeyError) as why:
                last = why
                time.sleep(0.2)
        raise Failure(f"the machine does not answer ({last}): {self.console()}")

    def _line(self, end):
        got = b""
        while not got.endswith(end):
            piece = self.agent.recv(1)
            if not piece:
                raise OSError("the agent closed the connection")
            got += piece
        return got

    def _send(self, what, **arguments):
        self.agent.sendall(json.dumps({"execute": what, "arguments": arguments}).encode() + b"\n")

    def ask(self, what, **arguments):
        self._send(what, **arguments)
        answer = json.loads(self._line(b"\n"))
        if "error" in answer:
            raise Failure(f"{what}: {answer['error'].get('desc')}")
        return answer["return"]

    def begin(self, script):
        """Starts a shell script. Returns its number for end()."""
        return self.ask(
            "guest-exec",
            **{
                "path": "/bin/sh",
                "arg": ["-c", "exec 2>&1\n" + script],
                "capture-output": True,
                "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root", "COLUMNS=100"],
            },
        )["pid"]

    def end(self, pid, timeout=300):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            state = self.ask("guest-exec-status", pid=pid)
            if state["exited"]:
                out = base64.b64decode(state.get("out-data", "")).decode(errors="replace")
                return Done(state.get("exitcode", 128 + state.get("signal", 0)), out)
            time.sleep(0.05)
        raise Failure("a command in the machine does not end")

    def sh(self, script, timeout=300):
        """Runs a script. Returns its status, and its stdout and stderr as one text."""
        return self.end(self.begin(script), timeout)

    def ok(self, script, timeout=300):
        """Returns the output of a script that must succeed."""
        done = self.sh(script, timeout)
        if done.status:
            raise Failure(f"'{script[:120]}' ended with {done.status}: {done.out[-600:]}")
        return done.out

    def json(self, script):
        """Returns a JSON document. The exit status may be any."""
        out = self.sh(script + " 2>/dev/null").out
        try:
            return json.loads(out)
        except ValueError as why:
            raise Failure(f"'{script[:120]}' printed no JSON: {out[:300]}") from why

    def boot_id(self):
        return self.ok("cat /proc/sys/kernel/random/boot_id").strip()

    def share(self):
        """Mounts the host's directories under /mnt."""
        for tag in self.shares:
            self.ok(f"mkdir -p /mnt/{tag} && mount -t 9p -o trans=virtio,version=9p2000.L,ro {tag} /mnt/{tag}")

    def keep(self, path):
        """Copies the disk to a new image. The machine must be off."""
        call("qemu-img", "convert", "-f", "qcow2", "-O", "raw", self.over, path + ".part")
        os.rename(path + ".part", path)


def install(vm, debs):
    """Installs packages from the host's packages directory, which is mounted in the machine."""
    return vm.ok(
        "DEBIAN_FRONTEND=noninteractive dpkg -i " + " ".join(f"/mnt/packages/{os.path.basename(d)}" for d in debs)
    )


def installed(image):
    """Makes a disk with the packages of the tree, installed in a running machine that is then shut down."""
    debs, total = image.packages(), sources()[1]
    if not image.fresh("installed.raw", total):
        image.say("installing the packages in a machine")
        with Vm(image) as vm:
            vm.share()
            install(vm, debs)
            vm.off()
            vm.keep(image.path("installed.raw"))
        image.made("installed.raw", total)
    return image.path("installed.raw")
