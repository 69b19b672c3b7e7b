/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ARENA_H
#define RT_ARENA_H
/* One mapping that holds all tensors of a program. */
#include "lib/err.h"

struct rt_arena {
	char *base;
	size_t bytes;	       /* size of the mapping */
	bool huge_pages;       /* huge pages were requested; rt_arena_huge_fraction() returns the granted part */
	char placement[64];    /* "node 0", "interleaved over nodes 0-1", "first touch" */
};
size_t rt_arena_bytes(size_t bytes); /* size of the mapping for this many bytes */
/*
 * Maps at least `bytes` bytes and touches every page with `threads` threads. Binds the mapping to the NUMA node of the
 * CPUs that this process may use, or interleaves it if they span several nodes. huge_pages: also advises MADV_HUGEPAGE.
 */
int rt_arena_map(struct rt_arena *a, size_t bytes, bool huge_pages, int threads, struct gt_err *err);
/*
 * Counts pages by NUMA node (move_pages). Samples at most RT_SAMPLED_PAGES pages, spread evenly over the memory, and adds the
 * number found on node n to ret[n]. Returns the number of sampled pages with a known node, or 0 if the kernel does not
 * report them.
 */
#define RT_SAMPLED_PAGES	1024
unsigned rt_memory_nodes(const void *base, size_t bytes, unsigned *ret, unsigned n_node);
/* Returns the fraction (0 to 1) of the arena on huge pages, from /proc/self/smaps. NAN if that file cannot be read. */
double rt_arena_huge_fraction(const struct rt_arena *a);
void rt_arena_unmap(struct rt_arena *a);
#endif
