/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench launch WORKLOAD: runs one workload once, in this process. */
#include <errno.h>
#include <stdlib.h>
#include "bench/cmd/cmds.h"
#include "bench/stats/stats.h"
#include "bench/workload/launch.h"
#include "lib/fsroot.h"
#include "lib/table.h"

static struct {
	uint64_t seed, salt;
	const char *data;
} opt;

static void launch_table(const json_t *doc)
{
	gt_auto(gt_table) *t = gt_table_new();
	size_t i, k;
	json_t *m, *v;

	gt_table_column(t, "METRIC", GT_LEFT);
	gt_table_column(t, "MEDIAN", GT_RIGHT);
	gt_table_column(t, "MIN", GT_RIGHT);
	gt_table_column(t, "MAX", GT_RIGHT);
	gt_table_column(t, "SAMPLES", GT_RIGHT);
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		json_t *samples = json_object_get(m, "samples");
		size_t skip = (size_t)gt_json_get_int(m, "warmup", 0), n = 0;
		gt_autofree double *x = gt_xcalloc(json_array_size(samples) + 1, sizeof(*x));

		json_array_foreach(samples, k, v)
			if (k >= skip)
				x[n++] = json_number_value(v);
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(m, "id", "?"));
		gt_table_cell(t, "%.4g %s", bn_median(x, n), gt_json_get_str(m, "unit", ""));
		gt_table_cell(t, "%.4g", bn_quantile(x, n, 0));
		gt_table_cell(t, "%.4g", bn_quantile(x, n, 1));
		gt_table_cell(t, "%zu", n);
	}
	gt_table_print(t, stdout, false);
}

static int cmd_launch(struct gt_cli *cli, int argc, char **argv)
{
	const struct bn_workload *w = bn_workload_find(argv[0]);
	const char *fault = getenv("GPUBENCH_FAULT");
	struct bn_launch l = { .fs = cli->fs, .seed = opt.seed, .salt = opt.salt, .data = opt.data,
			       .fault = gt_streq(fault, "verify") };
	gt_auto_json *doc = NULL;
	int r;

	if (!w)
		return bn_no_workload(argv[0], &cli->err);
	r = gt_fs_require_live(cli->fs, "measuring", &cli->err);
	if (r < 0)
		return r;
	r = bn_launch_run(w, &l, &doc, &cli->err);
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		launch_table(doc);
	if (l.wrong[0])
		return gt_fail_exit(&cli->err, BN_EXIT_WRONG, EBADMSG, "%s: %s", w->id, l.wrong);
	return 0;
}

static const struct gt_opt launch_opts[] = {
	{0, "seed", "N", "set the seed of the workload, the same for both arms", GT_OPT_UINT, &opt.seed, NULL},
	{0, "salt", "N", "set the seed of this launch alone", GT_OPT_UINT, &opt.salt, NULL},
	{0, "data", "PATH", "train on this text, a file or a directory", GT_OPT_STR, &opt.data, NULL},
	{0},
};

const struct gt_cmd bn_cmd_launch = {
	.name = "launch",
	.args = "WORKLOAD",
	.group = "Internal",
	.listed = GT_RARE,
	.summary = "Run one workload once, in this process",
	.help = "For each launch, gpubench run starts this command in a new process. --json prints the samples "
		"(gpubench-launch/1).",
	.ignores = GT_ROOT_IGNORED,
	.opts = launch_opts,
	.min_args = 1,
	.max_args = 1,
	.word = bn_workload_word,
	.run = cmd_launch,
};
