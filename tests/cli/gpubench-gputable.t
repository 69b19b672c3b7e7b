The table of a GPU is made from the files of its jobs: ratios and verdicts from their numbers, and empty cells without
numbers.

  $ table() { python3 "$TESTDIR/../bench/gpu_table.py" "$@"; }
  $ mkdir results; table results | grep -c 'not yet measured'
  36
  $ python3 - <<'END'
  > import json
  > def put(job, **d): json.dump(d, open(f"results/{job}.json", "w"))
  > put("ours-gpt2-b64", items_per_s=572000.0, memory={"measured_bytes": 30 << 30}, host_s_per_step=41e-6)
  > put("torch-gpt2-b64", items_per_s=440000.0, max_device_bytes_held=40 << 30)
  > put("ours-gpt2-b4", items_per_s=290000.0, memory={"measured_bytes": 9 << 30}, host_s_per_step=61e-6)
  > put("torch-gpt2-b4", max_device_bytes_held=10 << 30)
  > put("ours-xl-loss-bf16", loss=4.0, step_s=[1] * 200); put("ours-xl-loss-fp8", loss=4.02, step_s=[1] * 200)
  > put("ours-gpt2-profile", batch=2, seq=100, vocab=1000, amp="bf16", peaks={"bytes_per_s": 1e12},
  >     ops=[{"op": "layernorm", "of_peak": .9}, {"op": "add_layernorm", "of_peak": .8}, {"op": "adamw", "of_peak": .93}],
  >     kernels=[{"kernel": "rt_cross_entropy_bf16", "op": "linear_cross_entropy", "launches": 1, "seconds": 1e-6, "of_peak": .8}])
  > put("copies", metrics=[{"id": "gpu.matrix.pinned.to.gpu0-mem0", "warmup": 1, "samples": [99, 50, 52]}])
  > put("torch-copies", **{"pinned.to": 55.0})
  > put("check-f16", rows=[{"ok": True}, {"ok": False}])
  > open("results/ours-xl-bf16.json", "w").write("{ not whole")
  > END
  $ table results | grep -v -e 'not yet measured | |' -e 'not yet measured |  |' -e '^|-'
  | job | floor (counted) or base | target | gputune | best PyTorch | ratio | met | part |
  | GPT-2 124M, T1024, bf16, B64 | 715k tok/s | 470k, 1.15x PyTorch | 572000 tok/s (80 % of the floor) | 440000 tok/s | 1.30x | yes | gpt2 |
  | GPT-2 124M, T1024, bf16, B4 |  | 300k | 290000 tok/s | not yet measured | not yet measured | no | gpt2 |
  | peak memory, GPT-2 124M, B64 |  | 0.80 of PyTorch's | 30.00 GiB | 40.00 GiB | 0.75 | yes | gpt2 |
  | peak memory, GPT-2 124M, B4 |  | 0.80 of PyTorch's | 9.00 GiB | 10.00 GiB | 0.90 | no | gpt2 |
  | GPT-2 1558M on text, fp8: loss | xl-loss-bf16: 4.0000 | within 1 % | 4.0200 after 200 steps |  | 0.50 % off | yes | xl-loss |
  | host time per step, GPT-2 124M, B64 | 0 | 50 us | 41 us |  |  | yes | gpt2 |
  | host time per step, GPT-2 124M, B4 | 0 | 50 us | 61 us |  |  | no | gpt2 |
  | copies to the GPU, pinned | link | within 3 % of PyTorch's | 52.0 GB/s | 55.0 GB/s | 0.95x | no | check |
  | GPT-2 124M, layer normalisation | measured copy rate | 85 % of it | 80 % |  |  | no | gpt2 |
  | GPT-2 124M, AdamW | measured copy rate | 85 % of it | 93 % |  |  | yes | gpt2 |
  | GPT-2 124M, cross entropy | measured copy rate | 85 % of it | 80 % |  |  | no | gpt2 |
  | every op against the CPU (`gpubench check-device`) |  | all | 1 of 2 in f16 |  |  | no | check |
  $ table
  Makes the table of one GPU from the JSON of bench/gpu.sh: each job with PyTorch's result, its floor and its target.
  usage: * (glob)
  [1]
