/* SPDX-License-Identifier: Apache-2.0 */
/* Documents as people read them. */
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "tune/cmd/gputune.h"

static const char *text(const json_t *o, const char *key)
{
	return gt_json_get_str(o, key, "");
}

static char *label(const json_t *o)
{
	const char *instance = gt_json_get_str(o, "instance", NULL);

	return instance ? gt_xasprintf("%s:%s", text(o, "knob"), instance) : gt_xstrdup(text(o, "knob"));
}

/* How many items right after this one say the same of the same knob on other devices. */
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

/* "cpu.governor:policy0", or "cpu.governor:policy0 and 63 alike". The caller frees it. */
static char *group_label(const json_t *o, size_t more)
{
	gt_autofree char *one = label(o);

	return more ? gt_xasprintf("%s and %zu alike", one, more) : gt_take(one);
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

/* What is worth knowing of a change besides its reason; NULL if nothing. */
static char *note_of(const json_t *o)
{
	const json_t *boot = json_object_get(o, "at_boot"), *pair = json_object_get(o, "counterpart");

	if (strcmp(text(o, "status"), "change"))
		return NULL;
	if (*text(o, "conflict"))
		return gt_xstrdup(text(o, "conflict"));
	if (!strcmp(text(o, "current"), "0") && json_is_object(pair))
		return gt_xasprintf("now %s is in force, with %s; the kernel zeroes it", text(pair, "path"), text(pair, "current"));
	if (json_is_object(boot) && *text(boot, "decided_by"))
		return gt_xasprintf("%s sets it to %s at boot; what --persist writes counts instead%s%s", text(boot, "decided_by"),
				    text(boot, "value"), *text(boot, "may") ? "; " : "", text(boot, "may"));
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
			puts("To be known");
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
	gt_autofree char *name = group_label(o, more);
	const json_t *line;
	size_t i;

	if (*now && *wanted && strcmp(text(o, "status"), "already"))
		printf("  %s: %s to %s\n", name, now, wanted);
	else
		printf("  %s%s%s\n", name, *now ? ": " : "", now);
	gt_print_wrapped(stdout, text(o, "reason"), 6, gt_term_width(stdout));
	json_array_foreach(json_object_get(o, "remedy"), i, line)
		tn_show_step(json_string_value(line), 6);
}

/* In the order in which somebody has to think about them. */
static const struct {
	const char *status, *head;
	bool quiet; /* counted only, unless asked for */
} plan_parts[] = {
	{ "change", "To be changed", false },
	{ "blocked", "To be changed, but cannot be", false },
	{ "advice", "Manual steps", false },
	{ "skipped", "Left out (what is by choice only: --optional takes in all, --only KNOB one)", false },
	{ "already", "Already so", true },
	{ "n/a", "Not for this host", true },
};

/* Returns how many it has not shown. */
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
	if (hidden)
		puts("Settings that are already right, or not for this host: --verbose.");
	sum = changes ? gt_xasprintf("%ld change%s, profile %s. Unmeasured on this host; gputune explain KNOB says more.", changes,
				     changes == 1 ? "" : "s", text(plan, "profile")) :
			gt_xasprintf("Nothing to change, profile %s.", text(plan, "profile"));
	gt_print_wrapped(stdout, sum, 0, gt_term_width(stdout));
}

static void diff_line(char sign, const char *name, const char *value, bool color)
{
	printf("%s%c%s = %s%s\n", !color ? "" : sign == '-' ? "\033[31m" : "\033[32m", sign, name, value, color ? "\033[0m" : "");
}

/* For people and for patch-minded tools; nothing at all if nothing would change, as diff does it. */
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
	gt_table_column(t, verify ? "EXPECTED" : "OURS", GT_RIGHT);
	if (verify)
		gt_table_column(t, "ACTUAL", GT_RIGHT);
	gt_table_column(t, "RESULT", GT_WRAP);
	json_array_foreach(values, i, o) {
		gt_autofree char *name = label(o);

		gt_table_row(t);
		gt_table_cell(t, "%s", name);
		gt_table_cell(t, "%s", gt_json_get_str(o, "old", "?"));
		gt_table_cell(t, "%s", text(o, "new"));
		if (verify)
			gt_table_cell(t, "%s", text(o, "actual"));
		if (!verify && *text(o, "actual"))
			gt_table_cell(t, "%s: now %s, left alone", text(o, "result"), text(o, "actual"));
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
		{ "revert", "pending", "The files are gone; what the last boot set from them stays until the next one." },
		{ "revert", "partly", "What someone else has changed since was left alone." },
		{ "recover", "reverted", "Nothing was interrupted." },
		{ "recover", "pending", "The files are gone; what the last boot set from them stays until the next one." },
		{ "recover", "partly", "What someone else has changed since was left alone." },
		{ "verify", "nothing applied", "Nothing is applied." },
		{ "verify", "pending", "Reverted; some values stay until the next boot." },
		{ "verify", "busy", "Somebody is in the middle of a change or an experiment: ask again when it is over." },
		{ "status", "nothing applied", "Nothing is applied." },
		{ "status", "record lost", "What was kept in /etc outlived the record of it in /var/lib/gputune." },
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
				 "What this version does not know was left alone, and stays on record until the next boot: "
				 "a newer gputune puts it back.", 0, gt_term_width(stdout));
}

/* Who may not read the journal knows what is in /etc, and has to know that this is not all. */
static void report_part(const json_t *report)
{
	bool none = !json_array_size(json_object_get(report, "files"));
	gt_autofree char *line = NULL;

	if (!*text(report, "journal"))
		return;
	line = gt_xasprintf("%s What holds until the next boot only, and whether anything was interrupted, is in the journal, "
			    "which is root's to read: sudo gputune %s",
			    none ? "Nothing of gputune's is kept in /etc." : "This is what gputune keeps in /etc.",
			    text(report, "command"));
	gt_print_wrapped(stdout, line, 0, gt_term_width(stdout));
}

/* What is held besides settings. */
static void report_provisioned(const json_t *report)
{
	const json_t *packages = json_object_get(report, "provisioned");
	size_t n = json_array_size(packages);

	if (n)
		printf("%zu package%s of gputune provision: gputune provision revert --dry-run names %s.\n", n, n == 1 ? "" : "s",
		       n == 1 ? "it" : "them");
}

void tn_show_report(const json_t *report, bool color)
{
	report_transactions(report);
	report_values(report, color);
	report_notes(report);
	if (summary(report))
		puts(summary(report));
	report_unknown(report);
	report_part(report);
	report_provisioned(report);
}

/* ---- history ---- */

/* Putting back goes the other way. */
static void history_values(const json_t *record)
{
	bool there = !strcmp(text(record, "command"), "apply") || gt_starts_with(text(record, "command"), "provision");
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(record, "values"), i, o) {
		gt_autofree char *name = label(o);

		printf("    %s: %s, %s to %s\n", name, text(o, "result"), text(o, there ? "old" : "new"),
		       text(o, there ? "new" : "old"));
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
		puts("Nothing was ever applied here.");
	if (damaged)
		printf("%ld line%s of it cannot be read.\n", damaged, damaged == 1 ? "" : "s");
}

/* ---- run ---------------------------------------------------------------------------------------------------------------- */

/* A value is cut behind a colon where it does not fit: it is one list, not words. */
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
	run_line("CPUs ", *text(cpus, "list") ? text(cpus, "list") : "as they are", text(cpus, "reason"));
	run_line(*text(memory, "nodes") ? "memory preferred from node " : "memory ",
		 *text(memory, "nodes") ? text(memory, "nodes") : "as it is", text(memory, "reason"));
	if (json_is_integer(json_object_get(json_object_get(run, "files"), "limit"))) {
		gt_autofree char *limit =
			gt_xasprintf("%ld", (long)json_integer_value(json_object_get(json_object_get(run, "files"), "limit")));

		run_line("open files up to ", limit, text(json_object_get(run, "files"), "reason"));
	}
	run_vars(vars, "Set", true);
	run_vars(vars, "Left as it is", false);
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
