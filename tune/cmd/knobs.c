/* SPDX-License-Identifier: Apache-2.0 */
/* gputune list, explain and lint. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/table.h"
#include "sysctl/sysctl.h"
#include "tune/cmd/gputune.h"
#include "tune/knob/list.h"
#include "tune/knob/settings.h"
#include "tune/launch/settings.h"
#include "tune/lint/lint.h"
#include "tune/txn/persisted_files.h"
#include "tune/boot/persist.h"

/* ---- documents ----------------------------------------------------------------------------------------------------
 */

static json_t *needs_json(const struct tn_tunable *k)
{
	json_t *list = json_array();
	char *what;

	for (size_t n = 0; (what = tn_precondition_text(k, NULL, n)); n++) {
		json_array_append_new(list, gt_json_str(what));
		free(what);
	}
	return list;
}

static json_t *knob_json(const struct tn_tunable *k)
{
	const char tag[2] = {k->tag};
	gt_autofree char *pair = tn_tunable_pair_path(k),
			 *path = tn_tunable_path(k, k->instances ? "*" : NULL),
			 *range = tn_tunable_range_text(k);

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s?, s:s?}", "id", k->id, "tag",
			 tag, "summary", tn_tunable_summary(k), "why", tn_tunable_why(k), "hazard", k->hazard, "unit", k->unit,
			 "range", range, "takes_effect", tn_effect_name(k->takes_effect), "operation", tn_op_name(k->op), "path",
			 gt_json_str(path), "counterpart", gt_json_str(pair), "precondition", needs_json(k),
			 "persisted_in", gt_json_str(tn_persist_file(tn_tunable_form(k))), "mechanism",
			 gt_json_str(*k->mechanism ? k->mechanism : NULL), "unmoved", k->unmoved, "check",
			 k->check ? k->check->id : NULL);
}

/* Returns a launch setting in the form of a tunable. */
static json_t *launch_json(const struct tn_launch_setting *s)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:n, s:s, s:s, s:n, s:n, s:[], s:n, s:s?, s:s?, s:n}", "id", s->id, "tag",
			 "R", "summary", s->summary, "why", s->why, "hazard", s->hazard, "unit", s->unit, "range",
			 "takes_effect", tn_effect_name(TN_NEW_PROCESS), "operation", tn_op_name(TN_SET), "path", "counterpart",
			 "precondition", "persisted_in", "mechanism", s->mechanism, "unmoved", s->unmoved,
			 "check");
}

static json_t *setting_json(const struct tn_setting_known *s)
{
	return json_pack("{s:s, s:o, s:o}", "name", s->name, "knob", gt_json_str(s->knob), "why_not",
			 gt_json_str(s->why));
}

static json_t *settings_json(void)
{
	json_t *list = json_array();

	for (const struct tn_setting_known *s = tn_settings_known; s->name; s++)
		json_array_append_new(list, setting_json(s));
	return list;
}

/* ---- explain -------------------------------------------------------------------------------------------------------
 */

static const struct policy {
	char tag;
	const char *heading, *text;
} policies[] = {
	{ 'A', "Applied by default", "applied by default" },
	{ 'B', "Applied only with --optional, --only or a profile", "applied only with --optional, --only or a profile" },
	{ 'R', "Set for one command by gputune run", "set for one command by gputune run" },
	{ 'C', "Checked and reported, never changed", "checked and reported, never changed" },
};

static const char *tag_text(char tag)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(policies); i++)
		if (policies[i].tag == tag)
			return policies[i].text;
	return NULL;
}

static void paragraph(const char *head, const char *text)
{
	printf("\n%s\n", head);
	gt_print_wrapped(stdout, text, 2, gt_term_width(stdout));
}

static void field(const char *name, const char *value)
{
	gt_autofree char *left = gt_xasprintf("  %s", name);

	if (value && *value)
		gt_print_columns(stdout, left, value, 16, gt_term_width(stdout));
}

/* Joins the preconditions except the first one, which is the file. The caller frees the result. */
static char *joined(const json_t *list)
{
	gt_auto_buf b = { 0 };
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
		if (i)
			gt_buf_printf(&b, "%s%s", b.len ? "; " : "", json_string_value(o));
	return gt_buf_take(&b);
}

static void show_knob(const json_t *k)
{
	gt_autofree char *head = gt_xasprintf("%s: %s", gt_json_get_str(k, "id", ""), gt_json_get_str(k, "summary", "")),
			 *needs = joined(json_object_get(k, "precondition"));
	const char *op = gt_json_get_str(k, "operation", "");
	char tag = *gt_json_get_str(k, "tag", "");

	gt_print_wrapped(stdout, head, 0, gt_term_width(stdout));
	puts("");
	field("policy", tag_text(tag));
	field("file", gt_json_get_str(k, "path", NULL));
	field("unit", gt_json_get_str(k, "unit", NULL));
	field("range", gt_json_get_str(k, "range", NULL));
	field("operation", tag == 'R' || tag == 'C'	 ? NULL :
			   !strcmp(op, tn_op_name(TN_RAISE)) ? "raised only, never lowered" :
			   !strcmp(op, tn_op_name(TN_LOWER)) ? "lowered only, never raised" :
							       op);
	field("takes effect", gt_json_get_str(k, "takes_effect", NULL));
	field("counterpart", gt_json_get_str(k, "counterpart", NULL));
	field("requires", needs);
	field("persisted in", gt_json_get_str(k, "persisted_in", NULL));
	field("measured by", gt_json_get_str(k, "mechanism", NULL));
	field("not measured", gt_json_get_str(k, "unmoved", NULL));
	field("checked by", gt_json_get_str(k, "check", NULL));
	paragraph("Why", gt_json_get_str(k, "why", ""));
	if (tag != 'C')
		paragraph("Hazard", gt_json_get_str(k, "hazard", ""));
}

static bool alike(const struct tn_item *a, const struct tn_item *b)
{
	return a->status == b->status && gt_streq(a->reason, b->reason) && gt_streq(a->at_boot_by, b->at_boot_by) &&
	       gt_streq(a->at_boot_may, b->at_boot_may) &&
	       (gt_streq(a->current, b->current) || (!a->current && !b->current)) &&
	       (gt_streq(a->wanted, b->wanted) || (!a->wanted && !b->wanted));
}

static int show_here(struct gt_cli *cli, const char *id)
{
	gt_auto_strv only = { 0 };
	gt_auto(tn_plan) *plan = NULL;
	int r;

	gt_strv_add(&only, id);
	r = tn_plan_make(cli->fs, NULL, &(struct tn_plan_opts){ .only = &only }, &plan, &cli->err);
	if (r < 0)
		return r;
	puts("\nOn this host");
	for (size_t i = 0, more; i < plan->n_item; i += more + 1) {
		const struct tn_item *it = &plan->item[i];

		gt_auto_buf b = { 0 };
		gt_autofree char *change = it->current && it->wanted && it->status == TN_CHANGE ?
						   tn_tunable_change_text(it->knob, it->current, it->wanted) :
						   NULL;
		gt_autofree char *now = it->current ? tn_tunable_value_text(it->knob, it->current) : NULL;

		for (more = 0; i + more + 1 < plan->n_item && alike(it, &plan->item[i + more + 1]);)
			more++;
		if (it->instance)
			gt_buf_puts(&b, it->instance);
		if (more)
			gt_buf_printf(&b, " and %zu more", more);
		gt_buf_printf(&b, "%s%s", it->instance ? ": " : "", tn_status_name(it->status));
		if (change)
			gt_buf_printf(&b, ", %s", change);
		else if (now)
			gt_buf_printf(&b, ", now %s", now);
		gt_buf_printf(&b, "; %s", it->reason);
		if (it->at_boot_by)
			gt_buf_printf(&b, "; after a reboot %s, because of %s", it->at_boot, it->at_boot_by);
		if (it->at_boot_may)
			gt_buf_printf(&b, "; at boot %s", it->at_boot_may);
		gt_print_wrapped(stdout, b.s, 2, gt_term_width(stdout));
		for (const char *line = it->remedy; line && *line; line = gt_next_line(line)) {
			gt_autofree char *one = gt_xstrndup(line, strcspn(line, "\n"));

			tn_show_step(one, 4);
		}
	}
	return 0;
}

/* Explains a setting that gputune knows and does not change. */
static int explain_setting(struct gt_cli *cli, const struct tn_setting_known *s)
{
	gt_auto_json *doc = json_pack("{s:s, s:[], s:[o]}", "schema", "gputune-knobs/1", "knobs", "settings", setting_json(s));
	gt_autofree char *line = gt_xasprintf("gputune does not change %s. %s", s->name, s->why);

	if (cli->json)
		gt_json_print(stdout, doc);
	else
		gt_print_wrapped(stdout, line, 0, gt_term_width(stdout));
	return 0;
}

static int run_explain(struct gt_cli *cli, int argc, char **argv)
{
	const char *id = argv[0] + (gt_starts_with(argv[0], "env.") ? 4 : 0); /* the name of a variable in gpubench */
	const struct tn_setting_known *s = tn_setting_find(id);
	const char *name = s && s->knob ? s->knob : id;
	const struct tn_launch_setting *launch = tn_launch_find(name);
	const struct tn_tunable *k = tn_tunable_find(name);
	gt_auto_json *doc = NULL;

	if (!k && !launch && s)
		return explain_setting(cli, s);
	if (!k && !launch) {
		gt_autofree char *hint = gt_hint(id, tn_knob_word, "gputune list shows them");

		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "there is no knob '%.60s'; %s", argv[0], hint);
	}
	doc = json_pack("{s:s, s:[o]}", "schema", "gputune-knobs/1", "knobs",
			k ? knob_json(k) : launch_json(launch));
	if (cli->json) {
		gt_json_print(stdout, doc);
		return 0;
	}
	if (s)
		printf("%s belongs to this knob:\n\n", s->name);
	show_knob(json_array_get(json_object_get(doc, "knobs"), 0));
	return k ? show_here(cli, k->id) : 0;
}

const struct gt_cmd tn_cmd_explain = {
	.name = "explain",
	.args = "ID",
	.group = "Look up",
	.summary = "Explain a knob: reason, risk and state on this host",
	.help = "ID is the name of a knob (gputune list), of a kernel parameter or of an environment variable. For a "
		"parameter that gputune does not change, explain prints the reason.",
	.min_args = 1,
	.max_args = 1,
	.word = tn_knob_word,
	.run = run_explain,
};

/* ---- list ---------------------------------------------------------------------------------------------------------
 */

static void list_policy(const json_t *list, const struct policy *p)
{
	const json_t *k;
	size_t i, indent = 0;

	json_array_foreach(list, i, k)
		indent = GT_MAX(indent, strlen(gt_json_get_str(k, "id", "")) + 4);
	printf("%s%s:\n", p == policies ? "" : "\n", p->heading);
	json_array_foreach(list, i, k) {
		gt_autofree char *name = gt_xasprintf("  %s", gt_json_get_str(k, "id", ""));

		if (*gt_json_get_str(k, "tag", "") == p->tag)
			gt_print_columns(stdout, name, gt_json_get_str(k, "summary", ""), (unsigned)indent, gt_term_width(stdout));
	}
}

static int run_list(struct gt_cli *cli, int argc, char **argv)
{
	json_t *list = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gputune-knobs/1", "knobs", list);

	if (argc)
		return run_explain(cli, argc, argv);
	for (size_t i = 0; tn_tunables[i]; i++)
		json_array_append_new(list, knob_json(tn_tunables[i]));
	for (size_t i = 0; tn_launch_settings[i]; i++)
		json_array_append_new(list, launch_json(tn_launch_settings[i]));
	if (cli->json) {
		json_object_set_new(doc, "settings", settings_json());
		gt_json_print(stdout, doc);
		return 0;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(policies); i++)
		list_policy(list, &policies[i]);
	puts("\nDetails: gputune explain NAME");
	return 0;
}

const struct gt_cmd tn_cmd_list = {
	.name = "list",
	.args = "[NAME]",
	.group = "Look up",
	.summary = "List the knobs, or explain one of them",
	.max_args = 1,
	.word = tn_knob_word,
	.run = run_list,
};

/* ---- lint ----------------------------------------------------------------------------------------------------------
 */

static void show_findings(const struct sc_finding *f, size_t n, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();

	gt_table_column(t, "WHERE", GT_LEFT);
	gt_table_column(t, "SEVERITY", GT_LEFT);
	gt_table_column(t, "WHAT", GT_WRAP);
	for (size_t i = 0; i < n; i++) {
		gt_table_row(t);
		gt_table_cell(t, f[i].line ? "%s:%u" : "%s", f[i].file, f[i].line);
		gt_table_cell(t, "%s", sc_severity_name(f[i].severity));
		if (f[i].severity != SC_NOTE)
			gt_table_color(t, f[i].severity == SC_BAD ? "red" : "yellow");
		gt_table_cell(t, "%s", f[i].what);
	}
	gt_table_print(t, stdout, color);
}

static json_t *findings_json(const struct sc_findings *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(list, json_pack("{s:o, s:i, s:s, s:o}", "file", gt_json_str(l->f[i].file), "line",
						      (int)l->f[i].line, "severity", sc_severity_name(l->f[i].severity), "what",
						      gt_json_str(l->f[i].what)));
	return json_pack("{s:s, s:o}", "schema", "gputune-lint/1", "findings", list);
}

/* Adds persisted files that are missing in the journal. Without permission to read the journal, adds none. */
static void lint_lost(struct gt_fsroot *fs, struct sc_findings *ret)
{
	gt_auto(tn_journal) *j = NULL, *lost = NULL;

	if (tn_journal_load(fs, &j, NULL) < 0 || tn_persisted_load(fs, j, &lost, NULL) < 0)
		return;
	for (size_t i = 0; lost->n_tx && i < lost->tx->n_entry; i++)
		if (lost->tx->entry[i].kind == TN_ENTRY_FILE)
			sc_find(ret, SC_WARN, lost->tx->entry[i].path, 0, gt_xstrdup(TN_PERSISTED_LOST));
}

static int run_lint(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto(sc_conf) *conf = NULL;
	sc_auto_findings found = { 0 };
	int r = sc_conf_load(cli->fs, SC_NOW, NULL, &conf, &cli->err);

	if (r < 0)
		return r;
	sc_lint(cli->fs, conf, &found);
	tn_lint_modprobe(cli->fs, &found);
	tn_lint_grub(cli->fs, &found);
	tn_lint_tuned(cli->fs, &found);
	tn_lint_limits(cli->fs, &found);
	tn_lint_nccl(cli->fs, &found);
	tn_lint_udev(cli->fs, &found);
	lint_lost(cli->fs, &found);
	if (cli->json) {
		gt_auto_json *doc = findings_json(&found);

		gt_json_print(stdout, doc);
	} else if (found.n) {
		show_findings(found.f, found.n, cli->color);
	} else {
		puts("no findings in sysctl.d, modprobe.d, limits.d, udev/rules.d,\n"
		     "/etc/default/grub, /etc/tuned and /etc/nccl.conf");
	}
	return 0;
}

const struct gt_cmd tn_cmd_lint = {
	.name = "lint",
	.args = "",
	.group = "Look up",
	.summary = "Find dead, harmful and contradictory lines in configuration files",
	.run = run_lint,
	.help = "Reads sysctl.d, modprobe.d, limits.d, udev rules, /etc/default/grub, tuned profiles and /etc/nccl.conf, and "
		"prints each finding with file and line. Changes nothing; findings do not change the exit status. A line is "
		"dead if the kernel has no such parameter, if another line or file replaces it, or if its module is never "
		"loaded or is built in. A change that needs update-grub, update-initramfs or a reboot is a note.",
};
