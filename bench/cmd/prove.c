/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench prove, and the continuation of its sessions. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/prove/loader_race.h"
#include "bench/prove/race_request.h"
#include "bench/prove/receipt.h"
#include "bench/result/thinned.h"
#include "bench/cmd/cmds.h"
#include "bench/report/forms.h"
#include "bench/result/result.h"
#include "bench/result/text.h"
#include "bench/prove/prove.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/table.h"
#include "tune/profiles/profile.h"
#include "tune/plan/plan_json.h"
#include "tune/profiles/select.h"

#define PAIRS 12

static struct bn_request req = {.settle_s = BN_SETTLE_S, .command = {.margin_pct = 1, .warmup = UINT64_MAX}};
static struct {
	const char *receipt, *html;
	bool keep_inconclusive, yes;
	struct gt_strv races;
	struct bn_resume resume;
} opt;

static int publish(struct gt_cli *cli, struct bn_prove *p, int r)
{
	gt_auto_json *receipt = bn_prove_receipt(p, p->stage->host, p->stage->plan ? p->stage->plan->profile : NULL);
	gt_autofree char *text = gt_json_text(receipt);
	gt_auto(bn_view) *v = bn_view_receipt(receipt);
	int w = 0;

	json_object_set(p->doc, "receipt", receipt);
	json_object_set_new(p->doc, "interrupted", json_boolean(gt_interrupted || r != 0));
	if (req.out.json)
		w = bn_thinned_write(req.out.json, p->doc, r < 0 ? NULL : &cli->err);
	if (r != 0)
		return r;
	bn_output_write(opt.receipt, text, strlen(text), &w, &cli->err);
	bn_view_write(v, &(struct bn_outputs){ .html = opt.html }, &w, &cli->err);
	if (gt_streq(req.out.json, "-") || gt_streq(opt.receipt, "-") || gt_streq(opt.html, "-"))
		return w;
	if (cli->json)
		gt_json_print(stdout, p->doc);
	else
		bn_view_print(v, stdout, cli->color);
	return w;
}

/* Reports why the session ended, with the reason of its last phase. */
static int report_reason(struct gt_cli *cli, const struct bn_prove *p, int code)
{
	json_t *phases = json_object_get(p->doc, "phases");
	const json_t *last = json_array_get(phases, json_array_size(phases) - 1);
	const char *why = gt_json_get_str(last, "verdict_reason", NULL);

	return gt_fail_exit(&cli->err, code, ECANCELED, "%s: %s; nothing is proved",
			    gt_json_get_str(json_object_get(last, "phase"), "name", "session"),
			    why ? why : "the session is invalid");
}

/* Prints the changes that a session would measure. Returns a usage error, because the session needs --yes. */
static int show_changes(struct gt_cli *cli, const struct tn_plan *plan)
{
	gt_autofree char *head = gt_xasprintf("prove would measure these changes of the profile %s, and the environment of "
					      "gputune run:", plan->profile);
	size_t n = 0;

	gt_print_wrapped(stdout, head, 0, gt_term_width(stdout));
	for (size_t i = 0; i < plan->n_item; i++) {
		const struct tn_item *it = &plan->item[i];

		if (it->status != TN_CHANGE)
			continue;
		gt_autofree char *change = tn_tunable_change_text(it->knob, it->current, it->wanted);

		n++;
		printf("  %s%s%s: %s\n", it->knob->id, it->instance ? ":" : "", it->instance ? it->instance : "", change);
	}
	if (!n)
		puts("  no setting of this host");
	return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EPERM,
			    "nothing was measured: give --yes to prove these changes, or select others with --plan or --knob");
}

/* Makes a plan of the profile, unless --plan, --knob, --env, --library or --boot-arg select the changes. */
static int ask_profile(struct gt_cli *cli, json_t **ret)
{
	gt_auto(tn_plan) *plan = NULL;
	int r;

	if (req.plan || req.knobs.n || req.env.n || req.libraries.n || req.kernel_args.n)
		return 0;
	r = tn_plan_make(cli->fs, NULL, &(struct tn_plan_opts){.profile = req.profile}, &plan, &cli->err);
	if (r == 0 && !opt.yes)
		r = show_changes(cli, plan);
	if (r < 0)
		return r;
	*ret = tn_plan_to_json(plan);
	req.plan_doc = *ret;
	return 0;
}

/* Returns the changes of the session. A resumed session must have the same changes. */
static json_t *changes_json(const struct bn_arms *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->n_factor; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "id", a->factor[i].id, "from",
						      gt_json_str(a->factor[i].from), "to",
						      gt_json_str(a->factor[i].to)));
	return list;
}

static void remember(const struct bn_prove *p)
{
	json_t *run = json_object_get(p->doc, "run");

	bn_stage_store_request(p->stage, 0);
	json_object_set(run, "resume", json_object_get(json_object_get(p->stage->doc, "run"), "resume"));
	json_object_del(json_object_get(p->stage->doc, "run"), "resume"); /* the document stores it once, not in each phase */
	json_object_set_new(run, "prove",
			    json_pack("{s:I, s:I, s:b, s:b, s:o, s:o, s:o, s:o, s:f}", "seed", (json_int_t)p->seed,
				      "pairs", (json_int_t)p->pairs, "looks", p->interims, "keep_inconclusive",
				      p->keep_inconclusive, "receipt", gt_json_str(opt.receipt), "html",
				      gt_json_str(opt.html), "changes", changes_json(&p->stage->arms), "races",
				      bn_races_json(p->races, p->n_races), "limit_s", p->limit_s));
}

static int finish(struct gt_cli *cli, struct bn_prove *p)
{
	int r = bn_prove_run(p);

	if (r == -EINPROGRESS) { /* the host reboots; the session continues after that */
		bn_prove_clear(p);
		return r;
	}
	if (r > 0)
		r = report_reason(cli, p, r);
	else if (r < 0 && !cli->err.exit_status)
		cli->err.exit_status = BN_EXIT_INVALID;
	r = publish(cli, p, r);
	if (gt_interrupted && req.out.json && !gt_streq(req.out.json, "-"))
		fprintf(stderr, "gpubench: interrupted; the settings are back, continue with: gpubench prove --resume %s\n",
			req.out.json);
	bn_prove_clear(p);
	return r;
}

static int prove(struct gt_cli *cli, struct bn_stage *stage, struct bn_race **races, size_t n_races)
{
	struct bn_prove p = {.cli = cli,
			     .stage = stage,
			     .races = *races,
			     .n_races = n_races,
			     .pairs = req.pairs ? req.pairs : req.reboot ? BN_BOOT_PAIRS : PAIRS,
			     .interims = !req.pairs && !req.quick && !req.reboot,
			     .by_boot = req.reboot,
			     .keep_inconclusive = opt.keep_inconclusive,
			     .limit_s = 60 * req.minutes,
			     .seed = req.seed ? req.seed : (uint64_t)time(NULL) % 1000000};

	if (!stage->arms.n_factor)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, ENODATA,
				    "this host already has all values of the profile: there is nothing to prove");
	if (!bn_identity_shown(stage->doc, stage->doc))
		fputs("gpubench: this host has no machine id and no other unique property, so gputune will refuse the receipt; "
		      "create an id with systemd-machine-id-setup\n", stderr);
	p.doc = json_pack("{s:s, s:O, s:o, s:O, s:b, s:[]}", "schema", BN_PROVE_SCHEMA, "tool",
			  json_object_get(stage->doc, "tool"), "run",
			  json_deep_copy(json_object_get(stage->doc, "run")), "host",
			  json_object_get(stage->doc, "host"), "interrupted", true, "phases");
	remember(&p);
	*races = NULL; /* p now owns the document */
	return finish(cli, &p);
}

static int cmd_prove(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *plan = NULL;
	struct bn_race *races = NULL;
	struct bn_stage stage;
	size_t n_races = 0;
	int r;

	req.command.argv = argc ? argv : NULL;
	if (bn_resume_given(&opt.resume) && (opt.races.n || opt.keep_inconclusive || opt.yes))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "--resume continues the session with its own --race and --keep-inconclusive");
	if (bn_resume_given(&opt.resume))
		return bn_resume(cli, &opt.resume, &req);
	if (req.quick && !req.pairs && !req.reboot)
		req.pairs = 9;
	if (req.pairs && req.pairs < (req.reboot ? BN_BOOT_PAIRS : 9))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, ERANGE,
				    "--pairs takes %d or more: fewer cannot prove several changes",
				    req.reboot ? BN_BOOT_PAIRS : 9);
	r = bn_races_parse(cli->fs, &opt.races, &req, &races, &n_races, &cli->err);
	if (r == 0)
		r = bn_loader_enable(cli->fs, races, n_races, &cli->err);
	if (r == 0)
		r = bn_request_check(&req, &cli->err);
	if (r == 0)
		r = gt_file_try(opt.receipt, &cli->err);
	if (r == 0)
		r = gt_file_try(opt.html, &cli->err);
	if (r == 0 && req.reboot)
		r = bn_boots_check_idle(cli->fs, &cli->err);
	if (r == 0)
		r = ask_profile(cli, &plan);
	if (r < 0) {
		bn_races_free(races, n_races);
		return r;
	}
	r = bn_stage_open(cli, &req, &stage);
	if (r == 0)
		r = prove(cli, &stage, &races, n_races);
	r = bn_stage_end(&stage, cli, r);
	if (races)
		bn_races_free(races, n_races);
	bn_stage_close(&stage);
	return r;
}

/* ---- resume ---- */

/* Reads and validates the saved session, which is untrusted input. */
static int recall(struct bn_prove *p, const char *path, double minutes, struct gt_strv *argv, struct gt_err *err)
{
	json_t *run = json_object_get(p->doc, "run"), *o = NULL, *list;
	int64_t pairs = 0, seed = 0;
	int r;

	r = gt_json_req_object(run, "prove", &o, err);
	if (r == 0)
		r = gt_json_req_int(o, "pairs", &pairs, err);
	if (r == 0)
		r = gt_json_req_int(o, "seed", &seed, err);
	if (r == 0)
		r = gt_json_req_array(o, "changes", &list, err);
	if (r == 0)
		r = gt_json_req_array(p->doc, "phases", &list, err);
	if (r == 0)
		r = bn_request_restore(p->doc, &req, argv, err);
	if (r == 0 && (pairs < (req.reboot ? BN_BOOT_PAIRS : 9) || pairs > 1000))
		r = gt_fail(err, ERANGE, "\"pairs\" is %lld", (long long)pairs);
	if (r == 0)
		r = bn_races_restore(json_object_get(o, "races"), &p->races, &p->n_races, err);
	if (r == 0)
		r = bn_loader_enable(p->cli->fs, p->races, p->n_races, err);
	if (r == 0)
		r = bn_request_check(&req, err);
	if (r < 0) {
		if (err)
			err->exit_status = GT_EXIT_USAGE;
		return gt_fail_prefix(err, "%s cannot be taken up again", path);
	}
	p->pairs = (size_t)pairs;
	p->seed = (uint64_t)seed;
	p->interims = gt_json_get_bool(o, "looks", false);
	p->limit_s = fmax(0, gt_json_get_real(o, "limit_s", 0));
	if (minutes > 0) {
		p->limit_s = 60 * minutes;
		p->more_time = true;
		json_object_set_new(o, "limit_s", json_real(p->limit_s));
	}
	p->by_boot = req.reboot;
	p->keep_inconclusive = gt_json_get_bool(o, "keep_inconclusive", false);
	opt.receipt = opt.receipt ? opt.receipt : gt_json_get_str(o, "receipt", NULL);
	opt.html = opt.html ? opt.html : gt_json_get_str(o, "html", NULL);
	return 0;
}

/* Refuses another machine or kernel, and other changes or old values than at the start of the session. */
static int check_same(struct bn_prove *p, struct gt_err *err)
{
	json_t *was = json_object_get(json_object_get(json_object_get(p->doc, "run"), "prove"), "changes"), *w, *n;
	gt_auto_json *now = changes_json(&p->stage->arms);
	int r = bn_same_host(p->doc, p->stage->doc, err);
	size_t i;

	if (r < 0)
		return r;
	if (json_array_size(was) != json_array_size(now))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV,
				    "the session has %zu changes, and this host now has %zu",
				    json_array_size(was), json_array_size(now));
	json_array_foreach(was, i, w)
	{
		n = json_array_get(now, i);
		if (!json_equal(w, n))
			return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV,
					    "the session has %s from %s to %s, and this host now has %s from %s to %s",
					    gt_json_get_str(w, "id", "?"), bn_text_json(json_object_get(w, "from")).s,
					    bn_text_json(json_object_get(w, "to")).s, gt_json_get_str(n, "id", "?"),
					    bn_text_json(json_object_get(n, "from")).s,
					    bn_text_json(json_object_get(n, "to")).s);
	}
	return 0;
}

int bn_prove_resume(struct gt_cli *cli, json_t *doc, const char *path, const char *out, double minutes)
{
	struct bn_prove p = {.cli = cli, .doc = json_incref(doc)};
	gt_auto_strv command = {0};
	struct bn_stage stage = {0};
	int r;

	if (!gt_json_get_bool(doc, "interrupted", true)) {
		json_decref(doc);
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EALREADY,
				    "%s: this session is complete; nothing is left to do", path);
	}
	r = recall(&p, path, minutes, &command, &cli->err);
	if (r < 0) {
		bn_prove_clear(&p);
		return r;
	}
	req.out.json = out ? out : path;
	p.stage = &stage;
	r = bn_stage_open(cli, &req, &stage);
	if (r == 0)
		r = check_same(&p, &cli->err);
	if (r == 0)
		r = finish(cli, &p);
	else
		bn_prove_clear(&p);
	r = bn_stage_end(&stage, cli, r);
	bn_stage_close(&stage);
	return r;
}

static const char *const better[] = {"lower", "higher", NULL};
static const struct gt_opt prove_opts[] = {
	{0, "profile", "NAME", "prove the changes of this profile (default: that of the host)", GT_OPT_STR, &req.profile, NULL,
	 tn_profile_word, .group = "Changes"},
	{0, "yes", NULL, "measure the profile's changes; without it they are only printed", GT_OPT_FLAG, &opt.yes,
	 .group = "Changes"},
	{0, "plan", "FILE", "prove the changes of this plan of gputune", GT_OPT_STR, &req.plan, .group = "Changes"},
	{0, "no-env", NULL, "with --plan: leave out environment and CPU affinity", GT_OPT_FLAG, &req.no_env, .group = "Changes"},
	{0, "knob", "ID[=VALUE]", "prove this knob, with VALUE if given (repeatable)", GT_OPT_LIST, &req.knobs, NULL,
	 tn_knob_word, .group = "Changes"},
	{0, "env", "NAME=VALUE", "prove this environment variable (repeatable)", GT_OPT_LIST, &req.env, .group = "Changes"},
	{0, "race", "ID=VALUE,...", "find and prove the best value of a knob, env.NAME or loader.workers", GT_OPT_LIST,
	 &opt.races, NULL,
	 tn_knob_word, .group = "Changes"},
	{0, "library", "PATH", "prove this library or directory of libraries (repeatable)", GT_OPT_LIST, &req.libraries,
	 .group = "Changes"},
	{0, "reboot", NULL, "reboot the host for each launch, by kexec", GT_OPT_FLAG, &req.reboot, .group = "Changes"},
	{0, "boot-arg", "NAME[=VALUE]", "with --reboot: prove this kernel argument (repeatable)", GT_OPT_LIST, &req.kernel_args,
	 .group = "Changes"},
	{0, "lock-clocks", "MHZ", "lock the GPUs' clocks in both arms: 1410 or 1200-1500", GT_OPT_STR, &req.lock_clocks,
	 .group = "Changes"},
	{0, "settle", "SECONDS", "with --reboot: wait after each boot (default: 30)", GT_OPT_REAL, &req.settle_s,
	 .group = "Changes"},
	{0, "workload", "LIST", "measure these workloads, separated by commas (see gpubench list)", GT_OPT_STR, &req.workloads,
	 NULL, bn_workload_word, .group = "Workload"},
	{0, "data", "PATH", "train on this text, a file or a directory", GT_OPT_STR, &req.data, .group = "Workload"},
	{0, "metric", "SPEC", "measure wall, regex:PATTERN, json:KEY or file:PATH of the command (default: wall)", GT_OPT_STR,
	 &req.command.spec, .group = "Workload"},
	{0, "unit", "UNIT", "set the unit of the command's metric", GT_OPT_STR, &req.command.unit, .group = "Workload"},
	{0, "better", "WAY", "set the better direction of the command's metric (default: lower)", GT_OPT_CHOICE,
	 &req.command.better, better, .group = "Workload"},
	{0, "margin", "PERCENT", "ignore smaller changes of the command's metric (default: 1)", GT_OPT_REAL,
	 &req.command.margin_pct, .group = "Workload"},
	{0, "warmup", "N", "skip N samples of each command launch (default: measured first)", GT_OPT_UINT, &req.command.warmup,
	 .group = "Workload"},
	{0, "timeout", "SECONDS", "stop a launch of the command after SECONDS", GT_OPT_ABOVE_0, &req.command.timeout_s,
	 .group = "Workload"},
	{0, "pairs", "N", "measure N pairs per comparison (default: 12, more if needed)", GT_OPT_COUNT, &req.pairs,
	 .group = "Duration"},
	{0, "quick", NULL, "measure nine pairs per comparison", GT_OPT_FLAG, &req.quick, .group = "Duration"},
	{0, "minutes", "N", "stop after N minutes, with time for the confirmation", GT_OPT_ABOVE_0, &req.minutes,
	 .group = "Duration"},
	{0, "seed", "N", "set the seed of the random order (default: drawn and recorded)", GT_OPT_UINT, &req.seed,
	 .group = "Duration"},
	BN_RESUME_OPTS(opt.resume),
	{0, "keep-inconclusive", NULL, "keep changes with an inconclusive effect", GT_OPT_FLAG, &opt.keep_inconclusive,
	 .group = "Results"},
	{0, "receipt", "FILE", "write the receipt for gputune apply --only-proven", GT_OPT_STR, &opt.receipt, .group = "Results"},
	{0, "html", "FILE", "write the receipt as a page with a plot", GT_OPT_STR, &opt.html, .group = "Results"},
	{'o', "output", "FILE", "save every phase with all samples as JSON", GT_OPT_STR, &req.out.json, .group = "Results"},
	{0},
};

const struct gt_cmd bn_cmd_prove = {
	.name = "prove",
	.args = "[-- CMD [ARGUMENTS]]",
	.group = "Measure a change",
	.summary = "Find the changes that help on this host, and write a receipt",
	.help = "Measures the effect of all changes together, then of each change, and confirms those that help on new data. "
		"Only the confirmed effect is reported. Changes that are the same, worse or inconclusive are dropped. Without a "
		"plan, prints the changes of the profile and measures them with --yes. gputune apply --only-proven applies the "
		"receipt on this host. The host is restored at the end; --resume continues an interrupted session. gpubench(1) "
		"describes the method.",
	.ignores = GT_ROOT_IGNORED,
	.opts = prove_opts,
	.max_args = -1,
	.stop_at_arg = true,
	.run = cmd_prove,
};
