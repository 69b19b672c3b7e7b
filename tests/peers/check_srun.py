#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gpubench under a real srun in a temporary cluster of one node. Each task writes a separate file, and fleet reads them. Two
tasks train together on the stand-in driver's devices, if it is built. Also tests gputune run with tasks that srun binds or not.

Usage: check_srun.py GPUBENCH    Needs root, slurmctld, slurmd and srun (Debian: slurmctld slurmd slurm-client), else skipped.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import monitoring  # noqa: E402

TASKS = 2


def say(name, true, detail=""):
    print(f"{'ok' if true else 'not ok'} - {name}", flush=True)
    if not true:
        print("\n".join(f"# {line}" for line in str(detail).splitlines()[-30:]))
    return bool(true)


def session(gpubench, folder):
    """Runs two tasks on the node. Returns srun's output."""
    out = os.path.join(folder, "r%r.json")

    def ask(env):
        if "idle" not in monitoring.state(env):
            return None
        return monitoring.run("srun", f"-n{TASKS}", "--overcommit", gpubench, "run", "--workload", "sim", "--pairs", "3", "-q", "-o", out, env=env)

    return monitoring.slurm(folder, "", ask)


def together(gpubench, folder):
    """Two ranks that find each other only by srun's variables."""
    build = os.path.dirname(gpubench)
    rank, standin = os.path.join(build, "tests/unit/check_rendezvous"), os.path.join(build, "tests/standin")
    if not os.path.exists(rank) or not os.path.exists(os.path.join(standin, "libnccl.so.2")):
        print("ok - ranks of srun train together # SKIP the stand-in driver is not built")
        return True
    more = {"LD_LIBRARY_PATH": standin, "STANDIN_DEVICES": str(TASKS), "STANDIN_MEMORY": str(1 << 29), "XDG_CACHE_HOME": folder}

    def ask(env):
        if "idle" not in monitoring.state(env):
            return None
        return monitoring.run("srun", f"-n{TASKS}", "--overcommit", rank, "train", "6", env={**env, **more})

    done = monitoring.slurm(folder, "", ask)
    lines = [line for line in getattr(done, "stdout", "").splitlines() if line.startswith("rank ")]
    made = [f"rank {r} of {TASKS}, local {r}, on 1 hosts over tcp" for r in range(TASKS)]
    right = len(lines) == TASKS and all(line.startswith(start) for line, start in zip(sorted(lines), made))
    right &= len({line.rpartition(" ")[2] for line in lines}) == 1
    return say("ranks of srun train together", right and getattr(done, "returncode", 1) == 0, done)


def split(gpubench, folder):
    """Two ranks on CPUs that split the layers of one model."""
    model = "gpt2 --seq 16 --layers 1 --width 32 --heads 2 --vocab 61 --batch 2".split()
    model += "--threads 1 --warmup 0 --steps 2 --quiet --json".split()

    def ask(env):
        if "idle" not in monitoring.state(env):
            return None
        return monitoring.run("srun", f"-n{TASKS}", "--overcommit", gpubench, "train", *model, "--tp", str(TASKS), env=env)

    done = monitoring.slurm(folder, "", ask)
    one = subprocess.run([gpubench, "train", *model], stdout=subprocess.PIPE, check=True)
    try:
        apart = abs(json.loads(done.stdout)["loss"] - json.loads(one.stdout)["loss"])
    except (AttributeError, ValueError) as e:
        return say("ranks of srun split a model", False, f"{e}: {done}")
    return say("ranks of srun split a model", apart < 1e-6, f"the losses differ by {apart}")


def launches(gputune, folder):
    """gputune run with tasks that srun has bound by task/affinity, and with unbound tasks."""
    show = [gputune, "run", "--print", "--json", "--", "python3", "x.py"]
    job = os.path.join(folder, "job")
    with open(job, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n" + " ".join(show) + "\n" + " ".join(show[:-2]) + " torchrun --nproc-per-node 2 x.py\n")

    def ask(env):
        if "idle" not in monitoring.state(env):
            return None
        said = [monitoring.run("srun", *how, *show, env=env).stdout for how in (["-n2"], ["-n1", "-c2"], ["-n2", "--cpu-bind=none"])]
        monitoring.run("sbatch", "-n2", "--ntasks-per-node=2", "-W", "-o", f"{folder}/out", job, env=env)
        with open(f"{folder}/out", encoding="utf-8") as f:
            return [*said, f.read()]

    def read(text):
        """Returns the CPUs, the reason and the threads of each task."""
        docs, at = [], 0
        while at < len(text.rstrip()):
            doc, at = json.JSONDecoder().raw_decode(text, at)
            at += len(text[at:]) - len(text[at:].lstrip())
            threads = [int(v["value"]) for v in doc["environment"] if v["name"] == "OMP_NUM_THREADS"]
            docs.append((doc["cpus"]["list"], doc["cpus"]["reason"], *threads))
        return sorted(docs)

    said = monitoring.slurm(folder, "", ask, task="affinity", cpus=2)
    try:
        two, one, free, batch = map(read, said)
    except ValueError as e:
        return say("gputune run under srun prints its settings", False, f"{e}: {said}")
    whole = say("gputune run does not split the CPUs of a bound task",
                [x[0] for x in two] == ["0", "1"] and all("bound by srun" in x[1] for x in two) and
                [x[2] for x in two] == [1, 1], two)
    whole &= say("a single task has all CPUs that srun gives it", [x[0] for x in one] == ["0-1"] and one[0][2] == 2, one)
    whole &= say("gputune run divides the CPUs among unbound tasks",
                 [x[0] for x in free] == ["0", "1"] and all("a share of" in x[1] for x in free), free)
    whole &= say("a batch script is one process with all CPUs, and its children share the threads",
                 [x[0] for x in batch] == ["0-1", "0-1"] and sorted(x[2] for x in batch) == [1, 2], batch)
    return whole


def main():
    gpubench = os.path.abspath(sys.argv[1])
    if os.geteuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
        print("1..0 # SKIP no slurmd here, or not root")
        return 0
    print("1..9" if len(os.sched_getaffinity(0)) > 1 else "1..5")
    with tempfile.TemporaryDirectory() as folder:
        done = session(gpubench, folder)
        files = [os.path.join(folder, f"r{r}.json") for r in range(TASKS)]
        whole = say("srun starts two tasks, each with a separate result file",
                    getattr(done, "returncode", 1) == 0 and all(map(os.path.exists, files)), f"{done} {os.listdir(folder)}")
        docs = []
        for name in files if whole else []:
            with open(name, encoding="utf-8") as f:
                docs.append(json.load(f))
        whole &= say("both results are complete",
                     len(docs) == TASKS and all(len(d["launches"]) == 3 and d["verdict"] == "measured" for d in docs),
                     [(len(d["launches"]), d["verdict"]) for d in docs])
        fleet = subprocess.run([gpubench, "fleet", *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        whole &= say("fleet detects that both results are of one machine",
                     fleet.returncode == 0 and "a newer result of the same machine" in fleet.stdout,
                     fleet.stdout)
        os.mkdir(os.path.join(folder, "together"))
        whole &= together(gpubench, os.path.join(folder, "together"))
        os.mkdir(os.path.join(folder, "split"))
        whole &= split(gpubench, os.path.join(folder, "split"))
        if len(os.sched_getaffinity(0)) > 1:
            os.mkdir(os.path.join(folder, "launches"))
            whole &= launches(os.path.join(os.path.dirname(gpubench), "gputune"), os.path.join(folder, "launches"))
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
