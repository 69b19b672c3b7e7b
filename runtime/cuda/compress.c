/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed gradients, as in ddp/reduce.c. Each rank compresses a bucket in one segment per rank, and receives its own segment
 * from all ranks. It sums this segment in f32, compresses the sum and sends it to all. All of this is enqueued after the
 * bucket's gradients, on the stream of the reductions, and captured with the backward pass. All buckets share the buffers, one
 * after the other. The error feedback is stored per bucket, in two copies if an update may be skipped (kernel/residual.cuh).
 */
#include <errno.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/kernel/codec.h"
#include "runtime/cuda/kernel/residual.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/nccl.h"
#include "runtime/ddp/codec.h"
#include "runtime/ddp/ddp.h"

#define BLOCK 512 /* kernel/codec.cuh */

_Static_assert(RT_CODE_FP16 == (int)RT_COMPRESS_FP16 && RT_CODE_BF16 == (int)RT_COMPRESS_BF16 &&
	       RT_CODE_INT8 == (int)RT_COMPRESS_INT8 && RT_CODE_ONEBIT == (int)RT_COMPRESS_ONEBIT, "the same numbers");

static int ranks_of(const struct rt_program *p)
{
	return rt_comm_size(p->opt.ranks.comm);
}

static const struct rt_codec *codec_of(const struct rt_program *p)
{
	return rt_engine_of(p)->nccl ? rt_codec_find(p->opt.ranks.compress) : NULL;
}

static bool is_lowrank(const struct rt_program *p)
{
	return rt_engine_of(p)->nccl && p->opt.ranks.compress == RT_COMPRESS_POWERSGD;
}

static int64_t segment_of(const struct rt_program *p, const struct rt_bucket *b)
{
	return ((b->floats + ranks_of(p) - 1) / ranks_of(p) + BLOCK - 1) / BLOCK * BLOCK;
}

static uint64_t segment_bytes(const struct rt_program *p, const struct rt_bucket *b)
{
	return rt_engine_aligned(codec_of(p)->bytes(segment_of(p, b)));
}

static int64_t blocks(int64_t n)
{
	return (n + BLOCK - 1) / BLOCK;
}

static const struct rt_bucket *largest(const struct rt_program *p)
{
	const struct rt_bucket *b = p->plan.buckets;

	for (int i = 1; i < p->plan.n_buckets; i++)
		b = p->plan.buckets[i].floats > b->floats ? &p->plan.buckets[i] : b;
	return b;
}

/* Assigns the buffers shared by all buckets: out, in, back, the sum, the squares, the scale. */
static uint64_t lay_out(const struct rt_program *p, cu_ptr base, struct rt_compress_buffers *ret)
{
	const struct rt_bucket *b = largest(p);
	uint64_t exchange = segment_bytes(p, b) * (uint64_t)ranks_of(p), at = base;

	ret->out = at;
	ret->in = at += exchange;
	ret->back = at += exchange;
	ret->sum = at += exchange;
	ret->part = at += rt_engine_aligned((uint64_t)segment_of(p, b) * sizeof(float));
	ret->scale = at += rt_engine_aligned((uint64_t)blocks(b->floats) * sizeof(double));
	return at + RT_ENGINE_ALIGN - base;
}

static uint64_t residual_bytes(const struct rt_program *p, const struct rt_bucket *b)
{
	return rt_engine_aligned((uint64_t)(b->floats + segment_of(p, b)) * sizeof(float));
}

int rt_compress_copies(const struct rt_program *p)
{
	return rt_plan_measures_gradients(&p->plan) ? 2 : 1;
}

static uint64_t all_residual_bytes(const struct rt_program *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < p->plan.n_buckets; i++)
		bytes += residual_bytes(p, &p->plan.buckets[i]);
	return bytes;
}

uint64_t rt_compress_bytes(const struct rt_program *p)
{
	struct rt_compress_buffers unused;
	uint64_t bytes = 0;

	if (is_lowrank(p))
		return rt_lowrank_bytes(p);
	if (!codec_of(p) || !p->plan.n_buckets)
		return 0;
	bytes = lay_out(p, 0, &unused);
	return codec_of(p)->feedback ? bytes + RT_ENGINE_ALIGN + (uint64_t)rt_compress_copies(p) * all_residual_bytes(p) : bytes;
}

int rt_compress_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	uint64_t bytes = rt_compress_bytes(p);
	cu_ptr base = 0;
	int r;

	if (!bytes)
		return 0;
	r = rt_engine_check(e, e->dev->d.mem_alloc(&base, bytes), "cuMemAlloc", err);
	if (r)
		return r;
	e->compress.out = base; /* base of the allocation, for freeing it */
	if (is_lowrank(p))
		return rt_lowrank_open(p, base, err);
	e->compress.end = base + lay_out(p, base, &e->compress);
	if (!codec_of(p)->feedback)
		return 0;
	e->compress.state = e->compress.end;
	e->compress.residual = e->compress.state + RT_ENGINE_ALIGN;
	e->compress.end = base + bytes;
	return 0;
}

int rt_compress_clear(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = is_lowrank(p) ? rt_lowrank_start_q(p, err) : 0;

	if (r)
		return r;
	if (!e->compress.state)
		return 0;
	return rt_engine_check(e, e->dev->d.fill_async(e->compress.state, 0, e->compress.end - e->compress.state, e->stream),
			       "cuMemsetD8Async", err);
}

int rt_engine_clear_residual(struct rt_program *p, struct gt_err *err)
{
	int r = rt_engine_wait(p, err);

	if (!r)
		r = rt_compress_clear(p, err);
	return r ? r : rt_engine_drain(p->state, err);
}

bool rt_compress_active(const struct rt_program *p, int64_t step)
{
	return (codec_of(p) || is_lowrank(p)) && step > p->opt.ranks.compress_after;
}

/*
 * Returns the first copy of the bucket's error feedback; the error feedback of the own segment's sum follows it. 0: no
 * error feedback.
 */
static cu_ptr residual_of(const struct rt_program *p, int bucket)
{
	cu_ptr at = rt_engine_of(p)->compress.residual;

	if (!codec_of(p)->feedback)
		return 0;
	for (int i = 0; i < bucket; i++)
		at += residual_bytes(p, &p->plan.buckets[i]);
	return at;
}

#define ON_REDUCE(e, kernel, n, threads, ...)                                                                                  \
	rt_launch_on(e, (e)->reduce, kernel, (unsigned)GT_MAX(n, 1), threads, (void *[]){ __VA_ARGS__ })

void rt_compress_begin(struct rt_engine *e)
{
	if (e->compress.state)
		ON_REDUCE(e, RT_K_kept_begin, 1, 1, &e->compress.state, &e->step);
}

void rt_compress_settle(struct rt_program *p)
{
	struct rt_engine *e = p->state;
	int two = rt_compress_copies(p) == 2;
	cu_ptr norm = two ? e->norm : 0;

	if (e->compress.state && !e->plain)
		RT_LAUNCH(e, RT_K_kept_settle, 1, 1, 1, 1, 0, &e->compress.state, &e->step, &norm, &e->step_loss, &two);
}

static void scale_of(struct rt_engine *e, int64_t n)
{
	int64_t parts = blocks(n);

	ON_REDUCE(e, RT_K_code_scale, 1, 256, &e->compress.scale, &e->compress.part, &parts, &n);
}

static int clear_gaps(struct rt_engine *e, const struct rt_bucket *b, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < b->n; i++) {
		int64_t at, n = rt_bucket_gap(b, i, &at);
		cu_ptr to = e->window + b->offset + (cu_ptr)at * sizeof(float);

		if (n)
			r = rt_engine_check(e, e->dev->d.fill_async(to, 0, (size_t)n * sizeof(float), e->reduce),
					    "cuMemsetD8Async", err);
	}
	return r;
}

static void send_out(struct rt_program *p, struct rt_compress_bucket c, cu_ptr g, cu_ptr residual)
{
	struct rt_engine *e = p->state;
	cu_ptr scale = residual ? e->compress.scale : 0;
	float w = 1 / (float)ranks_of(p), one = 1;

	if (residual) {
		ON_REDUCE(e, RT_K_code_feed, blocks(c.n), 64, &c, &g, &w, &residual, &e->compress.part);
		scale_of(e, c.n);
	}
	c.key = (uint64_t)rt_comm_rank(p->opt.ranks.comm) << 48;
	ON_REDUCE(e, RT_K_code_encode, blocks(c.n), 64, &c, &e->compress.out, &g, residual ? &one : &w, &residual, &scale,
		  &e->step);
}

/* Sums the own segment over all ranks and compresses the sum. n: its floats. */
static void send_back(struct rt_program *p, struct rt_compress_bucket c, int64_t n, cu_ptr residual)
{
	struct rt_engine *e = p->state;
	int ranks = ranks_of(p), rank = rt_comm_rank(p->opt.ranks.comm);
	cu_ptr part = residual ? e->compress.part : 0, scale = residual ? e->compress.scale : 0;
	cu_ptr to = e->compress.back + (cu_ptr)rank * (cu_ptr)c.segment_bytes;
	float one = 1;

	c.n = n;
	c.key = (uint64_t)(rank + 1) << 56;
	ON_REDUCE(e, RT_K_code_sum, blocks(n), 64, &c, &e->compress.sum, &e->compress.in, &ranks, &residual, &part);
	if (residual)
		scale_of(e, n);
	ON_REDUCE(e, RT_K_code_encode, blocks(n), 64, &c, &to, &e->compress.sum, &one, &residual, &scale, &e->step);
}

int rt_compress_reduce(struct rt_program *p, int bucket, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_bucket *b = &p->plan.buckets[bucket];
	int64_t segment = segment_of(p, b), rank = rt_comm_rank(p->opt.ranks.comm);
	int64_t own = GT_MAX(GT_MIN((rank + 1) * segment, b->floats) - rank * segment, 0);
	struct rt_compress_bucket c = { .kind = (int)p->opt.ranks.compress, .bucket = bucket, .n = b->floats,
					.segment = segment, .segment_bytes = (int64_t)segment_bytes(p, b),
					.state = e->compress.state };
	cu_ptr g = e->window + b->offset, residual = residual_of(p, bucket);
	int r = clear_gaps(e, b, err);

	if (r)
		return r;
	if (rt_compress_copies(p) == 2)
		c.stride = (int64_t)(all_residual_bytes(p) / sizeof(float));
	if (!bucket)
		rt_compress_begin(e);
	send_out(p, c, g, residual);
	r = rt_nccl_all_to_all(e->nccl, e->compress.in, e->compress.out, (size_t)c.segment_bytes, e->reduce, err);
	if (r)
		return r;
	send_back(p, c, own, residual ? residual + (cu_ptr)b->floats * sizeof(float) : 0);
	r = rt_nccl_all_gather(e->nccl, e->compress.back, e->compress.back + (cu_ptr)rank * (cu_ptr)c.segment_bytes,
			       (size_t)c.segment_bytes, e->reduce, err);
	if (r)
		return r;
	ON_REDUCE(e, RT_K_code_decode, blocks(c.n), 64, &c, &g, &e->compress.back);
	return 0;
}

double rt_compress_sent_bytes(const struct rt_program *p)
{
	double bytes = 0, ranks = ranks_of(p);

	for (int i = 0; i < p->plan.n_buckets; i++) {
		const struct rt_bucket *b = &p->plan.buckets[i];

		if (is_lowrank(p))
			bytes += rt_lowrank_sent_floats(p, i) * 8 * (ranks - 1) / ranks;
		else if (codec_of(p))
			bytes += (double)segment_bytes(p, b) * (ranks - 1) * 2;
		else
			bytes += (double)b->floats * 8 * (ranks - 1) / ranks;
	}
	return bytes;
}
