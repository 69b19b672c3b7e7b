/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers accept only their own format, and documents are parsed strictly. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "tests/unit/check_lib.h"

/* ---- parse ---------------------------------------------------------------------------------------------------- */

START_TEST(numbers_take_exactly_their_form)
{
	uint64_t u = 7;
	int64_t i = 7;
	double d = 7;

	ck_assert_int_eq(gt_parse_u64("18446744073709551615", &u), 0);
	ck_assert_uint_eq(u, UINT64_MAX);
	u = 7;
	ck_assert_int_eq(gt_parse_u64("18446744073709551616", &u), -ERANGE);
	ck_assert_int_eq(gt_parse_u64("", &u), -EINVAL);
	ck_assert_int_eq(gt_parse_u64(" 1", &u), -EINVAL);
	ck_assert_int_eq(gt_parse_u64("+1", &u), -EINVAL);
	ck_assert_int_eq(gt_parse_u64("-1", &u), -EINVAL);
	ck_assert_int_eq(gt_parse_u64("1 ", &u), -EINVAL);
	ck_assert_uint_eq(u, 7);
	ck_assert_int_eq(gt_parse_i64("-9223372036854775808", &i), 0);
	ck_assert(i == INT64_MIN);
	ck_assert_int_eq(gt_parse_i64("9223372036854775808", &i), -ERANGE);
	ck_assert_int_eq(gt_parse_hex("0x10de", &u), 0);
	ck_assert_uint_eq(u, 0x10de);
	ck_assert_int_eq(gt_parse_hex("0x", &u), -EINVAL);
	ck_assert_int_eq(gt_parse_double("1e-3", &d), 0);
	ck_assert(d == 1e-3);
	ck_assert_int_eq(gt_parse_double("nan", &d), -ERANGE);
	ck_assert_int_eq(gt_parse_double("1,5", &d), -EINVAL);
}
END_TEST

START_TEST(sizes_are_powers_of_1024)
{
	static const struct {
		const char *s;
		int r;
		uint64_t v;
	} t[] = { { "4096", 0, 4096 },	  { "64K", 0, 65536 },	  { "16MiB", 0, 16u << 20 }, { "2G", 0, 2ull << 30 },
		  { "5B", 0, 5 },	  { "1KB", 0, 1024 },	  { "K", -EINVAL, 0 },	     { "1X", -EINVAL, 0 },
		  { "1Kx", -EINVAL, 0 }, { "16E", -ERANGE, 0 }, { "-1K", -EINVAL, 0 } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		uint64_t v = 0;

		ck_assert_msg(gt_parse_size(t[i].s, &v) == t[i].r && v == t[i].v, "%s", t[i].s);
	}
}
END_TEST

START_TEST(versions_compare_by_number)
{
	ck_assert_int_lt(gt_version_cmp("550.54.15", "550.163.01"), 0);
	ck_assert_int_eq(gt_version_cmp("12.4", "12.4.0"), 0);
	ck_assert_int_gt(gt_version_cmp("13", "12.9.1"), 0);
	ck_assert_int_eq(gt_version_cmp("6.1.0-18-amd64", "6.1.0"), 0);
}
END_TEST

START_TEST(cpu_lists_and_masks_go_both_ways)
{
	static const struct {
		const char *in, *out;
	} t[] = { { "0-3,8,10-11", "0-3,8,10-11" }, { "", "" },	       { "\n", "" },   { "0-7:2/4\n", "0-1,4-5" },
		  { "5,3", "3,5" },		     { "63-64", "63-64" } };
	static const char *const bad[] = { "a", "1-", "3-1", "1,", ",1", "1-2:3/2", "1:1/0", "65536", "1\n2", "1 2" };
	gt_auto_set s = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *out = NULL;

		ck_assert_msg(!gt_parse_cpulist(t[i].in, &s), "%s", t[i].in);
		out = gt_set_format(&s);
		ck_assert_str_eq(out, t[i].out);
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++)
		ck_assert_msg(gt_parse_cpulist(bad[i], &s) < 0, "%s", bad[i]);
	ck_assert_int_eq(gt_parse_cpumask("00000001,80000000,00000003\n", &s), 0);
	gt_autofree char *out = gt_set_format(&s);
	ck_assert_str_eq(out, "0-1,63-64");
	ck_assert_int_lt(gt_parse_cpumask("xyz", &s), 0);
	ck_assert_int_lt(gt_parse_cpumask("", &s), 0);
}
END_TEST

START_TEST(a_4096_cpu_mask_is_read_whole)
{
	gt_auto_buf b = { 0 };
	gt_auto_set s = { 0 };

	for (int i = 0; i < 128; i++)
		gt_buf_puts(&b, i ? ",ffffffff" : "ffffffff");
	ck_assert_int_eq(gt_parse_cpumask(b.s, &s), 0);
	ck_assert_uint_eq(gt_set_count(&s), 4096);
	ck_assert(gt_set_has(&s, 4095) && !gt_set_has(&s, 4096));
	gt_set_del(&s, 0);
	ck_assert_int_eq(gt_set_next(&s, -1), 1);
}
END_TEST

START_TEST(string_lists_sort_by_version)
{
	gt_auto_strv sv = { 0 };

	for (int i = 20; i >= 0; i--)
		gt_strv_take(&sv, gt_xasprintf("node%d", i));
	gt_strv_sort(&sv);
	ck_assert_str_eq(sv.v[2], "node2");
	ck_assert_str_eq(sv.v[10], "node10");
	ck_assert_ptr_null(sv.v[21]);
	ck_assert(gt_strv_has(&sv, "node7") && !gt_strv_has(&sv, "node21"));
}
END_TEST

/* ---- text ----------------------------------------------------------------------------------------------------- */

START_TEST(words_and_lines_are_split_without_empty_ones)
{
	char text[] = "\n\none\ntwo three\n\nfour", *rest = NULL;
	gt_auto_buf seen = { 0 };

	gt_each_word(w, ",a,, b,c , ", ", ")
		gt_buf_printf(&seen, "<%s>", w);
	gt_each_word(w, NULL, ",")
		gt_buf_puts(&seen, w);
	gt_each_word(w, "d:e:f", ":") {
		if (!strcmp(w, "d"))
			continue;
		gt_buf_printf(&seen, "<%s>", w);
		break;
	}
	gt_each_line(line, text)
		gt_buf_printf(&seen, "[%s]", line);
	gt_each_line(line, NULL)
		gt_buf_puts(&seen, line);
	ck_assert_str_eq(seen.s, "<a><b><c><e>[one][two three][four]");
	ck_assert_ptr_null(gt_cut(&rest, " "));
	rest = text; /* "\n\none" with a NUL after it */
	ck_assert_str_eq(gt_cut(&rest, "\no"), "ne");
	ck_assert_str_eq(rest, ""); /* the last word is found before the next call */
	ck_assert_ptr_null(gt_cut(&rest, "\n"));
	ck_assert_ptr_null(gt_cut(&rest, "\n"));
}
END_TEST

START_TEST(a_word_is_found_whole_only)
{
	ck_assert(gt_word_in("iommu=pt", " ", "iommu=pt") && gt_word_in("a b,c", " ,", "b") && gt_word_in(" ,c", " ,", "c"));
	ck_assert(!gt_word_in("intel_iommu=pt iommu=ptx", " ", "iommu=pt"));
	ck_assert(!gt_word_in(NULL, " ", "a") && !gt_word_in("", " ", ""));
	ck_assert(gt_span_in("all few", " ", "fewer", 3) && !gt_span_in("all fewer", " ", "fewer", 3));
}
END_TEST

START_TEST(paths_are_split_at_the_last_slash)
{
	static const char *const paths[][3] = {
		{ "/a/b/c.so", "/a/b", "c.so" }, { "c.so", ".", "c.so" }, { "/c", "/", "c" }, { "d/", "d", "" }
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(paths); i++) {
		gt_autofree char *dir = gt_dirname(paths[i][0]);

		ck_assert_str_eq(dir, paths[i][1]);
		ck_assert_str_eq(gt_basename(paths[i][0]), paths[i][2]);
	}
}
END_TEST

START_TEST(a_descriptor_is_read_to_its_end_or_to_the_limit)
{
	gt_autoclose int fd = memfd_create("text", MFD_CLOEXEC);
	char *text = NULL;
	size_t len = 7;

	ck_assert_int_eq(gt_read_all(fd, 0, &text, &len), 0);
	ck_assert(len == 0 && !*text);
	free(text);
	for (int i = 0; i < 5000; i++) /* more than one read(2) */
		ck_assert_int_eq(gt_fd_write(fd, "0123456789", 10), 0);
	lseek(fd, 0, SEEK_SET);
	text = NULL;
	ck_assert_int_eq(gt_read_all(fd, 49999, &text, &len), -EFBIG);
	ck_assert(!text && len == 0);
	lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(gt_read_all(fd, 50000, &text, &len), 0);
	ck_assert(len == 50000 && strlen(text) == len && text[49999] == '9');
	free(text);
	lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(gt_read_up_to(fd, 49993, &text, NULL), 0);
	ck_assert(strlen(text) == 49993 && lseek(fd, 0, SEEK_CUR) == 49993);
	free(text);
	ck_assert_int_eq(gt_read_all(-1, 1, &text, NULL), -EBADF);
}
END_TEST

START_TEST(checksums_match_published_values)
{
	ck_assert_uint_eq(gt_crc32c("123456789", 9), 0xe3069283u); /* RFC 3720 B.4 */
	ck_assert(gt_hash64("a", 1, 0) == 0xaf63dc4c8601ec8cull); /* FNV-1a reference */
}
END_TEST

/* ---- json ----------------------------------------------------------------------------------------------------- */

START_TEST(documents_are_read_strictly)
{
	static const char *const bad[] = { "{", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "[1,]", "nul", "{\"a\":\"\xff\"}" };
	gt_auto_buf deep = { 0 };
	json_t *doc = NULL;
	struct gt_err err = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		ck_assert_msg(gt_json_parse(bad[i], strlen(bad[i]), "x.json", &doc, &err) < 0, "%s", bad[i]);
		ck_assert_msg(gt_starts_with(err.msg, "x.json:"), "%s", err.msg);
	}
	ck_assert_int_lt(gt_json_parse(" \n{}", 2, "x.json", &doc, &err), 0);
	ck_assert_str_eq(err.msg, "x.json is empty: it contains no JSON");
	for (int i = 0; i < 100000; i++)
		gt_buf_puts(&deep, "[");
	ck_assert_int_lt(gt_json_parse(deep.s, deep.len, "x.json", &doc, &err), 0);
	ck_assert_ptr_null(doc);
}
END_TEST

START_TEST(members_are_typed)
{
	static const char text[] = "{\"schema\":\"x/2\",\"s\":\"t\",\"i\":3,\"r\":1.5,\"a\":[],\"o\":{}}";
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };
	const char *s;
	int64_t i;
	double d;
	json_t *j;

	ck_assert_int_eq(gt_json_parse(text, sizeof(text) - 1, "x", &doc, &err), 0);
	ck_assert_int_eq(gt_json_req_str(doc, "s", &s, &err), 0);
	ck_assert_int_eq(gt_json_req_int(doc, "i", &i, &err), 0);
	ck_assert_int_eq(gt_json_req_real(doc, "i", &d, &err), 0);
	ck_assert(d == 3.0);
	ck_assert_int_eq(gt_json_req_array(doc, "a", &j, &err), 0);
	ck_assert_int_eq(gt_json_req_object(doc, "o", &j, &err), 0);
	ck_assert_int_lt(gt_json_req_int(doc, "r", &i, &err), 0);
	ck_assert_str_eq(err.msg, "\"r\" must be a whole number");
	ck_assert_int_lt(gt_json_req_str(doc, "none", &s, &err), 0);
	ck_assert_str_eq(err.msg, "\"none\" is missing");
	ck_assert_int_eq(gt_json_check_schema(doc, "x/2", "f", &err), 0);
	ck_assert_int_lt(gt_json_check_schema(doc, "x/1", "f", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "newer version"));
	ck_assert_int_lt(gt_json_check_schema(doc, "y/1", "f", &err), 0);
}
END_TEST

START_TEST(nan_becomes_null_and_bad_utf8_is_marked)
{
	gt_auto_json *nan_value = gt_json_real(NAN), *text = gt_json_str("a\xff\xc3\xa4"), *none = gt_json_str(NULL);

	ck_assert(json_is_null(nan_value) && json_is_null(none));
	ck_assert_str_eq(json_string_value(text), "a\xef\xbf\xbd\xc3\xa4");
}
END_TEST

TCase *lib_documents_case(void)
{
	TCase *tc = tcase_create("documents");
	const TTest *const tests[] = {
		numbers_take_exactly_their_form,
		sizes_are_powers_of_1024,
		versions_compare_by_number,
		cpu_lists_and_masks_go_both_ways,
		a_4096_cpu_mask_is_read_whole,
		string_lists_sort_by_version,
		words_and_lines_are_split_without_empty_ones,
		a_word_is_found_whole_only,
		paths_are_split_at_the_last_slash,
		a_descriptor_is_read_to_its_end_or_to_the_limit,
		checksums_match_published_values,
		documents_are_read_strictly,
		members_are_typed,
		nan_becomes_null_and_bad_utf8_is_marked,
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 60);
	return tc;
}
