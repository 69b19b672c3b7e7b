/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a history: the change points and the settings that changed then, each metric through time, every number. */
#include <math.h>
#include <stdio.h>
#include "bench/bench.h"
#include "bench/report/forms.h"
#include "bench/report/svg.h"
#include "bench/result/text.h"

static void answer(struct bn_view *v, const json_t *doc)
{
	int64_t code = gt_json_get_int(doc, "exit_code", 0);

	v->class = bn_view_class(gt_json_get_str(doc, "verdict", NULL));
	bn_view_set(&v->headline, "%s",
		    code == BN_EXIT_REGRESSION     ? "WORSE: the newest change of a primary or guard metric is for the worse"
		    : code == BN_EXIT_INCONCLUSIVE ? "INCONCLUSIVE: a history needs at least eight results"
						   : "SAME: in the newest results no primary or guard metric is worse than before");
}

static void changes(struct bn_view *v, const json_t *doc)
{
	static const struct bn_column columns[] = { { "since", BN_WORDS },
						    { "metric", BN_WORDS },
						    { "before", BN_NUMBER },
						    { "after", BN_NUMBER },
						    { "change", BN_NUMBER },
						    { "verdict", BN_VERDICT },
						    { "settings changed then", BN_LONG } };
	json_t *list = json_object_get(doc, "changes"), *c, *s;
	size_t i, k;

	if (!json_array_size(list)) {
		bn_view_add(v, BN_TEXT, BN_PAGE, "None.");
		return;
	}
	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns),
		      "Change points: since that result the metric has another level.");
	json_array_foreach(list, i, c) {
		const char *unit = gt_json_get_str(c, "unit", "");
		bool worse = gt_streq(gt_json_get_str(c, "verdict", NULL), "worse");
		json_t *settings = json_object_get(c, "settings");

		bn_view_row(v, worse ? "worse" : "better");
		bn_view_cell(v, "%s (%s)", gt_json_get_str(c, "started", "?"), gt_json_get_str(c, "result", "?"));
		bn_view_cell(v, "%s", gt_json_get_str(c, "metric", "?"));
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(c, "before", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(c, "after", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_percent(gt_json_get_real(c, "change_pct", NAN)).s);
		bn_view_cell(v, "%s", worse ? "WORSE" : "BETTER");
		bn_view_cell(v, "%s",
			     json_array_size(settings) ? "" : "no recorded setting: check the hardware and its surroundings");
		json_array_foreach(settings, k, s)
			bn_view_cell_item(v, "%s %s -> %s%s", gt_json_get_str(s, "key", "?"),
					  bn_text_json(json_object_get(s, "from")).s, bn_text_json(json_object_get(s, "to")).s,
					  gt_json_get_bool(s, "moves_it", false) ? "; known to affect it" : "");
	}
}

/* ---- one metric through time ---- */

static double value_of(const json_t *values, size_t i)
{
	return gt_json_get_real(json_array_get(values, i), "median", NAN);
}

/* The level of each segment as a line, and a vertical line at its end. The changes of a metric are in order. */
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

static void plot(struct bn_view *v, const json_t *doc, const json_t *m, unsigned id)
{
	json_t *values = json_object_get(m, "values");
	gt_autofree char *title = gt_xasprintf("%s through time", gt_json_get_str(m, "metric", "?"));
	size_t n = json_array_size(values);
	double lo = INFINITY, hi = -INFINITY, scale, ystep, xstep;
	gt_auto_buf svg = { 0 };
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
	x = (struct bn_scale){ 1, fmax((double)n, 2), BN_SVG_LEFT, BN_SVG_RIGHT };
	y = (struct bn_scale){ lo, hi, 196, 22 };
	bn_svg_open(&svg, "history", id, 236, title,
		    "One mark per result, the oldest left. Level lines are the medians between change points, which are "
		    "vertical dashed lines. The table below has the same numbers.");
	bn_svg_frame(&svg, &x, &y, unit, 0, xstep, ystep, "result");
	segments(doc, m, &x, &y, scale, &svg);
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(values, i);
		gt_autofree char *tip =
			gt_xasprintf("%s, %s: %s", gt_json_get_str(value, "result", "?"), gt_json_get_str(value, "started", "?"),
				     bn_text_value(value_of(values, i), gt_json_get_str(m, "unit", "")).s);

		if (isfinite(value_of(values, i)))
			bn_svg_mark(&svg, "A", 'o', bn_scale_at(&x, (double)i + 1), bn_scale_at(&y, scale * value_of(values, i)),
				    tip);
	}
	gt_buf_puts(&svg, "</svg>\n");
	bn_view_figure(v, &svg, "Results in order of their dates; level lines: medians between change points.");
}

static void value_table(struct bn_view *v, const json_t *m)
{
	static const struct bn_column columns[] = { { "result", BN_WORDS }, { "measured", BN_LONG }, { "median", BN_NUMBER } };
	json_t *values = json_object_get(m, "values"), *value;
	gt_autofree char *caption = gt_xasprintf("%s, the oldest first; %s is better.", gt_json_get_str(m, "metric", "?"),
						 gt_json_get_str(m, "direction", "lower"));
	size_t i;

	bn_view_add(v, BN_DETAILS, BN_PAGE, "%zu results", json_array_size(values));
	bn_view_table(v, BN_PAGE, columns, GT_ARRAY_SIZE(columns), caption);
	json_array_foreach(values, i, value) {
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(value, "result", "?"));
		bn_view_cell(v, "%s", gt_json_get_str(value, "started", "?"));
		bn_view_cell(v, "%s", bn_text_value(value_of(values, i), gt_json_get_str(m, "unit", "")).s);
	}
	bn_view_add(v, BN_END, BN_PAGE, "%s", "");
}

static void metrics(struct bn_view *v, const json_t *doc)
{
	static const struct bn_column columns[] = {
		{ "metric", BN_WORDS }, { "results", BN_NUMBER }, { "newest", BN_NUMBER }, { "changes", BN_LONG }
	};
	json_t *m, *c;
	size_t i, k;

	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns), "The newest median and the change points of each metric.");
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		json_t *values = json_object_get(m, "values");
		size_t n = json_array_size(values);
		gt_auto_buf text = { 0 };

		json_array_foreach(json_object_get(doc, "changes"), k, c)
			if (gt_streq(gt_json_get_str(c, "metric", NULL), gt_json_get_str(m, "metric", "?")))
				gt_buf_printf(&text, "%s%+.1f %% at %s", text.len ? ", " : "",
					      gt_json_get_real(c, "change_pct", NAN), gt_json_get_str(c, "result", "?"));
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(m, "metric", "?"));
		bn_view_cell(v, "%zu", n);
		bn_view_cell(v, "%s", bn_text_value(n ? value_of(values, n - 1) : NAN, gt_json_get_str(m, "unit", "")).s);
		bn_view_cell(v, "%s", !gt_json_get_bool(m, "judged", false) ? "needs 8 results" : text.len ? text.s : "none");
	}
}

struct bn_view *bn_view_history(const json_t *doc)
{
	struct bn_view *v = bn_view_new(doc, "gpubench history");
	json_t *m;
	size_t i;

	answer(v, doc);
	bn_view_set(&v->origin, "host %s, %lld results", gt_json_get_str(doc, "host", "unknown"),
		    (long long)gt_json_get_int(doc, "results", 0));
	bn_view_section(v, 0, "changes", "Change points");
	changes(v, doc);
	bn_view_notes(v, json_object_get(doc, "warnings"));
	bn_view_section(v, 0, "metrics", "Through time")->context = true;
	metrics(v, doc);
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		bn_view_add(v, BN_HEADING, BN_PAGE, "%s", gt_json_get_str(m, "metric", "?"));
		plot(v, doc, m, (unsigned)i);
		value_table(v, m);
	}
	bn_view_section(v, 0, "method", "Method");
	bn_view_add(
		v, BN_PROSE, BN_PAGE,
		"Each mark is the median over the launches of one result, of the host without changes. A *change point* is "
		"a result since which the metric has another level: found by energy distance, kept when a permutation test "
		"confirms it (5 %% for all metrics together) and when the level changed by at least the margin of the "
		"metric. A metric needs eight results, a segment four. The settings that changed with that result are a "
		"hint; gpubench run measures it.");
	return v;
}
