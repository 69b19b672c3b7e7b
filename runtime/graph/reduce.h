/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_REDUCE_H
#define RT_REDUCE_H
#include "runtime/graph/ir.h"

/* x (outer, n, inner) reduced to y (outer, inner). */
struct rt_extents {
	int64_t outer, n, inner;
};
struct rt_extents rt_reduce_extents(const struct rt_node *x, const struct rt_node *y, const struct rt_attr *a);
#endif
