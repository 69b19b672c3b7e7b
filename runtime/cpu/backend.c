/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend: memory of a program, and its part of the report. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include "runtime/cpu/conv.h"
#include "runtime/cpu/run.h"

static int check(const struct rt_options *o, struct gt_err *err)
{
	if (o->precision.fp8.use)
		return gt_fail(err, EINVAL, "fp8 needs an NVIDIA GPU from sm_89 on: the CPU multiplies f32, bf16 or f16");
	if (o->precision.no_master)
		return gt_fail(err, EINVAL, "parameters without f32 values need the cuda device with amp in bf16 or fp8");
	if (o->attention_by != RT_ATTENTION_FASTEST)
		return gt_fail(err, EINVAL, "a choice of attention kernels needs the cuda device with bf16, f16 or fp8");
	if (o->precision.tf32)
		return gt_fail(err, EINVAL, "tf32 needs an NVIDIA GPU: the CPU multiplies f32 or bf16");
	return 0;
}

static int cpu_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state = gt_xcalloc(1, sizeof(*s));
	int r = rt_cpu_open(&s->cpu, p->opt.threads, err);

	p->threads = s->cpu.threads;
	return r;
}

static size_t plan_scratch(void *state, const struct rt_call *c)
{
	const struct rt_cpu_kernel *k = rt_cpu_kernels[c->op->id];
	const struct rt_cpu_state *s = state;

	return k && k->scratch ? k->scratch(c, s->cpu.threads) : 0;
}

static uint64_t plan_bytes(const struct rt_program *p)
{
	return rt_arena_bytes(p->plan.arena_bytes) + rt_run_shared_bytes(p);
}

/* A piece is copied out of the values of the whole tensor. */
static void init_param(struct rt_program *p, struct rt_node *n)
{
	struct rt_node whole = *n;
	gt_autofree float *values = NULL;
	int64_t lo, hi;

	if (!n->piece_unit) {
		rt_run_init_param(n, n->data, p->opt.seed, p->threads);
		return;
	}
	values = gt_xcalloc((size_t)rt_shape_elements(&n->whole), sizeof(float));
	whole.shape = n->whole;
	rt_run_init_param(&whole, values, p->opt.seed, p->threads);
	rt_part(rt_shape_elements(&n->whole), n->piece_unit, p->ranks.team, p->ranks.index, &lo, &hi);
	memcpy(n->data, values + lo, (size_t)(hi - lo) * sizeof(float));
}

static void init_params(struct rt_program *p)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];

		if (n->absent)
			continue;
		if (n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER)
			init_param(p, n);
		else if (n->role == RT_ROLE_STATE || n->role == RT_ROLE_CACHE)
			memset(n->data, 0, n->bytes);
	}
}

/* Waits until all ranks have written their pieces of the parameters. After that this rank may gather them. */
static int pieces_ready(struct rt_program *p, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;

	return p->ranks.stage >= 3 ? rt_ddp_rendezvous(s->ddp, err) : 0;
}

static int build(struct rt_program *p, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;
	int r = rt_arena_map(&s->arena, rt_run_arena_bytes(p), !p->opt.memory.no_huge_pages, p->threads, err);

	if (r)
		return r;
	if (p->opt.ranks.comm) {
		r = rt_ddp_new(&p->opt, &p->ranks, &s->cpu, p->plan.buckets, p->plan.n_buckets, p->plan.window_bytes, &s->ddp, err);
		if (r)
			return r;
	}
	r = rt_groups_new(&p->opt, p->shapes, p->n_shapes, s->cpu.threads, &s->groups, err);
	if (r)
		return r;
	p->base = s->arena.base;
	p->window = s->ddp ? rt_ddp_base(s->ddp) : NULL;
	rt_run_place(p);
	init_params(p);
	p->stale = true;
	return pieces_ready(p, err);
}

static void cpu_free(struct rt_program *p)
{
	struct rt_cpu_state *s = p->state;

	if (!s)
		return;
	rt_groups_free(s->groups);
	rt_ddp_free(s->ddp);
	rt_arena_unmap(&s->arena);
	free(s);
}

/* ---- tensors ---- */
/* With options.ranks.gather only rank 0 has the optimizer state. */
static const void *current(const struct rt_program *p, const struct rt_node *n)
{
	const struct rt_cpu_state *s = p->state;

	return p->ranks.gather && n->role == RT_ROLE_STATE ? rt_ddp_at_rank_0(s->ddp, n) : n->data;
}

static int get(const struct rt_program *p, const struct rt_node *n, void *out, struct gt_err *err)
{
	const struct rt_cpu_state *s = p->state;
	char *to = out;

	(void)err;
	if (!n->piece_unit)
		memcpy(to, current(p, n), rt_node_bytes(n));
	for (int i = 0; n->piece_unit && i < p->ranks.team; i++) {
		uint64_t bytes = 0;
		const void *piece = rt_ddp_piece(s->ddp, n, i, &bytes);

		memcpy(to, piece, bytes);
		to += bytes;
	}
	return 0;
}

static int put(struct rt_program *p, struct rt_node *n, const void *in, struct gt_err *err)
{
	const struct rt_cpu_state *s = p->state;
	uint64_t bytes = n->piece_unit ? 0 : rt_node_bytes(n);
	const char *from = in;

	(void)err;
	for (int i = 0; n->piece_unit && i <= p->ranks.index; i++) {
		from += bytes;
		rt_ddp_piece(s->ddp, n, i, &bytes);
	}
	memcpy(n->data, from, bytes);
	p->stale = true;
	return 0;
}

static void fill(struct rt_program *p, void *at, int byte, size_t bytes)
{
	(void)p;
	memset(at, byte, bytes);
}

/* Returns whether all elements are finite. In reduced-precision types, infinity and NaN have an exponent of all ones. */
static bool finite_low(const uint16_t *x, int64_t count, unsigned exponent)
{
	for (int64_t i = 0; i < count; i++)
		if ((x[i] & exponent) == exponent)
			return false;
	return true;
}

static bool all_finite(struct rt_program *p, const struct rt_node *n)
{
	int64_t count = rt_shape_elements(&n->shape);
	const float *x = n->data;

	(void)p;
	if (n->role == RT_ROLE_SCRATCH)
		return true;
	if (n->dtype == RT_BF16 || n->dtype == RT_F16)
		return finite_low(n->data, count, n->dtype == RT_BF16 ? 0x7f80 : 0x7c00);
	for (int64_t i = 0; n->dtype == RT_F32 && i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

static int restart(struct rt_program *p, struct gt_err *err)
{
	struct rt_cpu_state *s = p->state;

	if (s->ddp)
		rt_ddp_clear_residual(s->ddp);
	return pieces_ready(p, err);
}

/* ---- report ---- */
static uint64_t bytes(const struct rt_program *p)
{
	const struct rt_cpu_state *s = p->state;

	return s->arena.bytes + (s->ddp ? rt_ddp_bytes(s->ddp) : 0) + (s->groups ? rt_groups_bytes(s->groups) : 0);
}

#define NODES	1024

/* Pages by NUMA node, for example { "0": 512, "1": 512 }. */
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

	rt_memory_nodes(a->base, a->bytes, on, NODES);
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

/* Pages by kind of tensor, for example { "weights": { "0": 300 }, … }. */
static json_t *pages_by_kind(const struct rt_program *p)
{
	static const char *const kinds[] = { "weights", "activations", "gradients", "optimizer" };
	json_t *doc = json_object();

	for (size_t k = 0; k < GT_ARRAY_SIZE(kinds); k++) {
		unsigned on[NODES] = { 0 };

		for (int i = 0; i < p->plan.ir.n_nodes; i++) {
			const struct rt_node *n = p->plan.ir.nodes[i];

			if (n->data && n->first >= 0 && n->storage == n && gt_streq(kind_of(n), kinds[k]))
				rt_memory_nodes(n->data, n->bytes, on, NODES);
		}
		json_object_set_new(doc, kinds[k], by_node(on));
	}
	return doc;
}

/* Threads of the team by their current NUMA node, for example { "0": 2 }. */
static json_t *threads_on_node(const struct rt_program *p)
{
	unsigned on[NODES] = { 0 };

#pragma omp parallel num_threads(p->threads)
	{
		unsigned cpu = 0, node = 0;

		if (getcpu(&cpu, &node) == 0 && node < NODES) {
#pragma omp atomic
			on[node]++;
		}
	}
	return by_node(on);
}

static double pages_at(const struct rt_program *p, int node)
{
	const struct rt_cpu_state *s = p->state;
	unsigned on[NODES] = { 0 }, sampled = rt_memory_nodes(s->arena.base, s->arena.bytes, on, NODES);

	if (s->ddp)
		sampled += rt_memory_nodes(rt_ddp_base(s->ddp), p->plan.window_bytes, on, NODES);
	return sampled && node >= 0 && node < NODES ? (double)on[node] / sampled : NAN;
}

/* Adds the page sizes that the kernel reports. It may ignore the advice to use huge pages. */
static void put_pages(const struct rt_arena *a, json_t *doc)
{
	double fraction = rt_arena_huge_fraction(a);
	char text[64] = "small pages";

	if (a->huge_pages && isnan(fraction))
		snprintf(text, sizeof(text), "huge pages advised");
	else if (fraction > 0.99)
		snprintf(text, sizeof(text), "huge pages");
	else if (fraction > 0)
		snprintf(text, sizeof(text), "%.0f %% huge pages", fmax(100 * fraction, 1));
	else if (a->huge_pages)
		snprintf(text, sizeof(text), "small pages, although huge pages were advised");
	json_object_set_new(doc, "pages", json_string(text));
}

/* Attention stores the reduced-precision type but multiplies in f32. */
static bool multiplies(const struct rt_call *c, enum rt_dtype type)
{
	return !c->op->storage_only && rt_cpu_gemm_isa(type);
}

/* Adds the memory of this rank by kind. Gradients: buckets, and sums that outlive a batch. */
static json_t *ddp_report(const struct rt_program *p)
{
	const struct rt_cpu_state *s = p->state;
	uint64_t parameters = 0, optimizer = 0, gradients = p->plan.gradient_bytes;
	json_t *doc = rt_ddp_report(s->ddp);

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->first < 0 || n->storage != n)
			continue;
		parameters += n->role == RT_ROLE_PARAM ? rt_node_bytes(n) : 0;
		optimizer += n->role == RT_ROLE_STATE ? rt_node_bytes(n) : 0;
		gradients += n->sums && !n->shared ? rt_node_bytes(n) : 0;
	}
	json_object_set_new(doc, "parameter_bytes", json_integer((json_int_t)parameters));
	json_object_set_new(doc, "gradient_bytes", json_integer((json_int_t)gradients));
	json_object_set_new(doc, "optimizer_bytes", json_integer((json_int_t)optimizer));
	return doc;
}

static void report(const struct rt_program *p, json_t *doc)
{
	const char *const warnings[] = { rt_cpu_blas_warning(), rt_cpu_kernels_warning() };
	const struct rt_cpu_state *s = p->state;

	json_object_set_new(doc, "isa", json_string(rt_cpu_isa()));
	json_object_set_new(doc, "blas", gt_json_str(rt_cpu_blas()));
	put_pages(&s->arena, doc);
	json_object_set_new(doc, "placement", gt_json_str(s->arena.placement));
	json_object_set_new(doc, "pages_on_node", pages_on_node(&s->arena));
	json_object_set_new(doc, "pages_by_kind", pages_by_kind(p));
	json_object_set_new(doc, "threads_on_node", threads_on_node(p));
	if (s->ddp)
		json_object_set_new(doc, "ddp", ddp_report(p));
	if (s->groups)
		json_object_set_new(doc, "groups", rt_groups_report(s->groups));
	for (size_t i = 0; i < GT_ARRAY_SIZE(warnings); i++)
		if (warnings[i])
			json_array_append_new(json_object_get(doc, "warnings"), json_string(warnings[i]));
}

const struct rt_backend rt_backend_cpu = {
	.device = RT_CPU,
	.name = "cpu",
	.track = "calls, each run by the whole team",
	.host_memory = true,
	.target = { .relu_bits = true, .winograd_flops = rt_cpu_winograd_flops, .multiplies_by = rt_cpu_gemm_isa },
	.check = check,
	.open = cpu_open,
	.plan_scratch = plan_scratch,
	.plan_bytes = plan_bytes,
	.build = build,
	.free = cpu_free,
	.step = rt_cpu_step,
	.eval = rt_cpu_eval,
	.run_call = rt_cpu_run_call,
	.get = get,
	.put = put,
	.fill = fill,
	.finite = all_finite,
	.restart = restart,
	.bytes = bytes,
	.pages_at = pages_at,
	.multiplies = multiplies,
	.report = report,
};
