/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps as a Chrome trace. */
#include "runtime/exec/program.h"

static const char *const phases[] = { "forward", "backward", "gradient", "update" };

/* Bytes of all tensors that live while call i runs. */
static uint64_t live_bytes(const struct rt_program *p, int i)
{
	uint64_t bytes = p->plan.pinned_bytes;

	for (int k = 0; k < p->plan.ir.n_nodes; k++) {
		const struct rt_node *n = p->plan.ir.nodes[k];

		if (n->storage == n && n->first >= 0 && n->first <= i && i <= n->last && n->offset >= p->plan.pinned_bytes)
			bytes += n->bytes;
	}
	return bytes;
}

static json_t *metadata(const char *what, const char *name)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid", 1, "tid", 1, "args", "name", name);
}

static json_t *call_event(const struct rt_program *p, const struct rt_event *e, double t0)
{
	const struct rt_call *c = p->plan.ir.calls[e->call];
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
			 c->again ? "recomputed" : phases[c->phase], "ts", (e->start - t0) * 1e6, "dur",
			 (e->end - e->start) * 1e6, "pid", 1, "tid", 1, "args", args);
}

json_t *rt_program_trace(const struct rt_program *p)
{
	int64_t first = GT_MAX(0, p->n_events - RT_TRACE_EVENTS);
	gt_autofree uint64_t *live = gt_xcalloc((size_t)p->plan.ir.n_calls + 1, sizeof(*live));
	json_t *events = json_array();
	double t0 = p->n_events ? p->events[first % RT_TRACE_EVENTS].start : 0;

	for (int i = 0; i < p->plan.ir.n_calls; i++)
		live[i] = live_bytes(p, i);
	json_array_append_new(events, metadata("process_name", "gpubench"));
	json_array_append_new(events, metadata("thread_name", "calls, each by the whole team"));
	for (int64_t i = first; i < p->n_events; i++) {
		const struct rt_event *e = &p->events[i % RT_TRACE_EVENTS];

		json_array_append_new(events, call_event(p, e, t0));
		json_array_append_new(events, json_pack("{s:s, s:s, s:f, s:i, s:{s:I}}", "ph", "C", "name", "live bytes", "ts",
							(e->start - t0) * 1e6, "pid", 1, "args", "bytes",
							(json_int_t)live[e->call]));
	}
	return json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
}
