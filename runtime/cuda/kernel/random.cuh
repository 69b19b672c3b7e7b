/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_KERNEL_RANDOM_CUH
#define RT_KERNEL_RANDOM_CUH
/* Random numbers as a function of key and counter only, the same as on the CPU. */
#include "common.cuh"
#include "runtime/math/mix.h"

/* Philox 4x32-10, as runtime/math/random.c. */
RT_DEVICE void philox(uint32_t (&c)[4], uint32_t k0, uint32_t k1)
{
#pragma unroll
	for (int round = 0; round < 10; round++) {
		uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];

		c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
		c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
		c[1] = (uint32_t)b;
		c[3] = (uint32_t)a;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
}

RT_DEVICE uint32_t mix(uint32_t x)
{
	RT_MIX(x);
	return x;
}
#endif
