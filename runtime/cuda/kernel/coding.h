/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_CODING_H
#define RT_CUDA_CODING_H
/* What host and kernel/coding.cuh share: gradients as they travel. */
#include <stdint.h>

enum { RT_CODE_FP16 = 1, RT_CODE_BF16, RT_CODE_INT8, RT_CODE_ONEBIT = 5 }; /* enum rt_compress */

struct rt_coding {
	int32_t kind, bucket;
	int64_t n, segment, segment_bytes; /* floats, floats for a rank, bytes of these coded */
	uint64_t key;			   /* changes the random numbers */
	uint64_t kept;			   /* struct rt_coding_kept on the device; where something is lost */
	int64_t stride;			   /* floats from what was lost to where what is lost now goes; 0: the same place */
};
#endif
