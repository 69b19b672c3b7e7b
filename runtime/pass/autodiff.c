/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include "runtime/pass/autodiff.h"
#include "runtime/pass/pass.h"

struct rt_ad {
	struct rt_plan *plan;
	bool *wants;		/* by id of a forward node */
	struct rt_node **grad;	/* by id of a forward node */
	int n_forward;
	const char *origin;	/* what the calls being emitted differentiate */
};

struct rt_node *rt_ad_get(struct rt_ad *ad, const struct rt_node *n)
{
	return n ? ad->grad[n->id] : NULL;
}

bool rt_ad_wants(struct rt_ad *ad, const struct rt_node *n)
{
	return n && ad->wants[n->id];
}

/* For how many forward tensors, not yet differentiated, g stands. Adding to it in place is right for one only. */
static int holders(const struct rt_ad *ad, const struct rt_node *g)
{
	int n = 0;

	for (int i = 0; i < ad->n_forward; i++)
		n += ad->grad[i] == g;
	return n;
}

static bool may_add_to(const struct rt_ad *ad, const struct rt_node *g)
{
	return g->role == RT_ROLE_GRADIENT && holders(ad, g) == 1;
}

struct rt_node *rt_ad_temp(struct rt_ad *ad, const struct rt_node *like, const char *suffix)
{
	gt_autofree char *name = gt_xasprintf("%s %s", suffix, like->name);

	return rt_ir_node(&ad->plan->ir, RT_ROLE_GRADIENT, RT_F32, &like->shape, name);
}

struct rt_call *rt_ad_call(struct rt_ad *ad, enum rt_op_id op, const struct rt_attr *attr)
{
	struct rt_call *c = rt_ir_call(&ad->plan->ir, op, attr);

	c->phase = RT_PHASE_BACKWARD;
	c->origin = ad->origin;
	return c;
}

/* grad[n] = grad[n] + g, in place if nobody else holds it. */
static void add_to(struct rt_ad *ad, const struct rt_node *n, struct rt_node *g)
{
	struct rt_node *old = ad->grad[n->id];
	struct rt_call *c = rt_ad_call(ad, RT_OP_ADD, NULL);

	c->in[0] = old;
	c->in[1] = g;
	c->out[0] = ad->grad[n->id] = may_add_to(ad, old) ? old : rt_ad_temp(ad, n, "d");
}

/* Is g made by c or by a call behind it? c cannot add to that: of its own outputs only its kernel knows which comes first, and a
 * sum that was begun for another of its inputs is made when it is done. */
static bool made_since(const struct rt_ad *ad, const struct rt_call *c, const struct rt_node *g)
{
	const struct rt_ir *ir = &ad->plan->ir;
	int i = ir->n_calls - 1;

	while (ir->calls[i] != c && !rt_writes(ir->calls[i], g))
		i--;
	return rt_writes(ir->calls[i], g);
}

void rt_ad_into(struct rt_ad *ad, struct rt_call *c, int slot, const struct rt_node *n)
{
	struct rt_node *g;

	if (!rt_ad_wants(ad, n))
		return;
	g = ad->grad[n->id];
	if (!g) {
		c->out[slot] = ad->grad[n->id] = rt_ad_temp(ad, n, "d");
	} else if (may_add_to(ad, g) && c->op->accumulates >> slot & 1 && !made_since(ad, c, g)) {
		c->out[slot] = g;
		c->attr.accumulate |= 1u << slot;
	} else {
		c->out[slot] = rt_ad_temp(ad, n, "d");
		add_to(ad, n, c->out[slot]);
	}
}

void rt_ad_share(struct rt_ad *ad, const struct rt_node *n, struct rt_node *g)
{
	if (!rt_ad_wants(ad, n))
		return;
	if (!ad->grad[n->id])
		ad->grad[n->id] = g;
	else
		add_to(ad, n, g);
}

static void find_wanted(struct rt_ad *ad)
{
	const struct rt_ir *ir = &ad->plan->ir;

	for (int i = 0; i < ir->n_nodes; i++)
		ad->wants[i] = ir->nodes[i]->role == RT_ROLE_PARAM;
	for (int i = 0; i < ir->n_calls; i++) {
		bool any = false;

		for (int k = 0; k < RT_MAX_IO; k++)
			any |= rt_ad_wants(ad, ir->calls[i]->in[k]);
		for (int k = 0; any && k < RT_MAX_IO; k++)
			if (ir->calls[i]->out[k])
				ad->wants[ir->calls[i]->out[k]->id] = true;
	}
}

static void differentiate(struct rt_ad *ad, const struct rt_call *c)
{
	bool reached = c->op->loss;

	for (int k = 0; k < RT_MAX_IO; k++)
		reached |= rt_ad_get(ad, c->out[k]) != NULL;
	ad->origin = c->out[0]->name;
	if (reached || c->op->moves_buffers)
		c->op->gradient(ad, c);
	/* What this call made is dealt with: it holds its gradient no longer. */
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->out[k] && c->out[k]->role == RT_ROLE_VALUE)
			ad->grad[c->out[k]->id] = NULL;
}

/* Outputs that nobody reads are not computed. */
static int drop_unread(struct rt_plan *p)
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

/* A loss makes its gradients in the forward pass, as if it were the last: one that other ops read would be left out in silence. */
static int check_losses(const struct rt_plan *p, struct gt_err *err)
{
	for (int i = 0; rt_plan_trains(p) && i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];

		if (c->op->loss && c->out[0] != p->loss && rt_plan_uses(p, c->out[0]))
			return gt_fail(err, EINVAL, "%s is a loss, and %s is made from it: a program trains on one loss, "
				       "which nothing reads", c->out[0]->name, p->loss->name);
	}
	return 0;
}

/* Parameters behind a user's op without a gradient would never be trained, and nobody would hear of it. */
static int check_user_ops(struct rt_ad *ad, struct gt_err *err)
{
	const struct rt_ir *ir = &ad->plan->ir;

	for (int i = 0; rt_plan_trains(ad->plan) && i < ir->n_calls; i++) {
		const struct rt_call *c = ir->calls[i];

		for (int k = 0; c->attr.user && !c->attr.user->backward && k < RT_MAX_IO; k++)
			if (rt_ad_wants(ad, c->in[k]))
				return gt_fail(err, EINVAL, "%s of %s: parameters lead to it, and it has no backward function: "
					       "they would not be trained", c->attr.user->name, c->in[k]->name);
	}
	return 0;
}

static int differentiate_all(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct rt_call *root = rt_maker(&p->ir, p->loss);
	int n = p->ir.n_calls, n_params = 0, r;
	struct rt_ad ad = {
		.plan = p,
		.wants = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(bool)),
		.grad = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(struct rt_node *)),
		.n_forward = p->ir.n_nodes,
	};

	find_wanted(&ad);
	r = check_user_ops(&ad, err);
	for (int i = n - 1; !r && rt_plan_trains(p) && i >= 0; i--)
		if (!p->ir.calls[i]->op->loss || p->ir.calls[i] == root)
			differentiate(&ad, p->ir.calls[i]);
	for (int i = 0; i < p->n_graph_nodes; i++)
		if (p->ir.nodes[i]->role == RT_ROLE_PARAM) {
			p->gradient[i] = ad.grad[i];
			n_params += ad.grad[i] != NULL;
		}
	free(ad.wants);
	free(ad.grad);
	if (r)
		return r;
	drop_unread(p);
	if (rt_plan_trains(p))
		gt_buf_printf(did, "%d backward calls for %d parameter tensors", p->ir.n_calls - n, n_params);
	else
		gt_buf_puts(did, "no backward pass: nothing is kept for it");
	return 0;
}

static int autodiff(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int r = check_losses(p, err);

	return r ? r : differentiate_all(p, did, err);
}

const struct rt_pass rt_pass_autodiff = { .name = "autodiff", .run = autodiff };
