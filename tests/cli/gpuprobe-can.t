gpuprobe can for software that is not installed; each reason names its source.

pip's default needs a newer driver than Debian's; the wheel of an older CUDA runs.

  $ gpuprobe can torch==2.14 --root $FIXTURES/server-8gpu.host
  torch==2.14: no
    yes: pip's default build of PyTorch 2.14 uses CUDA 13.0 (torch_wheel.tsv)
    no: CUDA 13.0 needs driver 580.65.06; this host has 550.163.01 (cuda_driver.tsv)
    yes: it contains code for the capabilities 75,80,86,90,100,120; GPU 0000:17:00.0 has 90
    (torch_arch.tsv)
    yes: its build with CUDA 12.6 runs here: pip install 'torch==2.14.*' --index-url
    https://download.pytorch.org/whl/cu126 (torch_wheel.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: torch==2.14+cu126
  [2]
  $ gpuprobe can torch==2.14+cu126 --root $FIXTURES/server-8gpu.host
  torch==2.14+cu126: yes
    yes: PyTorch 2.14 is built with CUDA 12.6,13.2,13.0 (torch_wheel.tsv)
    yes: CUDA 12.6 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: it contains code for the capabilities 50,60,70,75,80,86,90; GPU 0000:17:00.0 has 90
    (torch_arch.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)

Without a version the newest release that works here is the answer; likewise for a range. = means ==.

  $ gpuprobe can torch 'torch>=2.8' 'torch<2.12,>=2.8' tensorflow --root $FIXTURES/server-8gpu.host | grep -A1 '^[a-z]'
  torch: yes
    yes: torch==2.14+cu126 is the newest release in the table that works here (torch_wheel.tsv)
  --
  torch>=2.8: yes
    yes: torch==2.14+cu126 is the newest release in the table that works here (torch_wheel.tsv)
  --
  torch<2.12,>=2.8: yes
    yes: torch==2.11+cu126 is the newest release in the table that works here (torch_wheel.tsv)
  --
  tensorflow: yes
    yes: tensorflow==2.21 is the newest release in the table that matches (tensorflow_cuda.tsv)
  $ gpuprobe can torch=2.14 --root $FIXTURES/server-8gpu.host >one
  [2]
  $ gpuprobe can torch==2.14 --root $FIXTURES/server-8gpu.host | sed 's/==2.14: no/=2.14: no/' | diff one - && echo the same
  the same
  $ gpuprobe can torch --root $FIXTURES/cpu-server.host | head -n 3
  torch: yes, on the CPU
    yes: torch==2.15 is the newest release in the table that matches (torch_wheel.tsv)
    yes: there is no GPU that it may use, so it runs on the CPU (this host)
  $ gpuprobe can 'torch>=99' --root $FIXTURES/server-8gpu.host
  torch>=99: unknown
    unknown: no release of torch in this program's table matches (torch_wheel.tsv)
  [3]
  $ gpuprobe can 'torch>>2' --root $FIXTURES/server-8gpu.host
  gpuprobe: 'torch>>2' is no requirement: use torch, torch==2.14, 'torch>=2.8' or 'torch>=2.8,<2.12'
  [64]
  $ gpuprobe can pytorch --root $FIXTURES/server-8gpu.host
  gpuprobe: cannot answer for 'pytorch': expected torch, torch==2.14+cu126, 'torch>=2.8', cuda==12.8, tensorflow, jax, vllm, xformers, flash-attn, transformer-engine, bitsandbytes, deepspeed, triton, an image's NVIDIA_REQUIRE_CUDA such as 'cuda>=12.8', or a path: NAME.whl, ./venv, ./image
  [64]

Extensions of PyTorch: the PyTorch and the CUDA that their wheels need, the compute capability, and for flash-attn the wheel of PyTorch's
C++ ABI. Each no ends with an alternative. Without a GPU, software that runs on CPUs does so.

  $ gpuprobe can vllm vllm==0.33.0 flash-attn==2.8.3.post1 'xformers<0.0.35' --root $FIXTURES/server-8gpu.host
  vllm: yes
    yes: vllm 0.19 needs PyTorch 2.10 (extension.tsv)
    yes: it has wheels for Python 3.10 to 3.13; this host has none yet (framework_python.tsv)
    yes: it needs compute capability 7.0; GPU 0000:17:00.0 has 9.0 (extension.tsv)
    yes: PyTorch 2.10 with CUDA 12.8 has code for this GPU (torch_wheel.tsv)
    yes: CUDA 12.8 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
  vllm==0.33.0: no
    yes: vllm 0.33 needs PyTorch 2.14 (extension.tsv)
    yes: it has wheels for Python 3.11 to 3.14; this host has none yet (framework_python.tsv)
    yes: it needs compute capability 7.5; GPU 0000:17:00.0 has 9.0 (extension.tsv)
    no: no such PyTorch with CUDA 13 runs with driver 550.163.01 and this GPU (torch_wheel.tsv)
    Use instead: vllm 0.19
  flash-attn==2.8.3.post1: yes
    yes: flash-attn 2.8 needs PyTorch 2.4 to 2.8 (extension.tsv)
    yes: it needs compute capability 8.0; GPU 0000:17:00.0 has 9.0 (extension.tsv)
    yes: PyTorch 2.8 with CUDA 12.8 has code for this GPU (torch_wheel.tsv)
    yes: CUDA 12.8 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: take the wheel whose name has cu12torch2.8cxx11abiTRUE (extension.tsv)
  xformers<0.0.35: yes
    yes: xformers 0.0.34 needs PyTorch 2.10 (extension.tsv)
    yes: it needs compute capability 7.5; GPU 0000:17:00.0 has 9.0 (extension.tsv)
    yes: PyTorch 2.10 with CUDA 12.8 has code for this GPU (torch_wheel.tsv)
    yes: CUDA 12.8 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
  [2]
  $ gpuprobe can torch==2.14 tensorflow jax deepspeed bitsandbytes==0.50.2 vllm flash-attn torch==2.14+cu126 --root $FIXTURES/cpu-server.host
  torch==2.14: yes, on the CPU
    yes: there is no GPU that it may use, so it runs on the CPU (this host)
    yes: the smaller wheel for CPUs: pip install 'torch==2.14.*' --index-url
    https://download.pytorch.org/whl/cpu (torch_wheel.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
  tensorflow: yes, on the CPU
    yes: tensorflow==2.21 is the newest release in the table that matches (tensorflow_cuda.tsv)
    yes: tensorflow 2.21 is built with CUDA 12.5 (tensorflow_cuda.tsv)
    yes: there is no GPU that it may use, so it runs on the CPU (this host)
    yes: it has wheels for Python 3.10 to 3.13; this host has none yet (framework_python.tsv)
  jax: yes, on the CPU
    yes: jax==0.12 is the newest release in the table that matches (jax_cuda.tsv)
    yes: jax 0.12 is built with CUDA 12.0,13.0 (jax_cuda.tsv)
    yes: there is no GPU that it may use, so it runs on the CPU (this host)
    yes: it has wheels for Python 3.12 to 3.15; this host has none yet (framework_python.tsv)
  deepspeed: yes, on the CPU
    yes: deepspeed 0 needs PyTorch 2.0 or newer (extension.tsv)
    yes: it also runs on CPUs (extension.tsv)
  bitsandbytes==0.50.2: yes, on the CPU
    yes: bitsandbytes 0.50 needs PyTorch 2.4 or newer (extension.tsv)
    yes: it also runs on CPUs (extension.tsv)
  vllm: no
    yes: vllm 0.33 needs PyTorch 2.14 (extension.tsv)
    yes: it has wheels for Python 3.11 to 3.14; this host has none yet (framework_python.tsv)
    no: its wheels need an NVIDIA GPU, and this host has none that it may use (extension.tsv)
    Use instead: llama.cpp, which also runs on CPUs and on older GPUs
  flash-attn: no
    yes: flash-attn 2.8 needs PyTorch 2.4 to 2.8 (extension.tsv)
    no: its wheels need an NVIDIA GPU, and this host has none that it may use (extension.tsv)
    Use instead: torch.nn.functional.scaled_dot_product_attention of PyTorch
  torch==2.14+cu126: no
    yes: PyTorch 2.14 is built with CUDA 12.6,13.2,13.0 (torch_wheel.tsv)
    no: CUDA needs an NVIDIA GPU, and this host has none that it may use (this host)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: the wheel for CPUs, which gpuprobe can prints
  [2]
  $ gpuprobe can vllm bitsandbytes triton --root $FIXTURES/legacy-kepler.host
  vllm: no
    yes: vllm 0.33 needs PyTorch 2.14 (extension.tsv)
    yes: it has wheels for Python 3.11 to 3.14; this host has none yet (framework_python.tsv)
    no: it needs compute capability 7.5; GPU 0000:17:00.0 has 3.7 (extension.tsv)
    no: no such PyTorch with CUDA 13 runs with driver 550.163.01 and this GPU (torch_wheel.tsv)
    Use instead: llama.cpp, which also runs on CPUs and on older GPUs
  bitsandbytes: no
    yes: bitsandbytes 0.50 needs PyTorch 2.4 or newer (extension.tsv)
    no: it needs compute capability 6.0; GPU 0000:17:00.0 has 3.7 (extension.tsv)
    no: no such PyTorch runs with driver 550.163.01 and this GPU (torch_wheel.tsv)
    Use instead: torch.optim's optimizers, and torchao for quantisation
  triton: no
    yes: triton 3.7 needs PyTorch 2.12 (extension.tsv)
    no: it needs compute capability 7.0; GPU 0000:17:00.0 has 3.7 (extension.tsv)
    no: no such PyTorch runs with driver 550.163.01 and this GPU (torch_wheel.tsv)
    Use instead: PyTorch without torch.compile
  [2]
  $ gpuprobe can torch vllm --root $FIXTURES/blackwell-on-550.host | grep -v '^  yes'
  torch: no
    no: GPU 0000:17:00.0 needs a driver of branches 570 to 999; this host has 550.163.01 (gpu_pci.tsv)
    no: CUDA 13.2 needs driver 580.65.06; this host has 550.163.01 (cuda_driver.tsv)
    (torch_arch.tsv)
    Use instead: the driver that gpuprobe can prints, then ask again
  vllm: no
    no: no such PyTorch with CUDA 13 runs with driver 550.163.01 and this GPU (torch_wheel.tsv)
    Use instead: the driver that gpuprobe can prints, then ask again
  $ gpuprobe can vllm==99 --root $FIXTURES/server-8gpu.host
  vllm==99: unknown
    unknown: no release of vllm in this program's table matches; it may be newer (extension.tsv)
  [3]
  $ gpuprobe can 'flash-attn>>2' --root $FIXTURES/server-8gpu.host
  gpuprobe: 'flash-attn>>2' is no requirement: use flash-attn, flash-attn==1.2 or 'flash-attn>=1.2'
  [64]
  $ gpuprobe can vllm==0.33 deepspeed --json --root $FIXTURES/cpu-server.host | grep -E '"(what|answer|on_cpu|instead|exit_code)"'
        "what": "vllm==0.33",
        "answer": "no",
        "on_cpu": false,
        "instead": "llama.cpp, which also runs on CPUs and on older GPUs",
            "what": "vllm 0.33 needs PyTorch 2.14",
            "what": "it has wheels for Python 3.11 to 3.14; this host has none yet",
            "what": "its wheels need an NVIDIA GPU, and this host has none that it may use",
        "what": "deepspeed",
        "answer": "yes",
        "on_cpu": true,
        "instead": null,
            "what": "deepspeed 0 needs PyTorch 2.0 or newer",
            "what": "it also runs on CPUs",
    "exit_code": 2
  $ for host in $FIXTURES/*.host; do
  >   for what in torch torch==2.14 tensorflow==2.16 jax cuda==13.0 vllm xformers==0.0.29 flash-attn triton==3.3 'cuda>=13.0'; do
  >     gpuprobe can "$what" --root $host | sed -n '1{/: no$/!q}; ${/Use instead: /!p}'
  >   done
  > done

Without an argument can prints what to install. recommend is the old name of this.

  $ gpuprobe can --root $FIXTURES/server-8gpu.host >one; head -n 1 one; gpuprobe recommend --root $FIXTURES/server-8gpu.host | diff one - && echo the same
  1. PyTorch 2.14 with CUDA 12.6 is the newest that driver 550.163.01 and this GPU support:
  the same
  $ gpuprobe --help | grep -c recommend
  0
  [1]

A wheel without code for the GPU, and a GPU newer than the wheel.

  $ gpuprobe can torch==2.11+cu130 torch==2.11+cu126 --root $FIXTURES/venv-no-code-for-volta.host
  torch==2.11+cu130: no
    yes: PyTorch 2.11 is built with CUDA 12.6,12.8,13.0 (torch_wheel.tsv)
    yes: CUDA 13.0 needs driver 580.65.06; this host has 580.95.05 (cuda_driver.tsv)
    no: it contains code for the capabilities 75,80,86,90,100,120; GPU 0000:17:00.0 has 70
    (torch_arch.tsv)
    yes: its build with CUDA 12.6 runs here: pip install 'torch==2.11.*' --index-url
    https://download.pytorch.org/whl/cu126 (torch_wheel.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has 3.11 (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: torch==2.11+cu126
  torch==2.11+cu126: yes
    yes: PyTorch 2.11 is built with CUDA 12.6,12.8,13.0 (torch_wheel.tsv)
    yes: CUDA 12.6 needs driver 525.60.13; this host has 580.95.05 (cuda_driver.tsv)
    yes: it contains code for the capabilities 50,60,70,75,80,86,90; GPU 0000:17:00.0 has 70
    (torch_arch.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has 3.11 (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
  [2]

Values that no table contains are unknown, never bad; a build that was never published is a no.

  $ gpuprobe can torch==9.9 --root $FIXTURES/server-8gpu.host
  torch==9.9: unknown
    unknown: PyTorch 9.9 is not in this program's table; it may be newer (torch_wheel.tsv)
  [3]
  $ gpuprobe can torch==2.14+cu124 --root $FIXTURES/server-8gpu.host | head -n 2
  torch==2.14+cu124: no
    no: PyTorch 2.14 is built with CUDA 12.6,13.2,13.0 (torch_wheel.tsv)
  $ gpuprobe can cuda==99.1 --root $FIXTURES/server-8gpu.host
  cuda==99.1: unknown
    unknown: CUDA 99.1 is newer than this program's table (cuda_driver.tsv)
  [3]

Arm servers have separate wheels: until 2.10 pip's default was the CPU wheel, and no wheel contains code below 8.0.

  $ A=$FIXTURES/arm-gh200.host; gpuprobe can torch==2.10 --root $A
  torch==2.10: no
    no: pip's default build of PyTorch 2.10 for aarch64 is for CPUs; others: 12.6,12.8,13.0
    (torch_wheel.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: torch==2.15+cu132
  [2]
  $ gpuprobe can torch==2.11+cu130 --root $A
  torch==2.11+cu130: yes
    yes: PyTorch 2.11 is built with CUDA 12.6,12.8,13.0 (torch_wheel.tsv)
    yes: CUDA 13.0 needs driver 580.65.06; this host has 580.95.05 (cuda_driver.tsv)
    yes: it contains code for the capabilities 80,90,100,110,120; GPU 0000:17:00.0 has 90
    (torch_arch.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
  $ gpuprobe can torch==2.8 --root $A
  torch==2.8: unknown
    unknown: PyTorch 2.8 for aarch64 is not in this program's table; it may be newer or older
    (torch_wheel.tsv)
  [3]
  $ gpuprobe can --root $A
  1. PyTorch 2.15 with CUDA 13.2 is the newest that driver 580.95.05 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.15.*' --index-url https://download.pytorch.org/whl/cu132
  $ sed 's,^file /proc/cpuinfo$,file /usr/lib/python3.10/os.py\n\n&,' $A >x.host; gpuprobe can --root x.host | tail -n 4
  1. PyTorch 2.14 with CUDA 13.0 is the newest for Python 3.10 that driver 580.95.05 and this GPU
  support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu130

A CUDA release that dropped the GPU, with any driver; its PTX may still run on a newer GPU.

  $ V=$FIXTURES/venv-no-code-for-volta.host; gpuprobe can cuda==13.0 cuda==12.9 --root $V
  cuda==13.0: no
    yes: CUDA 13.0 needs driver 580.65.06; this host has 580.95.05 (cuda_driver.tsv)
    no: CUDA 13.0 does not support capability 7.0 of GPU 0000:17:00.0; 12.9 is the last (gpu_arch.tsv)
    Use instead: CUDA 12.9, or an older release
  cuda==12.9: yes
    yes: CUDA 12.9 needs driver 525.60.13; this host has 580.95.05 (cuda_driver.tsv)
  [2]
  $ sed 's/"arch": 90/"arch": 89/' $FIXTURES/toolkit-gcc-too-new.host > ada.host; gpuprobe can cuda==11.2 --root ada.host
  cuda==11.2: yes
    yes: CUDA 11.2 needs driver 450.80.02; this host has 550.163.01 (cuda_driver.tsv)
    yes: CUDA 11.2 does not support capability 8.9 of GPU 0000:17:00.0; 11.8 is the first, and code
    for older GPUs may run on it (gpu_arch.tsv)
    yes: its nvcc supports gcc up to 10; this host has 14; Debian 12 has none older than 11, so
    compile in a container (nvcc_gcc.tsv)
  $ { cat $V; printf 'file /usr/local/cuda-%s/version.json\n' 12.9 13.0; } > x.host; gpuprobe --root x.host | sed -n '/cuda.toolkit/,$p'
  Warning: cuda.toolkit
    CUDA 13.0 does not support capability 7.0 of GPU 0000:17:00.0; 12.9 is the last release that does
    Remedy:
      Take Debian 12's own, CUDA 11.8, or another up to 12.9, which driver and GPU support:
        apt install nvidia-cuda-toolkit
      and take /usr/local/cuda-13.0/bin out of PATH.
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

With different GPUs each one counts for the question; the check accepts a toolkit for one of them.

  $ { sed 's/"arch": 90/"arch": 37/' $FIXTURES/server-8gpu.host; printf 'file /usr/local/cuda-12.4/version.json\n'; } > x.host
  $ gpuprobe can cuda==12.4 --root x.host; gpuprobe -v --root x.host | grep cuda.toolkit
  cuda==12.4: no
    yes: CUDA 12.4 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    no: CUDA 12.4 does not support capability 3.7 of GPU 0000:17:00.0; 11.8 is the last (gpu_arch.tsv)
    Use instead: CUDA 11.8, or an older release
  cuda.toolkit         pass   driver 550.163.01 supports every installed toolkit

Wheels exist for some Python releases. If the host's Python has none, another installed or available one is named.

  $ P=$FIXTURES/server-8gpu.host; { cat $P; printf 'dir  /usr/lib/python3.13\nlink /usr/bin/python3 python3.13\nfile /usr/bin/python3.13\n'; } > trixie.host
  $ gpuprobe can torch==2.4 torch==2.6+cpu tensorflow==2.17 --root trixie.host
  torch==2.4: no
    yes: pip's default build of PyTorch 2.4 uses CUDA 12.1 (torch_wheel.tsv)
    yes: CUDA 12.1 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: it contains code for the capabilities 50,60,70,75,80,86,90; GPU 0000:17:00.0 has 90
    (torch_arch.tsv)
    no: it has wheels for Python 3.8 to 3.12; this host has 3.13, for which 2.5 to 2.15 have them.
    Install a second Python 3.12, for example with uv or conda (framework_python.tsv)
    yes: the wheel needs glibc 2.17; this host has 2.36 (wheel tags on PyPI)
    Use instead: torch==2.14+cu126
  torch==2.6+cpu: yes
    yes: the wheel for CPUs needs no driver (PyTorch)
    yes: it has wheels for Python 3.9 to 3.13; this host has 3.13 (framework_python.tsv)
    yes: the wheel needs glibc 2.17; this host has 2.36 (wheel tags on PyPI)
  tensorflow==2.17: no
    yes: tensorflow 2.17 is built with CUDA 12.3 (tensorflow_cuda.tsv)
    yes: CUDA 12.3 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    no: it has wheels for Python 3.9 to 3.12; this host has 3.13, for which 2.20 to 2.21 have them.
    Install a second Python 3.12, for example with uv or conda (framework_python.tsv)
    Use instead: a release that the driver, GPU and Python of this host support
  [2]
  $ { cat trixie.host; printf 'file /usr/local/bin/python3.11\n'; } > x.host; gpuprobe can torch==2.4 --root x.host | grep Python
    yes: it has wheels for Python 3.8 to 3.12; not for 3.13, the host's default, but
  $ sed 's/python3\.13/python3.14/' trixie.host > x.host; gpuprobe can tensorflow==2.21 jax==0.6 --root x.host | grep -A 1 Python
    no: it has wheels for Python 3.10 to 3.13; this host has 3.14, for which no release has them.
    Install a second Python 3.13, for example with uv or conda (framework_python.tsv)
    Use instead: a release that the driver, GPU and Python of this host support
  jax==0.6: no
  --
    no: it has wheels for Python 3.10 to 3.13; this host has 3.14, for which 0.7 to 0.12 have them.
    Install a second Python 3.13, for example with uv or conda (framework_python.tsv)
    Use instead: a release that the driver, GPU and Python of this host support
  $ { cat trixie.host; printf 'file /etc/gputune/compat.d/framework_python.tsv\n\ttorch-2.4\t3.13,3.13\n'; } > x.host; gpuprobe can torch==2.4 torch==2.5 --root x.host | grep Python
    yes: it has wheels for Python 3.13 to 3.13; this host has 3.13 (framework_python.tsv)
    unknown: the Python releases with wheels are unknown (framework_python.tsv)

Other frameworks, toolkits and images.

  $ gpuprobe can cuda==12.8 tensorflow==2.20 jax==0.12 --root $FIXTURES/toolkit-gcc-too-new.host
  cuda==12.8: yes
    yes: CUDA 12.8 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: driver 550.163.01 supports CUDA 12.4: programs run, but it cannot compile PTX of 12.8
    (driver_cuda.tsv)
    yes: its nvcc supports gcc up to 14; this host has 14 (nvcc_gcc.tsv)
  tensorflow==2.20: yes
    yes: tensorflow 2.20 is built with CUDA 12.5 (tensorflow_cuda.tsv)
    yes: CUDA 12.5 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: it has wheels for Python 3.9 to 3.13; this host has none yet (framework_python.tsv)
  jax==0.12: yes
    yes: jax 0.12 is built with CUDA 12.0,13.0 (jax_cuda.tsv)
    yes: CUDA 12.0 needs driver 525.60.13; this host has 550.163.01 (cuda_driver.tsv)
    yes: it has wheels for Python 3.12 to 3.15; this host has none yet (framework_python.tsv)
  $ gpuprobe can 'cuda>=12.8 driver>=550,driver<551' --root $FIXTURES/server-8gpu.host
  cuda>=12.8 driver>=550,driver<551: yes
    yes: driver 550.163.01 supports CUDA 12.4 (driver_cuda.tsv)
  $ gpuprobe can 'cuda>=13.1' --root $FIXTURES/server-8gpu.host
  cuda>=13.1: no
    no: driver 550.163.01 supports CUDA 12.4; not satisfied: cuda>=13.1 (driver_cuda.tsv)
    Use instead: CUDA 12.4, or an older release
  [2]
  $ gpuprobe can torch==2.14 --root $FIXTURES/nouveau.host
  torch==2.14: no
    yes: pip's default build of PyTorch 2.14 uses CUDA 13.0 (torch_wheel.tsv)
    no: no NVIDIA driver is loaded (this host)
    yes: it contains code for the capabilities 75,80,86,90,100,120; GPU 0000:17:00.0 has 90
    (torch_arch.tsv)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)
    Use instead: the driver that gpuprobe can prints, then ask again
  [2]
  $ gpuprobe can torch==2.14+cpu --root $FIXTURES/laptop-no-gpu.host
  torch==2.14+cpu: yes
    yes: the wheel for CPUs needs no driver (PyTorch)
    yes: it has wheels for Python 3.10 to 3.14; this host has none yet (framework_python.tsv)
    yes: the wheel needs glibc 2.28; this host has 2.36 (wheel tags on PyPI)

An unknown question is refused with the known forms.

  $ gpuprobe can pytorch
  gpuprobe: cannot answer for 'pytorch': expected torch, torch==2.14+cu126, 'torch>=2.8', cuda==12.8, tensorflow, jax, vllm, xformers, flash-attn, transformer-engine, bitsandbytes, deepspeed, triton, an image's NVIDIA_REQUIRE_CUDA such as 'cuda>=12.8', or a path: NAME.whl, ./venv, ./image
  [64]
  $ gpuprobe can 'cuda=>12' --root $FIXTURES/server-8gpu.host
  gpuprobe: "cuda=>12" is not a condition of NVIDIA_REQUIRE_CUDA: expected cuda, driver, arch or brand, an operator and a value
  [64]
  $ gpuprobe can torch==2.14+xpu --root $FIXTURES/server-8gpu.host
  gpuprobe: '+xpu' does not name a CUDA build: expected a suffix like +cu126, +rocm6.4 or +cpu
  [64]

The exact commands for a host, Debian's own packages first.

  $ gpuprobe can --root $FIXTURES/server-8gpu.host
  1. PyTorch 2.14 with CUDA 12.6 is the newest that driver 550.163.01 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  2. only if PyTorch 2.15 with CUDA 13.2 is needed: driver 580.65.06 or newer:
       # replaces all packages of Debian's driver by those of NVIDIA's repository
       wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
       dpkg -i cuda-keyring_1.1-1_all.deb
       apt update
       apt install nvidia-open
       reboot

The remedy depends on the GPUs: Volta has no wheel of CUDA 13 and no open module, Kepler no driver beyond 470. If the driver
belongs to another system, so does the change.

  $ on() { sed "s/0x2901/$1/; s/550\.163\.01/$2/" $FIXTURES/blackwell-on-550.host > x.host; gpuprobe can --root x.host; }
  $ on 0x1db4 535.261.03
  1. PyTorch 2.14 with CUDA 12.6 is the newest that driver 535.261.03 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  $ on 0x1db4 440.100
  1. driver 440.100 supports no PyTorch with CUDA for this GPU; 525.60.13 or newer supports 2.14 with
  CUDA 12.6:
       # adds the components contrib and non-free to Debian's sources
       sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
         $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
       apt update
       apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
         nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
       reboot
  $ on 0x102d 440.100 | grep -v '#'
  1. driver 440.100 supports no PyTorch with CUDA for this GPU; 450.80.02 or newer supports 2.0 with
  CUDA 11.7:
       sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
         $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
       apt update
       apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
         nvidia-tesla-470-kernel-dkms libnvidia-tesla-470-cuda1 libnvidia-tesla-470-ml1 \
         nvidia-tesla-470-smi libnvidia-tesla-470-cfg1 nvidia-modprobe nvidia-persistenced
       reboot
  $ gpuprobe can --root $FIXTURES/secure-boot.host
  1. driver 550.163.01, which supports this GPU, is installed but not loaded:
       gpuprobe   # shows why
  2. PyTorch 2.14 with CUDA 12.6 is the newest that driver 550.163.01 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  3. only if PyTorch 2.15 with CUDA 13.2 is needed: driver 580.65.06 or newer:
       # replaces all packages of Debian's driver by those of NVIDIA's repository
       wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
       dpkg -i cuda-keyring_1.1-1_all.deb
       apt update
       apt install nvidia-open
       # Secure Boot is on: a blue screen asks for the password at the reboot
       apt install mokutil && mokutil --import /var/lib/dkms/mok.pub
       reboot
  $ { cat $FIXTURES/nouveau.host; printf 'file /var/lib/dkms/nvidia/580.95.05/source\n'; } > x.host; gpuprobe can --root x.host | head -n 3
  1. driver 580.95.05, which supports this GPU, is installed but not loaded:
       gpuprobe   # shows why
  2. PyTorch 2.15 with CUDA 13.2 is the newest that driver 580.95.05 and this GPU support:
  $ gpuprobe can --root $FIXTURES/container-require.host | sed -n '/^2/,$p'
  2. only if PyTorch 2.15 with CUDA 13.2 is needed: driver 580.65.06 or newer:
       # on the machine that runs this container: gpuprobe can
  $ sed 's/581\.[0-9.]*/551.23/' $FIXTURES/wsl-rtx.host > x.host; gpuprobe can --root x.host | sed -n '/^2/,$p'
  2. only if PyTorch 2.15 with CUDA 13.2 is needed: driver 580.65.06 or newer:
       # in Windows: install NVIDIA's newest driver, then wsl --shutdown
  $ gpuprobe can --root $FIXTURES/nouveau.host | head -n 7
  1. Debian 12 packages driver 535.261.03, which supports this GPU:
       # adds the components contrib and non-free to Debian's sources
       sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
         $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
       apt update
       apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
         nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
  $ gpuprobe can --root $FIXTURES/blackwell-on-550.host
  1. Debian's driver is older than this GPU:
       # replaces all packages of Debian's driver by those of NVIDIA's repository
       wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
       dpkg -i cuda-keyring_1.1-1_all.deb
       apt update
       apt install nvidia-open
       reboot

An old GPU gets the last branch that supports it, and the newest wheel with code for it.

  $ gpuprobe can --root $FIXTURES/legacy-kepler.host
  1. this GPU is supported up to branch 470, and Debian 12 also packages branch 470:
       # adds the components contrib and non-free to Debian's sources
       sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
         $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
       apt update
       apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
         nvidia-tesla-470-kernel-dkms libnvidia-tesla-470-cuda1 libnvidia-tesla-470-ml1 \
         nvidia-tesla-470-smi libnvidia-tesla-470-cfg1 nvidia-modprobe nvidia-persistenced
       reboot
  2. PyTorch 2.0 with CUDA 11.7 is the newest that driver 470 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.0.*' --index-url https://download.pytorch.org/whl/cu117
  $ gpuprobe can --root $FIXTURES/laptop-no-gpu.host
  1. no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA:
       python3 -m venv venv && . venv/bin/activate
       pip install torch --index-url https://download.pytorch.org/whl/cpu
       # or Debian's own: apt install python3-torch

The command that adds Debian's components edits both formats of apt's sources, keeps other repositories, and can be repeated.

  $ mkdir s; printf '%s\n' '# main' 'deb http://a/debian bookworm main' 'deb http://b/apt stable main' > s/sources.list
  $ printf '%s\n' 'Types: deb' 'Suites: bookworm' 'Components: main' 'Signed-By: /k.gpg' > s/debian.sources
  $ gpuprobe can --root $FIXTURES/nouveau.host | grep -A 1 'sed -i' | sed 's#/etc/apt/sources.list.d/#s/#; s#/etc/apt/#s/#' > add.sh
  $ sh -e add.sh; sh -e add.sh; rm s/*.bak; cat s/sources.list s/debian.sources
  # main
  deb http://a/debian bookworm main contrib non-free non-free-firmware
  deb http://b/apt stable main
  Types: deb
  Suites: bookworm
  Components: main contrib non-free non-free-firmware
  Signed-By: /k.gpg
  $ rm s/sources.list; sh -e add.sh && echo done
  done
