/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the loss scaler: across overflows of gradients and non-finite losses, it changes exactly as on the CPU, skips
 * the same updates, and training gives the same weights.
 */
#include <math.h>
#include <string.h>
#include "runtime/cuda/selfcheck.h"

#define ROWS	32
#define COLS	17
#define CLASSES 10
#define UPDATES 26
#define SET_AT	18 /* step where the scale is set from outside, as a checkpoint does */
enum { CPU, EAGER, CAPTURED, N_RUNS };

struct traces {
	float scale[UPDATES], skipped[UPDATES], loss[UPDATES], norm[UPDATES];
	float end[4]; /* updates done and skipped; scale; number of updates since its last change */
};

struct scaler_case {
	const char *name;
	enum rt_check_type type;
	double init;
	int accum;
	double clip;
};
static const struct scaler_case cases[] = {
	/* 2^24 times the first gradient, up to 1/32, overflows f16 */
	{ "scaler", RT_CHECK_F16, 0x1p24, 1, 0 },
	{ "scaler.accum.clip", RT_CHECK_F16, 0x1p24, 2, 0.5 },
	/* f32 holds the gradients, but not their squares */
	{ "scaler.large", RT_CHECK_F32, 0x1p90, 2, 0.5 },
};

/* One number of the batch is infinite in some updates: in consecutive ones, in a single one, and only in the first
 * batch of one. */
static bool spoilt(int update, int batch)
{
	return update == 6 || update == 7 || (update == 14 && batch == 0);
}

static int train(struct rt_program *p, uint64_t seed, int accum, bool late, struct traces *ret, struct gt_err *err)
{
	float x[ROWS * COLS];
	int32_t y[ROWS];
	double scale = 0;
	int64_t held = 0;
	struct rt_metrics m = { 0 };
	int r = 0;

	for (int t = 0; !r && t < UPDATES; t++) {
		if (t == SET_AT) {
			r = rt_wait(p, err);
			rt_set_scaler(p, 1024, 2);
		}
		for (int b = 0; !r && b < accum; b++) {
			for (size_t i = 0; i < GT_ARRAY_SIZE(x); i++)
				x[i] = rt_random_normal(seed, 200 + (uint64_t)(t % 3 * 8 + b), i);
			for (int i = 0; i < ROWS; i++)
				y[i] = (int32_t)(rt_random_u64(seed, 300 + (uint64_t)(t % 3 * 8 + b), (uint64_t)i) % CLASSES);
			if (spoilt(t, b))
				x[5] = HUGE_VALF;
			r = rt_step(p, (const void *[]){ x, y }, &m, err);
		}
		ret->scale[t] = (float)m.loss_scale;
		ret->loss[t] = isfinite(m.update_loss) ? (float)m.update_loss : -1;
		/* a device reports an update with the loss of the next one; setting the scale at SET_AT also reports
		 * the previous one */
		if (!late || (t && t != SET_AT)) {
			ret->skipped[t - late] = m.skipped;
			ret->norm[t - late] = m.skipped ? 0 : (float)m.grad_norm;
		}
	}
	if (!r)
		r = rt_wait(p, err);
	rt_get_scaler(p, &scale, &held);
	ret->end[0] = (float)m.step;
	ret->end[1] = (float)rt_skipped_updates(p);
	ret->end[2] = (float)scale;
	ret->end[3] = (float)held;
	return r;
}

static int run(const struct scaler_case *c, const struct rt_graph *g, struct rt_node *loss, uint64_t seed, int how,
	       struct traces *ret, struct gt_err *err)
{
	struct rt_options o = { .device = how == CPU ? RT_CPU : RT_CUDA, .seed = seed, .accum = c->accum, .clip_norm = c->clip,
				.precision = { .amp = c->type == RT_CHECK_F16 ? RT_F16 : RT_F32,
					       .scaler = { .use = RT_SCALER_ON, .init = c->init, .interval = 3 } },
				.debug = { .poison = how == EAGER, .no_reuse = how == EAGER },
				.optimizer = { .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 } };
	gt_auto(rt_program) *p = NULL;
	int r = rt_compile(g, loss, &o, &p, err);

	return r ? r : train(p, seed, c->accum, how != CPU, ret, err);
}

static int check(const struct scaler_case *c, uint64_t seed, json_t *rows, int *failed, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, ROWS, (const int64_t[]){ COLS, 40, CLASSES }, 3);
	struct traces *t = gt_xcalloc(N_RUNS, sizeof(*t));
	int r = 0;

	for (int k = 0; !r && k < N_RUNS; k++)
		r = run(c, g, loss, seed, k, &t[k], err);
	if (!r) {
		/* the two updates without a report */
		t[CPU].skipped[SET_AT - 1] = t[CPU].skipped[UPDATES - 1] = 0;
		t[CPU].norm[SET_AT - 1] = t[CPU].norm[UPDATES - 1] = 0;
		*failed += !rt_check_bits(c->type, c->name, "scales", t[CPU].scale, t[EAGER].scale, UPDATES, rows);
		*failed += !rt_check_bits(c->type, c->name, "skipped", t[CPU].skipped, t[EAGER].skipped, UPDATES, rows);
		*failed += !rt_check_bits(c->type, c->name, "at the end", t[CPU].end, t[EAGER].end, 4, rows);
		*failed += !rt_check_compare(c->type, c->name, true, "losses", t[CPU].loss, t[EAGER].loss, UPDATES, rows);
		*failed += !rt_check_compare(c->type, c->name, true, "norms", t[CPU].norm, t[EAGER].norm, UPDATES, rows);
		*failed += !rt_check_bits(c->type, c->name, "all, captured", t[EAGER].scale, t[CAPTURED].scale,
					  (int64_t)(sizeof(*t) / sizeof(float)), rows);
	}
	free(t);
	return r ? gt_fail_prefix(err, "%s", c->name) : 0;
}

int rt_cuda_selfcheck_scaler(uint64_t seed, json_t *rows, struct gt_err *err)
{
	int failed = 0, r = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(cases); i++)
		r = check(&cases[i], seed, rows, &failed, err);
	return r ? r : failed;
}
