/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/parse.h"
#include "lib/replace.h"
#include "lib/text.h"

#define SUFFIX	  ".saving"
#define TRIES	  100
#define LINKS_MAX 40

/* ---- destination ---- */

/* Returns the number of the descriptor that path names, or -1. */
static int named_descriptor(const char *path)
{
	static const char *const dirs[] = { "/dev/fd/", "/proc/self/fd/" };
	int64_t n;

	if (gt_streq(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (gt_streq(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < GT_ARRAY_SIZE(dirs); i++)
		if (gt_starts_with(path, dirs[i]) && isdigit((unsigned char)path[strlen(dirs[i])]) &&
		    gt_parse_i64(path + strlen(dirs[i]), &n) == 0 && n <= INT_MAX)
			return (int)n;
	return -1;
}

/* Duplicates the descriptor. Opening it by name would start at offset 0, and fails for a socket. */
static int duplicate(int number)
{
	int flags = fcntl(number, F_GETFL), fd;

	if (flags < 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* Opens a destination that is written directly. Returns false for other paths; else *ret_fd is a descriptor or a
 * negative errno. */
static bool open_directly(const char *path, int *ret_fd)
{
	int number = named_descriptor(path);

	if (number >= 0)
		*ret_fd = duplicate(number);
	else if (!gt_streq(path, "/dev/null"))
		return false;
	else if ((*ret_fd = open(path, O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		*ret_fd = -errno;
	return true;
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return "a FIFO";
	case S_IFBLK:
		return "a block device";
	case S_IFCHR:
		return "a character device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "of an unknown type";
	}
}

/*
 * Returns whether the link may be followed. In a shared directory another user can create a link, or use rename(2) to
 * put one of the caller's links there.
 */
static bool may_follow(int dir, const struct stat *link)
{
	struct stat st;

	if (link->st_uid != geteuid() || fstat(dir, &st) < 0)
		return false;
	return geteuid() != 0 || (st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

/* Returns the link's target as a path relative to the directory where the resolution of path started. */
static int read_link(int dir, const char *base, const char *path, char **ret)
{
	const char *slash = strrchr(path, '/');
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, base, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	*ret = *target == '/' || !slash ? gt_xstrdup(target) : gt_xasprintf("%.*s%s", (int)(slash - path) + 1, path, target);
	return 0;
}

static int open_walked(int from, const char *path, int links);

/* Opens the component name of dir. links: number of links followed so far. */
static int open_component(int dir, const char *name, int links)
{
	gt_autoclose int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	gt_autofree char *target = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode)) {
		r = fd;
		fd = -1;
		return r;
	}
	if (links >= LINKS_MAX)
		return -ELOOP;
	if (!may_follow(dir, &st))
		return -EPERM;
	r = read_link(fd, "", "", &target);
	return r < 0 ? r : open_walked(dir, target, links + 1);
}

/* Opens a directory component by component. Follows no link that another user controls. */
static int open_walked(int from, const char *path, int links)
{
	int dir = *path == '/' ? open("/", O_PATH | O_CLOEXEC) : openat(from, ".", O_PATH | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	gt_each_word(name, path, "/") {
		int next = open_component(dir, name, links);

		close(dir);
		dir = next;
		if (dir < 0)
			break;
	}
	return dir;
}

/* Opens the parent directory. For root, links in it must pass may_follow(), or another user could choose the directory. */
static int open_parent(const char *path)
{
	int dir = geteuid() == 0 ? open_walked(AT_FDCWD, path, 0) : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return geteuid() == 0 ? dir : -errno;
	if (fstat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		return dir;
	close(dir);
	return -ENOTDIR;
}

/* Splits path into an open directory and a name in it. */
static int open_dir(const char *path, int *ret_dir, char **ret_base)
{
	const char *base = gt_basename(path);
	gt_autofree char *name = gt_dirname(path);

	if (!*base || gt_streq(base, ".") || gt_streq(base, ".."))
		return -EISDIR;
	*ret_dir = open_parent(name);
	if (*ret_dir < 0)
		return *ret_dir;
	*ret_base = gt_xstrdup(base);
	return 0;
}

static int refuse(struct gt_err *err, const char *path, int code)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, code, "cannot write %s: %s", path, strerror(code));
}

/* Checks one component. Returns 0 for a new or regular file, 1 for a link with its target in *ret_next. */
static int check_component(const char *named, const char *path, int dir, const char *base, char **ret_next, struct gt_err *err)
{
	struct stat st;
	int r;

	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : refuse(err, named, errno);
	if (S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return refuse(err, named, EISDIR);
	if (!S_ISLNK(st.st_mode))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "cannot write %s: it is %s, not a regular file%s", named, kind_name(st.st_mode),
				    S_ISFIFO(st.st_mode) ? "; to write to a pipe, name /dev/stdout or /dev/fd/N" : "");
	if (!may_follow(dir, &st))
		return gt_fail_exit(err, GT_EXIT_USAGE, EPERM,
				    "cannot write %s: another user controls this symbolic link; give the name of the file itself",
				    named);
	r = read_link(dir, base, path, ret_next);
	return r < 0 ? refuse(err, named, -r) : 1;
}

/* Resolves the destination. *ret: fd (written directly), or dir and base. */
static int locate(const char *named, struct gt_replace *ret, struct gt_err *err)
{
	gt_autofree char *path = gt_xstrdup(named);

	for (int links = 0; links < LINKS_MAX; links++) {
		gt_autofree char *base = NULL, *next = NULL;
		gt_autoclose int dir = -1;
		int fd, r;

		if (open_directly(path, &fd)) {
			*ret = (struct gt_replace){ .fd = fd, .dir = -1 };
			return fd < 0 ? refuse(err, named, -fd) : 0;
		}
		r = open_dir(path, &dir, &base);
		if (r == -EISDIR)
			return refuse(err, named, EISDIR);
		if (r == -EPERM)
			return gt_fail_exit(err, GT_EXIT_USAGE, EPERM,
					    "cannot write %s: another user controls a symbolic link in this path; give the "
					    "path without links", named);
		if (r < 0)
			return gt_fail_exit(err, GT_EXIT_USAGE, -r, "cannot create %s: %s", named, strerror(-r));
		r = check_component(named, path, dir, base, &next, err);
		if (r < 0)
			return r;
		if (r == 0) {
			*ret = (struct gt_replace){ .fd = -1, .dir = dir, .base = gt_take(base) };
			dir = -1;
			return 0;
		}
		free(path);
		path = gt_take(next);
	}
	return refuse(err, named, ELOOP);
}

/* ---- the new file ---- */

/* Locks the open file, not the process, so that another thread that writes the same file also finds it locked. */
static int lock_file(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

static bool is_taken(int r)
{
	return r == -EAGAIN || r == -EACCES;
}

/* Returns true for the names BASE.DIGITS.saving and BASE.DIGITS-DIGITS.saving. */
static bool is_temporary(const char *name, const char *base)
{
	size_t n = strlen(base), digits;

	if (strncmp(name, base, n) != 0 || name[n] != '.')
		return false;
	name += n + 1;
	digits = strspn(name, "0123456789");
	if (digits && name[digits] == '-' && isdigit((unsigned char)name[digits + 1]))
		digits += 1 + strspn(name + digits + 1, "0123456789");
	return digits && gt_streq(name + digits, SUFFIX);
}

/*
 * Removes a leftover file if it is not locked, that is, if it has no writer. Nothing renames such a file, so name and
 * inode still belong together at unlinkat().
 */
static void remove_leftover(int dir, const char *name)
{
	gt_autoclose int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st, now;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 || lock_file(fd) < 0)
		return;
	if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st.st_ino && now.st_dev == st.st_dev)
		unlinkat(dir, name, 0);
}

/* Removes leftovers of killed writers of the same file. */
static void sweep(int dir, const char *base)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_temporary(e->d_name, base))
			remove_leftover(dir, e->d_name);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* Creates and locks the file. Without lock support in the file system, sweep() removes nothing. */
static int create(int dir, const char *name, mode_t mode)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	struct stat st;

	if (fd < 0)
		return -errno;
	/* another writer may have removed it before the lock */
	if (is_taken(lock_file(fd)) || fstat(fd, &st) < 0 || !st.st_nlink) {
		close(fd);
		return -EEXIST;
	}
	return fd;
}

static int create_temporary(struct gt_replace *r, mode_t mode)
{
	int fd = -EEXIST;

	for (int i = 0; fd == -EEXIST && i < TRIES; i++) {
		gt_autofree char *name = i ? gt_xasprintf("%s.%ld-%d" SUFFIX, r->base, (long)getpid(), i) :
					     gt_xasprintf("%s.%ld" SUFFIX, r->base, (long)getpid());

		fd = create(r->dir, name, mode);
		if (fd >= 0)
			r->temporary = gt_take(name);
	}
	return fd;
}

/* Creates the temporary file. Releases dir and base on failure. */
static int begin(struct gt_replace *file, mode_t mode)
{
	sweep(file->dir, file->base);
	file->fd = create_temporary(file, mode);
	if (file->fd >= 0)
		return 0;
	close(file->dir);
	free(file->base);
	return file->fd;
}

int gt_replace_begin(const char *path, mode_t mode, struct gt_replace *ret, struct gt_err *err)
{
	struct gt_replace file;
	int r = *path ? locate(path, &file, err) :
			gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "the name of the output file is empty");

	if (r < 0)
		return r;
	if (file.dir >= 0)
		r = begin(&file, mode);
	if (r < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, -r, "cannot create %s: %s", path, strerror(-r));
	*ret = file;
	return 0;
}

int gt_replace_begin_at(int dir, const char *base, mode_t mode, struct gt_replace *ret)
{
	struct gt_replace file = { .dir = fcntl(dir, F_DUPFD_CLOEXEC, 0), .base = gt_xstrdup(base) };
	int r = file.dir < 0 ? -errno : begin(&file, mode);

	if (file.dir < 0)
		free(file.base);
	if (r == 0)
		*ret = file;
	return r;
}

static void sync_directory(int dir)
{
	gt_autoclose int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
}

int gt_replace_end(struct gt_replace *r, int status)
{
	if (r->dir < 0)
		return close(r->fd) < 0 && !status ? -errno : status;
	if (!status && fsync(r->fd) < 0)
		status = -errno;
	if (!status && renameat(r->dir, r->temporary, r->dir, r->base) < 0)
		status = -errno;
	if (status)
		unlinkat(r->dir, r->temporary, 0);
	else
		sync_directory(r->dir);
	if (close(r->fd) < 0 && !status)
		status = -errno;
	close(r->dir);
	free(r->base);
	free(r->temporary);
	return status;
}
