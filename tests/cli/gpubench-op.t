A function written in three ways agrees with its definition, forward and backward, also for odd sizes.

  $ op() { gpubench op "$@" --steps 2 --warmup 1 --json | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > e = max(d["error"], d["gradient_error"])
  > print(d["schema"], d["function"], d["way"], d["device"], d["rows"], d["cols"], 0 < e < 5e-6, d["items_per_s"] > 0)'; }
  $ for f in gelu softmax; do for w in basic-ops user-op library; do op $f --way $w --rows 37 --cols 131; done; done
  gpubench-op/1 gelu basic-ops cpu 37 131 True True
  gpubench-op/1 gelu user-op cpu 37 131 True True
  gpubench-op/1 gelu library cpu 37 131 True True
  gpubench-op/1 softmax basic-ops cpu 37 131 True True
  gpubench-op/1 softmax user-op cpu 37 131 True True
  gpubench-op/1 softmax library cpu 37 131 True True
  $ op softmax --way basic-ops --rows 1 --cols 1000; op softmax --way user-op --rows 1 --cols 1000
  gpubench-op/1 softmax basic-ops cpu 1 1000 True True
  gpubench-op/1 softmax user-op cpu 1 1000 True True
  $ gpubench op gelu --rows 8 --cols 8 --steps 2 --threads 1
  function   gelu by library, 8 x 8
  runs on    cpu, *, 1 threads (glob)
  speed      * ms per step, forward and backward; 36.* bytes per element (glob)
  memory     * planned (glob)
  error      * of the largest value, gradient *; limit 1e-05 (glob)

A wrong result is exit status 6.

  $ GPUBENCH_FAULT=verify gpubench op gelu --rows 8 --cols 8
  gpubench: gelu by library differs from its definition by 1 of the largest value, its gradient by *: the limit is 1e-05 (glob)
  [6]

Invalid arguments are refused.

  $ gpubench op sine
  gpubench: no function sine: gelu and softmax can be measured
  [64]
  $ gpubench op gelu --way best
  gpubench: --way takes one of basic-ops, user-op, library, not 'best' (see 'gpubench op --help')
  [64]
  $ gpubench op gelu --rows 2000000
  gpubench: --rows 2000000 and --cols 1024: each is at most 1048576, and their product at most 268435456
  [64]
  $ gpubench op gelu --rows 1048576 --cols 1048576
  gpubench: --rows 1048576 and --cols 1048576: each is at most 1048576, and their product at most 268435456
  [64]
  $ mkdir -p tree/proc tree/sys tree/etc; gpubench op gelu --root tree
  gpubench: measuring needs the live host and cannot be done in the root tree
  [64]

The same on a CUDA device, here the stand-in.

  $ test -e "$BUILDDIR/tests/standin/libcuda.so.1" || { echo 'the stand-in driver is not built'; exit 80; }
  $ export LD_LIBRARY_PATH=$BUILDDIR/tests/standin
  $ for f in gelu softmax; do for w in basic-ops user-op library; do op $f --way $w --rows 5 --cols 301 --device cuda; done; done
  gpubench-op/1 gelu basic-ops cuda 5 301 True True
  gpubench-op/1 gelu user-op cuda 5 301 True True
  gpubench-op/1 gelu library cuda 5 301 True True
  gpubench-op/1 softmax basic-ops cuda 5 301 True True
  gpubench-op/1 softmax user-op cuda 5 301 True True
  gpubench-op/1 softmax library cuda 5 301 True True
