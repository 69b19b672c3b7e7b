/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv: y (N,OH,OW,O) = x (N,H,W,C) convolved with w (O,C/groups,KH,KW), + b (O). Zero padding on all four sides, equal
 * stride in both directions. Channels are the innermost dimension of images. The weight layout is that of PyTorch.
 * in: x, w, b or NULL. out: y
 */
#include <errno.h>
#include "runtime/graph/conv.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int64_t out_length(int64_t in, int64_t kernel, const struct rt_attr *a)
{
	return in + 2 * a->pad < kernel ? 0 : (in + 2 * a->pad - kernel) / a->stride + 1;
}

static int conv_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0], *w = c->in[1], *b = c->in[2];
	const struct rt_attr *a = &c->attr;
	int64_t oh, ow;
	int r = rt_require_floats(c, 0, 3, err);

	if (r)
		return r;
	if (a->stride < 1 || a->pad < 0 || a->groups < 1)
		return gt_fail(err, EINVAL, "conv of %s: stride %d, pad %d, groups %d: stride and groups start at 1, pad at 0",
			       x->name, a->stride, a->pad, a->groups);
	if (x->shape.n != 4 || w->shape.n != 4)
		return rt_mismatch(c, x, w, "images are (N,H,W,C), weights (O,C/groups,KH,KW)", err);
	if (w->shape.d[1] * a->groups != x->shape.d[3] || w->shape.d[0] % a->groups)
		return rt_mismatch(c, x, w, "the weight must be (O,C/groups,KH,KW), O a multiple of groups", err);
	oh = out_length(x->shape.d[1], w->shape.d[2], a);
	ow = out_length(x->shape.d[2], w->shape.d[3], a);
	if (oh < 1 || ow < 1)
		return rt_mismatch(c, x, w, "the kernel is larger than the padded image", err);
	if (b && (b->shape.n != 1 || b->shape.d[0] != w->shape.d[0]))
		return rt_mismatch(c, w, b, "the bias must have one element per output channel", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(x->shape.d[0], oh, ow, w->shape.d[0]), "conv");
	return 0;
}

/* dx = conv_bwd_x(dy, w); dw, db = conv_bwd_w(dy, x) */
static void conv_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_node *dy = rt_ad_get(ad, c->out[0]);
	struct rt_attr attr = c->attr;
	struct rt_call *k;

	attr.accumulate = 0;
	if (rt_ad_requires_grad(ad, c->in[0])) {
		k = rt_ad_call(ad, RT_OP_CONV_BWD_X, &attr);
		k->in[0] = dy;
		k->in[1] = c->in[1];
		rt_ad_into(ad, k, 0, c->in[0]);
	}
	if (rt_ad_requires_grad(ad, c->in[1]) || rt_ad_requires_grad(ad, c->in[2])) {
		k = rt_ad_call(ad, RT_OP_CONV_BWD_W, &attr);
		k->in[0] = dy;
		k->in[1] = c->in[0];
		k->in[2] = rt_ad_requires_grad(ad, c->in[2]) ? dy : NULL;
		rt_ad_into(ad, k, 0, c->in[1]);
		rt_ad_into(ad, k, 1, c->in[2]);
	}
}

/* Returns one element of the output. */
static double patch(const struct rt_call *c, const double *x, const double *w, int64_t row, int64_t col, int64_t out)
{
	const int64_t *xs = c->in[0]->shape.d, *ws = c->in[1]->shape.d;
	int64_t first = out / (ws[0] / c->attr.groups) * ws[1];
	double sum = 0;

	for (int64_t kh = 0; kh < ws[2]; kh++)
		for (int64_t kw = 0; kw < ws[3]; kw++) {
			int64_t h = row * c->attr.stride - c->attr.pad + kh, v = col * c->attr.stride - c->attr.pad + kw;

			if (h < 0 || h >= xs[1] || v < 0 || v >= xs[2])
				continue;
			for (int64_t i = 0; i < ws[1]; i++)
				sum += x[(h * xs[2] + v) * xs[3] + first + i] * w[((out * ws[1] + i) * ws[2] + kh) * ws[3] + kw];
		}
	return sum;
}

static void conv_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	const int64_t *ys = c->out[0]->shape.d, *xs = c->in[0]->shape.d;

	for (int64_t n = 0; n < ys[0]; n++)
		for (int64_t i = 0; i < ys[1]; i++)
			for (int64_t j = 0; j < ys[2]; j++)
				for (int64_t o = 0; o < ys[3]; o++)
					out[0][((n * ys[1] + i) * ys[2] + j) * ys[3] + o] =
						patch(c, in[0] + n * xs[1] * xs[2] * xs[3], in[1], i, j, o) +
						(c->in[2] ? in[2][o] : 0);
}

enum rt_conv_kind rt_conv_roles(const struct rt_call *c, const struct rt_node **ret_x, const struct rt_node **ret_w,
				const struct rt_node **ret_y)
{
	if (c->op == &rt_op_conv_bwd_x) {
		*ret_x = c->out[0], *ret_w = c->in[1], *ret_y = c->in[0];
		return RT_CONV_BWD_X;
	}
	if (c->op == &rt_op_conv_bwd_w) {
		*ret_x = c->in[1], *ret_w = c->out[0], *ret_y = c->in[0];
		return RT_CONV_BWD_W;
	}
	*ret_x = c->in[0], *ret_w = c->in[1], *ret_y = c->out[0];
	return RT_CONV_FWD;
}

double rt_conv_flops(const struct rt_call *c)
{
	const struct rt_node *x, *w, *y;

	rt_conv_roles(c, &x, &w, &y);
	if (!w)
		return 0;
	if (c->attr.winograd_flops > 0)
		return c->attr.winograd_flops;
	return 2.0 * (double)rt_shape_elements(&y->shape) * (double)(rt_shape_elements(&w->shape) / y->shape.d[3]);
}

const struct rt_op rt_op_conv = {
	.id = RT_OP_CONV,
	.name = "conv",
	.int8 = RT_OP_CONV_INT8,
	.reduced = 3,
	.shape = conv_shape,
	.gradient = conv_gradient,
	.reference = conv_reference,
	.flops = rt_conv_flops,
};
/* in: dy, w. out: dx */
const struct rt_op rt_op_conv_bwd_x = {
	.id = RT_OP_CONV_BWD_X,
	.name = "conv_bwd_x",
	.reduced = 3,
	.flops = rt_conv_flops,
};
/* in: dy, x, dy in f32 for db. out: dw, db */
const struct rt_op rt_op_conv_bwd_w = {
	.id = RT_OP_CONV_BWD_W,
	.name = "conv_bwd_w",
	.f32_out = 3,
	.reduced = 3,
	.accumulates = 2,
	.flops = rt_conv_flops,
};
