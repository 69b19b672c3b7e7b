/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/err.h"
#include "runtime/ckpt/replace.h"

#define SUFFIX	".saving"
#define TRIES	100

/* Of the open file, not of the process: it ends with whoever has it open, and another of ours in this process meets it too. */
static int lock_file(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

static bool is_taken(int r)
{
	return r == -EAGAIN || r == -EACCES;
}

/* Is name that of a file that some process wrote to take the place of base: BASE.DIGITS.saving, or BASE.DIGITS-DIGITS.saving? */
static bool is_ours(const char *name, const char *base)
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

/* Nobody has it locked, so nobody will rename it: if the name still is that file's, it stays so until it is removed. */
static void remove_left(int dir, const char *name)
{
	gt_autoclose int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st, now;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 || lock_file(fd) < 0)
		return;
	if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st.st_ino && now.st_dev == st.st_dev)
		unlinkat(dir, name, 0);
}

/* What those have left who were killed while they wrote, each as large as the file itself. */
static void sweep(const char *path)
{
	gt_autofree char *a = gt_xstrdup(path), *b = gt_xstrdup(path);
	const char *base = basename(b);
	DIR *d = opendir(dirname(a));
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_ours(e->d_name, base))
			remove_left(dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

/* Where files cannot be locked, nobody finds one unlocked. */
static int create(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	struct stat st;

	if (fd < 0)
		return -errno;
	/* a moment ago it was not locked, and somebody may have swept it away */
	if (is_taken(lock_file(fd)) || fstat(fd, &st) < 0 || !st.st_nlink) {
		close(fd);
		return -EEXIST;
	}
	return fd;
}

int rt_replace_begin(const char *path, struct rt_replace *ret)
{
	int fd = -EEXIST;
	struct stat st;

	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return -errno;
		*ret = (struct rt_replace){ fd, NULL, path };
		return 0;
	}
	sweep(path);
	for (int i = 0; fd == -EEXIST && i < TRIES; i++) {
		gt_autofree char *name = i ? gt_xasprintf("%s.%ld-%d" SUFFIX, path, (long)getpid(), i) :
					     gt_xasprintf("%s.%ld" SUFFIX, path, (long)getpid());

		fd = create(name);
		if (fd >= 0)
			*ret = (struct rt_replace){ fd, gt_take(name), path };
	}
	return fd < 0 ? fd : 0;
}

static void sync_directory(const char *path)
{
	gt_autofree char *copy = gt_xstrdup(path);
	gt_autoclose int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
}

int rt_replace_end(struct rt_replace *r, int status)
{
	if (!r->name)
		return close(r->fd) < 0 && !status ? -errno : status;
	if (!status && fsync(r->fd) < 0)
		status = -errno;
	if (!status && rename(r->name, r->path) < 0)
		status = -errno;
	if (status)
		unlink(r->name);
	else
		sync_directory(r->path);
	if (close(r->fd) < 0 && !status)
		status = -errno;
	free(r->name);
	return status;
}
