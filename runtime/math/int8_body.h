/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of struct rt_i8 for one instruction set. No include guard: included once per set, with RT_W, RT_I8_TABLE,
 * RT_I8_NAME and optionally RT_I8_VNNI defined.
 */
#include <math.h>
#include "runtime/math/int8.h"
#include "runtime/math/vec.h"
#include "runtime/math/simd_act.h"

#define VECTORS		(RT_I8_COLS / RT_W)
/* Vectors of a tile in registers at once. */
#define AT_ONCE		2

INLINE vi ldi(const void *p)
{
	vi v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#if defined(RT_I8_VNNI) && RT_W == 16
INLINE vi dot(vi sum, vi a, vi b)
{
	return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#elif defined(RT_I8_VNNI)
INLINE vi dot(vi sum, vi a, vi b)
{
	return (vi)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}
#elif RT_W >= 8
/* vpmaddubsw would saturate at 16 bits, so both operands are widened: even and odd bytes. */
#if RT_W == 16
#define MADD(a, b)	((vi)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#else
#define MADD(a, b)	((vi)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#endif
typedef int16_t vs __attribute__((vector_size(4 * RT_W)));

INLINE vi dot(vi sum, vi a, vi b)
{
	vs even = (vs)((vu)a & 0x00ff00ffu), odd = (vs)((vu)a >> 8 & 0x00ff00ffu);

	return sum + MADD(even, (vs)((vs)b << 8) >> 8) + MADD(odd, (vs)b >> 8);
}
#else
INLINE vi dot(vi sum, vi a, vi b)
{
	uint8_t q[4 * RT_W];
	int8_t v[4 * RT_W];

	memcpy(q, &a, sizeof(q));
	memcpy(v, &b, sizeof(v));
	for (int l = 0; l < RT_W; l++)
		for (int j = 0; j < 4; j++)
			sum[l] += q[4 * l + j] * v[4 * l + j];
	return sum;
}
#endif

INLINE vi splat_i(uint32_t x)
{
	return (vi){ 0 } + (int32_t)x;
}

#if defined(__x86_64__) && RT_W == 16
/*
 * GELU with a relative error below 2e-4, which is small against that of INT8: x / (1 + 2^n 2^r), |r| <= 1/2, 2^r by a
 * minimax polynomial of degree 3 (error 8e-5), and the quotient by the 14 bits of vrcp14ps.
 */
INLINE vf short_gelu(vf x)
{
	const float magic = 12582912.0f; /* 1.5 2^23; adding it rounds to an integer */
	const float k = -GELU_2K * 1.44269504f;
	vf z = x * (k + k * GELU_C * (x * x));
	/* The smaller of |z| and 126, with the sign of z. A NaN becomes 126, but the result is multiplied by x. */
	vf y = (vf)_mm512_range_ps((__m512)z, _mm512_set1_ps(126), 2), n = y + magic - magic, r = y - n, p;

	p = 5.51716672e-2f * r + 2.42611122e-1f;
	p = p * r + 6.93260986e-1f;
	p = p * r + 9.99928074e-1f;
	return x * (vf)_mm512_rcp14_ps((__m512)(1.0f + (vf)_mm512_scalef_ps((__m512)p, (__m512)n)));
}
#endif

INLINE vf activated(vf x, enum rt_act act)
{
#if defined(__x86_64__) && RT_W == 16
	if (act == RT_ACT_GELU)
		return short_gelu(x);
#endif
	return act_fwd(x, act);
}

/* Largest number of groups whose sums, and their parts, are exact in f32: 255 * 127 * 4 * groups < 2^24. */
#define F32_GROUPS	129

/* Returns sum - zero * outputs. */
INLINE vf corrected(vi sum, vi outputs, int32_t zero, bool fits_f32)
{
	vi z = splat_i((uint32_t)zero);

	if (fits_f32) /* two instructions less */
		return __builtin_convertvector(sum, vf) - __builtin_convertvector(outputs, vf) * __builtin_convertvector(z, vf);
	return __builtin_convertvector((vi)((vu)sum - (vu)outputs * (vu)z), vf);
}

/* Writes columns col..col+AT_ONCE*W of the tile from their sums (rows,AT_ONCE). whole: none of them is after the last. */
INLINE void finish_as(const struct rt_i8_tile *t, int64_t col, const vi *sum, enum rt_act act, bool whole)
{
	float *y = t->y + col;
	const float *residual = act == RT_ACT_NONE && t->residual ? t->residual + col : NULL;
	int64_t left[AT_ONCE];
	vi outputs[AT_ONCE];
	vf scale[AT_ONCE], bias[AT_ONCE];

	for (int v = 0; v < AT_ONCE; v++) {
		left[v] = whole ? W : t->cols - col - v * W;
		outputs[v] = ldi(t->col_sum + col + v * W);
		scale[v] = ld(t->col_scale + col + v * W);
		bias[v] = t->bias && left[v] > 0 ? ldx(t->bias + col + v * W, left[v]) : (vf){ 0 };
	}
	for (int64_t r = 0; r < t->rows; r++, y += t->ldy) {
#pragma GCC unroll 2
		for (int v = 0; v < AT_ONCE; v++) {
			vf exact = corrected(sum[r * AT_ONCE + v], outputs[v], t->row_zero[r], t->groups <= F32_GROUPS);
			vf x = exact * (scale[v] * t->row_scale[r]) + bias[v];

			if (left[v] <= 0)
				continue;
			x = activated(x, act);
			stx(y + v * W, residual ? x + ldx(residual + v * W, left[v]) : x, left[v]);
		}
		residual = residual ? residual + t->ldy : NULL;
	}
}

/* Not inlined: the sums of a tile are in all registers. */
static __attribute__((noinline)) void finish(const struct rt_i8_tile *t, int64_t col, const vi *sum)
{
	bool whole = t->cols - col >= AT_ONCE * W;

	switch (t->act) {
#define AS(which)                                                                                                      \
	case which:                                                                                                    \
		if (whole)                                                                                             \
			finish_as(t, col, sum, which, true);                                                           \
		else                                                                                                   \
			finish_as(t, col, sum, which, false);                                                          \
		break;
		AS(RT_ACT_NONE)
		RT_ACTS(AS)
#undef AS
	}
}

INLINE void some_columns(const struct rt_i8_tile *t, int rows, int64_t col)
{
	const int8_t *b = t->b + RT_I8_GROUP * col;
	const uint32_t *a = t->a;
	vi sum[TILE_ROWS][AT_ONCE], sums[TILE_ROWS * AT_ONCE];

#pragma GCC unroll 16
	for (int i = 0; i < rows; i++) {
		sum[i][0] = sum[i][1] = (vi){ 0 };
		__builtin_prefetch(t->y + i * t->ldy + col, 1);
		__builtin_prefetch(t->y + i * t->ldy + col + 16, 1); /* the second line */
	}
	for (int64_t p = 0; p < t->groups; p++, a += rows, b += RT_I8_GROUP * RT_I8_COLS) {
		vi b0 = ldi(b), b1 = ldi(b + RT_I8_GROUP * RT_W);

#pragma GCC unroll 16
		for (int i = 0; i < rows; i++) {
			vi x = splat_i(a[i]);

			sum[i][0] = dot(sum[i][0], x, b0);
			sum[i][1] = dot(sum[i][1], x, b1);
		}
	}
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++) {
		sums[i * AT_ONCE] = sum[i][0];
		sums[i * AT_ONCE + 1] = sum[i][1];
	}
	finish(t, col, sums);
}

/* One or two rows: SPLIT sums per element, because one sum would wait for the latency of each product. */
#define SPLIT	4
INLINE void few_rows(const struct rt_i8_tile *t, int rows, int64_t col)
{
	const int64_t step = RT_I8_GROUP * RT_I8_COLS, whole = t->groups / SPLIT * SPLIT;
	const int8_t *b = t->b + RT_I8_GROUP * col;
	const uint32_t *a = t->a;
	vi sum[SPLIT][2][AT_ONCE], sums[2 * AT_ONCE];

#pragma GCC unroll 4
	for (int s = 0; s < SPLIT; s++)
		for (int i = 0; i < rows; i++)
			for (int v = 0; v < AT_ONCE; v++)
				sum[s][i][v] = (vi){ 0 };
	for (int64_t p = 0; p < whole; p += SPLIT)
#pragma GCC unroll 4
		for (int s = 0; s < SPLIT; s++, a += rows, b += step)
			for (int i = 0; i < rows; i++)
				for (int v = 0; v < AT_ONCE; v++)
					sum[s][i][v] = dot(sum[s][i][v], splat_i(a[i]), ldi(b + RT_I8_GROUP * v * RT_W));
	for (int64_t p = whole; p < t->groups; p++, a += rows, b += step)
		for (int i = 0; i < rows; i++)
			for (int v = 0; v < AT_ONCE; v++)
				sum[0][i][v] = dot(sum[0][i][v], splat_i(a[i]), ldi(b + RT_I8_GROUP * v * RT_W));
	for (int i = 0; i < rows; i++)
		for (int v = 0; v < AT_ONCE; v++)
			sums[i * AT_ONCE + v] = sum[0][i][v] + sum[1][i][v] + sum[2][i][v] + sum[3][i][v];
	finish(t, col, sums);
}

static void i8_tile(const struct rt_i8_tile *t)
{
	for (int64_t col = 0; col < t->cols; col += AT_ONCE * W)
		switch (t->rows) {
		case 1:
			few_rows(t, 1, col);
			break;
		case 2:
			few_rows(t, 2, col);
			break;
#define ROWS(n)                                                                                                        \
	case n:                                                                                                        \
		if (n > 2)                                                                                             \
			some_columns(t, n, col);                                                                       \
		break;
#if RT_W == 16
		ROWS(3) ROWS(4) ROWS(5) ROWS(6) ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
#else
		ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#endif
#undef ROWS
		default:
			break;
		}
}

/* Returns NAN if an element of v is, or 0 if all elements are 0. */
INLINE float nan_if_any(vf v)
{
#if defined(__x86_64__) && RT_W == 16
	return _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q) ? NAN : 0;
#else
	return hsum(v);
#endif
}

/* Smallest and largest elements, and 0 or NAN. */
struct limits {
	vf least, most, bad;
};

INLINE void limit(struct limits *l, vf v)
{
	l->least = vmin(v, l->least);
	l->most = vmax(v, l->most);
	l->bad += v * 0;
}

/* Two sets of limits, because each waits for the latency of its last element. */
static float i8_range(const float *x, int64_t n, float *lo, float *hi)
{
	struct limits a = { { 0 } }, b = { { 0 } };
	int64_t i = 0;

	for (; i + 2 * W <= n; i += 2 * W) {
		limit(&a, ld(x + i));
		limit(&b, ld(x + i + W));
	}
	for (; i < n; i += W)
		limit(&a, ldx(x + i, n - i));
	*lo = -hmax(-vmin(a.least, b.least));
	*hi = hmax(vmax(a.most, b.most));
	return nan_if_any(a.bad + b.bad);
}

typedef uint8_t bytes __attribute__((vector_size(RT_W)));

/* Rounds x, between -2^22 and 2^22, to integers and adds an offset to them. */
INLINE vi rounded(vf x, int32_t offset)
{
	const float magic = 12582912.0f; /* 1.5 2^23; adding it rounds to an integer */

	return (vi)(x + magic) - ((vi)splat(magic) - offset);
}

/* Returns x / scale + zero. own: x is in the range that gave scale and zero. */
INLINE bytes quantized(vf x, float inverse, int32_t zero, bool own)
{
	vf v = x * inverse;

#if defined(__x86_64__) && RT_W == 16
	/* The smallest value of the range gives 0, the conversion limits the largest. */
	if (own)
		return (bytes)_mm512_cvtusepi32_epi8((__m512i)rounded(v, zero));
#endif
	v = vmin(vmax(v, splat((float)-zero)), splat((float)(255 - zero)));
	return __builtin_convertvector(rounded(v, zero), bytes);
}

static float i8_quantize(uint8_t *to, const float *x, int64_t n, float inverse, int32_t zero)
{
	vf bad = { 0 };
	int64_t i = 0;

	for (; i + W <= n; i += W) {
		vf v = ld(x + i);
		bytes q = quantized(v, inverse, zero, false);

		bad += v * 0;
		memcpy(to + i, &q, RT_W);
	}
	if (i < n) {
		vf v = ld_n(x + i, n - i);
		bytes q = quantized(v, inverse, zero, false);

		bad += v * 0;
		memcpy(to + i, &q, (size_t)(n - i));
	}
	return nan_if_any(bad);
}

static void i8_quantize_row(uint8_t *to, const float *x, int64_t n, float *scale, int32_t *zero)
{
	float lo, hi, bad = i8_range(x, n, &lo, &hi);
	struct rt_i8_range r = rt_i8_range(lo, hi);
	int64_t i = 0;

	for (; i + W <= n; i += W) {
		bytes q = quantized(ld(x + i), r.inverse, r.zero, true);

		memcpy(to + i, &q, RT_W);
	}
	if (i < n) {
		bytes q = quantized(ld_n(x + i, n - i), r.inverse, r.zero, true);

		memcpy(to + i, &q, (size_t)(n - i));
	}
	*scale = r.scale + bad;
	*zero = r.zero;
}

const struct rt_i8 RT_I8_TABLE = {
	.name = RT_I8_NAME,
#ifdef RT_I8_VNNI
	.faster = true,
#endif
	.rows = TILE_ROWS,
	.range = i8_range,
	.quantize = i8_quantize,
	.quantize_row = i8_quantize_row,
	.tile = i8_tile,
};
