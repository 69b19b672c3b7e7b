Where /proc hides processes from who looks (hidepid=2), one that is at work is not taken for dead, and its work not undone.

  $ [ $(id -u) = 0 ] && unshare -mpf mount -t proc -o hidepid=2,gid=1234 proc /proc 2>/dev/null && setpriv true || { echo 'only root can hide processes'; exit 80; }
  $ $BUILDDIR/tests/cli/unpack $FIXTURES/vm-2cpu.host root
  $ (GT_FAULT=12:KILL gputune apply --root root; true) 2>/dev/null
  $ gputune verify --root root 2>&1 | sed 's/process [0-9]*/process N/'
  gputune: a transaction of process N (gputune) was interrupted and 3 values may not be as before: run gputune recover
  $ cat >owner.py <<'X'
  > # The transaction is that of process PID now.
  > import json, re, sys
  > def crc32c(data):
  >     c = 0xffffffff
  >     for byte in data:
  >         c ^= byte
  >         for _ in range(8):
  >             c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
  >     return c ^ 0xffffffff
  > name, pid = "root/var/lib/gputune/journal", sys.argv[1]
  > first, rest = open(name).read().split("\n", 1)
  > rec = json.loads(first[9:])
  > rec.update(pid=int(pid), start=int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19]))
  > text = json.dumps(rec)
  > open(name, "w").write(f"{crc32c(text.encode()):08x} {text}\n{rest}")
  > X
  $ cat >hidden.sh <<'X'
  > mount -t proc -o hidepid=2,gid=1234 proc /proc || exit
  > sleep 100 & pid=$!
  > python3 owner.py $pid
  > as() { setpriv --bounding-set=$1 --inh-caps=-all --no-new-privs "$BUILDDIR/gputune" $2 --root root; echo "$2: $?"; }
  > all() { as -all verify; as -all,+sys_admin apply; as -all,+sys_admin recover; as +all recover; } 2>&1
  > all
  > kill $pid
  > wait $pid 2>/dev/null
  > all
  > X
  $ unshare -mpf sh hidden.sh 2>&1 | sed 's/process [0-9]*/process N/'
  Somebody is in the middle of a change or an experiment: ask again when it is over.
  verify: 5
  gputune: process N (gputune) is in the middle of a transaction: try again when it is done
  apply: 3
  gputune: process N (gputune) is in the middle of a transaction: try again when it is done
  recover: 3
  gputune: process N (gputune) is in the middle of a transaction: try again when it is done
  recover: 3
  gputune: a transaction of process N (gputune) was interrupted and 3 values may not be as before: run gputune recover
  verify: 6
  gputune: a transaction of process N (gputune) was interrupted and 3 values may not be as before: run gputune recover
  apply: 6
  KNOB                      BEFORE   OURS RESULT
  vm.max_map_count           65530 262144 as before
  vm.dirty_background_ratio     10      5 as before
  vm.dirty_ratio                20     10 restored
  recover: 0
  Nothing was interrupted.
  recover: 0
