/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_NODE_H
#define BN_NODE_H
/* What workloads of memory share: the sizes of the caches, what is free, and pairs of NUMA nodes. */
#include "bench/workload/workload.h"

/* Size of all last-level caches together, each counted once; 0 when the host does not say. */
uint64_t bn_llc_bytes(struct gt_fsroot *fs);

/* Where threads run and where the memory lies that they use. */
struct bn_node_pair {
	int cpu_node, mem_node;
	int *cpu;     /* CPUs of cpu_node that this process may use, ascending */
	size_t n_cpu;
};
struct bn_node_pairs {
	struct bn_node_pair *v;
	size_t n;
};
/* Every node with CPUs of ours by every node with memory; one pair 0,0 where the kernel knows no nodes. */
void bn_node_pairs(struct bn_node_pairs *ret);
void bn_node_pairs_clear(struct bn_node_pairs *p);

/* Fresh memory on that node, not yet touched; NULL and errno. huge: ask for huge pages. munmap() frees it. */
void *bn_node_map(size_t bytes, int node, bool huge);
/* Does memory that was touched lie on that node? A node without free memory is silently helped out by others, and what was
 * measured then is another way than the one named. -ENOMEM and a sentence if less than 99 of 100 pages are there. */
int bn_node_placed(void *p, size_t bytes, int node, struct gt_err *err);
void bn_bind_cpu(int cpu);
#endif
