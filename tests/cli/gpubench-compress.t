A pruned model: zeros in the checkpoint, kept by a resumed run; the loss falls, and impossible requests are refused.

  $ P='train gpt --seq 16 --layers 2 --width 32 --heads 4 --batch 4 --threads 1 --warmup 0 --quiet'
  $ gpubench $P --steps 8 --prune 0.5 --save pruned.st | grep -E '^(pruned|held)' | sed 's/[0-9.]* before, [0-9.]* after/A before, B after/'
  pruned     50.0 % of the weights of linear layers and convolutions
  held out   A before, B after: it fell
  $ gpubench $P --steps 4 --prune 0.75 --resume pruned.st | grep ^pruned
  pruned     75.0 % of the weights of linear layers and convolutions
  $ gpubench $P --steps 4 --prune 2:4 | grep ^pruned
  pruned     50.0 % of the weights of linear layers and convolutions
  $ gpubench $P --steps 1 --resume pruned.st > /dev/null && echo dense again
  dense again
  $ gpubench $P --steps 1 --save dense.st > /dev/null; gpubench $P --steps 1 --prune 0.5 --resume dense.st | grep ^pruned
  pruned     50.0 % of the weights of linear layers and convolutions
  $ for how in 0 1 -1 nan 4:2 x; do gpubench $P --steps 1 --prune $how; done
  gpubench: --prune 0: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4
  gpubench: --prune 1: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4
  gpubench: --prune -1: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4
  gpubench: --prune nan: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4
  gpubench: --prune 4:2: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4
  gpubench: --prune x: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4
  [64]
  $ gpubench $P --steps 1 --prune 0.5 --device cuda
  gpubench: --prune needs --device cpu: the device has no kernel for masks
  [64]
  $ gpubench $P --steps 1 --prune 0.5 --ranks 2 --tp 2
  gpubench: --prune needs whole weights: it excludes --tp, --pp and --shard
  [64]
  $ gpubench infer gpt --seq 16 --layers 2 --width 32 --heads 4 --threads 1 --load pruned.st --int8 dynamic --runs 2 --quiet | grep -c '^held out'
  1

Quantisation-aware training: products read rounded operands, the loss falls, and options that it cannot support are refused.

  $ gpubench $P --steps 8 --qat --accum 2 --json > qat.json; python3 -c 'import json; d = json.load(open("qat.json")); print(*(p["did"] for p in d["passes"] if p["name"] == "qat")); print(d["heldout_loss_after"] < d["heldout_loss_before"])'
  8 products read operands rounded to INT8
  True
  $ gpubench train resnet20 --size 8 --batch 2 --steps 2 --warmup 0 --threads 1 --qat --json --quiet | python3 -c 'import json, sys; print(*(p["did"] for p in json.load(sys.stdin)["passes"] if p["name"] == "qat"))'
  19 products read operands rounded to INT8
  $ gpubench $P --steps 1 --qat --amp bf16
  gpubench: --qat rounds f32 operands: it takes no --amp
  [64]
  $ gpubench $P --steps 1 --qat --device cuda
  gpubench: --qat needs --device cpu: the device has no kernels for roundings to INT8
  [64]
  $ gpubench $P --steps 1 --qat --ranks 2 --tp 2
  gpubench: --qat and --tp exclude each other
  [64]
