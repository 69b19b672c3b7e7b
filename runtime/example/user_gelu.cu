/* SPDX-License-Identifier: Apache-2.0 */
/* Device code of user_gelu.c: nvcc -fatbin -arch=all-major user_gelu.cu */
struct curve { /* same as in user_gelu.c */
	float slope, cubic;
};

extern "C" __global__ void my_gelu(long long n, curve c, const float *__restrict__ x, float *__restrict__ y)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		y[i] = x[i] / (1 + expf(-c.slope * x[i] * (1 + c.cubic * x[i] * x[i])));
}

extern "C" __global__ void my_gelu_backward(long long n, curve c, const float *__restrict__ x,
					    const float *__restrict__ dy, float *__restrict__ dx)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
		float s = 1 / (1 + expf(-c.slope * x[i] * (1 + c.cubic * x[i] * x[i])));

		dx[i] = dy[i] * (s + x[i] * s * (1 - s) * c.slope * (1 + 3 * c.cubic * x[i] * x[i]));
	}
}
