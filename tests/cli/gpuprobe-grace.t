GH200: page size, node of the GPU's memory and kernel arguments. One planted fault per host.

  $ for host in gh200 gh200-4k gh200-thp-always gh200-no-hbm gh200-arguments gh200-balancing gh200-c2c-down gh200-hmm gb200; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  gh200: GPUPROBE OK - 50 checks pass, 0 unknown, kernel log not examined
  gh200-4k: GPUPROBE WARNING - grace.page-size: the kernel has pages of 4 KiB; NVIDIA recommends 64 KiB for this processor
  gh200-thp-always: GPUPROBE WARNING - grace.page-size: transparent huge pages of 512 MiB are on for all programs
  gh200-no-hbm: GPUPROBE UNKNOWN - grace.gpu-memory: 1 GPUs, but 0 NUMA nodes for their memory: the driver manages the memory itself (CDMM), or it failed to add it
  gh200-arguments: GPUPROBE WARNING - grace.arguments: the kernel command line has no init_on_alloc=0: the kernel may clear each page twice
  gh200-balancing: GPUPROBE WARNING - grace.arguments: automatic NUMA balancing is on: its page faults slow down accesses of the GPU to the processor's memory
  gh200-c2c-down: GPUPROBE WARNING - grace.c2c: 1 of 10 NVLink-C2C links between the processor and GPU 0000:17:00.0 are down
  gh200-hmm: GPUPROBE WARNING - grace.ats: GPU 0000:17:00.0 does not use the page tables of the processor (ATS): NVML reports the addressing mode HMM
  gb200: GPUPROBE OK - 54 checks pass, 0 unknown, kernel log not examined
  $ gpuprobe --root $FIXTURES/gh200.host -v | grep -e '^grace' -e '^host.topology' -e '^gpu.numa'
  host.topology        pass   NUMA nodes, CPUs and devices are consistent
  grace.page-size      pass   huge pages have 512 MiB
  grace.gpu-memory     pass   the memory of each GPU is a NUMA node without CPUs
  grace.arguments      pass   init_on_alloc=0 is set, and NUMA balancing is off
  grace.c2c            pass   all NVLink-C2C links between processors and GPUs are active
  grace.ats            pass   GPUs use the page tables of the processor (ATS)
  gpu.numa-node        pass   the node of every GPU is known
  $ gpuprobe --root $FIXTURES/gh200-4k.host | sed -n '/^Warning/,/^$/p'
  Warning: grace.page-size
    the kernel has pages of 4 KiB; NVIDIA recommends 64 KiB for this processor
    Remedy:
      Install a kernel with pages of 64 KiB. Huge pages then have 512 MiB instead of 2 MiB:
        apt install linux-nvidia-64k-hwe-24.04; reboot
  
  $ sed '/hpage_pmd_size/{n;s/.*/\t33554432/}' $FIXTURES/gh200.host >16k.host; gpuprobe --root 16k.host --format line | sed 's/ |.*//'
  GPUPROBE UNKNOWN - grace.page-size: huge pages have 32 MiB

The GPU's memory is a node of the host, connected to the processor by NVLink-C2C.

  $ gpuprobe topo --root $FIXTURES/gb200.host
  NODE CPUS              MEMORY TO 0 TO 1 TO 2 TO 10 TO 18 TO 26
     0 0-71             480 GiB   10   21   21    21    21    21
     1 72-143           480 GiB   21   10   21    21    21    21
     2 (memory of GPU0) 184 GiB   21   21   10    21    21    21
    10 (memory of GPU1) 184 GiB   21   21   21    10    21    21
    18 (memory of GPU2) 184 GiB   21   21   21    21    10    21
    26 (memory of GPU3) 184 GiB   21   21   21    21    21    10
  
  NAME DEVICE       NODE NEAR CPUS LINK        CALLED
  GPU0 0000:17:00.0    0 0-71      x16 16 GT/s NVIDIA GB200
  GPU1 0000:1f:00.0    0 0-71      x16 16 GT/s NVIDIA GB200
  GPU2 0000:27:00.0    1 72-143    x16 16 GT/s NVIDIA GB200
  GPU3 0000:2f:00.0    1 72-143    x16 16 GT/s NVIDIA GB200
  IB0  0000:40:00.0    0 0-71      x16 16 GT/s mlx5_0
  GPU0: 10 C2C links, 447 GB/s to the processor of its node
  GPU1: 10 C2C links, 447 GB/s to the processor of its node
  GPU2: 10 C2C links, 447 GB/s to the processor of its node
  GPU3: 10 C2C links, 447 GB/s to the processor of its node
  
       GPU0 GPU1 GPU2 GPU3 IB0
  GPU0 X    NV18 NV18 NV18 NODE
  GPU1 NV18 X    NV18 NV18 NODE
  GPU2 NV18 NV18 X    NV18 SYS
  GPU3 NV18 NV18 NV18 X    SYS
  IB0  NODE NODE SYS  SYS  X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  $ gpuprobe topo --root $FIXTURES/gb200.host --svg gb200.svg && grep -e 'memory of' -e C2C gb200.svg
  <text x="28" y="392" class="small soft" text-anchor="start">memory of GPU0</text>
  <text x="28" y="506" class="small soft" text-anchor="start">memory of GPU1</text>
  <text x="28" y="620" class="small soft" text-anchor="start">memory of GPU2</text>
  <text x="28" y="734" class="small soft" text-anchor="start">memory of GPU3</text>
  <text x="212" y="73" class="small" text-anchor="start">10 C2C links, 447 GB/s</text>
  <text x="212" y="119" class="small" text-anchor="start">10 C2C links, 447 GB/s</text>
  <text x="212" y="233" class="small" text-anchor="start">10 C2C links, 447 GB/s</text>
  <text x="212" y="279" class="small" text-anchor="start">10 C2C links, 447 GB/s</text>
  $ gpuprobe topo --root $FIXTURES/gh200-c2c-down.host --svg down.svg && grep -e C2C -e '<desc' down.svg
  <desc id="d">2 NUMA nodes, 1 devices. A link is degraded.</desc>
  <text x="212" y="73" class="bad small" text-anchor="start">! 1 of 10 C2C links down</text>
  $ gpuprobe topo --root $FIXTURES/gh200.host --nccl-xml gh200.xml && cat gh200.xml
  <system version="1">
    <cpu numaid="0" affinity="000000ff,ffffffff,ffffffff" arch="arm64">
      <pci busid="0000:17:00.0" class="0x030200" vendor="0x10de" device="0x2342" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu sm="90">
          <c2c bw="44712" count="10"/>
        </gpu>
      </pci>
    </cpu>
    <cpu numaid="1" affinity="00000000" arch="arm64">
    </cpu>
  </system>
  $ gpuprobe --root $FIXTURES/gh200-c2c-down.host | sed -n '/^Warning/,/^$/p'
  Warning: grace.c2c
    1 of 10 NVLink-C2C links between the processor and GPU 0000:17:00.0 are down
    Remedy:
      Links that are down after a power cycle are a fault of the module. State and errors of each
      link:
        nvidia-smi c2c -s
        nvidia-smi c2c -e
  

Readings that are absent are unknown.

  $ without() { sed "s/$1//" $FIXTURES/gh200.host >part.host; gpuprobe --root part.host -v | grep -e 'grace.*' ; }
  $ without '"c2c_links_down": 0, '
  UNKNOWN: NVML does not report the NVLink-C2C links of GPU 0000:17:00.0 [grace.c2c]
  grace.page-size      pass    huge pages have 512 MiB
  grace.gpu-memory     pass    the memory of each GPU is a NUMA node without CPUs
  grace.arguments      pass    init_on_alloc=0 is set, and NUMA balancing is off
  grace.c2c            unknown NVML does not report the NVLink-C2C links of GPU 0000:17:00.0
  grace.ats            pass    GPUs use the page tables of the processor (ATS)
  $ without '"addressing_mode": 2, '
  grace.page-size      pass   huge pages have 512 MiB
  grace.gpu-memory     pass   the memory of each GPU is a NUMA node without CPUs
  grace.arguments      pass   init_on_alloc=0 is set, and NUMA balancing is off
  grace.c2c            pass   all NVLink-C2C links between processors and GPUs are active
  grace.ats            skip   NVML does not report the addressing mode
