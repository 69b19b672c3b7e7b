The environment of a program: closed files, full disks, readers that exit, ignored signals, systemd's journal.

A closed standard stream is not replaced by the next opened file, such as the journal.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root
  $ gputune apply --root root --only vm.max_map_count <&- >&- 2>&-
  $ grep -c gputune: root/var/lib/gputune/journal
  0
  [1]
  $ gputune verify --root root
  KNOB             BEFORE EXPECTED ACTUAL RESULT
  vm.max_map_count  65530   262144 262144 ok
  $ gputune run -- sh -c 'echo lost' >&-
  sh: 1: echo: echo: I/O error
  [1]

A lost result is reported; the exit status is that of the result unless it was 0.

  $ gpuprobe --root $FIXTURES/driver-mismatch.host >/dev/full
  gpuprobe: cannot write to standard output: No space left on device
  [2]
  $ gpuprobe watch -i 0.1 -n 2 >/dev/full
  gpuprobe: cannot write to standard output: No space left on device
  [70]

For a command that changes the host the exit status reports the state of the host; lost output is an error message.

  $ gputune revert --root root >/dev/full
  gputune: cannot write to standard output: No space left on device; the exit status still reports the state of the host
  $ gputune apply --root root --only vm.max_map_count --json >/dev/full
  gputune: cannot write to standard output: No space left on device; the exit status still reports the state of the host
  $ gputune verify --root root >/dev/full
  gputune: cannot write to standard output: No space left on device
  [70]

A limit on file size aborts no transaction (SIGXFSZ), at any position of the journal: the write fails and is rolled back.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host limited; mkdir -p limited/etc/gputune/profiles; rm limited/proc/sys/vm/{zone_reclaim_mode,min_free_kbytes}; cp -a limited before
  $ knobs='vm.dirty_ratio=15 vm.dirty_background_ratio=4 vm.swappiness=3 vm.max_map_count=262144'
  $ for n in $(seq 4 10 250); do
  >   name=$(printf %${n}s | tr ' ' p); printf '%s\n' '[knobs]' $knobs >limited/etc/gputune/profiles/$name.conf
  >   (ulimit -f 1; exec gputune apply --root limited --profile $name --only vm. >/dev/null 2>&1); echo $?
  >   gputune recover --root limited >/dev/null; gputune revert --root limited >/dev/null; rm -f limited/var/lib/gputune/history
  > done | sort -u
  0
  1
  3
  $ rm -r before/etc/gputune limited/etc/gputune; diff -r --no-dereference --exclude=var before limited

A reader that exits early is no error.

  $ gputune plan --root root --json | head -n 1; echo ${PIPESTATUS[0]}
  {
  0
  $ gputune plan --root root -o - | head -n 1; echo ${PIPESTATUS[0]}
  {
  0
  $ gpuprobe watch -i 0.1 -n 600 | head -n 1 >/dev/null

Programs under nohup ignore SIGHUP, with their children; a launcher under it waits for its ranks.

  $ env --ignore-signal=HUP grep SigIgn /proc/self/status >plain
  $ env --ignore-signal=HUP gputune run -- grep SigIgn /proc/self/status | cmp - plain
  $ env --ignore-signal=HUP gputune run --ranks 2 -- sh -c 'kill -HUP $PPID; sleep 0.5; echo still here'
  still here
  still here
  $ env --default-signal=HUP gputune run --ranks 2 -- sh -c 'kill -HUP $PPID; exec sleep 100'
  [129]

A parent that ignores SIGCHLD does not prevent gputune from waiting for its children.

  $ env --ignore-signal=CHLD timeout 60 gputune run --ranks 2 -- sh -c 'exit 3' 2>/dev/null
  [3]

In systemd's journal each line has its priority, and drift is a warning.

  $ exec 7>journal; export JOURNAL_STREAM=$(stat -Lc %d:%i /dev/fd/7)
  $ echo 70000 >root/proc/sys/vm/max_map_count
  $ gputune verify --root root >/dev/null 2>&7
  [4]
  $ gputune plan --root nowhere 2>&7
  [64]
  $ gputune plan --root nowhere
  gputune: cannot open root nowhere: No such file or directory
  [64]
  $ cat journal
  <4>gputune: warning: vm.max_map_count is 70000, not 262144: no file and no known tuner sets it: changed by hand or by a program
  <3>gputune: cannot open root nowhere: No such file or directory

The caller's language and home directory do not matter.

  $ unset JOURNAL_STREAM; gputune plan --root root >plan; gpuprobe --root root >probe
  $ for l in C POSIX de_DE.UTF-8 tr_TR.UTF-8; do LC_ALL=$l gputune plan --root root | cmp - plan; LC_ALL=$l gpuprobe --root root | cmp - probe; done
  $ env -i COLUMNS=100 $(command -v gputune) plan --root root | cmp - plan
  $ (umask 0; mkdir -p root/etc/sysctl.d; gputune apply --root root --only vm. --persist >/dev/null; find root/var/lib/gputune root/etc/sysctl.d ! -type d -perm /022)
  $ umask 077; gputune revert --root root >/dev/null; gputune apply --root root --only vm. --persist >/dev/null; stat -c %a root/etc/sysctl.d/90-gputune.conf
  644

Without /proc almost nothing is known, and the tools say so. (Without the right to mount, this is not tested.)

  $ bare() { unshare -rm true 2>/dev/null || { echo "gputune: warning: /proc is not mounted"; return; }; unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"' "$@"; }
  $ bare gputune plan --quiet 2>&1 >/dev/null; bare gputune plan 2>&1 | grep -c '^gputune: warning: /proc is not mounted'
  1

Without sysfs, as in many chroots, the CPUs are still counted.

  $ mkdir -p bare/proc; printf 'cpu  1 2 3\ncpu0 1 2 3\ncpu2 1 2 3\nintr 5\n' >bare/proc/stat
  $ gpuprobe --root bare --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["host"]["cpu"]["online"])'
  0,2

A program may be in the root directory itself, like a container's entry point.

  $ cat >top.sh <<'X'
  > mount -t tmpfs none top
  > for d in /*; do
  >     if [ -L "$d" ]; then cp -P "$d" top; elif [ -d "$d" ]; then mkdir "top$d"; mount --rbind "$d" "top$d"; fi
  > done
  > printf '#!/bin/sh\necho "started $1"\n' >top/entrypoint.sh
  > chmod +x top/entrypoint.sh
  > exec chroot top "$@"
  > X
  $ mkdir top; below() { unshare -rm true 2>/dev/null || { echo 'started train'; return; }; unshare -rm sh top.sh "$@"; }
  $ below $(command -v gputune) run -- /entrypoint.sh train
  started train
