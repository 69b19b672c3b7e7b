/* SPDX-License-Identifier: Apache-2.0 */
/* Programs against the plain definitions, within what rounding explains. */
#include <math.h>
#include <string.h>
#include "tests/graphs/plain.h"
#include "tests/graphs/ways.h"

#define PATTERNS   3
#define EPSILON	   6e-8
#define KINK_LEVEL (64 * EPSILON)
#define TRIES	   8

/* A program without dropout, values that are not near a kink, and what they come to. */
struct known {
	struct made m;
	struct made_graph mg;
	void **inputs;
	double **leaves; /* by node id */
	struct plain_how how[PATTERNS + 1];
	struct plain exact, shaken[PATTERNS];
};

static void known_clear(struct known *k)
{
	if (k->inputs)
		made_inputs_free(k->inputs);
	if (k->leaves) {
		plain_clear(k->mg.g, &k->exact);
		for (int i = 0; i < PATTERNS; i++)
			plain_clear(k->mg.g, &k->shaken[i]);
		made_values_free(k->leaves, k->mg.g->ir.n_nodes);
	}
	made_graph_free(&k->mg);
}

/* Are all relus and maxima decided by more than rounding? */
static bool decided(const struct known *k, double level)
{
	for (int i = 0; i < 2; i++) {
		struct plain_how how = { .pattern = 100 + (uint64_t)i, .level = level, .low = k->how[1].low };
		struct plain p;
		bool same;

		plain_run(k->mg.g, k->leaves, &how, &p);
		same = p.choices == k->exact.choices && k->shaken[i].choices == k->exact.choices;
		plain_clear(k->mg.g, &p);
		if (!same)
			return false;
	}
	return true;
}

/* false: there is a kink wherever one looks. */
static bool know(struct known *k, const struct made *m, double low, bool eval)
{
	memset(k, 0, sizeof(*k));
	for (uint64_t try = 0; try < TRIES; try++) {
		k->m = *m;
		k->m.dropout = false;
		k->m.seed += try;
		made_build(&k->m, MADE_ROWS, &k->mg, NULL);
		k->inputs = made_inputs(&k->m, &k->mg, 0);
		k->leaves = made_leaves(&k->m, &k->mg, 0);
		for (int i = 0; i <= PATTERNS; i++) {
			k->how[i] = (struct plain_how){ .pattern = (uint64_t)i, .level = EPSILON, .low = low, .eval = eval };
			plain_run(k->mg.g, k->leaves, &k->how[i], i ? &k->shaken[i - 1] : &k->exact);
		}
		if (eval || decided(k, KINK_LEVEL))
			return true;
		known_clear(k);
	}
	return false;
}

static double largest(const double *x, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(x[i]));
	return most;
}

/* How far float may be off in this tensor. */
static double allowed(const struct known *k, const struct rt_node *n)
{
	int64_t count = rt_shape_elements(&n->shape);
	const double *exact = k->exact.value[n->id];
	double spread = 0;

	for (int p = 0; p < PATTERNS; p++)
		for (int64_t i = 0; i < count; i++)
			spread = fmax(spread, fabs(k->shaken[p].value[n->id][i] - exact[i]));
	return 16 * spread + 1e-6 * largest(exact, count) + 1e-30;
}

static bool same_value(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, const char *how)
{
	const double *want = k->exact.value[n->id];
	double off = allowed(k, n);

	for (int64_t i = 0; got && i < rt_shape_elements(&n->shape); i++)
		if (!(fabs((double)got[i] - want[i]) <= off))
			return broken(t, "%s: %s[%lld] is %.9g, plainly %.9g (+- %.2g)", how, n->name, (long long)i,
				      (double)got[i], want[i], off);
	return true;
}

static bool same_loss(struct trial *t, const struct known *k, double got, const char *how)
{
	/* the logarithm of a sum of one and little */
	double want = k->exact.value[k->mg.loss->id][0], off = allowed(k, k->mg.loss) + 2e-7;

	if (fabs(got - want) <= off)
		return true;
	return broken(t, "%s: the loss is %.9g, plainly %.9g (+- %.2g)", how, got, want, off);
}

/* What the backward pass moves about: the largest sum of absolute gradients of one parameter. Where gradients cancel on their way
 * (a norm of two rows, say), rounding of that size is left. */
static double traffic(const struct known *k, struct rt_program *p)
{
	double most = 0;

	for (int i = 0; i < k->m.n; i++) {
		const float *g = rt_gradient(p, k->mg.node[i]);
		double sum = 0;

		for (int64_t e = 0; g && e < rt_shape_elements(&k->mg.node[i]->shape); e++)
			sum += fabs((double)g[e]);
		most = fmax(most, sum);
	}
	return most * plain_sharpest(k->mg.g, &k->exact);
}

/* The projection of a parameter's gradient on plain_sign(). */
static bool same_gradient(struct trial *t, struct known *k, struct rt_program *p, const struct rt_node *n, const char *how,
			  double relative)
{
	const float *g = rt_gradient(p, n);
	double want, slope, spread = 0, got = 0, sum = 0;

	if (!plain_slope(k->mg.g, k->mg.loss, k->leaves, n, &k->how[0], &want))
		return true;
	for (int i = 1; i < PATTERNS; i++) {
		if (!plain_slope(k->mg.g, k->mg.loss, k->leaves, n, &k->how[i], &slope))
			return true;
		spread = fmax(spread, fabs(slope - want));
	}
	for (int64_t i = 0; g && i < rt_shape_elements(&n->shape); i++) {
		got += (double)g[i] * plain_sign(n, (uint64_t)i);
		sum += fabs((double)g[i]);
	}
	/* the last: what differences lose */
	spread = 32 * spread + relative * (sum + traffic(k, p)) + 1e-8 * (1 + fabs(k->exact.value[k->mg.loss->id][0]));
	if (fabs(got - want) <= spread)
		return true;
	return broken(t, "%s: the gradient of %s%s points %.9g along the signs, by differences %.9g (+- %.2g)", how, n->name,
		      g ? "" : " is none and", got, want, spread);
}

static bool same_gradients(struct trial *t, struct known *k, struct rt_program *p, const char *how, double relative)
{
	bool large = rt_program_parameters(p) > 20000;
	int left = large ? 2 : MADE_STEPS;

	for (int i = 0; i < k->m.n; i++)
		if (k->m.step[i].op == MADE_PARAM && left-- > 0 && !same_gradient(t, k, p, k->mg.node[i], how, relative))
			return false;
	return true;
}

/* After one batch, from the values that they began with. */
static bool same_statistics(struct trial *t, const struct known *k, struct rt_program *p, const char *how)
{
	for (int i = 0; i < k->mg.g->ir.n_calls; i++) {
		const struct rt_call *c = k->mg.g->ir.calls[i];
		double rows = (double)rt_rows(c->in[0]), rate = (double)c->attr.rate;
		const float *got[2];

		/* one that the loss does not depend on is not run */
		if (c->op->id != RT_OP_BATCHNORM || !rt_maker(&p->plan.ir, p->plan.ir.nodes[c->out[1]->id]))
			continue;
		got[0] = rt_value(p, c->in[3]);
		got[1] = rt_value(p, c->in[4]);
		for (int64_t j = 0; j < rt_cols(c->in[0]); j++) {
			double mean = k->exact.value[c->out[1]->id][j], rstd = k->exact.value[c->out[2]->id][j];
			double var = (1 / (rstd * rstd) - (double)c->attr.eps) * rows / (rows - 1);
			double want[2] = { (1 - rate) * k->leaves[c->in[3]->id][j] + rate * mean,
					   (1 - rate) * k->leaves[c->in[4]->id][j] + rate * var };
			double off = 16 * allowed(k, c->in[0]) + 1e-6 * (1 + fabs(mean));

			for (int s = 0; s < 2; s++)
				if (!(fabs((double)got[s][j] - want[s]) <= off * (s ? 1 + fabs(mean) + sqrt(fabs(var)) : 1)))
					return broken(t, "%s: the running %s of %s[%lld] is %.9g, plainly %.9g", how,
						      s ? "variance" : "mean", c->in[0]->name, (long long)j,
						      (double)got[s][j], want[s]);
		}
	}
	return true;
}

struct arm {
	const char *name;
	struct rt_options opt;
	const struct rt_simd *simd; /* NULL: the best of this machine */
};

static bool run_arm(struct trial *t, struct known *k, const struct arm *a, double relative)
{
	struct rt_options opt = a->opt;
	gt_auto(rt_program) *p = NULL;
	struct rt_metrics metrics;
	struct gt_err err = { 0 };

	opt.keep_gradients = true;
	opt.logits_slice_bytes = trial_options(t->m).logits_slice_bytes;
	p = trial_program(t, &k->m, &k->mg, &opt);
	if (!p)
		return false;
	if (a->simd)
		p->cpu.simd = a->simd;
	if (rt_step(p, (const void *const *)k->inputs, &metrics, &err) < 0)
		return broken(t, "%s: %s", a->name, err.msg);
	if (!same_loss(t, k, metrics.loss, a->name))
		return false;
	for (int i = 0; i < k->m.n; i++)
		if (!made_is_leaf(k->m.step[i].op) && k->mg.node[i] != k->mg.loss &&
		    !same_value(t, k, k->mg.node[i], rt_value(p, k->mg.node[i]), a->name))
			return false;
	return same_statistics(t, k, p, a->name) && same_gradients(t, k, p, a->name, relative);
}

bool way_values(struct trial *t)
{
	const struct arm arms[] = {
		{ "each op alone", { .no_fuse = true, .no_reuse = true, .no_winograd = true, .threads = 1 }, NULL },
		{ "fused", { .no_reuse = true, .threads = 2 }, NULL },
		{ "in place", { .poison = true, .threads = 3 }, NULL },
		{ "in place, each op alone", { .poison = true, .no_fuse = true, .threads = 1 }, NULL },
		{ "plain C", { .no_reuse = true, .threads = 2 }, &rt_simd_base },
#if defined(__x86_64__)
		{ "AVX2", { .poison = true, .threads = 1 },
		  __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &rt_simd_avx2 : NULL },
#endif
	};
	struct known k;
	bool good = true;

	if (!know(&k, t->m, 0, false))
		return pass_over(t);
	for (size_t i = 0; good && i < GT_ARRAY_SIZE(arms); i++)
		good = run_arm(t, &k, &arms[i], 4e-6);
	known_clear(&k);
	return good;
}

bool way_low_values(struct trial *t)
{
	static const struct arm arms[] = {
		{ "bf16", { .amp = RT_BF16, .threads = 2, .no_reuse = true }, NULL },
		{ "f16", { .amp = RT_F16, .threads = 1, .poison = true, .scaler = { .use = RT_SCALER_OFF } }, NULL },
	};
	struct known k;
	bool good = true;

	for (int i = 0; good && i < 2; i++) {
		double half = i ? 0x1p-11 : 0x1p-8;

		if (!know(&k, t->m, half, false))
			return pass_over(t);
		/* sums of what cancels in f16 may lose what is below its least normal number */
		good = run_arm(t, &k, &arms[i], 4 * half);
		known_clear(&k);
	}
	return good;
}

/* rt_eval() of a program that trains, and of one that does not, before and after its parameters were changed. */
bool way_inference(struct trial *t)
{
	static const struct rt_options opts[] = {
		{ .poison = true }, { .no_fuse = true, .threads = 1 }, { .keep_gradients = true, .poison = true },
		{ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .no_fuse = true },
	};
	struct known k;
	bool good = true;

	know(&k, t->m, 0, true);
	for (size_t i = 0; good && i < GT_ARRAY_SIZE(opts); i++) {
		char name[32];
		struct made m = k.m;
		struct made_graph mg;
		struct rt_program *p;

		snprintf(name, sizeof(name), "evaluation %d", (int)i);
		m.dropout = true; /* which is none here */
		made_build(&m, MADE_ROWS, &mg, NULL);
		p = trial_program(t, &m, &mg, &opts[i]);
		good = p != NULL;
		for (int again = 0; good && again < 2; again++) {
			struct gt_err err = { 0 };
			double loss = NAN;

			if (!again) { /* other values first */
				for (int s = 0; s < m.n; s++)
					if (m.step[s].op == MADE_PARAM)
						for (int64_t e = 0; e < rt_shape_elements(&mg.node[s]->shape); e++)
							rt_value(p, mg.node[s])[e] *= 0.5f;
				(void)rt_eval(p, (const void *const *)k.inputs, &loss, &err);
				made_load(&m, &mg, p);
			}
			if (rt_eval(p, (const void *const *)k.inputs, &loss, &err) < 0)
				good = broken(t, "%s: %s", name, err.msg);
			good = good && same_loss(t, &k, loss, name);
		}
		rt_program_free(p);
		made_graph_free(&mg);
	}
	known_clear(&k);
	return good;
}
