/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_KERNEL_REDUCE_CUH
#define RT_KERNEL_REDUCE_CUH
/* Sums in a fixed order: first parts per block, then the parts. Blocks have 32 x 8 threads unless noted. */
#include "common.cuh"

template <class T, int W> RT_DEVICE void column_sums(float *part, const T *x, int64_t ld, int64_t rows, int cols)
{
	__shared__ float sh[8][32 * 8];
	int c = (blockIdx.x * 32 + threadIdx.x) * W;
	float sum[W] = {}, v[W];
	int64_t per = (rows + gridDim.y - 1) / gridDim.y, lo = per * blockIdx.y, hi = lo + per < rows ? lo + per : rows;

	for (int64_t r = lo + threadIdx.y; c < cols && r < hi; r += 8) {
		get<W>(v, x + r * ld + c);
		for (int k = 0; k < W; k++)
			sum[k] += v[k];
	}
	for (int k = 0; k < W; k++)
		sh[threadIdx.y][threadIdx.x * W + k] = sum[k];
	__syncthreads();
	if (threadIdx.y)
		return;
	for (int k = 0; k < W && c + k < cols; k++) {
		float s = 0;

		for (int y = 0; y < 8; y++)
			s += sh[y][threadIdx.x * W + k];
		part[(int64_t)blockIdx.y * cols + c + k] = s;
	}
}

/* part (gridDim.y, cols) = sums over equal parts of the rows of x (rows,cols) with stride ld in elements. W = 1 if cols
 * or ld is not a multiple of 16 bytes. */
RT_TYPED(column_sums, (float *part, const T *x, int64_t ld, int64_t rows, int cols, int w),
	RT_WIDE(w > 1, column_sums, (part, x, ld, rows, cols)))

/* out (cols) = or += sum over parts of part (parts,stride). Blocks are 32 x 8 or, for many parts, 32 x 32. */
RT_KERNEL_1024 rt_fold(float *out, const float *part, int parts, int stride, int cols, int add)
{
	__shared__ float sh[32][32];
	int c = blockIdx.x * 32 + threadIdx.x;
	float s = 0;

	for (int p = threadIdx.y; c < cols && p < parts; p += blockDim.y)
		s += part[(int64_t)p * stride + c];
	sh[threadIdx.y][threadIdx.x] = s;
	__syncthreads();
	if (threadIdx.y || c >= cols)
		return;
	s = 0;
	for (unsigned y = 0; y < blockDim.y; y++)
		s += sh[y][threadIdx.x];
	out[c] = s + (add ? out[c] : 0);
}

/* Returns the sum over the block in double, in thread 0. The block has a power of two of threads, at most 1024. */
RT_DEVICE double block_sum_double(double x)
{
	__shared__ double sh[1024];

	sh[threadIdx.x] = x;
	for (unsigned o = blockDim.x / 2; o; o >>= 1) {
		__syncthreads();
		if (threadIdx.x < o)
			sh[threadIdx.x] += sh[threadIdx.x + o];
	}
	return sh[0];
}

template <class T> RT_DEVICE void dot_body(float *out, const T *a, const T *b, int64_t n)
{
	double s = 0;

	for (int64_t i = threadIdx.x; i < n; i += 1024)
		s += (double)as_float(a[i]) * (double)as_float(b[i]);
	s = block_sum_double(s);
	if (!threadIdx.x)
		*out = (float)s;
}

/* out (1) = sum of a b. One block of 1024; for checks, not for speed. */
RT_TYPED_1024(dot, (float *out, const T *a, const T *b, int64_t n),
	dot_body(out, a, b, n))

/* out (1) = sum of x (n) / count (1); one block of 1024 */
RT_KERNEL_1024 rt_mean(float *out, const float *x, int64_t n, const int *count)
{
	double s = 0;

	for (int64_t i = threadIdx.x; i < n; i += 1024)
		s += (double)x[i];
	s = block_sum_double(s);
	if (!threadIdx.x)
		*out = (float)(s / (double)*count);
}
#endif
