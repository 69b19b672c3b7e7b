/* SPDX-License-Identifier: Apache-2.0 */
/* Prints samples and summaries: redrawn in place on a terminal, one line each in a log. */
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include "lib/table.h"
#include "probe/watch/watch.h"

static bool number(const json_t *o, const char *key, double *ret)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_number(v))
		*ret = json_number_value(v);
	return json_is_number(v);
}

/* Adds a cell with the number, "?" if it is missing. */
static void cell(struct gt_table *t, const json_t *o, const char *key, double scale, int digits)
{
	char text[64];
	double v;

	if (!number(o, key, &v)) {
		gt_table_cell(t, "?");
		return;
	}
	snprintf(text, sizeof(text), "%.*f", digits, v / scale);
	gt_table_cell(t, "%s", text);
}

static const char *pair(const json_t *o, const char *one, const char *two, double scale, int digits, char *buf,
			size_t size)
{
	double a, b;
	bool first = number(o, one, &a), second = number(o, two, &b);

	if (!first && !second)
		snprintf(buf, size, "?");
	else if (first && second)
		snprintf(buf, size, "%.*f/%.*f", digits, a / scale, digits, b / scale);
	else
		snprintf(buf, size, "%s%.*f%s", first ? "" : "?/", digits, (first ? a : b) / scale, first ? "/?" : "");
	return buf;
}

static const char *short_pci(const json_t *gpu)
{
	const char *pci = gt_json_get_str(gpu, "pci", "?"), *colon = strchr(pci, ':');

	return colon && gt_starts_with(pci, "0000:") ? colon + 1 : pci;
}

/* Returns the reasons that limit the clocks, except idle. */
static char *held_by(const json_t *gpu)
{
	const json_t *list = json_object_get(gpu, "clock_reasons"), *r;
	struct gt_buf b = {0};
	size_t i;

	json_array_foreach(list, i, r) if (json_is_string(r) && strcmp(json_string_value(r), "idle"))
		gt_buf_printf(&b, "%s%s", b.len ? ", " : "", json_string_value(r));
	return gt_buf_take(&b);
}

static void print_gpus(FILE *out, const json_t *gpus, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *g;
	char buf[64];
	size_t i;

	gt_table_column(t, "GPU", GT_RIGHT);
	gt_table_column(t, "PCI", GT_LEFT);
	gt_table_column(t, "COMPUTE %", GT_RIGHT);
	gt_table_column(t, "MEMORY GiB", GT_RIGHT);
	gt_table_column(t, "IN/OUT GB/s", GT_RIGHT);
	gt_table_column(t, "MHz", GT_RIGHT);
	gt_table_column(t, "WATT", GT_RIGHT);
	gt_table_column(t, "C", GT_RIGHT);
	gt_table_column(t, "CLOCKS LIMITED BY", GT_TRUNC);
	json_array_foreach(gpus, i, g)
	{
		gt_autofree char *why =
			json_object_get(g, "error") ? gt_xstrdup(gt_json_get_str(g, "error", "?")) : held_by(g);

		gt_table_row(t);
		gt_table_cell(t, "%d", (int)gt_json_get_int(g, "index", -1));
		gt_table_cell(t, "%s", short_pci(g));
		cell(t, g, "compute_percent", 1, 0);
		gt_table_cell(t, "%s",
			      pair(g, "memory_used_bytes", "memory_total_bytes", 1 << 30, 1, buf, sizeof(buf)));
		gt_table_cell(t, "%s", pair(g, "pcie_rx_bytes_per_s", "pcie_tx_bytes_per_s", 1e9, 1, buf, sizeof(buf)));
		cell(t, g, "sm_mhz", 1, 0);
		gt_table_cell(t, "%s", pair(g, "power_w", "power_limit_w", 1, 0, buf, sizeof(buf)));
		cell(t, g, "temperature_c", 1, 0);
		gt_table_cell(t, "%s", why);
	}
	gt_table_print(t, out, color);
}

/* Prints the processes of each GPU, one line each. */
static void print_processes(FILE *out, const json_t *gpus, unsigned width)
{
	const json_t *g;
	size_t i;

	json_array_foreach(gpus, i, g)
	{
		gt_autofree char *who = pr_holders_text(json_object_get(g, "processes"), 4),
				 *line = gt_xasprintf("GPU %d: %s", (int)gt_json_get_int(g, "index", -1), who);

		if (*who)
			gt_print_wrapped(out, line, 0, width);
	}
}

/* Prints the table of nodes, for one sample (put: cell) or for the whole watch (put: sums). */
static void print_nodes(FILE *out, const json_t *nodes, bool color,
			void (*put)(struct gt_table *t, const json_t *d, const char *key, double scale, int digits))
{
	static const struct {
		const char *head, *key;
		double scale;
		int digits;
		bool now_only;
	} column[] = {
		{"CPU %", "cpu_percent", 1, 0, false},
		{"BUSIEST %", "busiest_cpu_percent", 1, 0, false},
		{"IOWAIT %", "iowait_percent", 1, 0, false},
		{"FREE GiB", "memory_free_bytes", 1 << 30, 1, false},
		{"CACHE GiB", "memory_cache_bytes", 1 << 30, 1, true},
		{"OF GiB", "memory_total_bytes", 1 << 30, 1, true},
		{"REMOTE PAGES %", "remote_pages_percent", 1, 0, false},
	};
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *d;
	size_t i;

	gt_table_column(t, "NODE", GT_RIGHT);
	for (size_t c = 0; c < GT_ARRAY_SIZE(column); c++)
		if (put == cell || !column[c].now_only)
			gt_table_column(t, column[c].head, GT_RIGHT);
	json_array_foreach(nodes, i, d)
	{
		gt_table_row(t);
		gt_table_cell(t, "%d", (int)gt_json_get_int(d, "id", -1));
		for (size_t c = 0; c < GT_ARRAY_SIZE(column); c++)
			if (put == cell || !column[c].now_only)
				put(t, d, column[c].key, column[c].scale, column[c].digits);
	}
	gt_table_print(t, out, color);
}

static const char *clock_of(const json_t *sample)
{
	const char *time = gt_json_get_str(sample, "time", "");

	return strlen(time) >= 19 ? time + 11 : time; /* "2026-11-21T03:04:05Z" */
}

/* Returns why no GPU is shown. */
static const char *no_gpu_reason(const json_t *sample)
{
	const char *state = gt_json_get_str(sample, "gpu_state", "none");

	return !strcmp(state, "none")   ? "no NVIDIA GPU, or no NVML"
	       : !strcmp(state, "late") ? "NVML has not responded yet"
	       : !strcmp(state, "ok")   ? "NVML reports no GPU"
					: gt_json_get_str(sample, "gpu_text", "NVML does not respond");
}

static void print_pressure(FILE *out, const json_t *pressure)
{
	static const char *const key[] = {"cpu_some_percent", "memory_some_percent", "io_some_percent"},
				 *const name[] = {"a CPU", "memory", "a disk"};
	bool any = false;
	double v;

	for (size_t i = 0; i < GT_ARRAY_SIZE(key); i++)
		if (number(pressure, key[i], &v)) {
			fprintf(out, "%s%.0f %% %s", any ? ", " : "time with a task waiting for: ", v, name[i]);
			any = true;
		}
	if (any)
		fputc('\n', out);
}

static void print_sample(FILE *out, const json_t *sample, unsigned width, bool color)
{
	const json_t *gpus = json_object_get(sample, "gpus"), *patterns = json_object_get(sample, "patterns"), *p;
	size_t i;

	fprintf(out, "gpuprobe watch, %s; Ctrl-C ends it with a summary\n\n", clock_of(sample));
	if (json_array_size(gpus)) {
		print_gpus(out, gpus, color);
		print_processes(out, gpus, width);
	} else {
		fprintf(out, "%s\n", no_gpu_reason(sample));
	}
	fputc('\n', out);
	print_nodes(out, json_object_get(sample, "nodes"), color, cell);
	print_pressure(out, json_object_get(sample, "pressure"));
	if (json_array_size(patterns))
		fputc('\n', out);
	json_array_foreach(patterns, i, p)
	{
		gt_autofree char *line =
			gt_xasprintf("%s, %s: %s", gt_json_get_str(p, "id", ""), gt_json_get_str(p, "subject", ""),
				     gt_json_get_str(p, "what", ""));

		gt_print_wrapped(out, line, 0, width);
	}
}

/* Returns how many bytes of the line fit into width columns. A UTF-8 character counts once. */
static size_t cut(const char *line, size_t len, unsigned width)
{
	size_t i = 0;

	for (unsigned col = 0; i < len; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80 && col++ == width)
			break;
	return i;
}

void pr_watch_draw(struct pr_watch_view *v, const json_t *sample)
{
	gt_autofree char *text = NULL;
	unsigned width = gt_term_width(v->out), rows = 0;
	struct winsize ws;
	size_t size = 0;
	FILE *mem = open_memstream(&text, &size);

	if (!mem)
		return;
	print_sample(mem, sample, width, false);
	fclose(mem);
	if (ioctl(fileno(v->out), TIOCGWINSZ, &ws) || !ws.ws_row)
		ws.ws_row = 24;
	if (v->drawn)
		fprintf(v->out, "\033[%uA", v->drawn);
	for (const char *line = text; *line && rows + 1 < ws.ws_row; rows++) {
		size_t len = strcspn(line, "\n");

		fprintf(v->out, "%.*s\033[K\n", (int)cut(line, len, width), line);
		line += len + (line[len] == '\n');
	}
	fputs("\033[J", v->out); /* clears the rest of a longer drawing */
	v->drawn = rows;
}

/* ---- a line for a log ---- */

/* Formats "97 %", or "91..99 %" for several values. */
static void put_range(struct gt_buf *b, const char *before, const json_t *list, const char *key, double scale,
		      const char *unit)
{
	double least = 0, most = 0, v;
	const json_t *d;
	bool any = false;
	size_t i;

	json_array_foreach(list, i, d) if (number(d, key, &v))
	{
		least = any ? GT_MIN(least, v) : v;
		most = any ? GT_MAX(most, v) : v;
		any = true;
	}
	if (!any)
		return;
	if (most / scale - least / scale < 1)
		gt_buf_printf(b, "%s%.0f%s", before, most / scale, unit);
	else
		gt_buf_printf(b, "%s%.0f..%.0f%s", before, least / scale, most / scale, unit);
}

static void put_memory(struct gt_buf *b, const json_t *nodes)
{
	double total = 0, available = 0, v;
	const json_t *d;
	size_t i;

	json_array_foreach(nodes, i, d)
	{
		if (!number(d, "memory_total_bytes", &v))
			continue;
		total += v;
		available += number(d, "memory_free_bytes", &v) ? v : 0;
		available += number(d, "memory_cache_bytes", &v) ? v : 0;
	}
	if (total > 0)
		gt_buf_printf(b, ", memory %.0f%%", 100 * (1 - GT_MIN(available / total, 1)));
}

static const json_t *find_pattern(const json_t *list, const json_t *like)
{
	const json_t *p;
	size_t i;

	json_array_foreach(list, i, p) if (gt_streq(gt_json_get_str(p, "id", ""), gt_json_get_str(like, "id", "")) &&
					   gt_streq(gt_json_get_str(p, "subject", ""),
						    gt_json_get_str(like, "subject", ""))) return p;
	return NULL;
}

static void print_event(struct pr_watch_view *v, const json_t *sample, const char *word, const json_t *pattern,
			const char *what)
{
	gt_autofree char *line =
		gt_xasprintf("%s %s %s, %s%s%s", clock_of(sample), word, gt_json_get_str(pattern, "id", ""),
			     gt_json_get_str(pattern, "subject", ""), *what ? ": " : "", what);

	gt_print_wrapped(v->out, line, 0, gt_term_width(v->out));
}

/* Prints a pattern's begin at once, and its end after a whole window without it, so that an intermittent pattern does
 * not fill the log. */
static void print_changes(struct pr_watch_view *v, const json_t *sample, const json_t *patterns)
{
	json_t *announced = v->announced ? v->announced : json_array(), *p;

	v->announced = announced;
	for (size_t i = json_array_size(announced); i-- > 0;) {
		int64_t absent;

		p = json_array_get(announced, i);
		absent = find_pattern(patterns, p) ? 0 : gt_json_get_int(p, "absent", 0) + 1;
		json_object_set_new(p, "absent", json_integer(absent));
		if (absent == PR_WATCH_WINDOW) {
			print_event(v, sample, "ends", p, "");
			json_array_remove(announced, i);
		}
	}
	for (size_t i = 0; i < json_array_size(patterns); i++) {
		p = json_array_get(patterns, i);
		if (find_pattern(announced, p))
			continue;
		print_event(v, sample, "begins", p, gt_json_get_str(p, "what", ""));
		json_array_append_new(announced, json_pack("{s:o, s:o}", "id", gt_json_str(gt_json_get_str(p, "id", "")),
							   "subject", gt_json_str(gt_json_get_str(p, "subject", ""))));
	}
}

void pr_watch_line(struct pr_watch_view *v, const json_t *sample)
{
	const json_t *gpus = json_object_get(sample, "gpus"), *nodes = json_object_get(sample, "nodes"),
		     *patterns = json_object_get(sample, "patterns");
	size_t n_gpus = json_array_size(gpus), n_errors = 0, i;
	const json_t *g;
	gt_auto_buf b = {0};

	if (n_gpus) {
		gt_buf_printf(&b, "%zu GPU%s", n_gpus, n_gpus == 1 ? "" : "s");
		json_array_foreach(gpus, i, g) n_errors += json_object_get(g, "error") != NULL;
		if (n_errors)
			gt_buf_printf(&b, ", %zu without a response,", n_errors);
		put_range(&b, " ", gpus, "compute_percent", 1, "%");
		put_range(&b, ", ", gpus, "memory_used_bytes", 1 << 30, " GiB");
		put_range(&b, ", PCIe in ", gpus, "pcie_rx_bytes_per_s", 1e9, "");
		put_range(&b, " out ", gpus, "pcie_tx_bytes_per_s", 1e9, " GB/s");
		put_range(&b, ", ", gpus, "power_w", 1, " W");
	} else {
		gt_buf_puts(&b, no_gpu_reason(sample));
	}
	put_range(&b, "; CPU ", nodes, "cpu_percent", 1, "%");
	put_memory(&b, nodes);
	if (!v->quiet)
		fprintf(v->out, "%s %s\n", clock_of(sample), b.s ? b.s : "");
	print_changes(v, sample, patterns);
}

void pr_watch_jsonl(struct pr_watch_view *v, const json_t *doc)
{
	gt_autofree char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(12));

	fprintf(v->out, "%s\n", text ? text : "{}");
}

/* ---- the summary ---- */

static void sums(struct gt_table *t, const json_t *d, const char *key, double scale, int digits)
{
	const json_t *s = json_object_get(d, key);
	char text[96];
	double least, mean, most;

	if (!number(s, "min", &least) || !number(s, "mean", &mean) || !number(s, "max", &most)) {
		gt_table_cell(t, "?");
		return;
	}
	snprintf(text, sizeof(text), "%.*f/%.*f/%.*f", digits, least / scale, digits, mean / scale, digits,
		 most / scale);
	gt_table_cell(t, "%s", text);
}

static void sum_gpus(FILE *out, const json_t *gpus, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *g;
	size_t i;

	gt_table_column(t, "GPU", GT_RIGHT);
	gt_table_column(t, "PCI", GT_LEFT);
	gt_table_column(t, "COMPUTE %", GT_RIGHT);
	gt_table_column(t, "MEMORY GiB", GT_RIGHT);
	gt_table_column(t, "IN GB/s", GT_RIGHT);
	gt_table_column(t, "OUT GB/s", GT_RIGHT);
	gt_table_column(t, "WATT", GT_RIGHT);
	gt_table_column(t, "Wh", GT_RIGHT);
	json_array_foreach(gpus, i, g)
	{
		gt_table_row(t);
		gt_table_cell(t, "%d", (int)gt_json_get_int(g, "index", -1));
		gt_table_cell(t, "%s", short_pci(g));
		sums(t, g, "compute_percent", 1, 0);
		sums(t, g, "memory_used_bytes", 1 << 30, 0);
		sums(t, g, "pcie_rx_bytes_per_s", 1e9, 1);
		sums(t, g, "pcie_tx_bytes_per_s", 1e9, 1);
		sums(t, g, "power_w", 1, 0);
		cell(t, g, "energy_wh", 1, 1);
	}
	gt_table_print(t, out, color);
}

void pr_watch_summary(struct pr_watch_view *v, const json_t *summary)
{
	const json_t *found = json_object_get(summary, "patterns"), *p;
	unsigned width = gt_term_width(v->out);
	size_t i;

	fprintf(v->out, "\n%d samples in %.0f s; minimum/mean/maximum\n\n", (int)gt_json_get_int(summary, "samples", 0),
		gt_json_get_real(summary, "seconds", 0));
	if (json_array_size(json_object_get(summary, "gpus"))) {
		sum_gpus(v->out, json_object_get(summary, "gpus"), v->color);
		fputc('\n', v->out);
	}
	print_nodes(v->out, json_object_get(summary, "nodes"), v->color, sums);
	fputs(json_array_size(found) ? "\nSeen:\n" : "\nno pattern found\n", v->out);
	json_array_foreach(found, i, p)
	{
		gt_autofree char *line =
			gt_xasprintf("%s, %s, %.0f %% of the time; latest: %s", gt_json_get_str(p, "id", ""),
				     gt_json_get_str(p, "subject", ""), gt_json_get_real(p, "percent", 0),
				     gt_json_get_str(p, "what", ""));

		gt_print_wrapped(v->out, line, 2, width);
	}
}
