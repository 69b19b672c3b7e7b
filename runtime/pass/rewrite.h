/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_REWRITE_H
#define RT_REWRITE_H
/* Searches and edits of a program's list of calls, shared by all passes. A position is an index of ir.calls; -1: none. */
#include "runtime/pass/pass.h"

/* ---- searches ---- */
/* Returns the next call of `op` at position `from` or later. */
int rt_next(const struct rt_plan *p, int from, enum rt_op_id op);
/* Returns the first call that writes n; *ret_slot is the output index. ret_slot may be NULL. */
int rt_producer(const struct rt_plan *p, const struct rt_node *n, int *ret_slot);
/* Return the first call in [from, end) that writes n, or that reads n. */
int rt_producer_in(const struct rt_plan *p, const struct rt_node *n, int from, int end);
int rt_consumer_in(const struct rt_plan *p, const struct rt_node *n, int from, int end);
/* Returns the last call that reads or writes n, without calls of phases later than `last`. */
int rt_last_use(const struct rt_plan *p, const struct rt_node *n, enum rt_phase last);
/* Returns the number of calls that read n. An output of the program counts as one more read, by the caller. */
int rt_plan_uses(const struct rt_plan *p, const struct rt_node *n);
/* Returns whether n is the same in all runs until a parameter changes, in a program that does not train. */
bool rt_plan_is_constant(const struct rt_plan *p, const struct rt_node *n);
/* Returns the first call after the forward pass, or the number of calls. */
int rt_forward_end(const struct rt_plan *p);

/* ---- edits ---- */
void rt_plan_remove(struct rt_plan *p, int at);
void rt_plan_insert(struct rt_plan *p, int at, struct rt_call *c);
/* Inserts a new call before position `at`. */
struct rt_call *rt_emit_before(struct rt_plan *p, int at, enum rt_op_id op, enum rt_phase phase);
void rt_replace_reads(struct rt_plan *p, const struct rt_node *from, struct rt_node *to);
/* Creates a tensor with the shape of `like` and the name "PREFIX NAME". */
struct rt_node *rt_node_like(struct rt_plan *p, enum rt_role role, enum rt_dtype type, const struct rt_node *like,
			     const char *prefix);

/* ---- fusions ---- */
/* A call of `op` whose in[slot] is out[0] of a call of `producer`. */
struct rt_pattern {
	enum rt_op_id op;
	enum rt_act act;  /* activation of the call; RT_ACT_NONE: any */
	int slot;
	enum rt_op_id producer;
	bool plain;	  /* the producer must have no activation */
	bool shared;	  /* other calls may read the tensor between the two */
	/* Fuses the two calls and removes one of them. Returns false, without changes, if they cannot be fused. */
	bool (*fuse)(struct rt_plan *p, int at, int producer);
};
/* Tries the patterns in order for each call; count[i] is the number of times pattern i was applied. */
void rt_fuse(struct rt_plan *p, const struct rt_pattern *patterns, int n, int *count);
#endif
