#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gputune lint with sh (GRUB's files) and modprobe (modprobe.d) on generated sets of files. The kernel arguments that lint
reports as missing must be those that sh computes. An option reported as "overridden" must be one that modprobe overrides."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

SETS = int(os.environ.get("SETS", "80"))
WORDS = ["quiet", "iommu=pt", "a.b=1", "a.b=2", "idle=nomwait", "pci=noaer", "preempt=none", "x", "mitigations=auto"]
VARS = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"]


def put(root, path, text):
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    with open(root + path, "w", encoding="utf-8") as f:
        f.write(text)


def lint(root):
    done = subprocess.run(["./gputune", "lint", "--root", root, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["findings"]


def grub_line(rng):
    var = rng.choice(VARS)
    words = rng.sample(WORDS, rng.randint(0, 3))
    if rng.random() < 0.5:
        words.insert(rng.randint(0, len(words)), rng.choice(["$%s", "${%s}"]) % rng.choice([var, var, *VARS]))
    kind = rng.random()
    text = " ".join(words)
    if kind < 0.15 and "$" not in text:
        return f"{var}='{text}'\n"
    if kind < 0.25 and len(words) == 1:
        return f"{var}={text}\n"
    if kind < 0.35 and words:
        return f'export {var}="{words[0]}"{"".join(chr(92) + " " + w for w in words[1:] if "$" not in w)} # why\n'
    if kind < 0.45:
        return f'  {var}="{text.replace(" ", " " + chr(92) + chr(10))}"\n'
    if kind < 0.5:
        return f"# {var}=\"{text}\"\n"
    return f'{var}="{text}"\n'


def grub_set(rng, root):
    """Returns the kernel arguments that sh computes, or None if sh fails."""
    files = ["/etc/default/grub"] + [f"/etc/default/grub.d/{n}" for n in rng.sample(["10-a.cfg", "50-B.cfg", "50-a.cfg", "z.cfg", "no"], 3)]
    for path in files:
        put(root, path, "".join(grub_line(rng) for _ in range(rng.randint(0, 3))))
    put(root, "/proc/cmdline", "BOOT_IMAGE=/vmlinuz\n")
    script = '. "$1/etc/default/grub"; for x in "$1"/etc/default/grub.d/*.cfg; do [ -e "$x" ] && . "$x"; done; ' \
             'echo "$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"'
    done = subprocess.run(["sh", "-c", script, "sh", root], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env={"LC_ALL": "C", "PATH": os.environ["PATH"]})
    return set(done.stdout.split()) if done.returncode == 0 else None


def check_grub(rng, scratch):
    offences = []
    for n in range(SETS):
        root = os.path.join(scratch, f"grub{n}")
        want = grub_set(rng, root)
        said = re.findall(r"started without (.*): update-grub", "\n".join(f["what"] for f in lint(root)))
        got = set(" ".join(said).split())
        if want is None or want != got:
            offences.append(f"set {n}: sh has {sorted(want or [])}, lint {sorted(got)}")
        else:
            shutil.rmtree(root)
    tap.rule(f"lint and sh agree about the kernel's command line for {SETS} sets of files", offences)


def check_modprobe(rng, scratch):
    modprobe = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin")
    if not modprobe:
        print("# no modprobe here")
        return
    offences = []
    for n in range(SETS):
        root = os.path.join(scratch, f"mod{n}")
        lines = {}
        for name in rng.sample(["10-a.conf", "50-B.conf", "50-a.conf", "z.conf"], 3):
            text = "".join(f"options {rng.choice(['m-x', 'm_x', 'other'])} " + " ".join(
                f"{rng.choice('ab')}={rng.randint(1, 3)}" for _ in range(rng.randint(1, 2))) + rng.choice(["\n", "\n", " \\\n\n"])
                for _ in range(rng.randint(0, 3)))
            put(root, f"/etc/modprobe.d/{name}", text)
            lines[name] = text
        shown = subprocess.run([modprobe, "-C", f"{root}/etc/modprobe.d", "-c"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, check=True).stdout
        last = {}
        for module, rest in re.findall(r"^options (m_x|other) (.*)$", shown, re.M):
            for word in rest.split():
                last[(module, word.split("=")[0])] = word.split("=")[1]
        written = {(m.replace("-", "_"), *w.split("=")) for t in lines.values()
                   for m, rest in re.findall(r"^options (\S+) ([^\\\n]*)", t, re.M) for w in rest.split()}
        want = {f"{m} {k}={v}" for m, k, v in written if last.get((m, k)) != v}
        got = {f["what"].split(":")[0] for f in lint(root) if ": overridden" in f["what"]}
        if want != got:
            offences.append(f"set {n}: modprobe overrides {sorted(want)}, lint says {sorted(got)}")
    tap.rule(f"lint and modprobe agree about overridden options for {SETS} sets of files", offences)


def main():
    scratch = tempfile.mkdtemp(prefix="gputune-lint-")
    rng = random.Random(int(os.environ.get("SEED", "1")))
    try:
        check_grub(rng, scratch)
        check_modprobe(rng, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    tap.plan()


if __name__ == "__main__":
    main()
