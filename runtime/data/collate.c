/* SPDX-License-Identifier: Apache-2.0 */
/* Converts pixels to the floats that models read, or to bytes in the same layout. */
#include <string.h>
#include "runtime/math/pixels.h"
#include "runtime/data/image.h"

#define LUMA(p)	((19595u * (p)[0] + 38470u * (p)[1] + 7471u * (p)[2] + 0x8000u) >> 16) /* luma as computed by Pillow's mode "L" */

static void turn_row(const unsigned char *restrict in, int64_t size, unsigned char *restrict out)
{
	for (int64_t x = 0; x < size; x++) {
		const unsigned char *p = in + 3 * (size - 1 - x);

		out[3 * x] = p[0];
		out[3 * x + 1] = p[1];
		out[3 * x + 2] = p[2];
	}
}

/* Mirrors the row as bytes, then converts it like any other row. */
static void mirrored_row(const unsigned char *in, int64_t size, float scale, float offset, float *restrict out)
{
	unsigned char turned[3 * RT_IMAGE_SIDE_MAX];

	turn_row(in, size, turned);
	rt_pixels_to_f32(turned, (size_t)(3 * size), scale, offset, out);
}

/* Writes the bytes of each channel in the layout of the floats. */
static void bytes(const struct rt_loader_options *o, const unsigned char *in, bool mirrored, unsigned char *out)
{
	int64_t size = o->size, channels = o->channels, n = size * size;

	if (channels == 3 && !o->planes) {
		for (int64_t y = 0; mirrored && y < size; y++)
			turn_row(in + 3 * y * size, size, out + 3 * y * size);
		if (!mirrored)
			memcpy(out, in, (size_t)(3 * n));
		return;
	}
	for (int64_t c = 0; c < channels; c++)
		for (int64_t y = 0; y < size; y++)
			for (int64_t x = 0; x < size; x++) {
				const unsigned char *p = in + 3 * (y * size + (mirrored ? size - 1 - x : x));

				out[c * n + y * size + x] = channels == 1 ? (unsigned char)LUMA(p) : p[c];
			}
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

void rt_image_collate(const struct rt_loader_options *o, const unsigned char *in, bool mirrored, void *to)
{
	float *out = to;
	float scale = 1 / (255 * o->std), offset = -o->mean / o->std;
	int64_t size = o->size;

	if (o->u8)
		bytes(o, in, mirrored, to);
	else if (o->channels == 1)
		luma(in, size, mirrored, scale, offset, out);
	else if (o->planes)
		for (int64_t c = 0; c < 3; c++)
			one_plane(in, size, mirrored, c, scale, offset, out + c * size * size);
	else if (mirrored)
		for (int64_t y = 0; y < size; y++)
			mirrored_row(in + 3 * y * size, size, scale, offset, out + 3 * y * size);
	else
		rt_pixels_to_f32(in, (size_t)(3 * size * size), scale, offset, out);
}
