Two saved results of one host can be compared, and every difference between them is listed.

  $ gpubench run --workload sim --pairs 9 --seed 1 --quiet -o a.json > /dev/null
  $ GPUBENCH_SIM=effect=.1 gpubench run --workload sim --pairs 9 --seed 2 --quiet -o b.json > /dev/null
  $ gpubench compare a.json b.json
  gpubench, host * (glob)
  design: unpaired: drift not controlled
  Changes: none
  Other differences:
    env.GPUBENCH_SIM (none) → effect=.1 (between the files)
  
  METRIC        a.json   b.json  CHANGE 95% CI        VERDICT
  sim [P]     99.74 ms 109.8 ms +10.0 % [+9.7, +10.4] WORSE (p 1.2e-20 Holm)
  sim.p99 [G] 100.2 ms 110.2 ms +10.0 % [+9.6, +10.4] WORSE (p 8.3e-20 BH)
  [P] decides the verdict, [G] guard: must not get worse, [C] control: must not change
  
  0 better, 2 worse, 0 same, 0 inconclusive
  VERDICT WORSE: sim +10.0 % [+9.7, +10.4], lower is better; sim.p99 +10.0 % [+9.6, +10.4], lower is
  better (changed, but not attributable: other differences below)
  [1]

An intended change is declared and is then not a confounder.

  $ gpubench compare a.json b.json --changed env.GPUBENCH_SIM | sed -n '3,5p'
  Changes:
    env.GPUBENCH_SIM (none) → effect=.1
  Other differences: none

A variable that PyTorch, Python or MPI reads is a setting too.

  $ env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTHONPATH=/srv UCX_TLS=tcp OMPI_MCA_btl=self gpubench run --workload sim --pairs 9 --seed 1 -q -o e.json > /dev/null
  $ gpubench compare a.json e.json | sed -n '/^Other/,/^$/p' | LC_ALL=C sort
  
    env.OMPI_MCA_btl (none) → self (between the files)
    env.PYTHONPATH (none) → /srv (between the files)
    env.PYTORCH_CUDA_ALLOC_CONF (none) → expandable_segments:True (between the files)
    env.UCX_TLS (none) → tcp (between the files)
  Other differences:

Below the minimum of launches two unpaired files never show an effect, however narrow the interval.

  $ GPUBENCH_SIM=effect=.02,sd=.001 gpubench run --workload sim --pairs 9 --seed 3 --quiet -o c.json > /dev/null
  $ gpubench compare a.json c.json | grep -E '^sim '
  sim [P]     99.74 ms 102.0 ms +2.1 % [+1.9, +2.4] same (within 3.0 %)
  $ gpubench compare a.json c.json --floor 0 > /dev/null
  [1]

Another machine, suite, workload definition or file version is refused by name.

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
  gpubench: x.json: written by a newer version (gpubench/2), but this version reads gpubench/1: update gputune
  [4]

Another kernel or another major version of the driver is refused too, unless it is the declared change.

  $ edit 'd["host"]["kernel"] = "9.9"'; gpubench compare a.json x.json
  gpubench: cannot be compared: another kernel * and 9.9; if that is the change to be judged, say --changed kernel (glob)
  [4]
  $ gpubench compare a.json x.json --changed kernel | sed -n '3,5p'
  Changes:
    kernel * → 9.9 (glob)
  Other differences: none
  $ edit 'd["host"]["kernel"] = "9.9"; d["host"]["nvidia_driver"] = "570.1"'; gpubench compare a.json x.json
  gpubench: cannot be compared: another kernel * and 9.9, NVIDIA driver * and 570.1; if that is the change to be judged, say --changed kernel --changed nvidia_driver (glob)
  [4]
  $ gpubench compare a.json x.json --changed kernel
  gpubench: cannot be compared: another NVIDIA driver * and 570.1; if that is the change to be judged, say --changed nvidia_driver (glob)
  [4]
  $ drivers() { edit 'd["host"]["nvidia_driver"] = "'$1'"'; cp x.json y.json; edit 'd["host"]["nvidia_driver"] = "'$2'"'; gpubench compare y.json x.json | sed -n '/Other/,/^$/p'; }
  $ drivers 550.90.07 570.1
  gpubench: cannot be compared: another NVIDIA driver 550.90.07 and 570.1; if that is the change to be judged, say --changed nvidia_driver
  $ drivers 550.90.07 550.163.01
  Other differences:
    nvidia_driver 550.90.07 → 550.163.01 (between the files)
  

Cloned nodes have the same identity. Other known facts distinguish them; a fact that one of them lacks does not.

  $ marks() { edit 'd["host"]["marks"] = {"machine_id": "1", "gpus": {"0000:17:00.0": "a"}, "ports": {"0000:01:00.0": "c"}}'; cp x.json y.json; edit 'd["host"]["marks"] = '"$1"; gpubench compare y.json x.json | sed -n '/Other/p; /^note/p'; }
  $ marks '{"machine_id": "1", "system": "7", "gpus": {"0000:17:00.0": "a"}, "ports": {"0000:02:00.0": "d"}}'
  Other differences: none
  $ marks '{"machine_id": "1", "gpus": {"0000:17:00.0": "b"}, "ports": {"0000:01:00.0": "e"}}'
  gpubench: cannot be compared: not the same machine: UUID of GPU 0000:17:00.0, address of network port 0000:01:00.0
  $ marks '{"machine_id": "2"}'
  gpubench: cannot be compared: not the same machine: machine id
  $ marks '{"system": "7"}'
  Other differences: none
  note: nothing shows that both files are of one machine and not of two that are built alike; give
  $ marks '[7]'
  Other differences: none
  note: nothing shows that both files are of one machine and not of two that are built alike; give

Settings may differ; they are listed.

  $ edit 'd["settings"]["a"]["vm.swappiness"] = "7"'
  $ gpubench compare a.json x.json --markdown - | grep swappiness
  | vm.swappiness | * | 7 | between the files | (glob)

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

With --json a refusal is a document too.

  $ edit 'd["host"]["identity_parts"]["cpu"] = "Z80"'; gpubench compare a.json x.json --json 2>/dev/null | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], d["tool"], d["command"], d["exit_code"], d["error"][:47])'
  gputune-refusal/1 gpubench compare 4 cannot be compared: not the same machine: cpu (

Samples without a valid number make an invalid session, and a spread of one host is never printed as "nan".

  $ for v in -1.0 0.0 None; do edit "[l['metrics'][m].update(samples=[$v] * 32) for l in d['launches'] for m in l['metrics']]"; gpubench report x.json --gate | tail -n 1; echo ${PIPESTATUS[0]}; done
  VERDICT INVALID SESSION: no launch gave a valid number
  5
  VERDICT INVALID SESSION: no launch gave a valid number
  5
  VERDICT INVALID SESSION: no launch gave a valid number
  5
  $ for f in a x; do gpubench fleet $f.json --html page.html --markdown page.md; cat page.html page.md | grep -c 'nan %'; done
  gpubench fleet, 1 host
  
  METRIC  HOSTS   MEDIAN SPREAD OUTLIERS
  sim         1 99.74 ms  0.0 % too few hosts to judge
  sim.p99     1 100.2 ms  0.0 % too few hosts to judge
  The median host of each class; spread: median distance from it, times 1.48.
  
  VERDICT INCONCLUSIVE: a class needs at least four hosts
  0
  gpubench fleet, 1 host
  
  METRIC  HOSTS MEDIAN SPREAD OUTLIERS
  sim         0      -      - too few hosts to judge
  sim.p99     0      -      - too few hosts to judge
  The median host of each class; spread: median distance from it, times 1.48.
  
  VERDICT INCONCLUSIVE: a class needs at least four hosts
  0
  [1]
