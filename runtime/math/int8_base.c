/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products for the compiler's baseline target, and the choice of the kernels. */
#include <stdlib.h>
#include <strings.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define RT_W		4
#define RT_I8_TABLE	rt_i8_base
#define RT_I8_NAME	"plain"
#include "runtime/math/int8_body.h"

#if defined(__x86_64__)
static bool has_avx_vnni(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1u << 4;
}

/* Returns whether oneDNN's limit allows VNNI: AVX512_CORE and AVX2 do not, the names of later instruction sets do. */
static bool vnni_allowed(void)
{
	const char *limit = getenv("ONEDNN_MAX_CPU_ISA");

	limit = limit ? limit : getenv("DNNL_MAX_CPU_ISA");
	return !limit || (strcasecmp(limit, "AVX512_CORE") && strcasecmp(limit, "AVX2"));
}
#endif

void rt_i8_all(const struct rt_i8 *ret[RT_I8_SETS])
{
	int n = 0;

#if defined(__x86_64__)
	const struct rt_simd *simd = rt_simd_best();
	bool vnni = vnni_allowed();

	if (simd == &rt_simd_avx512 && vnni && __builtin_cpu_supports("avx512vnni"))
		ret[n++] = &rt_i8_avx512_vnni;
	if (simd != &rt_simd_base && vnni && has_avx_vnni())
		ret[n++] = &rt_i8_avx_vnni;
	if (simd == &rt_simd_avx512)
		ret[n++] = &rt_i8_avx512;
	if (simd != &rt_simd_base)
		ret[n++] = &rt_i8_avx2;
#endif
	ret[n++] = &rt_i8_base;
	ret[n] = NULL;
}

const struct rt_i8 *rt_i8_best(void)
{
	static const struct rt_i8 *_Atomic best;

	if (!best) {
		const struct rt_i8 *all[RT_I8_SETS];

		rt_i8_all(all);
		best = all[0];
	}
	return best;
}
