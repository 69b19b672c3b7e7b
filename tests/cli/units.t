No unit creates an ordering cycle at boot: a local file system may wait for the network (a bind mount of an NFS path, a FUSE
bucket), and the network waits for the kernel's parameters.

  $ lib=/lib/systemd/system; generator=/lib/systemd/system-generators/systemd-fstab-generator
  $ [ -x $generator ] && [ -e $lib/systemd-networkd.service ] && systemd-analyze --version >/dev/null || { echo 'no systemd here'; exit 80; }
  $ mkdir -p units/multi-user.target.wants units/network-online.target.wants units/sysinit.target.wants units/timers.target.wants
  $ cat >fstab <<'X'
  > tmpfs /var tmpfs defaults 0 0
  > filer:/export /mnt/nfs nfs defaults 0 0
  > /mnt/nfs/data /data none bind 0 0
  > bucket /bucket fuse.s3fs x-systemd.requires=network-online.target 0 0
  > X
  $ SYSTEMD_FSTAB=$PWD/fstab $generator $PWD/units $PWD/units $PWD/units; ls units/*.requires/*.mount
  units/local-fs.target.requires/bucket.mount
  units/local-fs.target.requires/data.mount
  units/local-fs.target.requires/var.mount
  units/remote-fs.target.requires/mnt-nfs.mount
  $ ln -s $lib/systemd-networkd.service units/multi-user.target.wants; ln -s $lib/systemd-networkd-wait-online.service units/network-online.target.wants
  $ cp $BUILDDIR/tune/systemd/*.service units; cp $TESTDIR/../tune/systemd/gputune-devices.service $TESTDIR/../tune/systemd/*.timer units; sed -i 's/^\(Exec[A-Za-z]*\)=.*/\1=true/' units/gputune*.service
  $ boot() { SYSTEMD_UNIT_PATH=$PWD/units:$lib SYSTEMD_LOG_LEVEL=debug systemd-analyze verify --man=no multi-user.target 2>&1; }
  $ boot | grep -Eo '^(data.mount|gputune[a-z.-]*): Installed new job|.* ordering cycle .*'
  data.mount: Installed new job
  $ ln -s ../gputune-recover.service units/sysinit.target.wants; ln -s ../gputune.service units/multi-user.target.wants
  $ ln -s ../gputune-verify.timer units/timers.target.wants; ln -s ../gputune@.service units/multi-user.target.wants/gputune@job.service
  $ boot | grep -Eo '^(data.mount|gputune[a-z@.-]*): Installed new job|.* ordering cycle .*' | sort
  data.mount: Installed new job
  gputune-devices.service: Installed new job
  gputune-recover.service: Installed new job
  gputune-verify.timer: Installed new job
  gputune.service: Installed new job
  gputune@job.service: Installed new job

gputune-recover still runs after the mount of the journal's file system, and before the files that it may remove are read.
In the other order it could not.

  $ mkdir units/var.mount.d; printf '[Unit]\nAfter=systemd-sysctl.service\n' >units/var.mount.d/late.conf
  $ boot | grep -q 'ordering cycle' && echo none has an order
  none has an order
  $ rm units/sysinit.target.wants/gputune-recover.service; boot | grep -q 'ordering cycle' && echo none has an order
  [1]
