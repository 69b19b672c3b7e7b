#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a PyTorch program under `gputune run` with the plain call and other launchers, in interleaved rounds.

Usage: bench_effect.py GPUTUNE [--rounds N] [--jobs a,b] [--results DIR] [--python PATH] [--blas stock|as-is]
The same command runs in several arms: plain; under gputune run; under torch.backends.xeon.run_cpu (one instance on all cores);
under numactl; and with a thread per core, if PyTorch uses fewer by default. Nothing else is set. A second part measures the cost
of a launch: 1000 times `gputune run -- true`, `numactl true` and `true`. Results go to DIR/effect.json (all samples) and
DIR/effect.md (made from it).

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

JOBS = {
    "gpt2": ["gpt2", "--batch", "4", "--seq", "64", "--steps", "5", "--warmup", "2"],
    "mlp": ["mlp", "--batch", "256", "--steps", "60", "--warmup", "10"],
}
KEEP = ("framework", "threads", "items_per_s", "unit", "loss", "step_s", "max_rss_bytes")
TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_train.py")


def physical_cores():
    seen = set()
    for cpu in os.sched_getaffinity(0):
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as f:
            seen.add(f.read().strip())
    return len(seen)


def arms(a, job):
    plain = [a.python, TRAIN, *JOBS[job]]
    found = {"plain": plain, "gputune run": [a.gputune, "run", "--", *plain]}
    has = subprocess.run([a.python, "-c", "import torch.backends.xeon.run_cpu"], stderr=subprocess.DEVNULL)
    if not has.returncode and shutil.which("numactl"):
        found["run_cpu"] = [a.python, "-m", "torch.backends.xeon.run_cpu", "--ninstances", "1", "--ncores_per_instance",
                            str(physical_cores()), TRAIN, *JOBS[job]]
    seen = subprocess.run([a.python, "-c", "import torch; print(torch.get_num_threads())"], stdout=subprocess.PIPE, text=True)
    if seen.stdout.strip() != str(physical_cores()):  # virtual processors that are reported as threads of one core
        found["plain, all cores"] = ["env", f"OMP_NUM_THREADS={physical_cores()}", *plain]
    if shutil.which("numactl"):
        found["numactl"] = ["numactl", "--cpunodebind=0", "--localalloc", *plain]
    return found


def answers(directory):
    """Returns the instances' output, which run_cpu writes to files in its working directory."""
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                yield from f


def launch(command):
    drop = ("OMP_", "GOMP_", "KMP_", "LD_", "GLIBC_", "MALLOC_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    with tempfile.TemporaryDirectory() as cwd:
        done = subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [x for x in [*done.stdout.splitlines(), *answers(cwd)] if x.startswith("{")]
    if done.returncode or not lines:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    return {k: v for k, v in json.loads(lines[-1]).items() if k in KEEP}


def measure(a, job):
    commands = arms(a, job)
    runs = {arm: [] for arm in commands}
    for i in range(a.rounds):
        turn = i % len(commands)
        for arm in [*commands][turn:] + [*commands][:turn]:
            load = os.getloadavg()[0]
            runs[arm].append({**launch(commands[arm]), "load_before": load})
            print(f"{job} round {i + 1} {arm}: {runs[arm][-1]['items_per_s']:.1f} {runs[arm][-1]['unit']}/s", flush=True)
    return runs


def launches(a, n):
    commands = {"true": ["/bin/true"], "gputune run": [a.gputune, "run", "--", "/bin/true"]}
    if shutil.which("numactl"):
        commands["numactl"] = ["numactl", "--localalloc", "/bin/true"]
    times = {arm: [] for arm in commands}
    for _ in range(n):
        for arm, command in commands.items():
            t0 = time.perf_counter()
            subprocess.run(command, check=True)
            times[arm].append(time.perf_counter() - t0)
    return times


def ratios(runs):
    rate = {arm: [r["items_per_s"] for r in rs] for arm, rs in runs.items()}
    return {arm: statistics.median(g / o for g, o in zip(rate["gputune run"], v)) for arm, v in rate.items()}


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


def text(results):
    lines = [
        "# Effect of `gputune run` on PyTorch programs", "",
        "Made by `make bench-effect` from effect.json, which has every sample. Each arm runs the same command without other",
        "settings. Rates are medians over interleaved rounds of fresh processes. A ratio is the median of the rounds' ratios and is",
        "above 1 if gputune run is faster.", "",
        "| job | arm | threads | median | gputune run / arm | loss | maximum load before |",
        "|---|---|---|---|---|---|---|",
    ]
    for job, r in results["jobs"].items():
        ratio = ratios(r["runs"])
        for arm, rs in r["runs"].items():
            rate = statistics.median(x["items_per_s"] for x in rs)
            lines.append(f"| {job} | {arm} | {rs[0].get('threads', '')} | {rate:.0f} {rs[0]['unit']}/s | {ratio[arm]:.2f} "
                         f"| {rs[0]['loss']:.4f} | {max(x['load_before'] for x in rs):.1f} |")
    lines += ["", "| job | date | host | BLAS of the plain call | PyTorch | rounds |", "|---|---|---|---|---|---|"]
    for job, r in results["jobs"].items():
        lines.append(f"| {job} | {r['date']} | {r['host']} | {r['blas']} | {r['runs']['plain'][0]['framework']} | {r['rounds']} |")
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
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--jobs", default=",".join(JOBS))
    p.add_argument("--launches", type=int, default=1000)
    p.add_argument("--results", default="bench/results")
    p.add_argument("--python", default="/usr/bin/python3")
    p.add_argument("--blas", choices=("stock", "as-is"), default="stock", help="what libblas.so.3 is meanwhile")
    a = p.parse_args()
    a.gputune = os.path.abspath(a.gputune)
    with stock_blas(a.blas == "stock" and a.python == "/usr/bin/python3"):
        return run(a)


def run(a):
    if subprocess.run([a.python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no PyTorch")
        return 77
    unknown = set(filter(None, a.jobs.split(","))) - set(JOBS)
    if unknown:
        sys.exit(f"no job {', '.join(sorted(unknown))}: there are {', '.join(JOBS)}")
    os.makedirs(a.results, exist_ok=True)
    path = os.path.join(a.results, "effect.json")
    results = {"jobs": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            results = json.load(f)
    if a.launches:
        results["launch_s"] = launches(a, a.launches)
    for job in filter(None, a.jobs.split(",")):
        results["jobs"][job] = {
            "date": datetime.date.today().isoformat(), "blas": default_blas(), "rounds": a.rounds, "options": JOBS[job],
            "host": f"{cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}", "runs": measure(a, job),
        }
    with open(path, "w", encoding="utf-8") as f:
        json.dump(results, f)
        f.write("\n")
    with open(os.path.join(a.results, "effect.md"), "w", encoding="utf-8") as f:
        f.write(text(results))
    print(text(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
