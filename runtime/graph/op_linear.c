/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear: y (M,N) = act(x (M,K) w (N,K)^T + b (N)). in: x, w, b or NULL. out: y, and for gelu and silu also the
 * pre-activation (M,N), which the derivative reads.
 */
#include "runtime/graph/act.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int linear_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0], *w = c->in[1], *b = c->in[2];
	struct rt_shape s = x->shape;
	int r = rt_require_floats(c, 0, 3, err);

	if (r)
		return r;
	if (w->shape.n != 2 || w->shape.d[1] != rt_cols(x))
		return rt_mismatch(c, x, w, "the weight must be (outputs, last dimension of the input)", err);
	if (b && (b->shape.n != 1 || b->shape.d[0] != w->shape.d[0]))
		return rt_mismatch(c, w, b, "the bias must have one element per row of the weight", err);
	s.d[s.n - 1] = w->shape.d[0];
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, "linear");
	if (rt_act_reads_input(c->attr.act))
		c->out[1] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, "linear.pre");
	return 0;
}

/* dpre = dy act'(…); dx = dpre w; dw = dpre^T x; db = column sums of dpre. */
static void linear_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_node *dy = rt_ad_get(ad, c->out[0]), *pre = dy;
	struct rt_call *k;

	if (c->attr.act != RT_ACT_NONE) {
		k = rt_ad_call(ad, RT_OP_ACT_BWD, &(struct rt_attr){ .act = c->attr.act });
		k->in[0] = dy;
		k->in[1] = rt_act_reads_input(c->attr.act) ? c->out[1] : c->out[0];
		k->out[0] = pre = rt_ad_temp(ad, c->out[0], "dpre");
	}
	if (rt_ad_requires_grad(ad, c->in[0])) {
		k = rt_ad_call(ad, RT_OP_LINEAR_BWD_X, NULL);
		k->in[0] = pre;
		k->in[1] = c->in[1];
		rt_ad_into(ad, k, 0, c->in[0]);
	}
	if (rt_ad_requires_grad(ad, c->in[1]) || rt_ad_requires_grad(ad, c->in[2])) {
		k = rt_ad_call(ad, RT_OP_LINEAR_BWD_W, NULL);
		k->in[0] = pre;
		k->in[1] = c->in[0];
		k->in[2] = rt_ad_requires_grad(ad, c->in[2]) ? pre : NULL;
		rt_ad_into(ad, k, 0, c->in[1]);
		rt_ad_into(ad, k, 1, c->in[2]);
	}
}

static void linear_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), inner = rt_cols(c->in[0]), cols = rt_cols(c->out[0]);

	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) {
			double s = c->in[2] ? in[2][j] : 0;

			for (int64_t k = 0; k < inner; k++)
				s += in[0][i * inner + k] * in[1][j * inner + k];
			if (c->out[1])
				out[1][i * cols + j] = s;
			out[0][i * cols + j] = rt_act_reference(c->attr.act, s);
		}
}

static double linear_flops(const struct rt_call *c)
{
	return 2.0 * (double)rt_shape_elements(&c->in[0]->shape) * (double)c->in[1]->shape.d[0];
}

/* in: dy (M,N), w (N,K); for gelu (pass/gelu.c) also the input of its derivative (M,K). out: dx (M,K), times that
 * derivative */
static double linear_bwd_x_flops(const struct rt_call *c)
{
	return 2.0 * (double)rt_shape_elements(&c->in[0]->shape) * (double)c->in[1]->shape.d[1];
}

/* in: dy (M,N), x (M,K), dy in f32 for db. out: dw (N,K), db (N) */
static double linear_bwd_w_flops(const struct rt_call *c)
{
	return c->out[0] ? 2.0 * (double)rt_shape_elements(&c->in[0]->shape) * (double)rt_cols(c->in[1]) : 0;
}

const struct rt_op rt_op_linear = {
	.id = RT_OP_LINEAR,
	.name = "linear",
	.linear = true,
	.int8 = RT_OP_LINEAR_INT8,
	.fp8 = { { RT_E4M3, false }, { RT_E4M3, false } },
	.reduced = 3,
	.shape = linear_shape,
	.gradient = linear_gradient,
	.reference = linear_reference,
	.flops = linear_flops,
};
const struct rt_op rt_op_linear_bwd_x = {
	.id = RT_OP_LINEAR_BWD_X,
	.name = "linear_bwd_x",
	.linear = true,
	.fp8 = { { RT_E5M2, false }, { RT_E4M3, true } },
	.reduced = 3,
	.accumulates = 1,
	.flops = linear_bwd_x_flops,
};
const struct rt_op rt_op_linear_bwd_w = {
	.id = RT_OP_LINEAR_BWD_W,
	.name = "linear_bwd_w",
	.f32_out = 3,
	.linear = true,
	.fp8 = { { RT_E5M2, true }, { RT_E4M3, true } },
	.reduced = 3,
	.accumulates = 3,
	.flops = linear_bwd_w_flops,
};
