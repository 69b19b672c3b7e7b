#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gputune run --loader: the sitecustomize that it injects, and DataLoader of a real PyTorch. PYTHON: a Python with
PyTorch; without it these parts are skipped."""
import json
import os
import subprocess
import sys
import tempfile
import venv

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

GPUTUNE = os.path.join(os.path.abspath(tap.BUILD), "gputune")
# Prints the arguments of some loaders, and the order of samples in three epochs with random transforms.
SCRIPT = """
import json, random, sys, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
class Numbers(Dataset):
    def __len__(self): return 12
    def __getitem__(self, i): return torch.tensor([i, random.randrange(1000)])
class Stream(IterableDataset):
    def __iter__(self): return iter(range(6))
class Own(DataLoader):
    def __init__(self, *a, **k): super().__init__(*a, **k)
def says(d): return [d.num_workers, d.prefetch_factor]
torch.manual_seed(3)
n, out = Numbers(), {}
out["default"], out["explicit"] = says(DataLoader(n)), says(DataLoader(n, num_workers=1))
out["zero"], out["position"] = says(DataLoader(n, num_workers=0)), says(DataLoader(n, 4, False, None, None, 1))
out["none"] = says(DataLoader(n, num_workers=1, prefetch_factor=5, persistent_workers=True))
out["stream"], out["own"] = says(DataLoader(Stream())), says(Own(n))
out["memory"] = says(DataLoader(TensorDataset(torch.zeros(4))))
out["samples"] = sorted(int(x) for x in DataLoader(Stream(), batch_size=None))
shuffled = DataLoader(n, batch_size=3, shuffle=True)
out["order"] = [[int(i) for b in shuffled for i in b[:, 0]] for _ in range(3)]
print(json.dumps(out))
"""
clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPUTUNE_", "PYTHON", "LD_PRELOAD"))}


def run(options, *command, env=None):
    return subprocess.run([GPUTUNE, "run", *options, "--", *command], env={**clean, **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=280, check=False)


def injection(folder):
    python = sys.executable
    say = "import sys; print([m for m in sys.modules if m.startswith('torch')], getattr(sys, 'own', None))"
    done = run(["--loader", "workers=2"], python, "-c", say)
    tap.check("the module starts without torch, and the program runs", done.stdout == "[] None\n" and not done.stderr, done)
    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="ascii") as f:
        f.write("import sys\nsys.own = __file__\n")
    done = run(["--loader", "auto"], python, "-c", say, env={"PYTHONPATH": folder})
    tap.check("a sitecustomize of the user's PYTHONPATH is executed, too", done.stdout == f"[] {folder}/sitecustomize.py\n", done)
    name = "import sys; print(getattr(sys.modules.get('sitecustomize'), '__file__', None))"
    for system in {python, "/usr/bin/python3"}:
        if not os.path.exists(system):
            continue
        plain = subprocess.run([system, "-c", name], env=clean, stdout=subprocess.PIPE, text=True, check=True).stdout
        done = run(["--loader", "auto"], system, "-c", name)
        tap.check(f"the sitecustomize of {system} is executed", plain == "None\n" or done.stdout == plain, (plain, done))
    for option in ("-I", "-E", "-S", "-sE"):
        done = run(["--loader", "auto"], python, option, "-c", "print(5)")
        tap.check(f"python {option}: one sentence, and the program runs",
                  done.stdout == "5\n" and done.stderr.count("\n") == 1 and f"because of {option}" in done.stderr, done)
    for command, why in ((["env", "A=b", "nice", python, "-I"], "because of -I"), (["env", "-i", python], "env removes"),
                         (["env", "PYTHONPATH=/x", python], "env removes or replaces PYTHONPATH")):
        done = run(["--loader", "auto"], *command, "-c", "print(5)")
        tap.check(f"{command}: one sentence, and the program runs",
                  done.stdout == "5\n" and done.stderr.count("\n") == 1 and why in done.stderr, done)
    done = run(["--loader", "auto"], "env", "A=b", python, "-c", "import os; print(os.environ['PYTHONPATH'])")
    tap.check("env that keeps PYTHONPATH: no sentence", done.stdout.endswith("python\n") and not done.stderr, done)
    done = run(["--loader", "auto"], python, "-W", "ignore", "-c", "import sys; print(sys.argv[1])", "-I")
    tap.check("-I among the program's arguments is none of Python's", done.stdout == "-I\n" and not done.stderr, done)


def environment(folder):
    """A virtual environment with a sitecustomize of its own. Debian's Python has one that precedes it."""
    venv.create(f"{folder}/venv", with_pip=False)
    python, site = f"{folder}/venv/bin/python", "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", site], env=clean, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with open(os.path.join(packages, "sitecustomize.py"), "w", encoding="ascii") as f:
        f.write("import sys\nsys.own = __file__\n")
    say = "import json, sys; print(json.dumps([sys.prefix, getattr(sys, 'own', None), len(sys.meta_path)]))"
    plain = json.loads(subprocess.run([python, "-c", say], env=clean, stdout=subprocess.PIPE, text=True, check=True).stdout)
    done = run(["--loader", "auto"], python, "-c", say)
    tap.check("a virtual environment: its sitecustomize is executed as without gputune, and that of gputune watches imports",
              done.returncode == 0 and json.loads(done.stdout) == [f"{folder}/venv", plain[1], plain[2] + 1] and not done.stderr,
              (plain, done))


def bad_input():
    for spec in ("workers=x", "workers=1025", "prefetch=0", "pin=maybe", "threads=3", "", ",", "workers"):
        done = run(["--loader", spec], "echo", "started")
        tap.check(f"--loader '{spec}' is refused before the start", done.returncode == 64 and not done.stdout and
                  done.stderr.count("\n") == 1, done)
    done = run(["--loader-force"], "echo", "started")
    tap.check("--loader-force alone is refused", done.returncode == 64 and not done.stdout, done)
    done = run(["--loader", "workers=500"], "echo", "started")
    tap.check("more workers than CPUs: one sentence, and the program runs",
              done.stdout == "started\n" and done.stderr.count("\n") == 1 and "500 workers" in done.stderr, done)


def loaders(python, folder):
    script = os.path.join(folder, "script.py")
    with open(script, "w", encoding="ascii") as f:
        f.write(SCRIPT)
    plain = json.loads(subprocess.run([python, script], env=clean, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                      check=True).stdout)
    done = run(["--loader", "workers=2,prefetch=3"], python, script)
    got = json.loads(done.stdout)
    tap.check("arguments at their default are changed, also in a subclass", got["default"] == got["own"] == [2, 3], got)
    tap.check("a number of workers that the script passes is kept, also 0 and by position",
              got["explicit"] == [1, 3] and got["zero"][0] == 0 and got["position"][0] == 1, got)
    tap.check("an IterableDataset gets no workers, and no sample is repeated",
              got["stream"][0] == 0 and got["samples"] == plain["samples"] == list(range(6)), got)
    tap.check("the order of samples is the same in three epochs, with random transforms", got["order"] == plain["order"], got)
    tap.check("one line reports the time that the main thread waited", done.stderr.count("the main thread waited") == 1,
              done.stderr)
    forced = json.loads(run(["--loader", "workers=0", "--loader-force"], python, script).stdout)
    tap.check("--loader-force replaces what the script passes",
              all(forced[k][0] == 0 for k in ("default", "explicit", "position", "none")), forced)
    measured = run(["--loader", "measure"], python, script)
    tap.check("measure changes nothing and reports", json.loads(measured.stdout) == plain and "waited" in measured.stderr, measured)
    auto = json.loads(run(["--loader", "auto"], python, script).stdout)
    tap.check("auto: a worker for each CPU, none for a dataset in memory",
              auto["default"][0] == min(8, len(os.sched_getaffinity(0))) and auto["memory"][0] == 0, auto)
    bound = run(["--loader", "auto"], "taskset", "-c", str(min(os.sched_getaffinity(0))), python, script)
    tap.check("auto: no worker that would share the only CPU of a process without a GPU",
              json.loads(bound.stdout)["default"][0] == 0 and "only CPU" in bound.stderr, bound)
    other = "import torch.utils.data as d\nclass Mine: pass\n"
    for assign, rest, kept in (("d.DataLoader = Mine", "", True), ("d.DataLoader = type('Sub', (d.DataLoader,), {})", "", False),
                               ("own, d.DataLoader = d.DataLoader, Mine", "; list(own([1, 2]))", True)):
        done = run(["--loader", "workers=0"], python, "-c", f"{other}{assign}{rest}")
        lines = [x for x in done.stderr.splitlines() if x.startswith("gputune")]
        tap.check(f"{assign}{rest}: {'one sentence' if kept else 'no sentence, because a subclass has the arguments, too'}",
                  done.returncode == 0 and len(lines) == kept and
                  (not kept or "replaces torch.utils.data.DataLoader by __main__.Mine" in lines[0]), done)
    raced = json.loads(run(["--loader", "workers=0"], python, script, env={"GPUTUNE_LOADER_WORKERS": "1"}).stdout)
    tap.check("a variable in the environment takes precedence, as gpubench prove --race sets it", raced["default"][0] == 1, raced)


def main():
    python = os.environ.get("PYTHON") or sys.executable
    with tempfile.TemporaryDirectory() as folder:
        injection(folder)
        os.unlink(os.path.join(folder, "sitecustomize.py"))
        environment(folder)
        bad_input()
        if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
            tap.skip("DataLoader of PyTorch", "no PyTorch here: set PYTHON")
        else:
            loaders(python, folder)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
