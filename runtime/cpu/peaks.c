/* SPDX-License-Identifier: Apache-2.0 */
/* Peak rates of this machine, for profiles and bench/results. */
#include <math.h>
#include <omp.h>
#include "runtime/cpu/cpu.h"
#include "runtime/memory/arena.h"

#define SIDE	INT64_C(1536)
#define TRIAD	(INT64_C(16) << 20) /* floats per array; three arrays exceed any cache */
#define ROUNDS	5

/* c (SIDE,SIDE) f32 = a b, both of that type. Returns the best flop/s. */
static double best_product(const struct rt_cpu *cpu, enum rt_dtype dtype, const void *a, const void *b, float *c)
{
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		double t0 = gt_now_s();

		rt_gemm_any(cpu, dtype, false, true, SIDE, SIDE, SIDE, a, SIDE, b, SIDE, 0, c, SIDE, NULL);
		best = fmin(best, gt_now_s() - t0);
	}
	return 2.0 * (double)(SIDE * SIDE * SIDE) / best;
}

/* c = a + b: 12 bytes per element, without the read that a write causes. */
static double best_pass(const struct rt_cpu *cpu, float *memory)
{
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		double t0 = gt_now_s();

#pragma omp parallel num_threads(cpu->threads)
		{
			int64_t lo, hi;

			rt_part(TRIAD, 1024, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
			cpu->simd->add(memory + 2 * TRIAD + lo, memory + lo, memory + TRIAD + lo, hi - lo);
		}
		best = fmin(best, gt_now_s() - t0);
	}
	return 12.0 * (double)TRIAD / best;
}

int rt_measure_peaks(int threads, struct rt_peaks *ret, struct gt_err *err)
{
	struct rt_arena arena = { 0 };
	struct rt_cpu cpu;
	const int64_t square = SIDE * SIDE;
	float *memory, *bf16;
	int r;

	r = rt_cpu_open(&cpu, threads, err);
	if (r)
		return r;
	rt_auto_omp openmp = rt_cpu_enter(&cpu);
	r = rt_arena_map(&arena, (size_t)(3 * TRIAD) * sizeof(float), true, cpu.threads, err);
	if (r)
		return r;
	memory = (float *)(void *)arena.base;
	bf16 = memory + 2 * square;
	for (int64_t i = 0; i < 2 * square; i++)
		memory[i] = 0.5f + (float)(i % 97) / 97;
	*ret = (struct rt_peaks){ .flops_per_s = best_product(&cpu, RT_F32, memory, memory + square, bf16) };
	if (rt_cpu_gemm_isa(RT_BF16)) {
		rt_narrow(&cpu, RT_BF16, bf16, memory, 2 * square);
		ret->bf16_flops_per_s = best_product(&cpu, RT_BF16, bf16, (uint16_t *)(void *)bf16 + square, bf16 + square);
	}
	ret->bytes_per_s = best_pass(&cpu, memory);
	rt_arena_unmap(&arena);
	return 0;
}
