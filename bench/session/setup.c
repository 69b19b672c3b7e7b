/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bench/session/cpu_load.h"
#include "bench/result/result.h"
#include "bench/session/environ.h"
#include "bench/session/setup.h"
#include "lib/cli.h"
#include "lib/file.h"
#include "lib/text.h"
#include "runtime/data/loader.h"
#include "tune/profiles/select.h"
#include "tune/run/run.h"
#include "tune/model/tunable.h"
#include "tune/launch/program.h"
#include "tune/model/file_trust.h"
#include "tune/plan/plan_json.h"
#include "tune/plan/check_plan.h"

#define PLAN_MAX	(4u << 20)
#define PAIRS_MAX	1000
#define BUSY_SAMPLE_S	.3
#define BUSY_SHARE	.1

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

int bn_request_check(struct bn_request *q, struct gt_err *err)
{
	enum rt_data_kind kind;
	int r;

	bn_outputs_expand(&q->out);
	if (q->plan && q->no_plan)
		return usage(err, "--plan and --no-plan exclude each other");
	if (q->plan && q->knobs.n)
		return usage(err, "--plan and --knob exclude each other");
	if (q->no_env && !q->plan && !q->plan_doc)
		return usage(err, "--no-env only makes sense with --plan");
	if (q->reboot && (q->out.html || q->out.markdown || q->out.openmetrics || q->out.trace || q->minutes > 0))
		return usage(err, "--reboot allows only -o and no --minutes: create other files later with gpubench report");
	if (q->kernel_args.n && !q->reboot)
		return usage(err, "--boot-arg needs --reboot, because the kernel reads it at boot");
	if (!(q->settle_s >= 0 && q->settle_s <= 3600))
		return usage(err, "--settle takes 0 to 3600 seconds");
	for (size_t i = 0; i < q->kernel_args.n; i++)
		if (!q->kernel_args.v[i][0] || strpbrk(q->kernel_args.v[i], " \t\n\"'") || q->kernel_args.v[i][0] == '=')
			return usage(err, "--boot-arg takes one kernel argument, NAME or NAME=VALUE, without blanks or quotes");
	if (!(q->minutes >= 0))
		return usage(err, "--minutes takes a number of minutes above 0");
	if (q->pairs > PAIRS_MAX)
		return usage(err, "--pairs takes at most 1000");
	for (size_t i = 0; i < q->env.n; i++)
		if (!strchr(q->env.v[i], '=') || q->env.v[i][0] == '=')
			return usage(err, "--env takes NAME=VALUE");
	if (!q->command.argv && (q->command.spec || q->command.unit || q->command.better))
		return usage(err, "--metric, --unit and --better need a command: gpubench run [options] -- CMD");
	r = rt_data_guess(q->data, &kind, err);
	if (r < 0)
		return r;
	r = bn_outputs_try(&q->out, err);
	return r < 0 ? r : bn_command_check(&q->command, err);
}

/* Finds the program before the host is changed. Arms may have their own PATH. */
static int check_program(const struct bn_request *q, struct gt_err *err)
{
	const char *name = q->command.argv[0];
	int why = 0;
	gt_autofree char *path = tn_program_find(name, environ, &why);
	bool found = path != NULL;

	for (size_t i = 0; !found && i < q->env.n; i++)
		found = gt_starts_with(q->env.v[i], "PATH=");
	if (found)
		return 0;
	if (bn_workload_find(name))
		return gt_fail_exit(err, GT_EXIT_USAGE, ENOENT, "there is no program %s, but a workload with that "
								"name: gpubench run --workload %s", name, name);
	return gt_fail_exit(err, GT_EXIT_USAGE, ENOENT, "cannot run %.200s: %s", name,
			    why != ENOENT      ? tn_program_why(why) :
			    strchr(name, '/') ? "there is no such file" :
						"PATH has no such program");
}

/* Selects the workloads in list order. Those that cannot run here are added to doc.unavailable. */
static int choose_workloads(struct bn_stage *s, struct gt_fsroot *fs, struct gt_err *err)
{
	const struct bn_request *q = s->q;
	json_t *unavailable = json_array();
	gt_auto_strv wanted = { 0 };
	int r = q->command.argv ? check_program(q, err) : 0;

	json_object_set_new(s->doc, "unavailable", unavailable);
	if (r < 0)
		return r;
	if (q->command.argv) {
		gt_strv_add(&wanted, "cmd");
		if (!q->workloads)
			gt_strv_add(&wanted, "null"); /* a control workload takes little time */
	}
	gt_each_word(id, q->workloads ? q->workloads : "", ",") {
		if (!bn_workload_find(id))
			return bn_no_workload(id, err);
		gt_strv_add(&wanted, id);
	}
	for (const struct bn_workload *const *w = bn_workloads; *w; w++) {
		const char *why;

		if (wanted.n ? !gt_strv_has(&wanted, (*w)->id) : (*w)->optional)
			continue;
		why = (*w)->unavailable && ((*w)->run || !q->command.argv) ? (*w)->unavailable(fs) : NULL;
		if (why)
			json_array_append_new(unavailable, json_pack("{s:s, s:s}", "workload", (*w)->id, "why", why));
		else
			gt_strv_add(&s->workloads, (*w)->id);
	}
	return s->workloads.n ? 0 : usage(err, "none of these workloads can run here; see gpubench list");
}

/*
 * Fails if an interrupted experiment is still open, for example of a gpubench that was killed: the host is not in its
 * normal state.
 */
static int check_interrupted(struct gt_fsroot *fs, struct gt_err *err)
{
	struct timespec nap = { .tv_nsec = 100000000 };

	for (int i = 0; i < 20; i++) { /* the watchdog of a process killed just now may still be restoring settings */
		gt_auto_json *report = NULL;
		int exit_status = 0, r = tn_status_report(fs, &report, &exit_status, err);

		if (r < 0 || exit_status != TN_EXIT_INTERRUPTED)
			return r;
		nanosleep(&nap, NULL);
	}
	return gt_fail_exit(err, BN_EXIT_INVALID, EBUSY,
			    "an interrupted change of settings was not restored yet: run gputune recover");
}

/* Sets the desired value of one plan item to the value given by the user. */
static int set_desired(json_t *doc, const char *id, const char *value, struct gt_err *err)
{
	json_t *list = json_object_get(doc, "items"), *item;
	size_t i, found = 0;

	json_array_foreach(list, i, item) {
		if (!gt_streq(gt_json_get_str(item, "knob", NULL), id) ||
		    gt_streq(gt_json_get_str(item, "status", NULL), "n/a"))
			continue;
		found++;
		if (gt_streq(gt_json_get_str(item, "current", NULL), value)) {
			json_object_set_new(item, "status", json_string("already"));
			continue;
		}
		json_object_set_new(item, "wanted", json_string(value));
		json_object_set_new(item, "status", json_string("change"));
		json_object_set_new(item, "reason", json_string("requested on the command line"));
	}
	return found ? 0 : gt_fail_exit(err, GT_EXIT_USAGE, ENOENT, "--knob %s: this host does not have it", id);
}

/* Makes a plan from --knob ID and --knob ID=VALUE only. */
static int knob_plan(struct bn_stage *s, struct gt_fsroot *fs, json_t **ret, struct gt_err *err)
{
	const struct gt_strv *knobs = &s->q->knobs;
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_strv only = { 0 };
	gt_auto_json *doc = NULL;
	int r;

	for (size_t i = 0; i < knobs->n; i++) {
		const char *eq = strchr(knobs->v[i], '=');

		gt_strv_take(&only, eq ? gt_xstrndup(knobs->v[i], (size_t)(eq - knobs->v[i])) : gt_xstrdup(knobs->v[i]));
	}
	r = gt_fail_as(err, GT_EXIT_USAGE, tn_knob_check_list(&only, "--knob", err));
	if (r < 0)
		return r;
	r = tn_plan_make(fs, s->host, &(struct tn_plan_opts){ .only = &only, .optional = true }, &plan, err);
	if (r < 0)
		return r;
	doc = tn_plan_to_json(plan);
	for (size_t i = 0; i < knobs->n; i++) {
		const char *eq = strchr(knobs->v[i], '=');

		r = eq ? set_desired(doc, only.v[i], eq + 1, err) : 0;
		if (r < 0)
			return r;
	}
	*ret = gt_take(doc);
	return 0;
}

/* Loads the plan. gputune's own exit codes have other meanings in gpubench. */
static int load_plan(struct bn_stage *s, struct gt_fsroot *fs, struct gt_err *err)
{
	struct bn_request *q = s->q;
	gt_auto_json *doc = NULL;
	int r;

	if (q->plan_doc)
		doc = json_incref(q->plan_doc);
	else if (q->knobs.n)
		r = knob_plan(s, fs, &doc, err);
	else
		r = gt_fail_as(err, GT_EXIT_USAGE, tn_trusted_json(fs, q->plan, PLAN_MAX, &doc, err));
	if (!doc)
		return r;
	r = gt_fail_as(err, GT_EXIT_USAGE, tn_plan_from_json(doc, &s->plan, err));
	return r < 0 ? r : gt_fail_as(err, BN_EXIT_INCOMPARABLE, tn_plan_check_host(fs, s->host, s->plan, err));
}

/* Makes the plan that locks the clocks of all GPUs during each launch. */
static int lock_plan(struct bn_stage *s, struct gt_fsroot *fs, struct gt_err *err)
{
	const char *mhz = s->q->lock_clocks;
	gt_auto_strv only = { 0 }, set = { 0 };
	int r;

	if (s->q->reboot)
		return usage(err, "--lock-clocks and --reboot exclude each other");
	gt_strv_add(&only, "gpu.clocks");
	gt_strv_take(&set, strchr(mhz, '-') ? gt_xasprintf("gpu.clocks=%s", mhz) : gt_xasprintf("gpu.clocks=%s-%s", mhz, mhz));
	r = tn_plan_make(fs, s->host, &(struct tn_plan_opts){ .only = &only, .set = &set }, &s->lock, err);
	r = gt_fail_as(err, GT_EXIT_USAGE, r);
	if (r < 0)
		return gt_fail_prefix(err, "--lock-clocks %.40s", mhz);
	for (size_t i = 0; i < s->lock->n_item; i++) {
		const struct tn_item *it = &s->lock->item[i];

		if (it->status != TN_CHANGE && it->status != TN_ALREADY)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--lock-clocks %.40s: %s", mhz, it->reason);
	}
	for (size_t i = 0; i < s->q->knobs.n; i++)
		if (gt_starts_with(s->q->knobs.v[i], "gpu.clocks"))
			return usage(err, "--lock-clocks and a change of gpu.clocks exclude each other");
	return geteuid() ? gt_fail_exit(err, BN_EXIT_INVALID, EPERM, "--lock-clocks needs root: use sudo") : 0;
}

/* --library FILE is preloaded, --library DIR is searched first. Existing values of the variables stay after it. */
static int add_libraries(struct bn_request *q, struct gt_fsroot *fs, struct gt_err *err)
{
	int r;

	for (size_t i = 0; i < q->libraries.n; i++) {
		const char *path = q->libraries.v[i];
		bool file = strstr(path, ".so") != NULL;
		const char *name = file ? "LD_PRELOAD" : "LD_LIBRARY_PATH", *was = getenv(name);

		if (path[0] != '/' || strchr(path, ':'))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "--library %s: must be the absolute path of a library or directory", path);
		r = gt_fs_access(fs, path, R_OK);
		if (r < 0)
			return gt_fail_exit(err, GT_EXIT_USAGE, -r, "--library %s: %s", path, strerror(-r));
		gt_strv_take(&q->env, gt_xasprintf("%s=%s%s%s", name, path, was && *was ? ":" : "", was ? was : ""));
	}
	gt_strv_clear(&q->libraries);
	return 0;
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

/* Warns before the measurement if other programs use more than a tenth of the CPUs, which widens every interval. Names
 * these programs. */
static void warn_busy(struct gt_fsroot *fs, bool quiet, json_t *doc)
{
	gt_auto_buf programs = { 0 };
	json_t *top = json_array();
	struct bn_cpu_load b;

	bn_cpu_load_read(fs, BUSY_SAMPLE_S, &b);
	for (size_t i = 0; i < BN_CPU_LOAD_TOP && b.of[i] > 0; i++) {
		json_array_append_new(top, json_pack("{s:o, s:f}", "name", gt_json_str(b.name[i]), "cpu_pct", 100 * b.of[i]));
		if (b.of[i] >= .01)
			gt_buf_printf(&programs, "%s%s %.0f %%", programs.len ? ", " : " (", b.name[i], 100 * b.of[i]);
	}
	json_object_set_new(json_object_get(doc, "host"), "busy_at_start",
			    json_pack("{s:o, s:o}", "cpu_pct", gt_json_real(100 * b.share), "top", top));
	if (b.share > BUSY_SHARE && !quiet)
		fprintf(stderr, "gpubench: host busy: other programs use %.0f %% of the CPUs%s%s; stop them or "
				"measure later, otherwise expect wide intervals and \"inconclusive\"\n",
			100 * b.share, programs.len ? programs.s : "", programs.len ? ")" : "");
}

/* Records conditions that make measurements on this host unreliable. */
static void preflight(struct gt_fsroot *fs, const struct pr_host *host, bool quiet, json_t *doc)
{
	json_t *notes = json_array();
	struct bn_environ e;

	bn_environ_read(fs, &e);
	json_object_set_new(json_object_get(doc, "run"), "notes", notes);
	json_object_set_new(json_object_get(doc, "host"), "load_at_start", gt_json_real(e.load1));
	if (e.load1 > .5 * (double)GT_MAX(1u, gt_set_count(&host->cpu.allowed)))
		bn_warning(notes, "load", "other programs use the CPUs; expect wide intervals", "load was %.1f at the start",
			   e.load1);
	if (e.psi_memory > 5)
		bn_warning(notes, "pressure", "free some memory", "tasks waited for memory %.0f %% of the last 10 s",
			   e.psi_memory);
	warn_busy(fs, quiet, doc);
}

static int open_boots(struct bn_stage *s, struct gt_cli *cli)
{
	const char *out = s->q->out.json;

	if (out && !gt_streq(out, "-"))
		s->file = bn_boots_path(cli->fs, out);
	s->boots = (struct bn_boots){ .fs = cli->fs, .file = s->file, .exe = s->exe, .settle_s = s->q->settle_s };
	return bn_boots_check(&s->boots, &cli->err);
}

int bn_stage_end(struct bn_stage *s, struct gt_cli *cli, int r)
{
	struct gt_err err = { 0 };

	if (!s->q->reboot)
		return r;
	if (gt_interrupted) /* the unit stays, so the next boot continues the session */
		return r != -EINPROGRESS ? r : gt_fail_exit(&cli->err, BN_EXIT_INVALID, EINTR,
							    "interrupted; continue with: gpubench run --resume %s", s->file);
	if (r == -EINPROGRESS) {
		gt_err_clear(&cli->err);
		r = gt_fail_as(&cli->err, BN_EXIT_INVALID, bn_boots_reboot(&s->boots, &cli->err));
		if (r >= 0) {
			fprintf(stderr, "gpubench: the host boots into the next arm; the measurements are in %s; to end the "
				"session: gpubench run --abandon --resume %s\n", s->file, s->file);
			return 0;
		}
	}
	if (bn_boots_end(cli->fs, s->file, &err) < 0)
		fprintf(stderr, "gpubench: %s\n", err.msg);
	return r;
}

/* Checks for root before the measurement. Otherwise the failure would come only after the pairs of identical arms,
 * which need no root. */
static int check_root(const struct bn_stage *s, struct gt_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < s->arms.n_factor; i++)
		n += s->arms.factor[i].kind == BN_FACTOR_ITEM;
	if (!n || !geteuid())
		return 0;
	return gt_fail_exit(err, BN_EXIT_INVALID, EPERM,
			    "one arm changes %zu setting%s of the host, which needs root: use sudo, or compare "
			    "changes that need no root (--no-plan, --env, --library)", n, n == 1 ? "" : "s");
}

/* Loads the plan and the launch environment of its profile. */
static int open_treatment(struct bn_stage *s, struct gt_fsroot *fs, struct gt_err *err)
{
	struct bn_request *q = s->q;
	struct tn_run_opts o = { .argv = q->command.argv, .program = q->command.argv ? TN_PROGRAM_AUTO : TN_PROGRAM_OPENMP };
	int r;

	r = add_libraries(q, fs, err);
	if (r >= 0 && q->lock_clocks)
		r = check_interrupted(fs, err);
	if (r >= 0 && q->lock_clocks)
		r = lock_plan(s, fs, err);
	if (r < 0 || !(q->plan || q->plan_doc || q->knobs.n))
		return r;
	r = check_interrupted(fs, err);
	if (r < 0)
		return r;
	r = load_plan(s, fs, err);
	if (r < 0 || !s->plan || q->no_env || q->knobs.n)
		return r;
	o.profile = s->plan->profile;
	return tn_run_make(fs, s->host, &o, &s->run, err);
}

int bn_stage_open(struct gt_cli *cli, struct bn_request *q, struct bn_stage *s)
{
	struct pr_discover_opts discover = { .nvml_timeout_s = 5 };
	gt_auto_strv command = { 0 };
	int r;

	*s = (struct bn_stage){ .q = q };
	if (gt_fs_require_live(cli->fs, "measuring", &cli->err) < 0)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "measuring needs the live host, not --root");
	if (gt_fs_readlink(cli->fs, "/proc/self/exe", &s->exe) < 0)
		return gt_fail(&cli->err, ENOENT, "cannot find the path of this program");
	r = pr_host_discover(cli->fs, &discover, &s->host, &cli->err);
	if (r < 0)
		return r;
	r = open_treatment(s, cli->fs, &cli->err);
	if (r < 0)
		return r;
	r = q->reboot ? open_boots(s, cli) : 0;
	if (r < 0)
		return r;
	command_line(cli->fs, &command);
	s->doc = bn_result_new(cli->fs, s->host, command.v);
	r = choose_workloads(s, cli->fs, &cli->err);
	if (r < 0)
		return r;
	s->arms = (struct bn_arms){ .fs = cli->fs, .host = s->host, .plan = s->plan, .lock = s->lock, .run = s->run, .env = &q->env,
				    .kernel_args = &q->kernel_args, .boots = q->reboot ? &s->boots : NULL,
				    .command = &q->command, .exe = s->exe, .data = q->data, .out = q->out.json };
	bn_arms_init(&s->arms);
	r = check_root(s, &cli->err);
	if (r < 0)
		return r;
	preflight(cli->fs, s->host, cli->quiet, s->doc);
	return 0;
}

void bn_stage_close(struct bn_stage *s)
{
	bn_arms_clear(&s->arms);
	bn_command_clear(&s->q->command);
	gt_strv_clear(&s->workloads);
	tn_run_free(s->run);
	tn_plan_free(s->plan);
	tn_plan_free(s->lock);
	pr_host_free(s->host);
	json_decref(s->doc);
	free(s->exe);
	free(s->file);
}

static json_t *strings(char *const *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, gt_json_str(v[i]));
	return list;
}

void bn_stage_store_request(const struct bn_stage *s, size_t aa_pairs)
{
	const struct bn_request *q = s->q;

	json_object_set_new(json_object_get(s->doc, "run"), "resume",
			    json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:f}", "plan",
				      s->plan ? tn_plan_to_json(s->plan) : json_null(), "no_env",
				      q->no_env || q->knobs.n > 0, "env", strings(q->env.v, q->env.n), "workloads",
				      strings(s->workloads.v, s->workloads.n), "data", gt_json_str(q->data), "command",
				      q->command.argv ? bn_command_to_json(&q->command) : json_null(), "aa_pairs",
				      (json_int_t)aa_pairs, "reboot", q->reboot, "boot_args",
				      strings(q->kernel_args.v, q->kernel_args.n), "settle_s", q->settle_s));
	if (q->lock_clocks)
		json_object_set_new(json_object_get(json_object_get(s->doc, "run"), "resume"), "lock_clocks",
				    gt_json_str(q->lock_clocks));
}

static int recall_strings(const json_t *o, const char *key, struct gt_strv *ret, struct gt_err *err)
{
	json_t *list = NULL, *v;
	size_t i;
	int r = gt_json_req_array(o, key, &list, err);

	json_array_foreach(list, i, v) {
		if (!json_is_string(v))
			return gt_fail(err, EINVAL, "\"%s\" is not a list of strings", key);
		gt_strv_add(ret, json_string_value(v));
	}
	return r;
}

int bn_request_restore(const json_t *doc, struct bn_request *q, struct gt_strv *argv, struct gt_err *err)
{
	json_t *o = NULL, *cmd, *plan;
	gt_auto_strv ids = { 0 };
	gt_auto_buf list = { 0 };
	int r;

	r = gt_json_req_object(json_object_get(doc, "run"), "resume", &o, err);
	if (r < 0)
		return r;
	r = recall_strings(o, "env", &q->env, err);
	if (r < 0)
		return r;
	r = recall_strings(o, "workloads", &ids, err);
	if (r < 0)
		return r;
	q->reboot = gt_json_get_bool(o, "reboot", false);
	q->settle_s = gt_json_get_real(o, "settle_s", 0);
	q->lock_clocks = gt_json_get_str(o, "lock_clocks", NULL);
	r = q->reboot ? recall_strings(o, "boot_args", &q->kernel_args, err) : 0;
	if (r < 0)
		return r;
	cmd = json_object_get(o, "command");
	r = json_is_object(cmd) ? recall_strings(cmd, "argv", argv, err) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < ids.n; i++)
		if (!gt_streq(ids.v[i], "cmd"))
			gt_buf_printf(&list, "%s%s", list.len ? "," : "", ids.v[i]);
	q->workloads = list.len || argv->n ? gt_buf_take(&list) : NULL; /* only the command is measured */
	plan = json_object_get(o, "plan");
	q->plan_doc = json_is_object(plan) ? plan : NULL;
	q->no_env = gt_json_get_bool(o, "no_env", false);
	q->data = gt_json_get_str(o, "data", NULL);
	q->seed = (uint64_t)gt_json_get_int(json_object_get(doc, "run"), "seed", 0);
	if (argv->n) {
		int64_t warmup = gt_json_get_int(cmd, "warmup", -1);

		q->command.argv = argv->v;
		q->command.spec = gt_json_get_str(cmd, "metric", NULL);
		q->command.unit = gt_json_get_str(cmd, "unit", NULL);
		q->command.better = gt_json_get_str(cmd, "better", NULL);
		q->command.margin_pct = gt_json_get_real(cmd, "margin_pct", 1);
		q->command.timeout_s = gt_json_get_real(cmd, "timeout_s", 0);
		q->command.warmup = warmup < 0 ? UINT64_MAX : (uint64_t)warmup;
	}
	return 0;
}
