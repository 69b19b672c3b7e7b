/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_REDUCED_H
#define RT_REDUCED_H
#include "runtime/cpu/cpu.h"

/* Returns the instruction set for bf16 products: "amx" or "avx512_bf16". NULL if this CPU or the linked oneDNN has
 * none. */
const char *rt_bf16_gemm_isa(void);
/* Returns the number of oneDNN matmul primitives created since the process started. A step whose shapes were used
 * before creates none. */
int64_t rt_bf16_primitives(void);
/* c (m,n) f32 = op(a) op(b) + beta c; a and b are bf16, beta is 0 or 1. Requires rt_bf16_gemm_isa() != NULL. */
void rt_gemm_bf16(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
		  const void *b, int64_t ldb, float beta, float *c, int64_t ldc);
#endif
