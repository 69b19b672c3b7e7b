A plan shows for each knob the current value, the desired value, and the reason. Nothing is written.

  $ gputune plan --root $FIXTURES/cpu-server.host
  Changes
    vm.dirty_ratio: 20 → 10 %
        half of the kernel's default: writing starts earlier, and the stall at the end is shorter
    vm.dirty_background_ratio: 10 → 5 %
        half of the kernel's default: writing starts earlier, and the stall at the end is shorter
    vm.swappiness: 60 → 10
        a trainer uses all its memory in every step; cached files should be dropped first
    vm.zone_reclaim_mode: 1 → 0
        uses free memory of other nodes before it drops cached data
    vm.max_map_count: 65530 → 262144 mappings
        memory-mapped shards and allocators with expandable segments use many mappings
    vm.min_free_kbytes: 67584 → 135168 KiB
        network and disk drivers find free memory even if the page cache is full
    kernel.pid_max: 32768 → 4194304 ids
        each thread has a process id: loaders, OpenMP and NCCL start many on 16 CPUs
    fs.inotify.max_user_instances: 128 → 1024 instances
        each TensorBoard, notebook and container runtime of a user needs some; 128 are too few
    fs.inotify.max_user_watches: 65536 → 524288 watches
        one per watched directory; trees of checkpoints and logs have many
    fs.aio-max-nr: 65536 → 1048576 requests
        loaders that read with libaio (DALI, DeepSpeed's NVMe offload) reserve their queues in advance
    net.core.rmem_max: 208 KiB → 64 MiB
        5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    net.core.wmem_max: 208 KiB → 64 MiB
        5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    block.scheduler:nvme0n1: mq-deadline → none
        NVMe has deep queues of its own; ordering in the kernel only costs time
    block.scheduler:sda: none → mq-deadline
        reads have priority over the writes of a checkpoint
    cpu.governor:policy0 and 1 more: powersave → performance
        no delay of the clock at the start of each burst of work
  
  Skipped (--optional includes all opt-in settings, --only KNOB one)
    kernel.numa_balancing: 1 → 0
        opt-in: only together with binding: start the job with gputune run or in a cpuset
    net.ipv4.tcp_rmem: 4 KiB, 128 KiB, 6 MiB → 4 KiB, 128 KiB, 64 MiB
        opt-in: 5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    net.ipv4.tcp_wmem: 4 KiB, 16 KiB, 4 MiB → 4 KiB, 16 KiB, 64 MiB
        opt-in: 5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    net.core.netdev_max_backlog: 1000 → 10000 packets
        opt-in: 9 packets were dropped since boot because it was full
    net.ipv4.arp_announce: 0 → 2
        opt-in: 2 fast ports are in one subnet; each should answer for its own address only
    net.ipv4.arp_ignore: 0 → 1
        opt-in: 2 fast ports are in one subnet; each should answer for its own address only
    nfs.slots: 2 → 128 requests
        opt-in: allows that many simultaneous reads of a data set on NFS
    thp.defrag: always → madvise
        opt-in: programs that do not request huge pages should not wait for memory to be compacted
    ksm.run: 1 → 0
        opt-in: no virtual machine runs here, and its thread scans memory all the time
    block.read_ahead:nvme0n1: 128 → 4096 KiB
        opt-in: no seeks; shards that are read in order keep the disk busy during the computation
    block.read_ahead:sda: 128 → 8192 KiB
        opt-in: a spinning disk: fewer seeks between readers; shards that are read in order keep the
        disk busy during the computation
    cpu.epp:policy0 and 1 more: balance_performance → performance
        opt-in: the processor itself controls its frequency
    cpu.min_perf: 30 → 100 %
        opt-in: the highest turbo frequency, at any load
    cpu.boost: 0 → 1
        opt-in: allows frequencies above the nominal one again
  
  Notes
    kernel.pid_max: /usr/lib/sysctl.d/50-pid-max.conf:1 sets it to 4194304 at boot; the file that
    --persist writes overrides that
  
  Unchanged and not applicable settings are hidden (--verbose shows them).
  16 changes, profile train-cpu. The effect on this host is not measured (gpubench prove measures it).

Desired values of a large host: bytes instead of percent, and buffers for the speed of its port.

  $ gputune plan --root $FIXTURES/cpu-server-512g.host --only vm. --only net.
  Changes
    vm.dirty_bytes: 0 → 16 GiB
        writing 16 GiB takes 6 s, 20 percent of memory up to 37 s (NVMe disk; assuming 3 GB/s)
    vm.dirty_background_bytes: 0 → 4 GiB
        writing 4 GiB takes 1 s, 10 percent of memory up to 18 s (NVMe disk; assuming 3 GB/s)
    vm.swappiness: 60 → 10
        a trainer uses all its memory in every step; cached files should be dropped first
    vm.zone_reclaim_mode: 1 → 0
        uses free memory of other nodes before it drops cached data
    vm.max_map_count: 65530 → 524288 mappings
        memory-mapped shards and allocators with expandable segments use many mappings
    vm.min_free_kbytes: 67584 → 135168 KiB
        network and disk drivers find free memory even if the page cache is full
    net.core.rmem_max: 208 KiB → 64 MiB
        5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    net.core.wmem_max: 208 KiB → 64 MiB
        5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
  
  Skipped (--optional includes all opt-in settings, --only KNOB one)
    net.ipv4.tcp_rmem: 4 KiB, 128 KiB, 6 MiB → 4 KiB, 128 KiB, 64 MiB
        opt-in: 5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    net.ipv4.tcp_wmem: 4 KiB, 16 KiB, 4 MiB → 4 KiB, 16 KiB, 64 MiB
        opt-in: 5 ms of eth0 at 100 Gbit/s, for programs that request large buffers for TCP sockets
    net.core.netdev_max_backlog: 1000 → 10000 packets
        opt-in: 9 packets were dropped since boot because it was full
    net.ipv4.arp_announce: 0 → 2
        opt-in: 2 fast ports are in one subnet; each should answer for its own address only
    net.ipv4.arp_ignore: 0 → 1
        opt-in: 2 fast ports are in one subnet; each should answer for its own address only
  
  Notes
    vm.dirty_bytes: /proc/sys/vm/dirty_ratio is 20 now; the kernel sets it to 0
    vm.dirty_background_bytes: /proc/sys/vm/dirty_background_ratio is 10 now; the kernel sets it to 0
  
  Unchanged and not applicable settings are hidden (--verbose shows them).
  8 changes, profile train-cpu. The effect on this host is not measured (gpubench prove measures it).

Ports in separate subnets do not answer for each other; without readable routes nothing is guessed.

  $ sed 's/^\teth1\t00000002/\teth1\t00000003/' $FIXTURES/cpu-server-512g.host >apart.host
  $ gputune plan --root apart.host --only net.ipv4.arp_ignore --verbose | grep -A1 arp_ignore
    net.ipv4.arp_ignore: 0
        requires two fast ports with addresses in one subnet
  $ sed '/^file .proc.net.route/,/^\teth1/d' $FIXTURES/cpu-server-512g.host >unknown.host
  $ gputune plan --root unknown.host --only net.ipv4.arp_ignore | grep -A1 arp_ignore
    net.ipv4.arp_ignore: 0
        requires a readable /proc/net/route with the subnets of the ports

Limits that a program can raise itself are distinguished from those that it cannot.

  $ for n in "1024 20000" "20000 20000"; do
  >   sed "s/^file .proc.self.limits/&\n\tMax open files $n files/" $FIXTURES/cpu-server.host >files.host
  >   gputune plan --root files.host --only limits.nofile | grep 'can open'
  > done
        a program can open 1024 files, and raise that to 20000: loader workers pass each tensor as an
        a program can open 20000 files: loader workers pass each tensor as an open file and fail with

Optional tunables are listed when they are selected; their family shows them.

  $ gputune plan --root $FIXTURES/cpu-server.host --only block. --only block.read_ahead --skip block.scheduler
  Changes
    block.read_ahead:nvme0n1: 128 → 4096 KiB
        no seeks; shards that are read in order keep the disk busy during the computation
    block.read_ahead:sda: 128 → 8192 KiB
        a spinning disk: fewer seeks between readers; shards that are read in order keep the disk busy
        during the computation
  
  Skipped (--optional includes all opt-in settings, --only KNOB one)
    block.scheduler:nvme0n1 and 1 more
        excluded by --skip
  
  2 changes, profile train-cpu. The effect on this host is not measured (gpubench prove measures it).
  $ gputune plan --root $FIXTURES/cpu-server.host -p huge-pages --only thp.
  Changes
    thp.defrag: always → defer+madvise
        set by the profile
  
  Unchanged and not applicable settings are hidden (--verbose shows them).
  1 change, profile huge-pages. The effect on this host is not measured (gpubench prove measures it).

A saved plan is a document for its host.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root
  $ gputune plan --root root -o plan.json | tail -1
  Saved as plan.json: gputune apply plan.json
  $ python3 -c 'import json; p = json.load(open("plan.json")); print(p["schema"], p["changes"], p["profile"])'
  gputune-plan/1 16 train-cpu
  $ gputune apply plan.json --root root --quiet | wc -l
  17
  $ gputune apply plan.json --root root
  gputune: vm.dirty_ratio is 10 now, but was 20 when the plan was made: make a new plan
  [3]
  $ $BUILDDIR/tests/cli/unpack $FIXTURES/laptop-no-gpu.host other; gputune apply plan.json --root other
  gputune: the plan is for another host (9a38c70a2df0d774, this one is fbf612c04e345c6f): make a plan here
  [3]

A file that is no plan, a truncated plan, an edited plan, a missing file.

  $ echo '{}' >bad.json; gputune apply bad.json --root root
  gputune: the plan is refused: the plan: not a gputune-plan/1 document: it has no "schema"
  [64]
  $ head -c 700 plan.json >cut.json; gputune apply cut.json --root root
  gputune: cut.json:20:141: not valid JSON: premature end of input
  [64]
  $ sed 's/"wanted": "10"/"wanted": "1000"/' plan.json >edited.json; gputune apply edited.json --root root
  gputune: the plan is refused: item 1: vm.dirty_ratio takes 0 to 100, not 1000
  [64]
  $ sed 's/"knob": "vm.swappiness"/"knob": "kernel.core_pattern"/' plan.json >evil.json; gputune apply evil.json --root root
  gputune: the plan is refused: item 5: there is no knob 'kernel.core_pattern'
  [64]
  $ gputune apply none.json --root root
  gputune: cannot read none.json: No such file or directory
  [64]
  $ : >none.json; gputune apply none.json --root root; gputune provision apply none.json --root root
  gputune: none.json is empty: it contains no JSON
  gputune: none.json is empty: it contains no JSON
  [64]
  $ gputune apply . --root root 2>&1 | sed "s,$PWD,PWD,"
  gputune: PWD/. is not a regular file
  $ : >none.conf; gputune plan --profile ./none.conf --root root
  gputune: ./none.conf has no section: a profile has [profile] or [knobs]
  [64]
  $ gputune apply plan.json --only vm. --root root
  gputune: a saved plan is applied unchanged: give --profile, --only, --skip, --set and --optional to gputune plan
  [64]
  $ gputune plan --root root --only vm.swapiness
  gputune: --only: unknown knob or family 'vm.swapiness'; did you mean vm.swappiness?
  [64]
  $ gputune plan --root root --only vm.max_map_count,vm.swappiness
  gputune: --only: unknown knob or family 'vm.max_map_count,vm.swappiness'; each id needs its own option
  [64]
  $ gputune plan --root root -p nonsense
  gputune: unknown profile 'nonsense', neither in /etc/gputune/profiles nor built in; known profiles are default, train-cpu, train-gpu, dataload, huge-pages, inference, multi-node
  [64]
  $ mkdir -p root/etc/gputune/profiles; echo '[knobs]' >root/etc/gputune/profiles/rack7.conf; gputune plan --root root -p nosuch
  gputune: unknown profile 'nosuch', neither in /etc/gputune/profiles nor built in; known profiles are rack7, default, train-cpu, train-gpu, dataload, huge-pages, inference, multi-node
  [64]
  $ gputune plan --root root -p train-gpo
  gputune: unknown profile 'train-gpo', neither in /etc/gputune/profiles nor built in; did you mean train-gpu?
  [64]

A family is named with or without its dot, as --only and as --skip.

  $ gputune plan --root root --only vm --skip vm.dirty_bytes --json >family.json
  $ gputune plan --root root --only vm. --skip vm.dirty_bytes --json | diff family.json - && echo the same
  the same
  $ gputune plan --root root --skip vm | grep -c '^  vm'
  11

apply --dry-run shows what plan shows, and changes nothing.

  $ find root -type f -exec md5sum {} + | sort >before
  $ gputune plan --root root --only net >plan.txt; gputune apply --dry-run --root root --only net | diff plan.txt - && echo the same
  the same
  $ gputune apply --dry-run --root root --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["schema"])'
  gputune-plan/1
  $ gputune apply plan.json --dry-run --root root | head -1
  Changes
  $ find root -type f -exec md5sum {} + | sort | diff before - && echo unchanged
  unchanged

A local profile with a mistake.

  $ printf '[profile]\nsummary = ours\ninherit = default\n[knobs]\nvm.swapiness = 1\n' >ours.conf
  $ gputune plan --root root -p ./ours.conf
  gputune: ./ours.conf:5: there is no knob 'vm.swapiness'; gputune list shows them
  [64]

Dead and dangerous lines of local configuration are reported with file and line.

  $ printf 'kernel.sched_latency_ns = 1\nvm.overcommit_memory = 2\nvm.dirty_ratio = 300\nwhat\n' >root/etc/sysctl.d/60-old.conf
  $ gputune lint --root root
  WHERE                       SEVERITY WHAT
  /etc/sysctl.d/60-old.conf:4 warning  not an assignment: 'what'
  /etc/sysctl.d/60-old.conf:1 warning  kernel.sched_latency_ns: outdated: moved from sysctl to debugfs
                                       in Linux 5.13, removed in 6.6
  /etc/sysctl.d/60-old.conf:2 bad      vm.overcommit_memory: strict overcommit: CUDA fails, because it
                                       reserves far more address space than it uses
  /etc/sysctl.d/60-old.conf:3 bad      vm.dirty_ratio takes 0 to 100, not 300

The same as a diff, which is empty without changes.

  $ gputune plan --root $FIXTURES/cpu-server.host --only vm. --diff
  --- this host now
  +++ profile train-cpu
  @@ /proc/sys/vm/dirty_ratio
  -vm.dirty_ratio = 20
  +vm.dirty_ratio = 10
  @@ /proc/sys/vm/dirty_background_ratio
  -vm.dirty_background_ratio = 10
  +vm.dirty_background_ratio = 5
  @@ /proc/sys/vm/swappiness
  -vm.swappiness = 60
  +vm.swappiness = 10
  @@ /proc/sys/vm/zone_reclaim_mode
  -vm.zone_reclaim_mode = 1
  +vm.zone_reclaim_mode = 0
  @@ /proc/sys/vm/max_map_count
  -vm.max_map_count = 65530
  +vm.max_map_count = 262144
  @@ /proc/sys/vm/min_free_kbytes
  -vm.min_free_kbytes = 67584
  +vm.min_free_kbytes = 135168
  $ gputune plan --root $FIXTURES/laptop-no-gpu.host --only vm.zone_reclaim_mode --diff

A captured host gets the same plan and the same findings about its files as the host itself.

  $ gpuprobe capture here.host 2>/dev/null; gputune plan --optional --json >live.json; gputune plan --optional --json --root here.host >captured.json
  $ python3 -c 'import json
  > a, b = ({(i["knob"], i["instance"]): [i[k] for k in ("status", "current", "wanted", "at_boot")] for i in json.load(open(f))["items"]} for f in ("live.json", "captured.json"))
  > print(len(a) > 40, [(k, a.get(k), b.get(k)) for k in sorted(a.keys() | b.keys(), key=str) if a.get(k) != b.get(k)])'
  True []
  $ gputune lint --json >live.json; gputune lint --json --root here.host >captured.json
  $ python3 -c 'import json; a, b = (json.load(open(f))["findings"] for f in ("live.json", "captured.json")); print([f for f in b if f not in a])'
  []

So does one with all processor and firmware features, and a /dev/shm of huge pages; other mounts are not captured.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/server-8gpu.host full; cpu=full/sys/devices/system/cpu
  $ mkdir -p $cpu/intel_pstate full/sys/firmware/acpi full/proc/self; echo 0 >$cpu/cpufreq/boost
  $ echo 20 >$cpu/intel_pstate/min_perf_pct; echo 60 >$cpu/intel_pstate/max_perf_pct
  $ echo balanced >full/sys/firmware/acpi/platform_profile; echo low-power balanced >full/sys/firmware/acpi/platform_profile_choices
  $ for p in $cpu/cpufreq/policy*; do echo power >$p/energy_performance_preference; echo default power >$p/energy_performance_available_preferences; done
  $ for p in $cpu/cpu[0-9]*; do mkdir -p $p/power; echo 6 >$p/power/energy_perf_bias; done
  $ printf 'secret:/home /home nfs4 rw 0 0\ntmpfs /dev/shm tmpfs rw,huge=always 0 0\n' >full/proc/self/mounts
  $ echo 'always within_size advise [never] deny force' >full/sys/kernel/mm/transparent_hugepage/shmem_enabled
  $ gpuprobe capture full.host --root full 2>/dev/null; grep -c secret full.host
  0
  [1]
  $ for r in full full.host; do gputune plan --optional --root $r -v | grep -A1 '^  cpu\.\(boost\|epp\|epb\|min\|platf\)\|thp.shmem' >$r.txt; done; cmp full.txt full.host.txt; cat full.host.txt
    cpu.min_perf: 20 → 60 %
        the highest frequency that max_perf_pct allows, at any load
    cpu.epb:cpu0 and 63 more: 6 → 0
        the processor prefers speed to energy
    cpu.boost: 0 → 1
        allows frequencies above the nominal one again
  --
    thp.shmem
        /dev/shm is mounted with huge=always: each small tensor from a loader worker takes 2 MiB of it
  --
    cpu.platform_profile: balanced
        requires firmware that offers this profile: it offers low-power balanced, not performance
    cpu.epp:policy0 and 1 more: power
        requires a processor that offers this preference: it offers default power, not performance

An output file is a regular file, /dev/null, or a descriptor: a device, FIFO or directory is neither opened nor replaced.

  $ out() { timeout 10 gputune plan --root $FIXTURES/cpu-server.host -o "$@"; }
  $ out /dev/null > said.txt; test -c /dev/null
  $ out >(head -n 1 > got) > said.txt; until [ -s got ]; do sleep 0.1; done; cat got
  {
  $ (out /dev/stdout; out /dev/fd/1; out /proc/self/fd/1) | grep -c '"schema": "gputune-plan/1"'; test -L /dev/stdout
  3
  $ out /dev/stderr 2>&1 > said.txt | head -n 1
  {
  $ out /dev/fd/9
  gputune: cannot write /dev/fd/9: Bad file descriptor
  [64]
  $ out /dev/fd/9 9</dev/null
  gputune: cannot write /dev/fd/9: Bad file descriptor
  [64]
  $ mkfifo pipe; out pipe; test -p pipe
  gputune: cannot write pipe: it is a FIFO, not a regular file; to write to a pipe, name /dev/stdout or /dev/fd/N
  $ out /dev/full
  gputune: cannot write /dev/full: it is a character device, not a regular file
  [64]

A link of the caller is followed by the same rule, and stays a link.

  $ mkdir -m 755 dir; ln -s dir/plan.json link; ln -s link link2; out link2 > said.txt; ls dir; test -L link && test -L link2
  plan.json
  $ ln -s ../pipe dir/pipe; ln -s loop loop; ln -s /dev/null null; ln -s dir dirs; for f in dir/pipe loop dirs; do out $f; done; out null > said.txt; test -L null
  gputune: cannot write dir/pipe: it is a FIFO, not a regular file; to write to a pipe, name /dev/stdout or /dev/fd/N
  gputune: cannot write loop: Too many levels of symbolic links
  gputune: cannot write dirs: Is a directory
  $ gputune plan --root $FIXTURES/cpu-server.host -o . > said.txt
  gputune: cannot write .: Is a directory
  [64]

The output for a plan or profile is escaped: untrusted text neither starts a new line nor reaches the terminal as control
characters.

  $ printf '{"schema":"gputune-plan/1\\u001b[31m\\ngputune: all is well"}' >evil.json; gputune apply evil.json --root $FIXTURES/cpu-server.host
  gputune: the plan is refused: the plan: its schema is "gputune-plan/1?[31m?gputune: all is well", expected "gputune-plan/1"
  [64]
  $ gputune plan --json --root $FIXTURES/cpu-server.host | sed 's/"profile": "/&x\\u001b[31m\\n/' >evil.json; gputune apply evil.json --root $FIXTURES/cpu-server.host
  gputune: the plan is refused: it contains control characters
  [64]
  $ printf '[knobs]\n[kn\033[31mobs]\n' >evil.conf; gputune plan --profile ./evil.conf --root $FIXTURES/cpu-server.host
  gputune: ./evil.conf:2: unknown section [kn?[31mobs]; known are [profile] and [knobs]
  [64]

inherit takes the name of a profile, so it reads no other file, neither below the root nor outside it. No message quotes a file that
is not a profile or not JSON.

  $ echo 'root:hash' >secret; $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host in; mkdir -p in/etc/gputune/profiles
  $ for to in "$PWD/secret" ../secret ../../../../secret . ..; do
  >   echo "[profile]
  > inherit = $to" >in/etc/gputune/profiles/site.conf; gputune plan --root in -p site; done
  gputune: '$HOME/secret' is not a valid name of a profile: letters, digits, '.', '_' and '-' are allowed
  gputune: '../secret' is not a valid name of a profile: letters, digits, '.', '_' and '-' are allowed
  gputune: '../../../../secret' is not a valid name of a profile: letters, digits, '.', '_' and '-' are allowed
  gputune: '.' is not a valid name of a profile: letters, digits, '.', '_' and '-' are allowed
  gputune: '..' is not a valid name of a profile: letters, digits, '.', '_' and '-' are allowed
  [64]
  $ gputune plan --root in -p ./secret
  gputune: ./secret:1: text before the first section; a profile begins with [profile] or [knobs]
  [64]
  $ gputune apply --root in secret
  gputune: secret:1:4: not valid JSON: '[' or '{' expected
  [64]

A value that endangers the host is refused from every source: a plan, a profile and the command line of gpubench. The range of a
tunable may follow the memory of the host.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server-512g.host big; gputune plan --root big --json >good.json
  $ want() { python3 -c "import json, sys; p = json.load(open('good.json'))
  > for i in p['items']: i.update(wanted='$2') if i['knob'] == '$1' else None
  > json.dump(p, open('x.json', 'w'))"; gputune apply --root big x.json; }
  $ want vm.dirty_bytes 18446744073709551615
  gputune: vm.dirty_bytes takes 16777216 to * on this host, not 18446744073709551615: nothing is changed (glob)
  [3]
  $ want vm.dirty_bytes 8192; cat big/proc/sys/vm/dirty_bytes
  gputune: the plan is refused: item 3: vm.dirty_bytes takes 16777216 to 9223372036854775807, not 8192
  0
  $ printf '[knobs]\nvm.dirty_bytes = 18446744073709551615\n' >huge.conf; gputune plan --root big -p ./huge.conf | grep -A2 'vm.dirty_bytes: 0'
    vm.dirty_bytes: 0
        not written: vm.dirty_bytes takes 16777216 to * on this host, not (glob)
        18446744073709551615
  $ gpubench prove --race vm.max_map_count=1,2 --workload sim
  gpubench: vm.max_map_count takes 65530 to 2147483647 on this host, not 1
  [64]
  $ gputune explain vm.dirty_bytes | grep range
    range         16777216 to 1/2 of memory in bytes
