#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares training techniques with PyTorch: GradScaler traces, accumulation with clipping, Adam, autocast, 8-bit moments.

Usage: check_techniques.py [RT_CASE]    (default: $TOP_BUILDDIR/tests/peers/rt_case)
Prints TAP. The scaler is PyTorch's own class; releases that have its two kernels for CUDA alone get them here in Python, as
aten/src/ATen/native/cuda/AmpKernels.cu defines them. Exit status 77 where PyTorch is missing.
"""
import sys

sys.dont_write_bytecode = True  # The source tree may be read-only.
import check_torch
from check_torch import Case, gpt_loss, near, np, point, torch

F = check_torch.F


def non_finite_check_and_unscale(grads, found_inf, inv_scale):
    for g in grads:
        if not torch.isfinite(g).all():
            found_inf.fill_(1)
        g.mul_(inv_scale)


def update_scale(scale, tracker, found_inf, growth, backoff, interval):
    if found_inf.item():
        scale.fill_(np.float32(scale.item() * backoff))
        tracker.fill_(0)
    elif tracker.item() + 1 == interval:
        grown = np.float32(scale.item() * growth)
        if np.isfinite(grown):
            scale.fill_(grown)
        tracker.fill_(0)
    else:
        tracker.add_(1)


class OneDevice:
    def __init__(self, master):
        self.master = master
        self._per_device_tensors = {master.device: master}

    def get(self, device):
        return self.master


def make_scaler(**settings):
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", **settings)
    from torch.cuda.amp import grad_scaler
    grad_scaler.amp_definitely_not_available = lambda: False
    grad_scaler._MultiDeviceReplicator = OneDevice
    torch._amp_foreach_non_finite_check_and_unscale_ = non_finite_check_and_unscale
    torch._amp_update_scale_ = update_scale

    class Scaler(grad_scaler.GradScaler):
        def scale(self, outputs):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale

    return Scaler(**settings)


def scaler_trace(label, init, interval, overflows, accum, clip):
    """A script gives the gradients. At its marked steps, one of them overflows after scaling."""
    updates, n = 40, 301
    c = Case(f"scaler {label}", f"dot(p[{n}:0.5], weights[{n}])")
    p, g = c.params["p"], torch.randn(updates * accum, n, generator=c.rng)
    c.inputs["weights"] = g
    for u in overflows:
        g[u * accum + accum - 1, 7] = float("inf") if u % 2 else float("nan")
    got = c.run(steps=updates * accum, optimizer={"kind": "adamw", "lr": 1e-2, "weight_decay": 0.01},
                options={"accum": accum, "clip_norm": clip, "loss_scale": init, "scale_interval": interval})
    opt = torch.optim.AdamW([p], lr=1e-2, weight_decay=0.01)
    scaler = make_scaler(init_scale=init, growth_interval=interval)
    scales = []
    for u in range(updates):
        opt.zero_grad(set_to_none=True)
        for i in range(accum):
            loss = scaler.scale((p * g[u * accum + i]).sum() / accum)
            loss.backward()
        scales += [scaler.get_scale()] * accum
        scaler.unscale_(opt)
        if clip:
            torch.nn.utils.clip_grad_norm_([p], clip)
        scaler.step(opt)
        scaler.update()
    near(f"{c.name} scales", got["scales"], scales, 0)
    near(f"{c.name} parameters", got["p.out"], p.detach(), 1e-5)
    point(f"GradScaler {label}: {updates} updates, {len(set(scales))} scales, {len(overflows)} skipped, as in PyTorch")


def adam():
    steps, n = 100, 1003
    c = Case("adam", f"dot(p[{n}:0.5], weights[{n}])")
    p, g = c.params["p"], torch.randn(steps, n, generator=c.rng) * 10.0 ** torch.randint(-6, 2, (n,), generator=c.rng)
    c.inputs["weights"] = g
    got = c.run(steps=steps, optimizer={"kind": "adam", "lr": 1e-3, "weight_decay": 0.01})
    opt = torch.optim.Adam([p], lr=1e-3, weight_decay=0.01)
    for s in range(steps):
        p.grad = g[s].clone()
        opt.step()
    near("adam", got["p.out"], p.detach(), check_torch.OPTIMIZER)
    point(f"adam: {steps} steps as in PyTorch")


CONFIG = {"batch": 2, "seq": 33, "layers": 2, "width": 64, "heads": 2, "vocab": 211, "positions": 40}


def gpt_case(name, batches, different):
    c = check_torch.gpt_case(name, CONFIG)
    text = torch.randint(0, CONFIG["vocab"], (different, CONFIG["batch"], CONFIG["seq"] + 1), generator=c.rng)
    text = text.repeat(batches // different, 1, 1)
    c.inputs = {"tokens": text[:, :, :-1].contiguous(), "targets": text[:, :, 1:].contiguous()}
    return c


def accumulation():
    updates, accum, clip = 12, 4, 0.5
    c = gpt_case("accumulation", updates * accum, 8)
    got = c.run(steps=updates * accum, optimizer={"kind": "adamw", "lr": 1e-3, "weight_decay": 0.01},
                options={"accum": accum, "clip_norm": clip})
    opt = torch.optim.AdamW(c.params.values(), lr=1e-3, weight_decay=0.01)
    clipped = 0
    for u in range(updates):
        opt.zero_grad(set_to_none=True)
        for s in range(u * accum, (u + 1) * accum):
            loss = gpt_loss(c.params, CONFIG, c.inputs["tokens"][s], c.inputs["targets"][s])
            near(f"loss of batch {s + 1}", got["losses"][s], loss.item(), check_torch.TRAINING)
            (loss / accum).backward()
        clipped += torch.nn.utils.clip_grad_norm_(c.params.values(), clip).item() > clip
        opt.step()
    point(f"accumulation: {updates} updates of {accum} batches, {clipped} of them clipped, as in PyTorch")


def autocast(kind, dtype, tolerance):
    """Compares the curve, not the digits: PyTorch also rounds the results of products and attention's operands."""
    steps = 30
    c = gpt_case(f"autocast {kind}", steps, 1)
    settings = {"kind": "adamw", "lr": 1e-3, "weight_decay": 0.01}
    got = c.run(steps=steps, optimizer=settings, options={"amp": kind})["losses"]
    plain = c.run(steps=steps, optimizer=settings)["losses"]
    opt = torch.optim.AdamW(c.params.values(), lr=1e-3, weight_decay=0.01)
    want = []
    for s in range(steps):
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype):
            loss = gpt_loss(c.params, CONFIG, c.inputs["tokens"][s], c.inputs["targets"][s])
        loss.backward()
        opt.step()
        want.append(loss.item())
    near(f"{c.name} beside torch.autocast", got, want, tolerance)
    near(f"{c.name} beside f32", got, plain, tolerance)
    if np.array_equal(got, plain):
        check_torch.failures.append("nothing was rounded")
    point(f"autocast {kind}: the loss curve of PyTorch's, within {tolerance:g}")


def rounded_linear(kind, dtype):
    """One matrix product: both sides round the operands and sum in f32."""
    c = Case(f"linear {kind}", "linear(x[65,129:0.5], w[77,129:0.5], b[77:0.5])")
    (x, w, b), weights = c.params.values(), c.weigh()
    got = c.run(steps=1, watch=["y"], options={"amp": kind, "loss_scale": 1})
    low = lambda t: t.detach().to(dtype).float()
    near(f"{c.name} forward", got["y.out"], F.linear(low(x), low(w), b).detach(), check_torch.FORWARD)
    near(f"{c.name} dx", got["x.grad"], low(weights) @ low(w), check_torch.GRADIENT)
    near(f"{c.name} dw", got["w.grad"], low(weights).T @ low(x), check_torch.GRADIENT)
    near(f"{c.name} db", got["b.grad"], weights.sum(0), check_torch.GRADIENT)
    point(f"linear {kind}: operands rounded as PyTorch rounds them, summed in f32")


def moments8():
    steps = 60
    c = gpt_case("adamw8", steps, 2)
    run = lambda kind: c.run(steps=steps, optimizer={"kind": kind, "lr": 1e-3, "weight_decay": 0.01})["losses"]
    near("adamw8 beside adamw", run("adamw8"), run("adamw"), 0.01)
    point("adamw8: the loss curve of f32 AdamW within 1 %")


def main():
    torch.set_num_threads(2)
    scaler_trace("grows and backs off", 1024.0, 3, (5, 6, 20), 1, 0)
    scaler_trace("with accumulation and clipping", 65536.0, 4, (0, 1, 9, 30), 3, 1.5)
    scaler_trace("at the largest float", 2.0**126, 2, (), 1, 0)
    adam()
    accumulation()
    rounded_linear("bf16", torch.bfloat16)
    rounded_linear("f16", torch.float16)
    autocast("bf16", torch.bfloat16, 0.02)
    moments8()
    print(f"1..{check_torch.points}\n# PyTorch {torch.__version__}, {check_torch.compared} tensors and losses compared")
    return 1 if check_torch.broken else 0


if __name__ == "__main__":
    sys.exit(main())
