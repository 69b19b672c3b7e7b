/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets whose sums are sharded (ZeRO stages 2 and 3). Each batch reduces them. Once all ranks have the gradients of a bucket,
 * each rank sums its pieces. The memory of the bucket is free when all ranks have done so. Buckets that are not alive at the
 * same time share memory in the window.
 */
#include "runtime/pass/bucket.h"
#include "runtime/pass/rewrite.h"

struct alive {
	int first, end; /* first write of a gradient, and the last call of this rank that reads one */
	uint64_t bytes;
};

static bool is_of(const struct rt_bucket *b, const struct rt_node *g)
{
	for (int i = 0; i < b->n; i++)
		if (b->gradient[i] == g)
			return true;
	return false;
}

/* Removes the sums of the bucket's gradients and returns them in *ret, in order. */
static int take_sums(struct rt_plan *p, const struct rt_bucket *b, struct rt_call **ret)
{
	int n = 0, remaining = 0;

	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (rt_is(c, RT_OP_SHARD_SUM) && is_of(b, c->in[0]))
			ret[n++] = c;
		else
			p->ir.calls[remaining++] = c;
	}
	p->ir.n_calls = remaining;
	return n;
}

/* Removes the updates that read one of these sums. */
static int take_updates(struct rt_plan *p, struct rt_call *const *sum, int n_sums, struct rt_call **ret)
{
	int n = 0, remaining = 0;

	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];
		bool wanted = false;

		for (int k = 0; c->phase == RT_PHASE_UPDATE && k < n_sums; k++)
			wanted |= rt_reads(c, sum[k]->out[0]);
		if (wanted)
			ret[n++] = c;
		else
			p->ir.calls[remaining++] = c;
	}
	p->ir.n_calls = remaining;
	return n;
}

static void emit(struct rt_plan *p, int at, enum rt_op_id op, int bucket)
{
	rt_emit_before(p, at, op, RT_PHASE_BACKWARD)->attr.bucket = bucket; /* in every batch */
}

static int position_of(const struct rt_plan *p, enum rt_op_id op, int bucket)
{
	int at = rt_next(p, 0, op);

	while (at >= 0 && p->ir.calls[at]->attr.bucket != bucket)
		at = rt_next(p, at + 1, op);
	return at;
}

static int insert(struct rt_plan *p, int at, struct rt_call *const *calls, int n)
{
	for (int i = 0; i < n; i++)
		rt_plan_insert(p, at + i, calls[i]);
	return at + n;
}

/* Inserts the start, the wait, the sums and the release of each bucket, and its updates after them unless these wait for
 * all gradients. */
static void insert_sums(struct rt_plan *p)
{
	bool late = rt_plan_measures_gradients(p) || p->opt->debug.no_early_update || p->opt->debug.anomaly || p->stage;
	struct {
		struct rt_call **sum, **update;
		int sums, updates;
	} *of = gt_xcalloc((size_t)p->n_buckets + 1, sizeof(*of));

	for (int k = 0; k < p->n_buckets; k++) {
		int most = 2 * p->buckets[k].n + p->n_graph_nodes;

		of[k].sum = gt_xcalloc((size_t)most, sizeof(struct rt_call *));
		of[k].update = gt_xcalloc((size_t)most, sizeof(struct rt_call *));
		of[k].sums = take_sums(p, &p->buckets[k], of[k].sum);
		of[k].updates = late ? 0 : take_updates(p, of[k].sum, of[k].sums, of[k].update);
	}
	for (int k = 0; k < p->n_buckets; k++)
		emit(p, rt_bucket_start_position(p, &p->buckets[k]), RT_OP_BUCKET_START, k);
	for (int k = 0; k < p->n_buckets; k++) {
		bool later = p->ranks->overlap && k + 1 < p->n_buckets;
		int at = position_of(p, RT_OP_BUCKET_START, later ? k + 1 : k) + 1;

		emit(p, at++, RT_OP_BUCKET_WAIT, k);
		at = insert(p, at, of[k].sum, of[k].sums);
		emit(p, at++, RT_OP_BUCKET_DONE, k);
		insert(p, at, of[k].update, of[k].updates);
		free(of[k].sum);
		free(of[k].update);
	}
	free(of);
}

static struct alive alive_of(const struct rt_plan *p, int k)
{
	const struct rt_bucket *b = &p->buckets[k];
	struct alive a = { .first = p->ir.n_calls, .end = position_of(p, RT_OP_BUCKET_DONE, k),
			   .bytes = (uint64_t)b->floats * sizeof(float) };

	for (int i = 0; i < b->n; i++)
		a.first = GT_MIN(a.first, GT_MAX(rt_producer(p, b->gradient[i], NULL), 0));
	return a;
}

static bool overlap_in_memory(const struct rt_plan *p, const struct alive *a, int x, int y)
{
	uint64_t at = p->buckets[x].offset, other = p->buckets[y].offset;

	return at < other + a[y].bytes && other < at + a[x].bytes;
}

static void move_to(struct rt_bucket *b, uint64_t offset)
{
	for (int i = 0; i < b->n; i++)
		b->gradient[i]->offset = offset + (uint64_t)b->at[i] * sizeof(float);
	b->offset = offset;
}

/* Gives each bucket the lowest offset where it overlaps no earlier bucket that is alive at the same time. */
static void place(struct rt_plan *p, const struct alive *a)
{
	uint64_t end = 0;

	for (int k = 0; k < p->n_buckets; k++) {
		bool moved = true;

		for (move_to(&p->buckets[k], 0); moved;) {
			moved = false;
			for (int j = 0; j < k; j++)
				if (a[j].first <= a[k].end && a[k].first <= a[j].end && overlap_in_memory(p, a, j, k)) {
					move_to(&p->buckets[k], p->buckets[j].offset + a[j].bytes);
					moved = true;
				}
		}
		end = GT_MAX(end, p->buckets[k].offset + a[k].bytes);
	}
	p->window_bytes = end;
}

/*
 * Returns the position before which all ranks must have summed bucket k: the next write to its memory, or the end of the
 * batch.
 */
static int free_position(const struct rt_plan *p, const struct alive *a, int k)
{
	int at = 0;

	while (at < p->ir.n_calls && p->ir.calls[at]->phase != RT_PHASE_GRADIENT)
		at++;
	for (int j = 0; j < p->n_buckets; j++)
		if (a[j].first > a[k].end && overlap_in_memory(p, a, j, k))
			at = GT_MIN(at, a[j].first);
	return at;
}

void rt_bucket_shard(struct rt_plan *p)
{
	gt_autofree struct alive *a = gt_xcalloc((size_t)p->n_buckets + 1, sizeof(*a));
	gt_autofree int *at = gt_xcalloc((size_t)p->n_buckets + 1, sizeof(*at));

	insert_sums(p);
	for (int k = 0; k < p->n_buckets; k++)
		a[k] = alive_of(p, k);
	place(p, a);
	for (int k = 0; k < p->n_buckets; k++)
		at[k] = free_position(p, a, k);
	/* the last position first, so that the others stay valid */
	for (int done = 0; done < p->n_buckets; done++) {
		int last = -1;

		for (int k = 0; k < p->n_buckets; k++)
			if (at[k] >= 0 && (last < 0 || at[k] > at[last]))
				last = k;
		emit(p, at[last], RT_OP_BUCKET_FREE, last);
		at[last] = -1;
	}
}
