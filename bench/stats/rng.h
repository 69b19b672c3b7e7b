/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RNG_H
#define BN_RNG_H
/* Seeded random numbers (xoshiro256**). The same seed gives the same schedule and the same resamples on every host. */
#include <stdint.h>

struct bn_rng {
	uint64_t s[4];
};
void bn_rng_seed(struct bn_rng *r, uint64_t seed);
uint64_t bn_rng_u64(struct bn_rng *r);
double bn_rng_uniform(struct bn_rng *r);	      /* [0, 1) */
double bn_rng_normal(struct bn_rng *r);		      /* mean 0, standard deviation 1 */
uint64_t bn_rng_below(struct bn_rng *r, uint64_t n); /* 0 … n-1 without modulo bias; n > 0 */
#endif
