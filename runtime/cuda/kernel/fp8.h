/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_FP8_H
#define RT_CUDA_FP8_H
/*
 * Shared by the host and kernel/fp8.cuh: the table of scales in device memory, with RT_FP8_HEAD + history floats for
 * each tensor that is rounded to 8 bits. A tensor is stored as x * SCALE; products multiply it by INVERSE.
 */
enum {
	RT_FP8_SCALE,
	RT_FP8_INVERSE,
	RT_FP8_AMAX, /* largest absolute value since the scales were last updated */
	RT_FP8_MOST, /* largest number of the format */
	RT_FP8_AT,   /* index of the next history entry to write */
	RT_FP8_HEAD = 8,
};
#define RT_FP8_MOST_E4M3	448.0f
#define RT_FP8_MOST_E5M2	57344.0f
#define RT_FP8_TILE		64 /* rows and columns of a tile of the cast */
#endif
