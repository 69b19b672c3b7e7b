The workload is a command whose step really takes 5 % less with FAST and 3 % more with SLOW; OTHER has no effect. Only FAST
is kept, and it is confirmed on new data. Notes on the load of this host are removed from the output, and a first line that is
wrapped because of a long name is joined.

  $ set -o pipefail; calm() { grep -vE '^note: .*other programs use the CPUs' | sed -E '/^gpubench prove, /{/ 20[0-9-]+T/!{N;s/\n/ /}}'; }
  $ cat > step.sh <<'END'
  > awk -v fast="$FAST" -v slow="$SLOW" -v seed="$RANDOM$$" 'BEGIN { srand(seed); for (i = 0; i < 9; i++)
  >   printf "t %.7f\n", .1 * (fast ? .95 : 1) * (slow ? 1.03 : 1) * (1 + .002 * (rand() - .5)) }'
  > END
  $ prove() { gpubench prove --quick --quiet --metric 'regex:t ([0-9.]+)' --unit s "$@" -- bash step.sh | calm; }
  $ prove --env FAST=1 --env SLOW=1 --env OTHER=1 --seed 5 -o all.json --receipt receipt.json
  gpubench prove, host *, kernel *, 20* (glob)
  metric: cmd, lower is better, seed 5
  
  CHANGE                 EFFECT * KEPT MECHANISM (glob)
  env.FAST (none) -> 1  * better  yes  none (glob)
  env.SLOW (none) -> 1  * worse   no   none (glob)
  env.OTHER (none) -> 1 * same    no   none (glob)
  Effect: result of the change while all others are on.
  
  took 87 of at most 87 pairs, * min of about * (glob)
  VERDICT PROVED: 1 of 3 changes help, confirmed on new data: * (glob)

The receipt contains for each change its effect with an interval, the method, and a command that reverts it; the document
contains every phase.

  $ python3 - <<'END'
  > import json
  > d, r = json.load(open("all.json")), json.load(open("receipt.json"))
  > print([p["phase"]["name"] for p in d["phases"]])
  > for k in r["knobs"]:
  >     e = k["effect"]
  >     print(k["id"], k["method"], round(e["change_pct"]), e["ci_low_pct"] < e["change_pct"] < e["ci_high_pct"], e["n"], k["revert"])
  > print(r["confirmed"], round(r["confirm"]["change_pct"]), r["as_good_as_all"])
  > END
  ['total', 'leave-one-out', 'add-one', 'leave-one-out', 'add-one', 'leave-one-out', 'add-one', 'confirm', 'kept against all']
  env.FAST leave-one-out -5 True 9 unset FAST
  env.SLOW leave-one-out 3 True 9 unset SLOW
  env.OTHER leave-one-out 0 True 9 unset OTHER
  True -5 True

Beyond six changes all are measured at once, so that each launch informs about each change; placebos are not kept.

  $ for i in 1 2 3 4 5 6 7 8; do set -- "$@" --env P$i=1; done
  $ prove "$@" --env FAST=1 --env SLOW=1 --seed 6 -o ten.json --receipt ten-receipt.json > ten.txt; grep -c ' no  ' ten.txt; grep -E 'FAST|SLOW|PROVED' ten.txt
  9
  env.FAST (none) -> 1 * better  yes  none (glob)
  env.SLOW (none) -> 1 * worse   no   none (glob)
  VERDICT PROVED: 1 of 10 changes help, confirmed on new data: * (glob)
  $ python3 -c 'import json; d = json.load(open("ten.json")); print([(p["phase"]["name"], p["run"]["looks"][0]["pairs"]) for p in d["phases"]])'
  [('total', 9), ('design', 32), ('confirm', 9), ('kept against all', 9)]

Page and Markdown name the kind of each effect, the effect of a change alone, and interactions.

  $ page() { gpubench report $1 --html p.html --markdown p.md > /dev/null; grep -oh 'Effect: [^.]*[.]' p.html p.md | sort | uniq -c; }
  $ page receipt.json
        3 Effect: result of the change while all others are on.
  $ page ten-receipt.json
        3 Effect: mean result of the change over all settings of the others.
  $ python3 -c "import json; d = json.load(open('receipt.json')); print(d['total']['change_pct'] < 0); d['knobs'][1].update(interacts=True, alone=dict(d['knobs'][1]['effect'], change_pct=9.5, ci_low_pct=9.25, ci_high_pct=9.75)); json.dump(d, open('x.json', 'w'))"
  True
  $ page x.json > /dev/null; grep -c 'differs alone' p.md; sed '/^<script/,$d' p.html > p.txt; grep -o 'worse, differs alone' p.txt; grep -oE 'data-h="Alone"><span>[+-][0-9.]+ %' p.txt | wc -l; grep -c '[+]9.5 % .*[+]9.[23], ' p.txt p.md
  1
  worse, differs alone
  3
  p.txt:1
  p.md:1
  $ grep -oE '<text [^>]*>(all together|env.[A-Z]*|kept changes, on new data)<' p.txt | sed 's/.*>\(.*\)</\1/' | tail -5
  all together
  env.FAST
  env.SLOW
  env.OTHER
  kept changes, on new data
A worse guard prevents a change from being kept, with any number of changes: TRADE takes 5 % off the median and makes every
tenth step half as long again. An undecided guard is named: with TAIL these steps vary.

  $ cat > trade.sh <<'END'
  > echo >> launches; n=$(wc -l < launches)
  > awk -v fast="$FAST" -v trade="$TRADE" -v tail="$TAIL" -v n="$n" -v seed="$RANDOM$$" 'BEGIN { srand(seed); far = 1 + tail * (n * n % 7); for (i = 0; i < 40; i++)
  >   printf "t %.7f\n", .1 * (fast ? .97 : 1) * (trade ? .95 : 1) * (i % 10 == 9 ? (trade ? 1.5 : far) : 1) * (1 + .002 * (rand() - .5)) }'
  > END
  $ trade() { gpubench prove --quick --quiet --metric 'regex:t ([0-9.]+)' --unit s "$@" -- bash trade.sh | calm; }
  $ set --; for i in 1 2 3 4 5 6; do set -- "$@" --env P$i=1; done
  $ trade "$@" --env FAST=1 --env TRADE=1 --seed 6 --receipt trade.json | grep -E 'TRADE|FAST|PROVED'
  env.FAST (none) -> 1 * better * yes  none (glob)
  env.TRADE (none) -> 1 * better, a guard is worse no   none (glob)
  VERDICT PROVED: 1 of 8 changes help, confirmed on new data: -* (glob)
  $ trade --env FAST=1 --env TRADE=1 --seed 6 | grep -E 'TRADE|FAST|PROVED'
  env.FAST (none) -> 1 * better * yes  none (glob)
  env.TRADE (none) -> 1 * better, a guard is worse no   none (glob)
  VERDICT PROVED: 1 of 2 changes help, confirmed on new data: * (glob)
  $ spiky() { rm launches; TAIL=.2 trade --env FAST=1 --seed $1 --receipt tail.json | tr '\n' ' ' | grep -oE 'better, a guard.*(yes|not confirmed)|(PROVED|NOT CONF).*'; }
  $ spiky 1
  better, a guard may be worse yes
  PROVED: 1 of 1 changes help, confirmed on new data: -* %*; may be worse: cmd.p99 *, allowed 2.0 %* (glob)
  $ spiky 2
  better, a guard may be worse not confirmed
  NOT CONFIRMED: 1 of 1 changes seemed to help, and helped again on new data: *, but cmd.p99 seems worse by * % (allowed 2.0 %): more pairs would decide* (glob)
  $ gpubench report tail.json --markdown - | head -1
  **NOT CONFIRMED: 1 of 1 changes seemed to help, and helped again on new data: *, but cmd.p99 seems worse * (glob)

The kept changes must be better again in the receipt's metric: here that gain is gone on new data, while another one
remains.

  $ cat > gone.sh <<'END'
  > echo >> runs
  > [ -n "$GPUBENCH_SIM" ] && [ "$(wc -l < runs)" -le 48 ] && gain=.95
  > awk -v gain="${gain:-1}" -v seed="$RANDOM$$" 'BEGIN { srand(seed); for (i = 0; i < 9; i++) printf "t %.7f\n", .1 * gain * (1 + .002 * (rand() - .5)) }'
  > END
  $ gpubench prove --quick --quiet --workload sim --env GPUBENCH_SIM=effect=-.05 --seed 3 --metric 'regex:t ([0-9.]+)' --unit s -o gone.json -- bash gone.sh | tr '\n' ' ' | grep -o 'NOT CONFIRMED.*new data'
  NOT CONFIRMED: 1 of 1 changes seemed to help, and new data
  $ python3 -c 'import json; d = json.load(open("gone.json")); print([(p["phase"]["name"], p["verdict"], [(c["metric"], c["verdict"]) for c in p["comparisons"] if c["role"] == "primary"]) for p in d["phases"]], d["confirmed"])'
  [('total', 'better', [('cmd', 'better'), ('sim', 'better')]), ('leave-one-out', 'better', [('cmd', 'better'), ('sim', 'better')]), ('confirm', 'better', [('cmd', 'same'), ('sim', 'better')])] False

If nothing helps, the receipt says so.

  $ prove --env OTHER=1 --seed 7 | tail -1
  VERDICT PROVED: nothing here helps this workload; leave the host as it is

A receipt is valid for this host, kernel and driver, and for 90 days. Only tunables of the host are applied from it.

  $ edit() { python3 -c "import json, sys; d = json.load(open('receipt.json')); $1; json.dump(d, open('x.json', 'w'))"; }
  $ gputune apply --only-proven receipt.json
  Nothing to change.
  $ edit 'd["host"] = "0123456789abcdef"'; gputune apply --only-proven x.json
  gputune: x.json was measured on another host (0123456789abcdef, this one is *): prove it here (glob)
  [3]
  $ edit 'd["marks"]["machine_id"] = "0"'; gputune apply --only-proven x.json
  gputune: x.json was measured on another host that is built like this one (different: machine id): prove it here
  [3]
  $ edit 'd["marks"] = {}'; gputune apply --only-proven x.json
  gputune: x.json does not show whether it was measured on this host or on one built alike: give the host a machine id (systemd-machine-id-setup) and prove it again
  [3]
  $ edit 'del d["marks"]'; gputune apply --only-proven x.json
  Nothing to change.
  $ edit 'd["kernel"] = "5.4.0"'; gputune apply --only-proven x.json
  gputune: x.json was measured under kernel 5.4.0, this is *: prove it again (glob)
  [3]
  $ edit 'd["nvidia_driver"] = "999.1"'; gputune apply --only-proven x.json
  gputune: x.json was measured with NVIDIA driver 999.1, this is *: prove it again (glob)
  [3]
  $ edit 'd["created_unix"] -= 100 * 86400'; gputune apply --only-proven x.json
  gputune: x.json is 100 days old; the effects may have changed: prove it again
  [3]
  $ edit 'd["confirmed"] = False'; gputune apply --only-proven x.json
  gputune: x.json proves nothing: no change was confirmed on new data
  [3]
  $ edit 'd["schema"] = "gpubench-receipt/3"'; gputune apply --only-proven x.json
  gputune: x.json: * (glob)
  [64]

A receipt of schema 1 holds no samples. The refusal names the command that makes a new one.

  $ edit 'd["schema"] = "gpubench-receipt/1"; del d["samples"]'; gputune apply --only-proven x.json
  gputune: x.json was made by an older gpubench and has no samples; prove it again: gpubench prove --quick --quiet --metric 'regex:t ([0-9.]+)' --unit s --env FAST=1 --env SLOW=1 --env OTHER=1 --seed 5 -o all.json --receipt receipt.json -- bash step.sh
  [3]
  $ edit 'd["schema"] = "gpubench-receipt/1"; d["argv"] = ["rm", "-rf"]'; gputune apply --only-proven x.json
  gputune: x.json was made by an older gpubench and has no samples; prove it again: gpubench prove --receipt x.json
  [3]

The statements of a receipt must follow from its samples, which gputune judges again.

  $ edit 'd["knobs"] = []'; gputune apply --only-proven x.json
  gputune: x.json is refused: it is confirmed, but no change is kept
  [3]
  $ edit 'd["knobs"][1]["kept"] = True'; gputune apply --only-proven x.json
  gputune: x.json is refused: env.SLOW is kept, although its verdict is "worse"
  [3]
  $ edit 'd["knobs"][1].update(kept=True, verdict="better")'; gputune apply --only-proven x.json
  gputune: x.json is refused: the verdict of env.SLOW is "better", but its samples give "worse"
  [3]
  $ edit 'd["knobs"][0]["effect"]["change_pct"] = -50'; gputune apply --only-proven x.json
  gputune: x.json is refused: the effect of env.FAST does not follow from its samples
  [3]
  $ edit 'd["samples"]["confirm"]["metrics"][0]["pairs"][0].reverse()'; gputune apply --only-proven x.json
  gputune: x.json is refused: the effect of "confirm" does not follow from its samples
  [3]
  $ gputune apply --only-proven receipt.json plan.json
  gputune: PLAN and --only-proven exclude each other
  [64]

The proved values are written, here into a tree; the rest of the profile is not.

  $ $BUILDDIR/tests/cli/unpack $FIXTURES/cpu-server.host root; gputune plan --root root --json > plan.json
  $ knob() { edit "p = json.load(open('plan.json')); d.pop('marks'); d.update(host=p['host'], kernel=p['kernel'], nvidia_driver=None); d['knobs'][0].update(kind='knob', knob='$1', instance=None); d['knobs'][0].update({'from': '$2', 'to': '$3'})"; gputune apply --root root --only-proven x.json $4 $5; }
  $ knob vm.max_map_count 65530 400000
  KNOB             BEFORE APPLIED RESULT
  vm.max_map_count  65530  400000 written
  $ gputune apply --root root --only-proven x.json | tail -1
  Nothing to change.
  $ gputune revert --root root | tail -1
  vm.max_map_count  65530  400000 restored
  $ gputune apply --root root --only-proven x.json --skip vm.max_map_count
  Nothing to change.
  $ mkdir -p root/etc/gputune/profiles; printf '[knobs]\nvm.max_map_count = off\n' >root/etc/gputune/profiles/site.conf
  $ gputune apply --root root --only-proven x.json -p site
  Nothing to change.

The rules of a plan apply: known tunables, values in range and direction, from the host's current value.

  $ knob vm.max_map_count 65530 1
  gputune: x.json is refused: knob 1: vm.max_map_count takes 65530 to 2147483647 on this host, not 1
  [3]
  $ knob vm.max_map_count 500000 400000
  gputune: x.json is refused: knob 1: vm.max_map_count would not raise from 500000 to 400000
  [3]
  $ knob vm.max_map_count 262144 400000
  gputune: x.json changes vm.max_map_count from 262144, but it is 65530 now: prove it again
  [3]
  $ knob vm.max_map_count 65530 '-7; reboot'
  gputune: x.json is refused: knob 1: vm.max_map_count takes whole numbers, not '-7;'
  [3]
  $ knob vm.no_such_knob 1 2
  gputune: x.json is refused: knob 1: there is no knob 'vm.no_such_knob' that gputune writes
  [3]
  $ knob vm.max_map_count 65530 400000 >ok.txt; gputune revert -q --root root >ok.txt; cat root/proc/sys/vm/max_map_count
  65530

Killed in any phase, the session continues with the same phases, launches and random order.

  $ again() { for n in 30 80 139 160; do $TESTDIR/cli/signal_after KILL $1 '"t_s"' $n -- gpubench resume $1 --quiet > /dev/null; echo $?; done; }
  $ sim() { gpubench prove --quick --quiet --workload sim --env GPUBENCH_SIM=effect=-.05 --env OTHER=1 --env MORE=1 --seed 8 "$@"; }
  $ sim -o straight.json --receipt straight-receipt.json | grep -o 'PROVED: 1 of 3'
  PROVED: 1 of 3
  $ $TESTDIR/cli/signal_after KILL killed.json '"t_s"' 5 -- gpubench prove --quick --quiet --workload sim --env GPUBENCH_SIM=effect=-.05 --env OTHER=1 --env MORE=1 --seed 8 -o killed.json --receipt killed-receipt.json; again killed.json
  137
  137
  137
  137
  $ gpubench prove --resume killed.json --quiet | grep -o 'PROVED: 1 of 3'
  PROVED: 1 of 3
  $ python3 - <<'END'
  > import json
  > def order(name):
  >     return [(p["phase"]["name"], p["phase"]["change"], [(l["seq"], l["block"], l["kind"], l["arm"]) for l in p["launches"]]) for p in json.load(open(name))["phases"]]
  > def kept(name):
  >     return [(k["id"], k["kept"]) for k in json.load(open(name))["knobs"]]
  > print([p[:2] for p in order("killed.json")] == [p[:2] for p in order("straight.json")], sum(len(p[2]) for p in order("killed.json")))
  > print([[l[1:] for l in p[2]] for p in order("killed.json")] == [[l[1:] for l in p[2]] for p in order("straight.json")])
  > print(kept("killed-receipt.json") == kept("straight-receipt.json"))
  > END
  True 174
  True
  True
  $ gpubench resume killed.json
  gpubench: killed.json: this session is complete; nothing is left to do
  [64]

Results that cannot be judged prove nothing, with the reason: a metric without a match, a command that fails in one arm
only, constant numbers, invalid numbers.

  $ bad() { gpubench prove --quick -q --env S=1 --seed 4 --metric 'regex:is (.*)' -- sh -c "$1" | calm | grep -v -E '^(gpubench prove|metric|Effect|took|CHANGE|$)'; echo ${PIPESTATUS[0]}; }
  $ bad 'echo nothing'
  gpubench: total: the command: --metric regex:is (.*) matched nothing in its output; nothing is proved
  5
  $ bad 'test -z "$S" && echo is 1.5$(($$ % 1000 + 1000))'
  env.S (none) -> 1      - unknown inconclusive no   none
  env.S: no numbers with the change
  note: the session ended after the first launches of the command with the change; it failed in all of
  them, and in none without the change; nothing more was measured
  note: cmd failed in 3 of 12 launches: exit status 1; its pairs are incomplete (total)
  note: cmd failed in 3 of 6 launches: exit status 1; its pairs are incomplete (leave-one-out of
  env.S)
  VERDICT INCONCLUSIVE: no change was shown to help this workload; undecided: 1 of 1
  0
  $ bad 'echo is 1.5'
  env.S (none) -> 1 +0.0 % [+0.0, +0.0] inconclusive no   none
  env.S: no variance: not a measurement
  VERDICT INCONCLUSIVE: no change was shown to help this workload; undecided: 1 of 1
  0
  $ bad 'test -z "$S" && echo is 1.5 || echo is 1.2'
  env.S (none) -> 1 -20.000 % [-20.000, -20.000] inconclusive no   none
  env.S: no variance: not a measurement
  VERDICT INCONCLUSIVE: no change was shown to help this workload; undecided: 1 of 1
  0
  $ bad 'test -z "$S" && echo is 1.5$(($$ % 1000 + 1000)) || echo is nan'
  env.S (none) -> 1      - unknown inconclusive no   none
  env.S: no numbers with the change
  note: cmd: 9 launches have samples that are not positive numbers; these launches and their pairs are
  left out
  VERDICT INCONCLUSIVE: no change was shown to help this workload; undecided: 1 of 1
  0

--minutes ends the session: phases that were not reached are named, decide nothing and are not kept. The prediction of time
and detectable effects is in the receipt. A killed session may be given more time.

  $ $TESTDIR/cli/signal_after KILL short.json '"t_s"' 16 -- gpubench prove --quick --quiet --workload sim --env GPUBENCH_SIM=effect=-.05 --env OTHER=1 --env MORE=1 --seed 8 -o short.json --receipt short-receipt.json --html short.html
  [137]
  $ gpubench resume short.json --quiet --minutes .0001 | calm | sed -E 's/[0-9.]+ min/N min/; s/about .*/about N/; s/took (8|9) /took 8 /'
  gpubench prove, host *, kernel *, 20* (glob)
  metric: sim, lower is better, seed 8
  
  CHANGE                     EFFECT 95% CI  VERDICT      KEPT MECHANISM
  env.GPUBENCH_SIM (none) ->      - unknown inconclusive no   none
  effect=-.05
  env.OTHER (none) -> 1           - unknown inconclusive no   none
  env.MORE (none) -> 1            - unknown inconclusive no   none
  No effect was measured.
  
  env.GPUBENCH_SIM, env.OTHER, env.MORE: the time limit ended before it was measured
  note: the session was interrupted and resumed; the host may have drifted in between; no pair was
  split
  took 8 of at most 87 pairs, N min of about N
  not reached in the N min allowed: all pairs of the total effect, env.GPUBENCH_SIM, env.OTHER,
  env.MORE
  VERDICT INCONCLUSIVE: no change was shown to help this workload; undecided: 3 of 3
  $ python3 -c '
  > import json; r = json.load(open("short-receipt.json")); p = r["plan"]
  > print(r["confirmed"], r["not_reached"], p["pairs"], [(s["name"], s["comparisons"] * s["pairs"], s["pairs_taken"] in (8, 9), (s["mde_pct"] or 0) > 0) for s in p["steps"]])'
  False ['all pairs of the total effect', 'env.GPUBENCH_SIM', 'env.OTHER', 'env.MORE'] 87 [('total effect and A/A', 15, True, True), ('each change', 54, False, True), ('confirmation', 9, False, True), ('kept changes compared with all', 9, False, True)]
  $ grep -oE '<strong>[A-Z]+</strong>|<h2 id="plan-h">Plan|allowed: .*' short.html | sed 's/<.li>//'
  <strong>INCONCLUSIVE</strong>
  <h2 id="plan-h">Plan
  allowed: all pairs of the total effect, env.GPUBENCH_SIM, env.OTHER, env.MORE
  $ $TESTDIR/cli/signal_after KILL more.json '"t_s"' 5 -- gpubench prove --quick --quiet --workload sim --env GPUBENCH_SIM=effect=-.05 --env OTHER=1 --env MORE=1 --seed 8 --minutes 1 -o more.json
  [137]
  $ gpubench resume more.json --quiet --minutes 30 | grep -oE 'PROVED: 1 of 3|not reached'
  PROVED: 1 of 3
  $ sim --minutes .0001
  gpubench: --minutes 0.0001 is too short for the A/A pairs and one pair with the change: these take about 0.041 min, the whole session 0.087
  [64]
  $ gpubench prove --quick --quiet --env OTHER=1 --minutes .005 -o soon.json -- sleep .1
  gpubench: --minutes 0.005 is too short for the A/A pairs and one pair with the change: these take about * min, the whole session *; continue with: gpubench run --resume soon.json --minutes * (glob)
  [64]
  $ python3 -c 'import json; p, = json.load(open("soon.json"))["phases"]; print({l["kind"] for l in p["launches"]})'
  {'aa'}
  $ sim --minutes=-1
  gpubench: --minutes takes a number above 0, not '-1' (see 'gpubench prove --help')
  [64]
  $ GPUBENCH_SIM=effect=-.05 $TESTDIR/cli/signal_after KILL ab.json '"t_s"' 20 -- gpubench ab --env OTHER=1 --workload sim --pairs 40 --seed 8 --quiet -o ab.json; gpubench resume ab.json --quiet --minutes 0.0001 | grep -o 'the time limit ended'
  the time limit ended

A saved session is untrusted: contradictory parts are refused, and so is another host.

  $ half() { python3 -c "import json; d = json.load(open('killed.json')); d['interrupted'] = True; $1; json.dump(d, open('y.json', 'w'))"; gpubench resume y.json --quiet; }
  $ half 'd["phases"][1]["phase"]["name"] = "confirm"'
  gpubench: phase 2 of the saved session is "confirm" and should be "leave-one-out": it was edited, or written by another version
  [5]
  $ half 'd["host"]["kernel"] = "5.4"'
  gpubench: it was started with another kernel (5.4)
  [4]
  $ half 'd["host"]["nvidia_driver"] = "1.2"'
  gpubench: it was started with NVIDIA driver 1.2, and the driver is now * (glob)
  [4]
  $ half 'd["tool"]["suite_major"] = 0'
  gpubench: it was started with measuring suite 0, this one is 1
  [4]
  $ half 'd["run"]["prove"]["changes"][1]["from"] = "7"'
  gpubench: the session has env.OTHER from 7 to 1, and this host now has env.OTHER from (none) to 1
  [4]
  $ half 'd["run"]["prove"]["pairs"] = 10**9'
  gpubench: y.json cannot be taken up again: "pairs" is 1000000000
  [64]
  $ half 'del d["run"]["prove"]'
  gpubench: y.json cannot be taken up again: * (glob)
  [64]
  $ half 'd["phases"] = 7'
  gpubench: y.json cannot be taken up again: * (glob)
  [64]
  $ gpubench resume killed.json --html x.html
  gpubench: killed.json is a session of prove: it has a receipt, and no --html, --markdown or --require-conclusive
  [64]

The best of several values is found by pairs against the host's own value, half of them in each round, and then proved like
any other change. If no value wins, nothing changes.

  $ cat > ranks.sh <<'END'
  > awk -v n="${RANKS:-1}" -v seed="$RANDOM$$" 'BEGIN { srand(seed); s[1] = 1; s[2] = .95; s[3] = .97; s[4] = .9; s[8] = 1.1; s[16] = 1.2
  >   for (i = 0; i < 9; i++) printf "t %.7f\n", .1 * s[n] * (1 + .002 * (rand() - .5)) }'
  > END
  $ race() { gpubench prove --quick --quiet --metric 'regex:t ([0-9.]+)' --unit s "$@" -- bash ranks.sh | calm; }
  $ race --race env.RANKS=1,2,3,4,8,16 --seed 3 -o race.json --receipt race-receipt.json | tr '\n' ' ' | grep -oE 'better +yes|race of.*above|PROVED: 1 of 1'
  better  yes
  race of env.RANKS: 1 *, 8 *, 16 *, 3 *, 4 *, 2 *; 4 is proved above (glob)
  PROVED: 1 of 1
  $ python3 - <<'END'
  > import json
  > r = json.load(open("race-receipt.json"))["races"][0]
  > print([(h["round"], h["pairs"]) for h in r["heats"]], r["winner"])
  > print([sorted(h["value"] for h in r["heats"] if h["round"] == n) for n in (1, 2, 3)])
  > END
  [(1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (2, 8), (2, 8), (2, 8), (3, 16), (3, 16)] 4
  [['1', '16', '2', '3', '4', '8'], ['2', '3', '4'], ['2', '4']]
  $ race --race env.RANKS=8,16 --seed 3
  gpubench prove, host *, kernel *, 20* (glob)
  metric: cmd, lower is better, seed 3
  race of env.RANKS: 8 * %, 16 * %; none was shown to be better than the host's own value (glob)
  took 8 of at most 41 pairs, * min (glob)
  VERDICT PROVED: nothing here helps this workload; leave the host as it is

Values that the time limit leaves unmeasured are undecided.

  $ cat > slow.sh <<'END'
  > sleep .5; awk -v n="${RANKS:-1}" 'BEGIN { srand(n); for (i = 0; i < 9; i++) printf "t %.7f\n", .1 * n * (1 + .002 * rand()) }'
  > END
  $ gpubench prove --quick --quiet --metric 'regex:t ([0-9.]+)' --unit s --race env.RANKS=2,3,4,5,6,7,8 --minutes .2 --seed 3 -o slow.json --receipt slow-receipt.json -- bash slow.sh | tr '\n' ' ' | grep -oE ' [3-8] \+0|none was shown to be better|INCONCLUSIVE: .*allowed'
  none was shown to be better
  INCONCLUSIVE: no change was shown to help this workload; not reached in the time allowed
  $ gpubench prove --race vm.max_map_count=300000,x -- true
  gpubench: vm.max_map_count takes whole numbers, not 'x'
  [64]
  $ gpubench prove --race vm.x=1,2 -- true
  gpubench: --race vm.x=1,2: it is neither a knob of gputune (see gputune list), env.NAME nor loader.workers
  [64]
  $ gpubench prove --race env.X=1 -- true
  gpubench: --race env.X=1: give 2 to 16 values other than the host's own; for one value use --knob or --env
  [64]
  $ gpubench prove --race nonsense -- true
  gpubench: --race nonsense: it must be ID=VALUE,VALUE,...
  [64]

Arms that are boots need a host that can reboot, and a file that survives it.

  $ gpubench ab --boot-arg mitigations=off -- true
  gpubench: --boot-arg needs --reboot, because the kernel reads it at boot
  [64]
  $ gpubench ab --reboot --boot-arg mitigations=off -- true
  gpubench: --reboot needs -o FILE, because the measurements must survive the boots
  [64]
  $ gpubench ab --reboot --boot-arg 'a b' -o x.json -- true
  gpubench: --boot-arg takes one kernel argument, NAME or NAME=VALUE, without blanks or quotes
  [64]
  $ gpubench ab --reboot --boot-arg a -o /dev/shm/x.json -- true
  gpubench: /dev/shm/x.json is in memory and does not survive a boot: choose another directory
  [64]
  $ gpubench ab --reboot --boot-arg a -o x.json --html x.html -- true
  gpubench: --reboot allows only -o and no --minutes: create other files later with gpubench report
  [64]
  $ gpubench prove --reboot --pairs 5 --boot-arg a -o x.json -- true
  gpubench: --pairs takes 6 or more: fewer cannot prove several changes
  [64]
  $ gpubench run --abandon --resume x.json
  gpubench: --abandon: no session with --reboot is in progress on this host
  [64]

Without a plan or another change, prove prints the changes of the profile. It measures them only with --yes.

  $ gpubench prove >changes.txt
  gpubench: nothing was measured: give --yes to prove these changes, or select others with --plan or --knob
  [64]
  $ sed -n 1p changes.txt
  prove would measure these changes of the profile *, and the environment of gputune run: (glob)
  $ gpubench prove --yes --minutes .0001 2>&1 | grep -oE 'is too short for the A/A pairs|already has all values of the profile' | wc -l
  1
  [64]

Sessions that cannot prove anything are refused before they are measured.

  $ set --; for i in $(seq 64); do set -- "$@" --env P$i=1; done; gpubench prove --quiet "$@" -- true
  gpubench: 64 changes: one session proves at most 63; choose with --knob, or prove them in parts
  [64]

  $ gpubench prove --env A=1 --pairs 5 -- true
  gpubench: --pairs takes 9 or more: fewer cannot prove several changes
  [64]
  $ gpubench prove --env A=1 --quiet --quick -- false
  gpubench: total: the command: exit status 1; nothing is proved
  [5]
