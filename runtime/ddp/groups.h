/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GROUPS_H
#define RT_GROUPS_H
/*
 * Runs the collectives of a program's calls (graph/op_collective.c) in the groups of its ranks. Each group has a window with
 * two places, used in turn. A rank that writes a place again has completed the next collective, so all ranks have read the
 * place.
 */
#include "runtime/pass/pass.h"
#include "runtime/transport/comm.h"

struct rt_groups;
/* Returns the group of a dimension in the options, or NULL. */
struct rt_comm *rt_groups_comm(const struct rt_options *opt, int dim);
/* Returns the memory that rt_groups_new() would allocate for this plan. */
uint64_t rt_groups_plan_bytes(const struct rt_options *opt, const struct rt_plan *plan);
/* Fails in all ranks of the dimension's group unless they have the same options and collectives. Does nothing without a
 * group. plans: of all batch shapes. Collective over the group. */
int rt_groups_agree(const struct rt_options *opt, const struct rt_plan *plans, int n, int dim, struct gt_err *err);
/* plans: of all batch shapes. *ret stays NULL if no call is a collective of a group. Collective over each group: fails
 * unless all its ranks have the same collectives. */
int rt_groups_new(const struct rt_options *opt, const struct rt_plan *plans, int n, int threads, struct rt_groups **ret,
		  struct gt_err *err);
void rt_groups_free(struct rt_groups *g);
GT_DEFINE_AUTO(rt_groups, rt_groups_free);
uint64_t rt_groups_bytes(const struct rt_groups *g);
/* Returns the bytes that each of `size` ranks reads from the others in a collective. */
double rt_groups_call_bytes(const struct rt_call *c, int size);
int rt_groups_run(struct rt_groups *g, const struct rt_call *c, struct gt_err *err);
/* { "tensor": { "ranks", "calls", "sent_bytes", "waited_s" } }: sums over all calls since compilation; sent_bytes: bytes
 * that this rank reads from the others */
json_t *rt_groups_report(const struct rt_groups *g);
#endif
