/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in tiles of 4x4 on each instruction set, against the plain definition in double; and where they are taken. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cpu/conv.h"
#include "tests/unit/check_runtime.h"

/* Of the largest element. Plain sums in f32 are off by a third of it at most; the longest here has 5 x 11 x 9 terms of 1. */
#define TOLERANCE	1e-5
#define GUARD		64 /* floats behind a tensor that nobody may touch */

static const struct rt_conv shapes[] = {
	/* sides that are whole tiles, odd ones, less than a tile; channels that are whole blocks of lanes, and not */
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

/* x, w, y; the one that kind says is made from the others. */
struct tensors {
	int64_t n[3];
	float *value[3];
	double *want;
	int made;
};

/* What element (n,i,j,o) of y and (di,dj,c) of its patch have to do with each other, for all kinds. */
static void add_product(const struct rt_conv *s, struct tensors *t, int64_t y, int64_t x, int64_t w)
{
	const int64_t at[3] = { x, w, y };
	int a = (t->made + 1) % 3, b = (t->made + 2) % 3;

	t->want[at[t->made]] += (double)t->value[a][at[a]] * (double)t->value[b][at[b]];
}

static void define(const struct rt_conv *s, struct tensors *t)
{
	for (int64_t p = 0; p < s->n * s->oh * s->ow; p++)
		for (int64_t k = 0; k < 9; k++) {
			int64_t i = p / s->ow % s->oh - s->pad + k / 3, j = p % s->ow - s->pad + k % 3;
			int64_t pixel = (p / s->ow / s->oh * s->h + i) * s->w + j;

			if (i < 0 || i >= s->h || j < 0 || j >= s->w)
				continue;
			for (int64_t o = 0; o < s->o; o++)
				for (int64_t c = 0; c < s->c; c++)
					add_product(s, t, p * s->o + o, pixel * s->c + c, (o * s->c + c) * 9 + k);
		}
}

static void tensors_make(struct tensors *t, const struct rt_conv *s, enum rt_conv_kind kind)
{
	static const int made[] = { [RT_CONV_FWD] = 2, [RT_CONV_BWD_X] = 0, [RT_CONV_BWD_W] = 1 };

	*t = (struct tensors){ .n = { s->n * s->h * s->w * s->c, 9 * s->c * s->o, s->n * s->oh * s->ow * s->o },
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

/* Once, what is written and the scratch memory being NaN before. */
static void convolve(const struct rt_simd *simd, const struct rt_conv *s, enum rt_conv_kind kind, int threads, struct tensors *t)
{
	struct rt_cpu cpu = { .threads = threads, .simd = simd };
	size_t floats = rt_conv_winograd_scratch(s, kind, threads) / sizeof(float);
	float *scratch = gt_xcalloc(floats + GUARD, sizeof(float));

	for (size_t i = 0; i < floats + GUARD; i++)
		scratch[i] = i < floats ? NAN : 17;
	for (int64_t i = 0; i < t->n[t->made]; i++)
		t->value[t->made][i] = NAN;
	rt_conv_winograd(&cpu, s, kind, t->value[0], t->value[1], t->value[2], scratch);
	for (int i = 0; i < GUARD; i++) {
		ck_assert_float_eq(scratch[floats + (size_t)i], 17);
		ck_assert_float_eq(t->value[t->made][t->n[t->made] + i], 17);
	}
	free(scratch);
}

START_TEST(tiles_make_what_the_definition_says)
{
	static const char *const kinds[] = { "forward", "backward of x", "backward of w" };
	struct rt_conv s = shape_of(_i);
	const struct rt_simd *simd[3];
	int n = simd_tables(simd);

	ck_assert(rt_conv_winograd_fits(&s));
	for (enum rt_conv_kind kind = RT_CONV_FWD; kind <= RT_CONV_BWD_W; kind++) {
		struct tensors t;
		double largest = 0;

		tensors_make(&t, &s, kind);
		for (int64_t i = 0; i < t.n[t.made]; i++)
			largest = fmax(largest, fabs(t.want[i]));
		for (int k = 0; k < n; k++)
			for (int threads = 1; threads <= 3; threads++) {
				convolve(simd[k], &s, kind, threads, &t);
				for (int64_t i = 0; i < t.n[t.made]; i++)
					ck_assert_msg(fabs((double)t.value[t.made][i] - t.want[i]) <= TOLERANCE * largest,
						      "%s, %s, shape %d, %d threads: element %lld is %.8g, not %.8g",
						      simd[k]->name, kinds[kind], _i, threads, (long long)i,
						      (double)t.value[t.made][i], t.want[i]);
			}
		tensors_free(&t);
	}
}
END_TEST

/* Images are the same bits on any number of threads, gradients of weights on the same number. */
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
		convolve(rt_simd_best(), &s, kind, 2, &t);
		memcpy(first, t.value[t.made], bytes);
		for (int threads = 1; threads <= 3; threads++) {
			convolve(rt_simd_best(), &s, kind, threads, &t);
			if (threads == 2 || kind != RT_CONV_BWD_W)
				ck_assert_mem_eq(first, t.value[t.made], bytes);
		}
		tensors_free(&t);
	}
}
END_TEST

/* Strides, other kernels, groups and wide padding are not made in tiles; small work and few channels would lose by it. */
START_TEST(tiles_are_taken_where_they_win)
{
	const struct rt_conv good = { .n = 64, .h = 32, .w = 32, .c = 16, .o = 16, .oh = 32, .ow = 32, .kh = 3, .kw = 3,
				      .stride = 1, .pad = 1, .groups = 1 };
	struct rt_conv s;

	ck_assert(rt_conv_winograd_fits(&good));
	for (enum rt_conv_kind kind = RT_CONV_FWD; kind <= RT_CONV_BWD_W; kind++) {
		ck_assert(rt_conv_winograd_wins(&good, kind));
		/* 36 of 144 products, for 4x4 pixels each */
		ck_assert_double_eq(rt_conv_winograd_flops(&good, kind), 2.0 * 36 * 64 * 8 * 8 * 16 * 16);
		s = good;
		s.c = 3;
		ck_assert(!rt_conv_winograd_wins(&s, kind));
		s = good;
		s.n = 1;
		s.h = s.w = s.oh = s.ow = 8;
		ck_assert(!rt_conv_winograd_wins(&s, kind));
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

static double train(bool without, enum rt_dtype amp, double *ret_flops, char *ret_did, size_t size)
{
	struct rt_options opt = { .no_winograd = without, .amp = amp, .seed = 3, .threads = 2, .poison = true,
				  .optimizer = { .kind = RT_SGD, .lr = 0.01f, .momentum = 0.9f } };
	struct rt_metrics m = { 0 };
	struct rt_graph *g = rt_graph_new();
	struct rt_node *loss = rt_model_resnet_small(g, 8, 32, 8, 10);
	struct rt_program *p;
	struct gt_err err = { 0 };
	gt_autofree float *x = gt_xcalloc(8 * 32 * 32 * 3, sizeof(float));
	int32_t y[8];
	json_t *report, *pass;
	size_t i;

	for (uint64_t k = 0; k < 8 * 32 * 32 * 3; k++)
		x[k] = rt_random_normal(1, 2, k);
	for (int k = 0; k < 8; k++)
		y[k] = k;
	ck_assert_msg(rt_compile(g, loss, &opt, &p, &err) == 0, "%s", err.msg);
	for (int step = 0; step < 5; step++)
		ck_assert_msg(rt_step(p, (const void *[]){ x, y }, &m, &err) == 0, "%s", err.msg);
	*ret_flops = rt_program_flops(p);
	report = rt_program_report(p);
	*ret_did = 0;
	json_array_foreach(json_object_get(report, "passes"), i, pass)
		if (gt_streq(json_string_value(json_object_get(pass, "name")), "winograd"))
			snprintf(ret_did, size, "%s", json_string_value(json_object_get(pass, "did")));
	json_decref(report);
	rt_program_free(p);
	rt_graph_free(g);
	return m.loss;
}

/* 3 of 7 convolutions have 3x3, stride 1, 16 channels or more and work enough, and are three calls each; the loss stays. */
START_TEST(tiles_are_a_technique_with_a_switch)
{
	char did[200];
	double with, without, low, flops, all;

	with = train(false, RT_F32, &flops, did, sizeof(did));
	ck_assert_msg(strstr(did, "9 of 20 convolutions in tiles of 4x4"), "%s", did);
	without = train(true, RT_F32, &all, did, sizeof(did));
	ck_assert_str_eq(did, "nothing to do");
	ck_assert_double_lt(flops, 0.6 * all);
	ck_assert_msg(fabs(with / without - 1) < 1e-5, "%.9g and %.9g", with, without);
	low = train(false, RT_BF16, &flops, did, sizeof(did));
	ck_assert_str_eq(did, "nothing to do");
	ck_assert_double_eq(flops, all);
	ck_assert(isfinite(low));
}
END_TEST

TCase *case_winograd(void)
{
	TCase *c = tcase_create("winograd");

	tcase_set_timeout(c, 120);
	tcase_add_loop_test(c, tiles_make_what_the_definition_says, 0, GT_ARRAY_SIZE(shapes));
	tcase_add_test(c, tiles_are_the_same_bits);
	tcase_add_test(c, tiles_are_taken_where_they_win);
	tcase_add_test(c, tiles_are_a_technique_with_a_switch);
	return c;
}
