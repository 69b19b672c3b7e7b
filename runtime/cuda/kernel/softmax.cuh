/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax over the last dimension. A row of up to RT_WARP_ROW elements is done by a warp, a longer one by a block
 * (`whole`). The two passes over a row follow each other, so the second one reads from the cache. Counted bytes: one
 * read of each operand and one write.
 */
#include "common.cuh"
#include "runtime/cuda/kernel/rows.h"

struct row_threads {
	int64_t row;
	int lane, step;
	bool whole;
	float *sh; /* 32 floats for a block's sums */
};

RT_DEVICE row_threads row_threads_of(int whole, float *sh)
{
	row_threads t;

	t.whole = whole;
	t.sh = sh;
	t.lane = (int)(whole ? threadIdx.x : threadIdx.x & 31);
	t.step = (int)(whole ? blockDim.x : 32);
	t.row = whole ? blockIdx.x : (int64_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
	return t;
}

RT_DEVICE float row_sum(float x, const row_threads &t)
{
	return t.whole ? block_sum(x, t.sh) : warp_sum(x);
}

RT_DEVICE float row_max(float x, const row_threads &t)
{
	return t.whole ? block_max(x, t.sh) : warp_max(x);
}

template <class T, int W> RT_DEVICE void softmax_row(T *y, const T *x, int cols, const row_threads &t)
{
	float v[W], top = -INFINITY, sum = 0, max;

	for (int c = t.lane * W; c < cols; c += t.step * W) {
		get<W>(v, x + c);
		exp_sum_add<W>(v, top, sum);
	}
	max = row_max(top, t);
	sum = row_sum(top == max ? sum : sum * expf(top - max), t);
	for (int c = t.lane * W; c < cols; c += t.step * W) {
		get<W>(v, x + c);
		for (int k = 0; k < W; k++)
			v[k] = expf(v[k] - max) / sum;
		put<W>(y + c, v);
	}
}

template <class T> RT_DEVICE void softmax_body(T *y, const T *x, int64_t rows, int cols, int whole)
{
	__shared__ float sh[32];
	const row_threads t = row_threads_of(whole, sh);

	if (t.row < rows)
		RT_WIDE(cols % wide<T>::n == 0, softmax_row, (y + t.row * cols, x + t.row * cols, cols, t));
}

/* y (rows,cols) = e^x / sum e^x; y may be x */
RT_TYPED_1024(softmax, (T *y, const T *x, int64_t rows, int cols, int whole),
	softmax_body(y, x, rows, cols, whole))

template <class T, int W> RT_DEVICE void softmax_bwd_row(T *dx, const T *dy, const T *y, int cols, const row_threads &t)
{
	float g[W], v[W], sum = 0;

	for (int c = t.lane * W; c < cols; c += t.step * W) {
		get<W>(g, dy + c);
		get<W>(v, y + c);
		for (int k = 0; k < W; k++)
			sum += g[k] * v[k];
	}
	sum = row_sum(sum, t);
	for (int c = t.lane * W; c < cols; c += t.step * W) {
		get<W>(g, dy + c);
		get<W>(v, y + c);
		for (int k = 0; k < W; k++)
			g[k] = v[k] * (g[k] - sum);
		put<W>(dx + c, g);
	}
}

template <class T> RT_DEVICE void softmax_bwd_body(T *dx, const T *dy, const T *y, int64_t rows, int cols, int whole)
{
	__shared__ float sh[32];
	const row_threads t = row_threads_of(whole, sh);
	int64_t at = t.row * cols;

	if (t.row < rows)
		RT_WIDE(cols % wide<T>::n == 0, softmax_bwd_row, (dx + at, dy + at, y + at, cols, t));
}

/* dx (rows,cols) = y (dy - sum(dy y)); dx may be dy */
RT_TYPED_1024(softmax_bwd, (T *dx, const T *dy, const T *y, int64_t rows, int cols, int whole),
	softmax_bwd_body(dx, dy, y, rows, cols, whole))

/* ---- reductions over the last dimension ---- */
template <class T, int W>
RT_DEVICE void rows_reduce(T *y, const T *x, int cols, float scale, int max, int add, const row_threads &t)
{
	float v[W], all = max ? -INFINITY : 0, odd = 0;

	for (int c = t.lane * W; c < cols; c += t.step * W) {
		get<W>(v, x + c);
		for (int k = 0; k < W; k++) {
			all = max ? fmaxf(all, v[k]) : all + v[k];
			odd += v[k] != v[k];
		}
	}
	all = max ? row_max(all, t) : row_sum(all, t) * scale;
	if (max && row_sum(odd, t) > 0)
		all = NAN;
	if (!t.lane)
		assign(*y, all + (add ? as_float(*y) : 0));
}

template <class T>
RT_DEVICE void rows_reduce_body(T *y, const T *x, int64_t rows, int cols, float scale, int max, int add, int whole)
{
	__shared__ float sh[32];
	const row_threads t = row_threads_of(whole, sh);

	if (t.row < rows)
		RT_WIDE(cols % wide<T>::n == 0, rows_reduce, (y + t.row, x + t.row * cols, cols, scale, max, add, t));
}

/* y (rows) = or += scale times the sum of x (rows,cols), or its maximum */
RT_TYPED_1024(rows_reduce, (T *y, const T *x, int64_t rows, int cols, float scale, int max, int add, int whole),
	rows_reduce_body(y, x, rows, cols, scale, max, add, whole))

/* Indexes are exact as floats up to 2^24. The maximum of a longer row is searched in parts of that size. */
template <class T, int W>
RT_DEVICE void rows_max_bwd(T *dx, T dy, const T *x, T y, int cols, int add, const row_threads &t)
{
	float v[W], old[W] = {}, top = as_float(y), g = as_float(dy);
	int first = -1;

	for (int from = 0; from < cols && first < 0; from += 1 << 24) {
		int end = cols - from < 1 << 24 ? cols : from + (1 << 24);
		float near = INFINITY;

		for (int c = from + t.lane * W; c < end; c += t.step * W) {
			get<W>(v, x + c);
			for (int k = W - 1; k >= 0; k--)
				near = v[k] == top && (float)(c - from + k) < near ? (float)(c - from + k) : near;
		}
		near = -row_max(-near, t);
		first = near < INFINITY ? from + (int)near : -1;
	}
	for (int c = t.lane * W; c < cols; c += t.step * W) {
		if (add)
			get<W>(old, dx + c);
		for (int k = 0; k < W; k++)
			old[k] += c + k == first ? g : 0;
		put<W>(dx + c, old);
		for (int k = 0; k < W; k++)
			old[k] = 0;
	}
}

template <class T>
RT_DEVICE void rows_max_bwd_body(T *dx, const T *dy, const T *x, const T *y, int64_t rows, int cols, int add, int whole)
{
	__shared__ float sh[32];
	const row_threads t = row_threads_of(whole, sh);
	int64_t at = t.row * cols;

	if (t.row < rows)
		RT_WIDE(cols % wide<T>::n == 0, rows_max_bwd, (dx + at, dy[t.row], x + at, y[t.row], cols, add, t));
}

/* dx (rows,cols) = or += dy (rows) at the first index where x is y (rows), otherwise zero */
RT_TYPED_1024(rows_max_bwd, (T *dx, const T *dy, const T *x, const T *y, int64_t rows, int cols, int add, int whole),
	rows_max_bwd_body(dx, dy, x, y, rows, cols, add, whole))
