#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_probe.py GPUPROBE FIXTURES: measures the promised figures of gpuprobe in one run, interleaved with its peer."""
import glob
import os
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "15"))


def run(cmd):
    """Returns the wall seconds and peak KiB of one run."""
    start = time.perf_counter()
    child = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - start, usage.ru_maxrss


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def spread(values):
    values = sorted(values)
    return f"{values[0] * 1000:.1f} to {values[-1] * 1000:.1f} ms"


def alone(cmd):
    """Returns the peak KiB and CPU seconds of one run. A direct child would count the memory of this interpreter."""
    if not os.path.exists("/usr/bin/time"):
        return None, None
    with tempfile.NamedTemporaryFile("r") as out:
        run(["/usr/bin/time", "-f", "%M %U %S", "-o", out.name, *cmd])
        kib, user, system = out.read().split()[-3:]
    return int(kib), float(user) + float(system)


def main(tool, fixtures):
    peer = ["/usr/bin/python3", "-m", "torch.utils.collect_env"]
    has_peer = not subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode
    ours, theirs, memory, cpu, no_nvml = [], [], [], [], []
    for i in range(ROUNDS):
        seconds, kib = run([tool])
        ours.append(seconds)
        no_nvml.append(run([tool, "--no-nvml"])[0])
        peak, used = alone([tool])
        memory.append(peak or kib)
        cpu.append(used)
        if has_peer and i < 5:
            theirs.append(run(peer)[0])
    print(f"gpuprobe                    {median(ours) * 1000:8.1f} ms  ({spread(ours)}); promised: 60 ms without a GPU")
    if None not in cpu:
        print(f"  its processor time        {median(cpu) * 1000:8.1f} ms")
    print(f"  at most resident          {max(memory) / 1024:8.1f} MiB; promised: 15 MB")
    print(f"the same without NVML       {median(no_nvml) * 1000:8.1f} ms  ({spread(no_nvml)})")
    if theirs:
        print(f"torch.utils.collect_env     {median(theirs) * 1000:8.1f} ms  ({spread(theirs)}), "
              f"{median(theirs) / median(ours):.0f} times as long; promised: 20")
    else:
        print("torch.utils.collect_env     not installed here (Debian: python3-torch)")
    hosts = sorted(glob.glob(os.path.join(fixtures, "*.host")))
    start = time.perf_counter()
    for i in range(100):
        run([tool, "--root", hosts[i % len(hosts)]])
    wall = time.perf_counter() - start
    print(f"100 replays                 {wall:8.2f} s   of {len(hosts)} hosts; promised: 2 s")
    with tempfile.TemporaryDirectory() as scratch:
        stripped = os.path.join(scratch, "gpuprobe")
        subprocess.run(["strip", "-o", stripped, tool], check=True)
        print(f"stripped binary             {os.path.getsize(stripped) / 1e6:8.2f} MB; promised: 2 MB")


main(sys.argv[1], sys.argv[2])
