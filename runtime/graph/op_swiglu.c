/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swiglu: y (…,F) = silu(a) b with a and b side by side in x (…,2F); silu(a) = a / (1 + e^-a) (Shazeer, GLU Variants
 * Improve Transformer, 2020). in: x. out: y
 */
#include <errno.h>
#include "runtime/graph/act.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int swiglu_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0];
	struct rt_shape s = x->shape;
	char text[96];
	int r = rt_require_float(c, x, err);

	if (r)
		return r;
	if (rt_cols(x) % 2)
		return gt_fail(err, EINVAL, "swiglu of %s %s: the last dimension must be even", x->name,
			       rt_shape_format(&x->shape, text, sizeof(text)));
	s.d[s.n - 1] /= 2;
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, "swiglu");
	return 0;
}

static void swiglu_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, RT_OP_SWIGLU_BWD, NULL);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->in[0];
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void swiglu_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->out[0]);

	for (int64_t r = 0; r < rows; r++)
		for (int64_t j = 0; j < cols; j++) {
			const double *x = in[0] + 2 * r * cols;

			out[0][r * cols + j] = rt_act_reference(RT_ACT_SILU, x[j]) * x[cols + j];
		}
}

const struct rt_op rt_op_swiglu = {
	.id = RT_OP_SWIGLU,
	.name = "swiglu",
	.shape = swiglu_shape,
	.gradient = swiglu_gradient,
	.reference = swiglu_reference,
};
/* in: dy (…,F), x (…,2F). out: dx (…,2F) */
const struct rt_op rt_op_swiglu_bwd = {
	.id = RT_OP_SWIGLU_BWD,
	.name = "swiglu_bwd",
};
