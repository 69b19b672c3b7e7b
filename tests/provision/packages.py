#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the Debian packages of this tree in each Debian release. Two builds under different conditions must have the same bytes,
and lintian must find nothing. The packages are installed, tested with debian/tests, upgraded and purged, and nothing may be left.
Roots as for check.py. PACKAGES_TESTS=1: the first build runs the whole test suite too."""
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import check  # noqa: E402
from check import judge  # noqa: E402

INSTALL = ("apt-get", "-qq", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "install")
# Two builders: one builds from this tree, the other from the source package of the first, at another place, time and setting.
ONE = {"at": "/build", "umask": "022", "TZ": "UTC", "HOME": "/", "LANG": "C.UTF-8"}
TWO = {"at": "/srv/somebody/s-own/place", "umask": "077", "TZ": "Pacific/Kiritimati", "HOME": "/nonexistent", "LANG": "C"}
# Directories that are not checked after a purge: the kernel's, and logs, caches and lists of other programs.
OTHERS = "/proc /sys /dev /run /tmp /var/log /var/cache /var/lib/apt /var/lib/dpkg".split()
TREE = ("find", "/", "-xdev", "(", "-name", "__pycache__", *(w for p in OTHERS for w in ("-o", "-path", p)), ")", "-prune", "-o",
        "-printf", "%y %m %U:%G %p\\n")
PACKAGES = ("gpubench", "gputune", "gpuprobe", "libgputune-runtime0", "libgputune-runtime-dev")


class Place(check.Root):
    def take_tool(self):
        """The packages contain gputune, so nothing is copied."""


def plain(release, scratch, name):
    root = Place(release, os.path.join(scratch, name))
    root.sources("main")
    root.must("apt-get", "-qq", "update")
    root.must("apt-get", "-qq", "-y", "upgrade")
    return root


def copy_tree(root, at):
    listed = subprocess.run(["git", "-c", f"safe.directory={TOP}", "-C", TOP, "ls-files", "-co", "--exclude-standard", "-z"],
                            stdout=subprocess.PIPE, check=False).stdout
    if not listed:  # an unpacked tarball
        listed = b"."
    os.makedirs(f"{root.mnt}{at}/gputune")
    tar = subprocess.run(["tar", "c", "-C", TOP, "--null", "-T", "-"], input=listed, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "x", "-C", f"{root.mnt}{at}/gputune"], input=tar.stdout, check=True)


def build(root, how, tests):
    if how is ONE:
        copy_tree(root, how["at"])
    else:
        root.must("mkdir", "-p", how["at"])
        root.must("sh", "-c", f"dpkg-source -x {ONE['at']}/*.dsc {how['at']}/gputune")
    options = f"parallel={os.cpu_count()}" + ("" if tests else " nocheck")
    script = f"umask {how['umask']}; cd {how['at']}/gputune && dpkg-buildpackage -us -uc >../log 2>&1 </dev/null"
    done = subprocess.run(["chroot", root.mnt, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"DEB_BUILD_OPTIONS={options}",
                           f"TZ={how['TZ']}", f"HOME={how['HOME']}", f"LANG={how['LANG']}", "sh", "-c", script], check=False)
    with open(f"{root.mnt}{how['at']}/log", encoding="utf-8", errors="replace") as f:
        return done.returncode, f.read()


def products(root, how):
    at = root.mnt + how["at"]
    return {n: f"{at}/{n}" for n in sorted(os.listdir(at)) if n.endswith((".deb", ".dsc", ".tar.xz"))}


def unlike(scratch, *pair):
    """Returns the files in the packages that differ."""
    where = os.path.join(scratch, "unlike")
    shutil.rmtree(where, ignore_errors=True)
    for side, path in zip("ab", pair):
        at = os.path.join(where, side)
        os.makedirs(at)
        how = {".deb": ["dpkg-deb", "-R", path, at], ".xz": ["tar", "-C", at, "-xf", path]}
        subprocess.run(how.get(os.path.splitext(path)[1], ["cp", path, at]), check=True)
    done = subprocess.run(["diff", "-rq", f"{where}/a", f"{where}/b"], stdout=subprocess.PIPE, text=True, check=False)
    return [line.replace(where, "") for line in done.stdout.splitlines()[:20]] or ["only names, times or modes"]


def check_builds(root, scratch):
    root.must(*INSTALL, "build-essential", "fakeroot", "lintian")
    copy_tree(root, "/dependencies")
    root.must("sh", "-c", "cd /dependencies/gputune && apt-get -qq -y --no-install-recommends build-dep ./")
    tests = os.environ.get("PACKAGES_TESTS") == "1"
    first = "the packages are built" + (" and pass the tests" if tests else "")
    for how, name in ((ONE, first), (TWO, "a second builder builds them in another place")):
        code, log = build(root, how, tests and how is ONE)
        judge(f"{root.release}: {name}", [f"exit {code}", *log.splitlines()[-30:]] if code else [])
        warnings = re.findall(r"^.*(?:warning|Warnung): .*$", log, re.M | re.I)
        judge(f"{root.release}: the build has no warning", sorted(set(warnings))[:20])
        if tests and how is ONE:
            print("#   " + " ".join(re.findall(r"^\d+ passed, .*$", log, re.M)[-1:]))
    one, two = products(root, ONE), products(root, TWO)
    both = sorted(set(one) & set(two))
    judge(f"{root.release}: both builds have the same {len(one)} files",
          sorted(set(one) ^ set(two)) or ([] if len(both) > 4 else both))
    for name in both:
        same = filecmp.cmp(one[name], two[name], shallow=False)
        judge(f"{root.release}: {name} is identical in both builds", [] if same else unlike(scratch, one[name], two[name]))
    changes = [n for n in os.listdir(root.mnt + ONE["at"]) if n.endswith(".changes")][0]
    done = root.run("lintian", "--allow-root", "-L", ">=warning", f"{ONE['at']}/{changes}")
    judge(f"{root.release}: {root.must('lintian', '--version').strip()} finds nothing wrong",
          (done.stdout + done.stderr).splitlines() + ([f"exit {done.returncode}"] if done.returncode else []))
    return [p for n, p in one.items() if n.endswith(".deb") and "dbgsym" not in n]


def next_version(scratch, deb):
    at = os.path.join(scratch, "next")
    shutil.rmtree(at, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-R", deb, at], check=True)
    with open(f"{at}/DEBIAN/control", encoding="utf-8") as f:
        text = re.sub(r"^(Version: .*|Depends:.*libgputune-runtime0 \(= [^)]*)", r"\1+next", f.read(), flags=re.M)
    with open(f"{at}/DEBIAN/control", "w", encoding="utf-8") as f:
        f.write(text)
    out = os.path.join(scratch, os.path.basename(deb).replace("_", "+next_", 1))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", at, out], check=True, stdout=subprocess.DEVNULL)
    return out


def take(root, debs):
    for deb in debs:
        shutil.copy(deb, root.mnt + "/tmp")
    return [f"/tmp/{os.path.basename(d)}" for d in debs]


def status(done):
    return [f"exit {done.returncode}", *said(done.stdout + done.stderr)] if done.returncode else []


def said(text):
    """Returns the failed points of TAP output, else the end of the output."""
    bad = re.findall(r"^not ok.*(?:\n#.*)*", text, re.M)
    return "\n".join(bad).splitlines()[:60] or text.splitlines()[-30:]


def needed_by_tests():
    """Returns the dependencies in debian/tests/control other than these packages."""
    with open(f"{TOP}/debian/tests/control", encoding="utf-8") as f:
        lists = re.findall(r"^Depends: (.*)$", f.read(), re.M)
    return sorted({word.strip() for each in lists for word in each.split(",")} - {"@"})


def autopkgtest(root, name):
    """Runs a test like autopkgtest: in the source tree, with a temporary directory."""
    root.must("rm", "-rf", "/tmp/autopkgtest")
    root.must("mkdir", "-p", "/tmp/autopkgtest")
    root.put(f"/tmp/run-{name}", f"cd /tmp/src/gputune && AUTOPKGTEST_TMP=/tmp/autopkgtest sh debian/tests/{name} 2>&1\n")
    done = root.run("sh", f"/tmp/run-{name}")
    judge(f"{root.release}: debian/tests/{name}", status(done))


def check_installed(root, scratch, debs):
    for deb in debs:
        depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        depends = ", ".join(d for d in depends.split(", ") if not d.startswith(PACKAGES))
        root.must("apt-get", "-qq", "-y", "--no-install-recommends", "satisfy", depends)
    root.must(*INSTALL, *needed_by_tests())
    root.must("ldconfig")
    files, newer = take(root, debs), take(root, [next_version(scratch, d) for d in debs])
    before = root.must(*TREE)
    done = root.run("dpkg", "-i", *files)
    judge(f"{root.release}: the packages install", status(done))
    copy_tree(root, "/tmp/src")
    for name in ("smoke", "transcripts", "library", "provision"):
        autopkgtest(root, name)
    job = "/etc/gputune/jobs/x.conf"
    root.must("mkdir", "-p", os.path.dirname(job))
    root.put(job, "COMMAND=/bin/true\n")
    done = root.run("dpkg", "-i", *newer)
    there = root.must("dpkg-query", "-W", "-f", "${Version} ${db:Status-Status}\n", *PACKAGES)
    kept = there.count("+next installed") == len(PACKAGES) and os.path.exists(root.mnt + job)
    judge(f"{root.release}: an upgrade keeps the administrator's files", status(done) + ([] if kept else [there]))
    done = root.run("dpkg", "--remove", *PACKAGES)
    kept = os.path.exists(root.mnt + job)
    judge(f"{root.release}: removing the packages keeps the administrator's files",
          status(done) + ([] if kept else [f"{job} is gone"]))
    done = root.run("dpkg", "--purge", *PACKAGES)
    root.must("ldconfig")
    left = check.differs({"files": before}, {"files": root.must(*TREE)})
    judge(f"{root.release}: purging the packages leaves nothing", status(done) + left)


def main():
    if os.geteuid():
        check.skip_all("it needs root for a separate root directory")
    if not all(r in check.GIVEN for r in check.RELEASES) and not shutil.which("debootstrap"):
        check.skip_all("no debootstrap here")
    scratch = tempfile.mkdtemp(prefix="gputune-packages-")
    try:
        for release in check.RELEASES:
            roots = []
            try:
                roots.append(plain(release, scratch, "build"))
                debs = check_builds(roots[0], scratch)
                roots.append(plain(release, scratch, "user"))
                check_installed(roots[1], scratch, debs)
            except (RuntimeError, OSError, ValueError, LookupError, subprocess.SubprocessError) as why:
                judge(f"{release}: the suite completes", [repr(why)[:2000]])
            finally:
                for root in roots:
                    root.close()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{check.number}")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
