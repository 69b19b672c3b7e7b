/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator with several threads. Small objects are allocated by one thread and freed by another, as in a data
 * loader. Tensor-like blocks of 64 KiB to 8 MiB have every page touched, as activations do. Measures the malloc that the
 * process uses, including its page faults.
 */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include "bench/stats/rng.h"
#include "bench/workload/workloads.h"

#define ROUNDS	     16
#define WARMUP	     2
#define SMALL_OBJS   20000
#define TENSOR_OBJS  48
#define TENSOR_LIVE  6
#define PAGE	     4096

/*
 * The size is stored before the object, and its complement after it, so that free detects overlapping or overwritten
 * objects.
 */
static void *stamped(size_t size)
{
	size_t *p = malloc(size + sizeof(size_t));
	size_t mark = ~size;

	if (!p)
		return NULL;
	p[0] = size;
	memcpy((char *)p + size, &mark, sizeof(mark));
	return p;
}

static bool check_and_free(size_t *p)
{
	size_t mark;
	bool ok;

	if (!p)
		return false;
	memcpy(&mark, (char *)p + p[0], sizeof(mark));
	ok = mark == ~p[0];
	free(p);
	return ok;
}

/*
 * Each thread fills its own array of objects and, after the barrier, frees those of its neighbour. Returns the number of
 * damaged objects.
 */
static size_t small_round(size_t ***shelf, int threads, uint64_t seed)
{
	size_t bad = 0;

#pragma omp parallel num_threads(threads) reduction(+ : bad)
	{
		int me = omp_get_thread_num(), n = omp_get_num_threads();
		struct bn_rng rng;

		bn_rng_seed(&rng, seed + (uint64_t)me);
		for (int i = 0; i < SMALL_OBJS; i++)
			shelf[me][i] = stamped(16 + (bn_rng_u64(&rng) & 511));
#pragma omp barrier
		for (int i = 0; i < SMALL_OBJS; i++)
			bad += !check_and_free(shelf[(me + 1) % n][i]);
	}
	return bad;
}

static void touch(size_t *p)
{
	if (!p)
		return;
	for (size_t off = PAGE; off < p[0]; off += PAGE)
		((char *)p)[off] = 1;
}

static size_t tensor_round(int threads, uint64_t seed)
{
	size_t bad = 0;

#pragma omp parallel num_threads(threads) reduction(+ : bad)
	{
		size_t *live[TENSOR_LIVE] = { 0 };
		struct bn_rng rng;

		bn_rng_seed(&rng, seed + (uint64_t)omp_get_thread_num());
		for (int i = 0; i < TENSOR_OBJS; i++) {
			size_t *p = stamped(((size_t)64 << 10) << bn_rng_below(&rng, 8));
			size_t **slot = &live[i % TENSOR_LIVE];

			touch(p);
			bad += i >= TENSOR_LIVE && !check_and_free(*slot);
			*slot = p;
		}
		for (int i = 0; i < TENSOR_LIVE; i++)
			bad += !check_and_free(live[i]);
	}
	return bad;
}

static int alloc_run(struct bn_launch *l, struct gt_err *err)
{
	int threads = omp_get_max_threads();
	size_t ***shelf = gt_xcalloc((size_t)threads, sizeof(*shelf));
	double small[ROUNDS], tensor[ROUNDS];
	size_t bad = 0;

	for (int k = 0; k < threads; k++)
		shelf[k] = gt_xcalloc(SMALL_OBJS, sizeof(**shelf));
	for (int round = 0; round < ROUNDS; round++) {
		double t0 = gt_now_s(), t1;

		bad += small_round(shelf, threads, l->seed + 1000u * (unsigned)round);
		t1 = gt_now_s();
		bad += tensor_round(threads, l->seed + 1000u * (unsigned)round);
		small[round] = (t1 - t0) / SMALL_OBJS * 1e9;
		tensor[round] = (gt_now_s() - t1) / TENSOR_OBJS * 1e9;
	}
	for (int k = 0; k < threads; k++)
		free(shelf[k]);
	free(shelf);
	bad += l->fault;
	if (bad)
		snprintf(l->wrong, sizeof(l->wrong), "%zu objects could not be allocated or were damaged", bad);
	json_object_set_new(l->params, "small_objects", json_integer(SMALL_OBJS));
	json_object_set_new(l->params, "tensor_objects", json_integer(TENSOR_OBJS));
	json_object_set_new(l->notes, "threads", json_integer(threads));
	bn_series(l, &bn_workload_alloc, ".small", BN_EXPLORE, small, ROUNDS, WARMUP, false);
	bn_series(l, &bn_workload_alloc, ".tensor", BN_EXPLORE, tensor, ROUNDS, WARMUP, false);
	return 0;
}

static const char *const knobs[] = { "run.malloc", "run.allocator", "thp.enabled", "thp.defrag",
				     "omp.threads", "kernel.numa_balancing", NULL };

const struct bn_workload bn_workload_alloc = {
	.id	   = "alloc",
	.summary   = "allocator with several threads: small objects freed by another thread, tensor-sized blocks",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .02,
	.verifies  = "the marks at both ends of every object",
	.overhead  = "two clock readings per round of 20,000 objects; drawing a size and writing two marks are included",
	.knobs	   = knobs,
	.launch_s  = .6,
	.run	   = alloc_run,
};
