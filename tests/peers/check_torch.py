#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the runtime to PyTorch: every op forward and backward, optimizers over 100 steps, a GPT and an MLP in training.

Usage: check_torch.py [RT_CASE]    (default: $TOP_BUILDDIR/tests/peers/rt_case)
Prints TAP, one line per op, optimizer and model. Both sides get the same tensors as raw files. Tolerances are shares of the largest element of each tensor:
forward 3e-6, gradients 1e-5, optimizers 2e-6 after 100 steps, losses of training 2e-5 at every step. All in float32.
Exit status 77 where PyTorch is missing.
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"1..0 # SKIP no PyTorch ({missing})")
    sys.exit(77)

FORWARD, GRADIENT, OPTIMIZER, TRAINING, RESNET, AUTOCAST = 3e-6, 1e-5, 2e-6, 2e-5, 10, 2e-2
FLIP = 5
RT_CASE = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests/peers/rt_case")
failures, compared, points, broken = [], 0, 0, 0


def point(name):
    """One TAP line for everything compared since the last."""
    global points, broken
    points += 1
    broken += bool(failures)
    print(f"{'not ok' if failures else 'ok'} {points} - {name}", flush=True)
    for line in failures:
        print(f"# {line}")
    failures.clear()


def near(what, got, want, tolerance):
    """Largest difference as a share of the largest element wanted."""
    global compared
    compared += 1
    got, want = np.asarray(got, np.float64).ravel(), np.asarray(want, np.float64).ravel()
    if got.shape != want.shape or not np.isfinite(got).all():
        failures.append(f"{what}: {got.shape} finite={np.isfinite(got).all()}, wanted {want.shape}")
        return
    worst = distance(got, want)
    if not worst <= tolerance:
        failures.append(f"{what}: off by {worst:.3g} of its largest element, {tolerance:g} allowed")


def distance(got, want):
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)


def near_autocast(what, got, theirs, exact):
    """Half as far from f32 as what is allowed between us and PyTorch's autocast. That itself is ten times as far from f32 on
    a processor without AVX-512, where it sums in bf16 too: there it is no measure, and only its own distance is added."""
    exact, theirs = (t.detach().double().numpy().ravel() for t in (exact, theirs))
    near(f"{what} beside f32", got, exact, AUTOCAST / 2)
    off = distance(theirs, exact)
    near(what, got, theirs, AUTOCAST if off <= AUTOCAST / 2 else AUTOCAST + off)


class Case:
    """Tensors by name, the graph for rt_case, and where both meet."""

    def __init__(self, name, seed=1):
        self.name, self.nodes, self.params, self.inputs, self.doc = name, [], {}, {}, {}
        self.rng = torch.Generator().manual_seed(seed)

    def param(self, name, *shape, scale=0.5, offset=0.0):
        value = torch.randn(shape, generator=self.rng) * scale + offset
        return self.declare(name, value)

    def declare(self, name, value):
        self.params[name] = value.clone().requires_grad_(True)
        self.nodes.append({"op": "param", "name": name, "shape": list(value.shape)})
        return self.params[name]

    def buffer(self, name, value):
        self.params[name] = value.clone()
        self.nodes.append({"op": "buffer", "name": name, "shape": list(value.shape)})
        return self.params[name]

    def image(self, name, *shape, **more):
        """A parameter (N,H,W,C) as torch sees it, (N,C,H,W)."""
        return self.param(name, *shape, **more).permute(0, 3, 1, 2)

    def input(self, name, value):
        """value has one tensor per step in front."""
        kind = "i32" if value.dtype in (torch.int64, torch.int32) else "f32"
        self.inputs[name] = value
        self.nodes.append({"op": "input", "name": name, "dtype": kind, "shape": list(value.shape[1:])})
        return value

    def op(self, op, name, *inputs, **more):
        self.nodes.append({"op": op, "name": name, "in": list(inputs), **more})

    def files(self, where):
        for name, value in self.params.items():
            value.detach().numpy().astype("<f4").tofile(f"{where}/{name}.bin")
        for name, value in self.inputs.items():
            value.numpy().astype("<i4" if value.dtype in (torch.int64, torch.int32) else "<f4").tofile(f"{where}/{name}.bin")
        with open(f"{where}/case.json", "w", encoding="utf-8") as f:
            json.dump({"nodes": self.nodes, **self.doc}, f)

    def run(self, **doc):
        """Results of the runtime: file name -> array."""
        self.doc = doc
        with tempfile.TemporaryDirectory() as where:
            self.files(where)
            subprocess.run([RT_CASE, where], check=True)
            results = {k: np.fromfile(f"{where}/{k}.bin", "<f8") for k in ("losses", "scales")}
            for entry in os.listdir(where):
                if entry.endswith((".grad.bin", ".out.bin")):
                    results[entry[:-4]] = np.fromfile(f"{where}/{entry}", "<f4")
        return results

    def check_op(self, y, watch="y", loss=None, options=None):
        """One op: its output y, weighed by random numbers, and all gradients."""
        if loss is None:
            weights = self.input("weights", torch.randn((1, *y.shape), generator=self.rng))
            self.op("dot", "loss", watch, "weights")
            loss = (y * weights[0]).sum()
        trained = {name: p for name, p in self.params.items() if p.requires_grad}
        grads = torch.autograd.grad(loss, list(trained.values()))
        for fused in (True, False):
            label = f"{self.name}{'' if fused else ' unfused'}"
            got = self.run(loss="loss", steps=1, watch=[watch] if watch else [],
                           options={"no_fuse": not fused, **(options or {})})
            near(f"{label} loss", got["losses"], [loss.item()], 1e-5)
            if watch:
                near(f"{label} forward", got[f"{watch}.out"], y.detach(), FORWARD)
            for name, want in zip(trained, grads):
                near(f"{label} d {name}", got[f"{name}.grad"], want, GRADIENT)
        point(f"{self.name}: forward and backward as in PyTorch")


    def check_low(self, f, low, amp, autocast=True):
        """The same with amp: what `low` names is rounded before f reads it, and so is the gradient that its products read; all
        sums are f32. And as near to PyTorch's autocast as the type allows, which rounds results too."""
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[amp]

        def rounded(t):
            return t.detach().to(dtype).float()

        read = {k: (rounded(p) if k in low else p.detach()).requires_grad_() for k, p in self.params.items()}
        y = f(read)
        weights = self.input("weights", torch.randn((1, *y.shape), generator=self.rng))
        self.op("dot", "loss", "y", "weights")
        want = dict(zip(read, torch.autograd.grad(y, list(read.values()), weights[0], retain_graph=True)))
        products = [k for k in read if k in low]
        if low != {"qkv"}:  # attention's own products read its gradient in f32
            want.update(zip(products, torch.autograd.grad(y, [read[k] for k in products], rounded(weights[0]))))
        got = self.run(loss="loss", steps=1, watch=["y"], options={"amp": amp, "loss_scale": 1 if amp == "f16" else 0})
        near(f"{self.name} {amp} forward", got["y.out"], y.detach(), FORWARD)
        for name, g in want.items():
            near(f"{self.name} {amp} d {name}", got[f"{name}.grad"], g, GRADIENT)
        if amp == "bf16" and autocast:
            with torch.autocast("cpu", torch.bfloat16):
                theirs = f(self.params)
            exact = f(self.params)
            near_autocast(f"{self.name}: autocast forward", got["y.out"], theirs, exact)
            pairs = [torch.autograd.grad((out.float() * weights[0]).sum(), list(self.params.values())) for out in (theirs, exact)]
            for name, g, e in zip(self.params, *pairs):
                near_autocast(f"{self.name}: autocast d {name}", got[f"{name}.grad"], g, e)
        point(f"{self.name} in {amp}: operands rounded, sums in f32, near autocast")


def attend(qkv, heads, causal=True):
    b, t, c3 = qkv.shape
    q, k, v = (x.view(b, t, heads, -1).transpose(1, 2) for x in qkv.split(c3 // 3, 2))
    mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1) & causal
    p = F.softmax(((q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])).masked_fill(mask, float("-inf")), -1)
    return (p @ v).transpose(1, 2).reshape(b, t, c3 // 3)


def ops():
    c = Case("linear")
    x, w, b = c.param("x", 6, 37, 129), c.param("w", 77, 129), c.param("b", 77)
    c.op("linear", "y", "x", "w", "b")
    c.check_op(F.linear(x, w, b))

    for act, f in (("gelu", lambda v: F.gelu(v, approximate="tanh")), ("relu", F.relu)):
        c = Case(f"linear {act}")
        x, w, b = c.param("x", 65, 129), c.param("w", 77, 129), c.param("b", 77)
        c.op("linear", "z", "x", "w", "b")
        c.op(act, "y", "z")
        c.check_op(f(F.linear(x, w, b)))
        c = Case(act)
        x = c.param("x", 5, 1001, scale=3)
        c.op(act, "y", "x")
        c.check_op(f(x))

    c = Case("embedding")
    ids = c.input("ids", torch.randint(0, 50, (1, 4, 33), generator=c.rng))
    table, positions = c.param("table", 50, 65), c.param("positions", 40, 65)
    c.op("embedding", "y", "ids", "table", "positions")
    c.check_op(table[ids[0]] + positions[:33])

    c = Case("layernorm")
    x, gain, bias = c.param("x", 7, 5, 193, scale=2, offset=1), c.param("gain", 193, offset=1), c.param("bias", 193)
    c.op("layernorm", "y", "x", "gain", "bias", eps=1e-5)
    c.check_op(F.layer_norm(x, (193,), gain, bias, 1e-5))

    c = Case("residual layernorm")
    a, b, gain, bias = c.param("a", 35, 65), c.param("b", 35, 65), c.param("gain", 65, offset=1), c.param("bias", 65)
    c.op("add", "s", "a", "b")
    c.op("layernorm", "n", "s", "gain", "bias", eps=1e-5)
    c.op("add", "y", "s", "n")
    c.check_op(a + b + F.layer_norm(a + b, (65,), gain, bias, 1e-5))

    for b, t, heads, depth in ((2, 64, 4, 16), (3, 77, 3, 17), (1, 200, 2, 64), (2, 1, 1, 8)):
        c = Case(f"attention {b}x{t} {heads} heads of {depth}")
        qkv = c.param("qkv", b, t, 3 * heads * depth, scale=1)
        c.op("attention", "y", "qkv", heads=heads)
        c.check_op(attend(qkv, heads))

    c = Case("cross entropy")
    x, y = c.param("x", 33, 1003, scale=3), c.input("targets", torch.randint(0, 1003, (1, 33), generator=c.rng))
    c.op("cross_entropy", "loss", "x", "targets")
    c.check_op(None, None, F.cross_entropy(x, y[0]))

    for slice_bytes in (0, 10 * 1008 * 4):
        c = Case(f"projection, slices of {slice_bytes or 'any'} bytes")
        x, w, b = c.param("x", 33, 65), c.param("w", 1003, 65), c.param("b", 1003)
        y = c.input("targets", torch.randint(0, 1003, (1, 33), generator=c.rng))
        c.op("linear", "logits", "x", "w", "b")
        c.op("cross_entropy", "loss", "logits", "targets")
        c.check_op(None, None, F.cross_entropy(F.linear(x, w, b), y[0]), {"logits_slice_bytes": slice_bytes})


def dropout():
    """Which elements are dropped is ours to draw; what becomes of them and of the others is as in PyTorch."""
    rate, c = 0.3, Case("dropout")
    x = c.param("x", 64, 1001, offset=5)  # none is 0
    weights = c.input("weights", torch.randn((1, *x.shape), generator=c.rng))
    c.op("dropout", "y", "x", rate=rate)
    c.op("dot", "loss", "y", "weights")
    got = c.run(loss="loss", steps=1, watch=["y"], options={})
    kept = torch.from_numpy(got["y.out"] != 0).reshape(x.shape)
    y = x * kept / (1 - rate)  # torch's definition: native_dropout(x, rate, True) with this mask
    near("dropout forward", got["y.out"], y.detach(), FORWARD)
    near("dropout d x", got["x.grad"], torch.autograd.grad((y * weights[0]).sum(), x)[0], GRADIENT)
    share = kept.float().mean().item()
    if abs(share - (1 - rate)) > 6 * math.sqrt(rate * (1 - rate) / kept.numel()):
        failures.append(f"dropout keeps {share:.4f} of the elements")
    if torch.equal(kept[0], kept[1]):
        failures.append("dropout drops the same elements of each row")
    point("dropout: forward and backward as in PyTorch, with the elements that we drop")


def small_ops():
    for act, f in (("gelu_erf", F.gelu), ("silu", F.silu), ("tanh", torch.tanh), ("sigmoid", torch.sigmoid)):
        c = Case(act)
        x = c.param("x", 5, 1001, scale=3)
        c.op(act, "y", "x")
        c.check_op(f(x))

    c = Case("affine")
    x = c.param("x", 5, 1001)
    c.op("affine", "y", "x", scale=-1.75, offset=0.3)
    c.check_op(-1.75 * x + 0.3)

    c = Case("pad")
    x = c.param("x", 3, 17, 41)
    c.op("pad", "y", "x", before=3, after=5)
    c.check_op(F.pad(x, (3, 5)))

    c = Case("reshape")
    x, w = c.param("x", 6, 35, 8), c.param("w", 9, 56)
    c.op("reshape", "r", "x", shape=[30, 56])
    c.op("linear", "y", "r", "w")
    c.check_op(F.linear(x.reshape(30, 56), w))

    c = Case("softmax")
    x = c.param("x", 7, 5, 193, scale=3)
    c.op("softmax", "y", "x")
    c.check_op(F.softmax(x, -1))

    c = Case("rmsnorm")
    x, gain = c.param("x", 7, 5, 193, scale=2, offset=1), c.param("gain", 193, offset=1)
    c.op("rmsnorm", "y", "x", "gain", eps=1e-5)
    c.check_op(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain)

    for how in ("sum", "mean", "max"):
        for dimension in range(3):
            c = Case(f"{how} over dimension {dimension}")
            x = c.param("x", 6, 35, 97)
            c.op(how, "y", "x", dimension=dimension)
            c.check_op(getattr(torch, "amax" if how == "max" else how)(x, dimension))

    c = Case("add of a row to each, mul")
    a, b = c.param("a", 9, 35, 65), c.param("b", 35, 65)
    c.op("add", "s", "a", "b")
    c.op("mul", "y", "s", "a")
    c.check_op((a + b) * a)

    for batch in ((), (5,), (3, 4)):
        for ta in (False, True):
            for tb in (False, True):
                c = Case(f"matmul {len(batch)} leading, {'T' if ta else 'N'}{'T' if tb else 'N'}")
                a = c.param("a", *batch, *((65, 37) if ta else (37, 65)))
                b = c.param("b", *batch, *((29, 65) if tb else (65, 29)))
                c.op("matmul", "y", "a", "b", ta=ta, tb=tb)
                c.check_op((a.transpose(-2, -1) if ta else a) @ (b.transpose(-2, -1) if tb else b))

    for b, t, heads, depth in ((2, 64, 4, 16), (3, 77, 3, 17), (1, 200, 2, 64), (2, 1, 1, 8)):
        c = Case(f"full attention {b}x{t} {heads} heads of {depth}")
        qkv = c.param("qkv", b, t, 3 * heads * depth, scale=1)
        c.op("attention_full", "y", "qkv", heads=heads)
        c.check_op(attend(qkv, heads, causal=False))

    c = Case("cross entropy with ignored targets")
    x, y = c.param("x", 33, 1003, scale=3), torch.randint(0, 1003, (1, 33), generator=c.rng)
    y[0, ::3] = -100
    c.input("targets", y)
    c.op("cross_entropy", "loss", "x", "targets")
    c.check_op(None, None, F.cross_entropy(x, y[0]))


def last(y):
    """(N,C,H,W) as the runtime stores it."""
    return y.permute(0, 2, 3, 1)


def image_ops():
    for n, size, cin, cout, kernel, stride, pad, groups in (
            (4, 9, 16, 32, 1, 1, 0, 1), (4, 9, 16, 32, 1, 2, 0, 1), (4, 9, 16, 16, 3, 1, 1, 1), (3, 16, 32, 64, 3, 2, 1, 1),
            (2, 21, 3, 16, 7, 2, 3, 1), (3, 8, 5, 7, 3, 1, 1, 1), (2, 8, 32, 32, 3, 1, 1, 2), (2, 8, 12, 18, 3, 2, 1, 3),
            (2, 8, 16, 16, 3, 1, 1, 16), (2, 16, 3, 24, 8, 8, 0, 1),
            # large enough for tiles
            (8, 31, 16, 32, 3, 1, 1, 1), (9, 18, 64, 48, 3, 1, 0, 1), (5, 27, 24, 130, 3, 1, 2, 1)):
        c = Case(f"conv {kernel}x{kernel} {cin} to {cout} channels, stride {stride}, pad {pad}, {groups} groups")
        x, w, b = c.image("x", n, size, size + 1, cin), c.param("w", cout, cin // groups, kernel, kernel), c.param("b", cout)
        c.op("conv", "y", "x", "w", "b", stride=stride, pad=pad, groups=groups)
        c.check_op(last(F.conv2d(x, w, b, stride, pad, 1, groups)))

    for window, stride, pad in ((2, 2, 0), (3, 2, 1), (1, 2, 0)):
        for how, f in (("max_pool", F.max_pool2d), ("avg_pool", F.avg_pool2d)):
            c = Case(f"{how} {window}, stride {stride}, pad {pad}")
            x = c.image("x", 3, 9, 10, 21)
            c.op(how, "y", "x", window=window, stride=stride, pad=pad)
            c.check_op(last(f(x, window, stride, pad)))

    for relu in (False, True):
        c = Case(f"batchnorm{' relu' if relu else ''}")
        x, gain, bias = c.image("x", 5, 7, 9, 35, offset=2), c.param("gain", 35, offset=1), c.param("bias", 35)
        mean, var = c.buffer("mean", torch.zeros(35)), c.buffer("var", torch.ones(35))
        c.op("batchnorm", "n" if relu else "y", "x", "gain", "bias", "mean", "var", eps=1e-5, momentum=0.1)
        if relu:
            c.op("relu", "y", "n")
        y = F.batch_norm(x, mean.clone(), var.clone(), gain, bias, True, 0.1, 1e-5)
        c.check_op(last(F.relu(y) if relu else y))
        F.batch_norm(x.detach(), mean, var, None, None, True, 0.1, 1e-5)
        got = c.run(loss="loss", steps=1)  # from here on the files hold what torch has after a step; ours adds another
        F.batch_norm(x.detach(), mean, var, None, None, True, 0.1, 1e-5)
        near("running mean", got["mean.out"], mean, FORWARD)
        near("running var", got["var.out"], var, FORWARD)
        point(f"{c.name}: running statistics as in PyTorch")


def norm_at_a_large_mean():
    """Where the mean is 3000 deviations float has few digits left to lose: beside double, and PyTorch's own distance from that."""
    c = Case("batchnorm at a large mean")
    x, gain, bias = c.param("x", 5, 7, 9, 35, scale=1, offset=3000), c.param("gain", 35, offset=1), c.param("bias", 35)
    c.buffer("mean", torch.zeros(35)), c.buffer("var", torch.ones(35))
    c.op("batchnorm", "y", "x", "gain", "bias", "mean", "var", eps=1e-5, momentum=0.1)
    weights = c.input("weights", torch.randn((1, 5, 7, 9, 35), generator=c.rng) + (x.detach() - 3000))
    c.op("dot", "loss", "y", "weights")
    sides = []
    for kind in (torch.float64, torch.float32):
        leaves = [t.detach().to(kind).requires_grad_(True) for t in (x, gain, bias)]
        y = last(F.batch_norm(leaves[0].permute(0, 3, 1, 2), None, None, leaves[1], leaves[2], True, 0.1, 1e-5))
        sides.append([y.detach(), *torch.autograd.grad(y, leaves, weights[0].to(kind))])
    got = c.run(loss="loss", steps=1, watch=["y"], options={})
    for name, exact, theirs in zip(("y.out", "x.grad", "gain.grad", "bias.grad"), *(map(lambda t: t.double().numpy().ravel(), s)
                                                                                 for s in sides)):
        off, torchs = distance(got[name], exact), distance(theirs, exact)
        near(f"{name} beside double", got[name], exact, 1e-6)
        print(f"# {c.name}: {name} is off by {off:.2g} of its largest element, PyTorch's by {torchs:.2g}")
    point(f"{c.name}: as accurate as at any other")


def optimizers():
    steps, n = 100, 1003
    adam, sgd = torch.optim.AdamW, torch.optim.SGD
    kinds = (
        ("adamw", adam, {"lr": 1e-3, "weight_decay": 0.01}),
        ("adamw", adam, {"lr": 1e-3, "weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-5}),
        ("adamw", adam, {"lr": 3e-3, "weight_decay": 0.0, "betas": (0.95, 0.9), "eps": 1e-3}),
        ("adam", torch.optim.Adam, {"lr": 1e-3, "weight_decay": 0.01, "betas": (0.7, 0.99), "eps": 1e-6}),
        ("sgd", sgd, {"lr": 1e-2, "momentum": 0.9, "weight_decay": 1e-3}),
        ("sgd", sgd, {"lr": 1e-2, "momentum": 0.0, "weight_decay": 1e-3}),
        ("sgd", sgd, {"lr": 1e-2, "momentum": 0.0, "weight_decay": 0.0}),
        ("sgd", sgd, {"lr": 1e-2, "momentum": 0.5, "weight_decay": 0.0}),
    )
    for kind, make, settings in kinds:
        label = f"{kind} {' '.join(f'{k} {v}' for k, v in settings.items())}"
        ours = {k: v for k, v in settings.items() if k != "betas"}
        if "betas" in settings:
            ours["beta1"], ours["beta2"] = settings["betas"]
        c = Case(label)
        p = c.param("p", n)
        scale = 10.0 ** torch.randint(-6, 2, (n,), generator=c.rng)
        g = c.input("g", torch.randn(steps, n, generator=c.rng) * scale)
        c.op("dot", "loss", "p", "g")
        got = c.run(loss="loss", steps=steps, optimizer={"kind": kind, **ours})
        opt = make([p], **settings)
        for s in range(steps):
            p.grad = g[s].clone()
            opt.step()
        near(f"{label} after {steps} steps", got["p.out"], p.detach(), OPTIMIZER)
        point(f"{label}: {steps} steps as in PyTorch")


def gpt_loss(p, k, tokens, targets):
    x = p["wte"][tokens] + p["wpe"][: k["seq"]]
    norm = lambda v, at: F.layer_norm(v, (k["width"],), p[f"{at}.weight"], p[f"{at}.bias"], 1e-5)
    dense = lambda v, at: F.linear(v, p[f"{at}.weight"], p[f"{at}.bias"])
    for i in range(k["layers"]):
        x = x + dense(attend(dense(norm(x, f"h{i}.ln1"), f"h{i}.qkv"), k["heads"]), f"h{i}.proj")
        x = x + dense(F.gelu(dense(norm(x, f"h{i}.ln2"), f"h{i}.fc"), approximate="tanh"), f"h{i}.fcproj")
    logits = F.linear(norm(x, "lnf"), p["wte"])
    return F.cross_entropy(logits.view(-1, k["vocab"]), targets.reshape(-1))


def gpt_params(c, k):
    w = k["width"]
    shapes = {"wte": (k["vocab"], w), "wpe": (k["positions"], w)}
    for i in range(k["layers"]):
        for at, out, into in ((f"h{i}.qkv", 3 * w, w), (f"h{i}.proj", w, w), (f"h{i}.fc", 4 * w, w), (f"h{i}.fcproj", w, 4 * w)):
            shapes[f"{at}.weight"], shapes[f"{at}.bias"] = (out, into), (out,)
    for at in [f"h{i}.ln{j}" for i in range(k["layers"]) for j in (1, 2)] + ["lnf"]:
        shapes[f"{at}.weight"], shapes[f"{at}.bias"] = (w,), (w,)
    for name, shape in shapes.items():
        gain = ".ln" in name and name.endswith("weight") or name == "lnf.weight"
        value = torch.randn(shape, generator=c.rng) * (0.1 if gain else 0.02) + (1.0 if gain else 0.0)
        c.params[name] = value.requires_grad_(True)


def training(c, loss_of, opt, steps, settings):
    want = []
    got = c.run(loss="loss", steps=steps, optimizer=settings)
    for s in range(steps):
        opt.zero_grad(set_to_none=True)
        loss = loss_of(s)
        loss.backward()
        opt.step()
        want.append(loss.item())
    for s in range(steps):
        near(f"{c.name} loss at step {s + 1}", got["losses"][s], want[s], TRAINING)
    point(f"{c.name}: {steps} steps of training as in PyTorch")
    worst = max(abs(g - w) / max(abs(w), 1e-9) for g, w in zip(got["losses"], want))
    print(f"# loss {want[0]:.5f} -> {want[-1]:.5f} there, {got['losses'][-1]:.5f} here; apart by {worst:.2g} at most")


def batch_norm(c, x, name):
    p = c.params
    return F.batch_norm(x, p[f"{name}.running_mean"], p[f"{name}.running_var"], p[f"{name}.weight"], p[f"{name}.bias"],
                        True, 0.1, 1e-5)


def resnet_params(c, depth, classes):
    def conv(name, out, into):
        c.params[f"{name}.weight"] = (torch.randn(out, into, 3, 3, generator=c.rng) * (2 / (9 * out)) ** 0.5).requires_grad_(True)

    def norm(name, width):
        c.params[f"{name}.weight"] = (1 + 0.1 * torch.randn(width, generator=c.rng)).requires_grad_(True)
        c.params[f"{name}.bias"] = (0.1 * torch.randn(width, generator=c.rng)).requires_grad_(True)
        c.params[f"{name}.running_mean"], c.params[f"{name}.running_var"] = torch.zeros(width), torch.ones(width)

    conv("conv1", 16, 3), norm("bn1", 16)
    into = 16
    for stage in range(3):
        for i in range((depth - 2) // 6):
            out, at = 16 << stage, f"layer{stage + 1}.{i}"
            conv(f"{at}.conv1", out, into), norm(f"{at}.bn1", out), conv(f"{at}.conv2", out, out), norm(f"{at}.bn2", out)
            into = out
    c.params["fc.weight"] = (torch.randn(classes, 64, generator=c.rng) * 0.1).requires_grad_(True)
    c.params["fc.bias"] = torch.zeros(classes, requires_grad=True)


def resnet_loss(c, depth, x, y):
    p, into = c.params, 16
    x = F.relu(batch_norm(c, F.conv2d(x.permute(0, 3, 1, 2), p["conv1.weight"], None, 1, 1), "bn1"))
    for stage in range(3):
        for i in range((depth - 2) // 6):
            out, at = 16 << stage, f"layer{stage + 1}.{i}"
            stride = 1 if out == into else 2
            z = F.relu(batch_norm(c, F.conv2d(x, p[f"{at}.conv1.weight"], None, stride, 1), f"{at}.bn1"))
            z = batch_norm(c, F.conv2d(z, p[f"{at}.conv2.weight"], None, 1, 1), f"{at}.bn2")
            if stride == 2:
                x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, (out - into) // 2, (out - into) // 2))
            x, into = F.relu(x + z), out
    return F.cross_entropy(F.linear(x.mean((2, 3)), p["fc.weight"], p["fc.bias"]), y)


def trained_resnet(c, start, kind, steps, lr):
    """Losses of PyTorch in that type."""
    c.params = {name: p.to(kind).clone().requires_grad_("running" not in name) for name, p in start.items()}
    opt = torch.optim.SGD([p for p in c.params.values() if p.requires_grad], lr=lr, momentum=0.9)
    losses = []
    for s in range(steps):
        opt.zero_grad(set_to_none=True)
        loss = resnet_loss(c, 20, c.inputs["x"][s].to(kind), c.inputs["y"][s])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return np.array(losses)


def resnet(steps):
    """Ten batches in turn, from the same weights. Every relu that changes sides by a rounding makes the curves part a little
    more, so the yardstick is PyTorch itself: how far its float32 is from its float64 up to FLIP steps later, for in which of the
    first steps a relu lies so near to zero is chance (of PyTorch's the first does in the third to fifth step), and until one does
    all that is seen is the rounding of the loss itself."""
    batch, size, classes, lr = 16, 16, 10, 0.002
    c = Case("ResNet-20")
    resnet_params(c, 20, classes)
    c.nodes = [{"op": "resnet", "name": "loss", "batch": batch, "size": size, "depth": 20, "classes": classes}]
    c.inputs = {"x": torch.randn(10, batch, size, size, 3, generator=c.rng).repeat(steps // 10, 1, 1, 1, 1),
                "y": torch.randint(0, classes, (10, batch), generator=c.rng).repeat(steps // 10, 1)}
    start = {name: p.detach().clone() for name, p in c.params.items()}
    ours = c.run(loss="loss", steps=steps, optimizer={"kind": "sgd", "lr": lr, "momentum": 0.9})["losses"]
    single, double = (trained_resnet(c, start, kind, steps, lr) for kind in (torch.float32, torch.float64))
    noise, error = (np.maximum.accumulate(np.abs(x - double) / double) for x in (single, ours))
    noise = np.append(noise[FLIP:], np.full(FLIP, noise[-1]))
    for s in np.nonzero(error > RESNET * noise + 1e-6)[0]:
        failures.append(f"step {s + 1}: {error[s]:.2g} from float64 by now, PyTorch's float32 {noise[s]:.2g}")
    near("ResNet-20 first loss", ours[0], double[0], FORWARD)
    point(f"ResNet-20: {steps} steps of training within {RESNET} times PyTorch's own rounding")
    print(f"# loss {double[0]:.5f} -> {double[-1]:.5f} in float64, {single[-1]:.5f} in PyTorch's float32, {ours[-1]:.5f} here;"
          f" apart from float64 by {noise[-1]:.2g} and {error[-1]:.2g} at most")


def models():
    steps = 200
    k = {"batch": 2, "seq": 65, "layers": 3, "width": 96, "heads": 3, "vocab": 517, "positions": 70}
    c = Case("GPT")
    gpt_params(c, k)
    c.nodes = [{"op": "gpt", "name": "loss", **k}]
    text = torch.randint(0, k["vocab"], (10, k["batch"], k["seq"] + 1), generator=c.rng).repeat(steps // 10, 1, 1)
    c.inputs = {"tokens": text[:, :, :-1].contiguous(), "targets": text[:, :, 1:].contiguous()}
    opt = torch.optim.AdamW(c.params.values(), lr=1e-3, weight_decay=0.01)
    training(c, lambda s: gpt_loss(c.params, k, c.inputs["tokens"][s], c.inputs["targets"][s]), opt, steps,
             {"kind": "adamw", "lr": 1e-3, "weight_decay": 0.01})

    resnet(200)

    steps = 20
    sizes = [784, 128, 65, 10]
    c = Case("MLP")
    for i in range(3):
        bound = sizes[i] ** -0.5
        for name, shape in ((f"fc{i}.weight", (sizes[i + 1], sizes[i])), (f"fc{i}.bias", (sizes[i + 1],))):
            value = (torch.rand(shape, generator=c.rng) * 2 - 1) * bound
            c.params[name] = value.requires_grad_(True)
    c.nodes = [{"op": "mlp", "name": "loss", "batch": 64, "shape": sizes}]
    c.inputs = {"x": torch.randn(1, 64, 784, generator=c.rng).repeat(steps, 1, 1),
                "y": torch.randint(0, 10, (1, 64), generator=c.rng).repeat(steps, 1)}

    def mlp(s):
        x = c.inputs["x"][s]
        for i in range(3):
            x = F.linear(x, c.params[f"fc{i}.weight"], c.params[f"fc{i}.bias"])
            x = F.relu(x) if i < 2 else x
        return F.cross_entropy(x, c.inputs["y"][s])

    training(c, mlp, torch.optim.SGD(c.params.values(), lr=0.05, momentum=0.9), steps,
             {"kind": "sgd", "lr": 0.05, "momentum": 0.9})


def low_ops():
    """What autocast's list for the CPU has: linear, matmul, convolutions, attention."""
    for amp in ("bf16", "f16"):
        for batch, ta, tb in (((), False, True), ((5,), True, False), ((3, 4), False, False), ((2,), True, True)):
            c = Case(f"matmul {len(batch)} leading, {'T' if ta else 'N'}{'T' if tb else 'N'}")
            c.param("a", *batch, *((65, 37) if ta else (37, 65))), c.param("b", *batch, *((29, 65) if tb else (65, 29)))
            c.op("matmul", "y", "a", "b", ta=ta, tb=tb)
            c.check_low(lambda p, t=(ta, tb): (p["a"].transpose(-2, -1) if t[0] else p["a"]) @
                        (p["b"].transpose(-2, -1) if t[1] else p["b"]), {"a", "b"}, amp)

        c = Case("linear")
        c.param("x", 6, 37, 129), c.param("w", 77, 129), c.param("b", 77)
        c.op("linear", "y", "x", "w", "b")
        c.check_low(lambda p: F.linear(p["x"], p["w"], p["b"]), {"x", "w"}, amp)

        for n, size, cin, cout, kernel, stride, pad, groups in (
                (4, 9, 16, 32, 3, 1, 1, 1), (3, 16, 32, 64, 1, 2, 0, 1), (3, 8, 5, 7, 3, 1, 1, 1), (2, 8, 12, 18, 3, 2, 1, 3),
                (2, 21, 3, 16, 7, 2, 3, 1)):
            c = Case(f"conv {kernel}x{kernel} {cin} to {cout} channels, stride {stride}, pad {pad}, {groups} groups")
            c.param("x", n, size, size + 1, cin), c.param("w", cout, cin // groups, kernel, kernel), c.param("b", cout)
            c.op("conv", "y", "x", "w", "b", stride=stride, pad=pad, groups=groups)
            c.check_low(lambda p, a=(stride, pad, 1, groups): last(F.conv2d(p["x"].permute(0, 3, 1, 2), p["w"], p["b"], *a)),
                        {"x", "w"}, amp)

        for t, causal in ((67, True), (130, False)):
            c = Case(f"attention of {t}, {'causal' if causal else 'all keys'}")
            c.param("qkv", 2, t, 3 * 48)
            c.op("attention" if causal else "attention_full", "y", "qkv", heads=3)
            c.check_low(lambda p, causal=causal: attend(p["qkv"], 3, causal), {"qkv"}, amp)


def buckets():
    """The rule by which tests/unit/comm_train.c judges our buckets is what PyTorch does: one is closed by the gradient with which it
    reaches its limit."""
    try:
        assign = torch.distributed._compute_bucket_assignment_by_size
    except AttributeError:
        print("# this PyTorch has no torch.distributed: its buckets were not compared")
        return
    draw = random.Random(1)
    for _ in range(20):
        sizes = [draw.randint(1, 1600) for _ in range(draw.randint(1, 30))]
        limits = [4 * draw.randint(1, 300), 4 * draw.randint(1, 2000)]
        theirs = assign([torch.zeros(n) for n in sizes], limits)
        theirs = theirs[0] if isinstance(theirs, tuple) else theirs
        rule, have, limit = [[]], 0, limits[0]
        for i, n in enumerate(sizes):
            if have >= limit:
                rule.append([])
                have, limit = 0, limits[1]
            rule[-1].append(i)
            have += 4 * n
        if rule != [list(b) for b in theirs]:
            failures.append(f"{sizes}, limits {limits}: {theirs}, by the rule {rule}")
    point("buckets of gradients: 20 lists as PyTorch assigns them")


def main():
    torch.set_num_threads(2)
    ops()
    small_ops()
    dropout()
    image_ops()
    norm_at_a_large_mean()
    optimizers()
    buckets()
    low_ops()
    models()
    print(f"1..{points}\n# PyTorch {torch.__version__}, {compared} tensors and losses compared")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
