/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sharded update (ZeRO, Rajbhandari et al. 2020). Stage 1: each rank of a node updates its piece of every parameter
 * and writes the new values to the other ranks. It keeps the optimizer state of that piece only. Parameters and state are
 * in the window that the ranks map. Nothing is copied, and a checkpoint can read the pieces of all ranks. If no whole
 * gradient is needed, a rank adds the gradients of its piece in the same pass over memory (cpu/op_update.c).
 *
 * Stage 2: each batch sums the gradients of a bucket, each rank its pieces, and the bucket's memory is then free for
 * another one (pass/bucket_shard.c). Stage 3: a rank also has only its piece of each parameter. A call that reads the
 * parameter gets a tensor that is gathered just before it from the windows of all ranks.
 *
 * In a pipeline, the ranks that have the same stage shard it. Stages 2 and 3 of ZeRO then reduce the gradients of each
 * microbatch, and stage 3 also gathers parameters for each. DeepSpeed does not combine them for this reason (issue 4164 of its
 * repository). torchtitan does. Stages that share a parameter add the pieces of its gradient after the last microbatch.
 */
#include "runtime/graph/update.h"
#include "runtime/pass/bucket.h"
#include "runtime/pass/rewrite.h"

static void cut(struct rt_node *state, int64_t unit, int team)
{
	int64_t units = (rt_shape_elements(&state->shape) + unit - 1) / unit;

	state->whole = state->shape;
	state->piece_unit = unit;
	state->shape = RT_SHAPE((units + team - 1) / team * unit);
}

/* Cuts the optimizer state. Masks of pruned weights stay whole: each rank prunes all parameters. */
static void cut_state(struct rt_plan *p, uint64_t *all, uint64_t *piece)
{
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (c->phase != RT_PHASE_UPDATE || rt_is(c, RT_OP_MASK))
			continue;
		for (int k = 1; k < RT_MAX_IO; k++) {
			if (!c->out[k])
				continue;
			*all += rt_node_bytes(c->out[k]);
			/* scales: one per unit of the parameter */
			cut(c->out[k], rt_shape_elements(&c->out[k]->shape) == rt_shape_elements(&c->out[0]->shape) ?
					       RT_PIECE_UNIT : 1, p->ranks->team);
			*piece += rt_node_bytes(c->out[k]);
		}
	}
}

/* Returns whether the call uses the sum of a gradient over the ranks, not the gradient of one batch. */
static bool uses_sum(const struct rt_call *c)
{
	return c->phase > RT_PHASE_BACKWARD || c->op->collective == RT_STAGE_SUM;
}

/* Returns the position after the last call that uses the gradient of one batch. */
static int complete_position(const struct rt_plan *p, const struct rt_node *g)
{
	int at = p->ir.n_calls;

	while (at > 0 && (uses_sum(p->ir.calls[at - 1]) ||
			  !(rt_reads(p->ir.calls[at - 1], g) || rt_writes(p->ir.calls[at - 1], g))))
		at--;
	return GT_MAX(at, rt_forward_end(p));
}

/* Makes the calls of an update use this rank's piece of the sum of the gradient. */
static void shard_gradient(struct rt_plan *p, struct rt_node *g)
{
	int at = complete_position(p, g);
	struct rt_node *sum = rt_node_like(p, RT_ROLE_GRADIENT, RT_F32, g, "sum of");
	struct rt_call *c = rt_emit_before(p, at, RT_OP_SHARD_SUM, RT_PHASE_BACKWARD);

	cut(sum, RT_PIECE_UNIT, p->ranks->team);
	c->in[0] = g;
	c->out[0] = sum;
	for (int i = 0; i < p->ir.n_calls; i++)
		for (int k = 0; uses_sum(p->ir.calls[i]) && k < RT_MAX_IO; k++) {
			if (p->ir.calls[i]->in[k] == g)
				p->ir.calls[i]->in[k] = sum;
			if (p->ir.calls[i]->out[k] == g)
				p->ir.calls[i]->out[k] = sum;
		}
	if (p->opt->accum < 2)
		return;
	sum->pinned = sum->sums = true;
	rt_plan_add_toggle(p, c, 0);
}

static void shard_gradients(struct rt_plan *p)
{
	for (int i = 0; i < p->n_graph_nodes; i++) {
		struct rt_node *g = p->ir.nodes[i]->role == RT_ROLE_PARAM ? p->gradient[i] : NULL;
		bool known = !g;

		for (int k = 0; !known && k < p->ir.n_calls; k++)
			known = rt_is(p->ir.calls[k], RT_OP_SHARD_SUM) && p->ir.calls[k]->in[0] == g;
		if (!known)
			shard_gradient(p, g);
	}
}

/* Gathers the parameter for each call that reads it. */
static void gather(struct rt_plan *p, struct rt_node *param)
{
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *reader = p->ir.calls[i], *c;

		if (reader->phase > RT_PHASE_BACKWARD || rt_is(reader, RT_OP_SHARD_GATHER) || !rt_reads(reader, param))
			continue;
		c = rt_emit_before(p, i++, RT_OP_SHARD_GATHER, reader->phase);
		c->in[0] = param;
		c->out[0] = rt_node_like(p, RT_ROLE_VALUE, param->dtype, param, "whole");
		for (int k = 0; k < RT_MAX_IO; k++)
			if (reader->in[k] == param)
				reader->in[k] = c->out[0];
	}
	cut(param, RT_PIECE_UNIT, p->ranks->team);
}

static void shard_parameters(struct rt_plan *p)
{
	for (int i = 0; i < p->n_graph_nodes; i++)
		for (int k = 0; k < p->ir.n_calls; k++)
			if (p->ir.calls[k]->phase == RT_PHASE_UPDATE && p->ir.calls[k]->out[0] == p->ir.nodes[i]) {
				struct rt_node *copy = rt_plan_reduced_copy(p, p->ir.nodes[i]);

				gather(p, p->ir.nodes[i]);
				if (copy && copy->role == RT_ROLE_STATE) /* only the plan of a GPU has such copies */
					gather(p, copy);
				break;
			}
}

static int shard(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const char *const also[] = { "", "", "; gradients are summed in pieces",
					    "; gradients are summed in pieces, parameters are gathered when they are read" };
	uint64_t all = 0, piece = 0;
	char full_size[32], piece_size[32];

	if (!p->ranks || !p->ranks->team)
		return 0;
	cut_state(p, &all, &piece);
	if (p->ranks->stage >= 2)
		shard_gradients(p);
	if (p->ranks->stage >= 3)
		shard_parameters(p);
	gt_format_bytes(full_size, sizeof(full_size), all);
	gt_format_bytes(piece_size, sizeof(piece_size), piece);
	gt_buf_printf(did, "each rank updates 1/%d of the parameters and keeps %s of %s of optimizer state%s",
		      p->ranks->team, piece_size, full_size, also[p->ranks->stage]);
	return 0;
}

const struct rt_pass rt_pass_shard = { .name = "shard", .run = shard };
