The processes that hold GPUs: their users and jobs, and memory that is held without a running process.

  $ for host in held held-zombie held-exiting held-gone held-orphan held-container held-grace held-kfd held-kfd-user; do
  >   echo "$host: $(gpuprobe --root $FIXTURES/$host.host --format line | sed 's/ |.*//')"
  > done
  held: GPUPROBE OK - 48 checks pass, 0 unknown, kernel log not examined
  held-zombie: GPUPROBE WARNING - gpu.zombie-context: process 4242 python3 has ended (zombie), but still holds 20.0 GiB of GPU 0000:17:00.0
  held-exiting: GPUPROBE WARNING - gpu.zombie-context: process 4242 python3 is ending and waits in the kernel, but still holds 20.0 GiB of GPU 0000:17:00.0
  held-gone: GPUPROBE WARNING - gpu.zombie-context: process 4242 no longer exists, but still holds 20.0 GiB of GPU 0000:17:00.0
  held-orphan: GPUPROBE WARNING - gpu.zombie-context: 36.0 GiB of GPU 0000:1f:00.0 are in use, but no process holds the GPU
  held-container: GPUPROBE OK - 47 checks pass, 0 unknown, kernel log not examined
  held-grace: GPUPROBE OK - 52 checks pass, 0 unknown, kernel log not examined
  held-kfd: GPUPROBE OK - 25 checks pass, 0 unknown, kernel log not examined
  held-kfd-user: GPUPROBE OK - 25 checks pass, 0 unknown, kernel log not examined
  $ gpuprobe --root $FIXTURES/held.host -v | sed -n '/memory in use/,/^$/p'
    GPU 0000:17:00.0: memory in use 61.0 GiB, utilisation 97 %; 4243 python3 (user2, Slurm job
    1392970), 40.0 GiB; 4242 python3 (user, Slurm job 1392969), 20.0 GiB
    GPU 0000:1f:00.0: memory in use 20.0 GiB, utilisation 0 %; 5151 jupyter-lab (user, unit
    jupyter-user.service), 20.0 GiB
    GPU 0000:27:00.0: memory in use 0 B, utilisation 0 %; no process
    GPU 0000:2f:00.0: memory in use 40.0 GiB, utilisation 88 %; 6001 python3 (root, pod
    00000000-0000-0000-0000-000000000001), 40.0 GiB
  
  $ gpuprobe --root $FIXTURES/held-container.host -v | sed -n '/memory in use/,/^$/p'
    GPU 0000:17:00.0: memory in use 36.0 GiB, utilisation 95 %; processes unknown
    not all processes on the GPUs are known: processes outside of this container, or of other users,
    are not visible
  
  $ gpuprobe --root $FIXTURES/held-orphan.host | sed -n '/^Warning/,/^$/p'
  Warning: gpu.zombie-context
    36.0 GiB of GPU 0000:1f:00.0 are in use, but no process holds the GPU
    Remedy:
      A large process needs some seconds to end: check again after a minute. List the programs that
      still have the device open, as root:
        fuser -v /dev/nvidia*
      End all programs that use the GPU, which are listed first. Then reset it, or reboot:
        nvidia-smi -i 0000:1f:00.0 --query-compute-apps=pid,name --format=csv
        nvidia-smi --gpu-reset -i 0000:1f:00.0
  
  $ gpuprobe --root $FIXTURES/held-kfd-user.host -v | grep -A2 -e 'memory in use 150' -e 'not all'
    GPU 0000:11:00.0: memory in use 150 GiB, utilisation 93 %; 4242 python3 (a) b (user, Slurm job
    1392969), 149 GiB
    GPU 0000:2f:00.0: memory in use 12.0 MiB, utilisation 0 %; 4300 jupyter-lab (user2, unit
  --
    not all processes on the GPUs are known: only the processes of this user can be examined; root can
    examine all
  

Without NVML the open device files count. The minor number of a device file is not the index of the GPU.

  $ gpuprobe --root $FIXTURES/held-files.host -v | sed -n '/memory in use/,/^$/p'
    GPU 0000:17:00.0: memory in use unknown, utilisation unknown; 4242 python3 (a) b (user, Slurm job
    1392969); 4301 nvidia-persiste (user2, unit x.service), exiting
    GPU 0000:1f:00.0: memory in use unknown, utilisation unknown; no process
  

A host without such data answers that it is unknown.

  $ gpuprobe --root $FIXTURES/mi300x.host -v | grep -e 'not all' -e '^gpu.zombie' -e '^gpu.idle'
    not all processes on the GPUs are known: the capture has no list of processes
  gpu.zombie-context   skip   which processes hold the GPUs is unknown: the capture has no list of
  gpu.idle-memory      skip   which processes hold the GPUs is unknown: the capture has no list of

A capture has neither the files of /proc nor names of users. It is judged like its host.

  $ sed -e 's/user2/bob/g' -e 's/user:x/alice:x/' $FIXTURES/held-kfd.host > people.host
  $ gpuprobe --root people.host -v | grep -A1 -e 4242 -e 4300
    GPU 0000:11:00.0: memory in use 150 GiB, utilisation 93 %; 4242 python3 (a) b (alice, Slurm job
    1392969), 149 GiB
    GPU 0000:2f:00.0: memory in use 12.0 MiB, utilisation 0 %; 4300 jupyter-lab (bob, unit
    jupyter-bob.service)
  $ gpuprobe --root people.host capture kfd.host; grep -c -e /proc/4242 -e /etc/passwd -e alice -e bob kfd.host
  0
  [1]
  $ grep -e '"user"' -e '"name": "python' -e '"id"' kfd.host | tr -s ' \t\n' ' '; echo
   "name": "python3 (a) b", "user": "user", "id": "1392969" "user": "user2", "id": "jupyter-user2.service" 
  $ gpuprobe --root kfd.host -v | grep -A1 'memory in use 150'
    GPU 0000:11:00.0: memory in use 150 GiB, utilisation 93 %; 4242 python3 (a) b (user, Slurm job
    1392969), 149 GiB

A damaged list is unknown.

  $ sed '/gpu_holders/{n;s/.*/\t{/}' $FIXTURES/held.host > damaged.host; gpuprobe --root damaged.host -v | grep -e 'not all' -e '^gpu.zombie'
    not all processes on the GPUs are known: the list of processes in the capture is damaged
  gpu.zombie-context   skip   which processes hold the GPUs is unknown: the list of processes in the
  $ sed '/gpu_holders/{n;s/"pid": [0-9]*/"pid": -1/;s/"state": "runs"/"state": 7/;s/"memory_bytes": [0-9]*/"memory_bytes": "x"/}' \
  >   $FIXTURES/held.host > hostile.host; gpuprobe --root hostile.host --json | grep -A1 '"pid": 4243' ; gpuprobe --root hostile.host -q
                "pid": 4243,
                "name": "python3",
  OK: no problem found

Metrics have no process numbers, and at most nine pairs of user and group per GPU.

  $ gpuprobe --root $FIXTURES/held.host --format openmetrics | grep -e processes -e holder -e memory_used
  # HELP gpuprobe_gpu_memory_used_bytes memory in use
  # TYPE gpuprobe_gpu_memory_used_bytes gauge
  gpuprobe_gpu_memory_used_bytes{pci="0000:17:00.0"} 65498251264
  gpuprobe_gpu_memory_used_bytes{pci="0000:1f:00.0"} 21474836480
  gpuprobe_gpu_memory_used_bytes{pci="0000:27:00.0"} 0
  gpuprobe_gpu_memory_used_bytes{pci="0000:2f:00.0"} 42949672960
  # HELP gpuprobe_gpu_processes processes that hold the GPU
  # TYPE gpuprobe_gpu_processes gauge
  gpuprobe_gpu_processes{pci="0000:17:00.0"} 2
  gpuprobe_gpu_processes{pci="0000:1f:00.0"} 1
  gpuprobe_gpu_processes{pci="0000:27:00.0"} 0
  gpuprobe_gpu_processes{pci="0000:2f:00.0"} 1
  # HELP gpuprobe_gpu_holder_memory_bytes GPU memory of the processes of a user and group
  # TYPE gpuprobe_gpu_holder_memory_bytes gauge
  gpuprobe_gpu_holder_memory_bytes{pci="0000:17:00.0",user="user2",group="Slurm job 1392970"} 42949672960
  gpuprobe_gpu_holder_memory_bytes{pci="0000:17:00.0",user="user",group="Slurm job 1392969"} 21474836480
  gpuprobe_gpu_holder_memory_bytes{pci="0000:1f:00.0",user="user",group="unit jupyter-user.service"} 21474836480
  gpuprobe_gpu_holder_memory_bytes{pci="0000:2f:00.0",user="root",group="pod 00000000-0000-0000-0000-000000000001"} 42949672960
  $ python3 - "$FIXTURES/held.host" > many.host <<'END'
  > import json, re, sys
  > for line in open(sys.argv[1]):
  >     if line.startswith('\t{"note"'):
  >         doc = json.loads(line)
  >         first = doc["gpus"][0]["processes"][0]
  >         doc["gpus"][0]["processes"] = [dict(first, pid=9000 + i, memory_bytes=(i + 1) << 20, user=f"u{i}") for i in range(300)]
  >         line = "\t" + json.dumps(doc) + "\n"
  >     sys.stdout.write(line)
  > END
  $ gpuprobe --root many.host --format openmetrics | grep 'holder_memory.*17:00' | sed -n '1p;$p;$='
  gpuprobe_gpu_holder_memory_bytes{pci="0000:17:00.0",user="u299",group="Slurm job 1392969"} 314572800
  gpuprobe_gpu_holder_memory_bytes{pci="0000:17:00.0",user="other",group="other"} 44855984128
  9
  $ gpuprobe --root many.host -v | grep -A3 '17:00.0: memory in use'
    GPU 0000:17:00.0: memory in use 61.0 GiB, utilisation 97 %; 9299 python3 (u299, Slurm job
    1392969), 300 MiB; 9298 python3 (u298, Slurm job 1392969), 299 MiB; 9297 python3 (u297, Slurm job
    1392969), 298 MiB; 9296 python3 (u296, Slurm job 1392969), 297 MiB; 296 more
    GPU 0000:1f:00.0: memory in use 20.0 GiB, utilisation 0 %; 5151 jupyter-lab (user, unit

gpuprobe watch lists the processes, and its patterns name them. Here the GPUs are a stand-in NVML, and the shell is the holder.

  $ test -e "$BUILDDIR/tests/standin/libnvidia-ml.so.1" || { echo 'the stand-in library is not built'; exit 80; }
  $ watch() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin gpuprobe watch "$@"; }
  $ export STANDIN_HOLDERS=$$=512,$$=512,1=256
  $ STANDIN_COMPUTE=4 watch -n 3 -i 0.1 -q | tr '\n' ' ' | grep -o "gpu.idle, GPU 0 (0000:17:00.0): uses 64.0 GiB, computes 4 % of the time; held by $$ bash" | sed "s/$$/PID/"
  gpu.idle, GPU 0 (0000:17:00.0): uses 64.0 GiB, computes 4 % of the time; held by PID bash
  $ watch -n 1 --json | head -n 1 > sample; python3 -c 'import json; d = json.load(open("sample"))["gpus"][0]; p = d["processes"];
  > print(len(p), p[0]["name"], p[0]["state"], p[0]["memory_bytes"], p[1]["memory_bytes"])'
  2 bash runs 536870912 268435456
  $ watch -n 1 -f openmetrics | grep -m 1 -o 'gpuprobe_watch_gpu_holder_memory_bytes{gpu="0",pci="0000:17:00.0",user="'
  gpuprobe_watch_gpu_holder_memory_bytes{gpu="0",pci="0000:17:00.0",user="
