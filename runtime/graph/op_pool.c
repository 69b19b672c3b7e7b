/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling of images: y (N,OH,OW,C) from windows of x (N,H,W,C). max_pool saves the position of the maximum in its
 * window (u8).
 * pad: adds zeros before and after the last dimension.
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

#define WINDOW_MAX	15 /* positions of a window fit in 8 bits */

static int pool_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	const struct rt_attr *a = &c->attr;
	struct rt_node *x = c->in[0];
	struct rt_shape s = x->shape;
	char text[96];
	int r = rt_require_float(c, x, err);

	if (r)
		return r;
	if (x->shape.n != 4)
		return gt_fail(err, EINVAL, "%s of %s %s: images are (N,H,W,C)", c->op->name, x->name,
			       rt_shape_format(&x->shape, text, sizeof(text)));
	if (a->window < 1 || a->window > WINDOW_MAX || a->stride < 1 || a->pad < 0 || 2 * a->pad > a->window)
		return gt_fail(err, EINVAL, "%s of %s: window %d (1 to %d), stride %d (from 1), pad %d (up to half the window)",
			       c->op->name, x->name, a->window, WINDOW_MAX, a->stride, a->pad);
	for (int i = 1; i < 3; i++) {
		if (s.d[i] + 2 * a->pad < a->window)
			return gt_fail(err, EINVAL, "%s of %s %s: the window of %d is larger than the padded image", c->op->name,
				       x->name, rt_shape_format(&x->shape, text, sizeof(text)), a->window);
		s.d[i] = (s.d[i] + 2 * a->pad - a->window) / a->stride + 1;
	}
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, c->op->name);
	if (c->op->id == RT_OP_MAX_POOL)
		c->out[1] = rt_ir_node(ir, RT_ROLE_VALUE, RT_U8, &s, "max_pool.place");
	return 0;
}

static void pool_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	bool max = c->op->id == RT_OP_MAX_POOL;
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, max ? RT_OP_MAX_POOL_BWD : RT_OP_AVG_POOL_BWD, &c->attr);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->out[1];
	rt_ad_into(ad, k, 0, c->in[0]);
}

/* Returns the maximum or average of one window. *ret_place: first position of the maximum. */
static double window(const struct rt_call *c, const double *x, int64_t row, int64_t col, int *ret_place)
{
	const int64_t *xs = c->in[0]->shape.d;
	const struct rt_attr *a = &c->attr;
	double max = -INFINITY, sum = 0;

	for (int k = 0; k < a->window * a->window; k++) {
		int64_t h = row * a->stride - a->pad + k / a->window, w = col * a->stride - a->pad + k % a->window;
		double v;

		if (h < 0 || h >= xs[1] || w < 0 || w >= xs[2])
			continue;
		v = x[(h * xs[2] + w) * xs[3]];
		sum += v;
		if (v > max) {
			max = v;
			*ret_place = k;
		}
	}
	return c->op->id == RT_OP_MAX_POOL ? max : sum / (a->window * a->window);
}

static void pool_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	const int64_t *ys = c->out[0]->shape.d, *xs = c->in[0]->shape.d;

	for (int64_t i = 0, n = rt_shape_elements(&c->out[0]->shape); i < n; i++) {
		int64_t ch = i % ys[3], col = i / ys[3] % ys[2], row = i / ys[3] / ys[2] % ys[1], image = i / ys[3] / ys[2] / ys[1];
		int place = 0;

		out[0][i] = window(c, in[0] + image * xs[1] * xs[2] * xs[3] + ch, row, col, &place);
		if (c->out[1])
			out[1][i] = place;
	}
}

const struct rt_op rt_op_max_pool = {
	.id = RT_OP_MAX_POOL,
	.name = "max_pool",
	.shape = pool_shape,
	.gradient = pool_gradient,
	.reference = pool_reference,
};
/* in: dy, place. out: dx */
const struct rt_op rt_op_max_pool_bwd = {
	.id = RT_OP_MAX_POOL_BWD,
	.name = "max_pool_bwd",
	.accumulates = 1,
};
const struct rt_op rt_op_avg_pool = {
	.id = RT_OP_AVG_POOL,
	.name = "avg_pool",
	.shape = pool_shape,
	.gradient = pool_gradient,
	.reference = pool_reference,
};
const struct rt_op rt_op_avg_pool_bwd = {
	.id = RT_OP_AVG_POOL_BWD,
	.name = "avg_pool_bwd",
	.accumulates = 1,
};

/* ---- pad: attr.window zeros before, attr.stride zeros after ---- */
static int pad_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_shape s = c->in[0]->shape;
	int r = rt_require_float(c, c->in[0], err);

	if (r)
		return r;
	if (c->attr.window < 0 || c->attr.stride < 0)
		return gt_fail(err, EINVAL, "pad of %s: %d zeros before and %d after", c->in[0]->name, c->attr.window,
			       c->attr.stride);
	s.d[s.n - 1] += c->attr.window + c->attr.stride;
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, "pad");
	return 0;
}

static void pad_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, RT_OP_PAD_BWD, &c->attr);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void pad_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), from = rt_cols(c->in[0]), to = rt_cols(c->out[0]);

	for (int64_t r = 0; r < rows; r++)
		for (int64_t j = 0; j < from; j++)
			out[0][r * to + c->attr.window + j] = in[0][r * from + j];
}

const struct rt_op rt_op_pad = {
	.id = RT_OP_PAD,
	.name = "pad",
	.shape = pad_shape,
	.gradient = pad_gradient,
	.reference = pad_reference,
};
const struct rt_op rt_op_pad_bwd = {
	.id = RT_OP_PAD_BWD,
	.name = "pad_bwd",
	.accumulates = 1,
};
