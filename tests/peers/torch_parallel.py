#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of check_parallel.py's comparison: trains Llama with PyTorch's own parallel modules on the weights of a directory.

Usage: torch_parallel.py WAY WEIGHTS BATCH RESULT MICROBATCHES LR UPDATES
WAY: one, ddp, fsdp, tensor, 1f1b or gpipe. RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are those of torchrun.
Rank 0 writes RESULT: the gradients of the first step by name of the parameter, "losses", and "ends": the time in seconds at the
end of each update.
"""
import json
import struct
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

WAY, WEIGHTS, BATCH, RESULT = sys.argv[1:5]
MICROBATCHES, LR, UPDATES = int(sys.argv[5]), float(sys.argv[6]), int(sys.argv[7])


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.depth, self.base = c["head_dim"], c["rope_theta"]
        self.q_proj = linear(c["hidden_size"], c["num_attention_heads"] * self.depth)
        self.k_proj = linear(c["hidden_size"], c["num_key_value_heads"] * self.depth)
        self.v_proj = linear(c["hidden_size"], c["num_key_value_heads"] * self.depth)
        self.o_proj = linear(c["num_attention_heads"] * self.depth, c["hidden_size"])

    def rotate(self, x):
        half = self.depth // 2
        angle = torch.arange(x.shape[2])[:, None] * self.base ** (-torch.arange(half) / half)
        cos, sin = torch.cos(angle), torch.sin(angle)
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (-1, self.depth)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self.rotate(q), self.rotate(k)
        shared = q.shape[1] // k.shape[1]
        y = functional.scaled_dot_product_attention(q, k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1),
                                                    is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = linear(c["hidden_size"], c["intermediate_size"])
        self.up_proj = linear(c["hidden_size"], c["intermediate_size"])
        self.down_proj = linear(c["intermediate_size"], c["hidden_size"])

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = Norm(c["hidden_size"], c["rms_norm_eps"])
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c["hidden_size"], c["rms_norm_eps"])
        self.mlp = Mlp(c)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Inner(nn.Module):
    """The layers from `first` to before `end`. The first stage has the embedding, the last one the norm."""

    def __init__(self, c, first, end):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"]) if first == 0 else None
        self.layers = nn.ModuleDict({str(i): Layer(c) for i in range(first, end)})
        self.norm = Norm(c["hidden_size"], c["rms_norm_eps"]) if end == c["num_hidden_layers"] else None

    def forward(self, x):
        x = self.embed_tokens(x) if self.embed_tokens else x
        for layer in self.layers.values():
            x = layer(x)
        return self.norm(x) if self.norm else x


class Llama(nn.Module):
    def __init__(self, c, first, end):
        super().__init__()
        self.model = Inner(c, first, end)
        self.lm_head = linear(c["hidden_size"], c["vocab_size"]) if end == c["num_hidden_layers"] else None

    def forward(self, x):
        x = self.model(x)
        return self.lm_head(x) if self.lm_head else x


def load(model):
    with open(f"{WEIGHTS}/model.safetensors", "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        head, data = json.loads(f.read(size)), f.read()
    state = {name: torch.from_numpy(np.frombuffer(data[t["data_offsets"][0]:t["data_offsets"][1]], np.float32)
                                    .reshape(t["shape"]).copy()) for name, t in head.items() if name != "__metadata__"}
    own = model.state_dict()
    model.load_state_dict({name: state[name] for name in own})
    return model


def loss_of(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def split_tensors(model, mesh):
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    plan = {"model.embed_tokens": RowwiseParallel(input_layouts=Replicate()),
            "lm_head": ColwiseParallel(output_layouts=Replicate())}
    for i in model.model.layers:
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"):
            plan[f"model.layers.{i}.{name}"] = ColwiseParallel()
        for name in ("self_attn.o_proj", "mlp.down_proj"):
            plan[f"model.layers.{i}.{name}"] = RowwiseParallel()
    return parallelize_module(model, mesh, plan)


def parallel(model, rank, ranks):
    """The model of this rank, and its rows of the batch as microbatches."""
    rows = slice(None)
    if WAY == "tensor":
        model = split_tensors(model, dist.init_device_mesh("cpu", (ranks,)))
    elif WAY == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    elif WAY == "fsdp":
        from torch.distributed.fsdp import fully_shard

        mesh = dist.init_device_mesh("cpu", (ranks,))
        for layer in model.model.layers.values():
            fully_shard(layer, mesh=mesh)
        model = fully_shard(model, mesh=mesh)
    if WAY in ("ddp", "fsdp"):
        rows = slice(rank, None, ranks)
    return model, rows


def whole(x):
    return (x.full_tensor() if hasattr(x, "full_tensor") else x).detach().numpy().copy()


def gradients(model):
    """Complete gradients of this rank's parameters. Collective."""
    return {name.removeprefix("module."): whole(p.grad) for name, p in model.named_parameters()}


def train_stage(config, x, y, rank, ranks):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    layers = config["num_hidden_layers"]
    model = load(Llama(config, layers * rank // ranks, layers * (rank + 1) // ranks))
    stage = PipelineStage(model, rank, ranks, torch.device("cpu"))
    schedule = (Schedule1F1B if WAY == "1f1b" else ScheduleGPipe)(stage, MICROBATCHES, loss_fn=loss_of)
    optimizer = torch.optim.SGD(model.parameters(), LR, momentum=0.9)
    losses, first, ends = [], None, []
    for _ in range(UPDATES):
        parts = []
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=y, losses=parts)
            losses.append(float(torch.stack(parts).detach().mean()))
        first = first or gradients(model)
        optimizer.step()
        ends.append(time.perf_counter())
    every = [None] * ranks
    dist.all_gather_object(every, (losses, first))
    return every[-1][0], {name: g for _, grads in every for name, g in grads.items()}, ends


def train(config, x, y, rank, ranks):
    model, rows = parallel(load(Llama(config, 0, config["num_hidden_layers"])), rank, ranks)
    optimizer = torch.optim.SGD(model.parameters(), LR, momentum=0.9)
    losses, first, ends = [], None, []
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss = loss_of(model(x[rows]), y[rows])
        loss.backward()
        every = [torch.zeros(()) for _ in range(ranks)]
        dist.all_gather(every, loss.detach())
        losses.append(float(torch.stack(every).mean()))
        first = first or gradients(model)
        optimizer.step()
        ends.append(time.perf_counter())
    return losses, first, ends


def main():
    with open(f"{WEIGHTS}/config.json", encoding="utf-8") as f:
        config = json.load(f)
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    config.setdefault("rope_theta", 10000.0)
    with np.load(BATCH) as data:
        x, y = torch.from_numpy(data["arr_0"]), torch.from_numpy(data["arr_1"])
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    losses, first, ends = (train_stage if WAY in ("1f1b", "gpipe") else train)(config, x, y, rank, ranks)
    if rank == 0:
        np.savez(RESULT, losses=np.array(losses), ends=np.array(ends), **first)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
