/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program on the device, call by call or as captured graphs. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/kernel/update.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/timing.h"

static void update(struct rt_program *p, const struct update_group *g)
{
	struct rt_engine *e = p->state;
	int kernel = g->has_8bit ? RT_K_adamw8 : rt_cuda_kernels[p->plan.ir.calls[g->first]->op->id]->update;
	cu_ptr maps = e->maps, tensors = g->tensors, chunks = g->chunks, step = e->step, loss = e->step_loss;
	cu_ptr norm = rt_plan_measures_gradients(&p->plan) ? e->norm : 0;

	RT_LAUNCH(e, kernel, g->n_chunks, 1, 256, 1, 0, &tensors, &chunks, &step, &loss, &norm, &maps);
}

/* adamw8's kernel also handles f32 moments, which small tensors have, so both ops form one group. */
const struct rt_cuda_kernel rt_cuda_sgd = { .update = RT_K_sgd }, rt_cuda_adamw = { .update = RT_K_adamw },
			    rt_cuda_adamw8 = { .update = RT_K_adamw }, rt_cuda_grad_norm = { 0 };

/* Sums the squares of all gradients over the ranks and stages that have parts of them. Returns the address of the sum. */
static cu_ptr total_squares(struct rt_engine *e, cu_ptr part, int n)
{
	struct rt_nccl *const over[] = {e->tensor, rt_stages_group(e)};
	struct gt_err err = {0};

	RT_LAUNCH(e, RT_K_total, 1, 1, 1024, 1, 0, &part, &part, &n);
	for (size_t i = 0; i < GT_ARRAY_SIZE(over); i++)
		if (over[i] && !e->r)
			rt_launch_result(e, rt_nccl_sum_double(over[i], part, e->stream, &err), &err);
	return part;
}

/* Computes the norm of all gradients with the tables of the updates. */
static void measure(struct rt_engine *e)
{
	cu_ptr norm = e->norm, part = norm + 2 * sizeof(float), at = part, step = e->step;
	int n = 0;

	for (int i = 0; i < e->s->n_groups; i++) {
		struct update_group *g = &e->s->groups[i];

		RT_LAUNCH(e, RT_K_squares, g->n_chunks, 1, 256, 1, 0, &at, &g->tensors, &g->chunks);
		at += (cu_ptr)g->n_chunks * sizeof(double);
		n += g->n_chunks;
	}
	if (e->tensor || e->stages) {
		part = total_squares(e, part, n);
		n = 1;
	}
	RT_LAUNCH(e, RT_K_clip, 1, 1, 1024, 1, 0, &norm, &part, &n, &step);
}

static void start_bucket(struct rt_program *p, int k)
{
	struct rt_engine *e = p->state;
	const struct rt_bucket *b = &p->plan.buckets[k];
	struct gt_err err = {0};
	int r = rt_engine_follow(e, e->ready[k], e->stream, e->reduce, &err);

	if (!r && !e->plain)
		r = e->lowrank ? rt_lowrank_reduce(p, k, &err) : rt_compress_reduce(p, k, &err);
	else if (!r)
		r = rt_nccl_mean(e->nccl, e->window + b->offset, e->window + b->offset, b->floats, e->reduce, &err);
	if (!r)
		r = rt_engine_check(e, e->dev->d.event_record(e->reduced[k], e->reduce), "cuEventRecord", &err);
	rt_launch_result(e, r, &err);
}

static void wait_for_bucket(struct rt_engine *e, int k)
{
	struct gt_err err = {0};

	rt_launch_result(e, rt_engine_check(e, e->dev->d.stream_wait(e->stream, e->reduced[k], 0), "cuStreamWaitEvent", &err),
			 &err);
}

static void run_collective(struct rt_program *p, const struct rt_call *c)
{
	struct rt_engine *e = p->state;
	struct gt_err err = {0};

	if (c->op->collective == RT_GROUP_CALL)
		rt_launch_result(e, rt_comms_call(e, c, &err), &err);
	else if (c->op->collective == RT_BUCKET_START)
		start_bucket(p, c->attr.bucket);
	else if (c->op->collective == RT_BUCKET_WAIT)
		wait_for_bucket(e, c->attr.bucket);
	else
		rt_launch_result(e, rt_stages_call(p, c, &err), &err);
}

void rt_engine_run_call(struct rt_program *p, int i, struct rt_run *run)
{
	const struct rt_call *c = p->plan.ir.calls[i];
	struct rt_engine *e = p->state;

	(void)run;
	if (p->opt.debug.poison && !rt_is_update(c))
		rt_run_poison(p, i, e->eval && !e->infers);
	if (c->op->collective) {
		if (!e->r)
			run_collective(p, c);
		return;
	}
	if (c->phase == RT_PHASE_GRADIENT) {
		if (i == e->s->n_backward)
			measure(e);
		return;
	}
	if (!rt_is_update(c)) {
		rt_cuda_kernels[c->op->id]->run(e, c);
		return;
	}
	for (int g = 0; g < e->s->n_groups; g++)
		if (e->s->groups[g].first == i)
			update(p, &e->s->groups[g]);
}

void rt_engine_fill(struct rt_program *p, void *at, int byte, size_t bytes)
{
	struct rt_engine *e = p->state;
	struct gt_err err = {0};

	if (!e->r)
		rt_launch_result(e, rt_engine_check(e, e->dev->d.fill_async((cu_ptr)(uintptr_t)at, (unsigned char)byte, bytes,
									    e->stream), "cuMemsetD8Async", &err), &err);
}

bool rt_engine_finite(struct rt_program *p, const struct rt_node *n)
{
	struct rt_engine *e = p->state;
	int64_t count = rt_shape_elements(&n->shape);
	cu_ptr x = rt_at(n), found = e->found;
	struct gt_err ignored;
	int32_t odd = 0;

	if (n->role == RT_ROLE_SCRATCH || (n->dtype != RT_F32 && !narrow(n)) || !x)
		return true;
	if (e->dev->d.fill_async(found, 0, sizeof(odd), e->stream))
		return true;
	RT_LAUNCH(e, typed(RT_K_odd, n), grid(e, count), 1, RT_THREADS, 1, 0, &found, &x, &count);
	if (e->r || rt_engine_wait(p, &ignored) || e->dev->d.copy_from(&odd, found, sizeof(odd)))
		return true;
	return !odd;
}

static int launch_call(struct rt_program *p, int i, struct rt_launch_how how, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = how.timed ? rt_timing_begin(e->timing, i, e->stream, err) : 0;

	if (r)
		return r;
	rt_engine_run_call(p, i, NULL);
	if (e->r && err)
		*err = e->err;
	if (e->r)
		return e->r;
	r = how.timed ? rt_timing_end(e->timing, e->stream, err) : 0;
	if (r || !how.watched || p->plan.ir.calls[i]->phase > RT_PHASE_BACKWARD)
		return r;
	rt_run_watch(p, p->plan.ir.calls[i]);
	return p->anomaly ? -EDOM : 0;
}

int rt_launch_calls(struct rt_program *p, int from, int to, struct rt_launch_how how, struct gt_err *err)
{
	struct rt_engine *e = p->state;

	for (int i = from; i < to; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		int r;

		if ((how.no_updates && c->phase == RT_PHASE_UPDATE) || (how.no_once && c->run_once))
			continue;
		r = launch_call(p, i, how, err);
		if (r)
			return r;
	}
	if (!how.mean_loss || !e->nccl || !p->plan.loss)
		return 0;
	return rt_nccl_mean(e->nccl, e->loss_mean, rt_at(p->plan.loss), 1, e->stream, err);
}

static int replay(struct rt_program *p, void *graph, int from, int to, struct rt_launch_how how, struct gt_err *err)
{
	struct rt_engine *e = p->state;

	if (graph)
		return rt_engine_check(e, e->dev->d.graph_launch(graph, e->stream), "cuGraphLaunch", err);
	return rt_launch_calls(p, from, to, how, err);
}

/* Return the range of calls of the forward pass of the current batch. */
static int first_call(const struct rt_program *p)
{
	return p->plan.segment ? p->plan.segment[p->batches] : 0;
}

static int forward_end(const struct rt_program *p)
{
	int i = first_call(p);

	if (!p->plan.segment)
		return rt_engine_of(p)->s->n_forward;
	while (i < p->plan.segment[p->batches + 1] && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD)
		i++;
	return i;
}

/* Runs the calls of a stage up to the next forward pass or the end of the backward passes. */
static int rest_of_segment(struct rt_program *p, const struct rt_run *run, struct rt_launch_how how, struct gt_err *err)
{
	int from = forward_end(p), end = GT_MIN(p->plan.segment[p->batches + 1], rt_engine_of(p)->s->n_backward), meet = from, r;

	while (meet < end && p->plan.ir.calls[meet]->op->collective != RT_STAGES_MEET)
		meet++;
	r = rt_launch_calls(p, from, meet, how, err);
	if (r || meet == end)
		return r;
	r = rt_stages_meet(p, run, err);
	return r ? r : rt_launch_calls(p, meet + 1, end, how, err);
}

/* Enqueues the forward pass and the copy of its loss to the host. step: numbers of this step that the kernels read, in
 * pinned memory, from run. Both NULL: an evaluation. */
static int enqueue_forward(struct rt_program *p, const void *const *inputs, const struct rt_update_step *step,
			   const struct rt_run *run, bool timed, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_driver *d = &e->dev->d;
	/* The results of run-once calls are valid after the first batch of an update. In a program without updates they
	 * are valid until a parameter is written. */
	bool again = e->infers ? !p->stale : p->batches > 0 && !e->eval;
	int from = first_call(p), end = forward_end(p);
	int r = rt_engine_check(e, d->ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = rt_inputs_load(p, inputs, (int)(e->runs++ & 1), err);
	if (r)
		return r;
	if (p->opt.debug.poison && !(p->plan.segment && p->batches))
		rt_run_poison_all(p);
	if (step)
		r = rt_engine_check(e, d->copy_to_async(e->step, step, sizeof(*step), e->stream), "cuMemcpyHtoDAsync", err);
	if (!r && run && p->scale.on)
		r = rt_scaler_begin(p, run, err);
	if (!r)
		r = replay(p, (e->eval && !e->infers) || e->initial_scales ? NULL : e->s->forward[again], from, end,
			   (struct rt_launch_how){.timed = timed, .no_once = again && !e->initial_scales,
						  .watched = p->opt.debug.anomaly, .mean_loss = !e->eval && !p->plan.segment}, err);
	if (r)
		return r;
	p->stale = false;
	if (!p->plan.segment || (run && run->update)) /* the counts of a stage are those of an update */
		rt_comms_ran(e, false);
	if (run && p->scale.on)
		rt_scaler_check(p);
	if (p->plan.loss)
		r = rt_engine_check(e, d->copy_from_async(e->loss, e->eval ? rt_at(p->plan.loss) : rt_engine_loss(p),
							  sizeof(float), e->stream), "cuMemcpyDtoHAsync", err);
	return r ? r : rt_engine_check(e, d->event_record(e->loss_ready, e->stream), "cuEventRecord", err);
}

static void fill_step(struct rt_update_step *s, const struct rt_program *p, const struct rt_run *run)
{
	const struct rt_adamw *a = &run->adamw;

	*s = (struct rt_update_step){
		.seed = {(uint32_t)p->opt.seed, (uint32_t)(p->opt.seed >> 32)},
		.step = (uint32_t)run->step,
		.draws = {(uint32_t)run->seed, (uint32_t)(run->seed >> 32)},
		.accum = (uint32_t)p->opt.accum,
		.batch = (uint32_t)p->batches,
		.loss_scale = run->loss_scale,
		.grad_scale = run->grad_scale,
		.clip = (float)p->opt.clip_norm,
		.lr = run->sgd.lr,
		.momentum = run->sgd.momentum,
		.weight_decay = run->sgd.weight_decay,
		.first = run->sgd.first,
		.decay = a->decay,
		.l2 = a->l2,
		.beta1 = a->beta1,
		.beta2 = a->beta2,
		.rest1 = a->rest1,
		.rest2 = a->rest2,
		.step_size = a->step_size,
		.scale2 = a->scale2,
		.eps = a->eps,
	};
}

static int enqueue_backward(struct rt_program *p, const struct rt_run *run, bool timed, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_driver *d = &e->dev->d;
	/* gradients may overflow if there is a loss scaler */
	struct rt_launch_how how = {.timed = timed, .no_updates = !run->update, .watched = p->opt.debug.anomaly && !p->scale.on};
	int n = p->plan.ir.n_calls, add = p->batches > 0, r = 0;
	void *graph = NULL;

	if (p->plan.segment)
		r = rest_of_segment(p, run, how, err);
	else if (!e->initial_scales)
		graph = e->plain && run->update && e->s->early[add] ? e->s->early[add] : e->s->backward[add][run->update];
	if (!p->plan.segment)
		r = replay(p, graph, e->s->n_forward, e->s->n_backward, how, err);
	if (r)
		return r;
	if (!p->plan.segment || run->update)
		rt_comms_ran(e, true);
	if (!run->update)
		return 0;
	r = rt_launch_calls(p, e->s->n_backward, e->s->n_measure, how, err);
	if (r)
		return r;
	if (p->scale.on)
		rt_scaler_judge(e);
	rt_compress_settle(p);
	if (e->s->n_backward == n)
		return 0;
	if (p->scale.on) {
		r = replay(p, e->s->update, e->s->n_measure, n, how, err);
		return r ? r : rt_scaler_end(p, err);
	}
	r = rt_engine_check(e, d->copy_from_async(e->norm_out, e->norm, sizeof(float), e->stream), "cuMemcpyDtoHAsync", err);
	if (!r)
		r = rt_engine_check(e, d->event_record(e->norm_ready, e->stream), "cuEventRecord", err);
	return r ? r : replay(p, e->s->update, e->s->n_measure, n, how, err);
}

/* No parameter was updated. Runs the forward pass again, call by call, to find the first non-finite tensor. */
static int bad_loss(struct rt_program *p, double loss, int64_t step, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r;

	e->eval = true;
	r = rt_run_bad_loss(p, loss, step, err);
	e->eval = e->infers;
	return r;
}

/* No parameter was updated. */
static int bad_gradient(struct rt_program *p, int64_t step, struct gt_err *err)
{
	const struct rt_node *bad = NULL;

	for (int i = 0; !bad && i < p->plan.n_graph_nodes; i++)
		if (p->plan.ir.nodes[i]->role == RT_ROLE_PARAM && p->plan.gradient[i] && !rt_engine_finite(p, p->plan.gradient[i]))
			bad = p->plan.gradient[i];
	return rt_run_bad_gradient(bad ? bad->name : "the norm of the gradients", step, err);
}

int rt_engine_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *ret,
		   struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct rt_update_step *step = &e->steps[e->runs & 1];
	bool timed = (p->opt.debug.profile && run->profiled) || p->opt.debug.trace;
	bool measures = run->update && rt_plan_measures_gradients(&p->plan) && !p->scale.on, initial_scales;
	unsigned before = e->scaler.enqueued;
	double t0 = gt_now_s();
	int r;

	if (e->nccl && fabs(p->weight - 1) > 1e-9)
		return gt_fail(err, ENOSYS, "ranks on cuda devices have equal weights and this batch has weight %g: use one "
					    "rank or the CPU", p->weight);
	if (timed) { /* exclude work of an earlier step */
		r = rt_engine_wait(p, err);
		if (!r)
			r = rt_timing_start(e->timing, err);
		if (r)
			return r;
		t0 = gt_now_s();
	}
	rt_engine_use(p, p->shape);
	fill_step(step, p, run);
	e->plain = !rt_compress_active(p, run->step);
	e->initial_scales = e->s->scales && !e->scaled;
	e->batch = p->batches;
	if (p->pipeline && !p->batches)
		rt_pipeline_begin(p->pipeline);
	rt_plan_set_accumulate(&p->plan, p->batches > 0); /* calls that are not captured use it */
	r = enqueue_forward(p, inputs, step, run, timed, err);
	if (!r)
		r = enqueue_backward(p, run, timed, err);
	initial_scales = e->initial_scales;
	e->initial_scales = false;
	if (run->profiled) { /* the first batches include the run-once calls */
		e->host_s += gt_now_s() - run->entered_s;
		e->host_steps++;
	}
	if (r)
		return r;
	rt_comms_arrive(e);
	r = rt_engine_await(e, e->loss_ready, err);
	if (!r && timed && rt_engine_has_ranks(e))
		r = rt_engine_drain(e, err);
	if (!r && timed)
		r = rt_timing_collect(e->timing, p, run, t0, err);
	if (r)
		return r;
	if (p->scale.on)
		rt_scaler_settle(p, before);
	if (!isfinite(*e->loss) && !(p->scale.on && p->scale.skipped < RT_MOST_SKIPPED))
		return bad_loss(p, (double)*e->loss, run->step, err);
	r = measures ? rt_engine_await(e, e->norm_ready, err) : 0;
	if (r)
		return r;
	if (measures && !isfinite(*e->norm_out))
		return bad_gradient(p, run->step, err);
	e->scaled |= initial_scales; /* non-finite values give no initial scale */
	p->step += run->update;
	ret->loss = (double)*e->loss;
	rt_run_count_loss(p, ret);
	if (p->pipeline && run->update) {
		r = rt_stages_loss(p, &ret->update_loss, err);
		if (r)
			return r;
		ret->loss = ret->update_loss;
	}
	ret->updated = run->update;
	if (p->scale.on)
		ret->loss_scale = (double)p->scale.scale;
	if (p->scale.on && run->update) {
		ret->skipped = e->scaler.skipped;
		ret->grad_norm = e->scaler.norm;
	}
	if (measures)
		ret->grad_norm = (double)*e->norm_out;
	return 0;
}

int rt_engine_wait(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = rt_engine_check(e, e->dev->d.ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = rt_engine_drain(e, err);
	if (r)
		return r;
	rt_scaler_settle(p, e->scaler.enqueued);
	return 0;
}

int rt_engine_eval(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	double loss;
	int r;

	(void)run;
	rt_engine_use(p, p->shape);
	e->eval = true;
	e->initial_scales = e->s->scales && !e->scaled;
	r = enqueue_forward(p, inputs, NULL, NULL, false, err);
	e->eval = e->infers;
	e->initial_scales = false;
	if (!r)
		r = rt_engine_await(e, e->loss_ready, err);
	if (!r && p->pipeline)
		r = rt_engine_drain(e, err);
	loss = (double)*e->loss;
	if (!r && p->pipeline)
		r = rt_pipeline_last(p->pipeline, &loss, err);
	if (r)
		return r;
	if (!ret_loss)
		return 0;
	if (!isfinite(loss))
		return bad_loss(p, loss, p->step, err);
	*ret_loss = loss;
	return 0;
}
