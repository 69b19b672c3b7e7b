/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruned weights: selects the weights that pass/update.c masks after each update. These are the weights of linear layers and
 * convolutions. A table that an embedding reads stays dense.
 */
#include "runtime/pass/rewrite.h"

static bool is_table(const struct rt_plan *p, const struct rt_node *w)
{
	for (int i = 0; i < p->ir.n_calls; i++)
		if (rt_is(p->ir.calls[i], RT_OP_EMBEDDING) && rt_reads(p->ir.calls[i], w))
			return true;
	return false;
}

static int mask(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int n = 0;

	if (!p->opt->sparse)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];
		struct rt_node *w = c->in[1];

		if (!(c->op->linear || c->op->int8) || w->role != RT_ROLE_PARAM || w->masked || is_table(p, w))
			continue;
		w->masked = true;
		n++;
	}
	gt_buf_printf(did, "%d weights with a mask of pruned elements", n);
	return 0;
}

const struct rt_pass rt_pass_mask = { .name = "mask", .run = mask };
