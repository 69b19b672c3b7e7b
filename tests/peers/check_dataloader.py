#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gputune run --loader with the Trainer of Hugging Face, Accelerate, and Lightning: each makes its own DataLoader, or makes
that of the script anew. The order of samples must be that of the plain call.

VENV: a Python environment with PyTorch and these libraries; those that are not installed are skipped.
"""
import json
import os
import subprocess
import sys
import tempfile

import loader_option
import tap

# Prints the number of workers, and the samples of two epochs in their order, as a line of its own.
SCRIPT = """
import json, sys, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
def sample(i):
    worker = get_worker_info()
    return {"x": torch.tensor([float(i)]), "w": torch.tensor(worker.num_workers if worker else 0)}
class Numbers(Dataset):
    def __len__(self): return 12
    def __getitem__(self, i): return sample(i)
class Stream(IterableDataset):
    def __iter__(self): return (sample(i) for i in range(12))
seen, workers = [], set()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def forward(self, x, w):
        seen.extend(int(v) for v in x[:, 0])
        workers.update(int(v) for v in w)
        return {"loss": self.layer(x).mean()}
def trainer(data):
    from transformers import Trainer, TrainingArguments
    options = {"max_steps": 8} if isinstance(data, IterableDataset) else {"num_train_epochs": 2}
    Trainer(Net(), TrainingArguments("out", per_device_train_batch_size=3, report_to=[], use_cpu=True, disable_tqdm=True,
                                     save_strategy="no", logging_strategy="no", remove_unused_columns=False,
                                     dataloader_num_workers=0, **options), train_dataset=data).train()
def loader(data):
    return DataLoader(data, batch_size=3, shuffle=not isinstance(data, IterableDataset))
def accelerate(data):
    from accelerate import Accelerator
    a, net = Accelerator(cpu=True), Net()
    net, opt, batches = a.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1), loader(data))
    for _ in range(2):
        for b in batches:
            a.backward(net(**b)["loss"])
            opt.step()
def lightning(data):
    import lightning
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()
        def training_step(self, b, i): return self.net(**b)["loss"]
        def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.1)
    lightning.Trainer(max_epochs=2, accelerator="cpu", devices=int(sys.argv[3]), logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False).fit(Module(), loader(data))
torch.manual_seed(3)
train = {"transformers": trainer, "accelerate": accelerate, "lightning": lightning}[sys.argv[1]]
train(Stream() if sys.argv[2] == "stream" else Numbers())
sys.stdout.write(json.dumps({"workers": sorted(workers), "seen": seen}) + chr(10))
"""


def has(python, module):
    return not subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode


def results(done):
    """Returns the lines of the ranks, sorted, and the report of gputune for each rank."""
    found = sorted((json.loads(x[x.index("{"):]) for x in done.stdout.splitlines() if '{"workers"' in x), key=lambda x: x["seen"])
    return found, [x for x in done.stderr.splitlines() if x.startswith("gputune")]


def compare(python, script, library, ranks="1"):
    name = f"{library}, {ranks} rank{'s' * (ranks != '1')}"
    words = [python, script, library, "numbers", ranks]
    plain, _ = results(subprocess.run(words, env=loader_option.clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      cwd=os.path.dirname(script), timeout=280, check=True))
    force = ["--loader-force"] if library == "transformers" else []
    if force:
        done = loader_option.run(["--loader", "workers=2"], *words)
        got, said = results(done)
        tap.check(f"{name}: num_workers=0 that the Trainer passes is kept, and the report names --loader-force",
                  got == plain and len(said) == 1 and "passes num_workers itself: --loader-force replaces it" in said[0], done)
    done = loader_option.run(["--loader", "workers=2,prefetch=3", *force], *words)
    got, said = results(done)
    tap.check(f"{name}: two workers{' by --loader-force' if force else ''}, and the order of samples in two epochs is the same",
              len(got) == int(ranks) and [{**g, "workers": [0]} for g in got] == plain and all(g["workers"] == [2] for g in got),
              (plain, done))
    tap.check(f"{name}: one line for each rank reports the wait", len(said) == int(ranks) and
              all("with 2 workers: the main thread waited" in x for x in said), done.stderr)


def stream(python, script, library):
    words = [python, script, library, "stream", "1"]
    done = loader_option.run(["--loader", "workers=2", "--loader-force"], *words)
    got, said = results(done)
    tap.check(f"{library}: an IterableDataset gets no workers, and no sample is repeated",
              [g["workers"] for g in got] == [[0]] and got[0]["seen"] == list(range(12)) * 2 and len(said) == 1 and
              "would repeat" in said[0], done)


def main():
    python = f"{os.environ.get('VENV')}/bin/python"
    if not os.path.exists(python) or not has(python, "torch"):
        print("1..0 # SKIP no PyTorch: set VENV")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        script = os.path.join(folder, "script.py")
        with open(script, "w", encoding="ascii") as f:
            f.write(SCRIPT)
        for library in ("transformers", "accelerate", "lightning"):
            if not has(python, library):
                tap.skip(library, "not installed")
                continue
            compare(python, script, library)
            stream(python, script, library)
            if library == "lightning":
                compare(python, script, library, "2")
        loader_option.loaders(python, folder)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
