/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "bench/session/gauge.h"
#include "bench/result/text.h"
#include "lib/table.h"

static const char *verdict_color(const char *v)
{
	return gt_streq(v, "better")         ? "green"
	       : gt_streq(v, "worse")        ? "red"
	       : gt_streq(v, "inconclusive") ? "yellow"
					     : NULL;
}

static void header(const json_t *doc, FILE *out, unsigned width)
{
	const json_t *run = json_object_get(doc, "run"), *host = json_object_get(doc, "host");
	gt_auto_buf line = { 0 };

	gt_buf_printf(&line, "gpubench, host %s, %s, %s", gt_json_get_str(host, "identity", "unknown"),
		      gt_json_get_str(host, "cpu", "unknown CPU"), gt_json_get_str(run, "started", "no date"));
	gt_print_wrapped(out, line.s, 0, width);
	gt_buf_clear(&line);
	gt_buf_printf(&line, "design: %s", bn_text_design(doc).s);
	if (gt_streq(gt_json_get_str(run, "design", NULL), "pairs"))
		gt_buf_printf(&line, ". A/A check: %s", bn_text_aa(doc).s);
	gt_print_wrapped(out, line.s, 0, width);
}

/* One difference a line, in full. */
static void difference(const json_t *k, const char *id, const char *when, FILE *out, unsigned width)
{
	gt_auto_buf line = { 0 };

	gt_buf_printf(&line, "%s %s -> %s", gt_json_get_str(k, id, "?"), bn_text_json(json_object_get(k, "from")).s,
		      bn_text_json(json_object_get(k, "to")).s);
	if (when)
		gt_buf_printf(&line, " (%s)", when);
	gt_print_wrapped(out, line.s, 2, width);
}

static void settings(const json_t *doc, FILE *out, unsigned width)
{
	json_t *declared = json_object_get(json_object_get(doc, "treatment"), "declared");
	json_t *others = json_object_get(doc, "confounders"), *k;
	gt_auto_buf line = { 0 };
	size_t i;

	if (gt_streq(gt_json_get_str(json_object_get(doc, "run"), "design", NULL), "single"))
		return;
	gt_buf_printf(&line, "changed on purpose: %zu%s", json_array_size(declared),
		      json_array_size(declared) ? ":" : "");
	gt_print_wrapped(out, line.s, 0, width);
	json_array_foreach(declared, i, k)
		difference(k, "id", NULL, out, width);
	fprintf(out, "OTHER differences:%s\n", json_array_size(others) ? "" : " none");
	json_array_foreach(others, i, k)
		difference(k, "key", gt_json_get_str(k, "when", "?"), out, width);
}

static void comparison_table(const json_t *doc, FILE *out, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	json_t *c;
	size_t i;

	gt_table_column(t, "METRIC", GT_LEFT);
	gt_table_column(t, bn_arm_name(doc, false), GT_RIGHT);
	gt_table_column(t, bn_arm_name(doc, true), GT_RIGHT);
	gt_table_column(t, "CHANGE", GT_RIGHT);
	gt_table_column(t, "95% CI", GT_LEFT);
	gt_table_column(t, "VERDICT", GT_WRAP);
	json_array_foreach(json_object_get(doc, "comparisons"), i, c) {
		const char *unit = gt_json_get_str(c, "unit", ""), *v = gt_json_get_str(c, "verdict", "");

		gt_table_row(t);
		gt_table_cell(t, "%s", bn_text_metric(c).s);
		gt_table_cell(t, "%s", bn_text_value(gt_json_get_real(c, "a_median", NAN), unit).s);
		gt_table_cell(t, "%s", bn_text_value(gt_json_get_real(c, "b_median", NAN), unit).s);
		gt_table_cell(t, "%s", bn_text_change(c).s);
		gt_table_cell(t, "%s", bn_text_interval(c).s);
		gt_table_cell(t, "%s", bn_text_verdict(c).s);
		if (verdict_color(v))
			gt_table_color(t, verdict_color(v));
	}
	gt_table_print(t, out, color);
}

static void level_table(const json_t *doc, FILE *out, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	json_t *l;
	size_t i;

	gt_table_column(t, "METRIC", GT_LEFT);
	gt_table_column(t, "MEDIAN", GT_RIGHT);
	gt_table_column(t, "LOWEST", GT_RIGHT);
	gt_table_column(t, "HIGHEST", GT_RIGHT);
	gt_table_column(t, "LAUNCHES", GT_RIGHT);
	json_array_foreach(json_object_get(doc, "levels"), i, l) {
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(l, "metric", "?"));
		gt_table_cell(t, "%s", bn_text_level(doc, l, "median").s);
		gt_table_cell(t, "%s", bn_text_level(doc, l, "low").s);
		gt_table_cell(t, "%s", bn_text_level(doc, l, "high").s);
		gt_table_cell(t, "%lld", (long long)gt_json_get_int(l, "n", 0));
	}
	gt_table_print(t, out, color);
}

/* The farthest few; all of them are in the document and on the page. */
static void outliers(const json_t *doc, FILE *out, unsigned width)
{
	json_t *list = json_object_get(doc, "outliers"), *o;
	gt_auto_buf line = { 0 };
	size_t i;

	json_array_foreach(list, i, o) {
		if (i == 3) {
			fprintf(out, "far from the others: %zu more\n", json_array_size(list) - i);
			break;
		}
		gt_buf_clear(&line);
		gt_buf_printf(&line, "far from the others: %s", bn_text_outlier(o).s);
		gt_print_wrapped(out, line.s, 0, width);
	}
}

static void footer(const json_t *doc, FILE *out, unsigned width)
{
	const json_t *sum = json_object_get(doc, "summary");
	json_t *list = json_object_get(doc, "unavailable"), *w;
	gt_auto_buf line = { 0 };
	size_t i;

	if (json_array_size(json_object_get(doc, "comparisons")))
		gt_buf_printf(&line, "%lld better, %lld worse, %lld same, %lld inconclusive",
			      (long long)gt_json_get_int(sum, "better", 0), (long long)gt_json_get_int(sum, "worse", 0),
			      (long long)gt_json_get_int(sum, "same", 0),
			      (long long)gt_json_get_int(sum, "inconclusive", 0));
	json_array_foreach(list, i, w)
		gt_buf_printf(&line, "%s%s (%s)", i ? ", " : line.len ? "   not measured: " : "not measured: ",
			      gt_json_get_str(w, "workload", "?"), gt_json_get_str(w, "why", "?"));
	if (line.len)
		gt_print_wrapped(out, line.s, 0, width);
	json_array_foreach(json_object_get(doc, "warnings"), i, w) {
		const char *hint = gt_json_get_str(w, "hint", "");

		gt_buf_clear(&line);
		gt_buf_printf(&line, "note: %s%s%s", gt_json_get_str(w, "text", ""), hint[0] ? "; " : "", hint);
		gt_print_wrapped(out, line.s, 0, width);
	}
	gt_buf_clear(&line);
	bn_text_gpu(doc, &line);
	if (line.len)
		gt_print_wrapped(out, line.s, 0, width);
	outliers(doc, out, width);
	gt_buf_clear(&line);
	gt_buf_puts(&line, "VERDICT ");
	bn_text_headline(doc, &line);
	gt_print_wrapped(out, line.s, 0, width);
}

void bn_report_text(const json_t *doc, FILE *out, bool color)
{
	unsigned width = gt_term_width(out);

	header(doc, out, width);
	settings(doc, out, width);
	fputc('\n', out);
	if (json_array_size(json_object_get(doc, "comparisons"))) {
		comparison_table(doc, out, color);
		gt_print_wrapped(out,
				 "[P] decides the verdict, [G] guard: must not get worse, [C] control: nothing should "
				 "move it",
				 0, width);
	} else {
		level_table(doc, out, color);
	}
	fputc('\n', out);
	footer(doc, out, width);
}
