/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/timing.h"

struct span {
	int call;
	cu_event before, after;
};
struct rt_timing {
	struct rt_cuda *dev;
	struct span *spans;
	int n, made, most;
};

struct rt_timing *rt_timing_new(struct rt_cuda *dev, int calls)
{
	struct rt_timing *t = gt_xcalloc(1, sizeof(*t));

	t->dev = dev;
	t->most = calls;
	t->spans = gt_xcalloc((size_t)calls + 1, sizeof(*t->spans));
	return t;
}

void rt_timing_free(struct rt_timing *t)
{
	if (!t)
		return;
	for (int i = 0; i < t->made; i++) {
		t->dev->d.event_destroy(t->spans[i].before);
		if (t->spans[i].after)
			t->dev->d.event_destroy(t->spans[i].after);
	}
	free(t->spans);
	free(t);
}

int rt_timing_begin(struct rt_timing *t, int call, cu_stream stream, struct gt_err *err)
{
	const struct rt_driver *d = &t->dev->d;
	struct span *s = &t->spans[t->n];
	int r = 0;

	if (t->n == t->made) {
		r = rt_cuda_check(t->dev, d->event_create(&s->before, CU_EVENT_DEFAULT), "cuEventCreate", err);
		t->made += !r;
		if (!r)
			r = rt_cuda_check(t->dev, d->event_create(&s->after, CU_EVENT_DEFAULT), "cuEventCreate", err);
	}
	s->call = call;
	return r ? r : rt_cuda_check(t->dev, d->event_record(s->before, stream), "cuEventRecord", err);
}

int rt_timing_end(struct rt_timing *t, cu_stream stream, struct gt_err *err)
{
	return rt_cuda_check(t->dev, t->dev->d.event_record(t->spans[t->n++].after, stream), "cuEventRecord", err);
}

int rt_timing_collect(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, double t0, struct gt_err *err)
{
	const struct rt_driver *d = &t->dev->d;
	int r = 0, n = t->n;

	t->n = 0;
	if (n)
		r = rt_cuda_check(t->dev, d->event_sync(t->spans[n - 1].after), "cuEventSynchronize", err);
	for (int i = 0; !r && i < n; i++) {
		const struct span *s = &t->spans[i];
		float start = 0, took = 0;

		r = rt_cuda_check(t->dev, d->event_elapsed(&start, t->spans[0].before, s->before), "cuEventElapsedTime", err);
		if (!r)
			r = rt_cuda_check(t->dev, d->event_elapsed(&took, s->before, s->after), "cuEventElapsedTime", err);
		if (!r && run->profiled)
			p->plan.ir.calls[s->call]->seconds += (double)took * 1e-3;
		if (!r && p->events)
			p->events[p->n_events++ % RT_TRACE_EVENTS] = (struct rt_event){
				.shape = p->shape, .call = s->call, .step = run->step, .start = t0 + (double)start * 1e-3,
				.end = t0 + (double)(start + took) * 1e-3
			};
	}
	return r;
}
