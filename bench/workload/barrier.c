/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One OpenMP barrier of the thread team that the environment configures. Every parallel loop of a training step ends
 * with one. Each thread writes its turn between two barriers and reads its neighbour's turn after the next barrier.
 */
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include "bench/workload/workloads.h"

#define BATCHES	40
#define WARMUP	4
#define TURNS	200

struct slot {
	_Alignas(64) volatile long turn;
};

static int barrier_run(struct bn_launch *l, struct gt_err *err)
{
	int threads = omp_get_max_threads();
	struct slot *slot = aligned_alloc(64, (size_t)threads * sizeof(*slot));
	double ns[BATCHES];
	long bad = 0;

	if (!slot)
		return gt_fail(err, ENOMEM, "no memory for %d threads", threads);
	for (int k = 0; k < threads; k++)
		slot[k].turn = -1;
#pragma omp parallel num_threads(threads) reduction(+ : bad)
	{
		int me = omp_get_thread_num(), next = (me + 1) % omp_get_num_threads();
		double t0 = 0;

		for (long b = 0; b < BATCHES; b++) {
			if (me == 0)
				t0 = gt_now_s();
			for (long i = 0; i < TURNS; i++) {
				long turn = b * TURNS + i;

				slot[me].turn = turn;
#pragma omp barrier
				/* after the barrier, the neighbour is in the same turn or the next one */
				bad += slot[next].turn < turn;
			}
			if (me == 0)
				ns[b] = (gt_now_s() - t0) / TURNS * 1e9;
		}
	}
	free(slot);
	bad += (long)l->fault;
	if (bad)
		snprintf(l->wrong, sizeof(l->wrong), "%ld times a thread left a barrier before another thread reached it", bad);
	json_object_set_new(l->params, "turns", json_integer(TURNS));
	json_object_set_new(l->notes, "threads", json_integer(threads));
	bn_series(l, &bn_workload_barrier, "", BN_EXPLORE, ns, BATCHES, WARMUP, true);
	return 0;
}

static const char *const knobs[] = { "omp.", "cpu.governor", "cpu.", "run.affinity", NULL };

const struct bn_workload bn_workload_barrier = {
	.id	   = "sync.barrier",
	.summary   = "one OpenMP barrier of all threads",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "no thread leaves the barrier before all have reached it",
	.overhead  = "two clock readings per batch of barriers; a store and a load per thread are included",
	.knobs	   = knobs,
	.launch_s  = .5,
	.optional  = true,
	.run	   = barrier_run,
};
