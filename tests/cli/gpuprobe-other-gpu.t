GPUs of Intel are found and not examined: such a host is unknown, not one without a GPU. So are those of AMD without readings of amdgpu.

  $ device() { # ADDRESS VENDOR DEVICE CLASS [DRIVER]
  >   dir=/sys/devices/pci${1%%:*}:${1#*:}; dir=/sys/devices/pci0000:$(echo $1 | cut -d: -f2)/$1
  >   printf 'link /sys/bus/pci/devices/%s ../../..%s\n' $1 ${dir#/sys}
  >   for value in vendor=0x$2 device=0x$3 class=0x$4 numa_node=0; do
  >     printf 'file %s/%s\n\t%s\n' $dir ${value%=*} ${value#*=}
  >   done
  >   [ -z "$5" ] || printf 'link %s/driver /sys/bus/pci/drivers/%s\n' $dir $5
  > }
  $ host() { # NAME; the devices on stdin
  >   cat $FIXTURES/cpu-server-512g.host - >$1.host
  > }
  $ { for bus in 11 2f 46 5d 8b aa c2 da; do device 0000:$bus:00.0 1002 74a1 120000 amdgpu; done; } | host mi300x
  $ { device 0000:29:00.0 8086 0bd5 038000 i915; device 0000:3a:00.0 8086 0bd5 038000 xe; } | host max1550
  $ { device 0000:33:00.0 1da3 1020 120000 habanalabs; } | host gaudi2
  $ { device 0000:21:00.0 1002 74a1 120000; } | host no-driver
  $ { device 0000:04:00.0 1002 1638 030000 amdgpu; device 0000:04:00.2 1022 15df 108000 ccp; } | host apu
  $ { device 0000:00:02.0 8086 a780 030000 i915; device 0000:00:0b.0 8086 7d1d 120000 intel_vpu; } | host igpu
  $ { device 0000:06:00.0 1a03 2000 030000 ast; device 0000:07:00.0 102b 0536 030000 mgag200; } | host bmc
  $ { device 0000:01:03.0 1002 515e 030000 radeon; } | host es1000
  $ { device 0000:21:00.0 1002 74a1 120000 vfio-pci; } | host lent
  $ { device 0000:5e:00.0 8086 09c4 120000 dfl-pci; } | host fpga
  $ for name in mi300x max1550 gaudi2 no-driver apu igpu bmc es1000 lent fpga; do
  >   gpuprobe --root $name.host --json | python3 -c 'import json, sys
  > d = json.load(sys.stdin)
  > check = next(c for c in d["checks"] if c["id"] == "gpu.present")
  > print(sys.argv[1], len(d["host"]["other_gpus"]), check["result"] + ":", check["what"])' $name
  > done
  mi300x 8 pass: 8 AMD GPUs on the PCI bus
  max1550 2 unknown: no NVIDIA GPU, but 2 GPUs of Intel (the first is 0000:29:00.0, driver i915), which gpuprobe does not examine
  gaudi2 1 unknown: no NVIDIA GPU, but 1 GPU of Intel (the first is 0000:33:00.0, driver habanalabs), which gpuprobe does not examine
  no-driver 1 pass: 1 AMD GPU on the PCI bus
  apu 0 skip: no NVIDIA GPU on the PCI bus; training runs on the CPUs
  igpu 0 skip: no NVIDIA GPU on the PCI bus; training runs on the CPUs
  bmc 0 skip: no NVIDIA GPU on the PCI bus; training runs on the CPUs
  es1000 0 skip: no NVIDIA GPU on the PCI bus; training runs on the CPUs
  lent 0 skip: no NVIDIA GPU on the PCI bus; training runs on the CPUs
  fpga 0 skip: no NVIDIA GPU on the PCI bus; training runs on the CPUs
  $ gpuprobe --root mi300x.host | sed -n '/GPU/p'
    8 GPUs, 0000:11:00.0 to 0000:da:00.0: AMD, driver amdgpu
  $ gpuprobe --root mi300x.host --format line; gpuprobe --root igpu.host --format line
  GPUPROBE WARNING - host.blas: the threads of OpenBLAS compete with OpenMP for the same cores: libblas.so.3 is openblas-pthread (PyTorch on two cores: 1.7 to 2.7 times slower) | fail=0;;0 warn=2;0 unknown=1 pass=18 gpus=8
  GPUPROBE WARNING - host.blas: the threads of OpenBLAS compete with OpenMP for the same cores: libblas.so.3 is openblas-pthread (PyTorch on two cores: 1.7 to 2.7 times slower) | fail=0;;0 warn=2;0 unknown=0 pass=17 gpus=0
  [1]
  $ gpuprobe --root mi300x.host --require-gpu --format line
  GPUPROBE CRITICAL - gpu.present: no NVIDIA GPU on the PCI bus, but one is required | fail=1;;0 warn=2;0 unknown=1 pass=17 gpus=8
  [2]
  $ gpuprobe --root mi300x.host recommend; gpuprobe --root max1550.host recommend
  1. a GPU of AMD: gpuprobe does not know which PyTorch supports it:
       # https://pytorch.org/get-started/locally has the command for ROCm
  1. a GPU of Intel: gpuprobe does not know which PyTorch supports it:
       # https://pytorch.org/get-started/locally has the command for XPU
  $ gpuprobe --root mi300x.host can torch==2.8.0
  torch==2.8.0: unknown
    yes: pip's default build of PyTorch 2.8 uses CUDA 12.8 (torch_wheel.tsv)
    unknown: CUDA needs an NVIDIA GPU; this host has a GPU of AMD, which needs another build (this
    host)
    yes: it has wheels for Python 3.9 to 3.13; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
  [3]
  $ gpuprobe --root mi300x.host can torch==2.8.0+cpu
  torch==2.8.0+cpu: yes
    yes: the wheel for CPUs needs no driver (PyTorch)
    yes: it has wheels for Python 3.9 to 3.13; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
  $ gpuprobe --root igpu.host recommend
  1. no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA:
       python3 -m venv venv && . venv/bin/activate
       pip install torch --index-url https://download.pytorch.org/whl/cpu
       # or Debian's own: apt install python3-torch
