/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisation-aware training: linear layers and convolutions read activations and weights rounded as by INT8 inference with
 * dynamic ranges (pass/quantize.c). Gradients pass through the rounding unchanged. Runs after the fusions.
 */
#include <errno.h>
#include "runtime/pass/rewrite.h"

/* Inserts a rounding of n before position `at`. Returns the rounded tensor. */
static struct rt_node *round_before(struct rt_plan *p, int at, struct rt_node *n, enum rt_op_id op, int64_t rows)
{
	struct rt_node *to = rt_node_like(p, RT_ROLE_VALUE, RT_F32, n, "rounded");
	struct rt_call *c = rt_emit_before(p, at, op, RT_PHASE_FORWARD);

	c->in[0] = n;
	c->out[0] = to;
	c->attr.rows = rows;
	return to;
}

static int qat(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	gt_autofree struct rt_node **weights = NULL; /* rounded weights by id */
	int n_nodes = p->ir.n_nodes, products = 0;

	if (!p->opt->precision.qat)
		return 0;
	weights = gt_xcalloc((size_t)n_nodes, sizeof(*weights));
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];
		struct rt_node *x = c->in[0], *w = c->in[1];

		if (!c->op->int8 || w->role != RT_ROLE_PARAM || c->attr.groups > 1)
			continue;
		c->in[0] = round_before(p, i++, x, RT_OP_ROUND_ACTIVATION, rt_is_conv(c) ? x->shape.d[0] : rt_rows(x));
		if (!weights[w->id])
			weights[w->id] = round_before(p, i++, w, RT_OP_ROUND_WEIGHT, w->shape.d[0]);
		c->in[1] = weights[w->id];
		products++;
	}
	gt_buf_printf(did, "%d products read operands rounded to INT8", products);
	return 0;
}

const struct rt_pass rt_pass_qat = { .name = "qat", .run = qat };
