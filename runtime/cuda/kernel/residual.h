/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_RESIDUAL_H
#define RT_CUDA_RESIDUAL_H
#include <stdint.h>

/*
 * Of what compression lost, on the device. Where an update may come to nothing there are two places: one counts, and the other
 * takes its place with an update that is done.
 */
struct rt_coding_kept {
	double unit;   /* gradients of the update that lost it were so many times what it made of them; 0: nothing was lost */
	float of_lost; /* what was lost counts so many times in the update under way */
	int32_t which; /* of the places counts */
};
#endif
