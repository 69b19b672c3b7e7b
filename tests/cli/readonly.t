An /etc that cannot be written is seen before anything is changed, and only where it would have to be.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root; mkdir -p root/etc/sysctl.d
  $ frozen() { unshare -rm sh -c 'mount --bind root/etc root/etc && mount -o remount,ro,bind root/etc && exec "$@"' - "$@"; }
  $ frozen true 2>/dev/null || { echo 'nothing can be mounted here'; exit 80; }
  $ frozen gputune apply --root root --only vm. --persist
  gputune: /etc/sysctl.d is read-only: nothing is changed; without --persist settings hold until the next boot
  [3]
  $ gputune apply --root root --only vm. --persist >/dev/null; gputune verify --root root >held
  $ frozen gputune apply --root root --only vm. --persist
  Nothing to change.
  $ frozen gputune revert --root root
  gputune: cannot take /etc/sysctl.d/90-gputune.conf away (Read-only file system): nothing is changed
  [3]
  $ gputune verify --root root | cmp - held

A file that somebody else has changed is not ours to take away, and does not keep the values from going back.

  $ echo '# mine' >>root/etc/sysctl.d/90-gputune.conf; frozen gputune revert --root root
  KNOB                      BEFORE   OURS RESULT
  vm.max_map_count           65530 262144 restored
  vm.dirty_background_ratio     10      5 restored
  vm.dirty_ratio                20     10 restored
  /etc/sysctl.d/90-gputune.conf: changed by someone else
  What someone else has changed since was left alone.
  [4]
  $ gputune status --root root
  Nothing is applied.
