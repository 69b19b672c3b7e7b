/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_EXEC_PROGRAM_H
#define RT_EXEC_PROGRAM_H
/* Planning a program. */
#include "runtime/backend/backend.h"

/* Nodes of a graph that its program computes. */
struct rt_outputs {
	struct rt_node *const *node;
	int n;
};
/* From graph to a program without memory, by the options that p has now; may be done again. */
int rt_program_plan(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err);
/* See that the plan fits: choose the checkpointing for options.fit_bytes, and refuse what the machine cannot hold. */
int rt_program_fit(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err);
/* All plans of a program, the first one in use; out: of each shape. */
int rt_program_plan_shapes(struct rt_program *p, const struct rt_graph *const *g, const struct rt_outputs *out, int n,
			   struct gt_err *err);
void rt_plan_clear(struct rt_plan *plan);
#endif
