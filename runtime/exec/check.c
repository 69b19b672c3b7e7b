/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a program's gradients against finite differences of rt_reference(). */
#include <errno.h>
#include <math.h>
#include "runtime/exec/program.h"

#define STEP	1e-5 /* step of the finite difference, relative to the size of the parameter */

struct checked {
	const struct rt_graph *g;
	const struct rt_node *loss;
	double **values; /* values of each leaf, as arguments of rt_reference() */
	int n;
	struct rt_dropout_key dropout; /* dropout key of the checked batch */
};

/* Returns an element of an input as the caller passes it: a byte if the program converts it (pass/pixels.c). */
static double element(const struct rt_program *p, const struct rt_node *n, const void *from, int64_t i)
{
	switch (p->plan.ir.nodes[n->id]->dtype) {
	case RT_I32:
		return (double)((const int32_t *)from)[i];
	case RT_U8:
		return (((const uint8_t *)from)[i] / 255.0 - (double)p->opt.pixels.mean) / (double)p->opt.pixels.std;
	default:
		return (double)((const float *)from)[i];
	}
}

static double *leaf_values(struct rt_program *p, const struct rt_node *n, const void *input)
{
	int64_t count = rt_shape_elements(&n->shape);
	const void *from = n->role == RT_ROLE_INPUT ? input : rt_value(p, n);
	double *v = gt_xcalloc((size_t)count, sizeof(*v));

	for (int64_t i = 0; i < count; i++)
		v[i] = element(p, n, from, i);
	return v;
}

/* Returns the loss with another value in *x, an element of c->values. */
static int loss_with(const struct checked *c, double *x, double value, double *ret, struct gt_err *err)
{
	double old = *x;
	int r;

	*x = value;
	r = rt_reference_dropout(c->g, c->loss, (const double *const *)c->values, &c->dropout, ret, err);
	*x = old;
	return r;
}

static int difference(const struct checked *c, int leaf, int64_t at, double *ret, struct gt_err *err)
{
	double *x = &c->values[leaf][at], h = STEP * fmax(fabs(*x), 0.01), above = 0, below = 0;
	int r = loss_with(c, x, *x + h, &above, err);

	if (r)
		return r;
	r = loss_with(c, x, *x - h, &below, err);
	if (r)
		return r;
	*ret = (above - below) / (2 * h);
	return 0;
}

static double largest(const float *x, int64_t n)
{
	double max = 0;

	for (int64_t i = 0; i < n; i++)
		max = fmax(max, fabs((double)x[i]));
	return max;
}

/* Checks one element: parameters are selected in turn by `sample`, the element at random. */
static int check_one(const struct checked *c, struct rt_program *p, int leaf, uint64_t sample, struct rt_gradient_check *ret,
		     struct gt_err *err)
{
	const struct rt_node *n = rt_graph_leaf(c->g, leaf);
	int64_t count = rt_shape_elements(&n->shape), at = (int64_t)(rt_random_u64(1, 2, sample) % (uint64_t)count);
	const float *d = rt_gradient(p, n);
	double numeric = 0, off;
	int r = difference(c, leaf, at, &numeric, err);

	if (r)
		return r;
	off = fabs((double)d[at] - numeric) / fmax(fmax(largest(d, count), fabs(numeric)), 1e-8);
	ret->checked++;
	if (!(off <= ret->worst)) {
		ret->worst = off;
		ret->element = at;
		ret->node = n;
		ret->got = (double)d[at];
		ret->numeric = numeric;
	}
	return 0;
}

static void free_values(struct checked *c)
{
	for (int i = 0; c->values && i < c->n; i++)
		free(c->values[i]);
	free(c->values);
}

/* Checks elements until `samples` are done, or no parameter has a gradient. */
static int check_samples(const struct checked *c, struct rt_program *p, int samples, struct rt_gradient_check *ret,
			 struct gt_err *err)
{
	for (int i = 0, leaf = 0, skipped = 0; i < samples && skipped <= c->n; leaf = (leaf + 1) % c->n) {
		int r;

		skipped++;
		if (!rt_node_is_param(rt_graph_leaf(c->g, leaf)) || !rt_gradient(p, rt_graph_leaf(c->g, leaf)))
			continue;
		r = check_one(c, p, leaf, (uint64_t)i++, ret, err);
		if (r)
			return r;
		skipped = 0;
	}
	return 0;
}

int rt_check_gradients(const struct rt_graph *g, const struct rt_node *loss, struct rt_program *p, const void *const *inputs,
		       int samples, struct rt_gradient_check *ret, struct gt_err *err)
{
	__attribute__((cleanup(free_values))) struct checked c = { .g = g, .loss = loss, .n = rt_graph_leaves(g) };
	struct rt_metrics m;
	int input = 0, r;

	if (!p->opt.debug.keep_gradients || p->opt.optimizer.kind != RT_NO_OPTIMIZER)
		return gt_fail(err, EINVAL, "a gradient check needs keep_gradients and no optimizer");
	if (!p->backend->host_memory)
		return gt_fail(err, ENOSYS, "finite differences run on the CPU only; use gpubench check-device for a device");
	if (p->opt.ranks.comm || p->opt.accum > 1 || p->scale.on || fabs(p->weight - 1) > 0)
		return gt_fail(err, EINVAL, "a gradient check needs one rank and one batch per update, without a loss scale "
			       "or weight");
	c.dropout = (struct rt_dropout_key){ p->opt.seed, p->step };
	*ret = (struct rt_gradient_check){ .worst = 0 };
	r = rt_step(p, inputs, &m, err);
	if (r)
		return r;
	c.values = gt_xcalloc((size_t)c.n + 1, sizeof(*c.values));
	for (int i = 0; i < c.n; i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);

		c.values[i] = leaf_values(p, n, n->role == RT_ROLE_INPUT ? inputs[input++] : NULL);
	}
	return check_samples(&c, p, samples, ret, err);
}
