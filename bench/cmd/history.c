/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench history: finds change points in the results of one host. */
#include <errno.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/fleet/fleet.h"
#include "bench/report/forms.h"
#include "bench/result/result.h"

static struct {
	const char *host;
	uint64_t seed;
} opt = {.seed = 1};

static struct bn_outputs outputs;
static bool require_conclusive;

/* Skips results of other hosts than --host. Without --host, results of several hosts are an error. Cloned nodes share an
 * identity; their other facts distinguish them. */
static int only_one(struct bn_result_set *set, struct gt_err *err)
{
	const struct bn_result *first = NULL;

	for (size_t i = 0; i < set->n; i++) {
		struct bn_result *s = &set->v[i];
		gt_auto_buf what = {0};

		if (s->skipped)
			continue;
		if (!gt_streq(s->identity, opt.host ? opt.host : first ? first->identity : s->identity)) {
			if (!opt.host)
				return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV,
						    "results of several machines (%.32s and %.32s): --host picks one, gpubench "
						    "fleet compares them",
						    first->identity, s->identity);
			s->skipped = gt_xstrdup("of another machine");
			continue;
		}
		if (first)
			bn_identity_difference(first->doc, s->doc, &what);
		if (what.len)
			return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV,
					    "results of several machines of one identity (%.32s): %.100s and %.100s differ in "
					    "%.200s", s->identity, first->name, s->name, what.s);
		first = first ? first : s;
	}
	return 0;
}

static int cmd_history(struct gt_cli *cli, int argc, char **argv)
{
	bn_auto_result_set set = {0};
	gt_auto_json *doc = NULL;
	int r;

	r = bn_result_set_load(argv, &set, &cli->err);
	if (r < 0)
		return r;
	r = only_one(&set, &cli->err);
	if (r < 0)
		return r;
	doc = bn_history_judge(&set, opt.seed);
	if (opt.host)
		json_object_set_new(doc, "host", gt_json_str(opt.host));
	return bn_form_publish_verdict(cli, &bn_form_history, doc, &outputs, require_conclusive);
}

static const struct gt_opt opts[] = {
	{0, "host", "IDENTITY", "analyse the results of this machine", GT_OPT_STR, &opt.host, NULL},
	{0, "seed", "N", "set the seed of the permutation tests (default: 1)", GT_OPT_UINT, &opt.seed, NULL},
	{0, "require-conclusive", NULL, "exit with 3 if there are fewer than eight results", GT_OPT_FLAG, &require_conclusive,
	 NULL},
	{'o', "output", "FILE", "save the analysis as JSON", GT_OPT_STR, &outputs.json, NULL},
	{0, "html", "FILE", "write a page with a plot of each metric", GT_OPT_STR, &outputs.html, NULL},
	{0, "markdown", "FILE", "write a Markdown report", GT_OPT_STR, &outputs.markdown, NULL},
	{0},
};

const struct gt_cmd bn_cmd_history = {
	.name = "history",
	.args = "RESULT...",
	.group = "Many results",
	.summary = "Find when this host became faster or slower, and why",
	.help = "RESULT is a file of gpubench run or a directory of such files, such as nightly runs. Sorts the results "
		"by date and finds the change points of each metric (E-divisive with permutation tests, 5 % for all "
		"metrics together). Lists the settings that changed at each point. Needs eight results. Exit status 1 "
		"means that the newest change of a primary or guard metric is a loss, 4 that the results are of several "
		"machines.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 1,
	.max_args = -1,
	.run = cmd_history,
};
