/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a fleet: the outliers and their probable causes, every host on one axis, every number. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/report/forms.h"
#include "bench/report/svg.h"
#include "bench/result/text.h"

#define ROW       52
#define NAMES_MAX 3 /* maximum number of outliers labelled in a row; the table has all of them */

static void answer(struct bn_view *v, const json_t *doc)
{
	const char *verdict = gt_json_get_str(doc, "verdict", NULL);

	v->class = bn_view_class(verdict);
	bn_view_set(&v->headline, "%s",
		    gt_streq(verdict, "inconclusive")                    ? "INCONCLUSIVE: a class needs at least four hosts"
		    : !json_array_size(json_object_get(doc, "outliers")) ? "SAME: no host is an outlier"
		    : gt_json_get_int(doc, "exit_code", 0) == BN_EXIT_REGRESSION ? "WORSE: some hosts are worse than the others"
										 : "SAME: outliers, but none is worse");
}

static void cause(struct bn_view *v, const json_t *c)
{
	bn_view_cell_item(v, "%s: %s here, %s on %.0f %% of the others%s", gt_json_get_str(c, "key", "?"),
			  bn_text_json(json_object_get(c, "value")).s, bn_text_json(json_object_get(c, "usual")).s,
			  100 * gt_json_get_real(c, "others_share", NAN),
			  gt_json_get_bool(c, "moves_it", false) ? "; known to affect it" : "");
}

static void outliers(struct bn_view *v, const json_t *doc)
{
	static const struct bn_column columns[] = { { "host", BN_WORDS },         { "metric", BN_WORDS },
						    { "here", BN_NUMBER },        { "usual", BN_NUMBER },
						    { "difference", BN_NUMBER },  { "verdict", BN_VERDICT },
						    { "probable cause", BN_LONG } };
	json_t *list = json_object_get(doc, "outliers"), *o, *c;
	size_t i, k;

	if (!json_array_size(list)) {
		bn_view_add(v, BN_TEXT, BN_PAGE, "None.");
		return;
	}
	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns),
		      "Outliers: hosts farther from the median host than chance explains.");
	json_array_foreach(list, i, o) {
		const char *unit = gt_json_get_str(o, "unit", "");
		bool worse = gt_streq(gt_json_get_str(o, "verdict", NULL), "worse");
		json_t *causes = json_object_get(o, "causes");

		bn_view_row(v, worse ? "worse" : "better");
		bn_view_cell(v, "%s", gt_json_get_str(o, "host", "?"));
		bn_view_cell(v, "%s", gt_json_get_str(o, "metric", "?"));
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(o, "median", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(o, "usual_median", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_percent(gt_json_get_real(o, "deviation_pct", NAN)).s);
		bn_view_cell(v, "%s", worse ? "WORSE" : "BETTER");
		bn_view_cell(v, "%s", json_array_size(causes) ? "" : "no recorded setting differs: check the hardware");
		json_array_foreach(causes, k, c)
			cause(v, c);
	}
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
	gt_auto_buf names = { 0 };
	size_t i, found = 0;
	json_t *h;

	/* usual hosts first, because outliers are drawn over them */
	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(json_object_get(m, "hosts"), i, h) {
			const char *verdict = gt_json_get_str(h, "verdict", "usual"), *name = gt_json_get_str(h, "host", "?");
			bool usual = gt_streq(verdict, "usual"), worse = gt_streq(verdict, "worse");
			gt_autofree char *tip =
				gt_xasprintf("%s: %s, %s", name,
					     bn_text_value(gt_json_get_real(h, "median", NAN), gt_json_get_str(m, "unit", "")).s,
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

static void plot(struct bn_view *v, const json_t *doc)
{
	double reach = reach_of(doc), bottom = 20, y = 20;
	struct bn_scale x = { -reach, reach, 1, 99 };
	gt_auto_buf svg = { 0 };
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(doc, "metrics"), i, m)
		bottom += gt_json_get_bool(m, "judged", false) ? ROW : 0;
	bn_svg_open(&svg, "fleet", 0, bottom + 44, "Every host compared with the median host",
		    "One row per metric, one mark per host: its distance from the median host, right is better. The grey "
		    "band is the margin; circles are usual, triangles are outliers. The tables have the same numbers.");
	bn_svg_effect_axis(&svg, &x, 4, bottom);
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		double margin = 100 * gt_json_get_real(m, "margin", 0);

		if (!gt_json_get_bool(m, "judged", false))
			continue;
		bn_svg_band(&svg, "band", bn_scale_at(&x, -margin), y + 8, bn_scale_at(&x, margin), y + 28);
		bn_svg_line(&svg, "zero", bn_scale_at(&x, 0), y + 6, bn_scale_at(&x, 0), y + 30);
		bn_svg_text(&svg, "", "start", 0, y, gt_json_get_str(m, "metric", "?"));
		draw_hosts(m, &x, y, &svg);
		y += ROW;
	}
	gt_buf_puts(&svg, "</svg>\n");
	if (bottom > 20)
		bn_view_figure(v, &svg,
			       "Distance from the median host. Circle: usual; triangle left: worse; triangle right: better; "
			       "grey: too small to matter.");
	else
		bn_view_add(v, BN_TEXT, BN_PAGE, "No class of hosts with the same processor has four hosts: none is judged.");
}

/* ---- numbers ---- */

static void metrics(struct bn_view *v, const json_t *doc)
{
	static const struct bn_column columns[] = { { "metric", BN_WORDS },
						    { "hosts", BN_NUMBER },
						    { "median", BN_NUMBER },
						    { "spread", BN_NUMBER },
						    { "outliers", BN_LONG } };
	json_t *m, *h;
	size_t i, k;

	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns),
		      "The median host of each class; spread: median distance from it, times 1.48.");
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		gt_auto_buf names = { 0 };

		json_array_foreach(json_object_get(m, "hosts"), k, h)
			if (!gt_streq(gt_json_get_str(h, "verdict", "usual"), "usual"))
				gt_buf_printf(&names, "%s%s %+.1f %%", names.len ? ", " : "", gt_json_get_str(h, "host", "?"),
					      gt_json_get_real(h, "deviation_pct", NAN));
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(m, "metric", "?"));
		bn_view_cell(v, "%zu", json_array_size(json_object_get(m, "hosts")));
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(m, "median", NAN), gt_json_get_str(m, "unit", "")).s);
		bn_view_cell(v, "%s", bn_text_samples(m).s);
		bn_view_cell(v, "%s",
			     !gt_json_get_bool(m, "judged", false) ? "too few hosts to judge"
			     : names.len                           ? names.s
								   : "none");
	}
}

static void metric_hosts(struct bn_view *v, const json_t *m)
{
	static const struct bn_column columns[] = { { "host", BN_WORDS },
						    { "median", BN_NUMBER },
						    { "from the median host", BN_NUMBER },
						    { "scales out", BN_NUMBER },
						    { "verdict", BN_VERDICT } };
	const char *unit = gt_json_get_str(m, "unit", "");
	gt_autofree char *caption =
		gt_xasprintf("%s on %.80s; %s is better", gt_json_get_str(m, "metric", "?"),
			     gt_json_get_str(m, "cpu", "unknown CPU"), gt_json_get_str(m, "direction", "lower"));
	json_t *list = json_object_get(m, "hosts"), *h;
	size_t i, n = json_array_size(list);

	bn_view_add(v, BN_DETAILS, BN_PAGE, "%s, %zu host%s", gt_json_get_str(m, "metric", "?"), n, n == 1 ? "" : "s");
	bn_view_table(v, BN_PAGE, columns, GT_ARRAY_SIZE(columns), caption);
	json_array_foreach(list, i, h) {
		const char *verdict = gt_json_get_str(h, "verdict", "usual");

		bn_view_row(v, gt_streq(verdict, "usual") ? "same" : verdict);
		bn_view_cell(v, "%s", gt_json_get_str(h, "host", "?"));
		bn_view_cell(v, "%s", bn_text_value(gt_json_get_real(h, "median", NAN), unit).s);
		bn_view_cell(v, "%s", bn_text_percent(gt_json_get_real(h, "deviation_pct", NAN)).s);
		bn_view_cell(v, "%+.1f", gt_json_get_real(h, "scales", NAN));
		bn_view_cell(v, "%s", verdict);
	}
	bn_view_add(v, BN_END, BN_PAGE, "%s", "");
}

static void results(struct bn_view *v, const json_t *doc)
{
	static const struct bn_column columns[] = { { "result", BN_WORDS },
						    { "identity", BN_LONG },
						    { "processor", BN_LONG },
						    { "measured", BN_LONG },
						    { "counts", BN_WORDS } };
	json_t *h;
	size_t i;

	bn_view_table(v, BN_PAGE, columns, GT_ARRAY_SIZE(columns),
		      "Of several results of one machine the newest counts; notes give the reason why others were left out.");
	json_array_foreach(json_object_get(doc, "hosts"), i, h) {
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(h, "name", "?"));
		bn_view_cell(v, "%s", gt_json_get_str(h, "identity", "unknown"));
		bn_view_cell(v, "%s", gt_json_get_str(h, "cpu", "unknown"));
		bn_view_cell(v, "%s", gt_json_get_str(h, "started", ""));
		bn_view_cell(v, "%s", gt_json_get_bool(h, "counts", false) ? "yes" : "left out");
	}
}

struct bn_view *bn_view_fleet(const json_t *doc)
{
	struct bn_view *v = bn_view_new(doc, "gpubench fleet");
	size_t i, hosts = 0;
	json_t *m;

	answer(v, doc);
	json_array_foreach(json_object_get(doc, "hosts"), i, m)
		hosts += gt_json_get_bool(m, "counts", false);
	bn_view_set(&v->origin, "%zu host%s", hosts, hosts == 1 ? "" : "s");
	bn_view_section(v, 0, "outliers", "Outliers");
	outliers(v, doc);
	bn_view_section(v, 0, "plot", "Every host");
	plot(v, doc);
	bn_view_section(v, 0, "numbers", "Numbers")->context = true;
	metrics(v, doc);
	json_array_foreach(json_object_get(doc, "metrics"), i, m)
		metric_hosts(v, m);
	bn_view_section(v, 0, "hosts", "Results");
	results(v, doc);
	bn_view_notes(v, json_object_get(doc, "warnings"));
	bn_view_section(v, 0, "method", "Method");
	bn_view_add(v, BN_PROSE, BN_PAGE,
		    "Hosts with the same processor are a class, judged from four on. The centre is the median host, a "
		    "*scale* the median distance from it (times 1.48). An outlier is farther out than chance puts any one "
		    "of all hosts and metrics in one table out of twenty, by at least the margin of the metric, and farther "
		    "than its own launches vary. A cause is a setting that most of the others share and the outlier does "
		    "not; those that are known to affect the metric come first. It is a hint, not a proof: gpubench run on "
		    "that host proves it.");
	return v;
}
