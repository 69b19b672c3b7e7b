/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives of tensor parallel ranks, once the gradients are known (pass/tensor.c, pass/sequence.c). Replicates are
 * removed. With sequence parallelism, the backward pass gathers the inputs of layers again, and one collective sums up to
 * RT_MAX_IO gradients of parameters.
 */
#include "runtime/pass/rewrite.h"
#include "runtime/transport/comm.h"

/* Gathers an input again for the first call of the backward pass that reads it. */
static void gather_again(struct rt_plan *p, int at)
{
	const struct rt_call *c = p->ir.calls[at];
	int reader = rt_consumer_in(p, c->out[0], rt_forward_end(p), p->ir.n_calls);
	struct rt_node *again;
	struct rt_call *k;

	if (reader < 0)
		return;
	again = rt_node_like(p, RT_ROLE_VALUE, RT_F32, c->out[0], "again");
	for (int i = reader; i < p->ir.n_calls; i++)
		for (int j = 0; j < RT_MAX_IO; j++)
			if (p->ir.calls[i]->in[j] == c->out[0])
				p->ir.calls[i]->in[j] = again;
	k = rt_emit_before(p, reader, RT_OP_ALL_GATHER, RT_PHASE_BACKWARD);
	k->attr = c->attr;
	k->in[0] = c->in[0];
	k->out[0] = again;
	k->origin = c->in[0]->name;
}

/* Returns whether the call sums the gradient of a parameter, which no later call of the backward pass reads. */
static bool sums_parameter(const struct rt_plan *p, int at)
{
	const struct rt_call *c = p->ir.calls[at];

	if (!rt_is(c, RT_OP_ALL_REDUCE) || c->phase != RT_PHASE_BACKWARD || rt_plan_uses(p, c->out[0]))
		return false;
	for (int i = 0; i < p->n_graph_nodes; i++)
		if (p->gradient[i] == c->out[0] && p->ir.nodes[i]->role == RT_ROLE_PARAM)
			return true;
	return false;
}

/* The later of two sums also does the earlier one. */
static void join_sums(struct rt_plan *p)
{
	int earlier = -1, n = 0;

	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (!sums_parameter(p, i))
			continue;
		for (int k = 0; k < n; k++) {
			c->in[k + 1] = p->ir.calls[earlier]->in[k];
			c->out[k + 1] = p->ir.calls[earlier]->out[k];
		}
		if (n) {
			rt_plan_remove(p, earlier);
			i--;
		}
		earlier = i;
		n = n + 1 < RT_MAX_IO ? n + 1 : 0;
	}
}

static void gather_all_again(struct rt_plan *p)
{
	for (int i = 0; i < rt_forward_end(p); i++)
		if (rt_is(p->ir.calls[i], RT_OP_ALL_GATHER) && p->ir.calls[i]->attr.dim == RT_DIM_TENSOR)
			gather_again(p, i);
}

/* Results are their inputs. */
static void remove_replicates(struct rt_plan *p)
{
	for (int i = 0; i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];

		if (!rt_is(c, RT_OP_REPLICATE))
			continue;
		rt_replace_reads(p, c->out[0], c->in[0]);
		rt_plan_remove(p, i--);
	}
}

/* Counts the collectives. */
static int replicate(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int sums[2] = { 0 }, gathers[2] = { 0 };
	double bytes = 0;
	char text[32];

	(void)err;
	remove_replicates(p);
	if (p->opt->ranks.sequence) {
		gather_all_again(p);
		join_sums(p);
	}
	for (int i = 0; i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];

		if (c->op->collective != RT_GROUP_CALL || c->attr.dim != RT_DIM_TENSOR)
			continue;
		(rt_is(c, RT_OP_ALL_GATHER) ? gathers : sums)[c->phase != RT_PHASE_FORWARD]++;
		for (int k = 0; k < RT_MAX_IO && c->in[k]; k++)
			bytes += (double)rt_node_bytes(c->in[k]);
	}
	if (!sums[0])
		return 0;
	gt_format_bytes(text, sizeof(text), (uint64_t)bytes);
	gt_buf_printf(did, "sums and gathers over the ranks: %d and %d forward, %d and %d backward, %s in each batch", sums[0],
		      gathers[0], sums[1], gathers[1], text);
	return 0;
}

const struct rt_pass rt_pass_replicate = { .name = "sums", .run = replicate };
