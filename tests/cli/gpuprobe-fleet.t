Reports of many hosts: classes by processors, GPUs and network cards, and the values that differ within a class.

  $ report() { gpuprobe --json --root "$2" >"$1.json"; }
  $ report a1 $FIXTURES/server-8gpu.host; cp a1.json a2.json; cp a1.json a3.json
  $ sed 's/550\.163\.01/550.144.03/; s/^\tquiet/&/' $FIXTURES/server-8gpu.host >x.host; report a4 x.host
  $ sed 's/root=[^ ]*/root=UUID=other/' $FIXTURES/server-8gpu.host >x.host; report a5 x.host
  $ report c1 $FIXTURES/cpu-server.host; report c2 $FIXTURES/cpu-server-512g.host
  [1]
  $ report n1 $FIXTURES/nouveau.host
  [2]
  $ COLUMNS=80 gpuprobe fleet a?.json c?.json n1.json
  5 hosts: 2 x Made-up CPU; GPUs: 8 x NVIDIA H100 80GB HBM3; network: mlx5_core
    nvidia.dkms_source
        4: nvidia-current/550.163.01
        1: nvidia-current/550.144.03 on a4
    nvidia.libraries[libcuda.so.1].version
        4: 550.163.01
        1: 550.144.03 on a4
    nvidia.libraries[libnvidia-ml.so.1].version
        4: 550.163.01
        1: 550.144.03 on a4
    nvidia.module_version
        4: 550.163.01
        1: 550.144.03 on a4
  
  2 hosts: 2 x Made-up CPU; GPUs: none; network: 2 x mlx5_core
    memory.shm_bytes
        1: about 256 GiB on c2
        1: about 32 GiB on c1
    memory.total_bytes
        1: about 512 GiB on c2
        1: about 64 GiB on c1
    nodes[0].mem_bytes
        1: about 256 GiB on c2
        1: about 32 GiB on c1
    nodes[1].mem_bytes
        1: about 256 GiB on c2
        1: about 32 GiB on c1
  
  1 host: 2 x Made-up CPU; GPUs: 2330; network: none
    nothing to compare with
  
  Hosts: 8, classes: 3
  [1]
  $ gpuprobe fleet a1.json a2.json a5.json
  3 hosts: 2 x Made-up CPU; GPUs: 8 x NVIDIA H100 80GB HBM3; network: mlx5_core
    no difference
  
  Hosts: 3, classes: 1
  $ gpuprobe fleet --json a1.json a2.json a4.json | grep -E '"(exit_code|hosts|value|cpu|gpus|nics)"' | head -n 12
    "exit_code": 1,
    "hosts": 3,
        "cpu": "2 x Made-up CPU",
        "gpus": "8 x NVIDIA H100 80GB HBM3",
        "nics": "mlx5_core",
        "hosts": 3,
                "value": "nvidia-current/550.163.01",
                "hosts": 2,
                "value": "nvidia-current/550.144.03",
                "hosts": 1,
                "value": "550.163.01",
                "hosts": 2,

A file that is no report is named, and the others are compared.

  $ echo '{' >broken.json; printf '{"schema": "gputune-plan/1"}' >plan.json; printf '{"schema": "gpuprobe/1"}' >empty.json
  $ gpuprobe fleet a1.json broken.json a2.json plan.json nowhere.json empty.json $FIXTURES/server-8gpu.host
  2 hosts: 2 x Made-up CPU; GPUs: 8 x NVIDIA H100 80GB HBM3; network: mlx5_core
    no difference
  
  Hosts: 2, classes: 1
  Files that are no reports: 5
    broken.json:2:0: not valid JSON: string or '}' expected near end of file
    plan.json: its schema is "gputune-plan/1", expected "gpuprobe/1"
    cannot open nowhere.json: No such file or directory
    empty.json: "host" is missing
    $FIXTURES/server-8gpu.host:1:8: not valid JSON: '[' or '{' expected
  [3]
  $ gpuprobe fleet
  gpuprobe: fleet needs REPORT... (see 'gpuprobe fleet --help')
  [64]
