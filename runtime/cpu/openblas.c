/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

#if !defined(HAVE_DNNL) && defined(__x86_64__)
#include <cblas.h>
#include "probe/host/openblas.h"
#endif

/* OpenBLAS threads spin on the cores of the OpenMP team: measured 1.7 to 2.7 times slower. */
const char *rt_cpu_blas_warning(void)
{
	int (*parallel)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "openblas_get_parallel");

	if (parallel && parallel() == 1)
		return "OpenBLAS with its own threads (pthread flavour) is loaded together with OpenMP; libopenblas0-openmp "
		       "would share one team";
	return NULL;
}

/* OpenBLAS selects its kernels when it is loaded, before main, so only a warning is possible. */
const char *rt_cpu_kernels_warning(void)
{
#if !defined(HAVE_DNNL) && defined(__x86_64__)
	static char text[256];
	bool avx512 = rt_simd_best() == &rt_simd_avx512, avx2 = avx512 || rt_simd_best() == &rt_simd_avx2;
	const char *flags = avx512 ? " avx2 fma avx512f avx512dq avx512bw avx512vl avx512cd " : avx2 ? " avx2 fma " : "",
		   *vendor = __builtin_cpu_is("amd") ? "AuthenticAMD" : "", *core = openblas_get_corename();

	if (core && strstr(openblas_get_config(), "DYNAMIC_ARCH") && pr_openblas_is_old(core, flags, vendor)) {
		snprintf(text, sizeof(text), "OpenBLAS does not recognise this CPU and uses the kernels of a %.31s (%s); "
			 "OPENBLAS_CORETYPE=%s, which gputune run sets, selects better ones", core,
			 pr_isa_name(pr_openblas_isa(core)), pr_openblas_fit(flags, vendor, 0));
		return text;
	}
#endif
	return NULL;
}
