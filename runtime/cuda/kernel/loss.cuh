/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of rows of logits and its gradient, in place. */
#include "common.cuh"
#include "runtime/cuda/update.h"

/*
 * One block per row, last row first: the rows that the product wrote last are still in the cache. Maximum and sum in one
 * reading, the gradient in a second one.
 */
template <class T, int W>
RT_DEVICE void cross_entropy_row(const T *logits, const T *bias, T *grad, float *losses, int target, int64_t row, int cols,
				 float scale, float *sh)
{
	float v[W], b[W], top = -INFINITY, sum = 0, max, picked = 0;

	if (!threadIdx.x)
		picked = as_float(logits[target]) + (bias ? as_float(bias[target]) : 0);
	for (int c = threadIdx.x * W; c < cols; c += blockDim.x * W) {
		float high = top;

		get<W>(v, logits + c);
		for (int k = 0; k < W; k++) {
			b[k] = bias && c + k < cols ? as_float(bias[c + k]) : 0;
			v[k] = c + k < cols ? v[k] + b[k] : -INFINITY;
			high = fmaxf(high, v[k]);
		}
		/* a row whose first values are all -inf or NaN must not turn into 0 */
		sum = top == high ? sum : sum * expf(top - high);
		for (int k = 0; k < W; k++)
			sum += c + k < cols ? expf(v[k] - high) : 0;
		top = high;
	}
	max = block_max(top, sh);
	sum = block_sum(top == -INFINITY ? 0 : sum * expf(top - max), sh);
	if (!threadIdx.x)
		losses[row] = logf(sum) + max - picked;
	for (int c = threadIdx.x * W; grad && c < cols; c += blockDim.x * W) {
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
				  float *losses, int64_t rows, int cols, float scale)
{
	__shared__ float sh[32];
	int64_t row = rows - 1 - blockIdx.x;

	if (ld % wide<T>::n == 0 && ldg % wide<T>::n == 0)
		cross_entropy_row<T, wide<T>::n>(logits + row * ld, bias, grad ? grad + row * ldg : nullptr, losses,
						 targets[row], row, cols, scale, sh);
	else
		cross_entropy_row<T, 1>(logits + row * ld, bias, grad ? grad + row * ldg : nullptr, losses, targets[row], row,
					cols, scale, sh);
}

/* losses (rows); grad (rows,cols) = scale * loss scale * (softmax(logits + bias) - target), NULL or in place. Grid: rows. */
RT_KERNEL rt_cross_entropy_f32(const float *logits, int64_t ld, const float *bias, float *grad, int64_t ldg,
			       const int *targets, float *losses, int64_t rows, int cols, float scale,
			       const struct rt_update_step *step)
{
	cross_entropy_body(logits, ld, bias, grad, ldg, targets, losses, rows, cols, scale * step->loss_scale);
}
RT_KERNEL rt_cross_entropy_bf16(const bf16 *logits, int64_t ld, const bf16 *bias, bf16 *grad, int64_t ldg,
				const int *targets, float *losses, int64_t rows, int cols, float scale,
			       const struct rt_update_step *step)
{
	cross_entropy_body(logits, ld, bias, grad, ldg, targets, losses, rows, cols, scale * step->loss_scale);
}
