/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation over the last dimension; without a bias, and backward without means, of the root mean square alone. */
#include "common.cuh"

/* Columns of a lane that are summed before they join what the ones before them came to: the error does not grow with the row. */
#define PIECE 256

/* One warp per row. x may be a (no b) or take over a's memory: a thread reads back only what it wrote itself. */
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
		for (int k = 0; k < W; k++)
			v[k] = (v[k] - m) * r * gain[c + k] + (bias ? bias[c + k] : 0);
		put<W>(y + row * cols + c, v);
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
	RT_WIDE(cols % wide<T>::n == 0, norm_row, (x, y, mean, rstd, a, b, gain, bias, eps, row, cols));
}

/* x (M,C) = a + b if b; y = (x - mean) rstd gain (C) + bias (C), or without a bias x rstd gain; mean, rstd (M) or NULL */
RT_TYPED(norm, (T *x, T *y, float *mean, float *rstd, const T *a, const T *b, const float *gain, const float *bias,
		float eps, int64_t rows, int cols),
	norm_body(x, y, mean, rstd, a, b, gain, bias, eps, rows, cols))

/* Rows row0, row0 + step, …: each column belongs to one thread, so sums over rows need no other thread. */
template <class T, int W>
RT_DEVICE void norm_bwd_rows(T *dx, float *sums, const T *dy, const T *x, const float *gain, const float *mean,
			     const float *rstd, int64_t rows, int cols, int add, float *sh)
{
	float g[W], v[W], old[W];

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
}

template <class T>
RT_DEVICE void norm_bwd_body(T *dx, float *part, const T *dy, const T *x, const float *gain, const float *mean,
			     const float *rstd, int64_t rows, int cols, int add)
{
	RT_DYNAMIC_SHARED(sums); /* 2 cols, then 32 */
	float *sh = sums + 2 * cols;

	RT_WIDE(cols % wide<T>::n == 0, norm_bwd_rows, (dx, sums, dy, x, gain, mean, rstd, rows, cols, add, sh));
	__syncthreads();
	for (int c = threadIdx.x; part && c < 2 * cols; c += blockDim.x)
		part[(int64_t)blockIdx.x * 2 * cols + c] = sums[c];
}

/* dx (M,C) = or +=; part (blocks, 2C): each block's sums for gain, then for bias. dx may be dy. Shared: 2C+32 floats. */
RT_TYPED(norm_bwd, (T *dx, float *part, const T *dy, const T *x, const float *gain, const float *mean,
		const float *rstd, int64_t rows, int cols, int add),
	norm_bwd_body(dx, part, dy, x, gain, mean, rstd, rows, cols, add))
