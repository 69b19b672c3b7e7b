/* SPDX-License-Identifier: Apache-2.0 */
/* Renderings fit the width, show only digits that the interval supports, and escape foreign text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/report/forms.h"
#include "bench/report/heat.h"
#include "bench/fleet/fleet.h"
#include "bench/ladder/ladder.h"
#include "bench/report/plots.h"
#include "bench/result/text.h"
#include "tests/unit/bench_generated.h"
#include "tests/unit/check_bench.h"

/* Takes ownership of the view. */
static void page_of(struct bn_view *v, struct gt_buf *out)
{
	bn_view_html(v, out);
	bn_view_free(v);
}

static const struct {
	double v;
	const char *unit, *want;
} values[] = {
	{.18244, "s", "182.4 ms"}, {1.5, "s", "1.500 s"},      {.0000123, "s", "12.30 us"},
	{54.69, "ns", "54.69 ns"}, {658800, "ns", "658.8 us"}, {341.2, "GB/s", "341.2 GB/s"},
	{NAN, "s", "-"},           {2e-12, "s", "0.002 ns"},
};

START_TEST(values_are_printed_in_a_readable_unit)
{
	ck_assert_str_eq(bn_text_value(values[_i].v, values[_i].unit).s, values[_i].want);
}
END_TEST

START_TEST(digits_are_trimmed_to_the_interval)
{
	const struct {
		double change, lo, hi;
		const char *text, *interval;
	} t[] = { { -2.412, -2.94, -1.83, "-2.4 %", "[-2.9, -1.8]" },
		  { 12.3, -15, 40, "+12 %", "[-15, +40]" },
		  { .0123, -.02, .04, "+0.01 %", "[-0.02, +0.04]" } };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		gt_auto_json *c = json_pack("{s:f, s:f, s:f}", "change_pct", t[i].change, "ci_low_pct", t[i].lo,
					    "ci_high_pct", t[i].hi);

		ck_assert_str_eq(bn_text_change(c).s, t[i].text);
		ck_assert_str_eq(bn_text_interval(c).s, t[i].interval);
	}
}
END_TEST

static char *text_of(const json_t *doc)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	gt_auto(bn_view) *v = bn_view_result(doc, true);

	bn_view_print(v, out, false);
	fclose(out);
	return text;
}

START_TEST(the_table_fits_a_hundred_columns_and_ends_with_the_verdict)
{
	gt_auto_json *doc = gen_pairs(9, 6, -.02, 0);
	gt_autofree char *text = NULL;
	char *save = NULL, *last = NULL;

	setenv("COLUMNS", "100", 1);
	gen_verdict(doc, NULL, NULL);
	text = text_of(doc);
	ck_assert_ptr_nonnull(strstr(text, "BETTER"));
	ck_assert_ptr_nonnull(strstr(text, "Other differences: none"));
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		ck_assert_msg(strlen(l) <= 100, "%s", l);
		last = l;
	}
	ck_assert_int_eq(strncmp(last, "VERDICT BETTER: w -2.0 %", 24), 0);
}
END_TEST

static json_t *hostile(void)
{
	static const char evil[] = "</script><img src=x onerror=alert(1)>\"'&|";
	json_t *doc = gen_pairs(9, 6, -.02, 0), *m = json_array_get(json_object_get(doc, "metrics"), 0);

	json_object_set_new(m, "unit", json_string(evil));
	json_object_set_new(json_object_get(doc, "host"), evil, json_string(evil));
	json_object_set_new(doc, "arms", json_pack("{s:s, s:s}", "a", evil, "b", evil));
	json_object_set_new(doc, "confounders",
			    json_pack("[{s:s, s:s, s:s, s:s}]", "key", evil, "from", evil, "to", evil, "when", evil));
	json_object_set_new(doc, "settings", json_pack("{s:{s:s}, s:{s:s}}", "a", evil, evil, "b", evil, "x"));
	gen_verdict(doc, NULL, NULL);
	return doc;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

START_TEST(a_page_escapes_foreign_text)
{
	gt_auto_json *doc = hostile();
	gt_auto_buf html = { 0 };

	page_of(bn_view_result(doc, true), &html);
	ck_assert_ptr_null(strstr(html.s, "<img"));
	ck_assert_uint_eq(count(html.s, "<script"), 1); /* the data */
	ck_assert_uint_eq(count(html.s, "</script"), 1);
	ck_assert_uint_eq(count(html.s, "<svg role="), 4); /* forest, run order, pairs, samples */
	ck_assert_uint_eq(count(html.s, "<title id="), 4);
	ck_assert_ptr_null(strstr(html.s, "http:"));
	ck_assert_ptr_null(strstr(html.s, "https:"));
}
END_TEST

START_TEST(pages_of_many_results_escape_foreign_text)
{
	bn_auto_result_set set = { 0 };
	gt_auto_json *fleet = NULL, *history = NULL;
	struct gt_buf page[2] = { { 0 }, { 0 } };

	for (int i = 0; i < 9; i++) {
		gt_auto_json *doc = hostile();
		gt_autofree char *path = gt_xasprintf("x/<script>%d</script>.json", i);

		json_object_set_new(json_object_get(doc, "host"), "identity", json_sprintf("</script><img %d>", i));
		json_object_set_new(json_object_get(doc, "host"), "cpu", json_string("<b onclick=x>"));
		json_object_set_new(json_object_get(doc, "run"), "interrupted", json_false());
		ck_assert_int_eq(bn_result_set_add(&set, path, doc, NULL), 0);
	}
	fleet = bn_fleet_judge(&set);
	history = bn_history_judge(&set, 1);
	page_of(bn_view_fleet(fleet), &page[0]);
	page_of(bn_view_history(history), &page[1]);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(count(page[i].s, "<script"), 1);
		ck_assert_uint_eq(count(page[i].s, "</script"), 1);
		ck_assert_ptr_null(strstr(page[i].s, "<img"));
		ck_assert_ptr_null(strstr(page[i].s, "<b "));
		ck_assert_uint_ge(count(page[i].s, "<svg role="), 1);
		gt_buf_clear(&page[i]);
	}
}
END_TEST

/* Every member of a document from a file is untrusted text, also members with a fixed list of values. */
START_TEST(a_judgement_from_a_file_lets_no_text_into_an_attribute)
{
	static const char evil[] = "x\"><h1>INJECTED</h1><a href=\"y";
	struct bn_view *(*const page[])(const json_t *doc) = { bn_view_fleet, bn_view_history, bn_view_ladder, bn_view_receipt };

	for (size_t i = 0; i < sizeof(page) / sizeof(page[0]); i++) {
		/* every name that a page prints, in the document and in its lists, two levels deep */
		static const char *const names[] = { "verdict", "metric", "unit", "direction", "role", "host", "name", "id",
						     "title", "what", "cpu", "kind", "method", "why", "from", "to", "revert",
						     "moved", "key", "value", "usual", "result", "started", "text", "hint" };
		static const char *const lists[] = { "metrics", "hosts", "outliers", "causes", "changes", "settings", "values",
						     "ladders", "rungs", "knobs", "not_measured", "warnings", "confounders" };
		gt_auto_json *plain = json_pack("{s:b, s:f, s:f, s:f, s:f, s:f}", "judged", 1, "median", 1., "deviation_pct", 1.,
						"speedup", 2., "speedup_low", 1.5, "speedup_high", 2.5);
		gt_auto_json *inner = NULL, *doc = NULL;
		gt_auto_buf html = { 0 };

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			json_object_set_new(plain, names[k], json_string(evil));
		inner = json_copy(plain);
		doc = json_copy(plain);
		for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
			json_object_set_new(inner, lists[k], json_pack("[O]", plain));
			json_object_set_new(doc, lists[k], json_pack("[O]", inner));
		}
		page_of(page[i](doc), &html);
		ck_assert_uint_eq(count(html.s, "<h1>"), 1);
		ck_assert_ptr_null(strstr(html.s, "<h1>INJECTED"));
		ck_assert_ptr_null(strstr(html.s, "href=\"y"));
	}
}
END_TEST

/* Every sample after warm-up is drawn or counted as omitted, and both arms share one scale. */
START_TEST(the_spread_shows_all_samples_of_both_arms)
{
	gt_auto_json *doc = gen_pairs(9, 6, -.02, 0);
	json_t *metric = json_array_get(json_object_get(doc, "metrics"), 0);
	gt_auto_buf svg = { 0 }, none = { 0 };

	ck_assert(bn_plot_samples(doc, metric, 0, &svg));
	ck_assert_uint_eq(count(svg.s, " hist\""), 2);
	ck_assert_uint_eq(count(svg.s, "class=\"median\""), 2);
	json_object_set_new(doc, "launches", json_array());
	ck_assert(!bn_plot_samples(doc, metric, 0, &none));
	ck_assert_uint_eq(none.len, 0);
}
END_TEST

START_TEST(the_embedded_data_is_the_document)
{
	gt_auto_json *doc = hostile(), *back = NULL;
	gt_auto_buf html = { 0 };
	const char *from, *to;

	page_of(bn_view_result(doc, true), &html);
	from = strchr(strstr(html.s, "id=\"gpubench-result\""), '\n') + 1;
	to = strstr(from, "</script>");
	ck_assert_int_eq(gt_json_parse(from, (size_t)(to - from), "page", &back, NULL), 0);
	ck_assert(json_equal(json_object_get(doc, "host"), json_object_get(back, "host")));
	ck_assert_uint_eq(json_array_size(json_object_get(back, "launches")), 30);
}
END_TEST

START_TEST(temperature_and_clock_are_plotted_if_known)
{
	gt_auto_json *doc = gen_pairs(9, 6, -.02, 0);
	gt_auto_buf bare = { 0 }, with = { 0 };
	json_t *l;
	size_t i;

	gen_verdict(doc, NULL, NULL);
	page_of(bn_view_result(doc, true), &bare);
	ck_assert_uint_eq(count(bare.s, "class=\"strip\""), 0);
	json_array_foreach(json_object_get(doc, "launches"), i, l)
		json_object_set_new(l, "env", json_pack("{s:f, s:o}", "temp_c", 61. + (double)i, "cpu_mhz",
							gt_json_real(i == 4 ? 1e300 : i ? NAN : 2400.)));
	page_of(bn_view_result(doc, true), &with);
	ck_assert_uint_eq(count(with.s, "class=\"strip\""), 1); /* a line needs more than one known clock */
	ck_assert_uint_eq(count(with.s, "hottest zone: 61 to 90 \xc2\xb0""C"), 2); /* drawn and described */
	ck_assert_uint_eq(count(with.s, "mean clock"), 0);
}
END_TEST

/* Three metrics with narrow intervals set the axis; the fourth exceeds it. */
static char *forest_of(double lo, double estimate, double hi)
{
	gt_auto_json *doc = json_pack("{s:[]}", "comparisons");
	struct gt_buf svg = { 0 };

	for (int i = 0; i < 4; i++) {
		double from = i < 3 ? -1 : lo, at = i < 3 ? 0 : estimate, to = i < 3 ? 1 : hi;

		json_t *aa = json_pack("{s:o, s:o}", "ci_low_pct", gt_json_real(from), "ci_high_pct",
				       gt_json_real(isnan(from) ? NAN : 1));

		json_array_append_new(json_object_get(doc, "comparisons"),
				      json_pack("{s:s, s:s, s:f, s:o, s:o, s:o, s:o}", "metric", "m", "direction", "higher",
						"margin_pct", 1., "ci_low_pct", gt_json_real(from), "change_pct",
						gt_json_real(at), "ci_high_pct", gt_json_real(to), "aa", aa));
	}
	bn_plot_forest(doc, &svg);
	return svg.s;
}

START_TEST(intervals_beyond_the_axis_end_in_an_arrowhead)
{
	static const struct {
		double lo, estimate, hi;
		size_t left, right, both_left, both_right, marks, box; /* marks: drawn estimates; box: lines of dashed boxes */
	} t[] = { { -1, 0, 1, 0, 0, 0, 0, 4, 16 },	{ -50, 0, 1, 1, 0, 0, 0, 4, 15 },
		  { -1, 0, 50, 0, 1, 0, 0, 4, 16 },	{ -50, 0, 50, 1, 1, 0, 0, 4, 15 },
		  { -1, 40, 50, 0, 0, 0, 1, 3, 16 },	{ 2, 40, 50, 0, 0, 0, 1, 3, 16 },
		  { -50, -40, -30, 0, 0, 1, 0, 3, 15 }, { NAN, 40, NAN, 0, 0, 0, 1, 3, 12 },
		  { NAN, NAN, NAN, 0, 0, 0, 0, 3, 12 } };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		gt_autofree char *svg = forest_of(t[i].lo, t[i].estimate, t[i].hi);

		ck_assert_uint_eq(count(svg, "d=\"M5-6L-1 0 5 6\""), t[i].left);
		ck_assert_uint_eq(count(svg, "d=\"M-5-6L1 0-5 6\""), t[i].right);
		ck_assert_uint_eq(count(svg, "d=\"M5-6L-1 0 5 6M"), t[i].both_left);
		ck_assert_uint_eq(count(svg, "d=\"M-5-6L1 0-5 6M"), t[i].both_right);
		ck_assert_uint_eq(count(svg, "class=\"open\""), t[i].marks);
		ck_assert_uint_eq(count(svg, "class=\"aab\""), t[i].box);
	}
}
END_TEST

static json_t *by_node(size_t nodes, const char *unit)
{
	json_t *doc = json_pack("{s:{s:s}, s:[], s:[]}", "run", "design", "single", "metrics", "levels");

	for (size_t cpu = 0; cpu < nodes; cpu++)
		for (size_t mem = 0; mem < nodes; mem++) {
			gt_autofree char *id = gt_xasprintf("w.cpu%zu-mem%zu", cpu, 2 * mem);
			double v = cpu == mem ? 100 : 40 + (double)cpu;

			if (cpu == 1 && mem == 0)
				continue; /* a cell that was not measured */
			json_array_append_new(json_object_get(doc, "metrics"),
					      json_pack("{s:s, s:s, s:s}", "id", id, "unit", unit, "direction", "higher"));
			json_array_append_new(json_object_get(doc, "levels"),
					      json_pack("{s:s, s:s, s:s, s:f}", "metric", id, "kind", "single", "arm", "A",
							"median", v));
		}
	return doc;
}

static void nodes_of(const json_t *doc, struct gt_buf *out)
{
	gt_auto(bn_view) *v = bn_view_new(doc, "gpubench");

	bn_heat_tables(v, doc);
	bn_view_html(v, out);
}

START_TEST(series_by_node_become_a_table_with_shaded_numbers)
{
	gt_auto_json *doc = by_node(2, "GB/s"), *lone = by_node(1, "GB/s"), *evil = by_node(2, "<img>");
	gt_auto_buf html = { 0 }, none = { 0 };

	ck_assert(bn_heat_any(doc) && !bn_heat_any(lone));
	nodes_of(doc, &html);
	ck_assert_uint_eq(count(html.s, "<table"), 1);
	ck_assert_uint_eq(count(html.s, "<th scope=\"row\">node 1</th>"), 1);
	ck_assert_uint_eq(count(html.s, "memory of node 2</th>"), 1);
	ck_assert_uint_eq(count(html.s, "\">100.0 GB/s<br>best</td>"), 2);
	ck_assert_uint_eq(count(html.s, "<td class=\"r h"), 1); /* the best cells have no shade */
	ck_assert_uint_eq(count(html.s, "<td class=\"r h4\" data-h=\"memory of node 2\">40.00 GB/s<br>2.50\xc3\x97</td>"), 1);
	ck_assert_uint_eq(count(html.s, "not measured</td>"), 1);
	nodes_of(evil, &none);
	ck_assert_ptr_null(strstr(none.s, "<img"));
}
END_TEST

/* Paths to and from a GPU are separate matrices. */
START_TEST(copies_by_gpu_and_node_become_a_table_for_each_way)
{
	gt_auto_json *doc = json_pack("{s:{s:s}, s:[], s:[]}", "run", "design", "single", "metrics", "levels");
	gt_auto_buf html = { 0 };

	for (int i = 0; i < 8; i++) {
		gt_autofree char *id = gt_xasprintf("gpu.matrix.pinned.%s.gpu%d-mem%d", i / 4 ? "from" : "to", i / 2 % 2, i % 2);

		json_array_append_new(json_object_get(doc, "metrics"),
				      json_pack("{s:s, s:s, s:s}", "id", id, "unit", "GB/s", "direction", "higher"));
		json_array_append_new(json_object_get(doc, "levels"),
				      json_pack("{s:s, s:s, s:s, s:f}", "metric", id, "kind", "single", "arm", "A", "median",
						i / 2 % 2 == i % 2 ? 50. : 25.));
	}
	ck_assert(bn_heat_any(doc));
	nodes_of(doc, &html);
	ck_assert_uint_eq(count(html.s, "<table"), 2);
	ck_assert_uint_eq(count(html.s, "<th scope=\"row\">GPU 1</th>"), 2);
	ck_assert_uint_eq(count(html.s, "memory of node 1</th>"), 2);
	ck_assert_uint_eq(count(html.s, "\">25.00 GB/s<br>2.00\xc3\x97</td>"), 4);
	ck_assert_uint_eq(count(html.s, "<td class=\"r h3\""), 4);
}
END_TEST

/* Does the same for a document that was not read from a file, where control characters are replaced. */
START_TEST(no_output_holds_a_control_character)
{
	gt_auto_json *doc = hostile();
	gt_autofree char *text = NULL;
	gt_auto(bn_view) *v = NULL;
	gt_auto_buf html = { 0 }, md = { 0 };

	json_object_set_new(json_object_get(doc, "arms"), "a", json_string("\x1b[2J"));
	text = text_of(doc);
	v = bn_view_result(doc, true);
	bn_view_html(v, &html);
	bn_view_markdown(v, &md);
	ck_assert_ptr_null(strchr(text, '\x1b'));
	ck_assert_ptr_null(strchr(html.s, '\x1b'));
	ck_assert_ptr_null(strchr(md.s, '\x1b'));
	ck_assert_ptr_nonnull(strstr(md.s, "?\\[2J"));
}
END_TEST

START_TEST(markdown_keeps_foreign_text_in_its_cell)
{
	gt_auto_json *doc = hostile();
	gt_auto(bn_view) *v = bn_view_result(doc, true);
	gt_auto_buf md = { 0 };

	bn_view_markdown(v, &md);
	ck_assert_ptr_null(strstr(md.s, " <img"));
	ck_assert_ptr_nonnull(strstr(md.s, "\\|"));
	ck_assert_ptr_nonnull(strstr(md.s, "| w \\[P\\] |"));
}
END_TEST

TCase *bench_report_case(void)
{
	TCase *tc = tcase_create("reports");

	tcase_add_loop_test(tc, values_are_printed_in_a_readable_unit, 0, sizeof(values) / sizeof(values[0]));
	tcase_add_test(tc, digits_are_trimmed_to_the_interval);
	tcase_add_test(tc, the_table_fits_a_hundred_columns_and_ends_with_the_verdict);
	tcase_add_test(tc, a_page_escapes_foreign_text);
	tcase_add_test(tc, pages_of_many_results_escape_foreign_text);
	tcase_add_test(tc, a_judgement_from_a_file_lets_no_text_into_an_attribute);
	tcase_add_test(tc, the_spread_shows_all_samples_of_both_arms);
	tcase_add_test(tc, the_embedded_data_is_the_document);
	tcase_add_test(tc, temperature_and_clock_are_plotted_if_known);
	tcase_add_test(tc, intervals_beyond_the_axis_end_in_an_arrowhead);
	tcase_add_test(tc, copies_by_gpu_and_node_become_a_table_for_each_way);
	tcase_add_test(tc, series_by_node_become_a_table_with_shaded_numbers);
	tcase_add_test(tc, no_output_holds_a_control_character);
	tcase_add_test(tc, markdown_keeps_foreign_text_in_its_cell);
	return tc;
}
