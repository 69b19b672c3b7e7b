/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold: merges a batchnorm into the weight (O,…) and bias (O) of the product before it. w' = w s, b' = beta + (b -
 * mean) s with s = gain / sqrt(var + eps) per output. Emitted by pass/infer.c.
 * in: w, b or NULL, gain, beta, running mean, running var. out: w', b'
 */
#include "runtime/graph/ops.h"

const struct rt_op rt_op_fold = {
	.id = RT_OP_FOLD,
	.name = "fold",
	.f32_in = 63,
};
