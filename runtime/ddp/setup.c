/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the reductions of a program: layout of the window, memory, collectives, and the exchange of losses. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/ddp/state.h"

#define LOSSES	4

static uint64_t lines(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Assigns the offsets in the window. All ranks compute the same ones. */
static uint64_t lay_out(struct rt_ddp *d, const struct rt_options *opt)
{
	uint64_t end = lines(d->plan_bytes);

	d->loss.offset = end;
	end += 64;
	for (int i = 0; i < d->n; i++) {
		struct bucket *x = &d->list[i];
		int64_t size = d->n_compressors;

		x->out_at = end;
		if (d->codec) {
			x->segment = ((x->b->floats + size - 1) / size + 511) / 512 * 512;
			x->segment_bytes = lines(d->codec->bytes(x->segment));
			x->back_at = end + x->segment_bytes * (uint64_t)size;
			end = x->back_at + x->segment_bytes;
		} else if (d->compress == RT_COMPRESS_POWERSGD) {
			end += (uint64_t)rt_powersgd_floats(x->b, opt->ranks.powersgd_rank) * sizeof(float);
		}
	}
	return end;
}

/* Returns the memory of compression outside the window, in bytes. */
static uint64_t private_bytes(const struct rt_ddp *d, const struct rt_options *opt)
{
	int64_t floats = 0, largest = 1;

	for (int i = 0; i < d->n; i++) {
		const struct bucket *x = &d->list[i];

		largest = GT_MAX(largest, x->segment);
		if (d->codec && d->codec->feedback && d->compressors)
			floats += (x->b->floats + x->segment) * (d->ranks->may_skip ? 2 : 1);
		else if (d->compress == RT_COMPRESS_POWERSGD)
			floats += rt_powersgd_private_floats(x->b, opt->ranks.powersgd_rank);
	}
	return (uint64_t)(floats + 2 * largest) * sizeof(float);
}

static int open_codec(struct rt_ddp *d, struct bucket *x, struct gt_err *err)
{
	int r = 0;

	x->out = (struct rt_coll){ .kind = RT_ALLTOALL, .window = &d->exchange, .offset = x->out_at, .bytes = x->segment_bytes };
	x->back = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &d->exchange, .offset = x->back_at, .bytes = x->segment_bytes };
	if (rt_comm_hosts(d->comm) > 1) {
		x->up = (struct rt_coll){ .kind = RT_HOST_SUM, .window = &d->local, .offset = x->raw.offset, .n = x->raw.n,
					  .threads = x->raw.threads };
		x->down = x->up;
		x->down.kind = RT_HOST_SHARE;
		r = rt_coll_init(&x->up, err);
		if (r)
			return r;
		r = rt_coll_init(&x->down, err);
	}
	if (r || !d->compressors)
		return r;
	r = rt_coll_init(&x->out, err);
	if (r)
		return r;
	r = rt_coll_init(&x->back, err);
	if (r || !d->codec->feedback)
		return r;
	x->residual = calloc((size_t)x->b->floats, sizeof(float));
	x->residual_sum = calloc((size_t)x->segment, sizeof(float));
	x->next_residual = d->ranks->may_skip ? calloc((size_t)x->b->floats, sizeof(float)) : x->residual;
	x->next_residual_sum = d->ranks->may_skip ? calloc((size_t)x->segment, sizeof(float)) : x->residual_sum;
	if (!x->residual || !x->residual_sum || !x->next_residual || !x->next_residual_sum)
		return gt_fail(err, ENOMEM, "no memory for the error feedback of %lld gradients", (long long)x->b->floats);
	return 0;
}

static int open_bucket(struct rt_ddp *d, struct bucket *x, const struct rt_options *opt, const struct rt_cpu *cpu,
		       struct gt_err *err)
{
	int r;

	if (d->ranks->fused) {
		x->ready = x->done = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &d->window };
		r = rt_coll_init(&x->ready, err);
		return r || d->ranks->stage < 2 ? r : rt_coll_init(&x->done, err);
	}
	x->raw = (struct rt_coll){ .kind = RT_ALLREDUCE, .window = &d->window, .offset = x->b->offset, .n = x->b->floats,
				   .threads = cpu->threads };
	r = rt_coll_init(&x->raw, err);
	if (r)
		return r;
	if (d->compress == RT_COMPRESS_POWERSGD)
		return rt_powersgd_new(x->b, opt->ranks.powersgd_rank, &d->window, x->out_at, opt->seed, cpu, &x->powersgd, err);
	return d->codec ? open_codec(d, x, err) : 0;
}

static int agree(struct rt_ddp *d, struct gt_err *err)
{
	uint64_t hash = (uint64_t)d->ranks->gather << 16 | (uint64_t)d->compress << 8 | (uint64_t)d->ranks->team << 1 |
			d->ranks->overlap;

	for (int i = 0; i < d->n; i++)
		hash = gt_hash64(&d->list[i].b->floats, sizeof(int64_t), hash);
	return rt_comm_agree(d->comm, hash, "the buckets of gradients", err);
}

/* Finds the addresses of the same tensors in the windows of the ranks that get updated parameters from this one. */
static void find_shares(struct rt_ddp *d)
{
	const struct rt_ranks *k = d->ranks;
	struct rt_shard *s = &d->shard;
	int own = rt_comm_rank(d->comm);

	*s = (struct rt_shard){ .n = GT_MAX(k->team, 1), .index = k->index, .base = d->local.base };
	for (int i = 0; i < k->team; i++)
		if (i != k->index)
			s->peer[s->n_peers++] = d->local.peer[k->member[i]];
	s->idle = k->gather && own > 0;
	for (int rank = 1; k->gather && !s->idle && rank < rt_comm_size(d->comm); rank++)
		s->peer[s->n_peers++] = d->local.peer[rank];
	for (int rank = 0; k->fused && rank < rt_comm_size(d->comm); rank++) {
		s->weight[rank] = (float)rt_comm_weight(d->comm, rank);
		s->in[s->n_in++] = d->local.peer[rank];
	}
}

static int open_rendezvous(struct rt_ddp *d, struct gt_err *err)
{
	if (!d->ranks->team && !d->ranks->fused)
		return 0;
	find_shares(d);
	d->meet = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &d->local };
	return rt_coll_init(&d->meet, err);
}

/* Initialises all members except those that need memory. */
static void begin(struct rt_ddp *d, const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_bucket *buckets,
		  int n, uint64_t bytes)
{
	struct rt_comm *comm = opt->ranks.comm;

	d->comm = comm;
	d->ranks = ranks;
	d->plan_bytes = bytes;
	d->compress = opt->ranks.compress;
	d->codec = rt_codec_find(d->compress);
	d->compress_after = opt->ranks.compress_after;
	d->compressors = rt_comm_hosts(comm) > 1 ? rt_comm_across(comm) : comm;
	d->n_compressors = rt_comm_hosts(comm) > 1 ? rt_comm_hosts(comm) : rt_comm_size(comm);
	d->list = gt_xcalloc((size_t)n + 1, sizeof(*d->list));
	d->n = n;
	for (int i = 0; i < n; i++)
		d->list[i].b = &buckets[i];
}

uint64_t rt_ddp_plan_bytes(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_bucket *buckets, int n,
			   uint64_t bytes)
{
	struct rt_ddp d = { 0 };
	uint64_t all;

	begin(&d, opt, ranks, buckets, n, bytes);
	all = lay_out(&d, opt) + private_bytes(&d, opt);
	free(d.list);
	return all;
}

int rt_ddp_new(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_cpu *cpu,
	       const struct rt_bucket *buckets, int n, uint64_t bytes, struct rt_ddp **ret, struct gt_err *err)
{
	struct rt_comm *comm = opt->ranks.comm;
	gt_auto(rt_ddp) *d = gt_xcalloc(1, sizeof(*d));
	int64_t largest = 1;
	int r;

	begin(d, opt, ranks, buckets, n, bytes);
	r = agree(d, err);
	if (r)
		return r;
	r = rt_comm_set_weight(comm, opt->ranks.weight, err);
	if (r)
		return r;
	r = rt_window_map(comm, lay_out(d, opt), !opt->memory.no_huge_pages, &d->window, err);
	if (r)
		return r;
	d->private_bytes = private_bytes(d, opt);
	d->local = rt_window_local(&d->window);
	d->exchange = rt_comm_hosts(comm) > 1 ? rt_window_across(&d->window) : d->window;
	d->loss = (struct rt_coll){ .kind = RT_ALLREDUCE, .window = &d->window, .offset = d->loss.offset, .n = LOSSES };
	r = rt_coll_init(&d->loss, err);
	if (r)
		return r;
	r = open_rendezvous(d, err);
	if (r)
		return r;
	for (int i = 0; i < n; i++) {
		r = open_bucket(d, &d->list[i], opt, cpu, err);
		if (r)
			return r;
		largest = GT_MAX(largest, d->list[i].segment);
	}
	d->scratch = calloc((size_t)largest * 2, sizeof(float));
	if (!d->scratch)
		return gt_fail(err, ENOMEM, "no memory for a segment of %lld gradients", (long long)largest);
	*ret = gt_take(d);
	return 0;
}

void rt_ddp_free(struct rt_ddp *d)
{
	if (!d)
		return;
	for (int i = 0; i < d->n; i++) {
		struct bucket *x = &d->list[i];

		rt_coll_clear(&x->ready);
		rt_coll_clear(&x->done);
		rt_coll_clear(&x->raw);
		rt_coll_clear(&x->up);
		rt_coll_clear(&x->down);
		rt_coll_clear(&x->out);
		rt_coll_clear(&x->back);
		rt_powersgd_free(x->powersgd);
		if (d->ranks->may_skip) {
			free(x->next_residual);
			free(x->next_residual_sum);
		}
		free(x->residual);
		free(x->residual_sum);
	}
	rt_coll_clear(&d->loss);
	rt_coll_clear(&d->meet);
	if (d->window.comm)
		rt_window_unmap(&d->window);
	free(d->list);
	free(d->scratch);
	free(d);
}

char *rt_ddp_base(struct rt_ddp *d)
{
	return d->window.base;
}

uint64_t rt_ddp_bytes(const struct rt_ddp *d)
{
	return d->window.bytes + d->private_bytes;
}

const struct rt_shard *rt_ddp_shard(const struct rt_ddp *d)
{
	return d->shard.n ? &d->shard : NULL;
}

const void *rt_ddp_piece(const struct rt_ddp *d, const struct rt_node *state, int i, uint64_t *ret_bytes)
{
	int64_t lo, hi;

	rt_part(rt_shape_elements(&state->whole), state->piece_unit, d->ranks->team, i, &lo, &hi);
	*ret_bytes = (uint64_t)(hi - lo) * rt_dtype_bytes(state->dtype);
	return d->local.peer[d->ranks->member[i]] + state->offset;
}

const void *rt_ddp_at_rank_0(const struct rt_ddp *d, const struct rt_node *n)
{
	return d->local.peer[0] + n->offset;
}

int rt_ddp_rendezvous(struct rt_ddp *d, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_coll_start(&d->meet, err);

	if (r)
		return r;
	r = rt_coll_wait(&d->meet, err);
	d->waited_s += gt_now_s() - t0;
	return r;
}

static float *loss_at(const struct rt_ddp *d)
{
	return (float *)(void *)(d->window.base + d->loss.offset);
}

int rt_ddp_put_losses(struct rt_ddp *d, const struct rt_losses *own, struct gt_err *err)
{
	float *x = loss_at(d);

	x[0] = (float)(own->batch * own->weight);
	x[1] = (float)own->weight;
	x[2] = (float)(own->update * own->weights);
	x[3] = (float)own->weights;
	return rt_coll_start(&d->loss, err);
}

/* The mean of values with total weight 0 is 0. */
static double mean_of(float sum, float weight)
{
	return weight > 0 ? (double)(sum / weight) : 0;
}

int rt_ddp_losses(struct rt_ddp *d, struct rt_losses *ret, struct gt_err *err)
{
	const float *x = loss_at(d);
	int r = rt_coll_wait(&d->loss, err);

	if (r)
		return r;
	*ret = (struct rt_losses){ .batch = mean_of(x[0], x[1]), .weight = (double)x[1],
				   .update = mean_of(x[2], x[3]), .weights = (double)x[3] };
	return 0;
}
