/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_UNITS_H
#define RT_UNITS_H
/* Layers of a graph that can lose units: heads, neurons or channels. See rt_graph_units(). */
#include "runtime/graph/ir.h"

#define RT_SLICE_BLOCKS	3
/* The elements of a tensor that belong to units: unit u has len[b] indices of `axis` from start[b] + u len[b] on. */
struct rt_slice {
	struct rt_node *node;
	int axis, blocks;
	int64_t start[RT_SLICE_BLOCKS], len[RT_SLICE_BLOCKS];
};
struct rt_unit_group {
	enum rt_unit_kind kind;
	int64_t units, size; /* size: heads per unit; 1 for other kinds */
	struct rt_call *layer, *attention, *rope; /* the last two may be NULL */
	struct rt_slice *slice; /* slices of parameters, buffers, caches and results */
	int n_slices;
};
struct rt_unit_groups {
	struct rt_unit_group *group;
	int n;
};
void rt_find_unit_groups(const struct rt_graph *g, struct rt_unit_groups *ret);
void rt_unit_groups_clear(struct rt_unit_groups *groups);
#define rt_auto_unit_groups __attribute__((cleanup(rt_unit_groups_clear))) struct rt_unit_groups
/* Returns the group whose units are computed by the weight of that name, or NULL. */
const struct rt_unit_group *rt_find_unit_group(const struct rt_unit_groups *groups, const char *weight);
/* Returns the number of units that the layer of that weight had when the graph was built. */
int64_t rt_original_units(const struct rt_graph *g, const struct rt_unit_group *u);
/* Returns { WEIGHT: [units, original units] } of the layers that lost units as text, or NULL. */
char *rt_graph_pruned_text(const struct rt_graph *g);
#endif
