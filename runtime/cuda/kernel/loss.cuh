/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of rows of logits and its gradient, in place. Rows whose target is RT_IGNORE count nowhere. */
#include "common.cuh"
#include "runtime/cuda/update.h"

#define IGNORE (-100) /* RT_IGNORE */

/* count (1) = targets (n) that count, at least 1: what a mean over them is divided by. One block of 1024. */
RT_KERNEL rt_count_targets(int *count, const int *targets, int64_t n)
{
	__shared__ int sh[1024];
	int mine = 0;

	for (int64_t i = threadIdx.x; i < n; i += 1024)
		mine += targets[i] != IGNORE;
	sh[threadIdx.x] = mine;
	for (unsigned o = 512; o; o >>= 1) {
		__syncthreads();
		if (threadIdx.x < o)
			sh[threadIdx.x] += sh[threadIdx.x + o];
	}
	if (!threadIdx.x)
		*count = sh[0] > 1 ? sh[0] : 1;
}

/*
 * One block per row, last row first: the rows that the product wrote last are still in the cache. Maximum and sum in one
 * reading, the gradient in a second one.
 */
template <class T, int W>
RT_DEVICE void cross_entropy_row(const T *logits, const T *bias, T *grad, float *losses, int target, int64_t row, int cols,
				 int fill, float scale, float *sh)
{
	float v[W], b[W], top = -INFINITY, sum = 0, max, picked = 0;

	if (target == IGNORE) {
		if (!threadIdx.x)
			losses[row] = 0;
		for (int k = 0; k < W; k++)
			v[k] = 0;
		for (int c = threadIdx.x * W; grad && c < fill; c += blockDim.x * W)
			put<W>(grad + c, v);
		return;
	}
	if (!threadIdx.x)
		picked = as_float(logits[target]) + (bias ? as_float(bias[target]) : 0);
	for (int c = threadIdx.x * W; c < cols; c += blockDim.x * W) {
		get<W>(v, logits + c);
		for (int k = 0; k < W; k++) {
			b[k] = bias && c + k < cols ? as_float(bias[c + k]) : 0;
			v[k] = c + k < cols ? v[k] + b[k] : -INFINITY;
		}
		exp_sum_add<W>(v, top, sum);
	}
	max = block_max(top, sh);
	sum = block_sum(top == max ? sum : sum * expf(top - max), sh);
	if (!threadIdx.x)
		losses[row] = logf(sum) + (max - picked);
	for (int c = threadIdx.x * W; grad && c < fill; c += blockDim.x * W) {
		get<W>(v, logits + c);
		for (int k = 0; k < W; k++) {
			b[k] = bias && c + k < cols ? as_float(bias[c + k]) : 0;
			v[k] = c + k < cols ? (expf(v[k] + b[k] - max) / sum - (c + k == target)) * scale : 0;
		}
		put<W>(grad + c, v);
	}
}

template <class T>
RT_DEVICE void cross_entropy_body(const T *logits, int64_t ld, const T *bias, T *grad, int64_t ldg, const int *targets,
				  float *losses, int64_t rows, int cols, int fill, float scale)
{
	__shared__ float sh[32];
	int64_t row = rows - 1 - blockIdx.x;

	grad = grad ? grad + row * ldg : nullptr;
	RT_WIDE(ld % wide<T>::n == 0 && ldg % wide<T>::n == 0, cross_entropy_row,
		(logits + row * ld, bias, grad, losses, targets[row], row, cols, fill, scale, sh));
}

/* losses (rows); grad (rows,cols) = loss scale / count * (softmax(logits + bias) - target), NULL or in place; columns from cols to
 * fill are written as zeros. count (1): rt_count_targets. Grid: rows. */
RT_TYPED(cross_entropy, (const T *logits, int64_t ld, const T *bias, T *grad, int64_t ldg, const int *targets,
		float *losses, int64_t rows, int cols, int fill, const int *count, const struct rt_update_step *step),
	cross_entropy_body(logits, ld, bias, grad, ldg, targets, losses, rows, cols, fill,
		step->loss_scale / (float)*count))
