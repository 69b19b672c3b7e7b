/* SPDX-License-Identifier: Apache-2.0 */
/* cast: y = x rounded to the type of y. Emitted by pass/precision.c. in: x. out: y */
#include "runtime/graph/ops.h"

const struct rt_op rt_op_cast = {
	.id = RT_OP_CAST,
	.name = "cast",
};
