/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_UPDATE_H
#define RT_CUDA_UPDATE_H
/* What host and kernel/update.cuh share: the optimizer's tables in device memory. Pointers are device addresses. */
#include <stdint.h>

#define RT_UPDATE_CHUNK	16384 /* elements of one tensor per block, a multiple of 4 */

struct rt_update_tensor {
	uint64_t param, state0, state1, gradient; /* adamw: m, v; sgd: momentum or 0, 0 */
	uint64_t copy;				  /* bf16 copy that the products read, or 0 */
	int64_t n;
	int32_t narrow_gradient;	  /* the gradient is bf16 */
	int32_t narrow_param;		  /* so is the parameter, without an f32 value elsewhere: updates round at random */
	uint64_t stream;		  /* of its random numbers */
};
struct rt_update_chunk {
	int64_t start;
	int32_t tensor, pad;
};
struct rt_update_step {
	uint32_t seed[2], step; /* of the random rounding */
	float loss_scale; /* losses multiply the gradients that they start with by this, */
	float grad_scale; /* and updates by that */
	float clip;	  /* global norm that gradients are clipped to; 0: not */
	float lr, momentum, weight_decay, first;	   /* sgd */
	float decay, beta1, beta2, rest1, rest2, step_size, scale2, eps, l2; /* adam, adamw */
};
#endif
