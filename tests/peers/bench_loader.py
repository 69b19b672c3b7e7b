#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpubench's loader with PyTorch's DataLoader, a plain loop over tar shards, and Pillow, in interleaved rounds.

Usage: bench_loader.py GPUBENCH [--rounds N] [--parts images,tokens,jpeg] [--results DIR]
Every run is a fresh process on the same data, generated from real photographs and digits in Debian packages. All runs go to
DIR/loader.json, medians and ratios to DIR/loader.md. Exit status 77 without PyTorch, Pillow or the photographs.
"""
import argparse
import datetime
import glob
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
PHOTOS = ["/usr/lib/python3/dist-packages/sklearn/datasets/images/*.jpg", "/usr/lib/python3/dist-packages/skimage/data/r*.jpg",
          "/usr/share/matplotlib/mpl-data/sample_data/*.jpg", "/usr/share/desktop-base/*/wallpaper/contents/images/*.jpg"]
SMALL, TOKENS, JPEGS, SEQ = 2048, 1 << 25, 512, 1024
WORKERS = (0, 1, 2)
WORDS = {"images": f"{SMALL} images of 32 x 32 without decoding, mirrored and normalised, batches of 64",
         "tokens": f"{TOKENS >> 20} Mi tokens of u16, windows of {SEQ}, batches of 16",
         "jpeg": f"{JPEGS} JPEG photographs of 500 x 375 in tar shards to 224 x 224, batches of 64"}
UNITS = {"images": "samples/s", "tokens": "Mtokens/s", "jpeg": "samples/s"}


# ---- data ----

def photographs():
    from PIL import Image
    paths = sorted(p for pattern in PHOTOS for p in glob.glob(pattern))
    return [Image.open(p).convert("RGB") for p in paths]


def encoded(image, **how):
    out = io.BytesIO()
    image.save(out, **how)
    return out.getvalue()


def make(folder):
    import numpy as np
    photos, rng = photographs(), random.Random(1)
    for i in range(SMALL):
        s = photos[i % len(photos)]
        x, y = rng.randrange(s.width - 64), rng.randrange(s.height - 64)
        os.makedirs(f"{folder}/images/{i % 10}", exist_ok=True)
        s.crop((x, y, x + 64, y + 64)).resize((32, 32)).save(f"{folder}/images/{i % 10}/{i}.png")
    np.random.default_rng(1).integers(0, 50257, TOKENS).astype("<u2").tofile(f"{folder}/tokens.bin")
    os.makedirs(f"{folder}/jpeg")
    for shard in range(4):
        with tarfile.open(f"{folder}/jpeg/photos-{shard:03d}.tar", "w") as tar:
            for i in range(shard, JPEGS, 4):
                s = photos[i % len(photos)]
                x, y = rng.randrange(max(1, s.width - 500)), rng.randrange(max(1, s.height - 375))
                crop = s.crop((x, y, min(s.width, x + 500), min(s.height, y + 375))).resize((500, 375))
                for ext, data in (("jpg", encoded(crop, format="JPEG", quality=90)), ("cls", str(i % 10).encode())):
                    info = tarfile.TarInfo(f"{i:05d}.{ext}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


# ---- peers: each prints {"items_per_s"} ----

def small_images(folder):
    import numpy as np
    import torch
    from PIL import Image
    paths = sorted(glob.glob(f"{folder}/images/*/*.png"))
    raw = np.stack([np.asarray(Image.open(p).convert("RGB")) for p in paths])

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return 16 * len(raw)  # Long epochs make the cost of the start negligible.

        def __getitem__(self, i):
            x = torch.from_numpy(raw[i % len(raw)]).permute(2, 0, 1).float().div_(255).sub_(0.45).div_(0.225)
            return (x.flip(2) if i & 1 else x), i % 10
    return Images(), 64, 1


def windows(folder):
    import numpy as np
    import torch
    raw = np.memmap(f"{folder}/tokens.bin", dtype="<u2", mode="r")

    class Windows(torch.utils.data.Dataset):
        def __len__(self):
            return (len(raw) - 1) // SEQ

        def __getitem__(self, i):
            w = torch.from_numpy(raw[i * SEQ:(i + 1) * SEQ + 1].astype("i8"))
            return w[:-1], w[1:]
    return Windows(), 16, SEQ


def decode(blob):
    import numpy as np
    import torch
    from PIL import Image
    image = Image.open(io.BytesIO(blob)).convert("RGB").resize((224, 224), Image.BILINEAR)
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).float().div_(255).sub_(0.45).div_(0.225)


def jpegs(folder):
    import torch
    blobs = []
    for path in sorted(glob.glob(f"{folder}/jpeg/*.tar")):
        with tarfile.open(path) as tar:
            blobs += [tar.extractfile(m).read() for m in tar if m.name.endswith(".jpg")]

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return len(blobs)

        def __getitem__(self, i):
            return decode(blobs[i]), i % 10
    return Photos(), 64, 1


def torch_loader(part, folder, workers):
    import torch
    torch.set_num_threads(1)
    data, batch, items = {"images": small_images, "tokens": windows, "jpeg": jpegs}[part](folder)
    loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0,
                                         **({"prefetch_factor": 4} if workers else {}))
    if part == "jpeg" or workers:
        for k, _ in enumerate(loader):  # The workers have started, and the files are in memory.
            if part != "jpeg" and k == 100:
                break
    t0 = time.perf_counter()
    n = sum(len(b[1]) for b in loader)
    return n * items / (time.perf_counter() - t0)


def plain_shards(_, folder, __):
    """Reads like WebDataset: tar by tar and sample by sample, in this process."""
    import torch
    torch.set_num_threads(1)
    t0, n, batch = time.perf_counter(), 0, []
    for path in sorted(glob.glob(f"{folder}/jpeg/*.tar")):
        with tarfile.open(path, "r|") as tar:
            for m in tar:
                data = tar.extractfile(m).read()
                if m.name.endswith(".jpg"):
                    batch.append(decode(data))
                    n += 1
                if len(batch) == 64:
                    torch.stack(batch)
                    batch = []
    return n / (time.perf_counter() - t0)


def pillow(_, folder, __):
    """Only decodes and resizes, on one core."""
    from PIL import Image
    blobs = []
    for path in sorted(glob.glob(f"{folder}/jpeg/*.tar")):
        with tarfile.open(path) as tar:
            blobs += [tar.extractfile(m).read() for m in tar if m.name.endswith(".jpg")]
    t0 = time.perf_counter()
    for b in blobs:
        Image.open(io.BytesIO(b)).convert("RGB").resize((224, 224), Image.BILINEAR)
    return len(blobs) / (time.perf_counter() - t0)


PEERS = {"torch": torch_loader, "tar loop": plain_shards, "Pillow alone": pillow}


# ---- rounds ----

def ours(gpubench, part, folder, workers):
    words = {"images": [f"{folder}/images", "--size", "32", "--augment", "flip", "--cache", "1G", "--warmup", str(2 * SMALL // 64),
                        "--batches", "4000"],
             "tokens": [f"{folder}/tokens.bin", "--seq", str(SEQ), "--batch", "16", "--warmup", "500", "--batches", "20000"],
             "jpeg": [f"{folder}/jpeg", "--size", "224", "--warmup", str(JPEGS // 64), "--batches", str(2 * JPEGS // 64)]}[part]
    done = subprocess.run([gpubench, "data", *words, "--workers", str(workers), "--prefetch", "4", "--json", "--quiet"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"gpubench data {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["items_per_s"]


def peer(name, part, folder, workers):
    done = subprocess.run([sys.executable, __file__, "--peer", name, "--parts", part, "--data", folder, "--workers", str(workers)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} {part}: {done.stderr.strip()[-400:]}")
    return float(done.stdout)


def measure(a, folder):
    runs = {}
    for part in a.parts.split(","):
        arms = {f"gpubench, {w} workers": lambda p=part, w=w: ours(a.gpubench, p, folder, w) for w in WORKERS}
        arms.update({f"torch, {w} workers": lambda p=part, w=w: peer("torch", p, folder, w) for w in WORKERS})
        if part == "jpeg":
            arms.update({n: lambda p=part, n=n: peer(n, p, folder, 0) for n in ("tar loop", "Pillow alone")})
        runs[part] = {name: [] for name in arms}
        names = list(arms)
        for i in range(a.rounds):
            for name in names[i % len(names):] + names[:i % len(names)]:
                runs[part][name].append(arms[name]())
                print(f"round {i + 1} {part} {name}: {runs[part][name][-1]:.0f}", flush=True)
    return runs


def render(data):
    lines = ["# The data loader, compared with others", "",
             f"{data['date']}, {data['host']}; medians of {data['rounds']} interleaved rounds, load before {data['load_before']:.1f}.",
             "Made by `make bench-loader` from loader.json, which has every run. With 0 workers one thread does all work.", ""]
    for part, runs in data["runs"].items():
        scale = 1e6 if part == "tokens" else 1
        mid = {name: statistics.median(v) / scale for name, v in runs.items()}
        best = max(v for k, v in mid.items() if not k.startswith(("gpubench", "Pillow")))
        lines += [f"## {WORDS[part]}", "", f"| reader | {UNITS[part]} | ratio to the best peer |", "|---|---|---|"]
        lines += [f"| {name} | {v:.0f} | {v / best:.2f} |" for name, v in mid.items()]
        if part == "jpeg":
            lines += ["", f"Ratio on one core, gpubench (read, decode, resize, normalise, batch) to Pillow (decode and resize only): "
                      f"{mid['gpubench, 0 workers'] / mid['Pillow alone']:.2f}."]
        lines.append("")
    return "\n".join(lines)


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "unknown processor")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpubench", nargs="?")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--parts", default="images,tokens,jpeg")
    p.add_argument("--results", default="bench/results")
    for name in ("--peer", "--data", "--workers"):
        p.add_argument(name, help=argparse.SUPPRESS)
    a = p.parse_args()
    try:
        import numpy  # noqa: F401
        import torch  # noqa: F401
        from PIL import Image  # noqa: F401
    except ImportError as why:
        print(f"skipped: {why}", file=sys.stderr)
        return 77
    if a.peer:
        print(PEERS[a.peer](a.parts, a.data, int(a.workers)))
        return 0
    unknown = set(a.parts.split(",")) - set(WORDS)
    if unknown or not a.gpubench:
        sys.exit(f"parts are {', '.join(WORDS)}; the first argument is gpubench")
    if not photographs():
        print("skipped: no photographs (python3-sklearn, python3-skimage or desktop-base)", file=sys.stderr)
        return 77
    path = os.path.join(a.results, "loader.json")
    data = {"runs": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
    data.update(date=datetime.date.today().isoformat(), rounds=a.rounds, load_before=os.getloadavg()[0],
                host=f"{cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, Linux {os.uname().release}")
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        data["runs"].update(measure(a, folder))
    os.makedirs(a.results, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
    with open(os.path.join(a.results, "loader.md"), "w", encoding="utf-8") as f:
        f.write(render(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
