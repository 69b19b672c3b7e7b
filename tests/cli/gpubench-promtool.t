promtool, the checker of Prometheus, accepts the output of --openmetrics without a remark.

  $ command -v promtool > /dev/null || { echo 'no promtool here (Debian: prometheus)'; exit 80; }
  $ gpubench run --workload sim,null --env GPUBENCH_SIM=effect=.03 --quick --seed 7 -q --openmetrics - | promtool check metrics
  $ gpubench run --workload sim --pairs 3 -q --openmetrics - | promtool check metrics
  $ gpubench prove --env A=1 --workload sim --quick --seed 3 -q --receipt p.json > /dev/null; gpubench report p.json --openmetrics - | promtool check metrics
