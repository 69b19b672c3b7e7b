/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_MEMPLAN_H
#define RT_MEMPLAN_H
#include "runtime/graph/ir.h"

/* Returns whether two placed tensors share bytes while both are live. After planning this is true only for tensors that
 * were merged. */
bool rt_memplan_overlap(const struct rt_node *a, const struct rt_node *b);
#endif
