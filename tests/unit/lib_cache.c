/* SPDX-License-Identifier: Apache-2.0 */
/* The user's cache directory: no file that another user controls is read or written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cache.h"
#include "lib/spawn.h"
#include "lib/file_trust.h"
#include "lib/util.h"
#include "tests/unit/check_lib.h"

#define OTHER 1234

static char *dir;

static void begin(void)
{
	dir = gt_xstrdup("/tmp/check_cache.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir) | chmod(dir, 0755), 0);
	umask(022);
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

/* Stores and reads one line with dir as $HOME, as that user. Returns 0 or the first error. */
static int use_as(uid_t user)
{
	pid_t child = fork();
	int status;

	if (!child) {
		gt_autofree char *text = NULL;
		int cache, r;

		if (user && (setgid(user) < 0 || setuid(user) < 0))
			_exit(99);
		cache = gt_cache_open(NULL, dir);
		r = cache < 0 ? cache : gt_cache_write(cache, "file", "ours\n", 5);
		if (!r)
			r = gt_cache_read(cache, "file", 100, &text);
		_exit(r ? -r : gt_streq(text, "ours\n") ? 0 : 98);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 98);
	return WEXITSTATUS(status);
}

START_TEST(it_is_made_private)
{
	struct stat st;

	ck_assert_int_eq(use_as(0), 0);
	ck_assert_int_eq(use_as(0), 0);
	ck_assert(stat(".cache/gputune", &st) == 0 && (st.st_mode & 07777) == 0700);
	ck_assert(stat(".cache/gputune/file", &st) == 0 && (st.st_mode & 07777) == 0600);
	ck_assert_int_eq(gt_cache_open(NULL, NULL), -ENOENT);
	ck_assert_int_eq(gt_cache_open("relative", NULL), -ENOENT);
	ck_assert_int_lt(gt_cache_open("/nowhere/at/all", NULL), 0);
}
END_TEST

/* Returns a directory for planted files. It belongs to the caller, as /etc belongs to root. */
static void set_trap(const char *link)
{
	ck_assert_int_eq(mkdir("trap", 0755) | mkdir("trap/gputune", 0700), 0);
	ck_assert_int_eq(symlink(gt_streq(link, ".cache") ? "trap" : "../trap/gputune", link), 0);
}

START_TEST(a_link_in_its_place_is_not_followed)
{
	ck_assert_int_eq(mkdir(".cache", 0700), 0);
	set_trap(".cache/gputune");
	ck_assert_int_ne(use_as(0), 0);
	ck_assert_int_lt(access("trap/gputune/file", F_OK), 0);
}
END_TEST

START_TEST(files_of_other_users_are_not_read)
{
	gt_autofree char *text = NULL;
	int cache;

	ck_assert_int_eq(use_as(0), 0);
	cache = gt_cache_open(NULL, dir);
	ck_assert_int_ge(cache, 0);
	ck_assert_int_eq(symlink("file", ".cache/gputune/link") | mkfifo(".cache/gputune/fifo", 0600), 0);
	alarm(20);
	ck_assert_int_lt(gt_cache_read(cache, "link", 100, &text), 0);
	ck_assert_int_lt(gt_cache_read(cache, "fifo", 100, &text), 0);
	alarm(0);
	ck_assert_int_eq(chmod(".cache/gputune/file", 0666), 0);
	ck_assert_int_lt(gt_cache_read(cache, "file", 100, &text), 0);
	close(cache);
	ck_assert_int_eq(chmod(".cache/gputune", 0777), 0);
	ck_assert_int_eq(use_as(0), EPERM);
}
END_TEST

/* owners and modes of $HOME, .cache and gputune; a link at .cache; the caller; the error */
static const struct {
	uid_t home, cache, ours;
	mode_t home_mode, cache_mode;
	bool link;
	uid_t caller;
	int want;
} places[] = {
	{ 0, 0, 0, 0755, 0755, false, 0, 0 },
	{ OTHER, 0, 0, 0755, 0755, false, 0, EPERM }, /* sudo that keeps HOME */
	{ 0, OTHER, 0, 0755, 0755, false, 0, EPERM },
	{ 0, 0, OTHER, 0755, 0755, false, 0, EPERM },
	{ 0, 0, 0, 0777, 0755, false, 0, EPERM },
	{ 0, 0, 0, 0755, 0775, false, 0, EPERM },
	{ 0, 0, 0, 01777, 0755, false, 0, 0 },
	{ 0, 0, 0, 0755, 0755, true, 0, ENOTDIR },
	{ OTHER, OTHER, OTHER, 0755, 0755, false, OTHER, 0 },
	{ OTHER, OTHER, OTHER, 0775, 0775, false, OTHER, 0 },
	{ OTHER, OTHER, OTHER, 0755, 0755, true, OTHER, 0 }, /* ~/.cache on another disk */
	{ OTHER, OTHER, 0, 0755, 0755, false, OTHER, EPERM },
};

START_TEST(the_owner_of_the_path_decides)
{
	const char *cache = places[_i].link ? "trap" : ".cache", *ours = places[_i].link ? "trap/gputune" : ".cache/gputune";

	if (geteuid() != 0)
		return;
	if (places[_i].link)
		set_trap(".cache");
	else
		ck_assert_int_eq(mkdir(".cache", 0700) | mkdir(".cache/gputune", 0700), 0);
	ck_assert_int_eq(chown(ours, places[_i].ours, 0) | chown(cache, places[_i].cache, 0) | chown(".", places[_i].home, 0), 0);
	ck_assert_int_eq(chmod(cache, places[_i].cache_mode) | chmod(".", places[_i].home_mode), 0);
	ck_assert_int_eq(use_as(places[_i].caller), places[_i].want);
}
END_TEST

/* owners of a directory, a library in it and a link to the library; and whether root may load the library by the link */
static const struct {
	uid_t dir, library, place;
	mode_t mode;
	const char *why;
} libraries[] = {
	{ 0, 0, 0, 0644, NULL },
	{ OTHER, 0, 0, 0644, "is below a directory that does not belong to root" },
	{ 0, OTHER, 0, 0644, "does not belong to root" },
	{ 0, 0, OTHER, 0644, "is below a directory that does not belong to root" },
	{ 0, 0, 0, 0664, "is writable by users other than root" },
};

START_TEST(root_loads_no_library_that_another_user_controls)
{
	gt_autofree char *path = gt_xasprintf("%s/place/lib.so", dir), *missing = gt_xasprintf("%s/place/none/lib.so", dir);
	gt_auto(gt_fsroot) *fs = NULL;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(gt_fs_open(NULL, &fs, NULL), 0);
	ck_assert_int_eq(mkdir("venv", 0755) | mkdir("place", 0755) | symlink("../venv/lib.so", "place/lib.so"), 0);
	ck_assert_int_eq(close(open("venv/lib.so", O_WRONLY | O_CREAT, 0600)) | chmod("venv/lib.so", libraries[_i].mode), 0);
	ck_assert_int_eq(chown("venv/lib.so", libraries[_i].library, 0) | chown("venv", libraries[_i].dir, 0), 0);
	ck_assert_int_eq(chown("place", libraries[_i].place, 0), 0);
	ck_assert_pstr_eq(gt_check_path_trust(fs, path), libraries[_i].why);
	ck_assert_pstr_eq(gt_check_path_trust(fs, missing), libraries[_i].place ? "does not belong to root" : NULL);
}
END_TEST

TCase *lib_cache_case(void)
{
	TCase *tc = tcase_create("cache directory");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, it_is_made_private);
	tcase_add_test(tc, a_link_in_its_place_is_not_followed);
	tcase_add_test(tc, files_of_other_users_are_not_read);
	tcase_add_loop_test(tc, the_owner_of_the_path_decides, 0, GT_ARRAY_SIZE(places));
	tcase_add_loop_test(tc, root_loads_no_library_that_another_user_controls, 0, GT_ARRAY_SIZE(libraries));
	return tc;
}
