/* SPDX-License-Identifier: Apache-2.0 */
/* dot: loss (1) = sum of a * b. The gradients are the inputs, times the loss scale. */
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int dot_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	int r = rt_require_floats(c, 0, 2, err);

	if (r)
		return r;
	if (!rt_same_shape(c->in[0], c->in[1]))
		return rt_mismatch(c, c->in[0], c->in[1], "the shapes must be equal", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(1), "dot");
	return 0;
}

static void dot_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	for (int i = 0; i < 2; i++) {
		struct rt_call *k;

		if (!rt_ad_requires_grad(ad, c->in[i]))
			continue;
		k = rt_ad_call(ad, RT_OP_SCALE, NULL);
		k->in[0] = c->in[1 - i];
		rt_ad_into(ad, k, 0, c->in[i]);
	}
}

static void dot_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	double s = 0;

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		s += in[0][i] * in[1][i];
	out[0][0] = s;
}

const struct rt_op rt_op_dot = {
	.id = RT_OP_DOT,
	.name = "dot",
	.f32_out = 1,
	.loss = true,
	.shape = dot_shape,
	.gradient = dot_gradient,
	.reference = dot_reference,
};
