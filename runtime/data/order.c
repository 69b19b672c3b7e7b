/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order without a table: a keyed permutation (a Feistel network) of the 2^b numbers that include 0 … n-1, repeated
 * until the result is below n. Any position of any epoch is computed directly. Therefore workers share no state, and a
 * run can start at any position.
 */
#include "runtime/data/loader.h"

#define ROUNDS	6

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t rt_order(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t p)
{
	uint64_t key = mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ mix(~epoch), mask;
	unsigned half = 1;

	if (n < 2)
		return 0;
	while (half < 32 && (n - 1) >> (2 * half))
		half++;
	mask = (UINT64_C(1) << half) - 1;
	do {
		uint64_t left = p >> half, right = p & mask;

		for (uint64_t round = 0; round < ROUNDS; round++) {
			uint64_t t = left ^ (mix(key + round * UINT64_C(0xd1342543de82ef95) + right) & mask);

			left = right;
			right = t;
		}
		p = left << half | right;
	} while (p >= n);
	return p;
}
