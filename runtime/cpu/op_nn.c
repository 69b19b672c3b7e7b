/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, rmsnorm, swiglu, reductions and batched products. */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/reduce.h"

/* y (M,C) = softmax(x (M,C)) per row */
static void run_softmax(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(rows, 1, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->softmax(rt_f32(c->out[0]) + lo * cols, rt_f32(c->in[0]) + lo * cols, cols, hi - lo, cols, NULL);
	}
}

const struct rt_cpu_kernel rt_cpu_softmax = { .run = run_softmax };

/* dx (M,C) = y (dy - sum(dy y)) per row */
static void run_softmax_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++) {
		const float *dy = rt_f32(c->in[0]) + r * cols, *y = rt_f32(c->in[1]) + r * cols;
		float *dx = rt_f32(c->out[0]) + r * cols, d;

		cpu->simd->row_dots(&d, dy, y, cols, 1, cols);
		if (dx != dy)
			memcpy(dx, dy, (size_t)cols * sizeof(float));
		cpu->simd->softmax_bwd(dx, y, cols, 1, cols, &d, 1);
	}
}

const struct rt_cpu_kernel rt_cpu_softmax_bwd = { .run = run_softmax_bwd };

/* y (M,C) = x (M,C) rstd gain (C); saves rstd (M) */
static void run_rmsnorm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, 8.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(rows, 1, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->rms(rt_f32(c->out[0]) + lo * cols, c->out[1] ? rt_f32(c->out[1]) + lo : NULL,
			       rt_f32(c->in[0]) + lo * cols, rt_f32(c->in[1]), c->attr.eps, hi - lo, cols);
	}
}

const struct rt_cpu_kernel rt_cpu_rmsnorm = { .run = run_rmsnorm };

/* The sums over rows come first, because dx may reuse the memory of dy. */
static void run_rmsnorm_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	const float *dy = rt_f32(c->in[0]), *x = rt_f32(c->in[1]), *rstd = rt_f32(c->in[3]);
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int n = omp_get_num_threads(), i = omp_get_thread_num();
		int64_t lo, hi;

		rt_part(cols, 16, n, i, &lo, &hi);
		if (c->out[1])
			cpu->simd->rms_bwd_gain(rt_f32(c->out[1]), dy, x, rstd, rows, cols, lo, hi, c->attr.accumulate & 2);
#pragma omp barrier
		rt_part(rows, 1, n, i, &lo, &hi);
		if (c->out[0])
			cpu->simd->rms_bwd(rt_f32(c->out[0]) + lo * cols, dy + lo * cols, x + lo * cols, rt_f32(c->in[2]),
					   rstd + lo, hi - lo, cols, c->attr.accumulate & 1);
	}
}

const struct rt_cpu_kernel rt_cpu_rmsnorm_bwd = { .run = run_rmsnorm_bwd };

/* y (M,F) = silu(a) b, with a and b side by side in x (M,2F) */
static void run_swiglu(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->out[0]), cols = rt_cols(c->out[0]);
	int team = rt_cpu_team(cpu, 16.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(rows, 1, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->swiglu(rt_f32(c->out[0]) + lo * cols, rt_f32(c->in[0]) + 2 * lo * cols, hi - lo, cols);
	}
}

const struct rt_cpu_kernel rt_cpu_swiglu = { .run = run_swiglu };

/* dx (M,2F) from dy (M,F) and x (M,2F) */
static void run_swiglu_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, 24.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(rows, 1, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->swiglu_bwd(rt_f32(c->out[0]) + 2 * lo * cols, rt_f32(c->in[0]) + lo * cols,
				      rt_f32(c->in[1]) + 2 * lo * cols, hi - lo, cols);
	}
}

const struct rt_cpu_kernel rt_cpu_swiglu_bwd = { .run = run_swiglu_bwd };

#define COLUMNS	64 /* columns reduced at once, row by row in memory order */

/* y (inner) = or += scale * sum of x (n,inner), columns lo..hi. */
static void sum_columns(const float *x, float *y, const struct rt_extents *e, float scale, bool add, int64_t lo, int64_t hi)
{
	double sum[COLUMNS] = { 0 };

	for (int64_t k = 0; k < e->n; k++)
		for (int64_t i = lo; i < hi; i++)
			sum[i - lo] += (double)x[k * e->inner + i];
	for (int64_t i = lo; i < hi; i++)
		y[i] = (float)sum[i - lo] * scale + (add ? y[i] : 0);
}

static void max_columns(const float *x, float *y, const struct rt_extents *e, bool add, int64_t lo, int64_t hi)
{
	for (int64_t i = lo; i < hi; i++) {
		float max = -INFINITY;

		for (int64_t k = 0; k < e->n; k++) {
			float v = x[k * e->inner + i];

			max = v > max || v != v ? v : max;
		}
		y[i] = max + (add ? y[i] : 0);
	}
}

/* y (outer,inner) = or += sum, mean or maximum of x (outer,n,inner) */
static void run_reduce(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct rt_extents e = rt_reduce_extents(c->in[0], c->out[0], &c->attr);
	int64_t blocks = (e.inner + COLUMNS - 1) / COLUMNS;
	float scale = c->attr.reduction == RT_MEAN ? 1.0f / (float)e.n : 1.0f;
	int team = rt_cpu_team(cpu, (double)rt_node_bytes(c->in[0]));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t i = 0; i < e.outer * blocks; i++) {
		int64_t o = i / blocks, lo = i % blocks * COLUMNS, hi = GT_MIN(lo + COLUMNS, e.inner);
		const float *x = rt_f32(c->in[0]) + o * e.n * e.inner;
		float *y = rt_f32(c->out[0]) + o * e.inner;

		if (c->attr.reduction == RT_MAX)
			max_columns(x, y, &e, c->attr.accumulate & 1, lo, hi);
		else
			sum_columns(x, y, &e, scale, c->attr.accumulate & 1, lo, hi);
	}
}

const struct rt_cpu_kernel rt_cpu_reduce = { .run = run_reduce };

/*
 * Adds one row of dy to each of the n rows that were summed. For a maximum, only to the first row that has the maximum.
 */
static void reduce_bwd_row(const struct rt_call *c, const struct rt_extents *e, int64_t o)
{
	const float *dy = rt_f32(c->in[0]) + o * e->inner;
	const float *x = c->in[1] ? rt_f32(c->in[1]) + o * e->n * e->inner : NULL;
	const float *y = c->in[2] ? rt_f32(c->in[2]) + o * e->inner : NULL;
	float *dx = rt_f32(c->out[0]) + o * e->n * e->inner, scale = c->attr.reduction == RT_MEAN ? 1.0f / (float)e->n : 1.0f;
	bool add = c->attr.accumulate & 1;

	for (int64_t k = 0; k < e->n; k++)
		for (int64_t i = 0; i < e->inner; i++) {
			int64_t at = k * e->inner + i;
			float g = dy[i] * scale;

			if (x && x[at] != y[i])
				g = 0;
			for (int64_t b = 0; x && g != 0 && b < k; b++)
				if (x[b * e->inner + i] == y[i])
					g = 0;
			dx[at] = add ? dx[at] + g : g;
		}
}

/* dx (outer,n,inner) = or += the gradient from dy (outer,inner); for a maximum also from x, y */
static void run_reduce_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct rt_extents e = rt_reduce_extents(c->out[0], c->in[0], &c->attr);
	int team = rt_cpu_team(cpu, (double)rt_node_bytes(c->out[0]));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t o = 0; o < e.outer; o++)
		reduce_bwd_row(c, &e, o);
}

const struct rt_cpu_kernel rt_cpu_reduce_bwd = { .run = run_reduce_bwd };

/* One after the other; a large product runs on the whole team. */
static void batched_gemm(const struct rt_cpu *cpu, const struct rt_call *c, int64_t batch, int64_t m, int64_t n, int64_t k,
			 int64_t lda, int64_t ldb)
{
	enum rt_dtype type = c->in[0]->dtype;
	const char *a = c->in[0]->data, *b = c->in[1]->data;
	size_t size = rt_dtype_bytes(type);

	for (int64_t i = 0; i < batch; i++)
		rt_gemm_any(cpu, type, c->attr.ta, c->attr.tb, m, n, k, a + (size_t)(i * m * k) * size, lda,
			    b + (size_t)(i * k * n) * size, ldb, (float)(c->attr.accumulate & 1), rt_f32(c->out[0]) + i * m * n, n,
			    rt_f32(c->out[RT_MAX_IO - 1]));
}

/* Scratch for widened operands, if the reduced-precision type is for storage only. */
static size_t matmul_scratch(const struct rt_call *c, int threads)
{
	return rt_widen_scratch_bytes(c->in[0], c->in[1]);
}

/* A single product runs on the whole team, several products on one thread each. Reduced-precision products on units of
 * the CPU run one after the other. */
static void run_matmul(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_shape *s = &c->in[0]->shape, *t = &c->out[0]->shape;
	int64_t m = t->d[t->n - 2], n = t->d[t->n - 1], k = s->d[s->n - (c->attr.ta ? 2 : 1)];
	int64_t batch = rt_shape_elements(t) / (m * n), lda = c->attr.ta ? m : k, ldb = c->attr.tb ? k : n;
	const float *a = rt_f32(c->in[0]), *b = rt_f32(c->in[1]);
	float *y = rt_f32(c->out[0]), beta = (float)(c->attr.accumulate & 1);
	int team = rt_cpu_team(cpu, c->op->flops(c) / 4);

	if (batch == 1 || rt_cpu_gemm_isa(c->in[0]->dtype)) {
		batched_gemm(cpu, c, batch, m, n, k, lda, ldb);
		return;
	}
	if (c->in[0]->dtype != RT_F32) {
		a = rt_f32(c->out[RT_MAX_IO - 1]);
		b = a + (batch * m * k + 15) / 16 * 16;
		rt_widen(cpu, c->in[0]->dtype, (float *)a, c->in[0]->data, batch * m * k);
		rt_widen(cpu, c->in[0]->dtype, (float *)b, c->in[1]->data, batch * k * n);
	}
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
	for (int64_t i = 0; i < batch; i++)
		rt_gemm_one(c->attr.ta, c->attr.tb, m, n, k, 1, a + i * m * k, lda, b + i * k * n, ldb, beta, y + i * m * n, n);
}

const struct rt_cpu_kernel rt_cpu_matmul = { .run = run_matmul, .scratch = matmul_scratch };
