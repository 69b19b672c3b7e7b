Invalid command lines of every tool: one sentence on stderr, exit status 64, nothing on stdout.

  $ for tool in gpuprobe gputune gpubench; do
  >   for args in --no-such-option no-such-command --root; do
  >     $tool $args >out; echo "$? $(wc -c <out)"
  >   done
  > done
  gpuprobe: unknown option --no-such-option (see 'gpuprobe --help')
  64 0
  gpuprobe: unknown command 'no-such-command' (see 'gpuprobe --help')
  64 0
  gpuprobe: --root needs a value: DIR|FILE (see 'gpuprobe --help')
  64 0
  gputune: unknown option --no-such-option (see 'gputune --help')
  64 0
  gputune: unknown command 'no-such-command' (see 'gputune --help')
  64 0
  gputune: --root needs a value: DIR|FILE (see 'gputune --help')
  64 0
  gpubench: unknown option --no-such-option (see 'gpubench --help')
  64 0
  gpubench: unknown command 'no-such-command' (see 'gpubench --help')
  64 0
  gpubench: --root needs a value: DIR|FILE (see 'gpubench --help')
  64 0

A root that does not exist.

  $ for tool in "gpuprobe" "gputune list" "gputune plan" "gputune status"; do
  >   $tool --root nowhere >out; echo "$? $(wc -c <out)"
  > done
  gpuprobe: cannot open root nowhere: No such file or directory
  64 0
  gputune: cannot open root nowhere: No such file or directory
  64 0
  gputune: cannot open root nowhere: No such file or directory
  64 0
  gputune: cannot open root nowhere: No such file or directory
  64 0
  $ echo 'not a capture' >junk.host
  $ for tool in "gpuprobe" "gputune plan"; do $tool --root junk.host >out; echo "$? $(wc -c <out)"; done
  gpuprobe: junk.host is not a captured host: its first line is not "gpuprobe-capture/1"
  64 0
  gputune: junk.host is not a captured host: its first line is not "gpuprobe-capture/1"
  64 0

A failed write of the result is a failure.

  $ for tool in gpuprobe gputune gpubench; do $tool --version >/dev/full; echo $?; done
  gpuprobe: cannot write to standard output: No space left on device
  70
  gputune: cannot write to standard output: No space left on device
  70
  gpubench: cannot write to standard output: No space left on device
  70
  $ gpuprobe list --json >/dev/full
  gpuprobe: cannot write to standard output: No space left on device
  [70]

With a root that is not live, no vendor library is loaded, no program is started and nothing is measured.

  $ gpubench run --no-plan --quick --root $FIXTURES/vm-2cpu.host -o result.json
  gpubench: measuring needs the live host, not --root
  [64]
  $ ls
  junk.host
  out

--resume takes a file and only options that can change; --no-reboot belongs to --abandon.

  $ gpubench run --resume x.json --pairs 3
  gpubench: --resume continues the session with its own options; give only --minutes, -o, --html, --markdown, --openmetrics, --trace or --require-conclusive
  [64]
  $ gpubench prove --resume x.json --race env.X=1,2
  gpubench: --resume continues the session with its own --race and --keep-inconclusive
  [64]
  $ for command in "run --resume" "prove --resume" resume; do gpubench $command nowhere.json; echo $?; done
  gpubench: cannot read nowhere.json: No such file or directory
  64
  gpubench: cannot read nowhere.json: No such file or directory
  64
  gpubench: cannot read nowhere.json: No such file or directory
  64
  $ gpubench run --no-reboot
  gpubench: the saved session is missing: --resume FILE
  [64]

A time of 0 and paths that do not exist are refused before anything is measured.

  $ gpubench run --minutes 0 --workload sim
  gpubench: --minutes takes a number above 0, not '0' (see 'gpubench run --help')
  [64]
  $ gpubench run --timeout 0 -- true
  gpubench: --timeout takes a number above 0, not '0' (see 'gpubench run --help')
  [64]
  $ gpubench train gpt2 --data nowhere
  gpubench: cannot read data from nowhere: No such file or directory
  [64]
  $ gpubench ladder precision --model nonsense
  gpubench: no model nonsense: gpt2, llama, gpt, bert, vit, resnet20, resnet50 and mlp can be trained
  [64]
  $ gpubench ladder data --data nowhere
  gpubench: cannot read data from nowhere: No such file or directory
  [64]
  $ gpubench run --library /nowhere/x.so --workload sim
  gpubench: --library /nowhere/x.so: No such file or directory
  [64]
  $ gpubench run --workload sim -o nowhere/x.json
  gpubench: cannot create nowhere/x.json: No such file or directory
  [64]
  $ gpubench train mlp --save nowhere/x --steps 1
  gpubench: cannot create nowhere/x: No such file or directory
  [64]
  $ gpuprobe --nvml-timeout 0
  gpuprobe: --nvml-timeout takes a number above 0, not '0' (see 'gpuprobe --help')
  [64]
