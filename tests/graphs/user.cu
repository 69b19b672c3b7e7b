/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the ops in user.c. */
#include "runtime/cuda/kernel/common.cuh"

RT_KERNEL user_bump(long long n, float s, const float *__restrict__ x, float *__restrict__ y)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		y[i] = x[i] / (1 + s * x[i] * x[i]);
}

RT_KERNEL user_bump_back(long long n, float s, const float *__restrict__ x, const float *__restrict__ dy, float *__restrict__ dx)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
		float q = s * x[i] * x[i];

		dx[i] = dy[i] * (1 - q) / ((1 + q) * (1 + q));
	}
}

/* y (m) = a (m,n) b (n): a block of a power of two of threads for each row, a float of shared memory for each thread */
RT_KERNEL user_times(long long n, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y)
{
	RT_DYNAMIC_SHARED(part);
	float sum = 0;

	for (long long j = threadIdx.x; j < n; j += blockDim.x)
		sum += a[blockIdx.x * n + j] * b[j];
	part[threadIdx.x] = sum;
	for (unsigned k = blockDim.x / 2; k; k /= 2) {
		__syncthreads();
		if (threadIdx.x < k)
			part[threadIdx.x] += part[threadIdx.x + k];
	}
	if (threadIdx.x == 0)
		y[blockIdx.x] = part[0];
}

RT_KERNEL user_times_back_a(long long m, long long n, const float *__restrict__ b, const float *__restrict__ dy,
			    float *__restrict__ da)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < m * n; i += (long long)gridDim.x * blockDim.x)
		da[i] = dy[i / n] * b[i % n];
}

/* part (gridDim.y,n): sums over every gridDim.y-th row */
RT_KERNEL user_times_back_b(long long m, long long n, const float *__restrict__ a, const float *__restrict__ dy,
			    float *__restrict__ part)
{
	long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x;
	float sum = 0;

	if (j >= n)
		return;
	for (long long i = blockIdx.y; i < m; i += gridDim.y)
		sum += dy[i] * a[i * n + j];
	part[blockIdx.y * n + j] = sum;
}

/* y (n) = the sum of part (rows,n) */
RT_KERNEL user_fold(long long rows, long long n, const float *__restrict__ part, float *__restrict__ y)
{
	long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x;
	float sum = 0;

	if (j >= n)
		return;
	for (long long i = 0; i < rows; i++)
		sum += part[i * n + j];
	y[j] = sum;
}

RT_KERNEL user_fma(long long n, const float *a, const float *b, const float *c, float *__restrict__ y)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		y[i] = a[i] * b[i] + c[i];
}

/* y (n) = dy x, or dy without x */
RT_KERNEL user_fma_back(long long n, const float *dy, const float *x, float *__restrict__ y)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		y[i] = x ? dy[i] * x[i] : dy[i];
}
