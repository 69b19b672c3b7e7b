/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_FATBIN_H
#define RT_CUDA_FATBIN_H
#include <stdbool.h>

extern const unsigned char rt_fatbin[]; /* image for cuModuleLoadData */
bool rt_fatbin_present(void);
const char *rt_fatbin_archs(void);
int rt_fatbin_toolkit(void); /* CUDA version of the toolkit that compiled it: 13000 is CUDA 13.0; 0: unknown */
#endif
