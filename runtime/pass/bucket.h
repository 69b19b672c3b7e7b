/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_BUCKET_H
#define RT_BUCKET_H
/* The plan for data-parallel ranks: gradient buckets, and the division of work among ranks. ddp/ executes it. */
#include "runtime/graph/ir.h"
#include "runtime/transport/comm.h"

struct rt_plan;
/* A bucket, filled by the pass. Gradient i starts at float `at[i]` of the bucket. */
struct rt_bucket {
	struct rt_node **gradient;
	int64_t *at;
	int n;
	int64_t floats;
	uint64_t offset; /* bytes from the start of the window */
};
/*
 * Returns the padding after gradient i in floats, and its start in *ret_at. Codecs compress the bucket including
 * padding. Clear the padding before each use: the reduction of a bucket with non-finite values leaves such values in the
 * padding too.
 */
int64_t rt_bucket_gap(const struct rt_bucket *b, int i, int64_t *ret_at);

/* How the ranks work together. All ranks must reach the same decision. Collective. */
struct rt_ranks {
	bool overlap; /* buckets are reduced while the backward pass runs */
	const char *overlap_why;
	/* Sharded update: number of ranks of this node, own index, and their ranks in rt_comm_local(). team 0: each
	 * rank updates everything. */
	int team, index, member[RT_MAX_RANKS];
	int stage; /* options.ranks.shard_stage of a sharded update, from 1; 0: not sharded */
	const char *shard_why; /* reason if updates are not sharded */
	bool gather;	       /* options.ranks.gather: rank 0 updates for all */
	bool fused;	       /* no separate reduction: the update adds the gradients of all ranks */
	bool may_skip;	       /* gradients are checked before the update, so an update may be skipped */
};
/* Returns whether ranks write parameters of other ranks. */
static inline bool rt_ranks_send_parameters(const struct rt_ranks *r)
{
	return r->team || r->gather;
}
/* Returns the position after the last use of the bucket's gradients and, if ranks send parameters, of its parameters. */
int rt_bucket_start_position(const struct rt_plan *p, const struct rt_bucket *b);
/* Places the buckets and their calls for sharded sums of gradients. pass/bucket_shard.c */
void rt_bucket_shard(struct rt_plan *p);
#endif
