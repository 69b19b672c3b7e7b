/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_KERNEL_COMMON_CUH
#define RT_KERNEL_COMMON_CUH
/*
 * Shared by all kernels: types, 16-byte accesses, reductions. A tensor's elements are float, bf16 or f16 (IEEE half);
 * arithmetic is float. The tests compile the same sources as C++ (tests/standin/emulate.h) and run them thread by
 * thread.
 */
#ifdef RT_EMULATE
#include "emulate.h"
#else
#define RT_ALIGNED(p, n) ((void)0)
#define RT_ALIASING(n)	 alignas(n)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
extern __shared__ __align__(16) float rt_dynamic_shared[];
#define RT_DYNAMIC_SHARED(name)	float *name = rt_dynamic_shared
#endif

#define RT_KERNEL extern "C" __global__ void
/* For blocks of 1024 threads: the compiler must limit each thread to 64 registers. */
#define RT_KERNEL_1024 RT_KERNEL __launch_bounds__(1024)
#define RT_DEVICE static RT_MEMBER
#define RT_MEMBER __device__ __forceinline__
#define FULL	  0xffffffffu

typedef __nv_bfloat16 bf16;
typedef __half f16;

RT_DEVICE float as_float(float x)
{
	return x;
}

RT_DEVICE float as_float(bf16 x)
{
	return __bfloat162float(x);
}

RT_DEVICE float as_float(f16 x)
{
	return __half2float(x);
}

RT_DEVICE void assign(float &out, float x)
{
	out = x;
}

/* Rounds to nearest, ties to even; NaN stays NaN. */
RT_DEVICE void assign(bf16 &out, float x)
{
	out = __float2bfloat16(x);
}

/* The same; 65520 and above become infinite. */
RT_DEVICE void assign(f16 &out, float x)
{
	out = __float2half_rn(x);
}

#ifndef RT_EMULATE
/* IEEE half precision, nearest, ties to even */
RT_DEVICE uint16_t half_bits(float x)
{
	return __half_as_ushort(__float2half_rn(x));
}

RT_DEVICE float half_value(uint16_t x)
{
	return __half2float(__ushort_as_half(x));
}
#endif

/* N elements in one access. The address must be a multiple of their size. */
template <class T, int N> struct alignas(N * sizeof(T)) pack {
	T v[N];
};
template <class T> struct wide {
	static constexpr int n = 16 / sizeof(T);
};

/*
 * Defines the kernels rt_NAME_f32, rt_NAME_bf16 and rt_NAME_f16 with these parameters. All have the same statement, in
 * which T is the type.
 */
namespace of_f32
{
typedef float T;
}
namespace of_bf16
{
typedef bf16 T;
}
namespace of_f16
{
typedef f16 T;
}
#define RT_OF_TYPE(kernel, type, name, params, ...) \
	namespace of_##type                         \
	{                                           \
	kernel rt_##name##_##type params            \
	{                                           \
		__VA_ARGS__;                        \
	}                                           \
	}
#define RT_OF_TYPES(kernel, name, params, ...)              \
	RT_OF_TYPE(kernel, f32, name, params, __VA_ARGS__)  \
	RT_OF_TYPE(kernel, bf16, name, params, __VA_ARGS__) \
	RT_OF_TYPE(kernel, f16, name, params, __VA_ARGS__)
#define RT_TYPED(name, params, ...)	 RT_OF_TYPES(RT_KERNEL, name, params, __VA_ARGS__)
#define RT_TYPED_1024(name, params, ...) RT_OF_TYPES(RT_KERNEL_1024, name, params, __VA_ARGS__)
/* Calls fn<T, elements in 16 bytes> if `whole`, that is, if rows are multiples of 16 bytes; otherwise fn<T, 1>. */
#define RT_WIDE(whole, fn, args)                \
	do {                                    \
		if (whole)                      \
			fn<T, wide<T>::n> args; \
		else                            \
			fn<T, 1> args;          \
	} while (0)

template <int N, class T> RT_DEVICE void get(float *out, const T *p)
{
	RT_ALIGNED(p, N * sizeof(T));
	pack<T, N> t = *reinterpret_cast<const pack<T, N> *>(p);

#pragma unroll
	for (int i = 0; i < N; i++)
		out[i] = as_float(t.v[i]);
}

template <int N, class T> RT_DEVICE void put(T *p, const float *in)
{
	pack<T, N> t;

#pragma unroll
	for (int i = 0; i < N; i++)
		assign(t.v[i], in[i]);
	RT_ALIGNED(p, N * sizeof(T));
	*reinterpret_cast<pack<T, N> *>(p) = t;
}

/* N elements of a thread, packed into 32-bit words. Separate 2-byte elements would take one register each. */
template <int BYTES> struct RT_ALIASING(BYTES) words {
	uint32_t w[BYTES / 4];
};
template <> struct RT_ALIASING(2) words<2> {
	uint16_t w[1];
};
template <class T, int N> struct held {
	words<N * sizeof(T)> bits;
};

template <int N, class T> RT_DEVICE held<T, N> hold(const T *p)
{
	RT_ALIGNED(p, N * sizeof(T));
	return { *reinterpret_cast<const words<N * sizeof(T)> *>(p) };
}

template <int N, class T> RT_DEVICE void put_held(T *p, const held<T, N> &h)
{
	RT_ALIGNED(p, N * sizeof(T));
	*reinterpret_cast<words<N * sizeof(T)> *>(p) = h.bits;
}

template <int N, class T> RT_DEVICE void floats(float *out, const held<T, N> &h)
{
	pack<T, N> t;

	memcpy(&t, &h, sizeof t);
#pragma unroll
	for (int i = 0; i < N; i++)
		out[i] = as_float(t.v[i]);
}

template <int N, class T> RT_DEVICE held<T, N> rounded(const float *in)
{
	pack<T, N> t;
	held<T, N> h;

#pragma unroll
	for (int i = 0; i < N; i++)
		assign(t.v[i], in[i]);
	memcpy(&h, &t, sizeof h);
	return h;
}

/* Loads N floats with 16-byte accesses, such as parameters for 2-byte elements. N is 1, 4 or 8. */
template <int N> RT_DEVICE void get_floats(float *out, const float *p)
{
	constexpr int each = N < 4 ? 1 : 4;

#pragma unroll
	for (int i = 0; i < N; i += each)
		get<each>(out + i, p + i);
}

/* W floats at p = or += v, with 16-byte accesses. W is 1, 4 or 8. */
template <int W> RT_DEVICE void put_sums(float *p, const float *v, bool add)
{
	constexpr int each = W < 4 ? 1 : 4;

#pragma unroll
	for (int i = 0; i < W; i += each) {
		float sum[each] = {};

		if (add)
			get<each>(sum, p + i);
		for (int k = 0; k < each; k++)
			sum[k] = v[i + k] + sum[k];
		put<each>(p + i, sum);
	}
}

RT_DEVICE float warp_sum(float x)
{
#pragma unroll
	for (int o = 16; o; o >>= 1)
		x += __shfl_xor_sync(FULL, x, o);
	return x;
}

RT_DEVICE float warp_max(float x)
{
#pragma unroll
	for (int o = 16; o; o >>= 1)
		x = fmaxf(x, __shfl_xor_sync(FULL, x, o));
	return x;
}

/* Returns the sum over the block, with the same bits in every thread. sh has 32 floats; the block consists of whole
 * warps. */
RT_DEVICE float block_sum(float x, float *sh)
{
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;

	x = warp_sum(x);
	__syncthreads();
	if (!lane)
		sh[warp] = x;
	__syncthreads();
	return warp_sum(lane < warps ? sh[lane] : 0);
}

RT_DEVICE float block_max(float x, float *sh)
{
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;

	x = warp_max(x);
	__syncthreads();
	if (!lane)
		sh[warp] = x;
	__syncthreads();
	return warp_max(lane < warps ? sh[lane] : -INFINITY);
}

RT_DEVICE int64_t global_thread(void)
{
	return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

RT_DEVICE int64_t global_threads(void)
{
	return (int64_t)gridDim.x * blockDim.x;
}

/* exp(x) for x <= 0, in two instructions. The error is 2 ulp plus the rounding of x log2(e). Results below 2^-126 are 0. */
RT_DEVICE float exp_fast(float x)
{
	float y = x * 1.442695041f;

#ifdef RT_EMULATE
	return exp2f(y);
#else
	asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(y));
	return y;
#endif
}

/* Adds v to the running sum of exp(x - top) and to top, the running maximum. -inf adds nothing, even as the first
 * value; NaN stays NaN. */
template <int W> RT_DEVICE void exp_sum_add(const float *v, float &top, float &sum)
{
	float high = top, from;

	for (int k = 0; k < W; k++)
		high = fmaxf(high, v[k]);
	from = high == -INFINITY ? 0 : high; /* -inf minus -inf is NaN */
	sum *= exp_fast(top - from);
	for (int k = 0; k < W; k++)
		sum += exp_fast(v[k] - from);
	top = high;
}
#endif
