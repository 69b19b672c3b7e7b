/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011). */
#include <math.h>
#include "runtime/runtime.h"

static void philox(uint64_t seed, uint64_t stream, uint64_t index, uint32_t c[4])
{
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

	c[0] = (uint32_t)index;
	c[1] = (uint32_t)(index >> 32);
	c[2] = (uint32_t)stream;
	c[3] = (uint32_t)(stream >> 32);
	for (int round = 0; round < 10; round++) {
		uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
		uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(a >> 32) ^ c[3] ^ k1;

		c[1] = (uint32_t)b;
		c[3] = (uint32_t)a;
		c[0] = n0;
		c[2] = n2;
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
}

uint64_t rt_random_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint32_t c[4];

	philox(seed, stream, index, c);
	return (uint64_t)c[1] << 32 | c[0];
}

float rt_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
	return (float)(rt_random_u64(seed, stream, index) >> 40) * 0x1p-24f;
}

/* The Box-Muller transform; u1 is never 0. */
float rt_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint32_t c[4];
	float u1, u2;

	philox(seed, stream, index, c);
	u1 = ((float)(c[0] >> 8) + 1) * 0x1p-24f;
	u2 = (float)(c[1] >> 8) * 0x1p-24f;
	return sqrtf(-2 * logf(u1)) * cosf((float)(2 * M_PI) * u2);
}
