/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours that would send a tensor through memory between them become one call:
 *   linear, gelu|relu          -> linear with the activation applied while the bias is added
 *   add, layernorm             -> add_layernorm
 *   linear, cross_entropy      -> linear_cross_entropy: the logits exist only slice by slice
 */
#include "runtime/pass/pass.h"

static int find_maker(const struct rt_plan *p, const struct rt_node *n, enum rt_op_id op)
{
	for (int i = 0; i < p->ir.n_calls; i++)
		if (p->ir.calls[i]->out[0] == n)
			return p->ir.calls[i]->op->id == op ? i : -1;
	return -1;
}

static bool fuse_act(struct rt_plan *p, int at)
{
	struct rt_call *act = p->ir.calls[at], *linear;
	int i = find_maker(p, act->in[0], RT_OP_LINEAR);

	if (act->op->id != RT_OP_ACT || i < 0 || p->ir.calls[i]->attr.act != RT_ACT_NONE)
		return false;
	linear = p->ir.calls[i];
	if (rt_plan_uses(p, act->in[0]) != 1)
		return false;
	linear->attr.act = act->attr.act;
	linear->out[0] = act->out[0];
	if (rt_act_reads_input(act->attr.act))
		linear->out[1] = act->in[0];
	rt_plan_remove(p, at);
	return true;
}

/* Is n not there yet when call i runs? */
static bool made_behind(const struct rt_plan *p, const struct rt_node *n, int i)
{
	for (i++; i < p->ir.n_calls; i++)
		if (rt_writes(p->ir.calls[i], n))
			return true;
	return false;
}

static bool fuse_norm(struct rt_plan *p, int at)
{
	struct rt_call *norm = p->ir.calls[at], *add, *fused;
	int i = find_maker(p, norm->in[0], RT_OP_ADD);

	if (norm->op->id != RT_OP_LAYERNORM || i < 0)
		return false;
	add = p->ir.calls[i];
	if (!rt_same_shape(add->in[0], add->in[1]) || made_behind(p, norm->in[1], i) || made_behind(p, norm->in[2], i))
		return false;
	fused = gt_xcalloc(1, sizeof(*fused));
	*fused = (struct rt_call){
		.op = rt_ops[RT_OP_ADD_LAYERNORM],
		.attr = norm->attr,
		.in = { add->in[0], add->in[1], norm->in[1], norm->in[2] },
		.out = { add->out[0], norm->out[0], norm->out[1], norm->out[2] },
	};
	rt_plan_remove(p, at);
	rt_plan_remove(p, i);
	rt_plan_insert(p, i, fused);
	return true;
}

static struct rt_node *gradient_like(struct rt_plan *p, const struct rt_node *n)
{
	gt_autofree char *name = NULL;

	if (!n)
		return NULL;
	name = gt_xasprintf("d %s", n->name);
	return rt_ir_node(&p->ir, RT_ROLE_GRADIENT, RT_F32, &n->shape, name);
}

static bool fuse_loss(struct rt_plan *p, int at)
{
	struct rt_call *loss = p->ir.calls[at], *linear, *fused;
	int i = find_maker(p, loss->in[0], RT_OP_LINEAR);

	if (loss->op->id != RT_OP_CROSS_ENTROPY || i < 0 || rt_plan_uses(p, loss->in[0]) != 1 ||
	    p->ir.calls[i]->attr.act != RT_ACT_NONE)
		return false;
	linear = p->ir.calls[i];
	fused = gt_xcalloc(1, sizeof(*fused));
	*fused = (struct rt_call){
		.op = rt_ops[RT_OP_LINEAR_CROSS_ENTROPY],
		.attr = { .slice_bytes = p->opt->memory.logits_slice_bytes },
		.in = { linear->in[0], linear->in[1], linear->in[2], loss->in[1] },
		.out = { loss->out[0], gradient_like(p, linear->in[0]), gradient_like(p, linear->in[1]),
			 gradient_like(p, linear->in[2]), loss->out[2] },
	};
	rt_plan_remove(p, at);
	rt_plan_remove(p, i);
	rt_plan_insert(p, at - 1, fused);
	return true;
}

static int fuse(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int acts = 0, norms = 0, losses = 0;

	if (p->opt->debug.no_fuse)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++) {
		bool act = fuse_act(p, i), norm = !act && fuse_norm(p, i), loss = !act && !norm && fuse_loss(p, i);

		acts += act;
		norms += norm;
		losses += loss;
		i -= act + norm + loss;
	}
	if (acts + norms + losses)
		gt_buf_printf(did, "%d activations into products, %d residual sums into norms, %d output projections into losses",
			      acts, norms, losses);
	return 0;
}

const struct rt_pass rt_pass_fuse = { .name = "fuse", .run = fuse };
