/* SPDX-License-Identifier: Apache-2.0 */
/* What a session of gpubench prove found, as the receipt that gputune takes, and as a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/prove/prove.h"
#include "lib/log.h"
#include "lib/table.h"
#include "tune/model/knob.h"

#define OUTLIERS_SHOWN 3

json_t *bn_effect_json(const struct bn_effect *e)
{
	if (!isfinite(e->est))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:I}", "change_pct", gt_json_real(100 * expm1(e->est)), "ci_low_pct",
			 gt_json_real(isfinite(e->lo) ? 100 * expm1(e->lo) : NAN), "ci_high_pct",
			 gt_json_real(isfinite(e->hi) ? 100 * expm1(e->hi) : NAN), "p", gt_json_real(e->p), "n",
			 (json_int_t)e->n);
}

/* Alone it does something else than among the others: their intervals do not touch. */
static bool interacts(const struct bn_proof *f)
{
	return isfinite(f->alone.lo) && isfinite(f->loss.lo) && (f->alone.lo > f->loss.hi || f->alone.hi < f->loss.lo);
}

/* For a shell, as one word. */
static char *quoted(const char *text)
{
	gt_auto_buf out = {0};

	gt_buf_puts(&out, "'");
	for (const char *p = text ? text : ""; *p; p++) {
		if (*p == '\'')
			gt_buf_puts(&out, "'\\'");
		gt_buf_add(&out, p, 1);
	}
	gt_buf_puts(&out, "'");
	return gt_buf_take(&out);
}

/* Of a pair, such as vm.dirty_bytes and vm.dirty_ratio, the one that was not zero is written; the kernel zeroes the
 * other. */
static char *revert_item(const struct tn_item *i)
{
	bool other = i->pair_path && i->pair_current && gt_streq(i->current, "0");
	gt_autofree char *value = quoted(other ? i->pair_current : i->current);

	return gt_xasprintf("echo %s > %s", value, other ? i->pair_path : i->path);
}

/* A line to paste that puts it back, whatever became of gputune. */
static char *revert_line(const struct bn_stage *s, const struct bn_factor *f)
{
	gt_autofree char *was = quoted(f->from);

	if (f->kind == BN_FACTOR_ITEM)
		return revert_item(&s->plan->item[f->index]);
	if (f->kind == BN_FACTOR_BOOT)
		return gt_xasprintf("take %s off the kernel's command line in the boot loader", f->id + strlen("boot."));
	if (f->kind == BN_FACTOR_CPUS || f->kind == BN_FACTOR_NODES)
		return gt_xstrdup("start the command without gputune run");
	return f->from ? gt_xasprintf("export %s=%s", f->id + 4, was) : gt_xasprintf("unset %s", f->id + 4);
}

static json_t *knob_json(const struct bn_prove *p, const struct bn_proof *proof, const struct bn_factor *f)
{
	static const char *const kind[] = {"knob", "variable", "cpus", "memory", "variable", "boot"};
	const struct bn_stage *s = p->stage;
	gt_autofree char *revert = revert_line(s, f);
	bool item = f->kind == BN_FACTOR_ITEM;
	json_t *j = json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:b, s:b, s:b, s:o}",
			      "id", f->id, "kind", kind[f->kind], "knob", f->knob, "instance",
			      item ? s->plan->item[f->index].instance : NULL, "from", gt_json_str(f->from), "to",
			      gt_json_str(f->to), "effect", bn_effect_json(&proof->loss), "alone",
			      bn_effect_json(&proof->alone), "p_adjusted", gt_json_real(proof->p_adj), "method",
			      proof->method, "verdict", bn_verdict_name[proof->verdict], "kept", proof->kept,
			      "guard_worse", proof->guard_worse, "guard_open", proof->guard_open, "interacts",
			      interacts(proof), "revert", gt_json_str(revert));

	json_object_set_new(j, "change", json_integer(proof - p->proof));
	if (proof->phase) {
		json_object_set_new(j, "test", json_integer(bn_prove_test(p, proof)));
		json_object_set_new(j, "column", json_integer((json_int_t)proof->column));
	}
	if (proof->verdict == BN_INCONCLUSIVE)
		json_object_set_new(j, "why", gt_json_str(proof->why));
	json_object_set_new(j, "mechanism",
			    json_pack("{s:s?, s:s?, s:s}", "metric", f->mechanism, "why_none", f->unmoved, "moved",
				      proof->moved > 0    ? "yes"
				      : proof->moved == 0 ? "unexplained"
				      : f->mechanism      ? "not looked at"
							  : "names none"));
	return j;
}

/* What the plan wants and no session can toggle: it is named, not silently left out. */
static json_t *not_measured(const struct bn_stage *s)
{
	json_t *list = json_array();

	for (size_t i = 0; s->plan && i < s->plan->n_item; i++) {
		const struct tn_item *item = &s->plan->item[i];
		gt_autofree char *label = tn_knob_label(item->knob, item->instance);

		if (item->status == TN_BLOCKED || item->status == TN_ADVICE)
			json_array_append_new(list,
					      json_pack("{s:s, s:o}", "id", label, "why", gt_json_str(item->reason)));
	}
	return list;
}

/* Of all changes together, as its phase found it; null: it was not measured. */
static json_t *total_json(const struct bn_prove *p)
{
	struct bn_effect none = {.est = NAN}, e = none;
	json_t *ph;
	size_t i;

	json_array_foreach(json_object_get(p->doc, "phases"), i, ph)
		if (gt_streq(gt_json_get_str(json_object_get(ph, "phase"), "name", NULL), "total") && bn_phase_row(ph, p->metric))
			e = bn_phase_effect(bn_phase_row(ph, p->metric));
	return bn_effect_json(&e);
}

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

json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile)
{
	json_t *knobs = json_array(), *run = json_object_get(p->stage->doc, "run"), *receipt;
	char now[21];

	gt_time_iso8601(now, (int64_t)time(NULL));
	for (size_t k = 0; k < p->n_proof; k++)
		for (size_t i = 0; i < p->proof[k].n; i++)
			json_array_append_new(
				knobs, knob_json(p, &p->proof[k], &p->stage->arms.factor[p->proof[k].factor[i]]));
	receipt = json_pack(
		"{s:s, s:s, s:I, s:I, s:s?, s:O*, s:s?, s:s?, s:s?, s:s?, s:s, s:o, s:O*, s:O*, s:O*, s:o, s:O*, s:o, s:O}",
		"schema", BN_RECEIPT_SCHEMA, "created", now, "created_unix", (json_int_t)time(NULL), "seed",
		(json_int_t)p->seed, "host", host->identity, "marks",
		json_object_get(json_object_get(p->stage->doc, "host"), "marks"), "cpu", host->cpu.model_name.v, "kernel",
		host->kernel.release.v, "nvidia_driver", host->driver.module_version.v, "profile", profile, "direction",
		p->higher ? "higher" : "lower", "metric", gt_json_str(p->metric), "confirmed",
		json_object_get(p->doc, "confirmed"), "confirm", json_object_get(p->doc, "confirm"), "as_good_as_all",
		json_object_get(p->doc, "as_good_as_all"), "knobs", knobs, "races",
		json_object_get(p->doc, "races"), "not_measured", not_measured(p->stage),
		"argv", json_object_get(run, "argv"));
	json_object_set_new(receipt, "total", total_json(p));
	json_object_set_new(receipt, "keep_inconclusive", json_boolean(p->keep_inconclusive));
	json_object_set_new(receipt, "samples", bn_prove_samples(p));
	json_object_set_new(receipt, "confounders", bn_prove_confounders(p));
	json_object_set_new(receipt, "warnings", bn_prove_warnings(p));
	json_object_set_new(receipt, "outliers", bn_prove_outliers(p));
	if (json_object_get(p->doc, "guards_open"))
		json_object_set(receipt, "guards_open", json_object_get(p->doc, "guards_open"));
	if (gt_json_get_str(p->doc, "unconfirmed", NULL))
		json_object_set(receipt, "unconfirmed", json_object_get(p->doc, "unconfirmed"));
	json_object_set_new(receipt, "plan", bn_plan_json(p));
	json_object_set(receipt, "not_reached", json_object_get(p->doc, "not_reached"));
	return receipt;
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
