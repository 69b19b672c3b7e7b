#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the lines of tests/messages/kernel_log.tsv into healthy hosts and compares gpuprobe's findings with the expected ones.
kernel_log.py --table [BEFORE] GPUPROBE prints one row per case with the result of each program."""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

# Fixtures by kind of host. "amd" has eight MI300X and no NVIDIA GPU, "gpucloud" the firmware of a cloud.
HOSTS = {"gpucloud": "server-8gpu", "server": "server-8gpu", "nvswitch": "nvswitch-8gpu", "workstation": "p2p-geforce", "cloud": "systemd-vm", "grace": "arm-gh200",
         "container": "compat-note", "cpu": "epyc-nps4", "arm": "arm-server", "laptop": "laptop-no-gpu", "amd": "epyc-nps4"}
QUIET = "[    0.000000] Linux version 6.1.0-41-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0)"
Case = collections.namedtuple("Case", "kind host subject lines source")


def amd_gpus():
    for bus in ("11", "2f", "46", "5d", "8b", "aa", "c2", "da"):
        address = f"0000:{bus}:00.0"
        where = f"/sys/devices/pci0000:{bus}/{address}"
        yield f"link /sys/bus/pci/devices/{address} ../../..{where[4:]}"
        for name, value in {"vendor": "0x1002", "device": "0x74a1", "class": "0x120000", "numa_node": "0"}.items():
            yield from (f"file {where}/{name}", f"\t{value}")
        yield f"link {where}/driver /sys/bus/pci/drivers/amdgpu"


def base(kind):
    with open(os.path.join(tap.FIXTURES, HOSTS[kind] + ".host"), encoding="utf-8") as f:
        text = re.sub(r"^file /\.facts/kernel_log.*\n(\t.*\n)*", "", f.read(), flags=re.M)
    more = {"amd": amd_gpus(), "gpucloud": ("file /sys/class/dmi/id/sys_vendor", "\tAmazon EC2")}
    return text + "".join(line + "\n" for line in more.get(kind, ()))


def findings(program, kind, lines, bases={}):  # pylint: disable=dangerous-default-value
    """Returns the result of each check on a host of this kind with these lines in its kernel log."""
    if kind not in bases:
        bases[kind] = base(kind)
    with tempfile.NamedTemporaryFile("w", suffix=".host", encoding="utf-8") as f:
        f.write(bases[kind] + "file /.facts/kernel_log\n" + "".join(f"\t{line}\n" for line in [QUIET, *lines]))
        f.flush()
        done = subprocess.run([program, "--root", f.name, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    return {check["id"]: check["result"] for check in json.loads(done.stdout)["checks"]}


def judge(program, case, quiet):
    """Returns "right", "unknown", "OK" (no finding) or "wrong", and the checks whose result the lines changed."""
    after = findings(program, case.host, case.lines.split("\\n"))
    before = quiet(program, case.host)
    changed = {name: result for name, result in after.items() if result in ("warn", "fail", "unknown") and result != before.get(name)}
    blamed = {name for name, result in changed.items() if result != "unknown"}
    if blamed - set(case.subject.split("|")):
        return "wrong", changed
    return "right" if blamed else "unknown" if changed else "OK", changed


def read_cases():
    with open(os.path.join(tap.TOP, "tests/messages/kernel_log.tsv"), encoding="utf-8") as f:
        return [Case(*line.rstrip("\n").split("\t")) for line in f if not line.startswith("#")]


def run(program, cases):
    cache = {}

    def quiet(program, host):
        if (program, host) not in cache:
            cache[program, host] = findings(program, host, [])
        return cache[program, host]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda case: judge(program, case, quiet), cases))


def score(cases, results):
    """Returns the number of each result for each kind of case: {"fault": {"right": 100, …}, …}."""
    counts = collections.defaultdict(collections.Counter)
    for case, (result, _) in zip(cases, results):
        counts[case.kind][result] += 1
    return counts


def brief(case, changed):
    return f"{case.host} {case.subject}: {case.lines[:110]}: " + (" ".join(f"{k}={v}" for k, v in changed.items()) or "no finding")


def cell(text):
    """Text for a cell of a Markdown table."""
    return re.sub(r"[|<>`*_\\[\\]\\\\]", lambda m: f"&#{ord(m[0])};", text)


def print_table(programs):
    """Prints Markdown: the number of results, then each case. The last program is the present one."""
    cases = read_cases()
    columns = [run(program, cases) for program in programs]
    names = ["before", "now"][-len(programs):]
    outcomes = ("right", "unknown", "OK", "wrong")
    print("<!-- made by `make fault-table BEFORE=FILE` -->\n# Kernel log lines in healthy hosts\n")
    print("Results: right (a warning or failure of the expected check), unknown, OK (no finding), wrong (another check fails or "
          "warns).")
    print("Faults and open faults, which no rule covers, must not be OK. Healthy logs and errors of programs must be OK.")
    print("The rules were written with these lines in view, so the results of the present gpuprobe are not those on unseen logs.\n")
    print("| kind | gpuprobe | " + " | ".join(outcomes) + " |\n|---|---|" + "--:|" * len(outcomes))
    for kind in dict.fromkeys(case.kind for case in cases):
        for name, results in zip(names, columns):
            counts = score(cases, results)[kind]
            print(f"| {kind} | {name} | " + " | ".join(str(counts[outcome]) for outcome in outcomes) + " |")
    print("\n| kind | host | expected check | " + " | ".join(names) + " | line |\n|---|---|---|" + "---|" * (len(names) + 1))
    for case, *results in zip(cases, *columns):
        print("| " + " | ".join([case.kind, case.host, cell(case.subject.replace("|", " or ")), *(r for r, _ in results),
                                  cell(case.lines.split("\\n")[0][:100])]) + " |")


def main():
    cases = read_cases()
    results = run(os.path.join(tap.BUILD, "gpuprobe"), cases)
    counts = score(cases, results)

    def those(kinds, *outcomes):
        return [brief(case, changed) for case, (result, changed) in zip(cases, results) if case.kind in kinds and result in outcomes]

    silent = those(("fault",), "unknown")
    loud = those(("healthy", "program"), "right", "unknown", "wrong")
    tap.rule("no fault is reported as OK", those(("fault", "open"), "OK"))
    tap.rule("no fault gets the cause of another one", those(("fault", "open"), "wrong"))
    tap.rule("at most one in ten faults with a rule is unknown", silent if len(silent) * 10 > sum(counts["fault"].values()) else [])
    tap.rule("an error of a program is no finding about the host", those(("program",), "right", "unknown", "wrong"))
    tap.rule("at least 95 % of the healthy logs have no finding", loud if len(loud) * 20 > sum(counts["healthy"].values()) else [])
    tap.check("the table has 120 faults and 60 healthy logs",
              sum(counts["fault"].values()) + sum(counts["open"].values()) >= 120 and sum(counts["healthy"].values()) >= 60)
    for kind, numbers in counts.items():
        print(f"# {kind}: " + ", ".join(f"{n} {result}" for result, n in sorted(numbers.items())))
    tap.plan()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        print_table(sys.argv[2:] or [os.path.join(tap.BUILD, "gpuprobe")])
    else:
        main()
