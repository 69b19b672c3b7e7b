/* SPDX-License-Identifier: Apache-2.0 */
/* All device code, compiled to one fatbin for every architecture that the toolkit supports, and embedded (fatbin.c).
 * Kernels have C linkage, so that the driver API finds them by plain name. The list of names is in kernels.h. */
#include "runtime/cuda/kernel/attention_tensor.cuh"
#include "runtime/cuda/kernel/batchnorm.cuh"
#include "runtime/cuda/kernel/codec.cuh"
#include "runtime/cuda/kernel/elementwise.cuh"
#include "runtime/cuda/kernel/embedding.cuh"
#include "runtime/cuda/kernel/fp8.cuh"
#include "runtime/cuda/kernel/image.cuh"
#include "runtime/cuda/kernel/loss.cuh"
#include "runtime/cuda/kernel/lowrank.cuh"
#include "runtime/cuda/kernel/norm.cuh"
#include "runtime/cuda/kernel/reduce.cuh"
#include "runtime/cuda/kernel/rope.cuh"
#include "runtime/cuda/kernel/scaler.cuh"
#include "runtime/cuda/kernel/softmax.cuh"
#include "runtime/cuda/kernel/update.cuh"

/* y (n) = a x (n) + y (n); grid-stride loop, any grid. Self-test of rt_cuda_open(). */
RT_KERNEL rt_saxpy(unsigned n, float a, const float *__restrict__ x, float *__restrict__ y)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}

/* sums (threads of the grid) += (x (n) ^ pass) (2 index + 1) for each pass over x. Any grid and any order give the same
 * total. The work of feed.c: every word and its index change the total. */
RT_KERNEL rt_word_sums(unsigned n, unsigned passes, const uint32_t *__restrict__ x, unsigned long long *__restrict__ sums)
{
	unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long sum = 0;

	for (unsigned pass = 0; pass < passes; pass++)
		for (unsigned i = me; i < n; i += gridDim.x * blockDim.x)
			sum += (unsigned long long)(x[i] ^ pass) * (2ull * i + 1);
	sums[me] += sum;
}
