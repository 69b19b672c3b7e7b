/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread sums its rows per channel. All threads add these sums in the same order. Then each thread processes its
 * own rows, which are still in its cache if they fit.
 *
 * All computations use x - mean with the mean rounded to float. That difference is exact where the mean is large and
 * the deviation small, so both directions are as accurate there as at mean 0. The rounding error of the mean is
 * corrected per channel: the forward pass has computed it, the backward pass sums it again.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

#define N_SUMS	3 /* the forward pass uses two of them */

struct norm {
	int64_t rows, cols;
	double *sums; /* N_SUMS sums of each channel, for each thread */
	float *mean, *a, *b, *k; /* coefficients of each channel, for the second half of the work */
};

static struct norm norm_of(const struct rt_cpu *cpu, const struct rt_call *c)
{
	struct norm n = { .rows = c->attr.rows ? c->attr.rows : rt_rows(c->in[0]), .cols = rt_cols(c->in[3]),
			  .sums = c->out[RT_MAX_IO - 1]->data };

	n.mean = (float *)(void *)(n.sums + N_SUMS * cpu->threads * n.cols);
	n.a = n.mean + n.cols;
	n.b = n.a + n.cols;
	n.k = n.b + n.cols;
	return n;
}

/* Returns sum `which` of channel j over the team, in thread order. */
static double team_sum(const struct norm *n, int team, int64_t j, int which)
{
	double sum = 0;

	for (int t = 0; t < team; t++)
		sum += n->sums[(N_SUMS * t + which) * n->cols + j];
	return sum;
}

/* Sets the coefficients of y = (x - m) r gain + bias. n->mean is m rounded to float. */
static void set_affine(const struct norm *n, int64_t j, double m, double r, double gain, double bias)
{
	n->mean[j] = (float)m;
	n->a[j] = (float)(r * gain);
	n->b[j] = (float)(bias - (m - (double)n->mean[j]) * r * gain);
}

/*
 * Chooses the value that is subtracted from x before summing. It must be near the mean, or the variance loses digits to
 * cancellation. For any distribution the median is within one standard deviation of the mean. The median of three rows
 * approximates it. A single row may be an outlier. The first row often is one: a corner of the padding, or the token that
 * attends only to itself.
 */
static void find_shift(const struct norm *n, const float *x)
{
	static const double where[] = { 0.146, 0.382, 0.764 };
	const float *row[3];

	for (int i = 0; i < 3; i++)
		row[i] = x + (int64_t)(where[i] * (double)n->rows) * n->cols;
	for (int64_t j = 0; j < n->cols; j++) {
		float a = row[0][j], b = row[1][j], c = row[2][j], lower = a < b ? a : b, high = a < b ? b : a;
		float upper = high < c ? high : c;

		n->mean[j] = lower > upper ? lower : upper;
	}
}

/* The batch's statistics. The sums are of x - n->mean, as set by find_shift(). */
static void batch_statistics(const struct norm *n, const struct rt_call *c, int team)
{
	const float *gain = rt_f32(c->in[1]), *bias = rt_f32(c->in[2]);
	float *mean = rt_f32(c->out[1]), *rstd = rt_f32(c->out[2]);

	for (int64_t j = 0; j < n->cols; j++) {
		double m = team_sum(n, team, j, 0) / (double)n->rows;
		double var = fmax(team_sum(n, team, j, 1) / (double)n->rows - m * m, 0), r = 1 / sqrt(var + (double)c->attr.eps);

		m += (double)n->mean[j];
		if (mean)
			mean[j] = (float)m;
		if (rstd)
			rstd[j] = (float)r;
		set_affine(n, j, m, r, (double)gain[j], (double)bias[j]);
	}
}

static void running_statistics(const struct norm *n, const struct rt_call *c)
{
	const float *gain = rt_f32(c->in[1]), *bias = rt_f32(c->in[2]), *mean = rt_f32(c->in[3]), *var = rt_f32(c->in[4]);
	const float *left_out = rt_f32(c->in[6]);

	for (int64_t j = 0; j < n->cols; j++) {
		double r = 1 / sqrt((double)var[j] + (double)c->attr.eps);
		double m = (double)mean[j] - (left_out ? (double)left_out[j] : 0);

		set_affine(n, j, m, r, (double)gain[j], (double)bias[j]);
	}
}

/* Per channel: three sums per thread, in double, and four coefficients. */
static size_t batchnorm_scratch(const struct rt_call *c, int threads)
{
	return (N_SUMS * (size_t)threads + 2) * sizeof(double) * (size_t)rt_cols(c->in[3]);
}

/* y (M,C) = act((x (M,C) - mean) rstd gain (C) + bias (C) [+ residual (M,C)]); saves mean, rstd (C) */
static void run_batchnorm(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct norm n = norm_of(cpu, c);
	const float *x = rt_f32(c->in[0]), *residual = rt_f32(c->in[5]);
	float *y = rt_f32(c->out[0]);
	uint8_t *open = c->out[3] ? c->out[3]->data : NULL;
	int team = rt_cpu_team(cpu, 12.0 * (double)n.rows * (double)n.cols);

	if (!run->eval)
		find_shift(&n, x);
#pragma omp parallel num_threads(team) if (team > 1)
	{
		int thread = omp_get_thread_num(), all = omp_get_num_threads();
		int64_t lo, hi;

		rt_part(n.rows, 1, all, thread, &lo, &hi);
		if (!run->eval)
			cpu->simd->channel_sums(n.sums + N_SUMS * thread * n.cols, x + lo * n.cols, n.mean, hi - lo,
						n.cols);
#pragma omp barrier
#pragma omp single
		{
			if (run->eval)
				running_statistics(&n, c);
			else
				batch_statistics(&n, c, all);
		}
		cpu->simd->channel_affine(y + lo * n.cols, open ? open + lo * rt_bits_bytes(n.cols) : NULL, x + lo * n.cols,
					  residual ? residual + lo * n.cols : NULL, n.mean, n.a, n.b, hi - lo, n.cols,
					  c->attr.act == RT_ACT_RELU);
	}
}

const struct rt_cpu_kernel rt_cpu_batchnorm = { .run = run_batchnorm, .scratch = batchnorm_scratch };

/* dx = a g + b (x - mean) + k; g is the gradient after the activation. */
static void gradients(const struct norm *n, const struct rt_call *c, int team)
{
	const float *gain = rt_f32(c->in[2]), *rstd = rt_f32(c->in[4]);
	float *dgain = rt_f32(c->out[1]), *dbias = rt_f32(c->out[2]);

	for (int64_t j = 0; j < n->cols; j++) {
		double r = (double)rstd[j], scale = r * (double)gain[j], g = team_sum(n, team, j, 0);
		double off = team_sum(n, team, j, 2) / (double)n->rows; /* exact mean - mean[j] */
		double gx = team_sum(n, team, j, 1) - off * g;

		if (dgain)
			dgain[j] = (float)(gx * r) + (c->attr.accumulate & 2 ? dgain[j] : 0);
		if (dbias)
			dbias[j] = (float)g + (c->attr.accumulate & 4 ? dbias[j] : 0);
		g /= (double)n->rows;
		gx *= r * r / (double)n->rows;
		n->a[j] = (float)scale;
		n->b[j] = (float)(-scale * gx);
		n->k[j] = (float)(scale * (off * gx - g));
	}
}

static void move_running(const struct norm *n, const struct rt_call *c)
{
	const float *mean = rt_f32(c->in[3]), *rstd = rt_f32(c->in[4]), *left_out = rt_f32(c->in[6]);
	float *running_mean = rt_f32(c->out[4]), *running_var = rt_f32(c->out[5]);
	double weight = (double)c->attr.rate, unbiased = (double)n->rows / (double)(n->rows - 1);

	for (int64_t j = 0; j < n->cols; j++) {
		double m = (double)mean[j] + (left_out ? (double)left_out[j] : 0), r = (double)rstd[j];
		double var = fmax(1 / (r * r) - (double)c->attr.eps, 0) * unbiased;

		running_mean[j] = (float)((1 - weight) * (double)running_mean[j] + weight * m);
		running_var[j] = (float)((1 - weight) * (double)running_var[j] + weight * var);
	}
}

/* dx, dresidual (M,C), dgain, dbias (C) from dy, x (M,C), mean, rstd (C); updates the running statistics (C) */
static void run_batchnorm_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct norm n = norm_of(cpu, c);
	const float *dy = rt_f32(c->in[0]), *x = rt_f32(c->in[1]), *mean = rt_f32(c->in[3]);
	const uint8_t *bits = c->in[5] ? c->in[5]->data : NULL;
	float *dx = rt_f32(c->out[0]), *dres = rt_f32(c->out[3]);
	int team = rt_cpu_team(cpu, 16.0 * (double)n.rows * (double)n.cols);

	if (!dy) {
		move_running(&n, c);
		return;
	}
#pragma omp parallel num_threads(team) if (team > 1)
	{
		int thread = omp_get_thread_num(), all = omp_get_num_threads();
		const uint8_t *open;
		int64_t lo, hi, at;

		rt_part(n.rows, 1, all, thread, &lo, &hi);
		at = lo * n.cols;
		open = bits ? bits + lo * rt_bits_bytes(n.cols) : NULL;
		cpu->simd->channel_bwd_sums(n.sums + N_SUMS * thread * n.cols, dy + at, open, x + at, mean, hi - lo, n.cols);
#pragma omp barrier
#pragma omp single
		{
			gradients(&n, c, all);
			move_running(&n, c);
		}
		cpu->simd->channel_bwd(dx ? dx + at : NULL, dres ? dres + at : NULL, dy + at, open, x + at, mean, n.a,
				       n.b, n.k, hi - lo, n.cols, c->attr.accumulate & 1, c->attr.accumulate & 8);
	}
}

const struct rt_cpu_kernel rt_cpu_batchnorm_bwd = { .run = run_batchnorm_bwd, .scratch = batchnorm_scratch };
