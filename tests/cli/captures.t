A virtual machine with systemd: all its CPUs and its memory are usable.

  $ gpuprobe --root $FIXTURES/systemd-vm.host | grep -v 'checks pass'
  OK: no problem found
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-50-amd64, qemu (tcg)
    QEMU TCG CPU version 2.5+: 4 cores, 4 CPUs, 2 NUMA nodes, 1.9 GiB of memory
    no NVIDIA GPU
  
  $ gputune plan --root $FIXTURES/systemd-vm.host --only vm. --only fs.
  Changes
    vm.dirty_ratio: 20 → 10 %
        half of the kernel's default: writing starts earlier, and the stall at the end is shorter
    vm.dirty_background_ratio: 10 → 5 %
        half of the kernel's default: writing starts earlier, and the stall at the end is shorter
    vm.max_map_count: 65530 → 262144 mappings
        memory-mapped shards and allocators with expandable segments use many mappings
    fs.inotify.max_user_instances: 128 → 1024 instances
        each TensorBoard, notebook and container runtime of a user needs some; 128 are too few
    fs.inotify.max_user_watches: 15238 → 524288 watches
        one per watched directory; trees of checkpoints and logs have many
    fs.aio-max-nr: 65536 → 1048576 requests
        loaders that read with libaio (DALI, DeepSpeed's NVMe offload) reserve their queues in advance
  
  Unchanged and not applicable settings are hidden (--verbose shows them).
  6 changes, profile train-cpu. The effect on this host is not measured (gpubench prove measures it).

A container: report and plan apply its limits. Settings of the kernel are read-only.

  $ gpuprobe --root $FIXTURES/podman-container.host | grep -v 'checks pass'
  WARNING: /dev/shm has only 62.5 MiB [host.shm]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-50-amd64, qemu (tcg), container
    QEMU TCG CPU version 2.5+: 4 cores, 4 CPUs, 2 NUMA nodes, 1.9 GiB of memory
    no NVIDIA GPU
  
  Warning: host.shm
    /dev/shm has only 62.5 MiB: data-loader workers and NCCL share memory through it
    Remedy:
      Start the container with more: add --shm-size=1g to docker run
  
  Warning: host.cpu-quota
    the cgroup allows 1.5 CPUs of time on 2 CPUs: with as many threads as CPUs they are throttled
    every period
    Remedy:
      Give the job a cpuset instead of a quota, or start it with gputune run, which counts the quota
  
  the kernel log was not examined
  $ gputune plan --root $FIXTURES/podman-container.host --only vm. --only fs. --only mem.
  Blocked changes
    vm.dirty_ratio: 20 → 10 %
        read-only, as in a container: set it on the host outside
    vm.dirty_background_ratio: 10 → 5 %
        read-only, as in a container: set it on the host outside
    vm.max_map_count: 65530 → 262144 mappings
        read-only, as in a container: set it on the host outside
    fs.inotify.max_user_instances: 128 → 1024 instances
        read-only, as in a container: set it on the host outside
    fs.inotify.max_user_watches: 15238 → 524288 watches
        read-only, as in a container: set it on the host outside
    fs.aio-max-nr: 65536 → 1048576 requests
        read-only, as in a container: set it on the host outside
  
  Manual steps
    mem.shm
        /dev/shm has only 62.5 MiB: data-loader workers and NCCL share memory through it
        Start the container with more: add --shm-size=1g to docker run
  
  Outside this container
    docker run, podman run:
      docker run --shm-size=1g
    Kubernetes pod:
      spec:
        containers:
        - volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes:
        - {name: shm, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
      # kubelet: cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node
      # the pod: whole CPUs with equal requests and limits; hugepages-2Mi limits for reserved huge pages
    Slurm:
      # in the script Prolog= of slurm.conf, which runs as root on the node:
      sysctl -w vm.dirty_ratio='10'
      sysctl -w vm.dirty_background_ratio='5'
      sysctl -w vm.max_map_count='262144'
      sysctl -w fs.inotify.max_user_instances='1024'
      sysctl -w fs.inotify.max_user_watches='524288'
      sysctl -w fs.aio-max-nr='1048576'
      srun --cpu-bind=cores --mem-bind=local
    As root on the host:
      gputune apply --persist --set vm.dirty_ratio='10' --set vm.dirty_background_ratio='5' --set vm.max_map_count='262144' --set fs.inotify.max_user_instances='1024' --set fs.inotify.max_user_watches='524288' --set fs.aio-max-nr='1048576'
  
  Unchanged and not applicable settings are hidden (--verbose shows them).
  Nothing to change, profile train-cpu.
  $ gputune run --root $FIXTURES/podman-container.host --print -- python3 x.py
  Profile train-cpu
    CPUs 2-3
        all allowed CPUs
    memory preferred from node 1
        preferred, not strict: if the node is full, another one is used
  
  Set
    OMP_NUM_THREADS=1
        the cgroup's quota allows 1 of 2 cores
    GOMP_SPINCOUNT=1000
        spinning uses up the cgroup's quota of CPU time
  
  Not set
    OMP_PROC_BIND
        Python forks data-loader workers, and each would inherit a single core
    LD_LIBRARY_PATH
        no libblas.so.3 is installed
    OPENBLAS_CORETYPE
        OpenBLAS must be loaded for the answer, but this root is not live
    LD_PRELOAD
        opt-in: a profile with run.allocator = on, or --allocator
    GLIBC_TUNABLES
        with less than 2 GiB of memory none should be kept, and the control group allows no more
    CUDA_DEVICE_ORDER
        no GPU that CUDA can use
    PYTORCH_CUDA_ALLOC_CONF
        no GPU that CUDA can use
    NCCL_SOCKET_IFNAME
        nothing shows that the job spans several hosts

Persistent settings leave out what is read-only there.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/podman-container.host root; gputune apply --root root --persist
  Nothing to change.
  gputune: 6 settings cannot be changed in this container: gputune plan prints the commands for its start and its host
  [3]

A capture has the directories that are read-only. The plan for it blocks the same settings as the plan for the host.

  $ frozen() { unshare -rm sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec "$@"' - "$@"; }
  $ frozen true 2>/dev/null || { echo 'nothing can be mounted here'; exit 80; }
  $ frozen gputune plan --optional --json | grep -E '"path"|"read-only here' >live
  $ frozen gpuprobe capture host.host; gputune plan --optional --json --root host.host | grep -E '"path"|"read-only here' >captured
  $ cmp live captured
