Bad input of every kind gives a finding or one sentence; never a crash, never a wrong "ok".

A host on which every file is unreadable is unknown, not ok.

  $ sed -n 's/^\(file\|bare\|hex \) *\([^ ]*\).*/deny \2 EACCES/p; /^link /p; /^dir /p' $FIXTURES/server-8gpu.host | grep -v /.facts/ | sed '1i gpuprobe-capture/1' > denied.host
  $ gpuprobe --root denied.host; gpuprobe --root denied.host --require-gpu -q; echo "ends with $?"
  WARNING: /dev/shm is absent [host.shm]
    unknown distribution, kernel ?
    unknown CPU: an unknown number of CPUs, 2 NUMA nodes, an unknown amount of memory
    whether there is an NVIDIA GPU is not known
  
  Warning: host.shm
    /dev/shm is absent
  
  Unknown:
    gpu.present: the PCI bus cannot be read; it is unknown whether there is an NVIDIA GPU
    kernel.preempt-rt: the kernel release is unreadable
    host.cpu-features: the features of the CPU cannot be read
    host.memory: the amount of memory cannot be read (unreadable)
    host.numa-balancing: /proc/sys/kernel/numa_balancing cannot be read
    host.cpu-quota: the number of CPUs cannot be read
    vm.overcommit-memory: the value of vm.overcommit_memory is unreadable
    limits.nofile: the limit of open files is unreadable
    boot.isolcpus: the kernel's command line is unreadable
    boot.idle: the kernel's command line is unreadable
    boot.preempt: the kernel's command line is unreadable
    boot.init-on-free: the kernel's command line is unreadable
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  WARNING: /dev/shm is absent [host.shm]
  ends with 1

A processor description of one line of a megabyte, 4096 processors in one mask, and cyclic links in /sys.

  $ mkdir -p big/proc/sys/kernel big/sys/devices/system/cpu big/sys/devices/system/node/node0 big/sys/bus/pci/devices big/sys/class/net big/etc
  $ echo 6.1.0-41-amd64 > big/proc/sys/kernel/osrelease
  $ python3 -c 'print("processor\t: 0\nflags\t\t: " + "x" * (1 << 20) + " avx2\nmodel name\t: " + "y" * (1 << 20))' > big/proc/cpuinfo
  $ echo 0-4095 > big/sys/devices/system/cpu/online; echo 0-4095 > big/sys/devices/system/node/node0/cpulist
  $ python3 -c 'print(",".join(["ffffffff"] * 128))' > big/sys/devices/system/node/node0/cpumap; echo 0 > big/sys/devices/system/node/online
  $ ln -s 0000:01:00.0 big/sys/bus/pci/devices/0000:00:00.0; ln -s 0000:00:00.0 big/sys/bus/pci/devices/0000:01:00.0; ln -s . big/sys/class/net/eth0
  $ ln -s ../../../../sys big/sys/devices/system/node/node0/loop
  $ timeout 20 gpuprobe --root big > out 2> err; echo "ends with $?"; sed -n 1,4p out | cut -c 1-60; wc -l < err
  ends with 1
  WARNING: /dev/shm is absent [host.shm]
    unknown distribution, kernel 6.1.0-41-amd64
    unknown CPU: 4096 cores, 4096 CPUs, 1 NUMA node, an unknow
    no NVIDIA GPU
  0
  $ timeout 20 gpuprobe topo --root big | head -n 3 | cut -c 1-70
  NODE CPUS   MEMORY TO 0
     0 0-4095      ?   10
  

Unterminated lines, invalid numbers, missing nodes.

  $ echo 0-99999999999 > big/sys/devices/system/cpu/online; echo 7-2,x > big/sys/devices/system/node/node0/cpulist; head -c 300 /dev/zero > big/proc/meminfo
  $ timeout 20 gpuprobe --root big > out 2> err; echo "ends with $?"; grep -c . err
  ends with 1
  0
  [1]

A truncated library, an empty one, and a link to itself.

  $ mkdir -p venv/bin; head -c 3000 /bin/sh > venv/bin/python3; chmod +x venv/bin/python3
  $ gpuprobe loads $PWD/venv/bin/python3 2>&1 | cut -c 1-90
  gpuprobe: $HOME/venv/bin/python3 is a malformed ELF file: its dynamic 
  $ : > empty; gpuprobe loads ./empty; ln -s me me; gpuprobe loads ./me
  gpuprobe: $HOME/empty is not an ELF file
  gpuprobe: cannot open $HOME/me: Too many levels of symbolic links
  [64]

A library with 65,000 sonames of 60 KiB each: the first one counts.

  $ python3 -c '
  > import struct
  > text = b"a" * 60000 + b"\0"; n = 65000; at = 64 + 2 * 56; end = at + 16 * (n + 3)
  > d = b"".join(struct.pack("<QQ", t, v) for t, v in [(5, end), (10, len(text))] + [(14, 0)] * n + [(0, 0)])
  > h = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
  > p = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, end + len(text), end + len(text), 1) + struct.pack("<IIQQQQQQ", 2, 4, at, at, at, len(d), len(d), 8)
  > open("many.so", "wb").write(h + p + d + text)'
  $ timeout 10 gpuprobe loads ./many.so > out; echo "ends with $?"
  ends with 0

Every captured host's report fits 80 columns, except commands, which are not wrapped, and the matrix of 16 devices.

  $ for f in $FIXTURES/*.host; do for c in check topo 'can torch==2.14 cuda==13.0' recommend; do
  >   COLUMNS=80 gpuprobe $c --root $f 2>&1 | awk -v f="${f##*/} $c" 'length($0) > 80 && !/^     |^(GPU|IB|NIC)[0-9] / { print f ": " $0 }'; done; done
  $ COLUMNS=80 gpuprobe --root $FIXTURES/gpu-lost-and-narrow.host --baseline $FIXTURES/server-8gpu.host | awk 'length($0) > 80'
  $ gpuprobe list > out; for id in $(awk 'NR > 1 && /^[a-z]/ { print $1 }' out); do COLUMNS=80 gpuprobe explain $id | awk -v id=$id 'length($0) > 80 { print id ": " $0 }'; done
