/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include "runtime/cpu/cpu.h"

void rt_cpu_column_sums(const struct rt_cpu *cpu, float *out, const float *x, int64_t rows, int64_t cols, int64_t ld, bool add)
{
	int team = rt_cpu_team(cpu, 4.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(cols, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		cpu->simd->column_sums(out, x, rows, ld, lo, hi, add);
	}
}

struct bias_act {
	struct rt_gemm_end end;
	const struct rt_simd *simd;
	float *x, *y;
	const float *bias;
	int64_t ld;
	enum rt_act act;
};

static void bias_act(const struct rt_gemm_end *end, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
	const struct bias_act *b = (const void *)end;
	int64_t at = row * b->ld + col;

	if (cols == b->ld) {
		b->simd->bias_act(b->x + at, b->y + at, b->bias, rows, cols, b->act);
		return;
	}
	for (int64_t r = 0; r < rows; r++, at += b->ld)
		b->simd->bias_act(b->x + at, b->y + at, b->bias ? b->bias + col : NULL, 1, cols, b->act);
}

void rt_cpu_bias_act(const struct rt_cpu *cpu, float *x, float *y, const float *bias, int64_t rows, int64_t cols, enum rt_act act)
{
	struct bias_act b = { { bias_act }, cpu->simd, x, y, bias, cols, act };

	rt_gemm_finish(cpu, &b.end, rows, cols);
}

/* Returns whether the call reads its weight once for few rows. */
static bool has_few_rows(const struct rt_call *c)
{
	return rt_rows(c->in[0]) <= RT_GEMM_ROWS && (c->in[0]->dtype == RT_F32 || c->in[0]->dtype == RT_BF16);
}

/* Scratch for widened operands: x of few rows, or both if the reduced-precision type is for storage only. */
static size_t linear_fwd_scratch(const struct rt_call *c, int threads)
{
	if (!has_few_rows(c))
		return rt_widen_scratch_bytes(c->in[0], c->in[1]);
	return c->in[0]->dtype == RT_F32 ? 0 : (size_t)rt_shape_elements(&c->in[0]->shape) * sizeof(float);
}

/* c = x w^T, then `end` */
static void multiply_rows(const struct rt_cpu *cpu, const struct rt_call *c, float *y, const struct rt_gemm_end *end)
{
	int64_t m = rt_rows(c->in[0]), k = rt_cols(c->in[0]), n = rt_cols(c->out[0]);
	const float *x = rt_f32(c->in[0]);

	if (c->in[0]->dtype != RT_F32) {
		x = rt_f32(c->out[RT_MAX_IO - 1]);
		rt_widen(cpu, c->in[0]->dtype, rt_f32(c->out[RT_MAX_IO - 1]), c->in[0]->data, m * k);
	}
	rt_gemm_rows(cpu, c->in[1]->dtype, m, n, k, x, c->in[1]->data, false, y, n, end);
}

/* Scratch for widened operands, if the reduced-precision type is for storage only. */
static size_t linear_scratch(const struct rt_call *c, int threads)
{
	return rt_widen_scratch_bytes(c->in[0], c->in[1]);
}

/* y (M,N) = act(x (M,K) w (N,K)^T + b) */
static void run_linear(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t m = rt_rows(c->in[0]), k = rt_cols(c->in[0]), n = rt_cols(c->out[0]);
	float *y = rt_f32(c->out[0]), *pre = c->out[1] ? rt_f32(c->out[1]) : y;
	struct bias_act b = { { bias_act }, cpu->simd, pre, y, rt_f32(c->in[2]), n, c->attr.act };
	bool more = b.bias || c->attr.act != RT_ACT_NONE;

	if (has_few_rows(c)) {
		multiply_rows(cpu, c, pre, more ? &b.end : NULL);
		return;
	}
	if (c->in[0]->dtype == RT_F32) {
		rt_gemm_then(cpu, false, true, m, n, k, 1, c->in[0]->data, k, c->in[1]->data, k, 0, pre, n,
			     more ? &b.end : NULL);
		return;
	}
	rt_gemm_any(cpu, c->in[0]->dtype, false, true, m, n, k, c->in[0]->data, k, c->in[1]->data, k, 0, pre, n,
		    rt_f32(c->out[RT_MAX_IO - 1]));
	if (more)
		rt_gemm_finish(cpu, &b.end, m, n);
}

const struct rt_cpu_kernel rt_cpu_linear = { .run = run_linear, .scratch = linear_fwd_scratch };

/* dx (M,K) = or += dy (M,N) w (N,K) */
static void run_linear_bwd_x(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t m = rt_rows(c->in[0]), n = rt_cols(c->in[0]), k = rt_cols(c->in[1]);

	rt_gemm_any(cpu, c->in[0]->dtype, false, false, m, k, n, c->in[0]->data, n, c->in[1]->data, k,
		    (float)(c->attr.accumulate & 1), rt_f32(c->out[0]), k, rt_f32(c->out[RT_MAX_IO - 1]));
}

const struct rt_cpu_kernel rt_cpu_linear_bwd_x = { .run = run_linear_bwd_x, .scratch = linear_scratch };

/* dw (N,K) = or += dy (M,N)^T x (M,K); db (N) = or += column sums of dy */
static void run_linear_bwd_w(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t m = rt_rows(c->in[0]), n = rt_cols(c->in[0]), k = rt_cols(c->in[1]);

	if (c->out[0])
		rt_gemm_any(cpu, c->in[0]->dtype, true, false, n, k, m, c->in[0]->data, n, c->in[1]->data, k,
			    (float)(c->attr.accumulate & 1), rt_f32(c->out[0]), k, rt_f32(c->out[RT_MAX_IO - 1]));
	if (c->out[1])
		rt_cpu_column_sums(cpu, rt_f32(c->out[1]), rt_f32(c->in[2]), m, n, n, c->attr.accumulate & 2);
}

const struct rt_cpu_kernel rt_cpu_linear_bwd_w = { .run = run_linear_bwd_w, .scratch = linear_scratch };
