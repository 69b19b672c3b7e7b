/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns the CPUs of this host to its ranks. */
#include <errno.h>
#include <numa.h>
#include <omp.h>
#include <stdio.h>
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "runtime/transport/transport.h"

static int by_node_and_core(const void *a, const void *b)
{
	const struct rt_place_cpu *x = a, *y = b;

	if (x->node != y->node)
		return x->node - y->node;
	return x->core != y->core ? x->core - y->core : x->id - y->id;
}

static int node_of(int cpu)
{
	int node = numa_available() < 0 ? 0 : numa_node_of_cpu(cpu);

	return node < 0 ? 0 : node;
}

/*
 * Returns the first CPU of the core. Often the low CPU numbers are the first threads of all cores, and the high numbers
 * the second threads.
 */
static int core_of(struct gt_fsroot *fs, int cpu)
{
	gt_autofree char *path = gt_xasprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu), *line = NULL;
	gt_auto_set threads = { 0 };

	if (!fs || gt_fs_read_line(fs, path, &line) < 0 || gt_parse_cpulist(line, &threads) < 0 ||
	    !gt_set_has(&threads, (unsigned)cpu))
		return cpu;
	return gt_set_next(&threads, -1);
}

static bool begins_core(const struct rt_place_cpu *list, int i)
{
	return !i || list[i].core != list[i - 1].core;
}

/* Returns the start of part k of `of`, at the border of a core if there are enough cores. */
static int begin_of(const struct rt_place_cpu *list, int n, int k, int of)
{
	int cores = 0, at = 0;

	for (int i = 0; i < n; i++)
		cores += begins_core(list, i);
	if (cores < of)
		return n * k / of;
	for (int skip = cores * k / of; at < n && (skip || !begins_core(list, at)); at++)
		skip -= begins_core(list, at);
	return at;
}

/* Divides n CPUs among the ranks whose home is the node, or among all ranks if home is NULL. */
static void share(const struct rt_place_cpu *list, int n, int ranks, const int *home, int node, struct rt_place *ret,
		  bool *ret_shared)
{
	int members = 0, k = 0;

	for (int r = 0; r < ranks; r++)
		members += !home || home[r] == node;
	*ret_shared |= n < members;
	for (int r = 0; r < ranks; r++) {
		int lo, hi;

		if (home && home[r] != node)
			continue;
		lo = begin_of(list, n, k, members);
		hi = GT_MAX(begin_of(list, n, k + 1, members), lo + 1);
		k++;
		CPU_ZERO(&ret[r].cpus);
		for (int i = lo; i < hi; i++)
			CPU_SET(list[i].id, &ret[r].cpus);
		ret[r].n_cpus = hi - lo;
		ret[r].node = list[lo].node;
	}
}

void rt_place_share(const struct rt_place_cpu *list, int n, int ranks, const int *home, struct rt_place *ret, bool *ret_shared)
{
	*ret_shared = false;
	for (int r = 0; home && r < ranks; r++) {
		bool there = false;

		for (int i = 0; i < n; i++)
			there |= list[i].node == home[r];
		if (!there)
			home = NULL;
	}
	for (int lo = 0, hi = 0; home && lo < n; lo = hi) {
		while (hi < n && list[hi].node == list[lo].node)
			hi++;
		share(list + lo, hi - lo, ranks, home, list[lo].node, ret, ret_shared);
	}
	if (!home)
		share(list, n, ranks, NULL, 0, ret, ret_shared);
}

void rt_place_order(struct gt_fsroot *fs, struct rt_place_cpu *list, int n)
{
	for (int i = 0; i < n; i++)
		list[i].core = core_of(fs, list[i].id);
	qsort(list, (size_t)n, sizeof(*list), by_node_and_core);
}

int rt_place_all(int ranks, const int *home, struct rt_place *ret, bool *ret_shared, struct gt_err *err)
{
	struct rt_place_cpu list[CPU_SETSIZE];
	gt_auto(gt_fsroot) *fs = NULL;
	cpu_set_t all;
	int n = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return gt_fail_errno(err, errno, "cannot determine which CPUs may be used");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			list[n++] = (struct rt_place_cpu){ .id = i, .node = node_of(i) };
	if (gt_fs_open("/", &fs, NULL) < 0)
		fs = NULL; /* the topology is unknown: each CPU counts as a core */
	rt_place_order(fs, list, n);
	rt_place_share(list, n, ranks, home, ret, ret_shared);
	return 0;
}

int rt_place_now(struct rt_place *ret, struct gt_err *err)
{
	struct rt_place p = { 0 };

	if (sched_getaffinity(0, sizeof(p.cpus), &p.cpus) < 0)
		return gt_fail_errno(err, errno, "cannot determine which CPUs may be used");
	p.n_cpus = CPU_COUNT(&p.cpus);
	for (int i = CPU_SETSIZE - 1; i >= 0; i--)
		p.node = CPU_ISSET(i, &p.cpus) ? node_of(i) : p.node;
	*ret = p;
	return 0;
}

int rt_place_index(const int *node, int ranks, int *ret)
{
	int nodes = 0;

	for (int i = 0; i < ranks; i++) {
		int k = 0;

		while (k < i && node[k] != node[i])
			k++;
		ret[i] = k < i ? ret[k] : nodes++;
	}
	return nodes;
}

/* OpenMP may have fixed its places before the rank was bound (OMP_PROC_BIND), identically in all ranks. Therefore each
 * thread is bound again. */
static void bind_threads(const cpu_set_t *cpus, int n)
{
	omp_set_num_threads(n);
#pragma omp parallel num_threads(n)
	sched_setaffinity(0, sizeof(*cpus), cpus);
}

void rt_place_put(struct rt_comm *c, const struct rt_place *p)
{
	gt_auto_set set = { 0 };
	gt_autofree char *text = NULL;

	sched_setaffinity(0, sizeof(p->cpus), &p->cpus);
	bind_threads(&p->cpus, getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : p->n_cpus);
	c->cpus = p->n_cpus;
	c->home = p->node;
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &p->cpus))
			gt_set_add(&set, i);
	text = gt_set_format(&set);
	snprintf(c->place, sizeof(c->place), "CPU %.60s of node %d", text, p->node);
}
