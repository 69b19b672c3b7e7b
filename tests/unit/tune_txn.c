/* SPDX-License-Identifier: Apache-2.0 */
/* Apply and revert are each other's inverse; originals are never lost; what others do is respected. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/buf.h"
#include "tests/unit/tune_stage.h"
#include "tune/txn/journal.h"
#include "tune/boot/persist.h"
#include "tune/model/value.h"

#define BOOT_ID	   "/proc/sys/kernel/random/boot_id"

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
	apply(NULL, true); /* and a third that has nothing to do */
	/* a plan that goes further on a knob that is held: its old value is ours, not the host's */
	plan = box_plan(&b);
	for (size_t i = 0; i < plan->n_item; i++)
		if (!strcmp(plan->item[i].knob->id, "vm.swappiness")) {
			free(plan->item[i].wanted);
			plan->item[i].wanted = gt_xstrdup("1");
			plan->item[i].status = TN_CHANGE;
		}
	ck_assert_msg(tn_apply(b.fs, plan, NULL, NULL, &err) == 0, "%s", err.msg);
	expect(SWAPPINESS, "1");
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT); /* the file still says 10 */
	apply(NULL, true);
	ck_assert_int_eq(verify(), 0);
	revert(0);
	expect_before();
}
END_TEST

START_TEST(what_a_rival_changed_is_left_alone)
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

/* Writing one of a pair zeroes the other: the one that was in force is put back, and last. */
START_TEST(counterparts_come_back)
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

START_TEST(persisted_files_are_ours_whole_and_go_whole)
{
	gt_autofree char *text = NULL;
	struct stat st;

	apply(&(struct tn_plan_opts){ .optional = true }, true);
	ck_assert_int_eq(gt_fs_read(b.fs, TN_SYSCTL_D_PATH, &text, NULL), 0);
	ck_assert(tn_persist_is_ours(text));
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

START_TEST(a_later_file_of_the_admin_is_seen_to_win)
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
	/* also the other form of a pair takes its place */
	box_put(&b, "/etc/sysctl.conf", "vm.dirty_bytes = 1048576\n");
	ck_assert_int_eq(verify(), TN_EXIT_DRIFT);
}
END_TEST

static void reboot(const char *id)
{
	ck_assert_int_eq(tn_kernel_write(b.fs, BOOT_ID, id), 0);
}

/* Of two lines for one path systemd-tmpfiles takes the first (252: "Duplicate line for path, ignoring"). */
START_TEST(an_earlier_file_of_tmpfiles_is_seen_to_win)
{
	const char *path = "/sys/kernel/mm/transparent_hugepage/defrag";
	gt_auto_strv only = { 0 };
	gt_auto(tn_plan) *plan = NULL;
	gt_autofree char *line = gt_xasprintf("# site\nw! %s - - - - always\n", path);

	gt_strv_add(&only, "thp.defrag");
	box_put(&b, "/usr/lib/tmpfiles.d/95-late.conf", line);
	apply(&(struct tn_plan_opts){ .only = &only }, true);
	ck_assert_int_eq(verify(), 0); /* ours comes first */
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

/* Under the governor performance intel_pstate and amd_pstate refuse any other preference with EBUSY: the governor goes first,
 * also where another transaction set it, and when an apply that fails in the middle is rolled back. */
START_TEST(what_the_kernel_refuses_at_first_is_put_back_in_the_end)
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

/* Another path string is no duplicate: a pattern in a later file is written after ours, one in an earlier file before. */
START_TEST(a_pattern_of_tmpfiles_wins_where_it_comes_later)
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

/* Of a value that moved while the host runs verify says who may have done it: a file that says so, a tuner at work. */
START_TEST(who_has_changed_a_value_meanwhile_is_said)
{
	static const struct {
		const char *path, *text, *value, *says;
	} cases[] = {
		{ "/etc/sysctl.d/50-y.conf", "\nvm.swappiness = 40\n", "40", "/etc/sysctl.d/50-y.conf:2 says 40" },
		{ "/run/tuned/tuned.pid", "1\n", "41", "tuned (running) sets it too" },
		{ NULL, NULL, "42", "by hand, or by a program" },
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

/* Of a value that is only raised more is no drift, nor is a later file that says more; the same the other way round. */
#define RMEM "/proc/sys/net/ipv4/tcp_rmem"

START_TEST(more_of_what_is_only_raised_is_no_drift)
{
	static const struct {
		const char *path, *value, *line, *result;
		int status;
	} cases[] = {
		{ "/proc/sys/vm/max_map_count", "1048576", "", "higher", 0 },
		{ "/proc/sys/vm/max_map_count", "70000", "", "drift", TN_EXIT_DRIFT },
		{ "/proc/sys/vm/min_free_kbytes", "999999", "", "higher", 0 }, /* as the kernel does it by itself */
		{ "/proc/sys/vm/max_map_count", "1048576", "vm.max_map_count = 1048576\n", "higher", 0 },
		{ "/proc/sys/vm/max_map_count", "1048576", "vm.max_map_count = 70000\n", "lost at boot", TN_EXIT_DRIFT },
		{ RMEM, "4096 131072 134217728", "", "higher", 0 }, /* of several numbers each */
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
		revert(TN_EXIT_DRIFT); /* still somebody else's value, which is left alone */
		tear_down();
		set_up();
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

START_TEST(after_a_reboot_what_was_not_kept_is_void)
{
	apply(NULL, false);
	reboot("another-boot");
	ck_assert_int_eq(verify(), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, "60"), 0); /* as the kernel would begin */
	revert(0);
	expect(SWAPPINESS, "60");
}
END_TEST

/* What was applied for this boot only, and is in no file, is not missed there. */
START_TEST(what_was_never_kept_is_not_lost_at_boot)
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

/* A file holds all that was held when it was written, also what an earlier transaction had not kept. */
START_TEST(what_a_later_file_keeps_is_held_after_the_reboot)
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
	reboot("another-boot"); /* values in the tree stay: our files set them again */
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

/* Set by hand it holds until the next boot only: --persist keeps it as it is, and going back leaves it. */
START_TEST(what_holds_by_hand_is_kept_too)
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
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/max_map_count", "1048576"), 0); /* more than is wanted */
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/dirty_ratio", "10"), 0);
	box_put(&b, "/etc/sysctl.d/50-site.conf", "vm.dirty_ratio = 10\n"); /* will be so without us */
	by_hand = box_picture(&b);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &vm }, &plan, &err), 0);
	ck_assert_uint_eq(tn_plan_changes(plan), 0);
	doc = tn_plan_to_json(plan);
	ck_assert_msg(keep(plan) == 0, "%s", err.msg);
	ck_assert_int_eq(gt_fs_read(b.fs, TN_SYSCTL_D_PATH, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nvm.swappiness = 10\nvm.max_map_count = 1048576\n"));
	ck_assert_ptr_null(strstr(text, "vm.dirty_ratio"));
	ck_assert_int_eq(verify(), 0);
	apply(&(struct tn_plan_opts){ .only = &vm }, true); /* nothing more to keep */
	revert(0);
	now = box_picture(&b);
	ck_assert_str_eq(now, by_hand);
	ck_assert(!box_has_journal(&b));
	/* a power cut in the middle: it is as it was, and nothing waits for a boot */
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
	/* from a document, and not if it has moved since */
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
	/* what is by choice only and was not chosen is nobody's to keep */
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

		/* no drift of what was applied before, and no failure */
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
	revert(0); /* what was applied before */
	expect_before();
}
END_TEST

static void move(const char *from, const char *to)
{
	gt_autofree char *a = gt_xasprintf("%s%s", b.dir, from), *c = gt_xasprintf("%s%s", b.dir, to);

	ck_assert_int_eq(rename(a, c), 0);
}

/* In a child, because a process that lives is not interrupted. */
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

/* The record keeps exactly the values that could not be put back. */
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

TCase *tune_txn_case(void)
{
	TCase *tc = tcase_create("txn");
	const TTest *const tests[] = {
		apply_then_revert_is_identity_on_every_captured_host,
		nothing_to_do_leaves_no_trace,
		a_second_apply_keeps_the_originals,
		what_a_rival_changed_is_left_alone,
		a_rival_between_two_applies_is_where_revert_ends,
		counterparts_come_back,
		a_pair_set_by_a_rival_in_the_other_form_is_left_alone,
		persisted_files_are_ours_whole_and_go_whole,
		a_file_that_was_edited_is_neither_overwritten_nor_removed,
		a_later_file_of_the_admin_is_seen_to_win,
		more_of_what_is_only_raised_is_no_drift,
		without_a_boot_id_nothing_is_taken_for_undone,
		after_a_reboot_what_was_not_kept_is_void,
		after_a_reboot_files_go_and_values_are_pending,
		what_the_kernel_refuses_at_first_is_put_back_in_the_end,
		what_was_never_kept_is_not_lost_at_boot,
		a_pattern_of_tmpfiles_wins_where_it_comes_later,
		who_has_changed_a_value_meanwhile_is_said,
		what_a_later_file_keeps_is_held_after_the_reboot,
		what_holds_by_hand_is_kept_too,
		an_experiment_keeps_others_out_and_ends_alone,
		an_earlier_file_of_tmpfiles_is_seen_to_win,
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
