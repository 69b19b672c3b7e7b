/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cases/cases.h"
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/selfcheck.h"

/* Relative 2-norm that rounding explains, and limit of one element's error in units of the root mean square. */
static const struct {
	const char *name;
	enum rt_dtype amp;
	bool tf32, fp8;
	double norm, worst;
} types[RT_N_CHECK_TYPES] = {
	[RT_CHECK_F32] = { "f32", RT_F32, false, false, 2e-5, 4e-4 },
	[RT_CHECK_TF32] = { "tf32", RT_F32, true, false, 3e-3, 6e-2 }, /* twice that if cuBLASLt truncates instead of rounding */
	[RT_CHECK_BF16] = { "bf16", RT_BF16, false, false, 2e-2, 2e-1 },
	[RT_CHECK_F16] = { "f16", RT_F16, false, false, 4e-3, 4e-2 },
	/* e4m3 rounds by at most 2^-4, 1.8 % rms, e5m2 by twice that; a product combines two roundings, a chain several */
	[RT_CHECK_FP8] = { "fp8", RT_BF16, false, true, 8e-2, 5e-1 },
};

const char *rt_check_type_name(enum rt_check_type t)
{
	return types[t].name;
}

void rt_check_set_type(enum rt_check_type t, struct rt_options *o)
{
	o->precision.amp = types[t].amp;
	o->precision.tf32 = types[t].tf32;
	o->precision.fp8.use = types[t].fp8;
	if (o->precision.amp != RT_F32) /* cuDNN's order of sums differs between runs */
		o->attention_by = RT_ATTENTION_OWN;
	o->precision.scaler.init = 256; /* an update must not be skipped on one side only */
}

/* ---- running a case ---- */
struct bench {
	const struct rt_case *c;
	enum rt_check_type type;
	uint64_t seed;
	json_t *rows;
	struct rt_graph *g;
	struct rt_case_graph built;
	void *inputs[4];
	/* Keeps the context open, because creating one for each case would take longer than the case. */
	struct rt_cuda *held;
	int failed, unable; /* unable: error of the first case that could not be compared */
	struct gt_err why;
};

static void make_inputs(struct bench *b)
{
	for (int i = 0, k = 0; i < rt_graph_leaves(b->g); i++) {
		const struct rt_node *n = rt_graph_leaf(b->g, i);

		if (rt_node_is_param(n) || rt_node_is_buffer(n))
			continue;
		b->inputs[k] = gt_xcalloc((size_t)rt_shape_elements(rt_node_shape(n)), 4);
		rt_case_values(b->c, b->g, &b->built, i, b->seed, b->inputs[k++]);
	}
}

static int compile(struct bench *b, enum rt_device device, bool plain, struct rt_program **ret, struct gt_err *err)
{
	struct rt_options o = {
		.device = device,
		.seed = b->seed,
		.debug = { .keep_gradients = !b->c->steps, .poison = !plain, .no_reuse = !plain },
		.memory.logits_slice_bytes = 256 << 10,
		.accum = b->c->accum,
		.clip_norm = b->c->clip,
	};

	if (b->c->steps)
		o.optimizer = strncmp(b->c->name, "gpt", 3) != 0 ?
				      (struct rt_optimizer){ .kind = RT_SGD, .lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3 } :
				      (struct rt_optimizer){ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 };
	if (device == RT_CUDA) {
		rt_check_set_type(b->type, &o);
		if (!b->c->steps)
			o.precision.scaler.use = RT_SCALER_OFF;
		if (b->c->fused)
			o.attention_by = RT_ATTENTION_CUDNN;
		o.deterministic = b->c->exact;
		o.precision.no_master = b->c->no_master && o.precision.amp == RT_BF16;
	}
	return rt_compile(b->g, b->built.loss, &o, ret, err);
}

bool rt_check_compare(enum rt_check_type type, const char *name, bool kink, const char *tensor, const float *want,
		      const float *got, int64_t n, json_t *rows)
{
	double diff = 0, size = 0, worst = 0, rms, error, limit;
	bool ok;

	for (int64_t i = 0; i < n; i++) {
		double d = (double)got[i] - (double)want[i];

		diff += d * d;
		size += (double)want[i] * (double)want[i];
		worst = isfinite(d) ? fmax(worst, fabs(d)) : INFINITY;
	}
	rms = sqrt(size / (double)n);
	error = size > 0 ? sqrt(diff / size) : sqrt(diff);
	worst = rms > 0 ? worst / rms : worst;
	limit = types[type].norm * (kink ? 10 : 1);
	ok = error <= limit && (kink || worst <= types[type].worst);
	json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:o, s:o, s:f, s:b}", "case", name, "type", types[type].name,
					      "tensor", tensor, "error", gt_json_real(error), "worst", gt_json_real(worst),
					      "limit", limit, "ok", ok));
	return ok;
}

static void compare(struct bench *b, const char *tensor, const float *want, const float *got, int64_t n)
{
	b->failed += !rt_check_compare(b->type, b->c->name, b->c->kink, tensor, want, got, n, b->rows);
}

bool rt_check_bits(enum rt_check_type type, const char *name, const char *tensor, const float *want, const float *got, int64_t n,
		   json_t *rows)
{
	int64_t differ = 0;

	for (int64_t i = 0; i < n; i++)
		differ += memcmp(&want[i], &got[i], sizeof(float)) != 0;
	json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "case", name, "type", types[type].name,
					      "tensor", tensor, "error", (double)differ / (double)n, "worst", 0.0, "limit", 0.0,
					      "ok", !differ));
	return !differ;
}

static void compare_bits(struct bench *b, const char *tensor, const float *want, const float *got, int64_t n)
{
	if (b->c->fused)
		compare(b, tensor, want, got, n);
	else
		b->failed += !rt_check_bits(b->type, b->c->name, tensor, want, got, n, b->rows);
}

static int read_gradients(struct bench *b, struct rt_program *p, float **ret, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < rt_graph_leaves(b->g); i++) {
		struct rt_node *n = rt_graph_leaf(b->g, i);

		if (!rt_node_is_param(n))
			continue;
		ret[i] = gt_xcalloc((size_t)rt_shape_elements(rt_node_shape(n)), sizeof(float));
		r = rt_read_gradient(p, n, ret[i], err);
	}
	return r;
}

enum { CPU, EAGER, CAPTURED, N_RUNS };

/* Writes parameters that need other values than the graph's initial ones: around a mean, or parameter x as the case
 * defines it. */
static int write_params(struct bench *b, struct rt_program **p, struct gt_err *err)
{
	float mean = types[b->type].amp == RT_F32 ? b->c->mean : 0;
	bool special = b->c->mean != 0 || b->c->first != 0;

	for (int leaf = 0; leaf < rt_graph_leaves(b->g); leaf++) {
		struct rt_node *n = rt_graph_leaf(b->g, leaf);
		int64_t count = rt_shape_elements(rt_node_shape(n)), cols = rt_node_shape(n)->d[rt_node_shape(n)->n - 1];
		bool is_x = special && gt_streq(rt_node_name(n), "x");
		gt_autofree float *x = NULL;

		if (!rt_node_is_param(n) || (!is_x && b->built.range[leaf].mean == 0))
			continue;
		x = gt_xcalloc((size_t)count, sizeof(*x));
		rt_case_values(b->c, b->g, &b->built, leaf, b->seed, x);
		for (int64_t i = 0; is_x && i < count; i++)
			x[i] = mean * (1 + 0.01f * (float)(i % cols)) + (i < cols && b->c->first != 0 ? b->c->first : x[i]);
		for (int k = 0; k < N_RUNS; k++) {
			int r = rt_write_param(p[k], n, x, err);

			if (r)
				return r;
		}
	}
	return 0;
}

static int check_gradients(struct bench *b, struct rt_program **p, struct gt_err *err)
{
	int leaves = rt_graph_leaves(b->g), r = write_params(b, p, err);
	float **grad[N_RUNS], loss[N_RUNS];

	for (int k = 0; k < N_RUNS; k++)
		grad[k] = gt_xcalloc((size_t)leaves, sizeof(*grad[k]));
	for (int k = 0; !r && k < N_RUNS; k++) {
		struct rt_metrics m = { 0 };

		r = rt_step(p[k], (const void *const *)b->inputs, &m, err);
		loss[k] = (float)m.loss;
		if (!r)
			r = read_gradients(b, p[k], grad[k], err);
	}
	for (int i = 0; !r && i < leaves; i++) {
		const struct rt_node *n = rt_graph_leaf(b->g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		gt_autofree char *same = gt_xasprintf("d %s, captured", rt_node_name(n));
		gt_autofree char *name = gt_xasprintf("d %s", rt_node_name(n));

		if (!grad[CPU][i])
			continue;
		compare(b, name, grad[CPU][i], grad[EAGER][i], count);
		compare_bits(b, same, grad[EAGER][i], grad[CAPTURED][i], count);
	}
	/* a sum over weights of both signs cancels, so its relative error is meaningless */
	if (!r && b->c->ids && gt_streq(rt_node_name(b->built.loss), "cross_entropy"))
		compare(b, "loss", &loss[CPU], &loss[EAGER], 1);
	if (!r)
		compare_bits(b, "loss, captured", &loss[EAGER], &loss[CAPTURED], 1);
	for (int k = 0; k < N_RUNS; k++) {
		for (int i = 0; i < leaves; i++)
			free(grad[k][i]);
		free(grad[k]);
	}
	return r;
}

static int check_training(struct bench *b, struct rt_program **p, struct gt_err *err)
{
	float loss[N_RUNS][16], norm[N_RUNS][16];
	int r = 0, norms = 0;

	for (int k = 0; !r && k < N_RUNS; k++) {
		norms = 0;
		for (int i = 0; !r && i < b->c->steps; i++) {
			struct rt_metrics m = { .grad_norm = NAN };

			r = rt_step(p[k], (const void *const *)b->inputs, &m, err);
			loss[k][i] = (float)m.loss;
			if (!isnan(m.grad_norm))
				norm[k][norms++] = (float)m.grad_norm;
		}
	}
	if (r)
		return r;
	compare(b, "losses", loss[CPU], loss[EAGER], b->c->steps);
	compare_bits(b, "losses, captured", loss[EAGER], loss[CAPTURED], b->c->steps);
	if (b->c->clip > 0) {
		compare(b, "norms", norm[CPU], norm[EAGER], norms);
		compare_bits(b, "norms, captured", norm[EAGER], norm[CAPTURED], norms);
	}
	return 0;
}

static int check_case(struct bench *b, struct gt_err *err)
{
	struct rt_program *p[N_RUNS] = { 0 };
	int r;

	b->g = rt_graph_new();
	r = rt_case_parse(b->c->graph, b->g, &b->built, err);
	if (!r)
		make_inputs(b);
	if (!r)
		r = compile(b, RT_CPU, false, &p[CPU], err);
	if (!r)
		r = compile(b, RT_CUDA, false, &p[EAGER], err);
	if (b->c->fused && (r == -ENOENT || r == -ENOSYS)) { /* no suitable cuDNN: nothing to compare */
		r = 0;
		goto out;
	}
	if (!r)
		r = compile(b, RT_CUDA, true, &p[CAPTURED], err);
	if (!r)
		r = b->c->steps ? check_training(b, p, err) : check_gradients(b, p, err);
out:
	for (int k = 0; k < N_RUNS; k++)
		rt_program_free(p[k]);
	rt_case_clear(&b->built);
	rt_graph_free(b->g);
	for (size_t i = 0; i < GT_ARRAY_SIZE(b->inputs); i++) {
		free(b->inputs[i]);
		b->inputs[i] = NULL;
	}
	if (r)
		gt_fail_prefix(err, "%s in %s", b->c->name, types[b->type].name);
	return r;
}

/*
 * A case that cannot be compared gets a row with the reason. The other cases continue if the device still works. Also
 * handles a request to stop.
 */
static int count(struct bench *b, const char *name, int r, struct gt_err *err)
{
	struct gt_err why;

	if (gt_interrupted)
		return gt_fail(err, EINTR, "interrupted: the cases after %s were not compared", name);
	if (r >= 0) {
		b->failed += r;
		return 0;
	}
	rt_cuda_close(b->held); /* a failed kernel invalidates its context */
	b->held = NULL;
	if (rt_cuda_open(&b->held, &why))
		return r;
	if (!b->unable) {
		b->unable = r;
		b->why = *err;
	}
	b->failed++;
	json_array_append_new(b->rows, json_pack("{s:s, s:s, s:s, s:n, s:n, s:f, s:b, s:o}", "case", name, "type",
						 types[b->type].name, "tensor", "", "error", "worst", "limit", 0.0, "ok", false,
						 "failure", gt_json_str(err->msg)));
	return 0;
}

static bool is_named(const char *name, const char *only)
{
	return !only || !strncmp(name, only, strlen(only));
}

/* Checks that do not consist of one graph. */
static int check_parts(struct bench *b, const char *only, struct gt_err *err)
{
	enum rt_check_type type = b->type;
	int r = 0;

	if (type == RT_CHECK_FP8 && !only) {
		r = rt_cuda_selfcheck_fp8(b->seed, b->rows, err);
		r = r == -ENOSYS ? r : count(b, "fp8", r, err);
	}
	if (!r && type == RT_CHECK_BF16 && !only)
		r = count(b, "rounding", rt_cuda_selfcheck_rounding(b->seed, b->rows, err), err);
	if (!r && type != RT_CHECK_FP8 && type != RT_CHECK_F16 && is_named("adamw8", only))
		r = count(b, "adamw8", rt_cuda_selfcheck_adam8(type, b->seed, b->rows, err), err);
	if (!r && type == RT_CHECK_F16 && is_named("scaler", only))
		r = count(b, "scaler", rt_cuda_selfcheck_scaler(b->seed, b->rows, err), err);
	if (!r && type == RT_CHECK_F32 && is_named("layernorm.long", only))
		r = count(b, "layernorm.long", rt_cuda_selfcheck_long(b->seed, b->rows, err), err);
	if (!r && type != RT_CHECK_FP8 && is_named("relu.nan", only))
		r = count(b, "relu.nan", rt_cuda_selfcheck_nan(type, b->seed, b->rows, err), err);
	if (!r && !only)
		r = count(b, "batches", rt_cuda_selfcheck_batch(type, b->seed, b->rows, err), err);
	return r;
}

int rt_cuda_selfcheck(enum rt_check_type type, const char *only, uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct bench b = { .type = type, .seed = seed, .rows = rows };
	size_t before = json_array_size(rows);
	struct gt_err ignored;
	int r;

	if (rt_cuda_open(&b.held, &ignored))
		b.held = NULL; /* the first case reports the error */
	r = check_parts(&b, only, err);

	for (int i = 0; !r && i < rt_n_cases; i++) {
		b.c = &rt_cases[i];
		if (!is_named(b.c->name, only) || !rt_case_applies(b.c, RT_CASE_DEVICE) || (type == RT_CHECK_FP8 && !b.c->eight) ||
		    (type != RT_CHECK_BF16 && type != RT_CHECK_F16 && b.c->fused))
			continue;
		r = count(&b, b.c->name, check_case(&b, err), err);
	}
	rt_cuda_close(b.held);
	if (r || !b.unable)
		return r ? r : b.failed;
	for (size_t i = before; i < json_array_size(rows); i++)
		if (!json_object_get(json_array_get(rows, i), "failure"))
			return b.failed;
	while (json_array_size(rows) > before) /* no case could be compared: report the reason once */
		json_array_remove(rows, json_array_size(rows) - 1);
	*err = b.why;
	return b.unable;
}
