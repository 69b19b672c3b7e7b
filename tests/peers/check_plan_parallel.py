#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the predictions of gpubench plan-parallel with runs of all splits among four ranks on this host. Planned memory and
counted bytes must be equal.

Usage: check_plan_parallel.py [--times]
--times: also measures the step times in interleaved rounds and prints them next to the predictions. Splits whose predictions
differ by a factor of two or more must have that order. Four ranks on fewer than four cores show no scaling.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

TOOL = os.path.join(os.environ.get("TOP_BUILDDIR") or os.getcwd(), "gpubench")
RANKS, BATCH, STEPS, WARMUP, ROUNDS = 4, 16, 2, 2, 5
# The model reads random tokens: no evaluation adds messages.
SIZES = {"gpt2": ["--seq", "32", "--layers", "4", "--width", "64", "--heads", "4", "--vocab", "512"],
         "llama": ["--seq", "32", "--layers", "4", "--width", "64", "--heads", "4", "--kv-heads", "4", "--ffn", "96", "--vocab",
                   "512"]}
LARGE = {"gpt2": ["--seq", "128", "--layers", "4", "--width", "256", "--heads", "4", "--vocab", "4096"]}
RATES = ["--tflops", "0.05", "--memory-bandwidth", "8", "--bandwidth", "2"]


def output(*command):
    done = subprocess.run([TOOL, *command, "--json"], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"Bail out! gpubench {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def plan(model, sizes, *more):
    return output("plan-parallel", model, *sizes, "--ranks", str(RANKS), "--batch", str(BATCH), "--threads", "1", "--memory", "4G",
                  *more)


def train(model, sizes, k, steps=STEPS):
    options = ["--ranks", str(RANKS), "--tp", str(k["tp"]), "--pp", str(k["pp"]), "--batch", str(BATCH // k["dp"])]
    options += ["--sp"] if k.get("sp") else []
    options += ["--shard", str(k["zero"]) if k["zero"] else "off"] if k["dp"] > 1 else []
    return output("train", model, *sizes, *options, "--microbatches", str(k["microbatches"]), "--threads", "1", "--steps",
                  str(steps), "--warmup", str(WARMUP), "--quiet")


def name_of(k):
    return f"dp {k['dp']}, tp {k['tp']}, pp {k['pp']}, ZeRO {k['zero']}{', sp' if k.get('sp') else ''}"


def reported(doc, k):
    """Returns the memory of the rank that needs the most, and the bytes per update that ranks report. In a
    pipeline, all ranks report only the messages between stages. The other bytes are those of the first rank."""
    ranks = doc.get("pipeline", {}).get("ranks", [doc])
    ddp, groups = doc.get("ddp") or {}, (doc.get("groups") or {}).get("tensor") or {}
    return {"memory_bytes": max(r["planned_bytes"] for r in ranks), "data_sent_bytes": ddp.get("sent_bytes_per_step", 0),
            "tensor_sent_bytes": groups.get("sent_bytes", 0) / (STEPS + WARMUP),
            "pipeline_sent_bytes": max(r.get("sent_bytes", 0) for r in ranks)}


def differences(k, got):
    keys = [key for key in got if k["pp"] == 1 or key in ("memory_bytes", "pipeline_sent_bytes")]
    return [f"{key}: {k[key]} predicted, {got[key]:.0f} reported" for key in keys if abs(k[key] - got[key]) > 0.5]


def check_counts():
    for model, sizes in SIZES.items():
        splits = plan(model, sizes, *RATES)["splits"]
        splits += [{**k, "sp": True} for k in plan(model, sizes, *RATES, "--sp")["splits"] if k["tp"] > 1]
        for k in sorted(splits, key=lambda k: (k["tp"], k["pp"], k["zero"])):
            tap.rule(f"{model}, {name_of(k)}: memory and sent bytes are as predicted",
                     differences(k, reported(train(model, sizes, k), k)))


def check_times():
    for model, sizes in LARGE.items():
        predicted = plan(model, sizes)["splits"]
        seconds = [[] for _ in predicted]
        for _ in range(ROUNDS):
            for k, s in zip(predicted, seconds):
                s.append(train(model, sizes, k, 4)["median_step_s"])
        for k, s in zip(predicted, seconds):
            k["measured_s"] = min(s)
            print(f"# {name_of(k)}, {k['microbatches']} microbatches: {1e3 * k['step_s']:.1f} ms predicted, "
                  f"{1e3 * k['measured_s']:.1f} ms measured, {1e3 * statistics.median(s):.1f} ms median")
        pairs = [(a, b) for a in predicted for b in predicted if a["step_s"] * 2 <= b["step_s"]]
        tap.rule(f"{model}: {len(pairs)} pairs of splits have the predicted order of step times",
                 [f"{name_of(a)} is slower than {name_of(b)}" for a, b in pairs if a["measured_s"] > b["measured_s"]])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--times", action="store_true")
    a = p.parse_args()
    check_counts()
    if a.times:
        check_times()
    tap.plan()


main()
