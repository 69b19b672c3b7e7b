/* SPDX-License-Identifier: Apache-2.0 */
/* act: y = act(x), any shape. */
#include <math.h>
#include "runtime/graph/act.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

double rt_act_reference(enum rt_act act, double x)
{
	const double k = sqrt(2 / M_PI);

	switch (act) {
	case RT_ACT_GELU:
		return 0.5 * x * (1 + tanh(k * (x + 0.044715 * x * x * x)));
	case RT_ACT_RELU:
		return x > 0 ? x : 0;
	case RT_ACT_GELU_ERF:
		return 0.5 * x * (1 + erf(x / sqrt(2)));
	case RT_ACT_SILU:
		return x / (1 + exp(-x));
	case RT_ACT_TANH:
		return tanh(x);
	case RT_ACT_SIGMOID:
		return 1 / (1 + exp(-x));
	case RT_ACT_NONE:
		break;
	}
	return x;
}

static int act_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	static const char *const names[] = {
		[RT_ACT_NONE] = "identity", [RT_ACT_GELU] = "gelu", [RT_ACT_RELU] = "relu", [RT_ACT_GELU_ERF] = "gelu_erf",
		[RT_ACT_SILU] = "silu", [RT_ACT_TANH] = "tanh", [RT_ACT_SIGMOID] = "sigmoid",
	};
	int r = rt_require_float(c, c->in[0], err);

	if (r)
		return r;
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &c->in[0]->shape, names[c->attr.act]);
	return 0;
}

/* dx = dy act'(x). Reads y instead of x where possible, so that x may be overwritten. */
static void act_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, RT_OP_ACT_BWD, &(struct rt_attr){ .act = c->attr.act });
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = rt_act_reads_input(c->attr.act) ? c->in[0] : c->out[0];
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void act_op_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		out[0][i] = rt_act_reference(c->attr.act, in[0][i]);
}

const struct rt_op rt_op_act = {
	.id = RT_OP_ACT,
	.name = "activation",
	.inplace = RT_INPLACE(0, 0),
	.shape = act_shape,
	.gradient = act_gradient,
	.reference = act_op_reference,
};
/* in: dy, and x or y (rt_act_reads_input()). out: dx */
const struct rt_op rt_op_act_bwd = {
	.id = RT_OP_ACT_BWD,
	.name = "activation_bwd",
	.accumulates = 1,
	.inplace = RT_INPLACE(0, 0),
};
