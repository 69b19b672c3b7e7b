/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt on the terminal, and the sentences that its renderings share. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/report/receipt.h"
#include "lib/log.h"
#include "lib/table.h"

#define OUTLIERS_SHOWN 3

struct bn_text bn_prove_alone(const json_t *knob)
{
	const json_t *e = json_object_get(knob, "alone");
	struct bn_text t = {"-"};

	if (isfinite(gt_json_get_real(e, "change_pct", NAN)))
		snprintf(t.s, sizeof(t.s), "%.80s %.80s", bn_text_change(e).s, bn_text_interval(e).s);
	return t;
}

const char *bn_prove_meaning(const json_t *receipt)
{
	static const struct {
		const char *method, *meaning;
	} known[] = {{"leave-one-out", "Effect: what turning the change on does while all others are on."},
		     {"fold-over design", "Effect: what turning the change on does, on average over the settings of the others."},
		     {"total effect", "Effect: what turning the change on does; there is no other."}};
	const char *found = NULL;
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(receipt, "knobs"), i, k)
		for (size_t m = 0; m < GT_ARRAY_SIZE(known); m++) {
			if (!gt_streq(gt_json_get_str(k, "method", NULL), known[m].method))
				continue;
			if (found && found != known[m].meaning) /* a group that was split */
				return "Effect: what turning the change on does among the others; its method says which are on.";
			found = known[m].meaning;
		}
	return found ? found : "No effect was measured.";
}

void bn_prove_difference(const json_t *c, struct gt_buf *out)
{
	json_t *phases = json_object_get(c, "phases"), *v;
	size_t i;

	gt_buf_printf(out, "%s %s -> %s (%s", gt_json_get_str(c, "key", "?"),
		      bn_text_json(json_object_get(c, "from")).s, bn_text_json(json_object_get(c, "to")).s,
		      gt_json_get_str(c, "when", "?"));
	json_array_foreach(phases, i, v)
		gt_buf_printf(out, "%s%s", i ? ", " : "; ", json_is_string(v) ? json_string_value(v) : "?");
	gt_buf_puts(out, ")");
}

const char *bn_prove_guard(const json_t *knob)
{
	const char *verdict = gt_json_get_str(knob, "verdict", NULL);

	if (gt_json_get_bool(knob, "guard_worse", false) && !gt_streq(verdict, "worse"))
		return ", a guard is worse";
	return gt_json_get_bool(knob, "guard_open", false) && gt_streq(verdict, "better") ? ", a guard may be worse"
											  : "";
}

static size_t undecided(const json_t *knobs)
{
	size_t i, n = 0;
	json_t *k;

	json_array_foreach(knobs, i, k) n += gt_streq(gt_json_get_str(k, "verdict", NULL), "inconclusive");
	return n;
}

static const char *headline(const json_t *receipt, struct gt_buf *out)
{
	json_t *knobs = json_object_get(receipt, "knobs"), *k;
	const json_t *confirm = json_object_get(receipt, "confirm");
	const char *why = gt_json_get_str(receipt, "unconfirmed", NULL);
	size_t i, kept = 0, all = json_array_size(knobs), open = undecided(knobs);

	json_array_foreach(knobs, i, k) kept += gt_json_get_bool(k, "kept", false);
	if (!kept && open) {
		gt_buf_printf(out,
			      "INCONCLUSIVE: no change was shown to help this workload; for %zu of %zu nobody can tell",
			      open, all);
		return "inconclusive";
	}
	if (!kept) {
		gt_buf_puts(out, "PROVED: nothing here helps this workload; leave the host as it is");
		return "same";
	}
	if (gt_json_get_bool(receipt, "confirmed", false)) {
		gt_buf_printf(out, "PROVED: %zu of %zu changes help, confirmed on fresh data: %s %s", kept, all,
			      bn_text_change(confirm).s, bn_text_interval(confirm).s);
		bn_text_guards(json_object_get(receipt, "guards_open"), out);
		return "better";
	}
	gt_buf_printf(out, "NOT CONFIRMED: %zu of %zu changes seemed to help, and ", kept, all);
	if (why)
		gt_buf_printf(out, "did again on fresh data: %s %s, but %s", bn_text_change(confirm).s,
			      bn_text_interval(confirm).s, why);
	else if (json_is_object(confirm))
		gt_buf_printf(out, "fresh data did not bear it out: %s %s", bn_text_change(confirm).s, bn_text_interval(confirm).s);
	else
		gt_buf_puts(out, "the time was up before that was measured again");
	return "inconclusive";
}

const char *bn_prove_headline(const json_t *receipt, struct gt_buf *out)
{
	const char *cls = headline(receipt, out);
	json_t *list = json_object_get(receipt, "confounders"), *c;
	size_t others = json_array_size(list), arms = 0, i;

	json_array_foreach(list, i, c)
		arms += gt_streq(gt_json_get_str(c, "when", NULL), "between arms");
	if (others)
		gt_buf_printf(out, "; %zu other difference%s seen meanwhile%s, named with the changes", others,
			      others == 1 ? " was" : "s were", arms ? ", also between the arms: not attributable" : "");
	return cls;
}

/* The last word on each value: how it did in the round in which it ran last. */
static void race_text(const json_t *race, FILE *out, unsigned width)
{
	json_t *heats = json_object_get(race, "heats"), *h;
	const char *winner = gt_json_get_str(race, "winner", NULL);
	gt_auto_buf line = {0};
	size_t i, k;

	gt_buf_printf(&line, "race of %s:", gt_json_get_str(race, "id", "?"));
	json_array_foreach(heats, i, h)
	{
		bool again = false;

		for (k = i + 1; k < json_array_size(heats); k++)
			again |= json_equal(json_object_get(h, "value"), json_object_get(json_array_get(heats, k), "value"));
		if (!again)
			gt_buf_printf(&line, " %s %s%s", gt_json_get_str(h, "value", "?"),
				      bn_text_change(json_object_get(h, "effect")).s,
				      i + 1 < json_array_size(heats) ? "," : "");
	}
	gt_buf_printf(&line, winner ? "; %s is proved above" : "; none was better than the host's own value", winner);
	gt_print_wrapped(out, line.s, 0, width);
}

/* What nobody can tell about, with the reason; the same reason once. */
static void open_text(const json_t *knobs, FILE *out, unsigned width)
{
	size_t i, k;
	json_t *a, *b;

	json_array_foreach(knobs, i, a) {
		const char *why = gt_json_get_str(a, "why", NULL);
		gt_auto_buf line = {0};
		bool said = false;

		json_array_foreach(knobs, k, b) {
			if (!why || !gt_streq(gt_json_get_str(b, "why", NULL), why))
				continue;
			said |= k < i;
			gt_buf_printf(&line, "%s%s", line.len ? ", " : "", gt_json_get_str(b, "id", "?"));
		}
		if (why && !said) {
			gt_buf_printf(&line, ": %s", bn_text_reason(why).s);
			gt_print_wrapped(out, line.s, 0, width);
		}
	}
}

/* What else was seen; nothing is said where there was nothing. */
static void seen_text(const json_t *receipt, FILE *out, unsigned width)
{
	json_t *others = json_object_get(receipt, "confounders"), *list = json_object_get(receipt, "warnings"), *v;
	const json_t *outliers = json_object_get(receipt, "outliers");
	json_t *far = json_object_get(outliers, "farthest");
	int64_t n = gt_json_get_int(outliers, "n", 0);
	size_t i;

	json_array_foreach(others, i, v)
	{
		gt_auto_buf line = {0};

		fputs(i ? "" : "OTHER differences:\n", out);
		bn_prove_difference(v, &line);
		gt_print_wrapped(out, line.s, 2, width);
	}
	json_array_foreach(list, i, v)
	{
		const char *hint = gt_json_get_str(v, "hint", "");
		json_t *in = json_object_get(v, "phases");
		const char *first = json_string_value(json_array_get(in, 0));
		gt_auto_buf line = {0};

		gt_buf_printf(&line, "note: %s%s%s", gt_json_get_str(v, "text", ""), hint[0] ? "; " : "", hint);
		if (first)
			gt_buf_printf(&line, " (%s", first);
		if (first && json_array_size(in) > 1)
			gt_buf_printf(&line, " and %zu more", json_array_size(in) - 1);
		gt_buf_puts(&line, first ? ")" : "");
		gt_print_wrapped(out, line.s, 0, width);
	}
	json_array_foreach(far, i, v)
	{
		gt_autofree char *line = gt_xasprintf("far from the others: %s: %s", gt_json_get_str(v, "phase", "?"),
						      bn_text_outlier(v).s);

		if (i < OUTLIERS_SHOWN)
			gt_print_wrapped(out, line, 0, width);
	}
	if (n > OUTLIERS_SHOWN)
		fprintf(out, "far from the others: %lld more\n", (long long)n - OUTLIERS_SHOWN);
}

static void plan_text(const json_t *receipt, FILE *out, unsigned width)
{
	const json_t *plan = json_object_get(receipt, "plan");
	json_t *missed = json_object_get(receipt, "not_reached"), *v;
	double planned = gt_json_get_real(plan, "minutes", NAN);
	gt_auto_buf line = {0};
	size_t i;

	if (!json_is_object(plan)) /* of an older version */
		return;
	gt_buf_printf(&line, "took %lld of at most %lld pairs, %.1f min", (long long)gt_json_get_int(plan, "pairs_taken", 0),
		      (long long)gt_json_get_int(plan, "pairs", 0), gt_json_get_real(plan, "minutes_taken", 0));
	if (isfinite(planned))
		gt_buf_printf(&line, " of about %.1f", planned);
	gt_print_wrapped(out, line.s, 0, width);
	gt_buf_clear(&line);
	json_array_foreach(missed, i, v)
		gt_buf_printf(&line, "%s%s", i ? ", " : "", json_is_string(v) ? json_string_value(v) : "?");
	if (line.len) {
		gt_autofree char *text = gt_xasprintf("not reached in the %.3g min allowed: %s",
						      gt_json_get_real(plan, "limit_minutes", NAN), line.s);

		gt_print_wrapped(out, text, 0, width);
	}
}

void bn_prove_text(const json_t *receipt, FILE *out, bool color)
{
	json_t *knobs = json_object_get(receipt, "knobs"), *k;
	unsigned width = gt_term_width(out);
	gt_auto(gt_table) *t = gt_table_new();
	gt_auto_buf line = {0};
	size_t i;

	gt_table_column(t, "CHANGE", GT_WRAP);
	gt_table_column(t, "EFFECT", GT_RIGHT);
	gt_table_column(t, "95% CI", GT_LEFT);
	gt_table_column(t, "VERDICT", GT_LEFT);
	gt_table_column(t, "KEPT", GT_LEFT);
	gt_table_column(t, "MECHANISM", GT_WRAP);
	json_array_foreach(knobs, i, k)
	{
		const json_t *e = json_object_get(k, "effect"), *m = json_object_get(k, "mechanism");
		bool kept = gt_json_get_bool(k, "kept", false);

		gt_table_row(t);
		gt_table_cell(t, "%s %s -> %s", gt_json_get_str(k, "id", "?"),
			      bn_text_json(json_object_get(k, "from")).s, bn_text_json(json_object_get(k, "to")).s);
		gt_table_cell(t, "%s", bn_text_change(e).s);
		gt_table_cell(t, "%s", bn_text_interval(e).s);
		gt_table_cell(t, "%s%s%s", gt_json_get_str(k, "verdict", "?"), bn_prove_guard(k),
			      gt_json_get_bool(k, "interacts", false) ? ", other alone" : "");
		gt_table_cell(t, "%s", kept ? "yes" : "no");
		gt_table_color(t, kept ? "green" : "yellow");
		gt_table_cell(t, "%s", gt_json_get_str(m, "moved", ""));
	}
	if (json_array_size(knobs))
		gt_table_print(t, out, color);
	open_text(knobs, out, width);
	json_array_foreach(json_object_get(receipt, "races"), i, k) race_text(k, out, width);
	json_array_foreach(json_object_get(receipt, "not_measured"), i, k)
	{
		gt_buf_clear(&line);
		gt_buf_printf(&line, "not measured: %s: %s", gt_json_get_str(k, "id", "?"),
			      gt_json_get_str(k, "why", ""));
		gt_print_wrapped(out, line.s, 0, width);
	}
	gt_buf_clear(&line);
	seen_text(receipt, out, width);
	plan_text(receipt, out, width);
	gt_buf_printf(&line, "\n%s, %s is better. ", gt_json_get_str(receipt, "metric", "nothing"),
		      gt_json_get_str(receipt, "direction", "lower"));
	bn_prove_headline(receipt, &line);
	gt_print_wrapped(out, line.s, 0, width);
}
