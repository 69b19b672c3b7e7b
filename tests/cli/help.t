The help of each tool lists its commands by task. Only --help --all lists commands for internal use.

  $ COLUMNS=80 gpuprobe --help
  Diagnose a deep-learning host.
  
  Usage: gpuprobe [OPTIONS] [COMMAND] [ARGUMENTS]
  
  Prints the kernel, CPUs, memory, NUMA nodes, PCIe devices and NVIDIA software of
  this host, and checks them. Failed checks form one chain: the cause first, then
  the failures that follow from it. The report gives the smallest safe fix as
  Debian commands. gpuprobe changes nothing and does not need root.
  
  Diagnose:
    check      Check this host and print its problems (default)
    explain    Explain a check, an error number or a message
    watch      Monitor GPUs and NUMA nodes and report bottlenecks
  
  Choose software:
    can        Check whether a framework, wheel, environment or image works here
    recommend  Recommend a driver and a PyTorch wheel for this host
  
  Inspect:
    topo       Show NUMA nodes, CPUs, devices and the paths between them
    loads      Show which libraries a program or Python environment loads
  
  Record and look up:
    capture    Save this host as one text file
    list       List the checks; gpuprobe explain has the details
  
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
    gpuprobe can torch==2.9
        Check whether a PyTorch release works on this host.
    gpuprobe capture host.txt
        Save this host; gpuprobe --root host.txt reads the file.
  
  See also: gpuprobe COMMAND --help, gpuprobe --help --all, man gpuprobe

  $ COLUMNS=80 gputune --help
  Tune a deep-learning host and undo the changes.
  
  Usage: gputune [OPTIONS] COMMAND [ARGUMENTS]
  
  Changes kernel, disk, network and GPU settings that help training. Each value is
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
    list       List the knobs; gputune explain has the details
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
      3  refused, nothing is changed; verify and status without root: incomplete
      4  drift: a value was changed, or will be at the next boot
      5  pending: values stay until the next boot; verify during an experiment:
         try again later
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

--all is only for --help.

  $ gpuprobe --all
  gpuprobe: --all needs --help (see 'gpuprobe check --help')
  [64]
