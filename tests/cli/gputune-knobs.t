All knobs, and one of them explained: purpose, risk, and state on this host.

  $ gputune list
  Applied by default:
    vm.dirty_ratio                 unwritten data (%) at which programs wait
    vm.dirty_background_ratio      unwritten data (%) at which writing starts
    vm.dirty_bytes                 unwritten bytes at which programs wait
    vm.dirty_background_bytes      unwritten bytes at which writing starts
    vm.swappiness                  how readily the kernel swaps out memory
    vm.zone_reclaim_mode           dropping cached data before using another node
    vm.max_map_count               maximum memory mappings of one process
    vm.min_free_kbytes             memory kept free for urgent requests
    kernel.pid_max                 maximum number of processes and threads
    fs.inotify.max_user_instances  maximum inotify instances of one user
    fs.inotify.max_user_watches    maximum inotify watches of one user
    fs.aio-max-nr                  maximum pending asynchronous reads and writes
    fs.file-max                    maximum open files of all programs together
    net.core.rmem_max              largest receive buffer a program may request
    net.core.wmem_max              largest send buffer a program may request
    block.scheduler                order in which a disk's requests are served
    cpu.governor                   how the CPU frequency follows the load
  
  Applied only with --optional, --only or a profile:
    vm.compaction_proactiveness    background compaction of free memory
    kernel.numa_balancing          moving pages to the node that uses them
    net.ipv4.tcp_rmem              limit of TCP's automatic receive buffer
    net.ipv4.tcp_wmem              limit of TCP's automatic send buffer
    net.core.netdev_max_backlog    received packets that may wait for a CPU
    net.core.netdev_budget         packets handled before other programs run
    net.ipv4.arp_announce          address that a port announces by ARP
    net.ipv4.arp_ignore            ARP requests that a port answers
    nfs.slots                      simultaneous requests to an NFS server
    thp.enabled                    use of huge pages: always, on request or never
    thp.defrag                     which programs wait for memory compaction
    ksm.run                        kernel thread that merges equal pages
    block.read_ahead               read-ahead of a disk for sequential readers
    cpu.platform_profile           performance profile of the firmware
    cpu.epp                        the processor's choice of speed or energy
    cpu.min_perf                   lowest frequency that intel_pstate selects
    cpu.epb                        Intel energy bias: speed (0) to energy (15)
    cpu.boost                      turbo: frequencies above the nominal one
    cpu.idle_latency               how long an idle CPU may take to wake up
    pcie.aspm                      power saving of idle PCIe links
    irq.affinity                   CPUs for interrupts of fast network ports
    gpu.persistence_mode           keep a GPU initialised without a client
    gpu.power_limit                power limit of a GPU
    gpu.clocks                     locked graphics clocks of a GPU
    gpu.memory_clocks              locked memory clocks of a GPU
    gpu.application_clocks         clocks of a GPU for compute programs
  
  Set for one command by gputune run:
    run.affinity                   binds the command to the CPUs next to its GPU
    run.mempolicy                  prefers memory of the node of the used CPUs
    run.files                      raises the limit of open files
    omp.threads                    OMP_NUM_THREADS: one per usable physical core
    omp.bind                       binds each OpenMP thread to its core
    run.blas                       openblas-openmp instead of openblas-pthread
    run.blas_kernels               OPENBLAS_CORETYPE: vector code of OpenBLAS
    omp.spin                       GOMP_SPINCOUNT: polls before a thread sleeps
    run.allocator                  preloads TCMalloc, jemalloc or mimalloc
    run.malloc                     glibc's malloc keeps large blocks
    omp.runtime                    uses the OpenMP of LLVM or Intel, not GNU's
    cuda.order                     CUDA numbers the GPUs like nvidia-smi
    cuda.segments                  PyTorch's GPU memory grows in place
    nccl.ifname                    NCCL ignores bridges of containers and VMs
    run.leftovers                  reports leftover debugging variables
    run.loader                     arguments of PyTorch's DataLoader
    run.ranks                      settings for each rank, whatever starts it
  
  Checked and reported, never changed:
    vm.overcommit_memory           strict overcommit counts reservations as used memory
    vm.nr_hugepages                a pool of huge pages reserves memory
    kernel.shmmax                  the limit of shared memory segments is low
    kernel.sched_rt_runtime_us     real-time threads can take all CPU time
    kernel.nmi_watchdog            the NMI watchdog is off
    net.core.rmem_default          the default receive buffer of sockets is large
    net.core.busy_read             readers of sockets poll the network card
    net.ipv4.tcp_window_scaling    TCP window scaling is off
    net.ipv4.tcp_timestamps        TCP timestamps are off
    thp.shmem                      small tensors in shared memory take whole huge pages
    mem.shm                        /dev/shm is too small
    limits.memlock                 the limit of locked memory is too low for RDMA
    limits.nofile                  the limit of open files is low
    irq.balance                    irqbalance moves interrupts of very fast ports
    nic.rings                      receive rings of a network port are small
    nic.queues                     a fast network port has fewer queues than cores near it
    nic.coalescing                 a fast network port does not moderate its interrupts
    nic.mtu                        a fast network port sends small frames
    nic.cloud                      a cloud instance has the slow network interface
    pcie.acs                       ACS redirects traffic between GPUs to the root complex
    pcie.read_request              the maximum read request of a fast network card is small
    pcie.relaxed_order             a network card may not reorder its memory accesses
    nvme.io_timeout                the NVMe timeout is too short for EC2
    gpu.node                       the NUMA node of a GPU is unknown
    gpu.persistence                persistence mode is off
    gpu.ecc_mode                   the ECC mode of a GPU changes at its next reset
    gpu.mig                        MIG is on without instances
    gpu.driver_options             an option of the nvidia module is harmful
    nccl.conf                      /etc/nccl.conf has debugging settings
    boot.kernel                    a real-time kernel is running
    boot.isolcpus                  isolcpus excludes CPUs from the scheduler
    boot.idle                      the command line keeps idle CPUs busy
    boot.preempt                   the kernel is fully preemptible
    boot.init_on_free              the kernel clears freed memory
    boot.iommu                     the IOMMU translates accesses of the host's own devices
  
  Details: gputune explain NAME
  $ gputune explain vm.dirty_bytes --root $FIXTURES/cpu-server-512g.host
  vm.dirty_bytes: unwritten bytes at which programs wait
  
    policy        applied by default
    file          /proc/sys/vm/dirty_bytes
    unit          bytes
    range         16777216 to 1/2 of memory in bytes
    operation     lowered only, never raised
    takes effect  now
    counterpart   /proc/sys/vm/dirty_ratio
    requires      128 GiB of memory or more (smaller hosts use the knob in percent); a value other
                  than 0, in percent or in bytes; the file is writable (it is read-only in a
                  container)
    persisted in  /etc/sysctl.d/90-gputune.conf
    measured by   file.writeback
  
  Why
    Programs write files to memory first. At the background limit, the kernel starts to write this
    data to disk. At the other limit, it makes the program wait. A checkpoint above that limit stalls
    the step that saves it. The percentage is of available memory: with 1 TB, the default of 20 is 200
    GB, which takes minutes to write.
  
  Hazard
    If it is too low, each checkpoint is limited to the speed of the disk. Other tools disagree: tuned
    uses 40 for throughput and 10 for latency. gputune only lowers the value. To compare a percentage
    with bytes, it takes the percentage of all memory.
  
  On this host
    change, 0 → 16 GiB; writing 16 GiB takes 6 s, 20 percent of memory up to 37 s (NVMe disk; assuming
    3 GB/s)
  $ gputune explain block.read_ahead --root $FIXTURES/cpu-server.host | tail -3
    the computation
    sda: change, 128 → 8192 KiB; a spinning disk: fewer seeks between readers; shards that are read in
    order keep the disk busy during the computation
  $ gputune explain run.allocator --root $FIXTURES/cpu-server.host | head -8
  run.allocator: preloads TCMalloc, jemalloc or mimalloc
  
    policy        set for one command by gputune run
    unit          environment
    takes effect  new processes
    measured by   alloc
  
  Why
  $ gputune explain vm.drop_caches
  gputune does not change vm.drop_caches. It is an action, not a setting: it discards the cached data
  set.
  $ gputune explain GLIBC_TUNABLES | head -3
  GLIBC_TUNABLES belongs to this knob:
  
  run.malloc: glibc's malloc keeps large blocks
  $ gputune explain vm.drop_caches --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["settings"])'
  [{'name': 'vm.drop_caches', 'knob': None, 'why_not': 'It is an action, not a setting: it discards the cached data set.'}]
  $ gputune explain nonsense
  gputune: there is no knob 'nonsense'; gputune list shows them
  [64]
  $ gputune explain vm.swapiness
  gputune: there is no knob 'vm.swapiness'; did you mean vm.swappiness?
  [64]
  $ gputune explain env.GLIBC_TUNABLES | head -1
  GLIBC_TUNABLES belongs to this knob:
  $ gputune list --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], len(d["knobs"]) > 60, all(k["why"] and k["hazard"] for k in d["knobs"]))'
  gputune-knobs/1 True True

A virtual disk reports itself as rotational by default, whatever its backing store.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host virtual
  $ echo 1 > virtual/sys/block/vda/queue/rotational; echo 128 > virtual/sys/block/vda/queue/read_ahead_kb
  $ gputune explain block.read_ahead --root virtual | tail -2
    vda: change, 128 → 4096 KiB; a virtual disk of unknown type; shards that are read in order keep
    the disk busy during the computation

So does one that looks like a SCSI disk (virtio-scsi, Hyper-V, VMware): its requests are left to the host, too.

  $ cp -r virtual/sys/block/vda virtual/sys/block/sda; echo '[none] mq-deadline' > virtual/sys/block/sda/queue/scheduler
  $ gputune plan -v --root virtual --only block.scheduler --only block.read_ahead
  Changes
    block.read_ahead:sda and 1 more: 128 → 4096 KiB
        a virtual disk of unknown type; shards that are read in order keep the disk busy during the
        computation
  
  Not applicable
    block.scheduler:sda and 1 more: none
        requires a disk that is not virtual (for a virtual one the host below orders the requests)
  
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
          echo '@rdma - memlock unlimited' | sudo tee /etc/security/limits.d/90-rdma.conf
          sudo groupadd -f rdma && sudo usermod -aG rdma "$USER"
        A service needs LimitMEMLOCK=infinity.
  
  Nothing to change, profile train-gpu.
  Warning: host.memlock
    only 8.0 MiB may be locked, but mlx5_0 registers its buffers as locked memory
    Remedy:
      Members of the group rdma may then lock all memory, at their next login:
        echo '@rdma - memlock unlimited' | sudo tee /etc/security/limits.d/90-rdma.conf
        sudo groupadd -f rdma && sudo usermod -aG rdma "$USER"
      A service needs LimitMEMLOCK=infinity.
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined

Advice about a setting changes no verdict.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host advised; echo 2 > advised/proc/sys/vm/overcommit_memory
  $ gpuprobe --root advised | sed -n '1p;/^Advice/,$p'; gpuprobe --root advised -v | grep overcommit
  WARNING: the threads of OpenBLAS compete with OpenMP for the same cores [host.blas]
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
  gpu.persistence: persistence mode is off
  
    policy        checked and reported, never changed
    takes effect  now
    checked by    gpu.persistence
  
  Why
    If no program uses the GPU, the driver shuts it down, and the next job waits until it has started
    again. nvidia-persistenced keeps it initialised.
  
  On this host
    already; persistence mode is on
  gpu.persistence      pass   persistence mode is on

ECC is reported: its mode, and a mode that changes at the next reset.

  $ for ecc in '"ecc": 1, "ecc_pending": 1' '"ecc": 0, "ecc_pending": 0' '"ecc": 1, "ecc_pending": 0'; do
  >   sed "s/\"arch\": 90/&, $ecc/" $FIXTURES/server-8gpu.host > ecc.host; gpuprobe --root ecc.host -v | grep '^gpu.ecc-mode'; done
  gpu.ecc-mode         pass   ECC is on
  gpu.ecc-mode         pass   ECC is off
  gpu.ecc-mode         warn   ECC of GPU 0000:17:00.0 will be switched off at its next reset
  $ sed '0,/"arch": 90/s//&, "ecc": 1, "ecc_pending": 1/; s/"arch": 90}/"arch": 90, "ecc": 0}/' $FIXTURES/server-8gpu.host > ecc.host
  $ gputune plan --root ecc.host --only gpu.ecc_mode -v
  Unchanged
    gpu.ecc_mode
        ECC is on for 1 of 2 GPUs
  
  Nothing to change, profile train-gpu.

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
