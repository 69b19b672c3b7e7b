/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for the compiler's baseline target: SSE2 on x86-64, NEON on arm64, plain code elsewhere. */
#include <stdlib.h>
#include <strings.h>
#include "runtime/math/simd.h"

#define RT_W		4
#define RT_SIMD_TABLE	rt_simd_base
#if defined(__x86_64__)
#define RT_SIMD_NAME	"sse2"
#elif defined(__aarch64__)
#define RT_SIMD_NAME	"neon"
#else
#define RT_SIMD_NAME	"generic"
#endif
#include "runtime/math/simd_body.h"

/* Returns 0 for the baseline, 1 for AVX2, 2 for AVX-512. Unknown words do not limit, as in oneDNN. */
static int most_of(const char *limit)
{
	if (!limit || !*limit || !strcasecmp(limit, "ALL") || !strcasecmp(limit, "DEFAULT"))
		return 2;
	if (!strncasecmp(limit, "AVX512", 6) || !strncasecmp(limit, "AVX10", 5))
		return 2;
	if (!strncasecmp(limit, "AVX2", 4))
		return 1;
	return strcasecmp(limit, "AVX") && strcasecmp(limit, "SSE41") ? 2 : 0;
}

const struct rt_simd *rt_simd_up_to(const char *limit)
{
#if defined(__x86_64__)
	int most = most_of(limit);

	if (most >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
		return &rt_simd_avx512;
	if (most >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &rt_simd_avx2;
#else
	(void)most_of(limit);
#endif
	return &rt_simd_base;
}

const struct rt_simd *rt_simd_best(void)
{
	static const struct rt_simd *_Atomic best;
	const struct rt_simd *s = best;

	if (!s) {
		const char *limit = getenv("ONEDNN_MAX_CPU_ISA");

		best = s = rt_simd_up_to(limit ? limit : getenv("DNNL_MAX_CPU_ISA"));
	}
	return s;
}
