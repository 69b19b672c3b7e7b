/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench fleet: finds the hosts that differ from the others. */
#include "bench/cmd/cmds.h"
#include "bench/fleet/fleet.h"
#include "bench/report/forms.h"

static struct bn_outputs outputs;
static bool require_conclusive;

static int cmd_fleet(struct gt_cli *cli, int argc, char **argv)
{
	bn_auto_result_set set = {0};
	gt_auto_json *doc = NULL;
	int r = bn_result_set_load(argv, &set, &cli->err);

	if (r < 0)
		return r;
	doc = bn_fleet_judge(&set);
	return bn_form_publish_verdict(cli, &bn_form_fleet, doc, &outputs, require_conclusive);
}

static const struct gt_opt opts[] = {
	{0, "require-conclusive", NULL, "exit with 3 if no class has enough hosts", GT_OPT_FLAG,
	 &require_conclusive, NULL},
	{'o', "output", "FILE", "save the analysis as JSON", GT_OPT_STR, &outputs.json, NULL},
	{0, "html", "FILE", "write a page with a plot", GT_OPT_STR, &outputs.html, NULL},
	{0, "markdown", "FILE", "write a Markdown report", GT_OPT_STR, &outputs.markdown, NULL},
	{0},
};

const struct gt_cmd bn_cmd_fleet = {
	.name = "fleet",
	.args = "RESULT...",
	.group = "Many results",
	.summary = "Find the hosts that differ from the others, and why",
	.help = "RESULT is a file of gpubench run or a directory of such files; the newest result of each machine counts. "
		"Compares hosts with the same processor, if there are at least four. An outlier differs from the "
		"median host by more "
		"than chance and by the margin of the metric. Lists its settings that differ from most other hosts. Exit "
		"status 1 means that a host is worse. On a cluster, each host writes its file: srun --ntasks-per-node=1 "
		"gpubench run -o results/%h.json.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 1,
	.max_args = -1,
	.run = cmd_fleet,
};
