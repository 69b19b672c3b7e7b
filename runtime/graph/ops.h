/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_OPS_H
#define RT_OPS_H
#include "runtime/graph/ir.h"

extern const struct rt_op rt_op_linear, rt_op_linear_bwd_x, rt_op_linear_bwd_w, rt_op_embedding, rt_op_embedding_bwd,
	rt_op_layernorm, rt_op_add_layernorm, rt_op_layernorm_bwd, rt_op_attention, rt_op_attention_bwd, rt_op_act,
	rt_op_act_bwd, rt_op_add, rt_op_cross_entropy, rt_op_linear_cross_entropy, rt_op_dot, rt_op_cast, rt_op_cast8,
	rt_op_scales8, rt_op_scale, rt_op_sum_up, rt_op_grad_norm, rt_op_sgd, rt_op_adamw, rt_op_adamw8,
	rt_op_bucket_start, rt_op_bucket_wait, rt_op_ranks_meet, rt_op_conv, rt_op_conv_bwd_x, rt_op_conv_bwd_w,
	rt_op_batchnorm, rt_op_batchnorm_bwd, rt_op_max_pool, rt_op_max_pool_bwd, rt_op_avg_pool, rt_op_avg_pool_bwd,
	rt_op_pad, rt_op_pad_bwd, rt_op_reshape, rt_op_reduce, rt_op_reduce_bwd, rt_op_softmax, rt_op_softmax_bwd,
	rt_op_rmsnorm, rt_op_rmsnorm_bwd, rt_op_mul, rt_op_affine, rt_op_dropout, rt_op_matmul, rt_op_user,
	rt_op_user_bwd, rt_op_fold, rt_op_pixels;

#define RT_INPLACE(o, i)	(UINT64_C(1) << (8 * (o) + (i)))
#endif
