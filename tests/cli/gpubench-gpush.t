One script runs all jobs that need a GPU. A job that fails or crashes does not stop the others, and is reported.

  $ command -v xz > /dev/null || { echo 'there is no xz'; exit 80; }
  $ mkdir bin build build/lib
  $ cat > build/gpubench <<'END'
  > #!/bin/sh
  > echo "${LD_LIBRARY_PATH:+own libraries }$*" >> "$SEEN"
  > case "$*" in
  > *"--type f32 "*) echo 'no memory' >&2; exit 70 ;;
  > *"--type tf32 --json") kill -9 $$ ;;
  > *"--type f16 "*) echo '{"rows":[{"ok":true},{"ok":false}]}'; exit 6 ;;
  > *"--type fp8 "*) exit 0 ;;
  > *check-device*) echo "{\"rows\":[{\"ok\":true},{\"ok\":true}]}"; exit "${BF16:-0}" ;;
  > *gpu.matrix*) echo '{"metrics":[{"id":"gpu.matrix.pinned.to.gpu0-mem0","warmup":1,"samples":[9,50,52]}]}' ;;
  > *) echo '[]' ;;
  > esac
  > END
  $ printf '#!/bin/sh\nexit 9\n' > bin/nvidia-smi
  $ real=$(command -v python3)
  $ printf '#!/bin/sh\necho "${LD_LIBRARY_PATH:-none} for python" >> "$SEEN"\ntest "$1" != -c || exit 1\nexec %s "$@"\n' $real > bin/python3
  $ cp build/gpubench build/gpuprobe; chmod +x bin/* build/gpu*; tar -C build -cJf build.tar.xz .
  $ export SEEN=$PWD/seen OUT=$PWD/results GPUTUNE_BUILD=$PWD/build.tar.xz PATH=$PWD/bin:$PATH; unset LD_LIBRARY_PATH
  $ gpu() { "$TESTDIR/../bench/gpu.sh" "$@" > text; echo $?; cut -f 1,2 text | grep -v '^|'; }
  $ gpu check 2> /dev/null
  1
  check-bf16	exit 0
  check-f32	exit 70
      no memory
  check-tf32	exit 137
  check-f16	exit 6
  check-fp8	exit 0
  copies	exit 0
  torch-copies	left out: no PyTorch that sees a card
  check-ranks	exit 0
  allreduce	exit 0
  gpu.sh: 3 jobs failed, 1 were left out; results in $HOME/results
  $ grep -e 'every op against' -e 'to the GPU' -e 'communicator' results/table.md
  | copies to the GPU, pinned | link | within 3 % of PyTorch's | 52.0 GB/s | not yet measured | not yet measured |  | check |
  | every op against the CPU (`gpubench check-device`) |  | all | 3 of 4 in bf16, f16 |  |  | no | check |
  | ranks with an NCCL communicator (`--ranks 1`) |  | all | 2 of 2 |  |  | yes | check |
  $ ls results
  allreduce.json
  allreduce.log
  check-bf16.json
  check-bf16.log
  check-f16.json
  check-f16.log
  check-f32.log
  check-fp8.log
  check-ranks.json
  check-ranks.log
  check-tf32.log
  copies.json
  copies.log
  jobs.txt
  probe.json
  probe.log
  table.md
  torch.log
  version.log

The packed libraries are used by our own programs only.

  $ grep -v -e '^own libraries' seen | sort -u
  none for python

A result stays until a newer one exists, and jobs that do not fit into the time are listed.

  $ echo '{"items_per_s": 500000}' > results/ours-gpt2-b64.json; PART_S=9 gpu gpt2 | head -3
  1
  ours-gpt2-b64	left out: the ten minutes are over
  torch-gpt2-b64	left out: no PyTorch that sees a card
  $ grep -c '^| GPT-2 124M, T1024, bf16, B64 .* 500000 tok/s' results/table.md
  1
  $ sed -i 's/\*gpu.matrix\*.*/*gpu.matrix*) exit 70 ;;/' build/gpubench; tar -C build -cJf build.tar.xz .; gpu check > /dev/null 2>&1
  $ grep -c '^| copies to the GPU.* 52.0 GB/s' results/table.md; grep -c '^copies	exit' results/jobs.txt
  1
  2

Invalid JSON of a job only costs its row; errors of compute-sanitizer count with any result.

  $ echo '{"metrics": [3]}' > results/copies.json
  $ for t in bf16 f32 f16 fp8; do echo '{"rows":[{"ok":true}]}' > results/sanitizer-$t.json
  >   echo '========= ERROR SUMMARY: 0 errors' > results/sanitizer-$t.txt; done
  $ table() { python3 "$TESTDIR/../bench/gpu_table.py" results | grep -e '^| comp' -e '^| copies to'; }
  $ table; echo '========= ERROR SUMMARY: 2 errors' > results/sanitizer-f16.txt; table | tail -1
  | copies to the GPU, pinned |  |  | invalid JSON: TypeError |  |  |  |  |
  | compute-sanitizer: every op of each type |  | all | 4 of 4, 0 errors |  |  | yes | sanitizer |
  | compute-sanitizer: every op of each type |  | all | 4 of 4, 2 errors |  |  | no | sanitizer |
  $ : > results/sanitizer-f16.txt; table | tail -1
  | compute-sanitizer: every op of each type |  | all | 4 of 4, incomplete |  |  | as far as measured | sanitizer |

Jobs that need two GPUs are left out on one.

  $ gpu split 2> /dev/null | grep split
  ours-split-one	exit 0
  ours-split-tp	left out: needs two GPUs
  ours-split-sp	left out: needs two GPUs
  ours-split-pp	left out: needs two GPUs

An interrupted check counts as far as it ran.

  $ for t in f32 tf32 bf16 f16 fp8; do echo '{"rows":[{"ok":true}]}' > results/check-$t.json; done
  $ echo '{"rows":[{"ok":true}],"failure":"interrupted"}' > results/check-f16.json
  $ python3 "$TESTDIR/../bench/gpu_table.py" results | grep 'every op against'
  | every op against the CPU (`gpubench check-device`) |  | all | 5 of 5, incomplete |  |  | as far as measured | check |

A python3 that is a script prints the place of its wheels.

  $ mkdir venv; printf '#!/bin/sh\ncase "$2" in *nvidia*) echo %s ;; *) exit 1 ;; esac\n' "$PWD/venv" > bin/python3; unset VIRTUAL_ENV
  $ printf '#!/bin/sh\necho "the wheels of $VIRTUAL_ENV" >&2; exit 127\n' > build/gpubench; tar -C build -cJf build.tar.xz .
  $ "$TESTDIR/../bench/gpu.sh" check; VIRTUAL_ENV=/mine "$TESTDIR/../bench/gpu.sh" check
  gpu.sh: gpubench does not run here: the wheels of $HOME/venv
  gpu.sh: gpubench does not run here: the wheels of /mine
  [1]

A job that cannot start prints the reason.

  $ "$TESTDIR/../bench/gpu.sh" nonsense
  gpu.sh: no part nonsense: check gpt2 xl xl-loss image loss attention workloads encoders small split sanitizer all
  [1]
  $ printf '#!/bin/sh\necho no such library >&2; exit 127\n' > build/gpubench; tar -C build -cJf build.tar.xz .; "$TESTDIR/../bench/gpu.sh" check
  gpu.sh: gpubench does not run here: no such library
  [1]
