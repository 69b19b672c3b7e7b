/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_LOWRANK_H
#define RT_CUDA_LOWRANK_H
/* Shared by the host and kernel/lowrank.cuh: PowerSGD's tables in device memory. Pointers are device addresses. */
#include <stdint.h>

#define RT_LOWRANK_ROWS    8 /* rows of a matrix for one block */
#define RT_LOWRANK_FLOATS  2048 /* floats of a vector for one block */
#define RT_LOWRANK_COLUMNS 256 /* columns of a matrix for one block, in sums over its rows */
#define RT_LOWRANK_MOST	   64	/* largest rank */

struct rt_lowrank {
	uint64_t gradient, residual; /* (n,m); residual: error feedback; its next copy first holds M */
	uint64_t p, q, next;	 /* (r,n), (r,m), (r,m); each factor of the rank is contiguous */
	uint64_t part;		 /* (parts,r,m) */
	uint64_t state;		 /* struct rt_residual_state (residual.h) */
	int64_t residual_stride, q_stride; /* floats between the two copies of residual and of q; 0: one copy */
	int64_t n, m;
	int32_t r, parts; /* r 0: n floats, sent uncompressed, in p */
};
struct rt_lowrank_tile {
	int64_t start; /* index of the first row, float or column */
	int32_t matrix, part;
};
#endif
