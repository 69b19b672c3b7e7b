/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp8 on the CUDA device: the operands of linear layers are rounded to 8 bits, values and weights to E4M3, gradients to
 * E5M2. Each tensor has its own scale, which follows its largest absolute value (delayed scaling of Transformer
 * Engine).
 *
 * A tensor is converted once for all products that read it: as is for the forward product, transposed for the backward
 * ones. The backward pass then keeps one byte per element. Weights are rounded once per update, from their f32 values.
 * All other tensors follow the bf16 policy: pass/precision.c, which runs after this pass.
 */
#include <math.h>
#include "runtime/pass/rewrite.h"

#define ROWS_MAX (1 << 21)

struct fp8 {
	struct rt_plan *plan;
	struct rt_call **casts; /* call that rounds the current content of a tensor, by id; NULL: none */
	int n_nodes;
	struct rt_node *table;
	int slots, products, plain;
	const struct rt_node *first_plain; /* result of the first product that stays bf16 */
};

static struct rt_node *cast8_output(struct fp8 *a, struct rt_call *cast, enum rt_dtype type, bool transposed)
{
	const struct rt_node *x = cast->in[0];
	gt_autofree char *name = gt_xasprintf("%s%s %s", rt_dtype_name(type), transposed ? " transposed" : "", x->name);
	struct rt_node *y = rt_ir_node(&a->plan->ir, cast->run_once ? RT_ROLE_STATE : RT_ROLE_VALUE, type, &x->shape, name);

	y->slot = cast->attr.slot;
	return y;
}

/* Returns n in 8 bits. *at is the call that reads it, adjusted when a call is inserted before it. */
static struct rt_node *cast8_of(struct fp8 *a, struct rt_node *n, enum rt_dtype type, bool transposed, int *at)
{
	struct rt_call *c = a->casts[n->id];

	if (!c) {
		c = a->casts[n->id] = gt_xcalloc(1, sizeof(*c));
		c->op = rt_ops[RT_OP_CAST8];
		c->phase = a->plan->ir.calls[*at]->phase;
		c->origin = a->plan->ir.calls[*at]->origin;
		c->recomputed = a->plan->ir.calls[*at]->recomputed;
		c->run_once = n->role == RT_ROLE_PARAM;
		c->in[0] = n;
		c->in[1] = a->table;
		c->attr.slot = a->slots++;
		rt_plan_insert(a->plan, (*at)++, c);
	}
	if (!c->out[transposed])
		c->out[transposed] = cast8_output(a, c, type, transposed);
	return c->out[transposed];
}

static bool sides_fit(const struct rt_node *n)
{
	return rt_rows(n) % RT_FP8_SIDE == 0 && rt_cols(n) % RT_FP8_SIDE == 0;
}

static bool takes(const struct rt_call *c)
{
	for (int k = 0; k < 2; k++)
		if (c->op->fp8[k].type == RT_F32 || !sides_fit(c->in[k]) || rt_rows(c->in[k]) > ROWS_MAX)
			return false;
	return c->out[0] && sides_fit(c->out[0]);
}

/* Converts the operands of the call at `at` and returns its new position. in[2] of a weight gradient, whose sum is the
 * bias gradient, stays as it is. */
static int convert_operands(struct fp8 *a, int at)
{
	struct rt_call *c = a->plan->ir.calls[at];

	for (int k = 0; k < 2; k++)
		c->in[k] = cast8_of(a, c->in[k], c->op->fp8[k].type, c->op->fp8[k].transposed, &at);
	a->products++;
	return at;
}

static void insert_scale_update(struct fp8 *a)
{
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	c->op = rt_ops[RT_OP_SCALES8];
	c->phase = RT_PHASE_FORWARD;
	c->run_once = true;
	c->in[0] = a->table;
	rt_plan_insert(a->plan, 0, c);
}

static int fp8(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct fp8 a = { .plan = p, .n_nodes = p->ir.n_nodes };

	if (!p->opt->precision.fp8.use)
		return 0;
	a.casts = gt_xcalloc((size_t)a.n_nodes, sizeof(struct rt_call *));
	a.table = rt_ir_node(&p->ir, RT_ROLE_STATE, RT_F32, &RT_SHAPE(1), "scales of 8-bit tensors");
	for (int i = 0; i < p->ir.n_calls && p->ir.calls[i]->phase < RT_PHASE_GRADIENT; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (takes(c)) {
			i = convert_operands(&a, i);
		} else if (c->out[0] && c->op->linear) {
			a.first_plain = a.first_plain ? a.first_plain : c->out[0];
			a.plain++;
		}
		for (int k = 0; k < RT_MAX_IO; k++)
			if (c->out[k] && c->out[k]->id < a.n_nodes)
				a.casts[c->out[k]->id] = NULL; /* the rounded copy of the old content is invalid */
	}
	free(a.casts);
	a.table->shape = RT_SHAPE(GT_MAX(1, a.slots), p->target->fp8_words + p->opt->precision.fp8.history);
	if (a.slots)
		insert_scale_update(&a);
	gt_buf_printf(did, "%d products in 8 bits, %d scales", a.products, a.slots);
	if (a.plain)
		gt_buf_printf(did, "; bf16: %d (%s: %s)", a.plain, a.first_plain->name,
			      a.first_plain == p->loss ? "computes the logits" : "sides are not multiples of 16");
	return 0;
}

const struct rt_pass rt_pass_fp8 = { .name = "fp8", .run = fp8 };
