/* SPDX-License-Identifier: Apache-2.0 */
/* gputune trusts its files on disk only if they are complete and belong to it, and it follows no links. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/buf.h"
#include "tests/unit/tune_stage.h"
#include "tune/txn/journal.h"
#include "tune/txn/state_dir.h"
#include "tune/boot/persist.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

START_TEST(the_lock_excludes_a_second_process)
{
	gt_auto(tn_plan) *plan = box_plan(&b);
	int fd = -1;

	ck_assert_int_eq(tn_journal_lock(b.fs, 0, &fd, &err), 0);
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.msg, "another gputune"));
	close(fd);
	expect_before();
}
END_TEST

/* As a child that calls NVML does after its parent was killed: it ends later, or does not end. */
START_TEST(a_lock_that_is_waited_for_is_taken_or_refused)
{
	int ready[2], fd = -1;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		int held = -1, r = tn_journal_lock(b.fs, 0, &held, &err);

		if (write(ready[1], "", 1) < 0 || r < 0)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_lt(tn_journal_lock(b.fs, 0.05, &fd, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.msg, "has held /var/lib/gputune/lock for 0.05 s"));
	kill(pid, SIGKILL);
	ck_assert_int_eq(tn_journal_lock(b.fs, 60, &fd, &err), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	close(fd);
}
END_TEST

/* The last record is written between the read of the journal and the check of its process, any number of times. */
START_TEST(a_finished_process_was_not_interrupted)
{
	gt_auto(tn_plan) *plan = box_plan(&b);

	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (!pid)
			_exit(tn_apply(b.fs, plan, NULL, NULL, &err) != 0);
		while (!waitpid(pid, &status, WNOHANG)) {
			gt_auto(tn_journal) *j = NULL;

			ck_assert_int_eq(tn_journal_load(b.fs, &j, &err), 0);
			ck_assert_ptr_null(tn_journal_find(j, TN_STATUS_INTERRUPTED));
		}
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(tn_revert(b.fs, NULL, &status, &err), 0);
	}
}
END_TEST

static void append_raw(const char *text)
{
	ck_assert_int_eq(gt_fs_append_sync(b.fs, TN_STATE_DIR "/journal", text, strlen(text)), 0);
}

START_TEST(a_torn_last_record_is_a_step_that_never_happened)
{
	apply(NULL, false);
	append_raw("0badc0de {\"rec\":\"undo\",\"tx\":");
	ck_assert_int_eq(verify(), 0);
	apply(&(struct tn_plan_opts){ .optional = true }, false); /* repairs the end before it appends */
	revert(0);
	expect_before();
}
END_TEST

START_TEST(damage_in_the_middle_is_one_sentence_and_nothing_changes)
{
	gt_autofree char *applied = NULL, *now = NULL;
	json_t *report = NULL;

	apply(NULL, false);
	applied = box_picture(&b);
	append_raw("00000000 {\"rec\":\"commit\",\"tx\":1}\n");
	append_raw("00000000 {\"rec\":\"commit\",\"tx\":1}\n");
	ck_assert_int_lt(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_int_lt(tn_recover(b.fs, NULL, &status, &err), 0);
	ck_assert_int_lt(tn_verify(b.fs, &report, &status, &err), 0);
	now = box_picture(&b);
	ck_assert_str_eq(now, applied);
}
END_TEST

/* A journal with valid checksums can only name files that gputune writes. */
START_TEST(a_forged_journal_writes_nowhere_else)
{
	const char *rec =
		"{\"rec\":\"begin\",\"tx\":1,\"pid\":1,\"start\":0,\"by\":\"x\",\"temporary\":false,\"boot\":\"\"}";
	const char *evil = "{\"rec\":\"write\",\"tx\":1,\"knob\":\"vm.swappiness\",\"path\":\"/etc/passwd\","
			   "\"old\":\"x\",\"new\":\"y\"}";
	gt_auto_buf j = { 0 };

	box_put(&b, "/etc/passwd", "y");
	gt_buf_printf(&j, "%08x %s\n%08x %s\n", gt_crc32c(rec, strlen(rec)), rec, gt_crc32c(evil, strlen(evil)), evil);
	gt_buf_printf(&j, "%08x %s\n", gt_crc32c(rec, strlen(rec)), rec);
	box_put(&b, TN_STATE_DIR "/journal", j.s);
	ck_assert_int_lt(tn_recover(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	expect("/etc/passwd", "y");
}
END_TEST

static void put_record(struct gt_buf *j, const char *rec)
{
	gt_buf_printf(j, "%08x %s\n", gt_crc32c(rec, strlen(rec)), rec);
}

static void put_unknown(const char *boot, const char *end)
{
	gt_auto_buf j = { 0 };
	gt_autofree char *begin = gt_xasprintf("{\"rec\":\"begin\",\"tx\":1,\"pid\":1,\"start\":0,\"by\":\"gputune\","
					       "\"temporary\":false,\"boot\":\"%s\",\"time\":1,\"profile\":\"x\"}", boot);

	put_record(&j, begin);
	put_record(&j, "{\"rec\":\"write\",\"tx\":1,\"knob\":\"vm.gone\",\"path\":\"/proc/sys/vm/gone\",\"old\":\"1\","
		       "\"new\":\"2\",\"side_old\":\"3\"}");
	put_record(&j, "{\"rec\":\"write\",\"tx\":1,\"knob\":\"vm.swappiness\",\"path\":\"/proc/sys/vm/swappiness\","
		       "\"old\":\"60\",\"new\":\"10\"}");
	put_record(&j, "{\"rec\":\"file\",\"tx\":1,\"path\":\"/etc/sysctl.d/90-gputune.conf\",\"old\":null,"
		       "\"new\":\"vm.swappiness = 10\\n\"}");
	if (end)
		put_record(&j, end);
	box_put(&b, TN_STATE_DIR "/journal", j.s);
	box_put(&b, "/proc/sys/vm/gone", "2\n");
	box_put(&b, "/etc/sysctl.d/90-gputune.conf", "vm.swappiness = 10\n");
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/swappiness", "10"), 0);
}

static void undone(bool recover, const char *says, int want)
{
	gt_auto_json *report = NULL;
	gt_autofree char *text = NULL;
	int r = recover ? tn_recover(b.fs, &report, &status, &err) : tn_revert(b.fs, &report, &status, &err);

	ck_assert_msg(r == 0, "%s", err.msg);
	text = gt_json_text(report);
	ck_assert_msg(strstr(text, says) != NULL, "%s", text);
	ck_assert_int_eq(status, want);
	expect("/proc/sys/vm/gone", "2");
	ck_assert(!gt_fs_exists(b.fs, "/etc/sysctl.d/90-gputune.conf"));
}

#define BOOT_ID "11111111-2222-3333-4444-555555555555"
static const char unknown[] = "\"result\": \"unknown\"";

/* A tunable of a newer gputune: its value is reported, never written, and stays in the journal for the newer version. */
START_TEST(a_knob_of_another_version_is_no_damage)
{
	gt_autofree char *text = NULL;

	put_unknown(BOOT_ID, "{\"rec\":\"commit\",\"tx\":1}");
	ck_assert_int_eq(verify(), 0);
	undone(false, unknown, TN_EXIT_DRIFT);
	expect("/proc/sys/vm/swappiness", "60");
	ck_assert_int_eq(gt_fs_read(b.fs, TN_STATE_DIR "/journal", &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "\"path\":\"/proc/sys/vm/gone\",\"old\":\"1\""));
	ck_assert_ptr_nonnull(strstr(text, "\"side_old\":\"3\""));
	ck_assert_ptr_null(strstr(text, "swappiness"));
	ck_assert_int_eq(verify(), 0);
	undone(false, unknown, TN_EXIT_DRIFT);
	ck_assert(box_has_journal(&b));
	box_put(&b, "/proc/sys/kernel/random/boot_id", "another\n");
	undone(false, "reverted", 0);
}
END_TEST

START_TEST(interrupted_records_of_other_versions_are_kept)
{
	put_unknown(BOOT_ID, NULL);
	undone(true, unknown, TN_EXIT_DRIFT);
	expect("/proc/sys/vm/swappiness", "60");
	undone(true, "reverted", 0); /* nothing is interrupted any more */
	undone(false, unknown, TN_EXIT_DRIFT);
}
END_TEST

START_TEST(a_knob_of_another_version_and_boot_has_nothing_to_go_back_to)
{
	put_unknown("another", "{\"rec\":\"commit\",\"tx\":1}");
	undone(false, "stays until reboot", TN_EXIT_PENDING);
}
END_TEST

START_TEST(numbers_of_another_base_are_other_values)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {{"10", "0x10", false}, {"16", "0x10", false}, {"a", "0xa", false}, {"10", "10", true},
		     {"4096\t87380 6291456", "4096 87380\t6291456", true}, {"007", "7", true}, {NULL, "0", false}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++)
		ck_assert_msg(tn_value_equal(cases[i].a, cases[i].b) == cases[i].equal, "%s", cases[i].b);
}
END_TEST

START_TEST(only_listed_paths_are_written)
{
	static const char *const no[] = {"/etc/passwd",
					 "/etc/sysctl.d/90-gputune.conf.bak",
					 "/proc/sys/kernel/core_pattern",
					 "/proc/sys/vm/../kernel/core_pattern",
					 "/proc/sys/vm/overcommit_memory",
					 "/sys/block/a/b/queue/read_ahead_kb",
					 "/sys/block/../queue/read_ahead_kb",
					 "/proc/sys/vm/drop_caches",
					 ""};
	static const char *const yes[] = {"/proc/sys/vm/dirty_bytes", "/sys/block/nvme0n1/queue/read_ahead_kb",
					  TN_UDEV_RULE_PATH,
					  "/sys/devices/system/cpu/cpufreq/policy12/scaling_governor",
					  "/sys/kernel/mm/transparent_hugepage/enabled"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(no); i++) {
		ck_assert_msg(!tn_path_allowed(no[i]), "%s", no[i]);
		ck_assert_int_eq(tn_value_write(b.fs, no[i], "1"), -EPERM);
		ck_assert_int_eq(tn_file_write(b.fs, no[i], "1"), -EPERM);
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(yes); i++)
		ck_assert_msg(tn_path_allowed(yes[i]), "%s", yes[i]);
}
END_TEST

START_TEST(no_link_of_the_state_or_etc_is_followed_out)
{
	gt_autofree char *link = gt_xasprintf("%s%s", b.dir, TN_SYSCTL_D_PATH), *victim = NULL;
	gt_auto(tn_plan) *plan = box_plan(&b);

	box_put(&b, "/etc/victim", "untouched");
	ck_assert_int_eq(symlink("/etc/victim", link), 0);
	ck_assert_int_lt(tn_apply(b.fs, plan, &(struct tn_apply_opts){ .persist = true }, NULL, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED); /* not of gputune, by its content */
	victim = box_get(&b, "/etc/victim");
	ck_assert_str_eq(victim, "untouched");
}
END_TEST

static void expect_mode(const char *path, unsigned mode)
{
	struct stat st;

	ck_assert_int_eq(gt_fs_lstat(b.fs, path, &st), 0);
	ck_assert_msg((st.st_mode & 07777) == mode, "%s has mode %o", path, st.st_mode & 07777);
}

START_TEST(only_the_owner_can_read_the_state)
{
	mode_t old = umask(0);

	apply(NULL, true);
	umask(old);
	expect_mode(TN_STATE_DIR, 0700);
	expect_mode("/var/lib", 0755);
	expect_mode(TN_STATE_DIR "/journal", 0600);
	expect_mode(TN_STATE_DIR "/lock", 0600);
	expect_mode(TN_SYSCTL_D_PATH, 0644);
}
END_TEST

/* Expects that gputune refuses to revert, verify and apply, because it does not trust the journal. */
static void expect_untrusted(const char *why)
{
	gt_auto(tn_plan) *plan = box_plan(&b);

	gt_err_clear(&err);
	ck_assert_int_lt(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert_msg(err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, why), "%s", err.msg);
	gt_err_clear(&err);
	ck_assert_int_lt(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = true}, NULL, &err), 0);
	ck_assert_msg(err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, why), "%s", err.msg);
	gt_err_clear(&err);
	expect(SWAPPINESS, "10");
}

START_TEST(a_state_that_others_could_have_written_is_not_believed)
{
	gt_autofree char *dir = gt_xasprintf("%s" TN_STATE_DIR, b.dir), *journal = gt_xasprintf("%s/journal", dir),
			 *aside = gt_xasprintf("%s/aside", b.dir);

	apply(NULL, false);
	ck_assert_int_eq(chmod(dir, 0770), 0);
	expect_untrusted("can be written by others");
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(chmod(journal, 0602), 0);
	expect_untrusted("journal can be written by others");
	ck_assert_int_eq(chmod(journal, 0600), 0);
	ck_assert_int_eq(link(journal, aside), 0);
	expect_untrusted("journal has another hard link");
	ck_assert_int_eq(unlink(journal), 0);
	ck_assert_int_eq(symlink("/aside", journal), 0);
	expect_untrusted("journal is a link");
	ck_assert_int_eq(rename(aside, journal), 0);
	ck_assert_int_eq(rename(dir, aside), 0);
	ck_assert_int_eq(symlink("/aside", dir), 0);
	expect_untrusted("gputune is a link");
	ck_assert_int_eq(unlink(dir), 0);
	ck_assert_int_eq(rename(aside, dir), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(dir, 65534, 65534), 0);
		expect_untrusted("gputune belongs to another user");
		ck_assert_int_eq(chown(dir, 0, 0), 0);
	}
	revert(0);
	ck_assert(!box_has_journal(&b));
}
END_TEST

/*
 * A hard link to gputune's file keeps the old content. A link in the place of the file, even a dangling one, does not
 * belong to gputune.
 */
START_TEST(links_to_persisted_files_are_not_changed)
{
	gt_autofree char *file = gt_xasprintf("%s%s", b.dir, TN_SYSCTL_D_PATH), *aside = gt_xasprintf("%s/etc/aside", b.dir),
			 *kept = NULL, *after = NULL, *target = NULL;
	gt_auto(tn_plan) *plan = NULL;

	apply(NULL, true);
	kept = box_get(&b, TN_SYSCTL_D_PATH);
	ck_assert_int_eq(rename(file, aside), 0);
	ck_assert_int_eq(symlink("/etc/aside", file), 0);
	revert(TN_EXIT_DRIFT);
	ck_assert_int_eq(gt_fs_readlink(b.fs, TN_SYSCTL_D_PATH, &target), 0);
	ck_assert_str_eq(target, "/etc/aside");
	plan = box_plan(&b);
	ck_assert_int_lt(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = true}, NULL, &err), 0);
	ck_assert_msg(err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, "is a link"), "%s", err.msg);
	ck_assert_int_eq(unlink(aside), 0);
	ck_assert_int_lt(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = true}, NULL, &err), 0);
	ck_assert_int_eq(unlink(file), 0);
	gt_err_clear(&err);
	apply(NULL, true);
	ck_assert_int_eq(link(file, aside), 0);
	ck_assert_msg(tn_revert(b.fs, NULL, &status, &err) == 0 && !status, "%s", err.msg);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	after = box_get(&b, "/etc/aside");
	ck_assert_str_eq(after, kept);
}
END_TEST

static void lose_state(void)
{
	gt_autofree char *command = gt_xasprintf("exec rm -rf %s" TN_STATE_DIR, b.dir);

	ck_assert_int_eq(system(command), 0);
	box_reopen(&b);
}

static int status_now(char **ret)
{
	gt_auto_json *report = NULL;

	ck_assert_msg(tn_status_report(b.fs, &report, &status, &err) == 0, "%s", err.msg);
	*ret = gt_json_text(report);
	return status;
}

/*
 * The state directory is missing but the files remain. All commands report it, and revert removes the files that gputune
 * wrote completely.
 */
START_TEST(files_without_a_record_are_reported_and_removed)
{
	gt_autofree char *text = NULL, *edited = NULL;

	apply(NULL, true);
	ck_assert_int_eq(verify(), 0);
	lose_state();
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	ck_assert_int_eq(status_now(&text), 0);
	ck_assert_ptr_nonnull(strstr(text, "record lost"));
	ck_assert_ptr_nonnull(strstr(text, TN_SYSCTL_D_PATH));
	revert(TN_EXIT_PENDING); /* the values stay until the next boot: the old ones are unknown */
	expect(SWAPPINESS, "10");
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH) && !gt_fs_exists(b.fs, TN_TMPFILES_D_PATH) &&
		  !gt_fs_exists(b.fs, TN_UDEV_RULE_PATH));
	ck_assert_int_eq(verify(), 0);
	revert(0);
	/* with a newer journal that does not contain them */
	tear_down();
	set_up();
	apply(&(struct tn_plan_opts){ .optional = true }, true);
	lose_state();
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "60"), 0);
	apply(NULL, false);
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
	revert(TN_EXIT_PENDING);
	expect(SWAPPINESS, "60");
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	/* an edited file belongs to the administrator */
	tear_down();
	set_up();
	apply(NULL, true);
	free(gt_take(text));
	ck_assert_int_eq(gt_fs_read(b.fs, TN_SYSCTL_D_PATH, &text, NULL), 0);
	edited = gt_xasprintf("%svm.swappiness = 1\n", text);
	box_put(&b, TN_SYSCTL_D_PATH, edited);
	lose_state();
	revert(TN_EXIT_PENDING);
	ck_assert(gt_fs_exists(b.fs, TN_SYSCTL_D_PATH) && !gt_fs_exists(b.fs, TN_TMPFILES_D_PATH));
}
END_TEST

/* If they are persisted again, revert removes the files as usual. */
START_TEST(values_without_a_record_are_not_restored)
{
	apply(NULL, true);
	lose_state();
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "60"), 0);
	apply(NULL, true);
	ck_assert_int_eq(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	ck_assert_int_eq(verify(), 0);
}
END_TEST

TCase *tune_journal_case(void)
{
	TCase *tc = tcase_create("journal");
	const TTest *const tests[] = {
		the_lock_excludes_a_second_process,
		a_lock_that_is_waited_for_is_taken_or_refused,
		a_finished_process_was_not_interrupted,
		a_torn_last_record_is_a_step_that_never_happened,
		damage_in_the_middle_is_one_sentence_and_nothing_changes,
		a_forged_journal_writes_nowhere_else,
		a_knob_of_another_version_is_no_damage,
		interrupted_records_of_other_versions_are_kept,
		a_knob_of_another_version_and_boot_has_nothing_to_go_back_to,
		numbers_of_another_base_are_other_values,
		only_listed_paths_are_written,
		no_link_of_the_state_or_etc_is_followed_out,
		only_the_owner_can_read_the_state,
		a_state_that_others_could_have_written_is_not_believed,
		links_to_persisted_files_are_not_changed,
		files_without_a_record_are_reported_and_removed,
		values_without_a_record_are_not_restored,
	};

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
