/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products by AVX-VNNI. */
#define RT_W		8
#define RT_I8_TABLE	rt_i8_avx_vnni
#define RT_I8_NAME	"avx_vnni"
#define RT_I8_TARGET	"avx2,fma,avxvnni"
#define RT_I8_VNNI
#include "runtime/math/int8_x86.h"
