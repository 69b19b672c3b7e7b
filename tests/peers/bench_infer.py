#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares text generation on the CPU with PyTorch: gpubench infer --generate, generate() of transformers, and a plain loop of
PyTorch with a static cache. All use the same random weights, threads and prompts; rounds are interleaved.

Usage: bench_infer.py GPUBENCH [--rounds N] [--models gpt2,llama] [--threads N] [--results DIR]
Samples go to DIR/infer.json, the table to DIR/infer.md. Models that are not run keep their older figures. Exit status 77 where
transformers is missing. Needs a quiet host and about three minutes per model on two cores.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, StaticCache
except ImportError as missing:
    print(f"no transformers ({missing})")
    sys.exit(77)

PROMPT, NEW, BATCHES = 64, 32, (1, 8)
TYPES = {"fp32": (torch.float32, 4), "bf16": (torch.bfloat16, 2)}


def gpt2():
    return GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0))


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
                                        num_attention_heads=12, num_key_value_heads=4, max_position_embeddings=2048))


MODELS = {"gpt2": gpt2, "llama": llama}


def read_weights(model):
    """The number of parameters that a decode step reads: all but an embedding that is not the output projection."""
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    skipped = 0 if tied else model.get_input_embeddings().weight.numel()
    if hasattr(model, "transformer"):
        skipped += model.transformer.wpe.weight.numel()
    return sum(p.numel() for p in model.parameters()) - skipped


def bandwidth():
    x = torch.ones(1 << 28)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        x.sum()
        best = min(best, time.perf_counter() - start)
    return x.numel() * 4 / best


def run_gpubench(tool, folder, name, kind, batch, prompts, threads):
    with open("prompts.txt", "w", encoding="utf-8") as f:
        f.writelines(" ".join(map(str, row)) + "\n" for row in prompts.tolist())
    options = ["--int8", "dynamic"] if kind == "int8" else ["--amp", kind]
    command = [tool, "infer", name, "--weights", folder, "--seq", "8", "--generate", str(NEW), "--prompts", "prompts.txt", *options,
               "--threads", str(threads), "--runs", "2", "--warmup", "1", "--quiet", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    doc = json.loads(done.stdout)
    row = doc["batches"][0]
    return {"prefill_s": row["prefill"]["p50_s"], "decode_s": row["decode"]["p50_s"], "p99_s": row["decode"]["p99_s"],
            "tokens": row["tokens"], "isa": doc["isa"], "blas": doc["blas"], "cache_bytes": row["cache_bytes"]}


@torch.inference_mode()
def run_generate(model, prompts):
    def seconds(new):
        start = time.perf_counter()
        model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=False, max_new_tokens=new, min_new_tokens=new,
                       eos_token_id=None, pad_token_id=0)
        return time.perf_counter() - start

    prefill = seconds(1)
    return {"prefill_s": prefill, "decode_s": (seconds(NEW) - prefill) / (NEW - 1)}


@torch.inference_mode()
def run_loop(model, prompts):
    cache = StaticCache(config=model.config, max_cache_len=PROMPT + NEW)
    times, ids = [], prompts
    position = torch.arange(PROMPT)
    for _ in range(NEW):
        start = time.perf_counter()
        logits = model(ids, past_key_values=cache, position_ids=position.expand(len(prompts), -1), use_cache=True,
                       logits_to_keep=1).logits
        ids = logits[:, -1].argmax(-1, keepdim=True)
        times.append(time.perf_counter() - start)
        position = position[-1:] + 1
    return {"prefill_s": times[0], "decode_s": statistics.median(times[1:])}


def measure(a, name, work):
    torch.manual_seed(1)
    model = MODELS[name]().eval()
    folder = os.path.join(work, name)
    model.save_pretrained(folder)
    rows, weights = [], read_weights(model)
    for kind in (*TYPES, "int8"):
        if kind != "int8":
            model.to(TYPES[kind][0])
        for batch in BATCHES:
            prompts = torch.randint(0, model.config.vocab_size, (batch, PROMPT))
            arms = {"gpubench": lambda: run_gpubench(a.gpubench, folder, name, kind, batch, prompts, a.threads),
                    "generate": lambda: run_generate(model, prompts), "loop": lambda: run_loop(model, prompts)}
            if kind == "int8":  # compared with PyTorch in bf16, which the model is in
                arms.pop("generate")
            samples = {arm: [] for arm in arms}
            for i in range(a.rounds + 1):
                for arm, run in arms.items():
                    sample = run()
                    if i:
                        samples[arm].append(sample)
            rows.append({"model": name, "type": kind, "batch": batch, "weights": weights, "samples": samples})
            print(name, kind, batch, {k: round(1e3 * statistics.median(s["decode_s"] for s in v), 2) for k, v in samples.items()},
                  flush=True)
    return rows


def median(row, arm, key):
    return statistics.median(s[key] for s in row["samples"][arm])


def write(path, doc):
    out = ["# Text generation compared with PyTorch", "",
           "Made by `make bench-infer`. Same random weights, prompts and threads; rounds interleaved; medians of "
           f"{doc['rounds']} rounds. A batch of prompts of {PROMPT} tokens, {NEW} new tokens each, greedy. PyTorch is the faster of "
           "`generate()` of transformers and a plain loop with its StaticCache. INT8 is compared with PyTorch in bf16.", "",
           f"{doc['cpu']}, {doc['threads']} threads, kernels for {doc['isa']}, {doc['blas']}; PyTorch {doc['torch']}, transformers "
           f"{doc['transformers']}. Reading memory: {doc['bytes_per_s'] / 1e9:.1f} GB/s. The floor is the time to read the weights "
           f"once at this rate. Load of other programs at the start: {doc['load']:.1f}.", "",
           "| model | type | batch | prefill tok/s | PyTorch | ratio | decode ms (p99) | PyTorch ms | ratio | decode tok/s | floor ms |",
           "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in doc["rows"]:
        arms = [arm for arm in row["samples"] if arm != "gpubench"]
        prefill, decode = median(row, "gpubench", "prefill_s"), median(row, "gpubench", "decode_s")
        peer = {k: min(median(row, arm, k) for arm in arms) for k in ("prefill_s", "decode_s")}
        width = {"fp32": 4, "bf16": 2, "int8": 1}[row["type"]]
        floor = row["weights"] * width / doc["bytes_per_s"]
        tokens = row["batch"] * PROMPT
        out.append(f"| {row['model']} | {row['type']} | {row['batch']} | {tokens / prefill:.0f} | {tokens / peer['prefill_s']:.0f} | "
                   f"{peer['prefill_s'] / prefill:.2f} | {1e3 * decode:.2f} ({1e3 * median(row, 'gpubench', 'p99_s'):.2f}) | "
                   f"{1e3 * peer['decode_s']:.2f} | {peer['decode_s'] / decode:.2f} | {row['batch'] / decode:.0f} | "
                   f"{1e3 * floor:.2f} |")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown processor")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench", type=os.path.abspath)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--models", default=",".join(MODELS))
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--results", type=os.path.abspath, default=".")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    transformers.logging.set_verbosity_error()
    path, rows = os.path.join(a.results, "infer.json"), []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            rows = [r for r in json.load(f)["rows"] if r["model"] not in a.models.split(",")]
    doc = {"load": os.getloadavg()[0], "bytes_per_s": bandwidth()}
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name in a.models.split(","):
            rows += measure(a, name, work)
    last = rows[-1]["samples"]["gpubench"][-1]
    for row in rows:
        for sample in row["samples"]["gpubench"]:
            sample.pop("tokens", None)
    doc |= {"cpu": cpu_name(), "threads": a.threads, "isa": last["isa"], "blas": last["blas"], "torch": torch.__version__,
            "transformers": transformers.__version__, "rounds": a.rounds, "rows": rows}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(doc, f, indent=1)
    write(os.path.join(a.results, "infer.md"), doc)


if __name__ == "__main__":
    main()
