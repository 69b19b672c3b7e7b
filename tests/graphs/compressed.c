/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of compressed programs: masks of pruned weights, removed units, INT8 products. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/graph/units.h"
#include "tests/graphs/variants.h"

#define UPDATES	2

static int64_t elements(const struct rt_node *n)
{
	return rt_shape_elements(&n->shape);
}

/* Runs n updates. Returns false if a loss or gradient is not finite. */
static bool train(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p, int n, int accum, uint64_t batch)
{
	for (int i = 0; i < n * accum; i++) {
		void **inputs = gen_inputs(m, mg, batch + (uint64_t)i);
		struct rt_metrics metrics;
		int r = rt_step(p, (const void *const *)inputs, &metrics, NULL);

		gen_inputs_free(inputs);
		if (r)
			return false;
	}
	return true;
}

/* ---- masks ---- */

/* Returns the mask of a parameter, or NULL. */
static const uint8_t *mask_of(const struct rt_program *p, const struct rt_node *param)
{
	for (int i = 0; i < p->plan.ir.n_calls; i++)
		if (rt_is(p->plan.ir.calls[i], RT_OP_MASK) && p->plan.ir.calls[i]->out[0]->id == param->id)
			return p->plan.ir.calls[i]->out[1]->data;
	return NULL;
}

/* Checks that the count smallest of the n elements of `before` are pruned, and that the others are unchanged. */
static bool pruned_smallest(struct trial *t, const char *name, const float *before, const float *after, const uint8_t *mask,
			    int64_t n, double fraction)
{
	float largest_pruned = 0, smallest_kept = INFINITY;
	int64_t pruned = 0;

	for (int64_t i = 0; i < n; i++) {
		pruned += mask[i];
		if (after[i] != (mask[i] ? 0 : before[i]))
			return broken(t, "%s[%lld] is %g after pruning, mask %d, and was %g", name, (long long)i, (double)after[i],
				      mask[i], (double)before[i]);
		if (mask[i])
			largest_pruned = fmaxf(largest_pruned, fabsf(before[i]));
		else
			smallest_kept = fminf(smallest_kept, fabsf(before[i]));
	}
	if (pruned != (int64_t)nearbyint(fraction * (double)n))
		return broken(t, "%s: %lld of %lld elements are pruned, not %g", name, (long long)pruned, (long long)n, fraction);
	if (largest_pruned > smallest_kept)
		return broken(t, "%s: %g is pruned and %g is kept", name, (double)largest_pruned, (double)smallest_kept);
	return true;
}

/* Prunes p and checks all parameters. */
static bool prune(struct trial *t, const struct gen_graph *mg, struct rt_program *p, double fraction)
{
	gt_autofree float **before = gt_xcalloc((size_t)t->m->n, sizeof(*before));
	bool good = true;
	int r;

	for (int i = 0; i < t->m->n; i++)
		if (t->m->step[i].op == GEN_PARAM) {
			size_t bytes = (size_t)elements(mg->node[i]) * sizeof(float);

			before[i] = gt_xcalloc(1, bytes);
			memcpy(before[i], rt_value(p, mg->node[i]), bytes);
		}
	r = rt_prune(p, RT_UNSTRUCTURED, fraction, NULL);
	for (int i = 0; i < t->m->n; i++) {
		const uint8_t *mask = before[i] ? mask_of(p, mg->node[i]) : NULL;

		if (!r && good && mask)
			good = pruned_smallest(t, mg->node[i]->name, before[i], rt_value(p, mg->node[i]), mask,
					       elements(mg->node[i]), fraction);
		free(before[i]);
	}
	return r ? discard(t) : good; /* a program without weights that can be pruned */
}

/* Compares the parameters: pruned elements are 0, and the others have the bits of the dense program. */
static bool same_unpruned(struct trial *t, const struct gen_graph *mg, struct rt_program *sparse, struct rt_program *dense,
			  const char *when)
{
	for (int i = 0; i < t->m->n; i++) {
		const float *a, *b;
		const uint8_t *mask;

		if (t->m->step[i].op != GEN_PARAM)
			continue;
		a = rt_value(sparse, mg->node[i]);
		b = rt_value(dense, mg->node[i]);
		mask = mask_of(sparse, mg->node[i]);
		for (int64_t k = 0; k < elements(mg->node[i]); k++) {
			float want = mask && mask[k] ? 0 : b[k];

			if (memcmp(&a[k], &want, sizeof(want)) != 0)
				return broken(t, "%s: %s[%lld] is %g, not %g", when, mg->node[i]->name, (long long)k, (double)a[k],
					      (double)want);
		}
	}
	return true;
}

static bool train_masked(struct trial *t, const struct gen_graph *mg, struct rt_program *sparse, struct rt_program *dense,
			 int accum)
{
	static const double fractions[] = { 0.1, 0.5, 0.9 };

	if (!train(t->m, mg, sparse, UPDATES, accum, 0) || !train(t->m, mg, dense, UPDATES, accum, 0))
		return discard(t);
	if (!same_unpruned(t, mg, sparse, dense, "empty masks"))
		return false;
	if (!prune(t, mg, sparse, fractions[t->m->how[10] % 3]) || t->discarded)
		return !t->message[0];
	for (int i = 0; i < t->m->n; i++)
		if (t->m->step[i].op == GEN_PARAM)
			memcpy(rt_value(dense, mg->node[i]), rt_value(sparse, mg->node[i]),
			       (size_t)elements(mg->node[i]) * sizeof(float));
	if (!train(t->m, mg, sparse, 1, accum, 50) || !train(t->m, mg, dense, 1, accum, 50))
		return discard(t);
	return same_unpruned(t, mg, sparse, dense, "an update");
}

bool variant_masked(struct trial *t)
{
	struct rt_options opt = trial_options(t->m), masked = opt;
	struct gen_graph mg = { 0 };
	gt_auto(rt_program) *sparse = NULL, *dense = NULL;
	bool good;

	masked.sparse = true;
	gen_build(t->m, GEN_ROWS, &mg, NULL);
	sparse = trial_program(t, t->m, &mg, &masked);
	dense = sparse ? trial_program(t, t->m, &mg, &opt) : NULL;
	good = dense && train_masked(t, &mg, sparse, dense, opt.accum);
	gen_graph_free(&mg);
	return good;
}

/* ---- removed units ---- */

/* Returns the loss by the plain definitions, of the parameters of p and these inputs. */
static double plain_loss(const struct rt_graph *g, const struct rt_node *loss, struct rt_program *p, void **inputs)
{
	int n = rt_graph_leaves(g), input = 0;
	gt_autofree double **value = gt_xcalloc((size_t)n, sizeof(*value));
	double out = NAN;

	for (int i = 0; i < n; i++) {
		const struct rt_node *leaf = rt_graph_leaf(g, i);
		const void *from = leaf->role == RT_ROLE_INPUT ? inputs[input++] : rt_value(p, leaf);

		value[i] = gt_xcalloc((size_t)elements(leaf), sizeof(double));
		for (int64_t k = 0; k < elements(leaf); k++)
			value[i][k] = leaf->dtype == RT_I32 ? ((const int32_t *)from)[k] : (double)((const float *)from)[k];
	}
	if (rt_reference(g, loss, (const double *const *)value, &out, NULL))
		out = NAN;
	for (int i = 0; i < n; i++)
		free(value[i]);
	return out;
}

/* Zeroes the parameters and buffers of the removed units. */
static void zero_slice(const struct rt_slice *s, const struct rt_layer_units *l, float *w)
{
	int64_t inner = 1, axis = s->node->shape.d[s->axis];

	for (int d = s->axis + 1; d < s->node->shape.n; d++)
		inner *= s->node->shape.d[d];
	for (int64_t i = 0; i < elements(s->node); i++) {
		int64_t at = i / inner % axis;

		for (int b = 0; b < s->blocks; b++)
			if (at >= s->start[b] && at < s->start[b] + l->units * s->len[b] &&
			    l->removed[(at - s->start[b]) / s->len[b]])
				w[i] = 0;
	}
}

static void zero_units(const struct rt_graph *g, const struct rt_units *u, struct rt_program *p)
{
	rt_auto_unit_groups groups = { 0 };

	rt_find_unit_groups(g, &groups);
	for (int i = 0; i < u->n; i++)
		for (int k = 0; k < groups.group[i].n_slices; k++)
			if (rt_node_is_param(groups.group[i].slice[k].node) || rt_node_is_buffer(groups.group[i].slice[k].node))
				zero_slice(&groups.group[i].slice[k], &u->layer[i], rt_value(p, groups.group[i].slice[k].node));
}

/* Marks about half of the units of each layer. Returns whether there are any. */
static bool draw_units(const struct gen_program *m, struct rt_units *u)
{
	int64_t all = 0;

	for (int i = 0; i < u->n; i++) {
		struct rt_layer_units *l = &u->layer[i];
		int64_t kept = (int64_t)(rt_random_u64(m->seed, 70 + (uint64_t)i, 0) % (uint64_t)l->units);

		for (int64_t k = 0; k < l->units; k++)
			l->removed[k] = k != kept && rt_random_u64(m->seed, 70 + (uint64_t)i, (uint64_t)k + 1) % 2;
		all += rt_units_removed(l);
	}
	return all > 0;
}

/* The loss of a smaller graph is that of the graph with zeros: by the plain definitions, and as computed. */
static bool shrink(struct trial *t, struct gen_graph *mg, const struct rt_options *opt)
{
	gt_auto(rt_program) *full = trial_program(t, t->m, mg, opt), *small = NULL;
	gt_auto(rt_units) *u = NULL;
	gt_auto(rt_values) *values = NULL;
	void **inputs;
	double zeroed, smaller, computed = NAN, computed_small = NAN, most;
	struct gt_err err = { 0 };
	int r;

	if (!full)
		return false;
	if (rt_graph_units(mg->g, &u, &err) || !draw_units(t->m, u))
		return discard(t);
	if (!train(t->m, mg, full, 1, opt->accum, 0))
		return discard(t);
	zero_units(mg->g, u, full);
	inputs = gen_inputs(t->m, mg, 3);
	zeroed = plain_loss(mg->g, mg->loss, full, inputs);
	r = rt_eval(full, (const void *const *)inputs, &computed, NULL);
	if (!r && !isnan(zeroed)) {
		r = rt_take_values(full, mg->g, u, &values, &err);
		r = r ? r : rt_graph_remove_units(mg->g, u, &err);
		r = r ? r : rt_compile(mg->g, mg->loss, opt, &small, &err);
		r = r ? r : rt_put_values(small, values, &err);
		if (r)
			broken(t, "rebuilding: %s", err.msg);
		else
			rt_eval(small, (const void *const *)inputs, &computed_small, NULL);
	} else {
		discard(t);
	}
	smaller = small ? plain_loss(mg->g, mg->loss, small, inputs) : NAN;
	gen_inputs_free(inputs);
	if (r || t->discarded)
		return t->discarded;
	most = 1 + fabs(zeroed);
	if (!(fabs(smaller - zeroed) <= 1e-9 * most))
		return broken(t, "the loss without the units is %.12g, with zeros %.12g", smaller, zeroed);
	/* rounding differs, but not by more than the error of the graph with zeros */
	if (!(fabs(computed_small - smaller) <= 1e-4 * most + 100 * fabs(computed - zeroed)))
		return broken(t, "the computed loss without the units is %.9g, by the definitions %.9g, with zeros %.9g",
			      computed_small, smaller, computed);
	return train(t->m, mg, small, 1, opt->accum, 9) || discard(t);
}

bool variant_smaller(struct trial *t)
{
	struct rt_options opt = trial_options(t->m);
	struct gen_graph mg = { 0 };
	bool good;

	opt.precision.amp = RT_F32;
	gen_build(t->m, GEN_ROWS, &mg, NULL);
	good = shrink(t, &mg, &opt);
	gen_graph_free(&mg);
	return good;
}

/* ---- INT8 ---- */

/* Returns the loss of a program with these options; NAN after recording an error. */
static double loss_of(struct trial *t, const struct gen_graph *mg, const struct rt_options *opt, void **inputs)
{
	gt_auto(rt_program) *p = trial_program(t, t->m, mg, opt);
	struct gt_err err = { 0 };
	double loss = NAN;

	if (p && rt_eval(p, (const void *const *)inputs, &loss, &err) < 0 && err.code != EDOM)
		broken(t, "evaluating: %s", err.msg);
	return loss;
}

/* Ranges of these inputs; NULL after recording an error, or if a value is not finite. */
static struct rt_ranges *calibrate(struct trial *t, const struct gen_graph *mg, void **inputs)
{
	struct rt_options opt = { .threads = 1, .precision.int8 = RT_INT8_OBSERVE };
	gt_auto(rt_program) *p = trial_program(t, t->m, mg, &opt);
	struct rt_ranges *ranges = NULL;
	struct gt_err err = { 0 };
	double loss;

	if (!p || rt_eval(p, (const void *const *)inputs, &loss, NULL))
		return NULL;
	if (rt_calibrate(p, t->m->how[11] % 3, 99.9, &ranges, &err) && err.code != EDOM)
		broken(t, "calibrating: %s", err.msg);
	for (int i = 0; ranges && i < ranges->n; i++)
		if (!(ranges->range[i].lo <= ranges->range[i].hi))
			broken(t, "the range of %s is %g to %g", ranges->range[i].name, (double)ranges->range[i].lo,
			       (double)ranges->range[i].hi);
	return ranges;
}

/*
 * Compares INT8 products with the roundings of quantisation-aware training, whose products are in f32. A value near the middle of
 * two steps may be rounded differently, so the two may differ by a part of the error of INT8.
 */
static bool agrees_with_training(struct trial *t, const struct gen_graph *mg, double int8, double f32, void **inputs)
{
	struct rt_options opt = { .threads = 1, .precision.qat = true, .optimizer = { .kind = RT_SGD, .lr = 0.01 } };
	double qat;

	if (trial_has(t->m, GEN_BATCHNORM)) /* INT8 rounds weights that include the batchnorm */
		return true;
	qat = loss_of(t, mg, &opt, inputs);
	if (t->message[0] || isnan(qat))
		return !t->message[0];
	if (fabs(int8 - qat) <= 1e-4 * (1 + fabs(qat)) + 0.5 * fabs(int8 - f32))
		return true;
	return broken(t, "the loss is %.9g with INT8 products, %.9g with roundings in training, %.9g in f32", int8, qat, f32);
}

static bool quantised(struct trial *t, const struct gen_graph *mg, void **inputs)
{
	struct rt_options plain = { .threads = 1 }, reuse = { .threads = 1, .precision.int8 = RT_INT8_DYNAMIC };
	struct rt_options kept = reuse, fixed = reuse;
	gt_auto(rt_ranges) *ranges = NULL;
	double f32 = loss_of(t, mg, &plain, inputs), a, b;

	kept.debug = (struct rt_debug){ .no_reuse = true, .poison = true };
	if (isnan(f32))
		return t->message[0] ? false : discard(t);
	a = loss_of(t, mg, &reuse, inputs);
	b = loss_of(t, mg, &kept, inputs);
	if (t->message[0])
		return false;
	if (memcmp(&a, &b, sizeof(a)) != 0)
		return broken(t, "dynamic ranges: the loss is %.9g, and %.9g if all tensors are kept", a, b);
	if (!isnan(a) && !agrees_with_training(t, mg, a, f32, inputs))
		return false;
	ranges = calibrate(t, mg, inputs);
	if (t->message[0] || !ranges)
		return !t->message[0];
	fixed.precision.int8 = RT_INT8_STATIC;
	fixed.precision.ranges = ranges;
	a = loss_of(t, mg, &fixed, inputs);
	fixed.debug = kept.debug;
	b = loss_of(t, mg, &fixed, inputs);
	if (!t->message[0] && memcmp(&a, &b, sizeof(a)) != 0)
		return broken(t, "static ranges: the loss is %.9g, and %.9g if all tensors are kept", a, b);
	return !t->message[0];
}

bool variant_int8(struct trial *t)
{
	struct gen_graph mg = { 0 };
	bool good;

	gen_build(t->m, GEN_ROWS, &mg, NULL);
	if (!trial_has(t->m, GEN_LINEAR) && !trial_has(t->m, GEN_CONV)) {
		good = discard(t);
	} else {
		void **inputs = gen_inputs(t->m, &mg, 1);

		good = quantised(t, &mg, inputs);
		gen_inputs_free(inputs);
	}
	gen_graph_free(&mg);
	return good;
}
