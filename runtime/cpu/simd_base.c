/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for whatever the compiler targets: SSE2 on x86-64, NEON on arm64, plain code elsewhere. */
#include "runtime/cpu/simd.h"

#define RT_W		4
#define RT_SIMD_TABLE	rt_simd_base
#if defined(__x86_64__)
#define RT_SIMD_NAME	"sse2"
#elif defined(__aarch64__)
#define RT_SIMD_NAME	"neon"
#else
#define RT_SIMD_NAME	"generic"
#endif
#include "runtime/cpu/simd_body.h"

const struct rt_simd *rt_simd_best(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw"))
		return &rt_simd_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &rt_simd_avx2;
#endif
	return &rt_simd_base;
}
