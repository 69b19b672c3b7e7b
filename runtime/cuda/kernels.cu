/* SPDX-License-Identifier: Apache-2.0 */
/* Device code, compiled to one fatbin for every architecture that the toolkit knows and embedded (runtime/cuda/fatbin.c).
 * C linkage, so that the driver API finds each by its plain name. */

/* y (n) = a x (n) + y (n); grid-stride, any grid. The self-test of rt_cuda_open. */
extern "C" __global__ void rt_saxpy(unsigned n, float a, const float *__restrict__ x, float *__restrict__ y)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}
