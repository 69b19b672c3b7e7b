/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images (N,H,W,C), channels innermost: pooling, padding of channels, means over pixels, and the layout of convolution
 * weights. Any grid. A thread has W channels, 16 bytes if C allows it. Each result is written by one thread, which adds
 * in a fixed order.
 */
#include "common.cuh"

struct rt_window { /* launch_image.c */
	int h, w, c, oh, ow, window, stride, pad;
};

/* Item i of (images,rows,cols,groups of channels). */
struct place {
	int64_t image;
	int row, col, c;
};
RT_DEVICE place place_of(int64_t i, int rows, int cols, int groups, int w)
{
	place p;
	int64_t pixel = i / groups;

	p.c = (int)(i % groups) * w;
	p.col = (int)(pixel % cols);
	p.row = (int)(pixel / cols % rows);
	p.image = pixel / cols / rows;
	return p;
}

template <class T, int W>
RT_DEVICE void max_pool(T *y, unsigned char *where, const T *x, int64_t images, const rt_window &s)
{
	int groups = s.c / W;

	for (int64_t i = global_thread(); i < images * s.oh * s.ow * groups; i += global_threads()) {
		place p = place_of(i, s.oh, s.ow, groups, W);
		float best[W] = {}, v[W];
		pack<unsigned char, W> at = {};
		bool first = true;

		for (int k = 0; k < s.window * s.window; k++) {
			int h = p.row * s.stride - s.pad + k / s.window, w = p.col * s.stride - s.pad + k % s.window;

			if (h < 0 || h >= s.h || w < 0 || w >= s.w)
				continue;
			get<W>(v, x + ((p.image * s.h + h) * s.w + w) * s.c + p.c);
			for (int j = 0; j < W; j++)
				if (first || v[j] > best[j] || v[j] != v[j]) {
					best[j] = v[j];
					at.v[j] = (unsigned char)k;
				}
			first = false;
		}
		put<W>(y + i * W, best);
		if (where)
			*reinterpret_cast<pack<unsigned char, W> *>(where + i * W) = at;
	}
}

/* y (images,oh,ow,c) = the maximum of each window of x; where: its index in the window, or NULL */
RT_TYPED(max_pool, (T *y, unsigned char *where, const T *x, int64_t images, rt_window s),
	RT_WIDE(s.c % wide<T>::n == 0, max_pool, (y, where, x, images, s)))

/* In the backward pass, a thread adds over the windows that contain its pixels. where NULL: each window contributes its
 * part of the mean. */
template <class T, int W>
RT_DEVICE void pool_bwd(T *dx, const T *dy, const unsigned char *where, int64_t images, const rt_window &s, int add)
{
	int groups = s.c / W;
	float share = 1.0f / (float)(s.window * s.window);

	for (int64_t i = global_thread(); i < images * s.h * s.w * groups; i += global_threads()) {
		place p = place_of(i, s.h, s.w, groups, W);
		int low = p.row + s.pad - s.window, left = p.col + s.pad - s.window;
		float sum[W] = {}, v[W];

		if (add)
			get<W>(sum, dx + i * W);
		low = low < 0 ? 0 : low / s.stride + 1;
		left = left < 0 ? 0 : left / s.stride + 1;
		for (int r = low; r < s.oh && r * s.stride <= p.row + s.pad; r++)
			for (int q = left; q < s.ow && q * s.stride <= p.col + s.pad; q++) {
				int64_t at = ((p.image * s.oh + r) * s.ow + q) * s.c + p.c;
				int k = (p.row + s.pad - r * s.stride) * s.window + p.col + s.pad - q * s.stride;
				pack<unsigned char, W> here = {};

				if (where)
					here = *reinterpret_cast<const pack<unsigned char, W> *>(where + at);
				get<W>(v, dy + at);
				for (int j = 0; j < W; j++)
					sum[j] += !where ? v[j] * share : here.v[j] == k ? v[j] : 0;
			}
		put<W>(dx + i * W, sum);
	}
}

/* dx (images,h,w,c) = or += gradient from dy (images,oh,ow,c). where: from rt_max_pool; NULL for averages. */
RT_TYPED(pool_bwd, (T *dx, const T *dy, const unsigned char *where, int64_t images, rt_window s, int add),
	RT_WIDE(s.c % wide<T>::n == 0, pool_bwd, (dx, dy, where, images, s, add)))

template <class T, int W> RT_DEVICE void avg_pool(T *y, const T *x, int64_t images, const rt_window &s)
{
	int groups = s.c / W;
	float share = 1.0f / (float)(s.window * s.window);

	for (int64_t i = global_thread(); i < images * s.oh * s.ow * groups; i += global_threads()) {
		place p = place_of(i, s.oh, s.ow, groups, W);
		float sum[W] = {}, v[W];

		for (int k = 0; k < s.window * s.window; k++) {
			int h = p.row * s.stride - s.pad + k / s.window, w = p.col * s.stride - s.pad + k % s.window;

			if (h < 0 || h >= s.h || w < 0 || w >= s.w)
				continue;
			get<W>(v, x + ((p.image * s.h + h) * s.w + w) * s.c + p.c);
			for (int j = 0; j < W; j++)
				sum[j] += v[j];
		}
		for (int j = 0; j < W; j++)
			sum[j] *= share;
		put<W>(y + i * W, sum);
	}
}

/* y (images,oh,ow,c) = the mean of each window of x; pixels outside the image count as zero */
RT_TYPED(avg_pool, (T *y, const T *x, int64_t images, rt_window s),
	RT_WIDE(s.c % wide<T>::n == 0, avg_pool, (y, x, images, s)))

/* ---- columns ---- */
template <class T> RT_DEVICE void pad_body(T *y, const T *x, int64_t rows, int from, int to, int before, int add)
{
	for (int64_t i = global_thread(); i < rows * to; i += global_threads()) {
		int c = (int)(i % to) - before;
		float v = c < 0 || c >= from ? 0 : as_float(x[i / to * from + c]);

		assign(y[i], add ? as_float(y[i]) + v : v);
	}
}

/* y (rows,to) = or += x (rows,from) from column `before` on, zeros elsewhere. before < 0: skips those columns of x. */
RT_TYPED(pad, (T *y, const T *x, int64_t rows, int from, int to, int before, int add),
	pad_body(y, x, rows, from, to, before, add))

template <class T, int W>
RT_DEVICE void middle_sum(T *y, const T *x, int64_t outer, int64_t n, int64_t inner, float scale, int add)
{
	int64_t groups = inner / W;

	for (int64_t i = global_thread(); i < outer * groups; i += global_threads()) {
		const T *from = x + i / groups * n * inner + i % groups * W;
		float sum[W] = {}, v[W];

		for (int64_t k = 0; k < n; k++) {
			get<W>(v, from + k * inner);
			for (int j = 0; j < W; j++)
				sum[j] += v[j];
		}
		if (add)
			get<W>(v, y + i * W);
		for (int j = 0; j < W; j++)
			sum[j] = sum[j] * scale + (add ? v[j] : 0);
		put<W>(y + i * W, sum);
	}
}

/* y (outer,inner) = or += scale times the sum over n of x (outer,n,inner) */
RT_TYPED(middle_sum, (T *y, const T *x, int64_t outer, int64_t n, int64_t inner, float scale, int add),
	RT_WIDE(inner % wide<T>::n == 0, middle_sum, (y, x, outer, n, inner, scale, add)))

template <class T, int W>
RT_DEVICE void middle_max(T *y, const T *x, int64_t outer, int64_t n, int64_t inner, int add)
{
	int64_t groups = inner / W;

	for (int64_t i = global_thread(); i < outer * groups; i += global_threads()) {
		const T *from = x + i / groups * n * inner + i % groups * W;
		float max[W], v[W];

		get<W>(max, from);
		for (int64_t k = 1; k < n; k++) {
			get<W>(v, from + k * inner);
			for (int j = 0; j < W; j++)
				max[j] = v[j] > max[j] || v[j] != v[j] ? v[j] : max[j];
		}
		if (add)
			get<W>(v, y + i * W);
		for (int j = 0; add && j < W; j++)
			max[j] += v[j];
		put<W>(y + i * W, max);
	}
}

/* y (outer,inner) = or += the maximum over n of x (outer,n,inner) */
RT_TYPED(middle_max, (T *y, const T *x, int64_t outer, int64_t n, int64_t inner, int add),
	RT_WIDE(inner % wide<T>::n == 0, middle_max, (y, x, outer, n, inner, add)))

template <class T, int W>
RT_DEVICE void middle_max_bwd(T *dx, const T *dy, const T *x, const T *y, int64_t outer, int64_t n, int64_t inner, int add)
{
	int64_t groups = inner / W;

	for (int64_t i = global_thread(); i < outer * groups; i += global_threads()) {
		int64_t at = i / groups * n * inner + i % groups * W;
		float g[W], top[W], v[W], old[W] = {};

		get<W>(g, dy + i * W);
		get<W>(top, y + i * W);
		for (int64_t k = 0; k < n; k++, at += inner) {
			get<W>(v, x + at);
			if (add)
				get<W>(old, dx + at);
			for (int j = 0; j < W; j++) {
				bool here = v[j] == top[j];

				v[j] = (here ? g[j] : 0) + (add ? old[j] : 0);
				g[j] = here ? 0 : g[j];
			}
			put<W>(dx + at, v);
		}
	}
}

/* dx (outer,n,inner) = or += dy (outer,inner) at the first index where x is y (outer,inner), otherwise zero */
RT_TYPED(middle_max_bwd, (T *dx, const T *dy, const T *x, const T *y, int64_t outer, int64_t n, int64_t inner, int add),
	RT_WIDE(inner % wide<T>::n == 0, middle_max_bwd, (dx, dy, x, y, outer, n, inner, add)))

template <class T, int W>
RT_DEVICE void middle_spread(T *dx, const T *dy, int64_t outer, int64_t n, int64_t inner, float scale, int add)
{
	int64_t groups = inner / W;
	float v[W], u[W];

	for (int64_t i = global_thread(); i < outer * n * groups; i += global_threads()) {
		get<W>(v, dy + i / groups / n * inner + i % groups * W);
		if (add)
			get<W>(u, dx + i * W);
		for (int j = 0; j < W; j++)
			v[j] = v[j] * scale + (add ? u[j] : 0);
		put<W>(dx + i * W, v);
	}
}

/* dx (outer,n,inner) = or += scale times dy (outer,inner) */
RT_TYPED(middle_spread, (T *dx, const T *dy, int64_t outer, int64_t n, int64_t inner, float scale, int add),
	RT_WIDE(inner % wide<T>::n == 0, middle_spread, (dx, dy, outer, n, inner, scale, add)))

/* ---- images as bytes ---- */
template <class T>
RT_DEVICE void pixels_body(T *y, const unsigned char *x, float scale, float offset, int64_t n)
{
	constexpr int W = wide<T>::n;
	float v[W];

	for (int64_t i = global_thread(); i < n / W; i += global_threads()) {
		pack<unsigned char, W> bytes = *reinterpret_cast<const pack<unsigned char, W> *>(x + i * W);

		for (int k = 0; k < W; k++)
			v[k] = (float)bytes.v[k] * scale + offset;
		put<W>(y + i * W, v);
	}
	for (int64_t i = n / W * W + global_thread(); i < n; i += global_threads())
		assign(y[i], (float)x[i] * scale + offset);
}

/* y (n) = scale x (n) + offset */
RT_TYPED(pixels, (T *y, const unsigned char *x, float scale, float offset, int64_t n),
	pixels_body(y, x, scale, offset, n))

/* ---- weights of convolutions: parameters are (O,C,KH KW), cuDNN uses (O,KH KW,C) ---- */
/* Writes are 16 bytes wide. Reads, s elements apart, use cache lines that neighbouring threads also read. */
template <class T, int W> RT_DEVICE void filter_in_body(T *out, const T *w, int o, int c, int s)
{
	for (int64_t i = global_thread() * W; i < (int64_t)o * c * s; i += global_threads() * W) {
		const T *from = w + (i / ((int64_t)c * s) * c + i % c) * s + i / c % s;
		float v[W];

#pragma unroll
		for (int k = 0; k < W; k++)
			v[k] = as_float(from[(int64_t)k * s]);
		put<W>(out + i, v);
	}
}
RT_TYPED(filter_in, (T *out, const T *w, int o, int c, int s),
	RT_WIDE(c % wide<T>::n == 0, filter_in_body, (out, w, o, c, s)))

/* Converts the weights back to f32. */
template <class T, int W> RT_DEVICE void filter_out_body(float *out, const T *w, int o, int c, int s)
{
	for (int64_t i = global_thread() * W; i < (int64_t)o * c * s; i += global_threads() * W) {
		float v[W];

#pragma unroll
		for (int k = 0; k < W; k++)
			v[k] = as_float(w[((i + k) / ((int64_t)c * s) * s + (i + k) % s) * c + (i + k) / s % c]);
		put_sums<W>(out + i, v, false);
	}
}
RT_TYPED(filter_out, (float *out, const T *w, int o, int c, int s),
	RT_WIDE(c % wide<T>::n == 0, filter_out_body, (out, w, o, c, s)))
