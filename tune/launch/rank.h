/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANK_H
#define TN_RANK_H
/* Which process of how many this is, and which GPU is its own: as torchrun, srun, mpirun and CUDA's own variables say
 * it. */
#include "tune/launch/context.h"

#define TN_RANKS_MAX 4096 /* on a host; a larger number is no number of ranks */

struct tn_rank {
	unsigned index, count; /* on this host; 0 of 1 if nobody says */
	bool told;             /* by a launcher's variables */
	const char *variable;  /* the one that said index; NULL: none did */
};
struct tn_rank tn_rank_of(const struct tn_launch *c);
/* GPUs that this process sees, by --gpu, else CUDA_VISIBLE_DEVICES, else all of the host's. */
unsigned tn_rank_visible(const struct tn_launch *c);
/* GPUs that this process may start a process for: 1 where it is one of several ranks, or known to be one process, whatever it sees.
 * At least 1. */
unsigned tn_rank_gpus(const struct tn_launch *c);
/* Do the launcher's variables show that the job has more hosts than this one? */
bool tn_rank_many_hosts(const struct tn_launch *c);

/* Numbers mean the GPUs that nvidia-smi gives them where all are of one model, or CUDA_DEVICE_ORDER is PCI_BUS_ID, which we set
 * unless the user has written down numbers in CUDA's own order or sets another one. NULL: so it is here; else a clause, why not
 * (the caller frees it). Names (UUIDs) mean the same in any order. */
char *tn_rank_order_differs(const struct tn_launch *c);
/* The GPU of one rank, by --gpu, else CUDA_VISIBLE_DEVICES, else the rank itself. NULL: none, or not known; then
 * *ret_why (the caller frees it) says why. */
const struct pr_gpu *tn_rank_gpu(const struct tn_launch *c, struct tn_rank rank, char **ret_why);
/* Which of how many this is among the ranks whose GPU lies at the node of this one's. Where each rank sees its own GPU only, they
 * are taken to have them in turn; if this one has not, every GPU to have a rank. */
struct tn_rank tn_rank_at_node(const struct tn_launch *c, struct tn_rank rank, const struct pr_gpu *gpu);
#endif
