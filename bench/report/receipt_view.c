/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a receipt: every change with its interval, why it works, and how to revert it. */
#include <math.h>
#include <string.h>
#include "bench/report/forms.h"
#include "bench/report/plots.h"
#include "bench/result/text.h"

static struct bn_text alone_of(const json_t *knob)
{
	const json_t *e = json_object_get(knob, "alone");
	struct bn_text t = { "-" };

	if (isfinite(gt_json_get_real(e, "change_pct", NAN)))
		snprintf(t.s, sizeof(t.s), "%.80s %.80s", bn_text_change(e).s, bn_text_interval(e).s);
	return t;
}

static const char *meaning_of(const json_t *receipt)
{
	static const struct {
		const char *method, *meaning;
	} known[] = { { "leave-one-out", "Effect: result of the change while all others are on." },
		      { "fold-over design",
			"Effect: mean result of the change over all settings of the others." },
		      { "total effect", "Effect: result of the only change." } };
	const char *found = NULL;
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(receipt, "knobs"), i, k)
		for (size_t m = 0; m < GT_ARRAY_SIZE(known); m++) {
			if (!gt_streq(gt_json_get_str(k, "method", NULL), known[m].method))
				continue;
			if (found && found != known[m].meaning) /* a group that was split */
				return "Effect: result of the change among the others; its method names those that are on.";
			found = known[m].meaning;
		}
	return found ? found : "No effect was measured.";
}

static const char *guard_of(const json_t *knob)
{
	const char *verdict = gt_json_get_str(knob, "verdict", NULL);

	if (gt_json_get_bool(knob, "guard_worse", false) && !gt_streq(verdict, "worse"))
		return ", a guard is worse";
	return gt_json_get_bool(knob, "guard_open", false) && gt_streq(verdict, "better") ? ", a guard may be worse" : "";
}

/* ---- the answer ---- */

static const char *confirmed(const json_t *receipt, size_t kept, size_t all, struct gt_buf *out)
{
	const json_t *confirm = json_object_get(receipt, "confirm");
	const char *why = gt_json_get_str(receipt, "unconfirmed", NULL);

	if (gt_json_get_bool(receipt, "confirmed", false)) {
		gt_buf_printf(out, "PROVED: %zu of %zu changes help, confirmed on new data: %s %s", kept, all,
			      bn_text_change(confirm).s, bn_text_interval(confirm).s);
		bn_text_guards(json_object_get(receipt, "guards_open"), out);
		return "better";
	}
	gt_buf_printf(out, "NOT CONFIRMED: %zu of %zu changes seemed to help, and ", kept, all);
	if (why)
		gt_buf_printf(out, "helped again on new data: %s %s, but %s", bn_text_change(confirm).s,
			      bn_text_interval(confirm).s, why);
	else if (json_is_object(confirm))
		gt_buf_printf(out, "new data did not confirm it: %s %s", bn_text_change(confirm).s,
			      bn_text_interval(confirm).s);
	else
		gt_buf_puts(out, "the time limit ended before that was measured again");
	return "inconclusive";
}

static void answer(struct bn_view *v, const json_t *receipt)
{
	json_t *knobs = json_object_get(receipt, "knobs"), *others = json_object_get(receipt, "confounders"), *k;
	size_t i, kept = 0, open = 0, arms = 0, all = json_array_size(knobs), n = json_array_size(others);
	size_t missed = json_array_size(json_object_get(receipt, "not_reached"));
	gt_auto_buf text = { 0 };

	json_array_foreach(knobs, i, k) {
		kept += gt_json_get_bool(k, "kept", false);
		open += gt_streq(gt_json_get_str(k, "verdict", NULL), "inconclusive");
	}
	json_array_foreach(others, i, k)
		arms += gt_streq(gt_json_get_str(k, "when", NULL), "between arms");
	if (kept)
		v->class = confirmed(receipt, kept, all, &text);
	else if (open)
		gt_buf_printf(&text, "INCONCLUSIVE: no change was shown to help this workload; undecided: %zu of %zu", open, all);
	else if (missed)
		gt_buf_printf(&text, "INCONCLUSIVE: no change was shown to help this workload; not reached in the time "
			      "allowed: %zu", missed);
	else
		gt_buf_puts(&text, "PROVED: nothing here helps this workload; leave the host as it is");
	if (!kept)
		v->class = open || missed ? "inconclusive" : "same";
	if (n)
		gt_buf_printf(&text, "; %zu other difference%s found during the session%s, listed with the changes", n,
			      n == 1 ? " was" : "s were", arms ? ", also between the arms: not attributable" : "");
	bn_view_set(&v->headline, "%s", text.s);
}

/* Returns the result for the mechanism of a change as people read it. */
static const char *mechanism_text(const char *moved)
{
	static const char *const texts[][2] = {
		{ "yes", "improved" }, { "not looked at", "not measured" }, { "names none", "none" }
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(texts); i++)
		if (gt_streq(moved, texts[i][0]))
			return texts[i][1];
	return moved;
}

/* ---- the changes ---- */

static void changes(struct bn_view *v, const json_t *receipt)
{
	static const struct bn_column columns[] = { { "change", BN_LONG },          { "effect", BN_NUMBER },
						    { "95% CI", BN_INTERVAL },      { "alone", BN_INTERVAL, BN_FILES },
						    { "n", BN_NUMBER, BN_FILES },   { "verdict", BN_VERDICT },
						    { "kept", BN_WORDS },           { "mechanism", BN_LONG },
						    { "revert", BN_CODE, BN_FILES } };
	json_t *list = json_object_get(receipt, "knobs"), *k;
	bool confirmed = gt_json_get_bool(receipt, "confirmed", false);
	size_t i;

	if (!json_array_size(list))
		return;
	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns), meaning_of(receipt));
	json_array_foreach(list, i, k) {
		const json_t *e = json_object_get(k, "effect"), *m = json_object_get(k, "mechanism");
		const char *metric = gt_json_get_str(m, "metric", NULL), *verdict = gt_json_get_str(k, "verdict", "inconclusive");

		bn_view_row(v, verdict);
		bn_view_cell(v, "%s %s -> %s", gt_json_get_str(k, "id", "?"), bn_text_json(json_object_get(k, "from")).s,
			     bn_text_json(json_object_get(k, "to")).s);
		bn_view_cell(v, "%s", bn_text_change(e).s);
		bn_view_cell(v, "%s", bn_text_interval(e).s);
		bn_view_cell(v, "%s", alone_of(k).s);
		bn_view_cell(v, "%lld", (long long)gt_json_get_int(e, "n", 0));
		bn_view_cell(v, "%s%s%s", verdict, guard_of(k), gt_json_get_bool(k, "interacts", false) ? ", differs alone" : "");
		bn_view_cell(v, "%s", !gt_json_get_bool(k, "kept", false) ? "no" : confirmed ? "yes" : "not confirmed");
		bn_view_cell(v, "%s%s%s", metric ? metric : "", metric ? ": " : "",
			     mechanism_text(gt_json_get_str(m, "moved", "")));
		bn_view_cell(v, "%s", gt_json_get_str(k, "revert", ""));
	}
	bn_view_add(v, BN_TEXT, BN_FILES, "Alone: the same while all others are off.");
}

/* Changes without a verdict, with the reason; equal reasons are one item. */
static void undecided(struct bn_view *v, const json_t *knobs)
{
	size_t i, k;
	json_t *a, *b;

	json_array_foreach(knobs, i, a) {
		const char *why = gt_json_get_str(a, "why", NULL);
		gt_auto_buf names = { 0 };
		bool earlier = false;

		json_array_foreach(knobs, k, b) {
			if (!why || !gt_streq(gt_json_get_str(b, "why", NULL), why))
				continue;
			earlier |= k < i;
			gt_buf_printf(&names, "%s%s", names.len ? ", " : "", gt_json_get_str(b, "id", "?"));
		}
		if (why && !earlier)
			bn_view_add(v, BN_ITEM, BN_ALL, "%s: %s", names.s, bn_text_reason(why).s);
	}
}

/* Returns whether the value has a later round. */
static bool raced_again(const json_t *heats, size_t i)
{
	const json_t *value = json_object_get(json_array_get(heats, i), "value");

	for (size_t k = i + 1; k < json_array_size(heats); k++)
		if (json_equal(value, json_object_get(json_array_get(heats, k), "value")))
			return true;
	return false;
}

/* A table of speed and energy of each value in its last round. */
static void race_energy(struct bn_view *v, const char *id, const json_t *heats, const char *unit)
{
	gt_autofree char *before = gt_xasprintf("%s before", unit), *after = gt_xasprintf("%s after", unit),
			 *caption = gt_xasprintf("race of %s: speed and energy", id);
	const struct bn_column columns[] = {{"value", BN_WORDS},	       {"effect", BN_NUMBER},
					    {"95% CI", BN_INTERVAL},	       {before, BN_NUMBER, .name = true},
					    {after, BN_NUMBER, .name = true}, {"energy", BN_NUMBER}};
	json_t *h;
	size_t i;

	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns), caption);
	json_array_foreach(heats, i, h) {
		const json_t *joules = json_object_get(h, "joules");

		if (raced_again(heats, i) || !joules)
			continue;
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(h, "value", "?"));
		bn_view_cell(v, "%s", bn_text_change(json_object_get(h, "effect")).s);
		bn_view_cell(v, "%s", bn_text_interval(json_object_get(h, "effect")).s);
		bn_view_cell(v, "%.4g", gt_json_get_real(joules, "before", 0));
		bn_view_cell(v, "%.4g", gt_json_get_real(joules, "after", 0));
		bn_view_cell(v, "%s", bn_text_change(json_object_get(h, "energy")).s);
	}
}

/* Lists each value with its effect in its last round. */
static void race(struct bn_view *v, const json_t *race)
{
	json_t *heats = json_object_get(race, "heats"), *h;
	const char *unit = NULL;
	const char *winner = gt_json_get_str(race, "winner", NULL);
	const char *option = gt_json_get_str(race, "loader_option", NULL);
	gt_auto_buf text = { 0 };
	size_t i;

	json_array_foreach(heats, i, h) {
		unit = unit ? unit : gt_json_get_str(json_object_get(h, "joules"), "unit", NULL);
		if (raced_again(heats, i))
			continue;
		gt_buf_printf(&text, " %s %s", gt_json_get_str(h, "value", "?"), bn_text_change(json_object_get(h, "effect")).s);
		gt_buf_puts(&text, i + 1 < json_array_size(heats) ? "," : "");
	}
	if (!json_array_size(heats))
		gt_buf_puts(&text, " no value was measured");
	gt_buf_printf(&text, winner ? "; %s is proved above" : "; none was shown to be better than the host's own value", winner);
	bn_view_add(v, BN_ITEM, BN_ALL, "race of %s:%s", gt_json_get_str(race, "id", "?"), text.s);
	if (unit)
		race_energy(v, gt_json_get_str(race, "id", "?"), heats, unit);
	if (option)
		bn_view_add(v, BN_ITEM, BN_ALL, "to use it: gputune run --loader %s -- CMD", option);
}

/* Reports the time for which the main thread waits for batches of DataLoader. */
static void fetching(struct bn_view *v, const json_t *fetch)
{
	if (fetch)
		bn_view_add(v, BN_ITEM, BN_ALL,
			    "waiting for batches of DataLoader: %.0f %% of the time before, %.0f %% after; random values of "
			    "transforms differ with workers", 100 * gt_json_get_real(fetch, "before", 0),
			    100 * gt_json_get_real(fetch, "after", 0));
}

/* The effects in the form that the forest plot draws: one comparison each. */
static void forest(struct bn_view *v, const json_t *receipt)
{
	double margin = gt_json_get_real(json_object_get(receipt, "confirm"), "margin_pct", 1);
	gt_auto_json *doc = json_pack("{s:[]}", "comparisons");
	gt_auto_buf svg = { 0 };
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(receipt, "knobs"), i, k) {
		json_t *c = json_object();

		json_object_update(c, json_object_get(k, "effect"));
		json_object_set_new(c, "metric", gt_json_str(gt_json_get_str(k, "id", "?")));
		json_object_set_new(c, "role", json_string("explore"));
		json_object_set_new(c, "unit", json_string(""));
		json_object_set_new(c, "margin_pct", gt_json_real(margin));
		json_object_set(c, "direction", json_object_get(receipt, "direction"));
		json_object_set(c, "verdict", json_object_get(k, "verdict"));
		json_array_append_new(json_object_get(doc, "comparisons"), c);
	}
	bn_plot_forest(doc, &svg);
	bn_view_figure(v, &svg, "Mark: estimate. Line: 95 % interval. Grey: too small to matter.");
}

/* ---- other observations and the plan ---- */

static void observations(struct bn_view *v, const json_t *receipt)
{
	json_t *others = json_object_get(receipt, "confounders");
	const json_t *outliers = json_object_get(receipt, "outliers");

	bn_view_changes(v, others, "key", BN_ALL, "Other differences", NULL);
	bn_view_add(v, BN_TEXT, BN_PAGE, "%s",
		    json_array_size(others)
			    ? "A difference between the arms is in every pair: its effect cannot be separated from that of the "
			      "change. A difference that began during a phase or between two phases is in both arms of almost "
			      "every pair."
			    : "Other differences: none");
	bn_view_notes(v, json_object_get(receipt, "warnings"));
	bn_view_outliers(v, json_object_get(outliers, "farthest"), (size_t)GT_MAX(gt_json_get_int(outliers, "n", 0), (int64_t)0));
}

static void steps(struct bn_view *v, const json_t *plan)
{
	static const struct bn_column columns[] = { { "step", BN_WORDS },           { "comparisons", BN_NUMBER },
						    { "pairs at most", BN_NUMBER }, { "pairs taken", BN_NUMBER },
						    { "minutes taken", BN_NUMBER }, { "detectable effect", BN_NUMBER } };
	json_t *s;
	size_t i;

	bn_view_table(v, BN_PAGE, columns, GT_ARRAY_SIZE(columns),
		      "The plan before the measurement, and its real duration. Detectable effect: the smallest "
		      "that is found four times out of five, by the spread of three A/A pairs.");
	json_array_foreach(json_object_get(plan, "steps"), i, s) {
		double mde = gt_json_get_real(s, "mde_pct", NAN);
		int64_t comparisons = gt_json_get_int(s, "comparisons", 0);

		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(s, "name", "?"));
		bn_view_cell(v, "%lld", (long long)comparisons);
		bn_view_cell(v, "%.0f", (double)comparisons * (double)gt_json_get_int(s, "pairs", 0));
		bn_view_cell(v, "%lld", (long long)gt_json_get_int(s, "pairs_taken", 0));
		bn_view_cell(v, "%.1f", gt_json_get_real(s, "minutes_taken", 0));
		bn_view_cell(v, "%s%s", isfinite(mde) ? bn_text_number(mde, 2).s : "-", isfinite(mde) ? " %" : "");
	}
}

static void plan(struct bn_view *v, const json_t *receipt)
{
	const json_t *plan = json_object_get(receipt, "plan");
	json_t *missed = json_object_get(receipt, "not_reached"), *name;
	double minutes = gt_json_get_real(plan, "minutes", NAN);
	gt_autofree char *about = isfinite(minutes) ? gt_xasprintf(" of about %.1f", minutes) : gt_xstrdup("");
	gt_auto_buf names = { 0 };
	size_t i;

	if (!json_is_object(plan)) /* receipts of older versions lack this member */
		return;
	bn_view_section(v, 0, "plan", "Plan");
	steps(v, plan);
	bn_view_add(v, BN_ITEM, BN_ALL, "took %lld of at most %lld pairs, %.1f min%s",
		    (long long)gt_json_get_int(plan, "pairs_taken", 0), (long long)gt_json_get_int(plan, "pairs", 0),
		    gt_json_get_real(plan, "minutes_taken", 0), about);
	json_array_foreach(missed, i, name)
		gt_buf_printf(&names, "%s%s", i ? ", " : "", json_is_string(name) ? json_string_value(name) : "?");
	if (names.len)
		bn_view_add(v, BN_ITEM, BN_ALL, "not reached in the %.3g min allowed: %s",
			    gt_json_get_real(plan, "limit_minutes", NAN), names.s);
}

static void facts(struct bn_view *v, const json_t *receipt)
{
	static const char *const keys[] = { "host", "cpu", "kernel", "nvidia_driver", "profile", "created", "seed" };

	bn_view_section(v, 0, "host", "Host");
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++)
		bn_view_fact(v, BN_PAGE, bn_view_host_label(keys[i]), bn_text_json(json_object_get(receipt, keys[i])).s);
}

static void method(struct bn_view *v, const json_t *receipt)
{
	bn_view_section(v, 0, "method", "Method");
	bn_view_add(v, BN_TEXT, BN_PAGE, "%s", meaning_of(receipt));
	bn_view_add(v, BN_PROSE, BN_PAGE,
		    "The effect is measured in interleaved pairs. The verdict contains *differs alone* if the intervals of the "
		    "effects alone and among the others do not overlap. A change is kept if it is better and no guard is "
		    "worse. The kept changes are measured again on new data, and the verdict above has only that estimate. In "
		    "this measurement no guard may be worse, or have an estimate that is worse by its margin. A guard that is "
		    "not shown to be not worse is listed next to the verdict. The *mechanism* is the metric that the change "
		    "should improve; if it did not, the gain is called unexplained. gputune apply --only-proven accepts the "
		    "receipt only on this host, under this kernel and this major version of the driver.");
}

struct bn_view *bn_view_receipt(const json_t *receipt)
{
	struct bn_view *v = bn_view_new(receipt, "gpubench prove");
	json_t *k;
	gt_auto_buf ablation = { 0 };
	size_t i;

	answer(v, receipt);
	bn_view_set(&v->origin, "host %s, %s, kernel %s, %s", gt_json_get_str(receipt, "host", "unknown"),
		    gt_json_get_str(receipt, "cpu", "unknown CPU"), gt_json_get_str(receipt, "kernel", "unknown"),
		    gt_json_get_str(receipt, "created", "no date"));
	bn_view_set(&v->design, "metric: %s, %s is better, seed %lld", gt_json_get_str(receipt, "metric", "none"),
		    gt_json_get_str(receipt, "direction", "lower"), (long long)gt_json_get_int(receipt, "seed", 0));
	bn_view_command(v, BN_PAGE, "Measured command", json_object_get(receipt, "argv"));
	bn_view_section(v, 0, "changes", "Changes");
	changes(v, receipt);
	undecided(v, json_object_get(receipt, "knobs"));
	json_array_foreach(json_object_get(receipt, "races"), i, k)
		race(v, k);
	fetching(v, json_object_get(receipt, "fetch"));
	json_array_foreach(json_object_get(receipt, "not_measured"), i, k)
		bn_view_add(v, BN_ITEM, BN_ALL, "not measured: %s: %s", gt_json_get_str(k, "id", "?"),
			    gt_json_get_str(k, "why", ""));
	bn_view_section(v, 0, "plot", "Effects");
	forest(v, receipt);
	bn_view_section(v, 0, "ablation", "Effect of each change");
	bn_plot_ablation(receipt, &ablation);
	bn_view_figure(v, &ablation,
		       "Upper bar: among the others; lower bar: alone; an arrowhead at the edge: the interval continues beyond "
		       "it. If the two differ by more than their intervals, the changes affect each other.");
	bn_view_section(v, 0, "seen", "Other observations");
	observations(v, receipt);
	plan(v, receipt);
	facts(v, receipt);
	method(v, receipt);
	return v;
}
