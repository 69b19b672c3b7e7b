/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CROSS_ENTROPY_H
#define RT_CROSS_ENTROPY_H
#include "runtime/graph/ir.h"

/* For a linear_cross_entropy call: rows per slice, and the row stride of the logits in floats. */
int64_t rt_cross_entropy_slice(const struct rt_call *c);
int64_t rt_cross_entropy_stride(const struct rt_call *c);
#endif
