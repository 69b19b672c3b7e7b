/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubench prove on a captured host. gputune makes a plan for this host, applies it to the host's tree and reverts it
 * for each arm. The speed of the workload depends on the values in the tree. The launches are processes of this program.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench/prove/prove.h"
#include "bench/prove/receipt.h"
#include "bench/result/result.h"
#include "bench/stats/rng.h"
#include "lib/cli.h"
#include "probe/host/machine_fingerprint.h"
#include "tests/unit/check_bench.h"
#include "tests/unit/check_tune.h"
#include "tune/plan/receipt.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

#define BOX      "CHECK_BENCH_BOX"
#define MIDWAY   "CHECK_BENCH_MIDWAY" /* the launch during which another program changes NUMA_BALANCING */
#define GOVERNOR "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
#define BALANCE  "/proc/sys/kernel/numa_balancing"
#define NOISE    .002

/* ---- the launch ---- */

/* Returns the time of the workload for this value of the setting: the truth that prove must find. */
static const struct truth {
	const char *workload, *path, *value;
	double share;
} truths[] = {
	{"sim", GOVERNOR, "performance", -.05},
	{"sim", "/proc/sys/vm/dirty_bytes", NULL, -.04}, /* any but 0 */
	{"sim", "/proc/sys/vm/zone_reclaim_mode", "0", -.03},
	{"sim", "/proc/sys/vm/swappiness", "10", .03},
	{"file.writeback", "/proc/sys/vm/dirty_bytes", NULL, -.10}, /* a time: its mechanism is as claimed */
	{"sync.wake", GOVERNOR, "performance", .10},                /* it changes in the wrong direction */
};

/* Returns the number of earlier launches and counts one more. */
static int count(const char *dir)
{
	gt_autofree char *path = gt_xasprintf("%s/launches", dir);
	gt_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	struct stat st = {0};

	return fd < 0 || fstat(fd, &st) < 0 || write(fd, "\n", 1) != 1 ? -1 : (int)st.st_size;
}

int bench_prove_launch(int argc, char **argv)
{
	const char *dir = getenv(BOX), *midway = getenv(MIDWAY), *workload = argv[2];
	struct gt_fsroot *fs = NULL;
	double v = .1, x[3];
	struct bn_rng rng;
	gt_auto_json *doc = NULL;

	if (argc < 8 || !dir || gt_fs_open(dir, &fs, NULL) < 0)
		return 1;
	for (size_t i = 0; i < GT_ARRAY_SIZE(truths); i++) {
		const struct truth *t = &truths[i];
		gt_autofree char *now = NULL;

		if (strcmp(t->workload, workload) == 0 && tn_value_read(fs, t->path, &now) == 0 &&
		    (t->value ? strcmp(now, t->value) == 0 : strcmp(now, "0") != 0))
			v *= 1 + t->share;
	}
	bn_rng_seed(&rng, strtoull(argv[7], NULL, 10)); /* --salt */
	for (int i = 0; i < 3; i++)
		x[i] = v * exp(NOISE * bn_rng_normal(&rng));
	if (count(dir) == (midway ? atoi(midway) : -2))
		tn_value_write(fs, BALANCE, "0");
	doc = json_pack("{s:s, s:s, s:{s:b, s:n}, s:[{s:s, s:s, s:s, s:s, s:f, s:b, s:i, s:[fff]}]}", "schema",
			BN_LAUNCH_SCHEMA, "definition", "played/1", "verify", "ok", 1, "wrong", "metrics", "id",
			workload, "unit", "s", "direction", "lower", "role", "primary", "margin", .01, "tail", 0,
			"warmup", 0, "samples", x[0], x[1], x[2]);
	gt_json_print(stdout, doc);
	gt_fs_close(fs);
	return 0;
}

/* ---- the session ---- */

struct play {
	struct box b;
	struct gt_cli cli;
	struct bn_request q;
	struct bn_stage stage;
	struct bn_prove p;
	json_t *receipt;
};

static void play_open(struct play *s, const char *host, const struct tn_plan_opts *choice)
{
	static char *argv[] = {(char *)"gpubench", (char *)"prove", NULL};
	struct gt_err err = {0};
	char exe[512] = "";

	memset(s, 0, sizeof(*s));
	box_open(&s->b, host);
	setenv(BOX, s->b.dir, 1);
	ck_assert_int_gt(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
	s->cli = (struct gt_cli){.fs = s->b.fs, .quiet = true};
	s->stage = (struct bn_stage){.q = &s->q, .exe = gt_xstrdup(exe)};
	ck_assert_int_eq(pr_host_discover(s->b.fs, &(struct pr_discover_opts){0}, &s->stage.host, &err), 0);
	ck_assert_msg(tn_plan_make(s->b.fs, s->stage.host, choice, &s->stage.plan, &err) == 0, "%s", err.msg);
	gt_strv_add(&s->stage.workloads, "sim");
	s->stage.doc = bn_result_new(s->b.fs, s->stage.host, argv);
	s->stage.arms = (struct bn_arms){.fs = s->b.fs,
					 .host = s->stage.host,
					 .plan = s->stage.plan,
					 .env = &s->q.env,
					 .kernel_args = &s->q.kernel_args,
					 .command = &s->q.command,
					 .exe = s->stage.exe};
	bn_arms_init(&s->stage.arms);
	s->p = (struct bn_prove){.cli = &s->cli,
				 .stage = &s->stage,
				 .pairs = 9,
				 .seed = 5,
				 .doc = json_pack("{s:s, s:{}, s:[]}", "schema", BN_PROVE_SCHEMA, "run", "phases")};
}

static void play_run(struct play *s)
{
	int r = bn_prove_run(&s->p);

	ck_assert_msg(r == 0, "%d: %s", r, s->cli.err.msg);
	s->receipt = bn_prove_receipt(&s->p, s->stage.host, s->stage.plan->profile);
}

static void play_close(struct play *s)
{
	json_decref(s->receipt);
	bn_prove_clear(&s->p);
	bn_stage_close(&s->stage);
	box_close(&s->b);
	unsetenv(MIDWAY);
}

static const json_t *change(const struct play *s, const char *id)
{
	json_t *list = json_object_get(s->receipt, "knobs"), *k;
	size_t i;

	json_array_foreach(list, i, k) if (gt_streq(gt_json_get_str(k, "id", NULL), id)) return k;
	ck_abort_msg("the receipt does not have %s", id);
	return NULL;
}

static void expect(const struct play *s, const char *id, const char *verdict, double pct)
{
	const json_t *k = change(s, id);

	ck_assert_msg(gt_streq(gt_json_get_str(k, "verdict", NULL), verdict), "%s: %s", id,
		      gt_json_get_str(k, "verdict", "?"));
	ck_assert_msg(gt_json_get_bool(k, "kept", false) == gt_streq(verdict, "better"), "%s: kept", id);
	ck_assert_msg(fabs(gt_json_get_real(json_object_get(k, "effect"), "change_pct", NAN) - pct) < .5, "%s: %.2f %%",
		      id, gt_json_get_real(json_object_get(k, "effect"), "change_pct", NAN));
}

static size_t phases(const struct play *s, const char *name, const char *what)
{
	json_t *list = json_object_get(s->p.doc, "phases"), *doc;
	size_t i, n = 0;

	json_array_foreach(list, i, doc)
	{
		const json_t *ph = json_object_get(doc, "phase");

		n += gt_streq(gt_json_get_str(ph, "name", NULL), name) &&
		     (!what || gt_starts_with(gt_json_get_str(ph, "change", ""), what));
	}
	return n;
}

static const char *moved(const struct play *s, const char *id)
{
	return gt_json_get_str(json_object_get(change(s, id), "mechanism"), "moved", "?");
}

/* gputune's plan from the receipt: the kept changes and no others. */
static void expect_applied(struct play *s)
{
	gt_auto_json *marks = pr_fingerprint(s->b.fs, s->stage.host);
	gt_auto(tn_plan) *plan = NULL;
	struct gt_err err = {0};

	ck_assert_int_eq(tn_plan_make(s->b.fs, s->stage.host, &(struct tn_plan_opts){0}, &plan, &err), 0);
	ck_assert_msg(tn_plan_take_receipt(s->receipt, "receipt", s->stage.host, marks, plan, &err) == 0, "%s",
		      err.msg);
	for (size_t i = 0; i < plan->n_item; i++) {
		gt_autofree char *id = tn_tunable_label(plan->item[i].knob, plan->item[i].instance);

		if (plan->item[i].status == TN_CHANGE)
			ck_assert_msg(gt_json_get_bool(change(s, id), "kept", false), "%s", id);
	}
	ck_assert_uint_eq(tn_plan_changes(plan), 3);
}

/* ---- contradictory receipts ---- */

static json_t *entry(json_t *receipt, const char *id)
{
	json_t *list = json_object_get(receipt, "knobs"), *k;
	size_t i;

	json_array_foreach(list, i, k) if (gt_streq(gt_json_get_str(k, "id", NULL), id)) return k;
	ck_abort_msg("the receipt does not have %s", id);
	return NULL;
}

static void set_str(json_t *receipt, const char *id, const char *key, const char *value)
{
	json_object_set_new(entry(receipt, id), key, json_string(value));
}

static void keep_a_worse_change(json_t *r)
{
	json_object_set_new(entry(r, "vm.swappiness"), "kept", json_true());
}

static void call_a_worse_change_better(json_t *r)
{
	set_str(r, "vm.swappiness", "verdict", "better");
	keep_a_worse_change(r);
}

static void turn_an_effect_round(json_t *r)
{
	json_t *e = json_object_get(entry(r, "vm.zone_reclaim_mode"), "effect");

	json_object_set_new(e, "change_pct", json_real(-9));
}

static void keep_despite_a_guard(json_t *r)
{
	json_object_set_new(entry(r, "vm.zone_reclaim_mode"), "guard_worse", json_true());
}

static void keep_all_that_is_open(json_t *r)
{
	json_object_set_new(entry(r, "vm.zone_reclaim_mode"), "kept", json_false());
}

static void borrow_samples(json_t *r)
{
	json_t *to = entry(r, "vm.swappiness"), *from = entry(r, "vm.zone_reclaim_mode");

	json_object_set(to, "column", json_object_get(from, "column"));
}

static void swap_the_arms_of_the_confirmation(json_t *r)
{
	json_t *confirm = json_object_get(json_object_get(r, "samples"), "confirm"), *pair;
	size_t i;

	json_array_foreach(json_object_get(json_array_get(json_object_get(confirm, "metrics"), 0), "pairs"), i, pair) {
		json_array_append(pair, json_array_get(pair, 0));
		json_array_remove(pair, 0);
	}
}

static void confirm_without_samples(json_t *r)
{
	json_object_set_new(json_object_get(r, "samples"), "confirm", json_null());
}

static void confirm_another_metric(json_t *r)
{
	json_t *confirm = json_object_get(json_object_get(r, "samples"), "confirm");

	json_object_set_new(json_array_get(json_object_get(confirm, "metrics"), 0), "metric", json_string("other"));
}

static void drop_the_samples(json_t *r)
{
	json_object_del(r, "samples");
}

static void edit_a_sample(json_t *r)
{
	json_t *test = json_array_get(json_object_get(json_object_get(r, "samples"), "tests"), 0);

	json_array_set_new(json_array_get(json_object_get(test, "pairs"), 0), 1, json_real(.2));
}

static void lower_what_is_raised(json_t *r)
{
	set_str(r, "vm.max_map_count", "to", "1");
}

static void begin_above(json_t *r)
{
	set_str(r, "vm.max_map_count", "from", "99999999");
}

static void begin_elsewhere(json_t *r)
{
	set_str(r, "vm.zone_reclaim_mode", "from", "3");
}

static void exceed_the_range(json_t *r)
{
	set_str(r, "vm.dirty_bytes", "to", "18446744073709551615");
}

static void rename_to_an_unknown_knob(json_t *r)
{
	set_str(r, "vm.zone_reclaim_mode", "knob", "vm.zone_reclaim_modes");
}

static void rename_to_one_that_is_reported_only(json_t *r)
{
	set_str(r, "vm.zone_reclaim_mode", "knob", "vm.overcommit_memory");
}

static void point_to_another_file(json_t *r)
{
	set_str(r, "cpu.governor:policy0", "instance", "../../../etc");
}

static void point_to_a_missing_device(json_t *r)
{
	set_str(r, "cpu.governor:policy0", "instance", "policy99");
}

static void name_it_twice(json_t *r)
{
	json_t *again = json_deep_copy(entry(r, "vm.zone_reclaim_mode"));

	json_object_set_new(again, "to", json_string("1"));
	json_array_append_new(json_object_get(r, "knobs"), again);
}

static void invent_a_kind(json_t *r)
{
	set_str(r, "vm.swappiness", "kind", "knobs");
}

static void colour_a_name(json_t *r)
{
	json_object_set_new(r, "created", json_string("\033[31m"));
}

static const struct {
	void (*edit)(json_t *receipt);
	const char *says;
} contradictions[] = {
	{keep_a_worse_change, "vm.swappiness is kept, although its verdict is \"worse\""},
	{call_a_worse_change_better, "the verdict of vm.swappiness is \"better\", but its samples give \"worse\""},
	{turn_an_effect_round, "the effect of vm.zone_reclaim_mode does not follow from its samples"},
	{keep_despite_a_guard, "vm.zone_reclaim_mode is kept, although its verdict is \"better\" and a guard is worse"},
	{keep_all_that_is_open, "vm.zone_reclaim_mode is not kept, although its verdict is \"better\""},
	{borrow_samples, "the verdict of vm.swappiness is \"worse\", but its samples give \"better\""},
	{swap_the_arms_of_the_confirmation, "the effect of \"confirm\" does not follow from its samples"},
	{confirm_without_samples, "\"confirm\" must be"},
	{confirm_another_metric, "the confirmation has no samples of sim"},
	{drop_the_samples, "\"samples\" is missing"},
	{edit_a_sample, "its samples"},
	{lower_what_is_raised, "vm.max_map_count takes 65530 to 2147483647 on this host, not 1"},
	{begin_above, "vm.max_map_count would not raise from 99999999 to"},
	{begin_elsewhere, "receipt changes vm.zone_reclaim_mode from 3, but it is 1 now: prove it again"},
	{exceed_the_range, "vm.dirty_bytes takes 16777216 to"},
	{rename_to_an_unknown_knob, "there is no knob 'vm.zone_reclaim_modes'"},
	{rename_to_one_that_is_reported_only, "there is no knob 'vm.overcommit_memory' that gputune writes"},
	{point_to_another_file, "cpu.governor: '../../../etc' is not a valid device"},
	{point_to_a_missing_device, "cpu.governor:policy99 is not on this host"},
	{name_it_twice, "vm.zone_reclaim_mode occurs twice"},
	{invent_a_kind, "unknown kind of change 'knobs'"},
	{colour_a_name, "it contains control characters"},
};

static void expect_contradictions_refused(struct play *s)
{
	gt_auto_json *marks = pr_fingerprint(s->b.fs, s->stage.host);

	for (size_t i = 0; i < GT_ARRAY_SIZE(contradictions); i++) {
		gt_auto_json *copy = json_deep_copy(s->receipt);
		gt_auto(tn_plan) *plan = NULL;
		struct gt_err err = {0};

		contradictions[i].edit(copy);
		ck_assert_int_eq(tn_plan_make(s->b.fs, s->stage.host, &(struct tn_plan_opts){0}, &plan, &err), 0);
		ck_assert_msg(tn_plan_take_receipt(copy, "receipt", s->stage.host, marks, plan, &err) < 0, "%s",
			      contradictions[i].says);
		ck_assert_msg(strstr(err.msg, contradictions[i].says) != NULL, "%s: %s", contradictions[i].says, err.msg);
	}
}

START_TEST(the_profile_of_a_captured_host_is_proved)
{
	gt_autofree char *before = NULL, *after = NULL;
	json_t *others, *other;
	struct play s;

	play_open(&s, "cpu-server-512g", &(struct tn_plan_opts){0});
	ck_assert_uint_gt(s.stage.arms.n_factor, 14);
	before = box_get(&s.b, GOVERNOR);
	setenv(MIDWAY, "50", 1); /* in the design: the total takes 30 launches */
	play_run(&s);

	expect(&s, "vm.dirty_bytes", "better", -4);
	expect(&s, "vm.zone_reclaim_mode", "better", -3);
	expect(&s, "vm.swappiness", "worse", 3);
	expect(&s, "vm.max_map_count", "same", 0);
	ck_assert_str_eq(gt_json_get_str(change(&s, "vm.dirty_bytes"), "method", ""), "fold-over design");
	/* a changed group is split, and its effective instance is kept; an unchanged group is not split */
	expect(&s, "cpu.governor:policy0", "better", -5);
	expect(&s, "cpu.governor:policy1", "same", 0);
	ck_assert_uint_eq(phases(&s, "leave-one-out", "cpu.governor"), 2);
	ck_assert_uint_eq(phases(&s, "add-one", "cpu.governor"), 2);
	ck_assert_uint_eq(phases(&s, "leave-one-out", "block.scheduler"), 0);
	expect(&s, "block.scheduler:sda", "same", 0);
	/* a claim is confirmed in the right direction, or not */
	ck_assert_str_eq(moved(&s, "vm.dirty_bytes"), "yes");
	ck_assert_str_eq(moved(&s, "cpu.governor:policy0"), "unexplained");
	ck_assert_str_eq(moved(&s, "vm.zone_reclaim_mode"), "names none");
	/* of a pair the nonzero value is restored */
	ck_assert_str_eq(gt_json_get_str(change(&s, "vm.dirty_bytes"), "revert", ""),
			 "echo '20' > /proc/sys/vm/dirty_ratio");

	ck_assert(gt_json_get_bool(s.receipt, "confirmed", false));
	ck_assert(gt_json_get_bool(s.receipt, "as_good_as_all", false));
	ck_assert(fabs(gt_json_get_real(json_object_get(s.receipt, "confirm"), "change_pct", 0) + 11.5) < .5);
	/* a change by another program during the session is reported separately */
	others = json_object_get(s.receipt, "confounders");
	ck_assert_uint_eq(json_array_size(others), 1); /* not the counterpart, which the change itself zeroes */
	other = json_array_get(others, 0);
	ck_assert_str_eq(gt_json_get_str(other, "key", ""), "kernel.numa_balancing");
	ck_assert_str_eq(gt_json_get_str(other, "when", ""), "midway");
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(other, "phases"), 0)), "design");
	expect_applied(&s);
	expect_contradictions_refused(&s);
	after = box_get(&s.b, GOVERNOR);
	ck_assert_str_eq(before, after);
	ck_assert(!box_has_journal(&s.b));
	play_close(&s);
}
END_TEST

/* A group that is the only change is split too. A setting that differs between phases is reported. */
START_TEST(settings_that_differ_between_phases_are_reported)
{
	gt_auto_strv only = {0};
	json_t *other;
	struct play s;

	gt_strv_add(&only, "cpu.governor");
	play_open(&s, "cpu-server", &(struct tn_plan_opts){.only = &only});
	setenv(MIDWAY, "29", 1); /* the last launch of the total effect */
	play_run(&s);
	expect(&s, "cpu.governor:policy0", "better", -5);
	expect(&s, "cpu.governor:policy1", "same", 0);
	other = json_array_get(json_object_get(s.receipt, "confounders"), 0);
	ck_assert_str_eq(gt_json_get_str(other, "key", ""), "kernel.numa_balancing");
	ck_assert_str_eq(gt_json_get_str(other, "when", ""), "between phases");
	/* each was also measured alone, in a separate phase */
	ck_assert_uint_eq(phases(&s, "add-one", NULL), 2);
	play_close(&s);
}
END_TEST

/* The energy preference is a separate change here, and changes with the governor: no other program changed it. */
START_TEST(a_setting_reset_by_the_kernel_does_not_end_the_session)
{
	struct play s;

	play_open(&s, "cpu-server-512g", &(struct tn_plan_opts){.optional = true});
	play_run(&s);
	ck_assert_uint_eq(phases(&s, "design", NULL), 1);
	ck_assert_uint_eq(phases(&s, "add-one", "cpu.governor"), 2);
	expect(&s, "cpu.epp:policy0", "same", 0);
	ck_assert_uint_eq(json_array_size(json_object_get(s.receipt, "confounders")), 0);
	play_close(&s);
}
END_TEST

TCase *bench_prove_case(void)
{
	TCase *tc = tcase_create("prove");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, the_profile_of_a_captured_host_is_proved);
	tcase_add_test(tc, settings_that_differ_between_phases_are_reported);
	tcase_add_test(tc, a_setting_reset_by_the_kernel_does_not_end_the_session);
	return tc;
}
