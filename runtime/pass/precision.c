/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision in bf16 or f16. The ops declare which of their slots may have reduced precision and which are f32 (struct
 * rt_op). The device selects the policy (struct rt_target, reduced_tensors):
 *
 * Operands: the operands of matrix products, convolutions and attention (those of PyTorch's autocast for the CPU) are
 * rounded, once per tensor and step. Programs that do not train round parameters only after they change. The backward
 * products read the tensors that the forward products read, so these are kept in reduced precision. All other tensors
 * stay f32: parameters (the master weights), results, norms, losses and updates. Runs before activation checkpointing,
 * so that recomputed calls read the same tensors.
 *
 * Tensors: each tensor between ops has reduced precision, because a step on a GPU is bound by memory traffic.
 * Parameters stay f32, and products read copies that each update writes. With no_master, parameters are bf16 only, and
 * updates use stochastic rounding. Gradients of parameters, statistics of norms, losses and sums are f32. Runs after
 * fp8, which has converted its products.
 *
 * 3x3 convolutions stay f32 where Winograd's algorithm (pass/winograd.c) is faster than a direct convolution in reduced
 * precision. Winograd in bf16 would be faster still, but its transforms magnify rounding errors. By the sums of squares
 * of the coefficients, the error of F(4x4,3x3) is 4.8 times that of plain bf16 products: 1.0 % of the result's root
 * mean square instead of 0.24 %. That is less accuracy than bf16 promises. F(2x2,3x3) has 1.7 times the error of plain
 * products. It needs 16 products per 4 outputs instead of 36 per 16, and nearly twice the transforms per output. In
 * bf16 it is therefore no faster than F(4x4,3x3) in f32.
 */
#include "runtime/pass/rewrite.h"

struct precision {
	struct rt_plan *plan;
	enum rt_dtype type;
	struct rt_node **reduced_of; /* current content of each tensor in reduced precision, by id, or NULL */
	int n_nodes, tensors, copies, casts, products, attention, tiles;
};

static bool leaf(const struct rt_node *n)
{
	return n->role == RT_ROLE_INPUT || n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER || n->role == RT_ROLE_STATE;
}

static bool reduced_tensors(const struct rt_plan *p)
{
	return p->opt->precision.amp != RT_F32 && p->target->reduced_tensors;
}

static struct rt_node *of_type(struct precision *a, enum rt_role role, enum rt_dtype type, const struct rt_node *like)
{
	return rt_node_like(a->plan, role, type, like, rt_dtype_name(type));
}

static struct rt_node *cast(struct precision *a, struct rt_node *n, enum rt_dtype type, int at)
{
	struct rt_call *c = rt_emit_before(a->plan, at, RT_OP_CAST, a->plan->ir.calls[at]->phase);

	c->run_once = !rt_plan_trains(a->plan) && rt_plan_is_constant(a->plan, n);
	c->in[0] = n;
	a->casts++;
	return c->out[0] = of_type(a, RT_ROLE_VALUE, type, n);
}

/* Returns the reduced-precision copy of n. Updates write the copy of a parameter; for other tensors a cast is inserted
 * before the first reader. */
static struct rt_node *reduced_copy(struct precision *a, struct rt_node *n, int at)
{
	struct rt_node **copy = &a->reduced_of[n->id];

	if (!*copy && a->plan->target->reduced_tensors && n->role == RT_ROLE_PARAM) {
		*copy = of_type(a, RT_ROLE_STATE, a->type, n);
		a->copies++;
	} else if (!*copy) {
		*copy = cast(a, n, a->type, at);
	}
	return *copy;
}

/* Returns whether the call sums f32 gradients of parameters. Such a sum is f32. */
static bool sums_f32(const struct rt_call *c)
{
	return c->op->keeps_type && !leaf(c->in[0]) && c->in[0]->dtype == RT_F32;
}

/* Returns the type in which the call reads in[k]; the tensor's own type if any is allowed. */
static enum rt_dtype input_type(const struct precision *a, const struct rt_call *c, int k)
{
	const struct rt_node *n = c->in[k];

	if (!a->plan->target->reduced_tensors)
		return c->op->reduced >> k & 1 && n->dtype == RT_F32 ? a->type : n->dtype;
	if ((n->dtype != RT_F32 && n->dtype != a->type) || c->op->any_in >> k & 1 || (c->op->master_in >> k & 1 && leaf(n)))
		return n->dtype;
	return sums_f32(c) || c->op->f32_in >> k & 1 ? RT_F32 : a->type;
}

/* Returns the new position of call `at`. */
static int set_inputs(struct precision *a, int at)
{
	struct rt_call *c = a->plan->ir.calls[at];
	enum rt_dtype want[RT_MAX_IO];

	for (int k = 0; k < RT_MAX_IO; k++)
		want[k] = c->in[k] ? input_type(a, c, k) : RT_F32;
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->in[k];
		int before = a->plan->ir.n_calls;
		bool use_copy;

		if (!n || n->dtype == want[k])
			continue;
		use_copy = want[k] == a->type && (leaf(n) || !a->plan->target->reduced_tensors);
		c->in[k] = use_copy ? reduced_copy(a, n, at) : cast(a, n, want[k], at);
		at += a->plan->ir.n_calls - before;
	}
	return at;
}

/* Operands policy: returns whether the call keeps f32 operands, because it has no products or is a Winograd convolution. */
static bool keeps_f32(struct precision *a, const struct rt_call *c)
{
	double (*tiles)(const struct rt_call *, enum rt_dtype) = a->plan->target->winograd_flops;

	if (!a->plan->opt->debug.no_winograd && rt_is_conv(c) && tiles && tiles(c, a->type) > 0) {
		a->tiles++;
		return true;
	}
	a->products += c->op->reduced != 0;
	a->attention += c->op->storage_only;
	return false;
}

/* Invalidates the rounded copies of the call's outputs, because gradients are added to in place. */
static void invalidate_outputs(struct precision *a, const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->out[k] && c->out[k]->id < a->n_nodes)
			a->reduced_of[c->out[k]->id] = NULL;
}

/* A call cannot add to a tensor whose first writer gave it another type. It writes a separate tensor, and a sum is
 * inserted after it. */
static void separate_sums(struct precision *a, int at)
{
	struct rt_call *c = a->plan->ir.calls[at];

	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->out[k];
		struct rt_call *sum;

		if (!(c->attr.accumulate >> k & 1) || !n || (n->dtype == RT_F32) == (c->op->f32_out >> k & 1))
			continue;
		sum = rt_emit_before(a->plan, at + 1, RT_OP_ADD, c->phase);
		sum->origin = c->origin;
		sum->in[0] = sum->out[0] = n;
		sum->in[1] = c->out[k] = of_type(a, n->role, RT_F32, n);
		c->attr.accumulate &= ~(1u << k);
	}
}

static void set_outputs(struct precision *a, const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->out[k];

		if (!n || leaf(n) || n->role == RT_ROLE_SCRATCH || n->dtype != RT_F32 || c->op->f32_out >> k & 1 ||
		    sums_f32(c) || n == a->plan->loss)
			continue;
		if (c->attr.accumulate >> k & 1) /* the first writer has set the type */
			continue;
		n->dtype = a->type;
		a->tensors++;
	}
}

static bool wants_f32(const struct rt_call *c, const struct rt_node *n)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->in[k] == n && (c->op->f32_in >> k & 1 || sums_f32(c)))
			return true;
	return false;
}

/* Gives parameters that no call reads in f32 the type bf16, without f32 values. Returns their number. */
static int store_bf16_params(struct rt_plan *p)
{
	int n = 0;

	for (int i = 0; i < p->n_graph_nodes; i++) {
		struct rt_node *param = p->ir.nodes[i];
		bool bf16_only = param->role == RT_ROLE_PARAM && rt_plan_uses(p, param) > 0;

		for (int k = 0; bf16_only && k < p->ir.n_calls && p->ir.calls[k]->phase < RT_PHASE_GRADIENT; k++)
			bf16_only = !wants_f32(p->ir.calls[k], param);
		if (bf16_only) {
			param->dtype = RT_BF16;
			n++;
		}
	}
	return n;
}

static void report_operands(const struct precision *a, struct gt_buf *did)
{
	enum rt_dtype type = a->type;
	const char *products = a->plan->target->multiplies_by(type), *name = rt_dtype_name(type);

	gt_buf_printf(did, "%d products read %s after %d casts; ", a->products, name, a->casts);
	if (products)
		gt_buf_printf(did, "multiplied by %s, summed in f32%s", products,
			      a->attention ? "; products of attention in f32" : "");
	else
		gt_buf_puts(did, "this CPU cannot multiply it: storage only, products in f32, no faster than f32");
	if (a->tiles)
		gt_buf_printf(did, "; %d 3x3 convolutions stay f32: Winograd in f32 is faster than direct %s, and Winograd "
			      "in %s would be less accurate", a->tiles, name, name);
}


static void report_tensors(const struct precision *a, int params, struct gt_buf *did)
{
	gt_buf_printf(did, "%d tensors in %s, %d copies of f32 parameters, %d casts", a->tensors,
		      rt_dtype_name(a->type), a->copies, a->casts);
	if (params)
		gt_buf_printf(did, "; %d parameters in bf16 only, with stochastic rounding", params);
}

static int precision(struct rt_plan *p, struct gt_buf *did)
{
	struct precision a = { .plan = p, .type = p->opt->precision.amp, .n_nodes = p->ir.n_nodes };
	bool tensors = p->target->reduced_tensors;
	int params = p->opt->precision.no_master ? store_bf16_params(p) : 0;

	a.reduced_of = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(struct rt_node *));
	for (int i = 0; i < p->ir.n_calls; i++) {
		if (p->ir.calls[i]->phase >= RT_PHASE_GRADIENT)
			continue;
		if (tensors || !keeps_f32(&a, p->ir.calls[i]))
			i = set_inputs(&a, i);
		if (tensors) {
			separate_sums(&a, i);
			set_outputs(&a, p->ir.calls[i]);
		} else {
			invalidate_outputs(&a, p->ir.calls[i]);
		}
	}
	if (tensors)
		report_tensors(&a, params, did);
	else
		report_operands(&a, did);
	p->reduced = tensors ? a.reduced_of : NULL;
	if (!tensors)
		free(a.reduced_of);
	return 0;
}

static int operands(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	return p->opt->precision.amp == RT_F32 || p->target->reduced_tensors ? 0 : precision(p, did);
}

static int tensors(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	return reduced_tensors(p) ? precision(p, did) : 0;
}

const struct rt_pass rt_pass_amp = { .name = "amp", .run = operands }, rt_pass_narrow = { .name = "narrow", .run = tensors };

bool rt_becomes_reduced(const struct rt_plan *p, const struct rt_call *c, int slot)
{
	return reduced_tensors(p) && !c->op->keeps_type && !(c->op->f32_out >> slot & 1);
}

struct rt_node *rt_plan_reduced_copy(const struct rt_plan *p, const struct rt_node *n)
{
	return p->reduced && n->id < p->n_graph_nodes ? p->reduced[n->id] : NULL;
}
