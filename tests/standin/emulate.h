/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EMULATE_H
#define EMULATE_H
/*
 * CUDA's view of a kernel as plain C++: each thread of a block is a fiber, and blocks run one after the other. Barriers
 * and shuffles switch to the next thread. A barrier that not every thread reaches is reported instead of hanging. Shared
 * memory starts poisoned. Threads run in ascending order in one block and in descending order in the next, so that code
 * that depends on the order fails.
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
#define __launch_bounds__(...)

struct emu_dim {
	unsigned x, y, z;
};
extern emu_dim threadIdx, blockIdx, blockDim, gridDim;
extern char *emu_shared;
#define RT_DYNAMIC_SHARED(name)	float *name = reinterpret_cast<float *>(emu_shared)

void emu_block_barrier(void);
/* Returns the values of the lanes of this warp, valid until this lane's next call but one. */
struct emu_words {
	uint64_t w[3];
};
const emu_words *emu_share(unsigned mask, const emu_words &mine);

/* Checks accesses, with EMU_CHECKED (checked.cc); otherwise get and put check only 16-byte accesses. */
#define EMU_SHARED_MAX (227u << 10)
struct emu_state {
	const char *kernel;
	unsigned thread, epoch, warp_epoch; /* barriers of the block and of the warp so far */
	uintptr_t stack, stack_end;
};
void emu_look(emu_state *ret); /* the running thread */
void emu_block_begins(const char *kernel, size_t shared);
#ifdef EMU_CHECKED
void emu_watch(bool on);
void emu_touch(const void *p, size_t n, bool write);
#else
static inline void emu_watch(bool)
{
}
static inline void emu_touch(const void *, size_t, bool)
{
}
#endif
void emu_misaligned(const void *p, size_t n);
#define RT_ALIASING(n) __attribute__((may_alias, aligned(n))) /* a type of that size, which may overlap elements of any type */
#define RT_ALIGNED(p, n) ((uintptr_t)(p) % (n) ? emu_misaligned(p, n) : (void)0)

static inline void __syncthreads(void)
{
	emu_block_barrier();
}

static inline float __shfl_xor_sync(unsigned mask, float x, int o)
{
	unsigned lane = (threadIdx.x + blockDim.x * threadIdx.y) % 32;
	emu_words mine = {};

	emu_watch(false);
	memcpy(mine.w, &x, sizeof(x));
	memcpy(&x, emu_share(mask, mine)[lane ^ (unsigned)o].w, sizeof(x));
	emu_watch(true);
	return x;
}

static inline void __syncwarp(void)
{
	emu_watch(false);
	emu_share(0xffffffffu, {});
	emu_watch(true);
}

static inline int atomicAdd(int *p, int v)
{
	int old;

	emu_watch(false);
	old = *p;
	*p += v;
	emu_watch(true);
	return old;
}

static inline int atomicMax(int *p, int v)
{
	int old;

	emu_watch(false);
	old = *p;
	*p = old < v ? v : old;
	emu_watch(true);
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

static inline float __fmul_rn(float a, float b)
{
	return a * b;
}

static inline float __fmaf_rn(float a, float b, float c)
{
	return std::fma(a, b, c);
}

static inline float __fadd_rn(float a, float b)
{
	return a + b;
}

/* IEEE half precision by its definition: nearest, ties to even. */
static inline uint16_t half_bits(float f)
{
	uint32_t u, a, sign;

	memcpy(&u, &f, sizeof(u));
	a = u & 0x7fffffff;
	sign = u >> 16 & 0x8000;
	if (a > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (a >= 0x477ff000) /* 65520 and more */
		return (uint16_t)(sign | 0x7c00);
	if (a < 0x38800000) { /* below 2^-14: multiples of 2^-24 */
		float scaled;

		memcpy(&scaled, &a, sizeof(scaled));
		return (uint16_t)(sign | (uint32_t)nearbyintf(scaled * 0x1p24f));
	}
	return (uint16_t)(sign | (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13);
}

static inline float half_value(uint16_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 1023, u;
	float f = (float)m * 0x1p-24f;

	if (e) {
		u = (e == 31 ? 0xffu : e + 112) << 23 | m << 13;
		memcpy(&f, &u, sizeof(f));
	}
	return h >> 15 ? -f : f;
}

struct __half {
	uint16_t bits;
};

static inline float __half2float(__half x)
{
	return half_value(x.bits);
}

static inline __half __float2half_rn(float f)
{
	return { half_bits(f) };
}

/* ---- runtime/cuda/kernel/tensor.cuh, by the definition of the instructions ---- */
template <class T> void tensor_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
void tensor_load(uint32_t (&r)[4], const void *row);
void tensor_load_turned(uint32_t (&r)[4], const void *row);
/* An asynchronous copy is executed when it is waited for, not earlier. */
void copy_start(void *shared, const void *global, bool there);
void copy_commit(void);
void emu_copy_wait(size_t late);
template <int LATE> static inline void copy_wait(void)
{
	emu_copy_wait(LATE);
}
static inline float exp2_fast(float x)
{
	return exp2f(x);
}

#endif
