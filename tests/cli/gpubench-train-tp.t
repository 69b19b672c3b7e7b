Ranks that split a model compute what one rank computes, and use the same checkpoints.

  $ T='train gpt --seq 16 --layers 2 --width 32 --heads 4 --vocab 259 --batch 4 --threads 1 --warmup 0 --quiet'
  $ gpubench $T --steps 50 --json > 1.json
  $ for tp in 2 4; do gpubench $T --steps 50 --ranks 4 --batch $((tp)) --tp $tp --json > $tp.json; done
  $ python3 -c 'import json; a, b, c = (json.load(open(f"{i}.json")) for i in (1, 2, 4)); print(abs(a["loss"] - b["loss"]) < 1e-4, abs(a["loss"] - c["loss"]) < 1e-4, a["parameters"] == b["parameters"] == c["parameters"], [d["tp"] for d in (a, b, c)], abs(a["heldout_loss_after"] - c["heldout_loss_after"]) < 1e-4, b["ddp"]["rows"])'
  True True True [1, 2, 4] True [2, 2, 2, 2]
  $ gpubench $T --steps 2 --ranks 2 --tp 2 | grep -E '^(tensor|sums|exchange)' | sed 's/[0-9.]* ms/T ms/'
  tensor     each of 2 ranks has a part of 4 pairs of layers and of the vocabulary
  sums       sums and gathers over the ranks: 5 and 1 forward, 5 and 0 backward, 80.5 KiB in each batch
  exchange   6.9 KiB and T ms among 2 tensor parallel ranks
  $ for m in gpt2 bert vit mlp; do s='--seq 8 --layers 1 --width 32 --heads 4 --vocab 101'; test $m = vit && s='--layers 1 --width 32 --heads 4 --size 32'; test $m = mlp && s=; for tp in 1 4; do gpubench train $m $s --batch 2 --steps 3 --warmup 0 --threads 1 --quiet --ranks $tp --tp $tp --json | python3 -c 'import json, sys; print("%.4f" % json.load(sys.stdin)["loss"])'; done | uniq | wc -l; done
  1
  1
  1
  1

  $ gpubench $T --steps 2 --ranks 4 --tp 4 --save four.safetensors > /dev/null
  $ gpubench $T --steps 2 --save one.safetensors > /dev/null
  $ for tp in 1 2 4; do gpubench $T --steps 1 --lr 0 --ranks $tp --tp $tp --resume four.safetensors --save $tp.safetensors > /dev/null; python3 -c 'import sys; a, b = (open(f, "rb").read() for f in ("1.safetensors", sys.argv[1])); print(len(a) == len(b))' $tp.safetensors; done
  True
  True
  True

With --sp the ranks also split the tokens between these layers. A rank needs less memory and sends more.

  $ gpubench $T --steps 50 --ranks 4 --tp 4 --sp --json > sp.json
  $ python3 -c 'import json; a, b = (json.load(open(f"{i}.json")) for i in (1, "sp")); print(abs(a["loss"] - b["loss"]) < 1e-4, b["sp"])'
  True True
  $ for o in "" --sp; do gpubench $T --seq 64 --layers 6 --width 64 --batch 8 --steps 2 --ranks 4 --tp 4 $o --json > wide$o.json; done
  $ python3 -c 'import json; a, b = (json.load(open(f"wide{i}.json")) for i in ("", "--sp")); print(b["planned_bytes"] < 0.8 * a["planned_bytes"], 1 < b["groups"]["tensor"]["sent_bytes"] / a["groups"]["tensor"]["sent_bytes"] < 1.3)'
  True True
  $ gpubench $T --steps 2 --ranks 2 --tp 2 --sp | grep -E '^(sequence|sums)'
  sequence   each of 2 ranks has 1/2 of the tokens between layers: 5 sums scattered, 5 inputs gathered
  sums       sums and gathers over the ranks: 5 and 6 forward, 7 and 10 backward, 142 KiB in each batch
  $ gpubench $T --ranks 4 --tp 4 --batch 3 --seq 15 --sp
  gpubench: rank *: embedding: 45 tokens of a batch cannot be divided among 4 tensor parallel ranks (glob)
  [64]
  $ gpubench $T --sp
  gpubench: --sp needs --tp of at least 2
  [64]

Bad splits end before any work with both numbers.

  $ gpubench $T --ranks 4 --tp 3
  gpubench: --ranks 4 is not a multiple of --tp 3 times --pp 1
  [64]
  $ gpubench $T --ranks 3 --tp 3
  gpubench: --heads 4 cannot be divided among --tp 3 ranks
  [64]
  $ gpubench train resnet20 --ranks 2 --tp 2
  gpubench: resnet20 has no layers that --tp can split
  [64]
  $ gpubench train mlp --ranks 3 --tp 3 --quiet
  gpubench: rank *: fc0: 1024 columns cannot be divided among 3 tensor parallel ranks (glob)
  [64]
  $ gpubench $T --ranks 4 --tp 2 --balance
  gpubench: --balance and --tp exclude each other
  [64]
  $ gpubench $T --ranks 2 --tp 2 --compress fp16
  gpubench: --compress, --powersgd-rank, --balance, --overlap and --shard need ranks with different batches: --ranks 2 with --tp 2 and --pp 1 has one batch
  [64]
  $ gpubench $T --ranks 2 --tp 2 --optimizer adamw8
  gpubench: --optimizer adamw8 and --tp exclude each other: use adamw
  [64]
  $ gpubench $T --ranks 2 --tp 2 --check-gradients 3
  gpubench: --check-gradients and --tp exclude each other
  [64]
  $ gpubench $T --ranks 2 --tp 2 --width 64 --resume four.safetensors
  gpubench: rank *: four.safetensors: tensor wte is F32 (*), but F32 (259,64) in the program (glob)
  [64]

A rank that dies ends the others, and leaves no checkpoint.

  $ gpubench $T --steps 1000000 --ranks 4 --tp 4 --save lost.safetensors 2> why & until n=$(pgrep -P $! | wc -l) && test $n = 4 && sleep 1; do sleep 0.1; done; kill -9 $(pgrep -P $! | tail -1); wait $!; echo $?; cat why; ls lost* 2> /dev/null
  70
  gpubench: rank 3: killed by signal 9 (Killed)
  [2]

--shard 2 and 3 also shard gradients and parameters. The numbers are the same, and the memory of a rank shrinks.

  $ for s in off 1 2 3; do gpubench train mlp --batch 8 --threads 1 --steps 3 --warmup 0 --ranks 4 --shard $s --save $s.st --json --quiet > s$s.json; done; cmp off.st 1.st && cmp off.st 2.st && cmp off.st 3.st && echo the same
  the same
  $ python3 -c 'import json; d = [json.load(open(f"s{s}.json")) for s in ("off", 1, 2, 3)]; print([x["ddp"]["shard_stage"] for x in d], len({x["loss"] for x in d}), d[0]["planned_bytes"] > d[1]["planned_bytes"] > d[2]["planned_bytes"] > d[3]["planned_bytes"])'
  [0, 1, 2, 3] 1 True
  $ gpubench train mlp --shard 2
  gpubench: --compress, --powersgd-rank, --balance, --overlap and --shard need --ranks of at least 2
  [64]
