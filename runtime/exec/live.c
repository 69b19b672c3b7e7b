/* SPDX-License-Identifier: Apache-2.0 */
/* Live memory of a plan, call by call. */
#include "runtime/exec/program.h"

/* Returns whether n has memory that does not live during the whole program, or is in the window of the ranks. */
static bool is_counted(const struct rt_plan *p, const struct rt_node *n)
{
	return n->storage == n && n->first >= 0 && (n->shared || n->offset >= p->pinned_bytes);
}

uint64_t rt_plan_live_bytes(const struct rt_plan *p, int call)
{
	uint64_t bytes = p->pinned_bytes;

	for (int k = 0; k < p->ir.n_nodes; k++) {
		const struct rt_node *n = p->ir.nodes[k];

		if (is_counted(p, n) && n->first <= call && call <= n->last)
			bytes += n->bytes;
	}
	return bytes;
}

uint64_t rt_plan_allocated_bytes(const struct rt_plan *p, int call)
{
	uint64_t bytes = 0;

	for (int k = 0; k < p->ir.n_nodes; k++) {
		const struct rt_node *n = p->ir.nodes[k];

		if (is_counted(p, n) && !n->shared && n->first == call)
			bytes += n->bytes;
	}
	return bytes;
}

json_t *rt_plan_memory(const struct rt_plan *p)
{
	uint64_t planned = p->arena_bytes + p->window_bytes, live = 0;

	for (int i = 0; i < p->ir.n_calls; i++)
		live = GT_MAX(live, rt_plan_live_bytes(p, i));
	return json_pack("{s:I, s:I, s:I, s:o}", "planned_bytes", (json_int_t)planned, "permanent_bytes",
			 (json_int_t)p->pinned_bytes, "live_bytes", (json_int_t)live, "fragmentation",
			 gt_json_real(planned ? 1 - (double)live / (double)planned : 0));
}
