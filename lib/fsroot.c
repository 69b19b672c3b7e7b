/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/fsroot_priv.h"
#include "lib/parse.h"

/* ---- opening and closing ------------------------------------------------------------------------------------- */

void gt_fs_close(struct gt_fsroot *fs)
{
	if (!fs)
		return;
	if (fs->dirfd >= 0)
		close(fs->dirfd);
	gt_tree_free(fs->tree);
	gt_strv_clear(&fs->recorded);
	free(fs->where);
	free(fs->dir);
	free(fs);
}

static int open_capture(struct gt_fsroot *fs, const char *where, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	size_t len;
	int r = gt_file_read(where, 4 * GT_FS_MAX, &text, &len, err);

	if (r < 0)
		return r;
	fs->readonly = true;
	return gt_capture_parse(text, len, where, &fs->tree, err);
}

/* A directory that holds none of what a host has is a slip of the pen, not a root. */
static int check_is_root(const struct gt_fsroot *fs, struct gt_err *err)
{
	static const char *const one_of[] = { "proc", "sys", "etc" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(one_of); i++)
		if (!faccessat(fs->dirfd, one_of[i], F_OK, 0))
			return 0;
	if (fs->live)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "there is no /proc, /sys or /etc here, as in an empty chroot");
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s is not a root: it has no proc, sys or etc", fs->where);
}

static void arm_from_environment(struct gt_fsroot *fs)
{
	static const struct {
		const char *name;
		int code;
	} codes[] = { { "EIO", EIO },	    { "ENOSPC", ENOSPC }, { "EACCES", EACCES },	  { "EROFS", EROFS },
		      { "EINVAL", EINVAL }, { "EBUSY", EBUSY },	  { "KILL", GT_FS_KILL } };
	const char *spec = getenv("GT_FAULT");
	char *end;
	unsigned long nth;

	if (!spec)
		return;
	nth = strtoul(spec, &end, 10);
	fs->fault_persistent = *end == '+';
	end += *end == '+';
	for (size_t i = 0; i < GT_ARRAY_SIZE(codes); i++)
		if (*end == ':' && !strcmp(end + 1, codes[i].name))
			gt_fs_fault(fs, (unsigned)nth, codes[i].code, fs->fault_persistent);
}

int gt_fs_open(const char *where, struct gt_fsroot **ret, struct gt_err *err)
{
	struct gt_fsroot *fs = gt_xcalloc(1, sizeof(*fs));
	struct stat st;
	int r = 0;

	fs->dirfd = -1;
	fs->live = !where || !strcmp(where, "/");
	fs->where = gt_xstrdup(fs->live ? "/" : where);
	if (!fs->live && stat(where, &st) < 0) {
		r = gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open root %s: %s", where, strerror(errno));
	} else if (!fs->live && !S_ISDIR(st.st_mode)) {
		r = open_capture(fs, where, err);
		if (r < 0 && err && !err->exit_status)
			err->exit_status = GT_EXIT_USAGE;
	} else {
		fs->dir = realpath(fs->where, NULL);
		fs->dirfd = open(fs->where, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!fs->dir || fs->dirfd < 0)
			r = gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open root %s: %s", fs->where,
					 strerror(errno));
		else
			r = check_is_root(fs, err);
	}
	if (r < 0) {
		gt_fs_close(fs);
		return r;
	}
	if (!fs->live)
		arm_from_environment(fs);
	*ret = fs;
	return 0;
}

bool gt_fs_is_live(const struct gt_fsroot *fs)
{
	return fs->live;
}

const char *gt_fs_where(const struct gt_fsroot *fs)
{
	return fs->where;
}

const char *gt_fs_dir(const struct gt_fsroot *fs)
{
	return fs->dir;
}

int gt_fs_require_live(const struct gt_fsroot *fs, const char *what, struct gt_err *err)
{
	if (fs->live)
		return 0;
	return gt_fail_exit(err, GT_EXIT_USAGE, EPERM, "%s needs the live host; it cannot be done in the root %s", what,
			    fs->where);
}

/* ---- resolving ------------------------------------------------------------------------------------------------ */

int gt_fs_raw_open(const struct gt_fsroot *fs, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = fs->live ? 0 : RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (*path != '/')
		return -EINVAL;
	if (fs->live) {
		fd = open(path, flags | O_CLOEXEC, mode);
		return fd < 0 ? -errno : (int)fd;
	}
	/* any rename anywhere on the machine while a ".." is resolved makes the kernel give up with EAGAIN */
	for (unsigned tries = 0; tries < 10000; tries++) {
		fd = syscall(SYS_openat2, fs->dirfd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

/* The path inside the root that fd stands for; the caller frees it. */
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

/* What a capture noted as unreadable stays unreadable, whoever replays it. */
static int find_node(const struct gt_fsroot *fs, const char *path, bool follow, bool content, const struct gt_tree_node **ret)
{
	int r = gt_tree_find(fs->tree, path, follow, ret);

	return r < 0 ? r : content ? -(*ret)->deny : 0;
}

int gt_fs_raw_find(const struct gt_fsroot *fs, const char *path, bool *ret_dir)
{
	const struct gt_tree_node *n;
	gt_autoclose int fd = -1;
	struct stat st;
	int r;

	if (fs->tree) {
		r = find_node(fs, path, true, false, &n);
		*ret_dir = !r && S_ISDIR(n->mode);
		return r;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH, 0);
	if (fd < 0)
		return fd;
	*ret_dir = !fstat(fd, &st) && S_ISDIR(st.st_mode);
	return 0;
}

/* read: its content was asked for, not only whether it is there or where it leads. */
static void record(struct gt_fsroot *fs, const char *path, bool read)
{
	if (fs->recording)
		gt_strv_take(&fs->recorded, gt_xasprintf(read ? "%s" : "?%s", path));
}

static int open_recorded(struct gt_fsroot *fs, const char *path, int flags, bool content)
{
	record(fs, path, content);
	return gt_fs_raw_open(fs, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
}

static int open_read(struct gt_fsroot *fs, const char *path, int flags)
{
	return open_recorded(fs, path, flags, true);
}

/* A file of a captured host where the caller wants a descriptor. */
static int open_node(struct gt_fsroot *fs, const char *path, bool content)
{
	const struct gt_tree_node *n;
	gt_autoclose int fd = -1;
	int r;

	record(fs, path, content);
	r = find_node(fs, path, true, true, &n);
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

/* ---- reading -------------------------------------------------------------------------------------------------- */

static int read_fd(int fd, size_t max, bool whole, char **ret, size_t *ret_len)
{
	gt_auto_buf b = { 0 };
	char chunk[16384];

	for (;;) {
		size_t want = whole ? sizeof(chunk) : GT_MIN(sizeof(chunk), max - b.len);
		ssize_t n = want ? read(fd, chunk, want) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		if (b.len + (size_t)n > max)
			return -EFBIG;
		gt_buf_add(&b, chunk, (size_t)n);
	}
	if (ret_len)
		*ret_len = b.len;
	*ret = gt_buf_take(&b);
	return 0;
}

static int read_node(struct gt_fsroot *fs, const char *path, size_t max, bool whole, char **ret, size_t *ret_len)
{
	const struct gt_tree_node *n;
	size_t len;
	int r;

	record(fs, path, true);
	r = find_node(fs, path, true, true, &n);
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
	if (!S_ISREG(st.st_mode)) /* never wait for a pipe, never wake a device */
		return -EINVAL;
	return read_fd(fd, max, whole, ret, ret_len);
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

	record(fs, path, false);
	if (fs->tree) {
		r = find_node(fs, path, false, false, &node);
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
		return errno == ENOENT ? -EINVAL : -errno; /* what is there is no link */
	target[n] = '\0';
	*ret = gt_xstrdup(target);
	return 0;
}

int gt_fs_realpath(struct gt_fsroot *fs, const char *path, char **ret)
{
	const struct gt_tree_node *node;
	gt_autoclose int fd = -1;
	int r;

	record(fs, path, false);
	if (fs->tree) {
		r = find_node(fs, path, true, false, &node);
		if (!r)
			*ret = gt_tree_path(node);
		return r;
	}
	if (fs->live) { /* needs no /proc */
		char *real = realpath(path, NULL);

		if (!real)
			return -errno;
		*ret = real;
		return 0;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH, 0);
	return fd < 0 ? fd : fd_path(fs, fd, ret);
}

static int list_node(struct gt_fsroot *fs, const char *dir, struct gt_strv *names)
{
	const struct gt_tree_node *n;
	int r;

	record(fs, dir, true);
	r = find_node(fs, dir, true, true, &n);
	if (r < 0)
		return r;
	if (!S_ISDIR(n->mode))
		return -ENOTDIR;
	for (n = n->child; n; n = n->next)
		gt_strv_add(names, n->name);
	return 0;
}

static int list_dir(struct gt_fsroot *fs, const char *dir, struct gt_strv *names)
{
	int fd = open_read(fs, dir, O_DIRECTORY);
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -errno;
	}
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

static int stat_path(struct gt_fsroot *fs, const char *path, bool follow, struct stat *ret)
{
	const struct gt_tree_node *node;
	gt_autoclose int fd = -1;
	struct stat st = { 0 };
	int r;

	record(fs, path, false);
	if (fs->tree) {
		r = find_node(fs, path, follow, false, &node);
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

	record(fs, path, false);
	if (fs->tree) {
		r = find_node(fs, path, true, true, &node);
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

int gt_fs_fact(struct gt_fsroot *fs, const char *name, char **ret, size_t *ret_len)
{
	gt_autofree char *path = gt_xasprintf("/.facts/%s", name);

	return fs->live ? -ENOENT : gt_fs_read(fs, path, ret, ret_len);
}

/* In a root that is not live the numbers are a fact: the tree's own disk says nothing about the host's. */
static char *fact_of(const char *what, const char *path)
{
	char *name = gt_xasprintf("%s%s", what, path);

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '!';
	return name;
}

int gt_fs_statvfs(struct gt_fsroot *fs, const char *path, struct statvfs *ret)
{
	gt_autofree char *name = fact_of("statvfs", path), *text = NULL;
	struct statvfs v = { 0 };
	int r;

	if (fs->live) {
		gt_autofree char *fact = gt_xasprintf("/.facts/%s", name);

		record(fs, fact, true);
		return statvfs(path, ret) < 0 ? -errno : 0;
	}
	r = gt_fs_fact(fs, name, &text, NULL);
	if (r < 0)
		return r;
	if (sscanf(text, "bsize %lu blocks %lu bfree %lu bavail %lu", &v.f_bsize, &v.f_blocks, &v.f_bfree,
		   &v.f_bavail) != 4)
		return -EINVAL;
	v.f_frsize = v.f_bsize;
	*ret = v;
	return 0;
}

int gt_fs_device(struct gt_fsroot *fs, const char *path, unsigned *ret_major, unsigned *ret_minor)
{
	gt_autofree char *name = fact_of("device", path), *text = NULL;
	unsigned numbers[2];
	struct stat st;
	int r;

	record(fs, path, false);
	if (!fs->live && gt_fs_fact(fs, name, &text, NULL) >= 0) {
		if (sscanf(text, "%u:%u", &numbers[0], &numbers[1]) != 2)
			return -EINVAL;
		*ret_major = numbers[0];
		*ret_minor = numbers[1];
		return 0;
	}
	r = gt_fs_stat(fs, path, &st);
	if (r < 0)
		return r;
	if (!S_ISCHR(st.st_mode))
		return -ENODEV;
	if (fs->live) {
		gt_autofree char *fact = gt_xasprintf("/.facts/%s", name);

		record(fs, fact, true);
	}
	*ret_major = major(st.st_rdev);
	*ret_minor = minor(st.st_rdev);
	return 0;
}

/* ---- recording ------------------------------------------------------------------------------------------------ */

void gt_fs_record(struct gt_fsroot *fs)
{
	fs->recording = true;
}

const struct gt_strv *gt_fs_recorded(struct gt_fsroot *fs)
{
	struct gt_strv *sv = &fs->recorded;
	size_t kept = 0;

	fs->recording = false;
	gt_strv_sort_bytes(sv);
	for (size_t i = 0; i < sv->n; i++) {
		if (kept && !strcmp(sv->v[kept - 1], sv->v[i]))
			free(sv->v[i]);
		else
			sv->v[kept++] = sv->v[i];
	}
	sv->n = kept;
	if (sv->v)
		sv->v[kept] = NULL;
	return sv;
}
