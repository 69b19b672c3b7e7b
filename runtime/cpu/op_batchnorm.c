/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread sums its rows per channel, all add the threads' sums up in the same order, and each finishes its own rows,
 * which are then still in its cache if they fit there.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

struct norm {
	int64_t rows, cols;
	double *sums; /* per thread: two per channel */
	float *a, *b, *k; /* per channel: what the second half of the work multiplies and adds */
};

static struct norm norm_of(const struct rt_cpu *cpu, const struct rt_call *c)
{
	struct norm n = { .rows = c->op->id == RT_OP_BATCHNORM ? rt_rows(c->in[0]) : c->attr.rows, .cols = rt_cols(c->in[3]),
			  .sums = c->out[RT_MAX_IO - 1]->data };

	n.a = (float *)(void *)(n.sums + 2 * cpu->threads * n.cols);
	n.b = n.a + n.cols;
	n.k = n.b + n.cols;
	return n;
}

static void add_up(const struct norm *n, int team, int64_t j, double *ret_a, double *ret_b)
{
	*ret_a = *ret_b = 0;
	for (int t = 0; t < team; t++) {
		*ret_a += n->sums[2 * t * n->cols + j];
		*ret_b += n->sums[(2 * t + 1) * n->cols + j];
	}
}

/* y = x a + b with the batch's own statistics; sums are of x - shift, shift being the first row. */
static void own_statistics(const struct norm *n, const struct rt_call *c, int team)
{
	const float *shift = rt_f32(c->in[0]), *gain = rt_f32(c->in[1]), *bias = rt_f32(c->in[2]);
	float *mean = rt_f32(c->out[1]), *rstd = rt_f32(c->out[2]);

	for (int64_t j = 0; j < n->cols; j++) {
		double s, q, m, var, r;

		add_up(n, team, j, &s, &q);
		m = s / (double)n->rows;
		var = fmax(q / (double)n->rows - m * m, 0);
		m += (double)shift[j];
		r = 1 / sqrt(var + (double)c->attr.eps);
		if (mean)
			mean[j] = (float)m;
		if (rstd)
			rstd[j] = (float)r;
		n->a[j] = (float)(r * (double)gain[j]);
		n->b[j] = (float)((double)bias[j] - m * r * (double)gain[j]);
	}
}

static void running_statistics(const struct norm *n, const struct rt_call *c)
{
	const float *gain = rt_f32(c->in[1]), *bias = rt_f32(c->in[2]), *mean = rt_f32(c->in[3]), *var = rt_f32(c->in[4]);
	const float *left_out = rt_f32(c->in[6]);

	for (int64_t j = 0; j < n->cols; j++) {
		double r = 1 / sqrt((double)var[j] + (double)c->attr.eps);
		double m = (double)mean[j] - (left_out ? (double)left_out[j] : 0);

		n->a[j] = (float)(r * (double)gain[j]);
		n->b[j] = (float)((double)bias[j] - m * r * (double)gain[j]);
	}
}

void rt_cpu_batchnorm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct norm n = norm_of(cpu, c);
	const float *x = rt_f32(c->in[0]), *residual = rt_f32(c->in[5]);
	float *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 12.0 * (double)n.rows * (double)n.cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int me = omp_get_thread_num(), all = omp_get_num_threads();
		int64_t lo, hi;

		rt_part(n.rows, 1, all, me, &lo, &hi);
		if (!run->eval)
			cpu->simd->channel_sums(n.sums + 2 * me * n.cols, x + lo * n.cols, x, hi - lo, n.cols);
#pragma omp barrier
#pragma omp single
		{
			if (run->eval)
				running_statistics(&n, c);
			else
				own_statistics(&n, c, all);
		}
		cpu->simd->channel_affine(y + lo * n.cols, x + lo * n.cols, residual ? residual + lo * n.cols : NULL, n.a, n.b,
					  hi - lo, n.cols, c->attr.act == RT_ACT_RELU);
	}
}

/* dx = a g + b x + k, with g the gradient behind the activation. */
static void gradients(const struct norm *n, const struct rt_call *c, int team)
{
	const float *gain = rt_f32(c->in[2]), *mean = rt_f32(c->in[3]), *rstd = rt_f32(c->in[4]);
	float *dgain = rt_f32(c->out[1]), *dbias = rt_f32(c->out[2]);

	for (int64_t j = 0; j < n->cols; j++) {
		double g, gx, m = (double)mean[j], r = (double)rstd[j], scale = r * (double)gain[j];

		add_up(n, team, j, &g, &gx); /* of g, and of g (x - mean) */
		if (dgain)
			dgain[j] = (float)(gx * r) + (c->attr.accumulate & 2 ? dgain[j] : 0);
		if (dbias)
			dbias[j] = (float)g + (c->attr.accumulate & 4 ? dbias[j] : 0);
		g /= (double)n->rows;
		gx *= r * r / (double)n->rows;
		n->a[j] = (float)scale;
		n->b[j] = (float)(-scale * gx);
		n->k[j] = (float)(scale * (m * gx - g));
	}
}

static void move_running(const struct norm *n, const struct rt_call *c)
{
	const float *mean = rt_f32(c->in[3]), *rstd = rt_f32(c->in[4]), *left_out = rt_f32(c->in[6]);
	float *running_mean = rt_f32(c->out[4]), *running_var = rt_f32(c->out[5]);
	double share = (double)c->attr.rate, unbiased = (double)n->rows / (double)(n->rows - 1);

	for (int64_t j = 0; j < n->cols; j++) {
		double m = (double)mean[j] + (left_out ? (double)left_out[j] : 0), r = (double)rstd[j];
		double var = fmax(1 / (r * r) - (double)c->attr.eps, 0) * unbiased;

		running_mean[j] = (float)((1 - share) * (double)running_mean[j] + share * m);
		running_var[j] = (float)((1 - share) * (double)running_var[j] + share * var);
	}
}

void rt_cpu_batchnorm_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct norm n = norm_of(cpu, c);
	const float *dy = rt_f32(c->in[0]), *x = rt_f32(c->in[1]), *y = rt_f32(c->in[5]);
	float *dx = rt_f32(c->out[0]), *dres = rt_f32(c->out[3]);
	int team = rt_cpu_team(cpu, 16.0 * (double)n.rows * (double)n.cols);

	if (!dy) {
		move_running(&n, c);
		return;
	}
#pragma omp parallel num_threads(team) if (team > 1)
	{
		int me = omp_get_thread_num(), all = omp_get_num_threads();
		int64_t lo, hi, at;

		rt_part(n.rows, 1, all, me, &lo, &hi);
		at = lo * n.cols;
		cpu->simd->channel_bwd_sums(n.sums + 2 * me * n.cols, dy + at, y ? y + at : NULL, x + at, rt_f32(c->in[3]),
					    hi - lo, n.cols);
#pragma omp barrier
#pragma omp single
		{
			gradients(&n, c, all);
			move_running(&n, c);
		}
		cpu->simd->channel_bwd(dx ? dx + at : NULL, dres ? dres + at : NULL, dy + at, y ? y + at : NULL, x + at, n.a,
				       n.b, n.k, hi - lo, n.cols, c->attr.accumulate & 1, c->attr.accumulate & 8);
	}
}
