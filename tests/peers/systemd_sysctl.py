#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the emulation of sysctl.d's precedence and of the kernel's parsing with the real systemd-sysctl, on generated files.

Each set is written to the real directories inside private mount, network and IPC namespaces, so that only settings of a private
network and of private shared memory change. systemd-sysctl runs, and the kernel's values are compared with the prediction of
sc_predict for the same files. Needs root and systemd-sysctl, else it is skipped with the reason.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

REAL = "/usr/lib/systemd/systemd-sysctl"
PREDICT = os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests/peers/sc_predict")
SETS = int(os.environ.get("SETS", "240"))
SEED = int(os.environ.get("SEED", "1"))
DIRS = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"]
NAMES = ["10-a.conf", "50-b.conf", "50-B.conf", "5-c.conf", "90-gputune.conf", "99-sysctl.conf", "zz.conf", "no-suffix",
         "x.conf.bak", ".hidden.conf"]
# Names with upper and lower case, numbers of different lengths and dots: hard cases for sorting.
BASE = "net/ipv4/conf"
KEYS = {f"{BASE}/{dev}/{leaf}": values for dev in ("lo", "a.b") for leaf, values in (
    ("rp_filter", "012"), ("arp_ignore", "0123"), ("arp_announce", "012"), ("log_martians", "01"), ("medium_id", "3456789"))}
# Keys of gputune's table with their types. Their values have every spelling, also refused ones.
NUMBERS = {"net/ipv4/tcp_rmem": "vector", "net/ipv4/tcp_wmem": "vector", "net/ipv4/tcp_timestamps": "u8",
           f"{BASE}/all/arp_announce": "int", f"{BASE}/all/arp_ignore": "int", "kernel/shmmax": "ulong",
           "kernel/shmall": "ulong"}
REFUSED = {"u8": ["300", "-1", "-0", "-0x1"], "int": ["2147483648", "-2147483649"], "vector": ["0", "-0", "-1", "2147483648"],
           "ulong": ["-1", "-0", "-0x1"]}
START = {"rp_filter": "0", "arp_ignore": "8", "arp_announce": "0", "log_martians": "0", "medium_id": "2",
         "tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304", "tcp_timestamps": "1", "shmmax": "4096",
         "shmall": "4096"}
UNSET = "unset"


def spelled(rng, key):
    """Returns the key in one of the spellings that an administrator may use."""
    dotted = key.translate(str.maketrans("/.", "./"))
    return rng.choice([key, dotted, dotted, "/" + key, key.replace("/", "//", 1)])


def pattern(rng, key):
    parts = key.split("/")
    at = rng.choice([3, 4])
    parts[at] = rng.choice(["*", parts[at][0] + "*", "?" * len(parts[at]), "[a-z]*"])
    glob = "/".join(parts)
    return glob if rng.random() < 0.5 else glob.translate(str.maketrans("/.", "./"))


def number(rng, kind):
    """Returns a word that the kernel accepts as a number, and sometimes one that it refuses."""
    n = {"u8": rng.randint(0, 2), "int": rng.randint(0, 2), "vector": rng.randint(1, 2 ** rng.randint(1, 30)),
         "ulong": rng.choice([rng.getrandbits(rng.randint(1, 64)), 2 ** 64 - 2 ** 24 - 1, 2 ** 64 - 1])}[kind]
    good = rng.choice([f"{n}", f"{n}", f"{n:#x}", f"{n:#X}", f"0{n:o}", f"0x{n:018x}", f"{n:020}"])
    if rng.random() < 0.8:
        return good
    return rng.choice(REFUSED[kind] + [f"{n}x", f"{n},", f"+{n}", "-", "0x", "08", "0b1", f"0x0x{n}", f"{n:021}",
                                       f"{2 ** 64 + n}", f"{n}#", f"{n}\v1", "#", ""])


def value(rng, kind):
    fields = 3 if kind == "vector" else 1
    words = [number(rng, kind)]
    # The kernel sets only a part of a value that it refuses midway. This is not predicted.
    while len(words) < rng.choice([fields, fields, fields, fields - 1 or 1]):
        words.append(f"{rng.randint(1, 2 ** 30):{rng.choice(['', '#x'])}}")
    if words[0] and len(words) == fields:
        words.append(rng.choice(["", "", "", "# a comment", "#", "; x", "7", "x", "0x 08"]))
    return rng.choice([" ", "\t", " \t "]).join(words)


def line(rng):
    if rng.random() < 0.3:
        key = rng.choice(list(NUMBERS))
        return f"{spelled(rng, key)} = {value(rng, NUMBERS[key])}"
    key = rng.choice(list(KEYS))
    plain = rng.choice(KEYS[key])
    blank = rng.choice(["", " ", "  ", "\t"])
    kind = rng.random()
    if kind < 0.55:
        return f"{blank}{spelled(rng, key)}{blank}={blank}{plain}{blank}"
    if kind < 0.75:
        leaf = key.rsplit("/", 1)[1]
        return f"{pattern(rng, key)} = {rng.choice(KEYS[f'{BASE}/lo/{leaf}'])}"
    if kind < 0.85:
        return f"-{spelled(rng, key)}"
    if kind < 0.9:
        return f"-{spelled(rng, key)} = {plain}"
    return rng.choice(["", "# " + key + " = 1", "; x", "nonsense", "= 5", "no.such.key = 1", f"#{key}=2", "   "])


def generate(rng, root):
    """{path: text}; text None is a link to /dev/null, text beginning with '->' a link."""
    files = {}
    for _ in range(rng.randint(1, 7)):
        path = f"{rng.choice(DIRS)}/{rng.choice(NAMES)}"
        if rng.random() < 0.12:
            files[path] = None
        elif rng.random() < 0.1:
            files["/etc/sysctl.conf"] = "\n".join(line(rng) for _ in range(3)) + "\n"
            files[path] = "->/etc/sysctl.conf"
        else:
            files[path] = "\n".join(line(rng) for _ in range(rng.randint(0, 6))) + rng.choice(["", "\n"])
    for path, text in files.items():
        at = root + path
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if text is None:
            os.symlink("/dev/null", at)
        elif text.startswith("->"):
            os.symlink(text[2:], at)
        else:
            with open(at, "w") as f:
                f.write(text)
    for d in DIRS:
        os.makedirs(root + d, exist_ok=True)
    os.makedirs(root + "/proc/sys", exist_ok=True)
    return files


def read(key):
    with open("/proc/sys/" + key) as f:
        return " ".join(f.read().split())


def real(root):
    """Runs in a child with private mounts and network. Returns the values after a known start."""
    for key in [*KEYS, *NUMBERS]:
        with open("/proc/sys/" + key, "w") as f:
            f.write(START[key.rsplit("/", 1)[1]])
    for d in DIRS:
        subprocess.run(["mount", "--bind", root + d, d], check=True)
    conf = root + "/etc/sysctl.conf"
    if os.path.exists(conf):
        subprocess.run(["mount", "--bind", conf, "/etc/sysctl.conf"], check=True)
    subprocess.run([REAL], stderr=subprocess.DEVNULL)
    values = {key: read(key) for key in [*KEYS, *NUMBERS]}
    if os.path.exists(conf):
        subprocess.run(["umount", "/etc/sysctl.conf"], check=True)
    for d in DIRS:
        subprocess.run(["umount", d], check=True)
    return values


def expected(key, said):
    """Values that are not set stay: the whole value, or the last numbers of a vector."""
    words, start = [] if said == UNSET else said.split(), START[key.rsplit("/", 1)[1]].split()
    return " ".join(words + start[len(words):])


def predicted(when, root):
    out = subprocess.run([PREDICT, when, root, *KEYS, *NUMBERS], check=True, capture_output=True, text=True).stdout
    return dict((line.split("=", 1) + [UNSET])[:2] for line in out.splitlines())


def inside():
    for kind in ("dummy", "ifb", "bridge", "veth"):  # A device with a dot in its name, of a type that this kernel supports.
        subprocess.run(["ip", "link", "add", "a.b", "type", kind], check=False, capture_output=True)
    if not os.path.isdir(f"/proc/sys/{BASE}/a.b"):
        for key in [k for k in KEYS if "/a.b/" in k]:
            del KEYS[key]
    print(f"1..{SETS}")
    sys.stdout.flush()
    for n in range(SETS):
        rng = random.Random(SEED * 100003 + n)
        root = tempfile.mkdtemp(prefix="sysctl-")
        files = generate(rng, root)
        bad = []
        for when in ("now", "next-boot"):
            want = predicted(when, root)
            if when == "next-boot":  # /run is a new mount.
                shutil.rmtree(root + "/run/sysctl.d")
                os.mkdir(root + "/run/sysctl.d")
            bad += [f"{when}: {k}: systemd-sysctl {v}, predicted {want[k]}" for k, v in real(root).items()
                    if v != expected(k, want[k])]
        print(f"{'not ok' if bad else 'ok'} {n + 1} set {n} of {len(files)} files")
        for text in bad + ([f"{p}: {t!r}" for p, t in sorted(files.items())] if bad else []):
            print("# " + text)
        shutil.rmtree(root)


def main():
    if "--inside" in sys.argv:
        return inside()
    probe = ["unshare", "--mount", "--net", "--ipc", "true"]
    if os.geteuid() or not os.path.exists(REAL) or subprocess.run(probe, capture_output=True).returncode:
        print("1..0 # SKIP needs root, namespaces and systemd-sysctl")
        return 0
    made = [d for d in DIRS if not os.path.isdir(d)]  # mount points
    for d in made:
        os.makedirs(d)
    try:
        return subprocess.run(["unshare", "--mount", "--net", "--ipc", "--propagation", "private", sys.executable, __file__,
                               "--inside"]).returncode
    finally:
        for d in made:
            os.rmdir(d)


if __name__ == "__main__":
    sys.exit(main())
