gpuprobe can for files: a wheel, an environment, an unpacked image.

The files take precedence over the tables: tags, requirements, and the headers of fat binaries.

  $ wheel() { "$TESTDIR"/cli/wheel "$@" 2>/dev/null; }
  $ H=$FIXTURES/venv-no-code-for-volta.host
  $ wheel made 1.0 py3-none-manylinux_2_28_x86_64 'requires=nvidia-cuda-runtime-cu12==12.8.90' code=75,80,90
  $ gpuprobe can ./made-1.0-py3-none-manylinux_2_28_x86_64.whl --root $H
  ./made-1.0-py3-none-manylinux_2_28_x86_64.whl: no
    yes: made: it is for any Python 3; the Python here is 3.11 (tag of the wheel)
    yes: made: it is for x86_64 with glibc 2.28; this host is x86_64 with glibc 2.36 (tag of the
    wheel)
    yes: it uses CUDA 12.8: it requires nvidia-cuda-runtime-cu12==12.8.90 (METADATA)
    yes: CUDA 12.8 needs driver 525.60.13; this host has 580.95.05 (cuda_driver.tsv)
    no: it contains code for the capabilities 75,80,90; GPU 0000:17:00.0 has 70 (.nv_fatbin of
    made/libmade.so)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]
  $ gpuprobe can made-1.0-py3-none-manylinux_2_28_x86_64.whl --root $FIXTURES/server-8gpu.host | tail -n 3
    yes: CUDA 12.8 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: it contains code for the capabilities 75,80,90; GPU 0000:17:00.0 has 90 (.nv_fatbin of
    made/libmade.so)

PTX runs on any newer GPU; without PTX a GPU of another major version does not work.

  $ wheel ptx 1.0+cu126 py3-none-any code=50,60+PTX
  $ gpuprobe can ptx-1.0+cu126-py3-none-any.whl --root $FIXTURES/server-8gpu.host
  ptx-1.0+cu126-py3-none-any.whl: yes
    yes: ptx: it is for any Python 3 (tag of the wheel)
    yes: ptx: it is for any platform; this host is x86_64 with glibc 2.36 (tag of the wheel)
    yes: it uses CUDA 12.6: its version is 1.0+cu126 (METADATA)
    yes: CUDA 12.6 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: it contains code for the capabilities 50,60+PTX; GPU 0000:17:00.0 has 90 (.nv_fatbin of
    ptx/libptx.so)
  $ wheel old 1.0 py3-none-any code=50,60 'requires=cuda-toolkit[cudart]==13.2.*; platform_system == "Linux"'
  $ gpuprobe can old-1.0-py3-none-any.whl --root $FIXTURES/server-8gpu.host
  old-1.0-py3-none-any.whl: no
    yes: old: it is for any Python 3 (tag of the wheel)
    yes: old: it is for any platform; this host is x86_64 with glibc 2.36 (tag of the wheel)
    yes: it uses CUDA 13.2: it requires cuda-toolkit==13.2.* (METADATA)
    no: CUDA 13.2 needs driver 580.65.06; this host has 550.163.01 (cuda_driver.tsv)
    no: it contains code for the capabilities 50,60; GPU 0000:17:00.0 has 90 (.nv_fatbin of
    old/libold.so)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]

Tags of other systems, a newer C library, another Python.

  $ for t in cp312-cp312-win_amd64 cp313-cp313t-manylinux2014_aarch64 py3-none-manylinux_2_99_x86_64 py3-none-musllinux_1_2_x86_64; do
  >   wheel other 1.0 $t; gpuprobe can other-1.0-$t.whl --root $FIXTURES/server-8gpu.host | head -n 3; done
  other-1.0-cp312-cp312-win_amd64.whl: no
    unknown: other: it is for CPython 3.12 alone (tag of the wheel)
    no: other: it is for win_amd64; this host is x86_64 with glibc 2.36 (tag of the wheel)
  other-1.0-cp313-cp313t-manylinux2014_aarch64.whl: no
    no: other: it is for the free-threaded Python 3.13 (tag of the wheel)
    no: other: it is for aarch64 with glibc 2.17; this host is x86_64 with glibc 2.36 (tag of the
  other-1.0-py3-none-manylinux_2_99_x86_64.whl: no
    yes: other: it is for any Python 3 (tag of the wheel)
    no: other: it is for x86_64 with glibc 2.99; this host is x86_64 with glibc 2.36 (tag of the
  other-1.0-py3-none-musllinux_1_2_x86_64.whl: no
    yes: other: it is for any Python 3 (tag of the wheel)
    no: other: it is for musllinux_1_2_x86_64; this host is x86_64 with glibc 2.36 (tag of the wheel)
  $ wheel other 1.0 py3-none-any python='>=3.99' as=renamed-1.0-py3-none-any.whl
  $ gpuprobe can ./renamed-1.0-py3-none-any.whl --root $H
  ./renamed-1.0-py3-none-any.whl: no
    no: the file is named renamed-1.0-py3-none-any.whl, but contains other 1.0 (METADATA)
    yes: other: it is for any Python 3; the Python here is 3.11 (tag of the wheel)
    yes: other: it is for any platform; this host is x86_64 with glibc 2.36 (tag of the wheel)
    no: it requires Python >=3.99; the Python here is 3.11 (METADATA)
    yes: it requires no CUDA and contains no GPU code (METADATA)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]

Any untrusted wheel gives one sentence, and nothing is unpacked.

  $ for k in dotdot line version bomb twice overlap cut damaged no-tags; do
  >   wheel evil 1.0 py3-none-any hostile=$k; gpuprobe can ./evil-1.0-py3-none-any.whl --root $H; echo $?; done
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a usable archive: a member has ".." in its name
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl: evil-1.0.dist-info/METADATA:4: the line is longer than 65536 bytes
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl: evil-1.0.dist-info/METADATA:3: malformed Version
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a usable archive: the member evil/libevil.so would inflate more than 100fold, unlike a real library
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a usable archive: two members have the name evil-1.0.dist-info/METADATA
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a usable archive: the member evil-1.0.dist-info/METADATA overlaps another
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a usable archive: it has no zip directory; it may be truncated
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a usable archive: the member evil-1.0.dist-info/METADATA is corrupt
  64
  gpuprobe: $HOME/evil-1.0-py3-none-any.whl is not a wheel: it has no evil-1.0.dist-info/WHEEL
  64

Archives that a library would accept in part are refused completely. A 64-bit directory is read.

  $ for k in quoted fewer more encrypted method stored crc short nul control backslash absolute moved zip64-lost zip64-count; do
  >   wheel evil 1.0 py3-none-any hostile=$k; echo "$k: $(gpuprobe can ./evil-1.0-py3-none-any.whl --root $H 2>&1 | sed 's/.*archive: //')"; done
  quoted: the member evil/quote.so overlaps another
  fewer: its directory has more members than its header counts
  more: its directory is malformed
  encrypted: the member evil-1.0.dist-info/METADATA is encrypted
  method: the member evil-1.0.dist-info/METADATA uses compression method 12, which wheels do not use
  stored: the member evil-1.0.dist-info/METADATA is stored, but its two sizes differ
  crc: the content of the member evil-1.0.dist-info/METADATA does not match the directory
  short: the member evil-1.0.dist-info/METADATA is longer than recorded in the directory
  nul: a member has a NUL byte in its name
  control: a member has a control character in its name
  backslash: a member has an absolute path or a backslash in its name
  absolute: a member has an absolute path or a backslash in its name
  moved: the member evil-1.0.dist-info/METADATA is not at the position recorded in the directory
  zip64-lost: its 64-bit directory is not at the recorded position
  zip64-count: its directory exceeds the size limit
  $ wheel evil 1.0 py3-none-any hostile=zip64; gpuprobe can ./evil-1.0-py3-none-any.whl --root $H | head -n 1
  ./evil-1.0-py3-none-any.whl: yes

A pipe, an empty file and a cycle of links are no archives.

  $ mkfifo pipe.whl; : > empty.whl; ln -s loop.whl loop.whl
  $ for f in pipe empty loop; do timeout 5 gpuprobe can ./$f.whl; echo $?; done
  gpuprobe: $HOME/pipe.whl is not a regular file
  64
  gpuprobe: $HOME/empty.whl is not a usable archive: it is too short
  64
  gpuprobe: cannot open loop.whl: Too many levels of symbolic links
  64

An environment, in the captured host or here: the installed versions must match the pinned ones.

  $ gpuprobe can /srv/venv --root $FIXTURES/venv-cuda13-on-550.host
  /srv/venv: no
    yes: /srv/venv/bin/python3 is Python 3.11 (directory)
    yes: torch 2.14.0 uses CUDA 13.2 (torch/version.py)
    no: CUDA 13.2 needs driver 580.65.06; this host has 550.163.01 (cuda_driver.tsv)
    yes: import torch finds all 12 libraries (loader)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]
  $ mkdir -p venv/bin venv/lib/python3.11/site-packages; cd venv/lib/python3.11/site-packages
  $ mkdir vllm-0.20.dist-info nvidia_cublas_cu12-12.4.1.dist-info vllm
  $ printf '%s\n' 'Metadata-Version: 2.4' 'Name: vllm' 'Version: 0.20' 'Requires-Dist: nvidia-cublas-cu12==12.8.4; platform_machine == "x86_64"' \
  >   'Requires-Dist: nvidia-nccl-cu12==2.27' 'Requires-Dist: nvidia-nvtx-cu12==1; platform_system == "Windows"' > vllm-0.20.dist-info/METADATA
  $ echo 'Tag: cp312-cp312-manylinux_2_17_x86_64' > vllm-0.20.dist-info/WHEEL
  $ printf '%s\n' 'vllm/_C.abi3.so,sha256=x,1' '../../../bin/vllm,,' '/etc/passwd.so,,' > vllm-0.20.dist-info/RECORD
  $ cd ~; python3 -c 'import importlib.machinery, importlib.util, sys
  > l = importlib.machinery.SourceFileLoader("w", sys.argv[1]); sys.dont_write_bytecode = True
  > m = importlib.util.module_from_spec(importlib.util.spec_from_loader("w", l)); l.exec_module(m)
  > open("venv/lib/python3.11/site-packages/vllm/_C.abi3.so", "wb").write(m.library("80,90"))' $TESTDIR/cli/wheel
  $ gpuprobe can ./venv --root $H
  ./venv: no
    no: the environment for Python 3.11 has no interpreter on this host (directory)
    no: vllm 0.20: it is for CPython 3.12 alone; the Python here is 3.11 (tag of the wheel)
    no: vllm 0.20 needs nvidia-cublas-cu12==12.8.4; installed is 12.4.1 (METADATA)
    no: vllm 0.20 needs nvidia-nccl-cu12==2.27, which is not installed (METADATA)
    yes: vllm 0.20 uses CUDA 12.0 (METADATA)
    yes: CUDA 12.0 needs driver 525.60.13; this host has 580.95.05 (cuda_driver.tsv)
    yes: 2 pinned versions of NVIDIA's wheels were compared (METADATA)
    no: it contains code for the capabilities 80,90; GPU 0000:17:00.0 has 70 (.nv_fatbin of
    vllm/_C.abi3.so)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]

An unpacked image: its contents are compared with this host; an OCI bundle contains its requirements.

  $ mkdir -p bundle/rootfs/usr/local/cuda-12.9 bundle/rootfs/etc; echo ID=debian > bundle/rootfs/etc/os-release
  $ echo '{"process": {"env": ["PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=12.9"]}}' > bundle/config.json
  $ gpuprobe can ./bundle --root $FIXTURES/server-8gpu.host
  ./bundle: no
    no: driver 550.163.01 supports CUDA 12.4; not satisfied: cuda>=12.9 (driver_cuda.tsv)
    yes: it contains CUDA 12.9 in /usr/local/cuda-12.9 (image)
    yes: CUDA 12.9 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]
  $ gpuprobe can ./bundle/rootfs --root $FIXTURES/server-8gpu.host --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["answers"][0]["answer"], d["exit_code"])'
  yes 0
  $ echo '{"process": [' > bundle/config.json; gpuprobe can ./bundle
  gpuprobe: $HOME/bundle/config.json:2:0: not valid JSON: ']' expected near end of file
  [64]
  $ gpuprobe can ./bundle/rootfs/etc
  gpuprobe: $HOME/bundle/rootfs/etc is neither a Python environment (it has no lib/python3.N) nor an unpacked image (it has no etc/os-release and no bin/sh)
  [64]
  $ gpuprobe can bundle
  gpuprobe: cannot answer for 'bundle': expected torch, torch==2.14+cu126, 'torch>=2.8', cuda==12.8, tensorflow, jax, vllm, xformers, flash-attn, transformer-engine, bitsandbytes, deepspeed, triton, an image's NVIDIA_REQUIRE_CUDA such as 'cuda>=12.8', or a path: NAME.whl, ./venv, ./image
  [64]
