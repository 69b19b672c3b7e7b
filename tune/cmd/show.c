/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the documents of gputune as text. */
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "tune/cmd/gputune.h"
#include "tune/knob/list.h"

static const char *text(const json_t *o, const char *key)
{
	return gt_json_get_str(o, key, "");
}

static char *label(const json_t *o)
{
	const char *instance = gt_json_get_str(o, "instance", NULL);

	return instance ? gt_xasprintf("%s:%s", text(o, "knob"), instance) : gt_xstrdup(text(o, "knob"));
}

static const struct tn_tunable *knob(const json_t *o)
{
	return tn_tunable_find(text(o, "knob"));
}

/* Returns the number of items right after this one with the same knob, values and reason on other devices. */
static size_t followers(const json_t *items, size_t at)
{
	static const char *const same[] = { "knob", "status", "current", "wanted", "reason", "conflict" };
	const json_t *first = json_array_get(items, at), *o;
	size_t n = 0;

	while ((o = json_array_get(items, at + n + 1))) {
		for (size_t i = 0; i < GT_ARRAY_SIZE(same); i++)
			if (!json_equal(json_object_get(o, same[i]), json_object_get(first, same[i])))
				return n;
		n++;
	}
	return n;
}

/* Returns "cpu.governor:policy0" or "cpu.governor:policy0 and 63 more". The caller frees it. */
static char *group_label(const json_t *o, size_t more)
{
	gt_autofree char *one = label(o);

	return more ? gt_xasprintf("%s and %zu more", one, more) : gt_take(one);
}

static const char *color_of(const char *word)
{
	static const char *const colors[][2] = { { "change", "green" }, { "drift", "red" },	   { "ok", "green" },
						 { "blocked", "red" },	{ "failed", "red" },	   { "interrupted", "red" },
						 { "advice", "yellow" }, { "lost at boot", "yellow" } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(colors); i++)
		if (!strcmp(word, colors[i][0]))
			return colors[i][1];
	return NULL;
}

static void status_cell(struct gt_table *t, const char *word)
{
	gt_table_cell(t, "%s", word);
	if (color_of(word))
		gt_table_color(t, color_of(word));
}

/* ---- plan ------------------------------------------------------------------------------------------------------------ */

/* Returns what a change also depends on or replaces, or NULL. The caller frees it. */
static char *note_of(const json_t *o)
{
	const json_t *boot = json_object_get(o, "at_boot"), *pair = json_object_get(o, "counterpart");

	if (strcmp(text(o, "status"), "change"))
		return NULL;
	if (*text(o, "conflict"))
		return gt_xstrdup(text(o, "conflict"));
	if (!strcmp(text(o, "current"), "0") && json_is_object(pair))
		return gt_xasprintf("%s is %s now; the kernel sets it to 0", text(pair, "path"), text(pair, "current"));
	if (json_is_object(boot) && *text(boot, "decided_by")) {
		gt_autofree char *value = tn_tunable_value_text(knob(o), text(boot, "value"));

		return gt_xasprintf("%s sets it to %s at boot; the file that --persist writes overrides that%s%s",
				    text(boot, "decided_by"), value, *text(boot, "may") ? "; " : "", text(boot, "may"));
	}
	if (json_is_object(boot) && *text(boot, "may"))
		return gt_xasprintf("at boot %s", text(boot, "may"));
	return NULL;
}

static bool plan_notes(const json_t *items)
{
	bool head = false;
	const json_t *o;
	size_t i;

	json_array_foreach(items, i, o) {
		size_t more = followers(items, i);
		gt_autofree char *name = group_label(o, more), *note = note_of(o),
				 *line = note ? gt_xasprintf("%s: %s", name, note) : NULL;

		i += more;
		if (!line)
			continue;
		if (!head)
			puts("Notes");
		head = true;
		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
	return head;
}

void tn_show_step(const char *line, unsigned indent)
{
	if (*line == ' ')
		printf("%*s%s\n", (int)indent, "", line);
	else
		gt_print_wrapped(stdout, line, indent, gt_term_width(stdout));
}

static void plan_item(const json_t *o, size_t more)
{
	const char *now = text(o, "current"), *wanted = text(o, "wanted");
	bool differs = *now && *wanted && strcmp(text(o, "status"), "already");
	gt_autofree char *name = group_label(o, more),
			 *values = differs ? tn_tunable_change_text(knob(o), now, wanted) : tn_tunable_value_text(knob(o), now);
	const json_t *line;
	size_t i;

	printf("  %s%s%s\n", name, *values ? ": " : "", values);
	gt_print_wrapped(stdout, text(o, "reason"), 6, gt_term_width(stdout));
	json_array_foreach(json_object_get(o, "remedy"), i, line)
		tn_show_step(json_string_value(line), 6);
}

/* Parts of the plan, in the order of the decisions that the reader has to make. */
static const struct {
	const char *status, *head;
	bool quiet; /* prints only the number of items, unless all are requested */
} plan_parts[] = {
	{ "change", "Changes", false },
	{ "blocked", "Blocked changes", false },
	{ "advice", "Manual steps", false },
	{ "skipped", "Skipped (--optional includes all opt-in settings, --only KNOB one)", false },
	{ "already", "Unchanged", true },
	{ "n/a", "Not applicable", true },
};

/* Returns the number of items that are not shown. */
static size_t plan_part(const json_t *items, size_t part, bool all, bool color)
{
	const json_t *o;
	size_t n = 0, i;

	json_array_foreach(items, i, o) {
		size_t more;

		if (strcmp(text(o, "status"), plan_parts[part].status))
			continue;
		if (plan_parts[part].quiet && !all) {
			n++;
			continue;
		}
		if (!n++)
			printf("%s%s%s\n", color ? "\033[1m" : "", plan_parts[part].head, color ? "\033[0m" : "");
		more = followers(items, i);
		plan_item(o, more);
		i += more;
	}
	if (n && (all || !plan_parts[part].quiet))
		puts("");
	return plan_parts[part].quiet && !all ? n : 0;
}

/* Prints how the start or the host of this container sets the items that are read-only here. Lines are not wrapped, so that they
 * can be pasted. */
static void plan_outside(const json_t *outside, bool color)
{
	static const struct {
		const char *key, *head;
	} forms[] = { { "docker", "docker run, podman run" },
		      { "kubernetes", "Kubernetes pod" },
		      { "slurm", "Slurm" },
		      { "systemd", "systemd unit that starts the container" },
		      { "host", "As root on the host" } };
	const json_t *line;
	size_t k;

	if (!outside)
		return;
	printf("%sOutside this container%s\n", color ? "\033[1m" : "", color ? "\033[0m" : "");
	for (size_t i = 0; i < GT_ARRAY_SIZE(forms); i++) {
		const json_t *lines = json_object_get(outside, forms[i].key);

		if (json_array_size(lines))
			printf("  %s:\n", forms[i].head);
		json_array_foreach(lines, k, line)
			printf("    %s\n", json_string_value(line));
	}
	puts("");
}

void tn_show_plan(const json_t *plan, bool all, bool color)
{
	const json_t *items = json_object_get(plan, "items");
	int64_t changes = gt_json_get_int(plan, "changes", 0);
	gt_autofree char *sum = NULL;
	size_t hidden = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(plan_parts); i++)
		hidden += plan_part(items, i, all || json_array_size(items) == 1, color);
	if (plan_notes(items))
		puts("");
	plan_outside(json_object_get(plan, "outside"), color);
	if (hidden)
		puts("Unchanged and not applicable settings are hidden (--verbose shows them).");
	sum = changes ? gt_xasprintf("%ld change%s, profile %s. The effect on this host is not measured (gpubench prove measures "
				     "it).",
				     changes, changes == 1 ? "" : "s", text(plan, "profile")) :
			gt_xasprintf("Nothing to change, profile %s.", text(plan, "profile"));
	gt_print_wrapped(stdout, sum, 0, gt_term_width(stdout));
}

static void diff_line(char sign, const char *name, const char *value, bool color)
{
	printf("%s%c%s = %s%s\n", !color ? "" : sign == '-' ? "\033[31m" : "\033[32m", sign, name, value, color ? "\033[0m" : "");
}

/* Prints raw values in the form of a unified diff, and nothing if nothing would change. */
void tn_show_plan_diff(const json_t *plan, bool color)
{
	bool head = false;
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(plan, "items"), i, o) {
		gt_autofree char *name = label(o);

		if (strcmp(text(o, "status"), "change"))
			continue;
		if (!head)
			printf("--- this host now\n+++ profile %s\n", text(plan, "profile"));
		head = true;
		printf("@@ %s\n", text(o, "path"));
		diff_line('-', name, text(o, "current"), color);
		diff_line('+', name, text(o, "wanted"), color);
	}
}

/* ---- reports ---------------------------------------------------------------------------------------------------------- */

static void value_cell(struct gt_table *t, const json_t *o, const char *key, const char *missing)
{
	gt_autofree char *value = tn_tunable_value_text(knob(o), gt_json_get_str(o, key, missing));

	gt_table_cell(t, "%s", value);
}

static void report_values(const json_t *report, bool color)
{
	const json_t *values = json_object_get(report, "values"), *o;
	bool verify = !strcmp(text(report, "command"), "verify");
	gt_auto(gt_table) *t = gt_table_new();
	size_t i;

	if (!json_array_size(values))
		return;
	gt_table_column(t, "KNOB", GT_LEFT);
	gt_table_column(t, "BEFORE", GT_RIGHT);
	gt_table_column(t, verify ? "EXPECTED" : "APPLIED", GT_RIGHT);
	if (verify)
		gt_table_column(t, "ACTUAL", GT_RIGHT);
	gt_table_column(t, "RESULT", GT_WRAP);
	json_array_foreach(values, i, o) {
		gt_autofree char *name = label(o), *actual = tn_tunable_value_text(knob(o), text(o, "actual"));

		gt_table_row(t);
		gt_table_cell(t, "%s", name);
		value_cell(t, o, "old", "?");
		value_cell(t, o, "new", "");
		if (verify)
			value_cell(t, o, "actual", "");
		if (!verify && *actual)
			gt_table_cell(t, "%s: now %s, not changed", text(o, "result"), actual);
		else
			status_cell(t, text(o, "result"));
	}
	gt_table_print(t, stdout, color);
}

static void report_notes(const json_t *report)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "values"), i, o) {
		gt_autofree char *name = label(o), *line = gt_xasprintf("%s: %s", name, text(o, "overridden"));

		if (*text(o, "overridden"))
			gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
	json_array_foreach(json_object_get(report, "files"), i, o)
		printf("%s: %s\n", text(o, "path"), text(o, "result"));
}

static void report_left_out(const json_t *report)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "left_out"), i, o) {
		gt_autofree char *name = label(o), *line = gt_xasprintf("left out: %s: %s", name, text(o, "reason"));

		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
}

static void report_transactions(const json_t *report)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "transactions"), i, o)
		printf("%s since %s%s, profile %s, by %s (process %ld)\n", text(o, "state"), text(o, "since"),
		       !strcmp(text(o, "boot"), "this") ? "" : ", before the last reboot", text(o, "profile"), text(o, "by"),
		       gt_json_get_int(o, "pid", 0));
}

static const char *summary(const json_t *report)
{
	static const char *const lines[][3] = {
		{ "apply", "applied", "Nothing to change." },
		{ "revert", "reverted", "Nothing is applied." },
		{ "revert", "pending", "The files are removed. Values that they set at boot stay until the next boot." },
		{ "revert", "partly", "Values that another program changed since were not changed." },
		{ "recover", "reverted", "No transaction was interrupted." },
		{ "recover", "pending", "The files are removed. Values that they set at boot stay until the next boot." },
		{ "recover", "partly", "Values that another program changed since were not changed." },
		{ "verify", "nothing applied", "Nothing is applied." },
		{ "verify", "pending", "Reverted; some values stay until the next boot." },
		{ "verify", "busy", "A transaction or an experiment is in progress. Run gputune verify again after its end." },
		{ "status", "nothing applied", "Nothing is applied." },
		{ "status", "record lost", "The files in /etc exist, but their record in /var/lib/gputune is lost." },
	};
	bool empty = !json_array_size(json_object_get(report, "values")) && !json_array_size(json_object_get(report, "files"));
	bool only_if_empty;

	for (size_t i = 0; i < GT_ARRAY_SIZE(lines); i++) {
		only_if_empty = !strcmp(lines[i][1], "applied") || !strcmp(lines[i][1], "reverted");
		if (!strcmp(lines[i][0], text(report, "command")) && !strcmp(lines[i][1], text(report, "result")) &&
		    (empty || !only_if_empty))
			return lines[i][2];
	}
	return NULL;
}

static void report_unknown(const json_t *report)
{
	if (gt_json_get_int(report, "unknown_to_this_version", 0))
		gt_print_wrapped(stdout,
				 "Settings that this version of gputune does not know were not changed. Their record is kept "
				 "until the next boot, and a newer gputune can revert them.", 0, gt_term_width(stdout));
}

/* Without the journal, the report covers only the files in /etc, and says so. */
static void report_part(const json_t *report)
{
	bool none = !json_array_size(json_object_get(report, "files"));
	gt_autofree char *line = NULL;

	if (!*text(report, "journal"))
		return;
	line = gt_xasprintf("%s Values that last until the next boot and interrupted transactions are in the journal, which only "
			    "root can read: sudo gputune %s",
			    none ? "gputune has no files in /etc." : "These are the files of gputune in /etc.",
			    text(report, "command"));
	gt_print_wrapped(stdout, line, 0, gt_term_width(stdout));
}

/* Packages that gputune provision installed. */
static void report_provisioned(const json_t *report)
{
	const json_t *packages = json_object_get(report, "provisioned");
	size_t n = json_array_size(packages);

	if (n)
		printf("%zu package%s installed by gputune provision (gputune provision revert --dry-run lists %s).\n", n,
		       n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

void tn_show_report(const json_t *report, bool color)
{
	report_transactions(report);
	report_values(report, color);
	report_notes(report);
	report_left_out(report);
	if (summary(report))
		puts(summary(report));
	report_unknown(report);
	report_part(report);
	report_provisioned(report);
}

/* ---- history ---- */

/* A revert goes from the new value to the old one. */
static void history_values(const json_t *record)
{
	bool there = !strcmp(text(record, "command"), "apply") || gt_starts_with(text(record, "command"), "provision");
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(record, "values"), i, o) {
		gt_autofree char *name = label(o), *values = tn_tunable_change_text(knob(o), text(o, there ? "old" : "new"),
										    text(o, there ? "new" : "old"));

		printf("    %s: %s, %s\n", name, text(o, "result"), values);
	}
}

void tn_show_history(const json_t *doc, bool values, bool color)
{
	const json_t *records = json_object_get(doc, "records"), *o;
	int64_t damaged = gt_json_get_int(doc, "damaged", 0);
	size_t i;

	json_array_foreach(records, i, o) {
		const char *what = gt_starts_with(text(o, "command"), "provision") ? "package" : "value";
		size_t n = json_array_size(json_object_get(o, "values"));

		printf("%s  %s%s%s: %s, %zu %s%s%s%s\n", text(o, "time"), text(o, "command"), *text(o, "profile") ? " " : "",
		       text(o, "profile"), text(o, "result"), n, what, n == 1 ? "" : "s", *text(o, "user") ? ", by " : "",
		       text(o, "user"));
		if (values)
			history_values(o);
	}
	if (!json_array_size(records))
		puts("Nothing was applied on this host yet.");
	if (damaged)
		printf("%ld line%s of the history cannot be read.\n", damaged, damaged == 1 ? "" : "s");
}

/* ---- run ---------------------------------------------------------------------------------------------------------------- */

/* Breaks a value that is too long after a colon: it is a list such as LD_PRELOAD. */
static void run_line(const char *what, const char *value, const char *reason)
{
	size_t at = 2 + strlen(what), width = GT_MAX(gt_term_width(stdout), 40u);

	printf("  %s", what);
	for (const char *p = value; *p;) {
		size_t n = strcspn(p, ":");

		n += p[n] == ':';
		if (at + n > width && at > 8) {
			printf("\n        ");
			at = 8;
		}
		printf("%.*s", (int)n, p);
		at += n;
		p += n;
	}
	puts("");
	gt_print_wrapped(stdout, reason, 6, gt_term_width(stdout));
}

static void run_vars(const json_t *vars, const char *head, bool set)
{
	const json_t *o;
	bool any = false;
	size_t i;

	json_array_foreach(vars, i, o) {
		gt_autofree char *name = NULL;

		if (!strcmp(text(o, "status"), "set") != set)
			continue;
		if (!any)
			printf("\n%s\n", head);
		any = true;
		name = gt_xasprintf("%s%s", text(o, "name"), *text(o, "value") ? "=" : "");
		run_line(name, text(o, "value"), text(o, "reason"));
	}
}

static void show_rank(const json_t *run)
{
	const json_t *cpus = json_object_get(run, "cpus"), *memory = json_object_get(run, "memory");
	const json_t *vars = json_object_get(run, "environment"), *processes = json_object_get(run, "processes");

	printf("Profile %s\n", text(run, "profile"));
	if (strcmp(text(processes, "kind"), "one") != 0) {
		const json_t *n = json_object_get(processes, "count");
		gt_autofree char *count = gt_xasprintf("%s%ld", !strcmp(text(processes, "kind"), "unknown") ? "up to " : "",
						 (long)json_integer_value(n));

		run_line("processes ", json_is_integer(n) ? count : "unknown", text(processes, "reason"));
	}
	run_line("CPUs ", *text(cpus, "list") ? text(cpus, "list") : "unchanged", text(cpus, "reason"));
	run_line(*text(memory, "nodes") ? "memory preferred from node " : "memory ",
		 *text(memory, "nodes") ? text(memory, "nodes") : "unchanged", text(memory, "reason"));
	if (json_is_integer(json_object_get(json_object_get(run, "files"), "limit"))) {
		gt_autofree char *limit =
			gt_xasprintf("%ld", (long)json_integer_value(json_object_get(json_object_get(run, "files"), "limit")));

		run_line("open files up to ", limit, text(json_object_get(run, "files"), "reason"));
	}
	run_vars(vars, "Set", true);
	run_vars(vars, "Not set", false);
}

void tn_show_run(const json_t *run, bool color)
{
	const json_t *ranks = json_object_get(run, "ranks"), *one;
	size_t i;

	if (!ranks)
		show_rank(run);
	json_array_foreach(ranks, i, one) {
		printf("%sRank %zu of %zu\n", i ? "\n" : "", i, json_array_size(ranks));
		show_rank(one);
	}
}
