/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products by 16-bit products of AVX2. */
#include "runtime/math/int8.h"

#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define RT_W		8
#define RT_I8_TABLE	rt_i8_avx2
#define RT_I8_NAME	"avx2"
#define RT_I8_FASTER	false
#include "runtime/math/int8_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
