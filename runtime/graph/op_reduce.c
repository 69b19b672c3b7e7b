/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce: y = sum, mean or maximum of x over one dimension; x is (outer, n, inner), y is (outer, inner).
 * softmax: y = e^x / sum e^x over the last dimension.
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"
#include "runtime/graph/reduce.h"

struct rt_extents rt_reduce_extents(const struct rt_node *x, const struct rt_node *y, const struct rt_attr *a)
{
	struct rt_extents e = { .outer = 1, .inner = 1 };

	if (a->axis < 0) {
		e.inner = rt_shape_elements(&y->shape);
		e.n = rt_shape_elements(&x->shape) / e.inner;
		return e;
	}
	for (int i = 0; i < x->shape.n; i++)
		*(i < a->axis ? &e.outer : i > a->axis ? &e.inner : &e.n) *= i == a->axis ? 1 : x->shape.d[i];
	e.n = x->shape.d[a->axis];
	return e;
}

static int reduce_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	static const char *const names[] = { [RT_SUM] = "sum", [RT_MEAN] = "mean", [RT_MAX] = "max" };
	struct rt_node *x = c->in[0];
	struct rt_shape s = { 0 };
	char text[96];
	int r = rt_require_float(c, x, err);

	if (r)
		return r;
	if (c->attr.axis < 0 || c->attr.axis >= x->shape.n)
		return gt_fail(err, EINVAL, "reduce of %s %s over dimension %d: it has %d dimensions, counted from 0", x->name,
			       rt_shape_format(&x->shape, text, sizeof(text)), c->attr.axis, x->shape.n);
	for (int i = 0; i < x->shape.n; i++)
		if (i != c->attr.axis)
			s.d[s.n++] = x->shape.d[i];
	if (!s.n)
		s = RT_SHAPE(1);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, names[c->attr.reduction]);
	return 0;
}

static void reduce_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, RT_OP_REDUCE_BWD, &c->attr);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->attr.reduction == RT_MAX ? c->in[0] : NULL;
	k->in[2] = c->attr.reduction == RT_MAX ? c->out[0] : NULL;
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void reduce_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	struct rt_extents e = rt_reduce_extents(c->in[0], c->out[0], &c->attr);

	for (int64_t o = 0; o < e.outer; o++)
		for (int64_t i = 0; i < e.inner; i++) {
			double sum = 0, max = -INFINITY;

			for (int64_t k = 0; k < e.n; k++) {
				double v = in[0][(o * e.n + k) * e.inner + i];

				sum += v;
				max = fmax(max, v);
			}
			out[0][o * e.inner + i] = c->attr.reduction == RT_MAX  ? max :
						  c->attr.reduction == RT_MEAN ? sum / (double)e.n :
										 sum;
		}
}

const struct rt_op rt_op_reduce = {
	.id = RT_OP_REDUCE,
	.name = "reduce",
	.accumulates = 1,
	.shape = reduce_shape,
	.gradient = reduce_gradient,
	.reference = reduce_reference,
};
/* in: dy; for a maximum also x, y. out: dx */
const struct rt_op rt_op_reduce_bwd = {
	.id = RT_OP_REDUCE_BWD,
	.name = "reduce_bwd",
	.accumulates = 1,
};

static int softmax_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	int r = rt_require_float(c, c->in[0], err);

	if (r)
		return r;
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &c->in[0]->shape, "softmax");
	return 0;
}

static void softmax_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, RT_OP_SOFTMAX_BWD, NULL);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->out[0];
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void softmax_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);

	for (int64_t r = 0; r < rows; r++) {
		const double *x = in[0] + r * cols;
		double max = -INFINITY, sum = 0;

		for (int64_t j = 0; j < cols; j++)
			max = fmax(max, x[j]);
		for (int64_t j = 0; j < cols; j++)
			sum += exp(x[j] - max);
		for (int64_t j = 0; j < cols; j++)
			out[0][r * cols + j] = exp(x[j] - max) / sum;
	}
}

const struct rt_op rt_op_softmax = {
	.id = RT_OP_SOFTMAX,
	.name = "softmax",
	.inplace = RT_INPLACE(0, 0),
	.shape = softmax_shape,
	.gradient = softmax_gradient,
	.reference = softmax_reference,
};
/* in: dy, y. out: dx = y (dy - sum(dy y)) */
const struct rt_op rt_op_softmax_bwd = {
	.id = RT_OP_SOFTMAX_BWD,
	.name = "softmax_bwd",
	.inplace = RT_INPLACE(0, 0),
};
