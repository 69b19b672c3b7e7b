/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/file.h"
#include "lib/file_trust.h"
#include "tune/model/exit.h"
#include "tune/model/file_trust.h"

/* fs decides whether trust matters (live or not); from holds the file. */
static int read_judged(struct gt_fsroot *fs, struct gt_fsroot *from, const char *path, size_t max, char **ret,
		       struct gt_err *err)
{
	gt_autoclose int fd = gt_fs_open_fd(from, path);
	const char *why;
	gt_autofree char *text = NULL;
	struct stat st;
	size_t len;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	why = gt_check_file_trust(fs, &st);
	if (why && !S_ISREG(st.st_mode))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s %s", path, why);
	if (why)
		return gt_fail_exit(err, TN_EXIT_REFUSED, EPERM,
				    "%s %s: refused; install -m 600 %s ~root/, then check and use the copy (a chown is not "
				    "enough: the file may be open for writing)", path, why, path);
	r = gt_read_all(fd, max, &text, &len); /* reads the checked descriptor: the path may name another file by now */
	if (r < 0)
		return r;
	if (strlen(text) != len)
		return gt_fail_exit(err, GT_EXIT_USAGE, EILSEQ, "%s contains a NUL byte: not a text file", path);
	*ret = gt_take(text);
	return 0;
}

int tn_trusted_read_host(struct gt_fsroot *fs, const char *path, size_t max, char **ret, struct gt_err *err)
{
	struct gt_err e = { 0 };
	int r = read_judged(fs, fs, path, max, ret, &e);

	if (r >= 0 || r == -ENOENT)
		return r;
	if (!e.msg[0])
		gt_fail_exit(&e, GT_EXIT_USAGE, -r, "cannot read %s: %s", path, strerror(-r));
	if (err)
		*err = e;
	return r;
}

int tn_trusted_read(struct gt_fsroot *fs, const char *path, size_t max, char **ret, struct gt_err *err)
{
	gt_autofree char *cwd = NULL, *full = NULL;
	gt_auto(gt_fsroot) *live = NULL;
	struct gt_err e = { 0 };
	int r;

	if (!strcmp(path, "-"))
		return gt_fail_as(err, GT_EXIT_USAGE, gt_file_read(path, max, ret, NULL, err));
	cwd = *path == '/' ? NULL : getcwd(NULL, 0);
	full = cwd ? gt_xasprintf("%s/%s", cwd, path) : gt_xstrdup(path);
	r = gt_fs_open(NULL, &live, err);
	if (r < 0)
		return r;
	r = read_judged(fs, live, full, max, ret, &e);
	if (r < 0 && !e.msg[0])
		gt_fail_exit(&e, GT_EXIT_USAGE, -r, "cannot read %s: %s", path, strerror(-r));
	if (r < 0 && err)
		*err = e;
	return r;
}

int tn_trusted_json(struct gt_fsroot *fs, const char *path, size_t max, json_t **ret, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	int r = tn_trusted_read(fs, path, max, &text, err);

	return r < 0 ? r : gt_fail_as(err, GT_EXIT_USAGE, gt_json_parse(text, strlen(text), path, ret, err));
}
