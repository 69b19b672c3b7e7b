/* SPDX-License-Identifier: Apache-2.0 */
/* What the device is compared with the CPU in: ops of odd and of even sizes, and small models. */
#include "runtime/cuda/selfcheck.h"

#define WEIGHT(std) RT_INIT_NORMAL(std)
/* A case: one of the graphs below, of a size. */
#define SIZED(name, graph, ...)                         \
	static struct rt_node *name(struct rt_graph *g) \
	{                                               \
		return graph(g, __VA_ARGS__);           \
	}

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

SIZED(linear_odd, linear_of, 37, 19, 23, 0, true)
SIZED(linear_even, linear_of, 64, 32, 48, 0, true)
SIZED(linear_plain, linear_of, 40, 24, 16, 0, false)
SIZED(linear_gelu, linear_of, 33, 24, 40, 1, true)
SIZED(linear_gelu_even, linear_of, 80, 64, 96, 1, true)
SIZED(linear_gelu_odd, linear_of, 21, 11, 13, 1, true)
SIZED(linear_relu, linear_of, 48, 17, 32, 2, true)

/* Two layers with a gelu between them, whose derivative the second one's product multiplies by. */
static struct rt_node *layers_of(struct rt_graph *g, int64_t m, int64_t k, int64_t inner, int64_t n)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(m, k)), *w = rt_param(g, "w", RT_SHAPE(inner, k), WEIGHT(0.3f)), *y;

	y = rt_gelu(g, rt_linear(g, x, w, param(g, "b", RT_SHAPE(inner))));
	return weighed(g, rt_linear(g, y, rt_param(g, "w2", RT_SHAPE(n, inner), WEIGHT(0.3f)), param(g, "b2", RT_SHAPE(n))));
}
SIZED(layers, layers_of, 33, 24, 40, 17)
SIZED(layers_even, layers_of, 80, 32, 64, 48)
SIZED(layers_odd, layers_of, 21, 11, 13, 7)

static struct rt_node *embed(struct rt_graph *g, int64_t v, int64_t c, bool positions)
{
	struct rt_node *ids = rt_input(g, "ids", RT_I32, RT_SHAPE(3, 17));
	struct rt_node *pos = positions ? param(g, "positions", RT_SHAPE(29, c)) : NULL;

	return weighed(g, rt_embedding(g, ids, param(g, "table", RT_SHAPE(v, c)), pos));
}
SIZED(embedding_odd, embed, 7, 33, true)
SIZED(embedding_even, embed, 101, 64, true)
SIZED(embedding_alone, embed, 1030, 40, false)

static struct rt_node *norm_of(struct rt_graph *g, int64_t m, int64_t c, bool sum)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(m, c));

	if (sum)
		x = rt_add(g, x, param(g, "residual", RT_SHAPE(m, c)));
	x = rt_layernorm(g, x, param(g, "gain", RT_SHAPE(c)), param(g, "bias", RT_SHAPE(c)), 1e-5f);
	return weighed(g, x);
}
SIZED(norm_odd, norm_of, 13, 37, false)
SIZED(norm_even, norm_of, 601, 96, false)
SIZED(norm_sum, norm_of, 29, 768, true)
SIZED(norm_many, norm_of, 2301, 24, false)
/* Rows that neither a warp's registers nor a block's threads can keep. */
SIZED(norm_long, norm_of, 3, 4352, true)
SIZED(norm_long_odd, norm_of, 5, 517, true)
/* Gains that are activations too: of one the f32 gradient comes first, of the other the one in a low type. */
static struct rt_node *norm_shared_gain(struct rt_graph *g)
{
	struct rt_node *s = rt_gelu(g, param(g, "s", RT_SHAPE(24))), *t = rt_gelu(g, param(g, "t", RT_SHAPE(24)));
	struct rt_node *x = rt_add(g, param(g, "x", RT_SHAPE(13, 24)), s);

	x = rt_layernorm(g, x, s, param(g, "b", RT_SHAPE(24)), 1e-5f);
	x = rt_layernorm(g, x, t, param(g, "b2", RT_SHAPE(24)), 1e-5f);
	return weighed(g, rt_add(g, x, t));
}

static struct rt_node *attend(struct rt_graph *g, int64_t b, int64_t t, int64_t c, int heads)
{
	return weighed(g, rt_attention(g, param(g, "qkv", RT_SHAPE(b, t, 3 * c)), heads));
}
SIZED(attention_odd, attend, 2, 37, 15, 3)
SIZED(attention_64, attend, 2, 130, 128, 2)
SIZED(attention_long, attend, 1, 256, 64, 1)
SIZED(attention_48, attend, 1, 65, 48, 1)
SIZED(attention_100, attend, 1, 70, 100, 1)

SIZED(attention_72, attend, 2, 140, 144, 2)
SIZED(attention_128, attend, 1, 77, 256, 2)
SIZED(attention_24, attend, 2, 9, 72, 3)

/* Every query sees every key. */
static struct rt_node *attend_all(struct rt_graph *g, int64_t b, int64_t t, int64_t c, int heads)
{
	return weighed(g, rt_attention_full(g, param(g, "qkv", RT_SHAPE(b, t, 3 * c)), heads));
}
static struct rt_node *full_odd(struct rt_graph *g)
{
	return attend_all(g, 2, 37, 15, 3);
}
static struct rt_node *full_64(struct rt_graph *g)
{
	return attend_all(g, 2, 130, 128, 2);
}
static struct rt_node *full_100(struct rt_graph *g)
{
	return attend_all(g, 1, 70, 100, 1);
}
static struct rt_node *full_128(struct rt_graph *g)
{
	return attend_all(g, 1, 77, 256, 2);
}
static struct rt_node *full_24(struct rt_graph *g)
{
	return attend_all(g, 3, 5, 72, 3);
}
static struct rt_node *full_vit(struct rt_graph *g)
{
	return attend_all(g, 1, 196, 64, 1);
}

static struct rt_node *gelu_alone(struct rt_graph *g)
{
	return weighed(g, rt_gelu(g, param(g, "x", RT_SHAPE(7, 131))));
}
/* All the others, forward and backward, alone and behind a product. */
static struct rt_node *acts(struct rt_graph *g)
{
	struct rt_node *x = rt_gelu_erf(g, rt_silu(g, param(g, "x", RT_SHAPE(7, 131))));

	x = rt_linear(g, x, rt_param(g, "w", RT_SHAPE(40, 131), WEIGHT(0.1f)), param(g, "b", RT_SHAPE(40)));
	return weighed(g, rt_sigmoid(g, rt_tanh(g, rt_gelu_erf(g, x))));
}
/* The loss's own gradient is the parameter's, over several batches. */
static struct rt_node *dot_alone(struct rt_graph *g)
{
	return weighed(g, param(g, "x", RT_SHAPE(5, 43)));
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
SIZED(entropy_odd, entropy_of, 19, 57, 57, false)
SIZED(entropy_even, entropy_of, 33, 1096, 1096, false)
/* Rows that do not fit into half of the shared memory. */
SIZED(entropy_long, entropy_of, 3, 58120, 58120, false)
/* In bf16, all that the driver gives unasked, were nothing of it taken. */
SIZED(entropy_kept, entropy_of, 3, 24576, 24576, false)
SIZED(entropy_linear, entropy_of, 50, 24, 101, true)
SIZED(entropy_slices, entropy_of, 300, 16, 1000, true) /* several slices: see options */

/* A weight that is no parameter has no room behind its rows (pass/pad.c). */
static struct rt_node *entropy_computed(struct rt_graph *g)
{
	struct rt_node *w = rt_gelu(g, param(g, "w", RT_SHAPE(101, 24)));

	return rt_cross_entropy(g, rt_linear(g, param(g, "x", RT_SHAPE(50, 24)), w, NULL),
				rt_input(g, "ids", RT_I32, RT_SHAPE(50)));
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
SIZED(conv_odd, conv_of, (struct conv_case){ 2, 9, 7, 5, 7, 3, 1, 1, 1, true })
SIZED(conv_even, conv_of, (struct conv_case){ 3, 8, 8, 16, 32, 3, 1, 1, 1, false })
SIZED(conv_1x1, conv_of, (struct conv_case){ 2, 7, 5, 24, 16, 1, 1, 0, 1, true })
SIZED(conv_stride, conv_of, (struct conv_case){ 2, 11, 8, 8, 16, 3, 2, 1, 1, false })
SIZED(conv_short, conv_of, (struct conv_case){ 2, 9, 10, 16, 24, 1, 2, 0, 1, false })
SIZED(conv_stem, conv_of, (struct conv_case){ 2, 17, 14, 3, 8, 7, 2, 3, 1, false })
SIZED(conv_groups, conv_of, (struct conv_case){ 2, 6, 7, 32, 16, 3, 1, 1, 2, false })

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

/* What y itself is shows in the gradients of its square. */
static struct rt_node *batchnorm_far(struct rt_graph *g)
{
	struct rt_shape s = RT_SHAPE(5, 9, 7, 12), c = RT_SHAPE(12);
	struct rt_node *y = rt_batchnorm(g, param(g, "x", s), param(g, "gain", c), param(g, "bias", c),
					 rt_buffer(g, "mean", c, RT_INIT_ZEROS), rt_buffer(g, "var", c, RT_INIT_ONES), 1e-5f, 0.1f);

	return weighed(g, rt_mul(g, y, y));
}
/* Two outputs of one call are parts of one gradient, which a third op reads x for. */
static struct rt_node *batchnorm_reread(struct rt_graph *g)
{
	struct rt_shape c = RT_SHAPE(16);
	struct rt_node *x = rt_linear(g, param(g, "x", RT_SHAPE(48, 8)), param(g, "w", RT_SHAPE(16, 8)), NULL);
	struct rt_node *y = rt_batchnorm(g, x, param(g, "gain", c), param(g, "bias", c), rt_buffer(g, "mean", c, RT_INIT_ZEROS),
					 rt_buffer(g, "var", c, RT_INIT_ONES), 1e-5f, 0.1f);

	return weighed(g, rt_add(g, rt_add(g, y, x), x));
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

/* ---- the small ops; x is read twice, so that one of its gradients is added to the other ---- */
static struct rt_node *twice(struct rt_graph *g, struct rt_node *x, struct rt_node *y)
{
	return weighed(g, rt_add(g, y, rt_gelu(g, x)));
}
static struct rt_node *dropped(struct rt_graph *g, struct rt_shape s, float rate)
{
	struct rt_node *x = param(g, "x", s);

	return twice(g, x, rt_dropout(g, rt_dropout(g, x, rate), 0.1f));
}
static struct rt_node *dropout_odd(struct rt_graph *g)
{
	return dropped(g, RT_SHAPE(7, 131), 0.5f);
}
static struct rt_node *dropout_even(struct rt_graph *g)
{
	return dropped(g, RT_SHAPE(3, 40, 64), 0.2f);
}
static struct rt_node *multiplied(struct rt_graph *g, struct rt_shape s)
{
	struct rt_node *x = param(g, "x", s);

	return twice(g, x, rt_mul(g, rt_affine(g, x, 0.5f, 1.25f), rt_mul(g, x, param(g, "y", s))));
}
static struct rt_node *rope_odd(struct rt_graph *g)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(3, 17, 43));

	return twice(g, x, rt_rope(g, x, 3, 14, 10000));
}
static struct rt_node *mul_odd(struct rt_graph *g)
{
	return multiplied(g, RT_SHAPE(5, 43));
}
static struct rt_node *mul_even(struct rt_graph *g)
{
	return multiplied(g, RT_SHAPE(9, 64));
}
static struct rt_node *softmax_of(struct rt_graph *g, int64_t rows, int64_t cols)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(rows, cols));

	return twice(g, x, rt_softmax(g, rt_affine(g, x, 3, 0)));
}
static struct rt_node *softmax_odd(struct rt_graph *g)
{
	return softmax_of(g, 13, 43);
}
static struct rt_node *softmax_even(struct rt_graph *g)
{
	return softmax_of(g, 21, 264);
}
static struct rt_node *softmax_long(struct rt_graph *g)
{
	return softmax_of(g, 3, 4099);
}
static struct rt_node *softmax_wide(struct rt_graph *g)
{
	return softmax_of(g, 2, 8200);
}
/* x where the first columns are as they are and of the others half are -inf. */
static struct rt_node *masked(struct rt_graph *g, int64_t rows, int64_t cols)
{
	struct rt_node *mask = rt_relu(g, rt_input(g, "mask", RT_F32, RT_SHAPE(rows, cols - 8)));

	mask = rt_affine(g, rt_affine(g, rt_affine(g, mask, 1e30f, 0), 1e30f, 0), -1, 0);
	return rt_add(g, param(g, "x", RT_SHAPE(rows, cols)), rt_pad(g, mask, 8, 0));
}
static struct rt_node *softmax_masked(struct rt_graph *g)
{
	return weighed(g, rt_softmax(g, masked(g, 9, 67)));
}
static struct rt_node *entropy_masked(struct rt_graph *g)
{
	return rt_cross_entropy(g, masked(g, 9, 267), rt_input(g, "ids", RT_I32, RT_SHAPE(9)));
}
static struct rt_node *rms_of(struct rt_graph *g, int64_t m, int64_t c)
{
	struct rt_node *x = param(g, "x", RT_SHAPE(m, c));

	return twice(g, x, rt_rmsnorm(g, x, param(g, "gain", RT_SHAPE(c)), 1e-5f));
}
static struct rt_node *rms_odd(struct rt_graph *g)
{
	return rms_of(g, 13, 37);
}
static struct rt_node *rms_even(struct rt_graph *g)
{
	return rms_of(g, 601, 96);
}
/* (...,m,k) (...,k,n), each operand stored either way; a is read by two products. */
static struct rt_node *products_of(struct rt_graph *g, struct rt_shape batch, int64_t m, int64_t k, int64_t n, bool ta, bool tb)
{
	struct rt_shape a = batch, b = batch;
	struct rt_node *x, *y;

	a.d[a.n++] = ta ? k : m;
	a.d[a.n++] = ta ? m : k;
	b.d[b.n++] = tb ? n : k;
	b.d[b.n++] = tb ? k : n;
	x = rt_param(g, "x", a, WEIGHT(0.3f));
	y = rt_param(g, "y", b, WEIGHT(0.3f));
	return weighed(g, rt_add(g, rt_matmul(g, x, ta, y, tb), rt_matmul(g, x, ta, rt_gelu(g, y), tb)));
}
static struct rt_node *matmul_odd(struct rt_graph *g)
{
	return products_of(g, RT_SHAPE(3), 17, 11, 7, false, false);
}
static struct rt_node *matmul_even(struct rt_graph *g)
{
	return products_of(g, RT_SHAPE(2, 3), 24, 16, 32, false, true);
}
static struct rt_node *matmul_turned(struct rt_graph *g)
{
	return products_of(g, RT_SHAPE(2, 3), 13, 24, 9, true, false);
}
static struct rt_node *matmul_both(struct rt_graph *g)
{
	return products_of(g, RT_SHAPE(5), 16, 8, 40, true, true);
}
static struct rt_node *matmul_one(struct rt_graph *g)
{
	return products_of(g, (struct rt_shape){ 0 }, 33, 20, 12, false, true);
}
/* Numbers that every type has, many of them the same: the first of the largest ones counts. */
static struct rt_node *largest_of(struct rt_graph *g, struct rt_shape s, int axis)
{
	struct rt_node *x = rt_param(g, "x", s, RT_INIT_ONES), *y = rt_param(g, "y", s, RT_INIT_ONES);
	struct rt_node *v = rt_add(g, rt_dropout(g, x, 0.5f), rt_affine(g, rt_dropout(g, y, 0.5f), -2, 1));

	return weighed(g, rt_add(g, rt_reduce(g, v, RT_MAX, axis), rt_reduce(g, v, RT_MEAN, axis)));
}
static struct rt_node *max_odd(struct rt_graph *g)
{
	return largest_of(g, RT_SHAPE(5, 9, 7), 1);
}
static struct rt_node *max_even(struct rt_graph *g)
{
	return largest_of(g, RT_SHAPE(3, 6, 24), 1);
}
static struct rt_node *max_rows(struct rt_graph *g)
{
	return largest_of(g, RT_SHAPE(5, 9, 7), 2);
}
static struct rt_node *max_rows_even(struct rt_graph *g)
{
	return largest_of(g, RT_SHAPE(37, 264), 1);
}
static struct rt_node *max_rows_long(struct rt_graph *g)
{
	return largest_of(g, RT_SHAPE(2, 2056), 1);
}
static struct rt_node *mean_rows(struct rt_graph *g)
{
	return weighed(g, rt_reduce(g, param(g, "x", RT_SHAPE(5, 9, 64)), RT_MEAN, 2));
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
static struct rt_node *gpt_dropout(struct rt_graph *g)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 2, .seq = 24, .layers = 2, .width = 48, .heads = 3,
							.vocab = 61, .dropout = 0.1f });
}
static struct rt_node *bert(struct rt_graph *g)
{
	return rt_model_bert(g, &(struct rt_gpt_config){ .batch = 2, .seq = 23, .layers = 2, .width = 48, .heads = 3,
							 .vocab = 61 });
}
static struct rt_node *vit(struct rt_graph *g)
{
	return rt_model_vit(g, &(struct rt_vit_config){ .batch = 3, .size = 15, .patch = 3, .layers = 2, .width = 48, .heads = 3,
							.classes = 10 });
}
static struct rt_node *mlp(struct rt_graph *g)
{
	return rt_model_mlp(g, 32, (const int64_t[]){ 17, 40, 24, 10 }, 4);
}

const struct rt_check_case rt_check_cases[] = {
	{ "linear", linear_odd, 0, false, 0 },
	{ "linear.even", linear_even, 0, false, 0, .eight = true },
	{ "linear.gelu.even", linear_gelu_even, 0, false, 0, .eight = true },
	{ "linear.plain", linear_plain, 0, false, 0 },
	{ "linear.gelu", linear_gelu, 0, false, 0 },
	{ "linear.gelu.odd", linear_gelu_odd, 0, false, 0 },
	{ "linear.relu", linear_relu, 0, true, 0 },
	{ "linear.layers", layers, 0, false, 0 },
	{ "linear.layers.even", layers_even, 0, false, 0 },
	{ "linear.layers.odd", layers_odd, 0, false, 0 },
	{ "linear.layers.exact", layers, 0, false, 0, .exact = true },
	{ "linear.gelu.exact", linear_gelu, 0, false, 0, .exact = true },
	{ "embedding", embedding_odd, 7, false, 0 },
	{ "embedding.even", embedding_even, 101, false, 0 },
	{ "embedding.alone", embedding_alone, 1030, false, 0 },
	{ "layernorm", norm_odd, 0, false, 0 },
	{ "layernorm.even", norm_even, 0, false, 0 },
	{ "layernorm.sum", norm_sum, 0, false, 0 },
	{ "layernorm.many", norm_many, 0, false, 0 },
	{ "layernorm.long", norm_long, 0, false, 0 },
	{ "layernorm.long.odd", norm_long_odd, 0, false, 0 },
	{ "layernorm.shared", norm_shared_gain, 0, false, 0 },
	{ "attention", attention_odd, 0, false, 0 },
	{ "attention.64", attention_64, 0, false, 0 },
	{ "attention.long", attention_long, 0, false, 0 },
	{ "attention.48", attention_48, 0, false, 0 },
	{ "attention.100", attention_100, 0, false, 0 },
	{ "attention.72", attention_72, 0, false, 0 },
	{ "attention.128", attention_128, 0, false, 0 },
	{ "attention.24", attention_24, 0, false, 0 },
	{ "attention.full", full_odd, 0, false, 0 },
	{ "attention.full.64", full_64, 0, false, 0 },
	{ "attention.full.100", full_100, 0, false, 0 },
	{ "attention.full.128", full_128, 0, false, 0 },
	{ "attention.full.24", full_24, 0, false, 0 },
	{ "attention.full.vit", full_vit, 0, false, 0 },
	{ "attention.64.cudnn", attention_64, .fused = true },
	{ "attention.long.cudnn", attention_long, .fused = true },
	{ "attention.72.cudnn", attention_72, .fused = true },
	{ "attention.128.cudnn", attention_128, .fused = true },
	{ "attention.24.cudnn", attention_24, .fused = true },
	{ "attention.full.64.cudnn", full_64, .fused = true },
	{ "attention.full.128.cudnn", full_128, .fused = true },
	{ "attention.full.24.cudnn", full_24, .fused = true },
	{ "attention.full.vit.cudnn", full_vit, .fused = true },
	{ "gelu", gelu_alone, 0, false, 0 },
	{ "activations", acts, 0, false, 0 },
	{ "dot.accum", dot_alone, 0, false, 6, .accum = 3 },
	{ "relu", relu_alone, 0, true, 0 },
	{ "add", add_twice, 0, false, 0 },
	{ "cross_entropy", entropy_odd, 57, false, 0 },
	{ "cross_entropy.even", entropy_even, 1000, false, 0 },
	{ "cross_entropy.long", entropy_long, 58000, true, 0 }, /* few elements are large, beside which the others have no size */
	{ "cross_entropy.kept", entropy_kept, 24576, true, 0 },
	{ "cross_entropy.linear", entropy_linear, 101, false, 0 },
	{ "cross_entropy.slices", entropy_slices, 1000, false, 0 },
	{ "cross_entropy.ignored", entropy_odd, 57, false, 0, .ignore = true },
	{ "cross_entropy.linear.ignored", entropy_linear, 101, false, 0, .ignore = true },
	{ "cross_entropy.slices.ignored", entropy_slices, 1000, false, 0, .ignore = true },
	{ "cross_entropy.computed", entropy_computed, 101, false, 0 },
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
	{ "batchnorm.reread", batchnorm_reread, 0, false, 0 },
	{ "batchnorm.far", batchnorm_far, 0, false, 0, .mean = 1e4f },
	{ "batchnorm.first", batchnorm_far, 0, false, 0, .first = 60 },
	{ "max_pool", max_pool, 0, true, 0 },
	{ "max_pool.odd", max_pool_odd, 0, true, 0 },
	{ "avg_pool", avg_pool, 0, false, 0 },
	{ "avg_pool.odd", avg_pool_odd, 0, false, 0 },
	{ "shortcut", shortcut, 0, false, 0 },
	{ "mean", pixels_mean, 0, false, 0 },
	{ "sum.rows", rows_sum, 0, false, 0 },
	{ "add.tail", add_tail, 0, false, 0 },
	{ "add.tail.odd", add_tail_odd, 0, false, 0 },
	{ "dropout", dropout_odd, 0, false, 0 },
	{ "dropout.even", dropout_even, 0, false, 0 },
	{ "mul", mul_odd, 0, false, 0 },
	{ "rope", rope_odd, 0, false, 0 },
	{ "mul.even", mul_even, 0, false, 0 },
	{ "softmax", softmax_odd, 0, false, 0 },
	{ "softmax.even", softmax_even, 0, false, 0 },
	{ "softmax.long", softmax_long, 0, false, 0 },
	{ "softmax.wide", softmax_wide, 0, false, 0 },
	{ "softmax.masked", softmax_masked, 0, false, 0 },
	{ "cross_entropy.masked", entropy_masked, 8, false, 0 },
	{ "rmsnorm", rms_odd, 0, false, 0 },
	{ "rmsnorm.even", rms_even, 0, false, 0 },
	{ "matmul", matmul_odd, 0, false, 0 },
	{ "matmul.even", matmul_even, 0, false, 0 },
	{ "matmul.turned", matmul_turned, 0, false, 0 },
	{ "matmul.both", matmul_both, 0, false, 0 },
	{ "matmul.one", matmul_one, 0, false, 0 },
	{ "max", max_odd, 0, false, 0 },
	{ "max.even", max_even, 0, false, 0 },
	{ "max.rows", max_rows, 0, false, 0 },
	{ "max.rows.even", max_rows_even, 0, false, 0 },
	{ "max.rows.long", max_rows_long, 0, false, 0 },
	{ "mean.rows", mean_rows, 0, false, 0 },
	{ "gpt", gpt, 61, false, 8, .eight = true },
	{ "gpt.dropout", gpt_dropout, 61, false, 9, .accum = 3, .eight = true },
	{ "gpt.accum", gpt, 61, false, 9, .accum = 3, .eight = true },
	{ "gpt.clip", gpt, 61, false, 8, .accum = 2, .clip = 0.05, .eight = true },
	{ "gpt.master.none", gpt, 61, false, 8, .no_master = true, .eight = true },
	{ "gpt.cudnn", gpt, 61, false, 8, .fused = true },
	{ "bert", bert, 61, false, 8, .eight = true, .ignore = true },
	{ "bert.cudnn", bert, 61, false, 8, .fused = true, .ignore = true },
	{ "vit", vit, 10, false, 8, .eight = true },
	{ "vit.cudnn", vit, 10, false, 8, .fused = true },
	{ "mlp", mlp, 10, true, 8, .eight = true },
	{ "mlp.clip", mlp, 10, true, 8, .clip = 0.1 },
	{ "resnet", resnet_small, 10, true, 4 },
	{ "resnet.accum", resnet_small, 10, true, 4, .accum = 2 },
};
const int rt_n_check_cases = GT_ARRAY_SIZE(rt_check_cases);
