Apply, verify, revert: the host is as before.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root
  $ cp -a root before
  $ gputune apply --root root
  KNOB                               BEFORE     APPLIED RESULT
  vm.dirty_ratio                       20 %        10 % written
  vm.dirty_background_ratio            10 %         5 % written
  vm.swappiness                          60          10 written
  vm.zone_reclaim_mode                    1           0 written
  vm.max_map_count                    65530      262144 written
  vm.min_free_kbytes              67584 KiB  135168 KiB written
  kernel.pid_max                      32768     4194304 written
  fs.inotify.max_user_instances         128        1024 written
  fs.inotify.max_user_watches         65536      524288 written
  fs.aio-max-nr                       65536     1048576 written
  net.core.rmem_max                 208 KiB      64 MiB written
  net.core.wmem_max                 208 KiB      64 MiB written
  block.scheduler:nvme0n1       mq-deadline        none written
  block.scheduler:sda                  none mq-deadline written
  cpu.governor:policy0            powersave performance written
  cpu.governor:policy1            powersave performance written
  $ gputune verify --root root | tail -3
  block.scheduler:sda                  none mq-deadline mq-deadline ok
  cpu.governor:policy0            powersave performance performance ok
  cpu.governor:policy1            powersave performance performance ok
  $ gputune status --root root | head -1
  applied since *Z, profile train-cpu, by gputune (process *) (glob)
  $ cat root/sys/block/nvme0n1/queue/scheduler root/proc/sys/vm/swappiness
  [none] mq-deadline
  10
  $ gputune revert --root root
  KNOB                               BEFORE     APPLIED RESULT
  cpu.governor:policy1            powersave performance restored
  cpu.governor:policy0            powersave performance restored
  block.scheduler:sda                  none mq-deadline restored
  block.scheduler:nvme0n1       mq-deadline        none restored
  net.core.wmem_max                 208 KiB      64 MiB restored
  net.core.rmem_max                 208 KiB      64 MiB restored
  fs.aio-max-nr                       65536     1048576 restored
  fs.inotify.max_user_watches         65536      524288 restored
  fs.inotify.max_user_instances         128        1024 restored
  kernel.pid_max                      32768     4194304 restored
  vm.min_free_kbytes              67584 KiB  135168 KiB restored
  vm.max_map_count                    65530      262144 restored
  vm.zone_reclaim_mode                    1           0 restored
  vm.swappiness                          60          10 restored
  vm.dirty_background_ratio            10 %         5 % restored
  vm.dirty_ratio                       20 %        10 % restored
  $ diff -r --no-dereference --exclude=var before root
  $ gputune revert --root root
  Nothing is applied.
  $ gputune verify --root root
  Nothing is applied.

Nothing to do is success, and creates no file.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host still
  $ gputune apply --root still --only vm.swappiness
  Nothing to change.
  $ gputune verify --root still; gputune status --root still; gputune revert --root still; gputune recover --root still
  Nothing is applied.
  Nothing is applied.
  Nothing is applied.
  No transaction was interrupted.
  $ ls still/var
  ls: cannot access 'still/var': No such file or directory
  [2]

Exit 1: a write fails, and everything is rolled back.

  $ GT_FAULT=9:EIO gputune apply --root root
  gputune: cannot set /proc/sys/vm/max_map_count to 262144: Input/output error; all old values are restored
  [1]
  $ diff -r --no-dereference --exclude=var before root

Exit 3: refused, nothing is changed. A captured file cannot be written; a full disk keeps no journal.

  $ gputune apply --root $FIXTURES/cpu-server.host
  gputune: cannot write a journal in /var/lib/gputune (Read-only file system): nothing is changed
  [3]
  $ GT_FAULT=1+:ENOSPC gputune apply --root root
  gputune: cannot write the journal in /var/lib/gputune (No space left on device): nothing is changed
  [3]
  $ diff -r --no-dereference --exclude=var before root

Exit 4: another program has changed a value. It is left unchanged.

  $ gputune apply --root root --only vm.swappiness >/dev/null
  $ echo 33 >root/proc/sys/vm/swappiness
  $ gputune verify --root root
  KNOB          BEFORE EXPECTED ACTUAL RESULT
  vm.swappiness     60       10     33 drift
    vm.swappiness: no file and no known tuner sets it: changed by hand or by a program
  [4]
  $ gputune revert --root root
  KNOB          BEFORE APPLIED RESULT
  vm.swappiness     60      10 changed by another program: now 33, not changed
  Values that another program changed since were not changed.
  [4]
  $ cat root/proc/sys/vm/swappiness; echo 60 >root/proc/sys/vm/swappiness
  33

Exit 4 too: in force now, but not after the next boot.

  $ gputune apply --root root --only vm. --persist
  KNOB                         BEFORE    APPLIED RESULT
  vm.dirty_ratio                 20 %       10 % written
  vm.dirty_background_ratio      10 %        5 % written
  vm.swappiness                    60         10 written
  vm.zone_reclaim_mode              1          0 written
  vm.max_map_count              65530     262144 written
  vm.min_free_kbytes        67584 KiB 135168 KiB written
  /etc/sysctl.d/90-gputune.conf: written
  $ cat root/etc/sysctl.d/90-gputune.conf
  # Written by gputune. Not to be edited: a changed file is neither overwritten nor removed.
  # checksum: d848cdfa
  vm.dirty_ratio = 10
  vm.dirty_background_ratio = 5
  vm.swappiness = 10
  vm.zone_reclaim_mode = 0
  vm.max_map_count = 262144
  vm.min_free_kbytes = 135168
  $ echo 'vm.swappiness = 61' >>root/etc/sysctl.conf
  $ gputune verify --root root
  KNOB                         BEFORE   EXPECTED     ACTUAL RESULT
  vm.dirty_ratio                 20 %       10 %       10 % ok
  vm.dirty_background_ratio      10 %        5 %        5 % ok
  vm.swappiness                    60         10         10 lost at boot
  vm.zone_reclaim_mode              1          0          0 ok
  vm.max_map_count              65530     262144     262144 ok
  vm.min_free_kbytes        67584 KiB 135168 KiB 135168 KiB ok
    vm.swappiness: /etc/sysctl.d/99-sysctl.conf:3 sets it to 61 and is read after
    /etc/sysctl.d/90-gputune.conf
  /etc/sysctl.d/90-gputune.conf: ok
  [4]

Exit 5: after a reboot the files can be removed; the values that came from them stay until the next one.

  $ sed -i '$d' root/etc/sysctl.conf
  $ echo another-boot >root/proc/sys/kernel/random/boot_id
  $ gputune verify --root root >/dev/null
  $ gputune status --root root | head -1
  applied since *Z, before the last reboot, profile train-cpu, by gputune (process *) (glob)
  $ gputune revert --root root
  KNOB                         BEFORE    APPLIED RESULT
  vm.min_free_kbytes        67584 KiB 135168 KiB stays until reboot
  vm.max_map_count              65530     262144 stays until reboot
  vm.zone_reclaim_mode              1          0 stays until reboot
  vm.swappiness                    60         10 stays until reboot
  vm.dirty_background_ratio      10 %        5 % stays until reboot
  vm.dirty_ratio                 20 %       10 % stays until reboot
  /etc/sysctl.d/90-gputune.conf: restored
  The files are removed. Values that they set at boot stay until the next boot.
  [5]
  $ gputune verify --root root
  Reverted; some values stay until the next boot.
  [5]
  $ ls root/etc/sysctl.d
  99-sysctl.conf
  $ echo third-boot >root/proc/sys/kernel/random/boot_id
  $ gputune verify --root root
  Nothing is applied.

Exit 6: every later call finds a process that was killed during apply, and recover rolls it back.

  $ rm -r root; cp -a before root
  $ (GT_FAULT=12:KILL gputune apply --root root; true) 2>/dev/null
  $ diff -rq --no-dereference --exclude=var before root
  Files before/proc/sys/vm/dirty_ratio and root/proc/sys/vm/dirty_ratio differ
  [1]
  $ for c in plan apply verify revert; do gputune $c --root root; echo $?; done
  gputune: a transaction of process * (gputune) was interrupted, and 16 values may still be changed: run gputune recover (glob)
  6
  gputune: a transaction of process * (gputune) was interrupted, and 16 values may still be changed: run gputune recover (glob)
  6
  gputune: a transaction of process * (gputune) was interrupted, and 16 values may still be changed: run gputune recover (glob)
  6
  gputune: a transaction of process * (gputune) was interrupted, and 16 values may still be changed: run gputune recover (glob)
  6
  $ gputune status --root root | head -1
  interrupted since *Z, profile train-cpu, by gputune (process *) (glob)
  $ gputune recover --root root | grep -v 'as before'
  KNOB                               BEFORE     APPLIED RESULT
  vm.dirty_ratio                       20 %        10 % restored
  $ diff -r --no-dereference --exclude=var before root
  $ gputune recover --root root
  No transaction was interrupted.

An edited file is neither overwritten nor removed.

  $ gputune apply --root root --only vm.swappiness --persist >/dev/null
  $ echo 'vm.swappiness = 5' >>root/etc/sysctl.d/90-gputune.conf
  $ gputune apply --root root --only vm.max_map_count --persist
  gputune: /etc/sysctl.d/90-gputune.conf was changed by another program and is not overwritten: nothing is changed; move it away first
  [3]
  $ gputune revert --root root
  KNOB          BEFORE APPLIED RESULT
  vm.swappiness     60      10 restored
  /etc/sysctl.d/90-gputune.conf: changed by another program
  Values that another program changed since were not changed.
  [4]
  $ tail -2 root/etc/sysctl.d/90-gputune.conf
  vm.swappiness = 10
  vm.swappiness = 5

A damaged journal is one sentence.

  $ gputune apply --root root --only vm.swappiness >/dev/null
  $ sed -i '2s/60/61/' root/var/lib/gputune/journal
  $ gputune revert --root root
  gputune: record 2 of the journal /var/lib/gputune/journal is damaged; nothing is changed: restore the old values that it lists by hand, then remove it
  [3]

The history of this host can be read. Reading creates no file.

  $ rm -rf root && $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root && gputune history --root root
  Nothing was applied on this host yet.
  $ export USER=admin; unset SUDO_USER; gputune apply --root root --only vm.swappiness -q >out
  $ gputune verify --root root >out && gputune revert --root root >out
  $ gputune history --root root --verbose | sed 's/^20[0-9T:-]*Z/WHEN/'
  WHEN  apply train-cpu: applied, 1 value, by admin
      vm.swappiness: written, 60 → 10
  WHEN  revert: reverted, 1 value, by admin
      vm.swappiness: restored, 10 → 60
  $ echo garbage >>root/var/lib/gputune/history; gputune history --root root | sed 's/^20[0-9T:-]*Z/WHEN/'
  WHEN  apply train-cpu: applied, 1 value, by admin
  WHEN  revert: reverted, 1 value, by admin
  1 line of the history cannot be read.
  $ gputune history --root root --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], [r["command"] for r in d["records"]], d["damaged"])'
  gputune-history/1 ['apply', 'revert'] 1

The user's name is an environment variable: its control characters reach neither the record nor a terminal.

  $ rm -f root/var/lib/gputune/history; SUDO_USER=$'eve\e[2J\a\xc2\x9bx' gputune apply --root root --only vm.swappiness -q >out
  $ gputune history --root root | sed 's/^20[0-9T:-]*Z/WHEN/' | cat -v
  WHEN  apply train-cpu: applied, 1 value, by eve?[2J???x
  $ SUDO_USER=$(printf %500s | tr ' ' u) gputune revert --root root -q >out; tail -n 1 root/var/lib/gputune/history | grep -o 'u\{10,\}' | wc -c
  65
  $ sed -i 's/eve[^"]*/eve\\u001b[2J/' root/var/lib/gputune/history; gputune history --root root | sed 's/^20[0-9T:-]*Z/WHEN/' | head -1 | cat -v
  WHEN  apply train-cpu: applied, 1 value, by eve?[2J

Also a failed apply: values that were written and rolled back.

  $ rm -f root/var/lib/gputune/history; GT_FAULT=9:EIO gputune apply --root root --only vm.dirty_ratio --only vm.dirty_background_ratio --only vm.swappiness --persist --json 2>err | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["result"], [(v["knob"], v["result"]) for v in d["values"]])'; cat err
  failed [('vm.swappiness', 'rolled back'), ('vm.dirty_background_ratio', 'rolled back'), ('vm.dirty_ratio', 'rolled back')]
  gputune: cannot write /etc/sysctl.d/90-gputune.conf: Input/output error; all old values are restored
  $ gputune history --root root --verbose | sed 's/^20[0-9T:-]*Z/WHEN/'
  WHEN  apply train-cpu: failed, 3 values, by admin
      vm.swappiness: rolled back, 60 → 10
      vm.dirty_background_ratio: rolled back, 10 → 5 %
      vm.dirty_ratio: rolled back, 20 → 10 %

A user who cannot read the journal gets the state of the files in /etc, and a note that this is incomplete: exit 3, or 4 for
drift.

  $ cd "$HOME"; rm -rf root; $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root; gputune apply -q --root root --persist --only vm.swappiness --only vm.dirty_ratio --only cpu.governor --only block.read_ahead >/dev/null
  $ { echo gpuprobe-capture/1; echo 'deny /var/lib/gputune/journal EACCES'; for f in etc/sysctl.d/90-gputune.conf etc/tmpfiles.d/90-gputune.conf etc/udev/rules.d/90-gputune.rules proc/sys/vm/swappiness proc/sys/vm/dirty_ratio sys/devices/system/cpu/cpufreq/policy0/scaling_governor; do echo "file /$f"; sed 's/^/\t/' root/$f; done; } >seen.host
  $ gputune status --root seen.host
  KNOB                 BEFORE     APPLIED RESULT
  vm.dirty_ratio            ?        10 % kept
  vm.swappiness             ?          10 kept
  cpu.governor:policy0      ? performance kept
  cpu.governor:policy1      ? performance kept
  /etc/sysctl.d/90-gputune.conf: kept
  /etc/tmpfiles.d/90-gputune.conf: kept
  /etc/udev/rules.d/90-gputune.rules: kept
  These are the files of gputune in /etc. Values that last until the next boot and interrupted
  transactions are in the journal, which only root can read: sudo gputune status
  [3]
  $ gputune verify --root seen.host
  KNOB                 BEFORE    EXPECTED      ACTUAL RESULT
  vm.dirty_ratio            ?        10 %        10 % ok
  vm.swappiness             ?          10          10 ok
  cpu.governor:policy0      ? performance performance ok
  cpu.governor:policy1      ? performance   not there n/a
  /etc/sysctl.d/90-gputune.conf: ok
  /etc/tmpfiles.d/90-gputune.conf: ok
  /etc/udev/rules.d/90-gputune.rules: ok
  These are the files of gputune in /etc. Values that last until the next boot and interrupted
  transactions are in the journal, which only root can read: sudo gputune verify
  [3]
  $ sed -i '/proc.sys.vm.dirty_ratio/{n;s/10/40/}' seen.host; gputune verify --root seen.host --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["result"], d["journal"], [(v["knob"], v["old"], v["new"], v["actual"]) for v in d["values"] if v["result"] == "drift"])'; gputune verify --root seen.host >/dev/null
  drift not readable [('vm.dirty_ratio', None, '10', '40')]
  [4]
  $ sed -i 's/^\tvm.swappiness = 10/\tvm.swappiness = 11/' seen.host; gputune verify --root seen.host; gputune status --root seen.host
  KNOB                 BEFORE    EXPECTED      ACTUAL RESULT
  cpu.governor:policy0      ? performance performance ok
  cpu.governor:policy1      ? performance   not there n/a
  /etc/sysctl.d/90-gputune.conf: changed by another program
  /etc/tmpfiles.d/90-gputune.conf: ok
  /etc/udev/rules.d/90-gputune.rules: ok
  These are the files of gputune in /etc. Values that last until the next boot and interrupted
  transactions are in the journal, which only root can read: sudo gputune verify
  KNOB                 BEFORE     APPLIED RESULT
  cpu.governor:policy0      ? performance kept
  cpu.governor:policy1      ? performance kept
  /etc/sysctl.d/90-gputune.conf: changed by another program
  /etc/tmpfiles.d/90-gputune.conf: kept
  /etc/udev/rules.d/90-gputune.rules: kept
  These are the files of gputune in /etc. Values that last until the next boot and interrupted
  transactions are in the journal, which only root can read: sudo gputune status
  [3]
  $ printf 'gpuprobe-capture/1\ndeny /var/lib/gputune/journal EACCES\ndeny /var/lib/gputune/history EACCES\n' >bare.host
  $ for c in status verify history revert; do gputune $c --root bare.host; echo $?; done
  gputune has no files in /etc. Values that last until the next boot and interrupted transactions are
  in the journal, which only root can read: sudo gputune status
  3
  gputune has no files in /etc. Values that last until the next boot and interrupted transactions are
  in the journal, which only root can read: sudo gputune verify
  3
  gputune: cannot read /var/lib/gputune/history: Permission denied; only root may read it: sudo gputune history
  3
  gputune: cannot read the journal /var/lib/gputune/journal: Permission denied; only root may read it: use sudo
  3

A chosen setting that cannot be read is left out of apply without a plan, and the status is 3. The others are applied.

  $ cp -a before eio; rm eio/proc/sys/vm/swappiness; mkdir eio/proc/sys/vm/swappiness
  $ gputune apply --root eio --only vm.swappiness --only vm.max_map_count
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count  65530  262144 written
    left out: vm.swappiness: cannot read /proc/sys/vm/swappiness: Is a directory
  [3]
  $ gputune apply --root eio --only vm.swappiness --json | grep -A3 left_out
    "left_out": [
      {
        "knob": "vm.swappiness",
        "instance": null,
  $ gputune plan --root eio --only vm.swappiness --only vm.max_map_count -o eio.json >/dev/null; gputune apply --root eio eio.json
  Nothing to change.
