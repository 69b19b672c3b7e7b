#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the excerpts in README.md, each directory's README.md and docs: "$ TOOL … --root NAME.host" is run on that fixture, and
its output must equal the text. Measurements have no --root and are not repeated. Each command and option that a page shows must
exist. BLESS=1 rewrites the excerpts."""
import glob
import os
import re
import shlex

import tap


def excerpts(text):
    """Returns (command, output) of each command in the indented blocks."""
    found, lines = [], text.splitlines()
    for i, line in enumerate(lines):
        if not line.startswith("    $ "):
            continue
        out = []
        for following in lines[i + 1:]:
            if following.startswith("    $ ") or (following and not following.startswith("    ")):
                break
            out.append(following[4:])
        while out and not out[-1]:
            out.pop()
        found.append((line[6:], out))
    return found


def printed(command):
    words = shlex.split(command)
    words = [os.path.join(tap.FIXTURES, w) if w.endswith(".host") else w for w in words]
    done = tap.run(words[0], *words[1:])
    text = (done.stdout + done.stderr).replace(tap.FIXTURES + "/", "").replace(tap.TOP + "/", "")
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def compare(page, command, shown):
    shown_, got = [s.rstrip() for s in shown], printed(command)
    if os.environ.get("BLESS") == "1" and shown_ != got:
        bless(page, command, shown, got)
        shown_ = got
    bad = [f"shown:   {s}\n#   printed: {g}" for s, g in zip(shown_, got) if s != g]
    if len(shown_) != len(got):
        bad.append(f"{len(shown_)} lines are shown and {len(got)} printed")
    tap.rule(f"{page}: {command[:70]}", bad[:6])


def bless(page, command, shown, got):
    path = os.path.join(tap.TOP, page)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    block = ["    $ " + command]
    old, new = ("\n".join(block + [("    " + x).rstrip() for x in lines]) for lines in (shown, got))
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    print(f"# rewritten: {page}: {command}")


def commands_of(tool):
    return set(re.findall(r"^\.It Cm ([a-z][a-z0-9-]*)", tap.run(tool, "--print-man").stdout, re.M))


def named(page, text, known):
    """Checks in running text, such as `gputune plan …`, that the word after the tool is one of its commands."""
    bad = []
    for tool, word in re.findall(r"[`$] ?(gpuprobe|gputune|gpubench) ([a-z][a-z-]*)\b", text):
        if word not in known[tool]:
            bad.append(f"{tool} {word}")
    tap.rule(f"{page} names only commands that exist", sorted(set(bad)))


def options_of(tool):
    """Returns the options by command. The key "" has those that every command takes."""
    found, command, section = {"": set()}, "", ""
    for line in tap.run(tool, "--print-man").stdout.splitlines():
        section = line[4:] if line.startswith(".Sh ") else section
        m = re.match(r"\.It Cm ([a-z][a-z0-9-]*)", line)
        command = m[1] if m and section == "COMMANDS" else command
        m = re.match(r"\.It (?:Fl (\S) , )?Fl Fl (\S+)", line)
        if m:
            found.setdefault(command if section == "COMMANDS" else "", set()).update({f"--{m[2]}", f"-{m[1]}"})
    return found


def shown_commands(page, text):
    """Returns (tool, words) of every command that a page shows as code."""
    if re.search(r"\.[1-8]$", page):
        code = [c.replace("\\-", "-").replace("\\&", "") for c in re.findall(r"^\.(?:Dl|Ql) +(.*)$", text, re.M)]
    else:
        code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^    (.*)$", text, re.M)
    for line in code:
        for m in re.finditer(r"\b(gpuprobe|gputune|gpubench)((?: +[^\s`|&;()<>\"]+)*)", line):
            words = m[2].split()
            yield m[1], words[:words.index("--")] if "--" in words else words


def taken(page, text, options):
    """Checks that each command takes the options that a page shows for it."""
    bad, n = [], 0
    for tool, words in shown_commands(page, text):
        command = next((w for w in words if w in options[tool]), "check" if tool == "gpuprobe" else "")
        for w in words:
            m = re.match(r"--[a-z][a-z0-9-]*|-[a-zA-Z]", w)
            n += bool(m)
            if m and m[0] not in options[tool][""] | options[tool].get(command, set()):
                bad.append(f"{tool} {' '.join(words)[:80]}: {command} takes no {m[0]}")
    tap.rule(f"{page} shows only options that exist ({n})", bad)


def main():
    known = {t: commands_of(t) for t in tap.TOOLS}
    options = {t: options_of(t) for t in tap.TOOLS}
    pages = ["README.md", *sorted(glob.glob("*/README.md", root_dir=tap.TOP)), *sorted(glob.glob("docs/*.md", root_dir=tap.TOP))]
    generated = sorted(glob.glob(os.path.join(tap.BUILD, "man/*.7")))
    for page in [*pages, "CONTRIBUTING.md", *sorted(glob.glob("man/*.[1-8]", root_dir=tap.TOP)), *generated]:
        with open(os.path.join(tap.TOP, page), encoding="utf-8") as f:
            taken(os.path.relpath(page, tap.BUILD) if page in generated else page, f.read(), options)
    for page in pages:
        with open(os.path.join(tap.TOP, page), encoding="utf-8") as f:
            text = f.read()
        named(page, text, known)
        for command, shown in excerpts(text):
            if re.search(r"--root \S+\.host", command) and command.split()[0] in tap.TOOLS and not re.search(r"[|<>;&]", command):
                compare(page, command, shown)


main()
tap.plan()
