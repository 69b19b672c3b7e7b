/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <numa.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bench/workload/node.h"
#include "lib/fsroot.h"
#include "lib/parse.h"

#define CPU_DIR	    "/sys/devices/system/cpu"
#define PAGES_CHECKED 4096 /* evenly distributed over the mapping */

static uint64_t kib_line(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *line = NULL;
	uint64_t bytes;

	return gt_fs_read_line(fs, path, &line) == 0 && gt_parse_size(line, &bytes) == 0 ? bytes : 0;
}

uint64_t bn_llc_bytes(struct gt_fsroot *fs)
{
	gt_auto_strv cpus = { 0 }, counted = { 0 };
	uint64_t total = 0;

	if (gt_fs_list(fs, CPU_DIR, &cpus) < 0)
		return 0;
	for (size_t i = 0; i < cpus.n; i++) {
		uint64_t id;

		if (!gt_starts_with(cpus.v[i], "cpu") || gt_parse_u64(cpus.v[i] + 3, &id) < 0)
			continue;
		for (int index = 4; index >= 2; index--) {
			gt_autofree char *size = gt_xasprintf(CPU_DIR "/%s/cache/index%d/size", cpus.v[i], index);
			gt_autofree char *list =
				gt_xasprintf(CPU_DIR "/%s/cache/index%d/shared_cpu_list", cpus.v[i], index);
			gt_autofree char *shared = NULL;

			if (gt_fs_read_line(fs, list, &shared) < 0)
				continue;
			if (!gt_strv_has(&counted, shared)) {
				gt_strv_add(&counted, shared);
				total += kib_line(fs, size);
			}
			break;
		}
	}
	return total;
}

/* Returns the CPUs of one node that this process may use; all of them for node -1. */
static size_t cpus_of(int node, const cpu_set_t *usable, int **ret)
{
	struct bitmask *of_node = node < 0 ? NULL : numa_allocate_cpumask();
	int *list = gt_xcalloc(CPU_SETSIZE, sizeof(*list));
	size_t n = 0;

	if (!of_node || numa_node_to_cpus(node, of_node) == 0)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, usable) && (!of_node || numa_bitmask_isbitset(of_node, (unsigned)cpu)))
				list[n++] = cpu;
	if (of_node)
		numa_free_cpumask(of_node);
	*ret = list;
	return n;
}

static void add(struct bn_node_pairs *p, int cpu_node, int mem_node, const cpu_set_t *usable)
{
	struct bn_node_pair pair = { .cpu_node = GT_MAX(cpu_node, 0), .mem_node = mem_node };

	pair.n_cpu = cpus_of(cpu_node, usable, &pair.cpu);
	if (!pair.n_cpu) {
		free(pair.cpu);
		return;
	}
	p->v = gt_xrealloc(p->v, (p->n + 1) * sizeof(*p->v));
	p->v[p->n++] = pair;
}

/*
 * Returns the CPUs of all threads together. OMP_PROC_BIND narrows the mask of the calling thread to its own place. With
 * its mask alone, one arm would use one thread and the other all threads.
 */
static void cpus_of_team(cpu_set_t *usable)
{
	CPU_ZERO(usable);
#pragma omp parallel
	{
		cpu_set_t own;

		CPU_ZERO(&own);
		if (sched_getaffinity(0, sizeof(own), &own) < 0)
			CPU_SET(0, &own);
#pragma omp critical
		CPU_OR(usable, usable, &own);
	}
}

void bn_node_pairs(struct bn_node_pairs *ret)
{
	struct bitmask *allowed;
	cpu_set_t usable;

	*ret = (struct bn_node_pairs){ 0 };
	cpus_of_team(&usable);
	if (numa_available() < 0) {
		add(ret, -1, 0, &usable);
		return;
	}
	allowed = numa_get_mems_allowed();
	for (int c = 0; c <= numa_max_node(); c++)
		for (int m = 0; m <= numa_max_node(); m++)
			if (numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned)m) && numa_bitmask_isbitset(allowed, (unsigned)m))
				add(ret, c, m, &usable);
	numa_bitmask_free(allowed);
}

void bn_node_pairs_clear(struct bn_node_pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].cpu);
	free(p->v);
	*p = (struct bn_node_pairs){ 0 };
}

void *bn_node_map(size_t bytes, int node, bool huge)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (huge)
		madvise(p, bytes, MADV_HUGEPAGE);
	if (numa_available() >= 0)
		numa_tonode_memory(p, bytes, node);
	return p;
}

int bn_node_placed(void *p, size_t bytes, int node, struct gt_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = bytes / page, n = GT_MIN(pages, (size_t)PAGES_CHECKED), on_node = 0;
	gt_autofree void **at = gt_xcalloc(n + 1, sizeof(*at));
	gt_autofree int *on = gt_xcalloc(n + 1, sizeof(*on));

	if (numa_available() < 0 || !n)
		return 0;
	for (size_t i = 0; i < n; i++)
		at[i] = (char *)p + pages * i / n * page;
	if (numa_move_pages(0, n, at, NULL, on, 0) < 0)
		return 0; /* a sandbox may forbid the query; only the policy is then known */
	for (size_t i = 0; i < n; i++)
		on_node += on[i] == node;
	if (on_node * 100 >= n * 99)
		return 0;
	return gt_fail(err, ENOMEM, "only %zu %% of the memory for node %d was allocated there: the node has too "
				    "little free memory",
		       100 * on_node / n, node);
}

void bn_bind_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}
