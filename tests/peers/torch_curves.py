#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT with gpubench's runtime and with PyTorch on the same GPU, with the same weights and tokens. Prints the losses of
every step as one JSON line. usage: torch_curves.py RT_CASE [--device cuda|cpu] [--theirs cuda|cpu] [--steps N] [--small]"""
import argparse
import json
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_torch import gpt_case, gpt_loss

BIG = {"batch": 8, "seq": 256, "layers": 6, "width": 384, "heads": 6, "vocab": 4096, "positions": 256}
SMALL = {"batch": 2, "seq": 17, "layers": 1, "width": 48, "heads": 3, "vocab": 61, "positions": 17}
AMP = {"fp32": "", "bf16": "bf16"}
ADAMW = {"lr": 1e-3, "weight_decay": 0.01}


def theirs(c, k, steps, device, amp):
    p = {n: v.detach().to(device).requires_grad_(True) for n, v in c.params.items()}
    tokens, targets = (c.inputs[n].to(device) for n in ("tokens", "targets"))
    opt = torch.optim.AdamW(p.values(), **ADAMW)
    losses = []
    for s in range(steps):
        with torch.device(device), torch.autocast(device, torch.bfloat16, enabled=amp == "bf16"):
            loss = gpt_loss(p, k, tokens[s], targets[s])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def curve(a, amp):
    k = SMALL if a.small else BIG
    c = gpt_case(f"GPT in {amp}", k)
    text = torch.randint(0, k["vocab"], (10, k["batch"], k["seq"] + 1), generator=c.rng).repeat(a.steps // 10, 1, 1)
    c.inputs = {"tokens": text[:, :, :-1].contiguous(), "targets": text[:, :, 1:].contiguous()}
    got = c.run(steps=a.steps, optimizer={"kind": "adamw", **ADAMW}, options={"device": a.device, "amp": AMP[amp]})
    ours, want = got["losses"].tolist(), theirs(c, k, a.steps, a.theirs or a.device, amp)
    return {"ours": ours, "theirs": want, "worst": max(abs(x - y) / abs(y) for x, y in zip(ours, want))}


def main():
    p = argparse.ArgumentParser(description=__doc__.split(":")[0])
    p.add_argument("rt_case", help="tests/peers/rt_case of a build")
    p.add_argument("--device", default="cuda", choices=["cpu", "cuda"], help="ours")
    p.add_argument("--theirs", choices=["cpu", "cuda"], help="PyTorch's, if another")
    p.add_argument("--steps", type=int, default=100, help="a multiple of 10")
    p.add_argument("--small", action="store_true", help="to try this script")
    a = p.parse_args()
    print(json.dumps({"framework": f"torch {torch.__version__}", "device": a.device, **{t: curve(a, t) for t in AMP}}))


if __name__ == "__main__":
    main()
