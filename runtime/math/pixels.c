/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/math/pixels.h"

void rt_pixels_to_f32(const unsigned char *restrict in, size_t n, float scale, float offset, float *restrict out)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		out[i] = (float)in[i] * scale + offset;
}
