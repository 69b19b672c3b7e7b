/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient accumulation: the gradients of all parameters live across the batches of an update. The first batch assigns
 * them, the others add; nothing is zeroed. This pass lists the outputs that change between assigning and adding
 * (toggles). Sums over batches and gradients that ranks reduce are f32, even if the tensors between ops have reduced
 * precision.
 */
#include "runtime/pass/bucket.h"
#include "runtime/pass/rewrite.h"

/*
 * Returns whether the call that assigns g can add to the sum of the previous batches. False if another call or gradient
 * uses g as the gradient of one batch.
 */
static bool can_add_in_place(const struct rt_plan *p, int param, int writer, int slot)
{
	const struct rt_node *g = p->gradient[param];

	for (int i = 0; i < p->n_graph_nodes; i++)
		if (i != param && p->gradient[i] == g)
			return false;
	if (rt_consumer_in(p, g, 0, p->ir.n_calls) >= 0)
		return false;
	return writer >= 0 && g->role == RT_ROLE_GRADIENT && p->ir.calls[writer]->op->accumulates >> slot & 1;
}

void rt_plan_add_toggle(struct rt_plan *p, struct rt_call *c, int slot)
{
	p->toggles = gt_xrealloc(p->toggles, (size_t)(p->n_toggles + 1) * sizeof(*p->toggles));
	p->toggles[p->n_toggles++] = (struct rt_toggle){ c, slot };
}

/* Creates a separate sum of the gradient and a call that adds to it once per batch. */
static void add_sum(struct rt_plan *p, int param)
{
	struct rt_node *g = p->gradient[param];
	struct rt_call *c = rt_emit_before(p, rt_last_use(p, g, RT_PHASE_UPDATE) + 1, RT_OP_SUM_UP, RT_PHASE_BACKWARD);

	c->origin = p->ir.nodes[param]->name;
	c->in[0] = g;
	c->out[0] = p->gradient[param] = rt_node_like(p, RT_ROLE_GRADIENT, RT_F32, g, "sum of");
	rt_plan_add_toggle(p, c, 0);
}

void rt_plan_set_accumulate(struct rt_plan *p, bool add)
{
	for (int i = 0; i < p->n_toggles; i++) {
		const struct rt_toggle *t = &p->toggles[i];

		t->call->attr.accumulate = (t->call->attr.accumulate & ~(1u << t->slot)) | (unsigned)add << t->slot;
	}
}

static int accumulate(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int in_place = 0, summed = 0;
	/* sharded sums are the sums over batches: pass/shard.c */
	bool sharded = p->ranks && p->ranks->stage >= 2;
	bool sums = !sharded && (p->opt->accum > 1 || p->opt->debug.zero_gradients || p->stage);

	if ((!sums && !p->opt->ranks.comm) || !rt_plan_trains(p))
		return 0;
	for (int i = 0; i < p->n_graph_nodes; i++) {
		int slot = 0, writer;
		bool reduced;

		if (p->ir.nodes[i]->role != RT_ROLE_PARAM || !p->gradient[i])
			continue;
		writer = rt_producer(p, p->gradient[i], &slot);
		reduced = writer >= 0 && rt_becomes_reduced(p, p->ir.calls[writer], slot);
		if (!sums && !reduced)
			continue;
		if (!reduced && can_add_in_place(p, i, writer, slot)) {
			rt_plan_add_toggle(p, p->ir.calls[writer], slot);
			in_place++;
		} else {
			add_sum(p, i);
			summed++;
		}
		p->gradient[i]->pinned |= sums;
		p->gradient[i]->sums |= sums;
	}
	if (!sums && summed)
		gt_buf_printf(did, "%d gradients converted to f32 for the reduction over ranks", summed);
	if (!sums)
		return 0;
	if (p->opt->debug.zero_gradients)
		gt_buf_printf(did, "%d gradients cleared for each update", in_place + summed);
	else
		gt_buf_printf(did, "%d batches per update; %d gradients accumulated in place, %d by separate calls",
			      p->opt->accum, in_place, summed);
	return 0;
}

const struct rt_pass rt_pass_accumulate = { .name = "accumulate", .run = accumulate };
