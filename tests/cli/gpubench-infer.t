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

INT8 products are compared with FP32, on data where the model has some: the loss of a trained model differs by less than 1 %.

  $ gpubench train gpt --layers 2 --width 64 --heads 2 --seq 32 --batch 8 --steps 40 --warmup 1 --threads 1 --quiet --save bytes.st --json >trained
  $ bytes="--layers 2 --width 64 --heads 2 --seq 32 --threads 1 --runs 4 --warmup 1 --quiet --load bytes.st --batch 4"
  $ for how in dynamic "static --calibrate minmax" "static --calibrate percentile" "static --calibrate entropy"; do
  >   gpubench infer gpt $bytes --int8 $how --json | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)["int8"]
  > e = d["evaluated"]
  > print(d["activations"], d["calibration"], d["calibration_batches"], d["products"].split(",")[:2], e["rows"],
  >       abs(e["loss"] / e["fp32_loss"] - 1) < 0.01, e["loss"] != e["fp32_loss"], d["weight_bytes"] < d["fp32_weight_bytes"] / 2)'
  > done
  dynamic None 0 ['9 products in INT8', ' activations quantised by their range in each run'] 2048 True True True
  static minmax 8 ['9 products in INT8', ' activations quantised by calibrated ranges'] 2048 True True True
  static percentile 8 ['9 products in INT8', ' activations quantised by calibrated ranges'] 2048 True True True
  static entropy 8 ['9 products in INT8', ' activations quantised by calibrated ranges'] 2048 True True True
  $ gpubench infer resnet20 --size 8 --int8 static --batch 1,3 --runs 2 --warmup 0 --threads 1 --calibration-batches 1 --quiet
  model      resnet20, fp32, * parameters (glob)
  runs on    cpu, *, *, 1 threads (glob)
  int8       20 products in INT8, activations quantised by calibrated ranges, * (glob)
  weights    * KiB, FP32 1.0 MiB (glob)
  batch *p50 ms *p99 ms *samples/s *memory *FP32 p50 ms *speed-up *difference (glob)
      1 * (glob)
      3 * (glob)
  $ gpubench infer mlp --int8 exact
  gpubench: --int8 takes one of dynamic, static, not 'exact' (see 'gpubench infer --help')
  [64]
  $ gpubench infer mlp --int8 static --calibrate mean
  gpubench: --calibrate takes one of minmax, percentile, entropy, not 'mean' (see 'gpubench infer --help')
  [64]
  $ gpubench infer mlp --int8 dynamic --calibrate minmax
  gpubench: --calibrate and --calibration-batches need --int8 static
  [64]
  $ gpubench infer mlp --int8 dynamic --device cuda
  gpubench: --int8 runs on the CPU: choose --amp fp8 or --amp bf16 with --device cuda
  [64]
  $ gpubench infer mlp --int8 dynamic --amp bf16
  gpubench: --int8 multiplies 8-bit numbers: it takes no --amp
  [64]
  $ gpubench infer gpt --data .
  gpubench: --data needs --int8 or --evaluate: without them inference runs on random inputs
  [64]
  $ gpubench infer mlp --evaluate
  gpubench: --evaluate needs --data: mlp runs on random samples
  [64]
  $ gpubench infer gpt --evaluate --generate 2
  gpubench: --evaluate and --generate exclude each other
  [64]

A calibration set that is empty, of another kind or too short is refused.

  $ mkdir empty && gpubench infer gpt --int8 static --data empty --quiet
  gpubench: empty has too little text: 0 tokens, and 10 windows of 128 and one more are needed
  [64]
  $ printf 'too short' >short.txt && gpubench infer gpt --int8 static --data short.txt --quiet
  gpubench: short.txt has too little text: 9 tokens, and 10 windows of 128 and one more are needed
  [64]
  $ gpubench infer resnet20 --int8 static --data short.txt --quiet
  gpubench: resnet20 reads directories or tar shards of images, but short.txt is text: see gpubench train --help
  [64]

Text is generated with a cache of keys and values. The tokens are those of the forward pass over all tokens: a prompt that contains
the first new tokens continues with the others. Sampling depends on the seed only.

  $ gen="--layers 2 --width 32 --heads 2 --seq 32 --threads 1 --runs 2 --quiet --load small.st"
  $ gpubench train gpt --layers 2 --width 32 --heads 2 --seq 32 --batch 8 --steps 40 --lr 0.01 --threads 1 --quiet --save small.st --json >trained
  $ gpubench infer gpt $gen --batch 1,3 --prompt-tokens 9 --generate 6
  model      gpt, fp32, * parameters of small.st (glob)
  runs on    cpu, *, *, 1 threads (glob)
  batch prompt prefill ms *tokens/s decode p50 ms *p99 ms *tokens/s *cache *memory (glob)
      1      9 * KiB * MiB (glob)
      3      9 * KiB * MiB (glob)
  $ printf '84 104 101 32\n101\n32 116 104 101 32 115\n' >prompts
  $ gpubench infer gpt $gen --prompts prompts --generate 8 --json >whole
  $ python3 -c '
  > import json
  > d = json.load(open("whole"))
  > b = d["batches"][0]
  > for line, new in zip(open("prompts"), b["tokens"]):
  >     print(line.strip(), *new[:3])
  > rest = open("rest", "w")
  > json.dump([new[3:] for new in b["tokens"]], rest)' >longer
  $ gpubench infer gpt $gen --prompts longer --generate 5 --json | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > b = d["batches"][0]
  > print(d["schema"], b["prompt_tokens"], b["tokens"] == json.load(open("rest")), b["cache_bytes"])
  > print(all(0 < b[k]["p50_s"] <= b[k]["p99_s"] and b[k]["tokens_per_s"] > 0 for k in ("prefill", "decode")))'
  gpubench-generate/1 [7, 4, 9] True 21504
  True
  $ tokens() { gpubench infer gpt $gen --prompts prompts --generate 8 "$@" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["batches"][0]["tokens"])'; }
  $ tokens --temperature 2 --seed 5 >a && tokens --temperature 2 --seed 5 >b && tokens --temperature 2 --seed 6 >c && cmp a b && cmp -s a c
  [1]
  $ tokens >greedy && tokens --temperature 2 --top-k 1 | diff - greedy
  $ tokens --amp bf16 | wc -w && tokens --int8 dynamic | wc -w
  24
  24
  $ gpubench infer gpt $gen --prompts prompts --generate 1 --json | grep decode
        "decode": null,

Prompts that are unusable are refused with the numbers that do not fit.

  $ gpubench infer gpt $gen --prompts prompts --generate 27
  gpubench: prompt 3 has 6 tokens and --generate adds 27, but the context is 32 tokens
  [64]
  $ printf '1 2\n3 256\n' >ids && gpubench infer gpt $gen --prompts ids --generate 2
  gpubench: ids: prompt 2 has token 256, but the vocabulary has 256 tokens
  [64]
  $ printf '1 two\n' >ids && gpubench infer gpt $gen --prompts ids --generate 2
  gpubench: ids: prompt 1: 'two' is not a token id
  [64]
  $ printf '1\n\n2\n' >ids && gpubench infer gpt $gen --prompts ids --generate 2
  gpubench: ids: prompt 2 has no token
  [64]
  $ : >ids && gpubench infer gpt $gen --prompts ids --generate 2
  gpubench: ids has no prompt: each line has the token ids of one
  [64]
  $ gpubench infer gpt $gen --prompts nowhere --generate 2
  gpubench: cannot open nowhere: No such file or directory
  [64]
  $ gpubench infer gpt $gen --vocab 300 --generate 2
  gpubench: small.st: tensor wte is F32 (256,32), but F32 (300,32) in the program
  [70]
  $ gpubench infer mlp --generate 2
  gpubench: mlp does not generate text: gpt2, llama and gpt do
  [64]
  $ gpubench infer gpt --prompts prompts
  gpubench: --prompts, --prompt-tokens, --temperature and --top-k need --generate
  [64]
  $ gpubench infer gpt --generate 2 --prompts prompts --batch 2
  gpubench: --prompts and --batch exclude each other
  [64]
  $ gpubench infer gpt --generate 2 --prompts prompts --prompt-tokens 2
  gpubench: --prompts and --prompt-tokens exclude each other
  [64]
  $ gpubench infer gpt --generate 2 --top-k 2
  gpubench: --top-k needs a --temperature above 0
  [64]
  $ gpubench infer gpt --generate 2 --temperature 1 --top-k 257
  gpubench: --top-k 257 is larger than the vocabulary of 256 tokens
  [64]
  $ gpubench infer gpt --generate 2 --temperature hot
  gpubench: --temperature hot: it must be 0 or more, as in 0.8
  [64]
  $ gpubench infer gpt --generate 2 --int8 static
  gpubench: --generate takes --int8 dynamic: static ranges need a calibration of each shape
  [64]
  $ gpubench infer gpt --generate 2 --device cuda
  gpubench: --generate runs on the CPU: it takes no --device cuda
  [64]

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
  gpubench: no model nothing: gpt2, llama, gpt, bert, vit, resnet20, resnet50 and mlp can be trained
  [64]
  $ gpubench infer mlp --heads 3
  gpubench: mlp takes no --heads
  [64]
