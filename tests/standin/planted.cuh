/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels with errors that checked.cc must detect; one block of 64 threads, with as many floats of shared memory and in
 * x.
 */
#include "runtime/cuda/kernel/common.cuh"

RT_KERNEL planted_nothing(float *x, int n)
{
	RT_DYNAMIC_SHARED(sh);

	sh[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[n - 1 - threadIdx.x] = sh[threadIdx.x ^ 33];
}
RT_KERNEL planted_race(float *x, int n)
{
	RT_DYNAMIC_SHARED(sh);

	sh[threadIdx.x] = 1;
	x[threadIdx.x] = sh[threadIdx.x ^ 33];
}
/* A barrier of the warp suffices between threads of one warp, but not between two warps. */
RT_KERNEL planted_warp_race(float *x, int n)
{
	__shared__ float sh[64];

	sh[threadIdx.x] = 1;
	__syncwarp();
	x[threadIdx.x] = sh[threadIdx.x ^ 1];
	__syncwarp();
	sh[threadIdx.x ^ 2] = 2;
	__syncwarp();
	x[threadIdx.x] = sh[threadIdx.x ^ 32];
}
RT_KERNEL planted_late_write(float *x, int n)
{
	__shared__ float sh[64];

	sh[threadIdx.x] = 1;
	__syncthreads();
	x[threadIdx.x] = sh[threadIdx.x ^ 5];
	sh[threadIdx.x] = 2;
}
RT_KERNEL planted_unwritten(float *x, int n)
{
	__shared__ float sh[64];

	if (threadIdx.x)
		sh[threadIdx.x] = 1;
	__syncthreads();
	x[threadIdx.x] = sh[threadIdx.x];
}
RT_KERNEL planted_beyond(float *x, int n)
{
	x[n + (int)threadIdx.x] = 1;
}
RT_KERNEL planted_beyond_shared(float *x, int n)
{
	RT_DYNAMIC_SHARED(sh);

	sh[n + (int)threadIdx.x] = 1;
}
RT_KERNEL planted_misaligned(float *x, int n)
{
	float v[4];

	get<4>(v, x + 1);
	x[0] = v[0];
}
RT_KERNEL planted_odd_pointer(float *x, int n)
{
	*(float *)((char *)x + 2) = 1;
}
#define PLANTED(X)                                                                                                     \
	X(planted_nothing) X(planted_race) X(planted_warp_race) X(planted_late_write) X(planted_unwritten) X(planted_beyond)     \
	X(planted_beyond_shared) X(planted_misaligned) X(planted_odd_pointer)
