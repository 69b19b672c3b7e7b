/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss scaler on the device (kernel/scaler.cuh). The host reads the result of an update together with the loss of
 * the next batch, or when it waits for all work. It never waits only for the result.
 */
#include <math.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/kernel/update.h"
#include "runtime/cuda/launch.h"

/* Returns the buffer where an update writes its state for the host. There are two, because the host may read one while
 * the next update writes the other. */
static struct rt_scaler_state *place_of(struct rt_engine *e, unsigned update)
{
	return &e->scaler.seen[update & 1];
}

static int put(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_scaler_state s = { .scale = p->scale.scale, .skipped = p->scale.skipped, .tracker = p->scale.tracker,
					   .step = p->step, .total_skipped = p->scale.total, .norm = NAN };
	int r = rt_engine_drain(e, err);

	if (!r)
		r = rt_cuda_put(e->dev, e->scaler.state, &s, sizeof(s), err);
	e->scaler.there = !r;
	e->scaler.norm = NAN;
	e->scaler.skipped = false;
	return r;
}

int rt_scaler_begin(struct rt_program *p, const struct rt_run *run, struct gt_err *err)
{
	const struct rt_optimizer *o = run->optimizer;
	struct rt_engine *e = p->state;
	cu_ptr step = e->step, state = e->scaler.state;
	double lr = o->lr, beta1 = o->beta1, beta2 = o->beta2;
	int first = p->batches == 0, r = 0;

	if (!e->scaler.there)
		r = put(p, err);
	if (!r)
		RT_LAUNCH(e, RT_K_scaler_begin, 1, 1, 1, 1, 0, &step, &state, &first, &lr, &beta1, &beta2);
	return r;
}

void rt_scaler_check(struct rt_program *p)
{
	cu_ptr state = rt_engine_of(p)->scaler.state, loss = rt_engine_loss(p);

	RT_LAUNCH(p->state, RT_K_scaler_check, 1, 1, 1, 1, 0, &state, &loss);
}

void rt_scaler_judge(struct rt_engine *e)
{
	cu_ptr state = e->scaler.state, norm = e->norm;

	RT_LAUNCH(e, RT_K_scaler_judge, 1, 1, 1, 1, 0, &state, &norm);
}

int rt_scaler_end(struct rt_program *p, struct gt_err *err)
{
	const struct rt_scaler *o = &p->opt.precision.scaler;
	struct rt_engine *e = p->state;
	cu_ptr state = e->scaler.state, norm = e->norm;
	double growth = o->growth, backoff = o->backoff;
	int64_t interval = o->interval;
	int r;

	RT_LAUNCH(e, RT_K_scaler_end, 1, 1, 1, 1, 0, &state, &norm, &growth, &backoff, &interval);
	r = rt_engine_check(e, e->dev->d.copy_from_async(place_of(e, e->scaler.enqueued + 1), e->scaler.state,
							 sizeof(struct rt_scaler_state), e->stream), "cuMemcpyDtoHAsync", err);
	e->scaler.enqueued += !r;
	return r;
}

void rt_scaler_settle(struct rt_program *p, unsigned update)
{
	struct rt_engine *e = p->state;
	const struct rt_scaler_state *s = place_of(e, update);

	if (e->scaler.settled == update)
		return;
	p->scale.scale = s->scale;
	p->scale.tracker = s->tracker;
	p->scale.skipped = s->skipped;
	p->scale.total = s->total_skipped;
	p->step = s->step;
	e->scaler.norm = (double)s->norm;
	e->scaler.skipped = s->skipped > 0;
	e->scaler.settled = update;
}

int rt_engine_forget_scale(struct rt_program *p, struct gt_err *err)
{
	int r = rt_engine_wait(p, err);

	rt_engine_of(p)->scaler.there = false;
	return r;
}
