#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gputune run under real launchers: torchrun (CPU, gloo), mpirun, and with the variables of srun (for srun: check_srun.py).

Each rank prints its CPUs and threads, and each core must occur exactly once. Launchers that are not installed are skipped.
TORCHRUN is the path of torchrun, if it is not on PATH.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

GPUTUNE = os.path.join(os.environ.get("TOP_BUILDDIR", "."), "gputune")
# Prints a rank's properties as one line in a single write.
RANK = """
import json, os, sys
line = {"rank": os.environ.get("LOCAL_RANK") or os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK") or os.environ.get("SLURM_LOCALID"),
        "cpus": sorted(os.sched_getaffinity(0)), "threads": os.environ.get("OMP_NUM_THREADS"), "pid": os.getpid()}
if "gloo" in sys.argv:
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    t = torch.ones(1) * (dist.get_rank() + 1)
    dist.all_reduce(t)
    line["sum"] = t.item()
    line["torch_threads"] = torch.get_num_threads()
os.write(1, (json.dumps(line) + chr(10)).encode())
"""


def launch(command, env=None):
    """Returns the lines of the ranks and the messages."""
    ours = ("OMP_", "GOMP_", "SLURM_", "OMPI_", "LOCAL_", "RANK", "WORLD_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    done = subprocess.run(command, env={**clean, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)
    lines = [json.loads(x[x.index("{"):]) for x in done.stdout.splitlines() if '{"rank"' in x]
    return sorted(lines, key=lambda x: int(x["rank"])), f"status {done.returncode}\n{done.stdout}\n{done.stderr}"


def apart(ranks, n):
    cpus = [c for r in ranks for c in r["cpus"]]
    return len(ranks) == n and len(cpus) == len(set(cpus)) and set(cpus) <= os.sched_getaffinity(0)


def torchrun(script, n):
    name = f"torchrun starts {n} ranks by gputune run: each has its own CPUs and threads, and gloo adds up"
    program = os.environ.get("TORCHRUN") or shutil.which("torchrun")
    if not program:
        tap.skip(name, "no torchrun here")
        return
    # Debian 12's PyTorch 1.13 is older than its Python, and its torchrun cannot start programs.
    if subprocess.run([program, "--standalone", "--nproc_per_node=1", "--no_python", "true"], capture_output=True).returncode:
        tap.skip(name, f"{program} cannot start true")
        return
    python = os.path.join(os.path.dirname(program), "python3")
    run = [GPUTUNE, "run", "--", python, script, "gloo"]
    ranks, said = launch([program, "--standalone", f"--nproc_per_node={n}", "--no_python", *run])
    share = max(1, len(os.sched_getaffinity(0)) // n)
    tap.check(name, apart(ranks, n) and all(r["sum"] == n * (n + 1) / 2 and 1 <= int(r["threads"]) <= share for r in ranks), said)
    for env, status in (({}, "set"), ({"OMP_NUM_THREADS": "1"}, "kept")):
        with tempfile.TemporaryDirectory() as logs:
            shown = os.path.join(logs, "show")  # torchrun would interpret --print as its own option.
            with open(shown, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{os.path.abspath(GPUTUNE)} run --no-preload --print --json -- python3 train.py\nexit $?\n")
            os.chmod(shown, 0o755)
            launch([program, "--standalone", f"--nproc_per_node={n}", "--log_dir", logs, "--redirects", "3", "--no_python",
                    shown], env)
            docs = [os.path.join(d, f) for d, _, names in os.walk(logs) for f in names if f == "stdout.log"]
            seen = []
            for path in docs:
                with open(path, encoding="utf-8") as f:
                    seen += [v["status"] for v in json.load(f)["environment"] if v["name"] == "OMP_NUM_THREADS"]
        tap.check(f"OMP_NUM_THREADS=1 under torchrun is {'the user' if env else 'torchrun'}'s own: {status}", seen == [status] * n,
                  (seen, docs))
    ranks, said = launch([GPUTUNE, "run", "--", program, "--standalone", f"--nproc_per_node={n}", script, "gloo"])
    tap.check("torchrun under gputune run: each rank has its own CPUs and threads",
              apart(ranks, n) and all(1 <= int(r["threads"]) <= share for r in ranks), said)
    ranks, said = launch([GPUTUNE, "run", "--no-preload", "--", program, "--standalone", f"--nproc_per_node={n}", script, "gloo"])
    tap.check("torchrun under gputune run --no-preload is not bound, and the ranks divide the cores as threads",
              len(ranks) == n and all(1 <= int(r["threads"]) <= share for r in ranks) and
              all(set(r["cpus"]) == os.sched_getaffinity(0) for r in ranks), said)


def mpirun(script, n):
    name = f"mpirun starts {n} ranks by gputune run: each has its own CPUs and threads"
    if not shutil.which("mpirun"):
        tap.skip(name, "no mpirun here")
        return
    root = ["--allow-run-as-root"] if not os.geteuid() else []
    run = [GPUTUNE, "run", "--", sys.executable, script]
    ranks, said = launch(["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np", str(n), *run])
    tap.check(name, apart(ranks, n) and all(int(r["threads"]) >= 1 for r in ranks), said)
    # mpirun binds by default, to cores or nodes. Each rank must have the CPUs that plain mpirun gives it.
    for what, options in (("by default", []), ("to nodes", ["--bind-to", "numa"]), ("to cores", ["--bind-to", "core"])):
        plain, _ = launch(["mpirun", *root, *options, "-np", str(n), sys.executable, script])
        ranks, said = launch(["mpirun", *root, *options, "-np", str(n), *run])
        fair = sum(int(r["threads"]) for r in ranks) <= len(os.sched_getaffinity(0))
        all_cpus = sorted(os.sched_getaffinity(0))  # A binding to the only node is no restriction.
        bound = [r["cpus"] for r in plain] != [all_cpus] * n
        tap.check(f"gputune run does not split the CPUs that mpirun binds {what}", len(plain) == n and fair and
                  ([r["cpus"] for r in ranks] == [r["cpus"] for r in plain] if bound else apart(ranks, n)), (plain, said))
    ranks, said = launch(["mpirun", *root, "--bind-to", "core", "-np", str(n), "sh", "-c", '"$@"; exit $?', "sh", *run])
    tap.check("gputune run does not split them with a shell in between",
              apart(ranks, n) and sum(len(r["cpus"]) for r in ranks) >= n, said)


def masks(script):
    """Launchers without information about binding: gputune run compares the launcher's CPUs with its own."""
    cpu = max(os.sched_getaffinity(0))
    both = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    mine = {"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
    run = [GPUTUNE, "run", "--print", "--json", "--", sys.executable, script]

    def reason(command, env=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "LOCAL_", "MPI_"))}
        done = subprocess.run(command, env={**clean, **(env or {})}, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        cpus = json.loads(done.stdout)["cpus"]
        return cpus["list"], cpus["reason"]

    variables = [f"{k}={v}" for k, v in mine.items()]
    said = reason(["sh", "-c", '"$@"; exit $?', "sh", "taskset", "-c", str(cpu), "env", *variables, *run])
    tap.check("a CPU mask that differs from the launcher's is the rank's own",
              said[0] == str(cpu) and "bound by its launcher" in said[1], said)
    said = reason(["sh", "-c", '"$@"; exit $?', "sh", "taskset", "-c", str(cpu), "sh", "-c", '"$@"; exit $?', "sh", "env", *variables, *run])
    tap.check("the ranks divide a CPU mask that the launcher also has", "a share of" in said[1], said)
    said = reason(["taskset", "-c", both, "sh", "-c", '"$@"; exit $?', "sh", "env", *variables, *run])
    tap.check("the ranks divide all CPUs", "a share of" in said[1] and said[0] in both.split(","), said)


def srun(script, n):
    """srun itself needs a cluster. A task only sees its variables."""
    ranks, said = [], ""
    for i in range(n):
        got, text = launch([GPUTUNE, "run", "--", sys.executable, script],
                           {"SLURM_LOCALID": str(i), "SLURM_STEP_TASKS_PER_NODE": f"{n}(x2)", "SLURM_NNODES": "2",
                            "SLURM_PROCID": str(i), "SLURM_NTASKS": str(2 * n)})
        ranks += got
        said += text
    tap.check(f"with srun's variables the {n} tasks of a node divide its CPUs", apart(ranks, n), said)


def main():
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        print("1..0 # SKIP one CPU cannot be divided")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        script = os.path.join(scratch, "rank.py")
        with open(script, "w", encoding="ascii") as f:
            f.write(RANK)
        ranks, said = launch([GPUTUNE, "run", "--ranks", "2", "--", sys.executable, script])
        tap.check("gputune run --ranks 2: each rank has its own CPUs", apart(ranks, 2), said)
        torchrun(script, 2)
        mpirun(script, 2)
        masks(script)
        srun(script, 2)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
