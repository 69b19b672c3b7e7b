/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "runtime/data/files.h"

const char *const rt_data_kinds[] = { "auto", "text", "tokens", "shards", "folder", NULL };
static const char *const tar_suffix[] = { ".tar", NULL }, *const bin_suffix[] = { ".bin", NULL };

static bool suffix_of(const char *name, const char *const *suffixes)
{
	if (!suffixes)
		return true;
	for (; *suffixes; suffixes++)
		if (gt_ends_with(name, *suffixes))
			return true;
	return false;
}

/* Lists the files (with a suffix) or directories in a directory, in version order. Links are followed. */
static int list(const char *path, bool directories, const char *const *suffixes, bool full, struct gt_strv *ret,
		struct gt_err *err)
{
	struct dirent *e;
	DIR *d = opendir(path);

	if (!d)
		return gt_fail_errno(err, errno, "cannot list %s", path);
	while ((e = readdir(d)) && ret->n <= RT_FILES_MAX * 100u) {
		struct stat st;

		if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0))
			continue;
		if (directories ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode) && suffix_of(e->d_name, suffixes))
			gt_strv_take(ret, full ? gt_xasprintf("%s/%s", path, e->d_name) : gt_xstrdup(e->d_name));
	}
	closedir(d);
	gt_strv_sort(ret);
	return 0;
}

/* Parses the range in the first braces. Returns 0 and both ends, or -EINVAL. */
static int range(const char *open, const char *close, unsigned long *from, unsigned long *to, int *width)
{
	char *end;

	if (!(open[1] >= '0' && open[1] <= '9'))
		return -EINVAL;
	errno = 0;
	*from = strtoul(open + 1, &end, 10);
	*width = (int)(end - open - 1);
	if (strncmp(end, "..", 2) != 0 || !(end[2] >= '0' && end[2] <= '9'))
		return -EINVAL;
	*to = strtoul(end + 2, &end, 10);
	return end == close && !errno && *to >= *from && *to - *from < RT_FILES_MAX && *width < 20 ? 0 : -EINVAL;
}

int rt_files_expand(const char *path, struct gt_strv *ret, struct gt_err *err)
{
	const char *open = strchr(path, '{'), *close = open ? strchr(open, '}') : NULL;
	unsigned long from, to;
	int width;

	if (!close) {
		gt_strv_add(ret, path);
		return 0;
	}
	if (range(open, close, &from, &to, &width) < 0)
		return gt_fail(err, EINVAL, "%.200s: braces contain a range of at most %d numbers, as in shard-{000..127}.tar",
			       path, RT_FILES_MAX);
	for (unsigned long i = from; i <= to; i++) {
		gt_autofree char *one = gt_xasprintf("%.*s%0*lu%s", (int)(open - path), path, width, i, close + 1);
		int r = rt_files_expand(one, ret, err);

		if (r)
			return r;
		if (ret->n > RT_FILES_MAX)
			return gt_fail(err, E2BIG, "%.200s expands to more than %d files", path, RT_FILES_MAX);
	}
	return 0;
}

int rt_files_list(const char *path, const char *const *suffixes, struct gt_strv *ret, struct gt_err *err)
{
	struct stat st;
	int r;

	if (stat(path, &st) < 0) {
		int code = errno;

		if (!strchr(path, '{'))
			return gt_fail_exit(err, GT_EXIT_USAGE, code, "cannot read data from %s: %s", path, strerror(code));
		return rt_files_expand(path, ret, err);
	}
	if (!S_ISDIR(st.st_mode)) {
		gt_strv_add(ret, path);
		return 0;
	}
	r = list(path, false, suffixes, true, ret, err);
	if (!r && ret->n > RT_FILES_MAX)
		return gt_fail(err, E2BIG, "%s has more than %d files", path, RT_FILES_MAX);
	return r;
}

int rt_files_list_into(const char *directory, const char *const *suffixes, struct gt_strv *ret, struct gt_err *err)
{
	gt_auto_strv found = { 0 };
	int r = list(directory, false, suffixes, true, &found, err);

	for (size_t i = 0; i < found.n; i++)
		gt_strv_add(ret, found.v[i]);
	return r;
}

int rt_files_directories(const char *path, struct gt_strv *ret, struct gt_err *err)
{
	return list(path, true, NULL, false, ret, err);
}

int rt_data_guess(const char *path, enum rt_data_kind *ret, struct gt_err *err)
{
	gt_auto_strv tars = { 0 }, bins = { 0 }, classes = { 0 };
	struct stat st;

	*ret = RT_DATA_TEXT;
	if (!path)
		return 0;
	if (stat(path, &st) < 0 && !strchr(path, '{'))
		return gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot read data from %s: %s", path, strerror(errno));
	if (gt_ends_with(path, ".tar"))
		*ret = RT_DATA_SHARDS;
	else if (gt_ends_with(path, ".bin"))
		*ret = RT_DATA_TOKENS;
	if (strchr(path, '{') || !S_ISDIR(st.st_mode))
		return 0;
	if (!list(path, false, tar_suffix, false, &tars, NULL) && tars.n)
		*ret = RT_DATA_SHARDS;
	else if (!list(path, false, bin_suffix, false, &bins, NULL) && bins.n)
		*ret = RT_DATA_TOKENS;
	else if (!list(path, true, NULL, false, &classes, NULL) && classes.n)
		*ret = RT_DATA_FOLDER;
	return 0;
}

int rt_file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct gt_err *err)
{
	gt_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s is not a regular file", path);
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int rt_file_size(const char *path, uint64_t *ret, struct gt_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return gt_fail_errno(err, errno, "cannot read %s", path);
	*ret = (uint64_t)st.st_size;
	return 0;
}

int rt_file_read_at(int fd, const char *path, uint64_t at, void *out, size_t n, struct gt_err *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gt_fail_errno(err, errno, "cannot read %s", path);
		if (got == 0)
			return gt_fail(err, EIO, "%s ends early: it has become shorter", path);
		done += (size_t)got;
	}
	return 0;
}

static _Thread_local sigjmp_buf *sigbus_jump; /* where a read of a mapping continues after SIGBUS */
static struct sigaction handler_before;

static void on_bus(int signal, siginfo_t *info, void *context)
{
	if (sigbus_jump)
		siglongjmp(*sigbus_jump, 1);
	/* the signal is not about the mapping: on return it is raised again, with the previous handler */
	sigaction(SIGBUS, &handler_before, NULL);
}

static void install(void)
{
	struct sigaction ours = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	sigemptyset(&ours.sa_mask);
	sigaction(SIGBUS, &ours, &handler_before);
}

int rt_file_map(const char *path, struct rt_map *ret, struct gt_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rt_map m = { .fd = -1 };
	void *p = NULL;
	int r = rt_file_open(path, &m.fd, &m.len, err);

	if (r)
		return r;
	if (m.len)
		p = mmap(NULL, (size_t)m.len, PROT_READ, MAP_SHARED, m.fd, 0);
	if (p == MAP_FAILED) {
		r = gt_fail_errno(err, errno, "cannot map %s", path);
		close(m.fd);
		return r;
	}
	pthread_once(&once, install);
	m.bytes = p;
	*ret = m;
	return 0;
}

int rt_map_check(const struct rt_map *m, const char *path, struct gt_err *err)
{
	struct stat st;

	if (fstat(m->fd, &st) < 0 || (uint64_t)st.st_size < m->len)
		return gt_fail(err, EIO, "%s has become shorter while it was read", path);
	return 0;
}

int rt_map_read(const char *path, void (*read)(void *arg), void *arg, struct gt_err *err)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		sigbus_jump = NULL;
		return gt_fail(err, EIO, "%s has become shorter while it was read, or cannot be read any more", path);
	}
	sigbus_jump = &here;
	read(arg);
	sigbus_jump = NULL;
	return 0;
}

void rt_file_unmap(struct rt_map *m)
{
	if (m->bytes)
		munmap((void *)(uintptr_t)m->bytes, (size_t)m->len);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct rt_map){ .fd = -1 };
}
