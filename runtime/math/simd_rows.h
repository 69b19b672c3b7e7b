/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of few rows (math/gemm_rows.c), and attention of one query. A weight is read once, in the order of memory.
 * Each sum has one part per lane. Included by simd_body.h.
 */

/* Rows of a and of b whose sums are in registers at the same time: 16 vectors with AVX-512, 8 with AVX2. */
#define ROWS_OF_A	8
#define ROWS_OF_B(m)	(RT_W == 16 ? (m) <= 4 ? 4 : 2 : (m) <= 2 ? 4 : (m) <= 4 ? 2 : 1)

INLINE vf ld_weight(const void *b, bool bf16, int64_t at)
{
	return bf16 ? bf16_value(wide(*(const vhu *)((const uint16_t *)b + at))) : ld((const float *)b + at);
}

INLINE vf ld_weight_n(const void *b, bool bf16, int64_t at, int64_t n)
{
	vh t = { 0 };

	if (!bf16)
		return ld_n((const float *)b + at, n);
	memcpy(&t, (const uint16_t *)b + at, (size_t)n * sizeof(uint16_t));
	return bf16_value(wide(t));
}

/* c (m,cols) = or += a (m,k) b (cols,k)^T. Prefetches the rows that follow in b. */
INLINE void rows_block(float *c, int64_t ldc, const float *a, const void *b, int m, int cols, int64_t k, bool bf16, bool add)
{
	vf sum[ROWS_OF_A][4], w[4];
	int64_t p = 0;

#pragma GCC unroll 8
	for (int i = 0; i < m; i++)
		for (int j = 0; j < cols; j++)
			sum[i][j] = (vf){ 0 };
	for (; p + W <= k; p += W) {
#pragma GCC unroll 4
		for (int j = 0; j < cols; j++) {
			w[j] = ld_weight(b, bf16, j * k + p);
			__builtin_prefetch((const char *)b + (bf16 ? 2 : 4) * ((cols + j) * k + p));
		}
#pragma GCC unroll 8
		for (int i = 0; i < m; i++) {
			vf x = ld(a + i * k + p);

#pragma GCC unroll 4
			for (int j = 0; j < cols; j++)
				sum[i][j] += x * w[j];
		}
	}
	if (p < k)
		for (int j = 0; j < cols; j++) {
			vf rest = ld_weight_n(b, bf16, j * k + p, k - p);

#pragma GCC unroll 8
			for (int i = 0; i < m; i++)
				sum[i][j] += ld_n(a + i * k + p, k - p) * rest;
		}
#pragma GCC unroll 8
	for (int i = 0; i < m; i++)
#pragma GCC unroll 4
		for (int j = 0; j < cols; j++)
			c[i * ldc + j] = hsum(sum[i][j]) + (add ? c[i * ldc + j] : 0);
}

/* m <= ROWS_OF_A rows of a, all rows of b that a block holds, then the rest one by one. */
#define ROWS_CASE(mm)                                                                                                  \
	case mm:                                                                                                       \
		if (cols == ROWS_OF_B(mm))                                                                             \
			rows_block(c, ldc, a, b, mm, ROWS_OF_B(mm), k, bf16, add);                                     \
		else                                                                                                   \
			for (int64_t j = 0; j < cols; j++)                                                             \
				rows_block(c + j, ldc, a, (const char *)b + (bf16 ? 2 : 4) * j * k, mm, 1, k, bf16, add);      \
		break;

INLINE void rows_blocks(float *c, int64_t ldc, const float *a, const void *b, int64_t m, int64_t cols, int64_t k, bool bf16,
			bool add)
{
	switch (m) {
		ROWS_CASE(1) ROWS_CASE(2) ROWS_CASE(3) ROWS_CASE(4) ROWS_CASE(5) ROWS_CASE(6) ROWS_CASE(7) ROWS_CASE(8)
	default:
		break;
	}
}

/* A block of b stays in the L1 cache for all blocks of a. */
INLINE void rows_any(float *c, int64_t ldc, const float *a, const void *b, int64_t m, int64_t n, int64_t k, bool bf16, bool add)
{
	int64_t most = m > ROWS_OF_A ? ROWS_OF_A : m, cols;

	for (int64_t j = 0; j < n; j += cols) {
		cols = ROWS_OF_B(most) < n - j ? ROWS_OF_B(most) : n - j;
		for (int64_t i = 0; i < m; i += most)
			rows_blocks(c + i * ldc + j, ldc, a + i * k, (const char *)b + (bf16 ? 2 : 4) * j * k,
				    m - i < most ? m - i : most, cols, k, bf16, add);
	}
}

static void rows_f32(float *c, int64_t ldc, const float *a, const float *b, int64_t m, int64_t n, int64_t k, bool accumulate)
{
	rows_any(c, ldc, a, b, m, n, k, false, accumulate);
}

static void rows_bf16(float *c, int64_t ldc, const float *a, const uint16_t *b, int64_t m, int64_t n, int64_t k, bool accumulate)
{
	rows_any(c, ldc, a, b, m, n, k, true, accumulate);
}

/* s[j] = scale q . k[j], with k (keys,depth) */
static void dots(float *s, const float *q, const float *k, int64_t depth, int64_t keys, float scale)
{
	for (int64_t j = 0; j < keys; j++, k += depth) {
		vf sum = { 0 };

		EACH(i, depth)
			sum += ldx(q + i, depth - i) * ldx(k + i, depth - i);
		s[j] = hsum(sum) * scale;
	}
}

/* y (depth) = sum over j of p[j] v[j], with v (keys,depth) */
static void weighted_sum(float *y, const float *p, const float *v, int64_t depth, int64_t keys)
{
	int64_t i = 0;

	for (; i + 4 * W <= depth; i += 4 * W) {
		vf sum[4] = { { 0 } };

		for (int64_t j = 0; j < keys; j++)
			for (int d = 0; d < 4; d++)
				sum[d] += p[j] * ld(v + j * depth + i + d * W);
		for (int d = 0; d < 4; d++)
			st(y + i + d * W, sum[d]);
	}
	for (; i < depth; i += W) {
		vf sum = { 0 };

		for (int64_t j = 0; j < keys; j++)
			sum += p[j] * ldx(v + j * depth + i, depth - i);
		stx(y + i, sum, depth - i);
	}
}
