/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all ops; each is defined in its op_*.c. */
#include "runtime/graph/ops.h"

const struct rt_op *const rt_ops[RT_N_OPS] = {
	[RT_OP_LINEAR] = &rt_op_linear,
	[RT_OP_LINEAR_BWD_X] = &rt_op_linear_bwd_x,
	[RT_OP_LINEAR_BWD_W] = &rt_op_linear_bwd_w,
	[RT_OP_EMBEDDING] = &rt_op_embedding,
	[RT_OP_EMBEDDING_BWD] = &rt_op_embedding_bwd,
	[RT_OP_LAYERNORM] = &rt_op_layernorm,
	[RT_OP_ADD_LAYERNORM] = &rt_op_add_layernorm,
	[RT_OP_LAYERNORM_BWD] = &rt_op_layernorm_bwd,
	[RT_OP_ATTENTION] = &rt_op_attention,
	[RT_OP_ATTENTION_BWD] = &rt_op_attention_bwd,
	[RT_OP_ACT] = &rt_op_act,
	[RT_OP_ACT_BWD] = &rt_op_act_bwd,
	[RT_OP_ADD] = &rt_op_add,
	[RT_OP_CROSS_ENTROPY] = &rt_op_cross_entropy,
	[RT_OP_LINEAR_CROSS_ENTROPY] = &rt_op_linear_cross_entropy,
	[RT_OP_DOT] = &rt_op_dot,
	[RT_OP_CAST] = &rt_op_cast,
	[RT_OP_SCALE] = &rt_op_scale,
	[RT_OP_SUM_UP] = &rt_op_sum_up,
	[RT_OP_GRAD_NORM] = &rt_op_grad_norm,
	[RT_OP_SGD] = &rt_op_sgd,
	[RT_OP_ADAMW] = &rt_op_adamw,
	[RT_OP_ADAMW8] = &rt_op_adamw8,
};
