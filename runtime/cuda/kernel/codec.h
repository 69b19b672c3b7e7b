/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_CODEC_H
#define RT_CUDA_CODEC_H
/* Compression of gradients: structs shared by the host and kernel/codec.cuh. */
#include <stdint.h>

enum { RT_CODE_FP16 = 1, RT_CODE_BF16, RT_CODE_INT8, RT_CODE_ONEBIT = 5 }; /* enum rt_compress */

struct rt_compress_bucket {
	int32_t kind, bucket;
	int64_t n, segment, segment_bytes; /* floats in all, floats per rank, bytes per rank after compression */
	uint64_t key;			   /* selects the random numbers */
	uint64_t state;			   /* address of a struct rt_residual_state, with error feedback */
	int64_t stride;			   /* floats between the two copies of the error feedback; 0: one copy */
};
#endif
