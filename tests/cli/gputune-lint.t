Dead, contradictory and harmful lines of local configuration, with file and line, as their readers parse them.

  $ mkdir -p r/etc/modprobe.d r/etc/sysctl.d r/etc/default/grub.d r/usr/lib/modprobe.d r/lib/modules/6.1.0 r/sys/module/nvme_core/parameters r/proc/sys/kernel r/proc/sys/vm
  $ cd r; echo 6.1.0 >proc/sys/kernel/osrelease; touch proc/sys/vm/swappiness proc/sys/vm/dirty_ratio proc/sys/vm/dirty_bytes; gputune lint --root .
  no findings in sysctl.d, modprobe.d, limits.d, udev/rules.d,
  /etc/default/grub, /etc/tuned and /etc/nccl.conf

A later line replaces an earlier one: for one key, and for the two of a pair.

  $ printf 'vm.swappiness = 1\nvm.dirty_bytes = 1000000\n' >etc/sysctl.d/10-a.conf
  $ printf 'vm.swappiness = 2\nvm.dirty_ratio = 10\n' >etc/sysctl.d/20-b.conf
  $ gputune lint --root .
  WHERE                     SEVERITY WHAT
  /etc/sysctl.d/10-a.conf:1 warning  vm.swappiness = 1: overridden, /etc/sysctl.d/20-b.conf:1 sets it
                                     to 2 later
  /etc/sysctl.d/10-a.conf:2 warning  vm.dirty_bytes: overridden, /etc/sysctl.d/20-b.conf:2 sets
                                     vm.dirty_ratio later, which replaces it
  $ rm etc/sysctl.d/*

modprobe: ignored files and words, modules that are never loaded or built in, replaced lines, options that the loaded module
does not have yet, and harmful options.

  $ echo kernel/drivers/char/tpm/tpm-tis.ko >lib/modules/6.1.0/modules.builtin; echo 30 >sys/module/nvme_core/parameters/io_timeout
  $ printf 'options nvme_core io_timeout=255\noption kvm a=1\noptions nvidia NVreg_RegistryDwords="ForceP2P=1; Other=2"\ninstall nouveau /bin/false\n' >etc/modprobe.d/a.conf
  $ printf 'options nouveau modeset=0\noptions tpm-tis \\\n  force=1\noptions kvm ignore_msrs=0 nx=Y\noptions kvm nx=Y\nblacklist nvidia\n' >etc/modprobe.d/b.conf
  $ echo 'options kvm ignore_msrs=1' >usr/lib/modprobe.d/z.conf; echo 'options a b=1' >etc/modprobe.d/lost; touch etc/modprobe.d/b.conf.dpkg-old
  $ gputune lint --root .
  WHERE                    SEVERITY WHAT
  /etc/modprobe.d/lost     warning  not read: modprobe reads only names that end in .conf
  /etc/modprobe.d/a.conf:2 warning  ignored: modprobe does not know 'option'
  /etc/modprobe.d/b.conf:6 warning  nvidia is not loaded at boot, only when a program requests it by
                                    name
  /etc/modprobe.d/a.conf:1 note     nvme_core runs with io_timeout=30: it was loaded before this line
                                    existed, or from an initramfs without it (update-initramfs -u,
                                    then reboot), or another program changed it
  /etc/modprobe.d/a.conf:3 bad      NVreg_RegistryDwords forces transfers between GPUs that the
                                    platform does not support, which can corrupt data
  /etc/modprobe.d/b.conf:1 warning  options of nouveau are never used: /etc/modprobe.d/a.conf:4
                                    prevents its loading
  /etc/modprobe.d/b.conf:2 warning  never used: tpm_tis is built into this kernel; put tpm_tis.force=1
                                    on the kernel's command line
  /etc/modprobe.d/b.conf:4 warning  kvm ignore_msrs=0: overridden, /usr/lib/modprobe.d/z.conf:1 sets
                                    it to 1 later
  $ echo 255 >sys/module/nvme_core/parameters/io_timeout; gputune lint --root . | grep -c nvme_core
  0
  [1]
  $ rm -r etc/modprobe.d

GRUB: the result of the files as sh evaluates them, compared with the running kernel's arguments.

  $ echo 'BOOT_IMAGE=/vmlinuz quiet amd_iommu=off' >proc/cmdline
  $ printf 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\nGRUB_CMDLINE_LINUX="amd_iommu=off vm.swappiness=1"\nGRUB_CMDLINE_LINUX_DEFUALT="x"\nGRUB_CMDLINE_LINUX = y\n' >etc/default/grub
  $ echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=2-63 init_on_free=0"' >etc/default/grub.d/50-cloud.cfg
  $ printf 'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} \\\n  iommu=pt init_on_free=1"\nGRUB_CMDLINE_LINUX+=" z"\n' >etc/default/grub.d/60-own.cfg; echo >etc/default/grub.d/70-own.conf
  $ gputune lint --root .
  WHERE                              SEVERITY WHAT
  /etc/default/grub.d/70-own.conf    warning  not read: update-grub reads only names that end in .cfg
  /etc/default/grub:3                warning  has no effect: GRUB has no variable
                                              GRUB_CMDLINE_LINUX_DEFUALT
  /etc/default/grub:4                warning  not an assignment: sh allows no blank before the = of
                                              GRUB_CMDLINE_LINUX
  /etc/default/grub:1                warning  does not reach the kernel: splash;
                                              /etc/default/grub.d/50-cloud.cfg:1 sets
                                              GRUB_CMDLINE_LINUX_DEFAULT again, without
                                              $GRUB_CMDLINE_LINUX_DEFAULT in the value
  /etc/default/grub.d/60-own.cfg:3   warning  not an assignment: += is syntax of bash, but sh reads
                                              GRUB's files; write
                                              GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX ..."
  /etc/default/grub:2                warning  vm.swappiness=1: has no effect: the kernel expects
                                              sysctl.vm.NAME
  /etc/default/grub.d/50-cloud.cfg:1 warning  isolcpus=2-63: the scheduler does not use these CPUs by
                                              itself: loader workers gather on the others
                                              (boot.isolcpus)
  /etc/default/grub.d/50-cloud.cfg:1 warning  init_on_free=0: overridden by init_on_free=1 in
                                              /etc/default/grub.d/60-own.cfg:1, which comes later
  /etc/default/grub.d/60-own.cfg:1   note     init_on_free=1: all freed memory is written once more
                                              (boot.init_on_free)
  /etc/default/grub.d/60-own.cfg:1   warning  iommu=pt: has no effect together with amd_iommu=off in
                                              /etc/default/grub:2
  /etc/default/grub:2                note     this kernel was started without vm.swappiness=1:
                                              update-grub or the reboot is missing since the line was
                                              written
  /etc/default/grub.d/50-cloud.cfg:1 note     this kernel was started without isolcpus=2-63
                                              init_on_free=0: update-grub or the reboot is missing
                                              since the line was written
  /etc/default/grub.d/60-own.cfg:1   note     this kernel was started without iommu=pt init_on_free=1:
                                              update-grub or the reboot is missing since the line was
                                              written
  $ gputune lint --root . --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], len(d["findings"]), d["findings"][-1]["file"], d["findings"][-1]["line"])'
  gputune-lint/1 13 /etc/default/grub.d/60-own.cfg 1
  $ rm -r etc/default/grub.d; printf 'if true; then\n  GRUB_CMDLINE_LINUX="$(cat /x) a"\nfi\nGRUB_CMDLINE_LINUX_DEFAULT="quiet\n' >etc/default/grub; gputune lint --root .
  WHERE               SEVERITY WHAT
  /etc/default/grub:4 bad      a quote is not closed, so update-grub fails at
                               GRUB_CMDLINE_LINUX_DEFAULT
  $ printf 'GRUB_CMDLINE_LINUX="quiet"\n' >etc/default/grub; echo console=ttyS0 >proc/cmdline; gputune lint --root .
  WHERE             SEVERITY WHAT
  /etc/default/grub note     this kernel was not started by GRUB (no BOOT_IMAGE= in /proc/cmdline), so
                             no line here applies
  $ rm etc/default/grub

tuned's profiles: keys that are dead or harmful, and files with another place on Debian.

  $ mkdir -p etc/tuned/gpu etc/tuned/profiles/own etc/security/limits.d proc/sys/fs
  $ printf '[main]\ninclude=throughput-performance\n\n[sysctl]\nkernel.sched_latency_ns=1000000\nvm.dirty_ratio=>40\nvm.swappiness=${s}\n[bootloader]\ncmdline_gpu=+iommu=pt\n' >etc/tuned/gpu/tuned.conf
  $ printf '[a]\ntype=sysctl\nvm.overcommit_memory = 2\n[irqbalance]\nbanned_cpus=0-3\n' >etc/tuned/profiles/own/tuned.conf
  $ gputune lint --root .
  WHERE                                SEVERITY WHAT
  /etc/tuned/gpu/tuned.conf:5          warning  kernel.sched_latency_ns: outdated: moved from sysctl
                                                to debugfs in Linux 5.13, removed in 6.6
  /etc/tuned/gpu/tuned.conf:9          warning  cmdline_gpu: has no effect on the kernel: tuned adds
                                                it to /etc/grub2.cfg, which does not exist here; use a
                                                file in /etc/default/grub.d
  /etc/tuned/profiles/own/tuned.conf:3 bad      vm.overcommit_memory: strict overcommit: CUDA fails,
                                                because it reserves far more address space than it
                                                uses
  /etc/tuned/profiles/own/tuned.conf:5 warning  banned_cpus: has no effect on irqbalance: tuned writes
                                                /etc/sysconfig/irqbalance, but Debian's irqbalance
                                                reads /etc/default/irqbalance
  $ rm -r etc/tuned

PAM's limits: ignored lines, replaced lines, values that the kernel refuses, and limits that let any user exhaust memory.

  $ echo 1048576 >proc/sys/fs/nr_open; printf '* - memlock unlimited\n@gpu hard nofile 2097152 # as many as there may be\n@gpu soft nofile\nroot -\nbob hard nofiles 4\nbob soft core 1\n' >etc/security/limits.conf
  $ echo 'bob soft core unlimited' >etc/security/limits.d/10-a.conf; touch etc/security/limits.d/gpu; gputune lint --root .
  WHERE                       SEVERITY WHAT
  /etc/security/limits.d/gpu  warning  not read: pam_limits reads only names that end in .conf
  /etc/security/limits.conf:3 warning  ignored: the line must be DOMAIN TYPE ITEM VALUE
  /etc/security/limits.conf:5 warning  ignored: unknown limit
  /etc/security/limits.conf:1 warning  memlock without limit for every user: each of them can lock all
                                       memory of the host; name the group that trains (@GROUP)
  /etc/security/limits.conf:2 bad      nofile 2097152 is more than fs.nr_open (1048576): the kernel
                                       refuses it, and PAM then refuses the login
  /etc/security/limits.conf:6 warning  bob core 1: overridden, /etc/security/limits.d/10-a.conf:1 sets
                                       it to unlimited later
  $ rm -r etc/security

NCCL's configuration for every job: the first line of a name counts, and spaces are part of the value.

  $ printf '# from the vendor\nNCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\nNCCL_ALGO = Ring\nNCCL_SOCKET_IFNAME\n' >etc/nccl.conf; gputune lint --root .
  WHERE            SEVERITY WHAT
  /etc/nccl.conf:2 warning  NCCL_DEBUG=INFO for every job of this host: NCCL logs hundreds of lines
                            per rank: for debugging only
  /etc/nccl.conf:3 warning  NCCL_DEBUG: overridden by an earlier line, because the first one counts
  /etc/nccl.conf:4 warning  'NCCL_ALGO = Ring': for NCCL the blanks belong to the name and the value
  /etc/nccl.conf:5 warning  ignored: the line must be NAME=VALUE
  $ rm etc/nccl.conf

udev: ignored lines, replaced lines, removed schedulers, and commands that need a shell.

  $ mkdir -p etc/udev/rules.d sys/block/sda/queue; echo 1000 >sys/block/sda/size; echo 'none [mq-deadline]' >sys/block/sda/queue/scheduler; echo 128 >sys/block/sda/queue/read_ahead_kb; echo 64 >sys/block/sda/queue/nr_requests; echo DEVTYPE=disk >sys/block/sda/uevent; ln -s ../../class/block sys/block/sda/subsystem
  $ printf 'ACTION=="add|change", KERNEL=="sd*", ATTR{queue/scheduler}="deadline"\nKERNEL="sda"\nATTR{queue/read_ahead_kb="1"\nKERNEL=="sda", ATTR{queue/read_ahead_kb}="256"\nGOTO="end"\n' >etc/udev/rules.d/60-a.rules
  $ printf 'KERNEL=="sda", \\\n ATTR{queue/read_ahead_kb}="64", ATTR{queue/scheduler}="bfq"\nKERNEL=="sda", RUN+="/bin/echo 1 > /sys/block/sda/queue/nomerges"\nACTION=="change", SUBSYSTEM=="block", ATTR{queue/nr_requests}="128"\nKERNEL=="sda", ATTR{queue/wbt_usec}="0"\nSYSCTL{vm.zone_reclaim_mode}="1"\n' >etc/udev/rules.d/70-b.rules; touch etc/udev/rules.d/80-c.rule
  $ gputune lint --root .
  WHERE                          SEVERITY WHAT
  /etc/udev/rules.d/80-c.rule    warning  not read: udev reads only names that end in .rules
  /etc/udev/rules.d/60-a.rules:2 warning  ignored by udev: operator = is not allowed for KERNEL
  /etc/udev/rules.d/60-a.rules:3 warning  ignored by udev: 'ATTR{queue/read_ahead_kb="1"' is not a
                                          key, an operator and a value in quotes
  /etc/udev/rules.d/60-a.rules:5 warning  ignored by udev: GOTO="end": no such LABEL below in this
                                          file
  /etc/udev/rules.d/60-a.rules:1 warning  queue/scheduler = deadline: outdated: it is called
                                          mq-deadline since Linux 5.0
  /etc/udev/rules.d/70-b.rules:3 warning  RUN: udev starts a program, not a shell, and passes '>' to
                                          it unchanged; use /bin/sh -c '...'
  /etc/udev/rules.d/70-b.rules:6 warning  vm.zone_reclaim_mode: drops the page cache that data sets
                                          are read from
  /etc/udev/rules.d/60-a.rules:4 warning  queue/read_ahead_kb = 256: overridden on sda,
                                          /etc/udev/rules.d/70-b.rules:1 sets it to 64 later
  /etc/udev/rules.d/70-b.rules:1 note     queue/scheduler = bfq: sda offers none [mq-deadline]; it
                                          accepts this value only if the kernel finds its module
  /etc/udev/rules.d/70-b.rules:5 note     queue/wbt_usec: sda has no such attribute
  /etc/udev/rules.d/70-b.rules:4 note     queue/nr_requests: not at boot: it applies to ACTION
                                          "change" only, which sda reports after it was open for
                                          writing
