/* SPDX-License-Identifier: Apache-2.0 */
/* Checks parameters in bf16 only: stochastic rounding of updates must be unbiased and a function of the seed. */
#include <math.h>
#include <string.h>
#include "runtime/cuda/selfcheck.h"

#define COUNT  4099 /* a prime, so that no vector length divides it */
#define STEPS  16
#define LR     0x1p-11f /* one eighth of the distance of bf16 numbers below 1 */
#define SIGMAS 5

/* Trains parameters that start at 1 with gradient 1, and returns their values after some steps. */
static int descend(enum rt_optimizer_kind kind, uint64_t seed, float *ret, struct gt_err *err)
{
	const struct rt_options o = { .device = RT_CUDA, .precision = { .amp = RT_BF16, .no_master = true }, .seed = seed,
				      .optimizer = { .kind = kind, .lr = (double)LR } };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *x = rt_param(g, "x", RT_SHAPE(COUNT), RT_INIT_ONES);
	struct rt_node *loss = rt_dot(g, x, rt_input(g, "weights", RT_F32, RT_SHAPE(COUNT)));
	gt_autofree float *ones = gt_xcalloc(COUNT, sizeof(*ones));
	struct rt_metrics m = { 0 };
	int r = rt_compile(g, loss, &o, &p, err);

	for (int i = 0; i < COUNT; i++)
		ones[i] = 1;
	for (int i = 0; !r && i < STEPS; i++)
		r = rt_step(p, (const void *const[]){ ones }, &m, err);
	return r ? r : rt_read_value(p, x, ret, err);
}

static bool add_row(json_t *rows, const char *name, const char *what, double error, double limit)
{
	bool ok = error <= limit;

	json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "case", name, "type", "bf16", "tensor", what,
					      "error", error, "worst", error, "limit", limit, "ok", ok));
	return ok;
}

int rt_cuda_selfcheck_rounding(uint64_t seed, json_t *rows, struct gt_err *err)
{
	static const struct {
		const char *name;
		enum rt_optimizer_kind kind;
	} optimizers[] = { { "rounding.sgd", RT_SGD }, { "rounding.adamw", RT_ADAMW },
			  { "rounding.adamw8", RT_ADAMW8 } };
	/* a step changes a value by 2^-8 with probability 1/8 */
	const double sigma = 0x1p-8 * sqrt(STEPS * 0.125 * 0.875 / COUNT);
	gt_autofree float *x = gt_xcalloc(COUNT, sizeof(*x)), *again = gt_xcalloc(COUNT, sizeof(*x));
	int failed = 0, r = 0;

	for (size_t w = 0; !r && w < GT_ARRAY_SIZE(optimizers); w++) {
		double sum = 0;

		r = descend(optimizers[w].kind, seed, x, err);
		for (int i = 0; i < COUNT; i++)
			sum += (double)x[i];
		if (!r)
			failed += !add_row(rows, optimizers[w].name, "mean", fabs(sum / COUNT - (1 - STEPS * (double)LR)),
					   SIGMAS * sigma);
		if (!r)
			r = descend(optimizers[w].kind, seed, again, err);
		if (!r)
			failed += !add_row(rows, optimizers[w].name, "same seed", memcmp(x, again, COUNT * sizeof(*x)) != 0, 0);
		if (!r)
			r = descend(optimizers[w].kind, seed + 1, again, err);
		if (!r)
			failed += !add_row(rows, optimizers[w].name, "another seed", memcmp(x, again, COUNT * sizeof(*x)) == 0, 0);
	}
	return r ? r : failed;
}
