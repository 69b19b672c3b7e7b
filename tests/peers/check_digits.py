#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A residual network learns real images: 1797 handwritten digits of 8x8 pixels from Debian's python3-sklearn.

Usage: check_digits.py [RT_CASE]    (default: $TOP_BUILDDIR/tests/peers/rt_case)
Every fifth image is held out. From random weights, 300 steps of SGD on batches of 51, then the held-out images go through
rt_eval, which normalises by the running statistics. At least 95 in 100 of them must be classified correctly; chance is 10.
Exit status 77 where the images or NumPy are missing.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP no NumPy")
    sys.exit(77)

IMAGES = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
RT_CASE = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests/peers/rt_case")
STEPS, BATCH, SIZE, CLASSES, DEPTH, WANTED = 300, 51, 8, 10, 8, 0.95


def read():
    """Returns images (N,8,8,3) around zero, with the grey value in each channel, and labels (N)."""
    with gzip.open(IMAGES, "rt") as f:
        rows = np.loadtxt(f, delimiter=",")
    grey = (rows[:, :64].reshape(-1, SIZE, SIZE, 1) / 16 - 0.3) / 0.37
    return np.repeat(grey, 3, 3).astype("<f4"), rows[:, 64].astype("<i4")


def parameters(rng):
    """Returns initial values and running statistics by the names of the model."""
    def conv(out, into):
        return rng.normal(0, (2 / (9 * out)) ** 0.5, (out, into, 3, 3))

    named = {"conv1.weight": conv(16, 3), "fc.weight": rng.uniform(-0.125, 0.125, (CLASSES, 64)), "fc.bias": np.zeros(CLASSES)}
    norms, into = {"bn1": 16}, 16
    for stage, out in enumerate((16, 32, 64)):
        for n in (1, 2):
            named[f"layer{stage + 1}.0.conv{n}.weight"] = conv(out, into)
            norms[f"layer{stage + 1}.0.bn{n}"] = into = out
    for name, width in norms.items():
        named.update({f"{name}.weight": np.ones(width), f"{name}.bias": np.zeros(width),
                      f"{name}.running_mean": np.zeros(width), f"{name}.running_var": np.ones(width)})
    return named


def main():
    if not os.path.exists(IMAGES):
        print("1..0 # SKIP no images: python3-sklearn is not installed")
        return 77
    x, y = read()
    held = np.arange(len(x)) % 5 == 0
    rng = np.random.default_rng(1)
    train = np.concatenate([rng.permutation(np.nonzero(~held)[0]) for _ in range(STEPS * BATCH // (~held).sum() + 1)])
    train, test = train[:STEPS * BATCH], np.nonzero(held)[0]
    test = test[:len(test) // BATCH * BATCH]
    with tempfile.TemporaryDirectory() as where:
        for name, value in parameters(rng).items():
            value.astype("<f4").tofile(f"{where}/{name}.bin")
        for name, value in (("x", x), ("y", y)):
            value[train].tofile(f"{where}/{name}.bin")
            value[test].tofile(f"{where}/{name}.eval.bin")
        with open(f"{where}/case.json", "w", encoding="utf-8") as f:
            json.dump({"graph": f"resnet({BATCH}, {SIZE}, {DEPTH}, {CLASSES})", "steps": STEPS, "watch": ["logits"], "eval": len(test) // BATCH,
                       "options": {"no_fuse": True},
                       "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 1e-4}}, f)
        subprocess.run([RT_CASE, where], check=True)
        losses = np.fromfile(f"{where}/losses.bin", "<f8")
        logits = np.fromfile(f"{where}/logits.eval.out.bin", "<f4").reshape(-1, CLASSES)
    right = (logits.argmax(1) == y[test]).mean()
    print(f"{'ok' if right >= WANTED else 'not ok'} 1 - ResNet-{DEPTH} classifies at least {WANTED:.0%} of the held-out digits")
    print(f"# {right:.2%} of {len(test)} images after {STEPS} steps; loss {losses[0]:.3f} -> {losses[-10:].mean():.4f}\n1..1")
    return 0 if right >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
