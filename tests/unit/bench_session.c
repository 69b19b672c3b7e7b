/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule with a simulated host: its clock, settings, noise and failures. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/stats/rng.h"
#include "bench/session/session.h"
#include "tests/unit/bench_generated.h"
#include "tests/unit/check_bench.h"

#define SD	.002 /* between launches, log */

struct stage {
	struct bn_rng rng;
	double clock_s, effect, sd; /* sd 0: SD */
	double tail_sd;             /* deviation of the slowest step, which the change does not affect; 0: like the other steps */
	int enters, leaves, inside, launches, saves;
	int stop_after, fail_enter_after, setting_changes_after, fail_save_after; /* launches; 0: never */
	int fail_leave_after;
	bool fails_changed, fails_always, wrong, leaks;
	uint64_t seed; /* seed of the random order; 0: uses 11 */
	size_t workloads; /* 0: two */
	volatile int stop;
	/* each arm is a boot: state of the session, arm of the running boot, number of boots */
	bool by_boot;
	int64_t block, here;
	int nth, boots;
	double slept_s; /* time of a suspend in the fifth launch */
};

static void block(void *ctx, int64_t block, int nth)
{
	struct stage *s = ctx;

	s->block = block;
	s->nth = nth;
}

static int enter(void *ctx, bool changed, struct gt_err *err)
{
	struct stage *s = ctx;

	ck_assert_int_eq(s->inside, 0); /* never two arms at once */
	if (s->by_boot && s->here != 2 * s->block + s->nth)
		return gt_fail(err, EINPROGRESS, "the host boots into the next arm");
	if (s->fail_enter_after && s->launches == s->fail_enter_after)
		return gt_fail(err, EPERM, "not allowed");
	s->inside = 1;
	s->enters++;
	return 0;
}

static int leave(void *ctx, bool changed, struct gt_err *err)
{
	struct stage *s = ctx;

	s->inside = 0;
	s->leaves++;
	if (s->fail_leave_after && s->launches >= s->fail_leave_after)
		return gt_fail(err, EBUSY, "someone else changed a setting while it was ours");
	return 0;
}

static int launch(void *ctx, const char *workload, bool changed, uint64_t seed, uint64_t salt, json_t **ret, struct gt_err *err)
{
	struct stage *s = ctx;
	double v = .1 * (1 + (changed ? s->effect : 0)) * exp((s->sd > 0 ? s->sd : SD) * bn_rng_normal(&s->rng));

	ck_assert_int_eq(s->inside, 1);
	s->clock_s += 2;
	if (++s->launches == s->stop_after)
		s->stop = 1;
	if (s->fails_always || (s->fails_changed && changed))
		*ret = json_pack("{s:s}", "failure", "out of memory");
	else
		*ret = json_pack("{s:s, s:{s:b, s:s?}, s:[{s:s, s:s, s:s, s:s, s:f, s:b, s:i, s:[fff]}]}", "definition",
				 "sim/1", "verify", "ok", !s->wrong, "wrong",
				 s->wrong && s->launches == 4 ? "bad sum" : NULL, "metrics", "id", workload, "unit",
				 "s", "direction", "lower", "role", "explore", "margin", .01, "tail", 1, "warmup", 0,
				 "samples", v, v, s->tail_sd > 0 ? .2 * exp(s->tail_sd * bn_rng_normal(&s->rng)) : v);
	return 0;
}

static json_t *settings(void *ctx, bool changed)
{
	struct stage *s = ctx;
	bool moved = s->setting_changes_after && s->launches >= s->setting_changes_after;

	return json_pack("{s:s, s:s}", "vm.swappiness", changed || moved ? "10" : "60", "other", s->leaks && changed ? "1" : "0");
}

static int save(void *ctx, json_t *doc, struct gt_err *err)
{
	struct stage *s = ctx;

	s->saves++;
	return s->fail_save_after && s->launches == s->fail_save_after ? gt_fail(err, ENOSPC, "disk full") : 0;
}

static double now_s(void *ctx)
{
	return ((struct stage *)ctx)->clock_s;
}

static double suspended_s(void *ctx)
{
	return ((struct stage *)ctx)->launches >= 5 ? ((struct stage *)ctx)->slept_s : 0;
}

static const struct bn_interim one_look[] = { { 9, .05 } };

static json_t *play(struct stage *st, const struct bn_interim *interims, size_t n_interims, int *ret_r)
{
	static const char *const ids[] = { "one", "two" };
	struct bn_session s = {.design = BN_DESIGN_PAIRS,
			       .workload = ids,
			       .n_workloads = st->workloads ? st->workloads : 2,
			       .interims = interims,
			       .n_interims = n_interims,
			       .aa_pairs = 6,
			       .seed = st->seed ? st->seed : 11,
			       .quiet = true,
			       .stop = &st->stop};
	struct bn_ops ops = { st, NULL, enter, leave, launch, settings, save, now_s, suspended_s };
	json_t *doc = json_pack("{s:s, s:{s:i}, s:{}, s:{}, s:{s:[{s:s}]}}", "schema", BN_SCHEMA, "tool", "suite_major", 1, "run",
				"host", "treatment", "declared", "id", "vm.swappiness");
	int r;

	bn_rng_seed(&st->rng, 5);
	r = bn_session_run(&s, &ops, doc, NULL);
	ck_assert_int_eq(st->inside, 0); /* every arm was left at the end */
	if (ret_r)
		*ret_r = r;
	else
		ck_assert_int_eq(r, 0);
	return doc;
}

START_TEST(a_fixed_session_runs_its_pairs_and_finds_the_effect)
{
	struct stage st = { .effect = .03 };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);

	ck_assert_int_eq(st.launches, 2 * 2 * (9 + 6));
	ck_assert_int_eq(st.enters, 2 * (9 + 6));
	ck_assert_int_ge(st.saves, st.launches);
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_REGRESSION);
	ck_assert_uint_eq(json_array_size(json_object_get(doc, "confounders")), 0);
}
END_TEST

/*
 * The A/A pairs decide whether the session is valid: all are measured before the first interim analysis, in any random
 * order.
 */
START_TEST(every_random_order_includes_all_aa_pairs)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct stage fixed = {.effect = .03, .seed = seed}, looked = {.effect = -.05, .seed = seed};
		gt_auto_json *a = play(&fixed, one_look, 1, NULL), *b = play(&looked, bn_interims, bn_n_interims, NULL);
		json_t *l;
		size_t i, aa = 0;

		ck_assert_int_eq(fixed.launches, 2 * 2 * (9 + 6));
		ck_assert_uint_eq(json_array_size(json_object_get(a, "launches")), 2 * 2 * (9 + 6));
		json_array_foreach(json_object_get(b, "launches"), i, l) aa +=
			gt_streq(gt_json_get_str(l, "kind", NULL), "aa");
		ck_assert_uint_eq(aa, 2 * 2 * 6);
	}
}
END_TEST

/* Without a primary workload the first three of the list decide, in any order of launches. */
START_TEST(the_primary_metric_does_not_depend_on_random_order)
{
	static const char *const ids[] = {"one", "two", "three", "four", "five"};
	struct bn_interim look = {1, .05};

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct stage st = {.effect = .03};
		struct bn_session s = {.design = BN_DESIGN_PAIRS,
				       .workload = ids,
				       .n_workloads = 5,
				       .interims = &look,
				       .n_interims = 1,
				       .seed = seed,
				       .quiet = true,
				       .stop = &st.stop};
		struct bn_ops ops = {&st, NULL, enter, leave, launch, settings, save, now_s};
		gt_auto_json *doc =
			json_pack("{s:s, s:{s:i}, s:{}, s:{}, s:{s:[{s:s}]}}", "schema", BN_SCHEMA, "tool",
				  "suite_major", 1, "run", "host", "treatment", "declared", "id", "vm.swappiness");
		json_t *m;
		size_t i, k;

		bn_rng_seed(&st.rng, 5);
		ck_assert_int_eq(bn_session_run(&s, &ops, doc, NULL), 0);
		json_array_foreach(json_object_get(doc, "metrics"), i,
				   m) for (k = 0; k < 5; k++) if (gt_streq(gt_json_get_str(m, "id", NULL), ids[k]))
			ck_assert_str_eq(gt_json_get_str(m, "role", ""), k < 3 ? "primary" : "explore");
	}
}
END_TEST

/* Drift is found when an arm ends: the block is complete then, and is measured again. */
START_TEST(an_invalid_block_is_measured_again)
{
	static const char *const ids[] = {"one", "two"};
	struct stage st = {.effect = .03, .fail_leave_after = 32};
	struct bn_session s = {.design = BN_DESIGN_PAIRS,
			       .workload = ids,
			       .n_workloads = 2,
			       .interims = one_look,
			       .n_interims = 1,
			       .aa_pairs = 6,
			       .seed = 11,
			       .quiet = true,
			       .stop = &st.stop,
			       .resume = true};
	struct bn_ops ops = {&st, NULL, enter, leave, launch, settings, save, now_s};
	int r = 0;
	gt_auto_json *doc = play(&st, one_look, 1, &r);

	ck_assert_int_eq(r, -EBUSY);
	ck_assert_uint_eq(json_array_size(json_object_get(doc, "launches")), 32); /* eight complete blocks */
	json_object_set_new(json_object_get(doc, "run"), "invalid", json_string("someone else changed a setting"));
	st.fail_leave_after = 0;
	ck_assert_int_eq(bn_session_run(&s, &ops, doc, NULL), 0);
	ck_assert_int_eq(st.launches, 2 * 2 * (9 + 6) + 4);
	ck_assert_uint_eq(json_array_size(json_object_get(doc, "launches")), 2 * 2 * (9 + 6));
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_REGRESSION);
}
END_TEST

START_TEST(arms_are_randomised_and_the_seed_repeats_them)
{
	struct stage a = { .sd = SD }, b = { .sd = SD };
	gt_auto_json *x = play(&a, one_look, 1, NULL), *y = play(&b, one_look, 1, NULL);
	json_t *l;
	size_t i, b_first = 0;

	json_array_foreach(json_object_get(x, "launches"), i, l) {
		json_t *m = json_array_get(json_object_get(y, "launches"), i);

		ck_assert_str_eq(gt_json_get_str(l, "arm", ""), gt_json_get_str(m, "arm", ""));
		b_first += i % 4 == 0 && gt_json_get_str(l, "arm", "")[0] == 'B';
	}
	ck_assert_uint_gt(b_first, 0);
	ck_assert_uint_lt(b_first, 15);
}
END_TEST

START_TEST(interim_analyses_stop_early_only_with_a_verdict)
{
	struct stage clear = { .effect = -.05 }, unclear = { .effect = -.012, .sd = .03 };
	gt_auto_json *a = play(&clear, bn_interims, bn_n_interims, NULL), *b = play(&unclear, bn_interims, bn_n_interims, NULL);

	gen_verdict(a, NULL, NULL);
	gen_verdict(b, NULL, NULL);
	/* two primaries: Holm requires p <= .0025, possible with twelve pairs but not with nine */
	ck_assert_int_eq(gt_json_get_int(a, "pairs_done", 0), 12);
	ck_assert_int_eq(gt_json_get_int(b, "pairs_done", 0), 24);
	ck_assert_str_eq(gt_json_get_str(a, "verdict", ""), "better");
}
END_TEST

/*
 * The first interim analysis shows a gain. The session waits for a guard that the planned pairs can settle. It does not
 * wait for a guard that is settled, or on which no gain depends.
 */
START_TEST(the_session_waits_for_a_guard_that_can_be_settled)
{
	static const struct {
		double effect, tail_sd;
		bool waits;
	} cases[] = {{-.05, .0005, false}, {-.05, .014, true}, {.05, .014, false}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		struct stage st = {.effect = cases[i].effect, .tail_sd = cases[i].tail_sd, .workloads = 1};
		gt_auto_json *doc = play(&st, bn_interims, bn_n_interims, NULL);

		gen_verdict(doc, NULL, NULL);
		ck_assert_msg((gt_json_get_int(doc, "pairs_done", 0) > 9) == cases[i].waits, "%zu: %d pairs", i,
			      (int)gt_json_get_int(doc, "pairs_done", 0));
	}
}
END_TEST

START_TEST(an_interrupted_session_keeps_its_launches)
{
	struct stage st = { .stop_after = 31 };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);

	ck_assert_uint_eq(json_array_size(json_object_get(doc, "launches")), 31);
	ck_assert_int_eq(st.enters, st.leaves);
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_INVALID);
}
END_TEST

START_TEST(a_failing_host_ends_the_session_in_order)
{
	struct stage st = { .fail_enter_after = 20 }, full = { .fail_save_after = 7 };
	int r = 0;

	json_decref(play(&st, one_look, 1, &r));
	ck_assert_int_eq(r, -EPERM);
	ck_assert_int_eq(st.leaves, st.enters + 1); /* leave() is called also after a failed enter() */
	json_decref(play(&full, one_look, 1, &r));
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_int_eq(full.launches, 7);
}
END_TEST

START_TEST(a_change_by_another_program_ends_the_session)
{
	struct stage st = { .setting_changes_after = 25 };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);

	ck_assert_int_lt(st.launches, 60);
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_INVALID);
	ck_assert_ptr_nonnull(strstr(gt_json_get_str(doc, "verdict_reason", ""), "vm.swappiness was changed during the session"));
}
END_TEST

/* The session's clock stops during the suspend. The wall clock was not set, so nothing else records the suspend. */
START_TEST(a_suspended_host_is_reported)
{
	for (int slept = 0; slept < 2; slept++) {
		struct stage st = { .slept_s = slept ? 39.5 : 0 };
		gt_auto_json *doc = play(&st, one_look, 1, NULL);
		json_t *list = json_object_get(json_object_get(doc, "run"), "notes"), *n;
		const char *text = NULL;
		size_t i;

		json_array_foreach(list, i, n)
			if (gt_streq(gt_json_get_str(n, "code", NULL), "suspended"))
				text = gt_json_get_str(n, "text", "");
		ck_assert_pstr_eq(text, slept ? "the host was suspended for 40 s while measuring" : NULL);
	}
}
END_TEST

START_TEST(an_undeclared_difference_is_a_confounder)
{
	struct stage st = { .leaks = true };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);
	json_t *list = json_object_get(doc, "confounders");

	ck_assert_uint_eq(json_array_size(list), 1);
	ck_assert_str_eq(gt_json_get_str(json_array_get(list, 0), "key", ""), "other");
}
END_TEST

START_TEST(a_workload_that_fails_in_one_arm_gives_no_verdict)
{
	struct stage st = { .fails_changed = true, .effect = -.5 };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);
	const char *verdict = NULL, *reason = NULL;

	ck_assert_int_eq(gen_verdict(doc, &verdict, &reason), BN_EXIT_INCONCLUSIVE); /* the gate must reject it */
	ck_assert_str_eq(verdict, "inconclusive");
	ck_assert_str_eq(reason, "no numbers with the change");
}
END_TEST

START_TEST(a_workload_that_always_fails_is_left_out_and_named)
{
	struct stage st = { .fails_always = true };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);

	ck_assert_int_eq(st.launches, 4); /* one A/A pair of both */
	ck_assert_uint_eq(json_array_size(json_object_get(doc, "unavailable")), 2);
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_INVALID);
}
END_TEST

START_TEST(a_wrong_result_ends_it_at_once)
{
	struct stage st = { .wrong = true };
	gt_auto_json *doc = play(&st, one_look, 1, NULL);

	ck_assert_int_eq(st.launches, 4);
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_WRONG);
}
END_TEST

/*
 * A session whose arms are boots: each process measures one arm and ends, and the next process reads the document. lost:
 * number of launches of the third boot that the document has after a power cut.
 */
static json_t *play_boots(struct stage *st, int lost)
{
	static const char *const ids[] = { "one", "two" };
	struct bn_session s = { .design = BN_DESIGN_PAIRS, .workload = ids, .n_workloads = 2, .interims = one_look, .n_interims = 1,
				.aa_pairs = 6, .seed = 11, .quiet = true, .stop = &st->stop, .by_boot = true };
	struct bn_ops ops = { st, block, enter, leave, launch, settings, save, now_s };
	json_t *doc = json_pack("{s:s, s:{s:i}, s:{}, s:{}, s:{s:[{s:s}]}}", "schema", BN_SCHEMA, "tool", "suite_major", 1, "run",
				"host", "treatment", "declared", "id", "vm.swappiness");
	json_t *launches;
	int r;

	st->by_boot = true;
	st->here = -1;
	bn_rng_seed(&st->rng, 5);
	while ((r = bn_session_run(&s, &ops, doc, NULL)) == -EINPROGRESS) {
		ck_assert_int_lt(st->boots, 100);
		launches = json_object_get(doc, "launches");
		if (++st->boots == 4 && lost >= 0)
			while (json_array_size(launches) > (size_t)(4 + lost))
				json_array_remove(launches, json_array_size(launches) - 1);
		st->here = 2 * st->block + st->nth;
		if (st->boots == 4 && lost >= 0)
			st->here = -1; /* the host runs with its own command line */
		s.resume = true;
	}
	ck_assert_int_eq(r, 0);
	return doc;
}

START_TEST(arms_that_are_boots_make_the_same_session)
{
	struct stage straight = { .effect = .03 }, st = { .effect = .03 };
	gt_auto_json *a = play(&straight, one_look, 1, NULL), *b = play_boots(&st, -1);
	json_t *left = json_object_get(a, "launches"), *right = json_object_get(b, "launches"), *l;
	static const char *const same[] = { "workload", "kind", "arm", "block", "seq" };
	size_t i;

	ck_assert_int_eq(st.boots, 2 * (9 + 6));
	ck_assert_int_eq(st.launches, straight.launches);
	ck_assert_uint_eq(json_array_size(left), json_array_size(right));
	json_array_foreach(left, i, l)
		for (size_t k = 0; k < GT_ARRAY_SIZE(same); k++)
			ck_assert(json_equal(json_object_get(l, same[k]), json_object_get(json_array_get(right, i), same[k])));
	ck_assert_int_eq(gen_verdict(b, NULL, NULL), BN_EXIT_REGRESSION);
}
END_TEST

/* A power cut in the third boot, the first arm of its pair, with none, one or both launches on disk. */
START_TEST(a_boot_that_is_cut_short_is_measured_again_and_no_other)
{
	for (int lost = 0; lost <= 2; lost++) {
		struct stage st = { .effect = .03 };
		gt_auto_json *doc = play_boots(&st, lost);
		int per_arm[15][2] = { 0 };
		json_t *l;
		size_t i;

		json_array_foreach(json_object_get(doc, "launches"), i, l)
			per_arm[gt_json_get_int(l, "block", 0)][gt_streq(gt_json_get_str(l, "arm", NULL), "B")]++;
		for (i = 0; i < 15; i++)
			ck_assert(per_arm[i][0] == 2 && per_arm[i][1] == 2);
		ck_assert_int_eq(st.launches, 2 * 2 * (9 + 6) + (lost < 2 ? 2 : 0));
		ck_assert_int_eq(st.boots, 2 * (9 + 6) + 1 + (lost < 2));
	}
}
END_TEST

TCase *bench_session_case(void)
{
	TCase *tc = tcase_create("session");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_fixed_session_runs_its_pairs_and_finds_the_effect);
	tcase_add_test(tc, every_random_order_includes_all_aa_pairs);
	tcase_add_test(tc, the_primary_metric_does_not_depend_on_random_order);
	tcase_add_test(tc, an_invalid_block_is_measured_again);
	tcase_add_test(tc, arms_are_randomised_and_the_seed_repeats_them);
	tcase_add_test(tc, interim_analyses_stop_early_only_with_a_verdict);
	tcase_add_test(tc, the_session_waits_for_a_guard_that_can_be_settled);
	tcase_add_test(tc, an_interrupted_session_keeps_its_launches);
	tcase_add_test(tc, a_failing_host_ends_the_session_in_order);
	tcase_add_test(tc, a_change_by_another_program_ends_the_session);
	tcase_add_test(tc, an_undeclared_difference_is_a_confounder);
	tcase_add_test(tc, a_suspended_host_is_reported);
	tcase_add_test(tc, a_workload_that_fails_in_one_arm_gives_no_verdict);
	tcase_add_test(tc, a_workload_that_always_fails_is_left_out_and_named);
	tcase_add_test(tc, a_wrong_result_ends_it_at_once);
	tcase_add_test(tc, arms_that_are_boots_make_the_same_session);
	tcase_add_test(tc, a_boot_that_is_cut_short_is_measured_again_and_no_other);
	return tc;
}
