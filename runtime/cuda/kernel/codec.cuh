/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression of gradients: runtime/ddp/codec.h on the device, with the same bytes. Blocks of 64 threads with 8
 * elements each: 512 share a norm in int8, segments are multiples of 512, and counts are multiples of 8. Products and
 * sums are rounded separately, as on the CPU. Counted bytes per gradient and rank, of n ranks: encode reads 4 and
 * writes c, the sum reads c and writes 4/n, decode reads c and writes 4. c is 2 (fp16, bf16), 1 (int8) or 1/8 (1 bit).
 * 1 bit reads and writes 12 more for the error feedback.
 */
#include "common.cuh"
#include "residual.cuh"
#include "runtime/cuda/kernel/codec.h"

#define CODE_EACH  8
#define CODE_BLOCK 512
#define LEVELS	   127

RT_DEVICE int64_t code_place(void)
{
	return (int64_t)blockIdx.x * CODE_BLOCK + threadIdx.x * CODE_EACH;
}

/* Returns a uniform number in [0,1) from a hash of key and index (SplitMix64), as runtime/ddp/codec.c. */
RT_DEVICE float code_chance(uint64_t key, uint64_t i)
{
	uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (float)(z >> 40) * 0x1p-24f;
}

/* Sum of squares of the block, in double, to part[block]. */
RT_DEVICE void code_squares(const float *v, bool there, double *part)
{
	__shared__ double sh[CODE_BLOCK / CODE_EACH];
	double sum = 0;

	for (int k = 0; k < CODE_EACH && there; k++)
		sum += (double)v[k] * (double)v[k];
	sh[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int t = 1; t < CODE_BLOCK / CODE_EACH; t++)
		sum += sh[t];
	part[blockIdx.x] = sum;
}

/* x (c.n) = x w + error feedback: the input of the compression. */
RT_KERNEL rt_code_feed(struct rt_compress_bucket c, float *x, float w, const float *residual, double *part)
{
	const struct rt_residual_state state = *(const struct rt_residual_state *)c.state;
	int64_t i = code_place();
	float v[CODE_EACH], l[CODE_EACH];

	residual += residual_current(state, c.stride);
	if (i < c.n) {
		get<4>(v, x + i);
		get<4>(v + 4, x + i + 4);
		get<4>(l, residual + i);
		get<4>(l + 4, residual + i + 4);
		for (int k = 0; k < CODE_EACH; k++)
			v[k] = __fadd_rn(__fmul_rn(v[k], w), __fmul_rn(l[k], state.factor));
		put<4>(x + i, v);
		put<4>(x + i + 4, v + 4);
	}
	code_squares(v, i < c.n, part);
}

/* scale = ||x|| / sqrt(n) from the blocks' squares. One block of 256. */
RT_KERNEL rt_code_scale(float *scale, const double *part, int64_t parts, int64_t n)
{
	__shared__ double sh[256];
	double sum = 0;

	for (int64_t i = threadIdx.x; i < parts; i += 256)
		sum += part[i];
	sh[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int t = 1; t < 256; t++)
		sum += sh[t];
	*scale = n ? (float)sqrt(sum / (double)n) : 0.0f;
}

RT_DEVICE float code_norm(const float *v, bool there, float *sh)
{
	float most = 0;

	for (int k = 0; k < CODE_EACH && there; k++)
		most = fmaxf(most, isfinite(v[k]) ? fabsf(v[k]) : INFINITY);
	most = block_max(most, sh);
	return isfinite(most) ? most : NAN;
}

/* Compresses 8 elements of a segment of n, from element i on. v receives their decompressed values. */
RT_DEVICE void code_put8(int kind, char *out, int64_t i, float *v, float norm, float scale, uint64_t key)
{
	if (kind == RT_CODE_FP16)
		for (int k = 0; k < CODE_EACH; k++)
			((uint16_t *)out)[i + k] = half_bits(v[k]);
	if (kind == RT_CODE_BF16)
		put<8>((bf16 *)out + i, v);
	if (kind == RT_CODE_INT8) {
		float per = norm > 0 ? LEVELS / norm : 0;
		signed char q[CODE_EACH];

		for (int k = 0; k < CODE_EACH; k++) {
			float x = floorf(__fadd_rn(__fmul_rn(v[k], per), code_chance(key, (uint64_t)(i + k))));

			q[k] = per > 0 && isfinite(per) ? (signed char)fmaxf(-LEVELS, fminf(LEVELS, x)) : 0;
		}
		for (int k = 0; k < CODE_EACH; k++)
			((signed char *)out)[i + k] = q[k];
	}
	if (kind == RT_CODE_ONEBIT) {
		unsigned bits = 0;

		for (int k = 0; k < CODE_EACH; k++) {
			bits |= (unsigned)(v[k] >= 0) << k;
			v[k] = v[k] >= 0 ? scale : -scale;
		}
		((unsigned char *)out)[i / 8] = (unsigned char)bits;
	}
}

/*
 * Compresses x (c.n) times w, in segments, to out, c.segment_bytes apart. residual: receives the compression error, or
 * null. The random numbers depend on step, bucket, rank and segment.
 */
RT_KERNEL rt_code_encode(struct rt_compress_bucket c, char *out, const float *x, float w, float *residual, const float *scale,
			 const struct rt_update_step *h)
{
	__shared__ float sh[32];
	int64_t i = code_place(), s = (int64_t)blockIdx.x * CODE_BLOCK / c.segment, at = i - s * c.segment;
	int64_t left = c.n - s * c.segment, n = left < c.segment ? left : c.segment;
	uint64_t key = ((uint64_t)h->step << 16 | (uint64_t)c.bucket) ^ c.key ^ (uint64_t)s << 40;
	float v[CODE_EACH] = {}, sent[CODE_EACH], norm = 0;
	char *to = out + s * c.segment_bytes;
	bool there = i < c.n;

	if (there) {
		get<4>(v, x + i);
		get<4>(v + 4, x + i + 4);
		for (int k = 0; k < CODE_EACH; k++)
			v[k] = __fmul_rn(v[k], w);
	}
	if (c.kind == RT_CODE_INT8) {
		norm = code_norm(v, there, sh);
		if (!threadIdx.x)
			((float *)to)[at / CODE_BLOCK] = norm;
		to += (n + CODE_BLOCK - 1) / CODE_BLOCK * 4;
	}
	if (c.kind == RT_CODE_ONEBIT) {
		if (!threadIdx.x && !at)
			*(float *)to = *scale;
		to += 4;
	}
	if (!there)
		return;
	for (int k = 0; k < CODE_EACH; k++)
		sent[k] = v[k];
	code_put8(c.kind, to, at, sent, norm, scale ? *scale : 0, key);
	if (!residual)
		return;
	for (int k = 0; k < CODE_EACH; k++)
		v[k] = isfinite(v[k] - sent[k]) ? v[k] - sent[k] : 0;
	residual += residual_next(*(const struct rt_residual_state *)c.state, c.stride);
	put<4>(residual + i, v);
	put<4>(residual + i + 4, v + 4);
}

/* Decompresses 8 elements of a segment of n, from element i on. */
RT_DEVICE void code_get8(int kind, const char *in, int64_t n, int64_t i, float *v)
{
	if (kind == RT_CODE_FP16)
		for (int k = 0; k < CODE_EACH; k++)
			v[k] = half_value(((const uint16_t *)in)[i + k]);
	if (kind == RT_CODE_BF16)
		get<8>(v, (const bf16 *)in + i);
	if (kind == RT_CODE_INT8) {
		float per = ((const float *)in)[i / CODE_BLOCK] / LEVELS;
		const signed char *q = (const signed char *)in + (n + CODE_BLOCK - 1) / CODE_BLOCK * 4 + i;

		for (int k = 0; k < CODE_EACH; k++)
			v[k] = __fmul_rn((float)q[k], per);
	}
	if (kind == RT_CODE_ONEBIT) {
		float scale = *(const float *)in;
		unsigned bits = ((const unsigned char *)in)[4 + i / 8];

		for (int k = 0; k < CODE_EACH; k++)
			v[k] = bits >> k & 1 ? scale : -scale;
	}
}

/* sum (c.n) = error feedback (or 0) + the own segment from each of `ranks` ranks, in rank order. part: its squares, or
 * null. */
RT_KERNEL rt_code_sum(struct rt_compress_bucket c, float *sum, const char *in, int ranks, const float *residual, double *part)
{
	int64_t i = code_place();
	float v[CODE_EACH] = {}, x[CODE_EACH];

	if (i < c.n) {
		if (residual) {
			const struct rt_residual_state state = *(const struct rt_residual_state *)c.state;

			residual += residual_current(state, c.stride);
			get<4>(v, residual + i);
			get<4>(v + 4, residual + i + 4);
			for (int k = 0; k < CODE_EACH; k++)
				v[k] = __fmul_rn(v[k], state.factor);
		}
		for (int r = 0; r < ranks; r++) {
			code_get8(c.kind, in + (int64_t)r * c.segment_bytes, c.n, i, x);
			for (int k = 0; k < CODE_EACH; k++)
				v[k] = __fadd_rn(v[k], x[k]);
		}
		put<4>(sum + i, v);
		put<4>(sum + i + 4, v + 4);
	}
	if (part)
		code_squares(v, i < c.n, part);
}

/* x (c.n) = all segments, decompressed */
RT_KERNEL rt_code_decode(struct rt_compress_bucket c, float *x, const char *in)
{
	int64_t i = code_place(), s = (int64_t)blockIdx.x * CODE_BLOCK / c.segment, left = c.n - s * c.segment;
	float v[CODE_EACH];

	if (i >= c.n)
		return;
	code_get8(c.kind, in + s * c.segment_bytes, left < c.segment ? left : c.segment, i - s * c.segment, v);
	put<4>(x + i, v);
	put<4>(x + i + 4, v + 4);
}
