/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of RT_W floats, with the compiler's vector extension. No include guard: simd_body.h includes this file per
 * instruction set. */
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define W ((int64_t)RT_W)
/* Rows of a product tile. The sums take two vectors per row: 28 of AVX-512's 32 registers, 12 of AVX2's 16. The other
 * registers hold operands. */
#if RT_W == 16
#define TILE_ROWS	14
#define EACH_ROWS(f)	f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14)
#else
#define TILE_ROWS	6
#define EACH_ROWS(f)	f(1) f(2) f(3) f(4) f(5) f(6)
#endif
#define INLINE static inline __attribute__((always_inline))
typedef float vf __attribute__((vector_size(4 * RT_W)));
typedef int32_t vi __attribute__((vector_size(4 * RT_W)));
typedef uint32_t vu __attribute__((vector_size(4 * RT_W)));
typedef float vfu __attribute__((vector_size(4 * RT_W), aligned(4), may_alias));

INLINE vf ld(const float *p)
{
	return *(const vfu *)p;
}

INLINE void st(float *p, vf v)
{
	*(vfu *)p = v;
}

/* Load and store the first n < W elements. ld_n() fills the other lanes with 0; st_n() does not write them. */
#if defined(__x86_64__) && RT_W == 16
INLINE vf ld_n(const float *p, int64_t n)
{
	return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

INLINE void st_n(float *p, vf v, int64_t n)
{
	_mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
}
#elif defined(__x86_64__) && RT_W == 8
INLINE __m256i first_lanes(int64_t n)
{
	return (__m256i)((vi){ 0, 1, 2, 3, 4, 5, 6, 7 } < (int32_t)n);
}

INLINE vf ld_n(const float *p, int64_t n)
{
	return (vf)_mm256_maskload_ps(p, first_lanes(n));
}

INLINE void st_n(float *p, vf v, int64_t n)
{
	_mm256_maskstore_ps(p, first_lanes(n), (__m256)v);
}
#else
INLINE vf ld_n(const float *p, int64_t n)
{
	float t[RT_W] = { 0 };

	memcpy(t, p, (size_t)n * sizeof(float));
	return ld(t);
}

INLINE void st_n(float *p, vf v, int64_t n)
{
	float t[RT_W];

	st(t, v);
	memcpy(p, t, (size_t)n * sizeof(float));
}
#endif

INLINE vf ldx(const float *p, int64_t n)
{
	return n >= W ? ld(p) : ld_n(p, n);
}

INLINE void stx(float *p, vf v, int64_t n)
{
	if (n >= W)
		st(p, v);
	else
		st_n(p, v, n);
}

INLINE vf splat(float x)
{
	return x - (vf){ 0 };
}

INLINE vf sel(vi mask, vf a, vf b)
{
	return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

/* The first n lanes of v, and `other` in the remaining ones. */
INLINE vf first_or(vf v, int64_t n, float other)
{
	vi lane;

	for (int l = 0; l < RT_W; l++)
		lane[l] = l;
	return sel(lane < (int32_t)n, v, splat(other));
}

/* Store a lane mask as the bits of elements i..i+W of a row, and load it. Each lane is all ones or all zeros. */
INLINE void st_bits(uint8_t *row, int64_t i, vi lanes)
{
#if defined(__x86_64__) && RT_W == 16
	uint16_t bits = (uint16_t)_mm512_movepi32_mask((__m512i)lanes);

	memcpy(row + i / 8, &bits, sizeof(bits));
#else
	int bits = 0;

	for (int l = 0; l < RT_W; l++)
		bits |= (lanes[l] & 1) << l;
	row[i / 8] = (uint8_t)(i % 8 ? row[i / 8] | bits << i % 8 : bits);
#endif
}

INLINE vi ld_bits(const uint8_t *row, int64_t i)
{
#if defined(__x86_64__) && RT_W == 16
	uint16_t bits;

	memcpy(&bits, row + i / 8, sizeof(bits));
	return (vi)_mm512_movm_epi32(bits);
#else
	vi lane;

	for (int l = 0; l < RT_W; l++)
		lane[l] = 1 << l;
	return (vi)((lane & row[i / 8] >> i % 8) != 0);
#endif
}

/* a > b ? a : b, and a < b ? a : b: the result is b if one of both is NaN. */
#if defined(__x86_64__)
#if RT_W == 16
#define MM(op)	_mm512_##op##_ps
#elif RT_W == 8
#define MM(op)	_mm256_##op##_ps
#else
#define MM(op)	_mm_##op##_ps
#endif
INLINE vf vmax(vf a, vf b)
{
	return (vf)MM(max)(a, b);
}

INLINE vf vmin(vf a, vf b)
{
	return (vf)MM(min)(a, b);
}
#undef MM
#else
INLINE vf vmax(vf a, vf b)
{
	return sel(a > b, a, b);
}

INLINE vf vmin(vf a, vf b)
{
	return sel(a < b, a, b);
}
#endif

INLINE vf vsqrt(vf x)
{
#if defined(__x86_64__) && RT_W == 16
	return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__x86_64__) && RT_W == 8
	return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__) && RT_W == 4
	return (vf)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__) && RT_W == 4
	return (vf)vsqrtq_f32((float32x4_t)x);
#else
	for (int i = 0; i < RT_W; i++)
		x[i] = __builtin_sqrtf(x[i]);
	return x;
#endif
}

/* Reduce in a fixed tree order, so that the bits are reproducible. */
#if defined(__x86_64__) && RT_W >= 8
#if RT_W == 16
#define HALF(op, v)	_mm256_##op##_ps(_mm512_castps512_ps256((__m512)(v)), _mm512_extractf32x8_ps((__m512)(v), 1))
#else
#define HALF(op, v)	((__m256)(v))
#endif
#define REDUCTION(name, op)                                                                                            \
	INLINE float name(vf v)                                                                                        \
	{                                                                                                              \
		__m256 half = HALF(op, v);                                                                             \
		__m128 q = _mm_##op##_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));                \
		q = _mm_##op##_ps(q, _mm_movehl_ps(q, q));                                                             \
		return _mm_cvtss_f32(_mm_##op##_ss(q, _mm_movehdup_ps(q)));                                            \
	}
REDUCTION(hsum, add)
REDUCTION(hmax, max)
#undef REDUCTION
#undef HALF
#else
INLINE float hsum(vf v)
{
	float t[RT_W];

	st(t, v);
	for (int step = RT_W / 2; step; step /= 2)
		for (int i = 0; i < step; i++)
			t[i] += t[i + step];
	return t[0];
}

INLINE float hmax(vf v)
{
	float t[RT_W], m;

	st(t, v);
	m = t[0];
	for (int i = 1; i < RT_W; i++)
		m = t[i] > m ? t[i] : m;
	return m;
}
#endif

/* e^x = 2^n e^r with |r| <= ln 2 / 2. r is computed in two parts, e^r by a minimax polynomial of degree 6 (error 1e-8).
 * x is clamped to -87.33..88.72, so the result is a normal finite number. NaN stays NaN. */
INLINE vf vexp(vf x)
{
	const float magic = 12582912.0f; /* 1.5 2^23; adding it rounds to an integer */
	vf c = vmin(splat(88.72f), vmax(splat(-87.33f), x));
	vf t = c * 1.44269504f + magic, n = t - magic;
	vf r = c - n * 0.693359375f + n * 2.12194440e-4f, p;

	p = 1.9875691500e-4f * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * (r * r) + r + 1.0f;
#if defined(__x86_64__) && RT_W == 16
	return (vf)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
	/* Scale by 2^(n/2) twice, because 2^128 overflows. */
	vi half = ((vi)t - (vi)splat(magic)) >> 1, rest = ((vi)t - (vi)splat(magic)) - half;

	return p * (vf)((half + 127) << 23) * (vf)((rest + 127) << 23);
#endif
}
