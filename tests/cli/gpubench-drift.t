Another program changes a setting during a session: its value stays, the session ends (exit status 5), and gputune's values
are reverted. The setting is a file in a mount namespace of the test, so the host is not changed.

  $ [ $(id -u) = 0 ] && unshare -m true 2> /dev/null || { echo 'only root can mount'; exit 80; }
  $ cat > alone <<'END'
  > mkdir -p /var/lib/gputune; mount -t tmpfs -o mode=0755 none /var/lib/gputune
  > K=/proc/sys/vm/max_map_count; echo 100000 > file; mount --bind file $K
  > . ./steps
  > END
  $ ours() { cat > steps; unshare -m bash alone; }

Undisturbed, each arm has its own value, and the host's value is restored at the end.

  $ ours <<'END'
  > gpubench ab --knob vm.max_map_count=300000 -q --pairs 9 -o x.json -- sh -c "cat $K >> seen" > /dev/null; sort -u seen; cat $K
  > END
  100000
  300000
  100000

In the changed arm the command sets another value: detected when the arm ends.

  $ ours <<'END'
  > gpubench ab --knob vm.max_map_count=300000 -q --pairs 9 --seed 1 -o x.json -- sh -c "grep -qv 300000 $K || echo 200000 > $K" > x.txt 2> said
  > echo $?; cat said $K; grep ^VERDICT x.txt; gputune status
  > END
  5
  gpubench: another program changed a setting during the session; that value was kept (see gputune status)
  200000
  VERDICT INVALID SESSION: another program changed a setting during the session; that value was kept
  Nothing is applied.
  $ python3 -c "import json; d = json.load(open('x.json')); print(d['verdict'], d['exit_code'], len(d['launches']) < 30)"
  invalid 5 True

In an unchanged arm: detected when the next arm begins. prove ends in the same way, in any phase.

  $ ours <<'END'
  > gpubench ab --knob vm.max_map_count=300000 -q --pairs 9 --seed 1 -o x.json -- sh -c "grep -qv 100000 $K || echo 200000 > $K" > x.txt
  > echo $?; cat $K; grep -o 'VERDICT INVALID SESSION: .*changed during the session by another program' x.txt
  > gpubench prove --knob vm.max_map_count=300000 --env A=1 -q --quick --seed 1 -o y.json -- sh -c "grep -qv 300000 $K || echo 250000 > $K" > y.txt
  > echo $?; cat $K; gputune status
  > END
  5
  200000
  VERDICT INVALID SESSION: vm.max_map_count was changed during the session by another program
  gpubench: another program changed a setting during the session; that value was kept (see gputune status)
  5
  250000
  Nothing is applied.

A value that cannot be restored is exit status 5 too, with a remedy.

  $ ours <<'END'
  > gpubench ab --knob vm.max_map_count=300000 -q --pairs 9 --seed 1 -o x.json -- sh -c "grep -qv 300000 $K || { mount --bind $K $K; mount -o remount,ro,bind $K; }" > x.txt 2> said
  > echo $?; grep -o 'cannot restore the host.s settings (run gputune recover)' said | head -1
  > END
  5
  cannot restore the host's settings (run gputune recover)
