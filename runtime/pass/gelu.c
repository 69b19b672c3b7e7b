/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backward through gelu between two linear layers: the product that makes the gradient of gelu's result is multiplied by gelu's
 * derivative before it is written (cuBLASLt's DGELU), where it would be written, read and written again, of a tensor that is the
 * largest of its block. The bias's gradient needs no epilogue here: the product for the weight's gradient gives it in f32
 * (BGRADB), and DGELU_BGRAD would give it in the product's type. Before activation checkpointing, whose copies then follow.
 */
#include "runtime/pass/pass.h"

/* The only call that writes n, if one. */
static struct rt_call *only_writer(const struct rt_plan *p, const struct rt_node *n)
{
	struct rt_call *found = NULL;

	for (int i = 0; i < p->ir.n_calls; i++)
		if (rt_writes(p->ir.calls[i], n)) {
			if (found)
				return NULL;
			found = p->ir.calls[i];
		}
	return found;
}

static void forget_gradient(struct rt_plan *p, const struct rt_node *n)
{
	for (int i = 0; i < p->n_graph_nodes; i++)
		if (p->gradient[i] == n)
			p->gradient[i] = NULL;
}

static bool take(struct rt_plan *p, int at)
{
	struct rt_call *act = p->ir.calls[at], *product;

	if (act->op->id != RT_OP_ACT_BWD || act->attr.act != RT_ACT_GELU || act->attr.accumulate)
		return false;
	product = only_writer(p, act->in[0]);
	if (!product || product->op->id != RT_OP_LINEAR_BWD_X || rt_plan_uses(p, act->in[0]) != 1)
		return false;
	forget_gradient(p, act->in[0]);
	product->attr.act = RT_ACT_GELU;
	product->in[2] = act->in[1];
	product->out[0] = act->out[0];
	rt_plan_remove(p, at);
	return true;
}

static int gelu(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int n = 0;

	/* The library's gelu is an approximation that float results would show, and its products of 8 bits know no derivative. */
	if (p->opt->device != RT_CUDA || p->opt->precision.amp == RT_F32 || p->opt->precision.fp8.use || p->opt->debug.no_fuse)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++) {
		bool taken = take(p, i);

		n += taken;
		i -= taken;
	}
	if (n)
		gt_buf_printf(did, "%d derivatives of gelu into the products before them", n);
	return 0;
}

const struct rt_pass rt_pass_gelu = { .name = "gelu", .run = gelu };
