# SPDX-License-Identifier: Apache-2.0
"""Finds the Debian archive that this host installs from. Test suites that make a Debian root use it."""
import os
import subprocess
import sys


def archive():
    """Returns the archive's address from apt's sources, or MIRROR=ADDRESS. Ends the program if there is none."""
    if os.environ.get("MIRROR"):
        return os.environ["MIRROR"]
    try:
        known = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    except OSError:
        known = []
    for address in known:
        if address.rstrip("/").endswith("/debian"):
            return address.rstrip("/")
    return sys.exit("apt's sources have no Debian archive: set MIRROR=ADDRESS")
