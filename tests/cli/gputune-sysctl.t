Lines of sysctl.d are parsed as the kernel does: 0x is hexadecimal, a leading 0 octal, and characters after the last number
are ignored.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root; echo 65536 >root/proc/sys/fs/file-max; echo 18446744073692774399 | tee root/proc/sys/kernel/shmmax >root/proc/sys/kernel/shmall

A limit of a local file that exceeds the desired value is not lowered at the next boot, in decimal, hexadecimal or octal.

  $ echo 'vm.max_map_count = 1048576 # expandable segments' >root/etc/sysctl.d/70-a.conf
  $ echo 'fs.file-max = 0x7fffffffffffffff' >root/etc/sysctl.d/71-a.conf
  $ gputune apply -q --persist --only vm.max_map_count --only fs.file-max --root root
  KNOB             BEFORE             APPLIED RESULT
  vm.max_map_count  65530             1048576 written
  fs.file-max       65536 9223372036854775807 written
  /etc/sysctl.d/90-gputune.conf: written
  $ grep -v '^#' root/etc/sysctl.d/90-gputune.conf
  vm.max_map_count = 1048576
  fs.file-max = 9223372036854775807
  $ cat root/proc/sys/vm/max_map_count root/proc/sys/fs/file-max
  1048576
  9223372036854775807

A later file with the same value in another notation is no drift. One with another value is, and so is a value that the
kernel refuses.

  $ echo 'vm.max_map_count = 1048576 # as many' >root/etc/sysctl.d/99-a.conf; gputune verify --root root
  KNOB             BEFORE            EXPECTED              ACTUAL RESULT
  vm.max_map_count  65530             1048576             1048576 ok
  fs.file-max       65536 9223372036854775807 9223372036854775807 ok
  /etc/sysctl.d/90-gputune.conf: ok
  $ echo 'vm.max_map_count = 0x100000 7' >root/etc/sysctl.d/99-a.conf; gputune verify -q --root root >/dev/null
  $ echo 'vm.max_map_count = 04000000' >root/etc/sysctl.d/99-a.conf; gputune verify -q --root root >/dev/null
  $ echo 'vm.max_map_count = 0200000' >root/etc/sysctl.d/99-a.conf; gputune verify --root root
  KNOB             BEFORE            EXPECTED              ACTUAL RESULT
  vm.max_map_count  65530             1048576             1048576 lost at boot
  fs.file-max       65536 9223372036854775807 9223372036854775807 ok
    vm.max_map_count: /etc/sysctl.d/99-a.conf:1 sets it to 65536 and is read after
    /etc/sysctl.d/90-gputune.conf
  /etc/sysctl.d/90-gputune.conf: ok
  [4]
  $ echo 'vm.max_map_count = 2000000x' >root/etc/sysctl.d/99-a.conf; gputune verify --root root
  KNOB             BEFORE            EXPECTED              ACTUAL RESULT
  vm.max_map_count  65530             1048576             1048576 lost at boot
  fs.file-max       65536 9223372036854775807 9223372036854775807 ok
    vm.max_map_count: /etc/sysctl.d/99-a.conf:1 contains 2000000x, which the kernel refuses, and is
    read after /etc/sysctl.d/90-gputune.conf
  /etc/sysctl.d/90-gputune.conf: ok
  [4]
  $ gputune revert -q --root root; rm root/etc/sysctl.d/99-a.conf; gputune explain vm.max_map_count --root root | sed -n '/^On this host/,$p'
  KNOB             BEFORE             APPLIED RESULT
  fs.file-max       65536 9223372036854775807 restored
  vm.max_map_count  65530             1048576 restored
  /etc/sysctl.d/90-gputune.conf: restored
  On this host
    change, 65530 → 1048576 mappings; memory-mapped shards and allocators with expandable segments use
    many mappings; after a reboot 1048576, because of /etc/sysctl.d/70-a.conf:1

The same holds for an existing file of gputune: verify names the file that overrides it, and apply replaces it.

  $ gputune revert -q --root root >/dev/null; mv root/etc/sysctl.d/70-a.conf keep; gputune apply -q --persist --only vm.max_map_count --root root >/dev/null; mv keep root/etc/sysctl.d/70-a.conf
  $ gputune verify --root root
  KNOB             BEFORE EXPECTED ACTUAL RESULT
  vm.max_map_count  65530   262144 262144 lost at boot
    vm.max_map_count: /etc/sysctl.d/70-a.conf:1 sets 1048576, but /etc/sysctl.d/90-gputune.conf:3
    lowers it to 262144: gputune apply --persist --only vm.max_map_count uses the other value
  /etc/sysctl.d/90-gputune.conf: ok
  [4]
  $ gputune apply -q --persist --only vm.max_map_count --root root
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count 262144 1048576 written
  /etc/sysctl.d/90-gputune.conf: written
  $ gputune verify --root root; gputune revert -q --root root >/dev/null
  KNOB             BEFORE EXPECTED  ACTUAL RESULT
  vm.max_map_count  65530  1048576 1048576 ok
  /etc/sysctl.d/90-gputune.conf: ok

The other form of a pair too: 0x0 leaves gputune's value, and so does a value that the kernel refuses.

  $ echo 'vm.dirty_bytes = 0x10000000 # 256 MiB' >root/etc/sysctl.d/71-a.conf; gputune plan --only vm.dirty_ratio --root root -v
  Skipped (--optional includes all opt-in settings, --only KNOB one)
    vm.dirty_ratio: 20 %
        /etc/sysctl.d/71-a.conf:1 sets the other form to 268435456 at boot; not changed
  
  Nothing to change, profile train-cpu.
  $ echo 'vm.dirty_bytes = 256M' >root/etc/sysctl.d/71-a.conf; gputune plan --only vm.dirty_ratio --root root
  Changes
    vm.dirty_ratio: 20 → 10 %
        half of the kernel's default: writing starts earlier, and the stall at the end is shorter
  
  1 change, profile train-cpu. The effect on this host is not measured (gpubench prove measures it).
  $ echo 'vm.dirty_bytes = 0x0' >root/etc/sysctl.d/71-a.conf; gputune plan --only vm.dirty_ratio --root root --json | grep -c 71-a.conf
  0
  [1]

The linter judges values that the kernel accepts, names lines that it does not check, and accepts the kernel's own values.

  $ rm root/etc/sysctl.d/7*
  $ printf 'vm.overcommit_memory = 2 # strict, DB\nkernel.shmmax = 18446744073692774399\nkernel.shmall = 0xffffffffffffffff\nvm.zone_reclaim_mode = 3\nvm.zone_reclaim_mode = 0 ; off\nvm.swappiness = 10 20\nkernel.core_pattern = core # of us\nnet.ipv4.tcp_rmem = 4096 87380\nvm.max_map_count = 300x\nvm.dirty_ratio = 012\n' >root/etc/sysctl.d/60-a.conf
  $ printf 'vm.dirty_ratio = 10\n' >root/etc/sysctl.d/61-b.conf
  $ gputune lint --root root
  WHERE                     SEVERITY WHAT
  /etc/sysctl.d/60-a.conf:1 note     vm.overcommit_memory: the kernel stores 2 and ignores '# strict,
                                     DB': a comment needs a line of its own
  /etc/sysctl.d/60-a.conf:1 bad      vm.overcommit_memory: strict overcommit: CUDA fails, because it
                                     reserves far more address space than it uses
  /etc/sysctl.d/60-a.conf:4 warning  vm.zone_reclaim_mode: drops the page cache that data sets are
                                     read from
  /etc/sysctl.d/60-a.conf:4 warning  vm.zone_reclaim_mode = 3: overridden, /etc/sysctl.d/60-a.conf:5
                                     sets it to 0 later
  /etc/sysctl.d/60-a.conf:5 note     vm.zone_reclaim_mode: the kernel stores 0 and ignores '; off': a
                                     comment needs a line of its own
  /etc/sysctl.d/60-a.conf:6 warning  vm.swappiness: the kernel stores 10 and ignores '20'
  /etc/sysctl.d/60-a.conf:7 note     kernel.core_pattern: '# of us' is written to the kernel too: a
                                     comment needs a line of its own
  /etc/sysctl.d/60-a.conf:7 note     kernel.core_pattern: this kernel has no such parameter
  /etc/sysctl.d/60-a.conf:8 bad      net.ipv4.tcp_rmem has 3 numbers, and the kernel does not change
                                     those after 4096 87380
  /etc/sysctl.d/60-a.conf:9 bad      vm.max_map_count takes whole numbers, not '300x'
  $ mkdir -p root/etc/tuned/own; printf '[sysctl]\nvm.swappiness = 10 # is a comment there\nvm.overcommit_memory = 2 # strict\n' >root/etc/tuned/own/tuned.conf; rm root/etc/sysctl.d/*; gputune lint --root root
  WHERE                       SEVERITY WHAT
  /etc/sysctl.conf:2          warning  'kernel.pid_max = 4194304' is not read at boot: no link in
                                       sysctl.d leads to this file
  /etc/tuned/own/tuned.conf:3 bad      vm.overcommit_memory: strict overcommit: CUDA fails, because it
                                       reserves far more address space than it uses

gputune writes values in the notation that the kernel prints.

  $ printf '[profile]\nsummary = ours\ninherit = default\n[knobs]\nvm.swappiness = 010\n' >ours.conf; gputune plan --root root -p ./ours.conf
  gputune: ./ours.conf:5: vm.swappiness: the kernel reads '010' as 8: write that
  [64]
