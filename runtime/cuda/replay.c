/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program on the device, call by call or as captured graphs. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cuda/launch.h"
#include "runtime/cuda/update.h"

static void update(struct rt_program *p, const struct update_group *g)
{
	struct rt_engine *e = p->cuda;
	int kernel = p->plan.ir.calls[g->first]->op->id == RT_OP_ADAMW ? RT_K_adamw : RT_K_sgd;
	cu_ptr tensors = g->tensors, chunks = g->chunks, step = e->step, loss = rt_at(p->plan.loss);

	RT_LAUNCH(e, kernel, g->n_chunks, 1, 256, 1, 0, &tensors, &chunks, &step, &loss);
}

/* What call i writes first has no content yet, unless it took over an input's memory. */
static void poison_outputs(struct rt_program *p, int i)
{
	struct rt_engine *e = p->cuda;
	struct gt_err err = {0};

	for (int k = 0; k < RT_MAX_IO && !e->r; k++) {
		struct rt_node *n = p->plan.ir.calls[i]->out[k];

		if (n && n->first == i && n->storage == n && n->offset >= p->plan.pinned_bytes)
			rt_launch_result(e,
					 rt_engine_check(e, e->dev->d.fill_async(rt_at(n), 0xff, n->bytes, e->stream),
							 "cuMemsetD8Async", &err),
					 &err);
	}
}

static void launch_call(struct rt_program *p, int i)
{
	const struct rt_call *c = p->plan.ir.calls[i];
	struct rt_engine *e = p->cuda;

	if (p->opt.poison && !rt_is_update(c))
		poison_outputs(p, i);
	if (!rt_is_update(c)) {
		rt_launchers[c->op->id](e, c);
		return;
	}
	for (int g = 0; g < e->n_groups; g++)
		if (e->groups[g].first == i)
			update(p, &e->groups[g]);
}

int rt_launch_calls(struct rt_program *p, int from, int to, bool timed, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_driver *d = &e->dev->d;
	cu_event before = NULL, after = NULL;
	int r = 0;

	if (timed)
		r = rt_engine_check(e, d->event_create(&before, CU_EVENT_DEFAULT), "cuEventCreate", err);
	if (timed && !r)
		r = rt_engine_check(e, d->event_create(&after, CU_EVENT_DEFAULT), "cuEventCreate", err);
	for (int i = from; !r && i < to; i++) {
		float ms = 0;

		if (timed)
			d->event_record(before, e->stream);
		launch_call(p, i);
		r = e->r;
		if (r && err)
			*err = e->err;
		if (!timed || r)
			continue;
		d->event_record(after, e->stream);
		r = rt_engine_check(e, d->event_sync(after), "cuEventSynchronize", err);
		if (!r)
			r = rt_engine_check(e, d->event_elapsed(&ms, before, after), "cuEventElapsedTime", err);
		p->plan.ir.calls[i]->seconds += (double)ms * 1e-3;
	}
	if (before)
		d->event_destroy(before);
	if (after)
		d->event_destroy(after);
	return r;
}

/* Host to pinned to staging on the copy stream; staging to where the plan has it behind the last step's work. */
static int load(struct rt_program *p, const void *const *inputs, int slot, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_driver *d = &e->dev->d;
	uint64_t at = 0;
	int k = 0, r;

	for (int i = 0; i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role != RT_ROLE_INPUT)
			continue;
		memcpy(e->pinned[slot] + at, inputs[k++], rt_node_bytes(n));
		at += rt_engine_aligned(rt_node_bytes(n));
	}
	if (!at)
		return 0;
	r = rt_engine_check(e, d->copy_to_async(e->staging[slot], e->pinned[slot], at, e->copy), "cuMemcpyHtoDAsync",
			    err);
	if (!r)
		r = rt_engine_check(e, d->event_record(e->copied[slot], e->copy), "cuEventRecord", err);
	if (!r)
		r = rt_engine_check(e, d->stream_wait(e->stream, e->copied[slot], 0), "cuStreamWaitEvent", err);
	at = 0;
	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role != RT_ROLE_INPUT)
			continue;
		if (n->first >= 0)
			r = rt_engine_check(e,
					    d->copy_async(rt_at(n), e->staging[slot] + at, rt_node_bytes(n), e->stream),
					    "cuMemcpyDtoDAsync", err);
		at += rt_engine_aligned(rt_node_bytes(n));
	}
	return r;
}

static int poison_arena(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;

	return rt_engine_check(e,
			       e->dev->d.fill_async(e->base + p->plan.pinned_bytes, 0xff,
						    p->plan.arena_bytes - p->plan.pinned_bytes, e->stream),
			       "cuMemsetD8Async", err);
}

/* Enqueue the forward pass and the way of its loss to the host. */
static int enqueue_forward(struct rt_program *p, const void *const *inputs, bool timed, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_driver *d = &e->dev->d;
	int r = rt_engine_check(e, d->ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = load(p, inputs, (int)(p->cuda_runs++ & 1), err);
	if (!r && p->opt.poison)
		r = poison_arena(p, err);
	if (!r && e->forward && !e->eval)
		r = rt_engine_check(e, d->graph_launch(e->forward, e->stream), "cuGraphLaunch", err);
	else if (!r)
		r = rt_launch_calls(p, 0, e->n_forward, timed, err);
	if (!r)
		r = rt_engine_check(e, d->copy_from_async(e->loss, rt_at(p->plan.loss), sizeof(float), e->stream),
				    "cuMemcpyDtoHAsync", err);
	if (!r)
		r = rt_engine_check(e, d->event_record(e->loss_ready, e->stream), "cuEventRecord", err);
	return r;
}

static void fill_step(struct rt_update_step *s, const struct rt_optimizer *o, int64_t step)
{
	double correction1 = 1 - pow(o->beta1, (double)step), correction2 = 1 - pow(o->beta2, (double)step);

	*s = (struct rt_update_step){
		.lr = (float)o->lr,
		.momentum = (float)o->momentum,
		.weight_decay = (float)o->weight_decay,
		.first = step == 1,
		.decay = o->kind == RT_ADAMW ? (float)(1 - o->lr * o->weight_decay) : 1,
		.l2 = o->kind == RT_ADAMW ? 0 : (float)o->weight_decay,
		.beta1 = (float)o->beta1,
		.beta2 = (float)o->beta2,
		.rest1 = (float)(1 - o->beta1),
		.rest2 = (float)(1 - o->beta2),
		.step_size = (float)(o->lr / correction1),
		.scale2 = (float)(1 / sqrt(correction2)),
		.eps = (float)o->eps,
	};
}

static int enqueue_backward(struct rt_program *p, int64_t step, bool timed, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_driver *d = &e->dev->d;
	struct rt_update_step *s = &e->steps[step & 1];
	int r;

	fill_step(s, &p->opt.optimizer, step);
	r = rt_engine_check(e, d->copy_to_async(e->step, s, sizeof(*s), e->stream), "cuMemcpyHtoDAsync", err);
	if (!r && e->backward)
		r = rt_engine_check(e, d->graph_launch(e->backward, e->stream), "cuGraphLaunch", err);
	else if (!r)
		r = rt_launch_calls(p, e->n_forward, p->plan.ir.n_calls, timed, err);
	return r;
}

static bool finite_node(struct rt_program *p, const struct rt_node *n)
{
	gt_autofree float *x = NULL;
	struct gt_err ignored;

	if (n->role == RT_ROLE_SCRATCH || (n->dtype != RT_F32 && n->dtype != RT_BF16))
		return true;
	x = gt_xcalloc((size_t)rt_shape_elements(&n->shape), sizeof(float));
	if (rt_engine_read(p, n, x, &ignored))
		return true;
	for (int64_t i = 0, count = rt_shape_elements(&n->shape); i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

/* The updates saw that the loss is no number and did nothing. Call by call again, to say where it began. */
static int not_finite(struct rt_program *p, double loss, int64_t step, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_node *bad = NULL;

	e->eval = true;
	for (int i = 0; !bad && i < e->n_forward; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		for (int k = 0; !bad && k < RT_MAX_IO; k++)
			if (c->in[k] && !finite_node(p, c->in[k]))
				bad = c->in[k];
		if (bad)
			break;
		launch_call(p, i);
		if (!finite_node(p, c->out[0]))
			bad = c->out[0];
	}
	e->eval = false;
	return gt_fail(err, EDOM, "the loss of step %lld is %g; first not finite: %s; no parameter was changed",
		       (long long)step, loss, bad ? bad->name : p->plan.loss->name);
}

int rt_engine_step(struct rt_program *p, const void *const *inputs, struct rt_metrics *ret, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	int64_t step = p->step + 1;
	bool timed = p->opt.profile && p->step >= 2;
	int r = enqueue_forward(p, inputs, timed, err);

	if (!r)
		r = enqueue_backward(p, step, timed, err);
	if (!r)
		r = rt_engine_check(e, e->dev->d.event_sync(e->loss_ready), "cuEventSynchronize", err);
	if (r)
		return r;
	if (!isfinite(*e->loss))
		return not_finite(p, (double)*e->loss, step, err);
	p->step = step;
	p->steps_profiled += timed;
	*ret = (struct rt_metrics){
		.loss = (double)*e->loss,
		.update_loss = (double)*e->loss,
		.step = step,
		.updated = true,
		.grad_norm = NAN,
		.loss_scale = 1,
	};
	return 0;
}

int rt_engine_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	int r;

	e->eval = true;
	r = enqueue_forward(p, inputs, false, err);
	e->eval = false;
	if (!r)
		r = rt_engine_check(e, e->dev->d.event_sync(e->loss_ready), "cuEventSynchronize", err);
	if (r)
		return r;
	if (!isfinite(*e->loss))
		return not_finite(p, (double)*e->loss, p->step, err);
	*ret_loss = (double)*e->loss;
	return 0;
}
