/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of lib/: subprocesses and option tables. lib_cache.c, lib_documents.c, lib_fsroot.c and lib_replace.c test the
 * rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include "lib/cli_complete.h"
#include "lib/cli_doc.h"
#include "lib/cli_main.h"
#include "lib/dl.h"
#include "lib/parse.h"
#include "lib/priv.h"
#include "lib/spawn.h"
#include "lib/table.h"
#include "tests/unit/check_lib.h"

/* ---- spawn ---------------------------------------------------------------------------------------------------- */

START_TEST(children_answer_fail_and_end_in_time)
{
	char *echo[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL }, *none[] = { "/nonexistent/x", NULL },
	     *forever[] = { "sh", "-c", "trap '' TERM; while :; do sleep 1; done", NULL };
	struct gt_spawn s = { .argv = echo };
	struct gt_err err = { 0 };

	ck_assert_int_eq(gt_spawn(&s, &err), 0);
	ck_assert_int_eq(s.status, 3);
	ck_assert_str_eq(s.out, "out\n");
	ck_assert_str_eq(s.errout, "err\n");
	gt_spawn_clear(&s);
	s = (struct gt_spawn){ .argv = none };
	ck_assert_int_eq(gt_spawn(&s, &err), -ENOENT);
	ck_assert_str_eq(err.msg, "cannot run /nonexistent/x: No such file or directory");
	gt_spawn_clear(&s);
	s = (struct gt_spawn){ .argv = forever, .timeout_s = 0.1 };
	ck_assert_int_eq(gt_spawn(&s, &err), -ETIMEDOUT);
	ck_assert(s.timed_out && s.status == 128 + SIGKILL);
	gt_spawn_clear(&s);
}
END_TEST

/* A program that leaves a daemon with its output open has ended when the program itself exits. */
START_TEST(a_daemon_does_not_delay_the_end_of_its_parent)
{
	char *argv[] = { "sh", "-c", "setsid sleep 100 & echo $!", NULL };
	struct gt_spawn s = { .argv = argv };

	ck_assert_int_eq(gt_spawn(&s, NULL), 0);
	ck_assert(s.status == 0 && s.left_running && s.wall_s < 100);
	ck_assert_int_eq(kill(atoi(s.out), SIGKILL), 0);
	gt_spawn_clear(&s);
}
END_TEST

/* A child that cannot be reaped: a tracer is notified of its end first, and does not wait for it. */
static int be_held(void *arg, struct gt_err *err)
{
	int to[2];
	pid_t tracer;
	char byte;

	if (pipe(to) < 0 || (tracer = fork()) < 0)
		return 1;
	if (!tracer) {
		long r;

		setsid();
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		r = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
		if (write(to[1], r < 0 ? "n" : "y", 1) == 1 && !r)
			poll(NULL, 0, 8000);
		_exit(0);
	}
	prctl(PR_SET_PTRACER, tracer);
	if (read(to[0], &byte, 1) != 1 || byte != 'y')
		return 42;
	for (;;)
		pause();
}

START_TEST(a_child_that_hangs_in_the_kernel_is_not_waited_for)
{
	struct gt_spawn s = {.in_child = be_held, .timeout_s = 0.5};
	struct gt_err err = {0};
	double start = gt_now_s();
	int r = gt_spawn(&s, &err);

	if (!r && s.status == 42) { /* tracing is not permitted here */
		gt_spawn_clear(&s);
		return;
	}
	ck_assert_int_eq(r, -ETIMEDOUT);
	ck_assert(s.timed_out && s.status == 128 + SIGKILL);
	ck_assert_msg(gt_now_s() - start < 7, "it was waited for: %g s", gt_now_s() - start);
	gt_spawn_clear(&s);
}
END_TEST

static int answer(void *arg, struct gt_err *err)
{
	return write(STDOUT_FILENO, arg, strlen(arg)) < 0 ? -1 : 7;
}

static int refuse(void *arg, struct gt_err *err)
{
	return gt_fail(err, EPERM, "the child says why");
}

START_TEST(a_function_can_run_in_a_child)
{
	struct gt_spawn s = { .in_child = answer, .arg = "hello", .max_output = 3 };
	struct gt_err err = { 0 };

	ck_assert_int_eq(gt_spawn(&s, &err), 0);
	ck_assert_int_eq(s.status, 7);
	ck_assert_str_eq(s.out, "hel");
	ck_assert(s.truncated);
	gt_spawn_clear(&s);
	s = (struct gt_spawn){ .in_child = refuse };
	ck_assert_int_eq(gt_spawn(&s, &err), -EPERM);
	ck_assert_str_eq(err.msg, "the child says why");
	gt_spawn_clear(&s);
}
END_TEST

static int keep_one(void *arg, struct gt_err *err)
{
	return gt_priv_keep(GT_CAP(CAP_SYSLOG));
}

START_TEST(a_program_that_is_started_gets_no_capability_back)
{
	char *argv[] = {"grep", "-E", "^(Cap(Prm|Eff|Inh|Amb)|NoNewPrivs):", "/proc/self/status", NULL};
	struct gt_spawn s = {.argv = argv, .in_child = keep_one, .timeout_s = 10};
	char *save = NULL, name[16];
	unsigned long long v;
	unsigned lines = 0;

	ck_assert_int_eq(gt_spawn(&s, NULL), 0);
	for (char *line = strtok_r(s.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save), lines++) {
		ck_assert_int_eq(sscanf(line, "%15[^:]: %llx", name, &v), 2);
		if (strcmp(name, "NoNewPrivs"))
			ck_assert_msg(!(v & ~GT_CAP(CAP_SYSLOG)), "%s", line);
		else
			ck_assert_uint_eq(v, 1);
	}
	ck_assert_uint_eq(lines, 5);
	gt_spawn_clear(&s);
}
END_TEST

START_TEST(a_missing_library_is_reported)
{
	struct {
		double (*cosine)(double);
		void (*extra)(void);
	} t;
	static const struct gt_dlsym syms[] = { { "cos", NULL, 0, false },
						{ "no_such_call", NULL, sizeof(void *), true } };
	static const struct gt_dlsym needs[] = { { "no_such_call", NULL, 0, false } };
	static const char *const libm[] = { "libnone.so.9", "libm.so.6", NULL }, *const none[] = { "libnone.so.9", NULL };
	struct gt_err err = { 0 };
	void *handle;

	ck_assert_msg(!gt_dl_open(libm, syms, 2, &t, &handle, &err), "%s", err.msg);
	ck_assert(t.cosine(0) == 1.0 && !t.extra);
	ck_assert_int_eq(gt_dl_open(none, syms, 2, &t, &handle, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.msg, "libnone.so.9"));
	ck_assert_int_eq(gt_dl_open(libm, needs, 1, &t, &handle, &err), -ENOSYS);
}
END_TEST

/* ---- command lines -------------------------------------------------------------------------------------------- */

static const char *seen_name, *seen_choice;
static uint64_t seen_count, seen_rounds;
static struct gt_strv seen_list;
static int seen_argc;
static const char *const choices[] = { "fast", "slow", NULL };
static const struct gt_opt do_opts[] = {
	{ 'n', "name", "NAME", "a name", GT_OPT_STR, &seen_name },
	{ 0, "count", "N", "a count", GT_OPT_UINT, &seen_count },
	{ 0, "rounds", "N", "one or more", GT_OPT_COUNT, &seen_rounds },
	{ 0, "mode", "MODE", "a mode", GT_OPT_CHOICE, &seen_choice, choices },
	{ 0, "only", "ID", "may be repeated", GT_OPT_LIST, &seen_list },
	{ 0, "depth", "N", "tune the depth", GT_OPT_UINT, &seen_count, .group = "Details", .listed = GT_RARE },
	{ 0, "tally", "N", "count", GT_OPT_UINT, &seen_count, .listed = GT_OLD_NAME },
	{ 0 },
};

static int run_do(struct gt_cli *cli, int argc, char **argv)
{
	seen_argc = argc;
	if (argc && !strcmp(argv[0], "fail"))
		return gt_fail_exit(&cli->err, 3, EPERM, "refused");
	if (argc && !strcmp(argv[0], "break"))
		return gt_fail(&cli->err, EIO, "broken");
	return 5;
}

static const struct gt_cmd cmd_do = { "do", "[WORD…]", "Do it", NULL, do_opts, 0, 3, false, run_do },
			   cmd_exec = { "exec", "CMD…", "Run it", NULL, NULL, 1, -1, true, run_do, .group = "Others",
					.ignores = GT_JSON_IGNORED },
			   cmd_probe = { "probe", "", "Probe it", NULL, NULL, 0, 0, false, run_do, .group = "Internals",
					 .listed = GT_RARE },
			   cmd_make = { "make", "", "Make it", NULL, NULL, 0, 0, false, run_do, .listed = GT_OLD_NAME };
static const struct gt_cmd *const cmds[] = { &cmd_do, &cmd_exec, &cmd_probe, &cmd_make, NULL };
static const struct gt_exit_code codes[] = { { 0, "fine" }, { 3, "refused" }, { 0 } };
static const struct gt_tool tool = { .name = "t", .summary = "s", .description = "d", .cmds = cmds, .exit_codes = codes };

static int run_tool(const char *const *args)
{
	char *argv[16] = { "t" };
	int argc = 1, saved = dup(2), null = open("/dev/null", O_WRONLY), r;

	for (; *args; args++)
		argv[argc++] = (char *)*args;
	dup2(null, 2);
	r = gt_cli_main(&tool, argc, argv);
	dup2(saved, 2);
	close(saved);
	close(null);
	return r;
}
#define RUN(...) run_tool((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(options_stand_before_and_after_the_command)
{
	ck_assert_int_eq(RUN("-q", "do", "--count=7", "-nx", "a", "--mode", "slow", "--only", "p", "--only=q", "--", "-b"), 5);
	ck_assert_int_eq(seen_argc, 2);
	ck_assert_uint_eq(seen_count, 7);
	ck_assert_str_eq(seen_name, "x");
	ck_assert_str_eq(seen_choice, "slow");
	ck_assert_uint_eq(seen_list.n, 2);
	ck_assert_int_eq(RUN("exec", "ls", "-l", "--root"), 5);
	ck_assert_int_eq(seen_argc, 3);
	ck_assert_int_eq(RUN("exec", "--", "-l"), 5);
	ck_assert_int_eq(seen_argc, 1);
	gt_strv_clear(&seen_list);
}
END_TEST

START_TEST(bad_command_lines_end_with_64)
{
	ck_assert_int_eq(RUN("do", "--nope"), 64);
	ck_assert_int_eq(RUN("do", "-x"), 64);
	ck_assert_int_eq(RUN("do", "--count"), 64);
	ck_assert_int_eq(RUN("do", "--count=-1"), 64);
	ck_assert_int_eq(RUN("do", "--rounds=3", "--count=0"), 5);
	ck_assert_uint_eq(seen_rounds, 3);
	ck_assert_int_eq(RUN("do", "--rounds=0"), 64);
	ck_assert_int_eq(RUN("do", "--rounds", "none"), 64);
	ck_assert_uint_eq(seen_rounds, 3);
	ck_assert_int_eq(RUN("do", "--mode", "medium"), 64);
	ck_assert_int_eq(RUN("do", "--quiet=yes"), 64);
	ck_assert_int_eq(RUN("undo"), 64);
	ck_assert_int_eq(RUN("do", "1", "2", "3", "4"), 64);
	ck_assert_int_eq(RUN("exec"), 64);
	ck_assert_int_eq(RUN("-q"), 64);
	ck_assert_int_eq(RUN("do", "--root", "/nonexistent"), 64);
}
END_TEST

START_TEST(an_error_has_its_exit_status)
{
	ck_assert_int_eq(RUN("do", "fail"), 3);
	ck_assert_int_eq(RUN("do", "break"), 70);
}
END_TEST

static char *doc_of(void (*print)(FILE *))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	print(f);
	fclose(f);
	return text;
}

static void print_tool_help(FILE *f)
{
	gt_cli_help(&tool, NULL, false, f);
}

static void print_tool_help_all(FILE *f)
{
	gt_cli_help(&tool, NULL, true, f);
}

static void print_help(FILE *f)
{
	gt_cli_help(&tool, &cmd_do, false, f);
}

static void print_help_all(FILE *f)
{
	gt_cli_help(&tool, &cmd_do, true, f);
}

static void print_exec_help(FILE *f)
{
	gt_cli_help(&tool, &cmd_exec, false, f);
}

static void print_bash(FILE *f)
{
	gt_cli_completion(&tool, "bash", f);
}

static void print_man(FILE *f)
{
	gt_cli_man(&tool, f);
}

START_TEST(help_man_and_completion_name_every_option)
{
	gt_autofree char *h = doc_of(print_help_all), *b = doc_of(print_bash), *m = doc_of(print_man);

	for (const struct gt_opt *o = do_opts; o->name; o++) {
		gt_autofree char *dashed = gt_xasprintf("--%s", o->name), *mdoc = gt_xasprintf("Fl Fl %s", o->name);
		bool old = o->listed == GT_OLD_NAME;

		ck_assert_int_eq(!strstr(h, dashed), old);
		ck_assert_int_eq(!strstr(b, dashed), old);
		ck_assert_int_eq(!strstr(m, mdoc), old);
	}
	ck_assert_ptr_nonnull(strstr(h, "--root"));
}
END_TEST

START_TEST(help_lists_everyday_commands_and_options_in_groups)
{
	gt_autofree char *t = doc_of(print_tool_help), *all = doc_of(print_tool_help_all), *h = doc_of(print_help),
			 *e = doc_of(print_exec_help);

	ck_assert_ptr_nonnull(strstr(t, "\nCommands:\n  do     Do it\n\nOthers:\n  exec   Run it\n\nCommon"));
	ck_assert_ptr_nonnull(strstr(all, "\nInternals:\n  probe  Probe it\n"));
	ck_assert_ptr_null(strstr(all, "make"));
	ck_assert_int_eq(strncmp(h, "Do it.\n\nUsage: t do [OPTIONS] [WORD", 35), 0);
	ck_assert_ptr_nonnull(strstr(h, "\n  -n, --name NAME  a name\n      --count N    a count\n"));
	ck_assert_ptr_null(strstr(h, "--depth"));
	ck_assert_ptr_nonnull(strstr(h, "\nMore options: t do --help --all\n"));
	ck_assert_ptr_nonnull(strstr(h, "\nCommon options: --root, --json,"));
	ck_assert_ptr_nonnull(strstr(e, "\nCommon options: --root, --quiet,"));
	ck_assert_int_eq(RUN("make", "--json"), 5);
	ck_assert_int_eq(RUN("do", "--tally", "3"), 5);
	ck_assert_int_eq(RUN("do", "--all"), 64);
}
END_TEST

START_TEST(text_is_wrapped_at_blanks_and_counted_in_characters)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	gt_print_wrapped(f, "one two \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 four\nfive", 2, 12);
	fclose(f);
	ck_assert_str_eq(text, "  one two\n  \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 four\n  five\n");
	free(text);
}
END_TEST

START_TEST(without_memory_a_process_ends_as_its_program_chose)
{
	gt_out_of_memory_status = _i;
	gt_xcalloc(SIZE_MAX / 2, 1);
}
END_TEST

static TCase *processes_case(void)
{
	TCase *tc = tcase_create("children and command lines");
	const TTest *const tests[] = {
		children_answer_fail_and_end_in_time,
		a_daemon_does_not_delay_the_end_of_its_parent,
		a_child_that_hangs_in_the_kernel_is_not_waited_for,
		a_function_can_run_in_a_child,
		a_program_that_is_started_gets_no_capability_back,
		a_missing_library_is_reported,
		options_stand_before_and_after_the_command,
		bad_command_lines_end_with_64,
		an_error_has_its_exit_status,
		help_man_and_completion_name_every_option,
		help_lists_everyday_commands_and_options_in_groups,
		text_is_wrapped_at_blanks_and_counted_in_characters,
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test_raise_signal(tc, without_memory_a_process_ends_as_its_program_chose, SIGABRT, 0, 1);
	tcase_add_loop_exit_test(tc, without_memory_a_process_ends_as_its_program_chose, 70, 70, 71);
	tcase_set_timeout(tc, 60);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("lib");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, lib_documents_case());
	suite_add_tcase(s, lib_visible_case());
	suite_add_tcase(s, lib_fsroot_case());
	suite_add_tcase(s, lib_replace_case());
	suite_add_tcase(s, lib_cache_case());
	suite_add_tcase(s, processes_case());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
