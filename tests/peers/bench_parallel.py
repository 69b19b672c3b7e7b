#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four ranks on this host train one model by each split, compared with one process and with the predictions of gpubench
plan-parallel. Two ranks are compared with PyTorch's parallel modules if the interpreter has a PyTorch that has them.

Usage: bench_parallel.py GPUBENCH [--rounds N] [--results DIR] [--parts splits,torch]
Splits run in interleaved rounds of fresh processes. All samples go to DIR/parallel.json, and DIR/parallel.md is made from it.
Takes minutes. Needs a quiet host.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = os.path.join(os.path.dirname(HERE), "fuzz", "corpus", "config", "llama-2-7b")
RANKS, BATCH, STEPS, WARMUP = 4, 16, 3, 2
SIZE = {"seq": 64, "layers": 4, "width": 128, "heads": 4, "vocab": 2048}
SIZES = [word for key, value in SIZE.items() for word in (f"--{key}", str(value))]
# The comparison with PyTorch: a model in which products take most of the time
LLAMA = {"seq": 256, "layers": 4, "width": 256, "heads": 4, "kv-heads": 4, "ffn": 704, "vocab": 4096}
TORCH_BATCH, TORCH_MICROBATCHES, TORCH_UPDATES, TORCH_WARMUP, LR = 8, 4, 7, 2, 0.01
# way of torch_parallel.py: name, ranks, options of gpubench train
WAYS = {"one": ("one process", 1, []), "ddp": ("dp 2", 2, []), "fsdp": ("dp 2, ZeRO 3", 2, ["--shard", "3"]),
        "tensor": ("tp 2", 2, ["--tp", "2"]), "1f1b": ("pp 2, 1F1B", 2, ["--pp", "2", "--schedule", "1f1b"])}
ONE = {"dp": 1, "tp": 1, "pp": 1, "zero": 0, "microbatches": 1}


def output(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(command[:8])} … ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout)


def plan(a):
    return output([a.gpubench, "plan-parallel", "gpt2", *SIZES, "--ranks", str(RANKS), "--batch", str(BATCH), "--threads", "1",
                   "--memory", "4G", "--json"])


def train(a, k):
    ranks = k["dp"] * k["tp"] * k["pp"]
    options = ["--tp", str(k["tp"]), "--pp", str(k["pp"]), "--batch", str(BATCH // k["dp"])]
    options += ["--microbatches", str(k["microbatches"])]
    if ranks > 1:
        options += ["--ranks", str(ranks), "--threads", "1"]
    if k["dp"] > 1:
        options += ["--shard", str(k["zero"]) if k["zero"] else "off"]
    return output([a.gpubench, "train", "gpt2", *SIZES, *options, "--steps", str(STEPS), "--warmup", str(WARMUP), "--quiet",
                   "--json"])


def name_of(k):
    if k["dp"] * k["tp"] * k["pp"] == 1:
        return "one process"
    parts = [f"{d} {k[d]}" for d in ("dp", "tp", "pp") if k[d] > 1]
    return ", ".join(parts + ([f"ZeRO {k['zero']}"] if k["zero"] else []))


def sample(doc):
    ranks = (doc.get("pipeline") or {}).get("ranks", [doc])
    ddp, groups = doc.get("ddp") or {}, (doc.get("groups") or {}).get("tensor") or {}
    return {"median_step_s": doc["median_step_s"], "loss": doc["loss"], "memory_bytes": max(r["planned_bytes"] for r in ranks),
            "max_rss_bytes": max(r["max_rss_bytes"] for r in ranks), "data_sent_bytes": ddp.get("sent_bytes_per_step", 0),
            "tensor_sent_bytes": groups.get("sent_bytes", 0) / (STEPS + WARMUP),
            "pipeline_sent_bytes": max(r.get("sent_bytes", 0) for r in ranks), "parameters": doc["parameters"],
            "parts": {key: ddp.get(key) for key in ("parameter_bytes", "gradient_bytes", "optimizer_bytes")},
            **{key: (doc.get("pipeline") or {}).get(key) for key in ("bubble", "bubble_equal_stages", "bubble_counted_work")}}


def measure(a):
    predicted = plan(a)
    splits = [dict(ONE, samples=[])] + [dict(k, samples=[]) for k in sorted(predicted["splits"],
                                                                            key=lambda k: (k["tp"], k["pp"], k["zero"]))]
    for _ in range(a.rounds):
        for k in splits:
            k["samples"].append(sample(train(a, k)))
    gpus = {link: output([a.gpubench, "plan-parallel", CONFIG, "--gpus", "8", "--link", link, "--json"])
            for link in ("nvlink", "pcie")}
    return {"schema": "gpubench-parallel/1", "date": datetime.date.today().isoformat(), "cpus": len(os.sched_getaffinity(0)),
            "load": os.getloadavg()[0], "rounds": a.rounds, "size": SIZE, "batch": BATCH, "splits": splits, "gpus": gpus,
            "rates": {k: predicted[k] for k in ("flops_per_s", "bytes_per_s", "link_bytes_per_s", "latency_s")}}


def llama_command(a, ranks, *more):
    sizes = [word for key, value in LLAMA.items() for word in (f"--{key}", str(value))]
    return [a.gpubench, "train", "llama", *sizes, "--threads", str(len(os.sched_getaffinity(0)) // ranks), "--optimizer", "sgd",
            "--lr", str(LR), "--quiet", "--json", *more]


def llama_steps(a, way):
    """The median time of an update of gpubench, and the last loss."""
    _, ranks, split = WAYS[way]
    data = ranks if way in ("ddp", "fsdp") else 1
    microbatches = ["--microbatches", str(TORCH_MICROBATCHES)] if way == "1f1b" else []
    doc = output(llama_command(a, ranks, "--ranks", str(ranks), "--batch", str(TORCH_BATCH // data), *microbatches, *split,
                               "--warmup", str(TORCH_WARMUP), "--steps", str(TORCH_UPDATES - TORCH_WARMUP)))
    return doc["median_step_s"], doc["loss"]


def torch_steps(peer, way):
    _, ranks, _ = WAYS[way]
    found = peer.torch_run(way, ranks, TORCH_MICROBATCHES, LR, TORCH_UPDATES, len(os.sched_getaffinity(0)) // ranks)
    ends = [float(t) for t in found["ends"]][TORCH_WARMUP - 1:]
    return statistics.median(b - a for a, b in zip(ends, ends[1:])), float(found["losses"][-1])


def measure_torch(a):
    """Returns the comparison with PyTorch, or None."""
    try:
        import numpy as np
        import torch
        from torch.distributed.fsdp import fully_shard  # noqa: F401
        from torch.distributed.pipelining import Schedule1F1B  # noqa: F401
    except ImportError as missing:
        print(f"no comparison with PyTorch: {missing}")
        return None
    import check_parallel as peer

    rounds, here = [], os.getcwd()
    with tempfile.TemporaryDirectory(prefix="gputune-parallel") as folder:
        os.chdir(folder)
        output(llama_command(a, 1, "--batch", "1", "--warmup", "0", "--steps", "1", "--lr", "0", "--save-weights", "weights"))
        np.savez("batch.npz", *peer.batch(TORCH_BATCH, LLAMA["seq"], LLAMA["vocab"]))
        for _ in range(a.rounds):
            rounds.append({way: {"gpubench": llama_steps(a, way), "torch": torch_steps(peer, way)} for way in WAYS})
            print({WAYS[way][0]: v for way, v in rounds[-1].items()}, flush=True)
        os.chdir(here)
    return {"date": datetime.date.today().isoformat(), "load": os.getloadavg()[0], "torch": torch.__version__, "size": LLAMA,
            "batch": TORCH_BATCH, "microbatches": TORCH_MICROBATCHES, "rounds": rounds}


# ---- Markdown ----

def mib(v):
    return f"{v / 2**20:.1f}"


def best(k):
    return min(s["median_step_s"] for s in k["samples"])


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |\n"


def head(*cells):
    return row(*cells) + "|---|" + "---:|" * (len(cells) - 1) + "\n"


def equal(k, s, key):
    return "equal" if abs(k[key] - s[key]) <= 0.5 else f"{mib(s[key])} reported"


def splits_table(doc):
    one = doc["splits"][0]
    text = head("split", "step ms", "of one process", "predicted ms", "memory MiB", "as planned", "peak MiB", "loss off by")
    for k in doc["splits"]:
        s = k["samples"][0]
        text += row(name_of(k), f"{1e3 * best(k):.0f}", f"{best(k) / best(one):.2f}",
                    f"{1e3 * k['step_s']:.0f}" if "step_s" in k else "", mib(s["memory_bytes"]),
                    equal(k, s, "memory_bytes") if "step_s" in k else "", mib(s["max_rss_bytes"]),
                    f"{max(abs(x['loss'] - one['samples'][0]['loss']) for x in k['samples']):.1e}")
    return text


def bytes_table(doc):
    text = head("split", "data MiB", "tensor MiB", "pipeline MiB", "counts")
    for k in doc["splits"][1:]:
        s = k["samples"][0]
        keys = [f"{d}_sent_bytes" for d in (("data", "tensor", "pipeline") if k["pp"] == 1 else ("pipeline",))]
        same = all(abs(k[key] - s[key]) <= 0.5 for key in keys)
        text += row(name_of(k), *(mib(k[f"{d}_sent_bytes"]) for d in ("data", "tensor", "pipeline")),
                    "equal" if same else "different")
    return text


def bubble_table(doc):
    text = head("split", "microbatches", "measured", "counted work", "(N-1)/(M+N-1)")
    for k in doc["splits"]:
        if k["pp"] > 1:
            b = statistics.median(s["bubble"] for s in k["samples"])
            s = k["samples"][0]
            text += row(name_of(k), k["microbatches"], f"{b:.2f}", f"{s['bubble_counted_work']:.2f}",
                        f"{s['bubble_equal_stages']:.2f}")
    return text


def zero_table(doc):
    text = head("split", "parameters MiB", "formula", "gradients MiB", "formula", "moments MiB", "formula", "peak MiB")
    for k in doc["splits"]:
        if k["dp"] != RANKS:
            continue
        s, n = k["samples"][0], k["dp"]
        p, z = 4 * s["parameters"], k["zero"]
        text += row(name_of(k), mib(s["parts"]["parameter_bytes"]), mib(p / (n if z > 2 else 1)), mib(s["parts"]["gradient_bytes"]),
                    mib(p / (n if z > 1 else 1)), mib(s["parts"]["optimizer_bytes"]), mib(2 * p / (n if z else 1)),
                    mib(s["max_rss_bytes"]))
    return text


def gpu_table(doc):
    text = head("link", "split", "microbatches", "GiB per GPU", "sent GiB", "step s", "of the fastest")
    for link, d in doc["gpus"].items():
        shown = [k for k in d["splits"] if k["fits"]][:5]
        for k in shown:
            sent = sum(k[f"{x}_sent_bytes"] for x in ("data", "tensor", "pipeline"))
            text += row(link, name_of(k), k["microbatches"], f"{k['memory_bytes'] / 2**30:.1f}", f"{sent / 2**30:.1f}",
                        f"{k['step_s']:.2f}", f"{k['step_s'] / shown[0]['step_s']:.2f}")
    return text


def torch_table(peer):
    text = head("split", "gpubench ms", "PyTorch ms", "ratio", "lowest", "highest", "losses differ by")
    for way, (name, _, _) in WAYS.items():
        own, other = ([r[way][tool] for r in peer["rounds"]] for tool in ("gpubench", "torch"))
        ratios = [b[0] / a[0] for a, b in zip(own, other)]
        times = [f"{1e3 * statistics.median(t for t, _ in samples):.0f}" for samples in (own, other)]
        text += row(name, *times, f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}",
                    f"{max(abs(x[1] - y[1]) for x, y in zip(own, other)):.1e}")
    return text


def torch_section(doc):
    peer = doc.get("torch")
    if not peer:
        return ""
    size = ", ".join(f"{k} {v}" for k, v in peer["size"].items())
    return f"""
## Compared with PyTorch {peer['torch']}

{peer['date']}, load {peer['load']:.1f} at the end. A Llama model ({size}), batch {peer['batch']},
{peer['microbatches']} microbatches in a pipeline, SGD with momentum, the same weights and batch, {doc['cpus']} threads in total.
PyTorch: DistributedDataParallel, fully_shard, parallelize_module, and torch.distributed.pipelining, with gloo. Medians of
{len(peer['rounds'])} interleaved rounds of fresh processes. A ratio above 1 means that gpubench is faster.

{torch_table(peer)}"""


def markdown(doc):
    size = ", ".join(f"{k} {v}" for k, v in doc["size"].items())
    g = doc["gpus"]["nvlink"]
    return f"""# Tensor, pipeline and data parallel ranks

{doc['date']}, {doc['cpus']} CPUs, load {doc['load']:.1f} at the end, {doc['rounds']} interleaved rounds of fresh processes, made by
`make bench-parallel`. The model is gpt2 ({size}) with a batch of {doc["batch"]} over all ranks.
A time is the lowest median of a round. A load well above four means that other programs ran: the times are then only
upper limits.

Four ranks on {doc['cpus']} CPUs show correctness, memory and overhead. They do not show scaling: the work of four ranks takes as
long as that of one process with {doc['cpus']} threads at best.

## Splits of four ranks

Predictions are those of `gpubench plan-parallel`, with rates measured on this host while four ranks work.

{splits_table(doc)}
## Bytes that a rank sends per update

The counts of the plan, compared with those that the ranks report. In a pipeline, all ranks report only the messages between stages.

{bytes_table(doc)}
## Bubble of the pipeline

The share of the time in which stages wait. With fewer CPUs than stages, a stage also waits for a CPU.

{bubble_table(doc)}
## ZeRO: memory of one of four ranks

Formula: 4 bytes per parameter for values and gradients, 8 for the moments of AdamW, divided by the ranks from stage 1
(moments), 2 (gradients) and 3 (values) on. The peak also has activations, libraries and shared pages of other ranks.

From stage 2 on, gradients need more memory than the formula predicts. A bucket has up to 25 MiB, so all gradients of a small model
are in one bucket or two. The output layer is tied to the token table: its gradient exists from the first to the last call of
the backward pass. The saving therefore starts with models that are large compared with a bucket and the table. For gpt2 with
124 million parameters, stage 2 plans 195 MiB of gradients instead of 475 MiB; the table has 147 MiB of them.

{zero_table(doc)}
## Prediction for eight GPUs

Llama 2 7B (6,738,415,616 parameters), batch {g['batch']}, {g['seq']} tokens, bf16, AdamW, H100 with 80 GiB. nvlink: SXM, 450
GB/s per direction. pcie: the card for PCIe, 64 GB/s. The five fastest splits that fit. Predicted, not measured.

{gpu_table(doc)}{torch_section(doc)}"""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--results", default=".")
    p.add_argument("--parts", default="splits,torch", help="the other part keeps its figures")
    a = p.parse_args()
    a.gpubench, doc = os.path.abspath(a.gpubench), {}
    if os.path.exists(os.path.join(a.results, "parallel.json")):
        with open(os.path.join(a.results, "parallel.json"), encoding="utf-8") as f:
            doc = json.load(f)
    if "splits" in a.parts.split(","):
        doc.update(measure(a))
    if "torch" in a.parts.split(","):
        doc["torch"] = measure_torch(a) or doc.get("torch")
    with open(os.path.join(a.results, "parallel.json"), "w", encoding="utf-8") as f:
        json.dump(doc, f, indent=1)
        f.write("\n")
    with open(os.path.join(a.results, "parallel.md"), "w", encoding="utf-8") as f:
        f.write(markdown(doc))


main()
