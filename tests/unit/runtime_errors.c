/* SPDX-License-Identifier: Apache-2.0 */
/* Invalid input is refused with one message that names it. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "tests/unit/check_runtime.h"

static struct rt_node *p(struct rt_graph *g, const char *name, struct rt_shape s)
{
	return rt_param(g, name, s, RT_INIT_NORMAL(1));
}

struct bad_graph {
	struct rt_node *(*build)(struct rt_graph *g);
	const char *says;
};

static struct rt_node *linear_shapes(struct rt_graph *g)
{
	return rt_linear(g, p(g, "x", RT_SHAPE(3, 5)), p(g, "w", RT_SHAPE(7, 6)), NULL);
}

static struct rt_node *bias_shape(struct rt_graph *g)
{
	return rt_linear(g, p(g, "x", RT_SHAPE(3, 5)), p(g, "w", RT_SHAPE(7, 5)), p(g, "b", RT_SHAPE(5)));
}

static struct rt_node *add_shapes(struct rt_graph *g)
{
	return rt_add(g, p(g, "left", RT_SHAPE(3, 5)), p(g, "right", RT_SHAPE(5, 3)));
}

static struct rt_node *target_count(struct rt_graph *g)
{
	return rt_cross_entropy(g, p(g, "logits", RT_SHAPE(3, 5)), rt_input(g, "targets", RT_I32, RT_SHAPE(4)));
}

static struct rt_node *target_type(struct rt_graph *g)
{
	return rt_cross_entropy(g, p(g, "logits", RT_SHAPE(3, 5)), rt_input(g, "targets", RT_F32, RT_SHAPE(3)));
}

static struct rt_node *head_count(struct rt_graph *g)
{
	return rt_attention(g, p(g, "qkv", RT_SHAPE(2, 4, 30)), 3);
}

static struct rt_node *group_count(struct rt_graph *g)
{
	return rt_attention_grouped(g, p(g, "qkv", RT_SHAPE(2, 4, 30)), 4, 3);
}

static struct rt_node *no_group(struct rt_graph *g)
{
	return rt_attention_grouped(g, p(g, "qkv", RT_SHAPE(2, 4, 30)), 4, 0);
}

static struct rt_node *group_width(struct rt_graph *g)
{
	return rt_attention_grouped(g, p(g, "qkv", RT_SHAPE(2, 4, 30)), 4, 2);
}

static struct rt_node *odd_swiglu(struct rt_graph *g)
{
	return rt_swiglu(g, p(g, "x", RT_SHAPE(3, 7)));
}

static struct rt_node *few_positions(struct rt_graph *g)
{
	return rt_embedding(g, rt_input(g, "ids", RT_I32, RT_SHAPE(2, 9)), p(g, "table", RT_SHAPE(5, 4)),
			    p(g, "positions", RT_SHAPE(8, 4)));
}

static struct rt_node *twice(struct rt_graph *g)
{
	p(g, "x", RT_SHAPE(3));
	return p(g, "x", RT_SHAPE(3));
}

static struct rt_node *empty(struct rt_graph *g)
{
	return p(g, "x", RT_SHAPE(3, 0));
}

static struct rt_node *huge(struct rt_graph *g)
{
	return p(g, "x", RT_SHAPE(INT64_C(1) << 39, INT64_C(1) << 39));
}

static struct rt_node *huge_result(struct rt_graph *g)
{
	return rt_linear(g, p(g, "x", RT_SHAPE(1 << 24, 1)), p(g, "w", RT_SHAPE(1 << 24, 1)), NULL);
}

static struct rt_node *no_loss(struct rt_graph *g)
{
	return rt_gelu(g, p(g, "x", RT_SHAPE(3)));
}

/* The first of several errors is reported. */
static struct rt_node *goes_on(struct rt_graph *g)
{
	return rt_relu(g, rt_gelu(g, linear_shapes(g)));
}

static const struct bad_graph bad[] = {
	{ linear_shapes, "linear of x (3,5) and w (7,6): the weight must be" },
	{ bias_shape, "linear of w (7,5) and b (5): the bias must" },
	{ add_shapes, "add of left (3,5) and right (5,3): the shapes must be equal" },
	{ target_count, "cross_entropy of logits (3,5) and targets (4): there must be one target per row" },
	{ target_type, "the targets targets are f32, not i32" },
	{ head_count, "attention of qkv (2,4,30) with 3 heads" },
	{ group_count, "attention of qkv: 4 heads are not a multiple of 3 key/value heads" },
	{ no_group, "attention of qkv: 4 heads are not a multiple of 0 key/value heads" },
	{ group_width, "attention of qkv (2,4,30) with 4 heads and 2 key/value heads: it must be (B,T,W) with W a multiple of 8" },
	{ odd_swiglu, "swiglu of x (3,7): the last dimension must be even" },
	{ few_positions, "embedding of ids (2,9) and positions (8,4)" },
	{ twice, "x is declared twice" },
	{ empty, "x: dimension 1 is 0" },
	{ huge, "x: dimension 1 is 549755813888" },
	{ huge_result, "linear of x: the result would have more than 2^40 elements" },
	{ no_loss, "gelu is not a loss" },
	{ goes_on, "linear of x (3,5) and w (7,6)" },
};

START_TEST(misfits_are_named_with_both_shapes)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_program *prog = NULL;
	struct gt_err err = { 0 };
	int r = rt_compile(g, bad[_i].build(g), &(struct rt_options){ 0 }, &prog, &err);

	ck_assert_int_lt(r, 0);
	ck_assert_ptr_null(prog);
	ck_assert_msg(strstr(err.msg, bad[_i].says) != NULL, "said: %s", err.msg);
}
END_TEST

START_TEST(too_much_memory_is_refused_before_the_first_step)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_program *prog = NULL;
	struct gt_err err = { 0 };
	struct rt_node *loss = rt_model_mlp(g, 1 << 20, (const int64_t[]){ 784, 1024, 10 }, 3);

	ck_assert_int_eq(rt_compile(g, loss, &(struct rt_options){ .memory.limit_bytes = 1 << 30, .debug.keep_gradients = true },
				    &prog,
				    &err), -ENOMEM);
	ck_assert_msg(strstr(err.msg, "the program needs 11.") && strstr(err.msg, "the limit is 1.0 GiB"), "said: %s", err.msg);
	ck_assert_ptr_null(prog);
}
END_TEST

static struct rt_program *small_mlp(struct rt_graph *g)
{
	struct rt_program *prog = NULL;
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 } };

	ck_assert_int_eq(rt_compile(g, rt_model_mlp(g, 3, (const int64_t[]){ 5, 4, 3 }, 3), &opt, &prog, NULL), 0);
	return prog;
}

START_TEST(ids_outside_the_table_are_refused)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = small_mlp(g);
	float x[15] = { 0 };
	struct rt_metrics m;
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_step(prog, (const void *[]){ x, (int32_t[]){ 0, 3, 1 } }, &m, &err), -ERANGE);
	ck_assert_msg(strstr(err.msg, "y[1] is 3; linear_cross_entropy takes 0 to 2") != NULL, "said: %s", err.msg);
	ck_assert_int_eq(rt_step(prog, (const void *[]){ x, (int32_t[]){ 0, 2, -1 } }, &m, &err), -ERANGE);
	ck_assert_int_eq(rt_step(prog, (const void *[]){ x, (int32_t[]){ 0, 2, 1 } }, &m, &err), 0);
}
END_TEST

START_TEST(nan_is_located_and_leaves_parameters)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = small_mlp(g);
	float x[15] = { 0 }, *w = rt_value(prog, rt_graph_leaf(g, 4)), before[12];
	int32_t y[3] = { 0, 1, 2 };
	struct rt_metrics m;
	struct gt_err err = { 0 };

	ck_assert_str_eq(rt_node_name(rt_graph_leaf(g, 4)), "fc1.weight");
	memcpy(before, w, sizeof(before));
	x[7] = NAN;
	ck_assert_int_eq(rt_step(prog, (const void *[]){ x, y }, &m, &err), -EDOM);
	ck_assert_msg(strstr(err.msg, "first not finite: x;") != NULL, "said: %s", err.msg);
	ck_assert(!memcmp(before, w, sizeof(before)));
	x[7] = 0;
	w[5] = INFINITY;
	ck_assert_int_eq(rt_step(prog, (const void *[]){ x, y }, &m, &err), -EDOM);
	ck_assert_msg(strstr(err.msg, "loss of step 1") && strstr(err.msg, "fc1.weight"), "said: %s", err.msg);
}
END_TEST

START_TEST(a_missing_device_is_explained)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_backend_info info[RT_BACKENDS];
	struct rt_program *prog = NULL;
	struct gt_err err = { 0 };
	struct rt_node *loss = rt_model_mlp(g, 3, (const int64_t[]){ 5, 4, 3 }, 3);

	ck_assert_int_eq(rt_backends(info), RT_BACKENDS);
	ck_assert(info[0].available && gt_streq(info[0].name, "cpu"));
	ck_assert_str_eq(info[1].name, "cuda");
	ck_assert(info[1].available || info[1].reason[0]);
	ck_assert_int_lt(rt_compile(g, loss, &(struct rt_options){ .device = RT_CUDA }, &prog, &err), 0);
	if (!info[1].available)
		ck_assert_msg(strstr(err.msg, info[1].reason) != NULL, "said: %s", err.msg);
}
END_TEST

/* A loss computed from losses is refused: it would miss the gradients of all but the last. */
START_TEST(a_loss_made_from_a_loss_is_refused)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *first = rt_cross_entropy(g, p(g, "x", RT_SHAPE(3, 5)), rt_input(g, "y", RT_I32, RT_SHAPE(3)));
	struct rt_node *loss = rt_dot(g, rt_name(first, "first"), p(g, "scale", RT_SHAPE(1)));
	struct rt_program *prog = NULL;
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_compile(g, loss, &(struct rt_options){ .debug.keep_gradients = true }, &prog, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, "first is a loss") != NULL, "said: %s", err.msg);
	ck_assert_int_eq(rt_compile(g, loss, &(struct rt_options){ 0 }, &prog, &err), 0);
	rt_program_free(prog);
}
END_TEST

static void copy_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	memcpy(y, in[0], (size_t)rt_shape_elements(&shapes[0]) * sizeof(float));
}

static void copy_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	memcpy(y, in[0], (size_t)rt_shape_elements(&shapes[0]) * sizeof(double));
}

static const struct rt_user_op one_way = { .name = "one_way", .inputs = 1, .forward = copy_forward, .reference = copy_reference };

/*
 * An op without a gradient is accepted where none is needed: in evaluation, on inputs only, and off the path to the
 * loss.
 */
START_TEST(an_op_without_gradient_is_refused_above_a_parameter)
{
	static const struct {
		bool of_param, trains;
	} cases[] = { { true, true }, { true, false }, { false, true } };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct gt_err err = { 0 };
	struct rt_node *w = p(g, "w", RT_SHAPE(3, 5)), *x = rt_input(g, "x", RT_F32, RT_SHAPE(3, 5));
	struct rt_node *scaled = rt_name(rt_affine(g, w, 2, 0), "scaled"), *aside = rt_user(g, &one_way, &w, NULL);
	struct rt_node *y = rt_user(g, &one_way, cases[_i].of_param ? &scaled : &x, NULL);
	struct rt_options opt = { .debug.keep_gradients = cases[_i].trains };
	int r = rt_compile(g, rt_dot(g, rt_add(g, y, w), x), &opt, &prog, &err);

	ck_assert_ptr_nonnull(aside);
	if (!cases[_i].of_param || !cases[_i].trains) {
		ck_assert_msg(r == 0, "said: %s", err.msg);
		return;
	}
	ck_assert_int_eq(r, -EINVAL);
	ck_assert_msg(strstr(err.msg, "one_way of scaled: it has no backward function"), "said: %s", err.msg);
}
END_TEST

/* NaN is neither above nor below any limit. */
START_TEST(options_that_are_nan_are_refused)
{
	const struct {
		struct rt_options opt;
		const char *says;
	} cases[] = {
		{ { .optimizer = { .kind = RT_SGD, .lr = NAN } }, "learning rate nan" },
		{ { .optimizer = { .kind = RT_SGD, .lr = 1e300 } }, "learning rate 1e+300" },
		{ { .optimizer = { .kind = RT_SGD, .weight_decay = -1 } }, "weight decay -1" },
		{ { .optimizer = { .kind = RT_SGD, .momentum = NAN } }, "momentum nan" },
		{ { .optimizer = { .kind = RT_SGD, .momentum = 1 } }, "momentum 1" },
		{ { .optimizer = { .kind = RT_ADAMW, .beta1 = NAN } }, "betas nan" },
		{ { .optimizer = { .kind = RT_ADAMW, .beta2 = -0.5 } }, "and -0.5 must be in" },
		{ { .optimizer = { .kind = RT_ADAMW, .eps = NAN } }, "eps nan" },
		{ { .clip_norm = NAN }, "clip norm nan" },
		{ { .precision.scaler = { .growth = NAN } }, "grow by more than 1" },
		{ { .precision.scaler = { .init = INFINITY } }, "the loss scale must start" },
		{ { .ranks = { .weight = NAN } }, "fraction of the rows is nan" },
		{ { .pixels = { .std = NAN } }, "standard deviation" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		struct rt_program *prog = NULL;
		struct gt_err err = { 0 };
		struct rt_node *loss = rt_model_mlp(g, 3, (const int64_t[]){ 5, 4, 3 }, 3);

		ck_assert_msg(rt_compile(g, loss, &cases[i].opt, &prog, &err) == -EINVAL, "not refused: %s", cases[i].says);
		ck_assert_msg(strstr(err.msg, cases[i].says), "said: %s, not %s", err.msg, cases[i].says);
	}
}
END_TEST

START_TEST(settings_that_are_nan_stop_the_step)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .precision.scaler = { .use = RT_SCALER_ON } };
	struct rt_node *loss = rt_model_mlp(g, 3, (const int64_t[]){ 5, 4, 3 }, 3);
	const float x[15] = { 1, 2, 3 };
	const void *in[] = { x, (int32_t[]){ 0, 1, 2 } };
	const double none[] = { NAN, -1, INFINITY };
	float before[12];
	struct rt_metrics m;
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_compile(g, loss, &opt, &prog, &err), 0);
	memcpy(before, rt_value(prog, rt_graph_leaf(g, 4)), sizeof(before));
	for (size_t i = 0; i < GT_ARRAY_SIZE(none); i++) {
		rt_set_lr(prog, none[i]);
		ck_assert_int_eq(rt_step(prog, in, &m, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, "the learning rate was set to"), "said: %s", err.msg);
		rt_set_lr(prog, 0.1);
		rt_set_weight(prog, none[i]);
		ck_assert_int_eq(rt_step(prog, in, &m, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, "weight was set to"), "said: %s", err.msg);
		rt_set_weight(prog, 1);
		rt_set_scaler(prog, none[i], 0);
		ck_assert_int_eq(rt_step(prog, in, &m, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, "the loss scale was set to"), "said: %s", err.msg);
		rt_set_scaler(prog, 1024, 0);
	}
	ck_assert_mem_eq(before, rt_value(prog, rt_graph_leaf(g, 4)), sizeof(before));
	ck_assert_int_eq(rt_step(prog, in, &m, &err), 0);
	ck_assert(m.updated && m.loss_scale == 1024);
}
END_TEST

TCase *case_errors(void)
{
	TCase *t = tcase_create("errors");

	tcase_add_loop_test(t, misfits_are_named_with_both_shapes, 0, GT_ARRAY_SIZE(bad));
	tcase_add_test(t, a_loss_made_from_a_loss_is_refused);
	tcase_add_loop_test(t, an_op_without_gradient_is_refused_above_a_parameter, 0, 3);
	tcase_add_test(t, too_much_memory_is_refused_before_the_first_step);
	tcase_add_test(t, ids_outside_the_table_are_refused);
	tcase_add_test(t, nan_is_located_and_leaves_parameters);
	tcase_add_test(t, options_that_are_nan_are_refused);
	tcase_add_test(t, settings_that_are_nan_stop_the_step);
	tcase_add_test(t, a_missing_device_is_explained);
	return t;
}
