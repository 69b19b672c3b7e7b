/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of simd.h. The including file defines RT_W, RT_SIMD_TABLE and RT_SIMD_NAME. */
#include <math.h>
#include "runtime/math/mix.h"
#include "runtime/math/vec.h"
#include "runtime/math/simd_convert.h"
#include "runtime/math/simd_act.h"

#define EACH(i, n)	for (int64_t i = 0; i < (n); i += W)

/* A sum over a row uses one float per lane for 256 elements per lane, and then adds these partial sums. The error does
 * not grow with the row's length, and is not larger with fewer lanes. */
#define LONG_ROW (256 * W)
#define EACH_PIECE(c, end, n) \
	for (int64_t c = 0, end = LONG_ROW < (n) ? LONG_ROW : (n); c < (n); c = end, end = c + LONG_ROW < (n) ? c + LONG_ROW : (n))

INLINE void bias_act_as(float *x, float *y, const float *bias, int64_t rows, int64_t cols, enum rt_act act)
{
	for (int64_t r = 0; r < rows; r++, x += cols, y += cols)
		EACH(i, cols) {
			vf v = ldx(x + i, cols - i);

			if (bias)
				v += ldx(bias + i, cols - i);
			if (x != y && bias)
				stx(x + i, v, cols - i);
			stx(y + i, act_fwd(v, act), cols - i);
		}
}

static void bias_act(float *x, float *y, const float *bias, int64_t rows, int64_t cols, enum rt_act act)
{
	switch (act) {
#define AS(which)                                                                                                      \
	case which:                                                                                                    \
		bias_act_as(x, y, bias, rows, cols, which);                                                            \
		break;
		AS(RT_ACT_NONE)
		RT_ACTS(AS)
#undef AS
	}
}

INLINE vf act_derivative(vf saved, enum rt_act act)
{
	vf s;

	if (act == RT_ACT_RELU)
		return sel(saved > 0.0f, splat(1), (vf){ 0 });
	if (act == RT_ACT_TANH)
		return 1.0f - saved * saved;
	if (act == RT_ACT_SIGMOID)
		return saved * (1.0f - saved);
	if (act == RT_ACT_GELU_ERF)
		return normal_cdf(saved) + saved * 0.39894228f * vexp(-0.5f * saved * saved);
	if (act == RT_ACT_SILU) {
		s = sigmoid(saved);
		return s + saved * s * (1.0f - s);
	}
	s = gelu_gate(saved);
	return s + saved * s * (1.0f - s) * (GELU_2K * (1.0f + 3 * GELU_C * saved * saved));
}

INLINE void act_bwd_as(float *dx, const float *dy, const float *saved, int64_t n, enum rt_act act, bool add)
{
	EACH(i, n) {
		vf g = ldx(dy + i, n - i) * act_derivative(ldx(saved + i, n - i), act);

		stx(dx + i, add ? g + ldx(dx + i, n - i) : g, n - i);
	}
}

static void act_bwd(float *dx, const float *dy, const float *saved, int64_t n, enum rt_act act, bool add)
{
	switch (act) {
#define AS(which)                                                                                                      \
	case which:                                                                                                    \
		act_bwd_as(dx, dy, saved, n, which, add);                                                              \
		break;
		RT_ACTS(AS)
#undef AS
	case RT_ACT_NONE:
		break;
	}
}

static void add(float *y, const float *a, const float *b, int64_t n)
{
	EACH(i, n)
		stx(y + i, ldx(a + i, n - i) + ldx(b + i, n - i), n - i);
}

INLINE void put(float *out, int64_t i, int64_t n, vf v, bool accumulate)
{
	stx(out + i, accumulate ? v + ldx(out + i, n) : v, n);
}

static void norm_bwd_gain(float *dgain, float *dbias, const float *dy, const float *x, const float *mean, const float *rstd,
			  int64_t rows, int64_t cols, int64_t c0, int64_t c1, bool add_gain, bool add_bias)
{
	for (int64_t i = c0; i < c1; i += W) {
		int64_t n = c1 - i;
		vf g = { 0 }, b = { 0 };

		for (int64_t r = 0; r < rows; r++) {
			vf d = ldx(dy + r * cols + i, n);

			g += d * ((ldx(x + r * cols + i, n) - mean[r]) * rstd[r]);
			b += d;
		}
		if (dgain)
			put(dgain, i, n, g, add_gain);
		if (dbias)
			put(dbias, i, n, b, add_bias);
	}
}

/* Four vectors per row, so that each row reads whole cache lines. */
static void column_sums(float *out, const float *x, int64_t rows, int64_t ld_x, int64_t c0, int64_t c1, bool accumulate)
{
	int64_t i = c0;

	for (; i + 4 * W <= c1; i += 4 * W) {
		vf a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

		for (int64_t r = 0; r < rows; r++) {
			const float *p = x + r * ld_x + i;

			a += ld(p);
			b += ld(p + W);
			c += ld(p + 2 * W);
			d += ld(p + 3 * W);
		}
		put(out, i, W, a, accumulate);
		put(out, i + W, W, b, accumulate);
		put(out, i + 2 * W, W, c, accumulate);
		put(out, i + 3 * W, W, d, accumulate);
	}
	for (; i < c1; i += W) {
		vf a = { 0 };

		for (int64_t r = 0; r < rows; r++)
			a += ldx(x + r * ld_x + i, c1 - i);
		put(out, i, c1 - i, a, accumulate);
	}
}

INLINE float row_max(const float *x, int64_t n)
{
	int64_t full = n / W * W;
	vf v = splat(-INFINITY);

	for (int64_t i = 0; i < full; i += W)
		v = vmax(v, ld(x + i));
	if (full < n)
		v = vmax(v, first_or(ld_n(x + full, n - full), n - full, -INFINITY));
	return hmax(v);
}

/* Returns the sum of e^(x - max). Stores the terms in `to` unless that is NULL; `to` may be x. */
INLINE float row_exp(float *to, const float *x, int64_t n, float max)
{
	vf s = { 0 };
	int64_t full = n / W * W;

	EACH_PIECE(c, end, full) {
		vf part = { 0 };

		for (int64_t i = c; i < end; i += W) {
			vf e = vexp(ld(x + i) - max);

			part += e;
			if (to)
				st(to + i, e);
		}
		s += part;
	}
	if (full < n) {
		vf e = vexp(ld_n(x + full, n - full) - max);

		s += first_or(e, n - full, 0);
		if (to)
			st_n(to + full, e, n - full);
	}
	return hsum(s);
}

static float cross_entropy(float *x, const float *bias, float *grad, int64_t n, int32_t target, float scale)
{
	float max, sum, own, k;

	if (bias)
		add(x, x, bias, n);
	max = row_max(x, n);
	own = x[target];
	sum = row_exp(grad, x, n, max);
	if (grad) {
		k = scale / sum;
		EACH(i, n)
			stx(grad + i, ldx(grad + i, n - i) * k, n - i);
		grad[target] -= scale;
	}
	return logf(sum) + (max - own);
}

static void causal_softmax(float *s, int64_t ld_s, int64_t rows, int64_t n0, int64_t cols, float *lse)
{
	for (int64_t r = 0; r < rows; r++, s += ld_s) {
		int64_t n = n0 + r;
		float max = row_max(s, n), sum = row_exp(s, s, n, max), k = 1.0f / sum;

		EACH(i, n)
			stx(s + i, ldx(s + i, n - i) * k, n - i);
		memset(s + n, 0, (size_t)(cols - n) * sizeof(float));
		if (lse)
			lse[r] = max + logf(sum);
	}
}

static void causal_probs(float *s, int64_t ld_s, int64_t rows, int64_t n0, int64_t cols, const float *lse)
{
	for (int64_t r = 0; r < rows; r++, s += ld_s) {
		int64_t n = n0 + r;

		EACH(i, n)
			stx(s + i, vexp(ldx(s + i, n - i) - lse[r]), n - i);
		memset(s + n, 0, (size_t)(cols - n) * sizeof(float));
	}
}

static void softmax_bwd(float *dp, const float *p, int64_t ld_p, int64_t rows, int64_t cols, const float *d, float scale)
{
	for (int64_t r = 0; r < rows; r++, dp += ld_p, p += ld_p)
		EACH(i, cols)
			stx(dp + i, ldx(p + i, cols - i) * (ldx(dp + i, cols - i) - d[r]) * scale, cols - i);
}

static void row_dots(float *d, const float *a, const float *b, int64_t ld_ab, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++, a += ld_ab, b += ld_ab) {
		vf s = { 0 };

		EACH_PIECE(c, end, cols) {
			vf part = { 0 };

			for (int64_t i = c; i < end; i += W)
				part += ldx(a + i, cols - i) * ldx(b + i, cols - i);
			s += part;
		}
		d[r] = hsum(s);
	}
}

#include "runtime/math/simd_adam8.h"

/* *ret = sum of (x scale)^2 for n <= RT_NORM_CHUNK elements. Each lane sums in float; the sum is repeated in double if
 * that overflows. Returns false if an element is not finite. */
static bool sum_squares(const float *x, int64_t n, float scale, double *ret)
{
	vf s = { 0 };
	vi bad = { 0 };
	double sum = 0;
	bool finite = true;

	EACH(i, n) {
		vf v = ldx(x + i, n - i), y = v * scale;

		s += y * y;
		bad |= (v - v) != 0.0f;
	}
	for (int i = 0; i < RT_W; i++) {
		sum += (double)s[i];
		finite &= !bad[i];
	}
	if (finite && !isfinite(sum)) {
		sum = 0;
		for (int64_t i = 0; i < n; i++)
			sum += (double)x[i] * (double)scale * ((double)x[i] * (double)scale);
	}
	*ret = sum;
	return finite;
}

static void adamw(float *p, float *m, float *v, const float *g, int64_t n, const struct rt_adamw *h)
{
	EACH(i, n) {
		int64_t k = n - i;
		vf gi = ldx(g + i, k) * h->grad_scale, mi = ldx(m + i, k), vi_ = ldx(v + i, k);

		if (h->l2 != 0)
			gi += h->l2 * ldx(p + i, k);
		mi = mi * h->beta1 + gi * h->rest1;
		vi_ = vi_ * h->beta2 + gi * gi * h->rest2;
		stx(m + i, mi, k);
		stx(v + i, vi_, k);
		stx(p + i, ldx(p + i, k) * h->decay - h->step_size * mi / (vsqrt(vi_) * h->scale2 + h->eps), k);
	}
}

static void sgd(float *p, float *momentum, const float *g, int64_t n, const struct rt_sgd *h)
{
	EACH(i, n) {
		int64_t k = n - i;
		vf pi = ldx(p + i, k), d = ldx(g + i, k) * h->grad_scale + h->weight_decay * pi;

		if (momentum) {
			if (!h->first)
				d += h->momentum * ldx(momentum + i, k);
			stx(momentum + i, d, k);
		}
		stx(p + i, pi - h->lr * d, k);
	}
}

#include "runtime/math/simd_nn.h"
#include "runtime/math/simd_rows.h"

#include "runtime/math/simd_wino.h"
#if RT_W >= 8
#include "runtime/math/simd_gemm.h"
#include "runtime/math/simd_attention.h"
#endif

const struct rt_simd RT_SIMD_TABLE = {
	.name = RT_SIMD_NAME,
	.wino = &wino,
#if RT_W >= 8
	.tiles = &tiles,
	.attend = attend,
#endif
	.bias_act = bias_act,
	.act_bwd = act_bwd,
	.add = add,
	.norm = norm,
	.norm_bwd = norm_bwd,
	.norm_bwd_gain = norm_bwd_gain,
	.column_sums = column_sums,
	.cross_entropy = cross_entropy,
	.causal_softmax = causal_softmax,
	.causal_probs = causal_probs,
	.softmax_bwd = softmax_bwd,
	.row_dots = row_dots,
	.to_bf16 = to_bf16,
	.from_bf16 = from_bf16,
	.to_f16 = to_f16,
	.from_f16 = from_f16,
	.sum_squares = sum_squares,
	.channel_sums = channel_sums,
	.channel_affine = channel_affine,
	.channel_bwd_sums = channel_bwd_sums,
	.channel_bwd = channel_bwd,
	.softmax = softmax,
	.softmax_probs = softmax_probs,
	.rms = rms,
	.rms_bwd = rms_bwd,
	.rms_bwd_gain = rms_bwd_gain,
	.swiglu = swiglu,
	.swiglu_bwd = swiglu_bwd,
	.mul = mul,
	.affine = affine,
	.dropout = dropout,
	.adamw = adamw,
	.adamw8 = adamw8,
	.sgd = sgd,
	.rows_f32 = rows_f32,
	.rows_bf16 = rows_bf16,
	.dots = dots,
	.weighted_sum = weighted_sum,
};
