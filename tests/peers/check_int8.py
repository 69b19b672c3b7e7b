#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares INT8 inference with FP32 and with PyTorch's quantisation, and checks the accuracy on real data.

Usage: check_int8.py GPUBENCH COMPRESS_CASE [--python PATH] [--rounds N] [--digits FILE] [--results FILE]
Arithmetic: products of compress_case have the scales and the integer sums of torch.ao's observers and quantised tensors, and
its pruned weights and units have the masks of torch.nn.utils.prune.
Speed: the same MLP and GPT-2 in `gpubench infer --int8 dynamic` and in PyTorch (torch.ao, qint8, its fastest engine on this
processor), in FP32 and INT8, with the same threads. Fresh processes of both programs alternate. The ratios are medians over
the rounds of the throughput in the same round.
Accuracy: a byte GPT is trained on the licence texts of the host. Its loss on held-out text may differ from FP32's by 1 %.
A ResNet-20 is trained on handwritten digits (python3-sklearn, or --digits FILE). INT8 must classify at least 98 % as many
held-out digits as FP32.
--python names a Python with PyTorch. Exit status 77 without PyTorch.
"""
import argparse
import gzip
import json
import os
import platform
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
# name: model, its options, batch sizes, runs, least ratio to the throughput of FP32 in the largest batch. Attention and the norms
# of a GPT stay in FP32. They are a sixth of the FP32 time of the byte GPT, and a third of its INT8 time.
JOBS = {
    "mlp 784-1024-1024-10": ("mlp", [], ["1", "256"], "60", 2.5),
    "byte GPT, 4 blocks of width 128": ("gpt", [], ["1", "8"], "40", 2.0),
    "gpt2 of 2 blocks, 256 tokens": ("gpt2", ["--seq", "256", "--layers", "2"], ["1", "4"], "4", 2.5),
}
SIZES = {"gpt": (256, 128, 4, 4, 128), "gpt2": (50257, 768, 12, 2, 256)}  # vocabulary, width, heads, blocks, tokens
TORCH = r"""
import json, sys, time
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import torch, torch_train
from types import SimpleNamespace
model, threads, runs, batches = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5].split(",")
vocab, width, heads, layers, seq = map(int, sys.argv[6].split(","))
torch.set_num_threads(threads)
engines = torch.backends.quantized.supported_engines
torch.backends.quantized.engine = next(e for e in ("x86", "fbgemm", "onednn", "qnnpack") if e in engines)
torch.manual_seed(1)
if model == "mlp":
    n = torch.nn
    net = n.Sequential(n.Linear(784, 1024), n.ReLU(), n.Linear(1024, 1024), n.ReLU(), n.Linear(1024, 10))
else:
    net = torch_train.GPT2(SimpleNamespace(vocab=vocab, width=width, heads=heads, layers=layers, seq=seq))
    class Head(torch.nn.Module):  # the output projection as a module, because only modules are quantised
        def __init__(self, body):
            super().__init__()
            self.body, self.head = body, torch.nn.Linear(width, vocab, bias=False)
            self.head.weight = body.wte.weight
        def forward(self, tokens):
            b = self.body
            x = b.wte(tokens) + b.wpe.weight[: tokens.shape[1]]
            for block in b.blocks:
                x = block(x)
            return self.head(b.lnf(x))
    net = Head(net)
net.eval()
int8 = torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear}, dtype=torch.qint8)
out = []
with torch.inference_mode():
    for rows in map(int, batches):
        x = torch.randn(rows, 784) if model == "mlp" else torch.randint(0, vocab, (rows, seq))
        took = {"fp32": [], "int8": []}
        for i in range(runs + 2):
            for name, m in (("fp32", net), ("int8", int8)) if i % 2 else (("int8", int8), ("fp32", net)):
                t = time.perf_counter()
                m(x)
                took[name].append(time.perf_counter() - t)
        out.append({k: sorted(v[2:])[len(v[2:]) // 2] for k, v in took.items()})
print(json.dumps({"torch": torch.__version__, "engine": torch.backends.quantized.engine, "p50_s": out}))
"""


ARITHMETIC = r"""
import json, subprocess, sys, torch
from torch.ao.quantization.observer import MinMaxObserver, PerChannelMinMaxObserver
case, out = sys.argv[1], []
torch.manual_seed(3)
for m, k, n, how in ((1, 64, 32, "dynamic"), (9, 64, 33, "static"), (40, 61, 70, "static"), (3, 96, 1, "static")):
    x, w, b = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
    if how == "static":
        x = x.clamp(-1.5, 2.0)
        x[0, 0], x[-1, -1] = -1.5, 2.0  # the range of the data is the given one
    ranges = MinMaxObserver(dtype=torch.quint8, qscheme=torch.per_tensor_affine)
    of_weight = PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127)
    ranges(x), of_weight(w)
    sx, zx = ranges.calculate_qparams()
    sw, zw = of_weight.calculate_qparams()
    qx = torch.quantize_per_tensor(x, float(sx), int(zx), torch.quint8).int_repr().long() - int(zx)
    qw = torch.quantize_per_channel(w, sw, zw.long(), 0, torch.qint8).int_repr().long()
    sums = qx @ qw.T
    given = ["dynamic"] if how == "dynamic" else ["-1.5", "2.0"]
    raw = subprocess.run([case, "int8", str(m), str(k), str(n), *given], check=True, stdout=subprocess.PIPE,
                         input=b"".join(bytes(memoryview(t.contiguous().numpy())) for t in (x, w, b))).stdout
    y = torch.frombuffer(bytearray(raw), dtype=torch.float32).view(m, n).double()
    scale = sx.double() * sw.double()
    found = (y - b.double()) / scale
    off = (found - sums).abs().max().item() / max(1, sums.abs().max().item())
    out.append({"case": f"{m} x {k} x {n}, {how}", "equal": bool((found.round() == sums).all()) and off < 1e-6, "rounding": off})
for m, k, n in ((4, 64, 33), (9, 61, 16)):
    x, w, dy = torch.randn(m, k), torch.randn(n, k, requires_grad=True), torch.randn(m, n)
    rows = PerChannelMinMaxObserver(dtype=torch.quint8, qscheme=torch.per_channel_affine)
    of_weight = PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127)
    rows(x), of_weight(w.detach())
    sx, zx = rows.calculate_qparams()
    sw, zw = of_weight.calculate_qparams()
    xq = torch.fake_quantize_per_channel_affine(x, sx, zx.int(), 0, 0, 255)
    wq = torch.fake_quantize_per_channel_affine(w, sw, zw.int(), 0, -127, 127)
    loss = ((xq @ wq.T) * dy).sum()
    loss.backward()
    raw = subprocess.run([case, "qat", str(m), str(k), str(n)], check=True, stdout=subprocess.PIPE,
                         input=b"".join(bytes(memoryview(t.detach().contiguous().numpy())) for t in (x, w, dy))).stdout
    have = torch.frombuffer(bytearray(raw), dtype=torch.float32)
    want = torch.cat([w.grad.flatten(), dy.sum(0), loss.detach()[None]])
    off = ((have - want).abs() / want.abs().clamp(min=1)).max().item()
    out.append({"case": f"quantisation-aware training of {m} x {k} x {n}", "equal": off < 2e-5, "rounding": off})
import torch.nn.utils.prune
for n, k, fraction in ((32, 64, 0.5), (33, 61, 0.37), (7, 5, 0.9), (64, 64, 2)):
    layer = torch.nn.Linear(k, n, bias=False)
    w = layer.weight.detach().clone()
    if fraction < 1:
        torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=fraction)
        want = layer.weight.detach()
    else:  # 2:4: the two largest of four
        four = w.view(n, k // 4, 4)
        want = (four * torch.zeros_like(four).scatter(2, four.abs().topk(2, 2).indices, 1)).view(n, k)
    raw = subprocess.run([case, "prune", str(n), str(k), str(fraction) if fraction < 1 else "2:4"], check=True,
                         stdout=subprocess.PIPE, input=bytes(memoryview(w.numpy()))).stdout
    have = torch.frombuffer(bytearray(raw), dtype=torch.float32).view(n, k)
    out.append({"case": f"pruning of {n} x {k}, {fraction if fraction < 1 else '2:4'}", "equal": bool((have == want).all()), "rounding": 0})
for kind, n, k, amount in (("heads", 6, 48, 0.5), ("heads", 12, 64, 5), ("neurons", 33, 20, 0.37), ("neurons", 64, 64, 40),
                           ("channels", 16, 8, 0.25), ("channels", 9, 3, 4)):
    shape = {"heads": (3, n, 8 * k), "neurons": (n, k), "channels": (n, k, 3, 3)}[kind]  # heads: rows of q, k and v
    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(torch.randn(shape))
    w, axis = layer.weight.detach().clone(), int(kind == "heads")
    torch.nn.utils.prune.ln_structured(layer, "weight", amount=amount, n=2, dim=axis)
    want = (layer.weight_mask.movedim(axis, 0).reshape(n, -1).sum(1) == 0).float()
    raw = subprocess.run([case, "units", kind, str(n), str(k), str(amount)], check=True, stdout=subprocess.PIPE,
                         input=bytes(memoryview(w.numpy()))).stdout
    have = torch.frombuffer(bytearray(raw), dtype=torch.float32)
    out.append({"case": f"pruning of {amount} of {n} {kind}", "equal": bool((have == want).all() and want.sum() > 0), "rounding": 0})
print(json.dumps(out))
"""


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} … ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def speed(a, name, threads):
    """Returns one row per batch size: ratios by round, and the median times."""
    model, options, batches, runs, _ = JOBS[name]
    ours = [a.gpubench, "infer", model, *options, "--batch", ",".join(batches), "--runs", runs, "--warmup", "2",
            "--threads", str(threads), "--int8", "dynamic", "--json", "--quiet"]
    theirs = [a.python, "-c", TORCH, HERE, model, str(threads), runs, ",".join(batches),
              ",".join(map(str, SIZES.get(model, (0,) * 5)))]
    rounds = []
    for i in range(a.rounds):
        both = [None, None]
        for k in (0, 1) if i % 2 else (1, 0):
            both[k] = run(ours if k == 0 else theirs)
        rounds.append(both)
    rows = []
    for b, batch in enumerate(batches):
        times = {"INT8": [r[0]["batches"][b]["p50_s"] for r in rounds],
                 "FP32": [r[0]["batches"][b]["fp32"]["p50_s"] for r in rounds],
                 "PyTorch INT8": [r[1]["p50_s"][b]["int8"] for r in rounds],
                 "PyTorch FP32": [r[1]["p50_s"][b]["fp32"] for r in rounds]}
        rows.append({
            "job": name, "batch": int(batch), "p50_s": {k: statistics.median(v) for k, v in times.items()},
            "to_fp32": [r[0]["batches"][b]["speedup"] for r in rounds],
            "to_torch_int8": [t / o for t, o in zip(times["PyTorch INT8"], times["INT8"])],
            "torch_to_its_fp32": [f / i for f, i in zip(times["PyTorch FP32"], times["PyTorch INT8"])],
            "difference": rounds[0][0]["batches"][b]["logits_difference"]})
    return rows, rounds[0]


def png(path, side, pixels):
    """Writes an RGB image."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + pixels[i * side * 3:(i + 1) * side * 3] for i in range(side))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def write_digits(csv, where):
    with gzip.open(csv, "rt") as f:
        for n, line in enumerate(f):
            values = [float(v) for v in line.split(",")]
            os.makedirs(f"{where}/{int(values[64])}", exist_ok=True)
            png(f"{where}/{int(values[64])}/{n:04}.png", 8, bytes(int(min(255, v * 16)) for v in values[:64] for _ in range(3)))


def accuracy(a, threads):
    """Trains both models and returns their evaluations per kind of range."""
    found = []
    with tempfile.TemporaryDirectory() as where:
        models = [("byte GPT", ["gpt"], ["--steps", "300"])]
        if os.path.exists(a.digits):
            write_digits(a.digits, f"{where}/digits")
            models.append(("ResNet-20, digits", ["resnet20", "--size", "8", "--data", f"{where}/digits"],
                           ["--steps", "300", "--lr", "0.05"]))
        for name, model, train in models:
            save = f"{where}/model.st"
            run([a.gpubench, "train", *model, *train, "--threads", str(threads), "--save", save, "--json", "--quiet"])
            for how in (["dynamic"], ["static", "--calibrate", "minmax"], ["static", "--calibrate", "percentile"],
                        ["static", "--calibrate", "entropy"]):
                doc = run([a.gpubench, "infer", *model, "--load", save, "--int8", *how, "--batch", "8" if model[0] == "gpt" else "20",
                           "--runs", "20", "--threads", str(threads), "--json", "--quiet"])
                found.append({"model": name, "how": " ".join(h for h in how if not h.startswith("--")), **doc["int8"]["evaluated"],
                              "weight_bytes": doc["int8"]["weight_bytes"], "fp32_weight_bytes": doc["int8"]["fp32_weight_bytes"],
                              "speedup": doc["batches"][0]["speedup"]})
    return found


def middle(v):
    return f"{statistics.median(v):.2f} ({min(v):.2f} to {max(v):.2f})"


def report(rows, first, found, threads, rounds):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")),
               platform.machine())
    products = first[0]["int8"]["products"].split("multiplied by ")[-1].split(";")[0]
    text = [
        "# INT8 inference", "",
        f"{cpu}, {threads} threads, {products}. PyTorch {first[1]['torch']}, torch.ao dynamic quantisation, engine "
        f"{first[1]['engine']}. {rounds} rounds of alternating processes. Ratios are medians over the rounds, with the smallest and "
        "the largest. A ratio above 1 means that INT8 of gpubench is faster. Other programs used the processor "
        "at the same time, so times are only comparable within a row. "
        "Made by `make check-int8`.", "",
        "| model | batch | INT8 p50 ms | FP32 p50 ms | PyTorch INT8 p50 ms | to FP32 | to PyTorch INT8 | "
        "PyTorch INT8 to its FP32 | logits |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for r in rows:
        t = r["p50_s"]
        text.append(f"| {r['job']} | {r['batch']} | {1e3 * t['INT8']:.3f} | {1e3 * t['FP32']:.3f} | "
                    f"{1e3 * t['PyTorch INT8']:.3f} | {middle(r['to_fp32'])} | {middle(r['to_torch_int8'])} | "
                    f"{middle(r['torch_to_its_fp32'])} | {r['difference']:.2%} |")
    text += ["", "Accuracy on held-out data, after training with `gpubench train`:", "",
             "| model | ranges | loss | FP32 loss | accuracy | FP32 accuracy | weights KiB | FP32 KiB | speed-up |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for f in found:
        text.append(f"| {f['model']} | {f['how']} | {f['loss']:.4f} | {f['fp32_loss']:.4f} | {f['accuracy']:.2%} | "
                    f"{f['fp32_accuracy']:.2%} | "
                    f"{f['weight_bytes'] / 1024:.0f} | {f['fp32_weight_bytes'] / 1024:.0f} | {f['speedup']:.2f} |")
    return "\n".join(text) + "\n"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("case")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--digits", default=DIGITS)
    p.add_argument("--results")
    a = p.parse_args()
    threads = len(os.sched_getaffinity(0))
    if subprocess.run([a.python, "-c", "import torch.ao.quantization"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("1..0 # SKIP no PyTorch")
        return 77
    checks, rows, first = [], [], None
    for c in run([a.python, "-c", ARITHMETIC, os.path.abspath(a.case)]):
        what = "mask of PyTorch" if "pruning" in c["case"] else "gradients of torch's fake-quantize" if "aware" in c["case"] else "scales and integer sums of torch.ao"
        checks.append((c["equal"], f"{c['case']}: the {what}", f"{c['rounding']:.1e}"))
    for name in JOBS:
        found, first = speed(a, name, threads)
        rows += found
        for r in found:
            checks.append((statistics.median(r["to_torch_int8"]) > 1, f"{name}, batch {r['batch']}: faster than PyTorch's INT8",
                           middle(r["to_torch_int8"])))
        if "without an instruction" not in first[0]["int8"]["products"]:
            checks.append((statistics.median(found[-1]["to_fp32"]) >= JOBS[name][4],
                           f"{name}, batch {found[-1]['batch']}: at least {JOBS[name][4]} times FP32's throughput",
                           middle(found[-1]["to_fp32"])))
    found = accuracy(a, threads)
    for f in found:
        if f["model"] == "byte GPT":
            checks.append((abs(f["loss"] / f["fp32_loss"] - 1) <= 0.01, f"byte GPT, {f['how']}: the loss is within 1 % of FP32's",
                           f"{f['loss']:.4f}, {f['fp32_loss']:.4f}"))
        else:
            checks.append((f["accuracy"] >= 0.98 * f["fp32_accuracy"],
                           f"{f['model']}, {f['how']}: at least 98 % of FP32's accuracy", f"{f['accuracy']:.2%}, {f['fp32_accuracy']:.2%}"))
    for i, (ok, what, value) in enumerate(checks, 1):
        print(f"{'ok' if ok else 'not ok'} {i} - {what}: {value}")
    print(f"1..{len(checks)}")
    if a.results:
        with open(a.results, "w", encoding="utf-8") as f:
            f.write(report(rows, first, found, threads, a.rounds))
    return 0 if all(ok for ok, _, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
