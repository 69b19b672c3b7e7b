/* SPDX-License-Identifier: Apache-2.0 */
/* Views without a document: output of the three renderers, with foreign text escaped in each block. */
#include <stdio.h>
#include <string.h>
#include "bench/report/view.h"
#include "tests/unit/check_bench.h"

struct outputs {
	char *terminal;
	struct gt_buf markdown, page;
};

static void outputs_clear(struct outputs *o)
{
	free(o->terminal);
	gt_buf_clear(&o->markdown);
	gt_buf_clear(&o->page);
}

#define auto_outputs __attribute__((cleanup(outputs_clear))) struct outputs

static struct outputs render(const struct bn_view *v)
{
	struct outputs o = { 0 };
	size_t len;
	FILE *out = open_memstream(&o.terminal, &len);

	ck_assert_ptr_nonnull(out);
	bn_view_print(v, out, false);
	fclose(out);
	bn_view_markdown(v, &o.markdown);
	bn_view_html(v, &o.page);
	return o;
}

static struct bn_view *view(void)
{
	struct bn_view *v = bn_view_new(NULL, "gpubench test");

	bn_view_set(&v->headline, "WORSE: 2 %% slower");
	bn_view_set(&v->origin, "host h");
	v->class = bn_view_class("worse");
	return v;
}

static void ck_contains(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part), "no \"%s\" in:\n%.2000s", part, text);
}

static void ck_lacks(const char *text, const char *part)
{
	ck_assert_msg(!strstr(text, part), "\"%s\" in:\n%.2000s", part, text);
}

START_TEST(each_output_shows_its_own_blocks_and_columns)
{
	const struct bn_column columns[] = {
		{ "metric", BN_WORDS }, { "a.json", BN_NUMBER, .name = true }, { "alone", BN_WORDS, BN_FILES }
	};
	gt_auto(bn_view) *v = view();
	auto_outputs o = { 0 };

	bn_view_table(v, BN_ALL, columns, 3, "a legend");
	bn_view_row(v, "better");
	for (int i = 0; i < 3; i++)
		bn_view_cell(v, "cell%d", i);
	bn_view_add(v, BN_TEXT, BN_TERMINAL, "short");
	bn_view_add(v, BN_TEXT, BN_PAGE, "long");
	bn_view_add(v, BN_COMMAND, BN_PAGE, "env A=1  ls")->name = gt_xstrdup("Command");
	o = render(v);
	ck_contains(o.terminal, "METRIC a.json\ncell0   cell1\na legend\n\nshort\n");
	ck_contains(o.markdown.s, "a legend\n\n| metric | a.json | alone |\n| --- | ---: | --- |\n| cell0 | cell1 | cell2 |\n");
	ck_contains(o.page.s, "<th scope=\"col\" class=\"r\">a.json</th><th scope=\"col\" class=\"\">Alone</th>");
	ck_contains(o.page.s, "<td class=\"\" data-h=\"Alone\"><span>cell2</span></td>");
	ck_contains(o.page.s, "<code class=\"words\"><span>env</span> <span>A=1</span>  <span>ls</span></code>");
	ck_contains(o.page.s, "<th scope=\"row\"><span class=\"words\"><span>cell0</span></span></th>");
	ck_contains(o.page.s, "<p>long</p>");
	ck_lacks(o.terminal, "long");
	ck_lacks(o.markdown.s, "long");
	ck_lacks(o.page.s, "short");
}
END_TEST

START_TEST(the_verdict_is_last_on_a_terminal_and_first_elsewhere)
{
	gt_auto(bn_view) *v = view();
	auto_outputs o = { 0 };

	bn_view_section(v, 0, "results", "Results");
	bn_view_add(v, BN_TEXT, BN_ALL, "number");
	bn_view_section(v, 0, "changed", "Changed")->context = true;
	bn_view_add(v, BN_TEXT, BN_ALL, "setting");
	o = render(v);
	ck_assert_str_eq(o.terminal, "gpubench test, host h\nsetting\nnumber\nVERDICT WORSE: 2 % slower\n");
	ck_assert_str_eq(o.markdown.s, "**WORSE: 2 % slower**\n\ngpubench test, host h\n\nnumber\n\nsetting\n");
	ck_contains(o.page.s, "<div class=\"verdict worse\"><strong>WORSE</strong><p>2 % slower</p></div>");
	ck_contains(o.page.s, "<li><a href=\"#results\">Results</a></li><li><a href=\"#changed\">Changed</a></li>");
	ck_contains(strstr(o.page.s, "<p>number</p>"), "<p>setting</p>");
}
END_TEST

START_TEST(the_items_of_a_cell_are_lines_or_a_list)
{
	const struct bn_column columns[] = { { "host", BN_WORDS }, { "cause", BN_LONG } };
	gt_auto(bn_view) *v = view();
	auto_outputs o = { 0 };

	bn_view_table(v, BN_ALL, columns, 2, "");
	bn_view_row(v, NULL);
	bn_view_cell(v, "h");
	bn_view_cell(v, "%s", "");
	bn_view_cell_item(v, "one\nline");
	bn_view_cell_item(v, "two");
	o = render(v);
	ck_contains(o.terminal, "h    one?line\n     two\n");
	ck_contains(o.markdown.s, "| h | one?line; two |\n");
	ck_contains(o.page.s, "<ul><li>one?line</li><li>two</li></ul>");
}
END_TEST

START_TEST(a_matrix_is_shaded_and_the_keyboard_scrolls_it)
{
	const struct bn_column columns[] = { { "node", BN_WORDS }, { "0", BN_NUMBER } };
	gt_auto(bn_view) *v = view();
	auto_outputs o = { 0 };

	bn_view_table(v, BN_PAGE, columns, 2, "latency")->matrix = true;
	bn_view_row(v, NULL);
	bn_view_cell(v, "1");
	bn_view_cell(v, "80 ns\n2.00 x")->shade = 3;
	o = render(v);
	ck_contains(o.page.s, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"latency\"><table class=\"heat\">");
	ck_contains(o.page.s, "<td class=\"r h3\" data-h=\"0\">80 ns<br>2.00 x</td>");
}
END_TEST

/* In each kind of block, in each of its members. */
START_TEST(foreign_text_is_text_in_each_block_of_each_output)
{
	static const char evil[] = "<b>|x</b> `` \" \x1b[2J";
	const struct bn_column columns[] = { { evil, BN_LONG }, { evil, BN_CODE }, { evil, BN_JUDGED } };
	gt_auto(bn_view) *v = view();
	gt_auto_buf svg = { 0 };
	auto_outputs o = { 0 };

	bn_view_set(&v->headline, "%s", evil);
	bn_view_set(&v->origin, "%s", evil);
	bn_view_set(&v->design, "%s", evil);
	bn_view_section(v, BN_ALL, "id", evil);
	bn_view_add(v, BN_HEADING, BN_ALL, "%s", evil);
	bn_view_add(v, BN_TEXT, BN_ALL, "%s", evil);
	bn_view_add(v, BN_COMMAND, BN_ALL, "%s", evil)->name = gt_xstrdup(evil);
	bn_view_add(v, BN_ITEM, BN_ALL, "%s", evil)->more = gt_xstrdup(evil);
	bn_view_fact(v, BN_ALL, evil, evil);
	bn_view_table(v, BN_ALL, columns, 3, evil);
	bn_view_row(v, evil);
	for (int i = 0; i < 3; i++)
		bn_view_cell(v, "%s", evil);
	gt_buf_xml(&svg, evil);
	bn_view_figure(v, &svg, evil);
	bn_view_add(v, BN_DETAILS, BN_ALL, "%s", evil);
	bn_view_add(v, BN_END, BN_ALL, "%s", "");
	o = render(v);
	ck_lacks(o.terminal, "\x1b");
	ck_lacks(o.markdown.s, "\x1b");
	ck_lacks(o.page.s, "\x1b");
	ck_lacks(o.page.s, "<b>");
	ck_lacks(o.page.s, "\" ?"); /* a quote that ends an attribute */
	ck_contains(o.markdown.s, "``` <b>|x</b> `` \" ?[2J ```"); /* the fence is longer */
	ck_contains(o.markdown.s, "| \\<b>\\|x\\</b> \\`\\` \" ?\\[2J |");
	for (const char *p = o.markdown.s; (p = strstr(p, "<b>")); p++)
		ck_assert(p[-1] == '\\' || p[-1] == ' ');
}
END_TEST

TCase *bench_view_case(void)
{
	TCase *tc = tcase_create("views");

	tcase_add_test(tc, each_output_shows_its_own_blocks_and_columns);
	tcase_add_test(tc, the_verdict_is_last_on_a_terminal_and_first_elsewhere);
	tcase_add_test(tc, the_items_of_a_cell_are_lines_or_a_list);
	tcase_add_test(tc, a_matrix_is_shaded_and_the_keyboard_scrolls_it);
	tcase_add_test(tc, foreign_text_is_text_in_each_block_of_each_output);
	return tc;
}
