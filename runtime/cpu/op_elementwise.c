/* SPDX-License-Identifier: Apache-2.0 */
/* add, activations, dot. */
#include <omp.h>
#include "runtime/cpu/cpu.h"

void rt_cpu_act(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 8.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		/* Without a bias the input is only read. */
		cpu->simd->bias_act((float *)(uintptr_t)(x + lo), y + lo, NULL, 1, hi - lo, c->attr.act);
	}
}

void rt_cpu_act_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
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

void rt_cpu_add(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 12.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->add(rt_f32(c->out[0]) + lo, rt_f32(c->in[0]) + lo, rt_f32(c->in[1]) + lo, hi - lo);
	}
}

/* For checks, not for speed: one thread, in double. */
void rt_cpu_dot(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const float *a = rt_f32(c->in[0]), *b = rt_f32(c->in[1]);
	double s = 0;

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		s += (double)a[i] * (double)b[i];
	*rt_f32(c->out[0]) = (float)s;
}
