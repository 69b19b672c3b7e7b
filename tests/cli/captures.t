Persistent settings leave out what is read-only.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root; printf '/proc/sys/%s\n' vm kernel net fs >root/.facts/read_only
  $ gputune apply --root root --persist --only vm.
  Nothing to change.

A capture has the directories that are read-only. The plan for it blocks the same settings as the plan for the host.

  $ frozen() { unshare -rm sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec "$@"' - "$@"; }
  $ frozen true 2>/dev/null || { echo 'nothing can be mounted here'; exit 80; }
  $ frozen gputune plan --optional --json | grep -E '"path"|"read-only here' >live
  $ frozen gpuprobe capture host.host; gputune plan --optional --json --root host.host | grep -E '"path"|"read-only here' >captured
  $ cmp live captured
