Tunables of a newer gputune are left unchanged and stay in the journal: the newer version reverts them.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root
  $ gputune apply --root root --only vm.dirty_ratio --only vm.max_map_count >/dev/null
  $ mv root/proc/sys/vm/dirty_ratio root/proc/sys/vm/newer
  $ python3 $TESTDIR/cli/journal.py root/var/lib/gputune/journal 'if r.get("knob") == "vm.dirty_ratio": r.update(knob="vm.newer", path="/proc/sys/vm/newer")'
  $ gputune revert --root root
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count  65530  262144 restored
  vm.newer             20      10 unknown to this version, not changed
  Settings that this version of gputune does not know were not changed. Their record is kept until the
  next boot, and a newer gputune can revert them.
  [4]
  $ gputune status --root root | tail -n +2; gputune verify --root root
  KNOB     BEFORE APPLIED RESULT
  vm.newer     20      10 applied
  KNOB     BEFORE EXPECTED    ACTUAL RESULT
  vm.newer     20       10 not there n/a

They do not prevent apply, and no change is reverted twice.

  $ gputune apply --root root --only vm.max_map_count; gputune revert --root root
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count  65530  262144 written
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count  65530  262144 restored
  vm.newer             20      10 unknown to this version, not changed
  Settings that this version of gputune does not know were not changed. Their record is kept until the
  next boot, and a newer gputune can revert them.
  [4]

With the newer version again:

  $ python3 $TESTDIR/cli/journal.py root/var/lib/gputune/journal 'if r.get("knob") == "vm.newer": r.update(knob="vm.dirty_ratio", path="/proc/sys/vm/dirty_ratio")'
  $ mv root/proc/sys/vm/newer root/proc/sys/vm/dirty_ratio
  $ gputune revert --root root; gputune status --root root
  KNOB           BEFORE APPLIED RESULT
  vm.dirty_ratio   20 %    10 % restored
  Nothing is applied.

A journal whose format only a newer gputune reads is refused: nothing is changed.

  $ gputune apply --root root --only vm.dirty_ratio >/dev/null; cp root/var/lib/gputune/journal kept
  $ python3 $TESTDIR/cli/journal.py root/var/lib/gputune/journal 'r.get("rec") == "begin" and r.update(format=r["format"] + 1)'
  $ for c in verify status apply revert; do gputune $c --root root; echo $?; done
  gputune: record 1 of the journal /var/lib/gputune/journal has a format of a newer gputune; nothing is changed: use that version to revert
  3
  gputune: record 1 of the journal /var/lib/gputune/journal has a format of a newer gputune; nothing is changed: use that version to revert
  3
  gputune: record 1 of the journal /var/lib/gputune/journal has a format of a newer gputune; nothing is changed: use that version to revert
  3
  gputune: record 1 of the journal /var/lib/gputune/journal has a format of a newer gputune; nothing is changed: use that version to revert
  3
  $ mv kept root/var/lib/gputune/journal; gputune revert --root root >/dev/null

A removed record is detected.

  $ gputune apply --root root --only vm.dirty_ratio --only vm.max_map_count >/dev/null; sed -i 2d root/var/lib/gputune/journal
  $ gputune revert --root root
  gputune: record 2 of the journal /var/lib/gputune/journal is out of sequence: a record was removed or moved; nothing is changed: restore the old values that it lists by hand, then remove it
  [3]

A rival that resets a value between calls of apply does not make the journal grow.

  $ rm root/var/lib/gputune/journal; for i in $(seq 30); do echo 2$i >root/proc/sys/vm/dirty_ratio; gputune apply --root root --only vm.dirty_ratio >/dev/null; done
  $ test $(wc -c <root/var/lib/gputune/journal) -lt 1000 && gputune revert --root root
  KNOB           BEFORE APPLIED RESULT
  vm.dirty_ratio  230 %    10 % restored
  vm.dirty_ratio   21 %    10 % changed by another program: now 230 %, not changed
  Values that another program changed since were not changed.
  [4]
