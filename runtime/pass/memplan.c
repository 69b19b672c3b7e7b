/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory plan: a fixed address for every tensor. A tensor lives from the first call that writes it to the last call
 * that uses it. Tensors with disjoint live ranges share memory. If an op works in place, its output reuses the memory
 * of an input whose live range ends there. Inputs, parameters and optimizer state live during the whole program.
 */
#include <string.h>
#include "runtime/pass/memplan.h"
#include "runtime/pass/pass.h"

#define ALIGN	64 /* bytes: a cache line, and the widest vector */

static uint64_t aligned(const struct rt_plan *p, uint64_t bytes)
{
	uint64_t align = p->align ? p->align : ALIGN;

	return (bytes + align - 1) / align * align;
}

static bool is_permanent(const struct rt_plan *p, const struct rt_node *n)
{
	if (n->absent)
		return false;
	return n->pinned || n->shared || n->role <= RT_ROLE_STATE || rt_plan_is_output(p, n);
}

bool rt_is_persistent(const struct rt_node *n)
{
	return (n->role != RT_ROLE_INPUT && n->role <= RT_ROLE_STATE) || n->sums;
}

bool rt_plan_poisons(const struct rt_plan *p, int i, const struct rt_node *n, bool evaluates)
{
	bool permanent = n->shared || n->offset < p->pinned_bytes;

	return n->first_write == i && n->storage == n && !(permanent && (evaluates || rt_is_persistent(n)));
}

/* Results of run-once calls follow from the parameters and are kept, except optimizer state. */
static void mark_constants(struct rt_plan *p)
{
	for (int i = 0; i < p->ir.n_calls; i++)
		for (int k = 0; p->ir.calls[i]->run_once && k < RT_MAX_IO; k++) {
			struct rt_node *n = p->ir.calls[i]->out[k];

			if (n && n->role == RT_ROLE_VALUE)
				n->constant = n->pinned = true;
		}
}

static void live_ranges(struct rt_plan *p)
{
	for (int i = 0; i < p->ir.n_nodes; i++) {
		struct rt_node *n = p->ir.nodes[i];

		n->storage = n;
		n->first = n->first_write = -1;
		n->bytes = aligned(p, rt_node_padded_bytes(n));
	}
	for (int i = 0; i < p->ir.n_calls; i++)
		for (int k = 0; k < 2 * RT_MAX_IO; k++) {
			struct rt_call *c = p->ir.calls[i];
			struct rt_node *n = k < RT_MAX_IO ? c->in[k] : c->out[k - RT_MAX_IO];

			if (!n)
				continue;
			if (n->first < 0) {
				n->first = i;
				n->first_write = k < RT_MAX_IO || c->attr.accumulate >> (k - RT_MAX_IO) & 1 ? -1 : i;
			}
			n->last = i;
		}
	for (int i = 0; i < p->ir.n_nodes; i++)
		if (is_permanent(p, p->ir.nodes[i])) {
			p->ir.nodes[i]->first = 0;
			p->ir.nodes[i]->last = p->ir.n_calls;
		}
}

/* Returns whether all inputs in this memory may be overwritten by output o. */
static bool may_overwrite(const struct rt_call *c, int o, const struct rt_node *storage)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->in[k] && c->in[k]->storage == storage && !(c->op->inplace >> (8 * o + k) & 1))
			return false;
	return true;
}

/* Merges the memory of an output that starts at call i with an input that ends there, if the op allows it. The exact
 * sizes must be equal too: after alignment, a broadcast row may be as large as the other operand. */
static int merge_in_place(struct rt_plan *p)
{
	int merged = 0;

	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		for (int o = 0; o < RT_MAX_IO; o++)
			for (int k = 0; k < RT_MAX_IO; k++) {
				struct rt_node *out = c->out[o], *in = c->in[k];

				if (!(c->op->inplace >> (8 * o + k) & 1) || !out || !in || out == in)
					continue;
				if (out->first != i || out->storage != out || is_permanent(p, out) || is_permanent(p, in) ||
				    in->storage->last != i || out->bytes != in->storage->bytes ||
				    rt_node_padded_bytes(out) != rt_node_padded_bytes(in) || !may_overwrite(c, o, in->storage))
					continue;
				out->storage = in->storage;
				in->storage->last = out->last;
				merged++;
			}
	}
	return merged;
}

/* Orders by decreasing size, then by start of the live range. */
static int by_size(const void *a, const void *b)
{
	const struct rt_node *x = *(struct rt_node *const *)a, *y = *(struct rt_node *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->first != y->first ? x->first - y->first : x->id - y->id;
}

bool rt_memplan_overlap(const struct rt_node *a, const struct rt_node *b)
{
	return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

/* Places n at the lowest offset where it overlaps no placed tensor that is live at the same time. */
static void place(struct rt_node *n, struct rt_node **placed, int n_placed, uint64_t base)
{
	bool moved = true;

	n->offset = base;
	while (moved) {
		moved = false;
		for (int i = 0; i < n_placed; i++)
			if (rt_memplan_overlap(n, placed[i])) {
				n->offset = placed[i]->offset + placed[i]->bytes;
				moved = true;
			}
	}
}

static void place_all(struct rt_plan *p, struct rt_node **list, int n)
{
	uint64_t end = p->pinned_bytes;

	qsort(list, (size_t)n, sizeof(struct rt_node *), by_size);
	for (int i = 0; i < n; i++) {
		place(list[i], list, i, p->pinned_bytes);
		end = GT_MAX(end, list[i]->offset + list[i]->bytes);
	}
	p->arena_bytes = end;
}

enum permanent { PERSISTENT, CONSTANT, OTHER };

static enum permanent kind_of(const struct rt_node *n)
{
	return rt_is_persistent(n) ? PERSISTENT : n->constant ? CONSTANT : OTHER;
}

/*
 * Places the tensors that live during the whole program one after the other. Tensors that are kept between batches come
 * first, in an order that does not depend on the batch shape. They then have the same offsets in the plans of all
 * shapes. So do constants, if all shapes have the same ones.
 */
static void pin(struct rt_plan *p, enum permanent kind)
{
	for (int i = 0; i < p->ir.n_nodes; i++) {
		struct rt_node *t = p->ir.nodes[i];

		if (t->first < 0 || t->shared || t->storage != t || !is_permanent(p, t) || kind_of(t) != kind)
			continue;
		t->offset = p->pinned_bytes;
		p->pinned_bytes += t->bytes;
	}
}

static void add_scratch(struct rt_plan *p)
{
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];
		size_t bytes = p->scratch(p->backend_state, c);

		if (bytes)
			c->out[RT_MAX_IO - 1] = rt_ir_node(&p->ir, RT_ROLE_SCRATCH, RT_F32,
							   &RT_SHAPE((int64_t)(bytes + 3) / 4), "scratch");
	}
}

static int memplan(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct rt_node **list;
	int n = 0, merged;
	char planned[32], unplanned[32];

	if (p->opt->debug.no_reuse)
		for (int i = 0; i < p->n_graph_nodes; i++)
			p->ir.nodes[i]->pinned = true;
	for (int i = 0; p->opt->debug.keep_gradients && i < p->n_graph_nodes; i++)
		if (p->gradient[i])
			p->gradient[i]->pinned = true;
	mark_constants(p);
	add_scratch(p);
	live_ranges(p);
	merged = merge_in_place(p);
	list = gt_xcalloc((size_t)p->ir.n_nodes + 1, sizeof(struct rt_node *));
	pin(p, PERSISTENT);
	pin(p, CONSTANT);
	pin(p, OTHER);
	for (int i = 0; i < p->ir.n_nodes; i++) {
		struct rt_node *t = p->ir.nodes[i];

		if (t->first < 0 || t->shared)
			continue;
		p->unplanned_bytes += t->bytes;
		if (t->storage == t && !is_permanent(p, t))
			list[n++] = t;
	}
	place_all(p, list, n);
	free(list);
	for (int i = 0; i < p->ir.n_nodes; i++)
		if (!p->ir.nodes[i]->shared)
			p->ir.nodes[i]->offset = p->ir.nodes[i]->storage->offset;
	gt_format_bytes(planned, sizeof(planned), p->arena_bytes);
	gt_format_bytes(unplanned, sizeof(unplanned), p->unplanned_bytes);
	gt_buf_printf(did, "%s instead of %s, %d tensors in place", planned, unplanned, merged);
	return 0;
}

const struct rt_pass rt_pass_memplan = { .name = "memplan", .run = memplan };
