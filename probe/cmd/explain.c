/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe explain and gpuprobe list: the checks and messages, without reading a host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/table.h"
#include "probe/check/check.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/compat/messages.h"

static json_t *check_json(const struct pr_check *k)
{
	json_t *after = json_array();

	for (const char *const *a = k->after; a && *a; a++)
		json_array_append_new(after, json_string(*a));
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", k->id, "title", k->title, "story", k->story, "messages",
			 gt_json_str(k->messages), "after", after);
}

/* match: "id", "number", "message" or "possible" */
static json_t *match_json(const struct pr_check *k, const char *match)
{
	json_t *o = check_json(k);

	json_object_set_new(o, "match", json_string(match));
	return o;
}

static void print_story(const struct pr_check *k)
{
	unsigned width = gt_term_width(stdout);

	printf("%s: %s\n\n", k->id, k->title);
	gt_print_wrapped(stdout, k->story, 2, width);
	if (k->messages) {
		puts("\nMessages that lead here:");
		gt_print_wrapped(stdout, k->messages, 2, width);
	}
	if (k->after) {
		puts("\nCan follow from:");
		for (const char *const *a = k->after; *a; a++)
			printf("  %s\n", *a);
	}
}

static const char *check_word(size_t i)
{
	return pr_checks[i] ? pr_checks[i]->id : NULL;
}

/* Returns whether the word looks like a misspelled name of a check rather than a message. */
static bool looks_like_id(int argc, const char *word)
{
	return argc == 1 && strchr(word, '.') && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789.-")];
}

static const struct pr_check *named(const char *id)
{
	for (size_t i = 0; pr_stories[i]; i++)
		if (!strcmp(pr_stories[i]->id, id))
			return pr_stories[i];
	return pr_check_find(id);
}

/* ---- by number ------------------------------------------------------------------------------------------------ */

#define MOST_NUMBERS 8

/* Finds the distinct Xid and SXid numbers of the text, in order. Returns their number. */
static size_t find_numbers(const char *text, struct pr_xid ret[MOST_NUMBERS])
{
	struct pr_xid x;
	size_t n = 0;

	while (n < MOST_NUMBERS && (text = pr_xid_next(text, &x))) {
		bool again = false;

		for (size_t i = 0; i < n; i++)
			again |= ret[i].number == x.number && ret[i].nvswitch == x.nvswitch;
		if (!again)
			ret[n++] = x;
	}
	return n;
}

static const struct pr_check *check_of(const struct pr_xid *x)
{
	const struct pr_xid_entry *e = pr_xid_find(x);

	return e ? named(e->check) : NULL;
}

static void print_number(const struct pr_xid *x)
{
	const struct pr_xid_entry *e = pr_xid_find(x);
	unsigned width = gt_term_width(stdout);

	if (!e) {
		printf("%s %d: no entry; see NVIDIA's %s\n", pr_xid_kind(x), x->number,
		       x->nvswitch ? "Fabric Manager User Guide" : "Xid catalogue, https://docs.nvidia.com/deploy/xid-errors");
		return;
	}
	printf("%s %d: %s\n\n", pr_xid_kind(x), x->number, e->name);
	gt_print_wrapped(stdout, e->meaning, 2, width);
	putchar('\n');
	gt_print_columns(stdout, "  Fault:", pr_xid_fault_text(e->fault), 10, width);
	gt_print_columns(stdout, "  To do:", pr_xid_action_text(e->action), 10, width);
	gt_print_columns(stdout, "  Check:", e->check, 10, width);
}

static void print_numbers(const struct pr_xid *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct pr_check *k = check_of(&x[i]);
		bool again = false;

		if (i)
			putchar('\n');
		print_number(&x[i]);
		for (size_t m = i + 1; m < n; m++)
			again |= check_of(&x[m]) == k;
		if (k && !again) {
			putchar('\n');
			print_story(k);
		}
	}
}

static json_t *number_json(const struct pr_xid *x)
{
	const struct pr_xid_entry *e = pr_xid_find(x);
	json_t *o = json_pack("{s:s, s:i, s:o}", "kind", pr_xid_kind(x), "number", x->number, "check",
			      e ? json_string(e->check) : json_null());

	if (e) {
		json_object_set_new(o, "name", json_string(e->name));
		json_object_set_new(o, "meaning", json_string(e->meaning));
		json_object_set_new(o, "fault", json_string(pr_xid_fault_word(e->fault)));
		json_object_set_new(o, "action", json_string(pr_xid_action_word(e->action)));
	}
	return o;
}

/* Returns 3 if a number has no entry, else 0. */
static int explain_numbers(const struct gt_cli *cli, const struct pr_xid *x, size_t n)
{
	json_t *checks = json_array(), *numbers = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o, s:o}", "schema", "gpuprobe-checks/1", "checks", checks, "numbers", numbers);
	bool unknown = false;

	for (size_t i = 0; i < n; i++) {
		const struct pr_check *k = check_of(&x[i]);
		bool again = false;

		for (size_t m = 0; m < i; m++)
			again |= check_of(&x[m]) == k;
		json_array_append_new(numbers, number_json(&x[i]));
		if (k && !again)
			json_array_append_new(checks, match_json(k, "number"));
		unknown |= !k;
	}
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_numbers(x, n);
	return unknown ? 3 : 0;
}

/* Parses a number without text, such as "79"; SXid numbers have five digits. */
static bool bare_number(int argc, const char *word, struct pr_xid *ret)
{
	int64_t v;

	if (argc != 1 || gt_parse_i64(word, &v) || v < 1 || v > 99999)
		return false;
	*ret = (struct pr_xid){(int)v, v >= 10000};
	return true;
}

/* ---- by message ------------------------------------------------------------------------------------------------ */

#define MOST_MESSAGES 4

static void print_message(const struct pr_message *m)
{
	gt_autofree char *title = gt_xasprintf("%s [%s]", m->cause, m->id);
	unsigned width = gt_term_width(stdout);

	gt_print_wrapped(stdout, title, 0, width);
	printf("\nFault: %s\n\nTo do:\n", pr_message_fault(m));
	gt_print_wrapped(stdout, m->remedy, 2, width);
	printf("\nSource: %s\n", m->source);
	if (m->check && pr_check_find(m->check))
		printf("This host: gpuprobe -v | grep '^%s '\n", m->check);
	else if (m->check)
		printf("More: gpuprobe explain %s\n", m->check);
}

static void print_messages(const struct pr_message *const *m, size_t n)
{
	print_message(m[0]);
	if (n > 1)
		puts("\nAlso in the text:");
	for (size_t i = 1; i < n; i++)
		printf("  %s [%s]\n", m[i]->cause, m[i]->id);
}

static json_t *message_json(const struct pr_message *m)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}", "id", m->id, "fault", m->fault, "cause", m->cause, "remedy", m->remedy,
			 "check", gt_json_str(m->check), "source", m->source);
}

static void explain_messages(const struct gt_cli *cli, const struct pr_message *const *m, size_t n)
{
	json_t *checks = json_array(), *messages = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o, s:o}", "schema", "gpuprobe-checks/1", "checks", checks, "messages", messages);

	for (size_t i = 0; i < n; i++) {
		bool again = !m[i]->check;

		for (size_t k = 0; k < i; k++)
			again |= gt_streq(m[k]->check, m[i]->check);
		json_array_append_new(messages, message_json(m[i]));
		if (!again)
			json_array_append_new(checks, match_json(named(m[i]->check), "message"));
	}
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_messages(m, n);
}

static const struct pr_message *message_named(const char *id)
{
	for (size_t i = 0; i < pr_n_messages; i++)
		if (!strcmp(pr_messages[i].id, id))
			return &pr_messages[i];
	return NULL;
}

/* ---- by words ------------------------------------------------------------------------------------------------- */

static void print_matches(const struct pr_match *m, size_t n)
{
	size_t i = 0;

	if (m[0].sure) {
		puts("A check is about this message. The message alone does not prove its cause.\n");
		print_story(m[i++].check);
		if (pr_check_find(m[0].check->id))
			printf("\nThis host: gpuprobe -v | grep '^%s '\n", m[0].check->id);
	}
	if (i < n && m[i].sure)
		puts("\nThe same message leads to:");
	for (; i < n && m[i].sure; i++)
		printf("  %s: %s\n", m[i].check->id, m[i].check->title);
	if (i && i < n)
		putchar('\n');
	for (; i < n; i++)
		printf("possible match: %s: %s\n", m[i].check->id, m[i].check->title);
	if (!m[0].sure)
		puts("\nOnly a part of the words agrees. gpuprobe explain ID has the details.");
}

/* Returns 3 if no check matches, else 0. */
static int explain_words(const struct gt_cli *cli, const char *text)
{
	json_t *checks = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gpuprobe-checks/1", "checks", checks);
	struct pr_match m[PR_SEARCH_MOST];
	size_t n = pr_check_search(text, m);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(checks, match_json(m[i].check, m[i].sure ? "message" : "possible"));
	if (cli->json)
		gt_json_print(stdout, doc);
	else if (n)
		print_matches(m, n);
	else
		puts("no match: no check is about this message");
	return n ? 0 : 3;
}

/* Explains an id, a message with an Xid or SXid number, or another message, quoted or not. */
static int run_explain(struct gt_cli *cli, int argc, char **argv)
{
	const struct pr_check *k = argc == 1 ? named(argv[0]) : NULL;
	struct pr_xid numbers[MOST_NUMBERS];
	const struct pr_message *messages[MOST_MESSAGES] = {argc == 1 ? message_named(argv[0]) : NULL};
	gt_auto_buf text = {0};
	size_t n;

	for (int i = 0; i < argc; i++)
		gt_buf_printf(&text, "%s%s", i ? " " : "", argv[i]);
	n = bare_number(argc, argv[0], numbers) ? 1 : find_numbers(text.s ? text.s : "", numbers);
	if (k && cli->json) {
		gt_auto_json *doc = json_pack("{s:s, s:[o]}", "schema", "gpuprobe-checks/1", "checks", match_json(k, "id"));

		gt_json_print(stdout, doc);
		return 0;
	}
	if (k) {
		print_story(k);
		return 0;
	}
	if (n)
		return explain_numbers(cli, numbers, n);
	n = messages[0] ? 1 : pr_message_find(text.s ? text.s : "", messages, MOST_MESSAGES);
	if (n) {
		explain_messages(cli, messages, n);
		return 0;
	}
	if (looks_like_id(argc, argv[0])) {
		gt_autofree char *hint = gt_hint(argv[0], check_word, "gpuprobe list names them");

		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "there is no check '%.100s'; %s", argv[0], hint);
	}
	return explain_words(cli, text.s ? text.s : "");
}

const struct gt_cmd pr_cmd_explain = {
	.name = "explain",
	.args = "ID|MESSAGE...",
	.group = "Diagnose",
	.summary = "Explain a check, an error number or a message",
	.help = "ID is the name of a check (gpuprobe list) or the number of an Xid or SXid. MESSAGE is a line that a program "
		"or the kernel printed, quoted or not. Write -- before a MESSAGE that begins with '-'. explain looks for an "
		"Xid or SXid number first, then for a known message, then for checks with similar words. It does not read "
		"the host. Exit status 3 means that no entry matches.",
	.ignores = GT_ROOT_IGNORED,
	.min_args = 1,
	.max_args = -1,
	.only_reads = true,
	.word = check_word,
	.run = run_explain,
};

/* ---- list ----------------------------------------------------------------------------------------------------- */

static int run_list(struct gt_cli *cli, int argc, char **argv)
{
	json_t *list = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gpuprobe-checks/1", "checks", list);
	gt_auto(gt_table) *t = NULL;

	if (argc)
		return run_explain(cli, argc, argv);
	t = gt_table_new();
	gt_table_column(t, "NAME", GT_LEFT);
	gt_table_column(t, "EXPECTED STATE", GT_WRAP);
	for (size_t i = 0; pr_checks[i]; i++) {
		json_array_append_new(list, check_json(pr_checks[i]));
		gt_table_row(t);
		gt_table_cell(t, "%s", pr_checks[i]->id);
		gt_table_cell(t, "%s", pr_checks[i]->title);
	}
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		gt_table_print(t, stdout, cli->color);
	return 0;
}

const struct gt_cmd pr_cmd_list = {
	.name = "list",
	.args = "[NAME]",
	.group = "Record and look up",
	.summary = "List the checks, or explain one of them",
	.ignores = GT_ROOT_IGNORED,
	.max_args = 1,
	.word = check_word,
	.run = run_list,
};
