/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a measured ladder. */
#include <math.h>
#include <string.h>
#include "bench/report/forms.h"
#include "bench/report/svg.h"
#include "bench/result/text.h"

static const char *failure_of(const json_t *rung)
{
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(rung, "launches"), i, l)
		if (gt_json_get_str(l, "failure", NULL))
			return gt_json_get_str(l, "failure", NULL);
	return NULL;
}

static struct bn_text rate(const json_t *rung)
{
	double v = gt_json_get_real(rung, "items_per_s", NAN);
	struct bn_text t = { "-" };

	if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%.*f", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	return t;
}

/* Returns the number of digits that the interval supports: its half-width has one digit. */
static int decimals(const json_t *rung)
{
	double half = (gt_json_get_real(rung, "speedup_high", NAN) - gt_json_get_real(rung, "speedup_low", NAN)) / 2;

	return !(half > 0) || half >= .05 ? 2 : half >= .005 ? 3 : 4;
}

static struct bn_text speedup(const json_t *rung)
{
	double v = gt_json_get_real(rung, "speedup", NAN);
	struct bn_text t = { "-" };

	if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%.*f", decimals(rung), v);
	return t;
}

static struct bn_text interval(const json_t *rung, bool first)
{
	double lo = gt_json_get_real(rung, "speedup_low", NAN), hi = gt_json_get_real(rung, "speedup_high", NAN);
	struct bn_text t = { "" };
	int d = decimals(rung);

	if (first)
		return t;
	if (isfinite(lo) && isfinite(hi))
		snprintf(t.s, sizeof(t.s), "[%.*f, %.*f]", d, lo, d, hi);
	else
		snprintf(t.s, sizeof(t.s), "needs 6 rounds");
	return t;
}

static struct bn_text bytes(const json_t *rung, const char *key)
{
	double v = gt_json_get_real(rung, key, NAN);
	struct bn_text t = { "-" };

	if (isfinite(v) && v >= 0)
		gt_format_bytes(t.s, sizeof(t.s), (uint64_t)v);
	return t;
}

/* Returns the fastest rung whose interval lies above the first rung, or NULL. */
static const json_t *fastest(const json_t *l)
{
	const json_t *best = NULL;
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung)
		if (i && gt_json_get_real(rung, "speedup_low", 0) > 1 &&
		    gt_json_get_real(rung, "speedup", 0) > gt_json_get_real(best, "speedup", 0))
			best = rung;
	return best;
}

/* Adds the rungs whose interval lies below the first rung: "AMP (bf16)" 0.875x [0.870, 0.880]. Returns their number. */
static size_t add_slower(const json_t *doc, struct gt_buf *out)
{
	json_t *l, *rung;
	size_t i, k, n = 0;

	json_array_foreach(json_object_get(doc, "ladders"), i, l)
		json_array_foreach(json_object_get(l, "rungs"), k, rung) {
			double high = gt_json_get_real(rung, "speedup_high", NAN);

			if (!k || !(high < 1))
				continue;
			gt_buf_printf(out, "%s%s \"%s\" %sx %s", n++ ? ", " : "", gt_json_get_str(l, "id", "?"),
				      gt_json_get_str(rung, "name", "?"), speedup(rung).s, interval(rung, false).s);
		}
	return n;
}

/* Adds the rung of each ladder that loses most accuracy against the first one. Returns their number. */
static size_t add_less_accurate(const json_t *doc, struct gt_buf *out)
{
	json_t *l, *rung;
	size_t i, k, n = 0;

	json_array_foreach(json_object_get(doc, "ladders"), i, l) {
		double first = gt_json_get_real(json_array_get(json_object_get(l, "rungs"), 0), "accuracy", NAN), least = first;
		const char *name = NULL;

		json_array_foreach(json_object_get(l, "rungs"), k, rung) {
			double v = gt_json_get_real(rung, "accuracy", NAN);

			if (!(v < least))
				continue;
			least = v;
			name = gt_json_get_str(rung, "name", "?");
		}
		if (name)
			gt_buf_printf(out, "%s%s \"%s\" %.2f %% instead of %.2f %%", n++ ? ", " : "", gt_json_get_str(l, "id", "?"),
				      name, 100 * least, 100 * first);
	}
	return n;
}

static bool has_interval(const json_t *l)
{
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung)
		if (i && isfinite(gt_json_get_real(rung, "speedup_high", NAN)))
			return true;
	return false;
}

static const json_t *failed_rung(const json_t *doc)
{
	json_t *l, *rung;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "ladders"), i, l)
		json_array_foreach(json_object_get(l, "rungs"), k, rung)
			if (failure_of(rung))
				return rung;
	return NULL;
}

static void answer(struct bn_view *v, const json_t *doc)
{
	const json_t *failed = failed_rung(doc);
	size_t i, judged = 0, faster = 0, slower;
	gt_auto_buf text = { 0 }, losses = { 0 }, accuracy = { 0 };
	json_t *l;

	json_array_foreach(json_object_get(doc, "ladders"), i, l) {
		const json_t *best = fastest(l);

		judged += has_interval(l);
		if (best)
			gt_buf_printf(&text, "%s%s \"%s\" %sx %s", faster++ ? ", " : "", gt_json_get_str(l, "id", "?"),
				      gt_json_get_str(best, "name", "?"), speedup(best).s, interval(best, false).s);
	}
	slower = add_slower(doc, &losses);
	v->class = failed ? "invalid" : faster ? "better" : slower ? "worse" : judged ? "inconclusive" : "measured";
	if (failed)
		bn_view_set(&v->headline, "INCOMPLETE: \"%s\" failed: %s", gt_json_get_str(failed, "name", "?"),
			    failure_of(failed));
	else if (faster)
		bn_view_set(&v->headline, "FASTER: %s%s%s", text.s, slower ? "; slower: " : "", slower ? losses.s : "");
	else if (slower)
		bn_view_set(&v->headline, "SLOWER: %s; no rung is faster than the first one of its ladder", losses.s);
	else
		bn_view_set(&v->headline, "%s",
			    judged ? "INCONCLUSIVE: every interval contains 1, so no rung is faster or slower than the first one"
				   : "MEASURED: no verdict; an interval needs six rounds");
	if (!failed && add_less_accurate(doc, &accuracy)) {
		gt_autofree char *speeds = gt_xstrdup(v->headline);

		bn_view_set(&v->headline, "%s; least accurate: %s", speeds, accuracy.s);
	}
}

/* ---- bars ---- */

#define BAR_TO 78.0
#define ROW    46

static double longest(const json_t *l)
{
	double most = 1;
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung) {
		double v = gt_json_get_real(rung, "speedup", 0), hi = gt_json_get_real(rung, "speedup_high", 0);

		most = fmax(most, fmax(v, isfinite(hi) ? hi : 0));
	}
	return most;
}

static void bar(struct gt_buf *out, const json_t *rung, bool first, double scale, double y)
{
	double v = gt_json_get_real(rung, "speedup", NAN), lo = gt_json_get_real(rung, "speedup_low", NAN);
	double hi = gt_json_get_real(rung, "speedup_high", NAN);
	bool judged = !first && isfinite(lo) && isfinite(hi);
	gt_autofree char *label = isfinite(v) ? gt_xasprintf("%sx", speedup(rung).s) : gt_xstrdup("failed");

	bn_svg_text(out, "", "start", 0, y + 14, gt_json_get_str(rung, "name", "?"));
	if (isfinite(v))
		bn_svg_band(out, first ? "A" : "B", 0, y + 20, v * scale, y + 36);
	if (judged)
		bn_svg_line(out, "whisker", lo * scale, y + 28, hi * scale, y + 28);
	bn_svg_text(out, "t", "start", isfinite(v) ? fmax(v, judged ? hi : 0) * scale + 1 : 0, y + 33, label);
}

static void bars(struct bn_view *v, const json_t *l, unsigned id)
{
	double scale = BAR_TO / longest(l);
	json_t *rungs = json_object_get(l, "rungs"), *rung;
	gt_auto_buf svg = { 0 };
	size_t k;

	bn_svg_open(&svg, "bars", id, (double)(json_array_size(rungs) * ROW) + 4, gt_json_get_str(l, "title", "?"),
		    "The longer the bar, the faster; the thin line is the 95 % interval. The table has the same numbers.");
	json_array_foreach(rungs, k, rung)
		bar(&svg, rung, k == 0, scale, (double)k * ROW);
	gt_buf_puts(&svg, "</svg>\n");
	bn_view_figure(v, &svg, "Speed-up over the first rung; the thin line is the 95 % interval.");
}

/* ---- numbers ---- */

enum form { FORM_BYTES, FORM_MS, FORM_LOSS, FORM_STEP_LOSS, FORM_PERCENT, FORM_ERROR, FORM_NUMBER };
/* A column that is shown if a rung has a value. */
struct measure {
	const char *key, *title;
	enum form form;
	const char *note; /* meaning; NULL: the title says it */
};
static const struct measure measures[] = {
	{ "latency_s", "p50 ms", FORM_MS, NULL },
	{ "planned_bytes", "planned", FORM_BYTES, "Planned: tensors of one rank." },
	{ "max_rss_bytes", "peak", FORM_BYTES, "Peak: most resident memory of one rank." },
	{ "weight_bytes", "weights", FORM_BYTES, "Weights: bytes that a run reads." },
	{ "sent_bytes", "sent", FORM_BYTES, "Sent: per update." },
	{ "loss", "loss", FORM_STEP_LOSS, NULL },
	{ "heldout_loss", "held-out loss", FORM_LOSS, NULL },
	{ "accuracy", "accuracy", FORM_PERCENT, "Accuracy: on held-out data." },
	{ "bytes_per_element", "bytes/element", FORM_NUMBER, NULL },
	{ "error", "error", FORM_ERROR, "Error: largest difference from the definition, as a share of its largest value." },
	{ "gradient_error", "gradient error", FORM_ERROR, NULL },
};

static bool has(const json_t *l, const char *key)
{
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung)
		if (isfinite(gt_json_get_real(rung, key, NAN)))
			return true;
	return false;
}

/* The loss of the last update compares ranks that send messages. Held-out data gives a better loss. */
static bool shown(const json_t *l, const struct measure *m)
{
	if (m->form == FORM_STEP_LOSS)
		return has(l, "sent_bytes");
	return has(l, m->key);
}

static struct bn_text value(const json_t *rung, const struct measure *m)
{
	static const int digits[] = { [FORM_MS] = 3, [FORM_LOSS] = 4, [FORM_STEP_LOSS] = 5, [FORM_PERCENT] = 2, [FORM_NUMBER] = 1 };
	double v = gt_json_get_real(rung, m->key, NAN), scale = m->form == FORM_MS ? 1e3 : m->form == FORM_PERCENT ? 100 : 1;
	struct bn_text t = { "-" };

	if (m->form == FORM_BYTES)
		return bytes(rung, m->key);
	if (isfinite(v) && m->form == FORM_ERROR)
		snprintf(t.s, sizeof(t.s), "%.1e", v);
	else if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%.*f%s", digits[m->form], v * scale, m->form == FORM_PERCENT ? " %" : "");
	return t;
}

static void table(struct bn_view *v, const json_t *l)
{
	gt_autofree char *per_second = gt_xasprintf("%s/s", gt_json_get_str(l, "unit", "items"));
	struct bn_column columns[4 + GT_ARRAY_SIZE(measures)] = { { "rung", BN_LONG }, { per_second, BN_NUMBER },
								  { "speed-up", BN_NUMBER }, { "95% CI", BN_INTERVAL } };
	const struct measure *of[GT_ARRAY_SIZE(measures)];
	gt_auto_buf notes = { 0 };
	size_t k, n = 0;
	json_t *rung;

	for (size_t i = 0; i < GT_ARRAY_SIZE(measures); i++) {
		if (!shown(l, &measures[i]))
			continue;
		if (measures[i].note)
			gt_buf_printf(&notes, "%s%s", notes.len ? " " : "", measures[i].note);
		columns[4 + n] = (struct bn_column){ measures[i].title, BN_NUMBER };
		of[n++] = &measures[i];
	}
	bn_view_table(v, BN_ALL, columns, 4 + n, notes.len ? notes.s : "Speed-up: ratio to the first rung.");
	json_array_foreach(json_object_get(l, "rungs"), k, rung) {
		const char *why = failure_of(rung);

		bn_view_row(v, NULL);
		bn_view_cell(v, "%s%s%.120s", gt_json_get_str(rung, "name", "?"), why ? ": " : "", why ? why : "");
		bn_view_cell(v, "%s", rate(rung).s);
		bn_view_cell(v, "%s", speedup(rung).s);
		bn_view_cell(v, "%s", interval(rung, k == 0).s);
		for (size_t i = 0; i < n; i++)
			bn_view_cell(v, "%s", value(rung, of[i]).s);
	}
}

static void ladder(struct bn_view *v, const json_t *l, unsigned id)
{
	gt_autofree char *anchor = gt_xasprintf("ladder%u", id);
	gt_autofree char *title = gt_xasprintf("%s (%s)", gt_json_get_str(l, "title", "?"), gt_json_get_str(l, "id", "?"));
	json_t *rungs = json_object_get(l, "rungs"), *rung;
	size_t k;

	bn_view_section(v, BN_ALL, anchor, title);
	bn_view_add(v, BN_TEXT, BN_ALL, "%s", gt_json_get_str(l, "what", ""));
	bars(v, l, id);
	table(v, l);
	bn_view_command(v, BN_MARKDOWN, "First rung", json_object_get(json_array_get(rungs, 0), "command"));
	bn_view_add(v, BN_DETAILS, BN_PAGE, "Commands");
	json_array_foreach(rungs, k, rung)
		bn_view_command(v, BN_PAGE, gt_json_get_str(rung, "name", "?"), json_object_get(rung, "command"));
	bn_view_add(v, BN_END, BN_PAGE, "%s", "");
}

struct bn_view *bn_view_ladder(const json_t *doc)
{
	const json_t *host = json_object_get(doc, "host"), *run = json_object_get(doc, "run");
	double load = gt_json_get_real(run, "load_at_start", 0);
	gt_autofree char *busy = gt_xasprintf("; load %.1f at the start: other processes used the CPUs", load);
	struct bn_view *v = bn_view_new(doc, "gpubench ladder");
	json_t *l;
	size_t i;

	answer(v, doc);
	bn_view_set(&v->origin, "host %s, %s, %lld CPUs, %s", gt_json_get_str(host, "identity", "unknown"),
		    gt_json_get_str(host, "cpu", "unknown CPU"), (long long)gt_json_get_int(host, "cpus_allowed", 0),
		    gt_json_get_str(run, "started", "no date"));
	bn_view_set(&v->design, "design: %lld rounds in random order, seed %lld%s", (long long)gt_json_get_int(run, "rounds", 0),
		    (long long)gt_json_get_int(run, "seed", 0), load > .5 ? busy : "");
	json_array_foreach(json_object_get(doc, "ladders"), i, l)
		ladder(v, l, (unsigned)i);
	bn_view_section(v, 0, "method", "Method");
	bn_view_add(v, BN_PROSE, BN_FILES,
		    "Each launch is a fresh process. Each round runs all rungs in random order. A *speed-up* is the mean "
		    "ratio to the first rung within rounds; its interval comes from the sign-flip randomisation test. "
		    "*Planned* memory is that of the tensors of one rank, *peak* the most resident memory of one rank.");
	return v;
}
