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


def table_errors():
    """Returns the errors of the table of remedies: an action without a row for any host, a row without a source, a used action
    without a row."""
    with open(os.path.join(tap.TOP, "probe/compat/remedies.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    found = [f"not 4 columns, or no source: {row}" for row in rows if len(row) != 4 or not row[3]]
    any_host = {row[0] for row in rows if row[1] == "*"}
    found += [f"{row[0]}: no row for any host" for row in rows if row[0] not in any_host]
    found += [f"{row[0]}: a command for any host" for row in rows if row[1] == "*" and row[2] and not row[2].startswith(("# ", "@{"))]
    names = {row[0] for row in rows}
    files = glob.glob(os.path.join(tap.TOP, "probe/**/*.[ch]"), recursive=True) + glob.glob(os.path.join(tap.TOP, "tune/**/*.c"),
                                                                                            recursive=True)
    for path in files + [os.path.join(tap.TOP, "probe/compat/remedies.tsv")]:
        with open(path, encoding="utf-8") as f:
            found += [f"{path}: no such action: {a}" for a in re.findall(r"@\{([a-z0-9-]+)(?=[ }])", f.read()) if a not in names]
    return found


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
    tap.rule("each remedy has a sentence for any host, each row a source", table_errors())
    tap.rule("the check finds a placeholder, a missing GPU address and a missing repository",
             [] if len(problems(["  nvidia-smi --gpu-reset -i N", "  apt install nvidia-open", "  nvidia-smi -c 0"], True)) == 3
             else ["no"])


main()
tap.plan()
