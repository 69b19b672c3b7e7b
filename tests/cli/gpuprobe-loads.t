The libraries that a program loads, and the rule for each, are computed from the files; nothing is run.

A wheel's own cuDNN is found by a RUNPATH. LD_LIBRARY_PATH precedes it, so another cuDNN is loaded.

  $ gpuprobe loads /srv/venv --root $FIXTURES/venv-cudnn-shadowed.host
  OK: /srv/venv/bin/python3, start
    0 of 2 objects shown (--all shows the rest)
  
  WARNING: /srv/venv/bin/python3, import torch
    libcudart.so.12, needed by libtorch_global_deps.so
        /srv/venv/lib/python3.11/site-packages/torch/lib/../../nvidia/cuda_runtime/lib/libcudart.so.12
        by RUNPATH of libtorch_global_deps.so ($ORIGIN/../../nvidia/cuda_runtime/lib)
    libstdc++.so.6 6.0.30, needed by libtorch_global_deps.so
        /usr/lib/x86_64-linux-gnu/libstdc++.so.6
        by ld.so.cache
    libcudnn.so.9 9.1.0, needed by libtorch_cuda.so
        /opt/cudnn/lib/libcudnn.so.9
        by LD_LIBRARY_PATH (/opt/cudnn/lib)
      hides 9.10.2.21
        /srv/venv/lib/python3.11/site-packages/torch/lib/../../nvidia/cudnn/lib/libcudnn.so.9
        by RUNPATH of libtorch_cuda.so ($ORIGIN/../../nvidia/cudnn/lib)
    libnccl.so.2 2.27.5, needed by libtorch_cuda.so
        /srv/venv/lib/python3.11/site-packages/torch/lib/../../nvidia/nccl/lib/libnccl.so.2
        by RUNPATH of libtorch_cuda.so ($ORIGIN/../../nvidia/nccl/lib)
    libcuda.so.1 550.163.01, opened at run time by libcudart.so.12
        /usr/lib/x86_64-linux-gnu/libcuda.so.1
        by ld.so.cache
    libnvidia-ml.so.1 550.163.01, opened at run time by libnccl.so.2
        /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
        by ld.so.cache
    6 of 12 objects shown (--all shows the rest)
  [1]

Without the variable the wheel loads its own.

  $ gpuprobe loads /srv/venv --library-path= --root $FIXTURES/venv-cudnn-shadowed.host | head -n 14
  OK: /srv/venv/bin/python3, start
    0 of 2 objects shown (--all shows the rest)
  
  OK: /srv/venv/bin/python3, import torch
    libcudart.so.12, needed by libtorch_global_deps.so
        /srv/venv/lib/python3.11/site-packages/torch/lib/../../nvidia/cuda_runtime/lib/libcudart.so.12
        by RUNPATH of libtorch_global_deps.so ($ORIGIN/../../nvidia/cuda_runtime/lib)
    libstdc++.so.6 6.0.30, needed by libtorch_global_deps.so
        /usr/lib/x86_64-linux-gnu/libstdc++.so.6
        by ld.so.cache
    libcudnn.so.9 9.10.2.21, needed by libtorch_cuda.so
        /srv/venv/lib/python3.11/site-packages/torch/lib/../../nvidia/cudnn/lib/libcudnn.so.9
        by RUNPATH of libtorch_cuda.so ($ORIGIN/../../nvidia/cudnn/lib)
    libnccl.so.2 2.27.5, needed by libtorch_cuda.so

A missing library is reported with the file that needs it, and the exit status is critical.

  $ mkdir lib
  $ echo 'int f(void) { return 0; }' > f.c
  $ echo 'int f(void); int main(void) { return f(); }' > main.c
  $ cc -shared -fPIC -o lib/libgone.so.1 -Wl,-soname,libgone.so.1 f.c
  $ cc -o program main.c lib/libgone.so.1 -Wl,-rpath,'$ORIGIN/lib'
  $ gpuprobe loads ./program --all | head -n 8
  OK: $HOME/program, start
    $HOME/program
        $HOME/program
        by path
    libgone.so.1, needed by program
        $HOME/lib/libgone.so.1
        by RUNPATH of program ($ORIGIN/lib)
    libc.so.6, needed by program
  $ rm lib/libgone.so.1
  $ gpuprobe loads ./program
  CRITICAL: $HOME/program, start
    libgone.so.1: not found, needed by program
    1 of 4 objects shown (--all shows the rest)
  [2]

The loader fails at a file that is no library, and so does gpuprobe loads.

  $ echo text > lib/libgone.so.1
  $ gpuprobe loads ./program
  CRITICAL: $HOME/program, start
    libgone.so.1, needed by program
        $HOME/lib/libgone.so.1
        by RUNPATH of program ($ORIGIN/lib)
      the loader gives up here: $HOME/lib/libgone.so.1 is not an ELF file
    1 of 4 objects shown (--all shows the rest)
  [2]

A script stands for its interpreter; a damaged file gives one sentence.

  $ printf '#!/usr/bin/env -S sh -e\n' > script; gpuprobe loads ./script --all | head -n 1
  OK: /usr/bin/sh, start
  $ head -c 200 program > cut; gpuprobe loads ./cut
  gpuprobe: $HOME/cut* is a malformed ELF file: its program headers are past the end of the file (glob)
  [64]
  $ gpuprobe loads ./main.c
  gpuprobe: $HOME/main.c is not an ELF file
  [64]
  $ gpuprobe loads /nonexistent
  gpuprobe: cannot open /nonexistent: No such file or directory
  [64]
  $ mv cut cut.here; gpuprobe loads cut.here
  gpuprobe: $HOME/cut* is a malformed ELF file: its program headers are past the end of the file (glob)
  [64]
  $ gpuprobe loads nonexistent
  gpuprobe: there is no nonexistent, neither a program on a system's PATH nor here
  [64]
  $ gpuprobe loads .
  gpuprobe: $HOME/. is neither a program nor a Python environment (it has no lib/python3.N)
  [64]
