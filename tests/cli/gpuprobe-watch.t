gpuprobe watch monitors GPUs and nodes; here the GPUs are a stand-in NVML with planned values.

  $ test -e "$BUILDDIR/tests/standin/libnvidia-ml.so.1" || { echo 'the stand-in library is not built'; exit 80; }
  $ watch() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin gpuprobe watch "$@"; }

One line per sample, one for each start or end of a pattern, and a summary at the end. Exit status 1: a pattern was found.

  $ STANDIN_GPUS=2 watch -n 3 -i 0.1 > text; echo $?
  1
  $ grep -c ' 2 GPUs 97%, 64 GiB, PCIe in 50 out 2 GB/s, 612 W' text
  3
  $ tr '\n' ' ' < text | grep -o 'begins pcie.saturated, GPU . (0000:..:00.0): 50.0 GB/s from the host, of a maximum of 63.0 at PCIe gen 5 x16'
  begins pcie.saturated, GPU 0 (0000:17:00.0): 50.0 GB/s from the host, of a maximum of 63.0 at PCIe gen 5 x16
  begins pcie.saturated, GPU 1 (0000:1f:00.0): 50.0 GB/s from the host, of a maximum of 63.0 at PCIe gen 5 x16
  $ grep -A3 'samples in' text | grep -v '^$'
  3 samples in * s; minimum/mean/maximum (glob)
  GPU PCI     COMPUTE % MEMORY GiB        IN GB/s    OUT GB/s        WATT  Wh
    0 17:00.0  97/97/97   64/64/64 50.0/50.0/50.0 2.0/2.0/2.0 612/612/612 * (glob)

As documents, one per line, the summary last; tests/lint/schema.py validates each.

  $ STANDIN_GPUS=8 watch -n 3 -i 0.1 --json > record; echo $?
  1
  $ python3 -c 'import json; d = [json.loads(l) for l in open("record")]; print([x["kind"] for x in d], {x["schema"] for x in d},
  >   len(d[2]["gpus"]), d[2]["gpus"][7]["pci"], d[2]["gpus"][7]["clock_reasons"], len(d[2]["patterns"]), d[3]["gpus"][0]["power_w"])'
  ['sample', 'sample', 'sample', 'summary'] {'gpuprobe-watch/1'} 8 0000:4f:00.0 ['software power cap'] 8 {'min': 612.5, 'mean': 612.5, 'max': 612.5}

A recording can be replayed anywhere: the same lines, the same summary.

  $ gpuprobe watch --replay record > one; echo $?
  1
  $ gpuprobe watch --replay - < record > two; cmp one two; grep -c pcie.saturated one
  16
  $ gpuprobe watch --replay record --json > again; cmp record again
  $ head -n 2 record | gpuprobe watch --replay - --quiet | head -n 1
  
  $ echo '{"schema": "gpuprobe/1"}' > other; gpuprobe watch --replay other
  gpuprobe: other:1: its schema is "gpuprobe/1", expected "gpuprobe-watch/1"
  [64]
  $ head -c 300 record > cut; gpuprobe watch --replay cut
  gpuprobe: cut:1:*: * (glob)
  [64]
  $ : > empty; gpuprobe watch --replay empty
  gpuprobe: empty is empty: record with gpuprobe watch --format jsonl
  [64]

A driver that starts to hang stops nothing: the nodes are still monitored, and it is reported once.

  $ STANDIN_NVML=hang-later watch -n 8 -i 0.2 --nvml-timeout 0.5 > hung; echo $?
  3
  $ grep -c 'nvml.silent, host' hung; grep -c '; CPU' hung; grep -q 'gave no answer within 0.5 s; CPU' hung
  2
  8
  $ STANDIN_NVML=hang watch -n 2 -i 0.1 --nvml-timeout 0.3 -q | head -n 1
  *:*:*Z begins nvml.silent, host: NVML gave no answer within 0.3 s (glob)
  $ STANDIN_NVML=crash-later watch -n 4 -i 0.1 -q | grep -c 'begins nvml.silent, host: the child process that queries NVML died'
  1
  $ STANDIN_NVML=lost-later watch -n 4 -i 0.1 -q | grep begins
  *Z begins gpu.lost, GPU 0 (0000:17:00.0): GPU is lost (glob)
  $ STANDIN_NVML=9 watch -n 1 -q; echo $?
  *Z begins nvml.silent, host: Driver Not Loaded (glob)
  
  1 samples in 0 s; minimum/mean/maximum
  
  NODE * (glob)
  * (glob)
  
  Seen:
    nvml.silent, host, 100 % of the time; latest: Driver Not Loaded
  3

A program that uses the GPU and leaves it idle.

  $ STANDIN_COMPUTE=4 watch -n 3 -i 0.1 -q | tr '\n' ' ' | grep -o 'gpu.idle, GPU 0 (0000:17:00.0): uses 64.0 GiB, computes 4 % of the time'
  gpu.idle, GPU 0 (0000:17:00.0): uses 64.0 GiB, computes 4 % of the time

^C ends it with the summary.

  $ env --default-signal=INT gpuprobe watch -i 0.2 > ended & sleep 1; kill -INT $!; wait $!; grep -c 'samples in' ended
  1

Without a GPU it monitors the nodes, also of a generated tree.

  $ LD_LIBRARY_PATH= gpuprobe watch -n 2 -i 0.1 | grep -c ' no NVIDIA GPU, or no NVML; CPU [0-9.]*%, memory [0-9]*%$'
  2
  $ gpuprobe watch -n 1 -i 0.1 --json --root $FIXTURES/server-8gpu.host | grep -o '"nodes":.*"pressure"' | head -n 1
  "nodes":[{"id":0,"memory_total_bytes":274877906944,"memory_free_bytes":137438953472},{"id":1,"memory_total_bytes":274877906944,"memory_free_bytes":137438953472}],"pressure"

Metrics, written atomically; promtool checks them where it is installed.

  $ STANDIN_GPUS=2 watch -n 4 -i 0.1 -f openmetrics -o watch.prom; echo $?
  1
  $ grep -E 'compute_ratio|pattern|clock_held|nvml_up|power_watts|EOF' watch.prom
  # HELP gpuprobe_watch_nvml_up 1 if NVML responds, 0 if it fails
  # TYPE gpuprobe_watch_nvml_up gauge
  gpuprobe_watch_nvml_up 1
  # HELP gpuprobe_watch_gpu_compute_ratio share of the time with a kernel running
  # TYPE gpuprobe_watch_gpu_compute_ratio gauge
  gpuprobe_watch_gpu_compute_ratio{gpu="0",pci="0000:17:00.0"} 0.97
  gpuprobe_watch_gpu_compute_ratio{gpu="1",pci="0000:1f:00.0"} 0.97
  # HELP gpuprobe_watch_gpu_power_watts power draw
  # TYPE gpuprobe_watch_gpu_power_watts gauge
  gpuprobe_watch_gpu_power_watts{gpu="0",pci="0000:17:00.0"} 612.5
  gpuprobe_watch_gpu_power_watts{gpu="1",pci="0000:1f:00.0"} 612.5
  # HELP gpuprobe_watch_gpu_clock_held 1 for each reason that limits the clocks
  # TYPE gpuprobe_watch_gpu_clock_held gauge
  gpuprobe_watch_gpu_clock_held{gpu="0",reason="software power cap"} 1
  gpuprobe_watch_gpu_clock_held{gpu="1",reason="software power cap"} 1
  # HELP gpuprobe_watch_pattern 1 for each active pattern
  # TYPE gpuprobe_watch_pattern gauge
  gpuprobe_watch_pattern{pattern="pcie.saturated",subject="GPU 0 (0000:17:00.0)"} 1
  gpuprobe_watch_pattern{pattern="pcie.saturated",subject="GPU 1 (0000:1f:00.0)"} 1
  # EOF
  $ if command -v promtool >/dev/null; then promtool check metrics <watch.prom; fi
  $ ls | grep -c prom
  1

Bad input is one sentence.

  $ gpuprobe watch -i 0
  gpuprobe: --interval needs a time from 0.1 to 86400 s, not 0
  [64]
  $ gpuprobe watch -f openmetrics
  gpuprobe: --format openmetrics needs --output FILE, or --count 1
  [64]
  $ gpuprobe watch -o file
  gpuprobe: --output is for --format openmetrics; send other forms to a file with >
  [64]
  $ gpuprobe watch -n 1 -f openmetrics -o /nonexistent/watch.prom
  gpuprobe: cannot create /nonexistent/watch.prom: No such file or directory
  [64]
  $ gpuprobe watch --replay /nonexistent
  gpuprobe: cannot open /nonexistent: No such file or directory
  [64]
