/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user: an op defined by the program that links the library (struct rt_user_op). in: defined by the op. out: y
 * user_bwd: in: dy, y, the inputs. out: their gradients
 */
#include <errno.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int user_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	const struct rt_user_op *op = c->attr.user;
	struct rt_shape shapes[RT_USER_INPUTS], y = c->in[0]->shape;
	int r = 0;

	for (int i = 0; i < op->inputs; i++) {
		r = rt_require_float(c, c->in[i], err);
		if (r)
			return r;
		shapes[i] = c->in[i]->shape;
	}
	if (op->shape)
		r = op->shape(shapes, &y, c->attr.arg, err);
	if (r)
		return r;
	for (int i = 0; i < GT_MAX(y.n, 1); i++)
		if (y.n < 1 || y.n > RT_MAX_DIMS || y.d[i] < 1)
			return gt_fail(err, EINVAL, "%s of %s: its result has no valid shape", op->name, c->in[0]->name);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &y, op->name);
	return 0;
}

static void user_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	const struct rt_user_op *op = c->attr.user;
	struct rt_call *k;

	if (!op->backward) /* no gradient is needed then: pass/autodiff.c */
		return;
	k = rt_ad_call(ad, RT_OP_USER_BWD, &(struct rt_attr){ .user = op, .arg = c->attr.arg });
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->out[0];
	for (int i = 0; i < op->inputs; i++) {
		k->in[2 + i] = c->in[i];
		rt_ad_into(ad, k, i, c->in[i]);
	}
}

static void user_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	struct rt_shape shapes[RT_USER_INPUTS + 1];

	for (int i = 0; i < c->attr.user->inputs; i++)
		shapes[i] = c->in[i]->shape;
	shapes[c->attr.user->inputs] = c->out[0]->shape;
	c->attr.user->reference(in, out[0], shapes, c->attr.arg);
}

const struct rt_op rt_op_user = {
	.id = RT_OP_USER,
	.name = "user",
	.f32_in = 15,
	.f32_out = 1,
	.shape = user_shape,
	.gradient = user_gradient,
	.reference = user_reference,
};
const struct rt_op rt_op_user_bwd = {
	.id = RT_OP_USER_BWD,
	.name = "user_bwd",
	.f32_in = 63,
	.f32_out = 15,
};
