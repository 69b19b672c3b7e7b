/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_IMAGE_SCRATCH_H
#define RT_IMAGE_SCRATCH_H
#include <stddef.h>
#include <stdint.h>

#define RT_CODECS	2

struct rt_image_scratch {
	void *codec[RT_CODECS];
	unsigned char *pixels;
	size_t pixels_cap;
	unsigned char *small; /* (size,size,3) */
	float *line;	      /* one row of sums, 4 floats per pixel */
	size_t line_cap;      /* pixels */
	float *weight;	      /* filter weights of the output pixels, one axis */
	size_t weight_cap;
	int32_t *from;	      /* for each output pixel: its first input pixel and the number of its input pixels, both axes */
	int64_t size;
};
#endif
