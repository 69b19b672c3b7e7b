/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/log.h"
#include "tune/gputune.h"
#include "tune/journal.h"
#include "tune/program.h"

#define NOT_FOUND	127 /* as shells and env(1) say it */
#define NOT_STARTED	126

static bool print_only, openmp;
static const char *allocator;
static const char *const allocators[] = { "auto", "tcmalloc", "jemalloc", "mimalloc", NULL };

/* An interrupted transaction does not keep a command from running, but its user should know. */
static void warn_interrupted(struct gt_cli *cli)
{
	gt_auto(tn_journal) *j = NULL;

	if (tn_journal_load(cli->fs, &j, NULL) >= 0 && tn_journal_find(j, TN_SEEN_INTERRUPTED))
		gt_warn("an interrupted transaction was found: run gputune recover");
}

static int become(struct gt_cli *cli, const struct tn_run *run, char **argv)
{
	gt_autofree char *path = tn_program_find(argv[0], environ);
	int r;

	if (!path)
		return gt_fail_exit(&cli->err, NOT_FOUND, ENOENT, "there is no program '%.200s'", argv[0]);
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status != TN_VAR_SET)
			gt_info("%s is not set: %s", run->var[i].name, run->var[i].reason);
	r = tn_run_enter(run, &cli->err);
	if (r < 0)
		return r;
	gt_cli_restore_signals();
	execve(path, argv, environ);
	return gt_fail_exit(&cli->err, NOT_STARTED, errno, "cannot start %s: %s", path, strerror(errno));
}

static int run_run(struct gt_cli *cli, int argc, char **argv)
{
	struct tn_run_opts o = { .profile = tn_opt_profile, .only = &tn_opt_only, .skip = &tn_opt_skip, .argv = argv,
				 .allocator = allocator, .program = openmp ? TN_PROGRAM_OPENMP : TN_PROGRAM_AUTO };
	bool print = print_only || cli->json;
	gt_auto(tn_run) *run = NULL;
	int r = 0;

	if (!argc && !print)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "run needs a command: gputune run -- COMMAND ARGUMENT… (or --print)");
	if (!print)
		r = gt_fs_require_live(cli->fs, "running a command", &cli->err);
	if (r >= 0)
		r = tn_run_make(cli->fs, NULL, &o, &run, &cli->err);
	if (r < 0)
		return r;
	warn_interrupted(cli);
	if (print) {
		gt_auto_json *doc = tn_run_to_json(run);

		if (cli->json)
			gt_json_print(stdout, doc);
		else
			tn_show_run(doc, cli->color);
		return 0;
	}
	return become(cli, run, argv);
}

static const struct gt_opt opts[] = {
	TN_CHOICE_OPTS,
	{0, "print", NULL, "show what would be set, and run nothing", GT_OPT_FLAG, &print_only},
	{0, "allocator", "NAME", "preload an allocator: the first that loads, or this one", GT_OPT_CHOICE, &allocator,
	 allocators},
	{0, "openmp", NULL, "one process with OpenMP threads that forks no workers: bind its threads", GT_OPT_FLAG,
	 &openmp},
	{0},
};
const struct gt_cmd tn_cmd_run = {
	.name = "run", .args = "[--] COMMAND [ARGUMENT…]",
	.summary = "start a command with the CPUs, threads and libraries that fit",
	.opts = opts, .max_args = -1, .stop_at_arg = true, .run = run_run,
	.help = "CPUs and memory next to its GPU, one OpenMP thread per physical core, a BLAS that shares those "
		"threads, and a malloc that keeps large tensors. What the environment sets already is respected. The "
		"command takes this process's place; its exit status is its own.",
};
