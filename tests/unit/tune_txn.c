/* SPDX-License-Identifier: Apache-2.0 */
/* Revert undoes apply. Original values are never lost, and values of other programs stay. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/buf.h"
#include "tests/unit/tune_stage.h"
#include "tune/model/value.h"

START_TEST(apply_then_revert_is_identity_on_every_captured_host)
{
	gt_auto_strv names = box_fixtures();

	ck_assert_uint_gt(names.n, 5);
	for (size_t i = 0; i < names.n; i++)
		for (int persist = 0; persist < 2; persist++) {
			gt_auto(tn_plan) *plan = NULL;
			gt_autofree char *old = NULL, *middle = NULL, *now = NULL;
			struct box one;
			size_t changes;

			box_open(&one, names.v[i]);
			if (persist) {
				box_put(&one, "/etc/sysctl.d/README", "");
				box_put(&one, "/etc/tmpfiles.d/README", "");
				box_put(&one, "/etc/udev/rules.d/README", "");
			}
			old = box_picture(&one);
			plan = box_plan(&one);
			changes = tn_plan_changes(plan);
			gt_err_clear(&err);
			ck_assert_msg(tn_apply(one.fs, plan, &(struct tn_apply_opts){.persist = persist}, NULL, &err) ==
					      0,
				      "%s: %s", names.v[i], err.msg);
			middle = box_picture(&one);
			ck_assert_msg(!changes == !strcmp(old, middle), "%s: %zu changes", names.v[i], changes);
			ck_assert_int_eq(tn_revert(one.fs, NULL, &status, &err), 0);
			ck_assert_int_eq(status, 0);
			now = box_picture(&one);
			ck_assert_msg(!strcmp(old, now), "%s: not as before", names.v[i]);
			ck_assert(!box_has_journal(&one));
			box_close(&one);
		}
}
END_TEST

START_TEST(nothing_to_do_leaves_no_trace)
{
	gt_auto_strv only = { 0 };
	struct tn_plan_opts o = { .only = &only };

	gt_strv_add(&only, "vm.overcommit_memory");
	apply(&o, false);
	ck_assert(!gt_fs_exists(b.fs, TN_STATE_DIR));
	revert(0);
	ck_assert(!gt_fs_exists(b.fs, TN_STATE_DIR));
	ck_assert_int_eq(verify(), 0);
}
END_TEST

START_TEST(a_second_apply_keeps_the_originals)
{
	gt_auto_strv vm = { 0 };
	gt_auto(tn_plan) *plan = NULL;
	struct tn_plan_opts first = { .only = &vm };

	gt_strv_add(&vm, "vm.");
	apply(&first, false);
	expect(SWAPPINESS, "10");
	apply(NULL, true);
	apply(NULL, true); /* and a third one that is independent */
	/* a plan with a higher value for an applied tunable: its old value is gputune's, not the host's */
	plan = box_plan(&b);
	for (size_t i = 0; i < plan->n_item; i++)
		if (!strcmp(plan->item[i].knob->id, "vm.swappiness")) {
			free(plan->item[i].wanted);
			plan->item[i].wanted = gt_xstrdup("1");
			plan->item[i].status = TN_CHANGE;
		}
	ck_assert_msg(tn_apply(b.fs, plan, NULL, NULL, &err) == 0, "%s", err.msg);
	expect(SWAPPINESS, "1");
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT); /* the file still has 10 */
	apply(NULL, true);
	ck_assert_int_eq(verify(), 0);
	revert(0);
	expect_before();
}
END_TEST

START_TEST(values_changed_by_another_program_are_unchanged)
{
	apply(NULL, false);
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "33"), 0);
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	revert(TN_EXIT_DRIFT);
	expect(SWAPPINESS, "33");
	ck_assert(!box_has_journal(&b));
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "60"), 0);
	expect_before();
}
END_TEST

START_TEST(a_rival_between_two_applies_is_where_revert_ends)
{
	apply(NULL, false);
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "90"), 0);
	apply(NULL, false);
	expect(SWAPPINESS, "10");
	revert(TN_EXIT_DRIFT);
	expect(SWAPPINESS, "90");
}
END_TEST

/* Writing one of a pair sets the other to zero, so the one that was in force is restored last. */
START_TEST(counterparts_are_restored)
{
	static const char *const hosts[] = { "cpu-server-512g", "cpu-server" };
	gt_autofree char *old = NULL, *now = NULL;
	gt_auto(tn_plan) *plan = NULL;
	struct box big;

	box_open(&big, hosts[0]);
	old = box_picture(&big);
	plan = box_plan(&big);
	ck_assert_int_eq(tn_apply(big.fs, plan, NULL, NULL, &err), 0);
	now = box_get(&big, "/proc/sys/vm/dirty_ratio");
	ck_assert_str_eq(now, "0");
	free(now);
	now = box_get(&big, "/proc/sys/vm/dirty_bytes");
	ck_assert_str_eq(now, "17179869184");
	ck_assert_int_eq(tn_revert(big.fs, NULL, &status, &err), 0);
	free(now);
	now = box_picture(&big);
	ck_assert_str_eq(now, old);
	box_close(&big);
}
END_TEST

START_TEST(a_pair_set_by_a_rival_in_the_other_form_is_left_alone)
{
	apply(NULL, false);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/dirty_bytes", "104857600"), 0); /* zeroes dirty_ratio */
	revert(TN_EXIT_DRIFT);
	expect("/proc/sys/vm/dirty_bytes", "104857600");
	expect("/proc/sys/vm/dirty_ratio", "0");
}
END_TEST

/*
 * Under the governor performance, intel_pstate and amd_pstate refuse any other preference with EBUSY. The governor is
 * restored first, also if another transaction set it, and in the rollback of a failed apply.
 */
START_TEST(values_refused_at_first_are_restored_later)
{
	const char *epp = "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference";
	gt_auto_strv governor = { 0 }, cpu = { 0 };
	gt_auto(tn_plan) *plan = NULL;

	gt_strv_add(&governor, "cpu.governor");
	gt_strv_add(&cpu, "cpu.");
	apply(&(struct tn_plan_opts){ .only = &cpu, .optional = true }, false);
	expect(epp, "performance");
	ck_assert_int_eq(tn_kernel_write(b.fs, epp, "balance_performance"), -EBUSY);
	revert(0);
	expect_before();
	apply(&(struct tn_plan_opts){ .only = &governor }, false);
	apply(&(struct tn_plan_opts){ .only = &cpu, .optional = true }, false);
	revert(0);
	expect_before();
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &cpu, .optional = true }, &plan, &err), 0);
	for (unsigned n = 1;; n++) {
		gt_err_clear(&err);
		gt_fs_fault(b.fs, n, EIO, false);
		if (tn_apply(b.fs, plan, NULL, NULL, &err) == 0)
			break;
		ck_assert_msg(err.exit_status != TN_EXIT_INTERRUPTED, "step %u: %s", n, err.msg);
		expect_before();
	}
}
END_TEST

/* For a value that changed on the running host, verify names possible causes: a file that sets it, a running tuner. */
START_TEST(programs_that_changed_a_value_are_named)
{
	static const struct {
		const char *path, *text, *value, *says;
	} cases[] = {
		{ "/etc/sysctl.d/50-y.conf", "\nvm.swappiness = 40\n", "40", "/etc/sysctl.d/50-y.conf:2 sets 40" },
		{ "/run/tuned/tuned.pid", "1\n", "41", "tuned (running) sets it too" },
		{ NULL, NULL, "42", "changed by hand or by a program" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto_json *report = NULL;
		gt_autofree char *text = NULL;

		apply(NULL, false);
		if (cases[i].path)
			box_put(&b, cases[i].path, cases[i].text);
		ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, cases[i].value), 0);
		ck_assert_int_eq(tn_verify(b.fs, &report, &status, &err), 0);
		ck_assert_int_eq(status, TN_EXIT_DRIFT);
		text = gt_json_text(report);
		ck_assert_msg(strstr(text, cases[i].says) != NULL, "%s", text);
		revert(TN_EXIT_DRIFT);
		ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "60"), 0);
		if (cases[i].path)
			box_remove(&b, cases[i].path);
	}
}
END_TEST

/*
 * For a raise-only tunable neither a higher value is drift, nor a later file with a higher value. The same for
 * lower-only.
 */
#define RMEM "/proc/sys/net/ipv4/tcp_rmem"

START_TEST(a_higher_raise_only_value_is_no_drift)
{
	static const struct {
		const char *path, *value, *line, *result;
		int status;
	} cases[] = {
		{ "/proc/sys/vm/max_map_count", "1048576", "", "higher", 0 },
		{ "/proc/sys/vm/max_map_count", "70000", "", "drift", TN_EXIT_DRIFT },
		{ "/proc/sys/vm/min_free_kbytes", "999999", "", "higher", 0 }, /* the kernel does so by itself */
		{ "/proc/sys/vm/max_map_count", "1048576", "vm.max_map_count = 1048576\n", "higher", 0 },
		{ "/proc/sys/vm/max_map_count", "1048576", "vm.max_map_count = 70000\n", "lost at boot", TN_EXIT_DRIFT },
		{ RMEM, "4096 131072 134217728", "", "higher", 0 }, /* values of several numbers */
		{ RMEM, "4096\t262144\t67108864", "net.ipv4.tcp_rmem = 4096 131072 134217728\n", "higher", 0 },
		{ RMEM, "4096 65536 134217728", "", "drift", TN_EXIT_DRIFT },
		{ RMEM, "4096 131072 134217728", "net.ipv4.tcp_rmem = 4096 131072 6291456\n", "lost at boot", TN_EXIT_DRIFT },
		{ "/proc/sys/vm/dirty_ratio", "5", "", "lower", 0 },
		{ "/proc/sys/vm/dirty_ratio", "30", "", "drift", TN_EXIT_DRIFT },
		{ "/proc/sys/vm/dirty_bytes", "1000000000", "", "drift", TN_EXIT_DRIFT }, /* leaves dirty_ratio at 0 */
		{ "/proc/sys/vm/dirty_ratio", "5", "vm.dirty_bytes = 1000000000\n", "lost at boot", TN_EXIT_DRIFT },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto_json *report = NULL;
		const json_t *o;
		bool seen = false;
		size_t n;

		apply(&(struct tn_plan_opts){ .optional = true }, true);
		box_put(&b, "/etc/sysctl.d/99-later.conf", cases[i].line);
		ck_assert_int_eq(tn_kernel_write(b.fs, cases[i].path, cases[i].value), 0);
		ck_assert_int_eq(tn_verify(b.fs, &report, &status, &err), 0);
		ck_assert_msg(status == cases[i].status, "case %zu: %d", i, status);
		json_array_foreach(json_object_get(report, "values"), n, o)
			seen |= !strcmp(gt_json_get_str(o, "result", ""), cases[i].result);
		ck_assert_msg(seen, "case %zu: nothing is %s", i, cases[i].result);
		revert(TN_EXIT_DRIFT); /* still the value of another program, which revert does not change */
		tear_down();
		set_up();
	}
}
END_TEST

START_TEST(an_experiment_keeps_others_out_and_ends_alone)
{
	gt_autofree char *applied = NULL, *now = NULL;
	gt_auto_strv vm = { 0 };
	gt_auto(tn_plan) *plan = NULL, *again = NULL;
	struct tn_plan_opts first = { .only = &vm };
	pid_t pid;
	int st;

	gt_strv_add(&vm, "vm.swappiness");
	apply(&first, false);
	applied = box_picture(&b);
	plan = box_plan(&b);
	ck_assert_int_eq(tn_apply(b.fs, plan, &(struct tn_apply_opts){ .temporary = true }, NULL, &err), 0);
	pid = fork();
	if (pid == 0) {
		struct gt_err e = { 0 };
		json_t *report;
		int s;

		/* no drift of the earlier values, and no failure */
		if (tn_verify(b.fs, &report, &s, &e) < 0 || s != TN_EXIT_PENDING)
			_exit(98);
		_exit(tn_revert(b.fs, NULL, &s, &e) < 0 ? e.exit_status : 99);
	}
	waitpid(pid, &st, 0);
	ck_assert_int_eq(WEXITSTATUS(st), TN_EXIT_REFUSED);
	again = box_plan(&b);
	revert(0); /* the experiment */
	now = box_picture(&b);
	ck_assert_str_eq(now, applied);
	expect(SWAPPINESS, "10");
	revert(0); /* the earlier values */
	expect_before();
}
END_TEST

TCase *tune_txn_case(void)
{
	TCase *tc = tcase_create("txn");
	const TTest *const tests[] = {
		apply_then_revert_is_identity_on_every_captured_host,
		nothing_to_do_leaves_no_trace,
		a_second_apply_keeps_the_originals,
		values_changed_by_another_program_are_unchanged,
		a_rival_between_two_applies_is_where_revert_ends,
		counterparts_are_restored,
		a_pair_set_by_a_rival_in_the_other_form_is_left_alone,
		a_higher_raise_only_value_is_no_drift,
		values_refused_at_first_are_restored_later,
		programs_that_changed_a_value_are_named,
		an_experiment_keeps_others_out_and_ends_alone,
	};

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
