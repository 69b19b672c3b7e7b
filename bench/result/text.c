/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "bench/result/text.h"

static const struct {
	const char *unit, *shown;
	double scale;
} scaled[] = {
	{ "s", "s", 1 },    { "s", "ms", 1e3 },	  { "s", "us", 1e6 },  { "s", "ns", 1e9 },
	{ "ns", "s", 1e-9 }, { "ns", "ms", 1e-6 }, { "ns", "us", 1e-3 }, { "ns", "ns", 1 },
};

double bn_text_scale(double v, const char *unit, const char **ret_shown)
{
	*ret_shown = unit;
	for (size_t i = 0; i < GT_ARRAY_SIZE(scaled); i++)
		if (gt_streq(unit, scaled[i].unit) && (fabs(v * scaled[i].scale) >= 1 || scaled[i].shown[0] == 'n')) {
			*ret_shown = scaled[i].shown;
			return scaled[i].scale;
		}
	return 1;
}

struct bn_text bn_text_value(double v, const char *unit)
{
	struct bn_text t = { "-" };
	const char *shown;

	if (!isfinite(v))
		return t;
	v *= bn_text_scale(v, unit, &shown);
	snprintf(t.s, sizeof(t.s), "%.*f %.40s",
		 fabs(v) >= 1000  ? 0
		 : fabs(v) >= 100 ? 1
		 : fabs(v) >= 10  ? 2
				  : 3,
		 v, shown);
	return t;
}

struct bn_text bn_text_level(const json_t *doc, const json_t *level, const char *key)
{
	const char *id = gt_json_get_str(level, "metric", "?"), *unit = "";
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		const char *series = gt_json_get_str(m, "id", "");

		if (gt_streq(id, series) || (gt_starts_with(id, series) && gt_streq(id + strlen(series), ".p99")))
			unit = gt_json_get_str(m, "unit", unit);
	}
	return bn_text_value(gt_json_get_real(level, key, NAN), unit);
}

/* Returns the number of decimals that the interval supports: its half-width has one digit. */
static int decimals(const json_t *c)
{
	double lo = gt_json_get_real(c, "ci_low_pct", NAN), hi = gt_json_get_real(c, "ci_high_pct", NAN),
	       half = (hi - lo) / 2;

	if (!isfinite(half) || half <= 0)
		return 1;
	return half >= 10 ? 0 : half >= .1 ? 1 : half >= .01 ? 2 : 3;
}

/* Returns zero for a value that would be printed as zero, to avoid "-0.0". */
static double rounded(double v, int d)
{
	return fabs(v) < .5 * pow(10, -d) ? 0 : v;
}

struct bn_text bn_text_number(double v, int digits)
{
	struct bn_text t;

	if (fabs(v) >= pow(10, digits) - .5)
		snprintf(t.s, sizeof(t.s), "%.0f", v);
	else
		snprintf(t.s, sizeof(t.s), "%.*g", digits, v);
	return t;
}

struct bn_text bn_text_samples(const json_t *metric)
{
	double pct = gt_json_get_real(metric, "scale_pct", NAN);
	struct bn_text t = { "-" };

	if (isfinite(pct))
		snprintf(t.s, sizeof(t.s), "%.1f %%", pct);
	return t;
}

struct bn_text bn_text_percent(double v)
{
	struct bn_text t = { "-" };

	if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%+.1f %%", rounded(v, 1));
	return t;
}

struct bn_text bn_text_change(const json_t *c)
{
	double v = gt_json_get_real(c, "change_pct", NAN);
	struct bn_text t = { "-" };
	int d = decimals(c);

	if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%+.*f %%", d, rounded(v, d));
	return t;
}

struct bn_text bn_text_interval(const json_t *c)
{
	double lo = gt_json_get_real(c, "ci_low_pct", NAN), hi = gt_json_get_real(c, "ci_high_pct", NAN);
	struct bn_text t = { "unknown" };
	int d = decimals(c);

	if (isfinite(lo) && isfinite(hi))
		snprintf(t.s, sizeof(t.s), "[%+.*f, %+.*f]", d, rounded(lo, d), d, rounded(hi, d));
	return t;
}

struct bn_text bn_text_reason(const char *reason)
{
	struct bn_text t;

	snprintf(t.s, sizeof(t.s), "%s%.180s", isdigit((unsigned char)reason[0]) ? "needs " : "", reason);
	return t;
}

struct bn_text bn_text_verdict(const json_t *c)
{
	const char *v = gt_json_get_str(c, "verdict", "inconclusive"), *reason = gt_json_get_str(c, "reason", NULL);
	double margin = gt_json_get_real(c, "same_margin_pct", gt_json_get_real(c, "margin_pct", NAN));
	struct bn_text t;

	if (gt_streq(v, "same"))
		snprintf(t.s, sizeof(t.s), "same (within %.1f %%%s)", margin,
			 gt_json_get_bool(c, "tiny", false) ? "; significant but too small to matter" : "");
	else if (gt_streq(v, "inconclusive") && gt_streq(gt_json_get_str(c, "role", NULL), "guard") &&
		 gt_json_get_bool(c, "not_worse", false))
		snprintf(t.s, sizeof(t.s), "not worse (by %.1f %% or more)", margin);
	else if (gt_streq(v, "inconclusive"))
		snprintf(t.s, sizeof(t.s), "%s: %.150s",
			 gt_json_get_bool(c, "may_be_worse", false) ? "may be worse" : "inconclusive",
			 reason ? reason : "no interval");
	else
		snprintf(t.s, sizeof(t.s), "%s (p %.2g%s)", gt_streq(v, "better") ? "BETTER" : "WORSE",
			 gt_json_get_real(c, "p_adjusted", NAN),
			 gt_streq(gt_json_get_str(c, "family", NULL), "holm") ? " Holm" :
			 gt_streq(gt_json_get_str(c, "family", NULL), "bh")   ? " BH" :
										"");
	return t;
}

struct bn_text bn_text_outlier(const json_t *o)
{
	const char *cause = gt_json_get_str(o, "cause", NULL);
	struct bn_text t;

	snprintf(t.s, sizeof(t.s), "launch %lld (%.8s), %.60s %+.0f %%: %.100s", (long long)gt_json_get_int(o, "seq", 0),
		 gt_json_get_str(o, "arm", "?"), gt_json_get_str(o, "metric", "?"),
		 gt_json_get_real(o, "deviation_pct", NAN), cause ? cause : "no unusual reading on the host");
	return t;
}

struct bn_text bn_text_metric(const json_t *c)
{
	const char *role = gt_json_get_str(c, "role", "explore");
	struct bn_text t;

	snprintf(t.s, sizeof(t.s), "%.100s%s", gt_json_get_str(c, "metric", "?"),
		 gt_streq(role, "primary") ? " [P]" :
		 gt_streq(role, "guard")   ? " [G]" :
		 gt_streq(role, "control") ? " [C]" :
					     "");
	return t;
}

struct bn_text bn_text_json(const json_t *v)
{
	struct bn_text t = { "(none)" };
	gt_autofree char *dump = NULL;

	if (!v || json_is_null(v))
		return t;
	if (json_is_string(v)) {
		snprintf(t.s, sizeof(t.s), "%.180s", json_string_value(v)[0] ? json_string_value(v) : "(empty)");
		return t;
	}
	dump = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
	snprintf(t.s, sizeof(t.s), "%.180s", dump ? dump : "?");
	return t;
}

static size_t aa_pairs(const json_t *doc)
{
	json_t *c;
	size_t i, n = 0;

	json_array_foreach(json_object_get(doc, "comparisons"), i, c)
		n = GT_MAX(n, (size_t)gt_json_get_int(json_object_get(c, "aa"), "n", 0));
	return n;
}

struct bn_text bn_text_design(const json_t *doc)
{
	const json_t *run = json_object_get(doc, "run");
	const char *design = gt_json_get_str(run, "design", "");
	long long done = (long long)gt_json_get_int(doc, "pairs_done", 0),
		  seed = (long long)gt_json_get_int(run, "seed", 0);
	size_t interims = json_array_size(json_object_get(run, "looks"));
	struct bn_text t;

	if (gt_streq(design, "pairs"))
		snprintf(t.s, sizeof(t.s), "%lld random pairs%s + %zu A/A pairs, seed %lld", done,
			 interims > 1 ? " (planned interim analyses)" : "", aa_pairs(doc), seed);
	else if (gt_streq(design, "aa"))
		snprintf(t.s, sizeof(t.s), "%lld A/A pairs, nothing changed, seed %lld", done, seed);
	else if (gt_streq(design, "unpaired"))
		snprintf(t.s, sizeof(t.s), "unpaired: drift not controlled");
	else
		snprintf(t.s, sizeof(t.s), "one arm, for a later compare, seed %lld", seed);
	return t;
}

struct bn_text bn_text_aa(const json_t *doc)
{
	struct bn_text t = { "none" };
	double worst = -1;
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "comparisons"), i, c) {
		const json_t *aa = json_object_get(c, "aa");
		double pct = fabs(gt_json_get_real(aa, "change_pct", NAN));

		if (gt_json_get_bool(aa, "bad", false)) {
			snprintf(t.s, sizeof(t.s), "FAILED: identical arms differ by %.1f %% in %.80s", pct,
				 gt_json_get_str(c, "metric", "?"));
			return t;
		}
		if (gt_streq(gt_json_get_str(c, "role", NULL), "primary") && pct > worst) {
			worst = pct;
			snprintf(t.s, sizeof(t.s), "%s (identical arms differ by %.1f %% in %.80s)",
				 pct < gt_json_get_real(c, "own_margin_pct", 1) ? "ok" : "no bias proven, but noisy",
				 pct, gt_json_get_str(c, "metric", "?"));
		}
	}
	return t;
}

const char *bn_arm_name(const json_t *doc, bool b)
{
	const char *name = gt_json_get_str(json_object_get(doc, "arms"), b ? "b" : "a", NULL);

	/* the arms of a session are stored as baseline and tuned; those of a comparison are names of files */
	if (!name || gt_streq(name, b ? "tuned" : "baseline"))
		return b ? "after" : "before";
	return name;
}

/* Prints "train.gpt -2.4 % [-2.9, -1.8], lower is better" for every primary metric with that verdict. */
static void primaries(const json_t *doc, const char *verdict, struct gt_buf *out)
{
	bool first = true;
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "comparisons"), i, c) {
		const char *role = gt_json_get_str(c, "role", ""), *reason = gt_json_get_str(c, "reason", "");
		bool guard = gt_streq(role, "guard") && gt_streq(verdict, "worse");

		if ((!gt_streq(role, "primary") && !guard) || !gt_streq(gt_json_get_str(c, "verdict", NULL), verdict))
			continue;
		gt_buf_printf(out, "%s%s", first ? "" : "; ", gt_json_get_str(c, "metric", "?"));
		if (isfinite(gt_json_get_real(c, "ci_low_pct", NAN)))
			gt_buf_printf(out, " %s %s, %s is better", bn_text_change(c).s, bn_text_interval(c).s,
				      gt_json_get_str(c, "direction", "?"));
		else if (isfinite(gt_json_get_real(c, "change_pct", NAN)))
			gt_buf_printf(out, " %s, interval unknown, %s is better", bn_text_change(c).s,
				      gt_json_get_str(c, "direction", "?"));
		if (gt_streq(verdict, "inconclusive"))
			gt_buf_printf(out, ": %s", bn_text_reason(reason).s);
		first = false;
	}
}

void bn_text_guards(const json_t *guards, struct gt_buf *out)
{
	json_t *g;
	size_t i;

	json_array_foreach(guards, i, g) gt_buf_printf(
		out, "%s%s %s %s, allowed %.1f %%", i ? "; " : "; may be worse: ", gt_json_get_str(g, "metric", "?"),
		bn_text_change(g).s, bn_text_interval(g).s, gt_json_get_real(g, "margin_pct", NAN));
}

void bn_text_headline(const json_t *doc, struct gt_buf *out)
{
	const char *v = gt_json_get_str(doc, "verdict", "inconclusive"),
		   *why = gt_json_get_str(doc, "verdict_reason", NULL);
	bool aa = gt_streq(gt_json_get_str(json_object_get(doc, "run"), "design", NULL), "aa");
	char word[32] = "";

	for (size_t i = 0; v[i] && i + 1 < sizeof(word); i++)
		word[i] = (char)toupper((unsigned char)v[i]);
	if (why) {
		gt_buf_printf(out, "%s: %s",
			      gt_streq(v, "wrong")     ? "RESULTS WRONG"
			      : gt_streq(v, "invalid") ? "INVALID SESSION"
						       : word,
			      why);
	} else if (gt_streq(v, "measured")) {
		gt_buf_printf(out, "MEASURED: one arm; compare it with another result of this host");
	} else {
		gt_buf_printf(out, "%s: ", word);
		if (aa)
			gt_buf_puts(out, "nothing was changed; this shows the difference between identical arms: ");
		primaries(doc, v, out);
		if (gt_streq(v, "better") || gt_streq(v, "same"))
			bn_text_guards(json_object_get(doc, "guards_open"), out);
		if (json_array_size(json_object_get(doc, "confounders")))
			gt_buf_puts(out, " (changed, but not attributable: other differences below)");
	}
}
