/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement of gpubench fleet as a page: who is unlike the others and why, every host on one axis, every number. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/report/fleet.h"
#include "bench/report/html.h"
#include "bench/result/text.h"
#include "bench/report/svg.h"

#define ROW	  52
#define NAMES_MAX 3 /* outliers that are named beside a row; the table has them all */

static void cause(const json_t *c, struct gt_buf *out)
{
	gt_buf_printf(out, "%s here, %s on %.0f %% of the others", bn_text_json(json_object_get(c, "value")).s,
		      bn_text_json(json_object_get(c, "usual")).s, 100 * gt_json_get_real(c, "others_share", NAN));
}

static void outliers(const json_t *doc, struct gt_buf *out)
{
	static const char *const head[] = {"Host", "Metric", "Here", "Usual", "Difference", "Verdict", "Probable cause"};
	static const char *const cls[] = {"", "", "r", "r", "r", "", ""};
	json_t *list = json_object_get(doc, "outliers"), *o;
	size_t i;

	if (!json_array_size(list)) {
		gt_buf_puts(out, "<p>None.</p>\n");
		return;
	}
	bn_html_table(
		out, "stack",
		"Hosts that lie farther from the median host than chance puts any, and what is set otherwise there.",
		head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(list, i, o) {
		const char *unit = gt_json_get_str(o, "unit", "");
		bool worse = gt_streq(gt_json_get_str(o, "verdict", NULL), "worse");

		gt_buf_printf(out, "<tr class=\"%s\">", worse ? "worse" : "better");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(o, "host", "?"));
		bn_html_data(out, "w", head[1], gt_json_get_str(o, "metric", "?"));
		bn_html_data(out, "r", head[2], bn_text_value(gt_json_get_real(o, "median", NAN), unit).s);
		bn_html_data(out, "r", head[3], bn_text_value(gt_json_get_real(o, "usual_median", NAN), unit).s);
		bn_html_data(out, "r", head[4], bn_text_percent(gt_json_get_real(o, "deviation_pct", NAN)).s);
		bn_html_data(out, "v", head[5], worse ? "WORSE" : "BETTER");
		bn_html_list_cell(out, head[6], json_object_get(o, "causes"),
				  "no recorded setting differs from the others: look at the hardware", cause);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table>\n");
}

/* ---- every host on one axis ---- */

static double gain(const json_t *metric, const json_t *host)
{
	double sign = gt_streq(gt_json_get_str(metric, "direction", NULL), "higher") ? 1 : -1;

	return sign * gt_json_get_real(host, "deviation_pct", NAN);
}

static double reach_of(const json_t *doc)
{
	double most = .1;
	json_t *m, *h;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		if (!gt_json_get_bool(m, "judged", false))
			continue;
		most = fmax(most, 150 * gt_json_get_real(m, "margin", 0));
		json_array_foreach(json_object_get(m, "hosts"), k, h)
			if (isfinite(gain(m, h)))
				most = fmax(most, fmin(fabs(gain(m, h)), 1e6));
	}
	return most * 1.08;
}

static void draw_hosts(const json_t *m, const struct bn_scale *x, double y, struct gt_buf *out)
{
	gt_auto_buf names = {0};
	size_t i, found = 0;
	json_t *h;

	/* the usual ones first: outliers lie on top */
	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(json_object_get(m, "hosts"), i, h) {
			const char *verdict = gt_json_get_str(h, "verdict", "usual"), *name = gt_json_get_str(h, "host", "?");
			bool usual = gt_streq(verdict, "usual"), worse = gt_streq(verdict, "worse");
			gt_autofree char *tip = gt_xasprintf("%s: %s, %s", name,
							     bn_text_value(gt_json_get_real(h, "median", NAN),
									   gt_json_get_str(m, "unit", "")).s,
							     bn_text_percent(gt_json_get_real(h, "deviation_pct", NAN)).s);

			if (usual != (pass == 0) || !isfinite(gain(m, h)))
				continue;
			if (!usual && found++ < NAMES_MAX)
				gt_buf_printf(&names, "%s%s", names.len ? ", " : "", name);
			gt_buf_printf(out, "<g class=\"%s\">", usual ? "same" : worse ? "worse" : "better");
			bn_svg_mark(out, usual ? "N" : "pt",
				    usual   ? 'o'
				    : worse ? '<'
					    : '>',
				    bn_scale_at(x, gain(m, h)), y + 18, tip);
			gt_buf_puts(out, "</g>");
		}
	if (found > NAMES_MAX)
		gt_buf_printf(&names, " and %zu more", found - NAMES_MAX);
	bn_svg_text(out, "t", "end", 100, y, names.s ? names.s : "no outlier");
}

static void plot(const json_t *doc, struct gt_buf *out)
{
	double reach = reach_of(doc), step = bn_nice_step(reach, 3), bottom = 20, y = 20;
	struct bn_scale x = {-reach, reach, 1, 99};
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(doc, "metrics"), i, m)
		bottom += gt_json_get_bool(m, "judged", false) ? ROW : 0;
	bn_svg_open(out, "fleet", 0, bottom + 44, "Every host beside the median host",
		    "One row per metric, one mark per host: how far it lies from the median host, right is better. The "
		    "grey band is "
		    "the margin; circles are usual, triangles are outliers. The tables have the same numbers.");
	for (double v = -floor(reach / step) * step; v <= reach + 1e-9; v += step) {
		gt_autofree char *label = gt_xasprintf("%.*f %%", bn_step_decimals(step), fabs(v) < step / 2 ? 0 : fabs(v));
		double at = bn_scale_at(&x, v);

		bn_svg_line(out, "grid", at, 4, at, bottom);
		bn_svg_text(out, "t", at < 5 ? "start" : at > 95 ? "end" : "middle", at, bottom + 16, label);
	}
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		double margin = 100 * gt_json_get_real(m, "margin", 0);

		if (!gt_json_get_bool(m, "judged", false))
			continue;
		bn_svg_band(out, "band", bn_scale_at(&x, -margin), y + 8, bn_scale_at(&x, margin), y + 28);
		bn_svg_line(out, "zero", bn_scale_at(&x, 0), y + 6, bn_scale_at(&x, 0), y + 30);
		bn_svg_text(out, "", "start", 0, y, gt_json_get_str(m, "metric", "?"));
		draw_hosts(m, &x, y, out);
		y += ROW;
	}
	bn_svg_text(out, "t", "start", 0, bottom + 36, "\xe2\x86\x90 worse");
	bn_svg_text(out, "t", "end", 100, bottom + 36, "better \xe2\x86\x92");
	gt_buf_puts(out, "</svg>\n");
}

static bool any_judged(const json_t *doc)
{
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(doc, "metrics"), i, m)
		if (gt_json_get_bool(m, "judged", false))
			return true;
	return false;
}

/* ---- numbers ---- */

static void metric_table(const json_t *m, struct gt_buf *out)
{
	static const char *const head[] = {"Host", "Median", "From the median host", "Scales out", "Verdict"};
	static const char *const cls[] = {"", "r", "r", "r", ""};
	json_t *list = json_object_get(m, "hosts"), *h;
	const char *unit = gt_json_get_str(m, "unit", "");
	gt_autofree char *caption =
		gt_xasprintf("%s on %.80s: median host %s, spread %s, %s is better%s.", gt_json_get_str(m, "metric", "?"),
			     gt_json_get_str(m, "cpu", "unknown CPU"), bn_text_value(gt_json_get_real(m, "median", NAN), unit).s,
			     bn_text_spread(m).s, gt_json_get_str(m, "direction", "lower"),
			     gt_json_get_bool(m, "judged", false) ? "" : "; too few hosts to judge");
	size_t i;

	gt_buf_puts(out, "<details><summary>");
	gt_buf_xml(out, gt_json_get_str(m, "metric", "?"));
	gt_buf_printf(out, ", %zu host%s</summary>\n", json_array_size(list), json_array_size(list) == 1 ? "" : "s");
	bn_html_table(out, "stack", caption, head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(list, i, h) {
		const char *verdict = gt_json_get_str(h, "verdict", "usual");
		char scales[32];

		snprintf(scales, sizeof(scales), "%+.1f", gt_json_get_real(h, "scales", NAN));
		gt_buf_printf(out, "<tr class=\"%s\">",
			      gt_streq(verdict, "worse")    ? "worse"
			      : gt_streq(verdict, "better") ? "better"
							    : "same");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(h, "host", "?"));
		bn_html_data(out, "r", head[1], bn_text_value(gt_json_get_real(h, "median", NAN), unit).s);
		bn_html_data(out, "r", head[2], bn_text_percent(gt_json_get_real(h, "deviation_pct", NAN)).s);
		bn_html_data(out, "r", head[3], scales);
		bn_html_data(out, "v", head[4], verdict);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table></details>\n");
}

static void hosts(const json_t *doc, struct gt_buf *out)
{
	static const char *const head[] = {"Result", "Identity", "Processor", "Measured", "Counts"};
	static const char *const cls[] = {"", "", "", "", ""};
	json_t *h;
	size_t i;

	bn_html_table(out, "stack",
		      "Of several results of one machine the newest counts; notes say why others were left out.", head,
		      cls, GT_ARRAY_SIZE(head));
	json_array_foreach(json_object_get(doc, "hosts"), i, h) {
		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(h, "name", "?"));
		bn_html_data(out, "w", head[1], gt_json_get_str(h, "identity", "unknown"));
		bn_html_data(out, "w", head[2], gt_json_get_str(h, "cpu", "unknown"));
		bn_html_data(out, "w", head[3], gt_json_get_str(h, "started", ""));
		bn_html_data(out, "", head[4], gt_json_get_bool(h, "counts", false) ? "yes" : "left out");
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table>\n");
	bn_html_notes(out, json_object_get(doc, "warnings"));
}

static const char *const sections[] = {"outliers", "Outliers", "plot", "Every host", "numbers", "Numbers", "hosts", "Results",
				       "method", "How to read this", NULL};

void bn_fleet_html(const json_t *doc, struct gt_buf *out)
{
	struct bn_text headline = bn_fleet_headline(doc);
	char title[64];
	json_t *m;
	size_t i;

	snprintf(title, sizeof(title), "gpubench fleet: %.*s", (int)strcspn(headline.s, ":"), headline.s);
	bn_html_open(out, title, headline.s);
	gt_buf_printf(out, "<header>\n<h1>gpubench fleet \xc2\xb7 %zu results</h1>\n",
		      json_array_size(json_object_get(doc, "hosts")));
	bn_html_verdict(out, gt_json_get_str(doc, "verdict", "inconclusive"), headline.s, NULL);
	bn_html_nav(out, sections);
	gt_buf_puts(out, "</header>\n<main id=\"main\">\n");
	bn_html_section(out, "outliers", "Outliers");
	outliers(doc, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "plot", "Every host");
	if (any_judged(doc)) {
		gt_buf_puts(out, "<figure>");
		plot(doc, out);
		gt_buf_puts(out, "<figcaption>Distance from the median host. Circle: usual; triangle left: worse; "
				 "triangle right: better; "
				 "grey: too small to matter.</figcaption></figure>\n");
	} else {
		gt_buf_puts(out, "<p>No class of hosts with the same processor has four hosts: none is judged.</p>\n");
	}
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "numbers", "Numbers");
	json_array_foreach(json_object_get(doc, "metrics"), i, m)
		metric_table(m, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "hosts", "Results");
	hosts(doc, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "method", "How to read this");
	gt_buf_puts(
		out,
		"<p>Hosts with the same processor are a class, judged from four on. The centre is the median host, a "
		"<em>scale</em> the median distance from it (times 1.48). An outlier lies farther out than chance "
		"would put any "
		"one of all hosts and metrics in one table out of twenty, by at least the metric's margin, and farther "
		"than its "
		"own launches are spread. A cause is a setting that most of the others share and the outlier has not; "
		"those "
		"that are known to move the metric come first. It is a hint, not a proof: gpubench ab on that host "
		"proves it."
		"</p>\n</section>\n</main>\n<footer>Made by gpubench. The judgement is embedded in this page as JSON "
		"(element "
		"<code>gpubench-result</code>).</footer>\n");
	bn_html_json(out, "gpubench-result", doc);
	bn_html_close(out);
}
