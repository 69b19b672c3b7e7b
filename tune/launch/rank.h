/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANK_H
#define TN_RANK_H
/* Rank of this process on the host and its GPU, from the variables of torchrun, srun, mpirun and CUDA. */
#include "tune/launch/context.h"

#define TN_RANKS_MAX 4096 /* per host; a larger number is no number of ranks */

struct tn_rank {
	unsigned index, count; /* on this host; 0 of 1 if no launcher set them */
	bool from_launcher;             /* set by a launcher's variables */
	const char *variable;  /* variable that contains index; NULL: none */
};
struct tn_rank tn_rank_of(const struct tn_launch *c);
/* Returns the launchers' variables of this rank as in TN_RANK_DONE; NULL: no launcher has set them. The caller frees it. */
char *tn_rank_identity(char *const *envp);
/* Returns the number of GPUs that this process may use, by --gpu, else by CUDA_VISIBLE_DEVICES, else all of the host. */
unsigned tn_rank_visible(const struct tn_launch *c);
/* Returns the number of GPUs for which this process may start a process. 1 if it is one of several ranks or known to be
 * one process. At least 1. */
unsigned tn_rank_gpus(const struct tn_launch *c);
/* Returns whether the launcher's variables show more hosts than this one. */
bool tn_rank_many_hosts(const struct tn_launch *c);

/* Returns NULL if GPU numbers mean the GPUs that nvidia-smi gives them, else a clause with the reason (the caller frees
 * it). They do if all GPUs are of one model, or with CUDA_DEVICE_ORDER=PCI_BUS_ID. gputune sets that unless the user
 * gave numbers in CUDA's own order or another value. UUIDs do not depend on the order. */
char *tn_rank_order_differs(const struct tn_launch *c);
/* Returns the GPU of one rank, by --gpu, else by CUDA_VISIBLE_DEVICES, else by the rank itself. NULL: none or unknown;
 * *ret_why (the caller frees it) has the reason. */
const struct pr_gpu *tn_rank_gpu(const struct tn_launch *c, struct tn_rank rank, char **ret_why);
/* Returns index and count of this rank among the ranks whose GPU is at the node of this rank's GPU. If only its own GPU
 * is visible to each rank, ranks are assumed to have GPUs in order. If the GPU of this rank contradicts that, every GPU
 * is assumed to have a rank. */
struct tn_rank tn_rank_at_node(const struct tn_launch *c, struct tn_rank rank, const struct pr_gpu *gpu);
#endif
