/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_INT8_H
#define RT_INT8_H
/*
 * INT8 matrix products y (m,n) = x (m,k) w (n,k)^T with exact 32-bit sums.
 *
 * Weights are symmetric, with one scale per output: w = scale[j] v, v in -127..127. Activations are affine, with one scale and
 * one zero point per row: x = scale[i] (q - zero[i]), q in 0..255. The instructions multiply unsigned by signed bytes, so
 * sum (q - zero) v = sum q v - zero sum v, and the last sum is a constant of the weight.
 *
 * A packed weight is (panels, groups, RT_I8_COLS, RT_I8_GROUP): RT_I8_COLS outputs next to each other, RT_I8_GROUP
 * elements of k of each. Missing outputs and elements are zero. The layout is the same for all instruction sets.
 */
#include <math.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include "runtime/math/gemm.h"

#define RT_I8_COLS	INT64_C(32)
#define RT_I8_GROUP	INT64_C(4)
/* Largest number of rows of a tile, of all instruction sets. */
#define RT_I8_TILE_ROWS	INT64_C(16)
/* Largest k without overflow: 255 * 127 * k < 2^31. */
#define RT_I8_DEPTH	INT64_C(65536)

static inline int64_t rt_i8_groups(int64_t k)
{
	return (k + RT_I8_GROUP - 1) / RT_I8_GROUP;
}

static inline int64_t rt_i8_padded(int64_t n) /* outputs of whole panels */
{
	return (n + RT_I8_COLS - 1) / RT_I8_COLS * RT_I8_COLS;
}

/* A tile of the result. Column arrays except bias are readable up to the end of the panel. */
struct rt_i8_tile {
	const uint32_t *a; /* (groups,rows) of 4 activations each */
	const int8_t *b;   /* one panel of the weight */
	int64_t rows, cols, groups;
	const float *row_scale;
	const int32_t *row_zero;
	const float *col_scale, *bias; /* bias may be NULL */
	const int32_t *col_sum;
	enum rt_act act;
	float *y;
	const float *residual; /* added to the result, with the stride of y, if act is RT_ACT_NONE; may be NULL */
	int64_t ldy;
};
/* Kernels of one instruction set. */
struct rt_i8 {
	const char *name;
	bool faster; /* has instructions for these products */
	int rows;    /* rows of the largest tile */
	/* *lo and *hi: the smallest and the largest of x (n) and 0. Returns 0, or NAN if an element is not finite. */
	float (*range)(const float *x, int64_t n, float *lo, float *hi);
	/* to = x * inverse + zero, rounded to nearest even and limited to 0..255. Returns as range(). */
	float (*quantize)(uint8_t *to, const float *x, int64_t n, float inverse, int32_t zero);
	/* Quantises x (n) by its own range. *scale is NAN if an element is not finite. */
	void (*quantize_row)(uint8_t *to, const float *x, int64_t n, float *scale, int32_t *zero);
	/* y = act(row_scale col_scale (a b - row_zero col_sum) + bias) + residual */
	void (*tile)(const struct rt_i8_tile *t);
};
extern const struct rt_i8 rt_i8_avx512_vnni, rt_i8_avx512, rt_i8_avx_vnni, rt_i8_avx2, rt_i8_base;
/* Returns the best kernels for this CPU, within the limits of rt_simd_best(). */
const struct rt_i8 *rt_i8_best(void);
/* Returns all kernels that this CPU can run, the best first; NULL-terminated. */
#define RT_I8_SETS	6
void rt_i8_all(const struct rt_i8 *ret[RT_I8_SETS]);

/* Scale and zero point of activations in lo..hi, lo <= 0 <= hi. */
struct rt_i8_range {
	float scale, inverse;
	int32_t zero;
};
/* Returns x, rounded to nearest even. The compiler calls lrintf() as a function. */
static inline int32_t rt_i8_nearest(float x)
{
#if defined(__x86_64__)
	return _mm_cvtss_si32(_mm_set_ss(x));
#else
	return (int32_t)lrintf(x);
#endif
}

static inline struct rt_i8_range rt_i8_range(float lo, float hi)
{
	float width = hi - lo, inverse = 255 / width;

	if (!(width >= 1e-30f)) /* all zero; or NaN */
		return (struct rt_i8_range){ .scale = width >= 0 ? 1 : NAN, .inverse = 0, .zero = 0 };
	return (struct rt_i8_range){ .scale = width / 255, .inverse = inverse, .zero = rt_i8_nearest(-lo * inverse) };
}

struct rt_i8_weight {
	int64_t n, k;
	int8_t *packed;
	float *scale; /* (rt_i8_padded(n)) */
	int32_t *sum; /* the same */
};
/* Bytes per output of a weight in one piece of memory: the packed values, the scale and the sum. */
static inline int64_t rt_i8_output_bytes(int64_t k)
{
	return rt_i8_groups(k) * RT_I8_GROUP + 8;
}

/* Returns the weight in memory of rt_i8_padded(n) rt_i8_output_bytes(k) bytes. */
static inline struct rt_i8_weight rt_i8_weight_at(void *memory, int64_t n, int64_t k)
{
	char *scales = (char *)memory + rt_i8_padded(n) * rt_i8_groups(k) * RT_I8_GROUP;

	return (struct rt_i8_weight){ .n = n, .k = k, .packed = memory, .scale = (float *)(void *)scales,
				      .sum = (int32_t *)(void *)(scales + rt_i8_padded(n) * 4) };
}
/* Quantises and packs w (n,channels,taps), on the team. k = channels * taps; the packed order is (taps,channels). */
void rt_i8_pack(const struct rt_cpu *cpu, const struct rt_i8_weight *to, const float *w, int64_t channels, int64_t taps);

struct rt_i8_product {
	const struct rt_i8 *kernels; /* NULL: rt_i8_best() */
	int64_t m;
	struct rt_i8_weight w;
	const float *bias; /* may be NULL */
	float *y;	   /* (m,n) */
	/* Writes quantised rows row..row+rows to `to`, with stride ld, and their scales and zero points. */
	void (*rows)(const struct rt_i8_product *p, int64_t row, int64_t rows, uint8_t *to, int64_t ld, float *scale,
		     int32_t *zero);
	const void *arg;
	enum rt_act act;
	const float *residual; /* (m,n), added to y if act is RT_ACT_NONE; may be NULL */
	bool rows_once; /* rows() is slow: no other thread quantises the same rows */
};
/* Returns the scratch memory of a product in bytes. */
size_t rt_i8_scratch_bytes(int64_t k, int threads);
/* Runs the product on the team. scratch is aligned to 64 bytes. */
void rt_i8_multiply(const struct rt_cpu *cpu, const struct rt_i8_product *p, void *scratch);
/*
 * Computes rows row..row+rows, which fit in a tile, in the calling thread, and writes them to y (rows,n). Scratch memory:
 * rt_i8_tile_scratch_bytes(), aligned to 64 bytes.
 */
void rt_i8_multiply_tile(const struct rt_cpu *cpu, const struct rt_i8_product *p, int64_t row, int64_t rows, float *y,
			 void *scratch);
size_t rt_i8_tile_scratch_bytes(int64_t k);
#endif
