/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequence parallelism (Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022), after
 * the tensor pass. Norms, dropouts and sums between a row layer and the next column layer work on single tokens. Each of
 * N tensor parallel ranks computes them for 1/N of the tokens of a batch, and stores only these activations.
 *
 * The sum after a row layer becomes a reduce_scatter, and the input of a column layer an all_gather. Both move the bytes
 * of the all_reduce that they replace. The gathered input is not kept: the backward pass gathers it again, which adds a
 * quarter to the sent bytes (pass/tensor_gradients.c). Each rank has different tokens, so the gradients of norms and biases
 * are sums over the ranks.
 */
#include <errno.h>
#include <string.h>
#include "runtime/pass/rewrite.h"
#include "runtime/transport/comm.h"

struct sequence {
	struct rt_plan *plan;
	int parts, part;
	bool *split; /* by node: each rank has a part of its rows */
	struct rt_node **replica, **own, **whole; /* by node: copies that other ops read; NULL: none yet */
	int n; /* nodes when the pass started */
};

/* ---- which tensors are split ---- */

/* Returns the number of inputs that have the rows of the output; the other inputs are parameters of all rows. 0: the op does
 * not work on single rows. */
static int row_inputs(const struct rt_call *c)
{
	if (rt_is(c, RT_OP_MUL))
		return rt_same_shape(c->in[0], c->in[1]) ? 2 : 0;
	if (rt_is(c, RT_OP_ADD) && rt_same_shape(c->in[0], c->in[1]))
		return 2;
	if (rt_is(c, RT_OP_ADD))
		return c->in[1]->role == RT_ROLE_PARAM && c->in[1]->shape.n == 1;
	return rt_is(c, RT_OP_LAYERNORM) || rt_is(c, RT_OP_RMSNORM) || rt_is(c, RT_OP_ACT) || rt_is(c, RT_OP_AFFINE) ||
	       rt_is(c, RT_OP_DROPOUT);
}

static bool set_split(const struct sequence *s, const struct rt_call *c)
{
	if (s->split[c->out[0]->id] || rt_plan_is_output(s->plan, c->out[0]))
		return false;
	return s->split[c->out[0]->id] = true;
}

/* Splits what the op computes from split rows, and the rows that it adds to them. */
static bool spread(const struct sequence *s, const struct rt_call *c)
{
	bool any = s->split[c->out[0]->id], changed = false;
	int n = row_inputs(c);

	for (int k = 0; k < n; k++)
		any |= s->split[c->in[k]->id];
	if (!n || !any || rt_plan_is_output(s->plan, c->out[0]))
		return false;
	changed = set_split(s, c);
	for (int k = 0; k < n; k++) {
		const struct rt_call *from = rt_ir_producer(&s->plan->ir, c->in[k]);

		if (from && (row_inputs(from) || rt_is(from, RT_OP_EMBEDDING)) && from->out[0] == c->in[k])
			changed |= set_split(s, from);
	}
	return changed;
}

static void find_split(const struct sequence *s)
{
	const struct rt_ir *ir = &s->plan->ir;
	bool changed;

	for (int i = 0; i < ir->n_calls; i++)
		if (rt_is(ir->calls[i], RT_OP_ALL_REDUCE))
			set_split(s, ir->calls[i]);
	do {
		changed = false;
		for (int i = ir->n_calls - 1; i >= 0; i--)
			changed |= spread(s, ir->calls[i]);
	} while (changed);
}

static int check(const struct sequence *s, struct gt_err *err)
{
	for (int i = 0; i < s->n; i++) {
		const struct rt_node *n = s->plan->ir.nodes[i];

		if (s->split[i] && rt_rows(n) % s->parts)
			return gt_fail(err, EINVAL, "%s: %lld tokens of a batch cannot be divided among %d tensor parallel ranks",
				       n->name, (long long)rt_rows(n), s->parts);
	}
	return 0;
}

/* ---- the rewrite ---- */

static struct rt_call *emit(const struct sequence *s, int at, enum rt_op_id op, struct rt_node *in, struct rt_node *out)
{
	struct rt_call *c = rt_emit_before(s->plan, at, op, RT_PHASE_FORWARD);

	c->attr.dim = RT_DIM_TENSOR;
	c->attr.parts = s->parts;
	c->attr.part = s->part;
	c->in[0] = in;
	c->out[0] = out;
	return c;
}

static struct rt_node *copy_of(const struct sequence *s, struct rt_node *n, const char *prefix)
{
	return rt_node_like(s->plan, RT_ROLE_VALUE, RT_F32, n, prefix);
}

static void split_shape(const struct sequence *s, struct rt_node *n)
{
	int64_t cols = n->shape.n > 1 ? rt_cols(n) : 1, rows = rt_shape_elements(&n->shape) / cols / s->parts;

	n->shape = n->shape.n > 1 ? RT_SHAPE(rows, cols) : RT_SHAPE(rows);
}

/* Each split op reads the own rows of its inputs, and replicas of its parameters. Returns the number of added calls. */
static int split_inputs(const struct sequence *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at];
	int rows = row_inputs(c), added = 0;

	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->in[k], **copy;

		if (!n || s->split[n->id])
			continue;
		copy = k < rows ? &s->own[n->id] : &s->replica[n->id];
		if (!*copy) {
			*copy = copy_of(s, n, k < rows ? "own rows of" : "replicated");
			emit(s, at + added++, k < rows ? RT_OP_OWN_ROWS : RT_OP_REPLICATE, n, *copy);
			if (k < rows)
				split_shape(s, *copy);
		}
		c->in[k] = *copy;
	}
	if (rt_is(c, RT_OP_DROPOUT))
		c->attr.first_row = s->part * (rt_rows(c->out[0]) / s->parts);
	return added;
}

/* An embedding computes all rows: its gradient needs them. Returns the number of added calls. */
static int split_embedding(const struct sequence *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at];
	struct rt_node *own = c->out[0];

	c->out[0] = copy_of(s, own, "all rows of");
	emit(s, at + 1, RT_OP_OWN_ROWS, c->out[0], own);
	return 1;
}

/* Other ops read all rows, which are equal in all ranks, as are the gradients of them. Returns the number of added calls. */
static int join_inputs(const struct sequence *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at];
	int added = 0;

	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->in[k];

		if (!n || n->id >= s->n || !s->split[n->id])
			continue;
		if (!s->whole[n->id]) {
			s->whole[n->id] = copy_of(s, n, "all rows of");
			emit(s, at + added++, RT_OP_ALL_GATHER, n, s->whole[n->id])->attr.equal = true;
		}
		c->in[k] = s->whole[n->id];
	}
	return added;
}

/* Returns the position of the next call of the graph. */
static int rewrite_call(const struct sequence *s, int at, int sums[2])
{
	struct rt_call *c = s->plan->ir.calls[at];
	bool split = c->out[0]->id < s->n && s->split[c->out[0]->id];

	if (split && rt_is(c, RT_OP_ALL_REDUCE)) {
		c->op = rt_ops[RT_OP_REDUCE_SCATTER];
		sums[0]++;
		return at + 1;
	}
	if (split && rt_is(c, RT_OP_EMBEDDING))
		return at + 1 + split_embedding(s, at);
	if (split)
		return at + 1 + split_inputs(s, at);
	if (rt_is(c, RT_OP_REPLICATE) && s->split[c->in[0]->id]) {
		c->op = rt_ops[RT_OP_ALL_GATHER];
		sums[1]++;
		return at + 1;
	}
	return at + 1 + join_inputs(s, at);
}

static void rewrite(const struct sequence *s, struct gt_buf *did)
{
	struct rt_ir *ir = &s->plan->ir;
	int sums[2] = { 0 }, end = ir->n_calls;

	for (int at = 0; at < end;) {
		int before = ir->n_calls;

		at = rewrite_call(s, at, sums);
		end += ir->n_calls - before;
	}
	for (int i = 0; i < end; i++) {
		const struct rt_call *c = ir->calls[i];

		for (int k = 1; k < RT_MAX_IO && c->out[0]->id < s->n && s->split[c->out[0]->id]; k++)
			if (c->out[k])
				split_shape(s, c->out[k]);
	}
	for (int i = 0; i < s->n; i++)
		if (s->split[i])
			split_shape(s, ir->nodes[i]);
	gt_buf_printf(did, "each of %d ranks has 1/%d of the tokens between layers: %d sums scattered, %d inputs gathered",
		      s->parts, s->parts, sums[0], sums[1]);
}

static int sequence(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct rt_comm *comm = p->opt->ranks.tensor;
	size_t n = (size_t)p->ir.n_nodes;
	gt_autofree bool *split = gt_xcalloc(n, sizeof(*split));
	gt_autofree struct rt_node **copies = gt_xcalloc(3 * n, sizeof(*copies));
	struct sequence s = { .plan = p, .split = split, .replica = copies, .own = copies + n, .whole = copies + 2 * n,
			      .n = (int)n };
	int r;

	if (!comm || rt_comm_size(comm) < 2 || !p->opt->ranks.sequence)
		return 0;
	s.parts = rt_comm_size(comm);
	s.part = rt_comm_rank(comm);
	find_split(&s);
	r = check(&s, err);
	if (r)
		return r;
	rewrite(&s, did);
	return 0;
}

const struct rt_pass rt_pass_sequence = { .name = "sequence", .run = sequence };
