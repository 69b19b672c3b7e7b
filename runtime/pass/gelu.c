/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backward pass of gelu between two linear layers. The product that computes the gradient of gelu's result multiplies
 * by gelu's derivative in its epilogue (cuBLASLt's DGELU). This saves writing, reading and rewriting the largest tensor
 * of the block.
 *
 * The bias gradient needs no epilogue here. The product for the weight gradient computes it in f32 (BGRADB);
 * DGELU_BGRAD would compute it in the product's type. Runs before activation checkpointing, so that recomputed calls
 * use the result.
 */
#include "runtime/pass/rewrite.h"

static void clear_gradient(struct rt_plan *p, const struct rt_node *n)
{
	for (int i = 0; i < p->n_graph_nodes; i++)
		if (p->gradient[i] == n)
			p->gradient[i] = NULL;
}

static bool fuse_derivative(struct rt_plan *p, int at, int producer)
{
	struct rt_call *act = p->ir.calls[at], *product = p->ir.calls[producer];

	if (act->attr.accumulate || rt_producer_in(p, act->in[0], producer + 1, p->ir.n_calls) >= 0)
		return false;
	clear_gradient(p, act->in[0]);
	product->attr.act = RT_ACT_GELU;
	product->in[2] = act->in[1];
	product->out[0] = act->out[0];
	rt_plan_remove(p, at);
	return true;
}

static int gelu(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const struct rt_pattern pattern = { .op = RT_OP_ACT_BWD, .act = RT_ACT_GELU, .producer = RT_OP_LINEAR_BWD_X,
						   .fuse = fuse_derivative };
	int n = 0;

	/* The library's gelu is an approximation that f32 results would show. Its 8-bit products do not support the
	 * derivative. */
	if (!p->target->gelu_epilogue || p->opt->precision.amp == RT_F32 || p->opt->precision.fp8.use || p->opt->debug.no_fuse)
		return 0;
	rt_fuse(p, &pattern, 1, &n);
	if (n)
		gt_buf_printf(did, "%d derivatives of gelu fused into the products before them", n);
	return 0;
}

const struct rt_pass rt_pass_gelu = { .name = "gelu", .run = gelu };
