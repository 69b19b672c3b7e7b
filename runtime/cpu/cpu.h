/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CPU_H
#define RT_CPU_H
/* The CPU backend: one kernel per op. A kernel runs an OpenMP team over its rows or columns, or one thread if the work
 * is smaller than the cost of a team. */
#include "runtime/math/simd.h"
#include "runtime/graph/ir.h"
#include "runtime/graph/update.h"

/* The sharded update. The sharding unit is RT_PIECE_UNIT elements: whole blocks of 8-bit moments. */
#define RT_SHARE_RANKS	64
struct rt_share {
	int n, me; /* number of parts of each tensor, and the own part */
	/* Windows of other ranks. A tensor has the same offset from the start of each window. */
	const char *base;
	char *peer[RT_SHARE_RANKS]; /* other ranks with a copy of the parameters */
	int n_peers;
	/* Windows and weights of gradients to add, in order. n_in 0: the own gradient is the sum already. */
	char *in[RT_SHARE_RANKS];
	float weight[RT_SHARE_RANKS];
	int n_in;
};
/* Results of the calls of RT_PHASE_GRADIENT. */
struct rt_gradients {
	double sum_squares; /* of the gradients times grad_scale */
	const struct rt_node *not_finite; /* first gradient that is not finite, or NULL */
};
struct rt_run {
	bool eval; /* evaluation: no gradients */
	bool profiled;
	bool update;	  /* this batch is the last of its update */
	bool idle;	  /* all batches of the update on all ranks have weight 0: no update */
	float loss_scale; /* factor of the first gradients, applied by losses */
	float grad_scale; /* factor of gradients in updates: undoes the loss scale, clips */
	struct rt_gradients *gradients;
	const struct rt_optimizer *optimizer;
	const struct rt_share *share; /* sharded update; NULL: this rank updates everything */
	int64_t step; /* from 1 */
	/* constants of this step's update; grad_scale is the field above */
	struct rt_adamw adamw;
	struct rt_sgd sgd;
	uint64_t seed;
	int64_t batch; /* from 0; selects the random numbers of the batch */
	double entered_s; /* time of the call of the step, before its inputs were checked */
};
struct rt_cpu;
struct rt_cpu_kernel {
	void (*run)(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run);
	/* Returns the scratch memory of the call in bytes for a number of threads; NULL: none. */
	size_t (*scratch)(const struct rt_call *c, int threads);
};
struct rt_cpu {
	int threads;
	const struct rt_simd *simd;
};

/* threads 0: OpenMP's default. */
int rt_cpu_open(struct rt_cpu *cpu, int threads, struct gt_err *err);
/* Sets the calling thread's OpenMP team size, which libraries use for their own regions. Returns the previous settings.
 * `rt_auto_omp` restores them at the end of its scope. */
struct rt_omp {
	int dynamic, threads;
};
struct rt_omp rt_cpu_enter(const struct rt_cpu *cpu);
void rt_cpu_leave(const struct rt_omp *before);
#define rt_auto_omp __attribute__((cleanup(rt_cpu_leave), unused)) const struct rt_omp
/* Call it after the first steps and rt_keep_heap(). Later steps then take no page fault in memory that libraries allocate. */
void rt_cpu_make_room(const struct rt_cpu *cpu);
const char *rt_cpu_blas_warning(void);	  /* message about a harmful combination of libraries, or NULL */
const char *rt_cpu_kernels_warning(void); /* message that the BLAS uses kernels for an older CPU, or NULL */

/* Row-major c (m,n) = alpha op(a) op(b) + beta c; op(a) is (m,k). Runs on the team; work below 50 us runs on one thread. */
void rt_gemm(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
/* The same inside a parallel region, in the calling thread. */
void rt_gemm_one(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
		 int64_t ldb, float beta, float *c, int64_t ldc);

/*
 * c (m,n) = op(a) op(b) + beta c, beta 0 or 1. a and b have type `dtype`: f32, or a reduced-precision type with sums in
 * f32. scratch: rt_low_scratch_bytes() of the operands.
 */
void rt_gemm_any(const struct rt_cpu *cpu, enum rt_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a,
		 int64_t lda, const void *b, int64_t ldb, float beta, float *c, int64_t ldc, float *scratch);
/* Convert n f32 elements to the reduced-precision type, rounded to nearest even, and back. Run on the team. */
void rt_narrow(const struct rt_cpu *cpu, enum rt_dtype dtype, void *to, const float *from, int64_t n);
void rt_widen(const struct rt_cpu *cpu, enum rt_dtype dtype, float *to, const void *from, int64_t n);

/* Returns the number of threads for work that moves `bytes` bytes: 1 below 1 MiB (about 50 us). */
int rt_cpu_team(const struct rt_cpu *cpu, double bytes);
/* Sets lo..hi to part i of n parts of 0..count, in multiples of unit. */
static inline void rt_part(int64_t count, int64_t unit, int n, int i, int64_t *lo, int64_t *hi)
{
	int64_t units = (count + unit - 1) / unit;

	*lo = GT_MIN(units * i / n * unit, count);
	*hi = GT_MIN(units * (i + 1) / n * unit, count);
}

static inline float *rt_f32(const struct rt_node *n)
{
	return n ? n->data : NULL;
}

/* by op; NULL: no CPU kernel */
extern const struct rt_cpu_kernel *const rt_cpu_kernels[RT_N_OPS];
#define RT_CPU_BOTH(X, ID, name)  X(ID, name)
#define RT_CPU_CUDA(X, ID, name)
#define RT_CPU_RANKS(X, ID, name)
#define RT_CPU_EXTERN(ID, name)	  extern const struct rt_cpu_kernel rt_cpu_##name;
#define RT_CPU_DECLARE(ID, name, kernels) RT_CPU_##kernels(RT_CPU_EXTERN, ID, name)
RT_OPS(RT_CPU_DECLARE)
/* Returns the speed of products of that type relative to f32, by counted work. 1 if the type is for storage only. */
double rt_cpu_low_rate(enum rt_dtype dtype);
/* Returns the scratch bytes of a product of two reduced-precision tensors. 0 for f32, or if the CPU multiplies the type. */
size_t rt_low_scratch_bytes(const struct rt_node *a, const struct rt_node *b);
/* y (rows,cols) = act(x + bias) on the team. bias (cols) may be NULL. x keeps x + bias unless y is x. */
void rt_cpu_bias_act(const struct rt_cpu *cpu, float *x, float *y, const float *bias, int64_t rows, int64_t cols,
		     enum rt_act act);
/* out (cols) = or += sums over the rows of x (rows,cols) with stride ld, on the team. */
void rt_cpu_column_sums(const struct rt_cpu *cpu, float *out, const float *x, int64_t rows, int64_t cols, int64_t ld, bool add);
#endif
