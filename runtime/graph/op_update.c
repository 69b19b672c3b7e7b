/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers' updates, emitted by pass/update.c, one call per parameter, in place.
 * sgd:   in: gradient. out: parameter, momentum or NULL
 * adamw: in: gradient. out: parameter, m, v
 */
#include "runtime/graph/ops.h"

const struct rt_op rt_op_sgd = {
	.id = RT_OP_SGD,
	.name = "sgd",
};
const struct rt_op rt_op_adamw = {
	.id = RT_OP_ADAMW,
	.name = "adamw",
};
