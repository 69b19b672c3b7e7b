Every captured host is judged with its planted cause. Exit codes are those of monitoring plug-ins.

A host without a GPU is no failure. Warnings that have no consequences are not called causes.

  $ gpuprobe --root $FIXTURES/laptop-no-gpu.host
  WARNING: the threads of OpenBLAS compete with OpenMP for the same cores [host.blas]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up laptop CPU: 4 cores, 8 CPUs, 1 NUMA node, 16.0 GiB of memory
    no NVIDIA GPU
  
  Warning: host.blas
    the threads of OpenBLAS compete with OpenMP for the same cores: libblas.so.3 is openblas-pthread
    (PyTorch on two cores: 1.7 to 2.7 times slower)
    Remedy:
        apt install libopenblas0-openmp
        update-alternatives --set libblas.so.3-x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3
  
  Warning: host.governor
    the CPU frequency governor is powersave (policy0)
    Remedy:
      Measure what performance brings here: gputune plan --only cpu.governor
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [1]

A healthy server is one screen of facts.

  $ gpuprobe --root $FIXTURES/server-8gpu.host
  OK: no problem found
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    8 GPUs, 0000:17:00.0 to 0000:4f:00.0: NVIDIA H100 80GB HBM3, 79.6 GiB, driver nvidia
    NVIDIA driver 550.163.01, which carries CUDA up to 12.4
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

The module is installed but not loaded. That is the cause, and the NVML failure is a consequence.

  $ gpuprobe --root $FIXTURES/driver-not-loaded.host
  CRITICAL: the nvidia kernel module is not loaded [driver.loaded]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver none
  
  Cause: driver.loaded
    the nvidia kernel module is not loaded
    Consequences:
      nvml.answers: NVML fails with error 9 (Driver Not Loaded)
    Remedy:
        modprobe nvidia
      and if that fails, read why in: journalctl -k -b | grep -i nvidia
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

After a kernel upgrade without headers the missing build is the cause, not the module that cannot load.

  $ gpuprobe --root $FIXTURES/driver-no-headers.host
  CRITICAL: no nvidia module is built for the running kernel 6.1.0-41-amd64; its headers are missing,
            so DKMS could not build it [driver.module-built]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver none
  
  Cause: driver.module-built
    no nvidia module is built for the running kernel 6.1.0-41-amd64; its headers are missing, so DKMS
    could not build it
    Consequences:
      driver.loaded: the nvidia kernel module is not loaded
      nvml.answers: NVML fails with error 9 (Driver Not Loaded)
    Remedy:
        apt install linux-headers-6.1.0-41-amd64
        dkms autoinstall -k 6.1.0-41-amd64
        modprobe nvidia
      If it does not build, the reason is in: /var/lib/dkms/nvidia-current/550.163.01/build/make.log
      If the archive has the headers of this kernel no longer, take the newest of both:
        apt install linux-image-amd64 linux-headers-amd64; reboot
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

Module and libraries of two versions: decided from files, with NVML's own failure as a consequence.

  $ gpuprobe --root $FIXTURES/driver-mismatch.host
  CRITICAL: loaded driver 535.261.03, libraries 550.163.01 [driver.lib-mismatch]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver nvidia
    NVIDIA driver 535.261.03
  
  Cause: driver.lib-mismatch
    loaded driver 535.261.03, libraries 550.163.01: the driver was upgraded while its old kernel
    module stayed loaded (/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1)
    Consequences:
      nvml.answers: NVML fails with error 18 (Driver/library version mismatch)
      cuda.libcuda: a program loads /usr/lib/x86_64-linux-gnu/libcuda.so.1, which is 550.163.01, but
      the loaded module is 535.261.03
    Remedy:
      Stop all programs that use the GPU and reload the module, or reboot:
        systemctl stop nvidia-persistenced
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      To prevent unattended upgrades, hold all packages of that version:
        apt-mark hold '~i~V550.163.01'
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

nouveau is bound to the GPU.

  $ gpuprobe --root $FIXTURES/nouveau.host
  CRITICAL: nouveau is bound to 0000:17:00.0, so the NVIDIA module cannot use the GPU [driver.nouveau]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver nouveau
  
  Cause: driver.nouveau
    nouveau is bound to 0000:17:00.0, so the NVIDIA module cannot use the GPU
    Consequences:
      driver.loaded: the nvidia kernel module is not loaded
      nvml.answers: libnvidia-ml.so.1 cannot be loaded
    Remedy:
      Debian 12 packages driver 535.261.03, which supports this GPU:
        # adds the components contrib and non-free to Debian's sources
        sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
          $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
        apt update
        apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
          nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
        reboot
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

A real-time kernel explains why no module could be built.

  $ gpuprobe --root $FIXTURES/preempt-rt.host
  CRITICAL: kernel 6.1.0-41-rt-amd64 is a PREEMPT_RT kernel [kernel.preempt-rt]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-rt-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver none
  
  Cause: kernel.preempt-rt
    kernel 6.1.0-41-rt-amd64 is a PREEMPT_RT kernel: the NVIDIA module does not build for it, and
    training loses throughput
    Consequences:
      driver.module-built: no nvidia module is built for the running kernel 6.1.0-41-rt-amd64; no
      driver package is installed
      driver.loaded: the nvidia kernel module is not loaded
      nvml.answers: libnvidia-ml.so.1 cannot be loaded
    Remedy:
      Install the ordinary kernel, and choose it in GRUB's menu (Advanced options), which starts the
      real-time one first:
        apt install linux-image-amd64 linux-headers-amd64; reboot
      Then remove the real-time kernel, each version of it:
        apt purge 'linux-image-*-rt-amd64' linux-image-rt-amd64
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

A GPU that the driver does not list, a narrow link, and unknown NUMA nodes are three findings.

  $ gpuprobe --root $FIXTURES/gpu-lost-and-narrow.host
  CRITICAL: 2 GPUs on the PCI bus, but NVML reports 1 [gpu.count]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA H100 80GB HBM3, 79.6 GiB, driver nvidia
    GPU 0000:1f:00.0: NVIDIA GPU, driver nvidia
    NVIDIA driver 550.163.01, which carries CUDA up to 12.4
  
  Failure: gpu.count
    2 GPUs on the PCI bus, but NVML reports 1
    Remedy:
      Look for the one that failed: journalctl -k -b | grep -iE 'nvrm|xid|fallen off'
      A reboot brings back a GPU that fell off the bus; if it falls off again, have it replaced.
  
  Warning: gpu.numa-node
    the kernel does not know which of the 2 NUMA nodes GPU 0000:17:00.0 is next to (numa_node is -1)
    Remedy:
      Update the firmware, or correct the VM's topology (in libvirt: a pcie-expander-bus with <node>).
      Until then bind no process to a node for this GPU.
  
  Warning: gpu.pcie-width
    GPU 0000:1f:00.0 runs at PCIe x4 although GPU and slot support x16
    Remedy:
      Reseat the GPU or its riser, and check the slot's bifurcation in the firmware
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

A container without the GPU, with a quota and a small /dev/shm.

  $ gpuprobe --root $FIXTURES/container-cpuset.host
  CRITICAL: this container (docker) has no access to the GPU [container.devices]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64, container
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver nvidia
    NVIDIA driver 550.163.01
  
  Cause: container.devices
    this container (docker) has no access to the GPU: /dev/nvidiactl is absent
    Consequences:
      driver.device-nodes: /dev/nvidiactl is absent from this container (docker)
      driver.nvml-library: libnvidia-ml.so.1 is not on this container's disk
      nvml.answers: libnvidia-ml.so.1 cannot be loaded
      cuda.libcuda: the loader finds no libcuda.so.1, so no CUDA program can start
    Remedy:
      Start it with the GPU: add --gpus all to docker run
  
  Warning: host.shm
    /dev/shm has only 64.0 MiB: data-loader workers and NCCL share memory through it
    Remedy:
      Start the container with more: add --shm-size=256g to docker run
  
  Warning: host.cpu-quota
    the cgroup allows 4.0 CPUs of time on 8 CPUs: with as many threads as CPUs they are throttled
    every period
    Remedy:
      Give the job a cpuset instead of a quota, or start it with gputune run, which counts the quota
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [2]

A node without CPUs, with a distant id, is a node.

  $ gpuprobe --root $FIXTURES/cpuless-node.host
  OK: no problem found
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU beside GPU memory: 8 cores, 8 CPUs, 2 NUMA nodes, 160 GiB of memory
    no NVIDIA GPU
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

A captured virtual machine.

  $ gpuprobe --root $FIXTURES/vm-2cpu.host
  OK: no problem found
    Debian GNU/Linux 12 (bookworm), kernel 6.18.44, virtual machine, container
    AMD EPYC: 2 cores, 2 CPUs, 1 NUMA node, 23.5 GiB of memory
    no NVIDIA GPU
  
  Advice (gputune plan has the commands):
    limits.nofile: a program can open 20000 files: loader workers pass each tensor as an open file and
    fail with "too many open files"
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

Secure Boot with an unsigned module: the key is the cause, not the missing module.

  $ gpuprobe --root $FIXTURES/secure-boot.host | sed '/^CHECK/,$d'
  CRITICAL: Secure Boot is on and the kernel rejected the nvidia module [driver.secure-boot]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver none
  
  Cause: driver.secure-boot
    Secure Boot is on and the kernel rejected the nvidia module: its signing key is not enrolled
    Consequences:
      driver.loaded: the nvidia kernel module is not loaded
      nvml.answers: NVML fails with error 9 (Driver Not Loaded)
    Remedy:
      Enrol DKMS's key; a blue screen (MokManager: Enroll MOK) asks for the password at the next boot:
        mokutil --import /var/lib/dkms/mok.pub; reboot
  
  * checks pass (--verbose shows all) (glob)

GPUs that are all assigned to virtual machines are a warning; no other check reports them.

  $ gpuprobe --root $FIXTURES/vfio-all.host | sed '/^CHECK/,$d'
  WARNING: vfio-pci is bound to every GPU [driver.vfio]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    2 GPUs, 0000:17:00.0 to 0000:1f:00.0: NVIDIA GPU, driver vfio-pci
  
  Warning: driver.vfio
    vfio-pci is bound to every GPU: all are reserved for virtual machines and unusable on the host
    Remedy:
      If that is not meant: grep -rn vfio /etc/modprobe.d /etc/default/grub
      remove the GPU's id there, then
        update-initramfs -u
        update-grub; reboot
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

A driver that never answered is a finding, and the rest of the report is complete.

  $ gpuprobe --root $FIXTURES/gpu-hung.host | sed '/^CHECK/,$d'
  CRITICAL: NVML did not respond within 10 s [nvml.answers]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GPU, driver nvidia
    NVIDIA driver 550.163.01
  
  Failure: nvml.answers
    NVML did not respond within 10 s: the driver or a GPU hangs
    Remedy:
      The kernel log may have the reason:
        journalctl -k -b | grep -iE 'nvrm|xid'
      Then reboot: a driver that hangs cannot reset a GPU.
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

The first libcuda in the search order decides: an image's older copy breaks CUDA, a newer one can lift an old driver.

  $ gpuprobe --root $FIXTURES/compat-older.host | sed '/^CHECK/,$d'
  CRITICAL: /usr/local/cuda/compat/libcuda.so.1 has version 575.57.08, older than the driver 580.95.05
            [cuda.libcuda]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64, container
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA H100 80GB HBM3, 79.6 GiB, driver nvidia
    NVIDIA driver 580.95.05, which carries CUDA up to 13.0
  
  Failure: cuda.libcuda
    /usr/local/cuda/compat/libcuda.so.1 has version 575.57.08, older than the driver 580.95.05: a
    compat library is only for older drivers
    Remedy:
      Remove /usr/local/cuda/compat from LD_LIBRARY_PATH
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  $ gpuprobe --root $FIXTURES/compat-lifts.host | grep -A2 '^cuda'
  [1]

The same newer libcuda on a consumer GPU, and one that the tables do not contain yet.

  $ sed 's/NVIDIA H100 80GB HBM3/NVIDIA GeForce RTX 4090/' $FIXTURES/compat-lifts.host > consumer.host
  $ gpuprobe --root consumer.host | sed '/^CHECK/,$d'
  CRITICAL: forward compatibility of /usr/local/cuda/compat/libcuda.so.1 (575.57.08) with driver
            550.163.01 is not supported by consumer GPUs [cuda.forward-compat]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    GPU 0000:17:00.0: NVIDIA GeForce RTX 4090, 79.6 GiB, driver nvidia
    NVIDIA driver 550.163.01, which carries CUDA up to 12.4
  
  Failure: cuda.forward-compat
    forward compatibility of /usr/local/cuda/compat/libcuda.so.1 (575.57.08) with driver 550.163.01 is
    not supported by consumer GPUs
    Remedy:
      Remove /usr/local/cuda/compat from the loader's cache:
        grep -rl /usr/local/cuda/compat /etc/ld.so.conf.d | xargs -r sed -i '\|^/usr/local/cuda/compat/*$|d'
        ldconfig
  
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
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  $ sed 's/575\.57\.08/999.10/' $FIXTURES/compat-lifts.host > newer.host
  $ gpuprobe --root newer.host | grep -A2 '^UNKNOWN\|cuda.forward-compat'
  UNKNOWN: support of /usr/local/cuda/compat/libcuda.so.1 (999.10) for driver 550.163.01 is unknown
           [cuda.forward-compat]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
  --
    cuda.forward-compat: support of /usr/local/cuda/compat/libcuda.so.1 (999.10) for driver 550.163.01
    is unknown: its branch is not in this program's table
    cuda.ptx: the CUDA release of driver 999.10 is not in this program's table
  $ gpuprobe -q --root newer.host
  UNKNOWN: support of /usr/local/cuda/compat/libcuda.so.1 (999.10) for driver 550.163.01 is unknown
           [cuda.forward-compat]
  [3]

A rented machine with several faults: the one that stops CUDA first, then each of the others.

  $ gpuprobe --root $FIXTURES/vm-half-topology.host | sed '/^CHECK/,$d'
  CRITICAL: /dev/nvidia-uvm is absent [driver.uvm]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64, qemu
    Made-up generic CPU: 16 cores, 16 CPUs, 2 NUMA nodes, 128 GiB of memory
    GPU 0000:17:00.0: NVIDIA H100 80GB HBM3, 79.6 GiB, driver nvidia
    NVIDIA driver 550.163.01, which carries CUDA up to 12.4
  
  Failure: driver.uvm
    /dev/nvidia-uvm is absent: CUDA cannot start
    Remedy:
        apt install nvidia-modprobe && nvidia-modprobe -c 0 -u
  
  Warning: host.topology
    0000:17:00.0 is on node 1 (CPUs 8-15), but its local_cpulist is 0-7
    Remedy:
      Compare both, then update the firmware or correct the VM's topology. Until then bind no process
      to a node:
        lstopo --no-io; numactl -H
  
  Warning: rdma.peermem
    mlx5_0 cannot access GPU memory: nvidia_peermem is not loaded, and DMA-BUF is not available: the
    loaded nvidia module is not the open one
    Remedy:
      The module loads only if the RDMA drivers have the interface for it, as those of MLNX_OFED,
      DOCA-OFED and some distributions:
        modprobe nvidia-current-peermem || modprobe nvidia-peermem
      and for every boot:
        echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf
      If modprobe prints "Invalid argument", use DMA-BUF: it needs Linux 5.12, a GPU from Turing on,
      and the open nvidia module:
      replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
  
  Warning: host.cpu-features
    the CPU of this virtual machine does not show AVX2: matrix products run several times slower, and
    some wheels do not start
    Remedy:
      Give the VM the host's CPU (libvirt: <cpu mode='host-passthrough'/>)
  
  Warning: host.memlock
    only 8.0 MiB may be locked, but mlx5_0 registers its buffers as locked memory
    Remedy:
      Members of the group rdma may then lock all memory, at their next login:
        echo '@rdma - memlock unlimited' | sudo tee /etc/security/limits.d/90-rdma.conf
        sudo groupadd -f rdma && sudo usermod -aG rdma "$USER"
      A service needs LimitMEMLOCK=infinity.
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

Pending changes of the next boot or night: apt's lists on disk are read, apt is not run.

  $ { sed 's/unattended-upgrades.*/unattended-upgrades 2.9/; s/ newer .*//; s/ hold//' $FIXTURES/driver-upgrade-waits.host
  > echo 'file /var/lib/apt/lists/mirror.example_debian_dists_bookworm_non-free_binary-amd64_Packages'
  > printf '\t%s\n' 'Package: libcuda1' 'Version: 550.163.01-2' '' 'Package: nvidia-kernel-dkms' 'Version: 550.163.01-2~bpo1' '' \
  >   'Package: nvidia-kernel-dkms' 'Architecture: amd64' 'Version: 550.163.01-2+deb12u1'; } > waits.host
  $ gpuprobe --root waits.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: driver.upgrade
    unattended-upgrades may replace the driver in use: the package lists have nvidia-kernel-dkms
    550.163.01-2+deb12u1 (installed: 550.163.01-2). New programs then fail until the module is
    reloaded
    Remedy:
      Upgrade and reboot at a time of your choice; until then hold all packages of this version:
        apt-mark hold '~i~V550.163.01'
  
  $ gpuprobe --root $FIXTURES/next-kernel-build-failed.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: driver.next-kernel
    kernel 6.12.0-1-amd64 is installed and starts at the next boot, but no nvidia module is built for
    it: DKMS tried and failed
    Remedy:
      The end of the log has the reason:
        tail /var/lib/dkms/nvidia-current/550.163.01/build/make.log
      If driver 550.163.01 is older than that kernel, keep the running one:
        apt purge linux-image-6.12.0-1-amd64 linux-headers-6.12.0-1-amd64
      If that also removes linux-image-amd64, no update of the kernel comes until it is installed
      again
  
  $ gpuprobe --root $FIXTURES/acs-control-words.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Warning: pcie.acs
    1 of 2 switch ports redirect: ACS of 0000:18:00.0 sends packets between GPUs and network cards up
    to the root complex and back
    Remedy:
      Virtual machines that are given devices need ACS. Only on other hosts, as root until the next
      boot:
        setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:1d
      At every boot:
        echo 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT pci=disable_acs_redir=0000:18:00.0"' > /etc/default/grub.d/50-acs.cfg
        update-grub; reboot
  
