/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "bench/report/svg.h"
#include "lib/util.h"

double bn_scale_at(const struct bn_scale *s, double v)
{
	double t = s->hi > s->lo ? (v - s->lo) / (s->hi - s->lo) : .5;

	return s->from + (s->to - s->from) * fmin(1, fmax(0, t));
}

#define TICKS_MAX 40 /* maximum number of ticks on an axis */

double bn_nice_step(double range, int n)
{
	double raw = range / n, mag = pow(10, floor(log10(raw))), f = raw / mag;

	return (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10) * mag;
}

double bn_nice_range(double *lo, double *hi, int n)
{
	double step;

	if (!(*hi > *lo)) {
		double air = fabs(*lo) > 0 ? .01 * fabs(*lo) : 1;

		*lo -= air;
		*hi += air;
	}
	step = bn_nice_step(*hi - *lo, n);
	*lo = floor(*lo / step) * step;
	*hi = ceil(*hi / step) * step;
	return step;
}

int bn_step_decimals(double step)
{
	return step >= 1 ? 0 : GT_MIN(6, (int)ceil(-log10(step) - 1e-9));
}

void bn_svg_open(struct gt_buf *out, const char *kind, unsigned id, double height, const char *title,
		     const char *desc)
{
	gt_buf_printf(out, "<svg role=\"img\" height=\"%.0f\" aria-labelledby=\"%s%u-t %s%u-d\"><title id=\"%s%u-t\">",
		      height, kind, id, kind, id, kind, id);
	gt_buf_xml(out, title);
	gt_buf_printf(out, "</title><desc id=\"%s%u-d\">", kind, id);
	gt_buf_xml(out, desc);
	gt_buf_puts(out, "</desc>\n");
}

void bn_svg_line(struct gt_buf *out, const char *cls, double x1, double y1, double x2, double y2)
{
	gt_buf_printf(out, "<line class=\"%s\" x1=\"%.2f%%\" y1=\"%.1f\" x2=\"%.2f%%\" y2=\"%.1f\"/>\n", cls, x1, y1,
		      x2, y2);
}

void bn_svg_band(struct gt_buf *out, const char *cls, double x1, double y1, double x2, double y2)
{
	gt_buf_printf(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>\n", cls,
		      fmin(x1, x2), fmin(y1, y2), fabs(x2 - x1), fabs(y2 - y1));
}

void bn_svg_text(struct gt_buf *out, const char *cls, const char *anchor, double x, double y, const char *s)
{
	gt_buf_printf(out, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.2f%%\" y=\"%.1f\">", cls, anchor, x, y);
	gt_buf_xml(out, s);
	gt_buf_puts(out, "</text>\n");
}

#define ROOM 46 /* characters of 12 px that fit next to each other in a window of 400 px */

bool bn_svg_long(const char *name, const char *numbers)
{
	return strlen(name) + strlen(numbers) > ROOM;
}

double bn_svg_row(struct gt_buf *out, const char *cls, double y, const char *name, const char *numbers, bool wrap)
{
	double lower = wrap ? 16 : 0;

	bn_svg_text(out, "", "start", 0, y, name);
	bn_svg_text(out, cls, "end", 100, y + lower, numbers);
	return lower;
}

void bn_svg_mark(struct gt_buf *out, const char *cls, char shape, double x, double y, const char *tip)
{
	static const struct {
		char shape;
		const char *path;
	} shapes[] = {{'o', "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"},
		      {'d', "M0-5.5L5.5 0 0 5.5-5.5 0z"},
		      {'s', "M-4.5-4.5h9v9h-9z"},
		      {'>', "M-4.5-6.5L7 0-4.5 6.5z"},
		      {'<', "M4.5-6.5L-7 0 4.5 6.5z"},
		      {')', "M-5-6L1 0-5 6"},
		      {'(', "M5-6L-1 0 5 6"},
		      {'}', "M-5-6L1 0-5 6M-11-6L-5 0-11 6"},
		      {'{', "M5-6L-1 0 5 6M11-6L5 0 11 6"}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(shapes); i++)
		if (shapes[i].shape == shape)
			gt_buf_printf(out,
				      "<svg x=\"%.2f%%\" y=\"%.1f\" width=\"1\" height=\"1\"><path class=\"%s\" "
				      "d=\"%s\"><title>",
				      x, y, cls, shapes[i].path);
	gt_buf_xml(out, tip);
	gt_buf_puts(out, "</title></path></svg>\n");
}

bool bn_svg_within(const struct bn_scale *x, double v)
{
	return v >= x->lo && v <= x->hi;
}

void bn_svg_beyond(struct gt_buf *out, const struct bn_scale *x, double lo, double estimate, double hi, double y, const char *tip)
{
	if (lo < x->lo || estimate < x->lo)
		bn_svg_mark(out, "off", estimate < x->lo ? '{' : '(', x->from, y, tip);
	if (hi > x->hi || estimate > x->hi)
		bn_svg_mark(out, "off", estimate > x->hi ? '}' : ')', x->to, y, tip);
}

void bn_svg_effect_axis(struct gt_buf *out, const struct bn_scale *x, double top, double bottom)
{
	double step = bn_nice_step(x->hi, 3);

	for (double v = -floor(x->hi / step) * step; v <= x->hi + 1e-9; v += step) {
		bool zero = fabs(v) < step / 2;
		gt_autofree char *label = zero ? gt_xstrdup("0") : gt_xasprintf("%.*f %%", bn_step_decimals(step), fabs(v));
		double at = bn_scale_at(x, v);

		bn_svg_line(out, zero ? "zero" : "grid", at, top, at, bottom);
		bn_svg_text(out, "t", at < 5 ? "start" : at > 95 ? "end" : "middle", at, bottom + 16, label);
	}
	bn_svg_text(out, "t", "start", 0, bottom + 36, "\xe2\x86\x90 worse");
	bn_svg_text(out, "t", "end", 100, bottom + 36, "better \xe2\x86\x92");
}

void bn_svg_frame(struct gt_buf *out, struct bn_scale *x, struct bn_scale *y, const char *unit, int xdec, double xstep,
		  double ystep, const char *xname)
{
	double v = y->lo;

	/* counts steps, because a step can be too small to change a very large value */
	for (int i = 0; i < TICKS_MAX && v <= y->hi + ystep / 2; i++, v += ystep) {
		gt_autofree char *label = gt_xasprintf("%.*f%s%s", bn_step_decimals(ystep), fabs(v) < ystep / 2 ? 0 : v,
						       v + ystep > y->hi + ystep / 2 ? " " : "",
						       v + ystep > y->hi + ystep / 2 ? unit : "");

		bn_svg_line(out, "grid", 0, bn_scale_at(y, v), 100, bn_scale_at(y, v));
		bn_svg_text(out, "t", "start", 0, bn_scale_at(y, v) - 3, label);
	}
	v = ceil(x->lo / xstep - 1e-9) * xstep + 0.0;
	for (int i = 0; i < TICKS_MAX && v <= x->hi + 1e-9 && xstep > 0; i++, v += xstep) {
		gt_autofree char *label = gt_xasprintf("%.*f", xdec, fabs(v) < xstep / 2 ? 0 : v);

		bn_svg_text(out, "t", bn_scale_at(x, v) > 95 ? "end" : "middle", bn_scale_at(x, v), y->from + 16, label);
	}
	bn_svg_text(out, "t", "end", 100, y->from + 32, xname);
}
