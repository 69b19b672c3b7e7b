NVML is called in a child process: there is a report whatever it does. Here NVML is a stand-in with planned answers.

  $ test -e "$BUILDDIR/tests/standin/libnvidia-ml.so.1" || { echo 'the stand-in library is not built'; exit 80; }
  $ ask() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin STANDIN_NVML=$1 gpuprobe --json --nvml-timeout "${2:-60}" > "$1.json"; test $? -le 3 &&
  >   grep -E '"(nvml|nvml_text|nvml_count|cuda_version)"' "$1.json" | tr -d '\n' | tr -s ' '; echo; }

It answers.

  $ ask 0
   "nvml": "ok", "nvml_text": null, "nvml_count": 1, "cuda_version": 12040,

It refuses, with its own code and words.

  $ ask 18
   "nvml": "error", "nvml_text": "Driver/library version mismatch", "nvml_count": "unknown", "cuda_version": "unknown",
  $ ask 9
   "nvml": "error", "nvml_text": "Driver Not Loaded", "nvml_count": "unknown", "cuda_version": "unknown",

It hangs or crashes: that is a finding, and gpuprobe continues.

  $ ask hang 0.2
   "nvml": "timeout", "nvml_text": "NVML did not respond within 0.2 s", "nvml_count": "unknown", "cuda_version": "unknown",
  $ ask crash
   "nvml": "error", "nvml_text": "the child process that queried NVML died", "nvml_count": "unknown", "cuda_version": "unknown",

The first signal ends a program that only reads, even while it waits.

  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin STANDIN_NVML=hang timeout -k 15 1 gpuprobe --nvml-timeout 60
  [124]

A directory that does not exist is reported before the work, which would last a minute here.

  $ for command in 'capture nowhere/x.host' 'check -f json -o nowhere/x.json' 'topo --svg nowhere/x.svg'; do
  >   LD_LIBRARY_PATH=$BUILDDIR/tests/standin STANDIN_NVML=hang timeout -k 15 30 gpuprobe $command --nvml-timeout 60
  > done
  gpuprobe: cannot create nowhere/x.host: No such file or directory
  gpuprobe: cannot create nowhere/x.json: No such file or directory
  gpuprobe: cannot create nowhere/x.svg: No such file or directory
  [64]

A capture stores the answer and replays it.

  $ LD_LIBRARY_PATH=$BUILDDIR/tests/standin STANDIN_NVML=hang gpuprobe capture --nvml-timeout 0.2 hung.host
  $ gpuprobe --json --root hung.host | grep -E '"(nvml|nvml_text)"'
        "nvml": "timeout",
        "nvml_text": "NVML did not respond within 0.2 s",

A library that LD_LIBRARY_PATH puts before the system's is detected, with the rule.

  $ grep -A3 '"soname": "libnvidia-ml.so.1"' 0.json | grep -o '"rule": "[^"]*"' | head -n 1
  "rule": "LD_LIBRARY_PATH"

  $ gpuprobe --nvml-timeout soon
  gpuprobe: --nvml-timeout takes a number above 0, not 'soon' (see 'gpuprobe --help')
  [64]
  $ gpuprobe --nvml-timeout -1
  gpuprobe: --nvml-timeout takes a number above 0, not '-1' (see 'gpuprobe --help')
  [64]
  $ gpuprobe --nvml-timeout 0
  gpuprobe: --nvml-timeout takes a number above 0, not '0' (see 'gpuprobe --help')
  [64]
