/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roundings to INT8 of quantisation-aware training, emitted by pass/qat.c. The gradient passes through (straight-through).
 * round_activation: y = scale (q - zero), with the range of each of attr.rows parts of x. q in 0..255.
 * round_weight: y = scale v, with the largest magnitude of each of attr.rows parts of x. v in -127..127.
 */
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static void straight_through(struct rt_ad *ad, const struct rt_call *c)
{
	if (rt_ad_requires_grad(ad, c->in[0]))
		rt_ad_alias(ad, c->in[0], rt_ad_get(ad, c->out[0]));
}

const struct rt_op rt_op_round_activation = {
	.id = RT_OP_ROUND_ACTIVATION,
	.name = "round_activation",
	.gradient = straight_through,
};
const struct rt_op rt_op_round_weight = {
	.id = RT_OP_ROUND_WEIGHT,
	.name = "round_weight",
	.gradient = straight_through,
};
