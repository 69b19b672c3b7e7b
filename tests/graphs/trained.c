/* SPDX-License-Identifier: Apache-2.0 */
/* Property: updates follow the published rules, computed in double from the gradients of the program: weights, loss scale,
 * clipping, skipped updates, optimizers. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/math/map8.h"
#include "tests/graphs/variants.h"

#define UPDATES	  4
#define ROUNDING  1.2e-7 /* error of a multiplication followed by an addition in float */
#define LEAST_MAP 4096 /* least number of elements for 8-bit moments */

struct tensor {
	const struct rt_node *n;
	double *before, *m, *v; /* elements */
	double *m_off, *v_off;	/* error bounds of m and v: rounding, or the 8-bit code */
};
struct plain_update {
	struct rt_options opt;
	struct tensor t[GEN_STEPS];
	int n;
	int64_t step, tracker;
	float scale;
	bool scaled;
	/* the current update */
	double weights, weighted_loss;
	bool bad_loss;
};

static double *zeros(size_t n)
{
	return gt_xcalloc(n, sizeof(double));
}

static void start(struct plain_update *u, const struct gen_program *m, const struct gen_graph *mg)
{
	memset(u, 0, sizeof(*u));
	u->opt = trial_options(m);
	u->opt.debug.keep_gradients = u->opt.debug.poison = true;
	/* The first scale is so large that some updates overflow, and the scale grows after a few updates. */
	if (u->opt.precision.scaler.use == RT_SCALER_ON || u->opt.precision.amp == RT_F16)
		u->opt.precision.scaler = (struct rt_scaler){ .use = RT_SCALER_ON, .growth = 4, .backoff = 0x1p-5,
						    .init = m->how[12] % 2 && u->opt.precision.amp != RT_F16 ? 0x1p120 : 0x1p12,
						    .interval = 1 + m->how[13] % 3 };
	u->scaled = u->opt.precision.scaler.use == RT_SCALER_ON;
	u->scale = (float)u->opt.precision.scaler.init;
	for (int i = 0; i < m->n; i++) {
		size_t count = m->step[i].op == GEN_PARAM ? (size_t)rt_shape_elements(&mg->node[i]->shape) : 0;

		if (count)
			u->t[u->n++] = (struct tensor){ mg->node[i], zeros(count), zeros(count), zeros(count), zeros(count),
							zeros(count) };
	}
}

static void clear(struct plain_update *u)
{
	for (int i = 0; i < u->n; i++) {
		free(u->t[i].before);
		free(u->t[i].m);
		free(u->t[i].v);
		free(u->t[i].m_off);
		free(u->t[i].v_off);
	}
}

static void note_before(struct plain_update *u, struct rt_program *p)
{
	for (int i = 0; i < u->n; i++) {
		const float *now = read_value(p, u->t[i].n);

		for (int64_t k = 0; k < rt_shape_elements(&u->t[i].n->shape); k++)
			u->t[i].before[k] = (double)now[k];
	}
	u->weights = u->weighted_loss = 0;
	u->bad_loss = false;
}

/* Computes the global norm of the gradients times unit. *ret_finite: all are finite. */
static double norm(const struct plain_update *u, struct rt_program *p, double unit, bool *ret_finite)
{
	double sum = 0;

	*ret_finite = true;
	for (int i = 0; i < u->n; i++) {
		const float *g = read_gradient(p, u->t[i].n);

		for (int64_t k = 0; g && k < rt_shape_elements(&u->t[i].n->shape); k++) {
			*ret_finite &= isfinite(g[k]) != 0;
			sum += (double)g[k] * unit * ((double)g[k] * unit);
		}
	}
	return sqrt(sum);
}

/* Computes Adam's m / sqrt(v) with bias correction. */
static double adam_ratio(double m, double v, int64_t step)
{
	return m / (1 - pow(0.9, (double)step)) / (sqrt(v / (1 - pow(0.999, (double)step))) + 1e-8);
}

/*
 * Returns the error bound of that ratio from the bounds of the moments. It grows with m and falls with v; v has at least
 * the current term.
 */
static double ratio_off(const struct tensor *t, int64_t k, double least_v, int64_t step)
{
	double exact = adam_ratio(t->m[k], t->v[k], step), most = 0;

	for (int i = 0; i < 4; i++) {
		double m = t->m[k] + (i & 1 ? 1 : -1) * t->m_off[k], v = t->v[k] + (i & 2 ? 1 : -1) * t->v_off[k];

		most = fmax(most, fabs(adam_ratio(m, fmax(v, least_v), step) - exact));
	}
	return most;
}

/*
 * Computes the update of element k, and its error bound from those of the moments. Gradient and decay may nearly cancel
 * in them.
 */
static double step_of(const struct plain_update *u, const struct tensor *t, int64_t k, double g, double *ret_off)
{
	const struct rt_optimizer *o = &u->opt.optimizer;
	double p = t->before[k], b1 = 0.9, b2 = 0.999, decay = o->kind == RT_SGD || o->kind == RT_ADAM ? o->weight_decay * p : 0;
	double off = ROUNDING * (fabs(g) + fabs(decay));

	g += decay;
	if (o->kind == RT_SGD) {
		t->m[k] = g + (u->step > 1 ? o->momentum * t->m[k] : 0);
		t->m_off[k] = off + (u->step > 1 ? o->momentum * t->m_off[k] : 0);
		*ret_off = o->lr * t->m_off[k];
		return -o->lr * t->m[k];
	}
	t->m[k] = b1 * t->m[k] + (1 - b1) * g;
	t->v[k] = b2 * t->v[k] + (1 - b2) * g * g;
	t->m_off[k] = b1 * t->m_off[k] + (1 - b1) * off;
	t->v_off[k] = b2 * t->v_off[k] + (1 - b2) * (2 * fabs(g) + off) * off;
	g = fmax(fabs(g) - off, 0);
	*ret_off = 1.001 * o->lr * ratio_off(t, k, (1 - b2) * g * g, u->step);
	return -(o->kind == RT_ADAM ? 0 : o->lr * o->weight_decay * p) - o->lr * adam_ratio(t->m[k], t->v[k], u->step);
}

/* Error of the 8-bit code: the nearest value of the map times the maximum of the block, which has the error `off`. */
static void code(const struct rt_map8 *map, const double *x, double *off, int64_t n)
{
	double high = 0, low = 0;

	for (int64_t i = 0; i < n; i++) {
		high = fmax(high, fabs(x[i]) + off[i]);
		low = fmax(low, fabs(x[i]) - off[i]);
	}
	for (int64_t i = 0; i < n && high > 0; i++) {
		double part = (fabs(x[i]) + off[i]) / low;
		int at = map->zero;

		while (at < 253 && (double)map->value[at + 1] < part)
			at++;
		off[i] += (double)(map->value[at + 1] - map->value[at]) / 2 * high * 1.001;
	}
}

/* Returns whether both are NaN, or infinite with the same sign. */
static bool diverged(float a, double b)
{
	return isnan(b) ? isnan(a) : isinf(b) && a == (float)b;
}

/* unit: scale of the gradients; 0: nothing may have changed. */
static bool moved(struct trial *t, const struct plain_update *u, struct rt_program *p, double unit)
{
	for (int i = 0; i < u->n; i++) {
		const struct tensor *x = &u->t[i];
		const float *g = read_gradient(p, x->n), *now = read_value(p, x->n);
		int64_t count = rt_shape_elements(&x->n->shape);
		bool coded = u->opt.optimizer.kind == RT_ADAMW8 && count >= LEAST_MAP;

		for (int64_t k = 0; k < count; k++) {
			double off = 0, by = g && unit > 0 ? step_of(u, x, k, (double)g[k] * unit, &off) : 0;
			double want = x->before[k] + by;

			if (g && unit > 0)
				off += 2e-5 * fabs(by) + 2e-7 * fabs(x->before[k]) + 2e-6 * u->opt.optimizer.lr;
			if (!(fabs((double)now[k] - want) <= off) && !diverged(now[k], want))
				return broken(t, "update %lld takes %s[%lld] from %.9g to %.9g, plainly to %.9g (+- %.2g)",
					      (long long)u->step, x->n->name, (long long)k, x->before[k], (double)now[k],
					      want, off);
		}
		for (int64_t k = 0; coded && g && unit > 0 && k < count; k += RT_MAP8_BLOCK) {
			code(rt_map8(true), x->m + k, x->m_off + k, GT_MIN(RT_MAP8_BLOCK, count - k));
			code(rt_map8(false), x->v + k, x->v_off + k, GT_MIN(RT_MAP8_BLOCK, count - k));
		}
	}
	return true;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-5 * fabs(b) + 1e-30;
}

static void follow_scale(struct plain_update *u, bool skipped)
{
	float grown = (float)((double)u->scale * u->opt.precision.scaler.growth);

	if (!u->scaled)
		return;
	u->tracker = skipped ? 0 : u->tracker + 1;
	if (skipped)
		u->scale = (float)((double)u->scale * u->opt.precision.scaler.backoff);
	else if (u->tracker == u->opt.precision.scaler.interval) {
		u->scale = isfinite(grown) ? grown : u->scale;
		u->tracker = 0;
	}
}

/* Checks the state after the last batch of an update. */
static bool follow(struct trial *t, struct plain_update *u, struct rt_program *p, const struct rt_metrics *metrics)
{
	double unit = 1 / (u->scaled ? (double)u->scale : 1) * u->opt.accum / u->weights, size, scale;
	bool finite, none = !(u->weights > 0), skipped;
	int64_t tracker;

	size = none ? 0 : norm(u, p, unit, &finite);
	skipped = !none && u->scaled && (!finite || u->bad_loss);
	if (metrics->skipped != skipped || metrics->updated != (!skipped && !none))
		return broken(t, "after update %lld: skipped %d, updated %d, but its gradients are %s", (long long)u->step,
			      metrics->skipped, metrics->updated, none ? "of no weight" : finite ? "finite" : "not finite");
	if (u->scaled && (float)metrics->loss_scale != u->scale)
		return broken(t, "the loss scale is %g, plainly %g", metrics->loss_scale, (double)u->scale);
	if (!none && !near(metrics->update_loss, u->weighted_loss / u->weights) && isfinite(u->weighted_loss))
		return broken(t, "the update's loss is %.9g, plainly %.9g", metrics->update_loss, u->weighted_loss / u->weights);
	if (!none && !skipped && (u->scaled || u->opt.clip_norm > 0) && !near(metrics->grad_norm, size))
		return broken(t, "the gradients' norm is %.9g, plainly %.9g", metrics->grad_norm, size);
	u->step += !skipped && !none;
	if (metrics->step != u->step)
		return broken(t, "%lld updates are counted as %lld", (long long)u->step, (long long)metrics->step);
	if (u->opt.clip_norm > 0)
		unit *= fmin(1, u->opt.clip_norm / (size + 1e-6));
	if (!moved(t, u, p, skipped || none ? 0 : unit))
		return false;
	if (!none)
		follow_scale(u, skipped);
	rt_get_scaler(p, &scale, &tracker);
	if (u->scaled && ((float)scale != u->scale || tracker != u->tracker))
		return broken(t, "the loss scale becomes %g, held for %lld, plainly %g for %lld", scale, (long long)tracker,
			      (double)u->scale, (long long)u->tracker);
	return true;
}

static double weight_of(const struct gen_program *m, int t)
{
	return m->how[10] % 3 ? (m->how[10] + 3 * t) % 5 : 1;
}

bool variant_trained(struct trial *t)
{
	struct plain_update u;
	struct gen_graph mg;
	struct rt_program *p;
	bool good = true;
	int r = 0;

	gen_build(t->m, GEN_ROWS, &mg, NULL);
	start(&u, t->m, &mg);
	p = trial_program(t, t->m, &mg, &u.opt);
	for (int b = 0; p && good && !r && b < UPDATES * u.opt.accum; b++) {
		void **inputs = gen_inputs(t->m, &mg, (uint64_t)b);
		struct rt_metrics metrics = { 0 };
		struct gt_err err = { 0 };

		if (b % u.opt.accum == 0)
			note_before(&u, p);
		rt_set_weight(p, weight_of(t->m, b));
		r = rt_step(p, (const void *const *)inputs, &metrics, &err);
		gen_inputs_free(inputs);
		u.weights += weight_of(t->m, b);
		u.weighted_loss += weight_of(t->m, b) * metrics.loss;
		u.bad_loss |= !isfinite(metrics.loss);
		if (r) /* the loss or a gradient is not finite */
			good = r == -EDOM ? moved(t, &u, p, 0) : broken(t, "batch %d: %s", b, err.msg);
		else if ((b + 1) % u.opt.accum == 0)
			good = follow(t, &u, p, &metrics);
	}
	good &= p != NULL;
	rt_program_free(p);
	clear(&u);
	gen_graph_free(&mg);
	return good;
}
