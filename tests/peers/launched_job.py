# SPDX-License-Identifier: Apache-2.0
"""PyTorch job of check_launchers.py: trains a small network with gloo, in blocks of steps that the test requests by files.

Usage: launched_job.py FOLDER STEPS (a rank of a launcher), or launched_job.py FOLDER STEPS lightning|spawn|ray RANKS
"""
import json
import os
import sys
import time


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
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", os.environ.get("JOB_PORT", "29611"))
    dist.init_process_group("gloo")


def train(folder, steps):
    """Writes rank-N, then for each file go-K the seconds of a block as took-K, until go-K has the word stop."""
    import torch
    import torch.distributed as dist
    if not dist.is_initialized():
        start_group()
    torch.manual_seed(0)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]))
    opt, x = torch.optim.SGD(net.parameters(), lr=0.01), torch.randn(64, 512)

    def block(n):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(n):
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()
        dist.barrier()
        return time.perf_counter() - begin

    block(5)
    write(folder, f"rank-{dist.get_rank()}", {"pid": os.getpid(), "threads": torch.get_num_threads()})
    k = 0
    while True:
        wait_for(f"{folder}/go-{k}")
        with open(f"{folder}/go-{k}", encoding="ascii") as f:
            if f.read() == '"stop"':
                break
        took = block(steps)
        if not dist.get_rank():
            write(folder, f"took-{k}", took)
        k += 1
    dist.destroy_process_group()


def worker(rank, ranks, folder, steps):
    """A worker of a pool: it gets its rank after the start, without a launcher's variables."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks))
    train(folder, steps)


def spawn(folder, steps, ranks):
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=worker, args=(i, ranks, folder, steps)) for i in range(ranks)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return max(w.exitcode for w in workers)


def ray_actors(folder, steps, ranks):
    import ray
    ray.init(num_cpus=ranks, include_dashboard=False, log_to_driver=False)
    remote = ray.remote(num_cpus=1)(worker)
    ray.get([remote.remote(i, ranks, folder, steps) for i in range(ranks)])


def main():
    folder, steps, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
    if kind == "lightning":
        from lightning.fabric import Fabric
        Fabric(accelerator="cpu", devices=int(sys.argv[4]), strategy="ddp").launch()
        train(folder, steps)
    elif kind == "spawn":
        return spawn(folder, steps, int(sys.argv[4]))
    elif kind == "ray":
        ray_actors(folder, steps, int(sys.argv[4]))
    else:
        train(folder, steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
