/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX-512 (F, DQ, VL, BW). */
#include "runtime/math/simd.h"

#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#endif
#define RT_W		16
#define RT_SIMD_TABLE	rt_simd_avx512
#define RT_SIMD_NAME	"avx512"
#include "runtime/math/simd_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
