A session measures in pairs and reports the result. The workload sim generates its step times, so all results are known in
advance; the seed makes them repeatable. Notes on the load of this host are removed from the output.

  $ set -o pipefail; calm() { grep -vE '^note: .*other programs use the CPUs|^gpubench: (host busy|stops after)'; }
  $ sim() { gpubench run --workload sim --seed 7 --quiet "$@" | calm; }
  $ sim --env GPUBENCH_SIM=effect=.03 --pairs 9
  gpubench, host * (glob)
  design: 9 random pairs + 6 A/A pairs, seed 7. A/A check: ok (identical arms differ by 0.0 % in sim)
  Changes:
    env.GPUBENCH_SIM (none) → effect=.03
  Other differences: none
  
  METRIC        before    after CHANGE 95% CI       VERDICT
  sim [P]     99.97 ms 103.2 ms +3.0 % [+2.7, +3.4] WORSE (p 0.0039 Holm)
  sim.p99 [G] 100.4 ms 103.6 ms +3.0 % [+2.6, +3.5] WORSE (p 0.0039 BH)
  [P] decides the verdict, [G] guard: must not get worse, [C] control: must not change
  
  Change: mean ratio within pairs. Its sign can differ from that of the difference of the medians.
  0 better, 2 worse, 0 same, 0 inconclusive
  VERDICT WORSE: sim +3.0 % [+2.7, +3.4], lower is better; sim.p99 +3.0 % [+2.6, +3.5], lower is
  better
  [1]

An improvement is exit status 0, with the guard judged next to it.

  $ sim --env GPUBENCH_SIM=effect=-.02 --quick | tail -8
  METRIC        before    after CHANGE 95% CI       VERDICT
  sim [P]     99.97 ms 98.21 ms -2.0 % [-2.3, -1.6] BETTER (p 0.0039 Holm)
  sim.p99 [G] 100.4 ms 98.57 ms -2.0 % [-2.4, -1.6] BETTER (p 0.0039 BH)
  [P] decides the verdict, [G] guard: must not get worse, [C] control: must not change
  
  Change: mean ratio within pairs. Its sign can differ from that of the difference of the medians.
  2 better, 0 worse, 0 same, 0 inconclusive
  VERDICT BETTER: sim -2.0 % [-2.3, -1.6], lower is better

"same" means that the whole interval is inside the margin.

  $ sim --env GPUBENCH_SIM=effect=0 --pairs 24 | grep -E '^(sim|VERDICT)'
  sim [P]     99.98 ms 100.0 ms +0.0 % [-0.3, +0.3] same (within 1.0 %)
  sim.p99 [G] 100.4 ms 100.4 ms +0.0 % [-0.3, +0.3] same (within 2.0 %)
  VERDICT SAME: sim +0.0 % [-0.3, +0.3], lower is better

Noise is inconclusive, with the number of pairs that are still needed; with --require-conclusive that is exit status 3.

  $ sim --env GPUBENCH_SIM=effect=-.01,sd=.05 --quick | grep -E '^(sim|VERDICT)'
  sim [P]     99.97 ms 101.0 ms +0.2 % [-2.1, +2.3] inconclusive: 97 more pairs (* min) (glob)
  sim.p99 [G] 100.4 ms 101.4 ms +0.2 % [-2.1, +2.4] may be worse: 15 more pairs (* min) (glob)
  VERDICT INCONCLUSIVE: sim +0.2 % [-2.1, +2.3], lower is better: needs 97 more pairs (* min) (glob)
  $ sim --env GPUBENCH_SIM=effect=-.01,sd=.05 --quick --require-conclusive > /dev/null
  [3]

Without --quick and --pairs the session stops at an interim analysis, as soon as there is a result.

  $ sim --env GPUBENCH_SIM=effect=-.05 | sed -n 's/. A.A check.*//; /^design/p'
  design: 9 random pairs (planned interim analyses) + 6 A/A pairs, seed 7
  $ sim --env GPUBENCH_SIM=effect=-.01,sd=.02 | sed -n 's/. A.A check.*//; /^design/p'
  design: 24 random pairs (planned interim analyses) + 6 A/A pairs, seed 7

A workload with a wrong result makes the session invalid: exit status 6.

  $ sim --env GPUBENCH_SIM=wrong=1 --quick | grep '^VERDICT'
  VERDICT RESULTS WRONG: sim: simulated wrong result
  [6]

Each workload detects its own wrong result.

  $ GPUBENCH_FAULT=verify gpubench launch alloc > /dev/null
  gpubench: alloc: 1 objects could not be allocated or were damaged
  [6]
  $ GPUBENCH_FAULT=verify gpubench launch mem.bw > /dev/null
  gpubench: mem.bw: 1 of * triad elements are wrong (glob)
  [6]
  $ export GPUBENCH_SCRATCH=$HOME
  $ for w in mem.fault mem.matrix mem.latency sync.wake sync.barrier proc.spawn file.read file.writeback tcp.stream comm.allreduce; do GPUBENCH_FAULT=verify gpubench launch $w > /dev/null || echo $?; done
  gpubench: mem.fault: new memory was not zero in 1 places
  6
  gpubench: mem.matrix: 10 of 10 sums over the memory of node * are wrong (glob)
  6
  gpubench: mem.latency: the chain of node * did not visit each line once (glob)
  6
  gpubench: sync.wake: the token came back 20001 times, not 20000
  6
  gpubench: sync.barrier: 1 times a thread left a barrier before another thread reached it
  6
  gpubench: proc.spawn: 1 children failed
  6
  gpubench: file.read: 262144 blocks of 4 KiB differ from the written data
  6
  gpubench: file.writeback: 32000 blocks of 4 KiB differ from the written data
  6
  gpubench: tcp.stream: 402653184 bytes arrived, 1 of them damaged
  6
  gpubench: comm.allreduce: * elements are not the mean over the ranks (glob)
  6
  $ for w in train.mlp train.ddp; do GPUBENCH_FAULT=verify gpubench launch $w > /dev/null || echo $?; done
  gpubench: train.mlp: the final loss is 2.3026, but guessing has 2.3026: the run is void
  6
  gpubench: train.ddp: the held-out loss did not fall (* before, * after): the run is void (glob)
  6
  $ GPUBENCH_FAULT=verify gpubench launch train.gpt > /dev/null
  gpubench: train.gpt: the held-out loss did not fall (* before, * after): the run is void (glob)
  [6]

Files are written in GPUBENCH_SCRATCH, without a name, and a failure to create one is reported.

  $ ls
  $ GPUBENCH_SCRATCH=nowhere gpubench launch file.read
  gpubench: cannot create a scratch file: No such file or directory (set GPUBENCH_SCRATCH to another directory)
  [64]
  $ gpubench list sync.barrier
  sync.barrier: one OpenMP barrier of all threads
    unit      ns, lower is better; a change below 3 % does not matter
    role      explore; not measured by default; definition 1
    verifies  no thread leaves the barrier before all have reached it
    overhead  two clock readings per batch of barriers; a store and a load per thread are included
    harness   an empty step (null) takes * ns on this host (glob)
    knobs     omp.*, cpu.governor, cpu.*, run.affinity
    duration  about 0.5 s per launch
  $ gpubench list | sed -n '/^Cannot run here/,$p' | tail -1
    cmd: needs a command: gpubench run -- CMD
  $ gpubench list sync.nothing
  gpubench: no workload is called "sync.nothing"; see gpubench list
  [64]

A workload that fails in one arm only gives no verdict; one that always fails is named, and nothing remains to judge.

  $ sim --env GPUBENCH_SIM=fail=1 --quick | grep -E '^(sim|note|VERDICT)'
  sim [P]          -     -      - unknown inconclusive: no numbers with the change
  sim.p99 [G]      -     -      - unknown inconclusive: no numbers with the change
  note: sim failed in 9 of 30 launches: simulated failure; its pairs are incomplete
  VERDICT INCONCLUSIVE: sim has no number in 9 of 9 launches with the change: simulated failure
  [3]
  $ GPUBENCH_SIM=fail=1 sim --pairs 3 | tail -2
  not measured: sim (simulated failure)
  VERDICT INVALID SESSION: no launch succeeded
  [5]

^C keeps the results, and the file says so: exit status 5.

  $ $TESTDIR/cli/signal_after INT cut.json '"t_s"' 3 -- gpubench run --workload sim --env A=B --pairs 1000 -o cut.json --quiet > /dev/null
  gpubench: interrupted; the settings are back, what was measured is in cut.json; continue with: gpubench run --resume cut.json
  [5]
  $ python3 -c 'import json; d = json.load(open("cut.json")); print(len(d["launches"]) > 2, d["run"]["interrupted"], d["verdict"])'
  True True invalid
  $ gpubench report cut.json --gate > /dev/null
  [5]

One arm, for a later compare.

  $ sim --pairs 9 | tail -6
  METRIC    MEDIAN   LOWEST  HIGHEST LAUNCHES
  sim     99.77 ms 99.60 ms 100.6 ms        9
  sim.p99 100.2 ms 99.93 ms 101.1 ms        9
  Each launch gives one number.
  
  VERDICT MEASURED: one arm; compare it with another result of this host

A plan without changes is reported, and identical arms are compared.

  $ gputune plan --only vm.swappiness -o plan.json > /dev/null
  $ python3 -c 'import json; d = json.load(open("plan.json")); d["items"] = []; json.dump(d, open("none.json", "w"))'
  $ gpubench run --plan none.json --no-env --workload sim --quick --seed 7 2>&1 | calm | grep -vE '^(gpubench, host|measuring)'
  gpubench: the plan changes nothing on this host; measuring A/A pairs only
  gpubench: 1 workload, 9 pairs of launches, about 0.1 min, seed 7
  design: 9 A/A pairs, nothing changed, seed 7
  Changes: none
  Other differences: none
  
  METRIC        before the same CHANGE 95% CI       VERDICT
  sim [P]     99.72 ms 99.96 ms +0.3 % [-0.1, +0.8] same (within 1.0 %)
  sim.p99 [G] 100.1 ms 100.4 ms +0.3 % [-0.2, +0.9] same (within 2.0 %)
  [P] decides the verdict, [G] guard: must not get worse, [C] control: must not change
  
  Change: mean ratio within pairs. Its sign can differ from that of the difference of the medians.
  0 better, 0 worse, 2 same, 0 inconclusive
  VERDICT SAME: nothing was changed; this shows the difference between identical arms: sim +0.3 %
  [-0.1, +0.8], lower is better

A full disk ends the session: the results are shown, and with free space the session can be resumed.

  $ (trap "" XFSZ; ulimit -f 12; sim --pairs 40 -o full.json) 2>&1 | grep -vE '^(gpubench, host|design|$)'
  gpubench: cannot write full.json: File too large; the samples so far are saved: free some space, then continue with: gpubench run --resume full.json
  METRIC    MEDIAN   LOWEST  HIGHEST LAUNCHES
  sim     * (glob)
  sim.p99 * (glob)
  Each launch gives one number.
  VERDICT INVALID SESSION: cannot write full.json: File too large; the samples so far are saved: free
  some space, then continue with: gpubench run --resume full.json
  [5]
  $ gpubench resume full.json --quiet | grep -E '^(sim |VERDICT)'
  sim     * 40 (glob)
  VERDICT MEASURED: one arm; compare it with another result of this host

A file that cannot be written does not prevent the others or the report, and can be made later.

  $ sim --pairs 12 -o kept.json --html /dev/fd/9 --markdown kept.md 2>&1 9>/dev/full | grep -E '^(gpubench:|sim |VERDICT)'
  gpubench: cannot write /dev/fd/9: No space left on device; gpubench report makes it from kept.json, which has the rest
  sim     * 12 (glob)
  VERDICT MEASURED: one arm; compare it with another result of this host
  [70]
  $ ls kept.*
  kept.json
  kept.md

A plan for another host is refused: exit status 4.

  $ python3 -c 'import json; d = json.load(open("plan.json")); d["host"] = "0123456789abcdef"; json.dump(d, open("x.json", "w"))'
  $ gpubench run --plan x.json --workload sim
  gpubench: the plan is for another host (0123456789abcdef, this one is *): make a plan here (glob)
  [4]

Invalid options are refused before anything is measured.

  $ gpubench run --workload nonsense
  gpubench: no workload is called "nonsense"; see gpubench list
  [64]
  $ gpubench run --workload train.gtp
  gpubench: no workload is called "train.gtp"; did you mean train.gpt?
  [64]
  $ gpubench run --plan p --no-plan
  gpubench: --plan and --no-plan exclude each other
  [64]
  $ gpubench run --env novalue
  gpubench: --env takes NAME=VALUE
  [64]
  $ gpubench run --plan nowhere.json
  gpubench: cannot read nowhere.json: No such file or directory
  [64]
  $ echo '{"schema": "gputune-plan/1"' > cut-plan.json; gpubench run --plan cut-plan.json
  gpubench: cut-plan.json:2:0: not valid JSON: '}' expected near end of file
  [64]
  $ gpubench run --workload sim -o nowhere/out.json
  gpubench: cannot create nowhere/out.json: No such file or directory
  [64]
  $ gpubench run --workload sim -o out.json --html nowhere/out.html
  gpubench: cannot create nowhere/out.html: No such file or directory
  [64]
  $ gpubench prove --env GPUBENCH_SIM=effect=-.02 --workload sim --receipt .
  gpubench: cannot write .: Is a directory
  [64]
  $ gpubench run --workload train.gpt --data nowhere
  gpubench: cannot read data from nowhere: No such file or directory
  [64]
  $ mkdir -p tree/proc tree/sys tree/etc; gpubench run --root tree --workload sim
  gpubench: measuring needs the live host, not --root
  [64]
  $ GPUBENCH_SIM=effect gpubench launch sim
  gpubench: GPUBENCH_SIM: "effect" is not NAME=NUMBER
  [64]
