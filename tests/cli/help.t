The help of each tool lists its commands by task. Only --help --all lists commands for internal use.

  $ COLUMNS=80 gpuprobe --help
  Diagnose a deep-learning host.
  
  Usage: gpuprobe [OPTIONS] [COMMAND] [ARGUMENTS]
  
  Prints the kernel, CPUs, memory, NUMA nodes, PCIe devices and NVIDIA software of
  this host, and checks them. Failed checks form one chain: the cause first, then
  the failures that follow from it. The report gives the smallest safe fix as
  commands of the host's distribution. gpuprobe changes nothing and does not need
  root.
  
  Diagnose:
    check    Check this host and print its problems (default)
    explain  Explain a check, an error number or a message
    watch    Monitor GPUs and NUMA nodes and report bottlenecks
    fleet    Find the hosts whose reports differ from those of the same hardware
  
  Choose software:
    can      Check whether a framework, wheel, environment or image works here
  
  Inspect:
    topo     Show NUMA nodes, CPUs, devices and the paths between them
    loads    Show which libraries a program or Python environment loads
  
  Record and look up:
    capture  Save this host as one text file
    list     List the checks, or explain one of them
  
  Options of the default command:
        --require-gpu    report a missing NVIDIA GPU as critical
    -f, --format FORMAT  print text, json, line (monitoring), markdown or
                         openmetrics (default: text)
    -o, --output FILE    write the report to FILE; needs a format other than text
        --baseline FILE  compare with a capture, a report or expectations in FILE
        --allow PATH     accept differences from the baseline at PATH (repeatable)
        --cuda           also start CUDA in a child process and report the result
        --data DIR       also check the disk that holds the data set DIR
        --no-nvml        do not query the NVIDIA driver (NVML)
        --nvml-timeout SECONDS
                         stop waiting for the driver after SECONDS (default: 10)
  
  Common options:
        --root DIR|FILE  read a directory or captured host instead of this host
        --json           print the result as JSON
    -q, --quiet          print results and errors only
    -v, --verbose        print more details; -vv adds debug messages
        --no-color       print without colours, like NO_COLOR in the environment
    -h, --help           print help; with --all, rare commands and options too
    -V, --version        print the version
  
  Exit status:
      0  no problem found, also without an NVIDIA GPU unless --require-gpu is
         given
      1  at least one warning
      2  at least one critical problem
      3  unknown: a value cannot be read, or an error number has no entry
     64  invalid command line or input file
     70  system error, such as a missing device or too little memory
  
  Examples:
    gpuprobe
        Check this host and print the first problem to fix.
    gpuprobe --json | jq .cause
        Print only the cause, for monitoring.
    gpuprobe can
        Print the commands for the driver and PyTorch wheel that fit this host.
    gpuprobe can torch==2.9
        Check whether a PyTorch release works on this host.
    gpuprobe capture host.txt
        Save this host; gpuprobe --root host.txt reads the file.
    gpuprobe fleet *.json
        Find the hosts whose reports differ from those of the same hardware.
  
  See also: gpuprobe COMMAND --help, gpuprobe --help --all, man gpuprobe

  $ COLUMNS=80 gputune --help
  Tune a deep-learning host and undo the changes.
  
  Usage: gputune [OPTIONS] COMMAND [ARGUMENTS]
  
  Changes kernel, CPU, disk and network settings that help training. Each value is
  derived from this host and is shown with its reason and its risk. The journal
  stores the old value before a new one is written: gputune revert restores it,
  also after a crash. No process stays in the background.
  
  Tune this host:
    plan       Show which settings would change, and why
    apply      Apply a saved plan, or the plan that gputune plan shows
    verify     Check that applied settings are in force and survive a reboot
    revert     Restore the values from before apply
    status     Show what is applied, since when and by whom
    history    List what was applied and reverted, and when
    recover    Roll back a transaction that was interrupted
  
  Run and install:
    run        Start a command with suitable CPUs, threads and libraries
    provision  Install missing packages for training, and remove them again
  
  Look up:
    explain    Explain a knob: reason, risk and state on this host
    list       List the knobs, or explain one of them
    lint       Find dead, harmful and contradictory lines in configuration files
  
  Common options:
        --root DIR|FILE  read a directory or captured host instead of this host
        --json           print the result as JSON
    -q, --quiet          print results and errors only
    -v, --verbose        print more details; -vv adds debug messages
        --no-color       print without colours, like NO_COLOR in the environment
    -h, --help           print help; with --all, rare commands and options too
    -V, --version        print the version
  
  Exit status:
      0  done, or nothing to do
      1  failed; all changes are rolled back
      3  refused, nothing is changed; apply: a setting cannot be read; verify and
         status without root: incomplete
      4  drift: a value was changed, or will be at the next boot
      5  pending: values stay until the next boot, or verify ran during an
         experiment of gpubench; try again later
      6  a transaction was interrupted; run gputune recover
    126  run: the command cannot be started
    127  run: the command does not exist
     64  invalid command line or input file
     70  system error, such as a missing device or too little memory
  
  Examples:
    gputune plan
        Show what would change on this host, and why.
    gputune plan -o p.json && gputune apply p.json
        Review a plan, then apply exactly this plan.
    gputune apply --persist
        Apply the settings and keep them after a reboot.
    gputune verify
        Check that the settings are still in force, for monitoring.
    gputune revert
        Restore the values from before apply.
    gputune run -- python3 train.py
        Start a program with suitable CPUs, threads and libraries.
  
  See also: gputune COMMAND --help, gputune --help --all, man gputune

  $ COLUMNS=80 gpubench --help
  Measure a deep-learning host before and after a change.
  
  Usage: gpubench [OPTIONS] COMMAND [ARGUMENTS]
  
  Runs workloads in fresh processes, in randomised pairs before and after a
  change. Each metric gets a verdict with a confidence interval: better, worse,
  same, or inconclusive with the number of pairs still needed. The settings of the
  host are restored, also after an interruption.
  
  Measure a change:
    run            Measure this host or a command, also before and after a change
    prove          Find the changes that help on this host, and write a receipt
    compare        Compare two saved results and list the differing settings
    report         Show a saved result as a table, a page or metrics
  
  Train and infer:
    train          Train one model and print its speed
    infer          Measure latency and throughput of inference by batch size
    ladder         Measure what each training technique gains on this host
    data           Measure the data loader and find unusable samples
    plan-parallel  Predict which split among ranks fits the memory and is fastest
  
  Many results:
    fleet          Find the hosts that differ from the others, and why
    history        Find when this host became faster or slower, and why
  
  Look up:
    list           List the workloads, or describe one of them
  
  Common options:
        --root DIR|FILE  read a directory or captured host instead of this host
        --json           print the result as JSON
    -q, --quiet          print results and errors only
    -v, --verbose        print more details; -vv adds debug messages
        --no-color       print without colours, like NO_COLOR in the environment
    -h, --help           print help; with --all, rare commands and options too
    -V, --version        print the version
  
  Exit status:
      0  measured; no primary or guard metric got worse
      1  a primary or guard metric got worse
      3  a metric is inconclusive and --require-conclusive is set, or launches
         with the change gave no result
      4  results of different hosts, suites or workload definitions
      5  invalid session: two runs without a change differed, settings changed, or
         the session was interrupted
      6  a workload computed a wrong result, or the self-test failed
     64  invalid command line or input file
     70  system error, such as a missing device or too little memory
  
  Examples:
    gpubench run -o before.json
        Measure this host as it is, for a later comparison.
    gpubench run --plan plan.json --quick -o result.json --html report.html
        Measure before and after a plan of gputune, then restore the host.
    gpubench prove --plan plan.json --receipt receipt.json -o session.json
        Find the changes of a plan that help on this host.
    gpubench compare before.json after.json
        Compare two saved results.
    gpubench train gpt2 --device cuda --amp bf16
        Train GPT-2 on the first GPU and print its speed.
  
  See also: gpubench COMMAND --help, gpubench --help --all, man gpubench
  $ COLUMNS=80 gpubench --help --all | sed -n '/^Internal/,/^$/p'
  Internal:
    launch         Run one workload once, in this process
    selftest       Check the error rates of the statistics by simulation
    check-device   Compare the results of the GPU with those of the CPU
    op             Measure one function that is written in three ways
  

The help of a command starts with its summary. train has options that only --help --all lists.

  $ COLUMNS=80 gpubench train --help
  Train one model and print its speed.
  
  Usage: gpubench train [OPTIONS] MODEL
  
  MODEL is gpt2 (GPT-2 124M), llama, gpt (a small GPT), bert (BERT base), vit
  (ViT-S/16), resnet20, resnet50 or mlp. Without --data, gpt trains on the licence
  texts of the host and the others on random numbers. Sizes that are not given are
  those of the model. With --ranks, --batch is per rank; mpirun, srun and torchrun
  can start the ranks instead. Exit status 6 means that the held-out loss on text
  did not fall. gpubench(1) describes data formats and launchers.
  
  Options:
        --device DEVICE     train on cpu or cuda (default: cpu)
        --ranks N           train with N processes (default: --tp times --pp)
        --threads N         use N threads per rank (default: chosen by OpenMP)
        --batch N           use N sequences or samples per step
        --seq N             use N tokens per sequence
        --steps N           time N steps
        --accum N           accumulate N batches per update
        --amp TYPE          compute matrix products in fp32, tf32, bf16, fp16 or
                            fp8 (default: fp32)
        --data PATH         train on text, token files, image directories or tar
                            shards
        --optimizer NAME    use sgd, adam, adamw or adamw8 (default: the model's)
        --lr RATE           set the learning rate (default: the model's)
        --save FILE         save a safetensors checkpoint at the end
        --resume FILE       continue from a checkpoint
        --weights DIR       start from llama or gpt2 weights in the Hugging Face
                            layout
        --save-weights DIR  save the weights in that layout at the end
        --time-ops          time every op and compare with the peak of this host
        --seed N            set the seed of parameters and batches (default: 1)
  
  Common options: --json, --quiet, --verbose; see gpubench --help
  More options: gpubench train --help --all
  $ gpubench train --help --all | grep -A2 '^Memory'
  Memory:
        --checkpoint N        store activations at N segments and recompute the
                              others

Old names of commands still work, and are not listed.

  $ gpubench --help --all | grep -cE '^  (ab|resume) '
  0
  [1]
  $ gpubench ab --help | head -n 1; gpubench resume --help | head -n 1
  Measure before and after a change; old name of gpubench run with a change.
  Continue an interrupted session; old name of gpubench run --resume FILE.

So do old names of options.

  $ gputune run --only omp.threads --root $FIXTURES/cpu-server.host --print-env shell -- python3 >one
  $ gputune run --only omp.threads --root $FIXTURES/cpu-server.host --env shell -- python3 | diff one - && echo the same
  the same
  $ gputune provision plan --gpu nonsense
  gputune: --device-id takes the PCI device id of an NVIDIA GPU in hexadecimal, as lspci -nn prints it: 10de:2330 or 2330, not 'nonsense'
  [64]
  $ gpubench compare --arm-before A --arm-after B none.json none.json
  gpubench: cannot open none.json: No such file or directory
  [64]
  $ gpubench compare --arm-before neither none.json none.json
  gpubench: --arm-before takes before or after, not 'neither'
  [64]
  $ for tool in gputune gpubench; do for c in run provision train compare; do $tool $c --help --all; done; done 2>/dev/null | grep -cE -e '--(env FORM|gpu ID|profile  )'
  0
  [1]

--all is only for --help.

  $ gpuprobe --all
  gpuprobe: --all needs --help (see 'gpuprobe check --help')
  [64]

list has a name and a summary on each line, and takes a name like explain.

  $ for tool in gpuprobe gputune gpubench; do COLUMNS=80 $tool list | awk -v tool=$tool 'length > 80 { n++ } END { print tool, n + 0 }'; done
  gpuprobe 0
  gputune 0
  gpubench 0
  $ COLUMNS=80 gputune list | sed -n '1,3p; /^[A-Z]/p'
  Applied by default:
  Applied by default:
    vm.dirty_ratio                 unwritten data (%) at which programs wait
    vm.dirty_background_ratio      unwritten data (%) at which writing starts
  Applied only with --optional, --only or a profile:
  Set for one command by gputune run:
  Checked and reported, never changed:
  Details: gputune explain NAME
  $ gpuprobe list gpu.lost >one; gpuprobe explain gpu.lost | diff one - && echo the same
  the same
  $ gputune list vm.swappiness --root $FIXTURES/cpu-server.host >one
  $ gputune explain vm.swappiness --root $FIXTURES/cpu-server.host | diff one - && echo the same
  the same
  $ gpubench list null | head -1
  null: an empty step: the harness itself
  $ gputune list nonsense
  gputune: there is no knob 'nonsense'; gputune list shows them
  [64]
