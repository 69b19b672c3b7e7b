/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: values, losses and gradients equal the references within the error bound. */
#include <math.h>
#include <string.h>
#include "tests/graphs/known.h"

static bool same_gradients(struct trial *t, const struct known *k, struct rt_program *p, const char *how,
			   double scale)
{
	for (int i = 0; i < k->m.n; i++)
		if (k->m.step[i].op == GEN_PARAM &&
		    !known_slope(t, k, k->mg.node[i], read_gradient(p, k->mg.node[i]), scale, how))
			return false;
	return true;
}

/* Running statistics after one batch, from their start values. */
static bool same_statistics(struct trial *t, const struct known *k, struct rt_program *p, const char *how)
{
	for (int i = 0; i < k->mg.g->ir.n_calls; i++) {
		const struct rt_call *c = k->mg.g->ir.calls[i];
		double rows = (double)rt_rows(c->in[0]), rate = (double)c->attr.rate, less = rows / (rows - 1), x;
		const float *got[2];

		/* a batchnorm is not run if the loss does not depend on it */
		if (c->op->id != RT_OP_BATCHNORM || !rt_ir_producer(&p->plan.ir, p->plan.ir.nodes[c->out[1]->id]))
			continue;
		got[0] = read_value(p, c->in[3]);
		got[1] = read_value(p, c->in[4]);
		x = known_off(k, c->in[0]) + (k->how.level > 1e-6 ? 16 * k->how.level : 0); /* leaves are rounded too */
		for (int64_t j = 0; j < rt_cols(c->in[0]); j++) {
			double mean = k->exact.value[c->out[1]->id][j], rstd = k->exact.value[c->out[2]->id][j];
			double var = (1 / (rstd * rstd) - (double)c->attr.eps) * less;
			double want[2] = { (1 - rate) * k->leaves[c->in[3]->id][j] + rate * mean,
					   (1 - rate) * k->leaves[c->in[4]->id][j] + rate * var };
			double small = 1e-6 * (1 + fabs(var) + less * (double)c->attr.eps);
			double off[2] = { x + 1e-6 * (1 + fabs(mean)), 4 * less * x * (sqrt(fabs(var)) + x) + small };

			for (int s = 0; s < 2; s++)
				if (!(fabs((double)got[s][j] - want[s]) <= off[s]))
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
	const struct rt_simd *simd; /* NULL: the best instruction set of this machine */
};

/* Checks all values that the program keeps. */
static bool same_values(struct trial *t, const struct known *k, struct rt_program *p, const char *how)
{
	for (int i = 0; i < k->m.n; i++)
		if (!gen_is_leaf(k->m.step[i].op) && k->mg.node[i] != k->mg.loss &&
		    !known_value(t, k, k->mg.node[i], read_value(p, k->mg.node[i]), how))
			return false;
	return true;
}

static bool run_arm(struct trial *t, const struct known *k, const struct arm *a)
{
	struct rt_options opt = a->opt;
	gt_auto(rt_program) *p = NULL;
	struct rt_metrics metrics;
	struct gt_err err = { 0 };
	double scale;

	opt.debug.keep_gradients = true;
	opt.memory.logits_slice_bytes = trial_options(t->m).memory.logits_slice_bytes;
	p = trial_program(t, &k->m, &k->mg, &opt);
	if (!p)
		return false;
	if (a->simd)
		((struct rt_cpu_state *)p->state)->cpu.simd = a->simd;
	if (rt_step(p, (const void *const *)k->inputs, &metrics, &err) < 0)
		return broken(t, "%s: %s", a->name, err.msg);
	scale = p->scale.on ? (double)p->scale.scale : 1;
	return known_loss(t, k, metrics.loss, a->name) && same_values(t, k, p, a->name) &&
	       same_statistics(t, k, p, a->name) && same_gradients(t, k, p, a->name, scale);
}

bool variant_values(struct trial *t)
{
	const struct arm arms[] = {
		{ "each op alone", { .debug = { .no_fuse = true, .no_reuse = true, .no_winograd = true }, .threads = 1 }, NULL },
		{ "fused", { .debug.no_reuse = true, .threads = 2 }, NULL },
		{ "in place", { .debug.poison = true, .threads = 3 }, NULL },
		{ "in place, each op alone", { .debug = { .poison = true, .no_fuse = true }, .threads = 1 }, NULL },
		{ "plain C", { .debug.no_reuse = true, .threads = 2 }, &rt_simd_base },
#if defined(__x86_64__)
		{ "AVX2", { .debug.poison = true, .threads = 1 },
		  __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &rt_simd_avx2 : NULL },
#endif
	};
	struct known k;
	bool good;

	if (!know(&k, t->m, (struct plain_how){ 0 }))
		return discard(t);
	known_count(t, &k);
	good = known_agrees(t, &k);
	for (size_t i = 0; good && i < GT_ARRAY_SIZE(arms); i++)
		good = run_arm(t, &k, &arms[i]);
	known_clear(&k);
	return good;
}

/* Compares program variants that round in the same way with one reference. */
static bool run_arms(struct trial *t, const struct gen_program *m, struct plain_how how, const struct arm *arms, size_t n)
{
	struct known k;
	bool good = true;

	if (!know(&k, m, how))
		return discard(t);
	/* the largest number of f16 is 65504 */
	if (arms[0].opt.precision.amp == RT_F16 && known_exceeds(&k, 32000)) {
		known_clear(&k);
		return discard(t);
	}
	for (size_t i = 0; good && i < n; i++)
		good = run_arm(t, &k, &arms[i]);
	known_clear(&k);
	return good;
}

bool variant_reduced_values(struct trial *t)
{
	static const struct {
		struct arm arm;
		struct plain_how how; /* rounding errors: relative, and below the least normal number */
	} arms[] = {
		{ { "bf16", { .precision.amp = RT_BF16, .threads = 2, .debug.no_reuse = true }, NULL }, { .low = 0x1p-8 } },
		{ { "f16", { .precision = { .amp = RT_F16, .scaler = { .use = RT_SCALER_OFF } }, .threads = 1,
			     .debug.poison = true }, NULL },
		  { .low = 0x1p-11, .least = 0x1p-25 } },
	};
	bool good = true;

	for (size_t i = 0; good && i < GT_ARRAY_SIZE(arms); i++)
		good = run_arms(t, t->m, arms[i].how, &arms[i].arm, 1);
	return good;
}

/* The variants without poison run as captured graphs. */
bool variant_values_cuda(struct trial *t)
{
	static const struct arm arms[] = {
		{ "each op alone", { .debug = { .no_fuse = true, .no_reuse = true } }, NULL },
		{ "fused, call by call", { .debug = { .no_reuse = true, .poison = true } }, NULL },
		{ "in place", { .deterministic = true }, NULL },
		{ "in place, each op alone, call by call", { .debug = { .poison = true, .no_fuse = true, .no_pad = true } }, NULL },
	};

	return run_arms(t, t->m, (struct plain_how){ 0 }, arms, GT_ARRAY_SIZE(arms));
}

/* TF32 rounds operands of products to 11 bits, bf16 and f16 round all tensors between ops, fp8 rounds linear layers. */
bool variant_reduced_values_cuda(struct trial *t)
{
	static const struct {
		struct arm arm;
		struct plain_how how; /* level: error of all values that an op reads and writes */
	} arms[] = {
		{ { "tf32", { .precision.tf32 = true, .debug.no_reuse = true }, NULL }, { .low = 0x1p-11 } },
		{ { "bf16", { .precision.amp = RT_BF16, .debug.no_reuse = true, .attention_by = RT_ATTENTION_OWN }, NULL },
		  { .level = 0x1p-8 } },
		{ { "bf16, call by call", { .precision.amp = RT_BF16, .debug = { .poison = true, .no_fuse = true } }, NULL },
		  { .level = 0x1p-8 } },
		{ { "bf16 without f32 parameters", { .precision = { .amp = RT_BF16, .no_master = true }, .debug.no_pad = true },
		    NULL },
		  { .level = 0x1p-8 } },
		{ { "f16", { .precision = { .amp = RT_F16, .scaler = { .init = 64 } }, .debug.no_reuse = true }, NULL },
		  { .level = 0x1p-11, .low = 0x1p-11, .least = 0x1p-25 } },
		{ { "fp8", { .precision = { .amp = RT_BF16, .fp8 = { .use = true } }, .debug.no_reuse = true }, NULL },
		  { .level = 0x1p-8, .low = 0x1p-3, .least = 0x1p-8 } },
	};
	bool good = true;

	for (size_t i = 0; good && i < GT_ARRAY_SIZE(arms); i++)
		good = run_arms(t, t->m, arms[i].how, &arms[i].arm, 1);
	return good;
}

/* Inputs are bytes, which the first call normalises. */
bool variant_pixels(struct trial *t)
{
	static const struct arm arms[] = {
		{ "bytes", { .pixels = { GEN_PIXEL_MEAN, GEN_PIXEL_STD }, .debug.no_reuse = true, .threads = 2 }, NULL },
		{ "bytes, in place", { .pixels = { GEN_PIXEL_MEAN, GEN_PIXEL_STD }, .debug.poison = true, .threads = 1 }, NULL },
		{ "bytes, low", { .pixels = { GEN_PIXEL_MEAN, GEN_PIXEL_STD }, .precision.amp = RT_BF16, .threads = 1 }, NULL },
	};
	struct gen_program m = *t->m;
	struct plain_how low = { .low = 0x1p-8, .level = variants_device == RT_CUDA ? 0x1p-8 : 0 }; /* CUDA: all tensors */

	if (!trial_has(&m, GEN_INPUT))
		return discard(t);
	m.pixels = true;
	return run_arms(t, &m, (struct plain_how){ 0 }, arms, 2) && run_arms(t, &m, low, arms + 2, 1);
}

static void halve(struct rt_program *p, const struct rt_node *n)
{
	gt_autofree float *w = gt_xcalloc((size_t)rt_shape_elements(&n->shape), sizeof(*w));

	if (rt_read_value(p, n, w, NULL))
		return;
	for (int64_t i = 0; i < rt_shape_elements(&n->shape); i++)
		w[i] *= 0.5f;
	(void)rt_write_param(p, n, w, NULL);
}

/* Changes the parameters and restores them, because values computed once from parameters must be recomputed. */
static void change_and_back(const struct known *k, struct rt_program *p)
{
	double loss;

	for (int i = 0; i < k->m.n; i++)
		if (k->m.step[i].op == GEN_PARAM)
			halve(p, k->mg.node[i]);
	(void)rt_eval(p, (const void *const *)k->inputs, &loss, NULL);
	gen_load(&k->m, &k->mg, p);
}

static bool evaluate(struct trial *t, const struct known *k, const struct rt_options *opt, const char *how)
{
	gt_auto(rt_program) *p = trial_program(t, &k->m, &k->mg, opt);
	struct gt_err err = { 0 };
	double loss = NAN;

	if (!p)
		return false;
	for (int again = 0; again < 2; again++) {
		if (!again)
			change_and_back(k, p);
		if (rt_eval(p, (const void *const *)k->inputs, &loss, &err) < 0)
			return broken(t, "%s: %s", how, err.msg);
		if (!known_loss(t, k, loss, how) || !same_values(t, k, p, how))
			return false;
	}
	return true;
}

/* rt_eval() of a training program and of an inference program, both without dropout. */
bool variant_inference(struct trial *t)
{
	static const struct arm arms[] = {
		{ "evaluation", { .debug.poison = true }, NULL },
		{ "evaluation, every value kept", { .debug.no_reuse = true, .threads = 2 }, NULL },
		{ "evaluation, each op alone", { .debug = { .no_fuse = true, .no_reuse = true }, .threads = 1 }, NULL },
		{ "evaluation beside a backward pass", { .debug = { .keep_gradients = true, .poison = true } }, NULL },
		{ "evaluation between updates",
		  { .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .debug = { .no_fuse = true, .no_reuse = true } }, NULL },
	};
	struct known k;
	bool good = true;

	know(&k, t->m, (struct plain_how){ .eval = true });
	for (size_t i = 0; good && i < GT_ARRAY_SIZE(arms); i++)
		good = evaluate(t, &k, &arms[i].opt, arms[i].name);
	known_clear(&k);
	return good;
}
