/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CPU_H
#define RT_CPU_H
/*
 * The CPU backend has one kernel per op. A kernel divides its rows or columns among an OpenMP team. It uses one thread
 * if the work is smaller than the cost of a team.
 */
#include "runtime/backend/program.h"
#include "runtime/math/gemm.h"

struct rt_cpu_kernel {
	void (*run)(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run);
	/* Returns the scratch memory of the call in bytes for a number of threads; NULL: none. */
	size_t (*scratch)(const struct rt_call *c, int threads);
};
const char *rt_cpu_blas_warning(void);	  /* message about a harmful combination of libraries, or NULL */
const char *rt_cpu_kernels_warning(void); /* message that the BLAS uses kernels for an older CPU, or NULL */

/*
 * c (m,n) = op(a) op(b) + beta c, beta 0 or 1. a and b have type `dtype`: f32, or a reduced-precision type with sums in
 * f32. scratch: rt_widen_scratch_bytes() of the operands.
 */
void rt_gemm_any(const struct rt_cpu *cpu, enum rt_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a,
		 int64_t lda, const void *b, int64_t ldb, float beta, float *c, int64_t ldc, float *scratch);
/* Convert n f32 elements to the reduced-precision type, rounded to nearest even, and back. Run on the team. */
void rt_narrow(const struct rt_cpu *cpu, enum rt_dtype dtype, void *to, const float *from, int64_t n);
void rt_widen(const struct rt_cpu *cpu, enum rt_dtype dtype, float *to, const void *from, int64_t n);

/* Returns the address of the same tensor in another rank's window. */
static inline float *rt_cpu_at_rank(const struct rt_shard *s, char *base, const struct rt_node *n)
{
	return (float *)(void *)(base + ((const char *)n->data - s->base));
}

static inline float *rt_f32(const struct rt_node *n)
{
	return n ? n->data : NULL;
}

/* kernel of each op; NULL: no CPU kernel */
extern const struct rt_cpu_kernel *const rt_cpu_kernels[RT_N_OPS];
#define RT_CPU_BOTH(X, ID, name)  X(ID, name)
#define RT_CPU_CPU(X, ID, name)	  X(ID, name)
#define RT_CPU_CUDA(X, ID, name)
#define RT_CPU_RANKS(X, ID, name)
#define RT_CPU_EXTERN(ID, name)	  extern const struct rt_cpu_kernel rt_cpu_##name;
#define RT_CPU_DECLARE(ID, name, kernels) RT_CPU_##kernels(RT_CPU_EXTERN, ID, name)
RT_OPS(RT_CPU_DECLARE)
/*
 * Returns the speed of matrix products of that type relative to f32, by counted work. 1 if the type is for storage only.
 */
double rt_cpu_gemm_rate(enum rt_dtype dtype);
/*
 * Returns the scratch bytes of a matrix product of two reduced-precision tensors. 0 for f32, and if the CPU multiplies
 * the type.
 */
size_t rt_widen_scratch_bytes(const struct rt_node *a, const struct rt_node *b);
/* y (rows,cols) = act(x + bias) on the team. bias (cols) may be NULL. x keeps x + bias unless y is x. */
void rt_cpu_bias_act(const struct rt_cpu *cpu, float *x, float *y, const float *bias, int64_t rows, int64_t cols,
		     enum rt_act act);
/* Returns the number of rows that count in a loss, at least 1, so that a batch of padding only has loss 0. */
int64_t rt_cpu_count_targets(const int32_t *targets, int64_t rows);
/* loss = mean over `count` rows; the other rows have loss 0. */
void rt_cpu_mean_loss(float *loss, const float *losses, int64_t rows, int64_t count);
/* out (cols) = or += sums over the rows of x (rows,cols) with stride ld, on the team. */
void rt_cpu_column_sums(const struct rt_cpu *cpu, float *out, const float *x, int64_t rows, int64_t cols, int64_t ld, bool add);
#endif
