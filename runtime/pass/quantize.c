/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INT8 inference: replaces linear layers and convolutions by the same ops with 8-bit weights (struct rt_op, int8). Weights
 * are quantised when parameters may have changed, not per run. Runs after the fusions, so that the bias and the activation
 * are part of the product. With RT_INT8_OBSERVE it only counts the values of the activations.
 */
#include <errno.h>
#include <math.h>
#include "runtime/pass/rewrite.h"
#include "runtime/math/histogram.h"
#include "runtime/math/int8.h"

struct quantize {
	struct rt_plan *plan;
	struct rt_node **weights; /* INT8 weights by id of the f32 weight; NULL: not quantised */
	int n_nodes, products, plain;
	const struct rt_node *first_plain; /* result of the first product that stays f32 */
	const char *reason;
};

/* Returns why the product keeps its f32 weight, or NULL. */
static const char *keeps_f32(const struct quantize *q, const struct rt_call *c)
{
	const struct rt_node *w = c->in[1];

	if (!c->op->int8)
		return "computes the loss";
	if (!rt_plan_is_constant(q->plan, w))
		return "its weight is computed in each run";
	if (c->attr.groups > 1)
		return "it has groups";
	if (rt_shape_elements(&w->shape) / w->shape.d[0] > RT_I8_DEPTH)
		return "its sums would exceed 32 bits";
	return c->out[1] && rt_plan_uses(q->plan, c->out[1]) ? "its sum before the activation is read" : NULL;
}

/* Returns the INT8 weight. *at is the call that reads it, adjusted when a call is inserted before it. */
static struct rt_node *weight_of(struct quantize *q, struct rt_node *w, int *at)
{
	struct rt_node **r = &q->weights[w->id];
	int64_t k = rt_shape_elements(&w->shape) / w->shape.d[0];
	gt_autofree char *name = NULL;
	struct rt_call *c;

	if (*r)
		return *r;
	name = gt_xasprintf("int8 of %s", w->name);
	*r = rt_ir_node(&q->plan->ir, RT_ROLE_VALUE, RT_I8, &RT_SHAPE(rt_i8_padded(w->shape.d[0]), rt_i8_output_bytes(k)), name);
	c = rt_emit_before(q->plan, (*at)++, RT_OP_QUANTIZE_WEIGHT, RT_PHASE_FORWARD);
	c->run_once = true;
	c->in[0] = w;
	c->out[0] = *r;
	return *r;
}

/* Returns the name of the range of product c's activations. */
static char *range_name(const struct rt_call *c)
{
	return gt_xasprintf("input of %s", c->in[1]->name);
}

/* Inserts a call that counts the activations of the matrix product at `at`. Returns the new position of the product. */
static int observe(struct quantize *q, int at)
{
	struct rt_call *product = q->plan->ir.calls[at], *c = rt_emit_before(q->plan, at, RT_OP_OBSERVE, RT_PHASE_FORWARD);
	gt_autofree char *name = range_name(product);

	c->in[0] = product->in[0];
	c->out[0] = rt_ir_node(&q->plan->ir, RT_ROLE_STATE, RT_F32, &RT_SHAPE(RT_HISTOGRAM_FLOATS), name);
	q->products++;
	return at + 1;
}

/* Sets the range of the activations of product c, the next one in order. */
static int set_range(const struct quantize *q, struct rt_call *c, struct gt_err *err)
{
	const struct rt_ranges *ranges = q->plan->opt->precision.ranges;
	gt_autofree char *name = range_name(c);
	const struct rt_range *r;
	struct rt_i8_range to;

	if (q->plan->opt->precision.int8 != RT_INT8_STATIC)
		return 0;
	if (q->products >= ranges->n || !gt_streq(ranges->range[q->products].name, name))
		return gt_fail(err, EINVAL, "the calibration has no range for the %s: it is of another model", name);
	r = &ranges->range[q->products];
	to = rt_i8_range(r->lo, r->hi);
	if (!(r->lo <= 0 && r->hi >= 0) || !isfinite(to.scale))
		return gt_fail(err, EINVAL, "the range of the %s is %g to %g: it must be finite and contain 0", name,
			       (double)r->lo, (double)r->hi);
	c->attr.scale = to.scale;
	c->attr.offset = (float)to.zero;
	return 0;
}

/* Returns the new position of the call. */
static int convert(struct quantize *q, int at)
{
	struct rt_call *c = q->plan->ir.calls[at];
	struct rt_node *w = weight_of(q, c->in[1], &at);

	c->attr.shape = c->in[1]->shape;
	c->op = rt_ops[c->op->int8];
	c->in[1] = w;
	c->out[1] = NULL;
	q->products++;
	return at;
}

static void report(const struct quantize *q, struct gt_buf *did)
{
	const char *isa = q->plan->target->multiplies_by(RT_I8);

	if (q->plan->opt->precision.int8 == RT_INT8_OBSERVE) {
		gt_buf_printf(did, "activations of %d products observed", q->products);
		return;
	}
	gt_buf_printf(did, "%d products in INT8, activations quantised %s, ", q->products,
		      q->plan->opt->precision.int8 == RT_INT8_STATIC ? "by calibrated ranges" : "by their range in each run");
	if (isa)
		gt_buf_printf(did, "multiplied by %s", isa);
	else
		gt_buf_puts(did, "without an instruction for it on this CPU: smaller weights, but no faster than f32");
	if (q->plain)
		gt_buf_printf(did, "; f32: %d (%s: %s)", q->plain, q->first_plain->name, q->reason);
}

static int quantize(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct quantize q = { .plan = p, .n_nodes = p->ir.n_nodes };
	int r = 0;

	if (p->opt->precision.int8 == RT_INT8_OFF)
		return 0;
	q.weights = gt_xcalloc((size_t)q.n_nodes, sizeof(*q.weights));
	for (int i = 0; !r && i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];
		const char *reason;

		if (!c->op->int8 && !c->op->linear)
			continue;
		reason = keeps_f32(&q, c);
		if (!reason && p->opt->precision.int8 == RT_INT8_OBSERVE) {
			i = observe(&q, i);
			continue;
		}
		if (!reason) {
			r = set_range(&q, c, err);
			i = convert(&q, i);
			continue;
		}
		if (!q.plain++) {
			q.first_plain = c->out[0];
			q.reason = reason;
		}
	}
	free(q.weights);
	report(&q, did);
	return r;
}

const struct rt_pass rt_pass_quantize = { .name = "quantize", .run = quantize };
