#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks on this host: allreduce compared with OpenMPI and gloo, scaling of training, effect of compression on the loss.

Usage: bench_comm.py GPUBENCH [--rounds N] [--parts allreduce,scaling,compress] [--results DIR]
Arms run in interleaved rounds of fresh processes. All samples go to DIR/comm.json, and DIR/comm.md is made from it. Parts
that are not run keep their older rows. OpenMPI's program is compiled with mpicc (Debian: libopenmpi-dev), gloo is PyTorch's. A
missing one is skipped with a message. Needs a quiet host with at least two cores. Takes three minutes.
"""
import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import bench_torch

BYTES = (1 << 20, 4 << 20, 26214400)
LOOPS = 15
# Measures like osu_allreduce: a barrier, then one out-of-place reduction; the first rank's time.
MPI_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int k = 1; k < argc; k++) {
		int n = atoi(argv[k]) / 4;
		float *a = malloc(4L * n), *b = malloc(4L * n);

		for (int i = 0; i < n; i++)
			a[i] = b[i] = (float)i;
		for (int i = -2; i < LOOPS; i++) {
			double t;

			MPI_Barrier(MPI_COMM_WORLD);
			t = MPI_Wtime();
			MPI_Allreduce(a, b, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
			t = MPI_Wtime() - t;
			if (rank == 0 && i >= 0)
				printf("%d %.9f\\n", n * 4, t);
		}
	}
	return MPI_Finalize();
}
"""
GLOO_PROGRAM = """
import os, sys, time, torch, torch.distributed as dist
rank, loops = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
os.sched_setaffinity(0, [sorted(os.sched_getaffinity(0))[rank]])
dist.init_process_group("gloo", init_method="file://" + sys.argv[3], rank=rank, world_size=2)
for size in map(int, sys.argv[4:]):
    x = torch.ones(size // 4)
    for i in range(-2, loops):
        dist.barrier()
        t = time.perf_counter()
        dist.all_reduce(x)
        t = time.perf_counter() - t
        x.fill_(1)
        if rank == 0 and i >= 0:
            print(size, t)
"""
MLP = ["mlp", "--batch", "256", "--threads", "1", "--steps", "60", "--warmup", "10"]
# After more steps, rounding alone makes the curves differ.
GPT = ["gpt", "--batch", "4", "--seq", "64", "--threads", "1", "--steps", "60", "--seed", "1"]
CODINGS = (("none", []), ("fp16", []), ("bf16", []), ("int8", []), ("powersgd", ["--powersgd-rank", "1"]),
           ("powersgd", ["--powersgd-rank", "4"]), ("onebit", []), ("onebit", ["--compress-after", "20"]))


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def train(gpubench, *options):
    return json.loads(output([gpubench, "train", *options, "--json", "--quiet"]))


def times(text):
    """Returns {bytes: seconds}, the medians of the printed times."""
    found = {}
    for line in text.splitlines():
        size, seconds = line.split()
        found.setdefault(size, []).append(float(seconds))
    return {size: statistics.median(s) for size, s in found.items()}


def ours(a):
    doc = train(a.gpubench, "mlp", "--batch", "1", "--steps", "1", "--warmup", "0", "--threads", "1", "--ranks", "2")
    return doc["ddp"]["allreduce_median_s_by_bytes"]


def openmpi(a):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return times(output(["mpirun", *root, "--bind-to", "core", "-np", "2", os.path.join(a.scratch, "allreduce"), *map(str, BYTES)]))


def gloo(a):
    meet = os.path.join(a.scratch, "meet")
    if os.path.exists(meet):
        os.unlink(meet)
    command = [sys.executable, "-c", GLOO_PROGRAM]
    rest = [str(LOOPS), meet, *map(str, BYTES)]
    with subprocess.Popen([*command, "1", *rest]):
        return times(output([*command, "0", *rest]))


def peers(a):
    arms = {"gputune": ours}
    if shutil.which("mpicc") and shutil.which("mpirun"):
        source = os.path.join(a.scratch, "allreduce.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(MPI_PROGRAM)
        output(["mpicc", "-O2", f"-DLOOPS={LOOPS}", "-o", source[:-2], source])
        arms["OpenMPI"] = openmpi
    else:
        print("OpenMPI is left out: mpicc or mpirun is missing (Debian: libopenmpi-dev, openmpi-bin)")
    try:
        import torch.distributed
        if torch.distributed.is_gloo_available() if hasattr(torch.distributed, "is_gloo_available") else True:
            arms["gloo"] = gloo
    except ImportError:
        print("gloo is left out: PyTorch is missing (Debian: python3-torch)")
    return arms


def allreduce(a):
    arms = peers(a)
    runs = {name: [] for name in arms}
    for i in range(a.rounds):
        for name in list(arms)[i % len(arms):] + list(arms)[: i % len(arms)]:
            runs[name].append(arms[name](a))
            print(f"round {i + 1} {name}: " + ", ".join(f"{s * 1e3:.2f} ms" for s in runs[name][-1].values()), flush=True)
    return runs


def scaling(a):
    two = ["--ranks", "2"]
    arms = {"one rank": [], "two ranks": two, "two ranks, overlapped": [*two, "--overlap", "on"],
            "two ranks, sharded update": [*two, "--shard", "on"],
            "two ranks, sharded update, overlapped": [*two, "--shard", "on", "--overlap", "on"]}
    runs = {name: [] for name in arms}
    for i in range(a.rounds):
        for name in list(arms)[i % len(arms):] + list(arms)[: i % len(arms)]:
            runs[name].append(train(a.gpubench, *MLP, *arms[name])["items_per_s"])
            print(f"round {i + 1} {name}: {runs[name][-1]:.0f} samples/s", flush=True)
    return runs


def compress(a):
    rows = []
    for how, options in CODINGS:
        doc = train(a.gpubench, *GPT, "--ranks", "2", "--compress", how, *options)
        rows.append({"how": " ".join([how, *options]), "loss": doc["loss"], "heldout": doc["heldout_loss_after"],
                     "sent": doc["ddp"]["sent_bytes_per_step"], "raw": doc["ddp"]["raw_bytes_per_step"],
                     "items_per_s": doc["items_per_s"]})
        print(f"{rows[-1]['how']}: loss {rows[-1]['loss']:.4f}", flush=True)
    return rows


def allreduce_lines(runs):
    lines = ["", "## Allreduce of two ranks", "", "Milliseconds, medians of rounds; in brackets the ratio to gputune.", "",
             "| bytes | " + " | ".join(runs) + " |", "|---|" + "---|" * len(runs)]
    for size in map(str, BYTES):
        cells = []
        for name, rounds in runs.items():
            ms = statistics.median(r[size] for r in rounds) * 1e3
            ratio = statistics.median(r[size] / o[size] for r, o in zip(rounds, runs["gputune"]))
            cells.append(f"{ms:.2f}" + (f" ({ratio:.1f})" if name != "gputune" else ""))
        lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return lines


def scaling_lines(runs):
    one = runs["one rank"]
    lines = ["", "## Scaling", "", f"`gpubench train {' '.join(MLP)}`, with one rank and with `--ranks 2`. A ratio is the median of the rounds' ratios.",
             "", "| ranks | samples/s | relative to linear scaling |", "|---|---|---|"]
    for name, rates in runs.items():
        share = statistics.median(r / o for r, o in zip(rates, one)) / (1 if name == "one rank" else 2)
        lines.append(f"| {name} | {statistics.median(rates):.0f} | {100 * share:.1f} % |")
    return lines


def compress_lines(rows):
    lines = ["", "## Effect of compression on the loss", "",
             f"`gpubench train {' '.join(GPT)} --ranks 2 --compress …`, all with the same seed and data. Over shared memory compression",
             "costs more time than it saves. Between hosts the bytes decide.", "",
             "| compression | bytes sent | final loss | held-out loss | tokens/s |", "|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['how']} | {100 * r['sent'] / r['raw']:.1f} % | {r['loss']:.4f} | {r['heldout']:.4f} | {r['items_per_s']:.0f} |")
    return lines


PARTS = {"allreduce": (allreduce, allreduce_lines), "scaling": (scaling, scaling_lines), "compress": (compress, compress_lines)}


def render(results, data):
    text = ["# Ranks of one host", "", "Made by `make bench-comm` from comm.json, which has every run."]
    for part, (_, lines) in PARTS.items():
        if part in data:
            when = data[part]
            text += lines(when["runs"])
            text += ["", f"{when['date']}, {when['host']}, load before {when['load_before']:.1f}."]
    with open(os.path.join(results, "comm.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(text) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--results", default="bench/results")
    a = p.parse_args()
    unknown = set(a.parts.split(",")) - set(PARTS)
    if unknown:
        sys.exit(f"no {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("two ranks need two cores")
    os.makedirs(a.results, exist_ok=True)
    path = os.path.join(a.results, "comm.json")
    data = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
    with tempfile.TemporaryDirectory(prefix="gt") as a.scratch:
        for part in a.parts.split(","):
            head = {"date": datetime.date.today().isoformat(), "load_before": os.getloadavg()[0],
                    "host": f"{bench_torch.cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, Linux {os.uname().release}"}
            data[part] = {**head, "runs": PARTS[part][0](a)}
            with open(path, "w", encoding="utf-8") as f:
                json.dump(data, f, indent=1)
                f.write("\n")
            render(a.results, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
