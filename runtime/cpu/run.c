/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and evaluations on the CPU: runs the calls of the program in order. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cpu/run.h"
#include "runtime/memory/heap.h"

static void load_inputs(struct rt_program *p, const void *const *inputs)
{
	int k = 0;

	for (int i = 0; i < p->plan.n_graph_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role == RT_ROLE_INPUT && inputs[k++] && !n->absent)
			memcpy(n->data, inputs[k - 1], rt_node_bytes(n));
	}
}

static void note_time(struct rt_program *p, struct rt_call *c, int i, const struct rt_run *run, double start)
{
	double end = gt_now_s();

	if (run->profiled)
		c->seconds += end - start;
	rt_run_record_event(p, &(struct rt_event){ .shape = p->shape, .call = i, .step = run->step, .start = start, .end = end });
}

/*
 * Gets the means of the losses, weighted over the ranks, once per update. Their reduction started before the backward
 * pass. When a bucket is complete, this reduction has finished on every rank. Gradients are divided by the weights of
 * all ranks' batches.
 */
static int get_losses(struct rt_program *p, struct rt_run *run, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;
	double loss_scale = p->scale.on ? (double)p->scale.scale : 1;
	int r;

	if (s->reduced)
		return 0;
	r = rt_ddp_losses(s->ddp, &s->losses, err);
	if (r)
		return r;
	run->no_weight = !(s->losses.weights > 0);
	run->grad_scale = run->no_weight ? 0 : (float)(1 / loss_scale * p->opt.accum / s->losses.weights);
	s->reduced = true;
	return 0;
}

/* The residual of compression is scaled like this update's gradients, which depends on the weights of all ranks. */
static int start_bucket(struct rt_program *p, int bucket, struct rt_run *run, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;

	if (bucket == 0 && rt_ddp_feeds_back(s->ddp, run->step)) {
		int r = get_losses(p, run, err);

		if (r)
			return r;
		rt_ddp_set_unit(s->ddp, run->no_weight ? 0 : 1 / (double)run->grad_scale);
	}
	return rt_ddp_start(s->ddp, bucket, run->step, err);
}

static int wait_for_bucket(struct rt_program *p, int bucket, struct rt_run *run, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;
	int r = rt_ddp_wait(s->ddp, bucket, err);

	return r || !run->update ? r : get_losses(p, run, err);
}

static int send_tensor(struct rt_program *p, const struct rt_call *c, struct gt_err *err)
{
	if (c->out[0]) /* the forward message returns an empty loss */
		*rt_f32(c->out[0]) = 0;
	return rt_pipeline_send(p->pipeline, c->attr.queue, c->in[0]->data, err);
}

/* No stage can fail between this point and the update. */
static int meet_stages(struct rt_program *p, const struct rt_run *run, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;
	double loss = p->weighted_loss;
	int r = rt_pipeline_last(p->pipeline, &loss, err);

	if (r)
		return r;
	s->pipeline_loss = loss;
	rt_pipeline_end(p->pipeline, run->profiled);
	return 0;
}

static int run_collective(struct rt_program *p, const struct rt_call *c, struct rt_run *run, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;

	switch (c->op->collective) {
	case RT_BUCKET_START:
		return start_bucket(p, c->attr.bucket, run, err);
	case RT_BUCKET_WAIT:
		return wait_for_bucket(p, c->attr.bucket, run, err);
	case RT_BUCKET_DONE:
		return rt_ddp_done(s->ddp, c->attr.bucket, err);
	case RT_BUCKET_FREE:
		return rt_ddp_free_bucket(s->ddp, c->attr.bucket, err);
	case RT_RANKS_MEET:
		return rt_ddp_rendezvous(s->ddp, err);
	case RT_SEND:
		return send_tensor(p, c, err);
	case RT_RECEIVE:
		return rt_pipeline_receive(p->pipeline, c->attr.queue, c->out[0]->data, err);
	case RT_STAGE_SUM:
		return rt_pipeline_add(p->pipeline, c->attr.queue, c->attr.back_queue, c->out[0]->data,
				       rt_shape_elements(&c->out[0]->shape), err);
	case RT_STAGES_MEET:
		return meet_stages(p, run, err);
	case RT_GROUP_CALL:
		return rt_groups_run(s->groups, c, err);
	case RT_NOT_COLLECTIVE:
		break;
	}
	return 0;
}

/* Returns whether this rank runs the call. */
static bool is_wanted(const struct rt_call *c, const struct rt_run *run)
{
	return c->phase != RT_PHASE_UPDATE || !(run->no_weight || (run->shard && run->shard->idle));
}

void rt_cpu_run_call(struct rt_program *p, int i, struct rt_run *run)
{
	struct rt_cpu_state *s = p->state;
	struct rt_call *c = p->plan.ir.calls[i];
	bool timed = p->opt.debug.profile || p->opt.debug.trace;
	double t0 = 0;

	if (s->ddp_status)
		return;
	run->shard = s->ddp ? rt_ddp_shard(s->ddp) : NULL;
	if (p->plan.segment)
		run->batch = p->step * p->opt.accum + c->microbatch;
	if (p->opt.debug.poison)
		rt_run_poison(p, i, run->eval && rt_plan_trains(&p->plan));
	if (timed)
		t0 = gt_now_s();
	if (c->op->collective)
		s->ddp_status = run_collective(p, c, run, &s->ddp_err);
	else if (is_wanted(c, run))
		rt_cpu_kernels[c->op->id]->run(&s->cpu, c, run);
	if (rt_is(c, RT_OP_SHARD_GATHER) && !run->eval)
		rt_ddp_count_gather(s->ddp, c);
	if (s->ddp && run->update && !s->ddp_status)
		s->ddp_status = rt_ddp_poll(s->ddp, &s->ddp_err);
	if (timed)
		note_time(p, c, i, run, t0);
	/* overflowing gradients are handled by the loss scaler */
	if (p->opt.debug.anomaly && (c->phase == RT_PHASE_FORWARD || (c->phase == RT_PHASE_BACKWARD && !p->scale.on)))
		rt_run_watch(p, c);
}

static int reduction_failed(const struct rt_cpu_state *s, struct gt_err *err)
{
	if (s->ddp_status && err)
		*err = s->ddp_err;
	return s->ddp_status;
}

/* Return the range of calls of the current batch. */
static int first_call(const struct rt_program *p)
{
	return p->plan.segment ? p->plan.segment[p->batches] : 0;
}

static int end_call(const struct rt_program *p)
{
	return p->plan.segment ? p->plan.segment[p->batches + 1] : p->plan.ir.n_calls;
}

/* Runs the forward pass. *ret_next is the first call after it. */
static double forward(struct rt_program *p, struct rt_run *run, int *ret_next)
{
	const struct rt_cpu_state *s = p->state;
	int i = first_call(p), end = end_call(p);

	if (p->opt.debug.poison && i == 0)
		rt_run_poison_all(p);
	for (; i < end && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD && !s->ddp_status; i++)
		if (!p->plan.ir.calls[i]->run_once || p->stale)
			rt_cpu_run_call(p, i, run);
	p->stale = false;
	*ret_next = i;
	return p->plan.loss ? (double)*(const float *)p->plan.loss->data : 0;
}

/*
 * options.debug.zero_gradients: sets gradients to zero before the backward pass as other frameworks do, to measure the
 * cost.
 */
static void clear_gradients(const struct rt_program *p)
{
	for (int i = 0; i < p->plan.n_graph_nodes; i++)
		if (p->plan.gradient[i] && p->plan.gradient[i]->pinned)
			memset(p->plan.gradient[i]->data, 0, rt_node_bytes(p->plan.gradient[i]));
}

/* Runs calls from `next` up to the first of phase `end`. Update calls run only at the end of an update. */
static int run_until(struct rt_program *p, int next, enum rt_phase end, struct rt_run *run)
{
	const struct rt_cpu_state *s = p->state;

	int limit = end_call(p);

	for (; next < limit && p->plan.ir.calls[next]->phase != end && !p->anomaly && !s->ddp_status; next++)
		if (run->update || p->plan.ir.calls[next]->phase == RT_PHASE_BACKWARD)
			rt_cpu_run_call(p, next, run);
	return next;
}

/* As in torch/amp/grad_scaler.py and AmpKernels.cu, amp_update_scale: the scale is a float, the factors are doubles. */
static void update_scale(struct rt_program *p, bool skipped)
{
	const struct rt_scaler *o = &p->opt.precision.scaler;
	struct rt_scale *s = &p->scale;

	if (!s->on)
		return;
	s->skipped = skipped ? s->skipped + 1 : 0;
	s->total += skipped;
	if (skipped) {
		s->scale = (float)((double)s->scale * o->backoff);
		s->tracker = 0;
	} else if (++s->tracker == o->interval) {
		float grown = (float)((double)s->scale * o->growth);

		if (isfinite(grown))
			s->scale = grown;
		s->tracker = 0;
	}
}

/* Decides from all gradients whether the update is skipped, clipped, or fails. */
static int check_gradients(struct rt_program *p, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	const struct rt_cpu_state *s = p->state;
	const struct rt_node *bad = run->gradients->not_finite;

	if (!rt_plan_measures_gradients(&p->plan))
		return 0;
	if (p->pipeline) {
		int r = rt_pipeline_sum(p->pipeline, &run->gradients->squares[0][0], err);

		if (r)
			return r;
		if (!bad && !isfinite(run->gradients->squares[0][0]))
			return gt_fail(err, EDOM, "step %lld: a gradient of another stage is not finite; no parameter was changed",
				       (long long)run->step);
	}
	m->grad_norm = sqrt(run->gradients->squares[0][0]);
	m->skipped = p->scale.on && (bad || s->overflow);
	if (bad && !p->scale.on)
		return rt_run_bad_gradient(bad->name, run->step, err);
	/* same rule as torch.nn.utils.clip_grad_norm_ */
	if (p->opt.clip_norm > 0)
		run->grad_scale *= (float)fmin(1, p->opt.clip_norm / (m->grad_norm + 1e-6));
	return 0;
}

/* Adds the sum of x over the ranks of c to *to. */
static int join(struct rt_comm *c, const struct rt_gradients *g, double x, double *to, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	int r = rt_comm_gather(c, g->not_finite ? NAN : x, all, err);

	for (int i = 0; !r && i < rt_comm_size(c); i++)
		*to += all[i];
	return r;
}

/* Sums the squares of gradients over the ranks that have parts of them. Every rank learns of a gradient that is not finite. */
static int join_squares(struct rt_program *p, struct rt_gradients *g, struct gt_err *err)
{
	struct rt_comm *data = p->ranks.stage >= 2 ? p->opt.ranks.comm : NULL, *tensor = p->opt.ranks.tensor;
	int r = 0;

	for (int split = 0; !r && data && split < 2; split++)
		r = join(data, g, g->squares[split][1], &g->squares[split][0], err);
	if (!r && tensor)
		r = join(tensor, g, g->squares[1][0], &g->squares[0][0], err);
	if (isnan(g->squares[0][0]) && !g->not_finite)
		g->not_finite = p->plan.loss;
	return r;
}

/* Sets the weighted means over the ranks. */
static int reduced_loss(struct rt_program *p, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;
	int r = reduction_failed(s, err);

	if (r)
		return r;
	r = get_losses(p, run, err);
	if (r)
		return r;
	m->loss = s->losses.batch;
	m->update_loss = s->losses.update;
	s->overflow |= !isfinite(m->update_loss);
	return 0;
}

/* Sets the loss of the last stage, which is the mean over its ranks if there are several. */
static int last_stage_loss(struct rt_program *p, struct rt_metrics *m, struct gt_err *err)
{
	const struct rt_cpu_state *s = p->state;
	double loss = m->update_loss;
	int r = s->ddp ? rt_pipeline_last(p->pipeline, &loss, err) : 0;

	if (r)
		return r;
	m->update_loss = m->loss = s->ddp ? loss : s->pipeline_loss / p->weights;
	return 0;
}

static int finish_update(struct rt_program *p, int next, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;
	int r;

	if (s->ddp_status)
		return reduction_failed(s, err);
	/* With several ranks, all ranks have the result of the reduction here. A non-finite loss has spread to the
	 * gradients. */
	r = s->ddp ? reduced_loss(p, run, m, err) : 0;
	if (r)
		return r;
	r = p->pipeline ? last_stage_loss(p, m, err) : 0;
	if (r)
		return r;
	if (!s->overflow || s->ddp)
		next = run_until(p, next, RT_PHASE_UPDATE, run);
	if (rt_plan_measures_gradients(&p->plan)) {
		r = join_squares(p, run->gradients, err);
		if (r)
			return r;
	}
	r = check_gradients(p, run, m, err);
	if (r)
		return r;
	if (!m->skipped) {
		run_until(p, next, (enum rt_phase)-1, run);
		if (s->ddp_status)
			return reduction_failed(s, err);
		p->step += !run->no_weight;
	}
	m->updated = !m->skipped && !run->no_weight;
	if (s->ddp)
		rt_ddp_settle(s->ddp, m->updated);
	if (!run->no_weight)
		update_scale(p, m->skipped);
	return 0;
}

/* With the loss scaler, a non-finite loss makes the update skip. It is an error after too many skipped updates. */
static int bad_loss(struct rt_program *p, const struct rt_run *run, double loss, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;

	s->overflow = true;
	return p->scale.on && p->scale.skipped < RT_MOST_SKIPPED ? 0 : rt_run_bad_loss(p, loss, run->step, err);
}

int rt_cpu_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	rt_auto_omp openmp = rt_run_enter(p);
	struct rt_cpu_state *s = p->state;
	int next, r;

	if (!p->batches)
		s->overflow = s->reduced = false;
	s->ddp_status = 0;
	load_inputs(p, inputs);
	rt_plan_set_accumulate(&p->plan, p->batches > 0 || p->opt.debug.zero_gradients);
	if (p->opt.debug.zero_gradients && !p->batches)
		clear_gradients(p);
	if (p->pipeline && !p->batches)
		rt_pipeline_begin(p->pipeline);
	m->loss = forward(p, run, &next);
	rt_run_count_loss(p, m);
	if (s->ddp_status)
		return reduction_failed(s, err);
	if (p->anomaly)
		return -EDOM;
	if (!isfinite(m->loss)) {
		r = bad_loss(p, run, m->loss, err);
		if (r)
			return r;
	}
	if (s->ddp && run->update) {
		r = rt_ddp_put_losses(s->ddp, &(struct rt_losses){ .batch = m->loss, .weight = p->weight,
								   .update = m->update_loss, .weights = p->weights }, err);
		if (r)
			return r;
	}
	if (!s->overflow || s->ddp)
		next = run_until(p, next, RT_PHASE_GRADIENT, run);
	if (s->ddp_status)
		return reduction_failed(s, err);
	if (p->anomaly)
		return -EDOM;
	if (!run->update)
		return reduction_failed(s, err);
	r = finish_update(p, next, run, m, err);
	if (r)
		return r;
	if (run->step == RT_FIRST_STEPS)
		rt_heap_reserve(s->cpu.threads);
	return 0;
}

int rt_cpu_eval(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err)
{
	rt_auto_omp openmp = rt_run_enter(p);
	struct rt_cpu_state *s = p->state;
	double loss;
	int next, r;

	load_inputs(p, inputs);
	s->ddp_status = 0;
	loss = forward(p, run, &next);
	if (s->ddp_status)
		return reduction_failed(s, err);
	if (p->pipeline) {
		r = rt_pipeline_last(p->pipeline, &loss, err);
		if (r)
			return r;
	}
	if (p->anomaly)
		return -EDOM;
	if (!ret_loss)
		return 0;
	if (!isfinite(loss))
		return rt_run_bad_loss(p, loss, p->step, err);
	*ret_loss = loss;
	return 0;
}
