/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench plan-parallel MODEL|config.json */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/cmd/cmds.h"
#include "bench/result/text.h"
#include "bench/train/models.h"
#include "bench/train/omp_spin.h"
#include "bench/train/plan_parallel.h"
#include "bench/train/rates.h"
#include "lib/file.h"
#include "lib/table.h"
#include "probe/host/host.h"
#include "runtime/transport/comm.h"

#define SHOWN		12
#define BATCH_MAX	(UINT64_C(1) << 20)
#define GPU_MEMORY	(UINT64_C(80) << 30)
#define GPU_RESERVE	(UINT64_C(2) << 30) /* context, libraries' work memory and the buffers of NCCL */

static struct bn_parallel_request request = { .model = { .lr = NAN, .warmup = UINT64_MAX, .workers = UINT64_MAX,
							 .max_corrupt = UINT64_MAX, .alone = true } };
static struct {
	uint64_t ranks, gpus;
	double tflops, memory_gbytes, gbytes;
	const char *link;
	bool all;
} given;

static const char *const optimizers[] = { "sgd", "adam", "adamw", "adamw8", NULL };
static const char *const types[] = { "fp32", "bf16", NULL };
static const char *const links[] = { "nvlink", "pcie", NULL };
#define SIZE_OF(name, arg, help, field) { 0, name, arg, help, GT_OPT_COUNT, &request.model.field, .group = "Size of the model", \
					  .listed = GT_RARE }
static const struct gt_opt opts[] = {
	{ 0, "ranks", "N", "split among N processes on the CPUs of this host (default: 4)", GT_OPT_COUNT, &given.ranks },
	{ 0, "gpus", "N", "split among N GPUs instead", GT_OPT_COUNT, &given.gpus },
	{ 0, "memory", "SIZE", "limit a rank to SIZE (default: 80G, or its part of memory)", GT_OPT_SIZE,
	  &request.memory_bytes },
	{ 0, "link", "KIND", "connect the GPUs by nvlink or pcie (default: nvlink)", GT_OPT_CHOICE, &given.link, links },
	{ 0, "batch", "N", "use N sequences or samples per update over all ranks", GT_OPT_COUNT, &request.model.batch },
	{ 0, "seq", "N", "use N tokens per sequence", GT_OPT_COUNT, &request.model.seq },
	{ 0, "amp", "TYPE", "compute matrix products in fp32 or bf16 (default: bf16 on GPUs)", GT_OPT_CHOICE, &request.model.amp,
	  types },
	{ 0, "optimizer", "NAME", "use sgd, adam, adamw or adamw8 (default: the model's)", GT_OPT_CHOICE, &request.model.optimizer,
	  optimizers },
	{ 0, "threads", "N", "use N threads per rank (default: its share of the CPUs)", GT_OPT_COUNT, &request.model.threads },
	{ 0, "tflops", "N", "assume products of N Tflop/s per rank (default: measured or known)", GT_OPT_ABOVE_0, &given.tflops },
	{ 0, "memory-bandwidth", "N", "assume N GB/s of memory bandwidth per rank (default: measured or known)", GT_OPT_ABOVE_0,
	  &given.memory_gbytes },
	{ 0, "bandwidth", "N", "assume that a rank sends N GB/s (default: measured or known)", GT_OPT_ABOVE_0, &given.gbytes },
	{ 0, "sp", NULL, "split tokens between the layers that tp ranks split, as train --sp", GT_OPT_FLAG, &request.model.sp },
	{ 0, "all", NULL, "show all splits, not only the first 12", GT_OPT_FLAG, &given.all },
	SIZE_OF("layers", "N", "use N transformer blocks", layers),
	SIZE_OF("width", "N", "set the width of the model", width),
	SIZE_OF("heads", "N", "use N attention heads", heads),
	SIZE_OF("kv-heads", "N", "use N key/value heads in llama", kv_heads),
	SIZE_OF("ffn", "N", "set the width of the MLP of llama", ffn),
	SIZE_OF("vocab", "N", "set the size of the vocabulary", vocab),
	{ 0 },
};

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

static int check_options(struct gt_err *err)
{
	if (given.ranks && given.gpus)
		return usage(err, "--ranks and --gpus exclude each other");
	if (given.link && !given.gpus)
		return usage(err, "--link needs --gpus");
	if (given.gpus && request.model.threads)
		return usage(err, "--threads needs ranks on CPUs: it excludes --gpus");
	if (given.ranks > RT_MAX_RANKS || given.gpus > RT_MAX_RANKS)
		return usage(err, "--ranks and --gpus take at most 64");
	if (request.model.batch > BATCH_MAX)
		return usage(err, "--batch takes at most 1048576");
	return 0;
}

static bool is_path(const char *model)
{
	return strchr(model, '/') || strchr(model, '.');
}

static int read_model(const char *model, struct gt_err *err)
{
	const struct bn_train_options *o = &request.model;

	if (!is_path(model)) {
		request.model.model = model;
		return 0;
	}
	if (o->layers || o->width || o->heads || o->kv_heads || o->ffn || o->vocab)
		return usage(err, "a config.json has all sizes of the model: leave out --layers, --width and the others");
	return bn_parallel_read_config(&request, model, err);
}

/* Measures the rates that no option gives. A process that measures must not have run an OpenMP team. */
static int find_rates(struct gt_err *err)
{
	bool all = given.tflops > 0 && given.memory_gbytes > 0 && given.gbytes > 0;
	struct bn_rates k = bn_gpu_rates(!gt_streq(given.link, "pcie"));
	int r = 0;

	request.source = all ? "as given" : request.gpus ? "assumed for H100 GPUs" : "measured on this host with all ranks at work";
	if (all)
		k.latency_s = 0;
	else if (!request.gpus)
		r = bn_measure_rates(request.ranks, request.model.threads, &k, err);
	if (r)
		return r;
	if (given.tflops > 0)
		k.rank.flops_per_s = k.rank.reduced_flops_per_s = given.tflops * 1e12;
	if (given.memory_gbytes > 0)
		k.rank.bytes_per_s = given.memory_gbytes * 1e9;
	if (given.gbytes > 0)
		k.link_bytes_per_s = given.gbytes * 1e9;
	request.rates = k.rank;
	request.link_bytes_per_s = k.link_bytes_per_s;
	request.latency_s = k.latency_s;
	return 0;
}

static void complete(struct gt_fsroot *fs)
{
	request.gpus = given.gpus > 0;
	request.ranks = request.gpus ? given.gpus : given.ranks ? given.ranks : 4;
	request.reserve_bytes = request.gpus ? GPU_RESERVE : 0;
	if (request.gpus && !request.model.amp)
		request.model.amp = "bf16";
	if (!request.memory_bytes)
		request.memory_bytes = request.gpus ? GPU_MEMORY : pr_available_bytes(fs) / request.ranks;
}

/* ---- text ---- */

static const char *bytes_text(char text[32], const json_t *doc, const char *key)
{
	gt_format_bytes(text, 32, (uint64_t)gt_json_get_real(doc, key, 0));
	return text;
}

static void print_row(struct gt_table *t, const json_t *k, double unit)
{
	static const char *const counts[] = { "dp", "tp", "pp", "zero", "microbatches", "rows" };
	static const char *const sizes[] = { "memory_bytes", "parameter_bytes", "gradient_bytes", "optimizer_bytes",
					     "activation_bytes" };
	double sent = gt_json_get_real(k, "data_sent_bytes", 0) + gt_json_get_real(k, "tensor_sent_bytes", 0) +
		      gt_json_get_real(k, "pipeline_sent_bytes", 0);

	gt_table_row(t);
	for (size_t i = 0; i < GT_ARRAY_SIZE(counts); i++)
		gt_table_cell(t, "%lld", (long long)gt_json_get_int(k, counts[i], 0));
	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++)
		gt_table_cell(t, "%.1f", gt_json_get_real(k, sizes[i], 0) / unit);
	gt_table_cell(t, "%.1f", sent / unit);
	gt_table_cell(t, "%s", bn_text_value(gt_json_get_real(k, "step_s", 0), "s").s);
	gt_table_cell(t, gt_json_get_bool(k, "fits", false) ? "yes" : "no");
}

static void print_head(const json_t *doc)
{
	const char *rate = gt_streq(gt_json_get_str(doc, "amp", ""), "bf16") ? "reduced_flops_per_s" : "flops_per_s";
	char memory[32], reserve[32];

	printf("model      %s, %.0f parameters, batch %lld, seq %lld, %s, %s\n", gt_json_get_str(doc, "model", ""),
	       gt_json_get_real(doc, "parameters", 0), (long long)gt_json_get_int(doc, "batch", 0),
	       (long long)gt_json_get_int(doc, "seq", 0), gt_json_get_str(doc, "amp", ""), gt_json_get_str(doc, "optimizer", ""));
	printf("each rank  %s", bytes_text(memory, doc, "memory_bytes"));
	if (gt_json_get_int(doc, "reserve_bytes", 0))
		printf(", %s of it for libraries", bytes_text(reserve, doc, "reserve_bytes"));
	printf(", %.3g Tflop/s, sends %.3g GB/s\n", gt_json_get_real(doc, rate, 0) / 1e12,
	       gt_json_get_real(doc, "link_bytes_per_s", 0) / 1e9);
	printf("rates      %s\n", gt_json_get_str(doc, "source", ""));
}

static double largest_memory(const json_t *splits)
{
	double most = 0;
	json_t *k;
	size_t i;

	json_array_foreach(splits, i, k)
		most = fmax(most, gt_json_get_real(k, "memory_bytes", 0));
	return most;
}

static void print(const json_t *doc, bool color)
{
	static const char *const columns[] = { "dp", "tp", "pp", "ZeRO", "micro", "rows", "memory", "par", "grad", "opt", "act",
					       "sent", "step", "fits" };
	json_t *k, *splits = json_object_get(doc, "splits"), *impossible = json_object_get(doc, "impossible");
	bool large = largest_memory(splits) >= 10.0 * (1 << 30);
	gt_auto(gt_table) *t = gt_table_new();
	size_t i, fitting = 0;

	print_head(doc);
	for (i = 0; i < GT_ARRAY_SIZE(columns); i++)
		gt_table_column(t, columns[i], GT_RIGHT);
	json_array_foreach(splits, i, k) {
		fitting += gt_json_get_bool(k, "fits", false);
		if (given.all || i < SHOWN)
			print_row(t, k, large ? 1 << 30 : 1 << 20);
	}
	gt_table_print(t, stdout, color);
	gt_autofree char *fit =
		gt_xasprintf("%zu of %zu splits fit; memory and sent bytes per step in %s, of the rank that needs most", fitting,
			     json_array_size(splits), large ? "GiB" : "MiB");
	gt_print_wrapped(stdout, fit, 0, gt_term_width(stdout));
	if (!json_array_size(impossible))
		return;
	k = json_array_get(impossible, 0);
	gt_autofree char *none = gt_xasprintf("%zu splits are impossible, such as dp %d, tp %d, pp %d: %s",
					      json_array_size(impossible), (int)gt_json_get_int(k, "dp", 0),
					      (int)gt_json_get_int(k, "tp", 0), (int)gt_json_get_int(k, "pp", 0),
					      gt_json_get_str(k, "reason", ""));
	gt_print_wrapped(stdout, none, 0, gt_term_width(stdout));
}

static int run_plan(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = NULL;
	int r = check_options(&cli->err);

	(void)argc;
	if (r)
		return r;
	complete(cli->fs);
	r = read_model(argv[0], &cli->err);
	if (r)
		return r;
	bn_omp_spin_bound();
	r = bn_parallel_check(&request, &cli->err);
	if (r)
		return r;
	r = find_rates(&cli->err);
	if (r)
		return r;
	r = bn_plan_parallel(&request, &doc, &cli->err);
	if (r)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print(doc, cli->color);
	return GT_EXIT_OK;
}

const struct gt_cmd bn_cmd_plan_parallel = {
	.name = "plan-parallel",
	.args = "MODEL",
	.group = "Train and infer",
	.summary = "Predict which split among ranks fits the memory and is fastest",
	.help = "MODEL is a model of gpubench train or the config.json of a llama, mistral or gpt2 model. Lists the splits of the "
		"ranks into data (dp), tensor (tp) and pipeline (pp) parallelism and the ZeRO stages of dp: memory per rank, bytes "
		"that a rank sends per step, and the predicted step time, fastest first. gpubench(1) has the cost model.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.word = bn_model_word,
	.run = run_plan,
};
