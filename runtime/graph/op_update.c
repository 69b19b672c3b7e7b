/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops on gradients and parameters that only passes emit.
 * scale:     y = x times the loss scale. in: x. out: y
 * sum_up:    y = or += x. in: x. out: y
 * grad_norm: adds the sum of squares to the run's sum, and checks that the gradient is finite. in: gradient. out: none
 * The optimizers' updates, one call per parameter, in place:
 * sgd:    in: gradient. out: parameter, momentum or NULL
 * adamw:  in: gradient. out: parameter, m, v
 * adamw8: in: gradient. out: parameter, m and v as codes, and their scales (one per block)
 * mask:   clears the pruned elements of a parameter after its update. in: gradient, not used. out: parameter, mask (1: pruned)
 */
#include "runtime/graph/ops.h"
#include "runtime/math/map8.h"

const struct rt_op rt_op_scale = {
	.id = RT_OP_SCALE,
	.name = "scale",
	.accumulates = 1,
};
const struct rt_op rt_op_sum_up = {
	.id = RT_OP_SUM_UP,
	.name = "sum_up",
	.f32_out = 1,
	.any_in = 1,
	.accumulates = 1,
};

const struct rt_op rt_op_grad_norm = {
	.id = RT_OP_GRAD_NORM,
	.name = "grad_norm",
};
const struct rt_op rt_op_sgd = {
	.id = RT_OP_SGD,
	.name = "sgd",
	.states = { { "momentum", RT_F32 } },
};
const struct rt_op rt_op_adamw = {
	.id = RT_OP_ADAMW,
	.name = "adamw",
	.states = { { "m", RT_F32 }, { "v", RT_F32 } },
};
const struct rt_op rt_op_adamw8 = {
	.id = RT_OP_ADAMW8,
	.name = "adamw8",
	.states = { { "m", RT_U8 }, { "v", RT_U8 }, { "m scale", RT_F32, RT_MAP8_BLOCK },
		    { "v scale", RT_F32, RT_MAP8_BLOCK } },
};
const struct rt_op rt_op_mask = {
	.id = RT_OP_MASK,
	.name = "mask",
};
