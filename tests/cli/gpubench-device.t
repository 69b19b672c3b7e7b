The GPU workloads, on a driver that runs on the CPU: each verifies its result and records the time of an empty measurement.

  $ test -e "$BUILDDIR/tests/standin/libcuda.so.1" || { echo 'the stand-in driver is not built'; exit 80; }
  $ export STANDIN_MEMORY=536870912; gpu() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin gpubench "$@"; }
  $ for w in gpu.matrix gpu.feed; do STANDIN_DEVICES=2 gpu launch $w --json > $w.json; echo $?; done
  0
  0
  $ python3 - <<'END'
  > import json
  > for w in "gpu.matrix", "gpu.feed":
  >     d = json.load(open(w + ".json"))
  >     print(d["verify"]["ok"], d["verify"]["what"], d["notes"]["null_us"] > 0)
  >     print(*sorted({m["id"].replace(w, "*").split("-")[0] + " " + m["unit"] for m in d["metrics"]}), sep=", ")
  > END
  True every byte of the last copy, and the node of its memory True
  *.pageable.from.gpu0 GB/s, *.pageable.from.gpu1 GB/s, *.pageable.to.gpu0 GB/s, *.pageable.to.gpu1 GB/s, *.pinned.from.gpu0 GB/s, *.pinned.from.gpu1 GB/s, *.pinned.to.gpu0 GB/s, *.pinned.to.gpu1 GB/s
  True the device's sum of the data equals that of a loader without threads True
  * samples/s, *.bytes GB/s

A wrong copy gives no speed.

  $ for w in gpu.matrix gpu.feed; do GPUBENCH_FAULT=verify gpu launch $w 2>&1 > /dev/null; echo $?; done
  gpubench: gpu.matrix: a copy to the GPU of 33554432 bytes returned wrong data
  6
  gpubench: gpu.feed: the device received other data than the loader read: the sums of 8 batches differ
  6

Training on the GPU is compared with the CPU before it is timed.

  $ GPUBENCH_FAULT=verify gpu launch train.gpu.mlp > /dev/null
  gpubench: train.gpu.mlp: 3 updates of a slice in fp32 end at a loss of *, and on the CPU at *: the run is void (glob)
  [6]

A host with one NUMA node says so once.

  $ STANDIN_DEVICES=2 gpu run --workload gpu.matrix --pairs 2 --quiet > text; grep -q '^gpu.matrix.pageable.from.gpu1-mem' text; echo $?
  0
  $ nodes=$(ls -d /sys/devices/system/node/node[0-9]* 2> /dev/null | wc -l); test $nodes -gt 1 && echo 1 ||
  >   tr '\n' ' ' < text | grep -c 'note: gpu.matrix: all memory is on one node, so it has one cell for each GPU and direction'
  1

Models without a causal mask train there as on the CPU, with either library's attention.

  $ small() { model=$1; shift; STANDIN_SMS=1 gpu train $model --layers 1 --width 48 --heads 3 --batch 2 --steps 2 --warmup 1 --lr 1e-3 \
  >     --json --quiet "$@" | python3 -c 'import json, sys; print("%.4f" % json.load(sys.stdin)["loss"])'; }
  $ bert() { small bert --vocab 61 --seq 17 "$@"; }; vit() { small vit --size 32 "$@"; }
  $ for m in bert vit; do test $($m) = $($m --device cuda); echo $?; done
  0
  0
  $ python3 -c 'import sys; a = [float(x) for x in sys.argv[1:]]; print(all(abs(x - a[0]) < 0.02 * a[0] for x in a))' $(bert) \
  >     $(bert --device cuda --amp bf16 --attention own) $(bert --device cuda --amp bf16 --attention cudnn)
  True

cuDNN plans with too large a workspace are counted when a shape is planned for the first time.

  $ STANDIN_SMS=1 gpu train bert --layers 1 --width 48 --heads 3 --batch 2 --seq 19 --vocab 61 --device cuda --amp bf16 --attention cudnn \
  >     --steps 2 --warmup 1 --quiet | grep ^attention
  attention  forward by cuDNN (plans of cuDNN's left out for their workspace: 1), backward by cuDNN (plans of cuDNN's left out for their workspace: 1)

A run that fills the GPU loses nothing: peaks are measured after the program is freed, or are missing with a warning.

  $ full() { STANDIN_SMS=1 STANDIN_MEMORY=110000000 gpu train mlp --device cuda --steps 2 --warmup 0 --json --quiet | python3 -c '
  > import json, sys; d = json.load(sys.stdin); print(d["planned_bytes"] > 2 ** 26, "peaks" in d, "mfu" in d, d["warnings"])'; }
  $ full; STANDIN_FAIL=cuMemAlloc:2:4 full
  True True True []
  True False False ["no memory was left to measure the GPU's peaks: no MFU"]

Batches are copied from their place, except batches in new memory and the few without training.

  $ fed() { STANDIN_SMS=1 gpu train gpt --layers 1 --width 48 --heads 3 --batch 2 --seq 16 --device cuda --steps 3 --warmup 1 --json \
  >     --quiet "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)["inputs"])'; }
  $ yes 'a text' | head -c 20000 > text.txt; fed --data text.txt; fed --data text.txt --without zero-copy
  {'direct': 8, 'copied': 16}
  {'direct': 0, 'copied': 24}
  $ STANDIN_SMS=1 gpu train mlp --batch 8 --device cuda --steps 3 --warmup 1 --json --quiet |
  >     python3 -c 'import json, sys; print(json.load(sys.stdin)["inputs"])'
  {'direct': 8, 'copied': 0}
  $ STANDIN_FAIL=cuMemHostRegister:801 fed --data text.txt
  {'direct': 0, 'copied': 24}

Gradients with a reduced-precision type are reduced between ranks in f32.

  $ python3 -c 'import sys; a, b = map(float, sys.argv[1:]); print(abs(b - a) < 0.02 * a)' $(vit --ranks 2) \
  >     $(STANDIN_DEVICES=2 vit --ranks 2 --device cuda --amp bf16)
  True

Ranks that split a model on two devices train like one rank.

  $ split() { STANDIN_DEVICES=4 STANDIN_SMS=1 gpu train gpt --layers 1 --width 48 --heads 2 --vocab 259 --seq 16 --batch 2 --steps 3 \
  >     --warmup 1 --device cuda --json --quiet "$@"; }
  $ for o in "--clip 1" "--tp 2 --clip 1" "--tp 2 --sp --clip 1"; do split $o > "split$o.json"; done
  $ split --tp 2 --ranks 4 --batch 1 --clip 1 > splitgrid.json
  $ python3 - <<'END'
  > import json
  > docs = [json.load(open(f"split{o}.json")) for o in ("--clip 1", "--tp 2 --clip 1", "--tp 2 --sp --clip 1", "grid")]
  > print([abs(d["loss"] - docs[0]["loss"]) < 1e-4 for d in docs], [d["ranks"] for d in docs], [d["parameters"] == docs[0]["parameters"] for d in docs])
  > print([d.get("groups", {}).get("tensor") for d in docs])
  > END
  [True, True, True, True] [1, 2, 2, 4] [True, True, True, True]
  [None, {'ranks': 2, 'calls': 60, 'sent_bytes': 297984.0}, {'ranks': 2, 'calls': 124, 'sent_bytes': 340992.0}, {'ranks': 2, 'calls': 60, 'sent_bytes': 148992.0}]

So do the stages of a pipeline on two devices.

  $ for o in "" "--pp 2"; do split --clip 1 --microbatches 2 $o --save "stages$o.st" > "stages$o.json"; done
  $ python3 - <<'END'
  > import json
  > one, two = (json.load(open(f"stages{o}.json")) for o in ("", "--pp 2"))
  > print(abs(one["loss"] - two["loss"]) < 1e-4, abs(one["heldout_loss_after"] - two["heldout_loss_after"]) < 1e-4, two["pipeline"]["bubble"])
  > print([(r["stage"], r["waited_s"], r["sent_bytes"]) for r in two["pipeline"]["ranks"]])
  > print(len(open("stages.st", "rb").read()) == len(open("stages--pp 2.st", "rb").read()))
  > END
  True True None
  [(0, None, 55872), (1, None, 55872)]
  True

Ranks of torchrun or srun on one host share memory, and can split a model too.

  $ started() { port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  >     for r in 0 1; do RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=$port split "$@" > started$r & done; wait; }
  $ for o in '--tp 2' '--pp 2 --microbatches 2'; do
  >     started $o --save started.st; split $o --save own.st > own
  >     python3 -c 'import json; print(*(json.load(open(f))["loss"] for f in ("started0", "own")))' | awk '{ print $1 == $2 }'
  >     cmp started.st own.st
  > done
  1
  1

The loss scale is on the device; a checkpoint contains it.

  $ half() { STANDIN_SMS=1 gpu train bert --layers 1 --width 48 --heads 3 --vocab 61 --seq 17 --batch 2 --warmup 1 --amp fp16 \
  >     --device cuda --quiet "$@" | grep -e ^scaler -e fp16; }
  $ half --steps 4 --save half.st
  scaler     gradients scaled by 65536 at the last step, 0 updates skipped
  peak here  * in fp16, * (glob)
  MFU        * % of the measured peak of products in fp16 (glob)
  $ python3 - <<'END'
  > import json, struct
  > f = open("half.st", "rb"); n, = struct.unpack("<Q", f.read(8)); m = json.loads(f.read(n))["__metadata__"]
  > print(m["step"], m["loss_scale"], m["loss_scale_held"])
  > raw = open("half.st", "rb").read(); open("low.st", "wb").write(raw.replace(b'"loss_scale":"65536"', b'"loss_scale":"1e+29"'))
  > END
  5 65536 5
  $ half --steps 2 --resume low.st | head -1
  scaler     gradients scaled by 2.5e+28 at the last step, 3 updates skipped

Without a device the message names the variable, if one is the reason.

  $ CUDA_VISIBLE_DEVICES= STANDIN_FAIL=cuInit:100 gpu launch gpu.feed
  gpubench: gpu.feed cannot run here: CUDA_VISIBLE_DEVICES="" hides every GPU from this process: unset it, or name one
  [70]
  $ CUDA_VISIBLE_DEVICES=7,0 STANDIN_FAIL=cuInit:100 gpu launch gpu.matrix
  gpubench: gpu.matrix cannot run here: CUDA_VISIBLE_DEVICES="7,0" selects no GPU: name one that gpuprobe shows, or unset it
  [70]
  $ env -u CUDA_VISIBLE_DEVICES STANDIN_DEVICES=0 LD_LIBRARY_PATH=$BUILDDIR/tests/standin gpubench launch gpu.matrix 2>&1 | tail -c 109
   is detected); no GPU is visible to this process (CUDA_VISIBLE_DEVICES, permissions, or no GPU is installed)
