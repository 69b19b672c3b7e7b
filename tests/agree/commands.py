#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that gpuprobe's report, `can` and `recommend` and gputune's profile agree about a host's GPU, driver and wheel. The
hosts are the synthetic ones, each also with an environment that contains PyTorch for CUDA 13."""
import concurrent.futures
import glob
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

HOSTS = sorted(glob.glob(os.environ.get("HOSTS", os.path.join(tap.FIXTURES, "*.host"))))
WITH_TORCH = os.path.join(tap.FIXTURES, "venv-cuda13-on-550.host")
# Checks whose findings contain the version of the driver whose CUDA a program uses.
DRIVER_CHECKS = ("python.driver", "cuda.toolkit", "cuda.ptx")
VERSION = r"(\d{3}(?:\.\d+)+)"


def ask(tool, *words):
    done = tap.run(tool, *words)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise ValueError(f"{tool} {' '.join(words)}: {done.stderr.strip()}") from None


def answer(host, what):
    """Returns yes, no or unknown, and the reasons as one text."""
    said = ask("gpuprobe", "can", what, "--json", "--root", host)["answers"][0]
    return said["answer"], "; ".join(r["what"] for r in said["reasons"])


def drivers(text):
    """Returns the versions that the text attributes to this host's driver."""
    return set(re.findall(rf"this host has {VERSION}", text) + re.findall(rf"driver {VERSION}(?: supports| and this GPU)", text))


def contradictions(host):
    report = ask("gpuprobe", "--json", "--root", host)
    steps = ask("gpuprobe", "can", "--json", "--root", host)["steps"]
    profile = ask("gputune", "plan", "--json", "--root", host)["profile"]
    advice = "; ".join(s["why"] for s in steps[:1])
    wheel = re.search(r"'torch==([0-9.]+)\.\*' --index-url \S*/(cu\d+)", steps[0]["lines"]) if steps else None
    newest = answer(host, "torch==2.11")
    bad = []
    on_cpu = "no NVIDIA GPU" in advice
    if on_cpu != (profile == "train-cpu"):
        bad.append(f"recommend: {advice}; plan: profile {profile}")
    if on_cpu != any(x in newest[1] for x in ("CUDA needs an NVIDIA GPU, and", "runs on the CPU")) and newest[0] != "unknown":
        bad.append(f"recommend: {advice}; can: {newest[1]}")
    if on_cpu and report["cause"] and report["cause"].startswith(("wsl.", "driver.")) and report["cause"] != "driver.vfio":
        bad.append(f"recommend: {advice}; report: {report['cause']}")
    if wheel:
        said = answer(host, f"torch=={wheel[1]}+{wheel[2]}")
        if said[0] == "no":
            bad.append(f"recommend: {advice}; can: {said[1]}")
    found = {"can": drivers(newest[1]), "recommend": drivers(advice) if wheel else set()}
    found.update((c["id"], drivers(c["what"])) for c in report["checks"] if c["id"] in DRIVER_CHECKS)
    if len(set().union(*found.values())) > 1:
        bad.append("drivers: " + "; ".join(f"{k} {', '.join(sorted(v))}" for k, v in found.items() if v))
    return [f"{os.path.basename(host)}: {x}" for x in bad]


def environment():
    """Returns the entries of a host's environment as text of a capture."""
    with open(WITH_TORCH, encoding="utf-8") as f:
        entries = re.split(r"\n(?=\S)", f.read().rstrip("\n"))
    return "\n".join(e for e in entries if "venv/" in e.split("\n", 1)[0]) + "\n"


def main():
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        more, extra = [], environment()
        for path in HOSTS:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if "venv/" in text:
                continue
            more.append(os.path.join(scratch, os.path.basename(path)))
            with open(more[-1], "w", encoding="utf-8") as f:
                f.write(text + extra)
        for kind, hosts in (("host", HOSTS), ("host with PyTorch for CUDA 13", more)):
            tap.rule(f"no two commands contradict each other on a {kind} ({len(hosts)} hosts)",
                     sum(pool.map(contradictions, hosts), []) if hosts else ["no host"])
    tap.plan()
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
