A host without a GPU is ok unless one is required.

  $ gpuprobe -q --root $FIXTURES/cpuless-node.host
  OK: no problem found
  $ gpuprobe -q --require-gpu --root $FIXTURES/cpuless-node.host
  CRITICAL: no NVIDIA GPU on the PCI bus, but one is required [gpu.present]
  [2]

The document contains the cause for monitoring.

  $ gpuprobe --json --root $FIXTURES/nouveau.host | grep -E '"(schema|verdict|exit_code|cause)"' | sort | uniq -c | grep -v null
        2       "cause": "driver.nouveau"
        1   "cause": "driver.nouveau",
        1   "exit_code": 2,
        1   "schema": "gpuprobe/1",
        1   "verdict": "CRITICAL",

Every check has an explanation and the messages that lead to it.

  $ gpuprobe explain driver.lib-mismatch
  driver.lib-mismatch: driver and libraries have different versions
  
    The kernel module, libnvidia-ml and libcuda must have exactly the same version. An upgrade
    replaces the files at once, but the old module stays loaded until a reload or reboot. gpuprobe
    compares the versions in files and does not call the driver.
  
  Messages that lead here:
    Failed to initialize NVML: Driver/library version mismatch
    NVRM: API mismatch: the client has the version
  
  Can follow from:
    driver.loaded
  $ gpuprobe explain no.such
  gpuprobe: there is no check 'no.such'; gpuprobe list names them
  [64]
  $ gpuprobe explain 'RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver' | head -n 1
  The wheel needs a newer CUDA release than the driver supports. [torch-driver-old]
  $ gpuprobe explain '[ 1234.5678] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.' | head -n 1
  Xid 79: ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS
  $ gpuprobe explain torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device | head -n 1
  The library contains no code for this GPU: the GPU is newer or older than the build supports.
  $ gpuprobe explain "Error 802: system not yet initialized" | grep hmm
    modprobe nvidia_uvm with uvm_disable_hmm=1.
  $ for host in arm-gh200 power9-gpu-nodes; do gpuprobe --root $FIXTURES/$host.host | sed -n 's/:.*NUMA node.*//p'; done
    ARM Neoverse-V2
    POWER9
  $ gpuprobe explain host.blaz
  gpuprobe: there is no check 'host.blaz'; did you mean host.blas?
  [64]
  $ gpuprobe explain torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB | head -n 1
  The tensors of this process, and those of others on the GPU, need more memory than it has.
  $ gpuprobe explain program.pip | head -n 1
  program.pip: pip installs into an environment of its own
  $ gpuprobe explain 'nothing that anybody ever met'
  no match: no check is about this message
  [3]
  $ gpuprobe list | head -4
  NAME                 EXPECTED STATE
  gpu.present          no GPU that is examined on the PCI bus
  amd.driver           an AMD GPU has no driver or is unknown to KFD
  amd.access           /dev/kfd or a render node cannot be opened

A capture of a captured host, replayed, gives the same report.

  $ gpuprobe capture copy.host --root $FIXTURES/driver-mismatch.host
  $ gpuprobe --root $FIXTURES/driver-mismatch.host > one; gpuprobe --root copy.host > two; cmp one two

A capture of this host, replayed, gives the same report to the byte, also as a document.

  $ gpuprobe > live.txt; gpuprobe --json > live.json; gpuprobe capture here.host
  $ gpuprobe --root here.host > replay.txt; gpuprobe --json --root here.host > replay.json; test $? -le 3
  $ cmp live.txt replay.txt
  $ diff live.json replay.json | grep -v '^[<>-].*link_speed\|^---\|^[0-9,]*c[0-9,]*$' # an idle card may change its speed at any time
  [1]

It contains neither the machine's name nor a secret; serial numbers that hwloc reads as root are removed too.

  $ cat /etc/machine-id /proc/sys/kernel/random/boot_id 2>/dev/null > ids; true
  $ while read -r id; do test -z "$id" || ! grep "$id" here.host; done < ids
  $ mkdir -p tree/etc tree/proc tree/sys/class/dmi/id; echo SECRET-1234 > tree/sys/class/dmi/id/product_serial
  $ echo QEMU > tree/sys/class/dmi/id/sys_vendor
  $ echo 'quiet wifi.password=SECRET root=UUID=7ab5ddea-44c5-4c38-94cf-d9c1e9fa29ba -- --token SECRET' > tree/proc/cmdline
  $ gpuprobe capture --root tree - | grep -e SECRET -e UUID
  	quiet wifi.password=[scrubbed] root=UUID=00000000-0000-0000-0000-000000000001 -- [scrubbed]
  $ gpuprobe --json --root tree | grep cmdline
        "cmdline": "quiet wifi.password=[scrubbed] root=UUID=00000000-0000-0000-0000-000000000001 -- [scrubbed]",

Kernel settings are captured by directory, also those without a tunable, without keys, actions and large files.

  $ mkdir -p tree/proc/sys/vm tree/proc/sys/net/core tree/proc/sys/net/ipv4; echo 20 > tree/proc/sys/vm/compaction_proactiveness
  $ for f in vm/stat_refresh vm/drop_caches net/core/netdev_rss_key net/ipv4/tcp_fastopen_key; do echo SECRET > tree/proc/sys/$f; done
  $ seq 100000 > tree/proc/sys/vm/large; gpuprobe capture --root tree - | grep -A1 '^file /proc/sys/'
  file /proc/sys/net/ipv4/tcp_fastopen_key
  file /proc/sys/vm/compaction_proactiveness
  	20

A container with some of the machine's GPUs is complete.

  $ { cat $FIXTURES/server-8gpu.host; printf 'file /run/systemd/container\n\tdocker\n'; } | sed 's/"count": 8/"count": 2/' > two-of-8.host
  $ gpuprobe -v --root two-of-8.host | grep gpu.count
  gpu.count            pass   this container has access to 2 of the 8 GPUs on the bus

A local compatibility table replaces the built-in one; a broken one is named with its line and never gives "ok".

  $ { cat $FIXTURES/server-8gpu.host; printf 'file /usr/local/cuda-13.0/version.json\n'; } > cuda13.host
  $ gpuprobe --root cuda13.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: cuda.toolkit
    toolkit 13.0 needs driver 580.65.06 or newer; this host has 550.163.01
    Remedy:
      Take Debian 12's own, CUDA 11.8, or another up to 12.4, which driver and GPU support:
        apt install nvidia-cuda-toolkit
      and take /usr/local/cuda-13.0/bin out of PATH.
      Only if CUDA 13.0 is needed: driver 580.65.06 or newer:
        # replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
        reboot
  
  $ { cat cuda13.host; printf 'file /etc/gputune/compat.d/cuda_driver.tsv\n\t13\t550.54\n'; } > override.host
  $ gpuprobe -q --root override.host
  OK: no problem found
  $ { cat cuda13.host; printf 'file /etc/gputune/compat.d/cuda_driver.tsv\n\tthirteen\n'; } > broken.host
  $ gpuprobe -v --root broken.host | grep -A1 '^cuda.toolkit'
  cuda.toolkit         unknown /etc/gputune/compat.d/cuda_driver.tsv:1: expected a version, a TAB and
                               versions
  $ { cat $FIXTURES/server-8gpu.host; printf 'file /etc/gputune/compat.d/torch_wheel.tsv\n\tthirteen\n'; } > broken.host; gpuprobe can --root broken.host
  gpuprobe: /etc/gputune/compat.d/torch_wheel.tsv:1: expected a version, a TAB and versions
  [64]

A toolkit newer than the driver: Debian's own toolkit, if driver and GPU support it. For a dropped GPU no driver is
suggested. A libcuda that lifts the driver counts.

  $ fix() { gpuprobe --root x.host | sed -n '/^[CFW][a-z]*: cuda.toolkit/,/^$/p'; }
  $ sed 's/VERSION_ID="12"/VERSION_ID="13"/' cuda13.host > x.host; fix
  Warning: cuda.toolkit
    toolkit 13.0 needs driver 580.65.06 or newer; this host has 550.163.01
    Remedy:
      Take Debian 13's own, CUDA 12.4, which driver and GPU support:
        apt install nvidia-cuda-toolkit
      and take /usr/local/cuda-13.0/bin out of PATH.
      Only if CUDA 13.0 is needed: driver 580.65.06 or newer:
        # replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
        reboot
  
  $ sed 's/580\.95\.05/470.256.02/; s/"arch": 70/"arch": 37/; s/0x1db6/0x102d/; s/"cuda": 13000/"cuda": 11040/' $FIXTURES/venv-no-code-for-volta.host > k80.host
  $ { cat k80.host; printf 'file /usr/local/cuda-12.4/version.json\n'; } > x.host; fix
  Warning: cuda.toolkit
    CUDA 12.4 does not support capability 3.7 of GPU 0000:17:00.0; 11.8 is the last release that does
    Remedy:
      Take a toolkit up to CUDA 11.4 that driver and GPU support,
      and take /usr/local/cuda-12.4/bin out of PATH.
  
  $ { cat $FIXTURES/compat-lifts.host; printf 'file /usr/local/cuda-13.0/version.json\n'; } | sed 's/575\.[0-9.]*[0-9]/580.65.06/; s/12040/13000/' > x.host; gpuprobe -v --root x.host | grep cuda.toolkit
  cuda.toolkit         pass   driver 580.65.06 supports every installed toolkit

PTX that the driver cannot compile: code for the GPU itself, and a newer driver if one supports this GPU.

  $ X=$FIXTURES/toolkit-newer-ptx.host; gpuprobe --root $X | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: cuda.ptx
    toolkit 12.9 generates PTX that driver 550.163.01, which supports CUDA 12.4, cannot compile
    Remedy:
      Build for the GPU itself, so that no PTX is needed (nvcc -arch=native), or use a toolkit up to
      CUDA 12.4.
      Only if PTX of CUDA 12.9 is needed: driver 575 or newer:
        # replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
        reboot
  
  $ sed 's/550\.163\.01/450.248.02/; s/0x2330/0x102d/; s/12040/11000/; s/cuda-12\.9/cuda-11.8/; s/"arch": 90/"arch": 37/' $X > x.host; gpuprobe --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: cuda.ptx
    toolkit 11.8 generates PTX that driver 450.248.02, which supports CUDA 11.0, cannot compile
    Remedy:
      Build for the GPU itself, so that no PTX is needed (nvcc -arch=native), or use a toolkit up to
      CUDA 11.0.
  

A compiler that nvcc accepts: the newest in this Debian, or a container if even its oldest is too new.

  $ gcc() { sed "s/VERSION_ID=\"12\"/VERSION_ID=\"$1\"/; s/cuda-12\.4/cuda-$2/; s/gcc-14/gcc-$3/" $FIXTURES/toolkit-gcc-too-new.host > x.host; gpuprobe --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'; }
  $ gcc 12 12.4 14
  Warning: cuda.host-compiler
    gcc is 14, but nvcc of toolkit 12.4 supports gcc up to 13
    Remedy:
        apt install g++-12
        export NVCC_PREPEND_FLAGS='-ccbin g++-12'
  
  $ gcc 12 11.2 12
  Warning: cuda.host-compiler
    gcc is 12, but nvcc of toolkit 11.2 supports gcc up to 10
    Remedy:
      Debian 12 has no g++ older than 11. Compile in a container that has one, such as NVIDIA's image
      for CUDA 11.2; or take Debian's own toolkit, CUDA 11.8, or a newer one:
        apt install nvidia-cuda-toolkit
  
  $ gcc 13 11.8 14
  Warning: cuda.host-compiler
    gcc is 14, but nvcc of toolkit 11.8 supports gcc up to 11
    Remedy:
      Debian 13 has no g++ older than 12. Compile in a container that has one, such as NVIDIA's image
      for CUDA 11.8; or take Debian's own toolkit, CUDA 12.4, or a newer one:
        apt install nvidia-cuda-toolkit
  
  $ gcc 14 12.4 15 | tail -n 4
    Remedy:
        apt install g++-13
        export NVCC_PREPEND_FLAGS='-ccbin g++-13'
  
  $ sed -i 's/VERSION_ID="14"/VERSION_ID="13"/' x.host; gpuprobe can cuda==11.8 cuda==12.4 --root x.host | grep nvcc -A 1
    yes: its nvcc supports gcc up to 11; this host has 15; Debian 13 has none older than 12, so
    compile in a container (nvcc_gcc.tsv)
  cuda==12.4: yes
  --
    yes: its nvcc supports gcc up to 13; this host has 15, so compile with -ccbin g++-13
    (nvcc_gcc.tsv)

Headers that declare functions of glibc differently.

  $ G=$FIXTURES/toolkit-glibc-2.41.host; gpuprobe --root $G | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: cuda.glibc
    glibc 2.41 and the headers of toolkit 12.8 declare the same functions differently
    Remedy:
      Name them as the system's headers, among which nvcc lets that pass:
        export NVCC_APPEND_FLAGS='-isystem /usr/local/cuda-12.8/include'
      or use toolkit 13.1 or newer, where the driver carries it; those of Debian's own, CUDA 11.8, are
      the system's already
  
  $ sed 's/libc6 2\.41-12/libc6 2.42-2/; s/cuda-12\.8/cuda-13.1/; s/570\.172\.08/580.95.05/; s/12080/13010/' $G > x.host; gpuprobe -v --root x.host | grep cuda.glibc
  Warning: cuda.glibc
  cuda.glibc           warn   glibc 2.42 and the headers of toolkit 13.1 declare the same functions
  $ sed -i s/cuda-13.1/cuda-13.2/ x.host; gpuprobe -v --root x.host | grep cuda.glibc
  cuda.glibc           pass   glibc 2.42 and the headers of the toolkits are compatible

Bad input is one sentence and exit status 64; nothing is written.

  $ gpuprobe --root /nonexistent
  gpuprobe: cannot open root /nonexistent: No such file or directory
  [64]
  $ mkdir empty; gpuprobe --root empty
  gpuprobe: empty is not the root of a host: it contains no proc, sys or etc
  [64]
  $ echo hello > not-a-host; gpuprobe --root not-a-host
  gpuprobe: not-a-host is not a captured host: its first line is not "gpuprobe-capture/1"
  [64]
  $ printf hello > not-a-host; gpuprobe --root not-a-host
  gpuprobe: not-a-host is not a captured host: its first line is not "gpuprobe-capture/1"
  [64]
  $ head -c 3000 $FIXTURES/nouveau.host > cut.host; gpuprobe --root cut.host
  gpuprobe: cut.host:157: the last line has no newline; the capture is truncated
  [64]
  $ printf 'gpuprobe-capture/1\nfile /etc/../../x\n' > up.host; gpuprobe --root up.host
  gpuprobe: up.host:2: the path must be absolute, without "." and ".."
  [64]
  $ gpuprobe --jsn
  gpuprobe: unknown option --jsn; did you mean --json? (see 'gpuprobe --help')
  [64]
  $ gpuprobe topp
  gpuprobe: unknown command 'topp'; did you mean topo? (see 'gpuprobe --help')
  [64]
  $ gpuprobe capture
  gpuprobe: capture needs FILE (see 'gpuprobe capture --help')
  [64]
  $ gpuprobe capture /nonexistent/dir/file --root $FIXTURES/cpuless-node.host
  gpuprobe: cannot create /nonexistent/dir/file: No such file or directory
  [64]

The reference BLAS is a warning, with the Python that loads it.

  $ sed 's/openblas-pthread/blas/' $FIXTURES/cpu-server.host >reference.host
  $ gpuprobe --root reference.host | sed -n '/host.blas:/,/^$/p'
  $ printf 'file /usr/bin/python3.11 mode 755\nlink /usr/bin/python3 python3.11\nfile /usr/lib/python3.11/os.py\nfile /usr/lib/python3/dist-packages/numpy-1.24.2.egg-info/PKG-INFO\n' >>reference.host
  $ gpuprobe --root reference.host --json | python3 -c 'import json, sys; print(next(c["what"] for c in json.load(sys.stdin)["checks"] if c["id"] == "host.blas"))'
  libblas.so.3 is the reference BLAS, which uses one core and no vector unit (PyTorch trains an MLP at 400 samples/s with it and at 12,400 with OpenBLAS); it is loaded by /usr/bin/python3, which has NumPy or PyTorch
  $ sed -i 's/ID=debian/ID=rocky/' reference.host; gpuprobe --root reference.host | grep -A2 'also selects OpenBLAS'
      This also selects OpenBLAS, unless the alternative was set by hand:
        dnf install openblas-openmp
  
  $ gputune run --print --root reference.host --only run.blas -- python3 x.py | grep -A2 LD_LIBRARY
    LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-openmp
        libblas.so.3 is blas; openblas-openmp uses all cores and their vector units
