Paths between devices; an unknown node is a question mark, never node 0.

  $ gpuprobe topo --root $FIXTURES/server-8gpu.host
  NODE CPUS         MEMORY TO 0 TO 1
     0 0-15,32-47  256 GiB   10   21
     1 16-31,48-63 256 GiB   21   10
  
  NAME DEVICE       NODE NEAR CPUS   LINK        CALLED
  GPU0 0000:17:00.0    0 0-15,32-47  x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU1 0000:1f:00.0    0 0-15,32-47  x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU2 0000:27:00.0    0 0-15,32-47  x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU3 0000:2f:00.0    0 0-15,32-47  x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU4 0000:37:00.0    1 16-31,48-63 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU5 0000:3f:00.0    1 16-31,48-63 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU6 0000:47:00.0    1 16-31,48-63 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU7 0000:4f:00.0    1 16-31,48-63 x16 16 GT/s NVIDIA H100 80GB HBM3
  
       GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7
  GPU0 X    NODE NODE NODE SYS  SYS  SYS  SYS
  GPU1 NODE X    NODE NODE SYS  SYS  SYS  SYS
  GPU2 NODE NODE X    NODE SYS  SYS  SYS  SYS
  GPU3 NODE NODE NODE X    SYS  SYS  SYS  SYS
  GPU4 SYS  SYS  SYS  SYS  X    NODE NODE NODE
  GPU5 SYS  SYS  SYS  SYS  NODE X    NODE NODE
  GPU6 SYS  SYS  SYS  SYS  NODE NODE X    NODE
  GPU7 SYS  SYS  SYS  SYS  NODE NODE NODE X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  $ gpuprobe topo --root $FIXTURES/gpu-lost-and-narrow.host
  NODE CPUS         MEMORY TO 0 TO 1
     0 0-15,32-47  256 GiB   10   21
     1 16-31,48-63 256 GiB   21   10
  
  NAME DEVICE       NODE NEAR CPUS LINK        CALLED
  GPU0 0000:17:00.0    ? 0-63      x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU1 0000:1f:00.0    ? 0-63      x4 of x16 !
  
       GPU0 GPU1
  GPU0 X    ?
  GPU1 ?    X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  $ gpuprobe topo --root $FIXTURES/cpuless-node.host
  NODE CPUS     MEMORY TO 0 TO 12
     0 0-7    64.0 GiB   10    21
    12 (none) 96.0 GiB   21    10
  
  no GPU, NIC or NVMe on the PCI bus

The bridges between two paths are equal from both ends; only between root complexes the node must be known.

  $ gpuprobe topo --root $FIXTURES/pcie-switches.host
  NODE CPUS        MEMORY TO 0 TO 1
     0 0-3,8-11  64.0 GiB   10   21
     1 4-7,12-15 64.0 GiB   21   10
  
  NAME  DEVICE       NODE NEAR CPUS LINK        CALLED
  GPU0  0000:19:00.0    0 0-3,8-11  x16 16 GT/s
  IB0   0000:1a:00.0    0 0-3,8-11  x16 16 GT/s
  NIC0  0000:1d:00.0    0 0-3,8-11  x16 16 GT/s
  GPU1  0000:29:00.0    0 0-3,8-11  x16 16 GT/s
  NVMe0 0000:80:00.0    ? 0-15      x16 16 GT/s
  
        GPU0 IB0 NIC0 GPU1 NVMe0
  GPU0  X    PIX PXB  PHB  ?
  IB0   PIX  X   PXB  PHB  ?
  NIC0  PXB  PXB X    PHB  ?
  GPU1  PHB  PHB PHB  X    ?
  NVMe0 ?    ?   ?    ?    X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown

NVLinks take precedence, through switches or directly. A link below its capability is marked, contradictory sources are
named, and a node that only NVML reports is used.

  $ gpuprobe topo --root $FIXTURES/nvswitch-8gpu.host
  NODE CPUS         MEMORY TO 0 TO 1
     0 0-15,32-47  256 GiB   10   21
     1 16-31,48-63 256 GiB   21   10
  
  NAME DEVICE       NODE NEAR CPUS  LINK        CALLED
  GPU0 0000:17:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU1 0000:1f:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU2 0000:27:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU3 0000:2f:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU4 0000:37:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU5 0000:3f:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU6 0000:47:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  GPU7 0000:4f:00.0    0 0-15,32-47 x16 16 GT/s NVIDIA H100 80GB HBM3
  
       GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7
  GPU0 X    NV18 NV18 NV18 NV18 NV18 NV18 NV18
  GPU1 NV18 X    NV18 NV18 NV18 NV18 NV18 NV18
  GPU2 NV18 NV18 X    NV18 NV18 NV18 NV18 NV18
  GPU3 NV18 NV18 NV18 X    NV18 NV18 NV18 NV18
  GPU4 NV18 NV18 NV18 NV18 X    NV18 NV18 NV18
  GPU5 NV18 NV18 NV18 NV18 NV18 X    NV18 NV18
  GPU6 NV18 NV18 NV18 NV18 NV18 NV18 X    NV18
  GPU7 NV18 NV18 NV18 NV18 NV18 NV18 NV18 X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  $ gpuprobe topo --root $FIXTURES/two-node-bad-link.host
  NODE CPUS        MEMORY TO 0 TO 1
     0 0-7,16-23  128 GiB   10   21
     1 8-15,24-31 128 GiB   21   10
  
  NAME  DEVICE           NODE NEAR CPUS  LINK               CALLED
  GPU0  0000:19:00.0        0 0-7,16-23  x16 16 GT/s        NVIDIA A100 80GB PCIe
  GPU1  0000:1a:00.0        0 0-7,16-23  x16 16 GT/s        NVIDIA A100 80GB PCIe
  IB0   0000:1b:00.0        0 0-7,16-23  x16 16 GT/s        mlx5_0 ib0
  NVMe0 0000:1c:00.0        0 0-7,16-23  x4 16 GT/s
  GPU2  0000:99:00.0        1 8-15,24-31 x8 of x16 !        NVIDIA A100 80GB PCIe
  GPU3  0000:9a:00.0 1 (NVML) 0-31       x16 16 GT/s        NVIDIA A100 80GB PCIe
  IB1   0000:9b:00.0        1 8-15,24-31 x16 8 of 16 GT/s ! mlx5_1 ib1
  NVMe1 0000:9c:00.0        1 8-15,24-31 x4 16 GT/s
  
        GPU0 GPU1 IB0 NVMe0 GPU2 GPU3 IB1 NVMe1
  GPU0  X    NV12 PIX PIX   SYS  SYS  SYS SYS
  GPU1  NV12 X    PIX PIX   SYS  SYS  SYS SYS
  IB0   PIX  PIX  X   PIX   SYS  SYS  SYS SYS
  NVMe0 PIX  PIX  PIX X     SYS  SYS  SYS SYS
  GPU2  SYS  SYS  SYS SYS   X    NV12 PIX PIX
  GPU3  SYS  SYS  SYS SYS   NV12 X    PIX PIX
  IB1   SYS  SYS  SYS SYS   PIX  PIX  X   PIX
  NVMe1 SYS  SYS  SYS SYS   PIX  PIX  PIX X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  
  Sources that disagree:
    GPU0 to GPU2 is SYS by the numa nodes, but NODE by NVML

With a driver that does not answer, NVLinks are unknown, and the report says so.

  $ gpuprobe topo --root $FIXTURES/gpu-hung.host | tail -n 5
  GPU0 X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  
  NVML: timeout, NVML did not respond within 10 s: NVLinks are not known

Each path names its source.

  $ gpuprobe topo --json --root $FIXTURES/two-node-bad-link.host > doc
  $ way() { python3 -c 'import json, sys; d = json.load(open("doc")); n = {x["pci"]: x["name"] for x in d["devices"]}
  > for e in d["edges"]:
  >     if [n[e["a"]], n[e["b"]]] == sys.argv[1:]: print(e["way"], "by", e["from"] + ", over PCIe", e["pcie"], "by", e["pcie_from"])' "$@"; }
  $ way GPU0 GPU1; way GPU0 IB0; way GPU0 GPU3; way IB0 GPU3; way IB0 IB1
  NV12 by nvml nvlink, over PCIe PIX by pci tree
  PIX by pci tree, over PCIe PIX by pci tree
  SYS by nvml, over PCIe SYS by nvml
  SYS by nvml, over PCIe SYS by nvml
  SYS by numa nodes, over PCIe SYS by numa nodes
  $ gpuprobe topo --json --no-nvml --root $FIXTURES/two-node-bad-link.host > doc; way IB0 IB1
  SYS by numa nodes, over PCIe SYS by numa nodes

A drawing with text for screen readers: well-formed, degraded links drawn dashed and described.

  $ gpuprobe topo --svg two.svg --root $FIXTURES/two-node-bad-link.host
  $ python3 -c 'import xml.etree.ElementTree as e; r = e.parse("two.svg").getroot(); n = "{http://www.w3.org/2000/svg}"
  > print(r.get("role"), "|", r.find(n + "title").text, "|", r.find(n + "desc").text)
  > print(sum(p.get("class") == "bad" for p in r.iter(n + "path")), [t.text for t in r.iter(n + "text") if (t.text or "").startswith("! ")])
  > ids = [x.get("id") for x in r.iter() if x.get("id")]; print(r.get("aria-labelledby").split() == ids, "prefers-color-scheme" in r.find(n + "style").text)'
  img | Made-up two-socket CPU: nodes, devices and links | 2 NUMA nodes, 8 devices. Degraded links: GPU2 x8 of x16; IB1 8 of 16 GT/s.
  2 ['! marks a link that is narrower or slower than both of its ends support', '! x8 of x16', '! 8 of 16 GT/s']
  True True
  $ gpuprobe topo --svg - --root $FIXTURES/gpu-hung.host | grep -o 'NVLinks unknown: NVML timeout'
  NVLinks unknown: NVML timeout
  $ gpuprobe topo --svg - --root $FIXTURES/nvswitch-8gpu.host | grep -o '18 links\|4 NVSwitches' | sort | uniq -c
        8 18 links
        1 4 NVSwitches
  $ for f in $FIXTURES/*.host; do gpuprobe topo --svg - --root $f > any.svg && python3 -c 'import xml.dom.minidom as m; m.parse("any.svg")' || echo $f; done

The format of NCCL_TOPO_FILE: NCCL's own tree (no root ports; of a switch its upstream port); an unknown node is NCCL's -1.

  $ gpuprobe topo --nccl-xml - --root $FIXTURES/two-node-bad-link.host
  <system version="1">
    <cpu numaid="0" affinity="00ff00ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
      <pci busid="0000:17:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="16.0 GT/s PCIe" link_width="16">
        <pci busid="0000:19:00.0" class="0x030200" vendor="0x10de" device="0x20b5" link_speed="16.0 GT/s PCIe" link_width="16">
          <gpu dev="0" sm="80">
            <nvlink target="0000:1a:00.0" count="12" tclass="0x030200"/>
          </gpu>
        </pci>
        <pci busid="0000:1a:00.0" class="0x030200" vendor="0x10de" device="0x20b5" link_speed="16.0 GT/s PCIe" link_width="16">
          <gpu dev="1" sm="80">
            <nvlink target="0000:19:00.0" count="12" tclass="0x030200"/>
          </gpu>
        </pci>
        <pci busid="0000:1b:00.0" class="0x020700" vendor="0x15b3" device="0x101d" link_speed="16.0 GT/s PCIe" link_width="16">
          <nic>
            <net name="mlx5_0" speed="200000"/>
          </nic>
        </pci>
      </pci>
    </cpu>
    <cpu numaid="1" affinity="ff00ff00" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
      <pci busid="0000:97:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="16.0 GT/s PCIe" link_width="16">
        <pci busid="0000:99:00.0" class="0x030200" vendor="0x10de" device="0x20b5" link_speed="16.0 GT/s PCIe" link_width="8">
          <gpu dev="2" sm="80">
            <nvlink target="0000:9a:00.0" count="12" tclass="0x030200"/>
          </gpu>
        </pci>
        <pci busid="0000:9a:00.0" class="0x030200" vendor="0x10de" device="0x20b5" link_speed="16.0 GT/s PCIe" link_width="16">
          <gpu dev="3" sm="80">
            <nvlink target="0000:99:00.0" count="12" tclass="0x030200"/>
          </gpu>
        </pci>
        <pci busid="0000:9b:00.0" class="0x020700" vendor="0x15b3" device="0x101d" link_speed="8.0 GT/s PCIe" link_width="16">
          <nic>
            <net name="mlx5_1" speed="200000"/>
          </nic>
        </pci>
      </pci>
    </cpu>
  </system>
  $ gpuprobe topo --nccl-xml - --root $FIXTURES/nvswitch-8gpu.host | grep -c '<nvlink target="0000:0[789a]:00.0" count="[45]" tclass="0x068000"/>'
  32
  $ gpuprobe topo --nccl-xml - --root $FIXTURES/gpu-lost-and-narrow.host
  <system version="1">
    <cpu numaid="0" affinity="0000ffff,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    </cpu>
    <cpu numaid="1" affinity="ffff0000,ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    </cpu>
    <cpu numaid="-1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
      <pci busid="0000:17:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu sm="90"/>
      </pci>
      <pci busid="0000:1f:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="16.0 GT/s PCIe" link_width="4">
        <gpu/>
      </pci>
    </cpu>
  </system>
  $ for f in $FIXTURES/*.host; do gpuprobe topo --nccl-xml any.xml --root $f && python3 $TESTDIR/peers/nccl_grammar.py any.xml || echo $f; done

A capture contains all of it: hwloc's export, NVML's links, the system's names. A replay draws the same, to the byte.

  $ gpuprobe capture copy.host --root $FIXTURES/two-node-bad-link.host
  $ for o in --json --svg=- --nccl-xml=- -v; do gpuprobe topo $o --root $FIXTURES/two-node-bad-link.host > one; gpuprobe topo $o --root copy.host > two; cmp one two; done
  $ sed 's/ib0/enx78e7d1ea46da/g; s/ib1/enx0011aabbccdd/g' $FIXTURES/two-node-bad-link.host > named.host; gpuprobe capture copy.host --root named.host
  $ grep -c '78e7d1ea46da\|0011aabbccdd' copy.host; grep -c enx02000000000[12] copy.host
  0
  6
  $ gpuprobe --json --root named.host > one; gpuprobe --json --root copy.host > two; grep -o 'enx[0-9a-f]*' two | sort -u; cmp one two
  enx020000000001
  enx020000000002
  $ gpuprobe topo --json > live; gpuprobe capture here.host; gpuprobe topo --json --root here.host > replay; diff live replay | grep -v gt_per_s | grep '^[<>]'
  [1]
  $ grep -c '^file /.facts/hwloc.xml' here.host
  1

  $ gpuprobe topo --svg /nonexistent/x.svg
  gpuprobe: cannot create /nonexistent/x.svg: No such file or directory
  [64]
