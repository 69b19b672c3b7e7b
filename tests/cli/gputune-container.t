In a container, the plan separates what can be changed here from what the start or the host of the container sets.

  $ inside() { cat $FIXTURES/$1.host; printf 'file /proc/sys/net/ipv4/tcp_rmem\n\t4096 131072 6291456\nfile /.facts/read_only\n\t/proc/sys/kernel\n\t/proc/sys/net\n\t/proc/sys/vm\n\t/sys\n'; }
  $ inside rdma-memlock >job.host
  $ gputune plan --root job.host --only vm.max_map_count --only net.ipv4.tcp_rmem --only limits.memlock --only thp.enabled --set thp.enabled=always
  Blocked changes
    vm.max_map_count: 65530 → 524288 mappings
        read-only, as in a container: set it on the host outside
    thp.enabled: madvise → always
        read-only, as in a container: set it on the host outside
  
  Manual steps
    limits.memlock
        only 8.0 MiB may be locked, but mlx5_0 registers its buffers as locked memory
        Members of the group rdma may then lock all memory, at their next login:
          echo '@rdma - memlock unlimited' | sudo tee /etc/security/limits.d/90-rdma.conf
          sudo groupadd -f rdma && sudo usermod -aG rdma "$USER"
        A service needs LimitMEMLOCK=infinity.
  
  Outside this container
    docker run, podman run:
      docker run --ulimit memlock=-1 --cpuset-cpus=0-15,32-47 --cpuset-mems=0
    Kubernetes pod:
      # limits: LimitMEMLOCK=infinity and LimitNOFILE=1048576 in the unit of containerd on the node
      # kubelet: cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node
      # the pod: whole CPUs with equal requests and limits; hugepages-2Mi limits for reserved huge pages
    Slurm:
      # in the script Prolog= of slurm.conf, which runs as root on the node:
      sysctl -w vm.max_map_count='524288'
      echo 'always' > /sys/kernel/mm/transparent_hugepage/enabled
      srun --cpu-bind=cores --mem-bind=local
      # slurm.conf: PropagateResourceLimitsExcept=MEMLOCK, and LimitMEMLOCK=infinity in slurmd.service
    systemd unit that starts the container:
      [Service]
      LimitMEMLOCK=infinity
      CPUAffinity=0-15,32-47
      NUMAPolicy=bind
      NUMAMask=0
    As root on the host:
      gputune apply --persist --set vm.max_map_count='524288' --set thp.enabled='always'
  
  Unchanged and not applicable settings are hidden (--verbose shows them).
  Nothing to change, profile train-gpu.
  $ inside server-8gpu >fast.host; gputune plan --root fast.host --only net.ipv4.tcp_rmem | sed -n '/Blocked/,/requests/p'
  Blocked changes
    net.ipv4.tcp_rmem: 4 KiB, 128 KiB, 6 MiB → 4 KiB, 128 KiB, 64 MiB
        read-only in this container: its start sets it
  
  Outside this container
    docker run, podman run:
      docker run --sysctl net.ipv4.tcp_rmem='4096 131072 67108864'
    Kubernetes pod:
      spec:
        securityContext:
          sysctls:
          - {name: net.ipv4.tcp_rmem, value: "4096 131072 67108864"}
      # kubelet: cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node
      # the pod: whole CPUs with equal requests and limits; hugepages-2Mi limits for reserved huge pages
  $ gputune plan --root job.host --only vm.max_map_count --json | grep -A3 '"host": \['
      "host": [
        "gputune apply --persist --set vm.max_map_count='524288'"
      ]
    }
  $ gputune plan --root $FIXTURES/rdma-memlock.host --only vm.max_map_count | grep -c Outside
  0
  [1]

apply changes the rest, refuses these with one sentence, and exits with 3.

  $ $BUILDDIR/tests/cli/unpack job.host root; chmod -R u+w root; gputune apply --root root --only vm.max_map_count
  Nothing to change.
  gputune: 1 setting cannot be changed in this container: gputune plan prints the commands for its start and its host
  [3]
  $ gputune apply --root root --only vm.max_map_count --set vm.max_map_count=999999
  gputune: vm.max_map_count: read-only, as in a container: set it on the host outside; nothing is changed
  [3]

A user of a container who is not root (docker run --user) sees the same.

  $ [ $(id -u) = 0 ] && unshare -m true 2>/dev/null || { echo 'only root can mount'; exit 80; }
  $ copy=$(mktemp -d /tmp/gputune.XXXXXX); cp $(command -v gputune) $copy; chmod 755 $copy
  $ unshare -m sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' - \
  >   $copy/gputune plan --only vm.max_map_count --set vm.max_map_count=999999 | sed -n 's/:.*→/: →/; /Blocked/,/read-only/p'
  Blocked changes
    vm.max_map_count: → 999999 mappings
        read-only, as in a container: set it on the host outside
  $ rm -r $copy

A user namespace without a container runtime: the kernel's settings belong to root outside, those of its own network to its root.

  $ [ $(id -u) = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urnm true 2>/dev/null || { echo 'no user namespaces here'; exit 80; }
  $ copy=$(mktemp -d /tmp/gputune.XXXXXX); cp $(command -v gputune) $copy; chmod 755 $copy
  $ box() { setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urnm sh -c 'mount -t tmpfs none /var/lib && exec "$@"' - $copy/gputune "$@"; }
  $ box apply --only vm.max_map_count --set vm.max_map_count=999999
  gputune: vm.max_map_count: read-only, as in a container: set it on the host outside; nothing is changed
  [3]
  $ box apply --only net.ipv4.arp_ignore --set net.ipv4.arp_ignore=1
  gputune: net.ipv4.arp_ignore: requires two or more ports of 25 Gbit/s or more; nothing is changed
  [3]
  $ rm -r $copy
