Ranks that torchrun or srun start on one host share memory. RANK and WORLD_SIZE have the same effect without a launcher.

  $ free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
  $ small() { gpubench train gpt2 --seq 16 --layers 2 --width 32 --heads 2 --vocab 61 --threads 1 --warmup 0 --quiet --json "$@"; }
  $ rank() { RANK=$1 WORLD_SIZE=2 LOCAL_RANK=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port small $2 > out$1 2> err$1 || echo "rank $1: status $?"; }
  $ both() { port=$(free_port); rank 0 "$1" & rank 1 "${2-$1}" & wait; }

They train as ranks of gpubench do, with each split.

  $ for o in '--batch 2' '--batch 2 --shard 3' '--batch 4 --tp 2' '--batch 4 --pp 2 --microbatches 2'; do
  >     both "$o --steps 3"
  >     small --ranks 2 --steps 3 $o > own
  >     python3 -c 'import json; a, b = (json.load(open(f)) for f in ("out0", "own")); print(a["ranks"], a["loss"] == b["loss"], a["ddp"]["transport"] if a.get("ddp") else "")'
  >     cat out1 err0 err1
  > done
  2 True shm
  2 True shm
  2 True 
  2 True 

A rank that is killed is named by the other one.

  $ port=$(free_port)
  $ { rank 1 '--batch 2 --steps 1000000'; } > /dev/null 2>&1 & victim=$!
  $ (while ! [ -e here.st ]; do sleep 0.1; done; pkill -9 -P $victim) &
  $ rank 0 '--batch 2 --steps 1000000 --save here.st --save-every 1'
  rank 0: status 70
  $ cat err0
  gpubench: rank 0*: rank 1 has ended: its connection has ended (glob)

Ranks with different options end with one sentence.

  $ both '--batch 4 --tp 2 --steps 1' '--batch 4 --pp 2 --steps 1' | sort
  rank 0: status 64
  rank 1: status 64
  $ cat err0
  gpubench: rank 0*: rank 0 has --tp 2 and rank 1 has --tp 1: all ranks need the same options (glob)
