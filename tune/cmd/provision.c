/* SPDX-License-Identifier: Apache-2.0 */
/* gputune provision: installs missing packages, and removes them again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "lib/log.h"
#include "tune/cmd/gputune.h"
#include "tune/provision/provision.h"
#include "tune/model/file_trust.h"

#define PLAN_MAX (4u << 20)

static struct gt_strv with, skip;
static const char *gpu, *output;
static bool no_hold, dry_run;

static int check_parts(struct gt_cli *cli, const struct gt_strv *ids)
{
	for (size_t i = 0; i < ids->n; i++)
		if (!tn_part_find(ids->v[i]))
			return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
					    "there is no part %s: gputune provision plan --verbose names them",
					    ids->v[i]);
	return 0;
}

static int take_options(struct gt_cli *cli, struct tn_provision_opts *ret)
{
	uint64_t id = 0;
	int r = check_parts(cli, &with);

	if (!r)
		r = check_parts(cli, &skip);
	if (!r && gpu && (gt_parse_hex(gpu + 5 * gt_starts_with(gpu, "10de:"), &id) < 0 || !id || id > 0xffff))
		r = gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				 "--device-id takes the PCI device id of an NVIDIA GPU in hexadecimal, as lspci -nn prints it: "
				 "10de:2330 or 2330, not '%.60s'", gpu);
	*ret = (struct tn_provision_opts){.with = &with, .skip = &skip, .gpu = (unsigned)id, .no_hold = no_hold};
	return r;
}

static int discover(struct gt_cli *cli, struct pr_host **ret)
{
	struct pr_discover_opts o = {.no_nvml = true};

	return pr_host_discover(cli->fs, &o, ret, &cli->err);
}

static int save(struct gt_cli *cli, const json_t *doc)
{
	gt_autofree char *text = gt_json_text(doc);

	return gt_file_write(output, text, strlen(text), 0644, &cli->err);
}

/* Makes the plan. The two simulations by apt take seconds, so a terminal gets a progress line. */
static int make_plan(struct gt_cli *cli, const struct pr_host *host, const struct tn_provision_opts *o, json_t **ret)
{
	int r;

	if (isatty(STDERR_FILENO))
		gt_progress("asking apt what it would do", 0, 0);
	r = tn_provision_plan(cli->fs, host, o, ret, &cli->err);
	gt_progress_end();
	return r;
}

static int run_plan(struct gt_cli *cli, const struct pr_host *host)
{
	struct tn_provision_opts o;
	gt_auto_json *doc = NULL;
	int r = take_options(cli, &o);

	if (!r)
		r = make_plan(cli, host, &o, &doc);
	if (!r && output)
		r = save(cli, doc);
	if (r < 0)
		return r;
	if (gt_streq(output, "-"))
		; /* already on standard output */
	else if (cli->json)
		gt_json_print(stdout, doc);
	else
		tn_show_provision(doc, cli->verbose, cli->color);
	if (output && strcmp(output, "-") && !cli->quiet && !cli->json)
		printf("Saved as %s: gputune provision apply %s\n", output, output);
	return json_array_size(json_object_get(doc, "refusals")) ? TN_EXIT_REFUSED : 0;
}

static int read_plan(struct gt_cli *cli, const char *path, json_t **ret)
{
	if (with.n || skip.n || gpu || no_hold || output)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "a saved plan is applied as it is: options are for gputune provision plan");
	return tn_trusted_json(cli->fs, path, PLAN_MAX, ret, &cli->err);
}

static int run_apply(struct gt_cli *cli, const struct pr_host *host, const char *path)
{
	struct tn_provision_opts o;
	gt_auto_json *plan = NULL, *report = NULL;
	int status = 0, r = take_options(cli, &o);

	if (!r)
		r = path ? read_plan(cli, path, &plan) : make_plan(cli, host, &o, &plan);
	if (r < 0)
		return r;
	r = tn_provision_apply(cli->fs, host, plan, &report, &status, &cli->err);
	if (report && (r >= 0 || cli->json)) {
		if (cli->json)
			gt_json_print(stdout, report);
		else
			tn_show_provision_report(report, cli->color);
	}
	return r < 0 ? r : status;
}

static int run_revert(struct gt_cli *cli)
{
	gt_auto_json *report = NULL;
	int status = 0, r;

	if (with.n || skip.n || gpu || no_hold || output)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "revert removes everything that apply installed: its only option is --dry-run");
	cli->changes_host = !dry_run;
	r = tn_provision_revert(cli->fs, dry_run, &report, &status, &cli->err);
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, report);
	else
		tn_show_provision_report(report, cli->color);
	return status;
}

static int run_provision(struct gt_cli *cli, int argc, char **argv)
{
	bool plan = !strcmp(argv[0], "plan"), apply = !strcmp(argv[0], "apply"), revert = !strcmp(argv[0], "revert");
	gt_auto(pr_host) *host = NULL;
	int r;

	if ((!plan && !apply && !revert) || (argc > 1 && !apply))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "provision takes plan, apply [PLAN] or revert, not '%s'",
				    argc > 1 && (plan || revert) ? argv[1] : argv[0]);
	if (revert)
		return run_revert(cli);
	r = discover(cli, &host);
	if (r < 0)
		return r;
	cli->changes_host = apply && !dry_run;
	if (apply && !dry_run)
		return run_apply(cli, host, argc > 1 ? argv[1] : NULL);
	if (argc > 1)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "--dry-run shows the plan that would be made now: without PLAN");
	return run_plan(cli, host);
}

static const char *part_word(size_t i)
{
	return tn_parts[i].id;
}

static const char *verb(size_t i)
{
	static const char *const verbs[] = {"plan", "apply", "revert", NULL};

	return verbs[i];
}

static const struct gt_opt opts[] = {
	{0, "with", "PART", "include this optional part (repeatable)", GT_OPT_LIST, &with, .word = part_word},
	{0, "skip", "PART", "leave out this part (repeatable)", GT_OPT_LIST, &skip, .word = part_word},
	{0, "device-id", "ID", "plan for a GPU with this PCI device id, such as 10de:2330", GT_OPT_STR, &gpu},
	{0, "gpu", "ID", "", GT_OPT_STR, &gpu, .listed = GT_OLD_NAME},
	{0, "no-hold", NULL, "do not put the driver on hold", GT_OPT_FLAG, &no_hold},
	{0, "dry-run", NULL, "with apply or revert: show the changes and make none", GT_OPT_FLAG, &dry_run},
	{'o', "output", "FILE", "save the plan to FILE for gputune provision apply (-: standard output)", GT_OPT_STR, &output},
	{0},
};
const struct gt_cmd tn_cmd_provision = {
	.name = "provision",
	.args = "plan|apply [PLAN]|revert",
	.group = "Run and install",
	.summary = "Install missing packages for training, and remove them again",
	.opts = opts,
	.min_args = 1,
	.max_args = 2,
	.word = verb,
	.run = run_provision,
	.help = "plan: show the missing packages that fit the GPU: driver, kernel headers, TCMalloc, OpenMP and others. Prints "
		"their sizes and the commands, after a simulation by apt. Refuses incompatible combinations.\n"
		"apply: install this set; after a failure, remove it again.\n"
		"revert: remove what apply installed, except packages that are used since.\n"
		"Nothing is installed by pip: plan prints the commands for a virtual environment.",
};
