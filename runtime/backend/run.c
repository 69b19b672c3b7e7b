/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a program run that are the same on every device. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/backend/backend.h"
#include "runtime/ddp/groups.h"

#define NO_NUMBERS	0xff /* byte that makes a NaN of every type */

/* ---- memory ---- */
uint64_t rt_run_arena_bytes(const struct rt_program *p)
{
	uint64_t max = 0;

	for (int i = 0; i < p->n_shapes; i++)
		max = GT_MAX(max, p->shapes[i].arena_bytes);
	return max;
}

uint64_t rt_run_shared_bytes(const struct rt_program *p)
{
	const struct rt_plan *plan = &p->plan;
	uint64_t bytes = rt_groups_plan_bytes(&p->opt, plan) + (plan->stage ? plan->stage->window_bytes : 0);

	if (!p->opt.ranks.comm)
		return bytes + plan->window_bytes;
	return bytes + rt_ddp_plan_bytes(&p->opt, &p->ranks, plan->buckets, plan->n_buckets, plan->window_bytes);
}

int rt_run_restart(struct rt_program *p, struct gt_err *err)
{
	int r = p->backend->scale_changes ? p->backend->scale_changes(p, err) : 0;

	return r ? r : p->backend->restart(p, err);
}

void rt_run_place(struct rt_program *p)
{
	for (int s = 0; s < p->n_shapes; s++)
		for (int i = 0; i < p->shapes[s].ir.n_nodes; i++) {
			struct rt_node *n = p->shapes[s].ir.nodes[i];

			if (n->first >= 0)
				n->data = (n->shared ? p->window : p->base) + n->offset;
		}
}

void rt_use_shape(struct rt_program *p, int shape)
{
	if (shape == p->shape)
		return;
	p->shape = shape;
	p->plan = p->shapes[shape];
	p->stale |= p->constants_move;
}

/* Returns the index of element i in the whole tensor, so that initial values do not depend on how the tensor is split. */
static uint64_t whole_index(const struct rt_node *n, int64_t i)
{
	return (uint64_t)(n->cut.parts ? rt_cut_index(&n->cut, i) : i);
}

void rt_run_init_param(const struct rt_node *n, float *w, uint64_t seed, int threads)
{
	int64_t count = rt_shape_elements(&n->shape);
	float scale = n->init.scale;
	uint64_t stream = (uint64_t)n->id;

	switch (n->init.kind) {
	case RT_INIT_ZERO:
	case RT_INIT_ONE:
		for (int64_t i = 0; i < count; i++)
			w[i] = n->init.kind == RT_INIT_ONE;
		break;
	case RT_INIT_NORMAL_STD:
#pragma omp parallel for schedule(static) num_threads(threads)
		for (int64_t i = 0; i < count; i++)
			w[i] = scale * rt_random_normal(seed, stream, whole_index(n, i));
		break;
	case RT_INIT_UNIFORM_BOUND:
#pragma omp parallel for schedule(static) num_threads(threads)
		for (int64_t i = 0; i < count; i++)
			w[i] = scale * (2 * rt_random_uniform(seed, stream, whole_index(n, i)) - 1);
		break;
	}
}

static bool is_reduced(const struct rt_node *n)
{
	return n->dtype == RT_BF16 || n->dtype == RT_F16;
}

int rt_run_read(const struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err)
{
	int64_t count = rt_shape_elements(&n->shape);
	gt_autofree uint16_t *bits = NULL;
	int r;

	if (!is_reduced(n))
		return p->backend->get(p, n, out, err);
	bits = gt_xcalloc((size_t)count, sizeof(*bits));
	r = p->backend->get(p, n, bits, err);
	if (r)
		return r;
	(n->dtype == RT_BF16 ? rt_simd_best()->from_bf16 : rt_simd_best()->from_f16)(out, bits, count);
	return 0;
}

int rt_run_write(struct rt_program *p, struct rt_node *n, const float *in, struct gt_err *err)
{
	int64_t count = rt_shape_elements(&n->shape);
	gt_autofree uint16_t *bits = NULL;

	if (!is_reduced(n))
		return p->backend->put(p, n, in, err);
	bits = gt_xcalloc((size_t)count, sizeof(*bits));
	(n->dtype == RT_BF16 ? rt_simd_best()->to_bf16 : rt_simd_best()->to_f16)(bits, in, count);
	return p->backend->put(p, n, bits, err);
}

/* ---- poison, and non-finite values ---- */
void rt_run_poison(struct rt_program *p, int i, bool evaluates)
{
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = p->plan.ir.calls[i]->out[k];

		if (n && rt_plan_poisons(&p->plan, i, n, evaluates))
			p->backend->fill(p, n->data, NO_NUMBERS, rt_node_padded_bytes(n));
	}
}

void rt_run_poison_all(struct rt_program *p)
{
	p->backend->fill(p, p->base + p->plan.pinned_bytes, NO_NUMBERS, p->plan.arena_bytes - p->plan.pinned_bytes);
}

void rt_run_watch(struct rt_program *p, const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO && !p->anomaly; k++)
		if (c->out[k] && !p->backend->finite(p, c->out[k])) {
			p->anomaly = c;
			p->anomaly_node = c->out[k];
		}
}

const struct rt_node *rt_run_find_nonfinite(struct rt_program *p)
{
	struct rt_run run = { .eval = true };

	if (p->pipeline) /* the other stages do not compute it again */
		return NULL;
	for (int i = 0; i < p->plan.ir.n_calls && p->plan.ir.calls[i]->phase == RT_PHASE_FORWARD; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		for (int k = 0; k < RT_MAX_IO; k++)
			if (c->in[k] && !p->backend->finite(p, c->in[k]))
				return c->in[k];
		p->backend->run_call(p, i, &run);
		if (!p->backend->finite(p, c->out[0]))
			return c->out[0];
	}
	return NULL;
}

int rt_run_bad_loss(struct rt_program *p, double loss, int64_t step, struct gt_err *err)
{
	const struct rt_node *n = rt_run_find_nonfinite(p);

	return gt_fail(err, EDOM, "the loss of step %lld is %g; first not finite: %s; no parameter was changed",
		       (long long)step, loss, n ? n->name : p->plan.loss->name);
}

int rt_run_bad_gradient(const char *bad, int64_t step, struct gt_err *err)
{
	return gt_fail(err, EDOM, "step %lld: first not finite: %s; no parameter was changed", (long long)step, bad);
}

/* ---- losses and events ---- */
void rt_run_count_loss(struct rt_program *p, struct rt_metrics *m)
{
	p->weights += p->weight;
	p->weighted_loss += p->weight * m->loss;
	m->update_loss = p->weights > 0 ? p->weighted_loss / p->weights : 0;
}

void rt_run_record_event(struct rt_program *p, const struct rt_event *e)
{
	if (p->events)
		p->events[p->n_events++ % RT_TRACE_EVENTS] = *e;
}
