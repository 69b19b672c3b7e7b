A user's command is a workload. This one prints its step times in three forms, with three slow steps first. Its times depend
only on its position in the session, so all results are known in advance.

  $ set -o pipefail; calm() { grep -v '^note: .*other programs use the CPUs' | grep -v '^gpubench, host'; }
  $ cat > train.py <<'END'
  > import json, os, random
  > n = int(open("n").read()) if os.path.exists("n") else 0
  > with open("next", "w") as f: f.write(str(n + 1))
  > os.replace("next", "n")  # a kill in between leaves the old count, never an empty file
  > rng, slow, out = random.Random(n), 1 + float(os.environ.get("SLOW", "0")), open("steps.txt", "w")
  > for i in range(30):
  >     t = .01 * slow * (1 + .002 * rng.gauss(0, 1)) * (3 if i < 3 else 1)
  >     print(f"step {i}: {t * 1000:.4f} ms/step")
  >     print(json.dumps({"step": i, "perf": {"s": t, "odd": "x"}}))
  >     print(t, file=out)
  > END
  $ ab() { rm -f n; gpubench ab --env SLOW=.02 --seed 3 --quiet "$@" | calm; }
  $ ab --pairs 9 --metric 'regex:([0-9.]+) ms/step' --unit ms -o regex.json -- python3 train.py |
  >   grep -E '^(design|Changes|  env|Other|METRIC|cmd|VERDICT)'
  design: 9 random pairs + 6 A/A pairs, seed 3. A/A check: ok (identical arms differ by 0.0 % in cmd)
  Changes:
    env.SLOW (none) → .02
  Other differences: none
  METRIC      * before * (glob)
  cmd [P]     10.00 ms 10.20 ms * WORSE (p 0.0039 Holm) (glob)
  cmd.p99 [G] 10.0* ms 10.24 ms * (glob)
  VERDICT WORSE: cmd +* lower is better* (glob)
  [1]

The pilot finds the slow start and excludes it from all launches.

  $ python3 - <<'END'
  > import json
  > d = json.load(open("regex.json"))
  > runs = [l["metrics"]["cmd"] for l in d["launches"] if l["workload"] == "cmd"]
  > print({r["warmup"] for r in runs}, {len(r["samples"]) for r in runs})
  > END
  {3} {30}

The same from JSON lines and from a file; a higher rate is better.

  $ ab --pairs 6 --metric json:perf.s --unit s -- python3 train.py | grep '^cmd .P'
  cmd [P]     10.00 ms 10.20 ms * (glob)
  [1]
  $ ab --pairs 6 --metric file:steps.txt --unit items/s --better higher -- python3 train.py | grep '^VERDICT'
  VERDICT BETTER: cmd +* higher is better (glob)

The wall time needs no metric. A library can be the change too.

  $ rm -f n; mkdir lib; gpubench ab --library $PWD/lib --pairs 1 --quiet -o wall.json -- true > wall.txt; grep -A1 '^Changes:' wall.txt
  Changes:
    env.LD_LIBRARY_PATH (none) → $HOME/lib
  $ python3 -c 'import json; d = json.load(open("wall.json")); print([(m["unit"], m["role"]) for m in d["metrics"] if m["id"] == "cmd"])'
  [('s', 'primary')]

The measured command gets the environment that the user gave, whatever its arguments are.

  $ rm -f n; gpubench ab --library $PWD/lib --pairs 1 --quiet -- sh -c 'echo "${GOMP_SPINCOUNT-none} ${GPUBENCH_BOUNDED_SPIN-none}" >> spins' train > /dev/null 2>&1; sort -u spins
  none none

A command that leaves a daemon behind has ended when it exits, and the report says so.

  $ rm -f n; gpubench ab --env X=1 --pairs 1 --quiet -o daemon.json -- sh -c 'setsid sleep 4 & sleep .05' > daemon.txt; grep '^note: the command' daemon.txt
  note: the command leaves processes running; they may disturb the following launches
  $ python3 -c 'import json; print({l["wall_s"] < 4 for l in json.load(open("daemon.json"))["launches"]})'
  {True}

A metric without a match, a value that is not a number, and an old file are reported, and there is no verdict.

  $ ab --pairs 2 --metric 'regex:nothing ([0-9]+)' -- python3 train.py | tail -1
  VERDICT INVALID SESSION: the command: --metric regex:nothing ([0-9]+) matched nothing in its output
  [5]
  $ ab --pairs 2 --metric json:perf.odd -- python3 train.py | tail -1
  number
  [5]
  $ ab --pairs 2 --metric file:steps.txt -- true | tail -1
  VERDICT INVALID SESSION: the command: steps.txt was not rewritten by this launch
  [5]
  $ ab --pairs 2 -- sh -c 'echo no memory left >&2; exit 3' | tail -1
  VERDICT INVALID SESSION: the command: no memory left
  [5]

An impossible number, and a command that fails in one arm only, give no verdict. A change that costs launches their results
is exit status 3, so that no gate passes. After three failures at the start no more are measured.

  $ ab --pairs 6 --metric 'regex:is (.*)' -- sh -c 'test -z "$SLOW" && echo is 1.0$RANDOM || echo is nan' | grep '^VERDICT'
  VERDICT INCONCLUSIVE: cmd has no number in 6 of 6 launches with the change
  [3]
  $ ab --pairs 1000 -- sh -c 'sleep .15; test -z "$SLOW"' | grep -E '^(design|VERDICT)'
  design: 3 random pairs + 3 A/A pairs, seed 3.* (glob)
  VERDICT INCONCLUSIVE: cmd has no number in 3 of 3 launches with the change: exit status 1
  [3]

Results survive kill -9. A resumed session continues with the same order and splits no pair.

  $ rm -f n; $TESTDIR/cli/signal_after KILL cut.json '"t_s"' 5 -- gpubench ab --env SLOW=.02 --seed 3 --pairs 9 --metric 'regex:([0-9.]+) ms/step' --unit ms --quiet -o cut.json -- python3 train.py
  [137]
  $ gpubench run --resume cut.json --quiet | grep -E '^VERDICT'
  VERDICT WORSE: cmd +* (glob)
  [1]
  $ python3 - <<'END'
  > import json
  > order = [[(l["block"], l["kind"], l["arm"], l["workload"]) for l in json.load(open(f))["launches"]] for f in ("cut.json", "regex.json")]
  > print(order[0] == order[1], len(order[0]))
  > END
  True 60
  $ gpubench resume cut.json
  gpubench: cut.json: this session is complete; nothing is left to do
  [64]
  $ python3 -c 'import json; d = json.load(open("cut.json")); d["run"]["interrupted"] = True; d["host"]["kernel"] = "5.4"; json.dump(d, open("old.json", "w"))'
  $ gpubench resume old.json --quiet
  gpubench: it was started with another kernel (5.4)
  [4]

A command of several lines is resumed completely.

  $ $TESTDIR/cli/signal_after KILL lines.json '"t_s"' 3 -- gpubench ab --env X=1 --pairs 6 --quiet -o lines.json -- sh -c "sleep .05
  > echo line two >> lines.txt"
  [137]
  $ rm lines.txt; gpubench resume lines.json --quiet > /dev/null; sort -u lines.txt
  line two

An outlier is reported with other activity on the host, and is kept.

  $ python3 - <<'END'
  > import json
  > d = json.load(open("regex.json"))
  > l = [l for l in d["launches"] if l["workload"] == "cmd"][20]
  > l["metrics"]["cmd"]["samples"] = [s * 1.3 for s in l["metrics"]["cmd"]["samples"]]
  > for k in d["launches"]: k["env"] = {"steal_s": 0, "interrupts": 100}
  > l["env"] = {"steal_s": .4, "interrupts": 120}
  > json.dump(d, open("far.json", "w"))
  > END
  $ gpubench report far.json | grep -A1 '^far from'
  far from the others: launch * cmd +30 %: the hypervisor took the CPU away: 0.4 s, usually 0 (glob)
  VERDICT * (glob)

A session is limited: when the time is up, the results are judged at the last interim analysis; the rest stays open. The
document names other users of the CPUs.

  $ sim() { gpubench run --workload sim --seed 7 --quiet "$@"; }
  $ sim --env GPUBENCH_SIM=effect=-.05 --pairs 1000 --minutes .06 -o late.json | grep -E '^(note: the time|VERDICT)'
  note: the time limit ended the session before all planned pairs were measured; measure when the host
  VERDICT BETTER: sim -* (glob)
  $ python3 -c 'import json; d = json.load(open("late.json")); r, b = d["run"], d["host"]["busy_at_start"]; print(r["looks"][-1]["pairs"] == d["pairs_done"] < 1000, 0 <= b["cpu_pct"] <= 100, len(b["top"]) <= 3)'
  True True True
  $ sim --minutes -1
  gpubench: --minutes takes a number above 0, not '-1' (see 'gpubench run --help')
  [64]

A time limit below the A/A pairs and one pair with the change is refused with the time that they need. This is known at
once, or for a command after the first A/A pairs, before anything was changed. These pairs are kept, and a session with more
time continues.

  $ sim --env GPUBENCH_SIM=effect=-.05 --minutes .0001
  gpubench: --minutes 0.0001 is too short for the A/A pairs and one pair with the change: these take about * min, the whole session * (glob)
  [64]
  $ gpubench ab --env X=1 --quiet --pairs 6 --minutes .01 -o soon.json -- sleep .25
  gpubench: --minutes 0.01 is too short for the A/A pairs and one pair with the change: these take about * min, the whole session *; continue with: gpubench run --resume soon.json --minutes * (glob)
  [64]
  $ python3 -c 'import json; d = json.load(open("soon.json")); print({l["kind"] for l in d["launches"]}, len(d["launches"]) < 12)'
  {'aa'} True
  $ { gpubench resume soon.json --quiet --minutes 5; true; } | grep -o '^VERDICT [A-Z]*'
  VERDICT * (glob)
  $ python3 -c 'import json; print(json.load(open("soon.json"))["pairs_done"])'
  6

Invalid options are refused before anything runs.

  $ gpubench ab -- true
  gpubench: ab needs a change: --plan, --knob, --env, --library or --boot-arg
  [64]
  $ gpubench run --metric 'regex:[' -- true
  gpubench: --metric regex:[: * (glob)
  [64]
  $ gpubench run --metric 'regex:steps' -- true
  gpubench: --metric regex:steps: the pattern needs exactly one group in parentheses, around the number
  [64]
  $ gpubench run --metric speed -- true
  gpubench: --metric speed: it must be wall, regex:PATTERN, json:KEY or file:PATH
  [64]
  $ gpubench run --metric wall
  gpubench: --metric, --unit and --better need a command: gpubench run [options] -- CMD
  [64]
  $ gpubench run -- nowhere/nonesuch
  gpubench: cannot run nowhere/nonesuch: there is no such file
  [64]
  $ gpubench run -- nonesuch --epochs 1
  gpubench: cannot run nonesuch: PATH has no such program
  [64]
  $ gpubench run null
  gpubench: there is no program null, but a workload with that name: gpubench run --workload null
  [64]
  $ gpubench run --quiet --env PATH=$PWD/no -- nonesuch > /dev/null
  gpubench: cmd: cannot run nonesuch: No such file or directory
  [64]
  $ gpubench ab --knob vm.nonsense -- true
  gpubench: --knob: * (glob)
  [64]
