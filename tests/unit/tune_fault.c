/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a failure or a kill at any step, the state of the host is exactly that from before, or exactly the planned one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "lib/log.h"
#include "tests/unit/check_tune.h"

#define HOST "cpu-server"

static const struct tn_apply_opts modes[] = { { .persist = false }, { .persist = true }, { .temporary = true } };

struct pictures {
	char *before, *planned;
	unsigned steps; /* mutations of a whole apply */
};

static void take_pictures(struct pictures *p, const struct tn_apply_opts *mode)
{
	gt_auto(tn_plan) *plan = NULL;
	struct gt_err err = { 0 };
	struct box b;

	box_open(&b, HOST);
	p->before = box_picture(&b);
	plan = box_plan(&b);
	gt_fs_fault(b.fs, 0, 0, false);
	ck_assert_msg(tn_apply(b.fs, plan, mode, NULL, &err) == 0, "%s", err.msg);
	p->steps = gt_fs_mutations(b.fs);
	p->planned = box_picture(&b);
	ck_assert_str_ne(p->before, p->planned);
	box_close(&b);
}

static void drop_pictures(struct pictures *p)
{
	free(p->before);
	free(p->planned);
}

/* Every step of apply fails once with each code; other kinds of apply use two codes per step in turn. */
START_TEST(a_failing_step_leaves_the_host_as_before)
{
	static const int codes[] = { EIO, ENOSPC, EACCES, EROFS, EINVAL, EBUSY };
	const struct tn_apply_opts *mode = &modes[_i];
	struct pictures p;

	take_pictures(&p, mode);
	ck_assert_uint_gt(p.steps, 15);
	for (unsigned n = 1; n <= p.steps; n++)
		for (size_t c = _i ? n % 3 : 0; c < GT_ARRAY_SIZE(codes); c += _i ? 3 : 1) {
			gt_auto(tn_plan) *plan = NULL;
			gt_autofree char *after = NULL;
			struct gt_err err = { 0 };
			struct box b;
			int r;

			box_open(&b, HOST);
			plan = box_plan(&b);
			gt_fs_fault(b.fs, n, codes[c], false);
			r = tn_apply(b.fs, plan, mode, NULL, &err);
			after = box_picture(&b);
			ck_assert_msg(r < 0, "step %u of %u failed with %d and apply succeeded", n, p.steps, codes[c]);
			ck_assert_msg(err.exit_status == TN_EXIT_FAILED || err.exit_status == TN_EXIT_REFUSED,
				      "step %u: exit %d (%s)", n, err.exit_status, err.msg);
			ck_assert_msg(!strcmp(after, p.before), "step %u, code %d: not as before (%s)", n, codes[c],
				      err.msg);
			box_reopen(&b);
			ck_assert_msg(!box_has_journal(&b), "step %u, code %d: a journal is left "
							    "(%s)", n, codes[c], err.msg);
			box_close(&b);
		}
	drop_pictures(&p);
}
END_TEST

/* From step N on the disk fails, during the rollback too. When the disk works again, recover restores everything. */
START_TEST(a_disk_that_stays_broken_is_recovered_later)
{
	const struct tn_apply_opts *mode = &modes[_i];
	struct pictures p;
	unsigned interrupted = 0;

	take_pictures(&p, mode);
	for (unsigned n = 1; n <= p.steps; n++) {
		gt_autofree char *after = NULL;
		struct gt_err err = { 0 };
		int status, st;
		struct box b;
		pid_t pid;

		box_open(&b, HOST);
		pid = fork();
		if (pid == 0) {
			struct tn_plan *plan = box_plan(&b);

			gt_fs_fault(b.fs, n, EIO, true);
			_exit(tn_apply(b.fs, plan, mode, NULL, &err) < 0 ? err.exit_status : 0);
		}
		waitpid(pid, &st, 0);
		ck_assert(WIFEXITED(st));
		ck_assert_msg(WEXITSTATUS(st) == TN_EXIT_FAILED || WEXITSTATUS(st) == TN_EXIT_REFUSED ||
				      WEXITSTATUS(st) == TN_EXIT_INTERRUPTED, "step %u: exit %d", n, WEXITSTATUS(st));
		interrupted += WEXITSTATUS(st) == TN_EXIT_INTERRUPTED;
		box_reopen(&b);
		ck_assert_msg(tn_recover(b.fs, NULL, &status, &err) == 0, "step %u: %s", n, err.msg);
		after = box_picture(&b);
		ck_assert_msg(!strcmp(after, p.before), "step %u: not as before", n);
		ck_assert(!box_has_journal(&b));
		box_close(&b);
	}
	ck_assert_uint_gt(interrupted, 5);
	drop_pictures(&p);
}
END_TEST

/* Runs in a child process, which is killed. Returns whether it was. */
static bool die_at(struct box *b, unsigned n, bool revert, const struct tn_apply_opts *mode)
{
	pid_t pid = fork();
	int st;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct tn_plan *plan = revert ? NULL : box_plan(b);
		int status;

		gt_fs_fault(b->fs, n, GT_FS_KILL, false);
		if (revert)
			_exit(tn_revert(b->fs, NULL, &status, NULL) < 0);
		_exit(tn_apply(b->fs, plan, mode, NULL, NULL) < 0);
	}
	waitpid(pid, &st, 0);
	return WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL;
}

/* Recover must restore the host, however often it is killed. */
static void recover_with_deaths(struct box *b, const char *before, unsigned n)
{
	gt_autofree char *after = NULL;
	struct gt_err err = { 0 };
	int status = -1;

	for (unsigned k = 1; k <= 3; k++) {
		pid_t pid = fork();
		int st;

		if (pid == 0) {
			gt_fs_fault(b->fs, k * 2, GT_FS_KILL, false);
			_exit(tn_recover(b->fs, NULL, &st, NULL) < 0);
		}
		waitpid(pid, &st, 0);
	}
	ck_assert_msg(tn_recover(b->fs, NULL, &status, &err) == 0, "step %u: %s", n, err.msg);
	ck_assert_int_eq(status, 0);
	after = box_picture(b);
	ck_assert_msg(!strcmp(after, before), "killed at step %u: recover left something", n);
	ck_assert(!box_has_journal(b));
}

START_TEST(a_process_killed_anywhere_in_apply_is_recovered)
{
	const struct tn_apply_opts *mode = &modes[_i];
	struct pictures p;

	take_pictures(&p, mode);
	for (unsigned n = 1; n <= p.steps; n++) {
		gt_autofree char *after = NULL;
		struct gt_err err = { 0 };
		json_t *report = NULL;
		int status = 0, r;
		struct box b;

		box_open(&b, HOST);
		ck_assert_msg(die_at(&b, n, false, mode), "step %u was never reached", n);
		box_reopen(&b);
		r = tn_verify(b.fs, &report, &status, &err);
		json_decref(report);
		after = box_picture(&b);
		if (r < 0)
			ck_assert_msg(err.exit_status == TN_EXIT_INTERRUPTED, "step %u: %s", n, err.msg);
		else /* nothing was started, or everything is complete */
			ck_assert_msg(!strcmp(after, p.before) || !strcmp(after, p.planned),
				      "step %u: neither before nor planned", n);
		if (r < 0)
			recover_with_deaths(&b, p.before, n);
		box_close(&b);
	}
	drop_pictures(&p);
}
END_TEST

/* A power cut: the new kernel starts with its own values, and no file of gputune may remain in /etc. */
START_TEST(a_power_cut_anywhere_in_apply_leaves_no_file)
{
	static const char *const files[] = { "/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/udev/rules.d" };
	const struct tn_apply_opts *mode = &modes[_i];
	struct pictures p;

	take_pictures(&p, mode);
	for (unsigned n = 1; n <= p.steps; n++) {
		struct gt_err err = { 0 };
		json_t *report = NULL;
		int status = 0;
		struct box b;

		box_open(&b, HOST);
		ck_assert(die_at(&b, n, false, mode));
		ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/kernel/random/boot_id", "next-boot"), 0);
		box_reopen(&b);
		ck_assert_msg(tn_recover(b.fs, NULL, &status, &err) == 0, "step %u: %s", n, err.msg);
		ck_assert_msg(tn_verify(b.fs, &report, &status, &err) == 0, "step %u: %s", n, err.msg);
		json_decref(report);
		if (status == 0 && n == p.steps && mode->persist) { /* the commit record was written: everything is applied */
			box_close(&b);
			continue;
		}
		for (size_t i = 0; i < GT_ARRAY_SIZE(files); i++) {
			gt_auto_strv names = { 0 };

			ck_assert_int_eq(gt_fs_list(b.fs, files[i], &names), 0);
			ck_assert_msg(names.n == 1, "step %u: %s in %s", n, names.v[1], files[i]);
		}
		box_close(&b);
	}
	drop_pictures(&p);
}
END_TEST

/* The process of the experiment is killed after apply returned, as by kill -9 of gpubench. */
START_TEST(an_experiment_ends_with_its_process)
{
	gt_autofree char *before = NULL;
	struct gt_err err = { 0 };
	json_t *report = NULL;
	struct box b;
	int status;

	box_open(&b, HOST);
	before = box_picture(&b);
	ck_assert(!die_at(&b, 0, false, &modes[2]));
	ck_assert(box_has_journal(&b));
	ck_assert_int_lt(tn_verify(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_INTERRUPTED);
	recover_with_deaths(&b, before, 0);
	box_close(&b);
}
END_TEST

START_TEST(a_process_killed_anywhere_in_revert_is_recovered)
{
	const struct tn_apply_opts *mode = &modes[_i];
	struct pictures p;
	bool killed = true;

	take_pictures(&p, mode);
	for (unsigned n = 1; killed; n++) {
		gt_auto(tn_plan) *plan = NULL;
		gt_autofree char *after = NULL;
		struct gt_err err = { 0 };
		struct box b;
		int status;

		box_open(&b, HOST);
		plan = box_plan(&b);
		ck_assert_int_eq(tn_apply(b.fs, plan, mode, NULL, &err), 0);
		killed = die_at(&b, n, true, NULL);
		box_reopen(&b);
		ck_assert_msg(tn_recover(b.fs, NULL, &status, &err) == 0, "step %u: %s", n, err.msg);
		after = box_picture(&b);
		if (!strcmp(after, p.planned)) { /* killed before its first record */
			ck_assert_uint_lt(n, 4);
			ck_assert_int_eq(tn_revert(b.fs, NULL, &status, &err), 0);
			free(gt_take(after));
			after = box_picture(&b);
		}
		ck_assert_msg(!strcmp(after, p.before), "killed at step %u of revert", n);
		ck_assert(!box_has_journal(&b));
		if (!killed)
			ck_assert_uint_gt(n, 10);
		box_close(&b);
	}
	drop_pictures(&p);
}
END_TEST

/* Each step of revert fails once: nothing is lost, and a repeated revert completes. */
START_TEST(a_revert_that_fails_can_be_done_again)
{
	const struct tn_apply_opts *mode = &modes[_i];
	struct pictures p;
	bool failed = true;

	take_pictures(&p, mode);
	for (unsigned n = 1; failed; n++) {
		gt_auto(tn_plan) *plan = NULL;
		gt_autofree char *after = NULL;
		struct gt_err err = { 0 };
		struct box b;
		pid_t pid;
		int st;

		box_open(&b, HOST);
		plan = box_plan(&b);
		ck_assert_int_eq(tn_apply(b.fs, plan, mode, NULL, &err), 0);
		pid = fork();
		if (pid == 0) {
			struct gt_err e = { 0 };
			int status;

			gt_fs_fault(b.fs, n, EIO, false);
			_exit(tn_revert(b.fs, NULL, &status, &e) < 0 ? e.exit_status : 0);
		}
		waitpid(pid, &st, 0);
		ck_assert(WIFEXITED(st));
		failed = WEXITSTATUS(st) != 0;
		if (failed)
			ck_assert_msg(WEXITSTATUS(st) == TN_EXIT_INTERRUPTED || WEXITSTATUS(st) == TN_EXIT_REFUSED,
				      "step %u: %d", n, WEXITSTATUS(st));
		box_reopen(&b);
		if (tn_recover(b.fs, NULL, &st, &err) == 0 && box_has_journal(&b))
			ck_assert_int_eq(tn_revert(b.fs, NULL, &st, &err), 0);
		after = box_picture(&b);
		ck_assert_msg(!strcmp(after, p.before), "step %u: %s", n, err.msg);
		ck_assert(!box_has_journal(&b));
		box_close(&b);
	}
	drop_pictures(&p);
}
END_TEST

TCase *tune_fault_case(void)
{
	TCase *tc = tcase_create("fault");

	gt_log_init("check_tune", GT_LOG_ERROR);
	tcase_add_loop_test(tc, a_failing_step_leaves_the_host_as_before, 0, 3);
	tcase_add_loop_test(tc, a_disk_that_stays_broken_is_recovered_later, 0, 3);
	tcase_add_loop_test(tc, a_process_killed_anywhere_in_apply_is_recovered, 0, 3);
	tcase_add_loop_test(tc, a_power_cut_anywhere_in_apply_leaves_no_file, 0, 2);
	tcase_add_test(tc, an_experiment_ends_with_its_process);
	tcase_add_loop_test(tc, a_process_killed_anywhere_in_revert_is_recovered, 0, 2);
	tcase_add_loop_test(tc, a_revert_that_fails_can_be_done_again, 0, 2);
	tcase_set_timeout(tc, 300);
	return tc;
}
