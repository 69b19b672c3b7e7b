All knobs, and one of them explained: purpose, risk, and state on this host.

  $ gputune list
  Applied by default:
    vm.dirty_ratio                 unwritten data at which writers must wait
    vm.dirty_background_ratio      unwritten data at which the kernel starts writing
    vm.dirty_bytes                 unwritten data at which writers must wait, large hosts
    vm.dirty_background_bytes      unwritten data at which the kernel starts writing, large hosts
    vm.swappiness                  how readily a program's memory is swapped out
    vm.zone_reclaim_mode           drop near page cache before using far memory
    vm.max_map_count               memory mappings that one process may have
    vm.min_free_kbytes             memory that is kept free for requests that cannot wait
    kernel.pid_max                 processes and threads that may exist at once
    fs.inotify.max_user_instances  programs of one user that may watch files
    fs.inotify.max_user_watches    files and directories that one user may watch
    fs.aio-max-nr                  asynchronous reads and writes that may be under way
    fs.file-max                    files that all programs together may have open
    net.core.rmem_max              largest receive buffer a program may ask for
    net.core.wmem_max              largest send buffer a program may ask for
    block.scheduler                the order in which a disk's requests are served
    cpu.governor                   how CPU frequency follows the load
  
  Applied only with --optional, --only or a profile:
    vm.compaction_proactiveness    how much free memory is compacted in the background
    kernel.numa_balancing          moving pages to the node that uses them
    net.ipv4.tcp_rmem              how large TCP's receive buffer may grow
    net.ipv4.tcp_wmem              how large TCP's send buffer may grow
    net.core.netdev_max_backlog    packets that may wait for a CPU to take them
    net.core.netdev_budget         packets that a CPU takes before it lets others run
    net.ipv4.arp_announce          which address a port announces
    net.ipv4.arp_ignore            for which addresses a port answers
    nfs.slots                      requests that NFS sends before it waits for answers
    thp.enabled                    huge pages without being asked, on request, or never
    thp.defrag                     who waits for memory to be compacted into huge pages
    ksm.run                        a kernel thread that merges equal pages
    block.read_ahead               how far ahead of a sequential reader a disk is read
    cpu.platform_profile           what the firmware is asked for: quiet, balanced or fast
    cpu.epp                        what the processor itself prefers: speed or energy
    cpu.min_perf                   lowest frequency that intel_pstate goes to
    cpu.epb                        what Intel processors weigh: speed (0) or energy (15)
    cpu.boost                      frequencies above the nominal one
    cpu.idle_latency               how long an idle CPU may take to wake
    pcie.aspm                      whether idle PCIe links fall asleep
    irq.affinity                   fast network ports interrupt the CPUs of their own node
  
  Set for one command by gputune run:
    run.affinity                   the CPUs a command may use: next to its GPU, no isolated ones, no
                                   small cores
    run.mempolicy                  memory from the node whose CPUs are used, as long as it has any
    run.files                      as many open files as the user may have
    omp.threads                    OMP_NUM_THREADS: one per physical core that may be used
    omp.bind                       OMP_PLACES and OMP_PROC_BIND: each OpenMP thread stays on its core
    run.blas                       openblas-openmp where the host's choice is openblas-pthread
    run.blas_kernels               OPENBLAS_CORETYPE where OpenBLAS takes this processor for a much
                                   older one
    omp.spin                       GOMP_SPINCOUNT: how long a waiting OpenMP thread keeps its core
                                   busy
    run.allocator                  preload TCMalloc, jemalloc or mimalloc
    run.malloc                     glibc's malloc keeps large blocks, in huge pages
    omp.runtime                    LLVM's or Intel's OpenMP in place of GNU's
    cuda.order                     CUDA numbers the GPUs as nvidia-smi does
    cuda.segments                  PyTorch's GPU memory grows in place
    nccl.ifname                    NCCL does not try bridges that lead to no other host
    run.leftovers                  debugging variables that were left behind are pointed out
  
  Checked and reported, never changed:
    vm.overcommit_memory           reservations do not count as used memory
    vm.nr_hugepages                no memory is set aside as a pool of huge pages
    kernel.shmmax                  shared memory segments have no low limit
    kernel.sched_rt_runtime_us     real-time threads leave some time to others
    kernel.nmi_watchdog            an interrupt per CPU finds a kernel that hangs
    net.core.rmem_default          sockets have small receive buffers by default
    net.core.busy_read             readers of sockets sleep until data comes
    net.ipv4.tcp_window_scaling    TCP's windows may be larger than 64 KiB
    net.ipv4.tcp_timestamps        TCP's packets carry the time
    thp.shmem                      small tensors in shared memory take no huge page
    mem.shm                        /dev/shm has room for workers
    limits.memlock                 RDMA may lock memory
    limits.nofile                  a process may have many open files
    irq.balance                    irqbalance moves no interrupts of very fast ports
    nic.rings                      network ports find a buffer for each frame
    nic.queues                     fast network ports have a queue per core near them
    nic.mtu                        fast network ports send large frames
    pcie.acs                       GPUs below one switch talk directly
    pcie.read_request              fast network cards read much at once
    nvme.io_timeout                on EC2 a request to an NVMe disk may take long
    gpu.node                       the NUMA node of every GPU is known
    gpu.persistence                the driver stays ready between jobs
    gpu.driver_options             NVIDIA's module has no option of a recipe that harms
    nccl.conf                      /etc/nccl.conf sets nothing for debugging
    boot.kernel                    an ordinary kernel, not a real-time one
    boot.isolcpus                  the scheduler balances all CPUs
    boot.idle                      idle CPUs rest
    boot.preempt                   the kernel seldom interrupts its own work
    boot.init_on_free              freed memory is not cleared a second time
    boot.iommu                     the IOMMU lets the host's own devices pass
  
  Details: gputune explain NAME
  $ gputune explain vm.dirty_bytes --root $FIXTURES/cpu-server-512g.host
  vm.dirty_bytes: unwritten data at which writers must wait, large hosts
  
    policy        A: applied by default
    file          /proc/sys/vm/dirty_bytes
    unit          bytes
    range         16777216 to 1/2 of memory in bytes
    operation     lowered only, never raised
    takes effect  now
    counterpart   /proc/sys/vm/dirty_ratio
    needs         128 GiB of memory or more; smaller hosts use the form in percent; a value other than
                  0 in one of the two forms; it can be written (in a container it is read-only)
    persisted in  /etc/sysctl.d/90-gputune.conf
    must move     file.writeback
  
  Why
    Beyond this much unwritten data the kernel makes the writer itself wait for the disk (background:
    starts writing). A checkpoint larger than that stalls the step that saves it. The percentage is of
    available memory: on a host with a terabyte the default of 20 is 200 GB, minutes of writing in one
    go.
  
  Hazard
    Too low, and each checkpoint is throttled to the disk's speed; peers point both ways (tuned: 40
    for throughput, 10 for latency). Only lowered here, never raised: a percentage counts as that much
    of all memory.
  
  On this host
    change, 0 → 16 GiB; writing 16 GiB takes 6 s, 20 percent of memory up to 37 s (NVMe disk; assuming
    3 GB/s)
  $ gputune explain block.read_ahead --root $FIXTURES/cpu-server.host | tail -3
    while the step computes
    sda: change, 128 → 8192 KiB; a spinning disk: fewer seeks between readers; shards that are read in
    order keep the disk busy while the step computes
  $ gputune explain run.allocator --root $FIXTURES/cpu-server.host | head -8
  run.allocator: preload TCMalloc, jemalloc or mimalloc
  
    policy        R: set for one run by gputune run
    unit          environment
    takes effect  new processes
    must move     alloc
  
  Why
  $ gputune explain vm.drop_caches
  vm.drop_caches is left alone: an action, not a setting: it throws away the data set that is being
  read.
  $ gputune explain GLIBC_TUNABLES | head -3
  GLIBC_TUNABLES is this knob:
  
  run.malloc: glibc's malloc keeps large blocks, in huge pages
  $ gputune explain vm.drop_caches --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["settings"])'
  [{'name': 'vm.drop_caches', 'knob': None, 'why_not': 'an action, not a setting: it throws away the data set that is being read'}]
  $ gputune explain nonsense
  gputune: there is no knob 'nonsense'; gputune list shows them
  [64]
  $ gputune explain vm.swapiness
  gputune: there is no knob 'vm.swapiness'; did you mean vm.swappiness?
  [64]
  $ gputune explain env.GLIBC_TUNABLES | head -1
  GLIBC_TUNABLES is this knob:
  $ gputune list --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], len(d["knobs"]) > 60, all(k["why"] and k["hazard"] for k in d["knobs"]))'
  gputune-knobs/1 True True

A virtual disk reports itself as rotational by default, whatever its backing store.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host virtual
  $ echo 1 > virtual/sys/block/vda/queue/rotational; echo 128 > virtual/sys/block/vda/queue/read_ahead_kb
  $ gputune explain block.read_ahead --root virtual | tail -2
    vda: change, 128 → 4096 KiB; a virtual disk: what lies beneath is not known; shards that are read
    in order keep the disk busy while the step computes

So does one that looks like a SCSI disk (virtio-scsi, Hyper-V, VMware): its requests are left to the host, too.

  $ cp -r virtual/sys/block/vda virtual/sys/block/sda; echo '[none] mq-deadline' > virtual/sys/block/sda/queue/scheduler
  $ gputune plan -v --root virtual --only block.scheduler --only block.read_ahead
  Changes
    block.read_ahead:sda and 1 more: 128 → 4096 KiB
        a virtual disk: what lies beneath is not known; shards that are read in order keep the disk
        busy while the step computes
  
  Not applicable
    block.scheduler:sda and 1 more: none
        requires a disk that is not virtual; the host beneath orders its requests
  
  2 changes, profile train-cpu. The effect on this host is not measured (gpubench prove measures it).

/dev/shm counts against a container's limit: both tools name half of the limit.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/container-small-shm.host small; mkdir -p small/sys/fs/cgroup
  $ echo 17179869184 > small/sys/fs/cgroup/memory.max
  $ gputune plan --root small --only mem.shm | grep -o 'shm-size=[0-9]*g'; gpuprobe --root small | grep -o 'shm-size=[0-9]*g'
  shm-size=8g
  shm-size=8g

gpuprobe judges the settings on which gputune only advises. The plan has the same finding and the same remedy.

  $ gputune plan --root $FIXTURES/vm-half-topology.host --only limits.memlock; gpuprobe --root $FIXTURES/vm-half-topology.host | grep -A 9 host.memlock
  Manual steps
    limits.memlock
        only 8.0 MiB may be locked, but mlx5_0 registers its buffers as locked memory
        Members of the group rdma may then lock all memory, at their next login:
          groupadd -f rdma && usermod -aG rdma USER
          echo '@rdma - memlock unlimited' > /etc/security/limits.d/90-rdma.conf
        A service needs LimitMEMLOCK=infinity.
  
  Nothing to change, profile train-gpu.
  Warning: host.memlock
    only 8.0 MiB may be locked, but mlx5_0 registers its buffers as locked memory
    Remedy:
      Members of the group rdma may then lock all memory, at their next login:
        groupadd -f rdma && usermod -aG rdma USER
        echo '@rdma - memlock unlimited' > /etc/security/limits.d/90-rdma.conf
      A service needs LimitMEMLOCK=infinity.
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

Advice about a setting changes no verdict.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host advised; echo 2 > advised/proc/sys/vm/overcommit_memory
  $ gpuprobe --root advised | sed -n '1p;/^Advice/,$p'; gpuprobe --root advised -v | grep overcommit
  WARNING: libblas.so.3 is openblas-pthread [host.blas]
  Advice (gputune plan has the commands):
    vm.overcommit-memory: strict overcommit (vm.overcommit_memory 2) refuses CUDA's large reservations
    of address space
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  vm.overcommit-memory advice strict overcommit (vm.overcommit_memory 2) refuses CUDA's large
  $ gputune plan --root advised --only vm.overcommit_memory
  Manual steps
    vm.overcommit_memory
        strict overcommit (vm.overcommit_memory 2) refuses CUDA's large reservations of address space
        With 0 programs may reserve more memory than there is:
          sysctl -w vm.overcommit_memory=0
        No file sets it at boot.
  
  Nothing to change, profile train-cpu.
  $ gpuprobe --root advised -f openmetrics | grep -e overcommit -e 'exit_code [0-9]'
  # HELP gpuprobe_exit_code 0 ok, 1 warning, 2 critical, 3 unknown
  gpuprobe_exit_code 1
  gpuprobe_check_status{check="vm.overcommit-memory"} 0

  $ gputune plan --root $FIXTURES/persistence-off.host --only gpu.persistence; gpuprobe --root $FIXTURES/persistence-off.host | grep -A 4 'Warning: gpu.persistence'
  Manual steps
    gpu.persistence
        persistence mode is off: the driver initialises the GPU for each job (1-3 s each) and forgets
        its settings
          apt install nvidia-persistenced && systemctl enable --now nvidia-persistenced
  
  Nothing to change, profile train-gpu.
  Warning: gpu.persistence
    persistence mode is off: the driver initialises the GPU for each job (1-3 s each) and forgets its
    settings
    Remedy:
        apt install nvidia-persistenced && systemctl enable --now nvidia-persistenced
  $ gputune explain gpu.persistence --root $FIXTURES/server-8gpu.host; gpuprobe --root $FIXTURES/server-8gpu.host -v | grep gpu.persistence
  gpu.persistence: the driver stays ready between jobs
  
    policy        C: checked and reported, never written
    takes effect  now
    judged by     gpu.persistence
  
  Why
    Without a client the driver shuts the GPU down, and the next job waits for it to start.
    nvidia-persistenced is the supported way to keep it ready.
  
  Hazard
    Reported, never written.
  
  On this host
    already; persistence mode is on
  gpu.persistence      pass   persistence mode is on

  $ gputune plan --root $FIXTURES/acs-control-words.host --only pcie.acs; gpuprobe --root $FIXTURES/acs-control-words.host | sed -n '/^Warning: pcie.acs/,/^$/p'
  Manual steps
    pcie.acs
        1 of 2 switch ports redirect: ACS of 0000:18:00.0 sends packets between GPUs and network cards
        up to the root complex and back
        Virtual machines that are given devices need ACS. Only on other hosts, as root until the next
        boot:
          setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:1d
        At every boot:
          echo 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT pci=disable_acs_redir=0000:18:00.0"' > /etc/default/grub.d/50-acs.cfg
          update-grub; reboot
  
  Nothing to change, profile train-gpu.
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
  
  $ gputune plan --root $FIXTURES/iommu-translates.host --only boot.iommu; gpuprobe --root $FIXTURES/iommu-translates.host | sed -n '/^Warning: pcie.iommu/,/^$/p'
  Manual steps
    boot.iommu
        the IOMMU translates every access of the host's own devices: copies between GPUs are slow,
        wrong or hang
        With iommu=pt the IOMMU does not protect memory from the devices of the host itself:
          echo 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"' > /etc/default/grub.d/50-iommu.cfg
          update-grub; reboot
  
  Nothing to change, profile train-gpu.
  Warning: pcie.iommu
    the IOMMU translates every access of the host's own devices: copies between GPUs are slow, wrong
    or hang
    Remedy:
      With iommu=pt the IOMMU does not protect memory from the devices of the host itself:
        echo 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"' > /etc/default/grub.d/50-iommu.cfg
        update-grub; reboot
  

The proof of a tunable is a metric of gpubench, and that workload lists the tunable. A tunable that can be switched and has
no proof gives the reason.

  $ python3 - <<'END'
  > import json, subprocess
  > def ask(*argv): return json.loads(subprocess.run(argv, capture_output=True).stdout)
  > knobs = ask("gputune", "list", "--json")["knobs"]
  > moves = {w["id"]: w["knobs"] for w in ask("gpubench", "list", "--json")["workloads"]}
  > print({k["mechanism"] for k in knobs} - set(moves) - {None})
  > print([k["id"] for k in knobs if k["mechanism"] and not any(k["id"] == m or m.endswith(".") and k["id"].startswith(m) for m in moves[k["mechanism"]])])
  > print([k["id"] for k in knobs if k["tag"] != "C" and bool(k["mechanism"]) == bool(k["unmoved"])])
  > print([(w, m) for w in moves for m in moves[w] if not any(k["id"] == m or m.endswith(".") and k["id"].startswith(m) for k in knobs)])
  > END
  set()
  []
  []
  []
