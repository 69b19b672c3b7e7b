/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_ROWS_H
#define RT_CUDA_ROWS_H
/* What host and kernel/softmax.cuh share. */
#define RT_WARP_ROW	2048 /* most elements of a row that one warp works on */
#endif
