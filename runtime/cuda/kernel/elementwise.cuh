/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops: sums, activations, conversions. Any grid. Tensors are aligned to 16 bytes. */
#include "random.cuh"
#include "runtime/cuda/kernel/update.h"

enum { ACT_NONE, ACT_GELU, ACT_RELU, ACT_GELU_ERF, ACT_SILU, ACT_TANH, ACT_SIGMOID }; /* enum rt_act */

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
RT_DEVICE float gelu(float x)
{
	return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

RT_DEVICE float dgelu(float x)
{
	float t = tanhf(0.79788456f * (x + 0.044715f * x * x * x));

	return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f * (1 + 3 * 0.044715f * x * x);
}

RT_DEVICE float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

/* NaN stays NaN. */
RT_DEVICE float act(int kind, float x)
{
	switch (kind) {
	case ACT_GELU:
		return gelu(x);
	case ACT_RELU:
		return x < 0 ? 0 : x;
	case ACT_GELU_ERF:
		return 0.5f * x * (1 + erff(0.70710678f * x));
	case ACT_SILU:
		return x * sigmoid(x);
	case ACT_TANH:
		return tanhf(x);
	case ACT_SIGMOID:
		return sigmoid(x);
	default:
		return x;
	}
}

/* seen: the input of gelus and silu, the output of the others (rt_act_reads_input). */
RT_DEVICE float dact(int kind, float seen)
{
	switch (kind) {
	case ACT_GELU:
		return dgelu(seen);
	case ACT_GELU_ERF:
		return 0.5f * (1 + erff(0.70710678f * seen)) + seen * 0.39894228f * expf(-0.5f * seen * seen);
	case ACT_SILU:
		return sigmoid(seen) * (1 + seen * (1 - sigmoid(seen)));
	case ACT_TANH:
		return 1 - seen * seen;
	case ACT_SIGMOID:
		return seen * (1 - seen);
	default:
		return seen > 0 ? 1.0f : 0.0f;
	}
}

/* y (n) = or += f(index, element of a, element of b or 0), with 16-byte accesses. b may be NULL; y may be a or b. */
template <class T, class F> RT_DEVICE void map(int64_t n, const T *a, const T *b, T *y, int add, F f)
{
	constexpr int W = wide<T>::n;
	float u[W], v[W] = {}, old[W] = {};

	for (int64_t i = global_thread(); i < n / W; i += global_threads()) {
		get<W>(u, a + i * W);
		if (b)
			get<W>(v, b + i * W);
		if (add)
			get<W>(old, y + i * W);
		for (int k = 0; k < W; k++)
			u[k] = f(i * W + k, u[k], v[k]) + (add ? old[k] : 0);
		put<W>(y + i * W, u);
	}
	for (int64_t i = n / W * W + global_thread(); i < n; i += global_threads())
		assign(y[i], f(i, as_float(a[i]), b ? as_float(b[i]) : 0) + (add ? as_float(y[i]) : 0));
}
#define NONE static_cast<const T *>(nullptr)

/* y (n) = act(x (n)) */
RT_TYPED(act, (int64_t n, int kind, const T *x, T *y),
	map(n, x, NONE, y, 0, [=](int64_t, float v, float) { return act(kind, v); }))

/* dx (n) = or += dy (n) act'(seen (n)) */
RT_TYPED(act_bwd, (int64_t n, int kind, const T *dy, const T *seen, T *dx, int add),
	map(n, dy, seen, dx, add, [=](int64_t, float g, float v) { return g * dact(kind, v); }))

/* y (n) = or += a (n) b (n) */
RT_TYPED(mul, (int64_t n, const T *a, const T *b, T *y, int add),
	map(n, a, b, y, add, [](int64_t, float u, float v) { return u * v; }))

/* y (n) = or += scale x (n) + offset */
RT_TYPED(affine, (int64_t n, float scale, float offset, const T *x, T *y, int add),
	map(n, x, NONE, y, add, [=](int64_t, float v, float) { return v * scale + offset; }))

/* Returns the number of the current batch, counted from the first one. */
RT_DEVICE uint64_t batch_of(const struct rt_update_step *h)
{
	return (uint64_t)(h->step - 1) * h->accum + h->batch;
}

template <class T>
RT_DEVICE void dropout_body(int64_t n, int64_t first, uint64_t stream, uint32_t limit, float scale, const T *x, T *y, int add,
			    int ahead, const struct rt_update_step *h)
{
	uint64_t batch = batch_of(h) + (uint64_t)(int64_t)ahead;
	uint32_t key[4] = { (uint32_t)batch, (uint32_t)(batch >> 32), (uint32_t)stream, (uint32_t)(stream >> 32) };

	philox(key, h->draws[0], h->draws[1]);
	map(n, x, NONE, y, add, [=](int64_t at, float v, float) {
		int64_t i = first + at;
		uint32_t r = mix(mix((uint32_t)i ^ key[0]) ^ (key[1] + (uint32_t)(i >> 32)));

		return r >= limit ? v * scale : 0;
	});
}

/* y (n) = or += scale x (n), or 0 where the element's 32 random bits are below limit. first: index of x[0] in a tensor
 * that ranks split. ahead: batch of x minus the current one, in a pipeline. Same as the CPU: runtime/math/simd_nn.h. */
RT_TYPED(dropout, (int64_t n, int64_t first, uint64_t stream, uint32_t limit, float scale, const T *x, T *y, int add, int ahead,
		const struct rt_update_step *h),
	dropout_body(n, first, stream, limit, scale, x, y, add, ahead, h))

template <class T, int W> RT_DEVICE void add_part(int64_t n, int64_t part, const T *a, const T *b, T *y)
{
	float u[W], v[W];

	for (int64_t i = global_thread(); i < n / W; i += global_threads()) {
		get<W>(u, a + i * W);
		get<W>(v, b + (part == n ? i * W : i * W % part));
		for (int k = 0; k < W; k++)
			u[k] += v[k];
		put<W>(y + i * W, u);
	}
	for (int64_t i = n / W * W + global_thread(); i < n; i += global_threads())
		assign(y[i], as_float(a[i]) + as_float(b[i % part]));
}

/* y (n/part,part) = a (n/part,part) + b (part) */
RT_TYPED(add, (int64_t n, int64_t part, const T *a, const T *b, T *y),
	RT_WIDE(part == n || part % wide<T>::n == 0, add_part, (n, part, a, b, y)))

template <class T, int W>
RT_DEVICE void bias_act_part(int64_t n, int64_t cols, int kind, const T *x, const T *bias, T *pre, T *y)
{
	float v[W], b[W];

	for (int64_t i = global_thread(); i < n / W; i += global_threads()) {
		get<W>(v, x + i * W);
		if (bias)
			get<W>(b, bias + i * W % cols);
		for (int k = 0; bias && k < W; k++)
			v[k] += b[k];
		if (pre)
			put<W>(pre + i * W, v);
		for (int k = 0; k < W; k++)
			v[k] = act(kind, v[k]);
		put<W>(y + i * W, v);
	}
}

/* y (n/cols,cols) = act(x + bias (cols)). pre receives x + bias. bias and pre may be NULL; x may be pre or y. */
RT_TYPED(bias_act, (int64_t n, int64_t cols, int kind, const T *x, const T *bias, T *pre, T *y),
	RT_WIDE(cols % wide<T>::n == 0, bias_act_part, (n, cols, kind, x, bias, pre, y)))

/* out (n) = or += in (n) in another type, eight elements at a time */
template <class FROM, class TO> RT_DEVICE void cast_body(int64_t n, const FROM *in, TO *out, int add = 0)
{
	float v[8], old[8];

	for (int64_t i = 8 * global_thread(); i < n / 8 * 8; i += 8 * global_threads()) {
		for (int k = 0; k < 8; k += wide<FROM>::n)
			get<wide<FROM>::n>(v + k, in + i + k);
		for (int k = 0; add && k < 8; k += wide<TO>::n)
			get<wide<TO>::n>(old + k, out + i + k);
		for (int k = 0; add && k < 8; k++)
			v[k] += old[k];
		for (int k = 0; k < 8; k += wide<TO>::n)
			put<wide<TO>::n>(out + i + k, v + k);
	}
	for (int64_t i = n / 8 * 8 + global_thread(); i < n; i += global_threads())
		assign(out[i], as_float(in[i]) + (add ? as_float(out[i]) : 0));
}
RT_KERNEL rt_narrow_bf16(int64_t n, const float *in, bf16 *out)
{
	cast_body(n, in, out);
}
RT_KERNEL rt_narrow_f16(int64_t n, const float *in, f16 *out)
{
	cast_body(n, in, out);
}
RT_KERNEL rt_widen_bf16(int64_t n, const bf16 *in, float *out)
{
	cast_body(n, in, out);
}
RT_KERNEL rt_widen_f16(int64_t n, const f16 *in, float *out)
{
	cast_body(n, in, out);
}

/* y (n) = or += x times the loss scale */
template <class T> RT_DEVICE void scale_body(int64_t n, const T *x, T *y, const struct rt_update_step *step, int add)
{
	float scale = step->loss_scale;

	map(n, x, NONE, y, add, [=](int64_t, float v, float) { return v * scale; });
}
RT_TYPED(scale, (int64_t n, const T *x, T *y, const struct rt_update_step *step, int add),
	scale_body(n, x, y, step, add))

/* found (1) = 1 if an element of x (n) is infinite or NaN */
template <class T> RT_DEVICE void odd_body(int *found, const T *x, int64_t n)
{
	bool odd = false;

	for (int64_t i = global_thread(); i < n; i += global_threads())
		odd |= !isfinite(as_float(x[i]));
	if (odd)
		atomicMax(found, 1);
}
RT_TYPED(odd, (int *found, const T *x, int64_t n),
	odd_body(found, x, n))

/* y (n) = or += x */
RT_TYPED(sum_up, (int64_t n, const T *x, float *y, int add),
	cast_body(n, x, y, add))

/* y (n) = silu(a) b: rows of `cols` elements, with a and b side by side in x. */
template <class T> RT_DEVICE void swiglu_body(T *y, const T *x, int64_t n, int64_t cols)
{
	for (int64_t i = global_thread(); i < n; i += global_threads()) {
		int64_t at = i / cols * cols + i;
		float a = as_float(x[at]);

		assign(y[i], a * sigmoid(a) * as_float(x[at + cols]));
	}
}
RT_TYPED(swiglu, (T *y, const T *x, int64_t n, int64_t cols), swiglu_body(y, x, n, cols))

template <class T> RT_DEVICE void swiglu_bwd_body(T *dx, const T *dy, const T *x, int64_t n, int64_t cols)
{
	for (int64_t i = global_thread(); i < n; i += global_threads()) {
		int64_t at = i / cols * cols + i;
		float a = as_float(x[at]), g = as_float(dy[i]), s = sigmoid(a);

		assign(dx[at], g * as_float(x[at + cols]) * dact(ACT_SILU, a));
		assign(dx[at + cols], g * a * s);
	}
}
RT_TYPED(swiglu_bwd, (T *dx, const T *dy, const T *x, int64_t n, int64_t cols), swiglu_bwd_body(dx, dy, x, n, cols))
