/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps as a Chrome trace. */
#include "runtime/exec/program.h"

static const char *const phases[] = { "forward", "backward", "gradient", "update" };

/* Returns live bytes per shape and call; the caller frees each row and the table. */
static uint64_t **all_live_bytes(const struct rt_program *p)
{
	uint64_t **live = gt_xcalloc((size_t)p->n_shapes, sizeof(*live));

	for (int s = 0; s < p->n_shapes; s++) {
		live[s] = gt_xcalloc((size_t)p->shapes[s].ir.n_calls + 1, sizeof(**live));
		for (int i = 0; i < p->shapes[s].ir.n_calls; i++)
			live[s][i] = rt_plan_live_bytes(&p->shapes[s], i);
	}
	return live;
}

static json_t *metadata(const char *what, int tid, const char *name)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid", 1, "tid", tid, "args", "name", name);
}

/* A kernel, copy or fill, nested in the call that launched it. */
static json_t *kernel_event(const struct rt_program *p, const struct rt_event *e, double t0)
{
	json_t *args = json_object();

	if (e->call >= 0)
		json_object_set_new(args, "op", json_string(p->shapes[e->shape].ir.calls[e->call]->op->name));
	json_object_set_new(args, "step", json_integer(e->step));
	return json_pack("{s:s, s:o, s:s, s:f, s:f, s:i, s:i, s:o}", "ph", "X", "name",
			 gt_json_str(p->kernels[e->kernel - 1].name), "cat", e->call >= 0 ? "kernel" : "input", "ts",
			 (e->start - t0) * 1e6, "dur", (e->end - e->start) * 1e6, "pid", 1, "tid", e->call >= 0 ? 2 : 3, "args",
			 args);
}

static json_t *call_event(const struct rt_program *p, const struct rt_event *e, double t0)
{
	const struct rt_call *c = p->shapes[e->shape].ir.calls[e->call];
	json_t *args = json_object();

	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->out[k] && c->out[k]->role != RT_ROLE_SCRATCH && !json_object_get(args, "writes"))
			json_object_set_new(args, "writes", gt_json_str(c->out[k]->name));
	if (c->origin)
		json_object_set_new(args, "of", gt_json_str(c->origin));
	json_object_set_new(args, "step", json_integer(e->step));
	json_object_set_new(args, "flops", gt_json_real(c->op->flops ? c->op->flops(c) : 0));
	json_object_set_new(args, "bytes", gt_json_real(rt_call_bytes(c)));
	return json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:o}", "ph", "X", "name", c->op->name, "cat",
			 c->recomputed ? "recomputed" : phases[c->phase], "ts", (e->start - t0) * 1e6, "dur",
			 (e->end - e->start) * 1e6, "pid", 1, "tid", 1, "args", args);
}

json_t *rt_program_trace(const struct rt_program *p)
{
	int64_t first = GT_MAX(0, p->n_events - RT_TRACE_EVENTS);
	uint64_t **live = all_live_bytes(p);
	json_t *events = json_array();
	double t0 = p->n_events ? p->events[first % RT_TRACE_EVENTS].start : 0;

	json_array_append_new(events, metadata("process_name", 1, "gpubench"));
	json_array_append_new(events, metadata("thread_name", 1, p->backend->track));
	if (p->n_kernels) {
		json_array_append_new(events, metadata("thread_name", 2, "kernels"));
		json_array_append_new(events, metadata("thread_name", 3, "inputs and results"));
	}
	for (int64_t i = first; i < p->n_events; i++) {
		const struct rt_event *e = &p->events[i % RT_TRACE_EVENTS];

		if (e->kernel) {
			json_array_append_new(events, kernel_event(p, e, t0));
			continue;
		}
		json_array_append_new(events, call_event(p, e, t0));
		json_array_append_new(events, json_pack("{s:s, s:s, s:f, s:i, s:{s:I}}", "ph", "C", "name", "live bytes", "ts",
							(e->start - t0) * 1e6, "pid", 1, "args", "bytes",
							(json_int_t)live[e->shape][e->call]));
	}
	for (int s = 0; s < p->n_shapes; s++)
		free(live[s]);
	free(live);
	return json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
}
