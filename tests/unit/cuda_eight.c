/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products: they must not hide NaN and infinity, and are not used for unsuitable shapes. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lib/util.h"
#include "runtime/runtime.h"
#include "tests/unit/check_cuda.h"

/* Batches of 16 and of 12 rows; only the first can use 8-bit products. */
static int other_rows_and_tell(const struct rt_options *o)
{
	struct rt_graph *g[2] = {rt_graph_new(), rt_graph_new()};
	struct rt_node *loss[2];
	struct rt_program *p = NULL;
	struct gt_err err = {0};
	int r;

	for (int i = 0; i < 2; i++)
		loss[i] = rt_model_mlp(g[i], i ? 12 : 16, (const int64_t[]){16, 32, 16}, 3);
	r = rt_compile_shapes((const struct rt_graph *const *)g, loss, 2, o, &p, &err);
	puts(r ? err.msg : "both");
	rt_program_free(p);
	for (int i = 0; i < 2; i++)
		rt_graph_free(g[i]);
	return 0;
}

/*
 * The same in 8 bits, whose largest number could hide an infinity: the first and the third batch contain one. Without a
 * scale, small numbers become zero, and with them the gradient of the first layer.
 */
static int eight_and_tell(void)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 16, (const int64_t[]){16, 32, 16}, 3);
	const struct rt_options o = {.device = RT_CUDA, .precision = { .amp = RT_BF16, .fp8 = {.use = true} },
				     .optimizer = {.kind = RT_SGD, .lr = 10}};
	float x[16 * 16], before[32 * 16] = {0}, after[32 * 16] = {0};
	gt_auto(rt_program) *p = NULL;
	struct gt_err err = {0};
	struct rt_metrics m = {0};
	int32_t y[16];
	int r = rt_compile(g, loss, &o, &p, &err);

	for (int i = 0; i < 16 * 16; i++)
		x[i] = 1e-5f * (float)(i % 17 - 8);
	for (int i = 0; i < 16; i++)
		y[i] = i;
	for (int i = 0; !r && i < 4; i++) {
		x[5] = i % 2 ? 1e-5f : HUGE_VALF;
		r = rt_read_value(p, rt_graph_leaf(g, 2), before, &err);
		if (!r)
			r = rt_step(p, (const void *const[]){x, y}, &m, &err);
		printf("%s, ", r == -EDOM ? "no number" : r ? err.msg : "a number");
		if (!r || r == -EDOM)
			r = rt_read_value(p, rt_graph_leaf(g, 2), after, &err);
		puts(memcmp(before, after, sizeof(before)) ? "changed" : "unchanged");
	}
	return r ? 1 : other_rows_and_tell(&o);
}

START_TEST(fp8_without_support_is_one_sentence)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 16, (const int64_t[]){16, 32, 16}, 3);
	const struct rt_options o = {.precision = { .amp = RT_BF16, .fp8 = {.use = true} }};
	gt_auto(rt_program) *p = NULL;
	struct gt_err err = {0};
	struct result r = run_with("fp8", "STANDIN_MAJOR=8", STANDIN_DIR);

	ck_assert_msg(strstr(r.out, "sm_80 and fp8 needs sm_89 or newer") != NULL, "%s", r.out);
	ck_assert_int_lt(rt_compile(g, loss, &o, &p, &err), 0);
	ck_assert_msg(strstr(err.msg, "fp8 needs an NVIDIA GPU") != NULL, "%s", err.msg);
}
END_TEST

START_TEST(infinity_is_detected_in_8_bits)
{
	struct result r = run_with("eight", NULL, STANDIN_DIR);

	ck_assert_str_eq(r.out, "no number, unchanged\na number, changed\nno number, unchanged\na number, changed\n"
				"fp8: 8-bit products need a multiple of 16 rows, in all batch shapes or in none\n");
}
END_TEST

void add_eight_tests(TCase *tc)
{
	tcase_add_test(tc, fp8_without_support_is_one_sentence);
	tcase_add_test(tc, infinity_is_detected_in_8_bits);
}

int child_eight(const char *what)
{
	return gt_streq(what, "eight") ? eight_and_tell() : -1;
}
