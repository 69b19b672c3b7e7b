/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_REWRITE_H
#define RT_REWRITE_H
/* Searches in a program's calls and changes of them, for all passes. A position is an index of ir.calls; -1: none. */
#include "runtime/pass/pass.h"

/* ---- searches ---- */
/* The next call of `op` at position `from` or later. */
int rt_next(const struct rt_plan *p, int from, enum rt_op_id op);
/* The first call that writes n; *ret_slot, unless ret_slot is NULL, is the output. */
int rt_producer(const struct rt_plan *p, const struct rt_node *n, int *ret_slot);
/* The first call in [from, end) that writes n, or that reads n. */
int rt_producer_in(const struct rt_plan *p, const struct rt_node *n, int from, int end);
int rt_consumer_in(const struct rt_plan *p, const struct rt_node *n, int from, int end);
/* The last call that reads or writes n, without calls of later phases than `last`. */
int rt_last_use(const struct rt_plan *p, const struct rt_node *n, enum rt_phase last);
/* How many calls read n. An output counts as read once more, by the caller. */
int rt_plan_uses(const struct rt_plan *p, const struct rt_node *n);
/* The first call that is not of the forward pass, or the number of calls. */
int rt_forward_end(const struct rt_plan *p);

/* ---- changes ---- */
void rt_plan_remove(struct rt_plan *p, int at);
void rt_plan_insert(struct rt_plan *p, int at, struct rt_call *c);
/* Inserts a new call before the call at that position. */
struct rt_call *rt_emit_before(struct rt_plan *p, int at, enum rt_op_id op, enum rt_phase phase);
void rt_replace_reads(struct rt_plan *p, const struct rt_node *from, struct rt_node *to);
/* A new tensor with the shape of `like` and the name "PREFIX NAME". */
struct rt_node *rt_node_like(struct rt_plan *p, enum rt_role role, enum rt_dtype type, const struct rt_node *like,
			     const char *prefix);

/* ---- fusions ---- */
/* A call of `op` whose in[slot] is made by a call of `producer`, as its out[0]. */
struct rt_pattern {
	enum rt_op_id op;
	enum rt_act act;  /* of the call; RT_ACT_NONE: any */
	int slot;
	enum rt_op_id producer;
	bool plain;	  /* the producer has no activation */
	bool shared;	  /* other calls may read the tensor between the two */
	/* Takes one of the two calls out. False, and nothing is changed: they cannot be fused. */
	bool (*fuse)(struct rt_plan *p, int at, int producer);
};
/* Tries the patterns in their order for each call; count[i] is how often pattern i was applied. */
void rt_fuse(struct rt_plan *p, const struct rt_pattern *patterns, int n, int *count);
#endif
