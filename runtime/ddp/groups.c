/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/ddp/groups.h"
#include "runtime/transport/reduce.h"

struct group {
	struct rt_comm *comm;
	struct rt_window window;
	uint64_t place_bytes;
	int place; /* place of the next collective */
	struct rt_coll sum[2], gather[2], exchange[2];
	int64_t calls;
	double sent_bytes, waited_s;
};
struct rt_groups {
	struct group group[RT_DIMS];
	int threads;
};

static const char *const dim_names[RT_DIMS] = { [RT_DIM_TENSOR] = "tensor", [RT_DIM_DATA] = "data",
						[RT_DIM_PIPELINE] = "pipeline" };

struct rt_comm *rt_groups_comm(const struct rt_options *opt, int dim)
{
	return dim == RT_DIM_TENSOR ? opt->ranks.tensor : dim == RT_DIM_DATA ? opt->ranks.comm : NULL;
}

static bool belongs(const struct rt_call *c, int dim)
{
	return c->op->collective == RT_GROUP_CALL && c->attr.dim == dim;
}

static uint64_t input_bytes(const struct rt_call *c)
{
	uint64_t bytes = 0;

	for (int k = 0; k < RT_MAX_IO && c->in[k]; k++)
		bytes += rt_node_bytes(c->in[k]);
	return bytes;
}

/* Returns the bytes of the largest place that a call of the plan needs, in whole cache lines. */
static uint64_t largest_place(const struct rt_plan *plan, int dim)
{
	uint64_t bytes = 0;

	for (int i = 0; i < plan->ir.n_calls; i++)
		if (belongs(plan->ir.calls[i], dim))
			bytes = GT_MAX(bytes, (input_bytes(plan->ir.calls[i]) + 63) / 64 * 64);
	return bytes;
}

uint64_t rt_groups_plan_bytes(const struct rt_options *opt, const struct rt_plan *plan)
{
	uint64_t bytes = 0;

	for (int d = 0; d < RT_DIMS; d++)
		if (rt_groups_comm(opt, d))
			bytes += 2 * largest_place(plan, d);
	return bytes;
}

/* Returns a hash of the options that all ranks of the group must have in common. */
static uint64_t hash_of_options(const struct rt_options *o)
{
	const uint64_t what[] = { o->seed, (uint64_t)o->accum, o->optimizer.kind, o->precision.amp, o->clip_norm > 0,
				  o->precision.scaler.use };

	return gt_hash64(what, sizeof(what), 0);
}

/* Returns a hash of the collectives that all ranks of the group must have in common. */
static uint64_t hash_of(const struct rt_plan *plan, int dim, uint64_t hash)
{
	for (int i = 0; i < plan->ir.n_calls; i++) {
		const struct rt_call *c = plan->ir.calls[i];
		uint64_t what[2] = { c->op->id, belongs(c, dim) ? input_bytes(c) : 0 };

		if (belongs(c, dim))
			hash = gt_hash64(what, sizeof(what), hash);
	}
	return hash;
}

int rt_groups_agree(const struct rt_options *opt, const struct rt_plan *plans, int n, int dim, struct gt_err *err)
{
	struct rt_comm *comm = rt_groups_comm(opt, dim);
	uint64_t hash = hash_of_options(opt);

	for (int s = 0; s < n; s++)
		hash = hash_of(&plans[s], dim, hash);
	return comm ? rt_comm_agree(comm, hash, "the split of the model", err) : 0;
}

static int open_group(struct group *k, struct rt_comm *comm, int threads, struct gt_err *err)
{
	int r = rt_window_map(comm, 2 * k->place_bytes, false, &k->window, err);

	if (r)
		return r;
	k->comm = comm;
	for (int i = 0; i < 2; i++) {
		const struct rt_coll base = { .window = &k->window, .offset = (size_t)i * k->place_bytes, .threads = threads,
					      .unweighted = true };
		struct rt_coll *const of[] = { &k->sum[i], &k->gather[i], &k->exchange[i] };

		k->sum[i] = k->gather[i] = k->exchange[i] = base;
		k->sum[i].n = (int64_t)(k->place_bytes / sizeof(float));
		k->gather[i].kind = RT_ALLGATHER;
		k->gather[i].bytes = k->place_bytes;
		k->exchange[i].kind = RT_ALLTOALL;
		k->exchange[i].bytes = k->place_bytes / (size_t)rt_comm_size(comm);
		for (size_t c = 0; c < GT_ARRAY_SIZE(of); c++) {
			r = rt_coll_init(of[c], err);
			if (r)
				return r;
		}
	}
	return 0;
}

int rt_groups_new(const struct rt_options *opt, const struct rt_plan *plans, int n, int threads, struct rt_groups **ret,
		  struct gt_err *err)
{
	gt_auto(rt_groups) *g = gt_xcalloc(1, sizeof(*g));
	bool any = false;

	g->threads = threads;
	for (int d = 0; d < RT_DIMS; d++) {
		struct rt_comm *comm = rt_groups_comm(opt, d);
		struct group *k = &g->group[d];
		int r;

		for (int s = 0; s < n; s++)
			k->place_bytes = GT_MAX(k->place_bytes, largest_place(&plans[s], d));
		if (!comm || (d == RT_DIM_DATA && !k->place_bytes))
			continue;
		r = rt_groups_agree(opt, plans, n, d, err);
		if (r)
			return r;
		r = open_group(k, comm, threads, err);
		if (r)
			return r;
		any = true;
	}
	if (any)
		*ret = gt_take(g);
	return 0;
}

void rt_groups_free(struct rt_groups *g)
{
	if (!g)
		return;
	for (int d = 0; d < RT_DIMS; d++) {
		struct group *k = &g->group[d];

		for (int i = 0; i < 2; i++) {
			rt_coll_clear(&k->sum[i]);
			rt_coll_clear(&k->gather[i]);
			rt_coll_clear(&k->exchange[i]);
		}
		if (k->comm)
			rt_window_unmap(&k->window);
	}
	free(g);
}

uint64_t rt_groups_bytes(const struct rt_groups *g)
{
	uint64_t bytes = 0;

	for (int d = 0; d < RT_DIMS; d++)
		bytes += g->group[d].comm ? 2 * g->group[d].place_bytes : 0;
	return bytes;
}

static int complete(struct group *k, struct rt_coll *coll, struct gt_err *err)
{
	double start = gt_now_s();
	int r = rt_coll_start(coll, err);

	if (r)
		return r;
	r = rt_coll_wait(coll, err);
	k->waited_s += gt_now_s() - start;
	return r;
}

static int all_reduce(struct group *k, const struct rt_call *c, const char *place, struct gt_err *err)
{
	struct rt_coll *coll = &k->sum[k->place];
	int r;

	coll->n = (int64_t)(input_bytes(c) / sizeof(float));
	r = complete(k, coll, err);
	for (int i = 0; !r && i < RT_MAX_IO && c->out[i]; i++) {
		memcpy(c->out[i]->data, place, rt_node_bytes(c->out[i]));
		place += rt_node_bytes(c->out[i]);
	}
	return r;
}

static int all_gather(struct group *k, const struct rt_call *c, struct gt_err *err)
{
	struct rt_coll *coll = &k->gather[k->place];
	char *to = c->out[0]->data;
	int r;

	coll->bytes = rt_node_bytes(c->in[0]);
	r = complete(k, coll, err);
	for (int i = 0; !r && i < rt_comm_size(k->comm); i++)
		memcpy(to + (size_t)i * coll->bytes, rt_coll_from(coll, i), coll->bytes);
	return r;
}

static int reduce_scatter(struct group *k, const struct rt_call *c, int threads, struct gt_err *err)
{
	struct rt_coll *coll = &k->exchange[k->place];
	float *x[RT_MAX_RANKS], ones[RT_MAX_RANKS], *to = c->out[0]->data;
	int size = rt_comm_size(k->comm), r;

	coll->bytes = rt_node_bytes(c->out[0]);
	r = complete(k, coll, err);
	if (r)
		return r;
	for (int i = 0; i < size; i++) {
		x[i] = (float *)(uintptr_t)rt_coll_from(coll, i);
		ones[i] = 1;
	}
	rt_sum_ranks(&to, 1, x, ones, size, 0, rt_shape_elements(&c->out[0]->shape), threads);
	return 0;
}

double rt_groups_call_bytes(const struct rt_call *c, int size)
{
	double bytes = (double)input_bytes(c), others = size - 1;

	if (rt_is(c, RT_OP_ALL_GATHER))
		return bytes * others;
	return bytes * others / size * (rt_is(c, RT_OP_ALL_REDUCE) ? 2 : 1);
}

int rt_groups_run(struct rt_groups *g, const struct rt_call *c, struct gt_err *err)
{
	struct group *k = &g->group[c->attr.dim];
	char *place = k->window.base + (size_t)k->place * k->place_bytes, *to = place;
	int r;

	for (int i = 0; i < RT_MAX_IO && c->in[i]; i++) {
		memcpy(to, c->in[i]->data, rt_node_bytes(c->in[i]));
		to += rt_node_bytes(c->in[i]);
	}
	if (rt_is(c, RT_OP_ALL_REDUCE))
		r = all_reduce(k, c, place, err);
	else if (rt_is(c, RT_OP_ALL_GATHER))
		r = all_gather(k, c, err);
	else
		r = reduce_scatter(k, c, g->threads, err);
	k->place = !k->place;
	k->calls++;
	k->sent_bytes += rt_groups_call_bytes(c, rt_comm_size(k->comm));
	return r;
}

json_t *rt_groups_report(const struct rt_groups *g)
{
	json_t *doc = json_object();

	for (int d = 0; d < RT_DIMS; d++) {
		const struct group *k = &g->group[d];

		if (!k->comm)
			continue;
		json_object_set_new(doc, dim_names[d],
				    json_pack("{s:i, s:I, s:o, s:o}", "ranks", rt_comm_size(k->comm), "calls", (json_int_t)k->calls,
					      "sent_bytes", gt_json_real(k->sent_bytes), "waited_s", gt_json_real(k->waited_s)));
	}
	return doc;
}
