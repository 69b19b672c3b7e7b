/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise ops and dot. */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

/* y = act(x), any shape */
static void run_act(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 8.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		/* bias_act() writes its input only if there is a bias. */
		cpu->simd->bias_act((float *)(uintptr_t)(x + lo), y + lo, NULL, 1, hi - lo, c->attr.act);
	}
}

const struct rt_cpu_kernel rt_cpu_act = { .run = run_act };

/* dx = or += dy act'(saved), any shape */
static void run_act_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 12.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->act_bwd(rt_f32(c->out[0]) + lo, rt_f32(c->in[0]) + lo, rt_f32(c->in[1]) + lo, hi - lo, c->attr.act,
				   c->attr.accumulate & 1);
	}
}

const struct rt_cpu_kernel rt_cpu_act_bwd = { .run = run_act_bwd };

/* Adds b to parts of a with b's length. lo..hi may start and end inside a part. */
static void add_parts(const struct rt_simd *simd, float *y, const float *a, const float *b, int64_t part, int64_t lo, int64_t hi)
{
	while (lo < hi) {
		int64_t run = GT_MIN(hi - lo, part - lo % part);

		simd->add(y + lo, a + lo, b + lo % part, run);
		lo += run;
	}
}

/* y = a + b (b is broadcast over the first dimensions of a) */
static void run_add(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape), part = rt_shape_elements(&c->in[1]->shape);
	int team = rt_cpu_team(cpu, 12.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		add_parts(cpu->simd, rt_f32(c->out[0]), rt_f32(c->in[0]), rt_f32(c->in[1]), part, lo, hi);
	}
}

const struct rt_cpu_kernel rt_cpu_add = { .run = run_add };

/* y = or += a b, any shape */
static void run_mul(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 12.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->mul(rt_f32(c->out[0]) + lo, rt_f32(c->in[0]) + lo, rt_f32(c->in[1]) + lo, hi - lo,
			       c->attr.accumulate & 1);
	}
}

const struct rt_cpu_kernel rt_cpu_mul = { .run = run_mul };

/* y = or += scale x + offset, any shape */
static void run_affine(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 8.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->affine(rt_f32(c->out[0]) + lo, rt_f32(c->in[0]) + lo, c->attr.scale, c->attr.offset, hi - lo,
				  c->attr.accumulate & 1);
	}
}

const struct rt_cpu_kernel rt_cpu_affine = { .run = run_affine };

/* The gradient is the same op on dy, with the same mask. */
static void run_dropout(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	uint64_t key = rt_random_u64(run->seed, RT_DROPOUT_STREAM + (uint64_t)c->attr.stream, (uint64_t)run->batch);
	double rate = run->eval ? 0 : (double)c->attr.rate;
	uint32_t limit = (uint32_t)(rate * 4294967296.0);
	int64_t first = c->attr.first_row * rt_cols(c->in[0]);
	int team = rt_cpu_team(cpu, 8.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->dropout(rt_f32(c->out[0]) + lo, rt_f32(c->in[0]) + lo, hi - lo, (uint64_t)(first + lo), key, limit,
				   (float)(1 / (1 - rate)), c->attr.accumulate & 1);
	}
}

const struct rt_cpu_kernel rt_cpu_dropout = { .run = run_dropout };

/* y = x with another shape */
static void run_reshape(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	if (c->out[0]->data != c->in[0]->data)
		memcpy(c->out[0]->data, c->in[0]->data, rt_node_bytes(c->in[0]));
}

const struct rt_cpu_kernel rt_cpu_reshape = { .run = run_reshape };

/* out: y (N/parts,C) = block `part` of x (N,C) */
static void run_own_rows(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	uint64_t bytes = rt_node_bytes(c->out[0]);

	memcpy(c->out[0]->data, (const char *)c->in[0]->data + (uint64_t)c->attr.part * bytes, bytes);
}

const struct rt_cpu_kernel rt_cpu_own_rows = { .run = run_own_rows };

/* One thread, in double; for checks. */
static void run_dot(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const float *a = rt_f32(c->in[0]), *b = rt_f32(c->in[1]);
	double s = 0;

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		s += (double)a[i] * (double)b[i];
	*rt_f32(c->out[0]) = (float)s;
}

const struct rt_cpu_kernel rt_cpu_dot = { .run = run_dot };
