/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several applies in a row: the same tunables with other values, some persisted and some not. The last apply, revert or
 * recover fails, is killed, or loses power. The state of the host is then exactly that from before, or exactly the
 * planned one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "lib/log.h"
#include "tests/unit/check_tune.h"
#include "tune/model/value.h"

#define LEVELS 3
#define POLICY "/sys/devices/system/cpu/cpufreq/policy"

static const int codes[] = { EIO, ENOSPC, EACCES, EROFS, EINVAL, EBUSY };

/* Under the governor of the second profile, the kernel refuses the energy preference of the first. */
static const struct {
	const char *name, *text, *only[6];
} levels[LEVELS] = {
	{ "one", "[knobs]\nvm.swappiness = 20\nvm.dirty_ratio = 15\ncpu.epp = balance_power\n",
	  { "vm.swappiness", "vm.dirty_ratio", "cpu.epp" } },
	{ "two",
	  "[knobs]\nvm.swappiness = 10\ncpu.governor = performance\ncpu.epp = performance\nblock.scheduler = mq-deadline\n",
	  { "vm.swappiness", "cpu.governor", "cpu.epp", "block.scheduler" } },
	{ "three",
	  "[knobs]\nvm.swappiness = 5\nvm.dirty_ratio = 7\ncpu.governor = powersave\ncpu.epp = power\n"
	  "block.scheduler = none\n",
	  { "vm.swappiness", "vm.dirty_ratio", "cpu.governor", "cpu.epp", "block.scheduler" } },
};
/*
 * Number of applies, which of them are persisted (one bit each), and whether each step fails with all codes or with two
 * of them.
 */
static const struct mode {
	unsigned n, kept;
	bool all;
} modes[] = { { 2, 0, false }, { 2, 3, true }, { 2, 1, false }, { 3, 7, true }, { 3, 2, false } };

#define COMPACTION_STEPS 5 /* create, write, sync, rename, sync the directory */

struct stack {
	const struct mode *mode;
	char *picture[LEVELS + 1]; /* the whole tree without the state directory, after this many applies */
	struct box below, whole;   /* all applies but the last, and all */
	unsigned steps;		   /* mutations of the last apply */
	unsigned commit; /* the step that ends the transaction; after it the journal may be compacted */
};

static struct tn_plan *plan_of(struct box *b, unsigned level)
{
	struct gt_strv only = { 0 };
	struct tn_plan *plan = NULL;
	struct gt_err err = { 0 };

	for (const char *const *k = levels[level].only; *k; k++)
		gt_strv_add(&only, *k);
	ck_assert_msg(tn_plan_make(b->fs, NULL, &(struct tn_plan_opts){ .profile = levels[level].name, .only = &only }, &plan,
				   &err) == 0, "%s", err.msg);
	gt_strv_clear(&only);
	ck_assert_uint_gt(tn_plan_changes(plan), 2);
	return plan;
}

static int apply_level(struct box *b, const struct mode *m, unsigned level, struct gt_err *err)
{
	gt_auto(tn_plan) *plan = plan_of(b, level);

	return tn_apply(b->fs, plan, &(struct tn_apply_opts){ .persist = m->kept >> level & 1 }, NULL, err);
}

/* Returns 0 without a file. A different value means that the file was rewritten, not appended to. */
static ino_t journal_inode(struct box *b)
{
	struct stat st;

	return gt_fs_stat(b->fs, "/var/lib/gputune/journal", &st) < 0 ? 0 : st.st_ino;
}

static void stack_open(struct stack *s, const struct mode *m)
{
	struct gt_err err = { 0 };
	ino_t journal;

	*s = (struct stack){ .mode = m };
	box_open(&s->below, "cpu-server");
	for (unsigned i = 0; i < LEVELS; i++) {
		gt_autofree char *path = gt_xasprintf("/etc/gputune/profiles/%s.conf", levels[i].name);

		box_put(&s->below, path, levels[i].text);
	}
	s->picture[0] = box_picture(&s->below);
	for (unsigned i = 0; i + 1 < m->n; i++) {
		ck_assert_msg(apply_level(&s->below, m, i, &err) == 0, "%s", err.msg);
		s->picture[i + 1] = box_picture(&s->below);
	}
	box_copy(&s->whole, &s->below);
	journal = journal_inode(&s->whole);
	gt_fs_fault(s->whole.fs, 0, 0, false);
	ck_assert_msg(apply_level(&s->whole, m, m->n - 1, &err) == 0, "%s", err.msg);
	s->steps = gt_fs_mutations(s->whole.fs);
	s->commit = s->steps - (journal && journal != journal_inode(&s->whole) ? COMPACTION_STEPS : 0);
	s->picture[m->n] = box_picture(&s->whole);
	for (unsigned i = 1; i <= m->n; i++)
		ck_assert_str_ne(s->picture[i], s->picture[i - 1]);
}

static void stack_close(struct stack *s)
{
	box_close(&s->below);
	box_close(&s->whole);
	for (unsigned i = 0; i <= LEVELS; i++)
		free(s->picture[i]);
}

enum what { APPLY, REVERT, RECOVER };

static int run(struct box *b, const struct stack *s, enum what what)
{
	struct gt_err err = { 0 };
	int status = 0, r;

	if (what == APPLY)
		r = apply_level(b, s->mode, s->mode->n - 1, &err);
	else
		r = what == REVERT ? tn_revert(b->fs, NULL, &status, &err) : tn_recover(b->fs, NULL, &status, &err);
	return r < 0 ? err.exit_status : status;
}

/* Runs in a child process. Returns its exit status, or -1 if it was killed. */
static int run_in_child(struct box *b, const struct stack *s, enum what what, unsigned n, int code, bool for_good)
{
	pid_t pid = fork();
	int st;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		gt_fs_fault(b->fs, n, code, for_good);
		_exit(run(b, s, what));
	}
	ck_assert_int_eq(waitpid(pid, &st, 0), pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static int verify(struct box *b)
{
	gt_auto_json *report = NULL;
	struct gt_err err = { 0 };
	int status = 0;

	return tn_verify(b->fs, &report, &status, &err) < 0 ? err.exit_status : status;
}

static void expect_picture(struct box *b, const char *want, const char *what, unsigned n, int code)
{
	gt_autofree char *now = box_picture(b);

	ck_assert_msg(!strcmp(now, want), "%s, step %u, code %d: not as it should be", what, n, code);
}

/* Back to the initial state, with no record left. */
static void expect_way_back(struct box *b, const struct stack *s, enum what how, const char *what, unsigned n, int code)
{
	int r = run(b, s, how);

	ck_assert_msg(r == 0, "%s, step %u, code %d: %s ends with %d", what, n, code, how == REVERT ? "revert" : "recover", r);
	expect_picture(b, s->picture[0], what, n, code);
	ck_assert_msg(!box_has_journal(b), "%s, step %u, code %d: a journal is left", what, n, code);
}

static size_t first_code(const struct mode *m, unsigned n)
{
	return m->all ? 0 : n % 3;
}

static size_t next_code(const struct mode *m, size_t c)
{
	return c + (m->all ? 1 : 3);
}

START_TEST(a_failing_step_of_the_last_apply_leaves_the_others)
{
	struct stack s;
	unsigned drift;

	stack_open(&s, &modes[_i]);
	drift = (unsigned)verify(&s.below);
	for (unsigned n = 1; n <= s.steps; n++)
		for (size_t c = first_code(s.mode, n); c < GT_ARRAY_SIZE(codes); c = next_code(s.mode, c)) {
			struct box b;
			int r;

			box_copy(&b, &s.below);
			r = run_in_child(&b, &s, APPLY, n, codes[c], false);
			box_reopen(&b);
			if (n > s.commit) { /* only the compaction has failed */
				ck_assert_msg(r == 0, "step %u, code %d: exit %d", n, codes[c], r);
				expect_picture(&b, s.picture[s.mode->n], "apply", n, codes[c]);
			} else {
				ck_assert_msg(r == TN_EXIT_FAILED || r == TN_EXIT_REFUSED, "step %u, code %d: exit %d", n,
					      codes[c], r);
				expect_picture(&b, s.picture[s.mode->n - 1], "apply", n, codes[c]);
				ck_assert_int_eq(verify(&b), drift);
			}
			expect_way_back(&b, &s, REVERT, "apply", n, codes[c]);
			box_close(&b);
		}
	stack_close(&s);
}
END_TEST

/* The fault occurs once, or at every step until the process ends. */
static bool revert_with_fault(struct stack *s, unsigned n, int code, bool for_good)
{
	struct box b;
	int r;

	box_copy(&b, &s->whole);
	r = run_in_child(&b, s, REVERT, n, code, for_good);
	ck_assert_msg(r == 0 || r == TN_EXIT_REFUSED || r == TN_EXIT_INTERRUPTED, "step %u, code %d: exit %d", n, code, r);
	box_reopen(&b);
	if (r == TN_EXIT_REFUSED) { /* nothing is changed, and nothing is reported as changed */
		expect_picture(&b, s->picture[s->mode->n], "revert", n, code);
		ck_assert_int_eq(verify(&b), verify(&s->whole));
	}
	if (r)
		expect_way_back(&b, s, r == TN_EXIT_REFUSED ? REVERT : RECOVER, "revert", n, code);
	expect_picture(&b, s->picture[0], "revert", n, code);
	ck_assert(!box_has_journal(&b));
	box_close(&b);
	return r;
}

START_TEST(a_failing_step_of_revert_is_made_good)
{
	struct stack s;
	bool failed = true;
	unsigned n;

	stack_open(&s, &modes[_i]);
	gt_fs_fault(s.whole.fs, 0, 0, false);
	for (n = 1; n < 12 || failed; n++) { /* a retry that succeeds is no failure */
		failed = revert_with_fault(&s, n, EIO, true);
		for (size_t c = first_code(s.mode, n); c < GT_ARRAY_SIZE(codes); c = next_code(s.mode, c))
			failed |= revert_with_fault(&s, n, codes[c], false);
	}
	ck_assert_uint_gt(n, 12);
	stack_close(&s);
}
END_TEST

START_TEST(a_process_killed_anywhere_in_revert_is_recovered)
{
	struct stack s;
	int r = -1;

	stack_open(&s, &modes[_i]);
	for (unsigned n = 1; r; n++) {
		bool begun;
		struct box b;

		box_copy(&b, &s.whole);
		r = run_in_child(&b, &s, REVERT, n, GT_FS_KILL, false);
		ck_assert_int_le(r, 0);
		box_reopen(&b);
		begun = verify(&b) == TN_EXIT_INTERRUPTED;
		/* recover fails once, is killed once, and then runs undisturbed */
		for (unsigned k = 1; begun && k < 12; k += 2) {
			run_in_child(&b, &s, RECOVER, k, codes[(n + k) % GT_ARRAY_SIZE(codes)], k & 2);
			run_in_child(&b, &s, RECOVER, k + 1, GT_FS_KILL, false);
		}
		box_reopen(&b);
		if (r)
			expect_way_back(&b, &s, begun ? RECOVER : REVERT, "kill -9 in revert", n, 0);
		expect_picture(&b, s.picture[0], "kill -9 in revert", n, 0);
		ck_assert(!box_has_journal(&b));
		box_close(&b);
	}
	stack_close(&s);
}
END_TEST

/* Each step of recover fails, after a revert that was killed at several places. */
START_TEST(a_failing_step_of_recover_is_made_good)
{
	struct stack s;

	stack_open(&s, &modes[_i]);
	for (unsigned died = 4; died < 16; died += 3)
		for (unsigned n = 1; n <= 12; n++)
			for (size_t c = first_code(s.mode, n); c < GT_ARRAY_SIZE(codes); c = next_code(s.mode, c)) {
				struct box b;
				int r;

				box_copy(&b, &s.whole);
				if (run_in_child(&b, &s, REVERT, died, GT_FS_KILL, false) == 0)
					ck_assert_uint_gt(died, 9); /* recover has fewer steps */
				r = run_in_child(&b, &s, RECOVER, n, codes[c], false);
				ck_assert_msg(r == 0 || r == TN_EXIT_REFUSED || r == TN_EXIT_INTERRUPTED,
					      "died at %u, step %u, code %d: exit %d", died, n, codes[c], r);
				box_reopen(&b);
				expect_way_back(&b, &s, verify(&b) == TN_EXIT_INTERRUPTED ? RECOVER : REVERT, "recover", n,
						codes[c]);
				box_close(&b);
			}
	stack_close(&s);
}
END_TEST

START_TEST(a_process_killed_anywhere_in_the_last_apply_is_recovered)
{
	struct stack s;

	stack_open(&s, &modes[_i]);
	for (unsigned n = 1; n <= s.steps; n++) {
		gt_autofree char *now = NULL;
		struct box b;

		box_copy(&b, &s.below);
		ck_assert_int_eq(run_in_child(&b, &s, APPLY, n, GT_FS_KILL, false), -1);
		box_reopen(&b);
		run_in_child(&b, &s, RECOVER, n % 8 + 1, GT_FS_KILL, false);
		ck_assert_int_eq(run(&b, &s, RECOVER), 0);
		now = box_picture(&b);
		ck_assert_msg(!strcmp(now, s.picture[s.mode->n - 1]) || (n >= s.commit && !strcmp(now, s.picture[s.mode->n])),
			      "killed at step %u: neither before nor planned", n);
		expect_way_back(&b, &s, REVERT, "kill -9 in apply", n, 0);
		box_close(&b);
	}
	stack_close(&s);
}
END_TEST

/* The new kernel starts with its own values, which equal those from before apply. */
static void lose_power(struct box *b, const struct stack *s)
{
	static const char *const values[][2] = {
		{ "/proc/sys/kernel/random/boot_id", "next-boot" },
		{ "/proc/sys/vm/swappiness", "60" },
		{ "/proc/sys/vm/dirty_ratio", "20" },
		{ POLICY "0/scaling_governor", "powersave" },
		{ POLICY "1/scaling_governor", "powersave" },
		{ POLICY "0/energy_performance_preference", "balance_performance" },
		{ POLICY "1/energy_performance_preference", "balance_performance" },
		{ "/sys/block/nvme0n1/queue/scheduler", "mq-deadline" },
		{ "/sys/block/sda/queue/scheduler", "none" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(values); i++)
		ck_assert_msg(tn_kernel_write(b->fs, values[i][0], values[i][1]) == 0, "%s", values[i][0]);
}

static bool is_there(struct box *b)
{
	return gt_fs_exists(b->fs, TN_SYSCTL_D_PATH) || gt_fs_exists(b->fs, TN_TMPFILES_D_PATH) ||
	       gt_fs_exists(b->fs, TN_UDEV_RULE_PATH);
}

START_TEST(a_power_cut_leaves_no_file_and_no_false_report)
{
	struct stack s;
	int died = -1;

	stack_open(&s, &modes[_i]);
	for (unsigned n = 1; died; n++)
		for (enum what what = APPLY; what <= REVERT; what++) {
			gt_autofree char *where = NULL;
			struct box b;
			int r;

			box_copy(&b, what == APPLY ? &s.below : &s.whole);
			died = run_in_child(&b, &s, what, n, GT_FS_KILL, false);
			lose_power(&b, &s);
			box_reopen(&b);
			where = gt_xasprintf("power cut at step %u of %s", n, what == APPLY ? "apply" : "revert");
			/* a value that equals both the new kernel's and gputune's may count as gputune's */
			r = run(&b, &s, RECOVER);
			ck_assert_msg(r == 0 || r == TN_EXIT_PENDING, "%s: recover ends with %d", where, r);
			r = run(&b, &s, REVERT);
			ck_assert_msg(r == 0 || r == TN_EXIT_PENDING, "%s: revert ends with %d", where, r);
			r = verify(&b);
			ck_assert_msg(r == 0 || r == TN_EXIT_PENDING, "%s: verify ends with %d", where, r);
			ck_assert_msg(!is_there(&b), "%s: a file is left", where);
			box_close(&b);
		}
	stack_close(&s);
}
END_TEST

TCase *tune_stack_case(void)
{
	TCase *tc = tcase_create("stack");
	const int n = GT_ARRAY_SIZE(modes);

	gt_log_init("check_tune", GT_LOG_ERROR);
	tcase_add_loop_test(tc, a_failing_step_of_the_last_apply_leaves_the_others, 0, n);
	tcase_add_loop_test(tc, a_failing_step_of_revert_is_made_good, 0, n);
	tcase_add_loop_test(tc, a_process_killed_anywhere_in_revert_is_recovered, 0, n);
	tcase_add_loop_test(tc, a_failing_step_of_recover_is_made_good, 0, n);
	tcase_add_loop_test(tc, a_process_killed_anywhere_in_the_last_apply_is_recovered, 0, n);
	tcase_add_loop_test(tc, a_power_cut_leaves_no_file_and_no_false_report, 0, n);
	tcase_set_timeout(tc, 300);
	return tc;
}
