/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layernorm: y = (x - mean) rstd gain (C) + bias (C) over the last dimension of x (M,C); saves mean, rstd (M).
 * add_layernorm (from fusion): the same of x = a + b; x is also an output.
 */
#include <math.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int norm_shape(struct rt_ir *ir, struct rt_call *c, int x, int gain, int y, struct gt_err *err)
{
	struct rt_node *in = c->in[x], *g = c->in[gain], *b = c->in[gain + 1];
	int64_t rows = rt_rows(in);
	int r = rt_require_floats(c, 0, gain + 2, err);

	if (r)
		return r;
	if (g->shape.n != 1 || g->shape.d[0] != rt_cols(in))
		return rt_mismatch(c, in, g, "the gain must have the input's last dimension", err);
	if (b->shape.n != 1 || b->shape.d[0] != rt_cols(in))
		return rt_mismatch(c, in, b, "the bias must have the input's last dimension", err);
	c->out[y] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &in->shape, "layernorm");
	c->out[y + 1] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(rows), "layernorm.mean");
	c->out[y + 2] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(rows), "layernorm.rstd");
	return 0;
}

/* in: x, gain, bias. out: y, mean, rstd */
static int layernorm_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	return norm_shape(ir, c, 0, 1, 0, err);
}

static void norm_gradient(struct rt_ad *ad, const struct rt_call *c, struct rt_node *x, int gain, int y)
{
	struct rt_node *dy = rt_ad_get(ad, c->out[y]);
	struct rt_call *k;

	if (!dy)
		return;
	k = rt_ad_call(ad, RT_OP_LAYERNORM_BWD, NULL);
	k->in[0] = dy;
	k->in[1] = x;
	k->in[2] = c->in[gain];
	k->in[3] = c->out[y + 1];
	k->in[4] = c->out[y + 2];
	rt_ad_into(ad, k, 0, x);
	rt_ad_into(ad, k, 1, c->in[gain]);
	rt_ad_into(ad, k, 2, c->in[gain + 1]);
}

static void layernorm_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	norm_gradient(ad, c, c->in[0], 1, 0);
}

static void layernorm_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);

	for (int64_t i = 0; i < rows; i++) {
		const double *x = in[0] + i * cols;
		double mean = 0, var = 0;

		for (int64_t j = 0; j < cols; j++)
			mean += x[j] / (double)cols;
		for (int64_t j = 0; j < cols; j++)
			var += (x[j] - mean) * (x[j] - mean) / (double)cols;
		out[1][i] = mean;
		out[2][i] = 1 / sqrt(var + (double)c->attr.eps);
		for (int64_t j = 0; j < cols; j++)
			out[0][i * cols + j] = (x[j] - mean) * out[2][i] * in[1][j] + in[2][j];
	}
}

/* in: a, b, gain, bias. out: a + b, y, mean, rstd */
static void add_layernorm_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_node *dx;

	norm_gradient(ad, c, c->out[0], 2, 1);
	dx = rt_ad_get(ad, c->out[0]);
	if (!dx)
		return;
	rt_ad_alias(ad, c->in[0], dx);
	rt_ad_alias(ad, c->in[1], dx);
}

const struct rt_op rt_op_layernorm = {
	.id = RT_OP_LAYERNORM,
	.name = "layernorm",
	.f32_in = 6,
	.f32_out = 6,
	.shape = layernorm_shape,
	.gradient = layernorm_gradient,
	.reference = layernorm_reference,
};
const struct rt_op rt_op_add_layernorm = {
	.id = RT_OP_ADD_LAYERNORM,
	.name = "add_layernorm",
	.f32_in = 12,
	.f32_out = 12,
	.inplace = RT_INPLACE(0, 0) | RT_INPLACE(0, 1),
	.gradient = add_layernorm_gradient,
};
/* in: dy, x, gain, mean, rstd. out: dx, dgain, dbias */
const struct rt_op rt_op_layernorm_bwd = {
	.id = RT_OP_LAYERNORM_BWD,
	.name = "layernorm_bwd",
	.f32_in = 28,
	.f32_out = 6,
	.accumulates = 7,
	.inplace = RT_INPLACE(0, 0),
};
