/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement of a fleet on the terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/report/fleet.h"
#include "lib/table.h"

static void print_outlier(const json_t *o, FILE *out, unsigned width)
{
	const char *unit = gt_json_get_str(o, "unit", "");
	json_t *causes = json_object_get(o, "causes"), *c;
	gt_auto_buf line = {0};
	size_t i;

	gt_buf_printf(&line, "%s: %s %s where %s is usual, %+.1f %% (%s, %.0f scales out)",
		      gt_json_get_str(o, "host", "?"), gt_json_get_str(o, "metric", "?"),
		      bn_text_value(gt_json_get_real(o, "median", NAN), unit).s,
		      bn_text_value(gt_json_get_real(o, "usual_median", NAN), unit).s,
		      gt_json_get_real(o, "deviation_pct", NAN),
		      gt_streq(gt_json_get_str(o, "verdict", NULL), "worse") ? "WORSE" : "better",
		      fabs(gt_json_get_real(o, "scales", NAN)));
	gt_print_wrapped(out, line.s, 0, width);
	json_array_foreach(causes, i, c)
	{
		gt_buf_clear(&line);
		gt_buf_printf(&line, "%s %s here, %s on %.0f %% of the others%s", gt_json_get_str(c, "key", "?"),
			      bn_text_json(json_object_get(c, "value")).s, bn_text_json(json_object_get(c, "usual")).s,
			      100 * gt_json_get_real(c, "others_share", NAN),
			      gt_json_get_bool(c, "moves_it", false) ? "; known to move it" : "");
		gt_print_wrapped(out, line.s, 2, width);
	}
	if (!json_array_size(causes))
		gt_print_wrapped(out, "no recorded setting differs from the others: look at the hardware", 2, width);
}

static void print_table(const json_t *doc, FILE *out, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	json_t *m, *h;
	size_t i, k;

	gt_table_column(t, "METRIC", GT_LEFT);
	gt_table_column(t, "HOSTS", GT_RIGHT);
	gt_table_column(t, "MEDIAN", GT_RIGHT);
	gt_table_column(t, "SPREAD", GT_RIGHT);
	gt_table_column(t, "OUTLIERS", GT_WRAP);
	json_array_foreach(json_object_get(doc, "metrics"), i, m)
	{
		gt_auto_buf names = {0};

		json_array_foreach(json_object_get(m, "hosts"), k,
				   h) if (strcmp(gt_json_get_str(h, "verdict", ""), "usual") != 0)
			gt_buf_printf(&names, "%s%s %+.1f %%", names.len ? ", " : "", gt_json_get_str(h, "host", "?"),
				      gt_json_get_real(h, "deviation_pct", NAN));
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(m, "metric", "?"));
		gt_table_cell(t, "%zu", json_array_size(json_object_get(m, "hosts")));
		gt_table_cell(t, "%s",
			      bn_text_value(gt_json_get_real(m, "median", NAN), gt_json_get_str(m, "unit", "")).s);
		gt_table_cell(t, "%s", bn_text_spread(m).s);
		gt_table_cell(t, "%s",
			      !gt_json_get_bool(m, "judged", false) ? "too few hosts to judge"
			      : names.len                           ? names.s
								    : "none");
	}
	gt_table_print(t, out, color);
}

struct bn_text bn_fleet_headline(const json_t *doc)
{
	struct bn_text t;

	snprintf(t.s, sizeof(t.s), "%s",
		 gt_streq(gt_json_get_str(doc, "verdict", NULL), "inconclusive")
			 ? "INCONCLUSIVE: a class of hosts is judged from four on"
		 : !json_array_size(json_object_get(doc, "outliers")) ? "SAME: no host is unlike the others"
		 : gt_json_get_int(doc, "exit_code", 0) == BN_EXIT_REGRESSION
			 ? "WORSE: there are hosts that the others leave behind"
			 : "SAME: outliers, but none for the worse");
	return t;
}

void bn_fleet_text(const json_t *doc, FILE *out, bool color)
{
	unsigned width = gt_term_width(out);
	size_t i, hosts = 0;
	json_t *o;

	json_array_foreach(json_object_get(doc, "hosts"), i, o) hosts += gt_json_get_bool(o, "counts", false);
	fprintf(out, "%zu host%s\n\n", hosts, hosts == 1 ? "" : "s");
	print_table(doc, out, color);
	fputc('\n', out);
	json_array_foreach(json_object_get(doc, "outliers"), i, o) print_outlier(o, out, width);
	json_array_foreach(json_object_get(doc, "warnings"), i, o)
		fprintf(out, "note: %s; %s\n", gt_json_get_str(o, "text", ""), gt_json_get_str(o, "hint", ""));
	fprintf(out, "VERDICT %s\n", bn_fleet_headline(doc).s);
}
