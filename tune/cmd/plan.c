/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/file.h"
#include "lib/log.h"
#include "tune/cmd/gputune.h"
#include "tune/plan/outside.h"
#include "tune/plan/plan_json.h"
#include "tune/txn/session.h"

const char *tn_opt_profile;
struct gt_strv tn_opt_only, tn_opt_skip, tn_opt_set;
bool tn_opt_optional;
static const char *output;
static bool as_diff;

struct tn_plan_opts tn_choice(void)
{
	return (struct tn_plan_opts){ .profile = tn_opt_profile, .only = &tn_opt_only, .skip = &tn_opt_skip, .set = &tn_opt_set,
				      .optional = tn_opt_optional };
}

/* A plan made during a transaction would mistake temporary values for those of the host. */
static int check_quiet(struct gt_cli *cli)
{
	gt_auto(tn_journal) *j = NULL;
	int r = tn_journal_load(cli->fs, &j, &cli->err);

	if (r == -EACCES) { /* every user may make a plan; only root may read the journal */
		gt_err_clear(&cli->err);
		return 0;
	}
	return r < 0 ? r : tn_txn_check(j, true, &cli->err);
}

int tn_make_plan(struct gt_cli *cli, struct tn_plan **ret)
{
	struct tn_plan_opts o = tn_choice();
	const struct pr_host *host = NULL;
	gt_auto(pr_host) *own = NULL;
	int r = check_quiet(cli);

	r = r < 0 ? r : tn_plan_make(cli->fs, NULL, &o, ret, &cli->err);
	if (r >= 0 && tn_plan_outside(*ret) && tn_host_get(cli->fs, NULL, &own, &host, NULL) >= 0)
		(*ret)->outside = tn_outside_json(*ret, host);
	return r;
}

void tn_print_plan(struct gt_cli *cli, const json_t *doc)
{
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		tn_show_plan(doc, cli->verbose, cli->color);
}

static int save(struct gt_cli *cli, const json_t *doc)
{
	char *text = gt_json_text(doc);
	int r = gt_file_write(output, text, strlen(text), 0644, &cli->err);

	free(text);
	return r;
}

static int run_plan(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_json *doc = NULL;
	int r = tn_make_plan(cli, &plan);

	if (r < 0)
		return r;
	doc = tn_plan_to_json(plan);
	if (output) {
		r = save(cli, doc);
		if (r < 0 || !strcmp(output, "-"))
			return r;
	}
	if (as_diff && !cli->json)
		tn_show_plan_diff(doc, cli->color);
	else
		tn_print_plan(cli, doc);
	if (output && !cli->quiet && !cli->json)
		printf("Saved as %s: gputune apply %s\n", output, output);
	return 0;
}

static const struct gt_opt opts[] = {
	TN_CHOICE_OPTS,
	TN_SET_OPT,
	TN_OPTIONAL_OPT,
	{0, "diff", NULL, "print the changes as a diff", GT_OPT_FLAG, &as_diff},
	{'o', "output", "FILE", "save the plan to FILE for gputune apply (-: standard output)", GT_OPT_STR, &output},
	{0},
};
const struct gt_cmd tn_cmd_plan = {
	.name = "plan",
	.args = "",
	.group = "Tune this host",
	.summary = "Show which settings would change, and why",
	.opts = opts,
	.run = run_plan,
	.help = "Prints for each knob its value, the value that fits this host, and the reason. Changes nothing. A saved "
		"plan can be reviewed and applied later; apply refuses it if the host has changed since.",
};
