/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ARENA_H
#define RT_ARENA_H
/* One mapping that holds all tensors of a program. */
#include "lib/err.h"

struct rt_arena {
	char *base;
	size_t bytes;	       /* what is mapped */
	bool huge_pages;       /* asked for; whether they came says rt_arena_huge_share() */
	char placement[64];    /* "node 0", "interleaved over nodes 0-1", "first touch" */
};
/* Map at least `bytes`, bind it to the NUMA node of the CPUs that this process may use (interleave it when they are on
 * several), advise huge pages, and touch all of it with `threads` threads. */
int rt_arena_map(struct rt_arena *a, size_t bytes, bool huge_pages, int threads, struct gt_err *err);
/* Where pages lie now, as the kernel says (move_pages): of those looked at, RT_LOOK at most and evenly spread over the memory,
 * ret[n] more are on node n. Returns how many were looked at; 0 if the kernel does not say. */
#define RT_LOOK	1024
unsigned rt_memory_nodes(const void *base, size_t bytes, unsigned *ret, unsigned n_node);
/* Share of it that lies on huge pages now, as /proc/self/smaps says, 0 to 1; NAN if that cannot be read. */
double rt_arena_huge_share(const struct rt_arena *a);
void rt_arena_unmap(struct rt_arena *a);
#endif
