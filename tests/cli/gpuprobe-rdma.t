Ports of InfiniBand and RoCE cards are compared with those of the same model. One planted fault per host.

  $ for host in ib-8rail roce-8rail ib-few-errors ib-port-down ib-no-manager ib-slow-port ib-errors ib-firmware-skew roce-no-address roce-mtu roce-pfc; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  ib-8rail: GPUPROBE OK - 52 checks pass, 0 unknown, kernel log not examined
  roce-8rail: GPUPROBE OK - 56 checks pass, 0 unknown, kernel log not examined
  ib-few-errors: GPUPROBE OK - 52 checks pass, 0 unknown, kernel log not examined
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
  
  $ gpuprobe --root $FIXTURES/roce-pfc.host capture pfc.host; sed -n '/facts.ethtool/,/^[a-z]/p' pfc.host | grep -c pfc
  8
  $ gpuprobe --root $FIXTURES/ib-8rail.host -v | grep '^rdma'
  rdma.peermem         pass   the open module exports its memory by DMA-BUF
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
