/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GEMM_H
#define RT_GEMM_H
#include "runtime/cpu/cpu.h"

/* What is done to a part of c once it is complete, by the thread that computed it, while it is in that core's cache. */
struct rt_gemm_end {
	void (*run)(const struct rt_gemm_end *end, int64_t row, int64_t rows, int64_t col, int64_t cols);
};
/* rt_gemm(), and then end (or NULL) once for each element of c. */
void rt_gemm_then(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
		  int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc, const struct rt_gemm_end *end);
/* For a c (m,n) that somebody else has made: end for all of it, by the team. */
void rt_gemm_finish(const struct rt_cpu *cpu, const struct rt_gemm_end *end, int64_t m, int64_t n);
/*
 * c (m,n) = or += a (m,k) b (n,k)^T by our own tiles and a team of so many threads. False, with nothing done, where this
 * instruction set has no tiles or memory is short. end may be NULL.
 */
bool rt_gemm_own(const struct rt_cpu *cpu, int team, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
		 const float *b, int64_t ldb, bool add, float *c, int64_t ldc, const struct rt_gemm_end *end);
#endif
