/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include "runtime/cuda/cupti.h"
#include "runtime/cuda/timing.h"

struct span {
	int call;
	cu_event before, after;
};
struct moved {
	const char *kernel;
	int call;
	double bytes;
};
struct rt_timing {
	struct rt_cuda *dev;
	int call; /* between begin and end; otherwise -1 */
	struct moved *moved;
	int n_moved;
	struct rt_cupti *cupti; /* NULL: timing by events */
	struct gt_err why;	/* why CUPTI is not used */
	struct span *spans;
	int n, made, most;
	double *first, *last; /* times of each call of this step, if CUPTI is used */
};

struct rt_timing *rt_timing_new(struct rt_cuda *dev, int calls)
{
	struct rt_timing *t = gt_xcalloc(1, sizeof(*t));

	t->dev = dev;
	t->call = -1;
	t->most = calls;
	if (rt_cupti_open(dev->version, &t->cupti, &t->why)) {
		t->spans = gt_xcalloc((size_t)calls + 1, sizeof(*t->spans));
	} else {
		t->first = gt_xcalloc((size_t)calls + 1, sizeof(*t->first));
		t->last = gt_xcalloc((size_t)calls + 1, sizeof(*t->last));
	}
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
	rt_cupti_close(t->cupti);
	free(t->moved);
	free(t->first);
	free(t->last);
	free(t->spans);
	free(t);
}

/* ---- events ---- */
static int begin_span(struct rt_timing *t, int call, cu_stream stream, struct gt_err *err)
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

static int end_span(struct rt_timing *t, cu_stream stream, struct gt_err *err)
{
	return rt_cuda_check(t->dev, t->dev->d.event_record(t->spans[t->n++].after, stream), "cuEventRecord", err);
}

static int collect_spans(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, double t0, struct gt_err *err)
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
		if (r)
			return r;
		if (run->profiled)
			p->plan.ir.calls[s->call]->seconds += (double)took * 1e-3;
		if (p->events)
			p->events[p->n_events++ % RT_TRACE_EVENTS] = (struct rt_event){
				.shape = p->shape, .call = s->call, .step = run->step, .start = t0 + (double)start * 1e-3,
				.end = t0 + (double)(start + took) * 1e-3
			};
	}
	return r;
}

/* ---- CUPTI ---- */
/* Returns the row of a kernel by name, op and phase of the launching call. call -1: not launched by a call. */
static struct rt_kernel *kernel_row(struct rt_program *p, const char *name, int call)
{
	const struct rt_call *c = call < 0 ? NULL : p->plan.ir.calls[call];

	for (int i = 0; i < p->n_kernels; i++) {
		struct rt_kernel *k = &p->kernels[i];

		if (gt_streq(k->name, name) && (!k->call == !c) && (!c || (k->call->op == c->op && k->call->phase == c->phase)))
			return k;
	}
	p->kernels = gt_xrealloc(p->kernels, (size_t)(p->n_kernels + 1) * sizeof(*p->kernels));
	p->kernels[p->n_kernels] = (struct rt_kernel){ .name = gt_xstrdup(name), .call = c };
	return &p->kernels[p->n_kernels++];
}

static void put_event(struct rt_program *p, const struct rt_run *run, int call, int kernel, double start, double end)
{
	if (p->events)
		p->events[p->n_events++ % RT_TRACE_EVENTS] = (struct rt_event){
			.shape = p->shape, .call = call, .kernel = kernel, .step = run->step, .start = start, .end = end
		};
}

/* Work outside calls, such as the copy of inputs, counts from the start of the step. */
static void count(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, const struct rt_cupti_record *r,
		  double start, double end)
{
	struct rt_kernel *k = kernel_row(p, r->name, r->call);

	if (run->profiled) {
		k->launches++;
		k->seconds += end - start;
		k->moved += (double)r->bytes;
	}
	if (r->call >= 0) {
		if (run->profiled)
			p->plan.ir.calls[r->call]->seconds += end - start;
		t->first[r->call] = fmin(t->first[r->call], start);
		t->last[r->call] = fmax(t->last[r->call], end);
	}
	put_event(p, run, r->call, (int)(k - p->kernels) + 1, start, end);
}

static int collect_records(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, struct gt_err *err)
{
	const struct rt_cupti_record *all;
	uint64_t now;
	size_t n;
	int r = rt_cuda_check(t->dev, t->dev->d.ctx_sync(), "cuCtxSynchronize", err);
	double at;

	if (!r)
		r = rt_cupti_take(t->cupti, &all, &n, &now, &at, err);
	if (r)
		return r;
	for (int i = 0; i < t->n_moved && run->profiled; i++)
		kernel_row(p, t->moved[i].kernel, t->moved[i].call)->moved += t->moved[i].bytes;
	for (int i = 0; i < t->most; i++) {
		t->first[i] = INFINITY;
		t->last[i] = -INFINITY;
	}
	for (size_t i = 0; i < n; i++) {
		double start = at - (double)(int64_t)(now - all[i].start) * 1e-9;

		if (all[i].call < t->most)
			count(t, p, run, &all[i], start, start + (double)(all[i].end - all[i].start) * 1e-9);
	}
	for (int i = 0; i < t->most; i++)
		if (t->last[i] >= t->first[i])
			put_event(p, run, i, 0, t->first[i], t->last[i]);
	return 0;
}

/* ---- both ---- */
/*
 * Steps are distinguished by order, not by clocks. If a thread is delayed between CUPTI's clock and its own, the
 * previous step would be mistaken for this one.
 */
int rt_timing_start(struct rt_timing *t, struct gt_err *err)
{
	return t->cupti ? rt_cupti_drop(t->cupti, err) : 0;
}

int rt_timing_begin(struct rt_timing *t, int call, cu_stream stream, struct gt_err *err)
{
	t->call = call;
	return t->cupti ? rt_cupti_begin(t->cupti, call, err) : begin_span(t, call, stream, err);
}

int rt_timing_end(struct rt_timing *t, cu_stream stream, struct gt_err *err)
{
	t->call = -1;
	return t->cupti ? rt_cupti_end(t->cupti, err) : end_span(t, stream, err);
}

void rt_timing_moves(struct rt_timing *t, const char *kernel, double bytes)
{
	if (t->call < 0)
		return;
	t->moved = gt_xrealloc(t->moved, (size_t)(t->n_moved + 1) * sizeof(*t->moved));
	t->moved[t->n_moved++] = (struct moved){ kernel, t->call, bytes };
}

int rt_timing_collect(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, double t0, struct gt_err *err)
{
	int r = t->cupti ? collect_records(t, p, run, err) : collect_spans(t, p, run, t0, err);

	t->n_moved = 0;
	return r;
}

void rt_timing_report(const struct rt_timing *t, json_t *doc)
{
	char how[32] = "events";
	json_t *o = json_object();

	if (t->cupti)
		snprintf(how, sizeof(how), "CUPTI %u", rt_cupti_version(t->cupti));
	json_object_set_new(o, "how", json_string(how));
	if (!t->cupti)
		json_object_set_new(o, "why", gt_json_str(t->why.msg));
	json_object_set_new(doc, "timed_by", o);
}
