A host compared with its reference: a captured golden host, a report, or expectations.

The same host has no difference; a host that lost GPUs and link width has differences, hardware first.

  $ cd; ln -s $FIXTURES F
  $ gpuprobe --root F/server-8gpu.host --baseline F/server-8gpu.host
  OK: 0 differences from the baseline
  
  * values compared (glob)
  $ gpuprobe --root F/gpu-lost-and-narrow.host --baseline F/server-8gpu.host
  CRITICAL: 24 differences from the baseline
  
  Critical
    check.gpu.count is fail, should be pass
    devices.block[nvme0n1] is missing
    devices.block[nvme1n1] is missing
    devices.net[ens1f0np0] is missing
    gpus[0000:1f:00.0].link_width is 4, should be 16
    gpus[0000:27:00.0] is missing
    gpus[0000:2f:00.0] is missing
    gpus[0000:37:00.0] is missing
    gpus[0000:3f:00.0] is missing
    gpus[0000:47:00.0] is missing
    gpus[0000:4f:00.0] is missing
    nvidia.nvml_count is 1, should be 8
  
  Different
    check.gpu.numa-node is warn, should be pass
    check.gpu.pcie-width is warn, should be pass
    cpu.frequency_policies[policy0] is missing
    cpu.frequency_policies[policy1] is missing
    gpus[0000:17:00.0].local_cpulist is 0-63, should be 0-15,32-47
    gpus[0000:17:00.0].numa_node is none, should be 0
    gpus[0000:1f:00.0].local_cpulist is 0-63, should be 0-15,32-47
    gpus[0000:1f:00.0].numa_node is none, should be 0
  
  Not known here
    gpus[0000:1f:00.0].arch is unknown, should be 90
    gpus[0000:1f:00.0].memory_bytes is unknown, should be 85520809984
    gpus[0000:1f:00.0].name is unknown, should be NVIDIA H100 80GB HBM3
    gpus[0000:1f:00.0].persistence is unknown, should be 1
  
  * values compared (glob)
  [2]
  $ gpuprobe --root F/gpu-lost-and-narrow.host --baseline F/server-8gpu.host --format line
  GPUPROBE CRITICAL - 24 differences from the baseline, among them: check.gpu.count is fail, should be pass | differences=24 allowed=0 compared=* (glob)
  [2]
  $ gpuprobe --json --root F/server-8gpu.host > golden.json
  $ gpuprobe --root F/driver-mismatch.host --baseline golden.json --quiet
  CRITICAL: 26 differences from the baseline
  [2]
  $ gpuprobe --root F/server-8gpu.host --baseline - < golden.json -f line
  GPUPROBE OK - as the baseline has it | differences=0 allowed=0 compared=* (glob)

Allowed differences are listed and do not count; an accepted warning of the baseline is not reported.

  $ gpuprobe --root F/driver-mismatch.host --baseline golden.json --allow 'gpus*' --allow 'check.*' --allow 'nvidia.*' --allow 'devices.*' --allow 'cpu.freq*' --allow 'packages*'
  OK: 0 differences from the baseline
  
  Allowed to differ
    check.cuda.libcuda is fail, should be pass
    check.driver.lib-mismatch is fail, should be pass
    check.nvml.answers is fail, should be pass
    cpu.frequency_policies[policy0] is missing
    cpu.frequency_policies[policy1] is missing
    devices.block[nvme0n1] is missing
    devices.block[nvme1n1] is missing
    devices.net[ens1f0np0] is missing
    gpus[0000:17:00.0].arch is unknown, should be 90
    gpus[0000:17:00.0].memory_bytes is unknown, should be 85520809984
    gpus[0000:17:00.0].name is unknown, should be NVIDIA H100 80GB HBM3
    gpus[0000:17:00.0].persistence is unknown, should be 1
    gpus[0000:1f:00.0] is missing
    gpus[0000:27:00.0] is missing
    gpus[0000:2f:00.0] is missing
    gpus[0000:37:00.0] is missing
    gpus[0000:3f:00.0] is missing
    gpus[0000:47:00.0] is missing
    gpus[0000:4f:00.0] is missing
    nvidia.cuda_version is unknown, should be 12040
    nvidia.module_version is 535.261.03, should be 550.163.01
    nvidia.nvml is error, should be ok
    nvidia.nvml_count is unknown, should be 8
    packages[libcuda1] is here and not in the baseline
    packages[libnvidia-ml1] is here and not in the baseline
    packages[nvidia-kernel-dkms] is here and not in the baseline
  
  * values compared (glob)
  $ gpuprobe --root F/persistence-off.host --baseline F/persistence-off.host -f line; gpuprobe -q --root F/persistence-off.host
  GPUPROBE OK - as the baseline has it | differences=0 allowed=0 compared=* (glob)
  WARNING: persistence mode is off [gpu.persistence]
  [1]

Expectations are a small file; each line names a value of the report.

  $ printf '%s\n' gpuprobe-baseline/1 '# our eight-GPU nodes' '[expect]' 'gpus = 8' 'gpus[*].name = NVIDIA H100*' 'gpus[*].link_width >= 16' \
  >   'nvidia.module_version >= 550.100' 'kernel.release = 6.1.*' 'memory.total_bytes >= 512G' 'distribution.id = debian' > want
  $ gpuprobe --root F/server-8gpu.host --baseline want
  OK: 0 differences from the baseline
  
  * values compared (glob)
  $ gpuprobe --root F/gpu-lost-and-narrow.host --baseline want
  CRITICAL: 6 differences from the baseline
  
  Critical
    gpus is 2, should be 8
    gpus[0000:1f:00.0].link_width is 4, should be >= 16
    check.gpu.count is fail, should be pass
  
  Different
    check.gpu.numa-node is warn, should be pass
    check.gpu.pcie-width is warn, should be pass
  
  Not known here
    gpus[0000:1f:00.0].name is unknown, should be NVIDIA H100*
  
  * values compared (glob)
  [2]
  $ printf '%s\n' '[allow]' 'gpus*' 'check.gpu.*' >> want; gpuprobe --root F/gpu-lost-and-narrow.host --baseline want
  OK: 0 differences from the baseline
  
  Allowed to differ
    gpus is 2, should be 8
    gpus[0000:1f:00.0].name is unknown, should be NVIDIA H100*
    gpus[0000:1f:00.0].link_width is 4, should be >= 16
    check.gpu.count is fail, should be pass
    check.gpu.numa-node is warn, should be pass
    check.gpu.pcie-width is warn, should be pass
  
  * values compared (glob)
  $ gpuprobe --root F/laptop-no-gpu.host --baseline want --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["verdict"])'
  CRITICAL

An unreadable value is unknown, not a difference.

  $ printf '%s\n' gpuprobe-baseline/1 '[expect]' 'gpus[*].mig = 0' > mig; gpuprobe --root F/server-8gpu.host --baseline mig -f line
  GPUPROBE UNKNOWN - 8 differences from the baseline, among them: gpus[0000:17:00.0].mig is unknown, should be 0 | differences=8 allowed=0 compared=* (glob)
  [3]

Bad input: one sentence with file and line.

  $ for line in 'gpus' 'gpus 8' '[expected]' 'gpsu = 8' 'kernel.arch > 8x' 'a b = 1' '= 1' 'gpus ='; do
  >   printf '%s\n' gpuprobe-baseline/1 '[expect]' "$line" > bad; gpuprobe --root F/server-8gpu.host --baseline bad; echo $?; done
  gpuprobe: bad:3: expected PATH OPERATOR VALUE with one of = != >= <= > <, not 'gpus'
  64
  gpuprobe: bad:3: expected PATH OPERATOR VALUE with one of = != >= <= > <, not 'gpus 8'
  64
  gpuprobe: bad:3: expected [expect] or [allow], not [expected]
  64
  gpuprobe: bad:3: reports have no value 'gpsu'; gpuprobe --json lists them under "host"
  64
  gpuprobe: bad:3: kernel.arch is 'x86_64', which cannot be ordered relative to '8x'
  64
  gpuprobe: bad:3: expected PATH OPERATOR VALUE with one of = != >= <= > <, not 'a b = 1'
  64
  gpuprobe: bad:3: expected PATH OPERATOR VALUE with one of = != >= <= > <, not '= 1'
  64
  gpuprobe: bad:3: expected PATH OPERATOR VALUE with one of = != >= <= > <, not 'gpus ='
  64
  $ echo 'gpus = 8' > bad; gpuprobe --baseline bad
  gpuprobe: bad is no baseline: it is neither a capture, nor a report (gpuprobe --json), nor expectations with the first line gpuprobe-baseline/1
  [64]
  $ printf '%s\n' gpuprobe-baseline/1 'gpus = 8' > bad; gpuprobe --baseline bad
  gpuprobe: bad:2: expected a section, [expect] or [allow], not 'gpus = 8'
  [64]
  $ gpuprobe --baseline nowhere
  gpuprobe: cannot open nowhere: No such file or directory
  [64]
  $ echo '{"schema": "gpuprobe/2"}' > bad; gpuprobe --baseline bad
  gpuprobe: bad: written by a newer version (gpuprobe/2), but this version reads gpuprobe/1: update gputune
  [64]
  $ echo '{"schema": "gpuprobe/1", "host": []}' > bad; gpuprobe --baseline bad
  gpuprobe: bad: "host" must be an object
  [64]
  $ printf 'gpuprobe-capture/1\nfile ../etc/passwd\n' > bad; gpuprobe --baseline bad
  gpuprobe: bad:2: the path must be absolute, without "." and ".."
  [64]
  $ gpuprobe --allow 'x*'
  gpuprobe: --allow needs --baseline
  [64]
  $ gpuprobe --baseline want -f markdown
  gpuprobe: --baseline is given as text, json or line
  [64]
