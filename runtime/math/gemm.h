/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GEMM_H
#define RT_GEMM_H
#include "runtime/math/team.h"
#include "runtime/runtime.h"

/* Row-major c (m,n) = alpha op(a) op(b) + beta c; op(a) is (m,k). Runs on the team; work below 50 us runs on one thread. */
void rt_gemm(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
/* Does the same inside a parallel region, in the calling thread. */
void rt_gemm_one(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
		 int64_t ldb, float beta, float *c, int64_t ldc);

/* An operation on each part of c once it is complete. The thread that computed the part runs it, so the part is in that
 * core's cache. */
struct rt_gemm_end {
	void (*run)(const struct rt_gemm_end *end, int64_t row, int64_t rows, int64_t col, int64_t cols);
};
/* rt_gemm(), then `end` (may be NULL) once for each element of c. */
void rt_gemm_then(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
		  int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc, const struct rt_gemm_end *end);
/* Runs `end` on all of c (m,n), on the team, if another function has computed c. */
void rt_gemm_finish(const struct rt_cpu *cpu, const struct rt_gemm_end *end, int64_t m, int64_t n);
/*
 * c (m,n) = or += a (m,k) b (n,k)^T with the runtime's own tiles, on a team of that size. Returns false, without
 * effect, if this instruction set has no tiles or memory is short. end may be NULL.
 */
bool rt_gemm_own(const struct rt_cpu *cpu, int team, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
		 const float *b, int64_t ldb, bool add, float *c, int64_t ldc, const struct rt_gemm_end *end);
/* Largest number of rows of rt_gemm_rows(). */
#define RT_GEMM_ROWS	16
/*
 * c (m,n) = or += a (m,k) b (n,k)^T for m <= RT_GEMM_ROWS, with b of f32 or bf16 and sums in f32. Reads b once. end may be
 * NULL.
 */
void rt_gemm_rows(const struct rt_cpu *cpu, enum rt_dtype dtype, int64_t m, int64_t n, int64_t k, const float *a, const void *b,
		  bool add, float *c, int64_t ldc, const struct rt_gemm_end *end);
#endif
