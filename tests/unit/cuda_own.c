/* SPDX-License-Identifier: Apache-2.0 */
/* User ops on a device: run, or refused with one message; an output that the op does not write is detected. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/fatbin.h"
#include "runtime/runtime.h"
#include "tests/unit/check_cuda.h"

static void twice(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	for (int64_t i = 0; i < rt_shape_elements(&shapes[0]) && threads && !arg; i++)
		y[i] = 2 * in[0][i];
}

static void twice_by_definition(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	for (int64_t i = 0; i < rt_shape_elements(&shapes[0]) && !arg; i++)
		y[i] = 2 * in[0][i];
}

static void twice_back(const float *const *in, const float *y, const float *dy, float *const *dx, const struct rt_shape *shapes,
		       int threads, void *arg)
{
	for (int64_t i = 0; i < rt_shape_elements(&shapes[0]) && threads && in && y && !arg; i++)
		dx[0][i] = 2 * dy[i];
}

/* y = 2 x + y. The old value of y is within the tolerance, so only the message about it is checked. */
static int saxpy(const struct rt_user_run *run, unsigned threads, size_t shared, struct gt_err *err)
{
	unsigned n = (unsigned)rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], y = run->y;
	float two = 2;

	return rt_user_launch(run, 0, (unsigned[]){1, 1, 1}, (unsigned[]){threads, 1, 1}, shared, (void *[]){&n, &two, &x, &y},
			      err);
}

static int sound(const struct rt_user_run *run, struct gt_err *err)
{
	return saxpy(run, 32, 100 << 10, err); /* more shared memory than the default */
}

static int wide(const struct rt_user_run *run, struct gt_err *err)
{
	return saxpy(run, 1025, 0, err);
}

static int hungry(const struct rt_user_run *run, struct gt_err *err)
{
	return saxpy(run, 32, 1 << 20, err);
}

static int lost(const struct rt_user_run *run, struct gt_err *err)
{
	return rt_user_launch(run, 1, (unsigned[]){1, 1, 1}, (unsigned[]){1, 1, 1}, 0, NULL, err);
}

static int silent(const struct rt_user_run *run, struct gt_err *err)
{
	return run->stream && err ? -5 : 0;
}

/* A user op whose device code is missing or wrong in each way. */
static int own_op_and_tell(void)
{
	static const char *const saxpys[] = {"rt_saxpy", NULL}, *const others[] = {"rt_saxpy", "my_twice", NULL};
	static const struct rt_user_cuda cuda[] = {
		{0}, {rt_fatbin, saxpys, NULL, sound, NULL}, {rt_fatbin, others, NULL, sound, sound},
		{"not an image", saxpys, NULL, sound, sound}, {rt_fatbin, saxpys, NULL, sound, sound},
		{rt_fatbin, saxpys, NULL, wide, sound}, {rt_fatbin, saxpys, NULL, hungry, sound},
		{rt_fatbin, saxpys, NULL, lost, sound}, {NULL, NULL, NULL, lost, sound}, {NULL, NULL, NULL, silent, sound},
	};

	for (size_t i = 0; i <= GT_ARRAY_SIZE(cuda); i++) {
		const struct rt_user_op op = {.name = "mine", .inputs = 1, .forward = twice, .backward = twice_back,
					      .reference = twice_by_definition, .cuda = i ? &cuda[i - 1] : NULL};
		gt_auto(rt_graph) *g = rt_graph_new();
		struct rt_node *x = rt_param(g, "x", RT_SHAPE(3), RT_INIT_ONES), *y = rt_user(g, &op, &x, NULL);
		struct rt_node *loss = rt_dot(g, y, rt_input(g, "weights", RT_F32, RT_SHAPE(3)));
		gt_auto(rt_program) *p = NULL;
		struct gt_err err = {0};
		int r = rt_compile(g, loss, &(struct rt_options){.device = RT_CUDA, .debug.keep_gradients = true}, &p, &err);

		printf("%d %s\n", r, r ? err.msg : "compiled");
	}
	return 0;
}

static int forgetful(const struct rt_user_run *run, struct gt_err *err)
{
	return run->stream && err ? 0 : -5;
}

/* An op whose device code writes nothing, with and without poison, where every tensor has its own memory. */
static int unwritten_and_tell(void)
{
	static const char *const saxpys[] = {"rt_saxpy", NULL};
	static const struct rt_user_cuda cuda = {rt_fatbin, saxpys, NULL, forgetful, forgetful};
	static const struct rt_user_op op = {.name = "mine", .inputs = 1, .forward = twice, .backward = twice_back,
					     .reference = twice_by_definition, .cuda = &cuda};

	for (int poison = 0; poison < 2; poison++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		struct rt_node *x = rt_param(g, "x", RT_SHAPE(3), RT_INIT_ONES), *y = rt_user(g, &op, &x, NULL);
		struct rt_node *loss = rt_dot(g, y, rt_input(g, "weights", RT_F32, RT_SHAPE(3)));
		const struct rt_options o = {.device = RT_CUDA, .debug = { .keep_gradients = true, .no_reuse = true,
									   .poison = poison }};
		gt_auto(rt_program) *p = NULL;
		struct rt_metrics m = {0};
		struct gt_err err = {0};
		float dx[3] = {0};
		int r = rt_compile(g, loss, &o, &p, &err);

		if (!r)
			r = rt_step(p, (const void *[]){(float[]){1, 2, 3}}, &m, &err);
		if (!r)
			r = rt_read_gradient(p, x, dx, &err);
		printf("%s\n", r ? err.msg : isnan(dx[0]) ? "no number" : "numbers");
	}
	return 0;
}

START_TEST(a_user_op_runs_or_is_refused_in_one_sentence)
{
	static const char says[] =
		"-38 mine of x: it has no device code: give its struct rt_user_op a .cuda with an image and a forward; the CPU can "
		"run it\n"
		"-38 mine of x: it has no device code: give its struct rt_user_op a .cuda with an image and a forward; the CPU can "
		"run it\n"
		"-38 mine of d mine: it has no device code for its gradient: give its .cuda a backward; the CPU can run it\n"
		"-22 mine: its image has no kernel \"my_twice\" (declare it extern \"C\" to keep its name)\n"
		"-19 the image of mine: cuModuleLoadData failed with CUDA error 200, CUDA_ERROR_OTHER (some error); the driver "
		"cannot read this code: it is damaged, or was built with a toolkit that is newer than the driver\n"
		"0 compiled\n"
		"-19 mine: rt_saxpy: cuLaunchKernel failed with CUDA error 1, CUDA_ERROR_OTHER (some error)\n"
		"-19 mine: 1048576 bytes of shared memory for rt_saxpy: cuFuncSetAttribute failed with CUDA error 1, "
		"CUDA_ERROR_OTHER (some error)\n"
		"-22 mine: there is no kernel 1 in its list\n"
		"-22 mine: there is no kernel 1 in its list\n"
		"-5 mine: its device code failed with -5\n";
	struct result r = run_with("own", NULL, STANDIN_DIR);

	ck_assert_str_eq(r.out, says);
}
END_TEST

START_TEST(a_value_that_is_not_written_is_nan)
{
	struct result r = run_with("unwritten", NULL, STANDIN_DIR);

	ck_assert_msg(strstr(r.out, "numbers\nthe loss of step 1 is ") == r.out && strstr(r.out, "first not finite: mine"), "%s",
		      r.out);
}
END_TEST

void add_own_tests(TCase *tc)
{
	tcase_add_test(tc, a_user_op_runs_or_is_refused_in_one_sentence);
	tcase_add_test(tc, a_value_that_is_not_written_is_nan);
}

int child_own(const char *what)
{
	if (gt_streq(what, "own"))
		return own_op_and_tell();
	return gt_streq(what, "unwritten") ? unwritten_and_tell() : -1;
}
