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
  gpubench: --prune 0: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune 1: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune -1: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune nan: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune 4:2: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune x: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  [64]
  $ gpubench $P --steps 1 --prune 0.5 --device cuda
  gpubench: --prune needs --device cpu: the device has no kernel for masks
  [64]
  $ gpubench $P --steps 1 --prune 0.5 --ranks 2 --tp 2
  gpubench: --prune needs whole weights: it excludes --tp, --pp and --shard 3
  [64]
  $ for shard in off 1 2; do gpubench $P --steps 8 --ranks 2 --prune 0.5 --shard $shard --save shard-$shard.st | grep ^pruned; done
  pruned     50.0 % of the weights of linear layers and convolutions
  pruned     50.0 % of the weights of linear layers and convolutions
  pruned     50.0 % of the weights of linear layers and convolutions
  $ cmp shard-off.st shard-1.st && cmp shard-1.st shard-2.st && echo equal
  equal
  $ gpubench $P --steps 1 --prune heads:1 --ranks 2 --shard 1
  gpubench: --prune of units needs whole optimizer state: it excludes --shard
  [64]
  $ gpubench infer gpt --seq 16 --layers 2 --width 32 --heads 4 --threads 1 --load pruned.st --int8 dynamic --runs 2 --quiet | grep -c '^held out'
  1

Units are removed after a quarter of the updates. A checkpoint contains the sizes, and a resumed run or inference uses them.

  $ unit='s/[0-9.]* → [0-9.]* ms/A → B ms/; s/loss [0-9.]* → [0-9.]*/loss A → B/'
  $ gpubench $P --steps 8 --prune heads:1,neurons:0.5 --save small.st | grep -E '^(model|pruned|rebuilt)' | sed "$unit"
  model      gpt, 23760 parameters, batch 4, seq 16, seed 1
  pruned     8 → 6 heads, 256 → 128 neurons in all layers
  rebuilt    34176 → 23760 parameters, 13.07 → 9.02 Mflop per step, A → B ms per step, held-out loss A → B
  $ gpubench $P --steps 2 --resume small.st | grep -c '^model .* 23760 parameters'
  1
  $ gpubench infer gpt --seq 16 --layers 2 --width 32 --heads 4 --threads 1 --load small.st --runs 2 --quiet | grep ^model
  model      gpt, fp32, 23760 parameters of small.st
  $ gpubench infer gpt --seq 16 --layers 2 --width 32 --heads 4 --threads 1 --load small.st --int8 dynamic --runs 2 --quiet | grep -c '^held out'
  1
  $ gpubench infer gpt --seq 16 --layers 2 --width 32 --heads 4 --threads 1 --load small.st --generate 4 --prompt-tokens 5 --batch 2 --runs 1 --quiet | grep -c '^model'
  1
  $ gpubench $P --steps 4 --prune heads:1 --resume small.st | grep ^pruned
  pruned     6 → 4 heads in all layers
  $ gpubench $P --steps 4 --ranks 2 --prune neurons:100 --json | python3 -c 'import json, sys; p = json.load(sys.stdin)["pruning"]; print(p["layers"][0], p["before"]["parameters"] - p["after"]["parameters"])'
  {'layer': 'h0.fc.weight', 'units': 'neurons', 'before': 128, 'after': 28} 13000
  $ gpubench $P --steps 4 --prune heads:1,neurons:0.5 --optimizer adamw8 --save small8.st | grep ^pruned
  pruned     8 → 6 heads, 256 → 128 neurons in all layers
  $ gpubench $P --steps 1 --optimizer adamw8 --resume small8.st | grep -c '^model .* 23760 parameters'
  1
  $ gpubench train resnet20 --size 8 --batch 2 --steps 4 --warmup 0 --threads 1 --prune channels:0.25 --quiet | grep ^pruned
  pruned     336 → 252 channels in all layers

Impossible units are refused before training.

  $ for how in heads:4 heads:9 heads:0.01 heads: heads:-1 heads:1.5 channels:1 toes:1 heads:1,heads:1 heads:1,0.5; do gpubench $P --steps 1 --prune $how; done
  gpubench: --prune heads:4: h0.qkv.weight has 4 heads: 4 of them cannot be removed
  gpubench: --prune heads:9: h0.qkv.weight has 4 heads: 9 of them cannot be removed
  gpubench: --prune heads:0.01: a fraction of 0.01 of the heads is less than one in each layer
  gpubench: --prune heads:: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune heads:-1: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune heads:1.5: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune channels:1: the model has no channels that can be removed
  gpubench: --prune toes:1: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune heads:1,heads:1: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  gpubench: --prune heads:1,0.5: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer such as heads:1,neurons:0.5
  [64]
  $ gpubench $P --steps 1 --prune heads:3 --resume small.st
  gpubench: --prune heads:3: h0.qkv.weight has 3 heads: 3 of them cannot be removed
  [64]
  $ gpubench train llama --layers 1 --width 32 --heads 4 --kv-heads 2 --vocab 64 --seq 8 --steps 1 --prune heads:1
  gpubench: --prune heads:1: model.layers.0.self_attn.qkv_proj.weight: 2 heads share keys and values, so 1 heads cannot be removed: choose a multiple of 2
  [64]
  $ gpubench train gpt --seq 16 --layers 3 --width 32 --heads 4 --batch 4 --steps 1 --resume small.st
  gpubench: small.st: it has no tensor h2.ln1.weight: it belongs to another model or optimizer
  [64]
  $ gpubench train gpt --seq 16 --layers 2 --width 64 --heads 4 --batch 4 --steps 1 --resume small.st
  gpubench: small.st: h0.fc.weight has 64 of 128 units, but the model has 256 of 256
  [64]
  $ gpubench $P --steps 1 --prune heads:1 --ranks 2 --tp 2
  gpubench: --prune needs whole weights: it excludes --tp, --pp and --shard 3
  [64]

The Hugging Face layout gets the smaller sizes. That of GPT-2 cannot store fewer heads.

  $ L='llama --seq 16 --layers 2 --width 32 --heads 4 --kv-heads 2 --ffn 48 --vocab 64'
  $ gpubench train $L --batch 2 --steps 4 --warmup 0 --threads 1 --quiet --prune heads:2,neurons:0.25 --save llama.st --save-weights llama | grep ^pruned
  pruned     8 → 4 heads, 96 → 72 neurons in all layers
  $ python3 -c 'import json; d = json.load(open("llama/config.json")); print(*(d[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "hidden_size")))'
  2 1 8 36 32
  $ for from in "$L --load llama.st" "llama --seq 16 --weights llama"; do gpubench infer $from --generate 4 --prompt-tokens 5 --threads 1 --runs 1 --warmup 0 --quiet --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["batches"][0]["tokens"])'; done | uniq | wc -l
  1
  $ G='gpt2 --seq 16 --layers 1 --width 32 --heads 4 --vocab 64 --batch 2 --warmup 0 --threads 1 --quiet'
  $ gpubench train $G --steps 4 --prune neurons:28 --save-weights gpt2 | grep ^pruned
  pruned     128 → 100 neurons in all layers
  $ python3 -c 'import json; d = json.load(open("gpt2/config.json")); print(d["n_head"], d["n_inner"])'
  4 100
  $ gpubench train gpt2 --seq 16 --weights gpt2 --batch 2 --steps 1 --warmup 0 --threads 1 --quiet --save-weights again > /dev/null; cmp gpt2/config.json again/config.json
  $ gpubench train $G --steps 1 --prune heads:1 --save-weights dir
  gpubench: --prune of heads excludes --save-weights of gpt2: the heads of that layout have n_embd / n_head columns. Use --save, or prune neurons
  [64]
  $ gpubench train $G --steps 4 --prune heads:1 --save fewer.st > /dev/null; gpubench train $G --steps 1 --resume fewer.st --save-weights dir; ls dir
  gpubench: the model lost 1 of 4 heads: the Hugging Face layout of gpt2 cannot store this, because its heads have n_embd / n_head columns
  ls: cannot access 'dir': No such file or directory
  [2]

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

Stages of a pipeline round as one rank does: all weights and optimizer states have the same bits. The gradient of a weight that
two stages share, here the token table of gpt, is summed in another order.

  $ cat >differ.py <<'END'
  > import json, struct, sys
  > def load(path):
  >     b = open(path, "rb").read()
  >     n = struct.unpack("<Q", b[:8])[0]
  >     head = json.loads(b[8:8 + n])
  >     return {k: b[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in head.items() if k != "__metadata__"}
  > one, two = map(load, sys.argv[1:3])
  > print(len(one), len(two), {k for k in one if one[k] != two.get(k)} - set(sys.argv[3:]) or "equal")
  > END
  $ S='--batch 4 --microbatches 4 --threads 1 --warmup 0 --quiet --qat'
  $ L='train llama --layers 2 --width 32 --heads 4 --kv-heads 2 --ffn 48 --vocab 64 --seq 8 --steps 6'
  $ gpubench $L $S --save one.st > /dev/null; gpubench $L $S --ranks 2 --pp 2 --save two.st > /dev/null
  $ python3 differ.py one.st two.st
  45 45 equal
  $ G='train gpt --layers 2 --width 32 --heads 4 --seq 16 --steps 1'
  $ gpubench $G $S --save one.st > /dev/null; gpubench $G $S --ranks 2 --pp 2 --save two.st > /dev/null
  $ python3 differ.py one.st two.st wte "optimizer.m wte" "optimizer.v wte"
  84 84 equal

A calibration set of other tokens or of another kind is refused, and so are weights that are not finite.

  $ I='infer gpt --seq 16 --layers 1 --width 16 --heads 2 --batch 2 --runs 1 --warmup 0 --threads 1 --quiet'
  $ printf short > short.txt; mkdir -p images/a images/b
  $ python3 -c 'import struct; open("ids.bin", "wb").write(struct.pack("<4096H", *([400] * 4096)))'
  $ for data in ids.bin images; do gpubench $I --int8 static --data $data; echo "[$?]"; done
  gpubench: ids.bin: a token from * on is 400, but the vocabulary has 256: are the ids really u16? (glob)
  [70]
  gpubench: gpt reads text or token files, but images is folder: see gpubench train --help
  [64]
  $ gpubench infer resnet20 --size 8 --batch 2 --threads 1 --quiet --int8 static --data short.txt
  gpubench: resnet20 reads directories or tar shards of images, but short.txt is text: see gpubench train --help
  [64]
  $ gpubench infer resnet20 --size 8 --batch 2 --threads 1 --quiet --int8 static --data images
  gpubench: images: no directory in it has a .jpg, .jpeg or .png
  [64]
  $ gpubench train gpt --seq 16 --layers 1 --width 16 --heads 2 --batch 2 --steps 1 --warmup 0 --threads 1 --quiet --save nan.st > /dev/null
  $ python3 -c '
  > import json, struct
  > b = bytearray(open("nan.st", "rb").read())
  > n = struct.unpack("<Q", b[:8])[0]
  > at = 8 + n + json.loads(b[8:8 + n])["h0.fc.weight"]["data_offsets"][0]
  > b[at:at + 4] = struct.pack("<f", float("nan"))
  > open("nan.st", "wb").write(b)'
  $ for how in 'static' 'dynamic'; do gpubench $I --load nan.st --int8 $how; echo "[$?]"; done
  gpubench: input of h0.fcproj.weight: 256 values are not finite
  [70]
  gpubench: logit 0 of a batch of 2 is nan
  [6]
