/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of f32 to bf16 and f16 and back. No include guard: simd_body.h includes this file per instruction set. */

typedef uint16_t vh __attribute__((vector_size(2 * RT_W)));
typedef uint16_t vhu __attribute__((vector_size(2 * RT_W), aligned(2), may_alias));

INLINE vi splat_i(int32_t x)
{
	return x - (vi){ 0 };
}

INLINE vi sel_i(vi mask, vi a, vi b)
{
	return (mask & a) | (~mask & b);
}

/* Returns the low 16 bits of each element. */
INLINE vh halves(vi v)
{
	return __builtin_convertvector(v, vh);
}

INLINE vi wide(vh v)
{
	return __builtin_convertvector(v, vi);
}

/* Rounds to nearest, ties to even: adds half of the last kept bit's unit, minus 1 if that bit is even. A NaN keeps its
 * upper bits and becomes quiet. Unsigned arithmetic, because the sum of a NaN may wrap before it is discarded. */
INLINE vi bf16_bits(vf x)
{
	vu u = (vu)x, even = (u >> 16) & 1;

	return sel_i(x != x, (vi)((u >> 16) | 0x40), (vi)((u + 0x7FFF + even) >> 16));
}

/* F. Giesen's method: values below f16's normal range are rounded by adding 0.5, the others with integers. */
INLINE vi f16_bits(vf x)
{
	vi u = (vi)x, sign = u & INT32_MIN, a = u ^ sign;
	vi tiny = (vi)((vf)a + 0.5f) - 0x3F000000;
	vi normal = (vi)(((vu)a - ((127 - 15) << 23) + 0xFFF + (((vu)a >> 13) & 1)) >> 13); /* may wrap where `tiny` is
											     * selected */
	vi huge = sel_i(a > 0x7F800000, splat_i(0x7E00), splat_i(0x7C00));
	vi h = sel_i(a >= 0x47800000, huge, sel_i(a < 0x38800000, tiny, normal));

	return h | ((sign >> 16) & 0x8000);
}

INLINE vf f16_value(vi h)
{
	vi o = (h & 0x7FFF) << 13, exp = o & (0x7C00 << 13);
	vf tiny, value;

	o += (127 - 15) << 23;
	tiny = (vf)(o + (1 << 23)) - 6.103515625e-05f;
	value = sel(exp == (0x7C00 << 13), (vf)(o + ((128 - 16) << 23)), (vf)o);
	value = sel(exp == 0, tiny, value);
	return (vf)((vi)value | (h & 0x8000) << 16);
}

#define NARROW(name, bits)                                                                                             \
	static void name(uint16_t *y, const float *x, int64_t n)                                                       \
	{                                                                                                              \
		int64_t i = 0;                                                                                         \
		for (; i + W <= n; i += W)                                                                             \
			*(vhu *)(y + i) = halves(bits(ld(x + i)));                                                     \
		if (i < n) {                                                                                           \
			vh t = halves(bits(ld_n(x + i, n - i)));                                                       \
			memcpy(y + i, &t, (size_t)(n - i) * sizeof(*y));                                               \
		}                                                                                                      \
	}
#define WIDEN(name, value)                                                                                             \
	static void name(float *y, const uint16_t *x, int64_t n)                                                       \
	{                                                                                                              \
		int64_t i = 0;                                                                                         \
		for (; i + W <= n; i += W)                                                                             \
			st(y + i, value(wide(*(const vhu *)(x + i))));                                                 \
		if (i < n) {                                                                                           \
			vh t = { 0 };                                                                                  \
			memcpy(&t, x + i, (size_t)(n - i) * sizeof(*x));                                               \
			st_n(y + i, value(wide(t)), n - i);                                                            \
		}                                                                                                      \
	}

INLINE vf bf16_value(vi h)
{
	return (vf)(h << 16);
}

NARROW(to_bf16, bf16_bits)
NARROW(to_f16, f16_bits)
WIDEN(from_bf16, bf16_value)
WIDEN(from_f16, f16_value)
