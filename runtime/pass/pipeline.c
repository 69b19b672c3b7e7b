/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline parallelism. The forward calls are cut into one range per stage, at positions where a single activation
 * crosses. This stage keeps its range. It receives that activation from the previous stage and sends its own to the next
 * one, and autodiff emits the messages of the gradients. Ids of tensors stay those of the whole model, so initial values
 * and checkpoints do not depend on the number of stages.
 *
 * The cut minimises the largest work of a stage, and among cuts of about that work the largest memory. Work is the
 * flops of products and a number of flops for each byte that other calls move.
 */
#include <errno.h>
#include <math.h>
#include "lib/util.h"
#include "runtime/pass/pipeline.h"
#include "runtime/pass/rewrite.h"
#include "runtime/transport/comm.h"

#define FLOPS_PER_BYTE 10.0 /* rate of a CPU core's flops to its bytes */
#define EQUAL_WORK	1.02 /* cuts whose largest work differs by less are equal */

/* A position where the model can be cut: sums over all calls before it, and the activation that crosses it. */
struct place {
	int call;
	struct rt_node *crossing;
	double work, param_bytes, activation_bytes;
};
struct cut {
	const struct rt_plan *plan;
	struct place *place; /* [0] is the start of the model, [n] its end */
	int n;
	int stages, microbatches;
	enum rt_schedule schedule;
	int *first; /* index of the place where each stage starts; [stages]: n */
};

/* ---- where the model can be cut ---- */

static double call_work(const struct rt_call *c)
{
	double bytes = 0, flops = c->op->flops ? c->op->flops(c) : 0;

	if (flops > 0)
		return flops;
	for (int k = 0; k < RT_MAX_IO; k++) {
		if (c->in[k] && c->in[k]->role == RT_ROLE_VALUE)
			bytes += (double)rt_node_bytes(c->in[k]);
		if (c->out[k])
			bytes += (double)rt_node_bytes(c->out[k]);
	}
	return bytes * FLOPS_PER_BYTE;
}

static bool reads_param(const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->in[k] && c->in[k]->role == RT_ROLE_PARAM)
			return true;
	return false;
}

/* Returns the only value that calls before `at` write and later ones read; NULL if there are several. */
static struct rt_node *crossing_at(const struct rt_plan *p, int at)
{
	struct rt_node *found = NULL;

	for (int i = 0; i < at; i++)
		for (int k = 0; k < RT_MAX_IO; k++) {
			struct rt_node *n = p->ir.calls[i]->out[k];

			if (!n || rt_consumer_in(p, n, at, p->ir.n_calls) < 0)
				continue;
			if (found || n->role != RT_ROLE_VALUE || n->dtype != RT_F32)
				return NULL;
			found = n;
		}
	return found;
}

static double param_bytes(const struct rt_plan *p, int call)
{
	const struct rt_call *c = p->ir.calls[call];
	double bytes = 0;

	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->in[k] && c->in[k]->role == RT_ROLE_PARAM && rt_consumer_in(p, c->in[k], 0, call) < 0)
			bytes += (double)rt_node_bytes(c->in[k]);
	return bytes;
}

static double value_bytes(const struct rt_call *c)
{
	double bytes = 0;

	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->out[k] && c->out[k]->role == RT_ROLE_VALUE)
			bytes += (double)rt_node_bytes(c->out[k]);
	return bytes;
}

/* Prepares an input of the next call among tensor parallel ranks. */
static bool prepares(const struct rt_call *c)
{
	return rt_is(c, RT_OP_REPLICATE) || rt_is(c, RT_OP_ALL_GATHER) || rt_is(c, RT_OP_OWN_ROWS);
}

/*
 * A stage starts with a call that reads a parameter which no earlier call reads. So fused calls stay together, and each
 * stage has a gradient of its own, without which it would not take part in the norm of all gradients. A stage may also
 * start with the calls that prepare the inputs of such a call.
 */
static bool can_start_stage(const struct rt_plan *p, int at)
{
	if (at > 0 && prepares(p->ir.calls[at - 1]))
		return false;
	while (at < p->ir.n_calls - 1 && prepares(p->ir.calls[at]) && !param_bytes(p, at))
		at++; /* a parameter can be replicated before the call that computes with it */
	return param_bytes(p, at) > 0;
}

/* Finds the positions where a stage can start. */
static void find_places(struct cut *c)
{
	const struct rt_plan *p = c->plan;
	struct place sum = { 0 };
	bool params = false;

	c->place = gt_xcalloc((size_t)p->ir.n_calls + 2, sizeof(*c->place));
	c->n = 1;
	for (int i = 0; i < p->ir.n_calls; i++) {
		const struct rt_call *call = p->ir.calls[i];

		if (params && can_start_stage(p, i)) {
			sum.call = i;
			sum.crossing = crossing_at(p, i);
			if (sum.crossing)
				c->place[c->n++] = sum;
		}
		params |= reads_param(call);
		sum.work += call_work(call);
		sum.param_bytes += param_bytes(p, i);
		sum.activation_bytes += value_bytes(call);
	}
	sum.call = p->ir.n_calls;
	sum.crossing = NULL;
	c->place[c->n] = sum;
}

int rt_pipeline_most_stages(const struct rt_graph *g)
{
	struct rt_plan p = { .ir = g->ir };
	struct cut c = { .plan = &p };

	find_places(&c);
	free(c.place);
	return c.n;
}

/* ---- the best cut ---- */

int rt_stage_warmup(enum rt_schedule schedule, int stages, int index, int microbatches)
{
	return GT_MIN(microbatches, schedule == RT_GPIPE ? microbatches : stages - 1 - index);
}

static int in_flight(const struct cut *c, int stage)
{
	return GT_MIN(c->microbatches, rt_stage_warmup(c->schedule, c->stages, stage, c->microbatches) + 1);
}

static double work_between(const struct cut *c, int from, int to)
{
	return c->place[to].work - c->place[from].work;
}

/*
 * Estimates the memory of a stage: parameters with gradients and two moments, and the activations that are held at a
 * time.
 */
static double memory_between(const struct cut *c, int stage, int from, int to)
{
	return 4 * (c->place[to].param_bytes - c->place[from].param_bytes) +
	       in_flight(c, stage) * (c->place[to].activation_bytes - c->place[from].activation_bytes);
}

/*
 * Fills c->first with the cut of the smallest largest cost. The cost is the work, or the memory if `most_work` limits the
 * work. best[s][k]: largest cost of stages 0..s, of which the last ends at place k. Returns the largest cost.
 */
static double best_cut(struct cut *c, double most_work)
{
	size_t row = (size_t)c->n + 1;
	gt_autofree double *best = gt_xcalloc((size_t)c->stages * row, sizeof(*best));
	gt_autofree int *from = gt_xcalloc((size_t)c->stages * row, sizeof(*from));

	for (int s = 0; s < c->stages; s++)
		for (int k = 0; k <= c->n; k++) {
			double *b = &best[(size_t)s * row + (size_t)k];

			*b = INFINITY;
			for (int j = s ? s : 0; j < k && (s || j == 0); j++) {
				double work = work_between(c, j, k), before = s ? best[(size_t)(s - 1) * row + (size_t)j] : 0;
				double cost = most_work > 0 ? memory_between(c, s, j, k) : work;

				if (most_work > 0 && work > most_work)
					cost = INFINITY;
				if (fmax(before, cost) < *b) {
					*b = fmax(before, cost);
					from[(size_t)s * row + (size_t)k] = j;
				}
			}
		}
	c->first[c->stages] = c->n;
	for (int s = c->stages - 1; s >= 0; s--)
		c->first[s] = from[(size_t)s * row + (size_t)c->first[s + 1]];
	return best[(size_t)c->stages * row - 1];
}

/* ---- queues ---- */

static void add_queue(struct rt_stage *s, int from, int to, int slots, uint64_t bytes)
{
	s->queue = gt_xrealloc(s->queue, (size_t)(s->n_queues + 1) * sizeof(*s->queue));
	s->queue[s->n_queues++] = (struct rt_stage_queue){ from, to, slots, bytes, 0 };
}

int rt_stage_chunk_queue(const struct rt_stage *s, int from, int to)
{
	for (int i = 2 * (s->n - 1); i < s->n_queues; i++)
		if (s->queue[i].from == from && s->queue[i].to == to)
			return i;
	return -1;
}

static int stage_of_call(const struct cut *c, int call)
{
	int s = 0;

	while (s + 1 < c->stages && call >= c->place[c->first[s + 1]].call)
		s++;
	return s;
}

/* Returns the number of stages that read n; *ret_first and *ret_last are the first and the last. */
static int readers_of(const struct cut *c, const struct rt_node *n, int *ret_first, int *ret_last)
{
	int count = 0;

	for (int i = 0; i < c->plan->ir.n_calls; i++) {
		int s;

		if (!rt_reads(c->plan->ir.calls[i], n))
			continue;
		s = stage_of_call(c, i);
		if (!count || s != *ret_last)
			*ret_first = count++ ? *ret_first : s;
		*ret_last = s;
	}
	return count;
}

/* Queues 2 b and 2 b + 1: the activation from stage b to b + 1, and its gradient. Then chunks: from each stage to the
 * first, which writes checkpoints, and between the stages that share a parameter. */
static void add_queues(const struct cut *c, struct rt_stage *s)
{
	for (int b = 0; b + 1 < c->stages; b++) {
		uint64_t bytes = rt_node_bytes(c->place[c->first[b + 1]].crossing);

		add_queue(s, b, b + 1, RT_LINK_SLOTS, bytes);
		add_queue(s, b + 1, b, RT_LINK_SLOTS, bytes);
	}
	for (int i = 1; i < c->stages; i++)
		add_queue(s, i, 0, RT_LINK_SLOTS, RT_CHUNK_BYTES);
	for (int i = 0; i < c->plan->n_graph_nodes; i++) {
		const struct rt_node *n = c->plan->ir.nodes[i];
		int a = 0, b = 0;

		if (n->role != RT_ROLE_PARAM || readers_of(c, n, &a, &b) < 2)
			continue;
		if (rt_stage_chunk_queue(s, a, b) < 0)
			add_queue(s, a, b, RT_LINK_SLOTS, RT_CHUNK_BYTES);
		if (rt_stage_chunk_queue(s, b, a) < 0)
			add_queue(s, b, a, RT_LINK_SLOTS, RT_CHUNK_BYTES);
	}
}

static void place_queues(struct rt_stage *s)
{
	for (int stage = 0; stage < s->n; stage++) {
		uint64_t at = 0;

		for (int i = 0; i < s->n_queues; i++) {
			if (s->queue[i].from != stage)
				continue;
			s->queue[i].offset = at;
			at += rt_p2p_bytes(s->queue[i].bytes, s->queue[i].slots);
		}
		s->window_bytes = GT_MAX(s->window_bytes, at);
	}
}

/* ---- the own stage ---- */

static int check_shared(const struct cut *c, struct gt_err *err)
{
	for (int i = 0; i < c->plan->n_graph_nodes; i++) {
		const struct rt_node *n = c->plan->ir.nodes[i];
		int a = 0, b = 0, count = n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER ? readers_of(c, n, &a, &b) : 0;

		if (count > (n->role == RT_ROLE_PARAM ? 2 : 1))
			return gt_fail(err, EINVAL, "%s is read by %d stages of the pipeline: a parameter may be shared by 2, a "
				       "buffer by none", n->name, count);
	}
	return 0;
}

/* Marks the tensors that only other stages use, and notes the owner of each. */
static void find_absent(const struct cut *c, int own)
{
	for (int i = 0; i < c->plan->n_graph_nodes; i++) {
		struct rt_node *n = c->plan->ir.nodes[i];
		int first = 0, last = 0;

		if (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER && n->role != RT_ROLE_INPUT)
			continue;
		if (!readers_of(c, n, &first, &last))
			continue;
		n->stage = first;
		n->absent = true;
		if (first != last && n->role == RT_ROLE_PARAM && (own == first || own == last))
			n->shared_with = 1 + (own == first ? last : first);
		for (int k = c->place[c->first[own]].call; k < c->place[c->first[own + 1]].call; k++)
			n->absent &= !rt_reads(c->plan->ir.calls[k], n);
	}
}

static void keep_own_calls(struct rt_plan *p, const struct cut *c, int own)
{
	struct rt_node *in = c->place[c->first[own]].crossing, *out = c->place[c->first[own + 1]].crossing;
	int first = c->place[c->first[own]].call, end = c->place[c->first[own + 1]].call;
	struct rt_call *k;

	for (int i = p->ir.n_calls - 1; i >= end; i--)
		rt_plan_remove(p, i);
	for (int i = first - 1; i >= 0; i--)
		rt_plan_remove(p, i);
	if (in) {
		k = rt_emit_before(p, 0, RT_OP_RECEIVE, RT_PHASE_FORWARD);
		k->attr.queue = 2 * (own - 1);
		k->attr.back_queue = k->attr.queue + 1;
		k->out[0] = in;
	}
	if (out) {
		k = rt_emit_before(p, p->ir.n_calls, RT_OP_SEND, RT_PHASE_FORWARD);
		k->attr.queue = 2 * own;
		k->attr.back_queue = k->attr.queue + 1;
		k->in[0] = out;
		k->out[0] = rt_node_like(p, RT_ROLE_VALUE, RT_F32, p->loss, "sent instead of");
		p->loss = p->outputs[0] = k->out[0];
	}
}

static uint64_t hash_cut(const struct cut *c)
{
	int64_t v[] = { c->stages, c->microbatches, c->schedule, c->plan->ir.n_calls, c->n };
	uint64_t h = gt_hash64(v, sizeof(v), 0);

	for (int s = 0; s <= c->stages; s++) {
		const struct place *p = &c->place[c->first[s]];
		int64_t at[] = { p->call, p->crossing ? (int64_t)rt_node_bytes(p->crossing) : 0 };

		h = gt_hash64(at, sizeof(at), h);
	}
	return h;
}

static int check(const struct rt_plan *p, const struct cut *c, struct gt_err *err)
{
	if (!p->loss || p->n_outputs != 1 || !rt_plan_trains(p))
		return gt_fail(err, EINVAL, "a pipeline of %d stages must train on a loss, its only output", c->stages);
	if (rt_plan_scales_loss(p))
		return gt_fail(err, ENOSYS, "the %d stages of a pipeline do not agree on a loss scale: use bf16 instead of fp16",
			       c->stages);
	if (c->stages > c->n)
		return gt_fail(err, EINVAL, "%d pipeline stages: the model can be cut into at most %d", c->stages, c->n);
	return 0;
}

static int cut_stages(struct rt_plan *p, struct cut *c, struct gt_buf *did, struct gt_err *err)
{
	const struct rt_pipeline_options *o = &p->opt->pipeline;
	struct rt_stage *s;
	int calls = p->ir.n_calls, r;

	find_places(c);
	r = check(p, c, err);
	if (r)
		return r;
	best_cut(c, best_cut(c, 0) * EQUAL_WORK);
	r = check_shared(c, err);
	if (r)
		return r;
	s = p->stage = gt_xcalloc(1, sizeof(*s));
	*s = (struct rt_stage){ .n = c->stages, .index = o->stage, .places = c->n - 1, .all_work = c->place[c->n].work,
				.first = c->place[c->first[o->stage]].call, .end = c->place[c->first[o->stage + 1]].call,
				.in_flight = in_flight(c, o->stage), .hash = hash_cut(c) };
	s->work = work_between(c, c->first[o->stage], c->first[o->stage + 1]);
	add_queues(c, s);
	place_queues(s);
	find_absent(c, o->stage);
	keep_own_calls(p, c, o->stage);
	gt_buf_printf(did, "stage %d of %d: forward calls %d to %d of %d, %.0f %% of the work, %d of %d microbatches held",
		      s->index + 1, s->n, s->first, s->end - 1, calls, 100 * s->work / s->all_work, s->in_flight, c->microbatches);
	return 0;
}

static int pipeline(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	const struct rt_pipeline_options *o = &p->opt->pipeline;
	struct cut c = { .plan = p, .stages = o->stages, .microbatches = p->opt->accum, .schedule = o->schedule };
	int r;

	if (o->stages < 2)
		return 0;
	c.first = gt_xcalloc((size_t)o->stages + 1, sizeof(*c.first));
	r = cut_stages(p, &c, did, err);
	free(c.place);
	free(c.first);
	return r;
}

const struct rt_pass rt_pass_pipeline = { .name = "pipeline", .run = pipeline };

/* ---- after the backward pass ---- */

/* Adds up the gradients of the stages that share a parameter. All stages then wait for each other. */
static int stages(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int summed = 0;

	if (!p->stage)
		return 0;
	for (int i = 0; i < p->n_graph_nodes; i++) {
		const struct rt_node *n = p->ir.nodes[i];
		struct rt_call *c;

		if (n->role != RT_ROLE_PARAM || n->absent || n->shared_with == 0 || !p->gradient[i])
			continue;
		c = rt_emit_before(p, p->ir.n_calls, RT_OP_STAGE_SUM, RT_PHASE_BACKWARD);
		c->origin = n->name;
		c->attr.queue = rt_stage_chunk_queue(p->stage, p->stage->index, n->shared_with - 1);
		c->attr.back_queue = rt_stage_chunk_queue(p->stage, n->shared_with - 1, p->stage->index);
		c->in[0] = c->out[0] = p->gradient[i];
		summed++;
	}
	rt_emit_before(p, p->ir.n_calls, RT_OP_STAGES_MEET, RT_PHASE_BACKWARD);
	if (summed)
		gt_buf_printf(did, "%d gradients added to those of another stage with the same parameter", summed);
	return 0;
}

const struct rt_pass rt_pass_stages = { .name = "stages", .run = stages };
