/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the filesystem access layer: no access outside the root, atomic writes despite any failure, exact captures. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/buf.h"
#include "lib/capture_write.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "lib/spawn.h"
#include "tests/unit/check_lib.h"

/* ---- paths ---------------------------------------------------------------------------------------------------- */

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

/* Renames a file again and again until the process is killed. */
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
	put(root, "/proc/sys/vm/swappiness", "60\n");
	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	ck_assert_int_eq(gt_fs_write_value(fs, "/sys/thp", "never"), 0);
	assert_content(fs, "/sys/thp", "always madvise [never]\n");
	ck_assert_int_eq(gt_fs_write_value(fs, "/sys/thp", "sometimes"), -EINVAL);
	assert_content(fs, "/sys/thp", "always madvise [never]\n");
	ck_assert_int_eq(gt_fs_write_value(fs, "/proc/sys/vm/swappiness", "7"), 0);
	assert_content(fs, "/proc/sys/vm/swappiness", "7\n");
	ck_assert_int_eq(gt_fs_write_value(fs, "/proc/sys/vm/none", "1"), -ENOENT);
	drop_root(root);
}
END_TEST

START_TEST(side_effects_are_emulated_in_directories_only)
{
	char *root = new_root();
	gt_auto(gt_fsroot) *fs = NULL, *live = NULL;

	put(root, "/proc/sys/vm/dirty_ratio", "20\n");
	ck_assert_int_eq(gt_fs_open(root, &fs, NULL), 0);
	gt_fs_fault(fs, 1, EIO, true); /* not a mutation: no fault */
	ck_assert_int_eq(gt_fs_emulate(fs, "/proc/sys/vm/dirty_ratio", "0"), 0);
	assert_content(fs, "/proc/sys/vm/dirty_ratio", "0\n");
	ck_assert_int_eq(gt_fs_emulate(fs, "/proc/sys/vm/none", "0"), -ENOENT);
	ck_assert_uint_eq(gt_fs_mutations(fs), 0);
	ck_assert_int_eq(gt_fs_open(NULL, &live, NULL), 0);
	ck_assert_int_eq(gt_fs_emulate(live, "/proc/self/comm", "0"), -EPERM);
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
		/* the last step, syncing the directory, follows the rename */
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
	ck_assert_int_eq(gt_fs_lock(fs, "/var/lib/x/lock", 0, &a), 0);
	ck_assert_int_eq(gt_fs_lock(fs, "/var/lib/x/lock", 0, &b), -EWOULDBLOCK);
	close(a);
	ck_assert_int_eq(gt_fs_lock(fs, "/var/lib/x/lock", 0, &b), 0);
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

START_TEST(a_capture_returns_its_content)
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

static void assert_links(const char *where)
{
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto_strv links = { 0 };

	ck_assert_int_eq(gt_fs_open(where, &fs, NULL), 0);
	ck_assert_int_eq(gt_fs_links(fs, "/etc", &links), 0);
	gt_strv_sort(&links);
	ck_assert_uint_eq(links.n, 2);
	ck_assert_str_eq(links.v[0], "/dev/nvidia0");
	ck_assert_str_eq(links.v[1], "gone");
	ck_assert_int_eq(gt_fs_links(fs, "/etc/file", &links), -ENOTDIR);
	ck_assert_int_eq(gt_fs_links(fs, "/none", &links), -ENOENT);
}

START_TEST(a_directory_and_its_capture_have_the_same_links)
{
	static const char text[] = "gpuprobe-capture/1\nlink /etc/1 gone\nlink /etc/0 /dev/nvidia0\nfile /etc/file\n\tx\n";
	gt_autofree char *path = save_capture(text, sizeof(text) - 1), *one = NULL, *zero = NULL;
	char *root = new_root();

	put(root, "/etc/file", "x\n");
	one = gt_xasprintf("%s/etc/1", root);
	zero = gt_xasprintf("%s/etc/0", root);
	ck_assert_int_eq(symlink("gone", one), 0);
	ck_assert_int_eq(symlink("/dev/nvidia0", zero), 0);
	assert_links(root);
	assert_links(path);
	drop_root(root);
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

START_TEST(recording_lists_every_path_once)
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

/* A capture has files in place of devices, so it stores the device number separately. */
START_TEST(the_number_of_a_device_survives_a_capture)
{
	gt_auto(gt_fsroot) *live = NULL, *fs = NULL;
	gt_auto_buf text = { 0 };
	gt_autofree char *path = NULL;
	unsigned major = 7, minor = 7;

	ck_assert_int_eq(gt_fs_open(NULL, &live, NULL), 0);
	gt_fs_record(live);
	ck_assert_int_eq(gt_fs_device(live, "/proc/self/exe", &major, &minor), -ENODEV);
	ck_assert_int_eq(gt_fs_device(live, "/dev/no-such", &major, &minor), -ENOENT);
	ck_assert(major == 7 && minor == 7);
	ck_assert_int_eq(gt_fs_device(live, "/dev/full", &major, &minor), 0);
	ck_assert(major == 1 && minor == 7); /* Documentation/admin-guide/devices.txt */
	gt_capture_write(live, gt_fs_recorded(live), &text);
	path = save_capture(text.s, text.len);
	ck_assert_int_eq(gt_fs_open(path, &fs, NULL), 0);
	major = minor = 0;
	ck_assert_int_eq(gt_fs_device(fs, "/dev/full", &major, &minor), 0);
	ck_assert(major == 1 && minor == 7);
	ck_assert_int_eq(gt_fs_device(fs, "/dev/no-such", &major, &minor), -ENOENT);
	unlink(path);
}
END_TEST

TCase *lib_fsroot_case(void)
{
	TCase *tc = tcase_create("fsroot");
	const TTest *const tests[] = {
		no_link_leads_out_of_a_root,
		a_rename_elsewhere_hides_no_file,
		a_root_that_is_none_is_refused,
		kernel_files_read_back_as_the_kernel_shows_them,
		side_effects_are_emulated_in_directories_only,
		an_atomic_write_is_whole_or_absent_whatever_step_fails,
		a_failed_append_leaves_no_half_record,
		a_lock_keeps_others_out,
		a_capture_returns_its_content,
		a_directory_and_its_capture_have_the_same_links,
		writing_a_capture_of_a_capture_gives_it_back,
		a_hostile_capture_is_refused_with_its_line,
		recording_lists_every_path_once,
		the_number_of_a_device_survives_a_capture,
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 60);
	return tc;
}
