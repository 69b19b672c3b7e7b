/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench infer MODEL */
#include <stdio.h>
#include "bench/cmd/cmds.h"
#include "bench/train/infer.h"
#include "bench/train/models.h"
#include "bench/train/omp_spin.h"
#include "lib/log.h"
#include "lib/table.h"
#include "probe/host/host.h"

static struct bn_infer_options options = { .model = { .warmup = UINT64_MAX, .workers = UINT64_MAX, .max_corrupt = UINT64_MAX,
						      .alone = true } };

static const char *const devices[] = { "cpu", "cuda", NULL };
static const char *const types[] = { "fp32", "tf32", "bf16", "fp16", "fp8", NULL };
static const char *const activations[] = { "dynamic", "static", NULL };
static const char *const methods[] = { "minmax", "percentile", "entropy", NULL };
static const struct gt_opt opts[] = {
	{ 0, "batch", "LIST", "measure these batch sizes, such as 1,8,32 (default: 1,8)", GT_OPT_STR, &options.batches },
	{ 0, "load", "FILE", "load parameters from a checkpoint (default: initial values)", GT_OPT_STR, &options.load },
	{ 0, "weights", "DIR", "load llama or gpt2 weights in the Hugging Face layout", GT_OPT_STR, &options.model.weights },
	{ 0, "device", "DEVICE", "compute on cpu or cuda (default: cpu)", GT_OPT_CHOICE, &options.model.device, devices },
	{ 0, "amp", "TYPE", "compute matrix products in fp32, tf32, bf16, fp16 or fp8 (default: fp32)", GT_OPT_CHOICE,
	  &options.model.amp, types },
	{ 0, "generate", "N", "generate N tokens per prompt and measure prefill and decode", GT_OPT_COUNT,
	  &options.generate.tokens },
	{ 0, "prompts", "FILE", "generate from the prompts in FILE: token ids, one prompt per line", GT_OPT_STR,
	  &options.generate.prompts },
	{ 0, "prompt-tokens", "N", "use random prompts of N tokens (default: 64)", GT_OPT_COUNT, &options.generate.prompt_tokens },
	{ 0, "temperature", "T", "sample at temperature T (default: 0, the most likely token)", GT_OPT_STR,
	  &options.generate.temperature },
	{ 0, "top-k", "K", "sample from the K most likely tokens (default: all)", GT_OPT_COUNT, &options.generate.top_k },
	{ 0, "int8", "WHICH", "compute products in INT8, with dynamic or static ranges; compare with FP32", GT_OPT_CHOICE,
	  &options.int8.int8, activations },
	{ 0, "calibrate", "METHOD", "choose static ranges by minmax, percentile or entropy (default: minmax)", GT_OPT_CHOICE,
	  &options.int8.calibrate, methods },
	{ 0, "calibration-batches", "N", "calibrate on N batches (default: 8)", GT_OPT_COUNT, &options.int8.calibration_batches },
	{ 0, "evaluate", NULL, "compute loss and accuracy on held-out data too", GT_OPT_FLAG, &options.evaluate },
	{ 0, "data", "PATH", "calibrate and evaluate on this data (default of gpt: licence texts)", GT_OPT_STR,
	  &options.model.data },
	{ 0, "threads", "N", "use N threads (default: chosen by OpenMP)", GT_OPT_UINT, &options.model.threads },
	{ 0, "seq", "N", "use N tokens per sequence", GT_OPT_COUNT, &options.model.seq },
	{ 0, "layers", "N", "use N transformer blocks", GT_OPT_COUNT, &options.model.layers },
	{ 0, "width", "N", "set the width of the model", GT_OPT_COUNT, &options.model.width },
	{ 0, "heads", "N", "use N attention heads", GT_OPT_COUNT, &options.model.heads },
	{ 0, "kv-heads", "N", "use N key/value heads in llama (default: 4, or --heads)", GT_OPT_COUNT, &options.model.kv_heads },
	{ 0, "ffn", "N", "set the width of the MLP of llama (default: 8/3 of --width)", GT_OPT_COUNT, &options.model.ffn },
	{ 0, "tied", NULL, "use the token table of llama as output projection", GT_OPT_FLAG, &options.model.tied },
	{ 0, "vocab", "N", "set the size of the vocabulary", GT_OPT_COUNT, &options.model.vocab },
	{ 0, "size", "N", "use images of N x N pixels", GT_OPT_COUNT, &options.model.size },
	{ 0, "patch", "N", "use patches of N x N pixels in vit (default: 16)", GT_OPT_COUNT, &options.model.patch },
	{ 0, "runs", "N", "time N runs per batch size (default: 50), or N generations (3)", GT_OPT_COUNT, &options.model.steps },
	{ 0, "warmup", "N", "run N times before the timed runs (default: 5, generations: 1)", GT_OPT_UINT, &options.model.warmup },
	{ 0, "seed", "N", "set the seed of parameters and inputs (default: 1)", GT_OPT_UINT, &options.model.seed },
	{ 0 },
};

static int show_progress(void *arg, uint64_t run, uint64_t total)
{
	const struct gt_cli *cli = arg;

	if (!cli->quiet)
		gt_progress("inference", (double)run, (double)total);
	return gt_interrupted;
}

static void print_int8(const json_t *int8)
{
	const json_t *e = json_object_get(int8, "evaluated");
	char bytes[2][32];

	gt_format_bytes(bytes[0], sizeof(bytes[0]), (uint64_t)gt_json_get_int(int8, "weight_bytes", 0));
	gt_format_bytes(bytes[1], sizeof(bytes[1]), (uint64_t)gt_json_get_int(int8, "fp32_weight_bytes", 0));
	printf("int8       %s\n", gt_json_get_str(int8, "products", ""));
	printf("weights    %s, FP32 %s\n", bytes[0], bytes[1]);
	if (json_is_object(e))
		printf("held out   loss %.4f, FP32 %.4f; accuracy %.2f %%, FP32 %.2f %%; %lld rows\n",
		       gt_json_get_real(e, "loss", 0), gt_json_get_real(e, "fp32_loss", 0),
		       100 * gt_json_get_real(e, "accuracy", 0), 100 * gt_json_get_real(e, "fp32_accuracy", 0),
		       (long long)gt_json_get_int(e, "rows", 0));
}

static void print_evaluation(const json_t *doc)
{
	const json_t *e = json_object_get(doc, "evaluated");

	if (json_is_object(e))
		printf("held out   loss %.4f, accuracy %.2f %%; %lld rows\n", gt_json_get_real(e, "loss", 0),
		       100 * gt_json_get_real(e, "accuracy", 0), (long long)gt_json_get_int(e, "rows", 0));
}

static void print_model(const json_t *doc)
{
	printf("model      %s, %s, %lld parameters%s%s\n", gt_json_get_str(doc, "model", ""), gt_json_get_str(doc, "amp", ""),
	       (long long)gt_json_get_int(doc, "parameters", 0), json_is_string(json_object_get(doc, "load")) ? " of " : "",
	       gt_json_get_str(doc, "load", ""));
	printf("runs on    %s, %s, %s, %lld threads\n", gt_json_get_str(doc, "device", ""), gt_json_get_str(doc, "isa", ""),
	       gt_json_get_str(doc, "blas", ""), (long long)gt_json_get_int(doc, "threads", 0));
}

static void print(const json_t *doc, bool color)
{
	bool compared = json_is_object(json_object_get(doc, "int8"));
	const char *unit = gt_json_get_str(doc, "unit", "samples");
	gt_auto(gt_table) *t = gt_table_new();
	char rate[32], bytes[32];
	size_t i;
	json_t *b;

	snprintf(rate, sizeof(rate), "%s/s", unit);
	print_model(doc);
	if (compared)
		print_int8(json_object_get(doc, "int8"));
	else
		print_evaluation(doc);
	gt_table_column(t, "batch", GT_RIGHT);
	gt_table_column(t, "p50 ms", GT_RIGHT);
	gt_table_column(t, "p99 ms", GT_RIGHT);
	gt_table_column(t, rate, GT_RIGHT);
	gt_table_column(t, "memory", GT_RIGHT);
	if (compared) {
		gt_table_column(t, "FP32 p50 ms", GT_RIGHT);
		gt_table_column(t, "speed-up", GT_RIGHT);
		gt_table_column(t, "difference", GT_RIGHT);
	}
	json_array_foreach(json_object_get(doc, "batches"), i, b) {
		gt_table_row(t);
		gt_table_cell(t, "%lld", (long long)gt_json_get_int(b, "batch", 0));
		gt_table_cell(t, "%.3f", 1e3 * gt_json_get_real(b, "p50_s", 0));
		gt_table_cell(t, "%.3f", 1e3 * gt_json_get_real(b, "p99_s", 0));
		gt_table_cell(t, "%.0f", gt_json_get_real(b, "items_per_s", 0));
		gt_format_bytes(bytes, sizeof(bytes), (uint64_t)gt_json_get_int(b, "planned_bytes", 0));
		gt_table_cell(t, "%s", bytes);
		if (!compared)
			continue;
		gt_table_cell(t, "%.3f", 1e3 * gt_json_get_real(json_object_get(b, "fp32"), "p50_s", 0));
		gt_table_cell(t, "%.2f", gt_json_get_real(b, "speedup", 0));
		gt_table_cell(t, "%.2f %%", 100 * gt_json_get_real(b, "logits_difference", 0));
	}
	gt_table_print(t, stdout, color);
}

static void print_generation(const json_t *doc, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	static const char *const columns[] = { "batch", "prompt", "prefill ms", "tokens/s", "decode p50 ms", "p99 ms", "tokens/s",
					       "cache", "memory" };
	char bytes[32];
	size_t i;
	json_t *b;

	print_model(doc);
	for (i = 0; i < GT_ARRAY_SIZE(columns); i++)
		gt_table_column(t, columns[i], GT_RIGHT);
	json_array_foreach(json_object_get(doc, "batches"), i, b) {
		const json_t *prefill = json_object_get(b, "prefill"), *decode = json_object_get(b, "decode");
		const json_t *lengths = json_object_get(b, "prompt_tokens");
		int64_t longest = 0;
		size_t k;
		json_t *n;

		json_array_foreach(lengths, k, n)
			longest = GT_MAX(longest, (int64_t)json_integer_value(n));
		gt_table_row(t);
		gt_table_cell(t, "%lld", (long long)gt_json_get_int(b, "batch", 0));
		gt_table_cell(t, "%lld", (long long)longest);
		gt_table_cell(t, "%.2f", 1e3 * gt_json_get_real(prefill, "p50_s", 0));
		gt_table_cell(t, "%.1f", gt_json_get_real(prefill, "tokens_per_s", 0));
		gt_table_cell(t, "%.3f", 1e3 * gt_json_get_real(decode, "p50_s", 0));
		gt_table_cell(t, "%.3f", 1e3 * gt_json_get_real(decode, "p99_s", 0));
		gt_table_cell(t, "%.1f", gt_json_get_real(decode, "tokens_per_s", 0));
		gt_format_bytes(bytes, sizeof(bytes), (uint64_t)gt_json_get_int(b, "cache_bytes", 0));
		gt_table_cell(t, "%s", bytes);
		gt_format_bytes(bytes, sizeof(bytes), (uint64_t)gt_json_get_int(b, "planned_bytes", 0));
		gt_table_cell(t, "%s", bytes);
	}
	gt_table_print(t, stdout, color);
}

static int run_infer(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = NULL;
	int r = gt_fs_require_live(cli->fs, "inference", &cli->err);

	if (r < 0)
		return r;
	bn_omp_spin_bound();
	options.model.model = argv[0];
	options.progress = show_progress;
	options.arg = cli;
	if (!gt_streq(options.model.device, "cuda")) /* a device reports its own free memory */
		options.model.memory_limit_bytes = pr_available_bytes(cli->fs);
	r = bn_infer(&options, &doc, &cli->err);
	gt_progress_end();
	if (r < 0)
		return r;
	for (size_t i = 0; i < json_array_size(json_object_get(doc, "warnings")); i++)
		gt_log(GT_LOG_WARN, "%s", json_string_value(json_array_get(json_object_get(doc, "warnings"), i)));
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		(options.generate.tokens ? print_generation : print)(doc, cli->color);
	return GT_EXIT_OK;
}

const struct gt_cmd bn_cmd_infer = {
	.name = "infer",
	.args = "MODEL",
	.group = "Train and infer",
	.summary = "Measure latency and throughput of inference by batch size",
	.help = "MODEL is a model of gpubench train. Each run copies a batch of random inputs, computes the logits and "
		"copies them back. p50 and p99 are quantiles over the timed runs; the rate is the mean over these "
		"runs. With --int8 each run is compared with FP32: the speed-up is the median ratio of neighbouring runs, "
		"the difference is that of the logits. With --generate, a program with a cache of keys and values "
		"computes the prompts (prefill) and then one token after the other (decode). The --json document has the tokens. "
		"Exit status 6 means that a logit is not finite, that the first row's logits depend on the batch, or that "
		"two generations differ.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run_infer,
	.word = bn_model_word,
};
