/* SPDX-License-Identifier: Apache-2.0 */
/* Persisted files, and the values after a reboot. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "lib/buf.h"
#include "tests/unit/tune_stage.h"
#include "tune/boot/persist.h"
#include "tune/model/value.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

START_TEST(persisted_files_are_written_and_removed_as_a_whole)
{
	gt_autofree char *text = NULL;
	struct stat st;

	apply(&(struct tn_plan_opts){ .optional = true }, true);
	ck_assert_int_eq(gt_fs_read(b.fs, TN_SYSCTL_D_PATH, &text, NULL), 0);
	ck_assert(tn_persist_is_unedited(text));
	ck_assert_ptr_nonnull(strstr(text, "\nvm.swappiness = 10\n"));
	ck_assert_int_eq(gt_fs_stat(b.fs, TN_SYSCTL_D_PATH, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0644);
	free(gt_take(text));
	ck_assert_int_eq(gt_fs_read(b.fs, TN_TMPFILES_D_PATH, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nw /sys/devices/system/cpu/cpufreq/policy0/scaling_governor - - - - "
					   "performance\n"));
	free(gt_take(text));
	ck_assert_int_eq(gt_fs_read(b.fs, TN_UDEV_RULE_PATH, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "KERNEL==\"sda\", ATTR{size}==\"3750748848\", "
					   "ATTR{queue/read_ahead_kb}=\"8192\"\n"));
	ck_assert_int_eq(verify(), 0);
	revert(0);
	expect_before();
}
END_TEST

START_TEST(a_file_that_was_edited_is_neither_overwritten_nor_removed)
{
	gt_auto(tn_plan) *plan = NULL;

	apply(NULL, true);
	box_put(&b, TN_SYSCTL_D_PATH, "# mine now\nvm.swappiness = 42\n");
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	plan = box_plan(&b);
	ck_assert_int_lt(tn_apply(b.fs, plan, &(struct tn_apply_opts){ .persist = true }, NULL, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	revert(TN_EXIT_DRIFT);
	ck_assert(gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	ck_assert(!gt_fs_exists(b.fs, TN_TMPFILES_D_PATH));
	expect(SWAPPINESS, "60");
}
END_TEST

START_TEST(a_later_local_file_overrides)
{
	gt_autofree char *text = NULL;
	json_t *report = NULL;

	apply(NULL, true);
	ck_assert_int_eq(verify(), 0);
	box_put(&b, "/etc/sysctl.conf", "vm.swappiness = 61\n"); /* read through 99-sysctl.conf */
	ck_assert_int_eq(tn_verify(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(status, TN_EXIT_DRIFT);
	text = gt_json_text(report);
	ck_assert_ptr_nonnull(strstr(text, "/etc/sysctl.d/99-sysctl.conf:1 sets it to 61"));
	json_decref(report);
	/* the other form of a pair also replaces it */
	box_put(&b, "/etc/sysctl.conf", "vm.dirty_bytes = 1048576\n");
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
}
END_TEST

static void reboot(const char *id)
{
	ck_assert_int_eq(tn_kernel_write(b.fs, BOOT_ID, id), 0);
}

/* systemd-tmpfiles uses the first of two lines for one path (252: "Duplicate line for path, ignoring"). */
START_TEST(an_earlier_tmpfiles_line_overrides)
{
	const char *path = "/sys/kernel/mm/transparent_hugepage/defrag";
	gt_auto_strv only = { 0 };
	gt_auto(tn_plan) *plan = NULL;
	gt_autofree char *line = gt_xasprintf("# site\nw! %s - - - - always\n", path);

	gt_strv_add(&only, "thp.defrag");
	box_put(&b, "/usr/lib/tmpfiles.d/95-late.conf", line);
	apply(&(struct tn_plan_opts){ .only = &only }, true);
	ck_assert_int_eq(verify(), 0); /* gputune's line comes first */
	box_put(&b, "/usr/lib/tmpfiles.d/50-early.conf", line);
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	box_put(&b, "/etc/tmpfiles.d/50-early.conf", "# masked by the admin\n");
	ck_assert_int_eq(verify(), 0);
	box_remove(&b, "/etc/tmpfiles.d/50-early.conf");
	revert(0);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &only }, &plan, &err), 0);
	ck_assert_str_eq(plan->item[0].at_boot, "always");
	ck_assert_str_eq(plan->item[0].at_boot_by, "/usr/lib/tmpfiles.d/50-early.conf:2");
	ck_assert_ptr_nonnull(strstr(plan->item[0].conflict, "50-early.conf:2"));
	gt_strv_clear(&only);
}
END_TEST

/*
 * Lines with different path strings are not duplicates. A pattern in a later file is written after gputune's line, one in an
 * earlier file before it.
 */
START_TEST(a_later_tmpfiles_pattern_overrides)
{
	static const struct {
		const char *file, *line;
		bool wins;
	} lines[] = {
		{ "99-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - powersave\n", true },
		{ "99-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy{0,7}/scaling_governor - - - - powersave\n", true },
		{ "99-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy{1,7}/scaling_governor - - - - powersave\n", true },
		{ "99-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy7*/scaling_governor - - - - powersave\n", false },
		{ "99-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy0/scaling_governor - - - - powersave\n", false },
		{ "99-gov.conf", "w+ /sys/devices/system/cpu/cpufreq/policy0/scaling_governor - - - - powersave\n", false },
		{ "10-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - powersave\n", false },
		{ "10-gov.conf", "w /sys/devices/system/cpu/cpufreq/policy0/scaling_governor - - - - powersave\n", true },
	};
	gt_auto_strv only = { 0 };

	gt_strv_add(&only, "cpu.governor");
	box_put(&b, "/etc/tmpfiles.d/README", "");
	for (size_t i = 0; i < GT_ARRAY_SIZE(lines); i++) {
		gt_autofree char *file = gt_xasprintf("/etc/tmpfiles.d/%s", lines[i].file);
		gt_auto(tn_plan) *plan = NULL;
		bool seen = false;

		box_put(&b, file, lines[i].line);
		ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &only }, &plan, &err), 0);
		for (size_t n = 0; n < plan->n_item; n++)
			seen |= plan->item[n].conflict && strstr(plan->item[n].conflict, "-gov.conf:1 sets it to powersave");
		ck_assert_msg(seen == lines[i].wins, "plan, case %zu", i);
		apply(&(struct tn_plan_opts){ .only = &only }, true);
		ck_assert_msg(verify() == (lines[i].wins ? TN_EXIT_DRIFT : 0), "verify, case %zu", i);
		revert(0);
		box_remove(&b, file);
	}
}
END_TEST

START_TEST(without_a_boot_id_nothing_is_taken_for_undone)
{
	gt_autofree char *id = NULL;

	apply(NULL, false);
	ck_assert_int_eq(gt_fs_read_line(b.fs, BOOT_ID, &id), 0);
	ck_assert_int_eq(gt_fs_unlink(b.fs, BOOT_ID), 0);
	ck_assert_int_lt(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.msg, BOOT_ID));
	expect(SWAPPINESS, "10");
	gt_err_clear(&err);
	box_put(&b, BOOT_ID, id);
	revert(0);
	expect(SWAPPINESS, "60");
}
END_TEST

START_TEST(values_that_were_not_persisted_end_at_reboot)
{
	apply(NULL, false);
	reboot("another-boot");
	ck_assert_int_eq(verify(), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "60"), 0); /* the kernel's initial value */
	revert(0);
	expect(SWAPPINESS, "60");
}
END_TEST

/* No file is expected to contain a value that was applied for this boot only. */
START_TEST(unpersisted_values_are_not_reported_as_lost_at_boot)
{
	gt_auto_strv first = { 0 }, second = { 0 };

	gt_strv_add(&first, "vm.swappiness");
	gt_strv_add(&second, "vm.max_map_count");
	apply(&(struct tn_plan_opts){ .only = &first }, true);
	apply(&(struct tn_plan_opts){ .only = &second }, false);
	ck_assert_int_eq(verify(), 0);
	revert(0);
	expect_before();
}
END_TEST

/*
 * A file contains all values that were applied when it was written, also those of earlier transactions that were not
 * persisted.
 */
START_TEST(values_of_later_files_are_in_force_after_reboot)
{
	gt_auto_strv first = { 0 }, second = { 0 }, third = { 0 };
	gt_autofree char *text = NULL;

	gt_strv_add(&first, "vm.swappiness");
	gt_strv_add(&second, "vm.max_map_count");
	gt_strv_add(&third, "vm.min_free_kbytes");
	apply(&(struct tn_plan_opts){ .only = &first }, false);
	apply(&(struct tn_plan_opts){ .only = &second }, true);
	reboot("another-boot");
	ck_assert_int_eq(verify(), 0);
	apply(&(struct tn_plan_opts){ .only = &third }, true);
	ck_assert_int_eq(gt_fs_read(b.fs, TN_SYSCTL_D_PATH, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nvm.swappiness = 10\n"));
	revert(TN_EXIT_PENDING);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	ck_assert_int_eq(verify(), TN_EXIT_PENDING);
}
END_TEST

START_TEST(after_a_reboot_files_go_and_values_are_pending)
{
	apply(NULL, true);
	reboot("another-boot"); /* values in the tree stay, because gputune's files set them again */
	ck_assert_int_eq(verify(), 0);
	revert(TN_EXIT_PENDING);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	expect(SWAPPINESS, "10");
	ck_assert_int_eq(verify(), TN_EXIT_PENDING);
	reboot("third-boot");
	ck_assert_int_eq(verify(), 0);
	revert(0);
}
END_TEST

static int keep(const struct tn_plan *plan)
{
	gt_err_clear(&err);
	return tn_apply(b.fs, plan, &(struct tn_apply_opts){ .persist = true }, NULL, &err);
}

/* A value that an administrator set lasts until the next boot. --persist writes it to a file, and revert leaves it. */
START_TEST(values_set_by_hand_are_persisted)
{
	gt_autofree char *text = NULL, *by_hand = NULL, *now = NULL;
	gt_auto(tn_plan) *plan = NULL, *saved = NULL, *optional = NULL;
	gt_auto_json *doc = NULL;
	gt_auto_strv vm = { 0 }, disks = { 0 };

	gt_strv_add(&vm, "vm.swappiness");
	gt_strv_add(&vm, "vm.max_map_count");
	gt_strv_add(&vm, "vm.dirty_ratio");
	gt_strv_add(&disks, "block.");
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "10"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/max_map_count", "1048576"), 0); /* beyond the desired value */
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/dirty_ratio", "10"), 0);
	box_put(&b, "/etc/sysctl.d/50-site.conf", "vm.dirty_ratio = 10\n"); /* set at boot without gputune */
	by_hand = box_picture(&b);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &vm }, &plan, &err), 0);
	ck_assert_uint_eq(tn_plan_changes(plan), 0);
	doc = tn_plan_to_json(plan);
	ck_assert_msg(keep(plan) == 0, "%s", err.msg);
	ck_assert_int_eq(gt_fs_read(b.fs, TN_SYSCTL_D_PATH, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nvm.swappiness = 10\nvm.max_map_count = 1048576\n"));
	ck_assert_ptr_null(strstr(text, "vm.dirty_ratio"));
	ck_assert_int_eq(verify(), 0);
	apply(&(struct tn_plan_opts){ .only = &vm }, true); /* nothing more to persist */
	revert(0);
	now = box_picture(&b);
	ck_assert_str_eq(now, by_hand);
	ck_assert(!box_has_journal(&b));
	/* a power cut in the middle: the old state, and nothing is left for the next boot */
	if (!fork()) {
		gt_fs_fault(b.fs, 7, GT_FS_KILL, false);
		_exit(keep(plan));
	}
	wait(NULL);
	reboot("after-the-cut");
	ck_assert_int_lt(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_INTERRUPTED);
	ck_assert_int_eq(tn_recover(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(verify(), 0);
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &vm }, &plan, &err), 0);
	/* from a document; refused if the value has changed since */
	ck_assert_msg(tn_plan_from_json(doc, &saved, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(keep(saved), 0);
	ck_assert(gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	reboot("another-boot");
	ck_assert_int_eq(verify(), 0);
	revert(TN_EXIT_PENDING);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	expect(SWAPPINESS, "10");
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "11"), 0);
	ck_assert_int_lt(keep(saved), 0);
	ck_assert_msg(err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, "vm.swappiness is 11 now"), "%s", err.msg);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	/* an optional tunable that was not selected is not persisted */
	ck_assert_int_eq(tn_kernel_write(b.fs, "/sys/block/sda/queue/read_ahead_kb", "8192"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/sys/block/nvme0n1/queue/read_ahead_kb", "4096"), 0);
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &disks }, &plan, &err), 0);
	ck_assert_msg(keep(plan) == 0, "%s", err.msg);
	free(gt_take(text));
	ck_assert_int_eq(gt_fs_read(b.fs, TN_UDEV_RULE_PATH, &text, NULL), 0);
	ck_assert_ptr_null(strstr(text, "read_ahead_kb"));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &disks, .optional = true }, &optional, &err), 0);
	ck_assert_msg(keep(optional) == 0, "%s", err.msg);
	free(gt_take(text));
	ck_assert_int_eq(gt_fs_read(b.fs, TN_UDEV_RULE_PATH, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "read_ahead_kb"));
}
END_TEST

TCase *tune_persisted_case(void)
{
	TCase *tc = tcase_create("persisted");
	const TTest *const tests[] = {
		persisted_files_are_written_and_removed_as_a_whole,
		a_file_that_was_edited_is_neither_overwritten_nor_removed,
		a_later_local_file_overrides,
		without_a_boot_id_nothing_is_taken_for_undone,
		values_that_were_not_persisted_end_at_reboot,
		after_a_reboot_files_go_and_values_are_pending,
		unpersisted_values_are_not_reported_as_lost_at_boot,
		a_later_tmpfiles_pattern_overrides,
		values_of_later_files_are_in_force_after_reboot,
		values_set_by_hand_are_persisted,
		an_earlier_tmpfiles_line_overrides,
	};

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
