/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PowerSGD on devices: runtime/ddp/powersgd.c, stage by stage, on the stream of the reductions, captured with the
 * backward pass. The error feedback and Q are stored per bucket. All buckets share P, the next Q and the partial sums,
 * one after the other. The error and the input of the compression share one buffer. It takes 4 bytes per gradient in addition
 * to the gradients, and 4 more for a second copy if an update may be skipped (kernel/residual.cuh).
 */
#include <errno.h>
#include "runtime/cuda/kernel/lowrank.h"
#include "runtime/cuda/kernel/residual.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/nccl.h"
#include "runtime/ddp/ddp.h"

#define MOST_PARTS 64 /* maximum number of parts of a sum over rows */
#define PART_ROWS  256 /* smallest part */

struct rt_lowrank_bucket {
	cu_ptr matrices, tiles, columns, folds, q, residual;
	int n_tiles, n_columns, n_folds;
	int64_t p_floats, q_floats, part_floats, residual_floats;
};

static struct rt_lowrank shape_of(const struct rt_program *p, const struct rt_bucket *b, int i)
{
	struct rt_lowrank x = { 0 };
	int64_t r;

	rt_powersgd_shape(b->gradient[i], p->opt.ranks.powersgd_rank, &x.n, &x.m, &r);
	x.r = (int32_t)r;
	x.parts = (int32_t)GT_MAX(1, GT_MIN(MOST_PARTS, x.n / PART_ROWS));
	return x;
}

static int64_t pieces(int64_t n, int64_t each)
{
	return (n + each - 1) / each;
}

static void count(const struct rt_program *p, const struct rt_bucket *b, struct rt_lowrank_bucket *ret)
{
	*ret = (struct rt_lowrank_bucket){ 0 };
	for (int i = 0; i < b->n; i++) {
		struct rt_lowrank x = shape_of(p, b, i);
		int64_t columns = x.r ? pieces(x.m, RT_LOWRANK_COLUMNS) : 0;

		ret->n_tiles += (int)pieces(x.n, x.r ? RT_LOWRANK_ROWS : RT_LOWRANK_FLOATS);
		ret->n_columns += (int)columns * x.parts;
		ret->n_folds += (int)columns;
		ret->p_floats += x.n * GT_MAX(x.r, 1);
		ret->q_floats += x.m * x.r;
		ret->part_floats += x.m * x.r * x.parts;
		ret->residual_floats += x.r ? x.n * x.m : 0;
	}
}

static cu_ptr take(cu_ptr *at, uint64_t bytes)
{
	cu_ptr here = *at;

	*at += rt_engine_aligned(bytes);
	return here;
}

/* The error feedback is last: compress.state to compress.end. list: one entry per bucket, filled; may be NULL. */
static uint64_t lay_out(const struct rt_program *p, cu_ptr base, struct rt_compress_buffers *c, struct rt_lowrank_bucket *list)
{
	int64_t most_p = 0, most_q = 0, most_part = 0, places = rt_compress_copies(p);
	struct rt_lowrank_bucket x;
	cu_ptr at = base;

	for (int i = 0; i < p->plan.n_buckets; i++) {
		const struct rt_bucket *b = &p->plan.buckets[i];

		count(p, b, &x);
		most_p = GT_MAX(most_p, x.p_floats);
		most_q = GT_MAX(most_q, x.q_floats);
		most_part = GT_MAX(most_part, x.part_floats);
		x.matrices = take(&at, (uint64_t)b->n * sizeof(struct rt_lowrank));
		x.tiles = take(&at, (uint64_t)x.n_tiles * sizeof(struct rt_lowrank_tile));
		x.columns = take(&at, (uint64_t)x.n_columns * sizeof(struct rt_lowrank_tile));
		x.folds = take(&at, (uint64_t)x.n_folds * sizeof(struct rt_lowrank_tile));
		x.q = take(&at, (uint64_t)(places * x.q_floats) * sizeof(float));
		if (list)
			list[i] = x;
	}
	c->out = base;
	c->sum = take(&at, (uint64_t)most_p * sizeof(float));
	c->back = take(&at, (uint64_t)most_q * sizeof(float));
	c->part = take(&at, (uint64_t)most_part * sizeof(float));
	c->state = take(&at, sizeof(struct rt_residual_state));
	for (int i = 0; i < p->plan.n_buckets; i++) {
		count(p, &p->plan.buckets[i], &x);
		x.residual = take(&at, (uint64_t)(places * x.residual_floats) * sizeof(float));
		if (list)
			list[i].residual = x.residual;
	}
	c->end = at;
	return at - base;
}

uint64_t rt_lowrank_bytes(const struct rt_program *p)
{
	struct rt_compress_buffers unused;

	return p->plan.n_buckets ? lay_out(p, 0, &unused, NULL) : 0;
}

static int put(struct rt_engine *e, cu_ptr to, const void *from, size_t bytes, struct gt_err *err)
{
	return bytes ? rt_cuda_put(e->dev, to, from, bytes, err) : 0;
}

/* Fills the tables of a bucket. */
static int fill(struct rt_program *p, const struct rt_bucket *b, const struct rt_lowrank_bucket *x, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	gt_autofree struct rt_lowrank *m = gt_xcalloc((size_t)b->n, sizeof(*m));
	gt_autofree struct rt_lowrank_tile *tiles = gt_xcalloc((size_t)x->n_tiles + 1, sizeof(*tiles));
	gt_autofree struct rt_lowrank_tile *columns = gt_xcalloc((size_t)x->n_columns + 1, sizeof(*columns));
	gt_autofree struct rt_lowrank_tile *folds = gt_xcalloc((size_t)x->n_folds + 1, sizeof(*folds));
	cu_ptr p_at = e->compress.sum, part = e->compress.part, q = x->q, next = e->compress.back, residual = x->residual;
	int t = 0, c = 0, f = 0, r;
	bool two = rt_compress_copies(p) == 2;

	for (int i = 0; i < b->n; i++) {
		int64_t each;

		m[i] = shape_of(p, b, i);
		m[i].state = e->compress.state;
		m[i].residual_stride = two ? x->residual_floats : 0;
		m[i].q_stride = two ? x->q_floats : 0;
		m[i].gradient = e->window + b->offset + (uint64_t)b->at[i] * sizeof(float);
		m[i].p = p_at;
		m[i].q = q;
		m[i].next = next;
		m[i].part = part;
		m[i].residual = residual;
		p_at += (uint64_t)(m[i].n * GT_MAX(m[i].r, 1)) * sizeof(float);
		q += (uint64_t)(m[i].m * m[i].r) * sizeof(float);
		next += (uint64_t)(m[i].m * m[i].r) * sizeof(float);
		part += (uint64_t)(m[i].m * m[i].r * m[i].parts) * sizeof(float);
		residual += (uint64_t)(m[i].r ? m[i].n * m[i].m : 0) * sizeof(float);
		each = m[i].r ? RT_LOWRANK_ROWS : RT_LOWRANK_FLOATS;
		for (int64_t at = 0; at < m[i].n; at += each)
			tiles[t++] = (struct rt_lowrank_tile){ .start = at, .matrix = i };
		for (int64_t at = 0; m[i].r && at < m[i].m; at += RT_LOWRANK_COLUMNS) {
			folds[f++] = (struct rt_lowrank_tile){ .start = at, .matrix = i };
			for (int k = 0; k < m[i].parts; k++)
				columns[c++] = (struct rt_lowrank_tile){ .start = at, .matrix = i, .part = k };
		}
	}
	r = put(e, x->matrices, m, (size_t)b->n * sizeof(*m), err);
	if (!r)
		r = put(e, x->tiles, tiles, (size_t)t * sizeof(*tiles), err);
	if (!r)
		r = put(e, x->columns, columns, (size_t)c * sizeof(*columns), err);
	return r ? r : put(e, x->folds, folds, (size_t)f * sizeof(*folds), err);
}

int rt_lowrank_open(struct rt_program *p, cu_ptr base, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = 0;

	e->lowrank = gt_xcalloc((size_t)p->plan.n_buckets + 1, sizeof(*e->lowrank));
	lay_out(p, base, &e->compress, e->lowrank);
	for (int i = 0; !r && i < p->plan.n_buckets; i++)
		r = fill(p, &p->plan.buckets[i], &e->lowrank[i], err);
	return r;
}

/* Writes the initial Q as on the CPU, transposed, to its first copy. */
int rt_lowrank_start_q(struct rt_program *p, struct gt_err *err)
{
	int r = 0;

	for (int k = 0; !r && k < p->plan.n_buckets; k++) {
		const struct rt_bucket *b = &p->plan.buckets[k];
		gt_autofree float *q = gt_xcalloc((size_t)rt_engine_of(p)->lowrank[k].q_floats + 1, sizeof(*q));
		float *at = q;

		for (int i = 0; i < b->n; i++) {
			struct rt_lowrank x = shape_of(p, b, i);

			for (int c = 0; c < x.r; c++)
				for (int64_t j = 0; j < x.m; j++)
					*at++ = rt_powersgd_first_q(p->opt.seed, b->at[i], j * x.r + c);
		}
		r = put(p->state, rt_engine_of(p)->lowrank[k].q, q, (size_t)rt_engine_of(p)->lowrank[k].q_floats * sizeof(*q), err);
	}
	return r;
}

#define ON_REDUCE(e, kernel, n, threads, ...)                                                                                  \
	rt_launch_on(e, (e)->reduce, kernel, (unsigned)(n), threads, (void *[]){ __VA_ARGS__ })

int rt_lowrank_reduce(struct rt_program *p, int bucket, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct rt_lowrank_bucket *x = &e->lowrank[bucket];
	int r;

	if (!bucket)
		rt_compress_begin(e);
	ON_REDUCE(e, RT_K_lowrank_p, x->n_tiles, 256, &x->matrices, &x->tiles);
	r = rt_nccl_mean(e->nccl, e->compress.sum, e->compress.sum, x->p_floats, e->reduce, err);
	if (!r && x->q_floats) {
		ON_REDUCE(e, RT_K_lowrank_orthonormal, p->plan.buckets[bucket].n, 1024, &x->matrices);
		ON_REDUCE(e, RT_K_lowrank_q, x->n_columns, RT_LOWRANK_COLUMNS, &x->matrices, &x->columns);
		ON_REDUCE(e, RT_K_lowrank_fold, x->n_folds, RT_LOWRANK_COLUMNS, &x->matrices, &x->folds);
		r = rt_nccl_mean(e->nccl, e->compress.back, e->compress.back, x->q_floats, e->reduce, err);
	}
	if (!r)
		ON_REDUCE(e, RT_K_lowrank_expand, x->n_tiles, 256, &x->matrices, &x->tiles);
	if (!r && x->q_floats)
		ON_REDUCE(e, RT_K_lowrank_keep, p->plan.buckets[bucket].n, 1024, &x->matrices);
	return r;
}

double rt_lowrank_sent_floats(const struct rt_program *p, int bucket)
{
	struct rt_lowrank_bucket x;

	count(p, &p->plan.buckets[bucket], &x);
	return (double)(x.p_floats + x.q_floats);
}
