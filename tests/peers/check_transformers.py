#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Llama and GPT-2 in the Hugging Face layout with the transformers package: logits of random weights that it saved, also
in several files and in bf16, and logits of weights that gpubench trained and saved. A logit may differ by 1e-4. Greedy
generation from prompts of different lengths must give the tokens of transformers' generate().

Usage: check_transformers.py [HF_CASE]    (default: $TOP_BUILDDIR/tests/peers/hf_case; gpubench of the same directory)
Prints TAP. Exit status 77 where transformers is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    import numpy as np
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
except ImportError as missing:
    print(f"1..0 # SKIP no transformers ({missing})")
    sys.exit(77)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
TOP = os.path.abspath(os.environ.get("TOP_BUILDDIR", "."))
HF_CASE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, "tests/peers/hf_case")
TOOL = os.path.join(os.path.dirname(HF_CASE), "../../gpubench")
MOST = 1e-4
points, failed = 0, 0


def point(name, worst):
    global points, failed
    good = worst <= MOST
    points += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {points} - {name}: logits differ by {worst:.2g} at most", flush=True)


def llama(**more):
    sizes = dict(vocab_size=211, hidden_size=96, intermediate_size=160, num_hidden_layers=3, num_attention_heads=6,
                 num_key_value_heads=6, max_position_embeddings=128, initializer_range=0.15)
    return LlamaForCausalLM(LlamaConfig(**{**sizes, **more}))


def distance(folder, rows=3, length=47):
    """The largest difference between the logits of transformers and of the runtime for the model in the directory."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    vocab = model.config.vocab_size
    ids = torch.randint(0, vocab, (rows, length), dtype=torch.int32)
    ids.numpy().tofile("tokens.bin")
    subprocess.run([HF_CASE, folder, str(rows), str(length), "tokens.bin", "logits.bin"], check=True)
    with torch.no_grad():
        want = model(ids.long()).logits.numpy()
    got = np.fromfile("logits.bin", np.float32).reshape(want.shape)
    if not np.isfinite(got).all() or want.std() < 0.1:
        return float("inf")
    return float(np.abs(got - want).max())


def generated(name, folder, kinds, new=12):
    """Compares greedy generation. transformers gets one prompt at a time, gpubench all of them as one batch. kinds: the smallest
    number of different tokens, so that the comparison is not of one repeated token."""
    global points, failed
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompts = [torch.randint(0, model.config.vocab_size, (1, n)) for n in (7, 1, 29, 16)]
    want = []
    for ids in prompts:
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new,
                                 min_new_tokens=new, eos_token_id=None, pad_token_id=0)
        want.append(out[0, ids.shape[1]:].tolist())
    with open("prompts.txt", "w", encoding="utf-8") as f:
        f.writelines(" ".join(map(str, ids[0].tolist())) + "\n" for ids in prompts)
    done = subprocess.run([TOOL, "infer", model.config.model_type, "--weights", folder, "--seq", "8", "--generate", str(new),
                           "--prompts", "prompts.txt", "--threads", "1", "--runs", "1", "--warmup", "0", "--quiet", "--json"],
                          check=True, stdout=subprocess.PIPE)
    got = json.loads(done.stdout)["batches"][0]["tokens"]
    good = got == want and len({t for row in want for t in row}) >= kinds
    points += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {points} - {name}: greedy tokens of generate(){'' if good else f': {got}, not {want}'}",
          flush=True)


def saved(name, model, **how):
    for p in model.parameters():  # gains and biases are constant otherwise
        if p.dim() == 1:
            torch.nn.init.normal_(p, p.mean().item(), 0.3)
    folder = name.replace(" ", "-").replace(",", "")
    model.save_pretrained(folder, **how)
    point(name, distance(folder))
    generated(name, folder, 5)


def trained(name, *options):
    folder = "trained-" + name.replace(" ", "-")
    subprocess.run([TOOL, "train", *options, "--batch", "2", "--seq", "32", "--steps", "4", "--lr", "0.05", "--quiet",
                    "--save-weights", folder], check=True, stdout=subprocess.DEVNULL)
    point(f"gpubench's {name} in transformers", distance(folder))
    generated(f"gpubench's {name}", folder, 2)


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        saved("llama", llama())
        saved("llama with 2 key/value heads", llama(num_key_value_heads=2))
        saved("llama with a tied head", llama(tie_word_embeddings=True))
        saved("llama with wide heads, another base and eps",
              llama(head_dim=32, num_key_value_heads=3, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
                    rms_norm_eps=1e-3))
        saved("llama in several files", llama(num_key_value_heads=2), max_shard_size="200KB")
        saved("llama in bf16", llama().to(torch.bfloat16))
        saved("gpt2", GPT2LMHeadModel(GPT2Config(vocab_size=211, n_embd=96, n_layer=3, n_head=6, n_positions=64,
                                                 initializer_range=0.15, bos_token_id=0, eos_token_id=0)))
        saved("gpt2 with a narrow MLP", GPT2LMHeadModel(GPT2Config(vocab_size=211, n_embd=96, n_layer=2, n_head=6, n_inner=100,
                                                                   n_positions=64, initializer_range=0.15, bos_token_id=0,
                                                                   eos_token_id=0)))
        sizes = ("--layers", "2", "--width", "64", "--heads", "4", "--vocab", "211")
        trained("llama", "llama", *sizes, "--kv-heads", "2", "--ffn", "96")
        trained("tied llama", "llama", *sizes, "--kv-heads", "1", "--tied", "--weights-shard", "50K")
        trained("gpt2", "gpt2", *sizes)
        trained("pruned llama", "llama", *sizes, "--kv-heads", "2", "--ffn", "96", "--prune", "heads:2,neurons:0.25")
        trained("pruned gpt2", "gpt2", *sizes, "--prune", "neurons:0.25")
    print(f"1..{points}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
