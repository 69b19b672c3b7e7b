What a command would be started with. Python forks workers, so its threads are not bound by OpenMP.

  $ gputune run --print --root $FIXTURES/server-8gpu.host -- python3 train.py
  Profile train-gpu
    CPUs 0-15,32-47
        node 0, next to GPU 0000:17:00.0
    memory preferred from node 0
        preferred, not strict: a full node falls back to another instead of failing
  
  Set
    OMP_NUM_THREADS=16
        one per physical core
  
  Left as it is
    OMP_PROC_BIND
        Python forks data-loader workers, and each would inherit one single core
    LD_LIBRARY_PATH
        no libblas.so.3 is installed
    LD_PRELOAD
        by choice only: a profile with run.allocator = on, or --allocator
    run.malloc
        the profile leaves it alone
  $ LOCAL_RANK=5 LOCAL_WORLD_SIZE=8 gputune run --print --root $FIXTURES/server-8gpu.host -- python3 train.py | head -6
  Profile train-gpu
    CPUs 20-23,52-55
        rank 5 of 8: a share of node 1, next to GPU 0000:3f:00.0
    memory preferred from node 1
        preferred, not strict: a full node falls back to another instead of failing
  

A CPU host with openblas-pthread gets the one that shares OpenMP's threads; an allocator by choice.

  $ gputune run --print --root $FIXTURES/cpu-server.host --allocator auto --openmp
  Profile train-cpu
    CPUs 0-15
        all that are allowed
    memory as it is
        the CPUs span several nodes: memory stays where it is first touched
  
  Set
    OMP_NUM_THREADS=8
        one per physical core
    OMP_PLACES=cores
        one place per physical core
    OMP_PROC_BIND=spread
        all nodes' memory is used from the start
    LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-openmp
        libblas.so.3 is openblas-pthread; openblas-openmp shares the threads of OpenMP
    LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
        keeps freed memory instead of giving it back to the kernel; not tried: this root is not live
  
  Left as it is
    GLIBC_TUNABLES
        another allocator is preloaded
  $ OMP_NUM_THREADS=3 LD_LIBRARY_PATH=/opt/lib gputune run --print --root $FIXTURES/cpu-server.host --only omp. --only run.blas
  Profile train-cpu
    CPUs as they are
    memory as it is
  
  Set
    LD_LIBRARY_PATH=/opt/lib:/usr/lib/x86_64-linux-gnu/openblas-openmp
        libblas.so.3 is openblas-pthread; openblas-openmp shares the threads of OpenMP
  
  Left as it is
    OMP_NUM_THREADS=3
        set by the user; would be 8
    OMP_PROC_BIND
        the command is not known; set only for programs that name an OpenMP runtime

A GPU whose node is not known: nothing is bound to a wrong one. A cpuset and a quota are respected.

  $ gputune run --print --root $FIXTURES/gpu-lost-and-narrow.host | head -5
  Profile train-gpu
    CPUs as they are
        the node of GPU 0000:17:00.0 is not known: nothing is bound, rather than to a wrong one
    memory as it is
        nothing is bound: memory stays where it is first touched
  $ gputune run --print --root $FIXTURES/container-cpuset.host -- python3 x.py | head -8
  Profile train-gpu
    CPUs 16-19,48-51
        node 1, next to GPU 0000:17:00.0
    memory preferred from node 1
        preferred, not strict: a full node falls back to another instead of failing
  
  Set
    OMP_NUM_THREADS=4

On this host the command takes our place; its exit status is its own.

  $ gputune run -- sh -c 'echo "threads ${OMP_NUM_THREADS:+set} $1"; exit 7' sh 'one word'
  threads set one word
  [7]
  $ env OMP_NUM_THREADS=9 gputune run sh -c 'echo $OMP_NUM_THREADS'
  9
  $ echo $$ >pid; sh -c 'echo $$ >pid; exec gputune run -- sh -c "echo \$\$"' | diff - pid
  $ gputune run -- env | grep HWLOC
  [1]
  $ gputune run -- no-such-program
  gputune: there is no program 'no-such-program'
  [127]
  $ gputune run -- /etc/passwd
  gputune: there is no program '/etc/passwd'
  [127]
  $ gputune run
  gputune: run needs a command: gputune run -- COMMAND ARGUMENT… (or --print)
  [64]
  $ gputune run --root $FIXTURES/cpu-server.host -- true
  gputune: running a command needs the live host; it cannot be done in the root */cpu-server.host (glob)
  [64]
  $ gputune run --only omp.threads --json -- true | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], [v["name"] for v in d["environment"]])'
  gputune-run/1 ['OMP_NUM_THREADS']
