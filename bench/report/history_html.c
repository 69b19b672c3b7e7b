/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement of gpubench history as a page: what changed since when, each metric through time, every number. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/report/fleet.h"
#include "bench/report/html.h"
#include "bench/result/text.h"
#include "bench/report/svg.h"

static void setting(const json_t *s, struct gt_buf *out)
{
	gt_buf_printf(out, "%s \xe2\x86\x92 %s", bn_text_json(json_object_get(s, "from")).s,
		      bn_text_json(json_object_get(s, "to")).s);
}

static void changes(const json_t *doc, struct gt_buf *out)
{
	static const char *const head[] = {"Since", "Metric", "Before", "After", "Change", "Verdict", "Set otherwise since then"};
	static const char *const cls[] = {"", "", "r", "r", "r", "", ""};
	json_t *list = json_object_get(doc, "changes"), *c;
	size_t i;

	if (!json_array_size(list)) {
		gt_buf_puts(out, "<p>None.</p>\n");
		return;
	}
	bn_html_table(out, "stack",
		      "Since when a metric has another level, and what was set otherwise from that result on.", head,
		      cls, GT_ARRAY_SIZE(head));
	json_array_foreach(list, i, c) {
		const char *unit = gt_json_get_str(c, "unit", "");
		bool worse = gt_streq(gt_json_get_str(c, "verdict", NULL), "worse");
		gt_autofree char *since =
			gt_xasprintf("%s (%s)", gt_json_get_str(c, "started", "?"), gt_json_get_str(c, "result", "?"));

		gt_buf_printf(out, "<tr class=\"%s\">", worse ? "worse" : "better");
		bn_html_cell(out, "th scope=\"row\"", NULL, since);
		bn_html_data(out, "w", head[1], gt_json_get_str(c, "metric", "?"));
		bn_html_data(out, "r", head[2], bn_text_value(gt_json_get_real(c, "before", NAN), unit).s);
		bn_html_data(out, "r", head[3], bn_text_value(gt_json_get_real(c, "after", NAN), unit).s);
		bn_html_data(out, "r", head[4], bn_text_percent(gt_json_get_real(c, "change_pct", NAN)).s);
		bn_html_data(out, "v", head[5], worse ? "WORSE" : "BETTER");
		bn_html_list_cell(out, head[6], json_object_get(c, "settings"),
				  "no recorded setting: look at the hardware and its surroundings", setting);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table>\n");
}

/* ---- one metric through time ---- */

static double value_of(const json_t *values, size_t i)
{
	return gt_json_get_real(json_array_get(values, i), "median", NAN);
}

/* Each segment's level as a line, and an upright line where one ends. The changes of a metric come in order. */
static void segments(const json_t *doc, const json_t *m, const struct bn_scale *x, const struct bn_scale *y, double scale,
		     struct gt_buf *out)
{
	double from = 1, last = (double)json_array_size(json_object_get(m, "values"));
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "changes"), i, c) {
		double at = (double)gt_json_get_int(c, "index", 0) + .5;
		double before = scale * gt_json_get_real(c, "before", NAN), after = scale * gt_json_get_real(c, "after", NAN);

		if (!gt_streq(gt_json_get_str(c, "metric", NULL), gt_json_get_str(m, "metric", "?")))
			continue;
		bn_svg_line(out, "cut", bn_scale_at(x, at), y->from, bn_scale_at(x, at), y->to);
		bn_svg_line(out, "seg", bn_scale_at(x, from), bn_scale_at(y, before), bn_scale_at(x, at), bn_scale_at(y, before));
		if (gt_json_get_bool(c, "newest", false))
			bn_svg_line(out, "seg", bn_scale_at(x, at), bn_scale_at(y, after), bn_scale_at(x, last),
				    bn_scale_at(y, after));
		from = at;
	}
}

static void plot(const json_t *doc, const json_t *m, unsigned id, struct gt_buf *out)
{
	json_t *values = json_object_get(m, "values");
	gt_autofree char *title = gt_xasprintf("%s through time", gt_json_get_str(m, "metric", "?"));
	size_t n = json_array_size(values);
	double lo = INFINITY, hi = -INFINITY, scale, ystep, xstep;
	const char *unit;
	struct bn_scale x, y;

	for (size_t i = 0; i < n; i++) {
		lo = fmin(lo, value_of(values, i));
		hi = fmax(hi, value_of(values, i));
	}
	if (!isfinite(lo) || !isfinite(hi))
		return;
	scale = bn_text_scale(hi, gt_json_get_str(m, "unit", ""), &unit);
	lo *= scale;
	hi *= scale;
	ystep = bn_nice_range(&lo, &hi, 4);
	xstep = fmax(1, bn_nice_step((double)n, 5));
	x = (struct bn_scale){1, fmax((double)n, 2), BN_SVG_LEFT, BN_SVG_RIGHT};
	y = (struct bn_scale){lo, hi, 196, 22};
	gt_buf_puts(out, "<figure>\n");
	bn_svg_open(out, "history", id, 236, title,
		    "One mark per result, the oldest left. Level lines are the medians between change points, which "
		    "are upright dashed "
		    "lines. The table beneath has the same numbers.");
	bn_svg_frame(out, &x, &y, unit, 0, xstep, ystep, "result");
	segments(doc, m, &x, &y, scale, out);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(values, i);
		gt_autofree char *tip = gt_xasprintf(
			"%s, %s: %s", gt_json_get_str(v, "result", "?"), gt_json_get_str(v, "started", "?"),
			bn_text_value(value_of(values, i), gt_json_get_str(m, "unit", "")).s);

		if (isfinite(value_of(values, i)))
			bn_svg_mark(out, "A", 'o', bn_scale_at(&x, (double)i + 1),
				    bn_scale_at(&y, scale * value_of(values, i)), tip);
	}
	gt_buf_puts(out, "</svg>\n<figcaption>Results in order of their dates; level lines: medians between change "
			 "points.</figcaption>"
			 "</figure>\n");
}

static void value_table(const json_t *m, struct gt_buf *out)
{
	static const char *const head[] = {"Result", "Measured", "Median"};
	static const char *const cls[] = {"", "", "r"};
	json_t *values = json_object_get(m, "values"), *v;
	gt_autofree char *caption = gt_xasprintf("%s, the oldest first; %s is better.", gt_json_get_str(m, "metric", "?"),
						 gt_json_get_str(m, "direction", "lower"));
	size_t i;

	gt_buf_printf(out, "<details><summary>%zu results</summary>\n", json_array_size(values));
	bn_html_table(out, "stack", caption, head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(values, i, v) {
		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(v, "result", "?"));
		bn_html_data(out, "w", head[1], gt_json_get_str(v, "started", "?"));
		bn_html_data(out, "r", head[2],
			     bn_text_value(gt_json_get_real(v, "median", NAN), gt_json_get_str(m, "unit", "")).s);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table></details>\n");
}

static const char *const sections[] = {"changes", "Change points", "metrics", "Through time", "method", "How to read this", NULL};

void bn_history_html(const json_t *doc, struct gt_buf *out)
{
	struct bn_text headline = bn_history_headline(doc);
	char title[64];
	json_t *m;
	size_t i;

	snprintf(title, sizeof(title), "gpubench history: %.*s", (int)strcspn(headline.s, ":"), headline.s);
	bn_html_open(out, title, headline.s);
	gt_buf_printf(out, "<header>\n<h1>gpubench history \xc2\xb7 %lld results of host ",
		      (long long)gt_json_get_int(doc, "results", 0));
	gt_buf_xml(out, gt_json_get_str(doc, "host", "unknown"));
	gt_buf_puts(out, "</h1>\n");
	bn_html_verdict(out, gt_json_get_str(doc, "verdict", "inconclusive"), headline.s, NULL);
	bn_html_nav(out, sections);
	gt_buf_puts(out, "</header>\n<main id=\"main\">\n");
	bn_html_section(out, "changes", "Change points");
	changes(doc, out);
	bn_html_notes(out, json_object_get(doc, "warnings"));
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "metrics", "Through time");
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		gt_buf_puts(out, "<h3 style=\"margin-top:1.4rem\">");
		gt_buf_xml(out, gt_json_get_str(m, "metric", "?"));
		gt_buf_puts(out, gt_json_get_bool(m, "judged", false) ? "</h3>\n" : " (needs 8 results)</h3>\n");
		plot(doc, m, (unsigned)i, out);
		value_table(m, out);
	}
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "method", "How to read this");
	gt_buf_puts(out, "<p>Each mark is the median over the launches of one result, of the host as it was. A "
			 "<em>change point</em> is a "
			 "result since which the metric has another level: found by energy distance, kept when a "
			 "permutation test says so "
			 "(5 % for all metrics together) and when the level moved by at least the metric's margin. A "
			 "metric needs eight "
			 "results, a segment four. What was set otherwise from that result on is named as a hint; "
			 "gpubench ab proves it."
			 "</p>\n</section>\n</main>\n<footer>Made by gpubench. The judgement is embedded in this page "
			 "as JSON (element "
			 "<code>gpubench-result</code>).</footer>\n");
	bn_html_json(out, "gpubench-result", doc);
	bn_html_close(out);
}
