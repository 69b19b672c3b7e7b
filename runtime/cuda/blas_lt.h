/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_BLAS_LT_H
#define RT_CUDA_BLAS_LT_H
/* The used part of cublasLt.h and library_types.h. Names and values are NVIDIA's. */
#include <stddef.h>
#include <stdint.h>

enum {
	LT_OK = 0,
	LT_INVALID_VALUE = 7,
	LT_NOT_SUPPORTED = 15,
	R_32F = 0,
	R_16F = 2,
	R_16BF = 14,
	R_8F_E4M3 = 28,
	R_8F_E5M2 = 29,
	COMPUTE_32F = 68,
	COMPUTE_32F_FAST_TF32 = 77,
	DESC_TRANSA = 3,
	DESC_TRANSB = 4,
	DESC_EPILOGUE = 7,
	DESC_BIAS_POINTER = 8,
	DESC_AUX_POINTER = 11,
	DESC_AUX_LD = 12,
	DESC_A_SCALE_POINTER = 17,
	DESC_B_SCALE_POINTER = 18,
	DESC_FAST_ACCUM = 25,
	LAYOUT_BATCH_COUNT = 5,
	LAYOUT_BATCH_STRIDE = 6,
	PREF_WORKSPACE = 1,
	PREF_ALIGN_A = 5, /* the attributes of B, C and D follow */
	OP_N = 0,
	OP_T = 1,
	EPI_DEFAULT = 1,
	EPI_RELU = 2,
	EPI_BIAS = 4,
	EPI_GELU = 32,
	EPI_DGELU = 64 | 128,
	EPI_AUX = 128,
	EPI_BGRADB = 512,
};
struct heuristic {
	uint64_t algo[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

struct lt {
	int (*create)(void **);
	int (*destroy)(void *);
	size_t (*version)(void);
	size_t (*cudart_version)(void);
	int (*desc_create)(void **, int, int);
	int (*desc_destroy)(void *);
	int (*desc_set)(void *, int, const void *, size_t);
	int (*layout_create)(void **, int, uint64_t, uint64_t, int64_t);
	int (*layout_destroy)(void *);
	int (*layout_set)(void *, int, const void *, size_t);
	int (*pref_create)(void **);
	int (*pref_destroy)(void *);
	int (*pref_set)(void *, int, const void *, size_t);
	int (*heuristic)(void *, void *, void *, void *, void *, void *, void *, int, struct heuristic *, int *);
	int (*matmul)(void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *,
		      void *, void *, void *, const void *, void *, size_t, void *);
	const char *(*status_name)(int);
};
#endif
