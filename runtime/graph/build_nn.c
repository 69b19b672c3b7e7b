/* SPDX-License-Identifier: Apache-2.0 */
/* The public builders of image ops and smaller ops. */
#include <errno.h>
#include "runtime/graph/ir.h"

static struct rt_node *unary(struct rt_graph *g, enum rt_op_id op, const char *name, struct rt_node *x, const struct rt_attr *attr)
{
	return rt_missing(g, name, x, x) ? NULL : rt_apply(g, op, attr, &x, 1);
}

struct rt_node *rt_gelu(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_ACT, "gelu", x, &(struct rt_attr){ .act = RT_ACT_GELU });
}

struct rt_node *rt_gelu_erf(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_ACT, "gelu_erf", x, &(struct rt_attr){ .act = RT_ACT_GELU_ERF });
}

struct rt_node *rt_relu(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_ACT, "relu", x, &(struct rt_attr){ .act = RT_ACT_RELU });
}

struct rt_node *rt_silu(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_ACT, "silu", x, &(struct rt_attr){ .act = RT_ACT_SILU });
}

struct rt_node *rt_tanh(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_ACT, "tanh", x, &(struct rt_attr){ .act = RT_ACT_TANH });
}

struct rt_node *rt_sigmoid(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_ACT, "sigmoid", x, &(struct rt_attr){ .act = RT_ACT_SIGMOID });
}

struct rt_node *rt_softmax(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_SOFTMAX, "softmax", x, NULL);
}

struct rt_node *rt_affine(struct rt_graph *g, struct rt_node *x, float scale, float offset)
{
	return unary(g, RT_OP_AFFINE, "affine", x, &(struct rt_attr){ .scale = scale, .offset = offset });
}

struct rt_node *rt_rope(struct rt_graph *g, struct rt_node *x, int heads, int depth, float base)
{
	return unary(g, RT_OP_ROPE, "rope", x, &(struct rt_attr){ .heads = heads, .depth = depth, .base = base, .scale = 1 });
}

struct rt_node *rt_rope_at(struct rt_graph *g, struct rt_node *x, struct rt_node *positions, int heads, int depth, float base)
{
	const struct rt_attr attr = { .heads = heads, .depth = depth, .base = base, .scale = 1 };

	if (rt_missing(g, "rope_at", x, positions))
		return NULL;
	return rt_apply(g, RT_OP_ROPE_AT, &attr, (struct rt_node *[]){ x, positions }, 2);
}

struct rt_node *rt_attention_cached(struct rt_graph *g, struct rt_node *qkv, struct rt_node *cache, struct rt_node *positions,
				    int heads, int kv_heads)
{
	const struct rt_attr attr = { .heads = heads, .kv_heads = kv_heads };

	if (rt_missing(g, "attention_cached", qkv, cache) || rt_missing(g, "attention_cached", positions, positions))
		return NULL;
	return rt_apply(g, RT_OP_ATTENTION_CACHED, &attr, (struct rt_node *[]){ qkv, cache, positions }, 3);
}

struct rt_node *rt_select_row(struct rt_graph *g, struct rt_node *x, struct rt_node *index)
{
	if (rt_missing(g, "select_row", x, index))
		return NULL;
	return rt_apply(g, RT_OP_SELECT_ROW, NULL, (struct rt_node *[]){ x, index }, 2);
}

struct rt_node *rt_dropout(struct rt_graph *g, struct rt_node *x, float rate)
{
	/* The number of previous calls distinguishes the dropouts. */
	return unary(g, RT_OP_DROPOUT, "dropout", x, &(struct rt_attr){ .rate = rate, .stream = g->ir.n_calls });
}

struct rt_node *rt_reduce(struct rt_graph *g, struct rt_node *x, enum rt_reduction how, int dimension)
{
	return unary(g, RT_OP_REDUCE, "reduce", x, &(struct rt_attr){ .reduction = how, .axis = dimension });
}

struct rt_node *rt_reshape(struct rt_graph *g, struct rt_node *x, struct rt_shape shape)
{
	return unary(g, RT_OP_RESHAPE, "reshape", x, &(struct rt_attr){ .shape = shape });
}

struct rt_node *rt_attention_full(struct rt_graph *g, struct rt_node *qkv, int heads)
{
	return unary(g, RT_OP_ATTENTION, "attention", qkv,
		     &(struct rt_attr){ .heads = heads, .kv_heads = heads, .all_keys = true });
}

struct rt_node *rt_attention_grouped(struct rt_graph *g, struct rt_node *qkv, int heads, int kv_heads)
{
	return unary(g, RT_OP_ATTENTION, "attention", qkv, &(struct rt_attr){ .heads = heads, .kv_heads = kv_heads });
}

struct rt_node *rt_swiglu(struct rt_graph *g, struct rt_node *x)
{
	return unary(g, RT_OP_SWIGLU, "swiglu", x, NULL);
}

struct rt_node *rt_max_pool(struct rt_graph *g, struct rt_node *x, int window, int stride, int pad)
{
	return unary(g, RT_OP_MAX_POOL, "max_pool", x, &(struct rt_attr){ .window = window, .stride = stride, .pad = pad });
}

struct rt_node *rt_avg_pool(struct rt_graph *g, struct rt_node *x, int window, int stride, int pad)
{
	return unary(g, RT_OP_AVG_POOL, "avg_pool", x, &(struct rt_attr){ .window = window, .stride = stride, .pad = pad });
}

struct rt_node *rt_pad(struct rt_graph *g, struct rt_node *x, int before, int after)
{
	return unary(g, RT_OP_PAD, "pad", x, &(struct rt_attr){ .window = before, .stride = after });
}

struct rt_node *rt_mul(struct rt_graph *g, struct rt_node *a, struct rt_node *b)
{
	if (rt_missing(g, "mul", a, b))
		return NULL;
	return rt_apply(g, RT_OP_MUL, NULL, (struct rt_node *[]){ a, b }, 2);
}

struct rt_node *rt_rmsnorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, float eps)
{
	if (rt_missing(g, "rmsnorm", x, gain))
		return NULL;
	return rt_apply(g, RT_OP_RMSNORM, &(struct rt_attr){ .eps = eps }, (struct rt_node *[]){ x, gain }, 2);
}

struct rt_node *rt_matmul(struct rt_graph *g, struct rt_node *a, bool ta, struct rt_node *b, bool tb)
{
	if (rt_missing(g, "matmul", a, b))
		return NULL;
	return rt_apply(g, RT_OP_MATMUL, &(struct rt_attr){ .ta = ta, .tb = tb }, (struct rt_node *[]){ a, b }, 2);
}

struct rt_node *rt_conv2d(struct rt_graph *g, struct rt_node *x, struct rt_node *w, struct rt_node *b, struct rt_conv2d how)
{
	const struct rt_attr attr = { .stride = how.stride ? how.stride : 1, .pad = how.pad,
				      .groups = how.groups ? how.groups : 1 };

	if (rt_missing(g, "conv", x, w))
		return NULL;
	return rt_apply(g, RT_OP_CONV, &attr, (struct rt_node *[]){ x, w, b }, 3);
}

struct rt_node *rt_batchnorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, struct rt_node *bias,
			     struct rt_node *running_mean, struct rt_node *running_var, float eps, float momentum)
{
	if (rt_missing(g, "batchnorm", x, gain) || rt_missing(g, "batchnorm", bias, running_mean) ||
	    rt_missing(g, "batchnorm", running_var, x))
		return NULL;
	return rt_apply(g, RT_OP_BATCHNORM, &(struct rt_attr){ .eps = eps, .rate = momentum },
			(struct rt_node *[]){ x, gain, bias, running_mean, running_var }, 5);
}

struct rt_node *rt_user(struct rt_graph *g, const struct rt_user_op *op, struct rt_node *const *in, void *arg)
{
	if (g->err.code)
		return NULL;
	if (op->inputs < 1 || op->inputs > RT_USER_INPUTS || !op->forward || !op->reference) {
		gt_fail(&g->err, EINVAL, "op %s: %d inputs (1 to %d are supported), and forward and reference are required",
			op->name, op->inputs, RT_USER_INPUTS);
		return NULL;
	}
	for (int i = 0; i < op->inputs; i++)
		if (rt_missing(g, op->name, in[i], in[i]))
			return NULL;
	return rt_apply(g, RT_OP_USER, &(struct rt_attr){ .user = op, .arg = arg }, in, op->inputs);
}
