All knobs, and one of them explained: what it is for, when it harms, and what it is on this host.

  $ gputune list
  KNOB                      TAG TAKES EFFECT  WHAT
  vm.dirty_ratio            A   now           unwritten data at which writers must wait
  vm.dirty_background_ratio A   now           unwritten data at which the kernel starts writing
  vm.dirty_bytes            A   now           unwritten data at which writers must wait, large hosts
  vm.dirty_background_bytes A   now           unwritten data at which the kernel starts writing, large
                                              hosts
  vm.swappiness             A   now           how readily a program's memory is swapped out
  vm.zone_reclaim_mode      A   now           drop near page cache before using far memory
  vm.max_map_count          A   now           memory mappings that one process may have
  vm.overcommit_memory      C   now           whether reservations count as used memory
  kernel.numa_balancing     B   now           moving pages to the node that uses them
  net.core.rmem_max         A   now           largest receive buffer a program may ask for
  net.core.wmem_max         A   now           largest send buffer a program may ask for
  thp.enabled               B   new processes huge pages without being asked, on request, or never
  thp.defrag                B   now           who waits for memory to be compacted into huge pages
  block.scheduler           A   now           the order in which a disk's requests are served
  block.read_ahead          B   now           how far ahead of a sequential reader a disk is read
  cpu.governor              A   now           how CPU frequency follows the load
  run.affinity              R   new processes the CPUs a command may use: next to its GPU, no isolated
                                              ones, no small cores
  run.mempolicy             R   new processes memory from the node whose CPUs are used, as long as it
                                              has any
  omp.threads               R   new processes OMP_NUM_THREADS: one per physical core that may be used
  omp.bind                  R   new processes OMP_PLACES and OMP_PROC_BIND: each OpenMP thread stays
                                              on its core
  run.blas                  R   new processes openblas-openmp where the host's choice is
                                              openblas-pthread
  omp.spin                  R   new processes GOMP_SPINCOUNT: how long a waiting OpenMP thread keeps
                                              its core busy
  run.allocator             R   new processes preload TCMalloc, jemalloc or mimalloc
  run.malloc                R   new processes glibc's malloc keeps large blocks, in huge pages
  omp.runtime               R   new processes LLVM's or Intel's OpenMP in place of GNU's
  cuda.order                R   new processes CUDA numbers the GPUs as nvidia-smi does
  cuda.segments             R   new processes PyTorch's GPU memory grows in place
  nccl.ifname               R   new processes NCCL does not try bridges that lead to no other host
  run.leftovers             R   new processes debugging variables that were left behind are pointed
                                              out
  
  A by default, B by choice (--optional or --only), C checked and reported only, R per run (gputune run)
  $ gputune explain vm.dirty_bytes --root $FIXTURES/cpu-server-512g.host
  vm.dirty_bytes: unwritten data at which writers must wait, large hosts
  
    policy        A: applied by default
    file          /proc/sys/vm/dirty_bytes
    unit          bytes
    operation     lowered only, never raised
    takes effect  now
    counterpart   /proc/sys/vm/dirty_ratio
    persisted in  /etc/sysctl.d/90-gputune.conf
    must move     no workload of gpubench measures it yet
  
  Why
    Beyond this much unwritten data the kernel makes the writer itself wait for the disk (background:
    starts writing). A checkpoint larger than that stalls the step that saves it. The percentage is of
    available memory: on a host with a terabyte the default of 20 is 200 GB, minutes of writing in one
    go.
  
  Hazard
    Too low, and each checkpoint is throttled to the disk's speed; peers point both ways (tuned: 40
    for throughput, 10 for latency). Only lowered here, never raised.
  
  On this host
    change, 0 to 17179869184; a few seconds of writing to fast local disks, whatever the size of
    memory
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
  $ gputune explain nonsense
  gputune: there is no knob 'nonsense'; gputune list shows them
  [64]
  $ gputune list --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], len(d["knobs"]), all(k["why"] and k["hazard"] for k in d["knobs"]))'
  gputune-knobs/1 29 True

What a knob says must move is something that gpubench measures.

  $ gputune list --json | python3 -c 'import json, subprocess, sys; have = {w["id"] for w in json.loads(subprocess.run(["gpubench", "list", "--json"], capture_output=True).stdout)["workloads"]}; print({k["mechanism"] for k in json.load(sys.stdin)["knobs"]} - have - {None})'
  set()
