Llama trains, saves the Hugging Face layout and continues from it. The loss of the saved weights is that of the next step.

  $ T='--batch 2 --seq 16 --threads 1 --warmup 0 --quiet --json'
  $ loss() { python3 -c 'import json,sys; d=json.load(sys.stdin); print("%.4f" % d["loss"], d["kv_heads"], d["ffn"], d["tied"])'; }
  $ gpubench train llama $T --layers 2 --width 32 --heads 4 --kv-heads 2 --vocab 61 --steps 3 --lr 0 | loss
  4.1124 2 128 False
  $ gpubench train llama $T --layers 2 --width 32 --heads 4 --kv-heads 2 --vocab 61 --steps 3 --lr 0.01 --save-weights model >/dev/null
  $ ls model
  config.json
  model.safetensors
  $ gpubench train llama $T --weights model --steps 1 --lr 0 --weights-shard 40K --save-weights copy | loss | tee first
  3.* 2 128 False (glob)
  $ ls copy
  config.json
  model-00001-of-00004.safetensors
  model-00002-of-00004.safetensors
  model-00003-of-00004.safetensors
  model-00004-of-00004.safetensors
  model.safetensors.index.json
  $ gpubench train llama $T --weights copy --steps 1 --lr 0 | loss | cmp - first
  $ gpubench train llama $T --layers 1 --width 32 --heads 4 --ffn 48 --tied --vocab 61 --steps 1 | loss
  4.1174 4 48 True
  $ gpubench train llama --batch 1 --seq 8 --layers 1 --width 16 --heads 4 --kv-heads 2 --ffn 24 --vocab 31 --steps 1 --lr 0.01 \
  > --check-gradients 40 --quiet | grep ^gradients
  gradients  40 elements checked by differences, off by * of the largest at most (glob)
  $ gpubench infer llama --weights model --seq 8 --batch 1 --runs 2 --warmup 0 --threads 1 --quiet | head -1
  model      llama, fp32, 34784 parameters

A directory that does not fit is refused, with both numbers, before anything is written.

  $ gpubench train llama --weights model --vocab 100
  gpubench: --vocab 100 differs from the 61 of model/config.json
  [64]
  $ gpubench train llama --weights model --kv-heads 4
  gpubench: --kv-heads 4 differs from the 2 of model/config.json
  [64]
  $ gpubench train llama --weights model --seq 4000
  gpubench: --seq 4000 is longer than the context of 2048 tokens of model
  [64]
  $ gpubench train gpt2 --weights model
  gpubench: model/config.json is of llama, not of gpt2
  [64]
  $ gpubench train llama --weights nowhere
  gpubench: cannot open nowhere/config.json: No such file or directory
  [64]
  $ gpubench train llama --weights model --resume copy
  gpubench: --weights and --resume exclude each other
  [64]
  $ gpubench train mlp --save-weights other
  gpubench: mlp has no Hugging Face layout: llama and gpt2 have
  [64]
  $ gpubench train llama --save-weights model
  gpubench: model exists and is not an empty directory: name a new one
  [64]
  $ gpubench train llama --heads 6 --kv-heads 4
  gpubench: --heads 6 must be a multiple of --kv-heads 4
  [64]
  $ gpubench train llama --width 36 --heads 12
  gpubench: --width 36 with --heads 12: the width of a head, 3, must be even
  [64]
  $ gpubench train gpt2 --kv-heads 4
  gpubench: gpt2 takes no --kv-heads
  [64]
  $ sed -i 's/"rope_scaling": null/"rope_scaling": {"rope_type": "yarn"}/' copy/config.json
  $ gpubench train llama --weights copy
  gpubench: copy/config.json: the rope type is "yarn"; only "default" is supported
  [64]
  $ cp model/config.json copy/config.json && sed -i 's/"vocab_size": 61/"vocab_size": 62/' copy/config.json
  $ gpubench train llama $T --weights copy --save-weights new
  gpubench: copy/model-00001-of-00004.safetensors: tensor model.embed_tokens.weight is (61,32) and the model needs (62,32)
  [64]
  $ test ! -e new
  $ ls -d *.saving 2>/dev/null
  [2]

Keys of config.json that change the model are refused, keys of unknown effect are named, and harmless keys are ignored.

  $ edit() { rm -rf edited; cp -r model edited; python3 -c 'import json, sys; d = json.load(open("model/config.json")); d.update(json.loads(sys.argv[1])); json.dump(d, open("edited/config.json", "w"))' "$1"; }
  $ G='llama --weights edited --seq 8 --batch 1 --runs 2 --warmup 0 --threads 1 --quiet'
  $ edit '{"sliding_window": 4096}'; gpubench infer $G
  gpubench: edited/config.json: sliding_window changes the computation in a way that is not supported
  [64]
  $ edit '{"attn_scale_by_moon": 2, "attention_dropout": 0.1, "use_cache": true}'; gpubench infer ${G% --quiet} 2>&1 | grep -E '^(gpubench: warning|model)'
  gpubench: warning: edited/config.json: the effect of attn_scale_by_moon is not known: results differ if it changes the model
  model      llama, fp32, 34784 parameters
  $ gpubench train llama --batch 2 --seq 16 --threads 1 --warmup 0 --weights edited --steps 1 2>&1 >/dev/null | grep config.json
  gpubench: warning: edited/config.json: the effect of attn_scale_by_moon is not known: results differ if it changes the model
