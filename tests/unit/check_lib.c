/* SPDX-License-Identifier: Apache-2.0 */
/* Promises of lib/: parsers take exactly their form, documents are read strictly, the door lets nothing out, a write is
 * whole or absent whatever fails, children end in time, the option tables say one thing. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/cli.h"
#include "lib/cli_doc.h"
#include "lib/dl.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/parse.h"
#include "lib/priv.h"
#include "lib/spawn.h"
#include "lib/table.h"

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

START_TEST(checksums_match_known_answers)
{
	ck_assert_uint_eq(gt_crc32c("123456789", 9), 0xe3069283u); /* RFC 3720 B.4 */
	ck_assert(gt_hash64("a", 1, 0) == 0xaf63dc4c8601ec8cull); /* FNV-1a reference */
}
END_TEST

/* ---- json ----------------------------------------------------------------------------------------------------- */

START_TEST(documents_are_read_strictly)
{
	static const char *const bad[] = { "", "{", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "[1,]", "nul", "{\"a\":\"\xff\"}" };
	gt_auto_buf deep = { 0 };
	json_t *doc = NULL;
	struct gt_err err = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		ck_assert_msg(gt_json_parse(bad[i], strlen(bad[i]), "x.json", &doc, &err) < 0, "%s", bad[i]);
		ck_assert_msg(gt_starts_with(err.msg, "x.json:"), "%s", err.msg);
	}
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

START_TEST(what_json_lacks_becomes_null_and_bad_utf8_is_marked)
{
	gt_auto_json *nan_value = gt_json_real(NAN), *text = gt_json_str("a\xff\xc3\xa4"), *none = gt_json_str(NULL);

	ck_assert(json_is_null(nan_value) && json_is_null(none));
	ck_assert_str_eq(json_string_value(text), "a\xef\xbf\xbd\xc3\xa4");
}
END_TEST

/* ---- door ----------------------------------------------------------------------------------------------------- */

static char *new_root(void)
{
	char *dir = gt_xstrdup("/tmp/check_lib.XXXXXX");
	char cmd[4096];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(cmd, sizeof(cmd), "%s/etc", dir);
	ck_assert_int_eq(mkdir(cmd, 0755), 0);
	return dir;
}

static void put(const char *root, const char *path, const char *text)
{
	gt_autofree char *full = gt_xasprintf("%s%s", root, path);

	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	ck_assert_int_eq(gt_file_write(full, text, strlen(text), 0644, NULL), 0);
}

static void drop_root(char *root)
{
	char *argv[] = { "rm", "-rf", root, NULL };
	struct gt_spawn s = { .argv = argv };

	ck_assert_int_eq(gt_spawn(&s, NULL), 0);
	gt_spawn_clear(&s);
	free(root);
}

static char *content(struct gt_fsroot *fs, const char *path)
{
	char *text = NULL;

	return gt_fs_read(fs, path, &text, NULL) < 0 ? gt_xstrdup("(none)") : text;
}

#define assert_content(fs, path, want)                                                                                 \
	do {                                                                                                           \
		gt_autofree char *have = content(fs, path);                                                            \
		ck_assert_str_eq(have, want);                                                                          \
	} while (0)

START_TEST(no_link_leads_out_of_a_root)
{
	char *root = new_root();
	gt_autofree char *a = gt_xasprintf("%s/etc/abs", root), *b = gt_xasprintf("%s/etc/up", root),
			 *c = gt_xasprintf("%s/etc/loop", root);
	gt_auto(gt_fsroot) *fs = NULL;
	gt_autofree char *text = NULL, *real = NULL;

	ck_assert_int_eq(symlink("/etc/passwd", a), 0);
	ck_assert_int_eq(symlink("../../../../../../etc/passwd", b), 0);
	ck_assert_int_eq(symlink("loop", c), 0);
	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	ck_assert_int_eq(gt_fs_read(fs, "/etc/abs", &text, NULL), -ENOENT);
	ck_assert_int_eq(gt_fs_read(fs, "/etc/up", &text, NULL), -ENOENT);
	ck_assert_int_eq(gt_fs_read(fs, "/../../../etc/passwd", &text, NULL), -ENOENT);
	ck_assert_int_eq(gt_fs_read(fs, "/etc/loop", &text, NULL), -ELOOP);
	ck_assert_int_eq(gt_fs_read(fs, "/etc", &text, NULL), -EISDIR);
	put(root, "/etc/passwd", "inside\n");
	assert_content(fs, "/etc/abs", "inside\n");
	ck_assert_int_eq(gt_fs_realpath(fs, "/etc/up", &real), 0);
	ck_assert_str_eq(real, "/etc/passwd");
	ck_assert_int_eq(gt_fs_require_live(fs, "this", NULL), -EPERM);
	drop_root(root);
}
END_TEST

/* Renames without end, until killed. */
static pid_t start_renaming(const char *root)
{
	pid_t pid = fork();

	if (!pid) {
		gt_autofree char *a = gt_xasprintf("%s/a", root), *b = gt_xasprintf("%s/b", root);

		close(open(a, O_CREAT | O_WRONLY, 0600));
		for (;;)
			if (rename(a, b) < 0)
				rename(b, a);
	}
	return pid;
}

START_TEST(a_rename_elsewhere_hides_no_file)
{
	char *root = new_root();
	gt_autofree char *link = gt_xasprintf("%s/etc/up", root);
	gt_auto(gt_fsroot) *fs = NULL;
	pid_t pid[2];
	int missed = 0;

	put(root, "/sys/x", "here\n");
	ck_assert_int_eq(symlink("../etc/../sys/../sys/x", link), 0);
	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	for (int i = 0; i < 2; i++)
		pid[i] = start_renaming(root);
	for (int i = 0; i < 20000; i++)
		missed += !gt_fs_exists(fs, "/etc/up");
	for (int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	ck_assert_int_eq(missed, 0);
	drop_root(root);
}
END_TEST

START_TEST(a_root_that_is_none_is_refused)
{
	char dir[] = "/tmp/check_lib.XXXXXX";
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_lt(gt_fs_open(dir, &fs, &err), 0);
	ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
	ck_assert_int_lt(gt_fs_open("/nonexistent", &fs, &err), 0);
	ck_assert_ptr_null(fs);
	rmdir(dir);
}
END_TEST

START_TEST(kernel_files_read_back_as_the_kernel_shows_them)
{
	char *root = new_root();
	gt_auto(gt_fsroot) *fs = NULL;

	put(root, "/sys/thp", "always [madvise] never\n");
	put(root, "/proc/sys/vm/dirty_ratio", "20\n");
	put(root, "/proc/sys/vm/dirty_bytes", "0\n");
	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	ck_assert_int_eq(gt_fs_write_value(fs, "/sys/thp", "never"), 0);
	assert_content(fs, "/sys/thp", "always madvise [never]\n");
	ck_assert_int_eq(gt_fs_write_value(fs, "/sys/thp", "sometimes"), -EINVAL);
	assert_content(fs, "/sys/thp", "always madvise [never]\n");
	ck_assert_int_eq(gt_fs_write_value(fs, "/proc/sys/vm/dirty_bytes", "4194304"), 0);
	assert_content(fs, "/proc/sys/vm/dirty_ratio", "0\n");
	ck_assert_int_eq(gt_fs_write_value(fs, "/proc/sys/vm/none", "1"), -ENOENT);
	drop_root(root);
}
END_TEST

START_TEST(an_atomic_write_is_whole_or_absent_whatever_step_fails)
{
	char *root = new_root();
	bool done = false;

	for (unsigned n = 1; !done; n++) {
		gt_auto(gt_fsroot) *fs = NULL;
		gt_auto_strv names = { 0 };
		int r;

		put(root, "/etc/f", "old\n");
		ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
		gt_fs_fault(fs, n, ENOSPC, false);
		r = gt_fs_write_atomic(fs, "/etc/f", "new\n", 4, 0644);
		done = r == 0;
		ck_assert_int_eq(r, done ? 0 : -ENOSPC);
		gt_autofree char *text = content(fs, "/etc/f");
		/* the last step, syncing the directory, comes after the rename */
		ck_assert_msg(!strcmp(text, "old\n") || !strcmp(text, "new\n"), "step %u left %s", n, text);
		ck_assert_int_eq(gt_fs_list(fs, "/etc", &names), 0);
		ck_assert_uint_eq(names.n, 1);
		ck_assert_uint_lt(n, 10);
		if (done)
			ck_assert_str_eq(text, "new\n");
	}
	drop_root(root);
}
END_TEST

START_TEST(a_failed_append_leaves_no_half_record)
{
	char *root = new_root();

	for (unsigned n = 1; n <= 2; n++) {
		gt_auto(gt_fsroot) *fs = NULL;

		put(root, "/etc/j", "one\n");
		ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
		gt_fs_fault(fs, n + 1, EIO, true);
		ck_assert_int_eq(gt_fs_append_sync(fs, "/etc/j", "two\n", 4), -EIO);
		assert_content(fs, "/etc/j", "one\n");
		gt_fs_fault(fs, 0, 0, false);
		ck_assert_int_eq(gt_fs_append_sync(fs, "/etc/j", "two\n", 4), 0);
		assert_content(fs, "/etc/j", "one\ntwo\n");
	}
	drop_root(root);
}
END_TEST

START_TEST(a_lock_keeps_others_out)
{
	char *root = new_root();
	gt_auto(gt_fsroot) *fs = NULL;
	int a = -1, b = -1;

	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	ck_assert_int_eq(gt_fs_mkdirs(fs, "/var/lib/x", 0700), 0);
	ck_assert_int_eq(gt_fs_lock(fs, "/var/lib/x/lock", &a), 0);
	ck_assert_int_eq(gt_fs_lock(fs, "/var/lib/x/lock", &b), -EWOULDBLOCK);
	close(a);
	ck_assert_int_eq(gt_fs_lock(fs, "/var/lib/x/lock", &b), 0);
	close(b);
	drop_root(root);
}
END_TEST

/* ---- capture -------------------------------------------------------------------------------------------------- */

static const char capture_text[] = "gpuprobe-capture/1\n"
				   "dir  /sys/empty\n"
				   "link /sys/dev ../etc/with\\040blank\n"
				   "deny /proc/kmsg EACCES\n"
				   "file /etc/with\\040blank\n"
				   "\tone\n"
				   "\t\ttwo\n"
				   "bare /etc/bare\n"
				   "\t60\n"
				   "file /etc/nothing\n"
				   "hex  /etc/raw\n"
				   "\tde100a00\n";

static char *save_capture(const char *text, size_t len)
{
	char *path = gt_xstrdup("/tmp/check_lib.XXXXXX");
	int fd = mkstemp(path);

	ck_assert(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
	return path;
}

START_TEST(a_capture_replays_what_it_says)
{
	gt_autofree char *path = save_capture(capture_text, sizeof(capture_text) - 1), *text = NULL, *raw = NULL;
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto_strv names = { 0 };
	struct gt_err err = { 0 };
	size_t len;

	ck_assert_msg(!gt_fs_open(path, &fs, &err), "%s", err.msg);
	assert_content(fs, "/sys/dev", "one\n\ttwo\n");
	assert_content(fs, "/etc/bare", "60");
	assert_content(fs, "/etc/nothing", "");
	ck_assert_int_eq(gt_fs_read(fs, "/proc/kmsg", &text, NULL), -EACCES);
	ck_assert_int_eq(gt_fs_read(fs, "/etc/raw", &raw, &len), 0);
	ck_assert(len == 4 && !memcmp(raw, "\xde\x10\x0a\x00", 4));
	ck_assert_int_eq(gt_fs_list(fs, "/sys/empty", &names), 0);
	ck_assert_uint_eq(names.n, 0);
	ck_assert_int_eq(gt_fs_write_value(fs, "/etc/bare", "1"), -EROFS);
	unlink(path);
}
END_TEST

START_TEST(writing_a_capture_of_a_capture_gives_it_back)
{
	gt_autofree char *path = save_capture(capture_text, sizeof(capture_text) - 1), *path2 = NULL;
	gt_auto(gt_fsroot) *fs = NULL, *again = NULL;
	gt_auto_buf one = { 0 }, two = { 0 };
	gt_auto_strv paths = { 0 };
	static const char *const all[] = { "/sys/empty", "/sys/dev",  "/proc/kmsg",
					   "/etc/bare",	 "/etc/nothing", "/etc/raw" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(all); i++)
		gt_strv_add(&paths, all[i]);
	ck_assert_int_eq(gt_fs_open(path, &fs, NULL), 0);
	gt_capture_write(fs, &paths, &one);
	path2 = save_capture(one.s, one.len);
	ck_assert_int_eq(gt_fs_open(path2, &again, NULL), 0);
	gt_capture_write(again, &paths, &two);
	ck_assert_str_eq(one.s, two.s);
	ck_assert_ptr_nonnull(strstr(one.s, "link /sys/dev ../etc/with\\040blank\n"));
	ck_assert_ptr_nonnull(strstr(one.s, "deny /proc/kmsg EACCES\n"));
	ck_assert_ptr_nonnull(strstr(one.s, "file /etc/with\\040blank\n\tone\n\t\ttwo\n"));
	unlink(path);
	unlink(path2);
}
END_TEST

START_TEST(a_hostile_capture_is_refused_with_its_line)
{
	static const char *const bad[] = {
		"",
		"hello\n",
		"gpuprobe-capture/1\nfile ../etc/passwd\n",
		"gpuprobe-capture/1\nfile /etc/../../passwd\n",
		"gpuprobe-capture/1\nfile /etc//x\n",
		"gpuprobe-capture/1\nlink /etc /tmp\nfile /etc/x\n\ty\n",
		"gpuprobe-capture/1\nfile /etc/x\nfile /etc/x\n",
		"gpuprobe-capture/1\nfile /etc/x\nfile /etc/x/y\n",
		"gpuprobe-capture/1\n\tcontent\n",
		"gpuprobe-capture/1\nhex  /x\n\tzz\n",
		"gpuprobe-capture/1\nhex  /x\n\tabc\n",
		"gpuprobe-capture/1\ndeny /x NOSUCH\n",
		"gpuprobe-capture/1\nlink /x\n",
		"gpuprobe-capture/1\nwhat /x\n",
		"gpuprobe-capture/1\nfile /x\\000\n",
		"gpuprobe-capture/1\nfile /x\n\tcut off",
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		gt_autofree char *path = save_capture(bad[i], strlen(bad[i]));
		struct gt_fsroot *fs = NULL;
		struct gt_err err = { 0 };

		ck_assert_msg(gt_fs_open(path, &fs, &err) < 0, "accepted: %s", bad[i]);
		ck_assert_msg(gt_starts_with(err.msg, path), "%s", err.msg);
		ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
		unlink(path);
	}
}
END_TEST

START_TEST(recording_remembers_every_path_once)
{
	char *root = new_root();
	gt_auto(gt_fsroot) *fs = NULL;
	gt_autofree char *text = NULL;
	const struct gt_strv *paths;

	put(root, "/etc/x", "1\n");
	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	gt_fs_record(fs);
	for (int i = 0; i < 3; i++) {
		int64_t v;

		ck_assert_int_eq(gt_fs_read_i64(fs, "/etc/x", &v), 0);
		ck_assert(!gt_fs_exists(fs, "/etc/absent"));
	}
	paths = gt_fs_recorded(fs);
	ck_assert_uint_eq(paths->n, 2);
	ck_assert_str_eq(paths->v[0], "/etc/x");
	ck_assert_str_eq(paths->v[1], "?/etc/absent");
	drop_root(root);
}
END_TEST

/* ---- spawn ---------------------------------------------------------------------------------------------------- */

START_TEST(children_answer_fail_and_end_in_time)
{
	char *echo[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL }, *none[] = { "/nonexistent/x", NULL },
	     *forever[] = { "sh", "-c", "trap '' TERM; while :; do sleep 1; done", NULL };
	struct gt_spawn s = { .argv = echo };
	struct gt_err err = { 0 };

	ck_assert_int_eq(gt_spawn(&s, &err), 0);
	ck_assert_int_eq(s.status, 3);
	ck_assert_str_eq(s.out, "out\n");
	ck_assert_str_eq(s.errout, "err\n");
	gt_spawn_clear(&s);
	s = (struct gt_spawn){ .argv = none };
	ck_assert_int_eq(gt_spawn(&s, &err), -ENOENT);
	ck_assert_str_eq(err.msg, "cannot run /nonexistent/x: No such file or directory");
	gt_spawn_clear(&s);
	s = (struct gt_spawn){ .argv = forever, .timeout_s = 0.1 };
	ck_assert_int_eq(gt_spawn(&s, &err), -ETIMEDOUT);
	ck_assert(s.timed_out && s.status == 128 + SIGKILL);
	gt_spawn_clear(&s);
}
END_TEST

static int answer(void *arg, struct gt_err *err)
{
	return write(STDOUT_FILENO, arg, strlen(arg)) < 0 ? -1 : 7;
}

static int refuse(void *arg, struct gt_err *err)
{
	return gt_fail(err, EPERM, "the child says why");
}

START_TEST(a_function_can_run_in_a_child)
{
	struct gt_spawn s = { .in_child = answer, .arg = "hello", .max_output = 3 };
	struct gt_err err = { 0 };

	ck_assert_int_eq(gt_spawn(&s, &err), 0);
	ck_assert_int_eq(s.status, 7);
	ck_assert_str_eq(s.out, "hel");
	ck_assert(s.truncated);
	gt_spawn_clear(&s);
	s = (struct gt_spawn){ .in_child = refuse };
	ck_assert_int_eq(gt_spawn(&s, &err), -EPERM);
	ck_assert_str_eq(err.msg, "the child says why");
	gt_spawn_clear(&s);
}
END_TEST

static int keep_one(void *arg, struct gt_err *err)
{
	return gt_priv_keep(GT_CAP(CAP_SYSLOG));
}

START_TEST(a_program_that_is_started_gets_no_capability_back)
{
	char *argv[] = {"grep", "-E", "^(Cap(Prm|Eff|Inh|Amb)|NoNewPrivs):", "/proc/self/status", NULL};
	struct gt_spawn s = {.argv = argv, .in_child = keep_one, .timeout_s = 10};
	char *save = NULL, name[16];
	unsigned long long v;
	unsigned lines = 0;

	ck_assert_int_eq(gt_spawn(&s, NULL), 0);
	for (char *line = strtok_r(s.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save), lines++) {
		ck_assert_int_eq(sscanf(line, "%15[^:]: %llx", name, &v), 2);
		if (strcmp(name, "NoNewPrivs"))
			ck_assert_msg(!(v & ~GT_CAP(CAP_SYSLOG)), "%s", line);
		else
			ck_assert_uint_eq(v, 1);
	}
	ck_assert_uint_eq(lines, 5);
	gt_spawn_clear(&s);
}
END_TEST

START_TEST(a_library_that_is_not_there_says_so)
{
	struct {
		double (*cosine)(double);
		void (*extra)(void);
	} t;
	static const struct gt_dlsym syms[] = { { "cos", NULL, 0, false },
						{ "no_such_call", NULL, sizeof(void *), true } };
	static const struct gt_dlsym needs[] = { { "no_such_call", NULL, 0, false } };
	static const char *const libm[] = { "libnone.so.9", "libm.so.6", NULL }, *const none[] = { "libnone.so.9", NULL };
	struct gt_err err = { 0 };
	void *handle;

	ck_assert_msg(!gt_dl_open(libm, syms, 2, &t, &handle, &err), "%s", err.msg);
	ck_assert(t.cosine(0) == 1.0 && !t.extra);
	ck_assert_int_eq(gt_dl_open(none, syms, 2, &t, &handle, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.msg, "libnone.so.9"));
	ck_assert_int_eq(gt_dl_open(libm, needs, 1, &t, &handle, &err), -ENOSYS);
}
END_TEST

/* ---- command lines -------------------------------------------------------------------------------------------- */

static const char *seen_name, *seen_choice;
static uint64_t seen_count;
static struct gt_strv seen_list;
static int seen_argc;
static const char *const choices[] = { "fast", "slow", NULL };
static const struct gt_opt do_opts[] = {
	{ 'n', "name", "NAME", "a name", GT_OPT_STR, &seen_name },
	{ 0, "count", "N", "a count", GT_OPT_UINT, &seen_count },
	{ 0, "mode", "MODE", "a mode", GT_OPT_CHOICE, &seen_choice, choices },
	{ 0, "only", "ID", "may be repeated", GT_OPT_LIST, &seen_list },
	{ 0 },
};

static int run_do(struct gt_cli *cli, int argc, char **argv)
{
	seen_argc = argc;
	if (argc && !strcmp(argv[0], "fail"))
		return gt_fail_exit(&cli->err, 3, EPERM, "refused");
	if (argc && !strcmp(argv[0], "break"))
		return gt_fail(&cli->err, EIO, "broken");
	return 5;
}

static const struct gt_cmd cmd_do = { "do", "[WORD…]", "do it", NULL, do_opts, 0, 3, false, run_do },
			   cmd_exec = { "exec", "CMD…", "run it", NULL, NULL, 1, -1, true, run_do };
static const struct gt_cmd *const cmds[] = { &cmd_do, &cmd_exec, NULL };
static const struct gt_exit_code codes[] = { { 0, "fine" }, { 3, "refused" }, { 0 } };
static const struct gt_tool tool = { .name = "t", .summary = "s", .description = "d", .cmds = cmds, .exit_codes = codes };

static int run_tool(const char *const *args)
{
	char *argv[16] = { "t" };
	int argc = 1, saved = dup(2), null = open("/dev/null", O_WRONLY), r;

	for (; *args; args++)
		argv[argc++] = (char *)*args;
	dup2(null, 2);
	r = gt_cli_main(&tool, argc, argv);
	dup2(saved, 2);
	close(saved);
	close(null);
	return r;
}
#define RUN(...) run_tool((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(options_stand_before_and_after_the_command)
{
	ck_assert_int_eq(RUN("-q", "do", "--count=7", "-nx", "a", "--mode", "slow", "--only", "p", "--only=q", "--", "-b"), 5);
	ck_assert_int_eq(seen_argc, 2);
	ck_assert_uint_eq(seen_count, 7);
	ck_assert_str_eq(seen_name, "x");
	ck_assert_str_eq(seen_choice, "slow");
	ck_assert_uint_eq(seen_list.n, 2);
	ck_assert_int_eq(RUN("exec", "ls", "-l", "--root"), 5);
	ck_assert_int_eq(seen_argc, 3);
	ck_assert_int_eq(RUN("exec", "--", "-l"), 5);
	ck_assert_int_eq(seen_argc, 1);
	gt_strv_clear(&seen_list);
}
END_TEST

START_TEST(bad_command_lines_end_with_64)
{
	ck_assert_int_eq(RUN("do", "--nope"), 64);
	ck_assert_int_eq(RUN("do", "-x"), 64);
	ck_assert_int_eq(RUN("do", "--count"), 64);
	ck_assert_int_eq(RUN("do", "--count=-1"), 64);
	ck_assert_int_eq(RUN("do", "--mode", "medium"), 64);
	ck_assert_int_eq(RUN("do", "--quiet=yes"), 64);
	ck_assert_int_eq(RUN("undo"), 64);
	ck_assert_int_eq(RUN("do", "1", "2", "3", "4"), 64);
	ck_assert_int_eq(RUN("exec"), 64);
	ck_assert_int_eq(RUN("-q"), 64);
	ck_assert_int_eq(RUN("do", "--root", "/nonexistent"), 64);
}
END_TEST

START_TEST(an_error_has_its_exit_status)
{
	ck_assert_int_eq(RUN("do", "fail"), 3);
	ck_assert_int_eq(RUN("do", "break"), 70);
}
END_TEST

static char *doc_of(void (*print)(FILE *))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	print(f);
	fclose(f);
	return text;
}

static void print_help(FILE *f)
{
	gt_cli_help(&tool, &cmd_do, f);
}

static void print_bash(FILE *f)
{
	gt_cli_completion(&tool, "bash", f);
}

static void print_man(FILE *f)
{
	gt_cli_man(&tool, f);
}

START_TEST(help_man_and_completion_name_every_option)
{
	gt_autofree char *h = doc_of(print_help), *b = doc_of(print_bash), *m = doc_of(print_man);

	for (const struct gt_opt *o = do_opts; o->name; o++) {
		gt_autofree char *dashed = gt_xasprintf("--%s", o->name), *mdoc = gt_xasprintf("Fl Fl %s", o->name);

		ck_assert_ptr_nonnull(strstr(h, dashed));
		ck_assert_ptr_nonnull(strstr(b, dashed));
		ck_assert_ptr_nonnull(strstr(m, mdoc));
	}
	ck_assert_ptr_nonnull(strstr(h, "--root"));
}
END_TEST

START_TEST(text_is_wrapped_at_blanks_and_counted_in_characters)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	gt_print_wrapped(f, "one two \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 four\nfive", 2, 12);
	fclose(f);
	ck_assert_str_eq(text, "  one two\n  \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 four\n  five\n");
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lib");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;
	const TTest *const tests[] = {
		numbers_take_exactly_their_form,
		sizes_are_powers_of_1024,
		versions_compare_by_number,
		cpu_lists_and_masks_go_both_ways,
		a_4096_cpu_mask_is_read_whole,
		string_lists_sort_by_version,
		checksums_match_known_answers,
		documents_are_read_strictly,
		members_are_typed,
		what_json_lacks_becomes_null_and_bad_utf8_is_marked,
		no_link_leads_out_of_a_root,
		a_rename_elsewhere_hides_no_file,
		a_root_that_is_none_is_refused,
		kernel_files_read_back_as_the_kernel_shows_them,
		an_atomic_write_is_whole_or_absent_whatever_step_fails,
		a_failed_append_leaves_no_half_record,
		a_lock_keeps_others_out,
		a_capture_replays_what_it_says,
		writing_a_capture_of_a_capture_gives_it_back,
		a_hostile_capture_is_refused_with_its_line,
		recording_remembers_every_path_once,
		children_answer_fail_and_end_in_time,
		a_function_can_run_in_a_child,
		a_program_that_is_started_gets_no_capability_back,
		a_library_that_is_not_there_says_so,
		options_stand_before_and_after_the_command,
		bad_command_lines_end_with_64,
		an_error_has_its_exit_status,
		help_man_and_completion_name_every_option,
		text_is_wrapped_at_blanks_and_counted_in_characters,
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
