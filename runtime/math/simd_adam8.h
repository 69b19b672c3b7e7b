/* SPDX-License-Identifier: Apache-2.0 */
/* One block of 8-bit AdamW. No include guard: simd_body.h includes this file per instruction set. */

INLINE vf pick(const float *table, vi at)
{
#if defined(__x86_64__) && RT_W == 16
	return (vf)_mm512_i32gather_ps((__m512i)at, table, 4);
#elif defined(__x86_64__) && RT_W == 8
	return (vf)_mm256_i32gather_ps(table, (__m256i)at, 4);
#else
	vf v;

	for (int i = 0; i < RT_W; i++)
		v[i] = table[at[i]];
	return v;
#endif
}

typedef uint8_t vb __attribute__((vector_size(RT_W)));

INLINE vi codes(const uint8_t *p)
{
	vb b;

	memcpy(&b, p, sizeof(b));
	return __builtin_convertvector(b, vi);
}

/* Returns the code of x, |x| <= 1 (map8.h). Negative results, which a signed map does not have, become 0. */
INLINE vi code_of(const struct rt_map8 *map, vf x)
{
	vi a = (vi)x & 0x7FFFFFFF, cell = (a >> 16) - (int32_t)RT_MAP8_FIRST, code;

	cell = cell & (cell > 0);
	code = (vi)pick((const float *)map->code, cell);
	code -= (vi)((vf)a > pick(map->border, cell)); /* a true comparison is -1 */
	code = sel_i(x < 0.0f, 2 * map->zero - code, code);
	return code & (code > 0);
}

INLINE void put_codes(uint8_t *p, vi code)
{
	vb b = __builtin_convertvector(code, vb);

	memcpy(p, &b, sizeof(b));
}

/* p, g (n), n <= RT_MAP8_BLOCK. m and v are codes; *m_max and *v_max are the scales of this block. */
static void adamw8(float *p, uint8_t *m, uint8_t *v, float *m_max, float *v_max, const float *g, int64_t n,
		   const struct rt_adamw *h, const struct rt_map8 *map_m, const struct rt_map8 *map_v)
{
	uint8_t mc[RT_MAP8_BLOCK], vc[RT_MAP8_BLOCK];
	float ms[RT_MAP8_BLOCK], vs[RT_MAP8_BLOCK], top_m, top_v;
	vf most_m = { 0 }, most_v = { 0 };

	/* Padding of a short block: codes of zero, which do not raise the maximum. */
	memset(mc, map_m->zero, sizeof(mc));
	memset(vc, map_v->zero, sizeof(vc));
	memcpy(mc, m, (size_t)n);
	memcpy(vc, v, (size_t)n);
	EACH(i, n) {
		int64_t k = n - i;
		vf gi = ldx(g + i, k) * h->grad_scale;
		vf mi = pick(map_m->value, codes(mc + i)) * *m_max, vi_ = pick(map_v->value, codes(vc + i)) * *v_max;

		mi = mi * h->beta1 + gi * h->rest1;
		vi_ = vi_ * h->beta2 + gi * gi * h->rest2;
		most_m = vmax(most_m, sel(mi < 0.0f, -mi, mi));
		most_v = vmax(most_v, vi_);
		st(ms + i, mi);
		st(vs + i, vi_);
		stx(p + i, ldx(p + i, k) * h->decay - h->step_size * mi / (vsqrt(vi_) * h->scale2 + h->eps), k);
	}
	*m_max = hmax(most_m);
	*v_max = hmax(most_v);
	top_m = *m_max > 0 ? 1.0f / *m_max : 0;
	top_v = *v_max > 0 ? 1.0f / *v_max : 0;
	EACH(i, n) {
		put_codes(mc + i, code_of(map_m, vmin(vmax(ld(ms + i) * top_m, splat(-1)), splat(1))));
		put_codes(vc + i, code_of(map_v, vmin(ld(vs + i) * top_v, splat(1))));
	}
	memcpy(m, mc, (size_t)n);
	memcpy(v, vc, (size_t)n);
}
