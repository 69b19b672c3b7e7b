The stand-in libraries record the calls of a run: the same program makes the same calls, and another seed gives another
trace.

  $ test -e "$BUILDDIR/tests/standin/libcuda.so.1" || { echo 'the stand-in driver is not built'; exit 80; }
  $ printf '#!/bin/sh\nexec gpubench "$@" --seed 7\n' >reseeded; chmod +x reseeded
  $ compare() { python3 $TESTDIR/standin/compare_traces.py "$(command -v gpubench)" "$1" $BUILDDIR/tests/standin mlp-fp32; }
  $ compare "$(command -v gpubench)"
  same mlp-fp32: * calls, loss * (glob)
  $ compare ./reseeded >differs 2>&1; echo $?; grep -c '^DIFFERENT mlp-fp32' differs; grep -c '^  [-+].*copy s.*hash' differs
  1
  1
  * (glob)
