# SPDX-License-Identifier: Apache-2.0
"""Part "jobs" of check.py: gputune@NAME.service under systemd. Root's preparation is gputune-devices.service. The attack: a job
writes a libnvidia-ml.so.1 to a directory that the dynamic loader searches in the job's environment. Root must not load it."""

import os
import re
import subprocess
import tempfile

from vm import Vm

# Replaces the driver's tool, which needs a GPU. It loads NVML by its name, as nvidia-smi does.
TOOL = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	dlopen("libnvidia-ml.so.1", RTLD_NOW);
	printf("nvidia-smi runs with uid %d\n", (int)getuid());
	return 0;
}
"""
LIBRARY = r"""
#include <stdio.h>
#include <unistd.h>
unsigned la_version(unsigned version)
{
	return version;
}
__attribute__((constructor)) static void loaded(void)
{
	dprintf(2, "the job's library runs with uid %d\n", (int)getuid());
}
"""
MODPROBE = r"""#!/bin/sh
echo asked "$@"
grep -E "CapEff|NoNewPrivs" /proc/$$/status
rm -f /dev/made
mknod /dev/made c 195 0
"""
# "%s" is the job's directory. An empty element of LD_LIBRARY_PATH is the working directory.
TRAPS = {
    "LD_LIBRARY_PATH of the job's directory": "LD_LIBRARY_PATH=%s",
    "an empty element of LD_LIBRARY_PATH": "LD_LIBRARY_PATH=/usr/lib/none:",
    "LD_PRELOAD relative to the job's directory": "LD_PRELOAD=./libnvidia-ml.so.1",
    "LD_AUDIT relative to the job's directory": "LD_AUDIT=./libnvidia-ml.so.1",
}


def compile_c(source, out, *options):
    subprocess.run(["cc", "-x", "c", "-", "-o", out, *options], input=source, text=True, check=True)


def job(vm, name, *lines):
    """Runs a job to its end. Returns the output of the job and of root's unit."""
    text = "\n".join(lines)
    vm.ok(f"mkdir -p /etc/gputune/jobs; cat >/etc/gputune/jobs/{name}.conf <<'X'\n{text}\nX")
    return vm.sh(
        f"since=$(date +%s); journalctl --sync; systemctl start gputune@{name}; "
        f"while systemctl is-active -q gputune@{name}; do sleep 0.2; done; journalctl --sync; "
        f"journalctl -b --since=@$since -u gputune@{name} -u gputune-devices -o cat; sleep 1"
    ).out


def command(tap, vm):
    out = job(vm, "probe", "COMMAND=/usr/bin/env", "OF_THE_JOB=yes")
    tap.ok(
        "gputune@NAME runs the job's command as a separate user, with the launch settings of the host",
        re.search(rf"^OMP_NUM_THREADS={vm.ok('nproc').strip()}$", out, re.M)
        and "OF_THE_JOB=yes" in out
        and "/var/lib/" in out
        and not re.search(r"^USER=root$", out, re.M),
        out,
    )
    tap.ok(
        "root makes the device nodes of the GPUs first",
        "asked -c 0 -u" in out and "nvidia-smi runs with uid 0" in out and vm.sh("test -c /dev/made").status == 0,
        out,
    )
    vm.ok("rm /dev/made")
    out = job(vm, "probe", "COMMAND=/usr/bin/env")
    tap.ok("root makes them again at the next start of a job", vm.sh("test -c /dev/made").status == 0, out)
    made = re.search(r"^CapEff:\s*(\w+)\nNoNewPrivs:\s*1$", out, re.M)
    tap.ok(
        "root's unit has capabilities for modules and nodes, but not for networks and other users' processes",
        made and int(made.group(1), 16) == sum(1 << n for n in (0, 1, 3, 16, 21, 27)),
        out,
    )
    out = job(vm, "probe", "COMMAND=/bin/cat /proc/self/status")
    tap.ok("a job has no capability", re.search(r"^CapBnd:\s*0+$", out, re.M), out)
    vm.ok("rm -f /usr/bin/nvidia-modprobe")
    out = job(vm, "probe", "COMMAND=/bin/echo it ran")
    tap.ok("a job starts without the driver's programs", "it ran" in out, out)


def attack(tap, vm):
    job(vm, "attack", "COMMAND=/bin/cp /mnt/jobs/evil.so libnvidia-ml.so.1")
    for what, line in TRAPS.items():
        out = job(vm, "attack", line.replace("%s", "/var/lib/gputune-jobs/attack"), "COMMAND=/mnt/jobs/nvidia-smi")
        seen = set(re.findall(r"the job's library runs with uid (\d+)", out))
        tap.ok(
            f"{what} loads the job's library into the job and not into root's programs",
            "nvidia-smi runs with uid 0" in out and seen and "0" not in seen,
            out,
        )


def part_jobs(tap, image, disk, append):
    with tempfile.TemporaryDirectory(prefix="gputune-jobs-") as made:
        os.chmod(made, 0o755)
        compile_c(TOOL, f"{made}/nvidia-smi")
        compile_c(LIBRARY, f"{made}/evil.so", "-shared", "-fPIC")
        with open(f"{made}/nvidia-modprobe", "w", encoding="utf-8") as f:
            f.write(MODPROBE)
        with Vm(image, disk, shares={"jobs": made}, append=append, slim=True) as vm:
            vm.share()
            vm.ok("install -m 755 /mnt/jobs/nvidia-smi /usr/bin")
            vm.ok("install -m 755 /mnt/jobs/nvidia-modprobe /usr/bin")
            command(tap, vm)
            attack(tap, vm)
