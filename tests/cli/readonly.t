A read-only /etc is detected before anything is changed, and only if it must be written.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root; mkdir -p root/etc/sysctl.d
  $ frozen() { unshare -rm sh -c 'mount --bind root/etc root/etc && mount -o remount,ro,bind root/etc && exec "$@"' - "$@"; }
  $ frozen true 2>/dev/null || { echo 'nothing can be mounted here'; exit 80; }
  $ frozen gputune apply --root root --only vm. --persist
  gputune: /etc/sysctl.d is read-only: nothing is changed; without --persist settings last until the next boot
  [3]
  $ gputune apply --root root --only vm. --persist >/dev/null; gputune verify --root root >held
  $ frozen gputune apply --root root --only vm. --persist
  Nothing to change.

A file that cannot be removed does not stop revert: the record keeps the rest, and recover completes it.

  $ frozen gputune revert --root root
  KNOB                      BEFORE APPLIED RESULT
  vm.max_map_count           65530  262144 restored
  vm.dirty_background_ratio   10 %     5 % restored
  vm.dirty_ratio              20 %    10 % restored
  /etc/sysctl.d/90-gputune.conf: failed
  gputune: 1 value or file could not be restored (/etc/sysctl.d/90-gputune.conf: Read-only file system); all others are restored. The journal keeps the rest: remount its file system read-write, then run gputune recover
  [6]
  $ gputune status --root root | tail -n +2
  KNOB                      BEFORE APPLIED RESULT
  vm.dirty_ratio              20 %    10 % interrupted
  vm.dirty_background_ratio   10 %     5 % interrupted
  vm.max_map_count           65530  262144 interrupted
  /etc/sysctl.d/90-gputune.conf: interrupted
  $ gputune recover --root root
  KNOB                      BEFORE APPLIED RESULT
  vm.max_map_count           65530  262144 as before
  vm.dirty_background_ratio   10 %     5 % as before
  vm.dirty_ratio              20 %    10 % as before
  /etc/sysctl.d/90-gputune.conf: restored
  $ gputune status --root root; ls root/etc/sysctl.d
  Nothing is applied.

The same for a hidden /sys.

  $ mkdir -p root/sys/kernel/mm/transparent_hugepage && echo 'always madvise [never]' >root/sys/kernel/mm/transparent_hugepage/enabled
  $ gputune apply --root root --optional --only thp.enabled --only vm.max_map_count >/dev/null
  $ unshare -rm sh -c 'mount -t tmpfs none root/sys && exec gputune revert --root root'
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count  65530  262144 restored
  thp.enabled       never madvise failed
  gputune: 1 value or file could not be restored (/sys/kernel/mm/transparent_hugepage/enabled: No such file or directory); all others are restored. The journal keeps the rest: mount the missing file system as on the host, then run gputune recover
  [6]
  $ unshare -rm sh -c 'mount -t tmpfs none root/sys && exec gputune recover --root root'
  KNOB        BEFORE APPLIED RESULT
  thp.enabled  never madvise failed
  gputune: 1 value or file could not be restored (/sys/kernel/mm/transparent_hugepage/enabled: No such file or directory); all others are restored. The journal keeps the rest: mount the missing file system as on the host, then run gputune recover
  [6]
  $ gputune recover --root root
  KNOB        BEFORE APPLIED RESULT
  thp.enabled  never madvise restored
  $ gputune status --root root; gputune apply --root root --only vm. --persist >/dev/null
  Nothing is applied.

A file that another program changed is not removed, and does not prevent the values from being restored.

  $ echo '# mine' >>root/etc/sysctl.d/90-gputune.conf; frozen gputune revert --root root
  KNOB                      BEFORE APPLIED RESULT
  vm.max_map_count           65530  262144 restored
  vm.dirty_background_ratio   10 %     5 % restored
  vm.dirty_ratio              20 %    10 % restored
  /etc/sysctl.d/90-gputune.conf: changed by another program
  Values that another program changed since were not changed.
  [4]
  $ gputune status --root root
  Nothing is applied.
