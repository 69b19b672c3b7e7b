/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/graph/ops.h"

#define ENTRY(ID, name, kernels) [RT_OP_##ID] = &rt_op_##name,
const struct rt_op *const rt_ops[RT_N_OPS] = { RT_OPS(ENTRY) };
