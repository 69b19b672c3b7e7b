#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of one GPU from the JSON of bench/gpu.sh: each job with PyTorch's result, its floor and its target.
usage: gpu_table.py DIRECTORY. Rows without a measurement are marked."""
import functools
import json
import os
import re
import sys

NONE = "not yet measured"
ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def row(make):
    """Makes a row. If a job's JSON is invalid, the row reports this, and the other rows are still made."""
    @functools.wraps(make)
    def made(r, title, *args, **more):
        try:
            return make(r, title, *args, **more)
        except ODD as e:
            return (title, "", "", f"invalid JSON: {type(e).__name__}", "", "", "", "")
    return made


class Results:
    def __init__(self, folder):
        self.folder = folder

    def get(self, job):
        try:
            with open(os.path.join(self.folder, job + ".json")) as f:
                doc = json.load(f)
        except (OSError, ValueError):
            return {}
        return doc if isinstance(doc, dict) else {}

    def number(self, job, *path):
        """Returns None if the job has no such value."""
        at = self.get(job)
        for key in path:
            at = at.get(key) if isinstance(at, dict) else None
        return at if isinstance(at, (int, float)) and not isinstance(at, bool) else None


def ratio(a, b):
    return a / b if a is not None and b else None


def verdict(tests):
    """Judges tuples of (value, limit, whether it is a minimum). Missing values are ignored."""
    known = [value >= limit if least else value <= limit for value, limit, least in tests if value is not None]
    return "" if not known else "no" if not all(known) else "yes" if len(known) == len(tests) else "as far as measured"


def show(value, form):
    return NONE if value is None else form.format(value)


@row
def speed(r, title, job, peer, part, floor=None, must=None, over=None):
    ours, theirs = r.number("ours-" + job, "items_per_s"), r.number("torch-" + peer, "items_per_s")
    unit = "tok/s" if "GPT" in title else "images/s" if "ResNet" in title else "samples/s"
    aims = ([f"{must / 1e3:.0f}k"] if must else []) + ([f"{over:.2f}x PyTorch"] if over else [])
    tests = ([(ours, must, True)] if must else []) + ([(ratio(ours, theirs), over, True)] if over else [])
    mine = show(ours, "{:.0f} " + unit)
    if ours and floor:
        mine += f" ({100 * ours / floor:.0f} % of the floor)"
    return (title, f"{floor / 1e3:.0f}k {unit}" if floor else "", ", ".join(aims), mine,
            show(theirs, "{:.0f} " + unit), show(ratio(ours, theirs), "{:.2f}x"), verdict(tests), part)


@row
def memory(r, title, job, part):
    ours = r.number("ours-" + job, "memory", "measured_bytes")
    theirs = r.number("torch-" + job, "max_device_bytes_held")
    share = ratio(ours, theirs)
    return (title, "", "0.80 of PyTorch's", show(ours and ours / 2 ** 30, "{:.2f} GiB"),
            show(theirs and theirs / 2 ** 30, "{:.2f} GiB"), show(share, "{:.2f}"), verdict([(share, 0.8, False)]), part)


@row
def loss(r, title, job, base, part, limit=0.01):
    ours, other = r.number(f"ours-{job}", "loss"), r.number(f"ours-{base}", "loss")
    steps = len(r.get(f"ours-{job}").get("step_s", []))
    off = abs(ours - other) / other if ours is not None and other else None
    after = f" after {steps} steps" if steps else ""
    return (title, show(other, base + ": {:.4f}"), "within 1 %", show(ours, "{:.4f}") + after, "",
            show(off and 100 * off, "{:.2f} % off"), verdict([(off, limit, False)]), part)


@row
def copies(r, title, way):
    samples = [m["samples"][m.get("warmup", 0):] for m in r.get("copies").get("metrics", [])
               if m["id"].startswith(f"gpu.matrix.pinned.{way}.gpu0-")]
    ours, theirs = max((max(s) for s in samples if s), default=None), r.number("torch-copies", f"pinned.{way}")
    share = ratio(ours, theirs)
    return (title, "link", "within 3 % of PyTorch's", show(ours, "{:.1f} GB/s"),
            show(theirs, "{:.1f} GB/s"), show(share, "{:.2f}x"), verdict([(share, 0.97, True)]), "check")


def share_of_ops(doc, names):
    """Returns the minimum share of the measured copy rate among these ops, by the bytes that the run counted."""
    shares = [o["of_peak"] for o in doc.get("ops", []) if o["op"] in names and o.get("of_peak") is not None]
    return min(shares, default=None)


def share_of_cross_entropy(doc):
    """The kernel after the matrix product: reads the logits once and writes their gradients once."""
    shares = [k["of_peak"] for k in doc.get("kernels", [])
              if k["kernel"].startswith("rt_cross_entropy") and k.get("op") and k.get("of_peak") is not None]
    return min(shares, default=None)


@row
def bound_by_memory(r, title, share_of, *names):
    share = share_of(r.get("ours-gpt2-profile"), *names)
    return (title, "measured copy rate", "85 % of it", show(share and 100 * share, "{:.0f} %"), "", "",
            verdict([(share, 0.85, True)]), "gpt2")


@row
def host_time(r, title, job):
    ours = r.number("ours-" + job, "host_s_per_step")
    return (title, "0", "50 us", show(ours and ours * 1e6, "{:.0f} us"), "", "",
            verdict([(ours, 50e-6, False)]), "gpt2")


def told(name):
    """Returns the last count of errors or hazards in compute-sanitizer's file, None if it did not complete."""
    try:
        with open(name, errors="replace") as f:
            said = re.findall(r"SUMMARY: (\d+) (?:errors?|hazards?)", f.read())
    except OSError:
        return None
    return int(said[-1]) if said else None


@row
def checked(r, title, jobs, part, sanitized=False):
    """jobs: one per type; the name of a job ends with its type."""
    docs = {j: r.get(j).get("rows") or [] for j in jobs}
    have = [j for j, rows in docs.items() if rows]
    rows = [row for j in have for row in docs[j]]
    wrong = sum(not row["ok"] for row in rows)
    found = [told(os.path.join(r.folder, j + ".txt")) for j in have] if sanitized else []
    wrong += sum(n for n in found if n)
    ended = None not in found and not any(r.get(j).get("failure") for j in have)
    whole = len(have) == len(jobs) and ended
    right = f"{len(rows) - sum(not row['ok'] for row in rows)} of {len(rows)}" if have else NONE
    if have and len(jobs) > len(have):
        right += " in " + ", ".join(j.rpartition("-")[2] for j in have)
    if have and sanitized and ended:
        right += f", {sum(found)} errors"
    if have and not ended:
        right += ", incomplete"
    return (title, "", "all", right, "", "", verdict([(wrong, 0, False)] + [(None, 0, False)] * (not whole)) if have else "", part)


@row
def curves(r, title, amp, limit):
    """Compares the losses of every step with PyTorch's. Reports the step with the largest difference."""
    doc = r.get("torch-curves").get(amp, {})
    off, steps = doc.get("worst"), len(doc.get("ours", []))
    return (title, show(doc.get("theirs", [None])[-1], "PyTorch's: {:.4f}"), f"within {100 * limit:g} % in each step",
            show(doc.get("ours", [None])[-1], "{:.4f}") + (f" after {steps} steps" if steps else ""), "",
            show(off and 100 * off, "{:.3f} % off"), verdict([(off, limit, False)]), "loss")


@row
def attention(r, title, own, cudnn):
    a, b = r.number("ours-" + own, "items_per_s"), r.number("ours-" + cudnn, "items_per_s")
    return (title, "", "the faster is used", show(a, "own {:.0f}") + ", " + show(b, "cuDNN {:.0f} tok/s"), "",
            show(ratio(b, a), "cuDNN {:.2f}x"), "", "attention")


def rows(r):
    yield speed(r, "GPT-2 124M, T1024, bf16, B64", "gpt2-b64", "gpt2-b64", "gpt2", 715e3, 470e3, 1.15)
    yield speed(r, "GPT-2 124M, T1024, bf16, B4", "gpt2-b4", "gpt2-b4", "gpt2", None, 300e3)
    yield speed(r, "GPT-2 1558M, T1024, bf16, B16", "xl-bf16", "xl-bf16", "xl", 65e3, 48e3, 1.1)
    yield speed(r, "ResNet-50, bf16, NHWC, 224 x 224, B256", "resnet50", "resnet50", "image", None, None, 1.1)
    yield speed(r, "MLP 784-1024-1024-10, bf16, B4096", "mlp", "mlp", "image")
    for title, job, part in (("GPT-2 124M, B64", "gpt2-b64", "gpt2"), ("GPT-2 124M, B4", "gpt2-b4", "gpt2"),
                             ("GPT-2 1558M, B16", "xl-bf16", "xl"), ("ResNet-50, B256", "resnet50", "image"),
                             ("MLP, B4096", "mlp", "image")):
        yield memory(r, f"peak memory, {title}", job, part)
    faster = ratio(r.number("ours-xl-fp8", "items_per_s"), r.number("ours-xl-bf16", "items_per_s"))
    yield ("GPT-2 1558M, fp8 over bf16", "", "1.25x", show(faster, "{:.2f}x"), "", "", verdict([(faster, 1.25, True)]), "xl")
    yield loss(r, "GPT-2 1558M on text, fp8: loss", "xl-loss-fp8", "xl-loss-bf16", "xl-loss")
    for job, title in (("loss-fp8", "fp8"), ("loss-master-none", "bf16 without f32 values"), ("loss-fp16", "fp16")):
        yield loss(r, f"GPT of 12 layers on text, {title}: loss", job, "loss-bf16", "loss")
    yield loss(r, "the same, bf16 compared with tf32: loss", "loss-bf16", "loss-f32", "loss")
    for job, title in (("split-tp", "`--tp 2`"), ("split-sp", "`--tp 2 --sp`"), ("split-pp", "`--pp 2`")):
        yield loss(r, f"GPT-2 124M, bf16, split among two GPUs, {title}: loss", job, "split-one", "split")
    for amp, limit in (("fp32", 1e-3), ("bf16", 1e-2)):
        yield curves(r, f"GPT of 6 layers compared with PyTorch on the same GPU, {amp}: losses", amp, limit)
    yield host_time(r, "host time per step, GPT-2 124M, B64", "gpt2-b64")
    yield host_time(r, "host time per step, GPT-2 124M, B4", "gpt2-b4")
    for way in "to", "from":
        yield copies(r, f"copies {way} the GPU, pinned", way)
    for title, names in (("layer normalisation", ("layernorm", "add_layernorm")), ("its gradient", ("layernorm_bwd",)),
                         ("AdamW", ("adamw",))):
        yield bound_by_memory(r, f"GPT-2 124M, {title}", share_of_ops, names)
    yield bound_by_memory(r, "GPT-2 124M, cross entropy", share_of_cross_entropy)
    yield attention(r, "attention, GPT-2 124M", "gpt2-attention-own", "gpt2-attention-cudnn")
    yield attention(r, "attention, GPT-2 1558M", "xl-attention-own", "xl-attention-cudnn")
    for job, title in (("bert-b64", "BERT base, T512, bf16, B64"), ("vit-b256", "ViT-S/16, bf16, B256")):
        yield (title, "", "none", show(r.number("ours-" + job, "items_per_s"), "{:.0f} /s"), "", "", "", "encoders")
    yield checked(r, "every op against the CPU (`gpubench check-device`)",
                  [f"check-{t}" for t in ("f32", "tf32", "bf16", "f16", "fp8")], "check")
    yield checked(r, "ranks with an NCCL communicator (`--ranks 1`)", ["check-ranks"], "check")
    yield checked(r, "compute-sanitizer: every op of each type", [f"sanitizer-{t}" for t in ("bf16", "f32", "f16", "fp8")],
                  "sanitizer", sanitized=True)


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    head = ("job", "floor (counted) or base", "target", "gputune", "best PyTorch", "ratio", "met", "part")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows(Results(sys.argv[1])):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
