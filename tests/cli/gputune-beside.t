Reading takes no lock: changes by a concurrent apply or revert are not reported as drift.

  $ strace -qq -o /dev/null true || { echo 'nothing can be traced here'; exit 80; }
  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root; mkdir -p root/etc/sysctl.d
  $ slow() { ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 timeout 60 strace -qq -o /dev/null -P /etc/sysctl.d -e trace=openat,openat2 -e inject=openat,openat2:delay_enter=3000000:when=$1 gputune verify --root root >said; echo $? >>said; }
  $ slow 1 & sleep 1; gputune apply --root root --only vm. --persist >/dev/null; wait; cat said
  KNOB                      BEFORE EXPECTED ACTUAL RESULT
  vm.dirty_ratio              20 %     10 %   10 % ok
  vm.dirty_background_ratio   10 %      5 %    5 % ok
  vm.max_map_count           65530   262144 262144 ok
  /etc/sysctl.d/90-gputune.conf: ok
  0
  $ slow 1 & sleep 1; gputune revert --root root >/dev/null; wait; cat said
  Nothing is applied.
  0

Each of its reads opens that directory twice. If another change interferes again, verify says so.

  $ slow 1+2 & sleep 1; gputune apply --root root --only vm. --persist >/dev/null; sleep 3; gputune revert --root root >/dev/null; wait; cat said
  A transaction or an experiment is in progress. Run gputune verify again after its end.
  5
