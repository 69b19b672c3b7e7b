/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd convolutions on each instruction set, compared with the plain definition in double; and the choice of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cpu/conv.h"
#include "tests/unit/check_runtime.h"

/*
 * Relative to the largest element. Plain sums in f32 have at most a third of this error; the longest here has 5 x 11 x 9
 * terms of 1.
 */
#define TOLERANCE	1e-5
#define GUARD		64 /* floats after a tensor that must not be written */

static const struct rt_conv shapes[] = {
	/* sides of whole tiles, odd ones, less than a tile; channels of whole lane blocks, and others */
	{ .n = 1, .h = 4, .w = 4, .c = 16, .o = 16, .pad = 1 },
	{ .n = 2, .h = 8, .w = 8, .c = 16, .o = 32, .pad = 1 },
	{ .n = 3, .h = 7, .w = 5, .c = 24, .o = 16, .pad = 1 },
	{ .n = 5, .h = 11, .w = 9, .c = 8, .o = 64, .pad = 1 },
	{ .n = 1, .h = 1, .w = 1, .c = 3, .o = 3, .pad = 1 },
	{ .n = 4, .h = 3, .w = 13, .c = 3, .o = 24, .pad = 1 },
	{ .n = 2, .h = 6, .w = 10, .c = 64, .o = 130, .pad = 1 },
	{ .n = 2, .h = 9, .w = 4, .c = 130, .o = 8, .pad = 1 },
	{ .n = 1, .h = 33, .w = 34, .c = 48, .o = 80, .pad = 1 },
	{ .n = 3, .h = 6, .w = 7, .c = 16, .o = 24, .pad = 0 },
	{ .n = 2, .h = 5, .w = 8, .c = 24, .o = 16, .pad = 2 },
	{ .n = 3, .h = 3, .w = 3, .c = 5, .o = 7, .pad = 0 },
};

static struct rt_conv shape_of(int i)
{
	struct rt_conv s = shapes[i];

	s.kh = s.kw = 3;
	s.stride = s.groups = 1;
	s.oh = s.h + 2 * s.pad - 2;
	s.ow = s.w + 2 * s.pad - 2;
	return s;
}

/* x, w and y of a convolution; kind selects the one that is computed from the others. */
struct tensors {
	int64_t n[3];
	float *value[3];
	double *want;
	int made;
};

/* Adds the contribution of element (n,i,j,o) of y and (di,dj,c) of its patch, for all kinds. */
static void add_product(const struct rt_conv *s, struct tensors *t, int64_t y, int64_t x, int64_t w)
{
	const int64_t at[3] = { x, w, y };
	int a = (t->made + 1) % 3, b = (t->made + 2) % 3;

	t->want[at[t->made]] += (double)t->value[a][at[a]] * (double)t->value[b][at[b]];
}

static void define(const struct rt_conv *s, struct tensors *t)
{
	int64_t inner = s->c / s->groups, area = s->kh * s->kw;

	for (int64_t p = 0; p < s->n * s->oh * s->ow; p++)
		for (int64_t k = 0; k < area; k++) {
			int64_t i = p / s->ow % s->oh * s->stride - s->pad + k / s->kw;
			int64_t j = p % s->ow * s->stride - s->pad + k % s->kw;
			int64_t pixel = (p / s->ow / s->oh * s->h + i) * s->w + j;

			if (i < 0 || i >= s->h || j < 0 || j >= s->w)
				continue;
			for (int64_t o = 0; o < s->o; o++)
				for (int64_t c = 0; c < inner; c++)
					add_product(s, t, p * s->o + o, pixel * s->c + o / (s->o / s->groups) * inner + c,
						    (o * inner + c) * area + k);
		}
}

static void tensors_make(struct tensors *t, const struct rt_conv *s, enum rt_conv_kind kind)
{
	static const int made[] = { [RT_CONV_FWD] = 2, [RT_CONV_BWD_X] = 0, [RT_CONV_BWD_W] = 1 };

	*t = (struct tensors){ .n = { s->n * s->h * s->w * s->c, s->o * s->c / s->groups * s->kh * s->kw,
				      s->n * s->oh * s->ow * s->o },
			       .made = made[kind] };
	for (int k = 0; k < 3; k++) {
		t->value[k] = gt_xcalloc((size_t)t->n[k] + GUARD, sizeof(float));
		for (int64_t i = 0; i < t->n[k] + GUARD; i++)
			t->value[k][i] = i < t->n[k] ? rt_random_normal(7, (uint64_t)k, (uint64_t)i) : 17;
	}
	t->want = gt_xcalloc((size_t)t->n[t->made], sizeof(double));
	define(s, t);
}

static void tensors_free(struct tensors *t)
{
	for (int k = 0; k < 3; k++)
		free(t->value[k]);
	free(t->want);
}

/*
 * Runs once, with NaN in the scratch memory. The result contains `before` first: a number to add to, or NaN. simd NULL:
 * convolves patch by patch, without tiles.
 */
static void convolve(const struct rt_simd *simd, const struct rt_conv *s, enum rt_conv_kind kind, int threads, struct tensors *t,
		     float before)
{
	struct rt_cpu cpu = { .threads = threads, .simd = simd };
	size_t bytes = simd ? rt_conv_winograd_scratch(s, kind, threads) : rt_conv_own_scratch(s, kind, threads);
	size_t floats = bytes / sizeof(float);
	float *scratch = gt_xcalloc(floats + GUARD, sizeof(float));

	for (size_t i = 0; i < floats + GUARD; i++)
		scratch[i] = i < floats ? NAN : 17;
	for (int64_t i = 0; i < t->n[t->made]; i++)
		t->value[t->made][i] = before;
	if (simd)
		rt_conv_winograd(&cpu, s, kind, t->value[0], t->value[1], t->value[2], scratch, !isnan(before));
	else
		rt_conv_own(s, kind, threads, t->value[0], t->value[1], t->value[2], scratch);
	for (int i = 0; i < GUARD; i++) {
		ck_assert_float_eq(scratch[floats + (size_t)i], 17);
		ck_assert_float_eq(t->value[t->made][t->n[t->made] + i], 17);
	}
	free(scratch);
}

static void check_values(const struct tensors *t, double before, double tolerance, const char *what)
{
	for (int64_t i = 0; i < t->n[t->made]; i++)
		ck_assert_msg(fabs((double)t->value[t->made][i] - t->want[i] - before) <= tolerance,
			      "%s, %g before: element %lld is %.8g, not %.8g", what, before, (long long)i,
			      (double)t->value[t->made][i], t->want[i] + before);
}

/* Tests all kinds with each of n instruction sets; simd NULL: patch by patch. */
static void check_shape(const struct rt_conv *s, const struct rt_simd *const *simd, int n, int number)
{
	static const char *const kinds[] = { "forward", "backward of x", "backward of w" };

	for (enum rt_conv_kind kind = RT_CONV_FWD; kind <= RT_CONV_BWD_W; kind++) {
		struct tensors t;
		double largest = 0;

		tensors_make(&t, s, kind);
		for (int64_t i = 0; i < t.n[t.made]; i++)
			largest = fmax(largest, fabs(t.want[i]));
		for (int k = 0; k < n; k++)
			for (int threads = 1; threads <= 3; threads++) {
				gt_autofree char *what = gt_xasprintf("%s, %s, shape %d, %d threads",
								      simd[k] ? simd[k]->name : "patches", kinds[kind],
								      number, threads);

				convolve(simd[k], s, kind, threads, &t, NAN);
				check_values(&t, 0, TOLERANCE * largest, what);
				if (!simd[k] || kind == RT_CONV_BWD_W)
					continue;
				convolve(simd[k], s, kind, threads, &t, 2); /* images are also accumulated */
				check_values(&t, 2, TOLERANCE * (largest + 2), what);
			}
		tensors_free(&t);
	}
}

START_TEST(tiles_follow_the_definition)
{
	struct rt_conv s = shape_of(_i);
	const struct rt_simd *simd[3];
	int n = simd_tables(simd);

	ck_assert(rt_conv_winograd_fits(&s));
	check_shape(&s, simd, n, _i);
}
END_TEST

/*
 * Shapes that oneDNN lacks, or has no fast kernel for: windows that overlap or leave gaps, groups, several images per
 * thread, and fewer images than threads.
 */
static const struct rt_conv any_shapes[] = {
	{ .n = 5, .h = 6, .w = 5, .c = 4, .o = 6, .kh = 3, .kw = 3, .stride = 1, .pad = 1, .groups = 1 },
	{ .n = 4, .h = 7, .w = 6, .c = 6, .o = 8, .kh = 2, .kw = 4, .stride = 2, .pad = 1, .groups = 2 },
	{ .n = 2, .h = 9, .w = 9, .c = 5, .o = 10, .kh = 1, .kw = 1, .stride = 3, .pad = 0, .groups = 5 },
	{ .n = 1, .h = 4, .w = 3, .c = 17, .o = 3, .kh = 5, .kw = 3, .stride = 1, .pad = 2, .groups = 1 },
	{ .n = 7, .h = 1, .w = 8, .c = 3, .o = 2, .kh = 1, .kw = 7, .stride = 1, .pad = 0, .groups = 1 },
};

START_TEST(patches_follow_the_definition)
{
	struct rt_conv s = any_shapes[_i];

	s.oh = (s.h + 2 * s.pad - s.kh) / s.stride + 1;
	s.ow = (s.w + 2 * s.pad - s.kw) / s.stride + 1;
	check_shape(&s, (const struct rt_simd *[]){ NULL }, 1, _i);
}
END_TEST

/* Images have the same bits with any number of threads, gradients of weights with the same number of threads. */
START_TEST(tiles_are_the_same_bits)
{
	struct rt_conv s = shape_of(8);

	for (enum rt_conv_kind kind = RT_CONV_FWD; kind <= RT_CONV_BWD_W; kind++) {
		struct tensors t;
		size_t bytes;
		gt_autofree float *first = NULL;

		tensors_make(&t, &s, kind);
		bytes = (size_t)t.n[t.made] * sizeof(float);
		first = gt_xcalloc(1, bytes);
		convolve(rt_simd_best(), &s, kind, 2, &t, NAN);
		memcpy(first, t.value[t.made], bytes);
		for (int threads = 1; threads <= 3; threads++) {
			convolve(rt_simd_best(), &s, kind, threads, &t, NAN);
			if (threads == 2 || kind != RT_CONV_BWD_W)
				ck_assert_mem_eq(first, t.value[t.made], bytes);
		}
		tensors_free(&t);
	}
}
END_TEST

/*
 * Other strides, kernel sizes, groups and wide padding do not use tiles. Small work or few channels would be slower with
 * tiles.
 */
START_TEST(tiles_are_used_if_they_are_faster)
{
	const struct rt_conv good = { .n = 64, .h = 32, .w = 32, .c = 16, .o = 16, .oh = 32, .ow = 32, .kh = 3, .kw = 3,
				      .stride = 1, .pad = 1, .groups = 1 };
	struct rt_conv s;

	ck_assert(rt_conv_winograd_fits(&good));
	for (enum rt_conv_kind kind = RT_CONV_FWD; kind <= RT_CONV_BWD_W; kind++) {
		ck_assert(rt_conv_winograd_faster(&good, kind, 1));
		/* all products at more than four times the rate are always faster */
		s = good;
		s.c = s.o = 512;
		ck_assert(!rt_conv_winograd_faster(&s, kind, 4));
		/* 36 of 144 products, for 4x4 pixels each */
		ck_assert_double_eq(rt_conv_winograd_flops(&good, kind), 2.0 * 36 * 64 * 8 * 8 * 16 * 16);
		s = good;
		s.c = 3;
		ck_assert(!rt_conv_winograd_faster(&s, kind, 1));
		s = good;
		s.n = 1;
		s.h = s.w = s.oh = s.ow = 8;
		ck_assert(!rt_conv_winograd_faster(&s, kind, 1));
	}
	s = good;
	s.stride = 2;
	ck_assert(!rt_conv_winograd_fits(&s));
	s = good;
	s.kw = 5;
	ck_assert(!rt_conv_winograd_fits(&s));
	s = good;
	s.groups = 2;
	ck_assert(!rt_conv_winograd_fits(&s));
	s = good;
	s.pad = 3;
	ck_assert(!rt_conv_winograd_fits(&s));
}
END_TEST

#define STEPS	20
struct training {
	double loss[STEPS], flops;
	char tiles[200], amp[400]; /* messages of the passes */
};

static void note(const struct rt_program *p, const char *name, char *ret, size_t size)
{
	gt_auto_json *report = rt_program_report(p);
	json_t *pass;
	size_t i;

	*ret = 0;
	json_array_foreach(json_object_get(report, "passes"), i, pass)
		if (gt_streq(json_string_value(json_object_get(pass, "name")), name))
			snprintf(ret, size, "%s", json_string_value(json_object_get(pass, "did")));
}

static struct training train(int depth, bool without, enum rt_dtype amp)
{
	enum { BATCH = 8, PIXELS = BATCH * 32 * 32 * 3 };
	struct rt_options opt = { .debug = { .no_winograd = without, .poison = true }, .precision.amp = amp, .seed = 3,
				  .threads = 2,
				  .optimizer = { .kind = RT_SGD, .lr = 0.01f, .momentum = 0.9f } };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_resnet_small(g, BATCH, 32, depth, 10);
	gt_auto(rt_program) *p = NULL;
	struct training t;
	struct gt_err err = { 0 };
	gt_autofree float *x = gt_xcalloc(PIXELS, sizeof(float));
	int32_t y[BATCH];

	for (uint64_t k = 0; k < PIXELS; k++)
		x[k] = rt_random_normal(1, 2, k);
	for (int k = 0; k < BATCH; k++)
		y[k] = k;
	ck_assert_msg(rt_compile(g, loss, &opt, &p, &err) == 0, "%s", err.msg);
	for (int step = 0; step < STEPS; step++) {
		struct rt_metrics m = { 0 };

		ck_assert_msg(rt_step(p, (const void *[]){ x, y }, &m, &err) == 0, "%s", err.msg);
		t.loss[step] = m.loss;
	}
	t.flops = rt_program_flops(p);
	note(p, "winograd", t.tiles, sizeof(t.tiles));
	note(p, "amp", t.amp, sizeof(t.amp));
	return t;
}

/*
 * 3 of 7 convolutions have 3x3, stride 1, at least 16 channels and enough work, and have three calls each. In the one
 * block without a pool the gradient of its input is added to the gradient that the sum passes on. The loss is unchanged.
 */
START_TEST(tiles_are_a_technique_with_a_switch)
{
	struct training with = train(8, false, RT_F32), without = train(8, true, RT_F32);

	ck_assert_msg(strstr(with.tiles, "9 of 20 convolutions with Winograd F(4x4,3x3)"), "%s", with.tiles);
	ck_assert_msg(strstr(with.tiles, "; 1 gradient sums fused"), "%s", with.tiles);
	ck_assert_str_eq(without.tiles, "nothing to do");
	ck_assert_double_lt(with.flops, 0.6 * without.flops);
	for (int i = 0; i < 5; i++)
		ck_assert_msg(fabs(with.loss[i] / without.loss[i] - 1) < 1e-5, "step %d: %.9g and %.9g", i, with.loss[i],
			      without.loss[i]);
}
END_TEST

/*
 * With mixed precision, calls that are faster with tiles than in the reduced type stay in f32, and the report lists
 * them.
 */
static void check_kept(const struct training *f32, const struct training *low, const struct training *all, enum rt_dtype type)
{
	const char *products = rt_cpu_gemm_isa(type), *kept = strstr(low->amp, " 3x3 convolutions stay f32");

	if (gt_streq(products, "amx")) { /* all products are faster there */
		ck_assert_msg(!kept, "%s", low->amp);
		ck_assert_str_eq(low->tiles, "nothing to do");
		return;
	}
	ck_assert_msg(kept, "%s", low->amp);
	ck_assert_msg(strstr(low->tiles, " convolutions with Winograd F(4x4,3x3)"), "%s", low->tiles);
	ck_assert_double_lt(low->flops, all->flops);
	if (!products) { /* storage gains nothing: the same tiles as in f32 */
		ck_assert_str_eq(low->tiles, f32->tiles);
		ck_assert_double_eq(low->flops, f32->flops);
	}
}

/*
 * ResNet-20 in each type, with and without tiles: the losses of 20 steps equal those of f32 within the rounding of the
 * type.
 */
START_TEST(mixed_precision_keeps_tiles_and_the_loss_curve)
{
	static const enum rt_dtype types[] = { RT_BF16, RT_F16 };
	static const double tolerance[] = { 0.02, 0.005 };
	struct training f32 = train(20, false, RT_F32), low = train(20, false, types[_i]), all = train(20, true, types[_i]);

	ck_assert_double_lt(f32.loss[STEPS - 1], 0.5 * f32.loss[0]);
	check_kept(&f32, &low, &all, types[_i]);
	ck_assert_str_eq(all.tiles, "nothing to do");
	ck_assert_msg(!strstr(all.amp, "stay f32"), "%s", all.amp);
	for (int i = 0; i < STEPS; i++) {
		double most = tolerance[_i] * f32.loss[0];

		ck_assert_msg(fabs(low.loss[i] - f32.loss[i]) < most && fabs(all.loss[i] - f32.loss[i]) < most,
			      "%s, step %d: %.6g with tiles, %.6g without, %.6g in f32", rt_dtype_name(types[_i]), i, low.loss[i],
			      all.loss[i], f32.loss[i]);
	}
}
END_TEST

TCase *case_winograd(void)
{
	TCase *c = tcase_create("winograd");

	tcase_set_timeout(c, 120);
	tcase_add_loop_test(c, tiles_follow_the_definition, 0, GT_ARRAY_SIZE(shapes));
	tcase_add_loop_test(c, patches_follow_the_definition, 0, GT_ARRAY_SIZE(any_shapes));
	tcase_add_test(c, tiles_are_the_same_bits);
	tcase_add_test(c, tiles_are_used_if_they_are_faster);
	tcase_add_test(c, tiles_are_a_technique_with_a_switch);
	tcase_add_loop_test(c, mixed_precision_keeps_tiles_and_the_loss_curve, 0, 2);
	return c;
}
