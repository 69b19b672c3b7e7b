/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench list: lists the workloads. */
#include <math.h>
#include <stdio.h>
#include "bench/cmd/cmds.h"
#include "bench/workload/workload.h"
#include "lib/table.h"

static json_t *list_doc(struct gt_fsroot *fs)
{
	json_t *list = json_array();

	for (const struct bn_workload *const *p = bn_workloads; *p; p++) {
		const struct bn_workload *w = *p;
		json_t *knobs = json_array();

		for (const char *const *k = w->knobs; *k; k++)
			json_array_append_new(knobs, json_string(*k));
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:i, s:s, s:s, s:o, s:f, s:b, s:s?}",
						      "id", w->id, "summary", w->summary, "unit", w->unit, "direction",
						      bn_direction_name[w->direction], "role", bn_role_name[w->role],
						      "margin", w->margin, "version", (int)w->version, "verifies",
						      w->verifies, "overhead", w->overhead, "knobs", knobs, "launch_s",
						      w->launch_s, "default", !w->optional, "unavailable",
						      w->unavailable ? w->unavailable(fs) : NULL));
	}
	return json_pack("{s:s, s:o}", "schema", "gpubench-list/1", "workloads", list);
}

/* Describes one workload. */
static int show_one(const json_t *doc, const char *id, struct gt_err *err)
{
	json_t *w, *k;
	size_t i, n;

	json_array_foreach(json_object_get(doc, "workloads"), i, w) {
		const char *why = gt_json_get_str(w, "unavailable", NULL);

		if (!gt_streq(gt_json_get_str(w, "id", NULL), id))
			continue;
		printf("%s: %s\n", id, gt_json_get_str(w, "summary", ""));
		printf("  unit      %s, %s is better; a change below %.3g %% does not matter\n", gt_json_get_str(w, "unit", ""),
		       gt_json_get_str(w, "direction", ""), 100 * gt_json_get_real(w, "margin", NAN));
		printf("  role      %s; %s by default; definition %lld\n", gt_json_get_str(w, "role", ""),
		       gt_json_get_bool(w, "default", false) ? "measured" : "not measured",
		       (long long)gt_json_get_int(w, "version", 0));
		printf("  verifies  %s\n", gt_json_get_str(w, "verifies", ""));
		printf("  overhead  %s\n", gt_json_get_str(w, "overhead", ""));
		printf("  harness   an empty step (null) takes %.0f ns on this host\n", bn_null_ns());
		printf("  knobs     ");
		json_array_foreach(json_object_get(w, "knobs"), n, k)
			printf("%s%s%s", n ? ", " : "", json_string_value(k), gt_ends_with(json_string_value(k), ".") ? "*" : "");
		printf("%s\n  duration  about %.3g s per launch\n", n ? "" : "none",
		       gt_json_get_real(w, "launch_s", NAN));
		if (why)
			printf("  not here  %s\n", why);
		return 0;
	}
	return bn_no_workload(id, err);
}

/* Prints each reason once, with the workloads that cannot run because of it. */
static void print_unavailable(const json_t *list)
{
	gt_auto_json *by_reason = json_object();
	const char *why;
	json_t *w, *ids;
	size_t i;

	json_array_foreach(list, i, w) {
		const char *id = gt_json_get_str(w, "id", "");

		why = gt_json_get_str(w, "unavailable", NULL);
		if (!why)
			continue;
		ids = json_object_get(by_reason, why);
		json_object_set_new(by_reason, why, ids ? json_sprintf("%s, %s", json_string_value(ids), id) : json_string(id));
	}
	if (json_object_size(by_reason))
		printf("\nCannot run here\n");
	json_object_foreach(by_reason, why, ids) {
		gt_autofree char *line = gt_xasprintf("%s: %s", json_string_value(ids), why);

		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
}

static int cmd_list(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = list_doc(cli->fs);
	gt_auto(gt_table) *t = NULL;
	size_t i;
	json_t *w;

	if (cli->json) {
		gt_json_print(stdout, doc);
		return 0;
	}
	if (argc)
		return show_one(doc, argv[0], &cli->err);
	t = gt_table_new();
	gt_table_column(t, "NAME", GT_LEFT);
	gt_table_column(t, "SUMMARY", GT_WRAP);
	json_array_foreach(json_object_get(doc, "workloads"), i, w) {
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(w, "id", ""));
		gt_table_cell(t, "%s", gt_json_get_str(w, "summary", ""));
	}
	gt_table_print(t, stdout, cli->color);
	print_unavailable(json_object_get(doc, "workloads"));
	return 0;
}

const struct gt_cmd bn_cmd_list = {
	.name	 = "list",
	.args	 = "[NAME]",
	.group = "Look up",
	.summary = "List the workloads, or describe one of them",
	.help = "Shows for a workload what it measures and verifies, its role and margin, and the knobs that affect it.",
	.max_args = 1,
	.word	 = bn_workload_word,
	.run	 = cmd_list,
};
