/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_UPDATE_H
#define RT_CUDA_UPDATE_H
/* Shared by the host and kernel/update.cuh: the optimizer's tables in device memory. Pointers are device addresses. */
#include <stdint.h>
#include "runtime/math/map8.h"

#define RT_UPDATE_CHUNK	16384 /* elements of one tensor per block, a multiple of 4 */

enum { RT_UPDATE_F32, RT_UPDATE_BF16, RT_UPDATE_F16 };

struct rt_update_tensor {
	uint64_t param, state0, state1, gradient; /* adamw: m, v; sgd: momentum or 0, 0 */
	uint64_t scale0, scale1;		  /* adamw8: scales of each RT_MAP8_BLOCK codes in state0 and state1; or 0, 0 */
	uint64_t copy;				  /* bf16 or f16 copy for products, or 0 */
	int64_t n;
	int32_t gradient_type;		  /* RT_UPDATE_F32, _BF16 or _F16 */
	int32_t narrow_param;		  /* the parameter has that type too, without an f32 value: stochastic rounding */
	int32_t half_copy;		  /* the copy is f16 */
	float norm_share;		  /* factor of its squares in the norm: 1 / ranks that each count the same tensor */
	uint64_t stream;		  /* selects its random numbers */
};
struct rt_update_chunk {
	int64_t start;
	int32_t tensor, pad;
};
/* Device copy of the tables of runtime/math/map8.h, the unsigned map first. A cell has its first code in the bits from
 * 16 on. Below are the lower 16 bits of the border in the cell, or 0xffff without a border. */
struct rt_update_maps {
	float value[2][256];
	uint32_t cell[2][RT_MAP8_CELLS];
};
/* State of the loss scaler. */
struct rt_scaler_state {
	float scale;
	int32_t skipped; /* consecutive skipped updates */
	int64_t tracker; /* consecutive updates since the last change of the scale */
	int64_t step;	 /* updates that took place */
	int64_t total_skipped;
	int32_t overflow; /* a loss of the present update was not finite */
	float norm;	  /* gradient norm of the last update */
};
struct rt_update_step {
	uint32_t seed[2], step; /* keys of the stochastic rounding */
	uint32_t draws[2];	/* seed of the random numbers of a step; differs between ranks */
	uint32_t accum, batch;	/* batches of an update; index of the present one */
	float loss_scale; /* factor of the first gradients of a loss */
	float grad_scale; /* factor of gradients in updates */
	float clip;	  /* limit of the global norm of the gradients; 0: none */
	float lr, momentum, weight_decay, first;	   /* sgd */
	float decay, beta1, beta2, rest1, rest2, step_size, scale2, eps, l2; /* adam, adamw */
};
#endif
