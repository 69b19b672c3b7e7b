/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_BLAS_H
#define RT_CUDA_BLAS_H
/*
 * Matrix products by cuBLASLt. For each shape the library's best guesses are timed once, on the card, before the first step;
 * the fastest is kept, in this program and on disk ($XDG_CACHE_HOME/gputune or ~/.cache/gputune), by card, library version
 * and shape. A step replays choices.
 */
#include "runtime/cuda/driver.h"
#include "runtime/runtime.h"

enum rt_epilogue { RT_EPI_NONE, RT_EPI_BIAS, RT_EPI_GELU, RT_EPI_RELU, RT_EPI_DGELU, RT_EPI_BGRAD };
/*
 * Row-major c (m,n) = op(a) op(b) + beta c with op(a) (m,k); a and b of type ab, c of type c, sums in f32. 8-bit types may be
 * two, each with its scale; they want a as it is, b turned, and sides that are multiples of 16.
 * BIAS: + bias (n), of c's type. GELU, RELU: of that, bias or not; GELU with aux: aux (m,n) gets the value before.
 * DGELU: times gelu'(aux (m,n)). BGRAD: bias (m) = row sums of op(a), of c's type.
 */
struct rt_gemm {
	bool ta, tb;
	int64_t m, n, k, lda, ldb, ldc;
	int64_t batch; /* so many of them, each operand's one behind the other without gaps; 0: one. No epilogue then. */
	enum rt_dtype ab, c;
	enum rt_dtype b; /* of b, where it differs from a's; else 0 */
	bool fast;	 /* 8 bits: sums may be less exact */
	bool tf32;	 /* f32 operands rounded to TF32 */
	int beta;	 /* 0 or 1 */
	enum rt_epilogue epilogue;
	bool bias, aux;	 /* are given */
};
struct rt_gemm_args {
	cu_ptr a, b, c, bias, aux;
	cu_ptr a_scale, b_scale; /* floats that a and b are multiplied by, or 0 */
};

struct rt_blas;
#define RT_BLAS_WORKSPACE	(64u << 20) /* bytes */
/* -ENOENT, -ENOSYS (a library for a newer driver than this one) with the sentence. workspace: RT_BLAS_WORKSPACE bytes. */
int rt_blas_open(struct rt_cuda *dev, struct rt_blas **ret, struct gt_err *err);
void rt_blas_set_workspace(struct rt_blas *b, cu_ptr workspace);
void rt_blas_close(struct rt_blas *b);
size_t rt_blas_version(const struct rt_blas *b); /* 130000 */

/*
 * Enqueue the product. The first call with a shape chooses how: `tune`: by timing, with these very arguments (what they hold
 * is overwritten; the stream is idle meanwhile); else by the library's first guess. -ENOTSUP: the library has no way
 * to do that epilogue in one go: do without.
 */
int rt_blas_gemm(struct rt_blas *b, const struct rt_gemm *g, const struct rt_gemm_args *args, cu_stream stream, bool tune,
		 struct gt_err *err);
/* Did the last product choose its way by timing, now and not from disk? */
bool rt_blas_newly_timed(const struct rt_blas *b);
/* The way that timing chose is slower than doing without the epilogue: rt_blas_gemm says -ENOTSUP from now on, and in later
 * programs that look for the fastest. */
void rt_blas_give_up(struct rt_blas *b, const struct rt_gemm *g, const struct rt_gemm_args *args);
/* Shapes chosen by timing now, taken from disk, and left to the library. */
void rt_blas_counts(const struct rt_blas *b, int *ret_timed, int *ret_cached, int *ret_guessed);
#endif
