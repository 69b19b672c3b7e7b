/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <numa.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "runtime/memory/arena.h"

#define HUGE	(2u << 20)

/* Returns the NUMA nodes of the CPUs in this process's affinity mask. */
static struct bitmask *affinity_nodes(void)
{
	struct bitmask *cpus = numa_allocate_cpumask(), *nodes = numa_allocate_nodemask();

	if (numa_sched_getaffinity(0, cpus) < 0)
		numa_bitmask_setall(cpus);
	for (unsigned i = 0; i < cpus->size; i++) {
		int node = numa_bitmask_isbitset(cpus, i) ? numa_node_of_cpu((int)i) : -1;

		if (node >= 0)
			numa_bitmask_setbit(nodes, (unsigned)node);
	}
	numa_free_cpumask(cpus);
	return nodes;
}

static void place(struct rt_arena *a)
{
	struct bitmask *nodes;
	gt_auto_set set = { 0 };
	gt_autofree char *text = NULL;

	snprintf(a->placement, sizeof(a->placement), "first touch");
	if (numa_available() < 0)
		return;
	nodes = affinity_nodes();
	for (unsigned i = 0; i < nodes->size; i++)
		if (numa_bitmask_isbitset(nodes, i))
			gt_set_add(&set, i);
	text = gt_set_format(&set);
	if (gt_set_count(&set) == 1) {
		numa_tonode_memory(a->base, a->bytes, gt_set_next(&set, -1));
		snprintf(a->placement, sizeof(a->placement), "node %s", text);
	} else if (gt_set_count(&set) > 1) {
		numa_interleave_memory(a->base, a->bytes, nodes);
		snprintf(a->placement, sizeof(a->placement), "interleaved over nodes %s", text);
	}
	numa_free_nodemask(nodes);
}

size_t rt_arena_bytes(size_t bytes)
{
	return (GT_MAX(bytes, 1u) + HUGE - 1) / HUGE * HUGE;
}

int rt_arena_map(struct rt_arena *a, size_t bytes, bool huge_pages, int threads, struct gt_err *err)
{
	size_t size = rt_arena_bytes(bytes);
	char *raw, *base;

	/* Map more than needed and unmap both ends, so that the rest starts at a huge page boundary. */
	raw = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED) {
		char text[32];

		gt_format_bytes(text, sizeof(text), size);
		return gt_fail_errno(err, errno, "cannot map %s for the tensors", text);
	}
	base = (char *)(((uintptr_t)raw + HUGE - 1) / HUGE * HUGE);
	if (base > raw)
		munmap(raw, (size_t)(base - raw));
	munmap(base + size, (size_t)(raw + HUGE - base));
	*a = (struct rt_arena){ .base = base, .bytes = size };
	a->huge_pages = huge_pages && madvise(base, size, MADV_HUGEPAGE) == 0;
	if (!huge_pages)
		madvise(base, size, MADV_NOHUGEPAGE);
	place(a);
#pragma omp parallel for schedule(static) num_threads(threads)
	for (size_t i = 0; i < size / 4096; i++)
		((volatile char *)base)[i * 4096] = 0;
	return 0;
}

unsigned rt_memory_nodes(const void *base, size_t bytes, unsigned *ret, unsigned n_node)
{
	enum { PAGE = 4096 };
	size_t pages = GT_MAX(bytes / PAGE, (size_t)1), n = GT_MIN(pages, (size_t)RT_SAMPLED_PAGES);
	void *at[RT_SAMPLED_PAGES];
	int status[RT_SAMPLED_PAGES];
	unsigned sampled = 0;

	for (size_t i = 0; i < n; i++)
		at[i] = (void *)(((uintptr_t)base & ~(uintptr_t)(PAGE - 1)) + i * pages / n * PAGE);
	if (!bytes || numa_available() < 0 || numa_move_pages(0, n, at, NULL, status, 0) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (status[i] >= 0 && (unsigned)status[i] < n_node) {
			ret[status[i]]++;
			sampled++;
		}
	return sampled;
}

double rt_arena_huge_fraction(const struct rt_arena *a)
{
	unsigned long begin = (uintptr_t)a->base, lo = 0, hi = 0, kb;
	gt_auto(gt_fsroot) *fs = NULL;
	gt_autofree char *text = NULL;
	double huge = 0;

	if (!a->base || gt_fs_open("/", &fs, NULL) < 0 || gt_fs_read(fs, "/proc/self/smaps", &text, NULL) < 0)
		return NAN;
	for (char *line = text; line; line = strchr(line, '\n')) {
		unsigned long from, to;

		line += *line == '\n';
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			lo = from;
			hi = to;
		} else if (sscanf(line, "AnonHugePages: %lu kB", &kb) == 1 && lo < begin + a->bytes && begin < hi) {
			/* The kernel may merge this arena and a neighbouring mapping into one entry. */
			huge += (double)kb * 1024 * (double)(GT_MIN(hi, begin + a->bytes) - GT_MAX(lo, begin)) / (double)(hi - lo);
		}
	}
	return huge / (double)a->bytes;
}

void rt_arena_unmap(struct rt_arena *a)
{
	if (a->base)
		munmap(a->base, a->bytes);
	memset(a, 0, sizeof(*a));
}
