#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the results of gpuprobe and gputune on the real machines in the test data of Debian's hwloc source package.

Each machine is a copy of /sys and /proc. The results must equal the raw files, which this script reads by itself, and
the output of lstopo that hwloc ships next to the data. Downloads the source package with a private apt configuration that changes
nothing on this host. It needs the network and is therefore not part of `make check`: run make check-machines, or set
HWLOC_SRC=DIRECTORY to an unpacked source.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "lint")]
import mirror  # noqa: E402
import tap  # noqa: E402

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITE = os.environ.get("SUITE", "bookworm")
LIMIT_S = 60


# ---- the source package --------------------------------------------------------------------------------------------

def download(scratch):
    """Path of the unpacked source package, or None."""
    state = os.path.join(scratch, "apt")
    for d in ("lists/partial", "cache/archives/partial", "etc"):
        os.makedirs(os.path.join(state, d))
    with open(os.path.join(state, "status"), "w", encoding="ascii"):
        pass
    with open(os.path.join(state, "etc/sources.list"), "w", encoding="ascii") as f:
        f.write(f"deb-src [signed-by={KEYS}] {mirror.archive()} {SUITE} main\n")
    apt = ["apt-get", "-qq", "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}/cache", "-o",
           f"Dir::Etc::SourceList={state}/etc/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o",
           f"Dir::State::status={state}/status", "-o", "Acquire::Languages=none", "-o", f"APT::Sandbox::User={sandbox_user()}"]
    for more in (["update"], ["source", "--download-only", "hwloc"]):
        if subprocess.run(apt + more, cwd=state, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
    for archive in glob.glob(os.path.join(state, "hwloc_*.orig.tar.*")):
        unpack(archive, os.path.join(scratch, "source"))
        return glob.glob(os.path.join(scratch, "source", "*"))[0]
    return None


def sandbox_user():
    """The user that apt downloads as: _apt cannot write to a directory that belongs to root."""
    return "root" if os.geteuid() == 0 else ""


def unpack(archive, into):
    os.makedirs(into)
    with tarfile.open(archive) as tar:
        safe = {"filter": "tar"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(into, **safe)


# ---- the raw files -------------------------------------------------------------------------------------------------

def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            return f.read().replace("\0", "")
    except OSError:
        return None


def parse_list(text):
    out = set()
    for part in text.split(",") if text.strip() else []:
        first, _, last = part.strip().partition("-")
        out |= set(range(int(first), int(last or first) + 1))
    return out


def parse_mask(text):
    value = int(text.strip().replace(",", ""), 16)
    return {i for i in range(value.bit_length()) if value >> i & 1}


def read_set(directory, list_name, mask_name):
    """A set of CPUs as the kernel writes it: as a list, or before Linux 2.6.26 only as a mask. None: neither file exists."""
    text = read(os.path.join(directory, list_name))
    if text is not None:
        return parse_list(text)
    text = read(os.path.join(directory, mask_name))
    return None if text is None else parse_mask(text)


def numbered(directory, prefix):
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted(int(n[len(prefix):]) for n in names if re.fullmatch(prefix + "[0-9]+", n))


class Raw:
    """The contents of the files of one machine."""

    def __init__(self, root):
        self.cpu_dir, self.node_dir = root + "/sys/devices/system/cpu", root + "/sys/devices/system/node"
        self.root = root
        self.online = self.read_online()
        self.nodes = self.read_nodes()
        self.distance = {}
        for n in self.nodes:
            row = (read(f"{self.node_dir}/node{n}/distance") or "").split()
            if len(row) == len(self.nodes) and "0" not in row:      # the firmware gives no distance
                self.distance[n] = [int(v) for v in row]
        self.mem = {}
        for n in self.nodes:
            found = re.search(r"MemTotal:\s+(\d+) kB", read(f"{self.node_dir}/node{n}/meminfo") or "")
            self.mem[n] = int(found.group(1)) * 1024 if found else None
        self.cores = self.count_cores()

    def read_online(self):
        text = read(self.cpu_dir + "/online")
        if text is not None:
            return parse_list(text)
        return {c for c in numbered(self.cpu_dir, "cpu") if (read(f"{self.cpu_dir}/cpu{c}/online") or "1").strip() != "0"}

    def read_nodes(self):
        text = read(self.node_dir + "/online")
        there = [n for n in numbered(self.node_dir, "node") if text is None or n in parse_list(text)]
        return {n: (read_set(f"{self.node_dir}/node{n}", "cpulist", "cpumap") or set()) & self.online for n in there}

    def count_cores(self):
        groups = set()
        for c in self.online:
            mine = read_set(f"{self.cpu_dir}/cpu{c}/topology", "thread_siblings_list", "thread_siblings")
            groups.add(frozenset((mine or set()) & self.online | {c}))
        return len(groups)

    def overlapping(self):
        seen = set()
        for cpus in self.nodes.values():
            if seen & cpus:
                return True
            seen |= cpus
        return False

    def mem_total(self):
        found = re.search(r"MemTotal:\s+(\d+) kB", read(self.root + "/proc/meminfo") or "")
        return int(found.group(1)) * 1024 if found else None

    def device(self, address):
        """(NUMA node or None, CPUs next to it or None); the kernel writes these CPUs twice, as a list and as a mask."""
        d = f"{self.root}/sys/bus/pci/devices/{address}"
        node = read(d + "/numa_node")
        node = int(node) if node and node.strip() else -1
        return node if node >= 0 else None, read_set(d, "local_cpulist", "local_cpus")

    def is_edited(self, address):
        """Returns whether one of the two files was edited, as for a test of hwloc."""
        d = f"{self.root}/sys/bus/pci/devices/{address}"
        mask = read(d + "/local_cpus")
        return mask is not None and parse_mask(mask) != read_set(d, "local_cpulist", "local_cpus")


# ---- hwloc's reference output --------------------------------------------------------------------------------------

class Lstopo:
    """Nodes (OS index: CPUs), distances by OS index, and the CPUs next to each PCI device, from text or XML of lstopo."""

    def __init__(self, path):
        text = read(path)
        self.nodes, self.distance, self.pci, self.pus = {}, {}, {}, set()
        if text.lstrip().startswith("<"):
            self.from_xml(text)
        else:
            self.from_text(text)

    def from_xml(self, text):
        def bits(s):
            out = 0
            for part in (s or "").split(","):
                out = out << 32 | int(part or "0", 16)
            return {i for i in range(out.bit_length()) if out >> i & 1}

        def walk(e, cpus):
            kind = e.get("type")
            mine = bits(e.get("cpuset")) if e.get("cpuset") else cpus
            if kind == "PU":
                self.pus |= mine
            if kind == "NUMANode":
                self.nodes[int(e.get("os_index"))] = mine
            if kind == "PCIDev":
                self.pci[e.get("pci_busid")] = mine
            for child in e.findall("object"):
                walk(child, mine)

        # hwloc writes "0xf...f" for an infinite set; no online machine has one
        top = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text))
        for e in top.findall("object"):
            walk(e, set())
        for d in top.findall("distances2"):
            if d.get("type") != "NUMANode" or "u64" not in "".join(c.tag for c in d):
                continue
            index = [int(v) for c in d.findall("indexes") for v in (c.text or "").split()]
            value = [int(v) for c in d.findall("u64values") for v in (c.text or "").split()]
            self.distance = {a: {b: value[i * len(index) + k] for k, b in enumerate(index)} for i, a in enumerate(index)}

    def from_text(self, text):
        stack, order, tree = [], {}, []
        lines = text.splitlines()
        for line in lines:
            found = re.match(r"( *)([A-Za-z0-9]+)(?:\(\w+\))? (?:L#(\d+)|P#(\d+)|(?=\())(?: ?\((.*)\))?", line)
            if not found or re.match(" *(depth|Special|Relative)", line):
                continue
            depth, kind, inside = len(found.group(1)), found.group(2), found.group(5) or ""
            index = found.group(4) or (re.match(r"P#(\d+)", inside) or [None, None])[1]
            while stack and stack[-1]["depth"] >= depth:
                stack.pop()
            me = {"depth": depth, "kind": kind, "index": int(index) if index else None,
                  "logical": int(found.group(3) or -1), "cpus": set(),
                  "up": stack[-1] if stack else None, "inside": inside}
            stack.append(me)
            tree.append(me)
            if kind == "PU" and me["index"] is not None:
                self.pus.add(me["index"])
                for up in stack:
                    up["cpus"].add(me["index"])
        for me in tree:
            up = me["up"]
            while up and up["kind"] in ("MemCache", "HostBridge", "PCIBridge", "PCI", "NUMANode"):
                up = up["up"]
            if me["kind"] == "NUMANode" and me["index"] is not None:
                order[me["logical"]] = me["index"]
                self.nodes[me["index"]] = up["cpus"] if up else me["cpus"]
            busid = re.search(r"busid=([0-9a-f:.]+)", me["inside"])
            if me["kind"] == "PCI" and busid:
                self.pci[busid.group(1)] = up["cpus"] if up else set()
        for i, line in enumerate(lines):
            if line.startswith("Relative latency matrix (name NUMALatency") and "NUMANodes" in line and "by logical" in line:
                columns = lines[i + 1].split()[1:]
                rows = [row.split() for row in lines[i + 2:i + 2 + len(columns)]]
                self.distance = {order[int(r[0])]: {order[int(c)]: int(v) for c, v in zip(columns, r[1:])} for r in rows}


# ---- our answers ---------------------------------------------------------------------------------------------------

def run(tool, *args):
    """(exit status, standard output); the status is None if the program did not end in time."""
    try:
        done = subprocess.run([os.path.join(tap.BUILD, tool), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, ""


class Suite:
    def __init__(self):
        self.offences, self.compared, self.machines = {}, 0, 0

    def same(self, rule, machine, what, ours, theirs):
        self.offences.setdefault(rule, [])
        self.compared += 1
        if ours != theirs:
            self.offences[rule].append(f"{machine}: {what} is {show(ours)}, not {show(theirs)}")

    def holds(self, rule, machine, what, ok):
        self.offences.setdefault(rule, [])
        self.compared += 1
        if not ok:
            self.offences[rule].append(f"{machine}: {what}")


def show(value):
    return str(sorted(value) if isinstance(value, (set, frozenset)) else value)[:200]


def ask(s, machine, root, tool, args, statuses):
    status, out = run(tool, *args, "--root", root, "--json")
    s.holds("every command ends with a documented status", machine, f"{tool} {args[0]} ended with {status}", status in statuses)
    try:
        return json.loads(out)
    except ValueError:
        s.holds("every command ends with a documented status", machine, f"{tool} {args[0]} printed no document", False)
        return None


def check_raw(s, machine, raw, host):
    rule = "nodes, CPUs, cores, memory and distances equal the raw files"
    s.same(rule, machine, "online CPUs", parse_list(host["cpu"]["online"] or ""), raw.online)
    s.same(rule, machine, "number of cores", host["cpu"]["cores"], raw.cores)
    if not raw.nodes:
        s.same(rule, machine, "number of nodes", len(host["nodes"]), 1)
        return
    s.same(rule, machine, "node numbers", [n["id"] for n in host["nodes"]], sorted(raw.nodes))
    for n in host["nodes"]:
        if n["id"] not in raw.nodes:
            continue
        s.same(rule, machine, f"CPUs of node {n['id']}", parse_list(n["cpus"]), raw.nodes[n["id"]])
        if raw.mem[n["id"]] is not None:
            s.same(rule, machine, f"memory of node {n['id']}", n["mem_bytes"], raw.mem[n["id"]])
        if n["id"] in raw.distance:
            s.same(rule, machine, f"distances of node {n['id']}", n["distances"], raw.distance[n["id"]])


def check_reference(s, machine, name, ref, host, raw):
    rule = "nodes, CPUs and distances equal the output that hwloc ships"
    ours = {n["id"]: n for n in host["nodes"]}
    order = [n["id"] for n in host["nodes"]]
    for n, cpus in ref.nodes.items() if raw.nodes else ():
        if raw.nodes.get(n) or n not in raw.nodes:      # For a node without CPUs, hwloc reports the CPUs of its neighbours.
            mine = parse_list(ours[n]["cpus"]) & ref.pus if n in ours else None     # it leaves out CPUs that the job may not use
            s.same(rule, machine, f"CPUs of node {n} ({name})", mine, cpus & raw.online)
    for a, row in ref.distance.items():
        for b, v in row.items():
            if a in ours and b in ours and ours[a]["distances"]:
                s.same(rule, machine, f"distance {a} to {b} ({name})", ours[a]["distances"][order.index(b)], v)


def check_devices(s, machine, raw, refs, topo):
    rule = "the locality of PCI devices equals the raw files and the output that hwloc ships"
    for d in topo["devices"]:
        node, near = raw.device(d["pci"])
        s.same(rule, machine, f"node of {d['pci']}", d["numa_node"], node)
        if near is None:
            continue
        s.same(rule, machine, f"CPUs near {d['pci']}", parse_list(d["local_cpulist"] or "") & raw.online, near & raw.online)
        for name, ref in refs:
            ours, theirs = parse_list(d["local_cpulist"] or "") & raw.online, ref.pci.get(d["pci"], set()) & raw.online
            if not theirs or not ours or raw.is_edited(d["pci"]):
                continue
            if ours in raw.nodes.values():
                s.same(rule, machine, f"CPUs near {d['pci']} ({name})", ours, theirs)
            else:       # hwloc has no object with exactly these CPUs: it takes the next larger one
                s.holds(rule, machine, f"CPUs near {d['pci']} ({name}): {show(ours)} are not among {show(theirs)}", ours <= theirs)


def check_values(s, machine, raw, plan, launch):
    rule = "no value of a plan or a launch is absurd"
    cpus, mem = len(raw.online), raw.mem_total() or sum(v or 0 for v in raw.mem.values())
    for e in launch["environment"]:
        if e["name"] == "OMP_NUM_THREADS" and e["status"] == "set":
            s.holds(rule, machine, f"OMP_NUM_THREADS={e['value']} on {cpus} CPUs, {raw.cores} cores", 1 <= int(e["value"]) <= raw.cores)
            s.holds(rule, machine, f"one thread on {raw.cores} cores", int(e["value"]) > 1 or raw.cores == 1)
        if e["name"] == "GLIBC_TUNABLES" and e["status"] == "set":
            for v in re.findall(r"mmap_threshold=(\d+)", e["value"]):
                s.holds(rule, machine, f"a malloc threshold of {v} bytes with {mem} bytes of memory", not mem or int(v) <= mem)
    for i in plan["items"]:
        if i["status"] == "change" and i["unit"] in ("bytes", "KiB") and str(i["wanted"]).isdigit() and mem:
            v = int(i["wanted"]) * (1024 if i["unit"] == "KiB" else 1)
            s.holds(rule, machine, f"{i['knob']} = {v} bytes with {mem} bytes of memory", v <= mem)


def check_machine(s, machine, root, refs):
    raw = Raw(root)
    s.machines += 1
    report = ask(s, machine, root, "gpuprobe", ["check"], (0, 1, 2, 3))
    topo = ask(s, machine, root, "gpuprobe", ["topo"], (0, 3))
    plan = ask(s, machine, root, "gputune", ["plan"], (0,))
    status, out = run("gputune", "run", "--root", root, "--print", "--json", "--", "true")
    s.holds("every command ends with a documented status", machine, f"gputune run ended with {status}", status == 0)
    for more in (["topo", "--svg", "/dev/null"], ["topo", "--nccl-xml", "/dev/null"], ["capture", "/dev/null"]):
        status, _ = run("gpuprobe", *more, "--root", root)
        s.holds("every command ends with a documented status", machine, f"gpuprobe {' '.join(more)}: {status}", status in (0, 3))
    if not (report and topo and plan and out):
        return
    check_raw(s, machine, raw, report["host"])
    for name, ref in refs:
        check_reference(s, machine, name, ref, report["host"], raw)
    check_devices(s, machine, raw, refs, topo)
    said = report["host"]["contradictions"]
    if raw.overlapping():
        s.holds("topology warnings are right", machine, "two nodes have the same CPU, and there is no warning", bool(said))
    else:
        s.holds("topology warnings are right", machine, f"warns: {said}", not said)
    check_values(s, machine, raw, plan, json.loads(out))


def machines(source):
    """Yield (name, archive, [reference outputs]) for each machine with Linux files."""
    for folder in ("linux", "x86+linux"):
        top = os.path.join(source, "tests/hwloc", folder)
        refs = {}
        for out in sorted(glob.glob(os.path.join(top, "*.output"))):
            stem = out[:-len(".output")]
            archive = os.path.join(source, "tests/hwloc/linux" if folder == "linux" else f"tests/hwloc/{folder}",
                                   (read(stem + ".source") or os.path.basename(stem) + ".tar.bz2").strip())
            refs.setdefault(archive, []).append(out)
        for archive in sorted(glob.glob(os.path.join(top, "*.tar.bz2"))):
            yield os.path.basename(archive)[:-len(".tar.bz2")], archive, refs.get(archive, [])


def references(paths):
    """Returns the reference outputs that agree with the files of the machine."""
    out = []
    for p in paths:
        env = read(p[:-len(".output")] + ".env") or ""
        ref = Lstopo(p)
        if "HWLOC_PCI_LOCALITY" in env:     # made with the locality of devices given by hand
            ref.pci = {}
        if "TOPOEXT_NUMANODES" in env:      # made with the nodes of the x86 back end, not those of the kernel
            continue
        out.append((os.path.basename(p), ref))
    return out


def find_root(directory):
    for place in ("*", "*/fsroot"):
        for d in glob.glob(os.path.join(directory, place)):
            if os.path.isdir(d + "/sys"):
                return d
    return None


def main(scratch):
    source = os.environ.get("HWLOC_SRC") or download(scratch)
    if not source or not os.path.isdir(os.path.join(source, "tests/hwloc/linux")):
        tap.skip("the machines of hwloc's test data", "the source package cannot be downloaded")
        return
    s = Suite()
    only = os.environ.get("MACHINES", "").split()
    for name, archive, refs in machines(source):
        if only and name not in only:
            continue
        into = os.path.join(scratch, "machines", name)
        unpack(archive, into)
        root = find_root(into)
        if root:
            check_machine(s, name, root, references(refs))
    for rule, offences in s.offences.items():
        tap.rule(rule, offences)
    print(f"# {s.machines} machines, {s.compared} comparisons, {sum(map(len, s.offences.values()))} failures")


with tempfile.TemporaryDirectory(prefix="gputune-machines-", dir=tap.BUILD) as top:
    main(top)
tap.plan()
