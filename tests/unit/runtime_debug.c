/* SPDX-License-Identifier: Apache-2.0 */
/* What a program shows of itself: gradients checked by differences, the trace. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include "tests/unit/check_runtime.h"

static struct rt_node *p(struct rt_graph *g, const char *name, struct rt_shape s)
{
	return rt_param(g, name, s, RT_INIT_NORMAL(0.5f));
}

/* The check of gradients drops what the step drops, and each step drops something else. */
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
	ck_assert_msg(!rt_compile(g, loss, &(struct rt_options){ .keep_gradients = true, .seed = 5 }, &prog, &err), "%s", err.msg);
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

/* Bytes are a quarter of what the graph declares: they are read as bytes, and normalised. */
START_TEST(gradients_are_checked_of_pixels)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	enum { N = 2 * 6 * 6 * 3 };
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 6, 6, 3));
	struct rt_node *y = rt_conv2d(g, x, p(g, "w", RT_SHAPE(4, 3, 3, 3)), NULL, (struct rt_conv2d){ .pad = 1 });
	struct rt_node *flat = rt_reshape(g, rt_gelu(g, y), RT_SHAPE(2, 144));
	struct rt_node *loss = rt_cross_entropy(g, flat, rt_input(g, "y", RT_I32, RT_SHAPE(2)));
	struct rt_options opt = { .keep_gradients = true, .pixels = { .mean = 0.45f, .std = 0.225f } };
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

/* Pages are said as they are: where the kernel gives no huge ones (here to this process alone), advice changes nothing. */
START_TEST(pages_are_said_as_they_are)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 64, (const int64_t[]){ 784, 1024, 10 }, 3);

	for (int given = 1; given >= 0; given--)
		for (int asked = 0; asked < 2; asked++) {
			gt_auto(rt_program) *p = NULL;
			gt_auto_json *doc = NULL;
			const char *said;

			ck_assert_int_eq(prctl(PR_SET_THP_DISABLE, !given, 0, 0, 0), 0);
			ck_assert_int_eq(rt_compile(g, loss, &(struct rt_options){ .no_huge_pages = !asked }, &p, NULL), 0);
			doc = rt_program_report(p);
			said = gt_json_get_str(doc, "pages", "");
			if (!asked)
				ck_assert_str_eq(said, "small pages");
			else if (!given)
				ck_assert_str_eq(said, "small pages, huge ones were advised");
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
	tcase_add_test(t, pages_are_said_as_they_are);
	return t;
}
