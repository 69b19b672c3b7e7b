/* SPDX-License-Identifier: Apache-2.0 */
/* pixels: y (f32) = scale v + offset, v (u8). Emitted by pass/pixels.c. in: v. out: y */
#include "runtime/graph/ops.h"

const struct rt_op rt_op_pixels = {
	.id = RT_OP_PIXELS,
	.name = "pixels",
};
