/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/report/plots.h"
#include "bench/result/gpu.h"
#include "bench/result/text.h"
#include "bench/stats/stats.h"
#include "bench/report/svg.h"

/* ---- forest ---- */

struct effect {
	const json_t *c;
	double gain, lo, hi, margin, aa_lo, aa_hi; /* percent, right is better */
};

static struct effect effect_of(const json_t *c)
{
	const json_t *aa = json_object_get(c, "aa");
	double sign = gt_streq(gt_json_get_str(c, "direction", NULL), "higher") ? 1 : -1;
	double a = sign * gt_json_get_real(c, "ci_low_pct", NAN), b = sign * gt_json_get_real(c, "ci_high_pct", NAN);
	double p = sign * gt_json_get_real(aa, "ci_low_pct", NAN), q = sign * gt_json_get_real(aa, "ci_high_pct", NAN);

	return (struct effect){ c, sign * gt_json_get_real(c, "change_pct", NAN), fmin(a, b), fmax(a, b),
				gt_json_get_real(c, "margin_pct", 0), fmin(p, q), fmax(p, q) };
}

/* Returns the half-width of the axis: intervals up to a few times the usual one, or the widest margin. Wider ones are
 * cut and get arrows. */
static double forest_reach(const json_t *list)
{
	gt_autofree double *w = gt_xcalloc(json_array_size(list) + 1, sizeof(*w));
	double margin = 0, widest = 0;
	size_t n = 0, i;
	json_t *c;

	json_array_foreach(list, i, c) {
		struct effect e = effect_of(c);
		double reach = fmax(fabs(e.lo), fabs(e.hi));

		margin = fmax(margin, e.margin);
		if (isfinite(reach)) {
			w[n++] = reach;
			widest = fmax(widest, reach);
		}
	}
	return n ? fmin(fmin(widest, fmax(3 * bn_median(w, n), 1.5 * margin)), 1e6) * 1.08 + 1e-3
		 : fmax(1, 1.5 * margin);
}

/* Returns the text at the right end of a row. */
static char *forest_numbers(const struct effect *e)
{
	return gt_xasprintf("%s %s  %s", bn_text_change(e->c).s, bn_text_interval(e->c).s,
			    gt_json_get_str(e->c, "verdict", "inconclusive"));
}

static bool forest_wraps(const json_t *list)
{
	size_t i;
	json_t *c;

	json_array_foreach(list, i, c) {
		struct effect e = effect_of(c);
		gt_autofree char *numbers = forest_numbers(&e);

		if (bn_svg_long(bn_text_metric(c).s, numbers))
			return true;
	}
	return false;
}

/* Draws the difference between identical arms as a box; a side beyond the axis has no line. */
static void forest_box(struct gt_buf *out, const struct bn_scale *x, double lo, double hi, double y)
{
	double left = bn_scale_at(x, lo), right = bn_scale_at(x, hi);

	bn_svg_line(out, "aab", left, y + 11, right, y + 11);
	bn_svg_line(out, "aab", left, y + 25, right, y + 25);
	if (bn_svg_within(x, lo))
		bn_svg_line(out, "aab", left, y + 11, left, y + 25);
	if (bn_svg_within(x, hi))
		bn_svg_line(out, "aab", right, y + 11, right, y + 25);
}

static void forest_row(struct gt_buf *out, const struct effect *e, const struct bn_scale *x, double y, bool wrap)
{
	const char *v = gt_json_get_str(e->c, "verdict", "inconclusive"),
		   *unit = gt_json_get_str(e->c, "direction", "");
	gt_autofree char *label = gt_xasprintf("%s", bn_text_metric(e->c).s), *numbers = forest_numbers(e);
	gt_autofree char *tip = gt_xasprintf("%s: %s, %s is better: %s", label, bn_text_change(e->c).s, unit,
					     bn_text_verdict(e->c).s);

	gt_buf_printf(out, "<g class=\"%s\">\n",
		      gt_streq(v, "better") || gt_streq(v, "worse") || gt_streq(v, "same") ? v : "inconclusive");
	y += bn_svg_row(out, "vt", y, label, numbers, wrap);
	bn_svg_band(out, "band", bn_scale_at(x, -e->margin), y + 8, bn_scale_at(x, e->margin), y + 28);
	if (isfinite(e->aa_lo) && isfinite(e->aa_hi))
		forest_box(out, x, e->aa_lo, e->aa_hi, y);
	bn_svg_line(out, "zero", bn_scale_at(x, 0), y + 6, bn_scale_at(x, 0), y + 30);
	if (isfinite(e->lo) && isfinite(e->hi))
		bn_svg_line(out, "ci", bn_scale_at(x, e->lo), y + 18, bn_scale_at(x, e->hi), y + 18);
	bn_svg_beyond(out, x, e->lo, e->gain, e->hi, y + 18, tip);
	if (bn_svg_within(x, e->gain))
		bn_svg_mark(out, gt_streq(v, "inconclusive") ? "open" : "pt",
		     gt_streq(v, "better") ? '>' : gt_streq(v, "worse") ? '<' : gt_streq(v, "same") ? 's' : 'o',
		     bn_scale_at(x, e->gain), y + 18, tip);
	gt_buf_puts(out, "</g>\n");
}

void bn_plot_forest(const json_t *doc, struct gt_buf *out)
{
	json_t *list = json_object_get(doc, "comparisons"), *c;
	bool wrap = forest_wraps(list);
	double reach = forest_reach(list), row = wrap ? 68 : 52;
	double bottom = 20 + row * (double)json_array_size(list);
	struct bn_scale x = { -reach, reach, 1, 99 };
	size_t i;

	bn_svg_open(out, "forest", 0, bottom + 44, "Effects with their intervals",
		 "One row per metric: the estimated change with its interval. The band is the range that is too small to matter, "
		    "the dashed box the difference between identical arms. Right is better. The table has the same numbers.");
	bn_svg_effect_axis(out, &x, 4, bottom);
	json_array_foreach(list, i, c) {
		struct effect e = effect_of(c);

		forest_row(out, &e, &x, 20 + row * (double)i, wrap);
	}
	gt_buf_puts(out, "</svg>\n");
}

/* ---- one metric in time ---- */

struct dot {
	double t_min, v;
	char kind; /* 'A', 'B', or 'N' for a launch of an A/A pair */
	long long block;
};

/* Returns the value of the metric in a launch, computed as in the analysis. */
static double launch_value(const json_t *launch, const char *series, bool tail, bool higher)
{
	const json_t *s = json_object_get(json_object_get(launch, "metrics"), series);
	json_t *samples = json_object_get(s, "samples"), *v;
	size_t skip = (size_t)GT_MAX(gt_json_get_int(s, "warmup", 0), (int64_t)0), n = 0, i;
	gt_autofree double *x = gt_xcalloc(json_array_size(samples) + 1, sizeof(*x));

	if (gt_json_get_str(launch, "failure", NULL))
		return NAN;
	json_array_foreach(samples, i, v)
		if (i >= skip)
			x[n++] = json_is_number(v) ? json_number_value(v) : NAN;
	return tail ? bn_quantile(x, n, higher ? .01 : .99) : bn_median(x, n);
}

static size_t collect_dots(const json_t *doc, const json_t *c, struct dot **ret)
{
	json_t *list = json_object_get(doc, "launches"), *l;
	const char *metric = gt_json_get_str(c, "metric", "");
	bool tail = gt_json_get_bool(c, "tail", false),
	     higher = gt_streq(gt_json_get_str(c, "direction", NULL), "higher");
	gt_autofree char *series = gt_xstrndup(metric, strlen(metric) - (tail && strlen(metric) > 4 ? 4 : 0));
	struct dot *dot = gt_xcalloc(json_array_size(list) + 1, sizeof(*dot));
	bool aa_only = gt_streq(gt_json_get_str(json_object_get(doc, "run"), "design", NULL), "aa");
	size_t n = 0, i;

	json_array_foreach(list, i, l) {
		double v = launch_value(l, series, tail, higher), t = gt_json_get_real(l, "t_s", NAN) / 60;
		bool null = gt_streq(gt_json_get_str(l, "kind", NULL), "aa") && !aa_only;

		if (!isfinite(v) || !isfinite(t))
			continue;
		dot[n++] = (struct dot){ t, v, null ? 'N' : gt_streq(gt_json_get_str(l, "arm", NULL), "B") ? 'B' : 'A',
					 gt_json_get_int(l, "block", 0) };
	}
	*ret = dot;
	return n;
}

/* ---- heat and clocks at the same time ---- */

#define STRIP_POINTS 120
#define STRIP_HEIGHT 56
#define STRIPS	     7

struct strip {
	const char *key, *name, *unit;
	bool high_is_bad;
	double v[STRIP_POINTS], lo, hi; /* the worst value in each part of the time; NaN: unknown */
};

/* Returns the strips with at least two known points. */
static size_t read_strips(const json_t *doc, double end_min, struct strip strip[STRIPS])
{
	static const struct strip known[STRIPS] = {
		{"temp_c", "hottest zone", "\xc2\xb0""C", true, {0}, 0, 0},
		{"cpu_mhz", "mean clock of the CPUs", "MHz", false, {0}, 0, 0},
		{"gpu_sm_mhz", "mean clock of the GPU", "MHz", false, {0}, 0, 0},
		{"gpu_memory_mhz", "clock of the GPU's memory", "MHz", false, {0}, 0, 0},
		{"gpu_temp_c", "highest temperature of the GPU", "\xc2\xb0""C", true, {0}, 0, 0},
		{"gpu_power_w", "mean power of the GPU", "W", true, {0}, 0, 0},
		{NULL, "GPU throttled by heat, power or its hardware", "% of the time", true, {0}, 0, 0}};
	size_t n = 0;

	for (size_t k = 0; k < GT_ARRAY_SIZE(known); k++) {
		struct strip *s = &strip[n];
		size_t i, points = 0;
		json_t *l;

		*s = known[k];
		s->lo = INFINITY;
		s->hi = -INFINITY;
		for (i = 0; i < STRIP_POINTS; i++)
			s->v[i] = NAN;
		json_array_foreach(json_object_get(doc, "launches"), i, l) {
			const json_t *env = json_object_get(l, "env");
			double v = s->key ? gt_json_get_real(env, s->key, NAN) : bn_gpu_limited_pct(env);
			double t = gt_json_get_real(l, "t_s", NAN) / 60;
			double *bin;

			if (!isfinite(v) || !(fabs(v) < 1e7) || !(t >= 0 && t <= end_min))
				continue;
			bin = &s->v[(size_t)(t / end_min * (STRIP_POINTS - 1))];
			points += isnan(*bin);
			*bin = isnan(*bin) ? v : s->high_is_bad ? fmax(*bin, v) : fmin(*bin, v);
			s->lo = fmin(s->lo, v);
			s->hi = fmax(s->hi, v);
		}
		n += points >= 2;
	}
	return n;
}

static char *strip_label(const struct strip *s)
{
	return gt_xasprintf("%s: %.0f to %.0f %s", s->name, s->lo, s->hi, s->unit);
}

static void draw_strip(struct gt_buf *out, const struct strip *s, double top)
{
	/* the range is at least a tenth of the value, so that small changes look small */
	double span = fmax(fmax(s->hi - s->lo, .1 * fabs(s->hi)), 1e-9), from = (s->lo + s->hi) / 2 - span / 2;
	gt_autofree char *label = strip_label(s);

	bn_svg_text(out, "t", "start", 0, top + 12, label);
	gt_buf_printf(
		out,
		"<svg x=\"%.0f%%\" y=\"%.1f\" width=\"%.0f%%\" style=\"width:%.0f%%\" height=\"28\" viewBox=\"0 0 1000 "
		"100\" "
		"preserveAspectRatio=\"none\"><polyline class=\"strip\" vector-effect=\"non-scaling-stroke\" points=\"",
		BN_SVG_LEFT, top + 20, BN_SVG_RIGHT - BN_SVG_LEFT,
		BN_SVG_RIGHT - BN_SVG_LEFT); /* set as attribute and style, because browsers differ in which one they use */
	for (size_t i = 0; i < STRIP_POINTS; i++)
		if (!isnan(s->v[i]))
			gt_buf_printf(out, "%.0f,%.0f ", 1000.0 * (double)i / (STRIP_POINTS - 1),
				      100 - 100 * (s->v[i] - from) / span);
	gt_buf_puts(out, "\"/></svg>\n");
}

static void open_run_order(struct gt_buf *out, unsigned id, const char *metric, const struct strip *strip, size_t strips)
{
	gt_autofree char *title = gt_xasprintf("%s in the order of measurement", metric);
	gt_auto_buf desc = { 0 };

	gt_buf_puts(&desc, "Each mark is one launch: circles are before the change, diamonds after it, hollow circles launches "
			   "of A/A pairs. Lines join the two launches of a pair. A slope over the whole plot is drift.");
	for (size_t i = 0; i < strips; i++) {
		gt_autofree char *label = strip_label(&strip[i]);

		gt_buf_printf(&desc, "%s%s", i ? "; " : " Strips below, over the same time: ", label);
	}
	bn_svg_open(out, "run", id, 236 + STRIP_HEIGHT * (double)strips, title, desc.s);
	for (size_t i = 0; i < strips; i++)
		draw_strip(out, &strip[i], 236 + STRIP_HEIGHT * (double)i);
}

void bn_plot_run_order(const json_t *doc, const json_t *c, unsigned id, struct gt_buf *out)
{
	gt_autofree struct dot *dot = NULL;
	size_t n = collect_dots(doc, c, &dot);
	double lo = INFINITY, hi = -INFINITY, end = 0, ystep, xstep, scale;
	struct strip strip[STRIPS];
	const char *unit;
	struct bn_scale x, y;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		hi = fmax(hi, dot[i].v);
	scale = bn_text_scale(hi, gt_json_get_str(c, "unit", ""), &unit); /* the unit of the largest value */
	hi = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		dot[i].v *= scale;
		lo = fmin(lo, dot[i].v);
		hi = fmax(hi, dot[i].v);
		end = fmax(end, dot[i].t_min);
	}
	ystep = bn_nice_range(&lo, &hi, 4);
	end = end > 0 ? end : 1;
	xstep = bn_nice_step(end, 4);
	x = (struct bn_scale){ 0, end, BN_SVG_LEFT, BN_SVG_RIGHT };
	y = (struct bn_scale){ lo, hi, 196, 22 };
	open_run_order(out, id, gt_json_get_str(c, "metric", "?"), strip, read_strips(doc, end, strip));
	bn_svg_frame(out, &x, &y, unit, bn_step_decimals(xstep), xstep, ystep, "minutes");
	for (size_t i = 0; i + 1 < n; i++)
		for (size_t k = i + 1; k < n && k < i + 8; k++)
			if (dot[k].block == dot[i].block)
				bn_svg_line(out, "link", bn_scale_at(&x, dot[i].t_min), bn_scale_at(&y, dot[i].v),
					    bn_scale_at(&x, dot[k].t_min), bn_scale_at(&y, dot[k].v));
	for (size_t i = 0; i < n; i++) {
		char cls[2] = { dot[i].kind, 0 }, tip[96];

		snprintf(tip, sizeof(tip), "pair %lld, %s: %.5g %.20s", dot[i].block + 1,
			 dot[i].kind == 'N'   ? "A/A"
			 : dot[i].kind == 'B' ? "after"
					      : "before",
			 dot[i].v, unit);
		bn_svg_mark(out, cls, dot[i].kind == 'B' ? 'd' : 'o', bn_scale_at(&x, dot[i].t_min),
			    bn_scale_at(&y, dot[i].v), tip);
	}
	gt_buf_puts(out, "</svg>\n");
}

/* ---- pairs ---- */

static void pair_range(const json_t *list, double *lo, double *hi)
{
	json_t *p;
	size_t i;

	json_array_foreach(list, i, p) {
		double v = gt_json_get_real(p, "change_pct", NAN);

		if (isfinite(v)) {
			*lo = fmin(*lo, v);
			*hi = fmax(*hi, v);
		}
	}
}

static void pair_dots(struct gt_buf *out, const json_t *list, const struct bn_scale *x, const struct bn_scale *y,
		      const char *cls, char shape)
{
	json_t *p;
	size_t i;

	json_array_foreach(list, i, p) {
		double v = gt_json_get_real(p, "change_pct", NAN), b = (double)gt_json_get_int(p, "block", 0) + 1;
		gt_autofree char *tip = gt_xasprintf("pair %.0f: %+.3g %%", b, v);

		if (isfinite(v))
			bn_svg_mark(out, cls, shape, bn_scale_at(x, b), bn_scale_at(y, v), tip);
	}
}

static double last_block(const json_t *list)
{
	const json_t *p = json_array_get(list, json_array_size(list) - 1);

	return json_array_size(list) ? (double)gt_json_get_int(p, "block", 0) + 1 : 0;
}

void bn_plot_pairs(const json_t *doc, const json_t *c, unsigned id, struct gt_buf *out)
{
	json_t *pairs = json_object_get(c, "pairs"), *aa = json_object_get(json_object_get(c, "aa"), "pairs");
	double margin = gt_json_get_real(c, "margin_pct", 1), ci_lo = gt_json_get_real(c, "ci_low_pct", NAN);
	double ci_hi = gt_json_get_real(c, "ci_high_pct", NAN), est = gt_json_get_real(c, "change_pct", NAN);
	double lo = fmin(0, -margin), hi = fmax(0, margin), last = fmax(last_block(pairs), last_block(aa)), ystep,
	       xstep;
	gt_autofree char *title = gt_xasprintf("Change of %s in each pair", gt_json_get_str(c, "metric", "?"));
	struct bn_scale x, y;

	if (!json_array_size(pairs))
		return;
	pair_range(pairs, &lo, &hi);
	pair_range(aa, &lo, &hi);
	ystep = bn_nice_range(&lo, &hi, 4);
	xstep = fmax(1, bn_nice_step(last, 5));
	x = (struct bn_scale){ 1, fmax(last, 2), BN_SVG_LEFT, BN_SVG_RIGHT };
	y = (struct bn_scale){ lo, hi, 196, 22 };
	bn_svg_open(out, "pairs", id, 236, title,
		 "Each diamond is the change within one pair; hollow circles are A/A pairs, which change nothing. The grey band "
		    "is the margin; the line and its band are the estimate and its interval.");
	bn_svg_band(out, "band", 0, bn_scale_at(&y, -margin), 100, bn_scale_at(&y, margin));
	bn_svg_frame(out, &x, &y, "%", 0, xstep, ystep, "pair");
	bn_svg_line(out, "zero", 0, bn_scale_at(&y, 0), 100, bn_scale_at(&y, 0));
	if (isfinite(ci_lo) && isfinite(ci_hi))
		bn_svg_band(out, "meanband", BN_SVG_LEFT - 2, bn_scale_at(&y, ci_lo), 100, bn_scale_at(&y, ci_hi));
	if (isfinite(est))
		bn_svg_line(out, "mean", BN_SVG_LEFT - 2, bn_scale_at(&y, est), 100, bn_scale_at(&y, est));
	pair_dots(out, aa, &x, &y, "N", 'o');
	pair_dots(out, pairs, &x, &y, "B", 'd');
	gt_buf_puts(out, "</svg>\n");
}
