/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products by 16-bit products of AVX2. */
#define RT_W		8
#define RT_I8_TABLE	rt_i8_avx2
#define RT_I8_NAME	"avx2"
#define RT_I8_TARGET	"avx2,fma"
#include "runtime/math/int8_x86.h"
