/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_SIMD_H
#define RT_SIMD_H
/*
 * All vector code except matrix products of libraries, for one thread and a range of rows, columns or elements. One
 * source (simd_body.h, with the compiler's vector types) is compiled per instruction set. The table for the best
 * instruction set of this CPU is chosen at run time. exp has a relative error of 1.5e-7; other functions have a few
 * roundings.
 */
#include <stdint.h>
#include "lib/util.h"
#include "runtime/math/act.h"
#include "runtime/math/map8.h"

/* Chunk length of a sum of squares, in elements. Short enough for a relative error of 1e-6 with float sums. */
#define RT_NORM_CHUNK	INT64_C(4096)

struct rt_adamw {
	float decay;	 /* 1 - lr wd */
	float beta1, beta2, rest1, rest2; /* rest1 = 1 - beta1, rest2 = 1 - beta2, rounded once */
	float step_size; /* lr / (1 - beta1^t) */
	float scale2;	 /* 1 / sqrt(1 - beta2^t) */
	float eps;
	float l2;	  /* L2 factor: l2 * parameter is added to the gradient */
	float grad_scale; /* factor of every gradient, applied first */
};
struct rt_sgd {
	float lr, momentum, weight_decay, grad_scale;
	bool first; /* first step: the momentum is set to the gradient */
};

/* The inner part of a matrix product. The outer part is math/gemm_own.c. */
struct rt_tiles {
	int rows, cols; /* largest tile */
	/* Packs a (n,k) into to (k,n), n <= rows. */
	void (*pack_a)(float *to, const float *a, int64_t lda, int64_t n, int64_t k);
	/* Packs b (n,k) into to (k,cols), n <= cols, and pads with zeros. */
	void (*pack_b)(float *to, const float *b, int64_t ldb, int64_t k, int64_t n);
	/* c (rows,cols) = or += the product of the packed operands. Meanwhile prefetches k cache lines from `ahead`,
	 * `step` floats apart; ahead may be NULL. */
	void (*tile)(float *c, int64_t ldc, const float *a, const float *b, int64_t rows, int64_t cols, int64_t k, bool add,
		     const float *ahead, int64_t step);
};

/* One head of attention. q, k and v are (len,depth) with row stride `stride`; y is (len,depth) with row stride ldy. */
struct rt_attend {
	const float *q, *k, *v;
	float *y, *lse; /* lse (len): log-sum-exp of the scaled scores; may be NULL */
	float *scratch; /* rt_attend_floats() */
	int64_t len, depth, stride, ldy;
	float scale; /* factor of the scores, above 0 */
	bool causal; /* query t reads keys 0..t */
};
/* Columns of the packed operands: at most this number. */
#define RT_ATTEND_COLS	INT64_C(32)
static inline int64_t rt_attend_floats(int64_t len, int64_t depth)
{
	int64_t rows = (len + RT_ATTEND_COLS - 1) / RT_ATTEND_COLS * RT_ATTEND_COLS;
	int64_t cols = (depth + RT_ATTEND_COLS - 1) / RT_ATTEND_COLS * RT_ATTEND_COLS;

	return rows * depth + cols * len + (depth + len) * RT_ATTEND_COLS;
}

/* The inner part of a Winograd 3x3 convolution. The outer part is cpu/conv_winograd.c. Channels come in blocks of
 * RT_WINO_LANES. */
#define RT_WINO_LANES	INT64_C(16)
#define RT_WINO_PLANES	INT64_C(36)
struct rt_wino_tile {
	int64_t at; /* offset of its first pixel in the image, which may be outside the image; this and the next fields
		     * are in floats */
	int64_t row, pixel, channels;
	int64_t top, bottom, left, right; /* range of its pixels that are inside the image */
};
/* The nine weights of each pair of channels. Channels from n_in to `in` and from n_out to `out` (whole blocks) read as
 * zero. */
struct rt_wino_weights {
	const float *at;
	int64_t in_step, out_step; /* strides in floats */
	int64_t n_in, n_out, in, out;
	bool rotated; /* rotated by 180 degrees */
};
struct rt_wino {
	int group; /* output channels per call of a product */
	/* Input transform. v: 36 planes of `plane` floats. A plane is (channels / lanes, tiles, lanes); its blocks of
	 * lanes are `block` floats apart. */
	void (*input)(float *v, int64_t plane, int64_t block, const struct rt_wino_tile *t, const float *image);
	/* Does the same for the 4x4 pixels of an output gradient, into planes of (tiles, channels). */
	void (*output_grad)(float *d, int64_t plane, const struct rt_wino_tile *t, const float *image);
	/* 4x4 pixels of the image = or += the output transform of planes of (tiles, channels). */
	void (*output)(float *image, const struct rt_wino_tile *t, const float *m, int64_t plane, bool add);
	/* One plane: m (rows,out) = v (rows,in) u (in,out). in and out are multiples of RT_WINO_LANES. */
	void (*product)(float *m, const float *v, int64_t block, const float *u, int64_t rows, int64_t in, int64_t out);
	/* One plane: p (in,out) = or += v^T d, with v (rows,in) and d (rows,out). */
	void (*outer)(float *p, const float *v, int64_t block, const float *d, int64_t rows, int64_t in, int64_t out, bool add);
	/* Weight transform into u's planes: RT_WINO_LANES input channels from `in`, `group` output channels from
	 * `out`. */
	void (*weights)(float *u, int64_t plane, const struct rt_wino_weights *w, int64_t in, int64_t out);
	/* Gradients of the nine weights of one input channel and each of n output channels, from p's planes. */
	void (*weights_grad)(float *w, int64_t step, const float *p, int64_t plane, int64_t n);
};

struct rt_simd {
	const char *name;
	const struct rt_wino *wino;
	const struct rt_tiles *tiles; /* NULL: the library's products are faster */
	void (*attend)(const struct rt_attend *a); /* y = softmax(scale q k^T) v; NULL: the library's products are faster */
	/* y (rows,cols) = act(x + bias). bias (cols) may be NULL. x keeps x + bias unless y is x. */
	void (*bias_act)(float *x, float *y, const float *bias, int64_t rows, int64_t cols, enum rt_act act);
	/* dx = or += dy act'(saved). saved is x if rt_act_reads_input(act), otherwise y. dx may be dy. */
	void (*act_bwd)(float *dx, const float *dy, const float *saved, int64_t n, enum rt_act act, bool add);
	void (*add)(float *y, const float *a, const float *b, int64_t n); /* y may be a or b */
	/* b not NULL: x = a + b (rows,cols), y = layernorm(x). b NULL: y = layernorm(a), x is not written. mean and
	 * rstd (rows) may be NULL. */
	void (*norm)(float *x, float *y, float *mean, float *rstd, const float *a, const float *b, const float *gain,
		     const float *bias, float eps, int64_t rows, int64_t cols);
	/* dx = or += the gradient through the norm. dx may be dy. */
	void (*norm_bwd)(float *dx, const float *dy, const float *x, const float *gain, const float *mean, const float *rstd,
			 int64_t rows, int64_t cols, bool add);
	/* Columns c0..c1: dgain = or += sum over rows of dy (x - mean) rstd; dbias = or += sum over rows of dy. Either
	 * may be NULL. */
	void (*norm_bwd_gain)(float *dgain, float *dbias, const float *dy, const float *x, const float *mean, const float *rstd,
			      int64_t rows, int64_t cols, int64_t c0, int64_t c1, bool add_gain, bool add_bias);
	/* Columns c0..c1 of out (cols) = or += sum over rows of x (rows, stride ld). */
	void (*column_sums)(float *out, const float *x, int64_t rows, int64_t ld, int64_t c0, int64_t c1, bool add);
	/* Returns the loss of one row of logits x (n) + bias; bias may be NULL. grad not NULL: grad = (softmax -
	 * onehot) scale. */
	float (*cross_entropy)(float *x, const float *bias, float *grad, int64_t n, int32_t target, float scale);
	/* Row r of s (rows, stride ld) has n0 + r scores. Computes the softmax in place, sets the rest up to cols to
	 * zero, and writes the log-sum-exp to lse. */
	void (*causal_softmax)(float *s, int64_t ld, int64_t rows, int64_t n0, int64_t cols, float *lse);
	/* Computes the same probabilities again, from scores and lse. */
	void (*causal_probs)(float *s, int64_t ld, int64_t rows, int64_t n0, int64_t cols, const float *lse);
	/* dp = p (dp - d[r]) scale, which is ds. */
	void (*softmax_bwd)(float *dp, const float *p, int64_t ld, int64_t rows, int64_t cols, const float *d, float scale);
	/* d[r] = a[r] . b[r], both (rows,cols) with stride ld. */
	void (*row_dots)(float *d, const float *a, const float *b, int64_t ld, int64_t rows, int64_t cols);
	/* Round to a reduced-precision type (to nearest, ties to even), and widen. NaN stays NaN. Values too large for
	 * f16 become infinite. */
	void (*to_bf16)(uint16_t *y, const float *x, int64_t n);
	void (*from_bf16)(float *y, const uint16_t *x, int64_t n);
	void (*to_f16)(uint16_t *y, const float *x, int64_t n);
	void (*from_f16)(float *y, const uint16_t *x, int64_t n);
	/* *ret = sum of (x scale)^2 over x (n), n <= RT_NORM_CHUNK. Returns false if an element of x is not finite. */
	bool (*sum_squares)(const float *x, int64_t n, float scale, double *ret);
	/* AdamW on one block of n <= RT_MAP8_BLOCK elements. m and v are codes of map_m and map_v, scaled by *m_max and
	 * *v_max. */
	void (*adamw8)(float *p, uint8_t *m, uint8_t *v, float *m_max, float *v_max, const float *g, int64_t n,
		       const struct rt_adamw *h, const struct rt_map8 *map_m, const struct rt_map8 *map_v);
	/* sums (2,cols): per channel of x (rows,cols), the sums of x - shift (cols) and of its square. */
	void (*channel_sums)(double *sums, const float *x, const float *shift, int64_t rows, int64_t cols);
	/* y = (x - mean) a + b + residual, clipped at zero if relu. residual may be NULL. `open` has one bit per
	 * element, set where y > 0, in rows of rt_bits_bytes(cols); it may be NULL. y may be x or residual. */
	void (*channel_affine)(float *y, uint8_t *open, const float *x, const float *residual, const float *mean, const float *a,
			       const float *b, int64_t rows, int64_t cols, bool relu);
	/* With g = dy where `open` is set (everywhere if open is NULL): sums (3,cols) of g, of g (x - mean) and of x -
	 * mean. */
	void (*channel_bwd_sums)(double *sums, const float *dy, const uint8_t *open, const float *x, const float *mean,
				 int64_t rows, int64_t cols);
	/* dx = or += g a + (x - mean) b + k; dres = or += g. dx or dres may be NULL; dx may be dy. */
	void (*channel_bwd)(float *dx, float *dres, const float *dy, const uint8_t *open, const float *x, const float *mean,
			    const float *a, const float *b, const float *k, int64_t rows, int64_t cols, bool add_dx, bool add_dres);
	/* y = softmax of each row of x, both with stride ld; y may be x. Writes the log-sum-exp to lse unless that is
	 * NULL. */
	void (*softmax)(float *y, const float *x, int64_t ld, int64_t rows, int64_t cols, float *lse);
	void (*softmax_probs)(float *s, int64_t ld, int64_t rows, int64_t cols, const float *lse);
	/* y = x rstd gain with rstd = 1/sqrt(mean(x^2) + eps), stored in rstd (rows) unless that is NULL. The gradients
	 * are like norm_bwd*. */
	void (*rms)(float *y, float *rstd, const float *x, const float *gain, float eps, int64_t rows, int64_t cols);
	void (*rms_bwd)(float *dx, const float *dy, const float *x, const float *gain, const float *rstd, int64_t rows,
			int64_t cols, bool add);
	void (*rms_bwd_gain)(float *dgain, const float *dy, const float *x, const float *rstd, int64_t rows, int64_t cols,
			     int64_t c0, int64_t c1, bool add);
	/* y (rows,cols) = silu(a) b, with a and b side by side in x (rows,2 cols); dx is the gradient of x. */
	void (*swiglu)(float *y, const float *x, int64_t rows, int64_t cols);
	void (*swiglu_bwd)(float *dx, const float *dy, const float *x, int64_t rows, int64_t cols);
	/* y = or += a b; y = or += x scale + offset. */
	void (*mul)(float *y, const float *a, const float *b, int64_t n, bool add);
	void (*affine)(float *y, const float *x, float scale, float offset, int64_t n, bool add);
	/* y = or += x scale, or 0 where the 32 random bits of (key, first + i) are below `limit`. */
	void (*dropout)(float *y, const float *x, int64_t n, uint64_t first, uint64_t key, uint32_t limit, float scale,
			bool add);
	void (*adamw)(float *p, float *m, float *v, const float *g, int64_t n, const struct rt_adamw *h);
	/* c (m,n) with row stride ldc = or += a (m,k) b (n,k)^T. */
	void (*rows_f32)(float *c, int64_t ldc, const float *a, const float *b, int64_t m, int64_t n, int64_t k, bool add);
	void (*rows_bf16)(float *c, int64_t ldc, const float *a, const uint16_t *b, int64_t m, int64_t n, int64_t k, bool add);
	/* s[j] = scale q (depth) . k (keys,depth)[j]; y (depth) = sum of p[j] v (keys,depth)[j]. */
	void (*dots)(float *s, const float *q, const float *k, int64_t depth, int64_t keys, float scale);
	void (*weighted_sum)(float *y, const float *p, const float *v, int64_t depth, int64_t keys);
	void (*sgd)(float *p, float *momentum, const float *g, int64_t n, const struct rt_sgd *h);
};
extern const struct rt_simd rt_simd_avx512, rt_simd_avx2, rt_simd_base;
/* Returns the widest table that this CPU supports. Respects oneDNN's limit in ONEDNN_MAX_CPU_ISA or DNNL_MAX_CPU_ISA
 * (ALL, AVX512_…, AVX2…, AVX, SSE41; case is ignored). */
const struct rt_simd *rt_simd_best(void);
const struct rt_simd *rt_simd_up_to(const char *limit); /* best kernels up to the given limit; NULL: no limit */
#endif
