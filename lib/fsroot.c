/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/parse.h"

struct gt_fsroot {
	int dirfd;
	bool live, readonly, recording;
	char *where, *dir;
	char *scratch; /* unpacked capture, removed at close */
	struct gt_capture_deny *deny;
	size_t n_deny;
	struct gt_strv recorded;
	unsigned mutations, fault_nth;
	int fault_code;
	bool fault_persistent;
};

/* ---- opening and closing ------------------------------------------------------------------------------------- */

static int rm_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void gt_fs_close(struct gt_fsroot *fs)
{
	if (!fs)
		return;
	if (fs->dirfd >= 0)
		close(fs->dirfd);
	if (fs->scratch)
		nftw(fs->scratch, rm_one, 16, FTW_DEPTH | FTW_PHYS);
	for (size_t i = 0; i < fs->n_deny; i++)
		free(fs->deny[i].path);
	free(fs->deny);
	gt_strv_clear(&fs->recorded);
	free(fs->scratch);
	free(fs->where);
	free(fs->dir);
	free(fs);
}

/* A captured host is thousands of tiny files that live for milliseconds: in memory where that is possible. */
static const char *scratch_parent(void)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp && *tmp == '/')
		return tmp;
	return access("/dev/shm", W_OK | X_OK) < 0 ? "/tmp" : "/dev/shm";
}

static int open_capture(struct gt_fsroot *fs, const char *where, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	char *dir = gt_xasprintf("%s/gputune-root.XXXXXX", scratch_parent());
	size_t len;
	int r;

	r = gt_file_read(where, 4 * GT_FS_MAX, &text, &len, err);
	if (r < 0) {
		free(dir);
		return r;
	}
	if (!mkdtemp(dir)) {
		r = gt_fail_errno(err, errno, "cannot unpack %s under %s", where, dir);
		free(dir);
		return r;
	}
	fs->scratch = dir;
	fs->readonly = true;
	fs->dir = gt_xstrdup(dir);
	fs->dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fs->dirfd < 0)
		return gt_fail_errno(err, errno, "cannot open %s", dir);
	return gt_capture_unpack(text, len, where, fs->dirfd, &fs->deny, &fs->n_deny, err);
}

/* A directory that holds none of what a host has is a slip of the pen, not a root. */
static int check_is_root(const struct gt_fsroot *fs, struct gt_err *err)
{
	static const char *const one_of[] = { "proc", "sys", "etc" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(one_of); i++)
		if (!faccessat(fs->dirfd, one_of[i], F_OK, 0))
			return 0;
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

static int raw_open(const struct gt_fsroot *fs, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = fs->live ? 0 : RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (*path != '/')
		return -EINVAL;
	if (fs->live)
		fd = open(path, flags | O_CLOEXEC, mode);
	else
		fd = syscall(SYS_openat2, fs->dirfd, path, &how, sizeof(how));
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
static int check_denied(const struct gt_fsroot *fs, const char *path)
{
	gt_autoclose int fd = -1;
	gt_autofree char *real = NULL;
	int r;

	if (!fs->n_deny)
		return 0;
	fd = raw_open(fs, path, O_PATH, 0);
	if (fd < 0)
		return fd;
	r = fd_path(fs, fd, &real);
	if (r < 0)
		return r;
	for (size_t i = 0; i < fs->n_deny; i++)
		if (!strcmp(fs->deny[i].path, real))
			return -fs->deny[i].code;
	return 0;
}

/* read: its content was asked for, not only whether it is there or where it leads. */
static void record(struct gt_fsroot *fs, const char *path, bool read)
{
	if (fs->recording)
		gt_strv_take(&fs->recorded, gt_xasprintf(read ? "%s" : "?%s", path));
}

static int open_read(struct gt_fsroot *fs, const char *path, int flags)
{
	int r;

	record(fs, path, true);
	r = check_denied(fs, path);
	return r < 0 ? r : raw_open(fs, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
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

static int read_path(struct gt_fsroot *fs, const char *path, size_t max, bool whole, char **ret, size_t *ret_len)
{
	gt_autoclose int fd = open_read(fs, path, 0);
	struct stat st;

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
	gt_autoclose int fd = -1;
	char target[4096];
	ssize_t n;

	record(fs, path, false);
	fd = raw_open(fs, path, O_PATH | O_NOFOLLOW, 0);
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
	gt_autoclose int fd = -1;

	record(fs, path, false);
	fd = raw_open(fs, path, O_PATH, 0);
	return fd < 0 ? fd : fd_path(fs, fd, ret);
}

int gt_fs_list(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret)
{
	gt_auto_strv names = { 0 };
	struct dirent *e;
	int fd = open_read(fs, dir, O_DIRECTORY);
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
			gt_strv_add(&names, e->d_name);
	closedir(d);
	gt_strv_sort(&names);
	gt_strv_clear(ret);
	*ret = names;
	names = (struct gt_strv){ 0 };
	return 0;
}

int gt_fs_stat(struct gt_fsroot *fs, const char *path, struct stat *ret)
{
	gt_autoclose int fd = -1;
	struct stat st;

	record(fs, path, false);
	fd = raw_open(fs, path, O_PATH, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = st;
	return 0;
}

bool gt_fs_exists(struct gt_fsroot *fs, const char *path)
{
	struct stat st;

	return gt_fs_stat(fs, path, &st) == 0;
}

int gt_fs_access(struct gt_fsroot *fs, const char *path, int mode)
{
	gt_autoclose int fd = -1;
	int r;

	record(fs, path, false);
	fd = raw_open(fs, path, O_PATH, 0);
	if (fd < 0)
		return fd;
	r = check_denied(fs, path);
	if (r < 0)
		return r;
	if (fs->readonly && mode & W_OK)
		return -EROFS;
	return faccessat(fd, "", mode, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int gt_fs_open_fd(struct gt_fsroot *fs, const char *path)
{
	return open_read(fs, path, 0);
}

int gt_fs_fact(struct gt_fsroot *fs, const char *name, char **ret, size_t *ret_len)
{
	gt_autofree char *path = gt_xasprintf("/.facts/%s", name);

	return fs->live ? -ENOENT : gt_fs_read(fs, path, ret, ret_len);
}

/* In a root that is not live the numbers are a fact: the tree's own disk says nothing about the host's. */
static char *statvfs_fact(const char *path)
{
	char *name = gt_xasprintf("statvfs%s", path);

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '!';
	return name;
}

int gt_fs_statvfs(struct gt_fsroot *fs, const char *path, struct statvfs *ret)
{
	gt_autofree char *name = statvfs_fact(path), *text = NULL;
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

/* ---- writing -------------------------------------------------------------------------------------------------- */

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

/* To be asked before every step that changes the tree. */
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

/* "always [madvise] never" and "always" -> "[always] madvise never"; -EINVAL if it is no choice; NULL in *ret if the
 * file offers no choices. */
static int choose(const char *text, const char *value, char **ret)
{
	gt_autofree char *copy = gt_xstrdup(text);
	gt_auto_buf b = { 0 };
	bool found = false;
	char *save = NULL;

	*ret = NULL;
	if (!strchr(text, '[') || !strchr(text, ']'))
		return 0;
	for (char *w = strtok_r(copy, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
		size_t len = strlen(w);
		bool mine;

		if (*w == '[' && len > 1 && w[len - 1] == ']') {
			w[len - 1] = '\0';
			w++;
		}
		mine = !strcmp(w, value);
		found |= mine;
		gt_buf_printf(&b, mine ? "%s[%s]" : "%s%s", b.len ? " " : "", w);
	}
	if (!found)
		return -EINVAL;
	gt_buf_puts(&b, "\n");
	*ret = gt_buf_take(&b);
	return 0;
}

static int rewrite(struct gt_fsroot *fs, const char *path, const char *text)
{
	gt_autoclose int fd = raw_open(fs, path, O_WRONLY | O_NOFOLLOW, 0);
	size_t len = strlen(text);

	if (fd < 0)
		return fd;
	if (pwrite(fd, text, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len) < 0)
		return -errno;
	return 0;
}

/* Pairs of which the kernel keeps one: writing a non-zero value to one zeroes the other. */
static int zero_counterpart(struct gt_fsroot *fs, const char *path, const char *value)
{
	static const char *const pair[][2] = {
		{ "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes" },
		{ "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes" },
		{ "/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(pair); i++)
		for (int k = 0; k < 2; k++)
			if (!strcmp(path, pair[i][k]) && strcmp(value, "0")) {
				int r = rewrite(fs, pair[i][!k], "0\n");

				return r == -ENOENT ? 0 : r;
			}
	return 0;
}

/* A root that is not live shows the new value as the kernel would. */
static int write_made(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *old = NULL, *text = NULL;
	int r;

	r = gt_fs_read(fs, path, &old, NULL);
	if (r < 0)
		return r;
	r = choose(old, value, &text);
	if (r < 0)
		return r;
	if (!text)
		text = gt_xasprintf("%s\n", value);
	r = rewrite(fs, path, text);
	return r < 0 ? r : zero_counterpart(fs, path, value);
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
		return write_made(fs, path, value);
	fd = raw_open(fs, path, O_WRONLY | O_NOFOLLOW | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	n = write(fd, value, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* Open the directory that holds path; *ret_name is its last component, inside path. */
static int open_parent(struct gt_fsroot *fs, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	gt_autofree char *dir = NULL;

	if (!slash || !slash[1])
		return -EINVAL;
	dir = slash == path ? gt_xstrdup("/") : gt_xstrndup(path, (size_t)(slash - path));
	*ret_name = slash + 1;
	return raw_open(fs, dir, O_RDONLY | O_DIRECTORY, 0);
}

static int write_all(struct gt_fsroot *fs, int fd, const char *data, size_t len)
{
	int r = mutate(fs);

	if (r < 0)
		return r;
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
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
	/* one fixed name, so that what a power cut leaves is swept away by the next write, not piled up */
	tmp = gt_xasprintf(".%s.gputune-new", name);
	unlinkat(dir, tmp, 0);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fill_and_rename(fs, dir, fd, tmp, name, data, len, mode);
	return r < 0 ? r : sync_fd(fs, dir);
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
	if (r < 0) { /* a record is there whole or not at all */
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
		gt_autoclose int there = raw_open(fs, part, O_PATH | O_DIRECTORY, 0);
		gt_autoclose int dir = -1;
		int r;

		p = next;
		if (there >= 0)
			continue;
		if (there != -ENOENT)
			return there;
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

int gt_fs_lock(struct gt_fsroot *fs, const char *path, int *ret_fd)
{
	gt_autoclose int fd = -1;

	if (fs->readonly)
		return -EROFS;
	fd = raw_open(fs, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	*ret_fd = fd;
	fd = -1;
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
