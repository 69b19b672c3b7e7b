/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of a pipeline stage. The forward and backward calls are repeated for each microbatch of an update, in the order
 * of the schedule. Each copy has its own activations. The memory plan then gives the activations of a microbatch addresses from
 * its forward to its backward pass. The calls of an update follow the last backward pass.
 *
 * GPipe (Huang et al. 2019): all forward passes, then all backward passes. 1F1B (PipeDream-Flush, Narayanan et al. 2021):
 * as soon as the first microbatch has passed the later stages, one forward and one backward pass alternate. Stage i of n
 * then holds at most n - i microbatches.
 *
 * The backward passes run in the order of the microbatches, so sums of gradients are those of a run without stages.
 */
#include <string.h>
#include "runtime/pass/pipeline.h"
#include "runtime/pass/rewrite.h"

struct work {
	struct rt_plan *plan;
	struct rt_call **call; /* the calls of one microbatch and of the update */
	int n_calls, n_forward, n_nodes, microbatches;
	bool *repeated;	       /* by node id: whether each microbatch has its own copy */
	bool *saved;	       /* by node id: whether the backward pass reads this input */
	struct rt_node **copy; /* [microbatch * n_nodes + id] */
};

static bool is_repeated_call(const struct rt_call *c)
{
	return (c->phase == RT_PHASE_FORWARD || c->phase == RT_PHASE_BACKWARD) && !c->run_once &&
	       c->op->collective != RT_STAGE_SUM && c->op->collective != RT_STAGES_MEET;
}

/*
 * Marks the tensors of which each microbatch has its own: repeated calls write them, and they do not outlive the microbatch.
 * Gradients in a window are excepted: all microbatches use the same buckets (pass/bucket_shard.c).
 */
static void find_repeated(struct work *w)
{
	for (int i = 0; i < w->n_calls; i++)
		for (int k = 0; is_repeated_call(w->call[i]) && k < RT_MAX_IO; k++) {
			const struct rt_node *n = w->call[i]->out[k], *in = w->call[i]->in[k];

			if (n)
				w->repeated[n->id] = !rt_is_persistent(n) && !n->shared && !rt_plan_is_output(w->plan, n);
			if (in && in->role == RT_ROLE_INPUT && w->call[i]->phase == RT_PHASE_BACKWARD)
				w->saved[in->id] = w->microbatches > 1;
		}
}

static struct rt_node *new_copy(struct work *w, const struct rt_node *n)
{
	struct rt_node *copy = rt_ir_node(&w->plan->ir, n->role == RT_ROLE_INPUT ? RT_ROLE_VALUE : n->role, n->dtype, &n->shape,
					  n->name);

	copy->padded_rows = n->padded_rows;
	copy->slot = n->slot;
	copy->pinned = n->pinned;
	return copy;
}

/* Returns microbatch m's tensor for n. The last microbatch keeps n itself, which the calls of the update may read. */
static struct rt_node *tensor_of(struct work *w, struct rt_node *n, int m)
{
	struct rt_node **copy;

	if (!n || n->id >= w->n_nodes || (w->saved[n->id] ? false : !w->repeated[n->id] || m == w->microbatches - 1))
		return n;
	copy = &w->copy[(size_t)m * (size_t)w->n_nodes + (size_t)n->id];
	if (!*copy)
		*copy = new_copy(w, n);
	return *copy;
}

static bool toggles(const struct rt_plan *p, const struct rt_call *c, int slot)
{
	for (int i = 0; i < p->n_toggles; i++)
		if (p->toggles[i].call == c && p->toggles[i].slot == slot)
			return true;
	return false;
}

static void append(struct rt_plan *p, struct rt_call *c)
{
	struct rt_call *last = rt_ir_call(&p->ir, c->op->id, NULL);

	*last = *c;
}

/* Appends a copy of the call for microbatch m. The first batch assigns the sums of gradients, the others add. */
static void repeat(struct work *w, const struct rt_call *c, int m)
{
	struct rt_call copy = *c;

	copy.microbatch = m;
	for (int k = 0; k < RT_MAX_IO; k++) {
		if (!(c->in[k] && c->in[k]->role == RT_ROLE_INPUT && c->phase == RT_PHASE_FORWARD))
			copy.in[k] = tensor_of(w, c->in[k], m);
		copy.out[k] = tensor_of(w, c->out[k], m);
		if (toggles(w->plan, c, k) && (m || w->plan->opt->debug.zero_gradients))
			copy.attr.accumulate |= 1u << k;
	}
	append(w->plan, &copy);
}

/* Copies the inputs that the backward pass reads: the next microbatch overwrites them. */
static void save_inputs(struct work *w, int m)
{
	for (int i = 0; i < w->n_nodes; i++) {
		struct rt_node *n = w->plan->ir.nodes[i];
		struct rt_call *c;

		if (!w->saved[i])
			continue;
		c = rt_ir_call(&w->plan->ir, RT_OP_RESHAPE, &(struct rt_attr){ .shape = n->shape });
		c->phase = RT_PHASE_FORWARD;
		c->microbatch = m;
		c->in[0] = n;
		c->out[0] = tensor_of(w, n, m);
	}
}

static void forward(struct work *w, int m)
{
	w->plan->segment[m] = w->plan->ir.n_calls;
	for (int i = 0; i < w->n_forward; i++)
		if (is_repeated_call(w->call[i]))
			repeat(w, w->call[i], m);
	save_inputs(w, m);
}

/* The calls of the update stay at their positions in the last backward pass. */
static void backward(struct work *w, int m)
{
	for (int i = w->n_forward; i < w->n_calls; i++)
		if (is_repeated_call(w->call[i]))
			repeat(w, w->call[i], m);
		else if (m == w->microbatches - 1)
			append(w->plan, w->call[i]);
}

static void emit_all(struct work *w)
{
	const struct rt_stage *s = w->plan->stage;
	int warmup = rt_stage_warmup(w->plan->opt->pipeline.schedule, s->n, s->index, w->microbatches);

	for (int m = 0; m < warmup; m++)
		forward(w, m);
	for (int m = warmup; m < w->microbatches; m++) {
		forward(w, m);
		backward(w, m - warmup);
	}
	for (int m = w->microbatches - warmup; m < w->microbatches; m++)
		backward(w, m);
	w->plan->segment[0] = 0;
	w->plan->segment[w->microbatches] = w->plan->ir.n_calls;
}

static int schedule(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct work w = { .plan = p, .n_nodes = p->ir.n_nodes, .microbatches = p->opt->accum, .call = p->ir.calls,
			  .n_calls = p->ir.n_calls, .n_forward = rt_forward_end(p) };
	const struct rt_stage *s = p->stage;

	if (!s)
		return 0;
	w.repeated = gt_xcalloc((size_t)w.n_nodes, sizeof(*w.repeated));
	w.saved = gt_xcalloc((size_t)w.n_nodes, sizeof(*w.saved));
	w.copy = gt_xcalloc((size_t)w.n_nodes * (size_t)w.microbatches, sizeof(struct rt_node *));
	p->segment = gt_xcalloc((size_t)w.microbatches + 1, sizeof(*p->segment));
	p->ir.calls = NULL;
	p->ir.n_calls = p->ir.cap_calls = 0;
	find_repeated(&w);
	for (int i = 0; i < w.n_calls; i++)
		if (w.call[i]->run_once)
			append(p, w.call[i]);
	emit_all(&w);
	p->n_toggles = 0;
	for (int i = 0; i < w.n_calls; i++)
		free(w.call[i]);
	free(w.call);
	free(w.repeated);
	free(w.saved);
	free(w.copy);
	gt_buf_printf(did, "%s, %d microbatches per update, activations of %d held",
		      p->opt->pipeline.schedule == RT_GPIPE ? "gpipe" : "1f1b", w.microbatches, s->in_flight);
	return 0;
}

const struct rt_pass rt_pass_schedule = { .name = "schedule", .run = schedule };
