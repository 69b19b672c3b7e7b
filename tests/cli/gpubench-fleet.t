Many hosts, made by the tool's simulation: two of sixteen are outliers, one of them because of a setting.

  $ night() { GPUBENCH_SIM=$1 gpubench run --workload sim --pairs 6 --seed $2 -q -o $3 > /dev/null; }
  $ dress() { python3 -c '
  > import json, sys
  > path, host, started, *settings = sys.argv[1:]
  > d = json.load(open(path)); s = d["settings"]["a"]
  > d["host"].update(identity=host, identity_parts={}, cpu="Some CPU"); d["run"]["started"] = started
  > s.pop("env.GPUBENCH_SIM", None); s.update(x.split("=", 1) for x in ["kernel.numa_balancing=0", *settings])
  > json.dump(d, open(path, "w"))' "$@"; }
  $ mkdir fleet; for i in $(seq 1 16); do
  >   case $i in 7) e=.04 n=1;; 11) e=.05 n=0;; *) e=0 n=0;; esac
  >   night effect=$e,sd=.002 $i fleet/h$i.json; dress fleet/h$i.json id$i 2026-11-20 kernel.numa_balancing=$n own.serial=$i
  > done
  $ gpubench fleet fleet
  gpubench fleet, 16 hosts
  
  METRIC  HOSTS   MEDIAN SPREAD OUTLIERS
  sim        16 99.96 ms  0.0 % h11 +5.1 %, h7 +3.9 %
  sim.p99    16 100.3 ms  0.0 % h11 +5.1 %, h7 +4.0 %
  The median host of each class; spread: median distance from it, times 1.48.
  
  HOST METRIC      HERE    USUAL DIFFERENCE VERDICT PROBABLE CAUSE
  h11  sim     105.1 ms 99.96 ms     +5.1 % WORSE   no recorded setting differs: check the hardware
  h7   sim     103.9 ms 99.96 ms     +3.9 % WORSE   kernel.numa_balancing: 1 here, 0 on 100 % of the
                                                    others
  h11  sim.p99 105.4 ms 100.3 ms     +5.1 % WORSE   no recorded setting differs: check the hardware
  h7   sim.p99 104.4 ms 100.3 ms     +4.0 % WORSE   kernel.numa_balancing: 1 here, 0 on 100 % of the
                                                    others
  Outliers: hosts farther from the median host than chance explains.
  
  VERDICT WORSE: some hosts are worse than the others
  [1]
  $ gpubench fleet fleet/h[1-6].json --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], len(d["hosts"]), d["outliers"], d["verdict"])'
  gpubench-fleet/1 6 [] same

As a page: the verdict first, no scripts, no network access, the document inside.

  $ gpubench fleet fleet --html fleet.html > /dev/null; grep -oE '^<title>.*</title>|<strong>[A-Z]+</strong>|<script[^>]*>|https?:' fleet.html
  <title>gpubench fleet: WORSE</title>
  <strong>WORSE</strong>
  <script type="application/json" id="gpubench-result">
  $ grep -c 'data-h="Verdict"><span>WORSE' fleet.html; grep -o 'numa_balancing: 1 here, 0 on 100 % of the others' fleet.html | head -1
  4
  numa_balancing: 1 here, 0 on 100 % of the others
  $ sed -n '/id="gpubench-result"/,/<.script>/p' fleet.html | sed '1d;$d' | python3 -c 'import json, sys; print(json.load(sys.stdin)["verdict"])'
  worse
  $ gpubench fleet fleet --html nowhere/x.html > answer
  gpubench: cannot create nowhere/x.html: No such file or directory
  [64]
  $ tail -n 1 answer
  VERDICT WORSE: some hosts are worse than the others

The document as Markdown. report renders it from its file as fleet and history did, with the same exit status.

  $ gpubench fleet fleet -o judged.json --markdown fleet.md > fleet.txt; sed -n '1,9p' fleet.md
  **WORSE: some hosts are worse than the others**
  
  gpubench fleet, 16 hosts
  
  Outliers: hosts farther from the median host than chance explains.
  
  | host | metric | here | usual | difference | verdict | probable cause |
  | --- | --- | ---: | ---: | ---: | --- | --- |
  | h11 | sim | 105.1 ms | 99.96 ms | +5.1 % | WORSE | no recorded setting differs: check the hardware |
  $ gpubench report judged.json --markdown again.md --html again.html | cmp - fleet.txt && cmp again.md fleet.md && cmp again.html fleet.html
  $ gpubench report judged.json --gate > /dev/null
  [1]
  $ gpubench report judged.json --openmetrics x.prom
  gpubench: a fleet's judgement has no OpenMetrics: --html, --markdown or -o
  [64]
  $ sed 's/gpubench-fleet.1/gpubench-fleet\/7/' judged.json > new-fleet.json; gpubench report new-fleet.json
  gpubench: new-fleet.json: written by a newer version (gpubench-fleet/7), but this version reads gpubench-fleet/1: update gputune
  [4]
  $ echo '{"schema": "gpubench-fleet/1", "metrics": [7, {"metric": "x", "judged": true, "hosts": [[], {"median": "a"}]}], "outliers": 3}' > odd.json; gpubench report odd.json --html odd.html --markdown odd.md | tail -1
  VERDICT SAME: no host is an outlier

Terminal control sequences are escaped there too.

  $ python3 - <<'END'
  > import json
  > e = "\x1b[2J\x07gone\nx"
  > host = {"host": e, "verdict": "worse", "deviation_pct": 3, "median": 1e308, "scales": 3}
  > cause = {"key": e, "value": e, "usual": e, "others_share": 1, "from": e, "to": e}
  > save = lambda name, doc: json.dump(doc, open(name + ".json", "w"))
  > save("e1", {"schema": "gpubench-fleet/1", "hosts": [{"counts": True}], "metrics": [{"metric": e, "unit": e, "judged": True, "hosts": [host]}],
  >     "outliers": [dict(host, metric=e, causes=[cause])], "warnings": [{"text": e, "hint": e}]})
  > save("e2", {"schema": "gpubench-history/1", "host": e, "metrics": [{"metric": e, "judged": True, "values": [{"median": 1e308}, {"median": -1e308}]}],
  >     "changes": [{"metric": e, "result": e, "index": 10**15, "before": 1e308, "settings": [cause]}], "warnings": [{"text": e}]})
  > save("e3", {"schema": "gpubench-ladder/1", "host": {"cpu": e}, "ladders": [{"title": e, "what": e, "rungs": [{"name": e, "speedup": 1e300,
  >     "launches": [{"failure": e}], "command": [e]}, {"name": e, "speedup": 2, "speedup_low": 1.5, "speedup_high": 1e308}]}]})
  > save("e4", {"schema": "gpubench-receipt/1", "metric": e, "knobs": [{"id": e, "from": e, "to": e, "verdict": e, "kept": True, "why": e}],
  >     "races": [{"id": e, "heats": [{"value": e}], "winner": e}], "not_reached": [e], "plan": {}})
  > save("e5", {"schema": "gpubench-fleet/1", e: 1})
  > END
  $ for i in 1 2 3 4; do gpubench report e$i.json --html e$i.html --markdown e$i.md > e$i.txt || echo $?; done; cat e?.txt e?.md e?.html | LC_ALL=C grep -c "$(printf '[\033\007]')"
  0
  [1]
  $ gpubench report e5.json
  gpubench: e5.json: the name of a member contains control characters
  [64]

A foreign verdict is not inserted into the page.

  $ for s in fleet history; do echo '{"schema":"gpubench-'$s'/1","verdict":"x\"><h1>INJECTED</h1><a href=\"y"}' > v.json
  >   gpubench report v.json --html v.html > /dev/null; grep -o 'class="verdict[^>]*>' v.html; sed '/^<script/,$d' v.html | grep INJECTED; done; true
  class="verdict inconclusive">
  class="verdict inconclusive">

Three hosts are too few; with --require-conclusive that is exit status 3. Another processor is another class.

  $ gpubench fleet fleet/h[1-3].json | tail -1
  VERDICT INCONCLUSIVE: a class needs at least four hosts
  $ gpubench fleet fleet/h[1-3].json --require-conclusive > /dev/null
  [3]
  $ sed 's/Some CPU/Another CPU/' fleet/h7.json > other.json; gpubench fleet fleet/h[1-6].json other.json | grep -E '^(sim|VERDICT)'
  sim         6 99.91 ms  0.0 % none
  sim.p99     6 100.3 ms  0.0 % none
  sim         1 103.9 ms  0.0 % too few hosts to judge
  sim.p99     1 104.4 ms  0.0 % too few hosts to judge
  VERDICT SAME: no host is an outlier

An older result of the same machine and an interrupted session are left out and listed.

  $ cp fleet/h1.json old.json; dress old.json id1 2026-11-01; sed 's/"interrupted": false/"interrupted": true/' fleet/h2.json > cut.json
  $ gpubench fleet fleet/h[1-6].json old.json cut.json | grep -E '^(note|VERDICT)'
  note: old: a newer result of the same machine exists; left out
  note: cut: its session was interrupted; left out
  VERDICT SAME: no host is an outlier

One host over twenty nights: it became slower on the thirteenth, when a setting changed.

  $ mkdir nights; for i in $(seq 10 29); do
  >   e=0 n=0; [ $i -ge 22 ] && e=.03 n=1
  >   night effect=$e,sd=.004 $i nights/n$i.json; dress nights/n$i.json id1 2026-11-${i}T03:00:00Z kernel.numa_balancing=$n
  > done
  $ gpubench history nights
  gpubench history, host id1, 20 results
  
  METRIC  RESULTS   NEWEST CHANGES
  sim          20 103.0 ms +3.0 % at n22
  sim.p99      20 103.4 ms +3.0 % at n22
  The newest median and the change points of each metric.
  
  SINCE                      METRIC    BEFORE    AFTER CHANGE VERDICT SETTINGS CHANGED THEN
  2026-11-22T03:00:00Z (n22) sim     100.1 ms 103.1 ms +3.0 % WORSE   kernel.numa_balancing 0 -> 1
  2026-11-22T03:00:00Z (n22) sim.p99 100.5 ms 103.5 ms +3.0 % WORSE   kernel.numa_balancing 0 -> 1
  Change points: since that result the metric has another level.
  
  VERDICT WORSE: the newest change of a primary or guard metric is for the worse
  [1]
  $ gpubench history nights --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], d["results"], [(c["metric"], c["result"], c["verdict"]) for c in d["changes"]], d["exit_code"])'
  gpubench-history/1 20 [('sim', 'n22', 'worse'), ('sim.p99', 'n22', 'worse')] 1
  $ gpubench history nights/n1*.json nights/n20.json nights/n21.json | tail -1
  VERDICT SAME: in the newest results no primary or guard metric is worse than before
  $ gpubench history nights/n1[0-4].json --require-conclusive | tail -1; echo ${PIPESTATUS[0]}
  VERDICT INCONCLUSIVE: a history needs at least eight results
  3

  $ gpubench history nights --html history.html > /dev/null; grep -oE '^<title>.*</title>|<strong>[A-Z]+</strong>|https?:' history.html; grep -c 'class="cut"' history.html
  <title>gpubench history: WORSE</title>
  <strong>WORSE</strong>
  2

  $ gpubench history nights -o history.json --markdown history.md > history.txt; sed -n '1,9p' history.md
  **WORSE: the newest change of a primary or guard metric is for the worse**
  
  gpubench history, host id1, 20 results
  
  Change points: since that result the metric has another level.
  
  | since | metric | before | after | change | verdict | settings changed then |
  | --- | --- | ---: | ---: | ---: | --- | --- |
  | 2026-11-22T03:00:00Z (n22) | sim | 100.1 ms | 103.1 ms | +3.0 % | WORSE | kernel.numa\_balancing 0 -> 1 |
  $ gpubench report history.json --markdown again.md --html again.html | cmp - history.txt && cmp again.md history.md && cmp again.html history.html

Results of several machines are refused unless one is selected; an invalid result is named.

  $ gpubench history nights fleet/h2.json
  gpubench: results of several machines (id1 and id2): --host picks one, gpubench fleet compares them
  [4]
  $ gpubench history nights/n1*.json fleet/h2.json --host id1 | grep -E '^(note|VERDICT)'
  note: h2: of another machine; left out
  VERDICT SAME: in the newest results no primary or guard metric is worse than before
  $ mkdir empty; gpubench fleet empty
  gpubench: empty contains no results (*.json)
  [64]
  $ gpubench fleet nowhere.json
  gpubench: cannot open nowhere.json: No such file or directory
  [64]
  $ echo '{"schema": "gpubench/2"}' > new.json; gpubench fleet fleet/h1.json new.json
  gpubench: new.json: written by a newer version (gpubench/2), but this version reads gpubench/1: update gputune
  [4]
  $ gpubench history new.json -o nowhere/x
  gpubench: new.json: written by a newer version (gpubench/2), but this version reads gpubench/1: update gputune
  [4]

On a cluster each process writes its own file: %h is the host, %r the rank from srun or mpirun.

  $ SLURM_PROCID=3 gpubench run --workload sim --pairs 3 -q -o rank-%r.json > /dev/null; OMPI_COMM_WORLD_RANK=1 gpubench run --workload sim --pairs 3 -q -o %h-%r.json > /dev/null
  $ ls | sed "s/^$(uname -n)-/HOST-/" | grep -E "^(rank|HOST)" | LC_ALL=C sort
  HOST-1.json
  rank-3.json
