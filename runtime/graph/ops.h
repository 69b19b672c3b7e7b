/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_OPS_H
#define RT_OPS_H
#include "runtime/graph/ir.h"

#define RT_OP_DECLARATION(ID, name, kernels) extern const struct rt_op rt_op_##name;
RT_OPS(RT_OP_DECLARATION)
#undef RT_OP_DECLARATION

#define RT_INPLACE(o, i)	(UINT64_C(1) << (8 * (o) + (i)))
#endif
