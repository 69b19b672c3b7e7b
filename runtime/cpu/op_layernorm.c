/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include "runtime/cpu/cpu.h"

static float *at(const struct rt_node *n, int64_t offset)
{
	return n ? rt_f32(n) + offset : NULL;
}

/* x (M,C) = a + b if b is not NULL; y = layernorm(x). out points to y, mean, rstd. */
static void norm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_node *x, const struct rt_node *b,
		 struct rt_node *const *gain, struct rt_node *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, (b ? 16.0 : 8.0) * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(rows, 1, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->norm(at(x, lo * cols), at(out[0], lo * cols), at(out[1], lo), at(out[2], lo), at(c->in[0], lo * cols),
				at(b, lo * cols), rt_f32(gain[0]), rt_f32(gain[1]), c->attr.eps, hi - lo, cols);
	}
}

/* y (M,C) = layernorm(x (M,C)); saves mean, rstd (M) */
static void run_layernorm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	norm(cpu, c, NULL, NULL, c->in + 1, c->out);
}

const struct rt_cpu_kernel rt_cpu_layernorm = { .run = run_layernorm };

/* x (M,C) = a + b; y (M,C) = layernorm(x); saves mean, rstd (M) */
static void run_add_layernorm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	norm(cpu, c, c->out[0], c->in[1], c->in + 2, c->out + 1);
}

const struct rt_cpu_kernel rt_cpu_add_layernorm = { .run = run_add_layernorm };

/* The sums over rows come first, because dx may reuse the memory of dy. */
static void run_layernorm_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);
	const float *dy = rt_f32(c->in[0]), *x = rt_f32(c->in[1]), *mean = rt_f32(c->in[3]), *rstd = rt_f32(c->in[4]);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int n = omp_get_num_threads(), i = omp_get_thread_num();
		int64_t lo, hi;

		rt_part(cols, 16, n, i, &lo, &hi);
		if (c->out[1] || c->out[2])
			cpu->simd->norm_bwd_gain(rt_f32(c->out[1]), rt_f32(c->out[2]), dy, x, mean, rstd, rows, cols, lo, hi,
						 c->attr.accumulate & 2, c->attr.accumulate & 4);
#pragma omp barrier
		rt_part(rows, 1, n, i, &lo, &hi);
		if (c->out[0])
			cpu->simd->norm_bwd(rt_f32(c->out[0]) + lo * cols, dy + lo * cols, x + lo * cols, rt_f32(c->in[2]),
					    mean + lo, rstd + lo, hi - lo, cols, c->attr.accumulate & 1);
	}
}

const struct rt_cpu_kernel rt_cpu_layernorm_bwd = { .run = run_layernorm_bwd };
