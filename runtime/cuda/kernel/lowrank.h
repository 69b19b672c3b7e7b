/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_LOWRANK_H
#define RT_CUDA_LOWRANK_H
/* What host and kernel/lowrank.cuh share: PowerSGD's tables in device memory. Pointers are device addresses. */
#include <stdint.h>

#define RT_LOWRANK_ROWS	   8	/* of a matrix per block */
#define RT_LOWRANK_FLOATS  2048 /* of a vector per block */
#define RT_LOWRANK_COLUMNS 256	/* of a matrix per block, where its rows are summed */
#define RT_LOWRANK_MOST	   64	/* rank */

struct rt_lowrank {
	uint64_t gradient, lost; /* (n,m); lost: of earlier updates, and where this one's goes what is to be sent before */
	uint64_t p, q, next;	 /* (r,n), (r,m), (r,m): a rank's factor is one piece */
	uint64_t part;		 /* (parts,r,m) */
	uint64_t kept;		 /* struct rt_coding_kept (residual.h) */
	int64_t lost_stride, q_stride; /* floats between the two places of lost and of q; 0: there is one */
	int64_t n, m;
	int32_t r, parts; /* r 0: n floats that travel as they are, in p */
};
struct rt_lowrank_tile {
	int64_t start; /* row, float or column */
	int32_t matrix, part;
};
#endif
