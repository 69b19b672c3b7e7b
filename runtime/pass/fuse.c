/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuses neighbouring calls, to avoid a tensor in memory between them:
 *   linear, gelu|relu          -> linear with the activation applied while the bias is added
 *   add, layernorm             -> add_layernorm
 *   linear, cross_entropy      -> linear_cross_entropy: the logits exist only slice by slice
 */
#include "runtime/pass/rewrite.h"

/* linear, gelu or relu */
static bool fuse_act(struct rt_plan *p, int at, int producer)
{
	struct rt_call *act = p->ir.calls[at], *linear = p->ir.calls[producer];

	linear->attr.act = act->attr.act;
	linear->out[0] = act->out[0];
	if (rt_act_reads_input(act->attr.act))
		linear->out[1] = act->in[0];
	rt_plan_remove(p, at);
	return true;
}

/* Replaces two calls by one call of `op` before position `before`, counted after both were removed. */
static struct rt_call *replace(struct rt_plan *p, int at, int producer, int before, enum rt_op_id op)
{
	rt_plan_remove(p, at);
	rt_plan_remove(p, producer);
	return rt_emit_before(p, before, op, RT_PHASE_FORWARD);
}

/* add, layernorm. The fused call takes the place of the addition if the norm's parameters exist there. */
static bool fuse_norm(struct rt_plan *p, int at, int producer)
{
	const struct rt_call norm = *p->ir.calls[at], add = *p->ir.calls[producer];
	struct rt_call *c;

	if (!rt_same_shape(add.in[0], add.in[1]) || rt_producer_in(p, norm.in[1], producer + 1, p->ir.n_calls) >= 0 ||
	    rt_producer_in(p, norm.in[2], producer + 1, p->ir.n_calls) >= 0)
		return false;
	c = replace(p, at, producer, producer, RT_OP_ADD_LAYERNORM);
	*c = (struct rt_call){
		.op = c->op,
		.attr = norm.attr,
		.in = { add.in[0], add.in[1], norm.in[1], norm.in[2] },
		.out = { add.out[0], norm.out[0], norm.out[1], norm.out[2] },
	};
	return true;
}

static struct rt_node *gradient_like(struct rt_plan *p, const struct rt_node *n)
{
	return n ? rt_node_like(p, RT_ROLE_GRADIENT, RT_F32, n, "d") : NULL;
}

/* linear, cross_entropy */
static bool fuse_loss(struct rt_plan *p, int at, int producer)
{
	const struct rt_call loss = *p->ir.calls[at], linear = *p->ir.calls[producer];
	struct rt_call *c = replace(p, at, producer, at - 1, RT_OP_LINEAR_CROSS_ENTROPY);

	*c = (struct rt_call){
		.op = c->op,
		.attr = { .slice_bytes = p->opt->memory.logits_slice_bytes },
		.in = { linear.in[0], linear.in[1], linear.in[2], loss.in[1] },
		.out = { loss.out[0], gradient_like(p, linear.in[0]), gradient_like(p, linear.in[1]),
			 gradient_like(p, linear.in[2]), loss.out[2] },
	};
	return true;
}

static int fuse(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const struct rt_pattern patterns[] = {
		{ .op = RT_OP_ACT, .producer = RT_OP_LINEAR, .plain = true, .fuse = fuse_act },
		{ .op = RT_OP_LAYERNORM, .producer = RT_OP_ADD, .shared = true, .fuse = fuse_norm },
		{ .op = RT_OP_CROSS_ENTROPY, .producer = RT_OP_LINEAR, .plain = true, .fuse = fuse_loss },
	};
	int n[3] = { 0 };

	if (p->opt->debug.no_fuse)
		return 0;
	rt_fuse(p, patterns, 3, n);
	if (n[0] + n[1] + n[2])
		gt_buf_printf(did, "fused %d activations into products, %d residual sums into norms, %d output projections "
			      "into losses",
			      n[0], n[1], n[2]);
	return 0;
}

const struct rt_pass rt_pass_fuse = { .name = "fuse", .run = fuse };
