/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks all gradients before any is used: their global norm for clipping, and whether they are finite for the loss
 * scaler. Updates then wait for the end of the backward pass.
 */
#include "runtime/pass/pass.h"
#include "runtime/pass/pipeline.h"

bool rt_plan_scales_loss(const struct rt_plan *p)
{
	const struct rt_precision *precision = &p->opt->precision;

	return precision->scaler.use == RT_SCALER_ON ||
	       (precision->scaler.use == RT_SCALER_AUTO && precision->amp == RT_F16);
}

bool rt_plan_measures_gradients(const struct rt_plan *p)
{
	return p->opt->optimizer.kind != RT_NO_OPTIMIZER && (rt_plan_scales_loss(p) || p->opt->clip_norm > 0);
}

static int gradients(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	if (!rt_plan_measures_gradients(p))
		return 0;
	for (int i = 0; i < p->n_graph_nodes; i++) {
		struct rt_call *c;

		if (p->ir.nodes[i]->role != RT_ROLE_PARAM || !p->gradient[i])
			continue;
		if (p->stage && p->ir.nodes[i]->stage != p->stage->index)
			continue; /* the owner of a shared parameter counts its gradient */
		c = rt_ir_call(&p->ir, RT_OP_GRAD_NORM, NULL);
		c->phase = RT_PHASE_GRADIENT;
		c->origin = p->ir.nodes[i]->name;
		c->in[0] = p->gradient[i];
		c->attr.parts = p->ir.nodes[i]->cut.parts;
	}
	if (p->opt->clip_norm > 0)
		gt_buf_printf(did, "clipped to a global norm of %g", p->opt->clip_norm);
	if (rt_plan_scales_loss(p))
		gt_buf_printf(did, "%sinitial loss scale %g, non-finite updates skipped",
			      p->opt->clip_norm > 0 ? "; " : "", p->opt->precision.scaler.init);
	return 0;
}

const struct rt_pass rt_pass_gradients = { .name = "gradients", .run = gradients };
