/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/stats/rng.h"

static uint64_t splitmix(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void bn_rng_seed(struct bn_rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix(&seed);
}

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t bn_rng_u64(struct bn_rng *r)
{
	uint64_t *s = r->s, ret = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return ret;
}

double bn_rng_uniform(struct bn_rng *r)
{
	return (double)(bn_rng_u64(r) >> 11) * 0x1p-53;
}

double bn_rng_normal(struct bn_rng *r)
{
	double u = 1.0 - bn_rng_uniform(r), v = bn_rng_uniform(r);

	return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

uint64_t bn_rng_below(struct bn_rng *r, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;

	do
		x = bn_rng_u64(r);
	while (x >= limit);
	return x % n;
}
