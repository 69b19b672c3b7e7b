Settings of GPUs through NVML. NVML is a stand-in that keeps its state in a file. The GPUs and /var/lib are private to this test.

  $ test -e "$BUILDDIR/tests/standin/libnvidia-ml.so.1" || { echo 'the stand-in library is not built'; exit 80; }
  $ [ $(id -u) = 0 ] && unshare -m true 2>/dev/null || { echo 'only root can mount'; exit 80; }
  $ for a in 0000:17:00.0 0000:1f:00.0; do mkdir -p pci/$a lib run; echo 0x10de >pci/$a/vendor; echo 0x030200 >pci/$a/class; done
  $ export STANDIN_STATE=$PWD/state STANDIN_GPUS=2
  $ tune() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin unshare -m sh -c 'mount --bind pci /sys/bus/pci/devices && mount --bind lib /var/lib &&
  >   mount --bind run /run && exec gputune "$@"' - "$@"; }
  $ gpu() { sed -n 2,3p state | cut -d' ' -f1-8; find run lib -name '*clocks' -o -name power_limit; }

Only by choice: the plan shows the ranges, also with --optional.

  $ tune plan --only gpu.power_limit --only gpu.clocks --only gpu.memory_clocks --only gpu.application_clocks --only gpu.persistence_mode -v
  Skipped (--optional includes all opt-in settings, --only KNOB one)
    gpu.power_limit:0000:17:00.0 and 1 more: 700 W
        only by choice: --set gpu.power_limit=WATTS; range 200 W to 700 W, default 700 W
    gpu.clocks:0000:17:00.0 and 1 more: default
        only by choice: --set gpu.clocks=LEAST-MOST; range 345 MHz to 1980 MHz
    gpu.memory_clocks:0000:17:00.0 and 1 more: default
        only by choice: --set gpu.memory_clocks=LEAST-MOST; range 1593 MHz to 2619 MHz
    gpu.application_clocks:0000:17:00.0 and 1 more: 2619/1980
        only by choice: --set gpu.application_clocks=MEMORY/GRAPHICS, in MHz
  
  Unchanged
    gpu.persistence_mode:0000:17:00.0 and 1 more: 1
        already set
  
  Nothing to change, profile train-gpu.
  $ tune plan --optional --skip vm --skip net --skip fs --skip block --skip cpu --skip kernel --skip thp --skip ksm --skip pcie --skip irq --skip nfs | grep -A1 gpu.power_limit
    gpu.power_limit:0000:17:00.0 and 1 more: 700 W
        only by choice: --set gpu.power_limit=WATTS; range 200 W to 700 W, default 700 W
    gpu.clocks:0000:17:00.0 and 1 more: default

ECC is reported only. Here the mode changes at the next reset.

  $ STANDIN_ECC=10 tune plan --only gpu.ecc_mode
  Manual steps
    gpu.ecc_mode
        ECC of GPU 0000:17:00.0 will be switched off at its next reset
        End all programs that use the GPU, which are listed first. Then reset it, or reboot:
          nvidia-smi -i 0000:17:00.0 --query-compute-apps=pid,name --format=csv
          nvidia-smi --gpu-reset -i 0000:17:00.0
  
  Nothing to change, profile train-gpu.
  $ tune plan --set gpu.ecc_mode=0
  gputune: --set: gpu.ecc_mode is reported only; its value is on or off
  [64]

Apply, verify, revert. Locked clocks have no getter: gputune's record in /run is compared, and revert resets them.

  $ set -- --only gpu.power_limit --only gpu.clocks --set gpu.power_limit=400 --set gpu.clocks=1410-1755
  $ tune apply "$@"; gpu
  KNOB                          BEFORE   APPLIED RESULT
  gpu.power_limit:0000:17:00.0   700 W     400 W written
  gpu.power_limit:0000:1f:00.0   700 W     400 W written
  gpu.clocks:0000:17:00.0      default 1410-1755 written
  gpu.clocks:0000:1f:00.0      default 1410-1755 written
  1 400000 1410 1755 0 0 2619 1980
  1 400000 1410 1755 0 0 2619 1980
  run/gputune/nvml/0000:1f:00.0/clocks
  run/gputune/nvml/0000:17:00.0/clocks
  $ tune verify
  KNOB                          BEFORE  EXPECTED    ACTUAL RESULT
  gpu.power_limit:0000:17:00.0   700 W     400 W     400 W ok
  gpu.power_limit:0000:1f:00.0   700 W     400 W     400 W ok
  gpu.clocks:0000:17:00.0      default 1410-1755 1410-1755 ok
  gpu.clocks:0000:1f:00.0      default 1410-1755 1410-1755 ok
  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin python3 - <<'EOF'
  > import ctypes
  > nvml, dev = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
  > assert not nvml.nvmlInit_v2() and not nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(dev))
  > assert not nvml.nvmlDeviceSetPowerManagementLimit(dev, 500000)
  > EOF
  $ tune verify
  KNOB                          BEFORE  EXPECTED    ACTUAL RESULT
  gpu.power_limit:0000:17:00.0   700 W     400 W     400 W ok
  gpu.power_limit:0000:1f:00.0   700 W     400 W     500 W drift
  gpu.clocks:0000:17:00.0      default 1410-1755 1410-1755 ok
  gpu.clocks:0000:1f:00.0      default 1410-1755 1410-1755 ok
    gpu.power_limit:0000:1f:00.0: no file and no known tuner sets it: changed by hand or by a program
  [4]
  $ tune revert; gpu
  KNOB                          BEFORE   APPLIED RESULT
  gpu.clocks:0000:1f:00.0      default 1410-1755 restored
  gpu.clocks:0000:17:00.0      default 1410-1755 restored
  gpu.power_limit:0000:1f:00.0   700 W     400 W changed by another program: now 500 W, not changed
  gpu.power_limit:0000:17:00.0   700 W     400 W restored
  Values that another program changed since were not changed.
  1 700000 0 0 0 0 2619 1980
  1 500000 0 0 0 0 2619 1980
  $ tune apply --only gpu.application_clocks --only gpu.memory_clocks --set gpu.application_clocks=1593/1410 --set gpu.memory_clocks=1593-1593 | tail -n +2; gpu
  gpu.memory_clocks:0000:17:00.0        default 1593-1593 written
  gpu.memory_clocks:0000:1f:00.0        default 1593-1593 written
  gpu.application_clocks:0000:17:00.0 2619/1980 1593/1410 written
  gpu.application_clocks:0000:1f:00.0 2619/1980 1593/1410 written
  1 700000 0 0 1593 1593 1593 1410
  1 500000 0 0 1593 1593 1593 1410
  run/gputune/nvml/0000:1f:00.0/memory_clocks
  run/gputune/nvml/0000:17:00.0/memory_clocks
  $ tune revert | tail -n +2; gpu
  gpu.application_clocks:0000:1f:00.0 2619/1980 1593/1410 restored
  gpu.application_clocks:0000:17:00.0 2619/1980 1593/1410 restored
  gpu.memory_clocks:0000:1f:00.0        default 1593-1593 restored
  gpu.memory_clocks:0000:17:00.0        default 1593-1593 restored
  1 700000 0 0 0 0 2619 1980
  1 500000 0 0 0 0 2619 1980

A capture has the settings, also those that gputune has locked: a replay gives the same plan.

  $ rm -f state; tune apply "$@" >/dev/null; all="-v --only gpu.power_limit --only gpu.clocks --only gpu.memory_clocks --only gpu.application_clocks"
  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin unshare -m sh -c 'mount --bind pci /sys/bus/pci/devices && mount --bind run /run && exec gpuprobe capture gpus.host'
  $ tune plan $all >live; gputune plan $all --root gpus.host | diff live - && cat live
  Skipped (--optional includes all opt-in settings, --only KNOB one)
    gpu.power_limit:0000:17:00.0 and 1 more: 400 W
        only by choice: --set gpu.power_limit=WATTS; range 200 W to 700 W, default 700 W
    gpu.clocks:0000:17:00.0 and 1 more: 1410-1755
        only by choice: --set gpu.clocks=LEAST-MOST; range 345 MHz to 1980 MHz
    gpu.memory_clocks:0000:17:00.0 and 1 more: default
        only by choice: --set gpu.memory_clocks=LEAST-MOST; range 1593 MHz to 2619 MHz
    gpu.application_clocks:0000:17:00.0 and 1 more: 2619/1980
        only by choice: --set gpu.application_clocks=MEMORY/GRAPHICS, in MHz
  
  Nothing to change, profile train-gpu.
  $ gpuprobe capture again.host --root gpus.host; for i in gpus again; do sed -n '/^file .nvml/{N;s/\n//;p}' $i.host | sort >$i.nvml; done
  $ cmp gpus.nvml again.nvml && grep '/clocks' again.nvml
  file /nvml/0000:17:00.0/clocks	1410-1755
  file /nvml/0000:17:00.0/clocks.range	min=345 max=1980 persistence=1
  file /nvml/0000:1f:00.0/clocks	1410-1755
  file /nvml/0000:1f:00.0/clocks.range	min=345 max=1980 persistence=1
  $ tune revert | tail -n +2
  gpu.clocks:0000:1f:00.0      default 1410-1755 restored
  gpu.clocks:0000:17:00.0      default 1410-1755 restored
  gpu.power_limit:0000:1f:00.0   700 W     400 W restored
  gpu.power_limit:0000:17:00.0   700 W     400 W restored

Without persistence mode the settings vanish with the last client: the plan says so, and apply finds them gone.

  $ rm -f state; tune apply --only gpu.persistence_mode --set gpu.persistence_mode=0 | tail -n +2
  gpu.persistence_mode:0000:17:00.0      1       0 written
  gpu.persistence_mode:0000:1f:00.0      1       0 written
  $ tune plan --only gpu.power_limit --only gpu.clocks --set gpu.power_limit=400 --set gpu.clocks=1410-1755
  Changes
    gpu.power_limit:0000:17:00.0 and 1 more: 700 → 400 W
        by choice; range 200 W to 700 W, default 700 W; persistence mode is off: the driver drops this
        setting when the last client exits (gpu.persistence_mode keeps it)
    gpu.clocks:0000:17:00.0 and 1 more: default → 1410-1755
        by choice; NVML cannot read a lock, so gputune takes the clocks as not locked by others, and
        revert resets them; persistence mode is off: the driver drops this setting when the last
        client exits (gpu.persistence_mode keeps it)
  
  4 changes, profile train-gpu. The effect on this host is not measured (gpubench prove measures it).
  $ tune apply --only gpu.power_limit --set gpu.power_limit=400
  gputune: /nvml/0000:17:00.0/power_limit was set to 400 but reads 700 (without persistence mode the driver drops it with the last client); all old values are restored
  [1]
  $ tune revert | tail -n +2
  gpu.persistence_mode:0000:1f:00.0      1       0 restored
  gpu.persistence_mode:0000:17:00.0      1       0 restored

Values that the GPU or gputune does not accept.

  $ tune plan --only gpu.power_limit --set gpu.power_limit=800
  Blocked changes
    gpu.power_limit:0000:17:00.0 and 1 more: 700 W
        requires a limit within the range of the GPU: 800 W is not within 200 W to 700 W
  
  Nothing to change, profile train-gpu.
  $ printf '[knobs]\ngpu.power_limit = 800\n' >site.conf; tune apply --only gpu.power_limit --profile ./site.conf
    left out: gpu.power_limit:0000:17:00.0: requires a limit within the range of the GPU: 800 W is not
    within 200 W to 700 W
    left out: gpu.power_limit:0000:1f:00.0: requires a limit within the range of the GPU: 800 W is not
    within 200 W to 700 W
  Nothing to change.
  [3]
  $ tune apply --only gpu.power_limit --set gpu.power_limit=800
  gputune: gpu.power_limit:0000:17:00.0: requires a limit within the range of the GPU: 800 W is not within 200 W to 700 W; nothing is changed
  [3]
  $ tune apply --only gpu.power_limit --set gpu.power_limit=9000
  gputune: --set: gpu.power_limit takes 10 to 5000, not 9000
  [64]
  $ tune plan --only gpu.clocks --set gpu.clocks=1000-2500
  Blocked changes
    gpu.clocks:0000:17:00.0 and 1 more: default
        requires clocks within the range of the GPU: 1000-2500 MHz is not within 345 MHz to 1980 MHz
  
  Nothing to change, profile train-gpu.
  $ tune plan --only gpu.clocks --set gpu.clocks=1755-1410
  gputune: --set: gpu.clocks takes LEAST-MOST in MHz, such as 1200-1500, or default; not '1755-1410'
  [64]
  $ tune plan --only gpu.clocks --set gpu.clocks=
  gputune: --set: 'gpu.clocks=' is not KNOB=VALUE
  [64]
  $ tune plan --only gpu.application_clocks --set gpu.application_clocks=1593/1411
  Blocked changes
    gpu.application_clocks:0000:17:00.0 and 1 more: 2619/1980
        requires a pair of clocks that the GPU supports: 1593/1411 is not one; nvidia-smi -q -d
        SUPPORTED_CLOCKS lists them
  
  Nothing to change, profile train-gpu.
  $ tune plan --set power=3
  gputune: --set: there is no knob 'power'; gputune list shows them
  [64]

NVML refuses the second change: all is as before, and the sentence has the reason.

  $ for code in 3 4 15; do rm -f state; STANDIN_SET=$code:2 tune apply --only gpu.power_limit --set gpu.power_limit=400; gpu | cut -d' ' -f1-4; done
  gputune: cannot set /nvml/0000:1f:00.0/power_limit to 400: Operation not supported; all old values are restored
  1 700000 0 0
  1 700000 0 0
  gputune: cannot set /nvml/0000:1f:00.0/power_limit to 400: Operation not permitted; all old values are restored
  1 700000 0 0
  1 700000 0 0
  gputune: cannot set /nvml/0000:1f:00.0/power_limit to 400: No such device; all old values are restored
  1 700000 0 0
  1 700000 0 0
  $ rm -f state; STANDIN_SET=3:4 tune apply "$@" 2>&1 | tail -1; gpu; tune status
  gputune: cannot set /nvml/0000:1f:00.0/clocks to 1410-1755: Operation not supported; all old values are restored
  1 700000 0 0 0 0 2619 1980
  1 700000 0 0 0 0 2619 1980
  Nothing is applied.
  $ STANDIN_NO=power,application,memory tune plan --only gpu.power_limit --only gpu.application_clocks -v
  Not applicable
    gpu.power_limit:0000:17:00.0 and 1 more
        NVML does not provide it on this GPU
    gpu.application_clocks:0000:17:00.0 and 1 more
        NVML does not provide it on this GPU
  
  Nothing to change, profile train-gpu.

SIGKILL before and after each of the four changes of apply and of revert, then recover: eight cases each. The child that calls NVML
holds the lock until it ends, and recover waits for it.

  $ killed() { STANDIN_SET=$how:$n tune "$@" >/dev/null 2>&1; killed=$?; tune recover >/dev/null 2>&1
  >   echo "$1: $killed, recover: $?, $(gpu | uniq -c)"; }
  $ for how in kill-before kill-after; do for n in 1 2 3 4; do rm -f state; killed apply "$@"; done; done | uniq -c
        8 apply: 137, recover: 0,       2 1 700000 0 0 0 0 2619 1980
  $ for how in kill-before kill-after; do for n in 1 2 3 4; do rm -f state; tune apply "$@" >/dev/null; killed revert; done; done | uniq -c
        8 revert: 137, recover: 0,       2 1 700000 0 0 0 0 2619 1980

A child that ends later: recover waits. In the meantime apply is refused.

  $ rm -f state; STANDIN_SET=kill-after:3 tune apply "$@" >/dev/null 2>&1; mkfifo held
  $ flock lib/gputune/lock sh -c 'echo >held; sleep 1' & read -r x <held; tune apply "$@"; tune recover | tail -n +2; gpu | uniq -c
  gputune: another gputune is running (it holds /var/lib/gputune/lock): nothing is changed; try again later
  gpu.clocks:0000:1f:00.0      default 1410-1755 as before
  gpu.clocks:0000:17:00.0      default 1410-1755 restored
  gpu.power_limit:0000:1f:00.0   700 W     400 W restored
  gpu.power_limit:0000:17:00.0   700 W     400 W restored
        2 1 700000 0 0 0 0 2619 1980

NVML hangs: one sentence, and nothing is left set.

  $ rm -f state; STANDIN_NVML=hang tune plan --only gpu.power_limit --set gpu.power_limit=400
  Blocked changes
    gpu.power_limit:0000:17:00.0
        cannot read /nvml/0000:17:00.0/power_limit: NVML did not respond within 10 s
    gpu.power_limit:0000:1f:00.0
        cannot read /nvml/0000:1f:00.0/power_limit: NVML did not respond within 10 s
  
  Nothing to change, profile train-gpu.
  $ STANDIN_NVML=hang tune apply --only gpu.power_limit --set gpu.power_limit=400
  gputune: gpu.power_limit:0000:17:00.0: cannot read /nvml/0000:17:00.0/power_limit: NVML did not respond within 10 s; nothing is changed
  [3]
  $ rm -f state; STANDIN_SET=hang:2 tune apply --only gpu.power_limit --set gpu.power_limit=400; gpu; tune status
  gputune: cannot set /nvml/0000:1f:00.0/power_limit to 400: NVML did not respond within 10 s; all old values are restored
  1 700000 0 0 0 0 2619 1980
  1 700000 0 0 0 0 2619 1980
  Nothing is applied.
