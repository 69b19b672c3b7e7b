#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the runtime with PyTorch: all op cases forward and backward, optimizers over 100 steps, training of a GPT, a ResNet and
an MLP.

Usage: check_torch.py [RT_CASE]    (default: $TOP_BUILDDIR/tests/peers/rt_case)
Prints TAP, one line per op, optimizer and model. Both sides get the same tensors as raw files. Tolerances are shares of the largest element of each tensor:
forward 3e-6, gradients 1e-5, optimizers 2e-6 after 100 steps, losses of training 2e-5 at every step. All in float32.
Exit status 77 where PyTorch is missing.
"""
import json
import math
import os
import random
import re
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
    """Prints one TAP line for all comparisons since the last one."""
    global points, broken
    points += 1
    broken += bool(failures)
    print(f"{'not ok' if failures else 'ok'} {points} - {name}", flush=True)
    for line in failures:
        print(f"# {line}")
    failures.clear()


def near(what, got, want, tolerance):
    """Returns the largest difference as a share of the largest expected element."""
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
    """Allows half the distance from f32 that it allows from PyTorch's autocast. Without AVX-512, autocast also sums in bf16 and is
    ten times as far from f32. Its own distance from f32 is then added to the tolerance."""
    exact, theirs = (t.detach().double().numpy().ravel() for t in (exact, theirs))
    near(f"{what} beside f32", got, exact, AUTOCAST / 2)
    off = distance(theirs, exact)
    near(what, got, theirs, AUTOCAST if off <= AUTOCAST / 2 else AUTOCAST + off)


def last(y):
    """Converts (N,C,H,W) to the runtime's layout."""
    return y.permute(0, 2, 3, 1)


def first(x):
    """Converts the runtime's layout to (N,C,H,W)."""
    return x.permute(0, 3, 1, 2)


def attend(qkv, heads, causal=True):
    b, t, c3 = qkv.shape
    q, k, v = (x.view(b, t, heads, -1).transpose(1, 2) for x in qkv.split(c3 // 3, 2))
    mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1) & causal
    p = F.softmax(((q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])).masked_fill(mask, float("-inf")), -1)
    return (p @ v).transpose(1, 2).reshape(b, t, c3 // 3)


def attend_grouped(qkv, heads, kv):
    """Repeats each key/value head for the heads that share it."""
    depth = qkv.shape[-1] // (heads + 2 * kv)
    q, k, v = qkv.split([heads * depth, kv * depth, kv * depth], 2)
    k, v = (x.unflatten(-1, (kv, depth)).repeat_interleave(heads // kv, 2).flatten(-2) for x in (k, v))
    return attend(torch.cat((q, k, v), 2), heads)


def rope(x, heads, depth, base):
    """Su et al., RoFormer: rotates each pair of elements by its position times its frequency."""
    angle = torch.arange(x.shape[1]).double()[:, None] * float(base) ** (-2 * torch.arange(depth // 2).double() / depth)
    cos, sin = (f(angle).to(x.dtype)[:, None, :] for f in (torch.cos, torch.sin))
    a, b = x[..., :heads * depth].unflatten(-1, (heads, 2, depth // 2)).unbind(-2)
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), -2).flatten(-3)
    return torch.cat((turned, x[..., heads * depth:]), -1)


def conv(x, w, b, stride=1, pad=0, groups=1):
    return last(F.conv2d(first(x), w, b, stride, pad, 1, groups))


def batchnorm(x, gain, bias, mean, var):
    """Updates mean and var."""
    y = F.batch_norm(first(x) if x.dim() == 4 else x, mean, var, gain, bias, True, 0.1, 1e-5)
    return last(y) if x.dim() == 4 else y


# The ops of runtime/cases/cases.h: functions of tensors t, then numbers.
OPS = {
    "linear": lambda t: F.linear(*t),
    "matmul": lambda t, ta=0, tb=0: (t[0].transpose(-2, -1) if ta else t[0]) @ (t[1].transpose(-2, -1) if tb else t[1]),
    "conv": lambda t, *n: conv(*t, *[None] * (3 - len(t)), *n),
    "embedding": lambda t: t[1][t[0].long()] + (t[2][:t[0].shape[1]] if len(t) > 2 else 0),
    "layernorm": lambda t: F.layer_norm(t[0], t[1].shape, t[1], t[2], 1e-5),
    "rmsnorm": lambda t: t[0] * torch.rsqrt(t[0].pow(2).mean(-1, keepdim=True) + 1e-5) * t[1],
    "batchnorm": lambda t: batchnorm(*t),
    "attention": lambda t, heads: attend(t[0], heads),
    "attention_full": lambda t, heads: attend(t[0], heads, causal=False),
    "attention_gqa": lambda t, heads, kv: attend_grouped(t[0], heads, kv),
    "swiglu": lambda t: F.silu(t[0].chunk(2, -1)[0]) * t[0].chunk(2, -1)[1],
    "rope": lambda t, *n: rope(t[0], *n),
    "gelu": lambda t: F.gelu(t[0], approximate="tanh"),
    "gelu_erf": lambda t: F.gelu(t[0]),
    "relu": lambda t: F.relu(t[0]),
    "silu": lambda t: F.silu(t[0]),
    "tanh": lambda t: torch.tanh(t[0]),
    "sigmoid": lambda t: torch.sigmoid(t[0]),
    "softmax": lambda t: F.softmax(t[0], -1),
    "add": lambda t: t[0] + t[1],
    "mul": lambda t: t[0] * t[1],
    "affine": lambda t, scale, offset: scale * t[0] + offset,
    "sum": lambda t, d: t[0].sum(d),
    "mean": lambda t, d: t[0].mean(d),
    "max": lambda t, d: t[0].amax(d),
    "max_pool": lambda t, *n: last(F.max_pool2d(first(t[0]), *n)),
    "avg_pool": lambda t, *n: last(F.avg_pool2d(first(t[0]), *n)),
    "pad": lambda t, before, after: F.pad(t[0], (before, after)),
    "reshape": lambda t, *shape: t[0].reshape(shape),
    "dot": lambda t: (t[0] * t[1]).sum(),
    "cross_entropy": lambda t: F.cross_entropy(t[0].flatten(0, -2), t[1].flatten().long()),
}


class Names(dict):
    """Maps the names in a graph's text to ops, results, and tensors, which leaf(name, shape, deviation, mean) gives."""

    def __init__(self, leaf):
        super().__init__()
        self.leaf = leaf

    def __missing__(self, name):
        return Name(self, name)

    def evaluate(self, graph):
        """Returns the result of the last op of a text such as "h = gelu(x[5,9]); add(h, x)"."""
        for name, text in re.findall(r"(?:(\w+) = )?([^;]+);?\s*", graph):
            self[name] = eval(text, {}, self)
        return self[""]


class Name:
    """An op where it is called, and where it has a shape a tensor that is declared by this: name[5,9:0.3:1]."""

    def __init__(self, names, name):
        self.names, self.name = names, name

    def __call__(self, *args):
        return OPS[self.name]([a for a in args if torch.is_tensor(a)], *[a for a in args if not torch.is_tensor(a)])

    def __getitem__(self, key):
        *shape, end = key if isinstance(key, tuple) else (key,)
        size, deviation, mean = (end.start, end.stop, end.step or 0) if isinstance(end, slice) else (end, 1, 0)
        return self.names.setdefault(self.name, self.names.leaf(self.name, (*shape, size), deviation, mean))


class Case:
    """A graph for rt_case and PyTorch, and its tensors by name. The caller owns those of a model."""

    def __init__(self, name, graph, seed=1, ids=0, ignore=False, **options):
        self.name, self.graph, self.ids, self.ignore, self.options = name, graph, ids, ignore, options
        self.params, self.inputs, self.doc = {}, {}, {}
        self.rng = torch.Generator().manual_seed(seed)
        if not re.match("(gpt|mlp|resnet)\\(", graph):
            self.shape = Names(self.declare).evaluate(graph).shape
        self.loss = re.search(r"(dot|cross_entropy)\([^;]*$", graph) and self.shape == ()

    def declare(self, name, shape, deviation, mean):
        """Draws the tensor. Inputs have a leading dimension of one step."""
        kind, normal = name.rstrip("0123456789"), torch.randn(shape, generator=self.rng)
        if kind == "ids":
            self.inputs[name] = torch.randint(0, self.ids, (1, *shape), generator=self.rng)
            if self.ignore:
                self.inputs[name].view(-1)[::3] = -100
        elif kind in ("mask", "weights"):
            self.inputs[name] = normal[None]
        else:
            self.params[name] = normal.abs() + 0.5 if kind == "var" else normal * deviation + mean
            self.params[name].requires_grad_(kind not in ("mean", "var"))
            return self.params[name]
        return self.inputs[name][0]

    def trained(self):
        return {name: p for name, p in self.params.items() if p.requires_grad}

    def evaluate(self, values=None):
        """Returns PyTorch's result for these values or the case's own. Buffers are updated in values."""
        values = {**self.params, **(values or {})}
        return Names(lambda name, *_: values[name] if name in values else self.inputs[name][0]).evaluate(self.graph)

    def weigh(self, y=None):
        """Draws random weights of the result for rt_case's loss. A part of the result y keeps the sum from cancelling."""
        self.inputs["weights"] = torch.randn((1, *(self.shape or (1,))), generator=self.rng)
        weights = self.inputs["weights"][0].reshape(self.shape)
        if y is not None:
            weights += 0.3 * y.detach() / y.detach().square().mean().sqrt()
        return weights

    def files(self, where):
        for name, value in self.params.items():
            value.detach().numpy().astype("<f4").tofile(f"{where}/{name}.bin")
        for name, value in self.inputs.items():
            value.numpy().astype("<i4" if value.dtype in (torch.int64, torch.int32) else "<f4").tofile(f"{where}/{name}.bin")
        with open(f"{where}/case.json", "w", encoding="utf-8") as f:
            json.dump({"graph": self.graph, **self.doc}, f)

    def run(self, **doc):
        """Returns the results of the runtime: {file name: array}."""
        self.doc = doc
        with tempfile.TemporaryDirectory() as where:
            self.files(where)
            subprocess.run([RT_CASE, where], check=True)
            results = {k: np.fromfile(f"{where}/{k}.bin", "<f8") for k in ("losses", "scales")}
            for entry in os.listdir(where):
                if entry.endswith((".grad.bin", ".out.bin")):
                    results[entry[:-4]] = np.fromfile(f"{where}/{entry}", "<f4")
        return results

    def check(self):
        """The result, weighed by random numbers, all gradients, and the running statistics after a step."""
        moved = {name: p.clone() for name, p in self.params.items() if not p.requires_grad}
        loss = y = self.evaluate(moved)
        if not self.loss:
            loss = (y * self.weigh(y)).sum()
        grads = torch.autograd.grad(loss, list(self.trained().values()))
        for fused in (True, False):
            label = f"{self.name}{'' if fused else ' unfused'}"
            got = self.run(steps=1, watch=[] if self.loss else ["y"], options={"no_fuse": not fused, **self.options})
            near(f"{label} loss", got["losses"], [loss.item()], 1e-5)
            if not self.loss:
                near(f"{label} forward", got["y.out"], y.detach(), FORWARD)
            for name, want in zip(self.trained(), grads):
                near(f"{label} d {name}", got[f"{name}.grad"], want, GRADIENT)
            for name, want in moved.items():
                near(f"{label} running {name}", got[f"{name}.out"], want, FORWARD)
        point(f"{self.name}: forward and backward as in PyTorch")

    def check_low(self, amp, autocast=True):
        """The same with amp: the product's operands and its gradient are rounded, and all sums are f32. The results are as close to
        PyTorch's autocast as the type allows. Autocast also rounds results."""
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[amp]

        def rounded(t):
            return t.detach().to(dtype).float()

        low = [k for k in self.params if k != "b" or self.graph.startswith("matmul")]
        read = {k: (rounded(p) if k in low else p.detach()).requires_grad_() for k, p in self.params.items()}
        y = self.evaluate(read)
        weights = self.weigh()
        want = dict(zip(read, torch.autograd.grad(y, list(read.values()), weights, retain_graph=True)))
        if low != ["qkv"]:  # Attention's own products read its gradient in f32.
            want.update(zip(low, torch.autograd.grad(y, [read[k] for k in low], rounded(weights))))
        got = self.run(steps=1, watch=["y"], options={"amp": amp, "loss_scale": 1 if amp == "f16" else 0})
        near(f"{self.name} {amp} forward", got["y.out"], y.detach(), FORWARD)
        for name, g in want.items():
            near(f"{self.name} {amp} d {name}", got[f"{name}.grad"], g, GRADIENT)
        if amp == "bf16" and autocast:
            with torch.autocast("cpu", torch.bfloat16):
                theirs = self.evaluate()
            exact = self.evaluate()
            near_autocast(f"{self.name}: autocast forward", got["y.out"], theirs, exact)
            pairs = [torch.autograd.grad((out.float() * weights).sum(), list(self.params.values())) for out in (theirs, exact)]
            for name, g, e in zip(self.params, *pairs):
                near_autocast(f"{self.name}: autocast d {name}", got[f"{name}.grad"], g, e)
        point(f"{self.name} in {amp}: operands rounded, sums in f32, near autocast")


def ops():
    """Checks all op cases. Cases of one matrix product (linear, matmul, conv, attention, as in autocast's list) are also checked in
    reduced precision. Large convolutions stay in f32 on CPUs where that is not slower (runtime/pass/precision.c)."""
    rows = json.loads(subprocess.run([RT_CASE, "--list"], check=True, stdout=subprocess.PIPE).stdout)
    for row in rows:
        Case(**row).check()
        product = re.fullmatch(r"(linear|matmul|conv|attention|attention_full)\([^()]*\)", row["graph"])
        if product and not row["name"].startswith("conv.winograd"):
            for amp in ("bf16", "f16"):
                Case(**row).check_low(amp)


def dropout():
    """The runtime draws the dropped elements. With this mask, forward and backward are as in PyTorch."""
    rate, c = 0.3, Case("dropout", "mul(x[64,1001:0.5:5], x)")  # none is 0
    x, c.graph = c.params["x"], "dropout(x[64,1001], 0.3)"
    weights = c.weigh()
    got = c.run(steps=1, watch=["y"], options={})
    kept = torch.from_numpy(got["y.out"] != 0).reshape(x.shape)
    y = x * kept / (1 - rate)  # PyTorch's definition: native_dropout(x, rate, True) with this mask.
    near("dropout forward", got["y.out"], y.detach(), FORWARD)
    near("dropout d x", got["x.grad"], torch.autograd.grad((y * weights).sum(), x)[0], GRADIENT)
    share = kept.float().mean().item()
    if abs(share - (1 - rate)) > 6 * math.sqrt(rate * (1 - rate) / kept.numel()):
        failures.append(f"dropout keeps {share:.4f} of the elements")
    if torch.equal(kept[0], kept[1]):
        failures.append("dropout drops the same elements of each row")
    point("dropout: forward and backward as in PyTorch with the same mask")


def norm_at_a_large_mean():
    """With a mean of 3000 deviations, float has few digits left. The references are double and PyTorch's own distance from it."""
    c = Case("batchnorm at a large mean",
             "batchnorm(x[5,7,9,35:1:3000], gain[35:0.5:1], bias[35:0.5], mean[35], var[35])")
    leaves = list(c.trained().values())
    weights = c.weigh() + (leaves[0].detach() - 3000)
    c.inputs["weights"] = weights[None]
    sides = []
    for kind in (torch.float64, torch.float32):
        own = [t.detach().to(kind).requires_grad_(True) for t in leaves]
        y = batchnorm(*own, None, None)
        sides.append([y.detach(), *torch.autograd.grad(y, own, weights.to(kind))])
    got = c.run(steps=1, watch=["y"], options={})
    for name, exact, theirs in zip(("y.out", "x.grad", "gain.grad", "bias.grad"), *(map(lambda t: t.double().numpy().ravel(), s)
                                                                                 for s in sides)):
        off, torchs = distance(got[name], exact), distance(theirs, exact)
        near(f"{name} beside double", got[name], exact, 1e-6)
        print(f"# {c.name}: {name} is off by {off:.2g} of its largest element, PyTorch's by {torchs:.2g}")
    point(f"{c.name}: as accurate as at other means")


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
        c = Case(label, f"dot(p[{n}:0.5], weights[{n}])")
        p, scale = c.params["p"], 10.0 ** torch.randint(-6, 2, (n,), generator=c.rng)
        g = c.inputs["weights"] = torch.randn(steps, n, generator=c.rng) * scale
        got = c.run(steps=steps, optimizer={"kind": kind, **ours})
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


def gpt_case(name, k):
    """Returns a GPT with random parameters, without its inputs. k: the numbers of gpt(), in that order."""
    c, w = Case(name, f"gpt({', '.join(map(str, k.values()))})"), k["width"]
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
    return c


def training(c, loss_of, opt, steps, settings):
    want = []
    got = c.run(steps=steps, optimizer=settings)
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
    """Returns PyTorch's losses in that type."""
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
    """Ten batches in turn, from the same weights. Every relu whose sign changes by rounding makes the curves differ more. The limit
    is the difference between PyTorch's float32 and float64 up to FLIP steps later, because the step with the first such relu is
    random (in PyTorch the third to fifth). Before it, the only difference is the rounding of the loss itself."""
    batch, size, classes, lr = 16, 16, 10, 0.002
    c = Case("ResNet-20", f"resnet({batch}, {size}, 20, {classes})")
    resnet_params(c, 20, classes)
    c.inputs = {"x": torch.randn(10, batch, size, size, 3, generator=c.rng).repeat(steps // 10, 1, 1, 1, 1),
                "y": torch.randint(0, classes, (10, batch), generator=c.rng).repeat(steps // 10, 1)}
    start = {name: p.detach().clone() for name, p in c.params.items()}
    ours = c.run(steps=steps, optimizer={"kind": "sgd", "lr": lr, "momentum": 0.9})["losses"]
    single, double = (trained_resnet(c, start, kind, steps, lr) for kind in (torch.float32, torch.float64))
    noise, error = (np.maximum.accumulate(np.abs(x - double) / double) for x in (single, ours))
    noise = np.append(noise[FLIP:], np.full(FLIP, noise[-1]))
    for s in np.nonzero(error > RESNET * noise + 1e-6)[0]:
        failures.append(f"step {s + 1}: {error[s]:.2g} from float64, PyTorch's float32 {noise[s]:.2g}")
    near("ResNet-20 first loss", ours[0], double[0], FORWARD)
    point(f"ResNet-20: {steps} steps of training within {RESNET} times PyTorch's own rounding")
    print(f"# loss {double[0]:.5f} -> {double[-1]:.5f} in float64, {single[-1]:.5f} in PyTorch's float32, {ours[-1]:.5f} here;"
          f" apart from float64 by {noise[-1]:.2g} and {error[-1]:.2g} at most")


def models():
    steps = 200
    k = {"batch": 2, "seq": 65, "layers": 3, "width": 96, "heads": 3, "vocab": 517, "positions": 70}
    c = gpt_case("GPT", k)
    text = torch.randint(0, k["vocab"], (10, k["batch"], k["seq"] + 1), generator=c.rng).repeat(steps // 10, 1, 1)
    c.inputs = {"tokens": text[:, :, :-1].contiguous(), "targets": text[:, :, 1:].contiguous()}
    opt = torch.optim.AdamW(c.params.values(), lr=1e-3, weight_decay=0.01)
    training(c, lambda s: gpt_loss(c.params, k, c.inputs["tokens"][s], c.inputs["targets"][s]), opt, steps,
             {"kind": "adamw", "lr": 1e-3, "weight_decay": 0.01})

    resnet(200)

    steps = 20
    sizes = [784, 128, 65, 10]
    c = Case("MLP", f"mlp(64, {', '.join(map(str, sizes))})")
    for i in range(3):
        bound = sizes[i] ** -0.5
        for name, shape in ((f"fc{i}.weight", (sizes[i + 1], sizes[i])), (f"fc{i}.bias", (sizes[i + 1],))):
            value = (torch.rand(shape, generator=c.rng) * 2 - 1) * bound
            c.params[name] = value.requires_grad_(True)
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


def buckets():
    """Checks that PyTorch uses the rule by which tests/unit/comm_train.c judges the runtime's buckets: the gradient with which a
    bucket reaches its limit closes it."""
    try:
        assign = torch.distributed._compute_bucket_assignment_by_size
    except AttributeError:
        print("# this PyTorch has no torch.distributed: the buckets were not compared")
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
    dropout()
    norm_at_a_large_mean()
    optimizers()
    buckets()
    models()
    print(f"1..{points}\n# PyTorch {torch.__version__}, {compared} tensors and losses compared")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
