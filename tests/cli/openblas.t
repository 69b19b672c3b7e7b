A child process asks OpenBLAS for its kernels, and whether it accepts better ones. Here it is a stand-in with planned
answers. The speed of this processor does not matter, so its best kernel is called BEST.

  $ test -e "$BUILDDIR/tests/standin/blas/libopenblas.so.0" || { echo 'the stand-in library is not built'; exit 80; }
  $ grep -q ' avx2 ' /proc/cpuinfo || { echo 'no processor with AVX2'; exit 80; }
  $ ! ls -d /usr/local/lib/python3*/*-packages/*.libs 2>/dev/null || { echo 'wheels for all users are installed here'; exit 80; }
  $ mkdir cache; export XDG_CACHE_HOME=$HOME/cache COLUMNS=500; unset OPENBLAS_CORETYPE VIRTUAL_ENV CONDA_PREFIX PYTHONPATH
  $ best() { sed -E "s,$BUILDDIR,BUILD,g; s,\b(SkylakeX|Haswell|Zen)\b,BEST,g; s,\((AVX-512|AVX2)\),(ITS),; s,although (AVX-512|AVX2) is,although ITS is,"; }
  $ asked() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin/blas gputune run --print --only run.blas_kernels "$@" -- true 2>&1 | best | sed 1,4d; }
  $ ! asked | grep 'not loaded' || exit 80

One that detects this processor as an old one, and uses the better kernels when told.

  $ asked
  Set
    OPENBLAS_CORETYPE=BEST
        OpenBLAS 0.3.21 does not know this processor: BUILD/tests/standin/blas/libopenblas.so.0 computes with the kernels of a Prescott (SSE); with the variable it uses these (ITS), as tested in a child process
  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin/blas gputune run --only run.blas_kernels -- sh -c 'echo $OPENBLAS_CORETYPE' | best
  BEST
  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin/blas gputune run --only run.blas_kernels --print-env shell | best
  export OPENBLAS_CORETYPE='BEST'
  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin/blas gputune run --only run.blas_kernels --print-env docker
  gputune: warning: OPENBLAS_CORETYPE is left out: it is for the OpenBLAS of this host, but the image has its own

The answer is cached for this file: a library that would crash now is not asked again. A changed file is asked again, and
every file is if the cache is not the user's own.

  $ STANDIN_CORE=crash asked | head -2
  Set
    OPENBLAS_CORETYPE=BEST
  $ sed -E 's/^[0-9a-f]{16} //' cache/gputune/openblas | best
  - Prescott 0.3.21 0
  BEST BEST 0.3.21 0
  $ stat -c %a cache/gputune/openblas
  600
  $ cp "$BUILDDIR/tests/standin/blas/libopenblas.so.0" .; other() { LD_LIBRARY_PATH=$HOME gputune run --only run.blas_kernels -- sh -c 'echo "${OPENBLAS_CORETYPE-without}"' | best; }
  $ other; touch libopenblas.so.0; STANDIN_CORE=crash other; rm libopenblas.so.0
  BEST
  without
  $ printf 'rubbish\n0123456789abcdef - toolongforacorethatanyofthemhaseverhad 1 1\n\377\376\n' >cache/gputune/openblas; asked | head -2; STANDIN_CORE=crash asked | head -2
  Set
    OPENBLAS_CORETYPE=BEST
  Set
    OPENBLAS_CORETYPE=BEST
  $ rm -r cache/gputune; ln -s /nowhere cache/gputune; asked | head -2; rm cache/gputune
  Set
    OPENBLAS_CORETYPE=BEST

From here on nothing is cached.

  $ export XDG_CACHE_HOME=/nowhere/at/all

The user's variable counts. A library that detects the processor is left unchanged, and so is one that ignores the variable
or has only one kernel.

  $ OPENBLAS_CORETYPE=Nehalem asked
  Not set
    OPENBLAS_CORETYPE=Nehalem
        set by the user
  $ STANDIN_CORE=Haswell asked | sed 's/BEST/one that is new enough/'
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 computes with the kernels of a one that is new enough
  $ STANDIN_CORE=Zen6 asked
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 computes with the kernels of a Zen6
  $ STANDIN_CORE='STUBBORN Barcelona' asked
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 computes with the kernels of a Barcelona, and the variable selects no better ones
  $ STANDIN_CORE='ONE Prescott' asked
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 is built for one processor, Prescott, so there is no choice
  $ asked --root $FIXTURES/newer-than-openblas.host
  Not set
    OPENBLAS_CORETYPE
        OpenBLAS must be loaded for the answer, but this root is not live
  $ asked --root $FIXTURES/arm-server.host
  Not set
    OPENBLAS_CORETYPE
        old kernels of OpenBLAS are known for x86-64 only

The command is started for any answer of a library.

  $ for how in hang crash exit null nothing rubbish endless; do echo "$how:"; STANDIN_CORE=$how asked; done
  hang:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 does not finish loading within 5 s
  crash:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 crashes the program that loads it (status 139)
  exit:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 does not report its kernels
  null:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 does not report its kernels
  nothing:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 does not report its kernels
  rubbish:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 does not report its kernels
  endless:
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 does not report its kernels
  $ mkdir empty none; : >empty/libopenblas.so.0; cp "$BUILDDIR/tests/standin/libnvidia-ml.so.1" none/libopenblas.so.0
  $ LD_LIBRARY_PATH=$HOME/empty gputune run --print --only run.blas_kernels -- true | tail -1
        $HOME/empty/libopenblas.so.0 cannot be loaded
  $ LD_LIBRARY_PATH=$HOME/none gputune run --print --only run.blas_kernels -- true | tail -1
        $HOME/none/libopenblas.so.0 is not an OpenBLAS that reports its kernels

A wheel's copy reads the same variable. One that detects the processor would lose; one that does not, gains too.

  $ mkdir -p venv/bin venv/lib/python3.11/site-packages/numpy.libs; ln -s /usr/bin/python3 venv/bin/python3
  $ cp "$BUILDDIR/tests/standin/blas/libscipy_openblas64_.so" venv/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-0f.so
  $ wheel() { STANDIN_WHEEL=$1 LD_LIBRARY_PATH=$BUILDDIR/tests/standin/blas gputune run --print --only run.blas_kernels -- venv/bin/python3 train.py |
  >   best | sed 1,4d; }
  $ wheel SapphireRapids
  Not set
    OPENBLAS_CORETYPE
        BUILD/tests/standin/blas/libopenblas.so.0 computes with the kernels of a Prescott, but the variable applies to all copies: $HOME/venv/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-0f.so selects those of a SapphireRapids by itself
  $ wheel Prescott | head -2
  Set
    OPENBLAS_CORETYPE=BEST
  $ wheel 'STUBBORN Prescott'
  Not set
    OPENBLAS_CORETYPE
        $HOME/venv/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-0f.so computes with the kernels of a Prescott, and the variable selects no better ones
  $ wheel hang
  Not set
    OPENBLAS_CORETYPE
        $HOME/venv/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-0f.so does not finish loading within 5 s

gpuprobe reports it for any host, and a capture stores the answer.

  $ probe() { gpuprobe "$@" --verbose | best | grep -E '^ *host.blas-kernels +(warn|skip|pass)'; }
  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin/blas gpuprobe capture old.host; grep -A12 '^file /.facts/openblas' old.host | best | head -8; probe --root old.host
  file /.facts/openblas
  	[
  	  {
  	    "path": "BUILD/tests/standin/blas/libopenblas.so.0",
  	    "core": "Prescott",
  	    "version": "0.3.21",
  	    "one_target": false,
  	    "takes": "BEST",
  host.blas-kernels    warn   OpenBLAS 0.3.21 does not know this processor: BUILD/tests/standin/blas/libopenblas.so.0 uses the kernels of a Prescott (SSE), although ITS is available
  $ gpuprobe --json --root $FIXTURES/newer-than-openblas.host | grep -A9 '"openblas"'
      "openblas": [
        {
          "path": "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblasp-r0.3.21.so",
          "core": "Prescott",
          "version": "0.3.21",
          "one_target": false,
          "takes": "SkylakeX",
          "why": null
        }
      ],
  $ COLUMNS=100 gpuprobe --root $FIXTURES/newer-than-openblas.host
  WARNING: OpenBLAS 0.3.21 does not know this processor [host.blas-kernels]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up processor of 2024: 4 cores, 8 CPUs, 1 NUMA node, 32.0 GiB of memory
    no NVIDIA GPU
  
  Warning: host.blas-kernels
    OpenBLAS 0.3.21 does not know this processor:
    /usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblasp-r0.3.21.so uses the kernels of a Prescott
    (SSE), although AVX-512 is available
    Remedy:
      For one program: start it with gputune run, or
        export OPENBLAS_CORETYPE=SkylakeX
      For all, until OpenBLAS is newer (0.3.25 fixed this; Debian 13 has 0.3.29):
        echo OPENBLAS_CORETYPE=SkylakeX >>/etc/environment
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  [1]
  $ sed 's/"takes": "SkylakeX"/"takes": null/' $FIXTURES/newer-than-openblas.host >stubborn.host; gpuprobe --root stubborn.host | sed -n '/^\(Cause\|Failure\|Warning\):/,$p'
  Warning: host.blas-kernels
    OpenBLAS 0.3.21 does not know this processor: /usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblasp-r0.3.21.so uses the kernels of a Prescott (SSE), although AVX-512 is available
    Remedy:
      OPENBLAS_CORETYPE selects no better kernels in this version. Install 0.3.25 or newer (Debian 13 has 0.3.29).
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  $ other='{"path": "/srv/venv/libscipy_openblas64_.so", "core": "SapphireRapids", "version": "0.3.29", "one_target": false, "takes": null, "why": null}'
  $ sed "/one_target/s#}]#}, $other]#" $FIXTURES/newer-than-openblas.host >two.host; gpuprobe --root two.host | sed -n '/^\(Cause\|Failure\|Warning\):/,$p'
  Warning: host.blas-kernels
    OpenBLAS 0.3.21 does not know this processor: /usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblasp-r0.3.21.so uses the kernels of a Prescott (SSE), although AVX-512 is available
    Remedy:
      For programs that load this copy:
        export OPENBLAS_CORETYPE=SkylakeX
      Do not set it for all programs: /srv/venv/libscipy_openblas64_.so selects the kernels of a SapphireRapids without it
  
  * checks pass (--verbose shows all) (glob)
  the kernel log was not examined
  $ sed '/one_target/s#.*#	not ] a list#' $FIXTURES/newer-than-openblas.host >bad.host; gpuprobe --root bad.host | head -1; gpuprobe --json --root bad.host | grep '"openblas"'
  UNKNOWN: the OpenBLAS fact of this capture is malformed [host.blas-kernels]
      "openblas": "broken",
  $ printf 'file /.facts/environment\n\tOPENBLAS_CORETYPE=SkylakeX\n' | cat $FIXTURES/newer-than-openblas.host - >told.host; gpuprobe --root told.host | head -1
  OK: no problem found
  $ probe --root $FIXTURES/server-8gpu.host
  host.blas-kernels    skip   OpenBLAS was not queried for its kernels
  $ probe --root $FIXTURES/arm-server.host
  host.blas-kernels    skip   the age of OpenBLAS kernels is known for x86-64 only
