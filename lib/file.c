/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/file.h"

int gt_file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct gt_err *err)
{
	bool std_in = !strcmp(path, "-");
	gt_autoclose int fd = std_in ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	gt_auto_buf b = { 0 };
	char chunk[65536];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !std_in))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s is not a regular file", path);
	if (!std_in)
		fcntl(fd, F_SETFL, 0); /* a pipe named on the command line may wait for its writer */
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return gt_fail_errno(err, errno, "cannot read %s", path);
		if (b.len + (size_t)n > max)
			return gt_fail_exit(err, GT_EXIT_USAGE, EFBIG, "%s is larger than %zu bytes; that is no file of ours", path,
					    max);
		gt_buf_add(&b, chunk, (size_t)n);
	}
	if (ret_len)
		*ret_len = b.len;
	*ret = gt_buf_take(&b);
	return 0;
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

	if (!code && ferror(stdout)) /* it failed before; what is left in errno is believed if it is of that kind */
		code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? errno : EIO;
	return code && poll(&p, 1, 0) > 0 && p.revents & POLLERR ? -EPIPE : -code;
}

/* A device or pipe that the user named, /dev/null say, is written to: a new file in its place would take it from everyone. */
static int write_through(const char *path, const char *data, size_t len, struct gt_err *err)
{
	gt_autoclose int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int r = fd < 0 ? -errno : gt_fd_write(fd, data, len);

	return r < 0 ? gt_fail_exit(err, GT_EXIT_USAGE, -r, "cannot write %s: %s", path, strerror(-r)) : 0;
}

/* The new file beside path, under the name *ret_name. */
static int create_beside(const char *path, mode_t mode, char **ret_name, struct gt_err *err)
{
	gt_autofree char *tmp = gt_xasprintf("%s.%d.new", path, (int)getpid());
	int fd;

	if (!*path)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "the name of a file to write is empty");
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	/* One of our number was killed here: a number comes again, in a container or after a boot at once. */
	if (fd < 0 && errno == EEXIST && unlink(tmp) == 0)
		fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot create %s: %s", path, strerror(errno));
	*ret_name = gt_take(tmp);
	return fd;
}

int gt_file_write(const char *path, const char *data, size_t len, mode_t mode, struct gt_err *err)
{
	gt_autofree char *tmp = NULL;
	gt_autoclose int fd = -1;
	struct stat st;
	int r;

	if (!strcmp(path, "-")) {
		fflush(stdout);
		r = gt_fd_write(STDOUT_FILENO, data, len);
		if (r == -EPIPE) /* a reader that has seen enough */
			return 0;
		return r < 0 ? gt_fail_errno(err, -r, "cannot write to standard output") : 0;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_through(path, data, len, err);
	fd = create_beside(path, mode, &tmp, err);
	if (fd < 0)
		return fd;
	r = gt_fd_write(fd, data, len);
	if (!r && fsync(fd) < 0)
		r = -errno;
	if (!r && rename(tmp, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(tmp);
		return gt_fail_errno(err, -r, "cannot write %s", path);
	}
	return 0;
}

int gt_file_try(const char *path, struct gt_err *err)
{
	gt_autofree char *tmp = NULL;
	gt_autoclose int fd = -1;
	struct stat st;

	if (!path || !strcmp(path, "-"))
		return 0;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) { /* not opened: the reader of a pipe would take that for its end */
		int code = S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) < 0 ? errno : 0;

		return code ? gt_fail_exit(err, GT_EXIT_USAGE, code, "cannot write %s: %s", path, strerror(code)) : 0;
	}
	fd = create_beside(path, 0600, &tmp, err);
	if (fd >= 0)
		unlink(tmp);
	return GT_MIN(fd, 0);
}
