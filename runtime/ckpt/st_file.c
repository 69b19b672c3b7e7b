/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/err.h"
#include "runtime/ckpt/st_file.h"

#define HEADER_MOST	(100u << 20) /* limit of the format, in bytes */

void rt_st_close(struct rt_st_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static int read_at(const struct rt_st_file *f, uint64_t at, void *out, uint64_t n, struct gt_err *err)
{
	for (uint64_t done = 0; done < n;) {
		ssize_t got = pread(f->fd, (char *)out + done, GT_MIN(n - done, UINT64_C(1) << 30), (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gt_fail_errno(err, errno, "cannot read %s", f->path);
		if (got == 0)
			return gt_fail(err, EIO, "%s ends early: it was truncated while it was read", f->path);
		done += (uint64_t)got;
	}
	return 0;
}

static int open_file(const char *path, struct rt_st_file *ret, struct gt_err *err)
{
	struct stat st;

	*ret = (struct rt_st_file){ .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (ret->fd < 0)
		return gt_fail_errno(err, errno, "cannot read %s", path);
	if (fstat(ret->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 8)
		return gt_fail(err, EBADMSG, "%s is not a safetensors file", path);
	ret->len = (uint64_t)st.st_size;
	return 0;
}

static int read_head(struct rt_st_file *f, struct rt_safetensors *ret, struct gt_err *err)
{
	unsigned char first[8];
	gt_autofree char *head = NULL;
	uint64_t len = 0;
	int r = read_at(f, 0, first, sizeof(first), err);

	if (r)
		return r;
	for (int i = 0; i < 8; i++)
		len |= (uint64_t)first[i] << (8 * i);
	if (len > HEADER_MOST || len > f->len - 8)
		len = 0; /* the parser reports the error */
	head = malloc(len + 8);
	if (!head)
		return gt_fail(err, ENOMEM, "no memory for the header of %s", f->path);
	r = read_at(f, 0, head, len + 8, err);
	if (r)
		return r;
	r = rt_safetensors_parse(head, len + 8, f->len, f->path, ret, err);
	if (r)
		return r;
	f->data_at = ret->data_at;
	return 0;
}

int rt_st_open(const char *path, struct rt_st_file *ret, struct rt_safetensors *ret_head, struct gt_err *err)
{
	int r = open_file(path, ret, err);

	return r ? r : read_head(ret, ret_head, err);
}

int rt_st_read(const struct rt_st_file *f, uint64_t at, void *out, uint64_t n, struct gt_err *err)
{
	return read_at(f, f->data_at + at, out, n, err);
}
