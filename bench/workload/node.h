/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_NODE_H
#define BN_NODE_H
/* Functions shared by the memory workloads: cache sizes, pairs of NUMA nodes, memory on a node. */
#include "bench/workload/workload.h"

/* Returns the size of all last-level caches together, each counted once; 0 if the host does not report it. */
uint64_t bn_llc_bytes(struct gt_fsroot *fs);

/* The node of the threads and the node of the memory that they use. */
struct bn_node_pair {
	int cpu_node, mem_node;
	int *cpu;     /* CPUs of cpu_node that this process may use, ascending */
	size_t n_cpu;
};
struct bn_node_pairs {
	struct bn_node_pair *v;
	size_t n;
};
/* Lists every node with usable CPUs with every node with memory. One pair 0,0 if the kernel has no NUMA support. */
void bn_node_pairs(struct bn_node_pairs *ret);
void bn_node_pairs_clear(struct bn_node_pairs *p);
#define bn_auto_node_pairs	__attribute__((cleanup(bn_node_pairs_clear))) struct bn_node_pairs

/* Maps new memory on that node, not yet touched. Returns NULL and sets errno on failure. huge: request huge pages. Free
 * with munmap(). */
void *bn_node_map(size_t bytes, int node, bool huge);
/* Checks that touched memory is on that node. If a node has no free memory, the kernel silently uses other nodes, and
 * another path would be measured. Returns -ENOMEM if fewer than 99 of 100 pages are there. */
int bn_node_placed(void *p, size_t bytes, int node, struct gt_err *err);
void bn_bind_cpu(int cpu);
#endif
