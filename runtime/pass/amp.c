/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision: the operands of matrix products, convolutions and attention (what PyTorch's autocast lists for the CPU) are
 * rounded to the low type, once per tensor and step, and everything else stays f32: the parameters (the master weights), the
 * sums inside the products, their results, norms, softmax, losses and updates. Which operands, each op says itself (struct
 * rt_op, low). The backward products read the very tensors that the forward ones read, so that these are kept in the low type
 * and not in f32. Attention's own products are f32: there the type is storage.
 *
 * 3x3 convolutions stay f32 where their tiles (pass/winograd.c) are faster than all products in the low type. Tiles of bf16 would
 * be faster still, but their transforms magnify what is rounded: by the sums of squares of their coefficients a result of
 * F(4x4,3x3) is off by 4.8 times what plain bf16 products are (1.0 % of its root mean square instead of 0.24 %), which is less
 * than the type promises. F(2x2,3x3) is off by 1.7 times that, but with 16 products per 4 outputs instead of 36 per 16 and nearly
 * twice the transforms per output it is no faster in bf16 than the other in f32.
 */
#include "runtime/pass/rewrite.h"

struct amp {
	struct rt_plan *plan;
	struct rt_node **low; /* by id: the present content of that tensor in the low type, or NULL */
	int n_low, casts, products, attention, tiles;
};

static struct rt_node *cast(struct amp *a, struct rt_node *n, int at)
{
	gt_autofree char *name = gt_xasprintf("%s %s", rt_dtype_name(a->plan->opt->precision.amp), n->name);
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	c->op = rt_ops[RT_OP_CAST];
	c->phase = a->plan->ir.calls[at]->phase;
	c->in[0] = n;
	c->out[0] = rt_ir_node(&a->plan->ir, RT_ROLE_VALUE, a->plan->opt->precision.amp, &n->shape, name);
	rt_plan_insert(a->plan, at, c);
	a->casts++;
	return c->out[0];
}

/* The operands of call `at` in the low type; returns where the call is now. */
static int lower(struct amp *a, int at)
{
	struct rt_call *c = a->plan->ir.calls[at];

	a->products += c->op->low != 0;
	a->attention += c->op->low_stored;
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->in[k];

		if (!(c->op->low >> k & 1) || !n || n->dtype != RT_F32)
			continue;
		if (!a->low[n->id])
			a->low[n->id] = cast(a, n, at++);
		c->in[k] = a->low[n->id];
	}
	return at;
}

static bool stays(const struct rt_plan *p, const struct rt_call *c)
{
	return !p->opt->debug.no_winograd && rt_is_conv(c) && rt_conv_tiles_flops(c, p->opt->precision.amp) > 0;
}

static void say(const struct amp *a, struct gt_buf *did)
{
	enum rt_dtype type = a->plan->opt->precision.amp;
	const char *products = rt_cpu_low_products(type), *name = rt_dtype_name(type);

	gt_buf_printf(did, "%d products read %s after %d casts; ", a->products, name, a->casts);
	if (products)
		gt_buf_printf(did, "multiplied by %s, summed in f32%s", products,
			      a->attention ? "; attention's own in f32" : "");
	else
		gt_buf_puts(did, "this processor cannot multiply it: storage only, products in f32, no faster than f32 "
				 "alone");
	if (a->tiles)
		gt_buf_printf(did, "; %d convolutions of 3x3 stay f32: tiles of 4x4 make them faster than %s in full, and "
			      "in %s those would lose digits", a->tiles, name, name);
}

static int amp(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct amp a = { .plan = p, .n_low = p->ir.n_nodes };

	if (p->opt->precision.amp == RT_F32 || p->opt->device == RT_CUDA) /* there: pass/narrow.c */
		return 0;
	a.low = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(struct rt_node *));
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c;

		if (stays(p, p->ir.calls[i]))
			a.tiles++;
		else
			i = lower(&a, i);
		c = p->ir.calls[i];
		/* Gradients are added to in place: what was rounded before is old then. */
		for (int k = 0; k < RT_MAX_IO; k++)
			if (c->out[k] && c->out[k]->id < a.n_low)
				a.low[c->out[k]->id] = NULL;
	}
	free(a.low);
	say(&a, did);
	return 0;
}

const struct rt_pass rt_pass_amp = { .name = "amp", .run = amp };
