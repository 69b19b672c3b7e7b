/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products by AVX512_VNNI. */
#define RT_W		16
#define RT_I8_TABLE	rt_i8_avx512_vnni
#define RT_I8_NAME	"avx512_vnni"
#define RT_I8_TARGET	"avx512f,avx512dq,avx512vl,avx512bw,avx512vnni,avx2,fma"
#define RT_I8_VNNI
#include "runtime/math/int8_x86.h"
