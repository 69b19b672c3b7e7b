/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PIXELS_H
#define RT_PIXELS_H
/* out = in * scale + offset, in the calling thread. The loader and the op `pixels` both call this function, so their
 * results are equal to the bit. */
#include <stddef.h>
void rt_pixels_to_f32(const unsigned char *restrict in, size_t n, float scale, float offset, float *restrict out);
#endif
