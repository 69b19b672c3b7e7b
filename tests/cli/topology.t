Nodes, CPUs and devices of all kinds of trees: no wrong number, no false warning, and termination in every case.

Node 1 has the last CPUs, so hwloc's order differs from the node numbers. Distances belong to the node of their row and
column.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/nodes-out-of-order.host tree
  $ gpuprobe topo --root tree | sed -n 1,5p
  NODE CPUS     MEMORY TO 0 TO 1 TO 2 TO 3
     0 0-1    64.0 GiB   10   21   11   31
     1 4-5    64.0 GiB   21   10   12   41
     2 2-3    64.0 GiB   11   12   10   51
     3 (none) 16.0 GiB   31   41   51   10
  $ gpuprobe topo --json --root tree > one.json; gpuprobe topo --json --root $FIXTURES/nodes-out-of-order.host | diff one.json - && echo same
  same

A capture of the tree has the same nodes.

  $ gpuprobe capture tree.host --root tree; gpuprobe topo --json --root tree.host | diff one.json - && echo same
  same

Nodes without CPUs are no contradiction, although hwloc hides them or assigns them the CPUs of their neighbours.

  $ for f in nodes-out-of-order power9-gpu-nodes cpuless-node arm-gh200; do
  >   rm -rf tree; $BUILDDIR/tests/cli/unpack $FIXTURES/$f.host tree; gpuprobe --root tree --verbose | grep host.topology; done
  host.topology        pass   NUMA nodes, CPUs and devices are consistent
  host.topology        pass   NUMA nodes, CPUs and devices are consistent
  host.topology        pass   NUMA nodes, CPUs and devices are consistent
  host.topology        pass    NUMA nodes, CPUs and devices are consistent

A CPU in two nodes is a contradiction.

  $ rm -rf tree; $BUILDDIR/tests/cli/unpack $FIXTURES/nodes-out-of-order.host tree
  $ echo 1,4-5 > tree/sys/devices/system/node/node1/cpulist; gpuprobe --root tree --verbose | grep -A2 '^Warning:'
  Warning: host.topology
    nodes 0 and 1 overlap: both contain the CPUs 1
    Remedy:

A node without memory has none; that differs from unknown.

  $ rm -rf tree; $BUILDDIR/tests/cli/unpack $FIXTURES/nodes-out-of-order.host tree
  $ echo 'Node 1 MemTotal:       0 kB' > tree/sys/devices/system/node/node1/meminfo; rm tree/sys/devices/system/node/node2/meminfo
  $ gpuprobe topo --root tree | sed -n 1,5p
  NODE CPUS     MEMORY TO 0 TO 1 TO 2 TO 3
     0 0-1    64.0 GiB   10   21   11   31
     1 4-5         0 B   21   10   12   41
     2 2-3           ?   11   12   10   51
     3 (none) 16.0 GiB   31   41   51   10

A kernel without the lists: the CPUs are counted from their directories, and masks contain the threads of a core and the
CPUs of a node.

  $ rm -rf tree; $BUILDDIR/tests/cli/unpack $FIXTURES/laptop-no-gpu.host tree
  $ find tree/sys/devices/system -name '*_list' -delete; rm tree/sys/devices/system/cpu/online tree/sys/devices/system/node/online
  $ rm tree/sys/devices/system/node/node0/cpulist; gpuprobe --root tree | sed -n 3p
    Made-up laptop CPU: 4 cores, 8 CPUs, 1 NUMA node, 16.0 GiB of memory
  $ gputune run --root tree --print -- python3 x.py | grep -A1 OMP_NUM_THREADS
    OMP_NUM_THREADS=4
        one per physical core
  $ echo 0 > tree/sys/devices/system/cpu/cpu7/online; gpuprobe --root tree | sed -n 3p
    Made-up laptop CPU: 4 cores, 7 CPUs, 1 NUMA node, 16.0 GiB of memory
  $ rm -r tree/sys/devices/system/cpu; gpuprobe --root tree | sed -n 3p
    Made-up laptop CPU: an unknown number of CPUs, 1 NUMA node, 16.0 GiB of memory
  $ gputune run --root tree --print -- python3 x.py | grep -A1 'CPUs\|OMP_NUM_THREADS'
    CPUs unchanged
        the CPUs of this host are unknown: nothing is bound
    memory unchanged
  --
    OMP_NUM_THREADS
        the number of CPUs is unknown
    OMP_PROC_BIND
  $ seq -f 'cpu%g 1 2 3 4' 0 5 > tree/proc/stat; gpuprobe --root tree | sed -n 3p
    Made-up laptop CPU: 6 cores, 6 CPUs, 1 NUMA node, 16.0 GiB of memory

DGX Spark: the kernel marks small cores by their capacity. The others get the threads.

  $ gpuprobe --root $FIXTURES/dgx-spark.host | sed -n 3p
    ARM Cortex-A725 + ARM Cortex-X925: 20 cores, 20 CPUs, 1 NUMA node, 120 GiB of memory
  $ gpuprobe --json --root $FIXTURES/dgx-spark.host | grep efficiency
        "efficiency_cores": "0-4,10-14",
  $ gputune run --root $FIXTURES/dgx-spark.host --print -- python3 x.py | grep -A1 'CPUs\|OMP_NUM_THREADS'
    CPUs 5-9,15-19
        the allowed CPUs without isolated and efficiency cores
    memory unchanged
  --
    OMP_NUM_THREADS=10
        one per physical core

A ConnectX-3 is "other network controller" for PCI. It counts as a network card, and its switch is examined.

  $ sed 's/0x020700/0x028000/; s/0x1021/0x1003/' $FIXTURES/acs-below-switch.host > cx3.host
  $ gpuprobe topo --root cx3.host | sed 's/ *$//'
  NODE CPUS  MEMORY TO 0
     0 0-15 128 GiB   10
  
  NAME DEVICE       NODE NEAR CPUS LINK        CALLED
  GPU0 0000:19:00.0    0 0-15      x16 16 GT/s
  NIC0 0000:1a:00.0    0 0-15      x16 16 GT/s
  
       GPU0 NIC0
  GPU0 X    PIX
  NIC0 PIX  X
  X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several switches,
  PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown
  $ gpuprobe --root cx3.host | grep -A2 '^Warning:'
  Warning: pcie.acs
    1 pair of a GPU and a network card below one PCIe switch in separate IOMMU groups: ACS sends their
    packets to the root complex and back

A kernel that has only the mask of the CPUs next to a device.

  $ rm -rf tree; $BUILDDIR/tests/cli/unpack $FIXTURES/server-8gpu.host tree; find tree -name local_cpulist -printf '%h\n' | while read d; do
  >   rm $d/local_cpulist; echo 0000ffff,0000ffff > $d/local_cpus; done
  $ gpuprobe topo --json --root tree | grep local_cpulist | sort | uniq -c
        8       "local_cpulist": "0-15,32-47",
        1     "0000:37:00.0 is on node 1 (CPUs 16-31,48-63), but its local_cpulist is 0-15,32-47",
        1     "0000:3f:00.0 is on node 1 (CPUs 16-31,48-63), but its local_cpulist is 0-15,32-47",
        1     "0000:47:00.0 is on node 1 (CPUs 16-31,48-63), but its local_cpulist is 0-15,32-47",
        1     "0000:4f:00.0 is on node 1 (CPUs 16-31,48-63), but its local_cpulist is 0-15,32-47"

A FIFO, a device and a link to one in place of files that a library would open by itself.

  $ rm -rf tree; $BUILDDIR/tests/cli/unpack $FIXTURES/nodes-out-of-order.host tree; rm tree/proc/cpuinfo; mkfifo tree/proc/cpuinfo
  $ commands() { for c in 'gpuprobe check' 'gpuprobe topo' 'gpuprobe capture /dev/null' 'gputune plan' 'gputune status' 'gputune run --print --root tree -- true'; do
  >   case $c in *run*) timeout 20 $c ;; *) timeout 20 $c --root tree ;; esac > /dev/null 2>&1; [ $? -eq 124 ] && echo "$c does not end"; done; true; }
  $ commands
  $ rm tree/proc/cpuinfo; ln -s /dev/zero tree/proc/cpuinfo; commands
  $ find tree/sys/devices/system tree/proc -type f | while read f; do rm $f; mkfifo $f; done; commands
