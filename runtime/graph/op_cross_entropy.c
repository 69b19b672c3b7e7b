/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_entropy: loss (1) = mean over M rows of -log softmax(logits (M,V))[targets (M)], without the rows whose target
 * is RT_IGNORE. The gradient of the logits is an output of the forward call, in place if the logits have no later use.
 * in: logits, targets. out: loss, dlogits, loss of each row (M)
 *
 * linear_cross_entropy (from fusion): computes logits = x (M,C) w (V,C)^T + b (V) for one slice of rows at a time, with
 * the loss and gradients of the slice.
 * in: x, w, b or NULL, targets. out: loss, dx, dw, db, loss of each row (M)
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/cross_entropy.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int cross_entropy_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0], *y = c->in[1];
	int r = rt_require_float(c, x, err);

	if (r)
		return r;
	if (y->dtype != RT_I32)
		return gt_fail(err, EINVAL, "cross_entropy of %s: the targets %s are %s, not i32", x->name, y->name,
			       rt_dtype_name(y->dtype));
	if (rt_shape_elements(&y->shape) != rt_rows(x))
		return rt_mismatch(c, x, y, "there must be one target per row of logits", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(1), "cross_entropy");
	c->out[1] = rt_ir_node(ir, RT_ROLE_GRADIENT, RT_F32, &x->shape, "cross_entropy.dlogits");
	c->out[2] = rt_ir_node(ir, RT_ROLE_SCRATCH, RT_F32, &RT_SHAPE(rt_rows(x)), "cross_entropy.rows");
	return 0;
}

static void cross_entropy_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	rt_ad_alias(ad, c->in[0], c->out[1]);
}

static void cross_entropy_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]), count = 0;

	out[0][0] = 0;
	for (int64_t i = 0; i < rows; i++)
		count += (int64_t)in[1][i] != RT_IGNORE;
	for (int64_t i = 0; i < rows; i++) {
		const double *x = in[0] + i * cols;
		double max = -INFINITY, sum = 0;

		if ((int64_t)in[1][i] == RT_IGNORE)
			continue;

		for (int64_t j = 0; j < cols; j++)
			max = fmax(max, x[j]);
		for (int64_t j = 0; j < cols; j++)
			sum += exp(x[j] - max);
		out[2][i] = max + log(sum) - x[(int64_t)in[1][i]];
		for (int64_t j = 0; j < cols; j++)
			out[1][i * cols + j] =
				(exp(x[j] - max) / sum - (j == (int64_t)in[1][i])) / (double)count;
		out[0][0] += out[2][i] / (double)count;
	}
}

static void linear_cross_entropy_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	for (int i = 0; i < 3; i++)
		if (c->in[i])
			rt_ad_alias(ad, c->in[i], c->out[1 + i]);
}

/* Splits the rows into equal slices below the limit in bytes. */
int64_t rt_cross_entropy_slice(const struct rt_call *c)
{
	int64_t rows = rt_rows(c->in[0]), row_bytes = rt_cross_entropy_stride(c) * 4;
	int64_t most = GT_MAX(1, (int64_t)(c->attr.slice_bytes ? c->attr.slice_bytes : 64 << 20) / row_bytes);
	int64_t slices = (rows + most - 1) / most;

	return (rows + slices - 1) / slices;
}

/* Rows of logits start at cache lines. */
int64_t rt_cross_entropy_stride(const struct rt_call *c)
{
	return c->attr.padded_cols ? c->attr.padded_cols : (c->in[1]->shape.d[0] + 15) / 16 * 16;
}

static double linear_cross_entropy_flops(const struct rt_call *c)
{
	double one = 2.0 * (double)rt_shape_elements(&c->in[0]->shape) * (double)c->in[1]->shape.d[0];

	return one * (1 + !!c->out[1] + !!c->out[2]);
}

static int64_t target_limit(const struct rt_call *c)
{
	return rt_cols(c->in[0]);
}

static int64_t weight_rows(const struct rt_call *c)
{
	return c->in[1]->shape.d[0];
}

const struct rt_op rt_op_cross_entropy = {
	.id = RT_OP_CROSS_ENTROPY,
	.name = "cross_entropy",
	.f32_out = 5,
	.index_in = 1,
	.index_limit = target_limit,
	.loss = true,
	.inplace = RT_INPLACE(1, 0),
	.shape = cross_entropy_shape,
	.gradient = cross_entropy_gradient,
	.reference = cross_entropy_reference,
};
const struct rt_op rt_op_linear_cross_entropy = {
	.id = RT_OP_LINEAR_CROSS_ENTROPY,
	.name = "linear_cross_entropy",
	.f32_out = 29,
	.linear = true,
	.index_in = 3,
	.index_limit = weight_rows,
	.reduced = 3,
	.accumulates = 1 << 2 | 1 << 3,
	.loss = true,
	.gradient = linear_cross_entropy_gradient,
	.flops = linear_cross_entropy_flops,
};
