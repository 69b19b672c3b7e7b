The settings of a command. Python forks workers, so OpenMP does not bind its threads.

  $ gputune run --print --gpu 0 --root $FIXTURES/server-8gpu.host -- python3 train.py
  Profile train-gpu
    CPUs 0-15,32-47
        node 0, next to GPU 0000:17:00.0
    memory preferred from node 0
        preferred, not strict: if the node is full, another one is used
  
  Set
    OMP_NUM_THREADS=16
        one per physical core
    GOMP_SPINCOUNT=3000
        32 CPUs that other processes may use too: a thread soon sleeps if the thread that it waits for
        has lost its core
    CUDA_VISIBLE_DEVICES=0
        set by --gpu
    CUDA_DEVICE_ORDER=PCI_BUS_ID
        a GPU's number is the same as in nvidia-smi and gputune
  
  Not set
    OMP_PROC_BIND
        Python forks data-loader workers, and each would inherit a single core
    LD_LIBRARY_PATH
        no libblas.so.3 is installed
    OPENBLAS_CORETYPE
        OpenBLAS must be loaded for the answer, but this root is not live
    LD_PRELOAD
        opt-in: a profile with run.allocator = on, or --allocator
    run.malloc
        excluded by the profile
    PYTORCH_CUDA_ALLOC_CONF
        opt-in: a profile with cuda.segments = on, or --only
    NCCL_SOCKET_IFNAME
        nothing shows that the job spans several hosts
  $ LOCAL_RANK=5 LOCAL_WORLD_SIZE=8 gputune run --print --root $FIXTURES/server-8gpu.host -- python3 train.py | head -6
  Profile train-gpu
    CPUs 20-23,52-55
        rank 5 of 8: a share of node 1, next to GPU 0000:3f:00.0
    memory preferred from node 1
        preferred, not strict: if the node is full, another one is used
  

A CPU host with openblas-pthread gets the variant that shares OpenMP's threads; an allocator is optional.

  $ gputune run --print --root $FIXTURES/cpu-server.host --allocator auto --openmp
  Profile train-cpu
    CPUs 0-15
        all allowed CPUs
    memory unchanged
        the CPUs span several nodes: memory stays where it is first touched
  
  Set
    OMP_NUM_THREADS=8
        one per physical core
    OMP_PLACES=cores
        one place per physical core
    OMP_PROC_BIND=spread
        uses the memory of all nodes from the start
    LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-openmp
        libblas.so.3 is openblas-pthread; openblas-openmp shares the threads of OpenMP
    GOMP_SPINCOUNT=3000
        16 CPUs that other processes may use too: a thread soon sleeps if the thread that it waits for
        has lost its core
    LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
        keeps freed memory instead of returning it to the kernel; not tested: this root is not live;
        huge pages are always on here: it uses more memory than with madvise
  
  Not set
    OPENBLAS_CORETYPE
        OpenBLAS must be loaded for the answer, but this root is not live
    GLIBC_TUNABLES
        another allocator is preloaded
    CUDA_DEVICE_ORDER
        no GPU that CUDA can use
    PYTORCH_CUDA_ALLOC_CONF
        no GPU that CUDA can use
    NCCL_SOCKET_IFNAME
        nothing shows that the job spans several hosts
  $ OMP_NUM_THREADS=3 LD_LIBRARY_PATH=/opt/lib gputune run --print --root $FIXTURES/cpu-server.host --only omp. --only run.blas
  Profile train-cpu
    CPUs unchanged
    memory unchanged
  
  Set
    LD_LIBRARY_PATH=/opt/lib:/usr/lib/x86_64-linux-gnu/openblas-openmp
        libblas.so.3 is openblas-pthread; openblas-openmp shares the threads of OpenMP
    GOMP_SPINCOUNT=3000
        16 CPUs that other processes may use too: a thread soon sleeps if the thread that it waits for
        has lost its core
  
  Not set
    OMP_NUM_THREADS=3
        set by the user; would be 8
    OMP_PROC_BIND
        the command is unknown; set only for programs whose file names an OpenMP runtime

A command that spans nodes with a setting for commands that do not.

  $ sed '/numa_balancing$/{n;s/1/0/}' $FIXTURES/cpu-server.host >off.host
  $ gputune run --print --root off.host | sed -n '/memory/,/^$/p'
    memory unchanged
        the CPUs span several nodes: memory stays where it is first touched; kernel.numa_balancing is
        0, so pages on a wrong node stay there
  

A GPU with an unknown node: nothing is bound to a wrong one. A cpuset and a quota are respected.

  $ gputune run --print --root $FIXTURES/gpu-lost-and-narrow.host | head -8
  Profile train-gpu
    processes up to 2
        2 GPUs are visible, and the command may start a process for each. For a single process use
        --ranks 1, or --gpu for one GPU
    CPUs unchanged
        the node of GPU 0000:17:00.0 is unknown: nothing is bound, to avoid a wrong one
    memory unchanged
        nothing is bound: memory stays where it is first touched
  $ gputune run --print --root $FIXTURES/container-cpuset.host -- python3 x.py | head -8
  Profile train-gpu
    CPUs 16-19,48-51
        node 1, next to GPU 0000:17:00.0
    memory preferred from node 1
        preferred, not strict: if the node is full, another one is used
  
  Set
    OMP_NUM_THREADS=4

On this host the command replaces gputune; its exit status is returned.

  $ gputune run -- sh -c 'echo "threads ${OMP_NUM_THREADS:+set} $1"; exit 7' sh 'one word'
  threads  one word
  [7]
  $ env OMP_NUM_THREADS=9 gputune run sh -c 'echo $OMP_NUM_THREADS'
  9
  $ echo $$ >pid; sh -c 'echo $$ >pid; exec gputune run -- sh -c "echo \$\$"' | diff - pid
  $ gputune run -- env | grep HWLOC
  [1]
  $ gputune run -- no-such-program
  gputune: there is no program 'no-such-program'
  [127]
  $ gputune run -- /etc/passwd; gputune run -- /tmp; echo true >bare; chmod +x bare; gputune run -- ./bare
  gputune: cannot start /etc/passwd: its permissions do not allow its execution
  gputune: cannot start /tmp: it is a directory
  gputune: cannot start $HOME/./bare: it is neither a program for this machine nor a script that begins with #!
  [126]
  $ mkdir path; cp bare path/bare-too; chmod -x path/bare-too; PATH=$PWD/path:$PATH gputune run -- bare-too
  gputune: cannot start bare-too: its permissions do not allow its execution
  [126]
  $ gputune run
  gputune: run needs a command: gputune run -- COMMAND ARGUMENT… (or --print)
  [64]
  $ gputune run --root $FIXTURES/cpu-server.host -- true
  gputune: running a command needs the live host and cannot be done in the root */cpu-server.host (glob)
  [64]
  $ gputune run --only omp.threads --json -- true | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], [v["name"] for v in d["environment"]])'
  gputune-run/1 ['OMP_NUM_THREADS']

The same for other launchers: settings that their format cannot express are reported to the user.

  $ gputune run --root $FIXTURES/server-8gpu.host --gpu 5 --print-env shell -- python3
  gputune: warning: a shell cannot set the memory policy (preferred from node 1): start the command with gputune run
  export OMP_NUM_THREADS='16'
  export GOMP_SPINCOUNT='3000'
  export CUDA_VISIBLE_DEVICES='5'
  export CUDA_DEVICE_ORDER='PCI_BUS_ID'
  taskset -cp 16-31,48-63 $$ >/dev/null
  $ gputune run --root $FIXTURES/server-8gpu.host --gpu 5 --print-env systemd -- python3
  [Service]
  Environment="OMP_NUM_THREADS=16"
  Environment="GOMP_SPINCOUNT=3000"
  Environment="CUDA_VISIBLE_DEVICES=5"
  Environment="CUDA_DEVICE_ORDER=PCI_BUS_ID"
  LimitNOFILE=524288
  CPUAffinity=
  CPUAffinity=16-31,48-63
  NUMAPolicy=preferred
  NUMAMask=
  NUMAMask=1
  $ for odd in $(printf '\377') $(printf '\r'); do
  > LD_LIBRARY_PATH=/opt/$odd gputune run --root $FIXTURES/cpu-server.host --only run.blas --print-env systemd -- python3; echo $?
  > done
  gputune: LD_LIBRARY_PATH contains a carriage return or bytes that are not UTF-8, which systemd refuses: unset it first
  64
  gputune: LD_LIBRARY_PATH contains a carriage return or bytes that are not UTF-8, which systemd refuses: unset it first
  64
  $ gputune run --root $FIXTURES/server-8gpu.host --gpu 5 --print-env slurm -- python3
  gputune: warning: a TaskProlog cannot bind: let srun start gputune run, or use --cpu-bind and --mem-bind
  export OMP_NUM_THREADS=16
  export GOMP_SPINCOUNT=3000
  export CUDA_VISIBLE_DEVICES=5
  export CUDA_DEVICE_ORDER=PCI_BUS_ID
  $ CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=4 NCCL_DEBUG=INFO gputune run --root $FIXTURES/server-8gpu.host --print-env systemd -- python3
  gputune: warning: NCCL_DEBUG=INFO is left out: set by the user: NCCL logs hundreds of lines per rank: for debugging only
  [Service]
  Environment="OMP_NUM_THREADS=4"
  Environment="GOMP_SPINCOUNT=3000"
  Environment="CUDA_VISIBLE_DEVICES=5"
  Environment="CUDA_DEVICE_ORDER=PCI_BUS_ID"
  LimitNOFILE=524288
  CPUAffinity=
  CPUAffinity=16-31,48-63
  NUMAPolicy=preferred
  NUMAMask=
  NUMAMask=1
  $ CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=4 gputune run --root $FIXTURES/server-8gpu.host --print-env docker --skip run.files -- python3
  gputune: warning: --cpuset-mems is strict, so that a full node would end the job: memory stays where it is first touched, which is node 1 for these CPUs
  --env
  OMP_NUM_THREADS=4
  --env
  GOMP_SPINCOUNT=3000
  --env
  CUDA_VISIBLE_DEVICES=5
  --env
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  --cpuset-cpus
  16-31,48-63
  $ LD_LIBRARY_PATH="/opt/my libs" gputune run --root $FIXTURES/cpu-server.host --print-env docker -- python3
  gputune: warning: LD_LIBRARY_PATH is left out: it names files of this host, which the image may lack
  --env
  OMP_NUM_THREADS=8
  --env
  GOMP_SPINCOUNT=3000
  --env
  GLIBC_TUNABLES=glibc.malloc.mmap_threshold=17179869184:glibc.malloc.trim_threshold=68719476736:glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1
  --ulimit
  nofile=524288
  --cpuset-cpus
  0-15
  $ gputune run --root $FIXTURES/cpu-server.host --allocator auto --print-env docker -- python3
  gputune: --allocator preloads a library of this host, which an image may not have: install it in the image and set LD_PRELOAD there
  [64]
  $ NCCL_ALGO='^Tree Ring' OMP_NUM_THREADS='4 2' gputune run --root $FIXTURES/cpu-server.host --print-env docker -- python3
  gputune: OMP_NUM_THREADS contains blanks or one of *?[, which the shell would split in docker run $(…): call this with env -u OMP_NUM_THREADS, and docker run with --env OMP_NUM_THREADS
  [64]
  $ LD_LIBRARY_PATH=$(printf '/a\n/b') gputune run --root $FIXTURES/cpu-server.host --only run.blas --print-env shell -- python3
  export LD_LIBRARY_PATH='/a
  /b:/usr/lib/x86_64-linux-gnu/openblas-openmp'
  $ LD_LIBRARY_PATH=$(printf '/a\n/b') gputune run --root $FIXTURES/cpu-server.host --only run.blas --print-env systemd -- python3
  gputune: LD_LIBRARY_PATH contains a line break, which the form systemd cannot represent: unset it first
  [64]
  $ TOKEN='x y' gputune run --only run.leftovers --print-env shell; gputune run --print-env shell --json
  gputune: --print-env and --json exclude each other
  [64]
  $ eval "$(gputune run --only omp.threads --print-env shell)" && echo "${OMP_NUM_THREADS:+set}"
  set

Several ranks: the variables of torch.distributed, a share of the CPUs each, and the first failure ends the others.

  $ gputune run --ranks 2 --only omp.threads -- sh -c 'echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR ${MASTER_PORT:+port} ${OMP_NUM_THREADS:+threads}' | sort
  0 0 2 2 127.0.0.1 port threads
  1 1 2 2 127.0.0.1 port threads
  $ gputune run --ranks 1 -- sh -c 'echo $RANK of $WORLD_SIZE; exit 3'
  0 of 1
  [3]
  $ gputune run --ranks 3 -- sh -c 'test $RANK = 1 && exit 9; exec sleep 100'
  gputune: warning: rank 1 ended with status 9: ending the others
  [9]
  $ gputune run --ranks 2 -- sh -c 'test $RANK = 1 && kill -9 $$; exec sleep 100'
  gputune: warning: rank 1 ended with status 137: ending the others
  [137]
  $ gputune run --root $FIXTURES/server-8gpu.host --ranks 2 --print --only run. -- python3 x.py
  Rank 0 of 2
  Profile train-gpu
    CPUs 0-7,32-39
        rank 0 of 2: a share of node 0, next to GPU 0000:17:00.0
    memory preferred from node 0
        preferred, not strict: if the node is full, another one is used
  
  Not set
    LD_LIBRARY_PATH
        no libblas.so.3 is installed
    OPENBLAS_CORETYPE
        OpenBLAS must be loaded for the answer, but this root is not live
    LD_PRELOAD
        opt-in: a profile with run.allocator = on, or --allocator
    run.malloc
        excluded by the profile
  
  Rank 1 of 2
  Profile train-gpu
    CPUs 8-15,40-47
        rank 1 of 2: a share of node 0, next to GPU 0000:1f:00.0
    memory preferred from node 0
        preferred, not strict: if the node is full, another one is used
  
  Not set
    LD_LIBRARY_PATH
        no libblas.so.3 is installed
    OPENBLAS_CORETYPE
        OpenBLAS must be loaded for the answer, but this root is not live
    LD_PRELOAD
        opt-in: a profile with run.allocator = on, or --allocator
    run.malloc
        excluded by the profile
  $ gputune run --root $FIXTURES/server-8gpu.host --ranks 2 --json -- python3 x.py | python3 -c 'import json, sys; print([r["cpus"]["list"] for r in json.load(sys.stdin)["ranks"]])'
  ['0-7,32-39', '8-15,40-47']
  $ gputune run --ranks 5000 -- true
  gputune: --ranks takes 1 to 1024
  [64]
  $ env -u OMP_NUM_THREADS gputune run --root $FIXTURES/server-8gpu.host --gpu 0 --workers 6 --print -- python3 x.py | grep -A1 NUM_THREADS
    OMP_NUM_THREADS=10
        one per physical core, less 6 for its loader workers
  $ gputune run --workers 2000 -- true
  gputune: --workers takes 0 to 1024
  [64]
  $ gputune run --ranks 2 --print-env shell
  gputune: --print-env prints one environment; --ranks has one per rank
  [64]
  $ gputune run --gpu 'x y' -- true
  gputune: --gpu takes auto or a list as CUDA_VISIBLE_DEVICES does, not 'x y'
  [64]

--gpu is applied with any other options, and uses nvidia-smi's numbers.

  $ gputune run --print --root $FIXTURES/server-8gpu.host --skip cuda. --gpu 5 -- python3 x.py | grep -A1 -e '^  CPUs' -e CUDA_VIS
    CPUs 16-31,48-63
        node 1, next to GPU 0000:3f:00.0
  --
    CUDA_VISIBLE_DEVICES=5
        set by --gpu
  $ CUDA_VISIBLE_DEVICES=2 env -u OMP_NUM_THREADS gputune run --print --root $FIXTURES/server-8gpu.host --only omp.threads --gpu 5 -- python3 x.py
  Profile train-gpu
    CPUs unchanged
    memory unchanged
  
  Set
    OMP_NUM_THREADS=32
        one per physical core
    CUDA_VISIBLE_DEVICES=5
        set by --gpu, instead of the user's 2

The number of mpirun's ranks depends on its slots: nothing is guessed.

  $ unset OMP_NUM_THREADS; gputune run --print --root $FIXTURES/server-8gpu.host --only omp.threads --only run.affinity -- mpirun ./train
  Profile train-gpu
    processes unknown
        mpirun: the number of ranks on this host is unknown: give it by the launcher's option, or let
        the launcher start gputune run
    CPUs unchanged
        it starts the ranks itself, so nothing is bound here; to bind each rank to its GPU, let it
        start gputune run (torchrun --no-python … gputune run -- python3 …)
    memory unchanged
  
  Not set
    OMP_NUM_THREADS
        the number of ranks on this host is unknown: give it by the launcher's option, or let the
        launcher start gputune run
  $ gputune run --print --root $FIXTURES/server-8gpu.host --only omp.threads -- torchrun --nproc-per-node=gpu train.py -n 1000 | grep -A1 OMP
    OMP_NUM_THREADS=4
        32 cores divided by the 8 ranks that it starts

An unknown command may start a process for each visible GPU, so threads are limited accordingly. The command behind wrappers
such as env and nohup is found.

  $ for command in 'uv run train.py' 'bash train.sh' 'nohup env A=b torchrun --nproc-per-node 4 x.py' 'uv run torchrun --nproc-per-node 16 x.py' 'env CUDA_VISIBLE_DEVICES=5 vllm serve'; do
  > gputune run --print --root $FIXTURES/server-8gpu.host --only omp.threads -- $command | grep -A2 -e processes -e NUM_THREADS
  > done
    processes up to 8
        8 GPUs are visible, and uv may start a process for each. For a single process use --ranks 1,
        or --gpu for one GPU
  --
    OMP_NUM_THREADS=4
        32 cores for 8 visible GPUs: the command may start a process for each
    processes up to 8
        8 GPUs are visible, and bash may start a process for each. For a single process use --ranks 1,
        or --gpu for one GPU
  --
    OMP_NUM_THREADS=4
        32 cores for 8 visible GPUs: the command may start a process for each
    processes 4
        torchrun starts 4 on this host
    CPUs unchanged
  --
    OMP_NUM_THREADS=8
        32 cores divided by the 4 ranks that it starts
    processes 16
        torchrun starts 16 on this host
    CPUs unchanged
  --
    OMP_NUM_THREADS=2
        32 cores divided by the 16 ranks that it starts
    OMP_NUM_THREADS=32
        one per physical core
  

--gpu is parsed like CUDA_VISIBLE_DEVICES: a list in whose middle CUDA would silently stop is refused.

  $ gputune run --print --root $FIXTURES/server-8gpu.host --gpu 0,8 -- true
  gputune: --gpu 0,8 names '8', which this host does not have: CUDA would show fewer GPUs than that
  [64]
  $ gputune run --print --root $FIXTURES/server-8gpu.host --gpu 1,1 -- true
  gputune: --gpu 1,1 names '1', which is listed twice, so that CUDA sees no GPU: CUDA would show fewer GPUs than that
  [64]
  $ gputune run --print --root $FIXTURES/server-8gpu.host --gpu 0,GPU-1 -- true
  gputune: --gpu 0,GPU-1 names 'GPU-1', which is not the number of a GPU: CUDA would show fewer GPUs than that
  [64]
  $ gputune run --print --root $FIXTURES/server-8gpu.host --gpu MIG-GPU-12/1 -- true
  gputune: --gpu MIG-GPU-12/1 names 'MIG-GPU-12/1', which lacks /GPU INSTANCE/COMPUTE INSTANCE: CUDA would show fewer GPUs than that
  [64]
