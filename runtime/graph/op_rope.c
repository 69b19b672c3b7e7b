/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rope: y = x (B,T,W) with the first `heads` heads, of `depth` columns each, rotated by position t (rotary position
 * embedding, Su et al., RoFormer, 2021). Elements i and i + depth/2 of a head form a pair, which is rotated by t
 * base^(-2i/depth). The columns after the heads are copied. The gradient rotates in the other direction: scale is 1 or
 * -1.
 * in: x. out: y
 *
 * rope_at: the same at positions (B,T) of i32, for programs that do not train. in: x, positions. out: y
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int rope_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	const struct rt_attr *a = &c->attr;
	struct rt_node *x = c->in[0];
	char s[96];
	int r = rt_require_float(c, x, err);

	if (r)
		return r;
	if (!(a->base > 0 && isfinite(a->base)))
		return gt_fail(err, EINVAL, "rope of %s: base %g is not a positive number", x->name, (double)a->base);
	if (x->shape.n != 3 || a->heads < 1 || a->depth < 2 || a->depth % 2 || (int64_t)a->heads * a->depth > rt_cols(x))
		return gt_fail(err, EINVAL, "rope of %s %s with %d heads of %d: it must be (B,T,W), the width of a head even, and "
			       "W at least the width of all heads",
			       x->name, rt_shape_format(&x->shape, s, sizeof(s)), a->heads, a->depth);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &x->shape, "rope");
	return 0;
}

static void rope_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_attr attr = c->attr;
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	attr.accumulate = 0;
	attr.scale = -attr.scale;
	k = rt_ad_call(ad, RT_OP_ROPE, &attr);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void rope_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]), half = c->attr.depth / 2;

	for (int64_t i = 0; i < rows * cols; i++) {
		int64_t row = i / cols, t = c->in[1] ? (int64_t)in[1][row] : row % c->in[0]->shape.d[1];
		int64_t j = i % cols, pair = j % c->attr.depth % half;
		double angle = (double)c->attr.scale * (double)t * pow((double)c->attr.base, -2.0 * (double)pair / c->attr.depth);
		bool second = j % c->attr.depth >= half;

		if (j >= (int64_t)c->attr.heads * c->attr.depth)
			out[0][i] = in[0][i];
		else if (second)
			out[0][i] = in[0][i] * cos(angle) + in[0][i - half] * sin(angle);
		else
			out[0][i] = in[0][i] * cos(angle) - in[0][i + half] * sin(angle);
	}
}

static int rope_at_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	const struct rt_node *x = c->in[0], *positions = c->in[1];
	int r = rope_shape(ir, c, err);

	if (r)
		return r;
	if (positions->dtype != RT_I32 || positions->shape.n != 2 || positions->shape.d[0] != x->shape.d[0] ||
	    positions->shape.d[1] != x->shape.d[1])
		return rt_mismatch(c, x, positions, "the positions must be i32 (B,T)", err);
	return 0;
}

const struct rt_op rt_op_rope_at = {
	.id = RT_OP_ROPE_AT,
	.name = "rope_at",
	.inplace = RT_INPLACE(0, 0),
	.shape = rope_at_shape,
	.reference = rope_reference,
};

const struct rt_op rt_op_rope = {
	.id = RT_OP_ROPE,
	.name = "rope",
	.accumulates = 1,
	.inplace = RT_INPLACE(0, 0),
	.shape = rope_shape,
	.gradient = rope_gradient,
	.reference = rope_reference,
};
