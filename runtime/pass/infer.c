/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does not train: a batchnorm behind a product is no work of its own, for the product's weight and bias can
 * take it in; they are made once, not for every batch. A relu behind a convolution is done while its bias is added.
 */
#include "runtime/pass/pass.h"

static struct rt_call *maker_of(const struct rt_plan *p, const struct rt_node *n)
{
	for (int i = 0; i < p->ir.n_calls; i++)
		if (p->ir.calls[i]->out[0] == n)
			return p->ir.calls[i];
	return NULL;
}

/* The product behind n if nobody else sees what it makes. */
static struct rt_call *own_product(const struct rt_plan *p, const struct rt_node *n)
{
	struct rt_call *c = maker_of(p, n);

	if (!c || (c->op->id != RT_OP_CONV && c->op->id != RT_OP_LINEAR) || c->attr.act != RT_ACT_NONE ||
	    rt_plan_uses(p, n) != 1)
		return NULL;
	return c;
}

static struct rt_node *folded(struct rt_plan *p, const struct rt_node *like, const struct rt_shape *shape, const char *what)
{
	gt_autofree char *name = gt_xasprintf("%s folded into %s", what, like->name);
	struct rt_node *n = rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_F32, shape, name);

	n->pinned = true;
	return n;
}

static bool stays(const struct rt_node *n)
{
	return !n || n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER;
}

static bool fold(struct rt_plan *p, int at)
{
	struct rt_call *norm = p->ir.calls[at], *product = own_product(p, norm->in[0]), *c;
	struct rt_node *w;

	if (norm->op->id != RT_OP_BATCHNORM || !product)
		return false;
	w = product->in[1];
	for (int k = 1; k < RT_MAX_IO; k++) /* what is made once must be there from the start, and stay */
		if (!stays(product->in[k]) || !stays(norm->in[k]))
			return false;
	c = gt_xcalloc(1, sizeof(*c));
	*c = (struct rt_call){
		.op = rt_ops[RT_OP_FOLD],
		.attr = { .eps = norm->attr.eps },
		.once = true,
		.in = { w, product->in[2], norm->in[1], norm->in[2], norm->in[3], norm->in[4] },
		.out = { folded(p, w, &w->shape, "scale"), folded(p, w, &norm->in[1]->shape, "offset") },
	};
	product->in[1] = c->out[0];
	product->in[2] = c->out[1];
	product->out[0] = norm->out[0];
	rt_plan_remove(p, at);
	rt_plan_insert(p, 0, c);
	return true;
}

static bool take_relu(struct rt_plan *p, int at)
{
	struct rt_call *relu = p->ir.calls[at], *product;

	if (relu->op->id != RT_OP_ACT || relu->attr.act != RT_ACT_RELU)
		return false;
	product = own_product(p, relu->in[0]);
	if (!product || product->op->id != RT_OP_CONV)
		return false;
	product->attr.act = RT_ACT_RELU;
	product->out[0] = relu->out[0];
	rt_plan_remove(p, at);
	return true;
}

static int infer(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int norms = 0, relus = 0;

	if (p->opt->debug.no_fuse || rt_plan_trains(p))
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++)
		norms += fold(p, i);
	for (int i = 0; i < p->ir.n_calls; i++) {
		bool taken = take_relu(p, i);

		relus += taken;
		i -= taken;
	}
	if (norms + relus)
		gt_buf_printf(did, "%d batchnorms folded into the products before them, %d relus into convolutions", norms, relus);
	return 0;
}

const struct rt_pass rt_pass_infer = { .name = "infer", .run = infer };
