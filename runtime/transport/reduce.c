/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of gradients in one pass: every element is read once from each rank and written once to each. The sum runs in
 * rank order, so that all ranks get the same bits.
 */
#include <omp.h>
#include "lib/util.h"
#include "runtime/transport/reduce.h"

#define BLOCK	2048 /* elements that stay in the L1 cache during the sum */

/* The loop body, compiled once for the baseline of x86-64 or arm64 and once for AVX2. */
#define SUM_BODY                                                                                                       \
	for (int64_t at = lo; at < hi; at += BLOCK) {                                                                  \
		int64_t n = GT_MIN(BLOCK, hi - at);                                                                    \
		float sum[BLOCK];                                                                                      \
		const float *a = x[0] + at;                                                                            \
		float wa = w[0];                                                                                       \
                                                                                                                       \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) sum[i] = wa * a[i];                                \
		for (int k = 1; k < n_in; k++) {                                                                       \
			const float *b = x[k] + at;                                                                    \
			float wb = w[k];                                                                               \
                                                                                                                       \
			_Pragma("omp simd") for (int64_t i = 0; i < n; i++) sum[i] += wb * b[i];                       \
		}                                                                                                      \
		for (int k = 0; k < n_out; k++)                                                                        \
			__builtin_memcpy(out[k] + at, sum, (size_t)n * sizeof(float));                                 \
	}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void sum_avx2(float *const *out, int n_out, float *const *x, const float *w, int n_in,
							 int64_t lo, int64_t hi)
{
	SUM_BODY
}
#endif

static void sum_base(float *const *out, int n_out, float *const *x, const float *w, int n_in, int64_t lo, int64_t hi)
{
	SUM_BODY
}

static void sum(float *const *out, int n_out, float *const *x, const float *w, int n_in, int64_t lo, int64_t hi)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		sum_avx2(out, n_out, x, w, n_in, lo, hi);
		return;
	}
#endif
	sum_base(out, n_out, x, w, n_in, lo, hi);
}

void rt_sum_ranks(float *const *out, int n_out, float *const *x, const float *w, int n_in, int64_t lo, int64_t hi, int threads)
{
	int team = hi - lo < 1 << 16 ? 1 : GT_MAX(threads, 1);

	if (team == 1) {
		sum(out, n_out, x, w, n_in, lo, hi);
		return;
	}
#pragma omp parallel num_threads(team)
	{
		int64_t me = omp_get_thread_num(), n = omp_get_num_threads(), count = hi - lo;

		sum(out, n_out, x, w, n_in, lo + count * me / n / 16 * 16,
		    me + 1 == n ? hi : lo + count * (me + 1) / n / 16 * 16);
	}
}
