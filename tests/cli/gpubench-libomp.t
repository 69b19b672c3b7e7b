The same program with LLVM's OpenMP runtime: the same numbers, and its own variable limits the spinning.

  $ omp=$(ldconfig -p 2> /dev/null | sed -n 's/.*libomp\.so\.5 .*=> //p' | head -1); [ -e "$omp" ] || { echo 'there is no libomp.so.5 here'; exit 80; }
  $ if ldd $(command -v gpubench) | grep -q -e libasan -e libtsan; then echo 'a sanitizer has to be loaded first'; exit 80; fi
  $ train() { gpubench train gpt --batch 2 --seq 32 --layers 1 --steps 4 --threads 2 --quiet "$@"; }
  $ train --json > gomp.json; LD_PRELOAD=$omp train --json > omp.json
  $ python3 -c 'import json; a, b = (json.load(open(f)) for f in ("gomp.json", "omp.json")); print(a["loss"] == b["loss"], a["threads"], b["threads"]); print(a["spin"]); print(b["spin"])'
  True 2 2
  bounded to 1000 rounds by gpubench
  bounded to 1 ms by gpubench, for libomp
  $ LD_PRELOAD=$omp train --ranks 2 --json > ranks.json; train --ranks 2 --json > gomp.json
  $ python3 -c 'import json; a, b = (json.load(open(f)) for f in ("gomp.json", "ranks.json")); print(a["loss"] == b["loss"])'
  True

The user's variable for the loaded runtime is kept; the other runtime's variable has no effect.

  $ LD_PRELOAD=$omp KMP_BLOCKTIME=7 train | grep spinning
  spinning   set by KMP_BLOCKTIME=7
  $ LD_PRELOAD=$omp GOMP_SPINCOUNT=7 train | grep spinning
  spinning   bounded to 1 ms by gpubench, for libomp
  $ KMP_BLOCKTIME=7 train | grep spinning
  spinning   bounded to 1000 rounds by gpubench
