#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpubench under a real srun, in a cluster of one node that is made for it: each task writes its own file, and fleet reads them;
and two tasks that train together on the stand-in driver's devices, where that is built. And gputune run, where srun has bound the
tasks and where it has not.

Usage: check_srun.py GPUBENCH    Wants root, slurmctld, slurmd and srun (Debian: slurmctld slurmd slurm-client); skipped without.
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
    """Two tasks on the node; what srun said."""
    out = os.path.join(folder, "r%r.json")

    def ask(env):
        if "idle" not in monitoring.state(env):
            return None
        return monitoring.run("srun", f"-n{TASKS}", "--overcommit", gpubench, "run", "--workload", "sim", "--pairs", "3", "-q", "-o", out, env=env)

    return monitoring.slurm(folder, "", ask)


def together(gpubench, folder):
    """Two ranks that know each other by srun's variables alone."""
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


def launches(gputune, folder):
    """What gputune run makes of tasks that srun has bound by task/affinity, and of those that it has not."""
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
        """CPUs, why, and threads of each."""
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
        return say("gputune run under srun speaks", False, f"{e}: {said}")
    whole = say("what srun binds is not cut again", [x[0] for x in two] == ["0", "1"] and all("bound by srun" in x[1] for x in two) and
                [x[2] for x in two] == [1, 1], two)
    whole &= say("one task has all that srun gives it", [x[0] for x in one] == ["0-1"] and one[0][2] == 2, one)
    whole &= say("what it does not bind is shared out", [x[0] for x in free] == ["0", "1"] and all("a share of" in x[1] for x in free), free)
    whole &= say("a batch script is one process: it has all CPUs, and what it starts shares the threads",
                 [x[0] for x in batch] == ["0-1", "0-1"] and sorted(x[2] for x in batch) == [1, 2], batch)
    return whole


def main():
    gpubench = os.path.abspath(sys.argv[1])
    if os.geteuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
        print("1..0 # SKIP no slurmd here, or not root")
        return 0
    print("1..8" if len(os.sched_getaffinity(0)) > 1 else "1..4")
    with tempfile.TemporaryDirectory() as folder:
        done = session(gpubench, folder)
        files = [os.path.join(folder, f"r{r}.json") for r in range(TASKS)]
        whole = say("srun starts two tasks, each with a result in a file of its own",
                    getattr(done, "returncode", 1) == 0 and all(map(os.path.exists, files)), f"{done} {os.listdir(folder)}")
        docs = []
        for name in files if whole else []:
            with open(name, encoding="utf-8") as f:
                docs.append(json.load(f))
        whole &= say("both are whole", len(docs) == TASKS and all(len(d["launches"]) == 3 and d["verdict"] == "measured" for d in docs),
                     [(len(d["launches"]), d["verdict"]) for d in docs])
        fleet = subprocess.run([gpubench, "fleet", *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        whole &= say("fleet knows that it is one machine", fleet.returncode == 0 and "a newer result of the same machine" in fleet.stdout,
                     fleet.stdout)
        os.mkdir(os.path.join(folder, "together"))
        whole &= together(gpubench, os.path.join(folder, "together"))
        if len(os.sched_getaffinity(0)) > 1:
            os.mkdir(os.path.join(folder, "launches"))
            whole &= launches(os.path.join(os.path.dirname(gpubench), "gputune"), os.path.join(folder, "launches"))
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
