/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of rows of logits and its gradient, in place. Rows whose target is RT_IGNORE count nowhere. */
#include "common.cuh"
#include "runtime/cuda/kernel/update.h"

#define IGNORE (-100) /* RT_IGNORE */

/* count (1) = targets (n) that count, at least 1: what a mean over them is divided by. One block of 1024. */
RT_KERNEL_1024 rt_count_targets(int *count, const int *targets, int64_t n)
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

#define AHEAD 4 /* accesses of a thread that are on their way at once */

/* The logits at c of a row, with their bias; -inf beyond its end. */
template <class T, int W> RT_DEVICE void with_bias(float *v, const held<T, W> &logits, const T *bias, int c, int cols)
{
	float b[W];

	floats(v, logits);
	if (bias && c + W <= cols) {
		get<W>(b, bias + c);
		for (int k = 0; k < W; k++)
			v[k] += b[k];
	}
	for (int k = 0; c + W > cols && k < W; k++)
		v[k] = c + k >= cols ? -INFINITY : bias ? v[k] + as_float(bias[c + k]) : v[k];
}

/*
 * One block per row, last row first: the rows that the product wrote last are still in the cache. Maximum and sum in one
 * reading; the gradient in a second one, of what the first has kept in shared memory, if it fits there. Counted for a card whose
 * multiprocessors get 17 bytes of memory in a cycle: four bytes of a bf16 logit take 0.24 cycles, in which 30 instructions
 * can be issued for it. So no division in the loops, one ex2 for an exponential, and the target by itself.
 */
template <class T, int W>
RT_DEVICE void cross_entropy_row(const T *logits, const T *bias, T *grad, float *losses, int target, int64_t row, int cols,
				 int fill, float scale, T *keep, float *sh)
{
	const T *again = keep ? keep : logits;
	float v[W], top = -INFINITY, sum = 0, max, picked, share;
	int step = blockDim.x * W;

	if (target == IGNORE) {
		if (!threadIdx.x)
			losses[row] = 0;
		for (int k = 0; k < W; k++)
			v[k] = 0;
		for (int c = threadIdx.x * W; grad && c < fill; c += blockDim.x * W)
			put<W>(grad + c, v);
		return;
	}
	picked = as_float(logits[target]) + (bias ? as_float(bias[target]) : 0);
	for (int from = threadIdx.x * W; from < cols; from += AHEAD * step) {
		held<T, W> p[AHEAD];

#pragma unroll
		for (int i = 0, c = from; i < AHEAD; i++, c += step)
			if (c < cols)
				p[i] = hold<W>(logits + c);
#pragma unroll
		for (int i = 0, c = from; i < AHEAD; i++, c += step) {
			if (c >= cols)
				break;
			if (keep)
				put_held(keep + c, p[i]);
			with_bias(v, p[i], bias, c, cols);
			exp_sum_add<W>(v, top, sum);
		}
	}
	max = block_max(top, sh);
	sum = block_sum(top == max ? sum : sum * expf(top - max), sh);
	share = scale / sum;
	if (!threadIdx.x)
		losses[row] = logf(sum) + (max - picked);
	for (int c = threadIdx.x * W; grad && c < fill; c += step) {
		if (c < cols)
			with_bias(v, hold<W>(again + c), bias, c, cols);
		for (int k = 0; k < W; k++)
			v[k] = c + W <= cols || c + k < cols ? exp_fast(v[k] - max) * share : 0;
		put<W>(grad + c, v);
	}
	if (grad && (unsigned)(target / W) % blockDim.x == threadIdx.x)
		assign(grad[target], (expf(picked - max) / sum - 1) * scale);
}

template <class T>
RT_DEVICE void cross_entropy_body(const T *logits, int64_t ld, const T *bias, T *grad, int64_t ldg, const int *targets,
				  float *losses, int64_t rows, int cols, int fill, float scale, int keep)
{
	RT_DYNAMIC_SHARED(kept);
	__shared__ float sh[32];
	int64_t row = rows - 1 - blockIdx.x;

	grad = grad ? grad + row * ldg : nullptr;
	RT_WIDE(ld % wide<T>::n == 0 && ldg % wide<T>::n == 0, cross_entropy_row,
		(logits + row * ld, bias, grad, losses, targets[row], row, cols, fill, scale,
		 keep ? reinterpret_cast<T *>(kept) : nullptr, sh));
}

/* losses (rows); grad (rows,cols) = loss scale / count * (softmax(logits + bias) - target), NULL or in place; columns from cols to
 * fill are written as zeros. count (1): rt_count_targets. Grid: rows. keep: shared are cols elements, up to whole 16 bytes. */
RT_TYPED(cross_entropy, (const T *logits, int64_t ld, const T *bias, T *grad, int64_t ldg, const int *targets,
		float *losses, int64_t rows, int cols, int fill, const int *count, const struct rt_update_step *step, int keep),
	cross_entropy_body(logits, ld, bias, grad, ldg, targets, losses, rows, cols, fill,
		step->loss_scale / (float)*count, keep))
