/* SPDX-License-Identifier: Apache-2.0 */
/* GPU activity during a launch: which GPUs count, what is stored, and that it explains an outlier. */
#include <math.h>
#include <string.h>
#include "bench/session/gpu_monitor.h"
#include "bench/result/gpu.h"
#include "bench/result/outlier.h"
#include "tests/unit/bench_generated.h"
#include "tests/unit/check_bench.h"

/* A GPU in the monitor's answer: used or idle, with these levels and shares. */
static json_t *card(int index, const char *pci, int used, double sm, double temp, const char *reason, double share)
{
	json_t *c = json_pack("{s:i, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:{}, s:{}}", "index", index, "pci", pci, "looks", 10,
			      "used_looks", used, "sm_mhz", sm, "sm_max_mhz", 2000., "power_w", 600., "temperature_c", temp,
			      "held_pct", "points");

	if (reason)
		json_object_set_new(json_object_get(c, "held_pct"), reason, json_real(share));
	return c;
}

static json_t *answer(json_t *a, json_t *b)
{
	json_t *doc = json_pack("{s:i, s:f, s:i, s:f, s:f, s:[o]}", "code", 0, "seconds", 2., "looks", 10, "nvml_s", .001, "cpu_s",
				.002, "cards", a);

	if (b)
		json_array_append_new(json_object_get(doc, "cards"), b);
	return doc;
}

START_TEST(the_worst_value_of_the_used_gpus_is_stored)
{
	gt_auto_json *doc = answer(card(0, "0000:17:00.0", 10, 1900, 60, NULL, 0),
				   card(1, "0000:1f:00.0", 8, 1200, 80, "hardware thermal", 40));
	gt_auto_json *env = json_object(), *gpu = NULL;

	bn_gpu_monitor_record(doc, NULL, &gpu, env);
	ck_assert_uint_eq(json_array_size(json_object_get(gpu, "cards")), 2);
	ck_assert_double_eq_tol(gt_json_get_real(gpu, "cpu_share", NAN), .001, 1e-12);
	ck_assert_double_eq(gt_json_get_real(env, "gpu_sm_mhz", NAN), 1200);
	ck_assert_double_eq(gt_json_get_real(env, "gpu_clock_pct", NAN), 60);
	ck_assert_double_eq(gt_json_get_real(env, "gpu_temp_c", NAN), 80);
	ck_assert_double_eq(gt_json_get_real(env, "gpu_heat_pct", NAN), 40);
	ck_assert_double_eq(gt_json_get_real(env, "gpu_power_cap_pct", NAN), 0);
	ck_assert_double_eq(bn_gpu_limited_pct(env), 40);
}
END_TEST

START_TEST(a_card_that_idled_or_is_hidden_from_the_launch_does_not_count)
{
	struct gt_strv visible = { 0 };
	gt_auto_json *doc = answer(card(0, "0000:17:00.0", 0, 345, 30, "idle", 100), card(1, "0000:1f:00.0", 9, 1800, 70, NULL, 0));
	gt_auto_json *env = json_object(), *none = json_object(), *gpu = NULL, *nothing = NULL;

	bn_gpu_monitor_record(doc, NULL, &gpu, env);
	ck_assert_uint_eq(json_array_size(json_object_get(gpu, "cards")), 1);
	ck_assert_double_eq(gt_json_get_real(env, "gpu_sm_mhz", NAN), 1800);
	gt_strv_add(&visible, "0000:17:00.0");
	bn_gpu_monitor_record(doc, &visible, &nothing, none);
	ck_assert_ptr_null(nothing);
	ck_assert_uint_eq(json_object_size(none), 0);
	gt_strv_clear(&visible);
}
END_TEST

START_TEST(missing_gpu_readings_are_omitted)
{
	gt_auto_json *doc = json_pack("{s:i, s:f, s:i, s:[{s:i, s:i, s:i, s:{}}]}", "code", 0, "seconds", 1., "looks", 3, "cards",
				      "index", 0, "looks", 3, "used_looks", 3, "points");
	gt_auto_json *env = json_object(), *gpu = NULL;

	bn_gpu_monitor_record(doc, NULL, &gpu, env);
	ck_assert_ptr_nonnull(gpu);
	ck_assert(json_is_null(json_object_get(gpu, "cpu_share")));
	ck_assert_uint_eq(json_object_size(env), 0);
	ck_assert(isnan(bn_gpu_limited_pct(env)));
}
END_TEST

START_TEST(a_lost_gpu_is_reported_in_one_sentence)
{
	gt_auto_json *doc = json_pack("{s:i, s:[{s:i, s:s, s:i, s:i, s:{}}]}", "code", 0, "cards", "index", 3, "error",
				      "GPU is lost", "looks", 0, "used_looks", 0, "points");
	gt_auto_json *env = json_object(), *gpu = NULL;

	bn_gpu_monitor_record(doc, NULL, &gpu, env);
	ck_assert_ptr_nonnull(gpu);
	ck_assert_str_eq(gt_json_get_str(env, "gpu_error", ""), "GPU 3: GPU is lost");
}
END_TEST

/* The seventh of ten launches takes 40 % longer and has these other values in its env. */
static const struct {
	const char *key;
	double usual, then;
	const char *code, *cause;
} causes[] = {
	{ "gpu_heat_pct", 0, 60, "gpu_heat_pct", "the GPU was slowed down by heat: 60 % of the time, usually 0" },
	{ "gpu_brake_pct", 0, 30, "gpu_brake_pct", "the GPU's power brake was active: 30 % of the time, usually 0" },
	{ "gpu_slowdown_pct", 0, 30, "gpu_slowdown_pct", "the GPU's hardware slowed it down: 30 % of the time, usually 0" },
	{ "gpu_power_cap_pct", 0, 90, "gpu_power_cap_pct", "the GPU reached its power limit: 90 % of the time, usually 0" },
	{ "gpu_power_cap_pct", 95, 100, NULL, NULL }, /* normal: a GPU at full load runs at its limit */
	{ "gpu_sm_mhz", 1980, 1400, "gpu_sm_mhz", "the GPU ran slower: 1400 MHz, usually 1980" },
	{ "gpu_sm_mhz", 1980, 1960, NULL, NULL },
	{ "gpu_memory_mhz", 2619, 1593, "gpu_memory_mhz", "the GPU's memory ran slower: 1593 MHz, usually 2619" },
	{ "gpu_temp_c", 60, 75, "gpu_temp_c", "the GPU was hotter: 75 degrees, usually 60" },
};

START_TEST(the_clock_limit_is_the_cause_of_an_outlier)
{
	gt_auto_json *doc = gen_doc("single", 10), *list = NULL;
	gt_auto(bn_data) *data = NULL;
	struct gt_err err = { 0 };
	json_t *o;

	for (int i = 0; i < 10; i++)
		json_object_set_new(gen_launch(doc, i, "single", "A", i == 6 ? 1.4 : 1 + .001 * (i % 3)), "env",
				    json_pack("{s:f}", causes[_i].key, i == 6 ? causes[_i].then : causes[_i].usual));
	ck_assert_msg(bn_data_from_doc(doc, "made", &data, &err) == 0, "%s", err.msg);
	list = bn_outliers(data);
	ck_assert_uint_eq(json_array_size(list), 1);
	o = json_array_get(list, 0);
	if (causes[_i].code) {
		ck_assert_str_eq(gt_json_get_str(o, "code", ""), causes[_i].code);
		ck_assert_str_eq(gt_json_get_str(o, "cause", ""), causes[_i].cause);
	} else {
		ck_assert(json_is_null(json_object_get(o, "cause")));
	}
}
END_TEST

START_TEST(the_report_has_gpu_readings_and_their_cost)
{
	gt_auto_json *doc = gen_doc("single", 3);
	gt_auto_buf none = { 0 }, text = { 0 };

	for (int i = 0; i < 3; i++) {
		json_t *l = gen_launch(doc, i, "single", "A", 1);

		json_object_set_new(l, "env", json_pack("{s:f, s:f, s:f, s:f}", "gpu_sm_mhz", i ? 1980. : 1400., "gpu_temp_c",
							60. + i, "gpu_power_w", 612., "gpu_heat_pct", i ? 0. : 40.));
	}
	bn_text_gpu(doc, &none); /* nothing was recorded */
	ck_assert_uint_eq(none.len, 0);
	for (size_t i = 0; i < 3; i++)
		json_object_set_new(json_array_get(json_object_get(doc, "launches"), i), "gpu",
				    json_pack("{s:f, s:[]}", "cpu_share", .002, "cards"));
	bn_text_gpu(doc, &text);
	ck_assert_str_eq(text.s, "GPU in 3 launches, 1400 to 1980 MHz, 60 to 62 degrees, 612 W, clocks limited in 1 of them "
				 "for at most 40 % of the time; monitoring took 0.2 % of a CPU");
}
END_TEST

TCase *bench_gauge_case(void)
{
	TCase *tc = tcase_create("gauge");

	tcase_add_test(tc, the_worst_value_of_the_used_gpus_is_stored);
	tcase_add_test(tc, a_card_that_idled_or_is_hidden_from_the_launch_does_not_count);
	tcase_add_test(tc, missing_gpu_readings_are_omitted);
	tcase_add_test(tc, a_lost_gpu_is_reported_in_one_sentence);
	tcase_add_loop_test(tc, the_clock_limit_is_the_cause_of_an_outlier, 0, GT_ARRAY_SIZE(causes));
	tcase_add_test(tc, the_report_has_gpu_readings_and_their_cost);
	return tc;
}
