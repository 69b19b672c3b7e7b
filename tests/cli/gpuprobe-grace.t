GH200: page size, node of the GPU's memory and kernel arguments. One planted fault per host.

  $ for host in gh200 gh200-4k gh200-thp-always gh200-no-hbm gh200-arguments gh200-balancing; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  gh200: GPUPROBE OK - 48 checks pass, 0 unknown, kernel log not examined
  gh200-4k: GPUPROBE WARNING - grace.page-size: the kernel has pages of 4 KiB; NVIDIA recommends 64 KiB for this processor
  gh200-thp-always: GPUPROBE WARNING - grace.page-size: transparent huge pages of 512 MiB are on for all programs
  gh200-no-hbm: GPUPROBE UNKNOWN - grace.gpu-memory: 1 GPUs, but 0 NUMA nodes for their memory: the driver manages the memory itself (CDMM), or it failed to add it
  gh200-arguments: GPUPROBE WARNING - grace.arguments: the kernel command line has no init_on_alloc=0: the kernel may clear each page twice
  gh200-balancing: GPUPROBE WARNING - grace.arguments: automatic NUMA balancing is on: its page faults slow down accesses of the GPU to the processor's memory
  $ gpuprobe --root $FIXTURES/gh200.host -v | grep -e '^grace' -e '^host.topology' -e '^gpu.numa'
  host.topology        pass   NUMA nodes, CPUs and devices are consistent
  grace.page-size      pass   huge pages have 512 MiB
  grace.gpu-memory     pass   the memory of each GPU is a NUMA node without CPUs
  grace.arguments      pass   init_on_alloc=0 is set, and NUMA balancing is off
  gpu.numa-node        pass   the node of every GPU is known
  $ gpuprobe --root $FIXTURES/gh200-4k.host | sed -n '/^Warning/,/^$/p'
  Warning: grace.page-size
    the kernel has pages of 4 KiB; NVIDIA recommends 64 KiB for this processor
    Remedy:
      Install a kernel with pages of 64 KiB. Huge pages then have 512 MiB instead of 2 MiB:
        apt install linux-nvidia-64k-hwe-24.04; reboot
  
  $ sed '/hpage_pmd_size/{n;s/.*/\t33554432/}' $FIXTURES/gh200.host >16k.host; gpuprobe --root 16k.host --format line | sed 's/ |.*//'
  GPUPROBE UNKNOWN - grace.page-size: huge pages have 32 MiB
