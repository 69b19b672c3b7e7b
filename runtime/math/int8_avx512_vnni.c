/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products by AVX512_VNNI. */
#include "runtime/math/int8.h"

#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512vnni,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx512vnni,avx2,fma")
#endif
#define RT_W		16
#define RT_I8_TABLE	rt_i8_avx512_vnni
#define RT_I8_NAME	"avx512_vnni"
#define RT_I8_FASTER	true
#define RT_I8_VNNI
#include "runtime/math/int8_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
