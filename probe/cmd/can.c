/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe can: answers about frameworks, wheels, environments and images; without an argument, recommends a driver and wheel. */
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/table.h"
#include "lib/text.h"
#include "probe/advice/can.h"
#include "probe/check/driver_need.h"
#include "probe/cmd/gpuprobe.h"

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

/* Recommends a driver and a PyTorch wheel: the document gpuprobe-recommend/1. */
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

static void print_answer(const json_t *a)
{
	const json_t *list = json_object_get(a, "reasons"), *r;
	size_t i;

	const char *instead = gt_json_get_str(a, "instead", NULL);

	printf("%s: %s%s\n", gt_json_get_str(a, "what", ""), gt_json_get_str(a, "answer", ""),
	       json_is_true(json_object_get(a, "on_cpu")) ? ", on the CPU" : "");
	json_array_foreach(list, i, r)
	{
		gt_autofree char *line = gt_xasprintf("%s: %s (%s)", gt_json_get_str(r, "holds", ""),
						      gt_json_get_str(r, "what", ""), gt_json_get_str(r, "source", ""));

		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
	if (instead) {
		gt_autofree char *line = gt_xasprintf("Use instead: %s", instead);

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
	int r;

	/* under WSL only NVML knows the GPU */
	pr_no_nvml = gt_fs_is_live(cli->fs) && !gt_fs_exists(cli->fs, "/dev/dxg");
	r = pr_discover_as_asked(cli, &h);
	c.host = h;
	for (int k = 0; r >= 0 && k < argc; k++) {
		struct pr_question q = {.c = &c, .host = h, .err = &cli->err, .reasons = json_array()};

		r = pr_can_ask(&q, argv[k]);
		json_array_append_new(answers, json_pack("{s:o, s:s, s:b, s:o, s:o}", "what", gt_json_str(argv[k]), "answer",
							 pr_answer_name(q.worst), "on_cpu", q.on_cpu && q.worst == PR_YES,
							 "instead", q.instead ? gt_json_str(q.instead) : json_null(),
							 "reasons", q.reasons));
		free(q.instead);
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

static int run_can_or_recommend(struct gt_cli *cli, int argc, char **argv)
{
	return argc ? run_can(cli, argc, argv) : run_recommend(cli, argc, argv);
}

static const struct gt_opt can_opts[] = {PR_OPT_NVML_TIMEOUT, {0}};
const struct gt_cmd pr_cmd_can = {
	.name = "can",
	.args = "[WHAT...]",
	.group = "Choose software",
	.summary = "Check whether a framework, wheel, environment or image works here",
	.help = "WHAT is torch, torch==2.14, torch==2.14+cu126, 'torch>=2.8', cuda==12.8, tensorflow, jax, an extension such as "
		"vllm or flash-attn==2.8, a quoted NVIDIA_REQUIRE_CUDA expression, or the path of a wheel, a Python environment or "
		"an unpacked container image. Compares it with the driver, GPUs, C library and Python of this host; each reason "
		"names its source. Without WHAT, prints the commands for the driver and the PyTorch wheel that fit this host. "
		"Installs and starts nothing. Exit status: 2 if an answer is no, else 3 if one is unknown, else 0.",
	.opts = can_opts,
	.max_args = -1,
	.only_reads = true,
	.run = run_can_or_recommend,
};

const struct gt_cmd pr_cmd_recommend = {
	.name = "recommend",
	.args = "",
	.listed = GT_OLD_NAME,
	.summary = "Recommend a driver and a PyTorch wheel; old name of gpuprobe can",
	.opts = can_opts,
	.only_reads = true,
	.run = run_recommend,
};
