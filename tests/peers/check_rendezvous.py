#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests ranks that a launcher starts on devices and that find each other by its variables. The stand-in driver has the devices.

Usage: check_rendezvous.py [--all] (programs: $TOP_BUILDDIR, or build/ in the source tree)
Without options it tests processes of this host with the variables set by hand. --all (make check-rendezvous) adds torchrun, if it
is on PATH or in the environment VENV, and hosts made of private network namespaces. The test calls itself inside of them with
--hosts. Prints TAP. Exit status 77 without the stand-in driver.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import check_mpi  # noqa: E402
from check_mpi import tap  # noqa: E402

BUILD = check_mpi.BUILD
STANDIN = os.path.join(BUILD, "tests/standin")
RANK = os.path.join(BUILD, "tests/unit/check_rendezvous")
TRAIN = [os.path.join(BUILD, "gpubench"), "train", "gpt", "--device", "cuda", "--seq", "16", "--layers", "1", "--width", "32",
         "--heads", "2", "--batch", "2"]
MADE = re.compile(r"rank (\d) of (\d), local (\d), on (\d) hosts over (\w+), .*, loss ([\d.]+)")
LAUNCHED = re.compile(r"RANK|WORLD_SIZE|MASTER_|SLURM_|PMI|OMPI_|TORCHELASTIC_|MPI_")


def variables(**more):
    """Returns the environment without a launcher's variables, with the stand-in driver."""
    env = {k: v for k, v in os.environ.items() if not LAUNCHED.search(k)}
    return {**env, "LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": "3", "STANDIN_MEMORY": str(1 << 29), "OMP_NUM_THREADS": "1",
            "XDG_CACHE_HOME": os.environ["TMPDIR"], **more}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def on(host):
    """Returns the words that start a command on one of several hosts by exec."""
    return ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", f'hostname {host}; exec "$@"', "sh"] if host else []


def start(command, address="127.0.0.1", hosts=(None, None), **more):
    port = str(free_port())
    ranks = []
    for rank, host in enumerate(hosts):
        said = tempfile.TemporaryFile("w+")
        env = variables(RANK=str(rank), WORLD_SIZE=str(len(hosts)), LOCAL_RANK="0" if host else str(rank), MASTER_ADDR=address,
                        MASTER_PORT=port, **more)
        ranks.append((subprocess.Popen([*on(host), *command], stdout=said, stderr=said, env=env), said))
    return ranks


def text_of(said):
    said.seek(0)
    return " ".join(said.read().split())


def finish(ranks, patience=120):
    """Returns the status and output of each process."""
    for process, _ in ranks:
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return [(process.returncode, text_of(said)) for process, said in ranks]


def alone():
    done = subprocess.run([RANK, "train", "6"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables(),
                          timeout=120)
    return float(MADE.search(done.stdout).group(6))


def judge(what, ends, hosts, local):
    made = [MADE.search(text) for _, text in ends]
    right = all(m and (int(m[1]), int(m[2]), int(m[3]), int(m[4]), m[5]) == (rank, len(ends), local[rank], hosts, "tcp")
                for rank, m in enumerate(made))
    tap.check(what, right and not any(status for status, _ in ends), ends)
    loss = alone()
    tap.check(f"{what}: the loss of one alone", right and all(abs(float(m[6]) - loss) < 1e-5 for m in made), f"{ends}, not {loss}")


def lose(what, victim, hosts=(None, None), address="127.0.0.1", how=None, within=10):
    """A rank is killed while both train: the other ends, and its message names the killed rank."""
    ranks = start([*TRAIN, "--steps", "1000000"], address, hosts)
    until = time.monotonic() + 60
    while "training" not in text_of(ranks[0][1]) and time.monotonic() < until and ranks[0][0].poll() is None:
        time.sleep(0.2)
    time.sleep(0.5)
    t0 = time.monotonic()
    if how:
        how()
    else:
        ranks[victim][0].send_signal(signal.SIGKILL)
    other = finish(ranks[1 - victim:2 - victim], 60)[0]
    took = time.monotonic() - t0
    if how:
        finish(ranks[victim:victim + 1], 60)
    ranks[victim][0].wait()
    tap.check(what, other[0] == 70 and took < within and f"rank {victim} has ended: its connection has ended" in other[1] and
              f"rank {1 - victim}" in other[1], f"after {took:.1f} s: {other}")


def homes():
    for env, want in (({}, "0 1 2, own 1"), ({"STANDIN_DEVICES": "1"}, "0 -1 -1, own 0"),
                      ({"STANDIN_FAIL": "cuDeviceGetAttribute:1"}, "-1 -1 -1, own -1"), ({"STANDIN_FAIL": "cuInit:100"}, "-1 -1 -1, own -1"),
                      ({"LD_LIBRARY_PATH": ""}, "-1 -1 -1, own -1")):
        done = subprocess.run([RANK, "homes"], stdout=subprocess.PIPE, text=True, env=variables(**env), timeout=60)
        tap.check(f"nodes next to the devices, {env}: {want}", done.stdout.strip() == want, done.stdout)


def refused():
    by_hand = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for env, more, says in (
            (by_hand, ["--ranks", "2"], "--ranks: srun or torchrun started the ranks and sets their number"),
            ({"WORLD_SIZE": "2"}, [], "WORLD_SIZE=2 shows several ranks, but RANK is not set"),
            ({"PMIX_RANK": "0"}, [], "PMIX_RANK=0 shows several ranks, but their number is unknown")):
        done = subprocess.run([*TRAIN, "--steps", "2", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=variables(**env), timeout=60)
        text = " ".join(done.stderr.split())
        tap.check(f"refused: {says[:48]} …", done.returncode == 64 and says in text and text.startswith("gpubench: "),
                  f"{done.returncode}: {text}")


def one_host():
    judge("two ranks by their variables", finish(start([RANK, "train", "6"])), 1, (0, 1))
    judge("three ranks, as localhost", finish(start([RANK, "train", "6"], "localhost", (None, None, None))), 1, (0, 1, 2))
    judge("each rank has a different device", finish(start([RANK, "train", "6"], STANDIN_DEVICES="1")), 1, (0, 1))
    lose("the first rank is killed: the other ends within seconds and names it", 0)
    lose("the second rank is killed: the first ends within seconds and names it", 1)
    homes()
    refused()


def torchrun():
    venv = os.environ.get("VENV")
    program = os.path.join(venv, "bin/torchrun") if venv else shutil.which("torchrun")
    if not program or not os.path.exists(program):
        tap.skip("torchrun", "not found: set VENV=DIRECTORY to an environment with torchrun")
        return
    for form in (["--standalone"], ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]):
        done = subprocess.run([program, *form, "--nproc-per-node", "2", "--no-python", RANK, "train", "6"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=variables(), timeout=180)
        lines = sorted(m[0] for m in MADE.finditer(done.stdout))
        judge(f"torchrun {form[0]}", [(done.returncode, line) for line in lines] or [(done.returncode, done.stdout)] * 2, 1, (0, 1))
    for split in ([], ["--tp", "2"], ["--pp", "2"]):
        done = subprocess.run([program, "--standalone", "--nproc-per-node", "2", "--no-python", *TRAIN, "--device", "cpu", "--steps", "2",
                               *split], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables(), timeout=180)
        tap.check(f"torchrun, ranks on CPUs {' '.join(split)}", done.returncode == 0 and re.search("2 ranks|rank 1 ", done.stdout), done.stdout)


def several_hosts():
    if not check_mpi.make_hosts(os.path.join(os.environ["TMPDIR"], "agent")):
        return 77
    hosts = tuple(check_mpi.HOSTS[:2])
    judge("two hosts", finish(start([RANK, "train", "6"], "192.0.2.1", hosts)), 2, (0, 0))
    judge("three hosts", finish(start([RANK, "train", "6"], "192.0.2.1", tuple(check_mpi.HOSTS))), 3, (0, 0, 0))
    ends = finish(start([*TRAIN, "--steps", "2", "--device", "cpu"], "192.0.2.1", hosts))
    tap.check("ranks on CPUs of two hosts are refused", all(status == 64 and "ranks 0 and 1 are on different hosts" in text
                                                            for status, text in ends), ends)
    for victim in range(2):
        lose(f"rank {victim} is killed on its host: the other ends and names it", victim, hosts, "192.0.2.1")
    lose("a host loses its network: the first rank ends and names the other", 1, hosts, "192.0.2.1",
         lambda: subprocess.run(["ip", "-n", "gtb", "link", "set", "eth0", "down"], check=True), 30)
    return 0


def main():
    if not os.path.exists(os.path.join(STANDIN, "libnccl.so.2")):
        print("1..0 # SKIP the stand-in driver is not built")
        return 77
    if sys.argv[1:] == ["--hosts"]:
        return several_hosts() or tap.plan()
    with tempfile.TemporaryDirectory(prefix="gt") as scratch:
        os.environ["TMPDIR"] = scratch
        one_host()
        if sys.argv[1:] == ["--all"]:
            torchrun()
            check_mpi.hosts_of_our_own(__file__)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
