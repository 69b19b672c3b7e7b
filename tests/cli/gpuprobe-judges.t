Hosts that are well although one source says otherwise, and hosts that are not although one source says so: each is one of the
captured hosts with a few lines changed.

  $ say() { gpuprobe --root "$1" -v | grep "^$2 " | tr -s ' '; }
  $ lines() { printf 'file %s\n' "$1"; shift; printf '\t%s\n' "$@"; }
  $ without() { awk -v p="$1" '/^[a-z]/ { skip = index($2, p) == 1 } !skip' "$2"; }

A pod behind a control group namespace, with one of eight GPUs.

  $ { sed 's/"count": 8/"count": 1/' $FIXTURES/server-8gpu.host; lines /.facts/container containerd; } > pod.host
  $ say pod.host gpu.count
  gpu.count pass this container was given 1 of the 8 GPUs on the bus
  $ { sed 's/"count": 8/"count": 1/' $FIXTURES/server-8gpu.host; lines /run/secrets/kubernetes.io/serviceaccount/namespace x; } > pod.host
  $ say pod.host gpu.count
  gpu.count pass this container was given 1 of the 8 GPUs on the bus
  $ without /dev/nvidia pod.host > bare-pod.host; gpuprobe --root bare-pod.host | sed -n '/^Cause/,/^$/p'
  Cause: container.devices
    this container (kubernetes) was not given the GPU: /dev/nvidiactl is absent
    follows from it:
      driver.device-nodes: /dev/nvidiactl is absent from this container (kubernetes)
    do:
      Ask for it in the pod: resources: { limits: { nvidia.com/gpu: 1 } }
  

A job that may open two of eight nodes, without a container.

  $ job() { sed 's/"count": 8/"count": '"$1"'/' $FIXTURES/server-8gpu.host; for i in 0 1; do lines /dev/nvidia$i ''; done; }
  $ job 2 > job.host; say job.host gpu.count
  gpu.count pass this job was given 2 of the 8 GPUs on the bus
  $ { job 7; for i in 2 3 4 5 6 7; do lines /dev/nvidia$i ''; done; } > lost.host; say lost.host gpu.count
  gpu.count fail 8 GPUs on the PCI bus, but NVML sees 7

NVSwitch: NVML's word goes before the manager's file, which may lie in a container or be left over.

  $ without /run/nvidia-fabricmanager $FIXTURES/nvswitch-8gpu.host > elsewhere.host; say elsewhere.host gpu.fabric
  gpu.fabric pass NVML says of every GPU that the switches are set up
  $ sed 's/"fabric_state": 3, //g' $FIXTURES/nvswitch-8gpu.host > silent.host; say silent.host gpu.fabric
  gpu.fabric pass nvidia-fabricmanager runs
  $ without /proc/1234 silent.host > stale.host; say stale.host gpu.fabric
  gpu.fabric fail the GPUs are joined by NVSwitch, and nvidia-fabricmanager does not run
  $ { without /run/nvidia-fabricmanager silent.host; lines /.dockerenv ''; } > inside.host; say inside.host gpu.fabric
  gpu.fabric unknown whether nvidia-fabricmanager runs cannot be seen from here, and NVML

A log of more lines than are kept: what a program brings about goes first.

  $ xid() { printf '\tNVRM: Xid (PCI:0000:%s:00): %s\n' "$@"; }
  $ { cat $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; seq 300 | while read -r i; do xid 17 "13, pid=$i"; done
  >   xid 17 '48, DBE'; seq 300 | while read -r i; do xid 17 "31, pid=$i"; done; } > flood.host
  $ say flood.host gpu.ecc
  gpu.ecc warn a GPU's memory had errors since the boot; NVML answers for every GPU

A line is old when NVML answers for every GPU; without its answer it is not.

  $ log() { cat $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; for x; do printf '\tNVRM: %s\n' "$x"; done; }
  $ hung() { sed 's/^\t{"code": 0, .*/\t{"timeout": true, "error": "no answer", "gpus": []}/'; }
  $ X='Xid (PCI:0000:17:00)' Y='Xid (PCI:0000:1f:00)'
  $ log "$X: 79, GPU has fallen off the bus." > x.host; say x.host gpu.lost; hung < x.host > y.host; say y.host gpu.lost
  gpu.lost warn a GPU has fallen off the bus since the boot; NVML answers for every GPU
  gpu.lost fail a GPU has fallen off the bus: NVRM: Xid (PCI:0000:17:00): 79, GPU has
  $ log "$X: 119, Timeout" > x.host; say x.host gpu.gsp; hung < x.host > y.host; say y.host gpu.gsp
  gpu.gsp warn the firmware of a GPU hung since the boot; NVML answers for every GPU
  gpu.gsp fail the firmware of a GPU hung: NVRM: Xid (PCI:0000:17:00): 119, Timeout
  $ log "$X: 74, NVLink: fatal" > x.host; say x.host gpu.nvlink; hung < x.host > y.host; say y.host gpu.nvlink
  gpu.nvlink warn NVLink had an error since the boot; NVML answers for every GPU now:
  gpu.nvlink fail NVLink had an error: NVRM: Xid (PCI:0000:17:00): 74, NVLink: fatal
  $ log 'GPU 0000:17:00.0: RmInitAdapter failed! (0x62)' > x.host; say x.host gpu.start; sed 's/"count": 8/"count": 7/' x.host > y.host
  gpu.start warn the driver could not start a GPU at some time since the boot; now all
  $ say y.host gpu.start
  gpu.start fail the driver could not start a GPU: NVRM: GPU 0000:17:00.0: RmInitAdapter

What the driver asks for, it also takes back: for each GPU its last word counts.

  $ A='154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)'
  $ B='154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)'
  $ log "$X: $A" "$X: $B" > x.host; say x.host gpu.reset
  gpu.reset pass no GPU waits for a reset
  $ log "$X: $A" "$Y: $A" "$X: $B" > x.host; say x.host gpu.reset; hung < x.host > y.host; say y.host gpu.reset
  gpu.reset warn the driver has asked for the reset of a GPU since the boot; NVML answers
  gpu.reset fail a GPU refuses work until it is reset: NVRM: Xid (PCI:0000:1f:00): 154,
  $ log "$X: $A" "$X: $B" "$X: $A" > x.host; say x.host gpu.reset
  gpu.reset warn the driver has asked for the reset of a GPU since the boot; NVML answers

Firmware that is not on the disk is installed, not waited for with a power cycle.

  $ { log 'GPU 0000:17:00.0: RmInitAdapter failed! (0x62)' | sed 's/"count": 8/"count": 7/'
  >   printf '\tnvidia 0000:17:00.0: Direct firmware load for nvidia/550.163.01/gsp_tu10x.bin failed with error -2\n'; } > x.host
  $ gpuprobe --root x.host | sed -n '/^Cause/,/^$/p'
  Cause: gpu.start
    the driver could not start a GPU, since its firmware is not on the disk: nvidia 0000:17:00.0:
    Direct firmware load for nvidia/550.163.01/gsp_tu10x.bin failed with error -2
    follows from it:
      gpu.count: 8 GPUs on the PCI bus, but NVML sees 7
    do:
        apt install firmware-nvidia-gsp
      (non-free-firmware; of the driver's version), then
        modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia
      or reboot
  

A remedy names the card by its address: NVML counts otherwise where one is set aside.

  $ { sed 's/"pci": "00000000:1F:00.0",/& "mig": 0, "mig_pending": 1,/' $FIXTURES/server-8gpu.host |
  >     sed '/^link .*:17:00.0\/driver /s/nvidia$/vfio-pci/' | sed 's/"count": 8/"count": 7/'; } > mig.host
  $ gpuprobe --root mig.host | grep gpu-reset
        nvidia-smi --gpu-reset -i 0000:1f:00.0
