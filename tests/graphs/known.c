/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "tests/graphs/known.h"

#define EPSILON	   6e-8
#define KINK_LEVEL (64 * EPSILON)
#define TRIES	   8
/* (v / 255 - mean) / std has a few roundings of numbers up to 1, divided by the standard deviation */
#define BYTE_ERROR (2 * EPSILON / (double)GEN_PIXEL_STD)
/*
 * Tolerance in multiples of the spread of the samples. In f32, sums have larger errors than the samples, by the factor
 * F32_MORE.
 */
#define SPREADS	 4
#define F32_MORE 4
#define LOOKS	 8 /* sets of further samples for a value outside its tolerance */

void known_clear(struct known *k)
{
	if (k->inputs)
		gen_inputs_free(k->inputs);
	if (k->leaves) {
		plain_clear(k->mg.g, &k->exact);
		for (int i = 0; i < KNOWN_PATTERNS; i++)
			plain_clear(k->mg.g, &k->shaken[i]);
		gen_values_free(k->leaves, k->mg.g->ir.n_nodes);
		gen_values_free(k->masks, k->mg.g->ir.n_nodes);
	}
	gen_graph_free(&k->mg);
	k->inputs = NULL;
	k->leaves = NULL;
}

/* Returns whether no rounding error can change the branch of a relu or a maximum. */
static bool decided(const struct known *k)
{
	for (int i = 0; i < KNOWN_PATTERNS; i++) {
		struct plain_how how = k->how;
		struct plain p;
		bool same = k->shaken[i].choices == k->exact.choices;

		if (i > 1 && same)
			continue;
		how.pattern = 100 + (uint64_t)i;
		how.level = fmax(KINK_LEVEL, how.level);
		plain_run(k->mg.g, k->leaves, &how, &p);
		same &= p.choices == k->exact.choices;
		plain_clear(k->mg.g, &p);
		if (!same)
			return false;
	}
	return true;
}

/* The elements that are dropped are a function of seed, dropout, batch and element. The plain C kernel computes them. */
static double *mask_of(const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->out[0]->shape);
	uint64_t key = rt_random_u64(0, RT_DROPOUT_STREAM + (uint64_t)c->attr.stream, 0);
	double rate = (double)c->attr.rate, *mask = gt_xcalloc((size_t)n, sizeof(*mask));
	gt_autofree float *x = gt_xcalloc((size_t)n, sizeof(*x));

	for (int64_t i = 0; i < n; i++)
		x[i] = 1;
	rt_simd_base.dropout(x, x, n, 0, key, (uint32_t)(rate * 4294967296.0), (float)(1 / (1 - rate)), false);
	for (int64_t i = 0; i < n; i++)
		mask[i] = (double)x[i];
	return mask;
}

static void start(struct known *k, const struct gen_program *m, uint64_t batch, int64_t rows)
{
	int64_t most = 0;

	memset(k, 0, sizeof(*k));
	k->m = *m;
	gen_build(&k->m, rows, &k->mg, NULL);
	k->inputs = gen_inputs(&k->m, &k->mg, batch);
	k->leaves = gen_leaves(&k->m, &k->mg, batch);
	k->masks = gt_xcalloc((size_t)k->mg.g->ir.n_nodes + 1, sizeof(*k->masks));
	for (int i = 0; i < k->mg.g->ir.n_calls; i++)
		if (k->mg.g->ir.calls[i]->op->id == RT_OP_DROPOUT)
			k->masks[k->mg.g->ir.calls[i]->out[0]->id] = mask_of(k->mg.g->ir.calls[i]);
	for (int i = 0; i < k->mg.g->ir.n_nodes; i++)
		most = GT_MAX(most, rt_shape_elements(&k->mg.g->ir.nodes[i]->shape));
	k->relative = 1e-6 + 2e-8 * sqrt((double)most);
}

/* Takes several samples. The loss and biases are few numbers, and both errors of two samples may be small by chance. */
static void forward(struct known *k)
{
	for (int i = 0; i <= KNOWN_PATTERNS; i++) {
		k->how.pattern = (uint64_t)i;
		plain_run(k->mg.g, k->leaves, &k->how, i ? &k->shaken[i - 1] : &k->exact);
	}
}

static void backward(struct known *k)
{
	for (int i = 0; i <= KNOWN_PATTERNS; i++) {
		k->how.pattern = (uint64_t)i;
		plain_run_back(k->mg.g, k->mg.loss, &k->how, i ? &k->shaken[i - 1] : &k->exact);
	}
}

bool know(struct known *k, const struct gen_program *m, struct plain_how how)
{
	struct gen_program mine = *m;

	for (int i = 0; i < TRIES; i++, mine.seed++) {
		start(k, &mine, 0, GEN_ROWS);
		k->how = how;
		k->how.level = fmax(how.level, F32_MORE * EPSILON);
		k->how.input = m->pixels ? BYTE_ERROR : 0;
		k->how.masks = how.eval ? NULL : k->masks;
		forward(k);
		if (how.eval || decided(k)) {
			if (!how.eval)
				backward(k);
			return true;
		}
		known_clear(k);
	}
	return false;
}

void know_back(struct known *k, const struct gen_program *m, uint64_t batch, int64_t rows)
{
	struct gen_program mine = *m;

	mine.dropout = false;
	start(k, &mine, batch, rows);
	k->how = (struct plain_how){ .level = F32_MORE * EPSILON, .back_only = true };
	forward(k);
	backward(k);
}

static double largest(const double *x, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(x[i]));
	return most;
}

static bool exceeds(const struct rt_graph *g, const struct plain *p, double most)
{
	for (int i = 0; i < g->ir.n_nodes; i++) {
		int64_t count = rt_shape_elements(&g->ir.nodes[i]->shape);

		if (g->ir.nodes[i]->dtype == RT_F32 && (largest(p->value[i], count) > most ||
							(p->slope && p->slope[i] && largest(p->slope[i], count) > most)))
			return true;
	}
	return false;
}

bool known_exceeds(const struct known *k, double most)
{
	bool any = exceeds(k->mg.g, &k->exact, most);

	for (int i = 0; i < KNOWN_PATTERNS; i++)
		any |= exceeds(k->mg.g, &k->shaken[i], most);
	return any;
}

static double distance(const double *x, const double *y, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(x[i] - y[i]));
	return most;
}

/* Returns the index of the largest error of got / scale, or of the first value that is not finite. NULL means zeros. */
static int64_t farthest(const float *got, double scale, const double *want, int64_t n)
{
	double most = 0;
	int64_t at = 0;

	for (int64_t i = 0; i < n; i++) {
		double off = fabs((got ? (double)got[i] / scale : 0) - (want ? want[i] : 0));

		if (!isfinite(off))
			return i;
		at = off > most ? i : at;
		most = fmax(most, off);
	}
	return at;
}

/* The tolerance for samples with this spread. */
static double granted(const struct known *k, const double *exact, int64_t count, double spread)
{
	return SPREADS * spread + (exact ? k->relative * largest(exact, count) : 0) + 1e-30;
}

double known_off(const struct known *k, const struct rt_node *n)
{
	int64_t count = rt_shape_elements(&n->shape);
	const double *exact = k->exact.value[n->id];
	double spread = 0;

	for (int p = 0; p < KNOWN_PATTERNS; p++)
		spread = fmax(spread, distance(k->shaken[p].value[n->id], exact, count));
	return granted(k, exact, count, spread);
}

double known_slope_off(const struct known *k, const struct rt_node *n)
{
	int64_t count = rt_shape_elements(&n->shape);
	const double *exact = k->exact.slope[n->id];
	double spread = 0;

	for (int p = 0; exact && p < KNOWN_PATTERNS; p++)
		spread = fmax(spread, distance(k->shaken[p].slope[n->id], exact, count));
	return granted(k, exact, count, spread);
}

/* Returns the largest error of further samples. *kinked receives that of samples on another branch of a kink. */
static double further(const struct known *k, const struct rt_node *n, bool slope, int look, double *kinked)
{
	struct plain_how how = k->how;
	double spread = 0;

	for (int i = 0; i < KNOWN_PATTERNS; i++) {
		struct plain p;
		double **of, *to;

		how.pattern = 1000 + (uint64_t)(look * KNOWN_PATTERNS + i);
		plain_run(k->mg.g, k->leaves, &how, &p);
		if (slope)
			plain_run_back(k->mg.g, k->mg.loss, &how, &p);
		of = slope ? p.slope : p.value;
		to = p.choices == k->exact.choices ? &spread : kinked;
		*to = fmax(*to, distance(of[n->id], (slope ? k->exact.slope : k->exact.value)[n->id],
					 rt_shape_elements(&n->shape)));
		plain_clear(k->mg.g, &p);
	}
	return spread;
}

/*
 * Returns whether the error `worst` of n exceeds its tolerance. The tolerance is a random number too. With an error s z, z
 * normal, all six samples of a number are within 0.16 s in 1 of 300000 cases. A run has tens of thousands of numbers. An error
 * outside the tolerance is therefore compared with the mean tolerance of further samples. If one rounding in ten switches a
 * relu, half of the programs have the same branch in all samples; the relu's effect is added once. *off receives the tolerance
 * that was used.
 */
static bool beyond(const struct known *k, const struct rt_node *n, bool slope, double worst, double more, double *off)
{
	const double *exact = (slope ? k->exact.slope : k->exact.value)[n->id];
	double spread = 0, kinked = 0;

	*off = more + (slope ? known_slope_off(k, n) : known_off(k, n));
	if (worst <= *off || !exact || !isfinite(worst))
		return !(worst <= *off);
	for (int look = 0; look < LOOKS; look++)
		spread += further(k, n, slope, look, &kinked) / LOOKS;
	*off = fmax(*off, more + granted(k, exact, rt_shape_elements(&n->shape), spread) + kinked);
	return worst > *off;
}

bool known_value(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, const char *how)
{
	const double *want = k->exact.value[n->id];
	int64_t at = got ? farthest(got, 1, want, rt_shape_elements(&n->shape)) : 0;
	double off;

	if (!got || !beyond(k, n, false, fabs((double)got[at] - want[at]), 0, &off))
		return true;
	return broken(t, "%s: %s[%lld] is %.9g, plainly %.9g (+- %.2g)", how, n->name, (long long)at, (double)got[at], want[at],
		      off);
}

bool known_loss(struct trial *t, const struct known *k, double got, const char *how)
{
	/* the logarithm of 1 plus a small number */
	double more = trial_has(&k->m, GEN_CROSS_ENTROPY) ? 2e-7 : 0, off;
	double want = k->exact.value[k->mg.loss->id][0];

	if (!beyond(k, k->mg.loss, false, fabs(got - want), more, &off))
		return true;
	return broken(t, "%s: the loss is %.9g, plainly %.9g (+- %.2g)", how, got, want, off);
}

bool known_slope(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, double scale, const char *how)
{
	const double *want = k->exact.slope[n->id];
	int64_t at = farthest(got, scale, want, rt_shape_elements(&n->shape));
	double w = want ? want[at] : 0, g = got ? (double)got[at] / scale : 0, off;

	if (!beyond(k, n, true, fabs(g - w), 0, &off))
		return true;
	return broken(t, "%s: the gradient of %s[%lld] is %.9g%s, plainly %.9g (+- %.2g)", how, n->name, (long long)at, g,
		      got ? "" : " (none)", w, off);
}

/* Finite differences miss features narrower than their step, so it suffices that one of the steps agrees. */
static bool agrees(struct trial *t, const struct known *k, const struct rt_node *n)
{
	static const double widths[] = { 1e-6, 1e-7, 1e-8, 1e-5 };
	struct plain_how exact = { .masks = k->how.masks };
	double by_difference = 0, got = 0, size = 0;

	for (int64_t e = 0; k->exact.slope[n->id] && e < rt_shape_elements(&n->shape); e++) {
		got += plain_sign(n, (uint64_t)e) * k->exact.slope[n->id][e];
		size += fabs(k->exact.slope[n->id][e]);
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(widths); i++)
		/* the last term: rounding of the differences */
		if (!plain_difference(k->mg.g, k->mg.loss, k->leaves, n, &exact, widths[i], &by_difference) ||
		    fabs(got - by_difference) <= 1e-5 * size + 1e-7 * (1 + fabs(k->exact.value[k->mg.loss->id][0])))
			return true;
	return broken(t, "the plain gradient of %s points %.9g along the signs, by differences %.9g", n->name, got, by_difference);
}

bool known_agrees(struct trial *t, const struct known *k)
{
	for (int i = 0; i < k->m.n; i++)
		if (k->m.step[i].op == GEN_PARAM && !agrees(t, k, k->mg.node[i]))
			return false;
	return true;
}

void known_count(struct trial *t, const struct known *k)
{
	for (int i = 0; i < k->m.n; i++) {
		const struct rt_node *n = k->mg.node[i];
		const double *slope = k->exact.slope[n->id];

		if (k->m.step[i].op != GEN_PARAM || !slope)
			continue;
		t->compared++;
		t->imprecise += known_slope_off(k, n) > 0.02 * largest(slope, rt_shape_elements(&n->shape));
	}
}
