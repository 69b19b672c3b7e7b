/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient buckets for several ranks, in the order in which the backward pass completes the gradients. The first bucket
 * is small, so that the reduction starts early. A bucket is closed when it has reached its size, as in PyTorch.
 *
 * The reduction of a bucket starts after the last call of the backward pass that uses one of its gradients. The wait
 * for it, and the updates of its parameters, come after the start of the next bucket, so the backward pass continues
 * meanwhile. Without overlap, all waits come after the backward pass. If ranks send parameters, a bucket starts only after
 * the last read of its parameters, because other ranks will write them.
 */
#include <string.h>
#include "runtime/pass/bucket.h"
#include "runtime/pass/rewrite.h"

#define FIRST_BYTES	(UINT64_C(1) << 20)
#define BUCKET_BYTES	(UINT64_C(25) << 20)

struct ready {
	struct rt_node *gradient;
	int at; /* last call of the backward pass that reads or writes it */
};

static int by_readiness(const void *a, const void *b)
{
	const struct ready *x = a, *y = b;

	return x->at != y->at ? x->at - y->at : x->gradient->id - y->gradient->id;
}

static int find_gradients(const struct rt_plan *p, struct ready *list)
{
	int n = 0;

	for (int i = 0; i < p->n_graph_nodes; i++) {
		struct rt_node *g = p->ir.nodes[i]->role == RT_ROLE_PARAM ? p->gradient[i] : NULL;
		bool known = !g;

		for (int k = 0; !known && k < n; k++)
			known = list[k].gradient == g;
		if (!known)
			list[n++] = (struct ready){ g, GT_MAX(0, rt_last_use(p, g, RT_PHASE_BACKWARD)) };
	}
	qsort(list, (size_t)n, sizeof(*list), by_readiness);
	return n;
}

static struct rt_bucket *add_bucket(struct rt_plan *p, int most)
{
	struct rt_bucket *b;

	p->buckets = gt_xrealloc(p->buckets, (size_t)(p->n_buckets + 1) * sizeof(*b));
	b = &p->buckets[p->n_buckets++];
	*b = (struct rt_bucket){ .offset = p->window_bytes };
	b->gradient = gt_xcalloc((size_t)most, sizeof(*b->gradient));
	b->at = gt_xcalloc((size_t)most, sizeof(*b->at));
	return b;
}

static void fill_buckets(struct rt_plan *p, const struct ready *list, int n)
{
	const struct rt_ddp_options *o = &p->opt->ranks;
	uint64_t limit = o->first_bucket_bytes ? o->first_bucket_bytes : FIRST_BYTES;
	struct rt_bucket *b = NULL;
	uint64_t bytes = 0; /* size of the gradients only, without padding, as in PyTorch */

	for (int i = 0; i < n; i++) {
		struct rt_node *g = list[i].gradient;

		if (!b) {
			b = add_bucket(p, n - i);
			bytes = 0;
		}
		bytes += rt_node_bytes(g);
		g->shared = true;
		g->offset = p->window_bytes;
		b->gradient[b->n] = g;
		b->at[b->n++] = (int64_t)(g->offset - b->offset) / 4;
		p->window_bytes += (rt_node_padded_bytes(g) + 63) / 64 * 64;
		b->floats = (int64_t)(p->window_bytes - b->offset) / 4;
		if (bytes >= limit) {
			b = NULL;
			limit = o->bucket_bytes ? o->bucket_bytes : BUCKET_BYTES;
		}
	}
}

int64_t rt_bucket_gap(const struct rt_bucket *b, int i, int64_t *ret_at)
{
	*ret_at = b->at[i] + (int64_t)(rt_node_padded_bytes(b->gradient[i]) / sizeof(float));
	return (i + 1 < b->n ? b->at[i + 1] : b->floats) - *ret_at;
}

static void emit(struct rt_plan *p, int at, enum rt_op_id op, int bucket)
{
	rt_emit_before(p, at, op, RT_PHASE_UPDATE)->attr.bucket = bucket; /* runs once per update, not once per batch */
}

static bool touches(const struct rt_call *c, const struct rt_bucket *b)
{
	for (int i = 0; i < b->n; i++)
		if (rt_reads(c, b->gradient[i]) || rt_writes(c, b->gradient[i]))
			return true;
	return false;
}

/* Removes the update calls of this bucket and returns them in *ret, in order. */
static int remove_updates(struct rt_plan *p, const struct rt_bucket *b, struct rt_call **ret)
{
	int n = 0, remaining = 0;

	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (c->phase == RT_PHASE_UPDATE && touches(c, b))
			ret[n++] = c;
		else
			p->ir.calls[remaining++] = c;
	}
	p->ir.n_calls = remaining;
	return n;
}

static int position_of(const struct rt_plan *p, int bucket)
{
	int at = rt_next(p, 0, RT_OP_BUCKET_START);

	while (at >= 0 && p->ir.calls[at]->attr.bucket != bucket)
		at = rt_next(p, at + 1, RT_OP_BUCKET_START);
	return at < 0 ? p->ir.n_calls : at;
}

int rt_bucket_start_position(const struct rt_plan *p, const struct rt_bucket *b)
{
	int at = 0;

	for (int i = 0; i < b->n; i++)
		at = GT_MAX(at, rt_last_use(p, b->gradient[i], RT_PHASE_BACKWARD) + 1);
	for (int i = 0; i < p->n_graph_nodes && rt_ranks_send_parameters(p->ranks); i++)
		for (int k = 0; k < b->n; k++)
			if (p->gradient[i] == b->gradient[k] && p->ir.nodes[i]->role == RT_ROLE_PARAM)
				at = GT_MAX(at, rt_last_use(p, p->ir.nodes[i], RT_PHASE_BACKWARD) + 1);
	if (b > p->buckets)
		at = GT_MAX(at, position_of(p, (int)(b - p->buckets) - 1) + 1);
	while (rt_next(p, at, RT_OP_BUCKET_START) == at)
		at++; /* buckets that complete at the same position start in the order of their numbers */
	return at;
}

/*
 * Returns a position after the start of the next bucket and after the last call that reads an old parameter value. In a
 * pipeline, updates wait until all stages have finished the backward pass.
 */
static int update_position(const struct rt_plan *p, int bucket, struct rt_call *const *updates, int n)
{
	bool early = bucket + 1 < p->n_buckets && p->ranks->overlap && !p->stage;
	int at = early ? position_of(p, bucket + 1) + 1 : p->ir.n_calls;

	for (int i = p->ir.n_calls - 1; i >= at; i--)
		for (int k = 0; k < n; k++)
			for (int o = 0; o < RT_MAX_IO; o++)
				if (updates[k]->out[o] && rt_reads(p->ir.calls[i], updates[k]->out[o]))
					return i + 1;
	return at;
}

static void insert_all_waits(struct rt_plan *p)
{
	int at = 0;

	for (int k = 0; k < p->n_buckets; k++)
		at = GT_MAX(at, position_of(p, k) + 1);
	for (int k = 0; k < p->n_buckets; k++)
		emit(p, at + k, RT_OP_BUCKET_WAIT, k);
}

static void insert_waits_and_updates(struct rt_plan *p)
{
	struct rt_call **updates = gt_xcalloc((size_t)p->ir.n_calls + 1, sizeof(*updates));

	for (int k = 0; k < p->n_buckets; k++) {
		int n = remove_updates(p, &p->buckets[k], updates), at;

		at = update_position(p, k, updates, n);
		emit(p, at, RT_OP_BUCKET_WAIT, k);
		for (int i = 0; i < n; i++)
			rt_plan_insert(p, at + 1 + i, updates[i]);
	}
	free(updates);
}

static void to_window(struct rt_plan *p, struct rt_node *n)
{
	if (n->shared)
		return;
	n->shared = true;
	n->offset = p->window_bytes;
	p->window_bytes += (rt_node_bytes(n) + 63) / 64 * 64;
}

/* Moves parameters, which other ranks write, and optimizer state, which the checkpoint of another rank reads, into the
 * window. Uses the order of declaration, so the plans for other batch shapes give the same offsets. */
static void move_into_window(struct rt_plan *p)
{
	for (int i = 0; i < p->n_graph_nodes; i++)
		for (int k = 0; k < p->ir.n_calls; k++) {
			const struct rt_call *c = p->ir.calls[k];

			if (c->phase == RT_PHASE_UPDATE && c->out[0] == p->ir.nodes[i])
				for (int o = 0; o < RT_MAX_IO; o++)
					if (c->out[o])
						to_window(p, c->out[o]);
		}
}

static int bucket(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct ready *list;
	char bytes[32];
	int n;

	if (!p->opt->ranks.comm)
		return 0;
	list = gt_xcalloc((size_t)p->n_graph_nodes + 1, sizeof(*list));
	n = find_gradients(p, list);
	fill_buckets(p, list, n);
	free(list);
	if (p->ranks->stage >= 2)
		rt_bucket_shard(p);
	p->gradient_bytes = p->window_bytes;
	gt_format_bytes(bytes, sizeof(bytes), p->window_bytes);
	if (rt_ranks_send_parameters(p->ranks))
		move_into_window(p);
	for (int k = 0; p->ranks->stage < 2 && k < p->n_buckets; k++)
		emit(p, rt_bucket_start_position(p, &p->buckets[k]), RT_OP_BUCKET_START, k);
	if (p->ranks->stage < 2 && rt_plan_measures_gradients(p))
		insert_all_waits(p);
	else if (p->ranks->stage < 2)
		insert_waits_and_updates(p);
	if ((p->ranks->team || p->ranks->fused) && p->opt->optimizer.kind != RT_NO_OPTIMIZER)
		emit(p, p->ir.n_calls, RT_OP_RANKS_MEET, 0);
	gt_buf_printf(did, "%d gradients, %s, in %d buckets, reduced %s%s the backward pass: %s", n, bytes, p->n_buckets,
		      p->ranks->stage >= 2 ? "to shards " : p->ranks->gather ? "by the updates of rank 0 " :
		      p->ranks->fused ? "by the updates " : "",
		      p->ranks->overlap ? "during" : "after", p->ranks->overlap_why);
	return 0;
}

const struct rt_pass rt_pass_bucket = { .name = "bucket", .run = bucket };
