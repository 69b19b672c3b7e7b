/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX2 with FMA. */
#include "runtime/math/simd.h"

#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define RT_W		8
#define RT_SIMD_TABLE	rt_simd_avx2
#define RT_SIMD_NAME	"avx2"
#include "runtime/math/simd_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
