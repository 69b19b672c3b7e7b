Ports of InfiniBand and RoCE cards are compared with those of the same model. One planted fault per host.

  $ for host in ib-8rail roce-8rail ib-few-errors ib-port-down ib-no-manager ib-slow-port ib-errors ib-firmware-skew roce-no-address roce-mtu roce-pfc; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  ib-8rail: GPUPROBE OK - 53 checks pass, 0 unknown, kernel log not examined
  roce-8rail: GPUPROBE OK - 57 checks pass, 0 unknown, kernel log not examined
  ib-few-errors: GPUPROBE OK - 53 checks pass, 0 unknown, kernel log not examined
  ib-port-down: GPUPROBE WARNING - rdma.port-state: mlx5_5 port 1 is down (it finds no partner), but 7 ports of the same model are active
  ib-no-manager: GPUPROBE WARNING - rdma.port-state: mlx5_2 port 1 has a link, but the subnet manager has not activated it
  ib-slow-port: GPUPROBE WARNING - rdma.rate: mlx5_3 port 1 runs at 200 Gb/sec (2X NDR), but mlx5_0 of the same model at 400 Gb/sec (4X NDR)
  ib-errors: GPUPROBE WARNING - rdma.errors: mlx5_6 port 1 has 41270 errors in symbol_error, more than 10 per day of uptime
  ib-firmware-skew: GPUPROBE WARNING - rdma.firmware: mlx5_7 has firmware 28.39.1002, but mlx5_0 of the same model 28.43.2026
  roce-no-address: GPUPROBE WARNING - rdma.gid: mlx5_4 port 1 has no RoCE v2 GID with an IPv4 address, but other ports have one
  roce-mtu: GPUPROBE WARNING - rdma.frame-size: mlx5_1 (rail1) has MTU 1500, but mlx5_0 (rail0) of the same model has 9000
  roce-pfc: GPUPROBE WARNING - rdma.pfc: mlx5_5 (rail5) has PFC for no priority, but mlx5_0 (rail0) of the same model for priority 3
  $ for host in roce-8rail roce-pfc-everywhere roce-lossy; do gpuprobe --root $FIXTURES/$host.host -v | grep -A1 '^rdma.pfc'; done
  rdma.pfc             skip   no active RoCE port reports its flow control (PFC)
  gpu.throttle         pass   no hardware slowdown (the kernel log is not readable; run as root to
  rdma.pfc             pass   active RoCE ports have PFC for priorities 3-4
  gpu.throttle         pass   no hardware slowdown (the kernel log is not readable; run as root to
  rdma.pfc             pass   active RoCE ports have PFC for no priority: RoCE relies on ECN and on
                              retransmission
  $ gpuprobe --root $FIXTURES/roce-pfc.host | sed -n '/^Warning/,/^$/p'
  Warning: rdma.pfc
    mlx5_5 (rail5) has PFC for no priority, but mlx5_0 (rail0) of the same model for priority 3
    Remedy:
      Ask the network administrator which priorities the switch protects. Compare both, and set all
      ports alike:
        dcb pfc show dev rail5
        dcb pfc show dev rail0
  
  $ gpuprobe --root $FIXTURES/roce-pfc.host --json | python3 -c 'import json, sys
  > print(*(n["pfc"] for n in json.load(sys.stdin)["host"]["devices"]["net"]))'
  8 8 8 8 8 0 8 8
  $ gpuprobe --root $FIXTURES/roce-pfc.host capture pfc.host; sed -n '/facts.ethtool/,/^[a-z]/p' pfc.host | grep -c pfc
  8
  $ gpuprobe --root $FIXTURES/ib-8rail.host -v | grep '^rdma'
  rdma.peermem         pass   GPUs and network cards share memory by DMA-BUF
  rdma.efa-plugin      skip   no EFA device
  rdma.distance        pass   0 of 8 GPUs have a network card below the same PCIe switch. For the
  rdma.port-state      pass   8 of 8 ports are active, and no port is down where those of the same
  rdma.rate            pass   active ports of the same model run at the same rate
  rdma.errors          pass   the ports have at most a few link errors
  rdma.firmware        pass   cards of the same model have the same firmware
  rdma.gid             skip   no active RoCE port reports its GIDs
  rdma.frame-size      skip   no two active RoCE ports
  rdma.pfc             skip   no active RoCE port reports its flow control (PFC)
  $ gpuprobe --root $FIXTURES/ib-port-down.host | sed -n '/^Warning/,/^$/p'
  Warning: rdma.port-state
    mlx5_5 port 1 is down (it finds no partner), but 7 ports of the same model are active
    Remedy:
      Check cable, transceiver and the switch port:
        ibstat mlx5_5; mlxlink -d mlx5_5 -m
  

Unreadable and hostile values are unknown.

  $ fault() { # PATTERN
  >   sed "$1" $FIXTURES/ib-8rail.host >fault.host; gpuprobe --root fault.host --format line | sed 's/ |.*//'
  > }
  $ fault 's/^\t4: ACTIVE/\tnonsense/'
  GPUPROBE UNKNOWN - rdma.port-state: the state of mlx5_0 port 1 is broken
  $ fault '/symbol_error/{n;s/.*/\tnonsense/}'
  GPUPROBE UNKNOWN - rdma.errors: the error counters of an InfiniBand or RoCE port cannot be read
  $ fault 's/^\t400 Gb.*/\t99999999999999999999 Gb/'
  GPUPROBE UNKNOWN - rdma.rate: the rate of an active port cannot be read

GPUDirect RDMA needs a peer memory module or DMA-BUF. Unreadable values make the result unknown.

  $ cat >access.py <<'END'
  > import json, sys
  > for c in json.load(sys.stdin)["checks"]:
  >     if c["id"] == sys.argv[1]:
  >         print(f"{c['result']}: {c['what']}", *filter(None, [c["remedy"]]), sep="\n")
  > END
  $ access() { # HOST [SED-COMMANDS]
  >   sed "${2-}" $FIXTURES/$1.host >access.host; gpuprobe --root access.host --json | python3 access.py rdma.peermem
  > }
  $ access ib-8rail
  pass: GPUs and network cards share memory by DMA-BUF
  $ access ib-8rail '/^file .*kernel_config/,/PAGING/d'
  unknown: nvidia_peermem is not loaded, and it is unknown whether DMA-BUF replaces it: the configuration of the kernel is absent (/boot/config-6.1.0-41-amd64 or /proc/config.gz)
  $ access ib-8rail '/^file .*kernel_config/,/PAGING/d; $a file /.facts/container\n\tdocker'
  skip: nvidia_peermem is not loaded, and it is unknown whether DMA-BUF replaces it: the configuration of the kernel is absent (/boot/config-6.1.0-41-amd64 or /proc/config.gz)
  $ access ib-8rail 's/CONFIG_INFINIBAND_ON_DEMAND_PAGING=y/# CONFIG_INFINIBAND_ON_DEMAND_PAGING is not set/'
  warn: mlx5_0 cannot access GPU memory: nvidia_peermem is not loaded, and DMA-BUF is not available: the kernel was built without CONFIG_INFINIBAND_ON_DEMAND_PAGING
  The module loads only if the RDMA drivers have the interface for it, as those of MLNX_OFED, DOCA-OFED and some distributions:
    modprobe nvidia-current-peermem || modprobe nvidia-peermem
  and for every boot:
    echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf
  $ access ib-8rail '/CONFIG_INFINIBAND_ON_DEMAND_PAGING=y/d'
  unknown: nvidia_peermem is not loaded, and it is unknown whether DMA-BUF replaces it: the configuration of the kernel does not contain CONFIG_INFINIBAND_ON_DEMAND_PAGING
  $ access ib-8rail '/CONFIG_INFINIBAND_ON_DEMAND_PAGING=y/d; $a dir /sys/module/mlx_compat'
  pass: GPUs and network cards share memory by DMA-BUF
  $ access ib-8rail 's/6.1.0-41-amd64/5.10.0-30-amd64/'
  warn: mlx5_0 cannot access GPU memory: nvidia_peermem is not loaded, and DMA-BUF is not available: Linux 5.12 or newer is needed, and 5.10.0-30-amd64 runs
  The module loads only if the RDMA drivers have the interface for it, as those of MLNX_OFED, DOCA-OFED and some distributions:
    modprobe nvidia-current-peermem || modprobe nvidia-peermem
  and for every boot:
    echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf
  $ access ib-8rail 's/6.1.0-41-amd64/4.18.0-553.el8_10.x86_64/'
  unknown: nvidia_peermem is not loaded, and it is unknown whether DMA-BUF replaces it: Linux 5.12 or newer is needed, and 4.18.0-553.el8_10.x86_64 runs
  $ access ib-8rail 's,drivers/mlx5_core,drivers/bnxt_en,'
  unknown: nvidia_peermem is not loaded, and it is unknown whether DMA-BUF replaces it: it is not known whether bnxt_en, the driver of mlx5_0, registers memory by DMA-BUF
  $ access ib-8rail 's,drivers/mlx5_core,drivers/ice,'
  warn: mlx5_0 cannot access GPU memory: nvidia_peermem is not loaded, and DMA-BUF is not available: Linux 6.3 or newer is needed, and 6.1.0-41-amd64 runs
  The module loads only if the RDMA drivers have the interface for it, as those of MLNX_OFED, DOCA-OFED and some distributions:
    modprobe nvidia-current-peermem || modprobe nvidia-peermem
  and for every boot:
    echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf
  $ access ib-8rail 's/6.1.0-41-amd64/6.8.0-41-generic/; s,drivers/mlx5_core,drivers/ice,'
  pass: GPUs and network cards share memory by DMA-BUF
  $ access ib-8rail 's/H100 80GB HBM3/GeForce RTX 4090/g'
  skip: GeForce GPUs have no GPUDirect RDMA: NCCL sends their data through host memory
  $ access ib-8rail 's/Open Kernel Module for x86_64/x86_64 Kernel Module/'
  warn: mlx5_0 cannot access GPU memory: nvidia_peermem is not loaded, and DMA-BUF is not available: the loaded nvidia module is not the open one
  The module loads only if the RDMA drivers have the interface for it, as those of MLNX_OFED, DOCA-OFED and some distributions:
    modprobe nvidia-current-peermem || modprobe nvidia-peermem
  and for every boot:
    echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf
  If modprobe prints "Invalid argument", use DMA-BUF: it needs Linux 5.12, a GPU from Turing on, and the open nvidia module:
  replaces all packages of Debian's driver by those of NVIDIA's repository
    wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
    dpkg -i cuda-keyring_1.1-1_all.deb
    apt update
    apt install nvidia-open
  $ access ib-8rail 's/Open Kernel Module for x86_64/x86_64 Kernel Module/; $a file /sys/module/nvidia_peermem/version\n\t570.172.08'
  pass: nvidia_peermem is loaded
  $ access rdma-near
  pass: GPUs and network cards share memory by DMA-BUF
  $ access rdma-near 's/^\t1f8b.*/\t1f8b0800/'
  unknown: nvidia_peermem is not loaded, and it is unknown whether DMA-BUF replaces it: the configuration of the kernel is broken (/boot/config-6.1.0-41-amd64 or /proc/config.gz)
  $ access rdma-near 's/^hex  .proc.config.gz/file \/boot\/config-6.1.0-41-amd64/; s/^\t1f8b.*/\tCONFIG_INFINIBAND_ON_DEMAND_PAGING=m/'
  pass: GPUs and network cards share memory by DMA-BUF
  $ access mi300x-rdma
  pass: GPUs and network cards share memory by DMA-BUF. Some versions of RCCL use it only with NCCL_DMABUF_ENABLE=1
  $ access mi300x-rdma 's/CONFIG_PCI_P2PDMA=y/# CONFIG_PCI_P2PDMA is not set/'
  warn: mlx5_0 cannot access GPU memory: amdkfd is not registered with the RDMA drivers, and DMA-BUF is not available: the kernel was built without CONFIG_PCI_P2PDMA
  Use a kernel with CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA. This prints what it has:
    grep -e DMABUF_MOVE_NOTIFY -e PCI_P2PDMA /boot/config-$(uname -r)
  $ access mi300x-rdma '/CONFIG_DMABUF_MOVE_NOTIFY=y/d; $a file /sys/kernel/mm/memory_peers/amdkfd/version\n\t1'
  pass: amdkfd is registered with the RDMA drivers
  $ access mi300x-rdma '/CONFIG_DMABUF_MOVE_NOTIFY=y/d'
  unknown: amdkfd is not registered with the RDMA drivers, and it is unknown whether DMA-BUF replaces it: the configuration of the kernel does not contain CONFIG_DMABUF_MOVE_NOTIFY
  $ gpuprobe --root $FIXTURES/rdma-near.host capture near.host && sed -n '/kernel_config/,/^[a-z]/p' near.host
  file /.facts/kernel_config
  	# options of the kernel's configuration
  	CONFIG_DMA_SHARED_BUFFER=y
  	# CONFIG_PCI_P2PDMA is not set
  	CONFIG_INFINIBAND_ON_DEMAND_PAGING=y
  bare /.facts/machine_id_hash

  $ distance() { # SED-COMMANDS
  >   sed "${1-}" $FIXTURES/rdma-near.host >access.host; gpuprobe --root access.host --json | python3 access.py rdma.distance
  > }
  $ distance
  pass: 1 of 2 GPUs have a network card below the same PCIe switch. For the others (NODE), NCCL sends data through a near GPU with NVLink, else through host memory
  $ distance 's/4: ACTIVE/1: DOWN/'
  skip: no active InfiniBand or RoCE port
  $ level() { # VALUE [TEXT-OF-NCCL-CONF]
  >   distance '$a file /.facts/environment\n\tNCCL_NET_GDR_LEVEL='"$1${2:+\\nfile /etc/nccl.conf\\n\\t$2}"
  > }
  $ for value in LOC PXN PHB SYS 1 3 99; do level $value; done
  pass: 0 of 2 GPUs have a network card within NCCL_NET_GDR_LEVEL=LOC in the environment. For the others (NODE), NCCL sends data through a near GPU with NVLink, else through host memory
  pass: 1 of 2 GPUs have a network card within NCCL_NET_GDR_LEVEL=PXN in the environment. For the others (NODE), NCCL sends data through a near GPU with NVLink, else through host memory
  pass: each GPU has a network card within NCCL_NET_GDR_LEVEL=PHB in the environment. The longest path is NODE
  pass: each GPU has a network card within NCCL_NET_GDR_LEVEL=SYS in the environment. The longest path is NODE
  pass: 1 of 2 GPUs have a network card within NCCL_NET_GDR_LEVEL=1 in the environment. For the others (NODE), NCCL sends data through a near GPU with NVLink, else through host memory
  pass: each GPU has a network card within NCCL_NET_GDR_LEVEL=3 in the environment. The longest path is NODE
  pass: each GPU has a network card within NCCL_NET_GDR_LEVEL=99 in the environment. The longest path is NODE
  $ level PHB NCCL_NET_GDR_LEVEL=LOC
  pass: each GPU has a network card within NCCL_NET_GDR_LEVEL=PHB in the environment. The longest path is NODE
  $ level phb
  pass: 1 of 2 GPUs have a network card below the same PCIe switch. For the others (NODE), NCCL sends data through a near GPU with NVLink, else through host memory. NCCL ignores the value NCCL_NET_GDR_LEVEL=phb in the environment
  $ distance '$a file /etc/nccl.conf\n\t# NCCL_NET_GDR_LEVEL=LOC\n\tNCCL_NET_GDR_LEVEL=PHB\n\tNCCL_NET_GDR_LEVEL=LOC'
  pass: each GPU has a network card within NCCL_NET_GDR_LEVEL=PHB in /etc/nccl.conf. The longest path is NODE
