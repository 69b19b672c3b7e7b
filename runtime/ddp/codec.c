/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "runtime/math/simd.h"
#include "runtime/ddp/codec.h"

#define BLOCK	512
#define LEVELS	127

static size_t two_bytes(int64_t n)
{
	return (size_t)n * 2;
}

static void fp16_encode(const float *x, int64_t n, float scale, uint64_t key, void *out)
{
	rt_simd_best()->to_f16(out, x, n);
}

static void fp16_decode(const void *in, int64_t n, float *x)
{
	rt_simd_best()->from_f16(x, in, n);
}

static void bf16_encode(const float *x, int64_t n, float scale, uint64_t key, void *out)
{
	rt_simd_best()->to_bf16(out, x, n);
}

static void bf16_decode(const void *in, int64_t n, float *x)
{
	rt_simd_best()->from_bf16(x, in, n);
}

/* A block is one float, then one byte per element. */
static int64_t blocks(int64_t n)
{
	return (n + BLOCK - 1) / BLOCK;
}

static size_t int8_bytes(int64_t n)
{
	return (size_t)blocks(n) * sizeof(float) + (size_t)n;
}

/* Returns a uniform number in [0,1) from a hash of key and index (SplitMix64). Independent of the number of threads. */
static float chance(uint64_t key, uint64_t i)
{
	uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (float)(z >> 40) * 0x1p-24f;
}

static void int8_encode(const float *x, int64_t n, float scale, uint64_t key, void *out)
{
	char *norms = out;
	int8_t *q = (int8_t *)out + (size_t)blocks(n) * sizeof(float);

	for (int64_t b = 0; b < blocks(n); b++) {
		int64_t hi = GT_MIN((b + 1) * BLOCK, n);
		float norm = 0, per;

		/* an infinity or NaN makes the whole block NaN, so that the receiver detects it */
		for (int64_t i = b * BLOCK; i < hi && !isnan(norm); i++)
			norm = isfinite(x[i]) ? fmaxf(norm, fabsf(x[i])) : NAN;
		memcpy(norms + (size_t)b * sizeof(norm), &norm, sizeof(norm));
		per = norm > 0 ? LEVELS / norm : 0;
		for (int64_t i = b * BLOCK; i < hi; i++)
			q[i] = per > 0 && isfinite(per)
				? (int8_t)fmaxf(-LEVELS, fminf(LEVELS, floorf(x[i] * per + chance(key, (uint64_t)i)))) : 0;
	}
}

static void int8_decode(const void *in, int64_t n, float *x)
{
	const char *norms = in;
	const int8_t *q = (const int8_t *)in + (size_t)blocks(n) * sizeof(float);

	for (int64_t b = 0; b < blocks(n); b++) {
		float norm;

		memcpy(&norm, norms + (size_t)b * sizeof(norm), sizeof(norm));
		for (int64_t i = b * BLOCK; i < GT_MIN((b + 1) * BLOCK, n); i++)
			x[i] = (float)q[i] * (norm / LEVELS);
	}
}

/* The scale, then one bit per element, set for x >= 0. */
static size_t onebit_bytes(int64_t n)
{
	return sizeof(float) + (size_t)((n + 7) / 8);
}

static float onebit_scale(const float *x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return n ? (float)sqrt(sum / (double)n) : 0;
}

static void onebit_encode(const float *x, int64_t n, float scale, uint64_t key, void *out)
{
	unsigned char *sign = (unsigned char *)out + sizeof(scale);

	memcpy(out, &scale, sizeof(scale));
	memset(sign, 0, (size_t)((n + 7) / 8));
	for (int64_t i = 0; i < n; i++)
		sign[i / 8] |= (unsigned char)((x[i] >= 0) << (i % 8));
}

static void onebit_decode(const void *in, int64_t n, float *x)
{
	const unsigned char *sign = (const unsigned char *)in + sizeof(float);
	float scale;

	memcpy(&scale, in, sizeof(scale));
	for (int64_t i = 0; i < n; i++)
		x[i] = sign[i / 8] >> (i % 8) & 1 ? scale : -scale;
}

static const struct rt_codec fp16 = {
	.id = RT_COMPRESS_FP16, .name = "fp16", .bytes = two_bytes, .encode = fp16_encode, .decode = fp16_decode,
};
static const struct rt_codec bf16 = {
	.id = RT_COMPRESS_BF16, .name = "bf16", .bytes = two_bytes, .encode = bf16_encode, .decode = bf16_decode,
};
static const struct rt_codec int8 = {
	.id = RT_COMPRESS_INT8, .name = "int8", .bytes = int8_bytes, .encode = int8_encode, .decode = int8_decode,
};
static const struct rt_codec onebit = {
	.id = RT_COMPRESS_ONEBIT, .name = "onebit", .feedback = true, .bytes = onebit_bytes, .scale = onebit_scale,
	.encode = onebit_encode, .decode = onebit_decode,
};
const struct rt_codec *const rt_codecs[] = { &fp16, &bf16, &int8, &onebit, NULL };

const char *rt_compress_name(enum rt_compress id)
{
	static const char *const names[] = { "none", "fp16", "bf16", "int8", "powersgd", "onebit" };

	return names[id];
}

const struct rt_codec *rt_codec_find(enum rt_compress id)
{
	for (int i = 0; rt_codecs[i]; i++)
		if (rt_codecs[i]->id == id)
			return rt_codecs[i];
	return NULL;
}
