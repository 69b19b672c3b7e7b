#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures copies between host memory and a GPU by PyTorch, pinned and pageable. Prints the best rates in GB/s as one JSON line,
for comparison with `gpubench launch gpu.matrix` on the same GPU. Verifies each copy."""
import argparse
import json
import time

import torch


def best(device, to, source, target, rounds):
    seconds = []
    for _ in range(rounds):
        target.zero_()
        if device == "cuda":
            torch.cuda.synchronize()
        t0 = time.perf_counter()
        target.copy_(source, non_blocking=True)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - t0)
        if not torch.equal(target.cpu(), source.cpu()):
            raise SystemExit(f"torch_copies.py: a copy {to} brought something else")
    return source.numel() * source.element_size() / min(seconds) / 1e9


def main():
    p = argparse.ArgumentParser(description=__doc__.split(":")[0])
    p.add_argument("--device", default="cuda", choices=["cpu", "cuda"], help="cpu: to try this script")
    p.add_argument("--mib", type=int, default=256, help="how much is copied at once")
    p.add_argument("--rounds", type=int, default=20)
    a = p.parse_args()
    card = torch.empty(a.mib << 18, dtype=torch.float32, device=a.device)
    doc = {"framework": f"torch {torch.__version__}", "device": a.device, "mib": a.mib, "unit": "GB/s"}
    for kind in "pinned", "pageable":
        host = torch.empty(a.mib << 18, dtype=torch.float32, pin_memory=kind == "pinned" and a.device == "cuda")
        host.uniform_()
        doc[f"{kind}.to"] = best(a.device, "to the card", host, card, a.rounds)
        card.uniform_()
        doc[f"{kind}.from"] = best(a.device, "from the card", card, host, a.rounds)
    print(json.dumps(doc), flush=True)


if __name__ == "__main__":
    main()
