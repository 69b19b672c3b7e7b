/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "bench/result/data.h"
#include "bench/session/gauge.h"
#include "bench/report/heat.h"
#include "bench/report/html.h"
#include "bench/report/plots.h"
#include "bench/result/text.h"

static void banner(const json_t *doc, struct gt_buf *out)
{
	const json_t *run = json_object_get(doc, "run"), *host = json_object_get(doc, "host");
	gt_auto_buf headline = { 0 }, soft = { 0 };
	const char *section[16];
	size_t n = 0;

	bn_text_headline(doc, &headline);
	gt_buf_puts(&soft, bn_text_design(doc).s);
	if (gt_streq(gt_json_get_str(run, "design", NULL), "pairs"))
		gt_buf_printf(&soft, " \xc2\xb7 A/A check: %s", bn_text_aa(doc).s);
	gt_buf_puts(out, "<header>\n<h1>gpubench \xc2\xb7 ");
	gt_buf_xml(out, gt_json_get_str(host, "cpu", "unknown CPU"));
	gt_buf_puts(out, " \xc2\xb7 host ");
	gt_buf_xml(out, gt_json_get_str(host, "identity", "unknown"));
	gt_buf_puts(out, " \xc2\xb7 ");
	gt_buf_xml(out, gt_json_get_str(run, "started", "no date"));
	gt_buf_puts(out, "</h1>\n");
	bn_html_verdict(out, gt_json_get_str(doc, "verdict", NULL), headline.s, soft.s);
	section[n++] = "results", section[n++] = "Results";
	section[n++] = "changed", section[n++] = "What changed";
	if (json_array_size(json_object_get(doc, "metrics")))
		section[n++] = "plots", section[n++] = "Plots";
	if (bn_heat_any(doc))
		section[n++] = "nodes", section[n++] = "By node";
	section[n++] = "host", section[n++] = "Host";
	section[n++] = "method", section[n++] = "How to read this";
	section[n] = NULL;
	bn_html_nav(out, section);
	gt_buf_puts(out, "</header>\n");
}

static void results(const json_t *doc, struct gt_buf *out)
{
	const char *head[] = {"Metric", bn_arm_name(doc, false), bn_arm_name(doc, true),
			      "Change", "95 % interval",         "Verdict"};
	const char *cls[] = { "", "r", "r", "r", "n", "" };
	json_t *c;
	size_t i;

	bn_html_table(out, "stack", "Medians of launches; [P] decides the verdict, [G] is a guard that must not get worse, [C] is "
		      "a control that nothing should move.", head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(json_object_get(doc, "comparisons"), i, c) {
		const char *unit = gt_json_get_str(c, "unit", "");

		gt_buf_printf(out, "<tr class=\"%s\">", bn_html_class(gt_json_get_str(c, "verdict", NULL)));
		bn_html_cell(out, "th scope=\"row\"", NULL, bn_text_metric(c).s);
		bn_html_data(out, "r", head[1], bn_text_value(gt_json_get_real(c, "a_median", NAN), unit).s);
		bn_html_data(out, "r", head[2], bn_text_value(gt_json_get_real(c, "b_median", NAN), unit).s);
		bn_html_data(out, "r", head[3], bn_text_change(c).s);
		bn_html_data(out, "n", head[4], bn_text_interval(c).s);
		bn_html_data(out, "v", head[5], bn_text_verdict(c).s);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table>\n");
}

static void levels(const json_t *doc, struct gt_buf *out)
{
	static const char *const head[] = { "Metric", "Median", "Lowest", "Highest", "Launches" };
	static const char *const cls[] = { "", "r", "r", "r", "r" };
	static const char *const key[] = { "median", "low", "high" };
	json_t *l;
	size_t i;

	bn_html_table(out, "stack", "One number per launch.", head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(json_object_get(doc, "levels"), i, l) {
		char n[24];

		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(l, "metric", "?"));
		for (size_t k = 0; k < 3; k++) {
			bn_html_data(out, "r", head[k + 1], bn_text_level(doc, l, key[k]).s);
		}
		snprintf(n, sizeof(n), "%lld", (long long)gt_json_get_int(l, "n", 0));
		bn_html_data(out, "r", head[4], n);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table>\n");
}

static void notes(const json_t *doc, struct gt_buf *out)
{
	json_t *warnings = json_object_get(doc, "warnings"), *missing = json_object_get(doc, "unavailable"), *w;
	json_t *outliers = json_object_get(doc, "outliers");
	gt_auto_buf gpu = { 0 };
	size_t i;

	bn_text_gpu(doc, &gpu);

	if (!json_array_size(warnings) && !json_array_size(missing) && !json_array_size(outliers) && !gpu.len)
		return;
	gt_buf_puts(out, "<h3 style=\"margin-top:1rem\">Notes</h3>\n");
	bn_html_notes(out, warnings);
	if (json_array_size(missing) + json_array_size(outliers) + gpu.len == 0)
		return;
	gt_buf_puts(out, "<ul class=\"notes\">\n");
	json_array_foreach(missing, i, w) {
		gt_buf_puts(out, "<li>Not measured: ");
		gt_buf_xml(out, gt_json_get_str(w, "workload", "?"));
		gt_buf_puts(out, " (");
		gt_buf_xml(out, gt_json_get_str(w, "why", "?"));
		gt_buf_puts(out, ")</li>\n");
	}
	if (gpu.len) {
		gt_buf_puts(out, "<li>");
		gt_buf_xml(out, gpu.s);
		gt_buf_puts(out, "</li>\n");
	}
	json_array_foreach(outliers, i, w) {
		gt_buf_puts(out, "<li>Far from the others, and kept: ");
		gt_buf_xml(out, bn_text_outlier(w).s);
		gt_buf_puts(out, "</li>\n");
	}
	gt_buf_puts(out, "</ul>\n");
}

static void change_table(const json_t *list, const char *key, const char *caption, struct gt_buf *out)
{
	static const char *const head[] = { "Setting", "From", "To", "How" };
	static const char *const cls[] = { "c0", "c1", "c2", "c3" };
	json_t *k;
	size_t i;

	bn_html_table(out, "stack change", caption, head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(list, i, k) {
		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(k, key, "?"));
		bn_html_data(out, "w", head[1], bn_text_json(json_object_get(k, "from")).s);
		bn_html_data(out, "w", head[2], bn_text_json(json_object_get(k, "to")).s);
		bn_html_data(out, "w", head[3], gt_json_get_str(k, "when", ""));
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table>\n");
}

static void changed(const json_t *doc, struct gt_buf *out)
{
	json_t *declared = json_object_get(json_object_get(doc, "treatment"), "declared");
	json_t *others = json_object_get(doc, "confounders");

	bn_html_section(out, "changed", "What changed");
	if (json_array_size(declared))
		change_table(declared, "id",
			     "Changed on purpose between the two arms, read back, and put back afterwards.", out);
	else
		gt_buf_puts(out, "<p>Nothing was changed on purpose.</p>\n");
	if (json_array_size(others))
		change_table(others, "key",
			     "Other differences: what moved cannot be put down to the settings above alone.", out);
	else
		gt_buf_puts(
			out,
			"<p class=\"soft\">No other difference between the settings of the two arms was seen.</p>\n");
	gt_buf_puts(out, "</section>\n");
}

static void forest(const json_t *doc, struct gt_buf *out)
{
	gt_buf_puts(out, "<figure>\n");
	bn_plot_forest(doc, out);
	gt_buf_puts(out, "<figcaption>Mark: estimate. Line: 95 % interval. Grey: too small to matter. Dashed: what identical arms "
			 "differed by. Triangle right: better; triangle left: worse; square: same; hollow: inconclusive. "
			 "Arrowhead at the edge: the interval goes on beyond it; two: so does the estimate."
			 "</figcaption></figure>\n");
}

/* c: a comparison, or what names a metric where nothing is compared. */
static void plots_of(const json_t *doc, const json_t *c, unsigned id, struct gt_buf *out)
{
	const json_t *series = bn_doc_metric(doc, gt_json_get_str(c, "metric", ""));
	bool two = json_array_size(json_object_get(c, "pairs")) > 0;
	gt_auto_buf spread = {0};

	gt_buf_puts(out, "<h3 style=\"margin-top:1.4rem\">");
	gt_buf_xml(out, bn_text_metric(c).s);
	gt_buf_puts(out, "</h3>\n<div class=\"pair\">\n<figure>\n");
	bn_plot_run_order(doc, c, id, out);
	gt_buf_printf(out, "<figcaption>In the order of measuring.%s</figcaption></figure>\n",
		      two ? " \xe2\x97\x8f baseline \xe2\x97\x86 changed \xe2\x97\x8b A/A." : "");
	if (two) {
		gt_buf_puts(out, "<figure>\n");
		bn_plot_pairs(doc, c, id, out);
		gt_buf_puts(out, "<figcaption>Change within each pair; line and band: estimate and "
				 "interval.</figcaption></figure>\n");
	}
	if (series && bn_plot_spread(doc, series, id, &spread)) {
		gt_buf_puts(out, "<figure>\n");
		gt_buf_puts(out, spread.s);
		gt_buf_puts(out, "<figcaption>Spread of all samples after warm-up; the upright line is the median. "
				 "Samples within a "
				 "launch are not independent: no verdict comes from them.</figcaption></figure>\n");
	}
	gt_buf_puts(out, "</div>\n");
}

static void plots(const json_t *doc, struct gt_buf *out)
{
	json_t *list = json_object_get(doc, "comparisons"), *c;
	size_t i;

	if (!json_array_size(json_object_get(doc, "metrics")))
		return;
	bn_html_section(out, "plots", "Plots");
	if (json_array_size(list))
		forest(doc, out);
	json_array_foreach(list, i, c)
		plots_of(doc, c, (unsigned)i, out);
	if (!json_array_size(list))
		json_array_foreach(json_object_get(doc, "metrics"), i, c) {
			gt_auto_json *one = json_copy(c);

			json_object_set(one, "metric", json_object_get(c, "id"));
			plots_of(doc, one, (unsigned)i, out);
		}
	gt_buf_puts(out, "</section>\n");
}

static void by_node(const json_t *doc, struct gt_buf *out)
{
	if (!bn_heat_any(doc))
		return;
	bn_html_section(out, "nodes", "By node");
	bn_heat_tables(doc, out);
	gt_buf_puts(out, "</section>\n");
}

static void settings_table(const json_t *doc, struct gt_buf *out)
{
	const json_t *s = json_object_get(doc, "settings");
	json_t *a = json_object_get(s, "a"), *b = json_object_get(s, "b"), *v;
	const char *key;

	if (!json_object_size(a))
		return;
	gt_buf_puts(out, "<details><summary>Settings in force during the measurement</summary>\n<div "
			 "class=\"scroll\"><table><caption>As read in each arm; what differs is bold.</caption><thead>"
			 "<tr><th scope=\"col\">Setting</th><th scope=\"col\">");
	gt_buf_xml(out, bn_arm_name(doc, false));
	gt_buf_puts(out, "</th>");
	if (b)
		bn_html_cell(out, "th scope=\"col\"", NULL, bn_arm_name(doc, true));
	gt_buf_puts(out, "</tr></thead>\n<tbody>\n");
	json_object_foreach(a, key, v) {
		json_t *w = json_object_get(b, key);

		gt_buf_puts(out, b && !json_equal(v, w) ? "<tr class=\"moved\">" : "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, key);
		bn_html_cell(out, "td", "w", bn_text_json(v).s);
		if (b)
			bn_html_cell(out, "td", "w", bn_text_json(w).s);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table></div></details>\n");
}

static void host(const json_t *doc, struct gt_buf *out)
{
	json_t *h = json_object_get(doc, "host"), *v;
	const char *key;

	bn_html_section(out, "host", "Host");
	gt_buf_puts(out, "<dl>\n");
	json_object_foreach(h, key, v) {
		if (json_is_object(v) || json_is_array(v))
			continue;
		bn_html_cell(out, "dt", NULL, key);
		if (gt_ends_with(key, "_bytes") && json_is_number(v))
			gt_buf_printf(out, "<dd>%.1f GiB</dd>", json_number_value(v) / (1 << 30));
		else
			bn_html_cell(out, "dd", NULL, bn_text_json(v).s);
		gt_buf_puts(out, "\n");
	}
	gt_buf_puts(out, "</dl>\n");
	settings_table(doc, out);
	gt_buf_puts(out, "</section>\n");
}

static void method(const json_t *doc, struct gt_buf *out)
{
	const json_t *run = json_object_get(doc, "run");
	json_t *a;
	size_t i;

	bn_html_section(out, "method", "How to read this");
	gt_buf_puts(out,
		    "<p>A <em>launch</em> is a fresh process that runs one workload; its median step is one number. A "
		    "<em>pair</em> is "
		    "one launch before and one after the change, in an order decided by a coin, so that drift of the "
		    "host cannot "
		    "favour either side. The change is the mean of the logarithms of the ratios within pairs; its "
		    "interval comes from "
		    "turning round the sign-flip randomisation test. Steps within a launch are never counted as "
		    "independent.</p>\n"
		    "<p><strong>better</strong> and <strong>worse</strong>: the interval excludes no change, also "
		    "after paying for the "
		    "number of metrics, and the estimate reaches the margin. <strong>same</strong>: the whole interval "
		    "lies inside the "
		    "margin. <strong>inconclusive</strong>: this session cannot tell, and says how many more pairs it "
		    "would take. An "
		    "A/A pair changes nothing; when those differ, the session is invalid and gives no verdict.</p>\n"
		    "<p>Two saved results are compared without pairs: drift between them is not controlled, so small "
		    "effects are "
		    "never called better or worse.</p>\n");
	gt_buf_puts(out, "<p class=\"soft\">Command: <code>");
	json_array_foreach(json_object_get(run, "argv"), i, a) {
		gt_buf_puts(out, i ? " " : "");
		gt_buf_xml(out, json_is_string(a) ? json_string_value(a) : "?");
	}
	gt_buf_puts(out, "</code></p>\n</section>\n");
}

void bn_report_html(const json_t *doc, struct gt_buf *out)
{
	gt_auto_buf headline = { 0 }, title = { 0 };

	bn_text_headline(doc, &headline);
	gt_buf_printf(&title, "gpubench: %s", headline.s);
	bn_html_open(out, title.s, headline.s);
	banner(doc, out);
	gt_buf_puts(out, "<main id=\"main\">\n");
	bn_html_section(out, "results", "Results");
	if (json_array_size(json_object_get(doc, "comparisons")))
		results(doc, out);
	else
		levels(doc, out);
	notes(doc, out);
	gt_buf_puts(out, "</section>\n");
	changed(doc, out);
	plots(doc, out);
	by_node(doc, out);
	host(doc, out);
	method(doc, out);
	gt_buf_puts(out, "</main>\n<footer>Made by gpubench. The whole result, with every raw sample, is embedded in "
			 "this page as "
			 "JSON (element <code>gpubench-result</code>).</footer>\n");
	bn_html_json(out, "gpubench-result", doc);
	bn_html_close(out);
}
