/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe explain, gpuprobe list: what the checks look for, without looking at a host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/table.h"
#include "probe/check/check.h"
#include "probe/gpuprobe.h"

static json_t *check_json(const struct pr_check *k)
{
	json_t *after = json_array();

	for (const char *const *a = k->after; a && *a; a++)
		json_array_append_new(after, json_string(*a));
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", k->id, "title", k->title, "story", k->story, "messages",
			 gt_json_str(k->messages), "after", after);
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

/* "driver.lib-mismacth" is a name misspelt, no message. */
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

/* An id, or a message as it was met: quoted or not. */
static int run_explain(struct gt_cli *cli, int argc, char **argv)
{
	const struct pr_check *found[PR_SEARCH_MOST] = {argc == 1 ? named(argv[0]) : NULL};
	size_t n = found[0] != NULL;
	gt_auto_buf text = {0};
	json_t *list;

	for (int i = 0; i < argc; i++)
		gt_buf_printf(&text, "%s%s", i ? " " : "", argv[i]);
	if (!n && !looks_like_id(argc, argv[0]))
		n = pr_check_search(text.s ? text.s : "", found);
	if (!n) {
		gt_autofree char *hint = gt_hint(argc == 1 ? argv[0] : "", check_word, "gpuprobe list names them");

		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "there is no check '%.100s', and none tells of such a message; %s", text.s ? text.s : "", hint);
	}
	if (cli->json) {
		gt_auto_json *doc =
			json_pack("{s:s, s:o}", "schema", "gpuprobe-checks/1", "checks", list = json_array());

		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, check_json(found[i]));
		gt_json_print(stdout, doc);
		return 0;
	}
	print_story(found[0]);
	if (n > 1)
		puts("\nThe same message leads to:");
	for (size_t i = 1; i < n; i++)
		printf("  %s: %s\n", found[i]->id, found[i]->title);
	return 0;
}

const struct gt_cmd pr_cmd_explain = {
	.name = "explain",
	.args = "ID|MESSAGE...",
	.summary = "tell the story of a check, or of the check that a message leads to",
	.help = "ID is a check's name (gpuprobe list). MESSAGE is what a program or the kernel said, as it was met: "
		"the check whose "
		"known messages fit it best is told, whatever the numbers and addresses in it. Looks at no host: "
		"gpuprobe "
		"itself says whether that is what is wrong here.",
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
