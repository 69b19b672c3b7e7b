/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LOW_H
#define RT_LOW_H
#include "runtime/cpu/cpu.h"

/* "amx", "avx512_bf16", or NULL if this machine, or this build's library, does not multiply bf16. */
const char *rt_bf16_products(void);
/* How many kinds of product have been made ready since the process began: 0 in a step whose shapes have been seen. */
int64_t rt_bf16_products_made(void);
/* c (m,n) f32 = op(a) op(b) + beta c, a and b bf16, beta 0 or 1. Only where rt_bf16_products() is not NULL. */
void rt_gemm_bf16(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
		  const void *b, int64_t ldb, float beta, float *c, int64_t ldc);
#endif
