/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel resets nr_requests when a disk's scheduler changes, and the energy preference with the governor
 * performance. Revert restores them too, after the value that reset them.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/tune_stage.h"

#define SCHEDULER "/sys/block/sda/queue/scheduler"
#define PREFERENCE "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference"
#define REQUESTS  "/sys/block/sda/queue/nr_requests"

static char *epp = (char *)"cpu.epp";
static const struct gt_strv epp_only = {.v = &epp, .n = 1};

static void set_up_disk(void)
{
	set_up();
	box_put(&b, SCHEDULER, "[none] mq-deadline\n");
	box_put(&b, REQUESTS, "64\n"); /* set by the administrator */
}

static int apply_only(const char *knob)
{
	gt_auto(tn_plan) *plan = NULL;
	struct gt_strv only = {0};

	gt_strv_add(&only, knob);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){.only = &only}, &plan, &err), 0);
	gt_strv_clear(&only);
	gt_err_clear(&err);
	return tn_apply(b.fs, plan, NULL, NULL, &err);
}

static int apply_scheduler(void)
{
	return apply_only("block.scheduler");
}

static int put_back(void)
{
	return tn_revert(b.fs, NULL, &status, &err) < 0 ? err.exit_status : status;
}

START_TEST(values_reset_by_the_scheduler_are_restored)
{
	ck_assert_int_eq(apply_scheduler(), 0);
	expect(SCHEDULER, "mq-deadline");
	expect(REQUESTS, "256"); /* emulates the kernel */
	box_reopen(&b);
	ck_assert_int_eq(put_back(), 0);
	expect(SCHEDULER, "none");
	expect(REQUESTS, "64");
	ck_assert(!box_has_journal(&b));
}
END_TEST

START_TEST(values_set_since_by_others_are_unchanged)
{
	ck_assert_int_eq(apply_scheduler(), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, REQUESTS, "777"), 0);
	ck_assert_int_eq(put_back(), 0);
	expect(SCHEDULER, "none");
	expect(REQUESTS, "777");
}
END_TEST

START_TEST(a_scheduler_that_is_another_s_now_keeps_its_queue)
{
	ck_assert_int_eq(apply_scheduler(), 0);
	box_put(&b, SCHEDULER, "none mq-deadline [kyber]\n");
	box_put(&b, REQUESTS, "128\n");
	ck_assert_int_eq(put_back(), TN_EXIT_DRIFT);
	expect(REQUESTS, "128");
}
END_TEST

START_TEST(a_disk_without_queue_length_is_no_failure)
{
	box_remove(&b, REQUESTS);
	ck_assert_int_eq(apply_scheduler(), 0);
	ck_assert_int_eq(put_back(), 0);
	expect(SCHEDULER, "none");
}
END_TEST

START_TEST(an_apply_that_fails_anywhere_puts_it_back)
{
	bool done = false;

	for (unsigned n = 1; n < 64 && !done; n++) {
		gt_fs_fault(b.fs, n, EIO, false);
		done = apply_scheduler() == 0;
		ck_assert_msg(done || err.exit_status != TN_EXIT_INTERRUPTED, "step %u: %s", n, err.msg);
		box_reopen(&b);
		if (done)
			break;
		expect(SCHEDULER, "none");
		expect(REQUESTS, "64");
	}
	ck_assert(done);
}
END_TEST

/* Runs in a child process. */
static int revert_in_child(unsigned fail_at)
{
	pid_t child = fork();
	int ended = 0;

	if (!child) {
		gt_fs_fault(b.fs, fail_at, EIO, true);
		_exit(put_back());
	}
	ck_assert_int_eq(waitpid(child, &ended, 0), child);
	ck_assert(WIFEXITED(ended));
	return WEXITSTATUS(ended);
}

START_TEST(a_revert_that_fails_anywhere_is_ended_by_recover)
{
	bool failed = true;

	for (unsigned n = 1; n < 64 && failed; n++) {
		ck_assert_msg(apply_scheduler() == 0, "%s", err.msg);
		box_reopen(&b);
		failed = revert_in_child(n) != 0;
		gt_err_clear(&err);
		ck_assert_msg(tn_recover(b.fs, NULL, &status, &err) == 0, "step %u: %s", n, err.msg);
		if (failed && box_has_journal(&b)) /* refused before anything was restored */
			ck_assert_int_eq(put_back(), 0);
		expect(SCHEDULER, "none");
		expect(REQUESTS, "64");
		ck_assert(!box_has_journal(&b));
	}
	ck_assert(!failed);
}
END_TEST

/* amd_pstate leaves it at performance: the next plan would find it changed. */
START_TEST(a_preference_reset_by_the_governor_is_restored)
{
	ck_assert_int_eq(apply_only("cpu.governor"), 0);
	expect(PREFERENCE, "performance"); /* emulates the kernel */
	ck_assert_int_eq(put_back(), 0);
	expect(PREFERENCE, "balance_performance");
}
END_TEST

START_TEST(a_reset_value_is_reported_under_its_own_name)
{
	gt_autofree char *epp_too = tn_tunable_side_label(tn_tunable_find("cpu.governor"), "policy0");

	ck_assert_str_eq(epp_too, "cpu.epp:policy0");
	ck_assert_ptr_null(tn_tunable_side_label(tn_tunable_find("block.scheduler"), "sda")); /* no tunable is given */
	ck_assert_ptr_null(tn_tunable_side_label(tn_tunable_find("vm.swappiness"), NULL));
}
END_TEST

/* A value that apply only persisted, and that the governor had set, changes back with the governor. */
START_TEST(a_persisted_preference_follows_the_governor)
{
	box_put(&b, "/etc/tmpfiles.d/README", "");
	ck_assert_int_eq(apply_only("cpu.governor"), 0);
	apply(&(struct tn_plan_opts){.only = &epp_only}, true);
	ck_assert_int_eq(put_back(), 0);
	expect(PREFERENCE, "balance_performance");
}
END_TEST

/* A value set earlier is restored before or after the governor, never as the intermediate value. */
START_TEST(an_applied_preference_returns_to_the_original_value)
{
	box_put(&b, "/etc/gputune/profiles/low.conf", "[knobs]\ncpu.epp = power\n");
	apply(&(struct tn_plan_opts){.profile = "low", .only = &epp_only}, false);
	expect(PREFERENCE, "power");
	ck_assert_int_eq(apply_only("cpu.governor"), 0);
	expect(PREFERENCE, "performance");
	ck_assert_int_eq(put_back(), 0);
	expect(PREFERENCE, "balance_performance");
}
END_TEST

TCase *tune_side_case(void)
{
	TCase *tc = tcase_create("side");

	tcase_add_checked_fixture(tc, set_up_disk, tear_down);
	tcase_add_test(tc, values_reset_by_the_scheduler_are_restored);
	tcase_add_test(tc, values_set_since_by_others_are_unchanged);
	tcase_add_test(tc, a_scheduler_that_is_another_s_now_keeps_its_queue);
	tcase_add_test(tc, a_disk_without_queue_length_is_no_failure);
	tcase_add_test(tc, an_apply_that_fails_anywhere_puts_it_back);
	tcase_add_test(tc, a_revert_that_fails_anywhere_is_ended_by_recover);
	tcase_add_test(tc, a_preference_reset_by_the_governor_is_restored);
	tcase_add_test(tc, a_reset_value_is_reported_under_its_own_name);
	tcase_add_test(tc, a_persisted_preference_follows_the_governor);
	tcase_add_test(tc, an_applied_preference_returns_to_the_original_value);
	return tc;
}
