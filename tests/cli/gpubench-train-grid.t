Ranks that split layers, stages and batches at the same time compute what one rank computes. Each split writes the same checkpoint
layout and reads the checkpoint of another one.

  $ cat > grid.sh <<'END'
  > T="train $1 --seq 8 --layers 2 --width 32 --heads 4 --vocab 101 --microbatches 2 --threads 1 --warmup 0 --quiet --json"
  > gpubench $T --batch 4 --steps 11 > one.json
  > gpubench $T --batch 4 --steps 1 --save last.st > /dev/null
  > for split in '1 2 2' '2 1 2' '2 2 1' '2 2 2'; do set -- $split
  > for shard in off 1 2 3; do test $shard = off || test $1 = 2 || continue; test $shard -ge 2 2> /dev/null && test $3 = 2 && continue
  > all="--ranks $(($1 * $2 * $3)) --batch $((4 / $1)) --tp $2 --pp $3"; test $1 = 1 || all="$all --shard $shard"
  > gpubench $T $all --steps 11 > loss.json && gpubench $T $all --steps 1 --resume last.st --save next.st > next.json && mv next.st last.st
  > python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in ("one.json", "loss.json")); print(sys.argv[1:], abs(a["loss"] - b["loss"]) < 1e-4, a["parameters"] == b["parameters"])' $split $shard
  > done; done
  > gpubench $T --batch 4 --steps 1 --resume last.st > last.json
  > python3 -c 'import json; a, b = (json.load(open(f"{f}.json"))["loss"] for f in ("one", "last")); print(abs(a - b) < 1e-4)'
  > END
  $ bash grid.sh gpt2
  ['1', '2', '2', 'off'] True True
  ['2', '1', '2', 'off'] True True
  ['2', '1', '2', '1'] True True
  ['2', '2', '1', 'off'] True True
  ['2', '2', '1', '1'] True True
  ['2', '2', '1', '2'] True True
  ['2', '2', '1', '3'] True True
  ['2', '2', '2', 'off'] True True
  ['2', '2', '2', '1'] True True
  True
  $ bash grid.sh llama
  ['1', '2', '2', 'off'] True True
  ['2', '1', '2', 'off'] True True
  ['2', '1', '2', '1'] True True
  ['2', '2', '1', 'off'] True True
  ['2', '2', '1', '1'] True True
  ['2', '2', '1', '2'] True True
  ['2', '2', '1', '3'] True True
  ['2', '2', '2', 'off'] True True
  ['2', '2', '2', '1'] True True
  True

The number of ranks is that of one model by default. The post-norm blocks of bert have as many places to cut as without --tp.

  $ gpubench train bert --seq 8 --layers 1 --width 32 --heads 4 --vocab 101 --batch 2 --steps 1 --warmup 0 --threads 1 --quiet --tp 2 --pp 9 --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["ranks"], d["tp"], d["pipeline"]["stages"])'
  18 2 9

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
  $ gpubench $T --ranks 4 --pp 2 --shard 2
  gpubench: --shard 2 and --pp 2 exclude each other: use --shard 1
  [64]
  $ gpubench $T --ranks 2 --shard 3 --compress fp16
  gpubench: --shard 3 and --compress fp16 exclude each other: use --shard 1
  [64]
  $ gpubench $T --ranks 2 --shard 3 --without assign
  gpubench: rank 0: stage 3 of sharding has no whole gradients to keep or to clear: use stage 1
  [64]
  $ gpubench train llama --layers 2 --width 32 --heads 4 --kv-heads 2 --tp 4 --quiet
  gpubench: --kv-heads 2 cannot be divided among --tp 4 ranks
  [64]
