A saved result can be rendered at any time; everything is computed again from its samples.

  $ gpubench run --workload sim --env GPUBENCH_SIM=effect=.03 --quick --seed 7 --quiet -o r.json > first.txt
  [1]
  $ gpubench report r.json > again.txt; cmp first.txt again.txt
  $ gpubench report r.json --markdown - | grep -v '^- load was'
  **WORSE: sim +3.0 % \[+2.7, +3.4\], lower is better; sim.p99 +3.0 % \[+2.6, +3.5\], lower is better**
  
  gpubench, host * (glob)
  
  design: 9 random pairs + 6 A/A pairs, seed 7. A/A check: ok (identical arms differ by 0.0 % in sim)
  
  \[P\] decides the verdict, \[G\] guard: must not get worse, \[C\] control: must not change
  
  | metric | before | after | change | 95% CI | verdict |
  | --- | ---: | ---: | ---: | --- | --- |
  | sim \[P\] | 99.97 ms | 103.2 ms | +3.0 % | \[+2.7, +3.4\] | WORSE (p 0.0039 Holm) |
  | sim.p99 \[G\] | 100.4 ms | 103.6 ms | +3.0 % | \[+2.6, +3.5\] | WORSE (p 0.0039 BH) |
  
  Change: mean ratio within pairs. Its sign can differ from that of the difference of the medians.
  
  - 0 better, 2 worse, 0 same, 0 inconclusive
  
  Changes
  
  | setting | from | to | when |
  | --- | --- | --- | --- |
  | env.GPUBENCH\_SIM | (none) | effect=.03 | environment of the run |
  
  Other differences: none
  $ gpubench report r.json -o x.json > /dev/null; gpubench report x.json --json | cmp - x.json

As a gate, its exit status is that of the run, computed from the samples and not from the file's own statements.

  $ edit() { python3 -c "import json, sys; d = json.load(open('r.json')); $1; json.dump(d, open('x.json', 'w'))"; }
  $ gpubench report r.json --gate > /dev/null
  [1]
  $ edit 'd["verdict"], d["exit_code"] = "better", 0'; gpubench report x.json --gate | tail -2 | head -1
  VERDICT WORSE: sim +3.0 % [+2.7, +3.4], lower is better; sim.p99 +3.0 % [+2.6, +3.5], lower is

A relevant difference of identical arms makes the session invalid: exit status 5.

  $ biased='[l["metrics"]["sim"].update(samples=[s * 1.05 for s in l["metrics"]["sim"]["samples"]]) for l in d["launches"] if l["kind"] == "aa" and l["arm"] == "B"]'
  $ edit "$biased"; gpubench report x.json --gate | grep '^VERDICT'
  VERDICT INVALID SESSION: identical arms differ by +5.0 % in sim: nothing measured here can be
  $ edit "$biased"; gpubench report x.json --gate > /dev/null
  [5]

A failed verification of the workload is exit status 6. A clock that ran backwards gives no verdict.

  $ edit 'd["launches"][4]["wrong"] = "bad sum"'; gpubench report x.json --gate > /dev/null
  [6]
  $ edit 'd["launches"][9]["t_s"] = 0'; gpubench report x.json --gate --require-conclusive | grep -E '^(note: the time|VERDICT)'
  note: the time decreases or is missing at launch 9; the order of the launches cannot be trusted
  VERDICT INCONCLUSIVE: sim +3.0 % [+2.7, +3.4], lower is better: the clock ran backwards

Constant samples give no verdict, because a counter or a constant was read. A guard does not pass either.

  $ edit '[l["metrics"]["sim"].update(samples=[.1] * 32) for l in d["launches"]]'; gpubench report x.json --gate --require-conclusive > out.txt
  [3]
  $ grep -E '^(sim|VERDICT)' out.txt
  sim [P]     100.0 ms 100.0 ms +0.0 % [+0.0, +0.0] inconclusive: no variance: not a measurement
  sim.p99 [G] 100.0 ms 100.0 ms +0.0 % [+0.0, +0.0] inconclusive: no variance: not a measurement
  VERDICT INCONCLUSIVE: sim +0.0 % [+0.0, +0.0], lower is better: no variance: not a measurement

A truncated or empty file, one of a newer version, or one with an invalid number, is refused with the position.

  $ head -c 40000 r.json > x.json; gpubench report x.json
  gpubench: x.json:*: not valid JSON: * (glob)
  [64]
  $ : > x.json; gpubench report x.json
  gpubench: x.json is empty: it contains no JSON
  [64]
  $ edit 'd["schema"] = "gpubench/2"'; gpubench report x.json
  gpubench: x.json: written by a newer version (gpubench/2), but this version reads gpubench/1: update gputune
  [4]
  $ edit 'd["launches"][0]["metrics"]["sim"]["samples"][3] = float("nan")'; gpubench report x.json
  gpubench: x.json:1:*: not valid JSON: invalid token (glob)
  [64]
  $ edit 'd["launches"][0]["metrics"]["sim"]["samples"][3] = 12345.25'; sed -i 's/12345.25/1e999/' x.json; gpubench report x.json
  gpubench: x.json:1:*: not valid JSON: real number overflow (glob)
  [64]

The page is one file without network access or script, and contains the data.

  $ gpubench report r.json --html - > r.html; head -1 r.html; tail -1 r.html; grep -cE 'https?:|src=|@import|url\(' r.html
  <!DOCTYPE html>
  </html>
  0
  [1]
  $ python3 - <<'END'
  > import html.parser, json, re
  > text = open("r.html", encoding="utf-8").read()
  > void, stack = {"meta", "link", "br", "wbr"}, []
  > class P(html.parser.HTMLParser):
  >     def handle_starttag(self, tag, attrs):
  >         if tag not in void: stack.append(tag)
  >     def handle_startendtag(self, tag, attrs): pass
  >     def handle_endtag(self, tag): assert stack.pop() == tag, tag
  > P().feed(text)
  > data = json.loads(re.search(r'id="gpubench-result">\n(.*)\n</script>', text).group(1))
  > print(stack, len(data["launches"]), data["verdict"])
  > END
  [] 30 worse

The page of a thousand launches is smaller than 2 MB.

  $ edit 'd["launches"] = [dict(l, seq=30 * k + i, block=15 * k + l["block"]) for k in range(34) for i, l in enumerate(d["launches"])]; d["run"]["looks"][0]["pairs"] *= 34'
  $ gpubench report x.json --html big.html > /dev/null; python3 -c 'import json, os; print(len(json.load(open("x.json"))["launches"]), os.path.getsize("big.html") < 2e6)'
  1020 True

Terminal control sequences are escaped.

  $ edit 'd["launches"][0]["failure"] = "\x1b[2J\x07gone"'; gpubench report x.json | grep -a 'note: sim'
  note: sim failed in 1 of 30 launches: ?[2J?gone; its pairs are incomplete
