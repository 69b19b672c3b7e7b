A training run in this process reports the model, the data, the speed and the learning.

  $ gpubench train gpt --steps 40 --batch 4 --seq 64 --threads 1 --quiet
  model      gpt, 834304 parameters, batch 4, seq 64, seed 1
  runs on    cpu, *, 1 thread, *, * (glob)
  on node    * (glob)
  spinning   bounded to 1000 rounds by gpubench
  speed      * tokens/s (median step * ms, * Gflop/s) (glob)
  memory     * MiB planned, * MiB resident at most, * minor faults per step (glob)
  data       text, * samples, 1 worker, 4 batches ahead (glob)
  data wait  * % of the time, * tokens/s with it (glob)
  loss       [0-9.]+ at the last step (re)
  held out   5\.[0-9]+ before, 3\.[0-9]+ after: it fell (re)

The same as a document. The same seed gives the same loss, bit for bit.

  $ for i in 1 2; do gpubench train mlp --batch 16 --steps 3 --threads 2 --json --quiet > $i.json; done
  $ python3 -c 'import json; a, b = (json.load(open(f"{i}.json")) for i in "12"); print(a["loss"] == b["loss"], a["parameters"], a["unit"], len(a["step_s"]), a["void"], a["heldout_loss_after"])'
  True 1863690 samples 3 False None

Mixed precision names the instructions that multiply the type, or reports storage only.

  $ gpubench train gpt --amp bf16 --steps 20 --batch 2 --seq 32 --json --quiet > bf16.json
  $ python3 -c 'import json; d = json.load(open("bf16.json")); print(d["amp"], d["heldout_loss_after"] < 5); print([p["did"] for p in d["passes"] if p["name"] == "amp"][0])'
  bf16 True
  [0-9]+ products read bf16 after [0-9]+ casts; .*(products of attention|products) in f32.* (re)
  $ DNNL_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 gpubench train gpt --amp bf16 --layers 1 --steps 1 --batch 2 --seq 32 --quiet | grep -o 'this CPU cannot multiply it'
  this CPU cannot multiply it
  $ gpubench train gpt --amp fp16 --steps 20 --batch 2 --seq 32 --quiet | tail -1
  held out   5\.[0-9]+ before, [34]\.[0-9]+ after: it fell (re)

Four batches per update, clipped, with 8-bit moments: each is reported.

  $ gpubench train gpt --accum 4 --clip 0.5 --optimizer adamw8 --steps 10 --batch 2 --seq 32 --json --quiet > accum.json
  $ python3 -c 'import json; d = json.load(open("accum.json")); print(d["optimizer"], d["accum"], d["clip_norm"], d["grad_norm"] > 0.5, d["skipped_updates"]); [print(p["did"]) for p in d["passes"] if p["name"] in ("accumulate", "gradients")]'
  adamw8 4 0.5 True 0
  4 batches per update; 52 gradients accumulated in place, 0 by separate calls
  clipped to a global norm of 0.5

Checkpointing keeps the loss bit for bit; a budget selects the amount, or the report names a budget that fits.

  $ for c in 0 3; do gpubench train gpt --steps 3 --checkpoint $c --threads 2 --json --quiet > c$c.json; done
  $ gpubench train gpt --steps 3 --fit 26M --threads 2 --json --quiet > fit.json
  $ python3 -c 'import json; a, b, c = (json.load(open(f)) for f in ("c0.json", "c3.json", "fit.json")); print(a["loss"] == b["loss"] == c["loss"], a["planned_bytes"] > b["planned_bytes"], c["planned_bytes"] <= 26 << 20 < a["planned_bytes"])'
  True True True
  $ gpubench train gpt --fit 8M --quiet
  gpubench: the program needs * MiB of memory and the limit is 8.0 MiB: checkpointing in * segments would still need * MiB; use a smaller batch or model (glob)
  [70]

OpenMP's spinning is limited unless the user sets it.

  $ OMP_WAIT_POLICY=passive gpubench train mlp --batch 8 --steps 1 --quiet | grep spinning
  spinning   set by OMP_WAIT_POLICY=passive

A team is no larger than OMP_THREAD_LIMIT allows, and computes the same.

  $ for t in 1 2; do OMP_THREAD_LIMIT=1 gpubench train resnet20 --batch 4 --size 16 --threads $t --steps 3 --warmup 0 --json --quiet > limit$t.json; done
  $ python3 -c 'import json; a, b = (json.load(open(f"limit{t}.json")) for t in "12"); print(a["threads"], b["threads"], a["loss"] == b["loss"])'
  1 1 True

Ranks together train as one rank with the whole batch, for any split of it.

  $ gpubench train gpt --batch 4 --seq 32 --steps 10 --threads 1 --json --quiet > one.json
  $ gpubench train gpt --batch 2 --seq 32 --steps 10 --threads 1 --ranks 2 --json --quiet > two.json
  $ gpubench train gpt --batch 2 --seq 32 --steps 10 --threads 1 --ranks 2 --balance --json --quiet > split.json
  $ python3 -c 'import json; a, b, c = (json.load(open(f)) for f in ("one.json", "two.json", "split.json")); print(abs(a["loss"] - b["loss"]) < 1e-4, abs(a["loss"] - c["loss"]) < 1e-4, b["ddp"]["rows"], sum(c["ddp"]["rows"]))'
  True True [2, 2] 4

Each rank reports its node and the share of its memory there; a rank without placement reports nothing.

  $ gpubench train mlp --batch 4 --steps 1 --ranks 2 --json --quiet > placed.json
  $ gpubench train mlp --batch 4 --steps 1 --ranks 2 --no-pin --json --quiet > free.json
  $ python3 -c 'import json; a, b = (json.load(open(f))["ddp"] for f in ("placed.json", "free.json")); print(len(a["home_node"]), all(s is None or s > 0.99 for s in a["pages_at_home"]), b["home_node"])'
  2 True [None, None]

With --shard on, ranks share the update; the numbers are the same, and any number of ranks can resume the checkpoint.

  $ gpubench train mlp --batch 8 --threads 1 --steps 3 --warmup 0 --ranks 2 --quiet --shard on --save two.safetensors | grep -E "^(shard|reduce)"
  shard      each rank updates 1/2 of the parameters and keeps 3.6 MiB of 7.1 MiB of optimizer state
  reduce     by the updates, after the backward pass
  $ gpubench train mlp --batch 8 --threads 1 --steps 3 --warmup 0 --ranks 2 --quiet --overlap on --save whole.safetensors | grep -E "^(shard|reduce)"
  reduce     by the updates, during the backward pass
  $ cmp two.safetensors whole.safetensors && echo the same
  the same
  $ for ranks in 1 2 4; do gpubench train mlp --batch $((16 / ranks)) --ranks $ranks --threads 1 --steps 2 --warmup 0 --resume two.safetensors --json --quiet | python3 -c 'import json, sys; print("%.3f" % json.load(sys.stdin)["loss"])'; done
  1.883
  1.883
  1.883
  $ gpubench train mlp --shard on
  gpubench: --compress, --powersgd-rank, --balance, --overlap and --shard need --ranks of at least 2
  [64]

The report shows the effect of compression on the loss next to its saving.

  $ gpubench train gpt --batch 2 --seq 32 --steps 10 --threads 1 --ranks 2 --compress fp16 --quiet | grep -e ranks -e compress
  ranks      2 over shm, rows 2 2, waited * ms per step, * done in time (glob)
  reduce     after the backward pass: the ranks themselves move the gradients
  compress   fp16: 50.0 % of the bytes

A checkpoint contains all state of the next step. A checkpoint of another model changes nothing.

  $ gpubench train gpt --batch 2 --seq 16 --warmup 0 --threads 1 --steps 4 --json --quiet > whole.json
  $ gpubench train gpt --batch 2 --seq 16 --warmup 0 --threads 1 --steps 2 --save half.safetensors --quiet > /dev/null
  $ gpubench train gpt --batch 2 --seq 16 --warmup 0 --threads 1 --steps 2 --resume half.safetensors --json --quiet > rest.json
  $ python3 -c 'import json; print(json.load(open("whole.json"))["loss"] == json.load(open("rest.json"))["loss"])'
  True
  $ gpubench train gpt --width 64 --resume half.safetensors --quiet
  gpubench: half.safetensors: tensor wte is F32 (256,128), but F32 (256,64) in the program
  [64]
  $ gpubench train gpt --resume whole.json --quiet
  gpubench: whole.json is not a safetensors file: its header would need * bytes (glob)
  [64]
  $ gpubench train gpt --seq 16 --layers 1 --resume half.safetensors --quiet
  gpubench: half.safetensors: the program has no tensor h1.* the file belongs to another model (glob)
  [64]
  $ gpubench train gpt --batch 2 --seq 16 --threads 1 --steps 2 --ranks 2 --compress onebit --resume half.safetensors --quiet --json | grep onebit
      "compress": "onebit",
      "a checkpoint does not contain the error feedback of onebit: this run differs from one without interruption"
  $ gpubench train gpt --save-every 5
  gpubench: --save-every needs --save
  [64]
  $ gpubench train mlp --lr -1
  gpubench: --lr must be a learning rate such as 0.001
  [64]
  $ gpubench train mlp --heads 16777217
  gpubench: --heads ends at 16777216
  [64]

An unwritable output file is reported before the first step. A device or a pipe is written to, not replaced.

  $ gpubench train mlp --save nowhere/m.st
  gpubench: cannot create nowhere/m.st: No such file or directory
  [64]
  $ gpubench train mlp --trace ""
  gpubench: the name of the output file is empty
  [64]
  $ gpubench train mlp --batch 8 --steps 1 --warmup 0 --threads 1 --quiet --save /dev/fd/9 9>&1 > saved | wc -c > bytes; test $(cat bytes) -gt 7000000 && ls | grep saving
  [1]
  $ gpubench train mlp --batch 8 --steps 1 --warmup 0 --threads 1 --quiet --save /dev/null > saved; test -c /dev/null && echo it is there
  it is there
  $ mkfifo pipe; for o in --save --trace; do timeout 60 gpubench train mlp --batch 8 --steps 1 --warmup 0 --threads 1 --quiet $o pipe; done
  gpubench: cannot write pipe: it is a FIFO, not a regular file; to write to a pipe, name /dev/stdout or /dev/fd/N
  gpubench: cannot write pipe: it is a FIFO, not a regular file; to write to a pipe, name /dev/stdout or /dev/fd/N
  [64]

A resumed run continues with the next sample, for any ranks and batches. A loss without training shows the sample.

  $ T='train gpt --seq 16 --layers 1 --width 32 --heads 2 --threads 1 --warmup 0 --lr 0 --json -q'
  $ at() { gpubench $T --batch 2 --steps 1 "$@" | python3 -c 'import json, sys; d = json.load(sys.stdin); print("%.5f" % d["loss"], d["warnings"])'; }
  $ gpubench $T --batch 2 --steps 9 | python3 -c 'import json, sys; print("%.5f" % json.load(sys.stdin)["loss"])' > want
  $ gpubench $T --batch 2 --ranks 2 --steps 4 --save a.st > /dev/null; at --resume a.st > a; echo "$(cat want) []" | diff - a
  $ gpubench $T --batch 4 --accum 2 --steps 2 --save b.st > /dev/null; at --resume b.st | diff a -
  $ gpubench $T --batch 5 --steps 2 --save c.st > /dev/null; gpubench $T --batch 3 --ranks 2 --steps 1 --resume c.st --save d.st > /dev/null || :
  $ at --resume d.st | diff a -; at --resume a.st --batch 1 --accum 2 | diff a -
  $ gpubench $T --batch 2 --steps 1 --resume a.st --seed 2
  gpubench: a.st read its samples in the order of --seed 1: with another seed this run would read some samples twice and skip others
  [64]
  $ seq 9999 > other; at --resume a.st --data other | grep -o 'the checkpoint was trained on .*'
  the checkpoint was trained on * samples, but these data have * or other batches: this run starts with the first sample'] (glob)

A failed rank ends the run and is named.

  $ gpubench train gpt --steps 20 --batch 2 --seq 16 --lr 1e5 --ranks 2 --quiet
  gpubench: rank *: the loss of step * is *nan; first not finite: *; no parameter was changed (glob)
  [6]

A run on text without a falling held-out loss is void.

  $ gpubench train gpt --steps 2 --batch 2 --seq 16 --lr 1e-30 --quiet | tail -1
  held out   * after: it did not fall, the run is void (glob)
  $ gpubench train gpt --steps 2 --batch 2 --seq 16 --lr 1e-30 --quiet --json > /dev/null
  [6]

With a learning rate of 0 nothing is learned, as requested; a rate that rounds to zero is refused.

  $ gpubench train gpt --steps 2 --batch 2 --seq 16 --lr 0 --quiet --json > zero.json
  $ python3 -c 'import json; d = json.load(open("zero.json")); print(d["lr"], d["heldout_loss_before"] == d["heldout_loss_after"], d["void"])'
  0.0 True False
  $ for o in batch steps ranks accum; do gpubench train mlp --$o 0; done
  gpubench: --batch takes a whole number of 1 or more, not '0' (see 'gpubench train --help')
  gpubench: --steps takes a whole number of 1 or more, not '0' (see 'gpubench train --help')
  gpubench: --ranks takes a whole number of 1 or more, not '0' (see 'gpubench train --help')
  gpubench: --accum takes a whole number of 1 or more, not '0' (see 'gpubench train --help')
  [64]

Every model runs a step, also for images and encoders.

  $ for m in resnet20 vit; do gpubench train $m --batch 2 --size 32 --steps 1 --warmup 0 --json --quiet > $m.json; done
  $ grep -h '"parameters"' resnet20.json
    "parameters": 269722,
  $ gpubench train bert --batch 1 --seq 8 --layers 1 --width 12 --heads 2 --steps 1 --warmup 0 --quiet | grep model
  model      bert, * parameters, batch 1, seq 8, seed 1 (glob)

A loss that is not a number ends the run, with its origin.

  $ gpubench train gpt --steps 20 --batch 2 --seq 16 --lr 1e5 --quiet
  gpubench: the loss of step * is *nan; first not finite: *; no parameter was changed (glob)
  [6]

Each technique can be disabled without changing the loss.

  $ gpubench train gpt --steps 2 --without fuse,reuse,assign,early-update,huge-pages --threads 2 --json --quiet > without.json
  $ gpubench train gpt --steps 2 --threads 2 --json --quiet > with.json
  $ python3 -c 'import json; a, b = (json.load(open(f)) for f in ("with.json", "without.json")); print(abs(a["loss"] - b["loss"]) < 1e-3, a["planned_bytes"] < b["planned_bytes"], b["pages"]); print([p["did"] for p in b["passes"] if p["name"] == "accumulate"][0])'
  True True small pages
  52 gradients cleared for each update
  $ gpubench train resnet20 --batch 16 --steps 2 --warmup 0 --threads 2 --json --quiet > tiles.json
  $ gpubench train resnet20 --batch 16 --steps 2 --warmup 0 --threads 2 --without winograd --json --quiet > plain.json
  $ python3 -c 'import json; a, b = (json.load(open(f)) for f in ("tiles.json", "plain.json")); print(abs(a["loss"] - b["loss"]) < 1e-4, a["flops_per_step"] < 0.6 * b["flops_per_step"]); print([p["did"] for p in a["passes"] + b["passes"] if p["name"] == "winograd"])'
  True True
  ['[0-9]+ of 56 convolutions with Winograd F\(4x4,3x3\): [0-9.]+ Gflop instead of [0-9.]+; 7 gradient sums fused', 'nothing to do'] (re)
  $ gpubench train gpt --without fuse,magic
  gpubench: --without magic: fuse, reuse, assign, early-update, huge-pages, persistent, zero-copy, u8, pad and winograd can be left out
  [64]

Gradients can be checked against finite differences of the plain definition, for small sizes.

  $ gpubench train gpt --batch 1 --seq 8 --layers 1 --width 16 --heads 2 --steps 1 --lr 0.01 --check-gradients 40 --quiet | grep ^gradients
  gradients  40 elements checked by differences, off by [0-9.e-]+ of the largest at most (re)
  $ gpubench train gpt2 --batch 1 --seq 8 --check-gradients 100 --quiet
  gpubench: --check-gradients: the plain definition of this model would take too long; take smaller sizes or fewer elements
  [64]

The debug option names the op and the forward node of a gradient.

  $ gpubench train gpt --steps 20 --batch 2 --seq 16 --lr 1e5 --anomaly --quiet
  gpubench: step *: * wrote *, which is not finite; no parameter was changed (glob)
  [6]

The profile is compared with this host's peaks; the trace opens in Chrome and has a memory counter.

  $ gpubench train mlp --batch 32 --steps 4 --time-ops --trace trace.json --json --quiet > profile.json
  $ python3 -c 'import json; d = json.load(open("profile.json")); t = json.load(open("trace.json"))["traceEvents"]; print(all(r["of_peak"] > 0 for r in d["ops"]), d["peaks"]["flops_per_s"] > 1e9); x = [e for e in t if e["ph"] == "X"]; m = [e["args"]["bytes"] for e in t if e["ph"] == "C"]; print(len({e["args"]["step"] for e in x}), {e["cat"] for e in x} == {"forward", "backward", "update"}, 0 < max(m) <= d["planned_bytes"])'
  True True
  7 True True

The profile has the memory of each op: all tensors that are live during its calls, and the tensors that it allocates. The plan is
compared with the largest live size.

  $ gpubench train gpt --layers 2 --width 32 --heads 2 --seq 64 --batch 2 --steps 1 --time-ops --json --quiet > memory.json
  $ python3 -c '
  > import json
  > d = json.load(open("memory.json"))
  > p, ops = d["plan"], d["ops"]
  > print(max(r["peak_bytes"] for r in ops) == p["live_bytes"] <= p["planned_bytes"] <= d["planned_bytes"])
  > print(all(p["permanent_bytes"] <= r["live_bytes"] <= r["peak_bytes"] for r in ops))
  > print(abs(p["fragmentation"] - (1 - p["live_bytes"] / p["planned_bytes"])) < 1e-9, p["fragmentation"] < .5)
  > print([r["op"] for r in ops if r["phase"] == "update" and r["allocated_bytes"] > 0])
  > print(next(r["allocated_bytes"] for r in ops if r["op"] == "attention") >= 2 * (2 * 64 * 32 + 2 * 2 * 64) * 4)'
  True
  True
  True True
  []
  True
  $ gpubench train mlp --batch 8 --steps 1 --time-ops --quiet | grep -e ^plan -e '^op '
  plan       * MiB, * MiB live at most, * MiB of them permanent, *.* % fragmentation (glob)
  op *phase *calls *ms/step *Gflop/s *GB/s *of peak *live *peak *allocated (glob)

The first updates are not timed; a run with no others says so. A step of several batches counts the flops of all.

  $ gpubench train mlp --batch 8 --steps 1 --warmup 0 --time-ops --quiet | grep -e '^linear ' -e '^sgd'
  linear * 2 * - * - * - * - * MiB * MiB * (glob)
  sgd * 6 * - * - * - * - * MiB * MiB * (glob)
  $ for n in 1 3; do gpubench train mlp --batch 8 --steps 3 --warmup 2 --accum $n --profile --json --quiet > accum$n.json; done
  $ python3 -c 'import json; f = lambda n, p: sum(r["flops"] for r in json.load(open(f"accum{n}.json"))["ops"] if r["phase"] == p); print([f(3, p) / f(1, p) for p in ("forward", "backward")])'
  [3.0, 3.0]

Documents: batches of several lengths in one memory, no page fault after the first steps, and the padding is reported. A
resumed run equals an uninterrupted one.

  $ D='train gpt --documents paragraph --seq 64 --layers 1 --width 32 --heads 2 --buckets 4 --token-budget 512 --warmup 0 -q --json'
  $ gpubench $D --steps 40 > whole.json
  $ gpubench $D --steps 20 --save half.st > /dev/null
  $ gpubench $D --steps 20 --resume half.st > rest.json
  $ python3 -c '
  > import json
  > a, b = json.load(open("whole.json")), json.load(open("rest.json"))
  > d = a["data"]["documents"]
  > print(a["loss"] == b["loss"], a["heldout_loss_after"] == b["heldout_loss_after"], len(a["shapes"]) == len(d["lengths"]) == 4)
  > print(all(l["rows"] * l["width"] <= 512 for l in d["lengths"]), d["padding_share"] < d["padding_share_one_length"] / 2)
  > print(d["tokens_per_s"] < d["padded_tokens_per_s"], a["items_per_s"] == d["tokens_per_s"], a["void"])'
  True True True
  True True
  True True False
  $ gpubench $D --steps 20 --resume half.st --buckets 2
  gpubench: half.st read documents in other batches: continue with the same --batch, --ranks, --buckets and --token-budget
  [64]

Ranks with different numbers of tokens per batch give the loss of one rank with all of them; the speed is the sum.

  $ D='train gpt --documents paragraph --seq 64 --layers 1 --width 32 --heads 2 --buckets 4 --warmup 0 --threads 1 --steps 10 -q --json'
  $ gpubench $D --batch 8 > one.json; gpubench $D --batch 4 --ranks 2 > two.json; gpubench $D --batch 2 --ranks 2 --accum 2 > four.json
  $ gpubench $D --batch 4 --accum 2 > twice.json
  $ python3 -c '
  > import json
  > one, two, four, twice = (json.load(open(f + ".json")) for f in ("one", "two", "four", "twice"))
  > print(abs(one["loss"] - two["loss"]) < 1e-5, abs(four["loss"] - twice["loss"]) < 1e-5)
  > print([abs(d["flops_per_s"] / d["data"]["documents"]["padded_tokens_per_s"] / (one["flops_per_s"] / one["data"]["documents"]["padded_tokens_per_s"]) - 1) < .2 for d in (two, four)])'
  True True
  [True, True]

Invalid options are refused before anything starts.

  $ gpubench train gpt3
  gpubench: no model gpt3: gpt2, llama, gpt, bert, vit, resnet20, resnet50 and mlp can be trained
  [64]
  $ gpubench train gpt --ranks 65
  gpubench: --ranks, --tp and --pp take at most 64
  [64]
  $ gpubench train gpt --compress fp16
  gpubench: --compress, --powersgd-rank, --balance, --overlap and --shard need --ranks of at least 2
  [64]
  $ gpubench train gpt --ranks 2 --powersgd-rank 2
  gpubench: --powersgd-rank needs --compress powersgd
  [64]
  $ gpubench train gpt --width 100 --heads 3
  gpubench: --width must be a multiple of --heads
  [64]
  $ gpubench train mlp --seq 5
  gpubench: mlp takes no --seq
  [64]
  $ gpubench train resnet20 --size 5000
  gpubench: --size must be 8 to 4096 pixels
  [64]
  $ gpubench train vit --size 30
  gpubench: --size 30 must be a multiple of --patch 16: the model cuts images into such patches
  [64]
  $ gpubench train resnet20 --patch 4
  gpubench: resnet20 takes no --patch
  [64]
  $ gpubench train bert --data .
  gpubench: bert trains on random samples: it takes no --data
  [64]
  $ gpubench train gpt --data . --augment crop --quiet
  gpubench: --augment is for images: gpt reads tokens
  [64]
  $ gpubench train mlp --cache 1M
  gpubench: --cache, --augment, --tokens and --prefetch need --data
  [64]
  $ gpubench train gpt --token-budget 100
  gpubench: --buckets and --token-budget need --documents
  [64]
  $ gpubench train mlp --documents line
  gpubench: --documents needs --data and a model that reads text: gpt or gpt2
  [64]
  $ gpubench train gpt --documents line --balance --ranks 2
  gpubench: --documents has batches of several shapes, which --balance does not support
  [64]
  $ gpubench train gpt --documents line --device cuda --ranks 2
  gpubench: --documents does not support several ranks on CUDA devices: use one rank, or --device cpu
  [64]
  $ gpubench train gpt --documents line --buckets 33
  gpubench: --buckets takes at most 32
  [64]
  $ gpubench train gpt --documents line --batch 2 --token-budget 900
  gpubench: --token-budget and --batch exclude each other
  [64]
  $ gpubench train gpt2 --batch 4096 --seq 4096
  gpubench: the program needs * TiB of memory and the limit is *: checkpointing in * segments would still need * TiB; use a smaller batch or model (about * of the 4096 rows of a batch would fit) (glob)
  [70]
  $ gpubench train gpt --data nowhere
  gpubench: cannot read data from nowhere: No such file or directory
  [64]
  $ echo short > short; gpubench train gpt --data short
  gpubench: short has too little text: 6 tokens, and 10 windows of 128 and one more are needed
  [64]

Images are passed as bytes: a quarter of the memory, the same numbers.

  $ python3 -c '
  > import os, struct, zlib
  > def png(seed, n=24):
  >     rows = b"".join(b"\0" + bytes((seed * 7 + x * y + 3 * x) % 256 for x in range(3 * n)) for y in range(n))
  >     chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
  >     return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", n, n, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
  > for c in "ab":
  >     os.makedirs("pngs/" + c)
  >     for i in range(20):
  >         open(f"pngs/{c}/{i}.png", "wb").write(png(i + 50 * (c == "b")))'
  $ gpubench data pngs --size 8 -q > /dev/null 2> why || { grep 'was built without' why && exit 80; }
  $ for w in persistent u8; do gpubench train resnet20 --data pngs --batch 4 --size 16 --steps 3 --warmup 0 --augment crop --without $w --json -q > $w.json || echo $?; done
  $ python3 -c '
  > import json
  > a, b = json.load(open("persistent.json")), json.load(open("u8.json"))
  > print(a["loss"] == b["loss"], a["heldout_loss_after"] == b["heldout_loss_after"], a["data"]["batch_bytes"], b["data"]["batch_bytes"])
  > print([p["did"] for d in (a, b) for p in d["passes"] if p["name"] == "pixels"])'
  True True 3072 12288
  ['1 inputs passed as bytes, converted by the first call', 'nothing to do']

A risen held-out loss is reported as risen; it makes only a run on text void.

  $ gpubench train resnet20 --data pngs --batch 4 --size 16 --steps 3 --warmup 0 --lr 2 --quiet | grep '^held'
  held out   [0-9.]+ before, [0-9.]+ after: it did not fall (re)
