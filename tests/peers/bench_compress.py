#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compresses models step by step on real data: FP32, bf16, INT8, pruned. Writes bench/results/compress.md.

Usage: bench_compress.py GPUBENCH [--rounds N] [--digits FILE] [--results DIR]
A byte GPT is trained on the licence texts of the host. A ResNet-20 is trained on handwritten digits (python3-sklearn, or
--digits FILE). Each pruned model continues from the dense one, and "dense, trained on" has as many updates. FP32 and INT8 of a
checkpoint run alternately in one process, and the processes of all checkpoints alternate. Times are medians over the rounds.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_int8 import DIGITS, run, write_digits  # noqa: E402

MODELS = {  # name: options of the model, of its training, batch, timed runs
    "byte GPT": (["gpt"], ["--steps", "400"], "8", "30"),
    "ResNet-20, digits": (["resnet20", "--size", "8"], ["--steps", "300", "--lr", "0.05"], "64", "30"),
}
PRUNED = {"dense, trained on": [], "50 % pruned": ["--prune", "0.5"], "80 % pruned": ["--prune", "0.8"], "2:4": ["--prune", "2:4"]}


class Model:
    def __init__(self, a, name, where):
        self.a, self.name, self.where = a, name, where
        self.options, self.training, self.batch, self.runs = MODELS[name]
        if self.options[0] == "resnet20":
            write_digits(a.digits, f"{where}/digits")
            self.options = [*self.options, "--data", f"{where}/digits"]

    def train(self, save, *more):
        return run([self.a.gpubench, "train", *self.options, *self.training, "--threads", str(self.a.threads), "--save", save, "--json",
                    "--quiet", *more])

    def infer(self, load, *more):
        options = self.options if "--int8" in more else [o for o in self.options if o not in ("--data", f"{self.where}/digits")]
        return run([self.a.gpubench, "infer", *options, "--load", load, "--batch", self.batch, "--runs", self.runs, "--threads",
                    str(self.a.threads), "--json", "--quiet", *more])

    def held_out(self, load, *more):
        """Returns the held-out loss that training measures, without an update."""
        return run([self.a.gpubench, "train", *self.options, "--resume", load, "--lr", "0", "--steps", "1", "--warmup", "0", "--threads",
                    str(self.a.threads), "--json", "--quiet", *more])["heldout_loss_before"]

    def rows(self):
        """Returns one row per variant."""
        paths = {"dense": f"{self.where}/dense.st"}
        fraction = {"dense": 0}
        self.train(paths["dense"])
        for name, how in PRUNED.items():
            paths[name] = f"{self.where}/{len(paths)}.st"
            doc = self.train(paths[name], "--resume", paths["dense"], *how)
            fraction[name] = doc.get("pruning", {"fraction": 0})["fraction"]
        docs = {name: [] for name in paths}
        low = []
        for i in range(self.a.rounds):
            for name in list(paths) if i % 2 else reversed(list(paths)):
                docs[name].append(self.infer(paths[name], "--int8", "static"))
            low.append(self.infer(paths["dense"], "--amp", "bf16"))
        change = self.held_out(paths["dense"], "--amp", "bf16") / self.held_out(paths["dense"])
        out = []
        for name, path in paths.items():
            out += [self.row(f"{name}, FP32", docs[name], fraction[name], "fp32"), self.row(f"{name}, INT8", docs[name], fraction[name], "int8")]
            if name == "dense":
                out.insert(1, {"name": "dense, bf16", "p50_s": statistics.median(d["batches"][0]["p50_s"] for d in low), "zeros": 0,
                               "bytes": low[0]["parameters"] * 2, "planned": low[0]["batches"][0]["planned_bytes"],
                               "loss": out[0]["loss"] * change, "accuracy": None})
        self.products = docs["dense"][0]["int8"]["products"].split("multiplied by ")[-1]
        return out

    @staticmethod
    def row(name, docs, fraction, which):
        last, evaluated = docs[-1], docs[-1]["int8"]["evaluated"]
        batch = [d["batches"][0] if which == "int8" else d["batches"][0]["fp32"] for d in docs]
        prefix = "" if which == "int8" else "fp32_"
        return {"name": name, "p50_s": statistics.median(b["p50_s"] for b in batch), "zeros": fraction,
                "bytes": last["int8"][f"{prefix}weight_bytes"], "planned": batch[-1]["planned_bytes"], "loss": evaluated[f"{prefix}loss"],
                "accuracy": evaluated[f"{prefix}accuracy"]}


def table(model, rows):
    text = [f"## {model.name}", "", f"Batch of {model.batch}, {model.a.threads} threads, INT8 by {model.products}.", "",
            "| variant | ms | speed-up | weights KiB | zeros | memory MiB | held-out loss | accuracy |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for r in rows:
        accuracy = "" if r["accuracy"] is None else f"{r['accuracy']:.2%}"
        text.append(f"| {r['name']} | {1e3 * r['p50_s']:.2f} | {rows[0]['p50_s'] / r['p50_s']:.2f} | {r['bytes'] / 1024:.0f} | {r['zeros']:.0%} | "
                    f"{r['planned'] / 2**20:.1f} | {r['loss']:.4f} | {accuracy} |")
    return text + [""]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--digits", default=DIGITS)
    p.add_argument("--results", default="bench/results")
    a = p.parse_args()
    a.threads = len(os.sched_getaffinity(0))
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), "CPU")
    text = ["# Compression: FP32, bf16, INT8, pruned", "",
            f"{cpu}, {a.rounds} rounds of alternating processes. Times are medians over the rounds. The speed-up is relative to "
            "the first row. Other programs may have used the processor at the same time. The loss of bf16 is that of FP32 times "
            "the ratio of both losses in `gpubench train --lr 0`. Pruned weights are stored with their zeros and multiplied in "
            "the same time. Made by `make bench-compress`.", ""]
    results = {}
    for name in MODELS:
        with tempfile.TemporaryDirectory() as where:
            if name.startswith("ResNet") and not os.path.exists(a.digits):
                continue
            model = Model(a, name, where)
            results[name] = model.rows()
            text += table(model, results[name])
    with open(f"{a.results}/compress.md", "w", encoding="utf-8") as f:
        f.write("\n".join(text).rstrip() + "\n")
    with open(f"{a.results}/compress.json", "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
