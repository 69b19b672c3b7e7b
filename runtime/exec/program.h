/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_EXEC_PROGRAM_H
#define RT_EXEC_PROGRAM_H
/* Planning of a program. */
#include "runtime/backend/backend.h"

/* Nodes of a graph that its program computes. */
struct rt_outputs {
	struct rt_node *const *node;
	int n;
};
/* Plans graph g with the current options of p, without memory. May be repeated. */
int rt_program_plan(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err);
/*
 * Makes the plan fit into memory: chooses the checkpointing for options.fit_bytes, and refuses a plan larger than the
 * machine's memory.
 */
int rt_program_fit(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err);
/* Makes the plans of all shapes; the first is the current one. out: per shape. */
int rt_program_plan_shapes(struct rt_program *p, const struct rt_graph *const *g, const struct rt_outputs *out, int n,
			   struct gt_err *err);
/* Plans the program of rt_compile(), without memory. *ret must not run; rt_program_free() frees it. */
int rt_program_plan_only(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt,
			 const struct rt_backend *backend, struct rt_program **ret, struct gt_err *err);
const struct rt_backend *rt_find_backend(enum rt_device device); /* NULL: not part of this build */
void rt_plan_clear(struct rt_plan *plan);

/* ---- live.c ---- */
/* Returns the bytes of all live tensors during a call. */
uint64_t rt_plan_live_bytes(const struct rt_plan *p, int call);
/*
 * Returns the bytes of the tensors whose live range begins with the call: its outputs and its scratch memory. Excludes
 * those that live during the whole program or reuse the memory of an input.
 */
uint64_t rt_plan_allocated_bytes(const struct rt_plan *p, int call);
/* Describes the memory of a plan: planned bytes, permanent bytes, the largest sum of live bytes, and the fraction of the
 * planned bytes that this sum leaves unused. */
json_t *rt_plan_memory(const struct rt_plan *p);
#endif
