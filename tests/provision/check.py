#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gputune provision in a real Debian: plan, apply and revert with the real apt and dpkg, in a separate root directory.

A root is made by debootstrap or taken from PROVISION_ROOTS ("bookworm=DIR trixie=DIR", not changed). All changes go into an
overlay that is deleted. README.md in this directory has the details. Prints one TAP line per promise."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

RELEASES = os.environ.get("RELEASES", "bookworm trixie").split()
GIVEN = dict(x.split("=", 1) for x in os.environ.get("PROVISION_ROOTS", "").split())
DRIVER = os.environ.get("PROVISION_DRIVER") == "1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import mirror  # noqa: E402
LIGHT = ["--with", "jemalloc"]
number = failures = 0


def judge(name, offences):
    global number, failures
    number += 1
    print(f"{'not ok' if offences else 'ok'} {number} - {name}", flush=True)
    for line in offences:
        print(f"#   {line}")
    failures += bool(offences)


def skip_all(reason):
    print(f"ok 1 - gputune provision in a real Debian # SKIP {reason}\n1..1")
    sys.exit(0)


class Root:
    """An overlay over a pristine Debian, with the built gputune and its libraries in /opt."""

    def __init__(self, release, scratch):
        self.release, self.dir = release, os.path.join(scratch, release)
        self.mounts = []
        base = GIVEN.get(release) or self.bootstrap(scratch)
        for d in ("up", "work", "mnt"):
            os.makedirs(os.path.join(self.dir, d))
        self.mnt = os.path.join(self.dir, "mnt")
        self.mount("-t", "overlay", "overlay", "-o",
                   f"lowerdir={base},upperdir={self.dir}/up,workdir={self.dir}/work", self.mnt)
        self.mount("-t", "proc", "proc", f"{self.mnt}/proc")
        self.mount("-t", "sysfs", "-o", "ro", "sys", f"{self.mnt}/sys")
        self.mount("--rbind", "--make-rslave", "/dev", f"{self.mnt}/dev")
        shutil.copy("/etc/resolv.conf", f"{self.mnt}/etc/resolv.conf")
        self.put("/etc/hosts", "127.0.0.1 localhost\n")  # netbase makes this file if it is missing.
        self.put("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
        self.take_tool()

    def bootstrap(self, scratch):
        base = os.path.join(scratch, f"{self.release}-base")
        subprocess.run(["debootstrap", "--variant=minbase", self.release, base, mirror.archive()], check=True,
                       stdout=subprocess.DEVNULL)
        return base

    def mount(self, *args):
        subprocess.run(["mount", *args], check=True)
        self.mounts.append(args[-1])

    def close(self):
        for m in reversed(self.mounts):
            subprocess.run(["umount", "-l", m], check=False)

    def take_tool(self):
        """Copies gputune with its libraries and loader, because it is linked to this host's libraries."""
        opt = f"{self.mnt}/opt/gputune"
        os.makedirs(opt)
        shutil.copy("gputune", opt)
        ldd = subprocess.run(["ldd", "gputune"], check=True, stdout=subprocess.PIPE, text=True).stdout
        loader = None
        for path in re.findall(r"(/\S+)", ldd):
            shutil.copy(path, opt)
            loader = os.path.basename(path) if "ld-linux" in path else loader
        self.put("/usr/bin/gputune", f"#!/bin/sh\nexec /opt/gputune/{loader} --library-path /opt/gputune /opt/gputune/gputune \"$@\"\n",
                 0o755)

    def put(self, path, text, mode=0o644):
        with open(self.mnt + path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.mnt + path, mode)

    def popen(self, *args, **env):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
               "COLUMNS": "100", **env}
        return subprocess.Popen(["chroot", self.mnt, *args], env=env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *args, **env):
        p = self.popen(*args, **env)
        out, err = p.communicate(timeout=1200)
        return subprocess.CompletedProcess(args, p.returncode, out, err)

    def must(self, *args):
        done = self.run(*args)
        if done.returncode:
            raise RuntimeError(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def sources(self, components, suites=("", "-security")):
        lines = []
        for s in suites:
            uri = mirror.archive() + (s if s == "-security" else "")
            lines.append(f"deb {uri} {self.release}{s} {components}\n")
        self.put("/etc/apt/sources.list", "".join(lines))

    def state(self):
        """Returns the state that revert promises to restore."""
        words = (("dpkg", "--get-selections"), ("apt-mark", "showmanual"), ("apt-mark", "showhold"),
                 ("update-alternatives", "--get-selections"))
        state = {" ".join(w): self.must(*w) for w in words}
        # Libraries in the loader's cache count as changes. The caches of apt, dpkg and depmod do not.
        state["files"] = self.must("find", "/etc", "/usr", "/opt", "-xdev", "(", "-name", "__pycache__", "-o", "-name", "*.pyc",
                                   "-o", "-name", "*-", "-o", "-name", "ld.so.cache", "-o", "-path", "/usr/lib/modules/*/modules.*",
                                   ")", "-prune", "-o", "-print")
        return {k: "\n".join(sorted(v.splitlines())) for k, v in state.items()}

    def plan(self, *args):
        done = self.run("gputune", "provision", "plan", "--json", *args)
        return done, json.loads(done.stdout or "{}")

    def apply(self, *args):
        return self.run("gputune", "provision", "apply", "--json", *args)

    def revert(self):
        return self.run("gputune", "provision", "revert", "--json")


def status(done, want):
    return [] if done.returncode == want else [f"exit {done.returncode}, not {want}", done.stderr.strip()[-600:]] + kept(done)


def kept(done):
    """Returns what revert left, with the reasons."""
    try:
        packages = json.loads(done.stdout)["packages"]
    except (ValueError, KeyError):
        return []
    return [f"{p['name']}: {p['result']}, {p['reason']}" for p in packages if p.get("reason")]


def differs(before, after):
    bad = []
    for what in before:
        a, b = set(before[what].splitlines()), set(after[what].splitlines())
        bad += [f"{what}: gone: {x}" for x in sorted(a - b)[:10]] + [f"{what}: new: {x}" for x in sorted(b - a)[:10]]
    return bad


def refusal(root, name, want, *args):
    done, doc = root.plan(*args)
    ids = [r["id"] for r in doc.get("refusals", [])]
    judge(f"{root.release}: refused: {name}", status(done, 3) + ([] if want in ids else [f"refused for {ids}, not {want}"]))
    return doc


def check_plan(root):
    """The packages and the download size are those of apt."""
    done, doc = root.plan(*LIGHT)
    judge(f"{root.release}: apt simulates the plan and does not refuse it",
          status(done, 0) + ([] if doc.get("simulated") else ["not simulated"]))
    sim = root.must("apt-get", "-s", "install", "--no-install-recommends", *doc["requested"])
    want = sorted(re.findall(r"^Inst (\S+)", sim, re.M))
    got = [p["name"] for p in doc["packages"]]
    judge(f"{root.release}: the plan's packages are those of apt-get -s", [] if want == got else [f"{set(want) ^ set(got)}"])
    uris = root.must("apt-get", "--print-uris", "-qq", "-y", "install", "--no-install-recommends", *doc["requested"])
    total = sum(int(n) for n in re.findall(r"^'[^']+' \S+ (\d+)", uris, re.M))
    judge(f"{root.release}: the plan's download size is that of apt-get -s",
          [] if total == doc["download_bytes"] else [f"{doc['download_bytes']}, apt says {total}"])


def check_identity(root):
    before = root.state()
    doc = root.plan(*LIGHT)[1]
    root.put("/tmp/plan.json", json.dumps(doc))
    done = root.apply("/tmp/plan.json")
    judge(f"{root.release}: apply installs the plan", status(done, 0))
    there = root.must("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n")
    judge(f"{root.release}: every package is installed in its version",
          [f"{p['name']} {p['version']}" for p in doc["packages"] if f"{p['name']} {p['version']} installed" not in there])
    done, again = root.plan(*LIGHT)
    judge(f"{root.release}: a second plan finds nothing missing", status(done, 0) + again["requested"])
    done = root.apply(*LIGHT)
    judge(f"{root.release}: applying again does nothing",
          status(done, 0) + ([] if json.loads(done.stdout)["result"] == "nothing" else [done.stdout]))
    done = root.run("gputune", "provision", "revert", "--dry-run", "--json")
    dry = json.loads(done.stdout)
    judge(f"{root.release}: revert --dry-run names the packages and removes none",
          status(done, 0) + ([] if all(p["result"] == "would go" for p in dry["packages"]) else [done.stdout[:400]]) +
          [f"{p['name']} is gone" for p in dry["packages"] if f"{p['name']} {p['old']} installed" not in there])
    done = root.revert()
    judge(f"{root.release}: revert succeeds", status(done, 0))
    judge(f"{root.release}: packages, marks, holds, alternatives and files are those from before", differs(before, root.state()))
    done = root.revert()
    judge(f"{root.release}: a second revert has nothing to do",
          status(done, 0) + ([] if json.loads(done.stdout)["result"] == "nothing" else [done.stdout]))


def reasons(done):
    return {p["name"]: p["reason"] for p in json.loads(done.stdout or '{"packages":[]}')["packages"] if p["result"] == "kept"}


def check_keep(root):
    """revert keeps packages that other software uses, prints the reason, and removes them when this use has ended."""
    before = root.state()
    judge(f"{root.release}: a second apply succeeds", status(root.apply(*LIGHT), 0))
    root.must("apt-get", "-qq", "-y", "install", "--no-install-recommends", "libfftw3-single3")  # depends on libgomp1
    root.must("apt-mark", "manual", "libnuma1")
    root.must("apt-mark", "hold", "numactl")
    lib = root.must("sh", "-c", "ls /usr/lib/*/libjemalloc.so.2").strip()
    user = root.popen("sleep", "600", LD_PRELOAD=lib)
    time.sleep(1)
    done = root.revert()
    kept = reasons(done)
    want = {"libgomp1": "depends on it", "libnuma1": "wanted", "numactl": "hold", "libjemalloc2": "process"}
    judge(f"{root.release}: revert keeps packages and gives the reason: depended upon, marked, held, in use", status(done, 4) +
          [f"{k}: {kept.get(k)}" for k, v in want.items() if v not in (kept.get(k) or "")])
    gone = root.run("dpkg-query", "-W", "libopenblas0-openmp")
    judge(f"{root.release}: revert removes the unused packages", [] if gone.returncode else [gone.stdout])
    user.kill()
    user.wait()
    root.must("apt-get", "-qq", "-y", "purge", "libfftw3-single3")
    root.must("apt-mark", "unhold", "numactl")
    root.must("apt-mark", "auto", "libnuma1")
    done = root.revert()
    judge(f"{root.release}: revert removes the others when their use has ended", status(done, 0) + differs(before, root.state()))


def check_moved(root):
    done, doc = root.plan(*LIGHT)
    root.put("/tmp/plan.json", json.dumps(doc))
    before = root.state()
    root.must("apt-get", "-qq", "-y", "install", "--no-install-recommends", "libjemalloc2")
    done = root.apply("/tmp/plan.json")
    judge(f"{root.release}: a plan is refused if packages were installed since", status(done, 3))
    root.must("apt-get", "-qq", "-y", "purge", "libjemalloc2")
    doc["basis"]["host"] = "0" * 16
    root.put("/tmp/plan.json", json.dumps(doc))
    judge(f"{root.release}: a plan of another host is refused", status(root.apply("/tmp/plan.json"), 3))
    done, doc = root.plan(*LIGHT)
    doc["requested"].append("telnet")
    root.put("/tmp/plan.json", json.dumps(doc))
    judge(f"{root.release}: a changed plan is refused", status(root.apply("/tmp/plan.json"), 3))
    os.chmod(root.mnt + "/tmp/plan.json", 0o666)
    judge(f"{root.release}: a plan that others can write is refused", status(root.apply("/tmp/plan.json"), 3))
    judge(f"{root.release}: the refusals have changed nothing", differs(before, root.state()))


def check_failures(root):
    before = root.state()
    root.must("apt-get", "clean")
    root.put("/etc/apt/apt.conf.d/99test", 'Acquire::http::Proxy "http://127.0.0.1:9";\nAcquire::Retries "0";\n')
    done = root.apply(*LIGHT)
    judge(f"{root.release}: without a network nothing is changed",
          status(done, 3) + ([] if "cannot be downloaded" in done.stderr else [done.stderr]))
    root.put("/etc/apt/apt.conf.d/99test", "")
    # A package whose configuration fails after half of the others are configured.
    root.put("/opt/fail-once", "#!/bin/sh\ntest -e /opt/failed && exit 0\ntouch /opt/failed\nexit 1\n", 0o755)
    root.put("/etc/apt/apt.conf.d/99test", 'DPkg::Post-Invoke { "/opt/fail-once"; };\n')
    done = root.apply(*LIGHT)
    judge(f"{root.release}: a failure during apply is rolled back", status(done, 1))
    for path in ("/etc/apt/apt.conf.d/99test", "/opt/fail-once", "/opt/failed"):
        os.unlink(root.mnt + path)
    judge(f"{root.release}: after the rollback the host is as before", differs(before, root.state()))


def check_interrupted(root):
    before = root.state()
    for when in (0.1, 0.5, 1):
        p = root.popen("gputune", "provision", "apply", "-q", *LIGHT)
        record = root.mnt + "/var/lib/gputune/provision"
        for _ in range(2400):
            if os.path.exists(record) or p.poll() is not None:
                break
            time.sleep(.05)
        time.sleep(when)
        pid = subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE, text=True, check=False).stdout.split()
        for victim in [str(p.pid), *[x for x in pid if "gputune" in open(f"/proc/{x}/cmdline").read()]]:
            subprocess.run(["kill", "-9", victim], check=False, stderr=subprocess.DEVNULL)
        p.wait()
        # apt continues without gputune. Until it ends, no half-installed set may count as complete.
        for _ in range(1200):
            done = root.apply(*LIGHT)
            if done.returncode != 3 or "at work" not in done.stderr:
                break
            time.sleep(.5)
        open_ = done.returncode == 6
        done = root.revert()
        judge(f"{root.release}: killed {when} s into apply, {'detected and ' if open_ else ''}rolled back",
              status(done, 0) + differs(before, root.state()))


def check_refusals(root):
    lists = "/var/lib/apt/lists"
    root.must("mv", lists, lists + ".away")
    refusal(root, "no lists", "no-lists")
    root.must("rm", "-rf", lists)
    root.must("mv", lists + ".away", lists)
    path = root.mnt + "/var/lib/dpkg/status"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("install ok installed", "install ok half-configured", 1))
    refusal(root, "dpkg half done", "dpkg-broken")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    root.must("apt-get", "-qq", "-y", "install", "--no-install-recommends", "libjemalloc2")
    root.put("/etc/apt/preferences.d/test", "Package: libgfortran5\nPin: release *\nPin-Priority: -1\n")
    refusal(root, "apt cannot install this", "apt")
    os.unlink(root.mnt + "/etc/apt/preferences.d/test")
    root.must("apt-get", "-qq", "-y", "purge", "libjemalloc2")
    root.must("mkdir", "-p", "/var/lib/gputune")
    with subprocess.Popen(["flock", root.mnt + "/var/lib/gputune/lock", "sleep", "30"]) as p:
        time.sleep(.5)
        done = root.apply(*LIGHT)
        judge(f"{root.release}: while another gputune runs", status(done, 3))
        p.terminate()
    subprocess.run(["pkill", "-P", str(p.pid)], check=False)
    done = root.run("chroot", "--userspec=nobody", "/", "gputune", "provision", "apply")
    judge(f"{root.release}: refused: without root", status(done, 3))


def check_driver(root):
    """Debian's driver for a GPU that this host does not have, as for an image."""
    doc = refusal(root, "components that the sources lack", "components", "--gpu", "2330")
    line = re.search(r"line 1:\n +(deb .*)$", doc["refusals"][0]["do"], re.M)
    judge(f"{root.release}: the message has the missing sources line", [] if line else [doc["refusals"][0]["do"]])
    root.sources("main contrib non-free non-free-firmware", ("", "-security", "-backports"))
    if line:
        with open(root.mnt + "/etc/apt/sources.list", encoding="utf-8") as f:
            judge(f"{root.release}: apt accepts this line", [] if line.group(1) in f.read() else [line.group(1)])
    root.must("apt-get", "-qq", "update")
    done, doc = root.plan("--gpu", "2330")
    names = {p["name"]: p for p in doc["packages"]}
    judge(f"{root.release}: apt simulates the driver's packages", status(done, 0) +
          [f"no {n}" for n in ("nvidia-kernel-dkms", "libcuda1", "nvidia-smi", "dkms", "linux-headers-amd64") if n not in names])
    judge(f"{root.release}: the plan has no driver from backports", [n for n, p in names.items() if "~bpo" in p["version"]])
    same = {names[n]["version"] for n in ("nvidia-kernel-dkms", "libcuda1", "libnvidia-ml1", "nvidia-smi") if n in names}
    judge(f"{root.release}: module and libraries have the same version", [] if len(same) == 1 else [str(same)])
    root.put("/etc/apt/preferences.d/backports", f"Package: *nvidia* libcuda1\nPin: release n={root.release}-backports\n"
             "Pin-Priority: 900\n")
    done, doc = root.plan("--gpu", "2330")
    older = any(p["name"] == "libcuda1" and "~bpo" in p["version"] for p in doc["packages"])
    ids = [r["id"] for r in doc["refusals"]]
    stable_newer = root.release == "bookworm"   # The backports are older than the security updates.
    judge(f"{root.release}: a pin to backports older than stable is refused",
          [] if ("old-backports" in ids or "apt" in ids) == stable_newer or not older else [str(ids)])
    os.unlink(root.mnt + "/etc/apt/preferences.d/backports")
    if not DRIVER:
        return
    # A host has systemd. A purge of it would leave files that its installation made.
    root.must("apt-get", "-qq", "-y", "install", "--no-install-recommends", "systemd", "udev")
    root.must("mkdir", "-p", f"/usr/lib/modules/{os.uname().release}")  # of the running kernel, for depmod
    before = root.state()
    done = root.apply("--gpu", "2330")
    judge(f"{root.release}: apply installs the driver", status(done, 5))
    held = root.must("apt-mark", "showhold").split()
    judge(f"{root.release}: nvidia-kernel-dkms and libcuda1 are on hold", [n for n in ("nvidia-kernel-dkms", "libcuda1") if n not in held])
    done = root.revert()
    after = root.state()
    judge(f"{root.release}: revert removes the driver", status(done, 0) + differs(before, after))


PARTS = {"identity": check_identity, "moved": check_moved, "keep": check_keep, "failures": check_failures,
         "interrupted": check_interrupted, "refusals": check_refusals, "driver": check_driver}


def check(release, scratch):
    root = None
    try:
        root = Root(release, scratch)
        root.sources("main")
        root.must("apt-get", "-qq", "update")
        # The documentation names packages that stay upgraded after revert. They are not checked here.
        root.must("apt-get", "-qq", "-y", "upgrade")
        root.must("apt-get", "-qq", "-y", "install", "--no-install-recommends", "psmisc")
        check_plan(root)
        for part in os.environ.get("PROVISION_PARTS", " ".join(PARTS)).split():
            PARTS[part](root)
    except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as why:
        judge(f"{release}: the suite completes", [repr(why)[:2000]])
    finally:
        if root:
            root.close()


def main():
    if os.geteuid():
        skip_all("it needs root for a separate root directory")
    if not all(r in GIVEN for r in RELEASES) and not shutil.which("debootstrap"):
        skip_all("no debootstrap here")
    scratch = tempfile.mkdtemp(prefix="gputune-provision-")
    try:
        for release in RELEASES:
            check(release, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
