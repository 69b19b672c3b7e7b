/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_ROWS_H
#define RT_CUDA_ROWS_H
/* Shared by the host and kernel/softmax.cuh. */
#define RT_WARP_ROW	2048 /* longest row of one warp, in elements */
#endif
