/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation over the last dimension. Without a bias (and backward without means) it is RMS normalisation. */
#include "common.cuh"

/*
 * Columns of a lane that are summed separately before they are added to the total. The error then does not grow with the
 * length of the row.
 */
#define PIECE 256

/* Loads of a lane whose values stay in registers. A row of at most 32 of them per lane, 4 KiB, is read once. */
#define KEPT 8

template <class T, int W>
RT_DEVICE void norm_out(T *y, float *v, float m, float r, const float *gain, const float *bias, int c)
{
	float w[W], shift[W] = {};

	get_floats<W>(w, gain + c);
	if (bias)
		get_floats<W>(shift, bias + c);
	for (int k = 0; k < W; k++)
		v[k] = (v[k] - m) * r * w[k] + shift[k];
	put<W>(y, v);
}

/* One warp per row of at most 32 * KEPT * W columns. x may be a or b. */
template <class T, int W>
RT_DEVICE void norm_row_kept(T *x, T *y, float *mean, float *rstd, const T *a, const T *b, const float *gain, const float *bias,
			     float eps, int64_t row, int cols)
{
	int lane = (threadIdx.x & 31) * W;
	float v[W], w[W], sum = 0, var = 0, m, r;
	held<T, W> kept[KEPT], more[KEPT];

#pragma unroll
	for (int i = 0, c = lane; i < KEPT && c < cols; i++, c += 32 * W) {
		kept[i] = hold<W>(a + row * cols + c);
		if (b)
			more[i] = hold<W>(b + row * cols + c);
	}
#pragma unroll
	for (int i = 0, c = lane; i < KEPT && c < cols; i++, c += 32 * W) {
		floats(v, kept[i]);
		if (b) {
			floats(w, more[i]);
			for (int k = 0; k < W; k++)
				v[k] += w[k];
			kept[i] = rounded<W, T>(v);
			put_held(x + row * cols + c, kept[i]);
			floats(v, kept[i]);
		}
		for (int k = 0; k < W; k++)
			sum += v[k];
	}
	m = bias ? warp_sum(sum) / (float)cols : 0;
#pragma unroll
	for (int i = 0, c = lane; i < KEPT && c < cols; i++, c += 32 * W) {
		floats(v, kept[i]);
		for (int k = 0; k < W; k++)
			var += (v[k] - m) * (v[k] - m);
	}
	r = 1 / sqrtf(warp_sum(var) / (float)cols + eps);
#pragma unroll
	for (int i = 0, c = lane; i < KEPT && c < cols; i++, c += 32 * W) {
		floats(v, kept[i]);
		norm_out<T, W>(y + row * cols + c, v, m, r, gain, bias, c);
	}
	if (!lane && mean)
		mean[row] = m;
	if (!lane && rstd)
		rstd[row] = r;
}

/* One warp per row. x may be a (without b), or use a's memory: a thread reads back only its own results. */
template <class T, int W>
RT_DEVICE void norm_row(T *x, T *y, float *mean, float *rstd, const T *a, const T *b, const float *gain, const float *bias,
			float eps, int64_t row, int cols)
{
	int lane = threadIdx.x & 31;
	float v[W], w[W], sum = 0, var = 0, m, r;
	const T *seen = b ? x : a;

	for (int from = 0; (b || bias) && from < cols; from += 32 * PIECE) {
		float part = 0;

		for (int c = from + lane * W; c < cols && c < from + 32 * PIECE; c += 32 * W) {
			get<W>(v, a + row * cols + c);
			if (b) {
				get<W>(w, b + row * cols + c);
				for (int k = 0; k < W; k++)
					v[k] += w[k];
				put<W>(x + row * cols + c, v);
				get<W>(v, x + row * cols + c);
			}
			for (int k = 0; k < W; k++)
				part += v[k];
		}
		sum += part;
	}
	m = bias ? warp_sum(sum) / (float)cols : 0;
	for (int from = 0; from < cols; from += 32 * PIECE) {
		float part = 0;

		for (int c = from + lane * W; c < cols && c < from + 32 * PIECE; c += 32 * W) {
			get<W>(v, seen + row * cols + c);
			for (int k = 0; k < W; k++)
				part += (v[k] - m) * (v[k] - m);
		}
		var += part;
	}
	r = 1 / sqrtf(warp_sum(var) / (float)cols + eps);
	for (int c = lane * W; c < cols; c += 32 * W) {
		get<W>(v, seen + row * cols + c);
		norm_out<T, W>(y + row * cols + c, v, m, r, gain, bias, c);
	}
	if (!lane && mean)
		mean[row] = m;
	if (!lane && rstd)
		rstd[row] = r;
}

template <class T>
RT_DEVICE void norm_body(T *x, T *y, float *mean, float *rstd, const T *a, const T *b, const float *gain, const float *bias,
			 float eps, int64_t rows, int cols)
{
	int64_t row = (int64_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);

	if (row >= rows)
		return;
	if (cols % wide<T>::n == 0 && cols <= 32 * KEPT * wide<T>::n)
		norm_row_kept<T, wide<T>::n>(x, y, mean, rstd, a, b, gain, bias, eps, row, cols);
	else
		RT_WIDE(cols % wide<T>::n == 0, norm_row, (x, y, mean, rstd, a, b, gain, bias, eps, row, cols));
}

/* x (M,C) = a + b if b; y = (x - mean) rstd gain (C) + bias (C), or without a bias x rstd gain; mean, rstd (M) or NULL */
RT_TYPED(norm, (T *x, T *y, float *mean, float *rstd, const T *a, const T *b, const float *gain, const float *bias,
		float eps, int64_t rows, int cols),
	norm_body(x, y, mean, rstd, a, b, gain, bias, eps, rows, cols))

/* Adds four sums over the block with one barrier. sh has 128 floats; the next call must use different ones. */
RT_DEVICE void block_sums(float *s, float *sh)
{
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		s[i] = warp_sum(s[i]);
		if (!lane)
			sh[32 * i + warp] = s[i];
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < 4; i++)
		s[i] = warp_sum(lane < warps ? sh[32 * i + lane] : 0);
}

/* Rows row0, row0 + step, …, two at a time, with W columns per thread. Sums over rows stay in registers. There is one
 * barrier between the loads and the row's two sums. Shared memory: 256 floats. */
template <class T, int W>
RT_DEVICE void norm_bwd_kept(T *dx, float *part, const T *dy, const T *x, const float *gain, const float *mean,
			     const float *rstd, int64_t rows, int cols, int add, float *sh)
{
	int c = threadIdx.x * W, turn = 0;
	bool mine = c < cols;
	float w[W] = {}, by_gain[W] = {}, by_bias[W] = {}, g[W], v[W], o[W];

	if (mine)
		get_floats<W>(w, gain + c);
	for (int64_t first = blockIdx.x; first < rows; first += 2 * gridDim.x, turn ^= 128) {
		held<T, W> dys[2], xs[2], old[2];
		float m[2] = {}, r[2] = {}, s[4] = {};

#pragma unroll
		for (int i = 0; i < 2; i++) {
			int64_t row = first + i * (int64_t)gridDim.x, at = row * cols + c;

			if (!mine || row >= rows)
				continue;
			dys[i] = hold<W>(dy + at);
			xs[i] = hold<W>(x + at);
			if (dx && add)
				old[i] = hold<W>(dx + at);
			m[i] = mean ? mean[row] : 0;
			r[i] = rstd[row];
		}
#pragma unroll
		for (int i = 0; i < 2; i++) {
			if (!mine || first + i * (int64_t)gridDim.x >= rows)
				continue;
			floats(g, dys[i]);
			floats(v, xs[i]);
			for (int k = 0; k < W; k++) {
				float hat = (v[k] - m[i]) * r[i];

				s[2 * i] += g[k] * w[k];
				s[2 * i + 1] += g[k] * w[k] * hat;
				by_gain[k] += g[k] * hat;
				by_bias[k] += g[k];
			}
		}
		block_sums(s, sh + turn);
#pragma unroll
		for (int i = 0; i < 2; i++) {
			int64_t row = first + i * (int64_t)gridDim.x;
			float s1 = mean ? s[2 * i] / (float)cols : 0, s2 = s[2 * i + 1] / (float)cols;

			if (!mine || !dx || row >= rows)
				continue;
			floats(g, dys[i]);
			floats(v, xs[i]);
			if (add)
				floats(o, old[i]);
			for (int k = 0; k < W; k++)
				v[k] = r[i] * (g[k] * w[k] - s1 - (v[k] - m[i]) * r[i] * s2) + (add ? o[k] : 0);
			put<W>(dx + row * cols + c, v);
		}
	}
	if (mine && part) {
		put_sums<W>(part + (int64_t)blockIdx.x * 2 * cols + c, by_gain, false);
		put_sums<W>(part + (int64_t)blockIdx.x * 2 * cols + cols + c, by_bias, false);
	}
}

/* Does the same for longer rows. Each column belongs to one thread, so sums over rows need no other thread. Shared memory: 2
 * cols floats, then 32. */
template <class T, int W>
RT_DEVICE void norm_bwd_rows(T *dx, float *part, const T *dy, const T *x, const float *gain, const float *mean,
			     const float *rstd, int64_t rows, int cols, int add, float *sums)
{
	float g[W], v[W], old[W], *sh = sums + 2 * cols;

	for (int c = threadIdx.x; c < 2 * cols; c += blockDim.x)
		sums[c] = 0;
	__syncthreads();
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		float m = mean ? mean[row] : 0, r = rstd[row], s1 = 0, s2 = 0;

		for (int c = threadIdx.x * W; c < cols; c += blockDim.x * W) {
			get<W>(g, dy + row * cols + c);
			get<W>(v, x + row * cols + c);
			for (int k = 0; k < W; k++) {
				s1 += g[k] * gain[c + k];
				s2 += g[k] * gain[c + k] * (v[k] - m) * r;
			}
		}
		s1 = mean ? block_sum(s1, sh) / (float)cols : 0;
		s2 = block_sum(s2, sh) / (float)cols;
		for (int c = threadIdx.x * W; c < cols; c += blockDim.x * W) {
			get<W>(g, dy + row * cols + c);
			get<W>(v, x + row * cols + c);
			if (dx && add)
				get<W>(old, dx + row * cols + c);
			for (int k = 0; k < W; k++) {
				float hat = (v[k] - m) * r;

				sums[c + k] += g[k] * hat;
				sums[cols + c + k] += g[k];
				v[k] = r * (g[k] * gain[c + k] - s1 - hat * s2) + (dx && add ? old[k] : 0);
			}
			if (dx)
				put<W>(dx + row * cols + c, v);
		}
	}
	__syncthreads();
	for (int c = threadIdx.x; part && c < 2 * cols; c += blockDim.x)
		part[(int64_t)blockIdx.x * 2 * cols + c] = sums[c];
}

template <class T>
RT_DEVICE void norm_bwd_body(T *dx, float *part, const T *dy, const T *x, const float *gain, const float *mean,
			     const float *rstd, int64_t rows, int cols, int add)
{
	RT_DYNAMIC_SHARED(sh);
	bool whole = cols % wide<T>::n == 0;

	if (cols <= (int)blockDim.x * (whole ? wide<T>::n : 1))
		RT_WIDE(whole, norm_bwd_kept, (dx, part, dy, x, gain, mean, rstd, rows, cols, add, sh));
	else
		RT_WIDE(whole, norm_bwd_rows, (dx, part, dy, x, gain, mean, rstd, rows, cols, add, sh));
}

/* dx (M,C) = or +=; part (blocks, 2C): each block's sums for gain, then for bias. dx may be dy. Shared memory: 256
 * floats if the block has a thread for each 16 bytes of a row, otherwise 2C+32. */
RT_TYPED(norm_bwd, (T *dx, float *part, const T *dy, const T *x, const float *gain, const float *mean,
		const float *rstd, int64_t rows, int cols, int add),
	norm_bwd_body(dx, part, dy, x, gain, mean, rstd, rows, cols, add))
