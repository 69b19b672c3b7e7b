If /proc hides processes from the caller (hidepid=2), a running process is not taken for dead, and its transaction is not
reverted.

  $ [ $(id -u) = 0 ] && unshare -mpf mount -t proc -o hidepid=2,gid=1234 proc /proc 2>/dev/null && setpriv true || { echo 'only root can hide processes'; exit 80; }
  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root
  $ (GT_FAULT=12:KILL gputune apply --root root; true) 2>/dev/null
  $ gputune verify --root root 2>&1 | sed 's/process [0-9]*/process N/'
  gputune: a transaction of process N (gputune) was interrupted, and 3 values may still be changed: run gputune recover
  $ cat >hidden.sh <<'X'
  > mount -t proc -o hidepid=2,gid=1234 proc /proc || exit
  > sleep 100 & pid=$!
  > code='r["rec"] == "begin" and r.update(pid=int(P), start=int(open(f"/proc/{P}/stat").read().rsplit(")", 1)[1].split()[19]))'
  > python3 $TESTDIR/cli/journal.py root/var/lib/gputune/journal "P = '$pid'; $code"
  > as() { setpriv --bounding-set=$1 --inh-caps=-all --no-new-privs "$BUILDDIR/gputune" $2 --root root; echo "$2: $?"; }
  > all() { as -all verify; as -all,+sys_admin apply; as -all,+sys_admin recover; as +all recover; } 2>&1
  > all
  > kill $pid
  > wait $pid 2>/dev/null
  > all
  > X
  $ unshare -mpf sh hidden.sh 2>&1 | sed 's/process [0-9]*/process N/'
  A transaction or an experiment is in progress. Run gputune verify again after its end.
  verify: 5
  gputune: process N (gputune) is running a transaction: try again later
  apply: 3
  gputune: process N (gputune) is running a transaction: try again later
  recover: 3
  gputune: process N (gputune) is running a transaction: try again later
  recover: 3
  gputune: a transaction of process N (gputune) was interrupted, and 3 values may still be changed: run gputune recover
  verify: 6
  gputune: a transaction of process N (gputune) was interrupted, and 3 values may still be changed: run gputune recover
  apply: 6
  KNOB                      BEFORE APPLIED RESULT
  vm.max_map_count           65530  262144 as before
  vm.dirty_background_ratio   10 %     5 % as before
  vm.dirty_ratio              20 %    10 % restored
  recover: 0
  No transaction was interrupted.
  recover: 0
