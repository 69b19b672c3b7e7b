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

--all is only for --help.

  $ gpuprobe --all
  gpuprobe: --all needs --help (see 'gpuprobe check --help')
  [64]
