/* SPDX-License-Identifier: Apache-2.0 */
/* Debug output of a program: gradients checked by finite differences, the trace. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include "tests/unit/check_runtime.h"

static struct rt_node *p(struct rt_graph *g, const char *name, struct rt_shape s)
{
	return rt_param(g, name, s, RT_INIT_NORMAL(0.5f));
}

/* The gradient check drops the same elements as the step, and each step drops others. */
START_TEST(gradients_are_checked_through_dropouts)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct rt_node *y = rt_dropout(g, rt_linear(g, p(g, "x", RT_SHAPE(7, 19)), p(g, "w", RT_SHAPE(23, 19)), NULL), 0.4f);
	struct rt_node *loss = rt_dot(g, rt_dropout(g, rt_gelu(g, y), 0.2f), rt_input(g, "weights", RT_F32, RT_SHAPE(7, 23)));
	float weights[7 * 23];
	struct gt_err err = { 0 };

	for (int i = 0; i < 7 * 23; i++)
		weights[i] = rt_random_normal(3, 0, (uint64_t)i);
	ck_assert_msg(!rt_compile(g, loss, &(struct rt_options){ .debug.keep_gradients = true, .seed = 5 }, &prog, &err), "%s",
		      err.msg);
	for (int step = 0; step < 2; step++) {
		struct rt_gradient_check c;

		ck_assert_int_eq(rt_check_gradients(g, loss, prog, (const void *[]){ weights }, 80, &c, &err), 0);
		ck_assert_int_eq(c.checked, 80);
		ck_assert_msg(c.worst < 1e-4, "step %d: %s[%lld] is %g, %g by differences", step, rt_node_name(c.node),
			      (long long)c.element, c.got, c.numeric);
	}
	rt_set_weight(prog, 2);
	ck_assert_int_eq(rt_check_gradients(g, loss, prog, (const void *[]){ weights }, 1, &(struct rt_gradient_check){ 0 }, &err),
			 -EINVAL);
}
END_TEST

/* The pixels are bytes, a quarter of the declared size. The check reads them as bytes and normalises them. */
START_TEST(gradients_are_checked_of_pixels)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	enum { N = 2 * 6 * 6 * 3 };
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 6, 6, 3));
	struct rt_node *y = rt_conv2d(g, x, p(g, "w", RT_SHAPE(4, 3, 3, 3)), NULL, (struct rt_conv2d){ .pad = 1 });
	struct rt_node *flat = rt_reshape(g, rt_gelu(g, y), RT_SHAPE(2, 144));
	struct rt_node *loss = rt_cross_entropy(g, flat, rt_input(g, "y", RT_I32, RT_SHAPE(2)));
	struct rt_options opt = { .debug.keep_gradients = true, .pixels = { .mean = 0.45f, .std = 0.225f } };
	gt_autofree uint8_t *pixels = gt_xcalloc(N, 1);
	struct rt_gradient_check c;
	struct gt_err err = { 0 };

	for (int i = 0; i < N; i++)
		pixels[i] = (uint8_t)rt_random_u64(4, 0, (uint64_t)i);
	ck_assert_msg(!rt_compile(g, loss, &opt, &prog, &err), "%s", err.msg);
	ck_assert_int_eq(rt_check_gradients(g, loss, prog, (const void *[]){ pixels, (int32_t[]){ 3, 130 } }, 40, &c, &err), 0);
	ck_assert_msg(c.worst < 1e-3, "%s[%lld] is %g, %g by differences", rt_node_name(c.node), (long long)c.element, c.got,
		      c.numeric);
}
END_TEST

/* y = x and dx = dy, except the last element of one of them: of y if *arg is 1, of dx if it is 2. */
static int64_t but_for_the_last(const struct rt_shape *shapes, const void *arg, int forgets)
{
	return rt_shape_elements(&shapes[0]) - (*(const int *)arg == forgets);
}

static void copied(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	memcpy(y, in[0], (size_t)but_for_the_last(shapes, arg, 1) * sizeof(*y) * (threads > 0));
}

static void copied_back(const float *const *in, const float *y, const float *dy, float *const *dx, const struct rt_shape *shapes,
			int threads, void *arg)
{
	memcpy(dx[0], dy, (size_t)but_for_the_last(shapes, arg, 2) * sizeof(*dy) * (in && y && threads > 0));
}

static void copied_by_definition(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	memcpy(y, in[0], (size_t)but_for_the_last(shapes, arg, 3) * sizeof(*y));
}

/*
 * The error is found even if every tensor has its own memory and gradients are kept, because no zero replaces an
 * unwritten value. An evaluation keeps the step's gradients.
 */
START_TEST(a_value_that_is_not_written_is_nan)
{
	static const struct rt_user_op op = { .name = "copied", .inputs = 1, .forward = copied, .backward = copied_back,
					      .reference = copied_by_definition };
	const float weights[5] = { 1, 2, 3, 4, 5 };

	for (int forgets = 0; forgets < 3; forgets++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *prog = NULL;
		struct rt_node *x = p(g, "x", RT_SHAPE(5)), *y = rt_user(g, &op, &x, &forgets);
		struct rt_node *loss = rt_dot(g, y, rt_input(g, "weights", RT_F32, RT_SHAPE(5)));
		struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = true, .poison = true } };
		struct gt_err err = { 0 };
		struct rt_metrics m;
		double evaluated = 0;
		float dx[5] = { 0 };
		int r;

		ck_assert_msg(!rt_compile(g, loss, &opt, &prog, &err), "%s", err.msg);
		r = rt_step(prog, (const void *[]){ weights }, &m, &err);
		ck_assert_int_eq(r, forgets == 1 ? -EDOM : 0);
		for (int again = 0; !r && again < 2; again++) {
			ck_assert_int_eq(rt_read_gradient(prog, x, dx, &err), 0);
			ck_assert_int_eq(memcmp(dx, weights, 4 * sizeof(*dx)), 0);
			ck_assert_int_eq(isnan(dx[4]), forgets == 2);
			ck_assert_int_eq(rt_eval(prog, (const void *[]){ weights }, &evaluated, &err), 0);
		}
	}
}
END_TEST

/* The reported page sizes are the real ones: if the kernel gives this process no huge pages, madvise has no effect. */
START_TEST(the_real_page_sizes_are_reported)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 64, (const int64_t[]){ 784, 1024, 10 }, 3);

	for (int given = 1; given >= 0; given--)
		for (int asked = 0; asked < 2; asked++) {
			gt_auto(rt_program) *p = NULL;
			gt_auto_json *doc = NULL;
			const char *said;

			ck_assert_int_eq(prctl(PR_SET_THP_DISABLE, !given, 0, 0, 0), 0);
			ck_assert_int_eq(rt_compile(g, loss, &(struct rt_options){ .memory.no_huge_pages = !asked }, &p, NULL), 0);
			doc = rt_program_report(p);
			said = gt_json_get_str(doc, "pages", "");
			if (!asked)
				ck_assert_str_eq(said, "small pages");
			else if (!given)
				ck_assert_str_eq(said, "small pages, although huge pages were advised");
			else
				ck_assert_msg(gt_ends_with(said, "huge pages") || gt_starts_with(said, "small pages, "), "%s",
					      said);
		}
}
END_TEST

TCase *case_debug(void)
{
	TCase *t = tcase_create("debug");

	tcase_add_test(t, gradients_are_checked_through_dropouts);
	tcase_add_test(t, gradients_are_checked_of_pixels);
	tcase_add_test(t, a_value_that_is_not_written_is_nan);
	tcase_add_test(t, the_real_page_sizes_are_reported);
	return t;
}
