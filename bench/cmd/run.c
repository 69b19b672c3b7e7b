/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench run: measures this host, also before and after a change, in pairs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/report/forms.h"
#include "bench/result/analysis_json.h"
#include "bench/result/result.h"
#include "bench/session/time_limit.h"
#include "bench/session/setup.h"
#include "lib/log.h"
#include "tune/model/file_trust.h"
#include "tune/profiles/select.h"

#define AA_PAIRS	6
#define LIMIT_LEAST_S	300 /* minimum time limit; the limit is also at least this multiple of the estimate: */
#define LIMIT_FACTOR	2

static struct bn_resume resume;
static struct bn_request req = { .settle_s = BN_SETTLE_S, .command = { .margin_pct = 1, .warmup = UINT64_MAX } };

static void plan_session(const struct bn_request *q, enum bn_session_design design, size_t declared, struct bn_session *s,
			 struct bn_interim *one)
{
	bool pairs = declared > 0, single = design == BN_DESIGN_SINGLE;

	s->design = design;
	s->interims = one;
	s->n_interims = 1;
	*one = (struct bn_interim){ .pairs = q->pairs ? q->pairs : q->quick && single ? 6 : 9, .alpha = .05 };
	if (q->reboot) {
		one->pairs = q->pairs ? q->pairs : BN_BOOT_PAIRS;
	} else if (pairs && !q->pairs && !q->quick) {
		s->interims = bn_interims;
		s->n_interims = bn_n_interims;
	}
	s->aa_pairs = !pairs ? 0 : q->reboot ? GT_MIN(q->pairs ? q->pairs : BN_BOOT_AA, (uint64_t)BN_BOOT_AA) : AA_PAIRS;
	s->by_boot = q->reboot;
	s->seed = q->seed ? q->seed : (uint64_t)time(NULL) % 1000000;
}

/*
 * Returns the time limit in seconds. On a busy host a session may take many times the estimate. With --pairs there is no
 * limit.
 */
static double time_limit(const struct bn_request *q, const struct bn_session *s, const struct gt_strv *workloads)
{
	size_t most = s->interims[s->n_interims - 1].pairs + s->aa_pairs;
	double group = 0;

	if (q->minutes > 0 || q->pairs || q->reboot)
		return 60 * q->minutes;
	for (size_t i = 0; i < workloads->n; i++) {
		const struct bn_workload *w = bn_workload_find(workloads->v[i]);

		if (!w->run) /* the duration of a user's command is unknown */
			return 0;
		group += w->launch_s;
	}
	return fmax(LIMIT_LEAST_S, LIMIT_FACTOR * group * (double)most * (s->design == BN_DESIGN_SINGLE ? 1 : 2));
}

/* Returns the shortest time of a session in seconds; 0 if it is unknown, as for a command before its pilot. */
static double least_s(const struct bn_session *s, const struct gt_strv *workloads, double *ret_all_s)
{
	double pair = 0;

	for (size_t i = 0; i < workloads->n; i++) {
		const struct bn_workload *w = bn_workload_find(workloads->v[i]);

		if (!w->run)
			return 0;
		pair += 2 * w->launch_s;
	}
	*ret_all_s = pair * (double)(s->interims[s->n_interims - 1].pairs + s->aa_pairs);
	return pair * (double)(s->aa_pairs + 1);
}

struct allowance {
	double limit_s; /* time limit of --minutes; 0: not given */
	size_t pairs;	/* number of planned pairs */
	const char *file;
};

static int enough_time(void *ctx, const json_t *run, double need_s, struct gt_err *err)
{
	const struct allowance *a = ctx;
	double pair_s = gt_json_get_real(json_array_get(json_object_get(run, "plan"), 0), "pair_s", 0);

	return !(a->limit_s > 0) || need_s <= a->limit_s ? 0 :
		bn_session_short(a->limit_s, need_s, pair_s * (double)a->pairs, a->file, err);
}

static struct allowance allowance_of(const struct bn_request *q, const struct bn_session *s)
{
	return (struct allowance){ 60 * q->minutes, s->interims[s->n_interims - 1].pairs + s->aa_pairs,
				   gt_streq(q->out.json, "-") ? NULL : q->out.json };
}

static void say_plan(struct gt_cli *cli, const struct bn_session *s, const struct gt_strv *workloads, size_t declared)
{
	size_t first = s->interims[0].pairs + s->aa_pairs, last = s->interims[s->n_interims - 1].pairs + s->aa_pairs;
	double group = 0, arms = s->design == BN_DESIGN_SINGLE ? 1 : 2;
	bool own = false;

	if (cli->quiet)
		return;
	for (size_t i = 0; i < workloads->n; i++) {
		own |= !bn_workload_find(workloads->v[i])->run;
		group += bn_workload_find(workloads->v[i])->launch_s;
	}
	if (s->design == BN_DESIGN_AA)
		fputs("gpubench: the plan changes nothing on this host; measuring A/A pairs only\n", stderr);
	else if (declared)
		fprintf(stderr, "gpubench: %zu setting%s between the arms; the host's are put back after each\n",
			declared, declared == 1 ? " differs" : "s differ");
	if (s->by_boot) {
		fprintf(stderr, "gpubench: %zu boots of this host, one after the other, seed %llu\n", (size_t)arms * last,
			(unsigned long long)s->seed);
		return;
	}
	if (s->limit_s > 0)
		fprintf(stderr, "gpubench: stops after %.0f min and the current pair, with the results so far\n",
			fmax(1, s->limit_s / 60));
	fprintf(stderr, "gpubench: %zu workload%s, ", workloads->n, workloads->n == 1 ? "" : "s");
	if (own) { /* the time of a command is measured by the pilot */
		fprintf(stderr, "%zu", first);
		fprintf(stderr, first == last ? " %s, seed %llu\n" : " %s or more, seed %llu\n",
			arms > 1 ? "pairs of launches" : "launches", (unsigned long long)s->seed);
	} else if (first == last)
		fprintf(stderr, "%zu %s, about %.1f min, seed %llu\n", first,
			arms > 1 ? first == 1 ? "pair of launches" : "pairs of launches" : first == 1 ? "launch" : "launches",
			fmax(.1, (double)first * arms * group / 60),
			(unsigned long long)s->seed);
	else
		fprintf(stderr, "%zu to %zu pairs of launches, about %.1f to %.1f min, seed %llu\n", first, last,
			(double)first * arms * group / 60, (double)last * arms * group / 60,
			(unsigned long long)s->seed);
}

/* Analyses and writes the result. Returns the exit status. */
static int finish(struct gt_cli *cli, const struct bn_request *q, json_t *doc, int r)
{
	struct bn_limits limits = { .floor = .03, .require_conclusive = q->require_conclusive };
	gt_auto(bn_data) *data = NULL;
	struct gt_err first = cli->err;
	int code, r2;

	if (r < 0)
		json_object_set_new(json_object_get(doc, "run"), "invalid", gt_json_str(cli->err.msg));
	r2 = bn_data_from_doc(doc, "result", &data, &cli->err);
	if (r2 < 0)
		return r < 0 ? r : r2;
	code = bn_analyze(data, &limits);
	r2 = bn_result_publish(cli, doc, &q->out);
	if (r < 0) {
		cli->err = first;
		cli->err.exit_status = first.exit_status ? first.exit_status : BN_EXIT_INVALID;
		return r;
	}
	if (r2 < 0)
		return r2;
	if (gt_interrupted)
		fprintf(stderr, "gpubench: interrupted; the settings are back%s%s%s%s\n",
			q->out.json ? ", what was measured is in " : "", q->out.json ? q->out.json : "",
			q->out.json ? "; continue with: gpubench run --resume " : "", q->out.json ? q->out.json : "");
	return code;
}

static int measure(struct gt_cli *cli, struct bn_stage *stage)
{
	const struct bn_request *q = stage->q;
	struct bn_session s = { .workload = (const char *const *)stage->workloads.v, .n_workloads = stage->workloads.n,
				.quiet = cli->quiet, .stop = &gt_interrupted };
	size_t declared = bn_arms_declare(&stage->arms, stage->doc);
	bool treated = stage->plan || q->env.n || q->kernel_args.n;
	double least, all = 0;
	struct allowance time;
	struct bn_interim one;
	struct bn_ops ops;
	int r;

	plan_session(q, !treated ? BN_DESIGN_SINGLE : declared ? BN_DESIGN_PAIRS : BN_DESIGN_AA, declared, &s, &one);
	s.limit_s = time_limit(q, &s, &stage->workloads);
	least = least_s(&s, &stage->workloads, &all);
	if (declared && q->minutes > 0 && least > s.limit_s)
		return bn_session_short(s.limit_s, least, all, NULL, &cli->err);
	time = allowance_of(q, &s);
	s.planned = enough_time;
	s.planned_ctx = &time;
	say_plan(cli, &s, &stage->workloads, declared);
	if (s.design == BN_DESIGN_AA)
		json_object_set_new(json_object_get(stage->doc, "arms"), "b", json_string("the same"));
	bn_stage_store_request(stage, s.aa_pairs);
	json_object_set_new(json_object_get(json_object_get(stage->doc, "run"), "resume"), "limit_s", json_real(s.limit_s));
	stage->boots.seed = s.seed;
	bn_arms_ops(&stage->arms, &ops);
	r = bn_session_run(&s, &ops, stage->doc, &cli->err);
	return r == -EINPROGRESS || r == -ETIME ? r : finish(cli, q, stage->doc, r);
}

static int cmd_run(struct gt_cli *cli, int argc, char **argv)
{
	struct bn_stage stage;
	int r;

	req.command.argv = argc ? argv : NULL;
	if (bn_resume_given(&resume))
		return bn_resume(cli, &resume, &req);
	r = bn_request_check(&req, &cli->err);
	if (r == 0 && req.reboot)
		r = bn_boots_check_idle(cli->fs, &cli->err);
	if (r < 0)
		return r;
	r = bn_stage_open(cli, &req, &stage);
	if (r == 0)
		r = measure(cli, &stage);
	r = bn_stage_end(&stage, cli, r);
	bn_stage_close(&stage);
	return r;
}

static int cmd_ab(struct gt_cli *cli, int argc, char **argv)
{
	if (!bn_resume_given(&resume) && !req.plan && !req.knobs.n && !req.env.n && !req.libraries.n && !req.kernel_args.n)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "ab needs a change: --plan, --knob, --env, --library or --boot-arg");
	return cmd_run(cli, argc, argv);
}

#define OUTPUT_OPTIONS												       \
	{'o', "output", "FILE", "save the result with all samples as JSON", GT_OPT_STR, &req.out.json, .group = "Results"}, \
	{0, "html", "FILE", "write a page with plots", GT_OPT_STR, &req.out.html, .group = "Results"},		       \
	{0, "markdown", "FILE", "write a Markdown report", GT_OPT_STR, &req.out.markdown, .group = "Results"},	       \
	{0, "openmetrics", "FILE", "write metrics for the textfile collector of Prometheus", GT_OPT_STR,	       \
	 &req.out.openmetrics, .group = "Results"},								       \
	{0, "trace", "FILE", "write the session as a trace for Chrome or Perfetto", GT_OPT_STR, &req.out.trace,	       \
	 .group = "Results"},											       \
	{0, "require-conclusive", NULL, "exit with 3 unless every primary and guard metric is decided", GT_OPT_FLAG,   \
	 &req.require_conclusive, .group = "Results"}

static const char *const better[] = { "lower", "higher", NULL };

#define SESSION_OPTIONS												       \
	{0, "plan", "FILE", "measure before and after this plan of gputune", GT_OPT_STR, &req.plan, .group = "Change"}, \
	{0, "no-env", NULL, "with --plan: leave out environment and CPU affinity", GT_OPT_FLAG, &req.no_env,	       \
	 .group = "Change"},											       \
	{0, "knob", "ID[=VALUE]", "change this knob of gputune, to VALUE if given (repeatable)", GT_OPT_LIST, &req.knobs, \
	 NULL, tn_knob_word, .group = "Change"},								       \
	{0, "env", "NAME=VALUE", "set this environment variable after the change (repeatable)", GT_OPT_LIST, &req.env, \
	 .group = "Change"},											       \
	{0, "library", "PATH", "preload this library, or search this directory first (repeatable)", GT_OPT_LIST,       \
	 &req.libraries, .group = "Change"},									       \
	{0, "reboot", NULL, "reboot the host for each launch, by kexec", GT_OPT_FLAG, &req.reboot, .group = "Change"}, \
	{0, "boot-arg", "NAME[=VALUE]", "with --reboot: add this kernel argument (repeatable)", GT_OPT_LIST,	       \
	 &req.kernel_args, .group = "Change"},									       \
	{0, "lock-clocks", "MHZ", "lock the GPUs' clocks in both arms: 1410 or 1200-1500", GT_OPT_STR, &req.lock_clocks,        \
	 .group = "Change"},                                                                                                   \
	{0, "settle", "SECONDS", "with --reboot: wait after each boot (default: 30)", GT_OPT_REAL, &req.settle_s,      \
	 .group = "Change"},											       \
	{0, "workload", "LIST", "measure these workloads, separated by commas (see gpubench list)", GT_OPT_STR,	       \
	 &req.workloads, NULL, bn_workload_word, .group = "Workload"},						       \
	{0, "data", "PATH", "train on this text, a file or a directory", GT_OPT_STR, &req.data, .group = "Workload"},  \
	{0, "metric", "SPEC", "measure wall, regex:PATTERN, json:KEY or file:PATH of the command (default: wall)",     \
	 GT_OPT_STR, &req.command.spec, .group = "Workload"},							       \
	{0, "unit", "UNIT", "set the unit of the command's metric", GT_OPT_STR, &req.command.unit, .group = "Workload"}, \
	{0, "better", "WAY", "set the better direction of the command's metric (default: lower)", GT_OPT_CHOICE,       \
	 &req.command.better, better, .group = "Workload"},							       \
	{0, "margin", "PERCENT", "ignore smaller changes of the command's metric (default: 1)", GT_OPT_REAL,	       \
	 &req.command.margin_pct, .group = "Workload"},								       \
	{0, "warmup", "N", "skip N samples of each command launch (default: measured first)", GT_OPT_UINT,	       \
	 &req.command.warmup, .group = "Workload"},								       \
	{0, "timeout", "SECONDS", "stop a launch of the command after SECONDS", GT_OPT_ABOVE_0, &req.command.timeout_s,   \
	 .group = "Workload"},											       \
	{0, "pairs", "N", "measure exactly N pairs, or N launches without a change", GT_OPT_COUNT, &req.pairs,	       \
	 .group = "Duration"},											       \
	{0, "quick", NULL, "measure nine pairs, or six launches without a change", GT_OPT_FLAG, &req.quick,	       \
	 .group = "Duration"},											       \
	{0, "minutes", "N", "stop after N minutes (default: twice the estimate, at least 5)", GT_OPT_ABOVE_0, &req.minutes, \
	 .group = "Duration"},											       \
	{0, "seed", "N", "set the seed of the random order (default: drawn and recorded)", GT_OPT_UINT, &req.seed,     \
	 .group = "Duration"},											       \
	BN_RESUME_OPTS(resume), OUTPUT_OPTIONS, { 0 }

static const struct gt_opt run_opts[] = {
	{0, "no-plan", NULL, "measure the host without a change (default)", GT_OPT_FLAG, &req.no_plan, .group = "Change"},
	SESSION_OPTIONS,
};

const struct gt_cmd bn_cmd_run = {
	.name = "run",
	.args = "[-- CMD [ARGUMENTS]]",
	.group = "Measure a change",
	.summary = "Measure this host or a command, also before and after a change",
	.help = "Without a change, measures the host as it is. With --plan, --knob, --env, --library or --boot-arg, measures "
		"in pairs before and after the change, in random order, each launch in a fresh process. If CMD is given, "
		"it is the workload. Its wall time is measured unless --metric names another metric. The host "
		"is restored after each launch. An interrupted session exits with 5; --resume continues it. gpubench(1) "
		"describes the method.",
	.ignores = GT_ROOT_IGNORED,
	.opts = run_opts,
	.max_args = -1,
	.stop_at_arg = true,
	.run = cmd_run,
};

const struct gt_cmd bn_cmd_ab = {
	.name = "ab",
	.args = "[-- CMD [ARGUMENTS]]",
	.listed = GT_OLD_NAME,
	.summary = "Measure before and after a change; old name of gpubench run with a change",
	.ignores = GT_ROOT_IGNORED,
	.opts = run_opts,
	.max_args = -1,
	.stop_at_arg = true,
	.run = cmd_ab,
};
/* ---- resume ---- */

static int read_interims(const json_t *run, struct bn_interim *interims, size_t max, size_t *ret_n)
{
	json_t *list = json_object_get(run, "looks"), *j;
	size_t i;

	json_array_foreach(list, i, j)
		if (i < max)
			interims[i] = (struct bn_interim){ (size_t)gt_json_get_int(j, "pairs", 0),
							   gt_json_get_real(j, "alpha", 0) };
	*ret_n = GT_MIN(json_array_size(list), max);
	return *ret_n ? 0 : -EINVAL;
}

static int go_on(struct gt_cli *cli, struct bn_stage *stage, json_t *doc)
{
	const json_t *run = json_object_get(doc, "run");
	struct bn_session s = { .workload = (const char *const *)stage->workloads.v, .n_workloads = stage->workloads.n,
				.resume = true, .quiet = cli->quiet, .stop = &gt_interrupted };
	struct bn_interim interims[8];
	struct allowance time;
	struct bn_ops ops;
	int r;

	if (read_interims(run, interims, GT_ARRAY_SIZE(interims), &s.n_interims) < 0)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "its planned looks are missing");
	s.interims = interims;
	s.design = bn_design_of(gt_json_get_str(run, "design", bn_design_name[BN_DESIGN_SINGLE]));
	s.seed = stage->q->seed;
	s.aa_pairs = (size_t)gt_json_get_int(json_object_get(run, "resume"), "aa_pairs", 0);
	s.limit_s = stage->q->minutes > 0 ? 60 * stage->q->minutes : /* the duration includes the interrupted part */
		fmax(0, gt_json_get_real(json_object_get(run, "resume"), "limit_s", 0));
	json_object_set_new(json_object_get(run, "resume"), "limit_s", json_real(s.limit_s));
	s.by_boot = stage->q->reboot;
	time = allowance_of(stage->q, &s);
	s.planned = enough_time;
	s.planned_ctx = &time;
	stage->boots.seed = s.seed;
	bn_arms_ops(&stage->arms, &ops);
	r = bn_session_run(&s, &ops, doc, &cli->err);
	return r == -EINPROGRESS || r == -ETIME ? r : finish(cli, stage->q, doc, r);
}

/* Refuses options that a resumed session takes from its file. */
static int check_only_resume(const struct bn_request *q, struct gt_err *err)
{
	if (q->plan || q->profile || q->workloads || q->data || q->knobs.n || q->env.n || q->libraries.n || q->command.argv ||
	    q->command.spec || q->command.unit || q->command.better || q->pairs || q->seed || q->no_plan || q->no_env || q->quick ||
	    q->reboot || q->kernel_args.n)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--resume continues the session with its own options; give only --minutes, -o, --html, "
				    "--markdown, --openmetrics, --trace or --require-conclusive");
	return 0;
}

static int resume_prove(struct gt_cli *cli, json_t *doc, const char *path, const struct bn_request *q)
{
	if (q->out.html || q->out.markdown || q->require_conclusive)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "%s is a session of prove: it has a receipt, and no --html, --markdown or "
				    "--require-conclusive", path);
	return bn_prove_resume(cli, doc, path, q->out.json, q->minutes);
}

static int go_on_with(struct gt_cli *cli, const char *path, struct bn_request *q)
{
	gt_auto(bn_data) *data = NULL;
	gt_auto_strv command = { 0 };
	gt_auto_json *doc = NULL;
	struct bn_stage stage;
	int r;

	/* the file determines the changes and the command */
	r = gt_fail_as(&cli->err, GT_EXIT_USAGE, tn_trusted_json(cli->fs, path, BN_FILE_MAX, &doc, &cli->err));
	if (r == 0 && gt_streq(gt_json_get_str(doc, "schema", NULL), BN_PROVE_SCHEMA))
		return resume_prove(cli, doc, path, q);
	if (r == 0)
		r = bn_data_from_doc(doc, path, &data, &cli->err);
	if (r < 0)
		return r;
	if (!data->interrupted)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EALREADY, "%s: this session is complete; nothing is left to do",
				    path);
	if (bn_request_restore(doc, q, &command, &cli->err) < 0 || bn_request_check(q, &cli->err) < 0) {
		cli->err.exit_status = GT_EXIT_USAGE;
		return gt_fail_prefix(&cli->err, "%s cannot be taken up again", path);
	}
	q->out.json = q->out.json ? q->out.json : path;
	r = bn_stage_open(cli, q, &stage);
	if (r == 0)
		r = bn_same_host(doc, stage.doc, &cli->err);
	if (r == 0)
		r = go_on(cli, &stage, doc);
	r = bn_stage_end(&stage, cli, r);
	bn_stage_close(&stage);
	return r;
}

bool bn_resume_given(const struct bn_resume *r)
{
	return r->file || r->abandon || r->no_reboot;
}

int bn_resume(struct gt_cli *cli, const struct bn_resume *given, struct bn_request *q)
{
	gt_autofree char *file = given->file ? bn_boots_path(cli->fs, given->file) : NULL, *ended = NULL;
	struct gt_err err = { 0 };
	int r = check_only_resume(q, &cli->err);

	if (r < 0)
		return r;
	if (given->abandon) {
		r = bn_boots_abandon(cli->fs, file, !given->no_reboot, &ended, &cli->err);
		if (r == 0)
			fprintf(stderr, "gpubench: session ended; the samples so far are in %s\n", ended);
		return r;
	}
	if (!file || given->no_reboot)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "%s",
				    file ? "--no-reboot needs --abandon" : "the saved session is missing: --resume FILE");
	r = go_on_with(cli, given->file, q);
	if (r < 0 && !gt_interrupted && bn_boots_end(cli->fs, file, &err) < 0) /* for example, a file was removed */
		fprintf(stderr, "gpubench: %s\n", err.msg);
	return r;
}

static int cmd_resume(struct gt_cli *cli, int argc, char **argv)
{
	resume.file = argc ? argv[0] : NULL;
	return bn_resume(cli, &resume, &req);
}

static const struct gt_opt resume_opts[] = {
	BN_RESUME_OPTS(resume),
	{0, "minutes", "N", "stop after N minutes, including earlier ones", GT_OPT_ABOVE_0, &req.minutes},
	OUTPUT_OPTIONS,
	{0},
};

const struct gt_cmd bn_cmd_resume = {
	.name = "resume",
	.args = "[FILE]",
	.listed = GT_OLD_NAME,
	.summary = "Continue an interrupted session; old name of gpubench run --resume FILE",
	.ignores = GT_ROOT_IGNORED,
	.opts = resume_opts,
	.max_args = 1,
	.run = cmd_resume,
};
