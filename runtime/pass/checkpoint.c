/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activation checkpointing. The forward calls are cut into segments at positions where few bytes are live. Of a
 * recomputed segment, only values that later segments read are kept. The others are recomputed by copies of the same
 * calls, just before their first use in the backward pass. The last segment is never recomputed, because its backward
 * pass follows at once. Copies run the same kernels on the same values, so results are equal to the bit.
 */
#include <string.h>
#include "runtime/pass/rewrite.h"

struct span {
	int first, end; /* range of forward calls, end exclusive */
};
struct work {
	struct rt_plan *plan;
	int n_forward;
	int *segment;	       /* segment of each forward call */
	struct rt_node **copy; /* replacement of each node in the backward pass, by id; NULL: none */
	int n_nodes, copies;
	double flops;
};

/* Returns the bytes of values written by forward calls before `at` and read by calls from `at` on. */
static uint64_t crossing_bytes(const struct rt_plan *p, int at, int n_forward)
{
	uint64_t bytes = 0;

	for (int i = 0; i < at; i++)
		for (int k = 0; k < RT_MAX_IO; k++) {
			const struct rt_node *n = p->ir.calls[i]->out[k];

			if (n && n->role == RT_ROLE_VALUE && rt_consumer_in(p, n, at, n_forward) >= 0)
				bytes += rt_node_bytes(n);
		}
	return bytes;
}

static double gen_bytes(const struct rt_plan *p, int call)
{
	double bytes = 0;

	for (int k = 0; k < RT_MAX_IO; k++)
		if (p->ir.calls[call]->out[k] && p->ir.calls[call]->out[k]->role == RT_ROLE_VALUE)
			bytes += (double)rt_node_bytes(p->ir.calls[call]->out[k]);
	return bytes;
}

/*
 * Cuts the forward calls into up to n segments of about equal bytes. Each cut is at the position within half a segment
 * where the fewest bytes cross. Returns the number of segments; first[s] is the first call of segment s.
 */
static int cut(const struct rt_plan *p, int n_forward, int n, int *first)
{
	gt_autofree uint64_t *cross = gt_xcalloc((size_t)n_forward + 1, sizeof(*cross));
	gt_autofree double *sum = gt_xcalloc((size_t)n_forward + 1, sizeof(*sum));
	int n_segments = 1;

	for (int i = 0; i < n_forward; i++) {
		sum[i + 1] = sum[i] + gen_bytes(p, i);
		cross[i] = crossing_bytes(p, i, n_forward);
	}
	first[0] = 0;
	for (int s = 1; s < n; s++) {
		double at = sum[n_forward] * s / n, reach = sum[n_forward] / n / 2;
		int best = -1;

		for (int i = first[n_segments - 1] + 1; i < n_forward; i++) {
			double far = sum[i] > at ? sum[i] - at : at - sum[i];
			double best_far = best < 0 ? 0 : sum[best] > at ? sum[best] - at : at - sum[best];

			if (far <= reach && (best < 0 || cross[i] < cross[best] || (cross[i] == cross[best] && far < best_far)))
				best = i;
		}
		if (best > 0)
			first[n_segments++] = best;
	}
	return n_segments;
}

static struct rt_node *copy_node(struct work *w, const struct rt_node *n)
{
	return rt_node_like(w->plan, n->role, n->dtype, n, "recomputed");
}

/* Returns the call of the segment that computes n; -1: none. */
static int producer_in(const struct work *w, const struct span *s, const struct rt_node *n)
{
	return rt_producer_in(w->plan, n, s->first, s->end);
}

/* Returns whether n is kept: a later segment's forward pass reads it, or it is received from another rank. */
static bool crosses(const struct work *w, const struct span *s, const struct rt_node *n)
{
	int at = producer_in(w, s, n);

	if (at >= 0 && w->plan->ir.calls[at]->op->collective)
		return true;
	return rt_consumer_in(w->plan, n, s->end, w->n_forward) >= 0;
}

/* Marks the calls of the segment whose results the backward pass reads, and the calls that these depend on. */
static bool find_needed(const struct work *w, const struct span *s, bool *needed)
{
	bool any = false;

	for (int i = w->n_forward; i < w->plan->ir.n_calls; i++)
		for (int k = 0; k < RT_MAX_IO; k++) {
			const struct rt_node *n = w->plan->ir.calls[i]->in[k];
			int at = n ? producer_in(w, s, n) : -1;

			if (at >= 0 && !crosses(w, s, n))
				needed[at] = any = true;
		}
	for (int i = s->end - 1; i >= s->first; i--)
		for (int k = 0; needed[i] && k < RT_MAX_IO; k++) {
			const struct rt_node *n = w->plan->ir.calls[i]->in[k];
			int at = n ? producer_in(w, s, n) : -1;

			if (at >= 0 && !crosses(w, s, n))
				needed[at] = true;
		}
	return any;
}

/* Returns a copy of forward call i. It reads and writes copies of nodes where they exist. Only the original call writes
 * state. */
static struct rt_call *copy_call(struct work *w, const struct span *s, int i)
{
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	*c = *w->plan->ir.calls[i];
	c->phase = RT_PHASE_BACKWARD;
	c->origin = c->out[0]->name;
	c->recomputed = true;
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->out[k];

		if (c->in[k] && w->copy[c->in[k]->id])
			c->in[k] = w->copy[c->in[k]->id];
		if (!n)
			continue;
		if (n->role == RT_ROLE_STATE || n->role == RT_ROLE_PARAM)
			c->out[k] = NULL;
		else
			c->out[k] = w->copy[n->id] = copy_node(w, n);
		/* A later segment already has this value, so nothing reads the copy. The call writes it only as a side effect. */
		if (n->role == RT_ROLE_VALUE && crosses(w, s, n))
			w->copy[n->id] = NULL;
	}
	w->flops += c->op->flops ? c->op->flops(c) : 0;
	w->copies++;
	return c;
}

/* Returns the first backward call that reads a value of the segment which is not kept. */
static int first_use(const struct work *w, const struct span *s)
{
	for (int i = w->n_forward; i < w->plan->ir.n_calls; i++)
		for (int k = 0; k < RT_MAX_IO; k++) {
			const struct rt_node *n = w->plan->ir.calls[i]->in[k];

			if (n && producer_in(w, s, n) >= 0 && !crosses(w, s, n))
				return i;
		}
	return -1;
}

static void recompute(struct work *w, const struct span *s)
{
	gt_autofree bool *needed = gt_xcalloc((size_t)w->n_forward, sizeof(*needed));
	int at;

	if (!find_needed(w, s, needed))
		return;
	at = first_use(w, s);
	memset(w->copy, 0, (size_t)w->n_nodes * sizeof(struct rt_node *));
	for (int i = s->first; i < s->end; i++)
		if (needed[i])
			rt_plan_insert(w->plan, at++, copy_call(w, s, i));
	for (int i = at; i < w->plan->ir.n_calls; i++)
		for (int k = 0; k < RT_MAX_IO; k++) {
			struct rt_node *n = w->plan->ir.calls[i]->in[k];

			if (n && n->id < w->n_nodes && w->copy[n->id])
				w->plan->ir.calls[i]->in[k] = w->copy[n->id];
		}
}

static int checkpoint(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct work w = { .plan = p, .n_nodes = p->ir.n_nodes, .n_forward = rt_forward_end(p) };
	gt_autofree int *first = NULL;
	int segments, n_recomputed;

	if (p->opt->memory.checkpoint < 2 || !rt_plan_trains(p))
		return 0;
	first = gt_xcalloc((size_t)p->opt->memory.checkpoint + 1, sizeof(*first));
	segments = cut(p, w.n_forward, p->opt->memory.checkpoint, first);
	first[segments] = w.n_forward;
	n_recomputed = p->opt->memory.recomputed ? GT_MIN(p->opt->memory.recomputed, segments - 1) : segments - 1;
	w.copy = gt_xcalloc((size_t)w.n_nodes, sizeof(struct rt_node *));
	/* From the last segment to the first, as in the backward pass. */
	for (int s = n_recomputed - 1; s >= 0; s--)
		recompute(&w, &(struct span){ first[s], first[s + 1] });
	free(w.copy);
	gt_buf_printf(did, "%d of %d segments recomputed in the backward pass: %d calls, %.1f Gflop more", n_recomputed, segments,
		      w.copies, w.flops / 1e9);
	return 0;
}

const struct rt_pass rt_pass_checkpoint = { .name = "checkpoint", .run = checkpoint };
