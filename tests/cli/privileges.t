A program has no more rights than its caller: none of the three runs setuid or setgid.

  $ [ $(id -u) = 0 ] || { echo 'only root can make a setuid program'; exit 80; }
  $ for p in gpuprobe gputune gpubench; do cp $BUILDDIR/$p . && chown nobody $p && chmod u+s $p; done
  $ for p in ./gpuprobe ./gputune ./gpubench; do $p --version 2>&1 | grep -v '^=='; done
  gpuprobe: this program has privileges that its caller may lack (setuid, setgid or file capabilities) and refuses to run; use sudo instead
  gputune: this program has privileges that its caller may lack (setuid, setgid or file capabilities) and refuses to run; use sudo instead
  gpubench: this program has privileges that its caller may lack (setuid, setgid or file capabilities) and refuses to run; use sudo instead
  $ chown root:nogroup gputune; chmod u-s,g+s gputune; ./gputune run -- true
  gputune: this program has privileges that its caller may lack (setuid, setgid or file capabilities) and refuses to run; use sudo instead
  [64]
  $ chmod g-s gputune; ./gputune run --no-preload -- echo as ever
  as ever

Reverting nothing changes nothing, and needs few rights: three of root's capabilities are kept for files of the kernel, and
child processes cannot get others.

  $ strace -qq -o /dev/null true || { echo 'nothing can be traced here'; exit 80; }
  $ [ ! -e /var/lib/gputune/journal ] || { echo 'this host is tuned'; exit 80; }
  $ strace -f -qq -o trace gputune recover >/dev/null 2>&1; grep -o 'PR_SET_NO_NEW_PRIVS, 1' trace
  PR_SET_NO_NEW_PRIVS, 1
  $ grep capset trace | grep -o 'CAP_[A-Z_]*' | grep -vxE 'CAP_SYS_(ADMIN|PTRACE)|CAP_SYSLOG'
  [1]

Files that root follows must be root's: a plan contains the changes, and a resumed session also the commands to run.

  $ gputune plan --only vm.swappiness -o plan.json >/dev/null; chown nobody plan.json
  $ gpubench run --plan plan.json --workload null 2>&1 | sed "s,$PWD,PWD,g"
  gpubench: PWD/plan.json does not belong to root: refused; install -m 600 PWD/plan.json ~root/, then check and use the copy (a chown is not enough: the file may be open for writing)
  $ echo '{}' >r.json; chown nobody r.json; gpubench resume r.json 2>&1 | sed "s,$PWD,PWD,g"
  gpubench: PWD/r.json does not belong to root: refused; install -m 600 PWD/r.json ~root/, then check and use the copy (a chown is not enough: the file may be open for writing)
  $ gpubench run --plan plan.json --workload null 2>/dev/null
  [64]

Only root changes settings of the host: other users are told before anything is measured.

  $ cp $BUILDDIR/gpubench bench; chmod 755 .; chmod u-s bench
  $ runuser -u nobody -- ./bench ab --knob vm.max_map_count=1000003 --workload null --quick
  gpubench: one arm changes 1 setting of the host, which needs root: use sudo, or compare changes that need no root (--no-plan, --env, --library)
  [5]
