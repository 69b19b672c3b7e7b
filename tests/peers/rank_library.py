#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests libgputune-rank.so, which gputune run preloads: which processes it sets up, and that it leaves all others alone.

Launchers are imitated by a shell script. tests/peers/check_launchers.py has real ones.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
GPUTUNE, LIBRARY = os.path.join(BUILD, "gputune"), os.path.join(BUILD, "libgputune-rank.so")
CPUS = sorted(os.sched_getaffinity(0))
SHARE = max(1, len(CPUS) // 2)  # cores of each of two ranks, at most
RANK = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
keep = ("OMP_NUM_THREADS", "GPUTUNE_RUN_RANK", "LD_PRELOAD", "GLIBC_TUNABLES", "A")
with open("/proc/self/environ") as f:
    environ = dict(x.split("=", 1) for x in f.read().split(chr(0)) if "=" in x)
os.write(1, (json.dumps({"cpus": status["Cpus_allowed_list"].strip(), "argv": open("/proc/self/cmdline").read(),
                  "signals": [status[k].strip() for k in ("SigBlk", "SigIgn", "SigPnd", "ShdPnd")],
                  **{k: environ.get(k) for k in keep}}) + chr(10)).encode())
"""
OURS = ("OMP_", "GOMP_", "SLURM_", "OMPI_", "LOCAL_", "RANK", "WORLD_", "LD_", "ASAN_", "GPUTUNE_", "TORCHELASTIC_")
scratch = ""


def run(*command, env=None, options=(), gputune=GPUTUNE, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    return subprocess.run([gputune, "run", *options, "--", *command], env={**clean, **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **more)


def script(name, text, interpreter="/bin/sh"):
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!{interpreter}\n{text}")
    os.chmod(path, 0o755)
    return path


def launcher(name, what, n=2, before=""):
    """A shell script that starts n ranks."""
    return script(name, f"{before}\ni=0; while [ $i -lt {n} ]; do\n"
                  f"LOCAL_RANK=$i LOCAL_WORLD_SIZE={n} RANK=$i WORLD_SIZE={n} {what} &\ni=$((i + 1)); done; wait\n")


def ranks(done):
    return sorted((json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")),
                  key=lambda r: r["GPUTUNE_RUN_RANK"] or "")


def cpus_of(rank):
    out = []
    for part in rank["cpus"].split(","):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def apart(got, n=2):
    """Each rank has CPUs and threads of its own."""
    cpus = [c for r in got for c in cpus_of(r)]
    return len(got) == n and len(cpus) == len(set(cpus)) and all(1 <= int(r["OMP_NUM_THREADS"] or 0) <= SHARE for r in got)


def symbols():
    if not shutil.which("readelf"):
        tap.skip("the library needs only libc, and no symbol newer than GLIBC_2.17", "no readelf")
        return
    said = subprocess.run(["readelf", "-dV", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    new = [v for v in re.findall(r"Name: GLIBC_([\w.]+)", said)
           if not re.fullmatch(r"[\d.]+", v) or tuple(map(int, v.split("."))) > (2, 17)]
    tap.check("the library needs only libc, and no symbol newer than GLIBC_2.17", needed == ["libc.so.6"] and not new, said)


def wrappers(rank):
    two = launcher("two", f"{sys.executable} {rank} a 'b c'")
    with open(os.path.join(scratch, "Makefile"), "w", encoding="ascii") as f:
        f.write(f"all:\n\t@{two}\n")
    for name, command in {"a script": [two], "bash -c": ["bash", "-c", two], "env": ["env", "A=b", two],
                          "nohup, nice and timeout": ["nohup", "nice", "timeout", "50", two],
                          "make": ["make", "-s", "-C", scratch], "python": [sys.executable, "-c", f"import os; os.system('{two}')"]
                          }.items():
        title = f"{name}: two ranks have CPUs and threads of their own"
        if not shutil.which(command[0]):
            tap.skip(title, f"no {command[0]}")
            continue
        done = run(*command)
        got = ranks(done)
        tap.check(title, apart(got) and all(r["argv"].endswith("\0a\0b c\0") for r in got), done)
    plain = ranks(subprocess.run([two], stdout=subprocess.PIPE, text=True, check=True))
    got = ranks(run(two))
    tap.check("signals of a rank are those of the plain call", [r["signals"] for r in got] == [r["signals"] for r in plain],
              (got, plain))
    done = run(two, options=["--no-preload"])
    tap.check("--no-preload: no rank is set up, and no number of threads is multiplied",
              all(r["OMP_NUM_THREADS"] is None and r["LD_PRELOAD"] is None and cpus_of(r) == CPUS for r in ranks(done)) and
              len(ranks(done)) == 2, done)


def values(rank):
    python = f"{sys.executable} {rank}"
    got = ranks(run(launcher("own", python, before="export OMP_NUM_THREADS=7")))
    tap.check("a number of threads that a script set is kept", [r["OMP_NUM_THREADS"] for r in got] == ["7", "7"], got)
    got = ranks(run(launcher("plain", python), env={"OMP_NUM_THREADS": "5"}))
    tap.check("a number of threads that the user set is kept", [r["OMP_NUM_THREADS"] for r in got] == ["5", "5"], got)
    # a launcher in Python, as torchrun: it changes its own environment, which /proc does not show
    text = ("import os, subprocess, sys\nos.environ.setdefault('OMP_NUM_THREADS', '1')\n"
            "os.environ['TORCHELASTIC_RUN_ID'] = 'x'\n"
            f"os.environ.update(LOCAL_RANK='0', LOCAL_WORLD_SIZE='1')\nsubprocess.run([{sys.executable!r}, {rank!r}])\n")
    elastic = script("elastic", text, sys.executable)
    all_cores = run(sys.executable, rank).stdout
    got = ranks(run("sh", "-c", elastic))
    tap.check("OMP_NUM_THREADS=1 by torchrun is replaced",
              got[0]["OMP_NUM_THREADS"] == json.loads(all_cores)["OMP_NUM_THREADS"], got)
    got = ranks(run("sh", "-c", f"export OMP_NUM_THREADS=1; {elastic}"))
    tap.check("OMP_NUM_THREADS=1 by a script around torchrun is kept", got[0]["OMP_NUM_THREADS"] == "1", got)
    got = ranks(run(sys.executable, elastic))
    tap.check("the number that gputune run gave the launcher is replaced in its ranks",
              got[0]["GPUTUNE_RUN_RANK"] and got[0]["OMP_NUM_THREADS"] == json.loads(all_cores)["OMP_NUM_THREADS"], got)
    inner = launcher("inner", python)
    got = ranks(run(launcher("outer", f"sh -c {inner}", n=1)))
    tap.check("a launcher that is a rank itself: its ranks divide its CPUs", apart(got), got)
    got = ranks(run(launcher("chain", f"sh -c 'exec env A=1 {python}'")))
    tap.check("an exec chain is set up once", apart(got) and all(r["A"] == "1" for r in got), got)
    got = ranks(run(launcher("nested", f"{GPUTUNE} run -- {python}")))
    tap.check("gputune run in each rank, under gputune run",
              apart(got) and all(r["LD_PRELOAD"].count("rank.so") == 1 for r in got), got)


def others(rank):
    python = [sys.executable, rank]
    before = subprocess.run([*python], stdout=subprocess.PIPE, text=True, check=True, env={"A": "1"}).stdout
    for name, env in {"LOCAL_RANK without the number of ranks": {"LOCAL_RANK": "0"}, "no launcher's variables": {},
                      "a rank that is no number": {"LOCAL_RANK": "x", "LOCAL_WORLD_SIZE": "2"},
                      "a rank above the number of ranks": {"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"}}.items():
        words = [f"{k}={v}" for k, v in env.items()]
        got = ranks(run("sh", "-c", '"$@"; exit $?', "sh", "env", *words, *python))
        tap.check(f"{name}: the process is not changed", [r["GPUTUNE_RUN_RANK"] for r in got] == [None], got)
    done = run("sh", "-c", '"$@"; exit $?', "sh", "env", "-i", "A=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", *python)
    tap.check("env -i: the process is that of the plain call", done.stdout == before and not done.stderr, (done, before))
    runtime = script("container", 'echo "[$LD_PRELOAD]"\n')
    shutil.copy(shutil.which("env"), os.path.join(scratch, "apptainer"))
    done = run("sh", "-c", f"{scratch}/apptainer {runtime}", env={"LD_PRELOAD": ""})
    tap.check("a container runtime does not pass the library on", done.stdout == "[]\n" and not done.stderr, done)
    for name in ("srun", "mpirun"):
        shutil.copy(shutil.which("env"), os.path.join(scratch, name))
    done = run("sh", "-c", f"{scratch}/srun {runtime}")
    tap.check("srun outside of a job, which may start tasks on other hosts, does not pass it on", done.stdout == "[]\n", done)
    done = run("sh", "-c", f"{scratch}/srun {runtime}", env={"SLURM_JOB_NUM_NODES": "1", "SLURMD_NODENAME": "a"})
    tap.check("srun in a job of one host passes it on", done.stdout == f"[{LIBRARY}]\n", done)
    done = run("sh", "-c", f"{scratch}/mpirun {runtime} -H a,b")
    tap.check("mpirun with a list of hosts does not pass it on", done.stdout == "[]\n", done)
    done = run("sh", "-c", f"{scratch}/mpirun {runtime}")
    tap.check("mpirun on this host passes it on", done.stdout == f"[{LIBRARY}]\n", done)


def programs(rank):
    loader = next((p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(p)), None)
    if loader:
        python = os.path.realpath(sys.executable)
        done = run(launcher("byhand", f"{loader} {python} {rank}"))
        tap.check("a program that is started by ld.so itself is left alone",
                  len(ranks(done)) == 2 and done.returncode == 0 and all(not r["GPUTUNE_RUN_RANK"] for r in ranks(done)), done)
    cc = shutil.which("cc")
    if not cc:
        tap.skip("static and sanitised programs run as ranks", "no C compiler")
        return
    source = os.path.join(scratch, "say.c")
    with open(source, "w", encoding="ascii") as f:
        f.write('#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return puts(getenv("LOCAL_RANK")) < 0; }\n')
    for name, flags in (("static", ["-static"]), ("AddressSanitizer", ["-fsanitize=address"])):
        built = subprocess.run([cc, *flags, "-o", f"{scratch}/say", source], stderr=subprocess.DEVNULL, check=False).returncode == 0
        if not built:
            tap.skip(f"a program with {name} runs as a rank", "cannot be linked here")
            continue
        done = run(launcher("sayer", f"{scratch}/say"))
        tap.check(f"a program with {name} runs as a rank", sorted(done.stdout.split()) == ["0", "1"] and not done.stderr, done)


def runtimes():
    """Checks that libgomp uses the number of threads, however it is loaded."""
    for name, program, env in (("linked", "omp_linked", {}), ("opened by the program", "omp_opened", {}),
                               ("preloaded", "omp_opened", {"LD_PRELOAD": "libgomp.so.1"})):
        path = os.path.join(BUILD, "tests", "peers", program)
        done = run(launcher("openmp", path), env=env)
        got = [int(x) for x in done.stdout.split()]
        tap.check(f"OMP_NUM_THREADS of a rank reaches libgomp that is {name}", len(got) == 2 and max(got) <= SHARE and
                  not done.stderr, done)


def setuid():
    """The loader ignores the library for a program with other rights, and prints nothing."""
    name = "a setuid program runs as a rank, without a message"
    if os.geteuid() or os.statvfs(scratch).f_flag & os.ST_NOSUID:
        tap.skip(name, "not root, or the file system ignores setuid")
        return
    program = os.path.join(scratch, "setuid-printenv")
    shutil.copy(shutil.which("printenv"), program)
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    os.chmod(scratch, 0o755)
    done = run(launcher("rights", f"{program} LOCAL_RANK"))
    tap.check(name, sorted(done.stdout.split()) == ["0", "1"] and not done.stderr, done)


def pools():
    """Packages that read OMP_NUM_THREADS in the first process would not divide the cores any more."""
    def threads(*command):
        done = run(*command, options=["--print", "--json"])
        return [v["status"] for v in json.loads(done.stdout)["environment"] if v["name"] == "OMP_NUM_THREADS"]

    path = os.path.join(scratch, "train.py")
    for text, status in (("import os, lightning.fabric as f\n", "skipped"), ("x = 1\nfrom ray import train", "skipped"),
                         ("import joblib", "skipped"), ("import rays, lightning2\n", "set"), ("from a import ray\n", "set")):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        got = threads(sys.executable, "-u", "-W", "ignore", path), threads(sys.executable, "-c", text)
        tap.check(f"python with '{text.strip().splitlines()[-1]}': the number of threads is {status}", got == ([status], [status]), got)


def failures(rank):
    two = launcher("failing", f"{sys.executable} {rank}")
    untouched = lambda done: (len(ranks(done)) == 2 and done.returncode == 0 and  # noqa: E731
                              all(cpus_of(r) == CPUS and not r["GPUTUNE_RUN_RANK"] for r in ranks(done)))
    for name, text in {"fails": "exit 3", "prints nonsense": "echo hello", "stops in its answer": "printf 'gputune-rank 1\\0C0\\0'",
                       "is of another version": "printf 'gputune-rank 9\\0C0\\0.\\0'"}.items():
        program = script("answer", text + "\n")
        done = run("env", f"GPUTUNE_RUN_PROGRAM={program}", two)
        tap.check(f"gputune rank {name}: the ranks run as in the plain call", untouched(done), done)
    done = run("env", "GPUTUNE_RUN_PROGRAM=/nowhere/gputune", two)
    tap.check("gputune was removed: the ranks run as in the plain call", untouched(done), done)
    alone = os.path.join(scratch, "alone")
    os.mkdir(alone)
    shutil.copy(GPUTUNE, alone)
    done = run(two, gputune=f"{alone}/gputune")
    tap.check("a missing library: one sentence, and the job starts",
              untouched(done) and done.stderr.count("\n") == 1 and "does not exist" in done.stderr, done)
    with open(LIBRARY, "rb") as f:
        image = bytearray(f.read())
    image[18:20] = b"\xf3\x00" if image[18:20] != b"\xf3\x00" else b"\x3e\x00"  # e_machine: RISC-V
    with open(f"{alone}/libgputune-rank.so", "wb") as f:
        f.write(image)
    done = run(two, gputune=f"{alone}/gputune")
    tap.check("a library of another architecture: one sentence, and the job starts",
              untouched(done) and done.stderr.count("\n") == 1 and "does not load" in done.stderr, done)


def main():
    global scratch
    symbols()
    with tempfile.TemporaryDirectory() as scratch:
        rank = os.path.join(scratch, "rank.py")
        with open(rank, "w", encoding="ascii") as f:
            f.write(RANK)
        if len(CPUS) > 1:
            wrappers(rank)
            values(rank)
            runtimes()
        others(rank)
        programs(rank)
        setuid()
        pools()
        failures(rank)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
