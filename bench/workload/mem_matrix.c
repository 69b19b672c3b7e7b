/* SPDX-License-Identifier: Apache-2.0 */
/* Read bandwidth from every node's memory by every node's CPUs. mem.bw measures what a program reaches with its
 * placement; this measures the bandwidth of each path between two nodes. */
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <sys/mman.h>
#include "bench/workload/node.h"
#include "bench/workload/workloads.h"
#include "probe/host/host.h"

#define REPS	  10
#define WARMUP	  2
#define MIN_BYTES ((size_t)128 << 20)
#define MAX_BYTES ((size_t)2 << 30)

static uint64_t sum_range(const uint64_t *p, size_t lo, size_t hi)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (size_t i = lo; i + 4 <= hi; i += 4) {
		a += p[i];
		b += p[i + 1];
		c += p[i + 2];
		d += p[i + 3];
	}
	return a + b + c + d;
}

/* words is a multiple of 4 in every thread, because ranges are multiples of 64 bytes */
static uint64_t sum_all(const uint64_t *p, size_t words, int threads)
{
	uint64_t sum = 0;

#pragma omp parallel num_threads(threads) reduction(+ : sum)
	{
		size_t lines = words / 8, me = (size_t)omp_get_thread_num(), n = (size_t)omp_get_num_threads();

		sum += sum_range(p, lines * me / n * 8, lines * (me + 1) / n * 8);
	}
	return sum;
}

static int pair_series(struct bn_launch *l, const struct bn_node_pair *pair, size_t bytes, struct gt_err *err)
{
	uint64_t *p = bn_node_map(bytes, pair->mem_node, true), expected = 0, wrong = 0;
	gt_autofree char *suffix = gt_xasprintf(".cpu%d-mem%d", pair->cpu_node, pair->mem_node);
	int threads = (int)pair->n_cpu;
	size_t words = bytes / 8;
	double gbs[REPS];

	if (!p)
		return gt_fail_errno(err, errno, "cannot map %zu MiB", bytes >> 20);
#pragma omp parallel num_threads(threads) reduction(+ : expected)
	{
		size_t lines = words / 8, me = (size_t)omp_get_thread_num(), n = (size_t)omp_get_num_threads();

		bn_bind_cpu(pair->cpu[me]);
		for (size_t i = lines * me / n * 8; i < lines * (me + 1) / n * 8; i++) {
			p[i] = i * 2654435761u + l->seed;
			expected += p[i];
		}
	}
	if (bn_node_placed(p, bytes, pair->mem_node, err) < 0) {
		munmap(p, bytes);
		return -ENOMEM;
	}
	if (l->fault)
		p[words / 2]++;
	for (int rep = 0; rep < REPS; rep++) {
		double t0 = gt_now_s();
		uint64_t sum = sum_all(p, words, threads);

		gbs[rep] = (double)bytes / (gt_now_s() - t0) / 1e9;
		wrong += sum != expected;
	}
	munmap(p, bytes);
	if (wrong)
		snprintf(l->wrong, sizeof(l->wrong), "%llu of %d sums over the memory of node %d are wrong",
			 (unsigned long long)wrong, REPS, pair->mem_node);
	bn_series(l, &bn_workload_mem_matrix, suffix, BN_EXPLORE, gbs, REPS, WARMUP, false);
	return 0;
}

static int mem_matrix_run(struct bn_launch *l, struct gt_err *err)
{
	uint64_t bytes = GT_MAX(4 * bn_llc_bytes(l->fs), (uint64_t)MIN_BYTES), avail = pr_available_bytes(l->fs);
	bn_auto_node_pairs pairs = { 0 };
	int r = 0;

	bytes = GT_MIN(bytes, (uint64_t)MAX_BYTES) >> 21 << 21;
	if (avail && bytes > avail / 4)
		return gt_fail(err, ENOMEM, "only %llu MiB are available, too few to read %llu MiB",
			       (unsigned long long)(avail >> 20), (unsigned long long)(bytes >> 20));
	bn_node_pairs(&pairs);
	omp_set_dynamic(0);
	json_object_set_new(l->params, "bytes", json_integer((json_int_t)bytes));
	for (size_t i = 0; i < pairs.n && !r; i++)
		r = pair_series(l, &pairs.v[i], bytes, err);
	return r;
}

static const char *const knobs[] = { "thp.enabled", "kernel.numa_balancing", "cpu.governor", NULL };

const struct bn_workload bn_workload_mem_matrix = {
	.id	   = "mem.matrix",
	.summary   = "read bandwidth by node of the CPUs and node of the memory",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "the sum of all words, and the node of the memory",
	.overhead  = "two clock readings and the start of the threads per pass over memory beyond the caches; the sum is the check",
	.knobs	   = knobs,
	.launch_s  = 2,
	.optional  = true,
	.run	   = mem_matrix_run,
};
