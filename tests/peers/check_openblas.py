#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""configure refuses OpenBLAS with its own threads, and a program that loads it at run time warns.

Usage: check_openblas.py [--pthread DIRECTORY] [--openmp DIRECTORY]
The directories have libopenblas.so.0 of each flavour. The default is that of Debian's libopenblas0-pthread and -openmp. (A
package that is not installed can be unpacked anywhere with dpkg -x.) Prints TAP; missing flavours are skipped."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

SOURCE = os.environ.get("TOP_SRCDIR") or os.getcwd()
TOOL = os.path.join(os.environ.get("TOP_BUILDDIR") or os.getcwd(), "gpubench")


def configure(library):
    with tempfile.TemporaryDirectory() as where:
        return subprocess.run([os.path.join(SOURCE, "configure"), "--quiet", "--without-cuda", "--with-blas=openblas"], cwd=where,
                              env={**os.environ, "LD_LIBRARY_PATH": library}, capture_output=True, text=True, timeout=600)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for flavour in ("pthread", "openmp"):
        p.add_argument(f"--{flavour}", default="")
    given = {k: v or next(iter(glob.glob(f"/usr/lib/*/openblas-{k}")), "") for k, v in vars(p.parse_args()).items()}
    there = {k: v for k, v in given.items() if os.path.exists(os.path.join(v, "libopenblas.so.0"))}
    headers = subprocess.run(["pkg-config", "--exists", "openblas"], check=False).returncode == 0
    for flavour, says in (("pthread", "configure refuses the pthread flavour"), ("openmp", "configure takes OpenMP's")):
        if flavour not in there or not headers:
            tap.skip(says, f"no OpenBLAS of that flavour, or no headers (libopenblas-{flavour}-dev)")
            continue
        done = configure(there[flavour])
        refused = done.returncode != 0 and "pthread flavour" in done.stderr and "libopenblas-openmp-dev" in done.stderr
        tap.check(says, refused if flavour == "pthread" else done.returncode == 0, done.stderr)
    for flavour, want in (("pthread", True), ("openmp", False)):
        name = f"a run with the {flavour} flavour in its process does {'' if want else 'not '}warn"
        if flavour not in there:
            tap.skip(name, "no OpenBLAS of that flavour")
            continue
        done = subprocess.run([TOOL, "train", "mlp", "--batch", "8", "--steps", "1", "--json", "--quiet"], text=True, timeout=300,
                              env={**os.environ, "LD_PRELOAD": os.path.join(there[flavour], "libopenblas.so.0")},
                              capture_output=True, check=False)
        warned = done.returncode == 0 and any("pthread flavour" in w for w in json.loads(done.stdout)["warnings"])
        tap.check(name, done.returncode == 0 and warned == want, done.stderr)
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
