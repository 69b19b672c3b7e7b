/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt as a page: the verdict, every change with its interval, why it works, and how to take it back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/report/html.h"
#include "bench/report/plots.h"
#include "bench/report/receipt.h"
#include "bench/result/text.h"

/* The effects of the changes in the form that the forest plot draws: one comparison each. */
static json_t *as_comparisons(const json_t *receipt)
{
	double margin = gt_json_get_real(json_object_get(receipt, "confirm"), "margin_pct", 1);
	json_t *list = json_array(), *k;
	size_t i;

	json_array_foreach(json_object_get(receipt, "knobs"), i, k)
	{
		json_t *c = json_object();

		json_object_update(c, json_object_get(k, "effect"));
		json_object_set_new(c, "metric", gt_json_str(gt_json_get_str(k, "id", "?")));
		json_object_set_new(c, "role", json_string("explore"));
		json_object_set_new(c, "unit", json_string(""));
		json_object_set_new(c, "margin_pct", gt_json_real(margin));
		json_object_set(c, "direction", json_object_get(receipt, "direction"));
		json_object_set(c, "verdict", json_object_get(k, "verdict"));
		json_array_append_new(list, c);
	}
	return json_pack("{s:o}", "comparisons", list);
}

static const char *const heads[] = {"Setting", "Change", "Effect",    "95 % interval", "Alone",
				    "Verdict", "Kept",   "Mechanism", "Take it back"};

static void change_row(const json_t *k, struct gt_buf *out)
{
	const json_t *e = json_object_get(k, "effect"), *m = json_object_get(k, "mechanism");
	const char *metric = gt_json_get_str(m, "metric", NULL), *word = bn_html_class(gt_json_get_str(k, "verdict", NULL));
	gt_autofree char *to = gt_xasprintf("%s \xe2\x86\x92 %s", bn_text_json(json_object_get(k, "from")).s,
					    bn_text_json(json_object_get(k, "to")).s);
	gt_autofree char *why =
		gt_xasprintf("%s%s%s", metric ? metric : "", metric ? ": " : "", gt_json_get_str(m, "moved", ""));
	gt_autofree char *verdict = gt_xasprintf("v %s", word);
	gt_autofree char *said = gt_xasprintf("%s%s%s%s%s", word, bn_prove_guard(k),
					      gt_json_get_bool(k, "interacts", false) ? ", other alone" : "",
					      gt_json_get_str(k, "why", NULL) ? ": " : "", gt_json_get_str(k, "why", ""));
	struct bn_text alone = bn_prove_alone(k);

	gt_buf_puts(out, "<tr>");
	bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(k, "id", "?"));
	bn_html_data(out, "w", heads[1], to);
	bn_html_data(out, "r", heads[2], bn_text_change(e).s);
	bn_html_data(out, "n", heads[3], bn_text_interval(e).s);
	bn_html_data(out, "n", heads[4], alone.s);
	bn_html_data(out, verdict, heads[5], said);
	bn_html_data(out, "", heads[6], gt_json_get_bool(k, "kept", false) ? "kept" : "dropped");
	bn_html_data(out, "w", heads[7], why);
	gt_buf_printf(out, "<td class=\"w\" data-h=\"%s\"><code>", heads[8]);
	gt_buf_xml(out, gt_json_get_str(k, "revert", ""));
	gt_buf_puts(out, "</code></td></tr>\n");
}

static void changes(const json_t *receipt, struct gt_buf *out)
{
	static const char *const cls[] = {"", "", "r", "n", "n", "", "", "", ""};
	gt_autofree char *caption = gt_xasprintf("%s Alone: the same while all others are off.", bn_prove_meaning(receipt));
	json_t *k;
	size_t i;

	gt_buf_puts(out, "<div class=\"scroll\">");
	bn_html_table(out, "stack", caption, heads, cls, GT_ARRAY_SIZE(heads));
	json_array_foreach(json_object_get(receipt, "knobs"), i, k) change_row(k, out);
	gt_buf_puts(out, "</tbody></table></div>\n");
	json_array_foreach(json_object_get(receipt, "not_measured"), i, k)
	{
		gt_buf_puts(out, i ? "" : "<p>Not measured:</p>\n<dl>\n");
		gt_buf_puts(out, "<dt>");
		gt_buf_xml(out, gt_json_get_str(k, "id", "?"));
		gt_buf_puts(out, "</dt><dd>");
		gt_buf_xml(out, gt_json_get_str(k, "why", ""));
		gt_buf_puts(out, "</dd>\n");
	}
	gt_buf_puts(out, i ? "</dl>\n" : "");
}

/* What was promised before, beside what it took. */
static void plan(const json_t *receipt, struct gt_buf *out)
{
	static const char *const head[] = {"Step", "Comparisons", "Pairs at most", "Pairs taken", "Minutes taken", "Can be seen"};
	static const char *const cls[] = {"", "r", "r", "r", "r", "r"};
	const json_t *plan = json_object_get(receipt, "plan");
	double minutes = gt_json_get_real(plan, "minutes", NAN), limit = gt_json_get_real(plan, "limit_minutes", NAN);
	json_t *s, *missed = json_object_get(receipt, "not_reached");
	size_t i;

	bn_html_table(
		out, "stack",
		"Said before the first change was measured, beside what it took. Can be seen: the smallest effect that "
		"is found four times out of five, by the spread of three A/A pairs.",
		head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(json_object_get(plan, "steps"), i, s) {
		double mde = gt_json_get_real(s, "mde_pct", NAN);
		int64_t of = gt_json_get_int(s, "comparisons", 0), pairs = gt_json_get_int(s, "pairs", 0);
		char *cell[] = {gt_xasprintf("%lld", (long long)of), gt_xasprintf("%lld", (long long)(of * pairs)),
					    gt_xasprintf("%lld", (long long)gt_json_get_int(s, "pairs_taken", 0)),
					    gt_xasprintf("%.1f", gt_json_get_real(s, "minutes_taken", 0)),
					    isfinite(mde) ? gt_xasprintf("%s %%", bn_text_number(mde, 2).s) : gt_xstrdup("-")};

		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(s, "name", "?"));
		for (size_t k = 0; k < GT_ARRAY_SIZE(cell); k++) {
			bn_html_data(out, "r", head[k + 1], cell[k]);
			free(cell[k]);
		}
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_printf(out, "</tbody></table>\n<p>%lld of at most %lld pairs, %.1f min",
		      (long long)gt_json_get_int(plan, "pairs_taken", 0), (long long)gt_json_get_int(plan, "pairs", 0),
		      gt_json_get_real(plan, "minutes_taken", 0));
	if (isfinite(minutes))
		gt_buf_printf(out, " of about %.1f", minutes);
	gt_buf_puts(out, ", without what looks at mechanisms.</p>\n");
	json_array_foreach(missed, i, s) {
		if (i == 0)
			gt_buf_printf(out, "<p>Not reached in the %.3g min allowed:</p>\n<ul>\n", limit);
		bn_html_cell(out, "li", NULL, json_is_string(s) ? json_string_value(s) : "?");
	}
	gt_buf_puts(out, json_array_size(missed) ? "</ul>\n" : "");
}

/* What else was seen while it was measured. */
static void seen(const json_t *receipt, struct gt_buf *out)
{
	static const char *const head[] = {"Setting", "From", "To", "When", "Seen in"};
	static const char *const cls[] = {"", "", "", "", ""};
	json_t *others = json_object_get(receipt, "confounders"), *list = json_object_get(receipt, "warnings"), *v, *ph;
	json_t *far = json_object_get(json_object_get(receipt, "outliers"), "farthest");
	size_t i, k;

	if (json_array_size(others))
		bn_html_table(out, "stack",
			      "Differences that are none of the changes. One between the arms is in every pair, and cannot be "
			      "told from the change; one that came midway or between two phases is in both arms of almost every "
			      "pair, and what is proved is proved across it.",
			      head, cls, GT_ARRAY_SIZE(head));
	json_array_foreach(others, i, v)
	{
		gt_auto_buf in = {0};

		json_array_foreach(json_object_get(v, "phases"), k, ph)
			gt_buf_printf(&in, "%s%s", k ? ", " : "", json_is_string(ph) ? json_string_value(ph) : "?");
		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, gt_json_get_str(v, "key", "?"));
		bn_html_data(out, "w", head[1], bn_text_json(json_object_get(v, "from")).s);
		bn_html_data(out, "w", head[2], bn_text_json(json_object_get(v, "to")).s);
		bn_html_data(out, "", head[3], gt_json_get_str(v, "when", "?"));
		bn_html_data(out, "w", head[4], in.s ? in.s : "");
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, json_array_size(others) ? "</tbody></table>\n" : "<p>Other differences: none.</p>\n");
	gt_buf_puts(out, json_array_size(list) + json_array_size(far) ? "<ul>\n" : "");
	json_array_foreach(list, i, v)
	{
		gt_autofree char *text =
			gt_xasprintf("%s; %s", gt_json_get_str(v, "text", ""), gt_json_get_str(v, "hint", ""));

		bn_html_cell(out, "li", NULL, text);
	}
	json_array_foreach(far, i, v)
	{
		gt_autofree char *text = gt_xasprintf("far from the others: %s: %s", gt_json_get_str(v, "phase", "?"),
						      bn_text_outlier(v).s);

		bn_html_cell(out, "li", NULL, text);
	}
	gt_buf_puts(out, json_array_size(list) + json_array_size(far) ? "</ul>\n" : "");
}

static void facts(const json_t *receipt, struct gt_buf *out)
{
	static const char *const keys[] = {"host", "cpu", "kernel", "nvidia_driver", "profile", "created", "seed"};

	gt_buf_puts(out, "<dl>\n");
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		gt_buf_printf(out, "<dt>%s</dt><dd>", keys[i]);
		gt_buf_xml(out, bn_text_json(json_object_get(receipt, keys[i])).s);
		gt_buf_puts(out, "</dd>\n");
	}
	gt_buf_puts(out, "</dl>\n");
}

static const char *const sections[] = {"changes", "Every change", "plot", "Effects", "ablation", "What each brings",
				       "seen",    "What else was seen", "plan", "Plan", "host", "Host",
				       "method",  "How to read this", NULL};

void bn_prove_html(const json_t *receipt, struct gt_buf *out)
{
	gt_auto_json *effects = as_comparisons(receipt);
	gt_auto_buf answer = {0}, title = {0};
	gt_autofree char *soft = gt_xasprintf("%s; %s is better", gt_json_get_str(receipt, "metric", "no metric"),
					      gt_json_get_str(receipt, "direction", "lower"));
	const char *cls = bn_prove_headline(receipt, &answer);

	gt_buf_printf(&title, "gpubench prove: %.*s", (int)strcspn(answer.s, ":"), answer.s);
	bn_html_open(out, title.s, answer.s);
	gt_buf_puts(out, "<header>\n<h1>gpubench prove \xc2\xb7 host ");
	gt_buf_xml(out, gt_json_get_str(receipt, "host", "unknown"));
	gt_buf_puts(out, "</h1>\n");
	bn_html_verdict(out, cls, answer.s, soft);
	bn_html_nav(out, sections);
	gt_buf_puts(out, "</header>\n<main id=\"main\">\n");
	bn_html_section(out, "changes", "Every change");
	changes(receipt, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "plot", "Effects");
	gt_buf_puts(out, "<figure>");
	bn_plot_forest(effects, out);
	gt_buf_puts(out, "</figure>\n</section>\n");
	bn_html_section(out, "ablation", "What each brings");
	bn_prove_ablation(receipt, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "seen", "What else was seen");
	seen(receipt, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "plan", "Plan");
	if (json_is_object(json_object_get(receipt, "plan")))
		plan(receipt, out);
	else
		gt_buf_puts(out, "<p>The receipt holds none: it is of an older version.</p>\n");
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "host", "Host");
	facts(receipt, out);
	gt_buf_puts(out, "</section>\n");
	bn_html_section(out, "method", "How to read this");
	gt_buf_puts(out, "<p>");
	gt_buf_xml(out, bn_prove_meaning(receipt));
	gt_buf_puts(
		out,
		" It is measured in interleaved pairs; where the change alone does something else than among the others, both "
		"intervals apart, the verdict says \"other alone\". A change is kept "
		"when it is better and no guard is worse; what was kept is measured again on fresh data, and only "
		"that estimate stands above. There no guard may be worse or seem so by its margin; one that is not "
		"shown to be not worse is named beside the verdict. The mechanism metric is what the change claims to "
		"act on: when it did not get better, the gain is called unexplained. gputune apply --only-proven "
		"takes the receipt on this host, under this kernel and this major version of the driver "
		"alone.</p>\n</section>\n</main>\n<footer>Made by gpubench. The receipt is embedded in this page as "
		"JSON (element <code>gpubench-result</code>).</footer>\n");
	bn_html_json(out, "gpubench-result", receipt);
	bn_html_close(out);
}
