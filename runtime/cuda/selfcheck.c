/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cuda/selfcheck.h"

/* Relative 2-norm that rounding explains, and how far one element may be off in units of the root mean square. */
static const struct {
	const char *name;
	enum rt_dtype amp;
	bool tf32, fp8;
	double norm, worst;
} types[RT_N_CHECK_TYPES] = {
	[RT_CHECK_F32] = { "f32", RT_F32, false, false, 2e-5, 4e-4 },
	[RT_CHECK_TF32] = { "tf32", RT_F32, true, false, 3e-3, 3e-2 },
	[RT_CHECK_BF16] = { "bf16", RT_BF16, false, false, 2e-2, 2e-1 },
	/* e4m3 rounds by 2^-4 at most, 1.8 % rms, e5m2 by twice that; two roundings meet in a product, a few in a chain */
	[RT_CHECK_FP8] = { "fp8", RT_BF16, false, true, 8e-2, 5e-1 },
};

const char *rt_check_type_name(enum rt_check_type t)
{
	return types[t].name;
}

void rt_check_set_type(enum rt_check_type t, struct rt_options *o)
{
	o->amp = types[t].amp;
	o->tf32 = types[t].tf32;
	o->fp8.use = types[t].fp8;
	if (o->amp == RT_BF16) /* cuDNN adds up in another order each time */
		o->attention_by = RT_ATTENTION_OWN;
}

/* ---- the cases ---- */
#define WEIGHT(std) RT_INIT_NORMAL(std)

static struct rt_node *param(struct rt_graph *g, const char *name, struct rt_shape s)
{
	return rt_param(g, name, s, WEIGHT(1));
}

/* Any output against given weights. */
static struct rt_node *weighed(struct rt_graph *g, struct rt_node *y)
{
	return y ? rt_dot(g, y, rt_input(g, "weights", RT_F32, *rt_node_shape(y))) : NULL;
}

static struct rt_node *linear_of(struct rt_graph *g, int64_t m, int64_t k, int64_t n, int act, bool bias)
{
	struct rt_node *b = bias ? param(g, "b", RT_SHAPE(n)) : NULL;
	struct rt_node *y = rt_linear(g, param(g, "x", RT_SHAPE(m, k)), rt_param(g, "w", RT_SHAPE(n, k), WEIGHT(0.3f)), b);

	return weighed(g, act == 1 ? rt_gelu(g, y) : act == 2 ? rt_relu(g, y) : y);
}

static struct rt_node *linear_odd(struct rt_graph *g)
{
	return linear_of(g, 37, 19, 23, 0, true);
}
static struct rt_node *linear_even(struct rt_graph *g)
{
	return linear_of(g, 64, 32, 48, 0, true);
}
static struct rt_node *linear_plain(struct rt_graph *g)
{
	return linear_of(g, 40, 24, 16, 0, false);
}
static struct rt_node *linear_gelu(struct rt_graph *g)
{
	return linear_of(g, 33, 24, 40, 1, true);
}
static struct rt_node *linear_gelu_even(struct rt_graph *g)
{
	return linear_of(g, 80, 64, 96, 1, true);
}
static struct rt_node *linear_gelu_odd(struct rt_graph *g)
{
	return linear_of(g, 21, 11, 13, 1, true);
}
static struct rt_node *linear_relu(struct rt_graph *g)
{
	return linear_of(g, 48, 17, 32, 2, true);
}

static struct rt_node *embed(struct rt_graph *g, int64_t v, int64_t c, bool positions)
{
	struct rt_node *ids = rt_input(g, "ids", RT_I32, RT_SHAPE(3, 17));
	struct rt_node *pos = positions ? param(g, "positions", RT_SHAPE(29, c)) : NULL;

	return weighed(g, rt_embedding(g, ids, param(g, "table", RT_SHAPE(v, c)), pos));
}
static struct rt_node *embedding_odd(struct rt_graph *g)
{
	return embed(g, 7, 33, true);
}
static struct rt_node *embedding_even(struct rt_graph *g)
{
	return embed(g, 101, 64, true);
}
static struct rt_node *embedding_alone(struct rt_graph *g)
{
	return embed(g, 1030, 40, false);
}

static struct rt_node *norm_of(struct rt_graph *g, int64_t m, int64_t c, bool sum)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(m, c));

	if (sum)
		x = rt_add(g, x, param(g, "residual", RT_SHAPE(m, c)));
	x = rt_layernorm(g, x, param(g, "gain", RT_SHAPE(c)), param(g, "bias", RT_SHAPE(c)), 1e-5f);
	return weighed(g, x);
}
static struct rt_node *norm_odd(struct rt_graph *g)
{
	return norm_of(g, 13, 37, false);
}
static struct rt_node *norm_even(struct rt_graph *g)
{
	return norm_of(g, 601, 96, false);
}
static struct rt_node *norm_sum(struct rt_graph *g)
{
	return norm_of(g, 29, 768, true);
}

static struct rt_node *attend(struct rt_graph *g, int64_t b, int64_t t, int64_t c, int heads)
{
	return weighed(g, rt_attention(g, param(g, "qkv", RT_SHAPE(b, t, 3 * c)), heads));
}
static struct rt_node *attention_odd(struct rt_graph *g)
{
	return attend(g, 2, 37, 15, 3);
}
static struct rt_node *attention_64(struct rt_graph *g)
{
	return attend(g, 2, 130, 128, 2);
}
static struct rt_node *attention_long(struct rt_graph *g)
{
	return attend(g, 1, 256, 64, 1);
}
static struct rt_node *attention_48(struct rt_graph *g)
{
	return attend(g, 1, 65, 48, 1);
}
static struct rt_node *attention_100(struct rt_graph *g)
{
	return attend(g, 1, 70, 100, 1);
}

static struct rt_node *attention_72(struct rt_graph *g)
{
	return attend(g, 2, 140, 144, 2);
}
static struct rt_node *attention_128(struct rt_graph *g)
{
	return attend(g, 1, 77, 256, 2);
}
static struct rt_node *attention_24(struct rt_graph *g)
{
	return attend(g, 2, 9, 72, 3);
}

static struct rt_node *gelu_alone(struct rt_graph *g)
{
	return weighed(g, rt_gelu(g, param(g, "x", RT_SHAPE(7, 131))));
}
static struct rt_node *relu_alone(struct rt_graph *g)
{
	return weighed(g, rt_relu(g, param(g, "x", RT_SHAPE(9, 64))));
}
static struct rt_node *add_twice(struct rt_graph *g)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(5, 43));

	return weighed(g, rt_add(g, rt_gelu(g, x), rt_add(g, x, param(g, "y", RT_SHAPE(5, 43)))));
}

static struct rt_node *entropy_of(struct rt_graph *g, int64_t m, int64_t k, int64_t v, bool projected)
{
	struct rt_node *targets = rt_input(g, "ids", RT_I32, RT_SHAPE(m));
	struct rt_node *x = param(g, "x", RT_SHAPE(m, k));

	if (projected)
		x = rt_linear(g, x, param(g, "w", RT_SHAPE(v, k)), v % 2 ? param(g, "b", RT_SHAPE(v)) : NULL);
	return rt_cross_entropy(g, x, targets);
}
static struct rt_node *entropy_odd(struct rt_graph *g)
{
	return entropy_of(g, 19, 57, 57, false);
}
static struct rt_node *entropy_even(struct rt_graph *g)
{
	return entropy_of(g, 33, 1096, 1096, false);
}
static struct rt_node *entropy_linear(struct rt_graph *g)
{
	return entropy_of(g, 50, 24, 101, true);
}
static struct rt_node *entropy_slices(struct rt_graph *g)
{
	return entropy_of(g, 300, 16, 1000, true); /* several slices: see options */
}

/* Images (n,h,w,c) convolved to `out` channels. */
struct conv_case {
	int64_t n, h, w, c, out;
	int kernel, stride, pad, groups;
	bool bias;
};
static struct rt_node *conv_of(struct rt_graph *g, struct conv_case s)
{
	int64_t per = s.c / GT_MAX(s.groups, 1);
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(s.out, per, s.kernel, s.kernel), WEIGHT(0.2f));
	struct rt_node *b = s.bias ? param(g, "b", RT_SHAPE(s.out)) : NULL;
	struct rt_conv2d how = { .stride = s.stride, .pad = s.pad, .groups = s.groups };

	return weighed(g, rt_conv2d(g, param(g, "x", RT_SHAPE(s.n, s.h, s.w, s.c)), w, b, how));
}
static struct rt_node *conv_odd(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 2, 9, 7, 5, 7, 3, 1, 1, 1, true });
}
static struct rt_node *conv_even(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 3, 8, 8, 16, 32, 3, 1, 1, 1, false });
}
static struct rt_node *conv_1x1(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 2, 7, 5, 24, 16, 1, 1, 0, 1, true });
}
static struct rt_node *conv_stride(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 2, 11, 8, 8, 16, 3, 2, 1, 1, false });
}
static struct rt_node *conv_short(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 2, 9, 10, 16, 24, 1, 2, 0, 1, false });
}
static struct rt_node *conv_stem(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 2, 17, 14, 3, 8, 7, 2, 3, 1, false });
}
static struct rt_node *conv_groups(struct rt_graph *g)
{
	return conv_of(g, (struct conv_case){ 2, 6, 7, 32, 16, 3, 1, 1, 2, false });
}

static struct rt_node *batchnorm_of(struct rt_graph *g, struct rt_shape s, bool sum)
{
	struct rt_shape c = RT_SHAPE(s.d[s.n - 1]);
	struct rt_node *x = param(g, "x", s), *gain = param(g, "gain", c), *bias = param(g, "bias", c);
	struct rt_node *mean = rt_buffer(g, "mean", c, RT_INIT_ZEROS), *var = rt_buffer(g, "var", c, RT_INIT_ONES);

	x = rt_batchnorm(g, x, gain, bias, mean, var, 1e-5f, 0.1f);
	if (sum)
		x = rt_relu(g, rt_add(g, param(g, "residual", s), x));
	return weighed(g, x);
}
static struct rt_node *batchnorm_odd(struct rt_graph *g)
{
	return batchnorm_of(g, RT_SHAPE(3, 5, 7, 13), false);
}
static struct rt_node *batchnorm_even(struct rt_graph *g)
{
	return batchnorm_of(g, RT_SHAPE(2, 24, 25, 64), false);
}
static struct rt_node *batchnorm_wide(struct rt_graph *g)
{
	return batchnorm_of(g, RT_SHAPE(37, 2056), false);
}
static struct rt_node *batchnorm_sum(struct rt_graph *g)
{
	return batchnorm_of(g, RT_SHAPE(2, 6, 6, 24), true);
}

static struct rt_node *max_pool(struct rt_graph *g)
{
	return weighed(g, rt_max_pool(g, param(g, "x", RT_SHAPE(2, 13, 10, 24)), 3, 2, 1));
}
static struct rt_node *max_pool_odd(struct rt_graph *g)
{
	return weighed(g, rt_max_pool(g, param(g, "x", RT_SHAPE(2, 9, 8, 7)), 2, 3, 0));
}
static struct rt_node *avg_pool(struct rt_graph *g)
{
	return weighed(g, rt_avg_pool(g, param(g, "x", RT_SHAPE(2, 9, 12, 16)), 3, 2, 1));
}
static struct rt_node *avg_pool_odd(struct rt_graph *g)
{
	return weighed(g, rt_avg_pool(g, param(g, "x", RT_SHAPE(1, 7, 9, 5)), 4, 1, 2));
}
static struct rt_node *shortcut(struct rt_graph *g)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(2, 6, 7, 16));

	return weighed(g, rt_pad(g, rt_add(g, rt_max_pool(g, x, 1, 1, 0), rt_gelu(g, x)), 8, 9));
}
static struct rt_node *pixels_mean(struct rt_graph *g)
{
	return weighed(g, rt_reduce(g, rt_reshape(g, param(g, "x", RT_SHAPE(3, 5, 4, 24)), RT_SHAPE(3, 20, 24)), RT_MEAN, 1));
}
static struct rt_node *rows_sum(struct rt_graph *g)
{
	return weighed(g, rt_reduce(g, param(g, "x", RT_SHAPE(5, 9, 7)), RT_SUM, 2));
}
static struct rt_node *add_tail(struct rt_graph *g)
{
	return weighed(g, rt_add(g, param(g, "x", RT_SHAPE(4, 9, 24)), param(g, "y", RT_SHAPE(9, 24))));
}
static struct rt_node *add_tail_odd(struct rt_graph *g)
{
	return weighed(g, rt_add(g, param(g, "x", RT_SHAPE(4, 3, 7)), param(g, "y", RT_SHAPE(7))));
}

static struct rt_node *resnet_small(struct rt_graph *g)
{
	return rt_model_resnet_small(g, 4, 8, 8, 10);
}

static struct rt_node *gpt(struct rt_graph *g)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 2, .seq = 24, .layers = 2, .width = 48, .heads = 3,
							.vocab = 61 });
}
static struct rt_node *mlp(struct rt_graph *g)
{
	return rt_model_mlp(g, 32, (const int64_t[]){ 17, 40, 24, 10 }, 4);
}

static const struct op_case {
	const char *name;
	struct rt_node *(*build)(struct rt_graph *g);
	int ids;   /* ids lie below this; 0: there are none */
	bool kink; /* a value on the other side of zero after rounding changes a gradient by all of itself */
	int steps; /* train so many steps and compare the losses; 0: compare all gradients of one step */
	int accum;
	double clip; /* struct rt_options */
	bool no_master; /* in bf16 */
	bool eight;  /* its sides are those of 8-bit products */
	bool fused;  /* attention by cuDNN, whose sums backward have another order each time; bf16, where there is a cuDNN */
	bool ignore; /* every third id is RT_IGNORE */
} cases[] = {
	{ "linear", linear_odd, 0, false, 0 },
	{ "linear.even", linear_even, 0, false, 0, .eight = true },
	{ "linear.gelu.even", linear_gelu_even, 0, false, 0, .eight = true },
	{ "linear.plain", linear_plain, 0, false, 0 },
	{ "linear.gelu", linear_gelu, 0, false, 0 },
	{ "linear.gelu.odd", linear_gelu_odd, 0, false, 0 },
	{ "linear.relu", linear_relu, 0, true, 0 },
	{ "embedding", embedding_odd, 7, false, 0 },
	{ "embedding.even", embedding_even, 101, false, 0 },
	{ "embedding.alone", embedding_alone, 1030, false, 0 },
	{ "layernorm", norm_odd, 0, false, 0 },
	{ "layernorm.even", norm_even, 0, false, 0 },
	{ "layernorm.sum", norm_sum, 0, false, 0 },
	{ "attention", attention_odd, 0, false, 0 },
	{ "attention.64", attention_64, 0, false, 0 },
	{ "attention.long", attention_long, 0, false, 0 },
	{ "attention.48", attention_48, 0, false, 0 },
	{ "attention.100", attention_100, 0, false, 0 },
	{ "attention.72", attention_72, 0, false, 0 },
	{ "attention.128", attention_128, 0, false, 0 },
	{ "attention.24", attention_24, 0, false, 0 },
	{ "attention.64.cudnn", attention_64, .fused = true },
	{ "attention.long.cudnn", attention_long, .fused = true },
	{ "attention.72.cudnn", attention_72, .fused = true },
	{ "attention.128.cudnn", attention_128, .fused = true },
	{ "attention.24.cudnn", attention_24, .fused = true },
	{ "gelu", gelu_alone, 0, false, 0 },
	{ "relu", relu_alone, 0, true, 0 },
	{ "add", add_twice, 0, false, 0 },
	{ "cross_entropy", entropy_odd, 57, false, 0 },
	{ "cross_entropy.even", entropy_even, 1000, false, 0 },
	{ "cross_entropy.linear", entropy_linear, 101, false, 0 },
	{ "cross_entropy.slices", entropy_slices, 1000, false, 0 },
	{ "cross_entropy.ignored", entropy_odd, 57, false, 0, .ignore = true },
	{ "cross_entropy.linear.ignored", entropy_linear, 101, false, 0, .ignore = true },
	{ "cross_entropy.slices.ignored", entropy_slices, 1000, false, 0, .ignore = true },
	{ "conv", conv_odd, 0, false, 0 },
	{ "conv.even", conv_even, 0, false, 0 },
	{ "conv.1x1", conv_1x1, 0, false, 0 },
	{ "conv.stride", conv_stride, 0, false, 0 },
	{ "conv.short", conv_short, 0, false, 0 },
	{ "conv.stem", conv_stem, 0, false, 0 },
	{ "conv.groups", conv_groups, 0, false, 0 },
	{ "batchnorm", batchnorm_odd, 0, false, 0 },
	{ "batchnorm.even", batchnorm_even, 0, false, 0 },
	{ "batchnorm.wide", batchnorm_wide, 0, false, 0 },
	{ "batchnorm.sum", batchnorm_sum, 0, true, 0 },
	{ "max_pool", max_pool, 0, true, 0 },
	{ "max_pool.odd", max_pool_odd, 0, true, 0 },
	{ "avg_pool", avg_pool, 0, false, 0 },
	{ "avg_pool.odd", avg_pool_odd, 0, false, 0 },
	{ "shortcut", shortcut, 0, false, 0 },
	{ "mean", pixels_mean, 0, false, 0 },
	{ "sum.rows", rows_sum, 0, false, 0 },
	{ "add.tail", add_tail, 0, false, 0 },
	{ "add.tail.odd", add_tail_odd, 0, false, 0 },
	{ "gpt", gpt, 61, false, 8, .eight = true },
	{ "gpt.accum", gpt, 61, false, 9, .accum = 3, .eight = true },
	{ "gpt.clip", gpt, 61, false, 8, .accum = 2, .clip = 0.05, .eight = true },
	{ "gpt.master.none", gpt, 61, false, 8, .no_master = true, .eight = true },
	{ "gpt.cudnn", gpt, 61, false, 8, .fused = true },
	{ "mlp", mlp, 10, true, 8, .eight = true },
	{ "mlp.clip", mlp, 10, true, 8, .clip = 0.1 },
	{ "resnet", resnet_small, 10, true, 4 },
	{ "resnet.accum", resnet_small, 10, true, 4, .accum = 2 },
};

/* ---- running one ---- */
struct bench {
	const struct op_case *c;
	enum rt_check_type type;
	uint64_t seed;
	json_t *rows;
	struct rt_graph *g;
	struct rt_node *loss;
	void *inputs[4];
	int failed;
};

static void make_inputs(struct bench *b)
{
	for (int i = 0, k = 0; i < rt_graph_leaves(b->g); i++) {
		const struct rt_node *n = rt_graph_leaf(b->g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		uint32_t *x;

		if (rt_node_is_param(n) || rt_node_is_buffer(n))
			continue;
		x = b->inputs[k++] = gt_xcalloc((size_t)count, 4);
		for (int64_t j = 0; j < count; j++) {
			float f = rt_random_normal(b->seed, 1000 + (uint64_t)i, (uint64_t)j);

			if (rt_node_dtype(n) == RT_I32)
				x[j] = b->c->ignore && j % 3 == 1 ?
					       (uint32_t)RT_IGNORE :
					       (uint32_t)(rt_random_u64(b->seed, 1000 + (uint64_t)i, (uint64_t)j) %
							  (uint64_t)b->c->ids);
			else
				memcpy(&x[j], &f, sizeof(f));
		}
	}
}

static int compile(struct bench *b, enum rt_device device, bool plain, struct rt_program **ret, struct gt_err *err)
{
	struct rt_options o = {
		.device = device,
		.seed = b->seed,
		.keep_gradients = !b->c->steps,
		.poison = !plain,
		.no_reuse = !plain,
		.logits_slice_bytes = 256 << 10,
		.accum = b->c->accum,
		.clip_norm = b->c->clip,
	};

	if (b->c->steps)
		o.optimizer = strncmp(b->c->name, "gpt", 3) != 0 ?
				      (struct rt_optimizer){ .kind = RT_SGD, .lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3 } :
				      (struct rt_optimizer){ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 };
	if (device == RT_CUDA) {
		rt_check_set_type(b->type, &o);
		if (b->c->fused)
			o.attention_by = RT_ATTENTION_CUDNN;
		o.no_master = b->c->no_master && o.amp == RT_BF16;
	}
	return rt_compile(b->g, b->loss, &o, ret, err);
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

static int check_gradients(struct bench *b, struct rt_program **p, struct gt_err *err)
{
	float *grad[N_RUNS][8] = { 0 }, loss[N_RUNS];
	int r = 0;

	for (int k = 0; !r && k < N_RUNS; k++) {
		struct rt_metrics m = { 0 };

		r = rt_step(p[k], (const void *const *)b->inputs, &m, err);
		loss[k] = (float)m.loss;
		if (!r)
			r = read_gradients(b, p[k], grad[k], err);
	}
	for (int i = 0; !r && i < rt_graph_leaves(b->g); i++) {
		const struct rt_node *n = rt_graph_leaf(b->g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		gt_autofree char *same = gt_xasprintf("d %s, captured", rt_node_name(n));
		gt_autofree char *name = gt_xasprintf("d %s", rt_node_name(n));

		if (!grad[CPU][i])
			continue;
		compare(b, name, grad[CPU][i], grad[EAGER][i], count);
		compare_bits(b, same, grad[EAGER][i], grad[CAPTURED][i], count);
	}
	/* a sum over weights of both signs cancels: no relative error to speak of beside its gradients' */
	if (!r && b->c->ids && gt_streq(rt_node_name(b->loss), "cross_entropy"))
		compare(b, "loss", &loss[CPU], &loss[EAGER], 1);
	if (!r)
		compare_bits(b, "loss, captured", &loss[EAGER], &loss[CAPTURED], 1);
	for (int k = 0; k < N_RUNS; k++)
		for (int i = 0; i < 8; i++)
			free(grad[k][i]);
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
	if (norms) {
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
	b->loss = b->c->build(b->g);
	make_inputs(b);
	r = compile(b, RT_CPU, false, &p[CPU], err);
	if (!r)
		r = compile(b, RT_CUDA, false, &p[EAGER], err);
	if (b->c->fused && (r == -ENOENT || r == -ENOSYS)) { /* no cuDNN that could do it: nothing to compare */
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
	rt_graph_free(b->g);
	for (size_t i = 0; i < GT_ARRAY_SIZE(b->inputs); i++) {
		free(b->inputs[i]);
		b->inputs[i] = NULL;
	}
	if (r)
		gt_fail_prefix(err, "%s in %s", b->c->name, types[b->type].name);
	return r;
}

int rt_cuda_selfcheck(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct bench b = { .type = type, .seed = seed, .rows = rows };
	int r = 0;

	if (type == RT_CHECK_FP8) {
		r = rt_cuda_selfcheck_fp8(seed, rows, err);
		if (r > 0)
			b.failed = r;
		r = GT_MIN(r, 0);
	}
	if (type == RT_CHECK_BF16) {
		r = rt_cuda_selfcheck_rounding(seed, rows, err);
		b.failed = GT_MAX(r, 0);
		r = GT_MIN(r, 0);
	}
	if (!r) {
		r = rt_cuda_selfcheck_batch(type, seed, rows, err);
		b.failed += GT_MAX(r, 0);
		r = GT_MIN(r, 0);
	}
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(cases); i++) {
		b.c = &cases[i];
		if ((type == RT_CHECK_FP8 && !b.c->eight) || (type != RT_CHECK_BF16 && b.c->fused))
			continue;
		r = check_case(&b, err);
	}
	return r ? r : b.failed;
}
