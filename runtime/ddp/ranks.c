/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how the ranks of a program work together: once, identically in all ranks, before the program is planned. */
#include <errno.h>
#include <math.h>
#include "runtime/ddp/ddp.h"
#include "runtime/transport/transport.h"

static void decide_overlap(const struct rt_options *o, struct rt_ranks *ret)
{
	bool device = o->device == RT_CUDA, network = rt_comm_hosts(o->ranks.comm) > 1;

	ret->overlap = o->ranks.overlap == RT_WHEN_ON || (o->ranks.overlap == RT_WHEN_AUTO && (device || network));
	if (o->ranks.overlap != RT_WHEN_AUTO)
		ret->overlap_why = "as requested";
	else
		ret->overlap_why = device  ? "the device moves the gradients" :
				   network ? "the network moves the gradients" :
					     "the ranks themselves move the gradients";
}

static bool has_state_to_share(const struct rt_options *o)
{
	return o->device == RT_CPU && o->optimizer.kind != RT_NO_OPTIMIZER && o->ranks.shard == RT_WHEN_ON;
}

/* Fails in every rank unless all ranks shard the same tensors. */
static int agree_on_stage(const struct rt_options *o, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(o->ranks.comm, has_state_to_share(o) ? GT_MAX(o->ranks.shard_stage, 1) : 0, of, err);

	for (int i = 1; !r && i < rt_comm_size(o->ranks.comm); i++)
		if (fabs(of[i] - of[0]) > 0)
			return gt_fail(err, EINVAL, "rank 0 shards at stage %g and rank %d at stage %g: all ranks need the same "
				       "options", of[0], i, of[i]);
	return r;
}

/*
 * Refuses a stage of sharding that these ranks cannot run: gradients are summed, and parameters gathered, in the windows
 * of all ranks.
 */
static int check_stage(const struct rt_options *o, const struct rt_ranks *k, struct gt_err *err)
{
	int stage = o->ranks.shard_stage, size = rt_comm_size(o->ranks.comm);

	if (stage < 0 || stage > 3)
		return gt_fail(err, EINVAL, "stage %d of sharding: 1 to 3 are possible", stage);
	if (stage < 2 || !has_state_to_share(o))
		return 0;
	if (size > 1 && k->team != size)
		return gt_fail(err, EINVAL, "stage %d of sharding needs all %d ranks on one NUMA node: this node has %d", stage,
			       size, GT_MAX(k->team, 1));
	if (o->pipeline.comm && o->pipeline.schedule == RT_GPIPE) /* a fused loss writes gradients in the forward pass */
		return gt_fail(err, EINVAL, "stage %d of sharding sums the gradients of each microbatch before the next "
			       "forward pass of the loss: use 1f1b instead of gpipe", stage);
	if (o->ranks.compress != RT_COMPRESS_NONE)
		return gt_fail(err, EINVAL, "stage %d of sharding does not compress gradients: use stage 1", stage);
	if (o->debug.keep_gradients || o->debug.zero_gradients)
		return gt_fail(err, EINVAL, "stage %d of sharding has no whole gradients to keep or to clear: use stage 1", stage);
	return 0;
}

/* Decides whether updates are sharded. Every rank takes part, whatever its own options are. */
static int decide_shard(const struct rt_options *o, struct rt_ranks *ret, struct gt_err *err)
{
	const struct rt_comm *local = rt_comm_local(o->ranks.comm);
	double of[RT_MAX_RANKS];
	struct rt_team team;
	bool equal = true;
	int r;

	rt_comm_node_team(local, &team);
	r = rt_comm_gather(o->ranks.comm, has_state_to_share(o) ? team.n : 0, of, err);
	if (r)
		return r;
	for (int i = 1; i < rt_comm_size(o->ranks.comm); i++)
		equal &= !(fabs(of[i] - of[0]) > 0);
	if (!equal && o->ranks.shard == RT_WHEN_ON)
		return gt_fail(err, EINVAL,
			       "the update cannot be sharded: the NUMA nodes have different numbers of ranks");
	ret->shard_why = !has_state_to_share(o) ? "not requested"
			 : !equal               ? "nodes have different numbers of ranks"
						: "one rank per node";
	if (!equal || !has_state_to_share(o) || team.n < 2)
		return 0;
	ret->shard_why = NULL;
	ret->stage = GT_MAX(o->ranks.shard_stage, 1);
	ret->team = team.n;
	ret->index = team.me;
	for (int i = 0; i < team.n; i++)
		ret->member[i] = team.rank[i];
	return 0;
}

/* Refuses options.ranks.gather where rank 0 cannot sum the gradients in its update. */
static int check_gather(const struct rt_options *o, bool gradients_wanted, struct gt_err *err)
{
	int hosts = rt_comm_hosts(o->ranks.comm);

	if (hosts > 1)
		return gt_fail(err, EINVAL, "rank 0 can gather gradients from ranks of its host only: the ranks are on %d hosts",
			       hosts);
	if (o->ranks.shard == RT_WHEN_ON || o->ranks.compress != RT_COMPRESS_NONE || o->sparse)
		return gt_fail(err, EINVAL, "rank 0 cannot gather sharded or compressed gradients, or those of pruned weights");
	if (gradients_wanted || o->debug.keep_gradients)
		return gt_fail(err, EINVAL, "rank 0 sums gathered gradients in its update: they cannot be clipped, scaled or kept");
	return 0;
}

/* Up to this number of ranks, a fused update without sharding moves no more memory than a reduction. */
#define FEW	3

/*
 * Returns whether the update sums the gradients itself, in its own pass over memory. With a sharded update this always
 * saves work. Otherwise each of n ranks updates all P parameters: it reads n P gradients and writes none. A separate
 * reduction reads P and writes P, half of it into cache lines of other ranks, and the update then reads P.
 */
static bool can_fuse(const struct rt_options *o, const struct rt_ranks *k)
{
	const struct rt_comm *c = o->ranks.comm;

	if (o->device == RT_CUDA || o->ranks.compress != RT_COMPRESS_NONE || o->debug.keep_gradients ||
	    o->optimizer.kind == RT_NO_OPTIMIZER)
		return false;
	if (k->team)
		return k->team == rt_comm_size(c);
	return rt_comm_hosts(c) == 1 && rt_comm_nodes(c) == 1 && rt_comm_size(c) > 1 && rt_comm_size(c) <= FEW;
}

int rt_ranks_decide(const struct rt_options *o, bool gradients_wanted, struct rt_ranks *ret, struct gt_err *err)
{
	struct rt_ranks w = { 0 };
	int r;

	if (!o->ranks.comm)
		return 0;
	if (o->device == RT_CUDA && o->ranks.shard == RT_WHEN_ON)
		return gt_fail(err, ENOSYS, "ranks on cuda devices each update everything: a sharded update needs the CPU");
	if (o->device == RT_CUDA && o->ranks.gather)
		return gt_fail(err, ENOSYS, "ranks on cuda devices each update everything: an update by rank 0 needs the CPU");
	decide_overlap(o, &w);
	r = agree_on_stage(o, err);
	if (r)
		return r;
	r = decide_shard(o, &w, err);
	if (r)
		return r;
	r = check_stage(o, &w, err);
	if (r)
		return r;
	r = o->ranks.gather ? check_gather(o, gradients_wanted, err) : 0;
	if (r)
		return r;
	w.gather = o->ranks.gather;
	w.may_skip = gradients_wanted;
	w.fused = w.stage >= 2 || w.gather || (!gradients_wanted && can_fuse(o, &w));
	*ret = w;
	return 0;
}
