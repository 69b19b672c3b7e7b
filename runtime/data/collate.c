/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of pixels to the floats that models read. */
#include "runtime/data/image.h"

#define LUMA(p)	((19595u * (p)[0] + 38470u * (p)[1] + 7471u * (p)[2] + 0x8000u) >> 16) /* as Pillow's "L" */

static void interleaved(const unsigned char *restrict in, size_t n, float scale, float offset, float *restrict out)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		out[i] = (float)in[i] * scale + offset;
}

/* Turned round as bytes, then as any other row. */
static void mirrored_row(const unsigned char *in, int64_t size, float scale, float offset, float *restrict out)
{
	unsigned char turned[3 * RT_IMAGE_SIDE_MAX];

	for (int64_t x = 0; x < size; x++) {
		const unsigned char *p = in + 3 * (size - 1 - x);

		turned[3 * x] = p[0];
		turned[3 * x + 1] = p[1];
		turned[3 * x + 2] = p[2];
	}
	interleaved(turned, (size_t)(3 * size), scale, offset, out);
}

static void one_plane(const unsigned char *in, int64_t size, bool mirrored, int64_t c, float scale, float offset,
		      float *restrict out)
{
	for (int64_t y = 0; y < size; y++)
		for (int64_t x = 0; x < size; x++)
			out[y * size + x] = (float)in[3 * (y * size + (mirrored ? size - 1 - x : x)) + c] * scale + offset;
}

static void luma(const unsigned char *in, int64_t size, bool mirrored, float scale, float offset, float *restrict out)
{
	for (int64_t y = 0; y < size; y++)
		for (int64_t x = 0; x < size; x++) {
			const unsigned char *p = in + 3 * (y * size + (mirrored ? size - 1 - x : x));

			out[y * size + x] = (float)LUMA(p) * scale + offset;
		}
}

void rt_image_collate(const struct rt_loader_options *o, const unsigned char *in, bool mirrored, float *out)
{
	float scale = 1 / (255 * o->std), offset = -o->mean / o->std;
	int64_t size = o->size;

	if (o->channels == 1)
		luma(in, size, mirrored, scale, offset, out);
	else if (o->planes)
		for (int64_t c = 0; c < 3; c++)
			one_plane(in, size, mirrored, c, scale, offset, out + c * size * size);
	else if (mirrored)
		for (int64_t y = 0; y < size; y++)
			mirrored_row(in + 3 * y * size, size, scale, offset, out + 3 * y * size);
	else
		interleaved(in, (size_t)(3 * size * size), scale, offset, out);
}
