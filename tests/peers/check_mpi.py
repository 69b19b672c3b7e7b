#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests ranks that OpenMPI's mpirun starts on this host and on several hosts made of network namespaces.

Usage: check_mpi.py [--all] (programs: $TOP_BUILDDIR, or build/ in the source tree)
Without options it tests this host. --all (make check-mpi) adds several hosts and takes a few minutes. The hosts are private
namespaces (user, network, mount), each with a separate name and address, joined by a bridge. They are not visible outside, and
root is not needed. The test calls itself inside of them with --hosts.
Prints TAP. Exit status 77 without mpirun.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TOP_BUILDDIR") or os.path.join(SOURCE, "build")
HOSTS = ["gta", "gtb", "gtc"]
MCA = {"plm_rsh_agent": None, "btl": "tcp,self", "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0"}
TRAIN = [os.path.join(BUILD, "gpubench"), "train", "gpt", "--seq", "32", "--steps", "8", "--threads", "1", "--json", "--quiet"]
PATIENCE = 120
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
"""


def mpirun(slots, agent=None):
    """Returns the command. slots: ranks of each host of HOSTS, or their number on this host."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    if agent is None:
        return [*command, "-np", str(slots)]
    for key, value in MCA.items():
        command += ["--mca", key, value or agent]
    command += ["-np", str(sum(slots)), "--host", ",".join(f"{h}:{n}" for h, n in zip(HOSTS, slots))]
    return ["ip", "netns", "exec", HOSTS[0], "unshare", "--uts", "sh", "-c", f'hostname {HOSTS[0]}; exec "$@"', "sh", *command]


def run(command):
    # mpirun has its session under TMPDIR and needs a short path.
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)


def train(prefix, *options):
    done = run([*prefix, *TRAIN, *options])
    if done.returncode:
        raise RuntimeError(f"{' '.join([*prefix, *TRAIN, *options])}: {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def same_loss(what, doc, want, within=2e-5, like="the loss of one rank"):
    tap.check(f"{what}: {like}", abs(doc["loss"] - want["loss"]) < within, f"{doc['loss']}, not {want['loss']}")


def alone(rows, *options):
    return train([], "--batch", str(rows), *options)


def collectives(prefix, says):
    done = run([*prefix, os.path.join(BUILD, "tests/unit/check_comm")])
    tap.check(f"collectives and training, bit-equal: {says}", done.returncode == 0 and says in done.stdout, done.stdout + done.stderr)


def others_end(prefix, victims):
    """A rank is killed during training: all ranks end within seconds, and the message names it."""
    with tempfile.TemporaryFile("w+") as said:
        job = subprocess.Popen([*prefix, *TRAIN, "--batch", "1", "--steps", "1000000"], stdout=said, stderr=said, text=True,
                               start_new_session=True)
        try:
            ranks = {}
            until = time.monotonic() + 60
            while len(ranks) < victims and time.monotonic() < until and job.poll() is None:
                ranks = ranks_of(job.pid)
                time.sleep(0.2)
            time.sleep(1)
            os.kill(ranks[1], signal.SIGKILL)
            t0 = time.monotonic()
            job.wait(30)
            took = time.monotonic() - t0
            left = ranks_of(job.pid)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
        said.seek(0)
        text = " ".join(said.read().split())
        tap.check("a killed rank ends the others within seconds, and the message names it",
                  job.returncode != 0 and took < 10 and not left and "process rank 1 with PID" in text and "signal 9" in text,
                  f"status {job.returncode} after {took:.1f} s, left {left}: {text}")


def ranks_of(launcher):
    """Returns {rank: process} of all training processes below a launcher."""
    parents, ranks = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                stat = f.read().rpartition(")")[2].split()
            parents[int(pid)] = int(stat[1])
            if stat[0] == "Z" or os.path.basename(os.readlink(f"/proc/{pid}/exe")) != "gpubench":
                continue
            with open(f"/proc/{pid}/environ", "rb") as f:
                env = dict(e.partition(b"=")[::2] for e in f.read().split(b"\0"))
            ranks[int(env[b"OMPI_COMM_WORLD_RANK"])] = int(pid)
        except (OSError, KeyError, IndexError):
            continue
    # The agent starts orted of another host, so it is below the launcher too unless it has detached.
    return {rank: pid for rank, pid in ranks.items() if below(pid, launcher, parents) or env_session(pid)}


def below(pid, ancestor, parents):
    while pid in parents and pid != ancestor:
        pid = parents[pid]
    return pid == ancestor


def env_session(pid):
    with open(f"/proc/{pid}/environ", "rb") as f:
        return f"TMPDIR={os.environ['TMPDIR']}".encode() in f.read().split(b"\0")


def own_error(prefix):
    done = run([*prefix, *TRAIN, "--batch", "1", "--resume", "/nonexistent/x.safetensors"])
    text = " ".join(done.stderr.split())
    tap.check("a rank's own error ends all ranks, and the message names it",
              done.returncode == 64 and "gpubench: rank " in text and "/nonexistent/x.safetensors" in text, f"{done.returncode}: {text}")


def one_host():
    collectives(mpirun(4), "4 ranks on 1 hosts over shm")
    one = alone(4)
    two = train(mpirun(2), "--batch", "2")
    same_loss("2 ranks on this host", two, one)
    tap.check("on one host they share memory", two["ddp"]["transport"] == "shm" and two["ddp"]["hosts"] == 1, two["ddp"])
    same_loss("4 ranks on this host", train(mpirun(4), "--batch", "1"), one)
    same_loss("2 batches per update, clipped", train(mpirun(2), "--batch", "2", "--accum", "2", "--clip", "0.5"),
              alone(4, "--accum", "2", "--clip", "0.5"))
    own_error(mpirun(2))
    others_end(mpirun(2), 2)


def make_hosts(agent):
    with open(agent, "w", encoding="ascii") as f:
        f.write(AGENT)
    os.chmod(agent, 0o755)
    commands = ["mount -t tmpfs none /run", "mkdir -p /run/netns", "ip link add gtbr type bridge", "ip link set gtbr up"]
    for i, host in enumerate(HOSTS):
        commands += [f"ip netns add {host}", f"ip link add v{host} type veth peer name eth0 netns {host}",
                     f"ip link set v{host} master gtbr up", f"ip -n {host} addr add 192.0.2.{i + 1}/24 dev eth0",
                     f"ip -n {host} link set eth0 up", f"ip -n {host} link set lo up"]
    for command in commands:
        done = subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            print(f"# {command}: {done.stdout.strip()}")
            return False
    return True


def several_hosts():
    agent = os.path.join(os.environ["TMPDIR"], "agent")
    if not make_hosts(agent):
        return 77
    on = lambda *slots: mpirun(slots, agent)
    collectives(on(1, 1), "2 ranks on 2 hosts over mpi")
    collectives(on(2, 1, 1), "4 ranks on 3 hosts over mpi")
    one = alone(4)
    for slots in ((1, 1), (2, 2), (2, 1, 1)):
        doc = train(on(*slots), "--batch", str(4 // sum(slots)))
        same_loss(f"{sum(slots)} ranks on {len(slots)} hosts", doc, one)
        tap.check("hosts are counted", doc["ddp"]["transport"] == "mpi" and doc["ddp"]["hosts"] == len(slots), doc["ddp"])
    same_loss("2 batches per update, clipped, split by speed",
              train(on(2, 1), "--batch", "2", "--accum", "2", "--clip", "0.5", "--balance"), alone(6, "--accum", "2", "--clip", "0.5"))
    for slots, options in (((1, 1), ("--tp", "2")), ((1, 1), ("--pp", "2")), ((2, 2), ("--tp", "2", "--pp", "2")),
                           ((2, 1, 1), ("--pp", "2")), ((2, 1, 1), ("--tp", "2", "--sp")), ((2, 2), ("--tp", "2", "--shard", "1"))):
        split = int(options[1]) * (2 if "--tp" in options and "--pp" in options else 1)
        doc = train(on(*slots), "--batch", str(4 * split // sum(slots)), "--microbatches", "2" if "--pp" in options else "1", *options)
        same_loss(f"{sum(slots)} ranks on {len(slots)} hosts with {' '.join(options)}", doc, one)
    file = os.path.join(os.environ["TMPDIR"], "split.st")
    train(on(2, 1, 1), "--batch", "4", "--tp", "2", "--pp", "2", "--microbatches", "2", "--save", file)
    doc = train([], "--batch", "4", "--resume", file)
    tap.check("one rank continues the file of ranks on 3 hosts", doc["heldout_loss_before"] < one["heldout_loss_before"], doc)
    like = "the loss of two ranks of one host"
    for how in ("fp16", "bf16", "int8", "powersgd", "onebit"):
        want = train([], "--ranks", "2", "--batch", "2", "--compress", how)
        same_loss(f"{how} between hosts of one rank", train(on(1, 1), "--batch", "2", "--compress", how), want, like=like)
        # The ranks of a host sum first, and one compresses for them: the same two sides with other rounding before.
        same_loss(f"{how} between hosts of two ranks", train(on(2, 2), "--batch", "1", "--compress", how), want, 5e-2, like)
    own_error(on(1, 1))
    others_end(on(1, 1), 2)
    return 0


def hosts_of_our_own(program):
    """Runs the program with --hosts in private namespaces. Its test points count here."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    inner = subprocess.run(["unshare", *user, "--net", "--mount", sys.executable, os.path.abspath(program), "--hosts"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    for line in inner.stdout.splitlines():
        word, _, rest = line.partition(" - ")
        if word.startswith(("ok ", "not ok ")):
            tap.check(rest, word.startswith("ok"))
        elif not line.startswith("1.."):
            print(line)
    if inner.returncode not in (0, 1):
        tap.skip("several hosts", f"this system allows no namespaces here (status {inner.returncode})")


def main():
    if not shutil.which("mpirun"):
        print("1..0 # SKIP mpirun is missing (Debian: openmpi-bin)")
        return 77
    if sys.argv[1:] == ["--hosts"]:
        return several_hosts() or tap.plan()
    with tempfile.TemporaryDirectory(prefix="gt") as scratch:
        os.environ["TMPDIR"] = scratch
        one_host()
        if sys.argv[1:] == ["--all"]:
            hosts_of_our_own(__file__)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
