/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_MAP8_H
#define RT_MAP8_H
/* 8-bit codes for numbers in -1..1 or 0..1: 256 values, dense near 0. */
#include <stdbool.h>
#include <stdint.h>

#define RT_MAP8_BLOCK	256 /* elements of an 8-bit moment that share an absolute maximum */
/* A cell contains the positive floats with equal upper 16 bits. Cell 0 starts at 2^-24; smaller values map to 0. */
#define RT_MAP8_FIRST	((127u - 24) << 7)
#define RT_MAP8_CELLS	(24 * 128 + 1)

struct rt_map8 {
	float value[256]; /* ascending */
	int zero;	  /* code of 0 */
	/* A positive x in cell i has code[i], or code[i] + 1 if x > border[i]. Codes of negative values are mirrored at
	 * code `zero`. */
	float border[RT_MAP8_CELLS];
	int32_t code[RT_MAP8_CELLS];
};
const struct rt_map8 *rt_map8(bool is_signed);
/* x (n) = codes times the scale of their block of RT_MAP8_BLOCK elements. */
void rt_map8_decode(const struct rt_map8 *m, float *x, const uint8_t *codes, const float *scales, int64_t n);
/* Sets the scale of each block to its largest magnitude, and the codes to the nearest values. */
void rt_map8_encode(const struct rt_map8 *m, uint8_t *codes, float *scales, const float *x, int64_t n);
#endif
