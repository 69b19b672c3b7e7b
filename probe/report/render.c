/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the report for other programs: one line for monitoring, Markdown for an issue, metrics for Prometheus. */
#include <string.h>
#include "lib/text.h"
#include "probe/holder/holder.h"
#include "probe/report/render.h"

static const char *text_of(const json_t *o, const char *key)
{
	return gt_json_get_str(o, key, "");
}

static size_t count(const json_t *checks, const char *result)
{
	const json_t *c;
	size_t i, n = 0;

	json_array_foreach(checks, i, c) n += !strcmp(text_of(c, "result"), result);
	return n;
}

static const json_t *find(const json_t *checks, const char *id)
{
	const json_t *c;
	size_t i;

	json_array_foreach(checks, i, c) if (!strcmp(text_of(c, "id"), id)) return c;
	return NULL;
}

static const json_t *kernel_log(const json_t *doc)
{
	return json_object_get(json_object_get(doc, "host"), "kernel_log");
}

static bool log_examined(const json_t *doc)
{
	return !strcmp(text_of(kernel_log(doc), "state"), "present");
}

const char *pr_log_note(const json_t *doc)
{
	const json_t *log = kernel_log(doc);

	if (!log_examined(doc))
		return "the kernel log was not examined";
	if (gt_json_get_bool(log, "start_lost", false))
		return "the start of the kernel log is lost, so the errors in it were not examined";
	if (!strcmp(text_of(log, "source"), "journal"))
		return "the kernel log was read from the journal";
	return *text_of(log, "source") ? "the kernel log was read from the kernel's buffer" : NULL;
}

static const json_t *first_unknown(const json_t *checks)
{
	const json_t *c;
	size_t i;

	json_array_foreach(checks, i, c) if (!strcmp(text_of(c, "result"), "unknown")) return c;
	return NULL;
}

const json_t *pr_deciding_check(const json_t *doc)
{
	const json_t *checks = json_object_get(doc, "checks"), *cause = find(checks, text_of(doc, "cause"));

	return cause ? cause : first_unknown(checks);
}

char *pr_headline(const json_t *c)
{
	const char *what = c ? text_of(c, "what") : "no problem found", *end = what;
	int depth = 0; /* depth of parentheses; a ": " inside them does not end the headline */

	for (; *end && (depth || !gt_starts_with(end, ": ")); end++)
		depth += (*end == '(') - (*end == ')');
	return gt_xstrndup(what, (size_t)(end - what));
}

bool pr_is_problem(const json_t *c)
{
	const char *result = text_of(c, "result");

	return !*text_of(c, "cause") && (!strcmp(result, "fail") || !strcmp(result, "warn"));
}

const char *pr_problem_label(const json_t *checks, const json_t *c)
{
	const json_t *other;
	size_t i;

	json_array_foreach(checks, i, other) if (!strcmp(text_of(other, "cause"), text_of(c, "id"))) return "Cause";
	return strcmp(text_of(c, "result"), "fail") ? "Warning" : "Failure";
}

/* ---- one line ------------------------------------------------------------------------------------------------- */

/*
 * Writes the format of Nagios plug-ins: a sentence, '|', and numbers. Replaces '|' within the sentence, because it would
 * end the sentence.
 */
void pr_render_line(const json_t *doc, struct gt_buf *out)
{
	const json_t *checks = json_object_get(doc, "checks"), *deciding = pr_deciding_check(doc);
	const json_t *host = json_object_get(doc, "host");
	gt_autofree char *what = gt_xstrdup(deciding ? text_of(deciding, "what") : "");

	for (char *p = what; *p; p++)
		if (*p == '|' || *p == '\n')
			*p = '/';
	gt_buf_printf(out, "GPUPROBE %s", text_of(doc, "verdict"));
	if (deciding)
		gt_buf_printf(out, " - %s: %s", text_of(deciding, "id"), what);
	else
		gt_buf_printf(out, " - %zu checks pass, %zu unknown%s", count(checks, "pass"), count(checks, "unknown"),
			      !log_examined(doc)				      ? ", kernel log not examined"
			      : gt_json_get_bool(kernel_log(doc), "start_lost", false) ? ", start of the kernel log not examined"
										       : "");
	gt_buf_printf(out, " | fail=%zu;;0 warn=%zu;0 unknown=%zu pass=%zu gpus=%zu\n", count(checks, "fail"),
		      count(checks, "warn"), count(checks, "unknown"), count(checks, "pass"),
		      json_array_size(json_object_get(host, "gpus")) + json_array_size(json_object_get(host, "other_gpus")));
}

/* ---- Markdown ------------------------------------------------------------------------------------------------- */

/* Escapes untrusted text for Markdown. */
static void put_plain(struct gt_buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\`*_{}[]<>#|~", *s))
			gt_buf_puts(out, "\\");
		gt_buf_add(out, s, 1);
	}
}

/* Lines that begin with a blank are commands. */
static void put_remedy(struct gt_buf *out, const char *remedy)
{
	bool code = false;

	gt_each_word(line, remedy, "\n") {
		if ((*line == ' ') != code)
			gt_buf_puts(out, code ? "```\n\n" : "\n```sh\n");
		code = *line == ' ';
		if (code)
			gt_buf_puts(out, line + strspn(line, " "));
		else
			put_plain(out, line);
		gt_buf_puts(out, "\n");
	}
	gt_buf_puts(out, code ? "```\n" : "");
}

static void put_problem(struct gt_buf *out, const json_t *checks, const json_t *c)
{
	const json_t *other;
	size_t i;

	gt_buf_printf(out, "\n## %s: `%s`\n\n", pr_problem_label(checks, c), text_of(c, "id"));
	put_plain(out, text_of(c, "what"));
	gt_buf_puts(out, "\n");
	json_array_foreach(checks, i, other)
	{
		if (strcmp(text_of(other, "cause"), text_of(c, "id")))
			continue;
		gt_buf_printf(out, "\n- Consequence: `%s` ", text_of(other, "id"));
		put_plain(out, text_of(other, "what"));
	}
	gt_buf_puts(out, "\n");
	if (*text_of(c, "remedy") != ' ')
		gt_buf_puts(out, "\n");
	put_remedy(out, text_of(c, "remedy"));
}

static void put_host(struct gt_buf *out, const json_t *host)
{
	const json_t *cpu = json_object_get(host, "cpu"), *nv = json_object_get(host, "nvidia"),
		     *gpus = json_object_get(host, "gpus"), *g;
	size_t i;

	gt_buf_puts(out, "\n## Host\n\n|  |  |\n|---|---|\n| Distribution | ");
	put_plain(out, text_of(json_object_get(host, "distribution"), "pretty"));
	gt_buf_puts(out, " |\n| Kernel | ");
	put_plain(out, text_of(json_object_get(host, "kernel"), "release"));
	gt_buf_puts(out, " |\n| CPU | ");
	put_plain(out, text_of(cpu, "model_name"));
	gt_buf_printf(out, ", %d cores, %zu nodes |\n| NVIDIA driver | ", (int)gt_json_get_int(cpu, "cores", 0),
		      json_array_size(json_object_get(host, "nodes")));
	put_plain(out, gt_json_get_str(nv, "module_version", "not loaded"));
	gt_buf_puts(out, " |\n");
	json_array_foreach(gpus, i, g)
	{
		gt_buf_printf(out, "| GPU %s | ", text_of(g, "pci"));
		put_plain(out, gt_json_get_str(g, "name", "NVIDIA GPU"));
		gt_buf_puts(out, " |\n");
	}
}

void pr_render_markdown(const json_t *doc, struct gt_buf *out)
{
	const json_t *checks = json_object_get(doc, "checks"), *deciding = pr_deciding_check(doc), *c;
	gt_autofree char *what = pr_headline(deciding);
	size_t i;

	gt_buf_printf(out, "# %s: ", text_of(doc, "verdict"));
	put_plain(out, what);
	if (deciding)
		gt_buf_printf(out, " \\[%s\\]", text_of(deciding, "id"));
	gt_buf_puts(out, "\n");
	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(checks, i, c) if (pr_is_problem(c) && (c == deciding) == (pass == 0))
			put_problem(out, checks, c);
	put_host(out, json_object_get(doc, "host"));
	gt_buf_puts(out, "\n## Checks\n\n| Check | Result | Finding |\n|---|---|---|\n");
	json_array_foreach(checks, i, c)
	{
		if (!strcmp(text_of(c, "result"), "skip"))
			continue;
		gt_buf_printf(out, "| `%s` | %s | ", text_of(c, "id"), text_of(c, "result"));
		put_plain(out, text_of(c, "what"));
		gt_buf_puts(out, " |\n");
	}
}

/* ---- metrics -------------------------------------------------------------------------------------------------- */

static void metric(struct gt_buf *out, const char *name, const char *help)
{
	gt_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void gpu_metric(struct gt_buf *out, const json_t *gpus, const char *key, const char *name, const char *help)
{
	const json_t *g, *v;
	size_t i;
	bool head = false;

	json_array_foreach(gpus, i, g)
	{
		v = json_object_get(g, key);
		if (!json_is_integer(v))
			continue;
		if (!head)
			metric(out, name, help);
		head = true;
		gt_buf_printf(out, "%s{pci=\"%s\"} %lld\n", name, text_of(g, "pci"), (long long)json_integer_value(v));
	}
}

/* Uses gauges only, which both OpenMetrics and node_exporter's older text format support. */
void pr_render_metrics(const json_t *doc, struct gt_buf *out)
{
	static const struct {
		const char *result;
		int value;
	} values[] = {{"pass", 0}, {"advice", 0}, {"warn", 1}, {"fail", 2}, {"unknown", 3}};
	const json_t *checks = json_object_get(doc, "checks"),
		     *gpus = json_object_get(json_object_get(doc, "host"), "gpus"),
		     *held = json_object_get(json_object_get(json_object_get(doc, "host"), "gpu_holders"), "gpus"), *c;
	size_t i;

	metric(out, "gpuprobe_exit_code", "0 ok, 1 warning, 2 critical, 3 unknown");
	gt_buf_printf(out, "gpuprobe_exit_code %d\n", (int)gt_json_get_int(doc, "exit_code", 3));
	metric(out, "gpuprobe_check_status", "of each check that applies: 0 pass or advice, 1 warning, 2 failure, 3 unknown");
	json_array_foreach(checks, i, c) for (size_t k = 0; k < GT_ARRAY_SIZE(values);
					      k++) if (!strcmp(text_of(c, "result"), values[k].result))
		gt_buf_printf(out, "gpuprobe_check_status{check=\"%s\"} %d\n", text_of(c, "id"), values[k].value);
	metric(out, "gpuprobe_cause", "1 for the check to mend first");
	if (*text_of(doc, "cause"))
		gt_buf_printf(out, "gpuprobe_cause{check=\"%s\"} 1\n", text_of(doc, "cause"));
	metric(out, "gpuprobe_gpus", "NVIDIA GPUs on the PCI bus");
	gt_buf_printf(out, "gpuprobe_gpus %zu\n", json_array_size(gpus));
	gpu_metric(out, gpus, "link_width", "gpuprobe_gpu_pcie_link_width", "lanes in use");
	gpu_metric(out, gpus, "memory_bytes", "gpuprobe_gpu_memory_bytes", "memory of the GPU");
	gpu_metric(out, gpus, "nvlinks_down", "gpuprobe_gpu_nvlinks_down", "NVLinks that are down");
	gpu_metric(out, gpus, "remap_pending", "gpuprobe_gpu_remap_pending",
		   "1 if memory is mapped out at the next reset");
	gpu_metric(out, held, "memory_used_bytes", "gpuprobe_gpu_memory_used_bytes", "memory in use");
	pr_holder_metrics(out, "gpuprobe", held);
	gt_buf_puts(out, "# EOF\n");
}
