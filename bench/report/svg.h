/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SVG_H
#define BN_SVG_H
/*
 * What plots are drawn with: inline SVG whose horizontal positions are percentages and heights pixels, so that a plot fills its
 * place at any width and its text keeps its size. Colours are classes of the page's style (html.c).
 */
#include "lib/buf.h"

/* A linear scale from data to percent (horizontal) or pixels (vertical). */
struct bn_scale {
	double lo, hi, from, to;
};
double bn_scale_at(const struct bn_scale *s, double v); /* inside from..to, whatever v is */
/* A step of 1, 2 or 5 times a power of ten that divides the range into about n. */
double bn_nice_step(double range, int n);
/* Widen to whole steps, with some air where there is no range at all; returns the step. */
double bn_nice_range(double *lo, double *hi, int n);
int bn_step_decimals(double step);

/* Opens <svg> with its title and description, and ids that kind and id make unique on the page. */
void bn_svg_open(struct gt_buf *out, const char *kind, unsigned id, double height, const char *title, const char *desc);
void bn_svg_line(struct gt_buf *out, const char *cls, double x1, double y1, double x2, double y2);
/* A row's name at the left and its numbers at the right: on one line, or where a narrow page has no room for both, the numbers
 * below. Returns how much lower the rest of the row lies, for all rows alike if wrap. */
bool bn_svg_long(const char *name, const char *numbers);
double bn_svg_row(struct gt_buf *out, const char *cls, double y, const char *name, const char *numbers, bool wrap);
void bn_svg_band(struct gt_buf *out, const char *cls, double x1, double y1, double x2, double y2);
void bn_svg_text(struct gt_buf *out, const char *cls, const char *anchor, double x, double y, const char *s);
/* A mark whose shape says what its colour says: 'o' circle, 'd' diamond, 's' square, '>' or '<' triangle. tip: what it is. */
void bn_svg_mark(struct gt_buf *out, const char *cls, char shape, double x, double y, const char *tip);
/* Whether the axis has room for v, and NaN for what is not known: false. */
bool bn_svg_within(const struct bn_scale *x, double v);
/* What lies beyond the axis is never drawn as if it ended there: an arrowhead at the edge that an interval goes on past, two
 * where its estimate lies out there as well. Ends that are not known draw nothing. */
void bn_svg_beyond(struct gt_buf *out, const struct bn_scale *x, double lo, double estimate, double hi, double y, const char *tip);
/* A horizontal axis of effects, right is better: a grid from top to bottom whose labels have no sign, because what gets better by
 * 12 % may read -12 % (of milliseconds) or +12 % (of samples a second). */
void bn_svg_effect_axis(struct gt_buf *out, const struct bn_scale *x, double top, double bottom);
/* Axis, grid and labels; the plot's left edge leaves room for the labels above the lines. unit stands at the topmost one. */
void bn_svg_frame(struct gt_buf *out, struct bn_scale *x, struct bn_scale *y, const char *unit, int xdec, double xstep,
		  double ystep, const char *xname);

/* Where frames begin and end: to the right of the labels. */
#define BN_SVG_LEFT	14.0
#define BN_SVG_RIGHT	98.0
#endif
