gpuprobe explain: a number decides first, then a whole message; common words explain nothing.

An Xid or SXid number has precedence over words, in any notation. A number without an entry is unknown.

  $ for m in 'Xid 173' 79 20034 'SXid 12028' 'Xid 109' 'Xid 87' 'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal, GPU has fallen off the bus' \
  >   'NVRM: Xid (PCI:0000:17:00): 62, GPU has fallen off the bus' 'Xid 79' 'xid error: 48' 'kernel: NVRM: Xid (PCI:0000:17:00): 119, Timeout' \
  >   'NVRM: Xid (PCI:0000:17:00): 13, Graphics SM Warp Exception, GPU has fallen off the bus'; do
  >   gpuprobe explain "$m" > out; echo "$? $(head -n 1 out)"; sed -n '/^  Check: /p' out; done
  3 Xid 173: no entry; see NVIDIA's Xid catalogue, https://docs.nvidia.com/deploy/xid-errors
  0 Xid 79: ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS
    Check:  gpu.lost
  0 SXid 20034: LTSSM Fault Up
    Check:  gpu.nvswitch
  0 SXid 12028: egress nonposted PRIV error
    Check:  gpu.nvswitch
  0 Xid 109: ROBUST_CHANNEL_CTXSW_TIMEOUT_ERROR
    Check:  gpu.xid
  0 Xid 87: NVTELEMETRY_DRIVER_REPORT
    Check:  log.gpu
  0 SXid 12028: egress nonposted PRIV error
    Check:  gpu.nvswitch
  0 Xid 62: PMU_HALT_ERROR
    Check:  gpu.xid
  0 Xid 79: ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS
    Check:  gpu.lost
  0 Xid 48: ROBUST_CHANNEL_GPU_ECC_DBE
    Check:  gpu.ecc
  0 Xid 119: GSP_RPC_TIMEOUT
    Check:  gpu.gsp
  0 Xid 13: ROBUST_CHANNEL_GR_EXCEPTION
    Check:  program.gpu-fault

Each number of the catalogue has a meaning, and its check exists.

  $ for i in $(seq 200); do gpuprobe explain "Xid $i" > out || echo "$i"; grep -q '^  Check:' out && ! grep -q '^[a-z]*[.][a-z-]*: ' out && echo "$i has no check"; done | tr '\n' ' '
  173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200  (no-eol)

All numbers of a text are answered.

  $ gpuprobe explain 'Xid 79, then Xid 63 and Xid 62 and Xid 79'
  Xid 79: ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS
  
    The GPU no longer responds on PCIe.
  
    Fault:  the hardware
    To do:  take the host out of service and reboot it; if the error recurs, have the host repaired
    Check:  gpu.lost
  
  gpu.lost: a GPU has fallen off the bus
  
    The GPU does not respond on PCIe (Xid 79). Possible causes are power, heat or a bad contact. Only
    switching the machine off and on makes the GPU work again, and often only for a short time.
  
  Messages that lead here:
    NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.
    Unable to determine the device handle for GPU: GPU is lost. Reboot the system to recover this GPU
  
  Xid 63: INFOROM_DRAM_RETIREMENT_EVENT
  
    A row of GPU memory was remapped, or a page was retired. It takes effect after a reset.
  
    Fault:  none: not an error
    To do:  nothing
    Check:  gpu.ecc
  
  gpu.ecc: GPU memory has errors
  
    ECC detects memory errors. Xid 63 reports that a memory row was replaced by a spare row, and Xid
    94 that one program was ended. Xids 48, 64, 95 and 140 need a reset of the GPU. If no spare rows
    are left, the GPU must be replaced.
  
  Messages that lead here:
    NVRM: Xid (PCI:0000:17:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU
    NVRM: Xid (PCI:0000:17:00): 63, Row Remapper
    Xid 64: Row remapper failure
    Xid 94: Contained memory error
    Xid 95: Uncontained memory error
    Xid 140: Unrecovered ECC error
    CUDA error: uncorrectable ECC error encountered
  
  Can follow from:
    driver.loaded
    nvml.answers
  
  Xid 62: PMU_HALT_ERROR
  
    The power management unit of the GPU halted.
  
    Fault:  the driver or the GPU; NVIDIA does not specify which
    To do:  end all programs on the GPU, then reset it or reboot
    Check:  gpu.xid
  
  gpu.xid: a GPU reports an error that needs action
  
    The driver logs each error of a GPU as a numbered Xid. gpuprobe contains NVIDIA's catalogue of
    meanings, faults and actions. Errors of programs do not count here. An error that needs a reset is
    critical until NVML responds for every GPU, or the driver withdraws its reset request (Xid 154).
    gpuprobe explain 'Xid N' explains one number.
  
  Messages that lead here:
    NVRM: Xid (PCI:0000:17:00): 62, pid='<unknown>', name=<unknown>
    NVRM: Xid (PCI:0000:17:00): 109, errorString CTX SWITCH TIMEOUT
    NVRM: Xid (PCI:0000:17:00): 143, GPU Initialization Error
  
  Can follow from:
    driver.loaded

The answer to a program's error never asks to power off a GPU.

  $ gpuprobe explain 'NVRM: Xid (PCI:0000:17:00): 13, pid=4711, name=python3, Graphics Exception: ESR 0x50c648=0x13000e'
  Xid 13: ROBUST_CHANNEL_GR_EXCEPTION
  
    A kernel of a program raised an exception: an address outside its memory or an illegal
    instruction.
  
    Fault:  the program that ran on the GPU
    To do:  restart the program; if the error recurs, look for its cause in the program first
    Check:  program.gpu-fault
  
  program.gpu-fault: programs use the GPU without errors
  
    Xid 11, 13, 25, 31, 43 and 69 are errors of a program that ran on the GPU. Examples are an access
    outside its memory, an illegal instruction, and a kernel that was stopped. Xid 45 is the clean-up
    after a program or another Xid. The driver ends that program; the GPU and other programs go on.
    The process ID and name are in the line. To find the place in the program: compute-sanitizer
    python3 train.py, or CUDA_LAUNCH_BLOCKING=1. If the same GPU logs these numbers under different
    programs that run without errors on other GPUs, test the GPU (dcgmi diag -r 3).
  
  Messages that lead here:
    RuntimeError: CUDA error: an illegal memory access was encountered
    cudaErrorIllegalAddress
    RuntimeError: CUDA error: device-side assert triggered
    NVRM: Xid (PCI:0000:17:00): 13, Graphics SM Warp Exception
    NVRM: Xid (PCI:0000:17:00): 31, MMU Fault
  $ for x in 13 31 43 45; do gpuprobe explain "Xid $x" | grep -iE 'power|replace|reset|reboot'; done
  Xid 43: ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR
  [1]

Log lines that contain words of messages have no answer. Lines are joined only where a line begins with a space.

  $ for line in 'HeartbeatMonitor environments: TORCH_NCCL_ENABLE_MONITORING (Whether to kill program): 1' \
  >     'The argument `trust_remote_code` is to be used with Auto classes. It has no effect here and is ignored.' \
  >     "$(printf 'NCCL INFO ncclCommInitRank comm 0x1 - Init COMPLETE\nloss 2.3\nAssertionError: evaluation of sample 3 failed')"; do
  >     gpuprobe explain -- "$line"
  > done
  no match: no check is about this message
  no match: no check is about this message
  no match: no check is about this message
  [3]
  $ gpuprobe explain "$(printf 'foo.so: undefined\n symbol: _ZN3c104impl3cow11cow_deleterEPv')" | head -1
  An extension was built against another PyTorch version or C++ ABI than the one installed.
  $ gpuprobe explain "$(printf 'store = TCPStore(master_addr, timeout)\nRuntimeError: Address already in use')" | grep -o '\[addr-in-use\]'
  [addr-in-use]

Real messages: the first line of each answer. Unrelated lines have no answer.

  $ cat > messages <<'END'
  > torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.2 GiB is free.
  > node7:4711:4788 [0] NCCL WARN Cuda failure 'out of memory'
  > node7:4711:4788 [3] ibvwrap.c:160 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory
  > [rank3]:[E1121 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600026 milliseconds before timing out.
  > NCCL WARN NET/Socket : no usable interface found
  > torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
  > ImportError: /srv/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: cublasLtGetVersion
  > ImportError: libc10.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev
  > Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory
  > OSError: libcudnn.so.8: cannot open shared object file: No such file or directory
  > ImportError: libGL.so.1: cannot open shared object file: No such file or directory
  > RuntimeError: CUDA error: no kernel image is available for execution on the device
  > ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /srv/venv/lib/python3.11/site-packages/foo.so)
  > /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./prog)
  > RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.
  > RuntimeError: DataLoader worker (pid(s) 4711) exited unexpectedly
  > RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version
  > Segmentation fault (core dumped)
  > python3[4711]: segfault at 0 ip 00007f3a1c2d4e10 sp 00007ffd error 4 in libtorch_cuda.so
  > RuntimeError: CUDA error: an illegal memory access was encountered
  > RuntimeError: CUDA error: device-side assert triggered
  > RuntimeError: CUDA error: misaligned address
  > RuntimeError: CUDA error: unspecified launch failure
  > RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED
  > RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED
  > RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`
  > RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
  > ModuleNotFoundError: No module named 'torch'
  > RuntimeError: Address already in use
  > torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED
  > OSError: [Errno 28] No space left on device
  > OSError: [Errno 24] Too many open files
  > RuntimeError: NCCL communicator was aborted on rank 3.
  > slurmstepd: error: Detected 1 oom_kill event in StepId=42.0. Some of the step tasks have been OOM Killed.
  > ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject
  > AttributeError: module 'torch' has no attribute 'float8_e4m3fn'
  > RuntimeError: Failed to find C compiler. Please specify via CC environment variable.
  > nvcc fatal   : Unsupported gpu architecture 'compute_100'
  > docker: Error response from daemon: failed to create task for container: nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file
  > permission denied while trying to connect to the Docker daemon socket
  > kernel: EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm python3: reading directory lblock 0
  > RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 1073741824 bytes. Error code 12 (Cannot allocate memory)
  > loss is nan
  > foo bar baz
  > memory error
  > the GPU is slow
  > CUDA error
  > driver failed
  > nvidia-smi shows no processes
  > HW Slowdown                        : Not Active
  >     HW Slowdown : Active
  > no such check
  > undefined symbol
  > cudaErrorSystemNotReady
  > END
  $ export COLUMNS=200; while IFS= read -r m; do
  >   gpuprobe explain "$m" > out; printf "%s %s\n    %s\n" $? "$(sed -n "1p; s/^Fault: /  &/p" out)" "$m"; done < messages; COLUMNS=100
  0 The tensors of this process, and those of others on the GPU, need more memory than it has. [torch-cuda-oom]
    Fault: a limit of memory, disk space, files or time
      torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.2 GiB is free.
  0 The GPU has no memory left for NCCL's buffers: the model uses it, another process does, or several ranks use one GPU. [nccl-oom]
    Fault: not known: the message has several possible causes
      node7:4711:4788 [0] NCCL WARN Cuda failure 'out of memory'
  0 RDMA could not lock memory: in most cases the limit of locked memory (memlock), otherwise memory or resources of the adapter are used up. [ib-memlock-any]
    Fault: not known: the message has several possible causes
      node7:4711:4788 [3] ibvwrap.c:160 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory
  0 A collective did not end in time: another rank is slow (data, checkpoint, evaluation), died or ran other code, or a transfer between GPUs or hosts hangs. [nccl-watchdog]
    Fault: not known: the message has several possible causes
      [rank3]:[E1121 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600026 milliseconds before timing out.
  0 NCCL found no network interface with the configured names, or none with an address. [nccl-no-iface]
    Fault: the network or another rank
      NCCL WARN NET/Socket : no usable interface found
  0 A CUDA call inside NCCL failed; NCCL's own log has the error. [nccl-unhandled-cuda]
    Fault: not known: the message has several possible causes
      torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
  0 The loader found another CUDA library than the framework was built with: through LD_LIBRARY_PATH, or nvidia wheels of different releases. [undef-cu]
    Fault: packages or libraries that are incompatible with this host or with each other
      ImportError: /srv/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: cublasLtGetVersion
  0 An extension was built against another PyTorch version or C++ ABI than the one installed. [undef-torch]
    Fault: packages or libraries that are incompatible with this host or with each other
      ImportError: libc10.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev
  0 A library of cuDNN is missing or not in the search path. [cudnn-so]
    Fault: packages or libraries that are incompatible with this host or with each other
      Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory
  0 A library of cuDNN is missing or not in the search path. [cudnn-so]
    Fault: packages or libraries that are incompatible with this host or with each other
      OSError: libcudnn.so.8: cannot open shared object file: No such file or directory
  0 OpenCV's wheel needs a system library. [libgl]
    Fault: packages or libraries that are incompatible with this host or with each other
      ImportError: libGL.so.1: cannot open shared object file: No such file or directory
  0 The library contains no code for this GPU: the GPU is newer or older than the build supports. [no-kernel-image]
    Fault: packages or libraries that are incompatible with this host or with each other
      RuntimeError: CUDA error: no kernel image is available for execution on the device
  0 The C++ library that was found is older than the program needs, often the system's before conda's. [glibcxx]
    Fault: packages or libraries that are incompatible with this host or with each other
      ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /srv/venv/lib/python3.11/site-packages/foo.so)
  0 The program was built on a newer distribution than this one. [glibc]
    Fault: packages or libraries that are incompatible with this host or with each other
      /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./prog)
  0 /dev/shm is too small for the batches of the loader's workers. [loader-bus]
    Fault: a limit of memory, disk space, files or time
      RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.
  0 A worker of the loader ended without a message, because of an exception at its start or a signal. [loader-exited]
    Fault: not known: the message has several possible causes
      RuntimeError: DataLoader worker (pid(s) 4711) exited unexpectedly
  0 The driver is older than the CUDA release that the program was built with, or this host or container has no working driver. [cuda-insufficient]
    Fault: not known: the message has several possible causes
      RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version
  0 A program accessed an invalid address. The message has no cause. [segv]
    Fault: not known: the message has several possible causes
      Segmentation fault (core dumped)
  0 A program accessed an invalid address. The message has no cause. [segv]
    Fault: not known: the message has several possible causes
      python3[4711]: segfault at 0 ip 00007f3a1c2d4e10 sp 00007ffd error 4 in libtorch_cuda.so
  0 A CUDA kernel of the program or of a library accessed an invalid address. [illegal-address]
    Fault: not known: the message has several possible causes
      RuntimeError: CUDA error: an illegal memory access was encountered
  0 A kernel checked its input and refused it, most often an index or a class label out of range. [device-assert]
    Fault: an error of the program or its configuration
      RuntimeError: CUDA error: device-side assert triggered
  0 A kernel of the program or of a library accessed an address that is no multiple of the size of its type. [misaligned]
    Fault: not known: the message has several possible causes
      RuntimeError: CUDA error: misaligned address
  0 A kernel ended with an exception: most often an invalid address in the program, sometimes a fault of the GPU. [launch-failure]
    Fault: not known: the message has several possible causes
      RuntimeError: CUDA error: unspecified launch failure
  0 cuDNN could not start: no GPU memory left, libraries of different versions, or a build that does not fit the driver or the GPU. [cudnn-not-init]
    Fault: not known: the message has several possible causes
      RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED
  0 A kernel of cuDNN failed: too little free GPU memory, an earlier error of a kernel, or a cuDNN that does not fit the driver or GPU. [cudnn-exec]
    Fault: not known: the message has several possible causes
      RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED
  0 cuBLAS could not create its handle: in most cases the GPU has no memory left, otherwise an earlier CUDA error or a cuBLAS of another release. [cublas-not-init]
    Fault: not known: the message has several possible causes
      RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`
  0 Two operands of one operation are on different devices. [same-device]
    Fault: an error of the program or its configuration
      RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
  0 Python does not find this package: it is not installed for this interpreter, or pip builds another package in an isolated environment without it. [no-module]
    Fault: packages or libraries that are incompatible with this host or with each other
      ModuleNotFoundError: No module named 'torch'
  0 Another process uses the port: an old job, another job, or a second process of this job that listens too. [addr-in-use]
    Fault: an error of the program or its configuration
      RuntimeError: Address already in use
  0 torchrun reports that a rank ended with an error. The error itself is above in that rank's output. [elastic-child]
    Fault: not known: the message has several possible causes
      torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED
  0 A file system is full, or has no inodes left, or the limit of inotify watches is reached. [no-space]
    Fault: a limit of memory, disk space, files or time
      OSError: [Errno 28] No space left on device
  0 The process reached its limit of open files. [nofile]
    Fault: a limit of memory, disk space, files or time
      OSError: [Errno 24] Too many open files
  0 Another error on this rank or a timeout ended the communicator. [nccl-aborted]
    Fault: not known: the message has several possible causes
      RuntimeError: NCCL communicator was aborted on rank 3.
  0 Slurm's cgroup ended a task because the job exceeded its requested memory. [slurm-oom]
    Fault: a limit of memory, disk space, files or time
      slurmstepd: error: Detected 1 oom_kill event in StepId=42.0. Some of the step tasks have been OOM Killed.
  0 A package was built against another NumPy, in most cases for NumPy 1 with NumPy 2 installed or the other way round. [numpy-abi]
    Fault: packages or libraries that are incompatible with this host or with each other
      ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject
  0 PyTorch has no such part: in most cases the program needs another version of it. [attr-torch]
    Fault: not known: the message has several possible causes
      AttributeError: module 'torch' has no attribute 'float8_e4m3fn'
  0 Triton compiles a small C file at run time and there is no compiler. [triton-cc]
    Fault: packages or libraries that are incompatible with this host or with each other
      RuntimeError: Failed to find C compiler. Please specify via CC environment variable.
  0 The toolkit does not support this GPU: it is older or newer than the toolkit's range. [nvcc-arch]
    Fault: packages or libraries that are incompatible with this host or with each other
      nvcc fatal   : Unsupported gpu architecture 'compute_100'
  0 The container toolkit did not find NVML: no driver on the machine that runs the containers, Docker Desktop or Docker from snap, or a wrong root or ldconfig in its configuration. [container-cli-nvml]
    Fault: not known: the message has several possible causes
      docker: Error response from daemon: failed to create task for container: nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file
  0 This user is not in the group docker. [docker-socket]
    Fault: the operating system or its configuration
      permission denied while trying to connect to the Docker daemon socket
  0 The file system found a corrupted structure or a failed access. [fs-error]
    Fault: not known: the message has several possible causes
      kernel: EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm python3: reading directory lblock 0
  0 The host, not the GPU, had no memory left for an allocation. [host-oom-python]
    Fault: a limit of memory, disk space, files or time
      RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 1073741824 bytes. Error code 12 (Cannot allocate memory)
  0 The loss or a gradient is NaN or infinite, because of the learning rate, the precision or the data. [nan-loss]
    Fault: an error of the program or its configuration
      loss is nan
  3 no match: no check is about this message
      foo bar baz
  3 no match: no check is about this message
      memory error
  3 no match: no check is about this message
      the GPU is slow
  3 no match: no check is about this message
      CUDA error
  3 no match: no check is about this message
      driver failed
  3 no match: no check is about this message
      nvidia-smi shows no processes
  0 possible match: gpu.throttle: the hardware limits the clocks of a GPU
      HW Slowdown                        : Not Active
  0 The GPU reduces its clocks because of heat, power, or a signal of the server. [throttle]
    Fault: not known: the message has several possible causes
          HW Slowdown : Active
  3 no match: no check is about this message
      no such check
  0 possible match: python.nccl: a framework loads another NCCL than it was built with
      undefined symbol
  0 CUDA waits for the NVSwitch fabric: the Fabric Manager does not run or has another version. Without NVSwitch, kernel HMM can be the cause. [fabric-not-ready]
    Fault: the driver or its setup
      cudaErrorSystemNotReady

A weak match is labelled as possible.

  $ gpuprobe explain 'ImportError: libc10.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev'
  An extension was built against another PyTorch version or C++ ABI than the one installed.
  [undef-torch]
  
  Fault: packages or libraries that are incompatible with this host or with each other
  
  To do:
    Reinstall the extension for this PyTorch: a wheel whose name has its version and ABI, or pip
    install --no-build-isolation --no-cache-dir --force-reinstall --no-deps NAME. python -c "import
    torch; print(torch.__version__, torch.compiled_with_cxx11_abi())" shows both.
  
  Source: glibc source, elf/dl-lookup.c; PyTorch documentation, C++ extensions

A message that only a check has is no proof of that check's cause.

  $ gpuprobe explain 'openat(AT_FDCWD, "/dev/nvidia-uvm", O_RDWR|O_CLOEXEC) = -1 ENXIO (No such device or address)' | sed -n '1p; 3p; $p'
  A check is about this message. The message alone does not prove its cause.
  driver.node-numbers: a device node has an outdated major number
  This host: gpuprobe -v | grep '^driver.node-numbers '

The document contains the method of each match.

  $ for m in gpu.lost 'Xid 79' 'Xid 173' 'CUDA out of memory. Tried to allocate' 'ImportError: undefined symbol: x' 'foo bar baz'; do gpuprobe explain "$m" --json > out
  >   echo "$? $(tr -d ' \n' < out | sed 's/"title":.*"after":/"after":/; s/"after":\[[^]]*\],//')"; done
  0 {"schema":"gpuprobe-checks/1","checks":[{"id":"gpu.lost","match":"id"}]}
  0 {"schema":"gpuprobe-checks/1","checks":[{"id":"gpu.lost","match":"number"}],"numbers":[{"kind":"Xid","number":79,"check":"gpu.lost","name":"ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS","meaning":"TheGPUnolongerrespondsonPCIe.","fault":"hardware","action":"reboot"}]}
  3 {"schema":"gpuprobe-checks/1","checks":[],"numbers":[{"kind":"Xid","number":173,"check":null}]}
  0 {"schema":"gpuprobe-checks/1","checks":[{"id":"program.gpu-memory","match":"message"}],"messages":[{"id":"torch-cuda-oom","fault":"limit","cause":"Thetensorsofthisprocess,andthoseofothersontheGPU,needmorememorythanithas.","remedy":"MemorythatisneitherfreenorreservedbyPyTorchbelongstootherprocesses:nvidia-smishowsthem,endthemfirst.Otherwiseuseasmallerbatch,gradientcheckpointingoralowerprecision.Withmuchmemoryreservedbutunallocated,setPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.","check":"program.gpu-memory","source":"PyTorchsource,c10/cuda/CUDACachingAllocator.cpp"}]}
  0 {"schema":"gpuprobe-checks/1","checks":[],"messages":[{"id":"undef-other","fault":"install","cause":"Aloadedlibrarylacksasymbolthatanotheroneneeds:theirversionsdonotfit.Thesymbolidentifiesthelibrary.","remedy":"c++filtNAMEshowsthesymbol;gpuprobeloadsshowswhichfilesareloaded.unsetLD_LIBRARY_PATHtocompare,thenreinstallthepackageofthefileinthemessage:pipinstall--force-reinstall--no-cache-dirNAME.","check":null,"source":"glibcsource,elf/dl-lookup.c"}]}
  3 {"schema":"gpuprobe-checks/1","checks":[]}

A message with control characters is not printed.

  $ gpuprobe explain "$(printf '\033]0;owned\a foo bar')" 2>&1 | LC_ALL=C grep -c '[^ -~]'
  0
  [1]

A message that begins with '-' is taken for an option. The error names the remedy, which a wrong option does not get.

  $ gpuprobe explain '-worker-1:946:988 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129'
  gpuprobe: '-worker-1:946:988 [0] transpor...' is not an option; write -- before an argument that begins with '-' (see 'gpuprobe explain --help')
  [64]
  $ gpuprobe explain '-- Process 1 terminated with the following error:'
  gpuprobe: '-- Process 1 terminated with t...' is not an option; write -- before an argument that begins with '-' (see 'gpuprobe explain --help')
  [64]
  $ gpuprobe explain -9 -w x
  gpuprobe: '-9' is not an option; write -- before an argument that begins with '-' (see 'gpuprobe explain --help')
  [64]
  $ gpuprobe explain --jsn x
  gpuprobe: unknown option --jsn; did you mean --json? (see 'gpuprobe explain --help')
  [64]
  $ gpuprobe explain --no-such-option=x
  gpuprobe: unknown option --no-such-option (see 'gpuprobe explain --help')
  [64]
  $ gpuprobe explain -xyz
  gpuprobe: unknown option -x (see 'gpuprobe explain --help')
  [64]
  $ gpuprobe explain -- '-worker-1:946:988 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129' | head -n 1
  The peer did not respond over InfiniBand or RoCE: link, routing, GID, or the peer host died.

A short name of a command without arguments gets no such remedy.

  $ gpuprobe '-worker-1:946:988 [0] x'
  gpuprobe: unknown option -w (see 'gpuprobe --help')
  [64]
