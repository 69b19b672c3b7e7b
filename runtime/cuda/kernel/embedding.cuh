/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table look-up and its gradient. The gradient needs the positions of each id in a fixed order, without atomics on
 * floats. Therefore the positions are counted, written to their id's segment in any order, and sorted there. Then each
 * row of the table is one sum.
 */
#include "common.cuh"

/* Returns the row of the table for an id. The table has the v rows from `first` on; -1: another rank has the row. */
RT_DEVICE int row_of(int id, int first, int v)
{
	int row = id - first;

	return row >= 0 && row < v ? row : -1;
}

template <class T, int W>
RT_DEVICE void embed(T *y, const int *ids, const T *table, const T *positions, int64_t rows, int len, int cols, int first, int v)
{
	int64_t per_row = cols / W;
	float x[W], p[W];

	for (int64_t i = global_thread(); i < rows * per_row; i += global_threads()) {
		int64_t row = i / per_row, c = i % per_row * W;
		int at = row_of(ids[row], first, v);

		if (at >= 0)
			get<W>(x, table + (int64_t)at * cols + c);
		for (int k = 0; at < 0 && k < W; k++)
			x[k] = 0;
		if (positions)
			get<W>(p, positions + row % len * cols + c);
		for (int k = 0; positions && k < W; k++)
			x[k] += p[k];
		put<W>(y + row * cols + c, x);
	}
}

/* y (rows,C) = table[ids (rows) - first] + positions[row % len]; positions may be NULL. The table has v rows; the row of
 * another id is zero. */
RT_TYPED(embedding, (T *y, const int *ids, const T *table, const T *positions, int64_t rows, int len, int cols, int first, int v),
	RT_WIDE(cols % wide<T>::n == 0, embed, (y, ids, table, positions, rows, len, cols, first, v)))

/* count (V), initially 0: number of occurrences of each id from `first` on. */
RT_KERNEL rt_ids_count(int *count, const int *ids, int64_t n, int first, int v)
{
	for (int64_t i = global_thread(); i < n; i += global_threads()) {
		int at = row_of(ids[i], first, v);

		if (at >= 0)
			atomicAdd(&count[at], 1);
	}
}

/* start (V+1) = exclusive sums of count (V); count becomes a copy of start. One block of 1024. */
RT_KERNEL_1024 rt_ids_start(int *start, int *count, int v)
{
	__shared__ int sh[1024];
	int per = (v + 1023) / 1024, lo = threadIdx.x * per, hi = lo + per < v ? lo + per : v, sum = 0;

	for (int i = lo; i < hi; i++)
		sum += count[i];
	sh[threadIdx.x] = sum;
	__syncthreads();
	for (int o = 1; o < 1024; o <<= 1) {
		int below = threadIdx.x >= (unsigned)o ? sh[threadIdx.x - o] : 0;

		__syncthreads();
		sh[threadIdx.x] += below;
		__syncthreads();
	}
	sum = sh[threadIdx.x] - sum;
	for (int i = lo; i < hi; i++) {
		int n = count[i];

		start[i] = sum;
		count[i] = sum;
		sum += n;
	}
	if (threadIdx.x == 1023)
		start[v] = sh[1023];
}

/* place (n): the positions of each id, in its segment, in any order. cursor is initially a copy of start. */
RT_KERNEL rt_ids_fill(int *place, int *cursor, const int *ids, int64_t n, int first, int v)
{
	for (int64_t i = global_thread(); i < n; i += global_threads()) {
		int at = row_of(ids[i], first, v);

		if (at >= 0)
			place[atomicAdd(&cursor[at], 1)] = (int)i;
	}
}

/* sorted (n): the same with each segment in ascending order */
RT_KERNEL rt_ids_rank(int *sorted, const int *place, const int *start, const int *ids, int first, int v)
{
	for (int64_t i = global_thread(); i < start[v]; i += global_threads()) {
		int mine = place[i], id = ids[mine] - first, rank = 0;

		for (int k = start[id]; k < start[id + 1]; k++)
			rank += place[k] < mine;
		sorted[start[id] + rank] = mine;
	}
}

/* One block per row of the table. threadIdx.y divides the positions, threadIdx.x the columns. */
template <class T, int W>
RT_DEVICE void embed_bwd(float *table, const T *dy, const int *start, const int *sorted, int cols, int add, float *sh)
{
	int id = blockIdx.x, lo = start[id], hi = start[id + 1];
	int64_t row = (int64_t)id * cols;
	float v[W], sum[W];

	for (int c0 = 0; c0 < cols; c0 += blockDim.x * W) {
		int c = c0 + threadIdx.x * W;

		for (int k = 0; k < W; k++)
			sum[k] = 0;
		for (int p = lo + threadIdx.y; c < cols && p < hi; p += blockDim.y) {
			get<W>(v, dy + (int64_t)sorted[p] * cols + c);
			for (int k = 0; k < W; k++)
				sum[k] += v[k];
		}
		__syncthreads();
		for (int k = 0; k < W; k++)
			sh[(threadIdx.y * blockDim.x + threadIdx.x) * W + k] = sum[k];
		__syncthreads();
		if (threadIdx.y || c >= cols || (lo == hi && add))
			continue;
		for (int y = 1; y < (int)blockDim.y; y++)
			for (int k = 0; k < W; k++)
				sum[k] += sh[(y * blockDim.x + threadIdx.x) * W + k];
		put_sums<W>(table + row + c, sum, add);
	}
}

/* table (V,C) = or += sums of dy (rows,C) over the positions of each id. Grid V. Shared memory: threads * 16 bytes /
 * element floats. */
RT_TYPED(embedding_bwd, (float *table, const T *dy, const int *start, const int *sorted, int cols, int add),
	RT_DYNAMIC_SHARED(sh);
	RT_WIDE(cols % wide<T>::n == 0, embed_bwd, (table, dy, start, sorted, cols, add, sh)))

template <class T, int W>
RT_DEVICE void positions_bwd(float *positions, const T *dy, int batch, int len, int64_t rows, int cols, int add)
{
	for (int64_t i = global_thread() * W; i < rows * cols; i += global_threads() * W) {
		int64_t t = i / cols;
		float v[W], sum[W] = {};

#pragma unroll 4
		for (int b = 0; t < len && b < batch; b++) {
			get<W>(v, dy + (int64_t)b * len * cols + i);
			for (int k = 0; k < W; k++)
				sum[k] += v[k];
		}
		if (t < len || !add)
			put_sums<W>(positions + i, sum, add);
	}
}

/* positions (rows,C) = or += sums of dy (batch,len,C) over the batch; rows after len are zero. Counted bytes: dy once,
 * positions once. */
RT_TYPED(positions_bwd, (float *positions, const T *dy, int batch, int len, int64_t rows, int cols, int add),
	RT_WIDE(cols % wide<T>::n == 0, positions_bwd, (positions, dy, batch, len, rows, cols, add)))
