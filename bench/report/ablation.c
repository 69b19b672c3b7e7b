/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of a receipt as bars, among the others and alone. The first row is all changes together, the last the
 * kept changes. */
#include <math.h>
#include <string.h>
#include "bench/report/plots.h"
#include "bench/report/svg.h"
#include "bench/result/text.h"

#define ROW	74
#define BAR	12
#define TOP	4

struct bar {
	double gain, lo, hi; /* percent, right is better; NaN: not measured */
};

static struct bar bar_of(const json_t *effect, double sign)
{
	double a = sign * gt_json_get_real(effect, "ci_low_pct", NAN), b = sign * gt_json_get_real(effect, "ci_high_pct", NAN);

	return (struct bar){ sign * gt_json_get_real(effect, "change_pct", NAN), fmin(a, b), fmax(a, b) };
}

/* Half-width of the axis: all bars, and intervals up to twice the longest bar. */
static double reach_of(const json_t *receipt, double sign)
{
	const json_t *const one[] = { json_object_get(receipt, "total"), json_object_get(receipt, "confirm") };
	double bars = 0, ends = 0;
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(receipt, "knobs"), i, k)
		for (int alone = 0; alone < 2; alone++) {
			struct bar b = bar_of(json_object_get(k, alone ? "alone" : "effect"), sign);

			bars = fmax(bars, fabs(b.gain));
			ends = fmax(ends, fmax(fabs(b.lo), fabs(b.hi)));
		}
	for (i = 0; i < GT_ARRAY_SIZE(one); i++) {
		struct bar b = bar_of(one[i], sign);

		bars = fmax(bars, fabs(b.gain));
		ends = fmax(ends, fmax(fabs(b.lo), fabs(b.hi)));
	}
	return fmin(fmax(fmin(ends, 2 * bars), 1e-3), 1e6) * 1.08;
}

static void draw_bar(const struct bar *b, const char *cls, const struct bn_scale *x, double y, struct gt_buf *out)
{
	double zero = bn_scale_at(x, 0), at = bn_scale_at(x, b->gain);

	if (!isfinite(b->gain))
		return;
	bn_svg_band(out, cls, fmin(zero, at), y, fmax(zero, at), y + BAR);
	bn_svg_beyond(out, x, b->lo, b->gain, b->hi, y + BAR / 2., "the interval continues beyond the axis");
	if (isfinite(b->lo) && isfinite(b->hi))
		bn_svg_line(out, "whisker", bn_scale_at(x, b->lo), y + BAR / 2., bn_scale_at(x, b->hi), y + BAR / 2.);
}

/* Draws one row: its name, its numbers, and a bar for each known effect. */
static void row(const char *name, const json_t *effect, const json_t *alone, double sign, const struct bn_scale *x, double y,
		struct gt_buf *out)
{
	struct bar a = bar_of(effect, sign), b = bar_of(alone, sign);
	struct bn_text among = bn_text_change(effect), by_itself = bn_text_change(alone);
	gt_autofree char *both = isfinite(b.gain) ? gt_xasprintf("%s, alone %s", among.s, by_itself.s)
						  : gt_xstrdup(isfinite(a.gain) ? among.s : "not measured");

	y += bn_svg_row(out, "t", y + 14, name, both, true);
	draw_bar(&a, "A", x, y + 22, out);
	draw_bar(&b, "B", x, y + 22 + BAR + 4, out);
}

void bn_plot_ablation(const json_t *receipt, struct gt_buf *out)
{
	double sign = gt_streq(gt_json_get_str(receipt, "direction", NULL), "higher") ? 1 : -1, reach = reach_of(receipt, sign);
	json_t *knobs = json_object_get(receipt, "knobs"), *k;
	const json_t *total = json_object_get(receipt, "total"), *kept = json_object_get(receipt, "confirm");
	size_t n = json_array_size(knobs) + json_is_object(total) + json_is_object(kept), i;
	double bottom = TOP + ROW * (double)n, y = TOP;
	struct bn_scale x = { -reach, reach, 1, 99 };

	bn_svg_open(out, "ablation", 0, bottom + 44, "Effect of each change",
		    "Bars from the middle line; right is better. The upper bar of a change is its effect among the others, "
		    "the lower one alone; a thin line is the 95 % interval. The table has the same numbers.");
	bn_svg_effect_axis(out, &x, TOP, bottom);
	if (json_is_object(total))
		row("all together", total, NULL, sign, &x, y, out), y += ROW;
	json_array_foreach(knobs, i, k) {
		row(gt_json_get_str(k, "id", "?"), json_object_get(k, "effect"), json_object_get(k, "alone"), sign, &x, y, out);
		y += ROW;
	}
	if (json_is_object(kept))
		row("kept changes, on new data", kept, NULL, sign, &x, y, out);
	gt_buf_puts(out, "</svg>\n");
}
