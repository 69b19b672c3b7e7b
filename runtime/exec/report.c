/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a program as a JSON document. */
#include <math.h>
#include "runtime/exec/program.h"

static const char *const phase_names[] = { "forward", "backward", "gradient", "update" };

static double plan_flops(const struct rt_plan *plan)
{
	double flops = 0;

	for (int i = 0; i < plan->ir.n_calls; i++)
		if (plan->ir.calls[i]->op->flops)
			flops += plan->ir.calls[i]->op->flops(plan->ir.calls[i]);
	return plan->segment ? flops / plan->opt->accum : flops; /* flops of one batch */
}

double rt_program_flops(const struct rt_program *p)
{
	return plan_flops(&p->plan);
}

static double call_bytes(const struct rt_program *p)
{
	double bytes = 0;

	for (int i = 0; i < p->plan.ir.n_calls; i++)
		bytes += rt_call_bytes(p->plan.ir.calls[i]);
	return bytes;
}

static int64_t steps_profiled(const struct rt_program *p)
{
	int64_t n = 0;

	for (int s = 0; s < p->n_shapes; s++)
		n += p->shapes[s].steps_profiled;
	return n;
}

struct row {
	const char *name;
	int calls; /* number of calls of the current shape */
	double flops, reduced, fp8, bytes, seconds;
	double live_bytes, allocated_bytes; /* live: sum over `planned` calls */
	uint64_t peak_bytes;
	int planned;
};

/* Returns the flops of reduced-precision products. */
static double low_flops(const struct rt_program *p, const struct rt_call *c, double flops)
{
	enum rt_dtype type = c->in[0] ? c->in[0]->dtype : RT_F32;

	if (!c->op->reduced || type == RT_F32)
		return 0;
	return p->backend->multiplies(c, type) ? flops : 0;
}

static void add_memory(const struct rt_plan *plan, int call, double times, struct row *ret)
{
	uint64_t live = rt_plan_live_bytes(plan, call);

	ret->planned++;
	ret->live_bytes += (double)live;
	ret->peak_bytes = GT_MAX(ret->peak_bytes, live);
	ret->allocated_bytes += times * (double)rt_plan_allocated_bytes(plan, call);
}

/* Adds up the calls of one op in one plan, multiplied by `times`. */
static void add_calls(const struct rt_program *p, int shape, const struct rt_op *op, enum rt_phase phase, double times,
		      struct row *ret)
{
	const struct rt_plan *plan = &p->shapes[shape];

	for (int i = 0; i < plan->ir.n_calls; i++) {
		const struct rt_call *c = plan->ir.calls[i];
		double flops = c->op->flops ? times * c->op->flops(c) : 0;

		if (c->op != op || c->phase != phase)
			continue;
		ret->calls++;
		ret->name = c->attr.user ? c->attr.user->name : ret->name;
		ret->flops += flops;
		ret->reduced += low_flops(p, c, flops);
		ret->fp8 += c->op->reduced && (c->in[0]->dtype == RT_E4M3 || c->in[0]->dtype == RT_E5M2) ? flops : 0;
		ret->bytes += times * rt_call_bytes(c);
		ret->seconds += c->seconds;
		if (times > 0 && p->opt.debug.profile)
			add_memory(plan, i, times, ret);
	}
}

static bool of_each_batch(enum rt_phase phase)
{
	return phase == RT_PHASE_FORWARD || phase == RT_PHASE_BACKWARD;
}

/*
 * Returns how often a step ran the calls of a phase in shape s: forward and backward calls once per batch, all others
 * once per update.
 */
static double runs_per_step(const struct rt_program *p, int s, enum rt_phase phase)
{
	double steps = (double)steps_profiled(p);
	bool each = of_each_batch(phase) && !p->plan.segment;

	if (steps > 0)
		return (double)(each ? p->shapes[s].batches_profiled : p->shapes[s].steps_profiled) / steps;
	return s == p->shape ? each ? p->opt.accum : 1 : 0;
}

/* Values per step: the mean over the steps of all shapes. */
static json_t *op_row(const struct rt_program *p, const struct rt_op *op, enum rt_phase phase)
{
	double steps = (double)steps_profiled(p);
	struct row row = { .name = op->name };
	json_t *doc;

	for (int s = 0; s < p->n_shapes; s++) {
		row.calls = 0;
		add_calls(p, s, op, phase, runs_per_step(p, s, phase), &row);
	}
	if (!row.calls)
		return NULL;
	doc = json_pack("{s:s, s:s, s:i, s:o, s:o}", "op", row.name, "phase", phase_names[phase], "calls", row.calls, "flops",
			gt_json_real(row.flops), "bytes", gt_json_real(row.bytes));
	json_object_set_new(doc, "low_flops", gt_json_real(row.reduced));
	if (row.fp8 > 0)
		json_object_set_new(doc, "fp8_flops", gt_json_real(row.fp8));
	if (row.planned) {
		json_object_set_new(doc, "live_bytes", gt_json_real(row.live_bytes / row.planned));
		json_object_set_new(doc, "peak_bytes", json_integer((json_int_t)row.peak_bytes));
		json_object_set_new(doc, "allocated_bytes", gt_json_real(row.allocated_bytes));
	}
	if (p->opt.debug.profile && steps > 0)
		json_object_set_new(doc, "seconds", gt_json_real(row.seconds / steps));
	return doc;
}

static json_t *op_rows(const struct rt_program *p)
{
	json_t *rows = json_array();

	for (int phase = RT_PHASE_FORWARD; phase <= RT_PHASE_UPDATE; phase++)
		for (int id = 0; id < RT_N_OPS; id++) {
			json_t *row = op_row(p, rt_ops[id], (enum rt_phase)phase);

			if (row)
				json_array_append_new(rows, row);
		}
	return rows;
}

/*
 * Adds the flops and bytes of an op that has only this kernel. For an op with several kernels the part of each is
 * unknown.
 */
static void put_work(const struct rt_program *p, const struct rt_kernel *k, json_t *doc)
{
	struct row row = { .name = k->name };

	for (int s = 0; s < p->n_shapes; s++)
		add_calls(p, s, k->call->op, k->call->phase, runs_per_step(p, s, k->call->phase), &row);
	for (int i = 0; i < p->n_kernels; i++)
		if (&p->kernels[i] != k && p->kernels[i].call && p->kernels[i].call->op == k->call->op &&
		    p->kernels[i].call->phase == k->call->phase)
			return;
	json_object_set_new(doc, "flops", gt_json_real(row.flops));
	json_object_set_new(doc, "low_flops", gt_json_real(row.reduced));
	if (row.fp8 > 0)
		json_object_set_new(doc, "fp8_flops", gt_json_real(row.fp8));
	json_object_set_new(doc, "bytes", gt_json_real(row.bytes));
}

static int by_seconds(const void *a, const void *b)
{
	const struct rt_kernel *x = *(const struct rt_kernel *const *)a, *y = *(const struct rt_kernel *const *)b;

	return (y->seconds > x->seconds) - (y->seconds < x->seconds);
}

/* Values per step, longest time first. */
static json_t *kernel_rows(const struct rt_program *p)
{
	gt_autofree const struct rt_kernel **order = gt_xcalloc((size_t)p->n_kernels + 1, sizeof(*order));
	double steps = (double)steps_profiled(p);
	json_t *rows = json_array();

	for (int i = 0; i < p->n_kernels; i++)
		order[i] = &p->kernels[i];
	qsort(order, (size_t)p->n_kernels, sizeof(*order), by_seconds);
	for (int i = 0; i < p->n_kernels; i++) {
		const struct rt_kernel *k = order[i];
		json_t *row;

		if (!k->launches)
			continue;
		row = json_pack("{s:o, s:s?, s:s?, s:o, s:o}", "kernel", gt_json_str(k->name), "op",
				k->call ? k->call->op->name : NULL, "phase", k->call ? phase_names[k->call->phase] : NULL,
				"launches", gt_json_real((double)k->launches / steps), "seconds", gt_json_real(k->seconds / steps));
		if (k->moved > 0)
			json_object_set_new(row, "bytes", gt_json_real(k->moved / steps));
		else if (k->call)
			put_work(p, k, row);
		json_array_append_new(rows, row);
	}
	return rows;
}

/* [{ "planned_bytes", "flops_per_step" }]: what each batch shape alone would need. */
static json_t *shapes(const struct rt_program *p)
{
	json_t *list = json_array();

	for (int s = 0; s < p->n_shapes; s++)
		json_array_append_new(list, json_pack("{s:I, s:o}", "planned_bytes", (json_int_t)p->shapes[s].arena_bytes,
						      "flops_per_step", gt_json_real(plan_flops(&p->shapes[s]))));
	return list;
}

/* Returns the plan of the shape that needs the most memory. */
static const struct rt_plan *largest(const struct rt_program *p)
{
	const struct rt_plan *most = &p->shapes[0];

	for (int s = 1; s < p->n_shapes; s++)
		most = p->shapes[s].arena_bytes > most->arena_bytes ? &p->shapes[s] : most;
	return most;
}

double rt_program_pages_at(const struct rt_program *p, int node)
{
	return p->backend->pages_at ? p->backend->pages_at(p, node) : NAN;
}

json_t *rt_program_report(const struct rt_program *p)
{
	json_t *doc = json_object();

	json_object_set_new(doc, "device", json_string(p->backend->name));
	json_object_set_new(doc, "threads", json_integer(p->threads));
	json_object_set_new(doc, "warnings", json_array());
	p->backend->report(p, doc);
	if (p->pipeline)
		json_object_set_new(doc, "pipeline", rt_pipeline_report(p->pipeline));
	if (p->pipeline && !p->backend->host_memory) /* the stage waits on the device */
		json_object_set_new(json_object_get(doc, "pipeline"), "waited_s", json_null());
	json_object_set_new(doc, "parameters", json_integer(rt_program_parameters(p)));
	json_object_set_new(doc, "flops_per_step", gt_json_real(rt_program_flops(p)));
	json_object_set_new(doc, "bytes_per_step", gt_json_real(call_bytes(p)));
	json_object_set_new(doc, "planned_bytes", json_integer((json_int_t)rt_program_planned_bytes(p)));
	json_object_set_new(doc, "unplanned_bytes", json_integer((json_int_t)p->plan.unplanned_bytes));
	json_object_set(doc, "passes", p->shapes[0].did);
	json_object_set_new(doc, "plan", rt_plan_memory(largest(p)));
	if (p->n_shapes > 1)
		json_object_set_new(doc, "shapes", shapes(p));
	json_object_set_new(doc, "ops", op_rows(p));
	if (p->opt.debug.profile && p->n_kernels)
		json_object_set_new(doc, "kernels", kernel_rows(p));
	return doc;
}
