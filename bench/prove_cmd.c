/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench prove: the command, the receipt, and how it is shown. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/cmds.h"
#include "bench/prove.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/table.h"
#include "tune/knob.h"

#define PAIRS 12

static struct bn_request req = {.command = {.margin_pct = 1, .warmup = UINT64_MAX}};
static struct {
	const char *receipt;
	bool keep_inconclusive;
} opt;

static json_t *effect_json(const struct bn_effect *e)
{
	if (!isfinite(e->est))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:I}", "change_pct", gt_json_real(100 * expm1(e->est)), "ci_low_pct",
			 gt_json_real(isfinite(e->lo) ? 100 * expm1(e->lo) : NAN), "ci_high_pct",
			 gt_json_real(isfinite(e->hi) ? 100 * expm1(e->hi) : NAN), "p", gt_json_real(e->p), "n",
			 (json_int_t)e->n);
}

/* Alone it does something else than among the others: their intervals do not touch. */
static bool interacts(const struct bn_proof *f)
{
	return isfinite(f->alone.lo) && isfinite(f->loss.lo) && (f->alone.lo > f->loss.hi || f->alone.hi < f->loss.lo);
}

/* A line to paste that puts it back, whatever became of gputune. */
static char *revert_line(const struct bn_stage *s, const struct bn_factor *f)
{
	if (f->kind == BN_FACTOR_ITEM)
		return gt_xasprintf("echo '%s' > %s", f->from ? f->from : "", s->plan->item[f->index].path);
	if (f->kind == BN_FACTOR_CPUS || f->kind == BN_FACTOR_NODES)
		return gt_xstrdup("start the command without gputune run");
	return f->from ? gt_xasprintf("export %s='%s'", f->id + 4, f->from) : gt_xasprintf("unset %s", f->id + 4);
}

static json_t *knob_json(const struct bn_prove *p, const struct bn_proof *proof, const struct bn_factor *f)
{
	static const char *const kind[] = {"knob", "variable", "cpus", "memory", "variable"};
	const struct bn_stage *s = p->stage;
	gt_autofree char *revert = revert_line(s, f);
	bool item = f->kind == BN_FACTOR_ITEM;
	const char *mechanism = f->knob && f->knob->mechanism[0] ? f->knob->mechanism : NULL;
	json_t *j =
		json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:b, s:b, s:o}", "id", f->id,
			  "kind", kind[f->kind], "knob", f->knob ? f->knob->id : NULL, "instance",
			  item ? s->plan->item[f->index].instance : NULL, "from", gt_json_str(f->from), "to",
			  gt_json_str(f->to), "effect", effect_json(&proof->loss), "alone", effect_json(&proof->alone),
			  "p_adjusted", gt_json_real(proof->p_adj), "method", proof->method, "verdict",
			  bn_verdict_name[proof->verdict], "kept", proof->kept, "guard_worse", proof->guard_worse,
			  "interacts", interacts(proof), "revert", gt_json_str(revert));

	json_object_set_new(j, "mechanism",
			    json_pack("{s:s?, s:s}", "metric", mechanism, "moved",
				      proof->moved > 0    ? "yes"
				      : proof->moved == 0 ? "unexplained"
				      : mechanism         ? "not looked at"
							  : "names none"));
	return j;
}

/* What the plan wants and no session can toggle: it is named, not silently left out. */
static json_t *not_measured(const struct bn_stage *s)
{
	json_t *list = json_array();

	for (size_t i = 0; s->plan && i < s->plan->n_item; i++) {
		const struct tn_item *item = &s->plan->item[i];
		gt_autofree char *label = tn_knob_label(item->knob, item->instance);

		if (item->status == TN_BLOCKED || item->status == TN_ADVICE)
			json_array_append_new(list,
					      json_pack("{s:s, s:o}", "id", label, "why", gt_json_str(item->reason)));
	}
	return list;
}

json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile)
{
	json_t *knobs = json_array(), *run = json_object_get(p->stage->doc, "run");
	char now[21];

	gt_time_iso8601(now, (int64_t)time(NULL));
	for (size_t k = 0; k < p->n_proof; k++)
		for (size_t i = 0; i < p->proof[k].n; i++)
			json_array_append_new(
				knobs, knob_json(p, &p->proof[k], &p->stage->arms.factor[p->proof[k].factor[i]]));
	return json_pack(
		"{s:s, s:s, s:I, s:I, s:s?, s:s?, s:s?, s:s?, s:s?, s:s, s:o, s:O*, s:O*, s:O*, s:o, s:o, s:O}",
		"schema", BN_RECEIPT_SCHEMA, "created", now, "created_unix", (json_int_t)time(NULL), "seed",
		(json_int_t)p->seed, "host", host->identity, "cpu", host->cpu.model_name.v, "kernel",
		host->kernel.release.v, "nvidia_driver", host->nvidia.module_version.v, "profile", profile, "direction",
		p->higher ? "higher" : "lower", "metric", gt_json_str(p->metric), "confirmed",
		json_object_get(p->doc, "confirmed"), "confirm", json_object_get(p->doc, "confirm"), "as_good_as_all",
		json_object_get(p->doc, "as_good_as_all"), "knobs", knobs, "not_measured", not_measured(p->stage),
		"argv", json_object_get(run, "argv"));
}

void bn_prove_text(const json_t *receipt, FILE *out, bool color)
{
	json_t *knobs = json_object_get(receipt, "knobs"), *k, *confirm = json_object_get(receipt, "confirm");
	unsigned width = gt_term_width(out);
	gt_auto(gt_table) *t = gt_table_new();
	gt_auto_buf line = {0};
	size_t i, n = 0;

	gt_table_column(t, "CHANGE", GT_WRAP);
	gt_table_column(t, "EFFECT", GT_RIGHT);
	gt_table_column(t, "95% CI", GT_LEFT);
	gt_table_column(t, "VERDICT", GT_LEFT);
	gt_table_column(t, "KEPT", GT_LEFT);
	gt_table_column(t, "MECHANISM", GT_WRAP);
	json_array_foreach(knobs, i, k)
	{
		const json_t *e = json_object_get(k, "effect"), *m = json_object_get(k, "mechanism");
		bool kept = gt_json_get_bool(k, "kept", false);

		n += kept;
		gt_table_row(t);
		gt_table_cell(t, "%s %s -> %s", gt_json_get_str(k, "id", "?"),
			      bn_text_json(json_object_get(k, "from")).s, bn_text_json(json_object_get(k, "to")).s);
		gt_table_cell(t, "%s", bn_text_change(e).s);
		gt_table_cell(t, "%s", bn_text_interval(e).s);
		gt_table_cell(t, "%s%s%s", gt_json_get_str(k, "verdict", "?"),
			      gt_json_get_bool(k, "guard_worse", false) &&
					      !gt_streq(gt_json_get_str(k, "verdict", NULL), "worse")
				      ? ", a guard is worse"
				      : "",
			      gt_json_get_bool(k, "interacts", false) ? ", other alone" : "");
		gt_table_cell(t, "%s", kept ? "yes" : "no");
		gt_table_color(t, kept ? "green" : "yellow");
		gt_table_cell(t, "%s", gt_json_get_str(m, "moved", ""));
	}
	gt_table_print(t, out, color);
	json_array_foreach(json_object_get(receipt, "not_measured"), i, k)
	{
		gt_buf_clear(&line);
		gt_buf_printf(&line, "not measured: %s: %s", gt_json_get_str(k, "id", "?"),
			      gt_json_get_str(k, "why", ""));
		gt_print_wrapped(out, line.s, 0, width);
	}
	gt_buf_clear(&line);
	gt_buf_printf(&line, "\n%s, %s is better. ", gt_json_get_str(receipt, "metric", "nothing"),
		      gt_json_get_str(receipt, "direction", "lower"));
	if (!n)
		gt_buf_puts(&line, "PROVED: nothing here helps this workload; leave the host as it is");
	else if (gt_json_get_bool(receipt, "confirmed", false))
		gt_buf_printf(&line, "PROVED: %zu of %zu changes help, confirmed on fresh data: %s %s", n,
			      json_array_size(knobs), bn_text_change(confirm).s, bn_text_interval(confirm).s);
	else
		gt_buf_printf(
			&line,
			"NOT CONFIRMED: %zu of %zu changes seemed to help, and fresh data did not bear it out: %s %s",
			n, json_array_size(knobs), bn_text_change(confirm).s, bn_text_interval(confirm).s);
	gt_print_wrapped(out, line.s, 0, width);
}

static int write_json(const char *path, const json_t *doc, struct gt_err *err)
{
	gt_autofree char *text = gt_json_text(doc);

	return gt_file_write(path, text, strlen(text), 0644, err);
}

static int publish(struct gt_cli *cli, struct bn_prove *p, int r)
{
	gt_auto_json *receipt = bn_prove_receipt(p, p->stage->host, p->stage->plan ? p->stage->plan->profile : NULL);
	int w = 0;

	json_object_set(p->doc, "receipt", receipt);
	json_object_set_new(p->doc, "interrupted", json_boolean(gt_interrupted || r != 0));
	if (req.out.json)
		w = write_json(req.out.json, p->doc, &cli->err);
	if (r != 0 || w < 0)
		return r != 0 ? r : w;
	if (opt.receipt)
		w = write_json(opt.receipt, receipt, &cli->err);
	if (w < 0 || gt_streq(req.out.json, "-") || gt_streq(opt.receipt, "-"))
		return w;
	if (cli->json)
		gt_json_print(stdout, p->doc);
	else
		bn_prove_text(receipt, stdout, cli->color);
	return 0;
}

/* Why it ended, in the words of the phase that did. */
static int say_why(struct gt_cli *cli, const struct bn_prove *p, int code)
{
	json_t *phases = json_object_get(p->doc, "phases");
	const json_t *last = json_array_get(phases, json_array_size(phases) - 1);
	const char *why = gt_json_get_str(last, "verdict_reason", NULL);

	return gt_fail_exit(&cli->err, code, ECANCELED, "%s: %s; nothing is proved",
			    gt_json_get_str(json_object_get(last, "phase"), "name", "session"),
			    why ? why : "the session is invalid");
}

/* What the profile wants, as a plan; --plan, --knob, --env and --library say it otherwise. */
static int ask_profile(struct gt_cli *cli, json_t **ret)
{
	gt_auto(tn_plan) *plan = NULL;
	int r;

	if (req.plan || req.knobs.n || req.env.n || req.libraries.n)
		return 0;
	r = tn_plan_make(cli->fs, NULL, &(struct tn_plan_opts){.profile = req.profile}, &plan, &cli->err);
	if (r < 0)
		return r;
	*ret = tn_plan_to_json(plan);
	req.plan_doc = *ret;
	return 0;
}

static int prove(struct gt_cli *cli, struct bn_stage *stage)
{
	struct bn_prove p = {.cli = cli,
			     .stage = stage,
			     .pairs = req.pairs ? req.pairs : PAIRS,
			     .looks = !req.pairs && !req.quick,
			     .keep_inconclusive = opt.keep_inconclusive,
			     .seed = req.seed ? req.seed : (uint64_t)time(NULL) % 1000000};
	int r;

	if (!stage->arms.n_factor)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, ENODATA,
				    "this host is already as the profile wants it: there is nothing to prove");
	p.doc = json_pack("{s:s, s:O, s:O, s:O, s:[]}", "schema", BN_PROVE_SCHEMA, "tool",
			  json_object_get(stage->doc, "tool"), "run", json_object_get(stage->doc, "run"), "host",
			  json_object_get(stage->doc, "host"), "phases");
	r = bn_prove_run(&p);
	if (r > 0)
		r = say_why(cli, &p, r);
	else if (r < 0 && !cli->err.exit_status)
		cli->err.exit_status = BN_EXIT_INVALID;
	r = publish(cli, &p, r);
	bn_prove_clear(&p);
	return r;
}

static int cmd_prove(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *plan = NULL;
	struct bn_stage stage;
	int r;

	req.command.argv = argc ? argv : NULL;
	if (req.quick && !req.pairs)
		req.pairs = 9;
	if (req.pairs && req.pairs < 9)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, ERANGE,
				    "--pairs takes 9 or more: fewer cannot prove several changes");
	r = bn_request_check(&req, &cli->err);
	if (r == 0)
		r = ask_profile(cli, &plan);
	if (r < 0)
		return r;
	r = bn_stage_open(cli, &req, &stage);
	if (r == 0)
		r = prove(cli, &stage);
	bn_stage_close(&stage);
	return r;
}

static const char *const better[] = {"lower", "higher", NULL};
static const struct gt_opt prove_opts[] = {
	{0, "profile", "NAME", "the profile of gputune whose changes are proved", GT_OPT_STR, &req.profile, NULL},
	{0, "plan", "FILE", "prove the changes of this plan of gputune", GT_OPT_STR, &req.plan, NULL},
	{0, "no-env", NULL, "with --plan: leave out the environment and affinity of the run", GT_OPT_FLAG, &req.no_env,
	 NULL},
	{0, "knob", "ID[=VALUE]", "prove this knob, with its own value or this one", GT_OPT_LIST, &req.knobs, NULL},
	{0, "env", "NAME=VALUE", "prove this variable", GT_OPT_LIST, &req.env, NULL},
	{0, "library", "PATH", "prove this library, or folder of libraries", GT_OPT_LIST, &req.libraries, NULL},
	{0, "workload", "LIST", "workloads, separated by commas (see gpubench list)", GT_OPT_STR, &req.workloads, NULL},
	{0, "metric", "SPEC", "of a command: wall, regex:PATTERN, json:KEY or file:PATH [wall]", GT_OPT_STR,
	 &req.command.spec, NULL},
	{0, "unit", "UNIT", "of the command's metric", GT_OPT_STR, &req.command.unit, NULL},
	{0, "better", "WAY", "which way the command's metric is better: lower or higher [lower]", GT_OPT_CHOICE,
	 &req.command.better, better},
	{0, "margin", "PERCENT", "smallest change of the command's metric that matters [1]", GT_OPT_REAL,
	 &req.command.margin_pct, NULL},
	{0, "warmup", "N", "samples of each launch of the command to leave out; without it found by the pilot",
	 GT_OPT_UINT, &req.command.warmup, NULL},
	{0, "timeout", "SECONDS", "end a launch of the command after this long", GT_OPT_REAL, &req.command.timeout_s,
	 NULL},
	{0, "pairs", "N", "pairs of each comparison [12, and planned looks for the total and the confirmation]",
	 GT_OPT_UINT, &req.pairs, NULL},
	{0, "quick", NULL, "nine pairs of each, and no further looks", GT_OPT_FLAG, &req.quick, NULL},
	{0, "seed", "N", "seed of the coin tosses; without it one is drawn and recorded", GT_OPT_UINT, &req.seed, NULL},
	{0, "data", "PATH", "text to train on: a file or a directory", GT_OPT_STR, &req.data, NULL},
	{0, "keep-inconclusive", NULL, "keep also what nobody can tell about", GT_OPT_FLAG, &opt.keep_inconclusive,
	 NULL},
	{0, "receipt", "FILE", "the receipt: what gputune apply --only-proven takes", GT_OPT_STR, &opt.receipt, NULL},
	{'o', "output", "FILE", "every phase with every raw sample, as JSON; written after every launch", GT_OPT_STR,
	 &req.out.json, NULL},
	{0},
};

const struct gt_cmd bn_cmd_prove = {
	.name = "prove",
	.args = "[-- CMD [ARGUMENTS]]",
	.summary = "which of the changes help on this host? A receipt of those that do",
	.help = "First the total effect of all changes, with A/A pairs; then each change: left out of all and alone, "
		"for "
		"up to six, and beyond that all in one fold-over design in which every launch informs every change. "
		"What "
		"helps is kept (Holm over the changes, no guard worse); what is the same, worse or inconclusive is "
		"dropped. "
		"What is kept is confirmed on fresh data, and only that estimate is the result; the metric that a "
		"change "
		"claims to act on must move, or its gain is called unexplained.\n\n"
		"The host ends as it began. Someone else changing a setting midway ends the session (exit 5). A "
		"workload "
		"is one of ours or the command after --, as for run. The receipt names host, kernel and driver: "
		"gputune apply --only-proven refuses any other.",
	.opts = prove_opts,
	.max_args = -1,
	.stop_at_arg = true,
	.run = cmd_prove,
};
