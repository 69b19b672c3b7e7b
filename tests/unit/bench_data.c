/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign result documents: invalid ones are rejected with a message, failed computations are inconclusive. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/result/analysis_json.h"
#include "bench/result/analyze.h"
#include "bench/result/thinned.h"
#include "bench/bench.h"
#include "bench/result/text.h"
#include "bench/train/collective.h"
#include "bench/workload/workload.h"
#include "runtime/transport/comm.h"
#include "tests/unit/check_bench.h"
#include "tune/model/tunable.h"
#include "tests/unit/bench_generated.h"
#include "tune/profiles/select.h"

static const struct bn_limits limits = { .floor = .03 };

/* ---- generated documents ---- */

json_t *gen_doc(const char *design, size_t pairs)
{
	return json_pack("{s:s, s:{s:i}, s:{s:s, s:i, s:[{s:i, s:f}], s:[s], s:b, s:f}, s:{}, s:[{s:s, s:s, s:s, s:s, "
			 "s:s, s:f, s:b}],"
			 " s:[]}",
			 "schema", BN_SCHEMA, "tool", "suite_major", 1, "run", "design", design, "seed", 7, "looks",
			 "pairs", (int)pairs, "alpha", .05, "workloads", "w", "interrupted", 0, "duration_s", 60.0,
			 "host", "metrics", "id", "w", "workload", "w", "unit", "s", "direction", "lower", "role",
			 "primary", "margin", .01, "tail", 0, "launches");
}

json_t *gen_launch(json_t *doc, int block, const char *kind, const char *arm, double value)
{
	json_t *list = json_object_get(doc, "launches");
	int seq = (int)json_array_size(list);
	json_t *l = json_pack("{s:i, s:i, s:s, s:s, s:s, s:f, s:{s:{s:i, s:[fff]}}}", "seq", seq, "block", block, "kind", kind,
			      "arm", arm, "workload", "w", "t_s", (double)seq, "metrics", "w", "warmup", 0, "samples", value,
			      value, value);

	json_array_append_new(list, l);
	return l;
}

/* n pairs whose log-ratios vary slightly around ln(1 + effect). */
json_t *gen_pairs(size_t n, size_t n_aa, double effect, double aa_effect)
{
	json_t *doc = gen_doc("pairs", n);

	for (size_t i = 0; i < n + n_aa; i++) {
		bool aa = i < n_aa;
		double noise = 1 + .002 * sin((double)i * 2.3), e = aa ? aa_effect : effect;

		gen_launch(doc, (int)i, aa ? "aa" : "ab", "A", .1);
		gen_launch(doc, (int)i, aa ? "aa" : "ab", "B", .1 * (1 + e) * noise);
	}
	return doc;
}

int gen_verdict(json_t *doc, const char **ret_verdict, const char **ret_reason)
{
	gt_auto(bn_data) *d = NULL;
	json_t *row;
	int code;

	ck_assert_int_eq(bn_data_from_doc(doc, "made", &d, NULL), 0);
	code = bn_analyze(d, &limits);
	row = json_array_get(json_object_get(doc, "comparisons"), 0);
	if (ret_verdict)
		*ret_verdict = gt_json_get_str(row, "verdict", "none");
	if (ret_reason)
		*ret_reason = gt_json_get_str(row, "reason", "none");
	return code;
}

/* ---- verdicts of whole documents ---- */

static const struct {
	const char *what;
	double effect, aa_effect;
	int code;
	const char *verdict;
} whole[] = {
	{ "2 % slower", .02, 0, BN_EXIT_REGRESSION, "worse" },
	{ "2 % faster", -.02, 0, 0, "better" },
	{ "nothing", 0, 0, 0, "same" },
	{ "identical arms 5 % apart", .02, .05, BN_EXIT_INVALID, "inconclusive" }, /* the margin grows with the noise */
	{ "identical arms 0.2 % apart", .02, .002, BN_EXIT_REGRESSION, "worse" },
};

START_TEST(a_document_is_judged)
{
	gt_auto_json *doc = gen_pairs(9, 6, whole[_i].effect, whole[_i].aa_effect);
	const char *verdict = NULL;

	ck_assert_msg(gen_verdict(doc, &verdict, NULL) == whole[_i].code, "%s", whole[_i].what);
	if (whole[_i].code != BN_EXIT_INVALID)
		ck_assert_str_eq(verdict, whole[_i].verdict);
	else
		ck_assert_str_eq(gt_json_get_str(doc, "verdict", ""), "invalid");
}
END_TEST

START_TEST(a_wrong_result_voids_everything)
{
	gt_auto_json *doc = gen_pairs(9, 6, -.1, 0);

	json_object_set_new(json_array_get(json_object_get(doc, "launches"), 3), "wrong", json_string("the loss rose"));
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), BN_EXIT_WRONG);
	ck_assert_str_eq(gt_json_get_str(doc, "verdict_reason", ""), "w: the loss rose");
}
END_TEST

START_TEST(a_conclusion_can_be_required)
{
	const struct bn_limits strict = { .floor = .03, .require_conclusive = true };
	gt_auto_json *doc = gen_doc("pairs", 9);
	gt_auto(bn_data) *d = NULL;

	for (int i = 0; i < 9; i++) {
		gen_launch(doc, i, "ab", "A", .1);
		gen_launch(doc, i, "ab", "B", .1 * (1 + .08 * sin(i * 2.3)));
	}
	ck_assert_int_eq(gen_verdict(doc, NULL, NULL), 0);
	ck_assert_int_eq(bn_data_from_doc(doc, "made", &d, NULL), 0);
	ck_assert_int_eq(bn_analyze(d, &strict), BN_EXIT_INCONCLUSIVE);
	ck_assert_int_gt(gt_json_get_int(json_array_get(json_object_get(doc, "comparisons"), 0), "more", 0), 0);
}
END_TEST

/* ---- guards ---- */

/* Twelve pairs that are 5 % faster. Their slowest step is slower by `tail`, with this variation between launches. */
static json_t *guarded(double tail, double scatter)
{
	json_t *doc = gen_doc("pairs", 12);

	json_object_set_new(json_array_get(json_object_get(doc, "metrics"), 0), "tail", json_true());
	for (int i = 0; i < 24; i++) {
		json_t *l = gen_launch(doc, i / 2, "ab", i % 2 ? "B" : "A",
				       .1 * (i % 2 ? .95 : 1) * (1 + .001 * sin(i * 2.3)));
		json_t *s = json_object_get(json_object_get(json_object_get(l, "metrics"), "w"), "samples");

		/* the 99th percentile of three samples is close to the largest */
		json_array_set_new(s, 2, json_real(.2 * (i % 2 ? 1 + tail : 1) * (1 + scatter * sin(i * 1.7 + 1))));
	}
	return doc;
}

static const struct guard_case {
	const char *what;
	double tail, scatter;
	const char *verdict;
	int code, strict_code;
	bool open, seems;
} guards[] = {
	{"as fast as before", 0, .005, "better", 0, 0, false, false},
	{"faster", -.05, .02, "better", 0, 0, false, false},
	{"nobody can tell, but it does not look worse", .002, .08, "better", 0, BN_EXIT_INCONCLUSIVE, true, false},
	{"nobody can tell, and it looks worse", .06, .25, "inconclusive", 0, BN_EXIT_INCONCLUSIVE, true, true},
	{"worse", .2, .01, "worse", BN_EXIT_REGRESSION, BN_EXIT_REGRESSION, false, false},
};

START_TEST(a_gain_must_not_make_its_guard_worse)
{
	const struct guard_case *g = &guards[_i];
	const struct bn_limits strict = {.floor = .03, .require_conclusive = true};
	gt_auto_json *doc = guarded(g->tail, g->scatter);
	gt_auto(bn_data) *d = NULL;
	gt_auto_buf line = {0};
	const char *primary = NULL;
	json_t *open;

	ck_assert_msg(gen_verdict(doc, &primary, NULL) == g->code, "%s", g->what);
	ck_assert_str_eq(primary, "better");
	ck_assert_msg(gt_streq(gt_json_get_str(doc, "verdict", ""), g->verdict), "%s: %s", g->what,
		      gt_json_get_str(doc, "verdict", ""));
	open = json_object_get(doc, "guards_open");
	ck_assert_msg(json_array_size(open) == g->open, "%s", g->what);
	ck_assert_msg(gt_json_get_bool(json_array_get(open, 0), "seems_worse", false) == g->seems, "%s", g->what);
	bn_text_headline(doc, &line);
	ck_assert_msg((strstr(line.s, "w.p99") != NULL) == (g->open || g->code != 0), "%s: %s", g->what, line.s);
	ck_assert_int_eq(bn_data_from_doc(doc, "made", &d, NULL), 0);
	ck_assert_msg(bn_analyze(d, &strict) == g->strict_code, "%s", g->what);
}
END_TEST

/* ---- failed computations are inconclusive, with the reason ---- */

static void null_samples(json_t *doc)
{
	json_t *s = json_object_get(json_object_get(json_array_get(json_object_get(doc, "launches"), 5), "metrics"), "w");

	json_array_set_new(json_object_get(s, "samples"), 1, json_null());
}

static void negative_samples(json_t *doc)
{
	json_t *s = json_object_get(json_object_get(json_array_get(json_object_get(doc, "launches"), 5), "metrics"), "w");

	json_array_set_new(json_object_get(s, "samples"), 1, json_real(-1));
}

static void one_arm_fails(json_t *doc)
{
	for (size_t i = 1; i < 18; i += 2)
		json_object_set_new(json_array_get(json_object_get(doc, "launches"), i), "failure", json_string("out of memory"));
}

static void clock_back(json_t *doc)
{
	json_object_set_new(json_array_get(json_object_get(doc, "launches"), 5), "t_s", json_real(1));
}

static void zero_variance(json_t *doc)
{
	json_array_clear(json_object_get(doc, "launches"));
	for (int i = 0; i < 9; i++) {
		gen_launch(doc, i, "ab", "A", .1);
		gen_launch(doc, i, "ab", "B", .2);
	}
}

static void no_variance_no_change(json_t *doc)
{
	json_array_clear(json_object_get(doc, "launches"));
	for (int i = 0; i < 9; i++) {
		gen_launch(doc, i, "ab", "A", .1);
		gen_launch(doc, i, "ab", "B", .1);
	}
}

static void clock_missing(json_t *doc)
{
	json_object_set_new(json_array_get(json_object_get(doc, "launches"), 5), "t_s", json_null());
}

static void too_early(json_t *doc)
{
	json_array_remove(json_object_get(doc, "launches"), 17);
}

static void interrupted(json_t *doc)
{
	json_object_set_new(json_object_get(doc, "run"), "interrupted", json_true());
	json_array_remove(json_object_get(doc, "launches"), 17);
}

static void no_launches(json_t *doc)
{
	json_array_clear(json_object_get(doc, "launches"));
}

static const struct {
	void (*spoil)(json_t *doc);
	const char *reason; /* part of the reason */
	int code;
} spoiled[] = {
	{ null_samples, "1 before, 0 after|0 before, 1 after", BN_EXIT_INCONCLUSIVE },
	{ negative_samples, "launches without a number", BN_EXIT_INCONCLUSIVE },
	{ one_arm_fails, "no numbers with the change", BN_EXIT_INCONCLUSIVE },
	{ clock_back, "the clock ran backwards", 0 },
	{ clock_missing, "the clock ran backwards", 0 },
	{ zero_variance, "no variance", 0 },
	{ no_variance_no_change, "no variance", 0 },
	{ too_early, "not at a planned interim analysis", 0 },
	{ interrupted, "interrupted", BN_EXIT_INVALID },
	{ no_launches, "no numbers", BN_EXIT_INVALID },
};

static bool one_of(const char *text, const char *parts)
{
	gt_autofree char *copy = gt_xstrdup(parts);
	char *save = NULL;

	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save))
		if (strstr(text, p))
			return true;
	return false;
}

START_TEST(failed_computations_are_inconclusive)
{
	gt_auto_json *doc = gen_pairs(9, 0, -.05, 0);
	const char *verdict = NULL, *reason = NULL;

	spoiled[_i].spoil(doc);
	ck_assert_int_eq(gen_verdict(doc, &verdict, &reason), spoiled[_i].code);
	ck_assert_str_eq(verdict, "inconclusive");
	ck_assert_msg(one_of(reason, spoiled[_i].reason), "%d: %s", _i, reason);
	/* a failed metric does not pass as a guard either */
	ck_assert(!gt_json_get_bool(json_array_get(json_object_get(doc, "comparisons"), 0), "not_worse", true));
}
END_TEST

/* ---- invalid results are rejected ---- */

static const struct {
	const char *text;
	int exit_status;
	const char *says;
} refused[] = {
	{"[]", 4, "gpubench/1"},
	{"{\"schema\":\"gpubench/2\"}", 4, "newer"},
	{"{\"schema\":\"gputune-plan/1\"}", 4, "gpubench/1"},
	{"{\"schema\":\"gpubench/1\"}", 64, "\"run\" is missing"},
	{"{\"schema\":\"gpubench/1\",\"run\":{\"design\":\"pairs\"}}", 64, "\"metrics\" is missing"},
	{"{\"schema\":\"gpubench/"
	 "1\",\"run\":{\"design\":\"pairs\",\"looks\":[{\"pairs\":-1}]},\"metrics\":[],\"launches\":[]}",
	 64, "not a planned interim analysis"},
	{"{\"schema\":\"gpubench/"
	 "1\",\"run\":{\"design\":\"pairs\"},\"metrics\":[{\"id\":\"a\",\"workload\":\"a\",\"unit\":\"s\","
	 "\"margin\":7,\"direction\":\"lower\",\"role\":\"primary\"}],\"launches\":[]}",
	 64, "margin"},
	{"{\"schema\":\"gpubench/"
	 "1\",\"run\":{\"design\":\"pairs\"},\"metrics\":[{\"id\":\"a\",\"workload\":\"a\",\"unit\":\"s\","
	 "\"margin\":0.1,\"direction\":\"sideways\",\"role\":\"primary\"}],\"launches\":[]}",
	 64, "direction"},
	{"{\"schema\":\"gpubench/"
	 "1\",\"run\":{\"design\":\"pairs\"},\"metrics\":[],\"launches\":[{\"seq\":0,\"block\":0,"
	 "\"workload\":\"a\",\"kind\":\"xy\",\"arm\":\"A\"}]}",
	 64, "launches[0]"},
	{"{\"schema\":\"gpubench/1\",\"run\":{\"design\":\"pairs\"},\"metrics\":[],\"launches\":{}}", 64,
	 "must be an array"},
};

START_TEST(other_documents_are_refused)
{
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };
	struct bn_data *d = NULL;

	ck_assert_int_eq(gt_json_parse(refused[_i].text, strlen(refused[_i].text), "it", &doc, &err), 0);
	ck_assert_int_lt(bn_data_from_doc(doc, "it", &d, &err), 0);
	ck_assert_ptr_null(d);
	ck_assert_msg(strstr(err.msg, refused[_i].says) != NULL, "%s", err.msg);
	ck_assert_int_eq(err.exit_status, refused[_i].exit_status);
}
END_TEST

/* the same for its verification and its cost of measurement */
START_TEST(workloads_name_knobs_that_exist)
{
	for (const struct bn_workload *const *w = bn_workloads; *w; w++) {
		ck_assert_msg((*w)->verifies && *(*w)->verifies && (*w)->overhead && *(*w)->overhead, "%s", (*w)->id);
		for (const char *const *k = (*w)->knobs; *k; k++) {
			gt_auto_strv list = { 0 };
			struct gt_err err = { 0 };

			gt_strv_add(&list, *k);
			ck_assert_msg(tn_knob_check_list(&list, "it", &err) == 0, "%s: %s", (*w)->id, err.msg);
		}
	}
}
END_TEST

static const struct split {
	double speed[3];
	uint64_t all, rows[3];
} splits[] = {
	{ { 1, 1, 1 }, 12, { 4, 4, 4 } },
	{ { 1, 3, 0.5 }, 16, { 4, 10, 2 } }, /* one each, and of the other 13: 2.9, 8.7, 1.4 */
	{ { 1e-9, 1, 1 }, 9, { 1, 4, 4 } },  /* each has at least one */
	{ { 5, 1, 1 }, 3, { 1, 1, 1 } },
};

static int split_in_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct split *s = arg;
	uint64_t rows[RT_MAX_RANKS];
	int r = bn_train_split(c, s->speed[rt_comm_rank(c)], s->all, rows, err);

	for (int i = 0; !r && i < 3; i++)
		if (rows[i] != s->rows[i])
			return gt_fail(err, EPROTO, "rank %d has %d rows, not %d", i, (int)rows[i], (int)s->rows[i]);
	return r;
}

START_TEST(rows_follow_the_speed_of_each_rank)
{
	struct rt_group g = { .ranks = 3 };
	struct split s = splits[_i];
	struct gt_err err = { 0 };

	ck_assert_msg(rt_group_run(&g, split_in_rank, &s, &err) == 0, "%s", err.msg);
}
END_TEST

START_TEST(ten_thousand_launches_are_judged)
{
	gt_auto_json *doc = gen_pairs(5000, 0, .02, 0);
	const char *verdict = NULL;

	gen_verdict(doc, &verdict, NULL);
	ck_assert_str_eq(verdict, "worse");
}
END_TEST

/* A launch with n samples around v. The first tenth is warm-up, which drifts until its end. */
static void launch_of(json_t *doc, int block, const char *arm, size_t n, double v, double drift)
{
	json_t *series = json_object_get(json_object_get(gen_launch(doc, block, "ab", arm, v), "metrics"), "w");
	json_t *samples = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(samples, json_real(v * (1 + drift * (double)i / (double)n + .001 * sin((double)i * 2.3))));
	json_object_set_new(series, "warmup", json_integer((json_int_t)n / 10));
	json_object_set_new(series, "samples", samples);
}

START_TEST(samples_that_drift_within_a_launch_are_noticed_however_many)
{
	static const size_t sizes[] = { 64, 1000, 5000, 50000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		gt_auto_json *doc = gen_doc("pairs", 9);
		gt_auto(bn_data) *d = NULL;

		launch_of(doc, 0, "A", sizes[i], .1, .1);
		launch_of(doc, 0, "B", sizes[i], .1, 0);
		ck_assert_int_eq(bn_data_from_doc(doc, "made", &d, NULL), 0);
		ck_assert_msg(d->runs[0].unsteady, "%zu samples", sizes[i]);
		ck_assert_msg(!d->runs[1].unsteady, "%zu samples", sizes[i]);
	}
}
END_TEST

START_TEST(results_with_many_samples_can_be_read_again)
{
	gt_auto_json *doc = gen_doc("pairs", 9), *back = NULL;
	const size_t max = 1u << 20;
	gt_autofree char *text = NULL;
	struct gt_err err = { 0 };
	json_t *l, *notes = json_array();
	size_t i;

	json_object_set_new(json_object_get(doc, "run"), "notes", notes);
	for (int block = 0; block < 10; block++) {
		launch_of(doc, block, "A", 4000, .1, 0);
		launch_of(doc, block, "B", 4000, .09, 0);
		free(text); /* saved after every launch, as in a session */
		text = bn_thinned_text(doc, max, &err);
		ck_assert_msg(text != NULL, "%s", err.msg);
		ck_assert_uint_le(strlen(text), max);
	}
	ck_assert_int_eq(gt_json_parse(text, strlen(text), "again", &back, &err), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(back, "launches")), 20);
	ck_assert_uint_eq(json_array_size(notes), 1);
	json_array_foreach(json_object_get(back, "launches"), i, l) {
		const json_t *s = json_object_get(json_object_get(l, "metrics"), "w");
		gt_auto(bn_data) *d = NULL;
		int64_t every = gt_json_get_int(s, "every", 1);
		double want = i % 2 ? .09 : .1;

		ck_assert_int_ge(every, 2);
		ck_assert_uint_eq(json_array_size(json_object_get(s, "samples")), (size_t)(4000 / every));
		ck_assert_int_eq(gt_json_get_int(s, "warmup", -1), 400 / every);
		ck_assert_int_eq(bn_data_from_doc(back, "again", &d, NULL), 0);
		ck_assert_double_eq_tol(d->runs[i].value[0], want, want * .0005);
	}
	ck_assert_ptr_null(bn_thinned_text(doc, 1000, &err)); /* launches are never dropped */
	ck_assert_int_eq(err.exit_status, BN_EXIT_INVALID);
}
END_TEST

TCase *bench_data_case(void)
{
	TCase *tc = tcase_create("documents");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_document_is_judged, 0, sizeof(whole) / sizeof(whole[0]));
	tcase_add_test(tc, a_wrong_result_voids_everything);
	tcase_add_test(tc, a_conclusion_can_be_required);
	tcase_add_loop_test(tc, a_gain_must_not_make_its_guard_worse, 0, sizeof(guards) / sizeof(guards[0]));
	tcase_add_loop_test(tc, failed_computations_are_inconclusive, 0, sizeof(spoiled) / sizeof(spoiled[0]));
	tcase_add_loop_test(tc, other_documents_are_refused, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, workloads_name_knobs_that_exist);
	tcase_add_loop_test(tc, rows_follow_the_speed_of_each_rank, 0, sizeof(splits) / sizeof(splits[0]));
	tcase_add_test(tc, ten_thousand_launches_are_judged);
	tcase_add_test(tc, samples_that_drift_within_a_launch_are_noticed_however_many);
	tcase_add_test(tc, results_with_many_samples_can_be_read_again);
	return tc;
}
