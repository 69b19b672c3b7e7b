Each process that mpirun starts writes its own result; fleet reads them, and knows one machine when it sees it.

  $ command -v mpirun > /dev/null || { echo 'no mpirun here'; exit 80; }
  $ mpirun --allow-run-as-root --oversubscribe -n 2 gpubench run --workload sim --pairs 3 -q -o r%r.json > /dev/null 2>&1
  $ ls r*.json
  r0.json
  r1.json
  $ gpubench fleet r*.json | grep -E '^(note|VERDICT)'
  note: r*: a newer result of the same machine is there; left out (glob)
  VERDICT INCONCLUSIVE: a class of hosts is judged from four on
