/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_MEMPLAN_H
#define RT_MEMPLAN_H
#include "runtime/graph/ir.h"

/* Do two placed tensors lie on the same bytes at the same time? Never after the plan, unless one took over the other's. */
bool rt_memplan_overlap(const struct rt_node *a, const struct rt_node *b);
#endif
