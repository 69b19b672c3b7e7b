A ladder is measured in rounds of random order, each launch in a new process; six rounds give an interval.

  $ set -o pipefail; tiny="--train=--batch --train=8 --train=--steps --train=2 --train=--warmup --train=1"
  $ gpubench ladder precision --model mlp $tiny --rounds 6 --seed 5 -q -o l.json --markdown l.md --html l.html >l.txt
  $ sed '/^$/,$d' l.txt | tr -s '\n ' ' ' | grep -o '6 rounds in random order, seed 5'
  6 rounds in random order, seed 5
  $ sed -E "1,/^$/d; /^VERDICT/,\$d; /^RUNG/s/ +/ /g; s/ +[0-9.]+ +([0-9.]+ )? *(\[[0-9., ]+\])?( +[0-9.]+ MiB){2}//" l.txt
  FP32 to AMP (precision)
  Only the input type of matrix products differs.
  
  RUNG SAMPLES/S SPEED-UP 95% CI PLANNED PEAK
  FP32
  AMP, bf16
  AMP, fp16 with loss scaling
  Planned: tensors of one rank. Peak: most resident memory of one rank.
  
  $ python3 -c '
  > import json; d = json.load(open("l.json")); l, = d["ladders"]
  > print(d["schema"], l["id"], l["unit"], [r["name"] for r in l["rungs"]])
  > for r in l["rungs"]: print(len(r["launches"]), sorted(x["round"] for x in r["launches"]), r["speedup_low"] <= r["speedup"] <= r["speedup_high"])
  > print(l["rungs"][0]["speedup"], " ".join(l["rungs"][1]["command"]))'
  gpubench-ladder/1 precision samples ['FP32', 'AMP, bf16', 'AMP, fp16 with loss scaling']
  6 [0, 1, 2, 3, 4, 5] True
  6 [0, 1, 2, 3, 4, 5] True
  6 [0, 1, 2, 3, 4, 5] True
  1.0 gpubench train mlp --batch 8 --steps 2 --warmup 1 --amp bf16
  $ grep -c '^| ' l.md; grep -cE '^[|].*\[[0-9.]+, [0-9.]+\\\]' l.md
  5
  2
  $ grep -oE '<(script|link|img)[ >]' l.html | sort | uniq -c; grep -c 'class="whisker"' l.html
        1 <script 
  2

The page starts with the result, and report renders the same from the file.

  $ say() { python3 -c "import json; d = json.load(open('l.json')); r = d['ladders'][0]['rungs']; $1; json.dump(d, open('said.json', 'w'))"; gpubench report said.json --html said.html --markdown said.md | sed -n '/^VERDICT/,$p'; }
  $ say 'r[1].update(speedup=1.4, speedup_low=1.3, speedup_high=1.5); r[2].update(speedup=1.5, speedup_low=.9, speedup_high=2.1)'
  VERDICT FASTER: precision "AMP, bf16" 1.40x [1.30, 1.50]
  $ grep -oE '<title>[^<]*|<strong>[^<]*|<h[12][^>]*>[^<]*' said.html; sed -n 1p said.md
  <title>gpubench ladder: FASTER
  <h1>gpubench ladder, host * (glob)
  <strong>FASTER
  <h2 id="ladder0-h">FP32 to AMP (precision)
  <h2 id="method-h">Method
  **FASTER: precision "AMP, bf16" 1.40x \[1.30, 1.50\]**
  $ say 'r[1].update(speedup=.875, speedup_low=.87, speedup_high=.88); r[2].update(speedup=1.5, speedup_low=1.4, speedup_high=1.6)'
  VERDICT FASTER: precision "AMP, fp16 with loss scaling" 1.50x [1.40, 1.60]; slower: precision "AMP,
  bf16" 0.875x [0.870, 0.880]
  $ say 'r[1].update(speedup=.875, speedup_low=.87, speedup_high=.88); r[2].update(speedup_low=.9, speedup_high=2.1)'; grep -o 'verdict worse' said.html
  VERDICT SLOWER: precision "AMP, bf16" 0.875x [0.870, 0.880]; no rung is faster than the first one of
  its ladder
  verdict worse
  $ say 'r[1].update(speedup_low=.9, speedup_high=1.1); r[2].update(speedup_low=.9, speedup_high=1.1)'
  VERDICT INCONCLUSIVE: every interval contains 1, so no rung is faster or slower than the first one
  $ say 'r[2]["launches"][0]["failure"] = "out of memory"'
  VERDICT INCOMPLETE: "AMP, fp16 with loss scaling" failed: out of memory
  $ gpubench report l.json --trace x.json
  gpubench: a ladder has no trace: --html, --markdown or -o
  [64]
  $ sed 's/gpubench-ladder.1/gpubench-ladder\/2/' l.json > new.json; gpubench report new.json
  gpubench: new.json: written by a newer version (gpubench-ladder/2), but this version reads gpubench-ladder/1: update gputune
  [4]

With fewer rounds the report names the number that an interval needs. Options after --train precede those of the rung.

  $ gpubench ladder precision --model mlp $tiny --rounds 1 -q | grep -c 'needs 6 rounds'
  2

A failed rung is named, and so is a run that did not learn.

  $ gpubench ladder precision --model mlp --train=--layers --train=3 --rounds 1 -q | grep -c 'FP32: mlp takes no --layers'
  1
  [5]
  $ gpubench ladder precision --model gpt $tiny --train=--lr --train=1e-30 --rounds 1 -q | grep -o 'FP32: the held-out'
  FP32: the held-out
  [6]

Invalid arguments are refused.

  $ gpubench ladder nonsense
  gpubench: no ladder "nonsense"; the ladders are precision, techniques, images, ranks, parallel, accumulation, lengths, compress, compress-images, vit, gelu, softmax and data
  [64]
  $ gpubench ladder data
  gpubench: the ladder data needs --data: directories or tar shards of images, token files
  [64]
  $ gpubench ladder vit
  gpubench: the ladder vit needs --data: a directory with one subdirectory of images per class, or tar shards of images
  [64]
  $ echo 'some text' > text.txt; gpubench ladder compress-images --data text.txt
  gpubench: the ladder compress-images needs --data: a directory with one subdirectory of images per class, or tar shards of images
  [64]
  $ gpubench ladder compress --device cuda
  gpubench: the ladder compress runs on the CPU only: leave out --device cuda
  [64]
  $ TMPDIR=nowhere gpubench ladder gelu --rounds 1 -q
  gpubench: cannot create a directory for checkpoints in nowhere: No such file or directory (set TMPDIR)
  [64]
  $ gpubench ladder --rounds 0
  gpubench: --rounds takes a whole number of 1 or more, not '0' (see 'gpubench ladder --help')
  [64]
  $ gpubench ladder --rounds 500
  gpubench: --rounds takes at most 200
  [64]
  $ gpubench ladder --ranks 65
  gpubench: --ranks takes at most 64
  [64]
  $ mkdir -p tree/proc tree/sys tree/etc; gpubench ladder --root tree
  gpubench: measuring needs the live host and cannot be done in the root tree
  [64]
  $ gpubench ladder precision --model mlp $tiny --rounds 1 -q -o nowhere/l.json
  gpubench: cannot create nowhere/l.json: No such file or directory
  [64]

One model among four ranks: each rung has the same loss, a rank of a sharded one needs less memory, and sent bytes are counted.

  $ small=$(printf ' --train=%s' --layers 2 --width 32 --seq 8 --vocab 2048 --steps 1 --warmup 2)
  $ gpubench ladder parallel $small --rounds 1 -q -o p.json | grep -c '^RUNG.*SENT *LOSS'
  1
  $ cat > parallel.py <<'END'
  > import json
  > r = json.load(open("p.json"))["ladders"][0]["rungs"]
  > print(len(r), max(abs(k["loss"] - r[0]["loss"]) for k in r) < 1e-4, r[0]["sent_bytes"], all(k["sent_bytes"] > 0 for k in r[1:]))
  > print([k["sent_bytes"] == r[1]["sent_bytes"] for k in r[2:5]])
  > END
  $ python3 parallel.py
  12 True None True
  [True, True, False]

A function written in three ways: time, and error against the definition.

  $ gpubench ladder gelu softmax --train=--rows --train=16 --rounds 1 -q -o o.json | grep -c '^RUNG *ELEMENTS/S.*BYTES/ELEMENT *ERROR *GRADIENT ERROR'
  2
  $ python3 -c 'import json
  > for l in json.load(open("o.json"))["ladders"]: print(l["id"], " ".join(l["rungs"][0]["command"]), [0 < r["error"] < 5e-6 for r in l["rungs"]])'
  gelu gpubench op gelu --rows 16 --way basic-ops [True, True, True]
  softmax gpubench op softmax --rows 16 --way basic-ops [True, True, True]
  $ GPUBENCH_FAULT=verify gpubench ladder gelu --train=--rows --train=16 --rounds 1 -q -o w.json | grep -c '^VERDICT INCOMPLETE'
  1
  [6]
  $ python3 -c 'import json; print(json.load(open("w.json"))["ladders"][0]["rungs"][2]["launches"][0]["failure"][:66])'
  gelu by library differs from its definition by 1 of the largest va

Compressed models: checkpoints are trained first, then each rung reads one. Accuracy and size are reported next to the speed.

  $ mkdir tmp; TMPDIR=$PWD/tmp gpubench ladder compress --train=--steps --train=2 --train=--warmup --train=0 --rounds 1 -q -o c.json | grep -c '^RUNG.*P50 MS.*WEIGHTS *HELD-OUT LOSS *ACCURACY'
  1
  $ ls tmp
  $ cat > compress.py <<'END'
  > import json
  > l, = json.load(open("c.json"))["ladders"]
  > r = l["rungs"]
  > print(l["unit"], [" ".join(s["command"][-4:]) for s in l["setup"]][2])
  > print(" ".join(r[3]["command"]), [k["name"] for k in r if k["launches"][0]["failure"]])
  > print(r[3]["weight_bytes"] < r[0]["weight_bytes"] / 2, r[5]["weight_bytes"] == r[0]["weight_bytes"], all(k["latency_s"] > 0 for k in r))
  > print(all(abs(k["heldout_loss"] / r[0]["heldout_loss"] - 1) < 0.01 for k in r[1:4]), r[4]["heldout_loss"] < r[0]["heldout_loss"])
  > print(r[10]["weight_bytes"] < 0.7 * r[0]["weight_bytes"], r[11]["weight_bytes"] < r[3]["weight_bytes"])
  > END
  $ python3 compress.py
  tokens --prune 0.5 --save @dir/half.st
  gpubench infer gpt --batch 8 --runs 30 --evaluate --load @dir/dense.st --int8 static []
  True True True
  True True
  True True
  $ gpubench ladder compress --train=--layers --train=0 --rounds 1 -q
  gpubench: ladder compress, training the dense model: --layers takes a whole number of 1 or more, not '0' (see 'gpubench train --help')
  [5]

A vision transformer with six techniques: each rung is trained and evaluated on images. Ladders do not share checkpoints.

  $ python3 -c 'import os, struct, zlib
  > def chunk(k, d): return struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d))
  > for c in "ab":
  >     os.makedirs(f"images/{c}")
  >     for i in range(300):
  >         raw = b"".join(b"\0" + bytes((40 if c == "a" else 200) + (i * x * y) % 50 for x in range(8) for _ in range(3)) for y in range(8))
  >         open(f"images/{c}/{i}.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
  >             chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))'
  $ gpubench ladder vit --data images --train=--steps --train=20 --rounds 1 -q -o v.json | grep -c '^RUNG.*PLANNED *PEAK *HELD-OUT LOSS *ACCURACY'
  1
  $ cat > vit.py <<'END'
  > import json
  > l, = json.load(open("v.json"))["ladders"]
  > r = l["rungs"]
  > print(len(r), l["unit"], [k["name"] for k in r if k["launches"][0]["failure"]], all(k["accuracy"] > 0.9 for k in r))
  > print(r[6]["planned_bytes"] < r[3]["planned_bytes"] < r[0]["planned_bytes"])
  > print(" ".join(r[0]["evaluation"]))
  > END
  $ python3 vit.py
  7 samples [] True
  True
  gpubench infer vit --size 16 --patch 4 --layers 4 --width 96 --heads 4 --data images --batch 32 --runs 1 --warmup 0 --load @dir/rung.st --evaluate
  $ gpubench ladder compress compress-images --data images --train=--steps --train=2 --train=--warmup --train=0 --rounds 1 -q -o b.json | grep -c '^VERDICT MEASURED'
  1
  $ python3 -c 'import json; print([[k["name"] for k in l["rungs"] if k["launches"][0]["failure"]] for l in json.load(open("b.json"))["ladders"]])'
  [[], []]
