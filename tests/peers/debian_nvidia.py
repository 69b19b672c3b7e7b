#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gpuprobe on Debian's NVIDIA user space (non-free), unpacked into a root directory: real libraries with real version
strings, and a real NVML that reports no loaded driver. Downloads with a private apt configuration that changes nothing on this
host. It needs the network and is therefore no part of `make check`: make check-nvidia, or DEBS=DIRECTORY with SUITE/*.deb."""
import glob
import json
import os
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "lint")]
import mirror  # noqa: E402
import tap  # noqa: E402

TOOL = os.path.abspath(os.path.join(tap.BUILD, "gpuprobe"))
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ["libnvidia-ml1", "nvidia-smi", "libcuda1"]
VERSIONS = {"bookworm": ("535.", "12.2"), "trixie": ("550.", "12.4")}


def apt(state, suite):
    for d in ("lists/partial", "cache/archives/partial", "etc"):
        os.makedirs(os.path.join(state, d))
    with open(os.path.join(state, "status"), "w", encoding="ascii"):
        pass
    with open(os.path.join(state, "etc/sources.list"), "w", encoding="ascii") as f:
        f.write(f"deb [signed-by={KEYS}] {mirror.archive()} {suite} main contrib non-free non-free-firmware\n")
    return ["apt-get", "-qq", "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}/cache", "-o",
            f"Dir::Etc::SourceList={state}/etc/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o",
            f"Dir::State::status={state}/status", "-o", "Acquire::Languages=none"]


def debs(suite, scratch):
    given = os.environ.get("DEBS")
    if given:
        return [p for p in glob.glob(os.path.join(given, suite, "*.deb")) if os.path.basename(p).split("_")[0] in PACKAGES]
    cmd, place = apt(os.path.join(scratch, "apt-" + suite), suite), os.path.join(scratch, "debs-" + suite)
    os.makedirs(place)
    for more in (["update"], ["download", *PACKAGES]):
        if subprocess.run(cmd + more, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return []
    return glob.glob(os.path.join(place, "*.deb"))


def make_root(root, packages):
    for p in packages:
        subprocess.run(["dpkg-deb", "-x", p, root], check=True)
    lib = os.path.join(root, "usr/lib/x86_64-linux-gnu")
    # Debian's alternatives make these links when the packages are configured.
    for real in glob.glob(os.path.join(lib, "nvidia/current/*.so.1")):
        link = os.path.join(lib, os.path.basename(real))
        if not os.path.lexists(link):
            os.symlink("nvidia/current/" + os.path.basename(real), link)
    for path, text in {"proc/sys/kernel/osrelease": "6.1.0-41-amd64\n", "etc/os-release": "ID=debian\nPRETTY_NAME=Debian\n",
                       "etc/ld.so.conf": "/usr/lib/x86_64-linux-gnu\n", "proc/sys/kernel/version": "#1 SMP\n"}.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="ascii") as f:
            f.write(text)
    subprocess.run(["/sbin/ldconfig", "-r", root], stderr=subprocess.DEVNULL, check=False)


def report(*args, env=None):
    done = subprocess.run([TOOL, "--json", *args], env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)


def suite(name, scratch):
    branch, _ = VERSIONS[name]
    found = debs(name, scratch)
    if len(found) < len(PACKAGES):
        tap.skip(f"{name}: the real libraries are read", "Debian's non-free packages cannot be downloaded")
        return
    root = os.path.join(scratch, name)
    make_root(root, found)
    libs = {l["soname"]: l for l in report("--root", root)["host"]["nvidia"]["libraries"]}
    bad = [f"{so}: {libs.get(so)}" for so in ("libcuda.so.1", "libnvidia-ml.so.1")
           if not str(libs.get(so, {}).get("version")).startswith(branch) or libs[so]["rule"] != "ld.so.cache"]
    tap.rule(f"{name}: libcuda and libnvidia-ml are found by the loader's cache, with their versions", bad)
    done = subprocess.run([TOOL, "loads", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "--json", "--root", root],
                          stdout=subprocess.PIPE, text=True, check=False)
    objects = json.loads(done.stdout)["runs"][0]["objects"]
    tap.rule(f"{name}: the needs of the real libcuda are read", [] if any(o["name"] == "libc.so.6" for o in objects) else [str(objects)])
    if os.path.exists("/sys/module/nvidia"):
        tap.skip(f"{name}: the real NVML says that no driver is loaded", "a driver is loaded here")
        return
    place = os.path.dirname(os.path.realpath(os.path.join(root, "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")))
    nv = report(env={"LD_LIBRARY_PATH": place})["host"]["nvidia"]
    tap.rule(f"{name}: the real NVML says that no driver is loaded", [] if nv["nvml"] == "error" and nv["nvml_text"] == "Driver Not Loaded"
         else [f"{nv['nvml']}: {nv['nvml_text']}"])


with tempfile.TemporaryDirectory() as top:
    for each in VERSIONS:
        suite(each, top)
tap.plan()
