/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on the part of a vocabulary that this rank has: see graph/op_vocabulary.c. */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/cross_entropy.h"

/* Returns the column of the target in the own part, or -1. */
static int64_t own_target(const struct rt_call *c, int32_t target)
{
	int64_t at = target - c->attr.first_row;

	return target != RT_IGNORE && at >= 0 && at < rt_cols(c->in[0]) ? at : -1;
}

static void run_softmax_part(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	const float *x = rt_f32(c->in[0]);
	const int32_t *targets = c->in[1]->data;
	float *probs = rt_f32(c->out[0]), *stats = rt_f32(c->out[1]);
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++) {
		int64_t at = own_target(c, targets[r]);

		stats[2 * r + 1] = at < 0 ? 0 : x[r * cols + at];
		cpu->simd->softmax(probs + r * cols, x + r * cols, cols, 1, cols, &stats[2 * r]);
	}
}

const struct rt_cpu_kernel rt_cpu_softmax_part = { .run = run_softmax_part };

/* Returns the log-sum-exp of row r over all parts, and the target's logit in *ret_own. The order of the sums is the same
 * in all ranks. */
static float join_row(const struct rt_call *c, const float *stats, int64_t rows, int64_t r, float *ret_own)
{
	float max = -INFINITY, sum = 0, own = 0;

	for (int i = 0; i < c->attr.parts; i++)
		max = fmaxf(max, stats[2 * (i * rows + r)]);
	for (int i = 0; i < c->attr.parts; i++) {
		sum += expf(stats[2 * (i * rows + r)] - max);
		own += stats[2 * (i * rows + r) + 1];
	}
	*ret_own = own;
	return max + logf(sum);
}

/* Turns the probabilities of a row into the gradient of its logits. */
static void row_gradient(float *grad, const float *probs, int64_t cols, float factor, int64_t target, float scale)
{
	for (int64_t j = 0; j < cols; j++)
		grad[j] = probs[j] * factor;
	if (target >= 0)
		grad[target] -= scale;
}

static void run_cross_entropy_parts(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]), count = rt_cpu_count_targets(c->in[1]->data, rows);
	const float *probs = rt_f32(c->in[0]), *stats = rt_f32(c->in[2]);
	float *grad = run->eval ? NULL : rt_f32(c->out[1]), *losses = rt_f32(c->out[2]), scale = run->loss_scale / (float)count;
	const int32_t *targets = c->in[1]->data;
	int team = rt_cpu_team(cpu, 8.0 * (double)rows * (double)cols);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++) {
		bool counts = targets[r] != RT_IGNORE;
		float own, lse = join_row(c, stats, rows, r, &own);
		float factor = counts ? scale * expf(stats[2 * (c->attr.part * rows + r)] - lse) : 0;

		losses[r] = counts ? lse - own : 0;
		if (grad)
			row_gradient(grad + r * cols, probs + r * cols, cols, factor, own_target(c, targets[r]), scale);
	}
	rt_cpu_mean_loss(rt_f32(c->out[0]), losses, rows, count);
}

const struct rt_cpu_kernel rt_cpu_cross_entropy_parts = { .run = run_cross_entropy_parts };
