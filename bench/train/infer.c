/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/stats/stats.h"
#include "bench/train/check_options.h"
#include "bench/train/infer.h"
#include "bench/train/models.h"
#include "lib/cli.h"
#include "lib/parse.h"
#include "runtime/runtime.h"

#define RUNS	 50
#define WARMUP	 5
#define TOLERANCE	 1e-3 /* f32: largest difference of a row's logits between two batches, relative to the largest logit */
#define TOLERANCE_LOW 0.1 /* the same in lower precision */

struct inference {
	const struct bn_infer_options *o;
	struct bn_train_options model; /* with defaults */
	const struct bn_model *kind;
	uint64_t batch[BN_INFER_BATCHES];
	int n;
	/* of the current batch */
	struct rt_graph *graph;
	struct rt_program *program;
	float *input, *logits;
	int64_t row_logits; /* number of elements */
	double *run_s;
	float *first; /* logits of the first row in the first batch */
	uint64_t done; /* runs, including warm-up */
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
	rt_graph_free(f->graph);
	free(f->input);
	free(f->logits);
	f->program = NULL;
	f->graph = NULL;
	f->input = f->logits = NULL;
}

static int build(struct inference *f, uint64_t batch, struct gt_err *err)
{
	const struct rt_options opt = {
		.device = gt_streq(f->model.device, "cuda") ? RT_CUDA : RT_CPU,
		.threads = (int)f->model.threads,
		.seed = f->model.seed,
		.precision = bn_train_precision(&f->model),
		.memory.limit_bytes = f->model.memory_limit_bytes,
	};
	struct rt_node *logits;
	uint64_t ticket;
	int r;

	f->model.batch = batch;
	f->graph = rt_graph_new();
	logits = rt_logits(f->kind->declare(f->graph, &f->model));
	r = rt_compile_outputs(f->graph, &logits, 1, &opt, &f->program, err);
	if (r)
		return gt_fail_prefix(err, "batch %llu", (unsigned long long)batch);
	return f->o->load ? rt_load(f->program, f->o->load, &ticket, err) : 0;
}

/* Row i of a batch is the same for every batch size. */
static int make_input(struct inference *f, uint64_t batch, struct gt_err *err)
{
	const struct rt_node *n = rt_graph_leaf(f->graph, 0);
	int64_t count = rt_shape_elements(rt_node_shape(n)), outputs = rt_shape_elements(rt_program_output_shape(f->program, 0));
	uint64_t limit = f->kind->classes ? f->kind->classes : f->model.vocab;

	f->row_logits = outputs / (int64_t)batch;
	f->input = malloc((size_t)count * sizeof(float));
	f->logits = malloc((size_t)outputs * sizeof(float));
	if (!f->input || !f->logits)
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

static int measure(struct inference *f, struct gt_err *err)
{
	uint64_t total = (uint64_t)f->n * (f->model.warmup + f->model.steps);

	for (uint64_t i = 0; i < f->model.warmup + f->model.steps; i++) {
		double t0 = gt_now_s();
		int r = rt_run(f->program, (const void *[]){ f->input, NULL }, &f->logits, err);

		if (r)
			return r;
		if (i >= f->model.warmup)
			f->run_s[i - f->model.warmup] = gt_now_s() - t0;
		f->done++;
		if (f->o->progress && f->o->progress(f->o->arg, f->done, total))
			return gt_fail(err, EINTR, "interrupted");
	}
	return 0;
}

/* Checks that rows are independent, as they are without training: the first row has the same logits in every batch. */
static int verify(struct inference *f, uint64_t batch, struct gt_err *err)
{
	double tolerance = gt_streq(f->model.amp, "fp32") ? TOLERANCE : TOLERANCE_LOW, most = 1e-6, worst = 0;
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

static json_t *row(const struct inference *f, uint64_t batch)
{
	size_t n = (size_t)f->model.steps;
	double sum = 0, items = (double)batch * (double)(f->kind->seq ? f->model.seq : 1);

	for (size_t i = 0; i < n; i++)
		sum += f->run_s[i];
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "batch", (json_int_t)batch, "p50_s",
			 gt_json_real(bn_quantile(f->run_s, n, 0.5)), "p99_s", gt_json_real(bn_quantile(f->run_s, n, 0.99)),
			 "mean_s", gt_json_real(sum / (double)n), "samples_per_s", gt_json_real((double)batch * (double)n / sum),
			 "items_per_s", gt_json_real(items * (double)n / sum), "planned_bytes",
			 (json_int_t)rt_program_planned_bytes(f->program));
}

static void describe(const struct inference *f, json_t *doc)
{
	gt_auto_json *report = rt_program_report(f->program);
	static const char *const report_keys[] = { "device", "isa", "blas", "threads", "parameters", "warnings" };

	json_object_set_new(doc, "schema", json_string("gpubench-infer/1"));
	json_object_set_new(doc, "model", json_string(f->kind->name));
	json_object_set_new(doc, "amp", json_string(f->model.amp));
	json_object_set_new(doc, "unit", json_string(f->kind->unit));
	json_object_set_new(doc, "load", f->o->load ? gt_json_str(f->o->load) : json_null());
	json_object_set_new(doc, "seq", json_integer((json_int_t)(f->kind->seq ? f->model.seq : 0)));
	json_object_set_new(doc, "size", json_integer((json_int_t)f->model.size));
	json_object_set_new(doc, "warmup", json_integer((json_int_t)f->model.warmup));
	json_object_set_new(doc, "runs", json_integer((json_int_t)f->model.steps));
	json_object_set_new(doc, "row_logits", json_integer((json_int_t)f->row_logits));
	for (size_t i = 0; i < GT_ARRAY_SIZE(report_keys); i++)
		json_object_set(doc, report_keys[i], json_object_get(report, report_keys[i]));
}

static int run_batch(struct inference *f, uint64_t batch, json_t *rows, struct gt_err *err)
{
	int r;

	release(f);
	r = build(f, batch, err);
	if (r)
		return r;
	r = make_input(f, batch, err);
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
	json_t *rows = json_array();

	json_object_set_new(doc, "batches", rows);
	for (int i = 0; i < f->n; i++) {
		int r = run_batch(f, f->batch[i], rows, err);

		if (r)
			return r;
	}
	describe(f, doc); /* of the last batch, whose program still exists */
	return 0;
}

int bn_infer(const struct bn_infer_options *o, json_t **ret, struct gt_err *err)
{
	struct inference f = { .o = o };
	gt_auto_json *doc = json_object();
	int r = parse_batches(&f, o->batches ? o->batches : "1,8", err);

	if (r < 0)
		return r;
	r = bn_train_resolve(&o->model, &f.model, err);
	if (r < 0)
		return r;
	f.kind = bn_model_find(f.model.model, err);
	f.model.steps = o->model.steps ? o->model.steps : RUNS;
	f.model.warmup = o->model.warmup == UINT64_MAX ? WARMUP : o->model.warmup;
	f.model.amp = f.model.amp ? f.model.amp : "fp32";
	f.run_s = gt_xcalloc((size_t)f.model.steps, sizeof(*f.run_s));
	rt_keep_heap();
	r = run_all(&f, doc, err);
	release(&f);
	free(f.run_s);
	free(f.first);
	if (r)
		return r;
	*ret = gt_take(doc);
	return 0;
}
