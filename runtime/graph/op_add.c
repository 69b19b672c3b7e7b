/* SPDX-License-Identifier: Apache-2.0 */
/* y = a + b, same shapes. */
#include "runtime/graph/ops.h"
#include "runtime/pass/autodiff.h"

static int add_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	int r = rt_want_float(c, c->in[0], err);

	if (!r)
		r = rt_want_float(c, c->in[1], err);
	if (r)
		return r;
	if (!rt_same_shape(c->in[0], c->in[1]))
		return rt_mismatch(c, c->in[0], c->in[1], "the shapes must be the same", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &c->in[0]->shape, "add");
	return 0;
}

static void add_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_node *dy = rt_ad_get(ad, c->out[0]);

	rt_ad_share(ad, c->in[0], dy);
	rt_ad_share(ad, c->in[1], dy);
}

static void add_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		out[0][i] = in[0][i] + in[1][i];
}

const struct rt_op rt_op_add = {
	.id = RT_OP_ADD,
	.name = "add",
	.inplace = RT_INPLACE(0, 0) | RT_INPLACE(0, 1),
	.shape = add_shape,
	.gradient = add_gradient,
	.reference = add_reference,
};
