#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Remedies are commands that can be pasted. On every synthetic host no command of a remedy has a placeholder, nvidia-smi gets the
GPU's own address, and a package from NVIDIA's repository follows the lines that add this repository."""
import glob
import json
import os
import re

import tap

PLACEHOLDER = re.compile(r"…|\.\.\.|<[a-z-]+>|\s(N|USER|GPU|ID|UUID|NAME|FILE|IMAGE|VERSION|COMMAND)\b|MIG-UUID|\(or ")
NVIDIA_PACKAGE = re.compile(r"apt install (--\S+ )*'?(nvidia-open|cuda-drivers|nvidia-fabricmanager|nvidia-container-toolkit)\b")
SETS_GPU = re.compile(r"nvidia-smi .*(-c|-mig|-pl|-pm|-lgc) ")


def problems(lines, repository):
    """Returns one line per error in the commands. repository: the commands themselves must add NVIDIA's repository."""
    found, added = [], not repository
    for line in lines:
        if line.lstrip().startswith("#"):
            continue
        added |= "cuda-keyring" in line or "nvidia-container-toolkit.list" in line
        if PLACEHOLDER.search(line):
            found.append(f"placeholder: {line}")
        if NVIDIA_PACKAGE.search(line) and not added:
            found.append(f"no repository before: {line}")
        if SETS_GPU.search(line) and " -i " not in line:
            found.append(f"for which GPU: {line}")
    return found


def commands(text):
    return [line for line in text.split("\n") if line.startswith("  ")]


def main():
    hosts = sorted(glob.glob(os.path.join(tap.FIXTURES, "*.host")))
    bad, n = [], 0
    for host in hosts:
        name = os.path.basename(host)
        report = json.loads(tap.run("gpuprobe", "--json", "--root", host).stdout)
        manager = any("fabricmanager" in p["name"] for p in report["host"].get("packages") or [])
        for check in report["checks"]:
            lines = commands(check["remedy"] or "")
            bad += [f"{name}: {check['id']}: {w}" for w in re.findall(r"-i N\b|.*…", check["remedy"] or "")]
            n += len(lines)
            bad += [f"{name}: {check['id']}: {p}" for p in problems(lines, not manager)]
        advice = json.loads(tap.run("gpuprobe", "recommend", "--json", "--root", host).stdout)
        for step in advice["steps"]:
            bad += [f"{name}: recommend: {p}" for p in problems(step["lines"].split("\n"), True)]
    tap.rule(f"remedies on {len(hosts)} hosts are complete commands ({n})", bad if n > 100 else [f"only {n} commands"])
    tap.rule("the check finds a placeholder, a missing GPU address and a missing repository",
             [] if len(problems(["  nvidia-smi --gpu-reset -i N", "  apt install nvidia-open", "  nvidia-smi -c 0"], True)) == 3
             else ["no"])


main()
tap.plan()
