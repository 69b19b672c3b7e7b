/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_UPDATE_H
#define RT_CUDA_UPDATE_H
/* What host and kernel/update.cuh share: the optimizer's tables in device memory. Pointers are device addresses. */
#include <stdint.h>
#include "runtime/math/map8.h"

#define RT_UPDATE_CHUNK	16384 /* elements of one tensor per block, a multiple of 4 */

enum { RT_UPDATE_F32, RT_UPDATE_BF16, RT_UPDATE_F16 };

struct rt_update_tensor {
	uint64_t param, state0, state1, gradient; /* adamw: m, v; sgd: momentum or 0, 0 */
	uint64_t scale0, scale1;		  /* adamw8: of each RT_MAP8_BLOCK codes in state0 and state1; or 0, 0 */
	uint64_t copy;				  /* bf16 or f16 copy that the products read, or 0 */
	int64_t n;
	int32_t gradient_type;		  /* RT_UPDATE_F32, _BF16 or _F16 */
	int32_t narrow_param;		  /* so is the parameter, without an f32 value elsewhere: updates round at random */
	int32_t half_copy, pad;		  /* the copy is f16 */
	uint64_t stream;		  /* of its random numbers */
};
struct rt_update_chunk {
	int64_t start;
	int32_t tensor, pad;
};
/* runtime/math/map8.h as the kernels read it, the unsigned map first. A cell has the code that it begins with above bit 16, and
 * below the lower half of the one border in it, 0xffff without. */
struct rt_update_maps {
	float value[2][256];
	uint32_t cell[2][RT_MAP8_CELLS];
};
/* Of the loss scaler. */
struct rt_scaler_state {
	float scale;
	int32_t skipped; /* updates in a row that were */
	int64_t tracker; /* and that were not, since the scale changed */
	int64_t step;	 /* updates that were done */
	int64_t total_skipped;
	int32_t overflow; /* a loss of the update under way was not finite */
	float norm;	  /* of the newest update's gradients */
};
struct rt_update_step {
	uint32_t seed[2], step; /* of the random rounding */
	uint32_t draws[2];	/* the seed of what is drawn in a step: differs between ranks */
	uint32_t accum, batch;	/* batches of an update; which of them this is */
	float loss_scale; /* losses multiply the gradients that they start with by this, */
	float grad_scale; /* and updates by that */
	float clip;	  /* global norm that gradients are clipped to; 0: not */
	float lr, momentum, weight_decay, first;	   /* sgd */
	float decay, beta1, beta2, rest1, rest2, step_size, scale2, eps, l2; /* adam, adamw */
};
#endif
