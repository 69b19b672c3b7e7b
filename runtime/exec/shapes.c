/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program for batches of several shapes. Each shape has its own graph and plan, so that a short batch takes less
 * time. All plans share one arena of the size that the largest needs. Tensors that outlive a batch (parameters, buffers,
 * optimizer state, sums of gradients) have the same address in each plan (pass/memplan.c). Selecting a plan copies one
 * struct.
 */
#include <errno.h>
#include <string.h>
#include "runtime/exec/program.h"

static bool is_leaf(const struct rt_node *n)
{
	return n->role <= RT_ROLE_CACHE;
}

static int fail_different(const struct rt_node *a, const struct rt_node *b, struct gt_err *err)
{
	char sa[96], sb[96];

	return gt_fail(err, EINVAL, "%s %s in one graph of the program and %s %s in another: only the shapes of inputs, and "
		       "shapes that depend on them, may differ", a->name, rt_shape_format(&a->shape, sa, sizeof(sa)), b->name,
		       rt_shape_format(&b->shape, sb, sizeof(sb)));
}

/* Checks that both graphs have the same declarations in the same order. A node then has the same id in both. */
static int same_model(const struct rt_graph *a, const struct rt_graph *b, struct gt_err *err)
{
	if (a->ir.n_nodes != b->ir.n_nodes || a->ir.n_calls != b->ir.n_calls)
		return gt_fail(err, EINVAL, "one graph of the program has %d tensors, another %d: all graphs must be the "
			       "same model",
			       a->ir.n_nodes, b->ir.n_nodes);
	for (int i = 0; i < a->ir.n_nodes; i++) {
		const struct rt_node *x = a->ir.nodes[i], *y = b->ir.nodes[i];

		if (x->role != y->role || x->dtype != y->dtype ||
		    (is_leaf(x) && (!gt_streq(x->name, y->name) || (x->role != RT_ROLE_INPUT && !rt_same_shape(x, y)))))
			return fail_different(x, y, err);
	}
	return 0;
}

static const struct rt_node *next_persistent(const struct rt_plan *p, int *at)
{
	while (*at < p->ir.n_nodes) {
		const struct rt_node *n = p->ir.nodes[(*at)++];

		if (n->first >= 0 && n->storage == n && (n->shared || rt_is_persistent(n)))
			return n;
	}
	return NULL;
}

/* Checks that the plans agree on the addresses of shared tensors. */
static int same_memory(const struct rt_plan *a, const struct rt_plan *b, struct gt_err *err)
{
	const struct rt_node *x, *y;
	int i = 0, k = 0;

	do {
		x = next_persistent(a, &i);
		y = next_persistent(b, &k);
		if (!x != !y || (x && (x->offset != y->offset || x->bytes != y->bytes || x->shared != y->shared)))
			return gt_fail(err, EINVAL, "%s outlives a batch, but two plans give it different addresses",
				       x ? x->name : y->name);
	} while (x);
	return 0;
}

static const struct rt_node *next_constant(const struct rt_plan *p, int *at)
{
	while (*at < p->ir.n_nodes)
		if (p->ir.nodes[(*at)++]->constant)
			return p->ir.nodes[*at - 1];
	return NULL;
}

static bool same_constants(const struct rt_plan *a, const struct rt_plan *b)
{
	const struct rt_node *x, *y;
	int i = 0, k = 0;

	do {
		x = next_constant(a, &i);
		y = next_constant(b, &k);
		if (!x != !y || (x && (x->offset != y->offset || x->bytes != y->bytes || !gt_streq(x->name, y->name))))
			return false;
	} while (x);
	return true;
}

static int plan_one(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err)
{
	int segments = p->opt.memory.checkpoint, recomputed = p->opt.memory.recomputed;
	int r = rt_program_plan(p, g, out, err);

	if (r)
		return r;
	r = rt_program_fit(p, g, out, err);
	if (r)
		return r;
	p->opt.memory.checkpoint = segments; /* each shape is fitted separately */
	p->opt.memory.recomputed = recomputed;
	return 0;
}

int rt_program_plan_shapes(struct rt_program *p, const struct rt_graph *const *g, const struct rt_outputs *out, int n,
			   struct gt_err *err)
{
	p->shapes = gt_xcalloc((size_t)n, sizeof(*p->shapes));
	for (int i = 0; i < n; i++) {
		int r = i ? same_model(g[0], g[i], err) : 0;

		if (r)
			return r;
		r = plan_one(p, g[i], out[i], err);
		if (r)
			return r;
		p->shapes[p->n_shapes++] = p->plan;
		memset(&p->plan, 0, sizeof(p->plan));
		r = i ? same_memory(&p->shapes[0], &p->shapes[i], err) : 0;
		if (r && p->opt.precision.fp8.use) /* pass/fp8.c */
			return gt_fail(err, EINVAL, "fp8: 8-bit products need a multiple of %d rows, in all batch shapes or "
				       "in none", RT_FP8_SIDE);
		if (r)
			return r;
		p->constants_move |= !same_constants(&p->shapes[0], &p->shapes[i]);
	}
	p->plan = p->shapes[0];
	return 0;
}
