/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANK_H
#define TN_RANK_H
/* Rank of this process on the host and its GPU, from the variables of torchrun, srun, mpirun and CUDA. */
#include "tune/launch/context.h"

#define TN_RANKS_MAX 4096 /* ranks of one host; larger numbers are rejected */

struct tn_rank {
	unsigned index, count; /* rank and number of ranks on this host; 0 of 1 if no launcher set them */
	bool from_launcher;             /* set by variables of a launcher */
	const char *variable;  /* variable that contains index; NULL: none */
};
struct tn_rank tn_rank_of(const struct tn_launch *c);
/*
 * Returns the launchers' variables of this rank in the format of TN_RANK_DONE. NULL: no launcher has set them. The
 * caller frees it.
 */
char *tn_rank_identity(char *const *envp);
/*
 * Returns the number of GPUs that this process may use: those of --gpu, else of CUDA_VISIBLE_DEVICES, else all of the
 * host.
 */
unsigned tn_rank_visible(const struct tn_launch *c);
/*
 * Returns the number of GPUs for which this process may start a process each. 1 if it is one of several ranks, or
 * certainly a single process. At least 1.
 */
unsigned tn_rank_gpus(const struct tn_launch *c);
/* Returns whether the launcher's variables name more than one host. */
bool tn_rank_many_hosts(const struct tn_launch *c);

/*
 * Returns NULL if CUDA numbers the GPUs as nvidia-smi does, else a clause with the reason (the caller frees it). That is
 * the case if all GPUs are of one model, and with CUDA_DEVICE_ORDER=PCI_BUS_ID. gputune sets that variable unless the
 * user set it to another value or gave numbers in CUDA's own order. UUIDs do not depend on the order.
 */
char *tn_rank_order_differs(const struct tn_launch *c);
/* Returns the GPU of one rank, by --gpu, else by CUDA_VISIBLE_DEVICES, else by the rank itself. NULL: none or unknown;
 * *ret_why (the caller frees it) has the reason. */
const struct pr_gpu *tn_rank_gpu(const struct tn_launch *c, struct tn_rank rank, char **ret_why);
/*
 * Returns index and count of this rank among the ranks whose GPU is on the same node. If each rank sees only its own
 * GPU, the ranks are assumed to have the GPUs in order. If this rank's GPU contradicts that, every GPU is assumed to
 * have a rank.
 */
struct tn_rank tn_rank_at_node(const struct tn_launch *c, struct tn_rank rank, const struct pr_gpu *gpu);
#endif
