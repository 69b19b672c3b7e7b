#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a capture is judged like its host. Each synthetic host gets a command line, module options and comments
with secrets next to words that checks read. Its host name is such a word, too. All tools must give the same results for
the host and for its capture."""
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

HOSTS = sorted(glob.glob(os.environ.get("HOSTS", os.path.join(tap.FIXTURES, "*.host"))))
QUESTIONS = (("gpuprobe", "--json"), ("gpuprobe", "-v"), ("gpuprobe", "topo", "--json"), ("gpuprobe", "can", "--json"),
             ("gpuprobe", "can", "torch==2.11", "--json"), ("gputune", "plan", "--optional", "--json"), ("gputune", "lint", "--json"),
             ("gputune", "run", "--print", "--", "true"))
# Fields that identify the machine and therefore differ in a capture.
DECLARED = ('"boot_id"',)
# Host names that are also words in checks, files and tools.
NAMES = ("debian", "nouveau", "nvidia", "options", "vm", "blacklist", "always", "x86_64", "gputune", "dkms")

READ = ("iommu.passthrough=1 iommu=pt transparent_hugepage=always hugepagesz=1G hugepages=8 isolcpus=1 mitigations=off "
        "net.ifnames=0 user_namespace.enable=1 pci=disable_acs_redir=0000:00:01.0 tsc=reliable numa_balancing=disable "
        "processor.max_cstate=1 intel_idle.max_cstate=0 rd.driver.blacklist=nouveau modprobe.blacklist=nouveau "
        "nvidia-drm.modeset=1 systemd.unified_cgroup_hierarchy=0 pcie_aspm=off nmi_watchdog=0 selinux=0 "
        "luks.options=discard rd.vconsole.keymap=de")
SECRET = ('rd.luks.key=/SECRET1 luks.passphrase="SECRET2 SECRET3" wifi.password=SECRET4 wifipassword=SECRET5 '
          'nfsroot=10.9.8.7:/SECRET6 ip=10.9.8.7::10.9.8.1:255.255.255.0 ds=nocloud;s=http://u:SECRET7@10.9.8.6/ '
          'netroot=iscsi:SECRET8 rd.iscsi.username=SECRET9 api_token=SECRET10 root=nfs:SECRET11:/x '
          'systemd.set_credential=x:SECRET12 "foo.secret=SECRET13 SECRET14"')
GONE = ("SECRET", "10.9.8.", "alice", "carol")
# gputune lint quotes these words of a file.
SHOWN = (("password=SECRET15", "password=[scrubbed-2]"), ("ip=dhcp", "ip=[scrubbed-3]"), ("alice", "user"), ("carol", "user2"))


def poisoned(text, name):
    """Returns the capture with added files that contain secrets. Each replaces a file of the same path."""
    files = {
        "/proc/sys/kernel/hostname": name,
        "/etc/default/grub": f"# {name} boots so\nGRUB_CMDLINE_LINUX_DEFAULT='{READ} quiet'\n"
                             + 'GRUB_CMDLINE_LINUX="nfsroot=10.9.8.7:/SECRET6 wifi.password=SECRET15 ip=dhcp"',
        "/etc/modprobe.d/10-here.conf": f"# on {name}\nblacklist nouveau\noptions nouveau modeset=0\n"
                                        "options nvidia NVreg_EnableStreamMemOPs=1\noptions bond0 password=SECRET16",
        "/etc/sysctl.d/10-here.conf": f"; {name}\nvm.swappiness = 10\nvm.dirty_ratio=5\nnet.ipv4.tcp_fastopen_key = SECRET17",
        "/etc/security/limits.conf": "alice hard memlock 1000\n@carol - nofile 99999999999\nalice hard memlock 2000\n"
                                     "root - nofile 5x\n* hard memlock unlimited",
        "/etc/tuned/mine/tuned.conf": "[bootloader]\ncmdline_mine=quiet\n[irqbalance]\nbanned_cpus=1",
        "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4": "",
        "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2": "",
        "/usr/lib/llvm-14/lib/libomp.so.5": "",
        "/etc/nccl.conf": "NCCL_COMM_ID=10.9.8.7:4711\nNCCL_P2P_DISABLE=1\nNCCL_IB_HCA=mlx5",
    }
    kept, skipping, cmdline = [], False, "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro"
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if not line.startswith("\t"):
            path = (line.split() + ["", ""])[1]
            skipping = path in files or path == "/proc/cmdline"
            if path == "/proc/cmdline" and i + 1 < len(lines):
                cmdline = lines[i + 1].strip()
        if not skipping:
            kept.append(line)
    files["/proc/cmdline"] = f"{cmdline} {READ} {SECRET} -- --init SECRET18"
    kept += [f"file {path}\n" + "\n".join("\t" + x for x in content.split("\n")) for path, content in files.items()]
    return "\n".join(kept) + "\n"


def answer(question, host):
    """Returns the exit status and the output without the name of the host's file and the fields that may differ."""
    tool, *words = question
    at = words.index("--") if "--" in words else len(words)
    done = tap.run(tool, *words[:at], "--root", host, *words[at:])
    text = (done.stdout + done.stderr).replace(host, "HOST")
    for secret, scrubbed in SHOWN:
        text = text.replace(secret, scrubbed)
    return [str(done.returncode)] + [x for x in text.splitlines() if not x.strip().startswith(DECLARED)]


def differences(host, scratch):
    """Returns the pairs of lines that differ between the host and its capture, and the secrets left in the capture."""
    bad, copy = [], os.path.join(scratch, os.path.basename(host) + ".capture")
    done = tap.run("gpuprobe", "capture", copy, "--root", host)
    if done.returncode:
        return [f"{os.path.basename(host)}: {done.stderr.strip()}"]
    with open(copy, encoding="utf-8", errors="replace") as f:
        bad += [f"{os.path.basename(host)}: {g} is left: {x.strip()}" for x in f for g in GONE if g in x]
    for question in QUESTIONS:
        a, b = answer(question, host), answer(question, copy)
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            bad.append(f"{os.path.basename(host)}: {' '.join(question)}: host: {a[at:at + 1]}, capture: {b[at:at + 1]}")
    again = os.path.join(scratch, os.path.basename(host) + ".again")
    tap.run("gpuprobe", "capture", again, "--root", copy)
    with open(copy, "rb") as f, open(again, "rb") as g: # New files make facts appear in another order.
        if sorted(f) != sorted(g):
            bad.append(f"{os.path.basename(host)}: a capture of the capture differs from it")
    return bad


def unpacked(host):
    subprocess.run([os.path.join(tap.BUILD, "tests/cli/unpack"), host, host + ".tree"], check=True)
    return host + ".tree"


def main():
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        changed = []
        for i, path in enumerate(HOSTS):
            changed.append(os.path.join(scratch, f"{i % len(NAMES)}-{os.path.basename(path)}"))
            with open(path, encoding="utf-8") as f, open(changed[-1], "w", encoding="utf-8") as out:
                out.write(poisoned(f.read(), NAMES[i % len(NAMES)]))
        trees = [unpacked(h) for h in changed[::10]]
        for kind, hosts in (("host", HOSTS), ("host with secrets", changed), ("such host as a directory", trees)):
            found = list(pool.map(lambda h: differences(h, scratch), hosts))
            tap.rule(f"each {kind} and its capture get the same answers ({len(hosts)} hosts)", sum(found, []))
    tap.plan()
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
