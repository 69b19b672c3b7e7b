/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files: which paths may be written, and which files a killed writer leaves. Cases that need another user run
 * only as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/file.h"
#include "lib/replace.h"
#include "lib/spawn.h"
#include "tests/unit/check_lib.h"

#define OTHER 1234 /* a user that is not root */

static char *dir;

static void begin(void)
{
	dir = gt_xstrdup("/tmp/check_replace.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

static void end(void)
{
	char *argv[] = { "rm", "-rf", dir, NULL };
	struct gt_spawn s = { .argv = argv };

	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(gt_spawn(&s, NULL), 0);
	gt_spawn_clear(&s);
	free(dir);
}

static bool there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static void assert_content(const char *name, const char *want)
{
	gt_autofree char *text = NULL;

	ck_assert_int_eq(gt_file_read(name, 100, &text, NULL, NULL), 0);
	ck_assert_str_eq(text, want);
}

static void assert_refused(const char *name, const char *why)
{
	struct gt_err err = { 0 };

	ck_assert_int_lt(gt_file_try(name, &err), 0);
	ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
	ck_assert_msg(strstr(err.msg, why) != NULL, "%s: %s", name, err.msg);
	err = (struct gt_err){ 0 };
	ck_assert_int_lt(gt_file_write(name, "harm", 4, 0644, &err), 0);
	ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
	ck_assert_msg(strstr(err.msg, why) != NULL, "%s: %s", name, err.msg);
}

static int make_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	gt_autoclose int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

START_TEST(only_regular_files_are_replaced)
{
	static const struct {
		const char *name, *why;
	} cases[] = { { "fifo", "a FIFO" },	   { "socket", "a socket" }, { "directory", "Is a directory" },
		      { "block", "a block device" }, { "character", "a character device" } };

	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	ck_assert_int_eq(make_socket("socket"), 0);
	ck_assert_int_eq(mkdir("directory", 0700), 0);
	if (mknod("block", S_IFBLK | 0600, makedev(7, 99)) < 0 || mknod("character", S_IFCHR | 0600, makedev(1, 7)) < 0)
		ck_assert_int_eq(errno, EPERM); /* not root: their cases are skipped */
	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		struct stat before, after;

		if (lstat(cases[i].name, &before) < 0)
			continue;
		alarm(20); /* opening a FIFO would wait for its reader */
		assert_refused(cases[i].name, cases[i].why);
		unlink("link");
		ck_assert_int_eq(symlink(cases[i].name, "link"), 0);
		assert_refused("link", cases[i].why);
		alarm(0);
		ck_assert_int_eq(lstat(cases[i].name, &after), 0);
		ck_assert(before.st_ino == after.st_ino && before.st_mode == after.st_mode && there("link"));
	}
	assert_refused("/dev/full", "a character device");
}
END_TEST

START_TEST(a_descriptor_is_written_where_it_is)
{
	gt_autoclose int fd = open("log", O_RDWR | O_CREAT, 0600);
	gt_autofree char *name = gt_xasprintf("/dev/fd/%d", fd), *same = gt_xasprintf("/proc/self/fd/%d", fd);

	ck_assert_int_eq(write(fd, "1", 1), 1);
	ck_assert_int_eq(gt_file_try(name, NULL), 0);
	ck_assert_int_eq(gt_file_write(name, "2", 1, 0600, NULL), 0);
	ck_assert_int_eq(gt_file_write(same, "3", 1, 0600, NULL), 0);
	assert_content("log", "123");
	ck_assert_int_eq(gt_file_write("/dev/null", "4", 1, 0600, NULL), 0);
	assert_refused("/dev/fd/4000", "Bad file descriptor");
	assert_refused("/dev/fd/1x", "/dev/fd/1x");
	assert_refused("/dev/fd/-1", "/dev/fd/-1");
	assert_refused("/dev/fd/", "Is a directory");
}
END_TEST

/* Writes "new" to name in a child with that user; returns the error. */
static int write_as(uid_t user, const char *name)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (user && (setgid(user) < 0 || setuid(user) < 0))
			_exit(99);
		_exit(-gt_file_write(name, "new", 3, 0644, NULL));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 99);
	return WEXITSTATUS(status);
}

START_TEST(the_callers_link_is_followed_and_stays)
{
	ck_assert_int_eq(mkdir("sub", 0755), 0);
	ck_assert_int_eq(symlink("../target", "sub/link") | symlink("sub/link", "chain") | symlink("chain", "chain2"), 0);
	ck_assert_int_eq(gt_file_write("chain2", "new", 3, 0644, NULL), 0);
	assert_content("target", "new");
	assert_content("sub/link", "new");
	ck_assert_int_eq(symlink("/dev/null", "null"), 0);
	ck_assert_int_eq(gt_file_write("null", "new", 3, 0644, NULL), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	assert_refused("loop", "Too many levels");
	ck_assert_int_eq(symlink("sub", "way") | mkdir("sub/below", 0755), 0);
	ck_assert_int_eq(gt_file_write("way/below/new", "new", 3, 0644, NULL), 0);
	assert_content("sub/below/new", "new");
	assert_refused("loop/file", "Too many levels");
	assert_refused("target/file", "Not a directory");
	assert_refused("nowhere/file", "No such file");
}
END_TEST

/* modes of the link's directory, its owner and the link's owner, the writer, and whether the link is followed */
static const struct {
	mode_t mode;
	uid_t owner, link_owner, writer;
	int want;
} links[] = {
	{ 0755, 0, 0, 0, 0 },
	{ 01777, 0, 0, 0, EPERM }, /* /tmp */
	{ 0775, 0, 0, 0, EPERM },
	{ 0755, OTHER, 0, 0, EPERM },
	{ 0755, 0, OTHER, 0, EPERM },
	{ 0755, OTHER, OTHER, OTHER, 0 },
	{ 01777, 0, OTHER, OTHER, 0 },
	{ 01777, 0, 0, OTHER, EPERM },
	{ 01777, 0, OTHER + 1, OTHER, EPERM },
};

START_TEST(a_link_that_another_user_controls_is_not_followed)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(".", 0755) | mkdir("place", 0755) | mkdir("goal", 0777) | chmod("goal", 0777), 0);
	ck_assert_int_eq(gt_file_write("goal/file", "old", 3, 0666, NULL), 0);
	ck_assert_int_eq(symlink("../goal/file", "place/link"), 0);
	ck_assert_int_eq(lchown("place/link", links[_i].link_owner, 0) | chown("place", links[_i].owner, 0), 0);
	ck_assert_int_eq(chmod("place", links[_i].mode), 0);
	ck_assert_int_eq(write_as(links[_i].writer, "place/link"), links[_i].want);
	assert_content("goal/file", links[_i].want ? "old" : "new");
}
END_TEST

/* The kernel lets every user follow a link in the middle of a path. Such a link could send root to any directory. */
START_TEST(root_follows_no_link_on_the_way_that_another_user_controls)
{
	int want = links[_i].writer ? 0 : links[_i].want;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(".", 0755) | mkdir("place", 0755) | mkdir("goal", 0777) | chmod("goal", 0777), 0);
	ck_assert_int_eq(mkdir("goal/sub", 0777) | chmod("goal/sub", 0777), 0);
	ck_assert_int_eq(gt_file_write("goal/sub/file", "old", 3, 0666, NULL), 0);
	ck_assert_int_eq(symlink("../goal", "place/link"), 0);
	ck_assert_int_eq(lchown("place/link", links[_i].link_owner, 0) | chown("place", links[_i].owner, 0), 0);
	ck_assert_int_eq(chmod("place", links[_i].mode), 0);
	ck_assert_int_eq(write_as(links[_i].writer, "place/link/sub/../sub/file"), want);
	assert_content("goal/sub/file", want ? "old" : "new");
}
END_TEST

/* A child that is killed before its file is in place; returns the name of its leftover. */
static char *killed_while_writing(const char *name)
{
	struct gt_replace file;
	pid_t child = fork();
	int status;

	if (!child) {
		if (gt_replace_begin(name, 0644, &file, NULL) == 0 && write(file.fd, "hal", 3) == 3)
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	return gt_xasprintf("%s.%d.saving", name, (int)child);
}

START_TEST(the_next_writer_removes_the_file_of_a_killed_one)
{
	gt_autofree char *left = NULL, *foreign = NULL, *running = gt_xasprintf("result.%d.saving", (int)getpid());
	struct gt_replace file;

	ck_assert_int_eq(gt_file_write("result", "old", 3, 0644, NULL), 0);
	left = killed_while_writing("result");
	foreign = killed_while_writing("result2");
	ck_assert(there(left) && there(foreign));
	assert_content("result", "old");
	ck_assert_int_eq(gt_replace_begin("result", 0644, &file, NULL), 0);
	ck_assert(!there(left) && there(foreign) && there(running));
	ck_assert_int_eq(write(file.fd, "late", 4), 4);
	/* a second writer uses another name and leaves the first one's file */
	ck_assert_int_eq(gt_file_write("result", "whole", 5, 0644, NULL), 0);
	assert_content("result", "whole");
	ck_assert(there(running));
	ck_assert_int_eq(gt_replace_end(&file, 0), 0);
	assert_content("result", "late");
	ck_assert(!there(running));
	left = (free(left), killed_while_writing("result"));
	ck_assert_int_eq(gt_file_try("result", NULL), 0);
	ck_assert(!there(left));
	assert_content("result", "late");
}
END_TEST

TCase *lib_replace_case(void)
{
	TCase *tc = tcase_create("files for output");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, only_regular_files_are_replaced);
	tcase_add_test(tc, a_descriptor_is_written_where_it_is);
	tcase_add_test(tc, the_callers_link_is_followed_and_stays);
	tcase_add_loop_test(tc, a_link_that_another_user_controls_is_not_followed, 0, GT_ARRAY_SIZE(links));
	tcase_add_loop_test(tc, root_follows_no_link_on_the_way_that_another_user_controls, 0, GT_ARRAY_SIZE(links));
	tcase_add_test(tc, the_next_writer_removes_the_file_of_a_killed_one);
	return tc;
}
