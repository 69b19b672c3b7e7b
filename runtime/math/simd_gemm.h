/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner part of a matrix product (math/gemm_own.c): packing of the operands into reading order, and a tile of the
 * result in registers. TILE_ROWS x 2 vectors leave room for two vectors of b and one of a: tiles are 14 x 32 with
 * AVX-512's 32 registers and 6 x 16 with AVX2's 16. Included by simd_body.h.
 */
#define GEMM_COLS	(2 * RT_W)

#if RT_W == 16
#define STEPS		4
#define LOW		0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH		8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif RT_W == 8
#define STEPS		3
#define LOW		0, 8, 1, 9, 2, 10, 3, 11
#define HIGH		4, 12, 5, 13, 6, 14, 7, 15
#endif

/* Transposes W vectors in log2 W steps. Each step interleaves the two halves. */
INLINE void transpose(vf *r)
{
#pragma GCC unroll 4
	for (int step = 0; step < STEPS; step++) {
		vf t[RT_W];

#pragma GCC unroll 16
		for (int i = 0; i < RT_W / 2; i++) {
			t[2 * i] = __builtin_shufflevector(r[i], r[i + RT_W / 2], LOW);
			t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + RT_W / 2], HIGH);
		}
#pragma GCC unroll 16
		for (int i = 0; i < RT_W; i++)
			r[i] = t[i];
	}
}

/* r = the transpose of W x W elements of x, which has n rows and `cols` columns left. Missing elements read as zero. */
INLINE void load_transposed(vf *r, const float *x, int64_t ld_x, int64_t n, int64_t cols)
{
	if (n >= W && cols >= W) {
#pragma GCC unroll 16
		for (int i = 0; i < RT_W; i++)
			r[i] = ld(x + i * ld_x);
	} else if (cols >= W) {
		for (int i = 0; i < RT_W; i++)
			r[i] = i < n ? ld(x + i * ld_x) : (vf){ 0 };
	} else {
		for (int i = 0; i < RT_W; i++)
			r[i] = i < n ? ld_n(x + i * ld_x, cols) : (vf){ 0 };
	}
	transpose(r);
}

/* to (k,rows) = a (rows,k)^T. May store a whole vector: its excess stays inside `to` and is overwritten later. */
static void gemm_pack_a(float *to, const float *a, int64_t lda, int64_t rows, int64_t k)
{
	EACH(p, k) {
		vf r[RT_W];

		load_transposed(r, a + p, lda, rows, k - p);
		for (int64_t j = 0; j < W && p + j < k; j++)
			stx(to + (p + j) * rows, r[j], (p + j) * rows + W <= k * rows ? W : rows);
	}
}

/* to (k,GEMM_COLS) = b (cols,k)^T, padded with zeros. */
static void gemm_pack_b(float *to, const float *b, int64_t ldb, int64_t k, int64_t cols)
{
	for (int64_t half = 0; half < GEMM_COLS; half += W)
		EACH(p, k) {
			vf r[RT_W];

			load_transposed(r, b + half * ldb + p, ldb, cols - half, k - p);
			for (int64_t j = 0; j < W && p + j < k; j++)
				st(to + (p + j) * GEMM_COLS + half, r[j]);
		}
}

/* lda: stride of the elements of k in a, at least `rows`. */
INLINE void tile(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int rows, int vectors, int64_t k, bool add,
		 const float *ahead, int64_t step)
{
	vf sum[TILE_ROWS][2];

#pragma GCC unroll 16
	for (int i = 0; i < rows; i++)
		for (int v = 0; v < vectors; v++) {
			sum[i][v] = (vf){ 0 };
			__builtin_prefetch(c + i * ldc + v * W, 1);
		}
	for (int64_t p = 0; p < k; p++, a += lda, b += GEMM_COLS) {
		vf b0 = ld(b), b1 = vectors > 1 ? ld(b + W) : b0;

		__builtin_prefetch(ahead, 0, 2);
		ahead += step;
#pragma GCC unroll 16
		for (int i = 0; i < rows; i++) {
			vf x = splat(a[i]);

			sum[i][0] += x * b0;
			if (vectors > 1)
				sum[i][1] += x * b1;
		}
	}
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++, c += ldc)
		for (int v = 0; v < vectors; v++)
			st(c + v * W, add ? sum[i][v] + ld(c + v * W) : sum[i][v]);
}

static void whole_tile(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int64_t rows, int vectors, int64_t k,
		       bool add, const float *ahead, int64_t step)
{
	switch (rows) {
#define PRODUCT(n)                                                                                                     \
	case n:                                                                                                        \
		if (vectors > 1)                                                                                       \
			tile(c, ldc, a, lda, b, n, 2, k, add, ahead, step);                                            \
		else                                                                                                   \
			tile(c, ldc, a, lda, b, n, 1, k, add, ahead, step);                                            \
		break;
		EACH_ROWS(PRODUCT)
#undef PRODUCT
	default:
		break;
	}
}

/* c (rows,cols) = or += packed a times packed b; rows <= TILE_ROWS, cols <= GEMM_COLS. */
static void gemm_tile(float *c, int64_t ldc, const float *a, const float *b, int64_t rows, int64_t cols, int64_t k, bool add,
		      const float *ahead, int64_t step)
{
	float edge[TILE_ROWS * GEMM_COLS];

	if (!ahead) {
		ahead = b; /* cached already */
		step = 0;
	}
	if (cols == GEMM_COLS || cols == W) {
		whole_tile(c, ldc, a, rows, b, rows, cols > W ? 2 : 1, k, add, ahead, step);
		return;
	}
	whole_tile(edge, GEMM_COLS, a, rows, b, rows, cols > W ? 2 : 1, k, false, ahead, step);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			c[i * ldc + j] = edge[i * GEMM_COLS + j] + (add ? c[i * ldc + j] : 0);
}

static const struct rt_tiles tiles = {
	.rows = TILE_ROWS,
	.cols = GEMM_COLS,
	.pack_a = gemm_pack_a,
	.pack_b = gemm_pack_b,
	.tile = gemm_tile,
};
