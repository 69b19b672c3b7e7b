/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/replace.h"

static int read_fd(int fd, size_t max, bool all, char **ret, size_t *ret_len)
{
	gt_auto_buf b = { 0 };
	char chunk[65536];

	for (;;) {
		size_t want = all ? sizeof(chunk) : GT_MIN(sizeof(chunk), max - b.len);
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

int gt_read_all(int fd, size_t max, char **ret, size_t *ret_len)
{
	return read_fd(fd, max, true, ret, ret_len);
}

int gt_read_up_to(int fd, size_t max, char **ret, size_t *ret_len)
{
	return read_fd(fd, max, false, ret, ret_len);
}

int gt_file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct gt_err *err)
{
	bool std_in = !strcmp(path, "-");
	gt_autoclose int fd = std_in ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !std_in))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s is not a regular file", path);
	if (!std_in)
		fcntl(fd, F_SETFL, 0); /* blocking reads again, for a pipe with a slow writer */
	r = gt_read_all(fd, max, ret, ret_len);
	if (r == -EFBIG)
		return gt_fail_exit(err, GT_EXIT_USAGE, EFBIG, "%s is larger than the limit of %zu bytes", path, max);
	return r < 0 ? gt_fail_errno(err, -r, "cannot read %s", path) : 0;
}

int gt_fd_write(int fd, const char *data, size_t len)
{
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

int gt_stdout_flush(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
	int code = fflush(stdout) ? errno : 0;

	if (!code && ferror(stdout)) /* stdout failed earlier; errno is then reliable only for errors that persist */
		code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? errno : EIO;
	return code && poll(&p, 1, 0) > 0 && p.revents & POLLERR ? -EPIPE : -code;
}

static int write_stdout(const char *data, size_t len, struct gt_err *err)
{
	int r;

	fflush(stdout);
	r = gt_fd_write(STDOUT_FILENO, data, len);
	if (r == -EPIPE) /* the reader has closed the pipe, like head */
		return 0;
	return r < 0 ? gt_fail_errno(err, -r, "cannot write to standard output") : 0;
}

int gt_file_write(const char *path, const char *data, size_t len, mode_t mode, struct gt_err *err)
{
	struct gt_replace file;
	bool direct;
	int r;

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return write_stdout(data, len, err);
	r = gt_replace_begin(path, mode, &file, err);
	if (r < 0)
		return r;
	direct = file.dir < 0;
	if (direct)
		fflush(stdout); /* path may refer to stdout, so flush it first */
	r = gt_replace_end(&file, gt_fd_write(file.fd, data, len));
	return r == -EPIPE && direct ? 0 : r < 0 ? gt_fail_errno(err, -r, "cannot write %s", path) : 0;
}

int gt_file_try(const char *path, struct gt_err *err)
{
	struct gt_replace file;
	int r;

	if (!path || !strcmp(path, "-"))
		return 0;
	r = gt_replace_begin(path, 0600, &file, err);
	if (r < 0)
		return r;
	gt_replace_end(&file, -ECANCELED);
	return 0;
}
