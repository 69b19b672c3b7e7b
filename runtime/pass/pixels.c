/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images are passed as bytes. A batch, and each copy of it, is a quarter of the size. The first call converts and
 * normalises it with all threads. Models and gradients are not affected.
 */
#include "runtime/pass/rewrite.h"

static void convert(struct rt_plan *p, struct rt_node *x)
{
	gt_autofree char *name = gt_xasprintf("%s normalised", x->name);
	struct rt_node *y = rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_F32, &x->shape, name);
	struct rt_call *c;
	float mean = p->opt->pixels.mean, std = p->opt->pixels.std;

	rt_replace_reads(p, x, y);
	x->dtype = RT_U8;
	c = rt_emit_before(p, 0, RT_OP_PIXELS, RT_PHASE_FORWARD);
	c->attr.scale = 1 / (255 * std);
	c->attr.offset = -mean / std;
	c->in[0] = x;
	c->out[0] = y;
}

static int pixels(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int n = 0;

	for (int i = 0; p->opt->pixels.std > 0 && i < p->n_graph_nodes; i++)
		if (p->ir.nodes[i]->role == RT_ROLE_INPUT && !p->ir.nodes[i]->absent && p->ir.nodes[i]->dtype == RT_F32) {
			convert(p, p->ir.nodes[i]);
			n++;
		}
	if (n)
		gt_buf_printf(did, "%d inputs passed as bytes, converted by the first call", n);
	return 0;
}

const struct rt_pass rt_pass_pixels = { .name = "pixels", .run = pixels };
