/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_RESIDUAL_H
#define RT_CUDA_RESIDUAL_H
#include <stdint.h>

/*
 * State of the error feedback of compression, on the device. If an update may be skipped, there are two copies of the
 * error feedback. An update that takes place makes the other copy the current one.
 */
struct rt_residual_state {
	double unit;   /* factor between gradients and update values in the update that left the error; 0: no error */
	float factor; /* factor of the error feedback in the present update */
	int32_t which; /* index of the current copy */
};
#endif
