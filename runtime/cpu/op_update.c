/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to gradients: scaled, added up over batches, measured, and spent by the optimizers. */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

/* y = or += x * loss_scale */
void rt_cpu_scale(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]), scale = run->loss_scale;
	bool add = c->attr.accumulate & 1;

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		y[i] = x[i] * scale + (add ? y[i] : 0);
}

/* y = or += x */
void rt_cpu_sum_up(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
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

/* Squares are summed per chunk, chunks in order: the same bits on any number of threads. */
void rt_cpu_grad_norm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape), chunks = (n + RT_NORM_CHUNK - 1) / RT_NORM_CHUNK;
	const float *g = rt_f32(c->in[0]);
	double *sums = (double *)c->out[RT_MAX_IO - 1]->data;
	int team = rt_cpu_team(cpu, 4.0 * (double)n), bad = 0;

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1) reduction(| : bad)
	for (int64_t i = 0; i < chunks; i++)
		bad |= !cpu->simd->sum_squares(g + i * RT_NORM_CHUNK, GT_MIN(RT_NORM_CHUNK, n - i * RT_NORM_CHUNK), &sums[i]);
	for (int64_t i = 0; i < chunks; i++)
		run->gradients->sum_squares += sums[i];
	if (bad && !run->gradients->not_finite)
		run->gradients->not_finite = c->in[0];
}

/* torch's order: decay the parameter, then m, v, then the step. Adam adds the decay to the gradient instead. */
static struct rt_adamw adamw_numbers(const struct rt_run *run)
{
	const struct rt_optimizer *o = run->optimizer;

	return (struct rt_adamw){
		.decay = o->kind == RT_ADAM ? 1 : (float)(1 - o->lr * o->weight_decay),
		.l2 = o->kind == RT_ADAM ? (float)o->weight_decay : 0,
		.beta1 = (float)o->beta1,
		.beta2 = (float)o->beta2,
		.rest1 = (float)(1 - o->beta1),
		.rest2 = (float)(1 - o->beta2),
		.step_size = (float)(o->lr / run->correction1),
		.scale2 = (float)(1 / sqrt(run->correction2)),
		.eps = (float)o->eps,
		.grad_scale = run->grad_scale,
	};
}

void rt_cpu_adamw(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_adamw h = adamw_numbers(run);
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 28.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->adamw(rt_f32(c->out[0]) + lo, rt_f32(c->out[1]) + lo, rt_f32(c->out[2]) + lo, rt_f32(c->in[0]) + lo,
				 hi - lo, &h);
	}
}

/* Whole blocks per thread: each has its own maximum. */
void rt_cpu_adamw8(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_adamw h = adamw_numbers(run);
	const struct rt_map8 *map_m = rt_map8(true), *map_v = rt_map8(false);
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	uint8_t *m = c->out[1]->data, *v = c->out[2]->data;
	int team = rt_cpu_team(cpu, 16.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, RT_MAP8_BLOCK, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		for (int64_t i = lo; i < hi; i += RT_MAP8_BLOCK)
			cpu->simd->adamw8(rt_f32(c->out[0]) + i, m + i, v + i, rt_f32(c->out[3]) + i / RT_MAP8_BLOCK,
					  rt_f32(c->out[4]) + i / RT_MAP8_BLOCK, rt_f32(c->in[0]) + i,
					  GT_MIN(RT_MAP8_BLOCK, hi - i), &h, map_m, map_v);
	}
}

void rt_cpu_sgd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_optimizer *o = run->optimizer;
	const struct rt_sgd h = {
		.lr = (float)o->lr,
		.momentum = (float)o->momentum,
		.weight_decay = (float)o->weight_decay,
		.grad_scale = run->grad_scale,
		.first = run->step == 1,
	};
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 20.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;
		float *m = rt_f32(c->out[1]);

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->sgd(rt_f32(c->out[0]) + lo, m ? m + lo : NULL, rt_f32(c->in[0]) + lo, hi - lo, &h);
	}
}
