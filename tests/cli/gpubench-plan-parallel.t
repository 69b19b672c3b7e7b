Splits of a model, fastest first. The rates are given, so nothing is measured.

  $ rates="--tflops 0.05 --memory-bandwidth 8 --bandwidth 2"
  $ COLUMNS=80 gpubench plan-parallel gpt --ranks 4 --batch 16 --memory 1G --threads 1 $rates > gpt; head -3 gpt
  model      gpt, 842496 parameters, batch 16, seq 128, fp32, adamw
  each rank  1.0 GiB, 0.05 Tflop/s, sends 2 GB/s
  rates      as given
  $ sed 1,3d gpt | awk 'NF == 15 {print $1, $2, $3, $4, $5, $6, $12, $15}'; tail -2 gpt
  4 1 1 1 1 4 4.8 yes
  4 1 1 2 1 4 4.8 yes
  4 1 1 0 1 4 4.8 yes
  4 1 1 3 1 4 7.2 yes
  2 2 1 1 1 8 10.7 yes
  2 2 1 0 1 8 10.7 yes
  2 2 1 2 1 8 10.7 yes
  2 1 2 1 8 1 2.5 yes
  2 1 2 0 8 1 2.5 yes
  2 2 1 3 1 8 11.5 yes
  1 1 4 0 16 1 2.0 yes
  1 2 2 0 8 2 10.3 yes
  15 of 15 splits fit; memory and sent bytes per step in MiB, of the rank that
  needs most

The counts of parameters are those that the authors of the models published.

  $ C=$TESTDIR/fuzz/corpus/config
  $ for c in gpt2 gpt2-xl llama-2-7b llama-3.1-8b mistral-7b; do gpubench plan-parallel $C/$c --gpus 8 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["parameters"])'; done
  124439808
  1557611200
  6738415616
  8030261248
  7241732096

GPUs: which split fits, and with which microbatch. Slower links change the order.

  $ COLUMNS=80 gpubench plan-parallel $C/llama-2-7b --gpus 8
  model      llama, 6738415616 parameters, batch 32, seq 4096, bf16, adamw
  each rank  80.0 GiB, 2.0 GiB of it for libraries, 514 Tflop/s, sends 370 GB/s
  rates      assumed for H100 GPUs
  dp tp pp ZeRO micro rows memory  par grad  opt  act  sent    step fits
   8  1  1    3     1    4   76.9  4.7  0.8  6.3 65.2  43.5 1.471 s  yes
   8  1  1    2     4    1   64.1 37.7  3.9  6.3 16.3 175.7 1.497 s  yes
   4  2  1    1     4    2   58.3 18.8 12.6  6.3 20.7  51.3 1.589 s  yes
   4  2  1    2     2    4   69.9 18.8  3.5  6.3 41.3  70.2 1.591 s  yes
   4  2  1    0     4    2   77.1 18.8 12.6 25.1 20.7  51.3 1.595 s  yes
   4  2  1    3     2    4   55.9  4.7  3.5  6.3 41.4  70.0 1.597 s  yes
   4  1  2    1     8    1   54.2 18.8 12.6  6.3 16.5  19.3 1.701 s  yes
   4  1  2    0     8    1   73.0 18.8 12.6 25.1 16.5  19.3 1.707 s  yes
   4  1  2    2     8    1   45.5 18.8  3.9  6.3 16.5 151.1 1.751 s  yes
   4  1  2    3     8    1   31.5  4.7  3.9  6.3 16.6 149.7 1.792 s  yes
   2  4  1    2     2    8   76.9  9.4  3.3  6.3 57.9 110.1 1.820 s  yes
   2  4  1    1     4    4   50.9  9.4  6.3  6.3 29.0 103.8 1.820 s  yes
  26 of 28 splits fit; memory and sent bytes per step in GiB, of the rank that
  needs most
  $ gpubench plan-parallel $C/llama-2-7b --gpus 8 --link pcie | sed -n 2,7p
  each rank  80.0 GiB, 2.0 GiB of it for libraries, 393 Tflop/s, sends 52.6 GB/s
  rates      assumed for H100 GPUs
  dp tp pp ZeRO micro rows memory  par grad  opt  act sent    step fits
   8  1  1    3     1    4   76.9  4.7  0.8  6.3 65.2 43.5 1.957 s  yes
   4  1  2    1     8    1   54.2 18.8 12.6  6.3 16.5 19.3 2.500 s  yes
   4  1  2    0     8    1   73.0 18.8 12.6 25.1 16.5 19.3 2.510 s  yes
  $ gpubench plan-parallel $C/llama-3.1-8b --gpus 2 --memory 24G | tail -2
   2  1  1    0     4    1  151.9 44.9 29.9 59.8 17.3  29.9 1.663 s   no
  0 of 6 splits fit; memory and sent bytes per step in GiB, of the rank that needs most

With tensors in bf16, a parameter needs 18 bytes: values in fp32 and bf16, a gradient in fp32, and two moments. ZeRO divides the
optimizer state, then the gradients, then the parameters.

  $ cat > zero.py <<'END'
  > import json, sys
  > d = json.load(sys.stdin)
  > for k in sorted((k for k in d["splits"] if k["dp"] == 8), key=lambda k: k["zero"]):
  >     print(k["zero"], *(round(k[x + "_bytes"] / d["parameters"], 2) for x in ("parameter", "gradient", "optimizer")))
  > END
  $ gpubench plan-parallel $C/llama-2-7b --gpus 8 --batch 8 --json | python3 zero.py
  0 6.0 4.0 8.0
  1 6.0 4.0 1.0
  2 6.0 0.12 1.0
  3 0.75 0.12 1.0

A request or a config.json that cannot be used is refused.

  $ gpubench plan-parallel $C/hostile --gpus 8
  gpubench: --width 16777216 with --heads 16777216: the width of a head, 1, must be even
  [64]
  $ echo '{"model_type": "mamba"}' > other.json; gpubench plan-parallel other.json
  gpubench: other.json: model_type is "mamba"; llama, mistral and gpt2 are supported
  [64]
  $ echo '{"hidden_size": 1}' > none.json; gpubench plan-parallel none.json
  gpubench: none.json: model_type is "missing"; llama, mistral and gpt2 are supported
  [64]
  $ echo '{"model_type": "gpt2", "n_embd": "768"}' > type.json; gpubench plan-parallel type.json
  gpubench: type.json: n_embd must be a number from 1 to 16777216
  [64]
  $ echo '{"model_type": "gpt2", "n_layer": 100000}' > deep.json; gpubench plan-parallel deep.json
  gpubench: a number of layers of 1e+05 is too large to plan: the limit is 1024
  [64]
  $ echo '{' > broken.json; gpubench plan-parallel broken.json
  gpubench: broken.json:2:0: not valid JSON: string or '}' expected near end of file
  [64]
  $ gpubench plan-parallel ./missing.json
  gpubench: cannot open ./missing.json: No such file or directory
  [64]
  $ gpubench plan-parallel $C/gpt2 --seq 2048
  gpubench: --seq 2048 is longer than the context of 1024 of $TESTDIR/fuzz/corpus/config/gpt2
  [64]
  $ gpubench plan-parallel $C/gpt2 --layers 3
  gpubench: a config.json has all sizes of the model: leave out --layers, --width and the others
  [64]
  $ gpubench plan-parallel gpt3
  gpubench: no model gpt3: gpt2, llama, gpt, bert, vit, resnet20, resnet50 and mlp can be trained
  [64]
  $ gpubench plan-parallel gpt --ranks 32 --batch 3 --layers 2 $rates
  gpubench: no split among 32 ranks is possible: a batch of 3 cannot be divided among 32 data parallel ranks
  [64]
  $ gpubench plan-parallel gpt --ranks 65
  gpubench: --ranks and --gpus take at most 64
  [64]
  $ gpubench plan-parallel gpt --ranks 2 --gpus 2
  gpubench: --ranks and --gpus exclude each other
  [64]
  $ gpubench plan-parallel gpt --link pcie
  gpubench: --link needs --gpus
  [64]
  $ gpubench plan-parallel gpt --gpus 2 --threads 1
  gpubench: --threads needs ranks on CPUs: it excludes --gpus
  [64]
