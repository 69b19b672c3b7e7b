/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled kernels, embedded in this program. Empty in a build without nvcc. */
#include "config.h"
#include "runtime/cuda/fatbin.h"

#ifdef HAVE_CUDA_KERNELS
__asm__(".section .rodata, \"a\"\n"
	".balign 64\n"
	".global rt_fatbin\n"
	".hidden rt_fatbin\n"
	"rt_fatbin:\n"
	".incbin \"" RT_FATBIN_FILE "\"\n"
	".global rt_fatbin_end\n"
	".hidden rt_fatbin_end\n"
	"rt_fatbin_end:\n"
	".byte 0\n"
	".previous\n");
#else
const unsigned char rt_fatbin[1] = { 0 };
#endif

bool rt_fatbin_present(void)
{
#ifdef HAVE_CUDA_KERNELS
	return true;
#else
	return false;
#endif
}

const char *rt_fatbin_archs(void)
{
#ifdef HAVE_CUDA_KERNELS
	return RT_CUDA_ARCHS;
#else
	return "";
#endif
}

int rt_fatbin_toolkit(void)
{
#ifdef HAVE_CUDA_KERNELS
	return RT_CUDA_TOOLKIT;
#else
	return 0;
#endif
}
