A plan says for each knob what is there, what should be, and why. Nothing is written.

  $ gputune plan --root $FIXTURES/cpu-server.host
  KNOB                      STATUS          NOW      WANTED WHY
  vm.dirty_ratio            change           20          10 half the kernel's default: writing starts
                                                            earlier and the stall at the end is
                                                            shorter
  vm.dirty_background_ratio change           10           5 half the kernel's default: writing starts
                                                            earlier and the stall at the end is
                                                            shorter
  vm.dirty_bytes            n/a               0             below 128 GiB of memory the form in
                                                            percent is used
  vm.dirty_background_bytes n/a               0             below 128 GiB of memory the form in
                                                            percent is used
  vm.swappiness             change           60          10 a trainer touches all its memory every
                                                            step; give up cached files first
  vm.zone_reclaim_mode      change            1           0 use another node's free memory before
                                                            dropping cached data
  vm.max_map_count          change        65530      262144 memory-mapped shards and allocators with
                                                            expandable segments use many mappings
  vm.overcommit_memory      already           0             not strict
  kernel.numa_balancing     skipped           1           0 by choice only (--optional, or --only
                                                            kernel.numa_balancing): only beside
                                                            binding: start the job with gputune run or
                                                            in a cpuset
  net.core.rmem_max         change       212992    67108864 5 ms of eth0 at 100 Gbit/s, for programs
                                                            that ask for large socket buffers over TCP
  net.core.wmem_max         change       212992    67108864 5 ms of eth0 at 100 Gbit/s, for programs
                                                            that ask for large socket buffers over TCP
  thp.enabled               already      always             programs that ask for huge pages get them
  thp.defrag                skipped      always     madvise by choice only (--optional, or --only
                                                            thp.defrag): no program should wait for
                                                            memory to be compacted that did not ask
                                                            for huge pages
  block.scheduler:nvme0n1   change  mq-deadline        none NVMe has its own deep queues; ordering
                                                            requests in the kernel only costs
  block.scheduler:sda       change         none mq-deadline readers are served before a checkpoint's
                                                            writes
  block.read_ahead:nvme0n1  skipped         128        4096 by choice only (--optional, or --only
                                                            block.read_ahead): no seeks here; shards
                                                            that are read in order keep the disk busy
                                                            while the step computes
  block.read_ahead:sda      skipped         128        8192 by choice only (--optional, or --only
                                                            block.read_ahead): a spinning disk: fewer
                                                            seeks between readers; shards that are
                                                            read in order keep the disk busy while the
                                                            step computes
  cpu.governor:policy0      change    powersave performance no ramp-up at the start of each burst of
                                                            work
  cpu.governor:policy1      change    powersave performance no ramp-up at the start of each burst of
                                                            work
  
  11 changes, profile train-cpu. Unmeasured on this host; gputune explain KNOB says more.

What a large host gets: bytes instead of percent, and buffers that its port can fill.

  $ gputune plan --root $FIXTURES/cpu-server-512g.host --only vm. --only net.
  KNOB                      STATUS     NOW      WANTED WHY
  vm.dirty_ratio            n/a         20             with 128 GiB of memory or more the form in
                                                       bytes is used
  vm.dirty_background_ratio n/a         10             with 128 GiB of memory or more the form in
                                                       bytes is used
  vm.dirty_bytes            change       0 17179869184 a few seconds of writing to fast local disks,
                                                       whatever the size of memory
  vm.dirty_background_bytes change       0  4294967296 a few seconds of writing to fast local disks,
                                                       whatever the size of memory
  vm.swappiness             change      60          10 a trainer touches all its memory every step;
                                                       give up cached files first
  vm.zone_reclaim_mode      change       1           0 use another node's free memory before dropping
                                                       cached data
  vm.max_map_count          change   65530      524288 memory-mapped shards and allocators with
                                                       expandable segments use many mappings
  vm.overcommit_memory      already      0             not strict
  net.core.rmem_max         change  212992    67108864 5 ms of eth0 at 100 Gbit/s, for programs that
                                                       ask for large socket buffers over TCP
  net.core.wmem_max         change  212992    67108864 5 ms of eth0 at 100 Gbit/s, for programs that
                                                       ask for large socket buffers over TCP
  
    vm.dirty_bytes: now /proc/sys/vm/dirty_ratio is in force, with 20; the kernel zeroes it
    vm.dirty_background_bytes: now /proc/sys/vm/dirty_background_ratio is in force, with 10; the
    kernel zeroes it
  
  7 changes, profile train-cpu. Unmeasured on this host; gputune explain KNOB says more.

Knobs of choice are named when they are asked for.

  $ gputune plan --root $FIXTURES/cpu-server.host --only block. --skip block.scheduler
  KNOB                     STATUS  NOW WANTED WHY
  block.scheduler:nvme0n1  skipped            left out by --skip
  block.scheduler:sda      skipped            left out by --skip
  block.read_ahead:nvme0n1 change  128   4096 no seeks here; shards that are read in order keep the
                                              disk busy while the step computes
  block.read_ahead:sda     change  128   8192 a spinning disk: fewer seeks between readers; shards
                                              that are read in order keep the disk busy while the step
                                              computes
  
  2 changes, profile train-cpu. Unmeasured on this host; gputune explain KNOB says more.
  $ gputune plan --root $FIXTURES/cpu-server.host -p huge-pages --only thp.
  KNOB        STATUS     NOW        WANTED WHY
  thp.enabled already always        always already so
  thp.defrag  change  always defer+madvise asked for by the profile
  
  1 change, profile huge-pages. Unmeasured on this host; gputune explain KNOB says more.

A saved plan is a document; it holds to its host.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root
  $ gputune plan --root root -o plan.json | tail -1
  Saved as plan.json: gputune apply plan.json
  $ python3 -c 'import json; p = json.load(open("plan.json")); print(p["schema"], p["changes"], p["profile"])'
  gputune-plan/1 11 train-cpu
  $ gputune apply plan.json --root root --quiet | wc -l
  12
  $ gputune apply plan.json --root root
  gputune: vm.dirty_ratio is 10 now, not 20 as when the plan was made: make a new plan
  [3]
  $ $BUILDDIR/tests/cli/unpack $FIXTURES/laptop-no-gpu.host other; gputune apply plan.json --root other
  gputune: the plan is for another host (9a38c70a2df0d774, this one is fbf612c04e345c6f): make one here
  [3]

A plan that is no plan, one that is cut off, one that a hand has changed, one that is not there.

  $ echo '{}' >bad.json; gputune apply bad.json --root root
  gputune: the plan is refused: the plan: not a gputune-plan/1 document: it has no "schema"
  [3]
  $ head -c 700 plan.json >cut.json; gputune apply cut.json --root root
  gputune: cut.json:20:145: not valid JSON: premature end of input
  [3]
  $ sed 's/"wanted": "10"/"wanted": "1000"/' plan.json >edited.json; gputune apply edited.json --root root
  gputune: the plan is refused: item 1: vm.dirty_ratio takes 0 to 100, not 1000
  [3]
  $ sed 's/"knob": "vm.swappiness"/"knob": "kernel.core_pattern"/' plan.json >evil.json; gputune apply evil.json --root root
  gputune: the plan is refused: item 5: there is no knob 'kernel.core_pattern'
  [3]
  $ gputune apply none.json --root root
  gputune: cannot read none.json: No such file or directory
  [64]
  $ gputune apply plan.json --only vm. --root root
  gputune: a saved plan is applied as it is: --profile, --only, --skip and --optional are for gputune plan
  [64]
  $ gputune plan --root root --only vm.swapiness
  gputune: --only: there is no knob or family 'vm.swapiness'; gputune list shows them
  [64]
  $ gputune plan --root root -p nonsense
  gputune: there is no profile 'nonsense', neither in /etc/gputune/profiles nor built in
  [64]

A profile of one's own, with a slip in it.

  $ printf '[profile]\nsummary = ours\ninherit = default\n[knobs]\nvm.swapiness = 1\n' >ours.conf
  $ gputune plan --root root -p ./ours.conf
  gputune: ./ours.conf:5: there is no knob 'vm.swapiness'; gputune list shows them
  [64]

Dead and dangerous lines in the admin's own files are found with file and line.

  $ printf 'kernel.sched_latency_ns = 1\nvm.overcommit_memory = 2\nvm.dirty_ratio = 300\nwhat\n' >root/etc/sysctl.d/60-old.conf
  $ gputune lint --root root
  WHERE                       SEVERITY WHAT
  /etc/sysctl.d/60-old.conf:4 warning  is no assignment: 'what'
  /etc/sysctl.d/60-old.conf:1 warning  kernel.sched_latency_ns: dead: left sysctl for debugfs in Linux
                                       5.13, gone in 6.6
  /etc/sysctl.d/60-old.conf:2 bad      vm.overcommit_memory: strict overcommit: CUDA reserves far more
                                       address space than it uses and fails
  /etc/sysctl.d/60-old.conf:3 bad      vm.dirty_ratio takes 0 to 100, not 300
