GPUs of AMD are examined through amdgpu and KFD. One planted fault per host: verdict, check and sentence.

  $ for host in mi300x mi300x-no-driver mi300x-one-missing mi300x-no-access mi300x-hidden mi300x-errors mi300x-bad-pages \
  >     mi300x-xgmi-down mi300x-partition mi300x-narrow mi300x-power mi300x-translating navi-narrow-slot; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  mi300x: GPUPROBE OK - 23 checks pass, 0 unknown, kernel log not examined
  mi300x-no-driver: GPUPROBE CRITICAL - amd.driver: GPU 0000:11:00.0 of AMD has no driver: amdgpu does not drive it
  mi300x-one-missing: GPUPROBE CRITICAL - amd.driver: amdgpu drives GPU 0000:da:00.0, but KFD does not list it, so ROCm cannot use it
  mi300x-no-access: GPUPROBE CRITICAL - amd.access: /dev/kfd is unreadable for this user: ROCm finds no GPU
  mi300x-hidden: GPUPROBE WARNING - amd.visible: HIP_VISIBLE_DEVICES=0,1,8,2 leaves 2 of 8 devices: 8 is no device here
  mi300x-errors: GPUPROBE WARNING - amd.ras: GPU 0000:5d:00.0 had uncorrected errors since amdgpu was loaded: 2 (memory pages retired: 1, at the next reset: 1)
  mi300x-bad-pages: GPUPROBE CRITICAL - amd.ras: GPU 0000:11:00.0 could not retire faulty memory (1 page)
  mi300x-xgmi-down: GPUPROBE WARNING - amd.xgmi: GPU 0000:aa:00.0 has XGMI links to 6 GPUs, others of the same model to 7
  mi300x-partition: GPUPROBE WARNING - amd.partition: GPU 0000:da:00.0 is in mode CPX/NPS1, but GPU 0000:11:00.0 is in SPX/NPS1: devices have different sizes
  mi300x-narrow: GPUPROBE WARNING - gpu.pcie-width: GPU 0000:46:00.0 runs at PCIe x8 although GPU and slot support x16
  mi300x-power: GPUPROBE WARNING - amd.power-cap: the power limits of equal GPUs differ: 750 W for 0000:11:00.0, 500 W for 0000:2f:00.0
  mi300x-translating: GPUPROBE WARNING - pcie.iommu: the IOMMU translates every access of the host's own devices: copies between GPUs are slow, wrong or hang
  navi-narrow-slot: GPUPROBE WARNING - gpu.pcie-width: GPU 0000:03:00.0 runs at PCIe x4 although GPU and slot support x16
  $ gpuprobe --root $FIXTURES/mi300x-balancing.host | sed -n '/^Advice/,/^$/p'
  Advice (gputune plan has the commands):
    host.numa-balancing: automatic NUMA balancing is on: it unmaps pages that Instinct GPUs use, and
    RCCL's speed varies
  
  $ gpuprobe --root $FIXTURES/mi300x.host
  OK: no problem found
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    8 GPUs, 0000:11:00.0 to 0000:da:00.0: AMD gfx942, 192 GiB, driver amdgpu
    amdgpu 6.8.5
    ROCm 6.2.0-66
  
  23 checks pass (--verbose shows all)
  the kernel log was not examined
  $ gpuprobe --root $FIXTURES/mi300x.host --require-gpu --format line
  GPUPROBE OK - 23 checks pass, 0 unknown, kernel log not examined | fail=0;;0 warn=0;0 unknown=0 pass=23 gpus=8

A container that may use one GPU reads only the node of this GPU. The others are hidden, not faulty.

  $ sed '/nodes.[3-9].properties/,/num_xcc/d' $FIXTURES/mi300x.host >container.host
  $ for n in 3 4 5 6 7 8 9; do echo "deny /sys/class/kfd/kfd/topology/nodes/$n/properties EPERM"; done >>container.host
  $ printf 'file /run/systemd/container\n\tdocker\n' >>container.host
  $ gpuprobe --root container.host -v | grep amd
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64, container
    GPU 0000:11:00.0: AMD gfx942, 192 GiB, driver amdgpu
    7 GPUs, 0000:2f:00.0 to 0000:da:00.0: AMD, 192 GiB, driver amdgpu
    amdgpu 6.8.5
  amd.driver           pass   amdgpu 6.8.5 drives every AMD GPU, and KFD lists those that this
  amd.access           pass   this user may open /dev/kfd and the render nodes
  amd.visible          pass   the environment leaves 1 of 1 devices visible
  amd.ras              pass   no AMD GPU had an uncorrected error since amdgpu was loaded (0
  amd.xgmi             skip   this container may read only some of the AMD GPUs
  amd.partition        pass   every AMD GPU is in partition mode SPX/NPS1
  amd.power-cap        pass   no AMD GPU has a power limit below its default
  kernel.preempt-rt    pass   kernel 6.1.0-41-amd64 is not a PREEMPT_RT kernel
  $ gpuprobe --root container.host --json | python3 -c 'import json, sys
  > print(*(g["gfx"] for g in json.load(sys.stdin)["host"]["other_gpus"]))'
  gfx942 {'state': 'unreadable'} {'state': 'unreadable'} {'state': 'unreadable'} {'state': 'unreadable'} {'state': 'unreadable'} {'state': 'unreadable'} {'state': 'unreadable'}

Counters and lists that cannot be read are unknown, and hostile ones give no wrong verdict.

  $ fault() { # PATTERN REPLACEMENT
  >   sed "$1" $FIXTURES/mi300x.host >fault.host; gpuprobe --root fault.host --format line | sed 's/ |.*//'
  > }
  $ fault 's/^\tue: 0/\tnonsense/'
  GPUPROBE UNKNOWN - amd.ras: the error counters of 8 AMD GPUs cannot be read
  $ fault 's/^\tue: 0/\tue: 99999999999999999999/'
  GPUPROBE UNKNOWN - amd.ras: the error counters of 8 AMD GPUs cannot be read
  $ fault 's/^\tnode_to .*/\tnode_to 4294967295/'
  GPUPROBE UNKNOWN - amd.xgmi: no XGMI link between the GPUs: normal for PCIe cards without a bridge, a fault on a board of MI200, MI300 or newer
  $ fault 's/^\tlocation_id .*/\tlocation_id 18446744073709551616/'
  GPUPROBE CRITICAL - amd.driver: amdgpu drives GPU 0000:11:00.0, but KFD does not list it, so ROCm cannot use it
  $ fault 's/^\tgfx_target_version .*/\tgfx_target_version -1/'
  GPUPROBE CRITICAL - amd.driver: amdgpu drives GPU 0000:11:00.0, but KFD does not list it, so ROCm cannot use it
  $ fault 's/^\tSPX/\t/'
  GPUPROBE UNKNOWN - amd.partition: the partition mode cannot be read

The answers for PyTorch name the build for ROCm.

  $ gpuprobe --root $FIXTURES/mi300x.host recommend
  1. PyTorch 2.14 with ROCm 7.2 is the newest known to contain code for the AMD GPUs (gfx942):
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/rocm7.2
  $ gpuprobe --root $FIXTURES/mi300x.host can torch==2.13+rocm7.2
  torch==2.13+rocm7.2: yes
    yes: PyTorch 2.13 has wheels for ROCm 7.2 (torch_rocm.tsv)
    yes: it contains code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
  $ gpuprobe --root $FIXTURES/mi300x.host can torch==2.1+rocm5.6
  torch==2.1+rocm5.6: no
    yes: PyTorch 2.1 has wheels for ROCm 5.6 (torch_rocm.tsv)
    no: it contains no code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
    yes: it has wheels for Python 3.8 to 3.11; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.17; this host has 2.36 (wheel tags on PyPI)
    Use instead: torch==2.14+rocm7.2
  [2]
  $ for wheel in 2.2+rocm5.7 2.3+rocm5.7 2.4+rocm6.0 2.7+rocm6.2.4 2.10+rocm7.0 2.10+rocm6.4; do
  >   gpuprobe --root $FIXTURES/mi300x.host can torch==$wheel | grep -e '^torch' -e tsv | grep -v framework
  > done
  torch==2.2+rocm5.7: no
    yes: PyTorch 2.2 has wheels for ROCm 5.7 (torch_rocm.tsv)
    no: it contains no code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
  torch==2.3+rocm5.7: unknown
    yes: PyTorch 2.3 has wheels for ROCm 5.7 (torch_rocm.tsv)
    (torch_rocm_arch.tsv)
  torch==2.4+rocm6.0: yes
    yes: PyTorch 2.4 has wheels for ROCm 6.0 (torch_rocm.tsv)
    yes: it contains code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
  torch==2.7+rocm6.2.4: yes
    yes: PyTorch 2.7 has wheels for ROCm 6.2.4 (torch_rocm.tsv)
    yes: it contains code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
  torch==2.10+rocm7.0: yes
    yes: PyTorch 2.10 has wheels for ROCm 7.0 (torch_rocm.tsv)
    yes: it contains code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
  torch==2.10+rocm6.4: unknown
    unknown: the table has wheels of PyTorch 2.10 for ROCm 7.0,7.1, not 6.4 (torch_rocm.tsv)
    yes: it contains code for gfx942 of GPU 0000:11:00.0 (torch_rocm_arch.tsv)
  $ gpuprobe --root $FIXTURES/mi300x.host can torch==2.9
  torch==2.9: no
    yes: pip's default build of PyTorch 2.9 uses CUDA 12.8 (torch_wheel.tsv)
    no: CUDA needs an NVIDIA GPU; this host has a GPU of AMD, which needs another build (this host)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: torch==2.9+rocm6.4
  [2]
  $ gpuprobe --root $FIXTURES/cpu-server-512g.host can torch==2.9+rocm6.4
  torch==2.9+rocm6.4: no
    yes: PyTorch 2.9 has wheels for ROCm 6.4 (torch_rocm.tsv)
    no: ROCm needs an AMD GPU, and this host has none (this host)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: the wheel for CPUs, which gpuprobe can prints
  [2]
  $ for host in mi300x-cuda-wheel mi300x-rocm-wheel mi300x-old-wheel; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  mi300x-cuda-wheel: GPUPROBE CRITICAL - python.rocm: PyTorch 2.9.1+cu128 in /srv/venv is built for CUDA, so it does not use the AMD GPUs
  mi300x-rocm-wheel: GPUPROBE OK - 25 checks pass, 0 unknown, kernel log not examined
  mi300x-old-wheel: GPUPROBE CRITICAL - python.rocm: PyTorch 2.1.2+rocm5.6 in /srv/venv contains no code for the AMD GPUs (gfx942)
