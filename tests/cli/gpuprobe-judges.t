Healthy hosts with one misleading source, and unhealthy hosts with one: each is a captured host with a few changed lines.

  $ say() { gpuprobe --root "$1" -v | grep "^$2 " | tr -s ' '; }
  $ lines() { printf 'file %s\n' "$1"; shift; printf '\t%s\n' "$@"; }
  $ without() { awk -v p="$1" '/^[a-z]/ { skip = index($2, p) == 1 } !skip' "$2"; }

A pod behind a control group namespace, with one of eight GPUs.

  $ { sed 's/"count": 8/"count": 1/' $FIXTURES/server-8gpu.host; lines /.facts/container containerd; } > pod.host
  $ say pod.host gpu.count
  gpu.count pass this container has access to 1 of the 8 GPUs on the bus
  $ { sed 's/"count": 8/"count": 1/' $FIXTURES/server-8gpu.host; lines /run/secrets/kubernetes.io/serviceaccount/namespace x; } > pod.host
  $ say pod.host gpu.count
  gpu.count pass this container has access to 1 of the 8 GPUs on the bus
  $ without /dev/nvidia pod.host > bare-pod.host; gpuprobe --root bare-pod.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Cause: container.devices
    this container (kubernetes) has no access to the GPU: /dev/nvidiactl is absent
    Consequences:
      driver.device-nodes: /dev/nvidiactl is absent from this container (kubernetes)
    Remedy:
      Ask for it in the pod: resources: { limits: { nvidia.com/gpu: 1 } }
  

A job that may open two of eight nodes, without a container.

  $ job() { sed 's/"count": 8/"count": '"$1"'/' $FIXTURES/server-8gpu.host; for i in 0 1; do lines /dev/nvidia$i ''; done; }
  $ job 2 > job.host; say job.host gpu.count
  gpu.count pass this job has access to 2 of the 8 GPUs on the bus
  $ { job 7; for i in 2 3 4 5 6 7; do lines /dev/nvidia$i ''; done; } > lost.host; say lost.host gpu.count
  gpu.count fail 8 GPUs on the PCI bus, but NVML reports 7

NVSwitch: NVML takes precedence over the manager's file, which may be in a container or outdated.

  $ without /run/nvidia-fabricmanager $FIXTURES/nvswitch-8gpu.host > elsewhere.host; say elsewhere.host gpu.fabric
  gpu.fabric pass NVML reports that all GPUs are connected to the switches
  $ sed 's/"fabric_state": 3, //g' $FIXTURES/nvswitch-8gpu.host > silent.host; say silent.host gpu.fabric
  gpu.fabric pass nvidia-fabricmanager runs
  $ without /proc/1234 silent.host > stale.host; say stale.host gpu.fabric
  gpu.fabric fail the GPUs are connected by NVSwitch, but nvidia-fabricmanager does not
  $ { without /run/nvidia-fabricmanager silent.host; lines /.dockerenv ''; } > inside.host; say inside.host gpu.fabric
  gpu.fabric unknown the state of nvidia-fabricmanager is unknown: its process is not

A log with more lines than are kept: lines about programs are dropped first.

  $ xid() { printf '\tNVRM: Xid (PCI:0000:%s:00): %s\n' "$@"; }
  $ { cat $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; seq 300 | while read -r i; do xid 17 "13, pid=$i"; done
  >   xid 17 '48, DBE'; seq 300 | while read -r i; do xid 17 "31, pid=$i"; done; } > flood.host
  $ say flood.host gpu.ecc
  gpu.ecc warn a GPU's memory had errors since boot; NVML now responds for every GPU:

A line is old if NVML answers for every GPU; without its answer it is not.

  $ log() { cat $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; for x; do printf '\tNVRM: %s\n' "$x"; done; }
  $ hung() { sed 's/^\t{"code": 0, .*/\t{"timeout": true, "error": "no answer", "gpus": []}/'; }
  $ X='Xid (PCI:0000:17:00)' Y='Xid (PCI:0000:1f:00)'
  $ log "$X: 79, GPU has fallen off the bus." > x.host; say x.host gpu.lost; hung < x.host > y.host; say y.host gpu.lost
  gpu.lost warn a GPU has fallen off the bus since boot; NVML now responds for every
  gpu.lost fail a GPU has fallen off the bus: NVRM: Xid (PCI:0000:17:00): 79, GPU has
  $ log "$X: 119, Timeout" > x.host; say x.host gpu.gsp; hung < x.host > y.host; say y.host gpu.gsp
  gpu.gsp warn the firmware of a GPU hung since boot; NVML now responds for every GPU:
  gpu.gsp fail the firmware of a GPU hung: NVRM: Xid (PCI:0000:17:00): 119, Timeout
  $ log "$X: 74, NVLink: fatal" > x.host; say x.host gpu.nvlink; hung < x.host > y.host; say y.host gpu.nvlink
  gpu.nvlink warn NVLink had an error since boot; NVML now responds for every GPU: NVRM:
  gpu.nvlink fail NVLink had an error: NVRM: Xid (PCI:0000:17:00): 74, NVLink: fatal
  $ log 'GPU 0000:17:00.0: RmInitAdapter failed! (0x62)' > x.host; say x.host gpu.start; sed 's/"count": 8/"count": 7/' x.host > y.host
  gpu.start warn the driver failed to start a GPU since boot; now all respond: NVRM: GPU
  $ say y.host gpu.start
  gpu.start fail the driver could not start a GPU: NVRM: GPU 0000:17:00.0: RmInitAdapter

The catalogue decides about the other numbers. A program's error is no finding; a fatal error of an NVSwitch stays.

  $ log "$X: 109, CTX SWITCH TIMEOUT" "$X: 109, again" "$Y: 40, x" > x.host; say x.host gpu.xid; hung < x.host > y.host; say y.host gpu.xid
  gpu.xid warn Xid 109 in the kernel log (The GPU did not switch between two contexts
  gpu.xid fail Xid 109 in the kernel log (The GPU did not switch between two contexts
  $ hung < x.host > y.host; log "$X: 109, x" "$X: 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)" | hung > z.host
  $ say z.host gpu.xid; log "$X: 13, x" "$Y: 69, x" > x.host; say x.host gpu.xid; say x.host log.gpu
  gpu.xid pass no GPU reports an error
  gpu.xid pass no GPU reports an error
  log.gpu pass the kernel log has only errors of programs
  $ log "$X: 92, High single-bit ECC error rate" | hung > x.host; say x.host gpu.xid
  gpu.xid warn Xid 92 in the kernel log (The rate of corrected memory errors (single
  $ S='nvidia-nvswitch3: SXid (PCI:0000:c1:00.0)'
  $ for m in '20034, Fatal, x' '20034, Non-fatal, x' '22013, Fatal, x' '22013, Non-fatal, x' '12028, Non-fatal, x' '99999, Fatal, x' '99999, Non-fatal, x'; do
  >   log "$S: $m" | sed 's/^\tNVRM: nv/\tnv/' > x.host; echo "$m"; say x.host gpu.nvswitch; done
  20034, Fatal, x
  gpu.nvswitch fail SXid 20034 in the kernel log (An NVLink went down): newest line:
  20034, Non-fatal, x
  gpu.nvswitch warn SXid 20034 in the kernel log (An NVLink went down): newest line:
  22013, Fatal, x
  gpu.nvswitch fail SXid 22013 in the kernel log (The link controller (Minion) requested
  22013, Non-fatal, x
  gpu.nvswitch pass no NVSwitch reports an error
  12028, Non-fatal, x
  gpu.nvswitch warn SXid 12028 in the kernel log (A GPU's access to the memory of another
  99999, Fatal, x
  gpu.nvswitch fail SXid 99999 in the kernel log (NVIDIA documents no meaning of this
  99999, Non-fatal, x
  gpu.nvswitch pass no NVSwitch reports an error
  $ gpuprobe --root y.host | sed -n '/gpu.xid/,/^$/p'
  Failure: gpu.xid
    Xid 109 in the kernel log (The GPU did not switch between two contexts in time), 2 lines, 1 with
    other numbers: newest line: NVRM: Xid (PCI:0000:17:00): 109, again
    Remedy:
      end all programs on the GPU, then reset it or reboot
      (fault of the driver or the GPU; NVIDIA does not specify which)
  

The driver also withdraws a request: its last line counts for each GPU.

  $ A='154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)'
  $ B='154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)'
  $ log "$X: $A" "$X: $B" > x.host; say x.host gpu.reset
  gpu.reset pass no GPU needs a reset
  $ log "$X: $A" "$Y: $A" "$X: $B" > x.host; say x.host gpu.reset; hung < x.host > y.host; say y.host gpu.reset
  gpu.reset warn the driver has requested the reset of a GPU since boot; NVML now
  gpu.reset fail a GPU does not work until it is reset: NVRM: Xid (PCI:0000:1f:00): 154,
  $ log "$X: $A" "$X: $B" "$X: $A" > x.host; say x.host gpu.reset
  gpu.reset warn the driver has requested the reset of a GPU since boot; NVML now

Missing firmware is installed; a power cycle does not help.

  $ { log 'GPU 0000:17:00.0: RmInitAdapter failed! (0x62)' | sed 's/"count": 8/"count": 7/'
  >   printf '\tnvidia 0000:17:00.0: Direct firmware load for nvidia/550.163.01/gsp_tu10x.bin failed with error -2\n'; } > x.host
  $ gpuprobe --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Cause: gpu.start
    the driver could not start a GPU, because its firmware is not installed: nvidia 0000:17:00.0:
    Direct firmware load for nvidia/550.163.01/gsp_tu10x.bin failed with error -2
    Consequences:
      gpu.count: 8 GPUs on the PCI bus, but NVML reports 7
    Remedy:
        apt install firmware-nvidia-gsp
      (non-free-firmware; of the driver's version), then
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      or reboot
  

A remedy names the GPU by its address, because NVML's numbers differ if one is set aside.

  $ { sed 's/"pci": "00000000:1F:00.0",/& "mig": 0, "mig_pending": 1,/' $FIXTURES/server-8gpu.host |
  >     sed '/^link .*:17:00.0\/driver /s/nvidia$/vfio-pci/' | sed 's/"count": 8/"count": 7/'; } > mig.host
  $ gpuprobe --root mig.host | grep gpu-reset
        nvidia-smi --gpu-reset -i 0000:1f:00.0

A vGPU host divides a GPU into virtual functions: NVML counts the GPU.

  $ P=/sys/devices/pci0000:17/0000:16:01.0
  $ vf() { printf 'link /sys/bus/pci/devices/0000:17:00.%s ../../..%s/0000:17:00.%s\n' "$1" ${P#/sys} "$1"
  >   lines $P/0000:17:00.$1/vendor 0x10de; lines $P/0000:17:00.$1/device 0x2330; lines $P/0000:17:00.$1/class 0x030200
  >   printf 'link %s/0000:17:00.%s/driver /sys/bus/pci/drivers/nvidia\nlink %s/0000:17:00.%s/physfn ../0000:17:00.0\n' $P "$1" $P "$1"; }
  $ { cat $FIXTURES/server-8gpu.host; vf 4; vf 5; } > vgpu.host; say vgpu.host gpu.count; say vgpu.host driver.vfio
  gpu.count pass the driver manages all 8 GPUs on the bus
  driver.vfio pass no GPU is reserved for virtual machines

A kernel module of the wrong flavour: the open one supports nothing before Turing, the proprietary one no Grace Hopper.

  $ card() { sed '/0000:17:00.0\/device$/{n;s/0x[0-9a-f]*/0x'"$1"'/}' "$2"; }
  $ open() { without /proc/driver/nvidia/version -; lines /proc/driver/nvidia/version "NVRM version: NVIDIA UNIX $1 for x86_64  $2"; }
  $ card 1db6 $FIXTURES/compat-note.host | open 'Open Kernel Module' 555.42.06 > x.host; say x.host driver.open-module
  driver.open-module fail GPU 0000:17:00.0 (10de:1db6) has capability 7.0, older than Turing: the
  $ card 1db6 $FIXTURES/compat-note.host | open 'x86_64 Kernel Module' 555.42.06 > x.host; say x.host driver.open-module
  driver.open-module pass the proprietary module supports the GPUs
  $ card 2342 $FIXTURES/compat-note.host | open 'x86_64 Kernel Module' 555.42.06 > x.host; say x.host driver.open-module
  driver.open-module fail only the open kernel module supports GPU 0000:17:00.0 (10de:2342), but

nouveau is bound to the GPU although a driver is installed: nothing must be installed.

  $ { cat $FIXTURES/nouveau.host; lines /var/lib/dkms/nvidia/580.95.05/source ''; } > x.host; gpuprobe --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/p; /Remedy:/,/^$/p'
  Cause: driver.nouveau
    Remedy:
      A driver is installed. Block nouveau, also in the initial RAM disk:
        modprobe -c | grep -qx 'blacklist nouveau' || echo 'blacklist nouveau' > /etc/modprobe.d/nouveau.conf
        update-initramfs -u; reboot
  

DKMS cannot build a failed module again; the remedy names a newer package for the installed kernels.

  $ next() { sed "s/6\.12\.0-1-amd64/$2/; s/VERSION_ID=\"12\"/VERSION_ID=\"13\"/; s/^	libc6 2.*/&\n	nvidia-kernel-dkms $1/" \
  >   $FIXTURES/next-kernel-build-failed.host > x.host; gpuprobe --root x.host | grep backports; }
  $ next 550.163.01-2 6.17.8+deb13-amd64
      The driver's packaging in trixie-backports builds for kernels up to 6.17.
  $ next 550.163.01-2 6.18.2+deb13-amd64; next 550.163.01-4~bpo13+1 6.17.8+deb13-amd64; next 550.163.01-2 6.12.107+deb13-amd64
  [1]
  $ grep -v '12.0-1-amd64/build' $FIXTURES/next-kernel-build-failed.host > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
        apt install linux-headers-6.12.0-1-amd64
        dkms autoinstall -k 6.12.0-1-amd64
  

Change of flavour: Debian's alternative prefers the proprietary one while both are installed; NVIDIA's repository has a
package for it.

  $ remedy() { gpuprobe --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/p; /Remedy:/,/^$/p'; }
  $ card 2342 $FIXTURES/server-8gpu.host | sed 's/550\.163\.01/535.261.03/g; s/^	libc6 2.*/&\n	nvidia-kernel-dkms 535.261.03-1/' > x.host; remedy
  Failure: driver.open-module
    Remedy:
      driver 535.261.03 supports this GPU with its open kernel module, and the proprietary one is
      loaded:
        # contrib in apt's sources
        apt install nvidia-open-kernel-dkms nvidia-kernel-dkms- nvidia-kernel-support-
        reboot
  
  $ gpuprobe can --root x.host | grep -A2 '^2'; gpuprobe can torch==2.13+cu126 --root x.host | head -n 4
  2. PyTorch 2.14 with CUDA 12.6 is the newest that driver 535.261.03 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  torch==2.13+cu126: no
    yes: PyTorch 2.13 is built with CUDA 12.6,13.2,13.0 (torch_wheel.tsv)
    no: GPU 0000:17:00.0 needs the open kernel module, but the proprietary one is loaded (gpu_pci.tsv)
    yes: CUDA 12.6 needs driver 525.60.13; this host has 535.261.03 (cuda_driver.tsv)
  $ cp $FIXTURES/blackwell-proprietary.host x.host; remedy
  Cause: driver.open-module
    Remedy:
      driver 580.95.05 supports this GPU with its open kernel module, and the proprietary one is
      loaded:
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install --autoremove --purge nvidia-open
        reboot
  
  $ lines /usr/bin/nvidia-uninstall '' >> x.host; remedy | grep run
        sh NVIDIA-Linux-x86_64-580.95.05.run -m=kernel-open
  $ card 1db6 $FIXTURES/server-8gpu.host | open 'Open Kernel Module' 535.261.03 | sed 's/550\.163\.01/535.261.03/g' > x.host; remedy
  Failure: driver.open-module
    Remedy:
      driver 535.261.03 supports this GPU with its proprietary kernel module, and the open one is
      loaded:
        apt install nvidia-kernel-dkms nvidia-open-kernel-dkms- nvidia-open-kernel-support-
        reboot
  
  $ card 1db6 $FIXTURES/server-8gpu.host | open 'Open Kernel Module' 580.95.05 | sed 's/550\.163\.01/580.95.05/g' > x.host; remedy | grep apt
        apt update
        apt install --autoremove --purge cuda-drivers-580
  $ lines /usr/bin/nvidia-uninstall '' >> x.host; remedy | grep run; gpuprobe can torch==2.13+cu126 --root x.host | grep proprietary
        sh NVIDIA-Linux-x86_64-580.95.05.run -m=kernel
    no: GPU 0000:17:00.0 needs the proprietary kernel module, but the open one is loaded (gpu_pci.tsv)

Grace Hopper is supported by Debian's own driver from 12 on, in the open flavour.

  $ card 2342 $FIXTURES/nouveau.host > y.host; sed 's/VERSION_ID="12"/VERSION_ID="13"/' y.host > x.host; gpuprobe can --root x.host | head -n 9
  1. Debian 13 packages driver 550.163.01, which supports this GPU:
       # adds the components contrib and non-free to Debian's sources
       sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
         $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
       apt update
       apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
         nvidia-open-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe \
         nvidia-persistenced
       reboot
  $ sed 's/VERSION_ID="12"/VERSION_ID="11"/' y.host > x.host; gpuprobe can --root x.host | head -n 1
  1. Debian's driver is older than this GPU:

cuDNN 8 is judged like cuDNN 9.

  $ gpuprobe --root $FIXTURES/venv-cudnn8-shadowed.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/Remedy:/p'
  Failure: python.cudnn
    import torch in /srv/venv loads cuDNN 8.2.4 from /opt/cudnn/lib/libcudnn.so.8 (by
    LD_LIBRARY_PATH), but was built with 8.9.2.26
    Remedy:

The table of capabilities equals that of the published wheels.

  $ say $FIXTURES/venv-no-code-for-volta.host python.arch
  python.arch fail PyTorch 2.11.0+cu130 with CUDA 13.0 in /srv/venv contains no code for
  $ V=$(grep -o 'torch-[0-9.]*' $FIXTURES/venv-no-code-for-volta.host | head -n 1); V=${V#torch-}; V=${V%.}
  $ sed "s/torch-$V/torch-${V}a0+git1234/" $FIXTURES/venv-no-code-for-volta.host > x.host; say x.host python.arch
  python.arch skip PyTorch 2.11.0a0+git1234+cu130 in /srv/venv is not a wheel of the
  $ sed 's/manylinux_2_28_x86_64/linux_x86_64/' $FIXTURES/venv-no-code-for-volta.host > x.host; say x.host python.arch
  python.arch skip PyTorch 2.11.0+cu130 in /srv/venv is not a wheel of the PyTorch project;

The recommended driver is that of gpuprobe can: for the GPU, and from a source that packages it.

  $ card 2b85 $FIXTURES/nouveau.host > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      Debian's driver is older than this GPU:
        # replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
        reboot
  
  $ gpuprobe --root $FIXTURES/nouveau.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      Debian 12 packages driver 535.261.03, which supports this GPU:
        # adds the components contrib and non-free to Debian's sources
        sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
          $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
        apt update
        apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
          nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
        reboot
  
  $ trixie() { sed 's/VERSION_ID="12"/VERSION_ID="13"/' "$1"; }
  $ trixie $FIXTURES/legacy-kepler.host > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      this GPU is supported up to branch 470, and Debian 13 packages only newer branches:
        # no package supports it: remove the GPU, or train on the CPU
  
  $ gpuprobe --root $FIXTURES/legacy-kepler.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      this GPU is supported up to branch 470, and Debian 12 also packages branch 470:
        # adds the components contrib and non-free to Debian's sources
        sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
          $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
        apt update
        apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
          nvidia-tesla-470-kernel-dkms libnvidia-tesla-470-cuda1 libnvidia-tesla-470-ml1 \
          nvidia-tesla-470-smi libnvidia-tesla-470-cfg1 nvidia-modprobe nvidia-persistenced
        reboot
  

Next to Debian's own branch the older one must be selected; missing packages are those of that branch.

  $ sed 's/^	libc6 2.*/&\n	nvidia-alternative 535.261.03-1/' $FIXTURES/legacy-kepler.host > x.host
  $ gpuprobe can --root x.host | sed -n '7,10p'
         nvidia-tesla-470-kernel-dkms libnvidia-tesla-470-cuda1 libnvidia-tesla-470-ml1 \
         nvidia-tesla-470-smi libnvidia-tesla-470-cfg1 nvidia-modprobe nvidia-persistenced
       update-glx --set nvidia /usr/lib/nvidia/tesla-470
       reboot
  $ tesla() { sed 's/nvidia-current\/550.163.01/nvidia-tesla-470\/470.256.02/; s/550\.163\.01/470.256.02/' $FIXTURES/legacy-kepler.host; }
  $ tesla | grep -v 'libcuda' > x.host; gpuprobe --root x.host | grep 'apt install'
        apt install libnvidia-tesla-470-cuda1
  $ tesla | grep -v 'libnvidia-ml' > x.host; gpuprobe --root x.host | grep 'apt install'
        apt install libnvidia-tesla-470-ml1 nvidia-tesla-470-smi libnvidia-tesla-470-cuda1
  $ tesla | sed 's/"code": 0/"no_library": true, &/' > x.host; gpuprobe --root x.host | grep 'apt install'
        apt install libnvidia-tesla-470-ml1 nvidia-tesla-470-smi
  $ tesla | sed 's/"gpus": \[\]/"gpus": [{"pci": "00000000:17:00.0", "persistence": 0}]/; s/"count": 0/"count": 1/' > x.host; gpuprobe --root x.host | grep 'apt install'
        apt install libnvidia-tesla-470-cfg1 nvidia-persistenced && systemctl enable --now nvidia-persistenced
  $ { tesla; lines /var/lib/dkms/nvidia-current/535.261.03/source ''; } > x.host; say x.host driver.upgrade
  driver.upgrade skip the driver is not from this distribution's packages

Secure Boot is the cause if the log or the file shows it.

  $ S=$FIXTURES/secure-boot.host M=lib!modules!6.1.0-41-amd64!updates!dkms!nvidia-current.ko
  $ say $S driver.secure-boot; sed 's/Loading of module with.*/NVRM: The NVIDIA probe routine failed for 1 device(s)./' $S > x.host
  driver.secure-boot fail Secure Boot is on and the kernel rejected the nvidia module: its signing
  $ say x.host driver.secure-boot; without /.facts/kernel_log $S > x.host; say x.host driver.secure-boot
  driver.secure-boot pass Secure Boot is on, and the nvidia module has run since boot, so its
  driver.secure-boot warn Secure Boot is on and the nvidia module is built but not loaded: its
  $ { cat $S; lines "/.facts/signature!$M" 0; } > x.host; gpuprobe --root x.host | grep dkms
        dkms remove nvidia-current/550.163.01 -k 6.1.0-41-amd64 && dkms install nvidia-current/550.163.01 -k 6.1.0-41-amd64
        mokutil --import /var/lib/dkms/mok.pub; reboot

powersave is a separate governor under acpi-cpufreq, and a hint under intel_pstate.

  $ driver() { cat $FIXTURES/cpu-server.host; for i in 0 1; do lines /sys/devices/system/cpu/cpufreq/policy$i/scaling_driver $1; done; }
  $ driver acpi-cpufreq > x.host; say x.host host.governor; driver intel_pstate > x.host; say x.host host.governor
  host.governor warn the CPU frequency governor is powersave (policy0)
  host.governor pass no CPU is limited to a low frequency

A toolkit's link for the major release is no toolkit; nvidia-fs is no driver.

  $ { cat $FIXTURES/server-8gpu.host; lines /usr/local/cuda-12.4/version.json; } > x.host; say x.host cuda.toolkit
  cuda.toolkit pass driver 550.163.01 supports every installed toolkit
  $ { cat x.host; echo 'link /usr/local/cuda-12 cuda-12.4'; } > y.host; gpuprobe --json --root y.host | grep -A 2 '"toolkits"'
        "toolkits": [
          "/usr/local/cuda-12.4"
        ],
  $ { cat $FIXTURES/server-8gpu.host; lines /var/lib/dkms/nvidia-fs/2.20.5/source/dkms.conf ''; } > x.host; say x.host driver.upgrade
  driver.upgrade skip the driver is not from this distribution's packages

The requirements of an image are ignored if the runtime was told to ignore them.

  $ say $FIXTURES/container-require.host container.require
  container.require fail the image requires cuda>=13.1, but driver 550.163.01 supports CUDA 12.4
  $ sed '/NVIDIA_REQUIRE_CUDA/i\	NVIDIA_DISABLE_REQUIRE=1' $FIXTURES/container-require.host > x.host; say x.host container.require
  container.require skip NVIDIA_DISABLE_REQUIRE is set, so the image's requirements are ignored

Nothing is installed from backports by default.

  $ say $FIXTURES/driver-upgrade-waits.host driver.upgrade
  driver.upgrade warn unattended-upgrades may replace the driver in use: the package lists
  $ list() { sed 's/ newer .*//' $FIXTURES/driver-upgrade-waits.host
  >   lines /var/lib/apt/lists/mirror.example_debian_dists_$1_non-free_binary-amd64_Packages 'Package: nvidia-kernel-dkms' "Version: $2" ''; }
  $ list bookworm-backports 550.163.01-4~bpo12+1 > x.host; say x.host driver.upgrade
  driver.upgrade pass the package lists have no newer driver
  $ list bookworm 550.163.01-4 > x.host; say x.host driver.upgrade
  driver.upgrade warn unattended-upgrades may replace the driver in use: the package lists
  $ sed 's/-dkms 550.163.01-2 /&hold /' $FIXTURES/driver-upgrade-waits.host > x.host; gpuprobe --root x.host -v | grep -A1 '^driver.upgrade '
  driver.upgrade       pass   the package lists have nvidia-kernel-dkms 550.163.01-3 (installed:
                              550.163.01-2, on hold)
  $ sed 's/ 550.163.01-2 newer/ x-2 newer/' $FIXTURES/driver-upgrade-waits.host > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      Upgrade and reboot at a time of your choice
  

conda's cuda-compat counts too.

  $ sed 's|/usr/local/cuda/compat|/opt/conda/cuda-compat|g' $FIXTURES/compat-note.host > x.host; say x.host cuda.libcuda
  cuda.libcuda pass /opt/conda/cuda-compat/libcuda.so.1 is newer than the module, as

The branch of CUDA 12.8 is in the table.

  $ sed 's/575\.57\.08/570.172.08/' $FIXTURES/compat-lifts.host > x.host; say x.host cuda.forward-compat
  cuda.forward-compat pass /usr/local/cuda/compat/libcuda.so.1 (570.172.08) supports driver

Libraries and module of two versions: a container cannot reload the module.

  $ gpuprobe --root $FIXTURES/driver-mismatch.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      Stop all programs that use the GPU and reload the module, or reboot:
        systemctl stop nvidia-persistenced
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      To prevent unattended upgrades, hold all packages of that version:
        apt-mark hold '~i~V550.163.01'
  
  $ grep -v 'nvidia-kernel\|libcuda1\|libnvidia-ml1' $FIXTURES/driver-mismatch.host > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p' | tail -n 2
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
  
  $ { cat $FIXTURES/driver-mismatch.host; lines /.dockerenv ''; } > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      The driver of the machine that runs this container was upgraded. Restart the container. If that
      does not help, run gpuprobe on that machine.
  

Under WSL the GPU is on no bus.

  $ { without /proc/sys/kernel/osrelease $FIXTURES/cpuless-node.host | without /.facts/nvml -
  >   lines /proc/sys/kernel/osrelease 6.6.87.2-microsoft-standard-WSL2
  >   lines /.facts/nvml '{"code": 0, "driver": "580.95.05", "count": 1, "cuda": 13000, "gpus": [{"name": "NVIDIA GeForce RTX 4090"}]}'; } > x.host
  $ gpuprobe -v --require-gpu --root x.host | grep -e '^[A-Z]*:' -e ' GPU$' -e '^gpu.present'
  OK: no problem found
  gpu.present          pass   NVML reports 1 GPU; under WSL no GPU is on a PCI bus, so most checks do
  amd.driver           skip   no AMD GPU
  amd.access           skip   no AMD GPU
  amd.visible          skip   no AMD GPU
  amd.ras              skip   no AMD GPU
  amd.xgmi             skip   no AMD GPU
  amd.partition        skip   no AMD GPU
  amd.power-cap        skip   no AMD GPU

Device numbers of the driver's nodes: correct ones; one that waits for its module on a host, and in a container; those of an
older driver (nvidia-frontend); a node of MIG instances, without and with instances.

  $ H=$FIXTURES/uvm-number-host.host C=$FIXTURES/uvm-number-container.host
  $ sed 's/^	243:0/	511:0/' $H > x.host; say x.host driver.node-numbers; say x.host driver.uvm
  driver.node-numbers pass the device nodes have the driver's numbers
  driver.uvm pass /dev/nvidia-uvm can be opened
  $ sed '/^	511 nvidia-uvm/d' $H > x.host; say x.host driver.node-numbers
  driver.node-numbers pass the device nodes have the driver's numbers
  $ { without /usr/bin/nvidia-modprobe x.host; } > y.host; say y.host driver.node-numbers
  driver.node-numbers warn nvidia_uvm is not loaded, and without nvidia-modprobe only root's
  $ sed '/^	509 nvidia-uvm/d' $C > x.host; say x.host driver.node-numbers; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
  driver.node-numbers fail /dev/nvidia-uvm belongs to no driver: nvidia_uvm is not loaded on the
    Remedy:
      On the machine that runs this container:
        nvidia-modprobe -u -c=0
      Then restart the container.
  
  $ sed 's/^	195 nvidia$/	195 nvidia-frontend/; /195 nvidia-modeset/d; /195 nvidiactl/d; s/^	243:0/	511:0/' $H > x.host
  $ say x.host driver.node-numbers
  driver.node-numbers pass the device nodes have the driver's numbers
  $ sed 's/^	195:255/	196:255/' $H > x.host; say x.host driver.node-numbers
  driver.node-numbers fail /dev/nvidiactl has the number 196:255, but the kernel now has nvidiactl
  $ mig() { sed 's/^	243:0/	511:0/' $1; lines /dev/nvidia-caps/nvidia-cap1 ''; lines '/.facts/device!dev!nvidia-caps!nvidia-cap1' 235:1; }
  $ mig $H > x.host; say x.host driver.node-numbers; sed 's/"arch": 90/"arch": 90, "mig": 1, "mig_pending": 1, "mig_instances": 2/' x.host > y.host
  driver.node-numbers warn /dev/nvidia-caps/nvidia-cap1 has the number 235:1, but the kernel now
  $ say y.host driver.node-numbers; gpuprobe --root y.host | sed -n '/Remedy:/,/^$/p'
  driver.node-numbers fail /dev/nvidia-caps/nvidia-cap1 has the number 235:1, but the kernel now
    Remedy:
        rm -r /dev/nvidia-caps
        find /proc/driver/nvidia/capabilities -type f -exec nvidia-modprobe -f {} ';'
  
  $ without /proc/devices $H > x.host; say x.host driver.node-numbers
  driver.node-numbers skip the numbers of the device nodes are unknown

Signer of the module and keys of the firmware: the key waits for the next boot; it is enrolled; it is enrolled but the log
reports a rejection; the module names another signer than DKMS's; shim does not check. A capture keeps the data.

  $ N=$FIXTURES/secure-boot-not-enrolled.host; say $N driver.secure-boot; gpuprobe --root $N | sed -n '/Remedy:/,/^$/p'
  driver.secure-boot fail Secure Boot is on; the nvidia module is signed by "DKMS module signing
    Remedy:
      Enrol the certificate; a blue screen (MokManager: Enroll MOK) asks for the password at the next
      boot:
        mokutil --import /var/lib/dkms/mok.pub; reboot
  
  $ sed 's|^	\(.* DKMS module signing key\)|&\n	MokNew \1|; s|MokNew /var/lib/dkms/mok.pub|MokNew|' $N > x.host; say x.host driver.secure-boot
  driver.secure-boot fail Secure Boot is on; the nvidia module is signed by "DKMS module signing
  $ gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
        reboot
      and give the blue screen (MokManager: Enroll MOK) the password that mokutil asked for
  
  $ sed 's|MokNew|MokListRT|' x.host > y.host; say y.host driver.secure-boot; say y.host driver.loaded
  driver.secure-boot pass Secure Boot is on; the nvidia module is signed by "DKMS module signing
  driver.loaded fail the nvidia kernel module is not loaded
  $ { cat y.host; lines /.facts/kernel_log 'Loading of module with unavailable key is rejected'; } > x.host; say x.host driver.secure-boot
  driver.secure-boot warn Secure Boot is on and the kernel has rejected a module since boot; but
  $ M=lib!modules!6.12.57+deb13-amd64!updates!dkms!nvidia-current.ko.xz
  $ { cat y.host; lines "/.facts/signature!$M" 1 'signer 77@00 - Somebody else'; } > x.host; say x.host driver.secure-boot
  driver.secure-boot warn Secure Boot is on; the nvidia module is signed by "Somebody else", which
  $ gpuprobe capture again.host --root x.host; say again.host driver.secure-boot; gpuprobe --json --root again.host | grep module_signer
  driver.secure-boot warn Secure Boot is on; the nvidia module is signed by "Somebody else", which
        "module_signer": "Somebody else",
  $ { sed 's/\[integrity\]/integrity/; s/none/[none]/' $N; printf 'hex  /sys/firmware/efi/efivars/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23\n\t0600000001\n'; } > x.host
  $ say x.host driver.secure-boot
  driver.secure-boot pass Secure Boot is on, but shim is configured not to check (mokutil

Firmware of the module's version: missing; present, but not when the module started; in the directory of the kernel
argument; compressed; not needed by the proprietary module, nor with the module option; missing although all GPUs answer;
NVIDIA's own file.

  $ G=$FIXTURES/gsp-firmware-missing.host; say $G driver.firmware; gpuprobe --root $G | sed -n '/Consequences:/,/^$/p'
  driver.firmware fail /lib/firmware/nvidia/580.95.05 has no gsp_*.bin, only version
    Consequences:
      gpu.start: the driver could not start a GPU, because its firmware is not installed: NVRM:
      RmFetchGspRmImages: No firmware image found
      gpu.count: 1 GPU on the PCI bus, but NVML reports 0
    Remedy:
        apt install firmware-nvidia-gsp
      (non-free-firmware; of the driver's version, from where the driver is from), then
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      or reboot
  
  $ { cat $G; lines /lib/firmware/nvidia/580.95.05/gsp_ga10x.bin ''; } > x.host; say x.host driver.firmware; say x.host gpu.start
  driver.firmware pass the firmware of driver 580.95.05 is installed
  gpu.start fail the driver could not start a GPU, because its firmware is installed but
  $ { cat $G; lines /opt/fw/nvidia/580.95.05/gsp_tu10x.bin.zst ''; lines /sys/module/firmware_class/parameters/path /opt/fw; } > x.host
  $ say x.host driver.firmware; sed 's/Open Kernel Module/Kernel Module/' $G > x.host; say x.host driver.firmware
  driver.firmware pass the firmware of driver 580.95.05 is installed
  driver.firmware pass the firmware of driver 580.95.05 is not installed; the proprietary
  $ { cat $G; lines /proc/driver/nvidia/params 'EnableMSI: 1' 'EnableGpuFirmware: 0'; } > x.host; say x.host driver.firmware
  driver.firmware pass driver 580.95.05 is configured not to use it
  $ sed 's/"count": 0/"count": 1/' $G > x.host; say x.host driver.firmware
  driver.firmware warn /lib/firmware/nvidia/580.95.05 has no gsp_*.bin, only version
  $ { cat $G; lines /usr/bin/nvidia-uninstall ''; } > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      Install the driver again by NVIDIA's file of that version, which brings it:
        sh NVIDIA-Linux-x86_64-580.95.05.run
      or take Debian's driver instead (nvidia-uninstall; gpuprobe can)
  

GPUs that are not on the bus, or whose driver belongs to another system: ARM's packages and directories; a Jetson; Thor,
whose CUDA is that of servers; WSL without a driver in Windows, with a loader that misses the directory, and in version 1; a
node whose driver is a container.

  $ A=$FIXTURES/arm-gh200.host; gpuprobe --root $A | grep -A2 'Remedy:'; gpuprobe --json --root $A | grep -A2 '"soname": "libcuda.so.1"'
    Remedy:
        sysctl -w kernel.numa_balancing=0
      At every boot:
  --
    Remedy:
        apt install libopenblas0-openmp
        update-alternatives --set libblas.so.3-aarch64-linux-gnu /usr/lib/aarch64-linux-gnu/openblas-openmp/libblas.so.3
            "soname": "libcuda.so.1",
            "path": "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
            "version": "580.95.05",
  $ sed 's/"#1 SMP.*/x/; s/PREEMPT_DYNAMIC/PREEMPT_RT/' $A > x.host; gpuprobe --root x.host | grep -A5 'ordinary kernel, and'
      Install the ordinary kernel, and choose it in GRUB's menu (Advanced options), which starts the
      real-time one first:
        apt install linux-image-arm64 linux-headers-arm64; reboot
      Then remove the real-time kernel, each version of it:
        apt purge 'linux-image-*-rt-arm64' linux-image-rt-arm64
  
  $ J=$FIXTURES/jetson-orin.host; gpuprobe --require-gpu --root $J | sed -n 1,4p; say $J gpu.present
  OK: no problem found
    Debian GNU/Linux 12 (bookworm), kernel 5.15.148-tegra
    ARM Cortex-A78AE: 12 cores, 12 CPUs, 1 NUMA node, 64.0 GiB of memory
    NVIDIA Jetson AGX Orin Developer Kit: its GPU is in the processor
  gpu.present pass NVIDIA Jetson AGX Orin Developer Kit has its GPU in the processor, not
  $ gpuprobe can --root $J; gpuprobe can torch==2.15 --root $J | head -n 1
  1. NVIDIA Jetson AGX Orin Developer Kit: PyTorch's own wheels do not support its GPU:
       # take the wheel that NVIDIA makes for this JetPack: "Installing PyTorch for Jetson Platform"
       head -n 1 /etc/nv_tegra_release   # says which
  torch==2.15: unknown
  $ sed 's/746567726132333400$/746567726132363400/; s/R36/R38/' $J >thor.host; gpuprobe can --root thor.host
  1. NVIDIA Jetson AGX Orin Developer Kit: since JetPack 7, PyTorch's own wheels with CUDA 13 support
  its GPU:
       python3 -m venv venv && . venv/bin/activate
       pip install torch --index-url https://download.pytorch.org/whl/cu130
  $ W=$FIXTURES/wsl-rtx.host; gpuprobe can --root $W | head -n 1; gpuprobe can torch==2.15 --root $W | head -n 1; say $W wsl.driver
  1. PyTorch 2.15 with CUDA 13.2 is the newest that driver 581.29 and this GPU support:
  torch==2.15: yes
  wsl.driver pass programs load Windows' libcuda
  $ without /usr/lib/wsl $W | without /.facts/nvml - | without /.facts/ldcache - > x.host; gpuprobe -q --root x.host; say x.host wsl.driver
  OK: no problem found
  wsl.driver skip Windows provides this WSL with no NVIDIA driver: /usr/lib/wsl/lib has no
  $ gpuprobe --require-gpu --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/,/^$/p'
  Failure: gpu.present
    no NVIDIA GPU on the PCI bus, but one is required
    Remedy:
      Install NVIDIA's driver in Windows, not here, then in Windows:
        wsl --update
        wsl --shutdown
  
  $ without /.facts/ldcache $W > x.host; say x.host wsl.driver; without /dev/dxg $W > x.host; say x.host wsl.driver
  wsl.driver fail /usr/lib/wsl/lib/libcuda.so.1 exists, but the loader does not search
  wsl.driver fail Windows' libcuda exists, but /dev/dxg does not: WSL 1, or its GPU
  $ O=$FIXTURES/gpu-operator-node.host; for c in driver.device-nodes driver.nvml-library nvml.answers cuda.libcuda driver.firmware; do say $O $c; done
  driver.device-nodes skip the driver runs in a container; its device nodes are in
  driver.nvml-library skip the driver runs in a container; its libraries are in /run/nvidia/driver,
  nvml.answers skip query the driver in its container: chroot /run/nvidia/driver nvidia-smi
  cuda.libcuda skip the driver runs in a container: CUDA programs run in other containers,
  driver.firmware pass the firmware of driver 580.95.05 is installed

A container with a GPU in MIG mode but no instance; a laptop with Secure Boot is told about the key before it reboots.

  $ { cat $FIXTURES/mig-no-instance.host; lines /.dockerenv ''; } > x.host; gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      This container was given the GPU without a MIG instance of it. In a pod: resources: { limits: {
      nvidia.com/mig-1g.10gb: 1 } }. With docker: add --gpus device= and the UUID of an instance, as
      the host lists it:
        nvidia-smi -L
  
  $ { cat $FIXTURES/nouveau.host; printf 'hex  /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c\n\t0600000001\n'; } > x.host
  $ gpuprobe --root x.host | sed -n '/Remedy:/,/^$/p'
    Remedy:
      Debian 12 packages driver 535.261.03, which supports this GPU:
        # adds the components contrib and non-free to Debian's sources
        sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
          $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
        apt update
        apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
          nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
        # Secure Boot is on: a blue screen asks for the password at the reboot
        apt install mokutil && mokutil --import /var/lib/dkms/mok.pub
        reboot
  

The worst PyTorch of several environments counts, not the first: a second one in /opt/venv, built for a newer CUDA than the
driver's.

  $ V=$FIXTURES/venv-two-nccl.host; say $V python.driver
  python.driver pass driver 550.163.01 supports CUDA 12.6 of the PyTorch in /srv/venv
  $ second() { cat $V; echo 'link /opt/venv/bin/python3 /usr/bin/python3'; lines /opt/venv/lib/python3.11/site-packages/torch/version.py "cuda: Optional[str] = '13.2'"
  >   lines /opt/venv/lib/python3.11/site-packages/torch-2.15.0.dist-info/WHEEL 'Tag: cp311-cp311-manylinux_2_28_x86_64'; }
  $ second > x.host; say x.host python.driver; sed 's/"arch": 90/"arch": 70/' x.host > y.host; say y.host python.arch
  python.driver fail PyTorch in /opt/venv was built with CUDA 13.2, which needs driver
  python.arch fail PyTorch 2.15.0 with CUDA 13.2 in /opt/venv contains no code for GPU

A node whose driver is a container needs no module for the next kernel, nor firmware that only the container has.

  $ { without /sys/module/firmware_class $O; lines /lib/modules/6.1.0-42-amd64/modules.dep ''; lines /boot/vmlinuz-6.1.0-42-amd64 ''; } > x.host
  $ say x.host driver.next-kernel; say x.host driver.firmware; gpuprobe -q --root x.host
  driver.next-kernel skip the driver runs in a container, which builds the module for the running
  driver.firmware pass the firmware of driver 580.95.05 is installed
  OK: no problem found

A GPU newer than the driver: Debian's own driver if that is new enough, otherwise NVIDIA's.

  $ B=$FIXTURES/blackwell-on-550.host
  $ gpuprobe --root $B | sed -n '/^  GPU .*needs driver/,/^$/p' | sed -n '1,2p; /Remedy:/,$p'
    GPU 0000:17:00.0 (10de:2901) has capability 10.0 and needs driver branch 570 or newer; 550.163.01
    is installed
    Remedy:
      Debian's driver is older than this GPU:
        # replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
        reboot
  
  $ sed 's/0x2901/0x2684/; s/550\.163\.01/470.256.02/' $B > ada.host; gpuprobe --root ada.host | sed -n '/^  GPU .*needs driver/,/^$/p' | sed -n '1p; /Remedy:/,$p'
    GPU 0000:17:00.0 (10de:2684) has capability 8.9 and needs driver branch 525 or newer; 470.256.02
    Remedy:
      Debian 12 packages driver 535.261.03, which supports this GPU:
        # adds the components contrib and non-free to Debian's sources
        sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
          $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
        apt update
        apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
          nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
        reboot
  

A PyTorch that the driver or the GPU does not support: the same release with another CUDA, otherwise the newest supported
one, otherwise a newer driver.

  $ fix() { gpuprobe --root x.host | sed -n '/^\(Cause\|Failure\|Warning\):/p; /Remedy:/,/^$/p'; }
  $ C=$FIXTURES/venv-cuda13-on-550.host; cp $C x.host; fix
  Failure: python.driver
    Remedy:
      Install the same PyTorch with CUDA 12.6, which driver 550.163.01 and this GPU support:
        /srv/venv/bin/python3 -m pip install --force-reinstall 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  
  $ sed 's/torch-2\.14\.[0-9]*/torch-2.15.0/' $C > x.host; fix | tail -n 4
    Remedy:
      Install the newest PyTorch with CUDA 12.6, which driver 550.163.01 and this GPU support:
        /srv/venv/bin/python3 -m pip install --force-reinstall 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  
  $ sed 's/580\.95\.05/440.100/; s/"cuda": 1[0-9]*/"cuda": 10020/' $FIXTURES/venv-no-code-for-volta.host > x.host; fix | head -n 5
  Failure: python.driver
    Remedy:
      driver 440.100 supports no PyTorch with CUDA for this GPU; 525.60.13 or newer supports 2.14 with
      CUDA 12.6:
        # adds the components contrib and non-free to Debian's sources
  $ cp $FIXTURES/venv-no-code-for-volta.host x.host; fix
  Failure: python.arch
    Remedy:
      Install the same PyTorch with CUDA 12.6, which driver 580.95.05 and this GPU support:
        /srv/venv/bin/python3 -m pip install --force-reinstall 'torch==2.11.*' --index-url https://download.pytorch.org/whl/cu126
  

JAX, CuPy and TensorFlow contain their CUDA too: the plug-in, the wheel's name or the installed runtime shows the version.
The remedy is the same release for CUDA 12 if the driver supports that, otherwise a newer driver.

  $ with() { host=$1; shift; cat $FIXTURES/$host.host; printf 'link /srv/e/bin/python3 /usr/bin/python3\nfile /.facts/environment\n\tVIRTUAL_ENV=/srv/e\n'
  >   for d; do lines /srv/e/lib/python3.11/site-packages/$d.dist-info/WHEEL 'Wheel-Version: 1.0'; done; }
  $ fix() { gpuprobe --root x.host | sed -n '/^[CFW][a-z]*: python.driver/,/^$/p'; }
  $ with server-8gpu jax-0.12.0 jax_cuda13_plugin-0.12.0 jax_cuda13_pjrt-0.12.0 nvidia_nccl_cu13-2.30.7 > x.host; fix
  Failure: python.driver
    JAX in /srv/e has the plug-in for CUDA 13, which needs driver 580.65.06; this host has 550.163.01
    Remedy:
      Install the same JAX with CUDA 12, which driver 550.163.01 supports:
        /srv/e/bin/python3 -m pip uninstall -y jax-cuda13-plugin jax-cuda13-pjrt nvidia-nccl-cu13
        /srv/e/bin/python3 -m pip install 'jax[cuda12]==0.12.0'
  
  $ with server-8gpu cupy_cuda13x-14.2.0 > x.host; fix
  Failure: python.driver
    CuPy in /srv/e was built with CUDA 13, which needs driver 580.65.06; this host has 550.163.01
    Remedy:
      Install the same CuPy with CUDA 12, which driver 550.163.01 supports:
        /srv/e/bin/python3 -m pip uninstall -y cupy-cuda13x
        /srv/e/bin/python3 -m pip install 'cupy-cuda12x==14.2.0'
  
  $ with server-8gpu jax-0.12.0 jax_cuda12_plugin-0.12.0 cupy_cuda12x-14.2.0 > x.host; say x.host python.driver
  python.driver pass driver 550.163.01 supports CUDA 12 of the JAX in /srv/e
  $ old() { sed "s/550\.163\.01/470.256.02/; s/0x2330/$1/; s/\"cuda\": 12040/\"cuda\": 11040/"; }
  $ with server-8gpu tensorflow-2.20.0 nvidia_cuda_runtime_cu12-12.5.82 | old 0x1db4 > x.host; fix
  Failure: python.driver
    TensorFlow in /srv/e came with CUDA 12, which needs driver 525.60.13; this host has 470.256.02
    Remedy:
      TensorFlow with CUDA 12 needs driver 525.60.13 or newer:
        # adds the components contrib and non-free to Debian's sources
        sed -i.bak -E '/^(deb .* bookworm|Components:)/s/ main\b.*/ main contrib non-free non-free-firmware/' \
          $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)
        apt update
        apt install --no-install-recommends linux-headers-6.1.0-41-amd64 \
          nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
        reboot
  
  $ with server-8gpu tensorflow-2.20.0 nvidia_cuda_runtime_cu12-12.5.82 | old 0x102d > x.host; fix
  Failure: python.driver
    TensorFlow in /srv/e came with CUDA 12, which needs driver 525.60.13; this host has 470.256.02
    Remedy:
      No driver of this GPU supports that CUDA: use an older release, or the CPU
  
  $ with server-8gpu tensorflow-2.20.0 | old 0x1db4 > x.host; say x.host python.driver
  python.driver skip the examined Python environments contain no framework with CUDA
  $ with server-8gpu jax-9.1 jax_cuda13_plugin-9.1 | { cat; lines /etc/gputune/compat.d/jax_cuda.tsv '9.1	13.0'; } > x.host; fix
  Failure: python.driver
    JAX in /srv/e has the plug-in for CUDA 13, which needs driver 580.65.06; this host has 550.163.01
    Remedy:
      JAX with CUDA 13 needs driver 580.65.06 or newer:
        # replaces all packages of Debian's driver by those of NVIDIA's repository
        wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install nvidia-open
        reboot
  
  $ with compat-lifts jax-0.12.0 jax_cuda13_plugin-0.12.0 | sed 's/575\.[0-9.]*[0-9]/580.65.06/' > x.host; say x.host python.driver
  python.driver pass driver 580.65.06 supports CUDA 13 of the JAX in /srv/e
