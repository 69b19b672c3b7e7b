/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EMULATE_H
#define EMULATE_H
/*
 * CUDA's view of a kernel as plain C++: each thread of a block is a fiber, blocks run one after the other. Barriers and
 * shuffles hand over to the next thread; a barrier that not every thread reaches is reported instead of hanging, and shared
 * memory starts poisoned. Threads run in ascending order in one block and in descending order in the next, so that what only
 * works in one order fails.
 */
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include "standin.h"

#define __global__
#define __device__
#define __shared__	static
#define __forceinline__ inline

struct emu_dim {
	unsigned x, y, z;
};
extern emu_dim threadIdx, blockIdx, blockDim, gridDim;
extern char *emu_shared;
#define RT_DYNAMIC_SHARED(name)	float *name = reinterpret_cast<float *>(emu_shared)

void emu_block_barrier(void);
uint64_t emu_exchange(unsigned mask, uint64_t mine, int lane_xor);

static inline void __syncthreads(void)
{
	emu_block_barrier();
}

static inline float __shfl_xor_sync(unsigned mask, float x, int o)
{
	uint64_t bits = 0;

	memcpy(&bits, &x, sizeof(x));
	bits = emu_exchange(mask, bits, o);
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline int atomicAdd(int *p, int v)
{
	int old = *p;

	*p += v;
	return old;
}

struct __nv_bfloat16 {
	uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
	uint32_t u = (uint32_t)x.bits << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline __nv_bfloat16 __float2bfloat16(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	if (f != f)
		return { 0x7fff };
	return { (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16) };
}

using std::isfinite;

#endif
