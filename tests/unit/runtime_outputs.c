/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with outputs: the outputs of each model equal their definition, inference needs less memory, and invalid
 * requests are refused.
 */
#include <errno.h>
#include <string.h>
#include "tests/unit/check_runtime.h"
#include "lib/util.h"
#include "tests/unit/outputs_case.h"

START_TEST(outputs_of_models_follow_their_definition)
{
	const char *bad = outputs_case(_i, RT_CPU, RT_F32, 1e-5);

	ck_assert_msg(!bad, "%s", bad);
	bad = outputs_case(_i, RT_CPU, RT_BF16, 0.03);
	ck_assert_msg(!bad, "bf16: %s", bad);
}
END_TEST

static struct rt_program *compile(struct rt_graph *g, struct rt_node *const *outputs, int n, struct rt_optimizer o)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_compile_outputs(g, outputs, n, &(struct rt_options){ .optimizer = o, .threads = 1 }, &p, &err), "%s",
		      err.msg);
	return p;
}

/* No gradients, no optimizer state, and activations only until their last use. */
START_TEST(a_program_without_training_takes_less_memory)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 512, (const int64_t[]){ 64, 256, 256, 256, 8 }, 5), *logits = rt_logits(loss);
	gt_auto(rt_program) *infers = compile(g, &logits, 1, (struct rt_optimizer){ 0 });
	gt_auto(rt_program) *trains = compile(g, &loss, 1, (struct rt_optimizer){ .kind = RT_ADAMW, .lr = 0.1 });

	ck_assert_uint_lt(rt_program_planned_bytes(infers), rt_program_planned_bytes(trains) / 2);
	ck_assert_int_eq(rt_program_outputs(infers), 1);
	ck_assert_int_eq(rt_program_output_shape(infers, 0)->d[1], 8);
}
END_TEST

/* A training program also computes its other outputs, with the parameters of the last update. */
START_TEST(a_program_that_trains_has_outputs)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 2, (const int64_t[]){ 3, 4 }, 2), *both[] = { loss, rt_logits(loss) };
	gt_auto(rt_program) *p = compile(g, both, 2, (struct rt_optimizer){ .kind = RT_SGD, .lr = 0.5 });
	const void *inputs[] = { (const float[]){ 1, 2, 3, 4, 5, 6 }, (const int32_t[]){ 0, 1 } };
	float before[8], after[8], value = 0;
	struct rt_metrics m;
	double evaluated = 0;

	ck_assert_int_eq(rt_run(p, inputs, (float *[]){ &value, before }, NULL), 0);
	ck_assert_int_eq(rt_eval(p, inputs, &evaluated, NULL), 0);
	ck_assert_double_eq((double)value, evaluated);
	ck_assert_int_eq(rt_step(p, inputs, &m, NULL), 0);
	ck_assert_int_eq(rt_run(p, inputs, (float *[]){ &value, after }, NULL), 0);
	ck_assert_double_lt((double)value, evaluated);
	ck_assert_int_ne(memcmp(before, after, sizeof(before)), 0);
}
END_TEST

START_TEST(impossible_outputs_are_named)
{
	gt_auto(rt_graph) *g = rt_graph_new(), *other = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 2, (const int64_t[]){ 3, 4 }, 2), *logits = rt_logits(loss);
	struct rt_node *foreign = rt_relu(other, rt_input(other, "z", RT_F32, RT_SHAPE(2)));
	const struct {
		struct rt_node *output[2];
		int n;
		enum rt_optimizer_kind optimizer;
		const char *says;
	} cases[] = {
		{ { logits }, 0, RT_NO_OPTIMIZER, "a program needs at least one output" },
		{ { logits, NULL }, 2, RT_NO_OPTIMIZER, "output 1 is NULL" },
		{ { logits, foreign }, 2, RT_NO_OPTIMIZER, "output 1, relu, belongs to another graph" },
		{ { rt_graph_leaf(g, 0) }, 1, RT_NO_OPTIMIZER, "output 0, x, is not the result of an op" },
		{ { logits }, 1, RT_SGD, "fc0 is not a loss: the first output of a program that trains must be its loss" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		struct rt_program *p = NULL;
		struct gt_err err = { 0 };

		ck_assert_int_eq(rt_compile_outputs(g, cases[i].output, cases[i].n,
						    &(struct rt_options){ .optimizer.kind = cases[i].optimizer }, &p, &err),
				 -EINVAL);
		ck_assert_str_eq(err.msg, cases[i].says);
		ck_assert_ptr_null(p);
	}
}
END_TEST

START_TEST(missing_memory_is_named)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 2, (const int64_t[]){ 3, 4 }, 2), *logits = rt_logits(loss);
	gt_auto(rt_program) *p = compile(g, &logits, 1, (struct rt_optimizer){ 0 });
	const float x[6] = { 1, 2, 3, 4, 5, 6 };
	float out[8];
	struct gt_err err = { 0 };
	struct rt_metrics m;
	double value;

	ck_assert_int_eq(rt_run(p, (const void *[]){ x, NULL }, (float *[]){ out }, &err), 0); /* no output needs the targets */
	ck_assert_int_eq(rt_run(p, NULL, (float *[]){ out }, &err), -EINVAL);
	ck_assert_int_eq(rt_run(p, (const void *[]){ x, NULL }, (float *[]){ NULL }, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "the memory for output 0, fc0, is NULL");
	ck_assert_int_eq(rt_run(p, (const void *[]){ NULL, NULL }, (float *[]){ out }, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "input 0, x, is NULL, and an output depends on it");
	ck_assert_int_eq(rt_eval(p, (const void *[]){ x, NULL }, &value, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "the program has no loss: rt_run() computes its outputs");
	ck_assert_int_eq(rt_step(p, (const void *[]){ x, NULL }, &m, &err), -EINVAL);
}
END_TEST

TCase *case_outputs(void)
{
	TCase *tc = tcase_create("outputs");

	tcase_add_loop_test(tc, outputs_of_models_follow_their_definition, 0, OUTPUTS_MODELS);
	tcase_add_test(tc, a_program_without_training_takes_less_memory);
	tcase_add_test(tc, a_program_that_trains_has_outputs);
	tcase_add_test(tc, impossible_outputs_are_named);
	tcase_add_test(tc, missing_memory_is_named);
	return tc;
}
