/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program. */
#include <errno.h>
#include <math.h>
#include "runtime/exec/program.h"

/* Checks that ids are inside their table and targets inside their row. */
static int check_ids(const struct rt_program *p, const struct rt_call *c, const void *const *inputs, struct gt_err *err)
{
	const struct rt_node *ids = c->in[c->op->index_in];
	const int32_t *v = NULL;
	int64_t limit, n, ignored = 0;

	if (!c->op->index_limit)
		return 0;
	limit = c->op->index_limit(c);
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
		return gt_fail(err, ERANGE, "%s: every target is ignored, so there is no loss", ids->name);
	return 0;
}

static int check_inputs(const struct rt_program *p, const void *const *inputs, struct gt_err *err)
{
	for (int i = 0; i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++) {
		int r = check_ids(p, p->plan.ir.calls[i], inputs, err);

		if (r)
			return r;
	}
	return 0;
}

/* Checks that inputs read by a call are not NULL. */
static int check_memory(const struct rt_program *p, const void *const *inputs, struct gt_err *err)
{
	for (int i = 0, k = 0; i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];
		bool read = false;

		if (n->role != RT_ROLE_INPUT || inputs[k++])
			continue;
		for (int c = 0; c < p->plan.ir.n_calls; c++)
			read |= rt_reads(p->plan.ir.calls[c], n);
		if (read)
			return gt_fail(err, EINVAL, "input %d, %s, is NULL, and an output depends on it", k - 1, n->name);
	}
	return 0;
}

static int check_has_loss(const struct rt_program *p, struct gt_err *err)
{
	return p->plan.loss ? 0 : gt_fail(err, EINVAL, "the program has no loss: rt_run() computes its outputs");
}

static void new_update(struct rt_program *p)
{
	p->batches = 0;
	p->weights = p->weighted_loss = 0;
}

static bool last_batch(const struct rt_program *p)
{
	return p->batches + 1 == p->opt.accum;
}

/* PyTorch's order: decay of the parameter, then m, v, then the step. Adam adds the decay to the gradient instead. */
static void set_update_numbers(struct rt_run *run)
{
	const struct rt_optimizer *o = run->optimizer;
	double correction1 = 1 - pow(o->beta1, (double)run->step), correction2 = 1 - pow(o->beta2, (double)run->step);

	run->adamw = (struct rt_adamw){
		.decay = o->kind == RT_ADAM ? 1 : (float)(1 - o->lr * o->weight_decay),
		.l2 = o->kind == RT_ADAM ? (float)o->weight_decay : 0,
		.beta1 = (float)o->beta1,
		.beta2 = (float)o->beta2,
		.rest1 = (float)(1 - o->beta1),
		.rest2 = (float)(1 - o->beta2),
		.step_size = (float)(o->lr / correction1),
		.scale2 = (float)(1 / sqrt(correction2)),
		.eps = (float)o->eps,
	};
	run->sgd = (struct rt_sgd){
		.lr = (float)o->lr,
		.momentum = (float)o->momentum,
		.weight_decay = (float)o->weight_decay,
		.first = run->step == 1,
	};
}

static void start_run(const struct rt_program *p, struct rt_run *run)
{
	const struct rt_optimizer *o = &p->opt.optimizer;
	double scale = p->scale.on && !p->backend->scales_loss ? (double)p->scale.scale : 1;

	run->optimizer = o;
	/* random numbers of a step (dropout) differ between ranks */
	run->seed = p->opt.seed + (p->opt.ranks.comm ? (uint64_t)rt_comm_rank(p->opt.ranks.comm) << 32 : 0);
	run->batch = p->step * p->opt.accum + p->batches;
	run->eval = !rt_plan_trains(&p->plan);
	run->step = p->step + 1;
	run->profiled = p->step >= RT_FIRST_STEPS;
	/* Without weight in all batches there is no update. With several ranks that is unknown here: other ranks'
	 * batches may have weight. */
	run->update = last_batch(p) && (p->opt.ranks.comm || p->weights + p->weight > 0);
	/* The loss of each batch is divided by their number. The update applies the remaining factor of the weighted mean. */
	run->loss_scale = (float)(scale * p->weight / p->opt.accum);
	run->grad_scale = (float)(1 / scale * (p->opt.accum / (p->weights + p->weight)));
	set_update_numbers(run);
}

/* options.anomaly: reports the call that wrote the value, and for a backward call its forward node. */
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

/* Checks the settings made since the last step. Nothing has changed yet. */
static int check_settings(const struct rt_program *p, struct gt_err *err)
{
	double lr = p->opt.optimizer.lr, scale = (double)p->scale.scale;

	if (!(lr >= 0 && isfinite((float)lr)))
		return gt_fail(err, EINVAL, "the learning rate was set to %g: it must be 0 or more", lr);
	if (!(p->weight >= 0 && isfinite((float)p->weight)))
		return gt_fail(err, EINVAL, "the batch's weight was set to %g: it must be 0 or more", p->weight);
	if (p->scale.on && !(scale > 0 && isfinite(scale) && p->scale.tracker >= 0))
		return gt_fail(err, EINVAL, "the loss scale was set to %g, unchanged for %lld updates: it must be above 0", scale,
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
	r = check_has_loss(p, err);
	if (r)
		return r;
	r = check_settings(p, err);
	if (r)
		return r;
	r = check_inputs(p, inputs, err);
	if (r)
		return r;
	start_run(p, &run);
	m.loss_scale = p->scale.on ? (double)p->scale.scale : 1;
	r = p->backend->step(p, inputs, &run, &m, err);
	if (p->anomaly)
		r = found_anomaly(p, run.step, err);
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
	return p->backend->wait ? p->backend->wait(p, err) : 0;
}

int rt_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err)
{
	return p->backend->pin && bytes ? p->backend->pin(p, base, bytes, err) : 0;
}

void rt_unpin(struct rt_program *p, const void *base)
{
	if (p->backend->unpin)
		p->backend->unpin(p, base);
}

/* Runs the forward pass. ret_loss NULL: the loss is ignored, if there is one. */
static int evaluate(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err)
{
	struct rt_run run = { .eval = true };
	int r = p->backend->eval(p, inputs, &run, ret_loss, err);

	return p->anomaly ? found_anomaly(p, p->step, err) : r;
}

int rt_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err)
{
	int r = check_has_loss(p, err);

	if (r)
		return r;
	r = check_inputs(p, inputs, err);
	if (r)
		return r;
	return evaluate(p, inputs, ret_loss, err);
}

int rt_run(struct rt_program *p, const void *const *inputs, float *const *outputs, struct gt_err *err)
{
	int r;

	if (!inputs || !outputs)
		return gt_fail(err, EINVAL, "rt_run() needs a list of inputs and a list of outputs: one of them is NULL");
	for (int i = 0; i < p->plan.n_outputs; i++)
		if (!outputs[i])
			return gt_fail(err, EINVAL, "the memory for output %d, %s, is NULL", i, p->plan.outputs[i]->name);
	r = check_memory(p, inputs, err);
	if (r)
		return r;
	r = check_inputs(p, inputs, err);
	if (r)
		return r;
	r = evaluate(p, inputs, NULL, err);
	if (r)
		return r;
	for (int i = 0; i < p->plan.n_outputs; i++) {
		r = rt_run_read(p, p->plan.outputs[i], outputs[i], err);
		if (r)
			return r;
	}
	return 0;
}

int rt_program_outputs(const struct rt_program *p)
{
	return p->plan.n_outputs;
}

const struct rt_shape *rt_program_output_shape(const struct rt_program *p, int i)
{
	return &p->plan.outputs[i]->shape;
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
	struct gt_err ignored; /* the next step returns the error */

	if (p->backend->scale_changes)
		p->backend->scale_changes(p, &ignored);
	p->scale.scale = (float)scale;
	p->scale.tracker = tracker;
}
