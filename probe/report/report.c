/* SPDX-License-Identifier: Apache-2.0 */
/* The report: one document, as JSON or as one screen with the cause first. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/cli.h"
#include "lib/file.h"
#include "lib/table.h"
#include "probe/check/check.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/report/render.h"
#include "probe/report/report.h"

static const char *verdict_word(int exit_code)
{
	static const char *const word[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	return word[exit_code];
}

static json_t *finding_json(const struct pr_judged *j, size_t i)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:o}", "id", j[i].check->id, "result", pr_result_name(j[i].f.result), "title",
			      j[i].check->title, "what", gt_json_str(j[i].f.what));

	json_object_set_new(o, "remedy", *j[i].f.remedy ? gt_json_str(j[i].f.remedy) : json_null());
	json_object_set_new(o, "cause", j[i].cause >= 0 ? json_string(j[j[i].cause].check->id) : json_null());
	return o;
}

/* The finding to mend first: the first failure that nothing explains, else the first such warning. */
static int first_cause(const struct pr_judged *j, size_t n)
{
	for (enum pr_result want = PR_FAIL; want >= PR_WARN; want--)
		for (size_t i = 0; i < n; i++)
			if (j[i].f.result == want && j[i].cause < 0)
				return (int)i;
	return -1;
}

static json_t *build(const struct pr_host *h, const struct pr_judged *j, size_t n, int exit_code)
{
	json_t *list = json_array();
	int cause = first_cause(j, n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, finding_json(j, i));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "schema", "gpuprobe/1", "verdict", verdict_word(exit_code),
			 "exit_code", exit_code, "cause", cause >= 0 ? json_string(j[cause].check->id) : json_null(), "checks",
			 list, "host", pr_host_to_json(h));
}

/* ---- text ----------------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *o, const char *key, const char *dflt)
{
	return gt_json_get_str(o, key, dflt);
}

static void GT_PRINTF(1, 2) print_line(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
}

static void print_host(const json_t *host)
{
	const json_t *cpu = json_object_get(host, "cpu"), *mem = json_object_get(host, "memory");
	size_t nodes = json_array_size(json_object_get(host, "nodes"));
	int64_t cores = gt_json_get_int(cpu, "cores", 0), cpus = gt_json_get_int(cpu, "cpus", 0);
	char total[32] = "an unknown amount", count[64] = "an unknown number of CPUs";

	if (json_is_integer(json_object_get(mem, "total_bytes")))
		gt_format_bytes(total, sizeof(total), (uint64_t)gt_json_get_int(mem, "total_bytes", 0));
	if (json_is_integer(json_object_get(cpu, "cpus")))
		snprintf(count, sizeof(count), "%d core%s, %d CPU%s", (int)cores, cores == 1 ? "" : "s", (int)cpus,
			 cpus == 1 ? "" : "s");
	print_line("%s, kernel %s%s%s%s", text_of(json_object_get(host, "distribution"), "pretty", "unknown distribution"),
		   text_of(json_object_get(host, "kernel"), "release", "?"),
		   json_is_string(json_object_get(host, "virtual")) ? ", " : "", text_of(host, "virtual", ""),
		   json_is_string(json_object_get(host, "container")) ? ", container" : "");
	print_line("%s%s%s%s: %s, %zu NUMA node%s, %s of memory", text_of(cpu, "model_name", "unknown CPU"),
		   text_of(cpu, "codename", NULL) ? " (" : "", text_of(cpu, "codename", ""),
		   text_of(cpu, "codename", NULL) ? ")" : "", count, nodes, nodes == 1 ? "" : "s", total);
}

/* Name, memory and driver of a card; the caller frees it. */
static char *gpu_kind(const json_t *gpu)
{
	const json_t *bytes = json_object_get(gpu, "memory_bytes");
	char mem[48] = "";

	if (json_is_integer(bytes)) {
		strcpy(mem, ", ");
		gt_format_bytes(mem + 2, sizeof(mem) - 2, (uint64_t)json_integer_value(bytes));
	}
	return gt_xasprintf("%s%s, driver %s", text_of(gpu, "name", "NVIDIA GPU"), mem, text_of(gpu, "driver", "none"));
}

static void print_gpus(const json_t *host)
{
	const json_t *nv = json_object_get(host, "nvidia"), *gpus = json_object_get(host, "gpus");
	const json_t *others = json_object_get(host, "other_gpus");
	int64_t cuda = gt_json_get_int(nv, "cuda_version", 0);
	size_t i = 0;

	if (!json_array_size(gpus) && text_of(nv, "tegra", NULL)) {
		print_line("%s: its GPU is in the processor", text_of(nv, "tegra", ""));
		return;
	}
	if (!json_array_size(gpus) && gt_json_get_int(nv, "nvml_count", 0) > 0) { /* WSL */
		printf("  no NVIDIA GPU on the PCI bus; NVML sees %d\n", (int)gt_json_get_int(nv, "nvml_count", 0));
		return;
	}
	if (!json_array_size(gpus) && json_array_size(others)) {
		const json_t *one;

		json_array_foreach(others, i, one)
			print_line("GPU %s: %s, driver %s, not examined", text_of(one, "pci", "?"), text_of(one, "maker", "?"),
				   text_of(one, "driver", "none"));
		return;
	}
	if (!json_array_size(gpus)) {
		puts(gt_json_get_int(host, "pci_unreadable", 0) ? "  whether there is an NVIDIA GPU is not known"
								: "  no NVIDIA GPU");
		return;
	}
	while (i < json_array_size(gpus)) { /* cards alike are one line */
		const json_t *first = json_array_get(gpus, i);
		gt_autofree char *what = gpu_kind(first);
		size_t n = 1;

		for (; i + n < json_array_size(gpus); n++) {
			gt_autofree char *next = gpu_kind(json_array_get(gpus, i + n));

			if (strcmp(what, next))
				break;
		}
		if (n == 1)
			print_line("GPU %s: %s", text_of(first, "pci", "?"), what);
		else
			print_line("%zu GPUs, %s to %s: %s", n, text_of(first, "pci", "?"),
			       text_of(json_array_get(gpus, i + n - 1), "pci", "?"), what);
		i += n;
	}
	if (json_is_string(json_object_get(nv, "module_version"))) {
		printf("  NVIDIA driver %s", text_of(nv, "module_version", "?"));
		if (cuda)
			printf(", which carries CUDA up to %d.%d", (int)(cuda / 1000), (int)(cuda % 1000 / 10));
		putchar('\n');
	}
}

static const char *color_of(const char *result)
{
	return !strcmp(result, "fail") ? "red" : !strcmp(result, "warn") ? "yellow" : !strcmp(result, "pass") ? "green" : NULL;
}

static void print_remedy(const json_t *c, unsigned indent)
{
	const char *remedy = text_of(c, "remedy", NULL);
	gt_autofree char *copy = remedy ? gt_xstrdup(remedy) : NULL;
	char *save = NULL;

	for (char *line = remedy ? strtok_r(copy, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		if (*line == ' ') /* a command: to be copied, never wrapped */
			printf("%*s%s\n", (int)indent, "", line);
		else
			gt_print_wrapped(stdout, line, indent, gt_term_width(stdout));
	}
}

/* What cause explains, folded to one line each. */
static void print_consequences(const json_t *checks, const char *cause)
{
	const json_t *c;
	size_t i;
	bool head = false;

	json_array_foreach(checks, i, c) {
		if (!gt_streq(text_of(c, "cause", NULL), cause))
			continue;
		if (!head)
			puts("  follows from it:");
		head = true;
		gt_autofree char *line = gt_xasprintf("%s: %s", text_of(c, "id", ""), text_of(c, "what", ""));
		gt_print_wrapped(stdout, line, 4, gt_term_width(stdout));
	}
}

static void print_problems(const json_t *doc, const char *first)
{
	const json_t *checks = json_object_get(doc, "checks"), *c;
	size_t i;

	/* pass 0: the cause; pass 1: the other problems that nothing explains */
	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(checks, i, c) {
			const char *id = text_of(c, "id", ""), *result = text_of(c, "result", "");
			bool bad = !strcmp(result, "fail") || !strcmp(result, "warn");

			if (!bad || text_of(c, "cause", NULL) || (gt_streq(id, first) != (pass == 0)))
				continue;
			printf("\n%s %s\n", pass ? "Also" : "Cause:", id);
			gt_print_wrapped(stdout, text_of(c, "what", ""), 2, gt_term_width(stdout));
			print_consequences(checks, id);
			if (text_of(c, "remedy", NULL)) {
				puts("  do:");
				print_remedy(c, 4);
			}
		}
}

static void print_table(const json_t *checks, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *c;
	size_t i;

	gt_table_column(t, "CHECK", GT_LEFT);
	gt_table_column(t, "RESULT", GT_LEFT);
	gt_table_column(t, "SEEN", GT_WRAP);
	json_array_foreach(checks, i, c) {
		const char *result = text_of(c, "result", "");

		gt_table_row(t);
		gt_table_cell(t, "%s", text_of(c, "id", ""));
		gt_table_cell(t, "%s", result);
		if (color_of(result))
			gt_table_color(t, color_of(result));
		gt_table_cell(t, "%s", text_of(c, "what", ""));
	}
	putchar('\n');
	gt_table_print(t, stdout, color);
}

/* Prints what could not be read and the counts of checks without a problem. */
static void print_rest(const json_t *doc)
{
	const json_t *checks = json_object_get(doc, "checks"), *c;
	size_t i, passed = 0, skipped = 0;
	bool head = false;

	json_array_foreach(checks, i, c) {
		const char *result = text_of(c, "result", "");
		gt_autofree char *line = gt_xasprintf("%s: %s", text_of(c, "id", ""), text_of(c, "what", ""));

		passed += !strcmp(result, "pass");
		skipped += !strcmp(result, "skip");
		if (strcmp(result, "unknown"))
			continue;
		if (!head)
			puts("\nNot known:");
		head = true;
		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
	printf("\n%zu checks pass, %zu do not apply here (--verbose shows them)\n", passed, skipped);
	if (!pr_log_examined(doc))
		puts("the kernel log was not examined");
}

static void print_text(const json_t *doc, bool verbose, bool quiet, bool color)
{
	const char *first = text_of(doc, "cause", NULL), *verdict = text_of(doc, "verdict", "");
	const json_t *host = json_object_get(doc, "host");

	printf("gpuprobe: %s%s%s\n", verdict, first ? " - " : "", first ? first : "");
	if (quiet)
		return;
	print_host(host);
	print_gpus(host);
	if (first)
		print_problems(doc, first);
	if (verbose)
		print_table(json_object_get(doc, "checks"), color);
	else
		print_rest(doc);
}

static bool require_gpu;
static const char *format, *output, *baseline;
static struct gt_strv allow;
static const char *const formats[] = { "text", "json", "line", "markdown", "openmetrics", NULL };
double pr_nvml_timeout_s = NAN; /* not said */
bool pr_no_nvml, pr_ask_cuda;
const char *pr_data_dir;
static const struct gt_opt report_opts[] = {
	{ 0, "require-gpu", NULL, "a host without an NVIDIA GPU is critical, not fine", GT_OPT_FLAG, &require_gpu },
	{ 'f', "format", "FORMAT", "text, json, line (for monitoring), markdown or openmetrics", GT_OPT_CHOICE, &format, formats },
	{ 'o', "output", "FILE", "write the report to FILE, whole or not at all; not for text", GT_OPT_STR, &output },
	{ 0, "baseline", "FILE", "compare with what the host should be: a capture, a report or expectations", GT_OPT_STR,
	  &baseline },
	{ 0, "allow", "PATH", "with --baseline: a value that may differ, * for anything (repeatable)", GT_OPT_LIST, &allow },
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
	if (pr_nvml_timeout_s <= 0)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--nvml-timeout needs a time above 0, not %g",
				    pr_nvml_timeout_s);
	return pr_host_discover(cli->fs, &opts, ret, &cli->err);
}

/* In the form that was asked for; to a file a report for people is never written by mistake. */
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
		print_text(doc, cli->verbose > 0, cli->quiet, cli->color);
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

int pr_report_of(struct gt_fsroot *fs, json_t **ret, struct gt_err *err)
{
	struct pr_context c = { .fs = fs };
	gt_auto(pr_host) *h = NULL;
	gt_autofree struct pr_judged *j = NULL;
	size_t n;
	int r = pr_host_discover(fs, &(const struct pr_discover_opts){ 0 }, &h, err);

	if (r < 0)
		return r;
	c.host = h;
	n = pr_judge(&c, &j);
	*ret = build(h, j, n, pr_exit_code(j, n));
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
	r = pr_discover_as_asked(cli, &h);
	if (r < 0)
		return r;
	c.host = h;
	n = pr_judge(&c, &j);
	code = pr_exit_code(j, n);
	doc = build(h, j, n, code);
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
	.summary = "say what this host is and what is wrong with it",
	.opts = report_opts,
	.only_reads = true,
	.run = run_report,
};
