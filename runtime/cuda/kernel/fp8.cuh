/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding to 8-bit floats with a scale (E4M3 and E5M2: Micikevicius et al., FP8 formats for deep learning, 2022),
 * plain and transposed, because 8-bit products require both operands with the summed dimension innermost. Also the
 * scales, which follow the largest absolute value of the last updates.
 */
#include "common.cuh"
#include "runtime/cuda/kernel/fp8.h"

/* Rounds to nearest, ties to even. Too large values become the largest number; NaN is 0x7f. Same result as the
 * instruction below. */
RT_DEVICE uint32_t round8(float x, int fraction, int bias, uint32_t most)
{
	uint32_t u, sign, bits, kept, rest, half, code;
	int exponent, shift;

	memcpy(&u, &x, sizeof(u));
	sign = u >> 24 & 0x80;
	bits = u & 0x7fffffff;
	if (bits > 0x7f800000)
		return 0x7f;
	exponent = (int)(bits >> 23) - 127;
	shift = 23 - fraction + (exponent < 1 - bias ? 1 - bias - exponent : 0);
	if (shift > 24)
		return sign;
	bits = (bits & 0x7fffff) | (exponent > -127 ? 0x800000 : 0);
	kept = bits >> shift;
	rest = bits & ((1u << shift) - 1);
	half = 1u << (shift - 1);
	kept += rest > half || (rest == half && kept & 1);
	code = kept + (exponent < 1 - bias ? 0 : (uint32_t)(exponent + bias - 1) << fraction);
	return sign | (code < most ? code : most);
}

/* Packs four numbers, the first one in the lowest byte. */
RT_DEVICE uint32_t pack8(const float *x, int e5m2)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
	uint16_t low, high;

	if (e5m2) {
		asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
		asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
	} else {
		asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
		asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
	}
	return low | (uint32_t)high << 16;
#else
	uint32_t all = 0;

	for (int i = 0; i < 4; i++)
		all |= (e5m2 ? round8(x[i], 2, 15, 0x7b) : round8(x[i], 3, 7, 0x7e)) << 8 * i;
	return all;
#endif
}

/*
 * y (rows,cols), t (cols,rows) = x (rows,cols) times the scale; either may be NULL. Too large values become the largest
 * number. Infinite values become NaN, so that the loss shows them. record: stores the largest absolute value of x in
 * the slot. Rows and columns are multiples of 4. A block of 256 threads has a tile of 64 x 64, a thread 4 x 4 of it.
 * Bytes: x once, y and t once.
 */
template <class T>
RT_DEVICE void cast8(uint8_t *y, uint8_t *t, const T *x, float *slot, int64_t rows, int64_t cols, int e5m2, int record)
{
	__shared__ uint32_t turned[RT_FP8_TILE * (RT_FP8_TILE / 4 + 1)];
	__shared__ float sh[32];
	int across = threadIdx.x % 16, down = threadIdx.x / 16;
	int64_t row0 = RT_FP8_TILE * (int64_t)blockIdx.y, col0 = RT_FP8_TILE * (int64_t)blockIdx.x;
	int64_t row = row0 + 4 * down, col = col0 + 4 * across;
	uint32_t word[4] = { 0, 0, 0, 0 };
	float scale = slot[RT_FP8_SCALE], largest = 0;

	if (row < rows && col < cols)
#pragma unroll
		for (int i = 0; i < 4; i++) {
			float v[4];

			get<4>(v, x + (row + i) * cols + col);
#pragma unroll
			for (int j = 0; j < 4; j++) {
				float size = fabsf(v[j]);

				largest = size > largest ? size : largest; /* ignores NaN */
				v[j] = size < INFINITY ? v[j] * scale : NAN;
			}
			word[i] = pack8(v, e5m2);
			if (y)
				*reinterpret_cast<uint32_t *>(y + (row + i) * cols + col) = word[i];
		}
	if (t) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
			uint32_t column = 0;

#pragma unroll
			for (int i = 0; i < 4; i++)
				column |= (word[i] >> 8 * j & 0xff) << 8 * i;
			turned[(4 * across + j) * (RT_FP8_TILE / 4 + 1) + down] = column;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 4; k++) {
			int c = down + 16 * k;

			if (col0 + c < cols && row0 + 4 * across < rows)
				*reinterpret_cast<uint32_t *>(t + (col0 + c) * rows + row0 + 4 * across) =
					turned[c * (RT_FP8_TILE / 4 + 1) + across];
		}
	}
	if (!record)
		return;
	largest = block_max(largest, sh);
	if (!threadIdx.x && largest > *(volatile float *)&slot[RT_FP8_AMAX]) {
		int bits;

		memcpy(&bits, &largest, sizeof(bits)); /* positive floats compare like their bits */
		atomicMax(reinterpret_cast<int *>(&slot[RT_FP8_AMAX]), bits);
	}
}

RT_TYPED(cast8, (uint8_t *y, uint8_t *t, const T *x, float *slot, int64_t rows, int64_t cols, int e5m2, int record),
	cast8(y, t, x, slot, rows, cols, e5m2, record))

/* factor: 2^-margin */
RT_DEVICE void set_scale(float *slot, float amax, float factor)
{
	float scale = slot[RT_FP8_MOST] / amax * factor;

	scale = scale < 3.402823466e38f ? scale : 3.402823466e38f;
	slot[RT_FP8_SCALE] = scale;
	slot[RT_FP8_INVERSE] = 1 / scale;
}

/*
 * Computes a tensor's scale from its current values and clears its history. Used before a history exists, and after
 * parameters are overwritten. 32 threads.
 */
RT_KERNEL rt_fp8_begin(float *slot, int history, float most, float factor)
{
	float amax = slot[RT_FP8_AMAX];

	for (int i = threadIdx.x; i < history; i += 32)
		slot[RT_FP8_HEAD + i] = 0;
	if (threadIdx.x)
		return;
	slot[RT_FP8_MOST] = most;
	slot[RT_FP8_AT] = 0;
	slot[RT_FP8_SCALE] = slot[RT_FP8_INVERSE] = 1;
	if (isfinite(amax) && amax > 0)
		set_scale(slot, amax, factor);
}

/*
 * Called before the first batch of an update. Adds the largest value of the last update to the history and computes the
 * scale from the history's maximum. If the maximum is zero, the scale stays unchanged. Non-finite values do not count.
 * Grid: slots; 32 threads each.
 */
RT_KERNEL rt_fp8_renew(float *table, int history, float factor)
{
	float *slot = table + (int64_t)blockIdx.x * (RT_FP8_HEAD + history), *past = slot + RT_FP8_HEAD;
	float now = slot[RT_FP8_AMAX], amax = 0;
	int at = (int)slot[RT_FP8_AT], counts = isfinite(now);

	__syncwarp();
	for (int i = threadIdx.x; i < history; i += 32)
		amax = fmaxf(amax, i == at && counts ? now : past[i]);
	amax = warp_max(amax);
	__syncwarp();
	if (threadIdx.x)
		return;
	if (counts) {
		past[at] = now;
		slot[RT_FP8_AT] = (float)((at + 1) % history);
	}
	slot[RT_FP8_AMAX] = 0;
	if (amax > 0)
		set_scale(slot, amax, factor);
}
