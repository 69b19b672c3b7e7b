The kernel log: an error line that no check judges is unknown, never OK.

Each of these lines alone makes a healthy host of eight GPUs unknown or worse; none is lost among harmless lines.

  $ log() { cat $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; sed 's/^/\t/'; }
  $ cat > faults <<'END'
  > nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal, Link 46 egress non-posted PRIV error (First)
  > nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 11004, Non-fatal, Link 23 ingress invalid ACL
  > nvidia-nvswitch2: SXid (PCI:0000:c2:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
  > nvidia-nvswitch2: SXid (PCI:0000:c2:00.0): 99998, Fatal, Link 30 qwerty
  > nvidia-nvswitch2: SXid (PCI:0000:c2:00.0): 99999, Non-fatal, Link 30 qwerty
  > NVRM: Xid (PCI:0000:17:00): 87, qwerty
  > NVRM: Xid (PCI:0000:17:00): 999, qwerty
  > nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 32 RX Short Error Rate
  > nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 22013, Fatal, Link 05 Minion Link DLREQ interrupt
  > NVRM: Xid (PCI:0000:17:00): 62, pid='<unknown>', name=<unknown>, 2027c5e8 00009edc 00000000 2027d5b2
  > NVRM: Xid (PCI:0000:17:00): 92, pid=4711, name=python3, High single-bit ECC error rate
  > NVRM: Xid (PCI:0000:17:00): 109, pid=4711, name=python3, Ch 00000010, errorString CTX SWITCH TIMEOUT, Info 0x3c046
  > NVRM: Xid (PCI:0000:17:00): 143, GPU Initialization Error
  > NVRM: Xid (PCI:0000:17:00): 160, Channel Retirement Event, DRAM location 0x1f
  > NVRM: Xid (PCI:0000:17:00): 32, pid=4711, Channel ID 00000008 intr0 00040000
  > NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
  > NVRM: GPU 0000:17:00.0: GPU has fallen off the bus.
  > NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x26:0x56:1482)
  > NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7
  > NVRM: _kgspRpcRecvPoll: GSP RM heartbeat timed out on GPU0
  > NVRM: GPU0 kgspInitRm_IMPL: unexpected WPR2 already up, cannot proceed with booting GSP
  > NVRM: The NVIDIA probe routine failed for 1 device(s).
  > nvidia 0000:17:00.0: probe with driver nvidia failed with error -1
  > nvidia-modeset: ERROR: GPU:0: Idling display engine timed out: 0x0000c67d:0:0:0x00000040
  > pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: 0000:17:00.0
  > pcieport 0000:16:01.0: AER: Uncorrectable (Non-Fatal) error message received from 0000:17:00.0
  > nvidia 0000:17:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
  > bnxt_en 0000:a1:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)
  > pcieport 0000:16:01.0: DPC: containment event, status:0x1f01 source:0x0000
  > pcieport 0000:16:01.0: AER: device recovery failed
  > EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x3b8e4d offset:0x0 grain:32)
  > EDAC MC1: UE page 0x1f3a2, offset 0x0, grain 0, row 2, labels "P0_Node1": uncorrectable error
  > mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: bd80000000100134
  > mce: [Hardware Error]: Machine check events logged
  > mce: Uncorrected hardware memory error in user-access at 3b8e4d3c0
  > [Hardware Error]: Uncorrected, software restartable error.
  > {3}[Hardware Error]: event severity: fatal
  > {1}[Hardware Error]:  Error 0, type: recoverable
  > Memory failure: 0x3b8e4d: recovery action for dirty LRU page: Recovered
  > mlx5_core 0000:3b:00.0: poll_health:825:(pid 0): device's health compromised - reached miss count
  > mlx5_core 0000:3b:00.0: print_health_info:423:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:
  > mlx5_core 0000:3b:00.0: mlx5_fw_fatal_reporter_err_work:660:(pid 1234): try_recover failed
  > mlx5_core 0000:3b:00.0 ibs1: TX timeout detected
  > mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, High Temperature
  > mlx5_core 0000:3b:00.0: Detected insufficient power on the PCIe slot (27W).
  > mlx4_core 0000:05:00.0: Internal error detected:
  > infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe
  > irdma 0000:3b:00.0: Request Reset received, but the device cannot be reset: timed out
  > nvme nvme0: I/O 256 QID 3 timeout, aborting
  > nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10
  > nvme nvme1: Device not ready; aborting reset, CSTS=0x1
  > nvme nvme0: Removing after probe failure status: -19
  > nvme0n1: I/O Cmd(0x2) @ LBA 1024, 8 blocks, I/O Error (sct 0x2 / sc 0x81) MORE
  > nvme 0000:65:00.0: Unable to change power state from D3cold to D0, device inaccessible
  > nvme 0000:65:00.0: Refused to change power state, currently in D3
  > CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400
  > nvidia-nvswitch: Version mismatch, kernel version 450.80.02 user version 450.51.06
  > blk_update_request: critical medium error, dev nvme0n1, sector 1024 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0
  > END
  $ cat > harmless <<'END'
  > NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025
  > NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-AF01-24-1)
  > NVRM: GPU at PCI:0000:17:00: GPU-8f2ad1c5-1b05-3b4c-2b1d-6d5ef1a4f1d2
  > NVRM: Persistence mode is deprecated and will be removed in a future release. Please use nvidia-persistenced instead.
  > NVRM: cpuidInfoAMD: Unrecognized AMD processor in cpuidInfoAMD
  > NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359
  > NVRM: Xid (PCI:0000:17:00): 13, pid=4711, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address
  > NVRM: Xid (PCI:0000:17:00): 31, pid=4711, name=python3, Ch 00000008, MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f0c_0000
  > NVRM: Xid (PCI:0000:17:00): 43, pid=4711, name=python3, Ch 00000008
  > NVRM: Xid (PCI:0000:17:00): 45, pid=4711, name=python3, Ch 00000008
  > NVRM: Xid (PCI:0000:17:00): 63, pid=1234, name=python3, Row Remapper: New row (0x0000000003ed83f0) marked for remapping
  > NVRM: Xid (PCI:0000:17:00): 69, pid=4711, name=python3, Class Error: ChId 003b, Class 0000c197, Offset 00002040
  > NVRM: Xid (PCI:0000:17:00): 106, SMBPBI Test Message
  > nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 11012, Non-fatal, Link 23 ingress ECC header single-bit error
  > nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20001, Non-fatal, Link 32 TX Replay Error
  > nvidia: loading out-of-tree module taints kernel.
  > nvidia: module license 'NVIDIA' taints kernel.
  > nvidia: module license taints kernel.
  > nvidia: module verification failed: signature and/or required key missing - tainting kernel
  > nvidia-nvlink: Nvlink Core is being initialized, major device number 236
  > nvidia-nvlink: Unregistered Nvlink Core, major device number 236
  > nvidia 0000:17:00.0: vgaarb: changed VGA decodes: olddecodes=io+mem,decodes=none:owns=none
  > nvidia 0000:17:00.0: enabling device (0140 -> 0142)
  > nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  550.163.01  Tue Apr  8 12:11:19 UTC 2025
  > nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module nvidia, inheriting taint.
  > nvidia-uvm: Loaded the UVM driver, major device number 234.
  > nvidia-nvswitch: Probing device 0000:c1:00.0, Vendor Id = 0x10de, Device Id = 0x22a3, Class = 0x68000
  > nvidia-nvswitch0: using MSI
  > [drm] [nvidia-drm] [GPU ID 0x00001700] Loading driver
  > [drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:17:00.0 on minor 1
  > nvidia-smi[4711]: segfault at 0 ip 00007f3a1c2d4e10 sp 00007ffd error 4 in libnvidia-ml.so.550.163.01[7f3a1c200000+1b5000]
  > audit: type=1400 audit(1763700000.000:42): apparmor="DENIED" operation="open" comm="nvidia-modprobe" error=-13
  > mlx5_core 0000:3b:00.0: firmware version: 28.39.1002
  > mlx5_core 0000:3b:00.0: 252.048 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x8 link)
  > mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged
  > mlx5_core 0000:3b:00.0: mlx5_pcie_event:304:(pid 1234): PCIe slot advertised sufficient power (27W).
  > mlx5_core 0000:3b:00.0: E-Switch: Total vports 2, per vport: max uc(128) max mc(2048)
  > mlx5_core 0000:3b:00.0: Supported tc chains and prios offload
  > mlx5_core 0000:3b:00.0: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps
  > mlx5_core 0000:3b:00.0 ens1f0np0: Link down
  > mlx5_core 0000:3b:00.0 ens1f0np0: Link up
  > mlx5_core 0000:3b:00.0: MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 enhanced)
  > ib0: enabling connected mode will cause multicast packet drops
  > nvme nvme0: pci function 0000:65:00.0
  > nvme nvme0: 63/0/0 default/read/poll queues
  > nvme nvme0: missing or invalid SUBNQN field.
  > nvme nvme0: Shutdown timeout set to 10 seconds
  > nvme nvme0: allocated 64 MiB host memory buffer.
  > nvme nvme0: bad crto:0 cap:800a03ff
  > nvme0: Admin Cmd(0x6), I/O Error (sct 0x0 / sc 0x2) DNR
  > pcieport 0000:16:01.0: PME: Signaling with IRQ 122
  > pcieport 0000:16:01.0: AER: enabled with IRQ 122
  > pcieport 0000:16:01.0: DPC: enabled with IRQ 122
  > pcieport 0000:16:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+ RP PIO Log 6, DL_ActiveErr+
  > pcieport 0000:16:01.0: AER: Corrected error received: 0000:17:00.0
  > pcieport 0000:16:01.0: AER: Multiple Correctable error message received from 0000:17:00.0
  > nvidia 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
  > nvidia 0000:17:00.0:   device [10de:2330] error status/mask=00000001/0000e000
  > nvidia 0000:17:00.0:    [12] Timeout               (First)
  > pcieport 0000:16:01.0: pciehp: Slot #12 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+ Interlock- NoCompl+ IbPresDis- LLActRep+
  > EDAC MC: Ver: 3.0.0
  > EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:3a:0a.0 (INTERRUPT)
  > EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x3b8e4d offset:0x0 grain:32)
  > EDAC skx MC0: HANDLING MCE MEMORY ERROR
  > EDAC amd64: ECC disabled in the BIOS or no ECC capability, module will not load.
  > mce: CPU0: Thermal monitoring enabled (TM1)
  > mce: Using 20 MCE banks
  > [Hardware Error]: Corrected error, no action required.
  > [Hardware Error]: CPU:2 (17:31:0) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b
  > {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4
  > {1}[Hardware Error]: It has been corrected by h/w and requires no further action
  > {1}[Hardware Error]: event severity: corrected
  > {1}[Hardware Error]:  Error 0, type: corrected
  > {1}[Hardware Error]:   section_type: PCIe error
  > NVRM: GPU Board Serial Number: 1650522003820
  > nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing
  > nvidia-gpu 0000:01:00.3: i2c timeout error e0000000
  > [drm:nv_drm_master_set [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x00001700] Failed to grab modeset ownership
  > nvidia-modeset: WARNING: GPU:0: Correcting number of heads for current head configuration (0x00)
  > mlx5_core 0000:3b:00.0: mlx5e_tc_post_act_init:40:(pid 1106): firmware level support is missing
  > mlx5_core 0000:3b:00.0: is_dpll_supported:213:(pid 1234): Missing SyncE capability
  > nvme nvme0: Identify Descriptors failed (nsid=1, status=0x2)
  > nvme nvme0: D3 entry latency set to 10 seconds
  > pcieport 0000:16:01.0: BAR 13: no space for [io  size 0x1000]
  > pcieport 0000:16:01.0: BAR 13: failed to assign [io  size 0x1000]
  > pcieport 0000:16:01.0: bridge window [io  size 0x1000]: can't assign; no space
  > pcieport 0000:16:01.0: can't derive routing for PCI INT A
  > pcieport 0000:16:01.0: pciehp: Timeout on hotplug command 0x03c0 (issued 1020 msec ago)
  > pcieport 0000:16:01.0:    [13] AdvNonFatalErr
  > EDAC igen6 MC0: HANDLING IBECC MEMORY ERROR
  > EDAC sbridge: Couldn't find mci handler
  > EDAC amd64: Error: F0 not found, device 0x1460 (broken BIOS?)
  > mce: CPU0: Core temperature/speed normal
  > ACPI Error: AE_NOT_FOUND, While resolving a named reference package element - \_SB_.PR00 (20220331/dspkginit-438)
  > ACPI BIOS Error (bug): Could not resolve symbol [\_SB.PCI0.SAT0.SPT0], AE_NOT_FOUND (20220331/psargs-330)
  > usb 1-4: device descriptor read/64, error -71
  > END
  $ wc -l < faults; wc -l < harmless
  58
  96
  $ while read -r line; do { cat harmless; printf '%s\n' "$line"; } | log > x.host
  >   if gpuprobe --root x.host -q > out; then printf 'OK in spite of: %s\n' "$line"; fi; done < faults
  $ log < harmless > x.host; gpuprobe --root x.host -q
  OK: no problem found

The same with levels and prefixes, as the kernel, dmesg and syslog write them.

  $ for p in '<3>[   12.345678] ' '<4>[   12.345678][ T4711] ' '[Sat Nov 21 03:00:07 2026] ' 'Nov 21 03:00:07 node7 kernel: ' 'kernel: '; do
  >   sed "s/^/$p/" faults | while read -r line; do printf '%s\n' "$line" | log > x.host; if gpuprobe --root x.host -q > out; then printf '%s\n' "$line"; fi; done
  >   sed "s/^/${p/<3>/<6>}/" harmless | log > x.host; gpuprobe --root x.host -q; done
  OK: no problem found
  OK: no problem found
  OK: no problem found
  OK: no problem found
  OK: no problem found

No document contains a serial number.

  $ grep -c 'Serial Number' harmless; log < harmless > x.host; gpuprobe --root x.host --json | grep -c 1650522003820
  1
  0
  [1]

NVIDIA's driver writes its banner and some other lines with level error.

  $ grep -E 'NVRM|SUBNQN|Shutdown timeout|: AER: .*Correct|severity=Correct' harmless | sed 's/^/<3>/' | log > x.host; gpuprobe --root x.host -q
  OK: no problem found

Lines of level error count without any known word; the same text with level info does not.

  $ for line in 'nvidia-uvm: qwerty' 'mlx5_core 0000:3b:00.0: qwerty' 'nvme nvme0: qwerty' 'pcieport 0000:16:01.0: qwerty' 'EDAC MC0: qwerty' 'mce: qwerty' 'NVRM: qwerty'; do
  >   for level in 3 6; do printf '<%s>%s\n' $level "$line" | log > x.host; gpuprobe --root x.host -f line | cut -d' ' -f2-9; done; done
  UNKNOWN - log.gpu: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)
  UNKNOWN - log.network: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)
  UNKNOWN - log.disk: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)
  UNKNOWN - log.pcie: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)
  UNKNOWN - log.hardware: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)
  UNKNOWN - log.hardware: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)
  UNKNOWN - log.gpu: 1 unrecognised error line in
  OK - * checks pass, 0 unknown | (glob)

The report has the first lines and the count of the others; a flood of one error hides no other.

  $ { sed -n 1p faults; seq 5 | sed 's/.*/nvme nvme0: qwerty & failed/'; } | log > x.host; gpuprobe --root x.host
  CRITICAL: SXid 12028 in the kernel log (A GPU's access to the memory of another GPU was denied,
            often because a program ended) [gpu.nvswitch]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    8 GPUs, 0000:17:00.0 to 0000:4f:00.0: NVIDIA H100 80GB HBM3, 79.6 GiB, driver nvidia
    NVIDIA driver 550.163.01, which carries CUDA up to 12.4
  
  Failure: gpu.nvswitch
    SXid 12028 in the kernel log (A GPU's access to the memory of another GPU was denied, often
    because a program ended): newest line: nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal,
    Link 46 egress non-posted PRIV error (First)
    Remedy:
      end all programs on the GPU, then reset it or reboot
      (fault of an NVLink)
  
  Unknown:
    log.disk: 5 unrecognised error lines in the kernel log: nvme nvme0: qwerty 1 failed / nvme nvme0:
    qwerty 2 failed / nvme nvme0: qwerty 3 failed / and 2 more
  
  * checks pass (--verbose shows all) (glob)
  [2]
  $ { sed -n 1p faults; seq 3000 | sed 's/.*/nvme nvme0: qwerty & failed/'; } | log > x.host; gpuprobe --root x.host | sed -n '/^Unknown:/,$p'
  Unknown:
    log.disk: at least 255 unrecognised error lines in the kernel log: nvme nvme0: qwerty 2746 failed
    / nvme nvme0: qwerty 2747 failed / nvme nvme0: qwerty 2748 failed / and 252 more
  
  * checks pass (--verbose shows all) (glob)
  $ gpuprobe capture --root x.host y.host; gpuprobe --root x.host > one; gpuprobe --root y.host | cmp - one

Errors with a known meaning have a verdict of their own, and the unknown ones next to them are counted.

  $ { sed -n '/reached miss count/p' faults; echo 'mlx5_core 0000:3b:00.0: qwerty failed'; } | log > x.host; gpuprobe --root x.host
  CRITICAL: the firmware of an mlx5 adapter failed (1 line) [log.network]
    Debian GNU/Linux 12 (bookworm), kernel 6.1.0-41-amd64
    Made-up CPU: 32 cores, 64 CPUs, 2 NUMA nodes, 512 GiB of memory
    8 GPUs, 0000:17:00.0 to 0000:4f:00.0: NVIDIA H100 80GB HBM3, 79.6 GiB, driver nvidia
    NVIDIA driver 550.163.01, which carries CUDA up to 12.4
  
  Failure: log.network
    the firmware of an mlx5 adapter failed (1 line): mlx5_core 0000:3b:00.0: poll_health:825:(pid 0):
    device's health compromised - reached miss count; 1 more error line with unknown meaning
    Remedy:
      Update the adapter's firmware. To restart the adapter, reboot or:
        devlink health show
      If it recurs with current firmware, have the adapter replaced.
  
  * checks pass (--verbose shows all) (glob)
  [2]
  $ log() { cat $FIXTURES/epyc-nps4.host; [ -z "$1" ] || printf 'file /.facts/kernel_log_source\n\tnow %s start_lost 0 crashes 0 from kernel buffer\n' "$1"; echo 'file /.facts/kernel_log'; sed 's/^/\t/'; }
  $ check() { gpuprobe --root x.host -v | sed -n "/^$1 /,/^log/p" | sed '$d' | tr -s ' ' | tr -d '\n'; echo; }

An error that is over counts for a day, or for a week if it recurs. Later lines about the same device end an error: a new start of the
driver, a recovery, a link that is up again. A new boot ends everything.

  $ T='nvme nvme0: I/O 2 QID 3 timeout, aborting'; DAY=86400
  $ echo "<4>[100.5] $T" | log $((DAY / 2)) > x.host; check log.disk
  log.disk warn an NVMe disk did not answer in time (1 line, 12 h ago): nvme nvme0: I/O 2 QID 3 timeout, aborting
  $ echo "<4>[100.5] $T" | log $((2 * DAY)) > x.host; check log.disk
  log.disk pass no such error in the kernel log; 1 line about errors that are over
  $ for t in 100.5 300 5000; do echo "<4>[$t] $T"; done | log $((2 * DAY)) > x.host; check log.disk
  log.disk warn an NVMe disk did not answer in time (3 lines, 47 h ago): nvme nvme0: I/O 2 QID 3 timeout, aborting
  $ for t in 100.5 300 5000; do echo "<4>[$t] $T"; done | log $((9 * DAY)) > x.host; check log.disk
  log.disk pass no such error in the kernel log; 1 line about errors that are over
  $ { echo 'nvme nvme0: controller is down; will reset: CSTS=0x3'; echo 'nvme nvme0: 63/0/0 default/read/poll queues'; } | log > x.host; check log.disk
  log.disk pass no such error in the kernel log; 1 line about errors that are over
  $ { echo 'nvme nvme0: controller is down; will reset: CSTS=0x3'; echo 'nvme nvme1: 63/0/0 default/read/poll queues'; } | log > x.host; check log.disk
  log.disk fail an NVMe disk does not respond (1 line): nvme nvme0: controller is down; will reset: CSTS=0x3
  $ { echo 'mlx5_core 0000:3b:00.0: Fatal error 1 detected'; echo 'mlx5_core 0000:3b:00.0: firmware version: 28.39.1002'; } | log > x.host; check log.network
  log.network pass no such error in the kernel log; 1 line about errors that are over
  $ { echo 'mlx5_core 0000:3b:00.0 e1: Link up'; echo 'mlx5_core 0000:3b:00.0 e1: Link down'; } | log > x.host; check log.link
  log.link warn the link of a network port went down (1 line): mlx5_core 0000:3b:00.0 e1: Link down
  $ echo 'mlx5_core 0000:3b:00.0 e1: Link down' | log > x.host; check log.link
  log.link pass no such error in the kernel log
  $ { for t in 1 2 3; do echo "<6>[$t] mlx5_core 0000:3b:00.0 e1: Link up"; echo "<6>[$t.5] mlx5_core 0000:3b:00.0 e1: Link down"; done; echo '<6>[4] mlx5_core 0000:3b:00.0 e1: Link up'; } | log 500 > x.host; check log.link
  log.link warn the link of a network port went down, recovered, and had the error again (3 lines, 8 min ago): mlx5_core 0000:3b:00.0 e1: Link down
  $ { echo 'EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2'; echo '[    0.000000] Linux version 6.1.0-41-amd64'; } | log > x.host; check log.filesystem
  log.filesystem pass no such error in the kernel log

The same for NVIDIA's modules and resets.

  $ gpu() { cat $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; sed 's/^/\t/'; }
  $ X='NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.'
  $ echo "$X" | gpu > x.host; gpuprobe --root x.host -q
  WARNING: a GPU has fallen off the bus since boot; NVML now responds for every GPU [gpu.lost]
  [1]
  $ { echo "$X"; echo 'nvidia-nvlink: Nvlink Core is being initialized, major device number 236'; } | gpu > x.host; gpuprobe --root x.host -q
  OK: no problem found
  $ { echo "$X"; echo 'NVRM: Xid (PCI:0000:17:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)'; } | gpu > x.host; gpuprobe --root x.host -q
  OK: no problem found
  $ { echo "$X"; echo 'NVRM: Xid (PCI:0000:1f:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)'; } | gpu > x.host; gpuprobe --root x.host -q
  WARNING: a GPU has fallen off the bus since boot; NVML now responds for every GPU [gpu.lost]
  [1]

Corrected errors count by their rate: of a module per day, of a PCIe device per hour. The counters need no root.

  $ CE='EDAC MC0: 3 CE memory read error on DIMM_A1 (channel:0 slot:0 page:0x3b8e4d offset:0x0 grain:32)'
  $ for t in 1 2 3; do echo "<3>[$t] $CE"; done | log 100 > x.host; check log.hardware
  log.hardware pass no such error in the kernel log
  $ for t in 1 2 3 4; do echo "<3>[$t] $CE"; done | log 100 > x.host; check log.hardware
  log.hardware warn memory module DIMM_A1 has 12 corrected errors in the kernel log, 12 per day
  $ for t in 1 2 3 4; do echo "<3>[$t] $CE"; done | log $((3 * DAY)) > x.host; check log.hardware
  log.hardware pass no such error in the kernel log
  $ A='pcieport 0000:16:01.0: AER: Corrected error received: 0000:17:00.0'
  $ for t in $(seq 400); do echo "<4>[$t] $A"; done | log 4000 > x.host; check log.pcie
  log.pcie pass no such error in the kernel log
  $ for t in $(seq 700); do echo "<4>[$t] $A"; done | log 4000 > x.host; check log.pcie
  log.pcie warn PCIe device pcieport 0000:16:01.0 has 700 corrected errors (AER), 630 per hour; each costs a repeated transfer
  $ edac() { printf 'file /sys/devices/system/edac/mc/mc0/%s\n\t%s\n' seconds_since_reset $1 ce_count $2 ue_count $3 dimm3/dimm_ce_count $2 dimm3/dimm_ue_count $3 dimm3/dimm_label P0_DIMM_C1; }
  $ { cat $FIXTURES/epyc-nps4.host; edac $((10 * DAY)) 99 0; } > x.host; check log.hardware
  log.hardware skip the kernel log was not examined: only root can read it
  $ { cat $FIXTURES/epyc-nps4.host; edac $((10 * DAY)) 100 0; } > x.host; check log.hardware
  log.hardware warn memory module P0_DIMM_C1 has 100 corrected errors, 10 per day
  $ { cat $FIXTURES/epyc-nps4.host; edac $((10 * DAY)) 0 2; } > x.host; check log.hardware
  log.hardware fail memory module P0_DIMM_C1 has 2 uncorrectable errors since boot
  $ aer() { D=/sys/devices/pci0000:17/0000:16:01.0/0000:17:00.0; printf "file $D/aer_dev_%s\n\tRxErr 0\n\t%s %s\n" correctable TOTAL_ERR_COR $1 nonfatal TOTAL_ERR_NONFATAL $2 fatal TOTAL_ERR_FATAL $3; printf 'file /proc/uptime\n\t36000.12 4711.00\n'; }
  $ { cat $FIXTURES/server-8gpu.host; aer 4800 0 0; } > x.host; check log.pcie
  log.pcie skip the kernel log was not examined: only root can read it
  $ { cat $FIXTURES/server-8gpu.host; aer 4801 0 0; } > x.host; check log.pcie
  log.pcie warn PCIe device 0000:17:00.0 has 4801 corrected errors (AER), 480 per hour; each costs a repeated transfer
  $ { cat $FIXTURES/server-8gpu.host; aer 0 0 1; } > x.host; check log.pcie
  log.pcie warn PCIe device 0000:17:00.0 has 1 fatal and 0 other uncorrected errors (AER) since boot

The report names the source. A lost start is not examined.

  $ echo '<6>[7] nvme nvme0: x' | log 100 > x.host; gpuprobe --root x.host | tail -n 1
  the kernel log was read from the kernel's buffer
  $ sed 's/start_lost 0 crashes 0 from kernel buffer/start_lost 1 crashes 2 from kernel buffer/' x.host > y.host; gpuprobe --root y.host | tail -n 1; gpuprobe --root y.host -f line
  the start of the kernel log is lost, so the errors in it were not examined
  GPUPROBE OK - * checks pass, 0 unknown, start of the kernel log not examined | fail=0;;0 warn=0;0 unknown=0 pass=* gpus=0 (glob)
  $ mv y.host x.host; check log.oops; check log.oom; sed -i 's/start_lost 1 crashes 2 from kernel buffer/start_lost 0 crashes 0 from journal/' x.host; gpuprobe --root x.host | tail -n 1
  log.oops pass no such error in the kernel log, whose start is lost; 2 records of crashes of earlier boots in pstore
  log.oom pass no such error in the kernel log, whose start is lost
  the kernel log was read from the journal

Errors of the kernel itself have separate checks, also on hosts without a GPU.

  $ C=',nodemask=(null),cpuset=job,mems_allowed=0-1,oom_memcg=/slurm/uid_1/job_42,task_memcg=/slurm/uid_1/job_42/step_0,task=python3,pid=4711,uid=1000'
  $ for line in "oom-kill:constraint=CONSTRAINT_MEMCG$C" "oom-kill:constraint=CONSTRAINT_NONE${C},x" \
  >   'Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0' \
  >   'INFO: task jbd2/nvme0n1p2-:812 blocked for more than 120 seconds.' 'watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [python3:4711]' \
  >   'rcu: INFO: rcu_sched detected stalls on CPUs/tasks:' 'EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm python3: reading directory lblock 0' \
  >   'XFS (nvme1n1): metadata I/O error in "xfs_imap_to_bp+0x5c" at daddr 0x40 len 32 error 5' 'Buffer I/O error on dev sdb1, logical block 1, lost async page write' \
  >   'mce: CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)'; do
  >   { cat $FIXTURES/cpu-server.host; echo 'file /.facts/kernel_log'; printf '\t%s\n' "$line"; } > x.host
  >   gpuprobe --root x.host -v | grep -E '^log[.][a-z]* +(warn|fail|unknown)' | tr -s ' ' | cut -c1-150; done
  log.oom warn the kernel killed python3 for lack of memory in cgroup
  log.oom warn the kernel killed python3 for lack of memory in cgroup
  log.oom warn the kernel killed a process for lack of memory (1 line): Out of memory:
  log.stall warn a task or a CPU hung in the kernel (1 line): INFO: task
  log.stall warn a task or a CPU hung in the kernel (1 line): watchdog: BUG: soft lockup
  log.stall warn a task or a CPU hung in the kernel (1 line): rcu: INFO: rcu_sched
  log.filesystem fail a file system had an error (1 line): EXT4-fs error (device nvme0n1p2):
  log.filesystem fail a file system had an error (1 line): XFS (nvme1n1): metadata I/O error
  log.filesystem fail a file system had an error (1 line): Buffer I/O error on dev sdb1,
  log.thermal warn a processor reduced its clock because of heat (1 line): mce: CPU3: Core

Other checks ignore a GPU that fell off the bus and is missing in sysfs; its line still counts.

  $ { cat $FIXTURES/cpu-server.host; echo 'file /.facts/kernel_log'; sed -n '/: 79,/s/^/\t/p' faults; } > x.host; gpuprobe --root x.host | sed -n '/^Unknown:/,/^$/p'
  Unknown:
    log.gpu: 1 unrecognised error line in the kernel log: NVRM: Xid (PCI:0000:17:00): 79,
    pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
  

An unreadable log is reported as not examined, in each format.

  $ gpuprobe --root $FIXTURES/server-8gpu.host | tail -n 1; gpuprobe --root $FIXTURES/server-8gpu.host -f line
  the kernel log was not examined
  GPUPROBE OK - * checks pass, 0 unknown, kernel log not examined | fail=0;;0 warn=0;0 unknown=0 pass=* gpus=8 (glob)
  $ gpuprobe --root $FIXTURES/server-8gpu.host -v | grep -A 1 '^log[.]'
  log.gpu              skip   the kernel log was not examined: only root can read it
  log.network          skip   the kernel log was not examined: only root can read it
  log.link             skip   the kernel log was not examined: only root can read it
  log.disk             skip   the kernel log was not examined: only root can read it
  log.pcie             skip   the kernel log was not examined: only root can read it
  log.hardware         skip   the kernel log was not examined: only root can read it
  log.oom              skip   the kernel log was not examined: only root can read it
  log.stall            skip   the kernel log was not examined: only root can read it
  log.oops             skip   the kernel log was not examined: only root can read it
  log.filesystem       skip   the kernel log was not examined: only root can read it
  log.thermal          skip   the kernel log was not examined: only root can read it

Control characters and other bytes outside ASCII never reach the terminal or a document.

  $ printf 'NVRM: \033]0;owned\a\033[2J \302\2332J \377 Xid failed \r%s\n' x | log > x.host
  $ gpuprobe --root x.host > out; gpuprobe --root x.host -v >> out; gpuprobe --root x.host --json >> out; for f in line markdown openmetrics; do gpuprobe --root x.host -f $f >> out; done
  [3]
  $ LC_ALL=C grep -c '[^ -~]' out; grep -m 1 '^  log.gpu' out
  0
    log.gpu: 1 unrecognised error line in the kernel log: NVRM: ?]0;owned??[2J ??2J ? Xid failed ?x

A log of 14 MB with relevant lines only, one of them of a megabyte, takes seconds; one of more than 16 MiB is unknown; a
file of 100 MB is refused.

  $ python3 - > x.host << 'END'
  > import os
  > print(open(os.environ["FIXTURES"] + "/server-8gpu.host").read(), end="")
  > print("file /.facts/kernel_log")
  > for i in range(100000):
  >     print(f"\tNVRM: qwerty {i} " + "x" * 100)
  > print("\tNVRM: " + "[" * 1000000)
  > END
  $ ls -l x.host | awk '{ print $5 > 12e6 }'; timeout 60 gpuprobe --root x.host -q; echo "ends with $?"
  UNKNOWN: at least 256 unrecognised error lines in the kernel log [log.gpu]
  ends with 3
  $ sed -n '/^\tNVRM/p' x.host > more; cat x.host more > y.host; timeout 60 gpuprobe --root y.host -q; echo "ends with $?"; gpuprobe --root y.host | grep log.gpu
  UNKNOWN: the kernel log was not examined [gpu.nvswitch]
  ends with 3
    log.gpu: the kernel log was not examined: it is broken
  $ for i in 1 2 3 4 5 6 7 8; do sed -n '/^\tNVRM/p' x.host; done > more; cat x.host more > y.host; timeout 60 gpuprobe --root y.host -q; echo "ends with $?"
  gpuprobe: y.host is larger than the limit of 67108864 bytes
  ends with 64
