Arguments of PyTorch's DataLoader are raced without a change of the script. Both arms load the module that measures the time of
fetching, and the report has it before and after. Here a script stands for PyTorch; tests/peers/loader_option.py has the real one.

  $ set -o pipefail; calm() { grep -vE '^note: .*other programs use the CPUs'; }
  $ cat > train.sh <<'END'
  > case "$PYTHONPATH" in */tune/python:own) ;; *) exit 3;; esac
  > awk -v n="${GPUTUNE_LOADER_WORKERS:-0}" -v seed="$RANDOM$$" 'BEGIN { srand(seed); s[0] = 1; s[1] = .9; s[2] = .6; s[4] = .7
  >   for (i = 0; i < 9; i++) printf "t %.7f\n", .1 * s[n] * (1 + .002 * (rand() - .5))
  >   printf "gputune: DataLoader with %d workers: the main thread waited %.2f of 2.00 s (%d %%) for 9 batches\n", n, 1.6 * s[n] ^ 4, 0 }' >&2
  > END
  $ PYTHONPATH=own gpubench prove --quick --quiet --metric 'regex:t ([0-9.]+)' --unit s --race loader.workers=0,1,2,4 --seed 3 \
  > -o loader.json --receipt loader-receipt.json -- bash train.sh | calm | tr '\n' ' ' | grep -oE 'race of.*proved above|to use it.*CMD|waiting for.*after|PROVED: 1 of 1'
  race of env.GPUTUNE_LOADER_WORKERS: 1 *, 2 *, 4 *; 2 is proved above (glob)
  to use it: gputune run --loader workers=2 -- CMD
  waiting for batches of DataLoader: 80 % of the time before, 10 % after
  PROVED: 1 of 1
  $ python3 -c 'import json; d = json.load(open("loader-receipt.json")); print(d["fetch"], d["races"][0]["loader_option"])'
  {'before': 0.8, 'after': 0.105} workers=2
  $ gpubench prove --race loader.workers=1,2 -- python3 -I train.py
  gpubench: --loader has no effect: python ignores sitecustomize or PYTHONPATH because of -I
  [64]
  $ gpubench prove --race loader.workers=1,2
  gpubench: loader.* needs a command that uses DataLoader: -- CMD
  [64]
  $ gpubench prove --race loader.workers=1,x -- python3 train.py
  gpubench: --loader takes auto, measure, or a list of workers=0 to 1024, prefetch=1 to 1024 and pin=on|off, not 'workers=x'
  [64]
  $ gpubench prove --race loader.threads=1,2 -- python3 train.py
  gpubench: --race loader.threads=1,2: it is neither a knob of gputune (see gputune list), env.NAME nor loader.workers
  [64]
