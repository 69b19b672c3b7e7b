A result in Prometheus' text format: each family is contiguous, in base units.

  $ gpubench run --workload sim,null --env GPUBENCH_SIM=effect=.03 --quick --seed 7 -q -o r.json --openmetrics r.prom --trace r.trace > /dev/null
  [1]
  $ cat > read.py << 'END'
  > import re, sys
  > seen, last, n = set(), None, 0
  > for line in open(sys.argv[1]).read().splitlines():
  >     if line.startswith("# TYPE "):
  >         last = line.split()[2]; assert last not in seen, last; seen.add(last)
  >     elif not line.startswith("#"):
  >         m = re.fullmatch(r'([a-z_0-9]+)(?:{[a-z0-9_]+="(?:[^"\\\\\n]|\\\\.)*"(?:,[a-z0-9_]+="(?:[^"\\\\\n]|\\\\.)*")*})? (\S+)', line)
  >         assert m and m[1] == last, line
  >         float(m[2]); n += 1
  > print(len(seen), n > 20, line)
  > END
  $ python3 read.py r.prom
  8 True # EOF
  $ grep -E 'gpubench_(verdict.*"sim|session_verdict|exit_status).* 1$' r.prom
  gpubench_verdict{metric="sim",verdict="worse"} 1
  gpubench_verdict{metric="sim.p99",verdict="worse"} 1
  gpubench_session_verdict{verdict="worse"} 1
  gpubench_exit_status 1
  $ python3 -c '
  > import json
  > p = dict(l.rsplit(" ", 1) for l in open("r.prom").read().splitlines() if l[0] != "#")
  > c = json.load(open("r.json"))["comparisons"][0]
  > print(abs(float(p["""gpubench_effect_ratio{metric="sim",bound="ci95_low"}"""]) - c["ci_low_pct"] / 100) < 1e-8)'
  True

The session as a trace: one slice per launch, one row per workload.

  $ python3 -c '
  > import json
  > e = json.load(open("r.trace"))["traceEvents"]; d = json.load(open("r.json"))
  > x = [v for v in e if v["ph"] == "X"]
  > print(len(x) == len(d["launches"]), {v["args"]["name"] for v in e if v["name"] == "thread_name"} == {"sim", "null"}, min(v["dur"] for v in x) > 0)
  > print(all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(x, x[1:])), any(v["ph"] == "C" and v["name"] == "load" for v in e))'
  True True True
  True True

Saved results give the same; one arm has levels only.

  $ gpubench report r.json --openmetrics - | cmp - r.prom
  $ gpubench run --workload sim --pairs 3 -q --openmetrics one.prom > /dev/null; python3 read.py one.prom; grep -c effect_ratio one.prom
  6 False # EOF
  0
  [1]

A receipt of prove as a page, Markdown and metrics.

  $ gpubench prove --env A=1 --env GPUBENCH_SIM=effect=-.05 --workload sim --quick --seed 3 -q --receipt p.json -o whole.json > /dev/null
  $ gpubench report p.json --html p.html --openmetrics p.prom | tail -2
  took * pairs, * min of about * (glob)
  VERDICT PROVED: 1 of 2 changes help, confirmed on new data: -5.1 % [-5.5, -4.6]
  $ python3 read.py p.prom; grep -E 'knob_kept' p.prom | grep -v '#'
  6 True # EOF
  gpubench_knob_kept{knob="env.A"} 0
  gpubench_knob_kept{knob="env.GPUBENCH_SIM"} 1
  $ gpubench report whole.json --html - | cmp - p.html
  $ grep -o '<strong>[A-Z ]*</strong>' p.html; sed 's|<[^>]*>||g' p.html | grep -c 'unset GPUBENCH_SIM'; grep -oE '<(link|img|iframe)' p.html
  <strong>PROVED</strong>
  2
  [1]
  $ gpubench report p.json --markdown x.md > text; grep -E '^(\*\*|\| env)' x.md
  **PROVED: 1 of 2 changes help, confirmed on new data: -5.1 % \[-5.5, -4.6\]**
  | env.A (none) -> 1 | -0.2 % | \[-0.7, +0.4\] | +0.0 % \[-0.5, +0.6\] | 9 | same | no | none | unset A |
  | env.GPUBENCH\_SIM (none) -> effect=-.05 | -4.7 % | \[-5.1, -4.3\] | -5.2 % \[-5.9, -4.6\] | 9 | better | yes | none | unset GPUBENCH\_SIM |
  $ gpubench report whole.json --markdown - 2>&1 | tail -n 3 | cmp - <(tail -n 3 x.md)
  $ python3 -c "import json; d = json.load(open('p.json')); d['confirmed'] = False; json.dump(d, open('u.json', 'w'))"
  $ gpubench report u.json | grep -oE '^env.GPUBENCH_SIM .* better  [a-z ]* none|^VERDICT [A-Z ]*'
  env.GPUBENCH_SIM (none) -> -4.7 % [-5.1, -4.3] better  not confirmed none
  VERDICT NOT CONFIRMED
  $ gpubench report p.json --trace x.json
  gpubench: a receipt has no trace: --html, --markdown, --openmetrics or -o
  [64]
