/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_BUCKET_H
#define RT_BUCKET_H
/* The plan of ranks that train together: the buckets of gradients, and how the ranks share the work. ddp/ carries it out. */
#include "runtime/graph/ir.h"
#include "runtime/transport/comm.h"

/* Made by the pass. Gradient i lies at `at[i]` floats in the bucket. */
struct rt_bucket {
	struct rt_node **gradient;
	int64_t *at;
	int n;
	int64_t floats;
	uint64_t offset; /* bytes, in the window */
};
/* The floats behind gradient i that belong to none, from *ret_at on. A codec takes the bucket as a whole, and nobody else writes
 * them: they are cleared before it does, each time, for of a bucket that is not finite nothing comes back that is. */
int64_t rt_bucket_gap(const struct rt_bucket *b, int i, int64_t *ret_at);

/* How the ranks work together; all decide alike. Collective. */
struct rt_ranks {
	bool overlap; /* buckets are reduced during the backward pass */
	const char *overlap_why;
	/* The ranks of a node share the update out: how many, which we are, their ranks in rt_comm_local(). 0: each does all. */
	int team, me, member[RT_MAX_RANKS];
	const char *shard_why; /* why not, if not */
	bool fused;	       /* no reduction of its own: the update adds the gradients of all ranks up */
	bool judged;	       /* gradients are looked at before they are spent: an update may come to nothing */
};
#endif
