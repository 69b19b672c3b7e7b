/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/fsroot_path.h"
#include "lib/fstree.h"
#include "lib/parse.h"

static int open_recorded(struct gt_fsroot *fs, const char *path, int flags, bool content)
{
	gt_fs_raw_record(fs, path, content);
	return gt_fs_raw_open(fs, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
}

static int open_read(struct gt_fsroot *fs, const char *path, int flags)
{
	return open_recorded(fs, path, flags, true);
}

/* Opens a file of a captured host as a descriptor. */
static int open_node(struct gt_fsroot *fs, const char *path, bool content)
{
	const struct gt_tree_node *n;
	gt_autoclose int fd = -1;
	int r;

	gt_fs_raw_record(fs, path, content);
	r = gt_fs_raw_node(fs, path, true, true, &n);
	if (r < 0)
		return r;
	if (!S_ISREG(n->mode))
		return -EISDIR;
	fd = memfd_create("capture", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = gt_fd_write(fd, n->data, n->len);
	if (r < 0)
		return r;
	if (fchmod(fd, n->mode & 07777) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = fd;
	fd = -1;
	return r;
}

static int read_node(struct gt_fsroot *fs, const char *path, size_t max, bool whole, char **ret, size_t *ret_len)
{
	const struct gt_tree_node *n;
	size_t len;
	int r;

	gt_fs_raw_record(fs, path, true);
	r = gt_fs_raw_node(fs, path, true, true, &n);
	if (r < 0)
		return r;
	if (!S_ISREG(n->mode))
		return -EISDIR;
	if (whole && n->len > max)
		return -EFBIG;
	len = GT_MIN(n->len, max);
	*ret = gt_xcalloc(len + 1, 1);
	memcpy(*ret, n->data, len);
	if (ret_len)
		*ret_len = len;
	return 0;
}

static int read_path(struct gt_fsroot *fs, const char *path, size_t max, bool whole, char **ret, size_t *ret_len)
{
	gt_autoclose int fd = -1;
	struct stat st;

	if (fs->tree)
		return read_node(fs, path, max, whole, ret, ret_len);
	fd = open_read(fs, path, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode)) /* reading a pipe may block, reading a device may have side effects */
		return -EINVAL;
	return whole ? gt_read_all(fd, max, ret, ret_len) : gt_read_up_to(fd, max, ret, ret_len);
}

int gt_fs_read(struct gt_fsroot *fs, const char *path, char **ret, size_t *ret_len)
{
	return read_path(fs, path, GT_FS_MAX, true, ret, ret_len);
}

int gt_fs_read_max(struct gt_fsroot *fs, const char *path, size_t max, char **ret, size_t *ret_len)
{
	return read_path(fs, path, max, true, ret, ret_len);
}

int gt_fs_read_prefix(struct gt_fsroot *fs, const char *path, size_t max, char **ret, size_t *ret_len)
{
	return read_path(fs, path, max, false, ret, ret_len);
}

int gt_fs_read_line(struct gt_fsroot *fs, const char *path, char **ret)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_read_prefix(fs, path, 65536, &text, NULL);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	*ret = gt_xstrdup(gt_strip(text));
	return 0;
}

int gt_fs_read_i64(struct gt_fsroot *fs, const char *path, int64_t *ret)
{
	gt_autofree char *line = NULL;
	int r = gt_fs_read_line(fs, path, &line);

	return r < 0 ? r : gt_parse_i64(line, ret);
}

int gt_fs_readlink(struct gt_fsroot *fs, const char *path, char **ret)
{
	const struct gt_tree_node *node;
	gt_autoclose int fd = -1;
	char target[4096];
	ssize_t n;
	int r;

	gt_fs_raw_record(fs, path, false);
	if (fs->tree) {
		r = gt_fs_raw_node(fs, path, false, false, &node);
		if (!r && !S_ISLNK(node->mode))
			r = -EINVAL;
		if (!r)
			*ret = gt_xstrdup(node->data);
		return r;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno; /* the file is not a link */
	target[n] = '\0';
	*ret = gt_xstrdup(target);
	return 0;
}

/* Returns the path of the open file inside the root in *ret. The caller frees it. */
static int fd_path(const struct gt_fsroot *fs, int fd, char **ret)
{
	size_t skip = strcmp(fs->dir, "/") ? strlen(fs->dir) : 0;
	char link[64], target[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if ((size_t)n < skip)
		return -EXDEV;
	*ret = gt_xstrdup(target[skip] ? target + skip : "/");
	return 0;
}

int gt_fs_realpath(struct gt_fsroot *fs, const char *path, char **ret)
{
	const struct gt_tree_node *node;
	gt_autoclose int fd = -1;
	int r;

	gt_fs_raw_record(fs, path, false);
	if (fs->tree) {
		r = gt_fs_raw_node(fs, path, true, false, &node);
		if (!r)
			*ret = gt_tree_path(node);
		return r;
	}
	if (fs->live) { /* realpath(3) works without /proc */
		char *real = realpath(path, NULL);

		if (!real)
			return -errno;
		*ret = real;
		return 0;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH, 0);
	return fd < 0 ? fd : fd_path(fs, fd, ret);
}

/* Finds the first entry of a directory of a capture; NULL: it is empty. */
static int first_entry(struct gt_fsroot *fs, const char *dir, const struct gt_tree_node **ret)
{
	const struct gt_tree_node *n;
	int r;

	gt_fs_raw_record(fs, dir, true);
	r = gt_fs_raw_node(fs, dir, true, true, &n);
	if (r < 0)
		return r;
	if (!S_ISDIR(n->mode))
		return -ENOTDIR;
	*ret = n->child;
	return 0;
}

static int list_node(struct gt_fsroot *fs, const char *dir, struct gt_strv *names)
{
	const struct gt_tree_node *n;
	int r = first_entry(fs, dir, &n);

	for (; !r && n; n = n->next)
		gt_strv_add(names, n->name);
	return r;
}

static int open_dir(struct gt_fsroot *fs, const char *dir, DIR **ret)
{
	int fd = open_read(fs, dir, O_DIRECTORY);

	if (fd < 0)
		return fd;
	*ret = fdopendir(fd);
	if (!*ret) {
		close(fd);
		return -errno;
	}
	return 0;
}

static int list_dir(struct gt_fsroot *fs, const char *dir, struct gt_strv *names)
{
	struct dirent *e;
	DIR *d;
	int r = open_dir(fs, dir, &d);

	if (r < 0)
		return r;
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			gt_strv_add(names, e->d_name);
	closedir(d);
	return 0;
}

int gt_fs_list(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret)
{
	gt_auto_strv names = { 0 };
	int r = fs->tree ? list_node(fs, dir, &names) : list_dir(fs, dir, &names);

	if (r < 0)
		return r;
	gt_strv_sort(&names);
	gt_strv_clear(ret);
	*ret = names;
	names = (struct gt_strv){ 0 };
	return 0;
}

static void record_link(struct gt_fsroot *fs, const char *dir, const char *name)
{
	gt_autofree char *path = fs->recording ? gt_xasprintf("%s/%s", dir, name) : NULL;

	if (path)
		gt_fs_raw_record(fs, path, false);
}

static int links_of_node(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret)
{
	const struct gt_tree_node *n;
	int r = first_entry(fs, dir, &n);

	for (; !r && n; n = n->next)
		if (S_ISLNK(n->mode)) {
			record_link(fs, dir, n->name);
			gt_strv_add(ret, n->data);
		}
	return r;
}

int gt_fs_links(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret)
{
	char target[4096];
	struct dirent *e;
	DIR *d;
	int r;

	if (fs->tree)
		return links_of_node(fs, dir, ret);
	r = open_dir(fs, dir, &d);
	if (r < 0)
		return r;
	while ((e = readdir(d))) {
		ssize_t n = e->d_type == DT_LNK || e->d_type == DT_UNKNOWN ?
				    readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1) : -1;

		if (n < 0)
			continue;
		target[n] = '\0';
		record_link(fs, dir, e->d_name);
		gt_strv_add(ret, target);
	}
	closedir(d);
	return 0;
}

static int stat_path(struct gt_fsroot *fs, const char *path, bool follow, struct stat *ret)
{
	const struct gt_tree_node *node;
	gt_autoclose int fd = -1;
	struct stat st = { 0 };
	int r;

	gt_fs_raw_record(fs, path, false);
	if (fs->tree) {
		r = gt_fs_raw_node(fs, path, follow, false, &node);
		if (r < 0)
			return r;
		st.st_mode = node->mode;
		st.st_size = (off_t)node->len;
		*ret = st;
		return 0;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH | (follow ? 0 : O_NOFOLLOW), 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = st;
	return 0;
}

int gt_fs_stat(struct gt_fsroot *fs, const char *path, struct stat *ret)
{
	return stat_path(fs, path, true, ret);
}

int gt_fs_lstat(struct gt_fsroot *fs, const char *path, struct stat *ret)
{
	return stat_path(fs, path, false, ret);
}

bool gt_fs_exists(struct gt_fsroot *fs, const char *path)
{
	struct stat st;

	return gt_fs_stat(fs, path, &st) == 0;
}

int gt_fs_access(struct gt_fsroot *fs, const char *path, int mode)
{
	const struct gt_tree_node *node;
	gt_autoclose int fd = -1;
	int r;

	gt_fs_raw_record(fs, path, false);
	if (fs->tree) {
		r = gt_fs_raw_node(fs, path, true, true, &node);
		return r < 0 ? r : mode & W_OK ? -EROFS : 0;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH, 0);
	if (fd < 0)
		return fd;
	return faccessat(fd, "", mode, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int gt_fs_open_fd(struct gt_fsroot *fs, const char *path)
{
	return fs->tree ? open_node(fs, path, true) : open_read(fs, path, 0);
}

int gt_fs_open_part(struct gt_fsroot *fs, const char *path)
{
	return fs->tree ? open_node(fs, path, false) : open_recorded(fs, path, 0, false);
}
