/* SPDX-License-Identifier: Apache-2.0 */
/* Replaying a program. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cuda/engine.h"
#include "runtime/ddp/ddp.h"

/* The first steps fill caches and make the product library compile its kernels. */
#define PROFILE_SKIP	2
#define NO_NUMBERS	0xff /* every byte of what is no number, in every type */

/* Ids must lie inside the table that they index, targets inside the row that they pick from. */
static int check_ids(const struct rt_program *p, const struct rt_call *c, const void *const *inputs, struct gt_err *err)
{
	const struct rt_node *ids = NULL;
	const int32_t *v = NULL;
	int64_t limit = 0, n, ignored = 0;

	switch (c->op->id) {
	case RT_OP_EMBEDDING:
		ids = c->in[0];
		limit = c->in[1]->shape.d[0];
		break;
	case RT_OP_CROSS_ENTROPY:
		ids = c->in[1];
		limit = rt_cols(c->in[0]);
		break;
	case RT_OP_LINEAR_CROSS_ENTROPY:
		ids = c->in[3];
		limit = c->in[1]->shape.d[0];
		break;
	default:
		return 0;
	}
	for (int i = 0, k = 0; i < p->plan.n_graph_nodes; i++) {
		if (p->plan.ir.nodes[i] == ids)
			v = inputs[k];
		k += p->plan.ir.nodes[i]->role == RT_ROLE_INPUT;
	}
	n = rt_shape_elements(&ids->shape);
	for (int64_t i = 0; i < n; i++)
		if (c->op->loss && v[i] == RT_IGNORE)
			ignored++;
		else if (v[i] < 0 || v[i] >= limit)
			return gt_fail(err, ERANGE, "%s[%lld] is %d; %s takes 0 to %lld", ids->name, (long long)i, v[i],
				       c->op->name, (long long)limit - 1);
	if (ignored == n && p->weight > 0)
		return gt_fail(err, ERANGE, "%s: every target is ignored, there is no loss", ids->name);
	return 0;
}

static int check_inputs(const struct rt_program *p, const void *const *inputs, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++)
		r = check_ids(p, p->plan.ir.calls[i], inputs, err);
	return r;
}

static void load_inputs(struct rt_program *p, const void *const *inputs)
{
	int k = 0;

	for (int i = 0; i < p->plan.n_graph_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role == RT_ROLE_INPUT)
			memcpy(n->data, inputs[k++], rt_node_bytes(n));
	}
}

/* What call i writes first has no content yet. */
static void poison_outputs(struct rt_program *p, int i, bool evaluates)
{
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = p->plan.ir.calls[i]->out[k];

		if (n && rt_plan_poisons(&p->plan, i, n, evaluates))
			memset(n->data, NO_NUMBERS, rt_node_room_bytes(n));
	}
}

/* Of the low types an infinity or NaN is an exponent of ones alone. */
static bool finite_low(const uint16_t *x, int64_t count, unsigned exponent)
{
	for (int64_t i = 0; i < count; i++)
		if ((x[i] & exponent) == exponent)
			return false;
	return true;
}

static bool finite_node(const struct rt_node *n)
{
	int64_t count = rt_shape_elements(&n->shape);
	const float *x = n->data;

	if (n->dtype == RT_BF16 || n->dtype == RT_F16)
		return finite_low(n->data, count, n->dtype == RT_BF16 ? 0x7f80 : 0x7c00);
	for (int64_t i = 0; n->dtype == RT_F32 && i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

/* The first thing that is not finite, and who wrote it. */
static void look_at_outputs(struct rt_program *p, const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO && !p->anomaly; k++)
		if (c->out[k] && c->out[k]->role != RT_ROLE_SCRATCH && !finite_node(c->out[k])) {
			p->anomaly = c;
			p->anomaly_node = c->out[k];
		}
}

static void note_time(struct rt_program *p, struct rt_call *c, int i, const struct rt_run *run, double start)
{
	double end = gt_now_s();

	if (run->profiled)
		c->seconds += end - start;
	if (p->events)
		p->events[p->n_events++ % RT_TRACE_EVENTS] = (struct rt_event){
			.shape = p->shape, .call = i, .step = run->step, .start = start, .end = end
		};
}

/* What the ranks' losses and weights come to, once per update: the reduction began before the backward pass, and a bucket that
 * is complete says that every rank has come that far. The gradients are divided by the weights of all ranks' batches. */
static int have_losses(struct rt_program *p, struct rt_run *run, struct gt_err *err)
{
	double loss_scale = p->scale.on ? (double)p->scale.scale : 1;
	int r = p->reduced ? 0 : rt_ddp_losses(p->ddp, &p->losses, err);

	if (!r && !p->reduced) {
		run->idle = !(p->losses.weights > 0);
		run->grad_scale = run->idle ? 0 : (float)(1 / loss_scale * p->opt.accum / p->losses.weights);
	}
	p->reduced |= !r;
	return r;
}

/* What compression lost before is measured by what this update divides its gradients by, which all ranks' weights decide. */
static int start_bucket(struct rt_program *p, int bucket, struct rt_run *run, struct gt_err *err)
{
	int r = 0;

	if (bucket == 0 && rt_ddp_feeds_back(p->ddp, run->step)) {
		r = have_losses(p, run, err);
		rt_ddp_set_unit(p->ddp, run->idle ? 0 : 1 / (double)run->grad_scale);
	}
	return r ? r : rt_ddp_start(p->ddp, bucket, run->step, err);
}

static int wait_for_bucket(struct rt_program *p, int bucket, struct rt_run *run, struct gt_err *err)
{
	int r = rt_ddp_wait(p->ddp, bucket, err);

	return r ? r : have_losses(p, run, err);
}

static void run_call(struct rt_program *p, int i, struct rt_run *run)
{
	struct rt_call *c = p->plan.ir.calls[i];
	bool timed = p->opt.debug.profile || p->opt.debug.trace;
	double t0 = 0;

	if (p->opt.debug.poison)
		poison_outputs(p, i, run->eval && rt_plan_trains(&p->plan));
	if (timed)
		t0 = gt_now_s();
	if (c->op->id == RT_OP_BUCKET_START)
		p->ddp_status = start_bucket(p, c->attr.bucket, run, &p->ddp_err);
	else if (c->op->id == RT_OP_BUCKET_WAIT)
		p->ddp_status = wait_for_bucket(p, c->attr.bucket, run, &p->ddp_err);
	else if (c->op->id == RT_OP_RANKS_MEET)
		p->ddp_status = rt_ddp_meet(p->ddp, &p->ddp_err);
	else if (c->phase != RT_PHASE_UPDATE || !run->idle)
		p->cpu.kernels[c->op->id](&p->cpu, c, run);
	if (p->ddp && run->update && !p->ddp_status)
		p->ddp_status = rt_ddp_poll(p->ddp, &p->ddp_err);
	if (timed)
		note_time(p, c, i, run, t0);
	/* gradients that overflow are the loss scaler's business */
	if (p->opt.debug.anomaly && (c->phase == RT_PHASE_FORWARD || (c->phase == RT_PHASE_BACKWARD && !p->scale.on)))
		look_at_outputs(p, c);
}

const struct rt_node *rt_program_find_nonfinite(struct rt_program *p)
{
	struct rt_run run = { .eval = true };

	for (int i = 0; i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++) {
		struct rt_call *c = p->plan.ir.calls[i];

		for (int k = 0; k < RT_MAX_IO; k++)
			if (c->in[k] && !finite_node(c->in[k]))
				return c->in[k];
		run_call(p, i, &run);
		if (!finite_node(c->out[0]))
			return c->out[0];
	}
	return NULL;
}

static int not_finite(struct rt_program *p, double loss, int64_t step, struct gt_err *err)
{
	const struct rt_node *n = rt_program_find_nonfinite(p);

	return gt_fail(err, EDOM, "the loss of step %lld is %g; first not finite: %s; no parameter was changed",
		       (long long)step, loss, n ? n->name : p->plan.loss->name);
}

/* Forward pass; *ret_next is the first call behind it. */
static double forward(struct rt_program *p, struct rt_run *run, int *ret_next)
{
	int i = 0;

	if (p->opt.debug.poison)
		memset(p->arena.base + p->plan.pinned_bytes, NO_NUMBERS, p->plan.arena_bytes - p->plan.pinned_bytes);
	for (; i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++)
		if (!p->plan.ir.calls[i]->once || p->stale)
			run_call(p, i, run);
	p->stale = false;
	*ret_next = i;
	return (double)*(const float *)p->plan.loss->data;
}

/* options.debug.zero_gradients: what other frameworks do, kept to show what it costs. */
static void clear_gradients(const struct rt_program *p)
{
	for (int i = 0; i < p->plan.n_graph_nodes; i++)
		if (p->plan.gradient[i] && p->plan.gradient[i]->pinned)
			memset(p->plan.gradient[i]->data, 0, rt_node_bytes(p->plan.gradient[i]));
}

static void new_update(struct rt_program *p)
{
	p->batches = 0;
	p->weights = p->weighted_loss = 0;
	p->overflow = p->reduced = false;
}

/* Calls `next` up to the first of phase `end`; updates only at the end of an update. */
static int run_until(struct rt_program *p, int next, enum rt_phase end, struct rt_run *run)
{
	for (; next < p->plan.ir.n_calls && p->plan.ir.calls[next]->phase != end && !p->anomaly && !p->ddp_status; next++)
		if (run->update || p->plan.ir.calls[next]->phase == RT_PHASE_BACKWARD)
			run_call(p, next, run);
	return next;
}

/* torch/amp/grad_scaler.py and AmpKernels.cu, amp_update_scale: the scale is a float, the factors are doubles. */
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

/* What all gradients together mean for the update: skipped, clipped, or impossible. */
static int judge_gradients(struct rt_program *p, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	const struct rt_node *bad = run->gradients->not_finite;

	if (!rt_plan_measures_gradients(&p->plan))
		return 0;
	m->grad_norm = sqrt(run->gradients->sum_squares);
	m->skipped = p->scale.on && (bad || p->overflow);
	if (bad && !p->scale.on)
		return gt_fail(err, EDOM, "step %lld: first not finite: %s; no parameter was changed", (long long)run->step,
			       bad->name);
	/* torch.nn.utils.clip_grad_norm_ */
	if (p->opt.clip_norm > 0)
		run->grad_scale *= (float)fmin(1, p->opt.clip_norm / (m->grad_norm + 1e-6));
	return 0;
}

static int reduction_failed(const struct rt_program *p, struct gt_err *err)
{
	if (p->ddp_status && err)
		*err = p->ddp_err;
	return p->ddp_status;
}

/* The weighted means over the ranks. */
static int reduced_loss(struct rt_program *p, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	int r = reduction_failed(p, err);

	if (!r)
		r = have_losses(p, run, err);
	if (r)
		return r;
	m->loss = p->losses.batch;
	m->update_loss = p->losses.update;
	p->overflow |= !isfinite(m->update_loss);
	return 0;
}

static int finish_update(struct rt_program *p, int next, struct rt_run *run, struct rt_metrics *m, struct gt_err *err)
{
	int r;

	/* with other ranks a loss that is not finite is known to all of them by now, and has spread through the gradients */
	r = p->ddp ? reduced_loss(p, run, m, err) : 0;
	if (r)
		return r;
	if (!p->overflow || p->ddp)
		next = run_until(p, next, RT_PHASE_UPDATE, run);
	r = judge_gradients(p, run, m, err);
	if (r)
		return r;
	if (!m->skipped) {
		run_until(p, next, (enum rt_phase)-1, run);
		if (p->ddp_status)
			return reduction_failed(p, err);
		p->step += !run->idle;
	}
	m->updated = !m->skipped && !run->idle;
	if (p->ddp)
		rt_ddp_settle(p->ddp, m->updated);
	if (!run->idle)
		update_scale(p, m->skipped);
	return 0;
}

static bool last_batch(const struct rt_program *p)
{
	return p->batches + 1 == p->opt.accum;
}

static void start_run(const struct rt_program *p, struct rt_run *run)
{
	const struct rt_optimizer *o = &p->opt.optimizer;
	double scale = p->scale.on && !p->cuda ? (double)p->scale.scale : 1; /* a device multiplies by its own */

	run->optimizer = o;
	run->share = p->ddp ? rt_ddp_share(p->ddp) : NULL;
	/* what is drawn during a step (dropout) differs between the ranks */
	run->seed = p->opt.seed + (p->opt.ranks.comm ? (uint64_t)rt_comm_rank(p->opt.ranks.comm) << 32 : 0);
	run->batch = p->step * p->opt.accum + p->batches;
	run->eval = !rt_plan_trains(&p->plan);
	run->step = p->step + 1;
	run->profiled = p->step >= PROFILE_SKIP;
	/* An update all of whose batches count nothing is none. With other ranks theirs may count. */
	run->update = last_batch(p) && (p->opt.ranks.comm || p->weights + p->weight > 0);
	/* The loss of each batch is divided by their number, and the rest of the weighted mean is left to the update. */
	run->loss_scale = (float)(scale * p->weight / p->opt.accum);
	run->grad_scale = (float)(1 / scale * (p->opt.accum / (p->weights + p->weight)));
	run->correction1 = 1 - pow(o->beta1, (double)run->step);
	run->correction2 = 1 - pow(o->beta2, (double)run->step);
}

/* With the loss scaler a loss that is not finite is one more reason to skip the update, unless it goes on and on. */
static int bad_loss(struct rt_program *p, const struct rt_run *run, double loss, struct gt_err *err)
{
	p->overflow = true;
	return p->scale.on && p->scale.skipped < RT_MOST_SKIPPED ? 0 : not_finite(p, loss, run->step, err);
}

/* options.debug.anomaly: what wrote it, and in a backward pass of which forward node. */
static int found_anomaly(struct rt_program *p, int64_t step, struct gt_err *err)
{
	const struct rt_call *c = p->anomaly;
	const char *node = p->anomaly_node->name;

	p->anomaly = NULL;
	if (c->phase == RT_PHASE_FORWARD)
		return gt_fail(err, EDOM, "step %lld: %s wrote %s, which is not finite; no parameter was changed", (long long)step,
			       c->op->name, node);
	return gt_fail(err, EDOM, "step %lld: %s, in the backward pass of %s, wrote %s, which is not finite; no parameter was "
		       "changed", (long long)step, c->op->name, c->origin ? c->origin : "the loss", node);
}

/* Into the weighted mean of the update under way. */
static void count_loss(struct rt_program *p, struct rt_metrics *m)
{
	p->weights += p->weight;
	p->weighted_loss += p->weight * m->loss;
	m->update_loss = p->weights > 0 ? p->weighted_loss / p->weights : 0;
}

static int cuda_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m,
		     struct gt_err *err)
{
	int r = rt_engine_step(p, inputs, run, m, err);

	if (!r)
		count_loss(p, m);
	return p->anomaly ? found_anomaly(p, run->step, err) : r;
}

static int cpu_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m,
		    struct gt_err *err)
{
	rt_auto_omp openmp = rt_cpu_enter(&p->cpu);
	int next, r = 0;

	load_inputs(p, inputs);
	rt_plan_set_accumulate(&p->plan, p->batches > 0 || p->opt.debug.zero_gradients);
	if (p->opt.debug.zero_gradients && !p->batches)
		clear_gradients(p);
	m->loss = forward(p, run, &next);
	count_loss(p, m);
	if (p->anomaly)
		r = found_anomaly(p, run->step, err);
	else if (!isfinite(m->loss))
		r = bad_loss(p, run, m->loss, err);
	p->ddp_status = 0;
	if (!r && p->ddp && run->update)
		r = rt_ddp_put_losses(p->ddp, &(struct rt_losses){ .batch = m->loss, .weight = p->weight,
								   .update = m->update_loss, .weights = p->weights }, err);
	if (!r && (!p->overflow || p->ddp))
		next = run_until(p, next, RT_PHASE_GRADIENT, run);
	if (!r && p->anomaly)
		r = found_anomaly(p, run->step, err);
	r = !r && run->update ? finish_update(p, next, run, m, err) : r;
	if (!r && run->update && run->step == PROFILE_SKIP)
		rt_cpu_make_room(&p->cpu);
	return r;
}

/* What was set since the last step; nothing has changed yet. */
static int check_settings(const struct rt_program *p, struct gt_err *err)
{
	double lr = p->opt.optimizer.lr, scale = (double)p->scale.scale;

	if (!(lr >= 0 && isfinite((float)lr)))
		return gt_fail(err, EINVAL, "the learning rate was set to %g: it is a number that is not negative", lr);
	if (!(p->weight >= 0 && isfinite((float)p->weight)))
		return gt_fail(err, EINVAL, "the batch's weight was set to %g: it is a number that is not negative", p->weight);
	if (p->scale.on && !(scale > 0 && isfinite(scale) && p->scale.tracker >= 0))
		return gt_fail(err, EINVAL, "the loss scale was set to %g, held for %lld updates: it is a number above 0", scale,
			       (long long)p->scale.tracker);
	return 0;
}

int rt_step(struct rt_program *p, const void *const *inputs, struct rt_metrics *ret, struct gt_err *err)
{
	struct rt_gradients gradients = { 0 };
	struct rt_run run = { .gradients = &gradients };
	struct rt_metrics m = { .grad_norm = NAN };
	bool last = last_batch(p);
	int r;

	run.entered_s = gt_now_s();
	r = check_settings(p, err);
	if (!r)
		r = check_inputs(p, inputs, err);
	if (r)
		return r;
	start_run(p, &run);
	m.loss_scale = p->scale.on ? (double)p->scale.scale : 1;
	r = p->cuda ? cuda_step(p, inputs, &run, &m, err) : cpu_step(p, inputs, &run, &m, err);
	p->batches++;
	if (r || last)
		new_update(p);
	if (r)
		return r;
	p->shapes[p->shape].batches_profiled += run.profiled;
	p->shapes[p->shape].steps_profiled += run.profiled && last;
	m.step = p->step;
	*ret = m;
	return 0;
}

int rt_wait(struct rt_program *p, struct gt_err *err)
{
	return p->cuda ? rt_engine_wait(p, err) : 0;
}

int rt_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err)
{
	return p->cuda && bytes ? rt_engine_pin(p, base, bytes, err) : 0;
}

void rt_unpin(struct rt_program *p, const void *base)
{
	if (p->cuda)
		rt_engine_unpin(p, base);
}

int rt_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err)
{
	struct rt_run run = { .eval = true };
	double loss;
	int next, r;

	r = check_inputs(p, inputs, err);
	if (r)
		return r;
	if (p->cuda) {
		r = rt_engine_eval(p, inputs, ret_loss, err);
		return p->anomaly ? found_anomaly(p, p->step, err) : r;
	}
	rt_auto_omp openmp = rt_cpu_enter(&p->cpu);
	load_inputs(p, inputs);
	loss = forward(p, &run, &next);
	if (p->anomaly)
		return found_anomaly(p, p->step, err);
	if (!isfinite(loss))
		return not_finite(p, loss, p->step, err);
	*ret_loss = loss;
	return 0;
}

void rt_set_weight(struct rt_program *p, double weight)
{
	p->weight = weight;
}

void rt_get_scaler(const struct rt_program *p, double *ret_scale, int64_t *ret_tracker)
{
	*ret_scale = (double)p->scale.scale;
	*ret_tracker = p->scale.tracker;
}

int64_t rt_skipped_updates(const struct rt_program *p)
{
	return p->scale.total;
}

void rt_set_scaler(struct rt_program *p, double scale, int64_t tracker)
{
	struct gt_err ignored; /* the next step says it */

	if (p->cuda)
		rt_engine_forget_scale(p, &ignored);
	p->scale.scale = (float)scale;
	p->scale.tracker = tracker;
}
