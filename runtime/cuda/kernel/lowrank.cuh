/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PowerSGD as in runtime/ddp/powersgd.c, with one launch per stage for all gradients of a bucket: M = error feedback +
 * gradient, P = M Q; (mean over ranks); orthonormalise the columns of P; Q = M^T P; (mean over ranks); gradient = P
 * Q^T, error = M - gradient. If an update may be skipped, the error feedback and Q have two copies (residual.cuh). M is then
 * stored in the copy for the new error. Counted bytes per element of a matrix, up to rank 8: 12, 4 and 12; 4 more in the first
 * two for every further 8 ranks. Sums have a fixed order.
 */
#include "residual.cuh"
#include "reduce.cuh"
#include "runtime/cuda/kernel/lowrank.h"

#define RANKS_AT_ONCE 8

/* Addresses: error feedback, its next value, Q, the next Q. */
struct lowrank_places {
	float factor;
	float *before, *after, *q, *next;
};

RT_DEVICE struct lowrank_places lowrank_find(const struct rt_lowrank &x)
{
	const struct rt_residual_state state = *(const struct rt_residual_state *)x.state;
	float *residual = (float *)x.residual, *q = (float *)x.q;

	return { state.factor, residual + residual_current(state, x.residual_stride),
		 residual + residual_next(state, x.residual_stride),
		 q + residual_current(state, x.q_stride), q + residual_next(state, x.q_stride) };
}

RT_DEVICE void lowrank_copy(float *to, const float *from, int64_t start, int64_t n)
{
	int64_t end = start + RT_LOWRANK_FLOATS < n ? start + RT_LOWRANK_FLOATS : n;

	for (int64_t i = start + threadIdx.x; i < end; i += blockDim.x)
		to[i] = from[i];
}

/* M (n,m) = residual * factor + gradient; p (r,n) = M q^T. A block of 256 per tile of rows. */
RT_KERNEL rt_lowrank_p(const struct rt_lowrank *matrices, const struct rt_lowrank_tile *tiles)
{
	__shared__ float sh[8][RT_LOWRANK_ROWS * RANKS_AT_ONCE];
	const struct rt_lowrank_tile tile = tiles[blockIdx.x];
	const struct rt_lowrank x = matrices[tile.matrix];
	const struct lowrank_places places = lowrank_find(x);
	const float *g = (const float *)x.gradient, *q = places.q;
	float *p = (float *)x.p, *whole = places.after;

	if (!x.r) {
		lowrank_copy(p, g, tile.start, x.n);
		return;
	}
	for (int first = 0; first < x.r; first += RANKS_AT_ONCE) {
		float sum[RT_LOWRANK_ROWS][RANKS_AT_ONCE] = {};

		for (int64_t j = threadIdx.x; j < x.m; j += blockDim.x) {
			float w[RT_LOWRANK_ROWS];

#pragma unroll
			for (int i = 0; i < RT_LOWRANK_ROWS; i++) {
				int64_t at = (tile.start + i) * x.m + j;

				if (tile.start + i >= x.n)
					w[i] = 0;
				else
					w[i] = first ? whole[at] : __fadd_rn(__fmul_rn(places.before[at], places.factor), g[at]);
			}
#pragma unroll
			for (int i = 0; i < RT_LOWRANK_ROWS; i++)
				if (!first && tile.start + i < x.n)
					whole[(tile.start + i) * x.m + j] = w[i];
#pragma unroll
			for (int c = 0; c < RANKS_AT_ONCE; c++) {
				float y = first + c < x.r ? q[(first + c) * x.m + j] : 0;

#pragma unroll
				for (int i = 0; i < RT_LOWRANK_ROWS; i++)
					sum[i][c] += w[i] * y;
			}
		}
		__syncthreads();
#pragma unroll
		for (int c = 0; c < RANKS_AT_ONCE; c++)
#pragma unroll
			for (int i = 0; i < RT_LOWRANK_ROWS; i++) {
				float s = first + c < x.r ? warp_sum(sum[i][c]) : 0;

				if (!(threadIdx.x & 31))
					sh[threadIdx.x / 32][c * RT_LOWRANK_ROWS + i] = s;
			}
		__syncthreads();
		if (threadIdx.x < RT_LOWRANK_ROWS * RANKS_AT_ONCE) {
			int c = first + (int)threadIdx.x / RT_LOWRANK_ROWS;
			int64_t row = tile.start + threadIdx.x % RT_LOWRANK_ROWS;
			float s = 0;

			for (unsigned k = 0; k < blockDim.x / 32; k++)
				s += sh[k][threadIdx.x];
			if (c < x.r && row < x.n)
				p[c * x.n + row] = s;
		}
	}
}

/* Returns the sum over the block of 1024, in every thread. */
RT_DEVICE double lowrank_sum(double x)
{
	__shared__ double sh[1024];

	__syncthreads();
	sh[threadIdx.x] = x;
	for (unsigned o = 512; o; o >>= 1) {
		__syncthreads();
		if (threadIdx.x < o)
			sh[threadIdx.x] += sh[threadIdx.x + o];
	}
	__syncthreads();
	return sh[0];
}

/* Gram-Schmidt over the rows of p (r,n). A row that vanishes stays zero. A block of 1024 per matrix; each element
 * belongs to one thread. */
RT_KERNEL_1024 rt_lowrank_orthonormal(const struct rt_lowrank *matrices)
{
	const struct rt_lowrank x = matrices[blockIdx.x];

	for (int c = 0; c < x.r; c++) {
		float *p = (float *)x.p + c * x.n;
		double norm = 0;

		for (int d = 0; d < c; d++) {
			const float *q = (const float *)x.p + d * x.n;
			double dot = 0;

			for (int64_t i = threadIdx.x; i < x.n; i += 1024)
				dot += (double)p[i] * (double)q[i];
			dot = lowrank_sum(dot);
			for (int64_t i = threadIdx.x; i < x.n; i += 1024)
				p[i] -= (float)dot * q[i];
		}
		for (int64_t i = threadIdx.x; i < x.n; i += 1024)
			norm += (double)p[i] * (double)p[i];
		norm = sqrt(lowrank_sum(norm));
		for (int64_t i = threadIdx.x; i < x.n; i += 1024)
			p[i] = norm > 0 ? (float)((double)p[i] / norm) : 0;
	}
}

/* part (parts,r,m) = sums over equal parts of the rows of p (r,n) times M (n,m). One thread per column. */
RT_KERNEL rt_lowrank_q(const struct rt_lowrank *matrices, const struct rt_lowrank_tile *tiles)
{
	const struct rt_lowrank_tile tile = tiles[blockIdx.x];
	const struct rt_lowrank x = matrices[tile.matrix];
	const float *p = (const float *)x.p, *whole = lowrank_find(x).after;
	int64_t j = tile.start + threadIdx.x, per = (x.n + x.parts - 1) / x.parts, lo = per * tile.part;
	int64_t hi = lo + per < x.n ? lo + per : x.n;

	if (j >= x.m)
		return;
	for (int first = 0; first < x.r; first += RANKS_AT_ONCE) {
		float sum[RANKS_AT_ONCE] = {};

#pragma unroll 4
		for (int64_t i = lo; i < hi; i++) {
			float w = whole[i * x.m + j];

#pragma unroll
			for (int c = 0; c < RANKS_AT_ONCE; c++)
				sum[c] += first + c < x.r ? w * p[(first + c) * x.n + i] : 0;
		}
#pragma unroll
		for (int c = 0; c < RANKS_AT_ONCE; c++)
			if (first + c < x.r)
				((float *)x.part)[((int64_t)tile.part * x.r + first + c) * x.m + j] = sum[c];
	}
}

/* next (r,m) = sum of the parts. One thread per column. */
RT_KERNEL rt_lowrank_fold(const struct rt_lowrank *matrices, const struct rt_lowrank_tile *tiles)
{
	const struct rt_lowrank_tile tile = tiles[blockIdx.x];
	const struct rt_lowrank x = matrices[tile.matrix];
	int64_t j = tile.start + threadIdx.x;

	for (int c = 0; j < x.m && c < x.r; c++) {
		float sum = 0;

		for (int k = 0; k < x.parts; k++)
			sum += ((const float *)x.part)[((int64_t)k * x.r + c) * x.m + j];
		((float *)x.next)[c * x.m + j] = sum;
	}
}

/* gradient (n,m) = p^T next; residual = M - gradient, or 0 if that is NaN. A block of 256 per tile of rows. */
RT_KERNEL rt_lowrank_expand(const struct rt_lowrank *matrices, const struct rt_lowrank_tile *tiles)
{
	__shared__ float sh[RT_LOWRANK_MOST][RT_LOWRANK_ROWS];
	const struct rt_lowrank_tile tile = tiles[blockIdx.x];
	const struct rt_lowrank x = matrices[tile.matrix];
	const float *p = (const float *)x.p, *q = (const float *)x.next;
	float *g = (float *)x.gradient, *residual = lowrank_find(x).after;

	if (!x.r) {
		lowrank_copy(g, p, tile.start, x.n);
		return;
	}
	for (int k = threadIdx.x; k < x.r * RT_LOWRANK_ROWS; k += blockDim.x) {
		int64_t row = tile.start + k % RT_LOWRANK_ROWS;

		sh[k / RT_LOWRANK_ROWS][k % RT_LOWRANK_ROWS] = row < x.n ? p[k / RT_LOWRANK_ROWS * x.n + row] : 0;
	}
	__syncthreads();
	for (int64_t j = threadIdx.x; j < x.m; j += blockDim.x) {
		float sum[RT_LOWRANK_ROWS] = {};

		for (int c = 0; c < x.r; c++) {
			float y = q[c * x.m + j];

#pragma unroll
			for (int i = 0; i < RT_LOWRANK_ROWS; i++)
				sum[i] += sh[c][i] * y;
		}
#pragma unroll
		for (int i = 0; i < RT_LOWRANK_ROWS; i++) {
			int64_t at = (tile.start + i) * x.m + j;

			if (tile.start + i >= x.n)
				break;
			g[at] = sum[i];
			residual[at] = isfinite(residual[at] - sum[i]) ? residual[at] - sum[i] : 0;
		}
	}
}

/* q (r,m) = next, for the next update. With one copy, q stays if a gradient was not finite. 1024 threads per matrix. */
RT_KERNEL_1024 rt_lowrank_keep(const struct rt_lowrank *matrices)
{
	const struct rt_lowrank x = matrices[blockIdx.x];
	const float *next = (const float *)x.next;
	float *q = lowrank_find(x).next;
	double odd = 0;

	for (int64_t i = threadIdx.x; !x.q_stride && i < x.r * x.m; i += 1024)
		odd += !isfinite(next[i]);
	odd = lowrank_sum(odd);
	for (int64_t i = threadIdx.x; odd == 0 && i < x.r * x.m; i += 1024)
		q[i] = next[i];
}
