/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuses INT8 linear layers with neighbouring calls, so that fewer f32 activations pass through memory:
 *   linear, add + layernorm -> linear that adds the residual, layernorm
 *   layernorm, linear       -> linear that normalises each row before it quantises it
 *   linear, linear          -> both for a few rows at a time, if their weights fit in the L2 cache
 * The results are equal to the bit.
 */
#include "runtime/graph/op_int8.h"
#include "runtime/pass/rewrite.h"

/* Largest size of both weights of a pair: a quarter of an L2 cache. They are read again for each tile of rows. */
#define PAIR_BYTES	(INT64_C(512) << 10)
/* Smallest number of rows of a pair. With fewer rows, threads divide the columns, and each would compute the first layer. */
#define PAIR_ROWS	64

static bool is_unused(const struct rt_plan *p, const struct rt_node *n)
{
	return !n || rt_plan_uses(p, n) == 0;
}

/* linear, add_layernorm */
static bool fuse_residual(struct rt_plan *p, int at, int producer)
{
	struct rt_call *norm = p->ir.calls[at], *linear = p->ir.calls[producer];
	struct rt_node *residual = norm->in[0];

	if (linear->in[RT_INT8_RESIDUAL] || residual == norm->in[1] || !rt_same_shape(residual, norm->in[1]) ||
	    rt_producer_in(p, residual, producer + 1, p->ir.n_calls) >= 0)
		return false;
	if (linear->attr.act != RT_ACT_NONE && !linear->in[RT_INT8_SECOND])
		return false;
	linear->in[RT_INT8_RESIDUAL] = residual;
	linear->out[0] = norm->out[0];
	*norm = (struct rt_call){
		.op = rt_ops[RT_OP_LAYERNORM],
		.attr = norm->attr,
		.in = { norm->out[0], norm->in[2], norm->in[3] },
		.out = { norm->out[1], norm->out[2], norm->out[3] },
	};
	return true;
}

/* layernorm, linear */
static bool fuse_norm(struct rt_plan *p, int at, int producer)
{
	struct rt_call *linear = p->ir.calls[at];
	const struct rt_call *norm = p->ir.calls[producer];

	if (linear->in[RT_INT8_GAIN] || !is_unused(p, norm->out[1]) || !is_unused(p, norm->out[2]))
		return false;
	linear->attr.eps = norm->attr.eps;
	linear->in[0] = norm->in[0];
	linear->in[RT_INT8_GAIN] = norm->in[1];
	linear->in[RT_INT8_GAIN + 1] = norm->in[2];
	rt_plan_remove(p, producer);
	return true;
}

static int64_t weight_bytes(const struct rt_call *c)
{
	return rt_shape_elements(&c->in[1]->shape);
}

/* linear, linear */
static bool fuse_pair(struct rt_plan *p, int at, int producer)
{
	struct rt_call *second = p->ir.calls[at];
	struct rt_call first = *p->ir.calls[producer];

	if (first.in[RT_INT8_SECOND] || first.in[RT_INT8_RESIDUAL] || second->in[RT_INT8_GAIN] || second->attr.scale > 0 ||
	    second->attr.act != RT_ACT_NONE || weight_bytes(&first) + weight_bytes(second) > PAIR_BYTES ||
	    rt_rows(second->out[0]) < PAIR_ROWS)
		return false;
	first.in[RT_INT8_SECOND] = second->in[1];
	first.in[RT_INT8_SECOND + 1] = second->in[2];
	first.in[RT_INT8_RESIDUAL] = second->in[RT_INT8_RESIDUAL];
	first.out[0] = second->out[0];
	*second = first;
	rt_plan_remove(p, producer);
	return true;
}

static int fuse_int8(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const struct rt_pattern patterns[] = {
		{ .op = RT_OP_ADD_LAYERNORM, .slot = 1, .producer = RT_OP_LINEAR_INT8, .fuse = fuse_residual },
		{ .op = RT_OP_LINEAR_INT8, .producer = RT_OP_LAYERNORM, .fuse = fuse_norm },
		{ .op = RT_OP_LINEAR_INT8, .producer = RT_OP_LINEAR_INT8, .fuse = fuse_pair },
	};
	int n[3] = { 0 };

	if (p->opt->debug.no_fuse || p->opt->precision.int8 == RT_INT8_OFF)
		return 0;
	rt_fuse(p, patterns, 3, n);
	if (n[0] + n[1] + n[2])
		gt_buf_printf(did, "fused %d residual sums and %d norms into products, %d pairs of products", n[0], n[1], n[2]);
	return 0;
}

const struct rt_pass rt_pass_fuse_int8 = { .name = "fuse_int8", .run = fuse_int8 };
