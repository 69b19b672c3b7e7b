#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_probe.py GPUPROBE FIXTURES: the figures that gpuprobe promises, measured in one run, interleaved with its peer."""
import glob
import os
import resource
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "15"))


def run(cmd):
    """Wall seconds and peak KiB of one run."""
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


def main(tool, fixtures):
    peer = ["/usr/bin/python3", "-m", "torch.utils.collect_env"]
    has_peer = not subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode
    ours, theirs, memory, no_nvml = [], [], 0, []
    for i in range(ROUNDS):
        seconds, kib = run([tool])
        ours.append(seconds)
        memory = max(memory, kib)
        no_nvml.append(run([tool, "--no-nvml"])[0])
        if has_peer and i < 5:
            theirs.append(run(peer)[0])
    print(f"gpuprobe                    {median(ours) * 1000:8.1f} ms  ({spread(ours)}), {memory / 1024:.1f} MiB resident")
    print(f"the same without NVML       {median(no_nvml) * 1000:8.1f} ms  ({spread(no_nvml)})")
    if theirs:
        print(f"torch.utils.collect_env     {median(theirs) * 1000:8.1f} ms  ({spread(theirs)}), "
              f"{median(theirs) / median(ours):.0f} times as long")
    else:
        print("torch.utils.collect_env     not installed here (Debian: python3-torch)")
    hosts = sorted(glob.glob(os.path.join(fixtures, "*.host")))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    for i in range(100):
        run([tool, "--root", hosts[i % len(hosts)]])
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"100 replays                 {wall:8.2f} s   ({cpu:.2f} s of CPU time)")
    with tempfile.TemporaryDirectory() as scratch:
        stripped = os.path.join(scratch, "gpuprobe")
        subprocess.run(["strip", "-o", stripped, tool], check=True)
        print(f"stripped binary             {os.path.getsize(stripped) / 1e6:8.2f} MB")


main(sys.argv[1], sys.argv[2])
