/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory bandwidth of the triad a = b + s*c over arrays of four times the last-level caches. One series uses the thread
 * placement of the environment and first touch; OpenMP and NUMA settings affect it. One series per NUMA node has
 * threads and memory bound to it and shows the hardware's limit. Stores bypass the caches if the processor supports it,
 * so 24 bytes per element are the real traffic.
 */
#include <errno.h>
#include <numa.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "bench/workload/node.h"
#include "bench/workload/workloads.h"
#include "probe/host/host.h"

#define REPS	   14
#define WARMUP	   2
#define SCALAR	   3.0
#define MIN_BYTES  (64u << 20) /* minimum size of an array */

struct triad {
	double *a, *b, *c;
	size_t n; /* elements of each array, a multiple of 512 per thread, at most 2^40 */
};

/* Computes a = b + s*c for the element range of the calling thread. */
static void triad_range(double *restrict a, const double *restrict b, const double *restrict c, size_t lo, size_t hi)
{
	size_t i = lo;

#ifdef __SSE2__
	const __m128d s = _mm_set1_pd(SCALAR);

	for (; i + 2 <= hi; i += 2)
		_mm_stream_pd(a + i, _mm_add_pd(_mm_loadu_pd(b + i), _mm_mul_pd(s, _mm_loadu_pd(c + i))));
	_mm_sfence();
#endif
	for (; i < hi; i++)
		a[i] = b[i] + SCALAR * c[i];
}

/* Returns the elements of thread k of n. Boundaries are multiples of 64 elements, so that stores are aligned and each
 * page has one owner. */
static void share(const struct triad *t, int k, int n, size_t *ret_lo, size_t *ret_hi)
{
	size_t blocks = t->n / 64;

	*ret_lo = blocks * (size_t)k / (size_t)n * 64;
	*ret_hi = k + 1 == n ? t->n : blocks * (size_t)(k + 1) / (size_t)n * 64;
}

/* Binds the calling thread to the CPUs of the mask. NULL: keeps the placement of the environment. */
static void bind_to(const struct bitmask *cpus)
{
	if (cpus)
		numa_sched_setaffinity(0, (struct bitmask *)cpus);
}

static void measure(const struct triad *t, int threads, const struct bitmask *cpus, double *ret_gbs)
{
#pragma omp parallel num_threads(threads)
	{
		size_t lo, hi;

		bind_to(cpus);
		share(t, omp_get_thread_num(), omp_get_num_threads(), &lo, &hi);
		for (size_t i = lo; i < hi; i++) {
			t->a[i] = 0;
			t->b[i] = 1 + (double)(i % 7);
			t->c[i] = 2;
		}
	}
	for (int rep = 0; rep < REPS; rep++) {
		double t0 = gt_now_s();

#pragma omp parallel num_threads(threads)
		{
			size_t lo, hi;

			share(t, omp_get_thread_num(), omp_get_num_threads(), &lo, &hi);
			triad_range(t->a, t->b, t->c, lo, hi);
		}
		ret_gbs[rep] = 24e-9 * (double)t->n / (gt_now_s() - t0);
	}
}

static size_t wrong_elements(const struct triad *t)
{
	size_t wrong = 0;

#pragma omp parallel for reduction(+ : wrong)
	for (size_t i = 0; i < t->n; i++)
		wrong += t->a[i] != 1 + (double)(i % 7) + SCALAR * 2;
	return wrong;
}

/* Maps three arrays, on `node` if it is >= 0, otherwise by first touch. */
static int triad_map(struct triad *t, uint64_t bytes, int node, struct gt_err *err)
{
	double *p = mmap(NULL, 3 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return gt_fail_errno(err, errno, "cannot map %llu bytes for the memory bandwidth arrays",
				     (unsigned long long)(3 * bytes));
	if (node >= 0)
		numa_tonode_memory(p, 3 * bytes, node);
	*t = (struct triad){ .a = p, .b = p + bytes / 8, .c = p + bytes / 4, .n = bytes / 8 };
	return 0;
}

static int series(struct bn_launch *l, uint64_t bytes, int node, const struct bitmask *cpus, int threads,
		  struct gt_err *err)
{
	char suffix[32] = "";
	double gbs[REPS];
	struct triad t;
	size_t wrong;
	int r;

	r = triad_map(&t, bytes, node, err);
	if (r < 0)
		return r;
	measure(&t, threads, cpus, gbs);
	if (l->fault)
		t.a[t.n / 2] += 1;
	wrong = wrong_elements(&t);
	if (wrong)
		snprintf(l->wrong, sizeof(l->wrong), "%zu of %zu triad elements are wrong", wrong, t.n);
	munmap(t.a, 3 * bytes);
	if (node >= 0)
		snprintf(suffix, sizeof(suffix), ".node%d", node);
	bn_series(l, &bn_workload_mem_bw, suffix, BN_EXPLORE, gbs, REPS, WARMUP, false);
	return 0;
}

/* Adds one series per node that has both memory and CPUs that this process may use. */
static int per_node(struct bn_launch *l, uint64_t bytes, struct gt_err *err)
{
	struct bitmask *cpus = numa_allocate_cpumask();
	bn_auto_node_pairs pairs = { 0 };
	int r = 0;

	bn_node_pairs(&pairs);
	for (size_t i = 0; i < pairs.n && r == 0; i++) {
		const struct bn_node_pair *p = &pairs.v[i];

		if (p->cpu_node != p->mem_node)
			continue;
		numa_bitmask_clearall(cpus);
		for (size_t k = 0; k < p->n_cpu; k++)
			numa_bitmask_setbit(cpus, (unsigned)p->cpu[k]);
		r = series(l, bytes, p->mem_node, cpus, (int)p->n_cpu, err);
	}
	numa_free_cpumask(cpus);
	return r;
}

static int mem_bw_run(struct bn_launch *l, struct gt_err *err)
{
	uint64_t llc = bn_llc_bytes(l->fs), avail = pr_available_bytes(l->fs), bytes;
	int r;

	bytes = GT_MAX(4 * llc, (uint64_t)MIN_BYTES);
	if (avail && bytes > avail / 12) /* three arrays, together at most a quarter of the available memory */
		bytes = avail / 12;
	bytes = bytes >> 21 << 21; /* whole huge pages: the same size in every launch */
	if (avail && bytes < MIN_BYTES)
		return gt_fail(err, ENOMEM, "only %llu MiB are available, too few for arrays beyond the caches",
			       (unsigned long long)(avail >> 20));
	json_object_set_new(l->params, "array_bytes", json_integer((json_int_t)bytes));
	json_object_set_new(l->notes, "threads", json_integer(omp_get_max_threads()));
	json_object_set_new(l->notes, "llc_bytes", json_integer((json_int_t)llc));
	r = series(l, bytes, -1, NULL, omp_get_max_threads(), err);
	if (r < 0)
		return r;
	return numa_available() < 0 ? 0 : per_node(l, bytes, err);
}

static const char *const knobs[] = { "omp.", "run.affinity", "run.mempolicy", "thp.enabled", "kernel.numa_balancing",
				     "cpu.governor",
				     NULL };

const struct bn_workload bn_workload_mem_bw = {
	.id	   = "mem.bw",
	.summary   = "memory bandwidth: triad beyond the caches, overall and per NUMA node",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .02,
	.verifies  = "every element of the result",
	.overhead  = "two clock readings and the start of the threads per pass over arrays beyond the caches",
	.knobs	   = knobs,
	.launch_s  = 1.5,
	.run	   = mem_bw_run,
};
