/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on gradients: scaling, summing over batches, norms, and optimizer updates. */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/update.h"
#include "runtime/transport/reduce.h"

/* y = or += x * loss_scale */
static void run_scale(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]), scale = run->loss_scale;
	bool add = c->attr.accumulate & 1;

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		y[i] = x[i] * scale + (add ? y[i] : 0);
}

const struct rt_cpu_kernel rt_cpu_scale = { .run = run_scale };

/* y = or += x */
static void run_sum_up(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 12.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		if (c->attr.accumulate & 1)
			cpu->simd->add(y + lo, y + lo, x + lo, hi - lo);
		else if (hi > lo)
			memcpy(y + lo, x + lo, (size_t)(hi - lo) * sizeof(float));
	}
}

const struct rt_cpu_kernel rt_cpu_sum_up = { .run = run_sum_up };

static size_t grad_norm_scratch(const struct rt_call *c, int threads)
{
	return (size_t)((rt_shape_elements(&c->in[0]->shape) + RT_NORM_CHUNK - 1) / RT_NORM_CHUNK) * sizeof(double);
}

/*
 * Sums the squares per chunk, and the chunks in order, so that the bits do not depend on the number of threads. The
 * gradients are scaled first, as in the update, because with a large loss scale their squares overflow.
 */
/*
 * Returns the number of elements. For a piece, returns the elements of this rank, which may be fewer than in the largest piece.
 */
static int64_t own_elements(const struct rt_node *n, const struct rt_shard *s)
{
	int64_t lo = 0, hi = rt_shape_elements(&n->shape);

	if (n->piece_unit)
		rt_part(rt_shape_elements(&n->whole), n->piece_unit, s->n, s->index, &lo, &hi);
	return hi - lo;
}

static void run_grad_norm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = own_elements(c->in[0], run->shard), chunks = (n + RT_NORM_CHUNK - 1) / RT_NORM_CHUNK;
	const float *g = rt_f32(c->in[0]);
	double *sums = (double *)c->out[RT_MAX_IO - 1]->data;
	double *total = &run->gradients->squares[c->attr.parts > 0][c->in[0]->piece_unit > 0];
	int team = rt_cpu_team(cpu, 4.0 * (double)n), bad = 0;

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1) reduction(| : bad)
	for (int64_t i = 0; i < chunks; i++)
		bad |= !cpu->simd->sum_squares(g + i * RT_NORM_CHUNK, GT_MIN(RT_NORM_CHUNK, n - i * RT_NORM_CHUNK), run->grad_scale,
					      &sums[i]);
	for (int64_t i = 0; i < chunks; i++)
		*total += sums[i];
	if (bad && !run->gradients->not_finite)
		run->gradients->not_finite = c->in[0];
}

const struct rt_cpu_kernel rt_cpu_grad_norm = { .run = run_grad_norm, .scratch = grad_norm_scratch };

static struct rt_adamw adamw_numbers(const struct rt_run *run)
{
	struct rt_adamw h = run->adamw;

	h.grad_scale = run->grad_scale;
	return h;
}

/* ---- update of one tensor, or of this rank's part ---- */

/*
 * Elements that are summed, updated and copied together: one sharding unit, the minimum. Memory throughput is best if
 * all streams are read together. With blocks of 2048 elements two ranks of an MLP were 5 % slower, with 512 1.5 %.
 */
#define BLOCK	RT_PIECE_UNIT

/* Updates elements from..to of the parameter. w and g are their values and gradients. State starts at `origin`. */
typedef void update_fn(const struct rt_cpu *cpu, const struct rt_call *c, float *w, const float *g, int64_t from, int64_t to,
		       int64_t origin, const void *numbers);

/* Returns element i of a tensor; of a piece, whose first element is `origin`. */
static float *element(const struct rt_node *n, int64_t i, int64_t origin)
{
	return rt_f32(n) + i - (n->piece_unit ? origin : 0);
}

/* Sums the gradients, updates, and copies new values to the other ranks in one pass over memory. */
static void sharded_block(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_shard *s, update_fn *fn, int64_t from,
			  int64_t to, int64_t origin, const void *numbers)
{
	float *x[RT_MAX_RANKS], sum[BLOCK], *g = element(c->in[0], from, origin), *w = element(c->out[0], from, origin);
	bool reduces = s->n_in && !c->in[0]->piece_unit;

	for (int i = 0; i < s->n_in; i++)
		x[i] = rt_cpu_at_rank(s, s->in[i], c->in[0]) + from;
	if (reduces) {
		g = sum;
		rt_sum_ranks(&g, 1, x, s->weight, s->n_in, 0, to - from, 1);
	}
	fn(cpu, c, w, g, from, to, origin, numbers);
	for (int i = 0; i < s->n_peers && !c->out[0]->piece_unit; i++)
		memcpy(rt_cpu_at_rank(s, s->peer[i], c->out[0]) + from, w, (size_t)(to - from) * sizeof(float));
}

/* bytes: memory traffic per element. */
static void update(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run, double bytes, update_fn *fn,
		   const void *numbers)
{
	const struct rt_shard *s = run->shard;
	int64_t first, end;
	int team;

	rt_part(rt_shape_elements(c->in[0]->piece_unit ? &c->in[0]->whole : &c->in[0]->shape), RT_PIECE_UNIT, s ? s->n : 1,
		s ? s->index : 0, &first, &end);
	team = rt_cpu_team(cpu, bytes * (double)(end - first));
#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(end - first, RT_PIECE_UNIT, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		lo += first;
		hi += first;
		if (!s && hi > lo)
			fn(cpu, c, rt_f32(c->out[0]) + lo, rt_f32(c->in[0]) + lo, lo, hi, 0, numbers);
		for (int64_t at = lo; s && at < hi; at += BLOCK)
			sharded_block(cpu, c, s, fn, at, GT_MIN(at + BLOCK, hi), first, numbers);
	}
}

static void adamw(const struct rt_cpu *cpu, const struct rt_call *c, float *w, const float *g, int64_t from, int64_t to,
		  int64_t origin, const void *numbers)
{
	cpu->simd->adamw(w, rt_f32(c->out[1]) + from - origin, rt_f32(c->out[2]) + from - origin, g,
			 to - from, numbers);
}

/* parameter, m, v: updated in place from the gradient of the same shape */
static void run_adamw(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_adamw h = adamw_numbers(run);

	update(cpu, c, run, 28.0, adamw, &h);
}

const struct rt_cpu_kernel rt_cpu_adamw = { .run = run_adamw };

/* from and to are multiples of a block, because each block has its own maximum. */
static void adamw8(const struct rt_cpu *cpu, const struct rt_call *c, float *w, const float *g, int64_t from, int64_t to,
		   int64_t origin, const void *numbers)
{
	const struct rt_map8 *map_m = rt_map8(true), *map_v = rt_map8(false);
	uint8_t *m = c->out[1]->data, *v = c->out[2]->data;

	for (int64_t i = from; i < to; i += RT_MAP8_BLOCK) {
		int64_t at = i - origin, block = at / RT_MAP8_BLOCK;

		cpu->simd->adamw8(w + (i - from), m + at, v + at, rt_f32(c->out[3]) + block, rt_f32(c->out[4]) + block,
				  g + (i - from), GT_MIN(RT_MAP8_BLOCK, to - i), numbers, map_m, map_v);
	}
}

/* parameter, codes of m and v, and their scales (one per block): updated in place */
static void run_adamw8(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_adamw h = adamw_numbers(run);

	update(cpu, c, run, 16.0, adamw8, &h);
}

const struct rt_cpu_kernel rt_cpu_adamw8 = { .run = run_adamw8 };

static void sgd(const struct rt_cpu *cpu, const struct rt_call *c, float *w, const float *g, int64_t from, int64_t to,
		int64_t origin, const void *numbers)
{
	float *m = rt_f32(c->out[1]);

	cpu->simd->sgd(w, m ? m + from - origin : NULL, g, to - from, numbers);
}

/* parameter and momentum (may be absent): updated in place from the gradient of the same shape */
static void run_sgd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct rt_sgd h = run->sgd;

	h.grad_scale = run->grad_scale;
	update(cpu, c, run, 20.0, sgd, &h);
}

const struct rt_cpu_kernel rt_cpu_sgd = { .run = run_sgd };

/* With a sharded update, clears the elements of this rank's part, also in the memory of the other ranks. */
static void run_mask(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_shard *s = run->shard;
	const uint8_t *mask = c->out[1]->data;
	int64_t first, end;
	int team;

	rt_part(rt_shape_elements(&c->out[0]->shape), RT_PIECE_UNIT, s ? s->n : 1, s ? s->index : 0, &first, &end);
	team = rt_cpu_team(cpu, 4.0 * (double)(end - first));
	for (int k = -1; k < (s ? s->n_peers : 0); k++) {
		float *w = k < 0 ? rt_f32(c->out[0]) : rt_cpu_at_rank(s, s->peer[k], c->out[0]);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
		for (int64_t i = first; i < end; i++)
			w[i] = mask[i] ? 0 : w[i];
	}
}

const struct rt_cpu_kernel rt_cpu_mask = { .run = run_mask };
