#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests faults of ranks on one host. A rank with little of its core gets fewer rows with the same results. A killed rank ends the
other within seconds, and the message names it.

Runs gpubench from TOP_BUILDDIR; needs two CPUs."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

TOOL = os.path.join(os.environ.get("TOP_BUILDDIR") or os.getcwd(), "gpubench")
TRAIN = [TOOL, "train", "mlp", "--batch", "32", "--threads", "1", "--warmup", "0", "--seed", "1", "--quiet"]
TRIES = 5  # Other processes may slow the other rank as well.


def train(*more):
    done = subprocess.run([*TRAIN, "--steps", "4", "--json", "--ranks", "2", *more], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"Bail out! gpubench ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


def wait_for(job):
    """Returns the ranks in the order of their forks."""
    until = time.monotonic() + 60
    while len(children(job.pid)) < 2:
        if time.monotonic() > until or job.poll() is not None:
            raise RuntimeError("no two ranks")
        time.sleep(0.001)
    return children(job.pid)


def with_a_slow_rank():
    """Rank 0 is stopped nine tenths of the time, as if other processes had its core. A forward pass fits between two stops."""
    with tempfile.TemporaryFile("w+") as said:
        job = subprocess.Popen([*TRAIN, "--steps", "4", "--json", "--ranks", "2", "--balance"], stdout=said)
        victim = wait_for(job)[0]
        while job.poll() is None:
            try:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(0.045)
                os.kill(victim, signal.SIGCONT)
                time.sleep(0.005)
            except ProcessLookupError:
                break
        job.wait(300)
        said.seek(0)
        return json.load(said)


def slowed():
    plain, seen = train(), []
    for _ in range(TRIES):
        split = with_a_slow_rank()
        seen.append(split["ddp"]["rows"])
        if seen[-1][0] <= 24:
            break
    tap.check("a slowed rank gets fewer rows", seen[-1][0] <= 24 and sum(seen[-1]) == 64, f"rows {seen}")
    tap.check("the loss does not depend on the split of the rows", abs(split["loss"] - plain["loss"]) < 1e-4,
              f"loss {split['loss']}, with equal rows {plain['loss']}")


def killed():
    with tempfile.TemporaryFile("w+") as said:
        job = subprocess.Popen([*TRAIN, "--steps", "1000000", "--ranks", "2"], stdout=said, stderr=said)
        try:
            ranks = wait_for(job)
            time.sleep(0.5)
            os.kill(ranks[1], signal.SIGKILL)
            start = time.monotonic()
            job.wait(60)
            took = time.monotonic() - start
        finally:
            if job.poll() is None:
                job.kill()
        said.seek(0)
        text = " ".join(said.read().split())
    left = [p for p in ranks if os.path.exists(f"/proc/{p}")]
    tap.check("a killed rank ends the other within seconds, and the message names it",
              job.returncode != 0 and took < 10 and not left and "rank 1: killed by signal 9" in text,
              f"status {job.returncode} after {took:.1f} s, left {left}: {text}")


def main():
    if len(os.sched_getaffinity(0)) < 2:
        print("1..0 # SKIP two ranks need two CPUs")
        return 0
    slowed()
    killed()
    return tap.plan()


if __name__ == "__main__":
    sys.exit(main())
