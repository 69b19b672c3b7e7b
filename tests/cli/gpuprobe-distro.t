Remedies contain Debian's commands and package names on Debian only. Other distributions, also derivatives, get sentences.

  $ distro() {
  >   sed "s/^\tPRETTY_NAME=.*/\tPRETTY_NAME=\"Another Linux 9\"/; s/^\tID=debian/\tID=$1/; s/^\tVERSION_ID=.*/\tVERSION_ID=\"9\"/
  >     /^\tVERSION_CODENAME/d" "$2" >other.host
  > }
  $ commands='\b(apt|apt-get|apt-mark|apt-cache|dpkg|update-grub|update-initramfs|update-alternatives|update-glx)\b'
  $ for id in rocky ubuntu fedora sles; do
  >   for host in $FIXTURES/*.host; do
  >     distro $id $host
  >     gpuprobe --root other.host --verbose
  >     gpuprobe --root other.host recommend
  >     gpuprobe --root other.host can torch==2.8.0
  >   done >$id.out 2>&1
  >   echo "$id: $(wc -l <$id.out | sed 's/^.....*/many lines/'), $(grep -cE "$commands" $id.out) with a command that only Debian has"
  > done
  rocky: many lines, 0 with a command that only Debian has
  ubuntu: many lines, 0 with a command that only Debian has
  fedora: many lines, 0 with a command that only Debian has
  sles: many lines, 0 with a command that only Debian has
  $ for host in $FIXTURES/*.host; do gpuprobe --root $host --verbose; gpuprobe --root $host recommend; done | grep -cE "$commands" | sed 's/^..*/many/'
  many
  $ for check in $(gpuprobe list --json | python3 -c 'import json, sys; print(*[c["id"] for c in json.load(sys.stdin)["checks"]])') program.pip; do
  >   gpuprobe explain $check
  > done | grep -E "$commands"
  [1]

Commands that every Linux has remain.

  $ distro rocky $FIXTURES/driver-mismatch.host; gpuprobe --root other.host | sed -n '/^  Remedy:/,/^$/p'
    Remedy:
      Stop all programs that use the GPU and reload the module, or reboot:
        systemctl stop nvidia-persistenced
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      To prevent unattended upgrades, hold all packages of that version:
      Exclude the driver's packages from upgrades
  
  $ distro rocky $FIXTURES/driver-no-headers.host; gpuprobe --root other.host | sed -n '/^  Remedy:/,/^$/p'
    Remedy:
      Install what Debian packages as linux-headers-6.1.0-41-amd64
        dkms autoinstall -k 6.1.0-41-amd64
        modprobe nvidia
      If it does not build, the reason is in: /var/lib/dkms/nvidia-current/550.163.01/build/make.log
      If the archive has the headers of this kernel no longer, take the newest of both:
      Install what Debian packages as linux-image-amd64 linux-headers-amd64
        reboot
  
  $ distro ubuntu $FIXTURES/preempt-rt.host; gpuprobe --root other.host | sed -n '/^  Remedy:/,/^$/p'
    Remedy:
      Install the ordinary kernel, and choose it in GRUB's menu (Advanced options), which starts the
      real-time one first:
      Install what Debian packages as linux-image-amd64 linux-headers-amd64
        reboot
      Then remove the real-time kernel, each version of it:
      Remove what Debian packages as 'linux-image-*-rt-amd64' linux-image-rt-amd64
  
  $ distro fedora $FIXTURES/nouveau.host; gpuprobe --root other.host | sed -n '/^  Remedy:/,/^$/p'
    Remedy:
      gpuprobe does not know this distribution's driver:
        # install the driver, from this distribution's or NVIDIA's repository
        reboot
  
  $ distro sles $FIXTURES/uvm-missing.host; gpuprobe --root other.host | sed -n '/^  Remedy:/,/^$/p'
    Remedy:
      Install what Debian packages as nvidia-modprobe
        nvidia-modprobe -c 0 -u
  
  $ distro rocky $FIXTURES/driver-not-loaded.host; gpuprobe --root other.host recommend
  1. driver 550.163.01, which supports this GPU, is installed but not loaded:
       gpuprobe   # says why
  2. PyTorch 2.14 with CUDA 12.6 is the newest that driver 550.163.01 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  3. only if PyTorch 2.15 with CUDA 13.2 is needed: driver 580.65.06 or newer:
       # install the driver, from this distribution's or NVIDIA's repository
       reboot
  $ distro rocky $FIXTURES/cpu-server.host; gpuprobe --root other.host recommend
  1. no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA:
       python3 -m venv venv && . venv/bin/activate
       pip install torch --index-url https://download.pytorch.org/whl/cpu
