/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of rows of logits and its gradient, in place. Rows with target RT_IGNORE do not count. */
#include "common.cuh"
#include "runtime/cuda/kernel/update.h"

#define IGNORE (-100) /* RT_IGNORE */

/* count (1) = number of targets (n) that count, at least 1: the divisor of their mean. One block of 1024. */
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

#define AHEAD 4 /* outstanding loads of a thread */

/* Returns the logits at column c of a row plus their bias; -inf after the end of the row. */
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
 * One block per row, the last row first, because the rows that the product wrote last are still in the cache. The first
 * pass computes maximum and sum. The second pass computes the gradient from the row in shared memory, if it fits there.
 * The design assumes a device whose multiprocessors read 17 bytes of memory per cycle. 30 instructions can be issued in the
 * 0.24 cycles that the four bytes of a bf16 logit take. Therefore the loops have no division, one ex2 per exponential, and the
 * target is handled separately.
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

/* losses (rows); grad (rows,cols) = loss scale / count * (softmax(logits + bias) - target), NULL or in place; columns
 * from cols to fill are set to zero. count (1): from rt_count_targets. Grid: rows. keep: cols elements, rounded up to
 * 16 bytes, are in shared memory. */
RT_TYPED(cross_entropy, (const T *logits, int64_t ld, const T *bias, T *grad, int64_t ldg, const int *targets,
		float *losses, int64_t rows, int cols, int fill, const int *count, const struct rt_update_step *step, int keep),
	cross_entropy_body(logits, ld, bias, grad, ldg, targets, losses, rows, cols, fill,
		step->loss_scale / (float)*count, keep))

/* ---- logits whose columns the ranks of a group split: graph/op_vocabulary.c ---- */
/* One block per row. The target's logit is read before a barrier, because y may be x. */
template <class T, int W> RT_DEVICE void softmax_part_row(const T *x, T *y, float *stats, int target, int cols, float *sh)
{
	float v[W], top = -INFINITY, sum = 0, max;
	int step = blockDim.x * W;

	if (!threadIdx.x)
		stats[1] = target >= 0 && target < cols ? as_float(x[target]) : 0;
	for (int c = threadIdx.x * W; c < cols; c += step) {
		get<W>(v, x + c);
		exp_sum_add<W>(v, top, sum);
	}
	max = block_max(top, sh);
	sum = block_sum(top == max ? sum : sum * expf(top - max), sh);
	if (!threadIdx.x)
		stats[0] = max + logf(sum);
	for (int c = threadIdx.x * W; c < cols; c += step) {
		get<W>(v, x + c);
		for (int k = 0; k < W; k++)
			v[k] = exp_fast(v[k] - max) / sum;
		put<W>(y + c, v);
	}
}

template <class T>
RT_DEVICE void softmax_part_body(const T *x, T *y, float *stats, const int *targets, int first, int cols)
{
	__shared__ float sh[32];
	int64_t row = blockIdx.x;
	int target = targets[row] == IGNORE ? -1 : targets[row] - first;

	RT_WIDE(cols % wide<T>::n == 0, softmax_part_row, (x + row * cols, y + row * cols, stats + 2 * row, target, cols, sh));
}

/* y (rows,cols) = softmax(x) of the own columns, which start at `first`; y may be x. stats (rows,2): their log-sum-exp, and
 * the target's logit or 0. Grid: rows. */
RT_TYPED(softmax_part, (const T *x, T *y, float *stats, const int *targets, int first, int cols),
	softmax_part_body(x, y, stats, targets, first, cols))

/* Parts of the logits: their number, the own one, and where its columns start. */
struct logit_parts {
	int n, own, first, cols;
};

/* Returns the log-sum-exp of a row over all parts, and the target's logit. The order of the sums is the same in all ranks. */
RT_DEVICE float join_row(const float *stats, int64_t rows, int64_t row, int parts, float *picked)
{
	float max = -INFINITY, sum = 0, own = 0;

	for (int i = 0; i < parts; i++)
		max = fmaxf(max, stats[2 * (i * rows + row)]);
	for (int i = 0; i < parts; i++) {
		sum += expf(stats[2 * (i * rows + row)] - max);
		own += stats[2 * (i * rows + row) + 1];
	}
	*picked = own;
	return max + logf(sum);
}

template <class T, int W>
RT_DEVICE void parts_gradient_row(const T *probs, T *grad, float factor, int target, float scale, int cols)
{
	float v[W];

	for (int c = threadIdx.x * W; c < cols; c += blockDim.x * W) {
		get<W>(v, probs + c);
		for (int k = 0; k < W; k++)
			v[k] = v[k] * factor - (c + k == target ? scale : 0);
		put<W>(grad + c, v);
	}
}

template <class T>
RT_DEVICE void parts_loss_body(const T *probs, T *grad, float *losses, const int *targets, const float *stats, int64_t rows,
			       struct logit_parts p, float scale)
{
	int64_t row = blockIdx.x, at = row * p.cols;
	bool counts = targets[row] != IGNORE;
	float picked, lse = join_row(stats, rows, row, p.n, &picked);
	float factor = counts ? scale * expf(stats[2 * (p.own * rows + row)] - lse) : 0;

	if (!threadIdx.x)
		losses[row] = counts ? lse - picked : 0;
	if (grad)
		RT_WIDE(p.cols % wide<T>::n == 0, parts_gradient_row,
			(probs + at, grad + at, factor, counts ? targets[row] - p.first : -1, scale, p.cols));
}

/* losses (rows); grad (rows,cols) = loss scale / count * (softmax over all parts - target) of the own columns, NULL or in
 * place. probs, stats (parts rows,2): from softmax_part. Grid: rows. */
RT_TYPED(parts_loss, (const T *probs, T *grad, float *losses, const int *targets, const float *stats, int64_t rows,
		struct logit_parts p, const int *count, const struct rt_update_step *step),
	parts_loss_body(probs, grad, losses, targets, stats, rows, p, step->loss_scale / (float)*count))
