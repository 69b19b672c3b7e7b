/* SPDX-License-Identifier: Apache-2.0 */
/* The distribution of the samples of one metric, one arm below the other on one scale. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/stats/metric.h"
#include "bench/report/plots.h"
#include "bench/result/text.h"
#include "bench/stats/stats.h"
#include "bench/report/svg.h"

#define BINS	   48
#define ROW	   110
#define BAR_HEIGHT 56

struct spread {
	double *v;
	size_t n, beyond; /* number of samples, and of those outside the plot */
	double share[BINS], median, tail;
};

static void collect(const json_t *doc, const char *series, const char *arm, struct spread *s)
{
	bool aa_only = gt_streq(gt_json_get_str(json_object_get(doc, "run"), "design", NULL), "aa");
	json_t *launch, *v;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "launches"), i, launch) {
		const json_t *m = json_object_get(json_object_get(launch, "metrics"), series);
		json_t *samples = json_object_get(m, "samples");
		size_t skip = (size_t)GT_MAX(gt_json_get_int(m, "warmup", 0), (int64_t)0);

		if (!gt_streq(gt_json_get_str(launch, "arm", "A"), arm) || gt_json_get_str(launch, "failure", NULL) ||
		    (gt_streq(gt_json_get_str(launch, "kind", NULL), "aa") && !aa_only))
			continue;
		s->v = gt_xrealloc(s->v, (s->n + json_array_size(samples) + 1) * sizeof(*s->v));
		json_array_foreach(samples, k, v)
			if (k >= skip && json_is_number(v) && isfinite(json_number_value(v)))
				s->v[s->n++] = json_number_value(v);
	}
}

/* Half a per cent on either side may be outside the plot. One extreme sample would otherwise put all others into one
 * bar. */
static bool range(const struct spread *s, double *lo, double *hi)
{
	*lo = INFINITY;
	*hi = -INFINITY;
	for (int arm = 0; arm < 2; arm++)
		if (s[arm].n) {
			*lo = fmin(*lo, bn_quantile(s[arm].v, s[arm].n, .005));
			*hi = fmax(*hi, bn_quantile(s[arm].v, s[arm].n, .995));
		}
	return isfinite(*lo) && isfinite(*hi) && isfinite(*hi - *lo);
}

static void sort_into_bins(struct spread *s, double lo, double hi, bool higher)
{
	for (size_t i = 0; i < s->n; i++) {
		double at = (s->v[i] - lo) / (hi - lo) * BINS;

		if (!(at >= 0 && at <= BINS))
			s->beyond++;
		else
			s->share[GT_MIN((size_t)at, (size_t)BINS - 1)] += 1 / (double)s->n;
	}
	s->median = bn_median(s->v, s->n);
	s->tail = bn_quantile(s->v, s->n, higher ? .01 : .99);
}

/* Prints two lines, because one is too long for a narrow screen. */
struct labels {
	char *head, *tail;
};

static struct labels labels_of(const struct spread *s, const char *name, const char *unit, bool higher)
{
	gt_autofree char *beyond = s->beyond ? gt_xasprintf(", %zu not shown", s->beyond) : gt_xstrdup("");

	return (struct labels){
		gt_xasprintf("%.24s: median %s", name, bn_text_value(s->median, unit).s),
		gt_xasprintf("p%d %s, %zu samples%s", higher ? 1 : 99, bn_text_value(s->tail, unit).s, s->n, beyond)};
}

static void draw_row(struct gt_buf *out, const struct spread *s, char cls, const struct labels *l,
		     const struct bn_scale *x, double most, double top)
{
	bn_svg_text(out, "", "start", 0, top + 14, l->head);
	bn_svg_text(out, "t", "start", 0, top + 30, l->tail);
	gt_buf_printf(out,
		      "<svg x=\"%.0f%%\" y=\"%.0f\" width=\"%.0f%%\" style=\"width:%.0f%%\" height=\"%d\" viewBox=\"0 0 %d 100\" "
		      "preserveAspectRatio=\"none\"><path class=\"%c hist\" d=\"",
		      x->from, top + 38, x->to - x->from, x->to - x->from, BAR_HEIGHT, BINS, cls);
	for (size_t i = 0; i < BINS; i++)
		if (s->share[i] > 0)
			gt_buf_printf(out, "M%zu 100V%.1fh1V100", i, 100 - 100 * s->share[i] / most);
	gt_buf_puts(out, "\"/></svg>\n");
	bn_svg_line(out, "median", bn_scale_at(x, s->median), top + 36, bn_scale_at(x, s->median), top + 38 + BAR_HEIGHT + 4);
}

static void axis(struct gt_buf *out, const struct bn_scale *x, double step, const char *unit, double top)
{
	double v = x->lo;

	for (int i = 0; i < 12 && v <= x->hi + step / 2; i++, v += step) { /* i ends the loop if a step is too small to change v */
		gt_autofree char *tick = gt_xasprintf("%.*f", bn_step_decimals(step), fabs(v) < step / 2 ? 0 : v);
		double at = bn_scale_at(x, v);

		bn_svg_text(out, "t", at < 5 ? "start" : at > 95 ? "end" : "middle", at, top + 10, tick);
	}
	bn_svg_text(out, "t", "end", 100, top + 28, unit);
}

static bool draw(const json_t *doc, const json_t *metric, unsigned id, struct spread *s, struct gt_buf *out)
{
	const char *unit = gt_json_get_str(metric, "unit", ""), *shown;
	gt_autofree char *title = gt_xasprintf("Distribution of the samples of %s", gt_json_get_str(metric, "id", "?"));
	bool higher = gt_streq(gt_json_get_str(metric, "direction", NULL), "higher");
	double step, scale, most = 1e-9, top = 0;
	struct bn_scale x = {0, 0, 1, 99};
	struct labels l[2];
	gt_auto_buf desc = {0};

	if (!range(s, &x.lo, &x.hi))
		return false;
	scale = bn_text_scale(fmax(fabs(x.lo), fabs(x.hi)), unit, &shown);
	x.lo *= scale;
	x.hi *= scale;
	step = bn_nice_range(&x.lo, &x.hi, 5);
	gt_buf_puts(&desc, "A histogram of all samples after warm-up for each arm, on one scale; the vertical line is the median.");
	for (int arm = 0; arm < 2; arm++) {
		sort_into_bins(&s[arm], x.lo / scale, x.hi / scale, higher);
		l[arm] = labels_of(&s[arm], bn_arm_name(doc, arm == 1), unit, higher);
		if (s[arm].n)
			gt_buf_printf(&desc, " %s, %s.", l[arm].head, l[arm].tail);
		s[arm].median *= scale;
		for (size_t i = 0; i < BINS; i++)
			most = fmax(most, s[arm].share[i]);
	}
	bn_svg_open(out, "spread", id, ROW * (double)(!!s[0].n + !!s[1].n) + 36, title, desc.s);
	for (int arm = 0; arm < 2; arm++) {
		if (s[arm].n) {
			draw_row(out, &s[arm], arm ? 'B' : 'A', &l[arm], &x, most, top);
			top += ROW;
		}
		free(l[arm].head);
		free(l[arm].tail);
	}
	axis(out, &x, step, shown, top);
	gt_buf_puts(out, "</svg>\n");
	return true;
}

bool bn_plot_samples(const json_t *doc, const json_t *metric, unsigned id, struct gt_buf *out)
{
	const char *series = gt_json_get_str(metric, "id", "");
	struct spread s[2] = {{0}, {0}};
	bool drawn;

	collect(doc, series, "A", &s[0]);
	collect(doc, series, "B", &s[1]);
	drawn = draw(doc, metric, id, s, out);
	free(s[0].v);
	free(s[1].v);
	return drawn;
}
