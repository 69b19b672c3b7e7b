/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a session or a comparison of two. */
#include <math.h>
#include <string.h>
#include "bench/report/forms.h"
#include "bench/report/heat.h"
#include "bench/report/plots.h"
#include "bench/result/data.h"
#include "bench/result/text.h"
#include "bench/result/gpu.h"

static bool has_design(const json_t *doc, const char *design)
{
	return gt_streq(gt_json_get_str(json_object_get(doc, "run"), "design", NULL), design);
}

static void comparisons(struct bn_view *v, const json_t *doc)
{
	const struct bn_column columns[] = { { "metric", BN_WORDS },
					     { bn_arm_name(doc, false), BN_NUMBER, .name = true },
					     { bn_arm_name(doc, true), BN_NUMBER, .name = true },
					     { "change", BN_NUMBER },
					     { "95% CI", BN_INTERVAL },
					     { "verdict", BN_JUDGED } };
	json_t *c;
	size_t i;

	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns),
		      "[P] decides the verdict, [G] guard: must not get worse, [C] control: must not change");
	json_array_foreach(json_object_get(doc, "comparisons"), i, c) {
		const char *unit = gt_json_get_str(c, "unit", "");

		bn_view_row(v, gt_json_get_str(c, "verdict", "inconclusive"));
		bn_view_cell(v, "%s", bn_text_metric(c).s);
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(c, "a_median", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(c, "b_median", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_change(c).s);
		bn_view_cell(v, "%s", bn_text_interval(c).s);
		bn_view_cell(v, "%s", bn_text_verdict(c).s);
	}
	if (has_design(doc, "pairs") || has_design(doc, "aa"))
		bn_view_add(v, BN_TEXT, BN_ALL,
			    "Change: mean ratio within pairs. Its sign can differ from that of the difference of the medians.");
}

static void levels(struct bn_view *v, const json_t *doc)
{
	static const struct bn_column columns[] = { { "metric", BN_WORDS },
						    { "median", BN_NUMBER },
						    { "lowest", BN_NUMBER },
						    { "highest", BN_NUMBER },
						    { "launches", BN_NUMBER } };
	json_t *l;
	size_t i;

	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns), "Each launch gives one number.");
	json_array_foreach(json_object_get(doc, "levels"), i, l) {
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(l, "metric", "?"));
		bn_view_cell(v, "%s", bn_text_level(doc, l, "median").s);
		bn_view_cell(v, "%s", bn_text_level(doc, l, "low").s);
		bn_view_cell(v, "%s", bn_text_level(doc, l, "high").s);
		bn_view_cell(v, "%lld", (long long)gt_json_get_int(l, "n", 0));
	}
}

static void summary(struct bn_view *v, const json_t *doc)
{
	const json_t *sum = json_object_get(doc, "summary");

	if (json_array_size(json_object_get(doc, "comparisons")))
		bn_view_add(v, BN_ITEM, BN_ALL, "%lld better, %lld worse, %lld same, %lld inconclusive",
			    (long long)gt_json_get_int(sum, "better", 0), (long long)gt_json_get_int(sum, "worse", 0),
			    (long long)gt_json_get_int(sum, "same", 0), (long long)gt_json_get_int(sum, "inconclusive", 0));
}

static void notes(struct bn_view *v, const json_t *doc)
{
	gt_auto_buf gpu = { 0 };
	json_t *w;
	size_t i;

	json_array_foreach(json_object_get(doc, "unavailable"), i, w)
		bn_view_add(v, BN_ITEM, BN_ALL, "not measured: %s (%s)", gt_json_get_str(w, "workload", "?"),
			    gt_json_get_str(w, "why", "?"));
	bn_view_notes(v, json_object_get(doc, "warnings"));
	bn_text_gpu(doc, &gpu);
	if (gpu.len)
		bn_view_add(v, BN_ITEM, BN_ALL, "%s", gpu.s);
	bn_view_outliers(v, json_object_get(doc, "outliers"), json_array_size(json_object_get(doc, "outliers")));
}

static void changed(struct bn_view *v, const json_t *doc)
{
	json_t *declared = json_object_get(json_object_get(doc, "treatment"), "declared");

	if (has_design(doc, "single"))
		return;
	bn_view_section(v, 0, "changed", "Changes")->context = true;
	bn_view_changes(v, declared, "id", BN_FILES, "Changes", "Changes: none");
	bn_view_changes(v, json_object_get(doc, "confounders"), "key", BN_ALL, "Other differences", "Other differences: none");
}

/* c: a comparison, or a metric with the same member names if nothing is compared. */
static void plots_of(struct bn_view *v, const json_t *doc, const json_t *c, unsigned id)
{
	const json_t *series = bn_doc_metric(doc, gt_json_get_str(c, "metric", ""));
	bool two = json_array_size(json_object_get(c, "pairs")) > 0;
	gt_auto_buf run = { 0 }, pairs = { 0 }, spread = { 0 };

	bn_view_add(v, BN_HEADING, BN_PAGE, "%s", bn_text_metric(c).s);
	bn_plot_run_order(doc, c, id, &run);
	bn_view_figure(v, &run,
		       two ? "In the order of measurement. \xe2\x97\x8f before \xe2\x97\x86 after \xe2\x97\x8b A/A."
			   : "In the order of measuring.");
	bn_plot_pairs(doc, c, id, &pairs);
	bn_view_figure(v, &pairs, "Change within each pair; line and band: estimate and interval.");
	if (series)
		bn_plot_samples(doc, series, id, &spread);
	bn_view_figure(v, &spread,
		       "Distribution of all samples after warm-up; the vertical line is the median. Samples within a launch "
		       "are not independent: no verdict comes from them.");
}

static void plots(struct bn_view *v, const json_t *doc)
{
	json_t *list = json_object_get(doc, "comparisons"), *c;
	gt_auto_buf forest = { 0 };
	size_t i;

	if (!json_array_size(json_object_get(doc, "metrics")))
		return;
	bn_view_section(v, 0, "plots", "Plots");
	if (json_array_size(list))
		bn_plot_forest(doc, &forest);
	bn_view_figure(v, &forest,
		       "Mark: estimate. Line: 95 % interval. Grey: too small to matter. Dashed: difference between identical "
		       "arms. Triangle right: better; triangle left: worse; square: same; hollow: inconclusive. Arrowhead at "
		       "the edge: the interval continues beyond it; two arrowheads: the estimate does too.");
	json_array_foreach(list, i, c)
		plots_of(v, doc, c, (unsigned)i);
	if (!json_array_size(list))
		json_array_foreach(json_object_get(doc, "metrics"), i, c) {
			gt_auto_json *one = json_copy(c);

			json_object_set(one, "metric", json_object_get(c, "id"));
			plots_of(v, doc, one, (unsigned)i);
		}
}

static void settings(struct bn_view *v, const json_t *doc)
{
	const json_t *s = json_object_get(doc, "settings");
	json_t *a = json_object_get(s, "a"), *b = json_object_get(s, "b"), *value;
	const struct bn_column columns[] = { { "setting", BN_WORDS },
					     { bn_arm_name(doc, false), BN_LONG, .name = true },
					     { bn_arm_name(doc, true), BN_LONG, .name = true } };
	const char *key;

	if (!json_object_size(a))
		return;
	bn_view_add(v, BN_DETAILS, BN_PAGE, "Settings during the measurement");
	bn_view_table(v, BN_PAGE, columns, b ? 3 : 2, "As read in each arm; differences are bold.");
	json_object_foreach(a, key, value) {
		json_t *other = json_object_get(b, key);

		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", key);
		bn_view_cell(v, "%s", bn_text_json(value).s);
		if (b)
			bn_view_cell(v, "%s", bn_text_json(other).s)->strong = !json_equal(value, other);
	}
	bn_view_add(v, BN_END, BN_PAGE, "%s", "");
}

static void host(struct bn_view *v, const json_t *doc)
{
	json_t *value;
	const char *key;

	bn_view_section(v, 0, "host", "Host");
	json_object_foreach(json_object_get(doc, "host"), key, value) {
		char size[32];

		if (json_is_object(value) || json_is_array(value))
			continue;
		snprintf(size, sizeof(size), "%.1f GiB", json_number_value(value) / (1 << 30));
		bn_view_fact(v, BN_PAGE, bn_view_host_label(key),
			     gt_ends_with(key, "_bytes") && json_is_number(value) ? size : bn_text_json(value).s);
	}
	settings(v, doc);
}

static void method(struct bn_view *v)
{
	bn_view_section(v, 0, "method", "Method");
	bn_view_add(v, BN_PROSE, BN_PAGE,
		    "A *launch* is a fresh process that runs one workload; its median step is one number. A *pair* is one "
		    "launch before and one after the change, in random order, so that drift of the host favours neither "
		    "side. The change is the mean of the logarithms of the ratios within pairs; its interval inverts the "
		    "sign-flip randomisation test. Steps within a launch are never counted as independent.");
	bn_view_add(
		v, BN_PROSE, BN_PAGE,
		"*better* and *worse*: the interval, corrected for the number of metrics, excludes no change, and the "
		"estimate reaches the margin. *same*: the whole interval lies inside the margin. *inconclusive*: this "
		"session cannot decide, and prints how many more pairs it needs. An A/A pair changes nothing; when its arms "
		"differ, the session is invalid and gives no verdict.");
	bn_view_add(
		v, BN_PROSE, BN_PAGE,
		"Two saved results are compared without pairs: drift between them is not controlled, so small effects are "
		"never called better or worse.");
}

struct bn_view *bn_view_result(const json_t *doc, bool page)
{
	struct bn_view *v = bn_view_new(doc, "gpubench");
	const json_t *of = json_object_get(doc, "host");
	bool pairs = has_design(doc, "pairs");
	gt_auto_buf headline = { 0 };

	bn_text_headline(doc, &headline);
	v->class = bn_view_class(gt_json_get_str(doc, "verdict", NULL));
	bn_view_set(&v->headline, "%s", headline.s);
	bn_view_set(&v->origin, "host %s, %s, %s", gt_json_get_str(of, "identity", "unknown"),
		    gt_json_get_str(of, "cpu", "unknown CPU"),
		    gt_json_get_str(json_object_get(doc, "run"), "started", "no date"));
	bn_view_set(&v->design, "design: %s%s%s", bn_text_design(doc).s, pairs ? ". A/A check: " : "",
		    pairs ? bn_text_aa(doc).s : "");
	bn_view_command(v, BN_PAGE, "Measured command", json_object_get(json_object_get(doc, "run"), "argv"));
	bn_view_section(v, 0, "results", "Results");
	if (json_array_size(json_object_get(doc, "comparisons")))
		comparisons(v, doc);
	else
		levels(v, doc);
	summary(v, doc);
	notes(v, doc);
	changed(v, doc);
	if (!page)
		return v;
	plots(v, doc);
	if (bn_heat_any(doc)) {
		bn_view_section(v, 0, "nodes", "By node");
		bn_heat_tables(v, doc);
	}
	host(v, doc);
	method(v);
	return v;
}
