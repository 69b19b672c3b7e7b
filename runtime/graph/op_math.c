/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mul: y = a b. affine: y = scale x + offset. dropout: y = x / (1 - rate), or 0. reshape: y = x in another shape. The
 * gradient of each is the same op on dy.
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int same_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	int r = rt_require_float(c, c->in[0], err);

	if (r)
		return r;
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &c->in[0]->shape, c->op->name);
	return 0;
}

static int mul_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	int r = rt_require_float(c, c->in[1], err);

	if (r)
		return r;
	if (!rt_same_shape(c->in[0], c->in[1]))
		return rt_mismatch(c, c->in[0], c->in[1], "the shapes must be equal", err);
	return same_shape(ir, c, err);
}

static void mul_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	for (int i = 0; i < 2; i++) {
		struct rt_call *k;

		if (!rt_ad_requires_grad(ad, c->in[i]))
			continue;
		k = rt_ad_call(ad, RT_OP_MUL, NULL);
		k->in[0] = rt_ad_get(ad, c->out[0]);
		k->in[1] = c->in[1 - i];
		rt_ad_into(ad, k, 0, c->in[i]);
	}
}

static void mul_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		out[0][i] = in[0][i] * in[1][i];
}

const struct rt_op rt_op_mul = {
	.id = RT_OP_MUL,
	.name = "mul",
	.accumulates = 1,
	.inplace = RT_INPLACE(0, 0) | RT_INPLACE(0, 1),
	.shape = mul_shape,
	.gradient = mul_gradient,
	.reference = mul_reference,
};

/* Applies the op to dy, without its constant term. */
static void linear_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_attr attr = c->attr;
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	attr.offset = 0;
	attr.accumulate = 0;
	k = rt_ad_call(ad, c->op->id, &attr);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void affine_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		out[0][i] = in[0][i] * (double)c->attr.scale + (double)c->attr.offset;
}

const struct rt_op rt_op_affine = {
	.id = RT_OP_AFFINE,
	.name = "affine",
	.accumulates = 1,
	.inplace = RT_INPLACE(0, 0),
	.shape = same_shape,
	.gradient = linear_gradient,
	.reference = affine_reference,
};

static int dropout_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	if (!(c->attr.rate >= 0 && c->attr.rate < 1))
		return gt_fail(err, EINVAL, "dropout of %s: rate %g is not in [0,1)", c->in[0]->name,
			       (double)c->attr.rate);
	return same_shape(ir, c, err);
}

/* The expectation over the dropout masks, because the definition does not include which elements are dropped. */
static void copy_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		out[0][i] = in[0][i];
}

const struct rt_op rt_op_dropout = {
	.id = RT_OP_DROPOUT,
	.name = "dropout",
	.accumulates = 1,
	.inplace = RT_INPLACE(0, 0),
	.shape = dropout_shape,
	.gradient = linear_gradient,
	.reference = copy_reference,
};

static int reshape_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	const struct rt_shape *s = &c->attr.shape;
	char from[96], to[96];
	bool valid = s->n >= 1 && s->n <= RT_MAX_DIMS;
	int r = rt_require_float(c, c->in[0], err);

	if (r)
		return r;
	for (int i = 0; valid && i < s->n; i++)
		valid = s->d[i] >= 1 && s->d[i] <= rt_shape_elements(&c->in[0]->shape);
	if (!valid || rt_shape_elements(s) != rt_shape_elements(&c->in[0]->shape))
		return gt_fail(err, EINVAL, "reshape of %s %s to %s: the number of elements must not change", c->in[0]->name,
			       rt_shape_format(&c->in[0]->shape, from, sizeof(from)),
			       valid ? rt_shape_format(s, to, sizeof(to)) : "no shape");
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, s, "reshape");
	return 0;
}

const struct rt_op rt_op_reshape = {
	.id = RT_OP_RESHAPE,
	.name = "reshape",
	.inplace = RT_INPLACE(0, 0),
	.shape = reshape_shape,
	.gradient = linear_gradient,
	.reference = copy_reference,
};
