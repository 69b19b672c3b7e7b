/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CPU_H
#define RT_CPU_H
/* The CPU backend: one kernel per op. Each kernel is an OpenMP team over its rows or columns, or one thread when the work is
 * smaller than what a team costs. */
#include "runtime/math/simd.h"
#include "runtime/graph/ir.h"
#include "runtime/graph/update.h"

/* The update shared out among ranks: units of so many elements, whole blocks of 8-bit moments. */
#define RT_SHARE_RANKS	64
struct rt_share {
	int n, me; /* parts of each tensor, and which is ours */
	/* Addresses of the same tensor in other ranks, by where our window and theirs begin. */
	const char *base;
	char *peer[RT_SHARE_RANKS]; /* the others that hold a copy of the parameters */
	int n_peers;
	/* Whose gradients are to be added up, in order, and their weights; n_in 0: ours has the sum already. */
	char *in[RT_SHARE_RANKS];
	float weight[RT_SHARE_RANKS];
	int n_in;
};
/* What the calls of RT_PHASE_GRADIENT find. */
struct rt_gradients {
	double sum_squares; /* of gradients times grad_scale */
	const struct rt_node *not_finite; /* the first gradient that is not, or NULL */
};
struct rt_run {
	bool eval; /* the loss alone: no gradients */
	bool profiled;
	bool update;	  /* this batch is the last of its update */
	bool idle;	  /* no batch of the update counts, on any rank: nothing is updated */
	float loss_scale; /* losses multiply the gradients that they start with this */
	float grad_scale; /* updates multiply gradients with this: undoes the loss scale, clips */
	struct rt_gradients *gradients;
	const struct rt_optimizer *optimizer;
	const struct rt_share *share; /* of the updates; NULL: all of them is ours */
	int64_t step; /* from 1 */
	/* numbers of the update of this step; grad_scale is the one above */
	struct rt_adamw adamw;
	struct rt_sgd sgd;
	uint64_t seed;
	int64_t batch; /* from 0: what tells the random numbers of one batch from the next */
	double entered_s; /* when the step was called, before its inputs were looked at */
};
struct rt_cpu;
struct rt_cpu_kernel {
	void (*run)(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run);
	/* Bytes that the call wants while it runs, with so many threads; NULL: none. */
	size_t (*scratch)(const struct rt_call *c, int threads);
};
struct rt_cpu {
	int threads;
	const struct rt_simd *simd;
};

/* threads 0: what OpenMP would take. */
int rt_cpu_open(struct rt_cpu *cpu, int threads, struct gt_err *err);
/* Sets the calling thread's OpenMP team size, which libraries use for their own regions. Returns the settings from before, which
 * `rt_auto_omp` restores at the end of its scope. */
struct rt_omp {
	int dynamic, threads;
};
struct rt_omp rt_cpu_enter(const struct rt_cpu *cpu);
void rt_cpu_leave(const struct rt_omp *before);
#define rt_auto_omp __attribute__((cleanup(rt_cpu_leave), unused)) const struct rt_omp
/* After the first steps and rt_keep_heap(): no later step faults a page in memory that libraries allocate. */
void rt_cpu_make_room(const struct rt_cpu *cpu);
const char *rt_cpu_blas_warning(void);	  /* a harmful mixture of libraries, or NULL */
const char *rt_cpu_kernels_warning(void); /* the BLAS takes this processor for an older one; NULL: it does not */

/* Row-major c (m,n) = alpha op(a) op(b) + beta c; op(a) is (m,k). By the whole team; below 50 us of work by one thread. */
void rt_gemm(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
/* The same from inside a parallel region, by the calling thread alone. */
void rt_gemm_one(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
		 int64_t ldb, float beta, float *c, int64_t ldc);

/*
 * c (m,n) = op(a) op(b) + beta c, beta 0 or 1, where a and b are of that type: f32, or a low type whose products are summed
 * in f32. scratch: rt_low_scratch_bytes() of the operands.
 */
void rt_gemm_any(const struct rt_cpu *cpu, enum rt_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a,
		 int64_t lda, const void *b, int64_t ldb, float beta, float *c, int64_t ldc, float *scratch);
/* n elements of f32 to the low type, rounded to nearest even, and back. By the team. */
void rt_narrow(const struct rt_cpu *cpu, enum rt_dtype dtype, void *to, const float *from, int64_t n);
void rt_widen(const struct rt_cpu *cpu, enum rt_dtype dtype, float *to, const void *from, int64_t n);

/* Threads for work that moves so many bytes: 1 below 1 MiB (about 50 us). */
int rt_cpu_team(const struct rt_cpu *cpu, double bytes);
/* Part i of n of 0..count, in multiples of unit. */
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

/* By op; NULL: the CPU has no kernel for it. */
extern const struct rt_cpu_kernel *const rt_cpu_kernels[RT_N_OPS];
#define RT_CPU_BOTH(X, ID, name)  X(ID, name)
#define RT_CPU_CUDA(X, ID, name)
#define RT_CPU_RANKS(X, ID, name)
#define RT_CPU_EXTERN(ID, name)	  extern const struct rt_cpu_kernel rt_cpu_##name;
#define RT_CPU_DECLARE(ID, name, kernels) RT_CPU_##kernels(RT_CPU_EXTERN, ID, name)
RT_OPS(RT_CPU_DECLARE)
/* How many products of that type this machine makes in the time of one in f32, as counted: 1 where it is only storage. */
double rt_cpu_low_rate(enum rt_dtype dtype);
/* Bytes for a product of two tensors of a low type; 0 where the machine multiplies them itself, or for f32. */
size_t rt_low_scratch_bytes(const struct rt_node *a, const struct rt_node *b);
/* y (rows,cols) = act(x + bias (cols) or 0), by the team; x is left with the bias added if it is not y. */
void rt_cpu_bias_act(const struct rt_cpu *cpu, float *x, float *y, const float *bias, int64_t rows, int64_t cols,
		     enum rt_act act);
/* out (cols) = or += sums over the rows of x (rows,cols), by the team. */
void rt_cpu_column_sums(const struct rt_cpu *cpu, float *out, const float *x, int64_t rows, int64_t cols, int64_t ld, bool add);
#endif
