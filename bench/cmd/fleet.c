/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench fleet: which host is unlike the others, in what, and why. */
#include "bench/cmd/cmds.h"
#include "bench/fleet/fleet.h"
#include "bench/report/forms.h"

static struct bn_outputs outputs;
static bool require_conclusive;

static int cmd_fleet(struct gt_cli *cli, int argc, char **argv)
{
	bn_auto_saved set = {0};
	gt_auto_json *doc = NULL;
	int r = bn_result_set_load(argv, &set, &cli->err);

	if (r < 0)
		return r;
	doc = bn_fleet_judge(&set);
	return bn_form_publish_verdict(cli, &bn_form_fleet, doc, &outputs, require_conclusive);
}

static const struct gt_opt opts[] = {
	{0, "require-conclusive", NULL, "exit 3 when no class has hosts enough to judge", GT_OPT_FLAG,
	 &require_conclusive, NULL},
	{'o', "output", "FILE", "the judgement as JSON", GT_OPT_STR, &outputs.json, NULL},
	{0, "html", "FILE", "the judgement as one page with a plot", GT_OPT_STR, &outputs.html, NULL},
	{0, "markdown", "FILE", "the judgement as Markdown", GT_OPT_STR, &outputs.markdown, NULL},
	{0},
};

const struct gt_cmd bn_cmd_fleet = {
	.name = "fleet",
	.args = "RESULT...",
	.summary = "which of many hosts is unlike the others, in what, and probably why",
	.help = "Each RESULT is a file that gpubench run wrote, or a folder of them; of several results of one machine "
		"the newest "
		"counts. Hosts with the same processor are a class, judged from four on: an outlier lies farther from "
		"the median "
		"host than chance would put any one of all hosts and metrics in one table out of twenty, by at least "
		"the margin of "
		"the metric. Its settings that differ from what most others have are named, first those that are known "
		"to move the "
		"metric. A host that is worse is exit status 1.\n\n"
		"On a cluster, one process on each host writes its file: srun --ntasks-per-node=1 gpubench run -o "
		"results/%h.json "
		"(or mpirun --map-by ppr:1:node), where %h is the host's name and %r the rank.",
	.opts = opts,
	.min_args = 1,
	.max_args = -1,
	.run = cmd_fleet,
};
