/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe explain, gpuprobe list: what the checks look for, without looking at a host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/table.h"
#include "probe/check/check.h"
#include "probe/cmd/gpuprobe.h"

static json_t *check_json(const struct pr_check *k)
{
	json_t *after = json_array();

	for (const char *const *a = k->after; a && *a; a++)
		json_array_append_new(after, json_string(*a));
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", k->id, "title", k->title, "story", k->story, "messages",
			 gt_json_str(k->messages), "after", after);
}

/* match: how it was found. */
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

/* "driver.lib-mismacth" is a misspelt name and no message. */
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

static const char *kind_of(const struct pr_xid *x)
{
	return x->nvswitch ? "SXid" : "Xid";
}

/* The different Xid and SXid numbers of the text, in its order; how many. */
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

static void print_numbers(const struct pr_xid *x, size_t n)
{
	const struct pr_check *first = NULL;

	for (size_t i = 0; i < n; i++) {
		const char *id = pr_xid_check(&x[i]);

		if (!id)
			printf("%s %d: no entry; see NVIDIA's %s\n", kind_of(&x[i]), x[i].number,
			       x[i].nvswitch ? "Fabric Manager User Guide"
					     : "Xid catalogue, https://docs.nvidia.com/deploy/xid-errors");
		first = first || !id ? first : named(id);
	}
	if (first)
		print_story(first);
	for (size_t i = 0; i < n; i++) {
		const struct pr_check *k = pr_xid_check(&x[i]) ? named(pr_xid_check(&x[i])) : NULL;

		if (k && k != first)
			printf("\n%s %d: %s: %s\n", kind_of(&x[i]), x[i].number, k->id, k->title);
	}
}

/* 3 where a number has no entry. */
static int explain_numbers(const struct gt_cli *cli, const struct pr_xid *x, size_t n)
{
	json_t *checks = json_array(), *numbers = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o, s:o}", "schema", "gpuprobe-checks/1", "checks", checks, "numbers", numbers);
	bool unknown = false;

	for (size_t i = 0; i < n; i++) {
		const char *id = pr_xid_check(&x[i]);
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= gt_streq(pr_xid_check(&x[k]), id);
		json_array_append_new(numbers, json_pack("{s:s, s:i, s:o}", "kind", kind_of(&x[i]), "number", x[i].number, "check",
							 gt_json_str(id)));
		if (id && !again)
			json_array_append_new(checks, match_json(named(id), "number"));
		unknown |= !id;
	}
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_numbers(x, n);
	return unknown ? 3 : 0;
}

/* ---- by words ------------------------------------------------------------------------------------------------- */

static void print_matches(const struct pr_match *m, size_t n)
{
	size_t i = 0;

	if (m[0].sure)
		print_story(m[i++].check);
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

/* 3 where nothing was found. */
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

/* An id, a message with NVIDIA's number of an error, or another message; quoted or not. */
static int run_explain(struct gt_cli *cli, int argc, char **argv)
{
	const struct pr_check *k = argc == 1 ? named(argv[0]) : NULL;
	struct pr_xid numbers[MOST_NUMBERS];
	gt_auto_buf text = {0};
	size_t n;

	for (int i = 0; i < argc; i++)
		gt_buf_printf(&text, "%s%s", i ? " " : "", argv[i]);
	n = find_numbers(text.s ? text.s : "", numbers);
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
	if (looks_like_id(argc, argv[0])) {
		gt_autofree char *hint = gt_hint(argv[0], check_word, "gpuprobe list names them");

		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "there is no check '%.100s'; %s", argv[0], hint);
	}
	return explain_words(cli, text.s ? text.s : "");
}

const struct gt_cmd pr_cmd_explain = {
	.name = "explain",
	.args = "ID|MESSAGE...",
	.summary = "explain a check, an error number or a message",
	.help = "ID is a check's name (gpuprobe list). MESSAGE is a line of a program or of the kernel log, quoted or not. An "
		"Xid or SXid number in it decides alone; a number without an entry is reported as such (exit status 3). "
		"Otherwise the words of the message decide; other numbers and addresses are ignored. A check that has the "
		"message is explained. A check that has a part of its words is listed as a possible match. Without either the "
		"answer is \"no match\" (exit status 3). explain reads no host; gpuprobe without a command reports whether the "
		"host has the problem.",
	.min_args = 1,
	.max_args = -1,
	.only_reads = true,
	.word = check_word,
	.run = run_explain,
};

static int run_list(struct gt_cli *cli, int argc, char **argv)
{
	json_t *list = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gpuprobe-checks/1", "checks", list);
	gt_auto(gt_table) *t = gt_table_new();

	gt_table_column(t, "CHECK", GT_LEFT);
	gt_table_column(t, "WHAT SHOULD BE", GT_WRAP);
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

const struct gt_cmd pr_cmd_list = {.name = "list", .args = "", .summary = "list the checks", .run = run_list};
