/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SVG_H
#define BN_SVG_H
/*
 * Inline SVG. Horizontal positions are percentages and heights pixels: a plot fills any width, and its text keeps its size. Colours
 * are classes of the style of the page (page.c).
 */
#include "lib/buf.h"

/* A linear scale from data to percent (horizontal) or pixels (vertical). */
struct bn_scale {
	double lo, hi, from, to;
};
double bn_scale_at(const struct bn_scale *s, double v); /* always within from..to */
/* A step of 1, 2 or 5 times a power of ten that divides the range into about n. */
double bn_nice_step(double range, int n);
/* Widens the range to whole steps and returns the step. An empty range gets a width. */
double bn_nice_range(double *lo, double *hi, int n);
int bn_step_decimals(double step);

/* Opens <svg> with its title and description. Its ids contain kind and id, so they are unique on
 * the page. */
void bn_svg_open(struct gt_buf *out, const char *kind, unsigned id, double height, const char *title, const char *desc);
void bn_svg_line(struct gt_buf *out, const char *cls, double x1, double y1, double x2, double y2);
/* Draws the name of a row at the left and its numbers at the right: on one line, or with wrap the numbers below.
 * Returns the height of the second line. bn_svg_long(): name and numbers do not fit on one line of a narrow page. */
bool bn_svg_long(const char *name, const char *numbers);
double bn_svg_row(struct gt_buf *out, const char *cls, double y, const char *name, const char *numbers, bool wrap);
void bn_svg_band(struct gt_buf *out, const char *cls, double x1, double y1, double x2, double y2);
void bn_svg_text(struct gt_buf *out, const char *cls, const char *anchor, double x, double y, const char *s);
/* Draws a mark. Shape and colour have the same meaning: 'o' circle, 'd' diamond, 's' square, '>' or '<' triangle. tip:
 * its title. */
void bn_svg_mark(struct gt_buf *out, const char *cls, char shape, double x, double y, const char *tip);
/* Returns whether v is on the axis; false for NaN. */
bool bn_svg_within(const struct bn_scale *x, double v);
/* Draws an arrowhead at each edge of the axis that the interval exceeds, two if the estimate exceeds it as well.
 * Unknown ends draw nothing. */
void bn_svg_beyond(struct gt_buf *out, const struct bn_scale *x, double lo, double estimate, double hi, double y, const char *tip);
/* Draws a horizontal axis of effects, right is better, with its grid from top to bottom. Labels have no sign: better by
 * 12 % is -12 % of milliseconds and +12 % of samples per second. */
void bn_svg_effect_axis(struct gt_buf *out, const struct bn_scale *x, double top, double bottom);
/* Draws axes, grid and labels. The left edge has room for the labels; the topmost one has the unit. */
void bn_svg_frame(struct gt_buf *out, struct bn_scale *x, struct bn_scale *y, const char *unit, int xdec, double xstep,
		  double ystep, const char *xname);

/* The left and right ends of frames; the labels are to the left. */
#define BN_SVG_LEFT	14.0
#define BN_SVG_RIGHT	98.0
#endif
