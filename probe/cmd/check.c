/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe check, the default command. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lib/file.h"
#include "probe/check/check.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/report/render.h"
#include "probe/report/report.h"

static bool require_gpu;
static const char *format, *output, *baseline;
static struct gt_strv allow;
static const char *const formats[] = { "text", "json", "line", "markdown", "openmetrics", NULL };
double pr_nvml_timeout_s = NAN;
bool pr_no_nvml, pr_ask_cuda;
const char *pr_data_dir;
static const struct gt_opt report_opts[] = {
	{ 0, "require-gpu", NULL, "report a missing NVIDIA GPU as critical", GT_OPT_FLAG, &require_gpu },
	{ 'f', "format", "FORMAT", "print text, json, line (monitoring), markdown or openmetrics (default: text)", GT_OPT_CHOICE,
	  &format, formats },
	{ 'o', "output", "FILE", "write the report to FILE; needs a format other than text", GT_OPT_STR, &output },
	{ 0, "baseline", "FILE", "compare with a capture, a report or expectations in FILE", GT_OPT_STR, &baseline },
	{ 0, "allow", "PATH", "accept differences from the baseline at PATH (repeatable)", GT_OPT_LIST, &allow },
	PR_OPT_CUDA,
	PR_OPT_DATA,
	PR_OPT_NO_NVML,
	PR_OPT_NVML_TIMEOUT,
	{ 0 },
};

int pr_discover_as_asked(struct gt_cli *cli, struct pr_host **ret)
{
	const struct pr_discover_opts opts = { .nvml_timeout_s = pr_nvml_timeout_s,
					       .cuda = pr_ask_cuda,
					       .data = pr_data_dir,
					       .no_nvml = pr_no_nvml };

	if (pr_data_dir && *pr_data_dir != '/')
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--data needs an absolute path, not '%s'", pr_data_dir);
	return pr_host_discover(cli->fs, &opts, ret, &cli->err);
}

/* Prints or writes the report in the chosen format. */
static int put_report(struct gt_cli *cli, const json_t *doc)
{
	static const struct {
		const char *format;
		void (*render)(const json_t *doc, struct gt_buf *out);
	} renders[] = { { "line", pr_render_line }, { "markdown", pr_render_markdown }, { "openmetrics", pr_render_metrics } };
	const char *form = format ? format : cli->json ? "json" : "text";
	gt_auto_buf out = { 0 };

	if (!strcmp(form, "text") && baseline) {
		pr_baseline_print(doc, cli->quiet);
		return 0;
	}
	if (!strcmp(form, "text")) {
		pr_print_report(doc, cli->verbose > 0, cli->quiet, cli->color);
		return 0;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(renders); i++)
		if (!strcmp(form, renders[i].format))
			(baseline ? pr_baseline_line : renders[i].render)(doc, &out);
	if (!strcmp(form, "json")) {
		gt_autofree char *text = gt_json_text(doc);

		gt_buf_puts(&out, text);
	}
	if (output)
		return gt_file_write(output, out.s, out.len, 0644, &cli->err);
	fwrite(out.s, 1, out.len, stdout);
	return 0;
}

static int check_options(struct gt_cli *cli)
{
	if (output && !cli->json && (!format || !strcmp(format, "text")))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "--output needs --format json, line, markdown or openmetrics");
	if (allow.n && !baseline)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--allow needs --baseline");
	if (baseline && format && (!strcmp(format, "markdown") || !strcmp(format, "openmetrics")))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--baseline is given as text, json or line");
	return 0;
}

static int run_report(struct gt_cli *cli, int argc, char **argv)
{
	struct pr_context c = { .fs = cli->fs, .require_gpu = require_gpu };
	gt_auto(pr_host) *h = NULL;
	gt_autofree struct pr_judged *j = NULL;
	gt_auto_json *doc = NULL;
	size_t n;
	int r, code;

	r = check_options(cli);
	if (r < 0)
		return r;
	r = gt_file_try(output, &cli->err);
	if (r < 0)
		return r;
	r = pr_discover_as_asked(cli, &h);
	if (r < 0)
		return r;
	c.host = h;
	n = pr_judge(&c, &j);
	code = pr_exit_code(j, n);
	doc = pr_report_json(h, j, n, code);
	if (baseline) {
		json_t *compared = NULL;

		r = pr_baseline_compare(doc, baseline, &allow, &compared, &cli->err);
		if (r < 0)
			return r;
		json_decref(doc);
		doc = compared;
		code = (int)gt_json_get_int(doc, "exit_code", 3);
	}
	r = put_report(cli, doc);
	return r < 0 ? r : code;
}

const struct gt_cmd pr_cmd_check = {
	.name = "check",
	.args = "",
	.summary = "Check this host and print its problems",
	.group = "Diagnose",
	.opts = report_opts,
	.only_reads = true,
	.run = run_report,
};
