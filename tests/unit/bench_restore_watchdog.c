/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog restores the settings of a killed gpubench, however long another process holds the journal's lock. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "bench/session/restore_watchdog.h"
#include "tests/unit/check_bench.h"
#include "tests/unit/check_tune.h"

/* A process that starts an experiment and is killed. */
static pid_t killed_experiment(struct box *b)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		struct tn_plan *plan = box_plan(b);

		if (tn_apply(b->fs, plan, &(struct tn_apply_opts){ .temporary = true }, NULL, NULL) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* Returns whether the process waits for a file lock. /proc/locks has a line "1: -> FLOCK ADVISORY WRITE PID …". */
static bool waits_for_lock(pid_t pid)
{
	char line[256], want[64];
	bool found = false;
	FILE *f = fopen("/proc/locks", "re");

	ck_assert_ptr_nonnull(f);
	snprintf(want, sizeof(want), "-> FLOCK  ADVISORY  WRITE %d ", (int)pid);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, want);
	fclose(f);
	return found;
}

START_TEST(the_guard_waits_as_long_as_the_lock_is_held)
{
	char *before, *after;
	pid_t experiment, guard;
	struct box b;
	int lock, st;

	box_open(&b, "cpu-server");
	before = box_picture(&b);
	experiment = killed_experiment(&b);
	ck_assert_int_eq(gt_fs_lock(b.fs, "/var/lib/gputune/lock", 0, &lock), 0);
	guard = fork();
	ck_assert_int_ge(guard, 0);
	if (!guard) {
		close(lock);
		_exit(bn_restore_watchdog_settle(b.fs, experiment) < 0);
	}
	while (!waits_for_lock(guard))
		ck_assert_msg(!waitpid(guard, &st, WNOHANG), "the guard gave up while the lock was held");
	close(lock);
	ck_assert_int_eq(waitpid(guard, &st, 0), guard);
	ck_assert_int_eq(st, 0);
	after = box_picture(&b);
	ck_assert_str_eq(before, after);
	ck_assert(!box_has_journal(&b));
	free(before);
	free(after);
	box_close(&b);
}
END_TEST

TCase *bench_guard_case(void)
{
	TCase *tc = tcase_create("guard");

	tcase_add_test(tc, the_guard_waits_as_long_as_the_lock_is_held);
	tcase_set_timeout(tc, 120);
	return tc;
}
