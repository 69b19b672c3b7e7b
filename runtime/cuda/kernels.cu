/* SPDX-License-Identifier: Apache-2.0 */
/* All device code, compiled to one fatbin for every architecture that the toolkit knows and embedded (fatbin.c).
 * C linkage, so that the driver API finds each by its plain name; the list of names is kernels.h. */
#include "runtime/cuda/kernel/attention_tensor.cuh"
#include "runtime/cuda/kernel/batchnorm.cuh"
#include "runtime/cuda/kernel/elementwise.cuh"
#include "runtime/cuda/kernel/embedding.cuh"
#include "runtime/cuda/kernel/fp8.cuh"
#include "runtime/cuda/kernel/image.cuh"
#include "runtime/cuda/kernel/loss.cuh"
#include "runtime/cuda/kernel/norm.cuh"
#include "runtime/cuda/kernel/reduce.cuh"
#include "runtime/cuda/kernel/update.cuh"

/* y (n) = a x (n) + y (n); grid-stride, any grid. The self-test of rt_cuda_open. */
RT_KERNEL rt_saxpy(unsigned n, float a, const float *__restrict__ x, float *__restrict__ y)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}
