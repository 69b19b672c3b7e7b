/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives among the ranks of group attr.dim, which has attr.parts ranks. pass/tensor.c emits them, ddp/groups.c runs
 * them. x_r is the tensor of rank r.
 *
 * all_reduce:     y = sum of x_r; equal in all ranks. The gradient of each x_r is dy, which is equal in all ranks. Further
 *                 pairs in[k], out[k] are summed at the same time.
 * replicate:      y = x, which is equal in all ranks, for ops that differ between the ranks. Each rank has a part of dx,
 *                 so dx is the sum of dy_r. pass/tensor.c removes the call once the gradients are known.
 * all_gather:     y (parts,…) = x_0, x_1, … one after the other. The gradient is a reduce_scatter. With attr.equal all ranks
 *                 compute the same from y, so dy is equal and the gradient is the own block of it.
 * reduce_scatter: y = block r of the sum of x_r (parts,…) in rank r. The gradient is an all_gather.
 * own_rows:       y = block r of x in rank r, where x is equal in all ranks. Sends nothing. The gradient is an all_gather.
 */
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

/* Emits `op` from the gradient of the output to that of the input. */
static void through(struct rt_ad *ad, const struct rt_call *c, enum rt_op_id op)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, op, &(struct rt_attr){ .dim = c->attr.dim, .parts = c->attr.parts, .part = c->attr.part });
	k->in[0] = rt_ad_get(ad, c->out[0]);
	rt_ad_into(ad, k, 0, c->in[0]);
}

static void all_reduce_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	rt_ad_alias(ad, c->in[0], rt_ad_get(ad, c->out[0]));
}

static void replicate_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	through(ad, c, RT_OP_ALL_REDUCE);
}

static void all_gather_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	through(ad, c, c->attr.equal ? RT_OP_OWN_ROWS : RT_OP_REDUCE_SCATTER);
}

static void block_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	through(ad, c, RT_OP_ALL_GATHER);
}

const struct rt_op rt_op_all_reduce = {
	.id = RT_OP_ALL_REDUCE,
	.name = "all_reduce",
	.keeps_type = true,
	.inplace = RT_INPLACE(0, 0) | RT_INPLACE(1, 1) | RT_INPLACE(2, 2) | RT_INPLACE(3, 3) | RT_INPLACE(4, 4) |
		   RT_INPLACE(5, 5) | RT_INPLACE(6, 6) | RT_INPLACE(7, 7),
	.collective = RT_GROUP_CALL,
	.gradient = all_reduce_gradient,
};
const struct rt_op rt_op_replicate = {
	.id = RT_OP_REPLICATE,
	.name = "replicate",
	.gradient = replicate_gradient,
};
const struct rt_op rt_op_all_gather = {
	.id = RT_OP_ALL_GATHER,
	.name = "all_gather",
	.keeps_type = true,
	.collective = RT_GROUP_CALL,
	.gradient = all_gather_gradient,
};
const struct rt_op rt_op_reduce_scatter = {
	.id = RT_OP_REDUCE_SCATTER,
	.name = "reduce_scatter",
	.keeps_type = true,
	.collective = RT_GROUP_CALL,
	.gradient = block_gradient,
};
const struct rt_op rt_op_own_rows = {
	.id = RT_OP_OWN_ROWS,
	.name = "own_rows",
	.keeps_type = true,
	.gradient = block_gradient,
};
