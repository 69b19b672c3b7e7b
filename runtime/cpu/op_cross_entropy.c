/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/cross_entropy.h"

/* Computes the loss of each row. With grad, also the gradient of the logits, in place or in grad. The stride is ld, of
 * grad ld_grad. */
static void rows_loss(const struct rt_cpu *cpu, float *logits, int64_t ld, const float *bias, float *grad, int64_t ld_grad,
		      const int32_t *targets, float *losses, int64_t rows, int64_t cols, float scale)
{
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++) {
		float *row_grad = grad ? grad + r * ld_grad : NULL;

		if (targets[r] != RT_IGNORE) {
			losses[r] = cpu->simd->cross_entropy(logits + r * ld, bias, row_grad, cols, targets[r], scale);
			continue;
		}
		losses[r] = 0;
		if (row_grad)
			memset(row_grad, 0, (size_t)cols * sizeof(float));
	}
}

int64_t rt_cpu_count_targets(const int32_t *targets, int64_t rows)
{
	int64_t n = 0;

	for (int64_t r = 0; r < rows; r++)
		n += targets[r] != RT_IGNORE;
	return GT_MAX(n, 1);
}

void rt_cpu_mean_loss(float *loss, const float *losses, int64_t rows, int64_t count)
{
	double sum = 0;

	for (int64_t r = 0; r < rows; r++)
		sum += (double)losses[r];
	*loss = (float)(sum / (double)count);
}

/* in: logits (M,V), targets. out: loss, dlogits (M,V), rows (M) */
static void run_cross_entropy(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]), count = rt_cpu_count_targets(c->in[1]->data, rows);
	float *grad = run->eval ? NULL : rt_f32(c->out[1]), *losses = rt_f32(c->out[2]);

	rows_loss(cpu, rt_f32(c->in[0]), cols, NULL, grad, cols, c->in[1]->data, losses, rows, cols,
		  run->loss_scale / (float)count);
	rt_cpu_mean_loss(rt_f32(c->out[0]), losses, rows, count);
}

const struct rt_cpu_kernel rt_cpu_cross_entropy = { .run = run_cross_entropy };

/* Returns the gradient of a slice of logits, in the type that the products read. */
static const void *slice_gradient(const struct rt_cpu *cpu, const struct rt_call *c, float *logits, void *reduced, int64_t count)
{
	if (c->in[0]->dtype == RT_F32)
		return logits;
	rt_narrow(cpu, c->in[0]->dtype, reduced, logits, count);
	return reduced;
}

static size_t linear_cross_entropy_scratch(const struct rt_call *c, int threads)
{
	size_t logits = (size_t)(rt_cross_entropy_slice(c) * rt_cross_entropy_stride(c));

	if (c->in[0]->dtype == RT_F32)
		return logits * sizeof(float);
	/* Logits, their gradient in reduced precision, and widened operands if the type is for storage only. */
	return logits * (sizeof(float) + 2) + 64 +
	       (rt_widen_scratch_bytes(c->in[0], c->in[1]) ?
			rt_widen_scratch_bytes(c->in[0], c->in[1]) + logits * sizeof(float) : 0);
}

/* in: x (M,C), w (V,C), b (V), targets. out: loss, dx, dw, db, rows (M); scratch: a slice of logits */
static void run_linear_cross_entropy(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), inner = rt_cols(c->in[0]), cols = c->in[1]->shape.d[0];
	int64_t ld = rt_cross_entropy_stride(c), slice = rt_cross_entropy_slice(c);
	enum rt_dtype type = c->in[0]->dtype;
	const char *x = c->in[0]->data, *w = c->in[1]->data;
	const float *b = rt_f32(c->in[2]);
	const int32_t *targets = c->in[3]->data;
	int64_t count = rt_cpu_count_targets(targets, rows);
	float *logits = rt_f32(c->out[RT_MAX_IO - 1]), *losses = rt_f32(c->out[4]), scale = run->loss_scale / (float)count;
	float *dx = run->eval ? NULL : rt_f32(c->out[1]), *dw = run->eval ? NULL : rt_f32(c->out[2]);
	float *db = run->eval ? NULL : rt_f32(c->out[3]);
	uint16_t *reduced = (uint16_t *)(void *)(logits + slice * ld);
	float *widened = (float *)(void *)(reduced + (slice * ld + 31) / 32 * 32);
	bool grad = dx || dw || db;

	for (int64_t r = 0; r < rows; r += slice) {
		int64_t m = GT_MIN(slice, rows - r);
		const char *xs = x + (size_t)(r * inner) * rt_dtype_bytes(type);
		const void *d;

		rt_gemm_any(cpu, type, false, true, m, cols, inner, xs, inner, w, inner, 0, logits, ld, widened);
		rows_loss(cpu, logits, ld, b, grad ? logits : NULL, ld, targets + r, losses + r, m, cols, scale);
		if (!grad)
			continue;
		if (db)
			rt_cpu_column_sums(cpu, db, logits, m, cols, ld, r > 0 || c->attr.accumulate & 8);
		d = slice_gradient(cpu, c, logits, reduced, m * ld);
		if (dx)
			rt_gemm_any(cpu, type, false, false, m, inner, cols, d, ld, w, inner, 0, dx + r * inner, inner,
				    widened);
		if (dw)
			rt_gemm_any(cpu, type, true, false, cols, inner, m, d, ld, xs, inner,
				    r > 0 || c->attr.accumulate & 4, dw, inner, widened);
	}
	rt_cpu_mean_loss(rt_f32(c->out[0]), losses, rows, count);
}

const struct rt_cpu_kernel rt_cpu_linear_cross_entropy = {
	.run = run_linear_cross_entropy,
	.scratch = linear_cross_entropy_scratch,
};
