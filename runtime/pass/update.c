/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One update per parameter. Each runs once its gradient is complete and the old value has no later reader. The gradient
 * is then still in the cache, and its memory is free for later tensors.
 */
#include "runtime/pass/rewrite.h"

/* Tensors with fewer elements keep their moments in f32. */
#define MIN_8BIT	4096

static struct rt_node *new_state(struct rt_plan *p, const struct rt_node *param, const struct rt_op_state *s)
{
	gt_autofree char *name = gt_xasprintf("%s %s", s->name, param->name);
	struct rt_shape shape = param->shape;
	struct rt_node *n;

	if (s->block)
		shape = RT_SHAPE((rt_shape_elements(&shape) + s->block - 1) / s->block);
	n = rt_ir_node(&p->ir, RT_ROLE_STATE, s->dtype, &shape, name);
	n->cut = param->cut;
	return n;
}

static enum rt_op_id update_op(const struct rt_optimizer *o, const struct rt_node *param)
{
	if (o->kind == RT_SGD)
		return RT_OP_SGD;
	return o->kind == RT_ADAMW8 && rt_shape_elements(&param->shape) >= MIN_8BIT ? RT_OP_ADAMW8 : RT_OP_ADAMW;
}

static bool has_state(const struct rt_optimizer *o)
{
	return o->kind != RT_SGD || o->momentum != 0;
}

static struct rt_call *update_call(struct rt_plan *p, struct rt_node *param, struct rt_node *gradient)
{
	const struct rt_optimizer *o = &p->opt->optimizer;
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	c->op = rt_ops[update_op(o, param)];
	c->phase = RT_PHASE_UPDATE;
	c->origin = param->name;
	c->in[0] = gradient;
	c->out[0] = param;
	for (int k = 0; c->op->states[k].name; k++)
		if (has_state(o)) {
			c->out[1 + k] = new_state(p, param, &c->op->states[k]);
			c->out[1 + k]->stage = param->stage;
		}
	return c;
}

/* Returns the position after the last call that uses the gradient or reads the parameter. It is at least the start of
 * the backward pass: no update runs before the loss was checked. */
static int earliest(const struct rt_plan *p, const struct rt_node *param, const struct rt_node *gradient)
{
	int last = GT_MAX(rt_last_use(p, param, RT_PHASE_UPDATE), rt_last_use(p, gradient, RT_PHASE_UPDATE));

	return GT_MAX(last + 1, rt_forward_end(p));
}

/* Declares the state of parameters of other stages, which this rank may write to a checkpoint. */
static void declare_absent(struct rt_plan *p, const struct rt_node *param)
{
	const struct rt_op *op = rt_ops[update_op(&p->opt->optimizer, param)];

	for (int k = 0; op->states[k].name && has_state(&p->opt->optimizer); k++) {
		struct rt_node *state = new_state(p, param, &op->states[k]);

		state->absent = true;
		state->stage = param->stage;
	}
}

/* Reads the gradient, so that passes which move updates move the mask with its update. */
static struct rt_call *mask_call(struct rt_plan *p, struct rt_node *param, struct rt_node *gradient)
{
	static const struct rt_op_state mask = { "mask", RT_U8 };
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	c->op = rt_ops[RT_OP_MASK];
	c->phase = RT_PHASE_UPDATE;
	c->origin = param->name;
	c->in[0] = gradient;
	c->out[0] = param;
	c->out[1] = new_state(p, param, &mask);
	c->out[1]->masked = true;
	return c;
}

static int update(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	bool wait = p->opt->debug.no_early_update || p->opt->debug.anomaly || rt_plan_measures_gradients(p) || p->stage;
	int n = 0, early = 0;

	if (p->opt->optimizer.kind == RT_NO_OPTIMIZER)
		return 0;
	for (int i = 0; i < p->n_graph_nodes; i++) {
		struct rt_node *param = p->ir.nodes[i], *g = p->gradient[i];
		int at;

		if (param->role == RT_ROLE_PARAM && param->absent)
			declare_absent(p, param);
		if (param->role != RT_ROLE_PARAM || !g)
			continue;
		at = wait ? p->ir.n_calls : earliest(p, param, g);
		early += at < p->ir.n_calls;
		rt_plan_insert(p, at, update_call(p, param, g));
		if (param->masked)
			rt_plan_insert(p, at + 1, mask_call(p, param, g));
		n++;
	}
	gt_buf_printf(did, "%d updates, %d of them during the backward pass", n, early);
	return 0;
}

const struct rt_pass rt_pass_update = { .name = "update", .run = update };
