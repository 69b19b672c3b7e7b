The report in the formats of other programs.

One line, as monitoring plug-ins print it, with their exit code.

  $ gpuprobe --format line --root $FIXTURES/driver-not-loaded.host
  GPUPROBE CRITICAL - driver.loaded: the nvidia kernel module is not loaded | fail=2;;0 warn=0;0 unknown=0 pass=* gpus=1 (glob)
  [2]
  $ gpuprobe -f line --root $FIXTURES/server-8gpu.host
  GPUPROBE OK - * checks pass, 0 unknown, kernel log not examined | fail=0;;0 warn=0;0 unknown=0 pass=* gpus=8 (glob)

The number of checks that pass equals that of the document.

  $ said=$(gpuprobe --root $FIXTURES/server-8gpu.host | grep -o '^[0-9]* checks pass'; gpuprobe -f line --root $FIXTURES/server-8gpu.host | grep -o '[0-9]* checks pass')
  $ gpuprobe --json --root $FIXTURES/server-8gpu.host | said=$said python3 -c 'import json, os, sys; n = sum(c["result"] == "pass" for c in json.load(sys.stdin)["checks"]); print(os.environ["said"].split("\n") == [f"{n} checks pass"] * 2)'
  True

Markdown for an issue: untrusted names are escaped.

  $ gpuprobe --format markdown --root $FIXTURES/driver-mismatch.host | head -n 50
  # CRITICAL: loaded driver 535.261.03, libraries 550.163.01 \[driver.lib-mismatch\]
  
  ## Cause: `driver.lib-mismatch`
  
  loaded driver 535.261.03, libraries 550.163.01: the driver was upgraded while its old kernel module stayed loaded (/usr/lib/x86\_64-linux-gnu/libnvidia-ml.so.1)
  
  - Consequence: `nvml.answers` NVML fails with error 18 (Driver/library version mismatch)
  - Consequence: `cuda.libcuda` a program loads /usr/lib/x86\_64-linux-gnu/libcuda.so.1, which is 550.163.01, but the loaded module is 535.261.03
  
  Stop all programs that use the GPU and reload the module, or reboot:
  
  ```sh
  systemctl stop nvidia-persistenced
  modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
  ```
  
  To prevent unattended upgrades, hold all packages of that version:
  
  ```sh
  apt-mark hold '~i~V550.163.01'
  ```
  
  ## Host
  
  |  |  |
  |---|---|
  | Distribution | Debian GNU/Linux 12 (bookworm) |
  | Kernel | 6.1.0-41-amd64 |
  | CPU | Made-up CPU, 32 cores, 2 nodes |
  | NVIDIA driver | 535.261.03 |
  | GPU 0000:17:00.0 | NVIDIA GPU |
  
  ## Checks
  
  | Check | Result | Finding |
  |---|---|---|
  | `gpu.present` | pass | 1 NVIDIA GPU on the PCI bus |
  | `kernel.preempt-rt` | pass | kernel 6.1.0-41-amd64 is not a PREEMPT\_RT kernel |
  | `driver.vfio` | pass | no GPU is reserved for virtual machines |
  | `driver.nouveau` | pass | nouveau is bound to no GPU |
  | `driver.module-built` | pass | the nvidia module is loaded |
  | `driver.secure-boot` | pass | the module is loaded, so its signature is accepted |
  | `driver.loaded` | pass | nvidia 535.261.03 |
  | `driver.device-nodes` | pass | /dev/nvidiactl can be opened |
  | `driver.uvm` | pass | /dev/nvidia-uvm can be opened |
  | `driver.legacy-gpu` | pass | driver 535.261.03 still supports every GPU |
  | `driver.new-gpu` | pass | driver 535.261.03 is new enough for every GPU |
  | `driver.open-module` | pass | the proprietary module supports the GPUs |
  | `driver.next-kernel` | pass | no newer kernel is installed |
  | `driver.lib-mismatch` | fail | loaded driver 535.261.03, libraries 550.163.01: the driver was upgraded while its old kernel module stayed loaded (/usr/lib/x86\_64-linux-gnu/libnvidia-ml.so.1) |

Metrics for Prometheus, written atomically.

  $ gpuprobe --format openmetrics --root $FIXTURES/gpu-ecc.host -o gpuprobe.prom
  [1]
  $ grep -v check_status gpuprobe.prom
  # HELP gpuprobe_exit_code 0 ok, 1 warning, 2 critical, 3 unknown
  # TYPE gpuprobe_exit_code gauge
  gpuprobe_exit_code 1
  # HELP gpuprobe_cause 1 for the check to mend first
  # TYPE gpuprobe_cause gauge
  gpuprobe_cause{check="gpu.ecc"} 1
  # HELP gpuprobe_gpus NVIDIA GPUs on the PCI bus
  # TYPE gpuprobe_gpus gauge
  gpuprobe_gpus 1
  # HELP gpuprobe_gpu_pcie_link_width lanes in use
  # TYPE gpuprobe_gpu_pcie_link_width gauge
  gpuprobe_gpu_pcie_link_width{pci="0000:17:00.0"} 16
  # HELP gpuprobe_gpu_memory_bytes memory of the GPU
  # TYPE gpuprobe_gpu_memory_bytes gauge
  gpuprobe_gpu_memory_bytes{pci="0000:17:00.0"} 85520809984
  # HELP gpuprobe_gpu_remap_pending 1 if memory is mapped out at the next reset
  # TYPE gpuprobe_gpu_remap_pending gauge
  gpuprobe_gpu_remap_pending{pci="0000:17:00.0"} 1
  # EOF
  $ grep -c 'check_status{' gpuprobe.prom
  59
  $ grep 'gpu.ecc' gpuprobe.prom
  gpuprobe_check_status{check="gpu.ecc"} 1
  gpuprobe_cause{check="gpu.ecc"} 1
  $ if command -v promtool >/dev/null; then promtool check metrics <gpuprobe.prom; fi
  $ gpuprobe --format openmetrics --root $FIXTURES/gpu-ecc.host -o /nonexistent/gpuprobe.prom
  gpuprobe: cannot create /nonexistent/gpuprobe.prom: No such file or directory
  [64]

The text report is not written to a file by mistake.

  $ gpuprobe -o report.txt --root $FIXTURES/gpu-ecc.host
  gpuprobe: --output needs --format json, line, markdown or openmetrics
  [64]
  $ gpuprobe --format xml --root $FIXTURES/gpu-ecc.host
  gpuprobe: --format takes one of text, json, line, markdown, openmetrics, not 'xml' (see 'gpuprobe --help')
  [64]
  $ ls
  gpuprobe.prom

The storage of a data set: NVMe, a spinning disk, the network, a container's layer.

  $ for d in near 'spinning disk' far layer none; do gpuprobe -v --data "/data/$d" --root $FIXTURES/data-sets.host | grep -A1 '^host.data'; done
  host.data            pass   /data/near is on nvme0n1 (NVMe, ext4), 763 GiB free, read-ahead 128 KiB
  host.memlock         skip   no InfiniBand or RoCE device
  host.data            warn   /data/spinning disk is on the spinning disk sda (xfs): shuffled reads
                              wait for seeks
  host.data            warn   /data/far is on /data/far (nfs4), a network file system: every epoch
                              reads it over the network
  host.data            warn   /data/layer is on /data/layer (overlay), the container's own layer:
                              slow, and deleted with the container
  host.data            unknown the storage of /data/none is absent
  host.memlock         skip    no InfiniBand or RoCE device
  $ gpuprobe --data here
  gpuprobe: --data needs an absolute path, not 'here'
  [64]

The first line gives severity, problem and id. The severity has colour on a terminal, unless NO_COLOR or --no-color is given.

  $ on_pty() { python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@" </dev/null | cat -v; }
  $ export TERM=xterm; M="--root $FIXTURES/driver-mismatch.host"
  $ on_pty env -u NO_COLOR gpuprobe -q $M
  ^[[1;31mCRITICAL:^[[0m loaded driver 535.261.03, libraries 550.163.01 [driver.lib-mismatch]^M
  $ on_pty env NO_COLOR=1 gpuprobe -q $M
  CRITICAL: loaded driver 535.261.03, libraries 550.163.01 [driver.lib-mismatch]^M
  $ on_pty env -u NO_COLOR gpuprobe -q --no-color $M
  CRITICAL: loaded driver 535.261.03, libraries 550.163.01 [driver.lib-mismatch]^M
  $ env -u NO_COLOR gpuprobe -q $M
  CRITICAL: loaded driver 535.261.03, libraries 550.163.01 [driver.lib-mismatch]
  [2]
