# SPDX-License-Identifier: Apache-2.0
"""PyTorch job of check_launchers.py and bench_effect.py: trains with gloo in blocks that these scripts request by files.

Usage: launched_job.py FOLDER MODEL [lightning|spawn|ray RANKS]
MODEL: small, gpt2, mlp, resnet20 (tests/peers/torch_train.py), or jpeg:FOLDER (a decode-bound script with DataLoader's defaults)
"""
import argparse
import json
import os
import sys
import time

BLOCK_S = 0.5  # of training, about


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.003)


def write(folder, name, value):
    with open(f"{folder}/.{name}", "w", encoding="ascii") as f:
        json.dump(value, f)
    os.rename(f"{folder}/.{name}", f"{folder}/{name}")


def start_group():
    import torch.distributed as dist
    for source, target in (("OMPI_COMM_WORLD_RANK", "RANK"), ("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE"), ("SLURM_PROCID", "RANK"),
                           ("SLURM_NTASKS", "WORLD_SIZE")):
        if source in os.environ and target not in os.environ:
            os.environ[target] = os.environ[source]
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", os.environ.get("JOB_PORT", "29611"))
    dist.init_process_group("gloo")


def parallel(net):
    import torch
    import torch.distributed as dist
    return torch.nn.parallel.DistributedDataParallel(net) if dist.get_world_size() > 1 else net


def jpeg_steps(folder):
    """A function that trains n batches of images of the folder. The only argument of DataLoader that it passes is batch_size."""
    import numpy
    import torch
    from PIL import Image
    from torch import nn

    class Images(torch.utils.data.Dataset):
        def __init__(self):
            self.files = sorted(os.path.join(folder, f) for f in os.listdir(folder))

        def __len__(self):
            return len(self.files)

        def __getitem__(self, i):
            with Image.open(self.files[i]) as image:
                pixels = image.convert("RGB").resize((64, 64), Image.BILINEAR)
            return torch.from_numpy(numpy.array(pixels)).permute(2, 0, 1).float() / 255, i % 10

    net = parallel(nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(), nn.Flatten(),
                                 nn.Linear(32 * 15 * 15, 10)))
    opt, loader = torch.optim.SGD(net.parameters(), lr=0.01), torch.utils.data.DataLoader(Images(), batch_size=16)

    def run(n):
        images = 0
        for _ in range(n):  # epochs: the workers start anew in each
            for x, y in loader:
                opt.zero_grad()
                nn.functional.cross_entropy(net(x), y).backward()
                opt.step()
                images += len(y)
        return images
    return run


def model_steps(name):
    """A function that trains n steps on one random batch."""
    import torch
    if name == "small":
        net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)])
        x, y, items = torch.randn(64, 512), torch.randn(64, 512), 64
        opt, loss = torch.optim.SGD(net.parameters(), lr=0.01), torch.nn.functional.mse_loss
    else:
        import torch_train
        a = argparse.Namespace(model=name, batch={"gpt2": 2, "mlp": 128, "resnet20": 32}[name], seq=64, layers=6, width=384, heads=6,
                               vocab=8192, fused=False, pad_vocab=False, channels_last=False, size=0)
        net, x, y, opt, items, _ = torch_train.build(a)

        def loss(out, y):
            return torch.nn.functional.cross_entropy(out.view(-1, out.shape[-1]), y.reshape(-1))
    net = parallel(net)

    def run(n):
        for _ in range(n):
            opt.zero_grad()
            loss(net(x), y).backward()
            opt.step()
        return n * items
    return run


def train(folder, model):
    """Writes rank-N, then for each file go-K the items per second of a block as rate-K, until go-K has the word stop."""
    import torch
    import torch.distributed as dist
    if not dist.is_initialized():
        start_group()
    torch.manual_seed(0)
    run = jpeg_steps(model.partition(":")[2]) if model.startswith("jpeg:") else model_steps(model)

    def block(n):
        dist.barrier()
        begin = time.perf_counter()
        items = run(n)
        dist.barrier()
        return items * dist.get_world_size() / (time.perf_counter() - begin), time.perf_counter() - begin

    block(1)
    steps = torch.tensor([max(1, round(BLOCK_S / block(2)[1] * 2))])
    dist.broadcast(steps, 0)
    write(folder, f"rank-{dist.get_rank()}", {"pid": os.getpid(), "threads": torch.get_num_threads(), "torch": torch.__version__})
    k = 0
    while True:
        wait_for(f"{folder}/go-{k}")
        with open(f"{folder}/go-{k}", encoding="ascii") as f:
            if f.read() == '"stop"':
                break
        rate, _ = block(int(steps))
        if not dist.get_rank():
            write(folder, f"rate-{k}", rate)
        k += 1
    dist.destroy_process_group()


def worker(rank, ranks, folder, model):
    """A worker of a pool: it gets its rank after the start, without a launcher's variables."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks))
    train(folder, model)


def spawn(folder, model, ranks):
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=worker, args=(i, ranks, folder, model)) for i in range(ranks)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return max(w.exitcode for w in workers)


def ray_actors(folder, model, ranks):
    import ray
    ray.init(num_cpus=ranks, include_dashboard=False, log_to_driver=False)
    remote = ray.remote(num_cpus=1)(worker)
    ray.get([remote.remote(i, ranks, folder, model) for i in range(ranks)])


def main():
    folder, model, kind = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
    if kind == "lightning":
        from lightning.fabric import Fabric
        Fabric(accelerator="cpu", devices=int(sys.argv[4]), strategy="ddp").launch()
        train(folder, model)
    elif kind == "spawn":
        return spawn(folder, model, int(sys.argv[4]))
    elif kind == "ray":
        ray_actors(folder, model, int(sys.argv[4]))
    else:
        train(folder, model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
