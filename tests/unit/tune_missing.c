/* SPDX-License-Identifier: Apache-2.0 */
/* Files and devices that are missing when gputune restores their values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "tests/unit/tune_stage.h"
#include "tune/model/value.h"

static void move(const char *from, const char *to)
{
	gt_autofree char *a = gt_xasprintf("%s%s", b.dir, from), *c = gt_xasprintf("%s%s", b.dir, to);

	ck_assert_int_eq(rename(a, c), 0);
}

/* Runs in a child, because a living process has no interrupted transaction. */
static void expect_left(const char *says)
{
	pid_t pid = fork();
	int st;

	if (!pid) {
		if (tn_revert(b.fs, NULL, &status, &err) < 0 && err.exit_status == TN_EXIT_INTERRUPTED && strstr(err.msg, says))
			_exit(0);
		fprintf(stderr, "revert: %s\n", err.msg);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &st, 0), pid);
	ck_assert_int_eq(st, 0);
}

/* The journal contains exactly the values that could not be restored. */
START_TEST(a_hidden_sys_is_a_failure_that_keeps_the_record)
{
	gt_autofree char *hidden = gt_xasprintf("%s/sys", b.dir), *text = NULL;

	apply(NULL, false);
	move("/sys", "/hidden");
	ck_assert_int_eq(mkdir(hidden, 0755), 0);
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	expect_left("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor: No such file or directory");
	expect(SWAPPINESS, "60");
	ck_assert_int_eq(gt_fs_read(b.fs, TN_STATE_DIR "/journal", &text, NULL), 0);
	ck_assert(strstr(text, "scaling_governor") && strstr(text, "queue/scheduler") && !strstr(text, "vm.swappiness"));
	ck_assert_int_eq(rmdir(hidden), 0);
	move("/hidden", "/sys");
	ck_assert_int_eq(tn_recover(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(status, 0);
	expect_before();
}
END_TEST

START_TEST(a_missing_file_that_the_host_must_have_keeps_the_record)
{
	apply(NULL, false);
	move(SWAPPINESS, "/aside");
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	expect_left(SWAPPINESS);
	move("/aside", SWAPPINESS);
	ck_assert_int_eq(tn_recover(b.fs, NULL, &status, &err), 0);
	expect_before();
}
END_TEST

START_TEST(a_device_that_was_removed_is_no_failure)
{
	gt_autofree char *command = gt_xasprintf("exec rm -r %s/sys/block/nvme0n1", b.dir);

	apply(NULL, false);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(verify(), 0);
	revert(0);
	ck_assert(!box_has_journal(&b));
	expect(SWAPPINESS, "60");
}
END_TEST

START_TEST(a_hidden_etc_keeps_the_record)
{
	apply(NULL, true);
	move("/etc/sysctl.d", "/aside");
	expect_left(TN_SYSCTL_D_PATH ": No such file or directory");
	ck_assert(!gt_fs_exists(b.fs, TN_TMPFILES_D_PATH));
	expect(SWAPPINESS, "60");
	move("/aside", "/etc/sysctl.d");
	ck_assert_int_eq(tn_recover(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(status, 0);
	expect_before();
}
END_TEST

TCase *tune_missing_case(void)
{
	TCase *tc = tcase_create("missing");
	const TTest *const tests[] = {
		a_hidden_sys_is_a_failure_that_keeps_the_record,
		a_missing_file_that_the_host_must_have_keeps_the_record,
		a_device_that_was_removed_is_no_failure,
		a_hidden_etc_keeps_the_record,
	};

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
