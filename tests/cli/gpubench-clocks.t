gpubench locks the clocks of GPUs during each launch of both arms, through gputune's journal, and puts them back.

  $ test -e "$BUILDDIR/tests/standin/libnvidia-ml.so.1" || { echo 'the stand-in library is not built'; exit 80; }
  $ [ $(id -u) = 0 ] && unshare -m true 2>/dev/null || { echo 'only root can mount'; exit 80; }
  $ mkdir -p pci/0000:17:00.0 lib run; echo 0x10de >pci/0000:17:00.0/vendor; echo 0x030200 >pci/0000:17:00.0/class
  $ export STANDIN_STATE=$PWD/state LD_LIBRARY_PATH=$BUILDDIR/tests/standin
  $ inside() { unshare -m sh -c 'mount --bind pci /sys/bus/pci/devices && mount --bind lib /var/lib && mount --bind run /run && exec "$@"' - "$@"; }
  $ clocks() { sed -n 2p state | cut -d' ' -f3,4; find run -name clocks; }
  $ printf '#!/bin/sh\nsed -n 2p state | cut -d" " -f3,4 >>seen\n' >job; chmod +x job
  $ inside gpubench run --lock-clocks 1410 --pairs 2 --quiet --workload null -- ./job >/dev/null; sort seen | uniq -c | sed 's/^ *[0-9]* /N /'; clocks
  N 1410 1410
  0 0

After kill -9 the restore watchdog resets the clocks.

  $ printf '#!/bin/sh\nclocks=$(sed -n 2p state | cut -d" " -f3,4)\n[ "$clocks" = "0 0" ] || echo $clocks >locked\nkill -9 $PPID\nsleep 1\n' >job
  $ inside gpubench run --lock-clocks 1200-1500 --pairs 2 --quiet -- ./job >/dev/null 2>&1; echo $?
  137
  $ for i in $(seq 100); do [ "$(clocks)" = "0 0" ] && break; sleep 0.2; done; cat locked; clocks
  1200 1500
  0 0
  $ inside gputune status
  Nothing is applied.

Clocks that the GPU lacks, and hosts without one.

  $ inside gpubench run --lock-clocks 3000 --pairs 2 -- true
  gpubench: --lock-clocks 3000: requires clocks within the range of the GPU: 3000-3000 MHz is not within 345 MHz to 1980 MHz
  [64]
  $ inside gpubench run --lock-clocks fast --pairs 2 -- true
  gpubench: --lock-clocks fast: --set: gpu.clocks takes LEAST-MOST in MHz, such as 1200-1500, or default; not 'fast-fast'
  [64]
  $ inside gpubench run --lock-clocks 1410 --knob gpu.clocks=1200-1200 --pairs 2 -- true
  gpubench: --lock-clocks and a change of gpu.clocks exclude each other
  [64]
  $ LD_LIBRARY_PATH= gpubench run --lock-clocks 1410 --pairs 2 -- true
  gpubench: --lock-clocks 1410: not on this host
  [64]

The energy of each launch is a metric next to its time, by NVML's counter. The stand-in uses 612 W, or its power limit.

  $ rm -f state; inside gpubench run --knob gpu.power_limit=400 --pairs 2 --quiet -o energy.json -- sleep 0.3 | grep -oE '^(cmd \[P\]|cmd.energy .* J)' | tr -d '0-9.' | tr -s ' '
  cmd [P]
  cmdenergy J J
  $ python3 - <<'EOF'
  > import json
  > launches = [l for l in json.load(open("energy.json"))["launches"] if "cmd.energy" in l["metrics"]]
  > watts = [l["metrics"]["cmd.energy"]["samples"][0] / l["wall_s"] for l in launches]
  > print(min(watts) < 520, max(watts) > 600, len(launches) > 3)
  > EOF
  True True True
  $ sed -n 2p state | cut -d' ' -f2
  700000

A command that prints a number for each step has joules per step: here half of those of the launch.

  $ rm -f state; inside gpubench run --knob gpu.power_limit=400 --pairs 2 --quiet -o steps.json --metric regex:'step ([0-9.]+)' -- sh -c 'sleep 0.3; echo step 1; echo step 1.1' >/dev/null
  $ python3 - <<'EOF'
  > import json
  > launches = [l["metrics"]["cmd.energy"]["samples"][0] * 2 / l["wall_s"] for l in json.load(open("steps.json"))["launches"] if "cmd.energy" in l["metrics"]]
  > print(300 < min(launches) < 520, 600 < max(launches) < 700, len(launches) > 3)
  > EOF
  True True True

A race of power limits has a table of speed and energy of each value.

  $ rm -f state; inside gpubench prove --race gpu.power_limit=300,400 --minutes 0.5 --yes --quiet -o race.json --metric regex:'step ([0-9.]+)' -- sh -c 'sleep 0.1; echo step 1' >race
  $ grep -E 'J/step before|^300 ' race | sed 's/[-+][0-9.]* %/N %/g; s/ [0-9.]* *[0-9.]* *N %$/ X Y N %/; s/  */ /g'
  VALUE EFFECT 95% CI J/step before J/step after ENERGY
  300 N % unknown X Y N %
