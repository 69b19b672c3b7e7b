Packages that a host lacks for training, judged from its disk: apt's lists are Debian's own, reduced to the relevant
packages.

  $ gpu() {  # gpu HOST RELEASE [COMPONENTS]: a directory with that host, its dpkg and its sources
  >   rm -rf root; $BUILDDIR/tests/cli/unpack $FIXTURES/$1.host root; mkdir -p root/var/lib/apt/lists root/etc/apt/sources.list.d
  >   mkdir -p root/var/lib/dpkg/updates root/usr root/var/cache/apt; cp $TESTDIR/fixtures/apt/$2/* root/var/lib/apt/lists/
  >   printf 'Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21.22\nInstalled-Size: 6000\n\nPackage: libgomp1\nStatus: install ok installed\nArchitecture: amd64\nVersion: 12.2.0-14+deb12u1\nInstalled-Size: 300\n\n' > root/var/lib/dpkg/status
  >   echo "deb http://mirror.example/debian $2 ${3:-main contrib non-free non-free-firmware}" > root/etc/apt/sources.list
  >   mkdir -p root/var/lib/apt/lists; printf 'Package: linux-headers-6.1.0-41-amd64\nVersion: 6.1.158-1\nInstalled-Size: 4210\nArchitecture: amd64\nSize: 1456000\n' > root/var/lib/apt/lists/mirror.example_debian_dists_${2}-updates_main_binary-amd64_Packages
  > }
  $ plan() { gputune provision plan --root root "$@"; }
  $ refused() { plan "$@" | sed -n '/^Refused/,/^$/p'; }

Another distribution: its commands are listed, but not run.

  $ other() { sed "s/^\tPRETTY_NAME=.*/\tPRETTY_NAME=\"$1 $2\"/; s/^\tID=debian/\tID=$1/; s/^\tVERSION_ID=.*/\tVERSION_ID=\"$2\"/; /^\tVERSION_CODENAME/d" $FIXTURES/$3.host >other.host; }
  $ other ubuntu 24.04 nouveau; gputune provision plan --root other.host
  Refused
    other-distribution: ubuntu 24.04 is not Debian: gputune lists the commands for it, but does not
    run them.
  
  Commands to run as root:
    apt install libopenblas0-openmp
    apt install libtcmalloc-minimal4t64
    apt install numactl hwloc-nox python3-venv
    wget https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/cuda-keyring_1.1-1_all.deb
    dpkg -i cuda-keyring_1.1-1_all.deb
    apt update
    apt install linux-headers-6.1.0-41-amd64
    apt install nvidia-open
    reboot
  
  [3]
  $ other rocky 9.4 nouveau; gputune provision plan --root other.host -o plan.json >/dev/null; gputune provision plan --root other.host
  Refused
    other-distribution: rocky 9.4 is not Debian: gputune lists the commands for it, but does not run
    them.
  
  Commands to run as root:
    dnf install openblas-openmp
    dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm
    dnf install gperftools-libs
    dnf install numactl hwloc python3-pip
    curl -fsSL -o /etc/yum.repos.d/cuda-rhel9.repo \
      https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/cuda-rhel9.repo
    dnf install kernel-devel-6.1.0-41-amd64
    dnf module enable nvidia-driver:open-dkms
    dnf install nvidia-open
    reboot
  
  [3]
  $ gputune provision apply --root other.host plan.json
  gputune: install packages needs the live host and cannot be done in the root other.host
  [3]
  $ other rhel 8.10 cpu-server; gputune provision plan --root other.host
  Refused
    other-distribution: rhel 8.10 is not Debian: gputune lists the commands for it, but does not run
    them.
  
  Commands to run as root:
    dnf install openblas-openmp
    dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-8.noarch.rpm
    dnf install gperftools-libs
    dnf install numactl hwloc python3-pip
  
  As the user who trains, never as root:
    no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA:
      python3 -m venv venv && . venv/bin/activate
      pip install torch --index-url https://download.pytorch.org/whl/cpu
  [3]
  $ gputune provision plan --root other.host --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["refusals"][0]["id"], len(d["commands"]), d["parts"], d["packages"])'
  other-distribution 4 [] []

The reason for a BLAS is that of the host: the reference BLAS is slow, another one has its own threads.

  $ gpu nouveau bookworm; mkdir -p root/etc/alternatives
  $ for blas in blas openblas-pthread; do
  >   ln -sfn /usr/lib/x86_64-linux-gnu/$blas/libblas.so.3 root/etc/alternatives/libblas.so.3-x86_64-linux-gnu
  >   plan --json | python3 -c 'import json, sys; print([p["why"] for p in json.load(sys.stdin)["parts"] if p["id"] == "blas"][0])'
  > done
  libblas.so.3 is the reference BLAS, which uses one core and no vector unit: PyTorch trains an MLP 30 times slower with it
  one pool of threads: OpenBLAS with its own threads is up to 2.7 times slower together with libgomp
  $ ln -sfn /usr/lib/x86_64-linux-gnu/blas/libblas.so.3 root/etc/alternatives/libblas.so.3-x86_64-linux-gnu
  $ gputune run --root root --print -- python3 x.py | grep 'reference BLAS'
        libblas.so.3 is the reference BLAS, which uses one core and no vector unit (up to 30 times

A fresh host with a GPU: the driver of stable and its security updates, never the older one of backports.

  $ gpu nouveau bookworm
  $ plan
  Lacking
    driver: Debian 12 packages driver 535.309.01, which supports this GPU
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
    headers: DKMS builds the driver's module with them, now and for each later kernel
        linux-headers-6.1.0-41-amd64
    dkms: rebuilds the module when the kernel changes
        dkms
    persistenced: keeps the GPU initialised: without it each first call waits a second or more
        nvidia-persistenced
    tcmalloc: a malloc that keeps the memory of large tensors; gputune run preloads it
        libtcmalloc-minimal4
    blas: one pool of threads: OpenBLAS with its own threads is up to 2.7 times slower together with
    libgomp
        libopenblas0-openmp
    numactl: shows and sets the placement of memory and CPUs
        numactl
    hwloc: lstopo shows the CPUs next to each GPU, network card and disk
        hwloc-nox
    venv: wheels are installed into a user's environment, not into the system
        python3-venv
  
  13 packages at least: 55.0 MiB to download, 150 MiB on disk
    nvidia-kernel-dkms 535.309.01-0+deb12u1, 71.3 MiB, bookworm-security/non-free
    libcuda1 535.309.01-0+deb12u1, 28.2 MiB, bookworm-security/non-free
    libnvidia-ml1 535.309.01-0+deb12u1, 2.1 MiB, bookworm-security/non-free
    nvidia-smi 535.309.01-0+deb12u1, 881 KiB, bookworm-security/non-free
    nvidia-modprobe 535.309.01-0+deb12u1, 66.0 KiB, bookworm-security/contrib
    nvidia-persistenced 535.171.04-1~deb12u1, 91.0 KiB, bookworm/contrib
    linux-headers-6.1.0-41-amd64 6.1.158-1, 4.1 MiB, bookworm-updates/main
    dkms 3.0.10-8+deb12u1, 186 KiB, bookworm/main
    libtcmalloc-minimal4 2.10-1, 382 KiB, bookworm/main
    libopenblas0-openmp 0.3.21+ds-4, 42.3 MiB, bookworm/main
    numactl 2.0.16-1, 137 KiB, bookworm/main
    hwloc-nox 2.9.0-1, 590 KiB, bookworm/main
    python3-venv 3.11.2-1+b1, 6.0 KiB, bookworm/main
  
  Commands that apply runs, or that you can run by hand:
    apt-get install --no-install-recommends nvidia-kernel-dkms=535.309.01-0+deb12u1 \
        libcuda1=535.309.01-0+deb12u1 libnvidia-ml1=535.309.01-0+deb12u1 \
        nvidia-smi=535.309.01-0+deb12u1 nvidia-modprobe=535.309.01-0+deb12u1 \
        nvidia-persistenced=535.171.04-1~deb12u1 linux-headers-6.1.0-41-amd64=6.1.158-1 \
        dkms=3.0.10-8+deb12u1 libtcmalloc-minimal4=2.10-1 libopenblas0-openmp=0.3.21+ds-4 \
        numactl=2.0.16-1 hwloc-nox=2.9.0-1 python3-venv=3.11.2-1+b1
    apt-mark hold nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi
    reboot
  
  Note: not simulated, because this host is not live: dependencies of the packages are not included.
  Note: the driver's packages are put on hold, because an upgrade under a loaded module breaks NVML
  until a reboot. Install security updates by hand: apt-mark unhold, apt upgrade, reboot. With
  --no-hold apt upgrades them.
  
  As the user who trains, never as root:
    PyTorch 2.14 with CUDA 12.6 is the newest that driver 535.309.01 and this GPU support:
      python3 -m venv venv && . venv/bin/activate
      pip install 'torch==2.14.*' --index-url https://download.pytorch.org/whl/cu126
  $ plan -v | sed -n '/^Unchanged/,/^Note/p'
  Unchanged or not applicable
    openmp: libgomp1 12.2.0-14+deb12u1
  
  By choice (--with PART)
    compiler: torch.compile builds C++ on this host, and Triton a small C module
    toolkit: only needed to compile CUDA programs; wheels contain their libraries
    cudnn: only for programs that are not wheels
    nccl: only for programs that are not wheels
    jemalloc: another allocator for gputune run --allocator
    libomp: another runtime for gputune run --openmp-runtime
  
  13 packages at least: 55.0 MiB to download, 150 MiB on disk
    nvidia-kernel-dkms 535.309.01-0+deb12u1, 71.3 MiB, bookworm-security/non-free
    libcuda1 535.309.01-0+deb12u1, 28.2 MiB, bookworm-security/non-free
    libnvidia-ml1 535.309.01-0+deb12u1, 2.1 MiB, bookworm-security/non-free
    nvidia-smi 535.309.01-0+deb12u1, 881 KiB, bookworm-security/non-free
    nvidia-modprobe 535.309.01-0+deb12u1, 66.0 KiB, bookworm-security/contrib
    nvidia-persistenced 535.171.04-1~deb12u1, 91.0 KiB, bookworm/contrib
    linux-headers-6.1.0-41-amd64 6.1.158-1, 4.1 MiB, bookworm-updates/main
    dkms 3.0.10-8+deb12u1, 186 KiB, bookworm/main
    libtcmalloc-minimal4 2.10-1, 382 KiB, bookworm/main
    libopenblas0-openmp 0.3.21+ds-4, 42.3 MiB, bookworm/main
    numactl 2.0.16-1, 137 KiB, bookworm/main
    hwloc-nox 2.9.0-1, 590 KiB, bookworm/main
    python3-venv 3.11.2-1+b1, 6.0 KiB, bookworm/main
  
  Commands that apply runs, or that you can run by hand:
    apt-get install --no-install-recommends nvidia-kernel-dkms=535.309.01-0+deb12u1 \
        libcuda1=535.309.01-0+deb12u1 libnvidia-ml1=535.309.01-0+deb12u1 \
        nvidia-smi=535.309.01-0+deb12u1 nvidia-modprobe=535.309.01-0+deb12u1 \
        nvidia-persistenced=535.171.04-1~deb12u1 linux-headers-6.1.0-41-amd64=6.1.158-1 \
        dkms=3.0.10-8+deb12u1 libtcmalloc-minimal4=2.10-1 libopenblas0-openmp=0.3.21+ds-4 \
        numactl=2.0.16-1 hwloc-nox=2.9.0-1 python3-venv=3.11.2-1+b1
    apt-mark hold nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi
    reboot
  
  Note: not simulated, because this host is not live: dependencies of the packages are not included.

A host without a GPU; Debian 13 has another name for TCMalloc.

  $ gpu cpu-server trixie; sed -i s/12/13/ root/etc/os-release
  $ plan
  Lacking
    tcmalloc: a malloc that keeps the memory of large tensors; gputune run preloads it
        libtcmalloc-minimal4t64
    blas: one pool of threads: OpenBLAS with its own threads is up to 2.7 times slower together with
    libgomp
        libopenblas0-openmp
    numactl: shows and sets the placement of memory and CPUs
        numactl
    hwloc: lstopo shows the CPUs next to each GPU, network card and disk
        hwloc-nox
    venv: wheels are installed into a user's environment, not into the system
        python3-venv
  
  5 packages at least: 6.8 MiB to download, 46.8 MiB on disk
    libtcmalloc-minimal4t64 2.16-1, 374 KiB, trixie/main
    libopenblas0-openmp 0.3.29+ds-3, 45.6 MiB, trixie/main
    numactl 2.0.19-1, 145 KiB, trixie/main
    hwloc-nox 2.12.0-4, 659 KiB, trixie/main
    python3-venv 3.13.5-1, 6.0 KiB, trixie/main
  
  Commands that apply runs, or that you can run by hand:
    apt-get install --no-install-recommends libtcmalloc-minimal4t64=2.16-1 \
        libopenblas0-openmp=0.3.29+ds-3 numactl=2.0.19-1 hwloc-nox=2.12.0-4 python3-venv=3.13.5-1
  
  Note: not simulated, because this host is not live: dependencies of the packages are not included.
  
  As the user who trains, never as root:
    no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA:
      python3 -m venv venv && . venv/bin/activate
      pip install torch --index-url https://download.pytorch.org/whl/cpu
      # or Debian's own: apt install python3-torch

Optional parts, and parts left out.

  $ gpu nouveau bookworm
  $ plan --skip driver --skip headers --skip dkms --skip persistenced --with compiler --with nccl --with cudnn | head -n 20
  Lacking
    tcmalloc: a malloc that keeps the memory of large tensors; gputune run preloads it
        libtcmalloc-minimal4
    blas: one pool of threads: OpenBLAS with its own threads is up to 2.7 times slower together with
    libgomp
        libopenblas0-openmp
    numactl: shows and sets the placement of memory and CPUs
        numactl
    hwloc: lstopo shows the CPUs next to each GPU, network card and disk
        hwloc-nox
    venv: wheels are installed into a user's environment, not into the system
        python3-venv
    compiler: torch.compile builds C++ on this host, and Triton a small C module
        g++
    cudnn: Debian's nvidia-cudnn downloads NVIDIA's archive during its configuration, which cannot be
    simulated or undone: use the wheels, which contain cuDNN, or add NVIDIA's repository
    nccl: no source of apt has libnccl2; Debian's component contrib may
  
  6 packages at least: 6.7 MiB to download, 43.4 MiB on disk
    libtcmalloc-minimal4 2.10-1, 382 KiB, bookworm/main
  $ plan --with mpi
  gputune: there is no part mpi: gputune provision plan --verbose names them
  [64]
  $ plan --device-id 10de:xyz
  gputune: --device-id takes the PCI device id of an NVIDIA GPU in hexadecimal, as lspci -nn prints it: 10de:2330 or 2330, not '10de:xyz'
  [64]
  $ gputune provision look --root root
  gputune: provision takes plan, apply [PLAN] or revert, not 'look'
  [64]

For an image that another machine boots, from a host without a GPU.

  $ gpu cpu-server bookworm; plan --device-id 10de:2330 | head -n 6
  Lacking
    driver: Debian 12 packages driver 535.309.01, which supports this GPU
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
    headers: for an image: the headers of the kernel that it will boot
        DKMS builds the driver's module with them, now and for each later kernel

With a root that is not live, no program is started and nothing is changed.

  $ gputune provision apply --root root
  gputune: install packages needs the live host and cannot be done in the root root
  [3]
  $ gputune provision revert --root root
  gputune: install packages needs the live host and cannot be done in the root root
  [3]
  $ gputune provision revert --dry-run --root root
  Nothing was installed by gputune.

The plan is a document, saved like a plan of settings, and printed once with -o -.

  $ gputune provision plan --root root --json -o - | python3 -c 'import json, sys; print(json.load(sys.stdin)["schema"])'
  gputune-provision/1
  $ plan -o plan.json | tail -n 1
  Saved as plan.json: gputune provision apply plan.json
  $ python3 -c 'import json; d = json.load(open("plan.json")); print(d["schema"], d["requested"], d["simulated"])'
  gputune-provision/1 ['libtcmalloc-minimal4', 'libopenblas0-openmp', 'numactl', 'hwloc-nox', 'python3-venv'] False

Refused: components missing in apt's sources, with the corrected line. Both formats of sources are supported.

  $ gpu nouveau bookworm main; rm root/var/lib/apt/lists/*non-free* root/var/lib/apt/lists/*contrib*
  $ refused
  Refused
    components: the driver is in Debian's components contrib, non-free and non-free-firmware, but
    apt's sources lack them.
        in /etc/apt/sources.list, line 1:
          deb http://mirror.example/debian bookworm main contrib non-free non-free-firmware
        apt-get update
  
  $ rm root/etc/apt/sources.list; cat > root/etc/apt/sources.list.d/debian.sources <<END
  > # Debian
  > Types: deb deb-src
  > URIs: http://mirror.example/debian
  > Suites: bookworm bookworm-updates
  > Components: main
  > Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
  > 
  > Types: deb
  > URIs: http://mirror.example/debian-security
  > Suites: bookworm-security
  > Components: main contrib
  > 
  > Enabled: no
  > Types: deb
  > URIs: https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/
  > Suites: /
  > END
  $ refused; plan > answer.txt
  Refused
    components: the driver is in Debian's components contrib, non-free and non-free-firmware, but
    apt's sources lack them.
        in /etc/apt/sources.list.d/debian.sources, line 5:
          Components: main contrib non-free non-free-firmware
        in /etc/apt/sources.list.d/debian.sources, line 11:
          Components: main contrib non-free non-free-firmware
        apt-get update
  
  [3]

The line keeps its options. A paragraph whose first suite is backports gets its line too. Files that apt ignores do not
count.

  $ gpu nouveau bookworm main; rm root/var/lib/apt/lists/*non-free* root/var/lib/apt/lists/*contrib*
  $ echo 'deb [ arch=amd64 signed-by=/etc/apt/debian.gpg ] http://mirror.example/debian bookworm main # ours' > root/etc/apt/sources.list
  $ printf 'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports bookworm-updates\nComponents: main\n' > root/etc/apt/sources.list.d/more.sources
  $ for f in .cuda.list 'cuda copy.list' 'cuda.list~.list'; do echo 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > "root/etc/apt/sources.list.d/$f"; done
  $ refused
  Refused
    components: the driver is in Debian's components contrib, non-free and non-free-firmware, but
    apt's sources lack them.
        in /etc/apt/sources.list, line 1:
          deb [ arch=amd64 signed-by=/etc/apt/debian.gpg ] http://mirror.example/debian bookworm main contrib non-free non-free-firmware
        in /etc/apt/sources.list.d/more.sources, line 4:
          Components: main contrib non-free non-free-firmware
        apt-get update
  
  $ gpu nouveau bookworm; echo 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > root/etc/apt/sources.list.d/.cuda.list; refused

Refused: two repositories with a driver.

  $ gpu nouveau bookworm; echo 'deb [signed-by=/usr/share/keyrings/cuda.gpg] https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > root/etc/apt/sources.list.d/cuda.list
  $ refused
  Refused
    two-repositories: two repositories have a driver, Debian's non-free (/etc/apt/sources.list:1) and
    NVIDIA's (/etc/apt/sources.list.d/cuda.list:1): packages with equal names and different versions
    would be mixed.
        disable one of the two lines, then apt-get update
  

Also with NVIDIA's local package, or a mirror whose Release names NVIDIA; a disabled source does not count, in any of apt's
spellings.

  $ echo 'deb [signed-by=/usr/share/keyrings/cuda.gpg] file:///var/cuda-repo-debian12-12-9-local /' > root/etc/apt/sources.list.d/cuda.list; refused | grep -c two-repositories
  1
  $ echo 'deb https://proxy:3128/cuda_12 /' > root/etc/apt/sources.list.d/cuda.list; refused
  $ printf 'Origin: NVIDIA\nLabel: NVIDIA CUDA\n' > root/var/lib/apt/lists/proxy:3128_cuda%5f12_Release; refused | grep -c two-repositories
  1
  $ rm root/etc/apt/sources.list.d/cuda.list
  $ for off in No FALSE without off Disable 0 yes; do printf 'Enabled: %s\nTypes: deb\nURIs: https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/\nSuites: /\n' $off > root/etc/apt/sources.list.d/cuda.sources; echo $off: $(refused | grep -c two-repositories); done
  No: 0
  FALSE: 0
  without: 0
  off: 0
  Disable: 0
  0: 0
  yes: 1

Debian behind a mirror list, as in its cloud images, or behind a proxy: the Release files name the origin, and backports are
excluded. A source that is Debian's neither by its Release nor by its address is ignored.

  $ behind() {  # behind URI NAME: the lists of apt under another name
  >   for f in root/var/lib/apt/lists/*_dists_*; do mv $f root/var/lib/apt/lists/$2_dists_${f#*_dists_}; done
  >   sed -i "s|http://mirror.example/debian|$1|" root/etc/apt/sources.list; }
  $ release() { printf -- "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: $2\nLabel: $3\nSuite: $4\n" > root/var/lib/apt/lists/$1_InRelease; }
  $ gpu nouveau bookworm main; behind mirror+file:///etc/apt/mirrors/debian.list _etc_apt_mirrors_debian.list
  $ plan | grep -c 'apt-get install'
  0
  [1]
  $ for s in bookworm bookworm-updates bookworm-backports; do release _etc_apt_mirrors_debian.list_dists_$s Debian Debian stable; done
  $ release _etc_apt_mirrors_debian.list_dists_bookworm-security Debian Debian-Security stable-security
  $ release _etc_apt_mirrors_debian.list_dists_bookworm-backports 'Debian Backports' 'Debian Backports' stable-backports
  $ plan | grep -E '^  (nvidia-kernel-dkms|numactl) '
    nvidia-kernel-dkms 535.309.01-0+deb12u1, 71.3 MiB, bookworm-security/non-free
    numactl 2.0.16-1, 137 KiB, bookworm/main
  $ rm root/var/lib/apt/lists/*non-free* root/var/lib/apt/lists/*contrib*; refused
  Refused
    components: the driver is in Debian's components contrib, non-free and non-free-firmware, but
    apt's sources lack them.
        in /etc/apt/sources.list, line 1:
          deb mirror+file:///etc/apt/mirrors/debian.list bookworm main contrib non-free non-free-firmware
        apt-get update
  
  $ gpu nouveau bookworm; behind https://artifactory.example/artifactory/debian-remote artifactory.example_artifactory_debian-remote
  $ for s in bookworm bookworm-updates bookworm-security bookworm-backports; do release artifactory.example_artifactory_debian-remote_dists_$s Debian Debian $s; done
  $ plan | grep -E '^  (nvidia-kernel-dkms|numactl) '
    nvidia-kernel-dkms 535.309.01-0+deb12u1, 71.3 MiB, bookworm-security/non-free
    numactl 2.0.16-1, 137 KiB, bookworm/main

With NVIDIA's repository only: its driver, in the branch for this GPU.

  $ gpu nouveau bookworm main; rm root/var/lib/apt/lists/*non-free*; cp -r root/etc/apt/sources.list keep; echo 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > root/etc/apt/sources.list.d/cuda.list
  $ printf 'Package: nvidia-open\nVersion: 580.95.05-1\nInstalled-Size: 20\nArchitecture: amd64\nSize: 8000\n' > root/var/lib/apt/lists/developer.download.nvidia.com_compute_cuda_repos_debian12_x86%5f64_Packages
  $ plan | sed -n '2,4p'
    driver: NVIDIA's repository, one of apt's sources, has nvidia-open 580.95.05-1
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-open

An older GPU gets its own branch from there, or none: never the newest, which does not support it.

  $ gpu legacy-kepler bookworm main; echo 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > root/etc/apt/sources.list.d/cuda.list
  $ cuda() { printf 'Package: %s\nVersion: %s\nInstalled-Size: 20\nArchitecture: amd64\nSize: 8000\n\n' $1 $2 >> root/var/lib/apt/lists/developer.download.nvidia.com_compute_cuda_repos_debian12_x86%5f64_Packages; }
  $ cuda cuda-drivers 590.44.01-1; cuda cuda-drivers 580.95.05-1; cuda nvidia-open 590.44.01-1; plan | sed -n '/ driver: /,+2p'
    driver: this GPU is supported up to branch 470, and Debian 12 also packages branch 470
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-tesla-470-kernel-dkms libnvidia-tesla-470-cuda1 libnvidia-tesla-470-ml1 nvidia-tesla-470-smi libnvidia-tesla-470-cfg1 nvidia-modprobe nvidia-persistenced
  $ cuda cuda-drivers-470 470.256.02-1; plan | sed -n '/ driver: /,+2p'
    driver: NVIDIA's repository, one of apt's sources, has cuda-drivers-470 470.256.02-1
        CUDA programs need it to use the GPU; installed without packages for displays
        cuda-drivers-470
  $ gpu blackwell-on-550 bookworm main; rm root/var/lib/apt/lists/*non-free*; echo 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > root/etc/apt/sources.list.d/cuda.list
  $ cuda nvidia-open 560.35.05-1; refused
  Refused
    nvidia-repository: nvidia-open 560.35.05-1 of apt's sources does not support this GPU.
        apt-get update, and plan again; or train on the CPU (--skip driver)
  

Packages built for a CUDA release: the one that the driver supports and that has code for the GPU. NCCL's packages of all
releases have one name.

  $ gpu server-8gpu bookworm main; rm root/var/lib/apt/lists/*non-free*; echo 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /' > root/etc/apt/sources.list.d/cuda.list
  $ offer() { printf 'Package: %s\nVersion: %s\nInstalled-Size: 20\nArchitecture: amd64\nSize: 8000\n\n' $1 $2 >> root/var/lib/apt/lists/developer.download.nvidia.com_compute_cuda_repos_debian12_x86%5f64_Packages; }
  $ for v in 12-4:12.4.1-1 12-9:12.9.1-1 13-0:13.0.2-1; do offer cuda-toolkit-${v%:*} ${v#*:}; done; offer libcudnn9-cuda-12 9.14.0-1; offer libcudnn9-cuda-13 9.14.0-1
  $ for v in 2.28.3-1+cuda13.0 2.27.3-1+cuda12.9; do offer libnccl2 $v; done
  $ parts() { plan --with toolkit --with cudnn --with nccl --json | python3 -c 'import json, sys; [print(p["id"], p["status"], p["packages"], p["reason"]) for p in json.load(sys.stdin)["parts"] if p["id"] in ("toolkit", "cudnn", "nccl")]'; }
  $ parts
  toolkit lacking ['cuda-toolkit-12-4'] cuda-toolkit-12-4 12.4.1-1: driver 550.163.01 supports CUDA 12.4
  cudnn lacking ['libcudnn9-cuda-12'] libcudnn9-cuda-12: driver 550.163.01 supports CUDA 12.4
  nccl unavailable [] apt would install 2.28.3-1+cuda13.0, which is for another CUDA: driver 550.163.01 supports CUDA 12.4; to install it by hand: apt-get install libnccl2=2.27.3-1+cuda12.9
  $ rm root/var/lib/apt/lists/developer*; offer cuda-toolkit-13-0 13.0.2-1; offer libcudnn9-cuda-13 9.14.0-1; parts
  toolkit unavailable [] apt's sources have no suitable release: driver 550.163.01 supports CUDA 12.4
  cudnn unavailable [] apt's sources have no suitable release: driver 550.163.01 supports CUDA 12.4
  nccl unavailable [] no source of apt has libnccl2; Debian's component contrib may
  $ gpu server-8gpu bookworm; parts
  toolkit lacking ['nvidia-cuda-toolkit'] nvidia-cuda-toolkit 11.8.89~11.8.0-5~deb12u1: driver 550.163.01 supports CUDA 12.4
  cudnn unavailable [] Debian's nvidia-cudnn downloads NVIDIA's archive during its configuration, which cannot be simulated or undone: use the wheels, which contain cuDNN, or add NVIDIA's repository
  nccl unavailable [] no source of apt has libnccl2; Debian's component contrib may

The open flavour if the GPU needs it; provision does not change a loaded other flavour.

  $ gpu nouveau bookworm; plan --gpu 2342 | sed -n '2,4p'
    driver: Debian 12 packages driver 535.309.01, which supports this GPU
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-open-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
  $ gpu driver-not-loaded bookworm; gputune --json provision plan --root root | grep -A4 '"id": "driver"' | tail -n 1
        "reason": "driver 550.163.01, which supports this GPU, is installed but not loaded",
  $ mv root/var/lib/dkms/nvidia-current/550.163.01 root/var/lib/dkms/nvidia-current/535.261.03; plan | sed -n '2,4p'
    driver: driver 535.261.03, which supports this GPU, is installed but not loaded
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced
  $ gpu blackwell-proprietary bookworm; gputune --json provision plan --root root | grep -A4 '"id": "driver"'
        "id": "driver",
        "summary": "NVIDIA driver",
        "status": "present",
        "why": "CUDA programs need it to use the GPU; installed without packages for displays",
        "reason": "driver 580.95.05 supports this GPU with its open kernel module, and the proprietary one is loaded",

Refused: a GPU newer than Debian's driver, or older than all of Debian's drivers.

  $ gpu blackwell-on-550 bookworm; refused
  Refused
    nvidia-repository: Debian's driver is older than this GPU; only NVIDIA's own repository may have
    one for it, but it is not among apt's sources.
        add NVIDIA's repository (package cuda-keyring of this release) and remove non-free from
        Debian's lines, then apt-get update
  
  $ gpu legacy-kepler bookworm; plan | sed -n '2,4p'
    driver: this GPU is supported up to branch 470, and Debian 12 also packages branch 470
        CUDA programs need it to use the GPU; installed without packages for displays
        nvidia-tesla-470-kernel-dkms libnvidia-tesla-470-cuda1 libnvidia-tesla-470-ml1 nvidia-tesla-470-smi libnvidia-tesla-470-cfg1 nvidia-modprobe nvidia-persistenced
  $ printf 'Package: nvidia-alternative\nStatus: install ok installed\nArchitecture: amd64\nVersion: 535.261.03-1\n\n' >> root/var/lib/dpkg/status; refused
  Refused
    other-branch: Debian's newer driver 535.261.03-1 is installed and would remain the loaded one.
        apt-get remove nvidia-alternative, and plan again; or install the older branch next to it and
        select that one: gpuprobe can
  
  $ gpu legacy-kepler trixie; sed -i 's/12/13/; s/bookworm/trixie/' root/etc/os-release; refused
  Refused
    no-driver: this GPU is supported up to branch 470, and Debian 13 packages only newer branches.
        train on the CPU (--skip driver), or remove the GPU
  

Refused: a real-time kernel, a driver of NVIDIA's .run file, Secure Boot without an enrolled key.

  $ gpu preempt-rt bookworm; rm -f root/sys/module/nvidia/version; refused --skip headers
  Refused
    rt-kernel: kernel 6.1.0-41-rt-amd64 is PREEMPT_RT, and NVIDIA's module does not build for it.
        apt-get install linux-image-amd64, select it at boot, and plan again
  
  $ gpu nouveau bookworm; mkdir -p root/usr/bin; touch root/usr/bin/nvidia-uninstall; refused
  Refused
    run-file: a driver was installed by NVIDIA's .run file (/usr/bin/nvidia-uninstall exists):
    packages would overwrite a part of it.
        nvidia-uninstall, reboot, and plan again
  
  $ gpu secure-boot bookworm; rm -r root/var/lib/dkms; refused
  Refused
    secure-boot: Secure Boot is on and DKMS's signing key is not enrolled: the module would be built
    but not loaded, and the installed driver disables nouveau.
        apt-get install dkms mokutil openssl && dkms generate_mok
        mokutil --import /var/lib/dkms/mok.pub
        reboot; a blue screen requests the password; then plan again. Or switch Secure Boot off
  

Not refused if shim does not check signatures.

  $ gpu nouveau bookworm; mkdir -p root/sys/firmware/efi/efivars; printf '\006\000\000\000\001' > root/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
  $ refused | grep -c secure-boot:
  1
  $ printf '\006\000\000\000\001' > root/sys/firmware/efi/efivars/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23; refused
  $ gpu secure-boot bookworm; rm -r root/var/lib/dkms

A key enrolled in shim is no obstacle.

  $ mkdir -p root/var/lib/dkms root/sys/firmware/efi/efivars; printf 'a\001key' > root/var/lib/dkms/mok.pub
  $ printf 'xx\000\000yya\001keyzz' > root/sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23
  $ refused; plan | grep -c 'is enrolled'
  1

Refused: no headers for the running kernel; a driver of backports older than stable's.

  $ gpu nouveau bookworm; rm root/var/lib/apt/lists/*bookworm-updates*; refused
  Refused
    no-headers: no source of apt has linux-headers-6.1.0-41-amd64, the headers of the running kernel,
    so DKMS cannot build the module.
        apt-get update, then apt-get install linux-image-amd64, boot that kernel, and plan again
  
  $ gpu nouveau bookworm; rm root/var/lib/apt/lists/*bookworm-updates*; echo aarch64 > root/proc/sys/kernel/arch; refused | grep -o 'linux-image-[a-z0-9]*'
  linux-image-arm64
  $ gpu nouveau bookworm; printf 'Package: libcuda1\nStatus: install ok installed\nArchitecture: amd64\nVersion: 535.216.03-2~bpo12+1\n\n' >> root/var/lib/extra
  $ cat root/var/lib/extra >> root/var/lib/dpkg/status; refused
  Refused
    old-backports: libcuda1 would come from backports in version 535.216.03-2~bpo12+1, which is older
    than stable's 535.309.01-0+deb12u1: the rest of the driver would not match.
        apt-get install libcuda1/bookworm-security, and remove the pin on backports
  

Refused: dpkg was interrupted, or its list cannot be read.

  $ gpu nouveau bookworm; sed -i 's/ok installed/ok half-configured/' root/var/lib/dpkg/status; refused
  Refused
    dpkg-broken: dpkg was interrupted: package dpkg is half-configured (install ok).
        dpkg --configure -a && apt-get -f install
  
  $ gpu nouveau bookworm; touch root/var/lib/dpkg/updates/0001; refused
  Refused
    dpkg-broken: dpkg was interrupted: unfinished work is left in /var/lib/dpkg/updates.
        dpkg --configure -a && apt-get -f install
  

A container uses the driver of the machine that runs it.

  $ gpu nouveau bookworm; mkdir -p root/run/systemd; echo docker > root/run/systemd/container; plan | sed -n 2,5p
    tcmalloc: a malloc that keeps the memory of large tensors; gputune run preloads it
        libtcmalloc-minimal4
    blas: one pool of threads: OpenBLAS with its own threads is up to 2.7 times slower together with
    libgomp

Invalid lists: impossible names and versions are ignored, and nothing else is.

  $ gpu cpu-server bookworm; printf 'Package: libtcmalloc-minimal4\nVersion: 9;rm -rf\nArchitecture: amd64\nSize: 1\n\nPackage: libtcmalloc-minimal4\nVersion: 99\nArchitecture: amd64\nSize: -1\n\nPackage: libtcmalloc-minimal4\nVersion: 99\nArchitecture: arm64\nSize: 1\n' > root/var/lib/apt/lists/evil_debian_dists_bookworm_main_binary-amd64_Packages
  $ plan | grep 'libtcmalloc-minimal4 '
    libtcmalloc-minimal4 2.10-1, 382 KiB, bookworm/main

A damaged record of installed packages is not followed.

  $ mkdir -p root/var/lib/gputune; echo '{ "schema": "gputune-provision-record/1", "state": "done", "packages": [ { "name": "-oDebug=1", "version": "1" } ] }' > root/var/lib/gputune/provision
  $ gputune provision revert --dry-run --root root
  gputune: the record of installed packages, /var/lib/gputune/provision, is damaged: nothing is changed. Remove the packages that it lists by hand, then remove the record
  [3]

A driver whose module is in use is kept, on hold or not.

  $ echo '{ "schema": "gputune-provision-record/1", "state": "done", "packages": [ { "name": "libcuda1", "version": "535.309.01-1", "requested": true, "held": false } ] }' > root/var/lib/gputune/provision
  $ cp root/var/lib/dpkg/status status; printf 'Package: libcuda1\nStatus: install ok installed\nVersion: 535.309.01-1\nArchitecture: amd64\n\n' >> root/var/lib/dpkg/status
  $ mkdir -p root/sys/module/nvidia; echo 5 > root/sys/module/nvidia/refcnt
  $ gputune provision revert --dry-run --root root
    libcuda1 535.309.01-1: kept, the nvidia module is in use (5 users)
  1 package: kept.
  [4]
  $ rm -r root/sys/module/nvidia; mv status root/var/lib/dpkg/status

status names the packages that provision installed; history lists them apart from settings.

  $ echo '{ "schema": "gputune-provision-record/1", "state": "done", "packages": [ { "name": "numactl", "version": "2.0.16-1", "held": false }, { "name": "libnuma1", "version": "2.0.16-1" } ] }' > root/var/lib/gputune/provision
  $ gputune status --root root
  Nothing is applied.
  2 packages installed by gputune provision (gputune provision revert --dry-run lists them).
  $ gputune status --root root --json | grep -A 3 provisioned
    "provisioned": [
      {
        "name": "numactl",
        "version": "2.0.16-1",
  $ printf 'Package: numactl\nStatus: install ok installed\nVersion: 2.0.16-1\nArchitecture: amd64\nDepends: libnuma1 (>= 2.0.11)\n\nPackage: libnuma1\nStatus: install ok installed\nVersion: 2.0.16-1\nArchitecture: amd64\n\n' >> root/var/lib/dpkg/status
  $ printf 'Package: libnuma1\nArchitecture: amd64\nAuto-Installed: 1\n\n' > root/var/lib/apt/extended_states
  $ gputune provision revert --dry-run --root root
    numactl 2.0.16-1: kept, it was marked as manually installed since (apt-mark manual, or installed
    by name)
    libnuma1 2.0.16-1: kept, numactl depends on it
  2 packages: kept.
  [4]
  $ echo '{"time":"2026-11-21T12:00:00Z","command":"provision apply","result":"installed","profile":null,"user":"root","values":[{"knob":"package","instance":"numactl","old":"none","new":"2.0.16-1","result":"installed"}],"files":[]}' > root/var/lib/gputune/history
  $ gputune history --root root -v
  2026-11-21T12:00:00Z  provision apply: installed, 1 package, by root
      package:numactl: installed, none → 2.0.16-1
