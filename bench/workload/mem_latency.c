/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency of a load from memory, per node, also while the other CPUs load the memory. One thread follows a chain that
 * visits every cache line once in random order, so neither caches nor prefetchers help. Huge pages, if available, keep
 * page walks out of the measurement.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "bench/stats/rng.h"
#include "bench/workload/node.h"
#include "bench/workload/workloads.h"
#include "probe/host/host.h"

#define LINE	   64
#define REPS	   10
#define WARMUP	   2
#define HOPS	   200000 /* hops of a sample, which take tens of milliseconds */
#define CHAIN_MIN  ((size_t)64 << 20)
#define CHAIN_MAX  ((size_t)1 << 30)
#define LOAD_BYTES ((size_t)32 << 20) /* bytes that each load thread reads repeatedly */
#define PAUSE_MID  400 /* empty iterations after each 4 KiB at half of the load */

struct chain {
	char *p;
	size_t bytes;
};

/* Links all lines to one cycle (Sattolo's shuffle). The first word of a line is the index of the next one. */
static void link_lines(const struct chain *c, uint64_t seed)
{
	uint32_t n = (uint32_t)(c->bytes / LINE), *order = gt_xcalloc(n, sizeof(*order));
	struct bn_rng rng;

	bn_rng_seed(&rng, seed);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t k = (uint32_t)bn_rng_below(&rng, i), t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
	for (uint32_t i = 0; i < n; i++)
		memcpy(c->p + (size_t)i * LINE, &order[i], sizeof(*order));
	free(order);
}

static uint32_t hop(const struct chain *c, uint32_t at, size_t hops)
{
	for (size_t i = 0; i < hops; i++)
		memcpy(&at, c->p + (size_t)at * LINE, sizeof(at));
	return at;
}

/* Checks that the chain returns to the first line after as many hops as there are lines. */
static bool one_cycle(const struct chain *c)
{
	size_t n = c->bytes / LINE;
	uint32_t at = 0;

	for (size_t i = 1; i < n; i++) {
		memcpy(&at, c->p + (size_t)at * LINE, sizeof(at));
		if (at == 0 || at >= n)
			return false;
	}
	return hop(c, at, 1) == 0;
}

static uint32_t measure(const struct chain *c, uint32_t at, double *ns)
{
	for (int rep = 0; rep < REPS; rep++) {
		double t0 = gt_now_s();

		at = hop(c, at, HOPS);
		ns[rep] = (gt_now_s() - t0) / HOPS * 1e9;
	}
	return at;
}

/* ---- load ---- */

struct load {
	pthread_t thread;
	int cpu, mem_node, pause;
	_Atomic bool *stop;
	_Atomic size_t *ready;
	uint64_t bytes; /* number of bytes read before stop was set */
	double seconds;
};

static void *make_load(void *arg)
{
	struct load *d = arg;
	uint64_t *p, sum = 0;

	bn_bind_cpu(d->cpu);
	p = bn_node_map(LOAD_BYTES, d->mem_node, true);
	if (p)
		memset(p, 1, LOAD_BYTES);
	atomic_fetch_add(d->ready, 1);
	d->seconds = gt_now_s();
	while (p && !atomic_load_explicit(d->stop, memory_order_relaxed))
		for (size_t i = 0; i < LOAD_BYTES / 8 && !atomic_load_explicit(d->stop, memory_order_relaxed); i += 512) {
			for (size_t k = 0; k < 512; k += 8)
				sum += p[i + k];
			d->bytes += 4096;
			for (volatile int turn = 0; turn < d->pause; turn++)
				;
		}
	d->seconds = gt_now_s() - d->seconds;
	if (p)
		munmap(p, LOAD_BYTES);
	d->bytes += sum == 0; /* prevents the compiler from removing the loads */
	return NULL;
}

/* Follows the chain while all other CPUs of the pair read memory of the same node. Their bandwidth becomes a note. */
static int under_load(struct bn_launch *l, const struct chain *c, const struct bn_node_pair *pair, const char *name,
		      int pause, struct gt_err *err)
{
	struct load *load = gt_xcalloc(pair->n_cpu, sizeof(*load));
	_Atomic size_t ready = 0;
	_Atomic bool stop = false;
	size_t started = 0;
	double ns[REPS], gbs = 0;
	gt_autofree char *suffix = gt_xasprintf(".%s", name), *note = gt_xasprintf("load_gb_s.%s", name);
	int r = 0;

	for (size_t i = 1; i < pair->n_cpu && !r; i++) {
		load[i] = (struct load){ .cpu = pair->cpu[i], .mem_node = pair->mem_node, .pause = pause, .stop = &stop,
					 .ready = &ready };
		r = pthread_create(&load[i].thread, NULL, make_load, &load[i]);
		started += !r;
	}
	while (!r && atomic_load(&ready) < started)
		sched_yield();
	if (!r)
		measure(c, 0, ns);
	atomic_store(&stop, true);
	for (size_t i = 1; i <= started; i++) {
		pthread_join(load[i].thread, NULL);
		gbs += (double)load[i].bytes / load[i].seconds / 1e9;
	}
	free(load);
	if (r)
		return gt_fail_errno(err, r, "cannot start a thread");
	json_object_set_new(l->notes, note, gt_json_real(gbs));
	bn_series(l, &bn_workload_mem_latency, suffix, BN_EXPLORE, ns, REPS, WARMUP, false);
	return 0;
}

static int loaded_series(struct bn_launch *l, const struct chain *c, const struct bn_node_pair *pair, struct gt_err *err)
{
	int r = under_load(l, c, pair, "load_half", PAUSE_MID, err);

	return r ? r : under_load(l, c, pair, "load_full", 0, err);
}

static int pair_series(struct bn_launch *l, const struct bn_node_pair *pair, size_t bytes, bool loaded, struct gt_err *err)
{
	struct chain c = { .bytes = bytes };
	gt_autofree char *suffix = gt_xasprintf(".cpu%d-mem%d", pair->cpu_node, pair->mem_node);
	double ns[REPS];
	uint32_t end;
	int r = 0;

	bn_bind_cpu(pair->cpu[0]);
	c.p = bn_node_map(bytes, pair->mem_node, true);
	if (!c.p)
		return gt_fail_errno(err, errno, "cannot map %zu MiB", bytes >> 20);
	link_lines(&c, l->seed);
	if (bn_node_placed(c.p, bytes, pair->mem_node, err) < 0) {
		munmap(c.p, bytes);
		return -ENOMEM;
	}
	end = measure(&c, 0, ns);
	bn_series(l, &bn_workload_mem_latency, suffix, BN_EXPLORE, ns, REPS, WARMUP, false);
	if (loaded && pair->n_cpu > 1)
		r = loaded_series(l, &c, pair, err);
	if (l->fault)
		memset(c.p, 0, LINE);
	if (!one_cycle(&c) || end >= bytes / LINE)
		snprintf(l->wrong, sizeof(l->wrong), "the chain of node %d did not visit each line once", pair->mem_node);
	munmap(c.p, bytes);
	return r;
}

static int mem_latency_run(struct bn_launch *l, struct gt_err *err)
{
	uint64_t bytes = GT_MAX(4 * bn_llc_bytes(l->fs), (uint64_t)CHAIN_MIN), avail = pr_available_bytes(l->fs);
	bn_auto_node_pairs pairs = { 0 };
	int r = 0;

	bytes = GT_MIN(bytes, (uint64_t)CHAIN_MAX) >> 21 << 21;
	if (avail && bytes > avail / 4)
		return gt_fail(err, ENOMEM, "only %llu MiB are available, too few for a chain of %llu MiB",
			       (unsigned long long)(avail >> 20), (unsigned long long)(bytes >> 20));
	bn_node_pairs(&pairs);
	json_object_set_new(l->params, "chain_bytes", json_integer((json_int_t)bytes));
	json_object_set_new(l->params, "load_bytes", json_integer((json_int_t)LOAD_BYTES));
	for (size_t i = 0; i < pairs.n && !r; i++)
		r = pair_series(l, &pairs.v[i], bytes, i == 0, err);
	return r;
}

static const char *const knobs[] = { "thp.enabled", "kernel.numa_balancing", "run.mempolicy", "cpu.governor", NULL };

const struct bn_workload bn_workload_mem_latency = {
	.id	   = "mem.latency",
	.summary   = "one load from memory, by node of the CPU and of the memory, and with the memory half and fully loaded",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "the chain visits every line once",
	.overhead  = "two clock readings per chain of loads; threads that load the memory are intended",
	.knobs	   = knobs,
	.launch_s  = 3,
	.optional  = true,
	.run	   = mem_latency_run,
};
