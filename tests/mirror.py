# SPDX-License-Identifier: Apache-2.0
"""The Debian archive that this host itself installs from: suites that make a Debian of their own take it from there."""
import os
import subprocess
import sys


def archive():
    """Its address, such as apt's sources have it; MIRROR=ADDRESS names another. Ends the program on a host without one."""
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
    return sys.exit("no Debian archive among apt's sources: name one with MIRROR=ADDRESS")
