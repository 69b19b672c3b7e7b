Inference is measured by batch: latency, throughput, memory.

  $ gpubench infer mlp --batch 1,4 --runs 8 --warmup 2 --threads 1 --quiet
  model      mlp, fp32, 1863690 parameters
  runs on    cpu, *, *, 1 threads (glob)
  batch *p50 ms *p99 ms *samples/s *memory (glob)
  * 1 *.* *.* * MiB (glob)
  * 4 *.* *.* * MiB (glob)
  $ small="--layers 1 --width 32 --heads 2 --seq 8 --threads 1 --runs 4 --warmup 1 --quiet"
  $ gpubench infer gpt $small --batch 2,3 --amp bf16 --json | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > b = d["batches"]
  > print(d["schema"], d["unit"], d["seq"], d["runs"], d["row_logits"], [x["batch"] for x in b])
  > print(all(0 < x["p50_s"] <= x["p99_s"] and abs(x["items_per_s"] / x["samples_per_s"] - 8) < 1e-6 for x in b))'
  gpubench-infer/1 tokens 8 4 2048 [2, 3]
  True

Parameters come from a checkpoint, also from one with optimizer state. One of another model is refused.

  $ gpubench train gpt --layers 1 --width 32 --heads 2 --seq 8 --batch 2 --steps 2 --warmup 1 --threads 1 --quiet --save gpt.st --json >trained
  $ gpubench infer gpt $small --batch 1 --load gpt.st | head -1
  model      gpt, fp32, 21216 parameters of gpt.st
  $ gpubench infer mlp --batch 1 --load gpt.st --quiet
  gpubench: gpt.st: it has no tensor fc0.weight: it belongs to another model or optimizer
  [70]
  $ gpubench infer mlp --batch 1 --load missing --quiet
  gpubench: cannot read missing: No such file or directory
  [70]

A result that depends on the other rows of its batch is wrong.

  $ GPUBENCH_FAULT=verify gpubench infer mlp --batch 1,4 --runs 2 --warmup 0 --threads 1 --quiet
  gpubench: the logits of the first row differ between batches of 4 and 1, by * of the largest (glob)
  [6]

Invalid options give one sentence.

  $ gpubench infer mlp --batch 1,x
  gpubench: --batch x: a batch has 1 to 1048576 rows, as in 1,8,32
  [64]
  $ gpubench infer mlp --batch ,
  gpubench: --batch takes numbers of rows, as in 1,8,32
  [64]
  $ gpubench infer mlp --batch 0
  gpubench: --batch 0: a batch has 1 to 1048576 rows, as in 1,8,32
  [64]
  $ gpubench infer nothing
  gpubench: no model nothing: gpt2, gpt, bert, vit, resnet20, resnet50 and mlp can be trained
  [64]
  $ gpubench infer mlp --heads 3
  gpubench: mlp takes no --heads
  [64]
