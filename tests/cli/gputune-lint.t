Lines of the admin's own that do nothing, contradict each other or harm: with file and line, as those who read them take them.

  $ mkdir -p r/etc/modprobe.d r/etc/sysctl.d r/etc/default/grub.d r/usr/lib/modprobe.d r/lib/modules/6.1.0 r/sys/module/nvme_core/parameters r/proc/sys/kernel r/proc/sys/vm
  $ cd r; echo 6.1.0 >proc/sys/kernel/osrelease; touch proc/sys/vm/swappiness proc/sys/vm/dirty_ratio proc/sys/vm/dirty_bytes; gputune lint --root .
  nothing to complain about in sysctl.d, modprobe.d and /etc/default/grub

What comes later replaces what came before: for one key, and for the two of a pair.

  $ printf 'vm.swappiness = 1\nvm.dirty_bytes = 1000000\n' >etc/sysctl.d/10-a.conf
  $ printf 'vm.swappiness = 2\nvm.dirty_ratio = 10\n' >etc/sysctl.d/20-b.conf
  $ gputune lint --root .
  WHERE                     SEVERITY WHAT
  /etc/sysctl.d/10-a.conf:1 warning  vm.swappiness = 1: not so, /etc/sysctl.d/20-b.conf:1 sets it to 2
                                     later
  /etc/sysctl.d/10-a.conf:2 warning  vm.dirty_bytes: not so, /etc/sysctl.d/20-b.conf:2 sets
                                     vm.dirty_ratio later, which takes its place
  $ rm etc/sysctl.d/*

modprobe: files and words that it does not read, modules that are never loaded or built in, what another line replaces, what the
loaded module does not have yet, and what harms.

  $ echo kernel/drivers/char/tpm/tpm-tis.ko >lib/modules/6.1.0/modules.builtin; echo 30 >sys/module/nvme_core/parameters/io_timeout
  $ printf 'options nvme_core io_timeout=255\noption kvm a=1\noptions nvidia NVreg_RegistryDwords="ForceP2P=1; Other=2"\ninstall nouveau /bin/false\n' >etc/modprobe.d/a.conf
  $ printf 'options nouveau modeset=0\noptions tpm-tis \\\n  force=1\noptions kvm ignore_msrs=0 nx=Y\noptions kvm nx=Y\nblacklist nvidia\n' >etc/modprobe.d/b.conf
  $ echo 'options kvm ignore_msrs=1' >usr/lib/modprobe.d/z.conf; echo 'options a b=1' >etc/modprobe.d/lost; touch etc/modprobe.d/b.conf.dpkg-old
  $ gputune lint --root .
  WHERE                    SEVERITY WHAT
  /etc/modprobe.d/lost     warning  not read: modprobe takes only names that end in .conf
  /etc/modprobe.d/a.conf:2 warning  ignored: modprobe knows no 'option'
  /etc/modprobe.d/b.conf:6 warning  nvidia is not loaded at boot, only once a program asks for it by
                                    name
  /etc/modprobe.d/a.conf:1 note     nvme_core runs with io_timeout=30: it was loaded before this line
                                    was there, or from an initramfs without it (update-initramfs -u,
                                    then reboot), or another program set it since
  /etc/modprobe.d/a.conf:3 bad      NVreg_RegistryDwords forces transfers between GPUs that the
                                    platform does not support: wrong data
  /etc/modprobe.d/b.conf:1 warning  options of nouveau are never used: /etc/modprobe.d/a.conf:4 keeps
                                    it from being loaded
  /etc/modprobe.d/b.conf:2 warning  never used: tpm_tis is built into this kernel; tpm_tis.force=1
                                    goes on the kernel's command line
  /etc/modprobe.d/b.conf:4 warning  kvm ignore_msrs=0: not so, /usr/lib/modprobe.d/z.conf:1 sets it to
                                    1 later
  $ echo 255 >sys/module/nvme_core/parameters/io_timeout; gputune lint --root . | grep -c nvme_core
  0
  [1]
  $ rm -r etc/modprobe.d

GRUB: what sh makes of the files, and what of it the running kernel has.

  $ echo 'BOOT_IMAGE=/vmlinuz quiet amd_iommu=off' >proc/cmdline
  $ printf 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\nGRUB_CMDLINE_LINUX="amd_iommu=off vm.swappiness=1"\nGRUB_CMDLINE_LINUX_DEFUALT="x"\nGRUB_CMDLINE_LINUX = y\n' >etc/default/grub
  $ echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=2-63 init_on_free=0"' >etc/default/grub.d/50-cloud.cfg
  $ printf 'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} \\\n  iommu=pt init_on_free=1"\nGRUB_CMDLINE_LINUX+=" z"\n' >etc/default/grub.d/60-own.cfg; echo >etc/default/grub.d/70-own.conf
  $ gputune lint --root .
  WHERE                              SEVERITY WHAT
  /etc/default/grub.d/70-own.conf    warning  not read: update-grub takes only names that end in .cfg
  /etc/default/grub:3                warning  never used: GRUB knows no GRUB_CMDLINE_LINUX_DEFUALT
  /etc/default/grub:4                warning  no assignment: sh allows no blank before the = of
                                              GRUB_CMDLINE_LINUX
  /etc/default/grub:1                warning  does not reach the kernel: splash;
                                              /etc/default/grub.d/50-cloud.cfg:1 sets
                                              GRUB_CMDLINE_LINUX_DEFAULT anew, without
                                              $GRUB_CMDLINE_LINUX_DEFAULT in it
  /etc/default/grub.d/60-own.cfg:3   warning  no assignment: += is bash's, and GRUB's files are read
                                              by sh; GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX ..."
  /etc/default/grub:2                warning  vm.swappiness=1: does nothing: the kernel takes it as
                                              sysctl.vm.NAME
  /etc/default/grub.d/50-cloud.cfg:1 warning  isolcpus=2-63: the scheduler puts nothing there by
                                              itself: loader workers pile up on the rest
                                              (boot.isolcpus)
  /etc/default/grub.d/50-cloud.cfg:1 warning  init_on_free=0: not so, init_on_free=1 of
                                              /etc/default/grub.d/60-own.cfg:1 comes later and
                                              replaces it
  /etc/default/grub.d/60-own.cfg:1   note     init_on_free=1: all freed memory is written once more
                                              (boot.init_on_free)
  /etc/default/grub.d/60-own.cfg:1   warning  iommu=pt: has no effect beside amd_iommu=off of
                                              /etc/default/grub:2
  /etc/default/grub:2                note     this kernel was started without vm.swappiness=1: no
                                              update-grub, or no reboot, since the line was written
  /etc/default/grub.d/50-cloud.cfg:1 note     this kernel was started without isolcpus=2-63
                                              init_on_free=0: no update-grub, or no reboot, since the
                                              line was written
  /etc/default/grub.d/60-own.cfg:1   note     this kernel was started without iommu=pt init_on_free=1:
                                              no update-grub, or no reboot, since the line was written
  $ gputune lint --root . --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], len(d["findings"]), d["findings"][-1]["file"], d["findings"][-1]["line"])'
  gputune-lint/1 13 /etc/default/grub.d/60-own.cfg 1
  $ rm -r etc/default/grub.d; printf 'if true; then\n  GRUB_CMDLINE_LINUX="$(cat /x) a"\nfi\nGRUB_CMDLINE_LINUX_DEFAULT="quiet\n' >etc/default/grub; gputune lint --root .
  WHERE               SEVERITY WHAT
  /etc/default/grub:4 bad      a quote is not closed: update-grub fails at GRUB_CMDLINE_LINUX_DEFAULT
  $ printf 'GRUB_CMDLINE_LINUX="quiet"\n' >etc/default/grub; echo console=ttyS0 >proc/cmdline; gputune lint --root .
  WHERE             SEVERITY WHAT
  /etc/default/grub note     this kernel was not started by GRUB (no BOOT_IMAGE= in /proc/cmdline):
                             nothing of it applies
