/* SPDX-License-Identifier: Apache-2.0 */
/* Replaying a program. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/exec/program.h"

/* The first steps fill caches and make the product library compile its kernels. */
#define PROFILE_SKIP	2

/* Ids must lie inside the table that they index, targets inside the row that they pick from. */
static int check_ids(const struct rt_call *c, struct gt_err *err)
{
	const struct rt_node *ids = NULL;
	const int32_t *v;
	int64_t limit = 0, n;

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
	v = ids->data;
	n = rt_shape_elements(&ids->shape);
	for (int64_t i = 0; i < n; i++)
		if (v[i] < 0 || v[i] >= limit)
			return gt_fail(err, ERANGE, "%s[%lld] is %d; %s takes 0 to %lld", ids->name, (long long)i, v[i],
				       c->op->name, (long long)limit - 1);
	return 0;
}

static int load_inputs(struct rt_program *p, const void *const *inputs, struct gt_err *err)
{
	int k = 0, r = 0;

	for (int i = 0; i < p->plan.n_graph_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role == RT_ROLE_INPUT)
			memcpy(n->data, inputs[k++], rt_node_bytes(n));
	}
	for (int i = 0; !r && i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++)
		r = check_ids(p->plan.ir.calls[i], err);
	return r;
}

static void poison(float *x, size_t bytes)
{
	for (size_t i = 0; i < bytes / 4; i++)
		x[i] = NAN;
}

/* What call i writes first has no content yet, unless it took over an input's memory. */
static void poison_outputs(struct rt_program *p, int i)
{
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = p->plan.ir.calls[i]->out[k];

		if (n && n->first == i && n->storage == n && n->offset >= p->plan.pinned_bytes)
			poison(n->data, n->bytes);
	}
}

static void run_call(struct rt_program *p, int i, const struct rt_run *run)
{
	struct rt_call *c = p->plan.ir.calls[i];
	double t0 = 0;

	if (p->opt.poison)
		poison_outputs(p, i);
	if (p->opt.profile)
		t0 = gt_now_s();
	p->cpu.kernels[c->op->id](&p->cpu, c, run);
	if (p->opt.profile && run->profiled)
		c->seconds += gt_now_s() - t0;
}

static bool finite_node(const struct rt_node *n)
{
	const float *x = n->data;

	for (int64_t i = 0, count = rt_shape_elements(&n->shape); i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

const struct rt_node *rt_program_find_nonfinite(struct rt_program *p)
{
	struct rt_run run = { .eval = true };

	for (int i = 0; i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++) {
		struct rt_call *c = p->plan.ir.calls[i];

		for (int k = 0; k < RT_MAX_IO; k++)
			if (c->in[k] && c->in[k]->dtype == RT_F32 && !finite_node(c->in[k]))
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
static double forward(struct rt_program *p, const struct rt_run *run, int *ret_next)
{
	int i = 0;

	if (p->opt.poison)
		poison((float *)(p->arena.base + p->plan.pinned_bytes), p->plan.arena_bytes - p->plan.pinned_bytes);
	for (; i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++)
		run_call(p, i, run);
	*ret_next = i;
	return (double)*(const float *)p->plan.loss->data;
}

int rt_step(struct rt_program *p, const void *const *inputs, struct rt_metrics *ret, struct gt_err *err)
{
	const struct rt_optimizer *o = &p->opt.optimizer;
	struct rt_run run = { .optimizer = o, .step = p->step + 1 };
	double loss;
	int next, r;

	r = load_inputs(p, inputs, err);
	if (r)
		return r;
	rt_cpu_enter(&p->cpu);
	run.profiled = p->step >= PROFILE_SKIP;
	run.correction1 = 1 - pow(o->beta1, (double)run.step);
	run.correction2 = 1 - pow(o->beta2, (double)run.step);
	loss = forward(p, &run, &next);
	if (!isfinite(loss))
		return not_finite(p, loss, run.step, err);
	for (; next < p->plan.ir.n_calls; next++)
		run_call(p, next, &run);
	p->step++;
	p->steps_profiled += run.profiled;
	*ret = (struct rt_metrics){ .loss = loss, .step = p->step };
	return 0;
}

int rt_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err)
{
	struct rt_run run = { .eval = true };
	double loss;
	int next, r;

	r = load_inputs(p, inputs, err);
	if (r)
		return r;
	rt_cpu_enter(&p->cpu);
	loss = forward(p, &run, &next);
	if (!isfinite(loss))
		return not_finite(p, loss, p->step, err);
	*ret_loss = loss;
	return 0;
}
