/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the device with the CPU for batches of several shapes, with padding, and of bytes, and for programs that do
 * not train. */
#include <math.h>
#include <string.h>
#include "runtime/cuda/selfcheck.h"

#define SHAPES	2
#define BATCHES	8
enum { CPU, EAGER, CAPTURED, N_RUNS };

struct bench {
	enum rt_check_type type;
	uint64_t seed;
	json_t *rows;
	int failed;
};

static struct rt_options options(const struct bench *b, int run)
{
	struct rt_options o = { .seed = b->seed, .debug = { .poison = run == EAGER, .no_reuse = run == EAGER || run == CPU } };

	if (run != CPU) {
		o.device = RT_CUDA;
		rt_check_set_type(b->type, &o);
	}
	return o;
}

/* Compares the eager run with the CPU within the type's tolerance, and the captured run with the eager one bit by bit. */
static void compare(struct bench *b, const char *name, bool kink, const char *tensor, float *const *x, int64_t n)
{
	gt_autofree char *same = gt_xasprintf("%s, captured", tensor);

	b->failed += !rt_check_compare(b->type, name, kink, tensor, x[CPU], x[EAGER], n, b->rows);
	b->failed += !rt_check_bits(b->type, name, same, x[EAGER], x[CAPTURED], n, b->rows);
}

/* ---- documents: two lengths in one program, padding ignored, two batches per update with different weights ---- */
static const int64_t lengths[SHAPES] = { 32, 16 };
#define DOC_ROWS  4
#define DOC_VOCAB 61

static struct rt_node *declare_gpt(struct rt_graph *g, int64_t seq)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = DOC_ROWS, .seq = seq, .layers = 2, .width = 48, .heads = 3,
							.vocab = DOC_VOCAB, .positions = 40 });
}

/* Fills batch t with documents that use part of each row. Returns the number of targets that count. */
static int fill_documents(uint64_t seed, int t, int64_t width, int32_t *x, int32_t *y)
{
	int count = 0;

	for (int64_t r = 0; r < DOC_ROWS; r++) {
		int64_t len = 1 + (int64_t)(rt_random_u64(seed, 50 + (uint64_t)t, (uint64_t)r) % (uint64_t)width);

		for (int64_t i = 0; i < width; i++) {
			uint64_t draw = rt_random_u64(seed, 70 + (uint64_t)t, (uint64_t)(r * width + i));

			x[r * width + i] = (int32_t)(draw % DOC_VOCAB);
			y[r * width + i] = i < len ? (int32_t)((draw >> 32) % DOC_VOCAB) : RT_IGNORE;
		}
		count += (int)len;
	}
	return count;
}

static int train_documents(struct bench *b, struct rt_program *p, float *losses, float *evals, struct gt_err *err)
{
	int32_t x[DOC_ROWS * 32], y[DOC_ROWS * 32];
	int r = 0;

	for (int t = 0; !r && t < BATCHES; t++) {
		int shape = (t + t / 4) % SHAPES; /* both shapes in each update, in either order */
		struct rt_metrics m = { 0 };
		double loss = 0;

		rt_use_shape(p, shape);
		rt_set_weight(p, fill_documents(b->seed, t, lengths[shape], x, y) / 64.0);
		r = rt_step(p, (const void *[]){ x, y }, &m, err);
		if (!r)
			r = rt_eval(p, (const void *[]){ x, y }, &loss, err);
		losses[t] = (float)m.update_loss;
		evals[t] = (float)loss;
	}
	return r;
}

static int check_documents(struct bench *b, struct gt_err *err)
{
	float losses[N_RUNS][BATCHES] = { { 0 } }, evals[N_RUNS][BATCHES] = { { 0 } };
	int r = 0;

	for (int k = 0; !r && k < N_RUNS; k++) {
		struct rt_options o = options(b, k);
		struct rt_graph *g[SHAPES];
		struct rt_node *loss[SHAPES];
		struct rt_program *p = NULL;

		o.accum = 2;
		o.optimizer = (struct rt_optimizer){ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 };
		for (int i = 0; i < SHAPES; i++) {
			g[i] = rt_graph_new();
			loss[i] = declare_gpt(g[i], lengths[i]);
		}
		r = rt_compile_shapes((const struct rt_graph *const *)g, loss, SHAPES, &o, &p, err);
		if (!r)
			r = train_documents(b, p, losses[k], evals[k], err);
		rt_program_free(p);
		for (int i = 0; i < SHAPES; i++)
			rt_graph_free(g[i]);
	}
	if (r)
		return r;
	compare(b, "documents", false, "losses", (float *[]){ losses[CPU], losses[EAGER], losses[CAPTURED] }, BATCHES);
	compare(b, "documents", false, "losses, evaluated", (float *[]){ evals[CPU], evals[EAGER], evals[CAPTURED] }, BATCHES);
	return 0;
}

/* ---- images as bytes ---- */
static int check_bytes(struct bench *b, struct gt_err *err)
{
	float losses[N_RUNS][4] = { { 0 } };
	unsigned char x[3 * 8 * 8 * 3];
	const int32_t y[3] = { 3, 7, 0 };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_resnet_small(g, 3, 8, 8, 10);
	int r = 0;

	for (size_t i = 0; i < sizeof(x); i++)
		x[i] = (unsigned char)rt_random_u64(b->seed, 90, i);
	for (int k = 0; !r && k < N_RUNS; k++) {
		struct rt_options o = options(b, k);
		gt_auto(rt_program) *p = NULL;

		o.optimizer = (struct rt_optimizer){ .kind = RT_SGD, .lr = 0.05, .momentum = 0.9 };
		o.pixels.mean = 0.45f;
		o.pixels.std = 0.22f;
		r = rt_compile(g, loss, &o, &p, err);
		for (int i = 0; !r && i < 4; i++) {
			struct rt_metrics m = { 0 };

			r = rt_step(p, (const void *[]){ x, y }, &m, err);
			losses[k][i] = (float)m.loss;
		}
	}
	if (!r)
		compare(b, "bytes", true, "losses", (float *[]){ losses[CPU], losses[EAGER], losses[CAPTURED] }, 4);
	return r;
}

/* ---- programs that do not train: a batchnorm is folded into the preceding product ---- */
static struct rt_node *normed(struct rt_graph *g, struct rt_node *x, const char *name, float eps)
{
	struct rt_shape c = RT_SHAPE(rt_node_shape(x)->d[rt_node_shape(x)->n - 1]);
	gt_autofree char *gain = gt_xasprintf("%s gain", name), *bias = gt_xasprintf("%s bias", name);
	gt_autofree char *mean = gt_xasprintf("%s mean", name), *var = gt_xasprintf("%s var", name);

	return rt_batchnorm(g, x, rt_param(g, gain, c, RT_INIT_NORMAL(1)), rt_param(g, bias, c, RT_INIT_NORMAL(1)),
			    rt_buffer(g, mean, c, RT_INIT_NORMAL(1)), rt_buffer(g, var, c, RT_INIT_ONES), eps, 0.1f);
}

/* Declares a convolution with batchnorm and relu, a product with a bias, and a batchnorm without a product before it. */
static struct rt_node *declare_folded(struct rt_graph *g)
{
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 7, 6, 5));
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(16, 5, 3, 3), RT_INIT_NORMAL(0.2f));
	struct rt_node *v = rt_param(g, "v", RT_SHAPE(9, 16), RT_INIT_NORMAL(0.3f)), *y;

	x = rt_relu(g, normed(g, rt_conv2d(g, x, w, NULL, (struct rt_conv2d){ .pad = 1 }), "first", 0.5f));
	x = normed(g, rt_linear(g, x, v, rt_param(g, "b", RT_SHAPE(9), RT_INIT_NORMAL(1))), "second", 0.25f);
	y = rt_name(normed(g, rt_gelu(g, x), "third", 0.125f), "result");
	return rt_dot(g, y, rt_input(g, "weights", RT_F32, *rt_node_shape(y)));
}

#define RESULTS	(2 * 7 * 6 * 9)

/* Runs the program twice with the same weights, then with a changed one: run-once calls must run again. */
static int infer(struct bench *b, const struct rt_graph *g, struct rt_program *p, const void *const *inputs, float *losses,
		 float *results, struct gt_err *err)
{
	float v[9 * 16];
	int r = 0;

	for (int i = 0; !r && i < 3; i++) {
		double loss = 0;

		for (size_t k = 0; i == 2 && k < GT_ARRAY_SIZE(v); k++)
			v[k] = 0.3f * rt_random_normal(b->seed, 99, k);
		if (i == 2)
			r = rt_write_param(p, rt_graph_node(g, "v"), v, err);
		if (!r)
			r = rt_eval(p, inputs, &loss, err);
		losses[i] = (float)loss;
	}
	return !r && results ? rt_read_value(p, rt_graph_node(g, "result"), results, err) : r;
}

static int check_folded(struct bench *b, struct gt_err *err)
{
	float losses[N_RUNS][3] = { { 0 } }, results[N_RUNS][RESULTS], x[2 * 7 * 6 * 5], weights[RESULTS];
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = declare_folded(g);
	int r = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(x); i++)
		x[i] = rt_random_normal(b->seed, 92, i);
	for (size_t i = 0; i < GT_ARRAY_SIZE(weights); i++)
		weights[i] = rt_random_normal(b->seed, 93, i);
	for (int k = 0; !r && k < N_RUNS; k++) {
		struct rt_options o = options(b, k);
		gt_auto(rt_program) *p = NULL;

		r = rt_compile(g, loss, &o, &p, err);
		if (!r)
			r = infer(b, g, p, (const void *[]){ x, weights }, losses[k], k == CAPTURED ? NULL : results[k], err);
	}
	if (r)
		return r;
	b->failed += !rt_check_compare(b->type, "folded", true, "result", results[CPU], results[EAGER], RESULTS, b->rows);
	b->failed += !rt_check_bits(b->type, "folded", "losses, captured", losses[EAGER], losses[CAPTURED], 3, b->rows);
	return 0;
}

/* ---- a long row: the error of its sums must not grow with its length ---- */
#define LONG (1 << 20)

int rt_cuda_selfcheck_long(uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct bench b = { .type = RT_CHECK_F32, .seed = seed, .rows = rows };
	gt_autofree float *x = gt_xcalloc(LONG, sizeof(*x)), *want = gt_xcalloc(LONG, sizeof(*x));
	gt_autofree float *got = gt_xcalloc(LONG, sizeof(*x));
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *in = rt_input(g, "x", RT_F32, RT_SHAPE(1, LONG)), *loss;
	int r = 0;

	in = rt_layernorm(g, in, rt_param(g, "gain", RT_SHAPE(LONG), RT_INIT_ONES),
			  rt_param(g, "bias", RT_SHAPE(LONG), RT_INIT_ZEROS), 0);
	in = rt_name(in, "result");
	loss = rt_dot(g, in, in);
	/* sums up to 2^8 are exact; added to a sum of 2^14, whose last digit is 2^-9, the value is rounded up by a
	 * quarter of that on average */
	for (int i = 0; i < LONG; i++)
		x[i] = 1 + 1983.0f / 65536 * (rt_random_u64(seed, 94, (uint64_t)i) % 4 ? -1 : 3);
	for (int k = 0; !r && k < 2; k++) {
		struct rt_options o = options(&b, k);
		gt_auto(rt_program) *p = NULL;
		double ignored = 0;

		r = rt_compile(g, loss, &o, &p, err);
		if (!r)
			r = rt_eval(p, (const void *[]){ x }, &ignored, err);
		if (!r)
			r = rt_read_value(p, rt_graph_node(g, "result"), k == CPU ? want : got, err);
	}
	return r ? r : !rt_check_compare(b.type, "layernorm.long", false, "result", want, got, LONG, rows);
}

/* ---- a vocabulary that is padded for the tensor cores, and the same without padding ---- */
static int check_padded(struct bench *b, struct gt_err *err)
{
	float losses[2][BATCHES] = { { 0 } };
	int32_t x[DOC_ROWS * 32], y[DOC_ROWS * 32];
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = declare_gpt(g, lengths[0]);
	int r = 0;

	for (int k = 0; !r && k < 2; k++) {
		struct rt_options o = options(b, k ? CAPTURED : EAGER);
		gt_auto(rt_program) *p = NULL;

		o.debug.no_pad = k;
		o.accum = 2;
		o.optimizer = (struct rt_optimizer){ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 };
		r = rt_compile(g, loss, &o, &p, err);
		for (int t = 0; !r && t < BATCHES; t++) {
			struct rt_metrics m = { 0 };

			fill_documents(b->seed, t / 4, lengths[0], x, y);
			r = rt_step(p, (const void *[]){ x, y }, &m, err);
			losses[k][t] = (float)m.loss;
		}
	}
	if (!r)
		b->failed += !rt_check_compare(b->type, "padded", false, "losses", losses[1], losses[0], BATCHES, b->rows);
	return r;
}

int rt_cuda_selfcheck_batch(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct bench b = { .type = type, .seed = seed, .rows = rows };
	int r = check_documents(&b, err);

	if (!r && type != RT_CHECK_F32)
		r = check_padded(&b, err);
	if (r)
		gt_fail_prefix(err, "documents in %s", rt_check_type_name(type));
	if (!r && type != RT_CHECK_FP8) {
		r = check_bytes(&b, err);
		if (!r)
			r = check_folded(&b, err);
		if (r)
			gt_fail_prefix(err, "bytes and folded batchnorms in %s", rt_check_type_name(type));
	}
	return r ? r : b.failed;
}
