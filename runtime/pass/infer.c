/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that do not train: merges a batchnorm into the weight and bias of the product before it. The merged
 * parameters are computed once, not per batch. Also fuses a relu after a convolution into the bias addition.
 */
#include "runtime/pass/rewrite.h"

static struct rt_node *folded(struct rt_plan *p, const struct rt_node *like, const struct rt_shape *shape, const char *what)
{
	gt_autofree char *name = gt_xasprintf("%s folded into %s", what, like->name);

	return rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_F32, shape, name);
}

static bool is_persistent(const struct rt_node *n)
{
	return !n || n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER;
}

static bool fold(struct rt_plan *p, int at, int producer)
{
	struct rt_call *norm = p->ir.calls[at], *product = p->ir.calls[producer], *c;
	const struct rt_call old = *norm;
	struct rt_node *w = product->in[1];

	for (int k = 1; k < RT_MAX_IO; k++) /* the inputs of a run-once call must exist from the start and keep their values */
		if (!is_persistent(product->in[k]) || !is_persistent(norm->in[k]))
			return false;
	rt_plan_remove(p, at);
	c = rt_emit_before(p, 0, RT_OP_FOLD, RT_PHASE_FORWARD);
	*c = (struct rt_call){
		.op = c->op,
		.attr = { .eps = old.attr.eps },
		.run_once = true,
		.in = { w, product->in[2], old.in[1], old.in[2], old.in[3], old.in[4] },
		.out = { folded(p, w, &w->shape, "scale"), folded(p, w, &old.in[1]->shape, "offset") },
	};
	product->in[1] = c->out[0];
	product->in[2] = c->out[1];
	product->out[0] = old.out[0];
	return true;
}

static bool take_relu(struct rt_plan *p, int at, int producer)
{
	p->ir.calls[producer]->attr.act = RT_ACT_RELU;
	p->ir.calls[producer]->out[0] = p->ir.calls[at]->out[0];
	rt_plan_remove(p, at);
	return true;
}

static int infer(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const struct rt_pattern norms[] = {
		{ .op = RT_OP_BATCHNORM, .producer = RT_OP_CONV, .plain = true, .fuse = fold },
		{ .op = RT_OP_BATCHNORM, .producer = RT_OP_LINEAR, .plain = true, .fuse = fold },
	};
	static const struct rt_pattern relu = { .op = RT_OP_ACT, .act = RT_ACT_RELU, .producer = RT_OP_CONV, .plain = true,
						.fuse = take_relu };
	int folds[2] = { 0 }, relus = 0;

	if (p->opt->debug.no_fuse || rt_plan_trains(p))
		return 0;
	rt_fuse(p, norms, 2, folds);
	rt_fuse(p, &relu, 1, &relus);
	if (folds[0] + folds[1] + relus)
		gt_buf_printf(did, "%d batchnorms folded into the products before them, %d relus into convolutions",
			      folds[0] + folds[1], relus);
	return 0;
}

const struct rt_pass rt_pass_infer = { .name = "infer", .run = infer };
