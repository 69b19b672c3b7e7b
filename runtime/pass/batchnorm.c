/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Omits a bias that is added just before a batchnorm, because the batch's mean cancels it. Its gradient is zero. The
 * running mean still includes it, so that the parameters keep their meaning in other programs.
 *
 * Also fuses a following addition, relu, or both into the batchnorm. On the CPU the batchnorm then saves one bit per
 * element that the relu passed. The backward call reads these bits twice instead of the result.
 */
#include "runtime/pass/rewrite.h"

static bool drop_bias(struct rt_plan *p, struct rt_call *norm)
{
	int slot, i = rt_producer(p, norm->in[0], &slot);
	struct rt_call *product = i < 0 || slot ? NULL : p->ir.calls[i];

	if (!product || (!rt_is(product, RT_OP_CONV) && !rt_is(product, RT_OP_LINEAR)) || product->attr.act != RT_ACT_NONE ||
	    !product->in[2] || rt_plan_uses(p, norm->in[0]) != 1)
		return false;
	norm->in[6] = product->in[2];
	product->in[2] = NULL;
	/* The product's named result no longer exists. */
	norm->in[0] = product->out[0] = rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_F32, &product->out[0]->shape, "without bias");
	return true;
}

/* batchnorm, relu */
static bool fuse_relu(struct rt_plan *p, int at, int producer)
{
	struct rt_call *relu = p->ir.calls[at], *norm = p->ir.calls[producer];

	norm->attr.act = RT_ACT_RELU;
	norm->out[0] = relu->out[0];
	if (p->target->relu_bits)
		norm->out[3] = rt_ir_node(&p->ir, RT_ROLE_VALUE, RT_U8,
					  &RT_SHAPE(rt_rows(relu->out[0]), rt_bits_bytes(rt_cols(relu->out[0]))), "relu open");
	rt_plan_remove(p, at);
	return true;
}

/* batchnorm, add. The fused call takes the place of the addition, because only there do both operands exist. */
static bool fuse_sum(struct rt_plan *p, int at, int producer, int slot)
{
	struct rt_call *add = p->ir.calls[at], *norm = p->ir.calls[producer];

	if (!rt_same_shape(add->in[0], add->in[1]) || add->in[0] == add->in[1] || norm->in[5])
		return false;
	norm->in[5] = add->in[1 - slot];
	norm->out[0] = add->out[0];
	p->ir.calls[at] = norm;
	p->ir.calls[producer] = add;
	rt_plan_remove(p, producer);
	return true;
}

static bool take_first(struct rt_plan *p, int at, int producer)
{
	return fuse_sum(p, at, producer, 0);
}

static bool take_second(struct rt_plan *p, int at, int producer)
{
	return fuse_sum(p, at, producer, 1);
}

static int batchnorm(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const struct rt_pattern patterns[] = {
		{ .op = RT_OP_ADD, .slot = 0, .producer = RT_OP_BATCHNORM, .plain = true, .fuse = take_first },
		{ .op = RT_OP_ADD, .slot = 1, .producer = RT_OP_BATCHNORM, .plain = true, .fuse = take_second },
		{ .op = RT_OP_ACT, .act = RT_ACT_RELU, .producer = RT_OP_BATCHNORM, .plain = true, .fuse = fuse_relu },
	};
	int biases = 0, norms = 0, n[3] = { 0 };

	if (p->opt->debug.no_fuse)
		return 0;
	for (int i = rt_next(p, 0, RT_OP_BATCHNORM); i >= 0; i = rt_next(p, i + 1, RT_OP_BATCHNORM)) {
		norms++;
		biases += drop_bias(p, p->ir.calls[i]);
	}
	if (!norms)
		return 0;
	rt_fuse(p, patterns, 3, n);
	gt_buf_printf(did, "%d batchnorms: %d biases before them omitted, %d residual sums and %d relus fused", norms, biases,
		      n[0] + n[1], n[2]);
	return 0;
}

const struct rt_pass rt_pass_batchnorm = { .name = "batchnorm", .run = batchnorm };
