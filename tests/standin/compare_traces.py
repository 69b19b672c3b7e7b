#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the calls of two builds of gpubench to the CUDA libraries: compare_traces.py OLD NEW STANDIN_DIR [CASE…]

Both programs run each case with the stand-in libraries of STANDIN_DIR, which record every call (STANDIN_TRACE). A case passes
if the traces, the losses and the checkpoints are the same. Differences are printed, and the traces stay in the directory that is named.
"""
import difflib, hashlib, json, os, subprocess, sys, tempfile

SMALL = "--layers 2 --width 48 --heads 3 --batch 2".split()
TEXT = SMALL + "--vocab 61 --seq 17".split()
BY_16 = "--width 64 --heads 4 --batch 2 --layers 1 --seq 16 --vocab 64"  # sizes that 8-bit products support
MODELS = {
    "mlp": "mlp --batch 16",
    "gpt": "gpt --layers 1 --width 48 --heads 3 --batch 2 --seq 16",
    "gpt2": " ".join(["gpt2"] + TEXT),
    "bert": " ".join(["bert"] + TEXT),
    "vit": " ".join(["vit", "--size", "32"] + SMALL),
    "resnet20": "resnet20 --batch 1 --size 16",
}
PRECISIONS = {
    "fp32": "",
    "tf32": "--amp tf32",
    "bf16": "--amp bf16",
    "fp16": "--amp fp16",
    "fp8": "--amp fp8",
    "no-master": "--amp bf16 --master none",
}
OTHERS = {
    "resnet50": "resnet50 --batch 2 --size 32 --amp bf16",
    "accum": "gpt2 --accum 2 --amp bf16",
    "clip": "gpt2 --clip 0.5",
    "sgd": "mlp --optimizer sgd",
    "adamw8": "gpt2 --optimizer adamw8",
    "fp8-16": f"bert --amp fp8 {BY_16}",
    "fp8-16-attention": f"gpt2 --amp fp8 --attention own {BY_16}",
    "checkpoint": "gpt2 --checkpoint 2",
    "attention-own": "gpt2 --amp bf16 --attention own",
    "attention-cudnn": "gpt2 --amp bf16 --attention cudnn",
    "unfused": "gpt2 --without fuse",
    "profile": "gpt2 --profile",
    "anomaly": "gpt2 --anomaly",
    "deterministic": "gpt2 --deterministic --amp bf16",
    "ranks": "gpt2 --ranks 2 --overlap on",
    "ranks-bf16": "resnet20 --ranks 2 --amp bf16",
    "ranks-powersgd": "gpt2 --ranks 2 --compress powersgd",
    "ranks-onebit": "gpt2 --ranks 2 --compress onebit",
}


def cases():
    for model, args in MODELS.items():
        for name, how in PRECISIONS.items():
            yield f"{model}-{name}", args.split() + how.split()
    for name, args in OTHERS.items():
        model, *how = args.split()
        yield name, MODELS.get(model, model).split() + how


def sort_devices(trace):
    """Lines of each device in their order. The order of calls of different processes before they have a device is undefined."""
    lines = {}
    for line in trace.splitlines():
        device, _, call = line.partition(" ")
        lines.setdefault(device, []).append(call)
    lines["-"] = sorted(lines.get("-", []))
    return [f"{device} {call}" for device in sorted(lines) for call in lines[device]]


def run(program, standin, args, where):
    """The loss, a hash of the checkpoint and the trace of a run that saves its state and of one that resumes it."""
    trace, checkpoint = where + ".trace", where + ".safetensors"
    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, LD_LIBRARY_PATH=standin, STANDIN_TRACE=trace, STANDIN_SMS="1", XDG_CACHE_HOME=cache, HOME=cache,
                   STANDIN_DEVICES="2", OMP_WAIT_POLICY="passive", STANDIN_MEMORY=str(1 << 29))
        for more in ["--steps", "3", "--warmup", "1"], ["--steps", "1", "--warmup", "0", "--resume", checkpoint]:
            done = subprocess.run([program, "train", *args, "--device", "cuda", "--threads", "1", "--lr", "1e-3", "--json",
                                   "--quiet", "--save", checkpoint, *more], env=env, capture_output=True, text=True)
            if done.returncode != 0:
                break
    if done.returncode != 0 or not os.path.exists(trace):
        sys.exit(f"{program} {' '.join(args)} failed: {done.stderr}")
    with open(trace, encoding="utf-8") as f, open(checkpoint, "rb") as saved:
        state = f"{json.loads(done.stdout)['loss']}, checkpoint {hashlib.sha256(saved.read()).hexdigest()[:16]}"
        return state, sort_devices(f.read())


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    old, new, standin, *wanted = sys.argv[1:]
    where = tempfile.mkdtemp(prefix="traces-")
    failed = 0
    for name, args in cases():
        if wanted and name not in wanted:
            continue
        (loss, trace), (new_loss, new_trace) = (run(os.path.abspath(program), os.path.abspath(standin), args,
                                                    os.path.join(where, f"{name}-{which}"))
                                                for program, which in ((old, "old"), (new, "new")))
        same = loss == new_loss and trace == new_trace
        failed += not same
        print(f"{'same' if same else 'DIFFERENT'} {name}: {len(trace)} calls, loss {loss}", flush=True)
        if not same:
            print(f"  the new program: loss {new_loss}")
            print("\n".join("  " + line[:200] for line in list(difflib.unified_diff(trace, new_trace, lineterm="", n=1))[:30]))
    if failed:
        sys.exit(f"{failed} cases differ; the traces are in {where}")
    subprocess.run(["rm", "-rf", where], check=True)


if __name__ == "__main__":
    main()
