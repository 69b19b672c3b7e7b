#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `gpuprobe can WHEEL` on real wheels with pip's parser of tags and requirements, and with cuobjdump for the compute
capabilities. `pip download` gets the wheels, or WHEELS=DIRECTORY has them. VENV=DIRECTORY adds an environment. Needs the network
and is therefore no part of `make check`: make check-wheels."""
import email.parser
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

TOOL = os.path.abspath(os.path.join(tap.BUILD, "gpuprobe"))
HOST = os.path.abspath(os.path.join(os.environ.get("FIXTURES", "tests/fixtures"), "venv-no-code-for-volta.host"))
HOST_PYTHON, HOST_GLIBC, HOST_DRIVER, HOST_ARCH = "3.11", (2, 36), "580.95.05", 70
NAMES = ["nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime", "nvidia-nccl-cu12", "nvidia-nvtx-cu12",
         "numpy", "bitsandbytes", "cupy-cuda12x", "jax-cuda12-plugin", "torchvision"]
CUOBJDUMP = shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump"
try:
    from pip._vendor.packaging import requirements, tags, version
except ImportError:
    from packaging import requirements, tags, version


def ask(path):
    done = subprocess.run([TOOL, "can", path, "--root", HOST, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    return json.loads(done.stdout)["answers"][0] if done.stdout else {"error": done.stderr, "reasons": []}


def reasons(answer, pattern):
    return [r for r in answer["reasons"] if re.search(pattern, r["what"])]


def host_tags():
    platforms = [f"manylinux_2_{n}_x86_64" for n in range(HOST_GLIBC[1], 4, -1)]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    return set(tags.cpython_tags((3, 11), ["cp311"], platforms)) | set(tags.compatible_tags((3, 11), "cp311", platforms))


def metadata(z):
    name = next(n for n in z.namelist() if n.endswith(".dist-info/METADATA"))
    wheel = z.read(name.replace("METADATA", "WHEEL")).decode()
    return email.parser.HeaderParser().parsestr(z.read(name).decode()), re.findall(r"^Tag: (\S+)", wheel, re.M)


def check_tags(answer, told):
    fits = any(set(tags.parse_tag(t)) & host_tags() for t in told)
    ours = not [r for r in answer["reasons"] if r["source"] == "tag of the wheel" and r["holds"] != "yes"]
    return [] if fits == ours else [f"pip installs it: {fits}; gpuprobe: {ours}: {told}"]


def check_cuda(answer, meta):
    """Compares the pins of the runtime's wheel, and the verdict for the driver with NVIDIA's three version numbers."""
    pins = {r.name: str(r.specifier)[2:] for r in map(requirements.Requirement, meta.get_all("Requires-Dist") or [])
            if str(r.specifier).startswith("==")}
    told = next((v for n, v in pins.items() if n.startswith("nvidia-cuda-runtime") or n == "cuda-toolkit"), None)
    if meta["Name"].replace("_", "-").startswith("nvidia-cuda-runtime"):
        told = meta["Version"]
    said = reasons(answer, "made with CUDA")
    if not told:
        return []
    want = ".".join(told.split(".")[:2]).replace("*", "0")
    offences = [] if said and f"CUDA {want}:" in said[0]["what"] else [f"CUDA {want} is pinned; said: {said}"]
    least = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}[want.split(".")[0]]
    verdict = "yes" if version.parse(HOST_DRIVER) >= version.parse(least) else "no"
    drivers = reasons(answer, "needs driver")
    return offences + ([] if drivers and drivers[0]["holds"] == verdict else [f"driver: {drivers}"])


def find_cuobjdump(scratch):
    """Returns cuobjdump of the system or a toolkit, else of NVIDIA's wheel."""
    global CUOBJDUMP
    if os.path.exists(CUOBJDUMP):
        return
    place = os.path.join(scratch, "cuobjdump")
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", place, "nvidia-cuda-cuobjdump"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for path in glob.glob(os.path.join(place, "*.whl")):
        with zipfile.ZipFile(path) as z:
            for n in z.namelist():
                if n.endswith("bin/cuobjdump"):
                    CUOBJDUMP = z.extract(n, place)
                    os.chmod(CUOBJDUMP, 0o755)


def capabilities(path):
    """Returns the machine code and PTX images of a library according to cuobjdump."""
    found = {}
    for what, mark in (("--list-elf", ""), ("--list-ptx", "+PTX")):
        done = subprocess.run([CUOBJDUMP, what, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        for arch in re.findall(r"sm_(\d+)a?f?\.", done.stdout):
            found[arch + mark] = found.get(arch + mark, 0) + 1
    return found


def check_code(answer, z, scratch):
    libraries = [n for n in z.namelist() if re.search(r"\.so(\.|$)", n)]
    theirs = {}
    for n in libraries:
        for arch, count in capabilities(z.extract(n, scratch)).items():
            theirs[arch] = theirs.get(arch, 0) + count
    said = reasons(answer, "holds? code")
    if not theirs:
        return [f"cuobjdump finds no code; gpuprobe: {said}"] if said else []
    if not said:
        return [f"cuobjdump finds {theirs}; gpuprobe reports nothing"]
    list_said = re.search(r"capabilities (\S+);", said[0]["what"])
    strange = [a for a in (list_said.group(1).split(",") if list_said else []) if a not in theirs]
    most = max(theirs, key=theirs.get)
    missing = [] if not list_said or most in list_said.group(1).split(",") else [f"{most} is missing"]
    return [f"{a} is not in cuobjdump's list: {theirs}" for a in strange] + missing


def one(path, scratch):
    answer = ask(path)
    name = os.path.basename(path)
    if "error" in answer:
        tap.rule(f"{name} is read", [answer["error"]])
        return
    with zipfile.ZipFile(path) as z:
        meta, told = metadata(z)
        tap.rule(f"{name}: gpuprobe and pip agree about this host", check_tags(answer, told))
        tap.rule(f"{name}: the CUDA version is the pinned one", check_cuda(answer, meta))
        if os.path.exists(CUOBJDUMP):
            tap.rule(f"{name} holds code as cuobjdump lists it", check_code(answer, z, scratch))
        else:
            tap.skip(f"{name} holds code as cuobjdump lists it", "cuobjdump is not installed")


def environment(path):
    """Compares each exact pin on NVIDIA's wheels with pip's parser, and the rest with torch's own answer."""
    answer = ask(path)
    site = glob.glob(os.path.join(path, "lib/python3.*/site-packages"))[0]
    have, pins = {}, []
    for info in glob.glob(os.path.join(site, "*.dist-info/METADATA")):
        with open(info, encoding="utf-8") as f:
            meta = email.parser.HeaderParser().parse(f)
        have[meta["Name"].lower().replace("_", "-")] = meta["Version"]
        pins += [r for r in map(requirements.Requirement, meta.get_all("Requires-Dist") or [])
                 if re.match("nvidia-|cuda-", r.name) and not (r.marker and "extra" in str(r.marker))]
    broken = [str(r) for r in pins if str(r.specifier).startswith("==") and (not r.marker or r.marker.evaluate())
              and (r.name not in have or have[r.name] not in r.specifier)]
    said = [r for r in reasons(answer, "installed") if r["holds"] == "no" and r["source"] == "METADATA"]
    tap.rule(f"{path}: the pinned versions are installed", [] if bool(broken) == bool(said) else [f"pip: {broken}; said: {said}"])
    with open(os.path.join(site, "torch/version.py"), encoding="utf-8") as f:
        cuda = re.search(r"cuda[^=]*= '([\d.]+)'", f.read()).group(1)
    tap.rule(f"{path}: torch uses CUDA {cuda}", [] if reasons(answer, f"uses CUDA {cuda}") else [str(answer["reasons"])])
    with open(os.devnull, "wb") as null:
        code = "import torch; print(','.join(a[3:] for a in torch._C._cuda_getArchFlags().split()))"
        done = subprocess.run([os.path.join(path, "bin/python3"), "-c", code], stdout=subprocess.PIPE, stderr=null, text=True, check=False)
    flags = {a for a in done.stdout.strip().split(",") if a.isdigit()}
    listed = re.search(r"capabilities (\S+);", reasons(answer, "holds code")[0]["what"]).group(1).split(",")
    tap.rule(f"{path}: the code in torch is for the architectures that torch reports",
             [] if flags == set(listed) else [f"torch: {flags}; said: {listed}"])


def main():
    wheels = sorted(glob.glob(os.path.join(os.environ["WHEELS"], "*.whl"))) if os.environ.get("WHEELS") else []
    with tempfile.TemporaryDirectory() as scratch:
        find_cuobjdump(scratch)
        if not wheels:
            for name in NAMES:
                subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, name], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wheels = sorted(glob.glob(os.path.join(scratch, "*.whl")))
        if not wheels:
            tap.skip("real wheels", "pip cannot download any")
        for path in wheels:
            one(path, os.path.join(scratch, "unpacked"))
            shutil.rmtree(os.path.join(scratch, "unpacked"), ignore_errors=True)
        if os.environ.get("VENV"):
            environment(os.environ["VENV"])
    tap.plan()


main()
