/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_OPS_H
#define RT_OPS_H
#include "runtime/graph/ir.h"

extern const struct rt_op rt_op_linear, rt_op_linear_bwd_x, rt_op_linear_bwd_w, rt_op_embedding, rt_op_embedding_bwd,
	rt_op_layernorm, rt_op_add_layernorm, rt_op_layernorm_bwd, rt_op_attention, rt_op_attention_bwd, rt_op_act,
	rt_op_act_bwd, rt_op_add, rt_op_cross_entropy, rt_op_linear_cross_entropy, rt_op_dot, rt_op_cast, rt_op_scale, rt_op_sum_up,
	rt_op_grad_norm, rt_op_sgd, rt_op_adamw, rt_op_adamw8;

#define RT_INPLACE(o, i)	(UINT64_C(1) << (8 * (o) + (i)))
#endif
