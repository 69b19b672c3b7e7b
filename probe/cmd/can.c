/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe can: answers about frameworks, wheels, environments and images, before they are installed. */
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "probe/advice/can.h"
#include "probe/cmd/gpuprobe.h"

static void print_answer(const json_t *a)
{
	const json_t *list = json_object_get(a, "reasons"), *r;
	size_t i;

	printf("%s: %s\n", gt_json_get_str(a, "what", ""), gt_json_get_str(a, "answer", ""));
	json_array_foreach(list, i, r)
	{
		gt_autofree char *line = gt_xasprintf("%s: %s (%s)", gt_json_get_str(r, "holds", ""),
						      gt_json_get_str(r, "what", ""), gt_json_get_str(r, "source", ""));

		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
}

static int run_can(struct gt_cli *cli, int argc, char **argv)
{
	static const int codes[] = {[PR_YES] = 0, [PR_NO] = 2, [PR_OPEN] = 3};
	struct pr_context c = {.fs = cli->fs};
	gt_auto(pr_host) *h = NULL;
	json_t *answers = json_array(), *a;
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gpuprobe-can/1", "answers", answers);
	enum pr_answer worst = PR_YES;
	size_t i;
	/* under WSL nobody but NVML knows of the GPU */
	bool nvml = !gt_fs_is_live(cli->fs) || gt_fs_exists(cli->fs, "/dev/dxg");
	int r = pr_host_discover(cli->fs, &(const struct pr_discover_opts){.no_nvml = !nvml}, &h, &cli->err);

	c.host = h;
	for (int k = 0; r >= 0 && k < argc; k++) {
		struct pr_question q = {.c = &c, .host = h, .err = &cli->err, .reasons = json_array()};

		r = pr_can_ask(&q, argv[k]);
		json_array_append_new(answers, json_pack("{s:o, s:s, s:o}", "what", gt_json_str(argv[k]), "answer",
							 pr_answer_name(q.worst), "reasons", q.reasons));
		worst = q.worst == PR_NO || worst == PR_NO ? PR_NO : GT_MAX(q.worst, worst);
	}
	if (r < 0)
		return r;
	json_object_set_new(doc, "exit_code", json_integer(codes[worst]));
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		json_array_foreach(answers, i, a) print_answer(a);
	return codes[worst];
}

const struct gt_cmd pr_cmd_can = {
	.name = "can",
	.args = "WHAT...",
	.group = "Choose software",
	.summary = "Check whether a framework, wheel, environment or image works here",
	.help = "WHAT is torch==2.14, torch==2.14+cu126, cuda==12.8, tensorflow==2.20, jax==0.12, a quoted "
		"NVIDIA_REQUIRE_CUDA expression, or the path of a wheel, a Python environment or an unpacked container "
		"image. Compares it with the driver, GPUs, C library and Python of this host. Installs and starts nothing. "
		"Each reason names its source. Exit status: 0 yes, 2 no, 3 unknown; the worst of several.",
	.min_args = 1,
	.max_args = -1,
	.only_reads = true,
	.run = run_can,
};
