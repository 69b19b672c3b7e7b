GPU activity by NVML is recorded next to each launch that may use a GPU. Here NVML is a stand-in with planned temperatures.

  $ test -e "$BUILDDIR/tests/standin/libnvidia-ml.so.1" || { echo 'the stand-in library is not built'; exit 80; }
  $ export STANDIN_EPISODE=$PWD/episode; : > episode
  $ run() { rm -f n; : > episode; LD_LIBRARY_PATH=$BUILDDIR/tests/standin gpubench run --workload null --quiet --seed 3 "$@"; }
  $ cat > work.sh <<'END'
  > n=$(cat n 2> /dev/null || echo 0); echo $((n + 1)) > n; echo "took $((n == 6 ? 40 : 10 + n % 2))"
  > test $n = 6 || exec sleep 0.3
  > echo $KIND > episode; sleep 0.3; : > episode
  > END
  $ cat > cause.py <<'END'
  > import json, re
  > for o in json.load(open("r.json"))["outliers"]:
  >     mine = (o["code"] or "").startswith("gpu")
  >     print(o["metric"], round(o["deviation_pct"]), re.sub("^[0-9.]+ %", "N %", o["cause"].split(": ", 1)[1]) if mine else "no GPU's doing")
  > END
  $ episode() { export KIND=$1; run --pairs 10 --metric 'regex:took ([0-9]+)' --unit ms --warmup 0 -o r.json -- sh work.sh > text
  >   python3 cause.py; }

A slow launch is explained.

  $ episode heat
  cmd 264 N % of the time, usually 0
  $ grep -c '^GPU in 10 launches, 1[0-9]* to 1980 MHz, 64 to 91 degrees, 612 W, clocks limited in 1 of' text
  1
  $ python3 - <<'END'
  > import json
  > d = json.load(open("r.json"))
  > ran = [l for l in d["launches"] if l["workload"] == "cmd"]
  > card = ran[6]["gpu"]["cards"][0]
  > print(len(ran), all("gpu" in l for l in ran), any("gpu" in l for l in d["launches"] if l["workload"] == "null"))
  > print(card["name"], card["sm_max_mhz"], card["sm_min_mhz"], card["temperature_c"], sorted(card["held_pct"]))
  > p = card["points"]
  > print(p["t_s"][0], p["sm_mhz"][0], p["sm_mhz"][-1], set(p["sm_mhz"]) == {1200, 1980}, len({len(v) for v in p.values()}))
  > print(all(l["gpu"]["cpu_share"] < .5 for l in ran))
  > END
  10 True False
  Stand-in card 1980 1200 91 ['hardware slowdown', 'software thermal']
  0.0 1980 1980 True 1
  True
  $ tr '\n' ' ' < text | grep -c 'far from the others: launch [0-9]* (A), cmd +264 %: the GPU was slowed down by heat: [0-9.]* %'
  1
  $ gpubench report r.json --html r.html > /dev/null; grep -c 'mean clock of the GPU: [0-9]* to 1980 MHz</text>' r.html
  2
  $ episode brake; grep -c "GPU's power brake was active" r.json
  cmd 264 N % of the time, usually 0
  1
  $ episode cap; grep -c 'GPU reached its power limit' r.json
  cmd 264 N % of the time, usually 0
  1
  $ episode lost
  cmd 264 GPU 0: GPU is lost

A GPU without data or without use explains nothing.

  $ episode mute
  cmd 264 no GPU's doing
  $ episode idle
  cmd 264 no GPU's doing

An NVML that fails, crashes or hangs is reported once, and the run continues without it. A missing NVML is not reported.

  $ trouble() { STANDIN_NVML=$1 run --pairs 2 -- true | tr '\n' ' ' | grep -o 'note: [^;]*;  *the GPU.s clocks[^;]*'; }
  $ trouble 9
  note: NVML: Driver Not Loaded; the GPU's clocks, power and temperature are not recorded from here on
  $ trouble crash
  note: the child process that reads NVML ended; the GPU's clocks, power and temperature are not recorded from here on
  $ trouble hang
  note: NVML gave no answer within 15 s; the GPU's clocks, power and temperature are not recorded from here on
  $ gpubench run --workload null --quiet --pairs 2 -- true | grep GPU
  [1]

Also next to a training run and each rung of a ladder.

  $ test -e "$BUILDDIR/tests/standin/libcuda.so.1" || { echo 'built without kernels'; exit 80; }
  $ small() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin "$@"; }; : > episode
  $ small gpubench train mlp --device cuda --batch 4 --steps 2 --warmup 0 --quiet | grep '^card'
  card       GPU in 1 launch, 1980 MHz, 64 degrees, 612 W; monitoring took * % of a CPU (glob)
  $ small gpubench train mlp --device cuda --batch 4 --steps 2 --warmup 0 --quiet --json > t.json
  $ python3 - <<'END'
  > import json
  > d = json.load(open("t.json"))
  > print(d["env"]["gpu_sm_mhz"], d["env"]["gpu_temp_c"], d["env"]["gpu_power_cap_pct"], d["gpu"]["cards"][0]["name"], "gpu_trouble" in d)
  > END
  1980.0 64.0 0.0 Stand-in card False
  $ STANDIN_NVML=9 small gpubench train mlp --device cuda --batch 4 --steps 2 --warmup 0 --quiet | grep '^card'
  card       its clocks, power and temperature are not recorded: NVML: Driver Not Loaded
  $ gpubench train mlp --batch 4 --steps 2 --warmup 0 --quiet | grep -c '^card'
  0
  [1]
  $ tiny="--train=--batch --train=4 --train=--steps --train=2 --train=--warmup --train=0"
  $ small gpubench ladder precision --model mlp --device cuda $tiny --rounds 1 --seed 5 -q -o l.json > /dev/null
  $ python3 - <<'END'
  > import json
  > l, = json.load(open("l.json"))["ladders"]
  > print(all(x["failure"] or (x["env"]["gpu_power_w"], len(x["gpu"]["cards"])) == (612.5, 1) for r in l["rungs"] for x in r["launches"]))
  > print(sum(not x["failure"] for r in l["rungs"] for x in r["launches"]) > 1)
  > END
  True
  True
