/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of bf16 and f16 tensors with f32 sums. If the CPU multiplies bf16 (AVX512_BF16, AMX), oneDNN's matmul
 * is used. Otherwise the type is for storage only: both operands are widened and multiplied in f32.
 */
#include "config.h"
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/cpu/reduced.h"
#include "runtime/math/int8.h"

/* Conversions from and to f32 in one thread. */
static void narrow_part(enum rt_dtype dtype, uint16_t *to, const float *from, int64_t n)
{
	if (dtype == RT_BF16)
		rt_simd_best()->to_bf16(to, from, n);
	else
		rt_simd_best()->to_f16(to, from, n);
}

static void widen_part(enum rt_dtype dtype, float *to, const uint16_t *from, int64_t n)
{
	if (dtype == RT_BF16)
		rt_simd_best()->from_bf16(to, from, n);
	else
		rt_simd_best()->from_f16(to, from, n);
}

void rt_narrow(const struct rt_cpu *cpu, enum rt_dtype dtype, void *to, const float *from, int64_t n)
{
	int team = rt_cpu_team(cpu, 6.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		narrow_part(dtype, (uint16_t *)to + lo, from + lo, hi - lo);
	}
}

void rt_widen(const struct rt_cpu *cpu, enum rt_dtype dtype, float *to, const void *from, int64_t n)
{
	int team = rt_cpu_team(cpu, 6.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		widen_part(dtype, to + lo, (const uint16_t *)from + lo, hi - lo);
	}
}

static void run_cast(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	rt_narrow(cpu, c->out[0]->dtype, c->out[0]->data, rt_f32(c->in[0]), rt_shape_elements(&c->in[0]->shape));
}

const struct rt_cpu_kernel rt_cpu_cast = { .run = run_cast };

const char *rt_cpu_gemm_isa(enum rt_dtype dtype)
{
	if (dtype == RT_I8)
		return rt_i8_best()->faster ? rt_i8_best()->name : NULL;
	return dtype == RT_BF16 ? rt_bf16_gemm_isa() : NULL;
}

/* A vector register holds twice as many elements, and AVX512_BF16 multiplies them at the same rate. AMX multiplies 16 x
 * 16 x 32 in 16 cycles. */
double rt_cpu_gemm_rate(enum rt_dtype dtype)
{
	const char *products = rt_cpu_gemm_isa(dtype);

	return !products ? 1 : gt_streq(products, "amx") ? 16 : 2;
}

size_t rt_widen_scratch_bytes(const struct rt_node *a, const struct rt_node *b)
{
	if (a->dtype == RT_F32 || rt_cpu_gemm_isa(a->dtype))
		return 0;
	return (size_t)(rt_shape_elements(&a->shape) + rt_shape_elements(&b->shape)) * sizeof(float) + 64;
}

void rt_gemm_any(const struct rt_cpu *cpu, enum rt_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a,
		 int64_t lda, const void *b, int64_t ldb, float beta, float *c, int64_t ldc, float *scratch)
{
	if (dtype == RT_F32) {
		rt_gemm(cpu, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
	} else if (rt_cpu_gemm_isa(dtype)) {
		rt_gemm_bf16(cpu, ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
	} else {
		int64_t na = (ta ? k : m) * lda, nb = (tb ? n : k) * ldb;
		float *fa = scratch, *fb = scratch + (na + 15) / 16 * 16;

		rt_widen(cpu, dtype, fa, a, na);
		rt_widen(cpu, dtype, fb, b, nb);
		rt_gemm(cpu, ta, tb, m, n, k, 1, fa, lda, fb, ldb, beta, c, ldc);
	}
}
