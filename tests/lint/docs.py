#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks --help, the manual pages, shell completion and the lists of ids against the tools' own tables."""
import os
import re
import shutil
import subprocess
import tempfile

import tap

PAGES = {"gpuprobe": "gpuprobe.1", "gputune": "gputune.8", "gpubench": "gpubench.1"}
# The tool and key of each registry, and the page that describes its entries.
REGISTRIES = (("gpuprobe", "checks", "gpuprobe-checks.7"), ("gputune", "knobs", "gputune-knobs.7"),
              ("gpubench", "workloads", "gpubench.1"))


def path_of(name):
    """Returns a manual page, hand-written (source tree) or generated (build tree)."""
    return next((p for p in (os.path.join(tree, "man", name) for tree in (tap.TOP, tap.BUILD)) if os.path.exists(p)), None)


def page(name):
    with open(path_of(name), encoding="utf-8") as f:
        return f.read()


def options(mdoc):
    return set(re.findall(r"Fl Fl ([a-z][a-z0-9-]*)", mdoc))


def options_of(mdoc):
    """Returns the options in each command's own list, such as "ab --pairs"."""
    found, cmd = set(), None
    for line in mdoc.splitlines():
        if line.startswith(".Sh "):
            cmd = None
        elif line.startswith(".It Cm "):
            cmd = line.split()[2]
        elif cmd and line.startswith(".It "):
            found |= {f"{cmd} --{o}" for o in options(line)}
    return found


def commands(mdoc):
    return set(re.findall(r"^\.It Cm ([a-z][a-z0-9-]*)", mdoc, re.M))


def exit_codes(mdoc):
    section = re.search(r"^\.Sh EXIT STATUS\n(.*?)(?=^\.Sh |\Z)", mdoc, re.M | re.S)
    return set(re.findall(r"^\.It (\d+)", section.group(1), re.M)) if section else set()


def compare(name, said, true, what):
    tap.rule(name, [f"missing: {what}{x}" for x in sorted(true - said)] +
             [f"the tool has no {what}{x}" for x in sorted(said - true)])


def manual(tool, truth):
    mdoc = page(PAGES[tool])
    compare(f"{PAGES[tool]} names the options of {tool}", options(mdoc), options(truth), "--")
    compare(f"{PAGES[tool]} names the options of each command of {tool}", options_of(mdoc), options_of(truth), "")
    compare(f"{PAGES[tool]} names the commands of {tool}", commands(mdoc), commands(truth), "")
    compare(f"{PAGES[tool]} names the exit codes of {tool}", exit_codes(mdoc), exit_codes(truth), "")


def helps(tool, truth):
    text = tap.run(tool, "--help", "--all").stdout
    bad = [f"not in {tool} --help --all: {c}" for c in sorted(commands(truth)) if not re.search(rf"^  {c} ", text, re.M)]
    bad += [f"not in {tool} --help: exit status {c}" for c in sorted(exit_codes(truth), key=int)
            if not re.search(rf"^ +{c} +", text, re.M)]
    for cmd in sorted(commands(truth)):
        done = tap.run(tool, cmd, "--help", "--all")
        if done.returncode or done.stderr or f"\nUsage: {tool} {cmd}" not in done.stdout:
            bad.append(f"{tool} {cmd} --help: status {done.returncode} {done.stderr}")
        text += done.stdout
    bad += [f"in no --help: --{o}" for o in sorted(options(truth)) if f"--{o}" not in text]
    bad += [f"wider than 80 columns: {line}" for line in text.splitlines() if len(line) > 80 and "http" not in line]
    tap.rule(f"the --help texts of {tool} name every command, option and exit code", bad)


def wording(tool, truth):
    """Option help is an imperative of at most 12 words; command summaries are short."""
    bad, cmd = [], ""
    for title, text in re.findall(r"^\.It ((?:Cm|Fl) .*)\n(.*(?:\n[^.].*)*)", truth, re.M):
        cmd = title if title.startswith("Cm ") else cmd
        words = len(text.split("\n", maxsplit=1)[0].split())
        if title.startswith("Fl ") and words > 12:
            bad.append(f"{cmd[3:]} {title}: {words} words: {text}")
        if title.startswith("Cm ") and (words > 12 or not text[0].isupper()):
            bad.append(f"{title}: not a short sentence: {text}")
    tap.rule(f"the help texts of {tool} are short", bad)


def completed(tool, script, words):
    """Returns bash's completions after these words."""
    asked = (f". {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _{tool}; "
             "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "--norc", "-c", asked.replace("''", "")], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return set(done.stdout.split())


def values(tool):
    """Returns command lines as words, each with the expected completions of its last word."""
    ids = {x["id"] for key in ("checks", "knobs", "workloads") for x in tap.document(tool, "list")[0].get(key, [])}
    lines = {
        "gpuprobe": (("watch --format ''", {"text", "jsonl", "openmetrics"}), ("-f m", {"markdown"}), ("explain ''", ids)),
        "gputune": (("provision ''", {"plan", "apply", "revert"}), ("provision plan --skip he", {"headers"}),
                    ("plan --skip ''", ids), ("plan --profile = train-c", {"train-cpu"}), ("verify ''", set())),
        "gpubench": (("train --amp b", {"bf16"}), ("run --workload null,mem.b", {"null,mem.bw"}), ("launch ''", ids)),
    }
    return [([tool, *line.replace("''", '""').split()], want) for line, want in lines[tool]]


def completion(tool, truth):
    with tempfile.TemporaryDirectory() as scratch:
        script = os.path.join(scratch, tool)
        with open(script, "w", encoding="utf-8") as f:
            f.write(tap.run(tool, "--print-completion", "bash").stdout)
        offered = completed(tool, script, [tool, '""'])
        bad = [f"not offered: {c}" for c in sorted(commands(truth) - offered)]
        for cmd in [None, *sorted(commands(truth))]:
            offered |= completed(tool, script, [tool, *([cmd] if cmd else []), "--"])
        bad += [f"not offered: --{o}" for o in sorted(options(truth)) if f"--{o}" not in offered]
        tap.rule(f"bash completes every command and option of {tool}", bad)
        bad = [f"{' '.join(words)}: {sorted(want ^ completed(tool, script, words))}" for words, want in values(tool)
               if completed(tool, script, words) != want]
        tap.rule(f"bash completes the arguments of the options of {tool}", bad)
        name = f"the zsh completion of {tool} has no syntax error"
        if not shutil.which("zsh"):
            tap.skip(name, "no zsh here")
            return
        with open(script, "w", encoding="utf-8") as f:
            f.write(tap.run(tool, "--print-completion", "zsh").stdout)
        done = subprocess.run(["zsh", "-n", script], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        tap.rule(name, done.stderr.splitlines())
        tap.rule(f"zsh completes every option of {tool} below its command", zsh_options(tool, script, truth))


def zsh_options(tool, script, truth):
    """Checks the options that zsh offers for a command after a global option. A stub of zsh's _arguments prints them."""
    sections = re.split(r"^\.It Cm ", truth.split(".Sh OPTIONS")[0], flags=re.M)[1:]
    common, bad = options(truth.split(".Sh OPTIONS")[1]), []
    for section in sections:
        cmd = section.split()[0]
        asked = (f"_arguments() {{ print -rl -- $words[1],$CURRENT \"$@\" }}; words=({tool} --json {cmd} -); CURRENT=4; . {script}")
        done = subprocess.run(["zsh", "-fc", asked], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        lines = done.stdout.splitlines()
        said = set(re.findall(r"^(?:\([^)]*\))?[-*a-zA-Z+]*?--([a-z][a-z0-9-]*)=?\[", done.stdout, re.M))
        bad += [] if lines[:1] == [f"{cmd},2"] else [f"{tool} {cmd}: the words begin with {lines[:1]}"]
        bad += [f"{tool} {cmd}: --{o}" for o in sorted(said ^ (options(section) | common))]
    return bad


def registry(tool, key, name):
    doc, bad = tap.document(tool, "list")
    true = {x["id"] for x in doc[key]} if doc else set()
    said = set(re.findall(r"^\.It (?:Ic|Cm|Li|Sy|Va) ([a-z0-9_.*<>/-]+)", page(name), re.M))
    if key == "workloads":
        said &= true    # The page has other lists too.
    bad += [f"not in {name}: {x}" for x in sorted(true - said)]
    bad += [f"{name} documents {x}, which {tool} list does not have" for x in sorted(said - true)]
    tap.rule(f"{name} documents all {key} of {tool}", bad or ([] if true else [f"{tool} list is empty"]))
    bad = []
    for x in sorted(true):
        done = tap.run(tool, "explain", x) if key != "workloads" else None
        if done and (done.returncode or x not in done.stdout):
            bad.append(f"{tool} explain {x}: status {done.returncode} {done.stderr.strip()}")
    if key != "workloads":
        tap.rule(f"{tool} explains all of its {key}", bad)


def lint(name):
    mandoc = os.environ.get("MANDOC", "mandoc")
    if not shutil.which(mandoc):
        tap.skip(f"{name} is clean for mandoc", "no mandoc here")
        return
    done = subprocess.run([mandoc, "-Tlint", "-Wwarning", path_of(name)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    tap.rule(f"{name} is clean for mandoc", done.stdout.splitlines())


for each in tap.TOOLS:
    table = tap.run(each, "--print-man").stdout
    manual(each, table)
    helps(each, table)
    wording(each, table)
    completion(each, table)
for each in REGISTRIES:
    registry(*each)
for each in sorted({*PAGES.values(), *(page_name for _, _, page_name in REGISTRIES)}):
    lint(each)
tap.plan()
