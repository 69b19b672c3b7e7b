#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the loader with Pillow and Python's tarfile: pixels of every kind of JPEG and PNG, and shards of another program. Also
tests damaged files, exact resumption of training, and a network that learns real images from shards.

Usage: check_loader.py [BUILD]    (default: $TOP_BUILDDIR). Exit status 77 without Pillow, NumPy or scikit-learn's images.
"""
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

try:
    import numpy as np
    from PIL import Image
except ImportError as why:
    print(f"1..0 # SKIP {why}")
    sys.exit(77)

BUILD = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOP_BUILDDIR", ".")
DATA = "/usr/lib/python3/dist-packages/sklearn/datasets"


def rule(name, said):
    """said: the error, or an empty string."""
    tap.rule(name, [said] if said else [])


def write_shard(path, samples, fmt=tarfile.USTAR_FORMAT):
    """samples: (key, {extension: bytes})."""
    with tarfile.open(path, "w", format=fmt) as tar:
        for key, parts in samples:
            for ext, data in parts.items():
                info = tarfile.TarInfo(f"{key}.{ext}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def encoded(image, **how):
    out = io.BytesIO()
    image.save(out, **how)
    return out.getvalue()


def load(path, rows, size, batches=1, channels=3, augment=0, start=0, workers=0, cache=0):
    """x (batches,rows,size,size,channels) as pixel values, y (batches,rows), the report."""
    done = subprocess.run([os.path.join(BUILD, "tests/peers/loader_case"), path] +
                          [str(v) for v in (rows, size, channels, augment, start, batches, workers, cache)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    one = rows * size * size * channels
    raw = np.frombuffer(done.stdout, "<f4").reshape(batches, one + rows)
    return (raw[:, :one].reshape(batches, rows, size, size, channels), raw[:, one:].copy().view("<i4"),
            json.loads(done.stderr))


def picture(size=(500, 375)):
    """Returns a part of a real photograph."""
    china = Image.open(f"{DATA}/images/china.jpg").convert("RGB")
    return china.crop((60, 20, 60 + size[0], 20 + size[1]))


def pixels(folder):
    """Every kind of file, at its own size (no resize) and reduced."""
    img, small = picture(), picture((96, 96))
    kinds = {
        "JPEG 4:2:0": (dict(format="JPEG", quality=90), "RGB", 1), "JPEG 4:4:4": (dict(format="JPEG", quality=95, subsampling=0), "RGB", 1),
        "JPEG progressive": (dict(format="JPEG", progressive=True), "RGB", 1), "JPEG gray": (dict(format="JPEG"), "L", 1),
        "JPEG CMYK": (dict(format="JPEG", quality=95), "CMYK", 2), "PNG": (dict(format="PNG"), "RGB", 0),
        "PNG palette": (dict(format="PNG"), "P", 0), "PNG alpha": (dict(format="PNG"), "RGBA", 0), "PNG gray": (dict(format="PNG"), "L", 0),
        "PNG one bit": (dict(format="PNG"), "1", 0),
    }
    for name, (how, mode, most) in kinds.items():
        ext = "png" if how["format"] == "PNG" else "jpg"
        path = os.path.join(folder, name.replace(":", "").replace(" ", "-") + ".tar")
        files = [encoded(i.convert(mode), **how) for i in (small, img)]
        write_shard(path, [(f"{k}", {ext: f, "cls": b"0"}) for k, f in enumerate(files)])
        mine = [load(path, 2, size)[0][0] for size in (96, 180)]
        same = np.asarray(Image.open(io.BytesIO(files[0])).convert("RGB"), "f4")
        less = Image.open(io.BytesIO(files[1]))
        if ext == "jpg":
            less.draft(None, (250, 187))  # Pillow halves the size while decoding, as the loader does.
        less = np.asarray(less.convert("RGB").resize((180, 180), Image.BILINEAR), "f4")
        worst, mean = np.abs(mine[0][0] - same).max(), np.abs(mine[1][1] - less).mean()
        rule(f"{name}: Pillow's pixels, resized too (at most {worst:.0f} of 255 apart, resized {mean:.2f} on average)",
             "" if worst <= most and mean < .6 else "more than can be")
    path = os.path.join(folder, "scaled.tar")
    write_shard(path, [("0", {"jpg": encoded(img, format="JPEG", quality=90), "cls": b"0"})])
    for size in (64, 128, 224):
        mine = load(path, 1, size)[0][0, 0]
        ways = [np.asarray(img.resize((size, size), f), "f4") for f in (Image.BILINEAR, Image.BOX, Image.LANCZOS)]
        mean, spread = np.abs(mine - ways[0]).mean(), max(np.abs(ways[0] - w).mean() for w in ways[1:])
        rule(f"500 x 375 to {size}, decoded at a smaller scale: {mean:.1f} from Pillow's BILINEAR, whose filters differ by {spread:.1f}",
             "" if mean < 1.25 * spread else "more than the filters do")
    path = os.path.join(folder, "gray.tar")
    write_shard(path, [("0", {"png": encoded(small, format="PNG"), "cls": b"0"})])
    luma = np.abs(load(path, 1, 96, channels=1)[0][0, 0, :, :, 0] - np.asarray(small.convert("L"), "f4")).max()
    rule("one channel is Pillow's luma", "" if luma == 0 else f"{luma} apart")


def interlaced(folder):
    img = picture((64, 64))
    raw = np.asarray(img)
    rows = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for row in raw[y0::dy, x0::dx]:
            rows += b"\0" + row.tobytes()
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in ((b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 1)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    path = os.path.join(folder, "interlaced.tar")
    write_shard(path, [("0", {"png": data, "cls": b"0"})])
    rule("PNG interlaced: exact", "" if (load(path, 1, 64)[0][0, 0] == raw).all() else "pixels differ")


def writers(folder):
    """Labels and images are read from a tar of any program."""
    for name, fmt in (("ustar", tarfile.USTAR_FORMAT), ("GNU", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        path = os.path.join(folder, f"{name}.tar")
        deep = "d" * 60 + "/" + ("e" * 60 if name == "ustar" else "e" * 120) + "/"
        write_shard(path, [(f"{deep}{i:03d}", {"png": encoded(Image.new("RGB", (4, 4), (i, i, i)), format="PNG"), "cls": str(i % 7).encode()})
                           for i in range(50)], fmt)
        x, y, report = load(path, 50, 4)
        rule(f"shards as tarfile writes them: {name}",
             "" if (x[0, :, 0, 0, 0] == np.arange(50)).all() and (y[0] == np.arange(50) % 7).all() and report["samples"] == 50 else
             f"{y[0]} {report}")


def damage(folder):
    """Training reports unusable samples with the reason and continues with the others."""
    good = encoded(picture((300, 200)), format="JPEG")
    bomb = b"\x89PNG\r\n\x1a\n"
    for kind, body in ((b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")):
        bomb += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    sof = good.index(b"\xff\xc0")
    huge = good[:sof + 5] + b"\xff\xff\xff\xff" + good[sof + 9:]
    bad = {"cut": (good[:len(good) * 3 // 4], "ends early"), "bomb": (bomb, "60000 x 60000"), "huge": (huge, "65500 pixels"),
           "text": (b"not an image at all", "neither JPEG nor PNG"), "empty": (b"", "0 bytes are not an image")}
    path = os.path.join(folder, "bad.tar")
    samples = [("good", {"jpg": good, "cls": b"1"})]
    samples += [(k, {"jpg": data, "cls": b"1"}) for k, (data, _) in bad.items()]
    samples += [("label", {"jpg": good, "cls": b"cat"}), ("last", {"jpg": good, "cls": b"2"})]
    write_shard(path, samples)
    report = load(path, 8, 32, batches=2)[2]
    named = {s["where"].split(": ")[1].split(" ")[0]: s["reason"] for s in report["corrupt"]["samples"]}
    wrong = [f"{k}: {named.get(k)}" for k, (_, why) in bad.items() if why not in named.get(k, "")]
    if report["corrupt"]["count"] != 6 or "does not contain a number" not in named.get("label", ""):
        wrong.append(str(named))
    rule("damaged samples are reported: truncated, decompression bombs, no image, no label", "; ".join(wrong))
    truncated = "/usr/lib/python3/dist-packages/skimage/data/truncated.jpg"
    if os.path.exists(truncated):
        with open(truncated, "rb") as f:
            write_shard(path, [("good", samples[0][1]), ("t", {"jpg": f.read(), "cls": b"0"})])
        rule("a file that scikit-image ships as truncated is refused", "" if load(path, 2, 32)[2]["corrupt"]["count"] == 1 else "taken")


def digits(folder):
    """1797 handwritten digits in three shards."""
    with gzip.open(f"{DATA}/data/digits.csv.gz", "rt") as f:
        rows = np.loadtxt(f, delimiter=",")
    shards = [[], [], []]
    for i, row in enumerate(rows):
        gray = (row[:64].reshape(8, 8) * 255 / 16).astype("u1")
        img = Image.fromarray(gray).convert("RGB").resize((16, 16), Image.BICUBIC)
        ext = ("jpg", dict(format="JPEG", quality=95)) if i % 2 else ("png", dict(format="PNG"))
        shards[i % 3].append((f"digits/{i:05d}", {ext[0]: encoded(img, **ext[1]), "json": json.dumps({"label": int(row[64])}).encode()}))
    for k, samples in enumerate(shards):
        write_shard(os.path.join(folder, f"digits-{k:03d}.tar"), samples)
    return os.path.join(folder, "digits-{000..002}.tar")


def train(*words):
    done = subprocess.run([os.path.join(BUILD, "gpubench"), "train", *words, "--json", "--quiet"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def training(folder):
    shards = digits(folder)
    common = ["resnet20", "--data", shards, "--size", "16", "--batch", "32", "--threads", "1", "--augment", "crop", "--warmup", "0"]
    whole = train(*common, "--steps", "12", "--workers", "2")
    half, rest = os.path.join(folder, "half.safetensors"), []
    train(*common, "--steps", "5", "--save", half)
    for workers in ("0", "3"):
        rest.append(train(*common, "--steps", "7", "--resume", half, "--workers", workers))
    rule("a run resumed from its checkpoint gets the same batches as an uninterrupted run",
         "" if all(r["loss"] == whole["loss"] and r["heldout_loss_after"] == whole["heldout_loss_after"] for r in rest) else
         f"{whole['loss']} and {[r['loss'] for r in rest]}")
    steps = os.environ.get("STEPS", "110")
    doc = train("resnet20", "--data", shards, "--size", "16", "--batch", "32", "--steps", steps, "--cache", "8M", "--lr", "0.05",
                "--workers", "1")
    wanted = 0.5  # nats; 2.3 is a random guess among ten
    rule(f"ResNet-20 learns digits from shards: held-out loss {doc['heldout_loss_before']:.2f} to {doc['heldout_loss_after']:.2f}, "
         f"at most {wanted} is demanded", "" if doc["heldout_loss_after"] <= wanted and doc["data"]["cache"]["hits"] else "too much")


def bound(folder):
    """Large photographs for a small model, decoded on demand: the run reports that it waits for data."""
    path = os.path.join(folder, "photos.tar")
    photo = encoded(picture(), format="JPEG", quality=90)
    write_shard(path, [(f"{i:03d}", {"jpg": photo, "cls": b"1"}) for i in range(64)])
    doc = train("mlp", "--data", path, "--batch", "32", "--steps", "3", "--warmup", "1", "--workers", "0", "--threads", "1")
    said = [w for w in doc["warnings"] if "waits for its data" in w and "--workers" in w]
    rule("a run that waits for its loader reports this with a remedy",
         "" if doc["data"]["loader_bound"] and said and doc["data"]["items_per_s"] < doc["items_per_s"] else str(doc["data"]))


def main():
    if not os.path.exists(f"{DATA}/images/china.jpg"):
        print("1..0 # SKIP no images of scikit-learn (python3-sklearn)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        probe = os.path.join(folder, "probe.tar")
        write_shard(probe, [("0", {"jpg": encoded(picture((8, 8)), format="JPEG"), "cls": b"0"})])
        try:
            load(probe, 1, 8)
        except RuntimeError as why:
            if "was built without" in str(why):
                print(f"1..0 # SKIP {str(why).strip()}")
                return 77
            raise
        for part in (pixels, interlaced, writers, damage, bound, training):
            part(folder)
    tap.plan()


if __name__ == "__main__":
    sys.exit(main())
