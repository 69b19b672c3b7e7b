/* SPDX-License-Identifier: Apache-2.0 */
/* Property: each update follows the rule of its optimizer, computed in double from the gradients of the program. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/graphs/variants.h"

#define UPDATES	   3
#define EIGHT_FROM 4096 /* least number of elements for 8-bit moments */

/* State of one parameter. */
struct rule {
	float *before, *gradient; /* gradient is NULL if the loss does not depend on the parameter */
	double *m, *v;
	int64_t n;
	bool narrow; /* stored in bf16 only */
};

/* One update: divisor of the gradients, and factor of clipping. */
struct unit {
	double scale, clip;
	int step; /* number of this update, from 1; 0: skipped */
};

/* Returns a weight after the update that torch.optim.SGD, Adam or AdamW makes. */
static double ruled(const struct rt_optimizer *o, const struct unit *u, double w, double g, double *m, double *v)
{
	bool decoupled = o->kind == RT_ADAMW || o->kind == RT_ADAMW8;

	g = g / u->scale * u->clip + (decoupled ? 0 : o->weight_decay * w);
	w *= decoupled ? 1 - o->lr * o->weight_decay : 1;
	if (o->kind == RT_SGD) {
		*m = u->step == 1 ? g : o->momentum * *m + g;
		return w - o->lr * *m;
	}
	*m = 0.9 * *m + 0.1 * g;
	*v = 0.999 * *v + 0.001 * g * g;
	return w - o->lr * (*m / (1 - pow(0.9, u->step))) / (sqrt(*v / (1 - pow(0.999, u->step))) + 1e-8);
}

/* The error bound of float arithmetic. */
static double off_by(const struct rt_optimizer *o, const struct rule *r, double w, double want, double m)
{
	double moved = o->kind == RT_SGD ? fabs(m) : 1;

	return 2e-5 * o->lr * moved + 3e-7 * (fabs(w) + fabs(want)) + (r->narrow ? 0x1p-7 * fmax(fabs(w), fabs(want)) : 0);
}

static float *copy_of(struct rt_program *p, const struct rt_node *n,
		      int (*read)(struct rt_program *, const struct rt_node *, float *, struct gt_err *))
{
	float *x = gt_xcalloc((size_t)rt_shape_elements(&n->shape), sizeof(*x));

	if (read(p, n, x, NULL) == 0)
		return x;
	free(x);
	return NULL;
}

static bool follows(struct trial *t, struct rt_program *p, const struct rt_node *n, struct rule *r, const struct unit *u)
{
	const struct rt_optimizer *o = &p->opt.optimizer;
	gt_autofree float *now = copy_of(p, n, rt_read_value);

	for (int64_t i = 0; i < r->n; i++) {
		double m = r->m[i], w = (double)r->before[i], want = w;

		if (r->gradient && u->step)
			want = ruled(o, u, w, (double)r->gradient[i], &r->m[i], &r->v[i]);
		if (o->kind == RT_ADAMW8 && r->n >= EIGHT_FROM)
			return true;
		m = fabs(m) + fabs(r->m[i]);
		if (!(fabs((double)now[i] - want) <= (r->gradient && u->step ? off_by(o, r, w, want, m) : 0)))
			return broken(t, "update %d takes %s[%lld] from %.9g to %.9g, by its rule to %.9g (gradient %.9g)", u->step,
				      n->name, (long long)i, w, (double)now[i], want,
				      r->gradient ? (double)r->gradient[i] : NAN);
	}
	return true;
}

/* Reads the parameters before an update, or the gradients after it. */
static void look(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p, struct rule *rules, bool behind)
{
	for (int i = 0; i < m->n; i++) {
		struct rule *r = &rules[i];
		float **x = behind ? &r->gradient : &r->before;

		if (m->step[i].op != GEN_PARAM)
			continue;
		free(*x);
		*x = copy_of(p, mg->node[i], behind ? rt_read_gradient : rt_read_value);
		if (r->m)
			continue;
		r->n = rt_shape_elements(&mg->node[i]->shape);
		r->m = gt_xcalloc((size_t)r->n, sizeof(*r->m));
		r->v = gt_xcalloc((size_t)r->n, sizeof(*r->v));
		r->narrow = p->plan.ir.nodes[mg->node[i]->id]->dtype == RT_BF16;
	}
}

static double norm_of(const struct gen_program *m, const struct rule *rules, double scale)
{
	double sum = 0;

	for (int i = 0; i < m->n; i++)
		for (int64_t k = 0; rules[i].gradient && k < rules[i].n; k++)
			sum += pow((double)rules[i].gradient[k] / scale, 2);
	return sqrt(sum);
}

/* Runs and checks one update. *done is the number of updates before. */
static bool one_update(struct trial *t, const struct gen_graph *mg, struct rt_program *p, int u, struct rule *rules, int *done)
{
	int64_t skipped = rt_skipped_updates(p);
	struct rt_metrics metrics = { 0 };
	struct unit unit;
	double norm;
	int r = 0;

	look(t->m, mg, p, rules, false);
	for (int b = 0; !r && b < p->opt.accum; b++) {
		void **inputs = gen_inputs(t->m, mg, (uint64_t)(u * p->opt.accum + b));

		r = rt_step(p, (const void *const *)inputs, &metrics, NULL);
		gen_inputs_free(inputs);
	}
	if (r || rt_wait(p, NULL))
		return r == -EDOM ? discard(t) : broken(t, "update %d ends with %d", u + 1, r);
	look(t->m, mg, p, rules, true);
	norm = norm_of(t->m, rules, metrics.loss_scale);
	unit = (struct unit){ .scale = metrics.loss_scale, .clip = 1 };
	if (rt_skipped_updates(p) > skipped && isfinite(norm))
		return broken(t, "update %d is skipped, and its gradients are finite", u + 1);
	unit.step = rt_skipped_updates(p) > skipped ? 0 : ++*done;
	if (p->opt.clip_norm > 0)
		unit.clip = fmin(1, p->opt.clip_norm / (norm + 1e-6));
	for (int i = 0; i < t->m->n; i++)
		if (t->m->step[i].op == GEN_PARAM && !follows(t, p, mg->node[i], &rules[i], &unit))
			return false;
	return true;
}

bool variant_rules(struct trial *t)
{
	struct rt_options opt = trial_options(t->m);
	struct rule rules[GEN_STEPS] = { 0 };
	struct gen_graph mg;
	struct rt_program *p;
	bool good;
	int done = 0;

	opt.debug.keep_gradients = true;
	opt.debug.poison = t->m->how[12] % 2;
	/* a large scale: the gradients are finite, their squares overflow */
	if (opt.precision.amp == RT_F32 && t->m->how[13] % 2)
		opt.precision.scaler.init = 0x1p100;
	gen_build(t->m, GEN_ROWS, &mg, NULL);
	p = trial_program(t, t->m, &mg, &opt);
	good = p != NULL;
	for (int u = 0; good && !t->discarded && u < UPDATES; u++)
		good = one_update(t, &mg, p, u, rules, &done);
	for (int i = 0; i < t->m->n; i++) {
		free(rules[i].before);
		free(rules[i].gradient);
		free(rules[i].m);
		free(rules[i].v);
	}
	rt_program_free(p);
	gen_graph_free(&mg);
	return good;
}
