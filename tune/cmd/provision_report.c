/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the documents of gputune provision as text. */
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "lib/text.h"
#include "tune/cmd/gputune.h"
#include "tune/provision/provision.h"

static const char *text(const json_t *o, const char *key)
{
	return gt_json_get_str(o, key, "");
}

static void wrapped(const char *s, unsigned indent)
{
	gt_print_wrapped(stdout, s, indent, gt_term_width(stdout));
}

/* Long commands are broken at blanks with a backslash, so that they can be copied. */
static void command(const char *line)
{
	size_t width = GT_MAX(gt_term_width(stdout), 40u) - 4, at = 0;

	printf("  ");
	gt_each_word(w, line, " ") {
		if (at && at + strlen(w) + 1 > width) {
			printf(" \\\n      ");
			at = 4;
		}
		printf("%s%s", at && at != 4 ? " " : "", w);
		at += strlen(w) + 1;
	}
	puts("");
}

static void lines(const char *s, unsigned indent)
{
	gt_each_word(l, s, "\n") {
		if (*l == ' ')
			printf("%*s%s\n", (int)indent, "", l); /* a line of a file, unchanged */
		else
			wrapped(l, indent);
	}
}

/* ---- plan
 * ------------------------------------------------------------------------------------------------------------- */

static void part(const json_t *o)
{
	const json_t *packages = json_object_get(o, "packages"), *name;
	gt_autofree char *head =
		gt_xasprintf("%s: %s", text(o, "id"), *text(o, "reason") ? text(o, "reason") : text(o, "why"));
	size_t i;

	wrapped(head, 2);
	if (json_array_size(packages) && *text(o, "reason"))
		wrapped(text(o, "why"), 6);
	json_array_foreach(packages, i, name) printf("%s%s%s", i ? " " : "      ", json_string_value(name),
						     i + 1 == json_array_size(packages) ? "\n" : "");
}

static bool parts(const json_t *doc, const char *head, const char *const *statuses)
{
	const json_t *o;
	bool any = false;
	size_t i;

	json_array_foreach(json_object_get(doc, "parts"), i, o) for (size_t k = 0; statuses[k]; k++)
	{
		if (strcmp(text(o, "status"), statuses[k]))
			continue;
		if (!any)
			puts(head);
		any = true;
		part(o);
	}
	if (any)
		puts("");
	return any;
}

static void refusals(const json_t *doc, bool color)
{
	const json_t *list = json_object_get(doc, "refusals"), *o;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("%sRefused%s\n", color ? "\033[31m" : "", color ? "\033[0m" : "");
	json_array_foreach(list, i, o)
	{
		gt_autofree char *head = gt_xasprintf("%s: %s.", text(o, "id"), text(o, "what"));

		wrapped(head, 2);
		if (*text(o, "do"))
			lines(text(o, "do"), 6);
	}
	puts("");
}

static void packages(const json_t *doc, bool all)
{
	const json_t *list = json_object_get(doc, "packages"), *o;
	char download[32], disk[32];
	size_t i, upgrades = 0;

	if (!json_array_size(list))
		return;
	json_array_foreach(list, i, o) upgrades += *text(o, "old") != 0;
	gt_format_bytes(download, sizeof(download), (uint64_t)gt_json_get_int(doc, "download_bytes", 0));
	gt_format_bytes(disk, sizeof(disk), (uint64_t)GT_MAX(gt_json_get_int(doc, "disk_bytes", 0), 0));
	printf("%zu package%s%s", json_array_size(list) - upgrades, json_array_size(list) - upgrades == 1 ? "" : "s",
	       json_is_true(json_object_get(doc, "simulated")) ? "" : " at least");
	if (upgrades)
		printf(" and %zu upgrade%s", upgrades, upgrades == 1 ? "" : "s");
	printf(": %s to download, %s on disk\n", download, disk);
	json_array_foreach(list, i, o)
	{
		char size[32];

		if (!all && !gt_json_get_bool(o, "requested", false) && !*text(o, "old"))
			continue;
		gt_format_bytes(size, sizeof(size), (uint64_t)GT_MAX(gt_json_get_int(o, "disk_bytes", 0), 0));
		printf("  %s %s%s%s, %s", text(o, "name"), text(o, "version"), *text(o, "old") ? " in place of " : "",
		       text(o, "old"), size);
		printf("%s%s\n", *text(o, "from") ? ", " : "", text(o, "from"));
	}
	puts("");
}

static void commands(const json_t *doc)
{
	const json_t *list = json_object_get(doc, "commands"), *c;
	size_t i;

	const json_t *refusal = json_array_get(json_object_get(doc, "refusals"), 0);
	bool other = refusal && !strcmp(text(refusal, "id"), "other-distribution");

	if (!json_array_size(list) || (refusal && !other))
		return;
	puts(other ? "Commands to run as root:" : "Commands that apply runs, or that you can run by hand:");
	json_array_foreach(list, i, c)
	{
		if (other)
			printf("  %s\n", json_string_value(c));
		else
			command(json_string_value(c));
	}
	puts("");
}

static void wheels(const json_t *doc)
{
	const json_t *list = json_object_get(doc, "wheels"), *o;
	size_t i;

	if (!json_array_size(list))
		return;
	puts("As the user who trains, never as root:");
	json_array_foreach(list, i, o)
	{
		gt_autofree char *head = gt_xasprintf("%s:", text(o, "why"));

		wrapped(head, 2);
		gt_each_word(l, text(o, "lines"), "\n")
			printf("    %s\n", l);
	}
}

void tn_show_provision(const json_t *doc, bool all, bool color)
{
	static const char *const lacking[] = {"lacking", "unavailable", NULL},
				 *const fine[] = {"present", "not-here", NULL},
				 *const choice[] = {"by-choice", "skipped", NULL}, *const unknown[] = {"unknown", NULL};
	const json_t *list = json_object_get(doc, "notes"), *note;
	size_t i;

	if (!parts(doc, "Lacking", lacking) && json_array_size(json_object_get(doc, "parts")))
		puts("No package for training is missing, as far as is known.\n");
	if (all) {
		parts(doc, "Unchanged or not applicable", fine);
		parts(doc, "By choice (--with PART)", choice);
		parts(doc, "Not known", unknown);
	}
	refusals(doc, color);
	packages(doc, all);
	commands(doc);
	json_array_foreach(list, i, note)
	{
		gt_autofree char *line = gt_xasprintf("Note: %s.", json_string_value(note));

		wrapped(line, 0);
	}
	if (json_array_size(list))
		puts("");
	wheels(doc);
}

/* ---- report
 * ----------------------------------------------------------------------------------------------------------- */

void tn_show_provision_report(const json_t *report, bool color)
{
	const json_t *list = json_object_get(report, "packages"), *o;
	const char *result = text(report, "result");
	size_t i;

	if (!json_array_size(list)) {
		puts(gt_ends_with(text(report, "command"), "revert")
			     ? "Nothing was installed by gputune."
			     : "Nothing to install: all requested packages are installed.");
		return;
	}
	json_array_foreach(list, i, o)
	{
		gt_autofree char *line = gt_xasprintf(
			"%s %s: %s%s%s", text(o, "name"), *text(o, "version") ? text(o, "version") : text(o, "old"),
			text(o, "result"), *text(o, "reason") ? ", " : "", text(o, "reason"));

		wrapped(line, 2);
	}
	printf("%zu package%s: %s.\n", json_array_size(list), json_array_size(list) == 1 ? "" : "s", result);
	if (json_is_true(json_object_get(report, "reboot")))
		puts("Reboot, then check the host: gpuprobe");
}
