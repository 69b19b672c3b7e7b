The statistics are tested on simulated hosts with known truth: every error rate is met on each of them.

  $ gpubench selftest --stats --trials 300 > out; tail -1 out; grep -c ' ok$' out
  every promise holds: 300 simulated sessions each, seed 1
  42
  $ grep -E '^calm +false alarms' out
  calm     false alarms, 12 pairs at 5 % * <= 7 % ok (glob)
  calm     false alarms at any interim analysis * <= 7 % ok (glob)

The common method, all before and then all after, is shown for comparison: on a host with drift it is wrong most of the
time.

  $ awk '/^drifting for comparison/ { print ($9 > 50) }' out
  1

The self-test can fail: it detects steps of one process treated as independent measurements.

  $ GPUBENCH_FAULT=steps gpubench selftest --stats --trials 200 | grep -E 'false alarms, 12 pairs.*BROKEN$' | cut -d' ' -f1
  gpubench: an error rate is out of bounds
  calm
  drifting
  bursty
  $ GPUBENCH_FAULT=steps gpubench selftest --stats --trials 200 > /dev/null 2>&1
  [6]

  $ gpubench selftest
  gpubench: selftest needs --stats
  [64]
  $ gpubench selftest --stats --trials 10
  gpubench: --trials takes 200 to 100000: with fewer, chance alone breaks a promise
  [64]
