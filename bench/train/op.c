/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include "bench/bench.h"
#include "bench/stats/stats.h"
#include "bench/train/op.h"
#include "bench/train/user_ops.h"
#include "lib/buf.h"
#include "lib/log.h"

#define ROWS	  1024
#define COLS	  1024
#define STEPS	  30
#define WARMUP	  3
#define TOLERANCE 1e-5 /* of the largest value; f32 has 6e-8 per operation */
#define SPREAD	  1.5f /* standard deviation of x */

struct op_run {
	struct bn_op_options o;
	const struct bn_op_function *function;
	enum bn_op_way way;
	struct rt_graph *graph;
	struct rt_node *x, *y, *loss;
	struct rt_program *program, *forward; /* training steps; y alone */
	float *weights, *values, *result, *gradient;
	double *step_s;
};

static void release(struct op_run *u)
{
	rt_program_free(u->program);
	rt_program_free(u->forward);
	rt_graph_free(u->graph);
	free(u->weights);
	free(u->values);
	free(u->result);
	free(u->gradient);
	free(u->step_s);
}

const char *bn_op_word(size_t i)
{
	return bn_op_functions[i].name;
}

static int find(struct op_run *u, struct gt_err *err)
{
	gt_auto_buf names = { 0 };

	for (const struct bn_op_function *f = bn_op_functions; f->name; f++) {
		if (gt_streq(f->name, u->o.function))
			u->function = f;
		gt_buf_printf(&names, "%s%s", f == bn_op_functions ? "" : f[1].name ? ", " : " and ", f->name);
	}
	if (!u->function)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "no function %s: %s can be measured", u->o.function, names.s);
	u->way = BN_LIBRARY_OP;
	for (int i = 0; u->o.way && i < BN_OP_WAYS; i++)
		u->way = gt_streq(u->o.way, bn_op_way_names[i]) ? (enum bn_op_way)i : u->way;
	return 0;
}

static int resolve(const struct bn_op_options *o, struct op_run *u, struct gt_err *err)
{
	u->o = *o;
	u->o.rows = o->rows ? o->rows : ROWS;
	u->o.cols = o->cols ? o->cols : COLS;
	u->o.steps = o->steps ? o->steps : STEPS;
	u->o.warmup = o->warmup == UINT64_MAX ? WARMUP : o->warmup;
	u->o.seed = o->seed ? o->seed : 1;
	if (u->o.rows > 1 << 20 || u->o.cols > 1 << 20 || u->o.rows * u->o.cols > 1 << 28)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE,
				    "--rows %llu and --cols %llu: each is at most 1048576, and their product at most 268435456",
				    (unsigned long long)u->o.rows, (unsigned long long)u->o.cols);
	if (u->o.steps > 1000000 || u->o.warmup > 1000000 || u->o.threads > 1024)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE,
				    "--steps and --warmup take at most 1000000, --threads at most 1024");
	return find(u, err);
}

static int compile(struct op_run *u, struct gt_err *err)
{
	int64_t rows = (int64_t)u->o.rows, cols = (int64_t)u->o.cols;
	struct rt_options opt = { .device = gt_streq(u->o.device, "cuda") ? RT_CUDA : RT_CPU, .threads = (int)u->o.threads,
				  .seed = u->o.seed, .memory.limit_bytes = u->o.memory_limit_bytes };
	int r;

	u->graph = rt_graph_new();
	u->x = rt_param(u->graph, "x", RT_SHAPE(rows, cols), RT_INIT_NORMAL(SPREAD));
	u->y = u->function->declare[u->way](u->graph, u->x);
	u->loss = rt_dot(u->graph, u->y, rt_input(u->graph, "weights", RT_F32, RT_SHAPE(rows, cols)));
	r = rt_compile_outputs(u->graph, &u->y, 1, &opt, &u->forward, err);
	if (r)
		return r;
	opt.debug.keep_gradients = true;
	return rt_compile(u->graph, u->loss, &opt, &u->program, err);
}

static int make_buffers(struct op_run *u, struct gt_err *err)
{
	size_t n = (size_t)(u->o.rows * u->o.cols);

	u->weights = malloc(n * sizeof(float));
	u->values = malloc(n * sizeof(float));
	u->result = malloc(n * sizeof(float));
	u->gradient = malloc(n * sizeof(float));
	u->step_s = calloc((size_t)u->o.steps, sizeof(double));
	if (!u->weights || !u->values || !u->result || !u->gradient || !u->step_s)
		return gt_fail(err, ENOMEM, "no memory for %llu x %llu elements", (unsigned long long)u->o.rows,
			       (unsigned long long)u->o.cols);
	for (size_t i = 0; i < n; i++)
		u->weights[i] = rt_random_normal(u->o.seed, 100, i);
	return 0;
}

static int measure(struct op_run *u, struct gt_err *err)
{
	const void *const inputs[] = { u->weights };
	int r = 0;

	for (uint64_t i = 0; !r && i < u->o.warmup + u->o.steps; i++) {
		struct rt_metrics m;
		double t0 = gt_now_s();

		if (gt_interrupted)
			return gt_fail(err, EINTR, "interrupted");
		r = rt_step(u->program, inputs, &m, err);
		r = r ? r : rt_wait(u->program, err);
		if (i >= u->o.warmup)
			u->step_s[i - u->o.warmup] = gt_now_s() - t0;
	}
	if (r)
		return r;
	r = rt_read_gradient(u->program, u->x, u->gradient, err);
	if (r)
		return r;
	r = rt_read_value(u->program, u->x, u->values, err);
	return r ? r : rt_run(u->forward, (const void *[]){ NULL }, &u->result, err);
}

/* Largest difference from the definition, and largest value of the definition. */
struct deviation {
	double worst, most;
};

/* A value that is not finite counts as an infinite difference. */
static void add(struct deviation *d, double got, double expected)
{
	double off = fabs(got - expected);

	d->worst = isfinite(off) ? fmax(d->worst, off) : INFINITY;
	d->most = fmax(d->most, fabs(expected));
}

static double relative(const struct deviation *d)
{
	return d->most > 0 ? d->worst / d->most : d->worst;
}

static void compare(const struct op_run *u, double *ret_error, double *ret_gradient_error)
{
	size_t cols = (size_t)u->o.cols;
	gt_autofree double *row = gt_xcalloc(4 * cols, sizeof(double));
	double *x = row, *dy = row + cols, *y = row + 2 * cols, *dx = row + 3 * cols;
	struct deviation forward = { 0 }, backward = { 0 };

	for (size_t at = 0; at < (size_t)u->o.rows * cols; at += cols) {
		for (size_t i = 0; i < cols; i++) {
			x[i] = (double)u->values[at + i];
			dy[i] = (double)u->weights[at + i];
		}
		u->function->define(x, dy, (int64_t)cols, y, dx);
		for (size_t i = 0; i < cols; i++) {
			add(&forward, (double)u->result[at + i], y[i]);
			add(&backward, (double)u->gradient[at + i], dx[i]);
		}
	}
	*ret_error = relative(&forward);
	*ret_gradient_error = relative(&backward);
	/* a test seam: a wrong result */
	if (gt_streq(getenv("GPUBENCH_FAULT"), "verify"))
		*ret_error = 1;
}

static json_t *document(const struct op_run *u, double error, double gradient_error)
{
	static const char *const keys[] = { "device", "isa", "threads" };
	gt_auto_json *report = rt_program_report(u->program);
	double n = (double)(u->o.rows * u->o.cols), median = bn_quantile(u->step_s, (size_t)u->o.steps, 0.5);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "schema", BN_OP_SCHEMA, "function", u->function->name,
				"way", bn_op_way_names[u->way], "unit", "elements", "rows", (json_int_t)u->o.rows, "cols",
				(json_int_t)u->o.cols, "steps", (json_int_t)u->o.steps, "seed", (json_int_t)u->o.seed);

	json_object_set_new(doc, "median_step_s", gt_json_real(median));
	json_object_set_new(doc, "items_per_s", gt_json_real(n / median));
	json_object_set_new(doc, "bytes_per_element",
			    gt_json_real(json_number_value(json_object_get(report, "bytes_per_step")) / n));
	json_object_set_new(doc, "planned_bytes", json_integer((json_int_t)rt_program_planned_bytes(u->program)));
	json_object_set_new(doc, "error", gt_json_real(error));
	json_object_set_new(doc, "gradient_error", gt_json_real(gradient_error));
	json_object_set_new(doc, "tolerance", gt_json_real(TOLERANCE));
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++)
		json_object_set(doc, keys[i], json_object_get(report, keys[i]));
	return doc;
}

static int run(struct op_run *u, json_t **ret, struct gt_err *err)
{
	double error, gradient_error;
	int r = compile(u, err);

	if (r)
		return r;
	r = make_buffers(u, err);
	if (r)
		return r;
	r = measure(u, err);
	if (r)
		return r;
	compare(u, &error, &gradient_error);
	if (!(error <= TOLERANCE && gradient_error <= TOLERANCE))
		return gt_fail_exit(err, BN_EXIT_WRONG, EDOM,
				    "%s by %s differs from its definition by %.2g of the largest value, its gradient by %.2g: the "
				    "limit is %g", u->function->name, bn_op_way_names[u->way], error, gradient_error, TOLERANCE);
	*ret = document(u, error, gradient_error);
	return 0;
}

int bn_op(const struct bn_op_options *o, json_t **ret, struct gt_err *err)
{
	struct op_run u = { 0 };
	int r = resolve(o, &u, err);

	if (r < 0)
		return r;
	rt_keep_heap();
	r = run(&u, ret, err);
	release(&u);
	return r;
}
