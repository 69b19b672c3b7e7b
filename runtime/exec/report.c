/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is, as a document. */
#include <math.h>
#include <sched.h>
#include "runtime/cuda/engine.h"

static const char *const phase_names[] = { "forward", "backward", "gradient", "update" };

static double plan_flops(const struct rt_plan *plan)
{
	double flops = 0;

	for (int i = 0; i < plan->ir.n_calls; i++)
		if (plan->ir.calls[i]->op->flops)
			flops += plan->ir.calls[i]->op->flops(plan->ir.calls[i]);
	return flops;
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
	int calls; /* of the shape in use */
	double flops, low, eight, bytes, seconds;
};

/* Flops of products that are made in a low type. On the CPU that takes a unit for it, and attention only stores it there. */
static double low_flops(const struct rt_plan *plan, const struct rt_call *c, double flops)
{
	enum rt_dtype type = c->in[0] ? c->in[0]->dtype : RT_F32;

	if (!c->op->low || type == RT_F32)
		return 0;
	return plan->engine || (c->op->id != RT_OP_ATTENTION && rt_cpu_low_products(type)) ? flops : 0;
}

/* What the calls of one op come to in one plan, so many times. */
static void add_calls(const struct rt_plan *plan, enum rt_op_id id, enum rt_phase phase, double times, struct row *ret)
{
	for (int i = 0; i < plan->ir.n_calls; i++) {
		const struct rt_call *c = plan->ir.calls[i];
		double flops = c->op->flops ? times * c->op->flops(c) : 0;

		if (c->op->id != id || c->phase != phase)
			continue;
		ret->calls++;
		ret->name = c->attr.user ? c->attr.user->name : ret->name;
		ret->flops += flops;
		ret->low += low_flops(plan, c, flops);
		ret->eight += c->op->low && (c->in[0]->dtype == RT_E4M3 || c->in[0]->dtype == RT_E5M2) ? flops : 0;
		ret->bytes += times * rt_call_bytes(c);
		ret->seconds += c->seconds;
	}
}

static bool of_each_batch(enum rt_phase phase)
{
	return phase == RT_PHASE_FORWARD || phase == RT_PHASE_BACKWARD;
}

/* How often a step ran the calls of a phase in shape s: forward and backward once per batch, the rest once, with the last one. */
static double runs_per_step(const struct rt_program *p, int s, enum rt_phase phase)
{
	double steps = (double)steps_profiled(p);
	bool each = of_each_batch(phase);

	if (steps > 0)
		return (double)(each ? p->shapes[s].batches_profiled : p->shapes[s].steps_profiled) / steps;
	return s == p->shape ? each ? p->opt.accum : 1 : 0;
}

/* Per step: the mean over the steps of all shapes. */
static json_t *op_row(const struct rt_program *p, enum rt_op_id id, enum rt_phase phase)
{
	double steps = (double)steps_profiled(p);
	struct row row = { .name = rt_ops[id]->name };
	json_t *doc;

	for (int s = 0; s < p->n_shapes; s++) {
		row.calls = 0;
		add_calls(&p->shapes[s], id, phase, runs_per_step(p, s, phase), &row);
	}
	if (!row.calls)
		return NULL;
	doc = json_pack("{s:s, s:s, s:i, s:o, s:o}", "op", row.name, "phase", phase_names[phase], "calls", row.calls, "flops",
			gt_json_real(row.flops), "bytes", gt_json_real(row.bytes));
	json_object_set_new(doc, "low_flops", gt_json_real(row.low));
	if (row.eight > 0)
		json_object_set_new(doc, "fp8_flops", gt_json_real(row.eight));
	if (p->opt.debug.profile && steps > 0)
		json_object_set_new(doc, "seconds", gt_json_real(row.seconds / steps));
	return doc;
}

static json_t *op_rows(const struct rt_program *p)
{
	json_t *rows = json_array();

	for (int phase = RT_PHASE_FORWARD; phase <= RT_PHASE_UPDATE; phase++)
		for (int id = 0; id < RT_N_OPS; id++) {
			json_t *row = op_row(p, (enum rt_op_id)id, (enum rt_phase)phase);

			if (row)
				json_array_append_new(rows, row);
		}
	return rows;
}

/* Flops and bytes of an op that this kernel does alone; one of several has no share of them that could be told. */
static void put_work(const struct rt_program *p, const struct rt_kernel *k, json_t *doc)
{
	struct row row = { .name = k->name };

	for (int s = 0; s < p->n_shapes; s++)
		add_calls(&p->shapes[s], k->call->op->id, k->call->phase, runs_per_step(p, s, k->call->phase), &row);
	for (int i = 0; i < p->n_kernels; i++)
		if (&p->kernels[i] != k && p->kernels[i].call && p->kernels[i].call->op == k->call->op &&
		    p->kernels[i].call->phase == k->call->phase)
			return;
	json_object_set_new(doc, "flops", gt_json_real(row.flops));
	json_object_set_new(doc, "low_flops", gt_json_real(row.low));
	if (row.eight > 0)
		json_object_set_new(doc, "fp8_flops", gt_json_real(row.eight));
	json_object_set_new(doc, "bytes", gt_json_real(row.bytes));
}

static int by_seconds(const void *a, const void *b)
{
	const struct rt_kernel *x = *(const struct rt_kernel *const *)a, *y = *(const struct rt_kernel *const *)b;

	return (y->seconds > x->seconds) - (y->seconds < x->seconds);
}

/* Per step, what takes longest first. */
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

#define NODES	1024

/* { "0": 512, "1": 512 } */
static json_t *by_node(const unsigned *on)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < NODES; i++)
		if (on[i]) {
			char node[12];

			snprintf(node, sizeof(node), "%u", i);
			json_object_set_new(o, node, json_integer(on[i]));
		}
	return o;
}

static json_t *pages_on_node(const struct rt_arena *a)
{
	unsigned on[NODES] = { 0 };

	rt_memory_look(a->base, a->bytes, on, NODES);
	return by_node(on);
}

static const char *kind_of(const struct rt_node *n)
{
	if (n->role == RT_ROLE_PARAM)
		return "weights";
	if (n->role == RT_ROLE_STATE)
		return "optimizer";
	return n->shared || n->role == RT_ROLE_GRADIENT ? "gradients" : "activations";
}

/* { "weights": { "0": 300 }, … }: the same by what lies there. */
static json_t *pages_by_kind(const struct rt_program *p)
{
	static const char *const kinds[] = { "weights", "activations", "gradients", "optimizer" };
	json_t *doc = json_object();

	for (size_t k = 0; k < GT_ARRAY_SIZE(kinds); k++) {
		unsigned on[NODES] = { 0 };

		for (int i = 0; i < p->plan.ir.n_nodes; i++) {
			const struct rt_node *n = p->plan.ir.nodes[i];

			if (n->data && n->first >= 0 && n->storage == n && gt_streq(kind_of(n), kinds[k]))
				rt_memory_look(n->data, n->bytes, on, NODES);
		}
		json_object_set_new(doc, kinds[k], by_node(on));
	}
	return doc;
}

/* { "0": 2 }: on which nodes the threads of the team run at this moment. */
static json_t *threads_on_node(const struct rt_program *p)
{
	unsigned on[NODES] = { 0 };

#pragma omp parallel num_threads(p->cpu.threads)
	{
		unsigned cpu = 0, node = 0;

		if (getcpu(&cpu, &node) == 0 && node < NODES) {
#pragma omp atomic
			on[node]++;
		}
	}
	return by_node(on);
}

double rt_program_pages_at(const struct rt_program *p, int node)
{
	unsigned on[NODES] = { 0 }, seen = rt_memory_look(p->arena.base, p->arena.bytes, on, NODES);

	if (p->ddp)
		seen += rt_memory_look(rt_ddp_base(p->ddp), p->plan.window_bytes, on, NODES);
	return seen && node >= 0 && node < NODES ? (double)on[node] / seen : NAN;
}

/* [{ "planned_bytes", "flops_per_step" }]: what each batch shape would need by itself. */
static json_t *shapes(const struct rt_program *p)
{
	json_t *list = json_array();

	for (int s = 0; s < p->n_shapes; s++)
		json_array_append_new(list, json_pack("{s:I, s:o}", "planned_bytes", (json_int_t)p->shapes[s].arena_bytes,
						      "flops_per_step", gt_json_real(plan_flops(&p->shapes[s]))));
	return list;
}

/* What is there, not what was asked for: the kernel takes advice and need not follow it. */
static void put_pages(const struct rt_arena *a, json_t *doc)
{
	double share = rt_arena_huge_share(a);
	char text[64] = "small pages";

	if (a->huge_pages && isnan(share))
		snprintf(text, sizeof(text), "huge pages advised");
	else if (share > 0.99)
		snprintf(text, sizeof(text), "huge pages");
	else if (share > 0)
		snprintf(text, sizeof(text), "%.0f %% huge pages", fmax(100 * share, 1));
	else if (a->huge_pages)
		snprintf(text, sizeof(text), "small pages, huge ones were advised");
	json_object_set_new(doc, "pages", json_string(text));
}

json_t *rt_program_report(const struct rt_program *p)
{
	json_t *doc = json_object(), *warnings = json_array();
	const char *const found[] = { rt_cpu_blas_warning(), rt_cpu_kernels_warning() };

	json_object_set_new(doc, "device", json_string("cpu"));
	json_object_set_new(doc, "isa", json_string(rt_cpu_isa()));
	json_object_set_new(doc, "blas", gt_json_str(rt_cpu_blas()));
	json_object_set_new(doc, "threads", json_integer(p->cpu.threads));
	put_pages(&p->arena, doc);
	json_object_set_new(doc, "placement", gt_json_str(p->arena.placement));
	json_object_set_new(doc, "pages_on_node", pages_on_node(&p->arena));
	if (!p->cuda) {
		json_object_set_new(doc, "pages_by_kind", pages_by_kind(p));
		json_object_set_new(doc, "threads_on_node", threads_on_node(p));
	}
	json_object_set_new(doc, "parameters", json_integer(rt_program_parameters(p)));
	json_object_set_new(doc, "flops_per_step", gt_json_real(rt_program_flops(p)));
	json_object_set_new(doc, "bytes_per_step", gt_json_real(call_bytes(p)));
	json_object_set_new(doc, "planned_bytes", json_integer((json_int_t)rt_program_planned_bytes(p)));
	json_object_set_new(doc, "unplanned_bytes", json_integer((json_int_t)p->plan.unplanned_bytes));
	json_object_set(doc, "passes", p->shapes[0].did);
	if (p->n_shapes > 1)
		json_object_set_new(doc, "shapes", shapes(p));
	if (p->ddp)
		json_object_set_new(doc, "ddp", rt_ddp_report(p->ddp));
	for (size_t i = 0; i < GT_ARRAY_SIZE(found); i++)
		if (found[i])
			json_array_append_new(warnings, json_string(found[i]));
	json_object_set_new(doc, "warnings", warnings);
	json_object_set_new(doc, "ops", op_rows(p));
	if (p->opt.debug.profile && p->n_kernels)
		json_object_set_new(doc, "kernels", kernel_rows(p));
	if (p->cuda)
		rt_engine_report(p, doc);
	return doc;
}
