/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cache.h"
#include "lib/file.h"
#include "lib/replace.h"
#include "lib/text.h"

/* Returns whether other users can write to the directory or file. For a parent directory the sticky bit suffices: it
 * keeps other users from replacing the caller's entries. */
static bool is_shared(const struct stat *st, bool is_parent)
{
	return st->st_mode & (S_IWGRP | S_IWOTH) && !(is_parent && st->st_mode & S_ISVTX);
}

static int open_or_make(int dir, const char *name, int flags, bool make)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);

	if (fd < 0 && make && errno == ENOENT && (mkdirat(dir, name, 0700) == 0 || errno == EEXIST))
		fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/* Opens the next component and closes dir. make: creates a missing component. */
static int descend(int dir, const char *name, bool last, bool make)
{
	bool checked = last || geteuid() == 0;
	int fd = open_or_make(dir, name, checked ? O_NOFOLLOW : 0, make);
	struct stat st;

	close(dir);
	if (fd < 0)
		return fd;
	if (checked && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || is_shared(&st, !last))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int gt_cache_open(const char *xdg, const char *home)
{
	bool is_xdg = xdg && *xdg == '/';
	gt_autofree char *path = NULL;
	int dir, left = 0;
	char *rest;

	if (!is_xdg && (!home || *home != '/'))
		return -ENOENT;
	path = gt_xasprintf("%s%s/gputune", is_xdg ? xdg : home, is_xdg ? "" : "/.cache");
	for (const char *p = path; *p; p++)
		left += *p != '/' && (p[1] == '/' || !p[1]);
	dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	rest = path;
	for (char *name; dir >= 0 && (name = gt_cut(&rest, "/")); left--)
		dir = descend(dir, name, left == 1, left <= 2); /* opens directories such as .cache and gputune */
	return dir;
}

int gt_cache_read(int cache, const char *name, size_t max, char **ret)
{
	gt_autoclose int fd = openat(cache, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || is_shared(&st, false))
		return -EPERM;
	return gt_read_up_to(fd, max, ret, NULL);
}

int gt_cache_write(int cache, const char *name, const char *data, size_t len)
{
	struct gt_replace file;
	int r = gt_replace_begin_at(cache, name, 0600, &file);

	return r < 0 ? r : gt_replace_end(&file, gt_fd_write(file.fd, data, len));
}
