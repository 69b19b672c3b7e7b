/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/fsroot_path.h"
#include "lib/text.h"

void gt_fs_fault(struct gt_fsroot *fs, unsigned nth, int code_or_kill, bool persistent)
{
	fs->mutations = 0;
	fs->fault_nth = nth;
	fs->fault_code = code_or_kill;
	fs->fault_persistent = persistent;
}

unsigned gt_fs_mutations(const struct gt_fsroot *fs)
{
	return fs->mutations;
}

/* Counts a step that changes the tree, and injects an error if a test requests one. Called before each step. */
static int mutate(struct gt_fsroot *fs)
{
	if (fs->readonly)
		return -EROFS;
	fs->mutations++;
	if (!fs->fault_nth || fs->mutations < fs->fault_nth ||
	    (fs->mutations > fs->fault_nth && !fs->fault_persistent))
		return 0;
	if (fs->fault_code == GT_FS_KILL)
		raise(SIGKILL);
	return -fs->fault_code;
}

/* Selects value in the text of a choice file: "always [madvise] never" with "always" becomes "[always] madvise never".
 * Returns -EINVAL if value is not a choice. *ret is NULL if the file has no choices. */
static int choose(const char *text, const char *value, char **ret)
{
	gt_auto_buf b = { 0 };
	bool found = false;

	*ret = NULL;
	if (!strchr(text, '[') || !strchr(text, ']'))
		return 0;
	gt_each_word(w, text, " \n") {
		size_t len = strlen(w);
		bool matches;

		if (*w == '[' && len > 1 && w[len - 1] == ']') {
			w[len - 1] = '\0';
			w++;
		}
		matches = !strcmp(w, value);
		found |= matches;
		gt_buf_printf(&b, matches ? "%s[%s]" : "%s%s", b.len ? " " : "", w);
	}
	if (!found)
		return -EINVAL;
	gt_buf_puts(&b, "\n");
	*ret = gt_buf_take(&b);
	return 0;
}

/* Replaces the text with one write, like the kernel, so that a kill leaves either the old or the new text. First
 * overwrites a longer text with empty lines, then truncates it. */
static int rewrite(struct gt_fsroot *fs, const char *path, const char *text)
{
	gt_autoclose int fd = gt_fs_raw_open(fs, path, O_WRONLY | O_NOFOLLOW, 0);
	gt_autofree char *whole = NULL;
	size_t len = strlen(text), most;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	most = GT_MAX(len, (size_t)st.st_size);
	whole = gt_xcalloc(1, most + 1);
	memset(whole, '\n', most);
	memcpy(whole, text, len);
	if (pwrite(fd, whole, most, 0) != (ssize_t)most || ftruncate(fd, (off_t)len) < 0)
		return -errno;
	return 0;
}

/* Writes value. Keeps the format of a kernel choice file. */
static int write_directory(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *old = NULL, *text = NULL;
	int r = gt_fs_read(fs, path, &old, NULL);

	if (r < 0)
		return r;
	r = choose(old, value, &text);
	if (r < 0)
		return r;
	if (!text)
		text = gt_xasprintf("%s\n", value);
	return rewrite(fs, path, text);
}

int gt_fs_emulate(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *text = gt_xasprintf("%s\n", value);

	return fs->live ? -EPERM : fs->readonly ? -EROFS : rewrite(fs, path, text);
}

int gt_fs_write_value(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autoclose int fd = -1;
	size_t len = strlen(value);
	ssize_t n;
	int r = mutate(fs);

	if (r < 0)
		return r;
	if (!fs->live)
		return write_directory(fs, path, value);
	fd = gt_fs_raw_open(fs, path, O_WRONLY | O_NOFOLLOW | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	n = write(fd, value, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* Opens the parent directory of path. *ret_name points to the last component inside path. */
static int open_parent(struct gt_fsroot *fs, const char *path, const char **ret_name)
{
	gt_autofree char *dir = gt_dirname(path);

	if (!*gt_basename(path))
		return -EINVAL;
	*ret_name = gt_basename(path);
	return gt_fs_raw_open(fs, dir, O_RDONLY | O_DIRECTORY, 0);
}

static int write_all(struct gt_fsroot *fs, int fd, const char *data, size_t len)
{
	int r = mutate(fs);

	return r < 0 ? r : gt_fd_write(fd, data, len);
}

static int sync_fd(struct gt_fsroot *fs, int fd)
{
	int r = mutate(fs);

	return r < 0 ? r : fsync(fd) < 0 ? -errno : 0;
}

static int fill_and_rename(struct gt_fsroot *fs, int dir, int fd, const char *tmp, const char *name, const char *data,
			   size_t len, mode_t mode)
{
	int r = write_all(fs, fd, data, len);

	if (!r && fchmod(fd, mode) < 0)
		r = -errno;
	if (!r)
		r = sync_fd(fs, fd);
	if (!r)
		r = mutate(fs);
	if (!r && renameat(dir, tmp, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, tmp, 0);
	return r;
}

static char *temp_name(const char *name)
{
	return gt_xasprintf(".%s.gputune-new", name);
}

int gt_fs_write_atomic(struct gt_fsroot *fs, const char *path, const char *data, size_t len, mode_t mode)
{
	gt_autofree char *tmp = NULL;
	gt_autoclose int fd = -1;
	const char *name;
	int r = mutate(fs);
	gt_autoclose int dir = r < 0 ? -1 : open_parent(fs, path, &name);

	if (r < 0)
		return r;
	if (dir < 0)
		return dir;
	/* a fixed name, so that the next write removes the leftover of a power cut */
	tmp = temp_name(name);
	unlinkat(dir, tmp, 0);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fill_and_rename(fs, dir, fd, tmp, name, data, len, mode);
	return r < 0 ? r : sync_fd(fs, dir);
}

int gt_fs_sweep(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *tmp = NULL;
	const char *name;
	gt_autoclose int dir = fs->tree ? -ENOENT : open_parent(fs, path, &name); /* a captured host is read-only */
	int r;

	if (dir < 0)
		return dir;
	tmp = temp_name(name);
	if (faccessat(dir, tmp, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	r = mutate(fs);
	if (r < 0)
		return r;
	return unlinkat(dir, tmp, 0) < 0 ? -errno : sync_fd(fs, dir);
}

int gt_fs_append_sync(struct gt_fsroot *fs, const char *path, const char *data, size_t len)
{
	gt_autoclose int fd = -1;
	struct stat st;
	const char *name;
	int r = mutate(fs);
	gt_autoclose int dir = r < 0 ? -1 : open_parent(fs, path, &name);

	if (r < 0)
		return r;
	if (dir < 0)
		return dir;
	fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	r = write_all(fs, fd, data, len);
	if (!r)
		r = sync_fd(fs, fd);
	if (r < 0) { /* a record is appended completely or not at all */
		if (ftruncate(fd, st.st_size) < 0)
			return r;
		return r;
	}
	return st.st_size ? 0 : sync_fd(fs, dir);
}

int gt_fs_mkdirs(struct gt_fsroot *fs, const char *path, mode_t mode)
{
	for (const char *p = path; p;) {
		const char *name, *next = strchr(p + 1, '/');
		gt_autofree char *part = next ? gt_xstrndup(path, (size_t)(next - path)) : gt_xstrdup(path);
		gt_autoclose int dir = -1;
		bool is_dir;
		int r = gt_fs_raw_find(fs, part, &is_dir);

		p = next;
		if (!r && is_dir)
			continue;
		if (r != -ENOENT)
			return r < 0 ? r : -ENOTDIR;
		r = mutate(fs);
		if (r < 0)
			return r;
		dir = open_parent(fs, part, &name);
		if (dir < 0)
			return dir;
		if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
			return -errno;
		r = sync_fd(fs, dir);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_fs_unlink(struct gt_fsroot *fs, const char *path)
{
	const char *name;
	int r = mutate(fs);
	gt_autoclose int dir = r < 0 ? -1 : open_parent(fs, path, &name);

	if (r < 0)
		return r;
	if (dir < 0)
		return dir;
	if (unlinkat(dir, name, 0) < 0)
		return -errno;
	return sync_fd(fs, dir);
}

int gt_fs_lock(struct gt_fsroot *fs, const char *path, double wait_s, int *ret_fd)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	double end = gt_now_s() + wait_s;
	gt_autoclose int fd = -1;

	if (fs->readonly)
		return -EROFS;
	fd = gt_fs_raw_open(fs, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EINTR && (errno != EWOULDBLOCK || gt_now_s() >= end))
			return -errno;
		nanosleep(&nap, NULL);
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int gt_fs_wait_lock(struct gt_fsroot *fs, const char *path)
{
	gt_autoclose int fd = gt_fs_raw_open(fs, path, O_RDONLY | O_NOFOLLOW, 0);

	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}
