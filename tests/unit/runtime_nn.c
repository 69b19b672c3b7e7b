/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of single ops that finite differences do not show. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "tests/unit/check_runtime.h"

static struct rt_node *p(struct rt_graph *g, const char *name, struct rt_shape s)
{
	return rt_param(g, name, s, RT_INIT_ZEROS);
}

#define S(...)	RT_SHAPE(__VA_ARGS__)

static struct rt_node *norm(struct rt_graph *g, struct rt_node *x, const char *name)
{
	static const char *const what[] = { "gain", "bias", "mean", "var" };
	struct rt_shape s = S(rt_node_shape(x)->d[rt_node_shape(x)->n - 1]);
	struct rt_node *n[4];

	for (int i = 0; i < 4; i++) {
		gt_autofree char *full = gt_xasprintf("%s.%s", name, what[i]);

		n[i] = i < 2 ? p(g, full, s) : rt_buffer(g, full, s, RT_INIT_ONES);
	}
	return rt_batchnorm(g, x, n[0], n[1], n[2], n[3], 1e-5f, 0.1f);
}

#define DROP_N	100003

struct dropped {
	struct rt_graph *g;
	struct rt_program *prog;
	struct rt_node *x, *y;
	float *ones;
};

static void dropped_open(struct dropped *d, float rate, int threads)
{
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = true }, .threads = threads, .seed = 9 };
	struct gt_err err = { 0 };
	struct rt_node *loss;

	d->g = rt_graph_new();
	d->x = p(d->g, "x", S(DROP_N));
	d->y = rt_dropout(d->g, d->x, rate);
	loss = rt_dot(d->g, d->y, rt_input(d->g, "w", RT_F32, S(DROP_N)));
	ck_assert_msg(rt_compile(d->g, loss, &opt, &d->prog, &err) == 0, "%s", err.msg);
	d->ones = gt_xcalloc(DROP_N, sizeof(float));
	for (int i = 0; i < DROP_N; i++)
		d->ones[i] = rt_value(d->prog, d->x)[i] = 1;
}

static void dropped_close(struct dropped *d)
{
	rt_program_free(d->prog);
	rt_graph_free(d->g);
	free(d->ones);
}

/*
 * Kept elements are scaled, the dropped share is the rate, forward and backward drop the same elements, and each step
 * drops others.
 */
START_TEST(dropout_drops_its_share)
{
	struct rt_metrics m = { 0 };
	struct dropped d;
	int zeros = 0, moved = 0;
	gt_autofree float *before = gt_xcalloc(DROP_N, sizeof(float));

	dropped_open(&d, 0.25f, 2);
	ck_assert_int_eq(rt_step(d.prog, (const void *[]){ d.ones }, &m, NULL), 0);
	memcpy(before, rt_value(d.prog, d.y), DROP_N * sizeof(float));
	ck_assert_int_eq(rt_step(d.prog, (const void *[]){ d.ones }, &m, NULL), 0);
	for (int i = 0; i < DROP_N; i++) {
		float y = rt_value(d.prog, d.y)[i];

		ck_assert(y == 0 || fabsf(y - 4.0f / 3.0f) < 1e-6f);
		ck_assert(rt_gradient(d.prog, d.x)[i] == y);
		zeros += y == 0;
		moved += y != before[i];
	}
	/* The tolerance is five standard deviations of a binomial distribution. */
	ck_assert_int_lt(abs(zeros - DROP_N / 4), (int)(5 * sqrt(DROP_N * .25 * .75)));
	ck_assert_int_lt(abs(moved - DROP_N * 3 / 8), (int)(5 * sqrt(DROP_N * .375 * .625)));
	dropped_close(&d);
}
END_TEST

START_TEST(dropout_is_the_same_on_any_threads_and_none_in_eval)
{
	struct rt_metrics m = { 0 };
	struct dropped a, b;
	double loss = 0;

	dropped_open(&a, 0.5f, 1);
	dropped_open(&b, 0.5f, 3);
	ck_assert_int_eq(rt_step(a.prog, (const void *[]){ a.ones }, &m, NULL), 0);
	ck_assert_int_eq(rt_step(b.prog, (const void *[]){ b.ones }, &m, NULL), 0);
	ck_assert_mem_eq(rt_value(a.prog, a.y), rt_value(b.prog, b.y), DROP_N * sizeof(float));
	ck_assert_int_eq(rt_eval(a.prog, (const void *[]){ a.ones }, &loss, NULL), 0);
	ck_assert_double_eq(loss, DROP_N);
	dropped_close(&a);
	dropped_close(&b);
}
END_TEST

/* rt_step updates the running statistics as torch does, rt_eval uses them, and a failed step does not change them. */
START_TEST(batchnorm_keeps_running_statistics)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct rt_node *x = rt_input(g, "x", RT_F32, S(4, 1)), *y = norm(g, rt_mul(g, x, p(g, "one", S(4, 1))), "bn");
	struct rt_node *loss = rt_dot(g, y, rt_input(g, "w", RT_F32, S(4, 1)));
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = true } };
	const float in[4] = { 1, 2, 3, 6 }, w[4] = { 1, 0, 0, 0 }, bad[4] = { 1, 2, NAN, 3 };
	struct rt_metrics m = { 0 };
	double got = 0, want;
	float *mean, *var;

	ck_assert_int_eq(rt_compile(g, loss, &opt, &prog, NULL), 0);
	mean = rt_value(prog, rt_graph_node(g, "bn.mean"));
	var = rt_value(prog, rt_graph_node(g, "bn.var"));
	for (int i = 0; i < 4; i++)
		rt_value(prog, rt_graph_node(g, "one"))[i] = 1;
	*rt_value(prog, rt_graph_node(g, "bn.gain")) = 2;
	*rt_value(prog, rt_graph_node(g, "bn.bias")) = 0.5f;
	ck_assert_int_eq(rt_step(prog, (const void *[]){ in, w }, &m, NULL), 0);
	/* Expected: mean 3, sum of squares 14, variance 3.5, unbiased 14/3. */
	ck_assert_float_eq_tol(*mean, 0.9f * 1 + 0.1f * 3, 1e-6f);
	ck_assert_float_eq_tol(*var, 0.9f * 1 + 0.1f * 14 / 3, 1e-6f);
	ck_assert_double_eq_tol(m.loss, 2 * (1 - 3) / sqrt(3.5 + 1e-5) + .5, 1e-5);
	ck_assert_int_eq(rt_eval(prog, (const void *[]){ in, w }, &got, NULL), 0);
	want = 2 * (1 - (double)*mean) / sqrt((double)*var + 1e-5) + .5;
	ck_assert_double_eq_tol(got, want, 1e-5);
	ck_assert_int_lt(rt_step(prog, (const void *[]){ bad, w }, &m, NULL), 0);
	ck_assert_float_eq_tol(*mean, 1.2f, 1e-6f);
}
END_TEST

/*
 * A bias before a batchnorm is left out of the product and still counts in the running mean. An inference program with
 * the batchnorm folded into the product gives the result of rt_eval of the training program.
 */
START_TEST(batchnorm_folds_for_inference)
{
	double loss[3];
	float running[2][16];

	for (int mode = 0; mode < 3; mode++) { /* plain, trained with fusion, inference */
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *prog = NULL;
		gt_auto_json *report = NULL;
		gt_autofree char *text = NULL;
		struct rt_node *x = rt_input(g, "x", RT_F32, S(3, 5, 5, 16)), *y;
		struct rt_options opt = { .debug = { .keep_gradients = mode < 2, .no_fuse = mode == 0, .no_reuse = true } };
		struct rt_metrics m = { 0 };
		struct leaves l;

		y = rt_conv2d(g, x, p(g, "w", S(16, 16, 3, 3)), p(g, "b", S(16)), (struct rt_conv2d){ .pad = 1 });
		y = rt_relu(g, norm(g, y, "bn"));
		y = rt_dot(g, y, rt_input(g, "weights", RT_F32, S(3, 5, 5, 16)));
		ck_assert_int_eq(rt_compile(g, y, &opt, &prog, NULL), 0);
		leaves_make(&l, g, 7, 5);
		leaves_load(&l, g, prog);
		for (int i = 0; mode < 2 && i < 3; i++)
			ck_assert_int_eq(rt_step(prog, l.input, &m, NULL), 0);
		for (int i = 0; i < 16; i++)
			if (mode < 2)
				running[mode][i] = rt_value(prog, rt_graph_node(g, "bn.mean"))[i];
			else
				rt_value(prog, rt_graph_node(g, "bn.mean"))[i] = running[1][i];
		for (int i = 0; i < 16; i++)
			rt_value(prog, rt_graph_node(g, "bn.var"))[i] = 0.5f + 0.1f * (float)i;
		ck_assert_int_eq(rt_eval(prog, l.input, &loss[mode], NULL), 0);
		report = rt_program_report(prog);
		text = json_dumps(report, 0);
		ck_assert_int_eq(mode == 2, strstr(text, "1 batchnorms folded into the products before them, 1 relus") != NULL);
		ck_assert_int_eq(mode == 1, strstr(text, "1 biases before them omitted") != NULL);
		/* Stored results are computed again after a change of a parameter. */
		for (int i = 0; i < 16; i++)
			rt_value(prog, rt_graph_node(g, "bn.gain"))[i] = 0;
		for (int i = 0; i < 16; i++)
			rt_value(prog, rt_graph_node(g, "bn.bias"))[i] = -1;
		ck_assert_int_eq(rt_eval(prog, l.input, &m.loss, NULL), 0);
		ck_assert_double_eq(m.loss, 0);
		leaves_free(&l);
	}
	ck_assert_double_eq_tol(loss[1], loss[0], 1e-4 * fabs(loss[0]));
	ck_assert_double_eq_tol(loss[2], loss[0], 1e-4 * fabs(loss[0]));
	for (int i = 0; i < 16; i++)
		ck_assert_float_eq_tol(running[0][i], running[1][i], 1e-5f);
}
END_TEST

/*
 * Rows with RT_IGNORE have neither loss nor gradient, and the mean is over the other rows. A batch without other rows
 * has loss 0.
 */
START_TEST(ignored_targets_do_not_count)
{
	for (int fused = 0; fused < 2; fused++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *prog = NULL;
		struct rt_node *x = p(g, "x", S(3, 5)), *w = rt_input(g, "w", RT_F32, S(5, 5));
		struct rt_node *loss = rt_cross_entropy(g, rt_linear(g, x, w, NULL), rt_input(g, "y", RT_I32, S(3)));
		struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = true, .no_fuse = !fused } };
		const int32_t y[3] = { 2, RT_IGNORE, 4 }, none[3] = { RT_IGNORE, RT_IGNORE, RT_IGNORE };
		float eye[25] = { 0 };
		struct rt_metrics m = { 0 };
		struct gt_err err = { 0 };
		double want;

		for (int i = 0; i < 5; i++)
			eye[6 * i] = 1;
		ck_assert_int_eq(rt_compile(g, loss, &opt, &prog, NULL), 0);
		for (int i = 0; i < 15; i++)
			rt_value(prog, x)[i] = i == 2 || i == 9 ? 1 : i == 14 ? 2 : 0;
		ck_assert_int_eq(rt_step(prog, (const void *[]){ eye, y }, &m, NULL), 0);
		want = (log(4 + exp(1)) - 1 + log(4 + exp(2)) - 2) / 2;
		ck_assert_double_eq_tol(m.loss, want, 1e-6);
		for (int i = 5; i < 10; i++)
			ck_assert_float_eq(rt_gradient(prog, x)[i], 0);
		ck_assert_float_eq_tol(rt_gradient(prog, x)[0], (float)(.5 / (4 + exp(1))), 1e-6f);
		ck_assert_int_eq(rt_step(prog, (const void *[]){ eye, none }, &m, &err), -ERANGE);
		ck_assert_ptr_nonnull(strstr(err.msg, "every target is ignored"));
	}
}
END_TEST

struct bad_case {
	struct rt_node *(*build)(struct rt_graph *g);
	const char *says;
};

static struct rt_node *bad_channels(struct rt_graph *g)
{
	return rt_conv2d(g, p(g, "x", S(2, 5, 5, 3)), p(g, "w", S(8, 4, 3, 3)), NULL, (struct rt_conv2d){ 0 });
}

static struct rt_node *bad_kernel(struct rt_graph *g)
{
	return rt_conv2d(g, p(g, "x", S(2, 2, 2, 3)), p(g, "w", S(8, 3, 5, 5)), NULL, (struct rt_conv2d){ .pad = 1 });
}

static struct rt_node *bad_matmul(struct rt_graph *g)
{
	return rt_matmul(g, p(g, "a", S(2, 3, 4)), false, p(g, "b", S(2, 5, 6)), false);
}

static struct rt_node *bad_reshape(struct rt_graph *g)
{
	return rt_reshape(g, p(g, "x", S(3, 4)), S(5, 2));
}

static struct rt_node *bad_dimension(struct rt_graph *g)
{
	return rt_reduce(g, p(g, "x", S(3, 4)), RT_SUM, 2);
}

static struct rt_node *bad_window(struct rt_graph *g)
{
	return rt_max_pool(g, p(g, "x", S(1, 2, 2, 3)), 3, 1, 0);
}

static struct rt_node *bad_rate(struct rt_graph *g)
{
	return rt_dropout(g, p(g, "x", S(3)), 1);
}

static struct rt_node *bad_heads(struct rt_graph *g)
{
	return rt_rope(g, p(g, "x", S(2, 3, 8)), 3, 4, 10000);
}

static struct rt_node *bad_running(struct rt_graph *g)
{
	struct rt_node *c = p(g, "c", S(3));

	return rt_batchnorm(g, p(g, "x", S(4, 3)), c, c, c, c, 1e-5f, 0.1f);
}

static struct rt_node *bad_tail(struct rt_graph *g)
{
	return rt_add(g, p(g, "a", S(3, 4)), p(g, "b", S(3)));
}

static const struct bad_case bad_cases[] = {
	{ bad_channels, "conv of x (2,5,5,3) and w (8,4,3,3)" },
	{ bad_kernel, "larger than the padded image" },
	{ bad_matmul, "matmul of a (2,3,4) and b (2,5,6)" },
	{ bad_reshape, "reshape of x (3,4) to (5,2)" },
	{ bad_dimension, "reduce of x (3,4) over dimension 2" },
	{ bad_window, "the window of 3 is larger than the padded image" },
	{ bad_heads, "rope of x (2,3,8) with 3 heads of 4" },
	{ bad_rate, "dropout of x: rate 1 is not in [0,1)" },
	{ bad_running, "c must be a buffer" },
	{ bad_tail, "add of a (3,4) and b (3)" },
};

START_TEST(shapes_that_do_not_fit_are_named)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct gt_err err = { 0 };

	ck_assert_ptr_null(bad_cases[_i].build(g));
	ck_assert_int_lt(rt_graph_error(g, &err), 0);
	ck_assert_msg(strstr(err.msg, bad_cases[_i].says), "'%s' does not say '%s'", err.msg, bad_cases[_i].says);
}
END_TEST

TCase *case_nn(void)
{
	TCase *t = tcase_create("nn");

	tcase_add_test(t, dropout_drops_its_share);
	tcase_add_test(t, dropout_is_the_same_on_any_threads_and_none_in_eval);
	tcase_add_test(t, batchnorm_keeps_running_statistics);
	tcase_add_test(t, batchnorm_folds_for_inference);
	tcase_add_test(t, ignored_targets_do_not_count);
	tcase_add_loop_test(t, shapes_that_do_not_fit_are_named, 0, GT_ARRAY_SIZE(bad_cases));
	return t;
}
