#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpubench's training step with PyTorch's on the same cores, in interleaved rounds of fresh processes.

Usage: bench_torch.py GPUBENCH [--rounds N] [--jobs a,b,...] [--results DIR] [--python PATH] [--newest PATH]
Three arms: gpubench train; PyTorch with Debian's defaults; PyTorch with its best settings. These are the OpenMP flavour of OpenBLAS
instead of the pthread one, OPENBLAS_CORETYPE if OpenBLAS does not detect the processor, a glibc malloc that keeps its memory, and
images with their channels innermost. All arms have the same number of threads. Results go to DIR/cpu.json (all samples) and
DIR/cpu.md (made from it). Jobs that are not run keep their older rows.
--newest names the Python of an environment with a newer PyTorch. It adds two arms with the best settings, without and with
torch.compile. --llmc names a directory with a built train_gpt2 of llm.c. It adds an arm to the jobs of 4 x 64 tokens, which llm.c
supports. --isa AVX2 limits all arms to that instruction set.
"""
import argparse
import array
import ctypes
import datetime
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import openblas

JOBS = {  # name: options for both sides
    "gpt2-124m-b4-t64": ["gpt2", "--batch", "4", "--seq", "64", "--steps", "6", "--warmup", "2"],
    "gpt2-124m-b4-t256": ["gpt2", "--batch", "4", "--seq", "256", "--steps", "3", "--warmup", "2"],
    "gpt2-6x384-b4-t64": ["gpt2", "--layers", "6", "--width", "384", "--heads", "6", "--batch", "4", "--seq", "64",
                          "--steps", "12", "--warmup", "3"],
    "gpt2-6x384-b4-t256": ["gpt2", "--layers", "6", "--width", "384", "--heads", "6", "--batch", "4", "--seq", "256",
                           "--steps", "6", "--warmup", "2"],
    "resnet20-b64": ["resnet20", "--batch", "64", "--steps", "30", "--warmup", "4"],
    "mlp-784-1024-1024-10-b256": ["mlp", "--batch", "256", "--steps", "100", "--warmup", "10"],
}
BEST_OPTIONS = {"resnet20": ["--channels-last"]}  # further options that make PyTorch fast for a model
OPENMP_BLAS = f"/usr/lib/{platform.machine()}-linux-gnu/openblas-openmp"
BEST = {
    "LD_LIBRARY_PATH": OPENMP_BLAS,
    "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=8589934592:glibc.malloc.trim_threshold=34359738368:"
                      "glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1",
}
KEEP = ("framework", "items_per_s", "unit", "loss", "step_s", "max_rss_bytes", "minor_faults_per_step", "flops_per_s",
        "planned_bytes", "blas", "isa")


def best_env():
    """Returns BEST, with OPENBLAS_CORETYPE if the OpenBLAS of BEST uses the kernels of a much older processor."""
    blas = ctypes.CDLL(os.path.join(OPENMP_BLAS, "libopenblas.so.0"))
    blas.openblas_get_corename.restype = ctypes.c_char_p
    if blas.openblas_get_corename().decode().lower() not in openblas.OLD:
        return BEST
    flags = openblas.flags()
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"} <= set(flags):
        return {**BEST, "OPENBLAS_CORETYPE": "SkylakeX"}
    return {**BEST, "OPENBLAS_CORETYPE": "Haswell"} if {"avx2", "fma"} <= set(flags) else BEST


def launch(command, env):
    done = subprocess.run(command, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return {k: v for k, v in json.loads(done.stdout).items() if k in KEEP}


# Variables that limit oneDNN (and so gpubench's kernels), ATen's own kernels, OpenBLAS and MKL to an instruction set.
HELD = {"AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell",
                 "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}


def option(options, name, otherwise):
    return int(options[options.index(name) + 1]) if name in options else otherwise


def make_llmc_files(where, options):
    """Writes the input of llm.c's trainer: a checkpoint of random numbers with the model's sizes, and random tokens."""
    layers, width, heads = (option(options, *o) for o in (("--layers", 12), ("--width", 768), ("--heads", 12)))
    vocab, padded, context = 50257, 50304, 1024
    # in the file's order; None: random. Embeddings; of all layers: norm, attention, projection, norm, two linears; norm
    tensors = [(padded * width, None), (context * width, None)] + [(n * layers, value) for n, value in (
        (width, 1), (width, 0), (3 * width * width, None), (3 * width, 0), (width * width, None), (width, 0),
        (width, 1), (width, 0), (4 * width * width, None), (4 * width, 0), (4 * width * width, None), (width, 0))] + [
        (width, 1), (width, 0)]
    rng = random.Random(1)
    some = array.array("f", (rng.gauss(0, 0.02) for _ in range(1 << 16)))

    def write(f, n, value):
        if value is None:
            f.write((some * (n // len(some) + 1))[:n].tobytes())
        else:
            f.write(array.array("f", [value]).tobytes() * n)

    with open(os.path.join(where, "gpt2_124M.bin"), "wb") as f:
        f.write(array.array("i", [20240326, 3, context, vocab, layers, heads, width, padded] + [0] * 248).tobytes())
        for n, value in tensors:
            write(f, n, value)
    data = os.path.join(where, "dev", "data", "tinyshakespeare")
    os.makedirs(data)
    for part in ("train", "val"):
        with open(os.path.join(data, f"tiny_shakespeare_{part}.bin"), "wb") as f:
            f.write(array.array("i", [20240520, 1, 32768] + [0] * 253).tobytes())
            f.write(array.array("H", (rng.randrange(vocab) for _ in range(32768))).tobytes())


def launch_llmc(program, options, env):
    """Returns the median of as many steps as the others make, before llm.c begins to print samples of text."""
    steps, warmup = option(options, "--steps", 6), option(options, "--warmup", 2)
    with tempfile.TemporaryDirectory() as where:
        make_llmc_files(where, options)
        took = []
        with subprocess.Popen([program], cwd=where, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, bufsize=1) as p:
            said = []
            for line in p.stdout:
                said.append(line)
                found = re.match(r"step \d+: train loss [\d.]+ \(took ([\d.]+) ms\)", line)
                took += [float(found.group(1)) / 1e3] if found else []
                if len(took) == min(steps + warmup, 19):
                    break
            p.kill()
        if len(took) <= warmup:
            sys.exit(f"{program} made no steps: {''.join(said)[-400:]}")
    tokens = option(options, "--batch", 4) * option(options, "--seq", 64)
    return {"framework": "llm.c", "items_per_s": tokens / statistics.median(took[warmup:]), "unit": "tokens", "step_s": took[warmup:]}


def measure(a, name, threads):
    options = JOBS[name] + ["--threads", str(threads)]
    peer = [a.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_train.py")] + options
    held = HELD[a.isa] if a.isa else {}
    best = {**best_env(), **held}
    arms = {
        "gputune": ([a.gpubench, "train", *options, "--json", "--quiet"], held),
        "torch default": (peer, held),
        "torch best": (peer + BEST_OPTIONS.get(JOBS[name][0], []), best),
    }
    if a.newest:
        newest = [a.newest, *arms["torch best"][0][1:], "--fused"]
        arms["torch newest"] = (newest, best)
        arms["torch compile"] = ([*newest, "--compile"], best)
    if a.llmc and JOBS[name][0] == "gpt2" and option(JOBS[name], "--seq", 0) == 64:
        arms["llm.c"] = (None, {"OMP_NUM_THREADS": str(threads)})
    runs = {arm: [] for arm in arms}
    for i in range(a.rounds):
        order = list(arms)[i % len(arms):] + list(arms)[: i % len(arms)]
        for arm in order:
            load = os.getloadavg()[0]
            command, env = arms[arm]
            one = launch(command, env) if command else launch_llmc(os.path.join(os.path.abspath(a.llmc), "train_gpt2"), JOBS[name], env)
            runs[arm].append({**one, "load_before": load})
            print(f"{name} round {i + 1} {arm}: {runs[arm][-1]['items_per_s']:.1f} {runs[arm][-1]['unit']}/s", flush=True)
    return runs


def summary(runs):
    rate = {arm: [r["items_per_s"] for r in rs] for arm, rs in runs.items()}
    ratio = {arm: statistics.median(o / t for o, t in zip(rate["gputune"], rate[arm])) for arm in rate if arm != "gputune"}
    return {arm: statistics.median(v) for arm, v in rate.items()}, ratio


def middle(runs):
    """Returns the other columns of a row, each the median of its samples."""
    return {k: statistics.median(r[k] for r in runs) for k in ("flops_per_s", "max_rss_bytes", "minor_faults_per_step")
            if all(k in r for r in runs)}


def default_blas():
    """Returns PyTorch's default flavour of OpenBLAS, which the alternatives select."""
    path = os.path.realpath(f"/usr/lib/{platform.machine()}-linux-gnu/libblas.so.3")
    return os.path.basename(os.path.dirname(path)) if os.path.exists(path) else "unknown"


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def table(results):
    lines = [
        "# Training steps on CPUs, compared with PyTorch", "",
        "Made by `make bench-torch` from cpu.json, which has every sample. One row is the median over interleaved rounds of",
        "fresh processes. A ratio is the median of the rounds' ratios. \"Best\" PyTorch uses the OpenMP build of OpenBLAS, the kernels",
        "of this processor if OpenBLAS detects an older one, and glibc's malloc with settings that keep freed memory. \"Default\" is",
        "PyTorch as Debian starts it. All runs are FP32.", "",
        "| job | gputune | best PyTorch | ratio | default PyTorch | ratio | Gflop/s | peak memory, gputune / best | faults per step, gputune / best |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in results.items():
        rate, ratio = summary(r["runs"])
        ours, best = (middle(r["runs"][arm]) for arm in ("gputune", "torch best"))
        lines.append(
            f"| {name} | {rate['gputune']:.0f} {r['runs']['gputune'][0]['unit']}/s | {rate['torch best']:.0f} | **{ratio['torch best']:.2f}** "
            f"| {rate['torch default']:.0f} | {ratio['torch default']:.2f} | {ours['flops_per_s'] / 1e9:.0f} "
            f"| {ours['max_rss_bytes'] / 2**30:.2f} / {best['max_rss_bytes'] / 2**30:.2f} GiB "
            f"| {ours['minor_faults_per_step']:.0f} / {best['minor_faults_per_step']:.0f} |")
    newer = {name: r["runs"] for name, r in results.items() if "torch compile" in r["runs"]}
    if newer:
        lines += ["", "| job | gputune | newest PyTorch | ratio | with torch.compile | ratio | version |", "|---|---|---|---|---|---|---|"]
    for name, runs in newer.items():
        rate, ratio = summary(runs)
        lines.append(f"| {name} | {rate['gputune']:.0f} {runs['gputune'][-1]['unit']}/s | {rate['torch newest']:.0f} "
                     f"| **{ratio['torch newest']:.2f}** | {rate['torch compile']:.0f} | **{ratio['torch compile']:.2f}** "
                     f"| {runs['torch compile'][0]['framework']} |")
    small = {name: r["runs"] for name, r in results.items() if "llm.c" in r["runs"]}
    if small:
        lines += ["", "| job | gputune | llm.c | ratio |", "|---|---|---|---|"]
    for name, runs in small.items():
        rate, ratio = summary(runs)
        lines.append(f"| {name} | {rate['gputune']:.0f} {runs['gputune'][-1]['unit']}/s | {rate['llm.c']:.0f} | **{ratio['llm.c']:.2f}** |")
    lines += ["", "| job | date | host | threads | rounds | maximum load before | gputune | PyTorch, default BLAS |", "|---|---|---|---|---|---|---|---|"]
    for name, r in results.items():
        ours = r["runs"]["gputune"][0]
        load = max(x["load_before"] for rs in r["runs"].values() for x in rs)
        lines.append(f"| {name} | {r['date']} | {r['host']} | {r['threads']} | {r['rounds']} | {load:.1f} "
                     f"| {ours['framework']}, {ours['blas']}, {ours['isa']} | {r['runs']['torch best'][0]['framework']}, {r['torch_default_blas']} |")
    lines += ["", "| job | gputune command | PyTorch command |", "|---|---|---|"]
    for name, r in results.items():
        words = " ".join(r["command"][2:])
        env = " ".join(f"{k}={v}" for k, v in r.get("best_env", BEST).items() if k != "GLIBC_TUNABLES")
        lines.append(f"| {name} | `gpubench train {words}` | `{env} GLIBC_TUNABLES=… torch_train.py {words}` |")
    lines += ["", f"GLIBC_TUNABLES: `{BEST['GLIBC_TUNABLES']}`; the script is `tests/peers/torch_train.py`."]
    return "\n".join(lines) + "\n"


def main():
    import bench_runtime  # It writes the whole of cpu.md and imports this file.

    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--jobs", default=",".join(JOBS))
    p.add_argument("--results", default="bench/results")
    p.add_argument("--python", default="/usr/bin/python3")
    p.add_argument("--newest", help="a Python whose PyTorch is newer")
    p.add_argument("--llmc", help="a directory with llm.c's train_gpt2")
    p.add_argument("--isa", choices=HELD, help="hold all arms to this instruction set")
    a = p.parse_args()
    if subprocess.run([a.python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no PyTorch")
        return 77
    if not os.path.isdir(OPENMP_BLAS):
        sys.exit(f"no {OPENMP_BLAS}: install libopenblas0-openmp, or PyTorch would not be at its best")
    unknown = set(a.jobs.split(",")) - set(JOBS)
    if unknown:
        sys.exit(f"no job {', '.join(sorted(unknown))}: there are {', '.join(JOBS)}")
    os.makedirs(a.results, exist_ok=True)
    path = os.path.join(a.results, "cpu.json")
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            results = json.load(f)
    threads = len(os.sched_getaffinity(0))
    for name in a.jobs.split(","):
        results[name] = {
            "date": datetime.date.today().isoformat(), "host": f"{cpu_name()}, {threads} CPUs, Linux {platform.release()}",
            "torch_default_blas": default_blas(), "best_env": {**best_env(), **(HELD[a.isa] if a.isa else {})}, "threads": threads, "rounds": a.rounds, "command": ["gpubench", "train", *JOBS[name], "--threads", str(threads)],
            "runs": measure(a, name, threads),
        }
        _, ratio = summary(results[name]["runs"])
        print(f"{name}: {ratio['torch best']:.2f} times the best PyTorch, {ratio['torch default']:.2f} times the default")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({k: results[k] for k in JOBS if k in results}, f, indent=1)
            f.write("\n")
        bench_runtime.render(a.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
