/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/cross_entropy.h"

/* Loss of each row; with grad, logits become their own gradient or grad receives it. All strides ld but grad's is cols. */
static void rows_loss(const struct rt_cpu *cpu, float *logits, int64_t ld, const float *bias, float *grad, int64_t ld_grad,
		      const int32_t *targets, float *losses, int64_t rows, int64_t cols, float scale)
{
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++)
		losses[r] = cpu->simd->cross_entropy(logits + r * ld, bias, grad ? grad + r * ld_grad : NULL, cols, targets[r],
						     scale);
}

static void mean_loss(float *loss, const float *losses, int64_t rows)
{
	double sum = 0;

	for (int64_t r = 0; r < rows; r++)
		sum += (double)losses[r];
	*loss = (float)(sum / (double)rows);
}

/* in: logits (M,V), targets. out: loss, dlogits (M,V), rows (M) */
void rt_cpu_cross_entropy(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);
	float *grad = run->eval ? NULL : rt_f32(c->out[1]), *losses = rt_f32(c->out[2]);

	rows_loss(cpu, rt_f32(c->in[0]), cols, NULL, grad, cols, c->in[1]->data, losses, rows, cols, 1.0f / (float)rows);
	mean_loss(rt_f32(c->out[0]), losses, rows);
}

/* in: x (M,C), w (V,C), b (V), targets. out: loss, dx, dw, db, rows (M), and a slice of logits */
void rt_cpu_linear_cross_entropy(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), inner = rt_cols(c->in[0]), cols = c->in[1]->shape.d[0];
	int64_t ld = rt_cross_entropy_stride(c), slice = rt_cross_entropy_slice(c);
	const float *x = rt_f32(c->in[0]), *w = rt_f32(c->in[1]), *b = rt_f32(c->in[2]);
	const int32_t *targets = c->in[3]->data;
	float *logits = rt_f32(c->out[RT_MAX_IO - 1]), *losses = rt_f32(c->out[4]), scale = 1.0f / (float)rows;
	float *dx = run->eval ? NULL : rt_f32(c->out[1]), *dw = run->eval ? NULL : rt_f32(c->out[2]);
	float *db = run->eval ? NULL : rt_f32(c->out[3]);
	bool grad = dx || dw || db;

	for (int64_t r = 0; r < rows; r += slice) {
		int64_t m = GT_MIN(slice, rows - r);

		rt_gemm(cpu, false, true, m, cols, inner, 1, x + r * inner, inner, w, inner, 0, logits, ld);
		rows_loss(cpu, logits, ld, b, grad ? logits : NULL, ld, targets + r, losses + r, m, cols, scale);
		if (dx)
			rt_gemm(cpu, false, false, m, inner, cols, 1, logits, ld, w, inner, 0, dx + r * inner, inner);
		if (dw)
			rt_gemm(cpu, true, false, cols, inner, m, 1, logits, ld, x + r * inner, inner, r > 0, dw, inner);
		if (db)
			rt_cpu_column_sums(cpu, db, logits, m, cols, ld, r > 0);
	}
	mean_loss(rt_f32(c->out[0]), losses, rows);
}
