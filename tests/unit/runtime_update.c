/* SPDX-License-Identifier: Apache-2.0 */
/* Operations between gradients and parameters: accumulation, clipping, the loss scale, Adam and 8-bit AdamW. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/math/map8.h"
#include "tests/unit/check_runtime.h"

#define N	37

static struct rt_program *compile(struct rt_graph *g, struct rt_node *loss, struct rt_options opt)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	opt.seed = 3;
	ck_assert_msg(rt_compile(g, loss, &opt, &p, &err) == 0, "%s", err.msg);
	return p;
}

/* One parameter of n elements whose gradient is the step's input. */
static struct rt_program *one_param(struct rt_graph *g, int64_t n, struct rt_options opt)
{
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(n), RT_INIT_NORMAL(1));

	return compile(g, rt_dot(g, w, rt_input(g, "gradient", RT_F32, RT_SHAPE(n))), opt);
}

static struct rt_metrics step(struct rt_program *p, const float *gradient)
{
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };

	ck_assert_msg(rt_step(p, (const void *[]){ gradient }, &m, &err) == 0, "%s", err.msg);
	return m;
}

static void random_gradient(float *g, int64_t n, uint64_t t)
{
	for (int64_t i = 0; i < n; i++)
		g[i] = rt_random_normal(11, t, (uint64_t)i) * (i % 5 ? 1 : 1e-4f);
}

START_TEST(adam_follows_its_definition)
{
	gt_auto(rt_graph) *graph = rt_graph_new();
	const double lr = 1e-2, b1 = 0.9, b2 = 0.999, eps = 1e-8, wd = 0.05;
	gt_auto(rt_program) *p = one_param(graph, N, (struct rt_options){ .optimizer = { .kind = RT_ADAM, .lr = lr,
										 .weight_decay = wd } });
	float *have = rt_value(p, rt_graph_leaf(graph, 0)), g[N];
	double w[N], m[N] = { 0 }, v[N] = { 0 };

	for (int i = 0; i < N; i++)
		w[i] = (double)have[i];
	for (uint64_t t = 1; t <= 100; t++) {
		random_gradient(g, N, t);
		step(p, g);
		for (int i = 0; i < N; i++) {
			double d = (double)g[i] + wd * w[i];

			m[i] = b1 * m[i] + (1 - b1) * d;
			v[i] = b2 * v[i] + (1 - b2) * d * d;
			w[i] -= lr * (m[i] / (1 - pow(b1, (double)t))) / (sqrt(v[i] / (1 - pow(b2, (double)t))) + eps);
		}
	}
	for (int i = 0; i < N; i++)
		ck_assert_double_eq_tol((double)have[i], w[i], 3e-6 * fmax(1, fabs(w[i])));
}
END_TEST

/* Properties of the published construction: the values of each decade, both ends, and no two values in one cell. */
START_TEST(the_8bit_maps_are_the_published_ones)
{
	for (int s = 0; s < 2; s++) {
		const struct rt_map8 *map = rt_map8(s);

		for (int i = 0; i < 255; i++)
			ck_assert_msg(map->value[i] < map->value[i + 1], "codes %d and %d of map %d", i, i + 1, s);
		ck_assert(map->value[255] == 1.0f && map->value[map->zero] == 0.0f);
		ck_assert_int_eq(map->zero, s ? 127 : 0);
		ck_assert_double_eq_tol((double)map->value[map->zero + 1], s ? 5.5e-7 : 3.25e-7, 1e-13);
		ck_assert_double_eq_tol((double)map->value[254], 1 - 0.45 / (s ? 64 : 128), 1e-6);
		for (uint32_t i = 0, code = (uint32_t)map->zero; i < RT_MAP8_CELLS; i++) {
			ck_assert_uint_eq((uint32_t)map->code[i], code);
			code += isfinite(map->border[i]);
			if (i + 1 == RT_MAP8_CELLS)
				ck_assert_uint_eq(code, 255);
		}
	}
}
END_TEST

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Computes all values as bitsandbytes does (create_dynamic_map, 7 exponent bits of 8). A decade is divided into equal
 * steps, twice as many as the next lower one, and the values are the middles of the steps. The signed map has both signs
 * of each value, the unsigned map twice as many values. Both also have 0 and 1.
 */
START_TEST(the_8bit_maps_are_made_by_the_published_algorithm)
{
	bool both = _i;
	double value[256], decade = 1e-6;
	int n = 0;

	for (int i = 0; i < 7; i++, decade *= 10) {
		int items = 1 << (both ? i : i + 1);

		for (int k = 0; k < items; k++) {
			double mean = decade * (0.1 + 0.9 * (k + 0.5) / items);

			value[n++] = mean;
			if (both)
				value[n++] = -mean;
		}
	}
	value[n++] = 0;
	value[n++] = 1;
	ck_assert_int_eq(n, 256);
	qsort(value, 256, sizeof(*value), by_value);
	for (int i = 0; i < 256; i++)
		ck_assert_msg(fabs((double)rt_map8(both)->value[i] - value[i]) <= 2e-7 * fabs(value[i]),
			      "code %d is %.9g, not %.9g", i, (double)rt_map8(both)->value[i], value[i]);
}
END_TEST

static int nearest(const float *value, double x)
{
	int best = 0;

	for (int i = 1; i < 256; i++)
		if (fabs((double)value[i] - x) < fabs((double)value[best] - x))
			best = i;
	return best;
}

/*
 * The algorithm of the paper, element by element with linear search, for 4100 elements, so that the last block is short.
 * A code may differ for a number at the border of two cells. That changes the parameter by far less than the tolerance.
 */
START_TEST(adamw8_follows_its_definition)
{
	enum { BIG = 4100, BLOCKS = (BIG + RT_MAP8_BLOCK - 1) / RT_MAP8_BLOCK };
	static double w[BIG], m[BIG], v[BIG], exact_m[BIG], exact_v[BIG], exact_w[BIG];
	static float g[BIG];
	gt_auto(rt_graph) *graph = rt_graph_new();
	const double lr = 1e-3, b1 = 0.9, b2 = 0.999, eps = 1e-8, wd = 0.05;
	gt_auto(rt_program) *p = one_param(graph, BIG, (struct rt_options){ .optimizer = { .kind = RT_ADAMW8, .lr = lr,
										   .weight_decay = wd } });
	float *have = rt_value(p, rt_graph_leaf(graph, 0));
	double worst = 0, from_f32 = 0;

	for (int i = 0; i < BIG; i++)
		exact_w[i] = w[i] = (double)have[i];
	for (uint64_t t = 1; t <= 100; t++) {
		random_gradient(g, BIG, t);
		step(p, g);
		for (int b = 0; b < BLOCKS; b++) {
			int end = GT_MIN(BIG, (b + 1) * RT_MAP8_BLOCK);
			double top_m = 0, top_v = 0;

			for (int i = b * RT_MAP8_BLOCK; i < end; i++) {
				double d = (double)g[i], c1 = 1 - pow(b1, (double)t), c2 = 1 - pow(b2, (double)t);

				m[i] = b1 * m[i] + (1 - b1) * d;
				v[i] = b2 * v[i] + (1 - b2) * d * d;
				w[i] -= w[i] * lr * wd + lr * (m[i] / c1) / (sqrt(v[i] / c2) + eps);
				exact_m[i] = b1 * exact_m[i] + (1 - b1) * d;
				exact_v[i] = b2 * exact_v[i] + (1 - b2) * d * d;
				exact_w[i] -= exact_w[i] * lr * wd + lr * (exact_m[i] / c1) / (sqrt(exact_v[i] / c2) + eps);
				top_m = fmax(top_m, fabs(m[i]));
				top_v = fmax(top_v, v[i]);
			}
			for (int i = b * RT_MAP8_BLOCK; i < end; i++) {
				m[i] = (double)rt_map8(true)->value[nearest(rt_map8(true)->value, m[i] / top_m)] * top_m;
				v[i] = (double)rt_map8(false)->value[nearest(rt_map8(false)->value, v[i] / top_v)] * top_v;
			}
		}
	}
	for (int i = 0; i < BIG; i++) {
		worst = fmax(worst, fabs((double)have[i] - w[i]));
		if (i % 5) /* 8 bits cannot represent a small number in a block of large ones */
			from_f32 = fmax(from_f32, fabs((double)have[i] - exact_w[i]));
	}
	ck_assert_msg(worst < 0.05 * lr, "off by %g steps from the definition", worst / lr);
	ck_assert_msg(from_f32 < 10 * lr, "off by %g steps from f32 after 100", from_f32 / lr);
}
END_TEST

static const struct rt_gpt_config whole = { .batch = 8, .seq = 16, .layers = 2, .width = 32, .heads = 2, .vocab = 67 };

static struct rt_program *gpt(struct rt_graph *g, int64_t batch, struct rt_options opt)
{
	struct rt_gpt_config k = whole;

	k.batch = batch;
	return compile(g, rt_model_gpt(g, &k), opt);
}

#define CURVE	10
/*
 * Returns mean losses of 100 steps each, on text of which half follows from the preceding text, and the last step's
 * loss.
 */
static double curve(enum rt_optimizer_kind kind, double ret[CURVE])
{
	gt_auto(rt_graph) *graph = rt_graph_new();
	struct rt_gpt_config k = { .batch = 8, .seq = 16, .layers = 1, .width = 64, .heads = 2, .vocab = 67 };
	gt_auto(rt_program) *p = compile(graph, rt_model_gpt(graph, &k), (struct rt_options){
		.seed = 1, .threads = 1, .optimizer = { .kind = kind, .lr = 1e-3, .weight_decay = 0.01 } });
	struct rt_metrics m = { 0 };

	for (int w = 0; w < CURVE; w++) {
		ret[w] = 0;
		for (int t = 100 * w; t < 100 * (w + 1); t++) {
			int32_t x[128], y[128];

			for (uint64_t i = 0; i < 128; i++) {
				uint64_t drawn = rt_random_u64(8, (uint64_t)t, i);

				x[i] = (int32_t)(drawn % 67);
				y[i] = drawn >> 40 & 1 ? (x[i] * 5 + 1) % 67 : (int32_t)((drawn >> 20) % 67);
			}
			ck_assert_int_eq(rt_step(p, (const void *[]){ x, y }, &m, NULL), 0);
			ret[w] += m.loss / 100;
		}
	}
	return m.loss;
}

/* The numbers differ but the model learns equally well: within 1 % of f32 moments over each 100 of 1000 steps. */
START_TEST(adamw8_learns_like_adamw)
{
	double full[CURVE], eight[CURVE];

	ck_assert(fabs(curve(RT_ADAMW, full) - curve(RT_ADAMW8, eight)) > 0);
	ck_assert_double_lt(full[CURVE - 1], 0.85 * full[0]);
	for (int w = 0; w < CURVE; w++)
		ck_assert_msg(fabs(eight[w] / full[w] - 1) < 0.01, "steps %d on: %g, of f32 moments %g", 100 * w, eight[w],
			      full[w]);
}
END_TEST

/* Four batches of two rows equal one of eight. i: other options. */
START_TEST(accumulated_batches_are_one_large_batch)
{
	gt_auto(rt_graph) *ga = rt_graph_new(), *gb = rt_graph_new();
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 }, .clip_norm = _i == 3 ? 0.5 : 0,
				  .debug = { .no_fuse = _i == 1, .no_early_update = _i == 2, .poison = _i == 0,
					     .zero_gradients = _i == 5 },
				  .precision.amp = _i == 4 ? RT_BF16 : RT_F32 };
	gt_auto(rt_program) *a = gpt(ga, 8, opt), *b = NULL;
	int32_t tokens[8 * 16], targets[8 * 16];
	struct rt_metrics m = { 0 };

	opt.accum = 4;
	b = gpt(gb, 2, opt);
	for (uint64_t t = 0; t < 5; t++) {
		double mean = 0, loss;

		for (uint64_t i = 0; i < 128; i++) {
			tokens[i] = (int32_t)(rt_random_u64(1, t, i) % 67);
			targets[i] = (tokens[i] * 5 + 1) % 67;
		}
		ck_assert_int_eq(rt_step(a, (const void *[]){ tokens, targets }, &m, NULL), 0);
		loss = m.loss;
		for (int i = 0, at = 0; i < 4; i++, at += 32) {
			ck_assert_int_eq(rt_step(b, (const void *[]){ tokens + at, targets + at }, &m, NULL), 0);
			ck_assert_int_eq(m.updated, i == 3);
			ck_assert_int_eq(m.step, (int64_t)t + (i == 3));
			mean += m.loss / 4;
		}
		ck_assert_double_eq_tol(mean, loss, _i == 4 ? 1e-4 : 1e-5);
	}
	for (int i = 0; i < rt_graph_leaves(ga); i++) {
		const struct rt_node *n = rt_graph_leaf(ga, i);
		const float *x = rt_node_is_param(n) ? rt_value(a, n) : NULL, *y = rt_value(b, rt_graph_leaf(gb, i));

		for (int64_t k = 0; x && k < rt_shape_elements(rt_node_shape(n)); k++)
			ck_assert_msg(fabsf(x[k] - y[k]) < (_i == 4 ? 1e-3f : 2e-5f), "%s[%lld]: %g and %g", rt_node_name(n),
				      (long long)k, (double)x[k], (double)y[k]);
	}
}
END_TEST

/* Three batches with weights 1, 2 and 5: plain SGD uses exactly the weighted mean of their gradients. */
START_TEST(batches_count_by_their_weight)
{
	static const double weight[] = { 1, 2, 5 };
	gt_auto(rt_graph) *graph = rt_graph_new();
	gt_auto(rt_program) *p = one_param(graph, N, (struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 1 }, .accum = 3 });
	float *w = rt_value(p, rt_graph_leaf(graph, 0)), before[N], g[N];
	double want[N] = { 0 };

	memcpy(before, w, sizeof(before));
	for (uint64_t t = 0; t < 3; t++) {
		random_gradient(g, N, t);
		rt_set_weight(p, weight[t]);
		ck_assert(!memcmp(before, w, sizeof(before)));
		step(p, g);
		for (int i = 0; i < N; i++)
			want[i] += (double)g[i] * weight[t] / 8;
	}
	for (int i = 0; i < N; i++)
		ck_assert_double_eq_tol((double)(before[i] - w[i]), want[i], 1e-6);
}
END_TEST

/* x (4,6) a (5,6)' b (3,5)': two parameters; the loss depends on their product. */
struct two {
	struct rt_node *a, *b;
	struct rt_program *p;
	float x[24], weights[12];
};

static void two_params(struct rt_graph *g, struct two *t, struct rt_options opt)
{
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(4, 6));

	t->a = rt_param(g, "a", RT_SHAPE(5, 6), RT_INIT_NORMAL(1));
	t->b = rt_param(g, "b", RT_SHAPE(3, 5), RT_INIT_NORMAL(1));
	t->p = compile(g, rt_dot(g, rt_linear(g, rt_linear(g, x, t->a, NULL), t->b, NULL),
				 rt_input(g, "weights", RT_F32, RT_SHAPE(4, 3))), opt);
	for (uint64_t i = 0; i < 24; i++)
		t->x[i] = rt_random_normal(3, 3, i);
	for (uint64_t i = 0; i < 12; i++)
		t->weights[i] = rt_random_normal(3, 4, i);
}

static double squares(struct rt_program *p, const struct rt_node *n)
{
	double s = 0;

	for (int64_t i = 0; i < rt_shape_elements(rt_node_shape(n)); i++)
		s += (double)rt_gradient(p, n)[i] * (double)rt_gradient(p, n)[i];
	return s;
}

START_TEST(clipping_is_by_the_global_norm)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_metrics m;
	struct two t;
	float before[15];
	double norm;

	two_params(g, &t, (struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 1 }, .clip_norm = 0.25,
					       .debug.keep_gradients = true });
	memcpy(before, rt_value(t.p, t.b), sizeof(before));
	ck_assert_int_eq(rt_step(t.p, (const void *[]){ t.x, t.weights }, &m, NULL), 0);
	norm = sqrt(squares(t.p, t.a) + squares(t.p, t.b));
	ck_assert_double_gt(norm, 1);
	ck_assert_double_eq_tol(m.grad_norm, norm, 1e-6 * norm);
	for (int i = 0; i < 15; i++)
		ck_assert_double_eq_tol((double)(rt_value(t.p, t.b)[i] - before[i]),
					-(double)rt_gradient(t.p, t.b)[i] * 0.25 / (norm + 1e-6), 1e-6);
	rt_program_free(t.p);
}
END_TEST

/*
 * The loss scale grows while gradients are finite. Their squares overflow a float long before. The reported norm is
 * therefore that of the unscaled gradients. 0: they are small. 1: no scale; the gradients themselves are large.
 */
START_TEST(clipping_accepts_any_finite_gradient)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_metrics m;
	struct two t;
	float before[15];
	double unscaled = _i ? 1 : 0x1p-100, norm;

	two_params(g, &t, (struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 1 }, .clip_norm = 0.25,
					       .debug.keep_gradients = true,
					       .precision.scaler = { .use = _i ? RT_SCALER_OFF : RT_SCALER_ON, .init = 0x1p100 } });
	for (int i = 0; _i && i < 12; i++)
		t.weights[i] *= 1e20f;
	memcpy(before, rt_value(t.p, t.b), sizeof(before));
	ck_assert_int_eq(rt_step(t.p, (const void *[]){ t.x, t.weights }, &m, NULL), 0);
	ck_assert(m.updated);
	norm = sqrt(squares(t.p, t.a) + squares(t.p, t.b)) * unscaled;
	ck_assert_double_gt(norm, 1);
	ck_assert_double_eq_tol(m.grad_norm, norm, 1e-6 * norm);
	for (int i = 0; i < 15; i++)
		ck_assert_double_eq_tol((double)(rt_value(t.p, t.b)[i] - before[i]),
					-(double)rt_gradient(t.p, t.b)[i] * unscaled * 0.25 / (norm + 1e-6), 1e-6);
	rt_program_free(t.p);
}
END_TEST

/* The loss is finite. The gradient of a, a product of two large numbers, is not. */
START_TEST(a_gradient_that_is_not_finite_stops_clipping)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct gt_err err = { 0 };
	struct rt_metrics m;
	struct two t;
	float before[30];

	two_params(g, &t, (struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 1 }, .clip_norm = 1 });
	memset(rt_value(t.p, t.a), 0, sizeof(before));
	memset(before, 0, sizeof(before));
	t.x[7] = 1e30f;
	rt_value(t.p, t.b)[2] = 1e30f;
	ck_assert_int_eq(rt_step(t.p, (const void *[]){ t.x, t.weights }, &m, &err), -EDOM);
	ck_assert_msg(strstr(err.msg, "first not finite: d a; no parameter"), "said: %s", err.msg);
	ck_assert(!memcmp(before, rt_value(t.p, t.a), sizeof(before)));
	rt_program_free(t.p);
}
END_TEST

/*
 * Overflows at updates 3, 4 and 9: the scale halves there and doubles after three good ones in a row. A skipped update
 * changes neither the parameters nor the step count.
 */
START_TEST(the_loss_scale_follows_the_overflows)
{
	static const double scale[] = { 1024, 1024, 1024, 512, 256, 256, 256, 512, 512, 256, 256, 256 };
	gt_auto(rt_graph) *graph = rt_graph_new();
	gt_auto(rt_program) *p = one_param(graph, N, (struct rt_options){
		.optimizer = { .kind = RT_SGD, .lr = 0.5 }, .accum = 2,
		.precision.scaler = { .use = RT_SCALER_ON, .init = 1024, .interval = 3 } });
	float *w = rt_value(p, rt_graph_leaf(graph, 0)), before[N], g[N];
	int64_t steps = 0;

	for (uint64_t t = 0; t < GT_ARRAY_SIZE(scale); t++) {
		bool overflow = t == 2 || t == 3 || t == 8;
		struct rt_metrics m;

		memcpy(before, w, sizeof(before));
		random_gradient(g, N, t);
		g[5] = overflow ? 1e37f : g[5]; /* finite here, not after scaling */
		m = step(p, g);
		ck_assert(!m.updated && !m.skipped);
		ck_assert(!memcmp(before, w, sizeof(before)));
		random_gradient(g, N, t + 100);
		m = step(p, g);
		steps += !overflow;
		ck_assert_msg(m.loss_scale == scale[t], "update %d: scale %g, not %g", (int)t, m.loss_scale, scale[t]);
		ck_assert_int_eq(m.skipped, overflow);
		ck_assert_int_eq(m.updated, !overflow);
		ck_assert_int_eq(m.step, steps);
		ck_assert_int_eq(!memcmp(before, w, sizeof(before)), overflow);
	}
}
END_TEST

START_TEST(a_loss_that_stays_infinite_is_located)
{
	gt_auto(rt_graph) *graph = rt_graph_new();
	gt_auto(rt_program) *p = one_param(graph, N, (struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 0.5 },
									     .precision.scaler = { .use = RT_SCALER_ON } });
	struct rt_metrics m;
	struct gt_err err = { 0 };
	double scale;
	int64_t tracker;
	float g[N] = { 0 };
	int i = 0;

	g[4] = NAN;
	while (!rt_step(p, (const void *[]){ g }, &m, &err))
		ck_assert(m.skipped && i++ < 100);
	ck_assert_int_eq(i, 24);
	ck_assert_msg(err.code == EDOM && strstr(err.msg, "first not finite: gradient"), "said: %s", err.msg);
	g[4] = 0;
	rt_get_scaler(p, &scale, &tracker);
	ck_assert_double_eq(scale, 65536 * ldexp(1, -24));
	rt_set_scaler(p, 65536, 1999);
	m = step(p, g);
	ck_assert(m.updated && m.loss_scale == 65536);
	rt_get_scaler(p, &scale, &tracker);
	ck_assert_double_eq(scale, 131072);
	ck_assert_int_eq(tracker, 0);
}
END_TEST

TCase *case_update(void)
{
	TCase *t = tcase_create("update");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, adam_follows_its_definition);
	tcase_add_test(t, the_8bit_maps_are_the_published_ones);
	tcase_add_loop_test(t, the_8bit_maps_are_made_by_the_published_algorithm, 0, 2);
	tcase_add_test(t, adamw8_follows_its_definition);
	tcase_add_test(t, adamw8_learns_like_adamw);
	tcase_add_loop_test(t, accumulated_batches_are_one_large_batch, 0, 6);
	tcase_add_test(t, batches_count_by_their_weight);
	tcase_add_test(t, clipping_is_by_the_global_norm);
	tcase_add_loop_test(t, clipping_accepts_any_finite_gradient, 0, 2);
	tcase_add_test(t, a_gradient_that_is_not_finite_stops_clipping);
	tcase_add_test(t, the_loss_scale_follows_the_overflows);
	tcase_add_test(t, a_loss_that_stays_infinite_is_located);
	return t;
}
