#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""nccl_grammar.py FILE: checks that NCCL's reader accepts the file (src/graph/xml.cc and topo.cc of NCCL 2.30). That reader has no
declarations or entities, limits elements, attributes and characters, and requires certain attributes of certain elements."""
import re
import sys
import xml.etree.ElementTree as tree

INSIDE = {"system": {"cpu"}, "cpu": {"pci", "nic"}, "pci": {"pci", "gpu", "nic", "pcilink"}, "gpu": {"nvlink", "c2c"}, "nic": {"net"}}
ASKED = {"system": {"version"}, "cpu": {"numaid"}, "pci": {"busid", "class"}, "gpu": set(), "nic": set(), "net": {"name"},
         "nvlink": {"target", "count", "tclass"}, "c2c": {"bw", "count"}}
SPEEDS = {"2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"}


def offences(text):
    if re.search(r"<[?!]|&", text):
        yield "a declaration, a comment or an entity"
    if re.search(r'  +[a-z_]+="', text.replace("\n", "\n ").replace("\n ", "\n")):
        yield "more than one blank before an attribute"
    root = tree.fromstring(text)
    elements = list(root.iter())
    if root.tag != "system" or root.get("version") != "1":
        yield "the root is not system, version 1"
    if len(elements) > 256:
        yield f"{len(elements)} elements"
    buses = [e.get("busid") for e in elements if e.tag == "pci"]
    if len(set(buses)) != len(buses):
        yield "a bus id twice"
    for e in elements:
        if len(e.attrib) > 16 or any(len(k) > 254 or len(v) > 254 for k, v in e.attrib.items()):
            yield f"{e.tag}: too long"
        if not ASKED.get(e.tag, {"?"}) <= set(e.attrib):
            yield f"{e.tag}: lacks {ASKED.get(e.tag)}"
        yield from (f"{c.tag} in {e.tag}" for c in e if c.tag not in INSIDE.get(e.tag, set()))
        if e.tag == "pci" and not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", e.get("busid")):
            yield f"busid {e.get('busid')}"
        if e.get("link_speed") and e.get("link_speed") not in SPEEDS:
            yield f"link_speed {e.get('link_speed')}"
        if e.get("affinity") and not re.fullmatch("[0-9a-f]{8}(,[0-9a-f]{8})*", e.get("affinity")):
            yield f"affinity {e.get('affinity')}"


with open(sys.argv[1], encoding="ascii") as f:
    BAD = list(offences(f.read()))
print("\n".join(BAD), end="\n" if BAD else "")
sys.exit(1 if BAD else 0)
