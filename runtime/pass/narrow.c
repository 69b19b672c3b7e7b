/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16 and f16 on the CUDA device: every tensor between the ops is of that type, not only the operands of products, because a
 * step there is bound by how many bytes it moves. Parameters stay f32, and the products read copies that each update writes
 * beside them; or, with no_master, they are bf16 alone, and updates round up or down at random, so that small ones are not lost
 * on average.
 * Gradients of parameters, statistics of norms, losses and all sums stay f32.
 */
#include "runtime/pass/rewrite.h"

struct narrow {
	struct rt_plan *plan;
	enum rt_dtype low; /* RT_BF16, RT_F16 */
	int tensors, copies, casts;
};

static bool leaf(const struct rt_node *n)
{
	return n->role == RT_ROLE_INPUT || n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER || n->role == RT_ROLE_STATE;
}

static struct rt_node *new_node(struct narrow *a, enum rt_role role, enum rt_dtype type, const struct rt_node *like)
{
	gt_autofree char *name = gt_xasprintf("%s %s", rt_dtype_name(type), like->name);

	return rt_ir_node(&a->plan->ir, role, type, &like->shape, name);
}

static struct rt_node *cast(struct narrow *a, struct rt_node *n, enum rt_dtype type, int at)
{
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	c->op = rt_ops[RT_OP_CAST];
	c->phase = a->plan->ir.calls[at]->phase;
	c->in[0] = n;
	c->out[0] = new_node(a, RT_ROLE_VALUE, type, n);
	rt_plan_insert(a->plan, at, c);
	a->casts++;
	return c->out[0];
}

/* The low copy of a parameter, or of an input from its first reader on. */
static struct rt_node *low_copy(struct narrow *a, struct rt_node *n, int at)
{
	struct rt_node **low = &a->plan->low[n->id];

	if (!*low && n->role == RT_ROLE_PARAM) {
		*low = new_node(a, RT_ROLE_STATE, a->low, n);
		a->copies++;
	} else if (!*low) {
		*low = cast(a, n, a->low, at);
	}
	return *low;
}

/* The sum of f32 gradients of parameters is f32. */
static bool adds_f32(const struct rt_call *c)
{
	return c->op->keeps_type && !leaf(c->in[0]) && c->in[0]->dtype == RT_F32;
}

static bool reads_as_is(const struct rt_call *c, int k)
{
	return c->op->any_in >> k & 1 || (c->op->master_in >> k & 1 && leaf(c->in[k]));
}

/* A call cannot add to what its first writer made of another type: it writes a tensor of its own, which a sum adds behind it. */
static void part_sums(struct narrow *a, int at)
{
	struct rt_call *c = a->plan->ir.calls[at];

	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->out[k];
		struct rt_call *sum;

		if (!(c->attr.accumulate >> k & 1) || !n || (n->dtype == RT_F32) == (c->op->f32_out >> k & 1))
			continue;
		sum = gt_xcalloc(1, sizeof(*sum));
		sum->op = rt_ops[RT_OP_ADD];
		sum->phase = c->phase;
		sum->origin = c->origin;
		sum->in[0] = sum->out[0] = n;
		sum->in[1] = c->out[k] = new_node(a, n->role, RT_F32, n);
		c->attr.accumulate &= ~(1u << k);
		rt_plan_insert(a->plan, at + 1, sum);
	}
}

static void set_outputs(struct narrow *a, const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->out[k];

		if (!n || leaf(n) || n->role == RT_ROLE_SCRATCH || n->dtype != RT_F32 || c->op->f32_out >> k & 1 ||
		    adds_f32(c) || n == a->plan->loss)
			continue;
		if (c->attr.accumulate >> k & 1) /* its first writer decided */
			continue;
		n->dtype = a->low;
		a->tensors++;
	}
}

/* Inputs of call `at` in the type that the call wants; returns where the call is now. */
static int set_inputs(struct narrow *a, int at)
{
	struct rt_call *c = a->plan->ir.calls[at];
	bool f32 = adds_f32(c);

	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = c->in[k];
		enum rt_dtype want = f32 || c->op->f32_in >> k & 1 ? RT_F32 : a->low;
		int before = a->plan->ir.n_calls;

		if (!n || n->dtype == want || (n->dtype != RT_F32 && n->dtype != a->low) || reads_as_is(c, k))
			continue;
		c->in[k] = leaf(n) && want != RT_F32 ? low_copy(a, n, at) : cast(a, n, want, at);
		at += a->plan->ir.n_calls - before;
	}
	return at;
}

static bool wants_f32(const struct rt_call *c, const struct rt_node *n)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->in[k] == n && (c->op->f32_in >> k & 1 || adds_f32(c)))
			return true;
	return false;
}

/* Without f32 values beside them: parameters that nobody reads in f32. */
static int narrow_params(struct rt_plan *p)
{
	int n = 0;

	for (int i = 0; i < p->n_graph_nodes; i++) {
		struct rt_node *param = p->ir.nodes[i];
		bool low = param->role == RT_ROLE_PARAM && rt_plan_uses(p, param) > 0;

		for (int k = 0; low && k < p->ir.n_calls && p->ir.calls[k]->phase < RT_PHASE_GRADIENT; k++)
			low = !wants_f32(p->ir.calls[k], param);
		if (low) {
			param->dtype = RT_BF16;
			n++;
		}
	}
	return n;
}

static int narrow(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct narrow a = { .plan = p, .low = p->opt->precision.amp };
	int params = 0;

	if (p->opt->device != RT_CUDA || p->opt->precision.amp == RT_F32)
		return 0;
	if (p->opt->precision.no_master)
		params = narrow_params(p);
	p->low = gt_xcalloc((size_t)p->n_graph_nodes, sizeof(*p->low));
	for (int i = 0; i < p->ir.n_calls; i++) {
		if (p->ir.calls[i]->phase >= RT_PHASE_GRADIENT)
			continue;
		i = set_inputs(&a, i);
		part_sums(&a, i);
		set_outputs(&a, p->ir.calls[i]);
	}
	gt_buf_printf(did, "%d tensors in %s, %d copies of parameters beside their f32 values, %d casts", a.tensors,
		      rt_dtype_name(a.low), a.copies, a.casts);
	if (params)
		gt_buf_printf(did, "; %d parameters in bf16 alone, rounded at random", params);
	return 0;
}

const struct rt_pass rt_pass_narrow = { .name = "narrow", .run = narrow };

struct rt_node *rt_plan_low(const struct rt_plan *p, const struct rt_node *n)
{
	return p->low && n->id < p->n_graph_nodes ? p->low[n->id] : NULL;
}
