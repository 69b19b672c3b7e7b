#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a PyTorch script under `gputune run` with the plain call and other launchers, with several ranks.

Usage: bench_effect.py GPUTUNE [--python PATH,PATH] [--jobs LIST] [--ranks LIST] [--rounds N] [--results DIR] [--blas stock|as-is]
The same script runs in several arms: plain, gputune run, gputune run --loader auto (jpeg), numactl, torch.backends.xeon.run_cpu
(one rank). Several ranks are started by torchrun, or by mpirun if that torchrun cannot start a program. The jobs of all arms stay
started and train in turns, in rotating order, so that a round is measured within seconds. Another part measures the cost of a
launch: 1000 times `gputune run -- true`, `numactl true` and `true`. Results go to DIR/effect.json (all samples) and DIR/effect.md
(made from it); cells that are not measured again are kept.

The stock state of a Debian 12 with python3-torch and libopenblas is openblas-pthread as libblas.so.3: Debian gives it the
highest priority. If libopenblas0-pthread is installed but not selected, it is selected during the measurement (as root), and the
host's selection is restored in every case. --blas as-is measures the host without this change. The result records the BLAS.
"""
import argparse
import contextlib
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_launchers  # noqa: E402

SLOWEST = check_launchers.SLOWEST
JOBS = ("gpt2", "mlp", "resnet20", "jpeg")
IMAGES, SIZE = 128, (800, 600)  # of the JPEG folder
PRELOADED = "libgputune-rank.so in a process that is no rank"
UNIT = {"gpt2": "tokens", "mlp": "samples", "resnet20": "samples", "jpeg": "images"}


def physical_cores():
    seen = set()
    for cpu in os.sched_getaffinity(0):
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as f:
            seen.add(f.read().strip())
    return len(seen)


def make_images(python, folder):
    """Writes images with the detail of photographs, which take as long to decode."""
    code = ("import numpy as np, sys; from PIL import Image; r = np.random.RandomState(1)\n"
            f"for i in range({IMAGES}):\n"
            f"  a = Image.fromarray(r.randint(0, 256, ({SIZE[1] // 6}, {SIZE[0] // 6}, 3), dtype='u1')).resize({SIZE})\n"
            "  a.save(f'{sys.argv[1]}/{i:04d}.jpg', quality=90)")
    subprocess.run([python, "-c", code, folder], check=True)


def works(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def start_ranks(python, n):
    """Returns the command that starts n ranks of the script after it, and its name."""
    if n == 1:
        return [python], "python"
    torchrun = [python, "-m", "torch.distributed.run", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    if works(*torchrun, "--nproc-per-node=1", "--no-python", "true"):
        return [*torchrun, f"--nproc-per-node={n}"], "torchrun"
    return ["mpirun", "--oversubscribe", "-np", str(n), python], "mpirun"


def arms(a, python, job, n):
    """Returns {arm: words before the script}."""
    plain, _ = start_ranks(python, n)
    found = {"plain": plain, "gputune run": [a.gputune, "run", "--", *plain]}
    if job == "jpeg":
        found["gputune run --loader auto"] = [a.gputune, "run", "--loader", "auto", "--", *plain]
    if shutil.which("numactl"):
        found["numactl"] = ["numactl", "--cpunodebind=0", "--localalloc", *plain]
    if n == 1 and shutil.which("numactl") and works(python, "-c", "import torch.backends.xeon.run_cpu"):
        found["xeon.run_cpu"] = [python, "-m", "torch.backends.xeon.run_cpu", "--ncores_per_instance",
                                 str(physical_cores()), "--ninstances", "1"]
    return found


def numa_binding(python):
    """Returns why torchrun --numa-binding cannot be measured; None: it can."""
    said = subprocess.run([python, "-m", "torch.distributed.run", "--numa-binding=node", "--nproc-per-node=1", "--no-python", "true"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    errors = [line for line in said.stderr.splitlines() if "Error" in line or "error:" in line]
    return errors[-1].strip() if said.returncode and errors else None


def measure(a, python, job, n, scratch, images):
    commands, runs, jobs = arms(a, python, job, n), {}, {}
    model = f"jpeg:{images}" if job == "jpeg" else job
    try:
        for arm, words in commands.items():
            jobs[arm] = check_launchers.start(scratch, lambda folder, words=words: [*words, check_launchers.JOB, folder, model])
        for arm, j in jobs.items():
            ranks = j.ranks(n)
            runs[arm] = {"threads": [r["threads"] for r in ranks], "cpus": [r["cpus"] for r in ranks], "items_per_s": []}
            framework = ranks[0]["torch"]
        for i in range(a.rounds):
            turn = i % len(jobs)
            for arm in [*jobs][turn:] + [*jobs][:turn]:
                runs[arm]["items_per_s"].append(jobs[arm].block())
    finally:
        for j in jobs.values():
            j.end()
    return {"job": job, "ranks": n, "torch": framework, "launcher": start_ranks(python, n)[1], "arms": runs,
            "date": datetime.date.today().isoformat(), "blas": default_blas(), "load_before": os.getloadavg()[0],
            "host": f"{cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}"}


def launches(a, n):
    commands = {"true": ["/bin/true"], "gputune run": [a.gputune, "run", "--", "/bin/true"]}
    if shutil.which("numactl"):
        commands["numactl"] = ["numactl", "--localalloc", "/bin/true"]
    library = os.path.join(os.path.dirname(a.gputune), "libgputune-rank.so")
    if os.path.exists(library):
        commands[PRELOADED] = ["/bin/true"]
    times = {arm: [] for arm in commands}
    for _ in range(n):
        for arm, command in commands.items():
            env = {**os.environ, "LD_PRELOAD": library} if arm == PRELOADED else None
            t0 = time.perf_counter()
            subprocess.run(command, check=True, env=env)
            times[arm].append(time.perf_counter() - t0)
    return times


def default_blas():
    path = os.path.realpath(f"/usr/lib/{platform.machine()}-linux-gnu/libblas.so.3")
    return os.path.basename(os.path.dirname(path)) if os.path.exists(path) else "unknown"


class Alternative:
    """Selects one of Debian's alternatives of a library and restores the previous selection at the end."""

    def __init__(self, soname):
        self.name = f"{soname}-{platform.machine()}-linux-gnu"
        self.file = f"/usr/lib/{platform.machine()}-linux-gnu/openblas-pthread/{soname}"
        done = subprocess.run(["update-alternatives", "--query", self.name], stdout=subprocess.PIPE, text=True)
        said = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
        self.status, self.value = said.get("Status"), said.get("Value")

    def call(self, *args):
        subprocess.run(["update-alternatives", *args], check=True, stdout=subprocess.DEVNULL)

    def choose(self):
        if self.value != self.file:
            self.call("--set", self.name, self.file)

    def restore(self):
        if self.status == "auto":
            self.call("--auto", self.name)
        elif self.value != self.file:
            self.call("--set", self.name, self.value)


@contextlib.contextmanager
def stock_blas(wanted):
    """Selects openblas-pthread for the measurement. Ends with one sentence if this is not possible."""
    if not wanted or default_blas() == "openblas-pthread":
        yield
        return
    both = [Alternative("libblas.so.3"), Alternative("liblapack.so.3")]
    if not all(os.path.exists(each.file) for each in both):
        sys.exit("the stock BLAS is not here: apt install libopenblas0-pthread, or measure the host as it is with --blas as-is")
    if os.geteuid():
        sys.exit("only root can choose the stock BLAS (update-alternatives); --blas as-is measures the host as it is")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    try:
        for each in both:
            each.choose()
        yield
    finally:
        for each in both:
            each.restore()


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def rows(cell):
    """Returns [arm, rate, ratio to plain, its interval] of a cell."""
    base = cell["arms"]["plain"]["items_per_s"]
    for arm, r in cell["arms"].items():
        ratios = [x / y for x, y in zip(r["items_per_s"], base)]
        yield arm, statistics.median(r["items_per_s"]), statistics.median(ratios), check_launchers.interval(ratios)


def verdict(low, high):
    return "faster" if low > 1.02 else "slower" if high < SLOWEST else "same" if low >= SLOWEST and high <= 1.02 else "inconclusive"


def cpus_text(cpus):
    return "all" if all(len(c) == len(os.sched_getaffinity(0)) for c in cpus) else ", ".join("+".join(map(str, c)) for c in cpus)


def text(results):
    lines = [
        "# Effect of `gputune run` on PyTorch scripts", "",
        "Made by `make bench-effect` from effect.json, which has every sample. The jobs of all arms stay started and train in turns.",
        "A ratio is the median over the rounds of the rate divided by that of the plain call in the same round, with an interval of at",
        "least 95 %. Faster: the interval is above 1.02. Slower: it is below 0.98. Same: it is between them. Otherwise the row is",
        "inconclusive.", "",
        "| PyTorch | job | ranks | arm | threads | CPUs | median | ratio to plain | interval | result |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    slower, open_ = [], []
    for cell in results["cells"]:
        for arm, rate, ratio, (low, high) in rows(cell):
            r, name = cell["arms"][arm], f"{cell['torch']} {cell['job']}, {cell['ranks']} ranks, {arm}"
            result = "" if arm == "plain" else verdict(low, high)
            if arm.startswith("gputune"):
                slower += [name] if result == "slower" else []
                open_ += [name] if result == "inconclusive" else []
            shown = f"{ratio:.2f} | {low:.2f} to {high:.2f}" if result else "1 | "
            lines.append(f"| {cell['torch']} | {cell['job']} | {cell['ranks']} by {cell['launcher']} | {arm} | "
                         f"{', '.join(map(str, r['threads']))} | {cpus_text(r['cpus'])} | {rate:.0f} {UNIT[cell['job']]}/s | {shown} | {result} |")
    lines += ["", f"Rows of gputune that are slower: {'; '.join(slower) or 'none'}.", "",
              f"Rows of gputune that are inconclusive: {'; '.join(open_) or 'none'}.", ""]
    lines += [f"{note}\n" for note in results.get("notes", [])]
    for version, why in results.get("numa_binding", {}).items():
        lines.append(f"`torchrun --numa-binding=node` of PyTorch {version} is not measured: {why}")
    lines += ["", "| PyTorch | date | host | BLAS of the host | rounds | maximum load before |", "|---|---|---|---|---|---|"]
    for version in sorted({c["torch"] for c in results["cells"]}):
        own = [c for c in results["cells"] if c["torch"] == version]
        rounds = sorted({len(c["arms"]["plain"]["items_per_s"]) for c in own})
        lines.append(f"| {version} | {own[-1]['date']} | {own[-1]['host']} | {own[-1]['blas']} | {'/'.join(map(str, rounds))} | "
                     f"{max(c['load_before'] for c in own):.1f} |")
    if results.get("launch_s"):
        base = statistics.median(results["launch_s"]["true"])
        lines += ["", "Cost of a launch: medians over interleaved launches, minus that of a plain call of `true`.", "",
                  "| launcher | extra ms | launches |", "|---|---|---|"]
        for arm, v in results["launch_s"].items():
            if arm != "true":
                lines.append(f"| {arm} | {(statistics.median(v) - base) * 1e3:.2f} | {len(v)} |")
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gputune")
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--jobs", default=",".join(JOBS))
    p.add_argument("--ranks", default="1,2,4")
    p.add_argument("--launches", type=int, default=1000)
    p.add_argument("--results", default="bench/results")
    p.add_argument("--python", default="/usr/bin/python3", help="interpreters with PyTorch, separated by commas")
    p.add_argument("--blas", choices=("stock", "as-is"), default="stock", help="what libblas.so.3 is meanwhile")
    a = p.parse_args()
    a.gputune = os.path.abspath(a.gputune)
    with stock_blas(a.blas == "stock" and "/usr/bin/python3" in a.python.split(",")):
        return run(a)


def load(path):
    if not os.path.exists(path):
        return {"cells": []}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def save(results, folder):
    results["cells"].sort(key=lambda c: (c["torch"], JOBS.index(c["job"]), c["ranks"]))
    with open(os.path.join(folder, "effect.json"), "w", encoding="utf-8") as f:
        json.dump(results, f)
        f.write("\n")
    with open(os.path.join(folder, "effect.md"), "w", encoding="utf-8") as f:
        f.write(text(results))


def run(a):
    pythons, jobs = a.python.split(","), [*filter(None, a.jobs.split(","))]
    if not all(works(python, "-c", "import torch") for python in pythons):
        print("skipped: no PyTorch")
        return 77
    unknown = set(jobs) - set(JOBS)
    if unknown:
        sys.exit(f"no job {', '.join(sorted(unknown))}: there are {', '.join(JOBS)}")
    os.makedirs(a.results, exist_ok=True)
    results = load(os.path.join(a.results, "effect.json"))
    if a.launches:
        results["launch_s"] = launches(a, a.launches)
        save(results, a.results)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        images = os.path.join(scratch, "images")
        os.mkdir(images)
        for python in pythons:
            if "jpeg" in jobs and not os.listdir(images):
                make_images(python, images)
            for job in jobs:
                for n in map(int, a.ranks.split(",")):
                    cell = measure(a, python, job, n, scratch, images)
                    why = numa_binding(python) if cell["launcher"] == "torchrun" else None
                    if why:
                        results.setdefault("numa_binding", {})[cell["torch"]] = why
                    same = (cell["torch"], job, n)
                    results["cells"] = [c for c in results["cells"] if (c["torch"], c["job"], c["ranks"]) != same] + [cell]
                    save(results, a.results)
                    for arm, rate, ratio, (low, high) in rows(cell):
                        print(f"{cell['torch']} {job} {n} {arm}: {rate:.1f} {UNIT[job]}/s, {ratio:.2f} ({low:.2f} to {high:.2f})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
