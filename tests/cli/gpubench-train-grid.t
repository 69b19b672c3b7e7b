Ranks that split layers, stages and batches at the same time compute what one rank computes. Each split reads the checkpoint of
another one, and weights in the layout of Hugging Face. The slow suite check-parallel runs all splits.

  $ T='train gpt2 --seq 8 --layers 2 --width 32 --heads 4 --vocab 101 --microbatches 2 --threads 1 --warmup 0 --quiet --json'
  $ gpubench $T --batch 4 --steps 5 > one.json
  $ gpubench $T --batch 4 --steps 1 --save 1.st > /dev/null
  $ gpubench $T --batch 4 --tp 2 --pp 2 --steps 1 --resume 1.st --save 2.st > /dev/null
  $ gpubench $T --batch 2 --ranks 4 --tp 2 --shard 3 --steps 1 --resume 2.st --save 3.st > /dev/null
  $ gpubench $T --batch 2 --ranks 4 --pp 2 --shard 3 --steps 1 --resume 3.st --save-weights weights > split.json
  $ gpubench $T --batch 4 --tp 2 --pp 2 --steps 1 --lr 0 --weights weights --save-weights again > split.json
  $ gpubench $T --batch 2 --ranks 2 --shard 3 --steps 1 --lr 0 --weights again --save-weights last > sharded.json
  $ cmp again/model.safetensors last/model.safetensors && cmp weights/model.safetensors last/model.safetensors && echo the same
  the same
  $ cat > compare.py <<'END'
  > import json
  > one, split, sharded = (json.load(open(f"{name}.json")) for name in ("one", "split", "sharded"))
  > print([abs(d["loss"] - one["loss"]) < 1e-4 for d in (split, sharded)], [d["parameters"] == one["parameters"] for d in (split, sharded)], split["ranks"])
  > END
  $ python3 compare.py
  [True, True] [True, True] 4

With --reduce gather, rank 0 sums the gradients and updates. The results are the same. Rank 0 sends the parameters to each rank.

  $ for how in all-reduce gather; do gpubench train mlp --batch 8 --ranks 4 --threads 1 --steps 3 --warmup 0 --reduce $how --save $how.st --json --quiet > $how.json; done
  $ cmp all-reduce.st gather.st && echo the same
  the same
  $ python3 -c 'import json; a, g = (json.load(open(f"{n}.json"))["ddp"] for n in ("all-reduce", "gather")); print(a["reduce"], g["reduce"], g["sent_bytes_per_step"] / a["sent_bytes_per_step"])'
  all-reduce gather 2.0
  $ gpubench train mlp --batch 8 --ranks 2 --threads 1 --steps 1 --warmup 0 --reduce gather --quiet | grep '^reduce'
  reduce     by the updates of rank 0, after the backward pass
  $ gpubench $T --batch 2 --ranks 4 --pp 2 --reduce gather --steps 5 | python3 -c 'import json, sys; print(abs(json.load(sys.stdin)["loss"] - json.load(open("one.json"))["loss"]) < 1e-4)'
  True
  $ gpubench $T --batch 2 --ranks 4 --tp 2 --reduce gather --steps 5 | python3 -c 'import json, sys; print(abs(json.load(sys.stdin)["loss"] - json.load(open("one.json"))["loss"]) < 1e-4)'
  True
  $ gpubench train mlp --ranks 2 --tp 2 --reduce gather
  gpubench: --reduce gather needs ranks with different batches: --ranks 2 with --tp 2 and --pp 1 has one batch
  [64]
  $ gpubench train mlp --ranks 2 --reduce gather --shard 1
  gpubench: --reduce gather excludes --shard, --compress and --prune
  [64]
  $ gpubench train mlp --ranks 2 --reduce gather --clip 1
  gpubench: --reduce gather excludes --clip and --amp fp16: rank 0 sums gradients while it updates
  [64]
  $ gpubench train mlp --ranks 2 --reduce gather --device cuda
  gpubench: --reduce gather needs --device cpu: NCCL reduces the gradients of CUDA devices
  [64]

Splits that cannot be combined end before any work.

  $ T='train gpt2 --seq 8 --layers 2 --width 32 --heads 4 --vocab 101 --batch 4 --quiet'
  $ gpubench $T --ranks 6 --tp 2 --pp 2
  gpubench: --ranks 6 is not a multiple of --tp 2 times --pp 2
  [64]
  $ gpubench $T --tp 64 --pp 2
  gpubench: --ranks, --tp and --pp take at most 64
  [64]
  $ gpubench $T --tp 65
  gpubench: --ranks, --tp and --pp take at most 64
  [64]
  $ gpubench $T --ranks 4 --tp 2 --pp 2 --shard 1
  gpubench: --compress, --powersgd-rank, --balance, --overlap and --shard need ranks with different batches: --ranks 4 with --tp 2 and --pp 2 has one batch
  [64]
  $ gpubench $T --ranks 4 --pp 2 --shard 2 --schedule gpipe
  gpubench: --shard 2 and --schedule gpipe exclude each other: use 1f1b
  [64]
  $ gpubench $T --ranks 2 --shard 3 --compress fp16
  gpubench: --shard 3 and --compress fp16 exclude each other: use --shard 1
  [64]
  $ gpubench $T --ranks 2 --shard 3 --without assign
  gpubench: rank *: stage 3 of sharding has no whole gradients to keep or to clear: use stage 1 (glob)
  [64]
  $ gpubench train llama --layers 2 --width 32 --heads 4 --kv-heads 2 --tp 4 --quiet
  gpubench: --kv-heads 2 cannot be divided among --tp 4 ranks
  [64]
