Each process under mpirun writes its own result; fleet reads them and recognises one machine.

  $ command -v mpirun > /dev/null || { echo 'no mpirun here'; exit 80; }
  $ mpirun --allow-run-as-root --oversubscribe -n 2 gpubench run --workload sim --pairs 3 -q -o r%r.json > /dev/null 2>&1
  $ ls r*.json
  r0.json
  r1.json
  $ gpubench fleet r*.json | grep -E '^(note|VERDICT)'
  note: r*: a newer result of the same machine exists; left out (glob)
  VERDICT INCONCLUSIVE: a class needs at least four hosts

The MPI library's allreduce between two ranks is a workload, which detects a wrong result.

  $ gpubench launch comm.mpi --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print([m["id"] for m in d["metrics"]], d["params"]["ranks"], d["notes"]["transport"])'
  ['comm.mpi.64k', 'comm.mpi.1m', 'comm.mpi.25m'] 2 mpi
  $ GPUBENCH_FAULT=verify gpubench launch comm.mpi > /dev/null
  gpubench: comm.mpi: 3 elements are not the mean over the ranks
  [6]
  $ OMPI_COMM_WORLD_SIZE=2 gpubench launch comm.mpi
  gpubench: comm.mpi cannot run here: mpirun started this process, and mpirun cannot be nested
  [70]
  $ PATH=$(dirname $(command -v gpubench)) gpubench launch comm.mpi
  gpubench: comm.mpi cannot run here: mpirun not found: install openmpi-bin
  [70]
