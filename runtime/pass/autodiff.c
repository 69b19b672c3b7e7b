/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include "runtime/graph/gradient.h"
#include "runtime/pass/rewrite.h"

/* Removes the outputs of calls that no call reads. Returns their number. */
static int remove_unread_outputs(struct rt_plan *p)
{
	int dropped = 0;

	for (int i = 0; i < p->ir.n_calls; i++)
		for (int k = 1; k < RT_MAX_IO; k++) {
			struct rt_node *n = p->ir.calls[i]->out[k];

			if (!n || n->role == RT_ROLE_SCRATCH || n->pinned || rt_plan_uses(p, n))
				continue;
			if (p->opt->debug.no_reuse && n->id < p->n_graph_nodes)
				continue;
			for (int g = 0; n && g < p->n_graph_nodes; g++)
				if (p->gradient[g] == n)
					n = NULL;
			if (!n)
				continue;
			p->ir.calls[i]->out[k] = NULL;
			dropped++;
		}
	return dropped;
}

/* Fails if another op reads a loss. A loss computes its gradients in the forward pass and assumes a factor of 1, so
 * later ops would be ignored silently. */
static int check_losses(const struct rt_plan *p, struct gt_err *err)
{
	for (int i = 0; rt_plan_trains(p) && i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];

		if (c->op->loss && c->out[0] != p->loss && rt_plan_uses(p, c->out[0]))
			return gt_fail(err, EINVAL, "%s is a loss and an input of %s: a program trains on one loss, which "
				       "no op may read", c->out[0]->name, p->loss->name);
	}
	return 0;
}

/*
 * Fails if a parameter precedes a user op without a gradient function: the parameter would not be trained, without any
 * error.
 */
static int check_user_ops(const struct rt_plan *p, struct rt_ad *ad, struct gt_err *err)
{
	for (int i = 0; rt_plan_trains(p) && i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];

		for (int k = 0; c->attr.user && !c->attr.user->backward && k < RT_MAX_IO; k++)
			if (rt_ad_requires_grad(ad, c->in[k]))
				return gt_fail(err, EINVAL, "%s of %s: it has no backward function, so the parameters "
					       "before it would not be trained", c->attr.user->name, c->in[k]->name);
	}
	return 0;
}

static int differentiate_all(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct rt_call *root = p->loss ? rt_ir_producer(&p->ir, p->loss) : NULL;
	int n = p->ir.n_calls, n_params = 0, r;
	gt_auto(rt_ad) *ad = rt_ad_new(&p->ir);

	r = check_user_ops(p, ad, err);
	if (r)
		return r;
	for (int i = n - 1; rt_plan_trains(p) && i >= 0; i--)
		if (!p->ir.calls[i]->op->loss || p->ir.calls[i] == root)
			rt_ad_differentiate(ad, p->ir.calls[i]);
	for (int i = 0; i < p->n_graph_nodes; i++)
		if (p->ir.nodes[i]->role == RT_ROLE_PARAM) {
			p->gradient[i] = rt_ad_get(ad, p->ir.nodes[i]);
			n_params += p->gradient[i] != NULL;
		}
	remove_unread_outputs(p);
	if (rt_plan_trains(p))
		gt_buf_printf(did, "%d backward calls for %d parameter tensors", p->ir.n_calls - n, n_params);
	else
		gt_buf_puts(did, "no backward pass, so no tensors are kept for it");
	return 0;
}

static int autodiff(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int r = check_losses(p, err);

	if (r)
		return r;
	return differentiate_all(p, did, err);
}

const struct rt_pass rt_pass_autodiff = { .name = "autodiff", .run = autodiff };
