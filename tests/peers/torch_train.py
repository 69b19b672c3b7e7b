#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains GPT-2, ResNet-20, ResNet-50 or an MLP in PyTorch and prints one JSON line, with the options and fields of
`gpubench train`.

The model, the initial distribution, the optimizer and the data (one random batch) are the same as there. The
fast paths of this PyTorch are used or have an option: scaled_dot_product_attention where it exists, --fused, --compile,
--pad-vocab, --channels-last.
"""
import argparse
import json
import math
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.fcproj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            hidden = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
            y = F.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.fcproj(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(a.vocab, a.width), nn.Embedding(max(a.seq, 1024), a.width)
        self.blocks = nn.ModuleList(Block(a.width, a.heads) for _ in range(a.layers))
        self.lnf = nn.LayerNorm(a.width)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.bias)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.lnf(x), self.wte.weight)


class Residual(nn.Module):
    def __init__(self, into, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.stride, self.more = stride, out - into

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride != 1:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return F.relu(x + y)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        widths = [16] * 4 + [32] * 3 + [64] * 3
        self.layers = nn.Sequential(*(Residual(i, o, 1 if i == o else 2) for i, o in zip(widths, widths[1:])))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.layers(F.relu(self.bn1(self.conv1(x)))).mean((2, 3)))


class Bottleneck(nn.Module):
    def __init__(self, into, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(into, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.downsample = nn.Identity() if into == 4 * width else nn.Sequential(
            nn.Conv2d(into, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.downsample(x) + self.bn3(self.conv3(y)))


class ResNet50(nn.Module):
    """As in torchvision, with the stride in the 3x3 convolution."""
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks, into = [], 64
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                blocks.append(Bottleneck(into, 64 << stage, 2 if stage and not i else 1))
                into = 256 << stage
        self.layers = nn.Sequential(*blocks)
        self.fc = nn.Linear(2048, 1000)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.layers(x).mean((2, 3)))


def build(a):
    """Returns the model, batch, targets, optimizer, items per step and their unit."""
    extra = {"fused": True} if a.fused else {}
    if a.model == "gpt2":
        text = torch.randint(0, a.vocab, (a.batch, a.seq + 1))
        if a.pad_vocab:  # Tensor cores need rows of 16 bytes. The targets stay below the unpadded size.
            a.vocab = (a.vocab + 63) // 64 * 64
        net = GPT2(a)
        opt = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.01, **extra)
        return net, text[:, :-1].contiguous(), text[:, 1:].contiguous(), opt, a.batch * a.seq, "tokens"
    if a.model in ("resnet20", "resnet50"):
        small = a.model == "resnet20"
        layout = torch.channels_last if a.channels_last else torch.contiguous_format
        net = (ResNet20() if small else ResNet50()).to(memory_format=layout)
        opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, **extra)
        size = a.size or (32 if small else 224)
        x = torch.randn(a.batch, 3, size, size).to(memory_format=layout)
        return net, x, torch.randint(0, 10 if small else 1000, (a.batch,)), opt, a.batch, "samples"
    net = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, **extra)
    return net, torch.randn(a.batch, 784), torch.randint(0, 10, (a.batch,)), opt, a.batch, "samples"


def train(a):
    torch.manual_seed(a.seed)
    torch.backends.cudnn.benchmark = True
    if a.threads:
        torch.set_num_threads(a.threads)
    net, x, y, opt, items, unit = build(a)
    net, x, y = net.to(a.device), x.to(a.device), y.to(a.device)
    parameters = sum(p.numel() for p in net.parameters())
    if a.compile:
        net = torch.compile(net, mode=a.compile)
    times, faults, loss = [], 0, None
    for step in range(a.warmup + a.steps):
        if step == a.warmup:
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        t0 = time.perf_counter()
        with torch.autocast(a.device, torch.bfloat16, enabled=a.amp == "bf16"):
            out = net(x)
            loss = F.cross_entropy(out.view(-1, out.shape[-1]), y.view(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        value = float(loss.detach())
        if step >= a.warmup:
            times.append(time.perf_counter() - t0)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    median = statistics.median(times)
    card = {}
    if a.device == "cuda":  # peak memory of the tensors, and of the allocator for them
        card = {"max_device_bytes": torch.cuda.max_memory_allocated(), "max_device_bytes_held": torch.cuda.max_memory_reserved()}
    return {
        **card,
        "framework": f"torch {torch.__version__}", "model": a.model, "device": a.device, "batch": a.batch, "seq": a.seq,
        "ranks": 1, "threads": torch.get_num_threads(), "amp": a.amp or "fp32", "compile": bool(a.compile), "compile_mode": a.compile, "fused": a.fused,
        "parameters": parameters, "loss": value, "step_s": times, "median_step_s": median, "items_per_s": items / median,
        "unit": unit, "max_rss_bytes": usage.ru_maxrss * 1024,
        "minor_faults_per_step": (usage.ru_minflt - faults) / a.steps,
    }


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("model", choices=["gpt2", "resnet20", "resnet50", "mlp"])
    for name, default in (("batch", 0), ("seq", 256), ("layers", 12), ("width", 768), ("heads", 12), ("vocab", 50257),
                          ("steps", 8), ("warmup", 2), ("threads", 0), ("seed", 1), ("size", 0)):
        p.add_argument(f"--{name}", type=int, default=default)
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument("--amp", choices=["bf16"], help="autocast")
    p.add_argument("--compile", nargs="?", const="default", metavar="MODE", help="torch.compile the model, in the default mode or "
                   "in reduce-overhead (captured graphs) or max-autotune")
    p.add_argument("--pad-vocab", action="store_true", help="gpt2: room for the next multiple of 64 in the vocabulary")
    p.add_argument("--fused", action="store_true", help="fused optimizer, where this PyTorch has one for the CPU")
    p.add_argument("--channels-last", action="store_true", help="images with their channels innermost")
    a = p.parse_args()
    a.batch = a.batch or {"gpt2": 4, "resnet20": 64, "resnet50": 8, "mlp": 256}[a.model]
    print(json.dumps(train(a)), flush=True)


if __name__ == "__main__":
    main()
