/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the ops in user_ops.c. */
#include "runtime/cuda/kernel/common.cuh"

/* gelu(x) = x s with s = 1 / (1 + exp(-2 sqrt(2/pi) x (1 + 0.044715 x x))) */
RT_DEVICE float user_gate(float x)
{
	return 1 / (1 + expf(-1.5957691f * x * (1 + 0.044715f * x * x)));
}

RT_KERNEL bn_gelu(long long n, const float *__restrict__ x, float *__restrict__ y)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		y[i] = x[i] * user_gate(x[i]);
}

RT_KERNEL bn_gelu_back(long long n, const float *__restrict__ x, const float *__restrict__ dy, float *__restrict__ dx)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
		float s = user_gate(x[i]);

		dx[i] = dy[i] * (s + x[i] * s * (1 - s) * 1.5957691f * (1 + 3 * 0.044715f * x[i] * x[i]));
	}
}

/* Returns the sum, or the maximum, of the values of all threads of the block, whose number is a power of two. part: a float for
 * each thread. */
RT_DEVICE float user_combine(float *part, float value, bool maximum)
{
	float result;

	part[threadIdx.x] = value;
	for (unsigned k = blockDim.x / 2; k; k /= 2) {
		__syncthreads();
		if (threadIdx.x < k) {
			float other = part[threadIdx.x + k];

			part[threadIdx.x] = maximum ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
		}
	}
	__syncthreads();
	result = part[0];
	__syncthreads();
	return result;
}

/* y (rows,cols) = softmax of each row of x: a block for each row, a float of shared memory for each thread */
RT_KERNEL bn_softmax(long long cols, const float *__restrict__ x, float *__restrict__ y)
{
	RT_DYNAMIC_SHARED(part);
	const float *in = x + blockIdx.x * cols;
	float *out = y + blockIdx.x * cols;
	float most = -INFINITY, sum = 0;

	for (long long i = threadIdx.x; i < cols; i += blockDim.x)
		most = fmaxf(most, in[i]);
	most = user_combine(part, most, true);
	for (long long i = threadIdx.x; i < cols; i += blockDim.x) {
		out[i] = expf(in[i] - most);
		sum += out[i];
	}
	sum = user_combine(part, sum, false);
	for (long long i = threadIdx.x; i < cols; i += blockDim.x)
		out[i] /= sum;
}

/* dx = y (dy - sum(y dy)) for each row, in the same grid */
RT_KERNEL bn_softmax_back(long long cols, const float *__restrict__ y, const float *__restrict__ dy, float *__restrict__ dx)
{
	RT_DYNAMIC_SHARED(part);
	long long at = blockIdx.x * cols;
	float sum = 0;

	for (long long i = threadIdx.x; i < cols; i += blockDim.x)
		sum += y[at + i] * dy[at + i];
	sum = user_combine(part, sum, false);
	for (long long i = threadIdx.x; i < cols; i += blockDim.x)
		dx[at + i] = y[at + i] * (dy[at + i] - sum);
}
