#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Validates JSON documents against the shipped schemas. A document's field "schema" names its schema (gpuprobe/1 ->
gpuprobe-1.json). The documents are of this host, of the captured hosts and of one small benchmark."""
import glob
import json
import os
import tempfile

import tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOMS = ("probe", "sysctl", "tune", "bench")
STANDIN = {"LD_LIBRARY_PATH": os.path.join(tap.BUILD, "tests", "standin"), "STANDIN_GPUS": "2"}


def schemas():
    found = {}
    for room in ROOMS:
        for path in glob.glob(os.path.join(tap.TOP, room, "schema", "*.json")):
            with open(path, encoding="utf-8") as f:
                found[os.path.basename(path)[:-len(".json")]] = json.load(f)
    return found


def offences(doc, known):
    name = str(doc.get("schema", "none")).replace("/", "-")
    if name not in known:
        return [f"no schema is shipped for {doc.get('schema')}"]
    check = jsonschema.Draft202012Validator(known[name])
    return [f"/{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in check.iter_errors(doc)]


def validate(known, tool, *args):
    doc, bad = tap.document(tool, *args)
    shown = [os.path.basename(a) if a.startswith("/") else a for a in args]
    tap.rule(f"{tool} {' '.join(shown)} --json matches its schema", bad or offences(doc, known))


def validate_file(known, name, path, done):
    try:
        with open(path, encoding="utf-8") as f:
            doc = json.load(f)
    except (OSError, ValueError) as why:
        tap.rule(name, [str(why), done.stderr.strip()])
        return
    tap.rule(name, offences(doc, known))


def device(known):
    """Validates the documents of check-device on the CUDA stand-in, with and without failed cases, if this build has kernels."""
    fails = {"STANDIN_FAIL": "cuFuncSetAttribute:1"}
    if not os.path.exists(os.path.join(STANDIN["LD_LIBRARY_PATH"], "libcuda.so.1")):
        return
    for words, env in ((("fp8", "linear.even"), {}), (("bf16", "attention.full.1"), fails), (("f16", "attention.full.1"), fails)):
        args = ("check-device", "--type", words[0], "--case", words[1], "--json")
        done = tap.run("gpubench", *args, env={**STANDIN, **env})
        try:
            bad = offences(json.loads(done.stdout), known)
        except ValueError as why:
            bad = [str(why), done.stderr.strip()]
        tap.rule(f"gpubench {' '.join(args)} matches its schema{', with failed cases' if env else ''}", bad)


def judgements(known, scratch):
    """Validates results with simulated step times, and the output of compare, fleet and history for them."""
    made = []
    # The last six results are slower: history finds a change, and fleet finds one outlier among the first seven.
    for i in range(12):
        made.append(os.path.join(scratch, f"h{i}.json"))
        tap.run("gpubench", "run", "--workload", "sim", "--pairs", "6", "--seed", str(i + 1), "-q", "-o", made[-1],
                env={"GPUBENCH_SIM": f"effect={.2 if i > 5 else 0},sd=.002"})
        with open(made[-1], encoding="utf-8") as f:
            doc = json.load(f)
        doc["run"]["started"] = f"2026-11-{10 + i}T03:00:00Z"
        doc["settings"]["a"]["vm.swappiness"] = "1" if i > 5 else "60"
        with open(made[-1], "w", encoding="utf-8") as f:
            json.dump(doc, f)
    kept = os.path.join(scratch, "judged.json")
    for cmd, what in (("compare", made[5:7]), ("history", made), ("fleet", made[:7])):
        if cmd == "fleet":
            for i, path in enumerate(made):
                with open(path, encoding="utf-8") as f:
                    doc = json.load(f)
                doc["host"].update(identity=f"{i:016x}", identity_parts={}, marks={})
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(doc, f)
        done = tap.run("gpubench", cmd, *what, "-q", "-o", kept)
        validate_file(known, f"the output of gpubench {cmd} matches its schema", kept, done)
        with open(kept, encoding="utf-8") as f:
            doc = json.load(f)
        found = {"compare": "confounders", "history": "changes", "fleet": "outliers"}[cmd]
        tap.rule(f"the output of gpubench {cmd} has {found}", [] if doc[found] else ["none"])
    validate(known, "gpubench", "compare", made[0], made[1]) # The fleet step gave them different identities.


def main():
    known = schemas()
    for name, schema in sorted(known.items()):
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
            tap.rule(f"{name}.json is a JSON Schema", [])
        except jsonschema.SchemaError as why:
            tap.rule(f"{name}.json is a JSON Schema", [str(why)])
    hosts = sorted(glob.glob(os.path.join(tap.FIXTURES, "*.host")))
    for i, root in enumerate([[]] + [["--root", h] for h in hosts]):
        validate(known, "gpuprobe", *root)
        if i % 7:   # The reports differ most between hosts. A sample is enough for the other documents.
            continue
        for cmd in (["gpuprobe", "topo"], ["gpuprobe", "list"], ["gputune", "list"], ["gputune", "plan"], ["gputune", "status"],
                    ["gputune", "provision", "plan"], ["gputune", "provision", "revert", "--dry-run"]):
            validate(known, *cmd, *root)
    validate(known, "gpuprobe", "can", "torch==2.14", "cuda>=13", "--root", os.path.join(tap.FIXTURES, "server-8gpu.host"))
    validate(known, "gpuprobe", "can", "--root", os.path.join(tap.FIXTURES, "server-8gpu.host"))
    validate(known, "gpuprobe", "loads", "/srv/venv", "--root", os.path.join(tap.FIXTURES, "venv-cudnn-shadowed.host"))
    for message in ("gpu.lost", "Xid 79", "Xid 173", "SXid 12028", "CUDA out of memory. Tried to allocate", "undefined symbol: x", "foo bar"):
        validate(known, "gpuprobe", "explain", message)
    with tempfile.TemporaryDirectory() as d:
        paths = []
        for name in ("server-8gpu", "cpu-server", "cpu-server-512g"):
            paths.append(os.path.join(d, name + ".json"))
            with open(paths[-1], "w", encoding="utf-8") as f:
                f.write(tap.run("gpuprobe", "--json", "--root", os.path.join(tap.FIXTURES, name + ".host")).stdout)
        validate(known, "gpuprobe", "fleet", *paths, os.devnull)
    device(known)
    watched = tap.run("gpuprobe", "watch", "-n", "3", "-i", "0.1", "--json", env=STANDIN).stdout.splitlines()
    tap.rule("each line of gpuprobe watch --json matches its schema", ([] if len(watched) == 4 else [f"{len(watched)} lines"]) +
             [o for line in watched for o in offences(json.loads(line), known)])
    validate(known, "gpubench", "list")
    validate(known, "gpubench", "data", "--batches", "3", "--quiet")
    validate(known, "gpubench", "train", "mlp", "--batch", "4", "--steps", "2", "--warmup", "1", "--quiet")
    validate(known, "gpubench", "train", "mlp", "--batch", "4", "--steps", "8", "--warmup", "1", "--quiet", "--prune",
             "neurons:0.5")
    validate(known, "gpubench", "plan-parallel", "gpt2", "--gpus", "4")
    validate(known, "gpubench", "infer", "mlp", "--batch", "1,2", "--runs", "2", "--warmup", "1", "--quiet")
    validate(known, "gpubench", "op", "softmax", "--rows", "3", "--cols", "5", "--steps", "1")
    for workload in ("null", "sim", "alloc", "mem.bw", "sync.wake"):
        validate(known, "gpubench", "launch", workload)
    validate(known, "gpubench", "selftest", "--stats", "--trials", "200")
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "ladder.json")
        tiny = [f"--train={w}" for w in ("--batch", "4", "--steps", "1", "--warmup", "1")]
        done = tap.run("gpubench", "ladder", "precision", "--model", "mlp", "--rounds", "1", "-o", path, *tiny)
        validate_file(known, "a measured ladder matches its schema", path, done)
        path = os.path.join(scratch, "result.json")
        done = tap.run("gpubench", "run", "--workload", "null", "--quick", "-o", path)
        validate_file(known, "a result of gpubench run matches its schema", path, done)
        done = tap.run("gpubench", "run", "--workload", "null", "--quick", "-o", path, "--", "true", env=STANDIN)
        validate_file(known, "a result with GPU readings matches its schema", path, done)
        judgements(known, scratch)
        receipt = os.path.join(scratch, "receipt.json")
        done = tap.run("gpubench", "prove", "--workload", "sim", "--env", "GPUBENCH_SIM=effect=-.05", "--quick", "-o", path,
                       "--receipt", receipt)
        validate_file(known, "a result of gpubench prove matches its schema", path, done)
        validate_file(known, "the receipt of gpubench prove matches its schema", receipt, done)


if jsonschema:
    main()
else:
    tap.skip("documents match their schemas", "no python3-jsonschema here")
tap.plan()
