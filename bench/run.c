/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench run: measure before and after, in pairs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/arms.h"
#include "bench/cmds.h"
#include "bench/environ.h"
#include "bench/result.h"
#include "lib/file.h"
#include "lib/log.h"

#define AA_PAIRS	6
#define PAIRS_MAX	1000
#define PLAN_MAX	(4u << 20)

static struct {
	const char *plan, *workloads, *data;
	struct bn_outputs out;
	struct gt_strv env;
	uint64_t pairs, seed;
	bool no_plan, no_env, quick, require_conclusive;
} opt;

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

static int check_options(struct gt_err *err)
{
	if (opt.plan && opt.no_plan)
		return usage(err, "--plan and --no-plan exclude each other");
	if (opt.no_env && !opt.plan)
		return usage(err, "--no-env only makes sense with --plan");
	if (opt.pairs > PAIRS_MAX)
		return usage(err, "--pairs takes at most 1000");
	for (size_t i = 0; i < opt.env.n; i++)
		if (!strchr(opt.env.v[i], '=') || opt.env.v[i][0] == '=')
			return usage(err, "--env takes NAME=VALUE");
	return 0;
}

/* Ids of the workloads to run, in list order; what cannot run here goes into doc.unavailable. */
static int choose_workloads(struct gt_fsroot *fs, json_t *doc, struct gt_strv *ret, struct gt_err *err)
{
	gt_autofree char *copy = gt_xstrdup(opt.workloads ? opt.workloads : "");
	json_t *unavailable = json_array();
	gt_auto_strv wanted = { 0 };
	char *save = NULL;

	json_object_set_new(doc, "unavailable", unavailable);
	for (char *id = strtok_r(copy, ",", &save); id; id = strtok_r(NULL, ",", &save)) {
		if (!bn_workload_find(id))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "no workload is called \"%s\"; see gpubench list", id);
		gt_strv_add(&wanted, id);
	}
	for (const struct bn_workload *const *w = bn_workloads; *w; w++) {
		const char *why;

		if (wanted.n ? !gt_strv_has(&wanted, (*w)->id) : (*w)->optional)
			continue;
		why = (*w)->unavailable ? (*w)->unavailable(fs) : NULL;
		if (why)
			json_array_append_new(unavailable, json_pack("{s:s, s:s}", "workload", (*w)->id, "why", why));
		else
			gt_strv_add(ret, (*w)->id);
	}
	return ret->n ? 0 : usage(err, "none of these workloads can run here; see gpubench list");
}

/* Left by something that was killed, perhaps by us: the host is not as it was, so nothing measured now means much. */
static int check_interrupted(struct gt_fsroot *fs, struct gt_err *err)
{
	gt_auto_json *report = NULL;
	int exit_status = 0, r;

	r = tn_status_report(fs, &report, &exit_status, err);
	if (r < 0 || exit_status != TN_EXIT_INTERRUPTED)
		return r;
	return gt_fail_exit(err, BN_EXIT_INVALID, EBUSY,
			    "a change of settings was interrupted and not put back yet: gputune recover");
}

static int load_plan(struct gt_fsroot *fs, const struct pr_host *host, struct tn_plan **ret, struct gt_err *err)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_autofree char *text = NULL;
	gt_auto_json *doc = NULL;
	size_t len = 0;
	int r;

	r = gt_file_read(opt.plan, PLAN_MAX, &text, &len, err);
	if (r == 0)
		r = gt_json_parse(text, len, opt.plan, &doc, err);
	if (r == 0)
		r = tn_plan_from_json(doc, &plan, err);
	if (r < 0) { /* gputune's own codes mean other things here */
		err->exit_status = GT_EXIT_USAGE;
		return r;
	}
	r = tn_plan_check_host(fs, host, plan, err);
	if (r < 0) {
		err->exit_status = BN_EXIT_INCOMPARABLE;
		return r;
	}
	*ret = gt_take(plan);
	return 0;
}

/* The per-run settings of the plan's profile. */
static int load_run(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, struct tn_run **ret,
		    struct gt_err *err)
{
	struct tn_run_opts o = { .profile = plan->profile, .program = TN_PROGRAM_OPENMP };

	return tn_run_make(fs, host, &o, ret, err);
}

static void command_line(struct gt_fsroot *fs, struct gt_strv *ret)
{
	gt_autofree char *text = NULL;
	size_t len = 0;

	if (gt_fs_read(fs, "/proc/self/cmdline", &text, &len) == 0)
		for (size_t i = 0; i < len; i += strlen(text + i) + 1)
			gt_strv_add(ret, text + i);
	if (!ret->n)
		gt_strv_add(ret, "gpubench");
}

/* What makes any measurement here doubtful from the start. */
static void preflight(struct gt_fsroot *fs, const struct pr_host *host, json_t *doc)
{
	json_t *notes = json_array();
	struct bn_environ e;

	bn_environ_read(fs, &e);
	json_object_set_new(json_object_get(doc, "run"), "notes", notes);
	json_object_set_new(json_object_get(doc, "host"), "load_at_start", gt_json_real(e.load1));
	if (e.load1 > .5 * (double)GT_MAX(1u, gt_set_count(&host->cpu.allowed)))
		bn_warning(notes, "load", "others use the CPUs; expect wide intervals", "load was %.1f at the start",
			   e.load1);
	if (e.psi_memory > 5)
		bn_warning(notes, "pressure", "free some memory", "tasks waited for memory %.0f %% of the last 10 s",
			   e.psi_memory);
}

static void plan_session(const char *design, size_t declared, struct bn_session *s, struct bn_look *one)
{
	bool pairs = declared > 0, single = gt_streq(design, "single");

	s->design = design;
	s->looks = one;
	s->n_looks = 1;
	*one = (struct bn_look){ .pairs = opt.pairs ? opt.pairs : opt.quick && single ? 6 : 9, .alpha = .05 };
	if (pairs && !opt.pairs && !opt.quick) {
		s->looks = bn_looks;
		s->n_looks = bn_n_looks;
	}
	s->aa_pairs = pairs ? AA_PAIRS : 0;
	s->seed = opt.seed ? opt.seed : (uint64_t)time(NULL) % 1000000;
}

static void say_plan(struct gt_cli *cli, const struct bn_session *s, const struct gt_strv *workloads, size_t declared)
{
	size_t first = s->looks[0].pairs + s->aa_pairs, last = s->looks[s->n_looks - 1].pairs + s->aa_pairs;
	double group = 0, arms = gt_streq(s->design, "single") ? 1 : 2;

	if (cli->quiet)
		return;
	for (size_t i = 0; i < workloads->n; i++)
		group += bn_workload_find(workloads->v[i])->launch_s;
	if (gt_streq(s->design, "aa"))
		fputs("gpubench: the plan changes nothing on this host: measuring A/A pairs only\n", stderr);
	else if (declared)
		fprintf(stderr, "gpubench: %zu setting%s between the arms; the host's are put back after each\n",
			declared, declared == 1 ? " differs" : "s differ");
	fprintf(stderr, "gpubench: %zu workload%s, ", workloads->n, workloads->n == 1 ? "" : "s");
	if (first == last)
		fprintf(stderr, "%zu %s, about %.1f min, seed %llu\n", first,
			arms > 1 ? "pairs of launches" : "launches", (double)first * arms * group / 60,
			(unsigned long long)s->seed);
	else
		fprintf(stderr, "%zu to %zu pairs of launches, about %.1f to %.1f min, seed %llu\n", first, last,
			(double)first * arms * group / 60, (double)last * arms * group / 60,
			(unsigned long long)s->seed);
}

/* Analyse what there is, write it, and find the exit status. */
static int finish(struct gt_cli *cli, json_t *doc, int r)
{
	struct bn_limits limits = { .floor = .03, .require_conclusive = opt.require_conclusive };
	gt_auto(bn_data) *data = NULL;
	struct gt_err first = cli->err;
	int code, r2;

	if (r < 0)
		json_object_set_new(json_object_get(doc, "run"), "invalid", gt_json_str(cli->err.msg));
	r2 = bn_data_from_doc(doc, "result", &data, &cli->err);
	if (r2 < 0)
		return r < 0 ? r : r2;
	code = bn_analyze(data, &limits);
	r2 = bn_result_publish(cli, doc, &opt.out);
	if (r < 0) {
		cli->err = first;
		cli->err.exit_status = first.exit_status ? first.exit_status : BN_EXIT_INVALID;
		return r;
	}
	if (r2 < 0)
		return r2;
	if (gt_interrupted)
		fprintf(stderr, "gpubench: interrupted; the settings are back%s%s\n",
			opt.out.json ? ", what was measured is in " : "", opt.out.json ? opt.out.json : "");
	return code;
}

static int measure(struct gt_cli *cli, struct bn_arms *arms, json_t *doc, const struct gt_strv *workloads)
{
	struct bn_session s = { .workload = (const char *const *)workloads->v, .n_workloads = workloads->n,
				.quiet = cli->quiet, .stop = &gt_interrupted };
	size_t declared = bn_arms_declare(arms, doc);
	bool treated = arms->plan || opt.env.n;
	struct bn_look one;
	struct bn_ops ops;
	int r;

	plan_session(!treated ? "single" : declared ? "pairs" : "aa", declared, &s, &one);
	say_plan(cli, &s, workloads, declared);
	if (gt_streq(s.design, "aa"))
		json_object_set_new(json_object_get(doc, "arms"), "b", json_string("the same"));
	bn_arms_ops(arms, &ops);
	r = bn_session_run(&s, &ops, doc, &cli->err);
	return finish(cli, doc, r);
}

static int cmd_run(struct gt_cli *cli, int argc, char **argv)
{
	struct pr_discover_opts discover = { .nvml_timeout_s = 5 };
	struct bn_arms arms = { .fs = cli->fs, .env = &opt.env, .data = opt.data, .out = opt.out.json };
	gt_auto_strv workloads = { 0 }, command = { 0 };
	gt_auto(pr_host) *host = NULL;
	gt_auto(tn_plan) *plan = NULL;
	gt_auto(tn_run) *run = NULL;
	gt_autofree char *exe = NULL;
	gt_auto_json *doc = NULL;
	int r;

	r = check_options(&cli->err);
	if (r == 0 && gt_fs_require_live(cli->fs, "measuring", &cli->err) < 0)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "measuring needs the live host, not --root");
	if (r == 0)
		r = gt_fs_readlink(cli->fs, "/proc/self/exe", &exe) < 0 ?
			    gt_fail(&cli->err, ENOENT, "cannot find out where this program lies") :
			    0;
	if (r == 0)
		r = pr_host_discover(cli->fs, &discover, &host, &cli->err);
	if (r == 0 && opt.plan)
		r = check_interrupted(cli->fs, &cli->err);
	if (r == 0 && opt.plan)
		r = load_plan(cli->fs, host, &plan, &cli->err);
	if (r == 0 && plan && !opt.no_env)
		r = load_run(cli->fs, host, plan, &run, &cli->err);
	if (r < 0)
		return r;
	command_line(cli->fs, &command);
	doc = bn_result_new(host, command.v);
	r = choose_workloads(cli->fs, doc, &workloads, &cli->err);
	if (r < 0)
		return r;
	preflight(cli->fs, host, doc);
	arms.host = host;
	arms.plan = plan;
	arms.run = run;
	arms.exe = exe;
	arms.doc = doc;
	return measure(cli, &arms, doc, &workloads);
}

static const struct gt_opt run_opts[] = {
	{0, "plan", "FILE", "measure before and after this plan of gputune, and put the host back", GT_OPT_STR,
	 &opt.plan, NULL},
	{0, "no-plan", NULL, "measure the host as it is, for a later compare (the default)", GT_OPT_FLAG, &opt.no_plan,
	 NULL},
	{0, "no-env", NULL, "with --plan: leave out the environment and affinity of the run", GT_OPT_FLAG, &opt.no_env,
	 NULL},
	{0, "env", "NAME=VALUE", "a variable that the changed arm runs with", GT_OPT_LIST, &opt.env, NULL},
	{0, "workload", "LIST", "workloads, separated by commas (see gpubench list)", GT_OPT_STR, &opt.workloads, NULL},
	{0, "pairs", "N", "exactly this many pairs, or launches where nothing is compared", GT_OPT_UINT, &opt.pairs,
	 NULL},
	{0, "quick", NULL, "nine pairs and no further looks", GT_OPT_FLAG, &opt.quick, NULL},
	{0, "seed", "N", "seed of the coin tosses; without it one is drawn and recorded", GT_OPT_UINT, &opt.seed, NULL},
	{0, "data", "PATH", "text to train on: a file or a directory", GT_OPT_STR, &opt.data, NULL},
	{0, "require-conclusive", NULL, "exit 3 when a primary metric stays inconclusive", GT_OPT_FLAG,
	 &opt.require_conclusive, NULL},
	{'o', "output", "FILE", "the result with every raw sample, as JSON; written after every launch", GT_OPT_STR,
	 &opt.out.json, NULL},
	{0, "html", "FILE", "the result as one page with plots", GT_OPT_STR, &opt.out.html, NULL},
	{0, "markdown", "FILE", "the result as Markdown", GT_OPT_STR, &opt.out.markdown, NULL},
	{0},
};

const struct gt_cmd bn_cmd_run = {
	.name = "run",
	.args = "",
	.summary = "measure this host, with a plan before and after it",
	.help = "With --plan or --env two arms are measured in interleaved pairs whose order is tossed by a coin: the "
		"host as "
		"it is, and the host with the plan applied and the environment of its profile. Every launch is a fresh "
		"process. A/A pairs, in which nothing changes, are mixed in; when those differ the session is invalid "
		"(exit 5). Without a plan one arm is measured.\n\n"
		"The settings are put back after every arm, also on ^C and SIGTERM: what was measured until then is "
		"kept and "
		"the exit status is 5. After a kill -9, gputune recover puts them back.",
	.opts = run_opts,
	.run = cmd_run,
};
