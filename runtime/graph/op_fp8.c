/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emitted by pass/fp8.c, for the CUDA device.
 * cast8: y = x rounded to 8 bits with the scale of y, t = y^T. in: x, scales. out: y, t (size of x); either may be absent.
 * scales8: new scales from the recorded absolute maxima. in: scales.
 */
#include "runtime/graph/ops.h"

const struct rt_op rt_op_cast8 = {
	.id = RT_OP_CAST8,
	.name = "cast8",
	.any_in = 2,
	.master_in = 1,
};

const struct rt_op rt_op_scales8 = {
	.id = RT_OP_SCALES8,
	.name = "scales8",
	.any_in = 1,
};
