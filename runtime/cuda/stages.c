/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage of a pipeline on the device (pass/pipeline.c). Messages to each neighbour have a stream of their own. A sent tensor is
 * copied to a free slot first, so the stage computes on while the message waits for its receiver. With all slots in use, the
 * stage waits for a message to arrive, as on the CPU (transport/p2p.c).
 *
 * Calls are launched one by one, not replayed from a graph.
 */
#include <errno.h>
#include <math.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/nccl.h"

#define LINKS	(RT_STAGES_COMMS - 1) /* rt_nccl_open_neighbours() */

struct link {
	struct rt_nccl *nccl;
	cu_stream stream;
	cu_event ready;		    /* the message is in its slot, or the receiver's tensor may be written */
	cu_event sent[RT_LINK_SLOTS]; /* the message of a slot has arrived */
	cu_ptr slot[RT_LINK_SLOTS];
	unsigned count; /* messages sent so far */
};
struct rt_stages {
	struct link link[LINKS];
	struct rt_nccl *all; /* all stages */
	cu_ptr memory, swap; /* slots; the other stage's gradient of a shared parameter */
	uint64_t bytes;
	double loss; /* of the last stage, after rt_stages_meet() */
};

/* ---- opening ---- */

static int open_link(struct rt_engine *e, struct link *l, struct gt_err *err)
{
	const struct rt_driver *d = &e->dev->d;
	int r = rt_engine_check(e, d->stream_create(&l->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);

	if (!r)
		r = rt_engine_check(e, d->event_create(&l->ready, CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	for (int i = 0; !r && i < RT_LINK_SLOTS; i++)
		r = rt_engine_check(e, d->event_create(&l->sent[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	return r;
}

int rt_stages_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_comm *comm = p->opt.pipeline.comm;
	struct rt_nccl *links[LINKS] = { NULL };
	struct rt_engine *e = p->state;
	int r;

	if (!comm)
		return 0;
	e->stages = gt_xcalloc(1, sizeof(*e->stages));
	r = rt_nccl_open(e->dev, comm, &e->stages->all, err);
	if (!r)
		r = rt_nccl_open_neighbours(e->dev, comm, links, err);
	for (int i = 0; i < LINKS; i++)
		e->stages->link[i].nccl = links[i];
	for (int i = 0; !r && i < LINKS; i++)
		r = links[i] ? open_link(e, &e->stages->link[i], err) : 0;
	return r;
}

static uint64_t message_bytes(const struct rt_plan *plan, int queue)
{
	return rt_engine_aligned(plan->stage->queue[queue].bytes);
}

/* Returns the queue of a link: 2 b and 2 b + 1 connect the stages b and b + 1. */
static int queue_of(const struct rt_plan *plan, int link)
{
	return 2 * (plan->stage->index - 1) + link;
}

static bool sends(int link)
{
	return link == 1 || link == 2;
}

/* Returns the bytes of the largest gradient of a parameter that another stage also has. */
static uint64_t swap_bytes(const struct rt_plan *plan)
{
	uint64_t bytes = 0;

	for (int i = 0; i < plan->ir.n_calls; i++)
		if (plan->ir.calls[i]->op->collective == RT_STAGE_SUM)
			bytes = GT_MAX(bytes, rt_engine_aligned(rt_node_bytes(plan->ir.calls[i]->out[0])));
	return bytes;
}

uint64_t rt_stages_bytes(const struct rt_program *p)
{
	const struct rt_plan *plan = &p->plan;
	uint64_t bytes = plan->stage ? swap_bytes(plan) : 0;

	for (int i = 0; plan->stage && i < LINKS; i++)
		if (sends(i) && queue_of(plan, i) >= 0 && queue_of(plan, i) < 2 * (plan->stage->n - 1))
			bytes += RT_LINK_SLOTS * message_bytes(plan, queue_of(plan, i));
	return bytes;
}

int rt_stages_allocate(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct rt_stages *s = e->stages;
	cu_ptr at;
	int r;

	if (!s)
		return 0;
	s->bytes = rt_stages_bytes(p);
	r = rt_engine_check(e, e->dev->d.mem_alloc(&s->memory, GT_MAX(s->bytes, 1u)), "cuMemAlloc", err);
	if (r)
		return r;
	at = s->memory;
	for (int i = 0; i < LINKS; i++)
		for (int k = 0; s->link[i].nccl && sends(i) && k < RT_LINK_SLOTS; k++) {
			s->link[i].slot[k] = at;
			at += message_bytes(&p->plan, queue_of(&p->plan, i));
		}
	s->swap = at;
	return 0;
}

/* The communicators are closed before their memory is freed. */
void rt_stages_close(struct rt_engine *e)
{
	const struct rt_driver *d = &e->dev->d;
	struct rt_stages *s = e->stages;

	if (!s)
		return;
	rt_nccl_close(s->all);
	for (int i = 0; i < LINKS; i++) {
		struct link *l = &s->link[i];

		rt_nccl_close(l->nccl);
		for (int k = 0; k < RT_LINK_SLOTS; k++)
			if (l->sent[k])
				d->event_destroy(l->sent[k]);
		if (l->ready)
			d->event_destroy(l->ready);
		if (l->stream)
			d->stream_destroy(l->stream);
	}
	if (s->memory)
		d->mem_free(s->memory);
	free(s);
	e->stages = NULL;
}

/* ---- the ranks ---- */

void rt_stages_abort(struct rt_engine *e)
{
	struct rt_stages *s = e->stages;

	if (s && s->all)
		rt_nccl_abort(s->all);
	for (int i = 0; s && i < LINKS; i++)
		if (s->link[i].nccl)
			rt_nccl_abort(s->link[i].nccl);
}

int rt_stages_list(const struct rt_engine *e, struct rt_nccl *ret[RT_STAGES_COMMS])
{
	const struct rt_stages *s = e->stages;
	int n = 0;

	if (s)
		ret[n++] = s->all;
	for (int i = 0; s && i < LINKS; i++)
		if (s->link[i].nccl)
			ret[n++] = s->link[i].nccl;
	return n;
}

int rt_stages_join(struct rt_engine *e, struct gt_err *err)
{
	struct rt_stages *s = e->stages;
	int r = 0;

	for (int i = 0; !r && s && i < LINKS; i++)
		if (s->link[i].nccl)
			r = rt_engine_follow(e, s->link[i].ready, s->link[i].stream, e->stream, err);
	return r;
}

struct rt_nccl *rt_stages_group(const struct rt_engine *e)
{
	return e->stages ? e->stages->all : NULL;
}

/* ---- messages ---- */

static int send_tensor(struct rt_program *p, const struct rt_call *c, struct link *l, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_driver *d = &e->dev->d;
	unsigned slot = l->count % RT_LINK_SLOTS;
	size_t bytes = rt_node_bytes(c->in[0]);
	int r = 0;

	if (l->count >= RT_LINK_SLOTS)
		r = rt_engine_check(e, d->stream_wait(e->stream, l->sent[slot], 0), "cuStreamWaitEvent", err);
	if (!r)
		r = rt_engine_check(e, d->copy_async(l->slot[slot], rt_at(c->in[0]), bytes, e->stream), "cuMemcpyDtoDAsync", err);
	if (!r)
		r = rt_engine_follow(e, l->ready, e->stream, l->stream, err);
	if (!r)
		r = rt_nccl_send(l->nccl, l->slot[slot], bytes, l->stream, err);
	if (!r)
		r = rt_engine_check(e, d->event_record(l->sent[slot], l->stream), "cuEventRecord", err);
	if (!r && c->out[0]) /* the forward message returns an empty loss */
		r = rt_engine_check(e, d->fill_async(rt_at(c->out[0]), 0, rt_node_bytes(c->out[0]), e->stream), "cuMemsetD8Async",
				    err);
	l->count++;
	return r;
}

static int receive_tensor(struct rt_program *p, const struct rt_call *c, struct link *l, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = rt_engine_follow(e, l->ready, e->stream, l->stream, err);

	if (!r)
		r = rt_nccl_receive(l->nccl, rt_at(c->out[0]), rt_node_bytes(c->out[0]), l->stream, err);
	return r ? r : rt_engine_follow(e, l->ready, l->stream, e->stream, err);
}

/* x (n) += x of the other stage. a + b is b + a: both get the same bits. */
static int sum_with(struct rt_program *p, const struct rt_call *c, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct rt_stages *s = e->stages;
	int64_t n = rt_shape_elements(&c->out[0]->shape);
	cu_ptr x = rt_at(c->out[0]), other = s->swap;
	int r = rt_nccl_swap(s->all, other, x, rt_node_bytes(c->out[0]), p->plan.stage->queue[c->attr.queue].to, e->stream, err);

	if (!r)
		RT_LAUNCH(e, typed(RT_K_add, c->out[0]), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &n, &x, &other, &x);
	return r;
}

int rt_stages_call(struct rt_program *p, const struct rt_call *c, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct link *l = &e->stages->link[GT_MAX(c->attr.queue - queue_of(&p->plan, 0), 0) % LINKS];
	int r;

	if (c->op->collective == RT_STAGES_MEET) /* rt_stages_meet() */
		return 0;
	if (c->op->collective == RT_SEND)
		r = send_tensor(p, c, l, err);
	else if (c->op->collective == RT_RECEIVE)
		r = receive_tensor(p, c, l, err);
	else
		r = sum_with(p, c, err);
	return r || !e->tuning || c->op->collective == RT_SEND ? r : rt_engine_drain(e, err);
}

static double sent_bytes(const struct rt_call *c)
{
	return c->op->collective == RT_SEND ? (double)rt_node_bytes(c->in[0]) :
	       c->op->collective == RT_STAGE_SUM ? (double)rt_node_bytes(c->out[0]) : 0;
}

int rt_stages_meet(struct rt_program *p, const struct rt_run *run, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = rt_engine_drain(e, err);

	if (r)
		return r;
	if (!isfinite(*e->loss))
		return rt_run_bad_loss(p, (double)*e->loss, run->step, err);
	e->stages->loss = p->weighted_loss + p->weight * (double)*e->loss;
	r = rt_pipeline_last(p->pipeline, &e->stages->loss, err);
	if (r)
		return r;
	for (int i = 0; i < p->plan.ir.n_calls; i++)
		rt_pipeline_count(p->pipeline, sent_bytes(p->plan.ir.calls[i]));
	rt_pipeline_end(p->pipeline, run->profiled);
	return 0;
}

/* The mean over the data parallel ranks, whose weights are equal. */
int rt_stages_loss(struct rt_program *p, double *ret, struct gt_err *err)
{
	const struct rt_engine *e = p->state;
	struct rt_comm *data = p->opt.ranks.comm;
	double all[RT_MAX_RANKS], sum = 0;
	int r = data ? rt_comm_gather(data, e->stages->loss / p->weights, all, err) : 0;

	if (r)
		return r;
	for (int i = 0; data && i < rt_comm_size(data); i++)
		sum += all[i];
	*ret = data ? sum / rt_comm_size(data) : e->stages->loss / p->weights;
	return 0;
}
