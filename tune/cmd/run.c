/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/log.h"
#include "lib/signals.h"
#include "probe/host/visible.h"
#include "tune/run/env.h"
#include "tune/cmd/gputune.h"
#include "tune/txn/journal.h"
#include "tune/launch/program.h"
#include "tune/launch/loader.h"
#include "tune/launch/rank.h"
#include "tune/launch/rank_library.h"
#include "tune/run/rank_plan.h"
#include "tune/run/ranks.h"
#include "tune/run/run.h"

#define NOT_FOUND   127 /* exit status of shells and env(1) */
#define NOT_STARTED 126

#define RANKS_MAX 1024

static bool print_only, openmp, no_preload, loader_force;
static const char *loader, *allocator, *runtime, *gpus, *form;
static uint64_t ranks, workers;
static const char *const allocators[] = {"auto", "tcmalloc", "jemalloc", "mimalloc", NULL};
static const char *const runtimes[] = {"libomp", "libiomp5", NULL};

/* Warns of an interrupted transaction, which does not prevent the command. */
static void warn_interrupted(struct gt_cli *cli)
{
	gt_auto(tn_journal) *j = NULL;

	if (tn_journal_load(cli->fs, &j, NULL) >= 0 && tn_journal_find(j, TN_STATUS_INTERRUPTED))
		gt_warn("an interrupted transaction was found: run gputune recover");
}

static void warn_loader(const struct pr_host *host, char *const *argv)
{
	gt_autofree char *why = loader ? tn_loader_doubt(host, loader, argv) : NULL;

	if (why)
		gt_warn("%s", why);
}

static void tell_skipped(const struct tn_run *run)
{
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status != TN_VAR_SET)
			gt_info("%s is not set: %s", run->var[i].name, run->var[i].reason);
}

static int become(struct gt_cli *cli, const struct tn_run *run, const char *path, char **argv)
{
	int r = tn_run_enter(run, &cli->err);

	if (r < 0)
		return r;
	gt_restore_signals();
	execve(path, argv, environ);
	return gt_fail_exit(&cli->err, NOT_STARTED, errno, "cannot start %s: %s", path, tn_program_why(errno));
}

static int start(struct gt_cli *cli, struct tn_run *const *run, unsigned n, char **argv)
{
	int status = 0, r, why = 0;
	gt_autofree char *path = tn_program_find(argv[0], environ, &why);

	if (!path && why != ENOENT)
		return gt_fail_exit(&cli->err, NOT_STARTED, why, "cannot start %.200s: %s", argv[0], tn_program_why(why));
	if (!path)
		return gt_fail_exit(&cli->err, NOT_FOUND, ENOENT, "there is no program '%.200s'", argv[0]);
	tell_skipped(run[0]);
	if (!ranks)
		return become(cli, run[0], path, argv);
	r = tn_ranks_run(path, argv, run, n, &status, &cli->err);
	return r < 0 ? r : status;
}

static int print(struct gt_cli *cli, struct tn_run *const *run, unsigned n)
{
	gt_auto_json *doc = ranks ? json_pack("{s:s, s:[]}", "schema", TN_RUN_SCHEMA, "ranks") : tn_run_to_json(run[0]);
	gt_autofree char *text = NULL;
	int r;

	if (form) {
		r = tn_env_format(run[0], form, &text, &cli->err);
		if (r >= 0)
			fputs(text, stdout);
		return r;
	}
	for (unsigned i = 0; ranks && i < n; i++)
		json_array_append_new(json_object_get(doc, "ranks"), tn_run_to_json(run[i]));
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		tn_show_run(doc, cli->color);
	return 0;
}

/* --gpu has the syntax of CUDA_VISIBLE_DEVICES. "auto" is the default. */
static int check_options(struct gt_cli *cli, int argc, bool printing)
{
	struct gt_err *err = &cli->err;

	if (gt_streq(gpus, "auto"))
		gpus = NULL;
	if (gpus && (!*gpus || strspn(gpus, "0123456789abcdefABCDEFGPUMI-/,") != strlen(gpus) || strstr(gpus, ",,") ||
		     *gpus == ',' || gt_ends_with(gpus, ",")))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--gpu takes auto or a list as CUDA_VISIBLE_DEVICES does, not '%.60s'", gpus);
	if (ranks > RANKS_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--ranks takes 1 to %d", RANKS_MAX);
	if (workers > RANKS_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--workers takes 0 to %d", RANKS_MAX);
	if (loader && tn_loader_check(loader, err) < 0)
		return gt_fail_as(err, GT_EXIT_USAGE, -EINVAL);
	if (loader_force && !loader)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--loader-force needs --loader");
	if (form && ranks)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--print-env prints one environment; --ranks has one per rank");
	if (gt_streq(form, "docker") && (allocator || runtime))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--%s preloads a library of this host, which an image may not have: install it in "
				    "the image and set LD_PRELOAD there", allocator ? "allocator" : "openmp-runtime");
	if (form && cli->json)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--print-env and --json exclude each other");
	if (!argc && !printing)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "run needs a command: gputune run -- COMMAND ARGUMENT… (or --print)");
	return printing ? 0 : gt_fs_require_live(cli->fs, "running a command", err);
}

/*
 * Refuses a list that contains an invalid entry. CUDA would ignore that entry and all later ones without a message, so
 * the command would get fewer GPUs.
 */
static int check_gpus(struct gt_cli *cli, const struct pr_host *host)
{
	struct gt_visible seen;

	if (!gpus || !pr_usable_gpus(host))
		return 0;
	pr_visible(cli->fs, host, gpus, &seen);
	if (!seen.bad[0])
		return 0;
	return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--gpu %.60s names '%s', %s: CUDA would show fewer GPUs than that",
			    gpus, seen.bad, seen.why);
}

/*
 * Returns the library that sets up each rank; NULL: none is preloaded. Ranks that gputune starts itself need none, and
 * printed settings are for another launcher.
 */
static char *find_rank_library(struct gt_cli *cli)
{
	gt_autofree char *why = NULL;
	char *path;

	if (no_preload || ranks || form || !gt_fs_is_live(cli->fs))
		return NULL;
	path = tn_rank_library_find(cli->fs, &why);
	if (!path)
		gt_warn("%s: ranks that a script or wrapper starts get no settings of their own (--no-preload omits this message)",
			why);
	return path;
}

static int run_run(struct gt_cli *cli, int argc, char **argv)
{
	struct tn_run_opts o = {.profile = tn_opt_profile,
				.only = &tn_opt_only,
				.skip = &tn_opt_skip,
				.argv = argv,
				.allocator = allocator,
				.runtime = runtime,
				.ranks = (unsigned)ranks,
				.workers = (unsigned)workers,
				.loader = loader,
				.loader_force = loader_force,
				.image = gt_streq(form, "docker"),
				.program = openmp ? TN_PROGRAM_OPENMP : TN_PROGRAM_AUTO};
	bool printing = print_only || form || cli->json;
	unsigned n = ranks ? (unsigned)ranks : 1;
	gt_auto(pr_host) *host = NULL;
	gt_autofree char *library = NULL;
	struct tn_run **run;
	int r = check_options(cli, argc, printing);

	if (r >= 0) {
		json_decref(tn_rank_plan_undo());
		o.rank_library = library = find_rank_library(cli);
		r = pr_host_discover(cli->fs, &(struct pr_discover_opts){.launch = true}, &host, &cli->err);
	}
	if (r >= 0)
		r = check_gpus(cli, host);
	if (r < 0)
		return r;
	o.gpus = gpus;
	run = gt_xcalloc(n, sizeof(struct tn_run *));
	for (o.rank = 0; o.rank < n && r >= 0; o.rank++)
		r = tn_run_make(cli->fs, host, &o, &run[o.rank], &cli->err);
	if (r >= 0)
		warn_loader(host, argv);
	if (r >= 0)
		warn_interrupted(cli);
	if (r >= 0)
		r = printing ? print(cli, run, n) : start(cli, run, n, argv);
	for (unsigned i = 0; i < n; i++)
		tn_run_free(run[i]);
	free(run);
	return r;
}

static const struct gt_opt opts[] = {
	TN_CHOICE_OPTS,
	{0, "print", NULL, "show the settings and run nothing", GT_OPT_FLAG, &print_only},
	{0, "print-env", "FORM", "print the environment for shell, systemd, slurm or docker", GT_OPT_CHOICE, &form, tn_env_forms},
	{0, "env", "FORM", "", GT_OPT_CHOICE, &form, tn_env_forms, .listed = GT_OLD_NAME},
	{0, "ranks", "N", "start N processes with their own CPUs and torch.distributed variables", GT_OPT_UINT, &ranks},
	{0, "workers", "N", "leave cores free for N loader workers per rank", GT_OPT_UINT, &workers},
	{0, "loader", "LIST", "set workers=N,prefetch=N,pin=on|off of PyTorch's DataLoader, or auto, measure", GT_OPT_STR, &loader},
	{0, "loader-force", NULL, "replace arguments of DataLoader that the script passes", GT_OPT_FLAG, &loader_force},
	{0, "gpu", "LIST", "use these GPU numbers or UUIDs (default: auto, from the environment)", GT_OPT_STR, &gpus},
	{0, "openmp-runtime", "NAME", "preload libomp (LLVM) or libiomp5 (Intel) instead of libgomp", GT_OPT_CHOICE, &runtime,
	 runtimes},
	{0, "allocator", "NAME", "preload this allocator; auto takes the first that loads", GT_OPT_CHOICE, &allocator,
	 allocators},
	{0, "no-preload", NULL, "do not preload the library; use only the command line", GT_OPT_FLAG, &no_preload},
	{0, "openmp", NULL, "bind the threads of one OpenMP process that starts no workers", GT_OPT_FLAG, &openmp},
	{0},
};
const struct gt_cmd tn_cmd_run = {
	.name = "run",
	.args = "[--] COMMAND [ARGUMENT…]",
	.group = "Run and install",
	.summary = "Start a command with suitable CPUs, threads and libraries",
	.opts = opts,
	.max_args = -1,
	.stop_at_arg = true,
	.run = run_run,
	.help = "Binds the command to the CPUs and memory next to its GPU, and sets OpenMP threads, BLAS and allocator. "
		"Keeps variables that are already set. Replaces this process by the command; the exit status is that of the "
		"command. Under torchrun, srun and mpirun each rank gets its part of the CPUs. If several GPUs are visible, "
		"a command gets the cores divided by the number of GPUs; --ranks 1, --openmp or --gpu with one GPU gives it "
		"all cores. A preloaded library (libgputune-rank.so) gives each rank its settings, whatever starts it: a script, "
		"uv, make or a launcher.",
};

/* ---- rank: for libgputune-rank.so ------------------------------------------------------------------------------------- */

static int write_answer(struct gt_cli *cli, const struct tn_run *run, const json_t *plan)
{
	size_t len = 0;
	gt_autofree char *answer = tn_rank_answer(run, plan, &len);

	if (fwrite(answer, 1, len, stdout) != len || fflush(stdout) != 0)
		return gt_fail(&cli->err, EIO, "cannot write the answer");
	return 0;
}

static int rank_run(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_strv only = {0}, skip = {0};
	struct tn_run_opts o = {.argv = argv};
	gt_auto_json *plan = tn_rank_plan_undo();
	gt_auto(tn_run) *run = NULL;
	gt_autofree char *why = NULL, *library = tn_rank_library_find(cli->fs, &why);
	int r;

	if (!argc || !plan)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "rank is called by libgputune-rank.so with the variables of gputune run");
	tn_rank_plan_opts(plan, &o, &only, &skip);
	o.rank_library = library;
	r = tn_run_make(cli->fs, NULL, &o, &run, &cli->err);
	if (r < 0 || !tn_rank_of(&(struct tn_launch){.envp = environ}).from_launcher)
		return r;
	return write_answer(cli, run, plan);
}

const struct gt_cmd tn_cmd_rank = {
	.name = "rank",
	.args = "[--] COMMAND [ARGUMENT…]",
	.group = "Run and install",
	.summary = "Print the settings of this rank for libgputune-rank.so",
	.max_args = -1,
	.stop_at_arg = true,
	.run = rank_run,
	.listed = GT_RARE,
	.ignores = GT_ROOT_IGNORED | GT_JSON_IGNORED,
	.help = "Called by the preloaded library in the first process of each rank. Prints the records that the library applies: "
		"CPUs, memory policy, limit of open files and environment. Prints nothing if no launcher has set a rank.",
};
