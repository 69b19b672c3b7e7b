/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/stats/stats.h"
#include "bench/train/check_options.h"
#include "bench/train/evaluate.h"
#include "bench/train/infer.h"
#include "bench/train/models.h"
#include "bench/train/train_data.h"
#include "lib/cli.h"
#include "lib/parse.h"
#include "runtime/runtime.h"

#define RUNS	 50
#define WARMUP	 5
#define GENERATIONS 3 /* number of timed generations with --generate */
#define TOLERANCE	 1e-3 /* f32: largest difference of a row's logits between two batches, relative to the largest logit */
#define TOLERANCE_LOW 0.1 /* limit in lower precision */

struct inference {
	const struct bn_infer_options *o;
	struct bn_train_options model; /* options with defaults filled in */
	const struct bn_model *kind;
	uint64_t batch[BN_INFER_BATCHES];
	int n;
	struct bn_int8 int8;
	/* sizes and memory of the current batch */
	struct rt_graph *graph;
	struct rt_program *program, *fp32; /* fp32: the same without INT8, for comparison; NULL: not compared */
	struct rt_node *output;
	float *input, *logits, *fp32_logits;
	int64_t row_logits; /* number of elements */
	double *run_s, *fp32_run_s;
	float *first; /* logits of the first row in the first batch */
	uint64_t done; /* number of runs, including warm-up */
};

static int parse_batches(struct inference *f, const char *list, struct gt_err *err)
{
	gt_autofree char *text = gt_xstrdup(list);
	char *save = NULL;

	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		uint64_t n = 0;

		if (gt_parse_u64(word, &n) < 0 || n < 1 || n > 1 << 20)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "--batch %s: a batch has 1 to 1048576 rows, as in 1,8,32", word);
		if (f->n == BN_INFER_BATCHES)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--batch takes at most %d numbers", BN_INFER_BATCHES);
		f->batch[f->n++] = n;
	}
	return f->n ? 0 : gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--batch takes numbers of rows, as in 1,8,32");
}

static void release(struct inference *f)
{
	rt_program_free(f->program);
	rt_program_free(f->fp32);
	rt_graph_free(f->graph);
	free(f->input);
	free(f->logits);
	free(f->fp32_logits);
	f->program = f->fp32 = NULL;
	f->graph = NULL;
	f->input = f->logits = f->fp32_logits = NULL;
}

static int compile(struct inference *f, enum rt_int8 int8, const struct rt_ranges *ranges, struct rt_program **ret,
		   struct gt_err *err)
{
	struct rt_options opt = {
		.device = gt_streq(f->model.device, "cuda") ? RT_CUDA : RT_CPU,
		.threads = (int)f->model.threads,
		.seed = f->model.seed,
		.precision = bn_train_precision(&f->model),
		.memory.limit_bytes = f->model.memory_limit_bytes,
	};
	uint64_t ticket;
	int r;

	opt.precision.int8 = int8;
	opt.precision.ranges = ranges;
	r = rt_compile_outputs(f->graph, &f->output, 1, &opt, ret, err);
	if (r)
		return gt_fail_prefix(err, "batch %llu", (unsigned long long)f->model.batch);
	if (f->model.weights)
		return gt_fail_as(err, GT_EXIT_USAGE, rt_hf_load(*ret, &f->model.hf, f->model.weights, err));
	return f->o->load ? rt_load(*ret, f->o->load, &ticket, err) : 0;
}

static int declare(struct inference *f, uint64_t batch, struct gt_err *err)
{
	f->model.batch = batch;
	f->graph = rt_graph_new();
	f->output = rt_logits(f->kind->declare(f->graph, &f->model));
	return f->o->load ? rt_graph_match_checkpoint(f->graph, f->o->load, err) : rt_graph_error(f->graph, err);
}

static int calibrate(struct inference *f, struct rt_ranges **ret, struct gt_err *err)
{
	gt_auto(rt_program) *p = NULL;
	int r = compile(f, RT_INT8_OBSERVE, NULL, &p, err);

	return r ? r : bn_int8_calibrate(&f->int8, f->kind, &f->model, p, f->input, f->logits, ret, err);
}

static int build(struct inference *f, struct gt_err *err)
{
	gt_auto(rt_ranges) *ranges = NULL;
	int r = f->int8.use == RT_INT8_STATIC ? calibrate(f, &ranges, err) : 0;

	if (r)
		return r;
	r = compile(f, f->int8.use, ranges, &f->program, err);
	return r || f->int8.use == RT_INT8_OFF ? r : compile(f, RT_INT8_OFF, NULL, &f->fp32, err);
}

/* Row i of a batch is the same for every batch size. */
static int make_input(struct inference *f, uint64_t batch, struct gt_err *err)
{
	const struct rt_node *n = rt_graph_leaf(f->graph, 0);
	int64_t count = rt_shape_elements(rt_node_shape(n)), outputs = rt_shape_elements(rt_node_shape(f->output));
	uint64_t limit = f->kind->classes ? f->kind->classes : f->model.vocab;

	f->row_logits = outputs / (int64_t)batch;
	f->input = malloc((size_t)count * sizeof(float));
	f->logits = malloc((size_t)outputs * sizeof(float));
	f->fp32_logits = malloc((size_t)outputs * sizeof(float));
	if (!f->input || !f->logits || !f->fp32_logits)
		return gt_fail(err, ENOMEM, "no memory for the logits of a batch of %llu", (unsigned long long)batch);
	for (int64_t i = 0; i < count; i++) {
		int32_t id = (int32_t)(rt_random_u64(f->model.seed, 100, (uint64_t)i) % limit);

		if (rt_node_dtype(n) == RT_I32)
			memcpy(&f->input[i], &id, sizeof(id));
		else
			f->input[i] = rt_random_normal(f->model.seed, 100, (uint64_t)i);
	}
	return 0;
}

static int timed_run(const struct inference *f, struct rt_program *p, float *logits, double *ret_s, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_run(p, (const void *[]){ f->input, NULL }, &logits, err);

	*ret_s = gt_now_s() - t0;
	return r;
}

/* Runs the program and the one that it is compared with in alternating order. */
static int run_once(struct inference *f, uint64_t i, double *ret_s, double *ret_fp32_s, struct gt_err *err)
{
	bool fp32_first = f->fp32 && i % 2;
	int r = fp32_first ? timed_run(f, f->fp32, f->fp32_logits, ret_fp32_s, err) : 0;

	if (r)
		return r;
	r = timed_run(f, f->program, f->logits, ret_s, err);
	return r || !f->fp32 || fp32_first ? r : timed_run(f, f->fp32, f->fp32_logits, ret_fp32_s, err);
}

static int measure(struct inference *f, struct gt_err *err)
{
	uint64_t total = (uint64_t)f->n * (f->model.warmup + f->model.steps);

	for (uint64_t i = 0; i < f->model.warmup + f->model.steps; i++) {
		uint64_t at = i < f->model.warmup ? 0 : i - f->model.warmup;
		int r = run_once(f, i, &f->run_s[at], &f->fp32_run_s[at], err);

		if (r)
			return r;
		f->done++;
		if (f->o->progress && f->o->progress(f->o->arg, f->done, total))
			return gt_fail(err, EINTR, "interrupted");
	}
	return 0;
}

/*
 * Checks that the result of a row does not depend on the other rows, as must hold without training. The first row must have the
 * same logits in every batch.
 */
static int verify(struct inference *f, uint64_t batch, struct gt_err *err)
{
	double tolerance = gt_streq(f->model.amp, "fp32") && !f->fp32 ? TOLERANCE : TOLERANCE_LOW, most = 1e-6, worst = 0;
	int64_t all = f->row_logits * (int64_t)batch;

	for (int64_t i = 0; i < all; i++)
		if (!isfinite(f->logits[i]))
			return gt_fail_exit(err, BN_EXIT_WRONG, EDOM, "logit %lld of a batch of %llu is %g", (long long)i,
					    (unsigned long long)batch, (double)f->logits[i]);
	if (!f->first) {
		f->first = malloc((size_t)f->row_logits * sizeof(float));
		if (!f->first)
			return gt_fail(err, ENOMEM, "no memory for the logits of a row");
		memcpy(f->first, f->logits, (size_t)f->row_logits * sizeof(float));
	}
	/* a test seam: makes rows depend on each other */
	if (gt_streq(getenv("GPUBENCH_FAULT"), "verify") && batch > 1)
		f->logits[0] += 10 * fabsf(f->first[0]) + 1;
	for (int64_t i = 0; i < f->row_logits; i++) {
		most = fmax(most, fabs((double)f->first[i]));
		worst = fmax(worst, fabs((double)f->logits[i] - (double)f->first[i]));
	}
	if (worst > tolerance * most)
		return gt_fail_exit(err, BN_EXIT_WRONG, EDOM,
				    "the logits of the first row differ between batches of %llu and %llu, by %g of "
				    "the largest", (unsigned long long)batch, (unsigned long long)f->batch[0], worst / most);
	return 0;
}

static json_t *times(const struct inference *f, uint64_t batch, const struct rt_program *p, const double *run_s)
{
	size_t n = (size_t)f->model.steps;
	double sum = 0, items = (double)batch * (double)(f->kind->seq ? f->model.seq : 1);

	for (size_t i = 0; i < n; i++)
		sum += run_s[i];
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "batch", (json_int_t)batch, "p50_s",
			 gt_json_real(bn_quantile(run_s, n, 0.5)), "p99_s", gt_json_real(bn_quantile(run_s, n, 0.99)),
			 "mean_s", gt_json_real(sum / (double)n), "samples_per_s", gt_json_real((double)batch * (double)n / sum),
			 "items_per_s", gt_json_real(items * (double)n / sum), "planned_bytes",
			 (json_int_t)rt_program_planned_bytes(p));
}

static json_t *row(const struct inference *f, uint64_t batch)
{
	json_t *doc = times(f, batch, f->program, f->run_s);
	gt_autofree double *ratio = NULL;

	if (!f->fp32)
		return doc;
	ratio = gt_xcalloc((size_t)f->model.steps, sizeof(*ratio));
	for (uint64_t i = 0; i < f->model.steps; i++)
		ratio[i] = f->fp32_run_s[i] / f->run_s[i];
	json_object_set_new(doc, "fp32", times(f, batch, f->fp32, f->fp32_run_s));
	json_object_set_new(doc, "speedup", gt_json_real(bn_quantile(ratio, (size_t)f->model.steps, 0.5)));
	json_object_set_new(doc, "logits_difference",
			    gt_json_real(bn_int8_difference(f->logits, f->fp32_logits, f->row_logits * (int64_t)batch)));
	return doc;
}

/* Returns what the pass of that name reported. */
static const char *pass_report(const json_t *report, const char *name)
{
	size_t i;
	json_t *pass;

	json_array_foreach(json_object_get(report, "passes"), i, pass)
		if (gt_streq(gt_json_get_str(pass, "name", ""), name))
			return gt_json_get_str(pass, "did", "");
	return "";
}

/* Returns "int8" of the document, for the last batch. *ret: null without INT8. */
static int describe_int8(struct inference *f, json_t **ret, struct gt_err *err)
{
	gt_auto_json *report = rt_program_report(f->program);
	json_t *evaluated = NULL;
	int r;

	*ret = json_null();
	if (!f->fp32)
		return 0;
	r = bn_int8_evaluate(f->kind, &f->model, f->program, f->fp32, (float *[]){ f->logits, f->fp32_logits }, &evaluated, err);
	if (r)
		return r;
	*ret = json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:o}", "activations", f->o->int8.int8, "calibration",
			 f->int8.use != RT_INT8_STATIC ? json_null() :
						       json_string(f->o->int8.calibrate ? f->o->int8.calibrate : "minmax"),
			 "calibration_batches",
			 json_integer(f->int8.use == RT_INT8_STATIC ? (json_int_t)f->int8.batches : 0), "products",
			 gt_json_str(pass_report(report, "quantize")), "weight_bytes",
			 (json_int_t)rt_program_weight_bytes(f->program), "fp32_weight_bytes",
			 (json_int_t)rt_program_weight_bytes(f->fp32), "evaluated", evaluated);
	return 0;
}

/* Adds the members that describe the model and the program. */
static void describe_program(const struct inference *f, const json_t *report, json_t *doc)
{
	static const char *const report_keys[] = { "device", "isa", "blas", "threads", "parameters", "warnings" };

	json_object_set_new(doc, "model", json_string(f->kind->name));
	json_object_set_new(doc, "amp", json_string(f->model.amp));
	json_object_set_new(doc, "load", f->o->load ? gt_json_str(f->o->load) : json_null());
	json_object_set_new(doc, "warmup", json_integer((json_int_t)f->model.warmup));
	json_object_set_new(doc, "runs", json_integer((json_int_t)f->model.steps));
	for (size_t i = 0; i < GT_ARRAY_SIZE(report_keys); i++)
		json_object_set(doc, report_keys[i], json_object_get(report, report_keys[i]));
	bn_train_warn_of_keys(&f->model, json_object_get(doc, "warnings"));
}

static void describe(const struct inference *f, json_t *doc)
{
	gt_auto_json *report = rt_program_report(f->program);

	describe_program(f, report, doc);
	json_object_set_new(doc, "schema", json_string("gpubench-infer/1"));
	json_object_set_new(doc, "unit", json_string(f->kind->unit));
	json_object_set_new(doc, "seq", json_integer((json_int_t)(f->kind->seq ? f->model.seq : 0)));
	json_object_set_new(doc, "size", json_integer((json_int_t)f->model.size));
	json_object_set_new(doc, "row_logits", json_integer((json_int_t)f->row_logits));
	json_object_set_new(doc, "weight_bytes", json_integer((json_int_t)rt_program_weight_bytes(f->program)));
}

/* Returns "evaluated" of the document, for the last batch. *ret: null without --evaluate and without INT8 on data. */
static int evaluate(struct inference *f, const json_t *int8, json_t **ret, struct gt_err *err)
{
	const json_t *known = json_object_get(int8, "evaluated");
	struct bn_score score;
	int64_t rows = 0;
	int r;

	*ret = json_null();
	if (json_is_object(known)) {
		*ret = json_pack("{s:O, s:O, s:O}", "rows", json_object_get(known, "rows"), "loss", json_object_get(known, "loss"),
				 "accuracy", json_object_get(known, "accuracy"));
		return 0;
	}
	if (!f->o->evaluate)
		return 0;
	r = bn_evaluate(f->kind, &f->model, &f->program, &f->logits, 1, &score, &rows, err);
	if (r)
		return r;
	*ret = json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)rows, "loss", gt_json_real(score.loss), "accuracy",
			 gt_json_real(score.accuracy));
	return 0;
}

static int run_batch(struct inference *f, uint64_t batch, json_t *rows, struct gt_err *err)
{
	int r;

	release(f);
	r = declare(f, batch, err);
	if (r)
		return r;
	r = make_input(f, batch, err);
	if (r)
		return r;
	r = build(f, err);
	if (r)
		return r;
	r = measure(f, err);
	if (r)
		return r;
	r = verify(f, batch, err);
	if (r)
		return r;
	json_array_append_new(rows, row(f, batch));
	return 0;
}

static int run_all(struct inference *f, json_t *doc, struct gt_err *err)
{
	json_t *rows = json_array(), *int8 = NULL, *evaluated = NULL;
	int r = 0;

	json_object_set_new(doc, "batches", rows);
	for (int i = 0; !r && i < f->n; i++)
		r = run_batch(f, f->batch[i], rows, err);
	if (r)
		return r;
	describe(f, doc); /* describes the last batch, whose program still exists */
	r = describe_int8(f, &int8, err);
	if (r)
		return r;
	json_object_set_new(doc, "int8", int8);
	r = evaluate(f, int8, &evaluated, err);
	if (r)
		return r;
	json_object_set_new(doc, "evaluated", evaluated);
	return 0;
}

static int generate_batch(const struct inference *f, struct bn_generation *g, uint64_t batch, json_t *doc, json_t *rows,
			  struct gt_err *err)
{
	struct bn_prompts p = { 0 };
	gt_auto_json *report = NULL;
	json_t *row = NULL;
	int r = bn_prompts_make(g, batch, &p, err);

	if (r)
		return r;
	r = bn_generate(g, &p, &row, &report, err);
	bn_prompts_clear(&p);
	if (r)
		return r;
	json_array_append_new(rows, row);
	describe_program(f, report, doc);
	return 0;
}

/* Generates text from prompts of a file, or for each batch size from random prompts. */
static int generate_all(const struct inference *f, json_t *doc, struct gt_err *err)
{
	const struct bn_infer_options *o = f->o;
	struct bn_generation g = { .model = &f->model, .kind = f->kind, .o = &o->generate, .load = o->load, .int8 = o->int8.int8,
				   .progress = o->progress, .arg = o->arg };
	int n = o->generate.prompts ? 1 : f->n, r = bn_generate_check(&g, err);
	json_t *rows = json_array();

	json_object_set_new(doc, "batches", rows);
	g.total = (uint64_t)n * (f->model.warmup + f->model.steps) * o->generate.tokens;
	for (int i = 0; !r && i < n; i++)
		r = generate_batch(f, &g, f->batch[i], doc, rows, err);
	if (r)
		return r;
	json_object_set_new(doc, "schema", json_string("gpubench-generate/1"));
	json_object_set_new(doc, "new_tokens", json_integer((json_int_t)o->generate.tokens));
	json_object_set_new(doc, "context", json_integer((json_int_t)g.context));
	json_object_set_new(doc, "temperature", gt_json_real(g.temperature));
	json_object_set_new(doc, "int8", json_boolean(o->int8.int8 != NULL));
	return 0;
}

static int check_combinations(const struct bn_infer_options *o, struct gt_err *err)
{
	const struct bn_generate_options *g = &o->generate;

	if (!g->tokens && (g->prompts || g->prompt_tokens || g->temperature || g->top_k))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--prompts, --prompt-tokens, --temperature and --top-k need --generate");
	if (g->tokens && o->model.data)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--generate takes no --data");
	if (g->tokens && o->evaluate)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--evaluate and --generate exclude each other");
	if (o->model.data && !o->int8.int8 && !o->evaluate)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--data needs --int8 or --evaluate: without them inference runs on random inputs");
	if (g->prompts && o->batches)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--prompts and --batch exclude each other");
	return 0;
}

int bn_infer(const struct bn_infer_options *o, json_t **ret, struct gt_err *err)
{
	struct inference f = { .o = o };
	gt_auto_json *doc = json_object();
	int r = parse_batches(&f, o->batches ? o->batches : "1,8", err);

	if (r < 0)
		return r;
	r = check_combinations(o, err);
	if (r < 0)
		return r;
	r = bn_int8_parse(&o->int8, &o->model, &f.int8, err);
	if (r < 0)
		return r;
	r = bn_train_resolve(&o->model, &f.model, err);
	if (r < 0)
		return r;
	f.kind = bn_model_find(f.model.model, err);
	if (o->evaluate && !bn_train_data_wanted(f.kind, &f.model))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--evaluate needs --data: %s runs on random samples", f.kind->name);
	f.model.steps = o->model.steps ? o->model.steps : o->generate.tokens ? GENERATIONS : RUNS;
	f.model.warmup = o->model.warmup == UINT64_MAX ? o->generate.tokens ? 1 : WARMUP : o->model.warmup;
	f.model.amp = f.model.amp ? f.model.amp : "fp32";
	f.model.no_u8 = true; /* images as f32, like the random inputs */
	f.run_s = gt_xcalloc((size_t)f.model.steps, sizeof(*f.run_s));
	f.fp32_run_s = gt_xcalloc((size_t)f.model.steps, sizeof(*f.fp32_run_s));
	rt_keep_heap();
	r = o->generate.tokens ? generate_all(&f, doc, err) : run_all(&f, doc, err);
	release(&f);
	free(f.run_s);
	free(f.fp32_run_s);
	free(f.first);
	if (r)
		return r;
	*ret = gt_take(doc);
	return 0;
}
