/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the report on a terminal: verdict, host, first cause and its consequences. */
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "lib/text.h"
#include "probe/holder/holder.h"
#include "probe/report/render.h"

#define COLOR_OFF "\033[0m"

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

/* Returns name, memory and driver of a GPU. The caller frees it. */
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

/* Does the same for a GPU of another maker. */
static char *other_kind(const json_t *gpu)
{
	const json_t *bytes = json_object_get(gpu, "memory_bytes");
	char mem[48] = "";

	if (json_is_integer(bytes)) {
		strcpy(mem, ", ");
		gt_format_bytes(mem + 2, sizeof(mem) - 2, (uint64_t)json_integer_value(bytes));
	}
	return gt_xasprintf("%s%s%s%s, driver %s%s", text_of(gpu, "maker", "?"), text_of(gpu, "gfx", NULL) ? " " : "",
			    text_of(gpu, "gfx", ""), mem, text_of(gpu, "driver", "none"),
			    json_object_get(gpu, "gfx") ? "" : ", not examined");
}

/* Prints one line for equal GPUs. */
static void print_list(const json_t *gpus, char *(*kind_of)(const json_t *gpu))
{
	size_t i = 0;

	while (i < json_array_size(gpus)) {
		const json_t *first = json_array_get(gpus, i);
		gt_autofree char *what = kind_of(first);
		size_t n = 1;

		for (; i + n < json_array_size(gpus); n++) {
			gt_autofree char *next = kind_of(json_array_get(gpus, i + n));

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
}

static void print_rocm(const json_t *amd)
{
	if (json_is_string(json_object_get(amd, "driver")))
		print_line("amdgpu %s", text_of(amd, "driver", "?"));
	if (json_is_string(json_object_get(amd, "rocm")))
		print_line("ROCm %s", text_of(amd, "rocm", "?"));
}

static void print_gpus(const json_t *host)
{
	const json_t *nv = json_object_get(host, "nvidia"), *gpus = json_object_get(host, "gpus");
	const json_t *others = json_object_get(host, "other_gpus");
	int64_t cuda = gt_json_get_int(nv, "cuda_version", 0);

	if (!json_array_size(gpus) && text_of(nv, "tegra", NULL)) {
		print_line("%s: its GPU is in the processor", text_of(nv, "tegra", ""));
		return;
	}
	if (!json_array_size(gpus) && gt_json_get_int(nv, "nvml_count", 0) > 0) { /* WSL */
		printf("  no NVIDIA GPU on the PCI bus; NVML sees %d\n", (int)gt_json_get_int(nv, "nvml_count", 0));
		return;
	}
	if (!json_array_size(gpus) && json_array_size(others)) {
		print_list(others, other_kind);
		print_rocm(json_object_get(host, "amd"));
		return;
	}
	if (!json_array_size(gpus)) {
		puts(gt_json_get_int(host, "pci_unreadable", 0) ? "  whether there is an NVIDIA GPU is not known"
								: "  no NVIDIA GPU");
		return;
	}
	print_list(gpus, gpu_kind);
	if (json_is_string(json_object_get(nv, "module_version"))) {
		printf("  NVIDIA driver %s", text_of(nv, "module_version", "?"));
		if (cuda)
			printf(", which carries CUDA up to %d.%d", (int)(cuda / 1000), (int)(cuda % 1000 / 10));
		putchar('\n');
	}
}

/* Prints one line for each GPU whose use is known: memory, utilisation and processes. */
static void print_holders(const json_t *holders)
{
	const json_t *g;
	size_t i;

	json_array_foreach(json_object_get(holders, "gpus"), i, g) {
		const json_t *list = json_object_get(g, "processes");
		int64_t bytes = gt_json_get_int(g, "memory_used_bytes", -1), percent = gt_json_get_int(g, "compute_percent", -1);
		gt_autofree char *who = pr_holders_text(list, 4);
		char memory[32] = "unknown", busy[16] = "unknown";

		if (!text_of(g, "source", NULL) && bytes < 0)
			continue;
		if (bytes >= 0)
			gt_format_bytes(memory, sizeof(memory), (uint64_t)bytes);
		if (percent >= 0)
			snprintf(busy, sizeof(busy), "%d %%", (int)percent);
		print_line("GPU %s: memory in use %s, utilisation %s; %s", text_of(g, "pci", "?"), memory, busy,
			   *who ? who : gt_json_get_bool(g, "complete", false) ? "no process" : "processes unknown");
	}
	if (text_of(holders, "note", NULL))
		print_line("not all processes on the GPUs are known: %s", text_of(holders, "note", ""));
}

static const char *color_of(const char *result)
{
	return !strcmp(result, "fail") ? "red" : !strcmp(result, "warn") ? "yellow" : !strcmp(result, "pass") ? "green" : NULL;
}

/* SGR sequence for a result. */
static const char *sequence_of(const char *result)
{
	return !strcmp(result, "fail") ? "\033[1;31m" : !strcmp(result, "pass") ? "\033[1;32m" : "\033[1;33m";
}

static void print_remedy(const json_t *c, unsigned indent)
{
	const char *remedy = text_of(c, "remedy", NULL);

	gt_each_word(line, remedy, "\n") {
		if (*line == ' ') /* a command: never wrapped, so that it can be copied */
			printf("%*s%s\n", (int)indent, "", line);
		else
			gt_print_wrapped(stdout, line, indent, gt_term_width(stdout));
	}
}

/* Prints one line for each problem that has this check as its cause. */
static void print_consequences(const json_t *checks, const char *cause)
{
	const json_t *c;
	size_t i;
	bool head = false;

	json_array_foreach(checks, i, c) {
		if (!gt_streq(text_of(c, "cause", NULL), cause))
			continue;
		if (!head)
			puts("  Consequences:");
		head = true;
		gt_autofree char *line = gt_xasprintf("%s: %s", text_of(c, "id", ""), text_of(c, "what", ""));
		gt_print_wrapped(stdout, line, 4, gt_term_width(stdout));
	}
}

static void print_problem(const json_t *checks, const json_t *c, bool color)
{
	const char *id = text_of(c, "id", "");

	printf("\n%s%s:%s %s\n", color ? sequence_of(text_of(c, "result", "")) : "", pr_problem_label(checks, c),
	       color ? COLOR_OFF : "", id);
	gt_print_wrapped(stdout, text_of(c, "what", ""), 2, gt_term_width(stdout));
	print_consequences(checks, id);
	if (text_of(c, "remedy", NULL)) {
		puts("  Remedy:");
		print_remedy(c, 4);
	}
}

/* Prints the problem that decides the verdict, then the other problems that have no cause. */
static void print_problems(const json_t *doc, const char *first, bool color)
{
	const json_t *checks = json_object_get(doc, "checks"), *c;
	size_t i;

	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(checks, i, c)
			if (pr_is_problem(c) && gt_streq(text_of(c, "id", ""), first) == (pass == 0))
				print_problem(checks, c, color);
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

/* Prints the checks with this result, one paragraph each. Returns their number. */
static size_t print_those(const json_t *checks, const char *result, const char *head)
{
	const json_t *c;
	size_t i, n = 0;

	json_array_foreach(checks, i, c) {
		gt_autofree char *line = gt_xasprintf("%s: %s", text_of(c, "id", ""), text_of(c, "what", ""));

		if (strcmp(text_of(c, "result", ""), result))
			continue;
		if (head && !n)
			printf("\n%s\n", head);
		n++;
		if (head)
			gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
	return n;
}

/* Prints the unknown checks, the advice, and the number of checks that pass. */
static void print_rest(const json_t *doc)
{
	const json_t *checks = json_object_get(doc, "checks");
	size_t passed = print_those(checks, "pass", NULL);

	print_those(checks, "unknown", "Unknown:");
	print_those(checks, "advice", "Advice (gputune plan has the commands):");
	printf("\n%zu checks pass (--verbose shows all)\n", passed);
	if (pr_log_note(doc))
		puts(pr_log_note(doc));
}

/* Prints the verdict, the problem that decides it in words, and its id. */
static void print_headline(const json_t *doc, bool color)
{
	const json_t *c = pr_deciding_check(doc);
	const char *verdict = text_of(doc, "verdict", ""), *result = c ? text_of(c, "result", "") : "pass";
	gt_autofree char *what = pr_headline(c);
	gt_autofree char *line = c ? gt_xasprintf("%s [%s]", what, text_of(c, "id", "")) : gt_xstrdup(what);
	gt_autofree char *label =
		gt_xasprintf("%s%s:%s ", color ? sequence_of(result) : "", verdict, color ? COLOR_OFF : "");

	gt_print_columns(stdout, label, line, (unsigned)strlen(verdict) + 2, gt_term_width(stdout));
}

void pr_print_report(const json_t *doc, bool verbose, bool quiet, bool color)
{
	const char *first = text_of(doc, "cause", NULL);
	const json_t *host = json_object_get(doc, "host");

	print_headline(doc, color);
	if (quiet)
		return;
	print_host(host);
	print_gpus(host);
	if (verbose)
		print_holders(json_object_get(host, "gpu_holders"));
	if (first)
		print_problems(doc, first, color);
	if (verbose)
		print_table(json_object_get(doc, "checks"), color);
	else
		print_rest(doc);
}
