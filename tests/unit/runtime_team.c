/* SPDX-License-Identifier: Apache-2.0 */
/* Teams smaller than requested, updates without effective samples, and profiles of several batches. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cpu/conv.h"
#include "runtime/cpu/reduced.h"
#include "tests/unit/check_runtime.h"

/*
 * OMP_THREAD_LIMIT applies to a whole process. An active region without nested parallelism limits one call in the same
 * way: one thread runs.
 */
static void convolve_alone(const struct rt_conv *s, enum rt_conv_kind kind, int threads, float *x, float *w, float *y)
{
	size_t bytes = rt_conv_own_scratch(s, kind, threads);
	float *scratch = gt_xcalloc(1, bytes);

	for (size_t i = 0; i < bytes / sizeof(*scratch); i++)
		scratch[i] = NAN; /* memory that nothing writes must not be read */
	omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp master
	rt_conv_own(s, kind, threads, x, w, y, scratch);
	free(scratch);
}

START_TEST(a_smaller_team_sums_its_own_parts)
{
	const struct rt_conv s = { .n = 5, .h = 6, .w = 6, .c = 4, .oh = 3, .ow = 3, .o = 8, .kh = 3, .kw = 3, .stride = 2,
				   .pad = 1, .groups = 2 };
	enum { NX = 5 * 36 * 4, NW = 8 * 2 * 9, NY = 5 * 9 * 8 };
	static float x[NX], y[NY], one[NW], many[NW];
	float *scratch = gt_xcalloc(1, rt_conv_own_scratch(&s, RT_CONV_BWD_W, 1));

	for (uint64_t i = 0; i < NX; i++)
		x[i] = rt_random_normal(1, 1, i);
	for (uint64_t i = 0; i < NY; i++)
		y[i] = rt_random_normal(1, 2, i);
	rt_conv_own(&s, RT_CONV_BWD_W, 1, x, one, y, scratch);
	convolve_alone(&s, RT_CONV_BWD_W, 3, x, many, y);
	ck_assert_mem_eq(one, many, sizeof(one));
	free(scratch);
}
END_TEST

/* dw (O,C/g,KH,KW) by its definition. */
static void define(const struct rt_conv *s, const float *x, const float *dy, double *dw)
{
	int64_t inner = s->c / s->groups, outer = s->o / s->groups, taps = s->kh * s->kw;

	for (int64_t i = 0; i < s->n * s->oh * s->ow * taps; i++) {
		int64_t p = i / taps, kh = i % taps / s->kw, kw = i % s->kw, image = p / s->ow / s->oh;
		int64_t h = p / s->ow % s->oh * s->stride - s->pad + kh, w = p % s->ow * s->stride - s->pad + kw;
		const float *from = x + ((image * s->h + h) * s->w + w) * s->c;

		if (h < 0 || h >= s->h || w < 0 || w >= s->w)
			continue;
		for (int64_t o = 0; o < s->o; o++)
			for (int64_t c = 0; c < inner; c++)
				dw[((o * inner + c) * s->kh + kh) * s->kw + kw] +=
					(double)dy[p * s->o + o] * (double)from[o / outer * inner + c];
	}
}

/* With the library and the requested number of threads, but fewer threads run. Scratch memory contains NaN. */
static void library(const struct rt_conv *s, int threads, int come, float *x, float *dw, float *dy)
{
	int64_t bytes = rt_conv_library_scratch(s, RT_CONV_BWD_W, false, threads);
	float *scratch = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);

	memset(scratch, 0xff, (size_t)bytes);
	omp_set_max_active_levels(come > 1 ? 8 : 1);
#pragma omp parallel num_threads(2) if (come == 1)
#pragma omp master
	rt_conv_library(s, RT_CONV_BWD_W, false, threads, x, dw, dy, scratch);
	free(scratch);
}

/*
 * The batch is split into parts that threads claim. The sums have the same bits for any assignment of parts to threads.
 */
START_TEST(parts_of_a_batch_are_summed_in_their_order)
{
	static const struct rt_conv shapes[] = {
		/* shapes: parts of two sizes; weights in another order; few channels; groups */
		{ 9, 48, 47, 16, .o = 32, .oh = 24, .ow = 24, .kh = 3, .kw = 3, .stride = 2, .pad = 1, .groups = 1 },
		{ 16, 32, 32, 32, .o = 64, .oh = 16, .ow = 16, .kh = 1, .kw = 1, .stride = 2, .groups = 1 },
		{ 8, 32, 32, 3, .o = 16, .oh = 32, .ow = 32, .kh = 3, .kw = 3, .stride = 1, .pad = 1, .groups = 1 },
		{ 11, 32, 32, 32, .o = 32, .oh = 16, .ow = 16, .kh = 3, .kw = 3, .stride = 2, .pad = 1, .groups = 32 },
	};
	const struct rt_conv *s = &shapes[_i];
	int64_t nx = s->n * s->h * s->w * s->c, ny = s->n * s->oh * s->ow * s->o, nw = s->o * (s->c / s->groups) * s->kh * s->kw;
	float *x = gt_xcalloc((size_t)nx, 4), *dy = gt_xcalloc((size_t)ny, 4), *dw = gt_xcalloc((size_t)nw, 8), *again = dw + nw;
	double *want = gt_xcalloc((size_t)nw, sizeof(double)), off = 0;

	for (int64_t i = 0; i < nx; i++)
		x[i] = rt_random_normal(1, 1, (uint64_t)i);
	for (int64_t i = 0; i < ny; i++)
		dy[i] = rt_random_normal(1, 2, (uint64_t)i);
	define(s, x, dy, want);
	for (int threads = 1; threads <= 3 && rt_conv_library_scratch(s, RT_CONV_BWD_W, false, threads) >= 0; threads++) {
		library(s, threads, threads, x, dw, dy);
		for (int64_t i = 0; i < nw; i++)
			off = fmax(off, fabs((double)dw[i] - want[i]));
		ck_assert_msg(off < 3e-7 * (double)ny / (double)s->o, "%d threads: off by %g", threads, off);
		for (int round = 0; round < 5; round++) {
			library(s, threads, round ? threads : 1, x, again, dy);
			ck_assert_mem_eq(dw, again, (size_t)nw * sizeof(*dw));
		}
	}
	free(x);
	free(dy);
	free(dw);
	free(want);
}
END_TEST

static struct rt_program *mlp(struct rt_graph *g, const struct rt_options *opt)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(rt_compile(g, rt_model_mlp(g, 3, (const int64_t[]){ 5, 4, 3 }, 3), opt, &p, &err) == 0, "%s", err.msg);
	return p;
}

/* A batch of padding only changes no parameter and causes no error, whatever the processing of gradients. */
START_TEST(an_update_without_targets_changes_nothing)
{
	static const struct rt_options ways[] = {
		{ .optimizer = { .kind = RT_ADAMW, .lr = 0.1 }, .accum = 2 },
		{ .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 }, .accum = 2, .clip_norm = 1 },
		{ .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .accum = 2, .precision.scaler = { .use = RT_SCALER_ON } },
		{ .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .accum = 2, .debug.no_early_update = true },
	};
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = mlp(g, &ways[_i]);
	const int32_t none[3] = { RT_IGNORE, RT_IGNORE, RT_IGNORE }, some[3] = { 0, 1, 2 };
	float x[15] = { 1, 2, 3 }, before[20];
	struct rt_node *n = rt_graph_node(g, "fc0.weight");
	struct rt_metrics m;

	n = n ? n : rt_graph_leaf(g, 2);
	ck_assert_int_eq(rt_shape_elements(rt_node_shape(n)), 20);
	memcpy(before, rt_value(p, n), sizeof(before));
	rt_set_weight(p, 0);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(rt_step(p, (const void *[]){ x, none }, &m, NULL), 0);
		ck_assert(!m.updated && !m.skipped && m.step == 0);
	}
	ck_assert_mem_eq(before, rt_value(p, n), sizeof(before));
	rt_set_weight(p, 1);
	ck_assert_int_eq(rt_step(p, (const void *[]){ x, some }, &m, NULL), 0);
	ck_assert(!m.updated);
	ck_assert_int_eq(rt_step(p, (const void *[]){ x, some }, &m, NULL), 0);
	ck_assert(m.updated && m.step == 1 && isfinite(m.loss));
	for (size_t i = 0; i < GT_ARRAY_SIZE(before); i++)
		ck_assert(isfinite(rt_value(p, n)[i]));
}
END_TEST

static double flops_of(const struct rt_program *p, const char *phase)
{
	gt_auto_json *doc = rt_program_report(p);
	double sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(doc, "ops"), i, row)
		if (gt_streq(gt_json_get_str(row, "phase", ""), phase)) {
			ck_assert_double_gt(gt_json_get_real(row, "seconds", 0), 0);
			sum += gt_json_get_real(row, "flops", 0);
		}
	return sum;
}

/* A step is an update: its seconds and flops are those of all its batches. */
START_TEST(a_profile_counts_every_batch_of_an_update)
{
	struct rt_options opt = { .optimizer = { .kind = RT_ADAMW, .lr = 0.1 }, .debug.profile = true };
	gt_auto(rt_graph) *g = rt_graph_new(), *h = rt_graph_new();
	gt_auto(rt_program) *one = mlp(g, &opt), *four = NULL;
	float x[15] = { 1, 2, 3 };
	const int32_t y[3] = { 0, 1, 2 };
	struct rt_metrics m;

	opt.accum = 4;
	four = mlp(h, &opt);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(rt_step(one, (const void *[]){ x, y }, &m, NULL), 0);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(rt_step(four, (const void *[]){ x, y }, &m, NULL), 0);
	ck_assert_double_gt(flops_of(one, "forward"), 0);
	ck_assert_double_eq(flops_of(four, "forward"), 4 * flops_of(one, "forward"));
	ck_assert_double_eq(flops_of(four, "backward"), 4 * flops_of(one, "backward"));
}
END_TEST

/* If the reduced type is for storage only, the products run in f32 and are compared with the f32 peak. */
START_TEST(storage_is_not_counted_as_a_low_product)
{
	struct rt_options opt = { .precision.amp = _i ? RT_F16 : RT_BF16, .optimizer = { .kind = RT_SGD, .lr = 0.1 },
				  .threads = 1 };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_gpt_config c = { .batch = 1, .seq = 8, .layers = 1, .width = 16, .heads = 2, .vocab = 32 };
	gt_auto(rt_program) *p = NULL;
	gt_auto_json *doc = NULL;
	json_t *row;
	size_t i;

	ck_assert_int_eq(rt_compile(g, rt_model_gpt(g, &c), &opt, &p, NULL), 0);
	doc = rt_program_report(p);
	json_array_foreach(json_object_get(doc, "ops"), i, row)
		if (!rt_cpu_gemm_isa(opt.precision.amp) || strstr(gt_json_get_str(row, "op", ""), "attention"))
			ck_assert_msg(!(gt_json_get_real(row, "low_flops", NAN) > 0), "%s", gt_json_get_str(row, "op", ""));
}
END_TEST

/* Uses as many shapes as documents of 32 lengths have. The kernel of each shape is prepared once. */
START_TEST(products_of_many_shapes_are_prepared_once)
{
	enum { SHAPES = 700, SIDE = 40 };
	static uint16_t a[SIDE * SIDE], b[SIDE * SIDE];
	static float c[SIDE * SIDE];
	struct rt_cpu cpu;
	int64_t before = rt_bf16_primitives();

	if (!rt_bf16_gemm_isa())
		return; /* nothing to prepare: the products are f32's */
	ck_assert_int_eq(rt_cpu_open(&cpu, 1, NULL), 0);
	for (int64_t i = 0; i < SIDE * SIDE; i++)
		a[i] = b[i] = 0x3f80; /* 1 */
	for (int round = 0; round < 2; round++)
		for (int64_t i = 0; i < SHAPES; i++) {
			int64_t m = 1 + i % SIDE, n = 1 + i / SIDE;

			rt_gemm_bf16(&cpu, false, true, m, n, SIDE, a, SIDE, b, SIDE, 0, c, SIDE);
			ck_assert_float_eq(c[(m - 1) * SIDE + n - 1], SIDE);
		}
	ck_assert_int_eq(rt_bf16_primitives() - before, SHAPES + (before == 0));
}
END_TEST

START_TEST(the_openmp_settings_of_the_caller_are_restored)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	const float x[15] = { 1, 2, 3 };
	const int32_t y[3] = { 0, 1, 2 };
	struct rt_metrics m;
	struct rt_peaks peaks;
	double loss;

	omp_set_dynamic(1);
	omp_set_num_threads(5);
	p = mlp(g, &(struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .threads = 2 });
	ck_assert_int_eq(rt_program_threads(p), 2);
	ck_assert_int_eq(omp_get_max_threads(), 5);
	ck_assert_int_eq(rt_step(p, (const void *[]){ x, y }, &m, NULL), 0);
	ck_assert_int_eq(rt_eval(p, (const void *[]){ x, y }, &loss, NULL), 0);
	if (_i)
		ck_assert_int_eq(rt_measure_peaks(1, &peaks, NULL), 0);
	ck_assert_int_eq(omp_get_max_threads(), 5);
	ck_assert_int_eq(omp_get_dynamic(), 1);
}
END_TEST

TCase *case_team(void)
{
	TCase *t = tcase_create("team");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_smaller_team_sums_its_own_parts);
	tcase_add_loop_test(t, parts_of_a_batch_are_summed_in_their_order, 0, 4);
	tcase_add_loop_test(t, an_update_without_targets_changes_nothing, 0, 4);
	tcase_add_test(t, a_profile_counts_every_batch_of_an_update);
	tcase_add_test(t, products_of_many_shapes_are_prepared_once);
	tcase_add_loop_test(t, the_openmp_settings_of_the_caller_are_restored, 0, 2);
	tcase_add_loop_test(t, storage_is_not_counted_as_a_low_product, 0, 2);
	return t;
}
