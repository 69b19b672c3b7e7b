/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_OP_LIST_H
#define RT_OP_LIST_H
/*
 * All ops: X(ID, name, kernels). Each has a struct rt_op rt_op_NAME in graph/. `kernels` is BOTH (struct rt_cpu_kernel
 * rt_cpu_NAME and struct rt_cuda_kernel rt_cuda_NAME), CPU or CUDA (one of them), or RANKS: none, the executor works with
 * the other ranks.
 */
#define RT_OPS(X) \
	X(LINEAR, linear, BOTH) \
	X(LINEAR_BWD_X, linear_bwd_x, BOTH) \
	X(LINEAR_BWD_W, linear_bwd_w, BOTH) \
	X(EMBEDDING, embedding, BOTH) \
	X(EMBEDDING_BWD, embedding_bwd, BOTH) \
	X(LAYERNORM, layernorm, BOTH) \
	X(ADD_LAYERNORM, add_layernorm, BOTH) \
	X(LAYERNORM_BWD, layernorm_bwd, BOTH) \
	X(ATTENTION, attention, BOTH) \
	X(ATTENTION_BWD, attention_bwd, BOTH) \
	X(ATTENTION_CACHED, attention_cached, CPU) \
	X(ACT, act, BOTH) \
	X(ACT_BWD, act_bwd, BOTH) \
	X(ADD, add, BOTH) \
	X(CONV, conv, BOTH) \
	X(CONV_BWD_X, conv_bwd_x, BOTH) \
	X(CONV_BWD_W, conv_bwd_w, BOTH) \
	X(BATCHNORM, batchnorm, BOTH) \
	X(BATCHNORM_BWD, batchnorm_bwd, BOTH) \
	X(MAX_POOL, max_pool, BOTH) \
	X(MAX_POOL_BWD, max_pool_bwd, BOTH) \
	X(AVG_POOL, avg_pool, BOTH) \
	X(AVG_POOL_BWD, avg_pool_bwd, BOTH) \
	X(PAD, pad, BOTH) \
	X(PAD_BWD, pad_bwd, BOTH) \
	X(RESHAPE, reshape, BOTH) \
	X(REDUCE, reduce, BOTH) \
	X(REDUCE_BWD, reduce_bwd, BOTH) \
	X(SOFTMAX, softmax, BOTH) \
	X(SOFTMAX_BWD, softmax_bwd, BOTH) \
	X(ROPE, rope, BOTH) \
	X(ROPE_AT, rope_at, CPU) \
	X(SELECT_ROW, select_row, CPU) \
	X(SWIGLU, swiglu, BOTH) \
	X(SWIGLU_BWD, swiglu_bwd, BOTH) \
	X(RMSNORM, rmsnorm, BOTH) \
	X(RMSNORM_BWD, rmsnorm_bwd, BOTH) \
	X(MUL, mul, BOTH) \
	X(AFFINE, affine, BOTH) \
	X(DROPOUT, dropout, BOTH) \
	X(MATMUL, matmul, BOTH) \
	X(USER, user, BOTH) \
	X(USER_BWD, user_bwd, BOTH) \
	X(FOLD, fold, BOTH) \
	X(PIXELS, pixels, BOTH) \
	X(CROSS_ENTROPY, cross_entropy, BOTH) \
	X(LINEAR_CROSS_ENTROPY, linear_cross_entropy, BOTH) \
	X(DOT, dot, BOTH) \
	X(CAST, cast, BOTH) \
	X(CAST8, cast8, CUDA) \
	X(SCALES8, scales8, CUDA) \
	X(QUANTIZE_WEIGHT, quantize_weight, CPU) \
	X(LINEAR_INT8, linear_int8, CPU) \
	X(CONV_INT8, conv_int8, CPU) \
	X(OBSERVE, observe, CPU) \
	X(ROUND_ACTIVATION, round_activation, CPU) \
	X(ROUND_WEIGHT, round_weight, CPU) \
	X(SCALE, scale, BOTH) \
	X(SUM_UP, sum_up, BOTH) \
	X(GRAD_NORM, grad_norm, BOTH) \
	X(SGD, sgd, BOTH) \
	X(ADAMW, adamw, BOTH) \
	X(ADAMW8, adamw8, BOTH) \
	X(MASK, mask, CPU) \
	X(SOFTMAX_PART, softmax_part, BOTH) \
	X(CROSS_ENTROPY_PARTS, cross_entropy_parts, BOTH) \
	X(REPLICATE, replicate, RANKS) \
	X(ALL_REDUCE, all_reduce, RANKS) \
	X(ALL_GATHER, all_gather, RANKS) \
	X(REDUCE_SCATTER, reduce_scatter, RANKS) \
	X(OWN_ROWS, own_rows, BOTH) \
	X(SHARD_SUM, shard_sum, CPU) \
	X(SHARD_GATHER, shard_gather, CPU) \
	X(BUCKET_START, bucket_start, RANKS) \
	X(BUCKET_WAIT, bucket_wait, RANKS) \
	X(BUCKET_DONE, bucket_done, RANKS) \
	X(BUCKET_FREE, bucket_free, RANKS) \
	X(RANKS_MEET, ranks_meet, RANKS) \
	X(SEND, send, RANKS) \
	X(RECEIVE, receive, RANKS) \
	X(STAGE_SUM, stage_sum, RANKS) \
	X(STAGES_MEET, stages_meet, RANKS)
#endif
