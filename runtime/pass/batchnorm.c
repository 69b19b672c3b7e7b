/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bias added just before a batchnorm is not added: the batch's mean would take it away again. Its gradient is zero; the
 * running mean still counts it, so that the parameters mean the same elsewhere. And where a batchnorm is followed by an
 * addition, a relu, or both, they are done while it writes its result; on the CPU it then also keeps a bit per element of what the
 * relu lets through, which the backward call reads twice instead of the result.
 */
#include "runtime/pass/pass.h"

static int made_by(const struct rt_plan *p, const struct rt_node *n)
{
	for (int i = 0; n && i < p->ir.n_calls; i++)
		if (p->ir.calls[i]->out[0] == n)
			return i;
	return -1;
}

static bool is_product(const struct rt_call *c)
{
	return (c->op->id == RT_OP_CONV || c->op->id == RT_OP_LINEAR) && c->attr.act == RT_ACT_NONE;
}

static bool drop_bias(struct rt_plan *p, struct rt_call *norm)
{
	int i = made_by(p, norm->in[0]);
	struct rt_call *product = i < 0 ? NULL : p->ir.calls[i];

	if (!product || !is_product(product) || !product->in[2] || rt_plan_uses(p, norm->in[0]) != 1)
		return false;
	norm->in[6] = product->in[2];
	product->in[2] = NULL;
	/* what the graph calls the product's result is not made any more */
	norm->in[0] = product->out[0] = rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_F32, &product->out[0]->shape, "without bias");
	return true;
}

/* batchnorm, relu */
static bool take_relu(struct rt_plan *p, int at)
{
	struct rt_call *relu = p->ir.calls[at], *norm;
	int i = made_by(p, relu->in[0]);

	if (relu->op->id != RT_OP_ACT || relu->attr.act != RT_ACT_RELU || i < 0 || rt_plan_uses(p, relu->in[0]) != 1)
		return false;
	norm = p->ir.calls[i];
	if (norm->op->id != RT_OP_BATCHNORM || norm->attr.act != RT_ACT_NONE)
		return false;
	norm->attr.act = RT_ACT_RELU;
	norm->out[0] = relu->out[0];
	if (p->opt->device == RT_CPU)
		norm->out[3] = rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_U8,
					  &RT_SHAPE(rt_rows(relu->out[0]), rt_bits_bytes(rt_cols(relu->out[0]))), "relu open");
	rt_plan_remove(p, at);
	return true;
}

/* batchnorm, add: the sum is made where the addition was, for only there are both operands known. */
static bool take_sum(struct rt_plan *p, int at)
{
	struct rt_call *add = p->ir.calls[at];

	if (add->op->id != RT_OP_ADD || !rt_same_shape(add->in[0], add->in[1]) || add->in[0] == add->in[1])
		return false;
	for (int k = 0; k < 2; k++) {
		int i = made_by(p, add->in[k]);
		struct rt_call *norm = i < 0 ? NULL : p->ir.calls[i];

		if (!norm || norm->op->id != RT_OP_BATCHNORM || norm->attr.act != RT_ACT_NONE || norm->in[5] ||
		    rt_plan_uses(p, add->in[k]) != 1)
			continue;
		norm->in[5] = add->in[1 - k];
		norm->out[0] = add->out[0];
		p->ir.calls[at] = norm;
		p->ir.calls[i] = add;
		rt_plan_remove(p, i);
		return true;
	}
	return false;
}

static int batchnorm(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int biases = 0, sums = 0, relus = 0, norms = 0;

	for (int i = 0; i < p->ir.n_calls; i++)
		norms += p->ir.calls[i]->op->id == RT_OP_BATCHNORM;
	if (p->opt->debug.no_fuse || !norms)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++)
		if (p->ir.calls[i]->op->id == RT_OP_BATCHNORM)
			biases += drop_bias(p, p->ir.calls[i]);
	for (int i = 0; i < p->ir.n_calls; i++) {
		bool sum = take_sum(p, i), relu = !sum && take_relu(p, i);

		sums += sum;
		relus += relu;
		i -= sum + relu;
	}
	gt_buf_printf(did, "%d batchnorms: %d biases before them left out, %d residual sums and %d relus taken in", norms, biases,
		      sums, relus);
	return 0;
}

const struct rt_pass rt_pass_batchnorm = { .name = "batchnorm", .run = batchnorm };
