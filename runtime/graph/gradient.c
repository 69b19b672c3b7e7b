/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/graph/gradient.h"

struct rt_ad {
	struct rt_ir *ir;
	bool *requires_grad; /* flag by id of the forward node */
	struct rt_node **grad; /* gradient by id of the forward node */
	int n_forward;
	const char *origin;	/* name of the forward node whose gradient is being emitted */
};

struct rt_node *rt_ad_get(struct rt_ad *ad, const struct rt_node *n)
{
	return n ? ad->grad[n->id] : NULL;
}

bool rt_ad_requires_grad(struct rt_ad *ad, const struct rt_node *n)
{
	return n && ad->requires_grad[n->id];
}

/* Returns the number of forward tensors, not yet differentiated, whose gradient is g. If there are several, g must not
 * be modified. */
static int alias_count(const struct rt_ad *ad, const struct rt_node *g)
{
	int n = 0;

	for (int i = 0; i < ad->n_forward; i++)
		n += ad->grad[i] == g;
	return n;
}

static bool may_add_to(const struct rt_ad *ad, const struct rt_node *g)
{
	return g->role == RT_ROLE_GRADIENT && alias_count(ad, g) == 1;
}

struct rt_node *rt_ad_temp(struct rt_ad *ad, const struct rt_node *like, const char *suffix)
{
	gt_autofree char *name = gt_xasprintf("%s %s", suffix, like->name);

	return rt_ir_node(ad->ir, RT_ROLE_GRADIENT, RT_F32, &like->shape, name);
}

struct rt_call *rt_ad_call(struct rt_ad *ad, enum rt_op_id op, const struct rt_attr *attr)
{
	struct rt_call *c = rt_ir_call(ad->ir, op, attr);

	c->phase = RT_PHASE_BACKWARD;
	c->origin = ad->origin;
	return c;
}

/* grad[n] = grad[n] + g, in place unless another forward tensor uses it. */
static void add_to(struct rt_ad *ad, const struct rt_node *n, struct rt_node *g)
{
	struct rt_node *old = ad->grad[n->id];
	struct rt_call *c = rt_ad_call(ad, RT_OP_ADD, NULL);

	c->in[0] = old;
	c->in[1] = g;
	c->out[0] = ad->grad[n->id] = may_add_to(ad, old) ? old : rt_ad_temp(ad, n, "d");
}

/*
 * Returns whether call c or a later call writes g. c must not add to such a tensor. The order in which c's kernel writes
 * its outputs is unknown, and a sum emitted for another input of c runs after c.
 */
static bool written_since(const struct rt_ad *ad, const struct rt_call *c, const struct rt_node *g)
{
	const struct rt_ir *ir = ad->ir;
	int i = ir->n_calls - 1;

	while (ir->calls[i] != c && !rt_writes(ir->calls[i], g))
		i--;
	return rt_writes(ir->calls[i], g);
}

void rt_ad_into(struct rt_ad *ad, struct rt_call *c, int slot, const struct rt_node *n)
{
	struct rt_node *g;

	if (!rt_ad_requires_grad(ad, n))
		return;
	g = ad->grad[n->id];
	if (!g) {
		c->out[slot] = ad->grad[n->id] = rt_ad_temp(ad, n, "d");
	} else if (may_add_to(ad, g) && c->op->accumulates >> slot & 1 && !written_since(ad, c, g)) {
		c->out[slot] = g;
		c->attr.accumulate |= 1u << slot;
	} else {
		c->out[slot] = rt_ad_temp(ad, n, "d");
		add_to(ad, n, c->out[slot]);
	}
}

void rt_ad_alias(struct rt_ad *ad, const struct rt_node *n, struct rt_node *g)
{
	if (!rt_ad_requires_grad(ad, n))
		return;
	if (!ad->grad[n->id])
		ad->grad[n->id] = g;
	else
		add_to(ad, n, g);
}

static void find_required(struct rt_ad *ad)
{
	for (int i = 0; i < ad->ir->n_nodes; i++)
		ad->requires_grad[i] = ad->ir->nodes[i]->role == RT_ROLE_PARAM;
	for (int i = 0; i < ad->ir->n_calls; i++) {
		const struct rt_call *c = ad->ir->calls[i];
		bool any = c->op->needs_gradient;

		for (int k = 0; k < RT_MAX_IO; k++)
			any |= rt_ad_requires_grad(ad, c->in[k]);
		for (int k = 0; any && k < RT_MAX_IO; k++)
			if (c->out[k])
				ad->requires_grad[c->out[k]->id] = true;
	}
}

struct rt_ad *rt_ad_new(struct rt_ir *ir)
{
	struct rt_ad *ad = gt_xcalloc(1, sizeof(*ad));

	*ad = (struct rt_ad){ .ir = ir, .n_forward = ir->n_nodes };
	ad->requires_grad = gt_xcalloc((size_t)ir->n_nodes, sizeof(*ad->requires_grad));
	ad->grad = gt_xcalloc((size_t)ir->n_nodes, sizeof(struct rt_node *));
	find_required(ad);
	return ad;
}

void rt_ad_free(struct rt_ad *ad)
{
	free(ad->requires_grad);
	free(ad->grad);
	free(ad);
}

void rt_ad_differentiate(struct rt_ad *ad, const struct rt_call *c)
{
	bool reached = c->op->loss;

	for (int k = 0; k < RT_MAX_IO; k++)
		reached |= rt_ad_get(ad, c->out[k]) != NULL;
	ad->origin = c->out[0]->name;
	if (reached || c->op->moves_buffers)
		c->op->gradient(ad, c);
	/* The gradient of a value is not needed after the call that computed the value was differentiated. */
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->out[k] && c->out[k]->role == RT_ROLE_VALUE)
			ad->grad[c->out[k]->id] = NULL;
}
