/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench train MODEL: the command for bn_train(). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/train/train_data.h"
#include "bench/result/gpu.h"
#include "bench/session/gpu_monitor.h"
#include "bench/train/models.h"
#include "bench/train/omp_spin.h"
#include "bench/train/prune.h"
#include "bench/train/train.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/table.h"
#include "probe/host/host.h"
#include "runtime/data/loader.h"

static struct bn_train_options options = { .lr = NAN, .warmup = UINT64_MAX, .workers = UINT64_MAX,
					   .max_corrupt = UINT64_MAX };

static const char *const devices[] = { "cpu", "cuda", NULL };
static const char *const types[] = { "fp32", "tf32", "bf16", "fp16", "fp8", NULL };
static const char *const masters[] = { "fp32", "none", NULL };
static const char *const optimizers[] = { "sgd", "adam", "adamw", "adamw8", NULL };
static const char *const augments[] = { "none", "flip", "crop", NULL };
static const char *const ids[] = { "u16", "u32", NULL };
static const char *const whens[] = { "auto", "on", "off", NULL };
static const char *const shards[] = { "auto", "on", "off", "1", "2", "3", NULL };
static const char *const attentions[] = { "fastest", "own", "cudnn", NULL };
static const char *const reductions[] = { "all-reduce", "gather", NULL };
static const char *const codings[] = { "none", "fp16", "bf16", "int8", "powersgd", "onebit", NULL };
static const char *const schedules[] = { "1f1b", "gpipe", NULL };
#define RARE(heading) .group = (heading), .listed = GT_RARE
static const struct gt_opt opts[] = {
	{ 0, "device", "DEVICE", "train on cpu or cuda (default: cpu)", GT_OPT_CHOICE, &options.device, devices },
	{ 0, "ranks", "N", "train with N processes (default: --tp times --pp)", GT_OPT_COUNT, &options.ranks },
	{ 0, "threads", "N", "use N threads per rank (default: chosen by OpenMP)", GT_OPT_UINT, &options.threads },
	{ 0, "batch", "N", "use N sequences or samples per step", GT_OPT_COUNT, &options.batch },
	{ 0, "seq", "N", "use N tokens per sequence", GT_OPT_COUNT, &options.seq },
	{ 0, "steps", "N", "time N steps", GT_OPT_COUNT, &options.steps },
	{ 0, "accum", "N", "accumulate N batches per update", GT_OPT_COUNT, &options.accum },
	{ 0, "amp", "TYPE", "compute matrix products in fp32, tf32, bf16, fp16 or fp8 (default: fp32)", GT_OPT_CHOICE,
	  &options.amp, types },
	{ 0, "data", "PATH", "train on text, token files, image directories or tar shards", GT_OPT_STR, &options.data },
	{ 0, "optimizer", "NAME", "use sgd, adam, adamw or adamw8 (default: the model's)", GT_OPT_CHOICE, &options.optimizer,
	  optimizers },
	{ 0, "lr", "RATE", "set the learning rate (default: the model's)", GT_OPT_REAL, &options.lr },
	{ 0, "save", "FILE", "save a safetensors checkpoint at the end", GT_OPT_STR, &options.save },
	{ 0, "resume", "FILE", "continue from a checkpoint", GT_OPT_STR, &options.resume },
	{ 0, "weights", "DIR", "start from llama or gpt2 weights in the Hugging Face layout", GT_OPT_STR, &options.weights },
	{ 0, "save-weights", "DIR", "save the weights in that layout at the end", GT_OPT_STR, &options.save_weights },
	{ 0, "time-ops", NULL, "time every op and compare with the peak of this host", GT_OPT_FLAG, &options.profile },
	{ 0, "profile", NULL, "", GT_OPT_FLAG, &options.profile, .listed = GT_OLD_NAME },
	{ 0, "seed", "N", "set the seed of parameters and batches (default: 1)", GT_OPT_UINT, &options.seed },

	{ 0, "warmup", "N", "run N steps before the timed ones", GT_OPT_UINT, &options.warmup, RARE("Steps") },
	{ 0, "clip", "NORM", "limit the global norm of the gradients to NORM", GT_OPT_REAL, &options.clip_norm, RARE("Steps") },
	{ 0, "save-every", "N", "also save the checkpoint after every N updates", GT_OPT_COUNT, &options.save_every,
	  RARE("Steps") },
	{ 0, "qat", NULL, "train for INT8: round operands of products to 8 bits", GT_OPT_FLAG, &options.qat,
	  RARE("Precision and kernels") },
	{ 0, "prune", "HOW", "prune weights (0.5, 2:4) or units (heads:1,neurons:0.5,channels:0.25)", GT_OPT_STR, &options.prune,
	  RARE("Steps") },
	{ 0, "weights-shard", "SIZE", "limit a file of --save-weights to SIZE (default: 5G)", GT_OPT_SIZE,
	  &options.weights_shard_bytes, RARE("Steps") },

	{ 0, "layers", "N", "use N transformer blocks", GT_OPT_COUNT, &options.layers, RARE("Size of the model") },
	{ 0, "width", "N", "set the width of the model", GT_OPT_COUNT, &options.width, RARE("Size of the model") },
	{ 0, "heads", "N", "use N attention heads", GT_OPT_COUNT, &options.heads, RARE("Size of the model") },
	{ 0, "kv-heads", "N", "use N key/value heads in llama (default: 4, or --heads)", GT_OPT_COUNT, &options.kv_heads,
	  RARE("Size of the model") },
	{ 0, "ffn", "N", "set the width of the MLP of llama (default: 8/3 of --width)", GT_OPT_COUNT, &options.ffn,
	  RARE("Size of the model") },
	{ 0, "tied", NULL, "use the token table of llama as output projection", GT_OPT_FLAG, &options.tied,
	  RARE("Size of the model") },
	{ 0, "vocab", "N", "set the size of the vocabulary", GT_OPT_COUNT, &options.vocab, RARE("Size of the model") },
	{ 0, "size", "N", "use images of N x N pixels", GT_OPT_COUNT, &options.size, RARE("Size of the model") },
	{ 0, "patch", "N", "use patches of N x N pixels in vit (default: 16)", GT_OPT_COUNT, &options.patch,
	  RARE("Size of the model") },

	{ 0, "tokens", "TYPE", "read token files without header as u16 or u32 (default: u16)", GT_OPT_CHOICE, &options.tokens, ids,
	  RARE("Data") },
	{ 0, "documents", "END", "end samples at line, paragraph, file or a token id", GT_OPT_STR, &options.documents,
	  RARE("Data") },
	{ 0, "buckets", "N", "pad documents to N lengths (default: 8)", GT_OPT_COUNT, &options.buckets, RARE("Data") },
	{ 0, "token-budget", "N", "limit batches of documents to N tokens instead of --batch", GT_OPT_COUNT,
	  &options.token_budget, RARE("Data") },
	{ 0, "augment", "HOW", "mirror images (flip), or crop and mirror them (crop)", GT_OPT_CHOICE, &options.augment, augments,
	  RARE("Data") },
	{ 0, "workers", "N", "use N loader threads (default: a quarter of the CPU threads)", GT_OPT_UINT,
	  &options.workers, RARE("Data") },
	{ 0, "prefetch", "N", "prepare N batches in advance (default: 4)", GT_OPT_COUNT, &options.prefetch, RARE("Data") },
	{ 0, "cache", "SIZE", "cache decoded images in SIZE memory, such as 2G (default: none)", GT_OPT_SIZE,
	  &options.cache_bytes, RARE("Data") },
	{ 0, "max-corrupt", "N", "stop after N unusable samples (default: 100)", GT_OPT_UINT, &options.max_corrupt,
	  RARE("Data") },

	{ 0, "master", "TYPE", "keep fp32 copies of bf16 parameters on cuda: fp32 or none", GT_OPT_CHOICE, &options.master, masters,
	  RARE("Precision and kernels") },
	{ 0, "attention", "WHOSE", "use these attention kernels on cuda (default: fastest)", GT_OPT_CHOICE, &options.attention,
	  attentions, RARE("Precision and kernels") },
	{ 0, "fp8-history", "N", "scale fp8 by the maximum of N updates (default: 1024)", GT_OPT_COUNT, &options.fp8_history,
	  RARE("Precision and kernels") },
	{ 0, "fp8-margin", "N", "lower each fp8 scale by 2^N as headroom (default: 0)", GT_OPT_UINT, &options.fp8_margin,
	  RARE("Precision and kernels") },
	{ 0, "deterministic", NULL, "compute the same bits in each run; select kernels without timing", GT_OPT_FLAG,
	  &options.deterministic, RARE("Precision and kernels") },
	{ 0, "without", "LIST", "leave out optimisations, separated by commas (see the man page)", GT_OPT_STR, &options.without,
	  RARE("Precision and kernels") },

	{ 0, "checkpoint", "N", "store activations at N segments and recompute the others", GT_OPT_UINT, &options.checkpoint,
	  RARE("Memory") },
	{ 0, "fit", "SIZE", "recompute as few activations as fit into SIZE, such as 2G", GT_OPT_SIZE, &options.fit_bytes,
	  RARE("Memory") },

	{ 0, "reduce", "HOW", "sum gradients in all ranks or in rank 0 (default: all-reduce)", GT_OPT_CHOICE, &options.reduce,
	  reductions, RARE("Ranks") },
	{ 0, "compress", "HOW", "compress gradients between ranks (default: none)", GT_OPT_CHOICE, &options.compress, codings,
	  RARE("Ranks") },
	{ 0, "powersgd-rank", "N", "set the rank of the PowerSGD factors (default: 1)", GT_OPT_COUNT, &options.powersgd_rank,
	  RARE("Ranks") },
	{ 0, "compress-after", "N", "start to compress after N updates", GT_OPT_UINT, &options.compress_after, RARE("Ranks") },
	{ 0, "balance", NULL, "split batches by the measured speed of each rank", GT_OPT_FLAG, &options.balance, RARE("Ranks") },
	{ 0, "overlap", "WHEN", "reduce gradients during the backward pass (default: auto)", GT_OPT_CHOICE, &options.overlap, whens,
	  RARE("Ranks") },
	{ 0, "shard", "WHAT", "shard optimizer state (1), gradients (2), parameters (3) (default: auto)", GT_OPT_CHOICE,
	  &options.shard, shards,
	  RARE("Ranks") },
	{ 0, "tp", "N", "split layers among N ranks (default: 1)", GT_OPT_COUNT, &options.tp, RARE("Ranks") },
	{ 0, "sp", NULL, "split tokens between the layers that --tp splits, to save memory", GT_OPT_FLAG, &options.sp,
	  RARE("Ranks") },
	{ 0, "pp", "N", "train the model as a pipeline of N stages (default: 1)", GT_OPT_COUNT, &options.pp, RARE("Ranks") },
	{ 0, "microbatches", "N", "divide each batch into N microbatches (default: at most 4 per stage)", GT_OPT_COUNT,
	  &options.microbatches, RARE("Ranks") },
	{ 0, "schedule", "NAME", "order microbatches by 1f1b or gpipe (default: 1f1b)", GT_OPT_CHOICE, &options.schedule,
	  schedules, RARE("Ranks") },
	{ 0, "rank-timeout", "SECONDS", "stop if a rank hangs for SECONDS (default: 300)", GT_OPT_ABOVE_0, &options.rank_timeout_s,
	  RARE("Ranks") },
	{ 0, "no-pin", NULL, "do not bind ranks to CPUs", GT_OPT_FLAG, &options.no_pin, RARE("Ranks") },

	{ 0, "trace", "FILE", "write the last steps as a trace for Chrome or Perfetto", GT_OPT_STR, &options.trace,
	  RARE("Diagnosis") },
	{ 0, "check-gradients", "N", "check N gradient elements by finite differences first", GT_OPT_UINT,
	  &options.check_gradients, RARE("Diagnosis") },
	{ 0, "anomaly", NULL, "stop at the first value that is not finite", GT_OPT_FLAG, &options.anomaly, RARE("Diagnosis") },
	{ 0 },
};

static int show_progress(void *arg, uint64_t step, uint64_t total, double loss)
{
	const struct gt_cli *cli = arg;

	if (!cli->quiet)
		gt_progress("training", (double)step, (double)total);
	return gt_interrupted;
}

/* Prints the planned memory of a device before the allocation. */
static void show_plan(void *arg, const struct rt_memory *m)
{
	const struct gt_cli *cli = arg;
	const uint64_t parts[] = { m->planned_bytes, m->free_bytes, m->parameter_bytes, m->state_bytes, m->gradient_bytes,
				   m->activation_bytes, m->workspace_bytes + m->staging_bytes + m->other_bytes };
	char s[GT_ARRAY_SIZE(parts)][32];

	for (size_t i = 0; i < GT_ARRAY_SIZE(parts); i++)
		gt_format_bytes(s[i], sizeof(s[i]), parts[i]);
	if (!cli->quiet)
		fprintf(stderr, "gpubench: plans %s of %s free: parameters %s, optimizer %s, gradients %s, activations %s, "
			"workspace %s\n", s[0], s[1], s[2], s[3], s[4], s[5], s[6]);
}

static void print_device_memory(const json_t *m)
{
	static const char *const keys[] = { "planned_bytes", "measured_bytes", "free_before_bytes", "total_bytes" };
	char s[GT_ARRAY_SIZE(keys)][32];

	if (!m)
		return;
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++)
		gt_format_bytes(s[i], sizeof(s[i]), (uint64_t)gt_json_get_int(m, keys[i], 0));
	printf("on device  %s planned, %s measured; %s of %s were free\n", s[0], s[1], s[2], s[3]);
}

/* The planned bytes next to the largest sum of live bytes. */
static void print_plan(const json_t *plan)
{
	char planned[32], live[32], permanent[32];

	gt_format_bytes(planned, sizeof(planned), (uint64_t)gt_json_get_int(plan, "planned_bytes", 0));
	gt_format_bytes(live, sizeof(live), (uint64_t)gt_json_get_int(plan, "live_bytes", 0));
	gt_format_bytes(permanent, sizeof(permanent), (uint64_t)gt_json_get_int(plan, "permanent_bytes", 0));
	printf("plan       %s, %s live at most, %s of them permanent, %.1f %% fragmentation\n", planned, live, permanent,
	       100 * gt_json_get_real(plan, "fragmentation", 0));
}

static void bytes_cell(struct gt_table *t, const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);
	char text[32];

	gt_format_bytes(text, sizeof(text), (uint64_t)json_number_value(v));
	gt_table_cell(t, "%s", v ? text : "-");
}

static void print_ops(const json_t *ops, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	size_t i;
	json_t *row;

	gt_table_column(t, "op", GT_LEFT);
	gt_table_column(t, "phase", GT_LEFT);
	gt_table_column(t, "calls", GT_RIGHT);
	gt_table_column(t, "ms/step", GT_RIGHT);
	gt_table_column(t, "Gflop/s", GT_RIGHT);
	gt_table_column(t, "GB/s", GT_RIGHT);
	gt_table_column(t, "of peak", GT_RIGHT);
	gt_table_column(t, "live", GT_RIGHT);
	gt_table_column(t, "peak", GT_RIGHT);
	gt_table_column(t, "allocated", GT_RIGHT);
	json_array_foreach(ops, i, row) {
		double s = gt_json_get_real(row, "seconds", NAN), flops = gt_json_get_real(row, "flops", 0);
		bool timed = s > 0; /* the first steps are not timed */

		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(row, "op", ""));
		gt_table_cell(t, "%s", gt_json_get_str(row, "phase", ""));
		gt_table_cell(t, "%lld", (long long)gt_json_get_int(row, "calls", 0));
		gt_table_cell(t, timed ? "%.3f" : "-", s * 1e3);
		gt_table_cell(t, timed && flops > 0 ? "%.1f" : "-", flops / s / 1e9);
		gt_table_cell(t, timed ? "%.1f" : "-", gt_json_get_real(row, "bytes", 0) / s / 1e9);
		gt_table_cell(t, timed ? "%.0f %%" : "-", 100 * gt_json_get_real(row, "of_peak", 0));
		bytes_cell(t, row, "live_bytes");
		bytes_cell(t, row, "peak_bytes");
		bytes_cell(t, row, "allocated_bytes");
	}
	gt_table_print(t, stdout, color);
}

/* Prints the kernels of a device. No rate is shown for a kernel that computes only a part of its op. */
static void print_kernels(const json_t *kernels, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	size_t i;
	json_t *row;

	gt_table_column(t, "kernel", GT_LEFT);
	gt_table_column(t, "op", GT_LEFT);
	gt_table_column(t, "runs", GT_RIGHT);
	gt_table_column(t, "ms/step", GT_RIGHT);
	gt_table_column(t, "Gflop/s", GT_RIGHT);
	gt_table_column(t, "GB/s", GT_RIGHT);
	gt_table_column(t, "of peak", GT_RIGHT);
	json_array_foreach(kernels, i, row) {
		double s = gt_json_get_real(row, "seconds", 0), flops = gt_json_get_real(row, "flops", 0);
		double bytes = gt_json_get_real(row, "bytes", 0), share = gt_json_get_real(row, "of_peak", NAN);

		gt_table_row(t);
		gt_table_cell(t, "%.30s", gt_json_get_str(row, "kernel", ""));
		gt_table_cell(t, "%s", gt_json_get_str(row, "op", "-"));
		gt_table_cell(t, "%g", gt_json_get_real(row, "launches", 0));
		gt_table_cell(t, "%.3f", s * 1e3);
		gt_table_cell(t, flops > 0 ? "%.1f" : "-", flops / s / 1e9);
		gt_table_cell(t, bytes > 0 ? "%.1f" : "-", bytes / s / 1e9);
		gt_table_cell(t, isnan(share) ? "-" : "%.0f %%", 100 * share);
	}
	gt_table_print(t, stdout, color);
}

static void print_warnings(const json_t *doc)
{
	json_t *w;
	size_t i;

	json_array_foreach(json_object_get(doc, "warnings"), i, w)
		gt_warn("%s", json_string_value(w));
}

/* Prints the techniques that are on, with the text of their passes. */
static void print_techniques(const json_t *passes)
{
	static const char *const techniques[] = {"amp",        "fp8",       "narrow", "pad", "checkpoint",
						 "accumulate", "gradients", "shard",  "pixels", "tensor",
						 "sequence",   "sums"};
	json_t *pass;
	size_t i;

	json_array_foreach(passes, i, pass)
		for (size_t k = 0; k < GT_ARRAY_SIZE(techniques); k++)
			if (gt_streq(gt_json_get_str(pass, "name", ""), techniques[k]) &&
			    !gt_streq(gt_json_get_str(pass, "did", ""), "nothing to do"))
				printf("%-10s %s\n", techniques[k], gt_json_get_str(pass, "did", ""));
}

static void print_ranks(const json_t *doc, const json_t *ddp)
{
	double raw = gt_json_get_real(ddp, "raw_bytes_per_step", 0), sent = gt_json_get_real(ddp, "sent_bytes_per_step", 0);
	json_t *rows;
	size_t i;

	printf("ranks      %lld over %s, rows", (long long)gt_json_get_int(doc, "ranks", 0), gt_json_get_str(ddp, "transport", ""));
	json_array_foreach(json_object_get(ddp, "rows"), i, rows)
		printf(" %lld", (long long)json_integer_value(rows));
	if (json_object_get(ddp, "overlapped"))
		printf(", waited %.2f ms per step, %.0f %% done in time", gt_json_get_real(ddp, "waited_s_per_step", 0) * 1e3,
		       gt_json_get_real(ddp, "overlapped", 0) * 100);
	putchar('\n');
	if (json_is_true(json_object_get(ddp, "update_reduces")))
		printf("reduce     by the updates%s, %s the backward pass\n",
		       gt_streq(gt_json_get_str(ddp, "reduce", ""), "gather") ? " of rank 0" : "",
		       json_is_true(json_object_get(ddp, "overlap")) ? "during" : "after");
	else if (json_object_get(ddp, "overlap"))
		printf("reduce     %s the backward pass: %s\n", json_is_true(json_object_get(ddp, "overlap")) ? "during" : "after",
		       gt_json_get_str(ddp, "overlap_why", ""));
	if (strcmp(gt_json_get_str(ddp, "compress", "none"), "none") != 0)
		printf("compress   %s: %.1f %% of the bytes\n", gt_json_get_str(ddp, "compress", ""), sent / raw * 100);
}

/* Prints the groups of ranks that exchange tensors within a step. */
static void print_groups(json_t *groups)
{
	const char *name;
	json_t *g;

	json_object_foreach(groups, name, g) {
		double calls = (double)gt_json_get_int(g, "calls", 0);
		char bytes[32];

		gt_format_bytes(bytes, sizeof(bytes), calls > 0 ? (uint64_t)(gt_json_get_real(g, "sent_bytes", 0) / calls) : 0);
		printf("exchange   %s", bytes);
		if (json_object_get(g, "waited_s"))
			printf(" and %.3f ms", calls > 0 ? gt_json_get_real(g, "waited_s", 0) / calls * 1e3 : 0);
		printf(" among %lld %s parallel ranks\n", (long long)gt_json_get_int(g, "ranks", 0), name);
	}
}

static void print_pipeline(const json_t *p)
{
	double bubble = gt_json_get_real(p, "bubble", NAN);
	json_t *rank;
	size_t i;

	if (!p)
		return;
	printf("pipeline   %lld stages, %s, %lld microbatches, bubble ", (long long)gt_json_get_int(p, "stages", 0),
	       gt_json_get_str(p, "schedule", ""), (long long)gt_json_get_int(p, "microbatches", 0));
	if (isnan(bubble))
		printf("not measured");
	else
		printf("%.1f %%", 100 * bubble);
	printf(" (%.1f %% by counted work, %.1f %% with equal stages)\n", 100 * gt_json_get_real(p, "bubble_counted_work", 0),
	       100 * gt_json_get_real(p, "bubble_equal_stages", 0));
	json_array_foreach(json_object_get(p, "ranks"), i, rank) {
		char planned[32], sent[32];

		gt_format_bytes(planned, sizeof(planned), (uint64_t)gt_json_get_int(rank, "planned_bytes", 0));
		gt_format_bytes(sent, sizeof(sent), (uint64_t)json_number_value(json_object_get(rank, "sent_bytes")));
		printf("  rank %-4zu stage %lld, %.1f %% of the work, %s planned, holds %lld of %lld microbatches, %s sent per "
		       "update\n", i, (long long)gt_json_get_int(rank, "stage", 0) + 1,
		       100 * gt_json_get_real(rank, "work_share", 0), planned, (long long)gt_json_get_int(rank, "in_flight", 0),
		       (long long)gt_json_get_int(p, "microbatches", 0), sent);
	}
}

static void print_documents(const json_t *docs)
{
	bn_print_documents(docs);
	printf("tokens     %.1f per second without padding, %.1f with it\n", gt_json_get_real(docs, "tokens_per_s", 0),
	       gt_json_get_real(docs, "padded_tokens_per_s", 0));
}

static void print_data(const json_t *data, const char *unit)
{
	const json_t *cache = json_object_get(data, "cache");
	char used[32];

	printf("data       %s, %lld samples, %lld worker%s, %lld batches ahead\n", gt_json_get_str(data, "kind", ""),
	       (long long)gt_json_get_int(data, "samples", 0), (long long)gt_json_get_int(data, "workers", 0),
	       gt_json_get_int(data, "workers", 0) == 1 ? "" : "s",
	       (long long)gt_json_get_int(data, "prefetch", 0));
	printf("data wait  %.1f %% of the time, %.1f %s/s with it\n", gt_json_get_real(data, "wait_share", 0) * 100,
	       gt_json_get_real(data, "items_per_s", 0), unit);
	if (json_is_object(json_object_get(data, "documents")))
		print_documents(json_object_get(data, "documents"));
	if (!json_is_object(cache))
		return;
	gt_format_bytes(used, sizeof(used), (uint64_t)gt_json_get_int(cache, "used_bytes", 0));
	printf("cache      %lld images in %s, %lld of %lld asked for were there\n", (long long)gt_json_get_int(cache, "images", 0),
	       used, (long long)gt_json_get_int(cache, "hits", 0),
	       (long long)(gt_json_get_int(cache, "hits", 0) + gt_json_get_int(cache, "misses", 0)));
}

/* Prints the nodes of the pages from the kernel: "weights 0, activations 0 (50 %) 1 (50 %)". */
static void print_pages(const json_t *doc)
{
	const json_t *kinds = json_object_get(doc, "pages_by_kind");
	const char *kind, *node, *comma = "";
	json_t *on, *n;

	if (!kinds)
		return;
	printf("on node    ");
	json_object_foreach((json_t *)kinds, kind, on) {
		json_int_t all = 0;

		json_object_foreach(on, node, n)
			all += json_integer_value(n);
		if (!all)
			continue;
		printf("%s%s", comma, kind);
		json_object_foreach(on, node, n) {
			if (json_integer_value(n) == all)
				printf(" %s", node);
			else
				printf(" %s (%.0f %%)", node, 100 * (double)json_integer_value(n) / (double)all);
		}
		comma = ", ";
	}
	printf("%s\n", *comma ? "" : "the kernel does not say");
}

static void print_homes(const json_t *ddp)
{
	const json_t *home = json_object_get(ddp, "home_node"), *share = json_object_get(ddp, "pages_at_home");

	if (!json_is_real(json_array_get(home, 0)) || !json_is_real(json_array_get(share, 0)))
		return;
	printf("homes     ");
	for (size_t i = 0; i < json_array_size(home); i++)
		printf("%s rank %zu node %.0f (%.0f %% of its pages)", i ? "," : "", i, json_real_value(json_array_get(home, i)),
		       100 * json_real_value(json_array_get(share, i)));
	printf("\n");
}

/* Prints the kernels of attention, the cuDNN plans that were left out, and the reason if cuDNN is not used. */
static void print_attention(const json_t *a)
{
	static const char *const passes[] = { "forward", "backward" };

	printf("attention ");
	for (size_t i = 0; i < GT_ARRAY_SIZE(passes); i++) {
		const json_t *calls = json_object_get(a, passes[i]);
		long long own = gt_json_get_int(calls, "own", 0), dnn = gt_json_get_int(calls, "cudnn", 0);
		long long too_large = gt_json_get_int(calls, "too_large", 0);

		if (own && dnn)
			printf("%s %s by our own kernels %lld times, by cuDNN %lld", i ? "," : "", passes[i], own, dnn);
		else if (own || dnn)
			printf("%s %s by %s", i ? "," : "", passes[i], dnn ? "cuDNN" : "our own kernels");
		if (too_large)
			printf(" (plans of cuDNN's left out for their workspace: %lld)", too_large);
	}
	if (gt_json_get_str(a, "why_own", NULL))
		printf(" (%s)", gt_json_get_str(a, "why_own", ""));
	printf("\n");
}

/* Prints the state of the GPUs during training, as for a session of one launch. */
static void print_cards(const json_t *doc)
{
	gt_auto_json *one = json_pack("{s:[O]}", "launches", doc);
	gt_auto_buf text = { 0 };

	bn_text_gpu(one, &text);
	if (text.len)
		printf("card       %s\n", text.s);
	if (gt_json_get_str(doc, "gpu_trouble", NULL))
		printf("card       its clocks, power and temperature are not recorded: %s\n",
		       gt_json_get_str(doc, "gpu_trouble", ""));
}

static void print_held_out(const json_t *doc)
{
	double before = gt_json_get_real(doc, "heldout_loss_before", 0), after = gt_json_get_real(doc, "heldout_loss_after", 0);

	printf("held out   %.4f before, %.4f after: %s%s\n", before, after, after < before ? "it fell" : "it did not fall",
	       gt_json_get_bool(doc, "void", false) ? ", the run is void" : "");
}

static void print_text(const json_t *doc, bool color)
{
	const char *unit = gt_json_get_str(doc, "unit", "");
	char planned[32], rss[32];

	gt_format_bytes(planned, sizeof(planned), (uint64_t)gt_json_get_int(doc, "planned_bytes", 0));
	gt_format_bytes(rss, sizeof(rss), (uint64_t)gt_json_get_int(doc, "max_rss_bytes", 0));
	printf("model      %s, %lld parameters, batch %lld, seq %lld, seed %lld\n", gt_json_get_str(doc, "model", ""),
	       (long long)gt_json_get_int(doc, "parameters", 0), (long long)gt_json_get_int(doc, "batch", 0),
	       (long long)gt_json_get_int(doc, "seq", 0), (long long)gt_json_get_int(doc, "seed", 0));
	printf("runs on    %s, %s, %s, %lld thread%s, %s, %s\n", gt_json_get_str(doc, "device", ""),
	       gt_json_get_str(doc, "isa", ""), gt_json_get_str(doc, "blas", ""),
	       (long long)gt_json_get_int(doc, "threads", 0), gt_json_get_int(doc, "threads", 0) == 1 ? "" : "s",
	       gt_json_get_str(doc, "pages", ""), gt_json_get_str(doc, "placement", ""));
	print_pages(doc);
	printf("spinning   %s\n", gt_json_get_str(doc, "spin", ""));
	print_techniques(json_object_get(doc, "passes"));
	if (json_object_get(doc, "attention"))
		print_attention(json_object_get(doc, "attention"));
	printf("speed      %.1f %s/s (median step %.2f ms, %.1f Gflop/s)\n", gt_json_get_real(doc, "items_per_s", 0),
	       unit, gt_json_get_real(doc, "median_step_s", 0) * 1e3, gt_json_get_real(doc, "flops_per_s", 0) / 1e9);
	printf("memory     %s planned, %s resident at most, %.1f minor faults per step\n", planned, rss,
	       gt_json_get_real(doc, "minor_faults_per_step", 0));
	print_device_memory(json_object_get(doc, "memory"));
	print_cards(doc);
	if (json_is_real(json_object_get(doc, "host_s_per_step")))
		printf("host       %.1f us of its own work per step\n", gt_json_get_real(doc, "host_s_per_step", 0) * 1e6);
	if (json_is_object(json_object_get(doc, "gradient_check")))
		printf("gradients  %lld elements checked by differences, off by %.2g of the largest at most\n",
		       (long long)gt_json_get_int(json_object_get(doc, "gradient_check"), "checked", 0),
		       gt_json_get_real(json_object_get(doc, "gradient_check"), "worst", 0));
	if (json_is_object(json_object_get(doc, "data")))
		print_data(json_object_get(doc, "data"), unit);
	printf("loss       %.4f at the last step\n", gt_json_get_real(doc, "loss", 0));
	if (gt_json_get_real(doc, "loss_scale", 1) != 1)
		printf("scaler     gradients scaled by %g at the last step, %lld updates skipped\n",
		       gt_json_get_real(doc, "loss_scale", 1), (long long)gt_json_get_int(doc, "skipped_updates", 0));
	if (json_object_get(doc, "ddp")) {
		print_ranks(doc, json_object_get(doc, "ddp"));
		print_homes(json_object_get(doc, "ddp"));
	}
	print_groups(json_object_get(doc, "groups"));
	print_pipeline(json_object_get(doc, "pipeline"));
	if (json_object_get(doc, "pruning"))
		bn_print_pruning(json_object_get(doc, "pruning"));
	if (json_is_real(json_object_get(doc, "heldout_loss_before")))
		print_held_out(doc);
	if (json_object_get(doc, "peaks")) {
		const json_t *peaks = json_object_get(doc, "peaks");

		printf("peak here  %.1f Gflop/s in f32, %.1f in bf16, ", gt_json_get_real(peaks, "flops_per_s", 0) / 1e9,
		       gt_json_get_real(peaks, "bf16_flops_per_s", 0) / 1e9);
		if (json_object_get(peaks, "f16_flops_per_s"))
			printf("%.1f in fp16, ", gt_json_get_real(peaks, "f16_flops_per_s", 0) / 1e9);
		printf("%.1f GB/s; above 100 %% comes from caches\n", gt_json_get_real(peaks, "bytes_per_s", 0) / 1e9);
		printf("MFU        %.1f %% of the measured peak of products in %s\n", 100 * gt_json_get_real(doc, "mfu", 0),
		       gt_json_get_str(doc, "amp", ""));
	}
	if (json_object_get(doc, "ops")) {
		print_plan(json_object_get(doc, "plan"));
		print_ops(json_object_get(doc, "ops"), color);
	}
	if (json_object_get(doc, "kernels"))
		print_kernels(json_object_get(doc, "kernels"), color);
	if (json_object_get(doc, "timed_by")) {
		const json_t *by = json_object_get(doc, "timed_by");
		const char *why = gt_json_get_str(by, "why", NULL);

		printf("timed by   %s%s%s\n", gt_json_get_str(by, "how", ""), why ? " round each call: " : "", why ? why : "");
	}
}

static int run_train(struct gt_cli *cli, int argc, char **argv)
{
	struct bn_gpu_monitor gauge = BN_GPU_MONITOR_INIT;
	gt_auto_json *doc = NULL;
	json_t *cards = NULL;
	enum rt_data_kind kind;
	int r = gt_fs_require_live(cli->fs, "training", &cli->err);

	if (r == 0) /* before the model is built */
		r = rt_data_guess(options.data, &kind, &cli->err);
	if (r < 0)
		return r;
	bn_omp_spin_bound();
	options.model = argv[0];
	options.progress = show_progress;
	options.planned = show_plan;
	options.arg = cli;
	if (!gt_streq(options.device, "cuda")) /* a device reports its own free memory */
		options.memory_limit_bytes = pr_available_bytes(cli->fs);
	if (gt_streq(options.device, "cuda"))
		bn_gpu_monitor_begin(&gauge);
	r = bn_train(&options, &doc, &cli->err);
	cards = bn_gpu_monitor_end(&gauge);
	bn_gpu_monitor_close(&gauge);
	if (doc && gt_streq(options.device, "cuda")) {
		json_object_set_new(doc, "env", json_object());
		bn_gpu_monitor_store(&gauge, cards, NULL, doc);
	} else {
		json_decref(cards);
	}
	gt_progress_end();
	if (r < 0)
		return r;
	if (!doc) /* this is not the first rank, which prints the result */
		return GT_EXIT_OK;
	print_warnings(doc);
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_text(doc, cli->color);
	return gt_json_get_bool(doc, "void", false) ? BN_EXIT_WRONG : GT_EXIT_OK;
}

const struct gt_cmd bn_cmd_train = {
	.name = "train",
	.args = "MODEL",
	.group = "Train and infer",
	.summary = "Train one model and print its speed",
	.help = "MODEL is gpt2 (GPT-2 124M), llama, gpt (a small GPT), bert (BERT base), vit (ViT-S/16), resnet20, resnet50 or "
		"mlp. "
		"Without --data, gpt trains on the licence texts of the host and the others on random numbers. Sizes that "
		"are not given are those of the model. With --ranks, --batch is per rank; mpirun, srun and torchrun can "
		"start the ranks instead. Exit status 6 means that the held-out loss on text did not fall. gpubench(1) "
		"describes data formats and launchers.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.word = bn_model_word,
	.run = run_train,
};
