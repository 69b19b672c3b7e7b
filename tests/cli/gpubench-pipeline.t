The stages of a pipeline train like one process that accumulates the microbatches. The report describes each stage.

  $ tiny="--batch 4 --seq 32 --width 64 --microbatches 4 --steps 4 --threads 1 --quiet --json"
  $ gpubench train gpt $tiny --save one.st > one.json
  $ gpubench train gpt $tiny --pp 2 --save pp.st > pp.json
  $ gpubench train gpt $tiny --pp 4 --schedule gpipe > gpipe.json
  $ cat > look.py <<'END'
  > import json, sys
  > one, pp, gpipe = (json.load(open(f"{name}.json")) for name in ("one", "pp", "gpipe"))
  > print([abs(d["loss"] - one["loss"]) < 1e-4 for d in (pp, gpipe)], [d["parameters"] == one["parameters"] for d in (pp, gpipe)])
  > for d in (pp, gpipe):
  >     p = d["pipeline"]
  >     print(d["ranks"], p["schedule"], [r["in_flight"] for r in p["ranks"]], round(p["bubble_equal_stages"], 3), 0 < p["bubble"] < 1)
  >     print(sum(r["work_share"] for r in p["ranks"]) > 0.999, sum(r["sent_bytes"] for r in p["ranks"]))
  > END
  $ python3 look.py
  [True, True] [True, True]
  2 1f1b [2, 1] 0.2 True
  True 589824
  4 gpipe [4, 4, 4, 4] 0.429 True
  True 720896

A checkpoint does not depend on the number of stages.

  $ cat > head.py <<'END'
  > import struct, sys
  > heads = [open(name, "rb") for name in sys.argv[1:]]
  > print(len({h.read(struct.unpack("<Q", h.read(8))[0]) for h in heads}), "header")
  > END
  $ python3 head.py one.st pp.st
  1 header
  $ gpubench train gpt $tiny --pp 3 --resume one.st | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["heldout_loss_before"])' > a
  $ gpubench train gpt $tiny --resume one.st | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["heldout_loss_before"])' > b
  $ paste a b | awk '{ d = $1 - $2; print (d < 1e-5 && d > -1e-5) }'
  1

Two pipelines have different batches and average their gradients.

  $ gpubench train gpt $tiny --pp 2 --ranks 4 | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["ranks"], d["ddp"]["rows"], [r["stage"] for r in d["pipeline"]["ranks"]], d["void"])'
  4 [1, 1, 1, 1] [0, 0, 1, 1] False

They can also shard state, gradients and parameters. The numbers are the same.

  $ for s in off 1 2 3; do gpubench train mlp --batch 8 --microbatches 1 --pp 2 --ranks 4 --shard $s --steps 3 --warmup 0 --threads 1 --save $s.st --quiet --json > s$s.json; done; cmp off.st 1.st && cmp off.st 2.st && cmp off.st 3.st && echo the same
  the same
  $ for s in 2 3; do gpubench train gpt $tiny --batch 2 --microbatches 2 --pp 2 --ranks 4 --shard $s | python3 -c 'import json, sys; d = json.load(sys.stdin); print(abs(d["loss"] - json.load(open("one.json"))["loss"]) < 1e-4, d["ddp"]["shard_stage"])'; done
  True 2
  True 3

A pipeline that is impossible is refused before any rank starts.

  $ gpubench train mlp --pp 4
  gpubench: --pp 4: mlp can be cut into at most 3 stages
  [64]
  $ gpubench train gpt --pp 2 --microbatches 3
  gpubench: --microbatches 3 does not divide --batch 8
  [64]
  $ gpubench train gpt --pp 2 --ranks 3
  gpubench: --ranks 3 is not a multiple of --tp 1 times --pp 2
  [64]
  $ gpubench train gpt --accum 2 --microbatches 4
  gpubench: --accum 2 and --microbatches 4 exclude each other: the microbatches of an update are accumulated
  [64]
  $ gpubench train gpt --pp 2 --device cuda --amp fp8
  gpubench: --amp fp8 excludes --pp: use bf16
  [64]
  $ gpubench train gpt --pp 2 --amp fp16
  gpubench: --amp fp16 excludes --pp: the stages do not agree on a loss scale, so use bf16
  [64]
  $ gpubench train gpt --schedule gpipe
  gpubench: --schedule needs --pp of at least 2
  [64]
  $ gpubench train gpt --pp 2 --shard on
  gpubench: --compress, --powersgd-rank, --balance, --overlap and --shard need ranks with different batches: --ranks 2 with --tp 1 and --pp 2 has one batch
  [64]
  $ gpubench train gpt $tiny --pp 2 --save /dev/full/x.st
  gpubench: cannot create /dev/full/x.st: Not a directory
  [64]

A stage has a parameter of its own: the last stage of gpt2 reads more than the token table of the first one. So all stages take
part in the norm of the gradients.

  $ tied() { gpubench train gpt2 --layers 1 --width 32 --heads 2 --seq 16 --vocab 61 --batch 2 --microbatches 2 --threads 1 --warmup 0 \
  >     --clip 0.1 --lr 0.01 --steps 5 --quiet --json "$@"; }
  $ tied --pp 60 > most
  gpubench: --pp 60: gpt2 can be cut into at most 4 stages
  [64]
  $ for n in 1 4; do tied --pp $n; done | python3 -c 'import re, sys; a, b = map(float, re.findall(r"\"loss\": ([0-9.]+)", sys.stdin.read())); print(abs(a - b) < 1e-6)'
  True

Ranks of mpirun with different options end with both values.

  $ command -v mpirun > /dev/null || { echo 'no mpirun here'; exit 80; }
  $ mpirun --allow-run-as-root --oversubscribe -n 1 gpubench train gpt --pp 2 --microbatches 4 --quiet : -n 1 gpubench train gpt --pp 2 --microbatches 8 --quiet 2>&1 | grep -o 'rank 0 has --.*the same options' | sort -u
  rank 0 has --microbatches 4 and rank 1 has --microbatches 8: all ranks need the same options
  $ differ() { mpirun --allow-run-as-root --oversubscribe -n 1 gpubench train ${model-mlp} $1 --quiet : -n 1 gpubench train ${model-mlp} $2 --quiet 2>&1 | grep -o -e 'rank 0 has .*the same options' -e '--[a-z]*: .*the same files' -e '^model .*' | sort -u; }
  $ differ "--optimizer sgd" "--optimizer adamw"
  rank 0 has --optimizer sgd and rank 1 has --optimizer adamw: all ranks need the same options
  $ differ "--lr 0.01" "--lr 0.1"
  rank 0 has --lr 0.01 and rank 1 has --lr 0.1: all ranks need the same options
  $ differ "--reduce gather" ""
  rank 0 has --reduce gather and rank 1 has --reduce all-reduce: all ranks need the same options
  $ differ "--shard 2" "--shard 3"
  rank 0 has --shard 2 and rank 1 has --shard 3: all ranks need the same options
  $ model=llama differ "--kv-heads 2" "--kv-heads 4"
  rank 0 has --kv-heads 2 and rank 1 has --kv-heads 4: all ranks need the same options

So do ranks with different files. Files with the same contents may have different names.

  $ for s in 1 2; do gpubench train mlp --steps $s --quiet --save $s.st > /dev/null; tied --steps $s --save-weights w$s > /dev/null; seq -w $s 50 1000000 > $s.txt; done
  $ cp 1.st one.st; cp -r w1 one; cp 1.txt one.txt
  $ differ "--resume 1.st" ""
  rank 0 has --resume 1.st and rank 1 has --resume none: all ranks need the same options
  $ differ "--resume 1.st" "--resume 2.st"
  --resume: 1.st of rank 0 and 2.st of rank 1 have different contents: all ranks need the same files
  $ differ "--resume 1.st --steps 1" "--resume one.st --steps 1"
  model      mlp, * (glob)
  $ model=gpt2
  $ small="--steps 1 --batch 2 --seq 16"
  $ differ "--weights w1 $small" "--weights w2 $small"
  --weights: w1 of rank 0 and w2 of rank 1 have different contents: all ranks need the same files
  $ differ "--weights w1 $small" "--weights one $small"
  model      gpt2, * (glob)
  $ model=gpt
  $ differ "--data 1.txt $small" "--data 2.txt $small"
  --data: 1.txt of rank 0 and 2.txt of rank 1 have different contents: all ranks need the same files
  $ differ "--data 1.txt $small" "--data one.txt $small"
  model      gpt, * (glob)
  $ mkdir -p x/a x/b y/a y/c; touch x/a/1.png x/b/1.png y/a/1.png y/c/1.png
  $ model=resnet20 differ "--data x" "--data y"
  --data: x of rank 0 and y of rank 1 have different contents: all ranks need the same files
