#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reports have only commands of the host's distribution: no apt without apt, no dnf without dnf. The hosts have the os-release
of tests/fixtures/os_release.tsv: one without a GPU and some with a fault for each, and all synthetic hosts for one of each
package manager."""
import csv
import glob
import json
import os
import re
import tempfile

import tap

OF = {  # commands that only these families have
    "apt": "debian ubuntu", "apt-get": "debian ubuntu", "apt-mark": "debian ubuntu", "apt-cache": "debian ubuntu",
    "dpkg": "debian ubuntu", "update-initramfs": "debian ubuntu", "update-grub": "debian ubuntu", "update-glx": "debian",
    "update-alternatives": "debian ubuntu", "kernelstub": "ubuntu", "dnf": "rhel fedora amzn", "yum": "",
    "grubby": "rhel fedora amzn", "zypper": "suse", "pbl": "suse", "rpm": "rhel fedora amzn suse",
    "dracut": "rhel fedora amzn suse", "grub2-mkconfig": "rhel fedora suse",
}
COMMAND = re.compile(r"(?<![\w/.-])(" + "|".join(sorted(OF, key=len, reverse=True)) + r")(?![\w.-])")
FAULTS = ["nouveau", "driver-not-loaded", "driver-no-headers", "preempt-rt", "uvm-missing", "blackwell-on-550", "acs-control-words",
          "vfio-all", "driver-mismatch", "secure-boot", "legacy-kepler", "next-kernel-build-failed"]
EACH_MANAGER = ["debian", "ubuntu", "rhel", "fedora", "suse", "amzn", "-"]


def releases():
    with open(os.path.join(tap.TOP, "tests/fixtures/os_release.tsv"), encoding="utf-8") as f:
        return [row[:6] for row in csv.reader(f, delimiter="\t") if not row[0].startswith("#")]


def os_release(row):
    fields = zip(("ID", "ID_LIKE", "VERSION_ID", "VARIANT_ID", "PRETTY_NAME"), row[1:])
    return "".join(f'\t{key}="{value}"\n' for key, value in fields if value) or "\t\n"


def with_release(host, row, path):
    """Writes the host with another /etc/os-release."""
    with open(host, encoding="utf-8", errors="surrogateescape") as f:
        text = f.read()
    text = re.sub(r"(?m)^(file|link) (/etc|/usr/lib)/os-release.*\n(\t.*\n)*", "", text)
    text = text.replace("\nfile ", "\nfile /etc/os-release\n" + os_release(row) + "file ", 1)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)


def foreign(text, family):
    """Returns the commands in the text that the family does not have."""
    return sorted({c for c in COMMAND.findall(text) if family not in OF[c].split()})


def remedies(path):
    report = json.loads(tap.run("gpuprobe", "--json", "--root", path).stdout)
    steps = json.loads(tap.run("gpuprobe", "recommend", "--json", "--root", path).stdout)["steps"]
    return [(c["id"], c["remedy"] or "") for c in report["checks"]] + [("recommend", s["why"] + "\n" + s["lines"]) for s in steps]


def judge(host, row, path):
    """Returns the offences of a host and whether a remedy has a command of the family."""
    with_release(host, row, path)
    bad, own = [], False
    for where, text in remedies(path):
        bad += [f"{os.path.basename(host)}, {row[1]} {row[3]}: {where}: {c}" for c in foreign(text, row[0])]
        bad += [f"{os.path.basename(host)}, {row[1]} {row[3]}: {where}: not rendered" for _ in re.findall(r"@\{|\{\w", text)]
        own |= bool(COMMAND.search(text))
    return bad, own


def main():
    rows, bad, with_command = releases(), [], set()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "x.host")
        for row in rows:
            for name in ["cpu-server"] + FAULTS:
                found, own = judge(os.path.join(tap.FIXTURES, name + ".host"), row, path)
                bad += found
                with_command |= {row[0]} if own else set()
            text = tap.run("gpuprobe", "--root", path).stdout + tap.run("gpuprobe", "--root", path, "can", "torch==2.8.0").stdout
            bad += [f"{row[1]} {row[3]}: text: {c}" for c in foreign(text, row[0])]
            text = tap.run("gputune", "run", "--print", "--root", path, "--", "python3", "x.py").stdout
            bad += [f"{row[1]} {row[3]}: gputune run: {c}" for c in foreign(text, row[0])]
        tap.rule(f"reports of {len(rows)} distributions have only their own commands", bad)
        tap.rule("each family has commands of its own, and an unknown one has none",
                 [f for f in EACH_MANAGER if (f in with_command) != (f != "-")])
        bad, hosts = [], sorted(glob.glob(os.path.join(tap.FIXTURES, "*.host")))
        for host in hosts:
            for family in EACH_MANAGER:
                bad += judge(host, next(r for r in rows if r[0] == family), path)[0]
        tap.rule(f"the same for {len(hosts)} hosts", bad)
    tap.rule("the check finds a foreign command", [] if foreign("  apt update; dnf install x", "rhel") == ["apt"] else ["no"])


main()
tap.plan()
