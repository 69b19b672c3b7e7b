All knobs, and one of them explained: what it is for, when it harms, and what it is on this host.

  $ gputune list
  KNOB                          TAG TAKES EFFECT  WHAT
  vm.dirty_ratio                A   now           unwritten data at which writers must wait
  vm.dirty_background_ratio     A   now           unwritten data at which the kernel starts writing
  vm.dirty_bytes                A   now           unwritten data at which writers must wait, large
                                                  hosts
  vm.dirty_background_bytes     A   now           unwritten data at which the kernel starts writing,
                                                  large hosts
  vm.swappiness                 A   now           how readily a program's memory is swapped out
  vm.zone_reclaim_mode          A   now           drop near page cache before using far memory
  vm.max_map_count              A   now           memory mappings that one process may have
  vm.min_free_kbytes            A   now           memory that is kept free for requests that cannot
                                                  wait
  vm.compaction_proactiveness   B   now           how much free memory is compacted in the background
  vm.overcommit_memory          C   now           reservations do not count as used memory
  vm.nr_hugepages               C   now           no memory is set aside as a pool of huge pages
  kernel.numa_balancing         B   now           moving pages to the node that uses them
  kernel.pid_max                A   now           processes and threads that may exist at once
  kernel.shmmax                 C   now           shared memory segments have no low limit
  kernel.sched_rt_runtime_us    C   now           real-time threads leave some time to others
  kernel.nmi_watchdog           C   now           an interrupt per CPU finds a kernel that hangs
  fs.inotify.max_user_instances A   now           programs of one user that may watch files
  fs.inotify.max_user_watches   A   now           files and directories that one user may watch
  fs.aio-max-nr                 A   new processes asynchronous reads and writes that may be under way
  fs.file-max                   A   now           files that all programs together may have open
  net.core.rmem_max             A   now           largest receive buffer a program may ask for
  net.core.wmem_max             A   now           largest send buffer a program may ask for
  net.ipv4.tcp_rmem             B   now           how large TCP's receive buffer may grow
  net.ipv4.tcp_wmem             B   now           how large TCP's send buffer may grow
  net.core.netdev_max_backlog   B   now           packets that may wait for a CPU to take them
  net.core.netdev_budget        B   now           packets that a CPU takes before it lets others run
  net.ipv4.arp_announce         B   now           which address a port announces
  net.ipv4.arp_ignore           B   now           for which addresses a port answers
  nfs.slots                     B   new devices   requests that NFS sends before it waits for answers
  net.core.rmem_default         C   now           sockets have small receive buffers by default
  net.core.busy_read            C   now           readers of sockets sleep until data comes
  net.ipv4.tcp_window_scaling   C   now           TCP's windows may be larger than 64 KiB
  net.ipv4.tcp_timestamps       C   now           TCP's packets carry the time
  thp.enabled                   B   new processes huge pages without being asked, on request, or never
  thp.defrag                    B   now           who waits for memory to be compacted into huge pages
  thp.shmem                     C   now           small tensors in shared memory take no huge page
  ksm.run                       B   now           a kernel thread that merges equal pages
  block.scheduler               A   now           the order in which a disk's requests are served
  block.read_ahead              B   now           how far ahead of a sequential reader a disk is read
  cpu.platform_profile          B   now           what the firmware is asked for: quiet, balanced or
                                                  fast
  cpu.governor                  A   now           how CPU frequency follows the load
  cpu.epp                       B   now           what the processor itself prefers: speed or energy
  cpu.min_perf                  B   now           lowest frequency that intel_pstate goes to
  cpu.epb                       B   now           what Intel processors weigh: speed (0) or energy
                                                  (15)
  cpu.boost                     B   now           frequencies above the nominal one
  cpu.idle_latency              B   now           how long an idle CPU may take to wake
  pcie.aspm                     B   now           whether idle PCIe links fall asleep
  irq.affinity                  B   now           fast network ports interrupt the CPUs of their own
                                                  node
  mem.shm                       C   now           /dev/shm has room for workers
  limits.memlock                C   new processes RDMA may lock memory
  limits.nofile                 C   new processes a process may have many open files
  irq.balance                   C   now           irqbalance moves no interrupts of very fast ports
  nic.rings                     C   now           network ports find a buffer for each frame
  nic.queues                    C   now           fast network ports have a queue per core near them
  nic.mtu                       C   now           fast network ports send large frames
  pcie.acs                      C   after reboot  GPUs below one switch talk directly
  pcie.read_request             C   now           fast network cards read much at once
  nvme.io_timeout               C   after reboot  on EC2 a request to an NVMe disk may take long
  gpu.node                      C   after reboot  the NUMA node of every GPU is known
  gpu.persistence               C   now           the driver stays ready between jobs
  gpu.driver_options            C   after reboot  NVIDIA's module has no option of a recipe that harms
  nccl.conf                     C   new processes /etc/nccl.conf sets nothing for debugging
  boot.kernel                   C   after reboot  an ordinary kernel, not a real-time one
  boot.isolcpus                 C   after reboot  the scheduler balances all CPUs
  boot.idle                     C   after reboot  idle CPUs rest
  boot.preempt                  C   after reboot  the kernel seldom interrupts its own work
  boot.init_on_free             C   after reboot  freed memory is not cleared a second time
  boot.iommu                    C   after reboot  the IOMMU lets the host's own devices pass
  run.affinity                  R   new processes the CPUs a command may use: next to its GPU, no
                                                  isolated ones, no small cores
  run.mempolicy                 R   new processes memory from the node whose CPUs are used, as long as
                                                  it has any
  run.files                     R   new processes as many open files as the user may have
  omp.threads                   R   new processes OMP_NUM_THREADS: one per physical core that may be
                                                  used
  omp.bind                      R   new processes OMP_PLACES and OMP_PROC_BIND: each OpenMP thread
                                                  stays on its core
  run.blas                      R   new processes openblas-openmp where the host's choice is
                                                  openblas-pthread
  run.blas_kernels              R   new processes OPENBLAS_CORETYPE where OpenBLAS takes this
                                                  processor for a much older one
  omp.spin                      R   new processes GOMP_SPINCOUNT: how long a waiting OpenMP thread
                                                  keeps its core busy
  run.allocator                 R   new processes preload TCMalloc, jemalloc or mimalloc
  run.malloc                    R   new processes glibc's malloc keeps large blocks, in huge pages
  omp.runtime                   R   new processes LLVM's or Intel's OpenMP in place of GNU's
  cuda.order                    R   new processes CUDA numbers the GPUs as nvidia-smi does
  cuda.segments                 R   new processes PyTorch's GPU memory grows in place
  nccl.ifname                   R   new processes NCCL does not try bridges that lead to no other host
  run.leftovers                 R   new processes debugging variables that were left behind are
                                                  pointed out
  
  A by default, B by choice (--optional or --only), C checked and reported only, R per run (gputune
  run)
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
    change, 0 to 17179869184; 16 GiB is 6 s of writing at 3 GB/s, as an NVMe disk does; 20 percent of
    memory is up to 37 s
  $ gputune explain block.read_ahead --root $FIXTURES/cpu-server.host | tail -3
    while the step computes
    sda: change, 128 to 8192; a spinning disk: fewer seeks between readers; shards that are read in
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

A virtual disk calls itself rotational by default, which says nothing of what lies beneath.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host virtual
  $ echo 1 > virtual/sys/block/vda/queue/rotational; echo 128 > virtual/sys/block/vda/queue/read_ahead_kb
  $ gputune explain block.read_ahead --root virtual | tail -2
    vda: change, 128 to 4096; a virtual disk: what lies beneath is not known; shards that are read in
    order keep the disk busy while the step computes

So does one that looks like a SCSI disk (virtio-scsi, Hyper-V, VMware): its requests are left to the host beneath, too.

  $ cp -r virtual/sys/block/vda virtual/sys/block/sda; echo '[none] mq-deadline' > virtual/sys/block/sda/queue/scheduler
  $ gputune plan -v --root virtual --only block.scheduler --only block.read_ahead
  To be changed
    block.read_ahead:sda and 1 alike: 128 to 4096
        a virtual disk: what lies beneath is not known; shards that are read in order keep the disk
        busy while the step computes
  
  Not for this host
    block.scheduler:sda and 1 alike: none
        requires a disk that is not virtual; the host beneath orders its requests
  
  2 changes, profile train-cpu. Unmeasured on this host; gputune explain KNOB says more.

Room in /dev/shm counts against a container's limit: half of that is what both tools name.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/container-small-shm.host small; mkdir -p small/sys/fs/cgroup
  $ echo 17179869184 > small/sys/fs/cgroup/memory.max
  $ gputune plan --root small --only mem.shm | grep -o 'shm-size=[0-9]*g'; gpuprobe --root small | grep -o 'shm-size=[0-9]*g'
  shm-size=8g
  shm-size=8g

gpuprobe judges what gputune only advises. The plan has the same finding and the same remedy.

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
        persistence mode is off: the driver starts the GPU anew for each job (1-3 s each) and forgets
        its settings
          apt install nvidia-persistenced && systemctl enable --now nvidia-persistenced
  
  Nothing to change, profile train-gpu.
  Warning: gpu.persistence
    persistence mode is off: the driver starts the GPU anew for each job (1-3 s each) and forgets its
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
  

What a knob says must move is something that gpubench measures, and that workload knows the knob; a knob that can be switched
and moves none says why.

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
