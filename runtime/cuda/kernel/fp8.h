/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_FP8_H
#define RT_CUDA_FP8_H
/*
 * What host and kernel/fp8.cuh share: the table of scales in device memory, RT_FP8_HEAD + history floats for each tensor that
 * is rounded to 8 bits. A tensor is stored as x * SCALE; products multiply it by INVERSE.
 */
enum {
	RT_FP8_SCALE,
	RT_FP8_INVERSE,
	RT_FP8_AMAX, /* largest absolute value seen since the scales were last renewed */
	RT_FP8_MOST, /* largest number of the format */
	RT_FP8_AT,   /* place of the history that is written next */
	RT_FP8_HEAD = 8,
};
#define RT_FP8_MOST_E4M3	448.0f
#define RT_FP8_MOST_E5M2	57344.0f
#define RT_FP8_TILE		64 /* rows and columns of a block of the cast */
#endif
