#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a PyTorch job by real launchers, plain and under gputune run, with 2 and 4 ranks. Reads CPUs and threads of each rank
from /proc. Both jobs stay started and train in turns, so that each pair of blocks is measured within a second.

Usage: check_launchers.py [--ranks 2,4] [--pairs N] [--only NAME,NAME] [--table FILE]
VENV: a Python environment with PyTorch, and the launchers that are installed in it; the others are skipped. srun needs root,
slurmctld and slurmd.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lint"))
import tap  # noqa: E402
import monitoring  # noqa: E402

GPUTUNE = os.path.join(os.path.abspath(tap.BUILD), "gputune")
JOB = os.path.join(HERE, "launched_job.py")
CPUS = sorted(os.sched_getaffinity(0))
PATIENCE_S = 400  # for the start of a job, and for a block, on a busy host
SLOWEST = 0.98  # of the plain call
OWN = ("OMP_", "GOMP_", "OPENBLAS_", "SLURM_", "OMPI_", "LOCAL_", "RANK", "WORLD_", "GPUTUNE_", "MASTER_", "LD_", "PYTHON")
HEAD = """# `gputune run` under real launchers

Made by `check_launchers.py --table FILE` on a host with {cpus} CPUs. The job is a small PyTorch model, trained by gloo. Threads and
CPUs are those of each rank, read from /proc: in the plain call, and under `gputune run`. Speed is the median of {pairs} paired
blocks, relative to the plain call, with an interval of at least 95 %. An interval wholly below 0.98 fails the check.
Versions: {versions}.

| launcher | ranks | threads, plain | threads | CPUs, plain | CPUs | speed |
|---|--:|---|---|---|---|---|
"""


def versions(venv):
    code = "import importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in " \
           "('torch', 'accelerate', 'deepspeed', 'lightning', 'ray', 'uv') if any(True for _ in m.distributions(name=n))))"
    return subprocess.run([f"{venv}/bin/python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith(OWN)}, "RAY_DISABLE_IMPORT_WARNING": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "DS_ACCELERATOR": "cpu", **more}


# ---- launchers -------------------------------------------------------------------------------------------------------------

def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


def torchrun(venv, n, *job):
    return [f"{venv}/bin/python", "-m", "torch.distributed.run", f"--nproc-per-node={n}", "--rdzv-backend=c10d",
            "--rdzv-endpoint=localhost:0", *job]


def launchers(venv, folder, n, job):
    """Returns {name: (program that is needed, command, whether the launcher gives each process a rank)}."""
    python, bin_ = f"{venv}/bin/python", f"{venv}/bin"
    run = torchrun(venv, n, *job)
    line = " ".join(run)
    mpirun = ["mpirun", "--oversubscribe", "-np", str(n)]
    accelerate = [f"{bin_}/accelerate", "launch", "--num_processes", str(n), "--num_machines", "1", "--machine_rank", "0",
                  "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", os.environ.get("JOB_PORT", "29655")]
    hosts = script(folder, "hosts", f"localhost slots={n}\n")
    deepspeed = [f"{bin_}/deepspeed", "--num_accelerators", str(n), "--no_local_rank", "--master_addr", "127.0.0.1",
                 "--master_port", os.environ.get("JOB_PORT", "29655"), *job]
    conda = script(folder, "conda", '#!/bin/bash\nexport CONDA_PREFIX=/opt/env\nshift 3\n"$@"\nexit $?\n')
    return {
        "python -m torch.distributed.run": (python, run, True),
        "torchrun": (f"{bin_}/torchrun", [f"{bin_}/torchrun", *run[3:]], True),
        "env": ("env", ["env", "A=b", *run], True),
        "nohup": ("nohup", ["nohup", *run], True),
        "bash script": ("bash", ["bash", script(folder, "run.sh", f"#!/bin/bash\n{line}\n")], True),
        "conda run (imitated)": ("bash", [conda, "run", "-n", "env", *run], True),
        "make": ("make", ["make", "-s", "-f", script(folder, "Makefile", f"all:\n\t@{line}\n")], True),
        "uv run": (f"{bin_}/uv", [f"{bin_}/uv", "run", "--no-project", "--python", python, *run], True),
        "accelerate launch": (f"{bin_}/accelerate", [*accelerate, "--multi_gpu", *job], True),
        # a file of hosts may name other hosts, which lack the library
        "accelerate launch --cpu (mpirun)": ("mpirun", [*accelerate, "--cpu", "--mpirun_hostfile", hosts, *job], False),
        "deepspeed": (f"{bin_}/deepspeed", deepspeed, True),
        "lightning": (f"{bin_}/fabric", [python, *job, "lightning", str(n)], False),
        "mpirun": ("mpirun", [*mpirun, python, *job], True),
        "mpirun --bind-to none": ("mpirun", [*mpirun, "--bind-to", "none", python, *job], True),
        "gputune run in gputune run": (python, [GPUTUNE, "run", "--", *run], True),
        "multiprocessing spawn": (python, [python, *job, "spawn", str(n)], False),
        "ray": (f"{bin_}/ray", [python, *job, "ray", str(n)], False),
    }


# ---- jobs ------------------------------------------------------------------------------------------------------------------

def cpu_list(text):
    cpus = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


class Job:
    """A started job. Its ranks wait between two blocks."""

    def __init__(self, folder, command, env):
        self.folder, self.blocks = folder, 0
        self.log = open(f"{folder}/log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        # The kernel schedules a session as a group of its own.
        self.adopt(self.process.pid)

    @staticmethod
    def adopt(pid):
        try:
            with open("/proc/self/autogroup", encoding="ascii") as f:
                nice = f.read().rpartition(" ")[2].strip()
            with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as f:
                f.write(nice)
        except OSError:
            pass

    def wait_for(self, name):
        path, end = f"{self.folder}/{name}", time.monotonic() + PATIENCE_S
        while not os.path.exists(path):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no {name}: {self.text()[-600:]}")
            time.sleep(0.002)
        with open(path, encoding="ascii") as f:
            return json.load(f)

    def text(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def ranks(self, n):
        found = []
        for i in range(n):
            rank = self.wait_for(f"rank-{i}")
            self.adopt(rank["pid"])
            with open(f"/proc/{rank['pid']}/status", encoding="ascii") as f:
                status = dict(line.split(":", 1) for line in f)
            found.append({**rank, "tasks": len(os.listdir(f"/proc/{rank['pid']}/task")),
                          "cpus": cpu_list(status["Cpus_allowed_list"].strip())})
        return found

    def go(self, word):
        with open(f"{self.folder}/.go", "w", encoding="ascii") as f:
            json.dump(word, f)
        os.rename(f"{self.folder}/.go", f"{self.folder}/go-{self.blocks}")

    def block(self):
        self.go("train")
        rate = self.wait_for(f"rate-{self.blocks}")
        self.blocks += 1
        return rate

    def end(self):
        self.go("stop")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        for stop in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, stop)
                self.process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        self.log.close()


def start(scratch, make, **env):
    """Starts the job whose command is make(folder)."""
    folder, port = tempfile.mkdtemp(dir=scratch), str(monitoring.free_ports(1)[0])
    os.environ["JOB_PORT"] = port
    return Job(folder, make(folder), environment(JOB_PORT=port, **env))


def start_pair(scratch, make, **env):
    """Starts the plain job and that of gputune run. make(folder): the command."""
    return [start(scratch, lambda folder: [*before, *make(folder)], **env) for before in ([], [GPUTUNE, "run", "--"])]


# ---- judgement -------------------------------------------------------------------------------------------------------------

def interval(ratios):
    """An interval of the median by order statistics, with at least 95 % confidence from six values on."""
    s, n, cut, p = sorted(ratios), len(ratios), 0, 0.5 ** len(ratios)
    mass = p
    while 2 * mass <= 0.05 and cut < n // 2:
        cut += 1
        p = p * (n - cut + 1) / cut
        mass += p
    cut = max(cut - 1, 0)
    return s[cut], s[n - 1 - cut]


def variable(pid, name):
    """Returns a variable of the environment that the process was started with; None: not set."""
    with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as f:
        return dict(x.split("=", 1) for x in f.read().split("\0") if "=" in x).get(name)


def divided(ranks, n):
    """Checks that each rank has its own CPUs, if there are enough, and that its number of threads fits its CPUs."""
    cpus, share = [c for r in ranks for c in r["cpus"]], max(1, len(CPUS) // n)
    return set(cpus) <= set(CPUS) and (n > len(CPUS) or len(cpus) == len(set(cpus))) and all(r["threads"] == share for r in ranks)


def brief(ranks, key):
    return ", ".join(str(r[key]) if key != "cpus" else "+".join(map(str, r[key])) for r in ranks)


def compare(name, n, jobs, pairs, is_rank, rows):
    try:
        plain, run = jobs[0].ranks(n), jobs[1].ranks(n)
        ratios = []
        for k in range(pairs):
            rates = {j: jobs[j].block() for j in ((0, 1) if k % 2 else (1, 0))}
            ratios.append(rates[1] / rates[0])
        said = jobs[1].text()
    except RuntimeError as why:
        tap.check(f"{name}, {n} ranks: the job runs", False, why)
        return
    finally:
        for j in jobs:
            j.end()
    tap.check(f"{name}, {n} ranks: no message of the loader", "ld.so" not in said and "libgputune" not in said, said)
    fits = sum(r["threads"] for r in run) <= max(len(CPUS), n, sum(r["threads"] for r in plain))
    tap.check(f"{name}, {n} ranks: CPUs and threads are {'divided' if is_rank else 'no more than in the plain call'}",
              divided(run, n) if is_rank else fits, (plain, run))
    speed = "not measured"
    if ratios:
        low, high = interval(ratios)
        speed = f"{statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})"
        tap.check(f"{name}, {n} ranks: the speed is {speed} of the plain call", high >= SLOWEST, ratios)
    rows.append(f"| {name} | {n} | {brief(plain, 'threads')} | {brief(run, 'threads')} | {brief(plain, 'cpus')} | "
                f"{brief(run, 'cpus')} | {speed} |")
    print(f"# {rows[-1]}", flush=True)


def by_srun(scratch, venv, n, pairs, rows):
    if os.geteuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
        tap.skip(f"srun, {n} ranks", "no slurmd here, or not root")
        return
    for name, options in (("srun", []), ("srun --cpu-bind=none", ["--cpu-bind=none"])):
        def ask(env):
            if "idle" not in monitoring.state(env):
                return None
            command = ["srun", f"-n{n}", "--overcommit", "--mem=0", *options, f"{venv}/bin/python", JOB]
            jobs = start_pair(scratch, lambda folder: [*command, folder, "small"], SLURM_CONF=env["SLURM_CONF"])
            compare(name, n, jobs, pairs, n <= len(CPUS) and not options, rows)
            return True

        folder = tempfile.mkdtemp(dir=scratch)
        if monitoring.slurm(folder, "PartitionName=DEFAULT OverSubscribe=FORCE:2", ask, task="affinity", cpus=len(CPUS)) is not True:
            tap.check(f"{name}, {n} ranks: the cluster starts", False, os.listdir(folder))


def values(scratch, venv, n):
    """A number of threads that the user or a script sets is kept. PyTorch may limit it to the number of CPUs."""
    for name, text, env in (("the user", "", {"OMP_NUM_THREADS": "3"}), ("a script", "export OMP_NUM_THREADS=3\n", {})):
        folder = tempfile.mkdtemp(dir=scratch)
        line = " ".join(torchrun(venv, n, JOB, folder, "small"))
        job = Job(folder, [GPUTUNE, "run", "--", "bash", script(folder, "run.sh", f"{text}{line}\n")], environment(**env))
        try:
            found = [variable(r["pid"], "OMP_NUM_THREADS") for r in job.ranks(n)]
            tap.check(f"OMP_NUM_THREADS of {name} is kept in the ranks of torchrun", found == ["3"] * n, found)
        except RuntimeError as why:
            tap.check(f"OMP_NUM_THREADS of {name} is kept in the ranks of torchrun", False, why)
        finally:
            job.end()


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--ranks", default="2,4")
    p.add_argument("--pairs", type=int, default=12, help="pairs of blocks; 0 checks CPUs and threads only (default: 12)")
    p.add_argument("--only", help="names of launchers, separated by commas")
    p.add_argument("--table", help="Markdown file for the table, replaced")
    a = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the jobs, too
    venv, only, rows = os.environ.get("VENV"), a.only.split(",") if a.only else None, []
    if not venv or subprocess.run([f"{venv}/bin/python", "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("1..0 # SKIP no PyTorch: set VENV")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        for n in map(int, a.ranks.split(",")):
            for name, (needed, _, is_rank) in launchers(venv, scratch, n, []).items():
                if only and name not in only:
                    continue
                if not shutil.which(needed):
                    tap.skip(f"{name}, {n} ranks", f"no {needed}")
                    continue
                if "--cpu (mpirun)" in name and n > len(CPUS):
                    tap.skip(f"{name}, {n} ranks", "mpirun refuses accelerate's --bind-to socket with more ranks than CPUs")
                    continue
                def command(folder, name=name):
                    return launchers(venv, folder, n, [JOB, folder, "small"])[name][1]

                compare(name, n, start_pair(scratch, command), a.pairs, is_rank, rows)
            if not only or "srun" in only:
                by_srun(scratch, venv, n, a.pairs, rows)
        if not only or "values" in only:
            values(scratch, venv, 2)
    if a.table:
        with open(a.table, "w", encoding="utf-8") as f:
            f.write(HEAD.format(cpus=len(CPUS), pairs=a.pairs, versions=versions(venv)) + "\n".join(rows) + "\n")
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
