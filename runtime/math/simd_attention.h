/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of one head. A block has GEMM_COLS queries, one per lane, and its scores are (keys,queries). So the softmax needs no
 * operation across lanes, and the second product reads the probabilities as its packed left operand. With a causal mask, a
 * block uses its own keys and earlier ones. Included by simd_body.h.
 */

/* Keys whose terms are summed in float before that sum is added to another. The error does not grow with the length. */
#define SUM_KEYS	256

INLINE int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns the number of tiles that n rows need. */
INLINE int64_t panels_of(int64_t n)
{
	return (n + TILE_ROWS - 1) / TILE_ROWS;
}

/* Prefetches the elements that follow n rows of x: those of the next head. */
INLINE void prefetch_next(const struct rt_attend *a, const float *x, int64_t n)
{
	for (int64_t t = 0; t < n; t++)
		for (int64_t d = 0; d < a->depth; d += 16)
			__builtin_prefetch(x + t * a->stride + a->depth + d, 0, 2);
}

/* Packs x (len,depth) in groups of GEMM_COLS rows: (groups,depth,GEMM_COLS). */
static void pack_groups(float *to, const struct rt_attend *a, const float *x, int64_t len)
{
	for (int64_t t = 0; t < len; t += GEMM_COLS)
		gemm_pack_b(to + t * a->depth, x + t * a->stride, a->stride, a->depth, least(len - t, GEMM_COLS));
}

/* Packs v (len,depth) in groups of GEMM_COLS columns: (groups,len,GEMM_COLS), padded with zeros. */
static void pack_values(float *to, const struct rt_attend *a)
{
	for (int64_t d = 0; d < a->depth; d += GEMM_COLS)
		for (int64_t t = 0; t < a->len; t++, to += GEMM_COLS)
			for (int64_t i = 0; i < GEMM_COLS; i += W) {
				int64_t left = a->depth - d - i;

				st(to + i, left > 0 ? ldx(a->v + t * a->stride + d + i, left) : (vf){ 0 });
			}
}

/* s (keys,GEMM_COLS) = k q^T. Keys from `own` on are those of the block, and its earlier queries do not see them. */
static void scores(float *s, const float *k, const float *q, int64_t depth, int64_t keys, int64_t own)
{
	for (int64_t g = 0; g < keys; g += GEMM_COLS) {
		int64_t n = least(keys - g, GEMM_COLS), panels = panels_of(n);

		for (int64_t i = 0; i < panels; i++) {
			int64_t row = n * i / panels, rows = n * (i + 1) / panels - row, skip = g >= own && row >= W ? W : 0;

			whole_tile(s + (g + row) * GEMM_COLS + skip, GEMM_COLS, k + g * depth + row, GEMM_COLS, q + skip, rows,
				   skip ? 1 : 2, depth, false, q, 0);
		}
	}
}

/* Lane l sees keys below `seen` + l. */
INLINE vf visible(vf v, int64_t key, int64_t seen, float other)
{
	vi lane;

	for (int l = 0; l < RT_W; l++)
		lane[l] = l;
	return sel(lane > (int32_t)(key - seen), v, splat(other));
}

/* e^(x factor ln 2) for x <= 0, with a relative error of 2e-7. Values below 2^-126 are replaced by it. NaN stays NaN. */
INLINE vf exp_below(vf x, float factor)
{
	const float magic = 12582912.0f; /* 1.5 2^23; adding it rounds to an integer */
	vf c = vmax(splat(-126 / factor), x), t = c * factor + magic, n = t - magic, r = c * factor - n, p;

	/* 2^r, |r| <= 1/2: the polynomial of exp2f in the Cephes library, https://www.netlib.org/cephes */
	p = 1.535336188319500e-4f * r + 1.339887440266574e-3f;
	p = p * r + 9.618437357674640e-3f;
	p = p * r + 5.550332471162809e-2f;
	p = p * r + 2.402264791363012e-1f;
	p = p * r + 6.931472028550421e-1f;
	p = p * r + 1.0f;
#if defined(__x86_64__) && RT_W == 16
	return (vf)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
	return p * (vf)(((vi)t - (vi)splat(magic) + 127) << 23);
#endif
}

/*
 * Replaces the scores s (keys,W), with stride GEMM_COLS, by e^(scale (score - max)), and by 0 if a lane does not see the key.
 * Writes the reciprocals of the sums, and the log-sum-exp to lse (n) unless that is NULL.
 */
static void softmax_lanes(float *s, int64_t keys, int64_t seen, float scale, float *inverse, float *lse, int64_t n)
{
	int64_t whole = least(keys, seen), some = least(keys, seen + W - 1);
	const float factor = scale * 1.44269504f;
	vf max = splat(-INFINITY), sum = { 0 };

	for (int64_t k = 0; k < whole; k++)
		max = vmax(ld(s + k * GEMM_COLS), max);
	for (int64_t k = whole; k < some; k++)
		max = vmax(visible(ld(s + k * GEMM_COLS), k, seen, -INFINITY), max);
	for (int64_t first = 0; first < whole; first += SUM_KEYS) {
		vf part = { 0 };

		for (int64_t k = first; k < least(whole, first + SUM_KEYS); k++) {
			vf e = exp_below(ld(s + k * GEMM_COLS) - max, factor);

			part += e;
			st(s + k * GEMM_COLS, e);
		}
		sum += part;
	}
	for (int64_t k = whole; k < some; k++) {
		vf e = visible(exp_below(ld(s + k * GEMM_COLS) - max, factor), k, seen, 0);

		sum += e;
		st(s + k * GEMM_COLS, e);
	}
	for (int64_t k = some; k < keys; k++)
		st(s + k * GEMM_COLS, (vf){ 0 });
	st(inverse, 1.0f / sum);
	for (int64_t i = 0; lse && i < n; i++)
		lse[i] = scale * max[i] + logf(sum[i]);
}

/* y (rows,depth) = p v, divided by the sums. p: (keys,GEMM_COLS), from the first of these rows on. */
INLINE void weighted_values(const struct rt_attend *a, float *y, const float *p, const float *v, int64_t rows, int64_t keys,
			    const float *inverse)
{
	float part[TILE_ROWS * GEMM_COLS];

	for (int64_t d = 0; d < a->depth; d += GEMM_COLS, v += a->len * GEMM_COLS) {
		whole_tile(part, GEMM_COLS, p, GEMM_COLS, v, rows, a->depth - d > W ? 2 : 1, keys, false, v, 0);
		for (int64_t r = 0; r < rows; r++)
			for (int64_t i = 0; i < GEMM_COLS && d + i < a->depth; i += W)
				stx(y + r * a->ldy + d + i, ld(part + r * GEMM_COLS + i) * inverse[r], a->depth - d - i);
	}
}

/* Computes the n queries from t on. */
INLINE void attend_block(const struct rt_attend *a, const float *k, const float *v, float *q, float *s, int64_t t, int64_t n)
{
	int64_t keys = a->causal ? t + n : a->len, panels = panels_of(n);
	float inverse[GEMM_COLS];

	gemm_pack_b(q, a->q + t * a->stride, a->stride, a->depth, n);
	prefetch_next(a, a->q + t * a->stride, n);
	prefetch_next(a, a->k + t * a->stride, n);
	prefetch_next(a, a->v + t * a->stride, n);
	scores(s, k, q, a->depth, keys, a->causal ? t : keys);
	for (int64_t i = 0; i < n; i += W)
		softmax_lanes(s + i, keys, a->causal ? t + i + 1 : keys, a->scale, inverse + i, a->lse ? a->lse + t + i : NULL,
			      least(n - i, W));
	for (int64_t i = 0; i < panels; i++) {
		int64_t row = n * i / panels, end = n * (i + 1) / panels;

		weighted_values(a, a->y + (t + row) * a->ldy, s + row, v, end - row, a->causal ? t + end : keys, inverse + row);
	}
}

static void attend(const struct rt_attend *a)
{
	int64_t groups = (a->len + GEMM_COLS - 1) / GEMM_COLS, columns = (a->depth + GEMM_COLS - 1) / GEMM_COLS;
	float *k = a->scratch, *v = k + groups * GEMM_COLS * a->depth, *q = v + columns * GEMM_COLS * a->len;

	pack_groups(k, a, a->k, a->len);
	pack_values(v, a);
	for (int64_t t = 0; t < a->len; t += GEMM_COLS)
		attend_block(a, k, v, q, q + a->depth * GEMM_COLS, t, least(a->len - t, GEMM_COLS));
}
