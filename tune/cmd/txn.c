/* SPDX-License-Identifier: Apache-2.0 */
/* gputune apply, verify, revert, status, recover and history. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include "lib/log.h"
#include "lib/priv.h"
#include "tune/cmd/gputune.h"
#include "tune/plan/plan_json.h"
#include "tune/plan/receipt.h"
#include "tune/txn/history.h"
#include "tune/txn/txn.h"
#include "tune/provision/provision.h"
#include "tune/model/file_trust.h"

#define PLAN_MAX	(4u << 20)

static bool persist, dry_run;
static const char *only_proven;

static void show(struct gt_cli *cli, const json_t *report)
{
	if (cli->json)
		gt_json_print(stdout, report);
	else
		tn_show_report(report, cli->color);
}

/*
 * Drops all capabilities except those that writing kernel files requires, before the host is changed. Plans and profiles
 * were read before that, or belong to root.
 */
static void narrow(struct gt_cli *cli)
{
	/* the PCI configuration space and kernel.numa_balancing; hidden /proc entries of other users; the kernel log */
	uint64_t caps = GT_CAP(CAP_SYS_ADMIN) | GT_CAP(CAP_SYS_PTRACE) | GT_CAP(CAP_SYSLOG);
	int r = gt_fs_is_live(cli->fs) && geteuid() == 0 ? gt_priv_keep(caps) : 0;

	cli->changes_host = true;
	if (r < 0)
		gt_warn("cannot drop capabilities that are not needed: %s", strerror(-r));
}

/* ---- apply ----------------------------------------------------------------------------------------------------------
 */

static int read_plan(struct gt_cli *cli, const char *path, struct tn_plan **ret)
{
	gt_auto_json *doc = NULL;
	int r;

	if (tn_opt_profile || tn_opt_only.n || tn_opt_skip.n || tn_opt_set.n || tn_opt_optional)
		return gt_fail_exit(
			&cli->err, GT_EXIT_USAGE, EINVAL,
			"a saved plan is applied unchanged: give --profile, --only, --skip, --set and --optional to gputune plan");
	r = tn_trusted_json(cli->fs, path, PLAN_MAX, &doc, &cli->err);
	return r < 0 ? r : tn_plan_from_json(doc, ret, &cli->err);
}

static int run_apply(struct gt_cli *cli, int argc, char **argv)
{
	struct tn_plan_opts o = tn_choice();
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_json *report = NULL;
	int r;

	if (argc && only_proven)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "PLAN and --only-proven exclude each other");
	if (only_proven)
		r = tn_plan_from_receipt(cli->fs, NULL, &o, only_proven, &plan, &cli->err);
	else if (argc)
		r = read_plan(cli, argv[0], &plan);
	else
		r = dry_run ? tn_make_plan(cli, &plan) : tn_plan_make(cli->fs, NULL, &o, &plan, &cli->err);
	if (dry_run && !r) {
		gt_auto_json *doc = tn_plan_to_json(plan);

		tn_print_plan(cli, doc);
	}
	if (dry_run)
		return r;
	narrow(cli);
	if (!r)
		r = tn_apply(cli->fs, plan, &(struct tn_apply_opts){ .persist = persist }, &report, &cli->err);
	if (report)
		tn_history_add(cli->fs, report, plan->profile);
	if (report && r >= 0)
		show(cli, report);
	else if (report && cli->json)
		gt_json_print(stdout, report);
	if (r >= 0 && !argc && tn_plan_outside(plan))
		return gt_fail_exit(&cli->err, TN_EXIT_REFUSED, EROFS,
				    "%zu setting%s cannot be changed in this container: gputune plan prints the commands for its "
				    "start and its host", tn_plan_outside(plan), tn_plan_outside(plan) == 1 ? "" : "s");
	return r < 0 ? r : json_object_get(report, "left_out") ? TN_EXIT_REFUSED : 0;
}

static const struct gt_opt apply_opts[] = {
	TN_CHOICE_OPTS,
	TN_SET_OPT,
	TN_OPTIONAL_OPT,
	{ 0, "only-proven", "RECEIPT", "apply only what gpubench prove confirmed on this host", GT_OPT_STR, &only_proven },
	{ 0, "dry-run", NULL, "show the plan and change nothing", GT_OPT_FLAG, &dry_run },
	{ 0, "persist", NULL, "keep the values after a reboot, in files in /etc", GT_OPT_FLAG, &persist },
	{ 0 },
};
const struct gt_cmd tn_cmd_apply = {
	.name = "apply",
	.args = "[PLAN]",
	.group = "Tune this host",
	.summary = "Apply a saved plan, or the plan that gputune plan shows",
	.opts = apply_opts,
	.max_args = 1,
	.run = run_apply,
	.help = "Stores the old values on disk before it writes the first new one, and reads each new value back. If one "
		"fails, restores all old values. Repeated calls keep the values from before the first one.",
};

/* ---- the others
 * ------------------------------------------------------------------------------------------------------ */

typedef int report_fn(struct gt_fsroot *fs, json_t **ret, int *ret_exit, struct gt_err *err);

static int run_report(struct gt_cli *cli, report_fn *fn, bool changes)
{
	gt_auto_json *report = NULL;
	int status = 0, r;

	if (changes)
		narrow(cli);
	r = fn(cli->fs, &report, &status, &cli->err);
	if (report && changes)
		tn_history_add(cli->fs, report, NULL);
	if (report)
		show(cli, report);
	return r < 0 ? r : status;
}

/* Logs drift with priority warning. The report itself has priority info in systemd's journal, too low for an alert. */
static void warn_drift(const json_t *report)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "values"), i, o) {
		const char *why = gt_json_get_str(o, "overridden", NULL), *instance = gt_json_get_str(o, "instance", NULL);

		if (why)
			gt_warn("%s%s%s is %s, not %s: %s", gt_json_get_str(o, "knob", "?"), instance ? ":" : "",
				instance ? instance : "", gt_json_get_str(o, "actual", "?"), gt_json_get_str(o, "new", "?"), why);
	}
}

static int verify(struct gt_fsroot *fs, json_t **ret, int *ret_exit, struct gt_err *err)
{
	int r = tn_verify(fs, ret, ret_exit, err);

	if (r >= 0 && gt_log_is_journal())
		warn_drift(*ret);
	return r;
}

static int run_verify(struct gt_cli *cli, int argc, char **argv)
{
	return run_report(cli, verify, false);
}

const struct gt_cmd tn_cmd_verify = {
	.name = "verify",
	.args = "",
	.group = "Tune this host",
	.summary = "Check that applied settings are in force and survive a reboot",
	.run = run_verify,
	.help = "A knob that is only raised may have a higher value, and one that is only lowered a lower value. verify "
		"reports this and does not count it as drift.",
};

static int run_revert(struct gt_cli *cli, int argc, char **argv)
{
	return run_report(cli, tn_revert, true);
}

const struct gt_cmd tn_cmd_revert = {
	.name = "revert",
	.args = "",
	.group = "Tune this host",
	.summary = "Restore the values from before apply",
	.run = run_revert,
	.help = "Restores the newest change first. Skips and reports values that were changed since.",
};

/* Reports settings, and packages that gputune provision installed. */
static int status_of_all(struct gt_fsroot *fs, json_t **ret, int *ret_exit, struct gt_err *err)
{
	int r = tn_status_report(fs, ret, ret_exit, err);
	json_t *packages = r < 0 ? NULL : tn_provision_held(fs);

	if (packages)
		json_object_set_new(*ret, "provisioned", packages);
	return r;
}

static int run_status(struct gt_cli *cli, int argc, char **argv)
{
	return run_report(cli, status_of_all, false);
}

const struct gt_cmd tn_cmd_status = {
	.name = "status",
	.args = "",
	.group = "Tune this host",
	.summary = "Show what is applied, since when and by whom",
	.run = run_status,
};

static int run_recover(struct gt_cli *cli, int argc, char **argv)
{
	return run_report(cli, tn_recover, true);
}

const struct gt_cmd tn_cmd_recover = {
	.name = "recover",
	.args = "",
	.group = "Tune this host",
	.summary = "Roll back a transaction that was interrupted",
	.run = run_recover,
};

/* ---- history ------------------------------------------------------------------------------------------------------ */

static int run_history(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = NULL;
	int r = tn_history_load(cli->fs, &doc, &cli->err);

	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		tn_show_history(doc, cli->verbose, cli->color);
	return 0;
}

const struct gt_cmd tn_cmd_history = {
	.name = "history",
	.args = "",
	.group = "Tune this host",
	.summary = "List what was applied and reverted, and when",
	.run = run_history,
	.help = "Lists the oldest entry first; --verbose adds each value. The history is information only: revert reads the "
		"journal.",
};
