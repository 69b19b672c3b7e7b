Two saved results of one host can be compared, and every difference between them is listed.

  $ gpubench run --workload sim --pairs 9 --seed 1 --quiet -o a.json > /dev/null
  $ GPUBENCH_SIM=effect=.1 gpubench run --workload sim --pairs 9 --seed 2 --quiet -o b.json > /dev/null
  $ gpubench compare a.json b.json
  gpubench, host * (glob)
  design: unpaired: drift not controlled
  changed on purpose: 0
  OTHER differences:
    env.GPUBENCH_SIM (none) -> effect=.1 (between the files)
  
  METRIC        a.json   b.json  CHANGE 95% CI        VERDICT
  sim [P]     99.74 ms 109.8 ms +10.0 % [+9.7, +10.4] WORSE (p 1.2e-20 Holm)
  sim.p99 [G] 100.2 ms 110.2 ms +10.0 % [+9.6, +10.4] WORSE (p 8.3e-20 BH)
  [P] decides the verdict, [G] guard: must not get worse, [C] control: nothing should move it
  
  0 better, 2 worse, 0 same, 0 inconclusive
  VERDICT WORSE: sim +10.0 % [+9.7, +10.4], lower is better; sim.p99 +10.0 % [+9.6, +10.4], lower is
  better (changed, but not attributable: other differences below)
  [1]

A change made on purpose is declared, and then is no confounder.

  $ gpubench compare a.json b.json --changed env.GPUBENCH_SIM | sed -n '3,5p'
  changed on purpose: 1:
    env.GPUBENCH_SIM (none) -> effect=.1
  OTHER differences: none

Below the floor two unpaired files never show an effect, however narrow the interval.

  $ GPUBENCH_SIM=effect=.02,sd=.001 gpubench run --workload sim --pairs 9 --seed 3 --quiet -o c.json > /dev/null
  $ gpubench compare a.json c.json | grep -E '^sim '
  sim [P]     99.74 ms 102.0 ms +2.1 % [+1.9, +2.4] same (within 3.0 %)
  $ gpubench compare a.json c.json --floor 0 > /dev/null
  [1]

Another machine, suite, workload definition or file version is refused, with which.

  $ edit() { python3 -c "import json, sys; d = json.load(open('a.json')); $1; json.dump(d, open('x.json', 'w'))"; }
  $ edit 'd["host"]["identity_parts"]["cpu"] = "Z80"'; gpubench compare a.json x.json
  gpubench: cannot be compared: not the same machine: cpu (*, Z80) (glob)
  [4]
  $ edit 'd["tool"]["suite_major"] = 2'; gpubench compare a.json x.json
  gpubench: cannot be compared: made by measuring suites 1 and 2, this one is 1
  [4]
  $ edit 'd["metrics"][0]["definition"] = "sim/2 {}"'; gpubench compare a.json x.json
  gpubench: cannot be compared: sim was measured as "sim/1 {"steps":32}" and as "sim/2 {}"
  [4]
  $ edit 'd["metrics"][0]["id"] = "other"'; gpubench compare a.json x.json
  gpubench: cannot be compared: they have no metric in common
  [4]
  $ edit 'd["schema"] = "gpubench/2"'; gpubench compare a.json x.json
  gpubench: x.json: written by a newer version (gpubench/2); this one reads gpubench/1: update gputune
  [4]

Kernel and settings may differ; they are named.

  $ edit 'd["host"]["kernel"] = "9.9"; d["settings"]["a"]["vm.swappiness"] = "7"'
  $ gpubench compare a.json x.json --markdown - | grep -E '9\.9|swappiness'
  | kernel | * | 9.9 | (glob)
  | vm.swappiness | * | 7 | (glob)

A file that is no result is refused.

  $ head -c 300 a.json > cut.json; gpubench compare a.json cut.json
  gpubench: cut.json:19:16: not valid JSON: ']' expected near end of file
  [64]
  $ gpubench compare a.json nowhere.json
  gpubench: cannot open nowhere.json: No such file or directory
  [64]
  $ gpubench compare a.json
  gpubench: compare needs BEFORE AFTER (see 'gpubench compare --help')
  [64]
