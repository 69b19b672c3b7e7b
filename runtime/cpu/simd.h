/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_SIMD_H
#define RT_SIMD_H
/*
 * Everything round the matrix products, for one thread and a range of rows, columns or elements. One source
 * (simd_body.h, written with the compiler's vector types) is compiled once per instruction set; the table of the best one
 * that this machine has is chosen at run time. exp is accurate to 1.5e-7 relative, everything else to a few roundings.
 */
#include <stdint.h>
#include "lib/util.h"
#include "runtime/cpu/map8.h"
#include "runtime/graph/ir.h"

/* Few enough that a float sum of their squares is good to 1e-6. */
#define RT_NORM_CHUNK	INT64_C(4096)

struct rt_adamw {
	float decay;	 /* 1 - lr wd */
	float beta1, beta2, rest1, rest2; /* rest = 1 - beta, rounded once */
	float step_size; /* lr / (1 - beta1^t) */
	float scale2;	 /* 1 / sqrt(1 - beta2^t) */
	float eps;
	float l2;	  /* added to the gradient, times the parameter */
	float grad_scale; /* of every gradient, before anything else */
};
struct rt_sgd {
	float lr, momentum, weight_decay, grad_scale;
	bool first; /* momentum starts as the gradient */
};

/* The inside of a matrix product: cpu/gemm_own.c has the outside. */
struct rt_tiles {
	int rows, cols; /* of a tile, at most */
	/* to (k,n) of a (n,k), n <= rows. */
	void (*pack_a)(float *to, const float *a, int64_t lda, int64_t n, int64_t k);
	/* to (k,cols) of b (n,k), n <= cols; zeros behind. */
	void (*pack_b)(float *to, const float *b, int64_t ldb, int64_t k, int64_t n);
	/* c (rows,cols) = or += what was packed. Meanwhile k cache lines, `step` floats apart, are fetched from ahead, or NULL. */
	void (*tile)(float *c, int64_t ldc, const float *a, const float *b, int64_t rows, int64_t cols, int64_t k, bool add,
		     const float *ahead, int64_t step);
};

/* The inside of a 3x3 convolution in tiles: cpu/conv_winograd.c has the outside. Channels come in blocks of so many lanes. */
#define RT_WINO_LANES	INT64_C(16)
#define RT_WINO_PLANES	INT64_C(36)
struct rt_wino_tile {
	int64_t at; /* of its first pixel in the image, which may be outside of it; floats, as is what follows */
	int64_t row, pixel, channels;
	int64_t top, bottom, left, right; /* the pixels of it that are in the image */
};
/* The nine weights of each pair of channels; zeros behind n_in and n_out, up to whole blocks of lanes. */
struct rt_wino_weights {
	const float *at;
	int64_t in_step, out_step; /* floats */
	int64_t n_in, n_out, in, out;
	bool turned; /* by 180 degrees */
};
struct rt_wino {
	int group; /* output channels that a product meets at once */
	/* v: 36 planes of so many floats, (channels / lanes, tiles, lanes) each, blocks of lanes `block` floats apart. */
	void (*input)(float *v, int64_t plane, int64_t block, const struct rt_wino_tile *t, const float *image);
	/* The same of the 4x4 pixels of an output's gradient, to planes of (tiles, channels). */
	void (*slope)(float *d, int64_t plane, const struct rt_wino_tile *t, const float *image);
	/* 4x4 pixels of the image = or += those of planes of (tiles, channels). */
	void (*output)(float *image, const struct rt_wino_tile *t, const float *m, int64_t plane, bool add);
	/* One plane: m (rows,out) = v (rows,in) u (in,out); in and out are whole blocks of lanes. */
	void (*product)(float *m, const float *v, int64_t block, const float *u, int64_t rows, int64_t in, int64_t out);
	/* One plane: p (in,out) = or += the transpose of v (rows,in) times d (rows,out). */
	void (*outer)(float *p, const float *v, int64_t block, const float *d, int64_t rows, int64_t in, int64_t out, bool add);
	/* u's planes: RT_WINO_LANES input channels from `in`, `group` output channels from `out`. */
	void (*weights)(float *u, int64_t plane, const struct rt_wino_weights *w, int64_t in, int64_t out);
	/* One input channel's nine gradients for each of n output channels, from p's planes. */
	void (*weights_slope)(float *w, int64_t step, const float *p, int64_t plane, int64_t n);
};

struct rt_simd {
	const char *name;
	const struct rt_wino *wino;
	const struct rt_tiles *tiles; /* NULL: a library multiplies better */
	/* y (rows,cols) = act(x + bias (cols) or 0); x is left with the bias added if it is not y. */
	void (*bias_act)(float *x, float *y, const float *bias, int64_t rows, int64_t cols, enum rt_act act);
	/* dx = or += dy act'(saved): rt_act_reads_input() says whether saved is x or y. dx may be dy. */
	void (*act_bwd)(float *dx, const float *dy, const float *saved, int64_t n, enum rt_act act, bool add);
	void (*add)(float *y, const float *a, const float *b, int64_t n); /* y may be a or b */
	/* x = a + b (rows,cols) if b, else x is a and not written; y = layernorm(x); mean and rstd (rows) or NULL. */
	void (*norm)(float *x, float *y, float *mean, float *rstd, const float *a, const float *b, const float *gain,
		     const float *bias, float eps, int64_t rows, int64_t cols);
	/* dx = or += gradient through the norm. dx may be dy. */
	void (*norm_bwd)(float *dx, const float *dy, const float *x, const float *gain, const float *mean, const float *rstd,
			 int64_t rows, int64_t cols, bool add);
	/* Columns c0..c1 of dgain = or += sum over rows of dy (x - mean) rstd, dbias of dy; either may be NULL. */
	void (*norm_bwd_gain)(float *dgain, float *dbias, const float *dy, const float *x, const float *mean, const float *rstd,
			      int64_t rows, int64_t cols, int64_t c0, int64_t c1, bool add_gain, bool add_bias);
	/* Columns c0..c1 of out (cols) = or += sum over rows of x (rows, stride ld). */
	void (*column_sums)(float *out, const float *x, int64_t rows, int64_t ld, int64_t c0, int64_t c1, bool add);
	/* Loss of one row of logits (n), after adding bias or NULL. With grad, x becomes (softmax - onehot) scale. */
	float (*cross_entropy)(float *x, const float *bias, float *grad, int64_t n, int32_t target, float scale);
	/* Rows r of s (rows, stride ld) have n0 + r scores: softmax in place, zeros behind up to cols, log-sum-exp to lse. */
	void (*causal_softmax)(float *s, int64_t ld, int64_t rows, int64_t n0, int64_t cols, float *lse);
	/* The same probabilities again from scores and lse. */
	void (*causal_probs)(float *s, int64_t ld, int64_t rows, int64_t n0, int64_t cols, const float *lse);
	/* ds = p (dp - d[r]) scale, in dp. */
	void (*softmax_bwd)(float *dp, const float *p, int64_t ld, int64_t rows, int64_t cols, const float *d, float scale);
	/* d[r] = a[r] . b[r], both (rows,cols) with stride ld. */
	void (*row_dots)(float *d, const float *a, const float *b, int64_t ld, int64_t rows, int64_t cols);
	/* To a low type, rounded to nearest even, and back. NaN stays NaN, what is too large for f16 becomes infinite. */
	void (*to_bf16)(uint16_t *y, const float *x, int64_t n);
	void (*from_bf16)(float *y, const uint16_t *x, int64_t n);
	void (*to_f16)(uint16_t *y, const float *x, int64_t n);
	void (*from_f16)(float *y, const uint16_t *x, int64_t n);
	/* Sum of the squares of x (n) times scale, n <= RT_NORM_CHUNK; false if an element of x is not finite. */
	bool (*sum_squares)(const float *x, int64_t n, float scale, double *ret);
	/* AdamW on one block of n <= RT_MAP8_BLOCK elements: m and v are codes of map_m, map_v, times m_max and v_max. */
	void (*adamw8)(float *p, uint8_t *m, uint8_t *v, float *m_max, float *v_max, const float *g, int64_t n,
		       const struct rt_adamw *h, const struct rt_map8 *map_m, const struct rt_map8 *map_v);
	/* Per channel of x (rows,cols): sums (2,cols) of x - shift (cols) and of its square. */
	void (*channel_sums)(double *sums, const float *x, const float *shift, int64_t rows, int64_t cols);
	/* y = (x - mean) a + b, + residual or NULL, cut at zero if relu: open, or NULL, has a bit for each element above that, in
	 * rows of rt_bits_bytes(cols). y may be x or residual. */
	void (*channel_affine)(float *y, uint8_t *open, const float *x, const float *residual, const float *mean, const float *a,
			       const float *b, int64_t rows, int64_t cols, bool relu);
	/* With g = dy where open (everywhere if NULL): sums (3,cols) of g, of g (x - mean) and of x - mean. */
	void (*channel_bwd_sums)(double *sums, const float *dy, const uint8_t *open, const float *x, const float *mean,
				 int64_t rows, int64_t cols);
	/* dx = or += g a + (x - mean) b + k; dres = or += g. Either may be NULL, dx may be dy. */
	void (*channel_bwd)(float *dx, float *dres, const float *dy, const uint8_t *open, const float *x, const float *mean,
			    const float *a, const float *b, const float *k, int64_t rows, int64_t cols, bool add_dx, bool add_dres);
	/* y = softmax of each row of x, both with stride ld; y may be x. Log-sum-exp to lse or NULL. */
	void (*softmax)(float *y, const float *x, int64_t ld, int64_t rows, int64_t cols, float *lse);
	void (*softmax_probs)(float *s, int64_t ld, int64_t rows, int64_t cols, const float *lse);
	/* y = x rstd gain, rstd = 1/sqrt(mean(x^2) + eps) to rstd (rows) or NULL; and its gradients, as norm_bwd*. */
	void (*rms)(float *y, float *rstd, const float *x, const float *gain, float eps, int64_t rows, int64_t cols);
	void (*rms_bwd)(float *dx, const float *dy, const float *x, const float *gain, const float *rstd, int64_t rows,
			int64_t cols, bool add);
	void (*rms_bwd_gain)(float *dgain, const float *dy, const float *x, const float *rstd, int64_t rows, int64_t cols,
			     int64_t c0, int64_t c1, bool add);
	/* y = or += a b; y = or += x scale + offset. */
	void (*mul)(float *y, const float *a, const float *b, int64_t n, bool add);
	void (*affine)(float *y, const float *x, float scale, float offset, int64_t n, bool add);
	/* y = or += x scale, or 0 where the 32 random bits of (key, first + i) are below limit. */
	void (*dropout)(float *y, const float *x, int64_t n, uint64_t first, uint64_t key, uint32_t limit, float scale,
			bool add);
	void (*adamw)(float *p, float *m, float *v, const float *g, int64_t n, const struct rt_adamw *h);
	void (*sgd)(float *p, float *momentum, const float *g, int64_t n, const struct rt_sgd *h);
};
extern const struct rt_simd rt_simd_avx512, rt_simd_avx2, rt_simd_base;
/* The widest that this processor has. Who holds oneDNN to an older instruction set (ONEDNN_MAX_CPU_ISA, DNNL_MAX_CPU_ISA: ALL,
 * AVX512_…, AVX2…, AVX, SSE41, in letters of any case) means our kernels too. */
const struct rt_simd *rt_simd_best(void);
const struct rt_simd *rt_simd_up_to(const char *limit); /* as that says; NULL: no limit */
#endif
