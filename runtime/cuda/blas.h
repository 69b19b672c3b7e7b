/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_BLAS_H
#define RT_CUDA_BLAS_H
/*
 * Matrix products by cuBLASLt. For each shape, the library's suggested algorithms are timed once on the device, before
 * the first step. The fastest is stored in this program and on disk ($XDG_CACHE_HOME/gputune or ~/.cache/gputune), by
 * device, library version and shape. A step uses the stored choices.
 */
#include "runtime/cuda/driver.h"
#include "runtime/runtime.h"

enum rt_epilogue { RT_EPI_NONE, RT_EPI_BIAS, RT_EPI_GELU, RT_EPI_RELU, RT_EPI_DGELU, RT_EPI_BGRAD };
/*
 * Row-major c (m,n) = op(a) op(b) + beta c with op(a) (m,k). a and b have type ab, c has type c, sums are f32. 8-bit
 * operands may have two types, each with its scale; they require a not transposed, b transposed, and sides that are
 * multiples of 16. BIAS: + bias (n), of c's type. GELU, RELU: applied after the bias, if any; GELU with aux: aux (m,n)
 * receives the input of gelu. DGELU: times gelu'(aux (m,n)). BGRAD: bias (m) = row sums of op(a), of c's type.
 */
struct rt_gemm {
	bool ta, tb;
	int64_t m, n, k, lda, ldb, ldc;
	int64_t batch; /* number of products; the matrices of an operand are contiguous; 0: one product. No epilogue then. */
	enum rt_dtype ab, c;
	enum rt_dtype b; /* type of b if it differs from a's; else 0 */
	bool fast;	 /* 8 bits: less exact sums are allowed */
	bool tf32;	 /* f32 operands rounded to TF32 */
	int beta;	 /* factor of the old result: 0 or 1 */
	enum rt_epilogue epilogue;
	bool bias, aux;	 /* present */
};
struct rt_gemm_args {
	cu_ptr a, b, c, bias, aux;
	cu_ptr a_scale, b_scale; /* addresses of the scale factors (floats) of a and b, or 0 */
};

struct rt_blas;
#define RT_BLAS_WORKSPACE	(64u << 20) /* bytes */
/* -ENOENT: no library. -ENOSYS: the library requires a newer driver. workspace: RT_BLAS_WORKSPACE bytes. */
int rt_blas_open(struct rt_cuda *dev, struct rt_blas **ret, struct gt_err *err);
void rt_blas_set_workspace(struct rt_blas *b, cu_ptr workspace);
void rt_blas_close(struct rt_blas *b);
size_t rt_blas_version(const struct rt_blas *b); /* 130000 */

/*
 * Enqueues the product. The first call with a shape chooses the algorithm. With `tune` it is chosen by timing with
 * these arguments: the outputs are overwritten, and the stream must be idle. Otherwise it is the library's first
 * suggestion. -ENOTSUP: the library cannot do this epilogue together with the product; call it without.
 */
int rt_blas_gemm(struct rt_blas *b, const struct rt_gemm *g, const struct rt_gemm_args *args, cu_stream stream, bool tune,
		 struct gt_err *err);
/* Returns whether the last product's algorithm was chosen by timing now, and not loaded from disk. */
bool rt_blas_newly_timed(const struct rt_blas *b);
/* Records that the product with this epilogue is slower than without. rt_blas_gemm() then returns -ENOTSUP, also in
 * later programs that choose by timing. */
void rt_blas_give_up(struct rt_blas *b, const struct rt_gemm *g, const struct rt_gemm_args *args);
/* Return the number of shapes chosen by timing now, loaded from disk, and left to the library. */
void rt_blas_counts(const struct rt_blas *b, int *ret_timed, int *ret_cached, int *ret_guessed);
#endif
