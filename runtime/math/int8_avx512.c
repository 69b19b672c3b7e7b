/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products by 16-bit products of AVX512BW. */
#define RT_W		16
#define RT_I8_TABLE	rt_i8_avx512
#define RT_I8_NAME	"avx512"
#define RT_I8_TARGET	"avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
#include "runtime/math/int8_x86.h"
