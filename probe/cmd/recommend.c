/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe recommend: the exact lines for this host, Debian's own packages first. */
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/table.h"
#include "lib/text.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/check/driver_need.h"

static void print_steps(const json_t *steps)
{
	const json_t *s;
	size_t i;

	json_array_foreach(steps, i, s)
	{
		gt_autofree char *why = gt_xasprintf("%zu. %s:", i + 1, gt_json_get_str(s, "why", ""));

		gt_print_wrapped(stdout, why, 0, gt_term_width(stdout));
		gt_each_word(line, gt_json_get_str(s, "lines", ""), "\n")
			printf("     %s\n", line);
	}
}

static int run_recommend(struct gt_cli *cli, int argc, char **argv)
{
	struct pr_context c = {.fs = cli->fs};
	struct pr_driver_need need;
	gt_auto(pr_host) *h = NULL;
	json_t *steps = json_array(), *driver;
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gpuprobe-recommend/1", "steps", steps);
	int r = pr_discover_as_asked(cli, &h);

	if (r < 0)
		return r;
	c.host = h;
	pr_driver_need(&c, NULL, 0, &need);
	driver = pr_driver_step(&c, &need);
	if (driver)
		json_array_append_new(steps, driver);
	r = pr_wheel_steps(&c, &need, true, steps, &cli->err);
	pr_driver_need_clear(&need);
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_steps(steps);
	return 0;
}

static const struct gt_opt recommend_opts[] = {PR_OPT_NVML_TIMEOUT, {0}};
const struct gt_cmd pr_cmd_recommend = {
	.name = "recommend",
	.args = "",
	.group = "Choose software",
	.summary = "Recommend a driver and a PyTorch wheel for this host",
	.help = "Prints the commands for the newest PyTorch wheel that driver and GPUs support. Where no driver is loaded, "
		"prints those for Debian's driver if it supports the GPUs. Also names the smallest driver update that allows "
		"a newer wheel. Changes nothing.",
	.opts = recommend_opts,
	.only_reads = true,
	.run = run_recommend,
};
