Remedies have the commands and package names of the host's distribution. An unknown distribution gets sentences.
tests/lint/families.py checks all hosts and distributions.

  $ distro() {
  >   sed "s/^\tPRETTY_NAME=.*/\tPRETTY_NAME=\"Another Linux\"/; s/^\tID=debian/\tID=$1/; s/^\tVERSION_ID=.*/\tVERSION_ID=\"$2\"/
  >     /^\tVERSION_CODENAME/d" "$3" >other.host
  > }
  $ remedy() { gpuprobe --root other.host | sed -n '/^  Remedy:/,/^$/p'; }
  $ for check in $(gpuprobe list --json | python3 -c 'import json, sys; print(*[c["id"] for c in json.load(sys.stdin)["checks"]])') program.pip; do
  >   gpuprobe explain $check
  > done | grep -E '\b(apt|apt-get|dpkg|dnf|zypper|grubby|update-grub|update-initramfs)\b'
  [1]

  $ distro rocky 9.4 $FIXTURES/driver-no-headers.host; remedy
    Remedy:
        dnf install kernel-devel-6.1.0-41-amd64
        dkms autoinstall -k 6.1.0-41-amd64
        modprobe nvidia
      If it does not build, the reason is in: /var/lib/dkms/nvidia-current/550.163.01/build/make.log
      If the archive has the headers of this kernel no longer, take the newest of both:
        dnf upgrade kernel && dnf install kernel-devel; reboot
  
  $ distro ubuntu 24.04 $FIXTURES/preempt-rt.host; remedy
    Remedy:
      Install the ordinary kernel, and choose it in GRUB's menu (Advanced options), which starts the
      real-time one first:
        apt install linux-generic; reboot
      Then remove the real-time kernel, each version of it:
      Remove the packages of the real-time kernel
  
  $ distro fedora 43 $FIXTURES/nouveau.host; remedy
    Remedy:
      NVIDIA's repository has a driver for this distribution:
        # The repository of the Fedora release that NVIDIA's guide names; here of release 43:
        curl -fsSL -o /etc/yum.repos.d/cuda-fedora43.repo \
          https://developer.download.nvidia.com/compute/cuda/repos/fedora43/x86_64/cuda-fedora43.repo
        dnf install kernel-devel-6.1.0-41-amd64
        dnf install nvidia-open
        reboot
  
  $ distro sles 15.6 $FIXTURES/nouveau.host; remedy
    Remedy:
      NVIDIA's repository has a driver for this distribution:
        zypper addrepo https://developer.download.nvidia.com/compute/cuda/repos/sles15/x86_64/cuda-sles15.repo
        zypper refresh
        zypper install kernel-amd64-devel=6.1.0-41
        zypper install nvidia-open
        reboot
  
  $ distro ubuntu 26.04 $FIXTURES/nouveau.host; remedy
    Remedy:
      NVIDIA's repository has a driver for this distribution:
        wget https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2604/x86_64/cuda-keyring_1.1-1_all.deb
        dpkg -i cuda-keyring_1.1-1_all.deb
        apt update
        apt install linux-headers-6.1.0-41-amd64
        apt install nvidia-open
        reboot
  
  $ distro rocky 8.9 $FIXTURES/legacy-kepler.host; remedy
    Remedy:
      NVIDIA's repository has a driver for this distribution:
        # Install the driver, branch 470 at most, from this distribution's or NVIDIA's repository
        reboot
  
  $ distro amzn 2023 $FIXTURES/driver-not-loaded.host; remedy
    Remedy:
        modprobe nvidia
      and if that fails, read why in: journalctl -k -b | grep -i nvidia
  
  $ distro rocky 9.4 $FIXTURES/acs-control-words.host; remedy
    Remedy:
      Virtual machines that are given devices need ACS. Only on other hosts, as root until the next
      boot:
        setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:1d
      At every boot:
        grubby --update-kernel=ALL --args='pci=disable_acs_redir=0000:18:00.0'; reboot
  
  $ distro opensuse-leap 15.6 $FIXTURES/acs-control-words.host; remedy
    Remedy:
      Virtual machines that are given devices need ACS. Only on other hosts, as root until the next
      boot:
        setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:1d
      At every boot:
        pbl --add-option 'pci=disable_acs_redir=0000:18:00.0' --config; reboot
  
  $ distro 'pop\n\tID_LIKE="ubuntu debian"' 22.04 $FIXTURES/acs-control-words.host; remedy
    Remedy:
      Virtual machines that are given devices need ACS. Only on other hosts, as root until the next
      boot:
        setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:1d
      At every boot:
        kernelstub --add-options 'pci=disable_acs_redir=0000:18:00.0'; reboot
  
  $ distro rocky 9.4 $FIXTURES/driver-mismatch.host; remedy
    Remedy:
      Stop all programs that use the GPU and reload the module, or reboot:
        systemctl stop nvidia-persistenced
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      To prevent unattended upgrades, hold all packages of that version:
        dnf versionlock '*nvidia*550.163.01*'
  
  $ distro sles 15.6 $FIXTURES/uvm-missing.host; remedy
    Remedy:
      Install nvidia-modprobe from the source of the driver's packages
        nvidia-modprobe -c 0 -u
  

An unknown distribution, an os-release that contradicts itself, a system that is installed from an image, and a release that is older
than the commands of the table.

  $ distro arch "" $FIXTURES/nouveau.host; remedy
    Remedy:
      gpuprobe does not know this distribution's driver:
        # Install the driver with the open kernel modules, from this distribution's or NVIDIA's repository
        reboot
  
  $ distro arch "" $FIXTURES/acs-control-words.host; remedy
    Remedy:
      Virtual machines that are given devices need ACS. Only on other hosts, as root until the next
      boot:
        setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:1d
      At every boot:
      Add pci=disable_acs_redir=0000:18:00.0 to the kernel's command line
        reboot
  
  $ distro 'debian\n\tID_LIKE=rhel' 12 $FIXTURES/driver-no-headers.host; remedy
    Remedy:
      Install the headers of kernel 6.1.0-41-amd64
        dkms autoinstall -k 6.1.0-41-amd64
        modprobe nvidia
      If it does not build, the reason is in: /var/lib/dkms/nvidia-current/550.163.01/build/make.log
      If the archive has the headers of this kernel no longer, take the newest of both:
      Install the distribution's newest kernel and its headers
        reboot
  
  $ distro 'fedora\n\tVARIANT_ID=coreos' 43 $FIXTURES/driver-no-headers.host; remedy | sed 2q
    Remedy:
      Install the headers of kernel 6.1.0-41-amd64
  $ distro 'fedora' 43 $FIXTURES/driver-no-headers.host; printf 'file /run/ostree-booted\n' >>other.host; remedy | sed 2q
    Remedy:
      Install the headers of kernel 6.1.0-41-amd64
  $ distro centos 7 $FIXTURES/driver-no-headers.host; remedy | sed 2q
    Remedy:
      Install the headers of kernel 6.1.0-41-amd64

  $ distro rocky 9.4 $FIXTURES/driver-not-loaded.host; gpuprobe --root other.host recommend
  1. driver 550.163.01, which supports this GPU, is installed but not loaded:
       gpuprobe   # shows why
  2. PyTorch 2.14 with CUDA 12.6 is the newest that driver 550.163.01 and this GPU support:
       python3 -m venv venv && . venv/bin/activate
       pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  3. only if PyTorch 2.15 with CUDA 13.2 is needed: driver 580.65.06 or newer:
       dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm
       curl -fsSL -o /etc/yum.repos.d/cuda-rhel9.repo \
         https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/cuda-rhel9.repo
       dnf install kernel-devel-6.1.0-41-amd64
       dnf module enable nvidia-driver:open-dkms
       dnf install nvidia-open
       reboot
  $ distro rocky 9.4 $FIXTURES/cpu-server.host; gpuprobe --root other.host recommend
  1. no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA:
       python3 -m venv venv && . venv/bin/activate
       pip install torch --index-url https://download.pytorch.org/whl/cpu
  $ distro rocky 9.4 $FIXTURES/cpu-server.host; gputune run --print --root other.host --allocator mimalloc -- python3 x.py | grep "dnf install"
        no usable one is installed; dnf install
        https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm && dnf install mimalloc
