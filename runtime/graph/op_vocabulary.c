/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss of logits whose columns the ranks of a group split: rank r has the V/parts columns from attr.first_row on.
 * pass/tensor.c emits both. An all_gather between them gives each rank the stats of all parts.
 *
 * softmax_part: probs (M,V/parts) = softmax of the own columns alone; stats (M,2) = their log-sum-exp, and the logit of the
 * target or 0 if it is in another part. in: logits, targets. out: probs, stats
 *
 * cross_entropy_parts: loss (1) = mean over M rows of log-sum-exp of all parts - logit of the target, as cross_entropy.
 * dlogits = probs exp(own log-sum-exp - that of all parts) - onehot, divided by the number of rows.
 * in: probs, targets, stats of all parts (parts M,2). out: loss, dlogits of the own columns, loss of each row (M)
 *
 * The gradient of the logits is an output of the forward pass. It passes softmax_part unchanged.
 */
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static void pass_on(struct rt_ad *ad, const struct rt_call *c)
{
	rt_ad_alias(ad, c->in[0], rt_ad_get(ad, c->out[0]));
}

static void parts_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	rt_ad_alias(ad, c->in[0], c->out[1]);
}

static int64_t target_limit(const struct rt_call *c)
{
	return c->attr.whole_rows;
}

const struct rt_op rt_op_softmax_part = {
	.id = RT_OP_SOFTMAX_PART,
	.name = "softmax_part",
	.f32_out = 2,
	.inplace = RT_INPLACE(0, 0),
	.gradient = pass_on,
};
const struct rt_op rt_op_cross_entropy_parts = {
	.id = RT_OP_CROSS_ENTROPY_PARTS,
	.name = "cross_entropy_parts",
	.f32_out = 5,
	.any_in = 4,
	.index_in = 1,
	.index_limit = target_limit,
	.loss = true,
	.inplace = RT_INPLACE(1, 0),
	.gradient = parts_gradient,
};
