#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the runtime's distance from this host's limit, the gain of mixed precision, and the speed when a core is taken.

Usage: bench_runtime.py GPUBENCH [--rounds N] [--parts limit,amp,stolen] [--results DIR] [--python PATH] [--resume]
Samples go to DIR/runtime.json; DIR/cpu.md is made from that and from bench_torch.py's cpu.json. Parts that are not run keep
their older figures. Results are written after every model. --resume skips models that the same program measured on this host
today with as many rounds. Needs a quiet host and about two minutes for each part on two cores.
"""
import argparse
import datetime
import hashlib
import json
import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
import bench_torch

MODELS = {
    "gpt2-6x384": ["gpt2", "--layers", "6", "--width", "384", "--heads", "6", "--batch", "4", "--seq", "256", "--steps", "5",
                   "--warmup", "2"],
    "gpt2-124m": ["gpt2", "--batch", "4", "--seq", "256", "--steps", "2", "--warmup", "1"],
    "resnet20": ["resnet20", "--batch", "64", "--steps", "20", "--warmup", "3"],
    "mlp": ["mlp", "--batch", "256", "--steps", "60", "--warmup", "10"],
}
# Without the core, a step may take many times as long.
STOLEN = {"mlp": ["--steps", "40", "--warmup", "5"], "gpt2-6x384": ["--steps", "3", "--warmup", "1"]}


def launch(gpubench, model, options, env=None):
    command = [gpubench, "train", *MODELS[model], *options, "--json", "--quiet"]
    done = subprocess.run(command, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    doc = json.loads(done.stdout)
    keep = ("items_per_s", "unit", "planned_bytes", "max_rss_bytes", "median_step_s", "flops_per_step", "parameters", "peaks",
            "optimizer", "accum", "loss")
    return {k: doc[k] for k in keep if k in doc} | {p["name"]: p["did"] for p in doc["passes"] if p["name"] == "amp"}


class Taken:
    """Keeps one core busy with another process while the object exists."""

    def __init__(self, cpu):
        self.cpu = cpu

    def __enter__(self):
        code = f"import os; os.sched_setaffinity(0, [{self.cpu}])\nwhile True: pass"
        self.process = subprocess.Popen([sys.executable, "-c", code])

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def launch_torch(python, model, options):
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_train.py")
    return bench_torch.launch([python, peer, *MODELS[model], *options], bench_torch.best_env())


def stolen(a, threads, model):
    """Measures undisturbed and with one busy process: bounded spinning, libgomp's own active waiting, and PyTorch."""
    cpu = max(os.sched_getaffinity(0))
    options = ["--threads", str(threads), *STOLEN[model]]
    arms = {
        "bounded by gpubench": lambda: launch(a.gpubench, model, options),
        "default of libgomp": lambda: launch(a.gpubench, model, options, {"GOMP_SPINCOUNT": "300000"}),
    }
    if not subprocess.run([a.python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        arms["best PyTorch"] = lambda: launch_torch(a.python, model, options)
    runs = {f"{k}, {w}": [] for k in arms for w in ("undisturbed", "one core taken")}
    for _ in range(a.rounds):
        for k, arm in arms.items():
            runs[f"{k}, undisturbed"].append(arm())
            with Taken(cpu):
                runs[f"{k}, one core taken"].append(arm())
            print(f"{model} {k}: {runs[f'{k}, undisturbed'][-1]['items_per_s']:.1f}, with a core taken "
                  f"{runs[f'{k}, one core taken'][-1]['items_per_s']:.1f}", flush=True)
    return runs


def limit(a, threads, model):
    """Returns the minimum time for a step's flops and its optimizer's bytes, divided by the measured time; f32."""
    return [launch(a.gpubench, model, ["--threads", str(threads), "--profile"]) for _ in range(a.rounds)]


TYPES = ("fp32", "bf16", "fp16")


def amp(a, threads, model):
    """Measures the same job with matrix products in each type, alternating."""
    runs = {t: [] for t in TYPES}
    for i in range(a.rounds):
        for t in TYPES[::-1] if i % 2 else TYPES:
            runs[t].append(launch(a.gpubench, model, ["--threads", str(threads), "--amp", t]))
        print(f"{model}: " + ", ".join(f"{t} {runs[t][-1]['items_per_s']:.1f}" for t in TYPES), flush=True)
    return runs


def amp_lines(data):
    lines = ["", "## Mixed precision", "",
             "The same job with matrix products in bf16 or fp16 (`--amp`). The speed-up over FP32 is the median of the rounds' ratios.",
             "It is below 1 if the processor cannot multiply the type and only stores it. 3x3 convolutions stay in FP32 where Winograd",
             "tiles, which need a quarter of the products, are faster than all products in reduced precision.", ""]
    lines += [f"- {t}: {said.split('; ', 1)[1]}" for t in TYPES[1:]
              for said in [next(iter(data["amp"].values()))[t][0]["amp"]]]
    lines += [f"- {model} in {t}: {said.split('; ')[-1]}" for model, runs in data["amp"].items() for t in TYPES[1:]
              for said in [runs[t][0]["amp"]] if "stay f32" in said]
    lines += ["", "| job | FP32 | bf16 | fp16 |", "|---|---|---|---|"]
    for model, runs in data["amp"].items():
        ratios = [statistics.median(x["items_per_s"] / y["items_per_s"] for x, y in zip(runs[t], runs["fp32"])) for t in TYPES[1:]]
        plain = f"{median(runs['fp32'], 'items_per_s'):.0f} {runs['fp32'][0]['unit']}/s"
        lines.append(f"| {model} | {plain} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    return lines


def median(runs, key):
    return statistics.median(r[key] for r in runs)


def stolen_lines(data):
    lines = ["", "## One core used by another process", "",
             "A process that never sleeps runs on one of the cores. The last column is the remaining share of the undisturbed speed: with",
             "bounded OpenMP spinning (gpubench's default), with libgomp's default, and for PyTorch in the same rounds.", "",
             "| job | spinning | undisturbed | one core used | remaining |", "|---|---|---|---|---|"]
    for model, runs in data["stolen"].items():
        for kind in sorted({name.split(", ")[0] for name in runs}):
            free, busy = (median(runs[f"{kind}, {w}"], "items_per_s") for w in ("undisturbed", "one core taken"))
            lines.append(f"| {model} | {kind} | {free:.0f} | {busy:.0f} | {100 * busy / free:.0f} % |")
    return lines


STATE_BYTES = {"sgd": 20, "adam": 28, "adamw": 28, "adamw8": 16}  # bytes that an update moves per parameter


def limit_lines(data):
    runs = [r for rs in data["limit"].values() for r in rs]
    flops, low, memory = (max(r["peaks"][k] for r in runs) for k in ("flops_per_s", "bf16_flops_per_s", "bytes_per_s"))
    lines = ["", "## Distance to the limit", "",
             f"Measured in the same runs: {flops / 1e9:.0f} Gflop/s for an f32 product of 1536 x 1536"
             f"{f', {low / 1e9:.0f} in bf16' if low else ''},",
             f"{memory / 1e9:.1f} GB/s for c = a + b over 192 MiB. The limit is the time that a step's counted flops and the bytes of",
             "its update need at these rates; activations are not counted.", "",
             "| job | limit | measured | share of the limit |", "|---|---|---|---|"]
    for model, rs in data["limit"].items():
        least = rs[0]["flops_per_step"] / flops + rs[0]["parameters"] * STATE_BYTES[rs[0]["optimizer"]] / memory
        rate, took = median(rs, "items_per_s"), median(rs, "median_step_s")
        lines.append(f"| {model} | {rate * took / least:.0f} {rs[0]['unit']}/s | {rate:.0f} | {100 * least / took:.0f} % |")
    return lines


def load(results, name):
    path = os.path.join(results, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def render(results):
    """Writes DIR/cpu.md from all measurements."""
    beside, data = load(results, "cpu.json"), load(results, "runtime.json")
    text = bench_torch.table({k: beside[k] for k in bench_torch.JOBS if k in beside}).splitlines()
    for part, lines in (("limit", limit_lines), ("amp", amp_lines), ("stolen", stolen_lines)):
        if part in data:
            text += lines(data) + ["", f"{data['made'][part]}."]
    if data:
        text += ["", "The parts below the first table are made by `make bench-runtime` from runtime.json, which has every run."]
    with open(os.path.join(results, "cpu.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(text) + "\n")


PARTS = {"limit": (limit, MODELS), "amp": (amp, MODELS), "stolen": (stolen, STOLEN)}


def measure(a, data, part, stamp, threads):
    """Measures each model of a part and writes it at once. data["done"] records the program, host, day and rounds."""
    run, models = PARTS[part]
    for model in models:
        if a.resume and data["done"].get(f"{part} {model}") == stamp:
            print(f"{part} {model}: measured before")
            continue
        data.setdefault(part, {})[model] = run(a, threads, model)
        data["done"][f"{part} {model}"] = stamp
        with open(os.path.join(a.results, "runtime.json"), "w", encoding="utf-8") as f:
            json.dump(data, f, indent=1)
            f.write("\n")
        render(a.results)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--results", default="bench/results")
    p.add_argument("--python", default="/usr/bin/python3", help="whose PyTorch stands beside it with a core taken")
    p.add_argument("--resume", action="store_true", help="only what is missing")
    a = p.parse_args()
    unknown = set(a.parts.split(",")) - set(PARTS)
    if unknown:
        sys.exit(f"no {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    os.makedirs(a.results, exist_ok=True)
    data = load(a.results, "runtime.json")
    data.setdefault("done", {})
    data.setdefault("made", {})  # Each part may have been measured on another day.
    threads = len(os.sched_getaffinity(0))
    host = f"{bench_torch.cpu_name()}, {threads} CPUs, Linux {os.uname().release}"
    made = f"{datetime.date.today().isoformat()}, {host}, {a.rounds} rounds"
    with open(a.gpubench, "rb") as f:
        program = hashlib.sha256(f.read()).hexdigest()[:16]
    stamp = f"{made}, {program}"
    for part in a.parts.split(","):
        data["made"][part] = f"{made}, load before {os.getloadavg()[0]:.1f}"
        measure(a, data, part, stamp, threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
