/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a host on the terminal. */
#include <math.h>
#include <stdio.h>
#include "bench/bench.h"
#include "bench/report/fleet.h"
#include "lib/table.h"

static void print_change(const json_t *c, FILE *out, unsigned width)
{
	const char *unit = gt_json_get_str(c, "unit", "");
	gt_auto_buf line = {0};
	size_t i;
	json_t *k;

	gt_buf_printf(&line, "since %s (%s): %s %+.1f %% %s, %s before, %s after", gt_json_get_str(c, "started", "?"),
		      gt_json_get_str(c, "result", "?"), gt_json_get_str(c, "metric", "?"),
		      gt_json_get_real(c, "change_pct", NAN),
		      gt_streq(gt_json_get_str(c, "verdict", NULL), "worse") ? "WORSE" : "better",
		      bn_text_value(gt_json_get_real(c, "before", NAN), unit).s,
		      bn_text_value(gt_json_get_real(c, "after", NAN), unit).s);
	gt_print_wrapped(out, line.s, 0, width);
	json_array_foreach(json_object_get(c, "settings"), i, k)
	{
		gt_buf_clear(&line);
		gt_buf_printf(&line, "changed then: %s %s -> %s%s", gt_json_get_str(k, "key", "?"),
			      bn_text_json(json_object_get(k, "from")).s, bn_text_json(json_object_get(k, "to")).s,
			      gt_json_get_bool(k, "moves_it", false) ? "; known to move it" : "");
		gt_print_wrapped(out, line.s, 2, width);
	}
	if (i == 0)
		gt_print_wrapped(out,
				 "no recorded setting was changed then: look at the hardware and its surroundings", 2,
				 width);
}

struct bn_text bn_history_headline(const json_t *doc)
{
	int64_t code = gt_json_get_int(doc, "exit_code", 0);
	struct bn_text t;

	snprintf(t.s, sizeof(t.s), "%s",
		 code == BN_EXIT_REGRESSION     ? "WORSE: the newest change of a primary or guard metric is for the worse"
		 : code == BN_EXIT_INCONCLUSIVE ? "INCONCLUSIVE: a history is judged from eight results on"
						: "SAME: the newest state of what counts is not worse than the one before");
	return t;
}

void bn_history_text(const json_t *doc, FILE *out, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	unsigned width = gt_term_width(out);
	json_t *m, *c;
	size_t i, k;

	fprintf(out, "%lld results of host %s\n\n", (long long)gt_json_get_int(doc, "results", 0),
		gt_json_get_str(doc, "host", "?"));
	gt_table_column(t, "METRIC", GT_LEFT);
	gt_table_column(t, "RESULTS", GT_RIGHT);
	gt_table_column(t, "NEWEST", GT_RIGHT);
	gt_table_column(t, "CHANGES", GT_WRAP);
	json_array_foreach(json_object_get(doc, "metrics"), i, m)
	{
		json_t *values = json_object_get(m, "values");
		const json_t *last = json_array_get(values, json_array_size(values) - 1);
		gt_auto_buf text = {0};

		json_array_foreach(
			json_object_get(doc, "changes"), k,
			c) if (gt_streq(gt_json_get_str(c, "metric", NULL), gt_json_get_str(m, "metric", "?")))
			gt_buf_printf(&text, "%s%+.1f %% at %s", text.len ? ", " : "",
				      gt_json_get_real(c, "change_pct", NAN), gt_json_get_str(c, "result", "?"));
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(m, "metric", "?"));
		gt_table_cell(t, "%zu", json_array_size(values));
		gt_table_cell(t, "%s",
			      bn_text_value(gt_json_get_real(last, "median", NAN), gt_json_get_str(m, "unit", "")).s);
		gt_table_cell(t, "%s",
			      !gt_json_get_bool(m, "judged", false) ? "needs 8 results"
			      : text.len                            ? text.s
								    : "none");
	}
	gt_table_print(t, out, color);
	fputc('\n', out);
	json_array_foreach(json_object_get(doc, "changes"), k, c) print_change(c, out, width);
	json_array_foreach(json_object_get(doc, "warnings"), k, c)
		fprintf(out, "note: %s; %s\n", gt_json_get_str(c, "text", ""), gt_json_get_str(c, "hint", ""));
	fprintf(out, "VERDICT %s\n", bn_history_headline(doc).s);
}
