/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts and judgements of many results as Markdown, for a ticket. */
#include <math.h>
#include "bench/report/fleet.h"
#include "bench/report/forms.h"
#include "bench/report/receipt.h"

static void verdict(const char *headline, struct gt_buf *out)
{
	gt_buf_puts(out, "**");
	bn_md_text(out, headline);
	gt_buf_puts(out, "**\n\n");
}

static void head_row(const char *const *heads, const char *rule, size_t n, struct gt_buf *out)
{
	bn_md_row(out, heads, n);
	gt_buf_puts(out, rule);
}

static void notes(const json_t *warnings, struct gt_buf *out)
{
	json_t *w;
	size_t i;

	json_array_foreach(warnings, i, w)
	{
		gt_buf_puts(out, "- ");
		bn_md_text(out, gt_json_get_str(w, "text", ""));
		gt_buf_puts(out, "; ");
		bn_md_text(out, gt_json_get_str(w, "hint", ""));
		gt_buf_puts(out, "\n");
	}
}

void bn_prove_markdown(const json_t *receipt, struct gt_buf *out)
{
	static const char *const heads[] = {"change", "from", "to",      "effect", "95% CI",
					    "alone",  "n",    "verdict", "kept",   "revert"};
	json_t *k, *list = json_object_get(receipt, "knobs"), *others = json_object_get(receipt, "confounders");
	gt_auto_buf headline = {0};
	size_t i;

	bn_prove_headline(receipt, &headline);
	verdict(headline.s, out);
	bn_md_text(out, gt_json_get_str(receipt, "metric", "nothing"));
	gt_buf_puts(out, ", ");
	bn_md_text(out, gt_json_get_str(receipt, "direction", "lower"));
	gt_buf_puts(out, " is better; ");
	bn_md_text(out, gt_json_get_str(receipt, "cpu", "unknown CPU"));
	gt_buf_puts(out, ", host ");
	bn_md_text(out, gt_json_get_str(receipt, "host", "unknown"));
	gt_buf_puts(out, ", kernel ");
	bn_md_text(out, gt_json_get_str(receipt, "kernel", "unknown"));
	gt_buf_puts(out, ", ");
	bn_md_text(out, gt_json_get_str(receipt, "created", "no date"));
	gt_buf_printf(out, ", seed %lld.\n\n%s Alone: the same while all others are off.\n\n",
		      (long long)gt_json_get_int(receipt, "seed", 0), bn_prove_meaning(receipt));
	head_row(heads, "| --- | --- | --- | ---: | --- | --- | ---: | --- | --- | --- |\n", GT_ARRAY_SIZE(heads), out);
	json_array_foreach(list, i, k)
	{
		const json_t *e = json_object_get(k, "effect");
		struct bn_text from = bn_text_json(json_object_get(k, "from")),
			       to = bn_text_json(json_object_get(k, "to")), effect = bn_text_change(e),
			       range = bn_text_interval(e), alone = bn_prove_alone(k);
		gt_autofree char *said = gt_xasprintf("%s%s%s", gt_json_get_str(k, "verdict", "?"), bn_prove_guard(k),
						      gt_json_get_bool(k, "interacts", false) ? ", other alone" : "");
		char n[24];
		const char *cells[] = {gt_json_get_str(k, "id", "?"),
				       from.s,
				       to.s,
				       effect.s,
				       range.s,
				       alone.s,
				       n,
				       said,
				       gt_json_get_bool(k, "kept", false) ? "yes" : "no",
				       gt_json_get_str(k, "revert", "")};

		snprintf(n, sizeof(n), "%lld", (long long)gt_json_get_int(e, "n", 0));
		bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
	}
	gt_buf_puts(out, "\n");
	json_array_foreach(others, i, k)
	{
		gt_auto_buf line = {0};

		bn_prove_difference(k, &line);
		gt_buf_puts(out, "- other difference: ");
		bn_md_text(out, line.s);
		gt_buf_puts(out, "\n");
	}
	notes(json_object_get(receipt, "warnings"), out);
}

static void add_causes(const json_t *list, const char *was, const char *is, const char *none, struct gt_buf *ret)
{
	json_t *c;
	size_t i;

	json_array_foreach(list, i, c)
		gt_buf_printf(ret, "%s%s %s -> %s%s", i ? "; " : "", gt_json_get_str(c, "key", "?"),
			      bn_text_json(json_object_get(c, was)).s, bn_text_json(json_object_get(c, is)).s,
			      gt_json_get_bool(c, "moves_it", false) ? " (known to move it)" : "");
	if (!json_array_size(list))
		gt_buf_puts(ret, none);
}

/* One row of an outlier or a change: what, where it was, where it is, by how much, why. */
static void moved(const json_t *o, const char *who, const char *before, const char *after, const char *pct,
		  const struct gt_buf *why, struct gt_buf *out)
{
	const char *unit = gt_json_get_str(o, "unit", "");
	struct bn_text was = bn_text_value(gt_json_get_real(o, before, NAN), unit),
		       is = bn_text_value(gt_json_get_real(o, after, NAN), unit),
		       by = bn_text_percent(gt_json_get_real(o, pct, NAN));
	const char *cells[] = {who,
			       gt_json_get_str(o, "metric", "?"),
			       was.s,
			       is.s,
			       by.s,
			       gt_json_get_str(o, "verdict", "?"),
			       why->s ? why->s : ""};

	bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
}

#define MOVED_RULE "| --- | --- | ---: | ---: | ---: | --- | --- |\n"

void bn_fleet_markdown(const json_t *doc, struct gt_buf *out)
{
	static const char *const found[] = {"host",       "metric",  "usual",        "here",
					    "difference", "verdict", "usual -> here"};
	static const char *const all[] = {"metric", "hosts", "median", "spread", "outliers"};
	json_t *list = json_object_get(doc, "outliers"), *o, *m, *h;
	size_t i, k;

	verdict(bn_fleet_headline(doc).s, out);
	if (json_array_size(list))
		head_row(found, MOVED_RULE, GT_ARRAY_SIZE(found), out);
	json_array_foreach(list, i, o)
	{
		gt_auto_buf why = {0};

		add_causes(json_object_get(o, "causes"), "usual", "value",
			   "no recorded setting differs: look at the hardware", &why);
		moved(o, gt_json_get_str(o, "host", "?"), "usual_median", "median", "deviation_pct", &why, out);
	}
	gt_buf_puts(out, json_array_size(list) ? "\n" : "");
	head_row(all, "| --- | ---: | ---: | ---: | ---: |\n", GT_ARRAY_SIZE(all), out);
	json_array_foreach(json_object_get(doc, "metrics"), i, m)
	{
		struct bn_text median =
			bn_text_value(gt_json_get_real(m, "median", NAN), gt_json_get_str(m, "unit", ""));
		struct bn_text spread = bn_text_spread(m);
		char hosts[24], out_of[32];
		const char *cells[] = {gt_json_get_str(m, "metric", "?"), hosts, median.s, spread.s, out_of};
		size_t n = 0;

		json_array_foreach(json_object_get(m, "hosts"), k, h) n +=
			!gt_streq(gt_json_get_str(h, "verdict", "usual"), "usual");
		snprintf(hosts, sizeof(hosts), "%zu", json_array_size(json_object_get(m, "hosts")));
		snprintf(out_of, sizeof(out_of),
			 gt_json_get_bool(m, "judged", false) ? "%zu" : "too few hosts to judge", n);
		bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
	}
	gt_buf_puts(out, "\n");
	notes(json_object_get(doc, "warnings"), out);
}

void bn_history_markdown(const json_t *doc, struct gt_buf *out)
{
	static const char *const found[] = {
		"since", "metric", "before", "after", "change", "verdict", "set otherwise since then"};
	static const char *const all[] = {"metric", "results", "newest"};
	json_t *list = json_object_get(doc, "changes"), *c, *m;
	size_t i;

	verdict(bn_history_headline(doc).s, out);
	gt_buf_printf(out, "%lld results of host ", (long long)gt_json_get_int(doc, "results", 0));
	bn_md_text(out, gt_json_get_str(doc, "host", "?"));
	gt_buf_puts(out, ".\n\n");
	if (json_array_size(list))
		head_row(found, MOVED_RULE, GT_ARRAY_SIZE(found), out);
	json_array_foreach(list, i, c)
	{
		gt_autofree char *since =
			gt_xasprintf("%s (%s)", gt_json_get_str(c, "started", "?"), gt_json_get_str(c, "result", "?"));
		gt_auto_buf why = {0};

		add_causes(json_object_get(c, "settings"), "from", "to", "no recorded setting: look at the hardware",
			   &why);
		moved(c, since, "before", "after", "change_pct", &why, out);
	}
	gt_buf_puts(out, json_array_size(list) ? "\n" : "");
	head_row(all, "| --- | ---: | ---: |\n", GT_ARRAY_SIZE(all), out);
	json_array_foreach(json_object_get(doc, "metrics"), i, m)
	{
		json_t *values = json_object_get(m, "values");
		size_t n = json_array_size(values);
		struct bn_text newest = bn_text_value(gt_json_get_real(json_array_get(values, n - 1), "median", NAN),
						      gt_json_get_str(m, "unit", ""));
		char results[24];
		const char *cells[] = {gt_json_get_str(m, "metric", "?"), results, newest.s};

		snprintf(results, sizeof(results), "%zu", n);
		bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
	}
	gt_buf_puts(out, "\n");
	notes(json_object_get(doc, "warnings"), out);
}
